//! A login by the cookies of a file: who gets them, what is never shown, which links are left
//! alone, and what happens when the login ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;

use crate::run::{PATIENCE, Place, page, run};
use crate::web::{Answer, Request, Site, Web};

const SECRET: &str = "hush-4711";

fn html(name: &str, links: &[&str]) -> Answer {
    Answer::html(page(name, links))
}

/// What members see; others are led to the page for logging in. The flag ends all logins.
fn members(path: &str, answer: Answer, has_ended: &Arc<AtomicBool>, site: Site) -> Site {
    let has_ended = Arc::clone(has_ended);
    site.page_with(path, move |request| {
        let cookies = request.header("cookie").unwrap_or_default();
        let is_known = cookies.split("; ").any(|it| it == format!("sid={SECRET}"));
        match is_known && !has_ended.load(Ordering::Relaxed) {
            true => answer.clone(),
            false => Answer::redirect(302, "/login"),
        }
    })
}

fn name(web: &Web, host: usize) -> String {
    let url = gleaner::url::parse(&web.url(host, "/")).expect("the web has URLs");
    url.host_str().expect("they have hosts").to_owned()
}

/// All that a crawl wrote, as text, files that are compressed included.
fn everything(crawl: &Place) -> String {
    let log = std::fs::read_to_string(crawl.data().join("log/fetch.jsonl")).expect("a log");
    let settings = std::fs::read_to_string(crawl.data().join("settings.toml")).expect("settings");
    let records: Vec<String> = crawl
        .records()
        .iter()
        .map(|record| String::from_utf8_lossy(&record.block).into_owned())
        .collect();
    let status = crawl.ask(&["status", "--json"]).expect(0).stdout;
    [log, settings, status, records.concat()].concat()
}

#[test]
fn cookies_of_a_file_go_where_it_says_and_are_never_shown() {
    let has_ended = Arc::new(AtomicBool::new(false));
    let links = ["/inside", "/logout", "/how-to-logout", "{host1}/x"];
    let mut site = Site::new().robots("").page("/login", html("login", &[]));
    site = members("/", html("home", &links), &has_ended, site);
    site = members("/inside", html("inside", &[]), &has_ended, site);
    site = members("/how-to-logout", html("an article", &[]), &has_ended, site);
    let other = Site::new().robots("").page("/x", html("x", &[]));
    let web = Web::start(vec![site, other]);
    let crawl = Place::new();
    let line = format!("{}\tFALSE\t/\tFALSE\t0\tsid\t{SECRET}\n", name(&web, 0));
    let secure = format!("{}\tFALSE\t/\tTRUE\t0\tsecure\t{SECRET}\n", name(&web, 0));
    let file = crawl.file(
        "cookies.txt",
        &format!("# Netscape HTTP Cookie File\n{line}{secure}"),
    );
    let seed = web.url(0, "/");
    let flags = ["--scope", "any", "--allow-private", "--cookies", &file];
    let told = crawl.crawl(&[&[&*seed], &flags[..]].concat()).stdout;
    let mut asked = web.asked(0);
    asked.sort();
    assert_eq!(asked, ["/", "/how-to-logout", "/inside"]);
    assert!(
        told.contains("1  URL: would log out (fetch.cookie_files)"),
        "{told}"
    );
    let why = crawl.ask(&["why", &web.url(0, "/logout")]).expect(0).stdout;
    assert!(
        why.contains("it would end the login") && !why.contains("requested"),
        "{why}"
    );
    let cookies = |host| {
        let requests = web
            .requests()
            .into_iter()
            .filter(move |it: &Request| it.host == host);
        requests
            .filter_map(|it| it.header("cookie"))
            .collect::<Vec<_>>()
    };
    let expected = format!("sid={SECRET}");
    assert!(
        cookies(0).iter().all(|it| *it == expected),
        "not over http: {:?}",
        cookies(0)
    );
    assert!(!cookies(0).is_empty() && cookies(1).is_empty());
    let written = everything(&crawl);
    assert!(written.contains("cookies.txt") && written.contains("(hidden)"));
    assert!(!written.contains(SECRET), "a secret is shown");

    // What is wrong with a file is told without what it holds.
    crawl.file(
        "cookies.txt",
        &format!("{line}{}\tTRUE\t{SECRET}\n", name(&web, 0)),
    );
    let refused = run(crawl.command(&[])).expect(2);
    let refused = refused.says(&[&file, "line 2", "seven fields"]);
    assert!(!refused.stderr.contains(SECRET));
}

#[test]
fn a_host_that_no_longer_knows_the_login_is_parked_and_goes_on_with_new_cookies() {
    let has_ended = Arc::new(AtomicBool::new(true));
    let mut site = Site::new()
        .robots("")
        .page("/login", html("login", &["/help"]));
    site = members("/", html("home", &["/a", "/b"]), &has_ended, site);
    site = members("/a", html("a", &[]), &has_ended, site);
    site = members("/b", html("b", &[]), &has_ended, site);
    let web = Web::start(vec![site]);
    let crawl = Place::new();
    let line = format!("{}\tFALSE\t/\tFALSE\t0\tsid\t{SECRET}\n", name(&web, 0));
    let file = crawl.file("cookies.txt", &line);
    let lost = run(crawl.command(&[&web.url(0, "/"), "--cookies", &file])).expect(6);
    let lost = lost.says(&[
        "the server leads to /login",
        "gleaner retry --class session",
    ]);
    assert!(
        lost.stdout.contains("the login was lost"),
        "{}",
        lost.stdout
    );
    assert_eq!(
        web.asked(0),
        ["/"],
        "the page for logging in is no page of the site"
    );

    has_ended.store(false, Ordering::Relaxed);
    crawl.ask(&["retry", "--class", "session"]).expect(0);
    crawl.crawl(&[]);
    assert_eq!(web.asked(0), ["/", "/", "/a", "/b"]);
    assert_eq!(crawl.status().counters.failed, 0);
}

/// A daemon takes new cookies, and new lines of a block list, without a restart.
#[test]
fn a_hangup_brings_new_cookies_and_block_lists() {
    let knows = |request: &Request| {
        let cookies = request.header("cookie").unwrap_or_default();
        let new = format!("sid={SECRET}-new");
        match cookies.split("; ").any(|it| it == new) {
            true => html("member", &[]),
            false => Answer::redirect(302, "/elsewhere"),
        }
    };
    let site = Site::new()
        .robots("")
        .page_with("/first", knows)
        .page_with("/second", knows)
        .page("/elsewhere", html("for others", &[]))
        .page("/blocked", html("blocked", &[]));
    let web = Web::start(vec![site]);
    let crawl = Place::new();
    let cookies = |value: &str| {
        let line = format!("{}\tFALSE\t/\tFALSE\t0\tsid\t{value}\n", name(&web, 0));
        crawl.file("cookies.txt", &line)
    };
    let file = cookies(&format!("{SECRET}-old"));
    let list = crawl.file("blocked.txt", "nobody.example\n");
    let seed = web.url(0, "/first");
    let running = crawl.daemon_by("", &[&seed, "--cookies", &file, "--block-list", &list]);
    assert!(
        web.wait_for_requests(3, PATIENCE),
        "robots.txt and two pages"
    );
    cookies(&format!("{SECRET}-new"));
    crawl.file("blocked.txt", &format!("{}\n", web.url(0, "/blocked")));
    running.signal(Signal::HUP);
    running.wait_for_line("reloaded: cookies of fetch.cookie_files");
    let (second, blocked) = (web.url(0, "/second"), web.url(0, "/blocked"));
    crawl.ask(&["seeds", "add", &blocked, &second]).expect(0);
    assert!(web.wait_for_requests(4, PATIENCE));
    crawl.ask(&["stop"]).expect(0);
    let told = running.end().expect(0);
    assert!(!told.stderr.contains(SECRET), "{}", told.stderr);
    let log = crawl.log();
    let of = |path: &str| log.iter().find(|line| line.url == web.url(0, path));
    assert_eq!(of("/second").map(|line| line.status), Some(200));
    assert!(!web.asked(0).contains(&"/blocked".to_owned()));
    let sent = web.requests().into_iter().filter(|it| it.path == "/second");
    let sent: Vec<_> = sent.filter_map(|it| it.header("cookie")).collect();
    assert_eq!(sent, [format!("sid={SECRET}-new")]);
}
