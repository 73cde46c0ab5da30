//! A hostile host beside a good one: what it says about the good one costs that nothing. Each case
//! is crawled twice, with the hostile host and with a harmless one in its place, and of the good
//! host the same pages, verdicts and names must come of it.
//!
//! To add a case, write what the two hosts answer, and a line of `CASES`. Host 0 is the hostile
//! one. It is the only seed, and what it leads to is queued before anything that the good host says
//! of itself.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use rustix::process::Signal;

use crate::run::{PATIENCE, Place, leaves, page, text};
use crate::web::{Answer, Request, Site, Web};

/// A hostile host, a good one, and the settings under which they are crawled.
struct Case {
    name: &'static str,
    hostile: fn() -> Site,
    good: fn() -> Site,
    /// Number of pages that the good host has.
    pages: usize,
    settings: &'static str,
}

const CASES: &[Case] = &[
    Case {
        name: "its robots.txt calls the other's pages sitemaps",
        hostile: || seed(&[]).robots(&sitemaps_line(DOCS, |n| format!("{{host1}}/doc{n}.html"))),
        good: documents,
        pages: DOCS + PATH,
        settings: "",
    },
    Case {
        name: "its index calls the other's pages sitemaps",
        hostile: || {
            let listed = numbered(DOCS, |n| format!("{{host1}}/doc{n}.html"));
            seed(&[])
                .robots("Sitemap: {host0}/index.xml")
                .page("/index.xml", index(&listed))
        },
        good: documents,
        pages: DOCS + PATH,
        settings: "",
    },
    Case {
        name: "its sitemaps redirect to the other's pages",
        hostile: || {
            let robots = sitemaps_line(DOCS, |n| format!("{{host0}}/moved{n}"));
            (0..DOCS).fold(seed(&[]).robots(&robots), |site, n| {
                let to = format!("{{host1}}/doc{n}.html");
                site.page(&format!("/moved{n}"), Answer::redirect(302, &to))
            })
        },
        good: documents,
        pages: DOCS + PATH,
        settings: "",
    },
    Case {
        name: "it links to directories that are files",
        hostile: || seed(&numbered(DOCS, |n| format!("{{host1}}/doc{n}.html/"))),
        good: documents,
        pages: DOCS + PATH,
        settings: "",
    },
    Case {
        name: "it links with a session in the path",
        hostile: || {
            seed(&numbered(DOCS, |n| {
                format!("{{host1}}/doc{n}.html;jsessionid=0123456789ABCDEF")
            }))
        },
        good: documents,
        pages: DOCS + PATH,
        settings: "",
    },
    Case {
        name: "it links in a form from which the right one does not follow",
        hostile: || {
            seed(&numbered(DOCS, |n| {
                format!("{{host1}}/dir{n};jsessionid=0123456789ABCDEF")
            }))
        },
        good: directories,
        pages: DOCS + PATH,
        settings: "",
    },
    Case {
        name: "it links in a form that robots.txt forbids",
        hostile: || {
            seed(&numbered(DOCS, |n| {
                format!("{{host1}}/doc{n}.html?utm_source=hostile")
            }))
        },
        good: || documents().robots("User-agent: *\nDisallow: /*?"),
        pages: DOCS + PATH,
        settings: "",
    },
    Case {
        name: "it teaches that a parameter changes nothing",
        hostile: || {
            let links = (0..9)
                .flat_map(|of| numbered(20, move |id| format!("{{host1}}/about{of}.html?id={id}")));
            seed(&links.collect::<Vec<_>>())
        },
        good: catalogue,
        pages: ITEMS + 9 + PATH,
        settings: "",
    },
    Case {
        name: "it teaches that all pages are one",
        hostile: || seed(&numbered(ITEMS, |n| format!("{{host1}}/?a{n}={n}"))),
        good: catalogue,
        pages: ITEMS + 9 + PATH,
        settings: "",
    },
    Case {
        name: "it spends the budgets of the other's host",
        hostile: || seed(&numbered(300, |n| format!("{{host1}}/junk{n}"))),
        good: documents,
        pages: DOCS + PATH,
        settings: "traps.max_pages_per_host = 50",
    },
    Case {
        name: "it spends the budgets of the other's domain",
        hostile: || seed(&numbered(300, |n| format!("{{host1}}/?junk={n}"))),
        good: documents,
        pages: DOCS + PATH,
        settings: "traps.max_pages_per_domain = 50",
    },
];

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

fn index(urls: &[String]) -> Answer {
    let entries = urls
        .iter()
        .map(|url| format!("<sitemap><loc>{url}</loc></sitemap>"));
    let xml = format!(
        "<sitemapindex>{}</sitemapindex>",
        entries.collect::<String>()
    );
    Answer::with_type(200, "application/xml", xml.into_bytes())
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

/// A host with files, which knows no other names of them.
fn documents() -> Site {
    let links = numbered(DOCS, |n| format!("/doc{n}.html"));
    (0..DOCS).fold(behind(&links), |site, n| {
        let document = article(&format!("document {n}"), &[]);
        site.page(&format!("/doc{n}.html"), document)
    })
}

/// A host with directories, none of which is found without the slash at its end.
fn directories() -> Site {
    let links = numbered(DOCS, |n| format!("/dir{n}/"));
    (0..DOCS).fold(behind(&links), |site, n| {
        site.page(
            &format!("/dir{n}/"),
            article(&format!("directory {n}"), &[]),
        )
    })
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

fn crawl(case: &Case, hostile: Site) -> BTreeSet<String> {
    let web = Web::start(vec![hostile, (case.good)()]);
    let crawl = Place::new();
    let arguments = [&*web.url(0, "/"), "--scope", "any", "--allow-private"];
    crawl.crawl_by(case.settings, &arguments);
    pages_of(&web, &crawl)
}

#[track_caller]
fn check(name: &str) {
    let case = CASES.iter().find(|case| case.name == name);
    let case = case.expect("there is such a case");
    let undisturbed = crawl(case, seed(&[]));
    assert_eq!(undisturbed.len(), case.pages, "{name}");
    let disturbed = crawl(case, (case.hostile)());
    let lost: Vec<_> = undisturbed.difference(&disturbed).collect();
    assert!(lost.is_empty(), "{name}: lost {}: {lost:?}", lost.len());
    assert_eq!(undisturbed, disturbed, "{name}");
}

macro_rules! cases {
    ($($test:ident: $name:literal,)*) => {
        $(#[test]
        fn $test() {
            check($name);
        })*

        #[test]
        fn each_case_has_a_test() {
            let tested = [$($name),*];
            assert!(CASES.iter().all(|case| tested.contains(&case.name)));
        }
    };
}

cases! {
    pages_as_sitemaps: "its robots.txt calls the other's pages sitemaps",
    pages_as_sitemaps_of_an_index: "its index calls the other's pages sitemaps",
    sitemaps_that_redirect_to_pages: "its sitemaps redirect to the other's pages",
    odd_slashes: "it links to directories that are files",
    odd_sessions: "it links with a session in the path",
    odd_forms_of_directories: "it links in a form from which the right one does not follow",
    odd_forms_that_are_forbidden: "it links in a form that robots.txt forbids",
    a_parameter: "it teaches that a parameter changes nothing",
    all_pages_are_one: "it teaches that all pages are one",
    budgets_of_a_host: "it spends the budgets of the other's host",
    budgets_of_a_domain: "it spends the budgets of the other's domain",
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
    while web.asked(0).iter().filter(|path| *path == "/x").count() < 2 {
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
    // The copies are found later than the original.
    let hostile = Site::new()
        .page(
            "/",
            article("home", &["{host1}/".to_owned(), "/then".to_owned()]),
        )
        .page("/then", article("then", &["/later".to_owned()]))
        .page("/later", article("later", &copies));
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
