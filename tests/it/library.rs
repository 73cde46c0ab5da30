//! The library as a program uses it: in its own asynchronous runtime, without the command.

use std::path::Path;

use gleaner::{Crawl, Ending, Feed, Options, Position, RunLimits, StopHandle, Texts, VisitVerdict};

use crate::run::page;
use crate::web::{Answer as Reply, Site, Web};

fn web() -> Web {
    let home = page("home", &["/a", "/b"]);
    Web::start(vec![
        Site::new()
            .page("/", Reply::html(home))
            .page("/a", Reply::html(page("the same", &[])))
            .page("/b", Reply::html(page("the same", &[]))),
    ])
}

/// The defaults, and no wait between the visits of a host.
fn options() -> Options {
    let mut options = Options::default();
    options.policies = gleaner::config::Config {
        politeness: toml::from_str("delay = \"0s\"").expect("a delay"),
        ..gleaner::config::Config::default()
    }
    .options()
    .expect("the rest are defaults")
    .policies;
    options
}

fn open(data: &Path, web: &Web, stop: &StopHandle) -> Crawl {
    let mut crawl = Crawl::open(data, options()).expect("the directory is new");
    let seed = gleaner::url::parse(&web.url(0, "/")).expect("a URL");
    crawl.add_seeds([seed], stop).expect("the seed is admitted");
    crawl
}

#[tokio::test]
async fn a_crawl_runs_within_a_runtime_and_is_read() {
    let web = web();
    let place = tempfile::tempdir().expect("there is a directory for temporary files");
    let data = place.path().join("data");
    let stop = StopHandle::new();
    let crawl = open(&data, &web, &stop);
    let summary = crawl.run(&RunLimits::default(), &stop).await;
    let summary = summary.expect("the crawl ends well");
    assert_eq!((summary.pages, summary.ending), (3, Ending::Drained));
    assert_eq!(summary.counters.verdicts.of(&VisitVerdict::Unique), 2);
    assert_eq!(summary.counters.verdicts.of(&VisitVerdict::Raw), 1);
    assert!(!stop.is_stopped(), "it ended by itself");

    let bounds = options();
    let texts = Texts::of(&data, &bounds.page, bounds.fetch.decode_bounds());
    let mut feed = Feed::open(&data, Position::default()).expect("there is a log");
    let mut originals = Vec::new();
    while let Some((line, _)) = feed.read_line().expect("the log can be read") {
        if let (Some(page), VisitVerdict::Unique) = (&line.page, line.verdict) {
            let text = texts.read(&line.url, page).expect("the archive is there");
            originals.push(text.unwrap_or_default());
        }
    }
    assert_eq!(originals.len(), 2, "{originals:?}");
    assert!(
        originals
            .iter()
            .any(|text| text.contains("the same has a text"))
    );
}

#[tokio::test]
async fn a_run_that_nobody_waits_for_stops() {
    let web = web();
    web.hold();
    let place = tempfile::tempdir().expect("there is a directory for temporary files");
    let stop = StopHandle::new();
    let crawl = open(&place.path().join("data"), &web, &stop);
    let limits = RunLimits::default();
    {
        let run = crawl.run(&limits, &stop);
        tokio::pin!(run);
        // Once around: it has begun.
        let begun = tokio::time::timeout(std::time::Duration::ZERO, &mut run).await;
        assert!(begun.is_err(), "no server answers");
    }
    assert!(stop.is_stopped());
    web.release();
}
