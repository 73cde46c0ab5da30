//! Hostile sites beside good ones, of which the same comes as without them: each row of
//! `benches/trust/hostile` as a test, small. `docs/performance.md` says how the whole suite is run,
//! which also tells what the good hosts' throughput is.
//!
//! Servers that hang may do so for an hour here. So a good host that waited for a slot that a
//! hostile one has would not be crawled in time.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use crate::made_up::hostile::beside::{Seen, Trial, compare};
use crate::made_up::hostile::{Row, Size, rows};
use crate::made_up::run::Runner;

/// Deadlines that no test waits for.
const LONG: &str = "fetch.connect_timeout = \"1h\"\nfetch.head_timeout = \"1h\"\n\
                    fetch.total_timeout = \"1h\"\n";

/// Bytes that a crawl may take by default: `state.max_memory` and a quarter.
const MEMORY: u64 = (1 << 30) / 4 * 5;

/// What comes of the good hosts of most rows alone.
static ALONE: OnceLock<Seen> = OnceLock::new();

fn trial(directory: PathBuf, row: &Row) -> Trial {
    Trial {
        runner: Runner {
            gleaner: PathBuf::from(env!("CARGO_BIN_EXE_gleaner")),
            directory,
            patience: Duration::from_mins(10),
            keep: false,
            settings: if row.ends {
                String::new()
            } else {
                LONG.to_owned()
            },
            asks_why: false,
        },
        size: Size::Small,
        delay: 0,
        crowd: (3, 20),
    }
}

#[track_caller]
fn check(name: &str) {
    let row = rows().into_iter().find(|row| row.name == name);
    let row = row.expect("there is such a row");
    let directory = tempfile::tempdir().expect("there is a directory for temporary files");
    let trial = trial(directory.path().to_owned(), &row);
    let (own, alone);
    if row.is_plain() {
        alone = ALONE.get_or_init(|| trial.undisturbed(&row));
    } else {
        own = trial.undisturbed(&row);
        alone = &own;
    }
    assert!(alone.pages.len() >= 60, "{name}: {}", alone.said);
    let beside = trial.disturbed(&row, alone);
    assert!(beside.is_done, "{name}: {beside:?}");
    let lost = compare(alone, &beside).lost;
    let first = &lost[..lost.len().min(5)];
    assert!(
        lost.is_empty(),
        "{name}: {} lost: {first:#?} {}",
        lost.len(),
        beside.said
    );
    assert!(beside.peak <= MEMORY, "{name}: {} MB", beside.peak >> 20);
}

macro_rules! tests {
    ($($test:ident: $name:literal,)*) => {
        $(#[test]
        fn $test() {
            check($name);
        })*

        #[test]
        fn each_row_has_a_test() {
            let tested = [$($name),*];
            assert!(rows().iter().all(|row| tested.contains(&row.name)));
        }
    };
}

tests! {
    pages_as_sitemaps: "pages-as-sitemaps",
    pages_in_sitemap_index: "pages-in-sitemap-index",
    sitemaps_that_redirect: "sitemaps-that-redirect",
    odd_slashes: "odd-slashes",
    odd_sessions: "odd-sessions",
    odd_directories: "odd-directories",
    odd_forbidden: "odd-forbidden",
    a_parameter: "a-parameter",
    all_pages_are_one: "all-pages-are-one",
    budget_of_host: "budget-of-host",
    budget_of_domain: "budget-of-domain",
    hangs: "hangs",
    hangs_at_one_address: "hangs-at-one-address",
    drips_heads: "drips-heads",
    drips_bodies: "drips-bodies",
    informational: "informational",
    endless_headers: "endless-headers",
    endless_robots: "endless-robots",
    endless_bodies: "endless-bodies",
    gzip_bombs: "gzip-bombs",
    http_2_pings: "http-2-pings",
    http_2_settings: "http-2-settings",
    http_2_empty_frames: "http-2-empty-frames",
    http_2_window_updates: "http-2-window-updates",
    http_2_unknown_frames: "http-2-unknown-frames",
    nesting: "nesting",
    unclosed_markup: "unclosed-markup",
    base_amplification: "base-amplification",
    links_without_end: "links-without-end",
    lists_in_lists: "lists-in-lists",
    one_fingerprint: "one-fingerprint",
    near_copies: "near-copies",
    controls: "controls",
    pages_without_end: "pages-without-end",
    fresh_names: "fresh-names",
    names_without_end: "names-without-end",
    dead_names: "dead-names",
    sitemaps_elsewhere: "sitemaps-elsewhere",
    redirect_mazes: "redirect-mazes",
}
