//! Events: what the scheduler is told by fetchers, readers and the committer.

use std::net::IpAddr;
use std::sync::Arc;

use super::exchange::Counts;
use super::visit::Receipt;
use super::work::Work;
use crate::frontier::{Loaded, Refilled, Visited};
use crate::store;
use crate::url::HostKey;

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
    /// Something was committed.
    Committed(Committed),
    /// URLs of a host were read.
    Refilled(Result<Box<Refilled>, store::Error>),
    /// Hosts were read.
    Loaded(Result<Loaded, store::Error>),
    /// The committer ended early: the run cannot continue.
    CommitterGone,
}

/// What the scheduler is told of a commit, or of some that followed one another.
#[derive(Debug, Default)]
pub(crate) struct Committed {
    pub(crate) receipts: Vec<Receipt>,
    /// What was done about the visits.
    pub(crate) work: Vec<Work>,
    /// Number of entries that were no visits.
    pub(crate) others: usize,
    /// What was exchanged with other shards so far, if it was told what is older.
    pub(crate) exchanged: Option<Arc<Counts>>,
}
