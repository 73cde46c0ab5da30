//! `queue ls`: the URLs that wait to be fetched, by host. Reads all hosts, in bounded memory.

use serde::{Deserialize, Serialize};

use super::top::Top;
use super::{Error, HostNow, MAX_LISTED};
use crate::frontier::{HeldHosts, HostState, for_each_waiting};
use crate::store::{Store, Table, decode, for_each};
use crate::url::{HostKey, HostPattern};

/// Maximum number of URLs in one answer.
const MAX_URLS: usize = 10_000;

/// Which of them are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingFilter {
    /// Restricts them to these hosts.
    pub host: Option<HostPattern>,
    /// Number of URLs to list, at most 10,000; 0 for the hosts alone.
    pub urls: usize,
}

/// The URLs that wait.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingNow {
    /// Their number.
    pub queued: u64,
    /// The number of hosts at which they are.
    pub hosts: u64,
    /// The hosts with most of them, at most [`MAX_LISTED`].
    pub by_host: Vec<HostNow>,
    /// URLs of these hosts, as many as were asked for: host by host, in the order in which a host
    /// is asked for them. Pages that are due again are the last of each.
    pub urls: Vec<String>,
}

/// Lists URLs that wait.
pub(super) fn waiting(store: &dyn Store, filter: &WaitingFilter) -> Result<WaitingNow, Error> {
    let mut now = WaitingNow::default();
    let mut longest = Top::new(MAX_LISTED);
    for_each(store, Table::Hosts, &[], &mut |key, row| {
        let state: HostState = decode(Table::Hosts, row)?;
        let name = String::from_utf8_lossy(key);
        let is_meant = |pattern: &HostPattern| pattern.matches_name(&name);
        if state.queued > 0 && filter.host.as_ref().is_none_or(is_meant) {
            now.queued += state.queued;
            now.hosts += 1;
            longest.offer_with(state.queued, || (HostNow::of(&name, &state), state.clone()));
        }
        Ok(())
    })?;
    let most = filter.urls.min(MAX_URLS);
    let held = HeldHosts::read(store)?;
    for (host, state) in longest.into_sorted() {
        let key = HostKey::parse(&host.host).filter(|_| now.urls.len() < most);
        if let Some(key) = key {
            for_each_waiting(store, &key, &state, &mut |_, _, _, queued| {
                now.urls.push(queued.url);
                Ok(now.urls.len() < most)
            })?;
        }
        now.by_host.push(host.with_held(&held));
    }
    Ok(now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontier::{Block, QueuedUrl};
    use crate::store::{Batch, Durability, Memory, encode, keys};
    use crate::url::UrlId;

    #[test]
    fn what_waits_is_listed_by_host_and_in_order() {
        let store = Memory::default();
        let mut batch = Batch::new();
        let put = |batch: &mut Batch, host: &str, class: u8, numbers: &[u64]| {
            let url = |number: &u64| format!("{host}/{class}/{number}");
            let queued = |it: &u64| (*it, QueuedUrl::new(url(it), UrlId::from_bytes([0; 16])));
            let last = numbers[numbers.len() - 1];
            let block = Block {
                urls: numbers.iter().map(queued).collect(),
                removed: 0,
            };
            batch.put(
                Table::Queue,
                keys::queue(host, class, last),
                block.encode(last),
            );
        };
        for (host, queued) in [
            ("http://a.example", 3),
            ("http://b.example", 200),
            ("http://c.example", 0),
        ] {
            let state = HostState {
                queued,
                ..HostState::default()
            };
            batch.put(Table::Hosts, host, encode(&state));
        }
        put(&mut batch, "http://a.example", 1, &[1]);
        put(&mut batch, "http://a.example", 0, &[2, 3]);
        for from in 0..100 {
            put(&mut batch, "http://b.example", 0, &[2 * from, 2 * from + 1]);
        }
        store.commit(batch, Durability::Process).unwrap();
        let ask = |host: Option<&str>, urls| {
            let filter = WaitingFilter {
                host: host.map(|it| it.parse().unwrap()),
                urls,
            };
            waiting(&store, &filter).unwrap()
        };
        let all = ask(None, 0);
        assert_eq!((all.queued, all.hosts, all.urls.len()), (203, 2, 0));
        let hosts: Vec<_> = all.by_host.iter().map(|it| it.host.as_str()).collect();
        assert_eq!(hosts, ["http://b.example", "http://a.example"]);
        let first = ask(Some("a.example"), 2);
        assert_eq!((first.queued, first.hosts), (3, 1));
        assert_eq!(first.urls, ["http://a.example/0/2", "http://a.example/0/3"]);
        let more = ask(None, 202).urls;
        assert_eq!(more.len(), 202);
        assert_eq!(more[199], "http://b.example/0/199");
        assert_eq!(more[201], "http://a.example/0/3");
    }
}
