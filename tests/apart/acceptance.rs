//! What a crawl of several workers costs, and how long what goes wrong holds it up, measured: the
//! figures of docs/performance.md. Each test also checks what was crawled.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gleaner::broker::{Broker, Nats};
use gleaner::cluster::{ClusterStatus, drain, status};
use gleaner::frontier::Shards;
use gleaner::rows::Raced;
use gleaner::store::{self, Embedded};
use gleaner::url::{HostKey, parse};
use rustix::process::{Pid, Signal};

use crate::audit::rows;
use crate::workers::{DEAD, Size, World, owned, patiently, wait_until};

/// As crawls are set up that are to be fast.
const FAST: &str = "[archive]\nstore = \"exact-only\"\n[crawl]\nscope = \"any\"\n\
                    [politeness]\ndelay = \"0s\"\n\
                    [fetch]\nallow_private = true\nconcurrency = 64\n";

fn now(engine: &Arc<Nats>) -> ClusterStatus {
    let engine = Arc::clone(engine) as Arc<dyn Broker>;
    patiently(|| status(&engine, "crawl", Duration::from_secs(1)))
}

/// CPU time in seconds: of a process, or of those that this one has waited for.
fn cpu(of: Option<Pid>) -> f64 {
    /// Places of the times behind the name of a process in its `stat`, and their unit.
    const OWN: usize = 11;
    const OF_CHILDREN: usize = 13;
    const TICKS: f64 = 100.0;
    let (path, at) = match of {
        Some(pid) => (format!("/proc/{}/stat", pid.as_raw_nonzero()), OWN),
        None => ("/proc/self/stat".to_owned(), OF_CHILDREN),
    };
    let text = fs::read_to_string(path).expect("the process is there");
    let (_, rest) = text.rsplit_once(") ").expect("a name");
    let times = rest.split(' ').skip(at).take(2);
    times
        .map(|it| it.parse::<f64>().expect("ticks"))
        .sum::<f64>()
        / TICKS
}

/// The requests that a host got, as places among all.
fn asked(world: &World) -> BTreeMap<usize, Vec<Instant>> {
    let mut asked: BTreeMap<usize, Vec<Instant>> = BTreeMap::new();
    for request in world.web.requests() {
        asked.entry(request.host).or_default().push(request.arrived);
    }
    asked
}

pub(crate) fn raced(shard: &Path) -> u64 {
    let store = Embedded::open(&shard.join("store"), &store::Options::default());
    Raced::count(&store.expect("nobody else has it")).expect("its rows can be read")
}

/// One, two and four workers on equal work, and one machine without an engine.
pub(crate) fn what_a_cluster_costs() {
    const NAMES: [&str; 4] = ["a", "b", "c", "d"];
    let size = Size {
        hosts: 12,
        pages_per_host: 2_400,
        shards: 8,
        settings: FAST,
        ..Size::default()
    };
    for workers in [1, 2, 4] {
        let names = &NAMES[..workers];
        let world = World::of(size, 0xc057);
        let figure = |name: &str| {
            let figures = world.servers.figures(0);
            figures[name].as_f64().expect("a number")
        };
        let of_servers = || cpu(Some(world.servers.pid(0)));
        let before = (
            figure("in_msgs"),
            figure("in_bytes"),
            of_servers(),
            cpu(None),
        );
        let begun = Instant::now();
        let address = world.servers.address("crawl");
        let started: Vec<_> = names
            .iter()
            .map(|it| world.start_at(&address, it, &[]))
            .collect();
        for worker in started {
            worker.end().expect(0);
        }
        let took = begun.elapsed().as_secs_f64();
        let requests = world.web.requests().len();
        let (messages, bytes) = (figure("in_msgs") - before.0, figure("in_bytes") - before.1);
        let (servers, own) = (of_servers() - before.2, cpu(None) - before.3);
        let engine = world.engine();
        let bytes_of = |log: &str| patiently(|| engine.end(log));
        let entries: u64 = (0..size.shards)
            .map(|it| bytes_of(&format!("{it:02}")))
            .sum();
        let documents = bytes_of("docs");

        world.web.clear_log();
        let before = cpu(None);
        let undisturbed = world.undisturbed();
        let alone = cpu(None) - before;
        let requests_alone = world.web.requests().len();
        world.check(names, &undisturbed);
        let pages = rows(&undisturbed.data()).len() as f64;
        let mut races = 0;
        for shard in 0..size.shards {
            let of = |name: &&str| world.data(name).join("shards").join(format!("{shard:02}"));
            let copies = names.iter().map(of).filter(|it| it.join("store").exists());
            races += copies.map(|it| raced(&it)).max().unwrap_or(0);
        }
        eprintln!(
            "{workers} workers: {pages} pages in {took:.1} s; CPU of workers {:.2} ms a page, of \
             one machine {:.2} ms; of the server {:.0} us; {:.2} messages and {:.0} bytes to it a \
             page, {:.3} entries of logs, {documents} bulletins; {requests} requests of the web, \
             {requests_alone} alone; {races} raced",
            1e3 * own / pages,
            1e3 * alone / pages,
            1e6 * servers / pages,
            messages / pages,
            bytes / pages,
            entries as f64 / pages,
        );
    }
}

/// All servers of the engine are away for half a minute, and later all are put back to what they
/// had five seconds before.
pub(crate) fn an_engine_that_is_away_and_put_back() {
    const NAMES: [&str; 3] = ["a", "b", "c"];
    let size = Size {
        pages_per_host: 500,
        servers: 3,
        rate: Some(5),
        ..Size::default()
    };
    let mut world = World::of(size, 0xa3a7);
    let workers = NAMES.map(|it| world.start_at(&world.servers.address("crawl"), it, &[]));
    world.wait(200);
    (0..3).for_each(|it| world.servers.kill(it));
    world.passes(Duration::from_secs(10));
    let before = world.web.requests().len();
    world.passes(Duration::from_secs(20));
    let without = world.web.requests().len() - before;
    (0..3).for_each(|it| world.servers.run(it));
    let back = Instant::now();
    world.wait(before + without + 1);
    eprintln!(
        "away for 30 s: {without} requests in the last 20 of these, the next one {:.1} s after it \
         is back",
        back.elapsed().as_secs_f64()
    );
    world.wait(before + without + 200);
    (0..3).for_each(|it| world.servers.kill(it));
    (0..3).for_each(|it| world.servers.keep(it));
    (0..3).for_each(|it| world.servers.run(it));
    let before = world.web.requests().len();
    world.wait(before + 1);
    world.passes(Duration::from_secs(5));
    let later = world.web.requests().len() - before;
    (0..3).for_each(|it| world.servers.kill(it));
    (0..3).for_each(|it| world.servers.put_back(it));
    (0..3).for_each(|it| world.servers.run(it));
    eprintln!("put back by 5 s, in which {later} pages were fetched");
    for worker in workers {
        worker.end().expect(0);
    }
    world.check(&NAMES, &world.undisturbed());
}

/// A worker is stopped until another one has taken over from it, and wakes while that is stopped:
/// whatever arrives then, it has asked for.
pub(crate) fn who_wakes_up_asks_for_nothing() {
    let size = Size {
        hosts: 12,
        pages_per_host: 300,
        shards: 8,
        rate: Some(20),
        ..Size::default()
    };
    let world = World::of(size, 0x3a4e);
    let address = world.servers.address("crawl");
    let start = |name| world.start_at(&address, name, &["--dead", DEAD]);
    let (a, b) = (start("a"), start("b"));
    let engine = world.engine();
    world.wait(50);
    for round in 0..5 {
        wait_until("both own shards, and have copies", || {
            let now = now(&engine);
            let is_whole = now
                .shards
                .iter()
                .all(|it| it.is_owned && it.copies.len() == 1);
            is_whole && owned(&engine, "a") == 4
        });
        a.signal(Signal::STOP);
        wait_until("it is taken over from", || owned(&engine, "a") == 0);
        world.web.hold();
        // Each host is asked for one page at a time, so all wait soon.
        let mut waiting = 0;
        while world
            .web
            .wait_for_requests(waiting + 1, Duration::from_secs(2))
        {
            waiting = world.web.requests().len();
        }
        // The other one asks for nothing either, and is not taken for dead yet.
        b.signal(Signal::STOP);
        let waiting = world.web.requests().len();
        a.signal(Signal::CONT);
        world.passes(Duration::from_secs(2));
        let since = &world.web.requests()[waiting..];
        eprintln!("{round}: {} requests of who woke up", since.len());
        for host in 0..size.hosts {
            assert!(since.iter().filter(|it| it.host == host).count() <= 1);
        }
        b.signal(Signal::CONT);
        world.web.release();
    }
    a.end().expect(0);
    b.end().expect(0);
    world.check(&["a", "b"], &world.undisturbed());
}

/// A worker joins, one is killed and comes back, one is drained, with the times that are the
/// default. No host is asked sooner than its delay lets it be.
pub(crate) fn workers_come_and_go() {
    const RATE: usize = 5;
    let size = Size {
        hosts: 12,
        pages_per_host: 600,
        shards: 8,
        rate: Some(RATE),
        ..Size::default()
    };
    let world = World::of(size, 0x6075);
    let engine = world.engine();
    let address = world.servers.address("crawl");
    let start = |name| world.start_at(&address, name, &[]);
    let (a, b) = (start("a"), start("b"));
    let is_whole = |of: &[usize]| {
        let now = now(&engine);
        let mut owns: Vec<usize> = now.workers.iter().map(|it| it.owns.len()).collect();
        owns.sort_unstable();
        owns == of
            && now
                .shards
                .iter()
                .all(|it| it.is_owned && !it.copies.is_empty())
    };
    wait_until("both own shards", || is_whole(&[4, 4]));
    world.wait(300);

    let begun = Instant::now();
    let c = start("c");
    wait_until("three own shards", || is_whole(&[2, 3, 3]));
    eprintln!("joined after {:.1} s", begun.elapsed().as_secs_f64());
    world.passes(Duration::from_secs(10));

    let of_a: Vec<u16> = now(&engine)
        .shards
        .iter()
        .filter(|it| it.owner.as_deref() == Some("a"))
        .map(|it| it.shard)
        .collect();
    let shards = Shards::new(0, size.shards).expect("there are so many");
    let is_of_a = |host: &usize| {
        let url = parse(&world.web.url(*host, "/")).expect("a URL");
        of_a.contains(&shards.of(&HostKey::of(&url)))
    };
    a.signal(Signal::KILL);
    let killed = Instant::now();
    a.end();
    let hosts: Vec<usize> = (0..size.hosts).filter(is_of_a).collect();
    let mut takes = Duration::ZERO;
    for host in hosts {
        let after = || {
            let asked = asked(&world);
            let mut times = asked.get(&host).into_iter().flatten();
            times
                .find(|it| **it > killed + Duration::from_secs(1))
                .copied()
        };
        wait_until("its hosts are visited again", || after().is_some());
        takes = takes.max(after().map_or(takes, |at| at - killed));
    }
    eprintln!(
        "killed: the last of its hosts is visited again after {:.1} s",
        takes.as_secs_f64()
    );
    let a = start("a");
    wait_until("three own shards again", || is_whole(&[2, 3, 3]));
    world.passes(Duration::from_secs(5));

    let begun = Instant::now();
    let broker = Arc::clone(&engine) as Arc<dyn Broker>;
    patiently(|| drain(&broker, "b", true));
    wait_until("it is drained", || owned(&engine, "b") == 0);
    eprintln!("drained after {:.1} s", begun.elapsed().as_secs_f64());
    world.passes(Duration::from_secs(10));
    for worker in [a, b, c] {
        worker.end().expect(0);
    }
    let gaps = |times: &[Instant]| times.windows(2).map(|it| it[1] - it[0]).collect::<Vec<_>>();
    let all: Vec<Duration> = asked(&world).values().flat_map(|it| gaps(it)).collect();
    let least = all.iter().min().copied().unwrap_or_default();
    eprintln!(
        "{} gaps between requests of a host, the least {least:?}",
        all.len()
    );
    world.check(&["a", "b", "c"], &world.undisturbed());
    // A request is sent when it is due, and may be on its way for a moment longer than the next.
    assert!(
        least >= Duration::from_millis(1_000 / RATE as u64 - 20),
        "{least:?}"
    );
}
