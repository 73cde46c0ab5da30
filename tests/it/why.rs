//! `gleaner why`: for each way in which a URL can end, or not begin, what is told of it.

use insta::assert_snapshot;

use crate::run::{PATIENCE, Place, leaves, linking, page};
use crate::steady::steady;
use crate::web::{Answer, Site, Web};

/// What is told of a URL; the exit code says whether it is known.
#[track_caller]
fn told(web: &Web, crawl: &Place, url: &str) -> String {
    let output = crawl.ask(&["why", url, "--json"]);
    let answer = output.json();
    let is_unknown = answer["state"] == "unknown";
    output.expect(if is_unknown { 5 } else { 0 });
    steady(&answer, web)
}

/// The answer for people has all of these.
#[track_caller]
fn says(crawl: &Place, url: &str, parts: &[&str]) {
    let said = crawl.ask(&["why", url]).stdout;
    for part in parts {
        assert!(said.contains(part), "no {part:?} in {said}");
    }
}

/// A crawl of pages of all fates, one link deep.
fn crawled() -> (Web, Place) {
    let article = page("article", &[]);
    let links = [
        "/article?utm_source=a",
        "/gone",
        "/private/x",
        "{host1}/",
        "/far",
        // Long after what it repeats, which is the original then.
        "/copy",
        "/moved",
    ];
    let site = Site::new()
        .robots("# ours\nUser-agent: *\nDisallow: /private\nAllow: /\n")
        .page("/", Answer::html(page("home", &links)))
        .page("/article?utm_source=a", Answer::html(article.clone()))
        .page("/copy", Answer::html(article))
        .page("/moved", Answer::redirect(301, "/copy"))
        .page("/gone", Answer::status(404))
        .page("/far", Answer::html(page("far", &["/too-far"])));
    let web = Web::start(vec![site, Site::new()]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/"), "--max-depth", "1", "--delay", "20ms"]);
    (web, crawl)
}

#[test]
fn of_a_page_its_visit_and_its_record_are_told() {
    let (web, crawl) = crawled();
    let seed = web.url(0, "/");
    assert_snapshot!("seed", told(&web, &crawl, &seed));
    says(
        &crawl,
        &seed,
        &["status 200, unique", "as a seed", "by line 4: Allow: /"],
    );
    // A name means whichever scheme the crawl knows.
    let bare = seed.strip_prefix("http://").expect("it is over http");
    says(&crawl, bare, &["status 200, unique"]);
    let shown = crawl.ask(&["show", bare]).expect(0).stdout;
    assert_eq!(shown, crawl.ask(&["show", &seed]).stdout);
    // Any form of a URL will do; the one that was requested is told.
    let article = web.url(0, "/article?fbclid=1#part");
    assert_snapshot!("another_form", told(&web, &crawl, &article));
    let stored = &crawl.ask(&["why", &article, "--json"]).json()["visit"]["record"];
    let is_it = |offset| stored["offset"] == offset;
    assert!(
        crawl.records().iter().any(|record| is_it(record.offset)),
        "{stored}"
    );
}

#[test]
fn of_a_duplicate_its_original_is_told() {
    let (web, crawl) = crawled();
    let copy = web.url(0, "/copy");
    assert_snapshot!("duplicate", told(&web, &crawl, &copy));
    let parts = [
        "a raw duplicate (distance 0, similarity 1.000) of",
        "revisit in warc/",
    ];
    says(&crawl, &copy, &parts);
}

#[test]
fn of_what_is_no_page_its_answer_is_told() {
    let (web, crawl) = crawled();
    let moved = web.url(0, "/moved");
    assert_snapshot!("redirect", told(&web, &crawl, &moved));
    let led_to = format!("led to      {}  (done: status 200, a ", web.url(0, "/copy"));
    says(&crawl, &moved, &[&led_to]);
    assert_snapshot!("missing", told(&web, &crawl, &web.url(0, "/gone")));
}

#[test]
fn of_what_robots_txt_forbids_the_line_is_told() {
    let (web, crawl) = crawled();
    let private = web.url(0, "/private/x");
    assert_snapshot!("forbidden", told(&web, &crawl, &private));
    says(
        &crawl,
        &private,
        &["forbidden", "by line 3: Disallow: /private", "as found"],
    );
    // It was never asked for, and nothing may read as if it had been.
    let said = crawl.ask(&["why", &private]).stdout;
    assert!(
        !said.contains("requested") && !said.contains("attempt"),
        "{said}"
    );
}

#[test]
fn of_what_is_unknown_it_is_told_whether_it_would_be_admitted() {
    let (web, crawl) = crawled();
    let outside = web.url(1, "/");
    assert_snapshot!("out_of_scope", told(&web, &crawl, &outside));
    says(
        &crawl,
        &outside,
        &[
            "unknown",
            "out of scope: its host 127.0.7.2",
            "crawl.scope is host",
        ],
    );
    let deep = web.url(0, "/too-far");
    assert_snapshot!("too_deep", told(&web, &crawl, &deep));
    says(
        &crawl,
        &deep,
        &[
            "its first link was refused: too deep: at depth 2 (crawl.max_depth); found on",
            "up to depth 1 (crawl.max_depth)",
        ],
    );
    let nowhere = web.url(0, "/nowhere");
    says(
        &crawl,
        &nowhere,
        &["no page that was fetched is known to link to it"],
    );
    let long = web.url(0, &format!("/{}", "x".repeat(3_000)));
    assert!(told(&web, &crawl, &long).contains("\"answer\": \"malformed\""));
}

#[test]
fn what_a_title_does_to_a_terminal_is_shown_and_not_done() {
    let title = "<title>&#27;]0;PWN&#7;&#27;[31m&#x202e;a title</title>";
    let web = Web::start(vec![Site::new().page("/", Answer::html(title))]);
    let crawl = Place::new();
    let url = web.url(0, "/");
    crawl.crawl(&[&url]);
    for format in [&[][..], &["--json"]] {
        let said = crawl.ask(&[&["why", &url], format].concat()).stdout;
        let moves = |c: char| c != '\n' && c.is_control() || c == '\u{202e}';
        assert!(!said.contains(moves), "{said:?}");
        assert!(said.contains("]0;PWN[31m\\u202ea title"), "{said}");
    }
    let file = crawl.file("sitemap.xml", "<\u{1b}]0;pwn\u{7}x>");
    let said = crate::run::run(crate::run::gleaner(&["sitemap", &file])).stderr;
    assert!(!said.contains(['\u{1b}', '\u{7}']), "{said:?}");
}

#[test]
fn of_what_waits_its_place_is_told() {
    let robots = "User-agent: *\nCrawl-delay: 0.01\n";
    let web = Web::start(vec![linking(&["/a", "/b", "/c"]).robots(robots)]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/"), "--max-pages", "2"]);
    let waiting = web.url(0, "/c");
    assert_snapshot!("queued", told(&web, &crawl, &waiting));
    says(&crawl, &waiting, &["queued: behind 1 URL of its host"]);
}

#[test]
fn of_what_failed_the_reason_is_told() {
    // A port that nobody listens on any more.
    let url = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        format!("http://{}/", listener.local_addr().expect("bound"))
    };
    let crawl = Place::new();
    crawl.crawl_with_losses("politeness.attempts = 1", &[&url, "--robots", "ignore"]);
    let failed = crawl.ask(&["why", &url, "--json"]).json();
    assert_eq!(failed["visit"]["verdict"], "failed");
    assert_eq!(failed["robots"]["answer"], "ignored");
    says(
        &crawl,
        &url,
        &[
            "given up at attempt 1: connect: ",
            "gleaner retry --class connect",
        ],
    );
}

#[test]
fn what_cannot_be_asked_is_said() {
    let crawl = Place::new();
    let says = ["there is no crawl in"];
    crawl
        .ask(&["why", "http://127.0.0.1/"])
        .expect(3)
        .says(&says);
    let says = ["no-url", "hint: give an absolute URL"];
    crawl.ask(&["why", "no-url"]).expect(2).says(&says);
}

/// An empty store would answer everything with nothing.
#[test]
fn a_store_that_is_gone_is_said() {
    let (web, crawl) = crawled();
    std::fs::remove_dir_all(crawl.data().join("store")).expect("it is ours");
    for ask in [&["status"][..], &["why", &web.url(0, "/")], &["report"]] {
        crawl.ask(ask).expect(3).says(&["store"]);
    }
    assert!(!crawl.data().join("store").exists());
}

/// The process that crawls has the store, and answers itself.
#[test]
fn a_running_crawl_tells_too() {
    let home = Answer::html(page("home", &["/next"]));
    let web = Web::start(vec![leaves().robots("").page("/", home)]);
    let crawl = Place::new();
    let url = web.url(0, "/");
    // robots.txt and the seed are answered, what it links to is not.
    web.hold_after(2);
    let _running = crawl.start(&[&url]);
    assert!(web.wait_for_requests(3, PATIENCE));
    assert_eq!(crawl.follow(&[]).next().as_ref(), Some(&url));
    assert!(told(&web, &crawl, &url).contains("\"verdict\": \"unique\""));
    assert_snapshot!(
        "queued_while_it_runs",
        told(&web, &crawl, &web.url(0, "/next"))
    );
    assert!(told(&web, &crawl, &web.url(0, "/other")).contains("\"state\": \"unknown\""));
}

/// A page of which not all links are read may link to it.
#[test]
fn links_that_were_not_read_are_told() {
    let web = Web::start(vec![linking(&["/a", "/b", "/c"])]);
    let crawl = Place::new();
    let seed = web.url(0, "/");
    let output = crawl.crawl_by("page.max_links = 2", &[&seed]);
    assert!(output.stdout.contains("page.max_links"), "{output:#?}");
    let why = crawl.ask(&["why", &web.url(0, "/c")]).expect(5).stdout;
    let told = format!("more links than are read (page.max_links): 1, such as {seed}");
    assert!(why.contains(&told), "{why}");
}
