//! Tables as keyspaces of a fjall database: LSM trees that share one journal, so that a batch over
//! several tables is one journal entry, applied whole or not at all after a crash.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fjall::compaction::Leveled;
use fjall::config::{BlockSizePolicy, FilterPolicy, PinningPolicy};
use fjall::{AbstractTree as _, Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use super::batch::Change;
use super::compactions::Compactions;
use super::memtables::{self, Memtables, Slot};
use super::{Batch, Durability, Error, Result, Row, Store, Table, journal, keys};

/// How much memory and disk space the engine may use.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Size of the block cache, in bytes.
    pub cache_bytes: u64,
    /// Size of all memtables together, in bytes; fjall's own default is 64 MiB per table.
    pub memtable_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cache_bytes: 32 << 20,
            memtable_bytes: 128 << 20,
        }
    }
}

/// A store on the local disk.
pub struct Embedded {
    path: PathBuf,
    database: Database,
    /// The keyspaces, in the order of [`Table::ALL`]. One is created when something is first
    /// written to its table: that takes some twenty syncs, and most crawls leave tables empty.
    tables: Arc<[OnceLock<Slot>]>,
    memtables: Memtables,
    compactions: Compactions,
    /// The thread that reclaims the space of deleted rows, if one is running.
    reclaiming: Mutex<Option<JoinHandle<bool>>>,
}

/// Size of the journals, in bytes, beyond which tables with rows in the oldest one are flushed, so
/// that the few rows of one do not keep the journals of all others alive. fjall's own default is
/// 512 MiB. Every start reads the journals.
const MAX_JOURNAL_BYTES: u64 = 64 << 20;

/// Returns the on-disk layout of a table.
fn layout(table: Table) -> KeyspaceCreateOptions {
    let options = KeyspaceCreateOptions::default()
        // Indexes and filters grow with the table, so they are cached like everything else.
        .index_block_pinning_policy(PinningPolicy::disabled())
        .filter_block_pinning_policy(PinningPolicy::disabled());
    match table {
        // These tables are only read in key order: they need no filter, and larger blocks compress
        // better.
        Table::Queue | Table::Due | Table::Revisits | Table::Clusters | Table::Deltas => options
            .filter_policy(FilterPolicy::disabled())
            .data_block_size_policy(BlockSizePolicy::all(16 << 10)),
        _ => options,
    }
}

impl Embedded {
    /// Opens the store in `path`, creating it if there is none.
    pub fn open(path: &Path, options: &Options) -> Result<Self> {
        // One worker flushes and compacts, which leaves the other core to fetching and parsing.
        Self::open_with(path, options, 1)
    }

    /// Opens a copy of a store to read it: without a thread that flushes and compacts.
    pub fn open_copy(path: &Path, options: &Options) -> Result<Self> {
        Self::open_with(path, options, 0)
    }

    fn open_with(path: &Path, options: &Options, workers: usize) -> Result<Self> {
        let failed = |error: fjall::Error| {
            let (reason, source) = explain(error);
            Error::Open {
                path: path.to_owned(),
                reason,
                source,
            }
        };
        let database = Database::builder(path)
            .cache_size(options.cache_bytes)
            .max_journaling_size(MAX_JOURNAL_BYTES)
            .worker_threads_unchecked(workers)
            .open()
            .map_err(failed)?;
        let memtable = options.memtable_bytes / Table::ALL.len() as u64;
        let store = Self {
            path: path.to_owned(),
            database,
            tables: Table::ALL.iter().map(|_| OnceLock::new()).collect(),
            memtables: Memtables::new(
                memtable.clamp(memtables::MIN_SIZE, 64 << 20),
                options.memtable_bytes,
            ),
            compactions: Compactions::default(),
            reclaiming: Mutex::new(None),
        };
        let mut unasked = None;
        // The first one says which of them ask.
        for &table in Table::ALL {
            if store.database.keyspace_exists(table.name()) {
                let keyspace = store.open_table(table).map_err(failed)?;
                if table == Table::Meta {
                    let row = keyspace.get(keys::meta::UNASKED).map_err(failed)?;
                    unasked = row.map(|row| row.to_vec());
                }
                let mut names = unasked
                    .iter()
                    .flat_map(|row| row.split(|byte| *byte == b' '));
                let asks = !names.any(|name| name == table.name().as_bytes());
                store.tables[table as usize].get_or_init(|| Slot::new(keyspace, asks));
            }
        }
        // Whoever created one may have died before its name was synced.
        store.sync_names().map_err(|error| failed(error.into()))?;
        if workers > 0 {
            // The first commit would wait in the engine for what an earlier version left.
            (store.compactions)
                .keep_up(&store.database, &store.tables, Table::ALL)
                .map_err(failed)?;
        }
        Ok(store)
    }

    /// Reads the sorted files of all tables, and passes on those that are not what was written,
    /// with the reason. Returns the number of files.
    pub fn audit_files(&self, visit: &mut dyn FnMut(&Path, String)) -> u64 {
        let mut count = 0;
        for table in self.tables.iter().filter_map(OnceLock::get) {
            for file in table.keyspace.tree.current_version().iter_tables() {
                count += 1;
                match checksum(&file.path) {
                    Ok(found) if found == file.checksum().into_u128() => {}
                    Ok(_) => visit(&file.path, "its checksum does not match".to_owned()),
                    Err(error) => visit(&file.path, error.to_string()),
                }
            }
        }
        count
    }

    /// Returns the keyspace of a table; `None` if nothing was ever written to that.
    fn keyspace(&self, table: Table) -> Option<&Keyspace> {
        (self.tables[table as usize].get()).map(|slot| &slot.keyspace)
    }

    /// Returns the keyspace of a table, which is created if there is none.
    fn create(&self, table: Table) -> std::result::Result<&Keyspace, fjall::Error> {
        if let Some(known) = self.keyspace(table) {
            return Ok(known);
        }
        let keyspace = self.open_table(table)?;
        self.sync_names()?;
        // Nobody uses it before.
        let slot = self.tables[table as usize].get_or_init(|| Slot::new(keyspace, false));
        Ok(&slot.keyspace)
    }

    /// Number of tables that something was ever written to.
    fn count(&self) -> usize {
        self.tables.iter().filter_map(OnceLock::get).count()
    }

    /// Names of the tables whose memtables are sealed here alone, with a space between two.
    fn unasked(&self) -> String {
        let slots = Table::ALL.iter().zip(&*self.tables);
        let names = slots.filter(|(_, slot)| slot.get().is_some_and(|slot| !slot.asks));
        let names: Vec<&str> = names.map(|(table, _)| table.name()).collect();
        names.join(" ")
    }

    /// Syncs the names of the tables' directories: the engine syncs only what is in these.
    fn sync_names(&self) -> io::Result<()> {
        File::open(self.path.join("keyspaces"))?.sync_all()
    }

    fn open_table(&self, table: Table) -> std::result::Result<Keyspace, fjall::Error> {
        let options = || {
            // While a compaction writes a file, it holds as much in memory, because the index pins
            // what it has read. Files are therefore as large as a small memtable and not 64 MiB.
            let strategy = Leveled::default().with_table_target_size(self.memtables.size);
            layout(table)
                .max_memtable_size(memtables::UNBOUNDED)
                .compaction_strategy(Arc::new(strategy))
        };
        // Whoever is first creates it; it is the same for all.
        self.database.keyspace(table.name(), options)
    }

    /// The error of a commit that the engine refuses because it failed to write before, in a thread
    /// of its own: what the disk says now.
    fn refused(&self) -> Error {
        let probe = self.path.join("probe");
        let written = File::create(&probe).and_then(|mut file| {
            file.write_all(&vec![0; 64 << 10])?;
            file.sync_all()
        });
        let removed = fs::remove_file(&probe);
        let mut error = self.failed("commit", fjall::Error::Poisoned);
        if let Error::Engine { source, .. } = &mut error {
            *source = written.and(removed).err();
        }
        error
    }

    fn failed(&self, action: &'static str, error: fjall::Error) -> Error {
        let (reason, source) = explain(error);
        Error::Engine {
            path: self.path.clone(),
            action,
            reason,
            source,
        }
    }
}

/// Returns the checksum of a file, as the engine makes it.
fn checksum(path: &Path) -> io::Result<u128> {
    const PIECE: usize = 256 << 10;
    let mut file = File::open(path)?;
    let mut hasher = xxhash_rust::xxh3::Xxh3Default::new();
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hasher.digest128()),
            read => hasher.update(piece.get(..read).unwrap_or_default()),
        }
    }
}

/// Returns the lowest key above all keys that begin with `prefix`, or `None` if there is none.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return Some(end);
        }
    }
    None
}

/// Splits an engine error into its message and the I/O error inside it.
fn explain(error: fjall::Error) -> (String, Option<io::Error>) {
    match error {
        fjall::Error::Io(source) | fjall::Error::Storage(fjall::LsmError::Io(source)) => {
            (source.to_string(), Some(source))
        }
        fjall::Error::Poisoned => (
            "an earlier write failed, and writes are refused since".to_owned(),
            None,
        ),
        fjall::Error::Locked => ("another process holds it".to_owned(), None),
        other => (other.to_string(), None),
    }
}

/// Rewrites a table without its deleted rows. The engine compacts what grows; a table that shrinks
/// would keep its dead rows until something is written over them.
/// Returns `false` if that failed.
fn rewrite(keyspace: &Keyspace) -> bool {
    /// Interval and maximum number of polls of whether the worker has flushed the memtable: where
    /// writing fails, it never does.
    const POLL_INTERVAL: Duration = Duration::from_millis(10);
    const MAX_POLLS: u32 = 500;
    let rotated = keyspace.rotate_memtable();
    for _ in 0..MAX_POLLS {
        if keyspace.tree.sealed_memtable_count() == 0 {
            break;
        }
        thread::sleep(POLL_INTERVAL);
    }
    if let Err(error) = rotated.and_then(|_| keyspace.major_compact()) {
        let (reason, _) = explain(error);
        tracing::warn!(reason, "cannot reclaim space in the store");
        return false;
    }
    true
}

impl Drop for Embedded {
    fn drop(&mut self) {
        // The next process that opens the directory must not find these threads at work there.
        self.compactions.end();
        let reclaiming = self.reclaiming.get_mut();
        let thread = reclaiming.unwrap_or_else(PoisonError::into_inner).take();
        // A panic was reported when it happened.
        let _ = thread.map(JoinHandle::join);
    }
}

impl Store for Embedded {
    fn get_many(&self, table: Table, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        let Some(keyspace) = self.keyspace(table) else {
            return Ok(vec![None; keys.len()]);
        };
        keys.iter()
            .map(|key| match keyspace.get(key) {
                Ok(value) => Ok(value.map(|value| value.to_vec())),
                Err(error) => Err(self.failed("read a row", error)),
            })
            .collect()
    }

    fn range(&self, table: Table, prefix: &[u8], from: &[u8], limit: usize) -> Result<Vec<Row>> {
        let Some(keyspace) = self.keyspace(table) else {
            return Ok(Vec::new());
        };
        let start = Bound::Included(from.max(prefix).to_vec());
        // With an upper bound, the engine does not walk the tombstones behind the prefix.
        let end = successor(prefix).map_or(Bound::Unbounded, Bound::Excluded);
        if matches!((&start, &end), (Bound::Included(start), Bound::Excluded(end)) if start >= end)
        {
            return Ok(Vec::new());
        }
        let mut rows = Vec::new();
        for guard in keyspace.range((start, end)).take(limit) {
            let (key, value) = guard
                .into_inner()
                .map_err(|error| self.failed("read rows", error))?;
            rows.push((key.to_vec(), value.to_vec()));
        }
        Ok(rows)
    }

    fn commit(&self, batch: Batch, durability: Durability) -> Result<()> {
        let mode = match durability {
            Durability::Process => PersistMode::Buffer,
            Durability::Disk => PersistMode::SyncData,
        };
        let create = |table| match self.create(table) {
            Err(fjall::Error::Poisoned) => Err(self.refused()),
            keyspace => keyspace.map_err(|error| self.failed("create a table", error)),
        };
        // `Meta` has the number of the commit.
        let mut written: Vec<Table> = batch.changes.iter().map(|it| it.table).collect();
        written.push(Table::Meta);
        written.sort_unstable();
        written.dedup();
        let known = self.count();
        for change in &batch.changes {
            if change.value.is_some() {
                create(change.table)?;
            }
        }
        // In a table without rows there is nothing to delete.
        let has_table = |change: &Change| self.keyspace(change.table).is_some();
        let mut write = self.database.batch().durability(Some(mode));
        if batch.changes.iter().any(has_table) {
            let meta = create(Table::Meta)?;
            // Creating a table takes numbers too, so this is read after it.
            let (name, number) = journal::next_number(self.database.seqno());
            write.insert(meta, name, number);
            if self.count() > known {
                write.insert(meta, keys::meta::UNASKED, self.unasked());
            }
        }
        let bytes: usize = batch.sizes().map(|(_, bytes)| bytes).sum();
        for change in batch.changes {
            let Some(keyspace) = self.keyspace(change.table) else {
                continue;
            };
            match change.value {
                Some(value) => write.insert(keyspace, change.key, value),
                None => write.remove(keyspace, change.key),
            }
        }
        let failed = |action| {
            move |error| match error {
                fjall::Error::Poisoned => self.refused(),
                error => self.failed(action, error),
            }
        };
        write.commit().map_err(failed("commit"))?;
        (self.memtables)
            .make_room(&self.database, &self.tables, &written, bytes as u64)
            .map_err(failed("seal a memtable"))?;
        (self.compactions)
            .keep_up(&self.database, &self.tables, &written)
            .map_err(failed("merge sorted files"))
    }

    fn reclaim(&self, table: Table) {
        let lock = self.reclaiming.lock();
        let mut reclaiming = lock.unwrap_or_else(PoisonError::into_inner);
        if reclaiming.as_ref().is_none_or(JoinHandle::is_finished) {
            let keyspace = self.keyspace(table).cloned();
            let builder = thread::Builder::new().name("store-reclaim".to_owned());
            match builder.spawn(move || keyspace.is_none_or(|it| rewrite(&it))) {
                Ok(thread) => *reclaiming = Some(thread),
                Err(error) => {
                    tracing::warn!(%error, "cannot start the thread that reclaims space in the store");
                }
            }
        }
    }

    fn reclaimed(&self) -> Option<bool> {
        let lock = self.reclaiming.lock();
        let mut reclaiming = lock.unwrap_or_else(PoisonError::into_inner);
        let thread = reclaiming.take_if(|thread| thread.is_finished())?;
        // A panic was reported when it happened.
        Some(thread.join().unwrap_or(false))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::RecvTimeoutError;

    use super::*;
    use crate::store::compactions;

    #[test]
    fn a_table_that_nothing_was_written_to_takes_no_room() {
        let directory = tempfile::tempdir().unwrap();
        let open = || Embedded::open(directory.path(), &Options::default()).unwrap();
        let count = |store: &Embedded| store.database.keyspace_count();
        let row = |store: &Embedded, table| store.get(table, b"a").unwrap();
        let store = open();
        assert_eq!(count(&store), 0);
        let mut batch = Batch::new();
        batch.delete(Table::Pages, *b"a");
        store.commit(batch, Durability::Disk).unwrap();
        assert_eq!((count(&store), row(&store, Table::Pages)), (0, None));
        let mut batch = Batch::new();
        batch.put(Table::Hosts, *b"a", *b"1");
        batch.delete(Table::Pages, *b"a");
        store.commit(batch, Durability::Disk).unwrap();
        // The table of the row, and that of the number of the commit.
        let check = |store: &Embedded| {
            assert_eq!(count(store), 2);
            assert_eq!(row(store, Table::Hosts), Some(b"1".to_vec()));
            assert_eq!(store.range(Table::Pages, &[], &[], 9).unwrap(), []);
        };
        check(&store);
        drop(store);
        check(&open());
    }

    /// Writes to four tables without a pause, while one thread flushes and compacts all of them.
    /// That thread must not wait for itself.
    fn write_much(path: &Path, memtable: u64) {
        let options = Options {
            memtable_bytes: memtable * Table::ALL.len() as u64,
            ..Options::default()
        };
        let path = path.to_owned();
        must_end(move || {
            let store = Embedded::open(&path, &options).unwrap();
            for number in 0..40_000 {
                let mut batch = Batch::new();
                for table in TABLES {
                    batch.put(table, scattered(number), [7; 1_000]);
                }
                store.commit(batch, Durability::Process).unwrap();
            }
        });
    }

    /// Runs commits, of which none may wait for ever.
    fn must_end(commits: impl FnOnce() + Send + 'static) {
        let (sender, ended) = std::sync::mpsc::channel();
        let writer = thread::spawn(move || {
            commits();
            sender.send(()).unwrap();
        });
        let waited = ended.recv_timeout(Duration::from_mins(5));
        assert_ne!(
            waited,
            Err(RecvTimeoutError::Timeout),
            "a commit waits for ever"
        );
        writer.join().unwrap();
    }

    /// A row of 4 kB that does not become smaller when it is compressed (xorshift64, Marsaglia
    /// 2003).
    fn noise(number: u32) -> Vec<u8> {
        let mut state = u64::from(number) | 1 << 40;
        let words = (0..512).flat_map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        });
        words.collect()
    }

    /// Keys in no order.
    fn scattered(number: u32) -> [u8; 4] {
        number.wrapping_mul(0x9E37_79B1).to_be_bytes()
    }

    const TABLES: [Table; 4] = [Table::Pages, Table::Hosts, Table::Deltas, Table::Parts];

    fn asking(path: &Path) -> Vec<Table> {
        let store = Embedded::open(path, &Options::default()).unwrap();
        let asks = |table: &Table| {
            store.tables[*table as usize]
                .get()
                .is_some_and(|it| it.asks)
        };
        Table::ALL.iter().copied().filter(asks).collect()
    }

    #[test]
    fn no_commit_waits_for_ever() {
        let directory = tempfile::tempdir().unwrap();
        write_much(directory.path(), memtables::MIN_SIZE);
        assert_eq!(asking(directory.path()), []);
    }

    /// A table of four levels, of which each memtable takes more than one compaction.
    #[test]
    fn sorted_files_are_merged_as_fast_as_they_are_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_owned();
        must_end(move || {
            let mut store = Embedded::open(&path, &Options::default()).unwrap();
            store.memtables = small(64 << 10);
            store.memtables.share = u64::MAX;
            for number in 0..10_000 {
                let mut batch = Batch::new();
                batch.put(Table::Pages, scattered(number), noise(number));
                store.commit(batch, Durability::Process).unwrap();
                let pages = store.keyspace(Table::Pages).unwrap();
                // One more may be on its way when a commit stops waiting.
                assert!(pages.tree.l0_run_count() <= compactions::MAX + 1);
            }
            for number in 0..10_000 {
                assert!(
                    store
                        .get(Table::Pages, &scattered(number))
                        .unwrap()
                        .is_some()
                );
            }
        });
    }

    fn small(size: u64) -> Memtables {
        Memtables::new(size, size * Table::ALL.len() as u64)
    }

    /// So that a large table stops few commits, and a small one takes little memory.
    #[test]
    fn memtables_grow_with_their_tables() {
        const LEAST: u64 = 64 << 10;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_owned();
        must_end(move || {
            let mut store = Embedded::open(&path, &Options::default()).unwrap();
            store.memtables = small(LEAST);
            let (mut on_disk, mut largest) = (0, 0);
            for number in 0..10_000 {
                let mut batch = Batch::new();
                batch.put(Table::Pages, scattered(number), noise(number));
                store.commit(batch, Durability::Process).unwrap();
                let pages = store.tables[Table::Pages as usize].get().unwrap();
                // What is written or merged keeps a memtable from being sealed.
                while !pages.is_idle() {
                    thread::yield_now();
                }
                on_disk = pages.keyspace.disk_space().max(on_disk);
                let size = pages.size();
                // Twice that, since a merge that begins meanwhile keeps it from being sealed.
                assert!(size < 2 * LEAST.max(on_disk / 32), "{size} of {on_disk}");
                assert!(store.database.write_buffer_size() <= store.memtables.max());
                largest = size.max(largest);
            }
            assert!(largest > 8 * LEAST, "{largest}");
        });
    }

    /// Tables as older versions made them, with less memory or as much.
    #[test]
    fn no_commit_to_older_tables_waits_for_ever() {
        let with_meta = [&[Table::Meta], &TABLES[..]].concat();
        for (tables, memtable) in [
            (&TABLES[..], memtables::MIN_SIZE),
            (&with_meta, memtables::MIN_SIZE),
            (&with_meta, 4 * memtables::MIN_SIZE),
            (&[Table::Meta], 4 * memtables::MIN_SIZE),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let builder = Database::builder(directory.path()).worker_threads_unchecked(1);
            let database = builder.open().unwrap();
            for table in tables {
                let options = || layout(*table).max_memtable_size(memtables::MIN_SIZE);
                database.keyspace(table.name(), options).unwrap();
            }
            drop(database);
            write_much(directory.path(), memtable);
            assert_eq!(asking(directory.path()), tables);
        }
    }

    #[test]
    fn each_flip_in_a_sorted_file_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let store = Embedded::open(directory.path(), &Options::default()).unwrap();
        let mut batch = Batch::new();
        for number in 0..5_000_u32 {
            let row = format!("row {number}");
            batch.put(Table::Pages, number.to_be_bytes(), row);
        }
        store.commit(batch, Durability::Disk).unwrap();
        rewrite(store.keyspace(Table::Pages).unwrap());
        let mut found = Vec::new();
        let mut audit = || {
            found.clear();
            let files = store.audit_files(&mut |path, _| found.push(path.to_owned()));
            assert!(files > 0);
            found.clone()
        };
        assert_eq!(audit(), Vec::<PathBuf>::new());
        // The newest: those that it replaced may still be there.
        let pages = store.keyspace(Table::Pages).unwrap().id();
        let tables = directory.path().join(format!("keyspaces/{pages}/tables"));
        let files = fs::read_dir(tables).unwrap().map(|it| it.unwrap().path());
        let number = |it: &PathBuf| it.file_name()?.to_str()?.parse::<u64>().ok();
        let file = files.max_by_key(number).unwrap();
        let sound = fs::read(&file).unwrap();
        for at in (0..sound.len()).step_by(sound.len() / 40) {
            let mut bytes = sound.clone();
            bytes[at] ^= 8;
            fs::write(&file, &bytes).unwrap();
            assert_eq!(audit(), std::slice::from_ref(&file), "byte {at}");
        }
    }
}
