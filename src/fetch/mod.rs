//! One request, one answer: the only room that opens connections to the web.
//!
//! Redirects are not followed, bodies are read within bounds and kept as they
//! came; every address passes [`Guard`] before it is connected to. What the exchange means is
//! decided elsewhere: an error page is an [`Exchange`] like any other, a timeout a [`Failure`].

mod archived;
mod body;
mod budget;
mod client;
mod cookies;
mod guard;
mod hosts;
mod network;
mod outcome;
mod proxy;
mod request;
mod resolver;
mod secret;
mod tls;

pub use body::{DECODED_LENGTH, DecodeBounds, Decoded, decode};
pub use budget::{ByteBudget, Reservation};
pub use client::Fetcher;
pub use guard::{Authority, Guard, Refused};
pub use hosts::{HostAddress, HostsError, NamedHosts};
pub use network::Network;
pub use outcome::{Conditions, Cut, Exchange, Failure, FailureClass, Outcome};

pub use proxy::Proxy;
pub use request::{CookieMode, ExtraHeaders, RequestOptions, RequestOverrides};
pub use resolver::{DnsOptions, Nameserver, ResolverKind};
pub use secret::{HIDDEN, Secret};

use std::path::PathBuf;
use std::time::Duration;

use crate::url::HostPattern;

/// How a fetch is made, and what bounds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchOptions {
    /// Sent as User-Agent; its first word is the product token that robots.txt rules are for.
    pub user_agent: String,
    /// Until a connection stands, name resolution and TLS included.
    pub connect_timeout: Duration,
    /// Bytes of a body after content decoding; what is longer is cut before it is parsed.
    pub max_decoded_bytes: usize,
    /// Content codings of one body that are undone; one in more of them is not read.
    pub max_codings: usize,
    /// Header fields of an answer; one with more fails.
    pub max_header_fields: usize,
    /// Bytes of all headers of an answer; one with more fails.
    pub max_header_bytes: usize,
    /// Bytes of bodies in memory across the crawl, from the first byte to the commit.
    pub body_budget_bytes: usize,
    /// Private, loopback and reserved addresses may be contacted.
    pub allow_private: bool,
    /// Networks of such addresses that may be contacted.
    pub allow_networks: Vec<Network>,
    /// Addresses of names for which the DNS is not asked.
    pub hosts: NamedHosts,
    /// How names are resolved.
    pub dns: DnsOptions,
    /// Files of root certificates (PEM) that are trusted besides the system's.
    pub ca_files: Vec<PathBuf>,
    /// What is sent, within which bounds.
    pub request: RequestOptions,
    /// What of that differs at some hosts.
    pub own: Vec<(HostPattern, RequestOverrides)>,
    /// Whether credentials are left out of recorded requests.
    pub hide_credentials: bool,
}

impl FetchOptions {
    /// The defaults.
    pub fn new(user_agent: impl Into<String>) -> Self {
        Self {
            user_agent: user_agent.into(),
            connect_timeout: Duration::from_secs(10),
            max_decoded_bytes: 40 << 20,
            max_codings: 4,
            max_header_fields: 512,
            max_header_bytes: 64 << 10,
            body_budget_bytes: 256 << 20,
            allow_private: false,
            allow_networks: Vec::new(),
            hosts: NamedHosts::default(),
            dns: DnsOptions::default(),
            ca_files: Vec::new(),
            request: RequestOptions::default(),
            own: Vec::new(),
            hide_credentials: true,
        }
    }

    /// What decoding a body may cost.
    pub fn decode_bounds(&self) -> DecodeBounds {
        DecodeBounds {
            max_bytes: self.max_decoded_bytes,
            max_codings: self.max_codings,
        }
    }
}

/// What one fetch failed to be set up with. Ends the run before it begins.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The user agent holds what no header may hold.
    #[error("the user agent {0:?} cannot be sent: use printable ASCII characters only")]
    UserAgent(String),
    /// The HTTP client could not be built.
    #[error("cannot set up the HTTP client: {0}")]
    Client(#[from] reqwest::Error),
    /// A file of root certificates cannot be used.
    #[error(
        "cannot use the root certificates in {path}: {reason}; give a PEM file in fetch.ca_files"
    )]
    Roots {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// TLS could not be set up.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
}
