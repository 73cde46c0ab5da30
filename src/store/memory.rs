//! Tables as ordered maps: used in tests, as the model that other stores must match.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Batch, Durability, Result, Row, Store, Table};

type Rows = BTreeMap<(Table, Vec<u8>), Vec<u8>>;

/// A store that lives as long as the process.
#[derive(Debug, Default)]
pub struct Memory {
    /// Locked for one call at a time, never across calls.
    rows: Mutex<Rows>,
}

impl Memory {
    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Memory {
    fn get_many(&self, table: Table, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        let rows = self.rows();
        Ok(keys
            .iter()
            .map(|key| rows.get(&(table, key.to_vec())).cloned())
            .collect())
    }

    fn range(&self, table: Table, prefix: &[u8], from: &[u8], limit: usize) -> Result<Vec<Row>> {
        Ok(self
            .rows()
            .range((table, from.max(prefix).to_vec())..)
            .take_while(|((t, key), _)| *t == table && key.starts_with(prefix))
            .take(limit)
            .map(|((_, key), value)| (key.clone(), value.clone()))
            .collect())
    }

    fn commit(&self, batch: Batch, _: Durability) -> Result<()> {
        let mut rows = self.rows();
        for change in batch.changes {
            let key = (change.table, change.key);
            match change.value {
                Some(value) => rows.insert(key, value),
                None => rows.remove(&key),
            };
        }
        Ok(())
    }

    fn reclaim(&self, _: Table) {}

    fn reclaimed(&self) -> Option<bool> {
        Some(true)
    }
}
