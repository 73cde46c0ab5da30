//! The rows of the store: each can be read, they agree with the counters, and runs and documents
//! have what they name.

use std::collections::BTreeMap;

use super::archive::Places;
use super::{PartChecked, Subject};
use crate::dedup::{Document, Documents};
use crate::engine::{Error, deferred_id};
use crate::frontier::{Block, HostState, RobotsRow, for_each_waiting};
use crate::learn::Ledger;
use crate::rows::{Delta, PageRecord, deferred_urls};
use crate::runs::{Catalog, Runs};
use crate::store::{self, Table, decode, for_each, keys};
use crate::url::{HostKey, UrlId};

pub(super) const ADVICE: &str = "put back the newest backup of the whole directory, or go on with \
     what is left: `gleaner crawl --repair` with the same data directory";

/// The keys of URLs seen are the first structure of the catalog.
const SEEN: usize = 0;

/// Checks all rows.
pub(super) fn check(
    subject: &Subject<'_>,
    store: &mut PartChecked,
    (runs, documents): (&mut PartChecked, &mut PartChecked),
    (mut catalog, index): (Option<Catalog>, Option<Documents>),
    places: &mut Places,
) -> Result<(), Error> {
    // What no checkpoint covers is in the deltas.
    if let Some(catalog) = &mut catalog {
        table(subject, store, Table::Deltas, &mut |key, row| {
            let delta: Delta = decode(Table::Deltas, row)?;
            for key in delta.seen {
                catalog[SEEN].insert(key, 0);
            }
            Ok(key.len() == 8)
        });
    }
    let is_seen = |id: UrlId| {
        let seen = catalog.as_ref().map(|catalog| &catalog[SEEN]);
        seen.is_none_or(|seen| !seen.is_complete() || seen.contains(id.key()))
    };
    let mut unseen = 0_u64;
    let mut errors = Vec::new();
    let mut document = |document: &Document, owner: &str| {
        documents.read += 1;
        let Some(index) = index.as_ref().filter(|it| document.id <= it.through()) else {
            return;
        };
        match index.get(document.id) {
            Ok(Some(found)) if found.payload == document.payload => {}
            Ok(found) => documents.damage(format!(
                "document {} of {owner} is {}",
                document.id,
                if found.is_some() {
                    "another one"
                } else {
                    "missing"
                }
            )),
            Err(error) => errors.push(error),
        }
    };
    table(subject, store, Table::Pages, &mut |key, row| {
        let page: PageRecord = decode(Table::Pages, row)?;
        let Ok(id) = key.try_into().map(UrlId::from_bytes) else {
            return Ok(false);
        };
        unseen += u64::from(!is_seen(id));
        if let Some(own) = &page.document {
            document(own, &page.url);
        }
        Ok(places.of_page(&page).is_ok())
    });
    table(subject, store, Table::Robots, &mut |_, row| {
        let row: RobotsRow = decode(Table::Robots, row)?;
        if let Some(own) = &row.document {
            let own: Document = decode(Table::Robots, own)?;
            document(&own, &own.url);
            return Ok(places.of_document(&own).is_ok());
        }
        Ok(true)
    });
    table(subject, store, Table::Queue, &mut |key, row| {
        let Some((_, _, block)) = Block::of_row(key, row)? else {
            return Ok(false);
        };
        let ids = block.urls.iter().map(|(_, queued)| queued.id);
        unseen += ids.filter(|id| !is_seen(*id)).count() as u64;
        Ok(true)
    });
    let mut deferred = 0;
    table(subject, store, Table::Deferred, &mut |key, row| {
        deferred += 1;
        unseen += u64::from(!is_seen(deferred_id(row)?));
        Ok(keys::parse_deferred(key).is_some())
    });
    runs.read = catalog.iter().flat_map(|it| it.iter()).map(Runs::len).sum();
    if unseen > 0 {
        runs.damage(format!(
            "{unseen} URLs that the store has are not among the URLs seen"
        ));
    }
    for error in errors {
        documents.damage(error);
    }
    counts(subject, store, deferred)?;
    others(subject, store);
    Ok(())
}

/// Compares counters with rows; `deferred` is the number of rows of deferred URLs.
fn counts(subject: &Subject<'_>, store: &mut PartChecked, deferred: u64) -> Result<(), Error> {
    let (mut hosts, mut queued, mut wrong) = (0, 0, BTreeMap::new());
    table(subject, store, Table::Hosts, &mut |key, row| {
        let state: HostState = decode(Table::Hosts, row)?;
        let Some(host) = std::str::from_utf8(key).ok().and_then(HostKey::parse) else {
            return Ok(false);
        };
        hosts += 1;
        let mut waiting = 0;
        for_each_waiting(subject.store, &host, &state, &mut |_, _, _, _| {
            waiting += 1;
            Ok(true)
        })?;
        queued += waiting;
        if waiting != state.queued && wrong.len() < super::MAX_LISTED {
            wrong.insert(host.as_str().to_owned(), (state.queued, waiting));
        }
        Ok(true)
    });
    for (host, (said, found)) in wrong {
        store.damage(format!(
            "{said} URLs should be queued of {host}, and {found} are"
        ));
    }
    let counters = &subject.state.counters;
    let mut compare = |said: u64, found: u64, what: &str| {
        if said != found {
            store.damage(format!("{said} {what} by the counters, and {found} rows"));
        }
    };
    compare(counters.queued, queued, "URLs are queued");
    compare(counters.hosts, hosts, "hosts are known");
    compare(deferred_urls(subject.store)?, deferred, "URLs are deferred");
    Ok(())
}

/// Reads the tables that nothing else is compared with.
fn others(subject: &Subject<'_>, store: &mut PartChecked) {
    for other in [
        Table::Meta,
        Table::Scope,
        Table::Templates,
        Table::Parts,
        Table::Groups,
        Table::Kept,
    ] {
        table(subject, store, other, &mut |_, _| Ok(true));
    }
    table(subject, store, Table::Due, &mut |key, _| {
        Ok(keys::parse_due(key).is_some())
    });
    table(subject, store, Table::Revisits, &mut |key, _| {
        Ok(keys::parse_revisit(key).is_some())
    });
    table(subject, store, Table::Clusters, &mut |key, _| {
        Ok(keys::parse_member(key).is_some() || keys::parse_canonical_vote(key).is_some())
    });
    table(subject, store, Table::Learned, &mut |key, row| {
        if keys::parse_kind(key).is_some() {
            decode::<Ledger>(Table::Learned, row)?;
        }
        Ok(true)
    });
}

/// Says whether a row is sound, by its key and value.
type IsSound<'a> = dyn FnMut(&[u8], &[u8]) -> store::Result<bool> + 'a;

/// Reads a table.
fn table(subject: &Subject<'_>, part: &mut PartChecked, table: Table, visit: &mut IsSound<'_>) {
    let name = table.name();
    let mut rows = 0;
    let mut found = Vec::new();
    let read = for_each(subject.store, table, &[], &mut |key, row| {
        rows += 1;
        match visit(key, row) {
            Ok(true) => {}
            Ok(false) => found.push(format!(
                "a key of table {name} is none: {}",
                hex::encode(key)
            )),
            Err(error @ store::Error::Row { .. }) => {
                found.push(format!("row {} of {name}: {error}", hex::encode(key)));
            }
            Err(error) => return Err(error),
        }
        found.truncate(super::MAX_LISTED);
        Ok(())
    });
    part.read += rows;
    for found in found {
        part.damage(found);
    }
    if let Err(error) = read {
        part.damage(format!("table {name}, after {rows} rows: {error}"));
    }
}
