//! A crawl that is cut into shards by domain: together they fetch what a single machine fetches,
//! and each URL is fetched by one of them, whatever is between them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use gleaner::config::Config;
use gleaner::engine::ShardOptions;
use gleaner::engine::exchange::{
    Carried, Carrier, Census, Courier, Faults, Look, Pace, Parcel, Post,
};
use gleaner::frontier::Shards;
use gleaner::url::{HostKey, Secret, parse};
use gleaner::{
    Crawl, Ending, Error, Feed, Options, Position, RunLimits, ScopeKind, StopHandle, Summary,
};

use crate::audit::simhash;
use crate::web::{ClusterOptions, Web, cluster_web};

const SHARDS: u16 = 4;
const HOSTS: usize = 12;
/// Where these hosts are: three of them belong to each shard.
const NET: u8 = 4;

fn web() -> Web {
    let options = ClusterOptions {
        hosts: HOSTS,
        pages_per_host: 8,
        seed: 23,
    };
    Web::start_at(NET, cluster_web(options, &simhash).0)
}

fn options() -> Options {
    let config = Config {
        politeness: toml::from_str("delay = \"0s\"").expect("a delay"),
        // A seed is consent for its host, and may reach the shard of that behind links to it.
        fetch: toml::from_str("allow_private = true").expect("a consent"),
        ..Config::default()
    };
    let mut options = config.options().expect("the rest are defaults");
    options.scope = ScopeKind::Any;
    options
}

/// Opens a crawl, or a shard of one, with room for several in this process.
fn open(data: &Path, shard: Option<Shards>) -> Crawl {
    let mut options = options();
    options.concurrency = 8;
    options.shard = shard.map(|shards| ShardOptions {
        shards,
        secret: Secret::from_bytes([23; Secret::LEN]),
    });
    Crawl::open(data, options).expect("the directory can be opened")
}

/// A seed from which all is found, given to one shard.
fn seed(crawl: &mut Crawl, web: &Web) {
    let seeds = (0..HOSTS).map(|host| parse(&web.url(host, "/")).expect("a URL"));
    let seeds: Vec<_> = seeds.collect();
    crawl
        .add_seeds(seeds, &StopHandle::new())
        .expect("the seeds are admitted");
}

/// URLs that a crawl fetched, by their lines in the log, each as often as it is there. Which of the
/// forms of a URL is seen first is a matter of order, and they differ in their queries.
fn fetched(data: &Path) -> BTreeMap<String, usize> {
    let mut feed = Feed::open(data, Position::default()).expect("there is a log");
    let mut urls = BTreeMap::new();
    while let Some((line, _)) = feed.read_line().expect("the log can be read") {
        let url = line.url.split('?').next().unwrap_or_default();
        *urls.entry(url.to_owned()).or_default() += 1;
    }
    urls
}

/// What the servers were asked, likewise.
fn asked(web: &Web) -> BTreeMap<(usize, String), usize> {
    let mut asked = BTreeMap::new();
    for request in web.requests() {
        let path = request.bare_path().to_owned();
        *asked.entry((request.host, path)).or_default() += 1;
    }
    asked
}

type Run = JoinHandle<Result<Summary, Error>>;

fn run(crawl: Crawl) -> Run {
    thread::spawn(move || crawl.run_blocking(&RunLimits::default(), &StopHandle::new()))
}

/// What carries between the shards, and ends them.
struct Between {
    posts: Vec<Post>,
    couriers: Vec<Courier>,
    carrier: Carrier,
    census: Census,
    /// Turns so far, which is all the time that there is here.
    turn: u64,
}

impl Between {
    fn new(posts: Vec<Post>, faults: Faults) -> Self {
        let patience = Duration::from_secs(40);
        Self {
            couriers: posts
                .iter()
                .map(|post| Courier::new(post.shards(), Pace::default(), patience))
                .collect(),
            carrier: Carrier::new(faults, 23),
            census: Census::new(SHARDS),
            posts,
            turn: 0,
        }
    }

    /// Carries until the crawl is over.
    async fn run(&mut self) {
        loop {
            self.turn += 1;
            self.carry().await;
            let mut looks = Vec::new();
            for post in &self.posts {
                looks.push(post.look().await.expect("the shard runs"));
            }
            if self.census.round(looks.clone()) {
                self.end(looks).await;
                return;
            }
        }
    }

    async fn carry(&mut self) {
        let now = Duration::from_secs(self.turn);
        for (post, courier) in self.posts.iter().zip(&mut self.couriers) {
            let parcels = courier.collect(now, |to, after| post.waiting(to, after, 4_096));
            for parcel in parcels.expect("the outbox can be read") {
                let bytes = parcel.encode();
                self.carrier.send(Carried::Parcel(parcel.to, bytes));
            }
        }
        for carried in self.carrier.arrived() {
            match carried {
                Carried::Parcel(to, bytes) => {
                    let parcel = Parcel::decode(&bytes).expect("it is as it was sent");
                    let post = &self.posts[usize::from(to)];
                    let through = post.hand_in(&parcel).await.expect("the shard runs");
                    self.carrier.send(Carried::Acknowledged {
                        from: parcel.from,
                        to,
                        through,
                    });
                }
                Carried::Acknowledged { from, to, through } => {
                    let at = usize::from(from);
                    if self.couriers[at].acknowledged(to, through, now) {
                        let told = self.posts[at].acknowledge(to, through).await;
                        told.expect("the shard runs");
                    }
                }
            }
        }
    }

    async fn end(&self, looks: Vec<Look>) {
        for (post, look) in self.posts.iter().zip(looks) {
            // An acknowledgement may be on its way to the committer.
            while !post.end(look.clone()).await.expect("the shard runs") {}
        }
    }
}

/// Crawls a web by shards, and compares with what a single machine has fetched.
fn check(faults: Faults) {
    let (web, place) = (web(), tempfile::tempdir().expect("there is room"));
    let alone = place.path().join("alone");
    let mut crawl = open(&alone, None);
    seed(&mut crawl, &web);
    assert!(crawl.post().is_none(), "there is nobody to write to");
    let summary = run(crawl).join().expect("no panic").expect("it ends well");
    assert_eq!(summary.ending, Ending::Drained);
    let expected = fetched(&alone);
    assert!(expected.len() > HOSTS * 8, "{}", expected.len());
    let asked_alone = asked(&web);
    web.clear_log();

    let data: Vec<_> = (0..SHARDS)
        .map(|own| place.path().join(own.to_string()))
        .collect();
    let shards = |own| Shards::new(own, SHARDS).expect("there is such a shard");
    let mut crawls: Vec<_> = (0..SHARDS)
        .map(|own| open(&data[usize::from(own)], Some(shards(own))))
        .collect();
    seed(&mut crawls[1], &web);
    let posts = crawls.iter().map(|crawl| crawl.post().expect("a shard"));
    let mut between = Between::new(posts.collect(), faults);
    let runs: Vec<Run> = crawls.into_iter().map(run).collect();
    tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a reactor")
        .block_on(between.run());
    let mut sent = 0;
    for run in runs {
        let summary = run.join().expect("no panic").expect("it ends well");
        assert_eq!(summary.ending, Ending::Drained);
        assert_eq!(summary.counters.queued, 0);
        sent += summary.counters.links.get("sent").copied().unwrap_or(0);
    }
    assert!(sent > 20, "{sent} links were exchanged");

    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    let mut at_work = BTreeSet::new();
    for (own, data) in (0..SHARDS).zip(&data) {
        for (url, count) in fetched(data) {
            let host = HostKey::of(&parse(&url).expect("a URL"));
            assert_eq!(shards(0).of(&host), own, "{url}");
            at_work.insert(own);
            *found.entry(url).or_default() += count;
        }
    }
    assert_eq!(at_work.len(), usize::from(SHARDS), "{at_work:?}");
    assert_eq!(found, expected);
    assert_eq!(asked(&web), asked_alone);
}

#[test]
fn shards_fetch_what_a_single_machine_fetches() {
    check(Faults::default());
}

#[test]
fn shards_fetch_the_same_over_a_carrier_that_fails() {
    check(Faults {
        lost: 25,
        doubled: 25,
        delayed: 50,
    });
}
