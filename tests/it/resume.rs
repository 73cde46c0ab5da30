//! A crawl in several runs: each goes on where the last one ended, and says so.

use std::collections::BTreeMap;

use crate::run::{PATIENCE, Place, linking, numbered, page};
use crate::web::{Answer, Site, Web};

/// A host of `/` and pages `/0` to `/n`.
fn host(pages: usize) -> Site {
    linking(&numbered(pages))
}

/// Requests for anything but robots.txt, by host and path.
fn asked(web: &Web) -> BTreeMap<(usize, String), usize> {
    let mut asked = BTreeMap::new();
    for request in web.requests() {
        if request.path != "/robots.txt" {
            *asked.entry((request.host, request.path)).or_default() += 1;
        }
    }
    asked
}

#[test]
fn a_crawl_in_runs_fetches_exactly_what_it_may_and_each_page_once() {
    let web = Web::start(vec![host(9), host(9), host(9)]);
    let seeds: Vec<String> = (0..3).map(|host| web.url(host, "/")).collect();
    let crawl = Place::new();
    let mut arguments: Vec<&str> = seeds.iter().map(String::as_str).collect();
    arguments.extend(["--max-pages", "7"]);
    // Three times ten pages are four runs of seven and one of two.
    let mut done = 0;
    for run in 0..5 {
        let output = crawl.crawl(&arguments);
        let now: usize = asked(&web).values().sum();
        assert_eq!(now - done, if run < 4 { 7 } else { 2 }, "run {run}");
        done = now;
        let status = crawl.status();
        assert!(!status.running);
        assert_eq!(status.counters.pages, done as u64);
        let ending = if run < 4 {
            "--max-pages reached"
        } else {
            "nothing left to fetch"
        };
        assert!(output.stdout.contains(ending), "{output:?}");
        if run > 0 {
            let before = 7 * run;
            assert!(output.stderr.contains("resumed: "), "{output:?}");
            let done = format!(" queued, {before} done");
            assert!(output.stderr.contains(&done), "{output:?}");
        }
    }
    assert!(asked(&web).values().all(|&times| times == 1));
    assert_eq!(asked(&web).len(), 30);
    assert_eq!(crawl.pages().len(), 30);
    crawl.records();

    let requests = web.requests().len();
    let output = crawl.crawl(&arguments);
    output.says(&[
        "resumed: 0 queued, 30 done",
        "nothing left to crawl: 30 done",
        "start over",
    ]);
    assert_eq!(web.requests().len(), requests);
}

#[test]
fn a_page_that_waits_is_counted_when_resuming() {
    let web = Web::start(vec![host(9)]);
    let crawl = Place::new();
    let seed = web.url(0, "/");
    crawl.crawl(&[&seed, "--max-pages", "4"]);
    crawl
        .crawl(&["--max-pages", "1"])
        .says(&["resumed: 6 queued, 4 done"]);
    // Without seeds, the same crawl.
    crawl.crawl(&[]).says(&["resumed: 5 queued, 5 done"]);
    assert_eq!(asked(&web).len(), 10);
}

#[test]
fn new_seeds_are_added_and_known_ones_are_not() {
    let web = Web::start(vec![host(1), host(1)]);
    let crawl = Place::new();
    let (first, second) = (web.url(0, "/"), web.url(1, "/"));
    crawl.crawl(&[&first]).says(&["seeds: 1 new"]);
    let output = crawl.crawl(&[&first, &second]).says(&["seeds: 1 new"]);
    assert!(!output.stderr.contains("nothing left"), "{output:?}");
    assert_eq!(asked(&web).len(), 4);
    assert!(asked(&web).values().all(|&times| times == 1));
    crawl
        .crawl(&[&second])
        .says(&["seeds: 0 new, 1 known", "nothing left to crawl: 4 done"]);
    assert_eq!(crawl.status().counters.seeds, 2);
}

#[test]
fn changed_settings_are_told() {
    let web = Web::start(vec![host(3)]);
    let crawl = Place::new();
    let seed = web.url(0, "/");
    let output = crawl.crawl(&[&seed, "--max-pages", "1"]);
    assert!(!output.stderr.contains("changed setting"), "{output:?}");
    let output = crawl.crawl(&["--max-pages", "1"]);
    assert!(!output.stderr.contains("changed setting"), "{output:?}");
    let output = crawl.crawl(&["--max-pages", "1", "--delay", "10ms", "--max-depth", "4"]);
    output.says(&[
        "changed setting: politeness.delay was 0s, is 10ms",
        "changed setting: crawl.max_depth was none, is 4",
    ]);
}

#[test]
fn a_crawl_goes_on_with_what_it_was_told() {
    let web = Web::start(vec![host(6)]);
    let crawl = Place::new();
    let seed = web.url(0, "/");
    let preset = crawl.file(
        "preset.toml",
        "[crawl]\nexclude = [\"*/1\"]\nmax_depth = 9\n",
    );
    let own = crawl.file("own.toml", "[crawl]\nmax_depth = 8\n");
    let output = crawl.crawl(&[
        &seed,
        "--max-pages",
        "1",
        "--config",
        &preset,
        "--config",
        &own,
        "--exclude",
        "*/2",
        "--exclude",
        "*/3",
        "--set",
        "fetch.max_body=5MiB",
        "--header",
        "Accept-Language: de",
    ]);
    assert!(!output.stderr.contains("earlier runs"), "{output:?}");
    let output = crawl.crawl(&["--max-pages", "1"]).says(&[
        "settings of earlier runs: ",
        r#"crawl.exclude = ["*/1","*/2","*/3"]"#,
        "crawl.max_depth = 8",
        r#"fetch.max_body = "5MiB""#,
        "--reset-settings forgets them",
    ]);
    assert!(!output.stderr.contains("changed setting"), "{output:?}");
    let shown = crawl.ask(&["config", "show"]).expect(0).stdout;
    assert!(
        shown.contains("fetch.max_body = \"5MiB\"  # an earlier run\n"),
        "{shown}"
    );
    let from = "own.toml, as an earlier run read it\n";
    assert!(shown.contains(from), "{shown}");
    crawl.crawl(&[]);
    let expected = ["/", "/0", "/4", "/5"].map(|path| (0, path.to_owned()));
    assert_eq!(asked(&web).into_keys().collect::<Vec<_>>(), expected);
    let languages = web
        .requests()
        .into_iter()
        .map(|it| it.header("Accept-Language"));
    assert!(languages.into_iter().all(|it| it.as_deref() == Some("de")));
    // What is told now wins, is told as a change, and is what the next run goes on with.
    crawl
        .crawl(&["--max-depth", "3"])
        .says(&["changed setting: crawl.max_depth was 8, is 3"]);
    crawl.crawl(&[]).says(&["crawl.max_depth = 3"]);
    crawl.crawl(&["--reset-settings"]).says(&[
        "changed setting: crawl.max_depth was 3, is none",
        r#"changed setting: crawl.exclude was ["*/1","*/2","*/3"], is []"#,
    ]);
    let output = crawl.crawl(&[]);
    assert!(!output.stderr.contains("earlier runs: crawl"), "{output:?}");
}

#[test]
fn what_was_told_wrongly_is_refused_and_not_remembered() {
    let web = Web::start(vec![host(1)]);
    let crawl = Place::new();
    let seed = web.url(0, "/");
    crawl.crawl(&[&seed, "--max-pages", "1"]);
    let refuse = |arguments: &[&str], expected: &str| {
        let output = crate::run::run(crawl.command(arguments)).expect(2);
        assert!(output.stderr.contains(expected), "{output:?}");
    };
    refuse(
        &["--set", "fetch.max_bodi=5MiB"],
        "did you mean `fetch.max_body`?",
    );
    refuse(&["--set", "fetch.max_body"], "section.key=value");
    refuse(&["--set", "fetch.max_body=much"], "fetch.max_body");
    refuse(&["--header", "Accept-Language"], "Name: value");
    refuse(
        &["--header", "Authorization: Basic aHVzaA=="],
        "fetch.headers",
    );
    refuse(&["--exclude", "re:["], "crawl.exclude");
    crawl.crawl(&[]);
    assert_eq!(asked(&web).len(), 2);
}

#[test]
fn changed_settings_of_some_hosts_are_told() {
    let web = Web::start(vec![host(3)]);
    let crawl = Place::new();
    let seed = web.url(0, "/");
    crawl.crawl(&[&seed, "--max-pages", "1"]);
    let check = |entry: &str, expected: &[&str]| {
        let output = crawl.crawl_by(entry, &["--max-pages", "1"]);
        let lines = output.stderr.lines();
        let told = lines.filter_map(|it| it.strip_prefix("changed setting: "));
        assert_eq!(told.collect::<Vec<_>>(), expected);
    };
    let two = "[[domain]]\nmatch = [\"a.example\", \"*.b.example\"]\npoliteness.attempts = 4\n";
    check(
        two,
        &[
            "politeness.attempts at *.b.example was (unset), is 4",
            "politeness.attempts at a.example was (unset), is 4",
        ],
    );
    // Grouped or named otherwise, it is the same.
    let other = "[[domain]]\nname = \"x\"\nmatch = [\"a.example\"]\npoliteness.attempts = 4\n";
    check(
        other,
        &["politeness.attempts at *.b.example was 4, is (unset)"],
    );
}

#[test]
fn a_wider_scope_holds_for_pages_fetched_from_then_on() {
    let web = Web::start(vec![
        Site::new()
            .page("/", Answer::html(page("home", &["/next"])))
            .page("/next", Answer::html(page("next", &["{host1}/"]))),
        host(0),
    ]);
    let crawl = Place::new();
    let seed = web.url(0, "/");
    crawl.crawl(&[&seed, "--max-pages", "1", "--allow-private"]);
    crawl.crawl(&["--scope", "any", "--allow-private"]);
    assert!(asked(&web).contains_key(&(1, "/".to_owned())));
}

#[test]
fn status_tells_the_state_while_a_crawl_runs_and_after() {
    let web = Web::start(vec![host(20)]);
    // robots.txt, `/` and four more are answered.
    web.hold_after(6);
    let crawl = Place::new();
    let seed = web.url(0, "/");
    let running = crawl.start(&[&seed]);
    assert!(web.wait_for_requests(7, PATIENCE));
    assert_eq!(crawl.follow(&[]).take(5).count(), 5);
    // The status is written once a second; each look at it is a process of its own.
    let status = loop {
        let status = crawl.status();
        assert!(status.running);
        if status.counters.pages == 5 {
            break status;
        }
    };
    assert_eq!(status.counters.queued, 16);
    assert_eq!(status.counters.robots, 1);
    assert_eq!(status.counters.hosts, 1);
    assert_eq!(status.gauges.fetching, 1);
    web.release();
    running.end().expect(0);
    let status = crawl.status();
    assert!(!status.running);
    assert_eq!(status.counters.pages, 21);
    assert_eq!(status.counters.queued, 0);
    assert_eq!(status.counters.verdicts["unique"], 21);
}
