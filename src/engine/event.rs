//! Events: what the scheduler is told by fetchers, readers and the committer.

use std::net::IpAddr;

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
    /// A group was committed, and what was done about its visits.
    Committed(Vec<Receipt>, Vec<Work>),
    /// URLs of a host were read.
    Refilled(Result<Box<Refilled>, store::Error>),
    /// Hosts were read.
    Loaded(Result<Loaded, store::Error>),
    /// The committer ended early: the run cannot continue.
    CommitterGone,
}
