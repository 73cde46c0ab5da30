//! From task to fetched: one short task of the reactor per visit.
//!
//! Owns the connection while it lasts. The end of the fetch gives the host back to the schedule at
//! once; the visit itself goes on to the analysts, and waits there with its permit when they are
//! behind: that is how a slow disk slows the network.

use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::clock::Clock;
use super::scheduler::Event;
use super::visit::Fetched;
use crate::fetch::{Failure, FailureClass, Fetcher, Following, Outcome, Reservation};
use crate::frontier::{Answer, FetchTask, Politeness, Purpose};

/// What a fetch needs besides its task.
#[derive(Clone)]
pub(super) struct Fetchers {
    pub(super) fetcher: Fetcher,
    pub(super) politeness: Arc<Politeness>,
    pub(super) clock: Clock,
    pub(super) events: mpsc::Sender<Event>,
    pub(super) fetched: mpsc::Sender<Fetched>,
}

impl Fetchers {
    /// Makes a visit and sends it on. Cancelled by dropping: then nobody hears of it, and its task
    /// is still queued.
    pub(super) async fn visit(self, task: FetchTask, permit: OwnedSemaphorePermit) {
        let following = match task.purpose {
            Purpose::Page => Following::Never,
            Purpose::Robots => Following::Robots,
        };
        let (outcome, reservation) = self.fetcher.fetch(&task.url, following).await;
        self.hand_on(task, outcome, reservation, permit).await;
    }

    /// Sends on a visit that is not made, because robots.txt forbids it.
    pub(super) async fn forbid(
        self,
        task: FetchTask,
        reason: String,
        permit: OwnedSemaphorePermit,
    ) {
        let outcome = Outcome::Failed(Failure::new(FailureClass::Robots, reason));
        self.hand_on(task, outcome, Reservation::default(), permit)
            .await;
    }

    async fn hand_on(
        self,
        task: FetchTask,
        outcome: Outcome,
        reservation: Reservation,
        permit: OwnedSemaphorePermit,
    ) {
        let finished = self.clock.now();
        let answer = answer(&outcome);
        let pace = self.politeness.after(&task.pace, answer, finished);
        let visited = Event::Visited(task.host.clone(), pace);
        if answer != Answer::NotAsked || asked_in_vain(&outcome) {
            // The scheduler is gone only when the run is ending: then the visit does not count.
            if self.events.send(visited).await.is_err() {
                return;
            }
        }
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
}

/// How the visit went, as far as the host's pace is concerned.
fn answer(outcome: &Outcome) -> Answer {
    match outcome {
        Outcome::Exchange(exchange) if matches!(exchange.status, 429 | 503) => {
            Answer::Overloaded(exchange.retry_after(Timestamp::now()))
        }
        Outcome::Exchange(_) => Answer::Fine,
        Outcome::Failed(failure) if failure.asked() => Answer::Unreachable,
        Outcome::Failed(_) => Answer::NotAsked,
    }
}

/// The visit was handed out, but the guard kept it from the host: its pace stays as it is.
fn asked_in_vain(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failed(failure) if failure.class == FailureClass::Guard)
}
