//! The commit: the only place where a visit has lasting effects.
//!
//! [`judge`] says in order what one visit changes, [`write_set`] collects it, [`committer`] writes
//! it.

mod checkpoints;
mod committer;
mod compare;
mod effects;
mod group;
mod judge;
mod left_out;
mod lines;
mod lookups;
mod losses;
mod placing;
mod queues;
mod records;
mod write_set;

pub(crate) use checkpoints::{CheckpointLimits, Checkpoints, Deltas};
pub(crate) use committer::Committer;
pub(crate) use group::Group;
pub(crate) use lookups::{DEDUP_RUNS, Lookups, SEEN_RUNS};
pub(crate) use losses::left_out_by;
pub(crate) use write_set::WriteSet;
