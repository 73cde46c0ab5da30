//! Opening a crawl: from what is on disk to a committer that goes on where the last commit ended.
//!
//! The store is what happened. The archive and the log are cut back to the ends that it
//! acknowledges; the deltas since the last checkpoint are replayed into runs and documents; what of
//! these is damaged or lost is rebuilt from the store's rows.

use std::fs;
use std::io;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use tokio::sync::watch;

use super::committer::{CheckpointLimits, Committer, DEDUP_RUNS, Deltas, SEEN_RUNS};
use super::directory::DataDirectory;
use super::expiry::{self, Expiry};
use super::failpoint::{Failpoint, Step};
use super::observe::MemoryUse;
use super::refingerprint::{self, Refingerprint};
use super::revisit::Revisits;
use super::run_hosts::RunHosts;
use super::{Error, MemoryPlan, Options};
use crate::archive::{WarcArchive, WarcOptions};
use crate::dedup::{self, Document, DocumentId, Documents, DocumentsDamage, Features, Index};
use crate::fetch::{Authority, Guard};
use crate::frontier::{Block, RobotsMode, RobotsRow, SEEN, Scope, SeenSet};
use crate::journal::FetchLog;
use crate::rows::{CrawlState, Delta, PageRecord};
use crate::runs::{self, Catalog, Damage, Retired, Runs};
use crate::store::{Batch, Durability, Embedded, Store, Table, decode, encode, for_each, keys};
use crate::url::{Identity, Secret, UrlId};

/// Keys and documents put into memory before a rebuild writes them.
const REBUILD_CHUNK: usize = 200_000;

/// Opens the store of a data directory to read from it.
pub(super) fn open_store(directory: &DataDirectory) -> Result<Arc<dyn Store>, Error> {
    open_store_with(directory, 4 << 20, 8 << 20)
}

fn open_store_with(
    directory: &DataDirectory,
    cache_bytes: u64,
    memtable_bytes: u64,
) -> Result<Arc<dyn Store>, Error> {
    let options = crate::store::Options {
        cache_bytes,
        memtable_bytes,
    };
    Ok(Arc::new(Embedded::open(
        &directory.path().join("store"),
        &options,
    )?))
}

/// Opens the store, or creates it anew where its creation broke off (the disk was full): as long as
/// nothing else is there, nothing was ever committed.
fn open_or_begin_store(
    directory: &DataDirectory,
    plan: &MemoryPlan,
) -> Result<Arc<dyn Store>, Error> {
    let open = || open_store_with(directory, plan.store_cache, plan.store_buffers);
    let error = match open() {
        Ok(store) => return Ok(store),
        Err(error) => error,
    };
    if trace_of_a_crawl(directory.path()).is_some() {
        return Err(error);
    }
    tracing::warn!(%error, "the store was never used; it is created anew");
    match fs::remove_dir_all(directory.path().join("store")) {
        Ok(()) => open(),
        Err(_) => Err(error),
    }
}

/// What only a crawl that was begun leaves; it appears after the first commit.
fn trace_of_a_crawl(path: &Path) -> Option<&'static str> {
    ["warc", "documents", "runs"]
        .into_iter()
        .find(|found| path.join(found).exists())
}

/// Opens everything and makes it agree.
pub(super) fn open(directory: &DataDirectory, options: &Options) -> Result<Committer, Error> {
    let path = directory.path();
    let plan = MemoryPlan::of(options);
    let store = open_or_begin_store(directory, &plan)?;
    let mut state = match CrawlState::read(&*store)? {
        Some(state) => state,
        None => begin(&*store, path, options)?,
    };
    check_url_form(&*store, options)?;
    let mut failpoint = options.failpoint;
    let remaking = refingerprint::is_due(&*store, options)?;
    let secret = read_secret(&*store)?;
    let crawl = crawl_number(&secret);
    let identity = Identity::new(options.canonicalizer.clone(), secret);

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
    if remaking {
        Refingerprint::new(&*store, path.join("warc"), &identity, options).run()?;
        Failpoint::reach(&mut failpoint, Step::Refingerprinted);
    }
    let log = FetchLog::open(&path.join("log"), options.log_max_bytes, state.log)?;

    let retired = expiry::read_retired(&*store)?;
    // Both are read once as they are opened, which takes seconds where there are ten million.
    let (documents, opened) = thread::scope(|scope| {
        let opened = scope.spawn(|| open_runs(path));
        let documents = open_documents(&*store, path, options, &mut state, &retired, remaking);
        (documents, opened.join())
    });
    let documents = documents?;
    let opened = opened.unwrap_or_else(|panic| resume_unwind(panic))?;
    let mut catalog = repair_runs(
        &*store,
        opened,
        &options.features,
        &state,
        retired,
        remaking,
    )?;
    let mut index = Index::new(documents, options.features.clone());
    let filter = path.join("runs").join("seen.filter");
    let mut seen = SeenSet::open(&options.seen, &catalog[SEEN_RUNS], &filter, crawl);
    let mut deltas = replay(&*store, &mut catalog, &mut seen, &mut index, remaking)?;
    if remaking {
        catalog.checkpoint(state.sequence)?;
        Failpoint::reach(&mut failpoint, Step::Rebuilt);
        state.runs_checkpointed = state.sequence;
        let line = options.features.line();
        finish_remaking(&*store, &state, &line)?;
        deltas = Deltas::default();
    }

    let mut scope = Scope::new(options.scope);
    for_each(&*store, Table::Scope, &[], &mut |entry, _| {
        scope.restore(entry);
        Ok(())
    })?;
    let guard = open_guard(&*store, options)?;

    let mut committer = Committer {
        counters: watch::Sender::new(state.counters.clone()),
        memory: watch::Sender::new(MemoryUse::default()),
        store,
        archive: Box::new(archive),
        log,
        catalog,
        seen,
        index,
        scope,
        limits: options.limits.clone(),
        policies: options.policies.clone().share(),
        rules: options.rules.clone(),
        identity,
        guard,
        store_policy: options.archive.store,
        state,
        checkpoints: CheckpointLimits {
            interval: options.checkpoint_interval,
            keys: plan.keys,
            delta_bytes: plan.delta_bytes,
        },
        failpoint,
        last_checkpoint: Instant::now(),
        deltas,
        begun: None,
        run_hosts: RunHosts::default(),
        revisits: Revisits::none(),
        expiry: Expiry::new(options.expire_after),
    };
    committer.revisit_by(options.revisit.clone())?;
    Ok(committer)
}

/// The guard, and whose private addresses the user named as seeds.
fn open_guard(store: &dyn Store, options: &Options) -> Result<Arc<Guard>, Error> {
    let guard = Guard::new(&options.fetch);
    for_each(store, Table::Meta, keys::meta::CONSENT, &mut |key, _| {
        let kept = key.get(keys::meta::CONSENT.len()..).unwrap_or_default();
        guard.consent(Authority::from_kept(&String::from_utf8_lossy(kept)));
        Ok(())
    })?;
    Ok(Arc::new(guard))
}

/// Opens the documents; those that are lost, mostly dead, or have other fingerprints, are rebuilt from
/// the store.
fn open_documents(
    store: &dyn Store,
    path: &Path,
    options: &Options,
    state: &mut CrawlState,
    retired: &Retired,
    remaking: bool,
) -> Result<Documents, Error> {
    let folder = path.join("documents");
    if remaking {
        forget_documents(path)?;
        state.documents_checkpointed = 0;
    }
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
    let (mut documents, lost) =
        Documents::open(&folder, MemoryPlan::of(options).documents_cache, expected)?;
    let is_lost = match &lost {
        Some(DocumentsDamage::All(why)) => {
            tracing::warn!(why, "the documents are rebuilt from the store");
            true
        }
        Some(DocumentsDamage::Witnesses) => {
            tracing::warn!("the witness column is damaged; it is rebuilt from the store");
            false
        }
        None => false,
    };
    if is_lost || remaking || documents.through() < state.documents_checkpointed {
        let last = rebuild_documents(store, &mut documents)?;
        match remaking {
            true => state.documents_checkpointed = last,
            false => state.dead_rows = 0,
        }
    } else if lost.is_some() {
        for_each_document(store, &mut |document| Ok(documents.put_witness(&document)?))?;
    } else {
        return Ok(documents);
    }
    // The last ones may have expired.
    documents.rebuilt(state.documents_checkpointed)?;
    Ok(documents)
}

/// Opens the runs, and tells which of them are damaged.
fn open_runs(path: &Path) -> Result<(Catalog, Vec<Damage>), Error> {
    let names = [SEEN].into_iter().chain(dedup::structures());
    let structures: Vec<_> = names.map(|name| (name, runs::Options::default())).collect();
    Ok(Catalog::open(&path.join("runs"), &structures)?)
}

/// Rebuilds from the store the runs that are damaged, older than the store, or lead to other fingerprints.
fn repair_runs(
    store: &dyn Store,
    (mut catalog, damages): (Catalog, Vec<Damage>),
    features: &Features,
    state: &CrawlState,
    retired: Retired,
    remaking: bool,
) -> Result<Catalog, Error> {
    catalog.restore_retired(DEDUP_RUNS, retired);
    if state.is_purging {
        catalog.purge();
    }
    let mut damages: Vec<usize> = if catalog.sequence() < state.runs_checkpointed {
        tracing::warn!("the runs are older than the store; they are rebuilt from it");
        catalog.iter_mut().for_each(Runs::clear);
        (0..catalog.len()).collect()
    } else {
        for damage in &damages {
            tracing::warn!("{damage}");
        }
        damages.iter().map(|damage| damage.structure).collect()
    };
    if remaking {
        catalog[DEDUP_RUNS..].iter_mut().for_each(Runs::clear);
        damages.retain(|damage| *damage < DEDUP_RUNS);
        damages.extend(DEDUP_RUNS..catalog.len());
    }
    rebuild_runs(store, &mut catalog, &damages, features, state.sequence)?;
    Ok(catalog)
}

/// The first commit: the secret and an empty state. Refused where an earlier crawl left something:
/// an empty state would vouch for none of it, and its archive would be cut to nothing.
fn begin(store: &dyn Store, path: &Path, options: &Options) -> Result<CrawlState, Error> {
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
    batch.put(Table::Meta, keys::meta::FEATURES, options.features.line());
    let form = options.canonicalizer.description();
    batch.put(Table::Meta, keys::meta::URL_FORM, form);
    store.commit(batch, Durability::Disk)?;
    Ok(state)
}

/// Under other rules a URL would have another id, and what is known would be taken for new.
fn check_url_form(store: &dyn Store, options: &Options) -> Result<(), Error> {
    let then = store.get(Table::Meta, keys::meta::URL_FORM)?;
    let then = String::from_utf8_lossy(&then.unwrap_or_default()).into_owned();
    let now = options.canonicalizer.description();
    if then == now {
        return Ok(());
    }
    let lacking = |these: &str, those: &str| {
        let lines = these
            .lines()
            .filter(|it| !those.lines().any(|other| other == *it));
        match lines.collect::<Vec<_>>().join("; ") {
            lines if lines.is_empty() => "nothing more".to_owned(),
            lines => lines,
        }
    };
    Err(Error::UrlForm {
        then: lacking(&then, now),
        now: lacking(now, &then),
    })
}

/// The secret that URL ids of this crawl are made with.
pub(super) fn read_secret(store: &dyn Store) -> Result<Secret, Error> {
    store
        .get(Table::Meta, keys::meta::SECRET)?
        .and_then(|bytes| Some(Secret::from_bytes(bytes.try_into().ok()?)))
        .ok_or_else(|| Error::Internal("the store has a state but no secret".to_owned()))
}

/// A number that tells a crawl from others.
fn crawl_number(secret: &Secret) -> u64 {
    let first = secret.as_bytes().first_chunk();
    u64::from_le_bytes(*first.unwrap_or(&[0; 8]))
}

/// Hosts that a warcinfo record names.
const MAX_HOSTS_NAMED: usize = 100;

/// What the archive's warcinfo records say of the crawl (WARC/1.1, section 6.2).
fn warcinfo(options: &Options) -> Vec<(String, String)> {
    let (mode, exceptions) = options.policies.robots();
    let (robots, other) = match mode {
        RobotsMode::Obey => ("obey (RFC 9309)", "ignore"),
        RobotsMode::Ignore => ("ignore", "obey (RFC 9309)"),
    };
    let mut hosts: Vec<String> = exceptions.iter().map(ToString::to_string).collect();
    hosts.sort();
    let unnamed = hosts.len().saturating_sub(MAX_HOSTS_NAMED);
    hosts.truncate(MAX_HOSTS_NAMED);
    if unnamed > 0 {
        hosts.push(format!("{unnamed} more"));
    }
    let robots = match hosts.is_empty() {
        true => robots.to_owned(),
        false => format!("{robots}, but {other} at {}", hosts.join(", ")),
    };
    [
        ("software", concat!("gleaner/", env!("CARGO_PKG_VERSION"))),
        ("http-header-user-agent", &options.fetch.user_agent),
        ("robots", &robots),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into()
}

/// Puts what was committed since the last checkpoint into memory again: all of it, or the URLs seen,
/// where documents were rebuilt from the store, which has them all.
fn replay(
    store: &dyn Store,
    catalog: &mut Catalog,
    seen: &mut SeenSet,
    index: &mut Index,
    urls_only: bool,
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
        if urls_only {
            return Ok(());
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

/// The highest number is given back.
fn rebuild_documents(store: &dyn Store, documents: &mut Documents) -> Result<DocumentId, Error> {
    let mut last = 0;
    for_each_document(store, &mut |document| {
        last = document.id.max(last);
        documents.insert(Arc::new(document));
        if documents.recent() >= REBUILD_CHUNK {
            documents.checkpoint()?;
        }
        Ok(())
    })?;
    documents.checkpoint()?;
    Ok(last)
}

/// Removes the documents, whose fingerprints are worth nothing any more.
fn forget_documents(path: &Path) -> Result<(), Error> {
    let documents = path.join("documents");
    let failed = |source| {
        let path = documents.clone();
        Error::Documents(dedup::Error::Io { path, source })
    };
    let gone = |result: io::Result<()>| match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    };
    gone(fs::remove_dir_all(&documents)).map_err(failed)?;
    gone(fs::remove_file(documents.with_extension("witness"))).map_err(failed)
}

/// The commit from which on the fingerprints are those that the line tells of: what deltas held is
/// written.
fn finish_remaking(store: &dyn Store, state: &CrawlState, line: &str) -> Result<(), Error> {
    let mut batch = Batch::new();
    for_each(store, Table::Deltas, &[], &mut |key, _| {
        batch.delete(Table::Deltas, key);
        Ok(())
    })?;
    batch.put(Table::Meta, keys::meta::STATE, encode(state));
    batch.put(Table::Meta, keys::meta::FEATURES, line);
    Ok(store.commit(batch, Durability::Disk)?)
}

/// Fills the structures (by their positions) that start empty because their files cannot be trusted.
fn rebuild_runs(
    store: &dyn Store,
    catalog: &mut Catalog,
    damages: &[usize],
    features: &Features,
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
        for_each(store, Table::Queue, &[], &mut |key, row| {
            if let Some((_, _, block)) = Block::of_row(key, row)? {
                block.urls.iter().for_each(|(_, it)| add(it.id.key()));
            }
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
            for posting in dedup::postings(&document, features) {
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
