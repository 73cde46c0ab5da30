//! URLs seen: each is admitted once, and none is lost to a false positive.
//!
//! Three layers, cheapest first: a cache of recent keys (most links of a page were on the page
//! before), a Bloom filter in memory ("not in the filter" is final) and the exact sorted runs on
//! disk, which alone decide that a URL is known. Owned by the committer; this file holds the first
//! two, the runs are passed in.

use std::io;
use std::path::Path;

use super::filters::{FilterFile, Filters};
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

/// Recent keys held: 4 MiB. Where repetitions are Zipf over recency, eight times as many as 64 Ki keep
/// a quarter of the others from filters and files, which cost twenty times as much.
const RECENT: usize = 1 << 19;

/// Cache and filters in front of the runs of URLs seen. Invariant: every key in the runs is in a
/// filter.
pub struct SeenSet {
    /// Direct-mapped by the key's low bits; 0 is an empty cell (a URL whose key is 0 is merely
    /// never cached).
    recent: Vec<u64>,
    filters: Filters,
    /// Where the filters are kept, if they are.
    file: Option<FilterFile>,
}

impl SeenSet {
    /// Builds the filters over what the runs hold.
    pub fn new(options: &SeenOptions, runs: &Runs) -> Self {
        let mut set = Self {
            recent: vec![0; RECENT],
            filters: Filters::new(options.expected_urls.max(runs.len())),
            file: None,
        };
        runs.for_each_key_since(0, |key| set.filters.note(key));
        set
    }

    /// Reads the filters from the file in which they are kept from now on, and adds what the runs have
    /// that is newer; builds them where the file cannot be used, or is of another crawl than `crawl`.
    pub fn open(options: &SeenOptions, runs: &Runs, path: &Path, crawl: u64) -> Self {
        let (file, filters, damage) = FilterFile::open(path.to_owned(), crawl);
        if let Some(why) = damage {
            tracing::warn!(
                path = %path.display(),
                why,
                "the filter of URLs seen cannot be used; it is built anew"
            );
        }
        let mut set = match filters {
            None => Self::new(options, runs),
            Some(filters) => Self {
                recent: vec![0; RECENT],
                filters,
                file: None,
            },
        };
        if file.through() > 0 {
            runs.for_each_key_since(file.through(), |key| set.filters.note(key));
        }
        set.file = Some(file);
        set
    }

    /// Whether the URL was admitted before. Exact, but for the 64-bit key itself.
    pub fn contains(&mut self, id: UrlId, runs: &Runs) -> bool {
        let key = id.key();
        if self.is_recent(id) {
            return true;
        }
        let seen = self.filters.check(key) && runs.contains(key);
        if seen {
            self.recent[key as usize % RECENT] = key;
        }
        seen
    }

    /// Whether the cache alone knows the URL.
    pub fn is_recent(&self, id: UrlId) -> bool {
        let key = id.key();
        self.recent[key as usize % RECENT] == key && key != 0
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
        self.filters.note(key);
        self.recent[key as usize % RECENT] = key;
    }

    /// Begins to write the filters to their file if a start would have to read much of the runs without
    /// that: more than a tenth of them, and more than the filters themselves. All that was committed up
    /// to the delta `sequence` must be in the set. The writing goes on with each [`step`](Self::step).
    pub fn save_if_due(&mut self, runs: &Runs, sequence: u64) {
        /// Bytes of a key in the runs.
        const KEY: u64 = 8;
        let Some(file) = self.file.as_mut().filter(|file| !file.is_saving()) else {
            return;
        };
        let unsaved = runs.len_since(file.through());
        if unsaved * 10 > runs.len() && unsaved * KEY > self.filters.bytes() {
            let begun = file.begin(&self.filters, sequence);
            warn_of(begun);
        }
    }

    /// Writes a further piece of the filters, about a megabyte, if they are being written.
    pub fn step(&mut self) {
        if let Some(file) = &mut self.file {
            warn_of(file.step(&self.filters));
        }
    }

    /// Writes what is left of them.
    pub fn finish_saving(&mut self) {
        if let Some(file) = &mut self.file {
            warn_of(file.finish(&self.filters));
        }
    }

    /// Bytes held in memory.
    pub fn memory_bytes(&self) -> u64 {
        self.filters.bytes() + (RECENT * size_of::<u64>()) as u64
    }
}

/// The file is a copy: what cannot be written costs time at the next start, nothing else.
fn warn_of(written: io::Result<()>) {
    if let Err(error) = written {
        tracing::warn!(%error, "the filter of URLs seen cannot be written; the next start builds it");
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

    #[test]
    fn filters_of_another_crawl_count_for_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("seen.filter");
        let options = SeenOptions { expected_urls: 1 };
        let runs = [(SEEN, Options::default())];
        let (mut catalog, _) = Catalog::open(directory.path(), &runs).unwrap();
        let mut seen = SeenSet::open(&options, &catalog[0], &path, 1);
        (0..5_000).for_each(|number| {
            seen.insert(id(number), &mut catalog[0]);
        });
        catalog.checkpoint(1).unwrap();
        seen.save_if_due(&catalog[0], 1);
        seen.finish_saving();
        assert!(path.exists());
        let is_read = |crawl| {
            let (file, filters, damage) = FilterFile::open(path.clone(), crawl);
            assert_eq!(damage, None);
            (file.through(), filters.is_some())
        };
        assert_eq!(is_read(1), (1, true));
        assert_eq!(is_read(2), (0, false));
        let mut other = SeenSet::open(&options, &catalog[0], &path, 2);
        assert!((0..5_000).all(|number| other.contains(id(number), &catalog[0])));
    }

    fn id(number: u64) -> UrlId {
        let key = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&key);
        UrlId::from_bytes(bytes)
    }

    /// What may befall the file of the filters while nobody has it open.
    fn befall(path: &Path, what: u8) {
        let Ok(mut bytes) = std::fs::read(path) else {
            return;
        };
        match what {
            0 => return,
            1 => return std::fs::remove_file(path).unwrap(),
            2 => bytes.truncate(bytes.len() / 2),
            3 => bytes[40] ^= 1,
            _ => *bytes.last_mut().unwrap() ^= 1,
        }
        std::fs::write(path, bytes).unwrap();
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        /// Exact with filters that are saved piece by piece, old, lost or damaged, whatever was merged
        /// and committed meanwhile, over kills at any moment.
        #[test]
        fn filters_from_a_file_lose_nothing(
            steps in prop::collection::vec((0..8_u8, 0..5_u8, 0..400_u64), 1..60),
        ) {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("seen.filter");
            let options = SeenOptions { expected_urls: 1 };
            let open = || {
                let runs = Options { merge_at: 2 };
                let catalog = Catalog::open(directory.path(), &[(SEEN, runs)]).unwrap().0;
                let seen = SeenSet::open(&options, &catalog[0], &path, 7);
                (catalog, seen)
            };
            let (mut catalog, mut seen) = open();
            // What a crawl's deltas are: keys, and the commit that they belong to.
            let mut deltas: Vec<(u64, u64)> = Vec::new();
            let mut model = std::collections::HashSet::new();
            let mut sequence = 0;
            for (step, damage, number) in steps {
                match step {
                    0..3 => {
                        sequence += 1;
                        for number in number..number + 90 {
                            let is_new = seen.insert(id(number), &mut catalog[0]);
                            prop_assert_eq!(is_new, model.insert(number));
                            deltas.extend(is_new.then_some((sequence, number)));
                        }
                    }
                    3 if !catalog.is_writing() => catalog.begin(sequence).unwrap(),
                    3 => {
                        catalog.finish().unwrap();
                        catalog.finish_merges().unwrap();
                        deltas.retain(|delta| delta.0 > catalog.sequence());
                        seen.save_if_due(&catalog[0], sequence);
                    }
                    4 | 5 => seen.step(),
                    6 => seen.finish_saving(),
                    _ => {
                        drop(catalog);
                        drop(seen);
                        befall(&path, damage);
                        (catalog, seen) = open();
                        for (_, number) in &deltas {
                            seen.restore(id(*number).key(), &mut catalog[0]);
                        }
                    }
                }
                for number in 0..500 {
                    prop_assert_eq!(seen.contains(id(number), &catalog[0]), model.contains(&number));
                }
            }
        }

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
