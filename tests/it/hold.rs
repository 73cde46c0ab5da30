//! Hosts that a person holds: they see no request until they are released, whatever happens to the
//! process, and nothing of them is lost.

use rustix::process::Signal;
use serde_json::Value;

use crate::corpus;
use crate::run::{Output, PATIENCE, Place, Running, anchors};
use crate::web::{Answer, Site, Web};

/// How long is waited for requests that must not come: some delays of the crawl.
const QUIET: std::time::Duration = std::time::Duration::from_millis(700);

/// A site with so many pages, all linked from its front page.
fn pages(count: usize) -> Site {
    let paths: Vec<_> = (0..count).map(|number| format!("/{number}")).collect();
    let mut site = Site::new()
        .robots("")
        .page("/", Answer::html(anchors(paths.clone())));
    for path in &paths {
        let seed = path.trim_start_matches('/').parse().unwrap_or(0);
        let text = corpus::text(seed, 80);
        site = site.page(
            path,
            Answer::html(format!("<title>{path}</title><p>{text}</p>")),
        );
    }
    site
}

/// A site whose pages lead to more without end.
fn endless() -> Site {
    Site::new().robots("").otherwise(|request| {
        let path = request.bare_path();
        let number: u64 = path.trim_start_matches('/').parse().unwrap_or(0);
        let next = anchors([format!("/{}", number + 1)]);
        let text = corpus::text(number, 80);
        Answer::html(format!("<title>{path}</title><p>{text}</p>{next}"))
    })
}

/// The host of a site as commands name it.
fn name(web: &Web, site: usize) -> String {
    let url = web.url(site, "/");
    url.trim_end_matches('/').to_owned()
}

/// Checks that a command shows all of these.
#[track_caller]
fn shows(output: Output, parts: &[&str]) {
    let output = output.expect(0);
    for part in parts {
        assert!(output.stdout.contains(part), "no {part:?} in {output:#?}");
    }
}

/// Number of requests that a site has seen.
fn requests(web: &Web, site: usize) -> usize {
    web.asked(site).len()
}

#[test]
fn a_held_host_is_left_alone_and_another_goes_on() {
    let crawl = Place::new();
    let web = Web::start(vec![endless(), endless()]);
    let (held, other) = (name(&web, 0), name(&web, 1));
    let seeds = [format!("{held}/"), format!("{other}/")];
    let mut daemon = crawl.gleaner(&["daemon", "--delay", "20ms"]);
    daemon.args(&seeds);
    let running = Running::start(daemon);
    assert!(web.wait_for_requests(12, PATIENCE));
    crawl
        .ask(&["pause", "--host", &held])
        .expect(0)
        .says(&["gets no requests until"]);
    web.clear_log();
    assert!(web.wait_for_requests(10, PATIENCE));
    assert_eq!(requests(&web, 0), 0);
    assert!(requests(&web, 1) >= 10);
    // It is known wherever one looks; the status is written once a second.
    let names_it = |status: &Value| status["held"][0]["host"] == held.as_str();
    while !names_it(&crawl.ask(&["status", "--json"]).json()) {}
    shows(
        crawl.ask(&["status"]),
        &["held        http://", "parked or held host"],
    );
    shows(crawl.ask(&["queue", "ls"]), &["held since"]);
    let waiting = crawl.ask(&["queue", "ls", "--urls", "10", "--json"]).json();
    let urls = waiting["urls"].as_array().expect("a list").iter();
    let mut urls = urls.filter_map(Value::as_str);
    let url = urls.find(|url| url.starts_with(&held)).expect("it waits");
    shows(crawl.ask(&["why", url]), &["held by you since"]);
    // Twice is once, and a host that is not held is not released.
    crawl.ask(&["pause", "--host", &held]).expect(0);
    crawl
        .ask(&["resume", "--host", &other])
        .expect(0)
        .says(&["was not paused"]);
    // What waits for it is no reason to end, nor is it lost.
    crawl
        .ask(&["resume", "--host", &held])
        .expect(0)
        .says(&["resumed: http://"]);
    web.clear_log();
    while requests(&web, 0) < 5 {
        assert!(web.wait_for_requests(web.requests().len() + 1, PATIENCE));
    }
    crawl.ask(&["stop"]).expect(0);
    running.end().expect(0);
}

/// The crawl has nothing else to fetch then, and ends.
#[test]
fn the_last_host_of_a_crawl_is_held() {
    let crawl = Place::new();
    let web = Web::start(vec![pages(30)]);
    let held = name(&web, 0);
    let running = Running::start(crawl.gleaner(&["crawl", &held, "--delay", "30ms"]));
    assert!(web.wait_for_requests(3, PATIENCE));
    crawl
        .ask(&["pause", "--host", &held])
        .expect(0)
        .says(&["gets no requests until"]);
    running.end().expect(0);
    let before = requests(&web, 0);
    crawl.crawl(&[]);
    assert_eq!(requests(&web, 0), before);
    crawl.ask(&["resume", "--host", &held]).expect(0);
    crawl.crawl(&[]);
    let asked: std::collections::BTreeSet<_> = web.asked(0).into_iter().collect();
    assert_eq!(asked.len(), 31);
}

#[test]
fn a_hold_outlives_a_kill_and_all_is_fetched_in_the_end() {
    // Enough for some to be left when the command comes, however late that is.
    const PAGES: usize = 200;
    let crawl = Place::new();
    let web = Web::start(vec![pages(PAGES), pages(PAGES)]);
    let (held, other) = (name(&web, 0), name(&web, 1));
    let seeds = [format!("{held}/"), format!("{other}/")];
    let mut daemon = crawl.gleaner(&["daemon", "--delay", "30ms"]);
    daemon.args(&seeds);
    let running = Running::start(daemon);
    assert!(web.wait_for_requests(10, PATIENCE));
    crawl.ask(&["pause", "--host", &held]).expect(0);
    running.signal(Signal::KILL);
    running.end();
    web.clear_log();
    // A run that is to end does not wait for it, and says what waits.
    let delay = ["crawl", "--delay", "0s"];
    shows(
        crawl.ask(&delay),
        &["waiting, host held", "at parked or held hosts"],
    );
    assert_eq!(requests(&web, 0), 0);
    shows(crawl.ask(&["status"]), &["held        http://"]);
    // On a crawl that does not run, it is released and held as well.
    crawl
        .ask(&["resume", "--host", &held])
        .expect(0)
        .says(&["resumed: http://"]);
    crawl.ask(&["pause", "--host", &held]).expect(0);
    crawl.ask(&delay).expect(0);
    assert_eq!(requests(&web, 0), 0);
    crawl.ask(&["resume", "--host", &held]).expect(0);
    crawl.ask(&delay).expect(0);
    let status = crawl.status();
    assert_eq!((status.counters.queued, status.counters.parked), (0, 0));
    // Each page once, but for the one that the kill may have cut off.
    assert_eq!(status.counters.pages, 2 * (PAGES as u64 + 1));
}

#[test]
fn what_is_no_host_is_refused_and_says_why() {
    let crawl = Place::new();
    let web = Web::start(vec![pages(1)]);
    crawl
        .ask(&["crawl", "--delay", "0s", &web.url(0, "/")])
        .expect(0);
    for host in ["*.example.org", "example.org/path", ""] {
        crawl
            .ask(&["pause", "--host", host])
            .expect(2)
            .says(&["names no host"]);
    }
    crawl.ask(&["pause"]).expect(3);
    assert!(!web.wait_for_requests(web.requests().len() + 1, QUIET));
}
