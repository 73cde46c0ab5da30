//! What a person looks at to trust a crawl: duplicates drawn at random, what is said of them, and
//! what was not fetched.

use std::collections::BTreeSet;
use std::fs;

use crate::run::{Place, linking, page};
use crate::show::{ONE_AT_A_TIME, crawl, web};
use crate::web::{Answer, Site, Web};

#[test]
fn a_draw_is_of_the_tier_that_was_asked_for_and_of_all_of_it() {
    let (web, _) = web();
    let place = Place::new();
    crawl(&place, ONE_AT_A_TIME, &web);
    let draw = |arguments: &[&str]| {
        let drawn = place.ask(&[&["dups", "--sample"], arguments].concat());
        let drawn = drawn.expect(0).json_lines();
        let members = drawn.iter().map(|cluster| cluster["members"][0].clone());
        members.collect::<Vec<_>>()
    };
    let of_near = draw(&["9", "--tier", "near"]);
    let urls = |members: &[serde_json::Value]| {
        let urls = members
            .iter()
            .map(|it| it["url"].as_str().expect("a URL").to_owned());
        urls.collect::<BTreeSet<String>>()
    };
    let all: BTreeSet<String> = ["/near", "/packed"].map(|path| web.url(0, path)).into();
    assert_eq!(urls(&of_near), all);
    assert!(of_near.iter().all(|it| it["tier"] == "near"), "{of_near:?}");
    // The same number draws the same.
    assert_eq!(draw(&["2"]), draw(&["2"]));
    let draws: Vec<_> = (0..20)
        .map(|seed| urls(&draw(&["2", "--seed", &seed.to_string()])))
        .collect();
    let met: BTreeSet<_> = draws.iter().flatten().collect();
    assert_eq!(met.len(), 5, "each is drawn by some number: {met:?}");
}

#[test]
fn what_is_marked_says_how_precise_a_tier_is_and_how_it_is_undone() {
    let (web, _) = web();
    let place = Place::new();
    crawl(&place, ONE_AT_A_TIME, &web);
    place.ask(&["mark"]).expect(0);
    let url = |path: &str| web.url(0, path);
    place
        .ask(&["mark", "right", &url("/near"), &url("/copy")])
        .expect(0);
    place.ask(&["mark", "wrong", &url("/packed")]).expect(0);
    // A page of its own is no verdict to be marked, and then nothing is.
    let refused = place.ask(&["mark", "wrong", &url("/copy"), &url("/other")]);
    refused.expect(2).says(&["is no duplicate"]);
    let now = place.ask(&["mark", "--json"]).expect(0).json();
    let near = now["tiers"]
        .as_array()
        .and_then(|it| it.iter().find(|it| it["tier"] == "near"));
    let near = near.expect("it was marked");
    assert_eq!((&near["marked"], &near["right"]), (&2.into(), &1.into()));
    let (low, high) = (
        near["low"].as_f64().unwrap_or(1.0),
        near["high"].as_f64().unwrap_or(0.0),
    );
    assert!(low < 0.2 && high > 0.8, "two say little: {near}");
    let undo = &now["undo"][0];
    let command = undo["single"].as_str().expect("a command");
    assert!(
        command.ends_with(&format!(" {}", url("/packed"))),
        "{command}"
    );

    // The rule is one that a configuration takes, and the command one that works.
    let rule = undo["rule"].as_str().expect("a rule");
    let file = place.file("rule.toml", rule);
    place.ask(&["restore", &url("/packed")]).expect(0);
    let pages = place.told(&[]);
    let of = |path: &str| pages.iter().rfind(|page| page["url"] == url(path)).cloned();
    assert_eq!(of("/packed").expect("it is told")["verdict"], "unique");
    let other = Place::new();
    other.crawl_by(ONE_AT_A_TIME, &["--config", &file, &url("/a")]);
    other.crawl_by(ONE_AT_A_TIME, &["--config", &file, &url("/")]);
    let near = other
        .told(&[])
        .into_iter()
        .filter(|page| page["verdict"] == "near")
        .count();
    assert_eq!(near, 0, "such pages are kept apart");

    // What was said is taken back, and a torn line is nothing that was said.
    place.ask(&["mark", "unsaid", &url("/near")]).expect(0);
    let path = place.data().join("marks.jsonl");
    let lines = fs::read_to_string(&path).expect("it is there");
    fs::write(&path, format!("{lines}{{\"time\":")).expect("it is ours");
    let now = place.ask(&["mark", "--json"]).expect(0).json();
    assert_eq!(now["marks"].as_array().map(Vec::len), Some(2), "{now}");
    place.ask(&["check"]).expect(0);
}

#[test]
fn what_was_not_fetched_is_told_by_host_and_pattern_and_comes_back() {
    let web = Web::start(vec![
        linking(&["/broken/1", "/broken/2", "/private/x", "{host1}/"])
            .robots("User-agent: *\nDisallow: /private/\n")
            .page("/broken/1", Answer::status(500))
            .page("/broken/2", Answer::status(500)),
        Site::new().page("/", Answer::html(page("elsewhere", &[]))),
    ]);
    let place = Place::new();
    place.crawl_by(
        "[fetch]\nallow_private = true\n[politeness]\nattempts = 1\n",
        &[&web.url(0, "/")],
    );
    let told = |by: &str| {
        let told = place.ask(&["status", "--not-fetched", by, "--json"]);
        told.expect(0).json()["groups"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    };
    let of = |groups: &[serde_json::Value], reason: &str| {
        groups.iter().find(|it| it["reason"] == reason).cloned()
    };
    let by_reason = told("reason");
    let links = of(&by_reason, "out-of-scope").expect("a link was not followed");
    assert_eq!(links["count"], 1);
    assert!(links["readmit"].is_null(), "only a setting does: {links}");
    let by_pattern = told("pattern");
    let broken = of(&by_pattern, "status").expect("two pages failed");
    assert_eq!(broken["count"], 2, "{by_pattern:?}");
    assert_eq!(broken["examples"].as_array().map(Vec::len), Some(2));
    assert!(
        broken["pattern"]
            .as_str()
            .is_some_and(|it| it.contains("/broken/")),
        "{broken}"
    );
    let by_host = told("host");
    let forbidden = of(&by_host, "robots").expect("a page is forbidden");
    assert!(
        web.url(0, "/")
            .starts_with(forbidden["host"].as_str().expect("a host"))
    );

    for groups in [&by_host, &by_pattern] {
        let links = of(groups, "out-of-scope").expect("nothing is left out by being grouped");
        assert_eq!(links["count"], 1);
        assert!(links["host"].is_null(), "{links}");
    }

    // The command that is told brings them back.
    let command = broken["command"].as_str().expect("a command");
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let again = place.ask(&words).expect(0);
    assert!(
        again.stdout.contains('2') || again.stderr.contains('2'),
        "{again:?}"
    );
    assert_eq!(place.status().counters.queued, 2);
    place.ask(&["status", "--not-fetched", "host"]).expect(0);
}
