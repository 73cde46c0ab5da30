//! One request, one answer: the only room that opens connections to the web.
//!
//! Redirects are not followed, bodies are read within bounds and kept as they
//! came; every address passes [`Guard`] before it is connected to. What the exchange means is
//! decided elsewhere: an error page is an [`Exchange`] like any other, a timeout a [`Failure`].

mod archived;
mod body;
mod budget;
mod client;
mod guard;
mod hosts;
mod outcome;

pub use body::{DECODED_LENGTH, DecodeBounds, Decoded, decode};
pub use budget::{ByteBudget, Reservation};
pub use client::Fetcher;
pub use guard::{Authority, Guard, Refused};
pub use hosts::{HostAddress, HostsError, NamedHosts};
pub use outcome::{Cut, Exchange, Failure, FailureClass, Outcome};

use std::time::Duration;

/// How a fetch is made, and what bounds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchOptions {
    /// Sent as User-Agent; its first word is the product token that robots.txt rules are for.
    pub user_agent: String,
    /// Until a connection stands, name resolution and TLS included.
    pub connect_timeout: Duration,
    /// Until the head of the answer is there, from the start.
    pub head_timeout: Duration,
    /// Until the end of the body, from the start: a byte a second defeats a read timeout.
    pub total_timeout: Duration,
    /// Bytes of a body as received; what is longer is cut, and stored as cut.
    pub max_body_bytes: usize,
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
    /// Addresses of names for which the DNS is not asked.
    pub hosts: NamedHosts,
}

impl FetchOptions {
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
    /// TLS could not be set up.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
}
