//! What passes between a run and those who started it or speak to it.

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// Asks a run to stop: no new fetches, those in progress get a moment to end, everything that
/// arrived is committed. Cheap to clone.
#[derive(Debug, Clone)]
pub struct StopHandle(watch::Sender<bool>);

impl StopHandle {
    /// A handle that was not used yet.
    pub fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    /// Asks the run to stop. True the first time.
    pub fn stop(&self) -> bool {
        !self.0.send_replace(true)
    }

    /// Whether the run was asked to stop.
    pub fn is_stopped(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns when the run was asked to stop.
    pub async fn stopped(&self) {
        let mut receiver = self.0.subscribe();
        // The sender lives in `self`: waiting cannot fail.
        let _ = receiver.wait_for(|stopped| *stopped).await;
    }
}

impl Default for StopHandle {
    fn default() -> Self {
        Self::new()
    }
}

/// How many of the seeds given were new.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeedsAdded {
    /// Queued.
    pub new: u64,
    /// Queued or visited before, or not to be crawled (too long).
    pub known: u64,
}

/// The run is over, or about to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the crawl is ending")]
pub struct Over;
