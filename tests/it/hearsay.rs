//! What one site says of another: how far it leads, and what comes of it. `hostile` has the rows of
//! what may cost the other one nothing.
//!
//! Host 0 says it of host 1, and is the only seed. What it leads to is queued before anything that
//! host 1 says of itself.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use rustix::process::Signal;

use crate::run::{PATIENCE, Place, leaves, page, text};
use crate::web::{Answer, Request, Site, Web};

/// Pages of the good host with documents.
const DOCS: usize = 40;
/// Steps from the home page of the good host to what it has.
const STEPS: usize = 6;
/// The home page and the steps.
const PATH: usize = 1 + STEPS;
/// Items of the good host with a catalogue.
const ITEMS: usize = 600;

fn numbered(count: usize, url: impl Fn(usize) -> String) -> Vec<String> {
    (0..count).map(url).collect()
}

fn sitemaps_line(count: usize, url: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut text, n| {
        let _ = writeln!(text, "Sitemap: {}", url(n));
        text
    })
}

/// A page about something of its own.
fn article(about: &str, links: &[String]) -> Answer {
    let name: String = about.chars().filter(char::is_ascii_alphanumeric).collect();
    let words: Vec<String> = (0..60).map(|n| format!("{name}x{n}")).collect();
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    Answer::html(page(&format!("{about} {}", words.join(" ")), &links))
}

/// The hostile host, whose home page leads to the good host and to these.
fn seed(links: &[String]) -> Site {
    let links = [&["{host1}/".to_owned()], links].concat();
    Site::new().page("/", article("hostile", &links))
}

/// A host whose home page leads to these over some steps: what others link to is visited before.
fn behind(links: &[String]) -> Site {
    let site = (1..STEPS).fold(Site::new(), |site, step| {
        let next = format!("/step{}", step + 1);
        site.page(
            &format!("/step{step}"),
            article(&format!("step {step}"), &[next]),
        )
    });
    site.page("/", article("home", &["/step1".to_owned()]))
        .page(&format!("/step{STEPS}"), article("list", links))
}

/// A host with items that differ by a parameter only, and pages that ignore all parameters, as most
/// do.
fn catalogue() -> Site {
    let mut links = numbered(9, |n| format!("/about{n}.html"));
    links.extend(numbered(ITEMS, |n| format!("/item?id={n}")));
    let home = (0..9).fold(behind(&links), |site, n| {
        site.page(
            &format!("/about{n}.html"),
            article(&format!("about {n}"), &[]),
        )
    });
    home.page_with("/item", |request: &Request| {
        match request.path.split_once('=') {
            Some((_, id)) => article(&format!("item {id}"), &[]),
            None => Answer::status(404),
        }
    })
}

/// The pages of the good host that the crawl has, each text once: the paths by which it calls them.
/// Only the hostile host knows other forms of them, which may have been met first.
fn pages_of(web: &Web, crawl: &Place) -> BTreeSet<String> {
    let told = crawl.ask(&["dups"]).expect(0).json_lines();
    let pages = crawl.pages().into_iter();
    let unique = pages.filter(|(_, line)| line.verdict == "unique");
    let mut names: BTreeSet<String> = unique.map(|(url, _)| url).collect();
    for cluster in told {
        names.remove(text(&cluster, "original"));
        names.insert(text(&cluster, "canonical").to_owned());
    }
    let origin = web.url(1, "");
    let paths = names.iter().filter_map(|url| url.strip_prefix(&origin));
    paths.map(str::to_owned).collect()
}

/// One host leads to a few others by its sitemaps, whatever the scope; a whole network for its
/// content is one host.
#[test]
fn sitemaps_lead_to_a_few_other_hosts_only() {
    let mut robots = sitemaps_line(30, |n| format!("{{host{}}}/map.xml", n + 2));
    robots += &sitemaps_line(30, |n| format!("{{host1}}/map{n}.xml"));
    let others = (0..31).map(|_| leaves());
    let sites = [leaves().robots(&robots)].into_iter().chain(others);
    let web = Web::start(sites.collect());
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/"), "--allow-private"]);
    let asked = (1..32).filter(|host| !web.asked(*host).is_empty());
    assert_eq!(asked.count(), 10);
    assert_eq!(crawl.links("too-many-sitemap-hosts"), 20 + 30);

    let robots = sitemaps_line(30, |n| format!("{{host1}}/map{n}.xml"));
    let web = Web::start(vec![leaves().robots(&robots), leaves()]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/"), "--allow-private"]);
    assert_eq!(web.asked(1).len(), 30);
}

/// What others link to without end is sampled, as a trap of the site's own would be.
#[test]
fn variants_that_only_others_link_to_end() {
    let links = numbered(2_000, |n| format!("{{host1}}/about0.html?visit={n}"));
    let web = Web::start(vec![seed(&links), catalogue()]);
    let crawl = Place::new();
    let arguments = [&*web.url(0, "/"), "--scope", "any", "--allow-private"];
    crawl.crawl(&[&arguments[..], &["--delay", "3ms"]].concat());
    let asked = web.asked(1).len();
    assert!(asked <= ITEMS + 9 + PATH + 400, "{asked}");
    assert_eq!(pages_of(&web, &crawl).len(), ITEMS + 9 + PATH);
    let rules = crawl.ask(&["status", "--rules"]).expect(0).stdout;
    assert!(rules.contains("from other sites: "), "{rules}");
}

/// Pages to which only another site leads are pages like any other.
#[test]
fn pages_that_only_others_link_to_are_visited() {
    let items = numbered(ITEMS, |n| format!("{{host1}}/item?id={n}"));
    let without_list = catalogue().page("/", article("home", &[]));
    let web = Web::start(vec![seed(&items), without_list]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/"), "--scope", "any", "--allow-private"]);
    assert_eq!(pages_of(&web, &crawl).len(), ITEMS + 1);
}

/// Links that lead nowhere do not spend the budget of those that lead to pages.
#[test]
fn dead_links_have_a_budget_of_their_own() {
    let mut links = numbered(50, |n| format!("/gone{n}"));
    links.extend(numbered(DOCS, |n| format!("/later/doc{n}")));
    // They are found when the visits before are over.
    let list = article("list", &links[50..]);
    let home = article("home", &[&links[..50], &["/list".to_owned()]].concat());
    let site = Site::new().page("/", home).page("/list", list);
    let site = (0..DOCS).fold(site, |site, n| {
        let document = article(&format!("document {n}"), &[]);
        site.page(&format!("/later/doc{n}"), document)
    });
    let web = Web::start(vec![site]);
    let crawl = Place::new();
    crawl.crawl_by("traps.max_pages_per_host = 80", &[&web.url(0, "/")]);
    let pages = crawl.pages().into_keys();
    assert_eq!(pages.filter(|url| url.contains("/later/")).count(), DOCS);
}

/// What a stranger's sitemap says of a page does not change when that is visited again.
#[test]
fn a_stranger_does_not_say_what_changed() {
    let map = |_: &Request| {
        let now = jiff::Timestamp::now();
        let entry = |url| format!("<url><loc>{url}</loc><lastmod>{now}</lastmod></url>");
        let xml = format!(
            "<urlset>{}{}</urlset>",
            entry("{host1}/x"),
            entry("{host0}/x")
        );
        Answer::with_type(200, "application/xml", xml.into_bytes())
    };
    let hostile = leaves()
        .page(
            "/",
            article("home", &["/x".to_owned(), "{host1}/x".to_owned()]),
        )
        .page("/x", article("x", &["/then".to_owned()]))
        .page("/then", article("then", &["/map.xml".to_owned()]))
        .page_with("/map.xml", map);
    let good = Site::new().page("/x", article("another x", &[]));
    let web = Web::start(vec![hostile, good]);
    let crawl = Place::new();
    let settings = "[politeness]\ndelay = \"0s\"\n[revisit]\nmin_interval = \"1ms\"\n";
    let seed = web.url(0, "/");
    let running = crawl.daemon_by(settings, &[&seed, "--scope", "any", "--allow-private"]);
    let mut requests = 7;
    let visits = || web.asked(0).iter().filter(|path| *path == "/x").count();
    while visits() < 2 || web.asked(1).is_empty() {
        assert!(web.wait_for_requests(requests, PATIENCE));
        requests += 1;
    }
    running.signal(Signal::TERM);
    running.end().expect(0);
    assert_eq!(web.asked(1), ["/x"]);
}

/// Copies that name one of themselves do not take the name of what they copy.
#[test]
fn copies_do_not_name_the_original() {
    let copy = |n: usize| {
        let canonical = "<link rel=canonical href=\"{host0}/copy1\">";
        let words: Vec<String> = (0..80).map(|word| format!("victim{word}")).collect();
        Answer::html(format!(
            "<html><head><title>the page</title>{}</head><body><p>{}</p></body></html>",
            if n > 0 { canonical } else { "" },
            words.join(" ")
        ))
    };
    let good = Site::new().page("/", copy(0));
    let copies = numbered(6, |n| format!("/copy{}", n + 1));
    // The copies are found much later than the original.
    let hostile = Site::new().page(
        "/",
        article("home", &["{host1}/".to_owned(), "/then0".to_owned()]),
    );
    let hostile = (0..STEPS).fold(hostile, |site, n| {
        let (path, next) = (format!("/then{n}"), format!("/then{}", n + 1));
        site.page(&path, article(&path, &[next]))
    });
    let hostile = hostile.page(&format!("/then{STEPS}"), article("last", &copies));
    let hostile = (1..=6).fold(hostile, |site, n| site.page(&format!("/copy{n}"), copy(n)));
    let web = Web::start(vec![hostile, good]);
    let crawl = Place::new();
    let seed = web.url(0, "/");
    crawl.crawl(&[
        &seed,
        "--scope",
        "any",
        "--allow-private",
        "--concurrency",
        "1",
    ]);
    let told = crawl.ask(&["dups"]).expect(0);
    let clusters = told.json_lines();
    assert_eq!(clusters.len(), 1, "{told:?}");
    assert_eq!(clusters[0]["original"], web.url(1, "/"), "{told:?}");
    assert_eq!(clusters[0]["canonical"], web.url(1, "/"), "{told:?}");
}
