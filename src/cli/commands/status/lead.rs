//! The first lines of `gleaner status`: whether the crawl goes on, how long it may take, the room
//! that it takes and has, and what failed last.

use std::fmt::Write as _;
use std::path::Path;

use crate::cli::output::resting;
use crate::cli::words::{count, size, time};
use crate::cluster::worker_of;
use crate::engine::{Limit, Status};
use crate::inspect::StatusNow;

/// The lines.
pub(super) fn lines(now: &StatusNow, directory: &Path) -> String {
    let mut text = String::new();
    let mut say = |name: &str, what: &str| {
        let _ = writeln!(text, "{name:<12}{what}");
    };
    let status = &now.status;
    say("state", &state(now, directory));
    if status.running && !status.time.is_empty() {
        let limit = status.gauges.limit;
        say("limit", &format!("{} ({})", limit.name(), limit.meaning()));
    }
    if let Some(left) = left(now) {
        say("left", &left);
    }
    if let Some(held) = held(status) {
        say("held", &held);
    }
    if let Some(disk) = now.disk {
        let (taken, free) = (size(disk.taken), size(disk.free));
        say("disk", &format!("{taken} taken, {free} free"));
    }
    match &now.last_error {
        Some(it) => say(
            "last error",
            &format!("{}  {}  {}", it.time, it.url, it.error),
        ),
        None => say("last error", "none lately"),
    }
    text
}

/// Whether a process runs the crawl, and what it is doing.
fn state(now: &StatusNow, directory: &Path) -> String {
    let status = &now.status;
    let queued = status.counters.queued;
    match (status.running, queued) {
        (true, _) if status.time.is_empty() => "running, just started".to_owned(),
        (true, _) => {
            let how = match status.gauges.limit {
                Limit::Paused => "paused",
                Limit::Disk => "waiting for room on the disk",
                Limit::Ending => "ending",
                _ => "running",
            };
            format!(
                "{how}, for {} so far: {} in progress, {} in memory (as of {})",
                time(status.seconds),
                count(status.gauges.fetching as u64, "visit"),
                count(status.gauges.hosts_in_window as u64, "host"),
                status.time,
            )
        }
        (false, 0) => "not running: nothing is left to fetch".to_owned(),
        (false, _) => match worker_of(directory) {
            Some((worker, _)) => format!(
                "not running: a shard of a crawl of several workers, with which `gleaner worker \
                 ADDRESS --data-dir {}` goes on, or another worker",
                worker.display()
            ),
            None => {
                let directory = directory.display();
                format!("not running: `gleaner crawl --data-dir {directory}` goes on")
            }
        },
    }
}

/// What waits, and how long it takes at the rate of the last minute. That is the least: pages lead
/// to more, and a long queue of one host has a rate of its own.
fn left(now: &StatusNow) -> Option<String> {
    let status = &now.status;
    let counters = &status.counters;
    if counters.queued == 0 {
        return None;
    }
    let mut text = format!("{} queued", count(counters.queued, "URL"));
    if counters.parked > 0 {
        let hosts = count(counters.parked_hosts, resting(status.held_hosts));
        let _ = write!(text, ", {} of them at {hosts}", counters.parked);
    }
    let due = counters.queued.saturating_sub(counters.parked);
    if status.running && status.per_minute > 0 && due > 0 {
        let seconds = due.saturating_mul(60) / status.per_minute;
        let _ = write!(
            text,
            "; at least {} at {} visits a minute",
            time(seconds),
            status.per_minute
        );
    }
    Some(text)
}

/// Which hosts a person holds.
fn held(status: &Status) -> Option<String> {
    /// Number of hosts that are named.
    const NAMED: usize = 3;
    let named = status.held.iter().take(NAMED);
    let mut named: Vec<_> = named
        .map(|it| format!("{} since {}", it.host, it.since))
        .collect();
    let others = status.held_hosts.saturating_sub(named.len() as u64);
    if others > 0 {
        named.push(format!("{others} more"));
    }
    let hint = "`gleaner resume --host HOST` lets one go on";
    (!named.is_empty()).then(|| format!("{}; {hint}", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::engine::HeldHost;
    use crate::inspect::{DiskUse, LastError};

    fn check(now: &StatusNow, expected: &str) {
        assert_eq!(lines(now, Path::new("crawl")), expected);
    }

    #[test]
    fn a_shard_goes_on_with_its_worker() {
        let place = tempfile::tempdir().unwrap();
        let worker = place.path().join("w1");
        fs::create_dir_all(&worker).unwrap();
        let called = "{\"name\":\"w1\",\"machine\":\"m\"}";
        fs::write(worker.join("worker.json"), called).unwrap();
        let mut now = StatusNow::default();
        now.status.counters.queued = 1;
        let told = lines(&now, &worker.join("shards").join("07"));
        let command = format!("`gleaner worker ADDRESS --data-dir {}`", worker.display());
        assert!(told.contains(&command), "{told}");
    }

    #[test]
    fn a_crawl_is_told_by_what_matters_first() {
        let mut now = StatusNow::default();
        check(
            &now,
            "state       not running: nothing is left to fetch\nlast error  none lately\n",
        );
        now.status.counters.queued = 1_300;
        check(
            &now,
            "state       not running: `gleaner crawl --data-dir crawl` goes on\n\
             left        1300 URLs queued\nlast error  none lately\n",
        );
        now.status = Status {
            running: true,
            time: "2026-01-02T03:04:05Z".to_owned(),
            seconds: 7_830,
            per_minute: 60,
            ..now.status
        };
        now.status.gauges.limit = Limit::Politeness;
        (
            now.status.gauges.fetching,
            now.status.gauges.hosts_in_window,
        ) = (1, 7);
        (now.status.counters.parked, now.status.counters.parked_hosts) = (100, 1);
        now.disk = Some(DiskUse {
            taken: 1_200_000_000,
            free: 34_000_000_000,
        });
        now.last_error = Some(LastError {
            time: "2026-01-02T03:04:00Z".to_owned(),
            url: "http://a.example/".to_owned(),
            error: "timeout: no response within 30 s".to_owned(),
        });
        check(
            &now,
            "state       running, for 2 h 10 min so far: 1 visit in progress, 7 hosts in memory (as of 2026-01-02T03:04:05Z)\n\
             limit       politeness (every host or its address waits for its delay or back-off)\n\
             left        1300 URLs queued, 100 of them at 1 parked host; at least 20 min at 60 visits a minute\n\
             disk        1.2 GB taken, 34.0 GB free\n\
             last error  2026-01-02T03:04:00Z  http://a.example/  timeout: no response within 30 s\n",
        );
        now.status.held_hosts = 2;
        now.status.held = vec![HeldHost {
            host: "http://b.example".to_owned(),
            since: "2026-01-02T01:00:00Z".to_owned(),
        }];
        let told = lines(&now, Path::new("crawl"));
        assert!(
            told.contains("100 of them at 1 parked or held host;"),
            "{told}"
        );
        let held = "held        http://b.example since 2026-01-02T01:00:00Z, 1 more; `gleaner resume --host HOST` lets one go on\n";
        assert!(told.contains(held), "{told}");
        now.status.gauges.limit = Limit::Paused;
        now.status.per_minute = 0;
        let told = lines(&now, Path::new("crawl"));
        assert!(told.starts_with("state       paused, for"), "{told}");
        assert!(
            !told.contains("at least"),
            "nothing is known of the rate: {told}"
        );
    }
}
