//! When a host may be visited again, and when a server may be, whatever the name it is visited by.
//!
//! The next visit of a host is as long after the end of the last as the longest of: the delay, what
//! its robots.txt asks for, how long the last answer took. Failures lengthen that: the wait doubles
//! with each, up to a bound, and each success takes back one of the doublings, not all. No failure
//! ever shortens it. A host that keeps failing is parked: it is left alone for long, and a crawl
//! does not stay for it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Moment;

/// How gently hosts are treated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Politeness {
    /// From the end of one visit of a host to the start of the next, at least.
    pub delay: Duration,
    /// The same of an address, of whichever hosts; never more than `delay`.
    pub address_delay: Duration,
    /// A host is left alone so many times as long as its last answer took, if it has a delay at
    /// all.
    pub response_factor: u8,
    /// A crawl-delay in robots.txt, or a slow answer, lengthens the delay up to this.
    pub max_crawl_delay: Duration,
    /// Wait after the first failure of a host to answer; doubled by each further one.
    pub backoff: Duration,
    /// The longest wait after failures.
    pub max_backoff: Duration,
    /// Attempts made for one URL before it is given up.
    pub attempts: u8,
    /// Failures that are worth another attempt.
    pub retry: Troubles,
    /// Failures in a row after which a host is parked.
    pub park_after: u32,
    /// How long it is parked at first; doubled by each further failure.
    pub park: Duration,
    /// The longest that it is, and the longest Retry-After that is obeyed; a longer one counts as
    /// none.
    pub max_park: Duration,
}

/// Classes of failure, as far as another attempt and the host's pace depend on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trouble {
    /// The name was not resolved.
    Dns,
    /// No connection was made.
    Connect,
    /// No secure connection was made.
    Tls,
    /// The answer, or its end, did not come in time.
    Timeout,
    /// The connection broke before the end of the answer.
    Disconnect,
    /// The answer is not HTTP, or beyond the bounds.
    Protocol,
    /// The server asked for time (429, 503).
    Overloaded,
    /// The server failed (5xx but 503).
    ServerError,
}

impl Trouble {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Dns,
        Self::Connect,
        Self::Tls,
        Self::Timeout,
        Self::Disconnect,
        Self::Protocol,
        Self::Overloaded,
        Self::ServerError,
    ];

    /// The name in settings, records and counters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::Disconnect => "disconnect",
            Self::Protocol => "protocol",
            Self::Overloaded => "overloaded",
            Self::ServerError => "server-error",
        }
    }
}

/// A set of classes of failure; in a configuration a list of their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Trouble>", into = "Vec<Trouble>")]
pub struct Troubles(u16);

impl Troubles {
    /// Whether a class is one of them.
    pub fn has(self, trouble: Trouble) -> bool {
        self.0 & 1 << trouble as u16 != 0
    }
}

impl Default for Troubles {
    /// What often passes by itself.
    fn default() -> Self {
        Self::from(vec![
            Trouble::Dns,
            Trouble::Connect,
            Trouble::Timeout,
            Trouble::Disconnect,
            Trouble::Overloaded,
        ])
    }
}

impl From<Vec<Trouble>> for Troubles {
    fn from(list: Vec<Trouble>) -> Self {
        Self(list.into_iter().fold(0, |all, it| all | 1 << it as u16))
    }
}

impl From<Troubles> for Vec<Trouble> {
    fn from(set: Troubles) -> Self {
        Trouble::ALL.into_iter().filter(|it| set.has(*it)).collect()
    }
}

/// A host's pace: what the next visit depends on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pace {
    /// Not to be visited before.
    pub due: Moment,
    /// Failures, less the successes since.
    pub failures: u32,
    /// What the last failure was, while there are any.
    pub trouble: Option<Trouble>,
    /// It keeps failing: nobody waits for it.
    pub parked: bool,
    /// Crawl-delay of the robots.txt.
    pub crawl_delay: Option<Duration>,
}

/// How a visit went, as far as the host's pace is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The host answered after so long, and does not complain.
    Fine(Duration),
    /// The host asked for time (429, 503), perhaps saying how much.
    Overloaded(Option<Duration>),
    /// The host failed, or did not answer.
    Failed(Trouble),
    /// The host was not asked: nothing changes.
    NotAsked,
}

impl Answer {
    /// Of which class it is, if it is a failure.
    pub fn trouble(self) -> Option<Trouble> {
        match self {
            Self::Fine(_) | Self::NotAsked => None,
            Self::Overloaded(_) => Some(Trouble::Overloaded),
            Self::Failed(trouble) => Some(trouble),
        }
    }
}

/// Doublings of the delay after errors of the server: these are often those of a page, not of a
/// host.
const MAX_DOUBLINGS: u32 = 3;

impl Politeness {
    /// No delay, one attempt and no patience: what is to be overridden where it matters.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Self {
            delay: Duration::ZERO,
            address_delay: Duration::ZERO,
            response_factor: 0,
            max_crawl_delay: Duration::ZERO,
            backoff: Duration::ZERO,
            max_backoff: Duration::ZERO,
            attempts: 1,
            retry: Troubles::default(),
            park_after: u32::MAX,
            park: Duration::ZERO,
            max_park: Duration::ZERO,
        }
    }

    /// The pace after a visit that ended at `finished`.
    pub fn after(&self, pace: &Pace, answer: Answer, finished: Moment) -> Pace {
        self.after_with(self.park_after, pace, answer, finished)
    }

    /// The same after a visit of a robots.txt, without which nothing else of the host may be asked
    /// for: it is parked as soon as a URL would be given up.
    pub fn after_robots(&self, pace: &Pace, answer: Answer, finished: Moment) -> Pace {
        let patience = self.park_after.min(u32::from(self.attempts));
        self.after_with(patience, pace, answer, finished)
    }

    fn after_with(&self, patience: u32, pace: &Pace, answer: Answer, finished: Moment) -> Pace {
        let delay = self.delay(pace.crawl_delay);
        let failures = pace.failures.saturating_add(1);
        let wait = match answer {
            Answer::NotAsked => return *pace,
            Answer::Fine(took) => return self.recovered(pace, took, finished),
            Answer::Overloaded(Some(asked)) if asked <= self.max_park => asked,
            Answer::Failed(Trouble::ServerError) => {
                doubled(delay, failures.min(MAX_DOUBLINGS)).min(self.max_backoff)
            }
            // Years are no answer to when: what is asked for beyond reason is asked for by mistake.
            Answer::Overloaded(_) | Answer::Failed(_) => {
                doubled(self.backoff, failures - 1).min(self.max_backoff)
            }
        };
        let is_error = matches!(answer, Answer::Failed(Trouble::ServerError));
        let gives_up = failures >= patience && !is_error;
        let parking = match gives_up {
            true => doubled(self.park, failures - patience).min(self.max_park),
            false => Duration::ZERO,
        };
        Pace {
            due: finished.plus(wait.max(parking).max(delay)),
            failures,
            trouble: answer.trouble(),
            parked: gives_up || wait > self.park,
            ..*pace
        }
    }

    /// The pace after a good answer: the next wait is longer by as many delays as failures are
    /// left.
    fn recovered(&self, pace: &Pace, took: Duration, finished: Moment) -> Pace {
        let failures = pace.failures.min(self.park_after).saturating_sub(1);
        let delay = self.delay(pace.crawl_delay).max(self.slowness(took));
        let wait = delay.saturating_mul(failures.saturating_add(1));
        Pace {
            due: finished.plus(wait.min(self.max_backoff).max(delay)),
            failures,
            trouble: pace.trouble.filter(|_| failures > 0),
            parked: false,
            ..*pace
        }
    }

    /// From the end of one visit to the start of the next, given what robots.txt asks for.
    pub fn delay(&self, crawl_delay: Option<Duration>) -> Duration {
        let asked = crawl_delay.unwrap_or_default();
        self.delay.max(asked.min(self.max_crawl_delay))
    }

    /// From the end of one visit of an address to the start of the next.
    pub fn address_delay(&self) -> Duration {
        self.address_delay.min(self.delay)
    }

    /// What an answer that took so long asks for. Whoever wants no delay wants none of this kind.
    fn slowness(&self, took: Duration) -> Duration {
        match self.delay.is_zero() {
            true => Duration::ZERO,
            false => {
                (took.saturating_mul(u32::from(self.response_factor))).min(self.max_crawl_delay)
            }
        }
    }
}

fn doubled(wait: Duration, times: u32) -> Duration {
    wait.saturating_mul(2_u32.saturating_pow(times.min(20)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn politeness() -> Politeness {
        Politeness {
            delay: Duration::from_secs(1),
            address_delay: Duration::from_millis(250),
            response_factor: 2,
            max_crawl_delay: Duration::from_secs(30),
            backoff: Duration::from_secs(5),
            max_backoff: Duration::from_mins(10),
            attempts: 3,
            retry: Troubles::default(),
            park_after: 8,
            park: Duration::from_hours(1),
            max_park: Duration::from_hours(24),
        }
    }

    const FINE: Answer = Answer::Fine(Duration::ZERO);
    const SILENT: Answer = Answer::Failed(Trouble::Timeout);

    fn pace(failures: u32, crawl_delay: Option<u64>) -> Pace {
        Pace {
            failures,
            crawl_delay: crawl_delay.map(Duration::from_secs),
            ..Pace::default()
        }
    }

    /// The wait in seconds, failures and parking after `answer` of a host with `failures` and
    /// `crawl_delay` seconds.
    #[track_caller]
    fn check(answer: Answer, failures: u32, crawl_delay: Option<u64>, expected: (u64, u32, bool)) {
        let after = politeness().after(&pace(failures, crawl_delay), answer, Moment(10_000));
        let wait = (after.due.0 - 10_000) / 1_000;
        let found = (wait, after.failures, after.parked);
        assert_eq!(found, expected, "{answer:?} after {failures}");
    }

    #[test]
    fn the_longest_delay_counts() {
        check(FINE, 0, None, (1, 0, false));
        check(FINE, 0, Some(4), (4, 0, false));
        check(FINE, 0, Some(1_000), (30, 0, false));
        let slow = |seconds| Answer::Fine(Duration::from_secs(seconds));
        check(slow(3), 0, None, (6, 0, false));
        check(slow(3), 0, Some(7), (7, 0, false));
        check(slow(100), 0, None, (30, 0, false));
        let none = Politeness {
            delay: Duration::ZERO,
            ..politeness()
        };
        assert_eq!(
            none.after(&pace(0, None), slow(3), Moment(5)).due,
            Moment(5)
        );
        assert_eq!(none.address_delay(), Duration::ZERO);
        assert_eq!(politeness().address_delay(), Duration::from_millis(250));
    }

    #[test]
    fn failures_double_the_wait_and_successes_take_it_back_one_by_one() {
        check(SILENT, 0, None, (5, 1, false));
        check(SILENT, 1, None, (10, 2, false));
        check(SILENT, 2, Some(30), (30, 3, false));
        check(SILENT, 6, None, (320, 7, false));
        check(FINE, 1, None, (1, 0, false));
        check(FINE, 3, None, (3, 2, false));
        check(FINE, 40, None, (8, 7, false));
    }

    #[test]
    fn errors_of_the_server_double_the_delay_a_few_times() {
        let error = Answer::Failed(Trouble::ServerError);
        check(error, 0, None, (2, 1, false));
        check(error, 0, Some(4), (8, 1, false));
        check(error, 1, None, (4, 2, false));
        check(error, 40, None, (8, 41, false));
    }

    #[test]
    fn retry_after_is_obeyed_within_reason() {
        let asked = |seconds| Answer::Overloaded(Some(Duration::from_secs(seconds)));
        check(asked(77), 0, None, (77, 1, false));
        check(asked(0), 0, Some(3), (3, 1, false));
        check(asked(3_600), 0, None, (3_600, 1, false));
        // Nobody stays for that.
        check(asked(4_000), 0, None, (4_000, 1, true));
        check(asked(86_400), 0, None, (86_400, 1, true));
        // That is no wait that anybody means.
        check(asked(90_000), 0, None, (5, 1, false));
        check(Answer::Overloaded(None), 1, None, (10, 2, false));
    }

    #[test]
    fn who_keeps_failing_is_parked_ever_longer() {
        check(SILENT, 7, None, (3_600, 8, true));
        check(SILENT, 8, None, (7_200, 9, true));
        check(SILENT, 40, None, (86_400, 41, true));
        let robots = |answer, failures| {
            let after = politeness().after_robots(&pace(failures, None), answer, Moment(0));
            (after.due.0 / 1_000, after.parked)
        };
        assert_eq!(robots(SILENT, 1), (10, false));
        assert_eq!(robots(SILENT, 2), (3_600, true));
        let after = politeness().after(&pace(9, None), SILENT, Moment(0));
        assert_eq!(after.trouble, Some(Trouble::Timeout));
        let after = politeness().after(&after, FINE, Moment(0));
        assert_eq!(
            (after.parked, after.trouble),
            (false, Some(Trouble::Timeout))
        );
    }

    #[test]
    fn no_failure_speeds_a_host_up() {
        let fine = politeness().after(&pace(0, Some(9)), FINE, Moment(0)).due;
        for trouble in Trouble::ALL {
            let mut pace = pace(0, Some(9));
            let mut last = Duration::ZERO;
            for _ in 0..50 {
                pace = politeness().after(&pace, Answer::Failed(trouble), Moment(0));
                let wait = Moment(0).until(pace.due);
                assert!(pace.due >= fine && wait >= last, "{trouble:?}");
                last = wait;
            }
        }
    }

    #[test]
    fn a_host_that_was_not_asked_keeps_its_pace() {
        let pace = pace(2, None);
        assert_eq!(politeness().after(&pace, Answer::NotAsked, Moment(9)), pace);
    }

    #[test]
    fn a_set_of_classes_is_a_list_of_their_names() {
        let set: Troubles = serde_json::from_str(r#"["tls","server-error"]"#).unwrap();
        assert!(set.has(Trouble::Tls) && set.has(Trouble::ServerError) && !set.has(Trouble::Dns));
        assert_eq!(
            serde_json::to_string(&set).unwrap(),
            r#"["tls","server-error"]"#
        );
        for trouble in Trouble::ALL {
            assert_eq!(serde_json::to_value(trouble).unwrap(), trouble.name());
        }
    }
}
