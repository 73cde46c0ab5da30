//! The engine's clock: where the pure rooms' moments come from.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::frontier::Moment;

/// Wall time at the start, monotonic from then on: a clock that is set back does not make two
/// visits of a host come close.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    start: Instant,
    start_moment: Moment,
}

impl Clock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where the time of day is read"
    )]
    pub(super) fn start() -> Self {
        let since_1970 = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            start: Instant::now(),
            start_moment: Moment::default().plus(since_1970),
        }
    }

    pub(super) fn now(&self) -> Moment {
        self.start_moment.plus(self.start.elapsed())
    }

    /// The next full millisecond: what ended now had ended by then, never after it.
    pub(super) fn now_or_later(&self) -> Moment {
        self.now().plus(Duration::from_millis(1))
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    pub(super) fn start_instant(&self) -> Instant {
        self.start
    }

    /// The instant of a moment, to sleep until it. A moment is cut to milliseconds: the one after
    /// it is never early.
    pub(super) fn instant(&self, moment: Moment) -> Instant {
        self.start + self.start_moment.until(moment) + Duration::from_millis(1)
    }
}
