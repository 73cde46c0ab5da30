//! Points in time, as they are passed to the schedule.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A point in time in milliseconds since 1970. Never runs backwards within a run.
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

    /// The time until `later`; zero if that has passed.
    pub fn until(self, later: Self) -> Duration {
        Duration::from_millis(later.0.saturating_sub(self.0))
    }

    /// The moment of microseconds since 1970, as rows store them.
    pub fn of_micros(micros: i64) -> Self {
        Self(u64::try_from(micros / 1_000).unwrap_or_default())
    }

    /// The moment in microseconds since 1970, as rows store it.
    pub fn micros(self) -> i64 {
        i64::try_from(self.0)
            .unwrap_or(i64::MAX)
            .saturating_mul(1_000)
    }
}
