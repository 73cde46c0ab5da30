//! The commit: the only place where a visit has lasting effects.
//!
//! [`judge`] says in order what one visit changes, [`write_set`] collects it, [`committer`] writes
//! it.

mod bodies;
mod checkpoints;
mod committer;
mod compare;
mod deferrals;
mod effects;
mod group;
mod judge;
mod left_out;
mod likeness;
mod lines;
mod lookups;
mod losses;
mod making;
mod placing;
mod queues;
mod records;
mod shelf;
mod write_set;

pub(crate) use bodies::Bodies;
pub(crate) use checkpoints::{CheckpointLimits, Checkpoints, Deltas, Site};
pub(crate) use committer::{Committer, Reclaiming, read_scope};
pub(crate) use compare::not_judged;
#[cfg(test)]
pub(crate) use compare::siblings::families;
pub(crate) use effects::{Places, TextPlace, VisitEffects};
pub(crate) use group::Group;
pub(crate) use lookups::{DEDUP_RUNS, Lookups, SEEN_RUNS};
pub(crate) use records::payload_type;
pub(crate) use shelf::{Shelf, end_of_texts};
pub(crate) use write_set::{Moved, WriteSet, know_seed};
