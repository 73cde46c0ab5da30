//! A store behind a log is a store, and its log has what it has.

use super::*;
use crate::store::{Memory, Options};

/// A log that does what it is asked for.
#[derive(Debug, Default)]
pub(in crate::store) struct PlainLog {
    entries: Mutex<Vec<Vec<u8>>>,
    epoch: Mutex<u64>,
}

impl CommitLog for PlainLog {
    fn create(&self) -> LogResult<()> {
        Ok(())
    }

    fn take(&self, above: u64) -> LogResult<u64> {
        let mut epoch = self.epoch.lock().unwrap();
        *epoch = above.max(*epoch) + 1;
        Ok(*epoch)
    }

    fn append(&self, after: u64, entry: &[u8]) -> LogResult<u64> {
        let mut entries = self.entries.lock().unwrap();
        if entries.len() as u64 != after {
            return Err(LogError::Moved);
        }
        entries.push(entry.to_vec());
        Ok(after + 1)
    }

    fn next(&self, after: u64) -> LogResult<Option<(u64, Vec<u8>)>> {
        let entries = self.entries.lock().unwrap();
        let entry = entries.get(usize::try_from(after).unwrap());
        Ok(entry.map(|entry| (after + 1, entry.clone())))
    }

    fn end(&self) -> LogResult<u64> {
        Ok(self.entries.lock().unwrap().len() as u64)
    }

    fn trim(&self, _: u64) -> LogResult<()> {
        Ok(())
    }
}

/// A store in memory behind a log of its own.
pub(in crate::store) fn replicated() -> Replicated {
    let (local, log) = (Arc::new(Memory::default()), Arc::new(PlainLog::default()));
    Replicated::open(local, log).unwrap()
}

fn put(key: &str) -> Batch {
    let mut batch = Batch::new();
    batch.put(Table::Pages, key, "row");
    batch
}

#[test]
fn what_is_about_this_disk_stays_here() {
    let log = Arc::new(PlainLog::default());
    let store = Replicated::open(Arc::new(Memory::default()), log.clone()).unwrap();
    let mut batch = put("a");
    batch.put(Table::Deltas, "1", "delta");
    batch.put(Table::Meta, keys::meta::DISK, "ends");
    store.commit(batch, Durability::Disk).unwrap();
    let end = log.end().unwrap();
    let entry = read(end, &log.next(end - 1).unwrap().unwrap().1).unwrap();
    assert_eq!((entry.head.epoch, entry.head.number), (1, 1));
    assert_eq!(entry.shared.changes.len(), 2);
    let here: Vec<_> = entry.here.changes.iter().map(|it| &*it.key).collect();
    assert_eq!(here, [keys::meta::DISK]);
    // A checkpoint is of no meaning to others.
    let mut batch = Batch::new();
    batch.delete(Table::Deltas, "1");
    batch.put(Table::Meta, keys::meta::DISK, "checkpoint");
    store.commit(batch, Durability::Disk).unwrap();
    assert_eq!(log.end(), Ok(end));
    assert_eq!(store.get(Table::Deltas, b"1").unwrap(), None);
}

#[test]
fn what_was_appended_before_a_kill_is_applied_at_the_next_start() {
    let log = Arc::new(PlainLog::default());
    let local: Arc<dyn Store> = Arc::new(Memory::default());
    let store = Replicated::open(Arc::clone(&local), log.clone()).unwrap();
    store.commit(put("a"), Durability::Disk).unwrap();
    let before = place(&*local).unwrap().unwrap();
    store.commit(put("b"), Durability::Disk).unwrap();
    // As if it had been killed between the two.
    let mut undone = Batch::new();
    undone.delete(Table::Pages, "b");
    before.put(&mut undone);
    local.commit(undone, Durability::Disk).unwrap();
    drop(store);
    let store = Replicated::open(local, log.clone()).unwrap();
    assert!(store.get(Table::Pages, b"b").unwrap().is_some());
    store.commit(put("c"), Durability::Disk).unwrap();
    let heads: Vec<_> = (0..log.end().unwrap())
        .map(|after| {
            read(after, &log.next(after).unwrap().unwrap().1)
                .unwrap()
                .head
        })
        .map(|head| (head.kind, head.epoch, head.number))
        .collect();
    let expected = [
        (Kind::Begin, 1, 0),
        (Kind::Commit, 1, 1),
        (Kind::Commit, 1, 2),
        (Kind::Begin, 2, 2),
        (Kind::Commit, 2, 3),
    ];
    assert_eq!(heads, expected);
}

#[test]
fn who_is_behind_cannot_commit() {
    let log = Arc::new(PlainLog::default());
    let local: Arc<dyn Store> = Arc::new(Memory::default());
    let stale = Replicated::open(Arc::clone(&local), log.clone()).unwrap();
    stale.commit(put("a"), Durability::Disk).unwrap();
    // As a copy of the directory, which it is taken for no longer when it has written.
    let copy = Memory::default();
    for table in [Table::Meta, Table::Pages] {
        let mut rows = Batch::new();
        for (key, row) in local.range(table, &[], &[], usize::MAX).unwrap() {
            rows.put(table, key, row);
        }
        copy.commit(rows, Durability::Disk).unwrap();
    }
    let owner = Replicated::open(Arc::new(copy), log.clone()).unwrap();
    let refused = stale.commit(put("b"), Durability::Disk);
    assert!(matches!(refused, Err(Error::Stale)), "{refused:?}");
    let again = stale.commit(put("b"), Durability::Disk);
    assert!(matches!(again, Err(Error::Log { .. })), "{again:?}");
    owner.commit(put("c"), Durability::Disk).unwrap();
    assert_eq!(owner.get(Table::Pages, b"b").unwrap(), None);
    // Who opens it again has what was committed since, and so has who had nothing of it.
    drop(owner);
    for other in [local, Arc::new(Memory::default())] {
        let store = Replicated::open(Arc::clone(&other), log.clone()).unwrap();
        let rows = ["a", "b", "c"].map(|key| store.get(Table::Pages, key.as_bytes()).unwrap());
        assert_eq!(rows.map(|row| row.is_some()), [true, false, true]);
        // The files of others are on other disks.
        let taken_over = store.get(Table::Meta, keys::meta::TAKEN_OVER).unwrap();
        assert_eq!(taken_over, Some(Vec::new()));
    }
}

#[test]
fn a_directory_is_written_with_its_log_only() {
    let local: Arc<dyn Store> = Arc::new(Memory::default());
    refuse_logged(&*local).unwrap();
    let free = ReadOnly::unless_free(Arc::clone(&local)).unwrap();
    free.commit(put("a"), Durability::Disk).unwrap();
    let log = Arc::new(PlainLog::default());
    drop(Replicated::open(Arc::clone(&local), log.clone()).unwrap());
    let bound = ReadOnly::unless_free(Arc::clone(&local)).unwrap();
    assert!(bound.commit(put("b"), Durability::Disk).is_err());
    assert!(refuse_logged(&*local).is_err());
    assert!(bound.get(Table::Pages, b"a").unwrap().is_some());
    // What was begun without one has rows that no log has.
    let local = Arc::new(Memory::default());
    let mut batch = Batch::new();
    batch.put(Table::Meta, keys::meta::STATE, "state");
    local.commit(batch, Durability::Disk).unwrap();
    let reason = Replicated::open(local, log).err().unwrap().to_string();
    assert!(reason.contains("begun without a log"), "{reason}");
}

#[test]
fn an_embedded_store_keeps_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let log = Arc::new(PlainLog::default());
    for number in 0..3_u8 {
        let local = crate::store::Embedded::open(directory.path(), &Options::default()).unwrap();
        let store = Replicated::open(Arc::new(local), log.clone()).unwrap();
        assert_eq!(
            store.range(Table::Pages, &[], &[], 9).unwrap().len(),
            usize::from(number)
        );
        store
            .commit(put(&number.to_string()), Durability::Disk)
            .unwrap();
    }
    assert_eq!(log.end(), Ok(6));
}
