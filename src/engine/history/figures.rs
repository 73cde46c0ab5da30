//! What is kept of a crawl over time: series by name, and a row of values per moment.

use std::path::Path;

use crate::engine::ring::observe::Watch;
use crate::frontier::Finding;
use crate::rows::VisitVerdict;

/// Maximum number of series. Counters by class and admission have names of a fixed list, so that
/// fewer are ever there; a file may say anything.
pub(super) const MAX_SERIES: usize = 128;
/// Maximum length of the name of a series, in bytes.
pub(super) const MAX_NAME: usize = 64;
/// In place of a value that is not known.
pub(super) const UNKNOWN: u64 = u64::MAX;

/// Series that every row has, in this order.
pub(super) const SERIES: [&str; 25] = [
    // Counters since the crawl began.
    "visits",
    "pages",
    "dup_raw",
    "dup_normalized",
    "dup_content",
    "dup_near",
    "unchanged",
    "changed",
    "failures",
    "refused",
    "bytes",
    "archived_bytes",
    "saved_bytes",
    "commits",
    // What is at this moment.
    "queued",
    "deferred",
    "parked",
    "hosts",
    "fetching",
    "limit",
    "memory.window",
    "memory.urls_seen",
    "memory.new_keys",
    "rss",
    "disk_free",
];

/// A row: the values of the series, in their order. What is behind its end is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    /// Time in milliseconds since 1970.
    pub(super) time: u64,
    pub(super) values: Box<[u64]>,
}

/// Reads the figures of a crawl at this moment: those of [`SERIES`], and counters by class and by
/// admission with their names.
pub(super) fn figures(watch: &Watch, data: &Path) -> (Vec<u64>, Vec<(String, u64)>) {
    let counters = watch.counters();
    let (gauges, memory) = (watch.gauges(), watch.memory());
    let verdict = |it: VisitVerdict| counters.verdicts.of(&it);
    let values = vec![
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
        watch.saved().map_or(UNKNOWN, |saved| saved.values().sum()),
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
    (values, failures.chain(links).collect())
}

/// Returns how much memory this process has; `None` where the system does not tell.
pub(crate) fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages.saturating_mul(rustix::param::page_size() as u64))
}

/// Returns how much is free on the disk of a directory.
pub(crate) fn free_bytes(directory: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(directory).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}
