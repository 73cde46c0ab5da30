//! The scheduler: one task that asks the pure schedule what to do, and does it.
//!
//! It never waits to send into the pipeline: for a visit it takes a permit and spawns a task, and
//! what is not visited has an entrance with room for all. The ring of scheduler, fetchers, analysts
//! and committer therefore cannot deadlock: whatever is full downstream, events are always received
//! here. Reads of the store run off the reactor.

use std::sync::Arc;
use std::time::{Duration, Instant};

use governor::RateLimiter;
use governor::clock::{Clock as _, DefaultClock};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::analysts::Curfew;
use super::control::{Command, CommandQueue};
use super::disk::Disk;
use super::fetchers::Fetchers;
use super::gather::Entrance;
use super::observe::{Fill, Gauges, Held, Limit, MemoryUse, Waiting, limit};
use super::others::Others;
use super::reactors::Assignment;
use crate::engine::Error;
use crate::engine::event::{Committed, Event};
use crate::engine::messages::StopHandle;
use crate::engine::visit::{Entry, Seeds};
use crate::frontier::{Action, RobotsPolicy, Schedule, SkipReason, load, refill};
use crate::rows::Counters;
use crate::store::Store;
use crate::url::HostKey;

/// Time that fetches in progress get to end when the run is stopped.
const GRACE: Duration = Duration::from_secs(4);
/// Maximum age of the gauges while nothing happens here: channels fill and drain meanwhile.
const GAUGES_AGE: Duration = Duration::from_millis(250);

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Nothing is left to fetch.
    Drained,
    /// `max_pages` were fetched.
    MaxPages,
    /// `max_duration` is over.
    MaxDuration,
    /// `max_bytes` were received.
    MaxBytes,
    /// The run was asked to stop.
    Stopped,
    /// The run failed; the error has the reason.
    Failed,
}

pub(crate) struct Scheduler {
    pub(crate) schedule: Schedule,
    pub(crate) fetchers: Fetchers,
    /// Where visits are made.
    pub(crate) reactors: Assignment,
    pub(crate) store: Arc<dyn Store>,
    /// The product token by which robots.txt addresses this crawler.
    pub(crate) product_token: String,
    pub(crate) concurrency: usize,
    pub(crate) max_duration: Option<Duration>,
    /// Number of bytes of bodies received by this run at which it ends.
    pub(crate) max_bytes: Option<u64>,
    /// Number of these bytes so far.
    pub(crate) received: u64,
    /// Keeps the run going with an empty frontier.
    pub(crate) wait_for_more: bool,
    pub(crate) stop: StopHandle,
    /// Commands from outside.
    pub(crate) commands: CommandQueue,
    /// The way to the committer of what is not visited.
    pub(crate) entrance: Entrance,
    /// Set while paused; contains those who wait for the last visit to end.
    pub(crate) paused: Option<Vec<oneshot::Sender<()>>>,
    /// Those who wait for the last visit of hosts that they hold.
    pub(crate) holding: Vec<(Vec<HostKey>, oneshot::Sender<()>)>,
    /// The disk; no visits are made while it is too full.
    pub(crate) disk: Disk,
    pub(crate) gauges: watch::Sender<Gauges>,
    pub(crate) memory: watch::Sender<MemoryUse>,
    pub(crate) counters: watch::Receiver<Counters>,
    pub(crate) analysts: usize,
    /// Counts the analysts that wait for the committer.
    pub(crate) waiting: Waiting,
    /// Time at which analysts leave to the next run what they have not begun.
    pub(crate) curfew: Curfew,
    /// Reads of the store in progress.
    pub(crate) reads: usize,
    /// Queued URLs that were handed out and are not committed.
    pub(crate) handed_out: u64,
    /// Set if the crawl-wide rate allows one more visit.
    pub(crate) rate_token: bool,
    /// The other shards of the crawl.
    pub(crate) others: Others,
}

impl Scheduler {
    /// Runs until nothing is left, a limit is reached, or the run is stopped; then waits for the
    /// fetches in progress.
    pub(crate) async fn run(mut self, mut events: mpsc::Receiver<Event>) -> Result<Ending, Error> {
        let permits = Arc::new(Semaphore::new(self.concurrency));
        let mut fetches = JoinSet::new();
        let mut permit = None;
        let stop = self.stop.clone();
        let stopped = stop.stopped();
        tokio::pin!(stopped);
        let mut ticks = tokio::time::interval(GAUGES_AGE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let turns = self.fetchers.turns.clone();
        let ending = 'run: loop {
            // Several may have ended since the last turn; none may accumulate. Their ends wake
            // nobody: what they did is an event, and one that died is found at the next tick.
            while let Some(done) = fetches.try_join_next() {
                done.map_err(|error| Error::Internal(format!("a fetch or a read died: {error}")))?;
            }
            if self
                .max_duration
                .is_some_and(|max| self.fetchers.clock.elapsed() >= max)
            {
                break Ending::MaxDuration;
            }
            if self.max_bytes.is_some_and(|max| self.received >= max) {
                break Ending::MaxBytes;
            }
            self.others.busy();
            for domain in turns.taken_up() {
                self.schedule.taken_up(&domain);
            }
            let wake = match self.act(&permits, &mut permit, &mut fetches) {
                Next::Wait(wake, held) => {
                    let free = permits.available_permits() + usize::from(permit.is_some());
                    let fetching = self.concurrency.saturating_sub(free);
                    self.show(fetching, held);
                    if fetching == 0 {
                        self.tell_paused();
                    }
                    self.tell_held();
                    wake
                }
                Next::End(ending) => break ending,
            };
            if turns.await_taking_up(self.schedule.holds_back()) {
                continue;
            }
            tokio::select! {
                () = &mut stopped => break Ending::Stopped,
                event = events.recv() => {
                    let Some(event) = event else { break Ending::Failed };
                    if !self.learn(event)? {
                        break Ending::Failed;
                    }
                    // Receive everything that is there before acting.
                    while let Ok(event) = events.try_recv() {
                        if !self.learn(event)? {
                            break 'run Ending::Failed;
                        }
                    }
                }
                Some(command) = self.commands.next() => self.obey(command),
                taken = Arc::clone(&permits).acquire_owned(), if permit.is_none() && !self.is_held() => {
                    permit = taken.ok();
                }
                () = turns.next_taken_up() => {}
                () = sleep_until(wake) => {}
                _ = ticks.tick() => {}
            }
        };
        self.gauges
            .send_modify(|gauges| gauges.limit = Limit::Ending);
        if ending != Ending::Drained {
            tracing::info!(in_progress = fetches.len(), "stopping");
        }
        if matches!(
            ending,
            Ending::Stopped | Ending::MaxDuration | Ending::Failed
        ) {
            self.curfew.set(Instant::now() + GRACE);
        }
        // Nobody receives any more: fetches and the committer go on unheard.
        drop(events);
        let ended = tokio::time::timeout(GRACE, async {
            while fetches.join_next().await.is_some() {}
        });
        if ended.await.is_err() {
            self.fetchers.left_undone.note();
        }
        fetches.shutdown().await;
        Ok(ending)
    }

    /// Does everything that can be done now.
    fn act(
        &mut self,
        permits: &Arc<Semaphore>,
        permit: &mut Option<OwnedSemaphorePermit>,
        fetches: &mut JoinSet<()>,
    ) -> Next {
        let mut wake = self
            .max_duration
            .map(|max| self.fetchers.clock.start_instant() + max);
        let paused = self.paused.is_some();
        let held = self.is_held();
        loop {
            // The process may have been stopped since the last visit was handed out.
            let held = held || !self.has_right();
            if held {
                *permit = None;
            } else if permit.is_none() {
                *permit = Arc::clone(permits).try_acquire_owned().ok();
            }
            let now = self.fetchers.clock.now();
            if !self.rate_token && permit.is_some() && self.schedule.has_due(now) {
                match self.fetchers.limiter.as_deref().map(RateLimiter::check) {
                    None | Some(Ok(())) => self.rate_token = true,
                    Some(Err(not_until)) => {
                        let wait = not_until.wait_time_from(DefaultClock::default().now());
                        wake = Some(earliest(wake, Instant::now() + wait));
                    }
                }
            }
            match self.schedule.next(now, permit.is_some() && self.rate_token) {
                Action::Fetch(task) => {
                    self.rate_token = false;
                    self.handed_out += u64::from(task.place.is_some());
                    // A visit is handed out only if there is a permit.
                    if let Some(permit) = permit.take() {
                        let seat = self.reactors.begin(task.visiting().0);
                        let reactor = seat.reactor().clone();
                        let visit = self.fetchers.clone().visit(task, permit);
                        let visit = async move {
                            visit.await;
                            drop(seat);
                        };
                        fetches.spawn_on(visit, &reactor);
                    }
                }
                Action::Forbid(task, refusal) => {
                    self.handed_out += u64::from(task.place.is_some());
                    if let Some(permit) = permit.take() {
                        fetches.spawn(self.fetchers.clone().forbid(task, refusal, permit));
                    }
                }
                Action::Refill(request) => {
                    self.reads += 1;
                    let of_host = self.fetchers.policies.load().of(&request.host);
                    let policy = RobotsPolicy::new(of_host.crawl.robots, &self.product_token);
                    let budget = of_host.traps;
                    let blocked = Arc::clone(self.fetchers.policies.load().blocked());
                    let store = Arc::clone(&self.store);
                    let (now, events) = (self.fetchers.clock.now(), self.fetchers.events.clone());
                    fetches.spawn_blocking(move || {
                        let refilled = refill(&*store, &request, &policy, (&budget, &blocked), now);
                        let _ = events.blocking_send(Event::Refilled(refilled.map(Box::new)));
                    });
                }
                Action::Load(request) => {
                    self.reads += 1;
                    let (store, events) = (Arc::clone(&self.store), self.fetchers.events.clone());
                    fetches.spawn_blocking(move || {
                        let _ = events.blocking_send(Event::Loaded(load(&*store, &request)));
                    });
                }
                Action::Resolve(host) => match self.fetchers.minds_address(&host) {
                    true => {
                        fetches.spawn(self.fetchers.clone().resolve(host));
                    }
                    false => self.schedule.resolved(&host, None),
                },
                Action::Wait(until) => {
                    if self.only_parked_are_left() && self.others.drained() {
                        return Next::End(Ending::Drained);
                    }
                    let why = if paused || !self.has_right() {
                        Held::Paused
                    } else if held {
                        Held::Disk
                    } else if self.schedule.is_spent() {
                        Held::Spent
                    } else if self.schedule.has_due(now) {
                        match permit {
                            None => Held::Permit,
                            Some(_) => Held::Rate,
                        }
                    } else {
                        until.map_or(Held::News, |_| Held::Delay)
                    };
                    let until = until.filter(|_| !held);
                    let until = until.map(|moment| self.fetchers.clock.instant(moment));
                    let wake = until.map_or(wake, |until| Some(earliest(wake, until)));
                    return Next::Wait(wake, why);
                }
                Action::Drained if paused => return Next::Wait(wake, Held::Paused),
                Action::Drained if self.wait_for_more => return Next::Wait(wake, Held::Empty),
                Action::Drained if self.others.drained() => return Next::End(Ending::Drained),
                Action::Drained => return Next::Wait(wake, Held::Empty),
                Action::Spent => return Next::End(Ending::MaxPages),
            }
        }
    }

    /// Returns `true` if no visits are made for now, whatever is due.
    fn is_held(&mut self) -> bool {
        let is_short = self.disk.is_short();
        is_short || self.paused.is_some() || !self.has_right()
    }

    /// Whether this process may make visits now, as far as other workers are concerned.
    fn has_right(&self) -> bool {
        self.fetchers.has_right()
    }

    /// Returns `true` if everything left waits for parked hosts: a run that ends does not wait for
    /// them.
    fn only_parked_are_left(&self) -> bool {
        if self.wait_for_more || self.paused.is_some() || self.handed_out > 0 {
            return false;
        }
        let counters = self.counters.borrow();
        self.schedule.is_idle() && counters.queued == counters.parked
    }

    /// Executes a command from outside.
    fn obey(&mut self, command: Command) {
        match command {
            Command::Pause(reply) => self.paused.get_or_insert_default().push(reply),
            Command::Resume(reply) => {
                self.tell_paused();
                self.paused = None;
                // Whoever sent the command may be gone, here and below.
                let _ = reply.send(());
            }
            Command::AddSeeds {
                seeds,
                consent,
                listed,
                reply,
            } => self.enter(Entry::Seeds(Seeds {
                seeds,
                consent,
                listed,
                reply: Some(reply),
            })),
            Command::Retry(part) => self.enter(Entry::PutBack(part)),
            Command::Forget(part, visits) => self.enter(Entry::Forget(part, visits)),
            Command::Hold(order, idle) => {
                if order.is_held {
                    // At once: the commit may take a while.
                    for host in &order.hosts {
                        self.schedule.hold(host, true);
                    }
                    self.holding.push((order.hosts.clone(), idle));
                } else {
                    let _ = idle.send(());
                }
                self.enter(Entry::Hold(order));
            }
            Command::Change(options, reply) => {
                self.fetchers.limiter = options.max_rate.map(crate::engine::ring::limiter);
                self.fetchers.fetcher.use_login(options.login.clone());
                self.rate_token = false;
                self.enter(Entry::Settings(options, reply));
            }
            Command::Receive(arrived) => self.enter(Entry::Links(arrived)),
            Command::Acknowledge { to, through } => {
                self.enter(Entry::Acknowledged { to, through });
            }
            Command::Hear(heard) => self.enter(Entry::Heard(heard)),
            // Whoever asked may be gone.
            Command::Look(reply) => drop(reply.send(self.others.look())),
            Command::End(look, reply) => drop(reply.send(self.others.end(&look))),
        }
    }

    /// Sends an entry to the committer. If that is gone, whoever waits for a reply learns it.
    fn enter(&mut self, entry: Entry) {
        self.others.entered();
        self.entrance.enter(entry);
    }

    /// Tells those who asked for a pause that no visit is in progress.
    fn tell_paused(&mut self) {
        for reply in self.paused.iter_mut().flat_map(std::mem::take) {
            let _ = reply.send(());
        }
    }

    /// Tells those who hold hosts that no visit of these is in progress.
    fn tell_held(&mut self) {
        for (hosts, idle) in std::mem::take(&mut self.holding) {
            match hosts.iter().any(|host| self.schedule.is_visiting(host)) {
                true => self.holding.push((hosts, idle)),
                false => {
                    let _ = idle.send(());
                }
            }
        }
    }

    /// Passes an event to the schedule. Returns `false` if the run cannot continue.
    fn learn(&mut self, event: Event) -> Result<bool, Error> {
        match event {
            Event::Visited { visit, bytes } => {
                self.received += bytes;
                // A visit that is made again at another address is handed out again.
                let again = visit.next_hop.as_ref();
                let again = again.is_some_and(|task| task.place.is_some());
                self.handed_out = self.handed_out.saturating_sub(u64::from(again));
                self.schedule.visited(*visit);
            }
            Event::Resolved(host, address) => self.schedule.resolved(&host, address),
            Event::Refilled(refilled) => {
                self.reads = self.reads.saturating_sub(1);
                let refilled = *refilled?;
                let policy = self.fetchers.policies.load().of(&refilled.host);
                self.schedule.refilled(refilled, &policy.politeness);
            }
            Event::Loaded(loaded) => {
                self.reads = self.reads.saturating_sub(1);
                let now = self.fetchers.clock.now();
                self.schedule.loaded(loaded?, now);
            }
            Event::Committed(committed) => {
                let Committed { receipts, work, .. } = committed;
                self.others.committed(committed.others, committed.exchanged);
                for work in work {
                    let took = work.reading + work.committing;
                    self.schedule.worked(&work.host, took);
                    work.turn.end(work.reading, work.committing);
                }
                for receipt in receipts {
                    if let Some((host, is_held)) = receipt.held {
                        self.schedule.hold(&host, is_held);
                    }
                    if let Some(host) = receipt.reread {
                        self.schedule.reread(&host);
                    }
                    for used_up in receipt.spent {
                        let policies = self.fetchers.policies.load();
                        self.schedule.spent(&used_up.by, |host| {
                            let setting = used_up.ends(&policies.of(host).traps)?;
                            Some(SkipReason::Budget(setting))
                        });
                    }
                    for (host, due) in receipt.relieved {
                        self.schedule.relieved(&host, due);
                    }
                    // New URLs first: a host whose last URL is done may have others by now.
                    for (host, due) in receipt.queued {
                        self.schedule.queued(&host, due);
                    }
                    if let Some(done) = receipt.visit {
                        let queued = u64::from(done.place.is_some());
                        self.handed_out = self.handed_out.saturating_sub(queued);
                        self.schedule.committed(
                            &done.host,
                            done.place,
                            done.counted,
                            done.handed_out,
                        );
                    }
                }
            }
            Event::CommitterGone => return Ok(false),
        }
        Ok(true)
    }

    fn show(&self, fetching: usize, held: Held) {
        let queued = self.counters.borrow().queued;
        let fill = Fill {
            left: queued.saturating_sub(self.handed_out),
            reads: self.reads,
            resolving: self.schedule.resolving(),
            fetching,
            room_before_analysts: self.fetchers.fetched.capacity(),
            analysts_at_work: self.analysts.saturating_sub(self.waiting.count()),
        };
        self.gauges.send_replace(Gauges {
            hosts_in_window: self.schedule.hosts(),
            fetching,
            limit: limit(held, &fill),
            urls_in_window: self.schedule.urls(),
            addresses: self.schedule.addresses(),
            resolving: self.schedule.resolving(),
        });
        self.memory.send_replace(MemoryUse {
            window: self.schedule.memory_bytes(),
            ..MemoryUse::default()
        });
    }
}

/// What follows after everything that could be done was done.
enum Next {
    /// Wait for an event, or for this instant; with the reason why no visit can be made before.
    Wait(Option<Instant>, Held),
    /// The run is over.
    End(Ending),
}

/// Returns the earlier of two instants, of which the first may be absent.
fn earliest(a: Option<Instant>, b: Instant) -> Instant {
    a.map_or(b, |a| a.min(b))
}

async fn sleep_until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant.into()).await,
        None => std::future::pending().await,
    }
}
