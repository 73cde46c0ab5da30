//! Events: what the scheduler is told by fetchers, readers and the committer.

use std::net::IpAddr;
use std::time::Duration;

use super::visit::Receipt;
use crate::frontier::{Loaded, Refilled, Visited};
use crate::store;
use crate::url::HostKey;

/// How long it took to read and to commit a visit of a host.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) host: HostKey,
    pub(crate) reading: Duration,
    pub(crate) committing: Duration,
}

/// An event for the scheduler.
#[derive(Debug)]
pub(crate) enum Event {
    /// A fetch ended.
    Visited {
        visit: Box<Visited>,
        /// Bytes of the body that was received.
        bytes: u64,
    },
    /// The address of a host was looked up.
    Resolved(HostKey, Option<IpAddr>),
    /// A group was committed.
    Committed {
        receipts: Vec<Receipt>,
        /// What was done about its visits.
        work: Vec<Work>,
    },
    /// URLs of a host were read.
    Refilled(Result<Refilled, store::Error>),
    /// Hosts were read.
    Loaded(Result<Loaded, store::Error>),
    /// The committer ended early: the run cannot continue.
    CommitterGone,
}
