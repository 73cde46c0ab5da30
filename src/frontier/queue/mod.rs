//! The queues of hosts as they lie on disk: what waits, in which blocks, what is kept of each host,
//! and how both are read back into the schedule.

pub(super) mod place;
pub(super) mod task;

pub(super) mod block;
pub(super) mod host;

pub(super) mod walk;

pub(super) mod refill;
