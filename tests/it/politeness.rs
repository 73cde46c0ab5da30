//! How gently hosts are treated, measured by the hosts: when each request arrived and when its
//! answer ended. Times are compared one way only (never too early), so a slow machine fails no
//! test.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::run::{PATIENCE, Place, anchors, leaves, linking, numbered, page};
use crate::web::{Answer, Request, Site, Web};

/// The end of the answer to a request.
fn end(request: &Request) -> Instant {
    request.finished.expect("the client waited for its answer")
}

/// From the end of an answer to the next request.
fn gap(pair: &[&Request]) -> Duration {
    pair[1].arrived.saturating_duration_since(end(pair[0]))
}

/// Checks each host's requests: one at a time, and at least `delay` from the end of an answer to
/// the next request.
#[track_caller]
fn check_gaps(web: &Web, delay: Duration, hosts: usize) {
    let requests = web.requests();
    for host in 0..hosts {
        assert_eq!(web.max_concurrent(host), 1, "host {host}");
        let own: Vec<&Request> = requests.iter().filter(|it| it.host == host).collect();
        assert!(own.len() > 2, "host {host} was hardly asked");
        for pair in own.windows(2) {
            let (gap, path) = (gap(pair), &pair[1].path);
            assert!(gap >= delay, "host {host}: {path} came after {gap:?}");
        }
    }
}

/// A host of `/` and some pages, whose answers take up to 40 ms, each another time.
fn jittery(pages: usize, links: &[&str]) -> Site {
    let own = numbered(pages);
    let own = own.iter().map(String::as_str);
    let links: Vec<&str> = own.chain(links.iter().copied()).collect();
    let home = page("home", &links);
    Site::new()
        .page("/", Answer::html(home).after(Duration::from_millis(30)))
        .robots("User-agent: *\nDisallow: /private/\n")
        .otherwise(|request| {
            let jitter = request.path.bytes().map(u64::from).sum::<u64>() * 7 % 40;
            Answer::html(page(&request.path, &["/", "{host0}/"]))
                .after(Duration::from_millis(jitter))
        })
}

#[test]
fn a_host_is_asked_one_thing_at_a_time_and_never_before_its_delay() {
    let hosts = ["{host1}/", "{host2}/", "{host3}/", "/private/x"];
    let web = Web::start(vec![
        jittery(6, &hosts),
        jittery(6, &[]),
        // Every answer on a connection of its own.
        jittery(6, &[]).requests_per_connection(1),
        jittery(4, &["/moved"]).page("/moved", Answer::redirect(302, "/0")),
    ]);
    let seed = web.url(0, "/");
    let arguments = [&*seed, "--allow-private", "--delay", "100ms"];
    Place::new().crawl(&[&arguments[..], &["--scope", "any"]].concat());
    check_gaps(&web, Duration::from_millis(100), 4);
}

#[test]
fn a_host_can_have_a_delay_of_its_own() {
    let web = Web::start(vec![jittery(3, &["{host1}/"]), jittery(3, &[])]);
    let (seed, slow) = (web.url(0, "/"), web.url(1, "/"));
    let place = Place::new();
    let slow = slow.trim_start_matches("http://").trim_end_matches('/');
    let text = format!("[[domain]]\nmatch = [\"{slow}\"]\npoliteness.delay = \"200ms\"\n");
    let arguments = [&*seed, "--allow-private", "--delay", "10ms"];
    place.crawl_by(&text, &[&arguments[..], &["--scope", "any"]].concat());
    let requests = web.requests();
    let of = |host| -> Vec<&Request> { requests.iter().filter(|it| it.host == host).collect() };
    let gaps = |host| of(host).windows(2).map(gap).collect::<Vec<_>>();
    // robots.txt, home and pages of both, and nothing before the delay.
    assert_eq!((of(0).len(), of(1).len()), (5, 5));
    let delay = Duration::from_millis(200);
    assert!(gaps(1).iter().all(|gap| *gap >= delay), "{:?}", gaps(1));
    assert!(gaps(0).iter().all(|gap| *gap >= Duration::from_millis(10)));
    // The other one did not wait for it: it was done while this one still had pages to go.
    let last = of(0).iter().map(|it| end(it)).max();
    assert!(last < of(1).last().map(|it| it.arrived));
}

#[test]
fn a_host_can_have_attempts_and_depth_of_its_own() {
    let site = || {
        linking(&["/1", "/busy", "{host1}/"])
            .robots("")
            .page("/1", Answer::html(page("one", &["/2"])))
            .page("/busy", Answer::status(503))
    };
    let web = Web::start(vec![site(), site()]);
    let (seed, other) = (web.url(0, "/"), web.url(1, "/"));
    let place = Place::new();
    let other = other.trim_start_matches("http://").trim_end_matches('/');
    let text = format!(
        "[politeness]\ndelay = \"0s\"\nbackoff = \"1ms\"\nattempts = 3\n\
         [[domain]]\nmatch = [\"{other}\"]\npoliteness.attempts = 1\ncrawl.max_depth = 2\n"
    );
    place.crawl_by(&text, &[&seed, "--scope", "any", "--allow-private"]);
    let requests = web.requests();
    let times = |host, path: &str| {
        let asked = |it: &&Request| it.host == host && it.path == path;
        requests.iter().filter(asked).count()
    };
    assert_eq!((times(0, "/busy"), times(1, "/busy")), (3, 1));
    assert_eq!((times(0, "/2"), times(1, "/1"), times(1, "/2")), (1, 1, 0));
}

#[test]
fn the_delay_holds_across_runs() {
    let web = Web::start(vec![jittery(3, &[])]);
    let seed = web.url(0, "/");
    let crawl = Place::new();
    for _ in 0..4 {
        crawl.crawl(&[&seed, "--max-pages", "1", "--delay", "600ms"]);
    }
    check_gaps(&web, Duration::from_millis(600), 1);
}

#[test]
fn redirects_of_robots_txt_keep_the_delay_too() {
    let site = jittery(2, &[])
        .page("/robots.txt", Answer::redirect(301, "/rules.txt"))
        .page("/rules.txt", Answer::text(""));
    let web = Web::start(vec![site]);
    let seed = web.url(0, "/");
    Place::new().crawl(&[&seed, "--delay", "100ms"]);
    check_gaps(&web, Duration::from_millis(100), 1);
}

#[test]
fn redirects_of_robots_txt_wait_for_their_turn_at_another_host() {
    let elsewhere = || jittery(1, &[]).page("/robots.txt", Answer::redirect(302, "{host3}/rules"));
    let rules = jittery(3, &[]).page("/rules", Answer::text(""));
    let web = Web::start(vec![elsewhere(), elsewhere(), elsewhere(), rules]);
    let seeds: Vec<String> = (0..4).map(|host| web.url(host, "/")).collect();
    let mut arguments: Vec<&str> = seeds.iter().map(String::as_str).collect();
    arguments.extend(["--delay", "100ms", "--allow-private"]);
    Place::new().crawl(&arguments);
    let rules = web.asked(3).into_iter().filter(|path| path == "/rules");
    assert_eq!(rules.count(), 3);
    check_gaps(&web, Duration::from_millis(100), 4);
}

#[test]
fn a_crawl_delay_lengthens_the_delay() {
    let site = jittery(2, &[]).robots("User-agent: *\nCrawl-delay: 0.4\n");
    let web = Web::start(vec![site]);
    let seed = web.url(0, "/");
    Place::new().crawl(&[&seed, "--delay", "10ms"]);
    check_gaps(&web, Duration::from_millis(400), 1);
}

#[test]
fn a_crawl_delay_that_is_too_long_is_cut() {
    let site = jittery(1, &[]).robots("User-agent: *\nCrawl-delay: 3000\n");
    let web = Web::start(vec![site]);
    let seed = web.url(0, "/");
    Place::new().crawl_by("politeness.max_crawl_delay = \"200ms\"", &[&seed]);
    assert_eq!(web.requests().len(), 3);
}

#[test]
fn a_host_that_asks_for_time_gets_it() {
    let busy = vec![
        Answer::status(503).header("Retry-After", "1"),
        Answer::status(429).header("Retry-After", "1"),
        Answer::html(page("busy", &[])),
    ];
    let web = Web::start(vec![jittery(2, &["/busy"]).page_in_turn("/busy", busy)]);
    let seed = web.url(0, "/");
    let crawl = Place::new();
    // Without a back-off, which is longer.
    let text = "[politeness]\nbackoff = \"1ms\"\n";
    crawl.crawl_by(text, &[&seed, "--delay", "20ms"]);
    check_gaps(&web, Duration::from_millis(20), 1);
    let requests = web.requests();
    let busy: Vec<usize> = (0..requests.len())
        .filter(|&at| requests[at].path == "/busy")
        .collect();
    assert_eq!(busy.len(), 3);
    // Whatever was asked next, by whichever page it was.
    for &at in &busy[..2] {
        let gap = gap(&[&requests[at], &requests[at + 1]]);
        assert!(gap >= Duration::from_secs(1), "{gap:?}");
    }
    let mut log = crawl.log();
    log.retain(|line| line.url == web.url(0, "/busy"));
    let verdicts: Vec<&str> = log.iter().map(|line| line.verdict.name()).collect();
    assert_eq!(verdicts, ["retry", "retry", "unique"]);
    assert_eq!(crawl.status().counters.retries, 2);
}

#[test]
fn a_url_is_given_up_after_its_attempts() {
    let web = Web::start(vec![
        jittery(1, &["/busy", "/broken"])
            .page("/busy", Answer::status(503))
            .page("/broken", Answer::raw("")),
    ]);
    let seed = web.url(0, "/");
    let crawl = Place::new();
    let text = "[politeness]\nbackoff = \"40ms\"\nattempts = 2\n";
    crawl.crawl_by(text, &[&seed]);
    let times = |path: &str| web.requests().iter().filter(|it| it.path == path).count();
    assert_eq!(times("/busy"), 2);
    assert_eq!(times("/broken"), 2);
    let counters = crawl.status().counters;
    assert_eq!((counters.queued, counters.failed), (0, 1));
    assert_eq!(counters.statuses[&5], 1);
}

/// Three hosts, and seeds for each.
fn three() -> (Web, Vec<String>) {
    let web = Web::start((0..3).map(|_| jittery(5, &[])).collect());
    let seeds = (0..3).map(|host| web.url(host, "/")).collect();
    (web, seeds)
}

#[test]
fn different_hosts_are_asked_at_the_same_time() {
    let (web, seeds) = three();
    // No answer until all three have been asked: one after the other would never get there.
    web.hold();
    let crawl = Place::new();
    let arguments: Vec<&str> = seeds.iter().map(String::as_str).collect();
    let running = crawl.start(&arguments);
    assert!(web.wait_for_requests(3, PATIENCE));
    web.release();
    running.end().expect(0);
    assert_eq!(web.max_concurrent_overall(), 3);
    for host in 0..3 {
        assert_eq!(web.max_concurrent(host), 1);
    }
}

#[test]
fn concurrency_bounds_fetches_at_once() {
    for bound in 1..=2 {
        let (web, seeds) = three();
        let mut arguments: Vec<&str> = seeds.iter().map(String::as_str).collect();
        arguments.extend(["--concurrency", ["0", "1", "2"][bound]]);
        Place::new().crawl(&arguments);
        assert!(web.max_concurrent_overall() <= bound);
        assert_eq!(web.requests().len(), 3 * 7);
    }
}

#[test]
fn the_rate_holds_across_the_crawl() {
    const RATE: u32 = 10;
    let (web, seeds) = three();
    let mut arguments: Vec<&str> = seeds.iter().map(String::as_str).collect();
    arguments.extend(["--max-rate", "10"]);
    // All together, also the first ones. Requests may be late, and arrive together then: it is the
    // crawl as a whole that never takes less.
    let begun = Instant::now();
    Place::new().crawl(&arguments);
    let took = begun.elapsed();
    assert_eq!(web.requests().len(), 3 * 7);
    let least = Duration::from_secs(3 * 7 - 1) / RATE;
    assert!(took >= least, "21 requests in {took:?}");
}

/// Names of hosts, `NAMES` at each of `ADDRESSES` addresses.
const ADDRESSES: usize = 8;
const NAMES: usize = 12;
/// Pages of each of them, `/` and one that is busy at first aside.
const PAGES: usize = 3;

fn name(address: usize, number: usize) -> String {
    format!("h{number}.site{number}-{address}.example")
}

/// One address with many hosts, told apart by the name that is asked for; its latency jitters, and
/// each host has one page that first asks for time.
fn crowded() -> Site {
    let asked = Mutex::new(BTreeSet::new());
    Site::new().robots("").otherwise(move |request: &Request| {
        let host = request.header("host").expect("a request names its host");
        let jitter = (host.len() * 7 + request.path.len() * 31 + request.head.len() * 13) % 25;
        let answer = match request.path.as_str() {
            "/busy" if asked.lock().expect("no panic").insert(host.clone()) => {
                Answer::status(429).header("Retry-After", "1")
            }
            "/" => {
                let links = anchors(numbered(PAGES)) + &anchors(["/busy"]);
                Answer::html(page(&host, &[]) + &links)
            }
            path => Answer::html(page(&format!("{host} {path}"), &[])),
        };
        answer.after(Duration::from_millis(jitter as u64))
    })
}

#[test]
fn no_host_and_no_address_is_asked_sooner_than_promised() {
    let delay = Duration::from_millis(200);
    let address_delay = Duration::from_millis(20);
    let web = Web::start((0..ADDRESSES).map(|_| crowded()).collect());
    let place = Place::new();
    let hosts = || (0..ADDRESSES).flat_map(|at| (0..NAMES).map(move |number| (at, number)));
    let named: Vec<String> = hosts()
        .map(|(at, number)| {
            let address = web.url(at, "").replace("http://", "");
            format!("\"{}\" = [\"{address}\"]", name(at, number))
        })
        .collect();
    let named = named.join("\n");
    let text = format!("politeness.address_delay = \"20ms\"\n[fetch.hosts]\n{named}\n");
    let seeds: Vec<String> = hosts()
        .map(|(at, number)| format!("http://{}/", name(at, number)))
        .collect();
    let seeds = place.file("seeds.txt", &seeds.join("\n"));
    place.crawl_by(&text, &["--seeds", &seeds, "--delay", "200ms"]);

    let requests = web.requests();
    // robots.txt, home, pages, and the busy one twice.
    assert_eq!(requests.len(), ADDRESSES * NAMES * (PAGES + 4));
    for (at, number) in hosts() {
        let own = name(at, number);
        let of_host = |it: &&Request| it.header("host").as_deref() == Some(&*own);
        let own: Vec<&Request> = requests.iter().filter(of_host).collect();
        assert_eq!(own.len(), PAGES + 4);
        for (place, pair) in own.windows(2).enumerate() {
            let is_first_busy =
                pair[0].path == "/busy" && own[..place].iter().all(|before| before.path != "/busy");
            let promised = match is_first_busy {
                true => Duration::from_secs(1),
                false => delay,
            };
            assert!(gap(pair) >= promised, "{:?} at {}", gap(pair), pair[1].path);
        }
    }
    for address in 0..ADDRESSES {
        assert_eq!(web.max_concurrent(address), 1, "address {address}");
        let own: Vec<&Request> = requests.iter().filter(|it| it.host == address).collect();
        for pair in own.windows(2) {
            assert!(gap(pair) >= address_delay, "{:?} at {address}", gap(pair));
        }
        // While a host waits for its delay, the others of its address are asked: hardly ever is
        // one asked twice in a row, but for the last that is left.
        let name = |request: &Request| request.header("host");
        let in_a_row = own.windows(2).filter(|pair| name(pair[0]) == name(pair[1]));
        let in_a_row = in_a_row.count();
        assert!(in_a_row * 4 < own.len(), "{in_a_row} of {}", own.len());
    }
}

#[test]
fn a_slow_host_is_left_alone_as_long_as_it_took() {
    let slow = Answer::html(page("slow", &["/next"])).after(Duration::from_millis(400));
    let web = Web::start(vec![leaves().robots("").page("/", slow)]);
    Place::new().crawl(&[&web.url(0, "/"), "--delay", "10ms"]);
    let requests = web.requests();
    assert_eq!(requests.len(), 3);
    let gap = gap(&[&requests[1], &requests[2]]);
    assert!(gap >= Duration::from_millis(400), "{gap:?}");
}

#[test]
fn a_host_that_keeps_failing_is_parked_and_does_not_keep_the_crawl() {
    let site = linking(&numbered(9))
        .robots("")
        .otherwise(|_| Answer::raw(""));
    let web = Web::start(vec![site]);
    let place = Place::new();
    let text = "[politeness]\ndelay = \"0s\"\nbackoff = \"1ms\"\nattempts = 1\npark_after = 4\n";
    place.crawl_by(text, &[&web.url(0, "/")]);
    assert_eq!(web.requests().len(), 2 + 4);
    let status = place.status();
    let counters = &status.counters;
    assert_eq!((counters.failed, counters.queued), (4, 5));
    assert_eq!((counters.parked, counters.parked_hosts), (5, 1));
    let now = gleaner::inspect::status(&place.data()).expect("nobody crawls");
    let hosts = now.hosts.expect("the store is read");
    let host = &hosts.by_failures[0];
    assert!(host.parked && host.failures == 4, "{host:?}");
    assert_eq!(host.trouble, Some(gleaner::frontier::Trouble::Disconnect));
    // The next run does not stay for it either.
    place.crawl_by(text, &[]);
    assert_eq!(web.requests().len(), 2 + 4);
}
