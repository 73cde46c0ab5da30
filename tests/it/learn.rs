//! What a crawl learns of hosts by the pages that it finds, and what it no longer asks for then.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::run::{PATIENCE, Place, run};
use crate::web::{Answer, Request, Site, Web};

/// A text of its own for everything. Where its links lead does not show in it.
fn article(about: &str, links: &[String]) -> Answer {
    let about: String = about.chars().filter(char::is_ascii_alphanumeric).collect();
    let words: Vec<String> = (0..60).map(|n| format!("{about}x{n}")).collect();
    let links: Vec<String> = links
        .iter()
        .map(|link| format!("<li><a href=\"{link}\">more</a></li>"))
        .collect();
    let (words, links) = (words.join(" "), links.concat());
    Answer::html(format!(
        "<!doctype html><html><head><title>{about}</title></head><body>\
         <h1>{about}</h1><p>{words}</p><ul>{links}</ul></body></html>"
    ))
}

/// With a pause after each page few visits are on their way when something is learned.
const PACE: [&str; 2] = ["--delay", "3ms"];

fn bare(path: &str) -> String {
    path.split('?').next().unwrap_or_default().to_owned()
}

/// Samples of a kind that said nothing after which it is finished, and the visits before it was
/// suspected, with what was on its way then.
const SAMPLES: usize = 300;
const LEARNING: usize = 80;

/// What was learned, a line each.
fn rules(crawl: &Place) -> String {
    crawl.ask(&["status", "--rules"]).expect(0).stdout
}

/// `pages` pages that each lead to some others, by links made by `link` from a page's path and a
/// number that is never the same.
fn site(pages: usize, link: fn(&str, usize) -> String) -> Site {
    let turn = AtomicUsize::new(0);
    let links = move |of: usize| -> Vec<String> {
        (0..8)
            .map(|n| {
                let path = format!("/p{}", (of * 7 + n * n * 11 + 1) % pages);
                link(&path, turn.fetch_add(1, Ordering::Relaxed))
            })
            .collect()
    };
    Site::new().robots("").otherwise(move |request: &Request| {
        let path = request.bare_path().to_ascii_lowercase();
        let number = path
            .trim_start_matches("/p")
            .split('/')
            .next()
            .unwrap_or_default();
        let number: usize = number.parse().unwrap_or(0);
        article(&format!("page {number}"), &links(number))
    })
}

/// Crawls a site; the requests, and the pages that they were for.
fn crawl(site: Site, arguments: &[&str]) -> (Place, usize, usize) {
    let web = Web::start(vec![site]);
    let crawl = Place::new();
    let seed = web.url(0, "/p0");
    crawl.crawl(&[&[seed.as_str()], &PACE[..], arguments].concat());
    let asked = web.asked(0);
    let distinct: BTreeSet<String> = asked.iter().map(|path| bare(path)).collect();
    (crawl, asked.len(), distinct.len())
}

#[test]
fn a_parameter_that_changes_nothing_is_sampled_only() {
    let (crawl, asked, distinct) = crawl(
        site(300, |path, turn| format!("{path}?visit={turn}")),
        &["--max-pages", "4000"],
    );
    assert_eq!(distinct, 300);
    assert!(asked <= 300 + SAMPLES + LEARNING, "{asked}");
    assert!(crawl.links("deferred") > 100);
    let rules = rules(&crawl);
    assert!(rules.contains("any visit  says nothing new"), "{rules}");
}

#[test]
fn parameters_that_differ_together_are_suspected_together() {
    let (crawl, asked, distinct) = crawl(
        site(300, |path, turn| {
            format!("{path}?from=x{turn}&visit={}", turn * 3)
        }),
        &["--max-pages", "4000"],
    );
    assert_eq!(distinct, 300);
    assert!(asked <= 300 + SAMPLES + LEARNING, "{asked}");
    let rules = rules(&crawl);
    assert!(rules.contains("parameters from, visit"), "{rules}");
}

#[test]
fn nothing_is_deferred_where_that_is_off() {
    let place = Place::new();
    let config = place.file("c.toml", "traps.mode = \"off\"");
    let (crawl, asked, _) = crawl(
        site(30, |path, turn| format!("{path}?visit={turn}")),
        &["--max-pages", "600", "--config", &config],
    );
    assert_eq!(asked, 600);
    assert_eq!(crawl.links("deferred"), 0);
}

#[test]
fn a_running_crawl_tells_what_it_has_learned() {
    let links = ["/next".to_owned()];
    let web = Web::start(vec![
        Site::new().robots("").page("/", article("home", &links)),
    ]);
    let crawl = Place::new();
    // robots.txt and the seed are answered, what it links to is not.
    web.hold_after(2);
    let _running = crawl.start(&[&web.url(0, "/")]);
    assert!(web.wait_for_requests(3, PATIENCE));
    assert_eq!(rules(&crawl), "no rules were learned\n");
}

#[test]
fn index_files_and_the_case_of_paths_are_learned() {
    const PAGES: usize = 1_000;
    let both = |path: &str, turn: usize| match turn % 2 {
        0 => format!("{path}/"),
        _ => format!("{path}/index.html"),
    };
    let (crawl, asked, distinct) = crawl(site(PAGES, both), &[]);
    assert!(distinct >= PAGES);
    // A page whose longer form is visited first is visited twice.
    assert!(asked <= 2 * PAGES - 200, "{asked}");
    assert!(rules(&crawl).contains("index file"));
    let upper = |path: &str, turn: usize| match turn % 3 {
        0 => path.to_owned(),
        _ => path.to_ascii_uppercase(),
    };
    let (crawl, asked, _) = self::crawl(site(PAGES, upper), &[]);
    assert!(asked <= PAGES + SAMPLES + 3 * LEARNING, "{asked}");
    assert!(rules(&crawl).contains("case of the path"));
}

#[test]
fn a_kill_takes_back_nothing_that_was_learned() {
    let web = Web::start(vec![site(300, |path, turn| format!("{path}?visit={turn}"))]);
    let crawl = Place::new();
    let seed = web.url(0, "/p0");
    // So that no more visits are under way than are committed together.
    let few = [&[seed.as_str(), "--concurrency", "16"], &PACE[..]].concat();
    let steps = [
        "judged:9",
        "committed:25",
        "synced:12",
        "appended:9",
        "applied:5",
    ];
    for failpoint in steps {
        let arguments = [&few[..], &["--failpoint", failpoint]].concat();
        let output = run(crawl.command(&arguments));
        assert_eq!(output.code, 137, "{output:?}");
    }
    crawl.crawl(&few);
    let asked = web.asked(0);
    let distinct: BTreeSet<String> = asked.iter().map(|path| bare(path)).collect();
    assert_eq!(distinct.len(), 300);
    // Each kill costs what was not committed yet.
    let most = 300 + SAMPLES + LEARNING + 5 * 32;
    assert!(asked.len() <= most, "{}", asked.len());
    assert!(rules(&crawl).contains("any visit  says nothing new"));
    assert_eq!(crawl.status().counters.queued, 0);
}

/// Pages that a parameter does not change, and, a step further, pages that it does.
fn late_exception() -> Site {
    let list = |from: usize, prefix: &'static str| -> Vec<String> {
        let pages = (from..from + 400)
            .flat_map(move |n| (0..4).map(move |lang| format!("/{prefix}{n}?lang={lang}")));
        pages.collect()
    };
    let (ordinary, late) = (list(0, "o"), list(400, "o"));
    Site::new()
        .robots("")
        .page(
            "/",
            article("home", &[ordinary, vec!["/more".to_owned()]].concat()),
        )
        .page_with("/more", move |_| article("more", &late))
        .otherwise(|request| {
            let number = request.bare_path().trim_start_matches("/o");
            match number.parse::<usize>().is_ok_and(|number| number < 400) {
                true => article(request.bare_path(), &[]),
                false => article(&request.path, &[]),
            }
        })
}

#[test]
fn deferred_urls_come_back_when_one_of_them_says_something() {
    let check = |runs: &[&str]| {
        let web = Web::start(vec![late_exception()]);
        let crawl = Place::new();
        let seed = web.url(0, "/");
        for max_pages in runs {
            crawl.crawl(&[&seed, "--delay", "0s", "--max-pages", max_pages]);
        }
        let output = crawl.crawl(&[&seed, "--delay", "0s"]);
        let asked = web.asked(0);
        let is_late = |path: &&String| {
            let number = path.trim_start_matches("/o").split('?').next();
            number.is_some_and(|it| it.parse::<usize>().is_ok_and(|number| number >= 400))
        };
        let late: BTreeSet<&String> = asked.iter().filter(is_late).collect();
        assert_eq!(late.len(), 1_600, "{output:?}");
        assert!(crawl.links("deferred") > 0);
        let rules = rules(&crawl);
        assert!(rules.contains("matters after all"), "{rules}");
    };
    check(&[]);
    check(&["30", "900", "10"]);
}

/// The web of the issue: tracking parameters, session ids and reordered queries in every link, a
/// calendar and a path without end.
#[test]
fn a_web_of_traps_costs_little_more_than_its_pages() {
    const PAGES: usize = 1_000;
    let turn = AtomicUsize::new(1);
    let noisy = move |path: &str| {
        let turn = turn.fetch_add(1, Ordering::Relaxed);
        let session = format!(
            "{:032x}",
            (turn as u128).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060)
        );
        match turn % 5 {
            0 => format!("{path}?utm_source=mail{turn}&utm_medium=x"),
            1 => format!("{path}?PHPSESSID={session}"),
            2 => format!("{path}?a=1&b=2&trk={turn}"),
            3 => format!("{path}?trk={turn}&b=2&a=1"),
            _ => format!("{path};jsessionid={session}?gclid={turn}&a=1&b=2"),
        }
    };
    let site = Site::new().robots("").otherwise(move |request: &Request| {
        let path = request.bare_path();
        let path = path.split(';').next().unwrap_or_default();
        let query = request.path.split_once('?').map_or("", |(_, query)| query);
        if path == "/calendar" {
            let number = |name: &str| -> Option<i64> {
                let mut pieces = query.split('&').filter_map(|piece| piece.split_once('='));
                pieces.find(|(key, _)| *key == name)?.1.parse().ok()
            };
            let month = number("y").unwrap_or(2_024) * 12 + number("m").unwrap_or(1) - 1;
            let at = |month: i64| format!("/calendar?y={}&m={}", month / 12, month % 12 + 1);
            return article("calendar without events", &[at(month - 1), at(month + 1)]);
        }
        if path.starts_with("/grow") {
            let path = path.trim_end_matches('/');
            let links = [
                format!("{path}/up/"),
                format!("{path}/down/"),
                "/p0".to_owned(),
            ];
            return article("folder", &links);
        }
        let number: usize = path.trim_start_matches("/p").parse().unwrap_or(0);
        let mut links: Vec<String> = (0..10)
            .map(|n| noisy(&format!("/p{}", (number * 7 + n * n * 11 + 1) % PAGES)))
            .collect();
        links.extend(["/calendar".to_owned(), "/grow/".to_owned()]);
        article(&format!("page {number}"), &links)
    });
    let web = Web::start(vec![site]);
    let crawl = Place::new();
    let seed = web.url(0, "/p0");
    crawl.crawl(&[&seed, PACE[0], PACE[1], "--max-pages", "4000"]);
    let asked = web.asked(0);
    let of = |prefix: &str| asked.iter().filter(|path| path.starts_with(prefix)).count();
    let pages: BTreeSet<String> = asked
        .iter()
        .filter(|path| path.starts_with("/p"))
        .map(|path| bare(path).split(';').next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(pages.len(), PAGES);
    let (calendar, grown, ordinary) = (of("/calendar"), of("/grow"), of("/p"));
    assert!(calendar <= SAMPLES + LEARNING, "{calendar}");
    assert!(grown <= SAMPLES + LEARNING, "{grown}");
    let rules = rules(&crawl);
    assert!(ordinary <= 2 * PAGES + SAMPLES, "{ordinary} {rules}");
}

/// The same pages under two names: `www.` and none.
fn named(pages: usize) -> Site {
    let links: Vec<String> = (0..pages).map(|n| format!("/m{n}")).collect();
    Site::new()
        .robots("")
        .page("/", article("home", &links))
        .otherwise(|request| article(&request.path, &["/".to_owned()]))
}

#[test]
fn a_host_under_another_name_is_only_sampled() {
    let crawl_both = |aliases: &str, second: Site| {
        let web = Web::start(vec![named(1_000), second]);
        let crawl = Place::new();
        let port = web.port();
        let config = format!(
            "learn.aliases = \"{aliases}\"\n\
             [fetch.hosts]\n\"a.example\" = [\"127.0.7.1:{port}\"]\n\"www.a.example\" = [\"127.0.7.2:{port}\"]\n"
        );
        for seed in ["http://a.example/", "http://www.a.example/"] {
            crawl.crawl_by(&config, &[seed, "--user-agent", "x/1 (+http://a.example)"]);
        }
        let [first, second] = [0, 1].map(|host| BTreeSet::from_iter(web.asked(host)));
        assert_eq!(first.len(), 1_001, "{}", self::rules(&crawl));
        (crawl, second.len())
    };
    let (crawl, visited) = crawl_both("names", named(1_000));
    assert!((200..SAMPLES + LEARNING).contains(&visited), "{visited}");
    let rules = self::rules(&crawl);
    assert!(rules.contains("pages of http://a.example"), "{rules}");
    assert!(crawl.links("deferred") > 0);

    // Its pages still say nothing that their domain has not said, but are no other host's.
    let (crawl, visited) = crawl_both("off", named(1_000));
    assert!((200..SAMPLES + LEARNING).contains(&visited), "{visited}");
    let rules = self::rules(&crawl);
    assert!(!rules.contains("pages of"), "{rules}");

    // It begins like the other, and goes on otherwise.
    let links_of = (0..1_000).map(|n| format!("/m{n}")).collect::<Vec<_>>();
    let second = Site::new()
        .robots("")
        .page("/", article("home", &links_of))
        .otherwise(|request| {
            let number: usize = request.path.trim_start_matches("/m").parse().unwrap_or(0);
            match number < 700 {
                true => article(&request.path, &["/".to_owned()]),
                false => article(&format!("own{number}"), &["/".to_owned()]),
            }
        });
    let (crawl, visited) = crawl_both("names", second);
    assert_eq!(visited, 1_001, "{}", self::rules(&crawl));
}
