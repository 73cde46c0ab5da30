//! Every verdict can be undone: any page is given back as it was sent, from what is kept of it, and
//! duplicates become pages of their own again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::corpus;
use crate::run::{PATIENCE, Place, kind, numbered, page, text};
use crate::web::{Answer, Site, Web};

/// Long enough that the deltas of near duplicates are small.
fn article(number: u64, end: &str) -> String {
    let paragraphs: Vec<_> = (0..12)
        .map(|part| corpus::text(number * 100 + part, 60))
        .collect();
    let body = format!("<p>{} {end}</p>\n", paragraphs.join("</p>\n<p>"));
    format!("<html><head><title>Of it</title></head><body><main>{body}</main></body></html>")
}

/// A web with all kinds of duplicates of `/a`, and the bodies that it sends.
pub(crate) fn web() -> (Web, BTreeMap<&'static str, String>) {
    let a = article(1, "the end");
    let marked = a.replace("<p>", "<p class=\"wide\">");
    let bodies = BTreeMap::from([
        ("/a", a.clone()),
        ("/copy", a.clone()),
        ("/marked", marked),
        ("/near", article(1, "the other end of it")),
        ("/packed", article(1, "an end that came packed")),
        (
            "/framed",
            a.replace("<main>", "<nav>Home Shop About</nav><main>"),
        ),
        ("/other", article(2, "the end")),
    ]);
    let links: Vec<&str> = bodies.keys().copied().collect();
    let mut site = Site::new()
        .robots("")
        .page("/", Answer::html(page("home", &links)));
    for (path, body) in &bodies {
        let answer = match *path {
            "/packed" => Answer::gzip(&**body),
            _ => Answer::html(body.clone()),
        };
        site = site.page(path, answer);
    }
    (Web::start(vec![site]), bodies)
}

pub(crate) const ONE_AT_A_TIME: &str = "[fetch]\nallow_private = true\nconcurrency = 1\n";

/// Crawls `/a` and then everything else, so that `/a` is the original.
#[track_caller]
pub(crate) fn crawl(place: &Place, settings: &str, web: &Web) {
    place.crawl_by(settings, &[&web.url(0, "/a")]);
    place.crawl_by(settings, &[&web.url(0, "/")]);
}

#[track_caller]
fn shown(place: &Place, web: &Web, path: &str) -> String {
    let url = web.url(0, path);
    place.ask(&["show", &url]).expect(0).stdout
}

#[test]
fn any_page_is_given_back_as_it_was_sent() {
    let (web, bodies) = web();
    let place = Place::new();
    crawl(&place, ONE_AT_A_TIME, &web);
    let pages = place.pages();
    let verdict = |path: &str| pages[&web.url(0, path)].verdict.name();
    assert_eq!((verdict("/a"), verdict("/other")), ("unique", "unique"));
    assert_eq!(
        (verdict("/copy"), verdict("/marked")),
        ("raw", "normalized")
    );
    assert_eq!((verdict("/near"), verdict("/packed")), ("near", "near"));
    for (path, body) in &bodies {
        assert_eq!(shown(&place, &web, path), *body, "{path}");
    }
    let url = web.url(0, "/packed");
    let told = place
        .ask(&["show", "--head", "--text", &url])
        .expect(0)
        .stdout;
    assert!(told.starts_with("HTTP/1.1 200 OK\r\n"), "{told}");
    assert!(told.contains("\r\ncontent-encoding: gzip\r\n"), "{told}");
    assert!(told.ends_with("an end that came packed\n"), "{told}");
    let markdown = place.ask(&["show", "--markdown", &url]).expect(0).stdout;
    assert!(markdown.contains("an end that came packed"), "{markdown}");
    // What was not visited is unknown, and what sent nothing has no body.
    place.ask(&["show", &web.url(0, "/nowhere")]).expect(5);

    // Deltas take no room worth speaking of.
    let texts = place.records();
    let packs = texts
        .iter()
        .filter(|it| it.header("Content-Type") == Some("application/vnd.gleaner.bodies"));
    let packs: Vec<_> = packs.collect();
    assert_eq!(packs.len(), 1, "all are in one pack");
    assert_eq!(kind(packs[0]), "metadata");
    assert!(packs[0].block.len() < 4 * 400, "{}", packs[0].block.len());

    // What differs between duplicates and their originals can be looked at.
    let diff = place
        .ask(&["dups", "--sample", "9", "--diff"])
        .expect(0)
        .stdout;
    let near = format!(
        "--- {}\n+++ {} (near, ",
        web.url(0, "/a"),
        web.url(0, "/near")
    );
    let (_, near) = diff.split_once(&near).expect("it is drawn");
    let (_, hunk) = near.split_once("@@\n").expect("there is a hunk");
    let hunk = hunk.lines().take_while(|line| !line.starts_with("---"));
    let changed: Vec<_> = hunk.filter(|line| line.starts_with(['+', '-'])).collect();
    assert_eq!(changed.len(), 2, "{changed:?}");
    assert!(changed[0].starts_with('-') && changed[0].ends_with(" the end"));
    assert!(changed[1].starts_with('+') && changed[1].ends_with(" the other end of it"));
    let one = place.ask(&["dups", "--sample", "1"]).expect(0).json_lines();
    assert_eq!(one[0]["members"].as_array().map(Vec::len), Some(1));
    place.ask(&["dups", "--diff"]).expect(2);
}

#[test]
fn a_file_that_is_missing_is_named() {
    let (web, bodies) = web();
    let place = Place::new();
    crawl(&place, ONE_AT_A_TIME, &web);
    let away = |path: &Path| {
        let moved = path.with_extension("moved");
        fs::rename(path, &moved).expect("it is moved");
        moved
    };
    for (file, path) in [
        (place.warc(), "/near"),
        (place.warc(), "/a"),
        (place.texts(), "/near"),
    ] {
        let moved = away(&file);
        let output = place.ask(&["show", &web.url(0, path)]).expect(1);
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        output.says(&[&name, path]);
        fs::rename(moved, file).expect("it is moved back");
    }
    // A duplicate's error names its original.
    let original = place.warc();
    let moved = away(&original);
    let output = place.ask(&["show", &web.url(0, "/near")]).expect(1);
    output.says(&[&web.url(0, "/a")]);
    fs::rename(moved, original).expect("it is moved back");
    assert_eq!(shown(&place, &web, "/near"), bodies["/near"]);
    // A pack that is damaged is an error, not another body.
    let texts = place.texts();
    let mut bytes = fs::read(&texts).expect("it is read");
    let end = bytes.len() - 60;
    bytes[end] ^= 4;
    fs::write(&texts, bytes).expect("it is written");
    place
        .ask(&["show", &web.url(0, "/near")])
        .expect(1)
        .says(&["texts-"]);
}

#[test]
fn a_setting_says_what_is_kept() {
    for (setting, of_near, conversions) in [
        ("text", None, true),
        ("none", None, false),
        ("full", Some("response"), true),
    ] {
        let (web, bodies) = web();
        let place = Place::new();
        let settings = format!("{ONE_AT_A_TIME}[archive]\nduplicate_bodies = \"{setting}\"\n");
        crawl(&place, &settings, &web);
        let url = web.url(0, "/near");
        let output = place.ask(&["show", &url]);
        let records = place.records();
        let about = |wanted: &str| {
            let is_it = |it: &&gleaner::archive::ReadRecord| {
                kind(it) == wanted && it.header("WARC-Target-URI") == Some(&url)
            };
            records.iter().filter(is_it).count()
        };
        assert_eq!(about("conversion") == 1, conversions, "{setting}");
        match of_near {
            Some(kind) => {
                assert_eq!(about(kind), 1, "{setting}");
                assert_eq!(output.expect(0).stdout, bodies["/near"]);
            }
            None => {
                output
                    .expect(1)
                    .says(&["was not kept", "archive.duplicate_bodies"]);
            }
        }
        // Texts are read from where they are.
        let lines = place.told(&[]);
        let line = lines.iter().find(|line| text(line, "url") == url);
        let told = line.expect("it is a page")["text"].as_str();
        assert_eq!(
            told.is_some_and(|told| told.ends_with("the other end of it")),
            conversions
        );
    }
}

#[test]
fn beside_a_running_crawl_the_same_is_shown() {
    let (web, bodies) = web();
    let place = Place::new();
    let settings = format!("{ONE_AT_A_TIME}[politeness]\ndelay = \"0s\"\n");
    place.crawl_by(&settings, &[&web.url(0, "/a")]);
    let running = place.daemon_by(&settings, &[&web.url(0, "/")]);
    // robots.txt, the home page, and what it links to.
    assert!(web.wait_for_requests(2 + bodies.len(), PATIENCE));
    let mut follower = place.follow(&["--no-text"]);
    let mut waiting: BTreeSet<String> = bodies.keys().map(|path| web.url(0, path)).collect();
    while !waiting.is_empty() {
        waiting.remove(&follower.next().expect("every page is visited"));
    }
    for (path, body) in &bodies {
        assert_eq!(shown(&place, &web, path), *body, "{path}");
    }
    running.signal(rustix::process::Signal::TERM);
    running.end().expect(0);
    follower.running.end().expect(0);
    for (path, body) in &bodies {
        assert_eq!(shown(&place, &web, path), *body, "{path}");
    }
}

#[test]
fn verdicts_are_turned_back_into_stored_pages() {
    let (web, bodies) = web();
    let place = Place::new();
    crawl(&place, ONE_AT_A_TIME, &web);
    let before = place.status().counters;
    let restore = |more: &[&str]| place.ask(&[&["restore", "--tier", "near"], more].concat());
    let said = restore(&["--dry-run"]).expect(0).stdout;
    assert!(said.starts_with("would restore 2 pages (2 near)"), "{said}");
    assert_eq!(place.status().counters, before);
    let said = restore(&["--host", "elsewhere.example"]).expect(0).stdout;
    assert!(said.starts_with("restored 0 pages"), "{said}");
    // One verdict alone.
    let (near, unique) = (web.url(0, "/near"), web.url(0, "/"));
    let said = place.ask(&["restore", &unique]).expect(1);
    assert!(
        said.stderr
            .contains(&format!("{unique}: it is no duplicate")),
        "{said:?}"
    );
    let said = place.ask(&["restore", &near, "--dry-run"]).expect(0).stdout;
    assert!(said.starts_with("would restore 1 page (1 near)"), "{said}");
    let said = place.ask(&["restore", &near]).expect(0).stdout;
    assert!(said.starts_with("restored 1 page (1 near)"), "{said}");
    assert_eq!(place.status().counters.verdicts.get("near"), Some(&1));
    let said = restore(&[]).expect(0).stdout;
    assert!(said.starts_with("restored 1 page (1 near)"), "{said}");
    let counters = place.status().counters;
    assert_eq!(counters.verdicts.get("near"), None);
    assert_eq!(
        counters.verdicts.get("unique"),
        before
            .verdicts
            .get("unique")
            .map(|count| count + 2)
            .as_ref()
    );
    assert_eq!(counters.pages, before.pages);
    // Once is enough.
    let said = restore(&[]).expect(0).stdout;
    assert!(said.starts_with("restored 0 pages"), "{said}");
    for (path, body) in &bodies {
        assert_eq!(shown(&place, &web, path), *body, "{path}");
    }
    let records = place.records();
    for path in ["/near", "/packed"] {
        let url = web.url(0, path);
        let is_it = |it: &&gleaner::archive::ReadRecord| {
            kind(it) == "response" && it.header("WARC-Target-URI") == Some(&url)
        };
        let response = records.iter().find(is_it).expect("it is stored");
        let (head, payload) = response.http_parts().expect("an HTTP message");
        assert_eq!(payload, bodies[path].as_bytes());
        let head = String::from_utf8_lossy(head);
        assert!(!head.contains("\r\ncontent-encoding:"), "{head}");
        let why = place.ask(&["why", "--json", &url]).expect(0).json();
        assert_eq!(why["visit"]["verdict"], "unique");
        // Who follows gets a second line.
        let lines = place.log();
        let lines = lines.iter().filter(|line| line.url == url);
        let verdicts: Vec<_> = lines.map(|line| line.verdict.name()).collect();
        assert_eq!(verdicts, ["near", "unique"]);
    }
    // It is a crawl like any other: nothing is asked for again, and what is restored is an
    // original for whoever comes later.
    let requests = web.requests().len();
    let output = place.crawl_by(ONE_AT_A_TIME, &[&web.url(0, "/")]);
    assert!(output.stderr.contains("nothing left"), "{output:?}");
    assert_eq!(web.requests().len(), requests);
}

#[test]
fn bodies_that_wait_for_a_pack_survive_a_kill() {
    let pages = 30;
    let site = |host: usize| {
        let links = numbered(pages);
        let home = page(&format!("home of {host}"), &[]) + &crate::run::anchors(links);
        Site::new()
            .robots("")
            .page("/", Answer::html(home))
            .otherwise(move |request| {
                let number: u64 = request.path.trim_start_matches('/').parse().unwrap_or(0);
                Answer::html(article(number, ["the end", "another end"][host]))
            })
    };
    let web = Web::start(vec![site(0), site(1)]);
    let place = Place::new();
    let settings = "[crawl]\nscope = \"host\"\n[fetch]\nallow_private = true\n";
    place.crawl_by(settings, &[&web.url(0, "/")]);
    let mut kills = 0;
    for step in ["judged", "appended", "synced", "committed", "applied"] {
        for times in [1, 2] {
            let mut command =
                place.command(&[&web.url(1, "/"), "--failpoint", &format!("{step}:{times}")]);
            command.args(["--config", &place.file("settings.toml", settings)]);
            kills += u32::from(crate::run::run(command).code == 128 + 9);
        }
    }
    assert!(kills > 3, "{kills}");
    place.crawl_by(settings, &[&web.url(1, "/")]);
    let mut deltas = 0;
    let log = place.log();
    for path in numbered(pages) {
        let url = web.url(1, &path);
        // Pages that were judged while their sites were young are judged again.
        let mut lines = log.iter().filter(|line| line.url == url);
        deltas += usize::from(lines.any(|line| line.verdict.name() == "near"));
        let number: u64 = path.trim_start_matches('/').parse().expect("a number");
        let body = place.ask(&["show", &url]).expect(0).stdout;
        assert_eq!(body, article(number, "another end"), "{url}");
    }
    assert!(deltas > pages / 2, "{deltas}");
    let revisits = place.status().counters.revisits;
    let sum = |name: &str| revisits.get(name).copied().unwrap_or_default();
    assert!(sum("unchanged") > 0 && sum("changed") == 0, "{revisits:?}");
    place.records();
}

/// A verdict is given only where the pages have something in common: what the extraction of the
/// main text left out counts too, if it is text, and markup does not.
#[test]
fn a_page_that_has_little_in_common_with_its_original_is_unique() {
    let main = format!("<main><p>{}</p></main>", corpus::text(1, 120));
    let script = |seed: u64| {
        let numbers = (0..900).map(|at| (seed * 7_919 + at) * 2_654_435_761 % 1_000_003);
        let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
        format!("<script>var a = [{}];</script>", numbers.join(","))
    };
    let page = |before: &str, after: &str| format!("<title>One</title>{before}{main}{after}");
    let about = |seed: u64| format!("<aside><p>{}</p></aside>", corpus::text(seed, 900));
    // Another frame, of another crawl of scripts: a reprint.
    let bodies = [
        ("/a", page(&script(1), "")),
        ("/reprint", page(&script(2), "")),
        ("/aside", page("", &about(5))),
    ];
    let links: Vec<&str> = bodies.iter().map(|(path, _)| *path).collect();
    let mut site = Site::new()
        .robots("")
        .page("/", Answer::html(crate::run::page("home", &links)));
    for (path, body) in &bodies {
        site = site.page(path, Answer::html(body.clone()));
    }
    let web = Web::start(vec![site]);
    let place = Place::new();
    crawl(&place, ONE_AT_A_TIME, &web);
    let pages = place.pages();
    let verdict = |path: &str| pages[&web.url(0, path)].verdict.name();
    assert_eq!(verdict("/a"), "unique");
    assert!(["normalized", "content", "near"].contains(&verdict("/reprint")));
    assert_eq!(verdict("/aside"), "unique");
    for (path, body) in &bodies {
        assert_eq!(shown(&place, &web, path), *body, "{path}");
    }
}
