//! `gleaner pages`: what was committed, each page once, in order, with its text, beside a running
//! crawl and after it.

use std::collections::{BTreeMap, BTreeSet};

use gleaner::archive::{Limits, SegmentReader};
use gleaner::dedup::Text;
use rustix::process::Signal;
use serde_json::Value;

use insta::assert_snapshot;

use crate::crawl::Crawled;
use crate::run::{
    PATIENCE, Place, field, gleaner, kind, leaves, linking, numbered, page, run, text,
};
use crate::steady::steady;
use crate::web::{self, Answer, Web};

#[test]
fn every_page_is_told_with_its_verdict_its_place_and_its_text() {
    let Crawled {
        crawl, expected, ..
    } = Crawled::new(3, 14, 31, "");
    let all = crawl.told(&[]);
    let counters = crawl.status().counters;
    assert_eq!(all.len() as u64, counters.pages);
    let log = crawl.pages();
    let mut in_order = Vec::new();
    let mut members: BTreeMap<&str, usize> = BTreeMap::new();
    for page in &all {
        let line = &log[text(page, "url")];
        assert_eq!(page["status"], line.status);
        assert_eq!(page["verdict"], line.verdict.name());
        assert_eq!(page["original"].as_str(), line.original.as_deref());
        *members.entry(text(page, "verdict")).or_default() += 1;
        in_order.push(text(page, "url").to_owned());
    }
    let logged: Vec<_> = crawl.log().into_iter().map(|line| line.url).collect();
    let logged: Vec<_> = logged
        .into_iter()
        .filter(|url| log.contains_key(url))
        .collect();
    assert_eq!(in_order, logged, "in the order of commits");
    let copies = |kind| expected.copies(kind);
    let found = |verdict| members.get(verdict).copied().unwrap_or_default();
    assert_eq!(found("unique"), expected.clusters.len());
    assert_eq!(found("raw"), copies(web::Kind::Copy));
    assert_eq!(found("normalized"), copies(web::Kind::Markup));
    assert_eq!(found("content"), copies(web::Kind::Frame));
    assert_eq!(found("near"), copies(web::Kind::Near));
    assert_eq!(
        found("ineligible"),
        expected.redirects.len() + expected.missing.len()
    );

    let by_url: BTreeMap<&str, &Value> = all.iter().map(|page| (text(page, "url"), page)).collect();
    for page in &all {
        check_place(&crawl, page);
        match text(page, "verdict") {
            "ineligible" => assert_eq!(page["text"], Value::Null, "{page}"),
            "unique" => check_text(page, None),
            _ => check_text(page, Some(by_url[text(page, "original")])),
        }
    }

    let unique = crawl.told(&["--unique"]);
    assert_eq!(unique.len(), found("unique"));
    assert!(unique.iter().all(|page| page["verdict"] == "unique"));
    let without = crawl.told(&["--no-text"]);
    assert_eq!(without.len(), all.len());
    assert!(without.iter().all(|page| page["text"] == Value::Null));

    // A file that was moved away takes its texts with it, and nothing else.
    let file = crawl.warc();
    let file = file.file_name().unwrap_or_default().to_string_lossy();
    let warc = crawl.data().join("warc");
    std::fs::rename(&warc, warc.with_extension("away")).expect("they are ours");
    let output = crawl.ask(&["pages"]).expect(0);
    assert_eq!(output.stdout.lines().count(), all.len());
    let output = output.says(&[&file]);
    assert_eq!(output.stderr.lines().count(), 1, "said once: {output:?}");
}

/// What a page says of the archive is so.
#[track_caller]
fn check_place(crawl: &Place, page: &Value) {
    let record = &page["record"];
    let path = crawl.data().join("warc").join(text(record, "file"));
    let offset = record["offset"].as_u64().expect("a number");
    let found = SegmentReader::open_at(&path, offset, Limits::default())
        .expect("the file is there")
        .next()
        .expect("a record")
        .expect("it is whole");
    assert_eq!(kind(&found), text(record, "type"));
    assert_eq!(field(&found, "WARC-Target-URI"), text(page, "url"));
    assert_eq!(record["length"], found.length);
}

/// The text of a page is the one that was judged, wherever it was had from, and what it shares with
/// its original is what its verdict says.
#[track_caller]
fn check_text(page: &Value, original: Option<&Value>) {
    let judged = Text::new(text(page, "text"), text(page, "text"));
    let content = judged.content().map(hex::encode);
    let digests = &page["digests"];
    assert_eq!(content.as_deref(), digests["content"].as_str());
    assert_eq!(page["words"], judged.word_count());
    let Some(original) = original else {
        assert_eq!(page["distance"], Value::Null);
        return;
    };
    let bits = |page| u64::from_str_radix(text(page, "simhash"), 16).expect("hexadecimal");
    let distance = (bits(page) ^ bits(original)).count_ones();
    match text(page, "verdict") {
        "raw" => {
            assert_eq!(*digests, original["digests"]);
            assert_eq!(page["text"], original["text"]);
            assert_eq!(page["record"]["type"], "revisit");
        }
        "normalized" => assert_eq!(digests["normalized"], original["digests"]["normalized"]),
        "content" => assert_eq!(digests["content"], original["digests"]["content"]),
        _ => assert_eq!(page["distance"], distance),
    }
}

#[test]
fn pages_are_given_in_the_form_and_in_the_languages_that_are_asked_for() {
    let german = "<html lang=en><title>Haus</title><h1>Das Haus</h1><p>Der Hund und die Katze sind nicht in dem \
        <b>Haus</b>, das <a href=/x>f\u{fc}r beide</a> gebaut wurde, sondern im Garten.</p>";
    let english = "<html><title>House</title><h1>The house</h1><p>The dog and the cat are not in the house that \
        was built for them by the people of the village.</p>";
    let web = Web::start(vec![
        linking(&["/german", "/english", "/short"])
            .page("/german", Answer::html(german))
            .page("/english", Answer::html(english))
            .page("/short", Answer::html("<html lang=pt-BR><p>12:30")),
    ]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/"), "--delay", "20ms"]);
    let urls = |arguments: &[&str]| -> BTreeSet<String> {
        let told = crawl.told(arguments);
        told.iter()
            .map(|page| text(page, "url").to_owned())
            .collect()
    };
    let of = |paths: &[&str]| -> BTreeSet<String> {
        paths.iter().map(|path| web.url(0, path)).collect()
    };
    assert_eq!(urls(&["--language", "de"]), of(&["/german"]));
    assert_eq!(
        urls(&["--language", "de,pt", "--no-text"]),
        of(&["/german", "/short"])
    );

    // A name of a language would leave out all pages without a word.
    let refused = crawl.ask(&["pages", "--language", "deutsch"]).expect(2);
    refused.says(&["a code of two or three letters"]);
    let german = &crawl.told(&["--language", "de", "--format", "markdown"])[0];
    assert_eq!(
        (&german["language"], &german["declared_language"]),
        (&"de".into(), &"en".into())
    );
    assert_eq!(
        (&german["headline"], &german["text"]),
        (&"Das Haus".into(), &Value::Null)
    );
    let markdown = format!(
        "# Das Haus\n\nDer Hund und die Katze sind nicht in dem **Haus**, das [f\u{fc}r beide]({}) gebaut wurde, sondern im Garten.",
        web.url(0, "/x"),
    );
    assert_eq!(german["markdown"], markdown);

    // What extracts from the archive says the same, form by form.
    let archive = crawl.warc();
    for format in ["text", "markdown", "html"] {
        let told = crawl.told(&["--unique", "--format", format]);
        let archive = archive.to_str().expect("it is ours");
        let read = run(gleaner(&["extract", "--format", format, archive])).expect(0);
        let read: BTreeMap<String, Value> = (read.json_lines().into_iter())
            .map(|page| (text(&page, "url").to_owned(), page[format].clone()))
            .collect();
        assert!(!told.is_empty());
        for page in told {
            assert_eq!(page[format], read[text(&page, "url")], "{format}");
        }
    }
}

#[test]
fn what_a_page_says_of_itself_is_told() {
    let body = "<html lang=de><head><title> Der  Titel </title><link rel=canonical href=/echt>\
        </head><body><p>Ein Text mit genug W\u{f6}rtern, damit er gilt.</p><a href=/packed></a>\
        </body></html>";
    let web = Web::start(vec![
        linking(&["/x?utm_source=y&amp;a=1", "/z"])
            .page("/x?utm_source=y&a=1", Answer::html(body))
            // The same bytes once they are unpacked, not as they were sent. It is found there, so
            // it is the copy.
            .page("/packed", Answer::gzip(body))
            .page("/z", Answer::with_type(200, "image/png", vec![7; 99]))
            // `rel=canonical` is a link.
            .page(
                "/echt",
                Answer::text("W\u{f6}rter ohne Auszeichnung, f\u{fc}nf an der Zahl"),
            ),
    ]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/")]);
    let mut told = crawl.told(&[]);
    told.sort_by(|one, other| text(one, "url").cmp(text(other, "url")));
    assert_snapshot!("what_pages_say_of_themselves", steady(&told.into(), &web));
}

#[test]
fn a_follower_sees_each_page_once_also_over_a_kill() {
    let web = Web::start(vec![linking(&numbered(40))]);
    let crawl = Place::new();
    let config = crawl.file("config.toml", "[archive]\nmax_log = \"2KB\"\n");
    // robots.txt and so many pages are answered, the rest is held.
    web.hold_after(11);
    let first = crawl.start(&[&web.url(0, "/"), "--config", &config]);
    assert!(web.wait_for_requests(12, PATIENCE));
    let mut follower = crawl.follow(&[]);
    let mut seen: Vec<_> = follower.by_ref().take(10).collect();
    first.signal(Signal::KILL);
    first.end().expect(128 + 9);
    follower
        .running
        .wait_for_line("the last process that crawled here was killed");
    web.release();
    crawl.crawl(&["--config", &config]);
    seen.extend(&mut follower);
    follower.running.end().expect(0);
    assert!(std::fs::exists(crawl.data().join("log/fetch-000002.jsonl")).expect("it is ours"));
    let once: BTreeSet<_> = seen.iter().cloned().collect();
    assert_eq!(once.len(), seen.len(), "{seen:?}");
    assert_eq!(once, crawl.pages().into_keys().collect());
    assert_eq!(once.len(), 41);
}

#[test]
fn reading_beside_a_crawl_tells_what_is_committed_by_then() {
    let web = Web::start(vec![linking(&numbered(20))]);
    web.hold_after(6);
    let crawl = Place::new();
    let running = crawl.start(&[&web.url(0, "/")]);
    assert!(web.wait_for_requests(7, PATIENCE));
    // The host is visited one at a time: the page before the last is committed, or soon will be.
    let mut follower = crawl.follow(&[]);
    let first: Vec<_> = follower.by_ref().take(5).collect();
    let so_far = crawl.told(&[]);
    let urls: Vec<&str> = so_far.iter().map(|page| text(page, "url")).collect();
    assert_eq!(urls, first);
    running.signal(Signal::TERM);
    web.release();
    running.end().expect(0);
    let mut seen: BTreeSet<_> = first.into_iter().collect();
    assert!(follower.by_ref().all(|url| seen.insert(url)));
    follower.running.end().expect(0);
    assert_eq!(seen, crawl.pages().into_keys().collect());
}

#[test]
fn reading_goes_on_behind_any_position() {
    let web = Web::start(vec![linking(&numbered(12))]);
    let crawl = Place::new();
    let config = crawl.file("config.toml", "[archive]\nmax_log = \"2KB\"\n");
    crawl.crawl(&[&web.url(0, "/"), "--config", &config]);
    let all = crawl.told(&["--no-text"]);
    assert_eq!(all.len(), 13);
    for (at, page) in all.iter().enumerate() {
        let after = text(page, "position");
        assert_eq!(crawl.told(&["--no-text", "--after", after]), all[at + 1..]);
    }
    let refused = |position: &str, reason: &str| {
        crawl
            .ask(&["pages", "--after", position])
            .expect(2)
            .says(&["error: ", reason]);
    };
    refused("0:5", "no line ends there");
    refused("99:0", "beyond the end");
    refused("nonsense", "two numbers such as 0:1234");
}

#[test]
fn a_reader_that_leaves_ends_it_well_also_while_nothing_happens() {
    let web = Web::start(vec![linking(&numbered(20))]);
    web.hold_after(4);
    let crawl = Place::new();
    let _running = crawl.start(&[&web.url(0, "/")]);
    assert!(web.wait_for_requests(5, PATIENCE));
    let mut follower = crawl.follow(&["--unique"]);
    assert_eq!(follower.next(), Some(web.url(0, "/")));
    drop(follower.lines);
    follower.running.end().expect(0);
}

#[test]
fn a_page_that_is_visited_again_is_told_again() {
    let home = page("home", &[]);
    let answers = vec![
        Answer::html(home.clone()),
        Answer::html(home.replace("<p>", "<p class=other>")),
        Answer::status(501),
        Answer::html(home),
    ];
    let web = Web::start(vec![leaves().robots("").page_in_turn("/", answers)]);
    let crawl = Place::new();
    let config = "[politeness]\ndelay = \"0s\"\n[revisit]\nmode = \"fixed\"\ninterval = \"50ms\"\n";
    let running = crawl.daemon_by(config, &[&web.url(0, "/")]);
    // robots.txt, four visits that are over when the fifth begins.
    assert!(web.wait_for_requests(6, PATIENCE));
    running.signal(Signal::TERM);
    running.end().expect(0);
    let told = crawl.told(&[]);
    let verdicts: Vec<_> = told.iter().map(|page| text(page, "verdict")).collect();
    assert_eq!(
        verdicts[..4],
        ["unique", "unchanged", "ineligible", "unchanged"]
    );
    let kinds: Vec<_> = told[..4]
        .iter()
        .map(|page| text(&page["record"], "type"))
        .collect();
    assert_eq!(kinds, ["response", "metadata", "response", "revisit"]);
    assert_eq!(told[1]["text"], told[0]["text"]);
    assert_eq!(told[2]["text"], Value::Null);
    assert_eq!(told[3]["text"], told[0]["text"]);
    let why = crawl.ask(&["why", &web.url(0, "/"), "--json"]).json();
    assert_eq!(why["visit"]["verdict"], "unique");
    assert_eq!(why["visit"]["status"], 200);
    assert_eq!(why["visit"]["original_record"], told[0]["record"]);
}

#[test]
fn without_a_crawl_there_are_no_pages() {
    let crawl = Place::new();
    let output = crawl.ask(&["pages", "--follow"]).expect(3);
    output.says(&["there is no crawl in"]);
    std::fs::create_dir(crawl.data()).expect("it is ours");
    let version = crawl.data().join("version");
    std::fs::write(version, "gleaner data directory, format 1\n").expect("it is ours");
    let output = crawl.ask(&["pages"]).expect(3);
    output.says(&["has another format", "format 1"]);
}

#[test]
fn texts_are_measured_and_filtered_when_asked() {
    let sentence = "The old harbour of the town has a museum to which schools bring their pupils";
    let prose = |from: u32| -> String {
        let line = |number: u32| format!("<p>{sentence}, and that makes {}.</p>", number * 7_919);
        (from..from + 6).map(line).collect()
    };
    let long = format!("<h1>Harbour</h1>{}", prose(3)).replace("The old", "A quiet");
    let web = Web::start(vec![
        web::Site::new()
            .page("/", Answer::html(page("home", &["/long", "/gone"])))
            .page(
                "/long",
                Answer::html(format!("<html><body>{long}</body></html>")),
            ),
    ]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/")]);
    let measured = crawl.told(&["--quality", "--format", "markdown"]);
    assert_eq!(measured.len(), 3);
    for page in &measured {
        let has_text = page["markdown"].is_string();
        assert_eq!(page["quality"].is_object(), has_text, "{page}");
    }
    let of_long = (measured.iter()).find(|it| text(it, "url").ends_with("/long"));
    let quality = &of_long.expect("it was visited")["quality"];
    // Six lines of twenty words, two commas and points with them, and the headline.
    assert_eq!(quality["sentences"], 6, "{quality}");
    assert!(quality["words"].as_u64() > Some(100), "{quality}");
    assert_eq!(quality["curly_bracket"], false);
    assert!(crawl.told(&[]).iter().all(|it| it["quality"].is_null()));
    let passed = crawl.ask(&["pages", "--filter", "c4"]).expect(0).says(&[
        "filtered out: 2 of 3 pages",
        "  c4: 1 (too_few_sentences 1)",
        "  without a text: 1",
    ]);
    assert_eq!(passed.stdout.lines().count(), 1, "{passed:?}");
    assert!(passed.stdout.contains("/long"), "{passed:?}");
    let output = crawl.ask(&["pages", "--filter", "gopher,c5"]).expect(2);
    assert!(
        output.stderr.contains("gopher, c4 and fineweb"),
        "{output:?}"
    );
}
