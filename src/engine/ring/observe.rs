//! What an operator can observe: counters of what was committed, gauges of what goes on, what
//! limits the speed of the crawl, and `status.json`, which is replaced at most once a second.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};
use tokio::sync::watch;

use super::meters::Meters;
use crate::engine::events::Events;
use crate::engine::history::History;
use crate::engine::hold::{HeldHost, first_held};
use crate::frontier::HeldHosts;
use crate::handover::HandoverState;
use crate::rows::{Counters, SavedBytes};

/// What goes on at this moment.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Gauges {
    /// Hosts in the working set.
    pub hosts_in_window: usize,
    /// Visits between hand-out and analysis.
    pub fetching: usize,
    /// What limits the speed of the crawl.
    #[serde(default)]
    pub limit: Limit,
    /// URLs in memory, of the hosts in the working set.
    #[serde(default)]
    pub urls_in_window: usize,
    /// Addresses that are being visited, waited for, or left alone for now.
    #[serde(default)]
    pub addresses: usize,
    /// Addresses of hosts being looked up.
    #[serde(default)]
    pub resolving: usize,
}

/// Approximate size of the bounded structures of a crawl, in bytes.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct MemoryUse {
    /// Hosts in the working set, with their next URLs and addresses.
    #[serde(default)]
    pub window: u64,
    /// The filters of URLs seen, and the most recent of these URLs.
    #[serde(default)]
    pub urls_seen: u64,
    /// Keys that no checkpoint has written yet.
    #[serde(default)]
    pub new_keys: u64,
}

/// The most that a structure of a crawl may take by the plan of memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MemoryShare {
    /// What it is.
    pub name: String,
    /// Its maximum size in bytes.
    pub bytes: u64,
}

/// What limits the speed of the crawl at this moment, as far as the scheduler knows.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    IntoStaticStr,
    VariantArray,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Limit {
    /// Fetching has not begun.
    #[default]
    Starting,
    /// Every host that has something to fetch and is not being visited waits for its delay.
    Politeness,
    /// A host could be visited, but the crawl-wide rate is reached.
    Rate,
    /// A host could be visited, but the maximum number of fetches is in progress.
    Concurrency,
    /// As `Concurrency`, and fetched visits wait for an analyst.
    Analysts,
    /// As `Concurrency`, and every analyst waits for the committer.
    Committer,
    /// Every host that has something to fetch has a visit in progress, between request and commit.
    Visits,
    /// No host can be visited until addresses are resolved.
    Dns,
    /// No host can be visited until the next URLs are read from disk.
    Reading,
    /// Nothing is left to start; what is in progress may lead to more.
    InProgress,
    /// Nothing is left; more may come by a revisit or from outside.
    Empty,
    /// The crawl is paused.
    Paused,
    /// The free disk space is below the reserve.
    Disk,
    /// The run is over except for what is in progress.
    Ending,
}

impl Limit {
    /// Returns the names of all limits, each at its number.
    pub fn names() -> Vec<&'static str> {
        Self::VARIANTS.iter().map(|limit| limit.name()).collect()
    }

    /// Returns the name in `status.json` and on the progress line.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Limit {
    /// Describes the limit in words.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Starting => "fetching has not started",
            Self::Politeness => "every host or its address waits for its delay or back-off",
            Self::Rate => "the crawl-wide rate is reached",
            Self::Concurrency => "the maximum number of fetches is in progress",
            Self::Analysts => "CPU: fetched pages wait to be analysed",
            Self::Committer => "disk: analysed pages wait to be committed",
            Self::Visits => "one visit at a time: every host with queued URLs is being visited",
            Self::Dns => "DNS: addresses are being resolved",
            Self::Reading => "disk: the next URLs are being read",
            Self::InProgress => "empty queues: visits in progress may lead to more URLs",
            Self::Empty => "empty queues: nothing is left to do",
            Self::Paused => "paused",
            Self::Disk => "full disk: less than state.disk_reserve is free",
            Self::Ending => "the run is ending",
        }
    }
}

/// Why the scheduler hands out no visit after it did everything that it could.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    /// All pages of this run are handed out.
    Spent,
    /// A host is due, but there is no permit.
    Permit,
    /// A host is due, but the crawl-wide rate is reached.
    Rate,
    /// No host is due, and it is known when one will be.
    Delay,
    /// No host is due, and only an event can change that.
    News,
    /// Nothing is left.
    Empty,
    /// A pause was requested.
    Paused,
    /// The disk is too full.
    Disk,
}

/// How full the stages between scheduler and commit are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fill {
    /// URLs queued and not handed out.
    pub(crate) left: u64,
    /// Reads of the store in progress.
    pub(crate) reads: usize,
    /// Addresses being looked up.
    pub(crate) resolving: usize,
    /// Visits between hand-out and analysis.
    pub(crate) fetching: usize,
    /// Free places in the channel from fetchers to analysts.
    pub(crate) room_before_analysts: usize,
    /// Analysts that are not waiting for the committer.
    pub(crate) analysts_at_work: usize,
}

/// Returns what limits the crawl. A full channel limits it only if it holds the permits that a due
/// host needs.
pub(crate) fn limit(held: Held, fill: &Fill) -> Limit {
    match held {
        Held::Spent => Limit::InProgress,
        Held::Permit if fill.room_before_analysts > 0 => Limit::Concurrency,
        Held::Permit if fill.analysts_at_work > 0 => Limit::Analysts,
        Held::Permit => Limit::Committer,
        Held::Rate => Limit::Rate,
        Held::Delay => Limit::Politeness,
        Held::Empty => Limit::Empty,
        Held::Paused => Limit::Paused,
        Held::Disk => Limit::Disk,
        Held::News if fill.left == 0 => Limit::InProgress,
        Held::News if fill.resolving > 0 && fill.fetching == 0 => Limit::Dns,
        Held::News if fill.reads > 0 && fill.fetching == 0 => Limit::Reading,
        Held::News => Limit::Visits,
    }
}

/// Number of analysts that wait for the committer; shared by them and the scheduler.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waiting(Arc<AtomicUsize>);

impl Waiting {
    /// Counts one more as waiting while `wait` runs.
    pub(crate) fn during<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.0.fetch_add(1, Ordering::Relaxed);
        let result = wait();
        self.0.fetch_sub(1, Ordering::Relaxed);
        result
    }

    /// Returns how many wait.
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Whether a run made visits of which no commit knows; shared by those who may do so.
#[derive(Debug, Clone, Default)]
pub(crate) struct LeftUndone(Arc<AtomicBool>);

impl LeftUndone {
    /// Notes such a visit.
    pub(crate) fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns `true` if there was none.
    pub(crate) fn is_nothing(&self) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}

/// The pulse of the committer: it beats with each step of its work, and rests while there is none.
#[derive(Debug, Clone, Default)]
pub struct Pulse {
    beats: Arc<AtomicU64>,
    works: Arc<AtomicBool>,
}

impl Pulse {
    /// Number of steps so far.
    pub fn beats(&self) -> u64 {
        self.beats.load(Ordering::Relaxed)
    }

    /// Whether there is nothing to do.
    pub fn rests(&self) -> bool {
        !self.works.load(Ordering::Relaxed)
    }

    /// Notes a step of work.
    pub(crate) fn beat(&self) {
        self.works.store(true, Ordering::Relaxed);
        self.beats.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that there is nothing to do.
    pub(crate) fn rest(&self) {
        self.works.store(false, Ordering::Relaxed);
    }
}

/// Observes a crawl while it runs, at no cost to the crawl.
#[derive(Debug, Clone)]
pub struct Watch {
    pub(crate) counters: watch::Receiver<Counters>,
    pub(crate) deferred: watch::Receiver<u64>,
    pub(crate) gauges: watch::Receiver<Gauges>,
    /// Memory use of the scheduler and of the committer.
    pub(crate) memory: [watch::Receiver<MemoryUse>; 2],
    pub(crate) pulse: Pulse,
    /// What each structure may take.
    pub(crate) shares: Arc<[MemoryShare]>,
    /// How closed files of the archive leave.
    pub(crate) handover: watch::Receiver<Vec<HandoverState>>,
    /// Bytes that deduplication saved, by tier.
    pub(crate) saved: watch::Receiver<SavedBytes>,
    /// Hosts that a person holds.
    pub(crate) held: watch::Receiver<Arc<HeldHosts>>,
    pub(crate) meters: Meters,
    pub(crate) history: History,
    pub(crate) events: Events,
}

impl Watch {
    /// Counters since the crawl began.
    pub fn counters(&self) -> Counters {
        self.counters.borrow().clone()
    }

    /// Waits for the next commit; false if there will be none.
    pub async fn committed(&mut self) -> bool {
        self.counters.changed().await.is_ok()
    }

    /// Number of URLs that are deferred.
    pub fn deferred(&self) -> u64 {
        *self.deferred.borrow()
    }

    /// The pulse of the committer.
    pub fn pulse(&self) -> &Pulse {
        &self.pulse
    }

    /// The gauges.
    pub fn gauges(&self) -> Gauges {
        *self.gauges.borrow()
    }

    /// Returns how closed files of the archive leave: one for each way out.
    pub fn handover(&self) -> Vec<HandoverState> {
        self.handover.borrow().clone()
    }

    /// Returns the bytes of bodies that did not have to be stored because they repeat others, by
    /// the name of the tier, since the crawl began.
    pub fn saved(&self) -> SavedBytes {
        self.saved.borrow().clone()
    }

    /// Returns the hosts that a person holds.
    pub fn held(&self) -> Arc<HeldHosts> {
        Arc::clone(&self.held.borrow())
    }

    /// Returns what is measured of this run.
    pub fn meters(&self) -> &Meters {
        &self.meters
    }

    /// Returns the history of the crawl.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Returns the events of the crawl.
    pub fn events(&self) -> &Events {
        &self.events
    }

    /// Returns the most that each structure may take by the plan of memory.
    pub fn shares(&self) -> &[MemoryShare] {
        &self.shares
    }

    /// Returns the memory use of the bounded structures.
    pub fn memory(&self) -> MemoryUse {
        let [window, keys] = &self.memory;
        MemoryUse {
            window: window.borrow().window,
            ..*keys.borrow()
        }
    }
}

/// The state of a crawl, as its process writes it to `status.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Status {
    /// Set while a process is crawling.
    pub running: bool,
    /// Set if the run has ended, and no visit of it is unknown to its commits.
    #[serde(default)]
    pub complete: bool,
    /// Time at which this was written (RFC 3339).
    pub time: String,
    /// Seconds since this run began; 0 if none is running.
    pub seconds: u64,
    /// Visits that were committed in the last minute; 0 in the first seconds.
    #[serde(default)]
    pub per_minute: u64,
    /// Counters since the crawl began.
    pub counters: Counters,
    /// Number of URLs that are deferred.
    #[serde(default)]
    pub deferred: u64,
    /// The gauges.
    pub gauges: Gauges,
    /// Memory use of the bounded structures.
    #[serde(default)]
    pub memory: MemoryUse,
    /// What each structure may take by the plan of memory; empty if nothing is running.
    #[serde(default)]
    pub shares: Vec<MemoryShare>,
    /// Number of hosts that a person holds. Their URLs count as parked.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub held_hosts: u64,
    /// The first 100 of them by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<HeldHost>,
    /// How closed files of the archive leave; empty if they stay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handover: Vec<HandoverState>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Maximum number of held hosts that a status names.
const HELD_NAMED: usize = 100;

impl Status {
    /// Takes over which hosts a person holds.
    pub(crate) fn note_held(&mut self, held: &HeldHosts) {
        self.held_hosts = held.len() as u64;
        self.held = first_held(held, HELD_NAMED);
    }
}

/// Name of the file in the data directory.
const STATUS_FILE: &str = "status.json";

impl Status {
    /// Replaces the status file; a reader sees either the old or the new one.
    pub fn write(&self, data_directory: &Path) -> io::Result<()> {
        let temporary = data_directory.join("status.json.new");
        fs::write(&temporary, serde_json::to_vec_pretty(self)?)?;
        fs::rename(&temporary, data_directory.join(STATUS_FILE))
    }

    /// Reads the status that another process wrote, or returns `None` if there is none.
    pub fn read(data_directory: &Path) -> io::Result<Option<Self>> {
        match fs::read(data_directory.join(STATUS_FILE)) {
            Ok(text) => Ok(serde_json::from_slice(&text).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A crawl in full swing.
    const BUSY: Fill = Fill {
        left: 100,
        reads: 0,
        resolving: 0,
        fetching: 64,
        room_before_analysts: 4,
        analysts_at_work: 2,
    };

    #[track_caller]
    fn check(held: Held, fill: &Fill, expected: Limit) {
        assert_eq!(limit(held, fill), expected, "{held:?} {fill:?}");
    }

    #[test]
    fn what_holds_the_scheduler_limits_the_crawl() {
        check(Held::Delay, &BUSY, Limit::Politeness);
        check(Held::Rate, &BUSY, Limit::Rate);
        check(Held::Permit, &BUSY, Limit::Concurrency);
        check(Held::News, &BUSY, Limit::Visits);
        check(Held::Spent, &BUSY, Limit::InProgress);
        check(Held::News, &Fill { left: 0, ..BUSY }, Limit::InProgress);
        let reading = Fill {
            reads: 1,
            fetching: 0,
            ..BUSY
        };
        check(Held::News, &reading, Limit::Reading);
        let resolving = Fill {
            resolving: 1,
            fetching: 0,
            ..BUSY
        };
        check(Held::News, &resolving, Limit::Dns);
        check(Held::Delay, &resolving, Limit::Politeness);
        // A read beside visits in progress holds nobody up.
        check(Held::News, &Fill { reads: 1, ..BUSY }, Limit::Visits);
    }

    #[test]
    fn a_full_channel_limits_only_a_crawl_without_permits() {
        let behind = Fill {
            room_before_analysts: 0,
            ..BUSY
        };
        check(Held::Permit, &behind, Limit::Analysts);
        check(Held::Delay, &behind, Limit::Politeness);
        let blocked = Fill {
            analysts_at_work: 0,
            ..behind
        };
        check(Held::Permit, &blocked, Limit::Committer);
        check(Held::News, &blocked, Limit::Visits);
    }

    #[test]
    fn names_are_those_of_the_status_file() {
        for limit in Limit::VARIANTS {
            assert_eq!(serde_json::to_value(limit).unwrap(), limit.name());
        }
    }

    #[test]
    fn a_status_without_a_limit_is_read() {
        let gauges = serde_json::from_str(r#"{"hosts_in_window":3,"fetching":1}"#).unwrap();
        let expected = Gauges {
            hosts_in_window: 3,
            fetching: 1,
            ..Gauges::default()
        };
        assert_eq!(expected, gauges);
    }

    #[test]
    fn who_waits_is_counted_while_it_waits() {
        let waiting = Waiting::default();
        let seen = waiting.during(|| waiting.count());
        assert_eq!((seen, waiting.count()), (1, 0));
    }
}
