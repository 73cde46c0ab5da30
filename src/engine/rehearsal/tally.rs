//! A store that counts what is written into it, table by table.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::store::{Batch, Durability, Result, Row, Store, Table};

/// A store that counts what commits write, and passes it on.
pub struct Tally {
    store: Arc<dyn Store>,
    counted: Mutex<Counted>,
}

/// What commits wrote.
#[derive(Debug, Default, Clone)]
pub struct Counted {
    /// Changes of each table, and the bytes of their keys and values.
    pub tables: BTreeMap<Table, (u64, u64)>,
    /// Number of commits.
    pub commits: u64,
    /// Bytes of their batches as they go into a log.
    pub encoded: u64,
    /// The same, each compressed by zstd at level 1.
    pub compressed: u64,
}

impl Tally {
    pub(super) fn of(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            counted: Mutex::default(),
        }
    }

    /// Returns what was written so far.
    pub fn counted(&self) -> Counted {
        let counted = self.counted.lock();
        counted.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Store for Tally {
    fn get_many(&self, table: Table, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        self.store.get_many(table, keys)
    }

    fn range(&self, table: Table, prefix: &[u8], from: &[u8], limit: usize) -> Result<Vec<Row>> {
        self.store.range(table, prefix, from, limit)
    }

    fn commit(&self, batch: Batch, durability: Durability) -> Result<()> {
        let encoded = batch.encode();
        let compressed = zstd::bulk::compress(&encoded, 1).map_or(encoded.len(), |it| it.len());
        {
            let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
            for (table, bytes) in batch.sizes() {
                let of = counted.tables.entry(table).or_default();
                *of = (of.0 + 1, of.1 + bytes as u64);
            }
            counted.commits += 1;
            counted.encoded += encoded.len() as u64;
            counted.compressed += compressed as u64;
        }
        self.store.commit(batch, durability)
    }

    fn reclaim(&self, table: Table) {
        self.store.reclaim(table);
    }

    fn reclaimed(&self) -> Option<bool> {
        self.store.reclaimed()
    }
}
