//! The queues of hosts as they are stored: what waits, in which blocks, what is known of each host,
//! and how both are read back into the schedule.

pub(super) mod place;
pub(super) mod task;

pub(super) mod block;
pub(super) mod host;

pub(super) mod walk;
pub(super) mod write;

pub(super) mod refill;
