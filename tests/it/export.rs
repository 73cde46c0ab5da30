//! `gleaner export`: what `gleaner pages` tells, in files for others, beside a running crawl, of
//! several crawls, and piece by piece.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use gleaner::archive::{ReadRecord, records};
use rustix::process::Signal;
use serde_json::Value;

use crate::crawl::Crawled;
use crate::recovery::copy;
use crate::run::{Output, PATIENCE, Place, gleaner, kind, linking, numbered, page, run, text};
use crate::web::{Answer, Web};

/// Exports the crawls of some places to a file of the first.
pub(crate) fn export(places: &[&Place], name: &str, arguments: &[&str]) -> (Output, PathBuf) {
    let path = places[0].data().with_file_name(name);
    let mut command = gleaner(&[&["export"], arguments].concat());
    command.arg("-o").arg(&path).arg("--data-dir");
    command.args(places.iter().map(|place| place.data()));
    (run(command), path)
}

/// The lines of an export as JSON.
pub(crate) fn lines(places: &[&Place], name: &str, arguments: &[&str]) -> Vec<Value> {
    let arguments = [&["--format", "jsonl"], arguments].concat();
    let (output, path) = export(places, name, &arguments);
    output.expect(0);
    let text = fs::read_to_string(path).expect("it is written");
    let value = |line| serde_json::from_str(line).expect("it is JSON");
    text.lines().map(value).collect()
}

fn urls(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| text(line, "url")).collect()
}

/// What a worker has taken over refers to files of the one before: these are found among the
/// directories of that shard that are given, and of no other.
#[test]
fn texts_of_a_shard_are_found_in_the_directories_of_other_workers() {
    let Crawled { crawl, .. } = Crawled::new(3, 14, 31, "");
    let expected = crawl.told(&[]);
    let has_text = |line: &&Value| line["text"].as_str().is_some_and(|it| !it.is_empty());
    let count = expected.iter().filter(has_text).count();
    assert!(count > 0);
    let place = crawl.data().with_file_name("workers");
    for (worker, shard) in [("w1", "03"), ("w2", "03"), ("w3", "04")] {
        let directory = place.join(worker);
        copy(&crawl.data(), &directory.join("shards").join(shard));
        let called = format!("{{\"name\":\"{worker}\",\"machine\":\"m\"}}");
        fs::write(directory.join("worker.json"), called).expect("it is written");
    }
    let first = place.join("w1/shards/03");
    for archive in ["warc", "texts"] {
        fs::remove_dir_all(first.join(archive)).expect("it is removed");
        fs::create_dir(first.join(archive)).expect("it is made");
    }
    let texts = |other: &str, name: &str| {
        let path = place.join(name);
        let mut command = gleaner(&["export", "--format", "jsonl"]);
        command.arg("-o").arg(&path).arg("--data-dir").arg(&first);
        command.arg(place.join(other));
        run(command).expect(0);
        let text = fs::read_to_string(path).expect("it is written");
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("it is JSON"))
            .collect();
        lines.iter().filter(has_text).count()
    };
    assert_eq!(texts("w3/shards/04", "another.jsonl"), count);
    assert_eq!(texts("w2/shards/03", "same.jsonl"), 2 * count);
}

#[test]
fn lines_are_those_of_pages_and_say_more() {
    let Crawled { crawl, .. } = Crawled::new(3, 14, 31, "");
    let told = crawl.told(&[]);
    let marked = crawl.told(&["--format", "markdown"]);
    let all = lines(&[&crawl], "all.jsonl", &[]);
    assert_eq!(all.len(), told.len());
    for ((line, told), marked) in all.iter().zip(&told).zip(&marked) {
        for (field, value) in told.as_object().expect("an object") {
            assert_eq!(&line[field], value, "{field}");
        }
        if !marked["markdown"].is_null() {
            assert_eq!(line["markdown"], marked["markdown"]);
        }
        let file = crawl
            .data()
            .join("warc")
            .join(text(&line["record"], "file"));
        let offset = line["record"]["offset"].as_u64();
        let mut records = records(file)
            .expect("it is there")
            .map(|it| it.expect("whole"));
        let record = records
            .find(|it| Some(it.offset) == offset)
            .expect("a record");
        assert_eq!(
            line["warc_record_id"].as_str(),
            record.header("WARC-Record-ID")
        );
        assert_eq!(line["kept"].is_null(), line["text"].is_null());
    }
    let unique = lines(&[&crawl], "unique.jsonl", &["--unique"]);
    assert_eq!(unique.len(), crawl.told(&["--unique"]).len());
    assert!(unique.len() < all.len());
    // Some fields, in the order in which they are asked for.
    let (output, path) = export(
        &[&crawl],
        "some.jsonl",
        &["--format", "jsonl", "--fields", "verdict,url,group"],
    );
    output.expect(0);
    let some = fs::read_to_string(path).expect("it is written");
    let first = format!(
        "{{\"verdict\":{},\"url\":{},\"group\":null}}",
        all[0]["verdict"], all[0]["url"]
    );
    assert_eq!(some.lines().next(), Some(&*first));
    let refused = export(
        &[&crawl],
        "no.jsonl",
        &["--format", "jsonl", "--fields", "url,bytes"],
    );
    refused.0.expect(2).says(&["\"bytes\"", "warc_record_id"]);
    let refused = export(&[&crawl], "all.jsonl", &["--format", "jsonl"]);
    refused.0.expect(2).says(&["is there already"]);
}

#[test]
fn several_crawls_are_one_export_and_the_next_goes_on() {
    let web = Web::start(vec![linking(&numbered(8))]);
    let places = [Place::new(), Place::new()];
    places[0].crawl(&[&web.url(0, "/"), "--max-pages", "5"]);
    places[1].crawl(&[&web.url(0, "/"), "--max-pages", "3"]);
    let both = [&places[0], &places[1]];
    let first = lines(&both, "first.jsonl", &[]);
    let told: Vec<Value> = both.iter().flat_map(|place| place.told(&[])).collect();
    assert_eq!(urls(&first), urls(&told));
    places[0].crawl(&[]);
    places[1].crawl(&[]);
    let manifest = places[0].data().with_file_name("first.jsonl.manifest.json");
    let said: Value =
        serde_json::from_slice(&fs::read(&manifest).expect("it is written")).expect("it is JSON");
    assert_eq!(said["files"][0]["pages"], first.len());
    let manifest = manifest.to_str().expect("it is ASCII");
    let second = lines(&both, "second.jsonl", &["--after", manifest]);
    let mut seen: Vec<&str> = [urls(&first), urls(&second)].concat();
    assert_eq!(seen.len(), 2 * 9, "nothing is there twice for a crawl");
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 9);
    // A position is one of one crawl.
    let position = text(&first[1], "position");
    let rest = lines(&both[..1], "rest.jsonl", &["--after", position]);
    assert_eq!(rest.len(), 9 - 2);
    let refused = |after: &str, reason: &str| {
        let (output, _) = export(&both, "no.jsonl", &["--format", "jsonl", "--after", after]);
        output.expect(2).says(&[reason]);
    };
    refused(position, "of one crawl");
    let other = places[0].file("other.json", "[]");
    refused(&other, "is no manifest");
}

#[test]
fn beside_a_crawl_what_is_committed_is_exported() {
    let web = Web::start(vec![linking(&numbered(20))]);
    web.hold_after(6);
    let crawl = Place::new();
    let running = crawl.start(&[&web.url(0, "/")]);
    assert!(web.wait_for_requests(7, PATIENCE));
    let mut follower = crawl.follow(&[]);
    let first: Vec<_> = follower.by_ref().take(5).collect();
    let so_far = lines(&[&crawl], "so-far.jsonl", &[]);
    assert_eq!(urls(&so_far), first);
    running.signal(Signal::TERM);
    web.release();
    running.end().expect(0);
    follower.running.end().expect(0);
    let manifest = crawl.data().with_file_name("so-far.jsonl.manifest.json");
    let manifest = manifest.to_str().expect("it is ASCII");
    let rest = lines(&[&crawl], "rest.jsonl", &["--after", manifest]);
    let seen: BTreeSet<&str> = urls(&so_far).into_iter().chain(urls(&rest)).collect();
    assert_eq!(seen.len(), so_far.len() + rest.len());
    let all = crawl.pages();
    assert!(seen.into_iter().eq(all.keys().map(String::as_str)));
}

#[test]
fn texts_are_records_that_refer_to_their_pages() {
    let words = "A harvest is what gleaners come after, when the reapers have left the field. ";
    let body = |end: &str| {
        format!(
            "<html lang=en><title>t</title><main><p>{}{end}",
            words.repeat(9)
        )
    };
    let web = Web::start(vec![
        linking(&["/a", "/copy", "/gone", "/picture"])
            .page("/a", Answer::html(body("")))
            .page("/copy", Answer::html(body("")))
            .page(
                "/picture",
                Answer::with_type(200, "image/png", b"\x89PNG\r\n\x1a\n".into()),
            )
            .page("/empty", Answer::status(204)),
    ]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/")]);
    let told = crawl.told(&[]);
    let wet = |name: &str, arguments: &[&str]| -> Vec<Vec<ReadRecord>> {
        let arguments = [&["--format", "wet"], arguments].concat();
        let (output, path) = export(&[&crawl], name, &arguments);
        output.expect(0);
        let manifest = fs::read(path.with_added_extension("manifest.json")).expect("one");
        let manifest: Value = serde_json::from_slice(&manifest).expect("it is JSON");
        let files = manifest["files"].as_array().expect("a list").iter();
        let read = |file: &Value| {
            let records = records(path.with_file_name(text(file, "name"))).expect("it is there");
            records.map(|it| it.expect("it is whole")).collect()
        };
        files.map(read).collect()
    };
    let files = wet("texts.warc.wet.gz", &[]);
    let records = &files[0];
    assert_eq!((files.len(), kind(&records[0])), (1, "warcinfo"));
    assert_eq!(
        records[0].header("WARC-Filename"),
        Some("texts.warc.wet.gz")
    );
    let texts: Vec<&Value> = told
        .iter()
        .filter(|page| page["text"].as_str().is_some_and(|it| !it.is_empty()))
        .collect();
    let targets = records.iter().filter_map(|it| it.header("WARC-Target-URI"));
    let expected = texts.iter().map(|page| text(page, "url"));
    assert_eq!(targets.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    let known = crawl.records();
    for (record, page) in records[1..].iter().zip(texts) {
        assert_eq!(kind(record), "conversion");
        assert_eq!(record.header("WARC-Target-URI"), page["url"].as_str());
        assert_eq!(record.header("WARC-Date"), page["time"].as_str());
        assert_eq!(record.block, text(page, "text").as_bytes());
        assert_eq!(record.block_is_intact(), Some(true));
        let of = record.header("WARC-Refers-To").expect("it says of what");
        let of = known
            .iter()
            .find(|it| it.header("WARC-Record-ID") == Some(of));
        let of = of.expect("the record is in the archive");
        assert_eq!(Some(of.offset), page["record"]["offset"].as_u64());
        let language = record.header("WARC-Identified-Content-Language");
        let expected = (page["language"] == "en").then_some("eng");
        assert_eq!(language, expected, "{page}");
    }
    // In files of one page each, originals only.
    let files = wet("split.warc.wet.gz", &["--unique", "--max-size", "1B"]);
    assert!(files.iter().all(|records| records.len() == 2), "{files:#?}");
    let unique = crawl.told(&["--unique"]);
    let has_text = |page: &&Value| page["text"].as_str().is_some_and(|it| !it.is_empty());
    assert_eq!(files.len(), unique.iter().filter(has_text).count());
}

#[test]
fn filters_choose_pages() {
    let web = Web::start(vec![
        linking(&["/a", "/gone"]).page("/a", Answer::html(page("a", &[]))),
    ]);
    let crawl = Place::new();
    crawl.crawl(&[&web.url(0, "/")]);
    let all = lines(&[&crawl], "all.jsonl", &[]);
    let check = |name: &str, arguments: &[&str], wanted: &dyn Fn(&Value) -> bool| {
        let found = lines(&[&crawl], name, arguments);
        let expected: Vec<Value> = all.iter().filter(|line| wanted(line)).cloned().collect();
        assert_eq!(found, expected, "{arguments:?}");
    };
    check("1", &["--status", "2xx"], &|line| line["status"] == 200);
    check("2", &["--status", "404,301"], &|line| line["status"] == 404);
    check("3", &["--scheme", "https"], &|_| false);
    check("4", &["--host", "example.org"], &|_| false);
    let time = text(&all[1], "time");
    check("5", &["--since", time], &|line| text(line, "time") >= time);
    check("6", &["--until", time], &|line| text(line, "time") < time);
    check("7", &["--min-words", "3"], &|line| {
        line["words"].as_u64() >= Some(3)
    });
    let refused = |arguments: &[&str], reason: &str| {
        let arguments = [&["--format", "jsonl"], arguments].concat();
        export(&[&crawl], "no", &arguments)
            .0
            .expect(2)
            .says(&[reason]);
    };
    refused(&["--status", "9xx"], "a class of them such as 2xx");
    refused(&["--since", "now"], "2026-01-31");
    refused(&["--host", "a/b"], "more than a host name");
}
