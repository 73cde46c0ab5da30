//! Workers that share a crawl find the duplicates that one machine finds, wherever the original is;
//! and what they find names its original in every directory, without the others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use gleaner::broker::{Broker as _, Memory};
use gleaner::dedup::{Tier, shard_of};
use gleaner::engine::{PageRecord, StoppedCrawl};
use gleaner::frontier::Shards;
use gleaner::rows::cluster::Head;
use gleaner::rows::{PAGES, Raced};
use gleaner::store::{Store, Table, for_each};
use gleaner::url::{HostKey, UrlId, parse};

use crate::audit::simhash;
use crate::run::{gleaner, log, run};
use crate::web::{ClusterOptions, Kind, Web, cluster_web};
use crate::workers::{Cluster, SHARDS, alone};

const HOSTS: usize = 12;
/// Where these hosts are: three of them belong to each shard.
const NET: u8 = 4;

/// What a crawl found of its pages. Which of the forms of a URL is seen first is a matter of order,
/// and they differ in their queries.
#[derive(Debug, Default)]
struct Found {
    /// Pages of their own.
    unique: BTreeSet<String>,
    /// Duplicates: tier and original.
    duplicates: BTreeMap<String, (Tier, String)>,
    /// Pages of their own that another shard had stored too, and that one.
    raced: BTreeMap<String, String>,
    /// Duplicates of originals of another shard, as they were requested.
    across: BTreeSet<String>,
}

fn bare(url: &str) -> String {
    url.split('?').next().unwrap_or_default().to_owned()
}

impl Found {
    fn add(&mut self, data: &Path) {
        let crawl = StoppedCrawl::open(data).expect("nobody runs it");
        let store = crawl.store();
        for_each(store, Table::Pages, &[], &mut |key, row| {
            let page = PAGES.decode(row)?;
            let id = UrlId::from_bytes(key.try_into().expect("keys are ids"));
            self.add_page(store, id, &page);
            Ok(())
        })
        .expect("the store is whole");
    }

    fn add_page(&mut self, store: &dyn Store, id: UrlId, page: &PageRecord) {
        if let Some(duplicate) = page.duplicate() {
            let head = Head::read(store, duplicate.of, duplicate.page).expect("it can be read");
            let head = head.expect("the original is named");
            assert!(
                head.document().is_some(),
                "{} repeats what is gone",
                page.url
            );
            if shard_of(duplicate.of).is_some() {
                self.across.insert(page.url.clone());
            }
            let found = (duplicate.tier, bare(&head.page.url));
            self.duplicates.insert(bare(&page.url), found);
        } else if page.original().is_some() {
            self.unique.insert(bare(&page.url));
            let raced = Raced::of(store, id, page).expect("it can be read");
            if let Some(raced) = raced {
                self.raced.insert(bare(&page.url), bare(&raced.original));
            }
        }
    }

    /// Pages that are the same, by what they were found to repeat.
    fn clusters(&self) -> BTreeSet<BTreeSet<String>> {
        let mut clusters: Vec<BTreeSet<String>> = Vec::new();
        let found = self.duplicates.iter();
        let found = found.map(|(page, (_, original))| (page, original));
        for (one, other) in found.chain(&self.raced) {
            let mut joined = BTreeSet::from([one.clone(), other.clone()]);
            clusters.retain(|cluster| {
                let is_apart = cluster.is_disjoint(&joined);
                if !is_apart {
                    joined.extend(cluster.iter().cloned());
                }
                is_apart
            });
            clusters.push(joined);
        }
        clusters.into_iter().collect()
    }
}

/// The clusters of exact copies, and the others: which pages of those are exact copies of one
/// another, and which are near, is a matter of order.
fn parted(
    clusters: BTreeSet<BTreeSet<String>>,
    near: &BTreeSet<String>,
) -> (BTreeSet<BTreeSet<String>>, BTreeSet<BTreeSet<String>>) {
    clusters.into_iter().partition(|it| it.is_disjoint(near))
}

/// The directory of each shard in which its owner wrote.
fn owned(place: &Path, workers: &[&str]) -> Vec<PathBuf> {
    let owned = (0..SHARDS).map(|shard| {
        let directories = workers.iter().map(|name| {
            let name = place.join(name).join("shards");
            name.join(format!("{shard:02}"))
        });
        let written = directories.filter(|it| it.exists());
        let last = written.max_by_key(|it| log(it).len());
        last.expect("somebody owned it")
    });
    owned.collect()
}

#[test]
fn duplicates_of_other_shards_are_found_as_by_one_machine() {
    let cluster = ClusterOptions {
        hosts: HOSTS,
        pages_per_host: 25,
        seed: 23,
    };
    let (sites, made) = cluster_web(cluster, &simhash);
    let web = Web::start_at(NET, sites);
    let of_kind = made.clusters.iter().zip(&made.kinds);
    let near = of_kind.filter(|(_, kind)| **kind == Kind::Near);
    let near = near.flat_map(|(cluster, _)| cluster);
    let near: BTreeSet<String> = near.map(|(host, path)| web.url(*host, path)).collect();
    let place = tempfile::tempdir().expect("there is a directory for temporary files");
    let directory = place.path().join("alone");
    alone(&directory, &web);
    let mut expected = Found::default();
    expected.add(&directory);

    let cluster = Cluster::new(place.path(), [web.url(0, "/")]);
    let names = ["a", "b"];
    let workers = names.map(|name| cluster.start(name));
    for worker in workers {
        worker.end();
    }
    check_cost(&cluster.engine, expected.unique.len());
    let shards = owned(place.path(), &names);
    let mut found = Found::default();
    for shard in &shards {
        found.add(shard);
    }
    // Most originals are in another shard.
    assert!(found.across.len() > 40, "{}", found.across.len());
    let (exact, of_near) = parted(found.clusters(), &near);
    let (expected_exact, expected_near) = parted(expected.clusters(), &near);
    assert!(expected_exact.len() > 10, "{}", expected_exact.len());
    assert_eq!(exact, expected_exact);
    let pages = expected.unique.len() + expected.duplicates.len();
    assert_eq!(found.unique.len() + found.duplicates.len(), pages);
    // Both sides of a race are stored, and one of them says so.
    for (later, earlier) in &found.raced {
        assert!(found.unique.contains(later) && !found.raced.contains_key(earlier));
    }
    let differ: Vec<_> = of_near.symmetric_difference(&expected_near).collect();
    let pages_that_differ: usize = differ.iter().map(|cluster| cluster.len()).sum();
    assert!(
        pages_that_differ * 100 <= pages,
        "{differ:?}, raced: {:?}",
        found.raced
    );
    // Nobody lost a page that is alone.
    for page in &expected.unique {
        let in_cluster = expected.duplicates.values().any(|(_, of)| of == page);
        assert!(in_cluster || found.unique.contains(page), "{page}");
    }
    check_commands(&shards, &found);
}

/// What all shards tell is some kilobytes for each page of its own.
fn check_cost(engine: &Memory, pages: usize) {
    let (mut at, mut bytes) = (0, 0);
    while let Ok(Some((next, message))) = engine.message_after("docs", at) {
        (at, bytes) = (next, bytes + message.len());
    }
    assert!(bytes / pages < 4_000, "{bytes} for {pages}");
}

/// What commands tell of each shard's directory by itself.
fn check_commands(shards: &[PathBuf], found: &Found) {
    let (mut members, mut raced) = (0, 0);
    for shard in shards {
        let shard = shard.to_str().expect("a path in Unicode");
        let lines = run(gleaner(&["dups", "--data-dir", shard])).expect(0);
        for cluster in lines.json_lines() {
            for member in cluster["members"].as_array().expect("a list") {
                members += 1;
                let url = member["url"].as_str().expect("a URL");
                let original = cluster["original"].as_str().expect("a URL");
                assert_eq!(found.duplicates[&bare(url)].1, bare(original));
            }
        }
        let report = run(gleaner(&["report", "--data-dir", shard, "--json"])).expect(0);
        raced += report.json()["raced"].as_u64().unwrap_or_default();
    }
    assert_eq!(members, found.duplicates.len());
    assert_eq!(raced, found.raced.len() as u64);
    let of = Shards::new(0, SHARDS).expect("there is such a shard");
    for url in found.across.iter().take(2) {
        let shard = of.of(&HostKey::of(&parse(url).expect("a URL")));
        let shard = shards[usize::from(shard)].to_str().expect("Unicode");
        let why = run(gleaner(&["why", url, "--data-dir", shard, "--json"])).expect(0);
        let visit = &why.json()["visit"];
        let original = visit["original"].as_str().expect("a URL");
        let elsewhere = &visit["original_elsewhere"];
        let expected = of.of(&HostKey::of(&parse(original).expect("a URL")));
        assert_eq!(elsewhere["shard"], expected);
        let record = elsewhere["record"].as_str().expect("an id");
        assert!(record.starts_with("<urn:uuid:"), "{record}");
    }
    // The lines of the log name originals of other shards too.
    let lines = shards.iter().flat_map(|shard| log(shard));
    for line in lines.filter(|line| line.verdict.name() == "raw") {
        assert!(line.original.is_some(), "{}", line.url);
    }
}
