//! robots.txt and the robots meta tag, from the server's side.

use std::collections::BTreeMap;

use gleaner::engine::Counters;

use crate::run::{LOST, Place, page, run};
use crate::web::{Answer, Request, Site, Web};

/// Settings that make the waits between attempts short.
const SHORT_BACKOFF: &str = "[politeness]\nbackoff = \"10ms\"\nmax_backoff = \"100ms\"\n";

/// Crawls host 0 of the sites from `/` with short waits between attempts; all that was asked.
fn crawl(sites: Vec<Site>, arguments: &[&str]) -> (Vec<Request>, Place) {
    let web = Web::start(sites);
    let place = Place::new();
    place.crawl_by(SHORT_BACKOFF, &[&[&*web.url(0, "/")], arguments].concat());
    (web.requests(), place)
}

fn paths(requests: &[Request]) -> Vec<&str> {
    requests.iter().map(|request| &*request.path).collect()
}

/// `/`, which links to `/a` and `/private/b`.
fn site() -> Site {
    Site::new()
        .page("/", Answer::html(page("home", &["/a", "/private/b"])))
        .page("/a", Answer::html(page("a", &[])))
        .page("/private/b", Answer::html(page("b", &[])))
}

const FORBIDDING: &str = "User-agent: *\nDisallow: /private/\n";

#[test]
fn what_robots_txt_forbids_is_never_asked_for() {
    let (requests, place) = crawl(vec![site().robots(FORBIDDING)], &[]);
    assert_eq!(paths(&requests), ["/robots.txt", "/", "/a"]);
    let log = place.log();
    let line = log.iter().find(|line| line.url.ends_with("/private/b"));
    assert_eq!(line.map(|line| line.verdict.name()), Some("forbidden"));
    assert_eq!(place.status().counters.forbidden, 1);
}

#[test]
fn rules_for_our_name_win_over_rules_for_all() {
    let text = "User-agent: *\nDisallow: /\n\nUser-agent: Gleaner\nDisallow: /a\n";
    let (requests, _) = crawl(vec![site().robots(text)], &[]);
    assert_eq!(paths(&requests), ["/robots.txt", "/", "/private/b"]);
    let web = Web::start(vec![site().robots(text)]);
    let arguments = [&*web.url(0, "/"), "--user-agent", "someoneelse/1.0"];
    Place::new().crawl_with_losses("", &arguments);
    assert_eq!(paths(&web.requests()), ["/robots.txt"]);
}

#[test]
fn a_robots_txt_that_is_not_there_allows_all() {
    let all = ["/robots.txt", "/", "/a", "/private/b"];
    let (requests, _) = crawl(vec![site()], &[]);
    assert_eq!(paths(&requests), all);
    let gone = site().page("/robots.txt", Answer::status(410));
    let (requests, _) = crawl(vec![gone], &[]);
    assert_eq!(paths(&requests), all);
}

/// A host whose robots.txt answers so is parked after three attempts: its URLs are not given up,
/// and the crawl does not stay for it. When its time has come it is asked again.
fn check_unreachable(answer: Answer) {
    let answers = vec![answer.clone(), answer.clone(), answer, Answer::status(404)];
    let web = Web::start(vec![site().page_in_turn("/robots.txt", answers)]);
    let place = Place::new();
    let settings = format!("{SHORT_BACKOFF}park = \"2s\"\n");
    // A host that is asked for ever must fail this test too.
    let arguments = [&*web.url(0, "/"), "--max-duration", "20s"];
    place.crawl_with_losses(&settings, &arguments);
    assert_eq!(paths(&web.requests()), ["/robots.txt"; 3]);
    let counters = place.status().counters;
    assert_eq!((counters.pages, counters.forbidden), (0, 0));
    let of = |counters: &Counters| (counters.queued, counters.parked, counters.parked_hosts);
    assert_eq!(of(&counters), (1, 1, 1));
    web.clear_log();
    // Until the time that it is parked is over, nothing is done.
    while place.status().counters.pages == 0 {
        let config = place.file("settings.toml", &settings);
        let arguments = [&arguments[..], &["--config", &config]].concat();
        let output = run(place.command(&arguments));
        assert!(matches!(output.code, 0 | LOST), "{output:?}");
    }
    let wanted = ["/robots.txt", "/", "/a", "/private/b"];
    assert_eq!(paths(&web.requests()), wanted);
    assert_eq!(of(&place.status().counters), (0, 0, 0));
}

#[test]
fn a_host_whose_robots_txt_cannot_be_had_is_left_alone() {
    check_unreachable(Answer::status(503));
    // Nothing but a closed connection.
    check_unreachable(Answer::raw(""));
}

#[test]
fn a_host_whose_robots_txt_is_an_internal_error_is_left_alone() {
    // RFC 9309, section 2.3.1.4: server errors mean complete disallow.
    check_unreachable(Answer::status(500));
}

#[test]
fn a_robots_txt_that_comes_at_the_second_attempt_is_obeyed() {
    let answers = vec![Answer::status(503), Answer::text(FORBIDDING)];
    let (requests, _) = crawl(vec![site().page_in_turn("/robots.txt", answers)], &[]);
    assert_eq!(paths(&requests), ["/robots.txt", "/robots.txt", "/", "/a"]);
}

#[test]
fn redirects_of_robots_txt_are_followed() {
    let moved = site()
        .page("/robots.txt", Answer::redirect(301, "/rules"))
        .page("/rules", Answer::redirect(302, "/rules.txt"))
        .page("/rules.txt", Answer::text(FORBIDDING));
    let (requests, _) = crawl(vec![moved], &[]);
    let wanted = ["/robots.txt", "/rules", "/rules.txt", "/", "/a"];
    assert_eq!(paths(&requests), wanted);
}

#[test]
fn redirects_of_robots_txt_without_end_allow_all() {
    // RFC 9309, section 2.3.1.2: after five hops it may be taken as not there.
    let endless = site()
        .page("/robots.txt", Answer::redirect(301, "/r"))
        .page("/r", Answer::redirect(301, "/r"));
    let (requests, _) = crawl(vec![endless], &[]);
    let asked = paths(&requests);
    assert_eq!(asked[asked.len() - 3..], ["/", "/a", "/private/b"]);
    assert_eq!(asked.len(), 9);
}

#[test]
fn links_of_a_page_that_says_nofollow_are_left_alone() {
    let meta = |content: &str| {
        let name = format!("{content}\">");
        let tag = format!("<head><meta name=\"robots\" content=\"{name}");
        Answer::html(page("home", &["/a"]).replace("<head>", &tag))
    };
    let header = |value: &str| Answer::html(page("home", &["/a"])).header("X-Robots-Tag", value);
    for (home, followed) in [
        (meta("noarchive"), true),
        (meta("noindex, NOFOLLOW"), false),
        (meta("none"), false),
        (header("nofollow"), false),
        (header("gleaner: nofollow"), false),
        (header("otherbot: nofollow"), true),
    ] {
        let case = format!("{home:?}");
        let site = || site().page("/", home.clone());
        let (requests, _) = crawl(vec![site()], &[]);
        assert_eq!(paths(&requests).contains(&"/a"), followed, "{case}");
        let (requests, _) = crawl(vec![site()], &["--robots", "ignore"]);
        assert!(paths(&requests).contains(&"/a"), "{case}");
    }
}

#[test]
fn each_wish_about_links_has_a_switch() {
    let links = "<a href=/a>1</a><a href=/n rel=nofollow>2</a><a href=/u rel='noopener ugc'>3</a>\
                 <a href=/s rel=sponsored>4</a><a href=/both rel=ugc>5</a><a href=/both>6</a>";
    let site = || {
        let leaf = |name| Answer::html(page(name, &[]));
        let of_meta = "<head><meta name=robots content=nofollow></head><a href=/m>7</a>";
        let of_header = Answer::html(page("header", &["/h"])).header("X-Robots-Tag", "nofollow");
        let mut site = Site::new()
            .page("/", Answer::html(links))
            .page("/meta", Answer::html(of_meta))
            .page("/header", of_header);
        for path in ["/a", "/n", "/u", "/s", "/both", "/m", "/h"] {
            site = site.page(path, leaf(path));
        }
        site
    };
    let check = |settings: &str, expected: &[&str]| {
        let web = Web::start(vec![site()]);
        let place = Place::new();
        let seeds = ["/", "/meta", "/header"].map(|path| web.url(0, path));
        place.crawl_by(settings, &seeds.each_ref().map(String::as_str));
        let requests = web.requests();
        let mut asked = paths(&requests);
        asked.retain(|path| !["/robots.txt", "/", "/meta", "/header"].contains(path));
        asked.sort_unstable();
        assert_eq!(asked, expected, "{settings}");
        let left = place.links("nofollow");
        assert_eq!(left, 7 - expected.len() as u64, "{settings}");
    };
    check("", &["/a", "/both"]);
    check("[crawl]\nrel_nofollow = \"ignore\"", &["/a", "/both", "/n"]);
    check("[crawl]\nrel_ugc = \"ignore\"", &["/a", "/both", "/u"]);
    check("[crawl]\nrobots_meta = \"ignore\"", &["/a", "/both", "/m"]);
    check(
        "[crawl]\nrobots_header = \"ignore\"",
        &["/a", "/both", "/h"],
    );
    let at_a_host = "[[domain]]\nmatch = [\"127.0.7.1\"]\ncrawl.rel_sponsored = \"ignore\"";
    check(at_a_host, &["/a", "/both", "/s"]);
    let all = ["/a", "/both", "/h", "/m", "/n", "/s", "/u"];
    check("[crawl]\nrobots = \"ignore\"", &all);
}

#[test]
fn what_pages_ask_of_robots_is_told_with_them() {
    let meta = "<head><meta name=robots content='noindex, noai'></head>words of a page";
    let site = Site::new()
        .page(
            "/",
            Answer::html(page("home", &["/meta", "/reserved", "/image"])),
        )
        .page("/meta", Answer::html(meta))
        .page(
            "/reserved",
            Answer::html(page("reserved", &[]))
                .header("tdm-reservation", "1")
                .header("X-Robots-Tag", "otherbot: noai")
                .header("X-Robots-Tag", "gleaner: noarchive"),
        )
        .page(
            "/image",
            Answer::text("").header("X-Robots-Tag", "noimageai"),
        );
    let web = Web::start(vec![site]);
    let place = Place::new();
    place.crawl(&[&web.url(0, "/")]);
    let pages = |arguments: &[&str]| {
        let told = place.told(&[&["--no-text"], arguments].concat());
        let told = told.iter();
        told.map(|page| (page["url"].to_string(), page["robots"].to_string()))
            .collect::<BTreeMap<_, _>>()
    };
    let url = |path: &str| format!("\"{}\"", web.url(0, path));
    let asked = pages(&[]);
    assert_eq!(asked[&url("/")], "[]");
    assert_eq!(asked[&url("/meta")], "[\"noindex\",\"noai\"]");
    assert_eq!(
        asked[&url("/reserved")],
        "[\"noarchive\",\"tdm-reservation\"]"
    );
    assert_eq!(asked[&url("/image")], "[\"noimageai\"]");
    let left: Vec<String> = pages(&["--without", "noai,noimageai,tdm-reservation"])
        .into_keys()
        .collect();
    assert_eq!(left, [url("/")]);
}

#[test]
fn ignoring_robots_txt_is_possible_and_warns() {
    let web = Web::start(vec![site().robots(FORBIDDING)]);
    let seed = web.url(0, "/");
    let output = Place::new().crawl(&[&seed, "--robots", "ignore"]);
    output.says(&["warning: ignoring robots.txt"]);
    assert_eq!(paths(&web.requests()), ["/", "/a", "/private/b"]);
}

#[test]
fn robots_txt_can_be_ignored_at_some_hosts() {
    let site = || site().page("/", Answer::html(page("home", &["/private/b", "{host1}/"])));
    let web = Web::start(vec![site().robots(FORBIDDING), site().robots(FORBIDDING)]);
    let seed = web.url(0, "/");
    let own = web.url(1, "");
    let own = own.trim_start_matches("http://");
    let place = Place::new();
    let text = format!("[[domain]]\nmatch = [\"{own}\"]\ncrawl.robots = \"ignore\"\n");
    let arguments = [&*seed, "--scope", "any", "--allow-private"];
    place
        .crawl_by(&text, &arguments)
        .says(&["warning: ignoring robots.txt of 127.0.7.2"]);
    assert_eq!(
        paths(&web.requests()),
        ["/robots.txt", "/", "/", "/private/b"]
    );
    assert_eq!(
        (web.asked(0), web.asked(1).len()),
        (vec!["/".to_owned()], 2)
    );
    let records = place.records();
    let info = String::from_utf8_lossy(&records[0].block);
    let told = format!("robots: obey (RFC 9309), but ignore at {own}\r\n");
    assert!(info.contains(&told), "{info}");
}

#[test]
fn robots_txt_is_asked_for_once_a_host_and_not_again_when_resuming() {
    let web = Web::start(vec![site().robots(FORBIDDING), site()]);
    let (first, second) = (web.url(0, "/"), web.url(1, "/"));
    let place = Place::new();
    place.crawl(&[&first, &second, "--max-pages", "1"]);
    place.crawl(&["--max-pages", "2"]);
    place.crawl(&[]);
    let mut asked = BTreeMap::new();
    for request in web.requests() {
        *asked.entry((request.host, request.path)).or_insert(0) += 1;
    }
    assert!(asked.values().all(|&times| times == 1), "{asked:?}");
    assert_eq!(asked.len(), 3 + 4);
}

/// A robots.txt that the guard refused is not one that is not there: with other settings it is the
/// first thing that its host is asked for, and it is obeyed.
#[test]
fn a_robots_txt_that_was_refused_is_asked_for_when_it_may_be() {
    let home = Answer::html(page("home", &["{host1}/a", "{host1}/private/b"]));
    let web = Web::start(vec![Site::new().page("/", home), site().robots(FORBIDDING)]);
    let place = Place::new();
    let seed = web.url(0, "/");
    place.crawl(&[&seed, "--scope", "any"]);
    assert_eq!(paths(&web.requests()), ["/robots.txt", "/"]);
    let counters = place.status().counters;
    assert_eq!(counters.failures["guard"], 2);
    let why = place.ask(&["why", &web.url(1, "/a")]).expect(0).stdout;
    assert!(why.contains("robots.txt  unknown: not asked for"), "{why}");
    assert!(why.contains("is not a public address"), "{why}");

    web.clear_log();
    place.ask(&["retry", "--class", "guard"]).expect(0);
    place.crawl(&[&seed, "--scope", "any", "--allow-private"]);
    let asked: Vec<_> = web.requests();
    assert!(asked.iter().all(|request| request.host == 1), "{asked:?}");
    assert_eq!(paths(&asked), ["/robots.txt", "/a"]);
    let why = place.ask(&["why", &web.url(1, "/private/b")]).expect(0);
    assert!(why.stdout.contains("forbidden by line 2"), "{}", why.stdout);
}
