//! Memory does not grow with the queue: what waits is on disk.

use std::fs;
use std::time::Instant;

use rustix::process::Pid;

use crate::run::{PATIENCE, Place};
use crate::web::{Answer, Site, Web};

/// Links of a page that only links: the same in both crawls, so that parsing costs them the same.
const LINKS: usize = 1_000;

/// Small pages fetched after those that link.
const AFTER: usize = 40;

/// Settings under which what is sized by configuration, not by the queue, is small and soon full.
const SMALL: &str = "[state]\nmax_memory = \"64MiB\"\n[crawl]\nexpected_urls = 200_000\n";

/// A host whose `/` leads to `hubs` pages of [`LINKS`] links each.
fn site(hubs: usize) -> Site {
    let home: String = (0..hubs)
        .map(|hub| format!("<a href=\"/hub/{hub}\">hub</a> "))
        .collect();
    Site::new()
        .robots("")
        .page("/", Answer::html(home))
        .otherwise(|request| {
            let links: String = match request.path.strip_prefix("/hub/") {
                Some(hub) => (0..LINKS)
                    .map(|number| format!("<a href=\"/of/{hub}/some-page-{number}\">page</a> "))
                    .collect(),
                None => String::new(),
            };
            Answer::html(format!("<p>{}</p>{links}", request.path))
        })
}

/// Bytes of a line of `/proc/PID/status`.
fn bytes(pid: Pid, name: &str) -> u64 {
    let path = format!("/proc/{}/status", pid.as_raw_nonzero());
    let status = fs::read_to_string(path).expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kilobytes: Option<u64> =
        line.and_then(|line| line.trim_matches([':', ' ', '\t', 'k', 'B']).parse().ok());
    kilobytes.unwrap_or_else(|| panic!("no {name} in {status}")) * 1_024
}

/// The most memory that a crawl took until it had committed the links of `hubs` pages, and how many
/// URLs were waiting then.
fn peak(hubs: usize) -> (u64, u64) {
    let web = Web::start(vec![site(hubs)]);
    // robots.txt, `/`, those that link, and some that do not.
    web.hold_after(2 + hubs + AFTER);
    let place = Place::new();
    let config = place.file("config.toml", SMALL);
    let running = place.start(&[&web.url(0, "/"), "--config", &config]);
    assert!(web.wait_for_requests(3 + hubs + AFTER, PATIENCE));
    let deadline = Instant::now() + PATIENCE;
    let queued = loop {
        let counters = place.status().counters;
        if counters.pages == (1 + hubs + AFTER) as u64 {
            break counters.queued;
        }
        assert!(Instant::now() < deadline, "{counters:?}");
    };
    (bytes(running.pid(), "VmHWM"), queued)
}

#[test]
fn memory_does_not_grow_with_the_queue() {
    let (small, few) = peak(2);
    let (large, many) = peak(60);
    assert!((1_900..2_000).contains(&few), "{few}");
    assert!((59_900..60_000).contains(&many), "{many}");
    let per_url = large.saturating_sub(small) as f64 / (many - few) as f64;
    eprintln!("{small} bytes with {few} queued, {large} with {many}: {per_url:.1} a URL");
    assert!(
        per_url < BYTES_PER_URL,
        "{small} bytes with {few} queued, {large} with {many}: {per_url:.1} a URL"
    );
}

const BYTES_PER_URL: f64 = 100.0;
