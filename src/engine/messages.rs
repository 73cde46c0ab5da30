//! Messages between a run and those who started it or send it commands.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// Asks a run to stop: it starts no new fetches, gives those in progress a moment to end, and
/// commits everything that arrived. Cheap to clone.
#[derive(Debug, Clone)]
pub struct StopHandle(watch::Sender<bool>);

impl StopHandle {
    /// Creates a handle.
    pub fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    /// Asks the run to stop. Returns `true` the first time.
    pub fn stop(&self) -> bool {
        !self.0.send_replace(true)
    }

    /// Returns `true` if the run was asked to stop.
    pub fn is_stopped(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the run is asked to stop.
    pub async fn stopped(&self) {
        let mut receiver = self.0.subscribe();
        // The sender lives in `self`, so waiting cannot fail.
        let _ = receiver.wait_for(|stopped| *stopped).await;
    }
}

impl Default for StopHandle {
    fn default() -> Self {
        Self::new()
    }
}

/// The opening of a crawl as others see it: that it goes on, and that it is to stop. Cheap to
/// clone.
#[derive(Debug, Clone, Default)]
pub struct Opening {
    stop: StopHandle,
    steps: Arc<AtomicU64>,
}

impl Opening {
    /// Creates the handle of an opening that ends early when `stop` is asked for.
    pub fn new(stop: StopHandle) -> Self {
        Self {
            stop,
            steps: Arc::default(),
        }
    }

    /// Returns the number of steps so far. It rises while what takes long makes progress.
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// Returns `true` if the opening is to end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.is_stopped()
    }

    /// Counts a step.
    ///
    /// # Errors
    ///
    /// [`Stopped`] if the opening is to end. Whoever is asked to stop leaves nothing half done.
    pub(crate) fn step(&self) -> Result<(), Stopped> {
        self.steps.fetch_add(1, Ordering::Relaxed);
        match self.is_stopped() {
            true => Err(Stopped),
            false => Ok(()),
        }
    }
}

/// The crawl was stopped before it was open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("stopped before the crawl was open; the same command goes on from there")]
pub struct Stopped;

/// How many of the given seeds were new.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct SeedsAdded {
    /// Seeds that were queued.
    pub new: u64,
    /// Seeds that were queued or visited before, or cannot be crawled because they are too long.
    pub known: u64,
}

/// The run is over, or about to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the crawl is ending")]
pub struct Over;
