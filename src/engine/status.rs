//! The observer of a run: the status file, for processes other than the one that crawls, the
//! history, and the end of what is told of a run.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::clock::Clock;
use super::history::Historian;
use super::{Error, Status, Watch};
use crate::frontier::Moment;

impl Status {
    /// Reads the state of a crawl that another process runs, as that process last wrote it.
    pub fn of_running(path: &Path) -> Result<Self, Error> {
        let status = Self::read(path).map_err(|source| Error::Status {
            path: path.to_owned(),
            source,
        })?;
        // The file of an earlier run does not describe this one.
        Ok(status.filter(|status| status.running).unwrap_or(Self {
            running: true,
            ..Self::default()
        }))
    }

    /// Returns until when the last run in a directory may have made visits of which no commit
    /// knows; `None` if there were none.
    pub(crate) fn unknown_until(path: &Path, now: Moment) -> Option<Moment> {
        /// The file is written once a second; that may have come late.
        const LATE: Duration = Duration::from_secs(10);
        let last = Self::read(path).ok().flatten();
        let Some(last) = last else {
            return Some(now);
        };
        if last.complete && !last.running {
            return None;
        }
        let written = last.time.parse::<jiff::Timestamp>();
        let written = written.map(|time| Moment::of_micros(time.as_microsecond()));
        Some(written.map_or(now, |written| written.plus(LATE).min(now)))
    }
}

/// How many visits a minute a crawl makes, by those of the last minute.
#[derive(Debug, Default)]
struct Pace {
    /// Times, and the number of visits by then; the first is the latest that is a minute old.
    samples: VecDeque<(Duration, u64)>,
}

impl Pace {
    /// Time over which visits are counted, and the least that says something.
    const LONGEST: Duration = Duration::from_mins(1);
    const SHORTEST: Duration = Duration::from_secs(10);

    /// Adds a sample and returns the visits a minute; 0 if nothing can be said yet.
    fn after(&mut self, time: Duration, visits: u64) -> u64 {
        self.samples.push_back((time, visits));
        while let Some((second, _)) = self.samples.get(1)
            && time.saturating_sub(*second) >= Self::LONGEST
        {
            self.samples.pop_front();
        }
        let (begin, before) = self.samples.front().copied().unwrap_or_default();
        let passed = time.saturating_sub(begin);
        if passed < Self::SHORTEST {
            return 0;
        }
        let millis = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX).max(1);
        visits.saturating_sub(before).saturating_mul(60_000) / millis
    }
}

/// Writes `status.json` and the history.
#[derive(Clone)]
pub(crate) struct Observer {
    directory: PathBuf,
    watch: Watch,
    clock: Clock,
}

impl Observer {
    /// Creates the observer of the crawl in `directory`.
    pub(crate) fn new(directory: &Path, watch: Watch, clock: Clock) -> Self {
        Self {
            directory: directory.to_owned(),
            watch,
            clock,
        }
    }

    /// Writes once a second, until dropped.
    pub(crate) async fn run(self) {
        let mut ticks = tokio::time::interval(Duration::from_secs(1));
        let mut pace = Pace::default();
        let mut historian = Historian::new(self.watch.clone(), self.clock.now());
        loop {
            ticks.tick().await;
            historian.note(self.clock.now(), false);
            let left = self.watch.counters().left_queues();
            let per_minute = pace.after(self.clock.elapsed(), left);
            if let Err(error) = self.write(true, false, per_minute) {
                tracing::warn!(%error, "cannot write the status");
            }
        }
    }

    /// Writes at the end of a run. `complete` says that no visit of it is unknown to its
    /// commits.
    pub(crate) fn write_end(&self, complete: bool) -> Result<(), Error> {
        Historian::new(self.watch.clone(), self.clock.now()).note(self.clock.now(), true);
        self.watch.events().end();
        self.write(false, complete, 0)
    }

    fn write(&self, running: bool, complete: bool, per_minute: u64) -> Result<(), Error> {
        let mut status = Status {
            running,
            complete,
            time: format!("{:.0}", jiff::Timestamp::now()),
            seconds: self.clock.elapsed().as_secs(),
            per_minute,
            counters: self.watch.counters(),
            deferred: self.watch.deferred(),
            gauges: self.watch.gauges(),
            memory: self.watch.memory(),
            shares: match running {
                true => self.watch.shares.to_vec(),
                false => Vec::new(),
            },
            handover: self.watch.handover(),
            ..Status::default()
        };
        status.note_held(&self.watch.held());
        status
            .write(&self.directory)
            .map_err(|source| Error::Status {
                path: self.directory.clone(),
                source,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_is_that_of_the_last_minute() {
        let mut pace = Pace::default();
        let second = Duration::from_secs;
        // What was done before is not this run's, and a few seconds say nothing.
        assert_eq!(pace.after(second(0), 1_000), 0);
        assert_eq!(pace.after(second(9), 1_900), 0);
        assert_eq!(pace.after(second(10), 1_100), 600);
        for at in 11..=200 {
            pace.after(second(at), 1_000 + at * 2);
        }
        assert_eq!(pace.after(second(201), 1_402), 120);
        for at in 202..=270 {
            pace.after(second(at), 1_402);
        }
        assert_eq!(pace.after(second(271), 1_402), 0);
        assert!(pace.samples.len() <= 62);
    }

    #[test]
    fn only_what_the_last_run_left_undone_keeps_hosts_waiting() {
        let place = tempfile::tempdir().unwrap();
        let now = Moment(2_000_000_000_000);
        let check = |expected: Option<Moment>| {
            assert_eq!(Status::unknown_until(place.path(), now), expected);
        };
        let write = |running, complete, second: i64| {
            let time = jiff::Timestamp::from_second(second).unwrap();
            let status = Status {
                running,
                complete,
                time: format!("{time:.0}"),
                ..Status::default()
            };
            status.write(place.path()).unwrap();
        };
        // Nothing is known of the last run.
        check(Some(now));
        write(false, true, 1_999_999_999);
        check(None);
        // It was killed an hour ago, or just now.
        write(true, false, 2_000_000_000 - 3_600);
        check(Some(Moment(now.0 - 3_590_000)));
        write(true, false, 2_000_000_000 - 1);
        check(Some(now));
        // It ended, and visits were in progress.
        write(false, false, 2_000_000_000 - 60);
        check(Some(Moment(now.0 - 50_000)));
        // The clock was ahead then.
        write(true, false, 2_100_000_000);
        check(Some(now));
    }
}
