//! Fixed-width keys that are too many for memory: the URLs seen, digest to document, the tables of
//! SimHash and `MinHash`. Each is one [`Runs`]; a [`Catalog`] holds them all under one manifest.
//!
//! The committer inserts into a table in memory; a checkpoint freezes the table, and a thread writes it
//! as an immutable sorted file while a new table takes what comes. Files are mapped, searched and, in
//! the background, merged. Every key is 64 bits with a value of 64 bits, ordered by both; a set uses
//! the value 0, which takes no bytes on disk.
//!
//! Invariant: the tables and the files of the list together are exactly what was inserted, at every
//! moment, but for pairs whose value was [retired](Catalog::retire), which merges leave out. Nothing else is
//! ever deleted but by forgetting a whole structure. This room keeps no log: what was inserted
//! after the last checkpoint is replayed by the caller, and inserting twice is harmless.

mod catalog;
mod error;
mod fence;
mod file;
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
pub use error::Error;
use file::RunFile;
pub use keys::KeysSince;
use merge::{Source, Union};
pub use retired::{CHUNK as RETIRED_CHUNK, Retired};
use table::PairTable;

/// How one structure is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Files of one tier before they are merged, at least 2. More means less writing and slower
    /// lookups: each file costs a cache miss or two.
    pub merge_at: usize,
}

impl Default for Options {
    /// Four files: 10 M keys, checkpointed 1 M at a time, come to lie in four files; a
    /// lookup takes 0.23-0.3 us if it finds the key, 0.35-0.5 if not (CPU time, busy machine).
    fn default() -> Self {
        Self { merge_at: 4 }
    }
}

/// One multimap from 64-bit keys to 64-bit values, in memory and in files.
#[derive(Debug)]
pub struct Runs {
    name: &'static str,
    options: Options,
    /// Takes what is inserted.
    active: PairTable,
    /// What is being written as a file, from the beginning of a checkpoint to its end.
    frozen: Option<Arc<PairTable>>,
    /// Largest first, because that is where most keys are. Shared with the merging thread.
    files: Vec<Arc<RunFile>>,
    complete: bool,
    /// Since the last checkpoint was begun.
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

    /// Adds the pair to the table, without a look at what is older; false if the table had it.
    /// A pair that a file holds too costs its bytes until a merge, and is found once all the same.
    pub fn insert(&mut self, key: u64, value: u64) -> bool {
        self.active.insert(key, value)
    }

    /// Whether the key has any value.
    pub fn contains(&self, key: u64) -> bool {
        // The newest first: what is asked for again was mostly inserted lately, and small files are new.
        self.tables().any(|table| table.contains(key))
            || self.files.iter().rev().any(|file| file.contains(key))
    }

    /// What is in memory, the newest first.
    fn tables(&self) -> impl Iterator<Item = &PairTable> {
        [&self.active].into_iter().chain(self.frozen.as_deref())
    }

    /// Replaces `out` by the values of the key, ascending, each once. A key that strangers can fill
    /// has as many values as they like: take a few from [`pairs`](Self::pairs) instead.
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

    /// The pairs with keys from `low` to `high`, both included, ascending, each once. Lazy, so that
    /// the caller bounds the work with `take`.
    pub fn pairs(&self, low: u64, high: u64) -> impl Iterator<Item = (u64, u64)> {
        let memory = self.tables().map(move |table| table.range(low, high));
        let files = self
            .files
            .iter()
            .map(|file| Source::File(file.pairs(low, high)));
        Union::new(memory.map(Source::Memory).chain(files))
    }

    /// Visits the pairs whose keys lie in one of the ranges (from the first to the second, both included)
    /// and differ from `value` in at most `bits` bits: at least once, in no order, each file and memory
    /// by itself.
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
            for (key, document) in self.tables().flat_map(|table| table.range(low, high)) {
                if (key ^ value).count_ones() <= bits {
                    visit(*key, *document);
                }
            }
        }
    }

    /// At least once every key that was inserted after the delta `sequence`, and others that merges put
    /// among them: made for refilling a Bloom filter. 0 for all.
    pub fn keys_since(&self, sequence: u64) -> KeysSince {
        let memory = self.tables().flat_map(|table| table.range(0, u64::MAX));
        KeysSince {
            files: self.files_since(sequence).cloned().collect(),
            memory: memory.map(|(key, _)| *key).collect(),
        }
    }

    /// How many keys [`keys_since`](Self::keys_since) would give.
    pub fn len_since(&self, sequence: u64) -> u64 {
        let files = self.files_since(sequence).map(|file| file.count());
        files.sum::<u64>() + self.table_len()
    }

    fn files_since(&self, sequence: u64) -> impl Iterator<Item = &Arc<RunFile>> {
        let files = self.files.iter();
        files.filter(move |file| sequence == 0 || file.newest() > sequence)
    }

    /// Forgets everything, to be built anew from elsewhere. Until [`rebuilt`](Self::rebuilt) is
    /// called and a checkpoint follows, each opening reports the structure as damaged. The files
    /// stay on disk until the next checkpoint, so a kill before it leaves the state before.
    pub fn clear(&mut self) {
        self.active = PairTable::default();
        self.frozen = None;
        self.files.clear();
        self.complete = false;
        self.cleared = true;
    }

    /// Says that the structure, which was damaged or cleared, holds again all that it should.
    /// Checkpoints may happen before, to free memory during a long rebuild.
    pub fn rebuilt(&mut self) {
        self.complete = true;
    }

    /// False from damage or [`clear`](Self::clear) until [`rebuilt`](Self::rebuilt).
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// The name under which the catalog was opened with it.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Pairs in memory and files. An upper bound: a pair in two places counts twice.
    pub fn len(&self) -> u64 {
        self.table_len() + self.files.iter().map(|file| file.count()).sum::<u64>()
    }

    /// Pairs in memory.
    fn table_len(&self) -> u64 {
        self.tables().map(|table| table.len() as u64).sum()
    }

    /// Whether nothing was ever inserted, or all was forgotten.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Files that a lookup has to search.
    pub fn file_count(&self) -> usize {
        self.files.len()
    }

    /// Bytes of the heap, estimated: the tables and the fences of the files.
    pub fn memory_bytes(&self) -> usize {
        let tables: usize = self.tables().map(PairTable::memory_bytes).sum();
        let files: usize = self.files.iter().map(|file| file.memory_bytes()).sum();
        tables + files
    }

    /// Bytes of the mapped files, which the kernel can drop and read again.
    pub fn mapped_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.mapped_bytes()).sum()
    }
}
