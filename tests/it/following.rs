//! A crawl that is followed and taken over, again and again: what the workers have in the end is
//! what one of them alone would have.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use gleaner::broker::{Broker, Memory};
use gleaner::cluster::ShardLog;
use gleaner::engine::{FollowStep, Following};
use gleaner::store::CommitLog;
use gleaner::{Crawl, Ending, Options, RunLimits, StopHandle};

use crate::audit::{Left, left, simhash};
use crate::web::{ClusterOptions, Web, cluster_web};

/// Everything is committed in small groups, and every distinct body is kept, so that what is left
/// does not depend on the order.
const SETTINGS: &str = "[archive]\nstore = \"exact-only\"\n[crawl]\nscope = \"any\"\n\
                        [state]\ncheckpoint_interval = \"20ms\"\n\
                        [politeness]\ndelay = \"0s\"\n\
                        [fetch]\nallow_private = true\nconcurrency = 4\n";

pub(crate) fn options() -> Options {
    options_of(SETTINGS)
}

/// The same, but what fails is given up at once.
pub(crate) fn options_without_patience() -> Options {
    let impatient = "[politeness]\nattempts = 1";
    options_of(&SETTINGS.replace("[politeness]", impatient))
}

/// The same, but whoever stays visits pages again soon.
pub(crate) fn options_of_a_daemon() -> Options {
    options_of(&format!(
        "{SETTINGS}[revisit]\nmode = \"fixed\"\ninterval = \"100ms\"\n"
    ))
}

fn options_of(settings: &str) -> Options {
    let config: gleaner::config::Config = toml::from_str(settings).expect("settings");
    config.options().expect("valid settings")
}

/// A connection of its own to the log.
fn log(engine: &Memory) -> Arc<dyn CommitLog> {
    Arc::new(ShardLog::new(
        Arc::new(engine.connect()) as Arc<dyn Broker>,
        0,
        "worker",
    ))
}

/// Opens the crawl as its owner and crawls up to `pages` more.
fn crawl(data: &Path, engine: &Memory, seed: &str, pages: Option<u64>) -> Ending {
    let mut options = options();
    options.log = Some(log(engine));
    let stop = StopHandle::new();
    let mut crawl = Crawl::open(data, options).expect("it is taken over");
    let seed = gleaner::url::parse(seed).expect("a URL");
    crawl
        .add_seeds([seed], &stop)
        .expect("the seed is admitted");
    let limits = RunLimits {
        max_pages: pages,
        ..RunLimits::default()
    };
    let summary = crawl.run_blocking(&limits, &stop);
    summary.expect("it ends well").ending
}

/// Follows the crawl to the end of its log.
fn follow(data: &Path, engine: &Memory) {
    let mut following = Following::open(data, &options(), log(engine)).expect("it can follow");
    loop {
        match following.step().expect("it follows") {
            FollowStep::Applied => {}
            FollowStep::AtEnd => break,
            FollowStep::Away(reason) => panic!("{reason}"),
        }
    }
    let (position, _) = following.place();
    assert_eq!(Ok(position), engine.end("00"));
}

/// What one crawl leaves that has no log and is not disturbed.
pub(crate) fn undisturbed(web: &Web) -> Left {
    let place = tempfile::tempdir().expect("there is a directory for temporary files");
    let data = place.path().join("data");
    let stop = StopHandle::new();
    let mut crawl = Crawl::open(&data, options()).expect("it begins");
    let seed = gleaner::url::parse(&web.url(0, "/")).expect("a URL");
    crawl
        .add_seeds([seed], &stop)
        .expect("the seed is admitted");
    let summary = crawl.run_blocking(&RunLimits::default(), &stop);
    assert_eq!(summary.expect("it ends well").ending, Ending::Drained);
    left(&data)
}

/// Moves the files of the archives of one worker to those of another.
pub(crate) fn bring(from: &Path, to: &Path) {
    for folder in ["warc", "texts"] {
        let Ok(entries) = fs::read_dir(from.join(folder)) else {
            continue;
        };
        for entry in entries {
            let path = entry.expect("a file").path();
            let name = path.file_name().expect("a name");
            let target = to.join(folder).join(name);
            assert!(!target.exists(), "{} is there twice", target.display());
            fs::create_dir_all(to.join(folder)).expect("it can be made");
            fs::rename(&path, target).expect("it can be moved");
        }
    }
}

#[test]
fn two_workers_that_take_over_from_each_other_have_what_one_has() {
    let options = ClusterOptions {
        hosts: 4,
        pages_per_host: 30,
        seed: 0x70,
    };
    let web = Web::start(cluster_web(options, &simhash).0);
    let seed = web.url(0, "/");
    let place = tempfile::tempdir().expect("there is a directory for temporary files");
    let workers = [place.path().join("a"), place.path().join("b")];
    let engine = Memory::start(1 << 20);
    let mut rounds = 0;
    let ending = loop {
        let (owner, other) = (&workers[rounds % 2], &workers[(rounds + 1) % 2]);
        let ending = crawl(owner, &engine, &seed, Some(25));
        follow(other, &engine);
        rounds += 1;
        if ending != Ending::MaxPages {
            break ending;
        }
    };
    assert_eq!(ending, Ending::Drained);
    assert!(rounds > 4, "{rounds}");
    // The last owner has none of what the other one stored, and says so.
    let last = &workers[(rounds + 1) % 2];
    bring(&workers[rounds % 2], last);
    let (left, expected) = (left(last), undisturbed(&web));
    assert_eq!(left.pages, expected.pages);
    assert_eq!(left.answered, expected.answered);
    assert_eq!(left.clusters, expected.clusters);
    // The head of a robots.txt is in its record only. Where that is on another disk, what is like
    // it is stored once more.
    let mut payloads = left.payloads;
    for (payload, times) in &mut payloads {
        if payload.ends_with(" 404") {
            *times = (*times).min(expected.payloads.get(payload).copied().unwrap_or(0));
        }
    }
    assert_eq!(payloads, expected.payloads);
}
