//! `gleaner dups`, `report` and `similar`: the duplicates of a crawl, beside it and after it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::crawl::simhash;
use crate::run::{Output, PATIENCE, Place, anchors, gleaner, run};
use crate::web::{self, Answer, ClusterOptions, Site, Web, cluster_web};

/// A command about the crawl of a place.
#[track_caller]
fn ask(crawl: &Place, arguments: &[&str]) -> Output {
    let mut command = gleaner(arguments);
    command.arg("--data-dir").arg(crawl.data());
    run(command)
}

/// What it prints, a JSON object a line.
#[track_caller]
fn lines(crawl: &Place, arguments: &[&str]) -> Vec<Value> {
    let output = ask(crawl, arguments).expect(0);
    assert_eq!(output.stderr, "");
    let lines = output.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("each line is an object"))
        .collect()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key]
        .as_str()
        .unwrap_or_else(|| panic!("no text {key} in {value}"))
}

fn members(cluster: &Value) -> &[Value] {
    cluster["members"].as_array().expect("a list")
}

#[test]
fn every_cluster_is_told_with_its_members() {
    let options = ClusterOptions {
        hosts: 4,
        pages_per_host: 16,
        seed: 77,
    };
    let (sites, expected) = cluster_web(options, &simhash);
    let web = Web::start(sites);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/"), "--scope", "any", "--allow-private"]);
    let log = crawl.pages();
    let clusters = lines(&crawl, &["dups"]);
    let wanted = expected.clusters.iter().filter(|it| it.len() > 1).count();
    assert_eq!(clusters.len(), wanted);
    let mut tiers: BTreeMap<String, u64> = BTreeMap::new();
    let mut saved = 0;
    let mut told = BTreeSet::new();
    for cluster in &clusters {
        assert_eq!(cluster["stands"], true);
        for member in members(cluster) {
            let line = &log[text(member, "url")];
            assert_eq!(line.verdict, text(member, "tier"));
            assert_eq!(line.original.as_deref(), Some(text(cluster, "original")));
            assert_eq!(member["saved"], line.size);
            let page = line.page.as_ref().expect("it was answered");
            assert_eq!(member["distance"].as_u64(), page.distance.map(u64::from));
            let similarity = page.similarity.expect("a duplicate has one");
            assert_eq!(member["similarity"], similarity.share());
            let is_near = text(member, "tier") == "near";
            assert_eq!(similarity.share() < 1.0, is_near, "{member}");
            *tiers.entry(text(member, "tier").to_owned()).or_default() += 1;
            saved += line.size;
            assert!(
                told.insert(text(member, "url").to_owned()),
                "{member} twice"
            );
        }
    }
    let copies = |kind| {
        let clusters = expected.clusters.iter().zip(&expected.kinds);
        let copies = clusters.filter(|(_, found)| **found == kind);
        copies.map(|(cluster, _)| cluster.len() as u64 - 1).sum()
    };
    let expected_tiers: BTreeMap<String, u64> = [
        ("raw", copies(web::Kind::Copy)),
        ("normalized", copies(web::Kind::Markup)),
        ("content", copies(web::Kind::Frame)),
        ("near", copies(web::Kind::Near)),
    ]
    .map(|(tier, count)| (tier.to_owned(), count))
    .into();
    assert_eq!(tiers, expected_tiers);

    let csv = ask(&crawl, &["dups", "--format", "csv"]).expect(0);
    let rows: Vec<Vec<&str>> = csv
        .stdout
        .lines()
        .map(|row| row.split(',').collect())
        .collect();
    assert_eq!(
        rows[0][..5],
        ["cluster", "original", "stands", "canonical", "url"]
    );
    let urls: BTreeSet<_> = rows[1..].iter().map(|row| row[4].to_owned()).collect();
    assert_eq!(urls, told);

    let report = &lines(&crawl, &["report", "--json"])[0];
    assert_eq!(report["duplicates"], told.len());
    assert_eq!(report["saved"], saved);
    assert_eq!(report["clusters"], wanted);
    let verdicts = crawl.status().counters.verdicts;
    assert_eq!(report["judged"], verdicts["unique"] + told.len() as u64);
    for tier in report["tiers"].as_array().expect("a list") {
        assert_eq!(tier["pages"], tiers[text(tier, "tier")]);
    }
    let distances = report["distances"].as_object().expect("by bits");
    let near: u64 = distances.values().filter_map(Value::as_u64).sum();
    assert_eq!(near, tiers["near"]);
    let hosts = report["hosts"].as_array().expect("a list");
    let rates: Vec<_> = hosts.iter().map(|it| it["rate"].as_f64()).collect();
    assert!(rates.is_sorted_by(|a, b| a >= b), "{rates:?}");
    let words = ask(&crawl, &["report", "--top", "1"]).expect(0).stdout;
    for part in ["By tier", "Near duplicates by distance", "Largest clusters"] {
        assert!(words.contains(part), "{words}");
    }
}

const ARTICLE: &str = "The commons belonged to those who gleaned them after the harvest was in. ";

/// A page around an article.
fn page(head: &str, article: &str) -> Answer {
    Answer::html(format!(
        "<!doctype html><head>{head}</head><main><article><p>{article}</p></article></main>"
    ))
}

#[test]
fn a_crawl_that_runs_answers_too() {
    let article = ARTICLE.repeat(9);
    // What leads to the copy, so that it cannot be judged before the original.
    let article = format!("{article} <a href='/copy'>copy</a>");
    let other: Vec<_> = (0..300)
        .map(|at| format!("word{}", at * at % 911))
        .collect();
    let other = other.join(" ");
    let site = Site::new()
        .robots("")
        .page(
            "/",
            Answer::html(anchors([
                "/the/original/of/all",
                "/print",
                "/else",
                "/endless/0",
            ])),
        )
        .page("/the/original/of/all", page("<title>a</title>", &article))
        .page("/copy", page("<title>a</title>", &article))
        .page(
            "/print",
            page(
                "<title>a</title><link rel=canonical href='/copy'>",
                &article,
            ),
        )
        .page("/else", page("<title>b</title>", &other))
        .otherwise(|request| {
            let number: u64 = request
                .path
                .rsplit('/')
                .next()
                .and_then(|it| it.parse().ok())
                .unwrap_or(0);
            Answer::html(anchors([format!("/endless/{}", number + 1)]))
        });
    let web = Web::start(vec![site]);
    let crawl = Place::new();
    let original = web.url(0, "/the/original/of/all");
    let copy = web.url(0, "/copy");
    let file = crawl.file(
        "page.html",
        &format!("<title>a</title><p>{article} and more"),
    );
    let check = || {
        let clusters = lines(&crawl, &["dups"]);
        assert_eq!(clusters.len(), 1, "{clusters:?}");
        assert_eq!(text(&clusters[0], "original"), original);
        assert_eq!(text(&clusters[0], "canonical"), copy);
        assert_eq!(members(&clusters[0]).len(), 2);
        let report = &lines(&crawl, &["report", "--json"])[0];
        assert_eq!(report["duplicates"], 2);
        assert_eq!(text(&report["largest"][0], "canonical"), copy);
        let similar = &lines(&crawl, &["similar", &copy, "--json"])[0];
        assert_eq!(text(&similar["by"], "url"), original);
        assert_eq!(text(&similar["pages"][0], "url"), original);
        assert_eq!(similar["pages"][0]["tier"], "raw");
        let similar = &lines(&crawl, &["similar", &file, "--json", "--limit", "1"])[0];
        assert_eq!(text(&similar["pages"][0], "url"), original);
        assert!(
            similar["pages"][0]["similarity"].as_f64() > Some(0.9),
            "{similar}"
        );
        let why = &lines(&crawl, &["why", &copy, "--json"])[0];
        assert_eq!(text(&why["visit"], "cluster_canonical"), copy);
        assert_eq!(why["visit"]["similarity"], 1.0);
        ask(&crawl, &["similar", &web.url(0, "/nobody/knows")])
            .expect(5)
            .says(&["neither stored nor a duplicate"]);
    };
    let running = crawl.start(&[&web.url(0, "/")]);
    // robots.txt, the page of links, four pages and some of the endless ones.
    assert!(web.wait_for_requests(12, PATIENCE));
    ask(&crawl, &["pause"]).expect(0);
    check();
    ask(&crawl, &["stop"]).expect(0);
    running.end().expect(0);
    check();
    ask(&crawl, &["similar", "no/such/file"])
        .expect(2)
        .says(&["no/such/file"]);
    let words = ask(&crawl, &["similar", &file]).expect(0).stdout;
    assert!(
        words.contains("similarity") && words.contains(&original),
        "{words}"
    );
}
