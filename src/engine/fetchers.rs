//! From task to fetched: one short task of the reactor per visit.
//!
//! Owns the connection while it lasts. The end of the fetch gives the host back to the schedule at
//! once; the visit itself goes on to the analysts, and waits there with its permit when they are
//! behind: that is how a slow disk slows the network.

use std::sync::Arc;

use governor::DefaultDirectRateLimiter;
use jiff::Timestamp;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::clock::Clock;
use super::scheduler::Event;
use super::turns::Turns;
use super::visit::Fetched;
use crate::fetch::{Cut, Failure, FailureClass, Fetcher, Outcome, Reservation};
use crate::frontier::{Answer, FetchTask, Moment, Pace, Politeness, Purpose, SharedPolicies};
use crate::robots::{self, Availability};
use crate::url::HostKey;

/// What a fetch needs besides its task.
#[derive(Clone)]
pub(super) struct Fetchers {
    pub(super) fetcher: Fetcher,
    pub(super) policies: SharedPolicies,
    pub(super) clock: Clock,
    pub(super) turns: Turns,
    /// The crawl-wide rate, if there is one.
    pub(super) limiter: Option<Arc<DefaultDirectRateLimiter>>,
    pub(super) events: mpsc::Sender<Event>,
    pub(super) fetched: mpsc::Sender<Fetched>,
}

impl Fetchers {
    /// Makes a visit and sends it on. Cancelled by dropping: then nobody hears of it, and its task
    /// is still queued.
    pub(super) async fn visit(self, mut task: FetchTask, permit: OwnedSemaphorePermit) {
        self.turns.take(&task.host).await;
        let (mut outcome, mut reservation) = self.fetcher.fetch(&task.url).await;
        let mut finished = self.clock.now_or_later();
        let mut pace = self.pace_after(&task, &outcome, finished);
        self.turns.give_back(&task.host, pace.due);
        if task.queued.purpose == Purpose::Robots {
            (outcome, reservation) = self.follow_robots(&mut task, outcome, reservation).await;
            finished = self.clock.now_or_later();
            pace = self.pace_after(&task, &outcome, finished);
        }
        // The scheduler does not listen any more when the run is ending: the visit still counts.
        let _ = self
            .events
            .send(Event::Visited(task.host.clone(), pace))
            .await;
        let fetched = Fetched {
            task,
            outcome,
            pace,
            finished,
            reservation,
        };
        let _ = self.fetched.send(fetched).await;
        drop(permit);
    }

    /// Sends on a visit that is not made, because robots.txt forbids it. Its host may be visited
    /// meanwhile, so nothing is said of its pace.
    pub(super) async fn forbid(
        self,
        task: FetchTask,
        reason: String,
        permit: OwnedSemaphorePermit,
    ) {
        let fetched = Fetched {
            pace: task.pace,
            finished: self.clock.now(),
            outcome: Outcome::Failed(Failure::new(FailureClass::Robots, reason)),
            reservation: Reservation::default(),
            task,
        };
        let _ = self.fetched.send(fetched).await;
        drop(permit);
    }

    /// Follows the redirects of a robots.txt, up to five in a row (RFC 9309, section 2.3.1.2): its
    /// rules are needed before anything else of the host. Each waits for its turn at the host that
    /// it leads to. What is recorded is the last answer, under its own URL.
    async fn follow_robots(
        &self,
        task: &mut FetchTask,
        mut outcome: Outcome,
        mut reservation: Reservation,
    ) -> (Outcome, Reservation) {
        let mut url = task.url.clone();
        for _ in 0..robots::MAX_REDIRECTS {
            let Outcome::Exchange(exchange) = &outcome else {
                break;
            };
            let Some(target) = exchange.redirect_target(&url) else {
                break;
            };
            let host = HostKey::of(&target);
            self.turns.take(&host).await;
            if let Some(limiter) = &self.limiter {
                limiter.until_ready().await;
            }
            let next = self.fetcher.fetch(&target).await;
            let delay = self.politeness(&host).delay(task.pace.crawl_delay);
            self.turns
                .give_back(&host, self.clock.now_or_later().plus(delay));
            if matches!(&next.0, Outcome::Failed(failure) if !failure.asked()) {
                // A redirect that may not be followed leads nowhere, and is all there is.
                break;
            }
            task.queued.url = target.to_string();
            task.queued.path.push('R');
            url = target;
            (outcome, reservation) = next;
        }
        (outcome, reservation)
    }

    fn pace_after(&self, task: &FetchTask, outcome: &Outcome, finished: Moment) -> Pace {
        let answer = answer(task.queued.purpose, outcome);
        self.politeness(&task.host)
            .after(&task.pace, answer, finished)
    }

    fn politeness(&self, host: &HostKey) -> Politeness {
        self.policies.load().of(host).politeness
    }
}

/// How the visit went, as far as the host's pace is concerned.
fn answer(purpose: Purpose, outcome: &Outcome) -> Answer {
    match outcome {
        Outcome::Exchange(exchange) => {
            let broken = matches!(exchange.cut, Some(Cut::Time | Cut::Disconnect));
            let overloaded = match purpose {
                Purpose::Page | Purpose::Sitemap { .. } => exchange.asks_for_time(),
                Purpose::Robots => {
                    Availability::of_status(exchange.status) == Availability::Unreachable
                }
            };
            if overloaded {
                Answer::Overloaded(exchange.retry_after(Timestamp::now()))
            } else if broken {
                Answer::Unreachable
            } else {
                Answer::Fine
            }
        }
        Outcome::Failed(failure) if failure.asked() => Answer::Unreachable,
        Outcome::Failed(_) => Answer::NotAsked,
    }
}
