//! When a crawl of several shards is over: the rule of the four counters (F. Mattern, "Algorithms
//! for distributed termination detection", Distributed Computing 2, 1987). Pure.

use serde::{Deserialize, Serialize};

/// What a shard has exchanged with the others, by their numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Number of the last message that was sent.
    pub sent: Vec<u64>,
    /// Number of the last message that was taken in.
    pub received: Vec<u64>,
    /// Number of the last notice to all, and of the last one that has come back.
    pub told: (u64, u64),
}

/// What a shard says of itself, all of it at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// Set if it has nothing to do before something arrives.
    pub is_idle: bool,
    /// What it has exchanged.
    pub counts: Counts,
}

/// Finds out when nothing is left to do, by looking at all shards in turn.
#[derive(Debug, Clone)]
pub struct Census {
    shards: usize,
    /// The last round, if all were idle and nothing was on its way.
    quiet: Option<Vec<Look>>,
}

impl Census {
    /// For a crawl of so many shards.
    pub fn new(shards: u16) -> Self {
        Self {
            shards: usize::from(shards),
            quiet: None,
        }
    }

    /// Takes in a round: a look at each shard, in the order of their numbers. Each must be younger
    /// than the end of the round before. Returns `true` if the crawl is over: in both rounds all
    /// shards were idle and had received what was sent to them, and no counter has moved between.
    ///
    /// One round does not do: a shard that was idle when it was looked at may have been woken by
    /// one that was looked at later, whose message it then answered with another.
    pub fn round(&mut self, looks: Vec<Look>) -> bool {
        let is_quiet = looks.len() == self.shards && is_quiet(&looks);
        let is_over = is_quiet && self.quiet.as_ref() == Some(&looks);
        self.quiet = is_quiet.then_some(looks);
        is_over
    }
}

/// Whether all shards are idle, and have received what was sent to them.
fn is_quiet(looks: &[Look]) -> bool {
    let count = |numbers: &[u64], at: usize| numbers.get(at).copied().unwrap_or_default();
    let has_arrived = |(from, look): (usize, &Look)| {
        let mut others = looks.iter().enumerate();
        others.all(|(to, other)| {
            from == to || count(&look.counts.sent, to) == count(&other.counts.received, from)
        })
    };
    looks.iter().all(|look| look.is_idle) && looks.iter().enumerate().all(has_arrived)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn look(is_idle: bool, sent: &[u64], received: &[u64]) -> Look {
        Look {
            is_idle,
            counts: Counts {
                sent: sent.to_vec(),
                received: received.to_vec(),
                ..Counts::default()
            },
        }
    }

    #[test]
    fn two_rounds_that_are_quiet_and_alike_end_a_crawl() {
        let quiet = || vec![look(true, &[0, 3], &[0, 1]), look(true, &[1, 0], &[3, 0])];
        let mut census = Census::new(2);
        assert!(!census.round(quiet()));
        assert!(census.round(quiet()));
        // One is busy, one has not received all, one is missing: it begins anew.
        for broken in [
            vec![look(true, &[0, 3], &[0, 1]), look(false, &[1, 0], &[3, 0])],
            vec![look(true, &[0, 3], &[0, 1]), look(true, &[1, 0], &[2, 0])],
            vec![look(true, &[0, 3], &[0, 1])],
        ] {
            assert!(!census.round(broken));
            assert!(!census.round(quiet()));
        }
        // All was received, but more than in the round before.
        let later = vec![look(true, &[0, 4], &[0, 2]), look(true, &[2, 0], &[4, 0])];
        assert!(!census.round(later.clone()));
        assert!(census.round(later));
    }

    /// Shards that work, and send one another work.
    #[derive(Debug, Default)]
    struct Simulated {
        work: Vec<u32>,
        counts: Vec<Counts>,
        /// Messages on their way: from, to, number.
        on_the_way: Vec<(usize, usize, u64)>,
        /// Messages that may still be caused.
        left: u32,
    }

    impl Simulated {
        fn new(shards: usize, left: u32) -> Self {
            let mut work = vec![0; shards];
            work[0] = 1;
            let none = || vec![0; shards];
            let counts = || Counts {
                sent: none(),
                received: none(),
                ..Counts::default()
            };
            Self {
                work,
                counts: (0..shards).map(|_| counts()).collect(),
                on_the_way: Vec::new(),
                left,
            }
        }

        /// One step of whatever a random number says: a shard does a piece of work and sends
        /// messages, or one arrives, early or late.
        fn step(&mut self, random: u32) {
            let shards = self.work.len();
            let (at, what) = (random as usize % shards, random / 7 % 3);
            if what == 0 && !self.on_the_way.is_empty() {
                let next = random as usize / 64 % self.on_the_way.len();
                let (from, to, number) = self.on_the_way[next];
                // What would leave a gap is left alone, and comes again.
                if self.counts[to].received[from] + 1 == number {
                    self.on_the_way.swap_remove(next);
                    self.counts[to].received[from] = number;
                    self.work[to] += 1;
                }
            } else if self.work[at] > 0 {
                self.work[at] -= 1;
                for _ in 0..(random / 64 % 4).min(self.left) {
                    self.left -= 1;
                    let to = (at + 1 + random as usize / 512 % (shards - 1)) % shards;
                    self.counts[at].sent[to] += 1;
                    self.on_the_way.push((at, to, self.counts[at].sent[to]));
                }
            }
        }

        fn look(&self, shard: usize) -> Look {
            Look {
                is_idle: self.work[shard] == 0,
                counts: self.counts[shard].clone(),
            }
        }

        fn is_over(&self) -> bool {
            self.on_the_way.is_empty() && self.work.iter().all(|work| *work == 0)
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]
        /// However long messages take, and whatever happens between the looks of one round, a
        /// crawl is never said to be over before it is, and then in the third round at the latest.
        #[test]
        fn a_crawl_is_over_once_and_never_early(
            shards in 2..5_usize,
            left in 0..60_u32,
            steps in prop::collection::vec(any::<u32>(), 1..1_500),
            pace in 1..6_usize,
        ) {
            let mut simulated = Simulated::new(shards, left);
            let mut census = Census::new(u16::try_from(shards).unwrap());
            let mut steps = steps.chunks(pace);
            loop {
                let mut looks = Vec::new();
                for shard in 0..shards {
                    for random in steps.next().into_iter().flatten() {
                        simulated.step(*random);
                    }
                    looks.push(simulated.look(shard));
                }
                if census.round(looks) {
                    prop_assert!(simulated.is_over());
                    break;
                }
                if steps.len() == 0 {
                    break;
                }
            }
            // The rest is done, and that is noticed.
            let mut random = 1_u32;
            while !simulated.is_over() {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                simulated.step(random >> 8);
            }
            let looks = || (0..shards).map(|shard| simulated.look(shard)).collect::<Vec<_>>();
            let rounds = (0..3).map(|_| census.round(looks())).collect::<Vec<_>>();
            prop_assert!(rounds[2], "{rounds:?}");
        }
    }
}
