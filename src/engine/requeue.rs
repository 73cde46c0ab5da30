//! What a person has put back in its queues, as it is asked, looked for and answered.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::url::{HostKey, HostPattern, UrlId};

/// What is requeued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RetryFilter {
    /// Classes, of `retry_classes`.
    pub classes: Vec<String>,
    /// Restricts it to these hosts.
    #[schemars(with = "Option<String>")]
    pub host: Option<HostPattern>,
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
