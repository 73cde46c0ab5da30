//! Deferred URLs as a group changes them. Their number is a row of `Meta`, so that its bound needs
//! no pass over the table.

use std::collections::BTreeMap;

use super::write_set::WriteSet;
use crate::engine::Error;
use crate::store::{Row, Table, decode, keys};

impl WriteSet {
    /// Returns the number of URLs that are deferred.
    pub(crate) fn deferred(&mut self) -> Result<u64, Error> {
        Ok(self.deferred_counts()?.1)
    }

    /// Returns the number of URLs that are deferred, as committed and as it will be.
    fn deferred_counts(&mut self) -> Result<&mut (u64, u64), Error> {
        if self.deferred_count.is_none() {
            let row = self.store.get(Table::Meta, keys::meta::DEFERRED)?;
            let count = row.map_or(Ok(0), |row| decode(Table::Meta, &row))?;
            self.deferred_count = Some((count, count));
        }
        Ok(self.deferred_count.get_or_insert((0, 0)))
    }

    /// Writes the row of a URL that is deferred, and counts it.
    pub(crate) fn put_deferred(&mut self, key: Vec<u8>, row: Vec<u8>) -> Result<(), Error> {
        self.deferred_counts()?.1 += 1;
        self.deferred.insert(key, Some(row));
        Ok(())
    }

    /// Removes the row of a deferred URL.
    pub(crate) fn remove_deferred(&mut self, key: Vec<u8>) -> Result<(), Error> {
        let count = &mut self.deferred_counts()?.1;
        *count = count.saturating_sub(1);
        self.deferred.insert(key, None);
        Ok(())
    }

    /// Returns at most `limit` rows of deferred URLs under a prefix, from a key on, in key order.
    pub(crate) fn deferred_rows(
        &self,
        prefix: &[u8],
        from: &[u8],
        limit: usize,
    ) -> Result<Vec<Row>, Error> {
        let changed = self.deferred.range(from.to_vec()..);
        let changed = changed.take_while(|(key, _)| key.starts_with(prefix));
        let changed: Vec<_> = changed.collect();
        // As many more as may be gone.
        let most = limit.saturating_add(changed.len());
        let committed = self.store.range(Table::Deferred, prefix, from, most)?;
        let mut rows: BTreeMap<Vec<u8>, Vec<u8>> = committed.into_iter().collect();
        for (key, row) in changed {
            match row {
                Some(row) => rows.insert(key.clone(), row.clone()),
                None => rows.remove(key),
            };
        }
        Ok(rows.into_iter().take(limit).collect())
    }
}
