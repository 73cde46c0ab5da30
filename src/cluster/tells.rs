//! What a worker tells of itself for people to see: figures of its shards, where it is, its clock.
//! No worker decides anything by it.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::engine::{VisitVerdict, Watch};

/// Time over which a rate is taken.
const SPAN: Duration = Duration::from_secs(10);

/// What a worker tells of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tells {
    /// Its wall clock, in ms since 1970.
    pub(super) time: i64,
    /// The version of gleaner.
    pub(super) version: String,
    /// Its data directory.
    pub(super) data_dir: String,
    /// Where its console is, if it has one.
    pub(super) console: Option<String>,
    /// Maximum number of shards that it is to own; `None` for any.
    pub(super) max_shards: Option<u16>,
    /// How often it has taken over a shard whose owner was gone, since its process began.
    pub(super) take_overs: u64,
    /// Visits of pages that it commits in 100 s, by the last [`SPAN`].
    pub(super) pages_in_100_s: u64,
    /// Of the shards that it owns.
    pub(super) figures: BTreeMap<u16, Figures>,
}

/// Figures of a shard, since the crawl began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Figures {
    pub(super) pages: u64,
    pub(super) unique: u64,
    pub(super) duplicates: u64,
    pub(super) failed: u64,
    pub(super) forbidden: u64,
    pub(super) queued: u64,
    pub(super) hosts: u64,
    pub(super) bytes: u64,
    /// Visits in progress.
    pub(super) fetching: u64,
    /// What limits it, by name; empty while it is being opened.
    pub(super) limit: String,
    /// The position of its last entry.
    pub(super) end: u64,
    /// Position in the list of seeds up to which it has admitted them.
    pub(super) seeds_through: u64,
    /// Later visits of pages. It stands behind all else in the row of a worker, where versions
    /// before do not look.
    #[serde(skip)]
    pub(super) revisits: u64,
}

impl Figures {
    /// Reads what a crawl shows.
    pub(super) fn read(watch: &Watch) -> Self {
        let (counters, gauges) = (watch.counters(), watch.gauges());
        let of = |verdict| counters.verdicts.of(&verdict);
        let copies = [
            VisitVerdict::Raw,
            VisitVerdict::Normalized,
            VisitVerdict::Content,
            VisitVerdict::Near,
        ];
        Self {
            pages: counters.pages,
            unique: of(VisitVerdict::Unique),
            duplicates: copies.into_iter().map(of).sum(),
            failed: counters.failed,
            forbidden: counters.forbidden,
            queued: counters.queued,
            hosts: counters.hosts,
            bytes: counters.bytes,
            fetching: gauges.fetching as u64,
            limit: gauges.limit.name().to_owned(),
            revisits: counters.revisits.values().sum(),
            ..Self::default()
        }
    }
}

impl Figures {
    /// First visits of pages, and later ones.
    fn visits(&self) -> u64 {
        self.pages + self.revisits
    }
}

/// How many visits of pages a worker commits in a while, whichever shards it owns.
#[derive(Debug, Default)]
pub(super) struct Rate {
    /// Visits of each shard when it was looked at last.
    last: BTreeMap<u16, u64>,
    /// Visits that were committed here, at times.
    sums: VecDeque<(Duration, u64)>,
}

impl Rate {
    /// Takes in figures of the shards, and returns the visits of 100 s.
    pub(super) fn add(&mut self, now: Duration, figures: &BTreeMap<u16, Figures>) -> u64 {
        let mut sum = self.sums.back().map_or(0, |it| it.1);
        for (shard, figures) in figures {
            // What another worker has committed of it is none of this one's.
            let visits = figures.visits();
            let before = self.last.get(shard).copied().unwrap_or(visits);
            sum += visits.saturating_sub(before);
        }
        let visits = figures
            .iter()
            .map(|(shard, figures)| (*shard, figures.visits()));
        self.last = visits.collect();
        self.sums.push_back((now, sum));
        while self.sums.len() > 2 && now.saturating_sub(self.sums[1].0) >= SPAN {
            self.sums.pop_front();
        }
        let (since, then) = self.sums.front().copied().unwrap_or((now, sum));
        let passed = now.saturating_sub(since).as_millis().max(1_000);
        u64::try_from(u128::from(sum - then) * 100_000 / passed).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_that_of_the_last_seconds_and_of_this_worker() {
        let mut rate = Rate::default();
        let of = |pages: &[(u16, u64)]| {
            let figures = |pages: &(u16, u64)| {
                let figures = Figures {
                    pages: pages.1,
                    ..Figures::default()
                };
                (pages.0, figures)
            };
            pages.iter().map(figures).collect::<BTreeMap<_, _>>()
        };
        let second = Duration::from_secs;
        assert_eq!(rate.add(second(0), &of(&[(0, 500)])), 0);
        assert_eq!(rate.add(second(2), &of(&[(0, 520)])), 1_000);
        // A shard comes with what others have done.
        assert_eq!(rate.add(second(4), &of(&[(0, 540), (1, 9_000)])), 1_000);
        // One leaves, and nothing happens.
        assert_eq!(rate.add(second(14), &of(&[(1, 9_000)])), 0);
        assert_eq!(rate.add(second(24), &of(&[(1, 9_000)])), 0);
    }
}
