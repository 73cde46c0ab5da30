//! robots.txt in its host's state: how long it is valid, and what the settings of a run did not
//! allow to ask for. That is asked for before anything else of its host, as soon as they may be
//! others: settings of the guard change between runs only, so each such note holds for one run.

use std::time::Duration;

use super::queue::ROWS_PER_COMMIT;
use crate::dedup::{Document, DocumentId};
use crate::engine::Error;
use crate::engine::commit::{Group, WriteSet};
use crate::engine::visit::Fetched;
use crate::fetch::{FailureClass, Outcome};
use crate::frontier::{ROBOTS_TTL, RobotsRow, RobotsState, RobotsVerdict, was_never_asked};
use crate::store::{Batch, Durability, Store, Table, decode, for_each, keys};
use crate::url::{HostKey, parse};

/// How long it is not asked for again within a run that may not ask for it: its name may stand for
/// another address by then.
const REFUSED_TTL: Duration = Duration::from_hours(1);

/// Writes what a host's robots.txt means, and the delay that it asks for. If it, or what it
/// redirects to, was not asked for because the settings do not allow it, that is noted.
pub(crate) fn keep(
    fetched: &Fetched,
    (verdict, crawl_delay): (&RobotsVerdict, Option<Duration>),
    document: Option<DocumentId>,
    set: &mut WriteSet,
) -> Result<(), Error> {
    let host = &fetched.task.host;
    let (is_noted, is_refused) = match &fetched.outcome {
        Outcome::Failed(failure) => {
            let is_refused = failure.class == FailureClass::Guard;
            (is_refused, is_refused)
        }
        // It leads to where it may not be followed, perhaps.
        Outcome::Exchange(exchange) => (exchange.is_redirect(), false),
    };
    let key = keys::robots_refused(host.as_str());
    match verdict {
        _ if is_noted => set.batch.put(Table::Meta, key, Vec::new()),
        // A note of another run would say why.
        RobotsVerdict::DisallowAll(_) => set.batch.delete(Table::Meta, key),
        _ => {}
    }
    let row = RobotsRow {
        verdict: verdict.clone(),
        document: None,
    };
    set.put_robots(host, row, document);
    let ttl = if is_refused { REFUSED_TTL } else { ROBOTS_TTL };
    let state = set.host(host)?;
    state.robots = RobotsState::Until(fetched.finished.plus(ttl));
    let millis = |delay: Duration| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
    state.crawl_delay = crawl_delay.map(millis);
    Ok(())
}

/// Returns some hosts that an earlier run was not allowed to ask; none at the end. Makes sure that
/// those are among them that versions before took no note of.
pub(crate) fn never_asked(store: &dyn Store) -> Result<Vec<HostKey>, Error> {
    search(store)?;
    let prefix = keys::meta::ROBOTS_REFUSED;
    let rows = store.range(Table::Meta, prefix, prefix, ROWS_PER_COMMIT)?;
    let hosts = rows.iter().filter_map(|(key, _)| {
        let name = std::str::from_utf8(key.get(prefix.len()..)?).ok()?;
        HostKey::parse(name)
    });
    Ok(hosts.collect())
}

/// Forgets what is known of the robots.txt of a host. Its row stays until there is another one: it
/// may have a document.
pub(crate) fn forget(host: &HostKey, group: &mut Group<'_>) -> Result<(), Error> {
    let set = &mut group.set;
    if set.known_host(host)?.is_some() {
        set.host(host)?.robots = RobotsState::Unknown;
    }
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

/// Removes a document from the row of its host, if it is that of the robots.txt there. Returns the
/// host then.
pub(crate) fn forget_document(
    document: &Document,
    set: &mut WriteSet,
) -> Result<Option<HostKey>, Error> {
    let Ok(url) = parse(&document.url) else {
        return Ok(None);
    };
    let host = HostKey::of(&url);
    let Some(row) = set.store.get(Table::Robots, host.as_str().as_bytes())? else {
        return Ok(None);
    };
    let row: RobotsRow = decode(Table::Robots, &row)?;
    let own = row.document.as_deref();
    let own = own.map(|own| decode::<Document>(Table::Robots, own));
    if own.transpose()?.is_none_or(|own| own.id != document.id) {
        return Ok(None);
    }
    let row = RobotsRow {
        document: None,
        ..row
    };
    set.put_robots(&host, row, None);
    Ok(Some(host))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::World;
    use crate::frontier::{HostState, Moment};
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
