//! How far a crawl reaches beyond what its seeds have in common, and what it never asks for: links
//! out of the scope, block lists, what is taken out of queues, the rate of what is received.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::run::{PATIENCE, Place, leaves, page, run};
use crate::web::{Answer, Request, Site, Web};

fn html(name: &str, links: &[&str]) -> Answer {
    Answer::html(page(name, links))
}

/// A site, one that it links to, and one that only that links to.
fn neighbours() -> Web {
    let home = Site::new()
        .robots("")
        .page("/", html("home", &["/next", "{host1}/a"]))
        .page("/next", html("next", &["{host1}/b", "{host1}/moved"]));
    let near = Site::new()
        .robots("")
        .page("/a", html("a", &["/far", "{host2}/", "{host0}/back"]))
        .page("/b", html("b", &[]))
        .page("/moved", Answer::redirect(301, "/there"))
        .page("/there", html("there", &["/farther"]))
        .page("/far", html("far", &["/too-far"]));
    let far = Site::new().robots("").page("/", html("other", &[]));
    Web::start(vec![home, near, far])
}

#[test]
fn links_out_of_the_scope_are_followed_as_far_as_is_said() {
    let asked = |hops: &str| {
        let web = neighbours();
        let crawl = Place::new();
        let seed = web.url(0, "/");
        crawl.crawl(&[&seed, "--allow-private", "--extra-hops", hops]);
        // A page of the scope that only a page out of it leads to is one of the scope.
        let is_back = web.asked(0).contains(&"/back".to_owned());
        let mut near = web.asked(1);
        near.sort();
        (near.join(" "), web.asked(2).len(), is_back)
    };
    assert_eq!(asked("0"), (String::new(), 0, false));
    assert_eq!(asked("1"), ("/a /b /moved /there".to_owned(), 0, true));
    let two = "/a /b /far /farther /moved /there".to_owned();
    assert_eq!(asked("2"), (two, 1, true));
}

/// What no list names is fetched as ever; what one names is not asked for, not even the robots.txt
/// of its host; it is counted, explained by file and line, and comes back with another list.
#[test]
fn what_a_list_blocks_is_not_asked_for_until_the_list_changes() {
    let home = Site::new()
        .robots("")
        .page(
            "/",
            html(
                "home",
                &["/private", "/privateer", "{host1}/x", "{host2}/y"],
            ),
        )
        .page("/private", html("private", &[]))
        .page("/privateer", html("privateer", &[]));
    let blocked = Site::new().robots("").page("/x", html("x", &[]));
    let other = Site::new().robots("").page("/y", html("y", &[]));
    let web = Web::start(vec![home, blocked, other]);
    let name = |host| {
        let url = web.url(host, "/");
        let url = gleaner::url::parse(&url).expect("the web has URLs");
        url.host_str().expect("they have hosts").to_owned()
    };
    let crawl = Place::new();
    let hosts = crawl.file(
        "hosts.txt",
        &format!("# ads\n127.0.0.1 localhost\n0.0.0.0 {}\n", name(1)),
    );
    let urls = crawl.file("urls.txt", &web.url(0, "/private"));
    let seed = web.url(0, "/");
    let flags = ["--scope", "any", "--allow-private", "--block-list", &hosts];
    let told = crawl.crawl(&[&[&*seed, "--block-list", &urls], &flags[..]].concat());
    assert!(
        told.stdout.contains("2  URLs: blocked (crawl.block_lists)"),
        "{}",
        told.stdout
    );
    assert!(
        told.stdout.contains("gleaner retry --class blocked"),
        "{}",
        told.stdout
    );
    let is_blocked = |request: &Request| request.host == 1;
    assert!(!web.requests().iter().any(is_blocked), "nor its robots.txt");
    assert_eq!(web.asked(2), ["/y"]);
    let asked = web.asked(0);
    assert!(asked.contains(&"/privateer".to_owned()) && !asked.contains(&"/private".to_owned()));
    let why = |url: &str| crawl.ask(&["why", url]).expect(0).stdout;
    let told = why(&web.url(1, "/x"));
    assert!(
        told.contains(&format!("{hosts}, line 3")) && told.contains("as found"),
        "{told}"
    );
    assert!(!told.contains("requested"), "{told}");
    assert!(why(&web.url(0, "/private")).contains(&format!("{urls}, line 1")));
    assert!(!why(&web.url(0, "/privateer")).contains("blocked"));

    // The list is shorter, and remembered by its absolute path.
    crawl.file("hosts.txt", "# nothing\n");
    crawl.ask(&["retry", "--class", "blocked"]).expect(0);
    crawl.crawl(&[]);
    assert_eq!(web.asked(1), ["/x"]);
    assert_eq!(
        crawl.status().counters.failed,
        1,
        "the other is still in its list"
    );

    // What cannot be read is named before anything is fetched.
    let before = web.requests().len();
    crawl.file("hosts.txt", "good.example\n||bad.example^\n");
    run(crawl.command(&[]))
        .expect(2)
        .says(&[&hosts, "line 2", "||bad.example^", "0.0.0.0 ads"]);
    std::fs::remove_file(&hosts).expect("it is ours");
    run(crawl.command(&[]))
        .expect(2)
        .says(&[&hosts, "cannot read the block list"]);
    assert_eq!(web.requests().len(), before);
    assert!(
        why(&web.url(0, "/private")).contains("blocked"),
        "it is explained without its list"
    );
}

#[test]
fn bodies_come_no_faster_than_is_said() {
    let body = "oak ".repeat(40_000);
    let site = Site::new()
        .robots("")
        .page("/", html("home", &["/a", "/b"]))
        .page("/a", Answer::html(format!("<p>{body}a")))
        .page("/b", Answer::html(format!("<p>{body}b")));
    let web = Web::start(vec![site]);
    let crawl = Place::new();
    let begin = Instant::now();
    // Time that the rate takes does not count for the time that a server has.
    let settings = "[fetch]\ntotal_timeout = \"1s\"\n";
    crawl.crawl_by(settings, &[&web.url(0, "/"), "--limit-rate", "100KB"]);
    // 320 kB, of which an eighth of a second's may come at once. Slower is no error.
    assert!(
        begin.elapsed() > Duration::from_millis(2_500),
        "{:?}",
        begin.elapsed()
    );
    let pages = crawl.pages();
    assert_eq!(pages.len(), 3);
    assert!(crawl.status().counters.bytes > 320_000, "nothing was cut");
    run(crawl.command(&["--limit-rate", "7B"]))
        .expect(2)
        .says(&["--limit-rate", "1000B"]);
}

/// What waits at a host leaves its queue, is counted and explained, and comes back; what waits
/// elsewhere stays.
#[test]
fn what_waits_at_a_host_is_dropped_and_taken_back() {
    let links: Vec<String> = (0..150).map(|n| format!("{{host1}}/{n}")).collect();
    let links: Vec<&str> = links
        .iter()
        .map(String::as_str)
        .chain(["/a", "/b"])
        .collect();
    let home = Site::new()
        .robots("")
        .page("/", html("home", &links))
        .page("/a", html("a", &[]))
        .page("/b", html("b", &[]));
    let web = Web::start(vec![home, leaves().robots("")]);
    let crawl = Place::new();
    let seed = web.url(0, "/");
    let flags = ["--scope", "any", "--allow-private", "--max-pages", "1"];
    crawl.crawl(&[&[&*seed], &flags[..]].concat());
    assert_eq!(crawl.status().counters.queued, 152);
    let name = |host| {
        let url = gleaner::url::parse(&web.url(host, "/")).expect("the web has URLs");
        url.host_str().expect("they have hosts").to_owned()
    };
    let queue_drop = |host: &str, more: &[&str]| {
        let command = [&["queue", "drop", "--json", "--host", host], more].concat();
        let told = crawl.ask(&command).expect(0).json();
        ["urls", "hosts", "left"].map(|key| told[key].as_u64().expect("it is counted"))
    };
    let queue_ls = |more: &[&str]| {
        crawl
            .ask(&[&["queue", "ls", "--json"], more].concat())
            .expect(0)
            .json()
    };
    let all = queue_ls(&["--urls", "151"]);
    assert_eq!((&all["queued"], &all["hosts"]), (&json!(152), &json!(2)));
    let urls = all["urls"].as_array().expect("it is a list");
    assert_eq!(urls.len(), 151);
    assert_eq!(urls[150], web.url(0, "/a"), "the longest queue is first");
    let of_one = queue_ls(&["--host", &name(0)]);
    assert_eq!(
        (&of_one["queued"], of_one["by_host"][0]["queued"].as_u64()),
        (&json!(2), Some(2))
    );
    assert_eq!(queue_ls(&["--host", "elsewhere.example"])["queued"], 0);
    let shown = crawl.ask(&["queue", "ls"]).expect(0).stdout;
    assert!(
        shown.ends_with("      152  URLs wait at 2 hosts\n"),
        "{shown}"
    );
    // What was not meant stays.
    assert_eq!(queue_drop("elsewhere.example", &[]), [0, 0, 152]);
    assert_eq!(queue_drop(&name(1), &["--dry-run"]), [150, 1, 2]);
    assert_eq!(crawl.status().counters.queued, 152);
    assert_eq!(queue_drop(&name(1), &[]), [150, 1, 2]);
    let status = crawl.status();
    assert_eq!((status.counters.queued, status.counters.failed), (2, 150));
    let why = crawl.ask(&["why", &web.url(1, "/7")]).expect(0).stdout;
    assert!(
        why.contains("retry --class dropped") && !why.contains("requested"),
        "{why}"
    );
    crawl.ask(&["check"]).expect(0);

    crawl.crawl(&[]);
    let asked = (web.asked(0).len(), web.asked(1).len());
    assert_eq!(
        asked,
        (3, 0),
        "what was left, and nothing of the other host"
    );
    let taken_back = crawl.ask(&["retry", "--class", "dropped"]).expect(0).stdout;
    assert!(taken_back.contains("150 dropped"), "{taken_back}");
    crawl.crawl(&[]);
    assert_eq!(web.asked(1).len(), 150);
    let status = crawl.status();
    assert_eq!((status.counters.queued, status.counters.failed), (0, 0));
}

#[test]
fn nothing_is_dropped_while_a_process_runs_the_crawl() {
    let web = Web::start(vec![leaves().robots("").page("/", html("home", &["/a"]))]);
    let crawl = Place::new();
    web.hold();
    let running = crawl.start(&[&web.url(0, "/")]);
    assert!(web.wait_for_requests(1, PATIENCE));
    // To look is not to change.
    let shown = crawl.ask(&["queue", "ls"]).expect(0).stdout;
    assert!(shown.contains("URLs wait at"), "{shown}");
    let refused = crawl.ask(&["queue", "drop", "--host", "a.example"]);
    refused.expect(8).says(&["is in use", "`stop`"]);
    web.release();
    running.end();
}
