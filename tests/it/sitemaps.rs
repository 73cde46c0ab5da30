//! Sitemaps in a crawl: which are asked for, what of what they list is visited, and what is told.

use rustix::process::Signal;

use crate::run::{PATIENCE, Place, leaves, only, page, run};
use crate::web::{Answer, Web};

/// A sitemap of these URLs.
fn sitemap(urls: &[&str]) -> Answer {
    let mut xml = String::from("<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">");
    for url in urls {
        xml.extend(["<url><loc>", url, "</loc></url>"]);
    }
    as_xml(xml + "</urlset>")
}

fn index(urls: &[&str]) -> Answer {
    let mut xml = String::from("<sitemapindex>");
    for url in urls {
        xml.extend(["<sitemap><loc>", url, "</loc></sitemap>"]);
    }
    as_xml(xml + "</sitemapindex>")
}

fn as_xml(xml: String) -> Answer {
    let mut answer = Answer::html(xml);
    answer.headers = vec![("content-type".to_owned(), "application/xml".to_owned())];
    answer
}

/// What was asked of a host, but for robots.txt, sorted.
fn asked(web: &Web, host: usize) -> Vec<String> {
    let mut paths = web.asked(host);
    paths.sort();
    paths
}

#[test]
fn pages_that_only_a_sitemap_lists_are_visited() {
    let mut packed = sitemap(&["{host0}/packed", "{host0}/a?utm_source=map"]);
    packed.gzip = true;
    let site = leaves()
        .robots("User-agent: *\nDisallow: /no\nSitemap: {host0}/index.xml\n")
        .page("/", Answer::html(page("home", &["/a"])))
        .page("/index.xml", index(&["{host0}/one.xml", "{host0}/two.xml"]))
        .page("/one.xml", packed)
        .page(
            "/two.xml",
            sitemap(&["{host0}/plain", "{host0}/no/x", "{host1}/elsewhere"]),
        );
    let web = Web::start(vec![site, leaves().robots("")]);
    let crawl = Place::new();
    let seed = web.url(0, "/");
    let output = crawl.crawl(&[&seed]);
    let expected = [
        "/",
        "/a",
        "/index.xml",
        "/one.xml",
        "/packed",
        "/plain",
        "/two.xml",
    ];
    // Which of its two forms is found first depends on what is read sooner.
    let bare = |path: &String| path.trim_end_matches("?utm_source=map").to_owned();
    let found: Vec<String> = asked(&web, 0).iter().map(bare).collect();
    assert_eq!(found, expected);
    assert!(asked(&web, 1).is_empty());
    assert_eq!(crawl.pages().len(), 4);
    assert!(output.stdout.contains("sitemaps"), "{output:#?}");

    let counters = crawl.status().counters;
    assert_eq!((counters.sitemaps, counters.sitemap_entries), (3, 7));
    assert_eq!((counters.pages, counters.failed), (4, 0));
    assert_eq!(counters.links["out-of-scope"], 1);
    let log = crawl.log();
    let line = log.iter().find(|it| it.url == web.url(0, "/two.xml"));
    let line = line.expect("it was visited");
    assert_eq!((line.verdict.name(), &*line.path), ("sitemap", "MM"));
    assert_eq!(line.annotation.as_deref(), Some("sitemap: 3 URLs"));
    assert_eq!(line.page, None);
    let records = crawl.records();
    only(&records, "response", &web.url(0, "/index.xml"));

    let why = |path: &str| crawl.ask(&["why", &web.url(0, path)]).expect(0).stdout;
    let told = why("/plain");
    assert!(told.contains(&web.url(0, "/two.xml")), "{told}");
    assert!(told.contains("at depth 1"), "{told}");
    let told = why("/two.xml");
    assert!(told.contains("status 200, sitemap of 3 URLs"), "{told}");
    assert!(told.contains("response in warc/"), "{told}");
    let told = why("/no/x");
    assert!(told.contains("robots.txt forbids it"), "{told}");

    // What is known is not asked for again.
    web.clear_log();
    crawl.crawl(&[&seed]);
    assert!(web.requests().is_empty());
}

#[test]
fn where_sitemaps_are_looked_for_can_be_chosen() {
    let check = |robots: &str, arguments: &[&str], settings: &str, expected: &[&str]| {
        let site = leaves()
            .robots(robots)
            .page("/own.xml", sitemap(&["{host0}/own"]))
            .page("/sitemap.xml", sitemap(&["{host0}/well-known"]));
        let web = Web::start(vec![site]);
        let crawl = Place::new();
        crawl.crawl_by(settings, &[&[&*web.url(0, "/")], arguments].concat());
        assert_eq!(asked(&web, 0), expected, "{robots:?} {settings:?}");
    };
    let named = "Sitemap: {host0}/own.xml";
    let off = "[crawl]\nsitemaps = \"off\"";
    let well_known = "[crawl]\nsitemaps = \"well-known\"";
    check(named, &[], "", &["/", "/own", "/own.xml"]);
    check(named, &[], off, &["/"]);
    check("", &[], "", &["/"]);
    check("", &[], well_known, &["/", "/sitemap.xml", "/well-known"]);
    check(named, &[], well_known, &["/", "/own", "/own.xml"]);
    // Seeds alone: what a sitemap lists would be a link away.
    check(named, &["--max-depth", "0"], "", &["/"]);
    let at_a_host = "[[domain]]\nmatch = [\"127.0.7.1\"]\ncrawl.sitemaps = \"off\"";
    check(named, &[], at_a_host, &["/"]);
    check(named, &["--robots", "ignore"], "", &["/"]);
}

#[test]
fn a_sitemap_or_a_feed_can_be_a_seed() {
    let feed = "<rss><channel><item><link>{host0}/entry</link></item></channel></rss>";
    let site = leaves()
        .robots("")
        .page("/map", sitemap(&["{host0}/listed"]))
        .page("/feed", as_xml(feed.to_owned()));
    let web = Web::start(vec![site]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/map"), &web.url(0, "/feed")]);
    assert_eq!(asked(&web, 0), ["/entry", "/feed", "/listed", "/map"]);
    let pages: Vec<String> = crawl.pages().into_keys().collect();
    assert_eq!(pages, [web.url(0, "/entry"), web.url(0, "/listed")]);
}

#[test]
fn a_sitemap_may_be_elsewhere_but_leads_nowhere_else() {
    let site = leaves()
        .robots("Sitemap: {host1}/map.xml\nSitemap: /moved.xml\n")
        .page("/moved.xml", Answer::redirect(302, "{host1}/other.xml"));
    let other = leaves()
        .robots("User-agent: *\nDisallow: /private\nSitemap: {host1}/its-own.xml")
        .page("/map.xml", index(&["/sub.xml", "{host2}/sub.xml"]))
        .page("/sub.xml", sitemap(&["{host0}/x", "{host1}/y"]))
        .page("/other.xml", sitemap(&["{host0}/moved"]));
    let web = Web::start(vec![site, other, leaves().robots("")]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/"), "--allow-private"]);
    assert_eq!(asked(&web, 0), ["/", "/moved", "/moved.xml", "/x"]);
    assert_eq!(asked(&web, 1), ["/map.xml", "/other.xml", "/sub.xml"]);
    assert!(asked(&web, 2).is_empty());
}

/// Each language of a page names the others, and itself.
#[test]
fn languages_of_a_page_are_pages() {
    let alternates: String = ["de", "en", "fr"]
        .map(|it| format!("<xhtml:link rel='alternate' hreflang='{it}' href='{{host0}}/{it}'/>"))
        .concat();
    let entry = |it: &str| format!("<url><loc>{{host0}}/{it}</loc>{alternates}</url>");
    let xml = format!(
        "<urlset xmlns:xhtml='http://www.w3.org/1999/xhtml'>{}{}</urlset>",
        entry("de"),
        entry("en")
    );
    let web = Web::start(vec![
        leaves()
            .robots("Sitemap: {host0}/map.xml")
            .page("/map.xml", as_xml(xml)),
    ]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/")]);
    assert_eq!(asked(&web, 0), ["/", "/de", "/en", "/fr", "/map.xml"]);
    let counters = crawl.status().counters;
    assert_eq!(counters.sitemap_entries, 2);
    assert_eq!(counters.links["admitted"], 3 + 1 + 1);
    assert_eq!(counters.links.get("known"), None);
}

#[test]
fn of_a_broken_sitemap_counts_what_can_be_read() {
    let cut = "<urlset><url><loc>{host0}/one</loc></url><url><loc>{host0}/tw";
    let site = leaves().robots("Sitemap: {host0}/cut.xml\nSitemap: {host0}/none.xml\nSitemap: {host0}/gone.xml\nSitemap: {host0}/list.txt")
        .page("/cut.xml", as_xml(cut.to_owned()))
        .page("/none.xml", Answer::html(page("none", &["/not-a-link"])))
        .page("/list.txt", Answer::text("{host0}/from-text\n"))
        .page("/gone.xml", Answer::status(404));
    let web = Web::start(vec![site]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/")]);
    let log = crawl.log();
    let line = |path: &str| {
        let line = log.iter().find(|it| it.url == web.url(0, path));
        line.expect("it was visited")
    };
    let note = |path: &str| line(path).annotation.clone().unwrap_or_default();
    for path in ["/cut.xml", "/gone.xml", "/list.txt"] {
        assert_eq!(line(path).verdict, "sitemap");
    }
    assert!(
        note("/cut.xml").contains("; the file ends inside"),
        "{log:?}"
    );
    assert!(note("/none.xml").contains("not a sitemap"), "{log:?}");
    assert_eq!(note("/gone.xml"), "");
    let mut pages: Vec<String> = crawl.pages().into_keys().collect();
    pages.retain(|url| *url != web.url(0, "/"));
    // What is no sitemap is a page.
    let expected = ["/from-text", "/none.xml", "/not-a-link", "/one"];
    assert_eq!(pages, expected.map(|path| web.url(0, path)));
}

#[test]
fn sitemaps_of_a_host_and_indexes_in_a_row_are_bounded() {
    // Each index names the next, and a sitemap of one page.
    let endless = |number: usize| {
        let next = format!("{{host0}}/index{}", number + 1);
        let leaf = format!("{{host0}}/map{number}");
        index(&[&leaf, &next])
    };
    let site = || {
        let mut site = leaves().robots("Sitemap: {host0}/index0");
        for number in 0..9 {
            let page = format!("{{host0}}/page{number}");
            site = site
                .page(&format!("/index{number}"), endless(number))
                .page(&format!("/map{number}"), sitemap(&[&page]));
        }
        site
    };
    let pages = |settings: &str| {
        let web = Web::start(vec![site()]);
        let crawl = Place::new();
        crawl.crawl_by(settings, &[&web.url(0, "/")]);
        let links = crawl.status().counters.links;
        (crawl.pages().len() - 1, links)
    };
    let (found, links) = pages("");
    assert_eq!((found, links["too-many-indexes"]), (3, 2));
    let (found, links) = pages("[crawl]\nmax_sitemaps = 2\n");
    assert_eq!((found, links["too-many-sitemaps"]), (1, 1));
}

#[test]
fn a_page_that_a_sitemap_calls_changed_is_due() {
    let site = leaves()
        .robots("")
        .page("/", Answer::html(page("home", &["/x"])))
        .page("/x", Answer::html(page("x", &["/map.xml"])))
        .page_with("/map.xml", |_| {
            let now = jiff::Timestamp::now();
            as_xml(format!(
                "<urlset><url><loc>{{host0}}/x</loc><lastmod>{now}</lastmod></url>\
                 <url><loc>{{host0}}/</loc><lastmod>2001-01-01</lastmod></url></urlset>"
            ))
        });
    let web = Web::start(vec![site]);
    let crawl = Place::new();
    let settings = "[politeness]\ndelay = \"0s\"\n[revisit]\nmin_interval = \"1ms\"\n";
    let running = crawl.daemon_by(settings, &[&web.url(0, "/")]);
    // robots.txt, the home page, x, the sitemap, and x again.
    assert!(web.wait_for_requests(5, PATIENCE));
    running.signal(Signal::TERM);
    running.end().expect(0);
    assert_eq!(asked(&web, 0), ["/", "/map.xml", "/x", "/x"]);
}

#[test]
fn a_sitemap_is_read_again_and_what_is_new_in_it_visited() {
    let before = sitemap(&["{host0}/x"]);
    let after = sitemap(&["{host0}/x", "{host0}/new"]);
    let site = leaves()
        .robots("Sitemap: {host0}/map.xml")
        .page_in_turn("/map.xml", vec![before, after]);
    let web = Web::start(vec![site]);
    let crawl = Place::new();
    let settings =
        "[politeness]\ndelay = \"0s\"\n[revisit]\nmode = \"fixed\"\ninterval = \"100ms\"\n";
    let running = crawl.daemon_by(settings, &[&web.url(0, "/")]);
    let mut requests = 4;
    while !asked(&web, 0).contains(&"/new".to_owned()) {
        requests += 1;
        assert!(web.wait_for_requests(requests, PATIENCE));
    }
    running.signal(Signal::TERM);
    running.end().expect(0);
    let counters = crawl.status().counters;
    assert_eq!((counters.sitemaps, counters.sitemap_entries), (1, 1));
}

/// What a sitemap lists is committed in parts, here two, before the sitemap itself is over.
#[test]
fn a_kill_between_the_parts_of_a_sitemap_loses_and_doubles_nothing() {
    let urls: Vec<String> = (0..5_100).map(|n| format!("{{host0}}/x{n}")).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let listed = sitemap(&urls);
    for commit in 3..=6 {
        let site = leaves()
            .robots("User-agent: *\nDisallow: /x\nSitemap: {host0}/map.xml")
            .page("/map.xml", listed.clone());
        let web = Web::start(vec![site]);
        let crawl = Place::new();
        let seed = web.url(0, "/");
        let failpoint = format!("committed:{commit}");
        let killed = run(crawl.command(&[&seed, "--failpoint", &failpoint]));
        assert_ne!(killed.code, 0, "{killed:#?}");
        crawl.crawl(&[&seed]);
        let counters = crawl.status().counters;
        let visited = (counters.forbidden, counters.pages, counters.sitemaps);
        assert_eq!(visited, (5_100, 1, 1), "killed after commit {commit}");
        assert_eq!(counters.queued, 0, "killed after commit {commit}");
        let mut forbidden: Vec<String> = crawl.log().into_iter().map(|line| line.url).collect();
        forbidden.retain(|url| url.contains("/x"));
        forbidden.sort();
        forbidden.dedup();
        assert_eq!(forbidden.len(), 5_100);
    }
}
