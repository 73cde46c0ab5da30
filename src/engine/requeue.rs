//! What a person has put back in its queues, as it is asked, looked for and answered.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::url::{HostKey, HostPattern, PatternError, UrlId};

/// What is requeued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RetryFilter {
    /// Classes, of `retry_classes`.
    pub classes: Vec<String>,
    /// Restricts it to these hosts.
    #[schemars(with = "Option<String>")]
    pub host: Option<RetryHosts>,
}

/// Hosts of which something is requeued. As text, one host has a scheme.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum RetryHosts {
    /// Those of a name, and of names below it.
    Named(HostPattern),
    /// This one.
    One(HostKey),
}

impl RetryHosts {
    pub(crate) fn matches(&self, host: &HostKey) -> bool {
        match self {
            Self::Named(pattern) => pattern.matches(host),
            Self::One(one) => one == host,
        }
    }
}

impl FromStr for RetryHosts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if !text.contains("://") {
            let pattern = text
                .parse()
                .map_err(|error: PatternError| error.to_string());
            return pattern.map(Self::Named);
        }
        let host = HostKey::parse(text).map(Self::One);
        host.ok_or_else(|| {
            format!("{text:?} is no host; write https://example.org or https://example.org:8443")
        })
    }
}

impl TryFrom<String> for RetryHosts {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<RetryHosts> for String {
    fn from(hosts: RetryHosts) -> Self {
        hosts.to_string()
    }
}

impl fmt::Display for RetryHosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(pattern) => pattern.fmt(f),
            Self::One(host) => f.write_str(host.as_str()),
        }
    }
}

/// Where to continue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub enum RetryCursor {
    /// At this page.
    Pages(Vec<u8>),
    /// At this host.
    Hosts(Vec<u8>),
    /// At this deferred URL.
    Deferred(Vec<u8>),
}

/// What was requeued.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Retried {
    /// Number of URLs, by class.
    pub urls: BTreeMap<String, u64>,
    /// Number of hosts that no longer wait.
    pub hosts: u64,
    /// Where to continue; `None` at the end.
    pub next: Option<RetryCursor>,
}

impl Retried {
    /// Adds the result of the next part, and continues where that ended.
    pub fn add(&mut self, part: Self) {
        for (class, count) in part.urls {
            *self.urls.entry(class).or_default() += count;
        }
        self.hosts += part.hosts;
        self.next = part.next;
    }
}

/// A part of what is requeued.
#[derive(Debug)]
pub struct PutBack {
    pub(crate) filter: RetryFilter,
    pub(crate) pages: Vec<UrlId>,
    pub(crate) hosts: Vec<HostKey>,
    /// Keys of deferred URLs.
    pub(crate) deferred: Vec<Vec<u8>>,
    pub(crate) next: Option<RetryCursor>,
    /// Where to send the reply.
    pub(crate) reply: Option<oneshot::Sender<Retried>>,
}
