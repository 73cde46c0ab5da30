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

mod entry;
#[cfg(test)]
pub(super) mod tests;

use std::cell::Cell;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::batch::{Batch, Change};
use super::{Durability, Error, Result, Row, Store, Table, decode, encode, keys};
use entry::{Entry, Head, Kind, Writer};

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

/// Commits after which the log is trimmed: what the disk has is needed by nobody else so far.
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
}

impl Place {
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
    local: Arc<dyn Store>,
    log: Arc<dyn CommitLog>,
    /// Held for a whole commit. `None` from when an entry could not be appended or applied: then
    /// memory and store may differ from the log, and nothing more is committed.
    place: Mutex<Option<Place>>,
}

impl Replicated {
    /// Brings a store up to the end of its log, and becomes the log's writer.
    ///
    /// # Errors
    ///
    /// [`Error::Log`] if the store was begun without a log, if it is not the log's, if another one
    /// has written behind it, or if the log cannot be had. Waits while it does not answer.
    pub fn open(local: Arc<dyn Store>, log: Arc<dyn CommitLog>) -> Result<Self> {
        let store = Self {
            local,
            log,
            place: Mutex::new(None),
        };
        let place = match place(&*store.local)? {
            Some(place) => place,
            None => store.begin()?,
        };
        let (place, mut end) = store.catch_up(place)?;
        let mut place = match place.has_begun {
            false => place,
            true => Place {
                writer: draw()?,
                former: place.writer,
                has_begun: false,
                ..place
            },
        };
        store.remember(place, Batch::new())?;
        let epoch = store.patiently(|log| log.take(place.epoch))?;
        let mut attempt = 0;
        while place.epoch != epoch {
            let begin = Entry::begin(epoch, place.number, place.writer);
            let bytes = begin.encode().map_err(refused)?;
            match store.log.append(end, &bytes) {
                Ok(at) => place = place.behind(begin.head, &bytes, (end, at)),
                Err(error) => {
                    store.unless_final(error, &mut attempt)?;
                    // What was on its way when an earlier process died may have come.
                    (place, end) = store.catch_up(place)?;
                }
            }
        }
        place.has_begun = true;
        store.remember(place, Batch::new())?;
        *store.place.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
        Ok(store)
    }

    /// Begins where nothing is.
    fn begin(&self) -> Result<Place> {
        if self.local.get(Table::Meta, keys::meta::STATE)?.is_some() {
            return Err(refused(
                "the crawl in this directory was begun without a log; begin another one",
            ));
        }
        self.patiently(|log| log.create())?;
        let writer = draw()?;
        let place = Place {
            writer,
            former: writer,
            has_begun: false,
            position: 0,
            before: 0,
            checksum: 0,
            number: 0,
            epoch: 0,
        };
        self.remember(place, Batch::new())?;
        Ok(place)
    }

    /// Commits to the store what stands in the log, and where that is.
    fn remember(&self, place: Place, mut batch: Batch) -> Result<()> {
        place.put(&mut batch);
        self.local.commit(batch, Durability::Disk)
    }

    /// Applies what the log has behind a place. Returns where the store stands then, and where the
    /// log ends.
    fn catch_up(&self, place: Place) -> Result<(Place, u64)> {
        let (found, mut end) = self.find(place)?;
        let Some(mut place) = found else {
            place.tell_lost();
            return Ok((place, end));
        };
        let mut after = place.position;
        while let Some((at, bytes)) = self.patiently(|log| log.next(after))? {
            let before = std::mem::replace(&mut after, at);
            end = end.max(at);
            let Entry { head, shared, here } = read(at, &bytes)?;
            if head.epoch < place.epoch || place.has_applied(head) {
                continue;
            }
            if !place.is_own(head) {
                return Err(refused(format!(
                    "another worker has gone on with the crawl after commit {}, and what it \
                     fetched is on its disk; go on with its data directory",
                    place.number
                )));
            }
            let follows = place.number + u64::from(head.kind == Kind::Commit);
            if head.number != follows {
                return Err(refused(format!(
                    "it has number {} where {follows} follows; this directory needs a new copy",
                    head.number
                )));
            }
            place = place.behind(head, &bytes, (before, at));
            let mut batch = shared;
            batch.changes.extend(here.changes);
            self.remember(place, batch)?;
        }
        Ok((place, end))
    }

    /// Finds a place in the log, and where the log ends. If the log has lost the entry there,
    /// returns the place where that was said from here, or `None` if it has not yet.
    fn find(&self, place: Place) -> Result<(Option<Place>, u64)> {
        // Asked first: who appends from now on moves the end, and is noticed by that.
        let end = self.patiently(|log| log.end())?;
        if end >= place.position && self.has(place)? {
            return Ok((Some(place), end));
        }
        let mut found = None;
        let mut after = 0;
        loop {
            let next = self.patiently(|log| match log.next(after) {
                Err(LogError::Trimmed { first }) => log.next(first.saturating_sub(1)),
                next => next,
            })?;
            let Some((at, bytes)) = next else {
                return Ok((found, end));
            };
            let head = read(at, &bytes)?.head;
            let is_own = place.is_own(head);
            if head.epoch > place.epoch && !is_own {
                return Err(Error::Stale);
            }
            let goes_on = head.kind == Kind::Begin && head.number == place.number;
            if is_own && goes_on && head.epoch >= place.epoch {
                found = Some(place.behind(head, &bytes, (after, at)));
            }
            after = at;
        }
    }

    /// Whether the log has the entry at a place.
    fn has(&self, place: Place) -> Result<bool> {
        if place.position == 0 {
            return Ok(true);
        }
        let is_trimmed = Cell::new(false);
        let next = self.patiently(|log| match log.next(place.before) {
            // Of an entry of several parts, the last one may be left.
            Err(LogError::Trimmed { first }) if first <= place.position => {
                is_trimmed.set(true);
                log.next(place.position - 1)
            }
            next => next,
        })?;
        Ok(match next {
            Some((at, bytes)) if at == place.position => xxh3_64(&bytes) == place.checksum,
            // What is left of it cannot be compared.
            _ => is_trimmed.get(),
        })
    }

    /// Appends an entry behind a place, and returns the place behind it.
    fn append(&self, mut place: Place, entry: &Entry) -> Result<Place> {
        let epoch = place.epoch;
        let bytes = entry.encode().map_err(refused)?;
        let mut attempt = 0;
        let mut end = Some(place.position);
        loop {
            if let Some(after) = end.take() {
                match self.log.append(after, &bytes) {
                    Ok(at) => return Ok(place.behind(entry.head, &bytes, (after, at))),
                    Err(error) => self.unless_final(error, &mut attempt)?,
                }
            }
            let (found, mut free) = self.find(place)?;
            if let Some(found) = found {
                place = found;
                let mut after = place.position;
                while let Some((at, other)) = self.patiently(|log| log.next(after))? {
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
                if let Err(error) = self.log.append(free, &begin) {
                    self.unless_final(error, &mut attempt)?;
                }
            }
        }
    }

    /// Asks the log, again and again while it does not answer.
    fn patiently<T>(&self, ask: impl Fn(&dyn CommitLog) -> LogResult<T>) -> Result<T> {
        let mut attempt = 0;
        loop {
            match ask(&*self.log) {
                Ok(answer) => return Ok(answer),
                Err(LogError::Moved) => {
                    return Err(refused("it refused what appends nothing"));
                }
                Err(error) => self.unless_final(error, &mut attempt)?,
            }
        }
    }

    /// Returns an error that stays, and waits after others.
    fn unless_final(&self, error: LogError, attempt: &mut u32) -> Result<()> {
        /// Attempts after which a person is told, each time that there were as many again.
        const TOLD: u32 = 8;
        match error {
            LogError::Moved => Ok(()),
            LogError::Away(reason) => {
                *attempt += 1;
                if attempt.is_multiple_of(TOLD) {
                    tracing::warn!(
                        reason,
                        "the crawl's log does not answer; commits wait for it"
                    );
                }
                self.log.pause(*attempt);
                Ok(())
            }
            error => Err(refused(error.to_string())),
        }
    }
}

impl Store for Replicated {
    fn get_many(&self, table: Table, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>> {
        self.local.get_many(table, keys)
    }

    fn range(&self, table: Table, prefix: &[u8], from: &[u8], limit: usize) -> Result<Vec<Row>> {
        self.local.range(table, prefix, from, limit)
    }

    fn commit(&self, batch: Batch, durability: Durability) -> Result<()> {
        let (here, shared): (Vec<_>, Vec<_>) = batch.changes.into_iter().partition(is_here);
        let (here, shared) = (Batch { changes: here }, Batch { changes: shared });
        let mut slot = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        let place = slot
            .take()
            .ok_or_else(|| refused("an earlier commit failed, and none is made since"))?;
        if shared.is_empty() {
            self.local.commit(here, durability)?;
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
        self.remember(place, batch)?;
        *slot = Some(place);
        if place.number.is_multiple_of(COMMITS_PER_TRIM)
            && let Err(error) = self.log.trim(place.before)
        {
            // The next time, more is trimmed.
            tracing::debug!(%error, "the crawl's log was not trimmed");
        }
        Ok(())
    }

    fn reclaim(&self, table: Table) {
        self.local.reclaim(table);
    }

    fn reclaimed(&self) -> Option<bool> {
        self.local.reclaimed()
    }
}

/// A store that is behind a log, for who has not the log: it is read and not written.
pub struct ReadOnly(Arc<dyn Store>);

impl ReadOnly {
    /// Returns the store as it is if it has no log, and else one that is not written.
    pub fn unless_free(store: Arc<dyn Store>) -> Result<Arc<dyn Store>> {
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
            "commits go into it before they go into this directory; run the crawl with it",
        )),
    }
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
    use keys::meta::{DISK, FILES, TEXTS};
    match change.table {
        Table::Deltas => change.value.is_none(),
        Table::Meta => [DISK, FILES, TEXTS].contains(&&*change.key),
        _ => false,
    }
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
