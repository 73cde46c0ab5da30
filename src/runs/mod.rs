//! Fixed-width keys that are too many for memory: the URLs seen, digest to document, the tables of
//! SimHash and `MinHash`. Each is one [`Runs`]; a [`Catalog`] holds them all under one manifest.
//!
//! The committer inserts into memory; every checkpoint turns what is in memory into immutable
//! sorted files, which are mapped, searched and, in the background, merged. Every key is 64 bits
//! with a value of 64 bits, ordered by both; a set uses the value 0, which takes no bytes on disk.
//!
//! Invariant: memory and the files of the list together are exactly what was inserted, but for pairs
//! whose value was [retired](Catalog::retire), which merges leave out. Nothing else is
//! ever deleted but by forgetting a whole structure. This room keeps no log: what was inserted
//! after the last checkpoint is replayed by the caller, and inserting twice is harmless.

mod catalog;
mod fence;
mod file;
mod manifest;
mod map;
mod merge;
mod retired;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use catalog::{Catalog, Damage};
use file::RunFile;
use merge::{Source, Union};
pub use retired::{CHUNK as RETIRED_CHUNK, Retired};

/// A key and its value.
type Pair = (u64, u64);

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
    memory: BTreeSet<Pair>,
    /// No value in memory but 0: then one descent of the tree answers `contains`.
    memory_is_set: bool,
    /// Largest first, because that is where most keys are. Shared with the merging thread.
    files: Vec<Arc<RunFile>>,
    complete: bool,
}

impl Runs {
    fn new(name: &'static str, options: Options) -> Self {
        Self {
            name,
            options,
            memory: BTreeSet::new(),
            memory_is_set: true,
            files: Vec::new(),
            complete: true,
        }
    }

    /// Adds the pair to memory, without a look at the files; false if it was in memory before.
    /// A pair that a file holds too costs its bytes until a merge, and is found once all the same.
    pub fn insert(&mut self, key: u64, value: u64) -> bool {
        self.memory_is_set &= value == 0;
        self.memory.insert((key, value))
    }

    /// Whether the key has any value.
    pub fn contains(&self, key: u64) -> bool {
        let in_memory = || {
            self.memory.contains(&(key, 0))
                || !self.memory_is_set
                    && self
                        .memory
                        .range((key, 0)..=(key, u64::MAX))
                        .next()
                        .is_some()
        };
        self.files.iter().any(|file| file.contains(key)) || in_memory()
    }

    /// Replaces `out` by the values of the key, ascending, each once. A key that strangers can fill
    /// has as many values as they like: take a few from [`pairs`](Self::pairs) instead.
    pub fn find(&self, key: u64, out: &mut Vec<u64>) {
        out.clear();
        for file in &self.files {
            out.extend(file.pairs(key, key).map(|(_, value)| value));
        }
        let memory = self.memory.range((key, 0)..=(key, u64::MAX));
        out.extend(memory.map(|(_, value)| *value));
        out.sort_unstable();
        out.dedup();
    }

    /// The pairs with keys from `low` to `high`, both included, ascending, each once. Lazy, so that
    /// the caller bounds the work with `take`.
    pub fn pairs(&self, low: u64, high: u64) -> impl Iterator<Item = (u64, u64)> {
        // BTreeSet::range panics on an inverted range; an empty one is what the caller asked for.
        let memory = (low <= high).then(|| self.memory.range((low, 0)..=(high, u64::MAX)));
        let files = self
            .files
            .iter()
            .map(|file| Source::File(file.pairs(low, high)));
        Union::new(memory.map(Source::Memory).into_iter().chain(files))
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
            for (key, document) in self.memory.range((low, 0)..=(high, u64::MAX)) {
                if (key ^ value).count_ones() <= bits {
                    visit(*key, *document);
                }
            }
        }
    }

    /// Visits every key at least once, in no order, sequentially through each file: made for
    /// refilling a Bloom filter.
    pub fn for_each_key(&self, mut visit: impl FnMut(u64)) {
        for file in &self.files {
            file.keys()
                .iter()
                .for_each(|key| visit(u64::from_le_bytes(*key)));
        }
        self.memory.iter().for_each(|(key, _)| visit(*key));
    }

    /// Forgets everything, to be built anew from elsewhere. Until [`rebuilt`](Self::rebuilt) is
    /// called and a checkpoint follows, each opening reports the structure as damaged. The files
    /// stay on disk until the next checkpoint, so a kill before it leaves the state before.
    pub fn clear(&mut self) {
        self.memory = BTreeSet::new();
        self.memory_is_set = true;
        self.files.clear();
        self.complete = false;
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
        self.memory.len() as u64 + self.files.iter().map(|file| file.count()).sum::<u64>()
    }

    /// Whether nothing was ever inserted, or all was forgotten.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Files that a lookup has to search.
    pub fn file_count(&self) -> usize {
        self.files.len()
    }

    /// Bytes of the heap, estimated: the table and the fences of the files.
    pub fn memory_bytes(&self) -> usize {
        /// Of a pair in a `BTreeSet` filled at random, measured: 29 at 1 M pairs.
        const PAIR: usize = 29;
        self.memory.len() * PAIR
            + self
                .files
                .iter()
                .map(|file| file.memory_bytes())
                .sum::<usize>()
    }

    /// Bytes of the mapped files, which the kernel can drop and read again.
    pub fn mapped_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.mapped_bytes()).sum()
    }
}

/// Why a structure could not be opened, checkpointed or merged. Damage that a rebuild repairs is
/// reported by [`Catalog::open`] as [`Damage`] instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused; the path and the act are named.
    #[error("cannot {action} {path}; check the space and the permissions there, then start again")]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A file is not what was written. Nothing was changed because of it.
    #[error("{path} is damaged: {why}; start again, and it is set aside and rebuilt")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A file of a later format, which must not be overwritten by a rebuild.
    #[error(
        "{path} has the unknown format version {found}; use the gleaner that wrote it, \
         or move the directory away to have it rebuilt"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// The merging thread panicked: a defect of gleaner. The files it read are untouched.
    #[error("the thread that merges run files panicked; no data is lost, please report this")]
    MergePanicked,
}

impl Error {
    /// Whether the disk or the quota is full: the one cause that an operator mends without a look
    /// at anything else.
    pub fn is_full_disk(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        matches!(self, Self::Io { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded))
    }

    /// For `map_err`: what was tried on which path.
    fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}
