//! What pages need besides themselves: which files are asked for, of whom, and what becomes of them
//! in archive, log and counters. That pages are visited, judged and counted as without them.
//!
//! `bounds` has what they may not cost, `losses` what kills and damage leave, `replay` whether all
//! is there that a player asks for.

mod bounds;
mod losses;
mod replay;

use std::collections::BTreeMap;
use std::ops::Range;

use gleaner::archive::ReadRecord;
use gleaner::engine::LogLine;

use crate::run::{Output, Place, kind, only, page};
use crate::web::{Answer, Site, Web};

/// The number of each host of [`web`].
const OWN: usize = 0;
const CDN: usize = 1;
const OTHER: usize = 2;

fn image(name: &str) -> Answer {
    Answer::with_type(200, "image/png", format!("\x7fimage {name}").into_bytes())
}

fn css(text: &str) -> Answer {
    Answer::with_type(200, "text/css", text.as_bytes().to_vec())
}

fn script(text: &str) -> Answer {
    Answer::with_type(200, "text/javascript", text.as_bytes().to_vec())
}

/// A tag for each number, made of the text before it and the text behind it.
fn tags(before: &str, numbers: Range<usize>, behind: &str) -> String {
    let mut tags = String::new();
    for number in numbers {
        tags.extend([before, &number.to_string(), behind]);
    }
    tags
}

/// A page of this title with markup of its own.
fn with(name: &str, markup: &str) -> Answer {
    Answer::html(page(name, &[]) + markup)
}

/// A site of two pages, whose files are at three hosts.
fn web() -> Web {
    let home = "<link rel=stylesheet href=/style.css><link rel=icon href=/icon.ico>\
        <script src='{host1}/lib.js'></script>\
        <img src=/logo.png srcset='{host1}/logo-2x.png 2x'>\
        <iframe src='{host2}/frame'></iframe><a href=/a>a</a>";
    let own = Site::new()
        .page("/", with("home", home))
        .page(
            "/a",
            with("a", "<img src=/logo.png><img src='{host2}/private/x.png'>"),
        )
        .page(
            "/style.css",
            css("@import 'more.css'; body { background: url(/bg.png) }"),
        )
        .page(
            "/more.css",
            css("@font-face { font-family: x; src: url({host1}/font.woff2) }"),
        )
        .page("/icon.ico", image("icon"))
        .page("/logo.png", image("logo"))
        .page("/bg.png", image("background"));
    let cdn = Site::new()
        .page("/", with("the network", ""))
        .page("/lib.js", script("let x = '/not-asked-for.png';"))
        .page("/logo-2x.png", image("a larger logo"))
        .page(
            "/font.woff2",
            Answer::with_type(200, "font/woff2", b"wOF2".to_vec()),
        );
    let other = Site::new()
        .robots("User-agent: *\nDisallow: /private\n")
        .page(
            "/frame",
            with("frame", "<img src=/in-frame.png><a href=/linked>x</a>"),
        )
        .page("/in-frame.png", image("in the frame"))
        .page("/linked", with("linked", ""))
        .page("/private/x.png", image("private"));
    Web::start(vec![own, cdn, other])
}

/// What was asked of a host, but for robots.txt, sorted.
fn asked(web: &Web, host: usize) -> Vec<String> {
    let mut paths = web.asked(host);
    paths.sort();
    paths
}

fn by_mode(mode: &str) -> String {
    format!("[crawl]\nrequisites = \"{mode}\"\n")
}

/// Crawls from the first host by these settings.
fn crawl(web: &Web, settings: &str) -> (Place, Output) {
    let place = Place::new();
    let output = place.crawl_by(settings, &[&web.url(OWN, "/"), "--allow-private"]);
    (place, output)
}

fn line<'a>(log: &'a [LogLine], url: &str) -> &'a LogLine {
    let mut of_url = log.iter().filter(|it| it.url == url);
    let line = of_url
        .next()
        .unwrap_or_else(|| panic!("{url} was not visited"));
    assert!(of_url.next().is_none(), "{url} was visited twice");
    line
}

/// URL, verdict and path of each page.
fn judged(place: &Place) -> BTreeMap<String, (String, String)> {
    let pages = place.pages().into_iter();
    pages
        .map(|(url, line)| (url, (line.verdict.to_string(), line.path)))
        .collect()
}

/// The innocent first.
#[test]
fn a_page_that_is_framed_or_an_image_that_is_linked_is_a_page() {
    let home = "<iframe src=/framed></iframe><a href=/framed>f</a>\
        <img src=/big.png><a href=/big.png>b</a><iframe src=/only-framed></iframe>\
        <link rel=icon href=/small.png><a href=/late>l</a>";
    let site = || {
        Site::new()
            .page("/", with("home", home))
            .page("/framed", with("framed", "<a href=/deeper>d</a>"))
            .page("/only-framed", with("only framed", ""))
            .page("/deeper", with("deeper", ""))
            .page("/late", Answer::html(page("late", &["/small.png"])))
            .page("/big.png", image("big"))
            .page("/small.png", image("small"))
    };
    let mut of_modes = Vec::new();
    for mode in ["none", "all"] {
        let web = Web::start(vec![site()]);
        let (place, _) = crawl(&web, &by_mode(mode));
        let counters = place.status().counters;
        let judged = judged(&place).into_iter();
        let judged: BTreeMap<_, _> = judged
            .map(|(url, of)| (url.replace(&web.url(0, ""), ""), of))
            .collect();
        assert_eq!(judged.len(), 7, "{judged:#?}");
        let asked = asked(&web, 0);
        let times = |path: &str| asked.iter().filter(|it| *it == path).count();
        for path in ["/", "/framed", "/only-framed", "/deeper", "/big.png"] {
            assert_eq!(times(path), 1, "{path} with {mode}");
        }
        if mode == "all" {
            // It was found to be a page after it had been fetched.
            assert_eq!((times("/small.png"), times("/favicon.ico")), (2, 1));
            assert_eq!(counters.requisites.fetched, 2, "{asked:?}");
            let records = place.records();
            only(&records, "revisit", &web.url(0, "/small.png"));
            only(&records, "response", &web.url(0, "/small.png"));
        }
        of_modes.push((judged, counters.pages, counters.verdicts, counters.links));
    }
    assert_eq!(of_modes[0], of_modes[1]);
}

/// Neither a verdict nor what is learned rests on bytes that were stored for a requisite.
#[test]
fn a_page_with_the_bytes_of_a_file_is_a_page_of_its_own() {
    let twin = page("a text of some words that stands twice", &[]);
    let own = Site::new()
        .page(
            "/",
            with(
                "home",
                "<iframe src='{host1}/frame'></iframe><a href=/late>l</a>",
            ),
        )
        .page("/late", Answer::html(page("late", &["/twin"])))
        .page("/twin", Answer::html(twin.clone()));
    let web = Web::start(vec![own, Site::new().page("/frame", Answer::html(twin))]);
    let (place, _) = crawl(&web, &by_mode("all"));
    let counters = place.status().counters;
    assert_eq!((counters.pages, counters.verdicts["unique"]), (3, 3));
    let records = place.records();
    let stored = |url: &str| {
        let of_url = records
            .iter()
            .filter(|it| it.header("WARC-Target-URI") == Some(url));
        of_url
            .map(kind)
            .filter(|it| *it != "request")
            .collect::<Vec<_>>()
            .join(" ")
    };
    let mut kinds = [stored(&web.url(0, "/twin")), stored(&web.url(1, "/frame"))];
    kinds.sort();
    assert_eq!(kinds, ["response", "revisit"]);
    // Its text is read from the bytes of the other.
    let told = place.told(&[]);
    let twin = told
        .iter()
        .find(|it| it["url"] == web.url(0, "/twin"))
        .expect("it is a page");
    assert!(
        twin["text"]
            .as_str()
            .is_some_and(|it| it.contains("stands twice")),
        "{twin}"
    );
    place.ask(&["check"]).expect(0);
}

#[test]
fn each_mode_asks_for_what_it_says() {
    let check = |settings: &str, expected: [&[&str]; 3]| {
        let web = web();
        let (place, _) = crawl(&web, settings);
        for (host, expected) in expected.into_iter().enumerate() {
            assert_eq!(asked(&web, host), expected, "host {host}, {settings}");
        }
        // Nobody is asked for rules that are not needed.
        let is_asked = |host| web.requests().iter().any(|it| it.host == host);
        for host in [CDN, OTHER] {
            let is_needed = !expected[host].is_empty();
            assert_eq!(is_asked(host), is_needed, "host {host}, {settings}");
        }
        let counters = place.status().counters;
        assert_eq!(
            (counters.pages, counters.failed, counters.forbidden),
            (2, 0, 0)
        );
        let expected: usize = expected.iter().map(|paths| paths.len()).sum();
        assert_eq!(
            counters.requisites.fetched as usize + 2,
            expected,
            "{settings}"
        );
    };
    let own = [
        "/",
        "/a",
        "/bg.png",
        "/favicon.ico",
        "/icon.ico",
        "/logo.png",
        "/more.css",
        "/style.css",
    ];
    let cdn = ["/font.woff2", "/lib.js", "/logo-2x.png"];
    let other = ["/frame", "/in-frame.png"];
    check("", [&["/", "/a"], &[], &[]]);
    check(&by_mode("none"), [&["/", "/a"], &[], &[]]);
    check(&by_mode("same-host"), [&own, &[], &[]]);
    check(&by_mode("scope"), [&own, &[], &[]]);
    check(&by_mode("all"), [&own, &cdn, &other]);
    // The host of the page decides, not that of the file.
    let at = |host: &str, mode: &str| {
        format!("[[domain]]\nmatch = [\"{host}\"]\ncrawl.requisites = \"{mode}\"\n")
    };
    check(&at("127.0.7.1", "all"), [&own, &cdn, &other]);
    check(&at("127.0.7.2", "all"), [&["/", "/a"], &[], &[]]);
    let but_there = by_mode("all") + &at("127.0.7.1", "none");
    let web = web();
    crawl(&web, &but_there);
    assert_eq!(asked(&web, OWN), ["/", "/a"]);
}

/// With a second seed, its host is in the scope.
#[test]
fn the_scope_is_that_of_the_crawl() {
    let web = web();
    let place = Place::new();
    let seeds = [&*web.url(OWN, "/"), &web.url(CDN, "/"), "--allow-private"];
    place.crawl_by(&by_mode("scope"), &seeds);
    let cdn = [
        "/",
        "/favicon.ico",
        "/font.woff2",
        "/lib.js",
        "/logo-2x.png",
    ];
    assert_eq!(asked(&web, CDN), cdn);
    assert!(asked(&web, OTHER).is_empty());
    let left_out = place.ask(&["report", "--json"]).json();
    let left_out = left_out["left_out"].as_array().expect("a list");
    let elsewhere = left_out.iter().find(|it| it["group"] == "requisites");
    let elsewhere = elsewhere.expect("two files are elsewhere");
    assert_eq!(
        (&elsewhere["reason"], &elsewhere["count"]),
        (&"out-of-scope".into(), &2.into())
    );
}

#[test]
fn a_file_is_archived_told_and_counted_as_one_and_as_no_page() {
    let web = web();
    let (place, output) = crawl(&web, &by_mode("all"));
    let log = place.log();
    let of = |host, path: &str| line(&log, &web.url(host, path));
    let font = of(CDN, "/font.woff2");
    assert_eq!(
        (font.verdict.name(), &*font.path, font.status),
        ("requisite", "EEE", 200)
    );
    assert_eq!(font.via, Some(web.url(OWN, "/more.css")));
    assert_eq!(font.page, None);
    assert_eq!(of(OWN, "/favicon.ico").status, 404);
    let forbidden = of(OTHER, "/private/x.png");
    assert_eq!(forbidden.verdict.name(), "forbidden");
    let records = place.records();
    for (host, path) in [
        (OWN, "/bg.png"),
        (CDN, "/font.woff2"),
        (OTHER, "/in-frame.png"),
    ] {
        only(&records, "response", &web.url(host, path));
    }
    assert!(output.stdout.contains("requisites"), "{output:#?}");
    assert!(
        output.stdout.contains("files that pages need"),
        "{output:#?}"
    );

    let counters = place.status().counters.requisites;
    assert_eq!(
        (counters.fetched, counters.failed, counters.forbidden),
        (11, 0, 1)
    );
    assert_eq!(counters.statuses, BTreeMap::from([(2, 10), (4, 1)]));
    assert_eq!(counters.named.get("admitted"), Some(&12));
    // The logo of the second page.
    assert_eq!(counters.named.get("known"), Some(&1));
    assert_eq!(place.told(&["--no-text"]).len(), 2);

    let why = |host, path: &str| place.ask(&["why", &web.url(host, path)]).expect(0).stdout;
    let told = why(CDN, "/font.woff2");
    assert!(told.contains("done: status 200, requisite"), "{told}");
    let needed_by = format!("needed by   {}\n", web.url(OWN, "/"));
    assert!(told.contains(&needed_by), "{told}");
    assert!(told.contains("response in warc/"), "{told}");
    let told = why(OTHER, "/private/x.png");
    assert!(
        told.contains("not fetched: robots.txt forbids it"),
        "{told}"
    );
    place.ask(&["why", &web.url(OTHER, "/linked")]).expect(5);
    let shown = place.ask(&["show", &web.url(OWN, "/bg.png")]).expect(0);
    assert!(shown.stdout.contains("image background"), "{shown:#?}");
    let report = place.ask(&["report"]).expect(0).stdout;
    assert!(
        report.contains("requisites            11  files"),
        "{report}"
    );
    assert!(report.contains("file: forbidden by robots.txt"), "{report}");
    place.ask(&["check"]).expect(0);

    // What is known is not asked for again.
    web.clear_log();
    place.crawl_by(&by_mode("all"), &[&web.url(OWN, "/"), "--allow-private"]);
    assert!(web.requests().is_empty(), "{:#?}", web.requests());
}

#[test]
fn the_same_bytes_are_stored_once() {
    let site = Site::new()
        .page(
            "/",
            with(
                "home",
                "<img src=/1.png><img src=/2.png><link rel=icon href=/3.png>",
            ),
        )
        .page("/1.png", image("same"))
        .page("/2.png", image("same"))
        .page("/3.png", image("same").content_type("image/x-icon"));
    let web = Web::start(vec![site]);
    let (place, _) = crawl(&web, &(by_mode("all") + "[archive]\nstore = \"all\"\n"));
    let counters = place.status().counters.requisites;
    assert_eq!((counters.fetched, counters.same), (3, 1));
    let records = place.records();
    let kinds = |path: &str| {
        let url = web.url(0, path);
        let of_url = |it: &&ReadRecord| it.header("WARC-Target-URI") == Some(&url);
        let kinds = records.iter().filter(of_url);
        let kinds: Vec<_> = kinds.map(kind).collect();
        kinds.join(" ")
    };
    // The two are read at the same time: whichever comes second repeats the other.
    let [first, second] = match &*kinds("/1.png") {
        "request response" => ["/1.png", "/2.png"],
        _ => ["/2.png", "/1.png"],
    };
    assert_eq!(kinds(first), "request response");
    assert_eq!(kinds(second), "request revisit");
    // A player would say that it is another kind of file.
    assert_eq!(kinds("/3.png"), "request response");
    let log = place.log();
    let original = line(&log, &web.url(0, second)).original.clone();
    assert_eq!(original, Some(web.url(0, first)));
}

/// A player asks for what is written, and some pages write one URL in several ways.
#[test]
fn each_form_of_a_url_is_a_file_of_its_own() {
    let home = "<img src='/i.png?utm_source=x'><img src=/i.png><img src='/i.png?b=1&amp;a=2'>\
        <link rel=icon href=/i.png>";
    let site = Site::new()
        .page("/", with("home", home))
        .page("/i.png", image("one"));
    let web = Web::start(vec![site]);
    let (place, _) = crawl(&web, &by_mode("all"));
    assert_eq!(
        asked(&web, 0),
        ["/", "/i.png", "/i.png?b=1&a=2", "/i.png?utm_source=x"]
    );
    assert_eq!(place.status().counters.requisites.same, 2);
}

#[test]
fn a_file_that_moved_is_fetched_where_it_is() {
    let site = Site::new()
        .page(
            "/",
            with("home", "<img src=/moved.png><link rel=icon href=/loop.png>"),
        )
        .page("/moved.png", Answer::redirect(302, "{host1}/there.css"))
        .page("/loop.png", Answer::redirect(302, "/loop.png"));
    let web = Web::start(vec![site, Site::new().page("/there.css", image("there"))]);
    let (place, _) = crawl(&web, &by_mode("all"));
    let log = place.log();
    let there = line(&log, &web.url(1, "/there.css"));
    assert_eq!((there.verdict.name(), &*there.path), ("requisite", "ER"));
    assert_eq!(there.via, Some(web.url(0, "/moved.png")));
    assert_eq!(place.status().counters.requisites.fetched, 3);
}
