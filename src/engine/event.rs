//! What the scheduler is told by those who work for it.

use std::net::IpAddr;

use super::visit::Receipt;
use crate::frontier::{Loaded, Refilled, Visited};
use crate::store;
use crate::url::HostKey;

/// What the scheduler is told.
#[derive(Debug)]
pub(super) enum Event {
    /// A fetch ended.
    Visited(Box<Visited>),
    /// The address of a host was looked for.
    Resolved(HostKey, Option<IpAddr>),
    /// A group was committed.
    Committed(Vec<Receipt>),
    /// URLs of a host were read.
    Refilled(Result<Refilled, store::Error>),
    /// Hosts were read.
    Loaded(Result<Loaded, store::Error>),
    /// The committer ended before its time: the run cannot go on.
    CommitterGone,
}
