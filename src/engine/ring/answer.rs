//! The result of a visit as it affects the pace of its host and further attempts.

use jiff::Timestamp;

use crate::fetch::{Cut, FailureClass, Outcome};
use crate::frontier::{Answer, Trouble};
use crate::robots::Availability;

/// Returns the result of the visit for the host's pace.
pub(crate) fn answer(is_robots: bool, outcome: &Outcome) -> Answer {
    let exchange = match outcome {
        Outcome::Exchange(exchange) => exchange,
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
        FailureClass::Guard
        | FailureClass::Robots
        | FailureClass::Budget
        | FailureClass::Internal => return None,
    })
}
