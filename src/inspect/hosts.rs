//! `hosts`: the hosts with the most queued URLs and the most failures. Reads all hosts, in bounded
//! memory.

use serde::{Deserialize, Serialize};

use super::top::Top;
use super::{Error, moment};
use crate::frontier::{Block, HeldHosts, HostState, Trouble};
use crate::store::{Store, Table, decode, for_each};
use crate::url::HostKey;

/// Number of hosts in each list.
const SHOWN: usize = 10;
/// Number of queue rows sampled per listed host to measure their size.
const SAMPLED: usize = 100;

/// The hosts of a crawl with the most queued URLs and the most failures.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HostsNow {
    /// Hosts with the most queued URLs, longest queue first.
    pub by_queue: Vec<HostNow>,
    /// Hosts with the most failures, less the successes since, most failures first.
    pub by_failures: Vec<HostNow>,
    /// Mean bytes per queued URL of the sampled queue rows, keys and values, before compression;
    /// `None` if nothing is queued.
    pub queued_url_bytes: Option<u64>,
}

/// The state of one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HostNow {
    /// Scheme, name and port.
    pub host: String,
    /// Number of queued URLs.
    pub queued: u64,
    /// Time before which the host is not visited (RFC 3339).
    pub due: String,
    /// Failures, less the successes since.
    pub failures: u32,
    /// Kind of the last failure, if `failures` is not 0.
    #[serde(default)]
    pub trouble: Option<Trouble>,
    /// Whether the host is left alone until `due` because it keeps failing.
    #[serde(default)]
    pub parked: bool,
    /// Since when a person holds the host, if one does (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
    /// Crawl-delay of its robots.txt in milliseconds.
    pub crawl_delay_ms: Option<u64>,
    /// Number of answers received.
    pub visits: u64,
}

impl HostNow {
    /// Describes the host with this row.
    pub(super) fn of(name: &str, state: &HostState) -> Self {
        Self {
            host: name.to_owned(),
            queued: state.queued,
            due: moment(state.due),
            failures: state.failures,
            trouble: state.trouble,
            parked: state.parked,
            held: None,
            crawl_delay_ms: state.crawl_delay,
            visits: state.visits,
        }
    }
}

impl HostNow {
    /// Says since when the host is held, if it is.
    pub(super) fn with_held(mut self, held: &HeldHosts) -> Self {
        let since = HostKey::parse(&self.host).and_then(|host| held.since(&host));
        self.held = since.map(moment);
        self
    }
}

/// Reads the hosts of a crawl.
pub(super) fn hosts(store: &dyn Store) -> Result<HostsNow, Error> {
    let mut by_queue = Top::new(SHOWN);
    let mut by_failures = Top::new(SHOWN);
    for_each(store, Table::Hosts, &[], &mut |key, row| {
        let state: HostState = decode(Table::Hosts, row)?;
        let name = String::from_utf8_lossy(key);
        if state.queued > 0 {
            by_queue.offer_with(state.queued, || HostNow::of(&name, &state));
        }
        if state.failures > 0 {
            by_failures.offer_with(state.failures, || HostNow::of(&name, &state));
        }
        Ok(())
    })?;
    let held = HeldHosts::read(store)?;
    let with_held = |hosts: Vec<HostNow>| -> Vec<HostNow> {
        let hosts = hosts.into_iter();
        hosts.map(|host| host.with_held(&held)).collect()
    };
    let by_queue = with_held(by_queue.into_sorted());
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
        by_failures: with_held(by_failures.into_sorted()),
        queued_url_bytes: bytes.checked_div(rows),
    })
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
        let hosts = hosts(&store).unwrap();
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
        assert_eq!(hosts(&Memory::default()).unwrap(), HostsNow::default());
    }
}
