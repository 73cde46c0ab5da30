//! Workers that share a crawl: together they fetch what one machine fetches, and each URL once,
//! whoever comes and goes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use gleaner::broker::{Broker, Memory};
use gleaner::cluster::{
    ClusterStatus, Going, LOG_MAX, NewCrawl, NotTaken, Terms, Times, Worker, WorkerError,
    WorkerOptions, WorkerView, add_seeds, create, drain, retried, retry, set_going, set_staying,
};
use gleaner::engine::RetryFilter;
use gleaner::frontier::Seed;
use gleaner::url::parse;
use gleaner::{Crawl, Ending, Options, RunLimits, StopHandle};

use crate::audit::{add_committed, check_times, simhash};
use crate::following::{options, options_of_a_daemon, options_without_patience};
use crate::run::{PATIENCE, gleaner, run};
use crate::web::{Answer, ClusterOptions, Site, Web, cluster_web};

pub(crate) const SHARDS: u16 = 4;
const HOSTS: usize = 12;
/// Where these hosts are: three of them belong to each shard.
const NET: u8 = 4;

/// Beats that nobody waits for, and a death that nobody dies of because the machine is busy.
pub(crate) const TIMES: Times = Times {
    beat: Duration::from_millis(50),
    right: Duration::from_secs(50),
    dead: Duration::from_mins(1),
};

/// A death that comes soon. Whoever dies of it although it only had to wait is taken over from,
/// which changes nothing of what is fetched.
pub(crate) const HASTY: Times = Times {
    beat: Duration::from_millis(100),
    right: Duration::from_secs(2),
    dead: Duration::from_secs(4),
};

/// A crawl that workers share.
pub(crate) struct Cluster<'a> {
    pub(crate) engine: Memory,
    terms: Terms,
    place: &'a Path,
    /// By which its workers crawl.
    options: Options,
}

impl<'a> Cluster<'a> {
    /// Creates one that begins at these URLs.
    pub(crate) fn new<const N: usize>(place: &'a Path, seeds: [String; N]) -> Self {
        let engine = Memory::start(1 << 20);
        let new = NewCrawl {
            shards: SHARDS,
            copies: 2,
            ..NewCrawl::default()
        };
        let terms = create(&engine, &new, seeds.map(|url| seed(&url))).expect("it is new");
        Self {
            engine,
            terms,
            place,
            options: options(),
        }
    }

    pub(crate) fn broker(&self) -> Arc<dyn Broker> {
        Arc::new(self.engine.connect())
    }

    pub(crate) fn start(&self, name: &str) -> Running {
        self.start_by(name, TIMES)
    }

    /// Starts a worker that goes by other times.
    pub(crate) fn start_by(&self, name: &str, times: Times) -> Running {
        let engine = Arc::new(self.engine.connect());
        let stop = StopHandle::new();
        let worker = self.join((name, name), times, &engine, &stop);
        let worker = worker.expect("it can join");
        let view = worker.view();
        let own = stop.clone();
        Running {
            stop,
            engine,
            view,
            thread: thread::spawn(move || worker.run(&own)),
        }
    }

    /// Has a worker join that has this name and this directory.
    fn join(
        &self,
        (name, directory): (&str, &str),
        times: Times,
        engine: &Arc<Memory>,
        stop: &StopHandle,
    ) -> Result<Worker, WorkerError> {
        let options = WorkerOptions {
            name: name.to_owned(),
            machine: name.to_owned(),
            directory: self.place.join(directory),
            crawl_name: "test".to_owned(),
            terms: self.terms.clone(),
            times,
            log_max: LOG_MAX,
            crawl: self.options.clone(),
            max_shards: None,
            console: None,
            library: 1_000_000,
        };
        Worker::join(Arc::clone(engine) as Arc<dyn Broker>, options, stop)
    }

    /// What the workers of these names have fetched, each URL as often as they have.
    pub(crate) fn fetched(&self, names: &[&str]) -> BTreeMap<String, usize> {
        let mut found: BTreeMap<String, usize> = BTreeMap::new();
        for name in names {
            let shards = fs::read_dir(self.place.join(name).join("shards"));
            for shard in shards.expect("it had some") {
                let shard = shard.expect("the directory can be read").path();
                add_committed(&shard, &mut found);
            }
        }
        found
    }
}

fn seed(url: &str) -> Seed {
    parse(url).expect("a URL").into()
}

/// A worker on a thread.
pub(crate) struct Running {
    pub(crate) stop: StopHandle,
    /// Its connection to the engine.
    pub(crate) engine: Arc<Memory>,
    view: WorkerView,
    thread: JoinHandle<Result<(), WorkerError>>,
}

impl Running {
    pub(crate) fn end(self) {
        let ended = self.thread.join().expect("its thread does not panic");
        ended.expect("it ends well");
    }

    /// Waits until this worker sees the cluster like this.
    #[track_caller]
    pub(crate) fn sees(&self, what: impl Fn(&ClusterStatus) -> bool) -> Arc<ClusterStatus> {
        let start = Instant::now();
        loop {
            let status = self.view.status();
            if let Some(status) = status.as_ref().filter(|status| what(status)) {
                return Arc::clone(status);
            }
            assert!(start.elapsed() < PATIENCE, "{status:#?}");
            thread::yield_now();
        }
    }
}

/// The same without queries: which of the forms of a URL is seen first is a matter of order, and
/// they differ in these.
pub(crate) fn pages(urls: &BTreeMap<String, usize>) -> BTreeSet<&str> {
    let pages = urls.keys().filter_map(|url| url.split('?').next());
    pages.collect()
}

/// What one machine fetches, in a directory. The web forgets that it was asked.
pub(crate) fn alone(directory: &Path, web: &Web) -> BTreeMap<String, usize> {
    let stop = StopHandle::new();
    let mut alone = Crawl::open(directory, options()).expect("it begins");
    let seed = parse(&web.url(0, "/")).expect("a URL");
    alone
        .add_seeds([seed], &stop)
        .expect("the seed is admitted");
    let summary = alone.run_blocking(&RunLimits::default(), &stop);
    assert_eq!(summary.expect("it ends well").ending, Ending::Drained);
    web.clear_log();
    let mut urls = BTreeMap::new();
    add_committed(directory, &mut urls);
    urls
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
    let expected = alone(&place.path().join("alone"), &web);
    assert!(expected.len() > HOSTS * 25, "{}", expected.len());

    let cluster = Cluster::new(place.path(), [web.url(0, "/")]);
    let (a, b) = (cluster.start("a"), cluster.start("b"));
    assert!(web.wait_for_requests(60, PATIENCE), "they begin");
    // One comes, and one leaves: what it owned is gone on with by others.
    let c = cluster.start("c");
    assert!(web.wait_for_requests(150, PATIENCE), "they go on");
    a.stop.stop();
    a.end();
    let view = b.view.clone();
    b.end();
    c.end();
    let found = cluster.fetched(&["a", "b", "c"]);
    assert_eq!(pages(&found), pages(&expected));
    check_times(&found, &expected);
    // What the workers tell is what they have done.
    let now = view.status().expect("it has looked");
    assert!(now.is_over, "{now:#?}");
    assert_eq!(now.sum.queued, 0, "{now:#?}");
    assert_eq!(now.links.waiting, 0, "{now:#?}");
    assert!(now.links.sent > 0, "{now:#?}");
    assert!(now.sum.pages > HOSTS as u64 * 20, "{now:#?}");

    // Files of two shards may be brought to one place.
    let mut of: BTreeMap<std::ffi::OsString, std::ffi::OsString> = BTreeMap::new();
    // What one worker has fetched and another one goes on with is told where it is missing.
    let mut shards = Vec::new();
    for name in ["a", "b", "c"] {
        let of_it = fs::read_dir(place.path().join(name).join("shards"));
        shards.extend(of_it.expect("it had some").flatten().map(|it| it.path()));
    }
    for shard in &shards {
        let number = shard.file_name().expect("a number").to_owned();
        for file in fs::read_dir(shard.join("warc")).into_iter().flatten() {
            let name = file.expect("an entry").file_name();
            if !name.to_string_lossy().contains(".warc.gz") {
                continue;
            }
            let before = of.insert(name.clone(), number.clone());
            assert!(before.is_none_or(|it| it == number), "{name:?}");
        }
    }
    let pages = |shard: &Path| {
        let shard = shard.to_str().expect("a path that is a text");
        run(gleaner(&["pages", "--no-text", "--data-dir", shard])).expect(0)
    };
    let says = |said: &str| said.contains("that a visited are in the directories");
    let of_others = shards
        .iter()
        .filter(|it| !it.starts_with(place.path().join("a")));
    assert!(of_others.clone().any(|shard| says(&pages(shard).stderr)));
    let out = place.path().join("all.jsonl");
    let mut all = vec!["export", "--format", "jsonl", "-o"];
    all.extend(out.to_str());
    for shard in &shards {
        all.push("--data-dir");
        all.extend(shard.to_str());
    }
    let all = run(gleaner(&all)).expect(0);
    assert!(!all.stderr.contains("others' too"), "{all:?}");
}

/// A web of hosts that lead nowhere.
fn islands() -> Web {
    let page = |host: usize, number: usize| {
        let text =
            format!("<title>{host}</title><p>Page {number} of island {host}, which is its own.");
        Answer::html(text)
    };
    let island = |host| {
        Site::new()
            .page("/", page(host, 0))
            .page("/far", page(host, 1))
    };
    Web::start_at(NET, (0..HOSTS).map(island).collect())
}

fn roots(web: &Web, hosts: std::ops::Range<usize>, path: &str) -> Vec<Seed> {
    hosts.map(|host| seed(&web.url(host, path))).collect()
}

/// Seeds that are added from another machine are admitted once, also to shards in which nothing was
/// left to do.
#[test]
fn seeds_are_added_from_anywhere_and_admitted_once() {
    let web = islands();
    let place = tempfile::tempdir().expect("there is a directory for temporary files");
    let cluster = Cluster::new(place.path(), [web.url(0, "/")]);
    set_going(&cluster.engine, Going::Paused).expect("it answers");
    let (a, b) = (cluster.start("a"), cluster.start("b"));
    a.sees(|now| now.shards.iter().all(|shard| shard.is_owned));
    // While nobody makes visits, and twice.
    for _ in 0..2 {
        add_seeds(&cluster.engine, roots(&web, 0..HOSTS, "/")).expect("it answers");
    }
    set_going(&cluster.engine, Going::Running).expect("it answers");
    a.end();
    b.end();
    assert!((0..HOSTS).all(|host| web.asked(host).contains(&"/".to_owned())));
    // When all is over, for the workers that come then.
    add_seeds(&cluster.engine, roots(&web, 0..HOSTS, "/far")).expect("it answers");
    let (a, b) = (cluster.start("a"), cluster.start("b"));
    a.end();
    b.end();
    for (url, times) in cluster.fetched(&["a", "b"]) {
        assert_eq!(times, 1, "{url}");
    }
    for host in 0..HOSTS {
        let asked = web.asked(host);
        let of = |path: &str| asked.iter().filter(|it| *it == path).count();
        assert_eq!((of("/"), of("/far")), (1, 1), "host {host}: {asked:?}");
    }
}

/// What failed in any shard is put back by one order: once if it is given while workers run, and by
/// those that come if none does.
#[test]
fn what_failed_in_any_shard_is_put_back() {
    let broken = |host: usize| {
        let text = format!("<title>{host}</title><p>Island {host} was away, and is back.");
        vec![Answer::raw(""), Answer::raw(""), Answer::html(text)]
    };
    let island = |host: usize| Site::new().page_in_turn("/", broken(host));
    let web = Web::start_at(NET, (0..HOSTS).map(island).collect());
    let place = tempfile::tempdir().expect("there is a directory for temporary files");
    let mut cluster = Cluster::new(place.path(), [web.url(0, "/")]);
    cluster.options = options_without_patience();
    let broker = cluster.broker();
    add_seeds(&*broker, roots(&web, 1..HOSTS, "/")).expect("it answers");
    let crawl = || {
        // Who owns what is settled before anything is put back: an owner that gives a shard away
        // between a deed and the word of it says nothing of it.
        set_going(&*broker, Going::Paused).expect("it answers");
        let (a, b) = (cluster.start("a"), cluster.start("b"));
        a.sees(|now| now.workers.iter().all(|worker| worker.owns.len() == 2));
        set_going(&*broker, Going::Running).expect("it answers");
        a.end();
        b.end();
    };
    crawl();
    let asked = |host: usize| web.asked(host).iter().filter(|it| *it == "/").count();
    assert!((0..HOSTS).all(|host| asked(host) == 1));
    let order = |class: &str| {
        let filter = RetryFilter {
            classes: vec![class.to_owned()],
            host: None,
        };
        retry(&*broker, &filter).expect("it answers")
    };
    let all = |shards: &[u16]| shards == [0, 1, 2, 3];
    let of = |order| retried(&broker, "test", order, Duration::ZERO).expect("it answers");
    // When all is over, for those that come then.
    let (others, first) = (order("dns"), order("disconnect"));
    let now = of(first);
    assert!(
        now.sum.urls.is_empty() && all(&now.pending.unowned),
        "{now:?}"
    );
    crawl();
    assert!((0..HOSTS).all(|host| asked(host) == 2));
    let counts = |order| {
        let now = of(order);
        let is_done = now.pending.is_empty();
        assert!(is_done, "{now:?}");
        now.sum.urls.values().sum::<u64>()
    };
    assert_eq!((counts(others), counts(first)), (0, HOSTS as u64));

    // While they run, but make no visits.
    set_going(&*broker, Going::Paused).expect("it answers");
    let second = order("disconnect");
    let (a, b) = (cluster.start("a"), cluster.start("b"));
    let start = Instant::now();
    while of(second).sum.urls.get("disconnect") != Some(&(HOSTS as u64)) {
        assert!(start.elapsed() < PATIENCE, "{:?}", of(second));
        thread::yield_now();
    }
    assert!(
        (0..HOSTS).all(|host| asked(host) == 2),
        "nobody makes visits"
    );
    set_going(&*broker, Going::Running).expect("it answers");
    a.end();
    b.end();
    assert!((0..HOSTS).all(|host| asked(host) == 3));
    assert_eq!(
        (counts(first), counts(second)),
        (HOSTS as u64, HOSTS as u64)
    );
}

/// Whoever starts a worker once more, in its directory or under its name, is refused, and the
/// worker goes on as if nobody had.
#[test]
fn a_worker_that_runs_is_not_started_again() {
    let hosts = ClusterOptions {
        hosts: HOSTS,
        pages_per_host: 10,
        seed: 31,
    };
    let web = Web::start_at(NET, cluster_web(hosts, &simhash).0);
    let place = tempfile::tempdir().expect("there is a directory for temporary files");
    let expected = alone(&place.path().join("alone"), &web);
    let cluster = Cluster::new(place.path(), [web.url(0, "/")]);
    web.hold_after(30);
    let first = cluster.start("a");
    assert!(web.wait_for_requests(30, PATIENCE), "it begins");
    // Two beats of whoever comes are enough for several of the one that is there.
    let patient = Times {
        beat: Duration::from_secs(2),
        ..TIMES
    };
    let again = |name, directory| {
        let engine = Arc::new(cluster.engine.connect());
        cluster.join((name, directory), patient, &engine, &StopHandle::new())
    };
    let own = Some(std::process::id());
    for name in ["a", "b"] {
        let by = match again(name, "a").err() {
            Some(WorkerError::NotTaken(NotTaken::InUse { holder, .. })) => holder,
            other => panic!("{other:?}"),
        };
        assert_eq!(by, own);
    }
    let refused = again("a", "b").err();
    assert!(matches!(refused, Some(WorkerError::Name(_))), "{refused:?}");
    web.release();
    first.end();
    let found = cluster.fetched(&["a"]);
    assert_eq!(pages(&found), pages(&expected));
    check_times(&found, &expected);
    // Both are free again.
    again("a", "a").expect("it can join");
}

/// What became of a URL at a visit.
#[derive(Debug, Clone, Default)]
struct Became {
    shard: u16,
    verdict: String,
    original: String,
}

/// What became of each URL at its last visit that found something new, as the logs of all shards of
/// these workers say.
fn verdicts(place: &Path, names: &[&str]) -> BTreeMap<String, Became> {
    let mut lines: Vec<(u16, serde_json::Value)> = Vec::new();
    for name in names {
        for shard in 0..SHARDS {
            let log = place.join(format!("{name}/shards/{shard:02}/log/fetch.jsonl"));
            // Not every worker has every shard, and the last line may be half written.
            let text = fs::read(log).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let read = |line| Some((shard, serde_json::from_str(line).ok()?));
            lines.extend(text.lines().filter_map(read));
        }
    }
    let text = |line: &serde_json::Value, key: &str| line[key].as_str().unwrap_or("").to_owned();
    lines.sort_by_key(|(_, line)| text(line, "time"));
    let found = lines.iter().map(|(shard, line)| {
        let became = Became {
            shard: *shard,
            verdict: text(line, "verdict"),
            original: text(line, "original"),
        };
        (text(line, "url"), became)
    });
    found.filter(|(_, it)| it.verdict != "unchanged").collect()
}

/// A crawl that stays visits its pages again when nothing is left: where the original of copies
/// changes in one shard, one of them takes its place for all shards. It waits for seeds, ends when
/// it is to stay no longer, and is taken up again when it is to stay once more.
#[test]
fn a_crawl_that_stays_visits_pages_again_and_waits_for_seeds() {
    let article = |text: &str| {
        let text =
            format!("The {text} of the harbour, in the words of who has kept it. ").repeat(9);
        Answer::html(format!("<title>Tides</title><p>{text}"))
    };
    let has_changed = Arc::new(AtomicBool::new(false));
    let site = |host: usize| {
        let has_changed = Arc::clone(&has_changed);
        let now = move || match host == 0 && has_changed.load(Ordering::SeqCst) {
            true => article("new light, which burns by night and goes out by day,"),
            false => article("old book of tides"),
        };
        Site::new()
            .page_with("/", move |_| now())
            .page("/far", article(&format!("island number {host} north")))
    };
    let web = Web::start_at(NET, (0..HOSTS).map(site).collect());
    let place = tempfile::tempdir().expect("there is a directory for temporary files");
    let mut cluster = Cluster::new(place.path(), [web.url(0, "/")]);
    cluster.options = options_of_a_daemon();
    assert_eq!(set_staying(&cluster.engine, true), Ok(true));
    // While it stays there is always a further request.
    let until = |what: &str, is_so: &dyn Fn() -> bool| {
        let start = Instant::now();
        while !is_so() {
            assert!(start.elapsed() < PATIENCE, "{what}");
            let next = web.requests().len() + 1;
            assert!(web.wait_for_requests(next, PATIENCE), "{what}");
        }
    };
    let asked = |path: &str| {
        let of = |host| web.asked(host).iter().filter(|it| *it == path).count();
        (0..HOSTS).map(of).min().unwrap_or(0)
    };
    let verdict = |host: usize| {
        let verdicts = verdicts(place.path(), &["a", "b"]);
        verdicts.get(&web.url(host, "/")).cloned()
    };
    let (a, b) = (cluster.start("a"), cluster.start("b"));
    // So often that the other shards have heard of it.
    let visits = || web.asked(0).iter().filter(|it| *it == "/").count();
    until("the first page is visited", &|| visits() > 10);
    add_seeds(&cluster.engine, roots(&web, 1..HOSTS, "/")).expect("it answers");
    until("all are visited again", &|| asked("/") >= 3);
    let (first, own) = (web.url(0, "/"), verdict(0).map(|it| it.shard));
    let is_copy = |it: &Became| it.original == first && Some(it.shard) != own;
    let elsewhere: Vec<usize> = (1..HOSTS)
        .filter(|host| verdict(*host).is_some_and(|it| is_copy(&it)))
        .collect();
    has_changed.store(true, Ordering::SeqCst);
    // One copy becomes the original of the others, in whichever shard; one that was stored because
    // its shard had not heard of the first page after all may have been before.
    until("a copy takes the place", &|| {
        let became: Vec<Became> = (1..HOSTS).filter_map(verdict).collect();
        became.iter().any(|it| it.verdict == "unique")
    });
    until("copies elsewhere are those of another page", &|| {
        let mut became = elsewhere.iter().filter_map(|host| verdict(*host));
        became.all(|it| it.original != first)
    });
    let now = a.sees(|now| now.shards.iter().all(|it| it.is_owned));
    assert!(now.stays && !now.is_over, "{now:#?}");
    add_seeds(&cluster.engine, roots(&web, 0..HOSTS, "/far")).expect("it answers");
    until("seeds are visited", &|| asked("/far") >= 1);
    assert_eq!(set_staying(&cluster.engine, false), Ok(true));
    let view = a.view.clone();
    a.end();
    b.end();
    assert!(view.status().expect("it has looked").is_over);

    let before = asked("/");
    set_staying(&cluster.engine, true).expect("it answers");
    let (a, b) = (cluster.start("a"), cluster.start("b"));
    until("what was over goes on", &|| asked("/") > before + 1);
    set_staying(&cluster.engine, false).expect("it answers");
    a.end();
    b.end();
}

/// Where each visit finds a link to another shard, a crawl that is to stay no longer ends all the
/// same: no shard does before all have ceased to visit pages again.
#[test]
fn a_crawl_that_is_to_stay_no_longer_ends() {
    let web = Web::start_at(NET, (0..HOSTS).map(chain).collect());
    let place = tempfile::tempdir().expect("there is a directory for temporary files");
    let mut cluster = Cluster::new(place.path(), [web.url(0, "/")]);
    cluster.options = options_of_a_daemon();
    add_seeds(&cluster.engine, roots(&web, 1..HOSTS, "/")).expect("it answers");
    for _ in 0..4 {
        set_staying(&cluster.engine, true).expect("it answers");
        let (a, b) = (cluster.start("a"), cluster.start("b"));
        let before = web.requests().len();
        assert!(web.wait_for_requests(before + 60, PATIENCE), "they go on");
        set_staying(&cluster.engine, false).expect("it answers");
        a.sees(|now| now.is_over);
        a.end();
        b.end();
    }
}

/// A host whose page has a link to a new page of the next host each time that it is asked for.
fn chain(host: usize) -> Site {
    let visits = AtomicUsize::new(0);
    let next = (host + 1) % HOSTS;
    let home = move || {
        let visit = visits.fetch_add(1, Ordering::SeqCst);
        let link = format!("<a href=\"{{host{next}}}/n/{visit}\">on</a>");
        Answer::html(format!(
            "<title>{host}</title><p>Visit {visit} of {host}. {link}"
        ))
    };
    let page = |path: &str| Answer::html(format!("<title>{path}</title><p>What {path} says."));
    Site::new()
        .page_with("/", move |_| home())
        .otherwise(move |request| page(&request.path))
}

/// A crawl that people hold makes no requests; a worker that is drained gives all away and stays;
/// workers of a crawl that is stopped end, and those that come wait.
#[test]
fn people_pause_drain_stop_and_resume() {
    let web = islands();
    let place = tempfile::tempdir().expect("there is a directory for temporary files");
    let cluster = Cluster::new(place.path(), [web.url(0, "/")]);
    let broker = cluster.broker();
    set_going(&*broker, Going::Paused).expect("it answers");
    let (a, b) = (cluster.start("a"), cluster.start("b"));
    // Each follows what the other one owns.
    a.sees(|now| {
        now.shards
            .iter()
            .all(|it| it.is_owned && !it.copies.is_empty())
    });
    assert_eq!(web.requests().len(), 0, "nobody makes visits");
    assert_eq!(drain(&broker, "nobody", true), Ok(None));
    assert_eq!(drain(&broker, "a", true), Ok(Some(true)));
    let now = a.sees(|now| now.shards.iter().all(|it| it.owner.as_deref() == Some("b")));
    assert!(now.workers.iter().any(|it| it.name == "a" && it.is_drained));
    assert_eq!(drain(&broker, "a", false), Ok(Some(true)));
    b.sees(|now| now.workers.iter().all(|it| it.owns.len() == 2));
    set_going(&*broker, Going::Stopped).expect("it answers");
    a.end();
    b.end();
    let (a, b) = (cluster.start("a"), cluster.start("b"));
    let now = a.sees(|now| now.workers.iter().all(|it| it.is_leaving));
    assert_eq!(now.going, Going::Stopped);
    assert_eq!(web.requests().len(), 0, "nobody makes visits");
    set_going(&*broker, Going::Running).expect("it answers");
    a.end();
    b.end();
    assert_eq!(web.asked(0), ["/"]);
}
