//! URLs seen: so many distinct ones, each asked for nine times more.

use std::path::Path;
use std::time::Instant;

use gleaner::frontier::{SEEN, SeenOptions, SeenSet};
use gleaner::runs::{Catalog, Options};
use gleaner::url::UrlId;

use crate::measure::{Meter, memory, on_disk};
use crate::urls::{mix, recent};

/// Keys in memory before a checkpoint is begun, as in a crawl.
const CHECKPOINT: u64 = 1_000_000;
/// Questions for each distinct URL.
const QUESTIONS: u64 = 10;

/// What was found.
pub(crate) struct Figures {
    /// Answers that were not the right one.
    pub(crate) wrong: u64,
    /// Keys in the runs.
    pub(crate) keys: u64,
    /// Bytes of runs and filter for each URL.
    pub(crate) disk: f64,
}

/// The identity of URL `number`. `SplitMix64` gives every number another key, so that every answer
/// is known beforehand; the hash of a URL is as good a spread, but may give two the same.
fn id(number: u64) -> UrlId {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&mix(number).to_be_bytes());
    UrlId::from_bytes(bytes)
}

struct Seen {
    catalog: Catalog,
    set: SeenSet,
}

fn open(directory: &Path, expected_urls: u64) -> Seen {
    let structures = [(SEEN, Options::default())];
    let (catalog, damage) = Catalog::open(directory, &structures).expect("the disk works");
    assert!(damage.is_empty(), "{damage:?}");
    let options = SeenOptions { expected_urls };
    let set = SeenSet::open(&options, &catalog[0], &directory.join("seen.filter"), 1);
    Seen { catalog, set }
}

/// Asks for `count` distinct URLs and their repetitions, with checkpoints as in a crawl; `say` is
/// told of the figures.
pub(crate) fn seen(
    directory: &Path,
    count: u64,
    expected_urls: u64,
    say: &dyn Fn(&str),
) -> Figures {
    /// Distinct URLs between two looks at the memory.
    const BATCH: u64 = 4_096;
    let Seen {
        mut catalog,
        mut set,
    } = open(directory, expected_urls);
    let mut meter = Meter::start();
    let (mut wrong, mut from_cache, mut sampled) = (0_u64, 0_u64, 0_u64);
    let (mut next, mut in_memory, mut sequence) = (0, 0, 0);
    let (mut anonymous, mut mapped) = (0, 0);
    let mut batch = Vec::new();
    let mut reported = 0;
    while next < count {
        let end = (next + BATCH).min(count);
        meter.beside(|| {
            batch.clear();
            for number in next..end {
                batch.push((id(number), true));
                for question in 1..QUESTIONS {
                    let seed = number * QUESTIONS + question;
                    batch.push((id(recent(seed, number + 1)), false));
                }
            }
        });
        for (at, (id, is_new)) in batch.iter().enumerate() {
            if at % 16 == 1 && !is_new {
                sampled += 1;
                from_cache += u64::from(set.is_recent(*id));
            }
            let answer = match is_new {
                true => set.insert(*id, &mut catalog[0]),
                false => !set.contains(*id, &catalog[0]),
            };
            wrong += u64::from(answer != *is_new);
        }
        in_memory += end - next;
        (next, sequence) = (end, sequence + 1);
        set.step(&catalog[0]);
        if catalog.is_written() || in_memory >= CHECKPOINT && catalog.is_writing() {
            catalog.finish().expect("the disk has room");
            set.save_if_due(&catalog[0], sequence);
        }
        if in_memory >= CHECKPOINT && !catalog.is_writing() {
            catalog.begin(sequence).expect("the disk has room");
            in_memory = 0;
        }
        if next % (BATCH * 64) == 0 || next == count {
            meter.beside(|| {
                anonymous = anonymous.max(memory("RssAnon"));
                mapped = mapped.max(memory("RssFile"));
            });
        }
        let tenths = next * 10 / count;
        if tenths > reported {
            reported = tenths;
            let checks = next * QUESTIONS;
            say(&format!(
                "{next} URLs, {checks} checks: {:.3} us of processors' time each; {:.1} % of the repetitions \
                 from the cache; RssAnon {anonymous} MB at most, RssFile {mapped} MB; {} files; {wrong} wrong",
                meter.micros(checks),
                from_cache as f64 * 100.0 / sampled.max(1) as f64,
                catalog[0].file_count(),
            ));
        }
    }
    for _ in 0..2 {
        catalog.checkpoint(sequence).expect("the disk has room");
        catalog.finish_merges().expect("the disk has room");
    }
    catalog.checkpoint(sequence).expect("the disk has room");
    let runs = on_disk(directory) as f64 / count as f64;
    set.finish_saving(&catalog[0], sequence);
    let disk = on_disk(directory) as f64 / count as f64;
    say(&format!(
        "{:.2} bytes of disk for each URL, of which {:.2} are runs; {} files; {:.0} MB of filters",
        disk,
        runs.min(disk),
        catalog[0].file_count(),
        set.memory_bytes() as f64 / 1e6,
    ));
    drop((catalog, set));

    let Seen { catalog, mut set } = reopened(directory, expected_urls, say);
    let sample = count.min(1_000_000);
    let lost = (0..sample).map(|n| mix(n) % count);
    let lost = lost.filter(|number| !set.contains(id(*number), &catalog[0]));
    wrong += lost.count() as u64;
    let made_up = (count..count + sample).filter(|n| set.contains(id(*n), &catalog[0]));
    wrong += made_up.count() as u64;
    let keys = catalog[0].len();
    say(&format!("{keys} keys; {wrong} wrong answers"));
    Figures { wrong, keys, disk }
}

/// Opens it with the filter that was saved, and without.
fn reopened(directory: &Path, expected_urls: u64, say: &dyn Fn(&str)) -> Seen {
    let timed = |what: &str| {
        let (start, meter) = (Instant::now(), Meter::start());
        let seen = open(directory, expected_urls);
        say(&format!(
            "opened {what} after {:.2} s, {:.2} s of processors' time",
            start.elapsed().as_secs_f64(),
            meter.micros(1) / 1e6,
        ));
        seen
    };
    drop(timed("with its filter"));
    let filter = directory.join("seen.filter");
    if filter.exists() {
        std::fs::remove_file(&filter).expect("it is ours");
    }
    timed("without it")
}
