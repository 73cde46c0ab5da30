//! Fixed-width keys that are too many for memory: the URLs seen, the maps from digests to
//! documents, the tables of SimHash and `MinHash`. Each is one [`Runs`]; a [`Catalog`] holds them
//! all under one manifest.
//!
//! The committer inserts into a table in memory. A checkpoint freezes the table, and a thread
//! writes it as an immutable sorted file while a new table takes further pairs. Files are mapped,
//! searched and, in the background, merged. Every key is 64 bits with a value of 64 bits, ordered
//! by both; a set uses the value 0, which takes no bytes on disk.
//!
//! Invariant: at every moment the tables and the listed files together contain exactly what was
//! inserted, except for pairs whose value was [retired](Catalog::retire), which merges omit.
//! Nothing else is ever deleted, except by clearing a whole structure. This room keeps no log: the
//! caller replays what was inserted after the last checkpoint, and inserting twice is harmless.

mod catalog;
mod error;
mod fence;
mod file;
mod filed;
mod keys;
mod manifest;
mod map;
mod merge;
mod pair;
mod retired;
mod table;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use catalog::{Catalog, Damage};
pub use error::{Error, is_bad_disk};
use file::RunFile;
pub use filed::FiledKeys;
pub use keys::KeysSince;
use merge::{PairSource, Union};
pub use retired::{CHUNK as RETIRED_CHUNK, Retired};
use table::PairTable;

/// How a structure is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Number of files of one tier that triggers a merge, at least 2. A larger number means less
    /// writing and slower look-ups: each file costs a cache miss or two.
    pub merge_at: usize,
}

impl Default for Options {
    /// Four files per tier. 10 M keys, checkpointed 1 M at a time, then lie in four files; a
    /// look-up takes 0.23-0.3 µs if it finds the key and 0.35-0.5 µs if not (CPU time, busy
    /// machine).
    fn default() -> Self {
        Self { merge_at: 4 }
    }
}

/// A multimap from 64-bit keys to 64-bit values, in memory and in files.
#[derive(Debug)]
pub struct Runs {
    name: &'static str,
    options: Options,
    /// The table that takes insertions.
    active: PairTable,
    /// The table that a checkpoint is writing as a file.
    frozen: Option<Arc<PairTable>>,
    /// The files, largest first, because most keys are there. Shared with the merging thread.
    files: Vec<Arc<RunFile>>,
    complete: bool,
    /// Set if the structure was cleared since the last checkpoint began.
    cleared: bool,
}

impl Runs {
    fn new(name: &'static str, options: Options) -> Self {
        Self {
            name,
            options,
            active: PairTable::default(),
            frozen: None,
            files: Vec::new(),
            complete: true,
            cleared: false,
        }
    }

    /// Inserts a pair into the active table, without looking at older data. Returns `false` if the
    /// table had it. A pair that a file has too takes space until a merge, but look-ups return it
    /// once.
    pub fn insert(&mut self, key: u64, value: u64) -> bool {
        self.active.insert(key, value)
    }

    /// Returns `true` if the key has any value.
    pub fn contains(&self, key: u64) -> bool {
        // Newest first: keys that are looked up again were mostly inserted recently, and small
        // files are new.
        self.tables().any(|table| table.contains(key))
            || self.files.iter().rev().any(|file| file.contains(key))
    }

    /// Iterates over the tables in memory, newest first.
    fn tables(&self) -> impl Iterator<Item = &PairTable> {
        [&self.active].into_iter().chain(self.frozen.as_deref())
    }

    /// Replaces the contents of `out` by the values of the key, ascending and distinct. A key that
    /// strangers can fill may have any number of values: take a few from [`pairs`](Self::pairs)
    /// instead.
    pub fn find(&self, key: u64, out: &mut Vec<u64>) {
        out.clear();
        for file in &self.files {
            out.extend(file.pairs(key, key).map(|(_, value)| value));
        }
        for table in self.tables() {
            out.extend(table.range(key, key).map(|(_, value)| *value));
        }
        out.sort_unstable();
        out.dedup();
    }

    /// Returns the pairs with keys from `low` to `high`, both inclusive, ascending and distinct.
    /// The iterator is lazy, so the caller can bound the work with `take`.
    pub fn pairs(&self, low: u64, high: u64) -> impl Iterator<Item = (u64, u64)> {
        let memory = self.tables().map(move |table| table.range(low, high));
        let files = self
            .files
            .iter()
            .map(|file| PairSource::File(file.pairs(low, high)));
        Union::new(memory.map(PairSource::Memory).chain(files))
    }

    /// Calls `visit` for the pairs whose keys lie in one of the ranges (both ends inclusive) and
    /// differ from `value` in at most `bits` bits: in no particular order, file by file and table
    /// by table. Of one key, and of one range, only so many of each file and table, so that nobody
    /// can make searches long.
    pub fn near(
        &self,
        ranges: &[(u64, u64)],
        value: u64,
        bits: u32,
        mut visit: impl FnMut(u64, u64),
    ) {
        for file in &self.files {
            file.near(ranges, value, bits, &mut visit);
        }
        for &(low, high) in ranges.iter().filter(|(low, high)| low <= high) {
            for table in self.tables() {
                table.near((low, high), value, bits, &mut visit);
            }
        }
    }

    /// Returns every key that was inserted after the delta `sequence` at least once, together with
    /// other keys that merges mixed in: enough to refill a Bloom filter. With 0 it returns all
    /// keys.
    pub fn keys_since(&self, sequence: u64) -> KeysSince {
        let memory = self.tables().flat_map(|table| table.range(0, u64::MAX));
        KeysSince {
            files: self.files_since(sequence).cloned().collect(),
            memory: memory.map(|(key, _)| *key).collect(),
        }
    }

    /// Returns the number of keys that [`keys_since`](Self::keys_since) would return.
    pub fn len_since(&self, sequence: u64) -> u64 {
        let files = self.files_since(sequence).map(|file| file.count());
        files.sum::<u64>() + self.table_len()
    }

    fn files_since(&self, sequence: u64) -> impl Iterator<Item = &Arc<RunFile>> {
        let files = self.files.iter();
        files.filter(move |file| sequence == 0 || file.newest() > sequence)
    }

    /// Forgets everything, so that the structure can be rebuilt from elsewhere. Until
    /// [`rebuilt`](Self::rebuilt) is called and a checkpoint follows, each opening reports the
    /// structure as damaged. The files stay on disk until the next checkpoint, so a kill before it
    /// leaves the earlier state.
    pub fn clear(&mut self) {
        self.active = PairTable::default();
        self.frozen = None;
        self.files.clear();
        self.complete = false;
        self.cleared = true;
    }

    /// Declares that the structure, which was damaged or cleared, is complete again. Checkpoints
    /// may happen before that, to free memory during a long rebuild.
    pub fn rebuilt(&mut self) {
        self.complete = true;
    }

    /// Returns `false` after damage or [`clear`](Self::clear) until [`rebuilt`](Self::rebuilt) is
    /// called.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Returns the name that was passed to [`Catalog::open`].
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the number of pairs in memory and files. An upper bound: a pair in two places counts
    /// twice.
    pub fn len(&self) -> u64 {
        self.table_len() + self.files.iter().map(|file| file.count()).sum::<u64>()
    }

    /// Returns the number of pairs in memory.
    fn table_len(&self) -> u64 {
        self.tables().map(|table| table.len() as u64).sum()
    }

    /// Returns `true` if nothing was ever inserted, or everything was cleared.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of files that a look-up has to search.
    pub fn file_count(&self) -> usize {
        self.files.len()
    }

    /// Returns the estimated heap size of the tables and the files' fences, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let tables: usize = self.tables().map(PairTable::memory_bytes).sum();
        let files: usize = self.files.iter().map(|file| file.memory_bytes()).sum();
        tables + files
    }

    /// Returns the size of the mapped files in bytes. The kernel can drop these pages and read them
    /// again.
    pub fn mapped_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.mapped_bytes()).sum()
    }
}
