//! Fetchers: one short task of the reactor per visit, which turns a task into a fetched visit.
//!
//! A fetcher owns the connection while it lasts. The end of the fetch returns the host to the
//! schedule at once. The visit itself goes on to the analysts, and waits there with its permit if
//! they are busy; this is how a slow disk slows the network. The fetcher itself is over then: one
//! that waited would be woken for each visit that is read. No fetcher waits for a host or an
//! address to be due: if a robots.txt redirects to another host, the task goes back to the
//! schedule.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use governor::DefaultDirectRateLimiter;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::answer::answer;
use super::meters::Meters;
use super::observe::LeftUndone;
use super::since::LookBack;
use super::turns::{Turn, Turns};
use crate::engine::clock::Clock;
use crate::engine::event::Event;
use crate::engine::lease::Lease;
use crate::engine::library::ForeignDocuments;
use crate::engine::visit::Fetched;
use crate::fetch::{
    Approach, At, Conditions, Exchange, Failure, FailureClass, Fetcher, Guard, Outcome, Reservation,
};
use crate::frontier::{
    Answer, FetchTask, Moment, Pace, Politeness, Purpose, RobotsRedirect, SharedPolicies,
    SkipReason, Trouble, Visited,
};
use crate::learn::Expectation;
use crate::robots;
use crate::rows::EarlierPage;
use crate::url::{HostKey, Site};

/// Number of times that a visit is put back because an address accepted no connection.
const MAX_MOVES: u8 = 3;

/// What a fetch needs besides its task.
#[derive(Clone)]
pub(crate) struct Fetchers {
    pub(crate) fetcher: Fetcher,
    pub(crate) policies: SharedPolicies,
    pub(crate) clock: Clock,
    pub(crate) guard: Arc<Guard>,
    /// Without which no visit is made, where another worker may take the crawl over.
    pub(crate) lease: Option<Lease>,
    /// Limits the crawl-wide rate, if it is limited.
    pub(crate) limiter: Option<Arc<DefaultDirectRateLimiter>>,
    /// Notes visits of which no commit will know.
    pub(crate) left_undone: LeftUndone,
    pub(crate) events: mpsc::Sender<Event>,
    /// Has room for all that have a permit.
    pub(crate) fetched: mpsc::Sender<(Fetched, OwnedSemaphorePermit)>,
    pub(crate) turns: Turns,
    /// What earlier crawls hold, if pages are compared with that.
    pub(crate) since: Option<Arc<LookBack>>,
    /// What is known of the other shards of the crawl, if it has any.
    pub(crate) foreign: Option<ForeignDocuments>,
    /// Counts how long fetches take.
    pub(crate) meters: Meters,
}

impl Fetchers {
    /// Makes a visit and sends it on. Dropping the future cancels the visit: nothing is reported,
    /// and its task is still queued.
    pub(crate) async fn visit(self, task: FetchTask, permit: OwnedSemaphorePermit) {
        let making = self.turns.make();
        let at = self.at(&task);
        let earlier = self.earlier(&task).await;
        if let Some(lease) = &self.lease {
            // This process may have been stopped since the visit was handed out, for as long as
            // others take to make it. They end this run once the process knows of them.
            tokio::select! {
                () = lease.held() => {}
                () = self.events.closed() => return,
            }
        }
        let begun = Instant::now();
        let (outcome, reservation) = {
            let conditions = conditions(&task, earlier.as_deref());
            let approach = Approach {
                at,
                is_first: is_first(&task),
                is_any_type: !is_page(task.queued.purpose),
            };
            match self.blocked(&task) {
                // It was read from its queue before the list was.
                Some(failure) => (Outcome::Failed(failure), Reservation::default()),
                None => self.fetcher.fetch_as(&task.url, conditions, approach).await,
            }
        };
        self.meters.fetches().count(begun.elapsed());
        let finished = self.clock.now_or_later();
        let is_robots = task.queued.purpose == Purpose::Robots;
        let answer = match answer(is_robots, &outcome) {
            Answer::Failed(trouble) if is_mute(&task, &outcome) => Answer::Hopeless(trouble),
            answer => answer,
        };
        let after = |host: &HostKey, pace: &Pace| {
            let politeness = self.politeness(host);
            match task.queued.purpose {
                Purpose::Robots => politeness.after_robots(pace, answer, finished),
                Purpose::Requisite(_) => politeness.after_requisite(pace, answer, finished),
                _ => politeness.after(pace, answer, finished),
            }
        };
        let (host, before) = task.visiting();
        let address = outcome.remote();
        let address_delay = self.address_delay(&task, address, finished);
        let mut visited = Visited {
            pace: after(host, before),
            has_answered: matches!(outcome, Outcome::Exchange(_)),
            address,
            address_free_from: finished.plus(address_delay),
            host: host.clone(),
            for_host: None,
            next_hop: None,
        };
        if let Outcome::Failed(failure) = &outcome
            && failure.is_unreached()
            && self.has_another_address(&task, at).await
        {
            // Nothing was sent, and the other address has a clock of its own.
            visited.pace = *before;
            let mut again = task;
            again.held.moves += 1;
            visited.next_hop = Some(again);
            let visit = Box::new(visited);
            let _ = self.events.send(Event::Visited { visit, bytes: 0 }).await;
            return;
        }
        let bytes = match &outcome {
            Outcome::Exchange(exchange) => exchange.body.len() as u64,
            Outcome::Failed(_) => 0,
        };
        let mut pace = visited.pace;
        if let Outcome::Exchange(exchange) = &outcome
            && is_robots
            && let Some(next_hop) = self.next_hop(&task, exchange, &pace)
        {
            visited.next_hop = Some(next_hop);
            // This visit becomes part of that one, and no commit knows of it by itself.
            self.left_undone.note();
            // The scheduler no longer listens if the run is ending. At this point the visit is as
            // if it had not happened; from here on it counts.
            self.tell(visited, bytes).await;
            return;
        }
        if task.robots_redirect.is_some() {
            pace = after(&task.host, &task.pace);
            visited.for_host = Some((task.host.clone(), pace));
        }
        self.tell(visited, bytes).await;
        // What waits for a turn may do so until others are committed.
        drop(making);
        let turn = self.turns.take(&Site::of_name(task.host.name())).await;
        let fetched = Fetched {
            task,
            earlier,
            outcome,
            pace,
            finished,
            was_handed_out: true,
            reservation,
            turn,
        };
        let _ = self.fetched.send((fetched, permit)).await;
    }

    /// Whether this process may make visits now, as far as other workers are concerned.
    pub(crate) fn has_right(&self) -> bool {
        self.lease.as_ref().is_none_or(Lease::holds)
    }

    /// The failure of a visit that a list blocks, that would end a login, or that is to be made at
    /// a host that a person holds. What is known of
    /// robots.txt does not depend on lists: that of a blocked host is not asked for in the first
    /// place.
    fn blocked(&self, task: &FetchTask) -> Option<Failure> {
        if let Some(redirect) = task.robots_redirect.as_ref().filter(|it| it.is_at_held) {
            let message = format!("robots.txt is at {}, which is held", redirect.at);
            return Some(Failure::new(FailureClass::Connect, message));
        }
        if task.queued.purpose == Purpose::Robots {
            return None;
        }
        let policies = self.policies.load();
        let by = policies.blocked().find(&task.url);
        let blocked = by.map(|by| Failure::new(FailureClass::Blocked, by.to_string()));
        blocked.or_else(|| self.fetcher.ends_login(&task.url))
    }

    async fn tell(&self, visited: Visited, bytes: u64) {
        let visit = Box::new(visited);
        let _ = self.events.send(Event::Visited { visit, bytes }).await;
    }

    /// Sends on a visit that is not made. Its host may be visited at the same time, so its pace is
    /// not reported.
    pub(crate) async fn forbid(
        self,
        task: FetchTask,
        reason: SkipReason,
        permit: OwnedSemaphorePermit,
    ) {
        let failure = match reason {
            SkipReason::Robots(reason) => Failure::new(FailureClass::Robots, reason),
            SkipReason::Guard(reason) => Failure::new(FailureClass::Guard, reason),
            SkipReason::Budget(by) => {
                Failure::new(FailureClass::Budget, format!("{by} is reached"))
            }
            // Nothing is recorded of it.
            SkipReason::Forgotten => Failure::new(FailureClass::Unwanted, "it is forgotten"),
            SkipReason::Blocked(by) => Failure::new(FailureClass::Blocked, by),
        };
        let fetched = Fetched {
            pace: task.pace,
            finished: self.clock.now(),
            earlier: None,
            outcome: Outcome::Failed(failure),
            was_handed_out: false,
            reservation: Reservation::default(),
            turn: Turn::default(),
            task,
        };
        let _ = self.fetched.send((fetched, permit)).await;
    }

    /// Returns what an earlier crawl holds of a URL that is visited for the first time.
    async fn earlier(&self, task: &FetchTask) -> Option<Box<EarlierPage>> {
        let since = Arc::clone(self.since.as_ref()?);
        let queued = &task.queued;
        let is_first = !queued.revisit && !matches!(queued.expectation, Expectation::Again { .. });
        if !is_first || queued.purpose == Purpose::Robots {
            return None;
        }
        let url = task.url.clone();
        // It may have to be read from the disk.
        let found = tokio::task::spawn_blocking(move || since.of(&url)).await;
        found.ok().flatten().map(Box::new)
    }

    /// Returns `true` if the address of a host matters to the schedule.
    pub(crate) fn minds_address(&self, host: &HostKey) -> bool {
        !self.politeness(host).address_delay().is_zero()
    }

    /// Returns the time for which the address of a visit is left alone after it. Hosts of other
    /// shards may have the same one.
    fn address_delay(&self, task: &FetchTask, visited: Option<IpAddr>, now: Moment) -> Duration {
        let delay = self.politeness(task.visiting().0).address_delay();
        match (&self.foreign, task.held.ip) {
            (Some(foreign), Some(held)) if !delay.is_zero() => {
                foreign.server_delay(visited.unwrap_or(held), delay, now)
            }
            _ => delay,
        }
    }

    /// Returns where a visit is made: where its address was kept free for it, so that whoever
    /// answers for a name cannot send it elsewhere.
    fn at(&self, task: &FetchTask) -> At {
        let (host, _) = task.visiting();
        match task.held.ip {
            Some(ip) => At::Address(ip),
            None if self.minds_address(host) && !self.fetcher.is_behind_proxy(host) => At::Nowhere,
            None => At::Anywhere,
        }
    }

    /// Returns `true` if a visit that reached nobody can be made at another address of its host.
    async fn has_another_address(&self, task: &FetchTask, at: At) -> bool {
        if at == At::Anywhere || task.held.moves >= MAX_MOVES {
            return false;
        }
        let other = self.fetcher.address(task.visiting().0).await;
        other.is_some() && other != task.held.ip
    }

    /// Looks up the address of a host.
    pub(crate) async fn resolve(self, host: HostKey) {
        let address = self.fetcher.address(&host).await;
        let _ = self.events.send(Event::Resolved(host, address)).await;
    }

    /// Returns the task that follows a redirected robots.txt, up to five in a row (RFC 9309,
    /// section 2.3.1.2), because its rules are needed before anything else of the host. It waits
    /// for its turn at the host to which it is redirected. The last response is recorded, under its
    /// own URL; a redirect that may not be followed leads nowhere and is itself the last response.
    fn next_hop(&self, task: &FetchTask, exchange: &Exchange, visited: &Pace) -> Option<FetchTask> {
        let hops = task
            .robots_redirect
            .as_ref()
            .map_or(0, |robots_redirect| robots_redirect.hops);
        let target = exchange.redirect_target(&task.url)?;
        let is_blocked = self.policies.load().blocked().find(&target).is_some();
        if hops >= robots::MAX_REDIRECTS || is_blocked || self.guard.check(&target).is_err() {
            return None;
        }
        let mut next_hop = task.clone();
        if task.robots_redirect.is_none() {
            next_hop.pace = *visited;
        }
        next_hop.queued.url = target.to_string();
        next_hop.queued.path.push('R');
        next_hop.robots_redirect = Some(RobotsRedirect {
            at: HostKey::of(&target),
            pace: Pace::default(),
            hops: hops + 1,
            is_at_held: false,
        });
        next_hop.url = target;
        Some(next_hop)
    }

    fn politeness(&self, host: &HostKey) -> Politeness {
        self.policies.load().of(host).politeness
    }
}

/// Whether a URL is asked for because it may be a page: robots.txt, sitemaps and what pages need to
/// be shown are wanted whatever their type.
fn is_page(purpose: Purpose) -> bool {
    !purpose.is_sitemap() && !matches!(purpose, Purpose::Robots | Purpose::Requisite(_))
}

/// Tells whether a host is not known to respond: the visit asks for its robots.txt, which comes
/// before all else, and nothing failed before.
fn is_first(task: &FetchTask) -> bool {
    task.queued.purpose == Purpose::Robots && task.visiting().1.failures == 0
}

/// Tells whether a host took a second request in a row without a response to it, before anything
/// else is known of it. It hangs, or sends without end what is no response; the client does not
/// tell these apart, and each further attempt could cost the reactor as much.
fn is_mute(task: &FetchTask, outcome: &Outcome) -> bool {
    let is_silent = matches!(outcome, Outcome::Failed(failure) if failure.is_silent());
    let before = task.visiting().1;
    is_silent && task.queued.purpose == Purpose::Robots && before.trouble == Some(Trouble::Timeout)
}

/// Validators for a conditional request: the server sends a body only if the page no longer matches
/// them.
fn conditions<'a>(task: &'a FetchTask, earlier: Option<&'a EarlierPage>) -> Conditions<'a> {
    let of_earlier = earlier.and_then(|earlier| earlier.validators.as_ref());
    let validators = task.queued.validators.as_ref().or(of_earlier);
    Conditions {
        etag: validators.and_then(|it| it.etag.as_deref()),
        last_modified: validators.and_then(|it| it.last_modified.as_deref()),
    }
}
