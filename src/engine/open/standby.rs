//! A data directory whose store, runs and documents are open and agree, before visits write to it.
//!
//! The store is authoritative. The deltas since the last checkpoint are replayed into runs and
//! documents; whatever of these is damaged or lost is rebuilt from the store's rows. Archive and
//! log are not touched: a [`Standby`] may follow a crawl that another process commits, by applying
//! its deltas, and becomes a committer by [`promote`](super::promote::promote).

mod chunk;
mod copying;
mod following;
mod source;

use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use super::lost;
use super::memory::MemoryPlan;
use super::rebuild::{forget_lookups, open_documents, open_runs, repair_runs};
use super::refingerprint::{self, Refingerprint};
use super::store::{crawl_number, read_secret};
use crate::archive::WarcOptions;
use crate::dedup::Index;
use crate::engine::Options;
use crate::engine::again::read_retired;
use crate::engine::commit::{Deltas, Lookups, SEEN_RUNS};
use crate::engine::error::Error;
use crate::engine::failpoint::{Failpoint, Step};
use crate::engine::learned::template::Templates;
use crate::frontier::SeenSet;
use crate::rows::{ArchiveNames, CrawlState, Delta, DiskState};
use crate::store::{Batch, Durability, Store, Table, decode, encode, for_each, keys};
use crate::url::Identity;

pub use chunk::{CopyChunk, CopyCursor, CopyId};
pub use copying::{CopyStep, Copying};
pub use following::{Following, Step as FollowStep};
pub use source::CopySource;

/// Store, runs and documents of a crawl, up to the last commit.
pub(crate) struct Standby {
    pub(super) store: Arc<dyn Store>,
    pub(super) identity: Identity,
    pub(super) state: CrawlState,
    pub(super) disk: DiskState,
    pub(super) lookups: Lookups,
    /// Deltas that no checkpoint covers.
    pub(super) deltas: Deltas,
    /// Whether the store lost commits, and is repaired.
    pub(super) is_repairing: bool,
}

impl Standby {
    /// Opens runs and documents of the directory `path` beside its store.
    pub(super) fn open(
        path: &Path,
        (store, state, mut disk): (Arc<dyn Store>, CrawlState, DiskState),
        options: &Options,
        failpoint: &mut Option<Failpoint>,
    ) -> Result<Self, Error> {
        let is_repairing = lost::is_repairing(path, &*store, (&state, &disk), options.repair)?;
        if is_repairing {
            forget_lookups(path)?;
        }
        let remaking = refingerprint::is_due(&*store, options)?;
        let secret = read_secret(&*store)?;
        let crawl = crawl_number(&secret);
        let identity = Identity::new(options.canonicalizer.clone(), secret);
        if remaking {
            let names = ArchiveNames::read(&*store)?;
            let warc = WarcOptions::pages_of(path, names.pages);
            Refingerprint::new(&*store, warc, &identity, options).run()?;
            Failpoint::reach(failpoint, Step::Refingerprinted);
        }
        let retired = read_retired(&*store)?;
        // Both are read completely when they are opened, which takes seconds if there are ten
        // million.
        let (documents, opened) = thread::scope(|scope| {
            let opened = scope.spawn(|| open_runs(path));
            let states = (&state, &mut disk);
            let documents = open_documents(&*store, path, options, states, &retired, remaking);
            (documents, opened.join())
        });
        let documents = documents?;
        let opened = opened.unwrap_or_else(|panic| resume_unwind(panic))?;
        lost::check_lookups(path, &state, (opened.0.sequence(), documents.through()))?;
        let features = &options.features;
        let states = (&state, &disk);
        let catalog = repair_runs(&*store, opened, options, states, retired, remaking)?;
        let filter = path.join("runs").join("seen.filter");
        let mut standby = Self {
            lookups: Lookups {
                seen: SeenSet::open(&options.seen, &catalog[SEEN_RUNS], &filter, crawl),
                index: Index::new(documents, features.clone()),
                templates: Templates::new(MemoryPlan::of(options).templates),
                catalog,
            },
            store,
            identity,
            state,
            disk,
            deltas: Deltas::default(),
            is_repairing,
        };
        standby.replay(remaking)?;
        if remaking {
            standby.lookups.catalog.checkpoint(standby.state.sequence)?;
            Failpoint::reach(failpoint, Step::Rebuilt);
            standby.disk.runs_checkpointed = standby.state.sequence;
            finish_remaking(&*standby.store, &standby.disk, &features.line())?;
            standby.deltas = Deltas::default();
        }
        Ok(standby)
    }

    /// Replays into memory what was committed since the last checkpoint: everything, or only the
    /// URLs seen, if documents were rebuilt from the store, which has them all.
    fn replay(&mut self, urls_only: bool) -> Result<(), Error> {
        let store = Arc::clone(&self.store);
        for_each(&*store, Table::Deltas, &[], &mut |key, row| {
            let mut delta: Delta = decode(Table::Deltas, row)?;
            if urls_only {
                delta = Delta {
                    seen: delta.seen,
                    ..Delta::default()
                };
            }
            if let Ok(sequence) = key.try_into() {
                self.apply(u64::from_be_bytes(sequence), delta, row.len());
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Applies to memory what the commit of number `sequence` added to runs and documents. Applying
    /// a delta twice is harmless. `bytes` is the length of its row.
    pub(super) fn apply(&mut self, sequence: u64, delta: Delta, bytes: usize) {
        self.deltas.add(sequence, &delta, bytes);
        self.lookups.apply(delta);
    }
}

/// Commits that the fingerprints are now those that the line describes: everything that deltas held
/// is written.
fn finish_remaking(store: &dyn Store, disk: &DiskState, line: &str) -> Result<(), Error> {
    let mut batch = Batch::new();
    for_each(store, Table::Deltas, &[], &mut |key, _| {
        batch.delete(Table::Deltas, key);
        Ok(())
    })?;
    batch.put(Table::Meta, keys::meta::DISK, encode(disk));
    batch.put(Table::Meta, keys::meta::FEATURES, line);
    batch.delete(Table::Meta, keys::meta::REFINGERPRINT);
    Ok(store.commit(batch, Durability::Disk)?)
}
