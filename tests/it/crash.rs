//! The real binary is killed with SIGKILL, again and again over one crawl, at every step of the
//! commit and at moments of the server's choosing; what it leaves in the end must equal what an
//! undisturbed crawl of the same web leaves.
//!
//! `GLEANER_CRASH_KILLS` sets the number of kills (27 by default; docs/performance.md has the
//! figures of a long run).

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;

use gleaner::engine::{DataDirectory, PageRecord};
use gleaner::frontier::QueuedUrl;
use gleaner::store::{self, Embedded, Table};
use gleaner::url::UrlId;

use crate::audit::rows;
use crate::corpus;
use crate::kills::{crawl_twice, kill_often, kills, steps};
use crate::run::{Place, Running, anchors};
use crate::web::{Answer, Site, Web};

#[test]
fn killed_and_resumed_with_the_bodies_of_duplicates_left_out() {
    let (undisturbed, disturbed) = crawl_twice("unique", 0x5eed, &[]);
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
    let (undisturbed, disturbed) = crawl_twice("exact-only", 0xc4a5, &[]);
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
    kill_often((kills, 0xdef, steps()), &web, &start, &mut look);
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
