//! URLs seen: each is admitted once, and none is lost to a false positive.
//!
//! Three layers, cheapest first: a cache of recent keys (most links of a page were on the page
//! before), a Bloom filter in memory ("not in the filter" is final) and the exact sorted runs on
//! disk, which alone decide that a URL is known. Owned by the committer; this file holds the first
//! two, the runs are passed in.

use bloomfilter::Bloom;

use crate::runs::Runs;
use crate::url::UrlId;

/// The name of the runs that hold the keys of URLs seen.
pub const SEEN: &str = "seen";

/// How many URLs are planned for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenOptions {
    /// URLs that the first filter is made for, at 1 % false positives and 1.2 bytes a URL. A crawl
    /// that exceeds the plan gets further filters, each twice the size of the one before.
    pub expected_urls: u64,
}

impl Default for SeenOptions {
    fn default() -> Self {
        Self {
            expected_urls: 10_000_000,
        }
    }
}

/// Recent keys held: 512 KiB.
const RECENT: usize = 1 << 16;

/// False positives of a full filter: each costs a search in the runs.
const FALSE_POSITIVES: f64 = 0.01;

/// Cache and filters in front of the runs of URLs seen. Invariant: every key in the runs is in a
/// filter.
pub struct SeenSet {
    /// Direct-mapped by the key's low bits; 0 is an empty cell (a URL whose key is 0 is merely
    /// never cached).
    recent: Vec<u64>,
    /// The last one is being filled.
    filters: Vec<Filter>,
}

struct Filter {
    bloom: Bloom<u64>,
    planned: u64,
    count: u64,
}

impl Filter {
    fn new(planned: u64) -> Self {
        // The seed only spreads the bits; keys are hashed under the crawl's secret already.
        let mut seed = [0; 32];
        for (n, byte) in seed.iter_mut().enumerate() {
            *byte = n as u8 ^ 0xa5;
        }
        let planned = planned.max(1_024);
        let items = usize::try_from(planned).unwrap_or(usize::MAX);
        Self {
            bloom: Bloom::new_for_fp_rate_with_seed(items, FALSE_POSITIVES, &seed)
                .expect("a rate of 1 % and at least one item are what the filter asks for"),
            planned,
            count: 0,
        }
    }
}

impl SeenSet {
    /// Builds the filters over what the runs hold.
    pub fn new(options: &SeenOptions, runs: &Runs) -> Self {
        let mut set = Self {
            recent: vec![0; RECENT],
            filters: vec![Filter::new(options.expected_urls.max(runs.len()))],
        };
        runs.for_each_key(&mut |key| set.note(key));
        set
    }

    /// Whether the URL was admitted before. Exact, but for the 64-bit key itself.
    pub fn contains(&mut self, id: UrlId, runs: &Runs) -> bool {
        let key = id.key();
        let cell = key as usize % RECENT;
        if self.recent[cell] == key && key != 0 {
            return true;
        }
        let seen = self.filters.iter().any(|filter| filter.bloom.check(&key)) && runs.contains(key);
        if seen {
            self.recent[cell] = key;
        }
        seen
    }

    /// Remembers a URL; true if it was not known.
    pub fn insert(&mut self, id: UrlId, runs: &mut Runs) -> bool {
        if self.contains(id, runs) {
            return false;
        }
        self.restore(id.key(), runs);
        true
    }

    /// Remembers a key that a delta or a rebuild names; harmless if known.
    pub fn restore(&mut self, key: u64, runs: &mut Runs) {
        runs.insert(key, 0);
        self.note(key);
        self.recent[key as usize % RECENT] = key;
    }

    /// Bytes held in memory.
    pub fn memory_bytes(&self) -> u64 {
        let filters: u64 = self
            .filters
            .iter()
            .map(|filter| filter.bloom.len() / 8)
            .sum();
        filters + (RECENT * size_of::<u64>()) as u64
    }

    fn note(&mut self, key: u64) {
        let last = self.filters.last().map_or(0, |filter| filter.planned);
        if self
            .filters
            .last()
            .is_none_or(|filter| filter.count >= filter.planned)
        {
            self.filters.push(Filter::new(last.saturating_mul(2)));
        }
        if let Some(filter) = self.filters.last_mut() {
            filter.bloom.set(&key);
            filter.count += 1;
        }
    }
}

impl std::fmt::Debug for SeenSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SeenSet")
            .field("filters", &self.filters.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::{Catalog, Options};
    use proptest::prelude::*;

    fn id(number: u64) -> UrlId {
        let key = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&key);
        UrlId::from_bytes(bytes)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        /// Exact, far beyond what the filter was planned for, with checkpoints and restarts between.
        #[test]
        fn nothing_is_lost_and_nothing_is_made_up(
            numbers in prop::collection::vec(0..3_000_u64, 1..4_000),
            restart in 0..4_000_usize,
        ) {
            let directory = tempfile::tempdir().unwrap();
            let options = SeenOptions { expected_urls: 1 };
            let open = || Catalog::open(directory.path(), &[(SEEN, Options::default())]).unwrap().0;
            let mut catalog = open();
            let mut seen = SeenSet::new(&options, &catalog[0]);
            let mut model = std::collections::HashSet::new();
            for (n, number) in numbers.iter().enumerate() {
                prop_assert_eq!(seen.contains(id(*number), &catalog[0]), model.contains(number));
                prop_assert_eq!(seen.insert(id(*number), &mut catalog[0]), model.insert(*number));
                if n == restart {
                    catalog.checkpoint(1).unwrap();
                    drop(catalog);
                    catalog = open();
                    seen = SeenSet::new(&options, &catalog[0]);
                }
            }
        }
    }
}
