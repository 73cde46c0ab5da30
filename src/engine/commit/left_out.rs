//! What a group leaves out, collected while its visits are judged; its commit adds it to the rows.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::engine::Error;
use crate::rows::{LeftOut, LostSeed, Reason, ReasonKind, RefusedUrl};
use crate::store::{Batch, Store, Table, decode, encode};
use crate::url::UrlId;

/// What a group changes in the rows of what is left out.
#[derive(Debug, Default)]
pub(super) struct LeftOutChanges {
    by_reason: BTreeMap<Reason, Change>,
    /// Seeds that gave nothing; `None` for those that gave something, perhaps at last.
    seeds: BTreeMap<UrlId, Option<LostSeed>>,
    /// Refused URLs as read and as they will be; `None` for those that have no row.
    refused: BTreeMap<UrlId, Refused>,
    /// Number of refused URLs that have a row, once it was needed.
    refused_rows: Option<u64>,
}

/// A refused URL during a group.
#[derive(Debug)]
struct Refused {
    row: Option<RefusedUrl>,
    is_changed: bool,
}

impl LeftOutChanges {
    /// Takes back what was counted, but not what was taken back itself, nor links if those are
    /// counted anew.
    pub(super) fn uncount(&mut self, anew: bool) {
        for (reason, change) in &mut self.by_reason {
            let is_link = matches!(reason.kind, ReasonKind::Link | ReasonKind::Refused);
            if !(anew && is_link) {
                (change.added, change.example) = (0, None);
            }
        }
        self.by_reason.retain(|_, change| !change.taken.is_empty());
    }
}

/// What a group changes for one reason.
#[derive(Debug, Default)]
struct Change {
    added: u64,
    /// The first that was added.
    example: Option<String>,
    /// What is no longer left out.
    taken: Vec<String>,
}

impl LeftOutChanges {
    /// Counts one more.
    pub(super) fn add(&mut self, reason: Reason, url: &str) {
        let change = self.by_reason.entry(reason).or_default();
        change.added += 1;
        if change.example.is_none() {
            change.example = Some(url.to_owned());
        }
    }

    /// Takes back one that was counted.
    pub(super) fn take_back(&mut self, reason: Reason, url: &str) {
        let change = self.by_reason.entry(reason).or_default();
        change.taken.push(url.to_owned());
    }

    /// Notes what became of a seed: what is said of its loss, or `None` if it gave something.
    pub(super) fn end_seed(&mut self, seed: UrlId, lost: Option<LostSeed>) {
        self.seeds.insert(seed, lost);
    }

    /// Returns the row of a refused URL.
    pub(super) fn refused(
        &mut self,
        id: UrlId,
        store: &dyn Store,
    ) -> Result<Option<&RefusedUrl>, Error> {
        let refused = match self.refused.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(Refused {
                row: RefusedUrl::read(store, id)?,
                is_changed: false,
            }),
        };
        Ok(refused.row.as_ref())
    }

    /// Writes the row of a refused URL, or removes it.
    pub(super) fn set_refused(&mut self, id: UrlId, row: Option<RefusedUrl>) {
        let is_changed = true;
        self.refused.insert(id, Refused { row, is_changed });
    }

    /// Returns the number of refused URLs that have a row, to be changed. `reasons` are all for
    /// which there are such rows.
    pub(super) fn refused_rows(
        &mut self,
        store: &dyn Store,
        reasons: &[Reason],
    ) -> Result<&mut u64, Error> {
        let rows = match self.refused_rows {
            Some(rows) => rows,
            None => LeftOut::sum(store, reasons)?,
        };
        Ok(self.refused_rows.insert(rows))
    }

    /// Adds the changes to a batch.
    pub(super) fn put(self, store: &dyn Store, batch: &mut Batch) -> Result<(), Error> {
        for (reason, change) in self.by_reason {
            let key = reason.key();
            let row = store.get(Table::Meta, &key)?;
            let row: Option<LeftOut> = row.map(|row| decode(Table::Meta, &row)).transpose()?;
            let was_there = row.is_some();
            let row = change.applied(row.unwrap_or_default());
            if row.count > 0 {
                batch.put(Table::Meta, key, encode(&row));
            } else if was_there {
                batch.delete(Table::Meta, key);
            }
        }
        for (id, refused) in self.refused.into_iter().filter(|(_, it)| it.is_changed) {
            let key = RefusedUrl::key(id);
            match refused.row {
                Some(row) => batch.put(Table::Meta, key, encode(&row)),
                None => batch.delete(Table::Meta, key),
            }
        }
        for (id, lost) in self.seeds {
            let key = LostSeed::key(id);
            match lost {
                Some(lost) => batch.put(Table::Meta, key, encode(&lost)),
                // Most seeds were never lost and have no row to be deleted.
                None if store.get(Table::Meta, &key)?.is_some() => {
                    batch.delete(Table::Meta, key);
                }
                None => {}
            }
        }
        Ok(())
    }
}

impl Change {
    fn applied(self, row: LeftOut) -> LeftOut {
        let is_left_out = |url: &String| !self.taken.contains(url);
        let count = row.count + self.added;
        LeftOut {
            count: count.saturating_sub(self.taken.len() as u64),
            example: row
                .example
                .filter(is_left_out)
                .or(self.example.filter(is_left_out)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::ReasonKind;
    use crate::store::{Durability, Memory, keys};

    const DEEP: Reason = Reason {
        kind: ReasonKind::Link,
        name: "too-deep",
    };

    fn commit(store: &Memory, changes: LeftOutChanges) {
        let mut batch = Batch::new();
        changes.put(store, &mut batch).unwrap();
        store.commit(batch, Durability::Process).unwrap();
    }

    #[track_caller]
    fn check(store: &Memory, expected: Option<(u64, Option<&str>)>) {
        let rows = LeftOut::read_all(store).unwrap();
        let found = rows.get("link/too-deep");
        let found = found.map(|row| (row.count, row.example.as_deref()));
        assert_eq!(found, expected);
    }

    #[test]
    fn the_first_example_stays_until_it_is_taken_back() {
        let store = Memory::default();
        commit(&store, LeftOutChanges::default());
        check(&store, None);
        for (urls, count) in [(["a", "b"], 2), (["c", "d"], 4)] {
            let mut changes = LeftOutChanges::default();
            for url in urls {
                changes.add(DEEP, url);
            }
            commit(&store, changes);
            check(&store, Some((count, Some("a"))));
        }
        let mut changes = LeftOutChanges::default();
        changes.take_back(DEEP, "a");
        commit(&store, changes);
        check(&store, Some((3, None)));
        let mut changes = LeftOutChanges::default();
        changes.add(DEEP, "e");
        changes.take_back(DEEP, "b");
        commit(&store, changes);
        check(&store, Some((3, Some("e"))));
        let mut changes = LeftOutChanges::default();
        for url in ["c", "d", "e"] {
            changes.take_back(DEEP, url);
        }
        commit(&store, changes);
        check(&store, None);
    }

    #[test]
    fn a_seed_that_was_lost_may_be_found() {
        let store = Memory::default();
        let lost = || {
            let mut rows = 0;
            crate::store::for_each(&store, Table::Meta, keys::meta::LOST, &mut |_, _| {
                rows += 1;
                Ok(())
            })
            .unwrap();
            rows
        };
        let seed = LostSeed {
            url: "http://a.example/".to_owned(),
            reason: "dns".to_owned(),
        };
        for (end, rows) in [(None, 0), (Some(seed), 1), (None, 0)] {
            let mut changes = LeftOutChanges::default();
            changes.end_seed(UrlId::from_bytes([1; 16]), end);
            commit(&store, changes);
            assert_eq!(lost(), rows);
        }
    }
}
