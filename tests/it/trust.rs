//! Small versions of the suites of `benches/trust.rs`: honest sites of which nothing is lost, and
//! traps that end beside good pages.
//!
//! `docs/performance.md` says how the whole suites are run.

use std::path::PathBuf;
use std::time::Duration;

use crate::made_up::run::Runner;
use crate::made_up::{honest, traps};

/// Kinds of which pages are still lost, or that do not end. This list only shrinks.
const NOT_YET: &[&str] = &[
    "soft404-short",
    "soft404-long",
    "soft404-echo",
    "session-path",
    "counter",
    "refresh",
    "growing-path",
    "growing-query",
    "mirror",
    "searches",
    "login",
    "print-reply",
    "suggestions",
    "prefixes",
    "tags",
    "redirects",
    "calendar",
    "calendar-path",
    "relative",
    "exports",
    "offset",
    "session-query",
    "permutations",
    "last-page",
    "inner-calendar",
    "proposals",
    "stacked-prefixes",
    "wildcard",
    "beyond-the-end",
    "astray",
    "polling",
    "buster",
    "date-picker",
    "numbered-facets",
    "passages",
    "stateful",
    "moving",
    "calendar-files",
    "referrer",
];

/// Kinds that mean something at their full size only.
const ONLY_LARGE: &[&str] = &["facets", "session-5000", "www-same", "words"];

/// Size of the honest sites, and number of good pages beside a trap.
const SCALE: f64 = 0.02;
const GOOD: usize = 60;

fn runner(directory: &tempfile::TempDir) -> Runner {
    Runner {
        gleaner: PathBuf::from(env!("CARGO_BIN_EXE_gleaner")),
        directory: directory.path().to_owned(),
        patience: Duration::from_mins(10),
        keep: false,
        settings: String::new(),
        asks_why: false,
    }
}

/// Every third kind, from this one on: tests run beside each other.
fn third<T: Copy>(kinds: &[(&'static str, T)], first: usize) -> Vec<(&'static str, T)> {
    let kinds = kinds.iter();
    let kinds = kinds.filter(|it| !NOT_YET.contains(&it.0) && !ONLY_LARGE.contains(&it.0));
    kinds.skip(first).step_by(3).copied().collect()
}

#[track_caller]
fn honest_sites(first: usize) {
    let directory = tempfile::tempdir().expect("there is a directory for temporary files");
    let mut wrong = Vec::new();
    for (name, make) in third(honest::KINDS, first) {
        let crawl = runner(&directory).crawl(name, make(1, SCALE));
        let lost = crawl.lost();
        if !lost.is_empty() || crawl.code != Some(0) {
            wrong.push(format!(
                "{name}: exit {:?}, {} lost, {:?}",
                crawl.code,
                lost.len(),
                lost.first()
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[track_caller]
fn beside_traps(first: usize) {
    let directory = tempfile::tempdir().expect("there is a directory for temporary files");
    let mut wrong = Vec::new();
    for (name, (make, bound)) in third(traps::KINDS, first) {
        let site = make(1, GOOD);
        let good = site.good.len();
        let crawl = runner(&directory).crawl(name, site);
        let (lost, asked) = (crawl.lost().len(), crawl.requests());
        let most = bound.requests(good);
        if lost > 0
            || asked > most
            || crawl.code != Some(0)
            || crawl.last_good() > bound.good_within
        {
            wrong.push(format!(
                "{name}: exit {:?}, {lost} lost, {asked} requests of {most}",
                crawl.code
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn nothing_of_honest_sites_is_lost() {
    honest_sites(0);
}

#[test]
fn nothing_of_more_honest_sites_is_lost() {
    honest_sites(1);
}

#[test]
fn nothing_of_other_honest_sites_is_lost() {
    honest_sites(2);
}

#[test]
fn traps_end_beside_good_pages() {
    beside_traps(0);
}

#[test]
fn more_traps_end_beside_good_pages() {
    beside_traps(1);
}

#[test]
fn other_traps_end_beside_good_pages() {
    beside_traps(2);
}

#[test]
fn kinds_are_left_out_by_their_names() {
    for name in NOT_YET.iter().chain(ONLY_LARGE) {
        let is_kind = honest::KINDS.iter().any(|it| it.0 == *name)
            || traps::KINDS.iter().any(|it| it.0 == *name);
        assert!(is_kind, "no kind {name}");
    }
}
