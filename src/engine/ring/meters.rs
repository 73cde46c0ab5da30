//! How long commits and fetches take, counted where they end, without a lock: a few atomic
//! additions each.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::frontier::Moment;

/// Upper bounds of the buckets, in milliseconds; what takes longer is in one more.
const BOUNDS: [u64; 13] = [
    1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 60_000, 120_000, 300_000,
];

/// A number of durations by size. They may be read while others are counted.
#[derive(Debug, Default)]
pub struct Histogram {
    buckets: [AtomicU64; BOUNDS.len() + 1],
    micros: AtomicU64,
}

/// What a histogram holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Durations {
    /// Upper bounds of the buckets, rising, each with the number of durations in its bucket; `None`
    /// for the last, which has none.
    pub buckets: Vec<(Option<Duration>, u64)>,
    /// Their sum.
    pub sum: Duration,
}

impl Histogram {
    /// Counts a duration.
    pub(crate) fn count(&self, took: Duration) {
        let bucket = BOUNDS
            .iter()
            .position(|most| took <= Duration::from_millis(*most));
        if let Some(bucket) = self.buckets.get(bucket.unwrap_or(BOUNDS.len())) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// Returns what was counted.
    pub fn read(&self) -> Durations {
        let bounds = BOUNDS.iter().map(|most| Some(Duration::from_millis(*most)));
        let counts = self.buckets.iter().map(|it| it.load(Ordering::Relaxed));
        Durations {
            buckets: bounds.chain([None]).zip(counts).collect(),
            sum: Duration::from_micros(self.micros.load(Ordering::Relaxed)),
        }
    }
}

/// What is measured of a run. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Meters(Arc<Measured>);

#[derive(Debug, Default)]
struct Measured {
    commits: Histogram,
    fetches: Histogram,
    sequence: AtomicU64,
    /// When the last commit ended, in milliseconds since 1970; 0 if there was none.
    committed: AtomicU64,
}

impl Meters {
    /// How long the commits of this run took.
    pub fn commits(&self) -> &Histogram {
        &self.0.commits
    }

    /// How long the fetches of this run took, from the hand-out of a visit to its last byte.
    pub fn fetches(&self) -> &Histogram {
        &self.0.fetches
    }

    /// Number of commits since the crawl began.
    pub fn sequence(&self) -> u64 {
        self.0.sequence.load(Ordering::Relaxed)
    }

    /// When this run last committed something; `None` if it has not.
    pub fn last_commit(&self) -> Option<Moment> {
        let committed = self.0.committed.load(Ordering::Relaxed);
        (committed > 0).then_some(Moment(committed))
    }

    /// Notes how many commits there were before this run.
    pub(crate) fn begin(&self, sequence: u64) {
        self.0.sequence.store(sequence, Ordering::Relaxed);
    }

    /// Notes a commit.
    pub(crate) fn committed(&self, sequence: u64, took: Duration, now: Moment) {
        self.0.commits.count(took);
        self.0.sequence.store(sequence, Ordering::Relaxed);
        self.0.committed.store(now.0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_counted_by_size() {
        let histogram = Histogram::default();
        for micros in [0, 1_000, 1_001, 2_000_000, 3_000_000, 400_000_000] {
            histogram.count(Duration::from_micros(micros));
        }
        let read = histogram.read();
        let counted: Vec<_> = read
            .buckets
            .iter()
            .filter(|(_, count)| *count > 0)
            .collect();
        let millis = |it| Some(Duration::from_millis(it));
        assert_eq!(
            counted,
            [
                &(millis(1), 2),
                &(millis(3), 1),
                &(millis(3_000), 2),
                &(None, 1)
            ]
        );
        assert_eq!(read.sum, Duration::from_micros(405_002_001));
    }

    #[test]
    fn a_commit_is_known_by_its_number_and_time() {
        let meters = Meters::default();
        meters.begin(41);
        assert_eq!((meters.sequence(), meters.last_commit()), (41, None));
        meters.committed(42, Duration::from_millis(5), Moment(7));
        assert_eq!(
            (meters.sequence(), meters.last_commit()),
            (42, Some(Moment(7)))
        );
        assert_eq!(meters.commits().read().sum, Duration::from_millis(5));
    }
}
