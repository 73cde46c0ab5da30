//! What failures, kills and damage leave of requisites.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use gleaner::archive::ReadRecord;
use gleaner::engine::Step;
use gleaner::store::Table;

use super::{OWN, asked, by_mode, crawl, css, image, web, with};
use crate::audit::rows;
use crate::recovery::empty;
use crate::run::{Place, kind, run};
use crate::web::{Answer, Site, Web};

#[test]
fn what_failed_is_tried_again_when_it_is_asked_for() {
    let site = Site::new()
        .page(
            "/",
            with(
                "home",
                "<link rel=icon href=/i.ico><link rel=stylesheet href=/s.css>",
            ),
        )
        .page("/i.ico", image("icon"))
        .page_in_turn(
            "/s.css",
            vec![Answer::status(503), css("p { background: url(/late.png) }")],
        )
        .page("/late.png", image("late"));
    let web = Web::start(vec![site]);
    let settings = by_mode("all") + "[politeness]\nattempts = 1\nbackoff = \"0s\"\n";
    let (place, _) = crawl(&web, &settings);
    let counters = place.status().counters;
    assert_eq!(
        (
            counters.requisites.fetched,
            counters.requisites.statuses[&5]
        ),
        (2, 1)
    );
    let report = place.ask(&["report"]).expect(0).stdout;
    assert!(report.contains("file: server overloaded"), "{report}");
    place.ask(&["retry", "--class", "overloaded"]).expect(0);
    place.crawl_by(&settings, &[&web.url(0, "/"), "--allow-private"]);
    assert_eq!(
        asked(&web, 0),
        ["/", "/i.ico", "/late.png", "/s.css", "/s.css"]
    );
    let counters = place.status().counters;
    assert_eq!(
        (
            counters.requisites.fetched,
            counters.requisites.statuses.get(&5)
        ),
        (3, Some(&0))
    );
    let report = place.ask(&["report"]).expect(0).stdout;
    assert!(!report.contains("server overloaded"), "{report}");
    place.ask(&["check"]).expect(0);
}

/// Killed at each step of the commit: nothing is lost, and what is committed is not asked for
/// again.
#[test]
fn killed_and_resumed_nothing_is_lost_or_fetched_twice() {
    let expected = {
        let web = web();
        let (place, _) = crawl(&web, &by_mode("all"));
        let log = place.log();
        let lines = log.iter().filter(|it| it.verdict != "robots");
        lines
            .map(|it| (shape(&web, &it.url), it.verdict.to_string()))
            .collect::<BTreeMap<_, _>>()
    };
    let steps = [
        Step::Judged,
        Step::Appended,
        Step::Synced,
        Step::Committed,
        Step::Applied,
    ];
    let web = web();
    let place = Place::new();
    let settings = by_mode("all") + "[fetch]\nconcurrency = 2\n";
    let config = place.file("settings.toml", &settings);
    let seed = web.url(OWN, "/");
    let arguments = [&*seed, "--allow-private", "--config", &config];
    let mut kills = 0;
    // A slow machine commits much at once, and has few commits to be killed in.
    for (step, times) in steps.iter().cycle().zip([1, 2].into_iter().cycle()) {
        let before = web.requests().len();
        let mut done = BTreeSet::new();
        if place.data().join("store").exists() {
            done.extend(rows(&place.data()).into_values().map(|row| row.url));
        }
        let failpoint = format!("{}:{times}", step.name());
        let mut command = place.command(&arguments);
        command.args(["--failpoint", &failpoint]);
        let output = run(command);
        for request in web.requests().into_iter().skip(before) {
            let url = web.url(request.host, &request.path);
            assert!(
                !done.contains(&url),
                "{url} was asked for again after {kills} kills"
            );
        }
        match output.code {
            0 => break,
            code => assert_eq!(code, 128 + 9, "{output:#?}"),
        }
        kills += 1;
        assert!(kills < 200, "no run gets anything done");
    }
    assert!(kills >= 5, "{kills} kills");
    let log = place.log();
    let lines = log.iter().filter(|it| it.verdict != "robots");
    let found: BTreeMap<_, _> = lines
        .map(|it| (shape(&web, &it.url), it.verdict.to_string()))
        .collect();
    assert_eq!(found, expected);
    let records = place.records();
    let urls = expected
        .iter()
        .filter(|(_, verdict)| *verdict != "forbidden");
    for (url, _) in urls {
        let of_url = |it: &&ReadRecord| {
            let target = it.header("WARC-Target-URI").unwrap_or_default();
            matches!(kind(it), "response" | "revisit") && shape(&web, target) == *url
        };
        assert_eq!(records.iter().filter(of_url).count(), 1, "{url}");
    }
    place.ask(&["check"]).expect(0);
}

/// A URL without the port, which differs from web to web.
fn shape(web: &Web, url: &str) -> String {
    url.replace(&format!(":{}", web.port()), "")
}

/// Runs and documents are built anew with what they have of requisites: nothing is asked for again,
/// and bytes that are stored are found.
#[test]
fn lost_runs_and_documents_are_rebuilt_with_their_files() {
    let site = Site::new()
        .page(
            "/",
            with("home", "<img src=/1.png><link rel=icon href=/1.png>"),
        )
        .page(
            "/two",
            with(
                "two",
                "<img src=/1.png><img src=/2.png><link rel=icon href=/1.png>",
            ),
        )
        .page("/1.png", image("same"))
        .page("/2.png", image("same"));
    let web = Web::start(vec![site]);
    let (place, _) = crawl(&web, &by_mode("all"));
    for lost in ["runs", "documents"] {
        fs::remove_dir_all(place.data().join(lost)).expect("it is there");
    }
    web.clear_log();
    place.crawl_by(&by_mode("all"), &[&web.url(0, "/two")]);
    assert_eq!(asked(&web, 0), ["/2.png", "/two"]);
    let counters = place.status().counters.requisites;
    assert_eq!((counters.fetched, counters.same), (2, 1));
    place.ask(&["check"]).expect(0);
}

/// What is lost with the queue is found again in the stored pages and style sheets.
#[test]
fn a_lost_queue_is_found_again_in_what_is_stored() {
    let all = {
        let web = web();
        crawl(&web, &by_mode("all"));
        [asked(&web, 0), asked(&web, 1), asked(&web, 2)]
    };
    let mut waited = 0;
    // After so many bytes some style sheets are read, and what they name waits.
    for bytes in ["300", "550", "700", "800"] {
        let web = web();
        let place = Place::new();
        let settings = by_mode("all") + "[fetch]\nconcurrency = 1\n";
        let config = place.file("settings.toml", &settings);
        let seed = web.url(OWN, "/");
        let arguments = [&*seed, "--allow-private", "--config", &config];
        let mut command = place.command(&arguments);
        command.args(["--max-bytes", bytes]);
        run(command).expect(0);
        let counters = place.status().counters;
        assert!(counters.queued > 0, "{counters:#?}");
        waited += counters.requisites.fetched;
        empty(&place.data(), Table::Queue);
        let mut command = place.command(&arguments);
        command.arg("--repair");
        run(command).expect(0).says(&["the store is repaired"]);
        for (host, expected) in all.iter().enumerate() {
            let mut found = asked(&web, host);
            found.dedup();
            assert_eq!(found, *expected, "host {host} after {bytes} bytes");
        }
        assert_eq!(place.status().counters.queued, 0);
    }
    assert!(waited > 0, "some style sheets were read before");
}
