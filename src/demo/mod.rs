//! `gleaner demo` without its command line: a small built-in web of several hosts, and the report
//! on a crawl of it. The crawl itself is the engine's, like any other.
//!
//! - `site`: the hosts and their pages.
//! - `villages`: those of `--cluster`.
//! - `server`: serves them on loopback and records the requests.
//! - `report`: what was fetched, what was a duplicate of what, what was not requested, and why.
//!
//! Names are resolved by [`NamedHosts`], so no request leaves this machine and the guard stays
//! closed for everything else. The data directory is only read, for the log of the crawl.

mod report;

mod server;
mod site;
mod villages;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

pub use report::{Error, Report, introduction, next_steps};
pub use server::{Asked, Server};

use crate::config::{self, Config, Size, Span};
use crate::engine::Options;
use crate::fetch::{HostsError, NamedHosts};
use crate::frontier::ScopeKind;
use crate::url::Url;

/// Delay between two visits of a host: users of a demo are short of time, and its hosts do not
/// mind.
pub const DELAY: Duration = Duration::from_millis(200);

/// Seed of the crawl; everything else is found from there.
pub const SEED: &str = "http://www.fieldnotes.example/";

/// Serves the built-in web until the server is dropped.
pub fn serve() -> io::Result<Server> {
    Server::start(site::hosts())
}

/// Returns the seed as a URL.
pub fn seed() -> Result<Url, crate::url::Error> {
    crate::url::parse(SEED)
}

/// Returns the settings of the demo: the defaults, except for delay, scope and the addresses of its
/// hosts.
pub fn options(server: &Server) -> Result<Options, Unusable> {
    let mut config = Config::default();
    config.politeness.delay = Span(DELAY);
    config.crawl.scope = ScopeKind::Domain;
    // The report is the same each time.
    config.dedup.seed = Some(0);
    // The demo writes less than a megabyte.
    config.state.disk_reserve = Size(0);
    let mut options = config.options()?;
    options.fetch.hosts = named_hosts(server.address())?;
    Ok(options)
}

/// The demo's own settings are invalid, which its test would have shown.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// The host names are invalid.
    #[error(transparent)]
    Hosts(#[from] HostsError),
}

/// Seed of the crawl of several workers.
pub const CLUSTER_SEED: &str = villages::SEED;

/// Number of pages that several workers crawl.
pub const CLUSTER_PAGES: usize = villages::COUNT;

/// Serves the web that several workers crawl until the server is dropped.
pub fn serve_cluster() -> io::Result<Server> {
    Server::start(villages::hosts())
}

/// Returns the settings with which several workers crawl it.
pub fn cluster_config(server: &Server) -> Result<Config, HostsError> {
    let mut config = Config::default();
    config.politeness.delay = Span(DELAY);
    config.crawl.scope = ScopeKind::Any;
    config.dedup.seed = Some(0);
    config.fetch.hosts = named(villages::hosts().iter(), server.address())?;
    Ok(config)
}

/// Maps every host of the web to the one address that serves them all.
fn named_hosts(address: SocketAddr) -> Result<NamedHosts, HostsError> {
    named(site::hosts().iter(), address)
}

fn named<'a>(
    hosts: impl Iterator<Item = &'a site::Host>,
    address: SocketAddr,
) -> Result<NamedHosts, HostsError> {
    NamedHosts::new(hosts.map(|host| (host.name.to_owned(), vec![address.into()])))
}
