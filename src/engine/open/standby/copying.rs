//! Making a directory that follows a crawl out of another worker's, where the log does not have
//! any more what is lacking here.
//!
//! Rows are copied, and so are the URLs seen, of which rows do not tell all: what was sent to other
//! shards, for one. Documents, and the runs that lead to them, are made from rows, as at a start
//! that finds them damaged: they are half of what a directory has, and nothing is lost of them.
//! Rows that come to be of one moment only by the log ([`copy`]) are not looked into before.
//!
//! How far it is stands in a row, written with what was taken. So it is gone on with after a kill,
//! as long as the same owner gives the rest; what two owners have is not put together. What this
//! disk has of the archives, from when it owned the crawl, stays.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::directory::{DataDirectory, FORMAT};
use super::super::lost;
use super::super::memory::MemoryPlan;
use super::super::rebuild::{REBUILD_CHUNK, forget_lookups, open_runs};
use super::super::store::open_or_create;
use super::chunk::{CopyChunk, CopyCursor, CopyId, Part, keys as carried_keys};
use crate::engine::Options;
use crate::engine::commit::{DEDUP_RUNS, SEEN_RUNS};
use crate::engine::error::Error;
use crate::engine::failpoint::{Failpoint, Step};
use crate::engine::messages::Stopped;
use crate::rows::{CrawlState, DiskState};
use crate::runs::{Catalog, Runs};
use crate::store::copy::{self, Origin};
use crate::store::{
    self, Batch, CommitLog, Durability, Followed, Follower, Store, Table, decode, encode, keys,
};

/// A directory that is being made.
pub struct Copying {
    directory: DataDirectory,
    store: Arc<dyn Store>,
    log: Arc<dyn CommitLog>,
    failpoint: Option<Failpoint>,
    progress: Progress,
    /// What is taken next, which may be ahead of what is on the disk.
    next: CopyCursor,
    /// The position in the log behind which it is read.
    position: u64,
    /// The URLs seen, once the first of them has come.
    runs: Option<Catalog>,
    /// How many of them are not on the disk.
    waiting: usize,
    follower: Option<Follower>,
}

/// How far it is: the row `copying`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Progress {
    id: CopyId,
    /// Which owner's it is a copy of.
    epoch: u64,
    /// What is taken next. Until it is the start, what was here before is being removed.
    next: Option<CopyCursor>,
    /// Behind which commit it is complete.
    end: Option<Origin>,
}

/// What a copy needs to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopyStep {
    /// The next chunk.
    Chunk,
    /// It may go on at once.
    Applied,
    /// More commits in the log.
    AtEnd,
    /// The log, which did not answer for the reason given.
    Away(String),
    /// Nothing: the directory follows the crawl from now on.
    Complete,
}

impl Copying {
    /// Begins to make a copy in the directory `path`, or goes on with it. What it had of the crawl
    /// is removed; its archives stay.
    ///
    /// # Errors
    ///
    /// [`Error::Directory`] if another process has the directory, and what the disk says.
    pub fn open(path: &Path, options: &Options, log: Arc<dyn CommitLog>) -> Result<Self, Error> {
        DataDirectory::create(path, options.group.as_deref())?;
        let opening = &options.opening;
        let directory = DataDirectory::take_in_turn(path, || opening.step().is_ok())?;
        lost::check_files(path, options.repair)?;
        let store = open_or_create(&directory, &MemoryPlan::of(options))?;
        let row = store.get(Table::Meta, keys::meta::COPYING)?;
        let known: Option<Progress> = row.map(|row| decode(Table::Meta, &row)).transpose()?;
        let is_new = known.is_none();
        let progress = known.map_or_else(Progress::draw, Ok)?;
        let origin = Origin::of(&*store)?.filter(|_| !is_new);
        let mut copying = Self {
            directory,
            store,
            log,
            failpoint: options.failpoint,
            next: progress.next.clone().unwrap_or(CopyCursor::Start),
            position: origin.map_or(0, |it| it.position),
            progress,
            runs: None,
            waiting: 0,
            follower: None,
        };
        if copying.progress.next.is_none() {
            copying.clear(options)?;
        }
        Ok(copying)
    }

    /// Returns which copy it is, and what it is given next. Of what was taken, it may be given
    /// some again after a kill.
    pub fn wish(&self) -> (CopyId, CopyCursor) {
        (self.progress.id, self.next.clone())
    }

    /// Returns the position in the log up to which nothing is needed of it.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Takes a chunk. Returns whether it was the one that follows.
    ///
    /// # Errors
    ///
    /// [`Error::Internal`] if it is of another version of gleaner; what is wrong with this disk.
    pub fn take(&mut self, chunk: CopyChunk, options: &Options) -> Result<bool, Error> {
        if chunk.id != self.progress.id || chunk.from != self.next {
            return Ok(false);
        }
        let mut batch = Batch::new();
        match chunk.part {
            Part::Start { origin, format } => {
                if format != encode(&FORMAT) {
                    return Err(other_version());
                }
                origin.put(&mut batch)?;
                self.position = origin.position;
                self.progress.epoch = chunk.epoch;
            }
            // Of an owner that is over and does not know it yet.
            _ if chunk.epoch < self.progress.epoch => return Ok(false),
            _ if chunk.epoch > self.progress.epoch => {
                tracing::info!("the shard has another owner: its copy begins again");
                self.again(options)?;
                return Ok(true);
            }
            Part::Rows(rows) => {
                batch = Batch::decode(&rows).map_err(|error| unreadable(&error.to_string()))?;
                if !copy::is_of_a_copy(&batch) {
                    return Err(unreadable("it has rows of another kind"));
                }
            }
            Part::Seen(distances) => {
                let keys = carried_keys(&distances);
                let keys = keys.ok_or_else(|| unreadable("it has keys of another kind"))?;
                self.waiting += keys.len();
                let runs = self.runs()?;
                for key in keys {
                    runs[SEEN_RUNS].insert(key, 0);
                }
                self.next = chunk.to.clone();
                if self.waiting < REBUILD_CHUNK && chunk.to != CopyCursor::End {
                    return Ok(true);
                }
                self.runs()?.checkpoint(0)?;
                self.waiting = 0;
            }
            Part::End(origin) => self.progress.end = Some(origin),
        }
        self.next = chunk.to.clone();
        self.progress.next = Some(chunk.to);
        self.progress.put(&mut batch);
        self.store.commit(batch, Durability::Disk)?;
        Failpoint::reach(&mut self.failpoint, Step::CopyTaken);
        Ok(true)
    }

    /// Goes on, as far as that needs no chunk: reads the log once all of them are here.
    ///
    /// # Errors
    ///
    /// What goes wrong on this disk.
    pub fn step(&mut self, options: &Options) -> Result<CopyStep, Error> {
        let Some(end) = self.progress.end else {
            return Ok(CopyStep::Chunk);
        };
        match self.follow(end) {
            Err(Error::Store(store::Error::Outdated { reason })) => {
                tracing::info!(reason, "the copy of the shard begins again");
                self.again(options)?;
                Ok(CopyStep::Chunk)
            }
            step => step,
        }
    }

    fn follow(&mut self, end: Origin) -> Result<CopyStep, Error> {
        let follower = match self.follower.take() {
            Some(follower) => follower,
            None => copy::follow(Arc::clone(&self.store), Arc::clone(&self.log))?,
        };
        let follower = self.follower.insert(follower);
        let (_, number) = follower.place();
        if follower.epoch() > end.epoch && number < end.number {
            return Err(Error::Store(store::Error::Outdated {
                reason: format!(
                    "another owner went on behind commit {number}, and it has rows of commit {}, \
                     which the log has lost",
                    end.number
                ),
            }));
        }
        if number >= end.number {
            self.complete()?;
            return Ok(CopyStep::Complete);
        }
        let step = match follower.step()? {
            Followed::AtEnd => CopyStep::AtEnd,
            Followed::Away(reason) => CopyStep::Away(reason),
            Followed::Nothing | Followed::Commit(_) => CopyStep::Applied,
        };
        self.position = follower.place().0;
        Ok(step)
    }

    /// From here on the rows are those of one moment, and the rest is made from them when the
    /// directory is opened.
    fn complete(&mut self) -> Result<(), Error> {
        let format = self.store.get(Table::Meta, keys::meta::FORMAT)?;
        if format.is_some_and(|it| it != encode(&FORMAT)) {
            return Err(other_version());
        }
        let state = CrawlState::read(&*self.store)?.unwrap_or_default();
        let disk = DiskState {
            runs_checkpointed: 0,
            documents_checkpointed: state.last_document,
            unpurged: 0,
            is_purging: false,
            dead_rows: 0,
            ..DiskState::read(&*self.store)?.unwrap_or_default()
        };
        let mut batch = Batch::new();
        batch.put(Table::Meta, keys::meta::DISK, encode(&disk));
        batch.delete(Table::Meta, keys::meta::COPYING);
        Ok(self.store.commit(batch, Durability::Disk)?)
    }

    /// Begins again.
    fn again(&mut self, options: &Options) -> Result<(), Error> {
        self.progress = Progress::draw()?;
        self.clear(options)
    }

    /// Removes what is here of the crawl, all but its archives.
    fn clear(&mut self, options: &Options) -> Result<(), Error> {
        (self.runs, self.waiting, self.follower) = (None, 0, None);
        (self.next, self.position) = (CopyCursor::Start, 0);
        let mut batch = Batch::new();
        self.progress.next = None;
        self.progress.end = None;
        self.progress.put(&mut batch);
        self.store.commit(batch, Durability::Disk)?;
        if !copy::clear(&*self.store, || options.opening.step().is_ok())? {
            return Err(Stopped.into());
        }
        let path = self.directory.path();
        forget_lookups(path)?;
        let (mut runs, _) = open_runs(path)?;
        // They are made from rows.
        runs[DEDUP_RUNS..].iter_mut().for_each(Runs::clear);
        runs.checkpoint(0)?;
        let mut batch = Batch::new();
        self.progress.next = Some(CopyCursor::Start);
        self.progress.put(&mut batch);
        Ok(self.store.commit(batch, Durability::Disk)?)
    }

    fn runs(&mut self) -> Result<&mut Catalog, Error> {
        let runs = match self.runs.take() {
            Some(runs) => runs,
            None => open_runs(self.directory.path())?.0,
        };
        Ok(self.runs.insert(runs))
    }
}

impl Progress {
    fn draw() -> Result<Self, Error> {
        let mut id = CopyId::default();
        getrandom::fill(&mut id)
            .map_err(|error| Error::Internal(format!("no random bytes: {error}")))?;
        Ok(Self {
            id,
            epoch: 0,
            next: None,
            end: None,
        })
    }

    fn put(&self, batch: &mut Batch) {
        batch.put(Table::Meta, keys::meta::COPYING, encode(self));
    }
}

fn other_version() -> Error {
    Error::Internal(
        "the crawl is in a format of another version of gleaner; use that version here too"
            .to_owned(),
    )
}

fn unreadable(reason: &str) -> Error {
    Error::Internal(format!("a part of the copy cannot be read: {reason}"))
}
