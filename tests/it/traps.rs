//! Webs without end: a crawl of one ends, and costs little more than its pages.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::run::{Output, Place, numbered, page, run};
use crate::web::{Answer, Request, Site, Web};

/// The number after `name=` in a query.
fn number(request: &Request, name: &str) -> Option<i64> {
    let query = request.path.split_once('?')?.1;
    let mut pieces = query.split('&').filter_map(|piece| piece.split_once('='));
    pieces.find(|(key, _)| *key == name)?.1.parse().ok()
}

/// Words that nothing else says.
fn words(about: &str) -> String {
    let word = |n: usize| format!("{about}{n}");
    (0..60).map(word).collect::<Vec<_>>().join(" ")
}

/// A page about something of its own.
fn article<S: AsRef<str>>(about: &str, links: &[S]) -> Answer {
    let about: String = about.chars().filter(char::is_ascii_alphanumeric).collect();
    let links: Vec<&str> = links.iter().map(AsRef::as_ref).collect();
    Answer::html(page(&format!("{about} {}", words(&about)), &links))
}

/// A page that leads nowhere.
fn leaf(about: &str) -> Answer {
    article::<&str>(about, &[])
}

/// A calendar: every month leads to the next and the one before.
fn month(request: &Request) -> Answer {
    let months =
        number(request, "year").unwrap_or(2_024) * 12 + number(request, "month").unwrap_or(1) - 1;
    let link = |months: i64| format!("/calendar?year={}&month={}", months / 12, months % 12 + 1);
    let (before, after) = (link(months - 1), link(months + 1));
    let title = format!("Calendar {}-{}", months / 12, months % 12 + 1);
    Answer::html(page(
        &format!("{title} no events are known for this month"),
        &[&before, &after],
    ))
}

/// The page is the same whatever the path, and leads below itself.
fn deeper(request: &Request) -> Answer {
    let path = request.bare_path().trim_end_matches('/');
    let links = ["up", "down", "x"].map(|name| format!("{path}/{name}/"));
    article("a folder like any other", &links)
}

/// What was asked for, robots.txt aside, and how often.
fn asked(web: &Web) -> BTreeMap<String, usize> {
    let mut asked = BTreeMap::new();
    for path in web.asked(0) {
        *asked.entry(path).or_default() += 1;
    }
    asked
}

fn count(asked: &BTreeMap<String, usize>, prefix: &str) -> usize {
    let of_prefix = asked.iter().filter(|(path, _)| path.starts_with(prefix));
    of_prefix.map(|(_, times)| times).sum()
}

/// What is told of a URL, as JSON and in words.
#[track_caller]
fn why(crawl: &Place, url: &str) -> (Value, Output) {
    (
        crawl.ask(&["why", url, "--json"]).json(),
        crawl.ask(&["why", url]),
    )
}

#[test]
fn a_calendar_ends_and_says_why() {
    let web = Web::start(vec![
        Site::new()
            .page("/", article("home", &["/calendar", "/about"]))
            .page("/about", leaf("about"))
            .page_with("/calendar", month),
    ]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/")]);
    let asked = asked(&web);
    assert_eq!(count(&asked, "/about"), 1);
    let months = count(&asked, "/calendar");
    assert!((300..380).contains(&months), "{months}");
    assert!(crawl.links("deferred") > 0);

    let listed = crawl
        .ask(&["queue", "ls", "--deferred", "--urls", "5", "--json"])
        .json();
    let kind = &listed["kinds"][0];
    assert_eq!((&kind["found"], &kind["closed"]), (&0.into(), &true.into()));
    let left = listed["urls"][0].as_str().expect("a month is left");
    let (now, in_words) = why(&crawl, left);
    assert_eq!(
        (&now["state"], &now["admission"]["answer"]),
        (&"deferred".into(), &"deferred".into())
    );
    assert!(
        in_words.stdout.contains("retry --class trap"),
        "{in_words:?}"
    );

    // What is left is fetched if one asks for it, or wants no suspicion.
    let before = web.asked(0).len();
    let retried = crawl.ask(&["retry", "--class", "trap", "--json"]).json();
    assert_eq!(retried["urls"]["trap"], listed["deferred"]);
    crawl.crawl(&["--max-pages", "100"]);
    assert!(web.asked(0).iter().any(|path| left.ends_with(&**path)));
    assert!(web.asked(0).len() > before);
    let before = web.asked(0).len();
    crawl.crawl_by("traps.mode = \"off\"", &["--max-pages", "500"]);
    assert_eq!(web.asked(0).len(), before + 500);
}

#[test]
fn an_archive_by_dates_is_crawled_to_its_end() {
    // A day leads to the day before only, for longer than a calendar would be followed.
    let day = |request: &Request| {
        let path = request.bare_path().to_owned();
        let day: i64 = path[1..]
            .split('/')
            .fold(0, |sum, part| sum * 31 + part.parse::<i64>().unwrap());
        let before = day - 1;
        let link = format!("/{}/{}/{}", before / 961, before / 31 % 31, before % 31);
        let is_last = before % 31 == 0;
        let links = if is_last { vec![] } else { vec![&*link] };
        article(&format!("news of {}", day * 7_919 % 10_007), &links)
    };
    let first: Vec<String> = (1..=12).map(|month| format!("/2020/{month}/28")).collect();
    let web = Web::start(vec![
        Site::new()
            .robots("")
            .page("/", article("home", &first))
            .otherwise(day),
    ]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/")]);
    assert_eq!(asked(&web).len(), 1 + 12 * 28);
}

#[test]
fn a_path_that_grows_ends() {
    let web = Web::start(vec![
        Site::new()
            .page("/", article("home", &["/grow/"]))
            .otherwise(deeper),
    ]);
    let crawl = Place::new();
    let output = crawl.crawl(&[&web.url(0, "/")]);
    // Three names that each may stand three times: thousands of paths, all the same page.
    let asked = asked(&web);
    let grown = count(&asked, "/grow");
    // What is in flight when the kind is closed comes on top; on a busy machine that is more.
    assert!(grown < 480, "{grown}");
    assert!(crawl.links("deferred") > 0);
    assert!(crawl.status().counters.demoted > 0);
    assert!(output.stdout.contains("deferred"), "{output:?}");
    let rules = crawl.ask(&["status", "--rules"]).stdout;
    assert!(rules.contains("/grow/**  says nothing new"), "{rules}");
    let (now, _) = why(&crawl, &web.url(0, "/grow/a/a/a/a"));
    assert_eq!(now["admission"]["answer"], "repeated-segments");
}

#[test]
fn a_mirror_is_crawled_whole() {
    let site = || {
        let links: Vec<String> = (0..150).map(|n| format!("/manual/{n}.html")).collect();
        Site::new()
            .page("/", article("home", &links))
            .otherwise(|request| article(request.bare_path(), &["/"]))
    };
    let web = Web::start(vec![site(), site()]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/")]);
    crawl.crawl(&[&web.url(1, "/")]);
    let of_mirror = BTreeSet::from_iter(web.asked(1));
    assert_eq!(of_mirror.len(), 1 + 150);
}

#[test]
fn budgets_of_hosts_and_domains_hold_each_for_its_own() {
    let site = || {
        Site::new()
            .page("/", article("home", &numbered(20)))
            .otherwise(|request| leaf(&format!("page{}", request.path)))
    };
    let web = Web::start(vec![site(), site()]);
    let crawl = Place::new();
    let budgets = "traps.max_pages_per_host = 8\n\
         [[domain]]\nmatch = [\"127.0.7.2\"]\ntraps.max_pages_per_domain = 5\n";
    crawl.crawl_by(budgets, &[&web.url(0, "/"), &web.url(1, "/")]);
    assert_eq!((web.asked(0).len(), web.asked(1).len()), (8, 5));
    assert_eq!(crawl.links("host-budget"), 13);
    assert_eq!(crawl.links("domain-budget"), 16);
    let (now, _) = why(&crawl, &web.url(0, "/19"));
    assert_eq!(now["admission"]["answer"], "host-budget");
}

/// What decides is committed: in runs of a few pages, and killed at any step, a crawl asks for
/// about as many URLs of each trap. What is on its way when a kind is closed differs.
#[test]
fn runs_and_kills_change_no_decision() {
    let site = || {
        Site::new()
            .robots("")
            .page("/", article("home", &["/calendar", "/about"]))
            .page("/about", leaf("about"))
            .page_with("/calendar", month)
    };
    let crawl_all = |flag: &str, runs: &[&str]| {
        let web = Web::start(vec![site()]);
        let crawl = Place::new();
        let seed = web.url(0, "/");
        for value in runs {
            run(crawl.command(&[&seed, flag, value]));
        }
        crawl.crawl(&[&seed]);
        let distinct: BTreeSet<String> = asked(&web).into_keys().collect();
        assert_eq!(crawl.status().counters.pages, distinct.len() as u64);
        let listed = crawl.ask(&["queue", "ls", "--deferred", "--json"]).json();
        assert_ne!(listed["deferred"], 0);
        distinct.len()
    };
    let at_once = crawl_all("", &[]);
    let is_close = |count: usize| count.abs_diff(at_once) <= 32;
    assert!(is_close(crawl_all("--max-pages", &["1", "30", "47"])));
    let steps = [
        "judged:2",
        "synced:20",
        "committed:25",
        "applied:10",
        "appended:15",
    ];
    assert!(is_close(crawl_all("--failpoint", &steps)));
}

/// A site of 40 pages that the first one links to.
fn many() -> Web {
    let site = Site::new()
        .robots("")
        .page("/", article("home", &numbered(40)))
        .otherwise(|request| leaf(&format!("page{}", &request.path[1..])));
    Web::start(vec![site])
}

#[test]
fn a_host_that_sent_its_share_is_left_and_goes_on_when_that_is_raised() {
    let web = many();
    let place = Place::new();
    let settings = |bytes: u64| format!("[traps]\nmax_bytes_per_host = {bytes}\n");
    // What is in memory when the budget is used up is given up too.
    let arguments = [&*web.url(0, "/"), "--delay", "50ms"];
    let output = place.crawl_by(&settings(5_000), &arguments);
    let said = output.stderr.matches("the budget of a host is used up");
    assert_eq!(said.count(), 1, "{}", output.stderr);
    let counters = place.status().counters;
    let given_up = counters.failures.get("budget").copied().unwrap_or(0);
    assert!(
        counters.bytes >= 5_000 && counters.pages < 30,
        "{counters:?}"
    );
    assert_eq!((counters.pages + given_up, counters.queued), (41, 0));
    place.ask(&["retry", "--class", "budget"]).expect(0);
    assert_eq!(place.status().counters.queued, given_up);
    place.crawl_by(&settings(5_000_000), &[]);
    let counters = place.status().counters;
    assert_eq!(
        (counters.pages, counters.failed, counters.queued),
        (41, 0, 0)
    );
}

#[test]
fn a_run_ends_after_its_bytes() {
    let web = many();
    let place = Place::new();
    let seed = web.url(0, "/");
    place
        .crawl(&[&seed, "--delay", "20ms", "--max-bytes", "5kB"])
        .expect(0);
    let counters = place.status().counters;
    assert!(
        counters.bytes >= 5_000 && counters.queued > 10,
        "{counters:?}"
    );
    // A host is visited once at a time, so nothing was on its way when the limit was reached.
    let mut received = 0;
    let mut is_beyond = |size: u64| {
        let is_beyond = received >= 5_000;
        received += size;
        is_beyond
    };
    for line in place.log() {
        assert!(!is_beyond(line.size), "{}", line.url);
    }
    let before = counters.bytes;
    let said = place
        .crawl(&["--delay", "20ms", "--max-bytes", "5kB"])
        .stdout;
    assert!(said.contains("--max-bytes reached"), "{said}");
    assert!(place.status().counters.bytes >= before + 5_000);
}
