//! From analysed to committed: the single writer, and the only place where a visit has effects.
//!
//! A group of visits is what arrived while the last group was being committed, 16 at most. Steps,
//! in this order: judge each visit and collect its effects; append the records and the log lines;
//! sync the archive; commit one batch to the store, its delta included; tell the schedule. What is
//! remembered in memory while judging (URLs seen, documents) is ahead of the store only within a
//! group, and a failed commit ends the run: memory never outlives it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};

use super::Error;
use super::LiveOptions;
use super::clock::Clock;
use super::effects::Group;
use super::event::Event;
use super::expiry::Expiry;
use super::failpoint::{Failpoint, Step};
use super::observe::MemoryUse;
use super::records::StorePolicy;
use super::revisit::Revisits;
use super::run_hosts::RunHosts;
use super::visit::{Entry, Receipt};
use crate::archive::Archive;
use crate::dedup::{DocumentId, Index, Rules};
use crate::fetch::Guard;
use crate::frontier::{Limits, Moment, Scope, SeenSet, SharedPolicies};
use crate::journal::FetchLog;
use crate::rows::{Counters, CrawlState, DiskState};
use crate::runs::Catalog;
use crate::store::{Batch, Durability, Store, Table, encode, for_each, keys};
use crate::url::Identity;

/// Visits that share one sync. Larger groups gain nothing and take more memory.
const MAX_GROUP: usize = 16;

/// Bytes that a key takes in memory until a checkpoint writes it, about.
const BYTES_PER_KEY: usize = 30;

/// Position of the runs of URLs seen in the catalog; those of deduplication follow.
pub(super) const SEEN_RUNS: usize = 0;
/// Position of the first of deduplication's runs.
pub(super) const DEDUP_RUNS: usize = 1;

/// When a checkpoint is due.
#[derive(Debug, Clone, Copy)]
pub(super) struct CheckpointLimits {
    pub(super) interval: Duration,
    pub(super) keys: usize,
    pub(super) delta_bytes: usize,
}

/// The single writer of store, archive, log, runs and documents.
pub(super) struct Committer {
    pub(super) store: Arc<dyn Store>,
    pub(super) archive: Box<dyn Archive>,
    pub(super) log: FetchLog,
    pub(super) catalog: Catalog,
    pub(super) seen: SeenSet,
    pub(super) index: Index,
    pub(super) scope: Scope,
    pub(super) limits: Limits,
    pub(super) policies: SharedPolicies,
    pub(super) rules: Rules,
    pub(super) identity: Identity,
    pub(super) guard: Arc<Guard>,
    pub(super) store_policy: StorePolicy,
    pub(super) state: CrawlState,
    pub(super) disk: DiskState,
    /// When pages are visited again.
    pub(super) revisits: Revisits,
    /// When documents are forgotten.
    pub(super) expiry: Expiry,
    pub(super) counters: watch::Sender<Counters>,
    pub(super) memory: watch::Sender<MemoryUse>,
    pub(super) checkpoints: CheckpointLimits,
    pub(super) failpoint: Option<Failpoint>,
    pub(super) last_checkpoint: Instant,
    /// Deltas that no checkpoint covers, not even the one that was begun, and what they hold.
    pub(super) deltas: Deltas,
    /// The checkpoint that is being written.
    pub(super) begun: Option<Begun>,
    /// The hosts of this run, for its summary.
    pub(super) run_hosts: RunHosts,
}

/// Deltas since the last checkpoint.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Deltas {
    /// The sequence of the first, if there is one.
    pub(super) first: Option<u64>,
    pub(super) keys: usize,
    pub(super) bytes: usize,
}

/// A checkpoint whose runs are being written in the background.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begun {
    /// The first delta that it covers.
    first: u64,
    /// The last.
    through: u64,
    /// The last document that is written.
    documents: DocumentId,
}

/// How often it is looked whether a checkpoint is written, where nothing else happens.
const LOOK: Duration = Duration::from_millis(50);

impl Committer {
    /// Commits what arrives until nothing more can arrive, then makes everything durable.
    pub(super) fn run(
        &mut self,
        entries: &Receiver<Entry>,
        events: &mpsc::Sender<Event>,
        clock: Clock,
    ) -> Result<(), Error> {
        loop {
            let patience = self
                .checkpoints
                .interval
                .saturating_sub(self.last_checkpoint.elapsed())
                .min(self.until_revisits(clock.now()))
                .min(self.until_expiry(clock.now()));
            let patience = match self.begun {
                Some(_) => patience.min(LOOK),
                None => patience,
            };
            match entries.recv_timeout(patience) {
                Ok(first) => {
                    let mut group = vec![first];
                    group.extend(entries.try_iter().take(MAX_GROUP - 1));
                    let receipts = self.commit(group)?;
                    // The scheduler is gone only when the run is ending.
                    let _ = events.blocking_send(Event::Committed(receipts));
                    Failpoint::reach(&mut self.failpoint, Step::Applied);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.checkpoint(),
            }
            let queued = self.revisit(clock.now())?;
            if !queued.is_empty() {
                let _ = events.blocking_send(Event::Committed(queued));
            }
            self.expire(clock.now())?;
            self.checkpoint_if_due()?;
        }
    }

    /// Commits a group, all or nothing.
    pub(super) fn commit(&mut self, mut entries: Vec<Entry>) -> Result<Vec<Receipt>, Error> {
        let now = latest(&entries);
        let mut receipts = Vec::new();
        for entry in &mut entries {
            // Before anything of the group is collected: what sitemaps list is committed by itself.
            if let Entry::Visit(visit) = entry {
                receipts.extend(self.queue_listed(visit, now)?);
            }
        }
        let mut group = Group::at(now);
        self.sweep(&entries, &mut group)?;
        for entry in entries {
            match entry {
                Entry::Visit(visit) => self.visit(*visit, &mut group)?,
                Entry::Seeds(seeds) => self.seeds(seeds, &mut group)?,
                Entry::Known(known) => self.know(known, &mut group)?,
                Entry::PutBack(part) => self.put_back(*part, &mut group)?,
                Entry::Settings(settings, reply) => {
                    self.change(*settings)?;
                    // Whoever asked may have gone.
                    let _ = reply.send(());
                }
            }
        }
        receipts.extend(self.write(group)?);
        Ok(receipts)
    }

    /// Writes what a group changes, all or nothing.
    pub(super) fn write(&mut self, mut group: Group) -> Result<Vec<Receipt>, Error> {
        Failpoint::reach(&mut self.failpoint, Step::Judged);
        let locations = match group.records.is_empty() {
            true => Vec::new(),
            false => self.archive.append(&group.records)?,
        };
        self.state.counters.archived_bytes += locations
            .iter()
            .map(|location| location.length)
            .sum::<u64>();
        for document in group.locate(&locations) {
            self.index.documents_mut().insert(document);
        }
        let lines = group.lines(&*self.store, &locations)?;
        self.disk.log = self.log.append(&lines)?;
        Failpoint::reach(&mut self.failpoint, Step::Appended);
        if !locations.is_empty() {
            self.disk.archive = self.archive.sync()?;
        }
        Failpoint::reach(&mut self.failpoint, Step::Synced);
        self.state.sequence += 1;
        let receipts = std::mem::take(&mut group.receipts);
        let replies = std::mem::take(&mut group.replies);
        let (mut batch, delta_keys, delta_bytes) = group.into_batch(&mut self.state);
        batch.put(Table::Meta, keys::meta::DISK, encode(&self.disk));
        self.store.commit(batch, Durability::Disk)?;
        Failpoint::reach(&mut self.failpoint, Step::Committed);
        self.log.acknowledge()?;
        if delta_bytes > 0 {
            self.deltas.first.get_or_insert(self.state.sequence);
            self.deltas.keys += delta_keys;
            self.deltas.bytes += delta_bytes;
        }
        self.counters.send_replace(self.state.counters.clone());
        self.memory.send_replace(MemoryUse {
            urls_seen: self.seen.memory_bytes(),
            new_keys: (self.deltas.keys * BYTES_PER_KEY) as u64,
            ..MemoryUse::default()
        });
        for reply in replies {
            reply();
        }
        Ok(receipts)
    }

    /// Goes on under other settings.
    fn change(&mut self, settings: LiveOptions) -> Result<(), Error> {
        self.limits = settings.limits;
        self.policies.store(Arc::new(settings.policies));
        self.rules = settings.rules;
        let mut scope = Scope::new(settings.scope);
        for_each(&*self.store, Table::Scope, &[], &mut |entry, _| {
            scope.restore(entry);
            Ok(())
        })?;
        self.scope = scope;
        self.revisit_by(settings.revisit)
    }

    /// Makes a checkpoint when it is time, or when there is much that a crash would have to replay: what
    /// was inserted is written in the background, and the next commits go on meanwhile.
    pub(super) fn checkpoint_if_due(&mut self) -> Result<(), Error> {
        self.seen.step(&self.catalog[SEEN_RUNS]);
        self.reclaim_if_due();
        let is_much = self.deltas.keys >= self.checkpoints.keys
            || self.deltas.bytes >= self.checkpoints.delta_bytes;
        // Memory is bounded: when there is much again and the last is not yet written, it is waited for.
        if self.begun.is_some() && (is_much || self.catalog.is_written()) {
            self.end_checkpoint()?;
        }
        let is_time = self.last_checkpoint.elapsed() >= self.checkpoints.interval;
        if self.begun.is_none() && (is_time || is_much) {
            self.begin_checkpoint()?;
        }
        Ok(())
    }

    /// Makes a checkpoint of all that was committed, and waits for it.
    pub(super) fn checkpoint(&mut self) -> Result<(), Error> {
        self.end_checkpoint()?;
        self.begin_checkpoint()?;
        self.end_checkpoint()?;
        let (seen, through) = (&self.catalog[SEEN_RUNS], self.state.sequence);
        self.seen.finish_saving(seen, through);
        Ok(())
    }

    /// Makes documents durable, and has the runs written.
    fn begin_checkpoint(&mut self) -> Result<(), Error> {
        self.last_checkpoint = Instant::now();
        self.log.sync()?;
        let Some(first) = self.deltas.first else {
            return Ok(());
        };
        self.index.documents_mut().checkpoint()?;
        Failpoint::reach(&mut self.failpoint, Step::DocumentsWritten);
        self.catalog.begin(self.state.sequence)?;
        self.begun = Some(Begun {
            first,
            through: self.state.sequence,
            documents: self.state.last_document,
        });
        self.deltas = Deltas::default();
        Ok(())
    }

    /// Gives the space of queues back where most of what they ever held has left: it is rewritten without.
    fn reclaim_if_due(&mut self) {
        /// URLs of which the blocks take some megabytes.
        const MANY: u64 = 200_000;
        /// So that each URL that leaves pays for the rewriting of a quarter of another.
        const TIMES: u64 = 4;
        let waiting = self.state.counters.queued;
        if self.disk.left_queues >= MANY.max(waiting.saturating_mul(TIMES)) {
            self.disk.left_queues = 0;
            self.store.reclaim(Table::Queue);
        }
    }

    /// Installs the runs that were written, waiting for them if need be, and forgets the deltas that
    /// they hold.
    fn end_checkpoint(&mut self) -> Result<(), Error> {
        let Some(begun) = self.begun else {
            return Ok(());
        };
        self.catalog.finish()?;
        self.begun = None;
        Failpoint::reach(&mut self.failpoint, Step::RunsInstalled);
        self.disk.runs_checkpointed = begun.through;
        self.disk.is_purging &= !self.catalog.is_settled();
        self.disk.documents_checkpointed = begun.documents;
        let mut batch = Batch::new();
        for sequence in begun.first..=begun.through {
            batch.delete(Table::Deltas, keys::delta(sequence));
        }
        batch.put(Table::Meta, keys::meta::DISK, encode(&self.disk));
        self.store.commit(batch, Durability::Disk)?;
        Failpoint::reach(&mut self.failpoint, Step::DeltasRemoved);
        let (seen, through) = (&self.catalog[SEEN_RUNS], self.state.sequence);
        self.seen.save_if_due(seen, through);
        tracing::debug!(sequence = begun.through, "checkpoint");
        Ok(())
    }
}

/// When the last of the visits ended; for seeds alone, the time of day.
fn latest(entries: &[Entry]) -> Moment {
    let finished = entries.iter().filter_map(|entry| match entry {
        Entry::Visit(visit) => Some(visit.fetched.finished),
        Entry::Seeds(_) | Entry::Known(_) | Entry::PutBack(_) | Entry::Settings(..) => None,
    });
    finished.max().unwrap_or_else(|| Clock::start().now())
}
