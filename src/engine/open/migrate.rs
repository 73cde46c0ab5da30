//! Migration: brings the rows of a data directory up to date, one format after the other.
//!
//! Two places name the format of a directory. The file `version` says which versions of gleaner may
//! open it: it is raised first, so that no older version meets rows that it cannot read. The row
//! `format` of `Meta` says which form the rows have. Each step is one batch that also writes its
//! number, so a process that is killed in between continues with the next step.
//!
//! A form that rows no longer have is declared here, in the step that reads it, and a test opens
//! the directory of each format under `tests/fixtures`.

use serde::Deserialize;

use super::directory::{DataDirectory, FORMAT, OLDEST};
use crate::archive::Tail;
use crate::dedup::DocumentId;
use crate::engine::error::Error;
use crate::engine::failpoint::{Failpoint, Step};
use crate::frontier::Moment;
use crate::rows::LogTail;
use crate::rows::{Counters, CrawlState, DiskState};
use crate::store::{Batch, Durability, Store, Table, decode, encode, keys};

/// Reads rows of one format and returns the changes that make them those of the next, which are
/// committed together with the new number. A step that changes more than fits into memory commits
/// parts of it by itself; doing so twice must then be harmless.
type Migration = fn(&dyn Store) -> Result<Batch, Error>;

/// The steps from each format since [`OLDEST`] to the next.
const STEPS: [Migration; (FORMAT - OLDEST) as usize] = [split_state];

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
    counters: Counters,
}

/// From 11 to 12: gives what the state said about this disk a row of its own.
fn split_state(store: &dyn Store) -> Result<Batch, Error> {
    let mut batch = Batch::new();
    let Some(row) = store.get(Table::Meta, keys::meta::STATE)? else {
        return Ok(batch);
    };
    let old: State11 = decode(Table::Meta, &row)?;
    let state = CrawlState {
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
