//! The real binary is killed with SIGKILL, again and again over one crawl, at every step of the
//! commit and at moments of the server's choosing; what it leaves in the end must equal what an
//! undisturbed crawl of the same web leaves.
//!
//! `GLEANER_CRASH_KILLS` sets the number of kills (27 by default; docs/performance.md has the
//! figures of a long run).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Stdio;

use gleaner::archive::{Digest, Limits, Location, RecordId, RecordKind, WarcOptions};
use gleaner::dedup::{Documents, Features, Tier, structures};
use gleaner::engine::{
    Bodies, BodyPlace, DataDirectory, Fate, Judgement, PageRecord, Step, body_place,
};
use gleaner::frontier::SEEN;
use gleaner::runs::{Catalog, Options};
use gleaner::store::{self, Embedded, Table};
use gleaner::url::{Canonicalizer, UrlId, parse};
use rustix::process::Signal;

use crate::crawl::simhash;
use crate::run::{Follower, PATIENCE, Place, Running, text};
use crate::web::{ClusterOptions, Random, Web, cluster_web};

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

impl Left {
    /// Each payload is stored once.
    fn check_payloads(&self) {
        assert!(
            self.payloads.values().all(|times| *times == 1),
            "{:?}",
            self.payloads
        );
    }
}

#[test]
fn killed_and_resumed_with_the_bodies_of_duplicates_left_out() {
    let (undisturbed, disturbed) = crawl_twice("unique", 0x5eed);
    // Which member of a cluster is met first, and stored, is a matter of timing; that one is, and
    // only one, is not.
    assert_eq!(disturbed.pages, undisturbed.pages);
    assert_eq!(disturbed.clusters, undisturbed.clusters);
    assert_eq!(
        disturbed.payloads.values().sum::<usize>(),
        undisturbed.payloads.values().sum::<usize>()
    );
    disturbed.check_payloads();
}

#[test]
fn killed_and_resumed_with_every_distinct_body_kept() {
    let (undisturbed, disturbed) = crawl_twice("exact-only", 0xc4a5);
    assert_eq!(disturbed, undisturbed);
    disturbed.check_payloads();
}

/// Crawls a web undisturbed, then again with kills.
fn crawl_twice(store: &str, seed: u64) -> (Left, Left) {
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
    // Checkpoints at every turn, and segments small enough to rotate.
    let settings = format!(
        "[archive]\nstore = \"{store}\"\nmax_file = \"300KB\"\nmax_log = \"20KB\"\n\
         [state]\ncheckpoint_interval = \"20ms\"\n[crawl]\nscope = \"any\"\n\
         [fetch]\nallow_private = true\nconcurrency = 4\n"
    );
    let seed_url = web.url(0, "/");
    let undisturbed = Place::new();
    undisturbed.crawl_by(&settings, &[&seed_url]);

    web.clear_log();
    let disturbed = Place::new();
    let data = disturbed.data();
    let config = disturbed.file("settings.toml", &settings);
    let start = |more: &[&str]| {
        let mut command = disturbed.command(&[&[&*seed_url, "--config", &config], more].concat());
        command.stdout(Stdio::null());
        Running::start(command)
    };
    let mut random = Random::new(seed);
    let mut killed = 0;
    let mut done = BTreeSet::new();
    let mut follower = None;
    let mut round = 0;
    while killed < kills {
        let requests_before = web.requests().len();
        round += 1;
        let chance = random.next_bits();
        let output = if round % 2 == 0 {
            let steps = &Step::ALL[..Step::ALL.len() - 4];
            let step = steps[(round / 2) % steps.len()].name();
            start(&["--failpoint", &format!("{step}:{}", 1 + chance % 3)]).end()
        } else {
            let running = start(&[]);
            let enough = requests_before + 1 + (chance % 9) as usize;
            let is_on = web.wait_for_requests(enough, PATIENCE);
            assert!(is_on, "no progress in round {round}");
            running.signal(Signal::KILL);
            running.end()
        };
        assert_eq!(
            output.code,
            128 + 9,
            "round {round}, {killed} kills: {output:#?}"
        );
        killed += 1;
        // Nothing that was acknowledged before this run began was asked for again in it.
        check_not_again(&web, requests_before, &done);
        if data.join("store").exists() {
            done.extend(rows(&data).values().map(|page| canonical(&page.url)));
        }
        if follower.is_none() && data.join("version").exists() {
            let Follower { running, lines } = disturbed.follow(&["--no-text"]);
            let read = || lines.map_while(Result::ok).collect::<Vec<_>>();
            follower = Some((running, std::thread::spawn(read)));
        }
    }
    assert!(
        done.len() > kills / 2,
        "the kills must be spread over the crawl"
    );
    let requests_before = web.requests().len();
    start(&[]).end().expect(0);
    check_not_again(&web, requests_before, &done);
    let left_by_kills = left(&data);

    // Whoever followed over all kills has read each page once, and whoever reads now reads the
    // same.
    let (running, reader) = follower.expect("the first run was killed");
    let followed = reader.join().expect("it only reads");
    running.end().expect(0);
    let told = disturbed.ask(&["pages", "--no-text"]).expect(0);
    assert!(told.stdout.lines().eq(followed.iter().map(String::as_str)));
    let mut urls = BTreeSet::new();
    for page in told.json_lines() {
        assert!(
            urls.insert(text(&page, "canonical").to_owned()),
            "shown twice: {page}"
        );
    }
    assert_eq!(urls, left_by_kills.answered);
    (left(&undisturbed.data()), left_by_kills)
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

/// Reads what a crawl left, and checks that its parts agree: every document has its record in the
/// archive, its row in the documents and its keys in the runs.
fn left(data: &Path) -> Left {
    let records = rows(data);
    let duplicates = records
        .iter()
        .filter_map(|(id, page)| Some((page.duplicate()?.of, *id)));
    assert_eq!(duplicates.collect::<BTreeSet<_>>(), members(data));

    let mut payloads = BTreeMap::new();
    for record in crate::run::records(data) {
        if record.header("WARC-Type") == Some("response") {
            let digest = record.header("WARC-Payload-Digest").expect("a digest");
            *payloads.entry(digest.to_owned()).or_default() += 1;
        }
    }
    let segments = std::fs::read_dir(data.join("warc")).expect("there is an archive");
    assert!(segments.count() > 1, "the archive rotates in this test");

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
    check_bodies(data, &records);
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

/// Every page is given back, as its visit found it: stored, or rebuilt from what was kept.
fn check_bodies(data: &Path, records: &BTreeMap<UrlId, PageRecord>) {
    let logged: BTreeMap<String, Option<String>> = crate::run::log(data)
        .into_iter()
        .filter_map(|line| Some((line.url, line.page?.digests.raw)))
        .collect();
    let _ours = DataDirectory::take(data).expect("nobody else keeps it for long");
    let store = Embedded::open(&data.join("store"), &store::Options::default())
        .expect("the store opens after a kill");
    let bodies = Bodies::of(data);
    let mut rebuilt = 0;
    for (id, page) in records {
        if !matches!(page.fate, Fate::Answered { .. }) {
            continue;
        }
        let place = body_place(&store, *id, page).expect("rows are read");
        let place = place.unwrap_or_else(|| panic!("nothing is kept of {}", page.url));
        let is_rebuilt = matches!(place, BodyPlace::Pack { .. } | BodyPlace::Waiting { .. });
        rebuilt += usize::from(is_rebuilt);
        let content = bodies
            .read(&place)
            .unwrap_or_else(|error| panic!("{}: {error:?}", page.url));
        if let Some(Some(digest)) = logged.get(&page.url) {
            let own = Digest::of(content.body()).to_string();
            assert_eq!(own, format!("sha256:{digest}"), "{}", page.url);
        }
    }
    let is_near = |page: &&PageRecord| page.duplicate().is_some_and(|it| it.tier != Tier::Raw);
    let stored = |page: &&PageRecord| matches!(page.record, Some((RecordKind::Response, _)));
    let left_out = records
        .values()
        .filter(|it| is_near(it) && !stored(it))
        .count();
    assert_eq!(rebuilt, left_out, "the bodies of those are kept as deltas");
}

fn canonical(url: &str) -> String {
    Canonicalizer::default()
        .canonicalize(&parse(url).expect("a URL"))
        .to_string()
}
