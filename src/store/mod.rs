//! Rows and queues: the state from which everything else follows.
//!
//! A [`Store`] is a small set of ordered tables and one way to change them: a [`Batch`], committed
//! as a whole. Everything else that a crawl keeps (documents, runs, the end of the archive) can be
//! rebuilt or checked against it. Only the engine's committer writes; readers see committed rows
//! only. What the rows mean belongs to the rooms that own their types; this room knows tables, keys
//! and bytes.

mod batch;
mod compactions;
mod embedded;
pub mod journal;
pub mod keys;
mod memory;
mod memtables;
mod replicated;
mod sealed;
mod typed;

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

pub use batch::{Batch, DecodeError};
pub use embedded::{Embedded, Options};
pub use memory::Memory;
pub use replicated::{
    CommitLog, Followed, Follower, LogError, LogResult, ReadOnly, Replicated, begin_again, copy,
    refuse_logged,
};
pub(crate) use sealed::{Broken, pack, seal, unpack, unseal};
pub use typed::Typed;

/// The tables. [`keys`] has the key layout of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Table {
    /// Single rows by name: the crawl's secret, its counters, its settings.
    Meta,
    /// One row per URL that was visited, refused or given up: what happened to it.
    Pages,
    /// One row per host: its delay, failures and queue heads.
    Hosts,
    /// One row per block of queued URLs, by host, class and sequence.
    Queue,
    /// One row per host with queued URLs, by the time from which it may be visited.
    Due,
    /// One row per host: its robots.txt as received.
    Robots,
    /// One row per entry of the scope: hosts, domains or prefixes of the seeds.
    Scope,
    /// One row per page that will be visited again, by due time.
    Revisits,
    /// One row per duplicate, by its original's document: the members of a cluster, best first.
    Clusters,
    /// What was learned of hosts and domains. A bounded number of rows per host.
    Learned,
    /// One row per commit since the last checkpoint: what it added to runs and documents.
    Deltas,
    /// One row per duplicate whose body is kept beside its original's: where that is.
    Kept,
    /// The template of each site, and one row per commit that changed it since it was written. A
    /// bounded number of bytes per site.
    Templates,
    /// One row per original: its lines as hashes.
    Parts,
    /// One row per page of its own that resembles another one: the group that it belongs to.
    Groups,
    /// One row per URL that is deferred, by host and kind.
    Deferred,
    /// One row per URL of which an earlier crawl holds the response: where that is, and by what it
    /// is asked for again.
    Earlier,
    /// One row per URL, seed or move that is sent to another shard of the crawl, until that has it.
    Outbox,
}

impl Table {
    /// All tables, in the order of their declaration.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Returns the name under which an engine keeps the table.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A row as returned by a range: key and value.
pub type Row = (Vec<u8>, Vec<u8>);

/// What a commit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The operating system has the data: it survives a kill of the process, but not a power cut.
    Process,
    /// The disk has the data: it survives a power cut.
    Disk,
}

/// Ordered tables of rows, changed by batches.
pub trait Store: Send + Sync {
    /// Returns the values of `keys`, in their order; `None` where there is no row.
    fn get_many(&self, table: Table, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>>;

    /// Returns at most `limit` rows in key order, of those whose keys begin with `prefix` and are
    /// not below `from`.
    fn range(&self, table: Table, prefix: &[u8], from: &[u8], limit: usize) -> Result<Vec<Row>>;

    /// Applies the whole batch or none of it.
    fn commit(&self, batch: Batch, durability: Durability) -> Result<()>;

    /// Starts to reclaim the space of deleted rows on a thread of its own, unless one is running.
    /// Background work of the engine may have to wait for it. Call it when most rows that the table
    /// ever had are gone.
    fn reclaim(&self, table: Table);

    /// Returns whether the reclaiming that was started last has ended well; `None` while it runs,
    /// if none was started, or if that was told before.
    fn reclaimed(&self) -> Option<bool>;

    /// Returns the value of `key`, or `None` if there is no row.
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.get_many(table, &[key])?.pop().flatten())
    }
}

/// Callback for a row's key and value.
pub type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'a;

/// Calls `visit` for every row of `table` under `prefix`, in key order. Reads a thousand rows at a
/// time.
pub fn for_each(
    store: &dyn Store,
    table: Table,
    prefix: &[u8],
    visit: &mut Visit<'_>,
) -> Result<()> {
    const ROWS_PER_READ: usize = 1_000;
    let mut from = prefix.to_vec();
    loop {
        let rows = store.range(table, prefix, &from, ROWS_PER_READ)?;
        for (key, value) in &rows {
            visit(key, value)?;
        }
        match rows.last() {
            Some((last, _)) if rows.len() == ROWS_PER_READ => {
                from.clone_from(last);
                from.push(0);
            }
            _ => return Ok(()),
        }
    }
}

/// Encodes a row's value.
pub fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    /// Size of most rows, in bytes: with this capacity they do not move while they grow.
    const TYPICAL_BYTES: usize = 256;
    postcard::to_extend(value, Vec::with_capacity(TYPICAL_BYTES))
        .expect("rows are plain data: numbers, strings, lists")
}

/// Decodes a row's value.
pub fn decode<'a, T: Deserialize<'a>>(table: Table, bytes: &'a [u8]) -> Result<T> {
    postcard::from_bytes(bytes).map_err(|source| Error::Row {
        table: table.name(),
        source,
    })
}

/// The result of the functions of this room.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation of the store failed. Every kind ends the run; what was committed stays.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store could not be opened.
    #[error("cannot open the store in {path}: {reason}")]
    Open {
        /// Directory of the store.
        path: PathBuf,
        /// Message of the engine.
        reason: String,
        /// The underlying I/O error, if there is one.
        source: Option<io::Error>,
    },
    /// Reading or writing failed.
    #[error("the store in {path} failed to {action}: {reason}")]
    Engine {
        /// Directory of the store.
        path: PathBuf,
        /// What was being done.
        action: &'static str,
        /// Message of the engine.
        reason: String,
        /// The underlying I/O error, if there is one.
        source: Option<io::Error>,
    },
    /// A file holds other bytes than the engine wrote.
    #[error("{path} is damaged: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The log that commits go into first cannot be had, or is not this store's.
    #[error("the log of the crawl: {reason}")]
    Log {
        /// What is wrong.
        reason: String,
    },
    /// Another owner of the log has begun to write.
    #[error(
        "another worker has taken this crawl over; nothing was committed since, and what was \
         fetched since is fetched there"
    )]
    Stale,
    /// What the store lacks is gone from the log, or the log went on from elsewhere.
    #[error("this directory needs a new copy of the crawl: {reason}")]
    Outdated {
        /// What does not fit.
        reason: String,
    },
    /// A row does not have the form that this version writes.
    #[error(
        "a row of table `{table}` cannot be read: {source}; restore the data directory from a backup"
    )]
    Row {
        /// Name of the table.
        table: &'static str,
        /// What is wrong with the bytes.
        source: postcard::Error,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the stores under test, each empty.
    fn engines(directory: &std::path::Path) -> Vec<Box<dyn Store>> {
        vec![
            Box::new(Memory::default()),
            Box::new(Embedded::open(&directory.join("store"), &Options::default()).unwrap()),
            Box::new(replicated::tests::replicated()),
        ]
    }

    #[test]
    fn a_batch_is_applied_in_order() {
        let directory = tempfile::tempdir().unwrap();
        for store in engines(directory.path()) {
            let mut batch = Batch::new();
            batch.put(Table::Meta, "a", "1");
            batch.put(Table::Meta, "a", "2");
            batch.put(Table::Meta, "b", "1");
            batch.delete(Table::Meta, "b");
            store.commit(batch, Durability::Disk).unwrap();
            assert_eq!(
                store.get(Table::Meta, b"a").unwrap().as_deref(),
                Some(&b"2"[..])
            );
            assert_eq!(store.get(Table::Meta, b"b").unwrap(), None);
            assert_eq!(store.get(Table::Pages, b"a").unwrap(), None);
        }
    }

    #[test]
    fn the_space_of_deleted_rows_comes_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        let size = || -> u64 {
            let tables = std::fs::read_dir(path.join("keyspaces")).unwrap();
            let files = tables
                .filter_map(|table| std::fs::read_dir(table.unwrap().path().join("tables")).ok());
            let files = files
                .flatten()
                .map(|file| file.unwrap().metadata().unwrap().len());
            files.sum()
        };
        let options = Options {
            memtable_bytes: 1,
            ..Options::default()
        };
        let store = Embedded::open(&path, &options).unwrap();
        let key = |number: u32| number.to_be_bytes();
        let value: Vec<u8> = (0..1_000_u32).map(|at| (at * at % 251) as u8).collect();
        let mut batch = Batch::new();
        for number in 0..10_000 {
            batch.put(
                Table::Queue,
                key(number),
                [&key(number), &value[..]].concat(),
            );
        }
        store.commit(batch, Durability::Process).unwrap();
        store.reclaim(Table::Queue);
        // Dropping the store waits for the thread.
        drop(store);
        let full = size();
        let store = Embedded::open(&path, &options).unwrap();
        let mut batch = Batch::new();
        (0..9_990).for_each(|number| batch.delete(Table::Queue, key(number)));
        store.commit(batch, Durability::Process).unwrap();
        store.reclaim(Table::Queue);
        drop(store);
        assert!(size() * 12 < full, "{} of {full}", size());
        let store = Embedded::open(&path, &options).unwrap();
        let rows = store.range(Table::Queue, &[], &[], 100).unwrap();
        let left: Vec<_> = rows.into_iter().map(|(key, _)| key).collect();
        assert_eq!(
            left,
            (9_990..10_000)
                .map(|it| key(it).to_vec())
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn for_each_sees_every_row_of_a_prefix() {
        let store = Memory::default();
        let mut batch = Batch::new();
        for n in 0..2_500_u32 {
            batch.put(Table::Queue, [&b"x"[..], &n.to_be_bytes()].concat(), "");
            batch.put(Table::Queue, [&b"y"[..], &n.to_be_bytes()].concat(), "");
        }
        store.commit(batch, Durability::Process).unwrap();
        let mut seen = 0;
        for_each(&store, Table::Queue, b"x", &mut |key, _| {
            assert_eq!(key, [&b"x"[..], &u32::to_be_bytes(seen)].concat());
            seen += 1;
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, 2_500);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        /// The embedded store returns what the ordered map returns, also after it was reopened, and
        /// so does one behind a log.
        #[test]
        fn embedded_equals_its_model(
            batches in prop::collection::vec(
                prop::collection::vec((0..3_u8, 0..40_u8, prop::option::of(any::<u8>())), 1..20), 1..8),
            prefix in prop::option::of(0..3_u8), from in 0..40_u8, limit in 0..50_usize,
        ) {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("store");
            let model = Memory::default();
            let log = std::sync::Arc::new(replicated::tests::PlainLog::default());
            let behind = || {
                let local = Embedded::open(&directory.path().join("behind"), &Options::default());
                Replicated::open(std::sync::Arc::new(local.unwrap()), log.clone()).unwrap()
            };
            let mut replicated = behind();
            let mut store = Embedded::open(&path, &Options::default()).unwrap();
            for (n, changes) in batches.iter().enumerate() {
                for target in [&model as &dyn Store, &store, &replicated] {
                    let mut batch = Batch::new();
                    for (first, second, value) in changes {
                        let key = [*first, *second];
                        match value {
                            Some(value) => batch.put(Table::Hosts, key, [*value]),
                            None => batch.delete(Table::Hosts, key),
                        }
                    }
                    target.commit(batch, Durability::Process).unwrap();
                }
                if n == batches.len() / 2 {
                    drop((store, replicated));
                    store = Embedded::open(&path, &Options::default()).unwrap();
                    replicated = behind();
                }
            }
            let prefix = prefix.map_or(vec![], |p| vec![p]);
            let from = [&prefix[..], &[from]].concat();
            let expected = model.range(Table::Hosts, &prefix, &from, limit).unwrap();
            for store in [&store as &dyn Store, &replicated] {
                let rows = store.range(Table::Hosts, &prefix, &from, limit).unwrap();
                prop_assert_eq!(&rows, &expected);
            }
        }
    }
}
