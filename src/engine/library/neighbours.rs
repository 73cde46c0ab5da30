//! Which shards visit which server, so that those that visit the same one share what one of them
//! could ask of it.
//!
//! A shard tells all others with the first visit of a server that it commits, and again while it
//! goes on; it counts as visiting that server for a while after it has told. So nobody asks before
//! a visit, and whoever is done with a server leaves it to the others by saying nothing.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use crate::frontier::Moment;
use crate::store::{self, Batch, Store, Table, decode, encode};

/// Time for which a shard counts as visiting a server after it has told.
const STAYS: Duration = Duration::from_mins(20);

/// A shard that visits a server tells again when it counts there for no longer than this.
const RENEWS: Duration = Duration::from_mins(10);

/// Time at least for which a shard leaves a server alone after a visit of which it has not heard
/// itself: others that visit the same server cannot know of it yet.
const UNHEARD: Duration = Duration::from_secs(1);

/// Maximum number of servers, each of which takes some 120 bytes of memory. Of others nobody tells,
/// and each shard leaves them alone for [`UNHEARD`] at least.
const MAX_SERVERS: usize = 250_000;

/// Prefix of the rows, by address.
const ROWS: &[u8] = b"server/";

/// A shard, and until when it counts as visiting a server.
type Visitor = (u16, Moment);

/// The shards that visit each server. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(super) struct Neighbours(Arc<RwLock<HashMap<IpAddr, Vec<Visitor>>>>);

impl Neighbours {
    /// Reads what [`note`](Self::note) wrote.
    pub(super) fn open(store: &dyn Store) -> store::Result<Self> {
        let mut servers = HashMap::new();
        for (key, row) in store.range(Table::Meta, ROWS, ROWS, MAX_SERVERS)? {
            if let Some(server) = parse_row_of(&key) {
                servers.insert(server, decode(Table::Meta, &row)?);
            }
        }
        Ok(Self(Arc::new(RwLock::new(servers))))
    }

    /// Notes that a shard counts as visiting a server until then. What is over is passed over, and
    /// whose clock is fast counts no longer than others.
    pub(super) fn note(
        &self,
        (server, shard): (IpAddr, u16),
        until: Moment,
        now: Moment,
        batch: &mut Batch,
    ) {
        let until = until.min(now.plus(STAYS));
        if until <= now {
            return;
        }
        let mut servers = self.write();
        let is_full = servers.len() >= MAX_SERVERS;
        let visitors = match servers.entry(server) {
            Entry::Vacant(_) if is_full => return,
            entry => entry.or_default(),
        };
        visitors.retain(|(other, until)| *other != shard && *until > now);
        visitors.push((shard, until));
        batch.put(Table::Meta, row_of(server), encode(visitors));
    }

    /// Notes what [`note`](Self::note) wrote elsewhere.
    pub(super) fn note_row(
        &self,
        (key, row): (&[u8], &[u8]),
        now: Moment,
        batch: &mut Batch,
    ) -> store::Result<()> {
        let visitors: Vec<Visitor> = decode(Table::Meta, row)?;
        if let Some(server) = parse_row_of(key) {
            for (shard, until) in visitors {
                self.note((server, shard), until, now, batch);
            }
        }
        Ok(())
    }

    /// Forgets servers that nobody visits any more.
    pub(super) fn forget(&self, now: Moment, batch: &mut Batch) {
        self.write().retain(|server, visitors| {
            let is_visited = visitors.iter().any(|(_, until)| *until > now);
            if !is_visited {
                batch.delete(Table::Meta, row_of(*server));
            }
            is_visited
        });
    }

    /// Returns the time for which a shard leaves a server alone after a visit, if one that is alone
    /// there does so for `delay`. All that visit it together ask for no more than one would.
    pub(super) fn delay(
        &self,
        (server, shard): (IpAddr, u16),
        delay: Duration,
        now: Moment,
    ) -> Duration {
        let servers = self.read();
        let visitors = servers.get(&server).into_iter().flatten();
        let (mut all, mut is_heard) = (1, false);
        for (visitor, _) in visitors.filter(|(_, until)| *until > now) {
            match *visitor == shard {
                true => is_heard = true,
                false => all += 1,
            }
        }
        let delay = delay.saturating_mul(all);
        match is_heard {
            true => delay,
            false => delay.max(UNHEARD),
        }
    }

    /// Returns until when a shard that has visited a server counts there, if it is to tell others.
    pub(super) fn is_to_be_told(
        &self,
        (server, shard): (IpAddr, u16),
        now: Moment,
    ) -> Option<Moment> {
        let servers = self.read();
        let is_known = match servers.get(&server) {
            None => servers.len() >= MAX_SERVERS,
            Some(visitors) => {
                let late = now.plus(RENEWS);
                let mut visitors = visitors.iter();
                visitors.any(|(other, until)| *other == shard && *until > late)
            }
        };
        (!is_known).then(|| now.plus(STAYS))
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<IpAddr, Vec<Visitor>>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<IpAddr, Vec<Visitor>>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether this is the key of a row.
pub(super) fn is_row(key: &[u8]) -> bool {
    key.starts_with(ROWS)
}

fn row_of(server: IpAddr) -> Vec<u8> {
    let server = match server {
        IpAddr::V4(server) => server.to_ipv6_mapped(),
        IpAddr::V6(server) => server,
    };
    [ROWS, &server.octets()].concat()
}

fn parse_row_of(key: &[u8]) -> Option<IpAddr> {
    let octets: &[u8; 16] = key.strip_prefix(ROWS)?.try_into().ok()?;
    Some(IpAddr::V6(Ipv6Addr::from(*octets)).to_canonical())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::store::{Durability, Memory};

    const NOW: Moment = Moment(1_000_000_000);
    const DELAY: Duration = Duration::from_millis(250);

    fn server(number: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, number])
    }

    fn note(neighbours: &Neighbours, server: IpAddr, shard: u16, now: Moment) {
        let until = neighbours.is_to_be_told((server, shard), now);
        if let Some(until) = until {
            neighbours.note((server, shard), until, now, &mut Batch::new());
        }
    }

    #[test]
    fn who_is_alone_at_a_server_visits_it_as_a_single_machine_does() {
        let neighbours = Neighbours::default();
        note(&neighbours, server(1), 3, NOW);
        note(&neighbours, server(2), 4, NOW);
        assert_eq!(neighbours.delay((server(1), 3), DELAY, NOW), DELAY);
        // Hours later, when others have come and gone.
        note(&neighbours, server(1), 4, NOW);
        let later = NOW.plus(Duration::from_mins(21));
        note(&neighbours, server(1), 3, later);
        assert_eq!(neighbours.delay((server(1), 3), DELAY, later), DELAY);
    }

    #[test]
    fn those_that_visit_a_server_share_what_one_could_ask_of_it() {
        let neighbours = Neighbours::default();
        for shard in 0..8 {
            note(&neighbours, server(1), shard, NOW);
        }
        for shard in 0..8 {
            let delay = neighbours.delay((server(1), shard), DELAY, NOW);
            assert_eq!(delay, 8 * DELAY);
        }
        // Whoever comes counts itself before anybody has heard of it.
        assert_eq!(neighbours.delay((server(1), 9), DELAY, NOW), 9 * DELAY);
        assert_eq!(neighbours.delay((server(2), 9), DELAY, NOW), UNHEARD);
    }

    #[test]
    fn it_is_told_once_and_again_before_it_is_over() {
        let neighbours = Neighbours::default();
        let tells = |minutes| {
            let now = NOW.plus(Duration::from_mins(minutes));
            let told = neighbours.is_to_be_told((server(1), 0), now);
            note(&neighbours, server(1), 0, now);
            told.is_some()
        };
        let told: Vec<u64> = (0..40).filter(|minutes| tells(*minutes)).collect();
        assert_eq!(told, [0, 10, 20, 30]);
    }

    #[test]
    fn a_clock_that_is_wrong_keeps_no_server_for_ever() {
        let neighbours = Neighbours::default();
        let mut batch = Batch::new();
        let far = NOW.plus(Duration::from_hours(24));
        neighbours.note((server(1), 1), far, NOW, &mut batch);
        neighbours.note((server(1), 2), Moment(7), NOW, &mut batch);
        assert_eq!(neighbours.delay((server(1), 0), DELAY, NOW), UNHEARD);
        assert_eq!(neighbours.delay((server(1), 1), DELAY, NOW), DELAY);
        let later = NOW.plus(Duration::from_mins(21));
        neighbours.forget(later, &mut batch);
        assert!(neighbours.read().is_empty());
    }

    #[test]
    fn what_is_full_takes_no_more_and_asks_for_no_more() {
        let neighbours = Neighbours::default();
        for number in 0..=MAX_SERVERS as u32 {
            note(&neighbours, IpAddr::from(number.to_be_bytes()), 0, NOW);
        }
        assert_eq!(neighbours.read().len(), MAX_SERVERS);
        let late = IpAddr::from((MAX_SERVERS as u32).to_be_bytes());
        assert_eq!(neighbours.is_to_be_told((late, 0), NOW), None);
        assert_eq!(neighbours.delay((late, 0), DELAY, NOW), UNHEARD);
    }

    proptest! {
        #[test]
        fn it_is_read_as_it_was(
            visits in prop::collection::vec((any::<u8>(), 0_u16..4, 0_u64..40, any::<bool>()), 0..60)
        ) {
            let store = Memory::default();
            let neighbours = Neighbours::default();
            let mut now = NOW;
            for (number, shard, minutes, forgets) in visits {
                let mut batch = Batch::new();
                let until = now.plus(Duration::from_mins(minutes));
                let server = match number % 2 {
                    0 => server(number),
                    _ => IpAddr::from([0x2001, 0xdb8, 0, number.into(), 0, 0, 0, 0]),
                };
                neighbours.note((server, shard), until, now, &mut batch);
                if forgets {
                    now = now.plus(Duration::from_mins(7));
                    neighbours.forget(now, &mut batch);
                }
                store.commit(batch, Durability::Process).unwrap();
            }
            let read = Neighbours::open(&store).unwrap();
            prop_assert_eq!(&*read.read(), &*neighbours.read());
        }
    }
}
