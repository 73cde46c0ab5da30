//! The frontier at scale, small: what `benches/scale.rs` does with millions (docs/performance.md).

#[path = "support/again.rs"]
mod again;
#[path = "../benches/scale/commit.rs"]
mod commit;
#[path = "../benches/scale/measure.rs"]
mod measure;
#[path = "../benches/scale/queue.rs"]
mod queue;
#[path = "../benches/scale/restart.rs"]
mod restart;
#[path = "../benches/scale/seen.rs"]
mod seen;
#[path = "../benches/scale/urls.rs"]
mod urls;

use std::time::Duration;

use again::{again, given};
use gleaner::config::Config;
use gleaner::engine::Options;
use gleaner::frontier::ScopeKind;

const HOSTS: u64 = 300;

fn options() -> Options {
    let mut options = Config::default().options().expect("the defaults are sound");
    options.scope = ScopeKind::Any;
    options.max_memory = 64 << 20;
    // Filters that are outgrown, and checkpoints between most groups.
    options.seen.expected_urls = 2_000;
    options.checkpoint_interval = Duration::from_millis(20);
    options
}

fn say(line: &str) {
    eprintln!("{line}");
}

#[test]
fn every_answer_about_urls_seen_is_right() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let figures = seen::seen(directory.path(), 40_000, 1_000, &say);
    assert_eq!((figures.wrong, figures.keys), (0, 40_000));
    assert!(figures.disk < 13.0, "{} bytes each", figures.disk);
}

#[test]
fn what_enters_queues_leaves_them() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let directory = directory.path().join("crawl");
    let figures = queue::queue(
        &directory,
        &options(),
        (10_000, HOSTS),
        &measure::on_disk,
        &say,
    );
    assert_eq!(
        (figures.queued, figures.taken, figures.left),
        (10_000, 10_000, 0)
    );
}

#[test]
fn pages_admit_what_is_new() {
    for archive in [false, true] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let directory = directory.path().join("crawl");
        let sizes = ((2_000, HOSTS), (160, 8));
        let figures = commit::commit(&directory, &options(), sizes.0, sizes.1, archive, &say);
        assert_eq!((figures.pages, figures.admitted), (160, 160 * 8));
        assert_eq!(figures.queued, 2_000 + 160 * 8 - 160);
    }
}

/// No test: the process that `nothing_is_lost_or_doubled_over_kills` kills.
#[test]
#[ignore = "works until it is killed"]
fn fills_until_it_is_killed() {
    let (directory, from) = given();
    restart::fill_until_killed(&directory, &options(), from, HOSTS);
}

#[test]
fn nothing_is_lost_or_doubled_over_kills() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let directory = directory.path().join("crawl");
    let command = |from| again("fills_until_it_is_killed", &directory, from);
    let sizes = (20_000, HOSTS, 12);
    let figures = restart::restart(&directory, &options(), sizes, command, &say);
    assert!(figures.admitted >= 20_000);
}
