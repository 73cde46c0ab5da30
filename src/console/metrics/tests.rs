//! Tests of the metrics: names, types and labels, as docs/operations.md lists them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::*;
use crate::engine::testing::{World, html};

/// What a scrape says: the type of each metric, and its samples as (name, labels, value).
#[derive(Debug, Default)]
struct Scrape {
    kinds: BTreeMap<String, String>,
    samples: Vec<(String, String, f64)>,
}

/// Reads the text format of Prometheus (version 0.0.4), and fails on what is not in it.
fn parse(text: &str) -> Scrape {
    let mut scrape = Scrape::default();
    let mut metric = String::new();
    assert!(text.ends_with('\n'));
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').expect("a name and a text");
            assert!(help.ends_with('.') && !help.ends_with(".."), "{line}");
            metric = name.to_owned();
            continue;
        }
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a name and a type");
            assert_eq!(name, metric, "each metric has a help");
            let before = scrape.kinds.insert(name.to_owned(), kind.to_owned());
            assert_eq!(before, None, "{name} is there twice");
            continue;
        }
        let (name, value) = line.rsplit_once(' ').expect("a sample");
        let (name, labels) = match name.split_once('{') {
            Some((name, labels)) => (name, labels.strip_suffix('}').expect("labels")),
            None => (name, ""),
        };
        let suffixes: &[&str] = match scrape.kinds[&metric].as_str() {
            "counter" | "gauge" => &[""],
            "histogram" => &["_bucket", "_sum", "_count"],
            other => panic!("{metric} is of type {other}"),
        };
        let is_named = |suffix: &&str| name == format!("{metric}{suffix}");
        assert!(suffixes.iter().any(is_named), "{line}");
        let value = value.parse().expect("a number");
        scrape
            .samples
            .push((name.to_owned(), labels.to_owned(), value));
    }
    let names: BTreeSet<_> = scrape
        .samples
        .iter()
        .map(|(name, labels, _)| (name, labels))
        .collect();
    assert_eq!(names.len(), scrape.samples.len(), "a sample is there twice");
    scrape
}

impl Scrape {
    #[track_caller]
    fn value(&self, name: &str, labels: &str) -> f64 {
        let mut found = self
            .samples
            .iter()
            .filter(|it| it.0 == name && it.1 == labels);
        found
            .next()
            .unwrap_or_else(|| panic!("no {name}{{{labels}}}"))
            .2
    }
}

/// A crawl with some pages, and its metrics.
fn crawled(hosts: usize) -> (World, Scrape) {
    let mut world = World::new();
    let words: Vec<_> = (0..80).map(|word| format!("word{}", word * word)).collect();
    for host in 0..hosts {
        let url = format!("http://h{host}.example/");
        world.visit(&url, &html("<title>The same</title>", &words));
    }
    let metrics = Metrics::new(world.watch(), world.place.path());
    let scrape = parse(&metrics.text());
    (world, scrape)
}

/// The metrics that docs/operations.md lists, with their types.
fn documented() -> BTreeMap<String, String> {
    let docs = include_str!("../../../docs/operations.md");
    docs.lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix("| `")?.split(" | ");
            let name = cells.next()?.trim_end_matches('`');
            let name = name.split('{').next()?;
            let is_metric = name.starts_with("gleaner_") || name.starts_with("process_");
            is_metric.then(|| (name.to_owned(), cells.next().unwrap_or_default().to_owned()))
        })
        .collect()
}

#[test]
fn a_worker_has_metrics_of_its_shards_and_copies() {
    let now = crate::cluster::ClusterStatus::example();
    let text = text_of_worker("a", Arc::new(now), false);
    let scrape = parse(std::str::from_utf8(&text).expect("it is text"));
    let is = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-9, "{value}");
    let own = "shard=\"00\",worker=\"a\"";
    is(scrape.value("gleaner_cluster_pages_total", own), 100.0);
    is(scrape.value("gleaner_cluster_links_waiting", own), 1.0);
    let copy = "shard=\"01\",worker=\"a\"";
    is(scrape.value("gleaner_cluster_copy_lag", copy), 0.0);
    is(scrape.value("gleaner_cluster_workers", ""), 2.0);
    // What others own, they tell.
    let mut labels = scrape.samples.iter().map(|(_, labels, _)| labels);
    assert!(!labels.any(|it| it.contains("worker=\"b\"")));
    let documented: BTreeMap<String, String> = documented()
        .into_iter()
        .filter(|(name, _)| name.starts_with("gleaner_cluster_"))
        .collect();
    let mut kinds = scrape.kinds.clone();
    kinds.retain(|name, _| name.starts_with("gleaner_cluster_"));
    assert_eq!(kinds, documented);
}

#[test]
fn metrics_have_the_names_and_types_that_are_documented() {
    let (_world, scrape) = crawled(3);
    let documented = documented();
    let scraped = &scrape.kinds;
    let counters = scraped.iter().filter(|(_, kind)| *kind == "counter");
    assert!(counters.clone().count() > 10);
    assert!(counters.clone().all(|(name, _)| name.ends_with("_total")));
    // Those of files that leave are there only where files leave, and those of workers there.
    let missing: Vec<_> = documented
        .iter()
        .filter(|it| scraped.get(it.0) != Some(it.1))
        .collect();
    assert!(
        missing
            .iter()
            .all(|it| it.0.starts_with("gleaner_handover_")
                || it.0.starts_with("gleaner_cluster_")),
        "{missing:?}"
    );
    let unsaid: Vec<_> = scraped
        .keys()
        .filter(|name| !documented.contains_key(*name))
        .collect();
    assert!(unsaid.is_empty(), "docs/operations.md lacks {unsaid:?}");
}

#[test]
fn metrics_say_what_the_crawl_did() {
    let is = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-9, "{value}");
    let (_world, scrape) = crawled(3);
    is(
        scrape.value("gleaner_pages_total", "verdict=\"unique\""),
        1.0,
    );
    is(scrape.value("gleaner_pages_total", "verdict=\"raw\""), 2.0);
    is(scrape.value("gleaner_statuses_total", "class=\"2xx\""), 3.0);
    assert!(scrape.value("gleaner_saved_bytes_total", "tier=\"raw\"") > 50.0);
    is(scrape.value("gleaner_limit", "reason=\"starting\""), 1.0);
    is(scrape.value("gleaner_limit", "reason=\"politeness\""), 0.0);
    assert!(scrape.value("gleaner_commits_total", "") >= 3.0);
    let count = scrape.value("gleaner_commit_seconds_count", "");
    is(
        scrape.value("gleaner_commit_seconds_bucket", "le=\"+Inf\""),
        count,
    );
    assert!(count >= 3.0);
    assert!(scrape.value("process_resident_memory_bytes", "") > 1e6);
    assert!(scrape.value("process_start_time_seconds", "") > 1.5e9);
}

#[test]
fn no_label_grows_with_the_crawl() {
    let (_one, small) = crawled(1);
    let (_many, large) = crawled(40);
    let series = |scrape: &Scrape| -> BTreeSet<(String, String)> {
        let samples = scrape.samples.iter();
        samples
            .map(|(name, labels, _)| (name.clone(), labels.clone()))
            .collect()
    };
    // Forty hosts have the series that two have: those of one, and those of duplicates.
    let (_two, two) = crawled(2);
    assert_eq!(series(&large), series(&two));
    assert!(series(&small).is_subset(&series(&two)));
    assert!(
        !series(&large)
            .iter()
            .any(|(_, labels)| labels.contains("example"))
    );
}

#[test]
fn dashboard_and_alerts_ask_for_metrics_that_there_are() {
    let (_world, scrape) = crawled(2);
    let known = |name: &str| {
        let of = |suffix: &str| name.strip_suffix(suffix).unwrap_or(name).to_owned();
        let kind = |name: &str| scrape.kinds.get(name).map(String::as_str);
        kind(name) == Some("gauge")
            || kind(&of("_bucket")) == Some("histogram")
            || kind(name) == Some("counter")
            || name.starts_with("gleaner_handover_")
    };
    for text in [
        include_str!("../../../config/monitoring/alerts.yml"),
        include_str!("../../../config/monitoring/grafana.json"),
    ] {
        let words = text.split(|it: char| !it.is_ascii_alphanumeric() && it != '_');
        let names = words.filter(|it| it.starts_with("gleaner_") || it.starts_with("process_"));
        let names: BTreeSet<_> = names.collect();
        assert!(names.len() >= 8);
        let unknown: Vec<_> = names.iter().filter(|name| !known(name)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}

/// The labels of each metric, by `docs/operations.md`.
fn labels() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let docs = include_str!("../../../docs/operations.md");
    let cells = docs.lines().filter_map(|line| {
        let name = line.strip_prefix("| `")?.split('`').next()?;
        let (name, labels) = name.split_once('{').unwrap_or((name, ""));
        Some((name, labels.trim_end_matches('}')))
    });
    let labels = cells.map(|(name, labels)| {
        let labels = labels.split(',').filter(|it| !it.is_empty());
        (name, labels.map(str::trim).collect())
    });
    labels.collect()
}

#[test]
fn every_query_of_the_dashboard_names_a_metric_and_labels_that_it_has() {
    let dashboard: serde_json::Value =
        serde_json::from_str(include_str!("../../../config/monitoring/grafana.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    assert!(panels.len() > 10);
    let known = labels();
    let is_word = |it: char| it.is_ascii_alphanumeric() || it == '_';
    for panel in panels {
        let targets = panel["targets"].as_array().unwrap();
        assert!(!targets.is_empty(), "{panel}");
        for target in targets {
            let query = target["expr"].as_str().unwrap();
            let words = query.split(|it| !is_word(it));
            let names = words.filter(|it| it.starts_with("gleaner_") || it.starts_with("process_"));
            // What a scrape adds, and what a bucket of a histogram has.
            let mut labels = BTreeSet::from(["instance", "job"]);
            let mut count = 0;
            for name in names {
                let of = name.strip_suffix("_bucket").unwrap_or(name);
                let its = known.get(of).unwrap_or_else(|| panic!("{query}: {name}"));
                labels.extend(its);
                labels.extend((of != name).then_some("le"));
                count += 1;
            }
            assert!(count > 0, "{query}");
            let selected = query
                .split('{')
                .skip(1)
                .filter_map(|it| it.split('}').next());
            let selected = selected.flat_map(|it| it.split(','));
            let selected = selected.filter_map(|it| it.split(['=', '!']).next());
            let grouped = query
                .split("by (")
                .skip(1)
                .filter_map(|it| it.split(')').next());
            let grouped = grouped.flat_map(|it| it.split(','));
            for label in selected.chain(grouped).map(str::trim) {
                assert!(labels.contains(label), "{query}: {label}");
            }
        }
    }
}
