//! Settings that let a crawl go further than before: it finds what it passed over, without asking
//! again for what it has.

use std::collections::BTreeSet;
use std::fs;

use crate::run::{Place, page, run};
use crate::web::{Answer, Site, Web};

fn html(name: &str, links: &[&str]) -> Answer {
    Answer::html(page(name, links))
}

/// A site four links deep, with a part that can be excluded, and a neighbour.
fn sites() -> Web {
    let home = Site::new()
        .robots("")
        .page("/", html("home", &["/1", "/private/a", "{host1}/x"]))
        .page("/1", html("one", &["/2", "{host1}/y"]))
        .page("/2", html("two", &["/3", "/private/b"]))
        .page("/3", html("three", &["/4"]))
        .page("/4", html("four", &[]))
        .page("/private/a", html("a", &[]))
        .page("/private/b", html("b", &[]));
    let near = Site::new()
        .robots("")
        .page("/x", html("x", &["/z"]))
        .page("/y", html("y", &[]))
        .page("/z", html("z", &[]));
    Web::start(vec![home, near])
}

fn asked(web: &Web, host: usize) -> BTreeSet<String> {
    web.asked(host).into_iter().collect()
}

fn paths(paths: &[&str]) -> BTreeSet<String> {
    paths.iter().map(|&path| path.to_owned()).collect()
}

/// The crawl that the others widen: two links deep, one host, without a part.
const NARROW: [&str; 4] = ["--max-depth", "1", "--exclude", "*/private/*"];

#[test]
fn what_was_passed_over_is_found_by_wider_settings_and_nothing_is_asked_for_twice() {
    let check = |wider: &[&str], of_home: &[&str], of_near: &[&str]| {
        let web = sites();
        let crawl = Place::new();
        let seed = web.url(0, "/");
        crawl.crawl(&[&[&*seed, "--allow-private"], &NARROW[..]].concat());
        assert_eq!(asked(&web, 0), paths(&["/", "/1"]));
        assert_eq!(asked(&web, 1), BTreeSet::new());

        // What it would be is said first, and nothing becomes of that.
        let before = fs::read_to_string(crawl.data().join("settings.toml")).expect("it is kept");
        let would = crawl.ask(&[&["crawl", "--dry-run", "--json"], wider].concat());
        let would = would.expect(0).json();
        assert_eq!(web.requests().len(), 3, "robots.txt and two pages");
        let kept = fs::read_to_string(crawl.data().join("settings.toml")).expect("it is kept");
        assert_eq!(kept, before);
        assert_eq!(crawl.status().counters.queued, 0);

        let told = crawl.crawl(wider);
        assert_eq!(asked(&web, 0), paths(of_home), "{wider:?}");
        assert_eq!(asked(&web, 1), paths(of_near), "{wider:?}");
        let all = web.requests().into_iter().map(|it| (it.host, it.path));
        let all: Vec<_> = all.collect();
        let each: BTreeSet<_> = all.iter().collect();
        assert_eq!(all.len(), each.len(), "nothing is asked for twice: {all:?}");
        let urls = would["urls"].as_u64().expect("a number");
        let plural = if urls == 1 { "" } else { "s" };
        told.says(&[&format!("{urls} URL{plural} queued that were passed over")]);
        crawl.ask(&["check"]).expect(0);

        // What is not followed now is what is told, and what is, is not.
        let told = crawl.ask(&["status"]).expect(0).stdout;
        let is_told = |what: &str| told.contains(what);
        let fresh = Place::new();
        let rest = NARROW.chunks(2).filter(|pair| {
            let key = if pair[0] == "--exclude" {
                "crawl.exclude"
            } else {
                pair[0]
            };
            !wider.iter().any(|it| it.starts_with(key))
        });
        let rest = rest.flatten().copied();
        let all: Vec<&str> = [&*seed, "--allow-private"]
            .into_iter()
            .chain(rest)
            .collect();
        fresh.crawl(&[&all[..], wider].concat());
        let afresh = fresh.ask(&["status"]).expect(0).stdout;
        for what in ["too deep", "out of scope", "excluded"] {
            assert_eq!(
                is_told(what),
                afresh.contains(what),
                "{wider:?} {what}: {told}"
            );
        }
        // It is done once.
        let again = crawl.crawl(&[]);
        assert!(!again.stderr.contains("widened"), "{}", again.stderr);
    };
    let narrow = ["/", "/1"];
    check(&["--max-depth", "2"], &["/", "/1", "/2"], &[]);
    check(&["--max-depth", "3"], &["/", "/1", "/2", "/3"], &[]);
    check(
        &["--set", "crawl.exclude=[]"],
        &["/", "/1", "/private/a"],
        &[],
    );
    check(&["--scope", "any"], &narrow, &["/x"]);
    check(
        &["--extra-hops", "1", "--max-depth", "2"],
        &["/", "/1", "/2"],
        &["/x", "/y"],
    );
    check(
        &[
            "--set",
            "crawl.include=[]",
            "--scope",
            "any",
            "--max-depth",
            "2",
        ],
        &["/", "/1", "/2"],
        &["/x", "/y", "/z"],
    );
}

#[test]
fn a_budget_that_is_raised_lets_in_what_it_refused() {
    let web = sites();
    let crawl = Place::new();
    let all = asked_for_with(&web, &Place::new(), 100);
    web.clear_log();
    let few = asked_for_with(&web, &crawl, 2);
    assert!(few.is_subset(&all) && few.len() < all.len(), "{few:?}");
    let then = asked_for_with(&web, &crawl, 100);
    assert_eq!(then, all);
}

/// What a host was asked for in all, by a crawl with this budget.
fn asked_for_with(web: &Web, crawl: &Place, pages: u32) -> BTreeSet<String> {
    let budget = format!("traps.max_pages_per_host={pages}");
    let seed = web.url(0, "/");
    let mut arguments = vec!["--set", &*budget];
    if !crawl.data().exists() {
        arguments.push(&seed);
    }
    crawl.crawl(&arguments);
    asked(web, 0)
}

#[test]
fn narrower_settings_and_none_read_nothing_again() {
    let web = sites();
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/"), "--max-depth", "2"]);
    for narrower in [&["--max-depth", "1"][..], &["--exclude", "*/x"], &[]] {
        let told = crawl.crawl(narrower);
        assert!(!told.stderr.contains("widened"), "{}", told.stderr);
    }
}

/// A run that is killed at any step while it reads goes on where it was; one that was killed
/// before it read anything knows that it has to.
#[test]
fn widening_survives_kills() {
    for step in [
        "judged:1",
        "appended:1",
        "synced:1",
        "committed:1",
        "committed:2",
    ] {
        let web = sites();
        let crawl = Place::new();
        let seed = web.url(0, "/");
        crawl.crawl(&[&[&*seed, "--allow-private"], &NARROW[..]].concat());
        let killed = ["--max-depth", "4", "--failpoint", step];
        let killed = run(crawl.command(&killed));
        assert_ne!(killed.code, 0, "{step}");
        crawl.crawl(&[]);
        let all = ["/", "/1", "/2", "/3", "/4"];
        assert_eq!(asked(&web, 0), paths(&all), "{step}");
        crawl.ask(&["check"]).expect(0);
    }
}

/// Pages whose file was moved away are counted and named, and the others are read.
#[test]
fn pages_that_are_not_at_hand_are_counted() {
    let web = sites();
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/"), "--max-depth", "1"]);
    let elsewhere = Place::new();
    for file in fs::read_dir(crawl.data().join("warc")).expect("there are files") {
        let file = file.expect("one of them");
        if file.file_name().to_string_lossy().ends_with(".warc.gz") {
            let to = std::path::Path::new(&elsewhere.file("moved", "")).with_file_name("a.gz");
            fs::rename(file.path(), to).expect("it can be moved");
        }
    }
    crawl
        .crawl(&["--max-depth", "2"])
        .says(&["0 URLs queued", "3 pages could not be read again"]);
}

#[test]
fn a_dry_run_needs_a_crawl_and_takes_no_seeds() {
    let crawl = Place::new();
    let none = run(crawl.command(&["--dry-run"])).expect(2);
    assert!(
        none.stderr.contains("there is no crawl in"),
        "{}",
        none.stderr
    );
    assert!(!crawl.data().exists());
    run(crawl.command(&["--dry-run", "http://127.0.0.1/"])).expect(2);
}
