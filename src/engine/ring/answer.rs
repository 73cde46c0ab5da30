//! How a visit went, for the pace of its host and for another attempt.

use jiff::Timestamp;

use crate::fetch::{Cut, FailureClass, Outcome};
use crate::frontier::{Answer, Trouble};
use crate::robots::Availability;

/// How the visit went, as far as the host's pace is concerned.
pub(in crate::engine) fn answer(is_robots: bool, outcome: &Outcome) -> Answer {
    let exchange = match outcome {
        Outcome::Exchange(exchange) => exchange,
        Outcome::Failed(failure) => {
            return trouble(failure.class).map_or(Answer::NotAsked, Answer::Failed);
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

/// What a failure means for its host; nothing, if that was not asked.
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
