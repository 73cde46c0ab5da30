//! The engine's clock, the source of the moments that the pure rooms are given.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::frontier::Moment;

/// Wall time at the start, monotonic from then on: setting the system clock back does not bring two
/// visits of a host closer together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
    /// The time of day at the start, since 1970. To the nanosecond: a clock that counts on from a
    /// truncated one would be late, and take what a server has just said for the future.
    at_start: Duration,
}

impl Clock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where the time of day is read"
    )]
    pub(crate) fn start() -> Self {
        // First, so that a delay between the two makes no clock that is late either.
        let start = Instant::now();
        let at_start = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self { start, at_start }
    }

    /// Returns a clock whose moments are those of this one, and that counts from now on.
    pub(crate) fn going_on(&self) -> Self {
        let start = Instant::now();
        Self {
            start,
            at_start: self.at_start + start.duration_since(self.start),
        }
    }

    pub(crate) fn now(&self) -> Moment {
        self.moment(Instant::now())
    }

    fn moment(&self, instant: Instant) -> Moment {
        Moment::default().plus(self.at_start + instant.duration_since(self.start))
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
        let since_1970 = Moment::default().until(moment);
        self.start + since_1970.saturating_sub(self.at_start) + Duration::from_millis(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_starts_within_a_millisecond_is_not_late() {
        let clock = Clock {
            start: Instant::now(),
            at_start: Duration::from_micros(1_900),
        };
        let after = |micros| clock.start + Duration::from_micros(micros);
        assert_eq!(clock.moment(after(99)), Moment(1));
        assert_eq!(clock.moment(after(100)), Moment(2));
        assert_eq!(clock.instant(Moment(2)), after(1_100));
    }
}
