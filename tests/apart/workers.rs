//! Workers that share a crawl, as processes, with servers of NATS: whatever becomes of one of them,
//! together they fetch what one machine fetches, and nothing twice.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use gleaner::broker::{Broker, Error, Nats};
use gleaner::cluster::{forget_worker, status};
use gleaner::store::{self, Table};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::audit::{add_committed, canonical, check_times, rows, simhash};
use crate::nats::Servers;
use crate::need::tools;
use crate::proxy::Proxy;
use crate::run::{PATIENCE, Place, Running, directory, gleaner, payload_digest, read_records, run};
use crate::web::{ClusterOptions, Web, cluster_web};

pub(crate) const SHARDS: [&str; 4] = ["00", "01", "02", "03"];

/// Everything is committed in small groups, and every distinct body is kept, so that what is left
/// does not depend on the order.
const SETTINGS: &str = "[archive]\nstore = \"exact-only\"\n[crawl]\nscope = \"any\"\n\
                        [state]\ncheckpoint_interval = \"20ms\"\n\
                        [politeness]\ndelay = \"0s\"\n\
                        [fetch]\nallow_private = true\nconcurrency = 4\n\
                        head_timeout = \"60s\"\ntotal_timeout = \"90s\"\n";

/// Time after which a worker that says nothing is dead.
pub(crate) const DEAD: &str = "3s";

/// A web, servers, and the workers that crawl it.
pub(crate) struct World {
    pub(crate) web: Web,
    pub(crate) servers: Servers,
    directory: TempDir,
    settings: &'static str,
    shards: u16,
}

/// How large a world is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) hosts: usize,
    pub(crate) pages_per_host: usize,
    pub(crate) servers: usize,
    pub(crate) shards: u16,
    /// Requests a second that each host gets at most; `None` for any number.
    pub(crate) rate: Option<usize>,
    /// How it is crawled.
    pub(crate) settings: &'static str,
}

impl Default for Size {
    fn default() -> Self {
        Self {
            hosts: 4,
            pages_per_host: 60,
            servers: 1,
            shards: 4,
            rate: None,
            settings: SETTINGS,
        }
    }
}

impl World {
    fn new(seed: u64, servers: usize) -> Self {
        let size = Size {
            servers,
            ..Size::default()
        };
        Self::of(size, seed)
    }

    /// Passes time in which the web is crawled.
    pub(crate) fn passes(&self, time: Duration) {
        self.web.wait_for_requests(usize::MAX, time);
    }

    /// One in which a crawl is created.
    pub(crate) fn of(size: Size, seed: u64) -> Self {
        let options = ClusterOptions {
            hosts: size.hosts,
            pages_per_host: size.pages_per_host,
            seed,
        };
        let web = Web::start(cluster_web(options, &simhash).0);
        let seed = web.url(0, "/");
        let delay = size.rate.map_or(0, |rate| 1_000 / rate);
        let delay = format!("delay = \"{delay}ms\"");
        let settings = size.settings.replace("delay = \"0s\"", &delay);
        Self::over(web, size, &settings, &[seed])
    }

    /// One in which a crawl of this web is created, with these settings and seeds.
    pub(crate) fn over(web: Web, size: Size, settings: &str, seeds: &[String]) -> Self {
        let world = Self {
            web,
            servers: Servers::start(size.servers, &tools()),
            directory: directory(),
            settings: size.settings,
            shards: size.shards,
        };
        fs::write(world.settings(), settings).expect("the directory is ours");
        // Servers that have just started have to find one another.
        drop(world.servers.connect("crawl"));
        let address = world.servers.address("crawl");
        let mut command = gleaner(&["cluster", "create", &address]);
        command
            .args(seeds)
            .args(["--shards", &size.shards.to_string(), "--config"])
            .arg(world.settings());
        run(command).expect(0);
        world
    }

    fn settings(&self) -> PathBuf {
        self.directory.path().join("settings.toml")
    }

    pub(crate) fn data(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn start(&self, name: &str, more: &[&str]) -> Running {
        let times = [&["--dead", DEAD][..], more].concat();
        self.start_at(&self.servers.address("crawl"), name, &times)
    }

    pub(crate) fn start_at(&self, address: &str, name: &str, more: &[&str]) -> Running {
        let mut command = gleaner(&["worker", address, "--name", name, "--machine", name]);
        command
            .args(["--log", "info"])
            .arg("--data-dir")
            .arg(self.data(name))
            .arg("--config")
            .arg(self.settings())
            .args(more);
        Running::start(command)
    }

    /// Waits until the crawl is that far.
    pub(crate) fn wait(&self, requests: usize) {
        let is_on = self.web.wait_for_requests(requests, PATIENCE);
        assert!(is_on, "no progress to {requests} requests");
    }

    pub(crate) fn engine(&self) -> Arc<Nats> {
        let address = self.servers.address("crawl").parse();
        Arc::new(Nats::connect(&address.expect("it is an address")).expect("the servers run"))
    }

    /// What one machine leaves that nobody disturbs.
    pub(crate) fn undisturbed(&self) -> Place {
        let undisturbed = Place::new();
        let settings = undisturbed.file("settings.toml", self.settings);
        let running = undisturbed.start(&[&self.web.url(0, "/"), "--config", &settings]);
        // It fetches in one go what took others as long as they were given.
        running.end_within(Duration::from_hours(1)).expect(0);
        undisturbed
    }

    /// Checks that these workers have left together what one machine leaves: each URL in one shard,
    /// and committed no more often than there.
    pub(crate) fn check(&self, names: &[&str], undisturbed: &Place) {
        let of = |data: &Path| -> BTreeSet<String> {
            let rows = rows(data).into_values();
            rows.map(|page| canonical(&page.url)).collect()
        };
        let mut found = BTreeSet::new();
        let mut visits = BTreeMap::new();
        for shard in 0..self.shards {
            let shard = format!("{shard:02}");
            let of_workers = names
                .iter()
                .map(|it| self.data(it).join("shards").join(&shard));
            let of_workers: Vec<_> = of_workers.filter(|it| it.join("store").exists()).collect();
            let pages = of_workers.iter().map(|it| of(it));
            let pages = pages.max_by_key(BTreeSet::len).unwrap_or_default();
            for url in pages {
                assert!(found.insert(url.clone()), "{url} is of two shards");
            }
            for data in of_workers {
                add_committed(&data, &mut visits);
            }
        }
        assert_eq!(found, of(&undisturbed.data()));
        let mut alone = BTreeMap::new();
        add_committed(&undisturbed.data(), &mut alone);
        check_times(&visits, &alone);
    }
}

/// The payloads that a crawl has stored.
fn payloads(data: &Path) -> BTreeSet<String> {
    let records = read_records(data);
    let responses = records
        .iter()
        .filter(|it| it.header("WARC-Type") == Some("response"));
    responses.map(|it| payload_digest(it).to_string()).collect()
}

/// Asks again while there is no answer, as while a log has no leader.
pub(crate) fn patiently<T>(ask: impl Fn() -> Result<T, Error>) -> T {
    let start = Instant::now();
    loop {
        match ask() {
            Err(Error::Away(_)) if start.elapsed() < PATIENCE => thread::yield_now(),
            answer => return answer.expect("the engine has it"),
        }
    }
}

/// Number of shards that a worker owns, by the row of the engine.
pub(crate) fn owned(engine: &Nats, worker: &str) -> usize {
    let Some((_, row)) = patiently(|| engine.row("shards")) else {
        return 0;
    };
    let owners: Vec<(String, u64)> = store::decode(Table::Meta, &row).expect("it is that row");
    owners.iter().filter(|(owner, _)| owner == worker).count()
}

/// Whether a worker owns each shard or has a copy of it that can be gone on with.
fn has_all(engine: &Arc<dyn Broker>, worker: &str) -> bool {
    let now = patiently(|| status(engine, "crawl", Duration::from_secs(1)));
    let of_worker = now.workers.iter().filter(|it| it.name == worker);
    let shards: BTreeSet<u16> = of_worker
        .flat_map(|it| it.owns.iter().chain(&it.follows).copied())
        .collect();
    shards.len() == SHARDS.len()
}

pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "never: {what}");
        thread::yield_now();
    }
}

pub(crate) fn of_which_one_is_killed() {
    let world = World::new(0x3a17, 1);
    let (a, b, c) = (
        world.start("a", &[]),
        world.start("b", &[]),
        world.start("c", &[]),
    );
    world.wait(80);
    a.signal(Signal::KILL);
    a.end();
    b.end().expect(0);
    c.end().expect(0);
    world.check(&["a", "b", "c"], &world.undisturbed());
}

/// One is stopped until it is taken over from, and one does not reach the engine until then. When
/// they wake up they follow, and have nothing committed meanwhile.
pub(crate) fn that_are_stopped_and_cut_off() {
    let world = World::new(0x570b, 1);
    let proxy = Proxy::start(world.servers.port(0));
    let far = format!("nats://127.0.0.1:{}/crawl", proxy.port());
    // It is not over before.
    world.web.hold_after(80);
    let a = world.start_at(&far, "a", &["--dead", DEAD]);
    let (b, c) = (world.start("b", &[]), world.start("c", &[]));
    world.wait(80);
    let engine = world.engine();
    let is_shared = || ["a", "b", "c"].iter().all(|it| owned(&engine, it) > 0);
    wait_until("each has a shard", is_shared);
    let before = owned(&engine, "b");
    b.signal(Signal::STOP);
    wait_until("the stopped one is taken over from", || {
        owned(&engine, "b") < before
    });
    b.signal(Signal::CONT);
    wait_until("each has a shard again", is_shared);
    let before = owned(&engine, "a");
    proxy.cut(true);
    wait_until("the far one is taken over from", || {
        owned(&engine, "a") < before
    });
    world.web.release();
    proxy.cut(false);
    for worker in [a, b, c] {
        worker.end().expect(0);
    }
    world.check(&["a", "b", "c"], &world.undisturbed());
}

/// A worker comes when the engine does not have any more what shards told of their documents: it
/// copies the library of the other one, which has read all of that.
pub(crate) fn of_which_one_comes_when_what_was_told_is_gone() {
    let world = World::new(0x11b7, 1);
    world.web.hold_after(80);
    let a = world.start("a", &[]);
    world.wait(80);
    a.signal(Signal::TERM);
    a.end().expect(0);
    let engine = world.engine();
    let end = patiently(|| engine.end("docs"));
    assert!(end > 1);
    patiently(|| engine.trim("docs", end));
    world.web.hold();
    let (b, a) = (world.start("b", &[]), world.start("a", &[]));
    b.wait_for_line("the library is copied");
    world.web.release();
    a.end().expect(0);
    b.end().expect(0);
    world.check(&["a", "b"], &world.undisturbed());
}

/// A worker comes when the logs have lost their beginnings, and is killed while it copies; so is
/// the one that it copies from. Of three servers one is killed. Then the disk of the first worker
/// is lost: what only that had is fetched again.
pub(crate) fn that_are_interrupted_while_they_copy_and_lose_a_disk() {
    let mut world = World::new(0x10ad, 3);
    // All that is copied at first is given twice: to one that is killed, and again.
    let a = world.start("a", &["--failpoint", "copy-given:30"]);
    world.web.hold_after(80);
    world.wait(80);
    let engine = world.engine();
    for shard in SHARDS {
        let end = patiently(|| engine.end(shard));
        patiently(|| engine.trim(shard, end));
    }
    let b = world.start("b", &["--failpoint", "copy-taken:5"]);
    b.end();
    let b = world.start("b", &[]);
    a.end();
    let a = world.start("a", &[]);
    let everywhere: Arc<dyn Broker> = Arc::clone(&engine) as Arc<dyn Broker>;
    wait_until("the late one has all", || has_all(&everywhere, "b"));
    wait_until("the late one has shards", || owned(&engine, "b") > 0);
    world.servers.kill(1);
    world.servers.run(1);
    // How many are held by now depends on who has asked meanwhile.
    let asked = world.web.requests().len();
    world.web.hold_after(60);
    world.wait(asked + 60);
    a.signal(Signal::KILL);
    a.end();
    fs::remove_dir_all(world.data("a")).expect("nobody uses it");
    wait_until("it has all", || owned(&engine, "b") == SHARDS.len());
    let forgotten = || forget_worker(&everywhere, "a", true, Duration::from_secs(1));
    assert!(patiently(forgotten));
    world.web.release();
    b.end().expect(0);

    let undisturbed = world.undisturbed();
    let of = |data: &Path| -> BTreeSet<String> {
        let rows = rows(data).into_values();
        rows.map(|page| canonical(&page.url)).collect()
    };
    let shards = SHARDS.map(|shard| world.data("b").join("shards").join(shard));
    let found: BTreeSet<String> = shards.iter().flat_map(|shard| of(shard)).collect();
    assert_eq!(found, of(&undisturbed.data()));
    let stored: BTreeSet<String> = shards.iter().flat_map(|shard| payloads(shard)).collect();
    let expected = payloads(&undisturbed.data());
    let missing: Vec<_> = expected.difference(&stored).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
