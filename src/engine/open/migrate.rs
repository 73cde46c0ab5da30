//! Migration: brings the rows of a data directory up to date, one format after the other.
//!
//! Two places name the format of a directory. The file `version` says which versions of gleaner may
//! open it: it is raised first, so that no older version meets rows that it cannot read. The row
//! `format` of `Meta` says which form the rows have. Each step is one batch that also writes its
//! number, so a process that is killed in between continues with the next step.
//!
//! A form that rows no longer have is declared here, in the step that reads it, and a test opens
//! the directory of each format under `tests/fixtures`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::directory::{DataDirectory, FORMAT, OLDEST};
use crate::archive::Tail;
use crate::dedup::{DocumentId, Ineligible};
use crate::engine::error::Error;
use crate::engine::failpoint::{Failpoint, Step};
use crate::fetch::FailureClass;
use crate::frontier::{
    Admission, Finding, HostState, Moment, Opened, QueuedUrl, RobotsState, Trouble,
};
use crate::learn::{Repeats, Return, Suspicions};
use crate::rows::LogTail;
use crate::rows::{Counters, CrawlState, DiskState, RequisiteCounters, Tally, VisitVerdict};
use crate::store::{Batch, Durability, Row, Store, Table, decode, encode, keys};

/// Reads rows of one format and returns the changes that make them those of the next, which are
/// committed together with the new number. A step that changes more than fits into memory commits
/// parts of it by itself; doing so twice must then be harmless.
type Migration = fn(&dyn Store) -> Result<Batch, Error>;

/// The steps from each format since [`OLDEST`] to the next.
const STEPS: [Migration; (FORMAT - OLDEST) as usize] =
    [split_state, one_suspicion, requisites, forgotten, templates];

/// Brings the rows of a directory up to date.
pub(super) fn migrate(
    directory: &DataDirectory,
    store: &dyn Store,
    failpoint: &mut Option<Failpoint>,
) -> Result<(), Error> {
    if directory.raise_version()? {
        Failpoint::reach(failpoint, Step::VersionRaised);
    }
    let Some(found) = format(store)? else {
        return Ok(());
    };
    for (next, step) in (OLDEST + 1..).zip(STEPS).filter(|(next, _)| *next > found) {
        tracing::info!(
            format = next,
            "the data directory was migrated to a new format"
        );
        let mut batch = step(store)?;
        batch.put(Table::Meta, keys::meta::FORMAT, encode(&next));
        store.commit(batch, Durability::Disk)?;
        Failpoint::reach(failpoint, Step::Migrated);
    }
    Ok(())
}

/// Returns the format of the rows; `None` if there are none.
fn format(store: &dyn Store) -> Result<Option<u32>, Error> {
    if let Some(row) = store.get(Table::Meta, keys::meta::FORMAT)? {
        return Ok(Some(decode(Table::Meta, &row)?));
    }
    // The oldest format had no such row.
    let state = store.get(Table::Meta, keys::meta::STATE)?;
    Ok(state.map(|_| OLDEST))
}

/// The row `state` of format 11.
#[derive(Deserialize)]
struct State11 {
    sequence: u64,
    queue_sequence: u64,
    last_document: DocumentId,
    runs_checkpointed: u64,
    documents_checkpointed: DocumentId,
    archive: Tail,
    log: LogTail,
    revisits_from: Moment,
    unpurged: u64,
    is_purging: bool,
    dead_rows: u64,
    left_queues: u64,
    counters: Counters13,
}

/// The row `state` of formats 12 and 13.
#[derive(Serialize, Deserialize)]
struct State13 {
    sequence: u64,
    queue_sequence: u64,
    last_document: DocumentId,
    revisits_from: Moment,
    counters: Counters13,
}

/// The counters of formats up to 13.
#[derive(Serialize, Deserialize)]
struct Counters13 {
    queued: u64,
    parked: u64,
    parked_hosts: u64,
    seeds: u64,
    pages: u64,
    failed: u64,
    forbidden: u64,
    robots: u64,
    sitemaps: u64,
    sitemap_entries: u64,
    bytes: u64,
    retries: u64,
    hosts: u64,
    verdicts: Tally<VisitVerdict>,
    ineligible: Tally<Ineligible>,
    statuses: BTreeMap<u16, u64>,
    failures: Tally<FailureClass>,
    links: Tally<Admission>,
    demoted: u64,
    archived_bytes: u64,
    known: u64,
    revisits: Tally<Finding>,
}

impl Counters13 {
    /// The counters in format 14, of a crawl that fetched no requisites.
    fn migrated(self) -> Counters {
        Counters {
            queued: self.queued,
            parked: self.parked,
            parked_hosts: self.parked_hosts,
            seeds: self.seeds,
            pages: self.pages,
            failed: self.failed,
            forbidden: self.forbidden,
            robots: self.robots,
            sitemaps: self.sitemaps,
            sitemap_entries: self.sitemap_entries,
            bytes: self.bytes,
            retries: self.retries,
            hosts: self.hosts,
            verdicts: self.verdicts,
            ineligible: self.ineligible,
            statuses: self.statuses,
            failures: self.failures,
            links: self.links,
            demoted: self.demoted,
            archived_bytes: self.archived_bytes,
            known: self.known,
            revisits: self.revisits,
            requisites: RequisiteCounters::default(),
        }
    }
}

/// From 11 to 12: gives what the state said about this disk a row of its own.
fn split_state(store: &dyn Store) -> Result<Batch, Error> {
    let mut batch = Batch::new();
    let Some(row) = store.get(Table::Meta, keys::meta::STATE)? else {
        return Ok(batch);
    };
    let old: State11 = decode(Table::Meta, &row)?;
    let state = State13 {
        sequence: old.sequence,
        queue_sequence: old.queue_sequence,
        last_document: old.last_document,
        revisits_from: old.revisits_from,
        counters: old.counters,
    };
    let disk = DiskState {
        archive: old.archive,
        log: old.log,
        runs_checkpointed: old.runs_checkpointed,
        documents_checkpointed: old.documents_checkpointed,
        unpurged: old.unpurged,
        is_purging: old.is_purging,
        dead_rows: old.dead_rows,
        left_queues: old.left_queues,
    };
    batch.put(Table::Meta, keys::meta::STATE, encode(&state));
    batch.put(Table::Meta, keys::meta::DISK, encode(&disk));
    Ok(batch)
}

/// A host's row of format 12.
#[derive(Deserialize)]
struct Host12 {
    queued: u64,
    heads: Vec<u64>,
    opened: Vec<Opened>,
    due: Moment,
    due_row: Option<Moment>,
    due_row_parked: bool,
    failures: u32,
    trouble: Option<Trouble>,
    parked: bool,
    last_visit: Moment,
    robots: RobotsState,
    crawl_delay: Option<u64>,
    depth: Option<u16>,
    sitemaps: u32,
    visits: u64,
    bytes: u64,
    millis: u64,
    repeats: Repeats,
    judged: u64,
    duplicates: u64,
    admitted: u64,
    // What follows was known of patterns, rules and aliases, and is learned anew.
}

/// Kinds of rows of a host in `Learned` that format 12 had: patterns, deferred and visited URLs.
const PATTERN_12: u8 = b'p';
const DEFERRED_12: u8 = b's';
const VISITED_12: u8 = b'v';
/// The kind under which the URLs come back that format 12 had deferred. No kind has this number.
const OF_12: u64 = 0;
/// How far the hosts are migrated: the key of the last one.
const HOSTS_DONE: &[u8] = b"hosts-of-13";
/// Number of rows that are read at once.
const PART: usize = 5_000;

/// From 12 to 13: makes one mechanism of traps, learned rules, aliases and demotion. What was
/// deferred comes back, because the kinds for which URLs are deferred now are learned anew.
fn one_suspicion(store: &dyn Store) -> Result<Batch, Error> {
    // The old rows stay until everything else is written, so that doing it twice is harmless.
    in_parts(store, Table::Learned, Vec::new(), &mut |rows, batch| {
        for (key, row) in rows {
            if let Some((host, DEFERRED_12)) = host_and_kind(key) {
                let (was_queued, queued): (bool, QueuedUrl) = decode(Table::Learned, row)?;
                let rank = xxh3_64(queued.id.as_bytes());
                let key = keys::deferred(host, OF_12, 0, rank);
                batch.put(Table::Deferred, key, encode(&(queued, was_queued)));
            }
        }
        Ok(())
    })?;
    let mut deferred: BTreeMap<String, u64> = BTreeMap::new();
    in_parts(store, Table::Deferred, Vec::new(), &mut |rows, _| {
        for (key, _) in rows {
            if let Some((host, ..)) = keys::parse_deferred(key) {
                *deferred.entry(host.to_owned()).or_default() += 1;
            }
        }
        Ok(())
    })?;
    let done = store.get(Table::Meta, HOSTS_DONE)?;
    let from = done.map_or_else(Vec::new, |last| [last, vec![0]].concat());
    in_parts(store, Table::Hosts, from, &mut |rows, batch| {
        for (key, row) in rows {
            let old: Host12 = decode(Table::Hosts, row)?;
            let name = std::str::from_utf8(key).unwrap_or_default();
            let count = deferred.get(name).copied().unwrap_or(0);
            batch.put(Table::Hosts, key.clone(), encode(&old.migrated(count)));
        }
        if let Some((last, _)) = rows.last() {
            batch.put(Table::Meta, HOSTS_DONE, last.clone());
        }
        Ok(())
    })?;
    in_parts(store, Table::Learned, Vec::new(), &mut |rows, batch| {
        for (key, _) in rows {
            let is_of_host = host_and_kind(key)
                .is_some_and(|(_, kind)| matches!(kind, PATTERN_12 | DEFERRED_12 | VISITED_12));
            // Rules and aliases.
            if is_of_host || key.starts_with(b"\0r") || key.starts_with(b"\0a") {
                batch.delete(Table::Learned, key.clone());
            }
        }
        Ok(())
    })?;
    // Lines and templates were written otherwise, by versions in which nothing rested on them.
    for table in [Table::Parts, Table::Templates] {
        in_parts(store, table, Vec::new(), &mut |rows, batch| {
            for (key, _) in rows {
                batch.delete(table, key.clone());
            }
            Ok(())
        })?;
    }
    let mut batch = Batch::new();
    let all: u64 = deferred.values().sum();
    batch.put(Table::Meta, keys::meta::DEFERRED, encode(&all));
    batch.delete(Table::Meta, HOSTS_DONE);
    Ok(batch)
}

/// From 13 to 14: counts requisites. Rows of queues and pages may name them from now on.
fn requisites(store: &dyn Store) -> Result<Batch, Error> {
    let mut batch = Batch::new();
    let Some(row) = store.get(Table::Meta, keys::meta::STATE)? else {
        return Ok(batch);
    };
    let old: State13 = decode(Table::Meta, &row)?;
    let state = CrawlState {
        sequence: old.sequence,
        queue_sequence: old.queue_sequence,
        last_document: old.last_document,
        revisits_from: old.revisits_from,
        counters: old.counters.migrated(),
    };
    batch.put(Table::Meta, keys::meta::STATE, encode(&state));
    Ok(batch)
}

/// From 14 to 15: the rows stay as they are, and others may be beside them from now on. They say
/// what was forgotten, which a version that does not read them would fetch again, and what is in
/// the archives of earlier crawls, which it would look for in its own.
#[expect(clippy::unnecessary_wraps, reason = "a step is a `Migration`")]
fn forgotten(_: &dyn Store) -> Result<Batch, Error> {
    Ok(Batch::new())
}

/// From 15 to 16: the rows stay as they are. New ones of `Templates` have another form, which a
/// version that does not know it would take for damaged; each row says which form it has.
#[expect(clippy::unnecessary_wraps, reason = "a step is a `Migration`")]
fn templates(_: &dyn Store) -> Result<Batch, Error> {
    Ok(Batch::new())
}

/// Returns the host and the kind of a row of a host in `Learned`.
fn host_and_kind(key: &[u8]) -> Option<(&str, u8)> {
    let end = key
        .iter()
        .position(|byte| *byte == 0)
        .filter(|end| *end > 0)?;
    let kind = key.get(end + 1)?;
    Some((std::str::from_utf8(&key[..end]).ok()?, *kind))
}

/// Changes a part of some rows.
type ChangePart<'a> = dyn FnMut(&[Row], &mut Batch) -> Result<(), Error> + 'a;

/// Reads the rows of a table from a key on, a part at a time, and commits what each part changes.
fn in_parts(
    store: &dyn Store,
    table: Table,
    mut from: Vec<u8>,
    change: &mut ChangePart<'_>,
) -> Result<(), Error> {
    loop {
        let rows = store.range(table, &[], &from, PART)?;
        let Some((last, _)) = rows.last() else {
            return Ok(());
        };
        let mut batch = Batch::new();
        change(&rows, &mut batch)?;
        if !batch.is_empty() {
            store.commit(batch, Durability::Disk)?;
        }
        from = [&last[..], &[0]].concat();
    }
}

impl Host12 {
    /// The row in format 13, of a host with some deferred URLs.
    fn migrated(self, deferred: u64) -> HostState {
        let returning = Return {
            kind: OF_12,
            generation: 0,
            part: None,
            is_evidence: true,
            from: Vec::new(),
        };
        HostState {
            queued: self.queued,
            heads: self.heads,
            opened: self.opened,
            due: self.due,
            due_row: self.due_row,
            due_row_parked: self.due_row_parked,
            failures: self.failures,
            trouble: self.trouble,
            parked: self.parked,
            last_visit: self.last_visit,
            robots: self.robots,
            crawl_delay: self.crawl_delay,
            depth: self.depth,
            sitemaps: self.sitemaps,
            visits: self.visits,
            bytes: self.bytes,
            millis: self.millis,
            repeats: self.repeats,
            judged: self.judged,
            duplicates: self.duplicates,
            admitted: self.admitted,
            suspicions: Suspicions {
                deferred,
                // A sweep may have removed URLs from blocks that are still there.
                swept: true,
                returning: if deferred > 0 {
                    vec![returning]
                } else {
                    Vec::new()
                },
                ..Suspicions::default()
            },
            repeated_elsewhere: Vec::new(),
        }
    }
}
