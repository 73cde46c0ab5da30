//! What each route does.

pub(super) mod follow;
pub(super) mod health;
pub(super) mod hosts;
pub(super) mod metrics;
pub(super) mod page;
pub(super) mod questions;
pub(super) mod status;
pub(super) mod steer;

use std::time::Duration;

use super::kept::Kept;

/// How long what takes long to read is kept at least.
const LONG: Duration = Duration::from_secs(10);
/// How long is kept what changes all the time and is asked for by every page that is open.
const SHORT: Duration = Duration::from_secs(5);

/// Answers that are kept for a while.
pub(super) struct Answers {
    status: Kept<(), status::Beside>,
    /// JSON, by the command that gives the same.
    long: Kept<String, Vec<u8>>,
    hosts: hosts::Chunks,
}

impl Default for Answers {
    fn default() -> Self {
        Self {
            status: Kept::new(SHORT),
            long: Kept::new(LONG),
            hosts: hosts::Chunks::new(LONG),
        }
    }
}
