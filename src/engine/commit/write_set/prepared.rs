//! What a group comes to in the end.

use crate::engine::events::Happening;
use crate::rows::{CrawlState, Delta, DiskState};
use crate::store::Batch;

/// A write set that is ready to be committed, and what is applied to memory afterwards.
pub(crate) struct Prepared {
    pub(crate) batch: Batch,
    pub(crate) state: CrawlState,
    pub(crate) disk: DiskState,
    pub(crate) delta: Delta,
    /// Length of the delta's row in bytes; 0 if the group adds nothing.
    pub(crate) delta_bytes: usize,
    /// What is told of hosts once it is committed.
    pub(crate) happened: Vec<Happening>,
}
