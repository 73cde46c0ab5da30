//! Parts of the state are damaged or lost between two runs: what can be rebuilt is, and the crawl
//! goes on as if nothing had happened; what cannot is refused, and nothing is made worse.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use gleaner::engine::DataDirectory;
use gleaner::store::{self, Batch, Durability, Embedded, Store as _, Table};

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

const PAGES: usize = 10;

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

/// Copies a folder.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the folder is made");
    for entry in fs::read_dir(from).expect("the folder is read") {
        let entry = entry.expect("an entry");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).expect("the file is copied");
        }
    }
}

/// A list of articles, behind each of them further ones, and a sitemap with one more.
fn library() -> Web {
    let map = "<urlset><url><loc>{host0}/listed</loc></url></urlset>";
    let home = page("home", &["/map"]) + &anchors(numbered(40));
    let site = Site::new()
        .robots("")
        .page("/", Answer::html(home))
        .page("/map", Answer::text(map).content_type("application/xml"))
        .otherwise(|request| {
            let text = corpus::text(
                request
                    .path
                    .bytes()
                    .fold(7, |sum, byte| sum * 31 % 10_007 + u64::from(byte)),
                60,
            );
            let deeper = (0..4).map(|n| format!("{}/{n}", request.path));
            let links = match request.path.matches('/').count() {
                1 if request.path != "/listed" => anchors(deeper),
                _ => String::new(),
            };
            Answer::html(format!(
                "<title>{0}</title><p>{text}</p>{links}",
                request.path
            ))
        });
    Web::start(vec![site])
}

const ARTICLES: usize = 1 + 40 + 40 * 4 + 1;

/// Bytes of all files in a folder.
fn bytes_of(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).expect("it is read");
    files
        .map(|it| it.expect("an entry").metadata().expect("its size").len())
        .sum()
}

/// The store has lost commits in some way: nothing goes on without a word, and a repair loses no
/// page.
fn check_loss(lose: impl Fn(&Path, &mut dyn FnMut()), said: &str) {
    let web = library();
    let crawl = Place::new();
    let settings = "[archive]\nmax_file = \"20KB\"\nmax_log = \"4KB\"\n";
    let settings = crawl.file("settings.toml", settings);
    let seed = web.url(0, "/");
    let part = |more: &str| {
        let arguments = [&*seed, "--config", &settings, "--max-pages", more];
        run(crawl.command(&arguments)).expect(0);
    };
    part("60");
    lose(&crawl.data(), &mut || part("50"));
    let before = bytes_of(&crawl.data().join("warc"));
    let refused = run(crawl.command(&[&seed, "--config", &settings]));
    refused.expect(7).says(&["lost commits", said, "--repair"]);
    assert_eq!(bytes_of(&crawl.data().join("warc")), before);
    // Killed within the repair, and continued without asking for it again.
    let killed = ["--repair", "--failpoint", "committed:2"];
    run(crawl.command(&[&[&seed, "--config", &settings][..], &killed[..]].concat())).expect(137);
    let output = run(crawl.command(&[&seed, "--config", &settings]));
    output.expect(0).says(&["the store is repaired"]);
    let asked = web.asked(0);
    let distinct: BTreeSet<&String> = asked.iter().collect();
    assert_eq!(distinct.len(), ARTICLES + 1, "and the sitemap");
    // By the repair once more, although that was killed.
    assert_eq!(asked.iter().filter(|path| *path == "/map").count(), 2);
    let told: BTreeSet<String> = crawl
        .ask(&["pages", "--no-text"])
        .json_lines()
        .iter()
        .map(|line| line["url"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(told.len(), ARTICLES);
    let counters = crawl.status().counters;
    assert_eq!((counters.queued, counters.pages), (0, ARTICLES as u64));
    // No link is counted twice.
    let undisturbed = Place::new();
    undisturbed.crawl(&[&library().url(0, "/")]);
    let links = |links: &BTreeMap<String, u64>| links.values().sum::<u64>();
    let expected = links(&undisturbed.status().counters.links);
    // But for the sitemap and the seed, which are given again.
    let found = links(&counters.links);
    assert!(
        (expected..expected + 9).contains(&found),
        "{expected}, {counters:?}"
    );
    assert!(bytes_of(&crawl.data().join("warc")) >= before);
    // From then on it is whole.
    let again = run(crawl.command(&[&seed, "--config", &settings])).expect(0);
    assert!(!again.stderr.contains("repaired"), "{again:?}");
}

#[test]
fn an_older_store_is_refused_and_repaired_without_a_loss() {
    check_loss(
        |data, go_on| {
            let (store, older) = (data.join("store"), data.with_extension("older"));
            copy(&store, &older);
            go_on();
            fs::remove_dir_all(&store).expect("the store is removed");
            copy(&older, &store);
        },
        "the log was acknowledged up to",
    );
}

/// Removes all rows of a table, as damage of its first file does.
pub(crate) fn empty(data: &Path, table: Table) {
    let _ours = DataDirectory::take(data).expect("nobody else keeps it");
    let options = store::Options::default();
    let store = Embedded::open(&data.join("store"), &options).expect("the store opens");
    let mut batch = Batch::new();
    store::for_each(&store, table, &[], &mut |key, _| {
        batch.delete(table, key);
        Ok(())
    })
    .expect("the table is read");
    store
        .commit(batch, Durability::Disk)
        .expect("the rows are removed");
}

#[test]
fn a_lost_queue_is_refused_and_found_again_by_links() {
    check_loss(|data, _| empty(data, Table::Queue), "the queue is empty");
}

/// Where the values of the journal's rows are.
fn journal_of(data: &Path) -> PathBuf {
    let files = files(&data.join("store"), &["0.jnl"]);
    files.into_iter().next().expect("a journal")
}

/// The offsets of the commits in a journal: behind the end of each comes the start of the next.
fn commits(journal: &[u8]) -> Vec<usize> {
    let ends = journal.windows(5).enumerate();
    let ends = ends.filter(|(_, bytes)| bytes == b"FJL\x03\x01");
    ends.map(|(at, _)| at + 4).collect()
}

/// Damages a byte of the journal in the midst of what a further run has committed, so pages are in
/// the store that is repaired, however few commits a run has made of them. Takes where the byte is
/// from where the commit starts.
fn damage_a_later_commit(data: &Path, go_on: &mut dyn FnMut(), at: impl Fn(usize) -> usize) {
    let journal = journal_of(data);
    let read = || fs::read(&journal).expect("the journal is read");
    let first = commits(&read()).len();
    go_on();
    let mut bytes = read();
    let commits = commits(&bytes);
    // What comes behind the last end was not written.
    assert!(commits.len() > first + 2, "{first} of {}", commits.len());
    bytes[at(commits[usize::midpoint(first, commits.len() - 2)])] ^= 4;
    fs::write(&journal, bytes).expect("the journal is written");
}

#[test]
fn a_commit_that_cannot_be_read_is_no_torn_end() {
    check_loss(
        // The tag of the first item.
        |data, go_on| damage_a_later_commit(data, go_on, |commit| commit + 13),
        "and later ones, from byte",
    );
}

/// The engine does not open with a value that is damaged; a repair does.
#[test]
fn a_commit_with_a_damaged_value_is_no_torn_end() {
    check_loss(
        // Before the end, its checksum and what ends it.
        |data, go_on| damage_a_later_commit(data, go_on, |commit| commit - 14),
        "and later ones, from byte",
    );
}

/// The number of a commit has no checksum; where only one fits, it is written back. So is the file
/// that says that a table is in use.
#[test]
fn what_can_be_told_from_the_rest_is_written_back() {
    let web = library();
    let crawl = Place::new();
    let seed = web.url(0, "/");
    run(crawl.command(&[&seed, "--max-pages", "60"])).expect(0);
    let journal = journal_of(&crawl.data());
    let sound = fs::read(&journal).expect("the journal is read");
    let commits = commits(&sound);
    for (nth, bit) in [(commits.len() / 2, 1), (commits.len() / 3, 6), (5, 30)] {
        let mut bytes = fs::read(&journal).expect("the journal is read");
        let at = commits[nth] + 5 + bit / 8;
        bytes[at] ^= 1 << (bit % 8);
        fs::write(&journal, bytes).expect("the journal is written");
        let told = crawl.ask(&["status"]).expect(0);
        told.says(&["out of order; the right one was written back"]);
        let end = *commits.last().expect("a commit");
        let mended = fs::read(&journal).expect("the journal is read");
        assert!(mended[..end] == sound[..end], "another number");
    }
    for table in 1..=4 {
        let current = crawl
            .data()
            .join(format!("store/keyspaces/{table}/current"));
        fs::remove_file(current).expect("it is removed");
    }
    run(crawl.command(&[&seed]))
        .expect(0)
        .says(&["it was written anew"]);
    let asked: BTreeSet<String> = web.asked(0).into_iter().collect();
    assert_eq!(asked.len(), ARTICLES + 1, "and the sitemap");
    let counters = crawl.status().counters;
    assert_eq!((counters.queued, counters.pages), (0, ARTICLES as u64));
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
