//! Politeness: when a host, and the address of its server, may be visited again.
//!
//! The time from the end of one visit to the start of the next is the longest of: the delay, the
//! crawl delay of its robots.txt, and a multiple of the time that the last answer took. Failures
//! lengthen it: the wait doubles with each, up to a bound, and each success takes back one
//! doubling. No failure ever shortens it. A host that keeps failing is parked: it is left alone for
//! hours, and a crawl does not wait for it to end.

use std::num::NonZeroU32;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use struct_patch::Patch;
use strum::{IntoStaticStr, VariantArray};

use super::Moment;
use crate::units::{Checked, Span};

/// How gently hosts are treated: `[politeness]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Patch)]
#[serde(default, deny_unknown_fields)]
#[patch(
    name = "PolitenessOverrides",
    attribute(derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)),
    attribute(serde(default, deny_unknown_fields)),
    attribute(expect(missing_docs, reason = "each field is described at `Politeness`"))
)]
pub struct Politeness {
    /// Least time from the end of one visit of a host to the start of the next.
    pub delay: Span,
    /// As `delay`, after a file that a page needs to be shown; `None` for `delay`.
    pub requisite_delay: Option<Span>,
    /// Least time between two visits of one IP address, whichever hosts they are for. Never more
    /// than `delay`.
    pub address_delay: Span,
    /// A host rests this many times as long as its last response took, unless `delay` is 0.
    pub response_factor: u8,
    /// Longest wait that a Crawl-delay in robots.txt or a slow response can ask for; longer ones
    /// are cut to this.
    pub max_crawl_delay: Span,
    /// Wait after the first failure of a host; doubled by each further failure.
    pub backoff: Span,
    /// Longest wait after failures.
    pub max_backoff: Span,
    /// Attempts made for one URL before it is given up.
    pub attempts: u8,
    /// Classes of failure after which a URL is tried again.
    pub retry: Troubles,
    /// Consecutive failures after which a host is parked.
    pub park_after: u32,
    /// How long a host is parked at first; doubled by each further failure.
    pub park: Span,
    /// Longest time that a host is parked, and the longest wait that Retry-After can ask for; a
    /// longer one is cut to this.
    pub max_park: Span,
    /// Requests per second across the whole crawl; `None` for no limit but the hosts' delays.
    #[patch(skip)]
    pub max_rate: Option<NonZeroU32>,
}

impl Default for Politeness {
    fn default() -> Self {
        Self {
            delay: Span::seconds(1),
            requisite_delay: None,
            address_delay: Span::millis(250),
            response_factor: 1,
            max_crawl_delay: Span::seconds(60),
            backoff: Span::seconds(5),
            max_backoff: Span::seconds(600),
            attempts: 3,
            retry: Troubles::default(),
            park_after: 8,
            park: Span::seconds(3_600),
            max_park: Span::seconds(24 * 3_600),
            max_rate: None,
        }
    }
}

/// Classes of failure, as far as they decide about further attempts and the host's pace.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    IntoStaticStr,
    VariantArray,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Trouble {
    /// The name could not be resolved.
    Dns,
    /// No connection could be made.
    Connect,
    /// No secure connection could be made.
    Tls,
    /// The answer, or its end, did not arrive in time.
    Timeout,
    /// The connection was closed before the end of the answer.
    Disconnect,
    /// The answer is not HTTP, or exceeds a bound.
    Protocol,
    /// The server asked for time (status 429 or 503).
    Overloaded,
    /// The server failed (5xx except 503).
    ServerError,
    /// The host no longer knows the login of the configuration.
    Session,
}

impl Trouble {
    /// All classes.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// The name used in settings, records and counters.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether it means that there was no whole answer.
    pub fn is_silence(self) -> bool {
        !matches!(self, Self::Overloaded | Self::ServerError | Self::Session)
    }
}

/// A set of classes of failure. In a configuration file it is a list of their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Trouble>", into = "Vec<Trouble>")]
pub struct Troubles(u16);

impl Troubles {
    /// Whether the set contains a class.
    pub fn has(self, trouble: Trouble) -> bool {
        self.0 & 1 << trouble as u16 != 0
    }
}

impl Default for Troubles {
    /// The classes that are often transient.
    fn default() -> Self {
        Self::from(vec![
            Trouble::Dns,
            Trouble::Connect,
            Trouble::Timeout,
            Trouble::Disconnect,
            Trouble::Overloaded,
            Trouble::ServerError,
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
        Trouble::ALL
            .iter()
            .copied()
            .filter(|it| set.has(*it))
            .collect()
    }
}

/// The pace of a host: what the time of its next visit depends on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pace {
    /// The earliest time of the next visit.
    pub due: Moment,
    /// Number of failures, less the number of successes since.
    pub failures: u32,
    /// The class of the last failure; `None` if `failures` is zero.
    pub trouble: Option<Trouble>,
    /// Whether the host is parked because it keeps failing.
    pub parked: bool,
    /// The crawl delay of its robots.txt.
    pub crawl_delay: Option<Duration>,
}

/// The result of a visit, as far as it concerns the host's pace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The host answered normally, after this time.
    Fine(Duration),
    /// The host asked for time (status 429 or 503), perhaps saying how much.
    Overloaded(Option<Duration>),
    /// The host failed or did not answer.
    Failed(Trouble),
    /// The host failed, and would fail at the next attempt as well: it is parked at once.
    Hopeless(Trouble),
    /// The host was not contacted: nothing changes.
    NotAsked,
}

impl Answer {
    /// The class of failure; `None` if it is none.
    pub fn trouble(self) -> Option<Trouble> {
        match self {
            Self::Fine(_) | Self::NotAsked => None,
            Self::Overloaded(_) => Some(Trouble::Overloaded),
            Self::Failed(trouble) | Self::Hopeless(trouble) => Some(trouble),
        }
    }
}

/// Maximum number of doublings after errors of the server, which often concern a page rather than
/// the host.
const MAX_DOUBLINGS: u32 = 3;

impl Politeness {
    /// Refuses values that would stall a crawl.
    pub fn check(&self) -> Checked {
        match self {
            _ if self.attempts == 0 => Err(("politeness.attempts", "at least 1")),
            _ if self.park_after == 0 => Err(("politeness.park_after", "at least 1")),
            _ => Ok(()),
        }
    }

    /// No delay, one attempt and no parking: tests override what they are about.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Self {
            delay: Span::ZERO,
            requisite_delay: None,
            address_delay: Span::ZERO,
            response_factor: 0,
            max_crawl_delay: Span::ZERO,
            backoff: Span::ZERO,
            max_backoff: Span::ZERO,
            attempts: 1,
            retry: Troubles::default(),
            park_after: u32::MAX,
            park: Span::ZERO,
            max_park: Span::ZERO,
            max_rate: None,
        }
    }

    /// The pace after a visit that ended at `finished`.
    pub fn after(&self, pace: &Pace, answer: Answer, finished: Moment) -> Pace {
        self.after_with(self.park_after, pace, answer, finished)
    }

    /// The pace after a visit of a requisite that ended at `finished`.
    pub fn after_requisite(&self, pace: &Pace, answer: Answer, finished: Moment) -> Pace {
        let Some(delay) = self.requisite_delay else {
            return self.after(pace, answer, finished);
        };
        let politeness = Self {
            delay,
            ..self.clone()
        };
        politeness.after(pace, answer, finished)
    }

    /// The pace after a visit of robots.txt that ended at `finished`. Nothing else of the host may
    /// be requested without its rules, so it is parked as soon as a page would be given up.
    pub fn after_robots(&self, pace: &Pace, answer: Answer, finished: Moment) -> Pace {
        let patience = self.park_after.min(u32::from(self.attempts));
        self.after_with(patience, pace, answer, finished)
    }

    fn after_with(&self, patience: u32, pace: &Pace, answer: Answer, finished: Moment) -> Pace {
        let delay = self.delay(pace.crawl_delay);
        let failures = pace.failures.saturating_add(1);
        let backoff = doubled(self.backoff.0, failures - 1).min(self.max_backoff.0);
        let patience = match answer {
            Answer::Hopeless(_) => failures,
            _ => patience,
        };
        let wait = match answer {
            Answer::NotAsked => return *pace,
            Answer::Fine(took) => return self.recovered(pace, took, finished),
            // It is not asked before the time that it names, but for a `Retry-After` of years. One
            // of no time, or in the past, is no reason to wait less than without it.
            Answer::Overloaded(asked) => {
                let asked = asked.unwrap_or_default();
                asked.min(self.max_park.0).max(backoff)
            }
            Answer::Failed(Trouble::ServerError) => {
                doubled(delay, failures.min(MAX_DOUBLINGS)).min(self.max_backoff.0)
            }
            Answer::Failed(_) | Answer::Hopeless(_) => backoff,
        };
        let is_error = matches!(answer, Answer::Failed(Trouble::ServerError));
        let gives_up = failures >= patience && !is_error;
        let parking = if gives_up {
            doubled(self.park.0, failures - patience).min(self.max_park.0)
        } else {
            Duration::ZERO
        };
        Pace {
            due: finished.plus(wait.max(parking).max(delay)),
            failures,
            trouble: answer.trouble(),
            parked: gives_up || wait > self.park.0,
            ..*pace
        }
    }

    /// The pace after a good answer: the wait is longer by one delay per remaining failure.
    fn recovered(&self, pace: &Pace, took: Duration, finished: Moment) -> Pace {
        let failures = pace.failures.min(self.park_after).saturating_sub(1);
        let delay = self.delay(pace.crawl_delay).max(self.slowness(took));
        let wait = delay.saturating_mul(failures.saturating_add(1));
        Pace {
            due: finished.plus(wait.min(self.max_backoff.0).max(delay)),
            failures,
            trouble: pace.trouble.filter(|_| failures > 0),
            parked: false,
            ..*pace
        }
    }

    /// The time from the end of one visit to the start of the next, given the crawl delay of
    /// robots.txt.
    pub fn delay(&self, crawl_delay: Option<Duration>) -> Duration {
        let asked = crawl_delay.unwrap_or_default();
        self.delay.0.max(asked.min(self.max_crawl_delay.0))
    }

    /// The time from the end of one visit to an address to the start of the next.
    pub fn address_delay(&self) -> Duration {
        self.address_delay.0.min(self.delay.0)
    }

    /// The longest time that a host may have to wait, whatever it answers.
    pub fn longest_wait(&self) -> Duration {
        let waits = [
            self.delay,
            self.requisite_delay.unwrap_or(self.delay),
            self.max_crawl_delay,
            self.max_backoff,
            self.max_park,
        ];
        waits.into_iter().map(|it| it.0).max().unwrap_or_default()
    }

    /// The wait caused by an answer that took so long. Zero if the delay is zero.
    fn slowness(&self, took: Duration) -> Duration {
        if self.delay.0.is_zero() {
            Duration::ZERO
        } else {
            (took.saturating_mul(u32::from(self.response_factor))).min(self.max_crawl_delay.0)
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
            delay: Span::seconds(1),
            requisite_delay: Some(Span::millis(500)),
            address_delay: Span::millis(250),
            response_factor: 2,
            max_crawl_delay: Span::seconds(30),
            backoff: Span::seconds(5),
            max_backoff: Span::seconds(600),
            attempts: 3,
            retry: Troubles::default(),
            park_after: 8,
            park: Span::seconds(3_600),
            max_park: Span::seconds(24 * 3_600),
            max_rate: None,
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

    /// Checks the wait in seconds, the failures and the parking after `answer`, for a host with
    /// this many failures and a crawl delay in seconds.
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
            delay: Span::ZERO,
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
    fn requisites_have_a_delay_of_their_own_and_a_host_the_last_word() {
        let wait = |politeness: &Politeness, answer, failures, crawl_delay| {
            let after = politeness.after_requisite(&pace(failures, crawl_delay), answer, Moment(0));
            after.due.0
        };
        let own = politeness();
        assert_eq!(wait(&own, FINE, 0, None), 500);
        assert_eq!(wait(&own, FINE, 0, Some(4)), 4_000);
        assert_eq!(wait(&own, FINE, 3, None), 1_500);
        assert_eq!(wait(&own, SILENT, 0, None), 5_000);
        let slow = Answer::Fine(Duration::from_secs(3));
        assert_eq!(wait(&own, slow, 0, None), 6_000);
        let none = Politeness {
            requisite_delay: None,
            ..politeness()
        };
        assert_eq!(wait(&none, FINE, 0, None), 1_000);
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
        // No time, or a date that has passed, is no less than the back-off.
        check(asked(0), 0, None, (5, 1, false));
        check(asked(0), 2, Some(3), (20, 3, false));
        check(asked(7), 2, None, (20, 3, false));
        check(asked(3_600), 0, None, (3_600, 1, false));
        // The crawl does not wait for that.
        check(asked(4_000), 0, None, (4_000, 1, true));
        check(asked(86_400), 0, None, (86_400, 1, true));
        // One that is too long counts as the longest.
        check(asked(90_000), 0, None, (86_400, 1, true));
        check(asked(u64::MAX), 3, None, (86_400, 4, true));
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
        for &trouble in Trouble::ALL {
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
        for &trouble in Trouble::ALL {
            assert_eq!(serde_json::to_value(trouble).unwrap(), trouble.name());
        }
    }

    #[test]
    fn a_host_without_hope_is_parked_at_once() {
        let none = Pace::default();
        let after = politeness().after(&none, Answer::Hopeless(Trouble::Timeout), Moment(0));
        let silent = politeness().after(&none, Answer::Failed(Trouble::Timeout), Moment(0));
        assert!(after.parked && !silent.parked);
        assert_eq!(after.trouble, Some(Trouble::Timeout));
        assert_eq!(after.due, Moment(0).plus(politeness().park.0));
    }
}
