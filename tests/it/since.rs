//! `gleaner crawl --since`: a crawl of sites that an earlier one has: what is sent, what is stored,
//! and that it finds what a crawl without it does.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gleaner::archive::ReadRecord;
use gleaner::engine::VisitVerdict;
use serde_json::Value;

use crate::corpus;
use crate::run::{Place, about, anchors, field, kind, only, read_records, run, text, warcs};
use crate::web::{Answer, Request, Site, Web};

/// The quarter that a web is in.
type Quarter = Arc<AtomicUsize>;

const PAGES: usize = 60;
const DATE: &str = "Fri, 20 Nov 2026 10:01:00 GMT";

fn page(number: usize, quarter: usize, links: &[String]) -> String {
    let seed = (number * 10 + quarter) as u64;
    let text = corpus::text(seed, 2_000);
    format!(
        "<!doctype html><title>Page {number}</title><h1>Page {number}</h1><p>{text}</p>{}",
        anchors(links)
    )
}

/// An answer by which it can be asked for again: by `ETag`, by date, or by nothing.
fn answer(request: &Request, number: usize, version: usize, body: &str) -> Answer {
    let etag = format!("\"{number}-{version}\"");
    let date = DATE.replace("10:01", &format!("1{version}:01"));
    let (name, value, condition) = match number % 3 {
        0 => ("ETag", etag, "If-None-Match"),
        1 => ("Last-Modified", date, "If-Modified-Since"),
        _ => return Answer::html(body),
    };
    let is_known = request.header(condition).is_some_and(|it| it == value);
    let answer = if is_known {
        Answer::status(304)
    } else {
        Answer::html(body)
    };
    answer.header(name, &value)
}

/// A site of which a twentieth changes each quarter, with a byte copy of one page, a page that goes
/// and one that comes. Each page leads to the next, so that all are found by way of all.
fn site(quarter: &Quarter) -> Site {
    let quarter = Arc::clone(quarter);
    Site::new().robots("").otherwise(move |request| {
        let now = quarter.load(Ordering::SeqCst);
        let path = request.path.trim_start_matches('/');
        let number = match path {
            "" => 0,
            "copy" => 7,
            "new" if now > 0 => PAGES + 1,
            other => match other.parse() {
                Ok(number) if number < PAGES && (number != 5 || now == 0) => number,
                _ => return Answer::status(404),
            },
        };
        // The 20th, 40th and 60th page are others each quarter.
        let version = if number % 20 == 19 { now } else { 0 };
        let mut links: Vec<String> = match number {
            0 => [1, 2, 3, 4, 5, 10].map(|it| format!("/{it}")).to_vec(),
            _ if number + 5 < PAGES => vec![format!("/{}", number + 5)],
            _ => Vec::new(),
        };
        match number {
            19 if now > 0 => links.push("/new".to_owned()),
            7 => links.push("/copy".to_owned()),
            _ => {}
        }
        answer(request, number, version, &page(number, version, &links))
    })
}

fn web() -> (Web, Quarter) {
    let quarter = Quarter::default();
    (Web::start(vec![site(&quarter)]), quarter)
}

fn data(place: &Place) -> String {
    place
        .data()
        .to_str()
        .expect("temporary paths are ASCII")
        .to_owned()
}

fn since(place: &Place, web: &Web, earlier: &[&Place]) {
    let directories: Vec<String> = earlier.iter().map(|it| data(it)).collect();
    let mut arguments = vec![web.url(0, "/")];
    for directory in directories {
        arguments.extend(["--since".to_owned(), directory]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    place.crawl(&arguments);
}

/// What is told of each page, without what differs between two crawls of one web.
fn told(place: &Place) -> BTreeMap<String, Value> {
    let mut pages = BTreeMap::new();
    for mut page in place.told(&[]) {
        let fields = page.as_object_mut().expect("an object");
        for field in ["time", "record", "position", "unchanged_since", "via"] {
            fields.remove(field);
        }
        pages.insert(text(&page, "url").to_owned(), page);
    }
    pages
}

fn sent(web: &Web) -> BTreeMap<String, (Option<String>, Option<String>)> {
    let requests = web.requests().into_iter();
    requests
        .map(|it| {
            let conditions = (it.header("If-None-Match"), it.header("If-Modified-Since"));
            (it.path, conditions)
        })
        .collect()
}

fn size_of(place: &Place) -> u64 {
    let files = warcs(&place.data()).into_iter();
    files
        .map(|file| fs::metadata(file).expect("it is there").len())
        .sum()
}

/// The response to which a page's record refers, among those of some crawls.
#[track_caller]
fn referred<'a>(all: &'a [ReadRecord], record: &ReadRecord) -> &'a ReadRecord {
    let id = field(record, "WARC-Refers-To");
    let found = all.iter().find(|it| field(it, "WARC-Record-ID") == id);
    let found = found.unwrap_or_else(|| panic!("{id} is nowhere"));
    assert_eq!(kind(found), "response");
    for (name, of) in [
        ("WARC-Refers-To-Target-URI", "WARC-Target-URI"),
        ("WARC-Refers-To-Date", "WARC-Date"),
        ("WARC-Payload-Digest", "WARC-Payload-Digest"),
    ] {
        assert_eq!(field(record, name), field(found, of), "{name}");
    }
    found
}

/// Each page of a crawl can be played back from its archive and those before it.
#[track_caller]
fn check_replay(place: &Place, all: &[ReadRecord]) {
    let own = read_records(&place.data());
    for (url, line) in place.pages() {
        let captures = [about(&own, "response", &url), about(&own, "revisit", &url)].concat();
        assert_eq!(captures.len(), 1, "{url}: {line:?}");
        if kind(captures[0]) == "revisit" {
            referred(all, captures[0]);
        }
        // And read back.
        if line.status == 200 {
            let shown = place.ask(&["show", &url]).expect(0);
            assert!(shown.stdout.contains("<h1>Page"), "{url}");
        }
    }
}

#[test]
fn a_second_crawl_costs_what_has_changed_and_finds_what_a_first_does() {
    let (web, quarter) = web();
    let [first, second, fresh, third] = [(); 4].map(|()| Place::new());
    first.crawl(&[&web.url(0, "/")]);
    let before = first.status().counters;
    assert_eq!(before.pages, PAGES as u64 + 1);

    quarter.store(1, Ordering::SeqCst);
    fresh.crawl(&[&web.url(0, "/")]);
    web.clear_log();
    since(&second, &web, &[&first]);
    let after = second.status().counters;
    let sent = sent(&web);
    assert_eq!(sent["/3"], (Some("\"3-0\"".to_owned()), None));
    assert_eq!(sent["/1"].1.as_deref(), Some(DATE));
    assert_eq!(sent["/2"], (None, None));
    assert_eq!(sent["/new"], (None, None));

    // It finds what a crawl without it finds, and tells the same of it.
    assert_eq!(after.pages, fresh.status().counters.pages);
    assert_eq!(after.verdicts, fresh.status().counters.verdicts);
    assert_eq!(told(&second), told(&fresh));
    let unchanged = PAGES as u64 + 1 - 4;
    assert_eq!(after.revisits["unchanged-since"], unchanged);
    assert_eq!(after.revisits["changed-since"], 4);

    // A third of the pages has no validators; of others a twentieth was sent.
    let (received, all) = (after.bytes as f64, fresh.status().counters.bytes as f64);
    assert!(received / all < 0.45, "{received} of {all}");
    let share = size_of(&second) as f64 / size_of(&fresh) as f64;
    assert!(share < 0.25, "{share}");

    let mut records = read_records(&first.data());
    records.extend(read_records(&second.data()));
    check_replay(&second, &records);
    let own = read_records(&second.data());
    let profile = |path: &str| {
        let revisit = only(&own, "revisit", &web.url(0, path));
        field(revisit, "WARC-Profile")
            .rsplit('/')
            .next()
            .unwrap_or_default()
    };
    assert_eq!(profile("/3"), "server-not-modified");
    assert_eq!(profile("/2"), "identical-payload-digest");
    assert_eq!(about(&own, "response", &web.url(0, "/19")).len(), 1);
    // The copy refers to the response that has its bytes.
    let copy = only(&own, "revisit", &web.url(0, "/copy"));
    assert_eq!(field(copy, "WARC-Refers-To-Target-URI"), web.url(0, "/7"));
    assert_eq!(
        second.pages()[&web.url(0, "/copy")].verdict,
        VisitVerdict::Raw
    );
    second.ask(&["check"]).expect(0);
    let why = second.ask(&["why", &web.url(0, "/3")]).expect(0);
    assert!(why.stdout.contains("unchanged since"), "{why:?}");
    let summary = second.ask(&["status"]).expect(0);
    assert!(
        summary
            .stdout
            .contains(&format!("unchanged{unchanged:>15}")),
        "{summary:?}"
    );

    let report = second.ask(&["report", "--json"]).expect(0).json();
    let spared = &report["since"];
    assert_eq!(spared["unchanged"], unchanged);
    assert_eq!(spared["changed"], 4);
    // One response has the bytes of the copy, too.
    assert_eq!(spared["records"], unchanged - 1);
    let lengths = read_records(&first.data()).into_iter();
    let lengths = lengths
        .filter(|it| kind(it) == "response")
        .map(|it| it.length);
    let (saved, all) = (spared["saved"].as_u64(), lengths.sum::<u64>());
    assert!(
        saved > Some(all / 2) && saved < Some(all),
        "{saved:?} {all}"
    );
    let said = second.ask(&["report"]).expect(0);
    assert!(
        said.stdout
            .contains("bytes of its responses not stored again")
    );

    // A third quarter refers to whatever holds the payload.
    quarter.store(2, Ordering::SeqCst);
    web.clear_log();
    since(&third, &web, &[&second]);
    let counters = third.status().counters;
    // The page that is gone stays gone, and three are others.
    assert_eq!(counters.revisits["changed-since"], 4, "{counters:?}");
    records.extend(read_records(&third.data()));
    check_replay(&third, &records);
    let own = read_records(&third.data());
    let of = |path: &str| field(only(&own, "revisit", &web.url(0, path)), "WARC-Refers-To");
    let ids = |place: &Place| -> BTreeSet<String> {
        let records = read_records(&place.data()).into_iter();
        records
            .map(|it| field(&it, "WARC-Record-ID").to_owned())
            .collect()
    };
    assert!(ids(&first).contains(of("/3")));
    assert!(ids(&second).contains(of("/new")));
}

/// What earlier crawls got of another URL says nothing of this one, and what is behind a redirect
/// to another form of its URL is known under that form.
#[test]
fn a_page_is_asked_for_by_what_was_got_of_its_own_url() {
    let quarter = Quarter::default();
    let site = |quarter: &Quarter| {
        let quarter = Arc::clone(quarter);
        Site::new().robots("").otherwise(move |request| {
            let is_later = quarter.load(Ordering::SeqCst) > 0;
            let page = |number: usize| answer(request, number, 0, &page(number, 0, &[]));
            match &*request.path {
                "/" => Answer::html(anchors(["/docs", "/a", "/b", "/dated"])),
                "/docs" => Answer::redirect(301, "/docs/").header("ETag", "\"3-0\""),
                "/docs/" => page(3),
                // Two pages with one validator, of which one comes and one goes.
                "/a" if !is_later => page(6),
                "/b" if is_later => answer(request, 6, 0, &crate::run::page("b", &[])),
                // It lies about its date.
                "/dated" => {
                    let body = crate::run::page(if is_later { "second" } else { "first" }, &[]);
                    Answer::html(body).header("Last-Modified", DATE)
                }
                _ => Answer::status(404),
            }
        })
    };
    let web = Web::start(vec![site(&quarter)]);
    let [first, second] = [(); 2].map(|()| Place::new());
    first.crawl(&[&web.url(0, "/")]);
    quarter.store(1, Ordering::SeqCst);
    web.clear_log();
    since(&second, &web, &[&first]);
    let sent = sent(&web);
    assert_eq!(sent["/docs"], (None, None));
    assert_eq!(sent["/docs/"].0.as_deref(), Some("\"3-0\""));
    assert_eq!(sent["/b"], (None, None));
    assert_eq!(sent["/dated"].1.as_deref(), Some(DATE));
    let own = read_records(&second.data());
    let docs = only(&own, "revisit", &web.url(0, "/docs/"));
    assert_eq!(
        referred(&read_records(&first.data()), docs).header("WARC-Target-URI"),
        Some(&*web.url(0, "/docs/"))
    );
    only(&own, "response", &web.url(0, "/b"));
    only(&own, "response", &web.url(0, "/dated"));
    let pages = second.pages();
    assert_eq!(
        pages[&web.url(0, "/dated")]
            .page
            .as_ref()
            .and_then(|it| it.title.as_deref()),
        Some("second")
    );
}

fn remove_archive(place: &Place) {
    for file in warcs(&place.data()) {
        fs::remove_file(file).expect("it is there");
    }
}

/// The server says that a page is unmodified, and the earlier archive is gone meanwhile.
#[test]
fn a_page_whose_earlier_body_is_lost_is_fetched_whole() {
    let (web, _) = web();
    let [first, second] = [(); 2].map(|()| Place::new());
    first.crawl(&[&web.url(0, "/")]);
    let (url, earlier) = (web.url(0, "/"), data(&first));
    second.crawl(&[&url, "--since", &earlier, "--max-pages", "1"]);
    // A file that is no archive keeps the directory one of an earlier crawl.
    remove_archive(&first);
    fs::write(first.data().join("warc/other.warc.gz"), "").expect("it is writable");
    second.crawl(&[]);
    let counters = second.status().counters;
    assert_eq!(counters.pages, PAGES as u64 + 1);
    assert!(counters.revisits["lost-since"] > 30, "{counters:?}");
    let own = read_records(&second.data());
    only(&own, "response", &web.url(0, "/3"));
    // One that was sent whole, and is the same, is stored as well.
    only(&own, "response", &web.url(0, "/2"));
}

#[test]
fn an_earlier_crawl_that_is_not_there_is_named() {
    let (web, _) = web();
    let [first, second] = [(); 2].map(|()| Place::new());
    let url = web.url(0, "/");
    let check = |directory: &str, says: &[&str]| {
        let command = second.command(&[&url, "--since", directory]);
        run(command).expect(3).says(says);
        assert!(!second.data().exists(), "nothing is begun");
    };
    check(&data(&first), &["archive.since", &data(&first), "--since"]);
    fs::create_dir(first.data()).expect("it is not there");
    check(&data(&first), &["no WARC file"]);
    fs::remove_dir(first.data()).expect("it is empty");
    first.crawl(&[&url]);
    let earlier = data(&first);
    second.crawl(&[&url, "--since", &earlier, "--max-pages", "3"]);
    // It is remembered, and missed.
    let moved = format!("{earlier}-moved");
    fs::rename(&earlier, &moved).expect("it is there");
    run(second.command(&[]))
        .expect(3)
        .says(&[&earlier, "where it is now"]);
    let checked = second.ask(&["check"]).expect(0).stdout;
    let missed = checked.lines().find(|line| line.contains("is not there"));
    assert!(
        missed.is_some_and(|it| it.contains(&earlier) && it.contains("--since DIR")),
        "{checked}"
    );
    second.crawl(&["--since", &moved]);
    let counters = second.status().counters;
    assert_eq!(counters.revisits["unchanged-since"], PAGES as u64 + 1);
    let checked = second.ask(&["check"]).expect(0).stdout;
    assert!(!checked.contains("is not there"), "{checked}");
    let shown = second.ask(&["show", &url]).expect(0);
    assert!(shown.stdout.contains("<h1>Page 0"));
    let own = data(&second);
    run(second.command(&["--since", &own]))
        .expect(3)
        .says(&["of this crawl"]);
}

/// Another process crawls there, and revisits its pages.
#[test]
fn an_earlier_crawl_may_be_running() {
    let (web, quarter) = web();
    let [first, second] = [(); 2].map(|()| Place::new());
    let settings = "[politeness]\ndelay = \"0s\"\n[revisit]\nmode = \"off\"\n";
    let running = first.daemon_by(settings, &[&web.url(0, "/")]);
    assert!(web.wait_for_requests(PAGES + 2, crate::run::PATIENCE));
    // What it has committed by now is known, and nothing of its directory is touched.
    while first.status().counters.pages < PAGES as u64 + 1 {
        std::thread::yield_now();
    }
    quarter.store(1, Ordering::SeqCst);
    since(&second, &web, &[&first]);
    assert_eq!(
        second.status().counters.revisits["unchanged-since"],
        PAGES as u64 + 1 - 4
    );
    first.ask(&["stop"]).expect(0);
    running.end().expect(0);
    first.records();
}

#[test]
fn a_kill_costs_nothing() {
    let (web, quarter) = web();
    let [first, fresh] = [(); 2].map(|()| Place::new());
    first.crawl(&[&web.url(0, "/")]);
    quarter.store(1, Ordering::SeqCst);
    fresh.crawl(&[&web.url(0, "/")]);
    let expected = told(&fresh);
    let (url, earlier) = (web.url(0, "/"), data(&first));
    for step in [
        "judged:1",
        "committed:1",
        "judged:8",
        "synced:10",
        "committed:12",
    ] {
        let second = Place::new();
        let arguments = [&*url, "--since", &earlier, "--failpoint", step];
        let killed = run(second.command(&arguments));
        assert!(killed.code > 128, "{step}: {killed:?}");
        second.crawl(&[&url, "--since", &earlier]);
        assert_eq!(told(&second), expected, "{step}");
        let counters = second.status().counters;
        assert_eq!(
            counters.revisits["unchanged-since"],
            PAGES as u64 + 1 - 4,
            "{step}"
        );
    }
}
