//! How a worker and its cluster stand, for whoever shows it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwapOption;

use super::status::ClusterStatus;

/// How a worker and its cluster stand. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct WorkerView(Arc<Seen>);

#[derive(Debug, Default)]
struct Seen {
    status: ArcSwapOption<ClusterStatus>,
    /// How often the engine has not answered since it did.
    silence: AtomicU64,
}

impl WorkerView {
    /// Returns how the cluster stood when this worker looked last; `None` before that.
    pub fn status(&self) -> Option<Arc<ClusterStatus>> {
        self.0.status.load_full()
    }

    /// Whether the engine has not answered since then.
    pub fn is_engine_away(&self) -> bool {
        self.0.silence.load(Ordering::Relaxed) > 0
    }

    /// Shows how the cluster stands now.
    pub(super) fn show(&self, status: ClusterStatus) {
        self.0.status.store(Some(Arc::new(status)));
        if self.0.silence.swap(0, Ordering::Relaxed) > 1 {
            tracing::info!("the engine of the cluster answers again");
        }
    }

    /// Shows that the engine does not answer, and tells it: ever more seldom, in what may be hours.
    pub(super) fn lost_the_engine(&self, reason: &str) {
        let silence = self.0.silence.fetch_add(1, Ordering::Relaxed) + 1;
        if silence.is_power_of_two() {
            tracing::warn!(reason, "the engine of the cluster does not answer");
        }
    }
}
