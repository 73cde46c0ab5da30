//! Takedowns in a crawl of several workers: what is named is gone from the directories of all of
//! them, also of those that were away, and what rests on it stays.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use gleaner::cluster::{Going, TakenDownSoFar, add_seeds, set_going, take_down, taken_down};
use gleaner::engine::{ForgetOrder, StoppedCrawl};
use gleaner::frontier::{MAX_RULES, Seed, Selection};
use gleaner::store::Table;
use gleaner::url::parse;

use crate::corpus;
use crate::run::PATIENCE;
use crate::web::{Answer, Site, Web};
use crate::workers::{Cluster, HASTY, SHARDS, pages};

const HOSTS: usize = 12;
/// Where these hosts are: three of them belong to each shard.
const NET: u8 = 4;
/// The host with the page that is to be forgotten, and one in another shard that has a copy.
const JO: usize = 3;

/// What only the page says that is to be forgotten, and how it is called.
const SAYS: &str = "a-word-of-jos";
const PATH: &str = "/people/jo-of-the-islands";

/// What it says as others do.
fn copied() -> String {
    corpus::text(7, 300)
}

fn web() -> Web {
    let page = |title: &str, text: &str, links: &str| {
        Answer::html(format!(
            "<title>{title}</title><main><article><p>{text}</article></main>{links}"
        ))
    };
    let site = |host: usize| {
        let own = |number: u64| corpus::text(100 * host as u64 + number, 200);
        let links = |last: &str| format!("<a href=/1>1</a><a href=/2>2</a><a href={last}>3</a>");
        let mut site = Site::new()
            .page("/1", page("one", &own(1), ""))
            .page("/2", page("two", &own(2), ""));
        if host == JO {
            site = site.page(PATH, page("copied", &copied(), &format!("<!-- {SAYS} -->")));
        } else {
            // The same text, in all shards.
            site = site.page("/late", page("copied", &copied(), ""));
        }
        let last = if host == JO { PATH } else { "/late" };
        site.page("/", page("home", &own(0), &links(last)))
    };
    Web::start_at(NET, (0..HOSTS).map(site).collect())
}

fn order(web: &Web) -> ForgetOrder {
    ForgetOrder {
        selection: Selection {
            urls: vec![web.url(JO, PATH)],
            ..Selection::default()
        },
        ..ForgetOrder::default()
    }
}

/// The directories of all shards of these workers.
fn shards(place: &Path, names: &[&str]) -> Vec<PathBuf> {
    let of = |name: &&str| fs::read_dir(place.join(name).join("shards")).expect("it had some");
    let entries = names.iter().flat_map(of);
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

/// The files of archives and logs in directories, decompressed, that have a text.
fn files_with(shards: &[PathBuf], text: &str) -> Vec<PathBuf> {
    let directories = shards
        .iter()
        .flat_map(|shard| ["warc", "texts", "log"].map(|it| shard.join(it)));
    let files = directories.filter_map(|it| fs::read_dir(it).ok()).flatten();
    let files = files.map(|entry| entry.expect("an entry").path());
    let has = |path: &PathBuf| {
        let name = path.to_string_lossy();
        let bytes = match name.ends_with(".warc.gz") || name.ends_with(".warc.gz.open") {
            true => gleaner::archive::records(path)
                .expect("an archive")
                .flat_map(|record| record.expect("a record").to_bytes())
                .collect(),
            false => fs::read(path).expect("a file"),
        };
        memchr::memmem::find(&bytes, text.as_bytes()).is_some()
    };
    files.filter(has).collect()
}

/// Waits until what has come of an order is like this, and nobody who is there has anything left to
/// do.
#[track_caller]
fn wait(
    cluster: &Cluster<'_>,
    order: (u64, bool),
    what: impl Fn(&TakenDownSoFar) -> bool,
) -> TakenDownSoFar {
    let broker = cluster.broker();
    let start = Instant::now();
    loop {
        // As long as a worker says nothing new that is not away.
        let now = taken_down(&broker, "test", order, Duration::from_secs(2));
        let now = now.expect("it answers");
        if !now.goes_on() && what(&now) {
            return now;
        }
        assert!(start.elapsed() < PATIENCE, "{now:#?}");
        thread::yield_now();
    }
}

/// The tables of shards that have rows with a text.
fn rows_with(shards: &[PathBuf], text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for shard in shards {
        let crawl = StoppedCrawl::open(shard).expect("it is stopped");
        for table in [Table::Pages, Table::Meta, Table::Groups, Table::Deltas] {
            let rows = crawl.store().range(table, &[], &[], 100_000);
            for (_, row) in rows.expect("it can be read") {
                let has = memchr::memmem::find(&row, text.as_bytes()).is_some();
                found.extend(has.then(|| format!("{} {table:?}", shard.display())));
            }
        }
    }
    found
}

#[test]
fn a_page_is_gone_from_all_workers_and_what_rests_on_it_stays() {
    let web = web();
    let place = tempfile::tempdir().expect("there is a directory for temporary files");
    let cluster = Cluster::new(place.path(), [web.url(JO, "/")]);
    let seeds = (0..HOSTS).map(|host| Seed::from(parse(&web.url(host, "/")).expect("a URL")));
    // The page first, so that copies in other shards repeat it; a worker that leaves has it.
    let a = cluster.start("a");
    a.end();
    assert!(!files_with(&shards(place.path(), &["a"]), SAYS).is_empty());
    add_seeds(&*cluster.broker(), seeds).expect("it answers");
    let (a, b) = (cluster.start("a"), cluster.start("b"));
    a.end();
    b.end();
    let before = cluster.fetched(&["a", "b"]);
    let jo = web.url(JO, PATH);
    assert_eq!(before.get(&jo), Some(&1));
    // Four pages of each host, and what it says to robots.
    assert_eq!(pages(&before).len(), HOSTS * 5);

    // One of them is away: the other one takes over what it had, and forgets it by its rows.
    let asked = order(&web);
    let at = take_down(&*cluster.broker(), &asked).expect("it answers");
    let now = wait(&cluster, (at, true), |_| true);
    assert_eq!(now.pending.unowned.len(), usize::from(SHARDS), "{now:#?}");
    let b = cluster.start_by("b", HASTY);
    let now = wait(&cluster, (at, true), |now| {
        now.pending.unowned.is_empty() && now.away == ["a"]
    });
    assert!(
        now.refused.is_empty() && now.pending.silent.is_empty(),
        "{now:#?}"
    );
    assert_eq!(now.sum.pages, 1, "{now:#?}");
    // Pages that repeated it, in its shard and in others.
    let repeated = now.sum.rehomed + now.sum.refetched;
    assert_eq!(repeated, HOSTS as u64 - 1, "{now:#?}");
    let refetched = usize::try_from(now.sum.refetched).expect("it is few");
    assert!(
        now.unknown.is_empty() && now.troubled.is_empty(),
        "{now:#?}"
    );
    b.end();
    let asked_for = |path: &str| {
        let asked = (0..HOSTS).flat_map(|host| web.asked(host));
        asked.filter(|it| it == path).count()
    };
    assert_eq!(asked_for("/late"), HOSTS - 1 + refetched);
    let of = |names: &[&str]| shards(place.path(), names);
    assert_eq!(files_with(&of(&["b"]), SAYS), Vec::<PathBuf>::new());
    assert_eq!(files_with(&of(&["b"]), &jo), Vec::<PathBuf>::new());
    assert_eq!(rows_with(&of(&["b"]), &jo), BTreeSet::new());
    assert!(
        !files_with(&of(&["a"]), SAYS).is_empty(),
        "it has not heard of it"
    );

    // It searches its files when it is back, though nothing is left to crawl.
    cluster.start("a").end();
    let now = wait(&cluster, (at, true), |_| true);
    assert!(now.away.is_empty() && now.searching.is_empty(), "{now:#?}");
    assert!(now.sum.records >= 2, "{now:#?}");
    // Its rows are another worker's to change: it has them as they were until it follows again.
    assert!(now.stale.contains_key("a") && !now.stale.contains_key("b"));
    assert_eq!(files_with(&of(&["a", "b"]), SAYS), Vec::<PathBuf>::new());
    assert_eq!(files_with(&of(&["a", "b"]), &jo), Vec::<PathBuf>::new());
    // The innocent: every other page is where it was, and what it says as the others do is kept.
    assert!(!files_with(&of(&["a", "b"]), &copied()).is_empty());
    let mut after = cluster.fetched(&["a", "b"]);
    after.retain(|url, _| !url.is_empty());
    let (before, after) = (pages(&before), pages(&after));
    let gone: Vec<_> = before.difference(&after).collect();
    assert_eq!(gone, [&jo.as_str()]);
    assert_eq!(web.asked(JO).iter().filter(|it| *it == PATH).count(), 1);

    // It may come back, and is whole then: what was ordered before is about what was there before.
    let back = ForgetOrder {
        back: true,
        ..asked
    };
    let at = take_down(&*cluster.broker(), &back).expect("it answers");
    // What no shard carries out is searched for by nobody.
    let prefixes = (0..=MAX_RULES).map(|number| format!("{jo}/{number}"));
    let many = ForgetOrder {
        selection: Selection {
            hosts: vec!["127.0.4.1".parse().expect("a host")],
            prefixes: prefixes.collect(),
            ..Selection::default()
        },
        ..ForgetOrder::default()
    };
    let refused = take_down(&*cluster.broker(), &many).expect("it answers");
    set_going(&*cluster.broker(), Going::Running).expect("it answers");
    let (a, b) = (cluster.start("a"), cluster.start("b"));
    a.end();
    b.end();
    let now = wait(&cluster, (at, false), |_| true);
    assert_eq!((now.sum.back, now.refused.len()), (1, 0), "{now:#?}");
    assert_eq!(web.asked(JO).iter().filter(|it| *it == PATH).count(), 2);
    let now = wait(&cluster, (refused, true), |_| true);
    let by = now.refused.values().next().expect("a reason");
    assert_eq!(by.len(), usize::from(SHARDS), "{now:#?}");
    assert_eq!(now.sum.records, 0, "{now:#?}");
    assert!(now.searching.is_empty() && now.away.is_empty(), "{now:#?}");
    let back = files_with(&of(&["a", "b"]), SAYS);
    assert!(!back.is_empty());
    cluster.start("a").end();
    cluster.start("b").end();
    assert_eq!(files_with(&of(&["a", "b"]), SAYS), back);
}
