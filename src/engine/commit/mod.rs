//! The commit: the only place where a visit has lasting effects.
//!
//! [`judge`] says in order what one visit changes, [`write_set`] collects it, [`committer`] writes it.

mod checkpoints;
mod committer;
mod compare;
mod effects;
mod group;
mod judge;
mod lines;
mod lookups;
mod placing;
mod queues;
mod records;
mod write_set;

pub(in crate::engine) use checkpoints::{CheckpointLimits, Checkpoints, Deltas};
pub(in crate::engine) use committer::Committer;
pub(in crate::engine) use group::Group;
pub(in crate::engine) use lookups::{DEDUP_RUNS, Lookups, SEEN_RUNS};
pub(in crate::engine) use write_set::WriteSet;
