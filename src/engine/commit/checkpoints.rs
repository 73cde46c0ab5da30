//! Checkpoints: make durable what deltas hold for a replay, so that the deltas can be deleted.
//!
//! Documents and runs are written in the background, while commits go on. A checkpoint ends by
//! installing the runs and deleting the deltas that it covers.

use std::time::{Duration, Instant};

use super::lookups::{Lookups, SEEN_RUNS};
use crate::dedup::DocumentId;
use crate::engine::error::Error;
use crate::engine::events::{Events, Happening};
use crate::engine::failpoint::{Failpoint, Step};
use crate::engine::{MemoryPlan, Options};
use crate::journal::FetchLog;
use crate::rows::{CrawlState, Delta, DiskState};
use crate::store::{Batch, Durability, Store, Table, encode, keys};

/// Approximate memory per key until a checkpoint writes it, in bytes.
const BYTES_PER_KEY: usize = 30;

/// Poll interval for a checkpoint in progress while nothing else happens.
const POLL: Duration = Duration::from_millis(50);

/// When a checkpoint is due.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CheckpointLimits {
    pub(crate) interval: Duration,
    pub(crate) keys: usize,
    pub(crate) delta_bytes: usize,
}

impl CheckpointLimits {
    /// Returns what the options say.
    pub(crate) fn of(options: &Options) -> Self {
        let plan = MemoryPlan::of(options);
        Self {
            interval: options.checkpoint_interval,
            keys: plan.keys,
            delta_bytes: plan.delta_bytes,
        }
    }
}

/// What no checkpoint covers yet, and the checkpoint in progress.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    limits: CheckpointLimits,
    last: Instant,
    /// Deltas that no checkpoint covers, not even the one in progress.
    deltas: Deltas,
    begun: Option<Begun>,
}

/// Deltas since the last checkpoint.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Deltas {
    /// Sequence of the first, if there is one.
    pub(crate) first: Option<u64>,
    pub(crate) keys: usize,
    pub(crate) bytes: usize,
}

impl Deltas {
    /// Counts the delta of one commit; `bytes` is the length of its row.
    pub(crate) fn add(&mut self, sequence: u64, delta: &Delta, bytes: usize) {
        self.first.get_or_insert(sequence);
        self.keys += delta.keys();
        self.bytes += bytes;
    }
}

/// A checkpoint that is being written in the background.
#[derive(Debug, Clone, Copy)]
struct Begun {
    /// The first delta that it covers.
    first: u64,
    /// The last delta that it covers.
    through: u64,
    /// The last document that it writes.
    documents: DocumentId,
}

/// What a checkpoint writes, and where it may be made to die.
pub(crate) struct Site<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) lookups: &'a mut Lookups,
    pub(crate) state: &'a CrawlState,
    pub(crate) disk: &'a mut DiskState,
    /// What was fetched, and who is told; who follows a crawl has neither.
    pub(crate) log: Option<&'a FetchLog>,
    pub(crate) failpoint: &'a mut Option<Failpoint>,
    pub(crate) events: Option<&'a Events>,
}

impl Checkpoints {
    /// Creates the state; deltas that a start replayed are covered by the next checkpoint.
    pub(crate) fn new(limits: CheckpointLimits, deltas: Deltas) -> Self {
        Self {
            limits,
            last: Instant::now(),
            deltas,
            begun: None,
        }
    }

    /// Counts the delta of a commit.
    pub(crate) fn add(&mut self, sequence: u64, delta: &Delta, bytes: usize) {
        self.deltas.add(sequence, delta, bytes);
    }

    /// Returns the time until there is something to do.
    pub(super) fn until(&self) -> Duration {
        match self.begun {
            // The next one begins when this one is written, however long that takes.
            Some(_) => POLL,
            None => self.limits.interval.saturating_sub(self.last.elapsed()),
        }
    }

    /// Returns the approximate memory of keys that no checkpoint covers, in bytes.
    pub(super) fn memory_bytes(&self) -> u64 {
        (self.deltas.keys * BYTES_PER_KEY) as u64
    }

    /// Makes a checkpoint if it is time, or if a crash would have to replay much.
    pub(crate) fn advance(&mut self, site: &mut Site<'_>) -> Result<(), Error> {
        let is_much =
            self.deltas.keys >= self.limits.keys || self.deltas.bytes >= self.limits.delta_bytes;
        // Memory is bounded: if there is much again and the last checkpoint is not yet written, it
        // is waited for.
        let lookups = &site.lookups;
        let is_written = lookups.catalog.is_written() && lookups.index.documents().is_written();
        if self.begun.is_some() && (is_much || is_written) {
            self.end(site)?;
        }
        let is_time = self.last.elapsed() >= self.limits.interval;
        if self.begun.is_none() && (is_time || is_much) {
            self.begin(site)?;
        }
        Ok(())
    }

    /// Starts writing documents and runs.
    pub(super) fn begin(&mut self, site: &mut Site<'_>) -> Result<(), Error> {
        self.last = Instant::now();
        if let Some(log) = site.log {
            log.sync()?;
        }
        let Some(first) = self.deltas.first else {
            return Ok(());
        };
        site.lookups.index.documents_mut().begin()?;
        site.lookups.catalog.begin(site.state.sequence)?;
        self.begun = Some(Begun {
            first,
            through: site.state.sequence,
            documents: site.state.last_document,
        });
        self.deltas = Deltas::default();
        Ok(())
    }

    /// Waits for what is written, if needed, installs the runs, and deletes the deltas that
    /// they cover.
    pub(super) fn end(&mut self, site: &mut Site<'_>) -> Result<(), Error> {
        let Some(begun) = self.begun else {
            return Ok(());
        };
        site.lookups.index.documents_mut().finish()?;
        Failpoint::reach(site.failpoint, Step::DocumentsWritten);
        let Lookups { catalog, seen, .. } = &mut *site.lookups;
        catalog.finish()?;
        self.begun = None;
        Failpoint::reach(site.failpoint, Step::RunsInstalled);
        site.disk.runs_checkpointed = begun.through;
        site.disk.is_purging &= !catalog.is_settled();
        site.disk.documents_checkpointed = begun.documents;
        let mut batch = Batch::new();
        for sequence in begun.first..=begun.through {
            batch.delete(Table::Deltas, keys::delta(sequence));
        }
        batch.put(Table::Meta, keys::meta::DISK, encode(&*site.disk));
        site.store.commit(batch, Durability::Disk)?;
        Failpoint::reach(site.failpoint, Step::DeltasRemoved);
        seen.save_if_due(&catalog[SEEN_RUNS], site.state.sequence);
        if let Some(events) = site.events {
            events.tell(&Happening::Checkpoint {
                sequence: begun.through,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_that_takes_longer_than_the_interval_is_polled_and_not_spun_on() {
        let limits = CheckpointLimits {
            interval: Duration::ZERO,
            keys: 1,
            delta_bytes: 1,
        };
        let mut checkpoints = Checkpoints::new(limits, Deltas::default());
        assert_eq!(checkpoints.until(), Duration::ZERO);
        checkpoints.begun = Some(Begun {
            first: 1,
            through: 1,
            documents: 0,
        });
        assert_eq!(checkpoints.until(), POLL);
    }
}
