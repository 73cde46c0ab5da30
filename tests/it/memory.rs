//! Memory does not grow with the queue of a crawl, for what waits is on disk, nor with the bytes of
//! a corpus, of which only digests and fingerprints are kept.
//!
//! Two crawls of equally many pages of equal size are compared: in one, pages link to what others
//! link to as well, in the other each to URLs of its own. Both exceed what is sized by
//! configuration (tables in memory, caches, visits between two stages), so that the rest of the
//! difference is the queue's. URLs are long: kept in memory, they would show.

use std::fs;
use std::io::Write as _;

use rustix::process::Pid;

use crate::run::{PATIENCE, Place, Running, anchors, gleaner};
use crate::web::{Answer, Site, Web};

/// Pages that only link.
const HUBS: usize = 150;

/// Links of each.
const LINKS: usize = 400;

/// Characters of a URL that is linked.
const LENGTH: usize = 800;

/// Small pages fetched after those that link.
const AFTER: usize = 40;

/// What one more URL in the queue may cost in memory. A queue in memory would take more than
/// [`LENGTH`]. What may grow: 64-bit keys of URLs seen until the next checkpoint (about 32 bytes
/// in a tree), 1.2 bytes of filter, and while the engine merges its files their index and filters:
/// measured are 10 to 180 bytes.
const BYTES_PER_URL: usize = 500;

/// Settings under which what is sized by configuration is small and soon full. Pages that only link
/// look like a trap, and are not to be deferred here.
const SMALL: &str = "[state]\nmax_memory = \"64MiB\"\n[crawl]\nexpected_urls = 200_000\n\
                     [traps]\nmode = \"off\"\n";

/// Has the allocator give back at once what it would keep for a moment.
const AT_ONCE: &str = "dirty_decay_ms:0,muzzy_decay_ms:0";

/// A host whose `/` leads to [`HUBS`] pages, which link to `sets` different sets of URLs.
fn site(sets: usize) -> Site {
    let home = anchors((0..HUBS).map(|hub| format!("/hub/{hub}")));
    // What a page links to that says nothing itself goes last.
    let home = format!("<h1>Where everything begins</h1>{home}");
    let long = "x".repeat(LENGTH);
    Site::new()
        .robots("")
        .page("/", Answer::html(home))
        .otherwise(move |request| {
            let hub = request.path.strip_prefix("/hub/");
            let hub = hub.and_then(|number| number.parse::<usize>().ok());
            let links = hub.map(|hub| {
                let set = hub % sets;
                anchors((0..LINKS).map(|number| format!("/{set}/{number}/{long}")))
            });
            let links = links.unwrap_or_default();
            Answer::html(format!("<p>{}</p>{links}", request.path))
        })
}

/// Bytes of a line of `/proc/PID/status`.
fn bytes(pid: Pid, name: &str) -> usize {
    let path = format!("/proc/{}/status", pid.as_raw_nonzero());
    let status = fs::read_to_string(path).expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kilobytes: Option<usize> =
        line.and_then(|line| line.trim_matches([':', ' ', '\t', 'k', 'B']).parse().ok());
    kilobytes.unwrap_or_else(|| panic!("no {name} in {status}")) * 1_024
}

/// The most memory that a crawl took until it had committed all pages that link, and how many URLs
/// were waiting then.
fn peak(sets: usize) -> (usize, usize) {
    let web = Web::start(vec![site(sets)]);
    // robots.txt, `/`, those that link, and some that do not.
    web.hold_after(2 + HUBS + AFTER);
    let place = Place::new();
    let config = place.file("config.toml", SMALL);
    // With a pause after each page no visits wait between two stages, and the allocator gives back
    // at once what it would keep for a moment: what is left is the crawl's own.
    let mut command = place.command(&[&web.url(0, "/"), "--config", &config, "--delay", "15ms"]);
    command.env("_RJEM_MALLOC_CONF", AT_ONCE);
    let running = Running::start(command);
    assert!(web.wait_for_requests(3 + HUBS + AFTER, PATIENCE));
    // All that were answered are committed when they can be read.
    let mut follower = place.follow(&["--no-text"]);
    for _ in 0..=HUBS + AFTER {
        follower.next().expect("every answered page is committed");
    }
    let why = place.ask(&["why", &web.url(0, "/"), "--json"]).json();
    let queued = why["host"]["queued"].as_u64().expect("a number");
    (bytes(running.pid(), "VmHWM"), queued as usize)
}

#[test]
fn memory_does_not_grow_with_the_queue() {
    const SETS: usize = 30;
    let (small, few) = peak(SETS);
    let (large, many) = peak(HUBS);
    assert_eq!(few, SETS * LINKS - AFTER);
    assert_eq!(many, HUBS * LINKS - AFTER);
    let grown = large.saturating_sub(small);
    let each = grown / (many - few);
    println!("{small} bytes with {few} queued, {large} with {many}: {each} a URL");
    assert!(
        each < BYTES_PER_URL,
        "{small} bytes with {few} queued, {large} with {many}: {each} a URL"
    );
}

/// What `gleaner dedup` takes after so many documents of 400 kB, all of them different.
fn peak_of_corpus(documents: usize) -> usize {
    let place = Place::new();
    let file = place.file("x", "");
    let pipe = std::path::Path::new(&file).with_extension("pipe");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).expect("a pipe with a name");
    let mut command = gleaner(&["dedup", "--jsonl", "--threads", "2"]);
    command.arg(&pipe).env("_RJEM_MALLOC_CONF", AT_ONCE);
    let running = Running::start(command);
    let mut lines = fs::OpenOptions::new()
        .write(true)
        .open(&pipe)
        .expect("the other end is open");
    for number in 0..documents {
        let words: Vec<_> = (0..40_000)
            .map(|at| format!("w{}", number * 40_000 + at))
            .collect();
        let text = words.join(" ");
        let line = serde_json::json!({"id": number, "text": text}).to_string() + "\n";
        lines.write_all(line.as_bytes()).expect("it reads");
    }
    // All but what the pipe and the batches in work hold was judged by now.
    let peak = bytes(running.pid(), "VmHWM");
    drop(lines);
    let output = running.end().expect(0);
    assert_eq!(output.stdout.lines().count(), documents);
    peak
}

#[test]
fn the_memory_of_a_corpus_is_that_of_its_index() {
    // Enough to fill what is worked on at once; then 48 MB more.
    let (few, many) = (peak_of_corpus(80), peak_of_corpus(200));
    let grown = many.saturating_sub(few);
    println!("{few} bytes, then {many}");
    assert!(grown < 10 << 20, "{few} bytes, then {many}");
}
