//! Points in time, as the schedule is told them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A point in time: milliseconds since 1970, never running backwards within a run.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Moment(pub u64);

impl Moment {
    /// The moment `wait` later.
    #[must_use]
    pub fn plus(self, wait: Duration) -> Self {
        Self(
            self.0
                .saturating_add(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
        )
    }

    /// How long until `later`; zero if it has passed.
    pub fn until(self, later: Self) -> Duration {
        Duration::from_millis(later.0.saturating_sub(self.0))
    }

    /// The moment as rows have it: microseconds since 1970.
    pub fn micros(self) -> i64 {
        i64::try_from(self.0)
            .unwrap_or(i64::MAX)
            .saturating_mul(1_000)
    }
}
