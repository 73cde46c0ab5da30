//! The state of the crawl: two rows of `Meta`, written by every commit.

use serde::{Deserialize, Serialize};

use super::counters::Counters;
use crate::archive::Tail;
use crate::dedup::DocumentId;
use crate::frontier::Moment;
use crate::store::{Result, Store, Table, decode, keys};

/// The progress of the crawl, independent of any disk: the row `state`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrawlState {
    /// Sequence of the last commit.
    pub sequence: u64,
    /// Sequence of the last URL queued.
    pub queue_sequence: u64,
    /// Number of the last document.
    pub last_document: DocumentId,
    /// No row of `Revisits` is due before this time. Reading begins here, so that it does not walk
    /// over the tombstones of visits that were queued.
    pub revisits_from: Moment,
    /// What was done so far.
    pub counters: Counters,
}

/// The state of the files of this data directory: the row `disk`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskState {
    /// The end of the archive.
    pub archive: Tail,
    /// The end of the log.
    pub log: LogTail,
    /// Sequence of the last commit that the runs' last checkpoint made durable.
    pub runs_checkpointed: u64,
    /// Number of the last document that the last checkpoint wrote.
    pub documents_checkpointed: DocumentId,
    /// Documents that expired since the runs were last purged of expired ones.
    pub unpurged: u64,
    /// Set from the beginning of a purge of the runs until its end is recorded.
    pub is_purging: bool,
    /// Documents that expired since the documents' directory was last built.
    pub dead_rows: u64,
    /// URLs dequeued since the store last reclaimed the space of such URLs.
    pub left_queues: u64,
}

/// The end of the acknowledged log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LogTail {
    /// Number of full files before the current one.
    pub rotated: u32,
    /// Length of the current file, in bytes.
    pub bytes: u64,
}

/// Reads the number of URLs that are deferred.
pub fn deferred_urls(store: &dyn Store) -> Result<u64> {
    let row = store.get(Table::Meta, keys::meta::DEFERRED)?;
    row.map_or(Ok(0), |row| decode(Table::Meta, &row))
}

impl CrawlState {
    /// Reads the committed state; `None` before the first commit.
    pub fn read(store: &dyn Store) -> Result<Option<Self>> {
        let row = store.get(Table::Meta, keys::meta::STATE)?;
        row.map(|row| decode(Table::Meta, &row)).transpose()
    }
}

impl DiskState {
    /// Reads the committed state; `None` before the first commit.
    pub fn read(store: &dyn Store) -> Result<Option<Self>> {
        let row = store.get(Table::Meta, keys::meta::DISK)?;
        row.map(|row| decode(Table::Meta, &row)).transpose()
    }
}
