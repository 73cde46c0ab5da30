//! The time between two visits of a page: pure arithmetic over what the last visit found.
//!
//! How often pages change differs by orders of magnitude, and a crawler learns the rate of a page
//! only from its visits. The adaptive interval moves towards that rate by factors, as Apache
//! Nutch's `AdaptiveFetchSchedule` does: it is shortened after a change and lengthened after none.
//! When the host may be visited is a matter of [`super::Politeness`], not of this file.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// How the time between two visits of a page is chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RevisitMode {
    /// Pages are visited once.
    Off,
    /// Always the same interval.
    Fixed,
    /// The interval is shortened after a change and lengthened after none.
    #[default]
    Adaptive,
}

/// When pages are visited again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevisitPolicy {
    /// How the interval is chosen.
    pub mode: RevisitMode,
    /// The first interval, and every interval in the fixed mode.
    pub interval: Duration,
    /// The shortest adaptive interval.
    pub min_interval: Duration,
    /// The longest adaptive interval, and the interval before the next visit of a page that is
    /// gone.
    pub max_interval: Duration,
}

impl RevisitPolicy {
    /// A policy under which pages are visited once.
    pub fn off() -> Self {
        Self {
            mode: RevisitMode::Off,
            interval: Duration::ZERO,
            min_interval: Duration::ZERO,
            max_interval: Duration::ZERO,
        }
    }

    /// The time from a visit with this finding to the next one; `None` if there is none. `last` is
    /// the interval before the visit.
    pub fn next(&self, last: Option<Duration>, finding: Finding) -> Option<Duration> {
        let last = last.unwrap_or(self.interval);
        match (self.mode, finding) {
            (RevisitMode::Off, _) => None,
            (_, Finding::Gone) => Some(self.max_interval.max(self.interval)),
            (RevisitMode::Fixed, _) | (RevisitMode::Adaptive, Finding::First) => {
                Some(self.interval)
            }
            (RevisitMode::Adaptive, Finding::Changed) => Some(self.within(last / 2)),
            (RevisitMode::Adaptive, Finding::Unchanged) => Some(self.within(last + last / 2)),
            // Nothing was learned about the page, and its server is in trouble.
            (RevisitMode::Adaptive, Finding::Unreachable) => Some(self.within(last * 2)),
        }
    }

    fn within(&self, interval: Duration) -> Duration {
        interval.min(self.max_interval).max(self.min_interval)
    }
}

/// What a visit found, compared with the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Finding {
    /// There was no previous visit.
    First,
    /// The answer is the same.
    Unchanged,
    /// The answer is different.
    Changed,
    /// The server says that the page no longer exists (status 404 or 410).
    Gone,
    /// There was no answer, or an error of the server.
    Unreachable,
}

impl Finding {
    /// The name used in counters.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn policy(mode: RevisitMode) -> RevisitPolicy {
        RevisitPolicy {
            mode,
            interval: Duration::from_hours(24),
            min_interval: Duration::from_hours(1),
            max_interval: Duration::from_hours(240),
        }
    }

    #[track_caller]
    fn check(mode: RevisitMode, last: u64, finding: Finding, hours: Option<u64>) {
        let next = policy(mode).next(Some(Duration::from_hours(last)), finding);
        assert_eq!(next, hours.map(Duration::from_hours));
    }

    #[test]
    fn the_interval_follows_what_was_found() {
        use RevisitMode::{Adaptive, Fixed, Off};
        check(Adaptive, 8, Finding::Changed, Some(4));
        check(Adaptive, 8, Finding::Unchanged, Some(12));
        check(Adaptive, 8, Finding::Unreachable, Some(16));
        check(Adaptive, 1, Finding::Changed, Some(1));
        check(Adaptive, 200, Finding::Unchanged, Some(240));
        check(Adaptive, 8, Finding::Gone, Some(240));
        check(Adaptive, 8, Finding::First, Some(24));
        check(Fixed, 8, Finding::Changed, Some(24));
        check(Fixed, 8, Finding::Unchanged, Some(24));
        check(Fixed, 8, Finding::Gone, Some(240));
        check(Off, 8, Finding::Changed, None);
        assert_eq!(RevisitPolicy::off().next(None, Finding::First), None);
    }

    proptest! {
        /// A page that changes between any two visits reaches the shortest interval, one that never
        /// changes the longest, and no interval leaves the bounds.
        #[test]
        fn intervals_reach_their_bounds_and_keep_them(hours in 1_u64..240, changes in any::<bool>()) {
            let policy = policy(RevisitMode::Adaptive);
            let finding = if changes { Finding::Changed } else { Finding::Unchanged };
            let mut interval = Duration::from_hours(hours);
            for _ in 0..20 {
                interval = policy.next(Some(interval), finding).unwrap();
                prop_assert!((policy.min_interval..=policy.max_interval).contains(&interval));
            }
            let bound = if changes { policy.min_interval } else { policy.max_interval };
            prop_assert_eq!(interval, bound);
        }
    }
}
