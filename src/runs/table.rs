//! The sorted table in memory of what was inserted since the last checkpoint, and the thread that
//! writes such tables as files while the next ones fill.
//!
//! The thread only reads frozen tables and writes files that nothing refers to yet; the catalog
//! installs them.

use std::collections::{BTreeSet, btree_set};
use std::io;
use std::path::PathBuf;
use std::slice;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::error::Error;
use super::fence::Bounds;
use super::file::{MOST_OF_KEY, MOST_OF_RANGE, RunFile, discard};
use super::pair::Pair;

/// Number of trees per table, each for the keys with the same leading bits. Small trees are
/// shallow, and the nodes that a search visits stay in the processor's caches.
const TREES: usize = 1 << TREE_BITS;
const TREE_BITS: u32 = 12;

/// Number of distinct 16-bit prefixes of keys that a table tracks.
const PREFIXES: usize = 1 << 16;

/// A sorted table of pairs.
#[derive(Debug)]
pub(super) struct PairTable {
    /// The trees, by the leading bits of their keys.
    trees: Vec<BTreeSet<Pair>>,
    /// One bit per 16-bit prefix, set if any key has it: most searches are for neighbours that are
    /// not there.
    prefixes: Vec<u64>,
    len: usize,
    /// Set while every value is 0: then one descent of the tree answers `contains`.
    is_set: bool,
}

impl Default for PairTable {
    fn default() -> Self {
        Self {
            trees: vec![BTreeSet::new(); TREES],
            prefixes: vec![0; PREFIXES / u64::BITS as usize],
            len: 0,
            is_set: true,
        }
    }
}

/// Returns the index of the tree for a key.
fn tree_of(key: u64) -> usize {
    (key >> (u64::BITS - TREE_BITS)) as usize
}

/// Returns the word of `prefixes` for a key's prefix, and the bit in it.
fn prefix_bit(key: u64) -> (usize, u64) {
    let prefix = (key >> 48) as usize;
    (
        prefix / u64::BITS as usize,
        1 << (prefix % u64::BITS as usize),
    )
}

impl PairTable {
    /// Inserts a pair. Returns `false` if the table had it.
    pub(super) fn insert(&mut self, key: u64, value: u64) -> bool {
        self.is_set &= value == 0;
        let is_new = self.trees[tree_of(key)].insert((key, value));
        self.len += usize::from(is_new);
        let (word, bit) = prefix_bit(key);
        self.prefixes[word] |= bit;
        is_new
    }

    /// Returns `true` if the key has any value.
    pub(super) fn contains(&self, key: u64) -> bool {
        self.may_have_prefix(key) && self.trees[tree_of(key)].contains(&(key, 0))
            || !self.is_set && self.range(key, key).next().is_some()
    }

    /// Returns `false` if no key has the same 16-bit prefix.
    fn may_have_prefix(&self, key: u64) -> bool {
        let (word, bit) = prefix_bit(key);
        self.prefixes[word] & bit != 0
    }

    /// Returns the pairs with keys from `low` to `high`, both inclusive, ascending.
    pub(super) fn range(&self, low: u64, high: u64) -> Range<'_> {
        // An inverted range is empty.
        let may_have_any = low <= high && (low >> 48 != high >> 48 || self.may_have_prefix(low));
        let trees = self.trees.get(tree_of(low)..=tree_of(high));
        let trees = trees.filter(|_| may_have_any).unwrap_or_default();
        Range {
            trees: trees.iter(),
            within: None,
            low,
            high,
        }
    }

    /// Calls `visit` for pairs whose keys lie in the range and differ from `value` in at most
    /// `bits` bits, as [`RunFile::near`] does.
    pub(super) fn near(
        &self,
        (mut low, high): (u64, u64),
        value: u64,
        bits: u32,
        visit: &mut impl FnMut(u64, u64),
    ) {
        let mut of_range = 0;
        'keys: loop {
            let (mut last, mut of_key) = (None, 0);
            for &(key, document) in self.range(low, high) {
                of_key = if last == Some(key) { of_key + 1 } else { 1 };
                last = Some(key);
                if (key ^ value).count_ones() <= bits {
                    visit(key, document);
                    of_range += 1;
                }
                if of_range >= MOST_OF_RANGE {
                    return;
                }
                if of_key >= MOST_OF_KEY {
                    match key.checked_add(1) {
                        Some(above) => low = above,
                        None => return,
                    }
                    continue 'keys;
                }
            }
            return;
        }
    }

    /// Moves all pairs of another table into this one.
    pub(super) fn append(&mut self, mut other: Self) {
        self.is_set &= other.is_set;
        for (own, others) in self.trees.iter_mut().zip(&mut other.trees) {
            own.append(others);
        }
        for (own, others) in self.prefixes.iter_mut().zip(&other.prefixes) {
            *own |= others;
        }
        self.len = self.trees.iter().map(BTreeSet::len).sum();
    }

    /// Returns the number of pairs.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the estimated heap size, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        /// Bytes per pair in a `BTreeSet` filled in random order, as measured at 1 M pairs.
        const BYTES_PER_PAIR: usize = 29;
        self.len * BYTES_PER_PAIR + TREES * size_of::<BTreeSet<Pair>>() + PREFIXES / 8
    }

    fn bounds(&self) -> Option<Bounds> {
        let min = self.trees.iter().find_map(BTreeSet::first)?.0;
        let max = self.trees.iter().rev().find_map(BTreeSet::last)?.0;
        let count = self.len as u64;
        Some(Bounds { min, max, count })
    }
}

/// Pairs of a table, ascending.
pub(super) struct Range<'a> {
    trees: slice::Iter<'a, BTreeSet<Pair>>,
    within: Option<btree_set::Range<'a, Pair>>,
    low: u64,
    high: u64,
}

impl<'a> Iterator for Range<'a> {
    type Item = &'a Pair;

    fn next(&mut self) -> Option<&'a Pair> {
        loop {
            if let Some(pair) = self.within.as_mut().and_then(Iterator::next) {
                return Some(pair);
            }
            let tree = self.trees.next()?;
            self.within = Some(tree.range((self.low, 0)..=(self.high, u64::MAX)));
        }
    }
}

/// A table to write as a file.
pub(super) struct ToWrite {
    /// Index of the structure.
    pub(super) structure: usize,
    pub(super) table: Arc<PairTable>,
    pub(super) id: u64,
    pub(super) path: PathBuf,
}

/// A checkpoint that is being written.
#[derive(Debug)]
pub(super) struct Writing {
    /// Sequence of the last delta that the tables cover.
    pub(super) sequence: u64,
    /// Whether each structure was complete when it was frozen.
    pub(super) complete: Vec<bool>,
    thread: Option<JoinHandle<Result<Vec<Written>, Error>>>,
}

/// The index of a structure and its new file.
pub(super) type Written = (usize, RunFile);

impl Writing {
    /// Starts the thread, if there is anything to write.
    pub(super) fn start(
        sequence: u64,
        complete: Vec<bool>,
        tables: Vec<ToWrite>,
    ) -> io::Result<Self> {
        let mut thread = None;
        if !tables.is_empty() {
            let builder = thread::Builder::new().name("runs-write".to_owned());
            thread = Some(builder.spawn(move || write_all(tables, sequence))?);
        }
        Ok(Self {
            sequence,
            complete,
            thread,
        })
    }

    pub(super) fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the files. After an error, none of them is left.
    pub(super) fn collect(&mut self) -> Result<Vec<Written>, Error> {
        match self.thread.take().map(JoinHandle::join) {
            None => Ok(Vec::new()),
            Some(Ok(written)) => written,
            Some(Err(_)) => Err(Error::ThreadPanicked),
        }
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        // Nothing was installed; the next opening removes what was written.
        let _ = self.collect();
    }
}

fn write_all(tables: Vec<ToWrite>, sequence: u64) -> Result<Vec<Written>, Error> {
    let mut written: Vec<Written> = Vec::new();
    for it in tables {
        let Some(bounds) = it.table.bounds() else {
            continue;
        };
        let pairs = || it.table.range(0, u64::MAX).copied();
        match RunFile::write(&it.path, it.id, bounds, pairs) {
            Ok(file) => written.push((it.structure, file.with_newest(sequence))),
            Err(error) => {
                for (_, file) in &written {
                    discard(file.path());
                }
                return Err(error);
            }
        }
    }
    Ok(written)
}
