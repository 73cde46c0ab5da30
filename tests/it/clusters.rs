//! `gleaner dups`, `report` and `similar`: the duplicates of a crawl, beside it and after it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::corpus::{self, words};
use crate::crawl::Crawled;
use crate::run::{PATIENCE, Place, SEED, anchors, run, text};
use crate::web::{self, Answer, Expected, Site, Web};

/// What a command about a crawl prints, a JSON object a line.
#[track_caller]
fn lines(crawl: &Place, arguments: &[&str]) -> Vec<Value> {
    let output = crawl.ask(arguments).expect(0);
    assert_eq!(output.stderr, "");
    output.json_lines()
}

fn members(cluster: &Value) -> &[Value] {
    cluster["members"].as_array().expect("a list")
}

/// A crawl of a web of all kinds of duplicates, and its clusters.
fn crawled() -> (Crawled, Vec<Value>) {
    let crawled = Crawled::new(4, 16, 77, "");
    let clusters = lines(&crawled.crawl, &["dups"]);
    (crawled, clusters)
}

/// Pages by the tier of their verdict, as the web was made.
fn tiers(expected: &Expected) -> BTreeMap<String, usize> {
    let kinds = [
        ("raw", web::Kind::Copy),
        ("normalized", web::Kind::Markup),
        ("content", web::Kind::Frame),
        ("near", web::Kind::Near),
    ];
    kinds
        .map(|(tier, kind)| (tier.to_owned(), expected.copies(kind)))
        .into()
}

#[test]
fn every_cluster_is_told_with_its_members() {
    let (
        Crawled {
            crawl, expected, ..
        },
        clusters,
    ) = crawled();
    let log = crawl.pages();
    let wanted = expected.clusters.iter().filter(|it| it.len() > 1).count();
    assert_eq!(clusters.len(), wanted);
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
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
            let similarity = page.similarity.expect("a duplicate has one").share();
            assert_eq!(member["similarity"], similarity);
            assert_eq!(similarity < 1.0, line.verdict == "near", "{member}");
            *found.entry(line.verdict.name().to_owned()).or_default() += 1;
            assert!(told.insert(text(member, "url")), "{member} twice");
        }
    }
    assert_eq!(found, tiers(&expected));
}

#[test]
fn clusters_are_chosen_by_number_size_and_tier() {
    let (Crawled { crawl, .. }, clusters) = crawled();
    let least = clusters.iter().map(|it| members(it).len()).max();
    let least = least.expect("there are clusters");
    let is_large = |it: &&Value| members(it).len() >= least;
    let is_near = |it: &&Value| members(it).iter().any(|it| it["tier"] == "near");
    let large: Vec<&Value> = clusters.iter().filter(is_large).collect();
    let near: Vec<&Value> = clusters.iter().filter(is_near).collect();
    assert!(large.len() < clusters.len() && near.len() < clusters.len());
    let chosen = |arguments: &[&str]| lines(&crawl, &[&["dups"], arguments].concat());
    let refs = |lines: &[Value]| lines.iter().map(Value::to_string).collect::<Vec<_>>();
    let wanted = |lines: &[&Value]| lines.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        refs(&chosen(&["--min", &least.to_string()])),
        wanted(&large)
    );
    assert_eq!(refs(&chosen(&["--tier", "near"])), wanted(&near));
    assert_eq!(refs(&chosen(&["--min", "0"])), refs(&clusters));
    for cluster in [&clusters[0], &clusters[1], &clusters[clusters.len() - 1]] {
        let number = cluster["cluster"].to_string();
        assert_eq!(refs(&chosen(&["--cluster", &number])), wanted(&[cluster]));
    }
    let none = crawl.ask(&["dups", "--cluster", "9999999"]).expect(2);
    none.says(&["there is no cluster 9999999"]);
    crawl
        .ask(&["dups", "--min", "2", "--sample", "1"])
        .expect(2);
}

#[test]
fn clusters_as_a_table_have_the_same_members() {
    let (Crawled { crawl, .. }, clusters) = crawled();
    let table = crawl.ask(&["dups", "--format", "csv"]).expect(0).stdout;
    let mut rows = table.lines();
    let head = rows.next().expect("a head");
    assert!(
        head.starts_with("cluster,original,stands,canonical,url,"),
        "{head}"
    );
    let urls = rows.filter_map(|row| row.split(',').nth(4));
    let told = clusters.iter().flat_map(members);
    let told: BTreeSet<_> = told.map(|member| text(member, "url")).collect();
    assert_eq!(urls.collect::<BTreeSet<_>>(), told);
}

#[test]
fn the_report_sums_the_clusters_up() {
    let (
        Crawled {
            crawl, expected, ..
        },
        clusters,
    ) = crawled();
    let tiers = tiers(&expected);
    let duplicates: usize = tiers.values().sum();
    let saved = clusters.iter().flat_map(members);
    let saved: u64 = saved.filter_map(|member| member["saved"].as_u64()).sum();
    let report = &lines(&crawl, &["report", "--json"])[0];
    assert_eq!(report["duplicates"], duplicates);
    assert_eq!(report["saved"], saved);
    assert_eq!(report["clusters"], clusters.len());
    assert_eq!(report["judged"], expected.allowed_paths.len());
    for tier in report["tiers"].as_array().expect("a list") {
        assert_eq!(tier["pages"], tiers[text(tier, "tier")]);
    }
    let distances = report["distances"].as_object().expect("by bits");
    let near: u64 = distances.values().filter_map(Value::as_u64).sum();
    assert_eq!(near, tiers["near"] as u64);
    let hosts = report["hosts"].as_array().expect("a list");
    let rates: Vec<_> = hosts.iter().map(|it| it["rate"].as_f64()).collect();
    assert!(rates.is_sorted_by(|a, b| a >= b), "{rates:?}");
    let words = crawl.ask(&["report", "--top", "1"]).expect(0).stdout;
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
    // What leads to the copies, so that they are not judged before the original.
    let article = format!("{article} <a href='/copy'>copy</a><a href='/print'></a>");
    let other = words(1, 300).join(" ");
    let home = anchors(["/the/original/of/all", "/else", "/way", "/endless/0"]);
    let print = "<title>a</title><link rel=canonical href='/copy'>";
    let site = Site::new()
        .robots("")
        .page("/", Answer::html(home))
        .page("/the/original/of/all", page("<title>a</title>", &article))
        .page("/copy", page("<title>a</title>", &article))
        .page("/print", page(print, &article))
        .page("/else", page("<title>b</title>", &other))
        .page("/way", Answer::html("<p>leads nowhere"))
        .otherwise(|request| {
            let number = request.path.strip_prefix("/endless/");
            let number: u64 = number.and_then(|it| it.parse().ok()).unwrap_or(0);
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
        crawl
            .ask(&["similar", &web.url(0, "/nobody/knows")])
            .expect(5)
            .says(&["neither stored nor a duplicate"]);
    };
    let running = crawl.start(&[&web.url(0, "/")]);
    // robots.txt, the page of links, five pages and some of the endless ones.
    assert!(web.wait_for_requests(12, PATIENCE));
    crawl.ask(&["pause"]).expect(0);
    check();
    crawl.ask(&["stop"]).expect(0);
    running.end().expect(0);
    check();
    crawl
        .ask(&["similar", "no/such/file"])
        .expect(2)
        .says(&["no/such/file"]);
    let words = crawl.ask(&["similar", &file]).expect(0).stdout;
    assert!(
        words.contains("similarity") && words.contains(&original),
        "{words}"
    );
}

/// What pages are compared by is drawn for each crawl; what others are told is the same for all.
#[test]
fn a_crawl_keeps_its_seed_to_itself() {
    let site = Site::new().robots("").otherwise(|request| {
        let number = request.path.bytes().map(u64::from).sum();
        let text = corpus::text(number, 300);
        let links = match request.path.as_str() {
            "/" => anchors(["/a", "/b"]),
            _ => String::new(),
        };
        Answer::html(format!("<title>{number}</title><p>{text}</p>{links}"))
    });
    let web = Web::start(vec![site]);
    let url = web.url(0, "/a");
    let text = corpus::text("/a".bytes().map(u64::from).sum(), 300);
    let mut told = Vec::new();
    for seed in [None, None, Some("7")] {
        let crawl = Place::new();
        let prepare = |mut command: std::process::Command| {
            command.env_remove(SEED);
            if let Some(seed) = seed {
                command.env(SEED, seed);
            }
            command
        };
        run(prepare(crawl.command(&[
            &web.url(0, "/"),
            "--max-pages",
            "2",
        ])))
        .expect(0);
        // It keeps its own.
        let output = run(prepare(crawl.command(&[&web.url(0, "/")]))).expect(0);
        assert!(!output.stderr.contains("recomputed"), "{output:?}");
        assert_eq!(crawl.status().counters.verdicts.get("unique"), Some(&3));
        let pages = crawl.told(&["--no-text"]);
        let page = pages.iter().find(|page| page["url"] == url.as_str());
        told.push(page.expect("the page")["simhash"].clone());
        // A page that is no part of the crawl is compared by the same.
        let file = crawl.file("page.html", &format!("<title>1</title><p>{text}</p>"));
        let similar = crawl.ask(&["similar", &file, "--json", "--min-similarity", "0.9"]);
        let similar = similar.expect(0).json();
        assert_eq!(
            similar["pages"].as_array().map(Vec::len),
            Some(1),
            "{similar}"
        );
        assert_eq!(similar["pages"][0]["url"], url.as_str());
        assert_eq!(similar["pages"][0]["distance"], 0, "{similar}");
    }
    assert!(told[0].is_string(), "{told:?}");
    assert!(told.iter().all(|simhash| *simhash == told[0]), "{told:?}");
}
