//! The URLs seen: each is admitted once, and none is lost to a false positive.
//!
//! There are three layers, cheapest first: a cache of recent keys (most links of a page also stood
//! on the page before), a Bloom filter in memory (a miss is certain), and the exact sorted runs on
//! disk, which alone decide that a URL is known. The committer owns this set. This file holds the
//! first two layers; the runs are passed in.

mod filling;
mod filters;

use std::io;
use std::path::Path;

pub use filters::verify_filters;

use filling::Filling;
use filters::{FilterFile, Filters};

use crate::runs::Runs;
use crate::url::UrlId;

/// The name of the runs that hold the keys of the URLs seen.
pub const SEEN: &str = "seen";

/// Expected size of the set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenOptions {
    /// Number of URLs that the filters are planned for, at 1 % false positives each and 1.2 bytes
    /// per URL. The first one has room for an eighth, the next for all of them. A crawl that
    /// exceeds the plan gets further filters, each twice the size of the one before.
    pub expected_urls: u64,
}

impl Default for SeenOptions {
    fn default() -> Self {
        Self {
            expected_urls: 10_000_000,
        }
    }
}

/// Number of recent keys in the cache: 4 MiB. If the recency of repetitions follows Zipf's law, a
/// cache eight times the size of 64 Ki keys keeps a quarter of the remaining lookups from filters
/// and files, which cost twenty times as much.
const RECENT: usize = 1 << 19;

/// Number of keys added during a start, half a second's worth. If there are more, a thread adds
/// them while the crawl goes on.
const AT_ONCE: u64 = 1_000_000;

/// The cache and the filters in front of the runs of URLs seen. Invariant: every key in the runs is
/// in a filter, or the filters are not consulted.
pub struct SeenSet {
    /// Direct-mapped by the low bits of the key; 0 marks an empty cell (a URL whose key is 0 is
    /// never cached).
    recent: Vec<u64>,
    /// A bit for each cell: whether the URL there is known to be unmarked.
    unmarked: Vec<u64>,
    front: Front,
    expected_urls: u64,
    /// The file in which the filters are kept, if there is one.
    file: Option<FilterFile>,
}

/// What stands between the cache and the runs.
enum Front {
    Filters(Filters),
    /// No filter yet: the runs are searched directly, which is slower and just as exact.
    Filling(Filling),
}

impl SeenSet {
    /// Builds the filters from the keys in the runs.
    pub fn new(options: &SeenOptions, runs: &Runs) -> Self {
        Self {
            recent: vec![0; RECENT],
            unmarked: vec![0; RECENT / 64],
            front: Front::Filters(build(options.expected_urls, runs)),
            expected_urls: options.expected_urls,
            file: None,
        }
    }

    /// Reads the filters from a file, which keeps them from now on, and adds newer keys from the
    /// runs. Builds them anew if the file cannot be used or belongs to a crawl other than `crawl`.
    /// If that takes long, a thread does it, and [`step`](Self::step) takes over the result.
    pub fn open(options: &SeenOptions, runs: &Runs, path: &Path, crawl: u64) -> Self {
        Self::open_with(options, runs, (path, crawl), AT_ONCE, || {})
    }

    /// Like `open`, with the number of keys to add at once, and something for the thread to do
    /// first.
    fn open_with(
        options: &SeenOptions,
        runs: &Runs,
        (path, crawl): (&Path, u64),
        at_once: u64,
        first: impl FnOnce() + Send + 'static,
    ) -> Self {
        let (file, filters, damage) = FilterFile::open(path.to_owned(), crawl);
        if let Some(why) = damage {
            tracing::warn!(
                path = %path.display(),
                why,
                "the filter of URLs seen cannot be used; it is rebuilt"
            );
        }
        let filters = filters.unwrap_or_else(|| empty(options.expected_urls, runs));
        let mut filters = filters.expecting(options.expected_urls);
        let newer = runs.keys_since(file.through());
        let front = if runs.len_since(file.through()) <= at_once {
            newer.iter().for_each(|key| filters.note(key));
            Front::Filters(filters)
        } else {
            match Filling::start(filters, newer, first) {
                Ok(filling) => Front::Filling(filling),
                Err(error) => {
                    tracing::warn!(%error, "cannot start a thread for the filter of URLs seen; the start waits for it");
                    Front::Filters(build(options.expected_urls, runs))
                }
            }
        };
        Self {
            recent: vec![0; RECENT],
            unmarked: vec![0; RECENT / 64],
            front,
            expected_urls: options.expected_urls,
            file: Some(file),
        }
    }

    /// Whether the URL was admitted before. Exact, up to collisions of the 64-bit key.
    pub fn contains(&mut self, id: UrlId, runs: &Runs) -> bool {
        let key = id.key();
        if self.is_recent(id) {
            return true;
        }
        let may_be = match &self.front {
            Front::Filters(filters) => filters.check(key),
            Front::Filling(_) => true,
        };
        let seen = may_be && runs.contains(key);
        if seen {
            self.remember(key);
        }
        seen
    }

    fn remember(&mut self, key: u64) {
        let cell = key as usize % RECENT;
        self.recent[cell] = key;
        self.unmarked[cell / 64] &= !(1 << (cell % 64));
    }

    /// Whether the URL is in the cache.
    pub fn is_recent(&self, id: UrlId) -> bool {
        let key = id.key();
        self.recent[key as usize % RECENT] == key && key != 0
    }

    /// Adds a URL. Returns true if it was not known.
    pub fn insert(&mut self, id: UrlId, runs: &mut Runs) -> bool {
        if self.contains(id, runs) {
            return false;
        }
        self.restore(id.key(), runs);
        true
    }

    /// Adds a key named by a delta or a rebuild. Harmless if it is known.
    pub fn restore(&mut self, key: u64, runs: &mut Runs) {
        runs.insert(key, 0);
        match &mut self.front {
            Front::Filters(filters) => filters.note(key),
            Front::Filling(filling) => filling.note_later(key),
        }
        self.remember(key);
    }

    /// Whether the URL is in the cache and known to be unmarked. A mark is another key that follows
    /// from the URL's own; most URLs have none, and to look for it takes as long as for a new URL.
    pub fn is_unmarked(&self, id: UrlId) -> bool {
        let cell = id.key() as usize % RECENT;
        self.unmarked[cell / 64] >> (cell % 64) & 1 == 1 && self.is_recent(id)
    }

    /// Notes in the cache whether the URL is known to be unmarked.
    pub fn note_unmarked(&mut self, id: UrlId, is_unmarked: bool) {
        let cell = id.key() as usize % RECENT;
        if self.is_recent(id) {
            let bits = &mut self.unmarked[cell / 64];
            *bits = *bits & !(1 << (cell % 64)) | u64::from(is_unmarked) << (cell % 64);
        }
    }

    /// Begins to write the filters to their file if a start without it would have to read much of
    /// the runs: more than a tenth of them, and more than the size of the filters. The set must
    /// contain all keys committed up to the delta `sequence`. Each [`step`](Self::step) continues
    /// the write.
    pub fn save_if_due(&mut self, runs: &Runs, sequence: u64) {
        /// Bytes per key in the runs.
        const KEY: u64 = 8;
        let (Front::Filters(filters), Some(file)) = (&self.front, &mut self.file) else {
            return;
        };
        let unsaved = runs.len_since(file.through());
        if !file.is_saving() && unsaved * 10 > runs.len() && unsaved * KEY > filters.bytes() {
            warn_of(file.begin(filters, sequence));
        }
    }

    /// Takes over filters that a thread has completed, and continues a write that is under way by
    /// about a megabyte.
    pub fn step(&mut self, runs: &Runs) {
        self.take_over_if_done(runs);
        if let (Front::Filters(filters), Some(file)) = (&self.front, &mut self.file) {
            warn_of(file.step(filters));
        }
    }

    /// Completes the write at the end of a run, and writes once more if that is due, because a
    /// write promises only the keys committed when it began. Filters that a thread has not
    /// completed are not waited for: a stop is to be quick, and the next start can build them.
    pub fn finish_saving(&mut self, runs: &Runs, sequence: u64) {
        self.take_over_if_done(runs);
        self.write_rest();
        self.save_if_due(runs, sequence);
        self.write_rest();
    }

    fn write_rest(&mut self) {
        if let (Front::Filters(filters), Some(file)) = (&self.front, &mut self.file) {
            warn_of(file.finish(filters));
        }
    }

    fn take_over_if_done(&mut self, runs: &Runs) {
        if matches!(&self.front, Front::Filling(filling) if filling.is_finished()) {
            self.take_over(runs);
        }
    }

    /// Takes over the filters from the thread, waiting for it if necessary.
    fn take_over(&mut self, runs: &Runs) {
        if let Front::Filling(filling) = &mut self.front {
            self.front = Front::Filters(filling.take().unwrap_or_else(|| {
                tracing::warn!(
                    "the thread for the filter of URLs seen panicked, please report this; \
                     the crawl waits while it is built"
                );
                build(self.expected_urls, runs)
            }));
        }
    }

    /// Bytes of memory used.
    pub fn memory_bytes(&self) -> u64 {
        let front = match &self.front {
            Front::Filters(filters) => filters.bytes(),
            Front::Filling(filling) => filling.bytes(),
        };
        front + ((self.recent.len() + self.unmarked.len()) * size_of::<u64>()) as u64
    }
}

/// Empty filters for the plan, or for the number of keys in the runs if that is higher.
fn empty(expected_urls: u64, runs: &Runs) -> Filters {
    Filters::new(expected_urls, runs.len())
}

/// Filters with all keys of the runs.
fn build(expected_urls: u64, runs: &Runs) -> Filters {
    let mut filters = empty(expected_urls, runs);
    runs.keys_since(0).iter().for_each(|key| filters.note(key));
    filters
}

/// Logs a failed write. The file is a copy, so this only makes the next start slower.
fn warn_of(written: io::Result<()>) {
    if let Err(error) = written {
        tracing::warn!(%error, "the filter of URLs seen cannot be written; the next start builds it");
    }
}

impl std::fmt::Debug for SeenSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let filters = match &self.front {
            Front::Filters(filters) => Some(filters.len()),
            Front::Filling(_) => None,
        };
        f.debug_struct("SeenSet")
            .field("filters", &filters)
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
        seen.finish_saving(&catalog[0], 1);
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

    #[test]
    fn what_is_unmarked_is_known_of_the_url_in_the_cell_only() {
        let directory = tempfile::tempdir().unwrap();
        let runs = [(SEEN, Options::default())];
        let (mut catalog, _) = Catalog::open(directory.path(), &runs).unwrap();
        let mut seen = SeenSet::new(&SeenOptions::default(), &catalog[0]);
        let in_cell = |turn: u64| {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&(turn * RECENT as u64 + 77).to_be_bytes());
            UrlId::from_bytes(bytes)
        };
        let [one, other] = [1, 2].map(in_cell);
        assert_eq!(one.key() as usize % RECENT, other.key() as usize % RECENT);
        seen.note_unmarked(one, true);
        assert!(!seen.is_unmarked(one), "it is not in the cache");
        seen.insert(one, &mut catalog[0]);
        assert!(!seen.is_unmarked(one));
        seen.note_unmarked(one, true);
        seen.note_unmarked(other, true);
        assert!(seen.is_unmarked(one) && !seen.is_unmarked(other));
        seen.insert(other, &mut catalog[0]);
        assert!(!seen.is_unmarked(one) && !seen.is_unmarked(other));
        assert!(seen.contains(one, &catalog[0]) && !seen.is_unmarked(one));
        seen.note_unmarked(one, true);
        seen.note_unmarked(one, false);
        assert!(!seen.is_unmarked(one));
    }

    /// A set over the numbers below 1,000 whose filters are being built by a thread that runs
    /// `first` before.
    fn filling(directory: &Path, first: impl FnOnce() + Send + 'static) -> (Catalog, SeenSet) {
        let runs = [(SEEN, Options::default())];
        let (mut catalog, _) = Catalog::open(directory, &runs).unwrap();
        (0..900).for_each(|number| {
            catalog[0].insert(id(number).key(), 0);
        });
        catalog.checkpoint(1).unwrap();
        (900..1_000).for_each(|number| {
            catalog[0].insert(id(number).key(), 0);
        });
        let path = directory.join("seen.filter");
        let options = SeenOptions { expected_urls: 1 };
        let seen = SeenSet::open_with(&options, &catalog[0], (&path, 1), 0, first);
        (catalog, seen)
    }

    #[test]
    fn while_a_thread_makes_the_filters_the_runs_are_asked_and_then_the_filters() {
        let directory = tempfile::tempdir().unwrap();
        let (release, held) = std::sync::mpsc::channel::<()>();
        let (mut catalog, mut seen) = filling(directory.path(), move || held.recv().unwrap());
        let before = seen.memory_bytes();
        for number in 0..2_000 {
            assert_eq!(seen.contains(id(number), &catalog[0]), number < 1_000);
        }
        for number in 500..1_500 {
            assert_eq!(seen.insert(id(number), &mut catalog[0]), number >= 1_000);
        }
        assert!(seen.memory_bytes() >= before + 500 * 8);
        // Missing filters are neither waited for nor saved, and a merge meanwhile loses nothing.
        seen.finish_saving(&catalog[0], 2);
        seen.step(&catalog[0]);
        catalog.checkpoint(2).unwrap();
        assert!(matches!(seen.front, Front::Filling(_)));
        assert!(!directory.path().join("seen.filter").exists());
        // Added behind the back of the set, so that only a search of the runs finds them.
        for number in [5_000, 5_001] {
            catalog[0].insert(id(number).key(), 0);
        }
        assert!(seen.contains(id(5_000), &catalog[0]));

        release.send(()).unwrap();
        seen.take_over(&catalog[0]);
        assert!(
            !seen.contains(id(5_001), &catalog[0]),
            "the filter is final"
        );
        seen.recent.fill(0);
        for number in 0..2_000 {
            assert_eq!(seen.contains(id(number), &catalog[0]), number < 1_500);
        }
        seen.finish_saving(&catalog[0], 2);
        assert!(directory.path().join("seen.filter").exists());
    }

    #[test]
    fn filters_are_built_anew_where_the_thread_panics() {
        let directory = tempfile::tempdir().unwrap();
        let (mut catalog, mut seen) = filling(directory.path(), || panic!("as the test wants"));
        assert!(seen.insert(id(1_000), &mut catalog[0]));
        seen.take_over(&catalog[0]);
        assert!(matches!(seen.front, Front::Filters(_)));
        seen.recent.fill(0);
        for number in 0..2_000 {
            assert_eq!(seen.contains(id(number), &catalog[0]), number <= 1_000);
        }
    }

    #[test]
    fn a_save_at_the_end_covers_what_came_after_an_older_one_began() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("seen.filter");
        let runs = [(SEEN, Options::default())];
        let (mut catalog, _) = Catalog::open(directory.path(), &runs).unwrap();
        let options = SeenOptions { expected_urls: 1 };
        let mut seen = SeenSet::open(&options, &catalog[0], &path, 1);
        for sequence in 1..=2 {
            (0..5_000).for_each(|number| {
                seen.insert(id(sequence * 5_000 + number), &mut catalog[0]);
            });
            catalog.checkpoint(sequence).unwrap();
            seen.save_if_due(&catalog[0], sequence);
        }
        seen.finish_saving(&catalog[0], 2);
        drop(seen);
        assert_eq!(FilterFile::open(path, 1).0.through(), 2);
    }

    /// What may happen to the file of the filters while the crawl is stopped.
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

        /// The set is exact with filters that are saved piece by piece, old, lost or damaged,
        /// whatever is merged and committed meanwhile, and across kills at any moment.
        #[test]
        fn filters_from_a_file_lose_nothing(
            steps in prop::collection::vec((0..9_u8, 0..5_u8, 0..400_u64, any::<bool>()), 1..60),
        ) {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("seen.filter");
            let options = SeenOptions { expected_urls: 1 };
            let open = |in_background| {
                let runs = Options { merge_at: 2 };
                let catalog = Catalog::open(directory.path(), &[(SEEN, runs)]).unwrap().0;
                let at_once = if in_background { 0 } else { u64::MAX };
                let seen = SeenSet::open_with(&options, &catalog[0], (&path, 7), at_once, || {});
                (catalog, seen)
            };
            let (mut catalog, mut seen) = open(false);
            // The deltas of a crawl: each key with the commit that it belongs to.
            let mut deltas: Vec<(u64, u64)> = Vec::new();
            let mut model = std::collections::HashSet::new();
            let mut sequence = 0;
            for (step, damage, number, in_background) in steps {
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
                    4 | 5 => seen.step(&catalog[0]),
                    6 => seen.finish_saving(&catalog[0], sequence),
                    7 => seen.take_over(&catalog[0]),
                    _ => {
                        drop(catalog);
                        drop(seen);
                        befall(&path, damage);
                        (catalog, seen) = open(in_background);
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

        /// The set is exact far beyond the planned size, with checkpoints and restarts in between.
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
