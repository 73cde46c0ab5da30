//! An open crawl: what can be done with it before it runs, and running it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::{oneshot, watch};

use super::clock::Clock;
use super::commit::Committer;
use super::events::Events;
use super::exchange::{Counts, Post};
use super::forget;
use super::history::History;
use super::ring::Open;
use super::ring::control::CommandQueue;
use super::ring::leaving::start_handover;
use super::ring::suspects::Suspects;
use super::visit::{Entry, Seeds};
use super::{
    Control, CopySource, Counters, DataDirectory, Ending, Error, Gauges, LostDisks, LostWorker,
    MemoryPlan, MemoryUse, Omissions, Options, RunLimits, Status, StopHandle, Summary, Watch,
    Widened, WouldAdmit, again, open, ring,
};
use crate::archive::add_earlier_archives;
use crate::frontier::{Moment, Seed};
use crate::handover::HandoverState;
use crate::store::{self, Batch, Durability, Table, keys};
use crate::units::Size;

/// How the value is named of a setting that has none.
const UNSET: &str = "(unset)";

/// A crawl that is open and does not run yet.
///
/// Everything that it knows is in its data directory, which belongs to this process until the crawl
/// is dropped or its run is over. Whatever ends a run, a kill included, the next one goes on where
/// the last commit ended.
pub struct Crawl {
    pub(super) directory: DataDirectory,
    pub(super) options: Options,
    pub(super) committer: Committer,
    pub(super) gauges: watch::Sender<Gauges>,
    pub(super) memory: watch::Sender<MemoryUse>,
    pub(super) resumed: bool,
    /// Until when the previous run may have made visits of which nothing is known.
    pub(super) unknown_until: Option<Moment>,
    pub(super) control: Control,
    pub(super) commands: CommandQueue,
    pub(super) exchanged: watch::Sender<Arc<Counts>>,
    pub(super) plan: MemoryPlan,
    pub(super) handover: watch::Sender<Vec<HandoverState>>,
    pub(super) history: History,
    /// The clock of the run too: what is queued before it must not be due by another one, which may
    /// have been set back meanwhile.
    clock: Clock,
}

impl Crawl {
    /// Opens the crawl in a data directory, or begins one there. Reads the store, so it blocks.
    ///
    /// # Errors
    ///
    /// [`Error::Directory`] if another process has the directory or it holds something else;
    /// [`Error::Memory`] if the options ask for more than [`Options::max_memory`]; an error of the
    /// store, the archive or the log if they cannot be read.
    pub fn open(path: impl AsRef<Path>, mut options: Options) -> Result<Self, Error> {
        let plan = MemoryPlan::of(&options);
        if !plan.fits() {
            return Err(Error::Memory(plan));
        }
        options.fetch.body_budget = Size(plan.bodies as u64);
        options.window = plan.hosts;
        options.fetch.tls_sessions = plan.sessions;
        // Refused before anything is written.
        let earlier = open::archives_of(&options.archive.since, path.as_ref())?;
        DataDirectory::create(path.as_ref(), options.group.as_deref())?;
        let opening = &options.opening;
        let directory = DataDirectory::take_in_turn(path.as_ref(), || opening.step().is_ok())?;
        let unknown_until = Status::unknown_until(path.as_ref(), Clock::start().now());
        let mut committer = open::open(&directory, &options)?;
        if !earlier.is_empty() {
            let newest_first: Vec<_> = earlier.into_iter().rev().collect();
            add_earlier_archives(&path.as_ref().join("warc"), &newest_first)?;
        }
        let clock = Clock::start();
        open::mend_times(&mut committer, clock.now())?;
        committer.suspects = Arc::new(Suspects::open(path.as_ref(), &*committer.store)?);
        options.features = committer.lookups.index.features().clone();
        forget::finish(&mut committer, path.as_ref(), &options)?;
        let resumed = committer.state.queue_sequence > 0;
        let (control, commands) = Control::new(
            Arc::clone(&committer.guard),
            &committer.store,
            path.as_ref(),
            options.clone(),
            committer.events.clone(),
        );
        let exchanged = watch::Sender::new(committer.exchange.counts());
        Ok(Self {
            directory,
            options,
            committer,
            gauges: watch::Sender::new(Gauges::default()),
            memory: watch::Sender::new(MemoryUse::default()),
            resumed,
            unknown_until,
            control,
            commands,
            exchanged,
            plan,
            handover: watch::Sender::default(),
            history: History::open(path.as_ref(), clock.now()),
            clock,
        })
    }

    /// Returns `true` if the crawl existed before.
    pub fn is_resumed(&self) -> bool {
        self.resumed
    }

    /// Returns the counters of the crawl.
    pub fn counters(&self) -> &Counters {
        &self.committer.state.counters
    }

    /// Returns a handle to observe the crawl, while seeds are added and while it runs.
    pub fn watch(&self) -> Watch {
        Watch {
            counters: self.committer.counters.subscribe(),
            deferred: self.committer.deferred.subscribe(),
            gauges: self.gauges.subscribe(),
            memory: [self.memory.subscribe(), self.committer.memory.subscribe()],
            pulse: self.committer.pulse.clone(),
            shares: self.plan.shares().into(),
            handover: self.handover.subscribe(),
            saved: self.committer.saved.subscribe(),
            held: self.committer.held.subscribe(),
            meters: self.committer.meters.clone(),
            history: self.history.clone(),
            events: self.committer.events.clone(),
        }
    }

    /// Returns a handle to send commands to the run. Commands wait until the run begins.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Returns the post of the crawl, if it is one of several shards. What is handed in waits until
    /// the run begins.
    #[doc(hidden)]
    pub fn post(&self) -> Option<Post> {
        let shards = self.committer.exchange.shards;
        let post = || {
            let counts = self.exchanged.subscribe();
            Post::new(
                shards,
                self.control.commands(),
                &self.committer.store,
                counts,
                self.committer.exchange.ear(),
            )
        };
        (!shards.is_one()).then(post)
    }

    /// Puts back what was lost with the disks of workers, unless that was done before. Returns what
    /// that was; `None` if there was nothing to do. Writes to the store, so it blocks.
    #[doc(hidden)]
    pub fn put_back_lost(&mut self, workers: &[LostWorker]) -> Result<Option<LostDisks>, Error> {
        again::put_back_lost(&mut self.committer, workers, &self.options.opening)
    }

    /// Closes the files of the archives, so that what is in them can be searched, and returns the
    /// events of the crawl.
    pub fn close_files(&mut self) -> Result<Events, Error> {
        self.committer.pack(self.clock.now())?;
        self.committer.close_files()?;
        Ok(self.committer.events.clone())
    }

    /// Returns what others make copies from while the crawl runs.
    #[doc(hidden)]
    pub fn copy_source(&self) -> CopySource {
        let path = self.directory.path();
        CopySource::new(&self.committer.store, path, self.options.failpoint)
    }

    /// Ends a run that has nothing to do, and returns its summary. A run that was killed when all
    /// was done has left a file of the archive open, and files that have not left.
    pub fn nothing_to_do(&mut self, stop: &StopHandle) -> Result<Summary, Error> {
        self.committer.close_files()?;
        let handover = start_handover(
            &mut self.committer,
            &self.options,
            self.directory.path(),
            &self.handover,
            stop,
        )?;
        if let Some(handover) = handover {
            handover.finish();
            self.tell_handover();
        }
        Ok(Summary {
            ending: Ending::Drained,
            counters: self.counters().clone(),
            took: Duration::ZERO,
            pages: 0,
            slowest: Vec::new(),
            largest: Vec::new(),
            omissions: Omissions::read(&*self.committer.store, true)?,
        })
    }

    /// Writes how closed files have left into the status that the last run wrote.
    fn tell_handover(&self) {
        let path = self.directory.path();
        let status = Status {
            handover: self.handover.borrow().clone(),
            ..Status::read(path).ok().flatten().unwrap_or_default()
        };
        if let Err(error) = status.write(path) {
            tracing::warn!(%error, "cannot write the status");
        }
    }

    /// Admits seeds given by the user, until asked to stop; those that are known already are not
    /// admitted again. A seed that names a private address opens the guard for that address. Writes
    /// to the store, so it blocks.
    pub fn add_seeds(
        &mut self,
        seeds: impl IntoIterator<Item = impl Into<Seed>>,
        stop: &StopHandle,
    ) -> Result<(), Error> {
        /// Number of seeds per commit.
        const CHUNK: usize = 1_000;
        let mut chunk = Vec::with_capacity(CHUNK);
        for seed in seeds {
            chunk.push(seed.into());
            if chunk.len() == CHUNK {
                self.commit_seeds(std::mem::take(&mut chunk))?;
                if stop.is_stopped() {
                    return Ok(());
                }
            }
        }
        self.commit_seeds(chunk)
    }

    fn commit_seeds(&mut self, seeds: Vec<Seed>) -> Result<(), Error> {
        if !seeds.is_empty() {
            let seeds = Seeds {
                seeds,
                consent: true,
                listed: None,
                reply: None,
            };
            let now = self.clock.now();
            self.committer.commit(vec![Entry::Seeds(seeds)], now)?;
            self.committer.checkpoint_if_due()?;
        }
        Ok(())
    }

    /// Returns the settings that differ from the last run's: name, old value, new value.
    pub fn changed_settings(
        &self,
        settings: &BTreeMap<String, String>,
    ) -> Result<Vec<(String, String, String)>, Error> {
        let store = &self.committer.store;
        let last: BTreeMap<String, String> = match store.get(Table::Meta, keys::meta::SETTINGS)? {
            Some(row) => store::decode(Table::Meta, &row)?,
            None => BTreeMap::new(),
        };
        let text = |value: Option<&String>| value.map_or(UNSET, String::as_str).to_owned();
        let names: BTreeSet<&String> = last.keys().chain(settings.keys()).collect();
        let changed = names
            .into_iter()
            .map(|name| (name, last.get(name), settings.get(name)))
            .filter(|(_, then, now)| !last.is_empty() && then != now)
            .map(|(name, then, now)| (name.clone(), text(then), text(now)));
        Ok(changed.collect())
    }

    /// Stores the settings of this run and returns those that differ from the last run's. If they
    /// let the crawl go further, that is noted too, for [`widen`](Self::widen).
    pub fn compare_settings(
        &mut self,
        settings: &BTreeMap<String, String>,
    ) -> Result<Vec<(String, String, String)>, Error> {
        let changed = self.changed_settings(settings)?;
        let mut batch = Batch::new();
        if changed
            .iter()
            .any(|(name, then, now)| open::is_widened(name, then, now))
        {
            batch.put(Table::Meta, keys::meta::WIDEN, Vec::new());
        }
        batch.put(Table::Meta, keys::meta::SETTINGS, store::encode(settings));
        self.committer.store.commit(batch, Durability::Disk)?;
        Ok(changed)
    }

    /// Reads the links of stored pages again, if settings were changed so that the crawl goes
    /// further than before, until asked to stop: what it passed over is queued. Returns `None` if
    /// there is nothing to do. Writes to the store, so it blocks.
    pub fn widen(&mut self, stop: &StopHandle) -> Result<Option<Widened>, Error> {
        let (path, options) = (self.directory.path(), &self.options);
        open::widen(&mut self.committer, path, options, stop)
    }

    /// Returns what the links of stored pages would lead to by the settings with which the crawl
    /// was opened. Queues nothing.
    pub fn would_admit(&mut self, stop: &StopHandle) -> Result<WouldAdmit, Error> {
        let (path, options) = (self.directory.path(), &self.options);
        open::would_admit(&mut self.committer, path, options, stop)
    }

    /// Crawls until nothing is left, a limit is reached, or it is stopped.
    ///
    /// The crawl runs on threads of its own, with a reactor of its own, so it may be awaited in any
    /// executor and neither slows the other. Dropping the future stops the crawl, as `stop` does.
    ///
    /// # Errors
    ///
    /// What ended the run before its time. What was committed stays, and opening the directory
    /// again goes on from there.
    pub async fn run(self, limits: &RunLimits, stop: &StopHandle) -> Result<Summary, Error> {
        let (limits, handle) = (*limits, stop.clone());
        let (over, result) = oneshot::channel();
        thread::Builder::new()
            .name("crawl".to_owned())
            .spawn(move || {
                // Nobody may wait for it any more.
                let _ = over.send(self.run_blocking(&limits, &handle));
            })
            .map_err(Error::Threads)?;
        let mut unless_awaited = StopOnDrop(Some(stop));
        let result = result.await;
        unless_awaited.0 = None;
        result.unwrap_or_else(|_| Err(Error::Internal("the thread of a crawl died".to_owned())))
    }

    /// As [`run`](Self::run), on this thread: returns when the run is over. Must not be called in a
    /// task of an asynchronous runtime.
    pub fn run_blocking(self, limits: &RunLimits, stop: &StopHandle) -> Result<Summary, Error> {
        let watch = self.watch();
        // Seeds were added since the crawl was opened.
        self.exchanged
            .send_replace(self.committer.exchange.counts());
        let open = Open {
            directory: self.directory,
            options: self.options,
            committer: self.committer,
            gauges: self.gauges,
            memory: self.memory,
            unknown_until: self.unknown_until.filter(|_| self.resumed),
            commands: self.commands,
            exchanged: self.exchanged,
            pages_bytes: self.plan.pages,
            handover: self.handover,
            clock: self.clock.going_on(),
        };
        ring::run(open, watch, limits, stop)
    }
}

/// Stops a run whose future is dropped before its end.
struct StopOnDrop<'a>(Option<&'a StopHandle>);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(stop) = self.0 {
            stop.stop();
        }
    }
}
