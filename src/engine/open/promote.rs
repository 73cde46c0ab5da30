//! From a [`Standby`] to the committer that writes in its directory: archive and log are cut back
//! to the ends that the store acknowledges.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use tokio::sync::watch;

use super::memory::MemoryPlan;
use super::standby::Standby;
use super::store::read_secret;
use crate::archive::{
    Archive as _, Digest, DuplicateBodies, Start, StorePolicy, Tail, WarcArchive, WarcOptions,
    set_elsewhere,
};
use crate::engine::Options;
use crate::engine::admission::{ForgottenNow, Gate};
use crate::engine::again::{Expiry, Revisits};
use crate::engine::clock::Clock;
use crate::engine::commit::{
    Bodies, CheckpointLimits, Checkpoints, Committer, Reclaiming, Shelf, end_of_texts, read_scope,
};
use crate::engine::error::Error;
use crate::engine::events::Events;
use crate::engine::exchange::Exchange;
use crate::engine::failpoint::Failpoint;
use crate::engine::library::Library;
use crate::engine::ring::meters::Meters;
use crate::engine::ring::observe::{MemoryUse, Pulse};
use crate::fetch::{Authority, Guard};
use crate::frontier::{Forgotten, HeldHosts, Moment, RobotsMode, SharedPolicies};
use crate::handover::Closed;
use crate::journal::FetchLog;
use crate::rows::{
    ArchiveNames, Counters, CrawlState, DiskState, Keeper, OtherFiles, SavedBytes, count_saved,
    deferred_urls, saved_bytes,
};
use crate::store::copy::Origin;
use crate::store::{Batch, Durability, Store, Table, decode, encode, for_each, keys};

/// What the rest of the engine shares with a committer; it stays the same when the committer is
/// reopened while a crawl runs.
pub(super) struct Shared {
    policies: SharedPolicies,
    guard: Arc<Guard>,
    counters: watch::Sender<Counters>,
    deferred: watch::Sender<u64>,
    memory: watch::Sender<MemoryUse>,
    saved: watch::Sender<SavedBytes>,
    held: watch::Sender<Arc<HeldHosts>>,
    meters: Meters,
    events: Events,
}

impl Shared {
    /// Creates the shared state for a committer that is opened for the first time.
    pub(super) fn new(
        store: &dyn Store,
        state: &CrawlState,
        options: &Options,
        path: &Path,
    ) -> Result<Self, Error> {
        Ok(Self {
            policies: options.policies.clone().share(),
            guard: open_guard(store, options)?,
            counters: watch::Sender::new(state.counters.clone()),
            deferred: watch::Sender::new(deferred_urls(store)?),
            memory: watch::Sender::new(MemoryUse::default()),
            saved: watch::Sender::new(saved(store, state)?),
            held: watch::Sender::new(Arc::new(HeldHosts::read(store)?)),
            meters: Meters::default(),
            events: Events::open(path, Clock::start().now()),
        })
    }
}

/// What the crawl has saved. It is counted once if an earlier version began it.
fn saved(store: &dyn Store, state: &CrawlState) -> Result<SavedBytes, Error> {
    if let Some(known) = saved_bytes(store, state)? {
        return Ok(known);
    }
    tracing::info!("counting what duplicates saved, which an earlier version did not");
    Ok(count_saved(store)?)
}

/// Begins to write in the directory `path`.
pub(super) fn promote(
    standby: Standby,
    path: &Path,
    options: &Options,
    failpoint: Option<Failpoint>,
    shared: Shared,
) -> Result<Committer, Error> {
    let plan = MemoryPlan::of(options);
    let Standby {
        store,
        identity,
        state,
        disk,
        lookups,
        deltas,
        is_repairing,
    } = standby;
    let start = |tail| match is_repairing {
        false => Start::At(tail),
        true => Start::Behind(tail),
    };
    let end_of_texts = end_of_texts(&*store)?;
    let names = name_files(&*store, (disk.archive, end_of_texts), options)?;
    let warc = WarcOptions {
        digest: options.archive.digest,
        ..WarcOptions::pages_of(path, names.pages.clone())
    };
    let mut archive = open_archive(warc.clone(), start(disk.archive), options)?;
    let texts = WarcOptions::texts_of(path, names.texts.clone());
    let mut texts = open_archive(texts, start(end_of_texts), options)?;
    let batch = take_numbers(&*store, (&mut archive, &mut texts), options)?;
    let ends = (archive.end(), texts.end());
    let disk = acknowledge(&*store, batch, (disk, end_of_texts), ends)?;
    let texts = Shelf::open(Box::new(texts), &*store)?;
    if is_repairing {
        FetchLog::set_rest_aside(&path.join("log"), disk.log)?;
    }
    let log = FetchLog::open(&path.join("log"), options.log_max_bytes, disk.log)?;

    let scope = read_scope(&*store, options.scope, &options.limits)?;
    let Shared {
        policies,
        guard,
        counters,
        deferred,
        memory,
        saved,
        held,
        meters,
        events,
    } = shared;
    meters.begin(state.sequence);
    counters.send_replace(state.counters.clone());

    let limits = CheckpointLimits::of(options);
    let last_commit = last_commit(&*store)?;
    let told_closed = closed_so_far(&disk, &texts);
    let forgotten = Forgotten::read(&*store)?;
    let is_forgetting = store.get(Table::Meta, keys::meta::FORGETTING)?.is_some();
    let revisits = Revisits::open(options.revisit.clone(), &*store, state.revisits_from)?;
    let exchange = Exchange::open(&*store, library_of(options))?;
    Ok(Committer {
        counters,
        deferred,
        memory,
        saved,
        held,
        meters,
        events,
        store,
        archive: Box::new(archive),
        texts,
        bodies: Bodies::new(options.archive.duplicate_bodies, warc, plan.bases),
        names: Arc::new(names),
        closed: watch::Sender::default(),
        is_forgetting,
        max_file_age: options.archive.max_age,
        log,
        lookups,
        checkpoints: Checkpoints::new(limits, deltas),
        gate: Gate {
            scope,
            limits: options.limits.clone(),
            policies,
            identity,
            shards: exchange.shards,
            forgotten: ForgottenNow(Arc::new(ArcSwap::from_pointee(forgotten))),
            is_full_told: AtomicBool::new(false),
        },
        rules: options.rules.clone(),
        keep: match (options.archive.store, options.archive.duplicate_bodies) {
            (StorePolicy::Unique, DuplicateBodies::Full) => StorePolicy::ExactOnly,
            (store, _) => store,
        },
        exchange,
        is_shared: options.log.is_some(),
        revisits,
        expiry: Expiry::new(options.expire_after),
        guard,
        state,
        disk,
        failpoint,
        pulse: Pulse::default(),
        suspects: Arc::default(),
        reclaiming: Reclaiming::No,
        told_closed,
        last_commit,
    })
}

/// Returns where the documents of other shards are, if their fingerprints are made as those here.
fn library_of(options: &Options) -> Option<&Arc<Library>> {
    let library = options.library.as_ref()?;
    let is_alike = library.is_of(&options.features);
    if !is_alike {
        tracing::warn!(
            "the fingerprints of this directory are made in another way than those of the other \
             shards: duplicates across shards are not found"
        );
    }
    Some(library).filter(|_| is_alike)
}

/// Returns when the last commit was made; `None` if there was none.
fn last_commit(store: &dyn Store) -> Result<Option<Moment>, Error> {
    let row = store.get(Table::Meta, keys::meta::TIME)?;
    Ok(row.map(|row| decode(Table::Meta, &row)).transpose()?)
}

/// Returns which files are closed at the start.
fn closed_so_far(disk: &DiskState, texts: &Shelf) -> Closed {
    Closed {
        pages: disk.archive.segment,
        texts: texts.end().segment,
    }
}

/// Returns the names of the files of both archives. What is begun from here on has the prefix that
/// is set; a file that has records keeps its name.
fn name_files(
    store: &dyn Store,
    (pages, texts): (Tail, Tail),
    options: &Options,
) -> Result<ArchiveNames, Error> {
    let names = ArchiveNames::read(store)?;
    let next = |tail: Tail| tail.segment + u32::from(tail.offset > 0);
    // What is derived from the secret must not tell anything of it. All shards have the same, and
    // their files may be brought to one place.
    let mut secret = read_secret(store)?.as_bytes().to_vec();
    if let Some(shard) = &options.shard {
        secret.extend(shard.shards.own().to_be_bytes());
    }
    let digest = Digest::of(&secret);
    let crawl = digest.as_bytes().first_chunk().copied();
    let named = names.with_prefix(
        &options.archive.prefix,
        (next(pages), next(texts)),
        Timestamp::now(),
        u32::from_be_bytes(crawl.unwrap_or_default()),
    );
    let Some((names, row)) = named else {
        return Ok(names);
    };
    let mut batch = Batch::new();
    batch.put(Table::Meta, keys::meta::FILES, row);
    store.commit(batch, Durability::Disk)?;
    Ok(names)
}

/// Lets the archives go on with files of numbers that nobody else has, if others have committed
/// since this disk was written to: what they fetched is in files of theirs. Returns what the store
/// is to know of that.
fn take_numbers(
    store: &dyn Store,
    (archive, texts): (&mut WarcArchive, &mut WarcArchive),
    options: &Options,
) -> Result<Batch, Error> {
    let mut batch = Batch::new();
    let mut others = OtherFiles::read(store)?;
    if store.get(Table::Meta, keys::meta::TAKEN_OVER)?.is_some() {
        take_numbers_of_own(store, (archive, texts), &mut others, &mut batch)?;
    }
    if let Some(worker) = &options.keeper {
        name_keepers(store, worker, (&others, archive.end().segment), &mut batch)?;
    }
    Ok(batch)
}

fn take_numbers_of_own(
    store: &dyn Store,
    (archive, texts): (&mut WarcArchive, &mut WarcArchive),
    others: &mut OtherFiles,
    batch: &mut Batch,
) -> Result<(), Error> {
    let keepers = store.get(Table::Meta, keys::meta::KEEPERS)?;
    let keepers: u64 = keepers.map_or(Ok(0), |row| decode(Table::Meta, &row))?;
    let keeper = keepers + 1;
    let first = OtherFiles::first_of(keeper).ok_or_else(|| {
        Error::Internal(format!(
            "it was taken over {keepers} times: no file has a number left"
        ))
    })?;
    others.pages.extend(archive.skip_to(first)?);
    others.texts.extend(texts.skip_to(first)?);
    batch.put(Table::Meta, keys::meta::KEEPERS, encode(&keeper));
    batch.put(Table::Meta, keys::meta::OTHERS, encode(others));
    batch.delete(Table::Meta, keys::meta::TAKEN_OVER);
    Ok(())
}

/// Says which worker has the files on this disk, as far as that is not said yet.
fn name_keepers(
    store: &dyn Store,
    worker: &str,
    (others, last): (&OtherFiles, u32),
    batch: &mut Batch,
) -> Result<(), Error> {
    let epoch = Origin::of(store)?.map_or(0, |it| it.epoch);
    let known = Keeper::read_all(store)?;
    for number in others.keepers_here(last) {
        let known = known.iter().find(|it| it.0 == number);
        // What was put back because it was lost stays so, although it is here after all.
        if known.is_none_or(|(_, keeper)| keeper.lost.is_none()) {
            let keeper = Keeper {
                worker: worker.to_owned(),
                epoch,
                lost: None,
            };
            keeper.put(number, batch);
        }
    }
    Ok(())
}

/// Makes the files whole that this disk has from when it owned the crawl: records that were never
/// acknowledged are cut off.
pub(super) fn close_files(
    store: &dyn Store,
    path: &Path,
    disk: DiskState,
    options: &Options,
) -> Result<DiskState, Error> {
    let end_of_texts = end_of_texts(store)?;
    let names = ArchiveNames::read(store)?;
    let pages = WarcOptions {
        digest: options.archive.digest,
        ..WarcOptions::pages_of(path, names.pages)
    };
    let texts = WarcOptions::texts_of(path, names.texts);
    let mut closed = [Tail::default(); 2];
    let archives = [(pages, disk.archive), (texts, end_of_texts)];
    for ((warc, tail), closed) in archives.into_iter().zip(&mut closed) {
        let mut archive = open_archive(warc, Start::At(tail), options)?;
        archive.close()?;
        *closed = archive.sync()?;
    }
    let [pages, texts] = closed;
    acknowledge(store, Batch::new(), (disk, end_of_texts), (pages, texts))
}

/// Lets the store know of files that a run has closed before it was killed: nothing more is
/// expected of them, so that they may leave.
fn acknowledge(
    store: &dyn Store,
    mut batch: Batch,
    (mut disk, known_texts): (DiskState, Tail),
    (pages, texts): (Tail, Tail),
) -> Result<DiskState, Error> {
    if batch.is_empty() && (disk.archive, known_texts) == (pages, texts) {
        return Ok(disk);
    }
    disk.archive = pages;
    batch.put(Table::Meta, keys::meta::DISK, encode(&disk));
    batch.put(Table::Meta, keys::meta::TEXTS, encode(&texts));
    store.commit(batch, Durability::Disk)?;
    Ok(disk)
}

/// Opens an archive at its acknowledged end.
fn open_archive(
    mut warc: WarcOptions,
    start: Start,
    options: &Options,
) -> Result<WarcArchive, Error> {
    warc.max_segment_bytes = options.archive.max_segment_bytes;
    warc.compression = options.archive.compression;
    warc.digest = options.archive.digest;
    warc.info = warcinfo(options);
    let (archive, recovery) = WarcArchive::open(warc, start)?;
    let WarcOptions {
        directory, names, ..
    } = archive.options();
    set_elsewhere(directory, names, &options.archive.also_in)?;
    if recovery.bytes_cut > 0 {
        tracing::info!(
            bytes = recovery.bytes_cut,
            "records that were never acknowledged were cut off"
        );
    }
    for file in &recovery.set_aside {
        tracing::warn!(file = %file.display(), "records that the store does not know are set aside");
    }
    Ok(archive)
}

/// Creates the guard, with consent to the private addresses that the user gave as seeds.
fn open_guard(store: &dyn Store, options: &Options) -> Result<Arc<Guard>, Error> {
    let guard = Guard::new(&options.fetch);
    for_each(store, Table::Meta, keys::meta::CONSENT, &mut |key, _| {
        let kept = key.get(keys::meta::CONSENT.len()..).unwrap_or_default();
        guard.consent(Authority::from_kept(&String::from_utf8_lossy(kept)));
        Ok(())
    })?;
    Ok(Arc::new(guard))
}

/// Maximum number of hosts that a warcinfo record names.
const MAX_HOSTS_NAMED: usize = 100;

/// Returns what the archive's warcinfo records say about the crawl (WARC/1.1, section 6.2).
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
    let own = [
        ("software", concat!("gleaner/", env!("CARGO_PKG_VERSION"))),
        ("http-header-user-agent", &options.fetch.user_agent),
        ("robots", &robots),
    ];
    let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
    own.into_iter()
        .chain(options.archive.info.clone())
        .collect()
}
