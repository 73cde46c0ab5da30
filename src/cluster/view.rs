//! How a worker and its cluster stand, for whoever shows it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwapOption;

use super::status::ClusterStatus;

/// How a worker and its cluster stand. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct WorkerView(Arc<Seen>);

#[derive(Debug, Default)]
struct Seen {
    status: ArcSwapOption<ClusterStatus>,
    is_engine_away: AtomicBool,
}

impl WorkerView {
    /// Returns how the cluster stood when this worker looked last; `None` before that.
    pub fn status(&self) -> Option<Arc<ClusterStatus>> {
        self.0.status.load_full()
    }

    /// Whether the engine has not answered since then.
    pub fn is_engine_away(&self) -> bool {
        self.0.is_engine_away.load(Ordering::Relaxed)
    }

    /// Shows how the cluster stands now.
    pub(super) fn show(&self, status: ClusterStatus) {
        self.0.status.store(Some(Arc::new(status)));
        self.0.is_engine_away.store(false, Ordering::Relaxed);
    }

    /// Shows that the engine does not answer.
    pub(super) fn lost_the_engine(&self) {
        self.0.is_engine_away.store(true, Ordering::Relaxed);
    }
}
