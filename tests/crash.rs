//! The real binary is killed with SIGKILL, again and again over one crawl, at every step of the
//! commit and at moments of the server's choosing; what it leaves in the end must equal what an
//! undisturbed crawl of the same web leaves.
//!
//! `GLEANER_CRASH_KILLS` sets the number of kills (27 by default; docs/performance.md has the
//! figures of a long run).

#[path = "support/web/mod.rs"]
mod web;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use gleaner::archive::{self, Limits, Location, RecordId, WarcOptions};
use gleaner::dedup::{Documents, Features, Fingerprints, Signature, Text, Tier, structures};
use gleaner::engine::{DataDirectory, Fate, Judgement, PageRecord, Step};
use gleaner::frontier::SEEN;
use gleaner::runs::{Catalog, Options};
use gleaner::store::{self, Embedded, Table};
use gleaner::url::{Canonicalizer, UrlId, parse};
use web::{ClusterOptions, Web, cluster_web};

/// A run that takes longer than this is stuck.
const PATIENCE: Duration = Duration::from_mins(1);

/// What a crawl leaves, in terms that do not depend on who came first.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    /// Canonical URLs that have a record.
    pages: BTreeSet<String>,
    /// Clusters of duplicates, singletons included.
    clusters: BTreeSet<BTreeSet<String>>,
    /// Those of them that were answered.
    answered: BTreeSet<String>,
    /// How often each payload is stored as a response.
    payloads: BTreeMap<String, usize>,
}

#[test]
fn killed_and_resumed_with_the_bodies_of_duplicates_left_out() {
    let (web, undisturbed, disturbed) = crawl_twice("unique", 0x5eed);
    // Which member of a cluster is met first, and stored, is a matter of timing; that one is, and
    // only one, is not.
    assert_eq!(disturbed.pages, undisturbed.pages);
    assert_eq!(disturbed.clusters, undisturbed.clusters);
    assert_eq!(
        disturbed.payloads.values().sum::<usize>(),
        undisturbed.payloads.values().sum::<usize>()
    );
    assert!(
        disturbed.payloads.values().all(|times| *times == 1),
        "{:?}",
        disturbed.payloads
    );
    drop(web);
}

#[test]
fn killed_and_resumed_with_every_distinct_body_kept() {
    let (web, undisturbed, disturbed) = crawl_twice("exact-only", 0xc4a5);
    assert_eq!(disturbed, undisturbed);
    assert!(
        disturbed.payloads.values().all(|times| *times == 1),
        "{:?}",
        disturbed.payloads
    );
    drop(web);
}

/// Crawls a web undisturbed, then again with kills.
fn crawl_twice(store: &str, seed: u64) -> (Web, Left, Left) {
    let kills = std::env::var("GLEANER_CRASH_KILLS")
        .map_or(27, |kills| kills.parse().expect("a number of kills"));
    let options = ClusterOptions {
        hosts: 6,
        // A run between two kills gets some ten pages on.
        pages_per_host: 30 + 3 * kills,
        seed,
    };
    let (sites, _) = cluster_web(options, &simhash);
    let web = Web::start(sites);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let config = directory.path().join("config.toml");
    std::fs::write(
        &config,
        // Checkpoints at every turn, and segments small enough to rotate.
        format!("[archive]\nstore = \"{store}\"\nmax_file = \"300KB\"\nmax_log = \"20KB\"\n[state]\ncheckpoint_interval = \"20ms\"\n"),
    )
    .expect("the configuration is written");
    let gleaner = |data: &str, failpoint: Option<String>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gleaner"));
        command
            .args([
                "crawl",
                &web.url(0, "/"),
                "--scope",
                "any",
                "--allow-private",
            ])
            .args(["--delay", "0s", "--concurrency", "4"])
            .arg("--config")
            .arg(&config)
            .arg("--data-dir")
            .arg(directory.path().join(data))
            .args(
                failpoint
                    .iter()
                    .flat_map(|failpoint| ["--failpoint", failpoint]),
            )
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command.spawn().expect("gleaner starts")
    };

    finish(gleaner("undisturbed", None));
    let undisturbed = left(&directory.path().join("undisturbed"));

    web.clear_log();
    let data = directory.path().join("disturbed");
    let mut random = seed;
    let mut killed = 0;
    let mut done = BTreeSet::new();
    let feed = directory.path().join("feed");
    let mut follower = None;
    let mut round = 0;
    while killed < kills {
        let requests_before = web.requests().len();
        round += 1;
        let chance = next(&mut random);
        let mut child = if round % 2 == 0 {
            let steps = &Step::ALL[..Step::ALL.len() - 4];
            let step = steps[(round / 2) % steps.len()];
            gleaner(
                "disturbed",
                Some(format!("{}:{}", step.name(), 1 + chance % 3)),
            )
        } else {
            let child = gleaner("disturbed", None);
            let enough = requests_before + 1 + (chance % 9) as usize;
            assert!(
                web.wait_for_requests(enough, PATIENCE),
                "no progress in round {round}"
            );
            child
        };
        if round % 2 == 1 {
            child.kill().expect("SIGKILL is sent");
        }
        let status = wait(&mut child);
        assert!(
            status.code().is_none(),
            "the crawl ended before it was killed {kills} times ({killed} so far, round {round}): {status}"
        );
        killed += 1;
        // Nothing that was acknowledged before this run began was asked for again in it.
        check_not_again(&web, requests_before, &done);
        if data.join("store").exists() {
            done.extend(rows(&data).values().map(|page| canonical(&page.url)));
        }
        if follower.is_none() && data.join("version").exists() {
            follower = Some(follow(&data, &feed));
        }
    }
    eprintln!("{killed} kills, {} pages acknowledged by then", done.len());
    assert!(
        done.len() > kills / 2,
        "the kills must be spread over the crawl"
    );
    let requests_before = web.requests().len();
    finish(gleaner("disturbed", None));
    check_not_again(&web, requests_before, &done);
    let disturbed = left(&data);
    let follower = follower.expect("the first run was killed");
    check_feed(&data, follower, &feed, &disturbed.answered);
    (web, undisturbed, disturbed)
}

/// Whoever followed over all kills has read each page once, and whoever reads now reads the same.
fn check_feed(data: &Path, follower: Child, feed: &Path, answered: &BTreeSet<String>) {
    finish(follower);
    let followed = std::fs::read_to_string(feed).expect("its output is text");
    let mut urls = BTreeSet::new();
    for line in followed.lines() {
        let line: serde_json::Value = serde_json::from_str(line).expect("a page a line");
        let url = line["canonical"]
            .as_str()
            .expect("each page has it")
            .to_owned();
        assert!(urls.insert(url), "shown twice: {line}");
    }
    assert_eq!(&urls, answered);
    let again = Command::new(env!("CARGO_BIN_EXE_gleaner"))
        .args(["pages", "--no-text", "--data-dir"])
        .arg(data)
        .output()
        .expect("gleaner starts");
    assert_eq!(String::from_utf8_lossy(&again.stdout), followed);
}

/// Follows the pages of a crawl.
fn follow(data: &Path, output: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_gleaner"))
        .args(["pages", "--no-text", "--follow", "--data-dir"])
        .arg(data)
        .stdout(std::fs::File::create(output).expect("the directory is ours"))
        .stderr(Stdio::piped())
        .spawn()
        .expect("gleaner starts")
}

/// The row of every URL that a crawl is done with.
fn rows(data: &Path) -> BTreeMap<UrlId, PageRecord> {
    // The follower may be looking into it.
    let _ours = DataDirectory::take(data).expect("nobody else keeps it for long");
    let store = Embedded::open(&data.join("store"), &store::Options::default())
        .expect("the store opens after a kill");
    let mut rows = BTreeMap::new();
    store::for_each(&store, Table::Pages, &[], &mut |key, row| {
        let id = UrlId::from_bytes(key.try_into().expect("keys are ids"));
        rows.insert(id, store::decode(Table::Pages, row)?);
        Ok(())
    })
    .expect("the store is whole");
    rows
}

/// Original's document and page of every member of a cluster, as the store lists them.
fn members(data: &Path) -> BTreeSet<(u64, UrlId)> {
    let _ours = DataDirectory::take(data).expect("nobody else keeps it for long");
    let store = Embedded::open(&data.join("store"), &store::Options::default())
        .expect("the store opens after a kill");
    let mut members = BTreeSet::new();
    store::for_each(&store, Table::Clusters, &[], &mut |key, _| {
        let member = store::keys::parse_member(key);
        members.extend(member.map(|(document, id)| (document, UrlId::from_bytes(id))));
        Ok(())
    })
    .expect("the store is whole");
    members
}

/// None of the requests after the first `before` may be for what was done then.
fn check_not_again(web: &Web, before: usize, done: &BTreeSet<String>) {
    for request in &web.requests()[before..] {
        let canonical = canonical(&web.url(request.host, &request.path));
        assert!(!done.contains(&canonical), "{canonical} was fetched again");
    }
}

/// Waits for a run to end by itself, well.
fn finish(mut child: Child) {
    let status = wait(&mut child);
    let mut errors = String::new();
    if let Some(mut pipe) = child.stderr.take() {
        std::io::Read::read_to_string(&mut pipe, &mut errors).expect("its errors are text");
    }
    assert!(status.success(), "{status}: {errors}");
}

/// Waits for a child, and ends it where it is stuck.
fn wait(child: &mut Child) -> std::process::ExitStatus {
    let id = child.id().to_string();
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    let watchdog = std::thread::spawn(move || {
        if receiver.recv_timeout(PATIENCE) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            let _ = Command::new("kill").args(["-QUIT", &id]).status();
        }
    });
    let status = child.wait().expect("the child is ours");
    drop(sender);
    watchdog.join().expect("the watchdog does not panic");
    assert_ne!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(3),
        "the crawl is stuck"
    );
    status
}

/// Reads what a crawl left, and checks that its parts agree: every document has its record in the
/// archive, its row in the documents and its keys in the runs.
fn left(data: &Path) -> Left {
    let records = rows(data);
    let duplicates = records
        .iter()
        .filter_map(|(id, page)| Some((page.duplicate()?.of, *id)));
    assert_eq!(duplicates.collect::<BTreeSet<_>>(), members(data));

    let mut payloads = BTreeMap::new();
    let mut segments: Vec<_> = std::fs::read_dir(data.join("warc"))
        .expect("there is an archive")
        .map(|entry| entry.expect("a file").path())
        .collect();
    segments.sort();
    assert!(segments.len() > 1, "the archive rotates in this test");
    for segment in segments {
        assert!(
            segment
                .extension()
                .is_some_and(|extension| extension == "gz"),
            "{}",
            segment.display()
        );
        for record in archive::records(&segment).expect("the segment opens") {
            let record = record.expect("no record is torn");
            assert_eq!(record.block_is_intact(), Some(true));
            if record.header("WARC-Type") == Some("response") {
                let digest = record
                    .header("WARC-Payload-Digest")
                    .expect("a digest")
                    .to_owned();
                *payloads.entry(digest).or_default() += 1;
            }
        }
    }

    let names: Vec<_> = [SEEN]
        .into_iter()
        .chain(structures())
        .map(|name| (name, Options::default()))
        .collect();
    let (catalog, damage) = Catalog::open(&data.join("runs"), &names).expect("the runs open");
    assert_eq!(damage, []);
    let (documents, damage) =
        Documents::open(&data.join("documents"), 1 << 20, 0).expect("the documents open");
    assert!(damage.is_none());
    let warc = WarcOptions::new(data.join("warc"));
    let mut members: BTreeMap<UrlId, BTreeSet<String>> = BTreeMap::new();
    for (id, page) in &records {
        assert!(
            catalog[0].contains(id.key()),
            "{} is not among the URLs seen",
            page.url
        );
        if let Some(document) = &page.document {
            let row = documents.get(document.id).expect("documents are read");
            assert_eq!(row.as_deref(), Some(document), "{}", page.url);
            let location = Location {
                segment: document.stored.segment,
                offset: document.stored.offset,
                length: document.stored.length,
            };
            let record = warc
                .read(&location, Limits::default())
                .expect("its record is there");
            let own = RecordId::new(u128::from_be_bytes(document.stored.record));
            assert_eq!(
                record.header("WARC-Record-ID"),
                Some(own.to_string().as_str())
            );
            for posting in gleaner::dedup::postings(document, &Features::default()) {
                let mut found = Vec::new();
                catalog[1 + usize::from(posting.structure)].find(posting.key, &mut found);
                assert!(found.contains(&document.id), "{posting:?} is lost");
            }
        }
        if let Fate::Answered { judgement, .. } = &page.fate {
            let original = match judgement {
                Judgement::Unique => *id,
                Judgement::Duplicate(duplicate) => duplicate.page,
                Judgement::Ineligible(_) => continue,
            };
            members
                .entry(original)
                .or_default()
                .insert(canonical(&page.url));
        }
    }
    Left {
        pages: records.values().map(|page| canonical(&page.url)).collect(),
        clusters: members.into_values().collect(),
        answered: records
            .values()
            .filter(|page| matches!(page.fate, Fate::Answered { .. }))
            .map(|page| canonical(&page.url))
            .collect(),
        payloads,
    }
}

fn canonical(url: &str) -> String {
    Canonicalizer::default()
        .canonicalize(&parse(url).expect("a URL"))
        .to_string()
}

/// The SimHash that gleaner gives a text.
fn simhash(text: &str) -> u64 {
    match Fingerprints::of(b"", &Text::new(text, text)).get(Tier::Near) {
        Some(Signature::Witnessed { simhash, .. }) => *simhash,
        other => panic!("the texts of the web are long enough: {other:?}"),
    }
}

/// `SplitMix64`: the same kills in every run of the test.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
