//! What a copy is made from: the store and the runs of a crawl that goes on meanwhile.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::chunk::{CopyChunk, CopyCursor, CopyId, Part, distances};
use crate::engine::error::Error;
use crate::engine::failpoint::{Failpoint, Step};
use crate::engine::messages::Over;
use crate::frontier::SEEN;
use crate::runs::FiledKeys;
use crate::store::copy::{NextRow, Origin};
use crate::store::{Store, Table, keys};

/// Bytes of rows, or of keys, of a chunk: it fits into a message as it is compressed.
const BYTES: usize = 512 << 10;

/// A crawl that goes on, of which copies are made. It remembers nothing that must not be lost.
pub struct CopySource {
    /// Weak, so that it does not keep the store open after the crawl.
    store: Weak<dyn Store>,
    runs: PathBuf,
    /// What the files of the URLs seen had when their first key was read.
    seen: Option<FiledKeys>,
    /// That of all copies.
    failpoint: Arc<Mutex<Option<Failpoint>>>,
}

impl fmt::Debug for CopySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CopySource").finish_non_exhaustive()
    }
}

impl CopySource {
    /// The crawl in a data directory, by its store.
    pub(crate) fn new(store: &Arc<dyn Store>, data: &Path, failpoint: Option<Failpoint>) -> Self {
        Self {
            store: Arc::downgrade(store),
            runs: data.join("runs"),
            seen: None,
            failpoint: Arc::new(Mutex::new(failpoint)),
        }
    }

    /// The same crawl, for another copy.
    #[must_use]
    pub fn another(&self) -> Self {
        Self {
            store: Weak::clone(&self.store),
            runs: self.runs.clone(),
            seen: None,
            failpoint: Arc::clone(&self.failpoint),
        }
    }

    /// Returns what a copy is given behind a cursor. Reads the store, so it blocks.
    ///
    /// # Errors
    ///
    /// [`Error::Over`] if the crawl has ended, and what the disk says.
    pub fn chunk(&mut self, id: CopyId, from: &CopyCursor) -> Result<CopyChunk, Error> {
        self.chunk_of(id, from, BYTES)
    }

    pub(super) fn chunk_of(
        &mut self,
        id: CopyId,
        from: &CopyCursor,
        bytes: usize,
    ) -> Result<CopyChunk, Error> {
        let store = self.store.upgrade().ok_or(Over)?;
        // Read before the rows are: it is never of later than they.
        let origin = Origin::of(&*store)?;
        let origin = origin.ok_or_else(|| Error::Internal("the crawl has no log".to_owned()))?;
        let (to, part) = match from {
            CopyCursor::Start => {
                let format = store.get(Table::Meta, keys::meta::FORMAT)?;
                let format = format.unwrap_or_default();
                let part = Part::Start { origin, format };
                (CopyCursor::Row(NextRow::first()), part)
            }
            CopyCursor::Row(row) => {
                let (batch, next) = row.read(&*store, bytes)?;
                // What leaves the deltas from here on is in the files.
                self.seen = None;
                let to = next.map_or(CopyCursor::Seen(0), CopyCursor::Row);
                (to, Part::Rows(batch.encode()))
            }
            CopyCursor::Seen(key) => {
                let seen = match self.seen.take() {
                    Some(seen) => seen,
                    None => FiledKeys::open(&self.runs, SEEN)?,
                };
                let seen = self.seen.insert(seen);
                let carried = distances(seen.from(*key).take(bytes / size_of::<u64>()));
                let last = carried.iter().fold(0_u64, |sum, it| sum.wrapping_add(*it));
                let to = match last.checked_add(1) {
                    Some(next) if !carried.is_empty() => CopyCursor::Seen(next),
                    _ => CopyCursor::End,
                };
                (to, Part::Seen(carried))
            }
            // Read again: it is of now.
            CopyCursor::End => (CopyCursor::End, Part::End(origin)),
        };
        let failpoint = self.failpoint.lock();
        let mut failpoint = failpoint.unwrap_or_else(PoisonError::into_inner);
        Failpoint::reach(&mut failpoint, Step::CopyGiven);
        Ok(CopyChunk {
            id,
            epoch: origin.epoch,
            from: from.clone(),
            to,
            part,
        })
    }
}
