//! A crawl that commits to a log of NATS before it commits to its data directory, and the engine
//! itself: what it promises, and what is left of that when it is killed.

use std::sync::{Arc, Barrier};
use std::thread;

use gleaner::broker::{Broker, Error};
use rustix::process::Signal;

use crate::audit::{left, rows, simhash};
use crate::contract;
use crate::kills::crawl_twice;
use crate::nats::{Servers, copy};
use crate::need::tools;
use crate::run::{PATIENCE, Place, Running};
use crate::web::{ClusterOptions, Web, cluster_web};

pub(crate) fn nats_keeps_the_contract() {
    let servers = Servers::start(1, &tools());
    contract::check(&servers.connect("contract"));
}

/// Killed at every step, and between the log and the data directory, it leaves what a crawl without
/// a log leaves that nobody disturbs.
pub(crate) fn a_crawl_over_a_log_is_killed_and_resumed() {
    let servers = Servers::start(1, &tools());
    let address = servers.address("crawl");
    let (undisturbed, disturbed) = crawl_twice("exact-only", 0x1095, &["--commit-log", &address]);
    assert_eq!(disturbed, undisturbed);
    disturbed.check_payloads();
}

/// A web, and the arguments of a crawl of it without and with a log.
struct World {
    web: Web,
    servers: Servers,
    seed: String,
    address: String,
}

/// Everything is committed in small groups, and every distinct body is kept, so that what is left
/// does not depend on the order.
const SETTINGS: &str = "[archive]\nstore = \"exact-only\"\n[crawl]\nscope = \"any\"\n\
                        [state]\ncheckpoint_interval = \"20ms\"\n\
                        [fetch]\nallow_private = true\nconcurrency = 4\n";

impl World {
    fn new(seed: u64) -> Self {
        let options = ClusterOptions {
            hosts: 4,
            pages_per_host: 60,
            seed,
        };
        let web = Web::start(cluster_web(options, &simhash).0);
        let servers = Servers::start(1, &tools());
        let (seed, address) = (web.url(0, "/"), servers.address("crawl"));
        Self {
            web,
            servers,
            seed,
            address,
        }
    }

    /// Begins or resumes a crawl that has a log.
    fn start(&self, place: &Place) -> Running {
        let settings = place.file("settings.toml", SETTINGS);
        place.start(&[
            &self.seed,
            "--config",
            &settings,
            "--commit-log",
            &self.address,
        ])
    }

    /// Waits until the crawl is that far.
    fn wait(&self, requests: usize) {
        let is_on = self.web.wait_for_requests(requests, PATIENCE);
        assert!(is_on, "no progress to {requests} requests");
    }

    /// Checks that a crawl has left what one leaves that has no log and is not disturbed.
    fn check(&self, place: &Place) {
        let undisturbed = Place::new();
        undisturbed.crawl_by(SETTINGS, &[&self.seed]);
        assert_eq!(left(&place.data()), left(&undisturbed.data()));
    }
}

/// The engine is killed under a crawl, comes back, and comes back once more with what it had some
/// time ago.
pub(crate) fn an_engine_that_goes_away_and_loses_its_end() {
    let mut world = World::new(0x7a11);
    let place = Place::new();
    let running = world.start(&place);
    world.wait(30);
    world.servers.kill(0);
    world.servers.run(0);
    world.wait(80);
    world.servers.kill(0);
    world.servers.keep(0);
    world.servers.run(0);
    world.wait(140);
    world.servers.kill(0);
    world.servers.put_back(0);
    world.servers.run(0);
    running.end().expect(0).says(&["the log has lost commits"]);
    world.check(&place);
}

/// A process is stopped, another one goes on with a copy of its directory, and the first one wakes.
pub(crate) fn a_worker_that_was_taken_over_commits_nothing() {
    let world = World::new(0x57a1);
    let (place, other) = (Place::new(), Place::new());
    let stopped = world.start(&place);
    world.wait(60);
    stopped.signal(Signal::STOP);
    copy(&place.data(), &other.data());
    let owner = world.start(&other);
    // It has to be on before the other one wakes.
    owner.wait_for_line("resumed");
    stopped.signal(Signal::CONT);
    let refused = stopped.end();
    assert_eq!(refused.code, 1, "{refused:#?}");
    refused.says(&["another worker has taken this crawl over"]);
    owner.end().expect(0);
    world.check(&other);
    // It takes the crawl over again, with all that was committed since.
    world.start(&place).end().expect(0);
    assert_eq!(rows(&place.data()), rows(&other.data()));
    // A directory of a log is not written without it.
    let settings = place.file("settings.toml", SETTINGS);
    let without = place.start(&[&world.seed, "--config", &settings]).end();
    assert_eq!(without.code, 1, "{without:#?}");
    without.says(&["commits go into it before they go into this directory"]);
}

/// Asks again while there is no answer, as while a log has no leader.
fn patiently<T>(ask: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
    loop {
        match ask() {
            Err(Error::Away(_)) => thread::yield_now(),
            answer => return answer,
        }
    }
}

/// Appends entries, and finds out what became of those that were not answered. Returns the position
/// of each.
fn append_all(broker: &dyn Broker, log: &str, entries: usize) -> Vec<u64> {
    let mut positions = Vec::new();
    let mut end = patiently(|| broker.end(log)).expect("the log is there");
    for number in 0..entries {
        let entry = format!("entry {number}").into_bytes();
        loop {
            match broker.append(log, end, &entry) {
                Ok(at) => end = at,
                Err(Error::Moved | Error::Away(_)) => match broker.next(log, end) {
                    Ok(Some((at, found))) => {
                        assert_eq!(found, entry, "nobody else writes");
                        end = at;
                    }
                    Ok(None) | Err(Error::Away(_)) => continue,
                    Err(error) => panic!("{error}"),
                },
                Err(error) => panic!("{error}"),
            }
            positions.push(end);
            break;
        }
    }
    positions
}

/// One of three servers is killed, again and again, and nothing that was acknowledged is lost or
/// there twice.
pub(crate) fn three_servers_of_which_one_is_killed() {
    const ENTRIES: usize = 2_000;
    let mut servers = Servers::start(3, &tools());
    let broker = Arc::new(servers.connect("three"));
    broker.create("kills").expect("it can be made");
    let writer = {
        let broker = Arc::clone(&broker);
        thread::spawn(move || append_all(&*broker, "kills", ENTRIES))
    };
    for number in 0..3 {
        // Somewhere in the middle of what is written.
        let from = broker.end("kills").unwrap_or(0);
        while !writer.is_finished() && broker.end("kills").unwrap_or(0) < from + 20 {
            thread::yield_now();
        }
        servers.kill(number);
        servers.run(number);
    }
    let positions = writer.join().expect("the writer does not panic");
    assert_eq!(positions, (1..=ENTRIES as u64).collect::<Vec<_>>());
    for (at, number) in positions.into_iter().zip(0..) {
        let entry = patiently(|| broker.next("kills", at - 1));
        assert_eq!(
            entry,
            Ok(Some((at, format!("entry {number}").into_bytes())))
        );
    }
}

/// Of three that append at the same end, one wins, each time.
pub(crate) fn of_writers_that_race_one_wins() {
    const ROUNDS: u64 = 100;
    let servers = Servers::start(3, &tools());
    let brokers: Vec<_> = (0..3).map(|_| servers.connect("race")).collect();
    brokers[0].create("race").expect("it can be made");
    let barrier = Barrier::new(brokers.len());
    let won: Vec<u64> = thread::scope(|scope| {
        let threads: Vec<_> = brokers
            .iter()
            .zip(0_u8..)
            .map(|(broker, writer)| {
                let barrier = &barrier;
                scope.spawn(move || {
                    let mut won = 0;
                    for end in 0..ROUNDS {
                        barrier.wait();
                        match broker.append("race", end, &[writer]) {
                            Ok(at) => {
                                assert_eq!(at, end + 1);
                                won += 1;
                            }
                            Err(Error::Away(_)) => {
                                let entry = patiently(|| broker.next("race", end));
                                let entry = entry.expect("the log is there");
                                won += u64::from(entry == Some((end + 1, vec![writer])));
                            }
                            Err(error) => assert_eq!(error, Error::Moved),
                        }
                    }
                    won
                })
            })
            .collect();
        let join = |it: thread::ScopedJoinHandle<'_, u64>| it.join().expect("no writer panics");
        threads.into_iter().map(join).collect()
    });
    assert_eq!(won.iter().sum::<u64>(), ROUNDS, "{won:?}");
    assert_eq!(patiently(|| brokers[0].end("race")), Ok(ROUNDS));
}
