//! Which worker has the files of the archives that a range of numbers belongs to: rows of `Meta`
//! that all copies of a shard have, so that others know what is lost with its disk.

use serde::{Deserialize, Serialize};

use crate::store::{Batch, Result, Store, Table, decode, encode, for_each, keys};

/// Who has the files that the n-th worker to own the crawl has begun: the row `keeper/N`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keeper {
    /// Its name.
    pub worker: String,
    /// Which owner of the log it was when it began last.
    pub epoch: u64,
    /// Number of pages that were put back because its disk is lost, if it is.
    pub lost: Option<u64>,
}

impl Keeper {
    /// Reads all, in ascending order of their numbers.
    pub fn read_all(store: &dyn Store) -> Result<Vec<(u64, Self)>> {
        let mut keepers = Vec::new();
        let prefix = keys::meta::KEEPER;
        for_each(store, Table::Meta, prefix, &mut |key, row| {
            if let Some(number) = keys::parse_by_document(prefix, key) {
                keepers.push((number, decode(Table::Meta, row)?));
            }
            Ok(())
        })?;
        Ok(keepers)
    }

    /// Adds the row of the n-th to a batch.
    pub fn put(&self, number: u64, batch: &mut Batch) {
        let key = keys::by_document(keys::meta::KEEPER, number);
        batch.put(Table::Meta, key, encode(self));
    }
}
