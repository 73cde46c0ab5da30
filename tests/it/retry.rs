//! Failed URLs that are tried again: by themselves, and because a person asks.

use std::time::Instant;

use crate::run::{Output, PATIENCE, Place, page};
use crate::web::{Answer, Site, Web};

/// No waits, and one attempt.
const ONE_ATTEMPT: &str = "[politeness]\ndelay = \"0s\"\nbackoff = \"1ms\"\nattempts = 1\n";

/// `/`, which links to `/a`, which breaks off the first time, and to `/b`.
fn site() -> Site {
    let home = Answer::html(page("home", &["/a", "/b"]));
    let broken = vec![Answer::raw(""), Answer::html(page("a", &[]))];
    Site::new()
        .robots("")
        .page("/", home)
        .page_in_turn("/a", broken)
        .page("/b", Answer::html(page("b", &[])))
}

fn retry(place: &Place, arguments: &[&str]) -> Output {
    place.ask(&[&["retry"], arguments].concat())
}

fn times(web: &Web, path: &str) -> usize {
    web.requests().iter().filter(|it| it.path == path).count()
}

/// Puts back the one page whose connection broke off, in a crawl that may not have committed that
/// yet. Returns what is said.
#[track_caller]
fn put_back(place: &Place) -> String {
    let start = Instant::now();
    loop {
        let said = retry(place, &["--class", "disconnect"]).expect(0).stdout;
        if !said.starts_with("requeued 0 ") {
            assert!(said.starts_with("requeued 1 URL (1 disconnect)"), "{said}");
            return said;
        }
        assert!(start.elapsed() < PATIENCE, "{said}");
    }
}

/// Pages, URLs that failed and URLs that wait.
#[track_caller]
fn counts(place: &Place) -> (u64, u64, u64) {
    let counters = place.status().counters;
    (counters.pages, counters.failed, counters.queued)
}

#[test]
fn what_failed_is_put_back_by_class_and_host() {
    let web = Web::start(vec![site()]);
    let place = Place::new();
    place.crawl_by(ONE_ATTEMPT, &[&web.url(0, "/")]);
    assert_eq!(counts(&place), (2, 1, 0));
    for others in [
        &["--class", "timeout,dns"][..],
        &["--class", "disconnect", "--host", "a.example"],
    ] {
        let said = retry(&place, others).expect(0).stdout;
        assert_eq!(said, "requeued 0 URLs\n");
    }
    let said = retry(&place, &["--class", "dns,disconnect"])
        .expect(0)
        .stdout;
    assert!(said.starts_with("requeued 1 URL (1 disconnect)"), "{said}");
    let counters = place.status().counters;
    assert_eq!((counters.failed, counters.queued), (0, 1));
    assert!(counters.failures.is_empty(), "{counters:?}");
    // Once is enough.
    let said = retry(&place, &["--class", "disconnect"]).expect(0).stdout;
    assert_eq!(said, "requeued 0 URLs\n");
    place.crawl_by(ONE_ATTEMPT, &[]);
    assert_eq!(counts(&place), (3, 0, 0));
    assert_eq!(times(&web, "/a"), 2);
}

#[test]
fn a_crawl_that_runs_puts_back_what_failed() {
    let web = Web::start(vec![site()]);
    let place = Place::new();
    let config = place.file("config.toml", ONE_ATTEMPT);
    // robots.txt, home and the broken page are answered; the next one is not yet.
    web.hold_after(3);
    let running = place.start(&[&web.url(0, "/"), "--config", &config]);
    assert!(web.wait_for_requests(4, PATIENCE));
    put_back(&place);
    web.release();
    running.end().expect(0);
    assert_eq!(counts(&place), (3, 0, 0));
    assert_eq!(times(&web, "/a"), 2);
}

/// A host that waits for an hour after a failure is asked at once, also by a crawl that runs.
#[test]
fn a_host_that_waits_in_a_crawl_that_runs_is_asked_again_at_once() {
    let broken = vec![Answer::raw(""), Answer::html(page("a", &[]))];
    let waits = Site::new()
        .robots("")
        .page("/", Answer::html(page("home", &["/a", "{host1}/"])))
        .page_in_turn("/a", broken);
    let holds = Site::new()
        .robots("")
        .page("/", Answer::html(page("other", &[])));
    let web = Web::start(vec![waits, holds]);
    let place = Place::new();
    let config = place.file("config.toml", &ONE_ATTEMPT.replace("1ms", "1h"));
    // Both robots.txt, home and the broken page are answered. The page of the other host is not, so
    // the crawl goes on, and nothing of the first one says that it is well again.
    web.hold_after(4);
    let seed = web.url(0, "/");
    let anywhere = ["--scope", "any", "--allow-private"];
    let running = place.start(&[&[&*seed, "--config", &config], &anywhere[..]].concat());
    assert!(web.wait_for_requests(5, PATIENCE));
    let said = put_back(&place);
    assert!(said.contains("1 host no longer waits"), "{said}");
    assert!(web.wait_for_requests(6, PATIENCE));
    web.release();
    running.end().expect(0);
    assert_eq!(counts(&place), (3, 0, 0));
}

#[test]
fn a_parked_host_is_asked_again_at_once() {
    let answers = [503, 503, 503, 404].map(Answer::status).to_vec();
    let web = Web::start(vec![site().page_in_turn("/robots.txt", answers)]);
    let place = Place::new();
    let text = "[politeness]\ndelay = \"0s\"\nbackoff = \"1ms\"\n";
    place.crawl_with_losses(text, &[&web.url(0, "/")]);
    let counters = place.status().counters;
    assert_eq!((counters.pages, counters.parked), (0, 1));
    let said = retry(&place, &["--class", "overloaded"]).expect(0).stdout;
    assert!(said.contains("1 host no longer waits"), "{said}");
    place.crawl_by(text, &[]);
    let counters = place.status().counters;
    assert_eq!(
        (counters.pages, counters.parked, counters.queued),
        (3, 0, 0)
    );
    assert_eq!(times(&web, "/robots.txt"), 4);
}

#[test]
fn errors_that_pass_cost_no_page() {
    let challenge = "<title>Just a moment...</title><h1>Just a moment...</h1>\
                     <p>Checking your browser before accessing the site. Enable JavaScript and \
                     cookies to continue.</p><script src=/cdn-cgi/challenge-platform/x.js></script>";
    let whole = |name: &str| Answer::html(page(name, &[]));
    // A gzip stream that ends after its header.
    let cut = Answer::with_type(
        200,
        "text/html",
        vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b],
    );
    let cut = cut.header("Content-Encoding", "gzip");
    let passing = [
        ("/500", Answer::status(500)),
        ("/502", Answer::status(502)),
        ("/504", Answer::status(504)),
        ("/cut", cut),
        ("/challenge", Answer::html(challenge)),
    ];
    let links: Vec<&str> = passing.iter().map(|it| it.0).collect();
    let links = [&links[..], &["/never", "/always"]].concat();
    let mut site = Site::new()
        .robots("")
        .page("/", Answer::html(page("home", &links)))
        .page("/never", Answer::status(501))
        .page("/always", Answer::status(500));
    for (path, answer) in passing {
        site = site.page_in_turn(path, vec![answer, whole(path)]);
    }
    let web = Web::start(vec![site]);
    let place = Place::new();
    let text = "[politeness]\ndelay = \"0s\"\nbackoff = \"1ms\"\n";
    place.crawl_by(text, &[&web.url(0, "/")]);
    let log = place.log();
    for path in ["/500", "/502", "/504", "/cut", "/challenge"] {
        let of = log.iter().filter(|line| line.url == web.url(0, path));
        let verdicts: Vec<_> = of.map(|line| line.verdict.name()).collect();
        assert_eq!(verdicts, ["retry", "unique"], "{path}");
    }
    // What never answers otherwise is asked as often as is said, and no longer.
    assert_eq!((times(&web, "/never"), times(&web, "/always")), (1, 3));
}

/// From cron, beside hosts that fail: the queue does not grow.
#[test]
fn a_page_that_was_answered_is_put_back_once() {
    let site = Site::new()
        .robots("")
        .page("/", Answer::html(page("home", &["/down"])))
        .page("/down", Answer::status(500));
    let web = Web::start(vec![site]);
    let place = Place::new();
    place.crawl_by(ONE_ATTEMPT, &[&web.url(0, "/")]);
    for _ in 0..3 {
        retry(&place, &["--class", "server-error"]).expect(0);
    }
    assert_eq!(place.status().counters.queued, 1);
    place.crawl_by(ONE_ATTEMPT, &[]);
    assert_eq!(times(&web, "/down"), 2);
}

#[test]
fn a_class_that_does_not_exist_is_refused() {
    let place = Place::new();
    let refused = retry(&place, &["--class", "dsn"]).expect(2);
    refused.says(&["dsn", "dns"]);
    retry(&place, &["--class", "dns"]).expect(3);
}
