//! robots.txt that an earlier run did not ask for, because its settings did not allow that: it is
//! asked for before anything else of its host, as soon as they may be others.
//!
//! Settings of the guard change between runs only, so each such note holds for one run.

use super::queue::ROWS_PER_COMMIT;
use crate::engine::Error;
use crate::engine::commit::{Committer, Group};
use crate::frontier::{Moment, RobotsRow, RobotsState, was_never_asked};
use crate::store::{Batch, Durability, Store, Table, decode, for_each, keys};
use crate::url::HostKey;

impl Committer {
    /// Forgets what is known of robots.txt where an earlier run was not allowed to ask.
    pub(crate) fn ask_robots_again(&mut self, now: Moment) -> Result<(), Error> {
        search(&*self.store)?;
        let prefix = keys::meta::ROBOTS_REFUSED;
        loop {
            let rows = (self.store).range(Table::Meta, prefix, prefix, ROWS_PER_COMMIT)?;
            if rows.is_empty() {
                return Ok(());
            }
            let set = self.collect(now, |_, group| {
                for (key, _) in &rows {
                    let name = key.get(prefix.len()..).unwrap_or_default();
                    let host = std::str::from_utf8(name).ok().and_then(HostKey::parse);
                    match host {
                        Some(host) => forget(&host, group)?,
                        None => group.set.batch.delete(Table::Meta, key.clone()),
                    }
                }
                Ok(())
            })?;
            self.write(set)?;
        }
    }
}

/// Forgets what is known of the robots.txt of a host.
pub(crate) fn forget(host: &HostKey, group: &mut Group<'_>) -> Result<(), Error> {
    let set = &mut group.set;
    if set.known_host(host)?.is_some() {
        set.host(host)?.robots = RobotsState::Unknown;
    }
    set.batch.delete(Table::Robots, host.as_str());
    let key = keys::robots_refused(host.as_str());
    set.batch.delete(Table::Meta, key);
    Ok(())
}

/// Notes the hosts of which versions before wrote that they have no robots.txt though they were not
/// asked, once. Some of them were: of their answers nothing was kept.
fn search(store: &dyn Store) -> Result<(), Error> {
    if store
        .get(Table::Meta, keys::meta::ROBOTS_SEARCHED)?
        .is_some()
    {
        return Ok(());
    }
    let mut batch = Batch::new();
    for_each(store, Table::Robots, &[], &mut |name, row| {
        let row: RobotsRow = decode(Table::Robots, row)?;
        let host = std::str::from_utf8(name).ok().and_then(HostKey::parse);
        if let Some(host) = host
            && was_never_asked(store, &host, &row)?
        {
            let key = keys::robots_refused(host.as_str());
            batch.put(Table::Meta, key, Vec::new());
        }
        Ok(())
    })?;
    batch.put(Table::Meta, keys::meta::ROBOTS_SEARCHED, Vec::new());
    Ok(store.commit(batch, Durability::Disk)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::World;
    use crate::frontier::{HostState, RobotsVerdict};
    use crate::store::encode;

    fn put(store: &dyn Store, host: &str, verdict: RobotsVerdict, document: Option<Vec<u8>>) {
        let mut batch = Batch::new();
        let row = RobotsRow { verdict, document };
        batch.put(Table::Robots, host, encode(&row));
        let state = HostState {
            robots: RobotsState::Until(Moment(u64::MAX)),
            ..HostState::default()
        };
        batch.put(Table::Hosts, host, encode(&state));
        store.commit(batch, Durability::Process).unwrap();
    }

    fn is_known(store: &dyn Store, host: &str) -> bool {
        let row = store.get(Table::Hosts, host.as_bytes()).unwrap().unwrap();
        let state: HostState = decode(Table::Hosts, &row).unwrap();
        state.robots != RobotsState::Unknown
    }

    #[test]
    fn what_was_never_asked_for_is_asked_for_by_the_next_run() {
        let mut world = World::new();
        let committer = world.committer();
        let store = std::sync::Arc::clone(&committer.store);
        let text = RobotsVerdict::Text(b"Disallow: /".to_vec());
        // As versions before wrote them.
        put(
            &*store,
            "http://none.example",
            RobotsVerdict::AllowAll,
            Some(vec![1]),
        );
        put(&*store, "http://text.example", text, None);
        put(
            &*store,
            "http://guarded.example",
            RobotsVerdict::AllowAll,
            None,
        );
        let mut batch = Batch::new();
        batch.delete(Table::Meta, keys::meta::ROBOTS_SEARCHED);
        store.commit(batch, Durability::Process).unwrap();

        committer.ask_robots_again(Moment(1)).unwrap();
        assert!(is_known(&*store, "http://none.example"));
        assert!(is_known(&*store, "http://text.example"));
        assert!(!is_known(&*store, "http://guarded.example"));

        // This version notes what was refused. An answer of which nothing was kept is one.
        let refused = RobotsVerdict::DisallowAll("private".to_owned());
        put(&*store, "http://guarded.example", refused.clone(), None);
        put(&*store, "http://internal.example", refused, None);
        put(
            &*store,
            "http://none.example",
            RobotsVerdict::AllowAll,
            None,
        );
        let mut batch = Batch::new();
        let key = keys::robots_refused("http://guarded.example");
        batch.put(Table::Meta, key.clone(), Vec::new());
        store.commit(batch, Durability::Process).unwrap();
        committer.ask_robots_again(Moment(2)).unwrap();
        assert!(!is_known(&*store, "http://guarded.example"));
        assert!(is_known(&*store, "http://internal.example"));
        assert!(is_known(&*store, "http://none.example"));
        assert!(store.get(Table::Meta, &key).unwrap().is_none());
    }
}
