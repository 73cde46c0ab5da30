//! Parts of the state are damaged or lost between two runs: what can be rebuilt is, and the crawl
//! goes on as if nothing had happened; what cannot is refused, and nothing is made worse.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::corpus;
use crate::run::{Place, anchors, numbered, page, run};
use crate::web::{Answer, Site, Web};

/// Pages that are the same on both hosts, byte for byte and, in other markup, word for word.
fn site(host: usize, pages: usize) -> Site {
    let home = page(&format!("home of {host}"), &[]) + &anchors(numbered(pages));
    Site::new()
        .page("/", Answer::html(home))
        .otherwise(move |request| {
            let number: usize = request.path.trim_start_matches('/').parse().unwrap_or(0);
            let text = corpus::text(number as u64, 80);
            // Odd pages have another markup on the second host.
            let attribute = [" class=x", ""][usize::from(number.is_multiple_of(2) || host == 0)];
            Answer::html(format!("<title>{number}</title><p{attribute}>{text}</p>"))
        })
}

const PAGES: usize = 12;

/// Crawls the first host, damages what was written, crawls the second: every page of it must be
/// found to be a duplicate, no page may be asked for twice, and a word must be said about it.
fn check(damage: impl Fn(&Path), said: &str) {
    let web = Web::start(vec![site(0, PAGES), site(1, PAGES)]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/")]);
    assert_eq!(
        crawl.status().counters.verdicts.get("unique"),
        Some(&(PAGES as u64 + 1))
    );
    damage(&crawl.data());
    let output = crawl.crawl(&[&web.url(0, "/"), &web.url(1, "/")]);
    assert!(output.stderr.contains(said), "{output:?}");
    let counters = crawl.status().counters;
    let verdict = |name: &str| counters.verdicts.get(name).copied().unwrap_or(0);
    assert_eq!(verdict("raw"), PAGES as u64 / 2, "{counters:?}");
    assert_eq!(verdict("normalized"), PAGES as u64 / 2, "{counters:?}");
    assert_eq!(verdict("unique"), PAGES as u64 + 2, "{counters:?}");
    let requests = web.requests();
    let asked: BTreeSet<_> = requests.iter().map(|it| (it.host, &it.path)).collect();
    assert_eq!(asked.len(), requests.len(), "something was asked for twice");
    crawl.records();
    // What was rebuilt stays so.
    let output = crawl.crawl(&[&web.url(0, "/")]);
    assert!(output.stderr.contains("nothing left"), "{output:?}");
    assert!(!output.stderr.contains("rebuilt"), "{output:?}");
}

/// The files of a folder whose names begin with one of these.
fn files(folder: &Path, beginnings: &[&str]) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let is_one = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        beginnings
            .iter()
            .any(|beginning| name.starts_with(beginning))
    };
    let files = entries.map(|entry| entry.expect("an entry").path());
    let found: Vec<_> = files.filter(is_one).collect();
    assert!(!found.is_empty(), "{beginnings:?} in {}", folder.display());
    found
}

fn flip_a_bit(path: &Path) {
    let mut bytes = fs::read(path).expect("the file is read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).expect("the file is written");
}

#[test]
fn lost_documents_are_rebuilt() {
    check(
        |data| fs::remove_dir_all(data.join("documents")).expect("documents are removed"),
        "the documents are rebuilt",
    );
}

#[test]
fn damaged_documents_are_set_aside_and_rebuilt() {
    check(
        |data| {
            let database = data.join("documents/db");
            let length = fs::metadata(&database).expect("sled has a file").len();
            let noise: Vec<u8> = (0..length).map(|n| (n * 31 % 251) as u8).collect();
            fs::write(&database, noise).expect("the file is written");
        },
        "the documents are rebuilt",
    );
}

#[test]
fn lost_runs_are_rebuilt() {
    check(
        |data| fs::remove_dir_all(data.join("runs")).expect("runs are removed"),
        "they are rebuilt",
    );
}

#[test]
fn damaged_urls_seen_are_rebuilt() {
    check(
        |data| {
            for file in files(&data.join("runs"), &["seen"]) {
                flip_a_bit(&file);
            }
        },
        "seen starts empty and is rebuilt",
    );
}

#[test]
fn damaged_fingerprints_are_rebuilt() {
    check(
        |data| {
            let names = ["raw", "normalized", "payload", "simhash-2"];
            for file in files(&data.join("runs"), &names) {
                flip_a_bit(&file);
            }
        },
        "normalized starts empty and is rebuilt",
    );
}

#[test]
fn a_lost_store_is_refused_and_the_archive_is_left_alone() {
    let web = Web::start(vec![site(0, PAGES)]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/")]);
    let before = crawl.records().len();
    fs::remove_dir_all(crawl.data().join("store")).expect("the store is removed");
    let output = run(crawl.command(&[&web.url(0, "/")]));
    output.expect(3).says(&["its store is missing"]);
    assert_eq!(crawl.records().len(), before);
}
