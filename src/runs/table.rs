//! What was inserted since the last checkpoint, sorted, in memory; and the thread that writes such tables
//! as files while the next ones fill.
//!
//! The thread only reads tables that nobody changes and writes files that nobody knows yet; the catalog
//! installs them.

use std::collections::{BTreeSet, btree_set};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::fence::Bounds;
use super::file::RunFile;
use super::merge::discard;
use super::{Error, Pair};

/// A sorted table of pairs.
#[derive(Debug)]
pub(super) struct PairTable {
    pairs: BTreeSet<Pair>,
    /// No value but 0: then one descent of the tree answers `contains`.
    is_set: bool,
}

impl Default for PairTable {
    fn default() -> Self {
        Self {
            pairs: BTreeSet::new(),
            is_set: true,
        }
    }
}

impl PairTable {
    /// Adds a pair; false if it was there.
    pub(super) fn insert(&mut self, key: u64, value: u64) -> bool {
        self.is_set &= value == 0;
        self.pairs.insert((key, value))
    }

    /// Whether the key has any value.
    pub(super) fn contains(&self, key: u64) -> bool {
        self.pairs.contains(&(key, 0)) || !self.is_set && self.range(key, key).next().is_some()
    }

    /// The pairs with keys from `low` to `high`, both included, ascending.
    pub(super) fn range(&self, low: u64, high: u64) -> btree_set::Range<'_, Pair> {
        // BTreeSet::range panics on an inverted range; an empty one is what the caller asked for.
        match low <= high {
            true => self.pairs.range((low, 0)..=(high, u64::MAX)),
            false => self.pairs.range((low, 0)..(low, 0)),
        }
    }

    /// Takes over all pairs of another table.
    pub(super) fn append(&mut self, mut other: Self) {
        self.is_set &= other.is_set;
        self.pairs.append(&mut other.pairs);
    }

    /// Number of pairs.
    pub(super) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Bytes of the heap, estimated.
    pub(super) fn memory_bytes(&self) -> usize {
        /// Of a pair in a `BTreeSet` filled at random, measured: 29 at 1 M pairs.
        const PAIR: usize = 29;
        self.pairs.len() * PAIR
    }

    fn bounds(&self) -> Option<Bounds> {
        let (&(min, _), &(max, _)) = (self.pairs.first()?, self.pairs.last()?);
        let count = self.pairs.len() as u64;
        Some(Bounds { min, max, count })
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
    /// The delta that the tables cover.
    pub(super) sequence: u64,
    /// By structure, whether it was complete when it was frozen.
    pub(super) complete: Vec<bool>,
    thread: Option<JoinHandle<Result<Vec<Written>, Error>>>,
}

/// A file that is written, and its structure.
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

    /// Waits for the files. After an error none is left.
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
        // Nothing was installed: the next opening removes what is written.
        let _ = self.collect();
    }
}

fn write_all(tables: Vec<ToWrite>, sequence: u64) -> Result<Vec<Written>, Error> {
    let mut written: Vec<Written> = Vec::new();
    for it in tables {
        let Some(bounds) = it.table.bounds() else {
            continue;
        };
        let pairs = || it.table.pairs.iter().copied();
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
