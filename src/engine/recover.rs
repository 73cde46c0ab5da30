//! Opening a crawl: from what is on disk to a committer that goes on where the last commit ended.
//!
//! The store is what happened. The archive and the log are cut back to the ends that it
//! acknowledges; the deltas since the last checkpoint are replayed into runs and documents; what of
//! these is damaged or lost is rebuilt from the store's rows.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::watch;

use super::committer::{CheckpointLimits, Committer, DEDUP_RUNS, Deltas, SEEN_RUNS};
use super::directory::DataDirectory;
use super::expiry::{self, Expiry};
use super::fetch_log::FetchLog;
use super::revisit::Revisits;
use super::rows::{CrawlState, Delta, PageRecord};
use super::run_hosts::RunHosts;
use super::{Error, Options};
use crate::archive::{WarcArchive, WarcOptions};
use crate::dedup::{self, Document, Documents, Index};
use crate::fetch::{Authority, Guard};
use crate::frontier::{QueuedUrl, RobotsMode, RobotsRow, SEEN, Scope, SeenSet};
use crate::runs::{self, Catalog, Retired, Runs};
use crate::store::{Batch, Durability, Embedded, Store, Table, decode, encode, for_each, keys};
use crate::url::{Identity, Secret, UrlId};

/// Keys and documents put into memory before a rebuild writes them.
const REBUILD_CHUNK: usize = 200_000;

/// Opens the store of a data directory.
pub(super) fn open_store(directory: &DataDirectory, memory: u64) -> Result<Arc<dyn Store>, Error> {
    let options = crate::store::Options {
        cache_bytes: memory / 16,
        memtable_bytes: memory / 8,
    };
    Ok(Arc::new(Embedded::open(
        &directory.path().join("store"),
        &options,
    )?))
}

/// Opens the store, or creates it anew where its creation broke off (the disk was full): as long as
/// nothing else is there, nothing was ever committed.
fn open_or_begin_store(directory: &DataDirectory, memory: u64) -> Result<Arc<dyn Store>, Error> {
    let error = match open_store(directory, memory) {
        Ok(store) => return Ok(store),
        Err(error) => error,
    };
    if trace_of_a_crawl(directory.path()).is_some() {
        return Err(error);
    }
    tracing::warn!(%error, "the store was never used; it is created anew");
    match fs::remove_dir_all(directory.path().join("store")) {
        Ok(()) => open_store(directory, memory),
        Err(_) => Err(error),
    }
}

/// What only a crawl that was begun leaves; it appears after the first commit.
fn trace_of_a_crawl(path: &Path) -> Option<&'static str> {
    ["warc", "documents", "runs"]
        .into_iter()
        .find(|found| path.join(found).exists())
}

/// The crawl's state as committed; `None` before the first commit.
pub(super) fn read_state(store: &dyn Store) -> Result<Option<CrawlState>, Error> {
    match store.get(Table::Meta, keys::meta::STATE)? {
        Some(row) => Ok(Some(decode(Table::Meta, &row)?)),
        None => Ok(None),
    }
}

/// Opens everything and makes it agree.
pub(super) fn open(directory: &DataDirectory, options: &Options) -> Result<Committer, Error> {
    let path = directory.path();
    let store = open_or_begin_store(directory, options.max_memory)?;
    let mut state = match read_state(&*store)? {
        Some(state) => state,
        None => begin(&*store, path)?,
    };
    check_features(&*store)?;
    let identity = Identity::new(options.canonicalizer.clone(), read_secret(&*store)?);

    let mut warc = WarcOptions::new(path.join("warc"));
    warc.max_segment_bytes = options.archive.max_segment_bytes;
    warc.compression = options.archive.compression;
    warc.info = warcinfo(options);
    let (archive, recovery) = WarcArchive::open(warc, Some(state.archive))?;
    if recovery.bytes_cut > 0 {
        tracing::info!(
            bytes = recovery.bytes_cut,
            "cut off records that were never acknowledged"
        );
    }
    let log = FetchLog::open(&path.join("log"), options.log_max_bytes, state.log)?;

    let mut structures = vec![(SEEN, runs::Options::default())];
    structures.extend(
        dedup::structures()
            .into_iter()
            .map(|name| (name, runs::Options::default())),
    );
    let (mut catalog, damages) = Catalog::open(&path.join("runs"), &structures)?;
    let retired = expiry::read_retired(&*store)?;
    let documents = open_documents(&*store, path, options, &mut state, &retired)?;
    catalog.restore_retired(DEDUP_RUNS, retired);
    if state.is_purging {
        catalog.purge();
    }
    let damages: Vec<usize> = if catalog.sequence() < state.runs_checkpointed {
        tracing::warn!("the runs are older than the store; they are rebuilt from it");
        catalog.iter_mut().for_each(Runs::clear);
        (0..structures.len()).collect()
    } else {
        for damage in &damages {
            tracing::warn!("{damage}");
        }
        damages.iter().map(|damage| damage.structure).collect()
    };
    rebuild_runs(&*store, &mut catalog, &damages, state.sequence)?;
    let mut index = Index::new(documents);
    let mut seen = SeenSet::new(&options.seen, &catalog[SEEN_RUNS]);
    let deltas = replay(&*store, &mut catalog, &mut seen, &mut index)?;

    let mut scope = Scope::new(options.scope);
    for_each(&*store, Table::Scope, &[], &mut |entry, _| {
        scope.restore(entry);
        Ok(())
    })?;
    let guard = Arc::new(Guard::new(
        options.fetch.allow_private,
        &options.fetch.user_agent,
        &options.fetch.hosts,
    ));
    for_each(&*store, Table::Meta, keys::meta::CONSENT, &mut |key, _| {
        let kept = key.get(keys::meta::CONSENT.len()..).unwrap_or_default();
        guard.consent(Authority::from_kept(&String::from_utf8_lossy(kept)));
        Ok(())
    })?;

    let mut committer = Committer {
        counters: watch::Sender::new(state.counters.clone()),
        store,
        archive: Box::new(archive),
        log,
        catalog,
        seen,
        index,
        scope,
        limits: options.limits.clone(),
        policies: options.policies.clone().share(),
        identity,
        guard,
        store_policy: options.archive.store,
        state,
        checkpoints: CheckpointLimits {
            interval: options.checkpoint_interval,
            keys: 1_000_000,
            delta_bytes: 64 << 20,
        },
        failpoint: options.failpoint,
        last_checkpoint: Instant::now(),
        deltas,
        run_hosts: RunHosts::default(),
        revisits: Revisits::none(),
        expiry: Expiry::new(options.expire_after),
    };
    committer.revisit_by(options.revisit.clone())?;
    Ok(committer)
}

/// Opens the documents, and builds them from the store where they are lost, or mostly dead.
fn open_documents(
    store: &dyn Store,
    path: &Path,
    options: &Options,
    state: &mut CrawlState,
    retired: &Retired,
) -> Result<Documents, Error> {
    let folder = path.join("documents");
    // sled does not give back the space of rows that were removed. What it had is in the store.
    let is_mostly_dead = expiry::is_mostly_dead(state.dead_rows, state.last_document, retired);
    if is_mostly_dead && folder.exists() {
        tracing::info!(
            expired = state.dead_rows,
            "the documents are built anew without those that expired"
        );
        fs::remove_dir_all(&folder).map_err(|source| dedup::Error::Io {
            path: folder.clone(),
            source,
        })?;
    }
    let expected = match is_mostly_dead {
        true => 0,
        false => state.documents_checkpointed,
    };
    let (mut documents, lost) = Documents::open(&folder, options.max_memory / 64, expected)?;
    if let Some(lost) = lost {
        tracing::warn!(why = lost.why, "the documents are rebuilt from the store");
    }
    if documents.through() < state.documents_checkpointed {
        rebuild_documents(store, &mut documents)?;
        // The last ones may have expired.
        documents.reach(state.documents_checkpointed)?;
        state.dead_rows = 0;
    }
    Ok(documents)
}

/// The first commit: the secret and an empty state. Refused where an earlier crawl left something:
/// an empty state would vouch for none of it, and its archive would be cut to nothing.
fn begin(store: &dyn Store, path: &Path) -> Result<CrawlState, Error> {
    if let Some(found) = trace_of_a_crawl(path) {
        return Err(Error::StoreMissing {
            path: path.to_owned(),
            found,
        });
    }
    let mut secret = [0; Secret::LEN];
    getrandom::fill(&mut secret)
        .map_err(|error| Error::Internal(format!("no random bytes: {error}")))?;
    let state = CrawlState::default();
    let mut batch = Batch::new();
    batch.put(Table::Meta, keys::meta::SECRET, secret);
    batch.put(Table::Meta, keys::meta::STATE, encode(&state));
    batch.put(Table::Meta, keys::meta::FEATURES, dedup::FEATURES);
    store.commit(batch, Durability::Disk)?;
    Ok(state)
}

/// Fingerprints of two kinds would never meet, and every page would seem new.
fn check_features(store: &dyn Store) -> Result<(), Error> {
    let found = store.get(Table::Meta, keys::meta::FEATURES)?;
    let found = found.unwrap_or_default();
    match found == dedup::FEATURES.as_bytes() {
        true => Ok(()),
        false => Err(Error::Features {
            found: String::from_utf8_lossy(&found).into_owned(),
        }),
    }
}

/// The secret that URL ids of this crawl are made with.
pub(super) fn read_secret(store: &dyn Store) -> Result<Secret, Error> {
    store
        .get(Table::Meta, keys::meta::SECRET)?
        .and_then(|bytes| Some(Secret::from_bytes(bytes.try_into().ok()?)))
        .ok_or_else(|| Error::Internal("the store has a state but no secret".to_owned()))
}

/// What the archive's warcinfo records say of the crawl (WARC/1.1, section 6.2).
fn warcinfo(options: &Options) -> Vec<(String, String)> {
    let robots = match options.policies.robots() {
        (RobotsMode::Obey, true) => "obey (RFC 9309)",
        (RobotsMode::Obey, false) => "obey (RFC 9309), but ignore at some hosts",
        (RobotsMode::Ignore, true) => "ignore",
        (RobotsMode::Ignore, false) => "ignore, but obey (RFC 9309) at some hosts",
    };
    [
        ("software", concat!("gleaner/", env!("CARGO_PKG_VERSION"))),
        ("http-header-user-agent", &options.fetch.user_agent),
        ("robots", robots),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

/// Puts what was committed since the last checkpoint into memory again.
fn replay(
    store: &dyn Store,
    catalog: &mut Catalog,
    seen: &mut SeenSet,
    index: &mut Index,
) -> Result<Deltas, Error> {
    let mut deltas = Deltas::default();
    for_each(store, Table::Deltas, &[], &mut |key, row| {
        let delta: Delta = decode(Table::Deltas, row)?;
        if let Ok(sequence) = key.try_into() {
            deltas.first.get_or_insert(u64::from_be_bytes(sequence));
        }
        deltas.keys += delta.keys();
        deltas.bytes += row.len();
        for key in delta.seen {
            seen.restore(key, &mut catalog[SEEN_RUNS]);
        }
        for posting in &delta.postings {
            index.post(posting, &mut catalog[DEDUP_RUNS..]);
        }
        for document in delta.documents {
            index.documents_mut().insert(Arc::new(document));
        }
        for id in delta.expired {
            index.documents_mut().remove(id);
        }
        Ok(())
    })?;
    Ok(deltas)
}

/// Visits every document that the store knows: of pages, and of robots.txt files.
fn for_each_document(
    store: &dyn Store,
    visit: &mut dyn FnMut(Document) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut failed = None;
    let mut guarded = |document: Option<Document>| {
        if let (Some(document), None) = (document, &failed) {
            failed = visit(document).err();
        }
    };
    for_each(store, Table::Pages, &[], &mut |_, row| {
        guarded(decode::<PageRecord>(Table::Pages, row)?.document);
        Ok(())
    })?;
    for_each(store, Table::Robots, &[], &mut |_, row| {
        let row: RobotsRow = decode(Table::Robots, row)?;
        guarded(
            row.document
                .and_then(|document| decode(Table::Robots, &document).ok()),
        );
        Ok(())
    })?;
    failed.map_or(Ok(()), Err)
}

fn rebuild_documents(store: &dyn Store, documents: &mut Documents) -> Result<(), Error> {
    for_each_document(store, &mut |document| {
        documents.insert(Arc::new(document));
        if documents.recent() >= REBUILD_CHUNK {
            documents.checkpoint()?;
        }
        Ok(())
    })?;
    Ok(documents.checkpoint()?)
}

/// Fills the structures (by their positions) that start empty because their files cannot be trusted.
fn rebuild_runs(
    store: &dyn Store,
    catalog: &mut Catalog,
    damages: &[usize],
    sequence: u64,
) -> Result<(), Error> {
    if damages.is_empty() {
        return Ok(());
    }
    let covered = catalog.sequence().max(sequence);
    let mut waiting = 0;
    if damages.contains(&SEEN_RUNS) {
        let mut failed = None;
        let mut add = |key: u64| {
            catalog[SEEN_RUNS].insert(key, 0);
            waiting += 1;
            if waiting >= REBUILD_CHUNK {
                waiting = 0;
                if let Err(error) = catalog.checkpoint(covered) {
                    failed.get_or_insert(error);
                }
            }
        };
        for_each(store, Table::Pages, &[], &mut |key, _| {
            if let Ok(id) = key.try_into() {
                add(UrlId::from_bytes(id).key());
            }
            Ok(())
        })?;
        for_each(store, Table::Queue, &[], &mut |_, row| {
            add(decode::<QueuedUrl>(Table::Queue, row)?.id.key());
            Ok(())
        })?;
        if let Some(error) = failed {
            return Err(error.into());
        }
    }
    let lost: Vec<usize> = damages
        .iter()
        .filter_map(|structure| structure.checked_sub(DEDUP_RUNS))
        .collect();
    if !lost.is_empty() {
        for_each_document(store, &mut |document| {
            for posting in dedup::postings(&document) {
                if lost.contains(&usize::from(posting.structure)) {
                    catalog[DEDUP_RUNS + usize::from(posting.structure)]
                        .insert(posting.key, posting.document);
                    waiting += 1;
                }
            }
            if waiting >= REBUILD_CHUNK {
                waiting = 0;
                catalog.checkpoint(covered)?;
            }
            Ok(())
        })?;
    }
    for damage in damages {
        catalog[*damage].rebuilt();
    }
    Ok(catalog.checkpoint(covered)?)
}
