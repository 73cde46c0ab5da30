//! `gleaner crawl --known`: what earlier crawls know is not fetched again, and what is like it is a
//! duplicate of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use gleaner::archive::ReadRecord;

use crate::corpus::{self, Visit, archive_of};
use crate::run::{Place, read_records, run};
use crate::web::{Answer, Site, Web};

fn article(seed: u64) -> String {
    corpus::text(seed, 200)
}

fn page(links: &[&str], text: &str) -> Answer {
    let link = |to: &&str| format!("<a href='{to}'>more</a>");
    let links = links.iter().map(link).collect::<Vec<_>>().join(" ");
    Answer::html(format!(
        "<title>T</title><nav>{links}</nav><main><p>{text}</main>"
    ))
}

/// A site that was crawled, and has grown: /new links to old and new pages.
fn site() -> Site {
    let near = format!("{} indeed", article(1));
    Site::new()
        .page("/", page(&["/a", "/b", "/moved", "/missing"], &article(0)))
        .page("/a", page(&[], &article(1)))
        .page("/b", page(&[], &article(2)))
        .page("/moved", Answer::redirect(301, "/a"))
        .page("/missing", Answer::status(404))
        .page(
            "/new",
            page(&["/", "/a", "/b", "/copy", "/near", "/fresh"], &article(3)),
        )
        .page("/copy", page(&[], &article(1)))
        .page("/near", page(&[], &near))
        .page("/fresh", page(&[], &article(4)))
}

fn asked(web: &Web) -> BTreeSet<String> {
    web.asked(0).into_iter().collect()
}

/// Records, of which some refer to another archive.
fn records(data: &Path) -> Vec<ReadRecord> {
    read_records(data)
}

fn field<'a>(record: &'a ReadRecord, name: &str) -> &'a str {
    record.header(name).unwrap_or_default()
}

/// The record of a kind about a URL.
fn about<'a>(records: &'a [ReadRecord], kind: &str, url: &str) -> &'a ReadRecord {
    let mut found = records
        .iter()
        .filter(|it| field(it, "WARC-Type") == kind && field(it, "WARC-Target-URI") == url);
    found.next().unwrap_or_else(|| panic!("no {kind} of {url}"))
}

fn set(paths: &[&str]) -> BTreeSet<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

/// Crawls the site, then forgets what was asked.
fn first_crawl() -> (Web, Place) {
    let web = Web::start(vec![site()]);
    let first = Place::new();
    first.crawl(&[&web.url(0, "/"), "--allow-private"]);
    assert_eq!(asked(&web), set(&["/", "/a", "/b", "/moved", "/missing"]));
    web.clear_log();
    (web, first)
}

fn text(path: &Path) -> String {
    path.to_str().expect("temporary paths are ASCII").to_owned()
}

#[test]
fn what_is_known_is_not_fetched_and_what_is_like_it_is_a_duplicate() {
    let (web, first) = first_crawl();
    let known: [PathBuf; 3] = [first.data(), first.data().join("warc"), first.warc()];
    for known in known {
        let second = Place::new();
        let known = text(&known);
        let new = web.url(0, "/new");
        let output = second.crawl(&[&new, "--allow-private", "--known", &known]);
        assert_eq!(
            asked(&web),
            set(&["/new", "/copy", "/near", "/fresh"]),
            "{known}"
        );
        web.clear_log();
        // Five pages, and robots.txt, which is in the archive as well.
        assert!(
            output.stderr.contains("known: 6 new URLs from"),
            "{output:?}"
        );
        assert_eq!(second.status().counters.known, 6);

        let pages = second.pages();
        let url = |path: &str| web.url(0, path);
        assert_eq!(pages[&url("/new")].verdict, "unique");
        assert_eq!(pages[&url("/fresh")].verdict, "unique");
        let original = Some(url("/a"));
        let copy = &pages[&url("/copy")];
        assert_eq!((copy.verdict.name(), &copy.original), ("raw", &original));
        let near = &pages[&url("/near")];
        assert_eq!((near.verdict.name(), &near.original), ("near", &original));

        let (before, records) = (records(&first.data()), records(&second.data()));
        let original = about(&before, "response", &url("/a"));
        let revisit = about(&records, "revisit", &url("/copy"));
        let same = |name: &str, of: &str| assert_eq!(field(revisit, name), field(original, of));
        same("WARC-Refers-To", "WARC-Record-ID");
        same("WARC-Refers-To-Target-URI", "WARC-Target-URI");
        same("WARC-Refers-To-Date", "WARC-Date");
        same("WARC-Payload-Digest", "WARC-Payload-Digest");
        let metadata = about(&records, "metadata", &url("/near"));
        let fields = String::from_utf8_lossy(&metadata.block).into_owned();
        for value in [
            format!("original: {}\r\n", url("/a")),
            format!("original-date: {}\r\n", field(original, "WARC-Date")),
            format!("original-record: {}\r\n", field(original, "WARC-Record-ID")),
        ] {
            assert!(fields.contains(&value), "{value} in {fields}");
        }
        assert!(fields.contains("original-sha256-raw"), "{fields}");

        // It is an original like any other, of which only the body is elsewhere.
        let cluster = second.ask(&["dups"]).expect(0).json();
        assert_eq!(cluster["original"], url("/a"));
        assert_eq!(cluster["stands"], true);
        assert_eq!(cluster["members"].as_array().map(Vec::len), Some(2));
        let similar = second.ask(&["similar", &url("/near"), "--json"]).json();
        let similar = &similar["pages"][0];
        assert_eq!(similar["url"], url("/a"));
        assert_eq!(similar["tier"], "near");
        assert!(similar["record"].is_null(), "{similar}");

        // It can be asked, and its pages can be read, although the bodies are elsewhere.
        let why = second.ask(&["why", &url("/a")]).expect(0).stdout;
        let file = first.warc();
        let file = file.file_name().unwrap_or_default().to_string_lossy();
        let says = format!("known: status 200, from {file}");
        assert!(why.contains(&says), "{why}");
        assert_eq!(second.told(&[]).len(), 4);
    }
}

#[test]
fn what_is_known_is_found_by_its_bytes_when_other_fingerprints_are_asked_for() {
    let (web, first) = first_crawl();
    let second = Place::new();
    let known = text(&first.data());
    second.crawl(&[&web.url(0, "/fresh"), "--allow-private", "--known", &known]);
    let arguments = [
        &*web.url(0, "/copy"),
        &web.url(0, "/near"),
        "--allow-private",
    ];
    let output = second.crawl_by("dedup.seed = 7", &arguments);
    assert!(output.stderr.contains("recomputed"), "{output:?}");
    let pages = second.pages();
    let copy = &pages[&web.url(0, "/copy")];
    assert_eq!(
        (copy.verdict.name(), &copy.original),
        ("raw", &Some(web.url(0, "/a")))
    );
    // What it is nearly like can be told no more, for nobody has its text.
    assert_eq!(pages[&web.url(0, "/near")].verdict, "unique");
}

#[test]
fn a_refusal_that_is_known_is_nobody_s_original() {
    let refusal = "<title>Just a moment...</title><p>Verify you are human to go on, please.</p>\
        <script src=/cdn-cgi/challenge-platform/x.js></script>";
    let other = format!("{refusal}<!-- of another page -->");
    let web = Web::start(vec![
        Site::new()
            .page("/a", Answer::html(refusal))
            .page("/b", Answer::html(other)),
    ]);
    let first = Place::new();
    first.crawl_with_losses("", &[&web.url(0, "/a"), "--allow-private"]);
    let second = Place::new();
    let rule = "[[dedup.rule]]\nmatch = [\"/b\"]\nrefusals = false\n";
    let (known, b) = (text(&first.data()), web.url(0, "/b"));
    second.crawl_by(rule, &[&b, "--allow-private", "--known", &known]);
    // It is taken for a page, and is like none.
    assert_eq!(second.pages()[&web.url(0, "/b")].verdict, "unique");
}

#[test]
fn known_twice_adds_nothing_and_a_killed_import_goes_on() {
    let (web, first) = first_crawl();
    let known = text(&first.data());
    let new = web.url(0, "/new");
    let arguments = [&*new, "--allow-private", "--known", &known];
    for step in ["judged", "synced", "committed"] {
        let second = Place::new();
        let killed = second.command(&[&arguments[..], &["--failpoint", step]].concat());
        let killed = run(killed);
        assert!(killed.code > 128, "{killed:?}");
        assert_eq!(asked(&web), set(&[]), "it dies before anything is fetched");
        second.crawl(&arguments);
        assert_eq!(
            asked(&web),
            set(&["/new", "/copy", "/near", "/fresh"]),
            "{step}"
        );
        web.clear_log();
        let before = second.status().counters;
        assert_eq!(before.known, 6, "{step}");
        let again = second.crawl(&[&arguments[..], &["--known", &known]].concat());
        assert!(again.stderr.contains("known: 0 new URLs"), "{again:?}");
        let after = second.status().counters;
        assert_eq!((after.known, after.pages), (before.known, before.pages));
        assert_eq!(asked(&web), set(&[]));
    }
}

#[test]
fn a_killed_import_goes_on_where_it_was() {
    const URLS: u64 = 600;
    let place = Place::new();
    let visits = (0..URLS as usize).map(|at| {
        let mut visit = Visit::new(&at.to_string(), &format!("{at} {}", article(at as u64)));
        visit.mime = "text/plain";
        visit.response(at)
    });
    let archive = place.data().with_extension("warc");
    archive_of(&archive, &visits.collect::<Vec<_>>());
    let known = text(&archive);
    let arguments = ["http://example.org/1", "--allow-private", "--known", &known];
    let agent = ["--user-agent", "test/1.0 (+http://example.org/)"];
    let arguments = [&arguments[..], &agent].concat();
    let killed = run(place.command(&[&arguments[..], &["--failpoint", "judged:2"]].concat()));
    assert!(killed.code > 128, "{killed:?}");
    let before = place.status().counters.known;
    assert!(0 < before && before < URLS, "{before}");
    let output = place.crawl(&arguments);
    let rest = format!("known: {} new URLs", URLS - before);
    assert!(output.stderr.contains(&rest), "{output:?}");
    assert_eq!(place.status().counters.known, URLS);
}

#[test]
fn what_is_known_survives_the_loss_of_what_is_derived_from_it() {
    let (web, first) = first_crawl();
    let second = Place::new();
    let known = text(&first.data());
    let b = web.url(0, "/b");
    // Nothing is to be fetched: all of it is known.
    let output = second.crawl(&[&b, "--allow-private", "--known", &known]);
    assert!(output.stderr.contains("give other seeds"), "{output:?}");
    assert_eq!(asked(&web), set(&[]));
    second.crawl(&[&web.url(0, "/fresh"), "--allow-private"]);
    for lost in ["documents", "runs"] {
        std::fs::remove_dir_all(second.data().join(lost)).expect("it is there");
    }
    second.crawl(&[&web.url(0, "/new"), "--allow-private"]);
    assert_eq!(asked(&web), set(&["/fresh", "/new", "/copy", "/near"]));
    assert_eq!(second.pages()[&web.url(0, "/copy")].verdict, "raw");
}

#[test]
fn what_is_no_archive_is_refused() {
    let place = Place::new();
    let file = place.file("notes.txt", "no archive");
    let check = |known: &str, code: i32, says: &str| {
        let command = place.command(&["http://127.0.0.1:9/", "--allow-private", "--known", known]);
        run(command).expect(code).says(&[says]);
    };
    check("no/such/place", 2, "no/such/place");
    let empty = place.file("x", "");
    let parent = Path::new(&empty).parent().expect("a directory");
    check(&text(parent), 2, "there is no WARC file in it");
    check(&file, 1, "no WARC record");
}

/// A server that sends `/docs` to `/docs/`, which is the same URL, keeps its pages.
#[test]
fn a_page_behind_a_redirect_to_another_form_of_its_url_is_known() {
    const DOCS: usize = 12;
    let docs = || {
        let links: Vec<String> = (0..DOCS).map(|number| format!("/docs{number}")).collect();
        let links: Vec<&str> = links.iter().map(String::as_str).collect();
        let home = format!("<title>Home</title>{}", crate::run::anchors(&links));
        Site::new()
            .robots("")
            .page("/", Answer::html(home))
            .otherwise(|request| {
                let number = request.path.trim_start_matches("/docs");
                match number.strip_suffix('/') {
                    Some(number) => page(&[], &article(100 + number.parse().unwrap_or(0))),
                    None => Answer::redirect(301, &format!("{}/", request.path)),
                }
            })
    };
    let web = Web::start(vec![docs(), docs()]);
    let (first, second) = (Place::new(), Place::new());
    first.crawl(&[&web.url(0, "/")]);
    assert_eq!(
        first.status().counters.verdicts.get("unique"),
        Some(&(DOCS as u64 + 1))
    );
    let known = text(&first.data());
    // None of them is asked for again, in either form.
    let third = Place::new();
    web.clear_log();
    let seeds: Vec<String> = (0..DOCS)
        .flat_map(|it| {
            [
                web.url(0, &format!("/docs{it}")),
                web.url(0, &format!("/docs{it}/")),
            ]
        })
        .collect();
    let mut arguments: Vec<&str> = seeds.iter().map(String::as_str).collect();
    arguments.extend(["--known", &known]);
    third.crawl(&arguments);
    assert_eq!(web.requests().len(), 0);
    second.crawl(&[&web.url(1, "/"), "--known", &known]);
    let verdicts = second.status().counters.verdicts;
    assert_eq!(verdicts.get("unique"), None, "{verdicts:?}");
    assert_eq!(
        verdicts.get("raw"),
        Some(&(DOCS as u64 + 1)),
        "{verdicts:?}"
    );
}
