//! The historian of a run: what goes on at a moment becomes a row of the history.

use std::io;
use std::path::Path;

use super::figures::{Row, SERIES, UNKNOWN};
use super::{History, file};
use crate::engine::ring::disk::free_bytes;
use crate::engine::ring::observe::Watch;
use crate::frontier::{Finding, Moment};
use crate::rows::VisitVerdict;

/// Longest and shortest time between two rows of the file.
const FILE_STEPS: (u64, u64) = (1_000, 60_000);
/// A run writes rows at this part of its age, within [`FILE_STEPS`]: short runs have curves too.
const FILE_PART: u64 = 60;
/// Time between two looks at what is thinned out.
const THIN_EVERY: u64 = 24 * 3_600_000;

/// Writes the history of a run.
#[derive(Debug)]
pub(crate) struct Historian {
    history: History,
    watch: Watch,
    begun: u64,
    /// When the last row was written to the file, and with how many names.
    written: Option<(u64, usize)>,
    thinned: u64,
    thinning: Option<std::thread::JoinHandle<io::Result<()>>>,
    is_told: bool,
}

impl Historian {
    /// Creates the historian of a run that begins now.
    pub(crate) fn new(watch: Watch, now: Moment) -> Self {
        Self {
            history: watch.history().clone(),
            watch,
            begun: now.0,
            written: None,
            thinned: now.0,
            thinning: None,
            is_told: false,
        }
    }

    /// Notes what is now; to the file if it is time, or the run ends.
    pub(crate) fn note(&mut self, now: Moment, is_end: bool) {
        let figures = figures(&self.watch, &self.history.data);
        let (names, row) = self.history.add(now.0, figures);
        if let Err(error) = self.write(&names, &row, is_end)
            && !std::mem::replace(&mut self.is_told, true)
        {
            let path = self.history.path();
            tracing::warn!(%error, path = %path.display(), "cannot write the history of the crawl");
        }
    }

    fn write(&mut self, names: &[String], row: &Row, is_end: bool) -> io::Result<()> {
        let (shortest, longest) = FILE_STEPS;
        let age = row.time.saturating_sub(self.begun);
        let step = (age / FILE_PART).clamp(shortest, longest);
        let is_due = self.written.is_none_or(|(last, _)| row.time >= last + step);
        if !is_due && !is_end {
            return Ok(());
        }
        if let Some(thinning) = self.thinning.take() {
            // What is appended to the old file meanwhile would be lost: it waits.
            if !thinning.is_finished() && !is_end {
                self.thinning = Some(thinning);
                return Ok(());
            }
            let thinned = thinning.join();
            thinned.unwrap_or_else(|_| Err(io::Error::other("the thread that thins it died")))?;
            self.written = None;
        }
        let path = self.history.path();
        let known = self.written.map(|(_, known)| known);
        let are_new = known != Some(names.len());
        file::append(&path, are_new.then_some(names), row)?;
        self.written = Some((row.time, names.len()));
        if row.time >= self.thinned + THIN_EVERY && !is_end {
            self.thinned = row.time;
            let now = row.time;
            let thread = std::thread::Builder::new().name("history".to_owned());
            self.thinning = Some(thread.spawn(move || file::thin(&path, now))?);
        }
        Ok(())
    }
}

/// Reads the figures of a crawl at this moment: those of [`SERIES`], and counters by class and by
/// admission with their names.
pub(super) fn figures(watch: &Watch, data: &Path) -> (Vec<u64>, Vec<(String, u64)>) {
    let counters = watch.counters();
    let (gauges, memory) = (watch.gauges(), watch.memory());
    let verdict = |it: VisitVerdict| counters.verdicts.of(&it);
    let values: [u64; SERIES.len()] = [
        counters.left_queues(),
        verdict(VisitVerdict::Unique),
        verdict(VisitVerdict::Raw),
        verdict(VisitVerdict::Normalized),
        verdict(VisitVerdict::Content),
        verdict(VisitVerdict::Near),
        counters.revisits.of(&Finding::Unchanged),
        counters.revisits.of(&Finding::Changed),
        counters.failed,
        counters.forbidden,
        counters.bytes,
        counters.archived_bytes,
        watch.saved().values().sum(),
        watch.meters().sequence(),
        counters.queued,
        watch.deferred(),
        counters.parked,
        counters.hosts,
        gauges.fetching as u64,
        gauges.limit as u64,
        memory.window,
        memory.urls_seen,
        memory.new_keys,
        resident_bytes().unwrap_or(UNKNOWN),
        free_bytes(data).unwrap_or(UNKNOWN),
    ];
    let named = |what: &'static str| {
        move |(name, count): (&String, &u64)| (format!("{what}.{name}"), *count)
    };
    let failures = counters.failures.iter().map(named("failures"));
    let links = counters.links.iter().map(named("links"));
    (values.to_vec(), failures.chain(links).collect())
}

/// Returns how much memory this process has; `None` where the system does not tell.
fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages.saturating_mul(rustix::param::page_size() as u64))
}
