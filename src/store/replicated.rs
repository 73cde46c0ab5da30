//! A store whose commits go into a log first: an ordered log elsewhere, which outlives this disk
//! and this process, and from which others make copies.
//!
//! A commit is appended to the log where its writer takes the log to end, and is then applied here.
//! So the store is never ahead of the log, and a writer that is behind cannot commit. What a
//! process that was killed in between had appended, the next one applies.
//!
//! Where the answer to an append is lost, the log says what happened: the entry is there; or it is
//! not, and is appended again; or another writer's stands in its place, and this one is over. Where
//! the log has lost entries that this store has, the writer says so in the log and goes on.
//!
//! Each owner of a log has a higher epoch than those before it, and begins by an entry that says
//! so. Entries of a lower epoch behind it are void; there are none unless the log lost its end.

pub mod copy;
mod entry;
mod follower;
mod reach;
#[cfg(test)]
pub(super) mod tests;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::batch::{Batch, Change};
use super::{Durability, Error, Result, Row, Store, Table, decode, encode, keys};
use entry::{Entry, Head, Kind, Writer};
use reach::{As, Reach};

pub use follower::{Followed, Follower};

/// A log of commits. Positions ascend; 0 is before the first entry.
pub trait CommitLog: Send + Sync + fmt::Debug {
    /// Makes the log if there is none. Called by who has nothing of it yet.
    fn create(&self) -> LogResult<()>;

    /// Becomes the owner of the log, and returns the epoch, which is higher than that of each owner
    /// before and than `above`.
    fn take(&self, above: u64) -> LogResult<u64>;

    /// Appends an entry if the log ends at `after`, and returns its position.
    fn append(&self, after: u64, entry: &[u8]) -> LogResult<u64>;

    /// Returns the entry that follows position `after`, and its own position.
    fn next(&self, after: u64) -> LogResult<Option<(u64, Vec<u8>)>>;

    /// Returns the position at which the log ends.
    fn end(&self) -> LogResult<u64>;

    /// Removes the entries through this position, but not the last one.
    fn trim(&self, through: u64) -> LogResult<()>;

    /// Waits before what was not answered is tried for the n-th time again.
    fn pause(&self, attempt: u32) {
        /// The first and the longest wait.
        const FIRST: Duration = Duration::from_millis(50);
        const LONGEST: Duration = Duration::from_secs(2);
        std::thread::sleep(FIRST.saturating_mul(1 << attempt.min(10)).min(LONGEST));
    }
}

/// Commits after which the log is trimmed, as far as nobody else needs what the disk has.
const COMMITS_PER_TRIM: u64 = 256;

/// The result of a call to a log.
pub type LogResult<T> = std::result::Result<T, LogError>;

/// Why a log does not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// It does not end where the writer takes it to end. Nothing was appended.
    #[error("it ends elsewhere")]
    Moved,
    /// There was no answer. What was to be appended may be there, or come later.
    #[error("it does not answer: {0}")]
    Away(String),
    /// The entries before this position are gone.
    #[error("what stood before position {first} is gone")]
    Trimmed {
        /// The first position that is left.
        first: u64,
    },
    /// It cannot be had, for the reason given.
    #[error("{0}")]
    Refused(String),
}

/// Where a store stands in its log: the row `log` of `Meta`, which no entry has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    /// Who writes to the log from here, since the last start.
    writer: Writer,
    /// Who did before. What it had on its way when it died may still come.
    former: Writer,
    /// Whether the writer has begun. Until then it is that of the next start too.
    has_begun: bool,
    /// Position of the last entry that was applied; 0 if there was none.
    position: u64,
    /// A position before it, behind which it is the first entry.
    before: u64,
    /// Its checksum.
    checksum: u64,
    /// Number of the last commit.
    number: u64,
    /// The highest epoch that was seen.
    epoch: u64,
    /// Whether others have committed since the last owner from here began: their files are on other
    /// disks.
    had_others: bool,
}

impl Place {
    /// Before the first entry.
    fn at_the_beginning() -> Result<Self> {
        let writer = draw()?;
        Ok(Self {
            writer,
            former: writer,
            has_begun: false,
            position: 0,
            before: 0,
            checksum: 0,
            number: 0,
            epoch: 0,
            had_others: false,
        })
    }

    /// The place behind an entry.
    fn behind(self, head: Head, bytes: &[u8], (before, position): (u64, u64)) -> Self {
        Self {
            position,
            before,
            checksum: xxh3_64(bytes),
            number: head.number,
            epoch: head.epoch,
            ..self
        }
    }

    /// Whether an entry comes from this directory, and not from another one or a copy.
    fn is_own(&self, head: Head) -> bool {
        [self.writer, self.former].contains(&head.writer)
    }

    /// Whether a commit from here was applied before: it was on its way for so long that another
    /// try was there before it, and the log has lost that one since.
    fn has_applied(&self, head: Head) -> bool {
        head.kind == Kind::Commit && self.is_own(head) && head.number <= self.number
    }

    /// Tells a person that the log does not have the entry here.
    fn tell_lost(&self) {
        tracing::warn!(
            commit = self.number,
            "the log has lost commits that this directory has; it goes on behind them"
        );
    }

    fn put(&self, batch: &mut Batch) {
        batch.put(Table::Meta, keys::meta::LOG, encode(self));
    }
}

/// A store behind a log.
pub struct Replicated {
    reach: Reach,
    /// Held for a whole commit. `None` from when an entry could not be appended or applied: then
    /// memory and store may differ from the log, and nothing more is committed.
    place: Mutex<Option<Place>>,
}

impl Replicated {
    /// Brings a store up to the end of its log, and becomes the log's writer.
    ///
    /// # Errors
    ///
    /// [`Error::Log`] if the store was begun without a log, if it is not the log's, or if the log
    /// cannot be had; [`Error::Outdated`] if the log does not have any more what the store lacks.
    /// Waits while it does not answer.
    pub fn open(local: Arc<dyn Store>, log: Arc<dyn CommitLog>) -> Result<Self> {
        let reach = Reach { local, log };
        refuse_unfinished(&*reach.local)?;
        let (place, mut end) = reach.catch_up(reach.place()?)?;
        let mut place = match place.has_begun {
            false => place,
            true => Place {
                writer: draw()?,
                former: place.writer,
                has_begun: false,
                ..place
            },
        };
        reach.remember(place, Batch::new())?;
        let epoch = reach.patiently(|log| log.take(place.epoch))?;
        let mut attempt = 0;
        while place.epoch != epoch {
            let begin = Entry::begin(epoch, place.number, place.writer);
            let bytes = begin.encode().map_err(refused)?;
            match reach.log.append(end, &bytes) {
                Ok(at) => place = place.behind(begin.head, &bytes, (end, at)),
                Err(error) => {
                    reach.unless_final(error, &mut attempt)?;
                    // What was on its way when an earlier process died may have come.
                    (place, end) = reach.catch_up(place)?;
                }
            }
        }
        let mut batch = Batch::new();
        if std::mem::take(&mut place.had_others) {
            batch.put(Table::Meta, keys::meta::TAKEN_OVER, Vec::new());
        }
        place.has_begun = true;
        reach.remember(place, batch)?;
        Ok(Self {
            reach,
            place: Mutex::new(Some(place)),
        })
    }

    /// Appends an entry behind a place, and returns the place behind it.
    fn append(&self, mut place: Place, entry: &Entry) -> Result<Place> {
        let reach = &self.reach;
        let epoch = place.epoch;
        let bytes = entry.encode().map_err(refused)?;
        let mut attempt = 0;
        let mut end = Some(place.position);
        loop {
            if let Some(after) = end.take() {
                match reach.log.append(after, &bytes) {
                    Ok(at) => return Ok(place.behind(entry.head, &bytes, (after, at))),
                    Err(error) => reach.unless_final(error, &mut attempt)?,
                }
            }
            let (found, mut free) = reach.find(place, As::Owner)?;
            if let Some(found) = found {
                place = found;
                let mut after = place.position;
                while let Some((at, other)) = reach.next(after)? {
                    let before = std::mem::replace(&mut after, at);
                    free = free.max(at);
                    if other == bytes {
                        return Ok(place.behind(entry.head, &bytes, (before, at)));
                    }
                    let head = read(at, &other)?.head;
                    if head.epoch >= epoch && !place.has_applied(head) {
                        return Err(Error::Stale);
                    }
                }
                end = Some(free);
            } else {
                place.tell_lost();
                let begin = Entry::begin(epoch, place.number, place.writer);
                let begin = begin.encode().map_err(refused)?;
                // Whether it is there is seen when it is looked for.
                if let Err(error) = reach.log.append(free, &begin) {
                    reach.unless_final(error, &mut attempt)?;
                }
            }
        }
    }
}

impl Store for Replicated {
    fn get_many(&self, table: Table, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        self.reach.local.get_many(table, keys)
    }

    fn range(&self, table: Table, prefix: &[u8], from: &[u8], limit: usize) -> Result<Vec<Row>> {
        self.reach.local.range(table, prefix, from, limit)
    }

    fn commit(&self, batch: Batch, durability: Durability) -> Result<()> {
        let (here, shared): (Vec<_>, Vec<_>) = batch.changes.into_iter().partition(is_here);
        let (here, shared) = (Batch { changes: here }, Batch { changes: shared });
        let mut slot = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        let place = slot
            .take()
            .ok_or_else(|| refused("an earlier commit failed, and none is made since"))?;
        if shared.is_empty() {
            self.reach.local.commit(here, durability)?;
            *slot = Some(place);
            return Ok(());
        }
        let head = Head {
            kind: Kind::Commit,
            epoch: place.epoch,
            number: place.number + 1,
            writer: place.writer,
        };
        let entry = Entry { head, shared, here };
        let place = self.append(place, &entry)?;
        let mut batch = entry.shared;
        batch.changes.extend(entry.here.changes);
        // Not less than the log keeps: the next commit builds on it.
        self.reach.remember(place, batch)?;
        *slot = Some(place);
        if place.number.is_multiple_of(COMMITS_PER_TRIM)
            && let Err(error) = self.reach.log.trim(place.before)
        {
            // The next time, more is trimmed.
            tracing::debug!(%error, "the crawl's log was not trimmed");
        }
        Ok(())
    }

    fn reclaim(&self, table: Table) {
        self.reach.local.reclaim(table);
    }

    fn reclaimed(&self) -> Option<bool> {
        self.reach.local.reclaimed()
    }
}

/// A store that is behind a log, for who has not the log: it is read and not written.
pub struct ReadOnly(Arc<dyn Store>);

impl ReadOnly {
    /// Returns the store as it is if it has no log, and else one that is not written.
    pub fn unless_free(store: Arc<dyn Store>) -> Result<Arc<dyn Store>> {
        refuse_unfinished(&*store)?;
        Ok(match place(&*store)? {
            None => store,
            Some(_) => Arc::new(Self(store)),
        })
    }
}

impl Store for ReadOnly {
    fn get_many(&self, table: Table, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        self.0.get_many(table, keys)
    }

    fn range(&self, table: Table, prefix: &[u8], from: &[u8], limit: usize) -> Result<Vec<Row>> {
        self.0.range(table, prefix, from, limit)
    }

    fn commit(&self, _: Batch, _: Durability) -> Result<()> {
        Err(refused(
            "it is written before this directory is; change the crawl where it runs with its log",
        ))
    }

    fn reclaim(&self, _: Table) {}

    fn reclaimed(&self) -> Option<bool> {
        None
    }
}

/// Refuses a store that is behind a log, for who would write to it without.
pub fn refuse_logged(store: &dyn Store) -> Result<()> {
    match place(store)? {
        None => Ok(()),
        Some(_) => Err(refused(
            "commits go into it before they go into this directory, a shard of a crawl of several \
             workers; `gleaner worker` goes on with it",
        )),
    }
}

/// Refuses a store whose copy is not complete.
fn refuse_unfinished(store: &dyn Store) -> Result<()> {
    match store.get(Table::Meta, keys::meta::COPYING)? {
        None => Ok(()),
        Some(_) => Err(Error::Outdated {
            reason: "the one that was begun is not complete".to_owned(),
        }),
    }
}

/// Returns the first entry of a log that is made again, because what it had is lost: it goes on
/// behind the commit of this number, which owner `epoch` made or one before. Who lacks that commit
/// needs a copy, and cannot own the log until it has one.
pub fn begin_again(epoch: u64, number: u64) -> Result<Vec<u8>> {
    let begin = Entry::begin(epoch, number, draw()?);
    begin.encode().map_err(refused)
}

fn draw() -> Result<Writer> {
    let mut writer = Writer::default();
    getrandom::fill(&mut writer).map_err(|error| refused(format!("no random bytes: {error}")))?;
    Ok(writer)
}

fn place(store: &dyn Store) -> Result<Option<Place>> {
    let row = store.get(Table::Meta, keys::meta::LOG)?;
    row.map(|row| decode(Table::Meta, &row)).transpose()
}

/// Whether a change is about the files of this disk, and of no meaning to who has others. Deltas
/// are put by commits and deleted by the checkpoint of each disk.
fn is_here(change: &Change) -> bool {
    match change.table {
        Table::Deltas => change.value.is_none(),
        table => is_of_this_disk(table, &change.key),
    }
}

/// Whether a row is about the files of this disk, or about where this store stands.
fn is_of_this_disk(table: Table, key: &[u8]) -> bool {
    use keys::meta::{COPYING, DISK, LOG, NEXT_NUMBER, OTHERS, TAKEN_OVER, TEXTS, UNASKED};
    let names = [
        COPYING,
        DISK,
        LOG,
        NEXT_NUMBER,
        OTHERS,
        TAKEN_OVER,
        TEXTS,
        UNASKED,
    ];
    table == Table::Meta && names.contains(&key)
}

fn read(at: u64, bytes: &[u8]) -> Result<Entry> {
    Entry::decode(bytes).map_err(|reason| {
        refused(format!(
            "the entry at position {at} cannot be read: {reason}"
        ))
    })
}

fn refused(reason: impl Into<String>) -> Error {
    Error::Log {
        reason: reason.into(),
    }
}
