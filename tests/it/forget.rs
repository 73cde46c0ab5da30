//! Takedowns: what is named is gone from all that a crawl keeps, what rests on it stays, and it is
//! not asked for again until it may be.

use std::fs;
use std::path::Path;

use crate::corpus;
use crate::run::{Output, PATIENCE, Place, anchors};
use crate::web::{Answer, Site, Web};

fn article(title: &str, text: &str, links: &[&str]) -> Answer {
    Answer::html(format!(
        "<!doctype html><title>{title}</title><main><article><h1>{title}</h1><p>{text}</p></article>\
         </main>{}",
        anchors(links.iter().map(|it| (*it).to_owned()))
    ))
}

/// A site with a person's page, two that repeat it, and pages of others.
fn site() -> Site {
    let jo = corpus::text(1, 300);
    let near = jo.replacen("word", "sword", 1);
    let home = ["/people/jo", "/copy", "/near", "/people/ann", "/news"];
    Site::new()
        .robots("")
        .page("/", article("home", &corpus::text(7, 300), &home))
        .page("/people/jo", article("jo", &jo, &["/people/jo/cv"]))
        .page("/people/jo/cv", article("cv", &corpus::text(2, 300), &[]))
        .page("/people/ann", article("ann", &corpus::text(3, 300), &[]))
        .page(
            "/news",
            article("news", &corpus::text(4, 300), &["/people/jo"]),
        )
        .page("/copy", article("jo", &jo, &["/people/jo/cv"]))
        .page("/near", article("jo", &near, &[]))
}

const SETTINGS: &str = "[politeness]\ndelay = \"0s\"\n[archive]\nprefix = \"gleaner\"\n";

/// The files of a data directory, decompressed, that have a text.
fn with(data: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for directory in ["warc", "texts", "log"] {
        for entry in fs::read_dir(data.join(directory)).expect("the crawl left it") {
            let path = entry.expect("the crawl left it").path();
            let bytes = match path.extension().is_some_and(|it| it == "gz") {
                true => unzipped(&path),
                false => fs::read(&path).expect("the crawl left it"),
            };
            if memchr::memmem::find(&bytes, text.as_bytes()).is_some() {
                found.push(
                    path.file_name()
                        .expect("the crawl left it")
                        .to_string_lossy()
                        .into_owned(),
                );
            }
        }
    }
    found
}

fn unzipped(path: &Path) -> Vec<u8> {
    let records = gleaner::archive::records(path).expect("the crawl left it");
    records
        .flat_map(|record| record.expect("the crawl left it").to_bytes())
        .collect()
}

fn asked(web: &Web, path: &str) -> usize {
    web.requests().iter().filter(|it| it.path == path).count()
}

/// Everything is in order by gleaner's own checks.
#[track_caller]
fn check(place: &Place) {
    place.ask(&["check"]).expect(0);
    let files = fs::read_dir(place.data().join("warc")).expect("the crawl left it");
    let mut arguments = vec!["warc".to_owned(), "verify".to_owned()];
    for file in files {
        let path = file.expect("the crawl left it").path();
        if path.extension().is_some_and(|it| it == "gz") {
            arguments.push(path.display().to_string());
        }
    }
    crate::run::run(crate::run::gleaner(&arguments)).expect(0);
}

#[track_caller]
fn urls(place: &Place) -> Vec<String> {
    let pages = place.told(&["--no-text"]);
    let path = |url: &str| {
        url.splitn(4, '/')
            .nth(3)
            .expect("the crawl left it")
            .to_owned()
    };
    let urls = pages
        .iter()
        .map(|page| path(page["url"].as_str().expect("the crawl left it")));
    let mut urls: Vec<String> = urls.collect();
    urls.sort();
    urls.dedup();
    urls
}

/// Checks that standard output has a part.
#[track_caller]
fn tells(output: &Output, part: &str) {
    assert!(output.stdout.contains(part), "no {part:?} in {output:#?}");
}

fn forget(place: &Place, arguments: &[&str]) -> Output {
    place.ask(&[&["forget"], arguments].concat())
}

#[test]
fn what_waits_and_is_forgotten_has_one_state() {
    let web = Web::start(vec![site()]);
    let place = Place::new();
    place.crawl_by(SETTINGS, &[&web.url(0, "/"), "--max-pages", "1"]);
    let url = web.url(0, "/news");
    let why = |expected: i32| place.ask(&["why", &url]).expect(expected).stdout;
    assert!(why(0).contains("queued: "));
    place.ask(&["forget", &url]).expect(0);
    let told = why(0);
    assert!(
        told.contains("forgotten at") && !told.contains("queued: "),
        "{told}"
    );
}

#[test]
fn a_person_is_forgotten_and_the_others_are_whole() {
    let web = Web::start(vec![site()]);
    let place = Place::new();
    place.crawl_by(SETTINGS, &[&web.url(0, "/")]);
    let jo = web.url(0, "/people/jo");
    let before = urls(&place);
    assert!(before.contains(&"people/jo/cv".to_owned()), "{before:?}");
    let dry = forget(&place, &["--prefix", &jo, "--dry-run"]).expect(0);
    tells(&dry, "would forget 2 pages");
    assert_eq!(urls(&place), before);
    tells(
        &forget(&place, &["--prefix", &jo]).expect(0),
        "forgot 2 pages",
    );
    check(&place);
    let left = with(&place.data(), "people/jo/cv");
    // What other pages say, such as a link to it, is theirs.
    let text = corpus::text(2, 300);
    assert!(with(&place.data(), &text).is_empty());
    assert!(
        left.iter().all(|name| name.ends_with(".warc.gz")),
        "{left:?}"
    );
    let after = urls(&place);
    let expected: Vec<_> = before
        .iter()
        .filter(|it| !it.starts_with("people/jo"))
        .collect();
    assert_eq!(after.iter().collect::<Vec<_>>(), expected);
    // Its copy has its place, with its own body.
    let copy = place
        .ask(&["show", &web.url(0, "/copy"), "--raw"])
        .expect(0);
    tells(&copy, &corpus::text(1, 300));
    let why = place.ask(&["why", &jo]).expect(0);
    tells(&why, "forgotten at a person's request since");
    // It is not asked for again, not even as a seed.
    let lost = place.crawl_with_losses(SETTINGS, &[&jo]);
    tells(&lost, "it is forgotten (gleaner forget)");
    assert_eq!(asked(&web, "/people/jo"), 1);
    check(&place);

    forget(&place, &["--prefix", &web.url(0, "/people/x"), "--undo"]).expect(2);
    forget(&place, &["--prefix", &jo, "--undo"]).expect(0);
    place.crawl_by(SETTINGS, &[&jo]);
    assert_eq!(asked(&web, "/people/jo"), 2);
    assert_eq!(asked(&web, "/people/jo/cv"), 2);
    assert_eq!(urls(&place), before);
    check(&place);
}

#[test]
fn a_crawl_that_runs_forgets_too() {
    let site = Site::new().robots("").otherwise(|request| {
        let number: u64 = request.path.trim_start_matches("/p/").parse().unwrap_or(0);
        let next = [format!("/p/{}", number + 1), "/secret".to_owned()];
        let next: Vec<&str> = next.iter().map(String::as_str).collect();
        article(&request.path, &corpus::text(number, 200), &next)
    });
    let web = Web::start(vec![site]);
    let place = Place::new();
    let running = place.daemon_by(SETTINGS, &["--allow-private", &web.url(0, "/p/1")]);
    assert!(web.wait_for_requests(30, PATIENCE));
    let secret = web.url(0, "/secret");
    let said = forget(&place, &[&secret, "--json"]).expect(0).json();
    let many = web.requests().len();
    assert!(
        web.wait_for_requests(many + 30, PATIENCE),
        "it goes on: {said}"
    );
    assert!(asked(&web, "/secret") <= 1);
    let why = place.ask(&["why", &secret]).expect(0);
    tells(&why, "forgotten at a person's request");
    place.ask(&["stop"]).expect(0);
    running.end().expect(0);
    check(&place);
    let pages = place.told(&["--no-text"]);
    assert!(pages.iter().all(|page| page["url"] != secret.as_str()));
    let log = with(&place.data(), "/secret\",\"path");
    assert!(log.is_empty(), "{log:?}");
}

#[test]
fn a_kill_at_any_commit_is_followed_by_the_rest() {
    let web = Web::start(vec![site()]);
    let jo = web.url(0, "/people/jo");
    let mut kills = 0;
    for (at, step) in (1..).zip(["committed", "synced", "judged", "appended"].iter().cycle()) {
        let place = Place::new();
        place.crawl_by(SETTINGS, &[&web.url(0, "/")]);
        let before = urls(&place);
        let step = format!("{step}:{at}");
        let killed = forget(&place, &[&jo, "--failpoint", &step]);
        if killed.code == 0 {
            break;
        }
        kills += 1;
        let mut whole = urls(&place);
        whole.push("people/jo".to_owned());
        assert!(before.iter().all(|url| whole.contains(url)), "{step}");
        // Whoever opens the directory next goes on.
        match at % 2 {
            0 => drop(forget(&place, &[])),
            _ => drop(place.crawl_by(SETTINGS, &[])),
        }
        if place.ask(&["why", &jo]).stdout.contains("requested") {
            // It was killed before anything was begun.
            forget(&place, &[&jo]).expect(0);
        }
        check(&place);
        let expected: Vec<_> = before.into_iter().filter(|it| it != "people/jo").collect();
        assert_eq!(urls(&place), expected, "{step}");
        tells(&place.ask(&["why", &jo]).expect(0), "forgotten");
    }
    assert!(kills > 8, "{kills}");
}

/// A copy of what goes has no record but the earlier crawl's of that: it gets one of its own, and
/// going on brings nothing back.
#[test]
fn what_an_earlier_crawl_holds_of_a_copy_is_stored_by_this_one() {
    let web = Web::start(vec![site()]);
    let [first, second] = [(); 2].map(|()| Place::new());
    // Pages of one host may overtake one another: what others repeat comes first.
    first.crawl_by(SETTINGS, &[&web.url(0, "/people/jo")]);
    first.crawl_by(SETTINGS, &[&web.url(0, "/")]);
    let earlier = first.data();
    let since = ["--since", earlier.to_str().expect("it is ASCII")];
    let seed = web.url(0, "/");
    second.crawl_by(SETTINGS, &[&*seed, since[0], since[1]]);
    let (jo, copy) = (web.url(0, "/people/jo"), web.url(0, "/copy"));
    let unchanged = second.status().counters.revisits["unchanged-since"];
    // But for the near duplicate, of which the earlier crawl has no response.
    assert_eq!(unchanged, 6);
    let before = second.ask(&["show", &copy]).expect(0).stdout;
    tells(&forget(&second, &[&jo]).expect(0), "forgot 1 page");
    second.ask(&["check"]).expect(0);
    let told = with(&second.data(), "/people/jo\r");
    assert!(told.is_empty(), "{told:?}");
    assert_eq!(second.ask(&["show", &copy]).expect(0).stdout, before);
    web.clear_log();
    second.crawl_by(SETTINGS, &since);
    assert_eq!(asked(&web, "/people/jo"), 0);
    let told = with(&second.data(), "/people/jo\r");
    assert!(told.is_empty(), "{told:?}");
    tells(&second.ask(&["why", &jo]).expect(0), "forgotten");
}
