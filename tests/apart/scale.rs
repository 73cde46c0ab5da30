//! The frontier at scale, small: what `benches/scale.rs` does with millions (docs/performance.md).

use std::path::Path;
use std::time::Duration;

use gleaner::config::Config;
use gleaner::engine::Options;
use gleaner::frontier::ScopeKind;

use crate::child::Role;
use crate::{commit, measure, queue, restart, seen};

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

/// What the benches print is not looked at here.
fn say(_: &str) {}

pub(crate) fn every_answer_about_urls_seen_is_right() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let figures = seen::seen(directory.path(), 40_000, 1_000, &say);
    assert_eq!((figures.wrong, figures.keys), (0, 40_000));
    assert!(figures.disk < 13.0, "{} bytes each", figures.disk);
}

pub(crate) fn what_enters_queues_leaves_them() {
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

pub(crate) fn pages_admit_what_is_new() {
    for archive in [false, true] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let directory = directory.path().join("crawl");
        let sizes = ((2_000, HOSTS), (160, 8));
        let figures = commit::commit(&directory, &options(), sizes.0, sizes.1, archive, &say);
        assert_eq!((figures.pages, figures.admitted), (160, 160 * 8));
        assert_eq!(figures.queued, 2_000 + 160 * 8 - 160);
    }
}

/// The process that [`nothing_is_lost_or_doubled_over_kills`] kills.
pub(crate) fn fill_until_killed(directory: &Path, from: u64) {
    restart::fill_until_killed(directory, &options(), from, HOSTS);
}

pub(crate) fn nothing_is_lost_or_doubled_over_kills() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let directory = directory.path().join("crawl");
    let command = |from| Role::Fill.command(&directory, from);
    let sizes = (20_000, HOSTS, 12);
    let figures = restart::restart(&directory, &options(), sizes, command, &say);
    assert!(figures.admitted >= 20_000);
}
