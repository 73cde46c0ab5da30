//! What each route does.

pub(super) mod follow;
pub(super) mod health;
pub(super) mod hosts;
pub(super) mod metrics;
pub(super) mod page;
pub(super) mod questions;
pub(super) mod status;
pub(super) mod steer;
pub(super) mod trust;
pub(super) mod workers;

use std::time::Duration;

use axum::body::Bytes;

use super::kept::Kept;

/// How long what takes long to read is kept at least.
const LONG: Duration = Duration::from_secs(10);
/// How long is kept what changes all the time and is asked for by every page that is open.
const SHORT: Duration = Duration::from_secs(5);
/// How much older it may be for who will not wait until it is read again.
const STALE: Duration = Duration::from_mins(1);
/// Number of answers that are kept: reports and the like.
const MOST_LONG: usize = 32;
/// Number of answers that are kept: a thousand hosts each, some 500 kB.
const MOST_HOSTS: usize = 12;

/// Answers that are kept for a while.
pub(super) struct Answers {
    status: Kept<(), status::Beside>,
    /// JSON, by the command that gives the same.
    long: Kept<String, Bytes>,
    hosts: hosts::Chunks,
}

impl Default for Answers {
    fn default() -> Self {
        Self {
            status: Kept::new(SHORT, 1),
            long: Kept::new(LONG, MOST_LONG),
            hosts: hosts::Chunks::new(LONG, MOST_HOSTS),
        }
    }
}
