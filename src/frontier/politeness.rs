//! When a host may be visited again.

use std::time::Duration;

use super::Moment;

/// How gently hosts are treated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Politeness {
    /// From the end of one visit of a host to the start of the next, at least.
    pub delay: Duration,
    /// A crawl-delay in robots.txt lengthens the delay up to this.
    pub max_crawl_delay: Duration,
    /// Wait after the first failure of a host to answer; doubled by each further one in a row.
    pub backoff: Duration,
    /// The longest wait after failures, and the longest Retry-After that is obeyed.
    pub max_backoff: Duration,
    /// Attempts made for one URL before it is given up.
    pub attempts: u8,
}

/// A host's pace: what the next visit depends on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pace {
    /// Not to be visited before.
    pub due: Moment,
    /// Failures in a row.
    pub failures: u32,
    /// Crawl-delay of the robots.txt.
    pub crawl_delay: Option<Duration>,
}

/// How a visit went, as far as the host's pace is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The host answered and does not complain.
    Fine,
    /// The host asked for time (429, 503), perhaps saying how much.
    Overloaded(Option<Duration>),
    /// No answer: refused, reset, timed out, not resolved.
    Unreachable,
    /// The host was not asked: nothing changes.
    NotAsked,
}

impl Politeness {
    /// The pace after a visit that ended at `finished`.
    pub fn after(&self, pace: &Pace, answer: Answer, finished: Moment) -> Pace {
        let delay = self.delay(pace.crawl_delay);
        let (failures, wait) = match answer {
            Answer::NotAsked => return *pace,
            Answer::Fine => (0, delay),
            Answer::Overloaded(asked) => {
                let failures = pace.failures.saturating_add(1);
                let wait = asked.map_or(self.backoff_after(failures), |asked| {
                    asked.min(self.max_backoff)
                });
                (failures, wait.max(delay))
            }
            Answer::Unreachable => {
                let failures = pace.failures.saturating_add(1);
                (failures, self.backoff_after(failures).max(delay))
            }
        };
        Pace {
            due: finished.plus(wait),
            failures,
            ..*pace
        }
    }

    /// From the end of one visit to the start of the next, given what robots.txt asks for.
    pub fn delay(&self, crawl_delay: Option<Duration>) -> Duration {
        let asked = crawl_delay.unwrap_or_default();
        self.delay.max(asked.min(self.max_crawl_delay))
    }

    /// The wait after so many failures in a row.
    fn backoff_after(&self, failures: u32) -> Duration {
        let doubled = 2_u32.saturating_pow(failures.saturating_sub(1).min(20));
        self.backoff.saturating_mul(doubled).min(self.max_backoff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn politeness() -> Politeness {
        Politeness {
            delay: Duration::from_secs(1),
            max_crawl_delay: Duration::from_secs(30),
            backoff: Duration::from_secs(5),
            max_backoff: Duration::from_mins(10),
            attempts: 3,
        }
    }

    /// The wait in seconds after `answer` of a host with `failures` and `crawl_delay` seconds.
    fn check(
        answer: Answer,
        failures: u32,
        crawl_delay: Option<u64>,
        wait: u64,
        failures_after: u32,
    ) {
        let pace = Pace {
            due: Moment(0),
            failures,
            crawl_delay: crawl_delay.map(Duration::from_secs),
        };
        let after = politeness().after(&pace, answer, Moment(10_000));
        assert_eq!(after.due, Moment(10_000 + wait * 1_000), "{answer:?}");
        assert_eq!(after.failures, failures_after, "{answer:?}");
    }

    #[test]
    fn the_longer_delay_counts() {
        check(Answer::Fine, 0, None, 1, 0);
        check(Answer::Fine, 0, Some(4), 4, 0);
        check(Answer::Fine, 0, Some(1_000), 30, 0);
    }

    #[test]
    fn failures_double_the_wait_and_an_answer_ends_it() {
        check(Answer::Unreachable, 0, None, 5, 1);
        check(Answer::Unreachable, 1, None, 10, 2);
        check(Answer::Unreachable, 2, None, 20, 3);
        check(Answer::Unreachable, 40, None, 600, 41);
        check(Answer::Fine, 7, None, 1, 0);
    }

    #[test]
    fn retry_after_is_obeyed_within_reason() {
        check(
            Answer::Overloaded(Some(Duration::from_secs(77))),
            0,
            None,
            77,
            1,
        );
        check(
            Answer::Overloaded(Some(Duration::from_secs(0))),
            0,
            Some(3),
            3,
            1,
        );
        check(
            Answer::Overloaded(Some(Duration::from_hours(25))),
            0,
            None,
            600,
            1,
        );
        check(Answer::Overloaded(None), 1, None, 10, 2);
    }

    #[test]
    fn a_host_that_was_not_asked_keeps_its_pace() {
        let pace = Pace {
            due: Moment(5),
            failures: 2,
            crawl_delay: None,
        };
        assert_eq!(politeness().after(&pace, Answer::NotAsked, Moment(9)), pace);
    }
}
