//! Workers that share a crawl: together they fetch what one machine fetches, and each URL once,
//! whoever comes and goes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use gleaner::broker::{Broker, Memory};
use gleaner::cluster::{Times, Worker, WorkerError, WorkerOptions};
use gleaner::frontier::Shards;
use gleaner::url::{HostKey, Secret, parse};
use gleaner::{Crawl, Ending, RunLimits, StopHandle};

use crate::audit::simhash;
use crate::following::options;
use crate::run::{PATIENCE, log};
use crate::web::{ClusterOptions, Web, cluster_web};

const SHARDS: u16 = 4;
const HOSTS: usize = 12;
/// Where these hosts are: three of them belong to each shard.
const NET: u8 = 4;

/// Beats that nobody waits for, and a death that nobody dies of because the machine is busy.
pub(crate) const TIMES: Times = Times {
    beat: Duration::from_millis(50),
    right: Duration::from_secs(50),
    dead: Duration::from_mins(1),
};

/// A worker on a thread.
struct Running {
    stop: StopHandle,
    thread: JoinHandle<Result<(), WorkerError>>,
}

impl Running {
    fn start(engine: &Memory, place: &Path, name: &str, web: &Web) -> Self {
        let seed = parse(&web.url(0, "/")).expect("a URL");
        let options = WorkerOptions {
            name: name.to_owned(),
            machine: name.to_owned(),
            directory: place.join(name),
            shards: SHARDS,
            copies: 2,
            times: TIMES,
            secret: Secret::from_bytes([7; Secret::LEN]),
            crawl: options(),
            library: 1_000_000,
            // What else there is, one shard tells the other.
            seeds: Arc::new(move |shard| {
                let shards = Shards::new(shard, SHARDS).expect("there is such a shard");
                let own = Some(seed.clone()).filter(|seed| shards.is_own(&HostKey::of(seed)));
                own.into_iter().map(Into::into).collect()
            }),
        };
        let broker = Arc::new(engine.connect()) as Arc<dyn Broker>;
        let worker = Worker::join(broker, options).expect("it can join");
        let stop = StopHandle::new();
        let own = stop.clone();
        Self {
            stop,
            thread: thread::spawn(move || worker.run(&own)),
        }
    }

    fn end(self) {
        let ended = self.thread.join().expect("its thread does not panic");
        ended.expect("it ends well");
    }
}

/// The URLs that a crawl is done with, by the lines of its log, each as often as it is there, but
/// for visits that only checked what was learned.
fn fetched(data: &Path) -> BTreeMap<String, usize> {
    const OTHERS: [&str; 3] = ["retry", "checked", "unchanged"];
    let mut urls = BTreeMap::new();
    for line in log(data) {
        if !OTHERS.iter().any(|verdict| line.verdict == *verdict) {
            *urls.entry(line.url).or_default() += 1;
        }
    }
    urls
}

/// The same without queries: which of the forms of a URL is seen first is a matter of order, and
/// they differ in these.
fn pages(urls: &BTreeMap<String, usize>) -> BTreeSet<&str> {
    let pages = urls.keys().filter_map(|url| url.split('?').next());
    pages.collect()
}

#[test]
fn workers_come_and_go_and_fetch_what_one_machine_fetches() {
    let cluster = ClusterOptions {
        hosts: HOSTS,
        pages_per_host: 25,
        seed: 23,
    };
    let web = Web::start_at(NET, cluster_web(cluster, &simhash).0);
    let place = tempfile::tempdir().expect("there is a directory for temporary files");
    let stop = StopHandle::new();
    let directory = place.path().join("alone");
    let mut alone = Crawl::open(&directory, options()).expect("it begins");
    let seed = parse(&web.url(0, "/")).expect("a URL");
    alone
        .add_seeds([seed], &stop)
        .expect("the seed is admitted");
    let summary = alone.run_blocking(&RunLimits::default(), &stop);
    assert_eq!(summary.expect("it ends well").ending, Ending::Drained);
    let expected = fetched(&directory);
    assert!(expected.len() > HOSTS * 25, "{}", expected.len());
    web.clear_log();

    let engine = Memory::start(1 << 20);
    let start = |name| Running::start(&engine, place.path(), name, &web);
    let (a, b) = (start("a"), start("b"));
    assert!(web.wait_for_requests(60, PATIENCE), "they begin");
    // One comes, and one leaves: what it owned is gone on with by others.
    let c = start("c");
    assert!(web.wait_for_requests(150, PATIENCE), "they go on");
    a.stop.stop();
    a.end();
    b.end();
    c.end();
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for name in ["a", "b", "c"] {
        let shards = fs::read_dir(place.path().join(name).join("shards"));
        for shard in shards.expect("it had some") {
            let shard = shard.expect("the directory can be read").path();
            for (url, times) in fetched(&shard) {
                *found.entry(url).or_default() += times;
            }
        }
    }
    assert_eq!(pages(&found), pages(&expected));
    for (url, times) in found {
        let alone = expected.get(&url).copied().unwrap_or(1);
        assert!(times <= alone, "{url}: {times}");
    }
}
