//! What is kept: records that agree with themselves, with one another and with what was on the
//! wire.

use gleaner::archive::{Digest, ReadRecord};
use gleaner::dedup::{Fingerprints, Text};

use crate::crawl::Crawled;
use crate::run::{Place, about, field, kind, linking, numbered, only, page, payload_digest};
use crate::web::{Answer, Delivery, Kind, Site, Web};

/// Head of a record's HTTP message in lower case, and its payload.
fn http(record: &ReadRecord) -> (String, &[u8]) {
    let (head, payload) = record.http_parts().expect("an HTTP message");
    (String::from_utf8_lossy(head).to_lowercase(), payload)
}

#[test]
fn a_payload_is_kept_as_received_and_its_head_agrees() {
    let body = page("body", &[]).repeat(40);
    let deliver = |delivery| Answer::html(body.clone()).delivery(delivery);
    let other = |name: &str| body.replace("body", name);
    let web = Web::start(vec![
        linking(&["/gzip", "/chunked", "/close", "/both", "/cut"])
            .page("/gzip", Answer::gzip(other("packed")))
            .page("/chunked", deliver(Delivery::Chunked))
            .page(
                "/close",
                Answer::html(other("closed")).delivery(Delivery::CloseDelimited),
            )
            .page(
                "/both",
                Answer::gzip(other("both")).delivery(Delivery::Chunked),
            )
            .page(
                "/cut",
                Answer::html(other("cut")).delivery(Delivery::ResetMidBody),
            ),
    ]);
    let crawl = Place::new();
    crawl.crawl_by("politeness.backoff = \"1ms\"", &[&web.url(0, "/")]);
    let records = crawl.records();
    let response = |path: &str| only(&records, "response", &web.url(0, path));

    let (head, payload) = http(response("/gzip"));
    assert!(head.contains("\r\ncontent-encoding: gzip\r\n"), "{head}");
    assert_eq!(payload[..2], [0x1f, 0x8b], "kept as received");
    assert_eq!(payload_digest(response("/gzip")), Digest::of(payload));

    let (head, payload) = http(response("/chunked"));
    assert!(!head.contains("transfer-encoding"), "{head}");
    assert_eq!(payload, body.as_bytes());

    let (head, payload) = http(response("/both"));
    assert!(head.contains("content-encoding: gzip"), "{head}");
    assert!(!head.contains("transfer-encoding"), "{head}");
    assert_eq!(payload[..2], [0x1f, 0x8b]);

    let (_, payload) = http(response("/close"));
    assert_eq!(payload, other("closed").as_bytes());

    // A body that broke off says so, and is no original.
    let cut = response("/cut");
    assert_eq!(field(cut, "WARC-Truncated"), "disconnect");
    assert_eq!(crawl.pages()[&web.url(0, "/cut")].verdict, "ineligible");

    // Content that was packed is judged unpacked, and sizes are those of the wire.
    let log = crawl.pages();
    let line = &log[&web.url(0, "/gzip")];
    assert_eq!(line.verdict, "unique");
    assert_eq!(line.size, http(response("/gzip")).1.len() as u64);
    assert_eq!(line.mime.as_deref(), Some("text/html; charset=utf-8"));
    assert_eq!(line.via, Some(web.url(0, "/")));
    assert_eq!(line.path, "L");
}

#[test]
fn a_request_record_is_what_the_server_received() {
    const AGENT: &str = "Tester/2 (+http://127.0.0.1/)";
    let site = linking(&["/%7eme?b=2&amp;a=1#x", "/moved"]);
    let web = Web::start(vec![site.page("/moved", Answer::redirect(301, "/there"))]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/"), "--user-agent", AGENT]);
    let records = crawl.records();
    let requests = web.requests();
    assert_eq!(requests.len(), 5);
    for request in requests {
        let record = only(&records, "request", &web.url(0, &request.path));
        assert_eq!(
            String::from_utf8_lossy(&record.block),
            String::from_utf8_lossy(&request.head)
        );
        let response = only(&records, "response", &web.url(0, &request.path));
        assert_eq!(
            field(record, "WARC-Concurrent-To"),
            field(response, "WARC-Record-ID")
        );
        assert_eq!(field(response, "WARC-IP-Address"), "127.0.7.1");
        let agent = request.header("User-Agent");
        assert_eq!(agent.as_deref(), Some(AGENT));
    }
}

/// The name and value of a line of `application/warc-fields`.
fn fields_value(record: &ReadRecord, name: &str) -> String {
    let text = String::from_utf8(record.block.clone()).expect("fields are UTF-8");
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    value
        .unwrap_or_else(|| panic!("no {name} in {text}"))
        .to_owned()
}

/// Crawls a web of all kinds of duplicates with a policy: `kept` says whether the body of a
/// duplicate of a kind is stored.
fn check_policy(policy: Option<&str>, kept: impl Fn(Kind) -> bool) {
    let settings = policy.map(|policy| format!("archive.store = \"{policy}\""));
    let crawled = Crawled::new(3, 12, 5, &settings.unwrap_or_default());
    let expected = &crawled.expected;
    let records = crawled.crawl.records();
    let pages = crawled.crawl.pages();
    let mut duplicates = 0;
    for (cluster, cluster_kind) in expected.clusters.iter().zip(&expected.kinds) {
        for place in cluster {
            let fetched = pages.iter().find(|(url, _)| crawled.place(url) == *place);
            let (url, line) = fetched.expect("every page was fetched");
            let count = |kind| about(&records, kind, url).len();
            let stored = count("response");
            if line.verdict == "unique" {
                // What was visited again and had not changed has a revisit record too, or the
                // same body once more.
                let visits = stored + count("revisit");
                assert!(stored >= 1 && visits <= 2, "{url}");
                assert_eq!(count("request"), visits, "{url}");
                assert_eq!((count("metadata"), count("conversion")), (0, 0), "{url}");
                continue;
            }
            duplicates += 1;
            assert_eq!(stored == 1, kept(*cluster_kind), "{policy:?} {line:?}");
            let original = line.original.as_deref().expect("a duplicate has one");
            if *cluster_kind == Kind::Copy {
                assert_eq!(count("revisit") + stored, 1, "{policy:?} {line:?}");
                if stored == 0 {
                    let revisit = only(&records, "revisit", url);
                    assert_eq!(field(revisit, "WARC-Refers-To-Target-URI"), original);
                }
                continue;
            }
            let metadata = only(&records, "metadata", url);
            assert_eq!(fields_value(metadata, "verdict"), line.verdict.name());
            assert_eq!(fields_value(metadata, "original"), original);
            // An original that was visited again may be stored once more.
            let named = fields_value(metadata, "original-record");
            let mut of_original = about(&records, "response", original).into_iter();
            assert!(
                of_original.any(|it| field(it, "WARC-Record-ID") == named),
                "{line:?}"
            );
            let distance: u32 = fields_value(metadata, "distance")
                .parse()
                .expect("a number");
            assert_eq!(distance > 0, *cluster_kind == Kind::Near, "{line:?}");
            assert!(distance <= 10);

            // The verdict can be checked from the main text that is kept.
            let conversion = only(&records, "conversion", url);
            assert_eq!(
                field(conversion, "Content-Type"),
                "text/plain; charset=utf-8"
            );
            let text = String::from_utf8(conversion.block.clone()).expect("text is UTF-8");
            let normal = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(normal(&text), normal(&expected.texts[place]));
            let own = Fingerprints::of(b"", &Text::new(&text, &text));
            let described: Vec<_> = own.describe().collect();
            for name in ["simhash-64", "sketch", "sha256-content"] {
                let (_, value) = described
                    .iter()
                    .find(|(known, _)| *known == name)
                    .expect("a long text has both");
                assert_eq!(fields_value(metadata, name), *value);
            }
            let (a, b) = (
                fields_value(metadata, "simhash-64"),
                fields_value(metadata, "original-simhash-64"),
            );
            let hash = |text: &str| u64::from_str_radix(text, 16).expect("hexadecimal");
            assert_eq!((hash(&a) ^ hash(&b)).count_ones(), distance);
        }
    }
    // One for each kind at least.
    assert!(duplicates >= 4, "{duplicates}");
    for record in records.iter().filter(|it| kind(it) == "response") {
        let (head, _) = http(record);
        assert!(head.starts_with("http/1.1 "), "{head}");
    }
}

#[test]
fn by_default_the_bodies_of_duplicates_are_left_out() {
    check_policy(None, |_| false);
    check_policy(Some("unique"), |_| false);
}

#[test]
fn exact_only_keeps_the_bodies_of_all_but_copies() {
    check_policy(Some("exact-only"), |kind| kind != Kind::Copy);
}

#[test]
fn all_keeps_every_body() {
    check_policy(Some("all"), |_| true);
}

#[test]
fn files_are_begun_anew_at_their_size_and_stay_sound() {
    let web = Web::start(vec![linking(&numbered(30))]);
    let crawl = Place::new();
    let small = "[archive]\nmax_file = \"8KiB\"\nmax_log = \"2KiB\"\n";
    crawl.crawl_by(small, &[&web.url(0, "/"), "--max-pages", "11"]);
    crawl.crawl_by(small, &[]);
    let count = |directory: &str| {
        std::fs::read_dir(crawl.data().join(directory))
            .expect("the directory is there")
            .count()
    };
    assert!(count("warc") > 2, "{}", count("warc"));
    assert!(count("log") > 2, "{}", count("log"));
    assert_eq!(crawl.pages().len(), 31);
    let records = crawl.records();
    let responses = records.iter().filter(|it| kind(it) == "response").count();
    // All pages, and what the host has as its robots.txt.
    assert_eq!(responses, 32);
}

#[test]
fn what_is_no_text_is_kept_if_that_is_wanted() {
    let web = Web::start(vec![
        Site::new()
            .page("/", Answer::html(page("home", &["/picture", "/words"])))
            .page(
                "/picture",
                Answer::text("<a href=/not-a-link>x</a>").content_type("image/png"),
            )
            .page("/words", Answer::text("These are words, and no more.")),
    ]);
    let picture = web.url(0, "/picture");
    let kept = Place::new();
    kept.crawl(&[&web.url(0, "/")]);
    assert_eq!(kept.pages()[&picture].verdict, "unique");
    only(&kept.records(), "response", &picture);

    let left = Place::new();
    left.crawl_by("archive.other_types = false", &[&web.url(0, "/")]);
    let pages = left.pages();
    let line = &pages[&picture];
    assert_eq!(
        (line.verdict.name(), line.annotation.as_deref()),
        ("ineligible", Some("ineligible:kind"))
    );
    let records = left.records();
    let is_about_it = |record: &&ReadRecord| record.header("WARC-Target-URI") == Some(&picture);
    assert_eq!(records.iter().filter(is_about_it).count(), 0);
    only(&records, "response", &web.url(0, "/words"));
}

/// A player may take the head of the stored response for a revisit record's own, so a redirect must
/// not become a revisit of another one, nor a page with the words of an error one of that error.
/// `Place::records` checks each revisit record for that.
#[test]
fn a_revisit_refers_to_an_answer_that_plays_alike() {
    const SAME: &str = "<title>Gone</title><p>We are sorry that there is nothing here any more.";
    let missing = || Answer::with_type(404, "text/html", SAME.into());
    let moved = |target| Answer::redirect(302, target);
    let site = |links: &[&str]| {
        linking(links)
            .page("/to-a", moved("/a"))
            .page("/to-b", moved("/b"))
            .page("/to-c", moved("/c"))
            // It leads to its copy, which so comes behind it.
            .page("/a", Answer::html(page("a", &["/copy"])))
            .page("/b", Answer::html(page("b", &[])))
            .page("/c", Answer::status(204))
            .page("/d", Answer::status(204))
            .page("/soft", Answer::html(SAME))
            .page("/gone", missing())
            .page("/lost", missing())
            .page("/void", missing())
            .page("/typed", Answer::text(SAME))
            .page("/copy", Answer::html(page("a", &["/copy"])))
    };
    let links = [
        "/to-a", "/to-b", "/to-c", "/a", "/b", "/d", "/soft", "/gone", "/lost", "/void", "/typed",
    ];
    // The second crawl finds in its archive, and no longer in memory, what it compares with.
    let web = Web::start(vec![site(&links), site(&links)]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/")]);
    crawl.crawl(&[&web.url(1, "/")]);
    let records = crawl.records();
    let count =
        |kind: &str, host: usize, path: &str| about(&records, kind, &web.url(host, path)).len();
    for host in [0, 1] {
        for path in ["/to-a", "/to-b", "/to-c", "/c", "/d"] {
            let counts = ["response", "revisit"].map(|kind| count(kind, host, path));
            assert_eq!(counts, [1, 0], "{host} {path}");
        }
    }
    // An error that was answered before is stored once, whatever page has its words.
    let of = |path: &str| [0, 1].map(|host| count("response", host, path));
    assert_eq!(of("/soft").iter().sum::<usize>(), 1);
    let errors = ["/gone", "/lost", "/void"].map(of).concat();
    assert_eq!(errors.iter().sum::<usize>(), 1);
    let revisits = ["/gone", "/lost", "/void"].map(|path| count("revisit", 1, path));
    assert_eq!(revisits, [1, 1, 1]);
    assert_eq!(of("/copy"), [0, 0]);
}
