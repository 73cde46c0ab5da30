//! Signals: the first ends the run in good order, however long servers take; the second at once.
//! The state is safe either way.

use rustix::process::Signal;

use crate::run::{PATIENCE, Place, Running, linking, numbered, page};
use crate::web::{Answer, Site, Web};

/// Deadlines that no test waits for: whatever ends a visit, it is none of them.
const NO_DEADLINES: &str = "[fetch]\nhead_timeout = \"1h\"\ntotal_timeout = \"1h\"\n";

/// Pages that are answered before answers are held.
const ANSWERED: usize = 5;

/// A crawl of two hosts of 13 pages that waits for answers that are held back.
fn held(crawl: &Place) -> (Web, Running) {
    let host = || linking(&numbered(12)).robots("");
    let web = Web::start(vec![host(), host()]);
    // Besides the two robots.txt.
    web.hold_after(ANSWERED + 2);
    let (first, second) = (web.url(0, "/"), web.url(1, "/"));
    let settings = crawl.file("settings.toml", NO_DEADLINES);
    let running = crawl.start(&[&first, &second, "--config", &settings]);
    // Both hosts are being asked for something that they do not answer.
    assert!(web.wait_for_requests(ANSWERED + 2 + 2, PATIENCE));
    (web, running)
}

/// Whatever happened, the archive is sound and the crawl goes on: in the end each page is there
/// once, and only what was in flight was asked for twice.
fn check_resumes(crawl: &Place, web: &Web) {
    crawl.records();
    let done = crawl.status().counters.done();
    assert!(done <= ANSWERED as u64);
    web.release();
    crawl.crawl(&[]).says(&[&format!(" {done} done")]);
    assert_eq!(crawl.pages().len(), 26);
    assert_eq!(crawl.status().counters.pages, 26);
    crawl.records();
    let asked = web.asked(0).len() + web.asked(1).len();
    // The two that were held, and what was answered and not yet committed.
    assert_eq!(asked as u64 - 26, 2 + ANSWERED as u64 - done);
}

fn check_good_order(signal: Signal) {
    let crawl = Place::new();
    let (web, running) = held(&crawl);
    running.signal(signal);
    let output = running.end().expect(0);
    let output = output.says(&["stopping"]);
    assert!(output.stdout.contains("stopped"), "{output:?}");
    // Everything that had arrived is committed.
    assert_eq!(crawl.status().counters.pages, ANSWERED as u64);
    check_resumes(&crawl, &web);
}

#[test]
fn an_interrupt_ends_a_run_in_good_order() {
    check_good_order(Signal::INT);
}

#[test]
fn a_termination_ends_a_run_in_good_order() {
    check_good_order(Signal::TERM);
}

#[test]
fn a_second_signal_ends_a_run_at_once() {
    let crawl = Place::new();
    let (web, running) = held(&crawl);
    running.signal(Signal::INT);
    running.wait_for_line("stopping");
    running.signal(Signal::INT);
    running.end().expect(130);
    check_resumes(&crawl, &web);
}

#[test]
fn a_killed_run_is_gone_on_with() {
    let crawl = Place::new();
    let (web, running) = held(&crawl);
    running.signal(Signal::KILL);
    running.end().expect(128 + 9);
    check_resumes(&crawl, &web);
}

#[test]
fn a_run_ends_after_its_time() {
    let crawl = Place::new();
    let site = Site::new().otherwise(|request| {
        let next = format!("{}x", request.path);
        Answer::html(page(&request.path, &[&next]))
    });
    // A calendar without end, but for the longest URL.
    let web = Web::start(vec![site.robots("")]);
    let seed = web.url(0, "/");
    let output = crawl.crawl(&[&seed, "--max-duration", "300ms"]);
    assert!(
        output.stdout.contains("--max-duration reached"),
        "{output:?}"
    );
    let status = crawl.status();
    assert!(!status.running);
    assert!(status.counters.queued > 0);
}
