//! What a person has put back in its queues, as it is asked, looked for and answered.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::url::{HostKey, HostPattern, UrlId};

/// What is put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryFilter {
    /// Classes of failure, of `retry_classes`.
    pub classes: Vec<String>,
    /// Only at these hosts.
    pub host: Option<HostPattern>,
}

/// Where the looking through goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RetryCursor {
    /// At this page.
    Pages(Vec<u8>),
    /// At this host.
    Hosts(Vec<u8>),
}

/// What was put back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retried {
    /// URLs, by class.
    pub urls: BTreeMap<String, u64>,
    /// Hosts whose waits were ended.
    pub hosts: u64,
    /// Where it goes on; `None` at the end.
    pub next: Option<RetryCursor>,
}

impl Retried {
    /// Adds what another part did, and goes on where that ended.
    pub fn add(&mut self, part: Self) {
        for (class, count) in part.urls {
            *self.urls.entry(class).or_default() += count;
        }
        self.hosts += part.hosts;
        self.next = part.next;
    }
}

/// A part of what is put back.
#[derive(Debug)]
pub struct PutBack {
    pub(super) filter: RetryFilter,
    pub(super) pages: Vec<UrlId>,
    pub(super) hosts: Vec<HostKey>,
    pub(super) next: Option<RetryCursor>,
    /// Who waits.
    pub(super) reply: Option<oneshot::Sender<Retried>>,
}
