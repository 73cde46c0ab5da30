//! Seeds as people give them: names without a scheme, and what stands behind a seed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;

use serde_json::Value;

use crate::run::{LOST, Place, kind, linking, page, run};
use crate::web::{Answer, Site, Web};

fn html(name: &str, links: &[&str]) -> Answer {
    Answer::html(page(name, links))
}

/// A URL without its scheme.
fn bare(url: &str) -> String {
    url.trim_start_matches("http://").to_owned()
}

/// A name means the site, over http if that is all there is; what was written with its scheme means
/// what it says.
#[test]
fn a_bare_name_is_asked_for_over_http_where_there_is_no_https() {
    for settings in ["", "[crawl]\nrobots = \"ignore\""] {
        let web = Web::start(vec![linking(&["/1"])]);
        let name = bare(&web.url(0, "/"));
        let crawl = Place::new();
        let told = crawl.crawl_by(settings, &[&name]);
        let instead = format!("http://{name} is asked for in its place");
        told.says(&["is taken as https://", &instead]);
        assert_eq!(web.asked(0), ["/", "/1"], "{settings}");
        let seeds = crawl.status().counters.seeds;
        assert_eq!(seeds, 1);
        crawl.ask(&["check"]).expect(0);
        // Resumed, there is nothing to do.
        crawl.crawl(&[]);
        assert_eq!(web.asked(0), ["/", "/1"]);

        let other = Place::new();
        let written = format!("https://{name}");
        let flags = ["--set", "politeness.attempts=1"];
        let command = other.command(&[&[&*written], &flags[..]].concat());
        let told = run(command).expect(LOST);
        assert!(!told.stderr.contains("in its place"), "{}", told.stderr);
        assert_eq!(web.asked(0), ["/", "/1"]);
    }
}

/// Nobody is there, neither way: the name is lost, with its cause, once.
#[test]
fn a_bare_name_that_nobody_answers_is_lost() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let name = listener
        .local_addr()
        .expect("it has an address")
        .to_string();
    drop(listener);
    let crawl = Place::new();
    let flags = ["--json", "--set", "politeness.attempts=1"];
    let told = run(crawl.command(&[&[&*name], &flags[..]].concat())).expect(LOST);
    let lost = &told.json()["lost"];
    assert_eq!(lost["lost"], 1, "{lost}");
    assert!(
        lost["named"][0]["reason"].to_string().contains("connect"),
        "{lost}"
    );
    told.says(&[&format!("http://{name}/ is asked for in its place")]);
}

/// Two sites, one of which links to the other; a list with settings of all kinds.
fn tagged() -> (Web, String) {
    let first = Site::new()
        .robots("Sitemap: {host0}/map.xml")
        .page(
            "/map.xml",
            Answer::text(
                "<?xml version=\"1.0\"?><urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\
                 <url><loc>{host0}/listed</loc></url></urlset>",
            ),
        )
        .page("/", html("first", &["/docs/1", "{host1}/away", "{host2}/shared"]))
        .page("/docs/1", html("one", &["/docs/2", "/other"]))
        .page("/docs/2", html("two", &["/docs/3"]))
        .page("/docs/3", html("three", &[]))
        .page("/listed", html("listed", &[]))
        .page("/other", html("other", &[]));
    let second = Site::new()
        .page(
            "/in/",
            html("second", &["/in/deep", "/out", "{host2}/shared"]),
        )
        .page("/in/deep", html("deep", &[]))
        .page("/out", html("out", &[]))
        .page("/away", html("away", &[]));
    let third = Site::new()
        .page("/shared", html("shared", &["/more"]))
        .page("/more", html("more", &[]));
    let web = Web::start(vec![first, second, third]);
    let list = format!(
        "{} depth=2 scope=any tag=first\n{{\"url\": \"{}\", \"scope\": \"prefix\", \"tag\": \"the second\"}}\n",
        web.url(0, "/"),
        web.url(1, "/in/"),
    );
    (web, list)
}

/// The tag of each page, by its path.
fn tags(crawl: &Place) -> BTreeMap<String, String> {
    let pages = crawl.told(&["--no-text"]).into_iter();
    let tag = |page: &Value| page["tag"].as_str().unwrap_or_default().to_owned();
    let path = |page: &Value| {
        let url = page["url"].as_str().expect("a page has a URL");
        let url = gleaner::url::parse(url).expect("and it is one");
        url.path().to_owned()
    };
    pages.map(|page| (path(&page), tag(&page))).collect()
}

/// Whoever gives a seed again, or a tag to it, did not ask for more of the site.
#[test]
fn a_seed_that_is_given_again_keeps_what_its_line_does_not_name() {
    let site = || {
        Site::new()
            .robots("")
            .page("/in/", html("in", &["/in/1", "/out"]))
            .page("/in/1", html("one", &[]))
            .page("/out", html("out", &[]))
    };
    let web = Web::start(vec![site()]);
    let crawl = Place::new();
    let seed = web.url(0, "/in/");
    crawl.crawl(&[&format!("{seed} scope=prefix")]);
    for again in [seed.clone(), format!("{seed} tag=late")] {
        crawl.crawl(&[&again]);
    }
    let asked = web.asked(0);
    assert!(!asked.contains(&"/out".to_owned()), "{asked:?}");
    crawl.crawl(&[&format!("{seed} scope=host")]);
    assert!(web.asked(0).contains(&"/out".to_owned()));
}

/// A part of a site that sends its visitors to log in does not stand for the whole site.
#[test]
fn a_prefix_that_leads_out_of_itself_does_not_become_the_site() {
    let site = Site::new()
        .robots("")
        .page("/members/", Answer::redirect(302, "/login"))
        .page("/login", html("login", &["/", "/all"]))
        .page("/", html("home", &["/all"]))
        .page("/all", html("all", &[]));
    let web = Web::start(vec![site]);
    let crawl = Place::new();
    let seed = web.url(0, "/members/");
    let told = crawl.crawl_with_losses("", &[&seed, "--scope", "prefix"]);
    assert!(
        told.stdout.contains("/login, which is out-of-scope"),
        "{told:?}"
    );
    assert_eq!(web.asked(0), ["/members/"]);
}

#[test]
fn depth_scope_and_tag_of_a_seed_hold_for_what_is_found_from_it() {
    let (web, list) = tagged();
    let crawl = Place::new();
    let list = crawl.file("seeds.txt", &list);
    crawl.crawl(&["--seeds", &list, "--allow-private"]);
    let tags = tags(&crawl);
    let of = |tag: &str| -> BTreeSet<&str> {
        let of = tags.iter().filter(|(_, it)| *it == tag);
        of.map(|(path, _)| path.as_str()).collect()
    };
    // Two links from the seed, wherever they lead; a sitemap counts as one.
    let first = [
        "/", "/away", "/docs/1", "/docs/2", "/listed", "/more", "/other", "/shared",
    ];
    assert_eq!(of("first"), BTreeSet::from(first));
    assert_eq!(of("the second"), BTreeSet::from(["/in/", "/in/deep"]));
    assert_eq!(of(""), BTreeSet::new());
    assert!(!web.asked(1).contains(&"/out".to_owned()));
    let deep = crawl.ask(&["why", &web.url(0, "/docs/3")]).expect(5).stdout;
    assert!(deep.contains("at depth 3 (its seed has depth=2)"), "{deep}");
    let scope_of = |path| crawl.ask(&["why", &web.url(1, path)]).stdout;
    let inside = scope_of("/in/deep");
    let own = "in scope (of a seed whose own scope is prefix)";
    assert!(inside.contains(own), "{inside}");
    let outside = scope_of("/out");
    let other = "is not that of a seed of that scope (crawl.scope is host)";
    assert!(outside.contains(other), "{outside}");

    // The archive says so too, once a page; nothing else is different in it.
    let records = crawl.records();
    let metadata: Vec<String> = records
        .iter()
        .filter(|record| kind(record) == "metadata")
        .map(|record| String::from_utf8_lossy(&record.block).into_owned())
        .collect();
    let has = |tag: &str| {
        let field = format!("sourceTag: {tag}");
        metadata.iter().filter(|it| it.contains(&field)).count()
    };
    assert_eq!((has("first"), has("the second")), (first.len() + 1, 2));
    crawl.ask(&["check"]).expect(0);
}

/// What a list of seeds says is what `seeds add` says, offline and to a daemon, and whoever has no
/// settings is crawled as ever.
#[test]
fn seeds_without_settings_have_no_tag_and_bad_settings_are_named() {
    let web = Web::start(vec![linking(&["/1"]), linking(&["/2"])]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/"), "--allow-private"]);
    assert!(tags(&crawl).values().all(String::is_empty));
    let with_tag = format!("{} tag=late", web.url(1, "/"));
    crawl.ask(&["seeds", "add", &with_tag]).expect(0);
    crawl.crawl(&["--allow-private"]);
    let tags = tags(&crawl);
    assert_eq!(tags["/2"], "late", "{tags:?}");
    assert_eq!(tags["/1"], "", "{tags:?}");

    let list = crawl.file(
        "bad.txt",
        "http://127.0.0.1/ dept=2\nhttp://127.0.0.1/ depth=x\n",
    );
    let before = web.requests().len();
    run(crawl.command(&["--seeds", &list])).expect(2).says(&[
        "bad.txt:1: the seed \"http://127.0.0.1/ dept=2\" cannot be crawled",
        "a seed has depth, scope and tag",
        "bad.txt:2:",
        "a depth is a number of links",
    ]);
    assert_eq!(web.requests().len(), before);
}

/// Killed at each step of a commit, a crawl ends with the same tags.
#[test]
fn tags_survive_kills() {
    let whole = {
        let (_web, list) = tagged();
        let crawl = Place::new();
        let list = crawl.file("seeds.txt", &list);
        crawl.crawl(&["--seeds", &list, "--allow-private"]);
        tags(&crawl)
    };
    for step in ["appended:3", "synced:4", "committed:5"] {
        let (_web, list) = tagged();
        let crawl = Place::new();
        let list = crawl.file("seeds.txt", &list);
        let flags = ["--seeds", &list, "--allow-private"];
        let killed = run(crawl.command(&[&flags[..], &["--failpoint", step]].concat()));
        assert_ne!(killed.code, 0, "{step}");
        crawl.crawl(&flags);
        assert_eq!(tags(&crawl), whole, "{step}");
    }
}
