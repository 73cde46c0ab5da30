//! Copies of a crawl that are made while it goes on, of which the log does not have the beginning
//! any more; and workers that are lost, cut off or late.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use gleaner::broker::{Broker, Memory};
use gleaner::cluster::{
    Going, Limits, RestoreError, ShardLog, ShardNow, enter, forget_worker, offer, restore,
};
use gleaner::dedup::shard_of;
use gleaner::engine::{
    Bodies, CopySource, CopyStep, Copying, FollowStep, Following, PageRecord, body_place,
};
use gleaner::rows::Keeper;
use gleaner::store::{self, CommitLog, Embedded, Table};
use gleaner::url::UrlId;
use gleaner::{Crawl, Ending, Error, RunLimits, StopHandle, Summary};

use crate::audit::{check_times, left, rows, simhash};
use crate::following::{bring, options, undisturbed};
use crate::run::PATIENCE;
use crate::web::{ClusterOptions, Web, cluster_web};
use crate::workers::{Cluster, HASTY, SHARDS, alone, pages};

/// Where the hosts of the workers' web are: three of them belong to each shard.
const NET: u8 = 4;
const HOSTS: usize = 12;

fn log(engine: &Memory) -> Arc<dyn CommitLog> {
    let broker = Arc::new(engine.connect()) as Arc<dyn Broker>;
    Arc::new(ShardLog::new(broker, 0, "worker"))
}

/// Opens the crawl as its owner, with a seed.
fn open(data: &Path, engine: &Memory, web: &Web) -> Crawl {
    let mut options = options();
    options.log = Some(log(engine));
    let mut crawl = Crawl::open(data, options).expect("it is taken over");
    let seed = gleaner::url::parse(&web.url(0, "/")).expect("a URL");
    crawl
        .add_seeds([seed], &StopHandle::new())
        .expect("the seed is admitted");
    crawl
}

fn run(crawl: Crawl, pages: Option<u64>) -> Summary {
    let limits = RunLimits {
        max_pages: pages,
        ..RunLimits::default()
    };
    let summary = crawl.run_blocking(&limits, &StopHandle::new());
    summary.expect("it ends well")
}

fn copying(data: &Path, engine: &Memory) -> Copying {
    Copying::open(data, &options(), log(engine)).expect("it begins or goes on")
}

/// Gives the next part to a copy. Returns what it needs then.
fn give(source: &mut CopySource, copying: &mut Copying) -> CopyStep {
    let step = copying.step(&options()).expect("it goes on");
    if step == CopyStep::Chunk {
        let (id, next) = copying.wish();
        let chunk = source.chunk(id, &next).expect("the crawl is open");
        assert_eq!(copying.take(chunk.clone(), &options()).ok(), Some(true));
        // What comes twice has no effect, but for the last, which says the same again.
        let (_, then) = copying.wish();
        if then != next {
            assert_eq!(copying.take(chunk, &options()).ok(), Some(false));
        }
    }
    step
}

/// Follows the crawl to the end of its log.
fn follow(data: &Path, engine: &Memory) -> Result<(), Error> {
    let mut following = Following::open(data, &options(), log(engine))?;
    while following.step()? != FollowStep::AtEnd {}
    Ok(())
}

fn web() -> Web {
    let cluster = ClusterOptions {
        hosts: 4,
        pages_per_host: 45,
        seed: 5,
    };
    Web::start(cluster_web(cluster, &simhash).0)
}

/// A worker comes when the log has lost its beginning, another one when it has lost it again; each
/// is killed on its way, and so is whom it copies from. In the end they have what one alone has.
#[test]
fn a_directory_is_made_from_another_while_that_goes_on() {
    let web = web();
    let place = tempfile::tempdir().expect("there is a directory for temporary files");
    let workers = [place.path().join("a"), place.path().join("b")];
    let engine = Memory::start(1 << 20);
    let ending = run(open(&workers[0], &engine, &web), Some(30)).ending;
    assert_eq!(ending, Ending::MaxPages);
    let trim = || {
        let end = engine.end("00").expect("there is a log");
        engine.trim("00", end).expect("it can be trimmed");
    };
    trim();
    let refused = follow(&workers[1], &engine);
    let is_outdated = matches!(refused, Err(Error::Store(store::Error::Outdated { .. })));
    assert!(is_outdated, "{refused:?}");

    // It gets some parts before the crawl goes on, and others meanwhile.
    let crawl = open(&workers[0], &engine, &web);
    let mut source = crawl.copy_source();
    let mut copy = copying(&workers[1], &engine);
    for _ in 0..3 {
        give(&mut source, &mut copy);
    }
    let (id, next) = copy.wish();
    drop(copy);
    // It goes on where it was when it is killed.
    let mut copy = copying(&workers[1], &engine);
    assert_eq!(copy.wish(), (id, next));
    // It is not over before these are given.
    web.hold_after(30);
    let before = web.requests().len();
    let crawling = thread::spawn(move || run(crawl, Some(60)));
    assert!(web.wait_for_requests(before + 30, PATIENCE), "it goes on");
    for _ in 0..4 {
        give(&mut source, &mut copy);
    }
    web.release();
    crawling.join().expect("no panic");
    let (id, next) = copy.wish();
    assert!(source.chunk(id, &next).is_err(), "the crawl is over");
    // It is refused to whoever would go on with it, or read it.
    let mut others = options();
    others.log = Some(log(&engine));
    let opened = Crawl::open(&workers[1], others).err();
    drop(copy);
    assert!(opened.is_some(), "another has the directory");
    let refused = follow(&workers[1], &engine);
    assert!(refused.is_err(), "it is not complete");

    // The owner begins anew, and what two owners have is not put together.
    let crawl = open(&workers[0], &engine, &web);
    let mut source = crawl.copy_source();
    let mut copy = copying(&workers[1], &engine);
    give(&mut source, &mut copy);
    let (begun_again, _) = copy.wish();
    assert_ne!(begun_again, id);
    web.hold_after(30);
    let crawling = thread::spawn(move || run(crawl, Some(40)));
    let mut parts = 0;
    loop {
        match give(&mut source, &mut copy) {
            CopyStep::Complete => break,
            CopyStep::Chunk => parts += 1,
            CopyStep::AtEnd | CopyStep::Applied => {}
            CopyStep::Away(reason) => panic!("{reason}"),
        }
        if parts == 5 {
            // Killed in the middle.
            drop(copy);
            copy = copying(&workers[1], &engine);
        }
    }
    drop(copy);
    assert!(parts > 18, "{parts}");
    web.release();
    crawling.join().expect("no panic");
    follow(&workers[1], &engine).expect("it follows");
    assert_eq!(rows(&workers[0]), rows(&workers[1]));

    // The copy goes on to the end, and is copied back to who has fallen behind.
    let ending = run(open(&workers[1], &engine, &web), Some(20)).ending;
    assert_eq!(ending, Ending::MaxPages);
    trim();
    let crawl = open(&workers[1], &engine, &web);
    let mut source = crawl.copy_source();
    assert!(follow(&workers[0], &engine).is_err(), "the log lacks some");
    let mut copy = copying(&workers[0], &engine);
    while give(&mut source, &mut copy) != CopyStep::Complete {}
    drop((copy, source, crawl));
    follow(&workers[0], &engine).expect("it follows");
    let ending = run(open(&workers[0], &engine, &web), None).ending;
    assert_eq!(ending, Ending::Drained);
    // What each has fetched is where it was fetched.
    bring(&workers[1], &workers[0]);
    let (left, expected) = (left(&workers[0]), undisturbed(&web));
    assert_eq!(left.pages, expected.pages);
    assert_eq!(left.answered, expected.answered);
    assert_eq!(left.clusters, expected.clusters);
}

fn workers_web(pages_per_host: usize) -> Web {
    let cluster = ClusterOptions {
        hosts: HOSTS,
        pages_per_host,
        seed: 29,
    };
    Web::start_at(NET, cluster_web(cluster, &simhash).0)
}

#[track_caller]
fn check(found: &BTreeMap<String, usize>, expected: &BTreeMap<String, usize>) {
    assert_eq!(pages(found), pages(expected));
    check_times(found, expected);
}

/// A worker comes late, when the logs are trimmed, and goes on alone with copies.
#[test]
fn a_worker_that_comes_late_copies_what_the_logs_lack() {
    let web = workers_web(30);
    let place = tempfile::tempdir().expect("there is a directory for temporary files");
    let expected = alone(&place.path().join("alone"), &web);
    let cluster = Cluster::new(place.path(), [web.url(0, "/")]);
    let engine = &cluster.engine;
    let start = |name| cluster.start(name);
    // It has not fetched all before another one comes.
    web.hold_after(200);
    let early = start("early");
    assert!(web.wait_for_requests(200, PATIENCE), "it begins");
    for shard in ["00", "01", "02", "03"] {
        let end = engine.end(shard).expect("it has begun");
        engine.trim(shard, end).expect("it can be trimmed");
    }
    let late = start("late");
    // One that leaves waits half a minute for others to have copies, and no longer.
    late.sees(|now| {
        let has_all = |shard: &ShardNow| shard.copies.iter().any(|copy| copy.worker == "late");
        now.shards
            .iter()
            .all(|it| it.owner.as_deref() == Some("late") || has_all(it))
    });
    early.stop.stop();
    early.end();
    web.release();
    let before = web.requests().len();
    late.end();
    assert!(web.requests().len() > before, "it has gone on");
    for shard in ["copy00", "copy01", "copy02", "copy03"] {
        assert!(engine.end(shard).is_ok_and(|end| end > 0), "{shard}");
    }
    check(&cluster.fetched(&["early", "late"]), &expected);
}

/// A worker is cut off from the engine until another one has taken over, and comes back.
#[test]
fn a_worker_that_is_cut_off_is_taken_over_from() {
    let web = workers_web(30);
    let place = tempfile::tempdir().expect("there is a directory for temporary files");
    let expected = alone(&place.path().join("alone"), &web);
    let cluster = Cluster::new(place.path(), [web.url(0, "/")]);
    let engine = &cluster.engine;
    let start = |name| cluster.start_by(name, HASTY);
    web.hold_after(150);
    let (a, b) = (start("a"), start("b"));
    assert!(web.wait_for_requests(150, PATIENCE), "they begin");
    let owners = || engine.row("shards").expect("the engine is there");
    a.engine.cut_off(true);
    let before = owners();
    let start = Instant::now();
    while owners() == before {
        assert!(start.elapsed() < PATIENCE, "nobody takes over");
        thread::yield_now();
    }
    // What it had asked for is answered, and is not its to commit any more.
    web.release();
    assert!(web.wait_for_requests(200, PATIENCE), "the other goes on");
    a.engine.cut_off(false);
    a.end();
    b.end();
    check(&cluster.fetched(&["a", "b"]), &expected);
}

/// The URLs of a shard whose bodies can be read there, and of those that repeat pages of others.
fn readable(data: &Path) -> BTreeSet<String> {
    let store = Embedded::open(&data.join("store"), &store::Options::default());
    let store = store.expect("nobody else has it");
    let bodies = Bodies::of(data);
    let mut readable = BTreeSet::new();
    store::for_each(&store, Table::Pages, &[], &mut |key, row| {
        let page: PageRecord = store::decode(Table::Pages, row)?;
        let id = UrlId::from_bytes(key.try_into().expect("keys are ids"));
        let place = body_place(&store, id, &page).expect("rows can be read");
        // That of another shard has its own page there.
        let is_elsewhere = page.duplicate().is_some_and(|it| shard_of(it.of).is_some());
        if is_elsewhere || place.is_some_and(|place| bodies.read(&place).is_ok()) {
            let path = page.url.split('?').next().unwrap_or_default();
            readable.insert(path.to_owned());
        }
        Ok(())
    })
    .expect("rows can be read");
    readable
}

/// The directories of a worker's shards.
fn shards_of(worker: &Path) -> Vec<PathBuf> {
    let shards = fs::read_dir(worker.join("shards")).expect("it had some");
    let path = |it: std::io::Result<fs::DirEntry>| it.expect("it can be read").path();
    shards.map(path).collect()
}

/// A worker leaves in good order, and its disk is lost: what only that had of pages is fetched
/// again by who goes on.
#[test]
fn what_only_a_lost_disk_had_is_fetched_again() {
    let web = workers_web(30);
    let place = tempfile::tempdir().expect("there is a directory for temporary files");
    alone(&place.path().join("alone"), &web);
    let cluster = Cluster::new(place.path(), [web.url(0, "/")]);
    let start = |name| cluster.start(name);
    web.hold_after(200);
    let (a, b) = (start("a"), start("b"));
    assert!(web.wait_for_requests(200, PATIENCE), "they begin");
    a.stop.stop();
    a.end();
    fs::remove_dir_all(place.path().join("a")).expect("it is there");
    let broker = cluster.broker();
    let forget = |worker, is_lost| forget_worker(&broker, worker, is_lost, Duration::ZERO);
    assert_eq!(forget("c", true), Ok(false), "there is no such worker");
    assert_eq!(forget("a", true), Ok(true), "b has all of it");
    web.release();
    b.end();

    let mut bodies = BTreeSet::new();
    let mut all = Vec::new();
    let mut put_back = 0;
    for shard in shards_of(&place.path().join("b")) {
        bodies.extend(readable(&shard));
        all.extend(rows(&shard).into_values());
        let store = Embedded::open(&shard.join("store"), &store::Options::default());
        let keepers = Keeper::read_all(&store.expect("nobody else has it"));
        for (_, keeper) in keepers.expect("the rows can be read") {
            assert_eq!(keeper.lost.is_some(), keeper.worker == "a", "{keeper:?}");
            put_back += keeper.lost.unwrap_or(0);
        }
    }
    assert!(put_back > 20, "{put_back}");
    let expected_bodies = readable(&place.path().join("alone"));
    let missing: Vec<_> = expected_bodies.difference(&bodies).collect();
    assert!(missing.is_empty(), "{missing:?}");
    // What is left of other URLs is known too: those that robots.txt forbids, for one.
    let known = |pages: Vec<PageRecord>| -> BTreeSet<String> {
        let path = |page: PageRecord| page.url.split('?').next().unwrap_or_default().to_owned();
        pages.into_iter().map(path).collect()
    };
    let expected = rows(&place.path().join("alone"));
    assert_eq!(known(all), known(expected.into_values().collect()));
}

/// The engine loses all that it has: workers do not begin anew beside what they have, and go on
/// from it once it is restored, with the limits that they had.
#[test]
fn an_engine_that_has_lost_all_is_restored_from_disks() {
    let web = workers_web(30);
    let place = tempfile::tempdir().expect("there is a directory for temporary files");
    let expected = alone(&place.path().join("alone"), &web);
    let cluster = Cluster::new(place.path(), [web.url(0, "/")]);
    let engine = &cluster.engine;
    let limits = Limits {
        max_pages: Some(1_000_000),
        max_bytes: None,
    };
    limits.set(engine).expect("the engine is there");
    let start = |name| cluster.start(name);
    web.hold_after(200);
    let (a, b) = (start("a"), start("b"));
    assert!(web.wait_for_requests(200, PATIENCE), "they begin");
    for worker in [&a, &b] {
        worker.stop.stop();
    }
    a.end();
    b.end();
    web.release();
    engine.lose_all();
    let [a, b] = ["a", "b"].map(|name| place.path().join(name));
    let refused = enter(engine, &a, &StopHandle::new()).expect_err("it has lost its data");
    assert!(matches!(refused, RestoreError::Unknown { .. }), "{refused}");
    assert!(
        refused.to_string().contains("does not know the crawl"),
        "{refused}"
    );
    assert!(matches!(restore(engine), Err(RestoreError::Incomplete(_))));
    offer(engine, "a", &a).expect("it can be read");
    offer(engine, "b", &b).expect("it can be read");
    let restored = restore(engine).expect("all shards are there");
    let shards: Vec<u16> = restored.shards.iter().map(|it| it.shard).collect();
    assert_eq!(shards, (0..SHARDS).collect::<Vec<_>>());
    assert!(
        restored.shards.iter().all(|it| it.commit > 0),
        "{restored:?}"
    );
    assert_eq!((restored.going, restored.limits), (Going::Running, limits));
    assert!(matches!(restore(engine), Err(RestoreError::Known)));
    assert!(matches!(offer(engine, "a", &a), Err(RestoreError::Known)));
    let known = enter(engine, &a, &StopHandle::new()).expect("it can be asked");
    assert_eq!(known.map(|terms| terms.shards), Some(SHARDS));
    let (a, b) = (start("a"), start("b"));
    a.end();
    b.end();
    check(&cluster.fetched(&["a", "b"]), &expected);
}
