//! Tables whose rows are all of one type, so that no reader has to name it.

use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Batch, Result, Store, Table, decode, encode, for_each};

/// A table and the type of its rows. The room that owns the type declares the constant.
#[derive(Debug)]
pub struct Typed<T> {
    table: Table,
    row: PhantomData<fn() -> T>,
}

impl<T: Serialize + DeserializeOwned> Typed<T> {
    /// The rows of `table`, which are all of type `T`.
    pub const fn of(table: Table) -> Self {
        Self {
            table,
            row: PhantomData,
        }
    }

    /// The row under a key, if there is one.
    pub fn get(&self, store: &dyn Store, key: impl AsRef<[u8]>) -> Result<Option<T>> {
        let row = store.get(self.table, key.as_ref())?;
        row.map(|row| self.decode(&row)).transpose()
    }

    /// Reads a row of this table.
    pub fn decode(&self, row: &[u8]) -> Result<T> {
        decode(self.table, row)
    }

    /// Writes a row when the batch is committed.
    pub fn put(&self, batch: &mut Batch, key: impl Into<Vec<u8>>, row: &T) {
        batch.put(self.table, key, encode(row));
    }

    /// Visits every row under a prefix, in the order of the keys.
    pub fn for_each(
        &self,
        store: &dyn Store,
        prefix: &[u8],
        visit: &mut dyn FnMut(&[u8], T) -> Result<()>,
    ) -> Result<()> {
        for_each(store, self.table, prefix, &mut |key, row| {
            visit(key, self.decode(row)?)
        })
    }
}
