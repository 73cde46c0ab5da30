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
use gleaner::frontier::{QueuedUrl, SEEN};
use gleaner::runs::{Catalog, Options};
use gleaner::store::{self, Embedded, Table};
use gleaner::url::{Canonicalizer, UrlId, parse};
use rustix::process::Signal;

use crate::corpus;
use crate::crawl::simhash;
use crate::run::{Follower, PATIENCE, Place, Running, anchors, text};
use crate::web::{Answer, ClusterOptions, Random, Site, Web, cluster_web};

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

/// Good pages, some of them siblings that differ in a number, beside a trap without end whose pages
/// say nothing, and a parameter that changes nothing.
fn web_with_a_trap(good: usize) -> Web {
    let site = Site::new().robots("").otherwise(move |request| {
        let path = request.bare_path();
        let number = |prefix: &str| path.strip_prefix(prefix)?.parse::<usize>().ok();
        let body = if let Some(at) = number("/good/") {
            let text = corpus::text(at as u64, 80);
            let noisy = format!("/good/{}?from={at}", (at + 1) % good);
            let next = [
                format!("/good/{}", (at + 1) % good),
                noisy,
                format!("/void/{at}"),
            ];
            format!(
                "<title>{at}</title><h1>About {at}</h1><p>{text}</p>{}",
                anchors(next)
            )
        } else if let Some(at) = number("/ware/") {
            let text = corpus::text(0, 80);
            format!(
                "<title>Ware</title><h1>Ware</h1><p>{text}</p><p>Price {}.99</p>",
                // No two are equal, and none follows from its number.
                at * 7_919 % 10_007
            )
        } else if let Some(at) = number("/void/") {
            let next = [2 * at + 1, 2 * at + 2].map(|at| format!("/void/{}", at % 1_000_000_007));
            format!(
                "<title>Nothing</title><p>There is nothing here.</p>{}",
                anchors(next)
            )
        } else {
            anchors((0..good).step_by(5).map(|at| format!("/good/{at}")))
                + &anchors((0..good).map(|at| format!("/ware/{at}")))
        };
        Answer::html(body)
    });
    Web::start(vec![site])
}

/// What waits because it looks like a trap survives kills as well: no good page is lost, nothing is
/// in two places, and only what is judged again is asked for again.
#[test]
fn killed_and_resumed_with_a_trap_that_is_deferred() {
    let kills = kills();
    // A run between two kills gets some pages of each kind on.
    let good = 40 + 3 * kills;
    let web = web_with_a_trap(good);
    let place = Place::new();
    let data = place.data();
    let settings = "[state]\ncheckpoint_interval = \"20ms\"\n[fetch]\nconcurrency = 4\n";
    let config = place.file("settings.toml", settings);
    let seed = web.url(0, "/");
    let start = |more: &[&str]| {
        let arguments = [&[&*seed, "--config", &config, "--delay", "0s"], more].concat();
        let mut command = place.command(&arguments);
        command.stdout(Stdio::null());
        Running::start(command)
    };
    let mut done = BTreeSet::new();
    let mut again = BTreeSet::new();
    let mut look = |requests_before: usize| {
        let asked = web.requests().into_iter().skip(requests_before);
        again.extend(asked.map(|it| it.path).filter(|path| done.contains(path)));
        if data.join("store").exists() {
            let path = |page: &PageRecord| page.url.replacen(&seed, "/", 1);
            done.extend(rows(&data).values().map(path));
        }
    };
    kill_often((kills, 0xdef), &web, &start, &mut look);
    let requests_before = web.requests().len();
    start(&[]).end().expect(0);
    look(requests_before);
    for number in 0..good {
        for kind in ["good", "ware"] {
            assert!(
                done.contains(&format!("/{kind}/{number}")),
                "/{kind}/{number} is lost"
            );
        }
    }
    // A page that was visited again has a line for each visit.
    for path in again {
        let url = web.url(0, &path);
        let lines = crate::run::log(&data)
            .into_iter()
            .filter(|line| line.url == url);
        assert!(lines.count() > 1, "{path} was fetched again");
    }
    let visited: BTreeSet<UrlId> = rows(&data).into_keys().collect();
    let counters = place.status().counters;
    let listed = place.ask(&["queue", "ls", "--deferred", "--json"]).json();
    let deferred = listed["deferred"].as_u64().expect("a number");
    assert_eq!((counters.queued, deferred > 0), (0, true), "{listed}");
    let kept = deferred_ids(&data);
    assert_eq!(kept.len() as u64, deferred, "each is deferred once");
    assert!(kept.is_disjoint(&visited));
}

/// The URLs that are deferred.
fn deferred_ids(data: &Path) -> BTreeSet<UrlId> {
    let _ours = DataDirectory::take(data).expect("nobody else keeps it for long");
    let store = Embedded::open(&data.join("store"), &store::Options::default())
        .expect("the store opens after a kill");
    let mut ids = BTreeSet::new();
    store::for_each(&store, Table::Deferred, &[], &mut |_, row| {
        let (queued, _): (QueuedUrl, bool) = store::decode(Table::Deferred, row)?;
        assert!(ids.insert(queued.id), "{} is deferred twice", queued.url);
        Ok(())
    })
    .expect("the store is whole");
    ids
}

/// Number of kills.
fn kills() -> usize {
    std::env::var("GLEANER_CRASH_KILLS")
        .map_or(27, |kills| kills.parse().expect("a number of kills"))
}

/// Crawls a web undisturbed, then again with kills.
fn crawl_twice(store: &str, seed: u64) -> (Left, Left) {
    let kills = kills();
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
    let (mut done, mut again) = (BTreeSet::new(), BTreeSet::new());
    let mut follower = None;
    kill_often((kills, seed), &web, &start, &mut |requests_before| {
        again.extend(asked_again(&web, requests_before, &done));
        if data.join("store").exists() {
            done.extend(rows(&data).values().map(|page| canonical(&page.url)));
        }
        if follower.is_none() && data.join("version").exists() {
            let Follower { running, lines } = disturbed.follow(&["--no-text"]);
            let read = || lines.map_while(Result::ok).collect::<Vec<_>>();
            follower = Some((running, std::thread::spawn(read)));
        }
    });
    assert!(
        done.len() > kills / 2,
        "the kills must be spread over the crawl"
    );
    let requests_before = web.requests().len();
    start(&[]).end().expect(0);
    again.extend(asked_again(&web, requests_before, &done));
    let left_by_kills = left(&data);

    // Whoever followed over all kills has read each page once, and whoever reads now reads the
    // same.
    let (running, reader) = follower.expect("the first run was killed");
    let followed = reader.join().expect("it only reads");
    running.end().expect(0);
    let told = disturbed.ask(&["pages", "--no-text"]).expect(0);
    assert!(told.stdout.lines().eq(followed.iter().map(String::as_str)));
    let mut visits: BTreeMap<String, usize> = BTreeMap::new();
    for page in told.json_lines() {
        *visits
            .entry(text(&page, "canonical").to_owned())
            .or_default() += 1;
    }
    assert!(visits.keys().eq(&left_by_kills.answered));
    // What was acknowledged is asked for again only to be judged again, or to see which of its
    // lines change, and has a line for each visit then.
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for line in crate::run::log(&data) {
        *lines.entry(canonical(&line.url)).or_default() += 1;
    }
    for url in &again {
        assert!(
            lines.get(url).is_some_and(|lines| *lines > 1),
            "{url} was fetched again"
        );
    }
    (left(&undisturbed.data()), left_by_kills)
}

/// Starts a crawl and kills it, again and again: at steps of the commit, and at moments of the
/// server's choosing. After each kill, tells how many requests were made before that start.
fn kill_often(
    (kills, seed): (usize, u64),
    web: &Web,
    start: &dyn Fn(&[&str]) -> Running,
    after: &mut dyn FnMut(usize),
) {
    let mut random = Random::new(seed);
    for round in 1..=kills {
        let requests_before = web.requests().len();
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
        assert_eq!(output.code, 128 + 9, "round {round}: {output:#?}");
        after(requests_before);
    }
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

/// Of the requests after the first `before`, those for what was done then.
fn asked_again(web: &Web, before: usize, done: &BTreeSet<String>) -> Vec<String> {
    let requests = web.requests().into_iter().skip(before);
    let urls = requests.map(|it| canonical(&web.url(it.host, &it.path)));
    urls.filter(|url| done.contains(url)).collect()
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
    let stored = |page: &&PageRecord| {
        use RecordKind::{Response, Revisit};
        matches!(page.record, Some((Response | Revisit, _)))
    };
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
