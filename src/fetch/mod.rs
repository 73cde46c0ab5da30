//! Fetches one URL: one request, one outcome. This is the only room that opens connections to the
//! web.
//!
//! Redirects are not followed. Bodies are read within bounds and kept as received. Every address
//! passes [`Guard`] before it is connected to. What an exchange means is decided elsewhere: an
//! error page is an [`Exchange`] like any other, a timeout a [`Failure`].

mod addresses;
mod archived;
mod body;
mod budget;
mod client;
mod cookies;
mod guard;
mod hosts;
mod media;
mod network;
mod options;
mod outcome;
mod proxy;
mod request;
mod resolver;
mod secret;
mod sessions;
mod throttle;
mod tls;

pub use archived::is_chunked;
pub use body::{BROKEN_CODING, DECODED_LENGTH, DecodeBounds, Decoded, NOT_CODED, decode};
pub use budget::{ByteBudget, Reservation};
pub use client::{Approach, Fetcher, service_client};
pub use cookies::{CookieFile, CookieFileError};
pub use guard::{At, Authority, Guard, Refused};
pub use hosts::{HostAddress, HostsError, NamedHosts};
pub use media::MediaPattern;
pub(crate) use media::essence;
pub use network::Network;
pub use options::{FetchOptions, FetchOverrides};
pub use outcome::{Conditions, Cut, Exchange, Failure, FailureClass, Outcome};
pub use proxy::Proxy;
pub use request::{CookieMode, ExtraHeaders};
pub use resolver::{DnsOptions, Nameserver, ResolverKind};
pub use secret::{HIDDEN, Secret};
pub(crate) use sessions::SESSION_BYTES;

use std::path::PathBuf;

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
