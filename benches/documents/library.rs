//! What it takes a worker of a cluster to have the documents of all shards.

use std::path::Path;
use std::time::Instant;

use gleaner::config::Config;
use gleaner::dedup::own::{Kind, Line, Lines, Standing};
use gleaner::dedup::{Document, Stored};
use gleaner::engine::library::{Bulletin, Library, LibraryOptions};
use gleaner::rows::{Notice, OwnPart, Published};
use gleaner::store::encode;
use gleaner::url::Secret;

use crate::measure::{Meter, memory, on_disk};
use crate::rehearsal::{Rehearsal, id, mix};

/// Shards that tell of their documents in turn.
const SHARDS: u64 = 8;
/// Documents of a bulletin.
const TOLD: u64 = 50;
/// Lines of a page.
const LINES: u64 = 40;
/// Lines of output.
const STEPS: u64 = 10;

/// Lets shards tell of `count` documents, and opens what has become of them once more. Returns how
/// many there are then.
pub(crate) fn library(
    rehearsal: &Rehearsal,
    directory: &Path,
    count: u64,
    say: &dyn Fn(&str),
) -> u64 {
    let secret = Secret::from_bytes([23; Secret::LEN]);
    let defaults = Config::default().options();
    let features = defaults.expect("the defaults are sound").features;
    let options = LibraryOptions::new(&features, false, &secret);
    let open = || Library::open(directory, &options).expect("the directory is ours");
    let library = open();
    let bulletins = count.div_ceil(TOLD);
    let step = bulletins.div_ceil(STEPS).max(1);
    let mut bytes = 0;
    for from in (0..bulletins).step_by(usize::try_from(step).expect("it is small")) {
        let end = (from + step).min(bulletins);
        let mut meter = Meter::start();
        for at in from..end {
            let bulletin = meter.beside(|| bulletin(rehearsal, at, library.features()));
            bytes += bulletin.len();
            let taken_in = library.take_in(at + 1, &bulletin);
            taken_in.expect("the disk has room");
        }
        say(&format!(
            "{} documents of all shards: {:.1} us of processors' time each; RssAnon {} MB, mapped {} MB",
            library.documents(),
            meter.micros((end - from) * TOLD),
            memory("RssAnon"),
            memory("RssFile"),
        ));
    }
    library.checkpoint().expect("the disk has room");
    let documents = library.documents();
    drop(library);
    say(&format!(
        "bytes each: {:.0} told, {:.0} on disk",
        bytes as f64 / documents as f64,
        on_disk(directory) as f64 / documents as f64,
    ));
    let begun = Instant::now();
    let library = open();
    say(&format!(
        "open after {:.2} s; RssAnon {} MB",
        begun.elapsed().as_secs_f64(),
        memory("RssAnon")
    ));
    assert_eq!(library.position(), bulletins, "nothing is read again");
    library.documents()
}

/// What the shards tell: in turn, each of its next documents.
fn bulletin(rehearsal: &Rehearsal, at: u64, features: u64) -> Vec<u8> {
    let first = at / SHARDS * TOLD + 1;
    let rows = (0..TOLD).map(|it| encode(&document(rehearsal, at * TOLD + it, first + it)));
    let from = u16::try_from(at % SHARDS).expect("it is small");
    let bulletin = Bulletin {
        from,
        gone: first - 1,
        first,
        features,
        rows: rows.collect(),
    };
    bulletin.encode()
}

/// Page `number`, which is document `own` of its shard.
fn document(rehearsal: &Rehearsal, number: u64, own: u64) -> Notice {
    let page = rehearsal.page(number);
    let line = |at: u64| Line {
        hash: mix(number << 8 | at) as u32,
        masked: mix(number << 8 | at) as u32,
        letters: mix(number << 8 | at) as u32,
        words: 12,
        kind: Kind::Main,
    };
    let lines = Lines {
        lines: (0..LINES).map(line).collect(),
        ..Lines::default()
    };
    let site = (mix(number) % 100_000, true);
    let standings = (0..LINES).map(|_| Standing::Own);
    Notice::Document(Box::new(Published {
        document: Document {
            id: own,
            url_id: id(number),
            url: page.url,
            fetched: 0,
            stored: Stored::default(),
            stored_for: None,
            payload: page.payload,
            fingerprints: page.fingerprints,
        },
        form: Some(mix(number)),
        own: Some(OwnPart::of(&lines, site, standings)),
    }))
}
