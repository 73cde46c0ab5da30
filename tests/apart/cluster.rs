//! A crawl that commits to a log of NATS before it commits to its data directory, and the engine
//! itself: what it promises, and what is left of that when it is killed.

use std::ffi::OsString;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Instant;

use gleaner::broker::{Broker, Error, Nats};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::audit::{left, rows, simhash};
use crate::browser::Browser;
use crate::console::{asked_only, key};
use crate::contract;
use crate::kills::crawl_twice;
use crate::nats::{self, Servers, copy};
use crate::need::tools;
use crate::proxy::Proxy;
use crate::run::{Output, PATIENCE, Place, Running, gleaner, run};
use crate::tls::Authority;
use crate::web::{ClusterOptions, Web, cluster_web};

pub(crate) fn nats_keeps_the_contract() {
    let servers = Servers::start(1, &tools());
    contract::check(&servers.connect("contract"));
}

/// A machine without its cable closes no connection: that it is gone is found out by its silence,
/// long before the system gives up to send.
pub(crate) fn a_connection_that_dies_in_silence_is_made_anew() {
    /// Requests that may fail until then. Each waits for five seconds.
    const FAILED: usize = 4;
    let servers = Servers::start(1, &tools());
    drop(servers.connect("silence"));
    let proxy = Proxy::start(servers.port(0));
    let address = format!("nats://127.0.0.1:{}/silence", proxy.port()).parse();
    let engine = Nats::connect(&address.expect("it is an address")).expect("the server runs");
    engine.end("ready").expect("the log is there");
    proxy.abandon();
    let mut answers = (0..=FAILED).map(|_| engine.end("ready"));
    assert!(answers.any(|it| it.is_ok()));
}

/// Servers that know by its certificate who connects, and are known by theirs.
pub(crate) fn nats_is_reached_by_tls_or_not_at_all() {
    let authority = Authority::new();
    let (certificate, key) = authority.files_of("server", &["127.0.0.1"]);
    let ca = authority.file();
    let more: Vec<OsString> = vec![
        "--tlsverify".into(),
        "--tlscert".into(),
        certificate.into(),
        "--tlskey".into(),
        key.into(),
        "--tlscacert".into(),
        ca.clone().into(),
    ];
    let servers = Servers::with(1, &tools(), more);
    let address = servers.address("crawl").replace("nats://", "tls://");
    let text = |path: PathBuf| path.into_os_string().into_string().expect("ASCII");
    let (own, own_key) = authority.files_of("worker", &["worker"]);
    let (ca, own, own_key) = (text(ca), text(own), text(own_key));
    let check = |address: &str, files: &[&str]| {
        let words = [&["cluster", "check", address, "--rounds", "5"], files].concat();
        run(gleaner(&words))
    };
    let checked = check(
        &address,
        &["--tls-ca", &ca, "--tls-cert", &own, "--tls-key", &own_key],
    );
    assert!(checked.stdout.contains("one won in 5"), "{checked:#?}");
    // Who is not known, by whom nobody vouches for, and by whom the server is not known.
    let unknown = check(&address, &["--tls-ca", &ca]).expect(1);
    unknown.says(&["cannot use tls://"]);
    let other = Authority::new();
    let (by_other, its_key) = other.files_of("worker", &["worker"]);
    let (by_other, its_key) = (text(by_other), text(its_key));
    check(
        &address,
        &[
            "--tls-ca",
            &ca,
            "--tls-cert",
            &by_other,
            "--tls-key",
            &its_key,
        ],
    )
    .expect(1);
    check(
        &address,
        &[
            "--tls-ca",
            &text(other.file()),
            "--tls-cert",
            &own,
            "--tls-key",
            &own_key,
        ],
    )
    .expect(1)
    .says(&["no TLS with the server", "--tls-ca"]);
    // A server without TLS is told nothing.
    let plain = Servers::start(1, &tools());
    let address = plain.address("crawl").replace("nats://", "tls://");
    check(&address, &["--tls-ca", &ca]).expect(1);
    assert_eq!(plain.figures(0)["in_msgs"], 0);
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
    without.says(&[
        "commits go into it before they go into this directory",
        "`gleaner worker` goes on with it",
    ]);
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
                            Err(Error::Away(reason)) => {
                                assert!(!reason.contains("wrong last"), "{reason}");
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
    // So a person finds it, who is told of all servers.
    let checked = run(gleaner(&[
        "cluster",
        "check",
        &servers.address("race"),
        "--rounds",
        "20",
    ]));
    let said = checked.expect(0).stdout;
    for part in [
        "one won in 20",
        "3 of each log",
        "server-0",
        "server-1",
        "server-2",
    ] {
        assert!(said.contains(part), "no {part:?} in {said}");
    }
}

/// Creates the crawl of a world, in so many shards.
fn create(world: &World, settings: &Path, shards: &str) -> Output {
    let mut command = gleaner(&["cluster", "create", &world.address, &world.seed]);
    command.args(["--shards", shards, "--config"]).arg(settings);
    run(command)
}

/// Starts a worker of the crawl of a world. Others take it for dead soon.
fn worker(world: &World, place: &Path, name: &str, arguments: &[&str]) -> Running {
    let mut command = gleaner(&["worker", &world.address, "--name", name, "--machine", name]);
    command.args(["--dead", "5s", "--data-dir"]);
    command.arg(place.join(name)).args(arguments);
    Running::start(command)
}

/// A command of `gleaner cluster` about the crawl of a world.
fn cluster(world: &World, command: &[&str], arguments: &[&str]) -> Output {
    let words = [&["cluster"], command, &[&world.address], arguments].concat();
    run(gleaner(&words))
}

/// From nothing to a crawl that is over, by the commands that a person gives.
pub(crate) fn a_person_creates_watches_and_steers_a_cluster() {
    let world = World::new(0xface);
    let directory = tempfile::tempdir().expect("there is a directory for temporary files");
    let settings = directory.path().join("settings.toml");
    // Slow enough for several commands to be given before it is over.
    let patient = format!("{SETTINGS}[politeness]\ndelay = \"200ms\"\n");
    fs::write(&settings, patient).expect("the directory is ours");
    let file = settings.to_str().expect("temporary paths are ASCII");
    let tell = |command: &[&str], arguments: &[&str]| cluster(&world, command, arguments);

    // Before there is one.
    tell(&["status"], &[])
        .expect(2)
        .says(&["knows no crawl", "gleaner cluster create"]);
    let checked = tell(&["check"], &["--rounds", "50"]).expect(0);
    assert!(checked.stdout.contains("one won in 50"), "{checked:#?}");
    assert!(checked.stdout.contains("sync_interval"), "{checked:#?}");
    create(&world, &settings, "1")
        .expect(2)
        .says(&["1 is not in 2..=256"]);
    create(&world, &settings, "4")
        .expect(0)
        .says(&["created: 1 seed, 4 shards"]);
    create(&world, &settings, "4")
        .expect(1)
        .says(&["already, of 4 shards"]);

    // A worker that differs is told how; one with the same file does not.
    let other = worker(&world, directory.path(), "a", &["--scope", "domain"]).end();
    other
        .expect(2)
        .says(&["crawl.scope is any in the crawl and domain here"]);
    tell(&["pause"], &[])
        .expect(0)
        .says(&["paused; no worker runs now"]);
    let a = worker(
        &world,
        directory.path(),
        "a",
        &["--config", file, "--max-shards", "3"],
    );
    let b = worker(&world, directory.path(), "b", &[]);
    let owned = |now: &Value| {
        let shards = now["shards"].as_array().into_iter().flatten();
        let settled = |it: &Value| it["is_owned"] == true && it["copies"][0]["is_alive"] == true;
        shards.fold(0, |sum, it| sum + usize::from(settled(it)))
    };
    let now = wait_for(&world, |now| owned(now) == 4);
    assert_eq!(now["going"], "paused", "{now:#}");
    assert_eq!(now["sum"]["pages"], 0, "{now:#}");
    assert_eq!(now["workers"][0]["max_shards"], 3, "{now:#}");
    let shown = tell(&["status"], &[]).expect(0);
    assert!(
        shown.stdout.contains("crawl: paused, 2 workers, 4 shards"),
        "{shown:#?}"
    );
    let checked = tell(&["status"], &["--check"]).expect(1);
    assert!(
        checked.stdout.contains("gleaner cluster resume"),
        "{checked:#?}"
    );
    assert_eq!(world.web.requests().len(), 0, "nobody makes visits");

    // One leaves without ending.
    for order in ["drain", "forget"] {
        let told = tell(&[order], &["c"]).expect(2);
        told.says(&["has no worker c"]);
    }
    tell(&["drain"], &["a"]).expect(0);
    wait_for(&world, |now| {
        now["workers"][1]["owns"] == json!([0, 1, 2, 3])
    });
    tell(&["resume"], &[])
        .expect(0)
        .says(&["resumed: 2 workers"]);
    world.wait(60);
    tell(&["drain"], &["a", "--undo"]).expect(0);
    let far = world.web.url(3, "/added-later");
    tell(&["seeds", "add"], &[&far])
        .expect(0)
        .says(&["added: 1 seed"]);
    world.wait(120);
    let asked = tell(&["retry"], &["--class", "dns", "--json"]).expect(0);
    let nothing = json!({"urls": {}, "hosts": 0, "unowned": [], "silent": []});
    assert_eq!(asked.json(), nothing);
    tell(&["stop"], &[]).expect(0);
    a.end().expect(0).says(&["gleaner cluster resume"]);
    b.end().expect(0);
    tell(&["resume"], &[]).expect(0);
    let (a, b) = (
        worker(&world, directory.path(), "a", &[]),
        worker(&world, directory.path(), "b", &[]),
    );
    a.end().expect(0).says(&["nothing is left to crawl"]);
    b.end().expect(0);
    let now = tell(&["status"], &["--json"]).expect(0).json();
    assert_eq!(now["is_over"], true, "{now:#}");
    assert_eq!(now["links"]["waiting"], 0, "{now:#}");
    let asked = world.web.asked(3);
    assert_eq!(asked.iter().filter(|it| *it == "/added-later").count(), 1);

    // Who comes alone does not wait for those who have ended.
    let late = worker(&world, directory.path(), "a", &[]);
    late.end().expect(0).says(&["nothing is left to crawl"]);
    let said = tell(&["retry"], &["--class", "dns"]).expect(0).stdout;
    assert_eq!(
        said,
        "requeued 0 URLs\nshard 00, 01, 02, 03 will when it has an owner\n"
    );
    check_what_became_of(&world, &far);
}

/// A crawl of several workers ends at its maximum of pages, and goes on with a greater one.
pub(crate) fn a_crawl_that_has_enough_stops() {
    let world = World::new(0xe206);
    let directory = tempfile::tempdir().expect("there is a directory for temporary files");
    let settings = directory.path().join("settings.toml");
    let patient = format!("{SETTINGS}[politeness]\ndelay = \"100ms\"\n");
    fs::write(&settings, patient).expect("the directory is ours");
    let tell = |command: &[&str], arguments: &[&str]| cluster(&world, command, arguments);
    let mut command = gleaner(&["cluster", "create", &world.address, &world.seed]);
    command.args(["--shards", "4", "--max-pages", "20", "--config"]);
    command.arg(&settings);
    run(command).expect(0);
    let start = || ["a", "b"].map(|name| worker(&world, directory.path(), name, &[]));
    for worker in start() {
        worker
            .end()
            .expect(0)
            .says(&["stopped, because it has its maximum of 20 pages"]);
    }
    let now = tell(&["status"], &["--json"]).expect(0).json();
    assert_eq!(now["going"], "stopped", "{now:#}");
    let pages = now["sum"]["pages"].as_u64().expect("a number");
    // Four hosts answer ten times a second each, for a few beats.
    assert!((20..200).contains(&pages), "{now:#}");
    tell(&["resume"], &[])
        .expect(2)
        .says(&["its maximum of 20 pages", "--no-limits"]);
    tell(&["resume"], &["--max-bytes", "1"])
        .expect(2)
        .says(&["its maximum of 20 pages"]);
    tell(&["resume"], &["--no-limits"]).expect(0);
    for worker in start() {
        worker.end().expect(0).says(&["nothing is left to crawl"]);
    }
}

/// Of a crawl that is over, whoever asks for a page is told where it is known, and there it is.
fn check_what_became_of(world: &World, far: &str) {
    let tell = |command: &[&str], arguments: &[&str]| cluster(world, command, arguments);
    let place = tell(&["where"], &[far, "--json"]).expect(0).json();
    assert_eq!(place["is_alive"], false, "{place:#}");
    let data_dir = place["data_dir"].as_str().expect("a worker owned it");
    let why = run(gleaner(&["why", far, "--data-dir", data_dir])).expect(0);
    let told = tell(&["where"], &[far]).expect(0);
    let command = format!("gleaner why '{far}' --data-dir '{data_dir}'");
    assert!(told.stdout.contains(&command), "{told:#?} {why:#?}");
    assert!(told.stdout.contains("which does not run"), "{told:#?}");
    let ended = tell(&["status"], &[]).expect(0);
    assert!(
        ended.stdout.contains("ended") && !ended.stdout.contains("gone"),
        "{ended:#?}"
    );
}

/// Asks how the cluster stands until it stands like this.
fn wait_for(world: &World, what: impl Fn(&Value) -> bool) -> Value {
    let start = Instant::now();
    loop {
        let now = cluster(world, &["status"], &["--json"]).expect(0).json();
        if what(&now) {
            return now;
        }
        assert!(start.elapsed() < PATIENCE, "{now:#}");
    }
}

/// What the demo shows is so: a worker dies in the middle, and nothing is lost.
pub(crate) fn the_demo_loses_a_worker_and_no_page() {
    let place = tempfile::tempdir().expect("there is a directory for temporary files");
    let mut command = gleaner(&["demo", "--cluster", "--json", "--nats-server"]);
    command.arg(nats::binary(&tools())).arg("--data-dir");
    command.arg(place.path().join("demo"));
    let told = run(command).expect(0).json();
    assert_eq!(told["lost"], 0, "{told:#}");
    assert_eq!(told["committed"], told["pages"], "{told:#}");
    let status = &told["status"];
    assert_eq!(status["is_over"], true, "{told:#}");
    assert_eq!(status["links"]["waiting"], 0, "{told:#}");
    let shards = status["shards"].as_array().into_iter().flatten();
    let mut owners = shards.map(|it| it["owner"].clone());
    assert!(owners.all(|it| it == "a" || it == "c"), "{told:#}");
    // Without one there is nothing to show, and the way to get one.
    let mut without = gleaner(&["demo", "--cluster", "--nats-server", "/nowhere/nats-server"]);
    without.arg("--data-dir").arg(place.path().join("other"));
    run(without)
        .expect(2)
        .says(&["is no nats-server", "nats.io/download"]);
}

/// A worker shows its cluster over HTTP: as JSON, as metrics with shard and worker, and as a page.
pub(crate) fn a_worker_shows_its_cluster() {
    let world = World::new(0x5406);
    let place = tempfile::tempdir().expect("there is a directory for temporary files");
    let (a, at) = listening(&world, place.path());
    let get = |path: &str| -> (u16, String) {
        let mut stream = TcpStream::connect(&at).expect("it listens");
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n"
        )
        .expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it is text");
        let (head, body) = answer.split_once("\r\n\r\n").expect("it has a head");
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
        (status.expect("it has a status"), body.to_owned())
    };
    let (status, body) = get("/api/v1/workers");
    assert_eq!(status, 200, "{body}");
    let now: Value = serde_json::from_str(&body).expect("it is JSON");
    assert_eq!(
        (&now["worker"], &now["going"]),
        (&json!("a"), &json!("paused"))
    );
    // The worker looks once a second, and sees then what it owns.
    let of_shard = "gleaner_cluster_pages_total{shard=\"03\",worker=\"a\"} 0";
    let start = Instant::now();
    loop {
        let (status, body) = get("/metrics");
        assert_eq!(status, 200, "{body}");
        if body.contains(of_shard) {
            break;
        }
        assert!(start.elapsed() < PATIENCE, "{body}");
    }
    assert_eq!(get("/readyz").0, 200);
    let (status, body) = get("/api/v1/status");
    assert!(
        status == 404 && body.contains("\"shared\""),
        "{status} {body}"
    );
    assert!(get("/").1.contains("assets/cluster.js"));
    // Its shards answer while it runs, as any crawl does.
    let shard = place.path().join("a/shards/03");
    let of_shard = |command: &[&str]| {
        let mut command = gleaner(command);
        command.arg("--data-dir").arg(&shard);
        run(command)
    };
    assert!(of_shard(&["report", "--json"]).expect(0).json().is_object());
    of_shard(&["pause"])
        .expect(0)
        .says(&["another worker than a"]);
    of_shard(&["resume"]).expect(0);
    of_shard(&["stop"])
        .expect(2)
        .says(&["a would open this shard again", "gleaner cluster stop"]);
    a.signal(Signal::TERM);
    a.end().expect(0);
}

/// A worker that listens, of a crawl of four shards that is paused, and where it listens.
fn listening(world: &World, place: &Path) -> (Running, String) {
    let settings = place.join("settings.toml");
    fs::write(&settings, SETTINGS).expect("the directory is ours");
    create(world, &settings, "4").expect(0);
    cluster(world, &["pause"], &[]).expect(0);
    let running = worker(world, place, "a", &["--listen", "127.0.0.1:0"]);
    let at = running.line_with("listening at http://");
    let at = at.split("http://").nth(1).expect("it was found");
    wait_for(world, |now| {
        now["workers"][0]["owns"] == json!([0, 1, 2, 3])
    });
    (running, at.trim_end_matches('/').to_owned())
}

/// The page of a worker shows its cluster in a browser, on a phone too, and asks nobody else.
pub(crate) fn the_page_of_a_worker_shows_its_cluster() {
    let world = World::new(0x9a9e);
    let place = tempfile::tempdir().expect("there is a directory for temporary files");
    let (a, at) = listening(&world, place.path());
    let base = format!("http://{at}/");
    let mut browser = Browser::start();
    browser.open(&base);
    browser.wait(
        "document.querySelectorAll('main table')[1]?.querySelectorAll('tbody tr').length === 4",
    );
    browser.wait("document.title.includes('Cluster')");
    let shown = browser.value("document.body.innerText");
    let shown = shown.as_str().expect("it is text");
    for part in [
        "paused",
        "gleaner cluster resume",
        "this one",
        "gleaner cluster status nats://",
    ] {
        assert!(shown.contains(part), "no {part:?} in {shown}");
    }
    browser.size(390, 844);
    browser.wait("document.documentElement.scrollWidth <= 390");
    // It goes on by itself.
    cluster(&world, &["resume"], &[]).expect(0);
    browser.wait(&format!("{} > 20", key("pages")));
    asked_only(&mut browser, &base);
    // Until it knows that this is a worker, it asks for what only one crawl has.
    let complaints = browser.complaints();
    let mut others = complaints
        .iter()
        .filter(|it| !it.contains("404 (Not Found)"));
    assert!(others.next().is_none(), "{complaints:#?}");
    a.signal(Signal::TERM);
    a.end().expect(0);
}
