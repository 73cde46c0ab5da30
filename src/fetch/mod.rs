//! Fetches one URL: one request, one outcome. This is the only room that opens connections to the
//! web.
//!
//! Redirects are not followed. Bodies are read within bounds and kept as received. Every address
//! passes [`Guard`] before it is connected to. What an exchange means is decided elsewhere: an
//! error page is an [`Exchange`] like any other, a timeout a [`Failure`].

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

/// How requests are made, and their bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchOptions {
    /// Value of User-Agent; its first word is the product token that robots.txt rules refer to.
    pub user_agent: String,
    /// Maximum time to establish a connection, including name resolution and TLS.
    pub connect_timeout: Duration,
    /// Maximum length of a body after content decoding, in bytes; longer bodies are cut before they
    /// are parsed.
    pub max_decoded_bytes: usize,
    /// Maximum number of content codings that are undone; a body in more of them is not read.
    pub max_codings: usize,
    /// Maximum number of header fields of a response; a fetch with more fails.
    pub max_header_fields: usize,
    /// Maximum length of all headers of a response, in bytes; a fetch with more fails.
    pub max_header_bytes: usize,
    /// Bytes of bodies in memory across the crawl, from the first byte to the commit.
    pub body_budget_bytes: usize,
    /// Allows connections to private, loopback and reserved addresses.
    pub allow_private: bool,
    /// Networks of such addresses to which connections are allowed.
    pub allow_networks: Vec<Network>,
    /// Addresses of names for which the DNS is not asked.
    pub hosts: NamedHosts,
    /// How names are resolved.
    pub dns: DnsOptions,
    /// PEM files with root certificates that are trusted in addition to the system's.
    pub ca_files: Vec<PathBuf>,
    /// What is sent, and the bounds of a request.
    pub request: RequestOptions,
    /// Changes to [`request`](Self::request) at some hosts.
    pub own: Vec<(HostPattern, RequestOverrides)>,
    /// Hides credentials in recorded requests.
    pub hide_credentials: bool,
}

impl FetchOptions {
    /// Returns the defaults.
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

    /// Returns the bounds on decoding a body.
    pub fn decode_bounds(&self) -> DecodeBounds {
        DecodeBounds {
            max_bytes: self.max_decoded_bytes,
            max_codings: self.max_codings,
        }
    }
}

/// Why fetching could not be set up. Ends the run before it begins.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The user agent contains characters that are not allowed in a header.
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
        /// What is wrong with it.
        reason: String,
    },
    /// TLS could not be set up.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
}
