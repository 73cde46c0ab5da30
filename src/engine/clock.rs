//! The engine's clock, the source of the moments that the pure rooms are given.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::frontier::Moment;

/// Wall time at the start, monotonic from then on: setting the system clock back does not bring two
/// visits of a host closer together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
    start_moment: Moment,
}

impl Clock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where the time of day is read"
    )]
    pub(crate) fn start() -> Self {
        let since_1970 = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            start: Instant::now(),
            start_moment: Moment::default().plus(since_1970),
        }
    }

    /// Returns a clock whose moments are those of this one, and that counts from now on.
    pub(crate) fn going_on(&self) -> Self {
        Self {
            start: Instant::now(),
            start_moment: self.now(),
        }
    }

    pub(crate) fn now(&self) -> Moment {
        self.start_moment.plus(self.start.elapsed())
    }

    /// Returns the current time, rounded up to a full millisecond: what has ended by now had ended
    /// by then.
    pub(crate) fn now_or_later(&self) -> Moment {
        self.now().plus(Duration::from_millis(1))
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    pub(crate) fn start_instant(&self) -> Instant {
        self.start
    }

    /// Returns the instant of a moment, to sleep until it. Moments are truncated to milliseconds,
    /// so the instant after one is never early.
    pub(crate) fn instant(&self, moment: Moment) -> Instant {
        self.start + self.start_moment.until(moment) + Duration::from_millis(1)
    }
}
