//! The progress of a running crawl: a live line on a terminal, a line from time to time elsewhere.
//!
//! It reads the engine's counters on a thread of its own; the crawl never waits for it.

mod counted;

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, IsTerminal};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

pub(super) use counted::Counted;

use super::output::{Screen, duplicates};
use super::words::{count, size};
use crate::engine::{Counters, Gauges, Watch};

/// Time between updates on a terminal.
const LIVE: Duration = Duration::from_millis(250);
/// Time between lines elsewhere, for a crawl that ends by itself.
pub(super) const OFTEN: Duration = Duration::from_secs(10);
/// Time between lines elsewhere, for a daemon, which may run for months.
pub(super) const SELDOM: Duration = Duration::from_mins(5);
/// Minimum time over which pages per second are averaged, once that much time has passed.
const SPEED_WINDOW: Duration = Duration::from_secs(5);

/// Shows the progress of a crawl until dropped, which removes the line.
#[derive(Debug)]
pub(super) struct Progress {
    screen: Screen,
    /// Its sender is dropped to end the thread. `None` if nothing is shown.
    shown: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Starts to show progress, unless the user asked for quiet.
    pub(super) fn start(watch: Watch, screen: &Screen, plain: Duration) -> io::Result<Self> {
        let screen = screen.clone();
        if screen.is_quiet() {
            let shown = None;
            return Ok(Self { screen, shown });
        }
        let (end, ended) = channel::<()>();
        let line = moves_the_cursor().then(live_line);
        if let Some(line) = &line {
            screen.show(line.clone());
        }
        let lines = screen.clone();
        let interval = if line.is_some() { LIVE } else { plain };
        let thread = thread::Builder::new()
            .name("progress".to_owned())
            .spawn(move || {
                let start = Instant::now();
                let mut speed = Speed::default();
                let mut text = || {
                    let (counters, gauges) = (watch.counters(), watch.gauges());
                    let done = counters.pages + revisits(&counters);
                    let speed = speed.after(start.elapsed(), done);
                    describe(&counters, watch.deferred(), &gauges, speed)
                };
                // The first sample is the base from which the speed is measured.
                let mut next = text();
                loop {
                    if let Some(line) = &line {
                        let [done, found] = next;
                        line.set_prefix(found);
                        line.set_message(done);
                        line.tick();
                    }
                    if ended.recv_timeout(interval) != Err(RecvTimeoutError::Timeout) {
                        return;
                    }
                    next = text();
                    if line.is_none() {
                        lines.say(&next.join(", "));
                    }
                }
            })?;
        Ok(Self {
            screen,
            shown: Some((end, thread)),
        })
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.shown.take() {
            drop(end);
            // The thread must end first, or it would draw the line again.
            let _ = thread.join();
        }
        self.screen.clear();
    }
}

/// Whether standard error is a terminal on which a line can be overwritten.
pub(super) fn moves_the_cursor() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// The live line. It has two rows, since one row of 80 columns has no room for the duplicates; the
/// first is cut to the width of the terminal. It uses no colors, so `NO_COLOR` changes nothing.
fn live_line() -> ProgressBar {
    let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{spinner} {wide_msg}\n  {prefix}");
    line.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    line
}

/// The state of a crawl, in two rows.
fn describe(counters: &Counters, deferred: u64, gauges: &Gauges, speed: f64) -> [String; 2] {
    let again = match revisits(counters) {
        0 => String::new(),
        revisits => format!(" and {}", count(revisits, "revisit")),
    };
    let done = format!(
        "{}{again}, {speed:.1}/s, {}, {} queued, {}, limit: {}",
        count(counters.pages, "page"),
        size(counters.bytes),
        counters.queued,
        count(gauges.hosts_in_window as u64, "host"),
        gauges.limit.name(),
    );
    let sum: u64 = duplicates(counters).map(|(_, count)| count).sum();
    let tiers: Vec<String> = duplicates(counters)
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    let tiers = if tiers.is_empty() {
        String::new()
    } else {
        format!(" ({})", tiers.join(", "))
    };
    let mut found = format!(
        "{}{tiers}, {} failed",
        count(sum, "duplicate"),
        counters.failed
    );
    if deferred > 0 {
        let _ = write!(found, ", {deferred} deferred");
    }
    [done, found]
}

/// Number of pages that were visited again, whatever was found.
fn revisits(counters: &Counters) -> u64 {
    counters.revisited()
}

/// Pages per second over the last few seconds.
#[derive(Debug, Default)]
struct Speed {
    /// Times and the number of pages done by then. The oldest sample is the latest that is at least
    /// [`SPEED_WINDOW`] old, or the first of all.
    samples: VecDeque<(Duration, u64)>,
}

impl Speed {
    /// Adds a sample and returns the current speed.
    fn after(&mut self, time: Duration, pages: u64) -> f64 {
        self.samples.push_back((time, pages));
        while let Some((second, _)) = self.samples.get(1)
            && time.saturating_sub(*second) >= SPEED_WINDOW
        {
            self.samples.pop_front();
        }
        match self.samples.front() {
            Some((begin, before)) if *begin < time => {
                let passed = time.saturating_sub(*begin);
                pages.saturating_sub(*before) as f64 / passed.as_secs_f64()
            }
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Limit, VisitVerdict};

    #[test]
    fn a_crawl_is_told_in_two_rows() {
        let mut counters = Counters::default();
        let mut gauges = Gauges::default();
        assert_eq!(
            describe(&counters, 0, &gauges, 0.0),
            [
                "0 pages, 0.0/s, 0 B, 0 queued, 0 hosts, limit: starting",
                "0 duplicates, 0 failed"
            ]
        );
        counters.pages = 120;
        counters.bytes = 1_234_567;
        counters.queued = 34;
        counters.failed = 2;
        for (verdict, count) in [
            (VisitVerdict::Near, 3),
            (VisitVerdict::Raw, 1),
            (VisitVerdict::Unique, 90),
        ] {
            (0..count).for_each(|_| counters.verdicts.add(&verdict));
        }
        counters.revisits.add(&crate::frontier::Finding::Unchanged);
        gauges.hosts_in_window = 1;
        gauges.limit = Limit::Politeness;
        assert_eq!(
            describe(&counters, 301, &gauges, 12.34),
            [
                "120 pages and 1 revisit, 12.3/s, 1.2 MB, 34 queued, 1 host, limit: politeness",
                "4 duplicates (1 raw, 3 near), 2 failed, 301 deferred"
            ]
        );
    }

    #[test]
    fn speed_is_that_of_the_last_seconds() {
        let mut speed = Speed::default();
        let quarters = |quarters: u32| LIVE * quarters;
        // What was done before the first look is not this run's.
        assert!(speed.after(quarters(0), 1_000).abs() < 1e-9);
        // Ten pages a second for twenty seconds, then none.
        let mut last = 0.0;
        for quarter in 1..=80 {
            last = speed.after(quarters(quarter), 1_000 + u64::from(quarter) * 10 / 4);
        }
        assert!((last - 10.0).abs() < 0.5, "{last}");
        for quarter in 81..=100 {
            last = speed.after(quarters(quarter), 1_200);
        }
        assert!(last.abs() < 1e-9, "{last}");
        assert!(speed.samples.len() <= 21);
    }

    #[test]
    fn seldom_looks_give_the_speed_between_them() {
        let mut speed = Speed::default();
        assert!(speed.after(OFTEN, 50).abs() < 1e-9);
        assert!((speed.after(OFTEN * 2, 80) - 3.0).abs() < 1e-9);
        assert!((speed.after(OFTEN * 3, 90) - 1.0).abs() < 1e-9);
    }
}
