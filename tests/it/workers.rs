//! Workers that share a crawl: each shard is crawled by one of them at a time, whoever comes and
//! goes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use gleaner::StopHandle;
use gleaner::broker::{Broker, Memory};
use gleaner::cluster::{Times, Worker, WorkerError, WorkerOptions};

use crate::audit::{canonical, rows};
use crate::following::options;
use crate::run::{PATIENCE, page};
use crate::web::{Answer as Reply, Site, Web};

const SHARDS: u16 = 4;

/// Pages of each site.
const PAGES: usize = 60;

/// Short, so that nobody waits for a worker that has gone; long enough for a busy machine.
const TIMES: Times = Times {
    beat: Duration::from_millis(50),
    right: Duration::from_secs(20),
    dead: Duration::from_secs(30),
};

/// A worker on a thread.
struct Running {
    stop: StopHandle,
    thread: JoinHandle<Result<(), WorkerError>>,
}

impl Running {
    fn start(engine: &Memory, place: &Path, name: &str, web: &Web) -> Self {
        let mut crawl = options();
        crawl.scope = gleaner::ScopeKind::Host;
        let seeds: Vec<_> = (0..SHARDS)
            .map(|host| gleaner::url::parse(&web.url(host.into(), "/")).expect("a URL"))
            .collect();
        let options = WorkerOptions {
            name: name.to_owned(),
            machine: name.to_owned(),
            directory: place.join(name),
            shards: SHARDS,
            copies: 2,
            times: TIMES,
            crawl,
            seeds: Arc::new(move |shard| {
                let seed = seeds.get(usize::from(shard)).cloned();
                seed.into_iter().map(Into::into).collect()
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

/// A site of its own for each shard: a tree of pages.
fn site(shard: u16) -> Site {
    (0..PAGES).fold(Site::new(), |site, number| {
        let path = |number: usize| match number {
            0 => "/".to_owned(),
            _ => format!("/{number}"),
        };
        let below = [2 * number + 1, 2 * number + 2];
        let below: Vec<_> = below
            .into_iter()
            .filter(|it| *it < PAGES)
            .map(path)
            .collect();
        let links: Vec<&str> = below.iter().map(String::as_str).collect();
        let title = format!("page {number} of shard {shard}");
        site.page(&path(number), Reply::html(page(&title, &links)))
    })
}

#[test]
fn workers_come_and_go_and_each_page_is_fetched_once() {
    let web = Web::start((0..SHARDS).map(site).collect());
    let place = tempfile::tempdir().expect("there is a directory for temporary files");
    let engine = Memory::start(1 << 20);
    let start = |name| Running::start(&engine, place.path(), name, &web);
    let (a, b) = (start("a"), start("b"));
    assert!(web.wait_for_requests(30, PATIENCE), "they begin");
    // One comes, and one leaves: what it owned is gone on with by others.
    let c = start("c");
    assert!(web.wait_for_requests(80, PATIENCE), "they go on");
    a.stop.stop();
    a.end();
    b.end();
    c.end();

    // Each shard is whole where it was crawled last, or followed to its end.
    let mut pages: BTreeMap<String, usize> = BTreeMap::new();
    for shard in 0..SHARDS {
        let of_workers = ["a", "b", "c"].map(|name| {
            let directory = place
                .path()
                .join(name)
                .join("shards")
                .join(format!("{shard:02}"));
            match directory.exists() {
                true => rows(&directory),
                false => BTreeMap::new(),
            }
        });
        let most = of_workers.iter().max_by_key(|rows| rows.len());
        for page in most.expect("there are three").values() {
            *pages.entry(canonical(&page.url)).or_default() += 1;
        }
    }
    assert!(pages.values().all(|times| *times == 1), "{pages:?}");
    let mut asked: BTreeMap<String, usize> = BTreeMap::new();
    for request in web.requests() {
        if request.path != "/robots.txt" {
            *asked
                .entry(format!("{}{}", request.host, request.path))
                .or_default() += 1;
        }
    }
    let again: Vec<_> = asked.iter().filter(|(_, times)| **times > 1).collect();
    assert!(again.is_empty(), "{again:?}");
    assert_eq!(pages.len(), usize::from(SHARDS) * PAGES);
}
