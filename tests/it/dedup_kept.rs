//! What `gleaner dedup` leaves: the deduplicated WARC files and lines of `-o`, and the index that
//! lasts from run to run.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use gleaner::archive::{
    self, Archive as _, Capture, Digest, Original, ReadRecord, Record, RecordId, WarcArchive,
    WarcOptions,
};
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::run::{Running, gleaner, run};

/// `count` words, the same ones for the same seed.
fn words(seed: u64, count: u64) -> String {
    let word = |at| format!("word{}", (at * at * 7 + at * 13 + seed * 1_013) % 4_001);
    let words: Vec<String> = (0..count).map(word).collect();
    words.join(" ")
}

/// A page of an archive, and the records that belong to it.
struct Visit {
    path: &'static str,
    status: &'static str,
    body: String,
}

fn visit(path: &'static str, body: &str) -> Visit {
    Visit {
        path,
        status: "200 OK",
        body: body.to_owned(),
    }
}

fn capture(target: &str, second: i64) -> Capture<'_> {
    Capture {
        target,
        date: Timestamp::from_second(1_700_000_000 + second).expect("a time"),
        ip: None,
        protocols: &[],
    }
}

fn target(path: &str) -> String {
    format!("http://example.org/{path}")
}

fn response(at: usize, visit: &Visit) -> Record {
    let target = target(visit.path);
    let head = format!(
        "HTTP/1.1 {}\r\nContent-Type: text/html\r\n\r\n",
        visit.status
    );
    let body = visit.body.clone();
    let digest = Digest::of(body.as_bytes());
    let second = i64::try_from(at).expect("few");
    Record::response(
        &capture(&target, second),
        head.into_bytes(),
        body.into(),
        digest,
        None,
    )
}

/// Writes an archive with these records into a directory, and gives its file.
fn archive_of(directory: &Path, records: &[Record]) -> PathBuf {
    let (mut archive, _) =
        WarcArchive::open(WarcOptions::new(directory), None).expect("an archive");
    archive.append(records).expect("room for it");
    archive.sync().expect("a disk");
    directory.join("gleaner-00000000.warc.gz")
}

/// Each visit's request and response.
fn visits(visits: &[Visit]) -> Vec<Record> {
    let mut records = Vec::new();
    for (at, visit) in visits.iter().enumerate() {
        let response = response(at, visit);
        let target = target(visit.path);
        let second = i64::try_from(at).expect("few");
        let head = format!("GET /{} HTTP/1.1\r\n\r\n", visit.path).into_bytes();
        records.push(Record::request(
            &capture(&target, second),
            head,
            response.id(),
        ));
        records.push(response);
    }
    records
}

/// The records of what was written, the warcinfo of its file first.
fn written(directory: &Path) -> Vec<ReadRecord> {
    let file = directory.join("deduplicated-00000000.warc.gz");
    let records = archive::records(file).expect("it is there");
    records
        .collect::<Result<_, _>>()
        .expect("every record is whole")
}

fn field<'a>(record: &'a ReadRecord, name: &str) -> &'a str {
    record.header(name).unwrap_or_default()
}

/// The records about a page, requests aside: kind and record.
fn about<'a>(records: &'a [ReadRecord], path: &str) -> Vec<(&'a str, &'a ReadRecord)> {
    let target = target(path);
    let of = |it: &&ReadRecord| field(it, "WARC-Target-URI") == target;
    let all = records.iter().filter(of);
    let kinds = all.map(|it| (field(it, "WARC-Type"), it));
    kinds.filter(|(kind, _)| *kind != "request").collect()
}

/// Nothing refers to a record without a body, and what is named is there.
fn check_sound(records: &[ReadRecord]) {
    let kinds: BTreeMap<&str, &str> = records
        .iter()
        .map(|it| (field(it, "WARC-Record-ID"), field(it, "WARC-Type")))
        .collect();
    for record in records {
        assert_ne!(record.block_is_intact(), Some(false));
        if let Some(id) = record.header("WARC-Concurrent-To") {
            assert!(kinds.contains_key(id), "{record:?}");
        }
        if matches!(field(record, "WARC-Type"), "revisit" | "metadata") {
            let id = field(record, "WARC-Refers-To");
            assert_eq!(kinds.get(id), Some(&"response"), "{record:?}");
        }
    }
}

fn dedup(arguments: &[&str], files: &[&Path]) -> Vec<Value> {
    let mut command = gleaner(&[&["dedup"], arguments].concat());
    command.args(files);
    let output = run(command).expect(0);
    assert!(output.stderr.is_empty(), "{output:?}");
    let lines = output.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are ASCII")
}

/// An archive with a page, copies of all kinds, and an error page twice.
fn sample() -> Vec<Visit> {
    let page = words(1, 300);
    let mut errors = [visit("gone", "Not here."), visit("lost", "Not here.")];
    for error in &mut errors {
        error.status = "404 Not Found";
    }
    let [gone, lost] = errors;
    vec![
        visit("a", &format!("<main><p>{page}</main>")),
        visit("copy", &format!("<main><p>{page}</main>")),
        gone,
        visit("near", &format!("<main><p>{page} indeed</main>")),
        visit("nearer", &format!("<main><p>{page} indeed</main>")),
        lost,
        visit("other", &format!("<main><p>{}</main>", words(2, 300))),
    ]
}

#[test]
fn duplicates_are_written_without_their_bodies() {
    let directory = TempDir::new().expect("a directory");
    let input = archive_of(&directory.path().join("in"), &visits(&sample()));
    let out = directory.path().join("out");
    let verdicts = dedup(&["-o", text(&out)], &[&input]);
    let plain = dedup(&[], &[&input]);
    assert_eq!(verdicts, plain, "-o changes no verdict");

    let before: Vec<ReadRecord> = archive::records(&input)
        .expect("it is there")
        .collect::<Result<_, _>>()
        .expect("whole");
    let records = written(&out);
    check_sound(&records);
    let info = String::from_utf8(records[0].block.clone()).expect("text");
    assert!(info.contains("deduplicated by `gleaner dedup`"), "{info}");
    assert!(info.contains("threshold: 0.84"), "{info}");
    // Everything is there in its order, under its id, requests and the old warcinfo too.
    let ids = |records: &[ReadRecord]| -> Vec<String> {
        let all = records
            .iter()
            .filter(|it| field(it, "WARC-Type") != "conversion");
        all.map(|it| field(it, "WARC-Record-ID").to_owned())
            .collect()
    };
    assert_eq!(ids(&records)[1..], ids(&before));

    for path in ["a", "other", "gone"] {
        let [("response", kept)] = about(&records, path)[..] else {
            panic!("{path}: {:?}", about(&records, path));
        };
        let [("response", original)] = about(&before, path)[..] else {
            panic!("{path} was not there");
        };
        assert_eq!(
            (&kept.headers, &kept.block),
            (&original.headers, &original.block)
        );
    }
    for (path, original) in [("copy", "a"), ("lost", "gone")] {
        let [("revisit", revisit)] = about(&records, path)[..] else {
            panic!("{path}: {:?}", about(&records, path));
        };
        let [(_, original)] = about(&records, original)[..] else {
            panic!("no {original}");
        };
        let same = |name: &str, of: &str| assert_eq!(field(revisit, name), field(original, of));
        same("WARC-Refers-To", "WARC-Record-ID");
        same("WARC-Refers-To-Target-URI", "WARC-Target-URI");
        same("WARC-Refers-To-Date", "WARC-Date");
        same("WARC-Payload-Digest", "WARC-Payload-Digest");
        assert!(revisit.block.starts_with(b"HTTP/1.1 "));
    }
    for path in ["near", "nearer"] {
        let [("metadata", metadata), ("conversion", main)] = about(&records, path)[..] else {
            panic!("{path}: {:?}", about(&records, path));
        };
        let fields = String::from_utf8(metadata.block.clone()).expect("text");
        assert!(
            fields.contains("original: http://example.org/a\r\n"),
            "{fields}"
        );
        assert_eq!(
            field(main, "WARC-Refers-To"),
            field(metadata, "WARC-Record-ID")
        );
        assert!(String::from_utf8_lossy(&main.block).ends_with("indeed"));
    }

    // Whatever the threads, the same is said and written, but for the file's own name and time.
    let again = directory.path().join("again");
    let arguments = ["--threads", "5", "-o", text(&again)];
    assert_eq!(dedup(&arguments, &[&input]), verdicts);
    let content = |records: &[ReadRecord]| -> Vec<(String, Vec<u8>)> {
        let all = records.iter().skip(1);
        all.map(|it| (field(it, "WARC-Record-ID").to_owned(), it.block.clone()))
            .collect()
    };
    assert_eq!(content(&written(&again)), content(&records));

    // Bodies of near ones are kept where that is asked for; a copy of one is a revisit of it.
    let cautious = directory.path().join("cautious");
    dedup(&["--store", "exact-only", "-o", text(&cautious)], &[&input]);
    let records = written(&cautious);
    check_sound(&records);
    let kinds: Vec<_> = ["near", "nearer"]
        .map(|path| about(&records, path)[0].0)
        .into();
    assert_eq!(kinds, ["response", "revisit"]);
    // And nothing is written over.
    let mut command = gleaner(&["dedup", "-o", text(&out)]);
    command.arg(&input);
    run(command).expect(2).says(&["not empty"]);
}

#[test]
fn a_revisit_never_refers_to_what_was_left_out() {
    let directory = TempDir::new().expect("a directory");
    let page = format!("<main><p>{}</main>", words(1, 300));
    let (a, copy) = (visit("a", &page), visit("copy", &page));
    let (first, second) = (response(0, &a), response(1, &copy));
    let revisit = |path: &str, of: &Record, of_path: &str, second| {
        let (target, of_target) = (target(path), target(of_path));
        let original = Original::new(of.id(), of_target, of.date());
        let digest = Digest::of(page.as_bytes());
        Record::revisit(
            &capture(&target, second),
            b"HTTP/1.1 200 OK".to_vec(),
            digest,
            &original,
        )
    };
    // One revisit refers to a copy that is left out; another came before the copy that it names.
    let later = response(3, &visit("later", &page));
    let records = [
        first,
        second.clone(),
        revisit("again", &second, "copy", 2),
        revisit("before", &later, "later", 3),
        later,
    ];
    let input = archive_of(&directory.path().join("in"), &records);
    let out = directory.path().join("out");
    dedup(&["-o", text(&out)], &[&input]);
    let records = written(&out);
    check_sound(&records);
    let kind = |path: &str| about(&records, path)[0].0;
    let kinds = ["a", "copy", "again", "before", "later"].map(kind);
    assert_eq!(
        kinds,
        ["response", "revisit", "revisit", "revisit", "response"]
    );
    let again = about(&records, "again")[0].1;
    assert_eq!(field(again, "WARC-Refers-To-Target-URI"), target("a"));
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
    let mut command = gleaner(&["dedup", "--jsonl", "-o", text(&out)]);
    command.arg(&input);
    run(command).expect(2);
    assert_eq!(fs::read_to_string(&out).expect("it is there"), kept);
}

/// Lines of documents, as a file.
fn lines(directory: &Path, name: &str, documents: &[(&str, String)]) -> PathBuf {
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
        let found: Vec<_> = second
            .iter()
            .map(|line| {
                (
                    line["duplicate_of"].as_str(),
                    line["kind"].as_str(),
                    line["run"].as_u64(),
                )
            })
            .collect();
        let expected = [
            (Some("a"), Some("near"), Some(1)),
            (Some("b"), Some("normalized"), Some(1)),
            (None, None, None),
            (Some("s"), Some("exact"), Some(1)),
            (Some("e"), Some("exact"), Some(2)),
        ];
        assert_eq!(found, expected, "{method}");
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
    let refused = |arguments: &[&str], says: &str| {
        let index = format!("{index}-simhash");
        let mut command = gleaner(&[&["dedup", "--jsonl", "--index", &index], arguments].concat());
        command.arg(&monday);
        run(command).expect(2).says(&[says]);
    };
    refused(&["--method", "minhash"], "was made with");
    refused(&["--threshold", "0.9"], "was made with threshold \"0.84\"");
    refused(&["--seed", "1"], "seed");
    let full = directory.path().join("full");
    fs::create_dir(&full).expect("room for it");
    fs::write(full.join("thesis.txt"), "").expect("room for it");
    let mut command = gleaner(&["dedup", "--jsonl", "--index", text(&full)]);
    command.arg(&monday);
    run(command).expect(2).says(&["does not contain an index"]);
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
    fs::write(
        &bad,
        "{\"id\":1,\"text\":\"one two three four five\"}\nno line\n",
    )
    .expect("room");
    let mut command = gleaner(&arguments);
    command.arg(&bad);
    run(command).expect(2);

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
    let input = archive_of(&directory.path().join("in"), &visits(&sample()));
    for out in &outputs {
        let arguments = ["--index", text(&index), "-o", text(out)];
        dedup(&arguments, &[&input]);
    }
    let (first, second) = (written(&outputs[0]), written(&outputs[1]));
    check_sound(&first);
    let responses: Vec<&str> = first
        .iter()
        .filter(|it| field(it, "WARC-Type") == "response")
        .map(|it| field(it, "WARC-Record-ID"))
        .collect();
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
    assert_eq!(kinds["revisit"], 5);
    assert_eq!(kinds["metadata"], 2);
    assert!(responses.iter().all(|id| RecordId::parse(id).is_some()));
}

#[test]
fn weights_come_from_a_table_that_stays() {
    let directory = TempDir::new().expect("a directory");
    let documents: Vec<(String, String)> = (0..40)
        .map(|seed| {
            (
                seed.to_string(),
                format!("{0} {0} {1}", words(99, 30), words(seed, 100)),
            )
        })
        .collect();
    let documents: Vec<(&str, String)> = documents
        .iter()
        .map(|(id, text)| (&**id, text.clone()))
        .collect();
    let input = lines(directory.path(), "in", &documents);
    let table = directory.path().join("table");
    let make = |path: &Path, threads: &str| {
        let mut command = gleaner(&["fingerprint", "--jsonl", "--threads", threads]);
        command
            .arg(&input)
            .args(["--df-table-number", "7", "--df-table-out"])
            .arg(path);
        run(command)
    };
    assert!(make(&table, "1").expect(0).stdout.is_empty());
    let again = directory.path().join("again");
    make(&again, "3").expect(0);
    assert_eq!(
        fs::read(&table).expect("a table"),
        fs::read(&again).expect("a table")
    );
    make(&table, "1").expect(2).says(&["give a new file"]);

    let simhashes = |arguments: &[&str]| -> Vec<String> {
        let mut command = gleaner(&[&["fingerprint", "--jsonl"], arguments].concat());
        command.arg(&input);
        let output = run(command).expect(0);
        let line = |line| serde_json::from_str::<Value>(line).expect("JSON");
        output
            .stdout
            .lines()
            .map(|it| line(it)["simhash-64"].to_string())
            .collect()
    };
    let tfidf = ["--weights", "tfidf", "--df-table", text(&table)];
    let ways = [
        &[][..],
        &["--weights", "set"],
        &tfidf,
        &["--shingle", "chars:8"],
    ];
    let found = ways.map(simhashes);
    for (at, one) in found.iter().enumerate() {
        assert!(found[..at].iter().all(|other| other != one));
    }
    let index = directory.path().join("index");
    let arguments = ["--jsonl", "--index", text(&index)];
    dedup(&[&arguments[..], &tfidf].concat(), &[&input]);
    let mut command = gleaner(&[&["dedup"], &arguments[..]].concat());
    command.arg(&input);
    run(command).expect(2).says(&["tfidf by table 7", "count"]);
    let refused = |arguments: &[&str], says: &str| {
        let mut command = gleaner(&[&["dedup", "--jsonl"], arguments].concat());
        command.arg(&input);
        run(command).expect(2).says(&[says]);
    };
    refused(&["--weights", "tfidf"], "--df-table");
    refused(&["--df-table", text(&table)], "--weights tfidf");
    refused(
        &["--method", "minhash", "--weights", "set"],
        "--method simhash",
    );
    refused(
        &[&tfidf[..], &["--shingle", "words:3"]].concat(),
        "another --shingle",
    );
    let mut damaged = fs::read(&table).expect("a table");
    *damaged.last_mut().expect("rows") ^= 1;
    fs::write(&again, damaged).expect("room for it");
    refused(
        &["--weights", "tfidf", "--df-table", text(&again)],
        "damaged",
    );
}
