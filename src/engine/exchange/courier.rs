//! What is to be sent when: the side of a courier that needs no network. It is told the time and
//! reads no clock.

use std::time::Duration;

use super::Parcel;
use crate::engine::library::Bulletin;
use crate::frontier::Shards;

/// Carries what waits in a shard's outbox: each message as soon as it is there, and again if its
/// receiver does not acknowledge it in time. Remembers nothing that must not be lost.
#[derive(Debug, Clone)]
pub struct Courier {
    shards: Shards,
    patience: Duration,
    rounds: Vec<Round>,
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
    /// A courier of one shard, which sends again what was not acknowledged for so long.
    pub fn new(shards: Shards, patience: Duration) -> Self {
        Self {
            shards,
            patience,
            rounds: vec![Round::default(); usize::from(shards.count())],
        }
    }

    /// Returns the next parcel for each of the other shards, as far as there is one. `waiting`
    /// reads what waits for a shard behind a number.
    pub fn collect<E>(
        &mut self,
        now: Duration,
        mut waiting: impl FnMut(u16, u64) -> Result<Option<Parcel>, E>,
    ) -> Result<Vec<Parcel>, E> {
        let mut parcels = Vec::new();
        for to in self.shards.others() {
            let round = &mut self.rounds[usize::from(to)];
            if let Some(parcel) = waiting(to, round.behind(now, self.patience))? {
                round.send(parcel.through(), now);
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
        let mut courier = Courier::new(Shards::new(0, 3).unwrap(), second(30));
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
}
