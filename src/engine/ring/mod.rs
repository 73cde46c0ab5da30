//! The ring: scheduler, fetchers, analysts, committer and back, assembled for one run.
//!
//! Everything that is sent around it is bounded. When the scheduler ends, the fetchers end with it;
//! then the analysts run dry, then the committer, and everything that arrived is committed.

pub(crate) mod analysts;
pub(crate) mod answer;
pub(crate) mod control;
pub(crate) mod convert;
pub(crate) mod converter;
pub(crate) mod disk;
pub(crate) mod fetchers;
pub(crate) mod gather;
pub(crate) mod leaving;
pub(crate) mod meters;
pub(crate) mod observe;
pub(crate) mod others;
pub(crate) mod reactors;
pub(crate) mod reading;
pub(crate) mod room;
pub(crate) mod scheduler;
pub(crate) mod since;
pub(crate) mod suspects;
pub(crate) mod turns;

use std::io;
use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};

use super::clock::Clock;
use super::commit::Committer;
use super::error::Error;
use super::event::Event;
use super::exchange::Counts;
use super::left_out::Omissions;
use super::messages::StopHandle;
use super::open::DataDirectory;
use super::options::{Options, RunLimits};
use super::status::Observer;
use super::summary::{Summary, slowest_and_largest};
use super::visit::Entry;
use crate::fetch::Fetcher;
use crate::frontier::{Moment, Schedule, ScheduleOptions};
use crate::handover::{Handover, HandoverState};
use crate::robots;
use crate::rows::Counters;
use analysts::Analysts;
use control::CommandQueue;
use disk::Disk;
use fetchers::Fetchers;
use gather::Entrance;
use leaving::start_handover;
use observe::{Gauges, LeftUndone, MemoryUse, Watch};
use others::Others;
use reactors::Reactors;
use reading::Reader;
use room::Room;
use scheduler::{Ending, Scheduler};
use since::LookBack;
use turns::Turns;

/// Maximum number of events (ends of fetches, results of reads, commits) on their way to the
/// scheduler.
const EVENTS_WAITING: usize = 1_024;
/// Maximum number of analysed visits on their way to the committer: one group being committed, one
/// arriving.
const ENTRIES_WAITING: usize = 32;

/// What runs beside the scheduler, and how it ends.
struct Ring {
    scheduler: Scheduler,
    reactors: Reactors,
    events: mpsc::Receiver<Event>,
    analysts: Vec<JoinHandle<()>>,
    committing: JoinHandle<(Committer, Result<(), Error>)>,
    observer: Observer,
    left_undone: LeftUndone,
    handover: Option<Handover>,
}

/// An open crawl as a run takes it over.
pub(crate) struct Open {
    pub(crate) directory: DataDirectory,
    pub(crate) options: Options,
    pub(crate) committer: Committer,
    pub(crate) gauges: watch::Sender<Gauges>,
    pub(crate) memory: watch::Sender<MemoryUse>,
    /// Until when the previous run may have made visits of which nothing is known, if it may have.
    pub(crate) unknown_until: Option<Moment>,
    pub(crate) commands: CommandQueue,
    /// What was exchanged with other shards.
    pub(crate) exchanged: watch::Sender<Arc<Counts>>,
    /// Bytes that pages may take between their analysis and their commit.
    pub(crate) pages_bytes: usize,
    pub(crate) handover: watch::Sender<Vec<HandoverState>>,
    /// Counts from the start of the run on.
    pub(crate) clock: Clock,
}

/// Runs a crawl to its end.
pub(crate) fn run(
    crawl: Open,
    watch: Watch,
    limits: &RunLimits,
    stop: &StopHandle,
) -> Result<Summary, Error> {
    let clock = crawl.clock;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let before = crawl.committer.state.counters.clone();
    let scheduling = scheduling().map_err(Error::Threads)?;
    let aside = aside().map_err(Error::Threads)?;
    // The lock on the directory is held until everything is written. Names are looked up on the
    // reactor on which the fetcher is made.
    let (ring, _directory) = {
        let _context = aside.enter();
        start(crawl, watch, limits, stop, cores)?
    };
    let (committer, ending) = ring.turn(scheduling, aside)?;
    check_drained(ending, &committer)?;
    summary(&committer, ending, &before, clock)
}

/// What waits when nothing is left to fetch waits at parked hosts; any other URL was forgotten.
fn check_drained(ending: Ending, committer: &Committer) -> Result<(), Error> {
    let counters = &committer.state.counters;
    let forgotten = counters.queued.saturating_sub(counters.parked);
    if ending == Ending::Drained && forgotten > 0 {
        return Err(Error::Forgotten { forgotten });
    }
    Ok(())
}

/// Starts the threads of a run and returns the scheduler, which sets everything in motion.
fn start(
    crawl: Open,
    watch: Watch,
    limits: &RunLimits,
    stop: &StopHandle,
    cores: usize,
) -> Result<(Ring, DataDirectory), Error> {
    let Open {
        directory,
        options,
        mut committer,
        gauges,
        memory,
        unknown_until,
        commands,
        exchanged,
        pages_bytes,
        handover,
        clock,
    } = crawl;
    let (events, event_queue) = mpsc::channel(EVENTS_WAITING);
    // Whoever has fetched something has room here, and keeps its permit until it is read.
    let (fetched, fetched_queue) = mpsc::channel(options.concurrency.max(1));
    let (analysed, analysed_queue) = sync_channel(ENTRIES_WAITING);
    let turns = Turns::new(cores);

    let reader = Reader::new(&committer.gate.identity, &options);
    let mut analysts = Analysts::new(reader, Arc::clone(&committer.gate.policies));
    analysts.suspects = Arc::clone(&committer.suspects);
    let since = (!options.archive.since.is_empty()).then(|| {
        let store = Arc::clone(&committer.store);
        let identity = committer.gate.identity.clone();
        Arc::new(LookBack::new(store, identity, options.fetch.max_body.0))
    });
    analysts.since.clone_from(&since);
    analysts.events = Some(committer.events.clone());
    let waiting = analysts.waiting.clone();
    let curfew = analysts.curfew.clone();
    let left_undone = analysts.left_undone.clone();
    let analysts = analysts
        .start(cores, &Room::new(pages_bytes), fetched_queue, &analysed)
        .map_err(Error::Threads)?;

    let reactors = Reactors::start().map_err(Error::Threads)?;
    let observer = Observer::new(directory.path(), watch.clone(), clock);
    let scheduler = Scheduler {
        schedule: Schedule::new(
            schedule_options(&options, limits, unknown_until, &committer),
            committer.gate.identity.clone(),
        ),
        fetchers: Fetchers {
            fetcher: Fetcher::new(options.fetch.clone(), Arc::clone(&committer.guard))?,
            policies: Arc::clone(&committer.gate.policies),
            clock,
            guard: Arc::clone(&committer.guard),
            lease: options.lease.clone(),
            limiter: options.max_rate.map(limiter),
            left_undone: left_undone.clone(),
            events: events.clone(),
            fetched,
            turns: turns.clone(),
            since,
            foreign: committer.exchange.publishing.documents.clone(),
            meters: committer.meters.clone(),
        },
        reactors: reactors.assignment(),
        store: Arc::clone(&committer.store),
        product_token: robots::product_token(&options.fetch.user_agent).to_owned(),
        concurrency: options.concurrency,
        max_duration: limits.max_duration,
        max_bytes: limits.max_bytes,
        received: 0,
        wait_for_more: limits.wait_for_more,
        commands,
        entrance: Entrance::open(analysed).map_err(Error::Threads)?,
        paused: None,
        holding: Vec::new(),
        disk: Disk::new(
            directory.path().to_owned(),
            options.disk_reserve,
            committer.events.clone(),
        ),
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
        others: Others::new(!committer.exchange.shards.is_one(), exchanged),
    };
    let handover = start_handover(&mut committer, &options, directory.path(), &handover, stop)?;
    let committing = start_committing(committer, analysed_queue, events, (clock, turns))
        .map_err(Error::Threads)?;
    let ring = Ring {
        scheduler,
        reactors,
        events: event_queue,
        analysts,
        committing,
        observer,
        left_undone,
        handover,
    };
    Ok((ring, directory))
}

impl Ring {
    /// Runs the scheduler on this thread, then waits until everything behind it has run dry.
    fn turn(self, scheduling: Runtime, aside: Runtime) -> Result<(Committer, Ending), Error> {
        let observing = aside.spawn(self.observer.clone().run());
        let scheduled = scheduling.block_on(async {
            let ending = self.scheduler.run(self.events).await;
            observing.abort();
            // It may be writing the file that is written at the end.
            let _ = observing.await;
            ending
        });
        // A read or a name resolution that hangs must not keep the process alive.
        scheduling.shutdown_background();
        aside.shutdown_background();
        drop(self.reactors);
        for analyst in self.analysts {
            analyst
                .join()
                .map_err(|_| Error::Internal("an analyst died".to_owned()))?;
        }
        let (committer, committed) = self
            .committing
            .join()
            .map_err(|_| Error::Internal("the committer died".to_owned()))?;
        // What is closed leaves, whatever has ended the run.
        if let Some(handover) = self.handover {
            handover.finish();
        }
        committed?;
        let ending = scheduled?;
        self.observer.write_end(self.left_undone.is_nothing())?;
        Ok((committer, ending))
    }
}

fn summary(
    committer: &Committer,
    ending: Ending,
    before: &Counters,
    clock: Clock,
) -> Result<Summary, Error> {
    let counters = committer.state.counters.clone();
    let [slowest, largest] = slowest_and_largest(&*committer.store)?;
    let mut omissions = Omissions::read(&*committer.store, true)?;
    omissions.end_of_run(ending);
    Ok(Summary {
        ending,
        took: clock.elapsed(),
        // More may have been forgotten than were fetched.
        pages: counters.pages.saturating_sub(before.pages),
        counters,
        slowest,
        largest,
        omissions,
    })
}

fn schedule_options(
    options: &Options,
    limits: &RunLimits,
    unknown_until: Option<Moment>,
    committer: &Committer,
) -> ScheduleOptions {
    let held = committer.held.borrow();
    ScheduleOptions {
        window: options.window,
        buffer: options.buffer,
        slots: options.concurrency,
        max_pages: limits.max_pages,
        unknown_until,
        held: held.iter().map(|(host, _)| host.clone()).collect(),
    }
}

/// Creates the runtime of the scheduler, which has timers and no reactor: it waits for its events
/// and its timers at once, and no other thread has to wake it for the latter.
fn scheduling() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
}

/// Creates the reactor on which names are looked up, and the runtime of what looks on. Visits have
/// others.
fn aside() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
}

/// Starts the committer's thread. It ends when nothing more can arrive or a commit fails, and
/// returns the committer either way.
fn start_committing(
    mut committer: Committer,
    entries: Receiver<Entry>,
    events: mpsc::Sender<Event>,
    (clock, turns): (Clock, Turns),
) -> io::Result<JoinHandle<(Committer, Result<(), Error>)>> {
    thread::Builder::new()
        .name("committer".to_owned())
        .spawn(move || {
            let run = || committer.run(&entries, &events, clock, &turns);
            let result = catch_unwind(AssertUnwindSafe(run))
                .unwrap_or_else(|_| Err(Error::Internal("the committer died".to_owned())));
            drop(entries);
            if result.is_err() {
                let _ = events.blocking_send(Event::CommitterGone);
            }
            (committer, result)
        })
}

/// Creates the crawl-wide rate limiter. It allows no burst, so the first second keeps to the rate
/// like any other.
pub(crate) fn limiter(rate: NonZeroU32) -> Arc<DefaultDirectRateLimiter> {
    let quota = Quota::per_second(rate).allow_burst(NonZeroU32::MIN);
    Arc::new(RateLimiter::direct(quota))
}
