//! The crawl's state: two rows of `Meta`, written by every commit.

use serde::{Deserialize, Serialize};

use super::counters::Counters;
use crate::archive::Tail;
use crate::dedup::DocumentId;
use crate::frontier::Moment;
use crate::journal::LogTail;
use crate::store::{Result, Store, Table, decode, keys};

/// How far the crawl is, on whatever disk: the row `state`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrawlState {
    /// Number of the last commit.
    pub sequence: u64,
    /// Number of the last URL queued.
    pub queue_sequence: u64,
    /// Number of the last document.
    pub last_document: DocumentId,
    /// No row of `Revisits` is due before: where reading begins, so that it does not walk over the
    /// tombstones of visits that were queued.
    pub revisits_from: Moment,
    /// What was done so far.
    pub counters: Counters,
}

/// How far the files of this data directory are: the row `disk`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskState {
    /// The end of the archive.
    pub archive: Tail,
    /// The end of the log.
    pub log: LogTail,
    /// Number of the commit up to which the last checkpoint made runs durable.
    pub runs_checkpointed: u64,
    /// The last document that the last checkpoint wrote.
    pub documents_checkpointed: DocumentId,
    /// Documents that expired since the runs were last purged of expired ones.
    pub unpurged: u64,
    /// A purge of the runs was begun, and perhaps not ended.
    pub is_purging: bool,
    /// Documents that expired since the documents' folder was last built.
    pub dead_rows: u64,
    /// URLs that left their queues since the store last gave back the space of such URLs.
    pub left_queues: u64,
}

impl CrawlState {
    /// The state as committed; `None` before the first commit.
    pub fn read(store: &dyn Store) -> Result<Option<Self>> {
        let row = store.get(Table::Meta, keys::meta::STATE)?;
        row.map(|row| decode(Table::Meta, &row)).transpose()
    }
}

impl DiskState {
    /// The state as committed; `None` before the first commit.
    pub fn read(store: &dyn Store) -> Result<Option<Self>> {
        let row = store.get(Table::Meta, keys::meta::DISK)?;
        row.map(|row| decode(Table::Meta, &row)).transpose()
    }
}
