//! Script shells by host: how many pages a host sent that say nothing until their scripts run. A
//! user is told, since such hosts must be crawled by other means.

use crate::dedup::{Ineligible, Verdict};
use crate::engine::Error;
use crate::engine::commit::WriteSet;
use crate::engine::visit::Judged;
use crate::store::{self, Store, Table, decode, encode, keys};

/// Hosts that sent script shells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellHosts {
    /// Those that sent most, with the number of pages, most first.
    pub most: Vec<(String, u64)>,
    /// Number of all such hosts.
    pub hosts: u64,
    /// Number of pages of all such hosts.
    pub pages: u64,
}

/// Counts a page if it is a script shell.
pub(crate) fn count(judged: &Judged<'_>, set: &mut WriteSet) -> Result<(), Error> {
    if judged.verdict != Verdict::Ineligible(Ineligible::ScriptShell) {
        return Ok(());
    }
    let host = &judged.analysed.fetched.task.host;
    let key = key(host.as_str());
    let count: u64 = match set.learned(&key)? {
        Some(row) => decode(Table::Learned, &row)?,
        None => 0,
    };
    set.learn(key, encode(&count.saturating_add(1)));
    Ok(())
}

/// Reads which hosts sent script shells; names those that sent most, `limit` at most.
pub fn hosts_with_shells(store: &dyn Store, limit: usize) -> Result<ShellHosts, store::Error> {
    let mut found = ShellHosts::default();
    let prefix = keys::learned::SHELLS;
    store::for_each(store, Table::Learned, prefix, &mut |key, row| {
        let pages: u64 = decode(Table::Learned, row)?;
        found.hosts += 1;
        found.pages += pages;
        let is_among_most =
            found.most.len() < limit || found.most.last().is_some_and(|(_, least)| *least < pages);
        if limit > 0 && is_among_most {
            let host = key.get(prefix.len()..).unwrap_or_default();
            let host = String::from_utf8_lossy(host).into_owned();
            let place = found.most.partition_point(|(_, more)| *more >= pages);
            found.most.insert(place, (host, pages));
            found.most.truncate(limit);
        }
        Ok(())
    })?;
    Ok(found)
}

fn key(host: &str) -> Vec<u8> {
    [keys::learned::SHELLS, host.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Batch, Durability, Memory};

    #[test]
    fn the_hosts_that_sent_most_are_named() {
        let store = Memory::default();
        let mut batch = Batch::new();
        for (host, pages) in [("https://a", 2_u64), ("https://b", 7), ("https://c", 3)] {
            batch.put(Table::Learned, key(host), encode(&pages));
        }
        store.commit(batch, Durability::Process).unwrap();
        let named = |limit| {
            let found = hosts_with_shells(&store, limit).unwrap();
            assert_eq!((found.hosts, found.pages), (3, 12));
            found.most
        };
        let [b, c, a] = [("https://b", 7), ("https://c", 3), ("https://a", 2)]
            .map(|(host, pages)| (host.to_owned(), pages));
        assert_eq!(named(2), [b.clone(), c.clone()]);
        assert_eq!(named(9), [b, c, a]);
        assert_eq!(named(0), []);
    }
}
