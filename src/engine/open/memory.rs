//! The memory plan: each structure of a crawl has a share of `state.max_memory`, and the sum is
//! checked before anything is opened.

use std::fmt;

use crate::engine::options::Options;
use crate::engine::ring::observe::MemoryShare;
use crate::fetch::SESSION_BYTES;

/// The bounds of all structures whose size the user determines, in bytes unless stated otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryPlan {
    /// What they may take together.
    max: u64,
    /// Block cache of the store.
    pub(crate) store_cache: u64,
    /// Rows that the store has not written to its tables; twice that while it compacts.
    pub(crate) store_buffers: u64,
    /// Cache that the engine of the documents is configured with; it takes [`SLED`] times that.
    pub(crate) documents_cache: u64,
    /// Deltas since the last checkpoint, whose documents are in memory; twice as many while one is
    /// written.
    pub(crate) delta_bytes: usize,
    /// Number of keys inserted since the last checkpoint; twice as many while one is written.
    pub(crate) keys: usize,
    /// Templates of the sites that were visited last.
    pub(crate) templates: usize,
    /// Filters of URLs seen, and the cache in front of them.
    filters: u64,
    /// Bodies between first byte and commit.
    pub(crate) bodies: usize,
    /// Pages between their analysis and their commit: links and texts.
    pub(crate) pages: usize,
    /// Originals in memory, which deltas are made against.
    pub(crate) bases: usize,
    /// Number of servers whose TLS sessions are kept.
    pub(crate) sessions: usize,
    /// Number of hosts in the schedule, with their next URLs.
    pub(crate) hosts: usize,
    /// Maximum size of such a host.
    host: u64,
}

/// Resident bytes of sled per byte of its cache, as measured.
const SLED: u64 = 6;
/// Bytes per key in a table in memory, as measured.
const KEY: u64 = 29;
/// Bytes per URL queued in memory: the row, the parsed URL and their containers.
const WAITING: u64 = 500;
/// Bytes per host in memory without URLs.
const HOST: u64 = 600;
/// Bytes of the cache of recent keys in front of the filters.
const SEEN_CACHE: u64 = 4 << 20;
/// Maximum bytes of the templates in memory: those of 200 large sites.
const MAX_TEMPLATES: usize = 64 << 20;
/// Ten times the bytes of a filter per URL, at 1 % false positives.
const FILTER_TENTHS: u64 = 12;

/// Maximum size of the originals in memory, in bytes.
const MAX_BASES: usize = 32 << 20;

impl MemoryPlan {
    /// Returns the plan for these options. A structure with a setting of its own takes that, or its
    /// share of the memory if that is less.
    pub fn of(options: &Options) -> Self {
        let max = options.max_memory;
        let host = HOST + WAITING * options.buffer as u64;
        let at_most =
            |set: usize, bytes: u64| set.min(usize::try_from(bytes).unwrap_or(usize::MAX)).max(1);
        Self {
            max,
            store_cache: max / 16,
            store_buffers: max * 5 / 64,
            documents_cache: max / 64,
            delta_bytes: at_most(usize::MAX, max * 3 / 128),
            keys: at_most(usize::MAX, max / 16 / (2 * KEY)),
            templates: at_most(MAX_TEMPLATES, max * 3 / 128),
            filters: (options.seen.expected_urls.saturating_mul(FILTER_TENTHS) / 10)
                .saturating_add(SEEN_CACHE),
            // One body of maximum length always fits.
            bodies: at_most(options.fetch.body_budget.bytes(), max / 4)
                .max(options.fetch.max_body.bytes().min(1 << 20)),
            pages: at_most(usize::MAX, max / 32),
            bases: at_most(MAX_BASES, max / 128),
            sessions: at_most(usize::MAX, max / 128 / SESSION_BYTES),
            hosts: at_most(options.window, max * 5 / 32 / host),
            host,
        }
    }

    /// Returns each structure with its maximum size, and the setting that bounds it too.
    pub fn parts(&self) -> [(&'static str, u64, &'static str); 12] {
        [
            ("blocks of the store", self.store_cache, ""),
            ("write buffers of the store", 2 * self.store_buffers, ""),
            ("cache of the documents", SLED * self.documents_cache, ""),
            (
                "documents since the last checkpoint",
                2 * self.delta_bytes as u64,
                "",
            ),
            (
                "keys since the last checkpoint",
                2 * KEY * self.keys as u64,
                "",
            ),
            ("templates of sites", self.templates as u64, ""),
            (
                "filters of URLs seen",
                self.filters,
                " (crawl.expected_urls)",
            ),
            (
                "bodies on their way",
                self.bodies as u64,
                " (fetch.body_budget)",
            ),
            ("pages that were read", self.pages as u64, ""),
            (
                "originals that deltas are made against",
                self.bases as u64,
                "",
            ),
            ("TLS sessions", SESSION_BYTES * self.sessions as u64, ""),
            (
                "hosts and their next URLs",
                self.host * self.hosts as u64,
                " (state.hosts_in_memory, state.urls_in_memory)",
            ),
        ]
    }

    /// Returns each structure with its maximum size, to be shown.
    pub(crate) fn shares(&self) -> Vec<MemoryShare> {
        let parts = self.parts().into_iter();
        let shares = parts.map(|(name, bytes, setting)| MemoryShare {
            name: format!("{name}{setting}"),
            bytes,
        });
        shares.collect()
    }

    /// Returns the maximum size of all of them together.
    pub fn total(&self) -> u64 {
        let parts = self.parts().into_iter().map(|(_, bytes, _)| bytes);
        parts.fold(0, u64::saturating_add)
    }

    /// Returns `true` if they fit.
    pub fn fits(&self) -> bool {
        self.total() <= self.max
    }
}

impl fmt::Display for MemoryPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        for (name, bytes, setting) in self.parts() {
            write!(f, "{name} {:.1} MiB{setting}, ", mebibytes(bytes))?;
        }
        write!(
            f,
            "together {:.1} MiB of {:.1} MiB",
            mebibytes(self.total()),
            mebibytes(self.max)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::options;
    use crate::units::Size;

    fn plan(max_memory: u64, expected_urls: u64) -> MemoryPlan {
        let mut options = options();
        options.max_memory = max_memory;
        options.seen.expected_urls = expected_urls;
        (options.window, options.buffer) = (10_000, 32);
        options.fetch.body_budget = Size::mebibytes(256);
        options.fetch.max_body = Size::mebibytes(20);
        MemoryPlan::of(&options)
    }

    #[test]
    fn shares_fit_whatever_the_memory() {
        for max in [64 << 20, 100 << 20, 1 << 30, 3 << 30, 64 << 30] {
            let plan = plan(max, max / 50);
            assert!(plan.fits(), "{plan}");
        }
        let default = plan(1 << 30, 10_000_000);
        assert_eq!((default.bodies, default.hosts), (256 << 20, 10_000));
        assert!(default.keys > 1_000_000 && default.delta_bytes == 24 << 20);
        let small = plan(64 << 20, 200_000);
        assert_eq!(small.bodies, 16 << 20);
        assert!((100..1_000).contains(&small.hosts), "{small}");
    }

    #[test]
    fn a_filter_that_does_not_fit_is_named_with_all_others() {
        let plan = plan(1 << 30, 1_000_000_000);
        assert!(!plan.fits());
        let text = plan.to_string();
        for says in [
            "filters of URLs seen 1148.4 MiB (crawl.expected_urls)",
            "bodies on their way 256.0 MiB (fetch.body_budget)",
            "blocks of the store 64.0 MiB, ",
            " of 1024.0 MiB",
        ] {
            assert!(text.contains(says), "{says:?} in {text}");
        }
    }
}
