//! Which hosts have most waiting and which fail most, for those who ask: read from the store, also
//! while a crawl runs. Looks through all hosts, in bounded memory.

use serde::{Deserialize, Serialize};

use super::Error;
use super::why::HostNow;
use crate::frontier::{Block, HostState};
use crate::store::{Store, Table, decode, for_each};

/// Hosts in each list.
const SHOWN: usize = 10;
/// Queue rows of each host shown whose size is looked at.
const SAMPLED: usize = 100;

/// The hosts of a crawl that say most of how it goes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostsNow {
    /// Those with the most URLs waiting, the longest queue first.
    pub by_queue: Vec<HostNow>,
    /// Those with the most failures that later successes have not made up for.
    pub by_failures: Vec<HostNow>,
    /// Bytes of a queue row, key and value, before the store compresses it: the mean of some; `None` if
    /// nothing waits.
    pub queued_url_bytes: Option<u64>,
}

/// The hosts of a crawl, by its store.
pub(super) fn hosts_in(store: &dyn Store) -> Result<HostsNow, Error> {
    let mut by_queue = Top::default();
    let mut by_failures = Top::default();
    for_each(store, Table::Hosts, &[], &mut |key, row| {
        let state: HostState = decode(Table::Hosts, row)?;
        let name = String::from_utf8_lossy(key);
        by_queue.offer(state.queued, &name, &state);
        by_failures.offer(u64::from(state.failures), &name, &state);
        Ok(())
    })?;
    let by_queue = by_queue.hosts();
    let (mut bytes, mut rows) = (0, 0);
    for host in &by_queue {
        let prefix = [host.host.as_bytes(), &[0]].concat();
        for (key, value) in store.range(Table::Queue, &prefix, &prefix, SAMPLED)? {
            bytes += (key.len() + value.len()) as u64;
            if let Some((_, _, block)) = Block::of_row(&key, &value)? {
                rows += block.urls.len() as u64;
            }
        }
    }
    Ok(HostsNow {
        by_queue,
        by_failures: by_failures.hosts(),
        queued_url_bytes: bytes.checked_div(rows),
    })
}

/// The hosts with the greatest weight, the greatest first; those met first among equals.
#[derive(Default)]
struct Top(Vec<(u64, HostNow)>);

impl Top {
    fn offer(&mut self, weight: u64, name: &str, state: &HostState) {
        let least = self.0.last().map_or(0, |(weight, _)| *weight);
        if weight == 0 || self.0.len() >= SHOWN && weight <= least {
            return;
        }
        let place = self.0.partition_point(|(other, _)| *other >= weight);
        self.0.insert(place, (weight, HostNow::of(name, state)));
        self.0.truncate(SHOWN);
    }

    fn hosts(self) -> Vec<HostNow> {
        self.0.into_iter().map(|(_, host)| host).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontier::QueuedUrl;
    use crate::store::{Batch, Durability, Memory, encode, keys};
    use crate::url::UrlId;

    #[test]
    fn the_longest_queues_and_the_most_failures_come_first() {
        let store = Memory::default();
        let mut batch = Batch::new();
        for number in 0..50_u32 {
            let name = format!("http://h{number:02}.example");
            let state = HostState {
                queued: u64::from(number % 20),
                failures: 50 - number,
                ..HostState::default()
            };
            batch.put(Table::Hosts, name.as_str(), encode(&state));
            let block = Block {
                urls: vec![(1, queued()), (2, queued())],
                removed: 0,
            };
            batch.put(Table::Queue, keys::queue(&name, 0, 2), block.encode(2));
        }
        store.commit(batch, Durability::Process).unwrap();
        let hosts = hosts_in(&store).unwrap();
        let queued: Vec<u64> = hosts.by_queue.iter().map(|host| host.queued).collect();
        assert_eq!(queued, [19, 19, 18, 18, 17, 17, 16, 16, 15, 15]);
        assert_eq!(hosts.by_queue[0].host, "http://h19.example");
        let failures: Vec<u32> = hosts.by_failures.iter().map(|host| host.failures).collect();
        assert_eq!(failures, [50, 49, 48, 47, 46, 45, 44, 43, 42, 41]);
        assert_eq!(hosts.queued_url_bytes, Some(41));
    }

    fn queued() -> QueuedUrl {
        QueuedUrl::new("x".to_owned(), UrlId::from_bytes([0; 16]))
    }

    #[test]
    fn a_crawl_without_hosts_has_none() {
        assert_eq!(hosts_in(&Memory::default()).unwrap(), HostsNow::default());
    }
}
