//! `gleaner demo` without its command line: a small built-in web of several hosts, and what is to
//! be told about a crawl of it. The crawl itself is the engine's, like any other.
//!
//! - `site`: the hosts and their pages.
//! - `server`: serves them on loopback and remembers what it was asked.
//! - `report`: what was fetched, what was a duplicate of what, what was not asked for, and why.
//!
//! Names are answered by [`NamedHosts`], so no request leaves this machine and the guard stays
//! closed for everything else. Never touches a data directory but to read the log of its crawl.

mod report;

mod server;
mod site;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

pub use report::{Error, Report, introduction, next_steps};
pub use server::Server;

use crate::config::{self, Config, Size, Span};
use crate::engine::Options;
use crate::fetch::{HostsError, NamedHosts};
use crate::frontier::ScopeKind;
use crate::url::Url;

/// Between two visits of a host: a demo's visitors are short of time, and its hosts do not mind.
pub const DELAY: Duration = Duration::from_millis(200);

/// Where the crawl begins: everything else is found from there.
pub const SEED: &str = "http://www.fieldnotes.example/";

/// Serves the built-in web, until the server is dropped.
pub fn serve() -> io::Result<Server> {
    Server::start(site::hosts())
}

/// The seed as a URL.
pub fn seed() -> Result<Url, crate::url::Error> {
    crate::url::parse(SEED)
}

/// The settings of the demo: the defaults, but for delay and scope, and the addresses of its hosts.
pub fn options(server: &Server) -> Result<Options, Unusable> {
    let mut config = Config::default();
    config.politeness.delay = Span(DELAY);
    config.crawl.scope = ScopeKind::Domain;
    // What it writes is less than a megabyte.
    config.state.disk_reserve = Size(0);
    let mut options = config.options()?;
    options.fetch.hosts = named_hosts(server.address())?;
    Ok(options)
}

/// The demo's own settings are no good, which its test would have told.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// The hosts.
    #[error(transparent)]
    Hosts(#[from] HostsError),
}

/// Every host of the web, at the one address where all of them are served.
fn named_hosts(address: SocketAddr) -> Result<NamedHosts, HostsError> {
    let hosts = site::hosts().into_iter();
    NamedHosts::new(hosts.map(|host| (host.name.to_owned(), vec![address.into()])))
}
