//! Pages that are asked for only if they are others by now: what is sent, what a 304 is taken for,
//! and what the archive keeps of it.

use gleaner::archive::ReadRecord;

use crate::run::{PATIENCE, Place, about, field, kind, only, page};
use crate::web::{Answer, Request, Site, Web};

/// An answer with validators, or 304 where the request has them.
fn unless_known(request: &Request, etag: &str, answer: Answer) -> Answer {
    let is_known = request.header("If-None-Match").is_some_and(|it| it == etag);
    let answer = if is_known {
        Answer::status(304)
    } else {
        answer
    };
    answer.header("ETag", etag)
}

fn texts(of: &Place, url: &str) -> Vec<(u16, String, Option<String>)> {
    let lines = of.log().into_iter().filter(|line| line.url == url);
    lines
        .map(|line| (line.status, line.verdict.name().to_owned(), line.annotation))
        .collect()
}

fn profile(record: &ReadRecord) -> &str {
    field(record, "WARC-Profile")
        .rsplit('/')
        .next()
        .unwrap_or_default()
}

/// Crawls until each host was asked so often, revisiting at once.
fn revisit(crawl: &Place, web: &Web, requests: usize) {
    let config = "[politeness]\ndelay = \"0s\"\n[revisit]\nmode = \"fixed\"\ninterval = \"200ms\"\nmin_interval = \"1ms\"\nmax_interval = \"1h\"\n";
    let running = crawl.daemon_by(config, &[&web.url(0, "/")]);
    assert!(web.wait_for_requests(requests, PATIENCE));
    crawl.ask(&["stop"]).expect(0);
    running.end().expect(0);
}

const DATE: &str = "Fri, 20 Nov 2026 10:01:00 GMT";

/// A host whose pages have validators, but for one.
fn careful() -> Site {
    // The copy is found on what it copies, so it is never the original.
    let same = page("same", &["/copy"]);
    let copy = same.clone();
    Site::new()
        .robots("")
        .page_with("/", |request| {
            let links = ["/same", "/dated", "/edited", "/plain", "/sitemap.xml", "/empty"];
            unless_known(request, "\"home\"", Answer::html(page("home", &links)))
        })
        .page_with("/same", move |request| {
            unless_known(request, "W/\"same\"", Answer::html(&*same))
        })
        .page_with("/copy", move |request| {
            unless_known(request, "\"copy\"", Answer::html(&*copy))
        })
        .page_with("/dated", |request| {
            let is_known = request.header("If-Modified-Since").is_some_and(|it| it == DATE);
            match is_known {
                // It need not repeat what it was asked by.
                true => Answer::status(304),
                false => Answer::html(page("dated", &[])).header("Last-Modified", DATE),
            }
        })
        .page_with("/edited", |request| match request.header("If-None-Match") {
            None => Answer::html(page("first", &[])).header("ETag", "\"1\""),
            Some(_) => Answer::html(page("second", &[])).header("ETag", "\"2\""),
        })
        .page("/plain", Answer::html(page("plain", &[])))
        .page_with("/empty", |request| {
            unless_known(request, "\"empty\"", Answer::html(""))
        })
        .page_with("/sitemap.xml", |request| {
            let list = "<?xml version=\"1.0\"?><urlset \
                xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"><url><loc>{host0}/listed</loc></url></urlset>";
            unless_known(request, "\"list\"", Answer::text(list).content_type("application/xml"))
        })
        .page_with("/listed", |request| {
            unless_known(request, "\"listed\"", Answer::html(page("listed", &[])))
        })
}

#[test]
fn what_is_not_modified_stays_what_it_was() {
    let crawl = Place::new();
    let web = Web::start(vec![careful()]);
    // robots.txt, nine pages, and each of these again, twice.
    revisit(&crawl, &web, 1 + 9 + 9 + 9);

    let url = |path: &str| web.url(0, path);
    let unchanged = (304, "unchanged".to_owned(), Some("not-modified".to_owned()));
    for (path, first) in [
        ("/", "unique"),
        ("/same", "unique"),
        ("/copy", "raw"),
        ("/dated", "unique"),
    ] {
        let lines = texts(&crawl, &url(path));
        assert_eq!((lines[0].0, &*lines[0].1), (200, first), "{path}");
        assert_eq!(lines[1], unchanged, "{path}");
    }
    let lines = texts(&crawl, &url("/sitemap.xml"));
    assert_eq!((lines[1].0, &*lines[1].1), (304, "sitemap"));
    let lines = texts(&crawl, &url("/empty"));
    assert_eq!(&*lines[0].1, "ineligible");
    assert_eq!((lines[1].0, &*lines[1].1), (304, "ineligible"));
    let lines = texts(&crawl, &url("/edited"));
    assert_eq!((lines[1].0, &*lines[1].1), (200, "unique"));
    assert_eq!(texts(&crawl, &url("/plain"))[1].0, 200);

    // What was sent: nothing the first time, then what was got.
    let requests = web.requests();
    let sent = |path: &str, name: &str| -> Vec<Option<String>> {
        let of = requests.iter().filter(|it| it.path == path);
        of.map(|it| it.header(name)).collect()
    };
    let etag = |text: &str| Some(text.to_owned());
    assert_eq!(
        sent("/same", "If-None-Match")[..2],
        [None, etag("W/\"same\"")]
    );
    assert_eq!(sent("/dated", "If-Modified-Since")[..2], [None, etag(DATE)]);
    assert_eq!(sent("/plain", "If-None-Match")[..2], [None, None]);
    let edited = sent("/edited", "If-None-Match");
    assert_eq!(edited[..2], [None, etag("\"1\"")]);
    assert!(edited.iter().skip(2).all(|it| *it == etag("\"2\"")));

    check_records(&crawl, &web);
    let counters = crawl.status().counters;
    assert_eq!(counters.pages, 8, "a page is counted once");
    assert_eq!(counters.revisits["changed"], 1, "{counters:?}");

    // What is told of the page is what was known.
    let line = crawl
        .log()
        .into_iter()
        .rfind(|line| line.url == url("/same"));
    let told = line.and_then(|line| line.page).expect("an answered page");
    assert_eq!(told.title.as_deref(), Some("same"));
    let text = told.text.expect("its text is in the archive");
    assert_eq!(text.kind, gleaner::archive::RecordKind::Response);
}

/// What is kept: one body, and a record for each answer without one.
#[track_caller]
fn check_records(crawl: &Place, web: &Web) {
    let url = |path: &str| web.url(0, path);
    let records = crawl.records();
    for path in ["/", "/same", "/dated"] {
        let response = only(&records, "response", &url(path));
        let revisits = about(&records, "revisit", &url(path));
        assert!(!revisits.is_empty(), "{path}");
        for revisit in revisits {
            assert_eq!(profile(revisit), "server-not-modified");
            let same = |name, of| assert_eq!(field(revisit, name), field(response, of));
            same("WARC-Refers-To", "WARC-Record-ID");
            same("WARC-Refers-To-Date", "WARC-Date");
            // Players would show its head in place of the page's.
            assert!(revisit.block.is_empty(), "{revisit:?}");
            let id = field(revisit, "WARC-Record-ID");
            let request = (records.iter())
                .find(|it| kind(it) == "request" && field(it, "WARC-Concurrent-To") == id)
                .expect("what was asked");
            let head = String::from_utf8_lossy(&request.block);
            let asked =
                head.contains("\r\nif-none-match: ") || head.contains("\r\nif-modified-since: ");
            assert!(asked, "{head}");
        }
    }
    // A copy refers to the response that has its bytes.
    let revisits = about(&records, "revisit", &url("/copy"));
    let original = only(&records, "response", &url("/same"));
    assert!(revisits.len() >= 2);
    for revisit in revisits {
        assert_eq!(
            field(revisit, "WARC-Refers-To"),
            field(original, "WARC-Record-ID")
        );
    }
}

/// A copy whose original is gone is asked for its body again, whatever it was before.
#[test]
fn a_copy_of_what_is_gone_is_asked_for_whole() {
    let crawl = Place::new();
    // The copy is found on what it copies, so it is never the original.
    let same = page("same", &["/copy"]);
    let copy = same.clone();
    let site = Site::new()
        .robots("")
        .page("/", Answer::html(page("home", &["/same"])))
        .page_in_turn("/same", vec![Answer::html(&*same), Answer::status(404)])
        .page_with("/copy", move |request| {
            unless_known(request, "\"copy\"", Answer::html(&*copy))
        });
    let web = Web::start(vec![site]);
    revisit(&crawl, &web, 1 + 3 + 3 + 3 + 2);
    let lines = texts(&crawl, &web.url(0, "/copy"));
    assert_eq!(&*lines[0].1, "raw");
    // Whether a question on condition was on its way then is chance; it is not the last.
    let whole = lines
        .iter()
        .skip(1)
        .find(|line| line.0 == 200)
        .expect("its body");
    assert_eq!(&*whole.1, "unique");
    crawl.records();
}
