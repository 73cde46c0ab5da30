//! What `gleaner dedup` leaves: the deduplicated WARC files and lines of `-o`, and the index that
//! lasts from run to run.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use gleaner::archive::{self, Digest, Original, ReadRecord, Record, RecordId};
use insta::assert_snapshot;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::corpus::{self, Visit, archive_of, capture, target};
use crate::run::{Output, Running, check_records, gleaner, run};

/// The records of what was written, the warcinfo of its file first, and those of texts last.
fn written(directory: &Path) -> Vec<ReadRecord> {
    let read = |file: &Path| -> Vec<ReadRecord> {
        let records = archive::records(file).expect("it is there");
        let records: Result<_, _> = records.collect();
        records.expect("every record is whole")
    };
    let mut records = read(&directory.join("deduplicated-00000000.warc.gz"));
    let is_text = |it: &ReadRecord| field(it, "WARC-Type") == "conversion";
    assert!(!records.iter().any(is_text), "each page is there once");
    let texts = directory.join("texts/texts-00000000.warc.gz");
    if texts.exists() {
        records.extend(read(&texts).into_iter().filter(is_text));
    }
    records
}

fn field<'a>(record: &'a ReadRecord, name: &str) -> &'a str {
    record.header(name).unwrap_or_default()
}

/// Checks records, and tells each in a line: what it is, about which page, and of which record.
/// What stands for a duplicate refers to a response, so to one that has its body.
fn summary(records: &[ReadRecord]) -> String {
    check_records(records);
    let path = |record: &ReadRecord| field(record, "WARC-Target-URI").replace(&target(""), "/");
    let mut lines = String::new();
    for record in records {
        let kind = field(record, "WARC-Type");
        let id = field(record, "WARC-Refers-To");
        let of = records.iter().find(|it| field(it, "WARC-Record-ID") == id);
        let of = of.map(|it| format!(" of the {} {}", field(it, "WARC-Type"), path(it)));
        let line = format!("{kind} {}{}", path(record), of.unwrap_or_default());
        lines.extend([line.trim_end(), "\n"]);
    }
    lines
}

/// The record of this kind about a page.
fn about<'a>(records: &'a [ReadRecord], kind: &str, path: &str) -> &'a ReadRecord {
    let is_it = |it: &&ReadRecord| {
        field(it, "WARC-Type") == kind && field(it, "WARC-Target-URI") == target(path)
    };
    let found = records.iter().find(is_it);
    found.unwrap_or_else(|| panic!("no {kind} of {path}"))
}

/// `gleaner dedup` on files.
pub(crate) fn run_on(arguments: &[&str], files: &[&Path]) -> Output {
    let mut command = gleaner(&[&["dedup"], arguments].concat());
    command.args(files);
    run(command)
}

/// Its verdicts.
pub(crate) fn dedup(arguments: &[&str], files: &[&Path]) -> Vec<Value> {
    let output = run_on(arguments, files).expect(0);
    assert!(output.stderr.is_empty(), "{output:?}");
    output.json_lines()
}

/// What it says to what it refuses.
#[track_caller]
pub(crate) fn refused(arguments: &[&str], files: &[&Path], says: &str) {
    run_on(arguments, files).expect(2).says(&[says]);
}

/// The bytes of what was written for a page, whatever the time and name of the file.
fn content(records: &[ReadRecord]) -> Vec<(&str, &[u8])> {
    let all = records.iter().skip(1);
    all.map(|it| (field(it, "WARC-Record-ID"), &*it.block))
        .collect()
}

/// Words as a text.
pub(crate) fn words(seed: u64, count: u64) -> String {
    corpus::text(seed, count)
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are ASCII")
}

/// An archive with a page, copies of all kinds, and an error page twice.
fn sample(directory: &Path) -> PathBuf {
    let page = words(1, 300);
    let mut visits = [
        Visit::new("a", &format!("<main><p>{page}</main>")),
        Visit::new("copy", &format!("<main><p>{page}</main>")),
        Visit::new("gone", "Not here."),
        Visit::new("near", &format!("<main><p>{page} indeed</main>")),
        Visit::new("nearer", &format!("<main><p>{page} indeed</main>")),
        Visit::new("lost", "Not here."),
        Visit::new("other", &format!("<main><p>{}</main>", words(2, 300))),
    ];
    visits[2].status = "404 Not Found";
    visits[5].status = "404 Not Found";
    let records = visits.iter().enumerate();
    let records: Vec<Record> = records.flat_map(|(at, it)| it.records(at)).collect();
    archive_of(&directory.join("in"), &records)
}

#[test]
fn duplicates_are_written_without_their_bodies() {
    let directory = TempDir::new().expect("a directory");
    let input = sample(directory.path());
    let out = directory.path().join("out");
    let verdicts = dedup(&["-o", text(&out)], &[&input]);
    assert_eq!(verdicts, dedup(&[], &[&input]), "-o changes no verdict");

    let before: Vec<ReadRecord> = archive::records(&input)
        .expect("it is there")
        .collect::<Result<_, _>>()
        .expect("whole");
    let records = written(&out);
    assert_snapshot!("without_bodies", summary(&records));
    let info = String::from_utf8(records[0].block.clone()).expect("text");
    assert!(info.contains("deduplicated by `gleaner dedup`"), "{info}");
    assert!(info.contains("threshold: 0.84"), "{info}");
    // Everything is there in its order, under its id, requests and the old warcinfo too.
    let is_old = |it: &&ReadRecord| field(it, "WARC-Type") != "conversion";
    let ids = records.iter().filter(is_old).skip(1);
    let ids = ids.map(|it| field(it, "WARC-Record-ID"));
    assert!(ids.eq(before.iter().map(|it| field(it, "WARC-Record-ID"))));
    for path in ["a", "other", "gone"] {
        let (kept, original) = (
            about(&records, "response", path),
            about(&before, "response", path),
        );
        assert_eq!(kept.headers, original.headers);
        assert_eq!(kept.block, original.block);
    }
    for path in ["copy", "lost"] {
        let revisit = about(&records, "revisit", path);
        assert!(revisit.block.starts_with(b"HTTP/1.1 "));
    }
    for path in ["near", "nearer"] {
        let fields = about(&records, "metadata", path).block.clone();
        let fields = String::from_utf8(fields).expect("text");
        let original = "original: http://example.org/a\r\n";
        assert!(fields.contains(original), "{fields}");
        let main = about(&records, "conversion", path);
        assert!(main.block.ends_with(b"indeed"));
    }
    // And nothing is written over.
    refused(&["-o", text(&out)], &[&input], "not empty");
}

#[test]
fn the_same_is_written_whatever_the_threads() {
    let directory = TempDir::new().expect("a directory");
    let input = sample(directory.path());
    let [one, other] = ["1", "5"].map(|threads| {
        let out = directory.path().join(threads);
        let verdicts = dedup(&["--threads", threads, "-o", text(&out)], &[&input]);
        (verdicts, written(&out))
    });
    assert_eq!(one.0, other.0);
    assert_eq!(content(&one.1), content(&other.1));
}

#[test]
fn the_bodies_of_near_duplicates_are_kept_where_that_is_asked_for() {
    let directory = TempDir::new().expect("a directory");
    let input = sample(directory.path());
    let out = directory.path().join("out");
    dedup(&["--store", "exact-only", "-o", text(&out)], &[&input]);
    // A copy of a near duplicate is a revisit of it.
    assert_snapshot!("exact_only", summary(&written(&out)));
}

#[test]
fn a_revisit_never_refers_to_what_was_left_out() {
    let directory = TempDir::new().expect("a directory");
    let page = format!("<main><p>{}</main>", words(1, 300));
    let [a, copy, later] = ["a", "copy", "later"].map(|path| Visit::new(path, &page));
    let (first, second, last) = (a.response(0), copy.response(1), later.response(3));
    let revisit = |path: &str, of: &Record, of_path: &str, at: usize| {
        let original = Original::new(of.id(), target(of_path), of.date());
        let digest = Digest::of(page.as_bytes());
        let (target, head) = (target(path), b"HTTP/1.1 200 OK".to_vec());
        Record::revisit(&capture(&target, at), head, digest, &original)
    };
    // One revisit refers to a copy that is left out; another came before the copy that it names.
    let records = [
        first,
        second.clone(),
        revisit("again", &second, "copy", 2),
        revisit("before", &last, "later", 3),
        last,
    ];
    let input = archive_of(&directory.path().join("in"), &records);
    let out = directory.path().join("out");
    dedup(&["-o", text(&out)], &[&input]);
    assert_snapshot!("revisits", summary(&written(&out)));
}

/// A record as another crawler writes it: WARC/1.0, an id that is no UUID, SHA-1, whole seconds.
fn foreign(id: &str, path: &str, second: u32, head: &str, payload: &str) -> Vec<u8> {
    let block = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{head}\r\n{payload}");
    let record = format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <{id}>\r\n\
         WARC-Date: 2020-01-01T00:00:{second:02}Z\r\nWARC-Target-URI: <http://example.org/{path}>\r\n\
         WARC-Payload-Digest: sha1:{path}\r\nContent-Type: application/http; msgtype=response\r\n\
         Content-Length: {}\r\n\r\n{block}\r\n\r\n",
        block.len()
    );
    let mut member = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    member.write_all(record.as_bytes()).expect("memory");
    member.finish().expect("memory")
}

#[test]
fn archives_of_other_crawlers_are_deduplicated_by_their_payloads() {
    let directory = TempDir::new().expect("a directory");
    let page = format!("<main><p>{}</main>", words(1, 300));
    let chunked = format!("{:x}\r\n{page}\r\n0\r\n\r\n", page.len());
    let input = directory.path().join("other.warc.gz");
    let chunks = "Transfer-Encoding: chunked\r\n";
    let members = [
        foreign("urn:x:1", "one", 7, chunks, &chunked),
        foreign("urn:x:2", "two", 8, "", &page),
        // Some undo the coding and keep the header.
        foreign("urn:x:3", "three", 9, chunks, &page),
    ];
    fs::write(&input, members.concat()).expect("room for it");
    let out = directory.path().join("out");
    let verdicts = dedup(&["-o", text(&out)], &[&input]);
    let of: Vec<_> = verdicts
        .iter()
        .map(|line| line["duplicate_of"].as_str())
        .collect();
    assert_eq!(of, [None, Some("<urn:x:1>"), Some("<urn:x:1>")]);
    let records = written(&out);
    let kinds: Vec<_> = records.iter().map(|it| field(it, "WARC-Type")).collect();
    assert_eq!(kinds, ["warcinfo", "response", "revisit", "revisit"]);
    let revisit = &records[2];
    assert_eq!(field(revisit, "WARC-Payload-Digest"), "sha1:one");
    assert_eq!(
        field(revisit, "WARC-Refers-To-Target-URI"),
        "http://example.org/one"
    );
    assert_eq!(
        field(revisit, "WARC-Refers-To-Date"),
        "2020-01-01T00:00:07Z"
    );
    assert_eq!(revisit.header("WARC-Refers-To"), None, "it has no UUID");
}

#[test]
fn the_lines_that_are_kept_are_written_as_they_are() {
    let directory = TempDir::new().expect("a directory");
    let line =
        |id: &str, text: &str| format!("{{ \"id\":\"{id}\", \"text\":\"{text}\",\"more\":[1]}}");
    let (one, two) = (line("a", &words(1, 90)), line("b", &words(2, 90)));
    let input = directory.path().join("in.jsonl");
    let copy = line("c", &words(1, 90).to_uppercase());
    fs::write(&input, format!("{one}\n\n{copy}\n{two}")).expect("room for it");
    let out = directory.path().join("kept.jsonl");
    dedup(&["--jsonl", "-o", text(&out)], &[&input]);
    let kept = fs::read_to_string(&out).expect("it is there");
    assert_eq!(kept, format!("{one}\n{two}\n"));

    // A run that fails leaves the file of the last one.
    fs::write(&input, format!("{two}\nno line\n")).expect("room for it");
    run_on(&["--jsonl", "-o", text(&out)], &[&input]).expect(2);
    assert_eq!(fs::read_to_string(&out).expect("it is there"), kept);
}

/// Lines of documents, as a file.
pub(crate) fn lines(directory: &Path, name: &str, documents: &[(&str, String)]) -> PathBuf {
    let line = |(id, text): &(&str, String)| json!({"id": id, "text": text}).to_string() + "\n";
    let path = directory.join(name);
    let lines: String = documents.iter().map(line).collect();
    fs::write(&path, lines).expect("room for it");
    path
}

#[test]
fn an_index_lasts_from_run_to_run() {
    let directory = TempDir::new().expect("a directory");
    let index = directory.path().join("index");
    let index = text(&index);
    let monday = [
        ("a", words(1, 200)),
        ("b", words(2, 200)),
        ("s", words(3, 20)),
    ];
    let monday = lines(directory.path(), "monday", &monday);
    let tuesday = [
        ("c", format!("{} indeed", words(1, 200))),
        ("d", words(2, 200).to_uppercase()),
        ("e", words(4, 200)),
        ("t", words(3, 20)),
        ("f", words(4, 200)),
    ];
    let tuesday = lines(directory.path(), "tuesday", &tuesday);
    for method in ["simhash", "minhash"] {
        let index = format!("{index}-{method}");
        let arguments = ["--jsonl", "--index", &index, "--method", method];
        let first = dedup(&arguments, &[&monday]);
        assert!(first.iter().all(|line| line["duplicate_of"].is_null()));
        let second = dedup(&arguments, &[&tuesday]);
        let told = |line: &Value| ["duplicate_of", "kind", "run"].map(|key| line[key].clone());
        let found: Vec<_> = second.iter().map(told).collect();
        let expected = json!([
            ["a", "near", 1],
            ["b", "normalized", 1],
            [null, null, null],
            ["s", "exact", 1],
            ["e", "exact", 2],
        ]);
        assert_eq!(json!(found), expected, "{method}");
        // What one run finds of all of them.
        let mut whole = dedup(&["--jsonl", "--method", method], &[&monday, &tuesday]);
        let mut second = second.clone();
        for line in second.iter_mut().chain(&mut whole) {
            line.as_object_mut().expect("an object").remove("run");
        }
        assert_eq!(second, whole[3..], "{method}");
        // Again, the same lines: each is known, by its own id.
        let again = dedup(&arguments, &[&tuesday]);
        assert!(
            again.iter().all(|line| line["kind"] == "exact"),
            "{again:?}"
        );
    }
    let index = format!("{index}-simhash");
    for (arguments, says) in [
        (["--method", "minhash"], "was made with"),
        (["--threshold", "0.9"], "was made with threshold \"0.84\""),
        (["--seed", "1"], "seed"),
    ] {
        let arguments = [&["--jsonl", "--index", &index], &arguments[..]].concat();
        refused(&arguments, &[&monday], says);
    }
    let full = directory.path().join("full");
    fs::create_dir(&full).expect("room for it");
    fs::write(full.join("thesis.txt"), "").expect("room for it");
    refused(
        &["--jsonl", "--index", text(&full)],
        &[&monday],
        "does not contain an index",
    );
}

/// Every byte of an index.
fn bytes(index: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(index).expect("it is there");
    let files = entries.map(|entry| entry.expect("a file").path());
    files
        .map(|file| (file.clone(), fs::read(file).expect("a file")))
        .collect()
}

#[test]
fn a_run_that_fails_or_is_killed_leaves_the_index_as_it_was() {
    let directory = TempDir::new().expect("a directory");
    let index = directory.path().join("index");
    let arguments = ["dedup", "--jsonl", "--index", text(&index)];
    let monday = lines(directory.path(), "monday", &[("a", words(1, 200))]);
    dedup(&arguments[1..], &[&monday]);
    let before = bytes(&index);

    // Killed with much of its work done: it has said verdicts, and waits for more lines.
    let mut command = gleaner(&arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it is there");
    let mut input = child.stdin.take().expect("it is piped");
    let mut output = child.stdout.take().expect("it is piped");
    let writer = std::thread::spawn(move || {
        for at in 0.. {
            let line = json!({"id": at, "text": words(at, 60)}).to_string() + "\n";
            if input.write_all(line.as_bytes()).is_err() {
                return;
            }
        }
    });
    std::io::Read::read_exact(&mut output, &mut vec![0; 300_000]).expect("verdicts");
    child.kill().expect("it runs");
    child.wait().expect("it was killed");
    writer.join().expect("it does not panic");
    assert!(bytes(&index)[&index.join("entries")].len() > before[&index.join("entries")].len());

    // A line that is none ends a run that judged others.
    let bad = directory.path().join("bad");
    let line = json!({"id": 1, "text": "one two three four five"});
    fs::write(&bad, format!("{line}\nno line\n")).expect("room");
    run_on(&arguments[1..], &[&bad]).expect(2);

    let empty = lines(directory.path(), "empty", &[]);
    assert!(dedup(&arguments[1..], &[&empty]).is_empty());
    assert_eq!(bytes(&index), before);
}

#[test]
fn one_run_at_a_time_has_an_index() {
    let directory = TempDir::new().expect("a directory");
    let index = directory.path().join("index");
    let mut command = gleaner(&["dedup", "--jsonl", "--index", text(&index)]);
    // It opens the pipe only when it holds the index.
    let fifo = directory.path().join("fifo");
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
    )
    .expect("a pipe with a name");
    command.arg(&fifo);
    let first = Running::start(command);
    let opened = fs::OpenOptions::new()
        .write(true)
        .open(&fifo)
        .expect("the other end is open");
    let second = gleaner(&["dedup", "--jsonl", "--index", text(&index)]);
    run(second).expect(2).says(&["in use"]);
    drop(opened);
    first.end().expect(0);
}

#[test]
fn a_later_run_refers_to_what_an_earlier_one_wrote() {
    let directory = TempDir::new().expect("a directory");
    let index = directory.path().join("index");
    let outputs = ["first", "second"].map(|name| directory.path().join(name));
    let input = sample(directory.path());
    let [first, second] = outputs.map(|out| {
        dedup(&["--index", text(&index), "-o", text(&out)], &[&input]);
        written(&out)
    });
    summary(&first);
    let responses = first
        .iter()
        .filter(|it| field(it, "WARC-Type") == "response");
    let responses: Vec<&str> = responses.map(|it| field(it, "WARC-Record-ID")).collect();
    assert!(responses.iter().all(|id| RecordId::parse(id).is_some()));
    let mut kinds = BTreeMap::new();
    for record in &second {
        let kind = field(record, "WARC-Type");
        *kinds.entry(kind).or_insert(0) += 1;
        if matches!(kind, "revisit" | "metadata") {
            assert!(
                responses.contains(&field(record, "WARC-Refers-To")),
                "{record:?}"
            );
        }
    }
    assert_eq!(kinds.get("response"), None, "{kinds:?}");
    assert_eq!((kinds["revisit"], kinds["metadata"]), (5, 2));
}
