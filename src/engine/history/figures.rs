//! What is kept of a crawl over time: series by name, and a row of values per moment.

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

/// The names of what limits a crawl, each at its number.
pub(super) const LIMITS: [&str; 14] = [
    "starting",
    "politeness",
    "rate",
    "concurrency",
    "analysts",
    "committer",
    "visits",
    "dns",
    "reading",
    "in-progress",
    "empty",
    "paused",
    "disk",
    "ending",
];
