//! A directory that follows a crawl which another process owns, and may take it over.
//!
//! What the owner commits is applied to the store here, to its runs and to its documents, with
//! checkpoints of its own. So the directory is at each moment one that a run could go on from:
//! opening it by [`Crawl::open`](crate::engine::Crawl::open) takes the crawl over. What the owner
//! stores in its archives is not here.

use std::path::Path;
use std::sync::Arc;

use super::super::directory::{DataDirectory, FORMAT};
use super::super::lost;
use super::super::memory::MemoryPlan;
use super::super::promote::close_files;
use super::super::store::{features, open_or_create};
use super::Standby;
use crate::engine::Options;
use crate::engine::commit::{CheckpointLimits, Checkpoints, Site};
use crate::engine::error::Error;
use crate::rows::{CrawlState, Delta, DiskState};
use crate::store::{self, CommitLog, Followed, Store, Table, decode, encode, keys};

/// A directory that follows a crawl.
pub struct Following {
    directory: DataDirectory,
    options: Options,
    store: Arc<dyn Store>,
    follower: store::Follower,
    /// Runs and documents, from when the crawl has begun.
    lookups: Option<(Standby, Checkpoints)>,
    /// Whether the files of the archives that this disk has are whole.
    has_closed: bool,
}

/// What following a crawl for one commit has come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// There may be more.
    Applied,
    /// The crawl has committed nothing more.
    AtEnd,
    /// Its log did not answer, for the reason given.
    Away(String),
}

impl Following {
    /// Follows the crawl of a log from the directory `path`, which has a part of it or is new.
    ///
    /// # Errors
    ///
    /// [`Error::Directory`] if another process has the directory, [`Error::Memory`] if the options
    /// ask for more than [`Options::max_memory`], and [`Error::Store`] if it is another crawl's or
    /// needs a new copy.
    pub fn open(path: &Path, options: &Options, log: Arc<dyn CommitLog>) -> Result<Self, Error> {
        let plan = MemoryPlan::of(options);
        if !plan.fits() {
            return Err(Error::Memory(plan));
        }
        DataDirectory::create(path, options.group.as_deref())?;
        let opening = &options.opening;
        let directory = DataDirectory::take_in_turn(path, || opening.step().is_ok())?;
        lost::check_files(path, options.repair)?;
        let store = open_or_create(&directory, &plan)?;
        let follower = store::Follower::open(Arc::clone(&store), log)?;
        Ok(Self {
            directory,
            options: options.clone(),
            store,
            follower,
            lookups: None,
            has_closed: false,
        })
    }

    /// Returns the position in the log up to which it was read, and the number of the last commit.
    pub fn place(&self) -> (u64, u64) {
        self.follower.place()
    }

    /// Applies the next commit.
    ///
    /// # Errors
    ///
    /// [`store::Error::Outdated`] if the directory needs a new copy, and what goes wrong on this
    /// disk.
    pub fn step(&mut self) -> Result<Step, Error> {
        let followed = self.follower.step()?;
        if !self.has_closed && self.follower.had_others() {
            self.has_closed = true;
            self.close_files()?;
        }
        let batch = match followed {
            Followed::AtEnd => {
                self.checkpoint()?;
                return Ok(Step::AtEnd);
            }
            Followed::Away(reason) => return Ok(Step::Away(reason)),
            Followed::Nothing => return Ok(Step::Applied),
            Followed::Commit(batch) => batch,
        };
        if let Some(format) = batch.put_value(Table::Meta, keys::meta::FORMAT)
            && format != encode(&FORMAT)
        {
            return Err(Error::Internal(
                "the crawl is in a format of another version of gleaner; use that version here too"
                    .to_owned(),
            ));
        }
        if let Some((standby, checkpoints)) = &mut self.lookups {
            if let Some(row) = batch.put_value(Table::Meta, keys::meta::STATE) {
                standby.state = decode(Table::Meta, row)?;
            }
            for (key, row) in batch.puts(Table::Deltas) {
                let delta: Delta = decode(Table::Deltas, row)?;
                if let Ok(sequence) = key.try_into() {
                    let sequence = u64::from_be_bytes(sequence);
                    checkpoints.add(sequence, &delta, row.len());
                    standby.lookups.apply(delta);
                }
            }
        }
        self.checkpoint()?;
        Ok(Step::Applied)
    }

    /// Makes a checkpoint, if one is due.
    fn checkpoint(&mut self) -> Result<(), Error> {
        if self.lookups.is_none() {
            self.lookups = self.open_lookups()?;
        }
        let Some((standby, checkpoints)) = &mut self.lookups else {
            return Ok(());
        };
        let Standby {
            store,
            state,
            disk,
            lookups,
            ..
        } = standby;
        checkpoints.advance(&mut Site {
            store: &**store,
            lookups,
            state,
            disk,
            log: None,
            failpoint: &mut None,
            events: None,
        })
    }

    /// Opens runs and documents, if the crawl has begun.
    fn open_lookups(&self) -> Result<Option<(Standby, Checkpoints)>, Error> {
        let Some(state) = CrawlState::read(&*self.store)? else {
            return Ok(None);
        };
        let disk = DiskState::read(&*self.store)?.unwrap_or_default();
        let options = &self.options;
        let options = Options {
            features: features(&*self.store, options)?,
            ..options.clone()
        };
        let rows = (Arc::clone(&self.store), state, disk);
        let standby = Standby::open(self.directory.path(), rows, &options, &mut None)?;
        let limits = CheckpointLimits::of(&options);
        let checkpoints = Checkpoints::new(limits, standby.deltas);
        Ok(Some((standby, checkpoints)))
    }

    /// Makes whole the files that this disk has from when it owned the crawl.
    fn close_files(&mut self) -> Result<(), Error> {
        let Some(disk) = DiskState::read(&*self.store)? else {
            return Ok(());
        };
        let disk = close_files(&*self.store, self.directory.path(), disk, &self.options)?;
        if let Some((standby, _)) = &mut self.lookups {
            standby.disk.archive = disk.archive;
        }
        Ok(())
    }
}
