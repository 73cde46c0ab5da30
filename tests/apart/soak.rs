//! Four workers and three servers through minutes of faults of all kinds, one every 20 s: after
//! them there is what one machine leaves.

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gleaner::broker::{Broker, Error, Nats};
use gleaner::cluster::status;
use gleaner::engine::Step;
use jiff::Timestamp;
use rustix::process::Signal;

use crate::acceptance::raced;
use crate::audit::{canonical, committed_lines, rows};
use crate::need::SOAK;
use crate::proxy::Proxy;
use crate::run::{PATIENCE, Running};
use crate::web::{Random, Request};
use crate::workers::{DEAD, SHARDS, Size, World, owned, patiently, wait_until};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const SERVERS: usize = 3;
/// Time between two faults.
const ROUND: Duration = Duration::from_secs(20);
/// How long a worker is stopped, or cut off from the engine.
const AWAY: Duration = Duration::from_secs(15);
/// Requests a second of each of four hosts.
const RATE: usize = 5;
/// What a shell says of a process that was killed.
const KILLED: i32 = 128 + 9;
/// The steps at which workers kill themselves, and at which time of reaching them at most.
const STEPS: [(Step, usize); 7] = [
    (Step::LogAppended, 50),
    (Step::Committed, 50),
    (Step::Applied, 50),
    (Step::LinksSent, 20),
    (Step::Owned, 2),
    (Step::CopyGiven, 10),
    (Step::CopyTaken, 5),
];

/// A worker that is started again and again, behind proxies to all servers.
struct Worker {
    name: &'static str,
    address: String,
    proxies: Vec<Proxy>,
    running: Option<Running>,
    /// Whether it may kill itself.
    is_armed: bool,
}

impl Worker {
    fn new(name: &'static str, world: &World) -> Self {
        let proxies: Vec<_> = (0..SERVERS)
            .map(|it| Proxy::start(world.servers.port(it)))
            .collect();
        let ports = proxies.iter().map(|it| format!("127.0.0.1:{}", it.port()));
        let ports: Vec<_> = ports.collect();
        let mut worker = Self {
            name,
            address: format!("nats://{}/crawl", ports.join(",")),
            proxies,
            running: None,
            is_armed: false,
        };
        worker.start(world, None);
        worker
    }

    /// Starts it, to kill itself at the n-th time of a step if that is given.
    fn start(&mut self, world: &World, at: Option<(Step, usize)>) {
        let at = at.map(|(step, times)| format!("{}:{times}", step.name()));
        let mut more = vec!["--dead", DEAD];
        more.extend(at.iter().flat_map(|at| ["--failpoint", at]));
        self.is_armed = at.is_some();
        self.running = Some(world.start_at(&self.address, self.name, &more));
    }

    fn running(&self) -> &Running {
        self.running.as_ref().expect("it is started again at once")
    }

    /// Kills it. It may have died before.
    fn kill(&mut self) {
        if let Some(running) = self.running.take() {
            running.signal(Signal::KILL);
            running.end();
        }
    }

    fn cut(&self, is_cut: bool) {
        self.proxies.iter().for_each(|it| it.cut(is_cut));
    }

    /// Starts it again if it has killed itself; returns whether it has come to its end.
    fn look_after(&mut self, world: &World) -> bool {
        let Some(running) = &mut self.running else {
            return true;
        };
        if !running.has_ended() {
            return false;
        }
        let ended = self.running.take().map(Running::end);
        let ended = ended.expect("it was there");
        if self.is_armed && ended.code == KILLED {
            eprintln!("worker {} has killed itself", self.name);
            self.start(world, None);
            return false;
        }
        ended.expect(0);
        true
    }

    /// The memory that it has, in megabytes.
    fn megabytes(&self) -> u64 {
        let path = format!("/proc/{}/status", self.running().pid().as_raw_nonzero());
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let line = text.lines().find_map(|it| it.strip_prefix("VmRSS:"));
        let number = line.and_then(|it| it.split_whitespace().next());
        number.and_then(|it| it.parse::<u64>().ok()).unwrap_or(0) / 1_024
    }
}

/// What the log of a shard says, read as it grows.
#[derive(Default)]
struct Log {
    /// Position of the last entry that was read.
    position: u64,
    /// The owner that wrote it.
    epoch: u64,
    /// Number of the last commit.
    number: u64,
    commits: usize,
}

impl Log {
    /// Reads on. No owner writes behind a later one, and no commit is made twice.
    fn read(&mut self, engine: &Nats, shard: &str) {
        while let Some((at, entry)) = patiently(|| self.next(engine, shard)) {
            // A version, and what the entry says of itself: its kind, the owner and the commit.
            let head = entry.get(1..).expect("it has a version");
            let head = postcard::take_from_bytes::<(u8, u64, u64)>(head);
            let ((kind, epoch, number), _) = head.expect("an entry");
            assert!(
                epoch >= self.epoch,
                "{shard}, {at}: of owner {epoch}, behind one of owner {}",
                self.epoch
            );
            let is_commit = kind == 0;
            assert!(
                number > self.number || !is_commit,
                "{shard}, {at}: commit {number}, behind commit {}",
                self.number
            );
            (self.position, self.epoch) = (at, epoch);
            if is_commit {
                self.number = number;
                self.commits += 1;
            }
        }
    }

    fn next(&self, engine: &Nats, shard: &str) -> Result<Option<(u64, Vec<u8>)>, Error> {
        match engine.next(shard, self.position) {
            Err(Error::Trimmed { first }) => engine.next(shard, first - 1),
            next => next,
        }
    }
}

pub(crate) fn through_faults_of_all_kinds() {
    let minutes = std::env::var(SOAK).expect("it is asked for");
    let minutes: usize = minutes.parse().expect("a number of minutes");
    let seed = RandomState::new().hash_one(minutes);
    eprintln!("seed {seed}");
    let mut random = Random::new(seed);
    let size = Size {
        // More than there is time for until the last fault: some take longer than a round.
        pages_per_host: minutes * 90 * RATE,
        servers: SERVERS,
        rate: Some(RATE),
        ..Size::default()
    };
    let mut world = World::of(size, seed);
    let engine = world.engine();
    let mut workers = NAMES.map(|name| Worker::new(name, &world));
    let mut logs = SHARDS.map(|shard| (shard, Log::default()));
    let begun = Instant::now();
    for round in 0..minutes * 3 {
        world.passes(ROUND);
        for (shard, log) in &mut logs {
            log.read(&engine, shard);
        }
        for worker in &mut workers {
            worker.look_after(&world);
        }
        let most = workers.iter().map(Worker::megabytes).max().unwrap_or(0);
        let at = random.below(NAMES.len());
        let at_what_time = begun.elapsed();
        let what = fault(&mut world, &engine, &mut workers, at, &mut random);
        eprintln!("{round}, {at_what_time:.1?}: {most} MB; {what}");
    }
    let over = Instant::now() + Duration::from_hours(1);
    while !workers
        .iter_mut()
        .fold(true, |are, it| it.look_after(&world) & are)
    {
        assert!(Instant::now() < over, "the crawl does not end");
        world.passes(Duration::from_secs(1));
    }
    for (shard, log) in &mut logs {
        log.read(&engine, shard);
    }
    let owners: u64 = logs.iter().map(|(_, log)| log.epoch).sum();
    let commits: usize = logs.iter().map(|(_, log)| log.commits).sum();
    eprintln!("{commits} commits read of the logs, of {owners} owners, each behind those before");
    // Before one machine asks for all once more.
    let requests = world.web.requests();
    let undisturbed = world.undisturbed();
    world.check(&NAMES, &undisturbed);
    check_duplicates(&world, &undisturbed.data());
    check_requests(&world, &requests, begun);
}

/// Lets something go wrong, with the worker at this place if it is a worker's; returns what.
fn fault(
    world: &mut World,
    engine: &Arc<Nats>,
    workers: &mut [Worker; 4],
    at: usize,
    random: &mut Random,
) -> String {
    let worker = &mut workers[at];
    let name = worker.name;
    match random.below(6) {
        0 => {
            worker.kill();
            worker.start(world, None);
            format!("worker {name} is killed")
        }
        1 => {
            worker.running().signal(Signal::STOP);
            world.passes(AWAY);
            worker.running().signal(Signal::CONT);
            format!("worker {name} was stopped")
        }
        2 => {
            worker.cut(true);
            world.passes(AWAY);
            worker.cut(false);
            format!("worker {name} was cut off")
        }
        3 => {
            let server = at % SERVERS;
            world.servers.kill(server);
            world.servers.run(server);
            format!("server {server} is killed")
        }
        4 => {
            let (step, most) = STEPS[random.below(STEPS.len())];
            let step = (step, random.between(1, most));
            worker.kill();
            worker.start(world, Some(step));
            format!("worker {name} is to kill itself, {step:?}")
        }
        _ => {
            until_others_can_take_over(world, engine, workers, name);
            let worker = &mut workers[at];
            worker.kill();
            wait_until("it is taken over from", || owned(engine, name) == 0);
            for shard in SHARDS {
                let end = patiently(|| engine.end(shard));
                patiently(|| engine.trim(shard, end));
            }
            worker.start(world, Some((Step::CopyTaken, random.between(1, 40))));
            format!("worker {name} is to copy what the logs do not have any more")
        }
    }
}

/// Waits until each shard of a worker has a copy elsewhere. Faults that came before may have left
/// it the only one that has all of it, and then its shards wait for it.
fn until_others_can_take_over(
    world: &World,
    engine: &Arc<Nats>,
    workers: &mut [Worker; 4],
    name: &str,
) {
    let engine = Arc::clone(engine) as Arc<dyn Broker>;
    let begun = Instant::now();
    loop {
        let now = patiently(|| status(&engine, "crawl", Duration::from_secs(1)));
        let mut own = now
            .shards
            .iter()
            .filter(|it| it.owner.as_deref() == Some(name));
        if own.all(|it| it.copies.iter().any(|copy| copy.is_alive)) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "never: others can take over");
        for worker in &mut *workers {
            worker.look_after(world);
        }
        world.passes(Duration::from_millis(200));
    }
}

/// Directories of the shards of all workers.
fn directories(world: &World) -> impl Iterator<Item = PathBuf> + '_ {
    let of = |name| SHARDS.map(|shard| world.data(name).join("shards").join(shard));
    let all = NAMES.into_iter().flat_map(of);
    all.filter(|it| it.join("store").exists())
}

/// Nothing was asked for that had been committed more than a second before.
fn check_requests(world: &World, requests: &[Request], begun: Instant) {
    const COMMITTED: Duration = Duration::from_secs(1);
    let mut last: BTreeMap<String, Timestamp> = BTreeMap::new();
    for line in directories(world).flat_map(|it| committed_lines(&it)) {
        let time: Timestamp = line.time.parse().expect("a time");
        let known = last.entry(canonical(&line.url)).or_insert(time);
        *known = time.max(*known);
    }
    let now = Timestamp::now();
    let late = requests.iter().filter_map(|request| {
        let url = canonical(&world.web.url(request.host, &request.path));
        let visited = now.duration_since(*last.get(&url)?).unsigned_abs();
        let before = visited.checked_sub(request.arrived.elapsed())?;
        let at = request.arrived.duration_since(begun);
        (before > COMMITTED)
            .then(|| format!("{url} at {at:.1?}, {before:.1?} after its last visit"))
    });
    let late: Vec<_> = late.collect();
    eprintln!(
        "{} requests, {} of what was committed before",
        requests.len(),
        late.len()
    );
    assert!(late.is_empty(), "{late:#?}");
}

/// As many pages were found to be duplicates as by one machine, with those that two shards stored
/// at the same time, but for one in a hundred near ones.
fn check_duplicates(world: &World, undisturbed: &Path) {
    let of = |data: &Path| {
        let rows = rows(data);
        let duplicates = rows.values().filter(|it| it.duplicate().is_some());
        (rows.len(), duplicates.count())
    };
    let mut shared = (0, 0, 0);
    for shard in SHARDS {
        let copies = directories(world).filter(|it| it.ends_with(shard));
        let of_copies = copies.map(|it| (of(&it), raced(&it)));
        let ((pages, duplicates), raced) = of_copies.max().expect("somebody has it");
        shared.0 += pages;
        shared.1 += duplicates;
        shared.2 += raced as usize;
    }
    let (pages, alone) = of(undisturbed);
    eprintln!(
        "{pages} pages: {alone} duplicates; of the workers {} pages, {} duplicates, {} raced",
        shared.0, shared.1, shared.2
    );
    assert!((shared.1 + shared.2).abs_diff(alone) <= pages / 100);
}
