//! Typed tables: tables whose rows are all of one type, so that readers need not name it.

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
    /// Declares the rows of `table` to be of type `T`.
    pub const fn of(table: Table) -> Self {
        Self {
            table,
            row: PhantomData,
        }
    }

    /// Returns the table.
    pub const fn table(&self) -> Table {
        self.table
    }

    /// Returns the row under a key, or `None` if there is none.
    pub fn get(&self, store: &dyn Store, key: impl AsRef<[u8]>) -> Result<Option<T>> {
        let row = store.get(self.table, key.as_ref())?;
        row.map(|row| self.decode(&row)).transpose()
    }

    /// Decodes a row of this table.
    pub fn decode(&self, row: &[u8]) -> Result<T> {
        decode(self.table, row)
    }

    /// Adds the encoded row to the batch.
    pub fn put(&self, batch: &mut Batch, key: impl Into<Vec<u8>>, row: &T) {
        batch.put(self.table, key, encode(row));
    }

    /// Calls `visit` for every row under a prefix, in key order.
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
