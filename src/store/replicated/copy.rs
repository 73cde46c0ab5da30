//! Copies of a store behind a log, made while it goes on.
//!
//! Rows are read a part at a time, between commits, so what comes of them is of many moments. But
//! each of them is of a moment behind the [`Origin`], which is the place that the store had in the
//! log before the first was read: so the log has all that was changed since, in order, and a
//! follower that begins there makes the rows those of one moment again. It has done so once it is
//! behind the place that the store had when the last row was read, because no row that it was given
//! knows of anything later.
//!
//! Until then the row [`COPYING`](keys::meta::COPYING) says so, and the store is refused to anybody
//! else.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::reach::Reach;
use super::{Place, draw, is_of_this_disk, refused};
use crate::store::batch::{self, Change};
use crate::store::{Batch, CommitLog, Durability, Follower, Result, Store, Table, decode, keys};

/// Where in its log a store stands, as others are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Position of the last entry that it has.
    pub position: u64,
    /// A position before it, behind which it is the first entry.
    before: u64,
    checksum: u64,
    /// Number of the last commit.
    pub number: u64,
    /// Which owner of the log is the last that it knows.
    pub epoch: u64,
}

impl Origin {
    /// Returns where a store stands; `None` if it is behind no log.
    pub fn of(store: &dyn Store) -> Result<Option<Self>> {
        let row = store.get(Table::Meta, keys::meta::LOG)?;
        let place: Option<Place> = row.map(|row| decode(Table::Meta, &row)).transpose()?;
        Ok(place.map(|it| Self {
            position: it.position,
            before: it.before,
            checksum: it.checksum,
            number: it.number,
            epoch: it.epoch,
        }))
    }

    /// Lets a store that is to be a copy begin here. What its files have is of before.
    pub fn put(&self, batch: &mut Batch) -> Result<()> {
        let writer = draw()?;
        let place = Place {
            writer,
            former: writer,
            has_begun: false,
            position: self.position,
            before: self.before,
            checksum: self.checksum,
            number: self.number,
            epoch: self.epoch,
            had_others: true,
        };
        place.put(batch);
        Ok(())
    }
}

/// The next row that is read of a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextRow {
    /// The number of its table in the form of batches.
    table: u8,
    /// What its key is not below.
    key: Vec<u8>,
}

/// The order in which tables are read. What commits have added to other files since a checkpoint is
/// read last: whoever reads those files behind it misses nothing.
fn tables() -> impl Iterator<Item = Table> {
    let others = Table::ALL.iter().filter(|it| **it != Table::Deltas);
    others.copied().chain([Table::Deltas])
}

impl NextRow {
    /// The first of all.
    pub fn first() -> Self {
        Self::of(Table::ALL.first().copied())
    }

    fn of(table: Option<Table>) -> Self {
        Self {
            table: table.map_or(0, batch::code),
            key: Vec::new(),
        }
    }

    /// Returns rows from this one on, about so many bytes, as a batch that puts them, and the row
    /// that follows; `None` if that was the last. What is about the disk of the store is left out.
    pub fn read(&self, store: &dyn Store, bytes: usize) -> Result<(Batch, Option<Self>)> {
        /// Rows read at a time: the largest have some hundred kilobytes.
        const ROWS: usize = 64;
        let table = batch::table(self.table).ok_or_else(|| refused("there is no such table"))?;
        let mut rows = Batch::new();
        let mut key = self.key.clone();
        let mut left = bytes;
        loop {
            let found = store.range(table, &[], &key, ROWS)?;
            let is_over = found.len() < ROWS;
            if let Some((last, _)) = found.last() {
                key = [last, &[0][..]].concat();
            }
            for (key, value) in found {
                left = left.saturating_sub(key.len() + value.len());
                if !is_of_this_disk(table, &key) {
                    rows.put(table, key, value);
                }
            }
            if is_over {
                let next = tables().skip_while(|it| *it != table).nth(1);
                return Ok((rows, next.map(|next| Self::of(Some(next)))));
            }
            if left == 0 {
                let table = self.table;
                return Ok((rows, Some(Self { table, key })));
            }
        }
    }
}

/// Removes the rows that are not about the disk of a store, as long as `goes_on` says so. Returns
/// whether all are gone.
pub fn clear(store: &dyn Store, mut goes_on: impl FnMut() -> bool) -> Result<bool> {
    const ROWS: usize = 1_000;
    for table in tables() {
        let mut from = Vec::new();
        loop {
            let found = store.range(table, &[], &from, ROWS)?;
            let Some((last, _)) = found.last() else {
                break;
            };
            from = [last, &[0][..]].concat();
            let mut batch = Batch::new();
            let keys = found.into_iter().map(|(key, _)| key);
            keys.filter(|key| !is_of_this_disk(table, key))
                .for_each(|key| batch.delete(table, key));
            store.commit(batch, Durability::Process)?;
            if !goes_on() {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Whether a batch changes nothing but rows that a copy is given.
pub fn is_of_a_copy(batch: &Batch) -> bool {
    let is_given = |it: &Change| it.value.is_some() && !is_of_this_disk(it.table, &it.key);
    batch.changes.iter().all(is_given)
}

/// Follows the log with a store that is not complete yet.
///
/// # Errors
///
/// As [`Follower::open`].
pub fn follow(local: Arc<dyn Store>, log: Arc<dyn CommitLog>) -> Result<Follower> {
    let row = local.get(Table::Meta, keys::meta::LOG)?;
    let place = row.ok_or_else(|| refused("the copy has not begun"))?;
    let place: Place = decode(Table::Meta, &place)?;
    Follower::at(Reach { local, log }, place)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::store::replicated::tests::PlainLog;
    use crate::store::{Error, Followed, Memory, Replicated};

    type Rows = BTreeMap<(Table, Vec<u8>), Vec<u8>>;

    /// All rows but those about a disk.
    fn rows(store: &dyn Store) -> Rows {
        let mut rows = Rows::new();
        for table in tables() {
            let found = store.range(table, &[], &[], usize::MAX).unwrap();
            let found = found
                .into_iter()
                .filter(|it| !is_of_this_disk(table, &it.0));
            rows.extend(found.map(|(key, value)| ((table, key), value)));
        }
        rows
    }

    /// A copy that is being made in a store of its own.
    struct Making {
        store: Arc<Memory>,
        next: Option<NextRow>,
    }

    impl Making {
        fn begin(origin: Origin) -> Self {
            let store = Arc::new(Memory::default());
            let mut batch = Batch::new();
            batch.put(Table::Meta, keys::meta::COPYING, "");
            origin.put(&mut batch).unwrap();
            store.commit(batch, Durability::Disk).unwrap();
            Self {
                store,
                next: Some(NextRow::first()),
            }
        }

        fn take(&mut self, from: &dyn Store, bytes: usize) {
            if let Some(next) = self.next.take() {
                let (batch, next) = next.read(from, bytes).unwrap();
                assert!(is_of_a_copy(&batch));
                let batch = Batch::decode(&batch.encode()).unwrap();
                self.store.commit(batch, Durability::Disk).unwrap();
                self.next = next;
            }
        }

        /// Follows to the end of the log.
        fn follow(&self, log: &Arc<PlainLog>) {
            let store = Arc::clone(&self.store) as Arc<dyn Store>;
            let mut follower = follow(store, Arc::clone(log) as Arc<dyn CommitLog>).unwrap();
            while !matches!(follower.step().unwrap(), Followed::AtEnd) {}
        }
    }

    #[derive(Debug, Clone)]
    enum Event {
        Commit(Vec<(u8, u8, Option<u8>)>),
        /// The original makes a checkpoint: what it deletes there others keep until their own.
        Checkpoint(u8),
        Copy(usize),
    }

    fn event() -> impl Strategy<Value = Event> {
        let change = (0..3_u8, 0..30_u8, prop::option::weighted(0.7, any::<u8>()));
        prop_oneof![
            5 => prop::collection::vec(change, 1..6).prop_map(Event::Commit),
            1 => (0..30_u8).prop_map(Event::Checkpoint),
            5 => (1..40_usize).prop_map(Event::Copy),
        ]
    }

    fn change(batch: &mut Batch, changes: &[(u8, u8, Option<u8>)]) {
        for (table, key, value) in changes {
            let table = [Table::Meta, Table::Pages, Table::Outbox][usize::from(*table)];
            match value {
                Some(value) => batch.put(table, [*key], [*value]),
                None => batch.delete(table, [*key]),
            }
        }
    }

    proptest! {
        /// Whatever is committed, deleted and checkpointed while it is made: a copy is the original
        /// in the end, and has of what only the original's checkpoints delete nothing less.
        #[test]
        fn a_copy_becomes_its_original(
            before in prop::collection::vec((0..3_u8, 0..30_u8, any::<u8>()), 0..60),
            events in prop::collection::vec(event(), 0..40),
        ) {
            let log = Arc::new(PlainLog::default());
            let local: Arc<dyn Store> = Arc::new(Memory::default());
            let original = Replicated::open(Arc::clone(&local), log.clone()).unwrap();
            let mut batch = Batch::new();
            let before: Vec<_> = before.into_iter().map(|(a, b, c)| (a, b, Some(c))).collect();
            change(&mut batch, &before);
            batch.put(Table::Meta, keys::meta::DISK, "ends");
            original.commit(batch, Durability::Disk).unwrap();
            let mut making = Making::begin(Origin::of(&original).unwrap().unwrap());
            for (number, event) in (0..).zip(events) {
                match event {
                    Event::Commit(changes) => {
                        let mut batch = Batch::new();
                        change(&mut batch, &changes);
                        batch.put(Table::Deltas, [number], "delta");
                        original.commit(batch, Durability::Disk).unwrap();
                    }
                    Event::Checkpoint(through) => {
                        let mut batch = Batch::new();
                        (0..through).for_each(|number| batch.delete(Table::Deltas, [number]));
                        original.commit(batch, Durability::Disk).unwrap();
                    }
                    Event::Copy(bytes) => making.take(&original, bytes),
                }
            }
            while making.next.is_some() {
                making.take(&original, 25);
            }
            let end = Origin::of(&original).unwrap().unwrap();
            making.follow(&log);
            prop_assert_eq!(Origin::of(&*making.store).unwrap(), Some(end));
            let (copy, original) = (rows(&*making.store), rows(&*local));
            let without_deltas = |rows: &Rows| -> Rows {
                let others = rows.iter().filter(|((table, _), _)| *table != Table::Deltas);
                others.map(|(key, row)| (key.clone(), row.clone())).collect()
            };
            prop_assert_eq!(without_deltas(&copy), without_deltas(&original));
            prop_assert!(original.keys().all(|key| copy.contains_key(key)));
            // It does not take the disk of the original for its own.
            prop_assert_eq!(making.store.get(Table::Meta, keys::meta::DISK).unwrap(), None);
        }
    }

    #[test]
    fn a_copy_that_is_not_complete_is_refused() {
        let log = Arc::new(PlainLog::default());
        let original = Replicated::open(Arc::new(Memory::default()), log.clone()).unwrap();
        let making = Making::begin(Origin::of(&original).unwrap().unwrap());
        let open = |store: &Arc<Memory>| Replicated::open(store.clone(), log.clone());
        let refused = open(&making.store).err();
        assert!(
            matches!(refused, Some(Error::Outdated { .. })),
            "{refused:?}"
        );
        let follower = Follower::open(making.store.clone(), log.clone()).err();
        assert!(
            matches!(follower, Some(Error::Outdated { .. })),
            "{follower:?}"
        );
        let mut batch = Batch::new();
        batch.delete(Table::Meta, keys::meta::COPYING);
        making.store.commit(batch, Durability::Disk).unwrap();
        assert!(open(&making.store).is_ok());
    }

    #[test]
    fn what_is_cleared_leaves_what_is_about_the_disk() {
        let store = Memory::default();
        let mut batch = Batch::new();
        for number in 0..2_500_u32 {
            batch.put(Table::Pages, number.to_be_bytes(), "row");
        }
        batch.put(Table::Meta, keys::meta::STATE, "state");
        batch.put(Table::Meta, keys::meta::DISK, "ends");
        batch.put(Table::Deltas, "1", "delta");
        store.commit(batch, Durability::Disk).unwrap();
        assert!(!clear(&store, || false).unwrap());
        assert!(clear(&store, || true).unwrap());
        assert_eq!(rows(&store), Rows::new());
        let disk = store.get(Table::Meta, keys::meta::DISK).unwrap();
        assert_eq!(disk.as_deref(), Some(&b"ends"[..]));
    }
}
