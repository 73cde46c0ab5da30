//! A crawl that is left running: what it takes while it runs, what it is told, when it comes back
//! to a page, and how it ends. Judged from the servers' side wherever they can tell.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::run::{
    Output, PATIENCE, Place, Running, about, anchors, gleaner, leaves, linking, numbered, page, run,
};
use crate::web::{Answer, Site, Web};

/// How long nothing must happen to count as nothing.
const QUIET: Duration = Duration::from_millis(700);

/// `gleaner daemon` on the data directory of a place.
fn daemon(crawl: &Place, arguments: &[&str]) -> Command {
    crawl.gleaner(&[&["daemon"], arguments].concat())
}

/// Ends it, and what it said.
#[track_caller]
fn stop(crawl: &Place, running: Running) -> Output {
    crawl.ask(&["stop"]).expect(0).says(&["stopped"]);
    // The directory is free when `stop` returns.
    crawl.status();
    running.end().expect(0)
}

/// A host without an end: each page leads to the next.
fn endless() -> Site {
    let site = Site::new().otherwise(|request| {
        let number: u64 = request.path.trim_start_matches('/').parse().unwrap_or(0);
        let next = format!("/{}", number + 1);
        Answer::html(page(&request.path, &[&next]))
    });
    site.robots("")
}

fn put(crawl: &Place, name: &str, text: &str) {
    // As a person would: written elsewhere, then moved to where it is looked for.
    let whole = crawl.file(name, text);
    fs::rename(whole, crawl.data().join("drop").join(name)).expect("the drop directory is there");
}

fn drop_file(crawl: &Place, path: &str) -> String {
    let path = crawl.data().join("drop").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn seed_lists_are_taken_whole_or_not_at_all() {
    let crawl = Place::new();
    let web = Web::start(vec![leaves().robots(""), leaves().robots("")]);
    let running = Running::start(daemon(&crawl, &["--allow-private", "--delay", "0s"]));
    running.wait_for_line("accepting seed lists");
    let two = format!("# two\n{}\n{}\n", web.url(0, "/a"), web.url(1, "/b"));
    put(&crawl, "good.txt", &two);
    running.wait_for_line("seeds added");
    // Two robots.txt and two pages.
    assert!(web.wait_for_requests(4, PATIENCE));
    let bad = format!("{}\nmailto:a@b.example\n", web.url(0, "/c"));
    put(&crawl, "bad.txt", &bad);
    running.wait_for_line("seed list rejected");
    put(&crawl, "empty.txt", "# nothing\n");
    running.wait_for_line("seed list rejected");
    // The same list again, under the same name: known, and beside the first.
    put(&crawl, "good.txt", &format!("{}\n", web.url(0, "/a")));
    running.wait_for_line("new=0 known=1");
    stop(&crawl, running);
    assert!(drop_file(&crawl, "done/good.txt").contains("# two"));
    assert!(drop_file(&crawl, "done/good.txt.2").contains("/a"));
    let reason = drop_file(&crawl, "rejected/bad.txt.reason");
    // The list may be somebody's secret file: what stands in it is not repeated.
    assert!(reason.contains("bad.txt:2: not a seed"), "{reason}");
    assert!(!reason.contains("mailto"), "{reason}");
    let reason = drop_file(&crawl, "rejected/empty.txt.reason");
    assert!(reason.contains("contains no seeds"), "{reason}");
    assert_eq!(web.requests().len(), 4);
}

/// Who can write into the directory may be a program that passes on what others say: that is no
/// consent to visit private addresses, and a person's command is.
#[test]
fn seed_lists_do_not_open_the_guard() {
    let crawl = Place::new();
    let web = Web::start(vec![leaves().robots("")]);
    let running = Running::start(daemon(&crawl, &["--delay", "0s"]));
    running.wait_for_line("accepting seed lists");
    put(&crawl, "a.txt", &format!("{}\n", web.url(0, "/a")));
    running.wait_for_line("seed list rejected");
    let reason = drop_file(&crawl, "rejected/a.txt.reason");
    assert!(reason.contains("not a public address"), "{reason}");
    let seed = web.url(0, "/b");
    crawl
        .ask(&["seeds", "add", &seed])
        .expect(0)
        .says(&["1 new"]);
    assert!(web.wait_for_requests(2, PATIENCE));
    stop(&crawl, running);
    let asked: Vec<_> = web.requests().into_iter().map(|it| it.path).collect();
    assert_eq!(asked, ["/robots.txt", "/b"]);
}

#[test]
fn a_pause_keeps_servers_alone_until_resumed() {
    let crawl = Place::new();
    let web = Web::start(vec![endless(), endless()]);
    let (first, second) = (web.url(0, "/"), web.url(1, "/"));
    let running = Running::start(daemon(&crawl, &[&first, &second, "--delay", "0s"]));
    assert!(web.wait_for_requests(20, PATIENCE));
    crawl.ask(&["pause"]).expect(0).says(&["paused"]);
    web.clear_log();
    assert!(!web.wait_for_requests(1, QUIET), "{:?}", web.requests());
    // The status is written once a second.
    let says_so = |_| {
        web.wait_for_requests(1, QUIET);
        crawl.status().gauges.limit.name() == "paused"
    };
    assert!((0..10).any(says_so));
    assert_eq!(web.requests().len(), 0);
    // Twice is once.
    crawl.ask(&["pause"]).expect(0);
    crawl.ask(&["resume"]).expect(0).says(&["resumed"]);
    assert!(web.wait_for_requests(20, PATIENCE));
    stop(&crawl, running);
    crawl.records();
}

#[test]
fn a_hangup_changes_what_can_be_changed() {
    let crawl = Place::new();
    let web = Web::start(vec![endless()]);
    let config = |text: &str| crawl.file("config.toml", text);
    // At a page a second the test would not end in time.
    let path = config("[politeness]\ndelay = \"0s\"\nmax_rate = 1\n");
    let seed = web.url(0, "/");
    let running = Running::start(daemon(&crawl, &[&seed, "--config", &path]));
    assert!(web.wait_for_requests(2, PATIENCE));
    config("[politeness]\ndelay = \"soon\"\n");
    running.signal(Signal::HUP);
    running.wait_for_line("`soon` is not a duration");
    running.wait_for_line("settings are unchanged");
    config(
        "[politeness]\ndelay = \"0s\"\n[fetch]\nconcurrency = 3\n[crawl]\nmax_depth = 300\n\
         [[domain]]\nmatch = [\"127.0.7.1\"]\ncrawl.max_depth = 200\n",
    );
    running.signal(Signal::HUP);
    running.wait_for_line("crawl.max_depth was none, is 300");
    running.wait_for_line("crawl.max_depth at 127.0.7.1 was (unset), is 200");
    running.wait_for_line("politeness.max_rate was 1, is none");
    running.wait_for_line("fetch.concurrency is still 64; restart to set it to 3");
    // robots.txt and the pages at depth 0 to 200, which is this host's own, and no further.
    assert!(web.wait_for_requests(202, PATIENCE));
    assert!(!web.wait_for_requests(203, QUIET));
    running.signal(Signal::HUP);
    running.wait_for_line("is still 64");
    stop(&crawl, running);
}

#[test]
fn pages_are_visited_again_and_compared() {
    let crawl = Place::new();
    let text = |version: &str| Answer::html(page(version, &[]));
    // One article in two pages.
    let article =
        "The commons belonged to those who gleaned them after the harvest was in. ".repeat(9);
    let same = format!(
        "<!doctype html><title>same</title><main><h1>Gleaning</h1><p>{article}</p></main>{}",
        anchors(["/copy", "/other"])
    );
    let other = format!(
        "<!doctype html><title>other</title><nav>a menu</nav><main><h1>Gleaning</h1><p>{article}</p></main>"
    );
    let site = linking(&["/same", "/edited", "/gone"])
        .robots("")
        .page("/same", Answer::html(&*same))
        .page("/copy", Answer::html(&*same))
        .page("/other", Answer::html(other))
        .page_in_turn("/edited", vec![text("first"), text("second")])
        .page_in_turn("/gone", vec![text("here"), Answer::status(404)]);
    let web = Web::start(vec![site]);
    let config = "[politeness]\ndelay = \"0s\"\n[revisit]\nmode = \"fixed\"\ninterval = \"400ms\"\nmax_interval = \"1h\"\nmin_interval = \"1ms\"\n";
    let running = crawl.daemon_by(config, &[&web.url(0, "/")]);
    // robots.txt, six pages, all of them again, and five once more: that which is gone has time.
    assert!(web.wait_for_requests(18, PATIENCE));
    stop(&crawl, running);
    let verdicts = |path: &str| -> Vec<String> {
        let url = web.url(0, path);
        let lines = crawl.log().into_iter().filter(|line| line.url == url);
        lines.map(|line| line.verdict.name().to_owned()).collect()
    };
    assert_eq!(verdicts("/same")[..3], ["unique", "unchanged", "unchanged"]);
    assert_eq!(verdicts("/edited")[..3], ["unique", "unique", "unchanged"]);
    assert_eq!(verdicts("/gone"), ["unique", "ineligible"]);
    // Duplicates that stay what they are, too.
    assert_eq!(verdicts("/copy")[..2], ["raw", "unchanged"]);
    assert_eq!(verdicts("/other")[..2], ["content", "unchanged"]);
    let records = crawl.records();
    let stored = |path: &str| about(&records, "response", &web.url(0, path)).len();
    assert_eq!(stored("/same"), 1);
    assert_eq!(stored("/edited"), 2);
    let texts = about(&records, "conversion", &web.url(0, "/other"));
    assert_eq!(
        texts.len(),
        1,
        "the text of an unchanged page is there already"
    );
    let counters = crawl.status().counters;
    assert_eq!(counters.pages, 6, "a page is counted once");
    assert_eq!(counters.revisits["gone"], 1);
    assert_eq!(counters.revisits["changed"], 1);
    assert!(counters.revisits["unchanged"] >= 4, "{counters:?}");

    // After a kill the visits go on where they were.
    web.clear_log();
    let running = crawl.daemon_by(config, &[]);
    assert!(web.wait_for_requests(6, PATIENCE));
    running.signal(Signal::KILL);
    running.end().expect(128 + 9);
    web.clear_log();
    let running = crawl.daemon_by(config, &[]);
    assert!(web.wait_for_requests(6, PATIENCE));
    stop(&crawl, running);
    assert!(web.requests().iter().all(|it| it.path != "/gone"));
    crawl.records();
}

/// Pages that change at every look and are due more often than their host may be asked.
#[test]
fn new_pages_do_not_wait_for_those_that_always_change() {
    const PAGES: usize = 20;
    let paths: Vec<String> = (0..PAGES).map(|number| format!("/a/{number}")).collect();
    let links: Vec<&str> = paths.iter().map(String::as_str).collect();
    let looks = AtomicUsize::new(0);
    let site = Site::new()
        .robots("")
        .page("/", Answer::html(page("home", &links)))
        .otherwise(move |request| {
            let look = looks.fetch_add(1, Ordering::Relaxed);
            let next = request.path.replace("/a/", "/b/");
            Answer::html(page(&format!("{} {look}", request.path), &[&next]))
        });
    let crawl = Place::new();
    let web = Web::start(vec![site]);
    let config =
        "[politeness]\ndelay = \"10ms\"\n[revisit]\nmode = \"fixed\"\ninterval = \"20ms\"\n";
    let running = crawl.daemon_by(config, &[&web.url(0, "/")]);
    assert!(web.wait_for_requests(150, PATIENCE));
    stop(&crawl, running);
    let mut requests = web.requests();
    requests.truncate(150);
    let new: BTreeSet<&str> = requests
        .iter()
        .map(|it| it.path.as_str())
        .filter(|path| path.starts_with("/b/"))
        .collect();
    assert_eq!(new.len(), PAGES);
}

/// A server in trouble takes nothing away from what is known.
#[test]
fn a_visit_that_finds_nothing_leaves_what_is_known() {
    let crawl = Place::new();
    let site = leaves().robots("").page_in_turn(
        "/",
        vec![
            Answer::html(page("home", &[])),
            Answer::status(501),
            Answer::html(page("home", &[])),
        ],
    );
    let web = Web::start(vec![site]);
    let config = "[politeness]\ndelay = \"0s\"\n[revisit]\nmode = \"fixed\"\ninterval = \"50ms\"\n";
    let running = crawl.daemon_by(config, &[&web.url(0, "/")]);
    assert!(web.wait_for_requests(5, PATIENCE));
    stop(&crawl, running);
    let log = crawl.log();
    let verdicts: Vec<_> = log.iter().map(|it| it.verdict.name()).collect();
    assert_eq!(verdicts[1..4], ["unique", "ineligible", "unchanged"]);
    assert_eq!(crawl.status().counters.revisits["unreachable"], 1);
}

/// What `gleaner crawl` began, a daemon keeps fresh.
#[test]
fn pages_of_a_crawl_are_taken_over() {
    let crawl = Place::new();
    let web = Web::start(vec![linking(&["/a", "/b"]).robots("")]);
    crawl.crawl(&[&web.url(0, "/")]);
    web.clear_log();
    let config =
        "[politeness]\ndelay = \"0s\"\n[revisit]\ninterval = \"1ms\"\nmin_interval = \"1ms\"\n";
    let running = crawl.daemon_by(config, &[]);
    assert!(web.wait_for_requests(9, PATIENCE));
    stop(&crawl, running);
    let asked = |path: &str| web.requests().iter().filter(|it| it.path == path).count();
    assert!(["/", "/a", "/b"].iter().all(|path| asked(path) >= 2));
    let log = crawl.log();
    assert!(log[5..].iter().all(|line| line.verdict == "unchanged"));
}

#[test]
fn a_termination_ends_a_daemon_in_good_order() {
    let crawl = Place::new();
    let web = Web::start(vec![endless()]);
    let seed = web.url(0, "/");
    let running = Running::start(daemon(&crawl, &[&seed, "--delay", "0s"]));
    assert!(web.wait_for_requests(10, PATIENCE));
    // Its answer never comes.
    web.hold();
    running.signal(Signal::TERM);
    let output = running.end().expect(0);
    assert!(output.stdout.contains("stopped"), "{output:?}");
    assert!(!crawl.data().join("control.sock").exists());
    let done = crawl.status().counters.done();
    assert!(done > 0);
    web.release();
    crawl
        .crawl(&["--max-pages", "5"])
        .says(&[&format!("{done} done")]);
}

#[test]
fn the_socket_is_its_owners() {
    let crawl = Place::new();
    let web = Web::start(vec![endless()]);
    let seed = web.url(0, "/");
    // A crawl that ends by itself is spoken to in the same way.
    let running = crawl.start(&[&seed]);
    assert!(web.wait_for_requests(10, PATIENCE));
    crawl.ask(&["pause"]).expect(0);
    let socket = fs::metadata(crawl.data().join("control.sock")).expect("it is there");
    assert!(socket.file_type().is_socket());
    assert_eq!(socket.permissions().mode() & 0o777, 0o600);
    // `kill -9` leaves the socket: it is known for dead, and replaced.
    running.signal(Signal::KILL);
    running.end().expect(128 + 9);
    crawl
        .ask(&["pause"])
        .expect(3)
        .says(&["no crawl is running in"]);
    let running = crawl.start(&[]);
    running.wait_for_line("resumed");
    assert!(web.wait_for_requests(30, PATIENCE));
    crawl.ask(&["pause"]).expect(0);
    stop(&crawl, running);
    crawl.ask(&["stop"]).expect(3);
    // Seeds wait for the next run.
    let more = web.url(0, "/more");
    crawl
        .ask(&["seeds", "add", &seed, &more])
        .expect(0)
        .says(&["seeds: 1 new, 1 known; `gleaner crawl --data-dir "]);
    assert!(
        crawl
            .ask(&["why", &more])
            .expect(0)
            .stdout
            .contains("queued")
    );
    let nowhere = Place::new();
    nowhere.ask(&["seeds", "add", &seed]).expect(3);
    assert!(!nowhere.data().exists());
    crawl.ask(&["seeds", "add"]).expect(2).says(&["no seeds"]);
    crawl
        .ask(&["seeds", "add", "nonsense"])
        .expect(2)
        .says(&["nonsense"]);
}

/// Whoever connects and says nothing keeps nobody out.
#[test]
fn silent_connections_do_not_close_the_socket() {
    let crawl = Place::new();
    let running = Running::start(daemon(&crawl, &[]));
    running.wait_for_line("accepting seed lists");
    let socket = crawl.data().join("control.sock");
    let silent: Vec<_> = (0..40)
        .map_while(|_| UnixStream::connect(&socket).ok())
        .collect();
    assert!(silent.len() > 30);
    crawl.ask(&["pause"]).expect(0);
    stop(&crawl, running);
}

/// A pause that was asked for is there when the command ends, however long a server takes.
#[test]
fn a_pause_waits_for_the_last_answer() {
    let crawl = Place::new();
    let web = Web::start(vec![endless()]);
    let seed = web.url(0, "/");
    web.hold_after(5);
    let running = Running::start(daemon(&crawl, &[&seed, "--delay", "0s"]));
    assert!(web.wait_for_requests(6, PATIENCE));
    let pausing = Running::start(crawl.gleaner(&["pause"]));
    pausing.wait_for_line("pausing: waiting for 1");
    web.release();
    pausing.end().expect(0).says(&["paused: "]);
    web.clear_log();
    assert!(!web.wait_for_requests(1, QUIET), "{:?}", web.requests());
    stop(&crawl, running);
}

#[test]
fn a_deep_data_directory_has_a_socket_all_the_same() {
    let crawl = Place::new();
    let deep = crawl.data().join("d".repeat(120));
    let mut command = gleaner(&["daemon", "--data-dir"]);
    command.arg(&deep);
    let running = Running::start(command);
    running.wait_for_line("accepting seed lists");
    let mut command = gleaner(&["stop", "--data-dir"]);
    command.arg(&deep);
    run(command).expect(0);
    running.end().expect(0);
}

#[test]
fn systemd_is_told() {
    let crawl = Place::new();
    let path = crawl.file("notify", "");
    fs::remove_file(&path).expect("it is ours");
    let notifications = UnixDatagram::bind(&path).expect("the path is short");
    notifications
        .set_read_timeout(Some(PATIENCE))
        .expect("a timeout that is not zero");
    let wait_for = |wanted: &str| {
        let mut buffer = [0; 4_096];
        loop {
            let read = notifications.recv(&mut buffer).expect("it comes");
            let text = String::from_utf8_lossy(&buffer[..read]).into_owned();
            if text.lines().any(|line| line.starts_with(wanted)) {
                return text;
            }
        }
    };
    // Long enough that it is still being read when the daemon is ready.
    let web = Web::start(vec![leaves().robots("")]);
    let list: Vec<String> = (0..20_000)
        .map(|number| web.url(0, &format!("/{number}")))
        .collect();
    let list = list.join("\n");
    let list = crawl.file("list.txt", &list);
    let mut command = daemon(&crawl, &["--seeds", &list, "--quiet"]);
    command.env("NOTIFY_SOCKET", &path);
    let running = Running::start(command);
    wait_for("READY=1");
    assert!(wait_for("STATUS=").contains("limit: "));
    running.signal(Signal::HUP);
    assert!(wait_for("RELOADING=1").contains("MONOTONIC_USEC="));
    wait_for("READY=1");
    running.signal(Signal::TERM);
    wait_for("STOPPING=1");
    running.end().expect(0);
}

/// What a monitor asks: nothing and 0 while all is well, else what needs attention and 1.
#[test]
fn a_check_says_what_needs_attention() {
    let (web, crawl) = (Web::start(vec![linking(&numbered(3))]), Place::new());
    let running = crawl.daemon_by("", &[&web.url(0, "/")]);
    running.wait_for_line("accepting seed lists");
    assert!(web.wait_for_requests(4, PATIENCE));
    assert_eq!(crawl.ask(&["status", "--check"]).expect(0).stdout, "");
    crawl.ask(&["pause"]).expect(0);
    // The status is written once a second.
    let paused = |status: &Value| status["gauges"]["limit"] == "paused";
    while !paused(&crawl.ask(&["status", "--json"]).json()) {}
    assert_eq!(
        crawl.ask(&["status", "--check"]).expect(1).stdout,
        "paused\n"
    );
    stop(&crawl, running);
    let said = crawl.ask(&["status", "--check"]).expect(1).stdout;
    assert_eq!(said, "no process runs the crawl\n");
}
