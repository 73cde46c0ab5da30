//! The real binary is killed with SIGKILL, again and again over one crawl, at every step of the
//! commit and at moments of the server's choosing; what it leaves in the end must equal what an
//! undisturbed crawl of the same web leaves.
//!
//! `GLEANER_CRASH_KILLS` sets the number of kills (27 by default; docs/performance.md has the
//! figures of a long run).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Stdio;

use gleaner::engine::{DataDirectory, PageRecord, Step};
use gleaner::frontier::QueuedUrl;
use gleaner::store::{self, Embedded, Table};
use gleaner::url::UrlId;
use rustix::process::Signal;

use crate::audit::{Left, canonical, left, rows, simhash};
use crate::corpus;
use crate::run::{Follower, PATIENCE, Place, Running, anchors, text};
use crate::web::{Answer, ClusterOptions, Random, Site, Web, cluster_web};

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
        "[archive]\nstore = \"{store}\"\nmax_file = \"60KB\"\nmax_log = \"20KB\"\n\
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
    let segments = std::fs::read_dir(data.join("warc")).expect("there is an archive");
    assert!(segments.count() > 1, "the archive rotates in this test");

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
            let steps = &Step::ALL[..Step::ALL.len() - 5];
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

/// Of the requests after the first `before`, those for what was done then.
fn asked_again(web: &Web, before: usize, done: &BTreeSet<String>) -> Vec<String> {
    let requests = web.requests().into_iter().skip(before);
    let urls = requests.map(|it| canonical(&web.url(it.host, &it.path)));
    urls.filter(|url| done.contains(url)).collect()
}
