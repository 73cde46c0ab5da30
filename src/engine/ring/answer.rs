//! The result of a visit as it affects the pace of its host and further attempts.

use std::time::Duration;

use jiff::Timestamp;

use crate::dedup::{Ineligible, Verdict};
use crate::engine::visit::Judged;
use crate::fetch::{BROKEN_CODING, Cut, FailureClass, Outcome};
use crate::frontier::{Answer, Trouble};
use crate::robots::Availability;

/// Returns the result of the visit for the host's pace.
pub(crate) fn answer(is_robots: bool, outcome: &Outcome) -> Answer {
    let exchange = match outcome {
        Outcome::Exchange(exchange) => exchange,
        // The host has answered, and has nothing to answer for.
        Outcome::Failed(failure) if failure.class == FailureClass::Unwanted => {
            return Answer::Fine(Duration::ZERO);
        }
        Outcome::Failed(failure) => {
            let kind = match failure.is_hopeless() {
                true => Answer::Hopeless,
                false => Answer::Failed,
            };
            return trouble(failure.class).map_or(Answer::NotAsked, kind);
        }
    };
    let overloaded = match is_robots {
        true => Availability::of_status(exchange.status) == Availability::Unreachable,
        false => exchange.asks_for_time(),
    };
    match exchange.cut {
        _ if overloaded => Answer::Overloaded(exchange.retry_after(Timestamp::now())),
        Some(Cut::Time) => Answer::Failed(Trouble::Timeout),
        Some(Cut::Disconnect) => Answer::Failed(Trouble::Disconnect),
        _ if exchange.status >= 500 => Answer::Failed(Trouble::ServerError),
        _ => Answer::Fine(exchange.duration),
    }
}

/// Returns what a failure means for its host, or `None` if the host was not contacted.
fn trouble(class: FailureClass) -> Option<Trouble> {
    Some(match class {
        FailureClass::Dns => Trouble::Dns,
        FailureClass::Connect => Trouble::Connect,
        FailureClass::Tls => Trouble::Tls,
        FailureClass::Timeout => Trouble::Timeout,
        FailureClass::Disconnect => Trouble::Disconnect,
        FailureClass::Protocol => Trouble::Protocol,
        FailureClass::Session => Trouble::Session,
        FailureClass::Guard
        | FailureClass::Robots
        | FailureClass::Budget
        | FailureClass::Blocked
        | FailureClass::Dropped
        | FailureClass::LogsOut
        | FailureClass::Unwanted
        | FailureClass::Internal => return None,
    })
}

/// Returns the reason for another attempt at a visit, if there is one: the class of failure, and
/// what happened.
pub(crate) fn worth_another_attempt(judged: &Judged<'_>) -> Option<(Trouble, String)> {
    failed(&judged.analysed.fetched.outcome).or_else(|| misread(judged))
}

/// A body that took too long is not requested again, because it would take too long again.
fn failed(outcome: &Outcome) -> Option<(Trouble, String)> {
    let trouble = answer(false, outcome).trouble()?;
    match outcome {
        Outcome::Failed(failure) => Some((trouble, failure.message.clone())),
        Outcome::Exchange(exchange) => match trouble {
            Trouble::Timeout => None,
            // It says that it never will.
            Trouble::ServerError if matches!(exchange.status, 501 | 505) => None,
            Trouble::Disconnect => Some((trouble, "the answer broke off".to_owned())),
            _ => Some((trouble, format!("status {}", exchange.status))),
        },
    }
}

/// Returns the reason for another attempt at a response that came, if it may be another one next
/// time: a compressed body that ends too early, or a challenge in place of the page.
fn misread(judged: &Judged<'_>) -> Option<(Trouble, String)> {
    let is_broken = |note: &String| note == BROKEN_CODING;
    match &judged.analysed.fetched.outcome {
        Outcome::Exchange(exchange) if exchange.cut.is_some() => None,
        _ if judged.analysed.notes.iter().any(is_broken) => Some((
            Trouble::Disconnect,
            "the compressed body is broken".to_owned(),
        )),
        _ if matches!(judged.verdict, Verdict::Ineligible(Ineligible::Challenge)) => Some((
            Trouble::Overloaded,
            "a challenge in place of the page".to_owned(),
        )),
        _ => None,
    }
}
