//! The engine: the only place where one stage's output becomes the next one's input.
//!
//! Read [`visit`] first: the steps of a URL's way as types. `scheduler`, `fetchers`, `analysts` and
//! `committer` each make one step; `recover` opens what a crash left; `observe` shows what goes on.

pub mod rehearsal;
pub mod study;
pub mod visit;

mod aliases;
mod analysts;
mod clock;
mod committer;
mod comparison;
mod control;
mod directory;
mod disk;
mod dups;
mod effects;
mod expiry;
mod failpoint;
mod feed;
mod fetchers;
mod follow;
mod hosts_now;
mod judge;
mod known;
mod learned;
mod lessons;
mod membership;
mod memory;
mod observe;
mod options;
mod pending_line;
mod reading;
mod records;
mod recover;
mod refingerprint;
mod refusals;
mod reputation;
mod retry;
mod revisit;
mod run_hosts;
mod scheduler;
mod similar;
mod sitemaps;
mod succession;
mod why;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use tokio::sync::{mpsc, watch};

pub use control::{Control, Over, SeedsAdded, StopHandle};
pub use directory::{DataDirectory, DirectoryError};
pub use dups::{
    Cluster, ClusterFigures, Cursor, Dups, HostDuplicates, Member, Report, ReportOptions,
    TierFigures,
};
pub use failpoint::{Failpoint, Step};
pub use feed::{Feed, Outlook, Position};
pub use hosts_now::HostsNow;
pub use known::known_files;
pub use learned::{Learned, LearnedAlias, LearnedRule, learned};
pub use memory::MemoryPlan;
pub use observe::{Gauges, Limit, MemoryUse, Status, Watch};
pub use options::{ArchiveOptions, LiveOptions, Options, RunLimits};
pub use records::StorePolicy;
pub use retry::{PutBack, Retried, RetryCursor, RetryFilter, retry, retry_classes};
pub use run_hosts::HostFigures;
pub use scheduler::Ending;
pub use similar::{Original, Similar, SimilarPage, Subject};
pub use why::{AdmissionNow, HostNow, QueuedNow, Reading, RobotsNow, UrlState, Visited, Why, why};

pub use crate::journal::{Digests, LogError, LogLine, PageLine, RecordPlace, Texts};
pub use crate::rows::{Counters, Duplicate, Fate, Judgement, PageRecord, Rank};

use crate::fetch::Fetcher;
use crate::frontier::{Moment, Schedule, ScheduleOptions};
use crate::rows::CrawlState;
use crate::store::{Batch, Durability, Table, keys};
use crate::url::Url;
use crate::{archive, dedup, fetch, robots, runs, store};

use analysts::Analysts;
use clock::Clock;
use committer::Committer;
use control::Command;
use disk::Disk;
use fetchers::Fetchers;
use reading::Reader;
use scheduler::{Event, Scheduler};
use visit::{Entry, Seeds};

/// What a run did.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Why it ended.
    pub ending: Ending,
    /// What was done since the crawl began.
    pub counters: Counters,
    /// How long this run took.
    pub took: Duration,
    /// URLs whose server answered in this run.
    pub pages: u64,
    /// The hosts of this run that took longest to answer, the slowest first.
    pub slowest: Vec<HostFigures>,
    /// The hosts of this run that sent most, the largest first.
    pub largest: Vec<HostFigures>,
}

impl Summary {
    /// Pages a second in this run.
    pub fn pages_per_second(&self) -> f64 {
        // A run that fetched nothing may have taken no time.
        self.pages as f64 / self.took.as_secs_f64().max(0.001)
    }
}

/// A crawl that is open and not running.
pub struct Crawl {
    directory: DataDirectory,
    options: Options,
    committer: Committer,
    gauges: watch::Sender<Gauges>,
    memory: watch::Sender<MemoryUse>,
    resumed: bool,
    control: Control,
    commands: mpsc::Receiver<Command>,
}

impl Crawl {
    /// Opens the crawl in a data directory, or begins one there.
    pub fn open(path: &Path, mut options: Options) -> Result<Self, Error> {
        let plan = MemoryPlan::of(&options);
        if !plan.fits() {
            return Err(Error::Memory(plan));
        }
        options.fetch.body_budget_bytes = plan.bodies;
        options.window = plan.hosts;
        let directory = DataDirectory::take(path)?;
        let committer = recover::open(&directory, &options)?;
        let resumed = committer.state.queue_sequence > 0;
        let (control, commands) = Control::new(
            Arc::clone(&committer.guard),
            &committer.store,
            options.clone(),
        );
        Ok(Self {
            directory,
            options,
            committer,
            gauges: watch::Sender::new(Gauges::default()),
            memory: watch::Sender::new(MemoryUse::default()),
            resumed,
            control,
            commands,
        })
    }

    /// Whether there was a crawl already.
    pub fn is_resumed(&self) -> bool {
        self.resumed
    }

    /// What was done so far.
    pub fn counters(&self) -> &Counters {
        &self.committer.state.counters
    }

    /// What can be looked at while seeds are added and while it runs.
    pub fn watch(&self) -> Watch {
        Watch {
            counters: self.committer.counters.subscribe(),
            gauges: self.gauges.subscribe(),
            memory: [self.memory.subscribe(), self.committer.memory.subscribe()],
        }
    }

    /// Speaks to the run of this crawl: what is asked before it began waits.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// The summary of a run that had nothing to do.
    pub fn nothing_to_do(&self) -> Summary {
        Summary {
            ending: Ending::Drained,
            counters: self.counters().clone(),
            took: Duration::ZERO,
            pages: 0,
            slowest: Vec::new(),
            largest: Vec::new(),
        }
    }

    /// Admits seeds given by the user, until asked to stop; those that are known already are not
    /// admitted again.
    pub fn add_seeds(
        &mut self,
        seeds: impl Iterator<Item = Url>,
        stop: &StopHandle,
    ) -> Result<(), Error> {
        /// Seeds in one commit.
        const CHUNK: usize = 1_000;
        let mut chunk = Vec::with_capacity(CHUNK);
        for seed in seeds {
            chunk.push(seed);
            if chunk.len() == CHUNK {
                self.commit_seeds(std::mem::take(&mut chunk))?;
                if stop.is_stopped() {
                    return Ok(());
                }
            }
        }
        self.commit_seeds(chunk)
    }

    fn commit_seeds(&mut self, seeds: Vec<Url>) -> Result<(), Error> {
        if !seeds.is_empty() {
            let seeds = Seeds {
                urls: seeds,
                consent: true,
                reply: None,
            };
            self.committer.commit(vec![Entry::Seeds(seeds)])?;
            self.committer.checkpoint_if_due()?;
        }
        Ok(())
    }

    /// Keeps the settings of this run and tells which differ from the last one's: name, then, now.
    pub fn compare_settings(
        &mut self,
        settings: &BTreeMap<String, String>,
    ) -> Result<Vec<(String, String, String)>, Error> {
        let store = &self.committer.store;
        let last: BTreeMap<String, String> = match store.get(Table::Meta, keys::meta::SETTINGS)? {
            Some(row) => store::decode(Table::Meta, &row)?,
            None => BTreeMap::new(),
        };
        let text = |value: Option<&String>| value.map_or("(unset)", String::as_str).to_owned();
        let names: BTreeSet<&String> = last.keys().chain(settings.keys()).collect();
        let changed = names
            .into_iter()
            .map(|name| (name, last.get(name), settings.get(name)))
            .filter(|(_, then, now)| !last.is_empty() && then != now)
            .map(|(name, then, now)| (name.clone(), text(then), text(now)))
            .collect();
        let mut batch = Batch::new();
        batch.put(Table::Meta, keys::meta::SETTINGS, store::encode(settings));
        store.commit(batch, Durability::Disk)?;
        Ok(changed)
    }

    /// Crawls until nothing is left, a limit is reached, or it is stopped.
    pub fn run(self, limits: &RunLimits, stop: &StopHandle) -> Result<Summary, Error> {
        let watch = self.watch();
        let Self {
            directory,
            options,
            committer,
            gauges,
            memory,
            resumed,
            control: _,
            commands,
        } = self;
        let before = committer.state.counters.clone();
        let clock = Clock::start();
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let runtime = reactor(cores).map_err(Error::Threads)?;
        let product_token = robots::product_token(&options.fetch.user_agent).to_owned();
        let (events, event_queue) = mpsc::channel(1_024);
        let (fetched, fetched_queue) = mpsc::channel(2 * cores);
        // Two groups: one being committed, one arriving.
        let (analysed, analysed_queue) = sync_channel(32);

        let reader = Reader::new(&committer.identity, &options);
        let analysts = Analysts::new(reader, Arc::clone(&committer.policies));
        let waiting = analysts.waiting.clone();
        let curfew = analysts.curfew.clone();
        let analysts = analysts
            .start(cores, fetched_queue, &analysed)
            .map_err(Error::Threads)?;
        let entries = analysed;

        let observer = Observer {
            directory: directory.path().to_owned(),
            watch: watch.clone(),
            clock,
        };
        let scheduler = Scheduler {
            schedule: Schedule::new(
                schedule_options(&options, limits, resumed.then(|| clock.now())),
                committer.identity.clone(),
            ),
            fetchers: Fetchers {
                fetcher: Fetcher::new(options.fetch.clone(), Arc::clone(&committer.guard))?,
                policies: Arc::clone(&committer.policies),
                clock,
                guard: Arc::clone(&committer.guard),
                limiter: options.max_rate.map(limiter),
                events: events.clone(),
                fetched,
            },
            store: Arc::clone(&committer.store),
            product_token,
            concurrency: options.concurrency,
            max_duration: limits.max_duration,
            max_bytes: limits.max_bytes.map(|max| max.saturating_add(before.bytes)),
            wait_for_more: limits.wait_for_more,
            commands,
            entries,
            paused: None,
            disk: Disk::new(directory.path().to_owned(), options.disk_reserve),
            stop: stop.clone(),
            gauges,
            memory,
            counters: watch.counters,
            analysts: cores,
            waiting,
            curfew,
            reads: 0,
            handed_out: 0,
            rate_token: false,
        };
        let committing =
            start_committing(committer, analysed_queue, events, clock).map_err(Error::Threads)?;

        let scheduled = runtime.block_on(async {
            let observing = tokio::spawn(observer.clone().run());
            let ending = scheduler.run(event_queue).await;
            observing.abort();
            ending
        });
        // A name resolution that hangs must not keep the process.
        runtime.shutdown_background();
        // The scheduler took the fetchers with it: the analysts run dry, then the committer.
        for analyst in analysts {
            analyst
                .join()
                .map_err(|_| Error::Internal("an analyst died".to_owned()))?;
        }
        let (committer, committed) = committing
            .join()
            .map_err(|_| Error::Internal("the committer died".to_owned()))?;
        committed?;
        let ending = scheduled?;
        observer.write(false)?;
        Ok(Summary {
            ending,
            counters: committer.state.counters.clone(),
            took: clock.elapsed(),
            pages: committer.state.counters.pages - before.pages,
            slowest: committer.run_hosts.slowest(),
            largest: committer.run_hosts.largest(),
        })
    }
}

fn schedule_options(
    options: &Options,
    limits: &RunLimits,
    resumed: Option<Moment>,
) -> ScheduleOptions {
    ScheduleOptions {
        window: options.window,
        buffer: options.buffer,
        max_pages: limits.max_pages,
        resumed,
    }
}

/// What moves bytes between network and analysts: a fraction of the work of reading them.
fn reactor(cores: usize) -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads((cores / 2).max(1))
        .enable_all()
        .build()
}

/// Starts the committer's thread. It ends when nothing more can arrive or a commit fails; what it
/// was is given back either way.
fn start_committing(
    mut committer: Committer,
    entries: Receiver<Entry>,
    events: mpsc::Sender<Event>,
    clock: Clock,
) -> io::Result<JoinHandle<(Committer, Result<(), Error>)>> {
    thread::Builder::new()
        .name("committer".to_owned())
        .spawn(move || {
            let result = catch_unwind(AssertUnwindSafe(|| committer.run(&entries, &events, clock)))
                .unwrap_or_else(|_| Err(Error::Internal("the committer died".to_owned())));
            drop(entries);
            if result.is_err() {
                let _ = events.blocking_send(Event::CommitterGone);
            }
            (committer, result)
        })
}

/// The crawl-wide rate. No burst: the first second keeps to it like any other.
pub(super) fn limiter(rate: NonZeroU32) -> Arc<DefaultDirectRateLimiter> {
    let quota = Quota::per_second(rate).allow_burst(NonZeroU32::MIN);
    Arc::new(RateLimiter::direct(quota))
}

/// Writes `status.json`.
#[derive(Clone)]
struct Observer {
    directory: PathBuf,
    watch: Watch,
    clock: Clock,
}

impl Observer {
    async fn run(self) {
        let mut ticks = tokio::time::interval(Duration::from_secs(1));
        loop {
            ticks.tick().await;
            if let Err(error) = self.write(true) {
                tracing::warn!(%error, "cannot write the status");
            }
        }
    }

    fn write(&self, running: bool) -> Result<(), Error> {
        let status = Status {
            running,
            time: format!("{:.0}", jiff::Timestamp::now()),
            seconds: self.clock.elapsed().as_secs(),
            counters: self.watch.counters(),
            gauges: self.watch.gauges(),
            memory: self.watch.memory(),
            hosts: None,
        };
        status
            .write(&self.directory)
            .map_err(|source| Error::Status {
                path: self.directory.clone(),
                source,
            })
    }
}

/// The state of the crawl in a data directory: from the store, or, while another process crawls
/// there, as that process last wrote it.
pub fn status(path: &Path) -> Result<Status, Error> {
    let directory = match DataDirectory::take_existing(path) {
        Ok(directory) => directory,
        Err(DirectoryError::InUse { .. }) => {
            let status = Status::read(path).map_err(|source| Error::Status {
                path: path.to_owned(),
                source,
            })?;
            // The file of a run before this one does not speak for it.
            return Ok(status.filter(|status| status.running).unwrap_or(Status {
                running: true,
                ..Status::default()
            }));
        }
        Err(error) => return Err(error.into()),
    };
    let store = recover::open_store(&directory)?;
    let state = CrawlState::read(&*store)?.unwrap_or_default();
    Ok(Status {
        counters: state.counters,
        time: format!("{:.0}", jiff::Timestamp::now()),
        hosts: Some(hosts_now::hosts_in(&*store)?),
        ..Status::default()
    })
}

/// Why a run could not begin or go on. What was committed stays, and the same command resumes.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The data directory cannot be used.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The archive failed.
    #[error(transparent)]
    Archive(#[from] archive::Error),
    /// The runs failed.
    #[error(transparent)]
    Runs(#[from] runs::Error),
    /// The documents failed.
    #[error(transparent)]
    Documents(#[from] dedup::Error),
    /// The log failed.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The client could not be set up.
    #[error(transparent)]
    Fetch(#[from] fetch::Error),
    /// The status could not be read or written.
    #[error("cannot read or write the status in {path}: {source}")]
    Status {
        /// The data directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Threads could not be started.
    #[error("cannot start threads: {0}")]
    Threads(#[source] io::Error),
    /// What the store vouches for is there, and the store is not.
    #[error(
        "{path} holds `{found}` of an earlier crawl, but its store is missing; put the folder `store` back from a backup, or keep `warc` elsewhere and begin in another directory"
    )]
    StoreMissing {
        /// The data directory.
        path: PathBuf,
        /// What is there.
        found: &'static str,
    },
    /// The log was to be read on from a place where no line ends.
    #[error(
        "position {position} is not in the log in {path}: {reason}; give a `position` that a line of this crawl had, or leave it out to begin at the beginning"
    )]
    Position {
        /// What was given.
        position: Position,
        /// The directory of the log.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Nothing runs any more that could be asked.
    #[error(transparent)]
    Over(#[from] Over),
    /// Other fingerprints are asked for, and what they would be made of is not all there.
    #[error(
        "the settings of [dedup], or this version, ask for other fingerprints than this crawl has, and {file} is missing, from which they are made again; put it back, or take the change back"
    )]
    Refingerprint {
        /// A file of the archive.
        file: PathBuf,
    },
    /// Other rules make the canonical form.
    #[error(
        "this crawl was begun with other rules of the canonical form, and would take URLs that it knows for new ones (then: {then}; now: {now}); set [url] as it was, or begin in another directory"
    )]
    UrlForm {
        /// What was said then and is not now.
        then: String,
        /// What is said now and was not then.
        now: String,
    },
    /// The structures are to take more memory than there is for them.
    #[error(
        "state.max_memory is too little for what it is to hold: {0}; give more with --max-memory, or lower a setting that is named"
    )]
    Memory(MemoryPlan),
    /// A mistake of ours.
    #[error(
        "gleaner failed in a way it should not: {0}; what was committed is safe. Please report this"
    )]
    Internal(String),
}

impl Error {
    /// Whether the disk is full.
    pub fn is_full_disk(&self) -> bool {
        let mut error: Option<&(dyn std::error::Error + 'static)> = Some(self);
        while let Some(cause) = error {
            if let Some(io) = cause.downcast_ref::<io::Error>() {
                return matches!(
                    io.kind(),
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
                );
            }
            error = cause.source();
        }
        false
    }
}
