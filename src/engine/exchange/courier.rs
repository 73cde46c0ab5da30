//! What is to be sent when: the side of a courier that needs no network. It is told the time and
//! reads no clock.

use std::time::Duration;

use super::Parcel;
use crate::engine::library::Bulletin;
use crate::frontier::Shards;

/// Carries what waits in a shard's outbox: each message as soon as it is there and its receiver was
/// sent nothing for a while, and again if that does not acknowledge it in time. Remembers nothing
/// that must not be lost.
#[derive(Debug, Clone)]
pub struct Courier {
    shards: Shards,
    pace: Pace,
    patience: Duration,
    rounds: Vec<Round>,
}

/// How often a shard is sent something.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pace {
    /// Least time between two parcels.
    pub between: Duration,
    /// Bytes of a parcel that is full, so that the next one follows at once.
    pub full: usize,
}

/// Tells all other shards what waits for them: each notice as soon as it is there, and again if it
/// does not come back in time.
#[derive(Debug, Clone)]
pub struct Crier {
    patience: Duration,
    round: Round,
}

impl Crier {
    /// One that tells again what has not come back for so long.
    pub fn new(patience: Duration) -> Self {
        Self {
            patience,
            round: Round::default(),
        }
    }

    /// Returns what is to be told next, if there is anything. `waiting` reads what waits behind a
    /// number.
    pub fn collect<E>(
        &mut self,
        now: Duration,
        waiting: impl FnOnce(u64) -> Result<Option<Bulletin>, E>,
    ) -> Result<Option<Bulletin>, E> {
        let bulletin = waiting(self.round.behind(now, self.patience))?;
        if let Some(bulletin) = &bulletin {
            self.round.send(bulletin.through(), now);
        }
        Ok(bulletin)
    }

    /// Notes that what was told has come back up to this number. Returns `true` if that is new.
    pub fn returned(&mut self, through: u64, now: Duration) -> bool {
        self.round.acknowledge(through, now)
    }

    /// Whether something has not come back yet.
    pub fn waits(&self) -> bool {
        self.round.sent > self.round.acknowledged
    }
}

/// How far the messages to one shard are.
#[derive(Debug, Clone, Copy, Default)]
struct Round {
    /// The last message that was sent.
    sent: u64,
    /// The last message that was acknowledged.
    acknowledged: u64,
    /// When something was sent or acknowledged last.
    moved: Duration,
    /// The earliest time of the next parcel.
    due: Duration,
}

impl Round {
    /// Returns behind which number sending goes on.
    fn behind(&mut self, now: Duration, patience: Duration) -> u64 {
        let is_late = now.saturating_sub(self.moved) >= patience;
        if is_late && self.sent > self.acknowledged {
            self.sent = self.acknowledged;
        }
        self.sent
    }

    fn send(&mut self, through: u64, now: Duration) {
        self.sent = through;
        self.moved = now;
    }

    fn acknowledge(&mut self, through: u64, now: Duration) -> bool {
        let is_new = through > self.acknowledged;
        if is_new {
            self.acknowledged = through;
            self.sent = self.sent.max(through);
            self.moved = now;
        }
        is_new
    }
}

impl Courier {
    /// A courier of one shard, which sends again what was not acknowledged for `patience`.
    pub fn new(shards: Shards, pace: Pace, patience: Duration) -> Self {
        Self {
            shards,
            pace,
            patience,
            rounds: vec![Round::default(); usize::from(shards.count())],
        }
    }

    /// Returns the next parcel for each of the other shards, as far as there is one and it is time
    /// for it. `waiting` reads what waits for a shard behind a number.
    pub fn collect<E>(
        &mut self,
        now: Duration,
        mut waiting: impl FnMut(u16, u64) -> Result<Option<Parcel>, E>,
    ) -> Result<Vec<Parcel>, E> {
        let mut parcels = Vec::new();
        for to in self.shards.others() {
            let round = &mut self.rounds[usize::from(to)];
            if now < round.due {
                continue;
            }
            if let Some(parcel) = waiting(to, round.behind(now, self.patience))? {
                round.send(parcel.through(), now);
                let bytes: usize = parcel.rows.iter().map(Vec::len).sum();
                if bytes < self.pace.full {
                    round.due = now + self.pace.between;
                }
                parcels.push(parcel);
            }
        }
        Ok(parcels)
    }

    /// Notes that a shard has committed what was sent to it up to this number. Returns `true` if
    /// that is new.
    pub fn acknowledged(&mut self, to: u16, through: u64, now: Duration) -> bool {
        let round = self.rounds.get_mut(usize::from(to));
        round.is_some_and(|round| round.acknowledge(through, now))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// The number of messages that wait for shard 1; at most two are sent at once.
    fn waiting(count: u64) -> impl FnMut(u16, u64) -> Result<Option<Parcel>, Infallible> {
        move |to, after| {
            let numbers = after + 1..=count.min(after + 2);
            let rows: Vec<_> = numbers.map(|number| vec![number as u8]).collect();
            Ok((to == 1 && !rows.is_empty()).then_some(Parcel {
                from: 0,
                to,
                first: after + 1,
                gone: 0,
                rows,
            }))
        }
    }

    #[test]
    fn what_is_not_acknowledged_is_sent_again() {
        let second = Duration::from_secs;
        let mut courier = Courier::new(Shards::new(0, 3).unwrap(), Pace::default(), second(30));
        let sent = |courier: &mut Courier, now, count| {
            let parcels = courier.collect(second(now), waiting(count)).unwrap();
            let numbers = parcels.iter().map(|it| (it.first, it.through()));
            numbers.collect::<Vec<_>>()
        };
        assert_eq!(sent(&mut courier, 0, 5), [(1, 2)]);
        assert_eq!(sent(&mut courier, 1, 5), [(3, 4)]);
        assert_eq!(sent(&mut courier, 2, 5), [(5, 5)]);
        assert!(courier.acknowledged(1, 3, second(3)));
        assert!(!courier.acknowledged(1, 2, second(4)));
        assert!(!courier.acknowledged(7, 2, second(4)));
        assert_eq!(sent(&mut courier, 32, 5), []);
        assert_eq!(sent(&mut courier, 33, 5), [(4, 5)]);
        assert!(courier.acknowledged(1, 5, second(34)));
        assert_eq!(sent(&mut courier, 99, 5), []);
        assert_eq!(sent(&mut courier, 99, 6), [(6, 6)]);
    }

    #[test]
    fn parcels_keep_their_distance_unless_they_are_full() {
        let second = Duration::from_secs;
        let sent = |full, count| {
            let pace = Pace {
                between: second(1),
                full,
            };
            let mut courier = Courier::new(Shards::new(0, 3).unwrap(), pace, second(30));
            let times = (0..12).map(|tenth| Duration::from_millis(tenth * 100));
            let sent = times.filter(|now| {
                let parcels = courier.collect(*now, waiting(count)).unwrap();
                !parcels.is_empty()
            });
            sent.map(|now| now.as_millis()).collect::<Vec<_>>()
        };
        assert_eq!(sent(3, 5), [0, 1_000]);
        assert_eq!(sent(2, 5), [0, 100, 200]);
    }
}
