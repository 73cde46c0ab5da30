//! How far a shard has done what the list of the crawl says: seeds to admit, and orders.

use serde::{Deserialize, Serialize};

use crate::store::{Batch, Result, Store, Table, decode, encode, keys};

/// What the last entry of the list did that let something come back. It is in the commit that did
/// so: whoever begins with the entry again has that done, and is told the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BroughtBack {
    /// Its position in the list.
    pub entry: u64,
    /// Hosts and prefixes, and URLs, that may come back by it.
    pub back: u64,
}

impl BroughtBack {
    /// Reads the row.
    pub fn read(store: &dyn Store) -> Result<Option<Self>> {
        let row = store.get(Table::Meta, keys::meta::BROUGHT_BACK)?;
        row.map(|row| decode(Table::Meta, &row)).transpose()
    }

    /// Writes the row.
    pub fn put(&self, batch: &mut Batch) {
        batch.put(Table::Meta, keys::meta::BROUGHT_BACK, encode(self));
    }
}

/// Returns the position in the list up to which a shard has done what that says; 0 if it has read
/// none of it.
pub fn listed_through(store: &dyn Store) -> Result<u64> {
    let row = store.get(Table::Meta, keys::meta::SEEDS_THROUGH)?;
    let row = row.map(|row| decode(Table::Meta, &row)).transpose()?;
    Ok(row.unwrap_or_default())
}

/// Returns the position of the last entry that a shard has seen, also of one that it has begun and
/// not passed.
pub fn listed_seen(store: &dyn Store) -> Result<u64> {
    let begun = BroughtBack::read(store)?.map_or(0, |it| it.entry);
    Ok(listed_through(store)?.max(begun))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Durability, Memory};

    #[test]
    fn an_entry_that_was_begun_was_seen() {
        let store = Memory::default();
        let read = || {
            (
                listed_through(&store).unwrap(),
                listed_seen(&store).unwrap(),
            )
        };
        assert_eq!(read(), (0, 0));
        let mut batch = Batch::new();
        let brought = BroughtBack { entry: 7, back: 1 };
        brought.put(&mut batch);
        batch.put(Table::Meta, keys::meta::SEEDS_THROUGH, encode(&6_u64));
        store.commit(batch, Durability::Disk).unwrap();
        assert_eq!(BroughtBack::read(&store).unwrap(), Some(brought));
        assert_eq!(read(), (6, 7));
        let mut batch = Batch::new();
        batch.put(Table::Meta, keys::meta::SEEDS_THROUGH, encode(&9_u64));
        store.commit(batch, Durability::Disk).unwrap();
        assert_eq!(read(), (9, 9));
    }
}
