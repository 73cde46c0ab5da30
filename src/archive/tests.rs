//! Tests of the whole room: what is written is read back, what is acknowledged survives anything,
//! and whatever a stranger sends or a crash leaves, the reader fails only with an error.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use bytes::Bytes;
use jiff::Timestamp;
use proptest::prelude::*;

use super::*;

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nServer: test\r\n\r\n";

fn date() -> Timestamp {
    Timestamp::from_microsecond(1_700_000_000_123_999).unwrap()
}

fn capture(target: &str) -> Capture<'_> {
    Capture {
        target,
        date: date(),
        ip: Some("192.0.2.7".parse().unwrap()),
        protocols: &["h2", "tls/1.3"],
    }
}

fn response(target: &str, payload: &[u8]) -> Record {
    let digest = Digest::of(payload);
    let payload = Bytes::copy_from_slice(payload);
    Record::response(&capture(target), HEAD.to_vec(), payload, digest, None)
}

fn options(directory: &Path, max_segment_bytes: u64) -> WarcOptions {
    WarcOptions {
        max_segment_bytes,
        compression: 1,
        ..WarcOptions::new(directory)
    }
}

fn open(directory: &Path, max_segment_bytes: u64, tail: Option<Tail>) -> (WarcArchive, Recovery) {
    let start = tail.map_or(Start::Empty, Start::At);
    WarcArchive::open(options(directory, max_segment_bytes), start).unwrap()
}

/// Returns every file of the directory with its content.
fn snapshot(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect()
}

/// Reads every record of every segment, in order.
fn read_all(directory: &Path) -> Vec<ReadRecord> {
    snapshot(directory)
        .keys()
        .flat_map(|name| records(directory.join(name)).unwrap())
        .map(|record| record.unwrap())
        .collect()
}

/// Writes one record and compares what is read back, header by header; `{id}` and `{warcinfo}`
/// stand for the ids.
fn check(record: &Record, expected: &[(&str, &str)], block: &[u8]) {
    let directory = tempfile::tempdir().unwrap();
    let (mut archive, _) = open(directory.path(), 1 << 30, None);
    let location = archive.append(std::slice::from_ref(record)).unwrap()[0];
    archive.sync().unwrap();

    let found = read_all(directory.path());
    let [warcinfo, read] = found.as_slice() else {
        panic!("{} records", found.len());
    };
    let fill = |value: &str| {
        value
            .replace("{id}", &record.id().to_string())
            .replace("{warcinfo}", warcinfo.header("WARC-Record-ID").unwrap())
    };
    let expected: Vec<(String, String)> = expected
        .iter()
        .map(|(name, value)| ((*name).to_owned(), fill(value)))
        .collect();
    assert_eq!(read.headers, expected);
    assert_eq!(read.block, block);
    assert_eq!(read.block_is_intact(), Some(true));
    let again = archive.options().read(&location, Limits::default());
    assert_eq!(&again.unwrap(), read);
    assert_eq!(
        (read.offset, read.length),
        (location.offset, location.length)
    );
}

#[test]
fn a_segment_opens_with_a_warcinfo_record() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = options(directory.path(), 1 << 30);
    options.info = vec![
        ("robots".to_owned(), "obey".to_owned()),
        (
            "Software".to_owned(),
            "other/1\r\nrobots: ignore".to_owned(),
        ),
    ];
    let (mut archive, _) = WarcArchive::open(options, Start::Empty).unwrap();
    // Files are created lazily: without a record there is no file.
    archive.append(&[]).unwrap();
    assert_eq!(archive.sync().unwrap(), Tail::default());
    assert!(snapshot(directory.path()).is_empty());

    archive.append(&[response("http://h.test/", b"x")]).unwrap();
    let found = read_all(directory.path());
    let info = &found[0];
    assert_eq!(info.header("WARC-Type"), Some("warcinfo"));
    assert_eq!(
        info.header("WARC-Filename"),
        Some("gleaner-00000000.warc.gz")
    );
    assert_eq!(info.header("WARC-Target-URI"), None);
    assert_eq!(info.header("WARC-Warcinfo-ID"), None);
    assert_eq!(info.header("Content-Type"), Some("application/warc-fields"));
    assert_eq!(
        String::from_utf8(info.block.clone()).unwrap(),
        "format: WARC File Format 1.1\r\n\
         conformsTo: https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n\
         robots: obey\r\n\
         Software: other/1  robots: ignore\r\n"
    );
}

#[test]
fn response_as_written() {
    let digest = Digest::of(b"body").to_string();
    let block = [HEAD, b"body"].concat();
    check(
        &response("http://h.test/a?b", b"body"),
        &[
            ("WARC-Type", "response"),
            ("WARC-Record-ID", "{id}"),
            ("WARC-Warcinfo-ID", "{warcinfo}"),
            ("WARC-Date", "2023-11-14T22:13:20.123Z"),
            ("WARC-Target-URI", "http://h.test/a?b"),
            ("WARC-IP-Address", "192.0.2.7"),
            ("WARC-Protocol", "h2"),
            ("WARC-Protocol", "tls/1.3"),
            ("WARC-Payload-Digest", &digest),
            ("WARC-Block-Digest", &Digest::of(&block).to_string()),
            ("Content-Type", "application/http;msgtype=response"),
            ("Content-Length", "37"),
        ],
        &block,
    );
}

#[test]
fn truncated_response_as_written() {
    let mut capture = capture("http://h.test/");
    // As a dual-stack socket reports it.
    capture.ip = Some("::ffff:192.0.2.9".parse().unwrap());
    capture.protocols = &[];
    let digest = Digest::of(b"bo");
    let record = Record::response(
        &capture,
        b"HTTP/1.1 200 OK".to_vec(),
        Bytes::from_static(b"bo"),
        digest,
        Some(Truncation::Disconnect),
    );
    let block = b"HTTP/1.1 200 OK\r\n\r\nbo";
    check(
        &record,
        &[
            ("WARC-Type", "response"),
            ("WARC-Record-ID", "{id}"),
            ("WARC-Warcinfo-ID", "{warcinfo}"),
            ("WARC-Date", "2023-11-14T22:13:20.123Z"),
            ("WARC-Target-URI", "http://h.test/"),
            ("WARC-IP-Address", "192.0.2.9"),
            ("WARC-Payload-Digest", &digest.to_string()),
            ("WARC-Truncated", "disconnect"),
            ("WARC-Block-Digest", &Digest::of(block).to_string()),
            ("Content-Type", "application/http;msgtype=response"),
            ("Content-Length", "21"),
        ],
        block,
    );
}

#[test]
fn revisit_as_written() {
    let original = Original::new(
        response("http://h.test/first", b"body").id(),
        "http://h.test/first".to_owned(),
        date(),
    );
    let digest = Digest::of(b"body");
    let mut capture = capture("http://h.test/second");
    capture.protocols = &[];
    let record = Record::revisit(&capture, HEAD.to_vec(), digest, &original);
    let common = [
        ("WARC-Type", "revisit"),
        ("WARC-Record-ID", "{id}"),
        ("WARC-Warcinfo-ID", "{warcinfo}"),
        ("WARC-Date", "2023-11-14T22:13:20.123Z"),
        ("WARC-Target-URI", "http://h.test/second"),
        ("WARC-IP-Address", "192.0.2.7"),
        (
            "WARC-Profile",
            "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
        ),
        ("WARC-Payload-Digest", &digest.to_string()),
        ("WARC-Refers-To", &original.record.unwrap().to_string()),
        ("WARC-Refers-To-Target-URI", "http://h.test/first"),
        ("WARC-Refers-To-Date", "2023-11-14T22:13:20.123Z"),
        ("WARC-Truncated", "length"),
    ];
    let block_digest = Digest::of(HEAD).to_string();
    let mut expected = common.to_vec();
    expected.extend([
        ("WARC-Block-Digest", block_digest.as_str()),
        ("Content-Type", "application/http;msgtype=response"),
        ("Content-Length", "33"),
    ]);
    check(&record, &expected, HEAD);

    // Without headers there is no block and hence no content type.
    let record = Record::revisit(&capture, Vec::new(), digest, &original);
    let block_digest = Digest::of(b"").to_string();
    let mut expected = common.to_vec();
    expected.extend([
        ("WARC-Block-Digest", block_digest.as_str()),
        ("Content-Length", "0"),
    ]);
    check(&record, &expected, b"");
}

#[test]
fn request_metadata_and_conversion_as_written() {
    let visit = capture("http://h.test/");
    let of_response = response("http://h.test/", b"x").id();
    let of_response_text = of_response.to_string();
    let head = b"GET / HTTP/1.1\r\nHost: h.test\r\n\r\n";
    check(
        &Record::request(&visit, head.to_vec(), of_response),
        &[
            ("WARC-Type", "request"),
            ("WARC-Record-ID", "{id}"),
            ("WARC-Warcinfo-ID", "{warcinfo}"),
            ("WARC-Date", "2023-11-14T22:13:20.123Z"),
            ("WARC-Target-URI", "http://h.test/"),
            ("WARC-IP-Address", "192.0.2.7"),
            ("WARC-Protocol", "h2"),
            ("WARC-Protocol", "tls/1.3"),
            ("WARC-Concurrent-To", &of_response_text),
            ("WARC-Block-Digest", &Digest::of(head).to_string()),
            ("Content-Type", "application/http;msgtype=request"),
            ("Content-Length", "32"),
        ],
        head,
    );

    let mut bare = visit;
    bare.ip = None;
    bare.protocols = &[];
    let fields = [("fetchTimeMs", "12"), ("via", "http://h.test/\r\nx: y")];
    let block = b"fetchTimeMs: 12\r\nvia: http://h.test/  x: y\r\n";
    for (relation, name) in [
        (Relation::ConcurrentTo(of_response), "WARC-Concurrent-To"),
        (Relation::RefersTo(of_response), "WARC-Refers-To"),
    ] {
        check(
            &Record::metadata(&bare, Some(relation), &fields),
            &[
                ("WARC-Type", "metadata"),
                ("WARC-Record-ID", "{id}"),
                ("WARC-Warcinfo-ID", "{warcinfo}"),
                ("WARC-Date", "2023-11-14T22:13:20.123Z"),
                ("WARC-Target-URI", "http://h.test/"),
                (name, &of_response_text),
                ("WARC-Block-Digest", &Digest::of(block).to_string()),
                ("Content-Type", "application/warc-fields"),
                ("Content-Length", "44"),
            ],
            block,
        );
    }

    let text = "Grüße\r\n\r\n";
    check(
        &Record::conversion(&visit, Some(of_response), text),
        &[
            ("WARC-Type", "conversion"),
            ("WARC-Record-ID", "{id}"),
            ("WARC-Warcinfo-ID", "{warcinfo}"),
            ("WARC-Date", "2023-11-14T22:13:20.123Z"),
            ("WARC-Target-URI", "http://h.test/"),
            ("WARC-Refers-To", &of_response_text),
            (
                "WARC-Block-Digest",
                &Digest::of(text.as_bytes()).to_string(),
            ),
            ("Content-Type", "text/plain; charset=utf-8"),
            ("Content-Length", "11"),
        ],
        text.as_bytes(),
    );
}

/// No untrusted text ends its line, and a reader sees it as one value.
#[test]
fn values_cannot_break_out() {
    let check = |target: &str, expected: &str| {
        let original = Original::new(RecordId::new(1), target.to_owned(), date());
        let record = Record::revisit(&capture(target), Vec::new(), Digest::of(b""), &original);
        assert_eq!(record.target(), Some(expected));
        let header = record.header(None);
        let line = |name: &str| format!("\r\n{name}: {expected}\r\n");
        assert!(header.contains(&line("WARC-Target-URI")), "{header}");
        assert!(
            header.contains(&line("WARC-Refers-To-Target-URI")),
            "{header}"
        );
        assert_eq!(header.lines().count(), 17, "{header}");
    };
    check("http://h.test/ä", "http://h.test/ä");
    check("http://h.test/%0d%0a", "http://h.test/%0d%0a");
    check(
        "http://h.test/\r\nWARC-Type: x",
        "http://h.test/%0D%0AWARC-Type:%20x",
    );
    check("http://h.test/\0\t\u{7f}", "http://h.test/%00%09%7F");
    check(
        "http://h.test/\u{85}\u{2028}",
        "http://h.test/%C2%85%E2%80%A8",
    );
    check("<http://h.test/>", "%3Chttp://h.test/%3E");

    let mut hostile = capture("http://h.test/");
    hostile.protocols = &["h2\r\nWARC-Type: x"];
    let record = Record::metadata(&hostile, None, &[("a: b\r\nc", "d\ne\u{2028}f")]);
    assert!(
        record
            .header(None)
            .contains("WARC-Protocol: h2  WARC-Type: x\r\n")
    );
    assert_eq!(record.block()[0], b"a--b--c: d e f\r\n");
}

/// What is written can be read: the longest URIs fit into the reader's header limit.
#[test]
fn endless_uris_are_cut() {
    let endless = "\n".repeat(1 << 20);
    let original = Original::new(RecordId::new(1), endless.clone(), date());
    let record = Record::revisit(&capture(&endless), Vec::new(), Digest::of(b""), &original);
    let directory = tempfile::tempdir().unwrap();
    let (mut archive, _) = open(directory.path(), 1 << 30, None);
    archive.append(&[record]).unwrap();
    let read = read_all(directory.path()).pop().unwrap();
    let length = read.header("WARC-Target-URI").unwrap().len();
    assert!((65_000..=65_536).contains(&length), "{length}");
}

#[test]
fn ids_follow_from_the_content() {
    let id = response("http://h.test/", b"x").id();
    assert_eq!(response("http://h.test/", b"x").id(), id);
    assert_ne!(response("http://h.test/", b"y").id(), id);
    assert_ne!(response("http://h.test/2", b"x").id(), id);
    let visit = capture("http://h.test/");
    let ids = [
        Record::metadata(&visit, None, &[("a", "b")]).id(),
        Record::conversion(&visit, None, "a: b\r\n").id(),
        Record::request(&visit, b"a: b\r\n\r\n".to_vec(), id).id(),
    ];
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);

    assert_eq!(
        RecordId::new(u128::MAX).to_string(),
        "<urn:uuid:ffffffff-ffff-8fff-bfff-ffffffffffff>"
    );
    for id in [id, RecordId::new(0), RecordId::new(7)] {
        let text = id.to_string();
        assert_eq!(RecordId::parse(&text), Some(id));
        assert_eq!(RecordId::parse(text.trim_matches(['<', '>'])), Some(id));
    }
    assert_eq!(RecordId::parse("<urn:uuid:ffff>"), None);
    assert_eq!(RecordId::parse("http://h.test/"), None);
    let digest = Digest::of(b"");
    assert_eq!(
        digest.to_string(),
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
    assert_eq!(Digest::parse(&digest.to_string()), Some(digest));
}

#[test]
fn segments_rotate_between_appends() {
    let directory = tempfile::tempdir().unwrap();
    let (mut archive, _) = open(directory.path(), 5_000, None);
    let mut segments = Vec::new();
    for visit in 0..12 {
        // The fifth append is larger than a segment.
        let length = if visit == 4 { 3000 } else { 100 };
        let group: Vec<Record> = (0..3)
            .map(|part| {
                let noise: Vec<u8> = (0..length).map(|i| (i * i * 31 + part) as u8).collect();
                response(&format!("http://h.test/{visit}/{part}"), &noise)
            })
            .collect();
        let locations = archive.append(&group).unwrap();
        assert!(locations.iter().all(|l| l.segment == locations[0].segment));
        segments.push(locations[0].segment);
    }
    let tail = archive.sync().unwrap();
    assert!(segments.is_sorted());
    assert!(tail.segment >= 3, "{segments:?}");
    // It has a segment of its own.
    assert_eq!(segments.iter().filter(|&&s| s == segments[4]).count(), 1);

    let files = snapshot(directory.path());
    assert_eq!(files.len() as u32, tail.segment + 1);
    for name in files.keys() {
        let found: Vec<ReadRecord> = records(directory.path().join(name))
            .unwrap()
            .collect::<Result<_>>()
            .unwrap();
        let (info, rest) = found.split_first().unwrap();
        assert_eq!(info.header("WARC-Filename"), Some(name.as_str()));
        for record in rest {
            assert_eq!(
                record.header("WARC-Warcinfo-ID"),
                info.header("WARC-Record-ID")
            );
        }
    }
    let small = files.values().filter(|bytes| bytes.len() <= 5_000).count();
    assert!(small + 1 >= files.len());
    let all = read_all(directory.path());
    let mut ids: Vec<_> = all.iter().map(|r| r.header("WARC-Record-ID")).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 36 + files.len());
}

#[test]
fn without_a_tail_nothing_is_destroyed() {
    let directory = tempfile::tempdir().unwrap();
    for round in 0..3 {
        let (mut archive, recovery) = open(directory.path(), 1 << 30, None);
        assert_eq!(recovery.set_aside.len(), usize::from(round > 0));
        archive.append(&[response("http://h.test/", b"x")]).unwrap();
    }
    let names: Vec<String> = snapshot(directory.path()).into_keys().collect();
    assert_eq!(
        names,
        [
            "gleaner-00000000.warc.gz",
            "gleaner-00000000.warc.gz.unacknowledged",
            "gleaner-00000000.warc.gz.unacknowledged-1",
        ]
    );
    // The default tail acknowledges that there is nothing; a whole segment is kept nevertheless.
    let (_, recovery) = open(directory.path(), 1 << 30, Some(Tail::default()));
    assert_eq!(recovery.set_aside.len(), 1);
    assert_eq!(snapshot(directory.path()).len(), 3);
}

#[test]
fn what_a_store_has_forgotten_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let (mut archive, _) = open(path, 1 << 30, None);
    archive
        .append(&[response("http://h.test/1", b"x")])
        .unwrap();
    let tail = archive.sync().unwrap();
    archive
        .append(&[response("http://h.test/2", b"y")])
        .unwrap();
    drop(archive);
    let name = "gleaner-00000000.warc.gz";
    let before = snapshot(path);
    let start = Start::Behind(tail);
    let (_, recovery) = WarcArchive::open(options(path, 1 << 30), start).unwrap();
    let after = snapshot(path);
    let end = &before[name][tail.offset as usize..];
    assert_eq!(recovery.bytes_cut, end.len() as u64);
    assert_eq!(after[&format!("{name}.unacknowledged")], end);
    assert_eq!(after[name], before[name][..tail.offset as usize]);
}

#[test]
fn a_tail_beyond_the_file_is_an_error_and_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (mut archive, _) = open(directory.path(), 1, None);
    for target in ["http://h.test/1", "http://h.test/2"] {
        archive.append(&[response(target, b"x")]).unwrap();
    }
    let tail = archive.sync().unwrap();
    assert_eq!(tail.segment, 1);
    let before = snapshot(directory.path());
    let check = |tail: Tail, found: u64| {
        let error = WarcArchive::open(options(directory.path(), 1), Start::At(tail)).err();
        match &error {
            Some(Error::TailBeyondEnd {
                acknowledged,
                found: there,
                path,
            }) => {
                assert_eq!((*acknowledged, *there), (tail.offset, found));
                assert_eq!(path, &archive.options().segment_path(tail.segment));
            }
            _ => panic!("{error:?}"),
        }
        assert_eq!(snapshot(directory.path()), before);
    };
    let longer = |segment, offset| Tail { segment, offset };
    check(longer(1, tail.offset + 1), tail.offset);
    check(longer(2, 1), 0);
    check(
        longer(0, 1 << 40),
        before["gleaner-00000000.warc.gz"].len() as u64,
    );
}

#[test]
fn a_segment_without_its_warcinfo_is_not_continued() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("gleaner-00000000.warc.gz");
    fs::write(&path, b"not a record").unwrap();
    let tail = Tail {
        segment: 0,
        offset: 5,
    };
    let opened = WarcArchive::open(options(directory.path(), 1), Start::At(tail));
    assert!(matches!(opened, Err(Error::Format { .. })));
    assert_eq!(fs::read(&path).unwrap(), b"not a record");
}

#[test]
fn memory_archive_finds_its_records() {
    let mut archive = MemoryArchive::new();
    let pages = [
        response("http://h.test/1", b""),
        response("http://h.test/2", b"x"),
    ];
    let locations = archive.append(&pages).unwrap();
    for (page, location) in pages.iter().zip(&locations) {
        assert_eq!(archive.get(location).unwrap().id(), page.id());
    }
    let beyond = Tail {
        segment: 0,
        offset: 1 << 20,
    };
    assert!(archive.rewind(&beyond).is_err());
    archive.rewind(&Tail::default()).unwrap();
    assert_eq!(archive.records().count(), 0);
}

/// What may happen to an archive.
#[derive(Debug, Clone)]
enum Step {
    /// Appends a group with these payload lengths.
    Append(Vec<usize>),
    /// Syncs and acknowledges.
    Commit,
    /// Rewinds to what is acknowledged, in the same process.
    Rewind,
    /// Ends the process, leaving these bytes after the end of the last segment, and as many new
    /// segments with the same bytes.
    Crash(Vec<u8>, u32),
}

fn step() -> impl Strategy<Value = Step> {
    let garbage = prop::collection::vec(any::<u8>(), 0..40);
    prop_oneof![
        4 => prop::collection::vec(0..3000_usize, 1..5).prop_map(Step::Append),
        2 => Just(Step::Commit),
        1 => Just(Step::Rewind),
        1 => (garbage, 0..3_u32).prop_map(|(bytes, segments)| Step::Crash(bytes, segments)),
    ]
}

fn leave_behind(directory: &Path, end: Tail, garbage: &[u8], segments: u32) {
    let names = options(directory, 0);
    let last = names.segment_path(end.segment);
    if let Ok(mut file) = OpenOptions::new().append(true).open(last) {
        file.write_all(garbage).unwrap();
    }
    for number in 1..=segments {
        fs::write(names.segment_path(end.segment + number), garbage).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever happens, after a rewind or a restart the directory is byte for byte what it was
    /// when it was acknowledged, and in the end it contains what the model contains.
    #[test]
    fn rewinding_gives_back_what_was_acknowledged(
        steps in prop::collection::vec(step(), 1..25),
        max_segment_bytes in prop_oneof![Just(1_u64), Just(6_000), Just(1 << 30)],
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let (mut archive, _) = open(path, max_segment_bytes, None);
        let mut model = MemoryArchive::new();
        let mut acknowledged = (Tail::default(), Tail::default(), snapshot(path));
        let mut number = 0;
        for step in steps {
            match step {
                Step::Append(lengths) => {
                    let group: Vec<Record> = lengths
                        .into_iter()
                        .map(|length| {
                            number += 1;
                            let target = format!("http://h.test/{number}");
                            response(&target, &vec![number as u8; length])
                        })
                        .collect();
                    let locations = archive.append(&group).unwrap();
                    model.append(&group).unwrap();
                    for (record, location) in group.iter().zip(&locations) {
                        let read = archive.options().read(location, Limits::default()).unwrap();
                        prop_assert_eq!(read.length, location.length);
                        let id = record.id().to_string();
                        prop_assert_eq!(read.header("WARC-Record-ID"), Some(id.as_str()));
                    }
                }
                Step::Commit => {
                    let tails = (archive.sync().unwrap(), model.sync().unwrap());
                    acknowledged = (tails.0, tails.1, snapshot(path));
                }
                Step::Rewind => {
                    archive.rewind(&acknowledged.0).unwrap();
                    model.rewind(&acknowledged.1).unwrap();
                    prop_assert_eq!(&snapshot(path), &acknowledged.2);
                }
                Step::Crash(garbage, segments) => {
                    let end = archive.end();
                    drop(archive);
                    leave_behind(path, end, &garbage, segments);
                    let before: usize = snapshot(path).values().map(Vec::len).sum();
                    let (opened, recovery) = open(path, max_segment_bytes, Some(acknowledged.0));
                    archive = opened;
                    model.rewind(&acknowledged.1).unwrap();
                    let mut aside = 0;
                    for file in &recovery.set_aside {
                        aside += fs::metadata(file).unwrap().len();
                        fs::remove_file(file).unwrap();
                    }
                    prop_assert_eq!(&snapshot(path), &acknowledged.2);
                    let after: usize = acknowledged.2.values().map(Vec::len).sum();
                    prop_assert_eq!(recovery.bytes_cut + aside, (before - after) as u64);
                }
            }
        }
        let found: Vec<String> = read_all(path)
            .iter()
            .filter(|record| record.header("WARC-Type") != Some("warcinfo"))
            .map(|record| record.header("WARC-Record-ID").unwrap().to_owned())
            .collect();
        let expected: Vec<String> = model.records().map(|r| r.id().to_string()).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn any_payload_and_target_comes_back(
        payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..5000), 1..6),
        target in "\\PC{0,40}|(?s).{0,40}",
    ) {
        let directory = tempfile::tempdir().unwrap();
        let (mut archive, _) = open(directory.path(), 1 << 30, None);
        let pages: Vec<Record> = payloads.iter().map(|p| response(&target, p)).collect();
        let locations = archive.append(&pages).unwrap();
        let found = read_all(directory.path());
        prop_assert_eq!(found.len(), pages.len() + 1);
        for (((page, read), payload), location) in
            pages.iter().zip(&found[1..]).zip(&payloads).zip(locations)
        {
            prop_assert_eq!(read.http_parts(), Some((HEAD, payload.as_slice())));
            prop_assert_eq!(read.header("WARC-Target-URI"), page.target());
            prop_assert_eq!(read.headers.len(), 12);
            prop_assert_eq!(read.block_is_intact(), Some(true));
            prop_assert_eq!((read.offset, read.length), (location.offset, location.length));
        }
    }

    /// A file cut anywhere gives its complete records and then, unless the cut is between two of
    /// them, an error that says it is torn.
    #[test]
    fn a_torn_file_is_read_up_to_the_tear(cut in 0.0..1.0_f64) {
        let directory = tempfile::tempdir().unwrap();
        let (mut archive, _) = open(directory.path(), 1 << 30, None);
        let pages = [response("http://h.test/1", b"x"), response("http://h.test/2", b"y")];
        let ends: Vec<u64> = archive
            .append(&pages)
            .unwrap()
            .iter()
            .flat_map(|l| [l.offset, l.offset + l.length])
            .collect();
        let path = archive.options().segment_path(0);
        let cut = (archive.end().offset as f64 * cut) as u64;
        OpenOptions::new().write(true).open(&path).unwrap().set_len(cut).unwrap();
        let whole = [ends[0], ends[1], ends[3]].iter().filter(|&&end| end <= cut).count();
        let found: Vec<Result<ReadRecord>> = records(&path).unwrap().collect();
        prop_assert!(found[..whole].iter().all(Result::is_ok));
        let between = cut == 0 || ends.contains(&cut);
        match found.get(whole) {
            None => prop_assert!(between),
            Some(Err(Error::Torn { offset, .. })) => {
                prop_assert_eq!(*offset, [0, ends[0], ends[1]][whole]);
                prop_assert_eq!(found.len(), whole + 1);
            }
            other => prop_assert!(false, "{other:?}"),
        }
    }

    /// A changed byte ends the reading or (in gzip header fields without meaning) changes nothing:
    /// no record is ever read differently.
    #[test]
    fn damage_is_noticed(place in any::<prop::sample::Index>(), bits in 1..=255_u8) {
        let directory = tempfile::tempdir().unwrap();
        let (mut archive, _) = open(directory.path(), 1 << 30, None);
        archive.append(&[response("http://h.test/1", &[7; 500])]).unwrap();
        let path = archive.options().segment_path(0);
        let good: Vec<ReadRecord> = records(&path).unwrap().map(Result::unwrap).collect();
        let mut bytes = fs::read(&path).unwrap();
        *place.get_mut(&mut bytes) ^= bits;
        fs::write(&path, &bytes).unwrap();
        let found: Vec<Result<ReadRecord>> = records(&path).unwrap().collect();
        let whole = found.iter().map_while(|record| record.as_ref().ok());
        for (record, expected) in whole.zip(&good) {
            prop_assert_eq!(record, expected);
        }
        prop_assert!(found.len() == 2 || found.last().is_some_and(Result::is_err));
    }

    #[test]
    fn any_bytes_can_be_read(plain in any::<bool>(), bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let file = tempfile::NamedTempFile::new().unwrap();
        let written = if plain { bytes } else { gzip(&[b"WARC/1.1\r\n", bytes.as_slice()].concat()) };
        fs::write(file.path(), written).unwrap();
        prop_assert!(records(file.path()).unwrap().filter(Result::is_err).count() <= 1);
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Reads one gzip member made of `text`; returns the reason if it is not a record.
fn read_text(text: &[u8]) -> std::result::Result<ReadRecord, String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), gzip(text)).unwrap();
    let limits = Limits {
        header_bytes: 1000,
        block_bytes: 1000,
    };
    let mut reader = SegmentReader::open_at(file.path(), 0, limits).unwrap();
    let first = reader.next().unwrap();
    if first.is_err() {
        assert!(reader.next().is_none());
    }
    first.map_err(|error| match error {
        Error::Format { reason, .. } => reason,
        Error::TooLarge { length, limit, .. } => format!("{length} bytes, above {limit}"),
        other => panic!("{other:?}"),
    })
}

#[test]
fn records_of_other_writers() {
    let record = read_text(
        b"WARC/1.0\r\ncontent-length:3\r\nX-Folded: one\r\n  two\r\nX-Latin: \xe9\r\n\r\nabc\r\n\r\n",
    )
    .unwrap();
    assert_eq!(record.block, b"abc");
    assert_eq!(record.header("x-folded"), Some("one two"));
    assert_eq!(record.header("X-Latin"), Some("\u{fffd}"));
    assert_eq!(record.block_is_intact(), None);
    assert_eq!(record.http_parts(), None);
}

#[test]
fn what_is_no_record_is_refused() {
    let check = |text: &[u8], reason: &str| {
        let found = read_text(text).unwrap_err();
        assert!(found.contains(reason), "{found}");
    };
    let fill = |byte: u8, length: usize| vec![byte; length];
    check(b"", "does not end");
    check(b"HTTP/1.1 200 OK\r\n\r\n", "begin with WARC/1.1");
    check(b"WARC/1.1\r\nContent-Length: 0", "does not end");
    check(b"WARC/1.1\r\nno field\r\n\r\n\r\n\r\n", "no named field");
    check(b"WARC/1.1\r\n folded\r\n\r\n\r\n\r\n", "no named field");
    check(b"WARC/1.1\r\n\r\n\r\n\r\n", "one Content-Length");
    check(
        b"WARC/1.1\r\nContent-Length: -1\r\n\r\n\r\n\r\n",
        "one Content-Length",
    );
    check(
        b"WARC/1.1\r\nContent-Length: \r\n\r\n\r\n\r\n",
        "one Content-Length",
    );
    check(
        b"WARC/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na\r\n\r\n",
        "one Content-Length",
    );
    check(
        b"WARC/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n\r\n\r\n",
        "one Content-Length",
    );
    check(
        b"WARC/1.1\r\nContent-Length: 9\r\n\r\nabc\r\n\r\n",
        "should have 9 bytes and has 7",
    );
    check(
        b"WARC/1.1\r\nContent-Length: 1\r\n\r\nabc\r\n\r\n",
        "not followed by",
    );
    check(
        b"WARC/1.1\r\nContent-Length: 0\r\n\r\n\r\n\r\nWARC/1.1",
        "not followed by",
    );
    check(
        &[b"WARC/1.1\r\nX:".as_slice(), &fill(b'x', 1_000_000)].concat(),
        "header is longer than 1000",
    );
    check(
        &[
            b"WARC/1.1\r\nContent-Length: 1000000\r\n\r\n".as_slice(),
            &fill(b'x', 1_000_000),
        ]
        .concat(),
        "1000000 bytes, above 1000",
    );
}

/// Options of an archive whose files have names of a crawl.
fn named(directory: &Path, max_segment_bytes: u64) -> WarcOptions {
    WarcOptions {
        names: FileNames::plain("gleaner").followed_by(0, "news-20260102030405-0123abcd"),
        ..options(directory, max_segment_bytes)
    }
}

const FIRST: &str = "news-20260102030405-0123abcd-00000.warc.gz";
const SECOND: &str = "news-20260102030405-0123abcd-00001.warc.gz";

fn names_in(directory: &Path) -> Vec<String> {
    snapshot(directory).into_keys().collect()
}

#[test]
fn a_file_has_its_name_when_it_is_whole() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    let (mut archive, _) = WarcArchive::open(named(place, 1 << 30), Start::Empty).unwrap();
    archive.close().unwrap();
    assert_eq!((archive.begun(), archive.end()), (None, Tail::default()));
    let first = archive
        .append(&[response("http://h.test/1", b"1")])
        .unwrap()[0];
    assert_eq!(archive.sync().unwrap().segment, 0);
    assert_eq!(names_in(place), [format!("{FIRST}.open")]);
    assert!(archive.begun().is_some());
    // It is read under the name that it will have.
    let read = |location| archive.options().read(location, Limits::default()).unwrap();
    let before = read(&first);
    archive.close().unwrap();
    assert_eq!(names_in(place), [FIRST]);
    assert_eq!(archive.begun(), None);
    let next = Tail {
        segment: 1,
        offset: 0,
    };
    assert_eq!(archive.sync().unwrap(), next);
    assert_eq!(
        archive.options().read(&first, Limits::default()).unwrap(),
        before
    );
    // What follows goes to the next file, in this process and in another.
    archive
        .append(&[response("http://h.test/2", b"2")])
        .unwrap();
    assert_eq!(
        names_in(place),
        [FIRST.to_owned(), format!("{SECOND}.open")]
    );
    let tail = archive.sync().unwrap();
    drop(archive);
    // The first may be moved away.
    fs::remove_file(place.join(FIRST)).unwrap();
    let (mut archive, found) = WarcArchive::open(named(place, 1 << 30), Start::At(tail)).unwrap();
    assert_eq!(found, Recovery::default());
    archive
        .append(&[response("http://h.test/3", b"3")])
        .unwrap();
    archive.close().unwrap();
    assert_eq!(names_in(place), [SECOND]);
    assert_eq!(read_all(place).len(), 3);
}

/// Whatever a kill leaves between the steps of closing, no acknowledged record is lost or twice.
#[test]
fn a_kill_while_a_file_is_closed_costs_nothing() {
    let check = |is_renamed: bool, unacknowledged: bool, expected: &[&str]| {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path();
        let (mut archive, _) = WarcArchive::open(named(place, 1 << 30), Start::Empty).unwrap();
        archive
            .append(&[response("http://h.test/1", b"1")])
            .unwrap();
        let tail = archive.sync().unwrap();
        if unacknowledged {
            archive
                .append(&[response("http://h.test/lost", b"?")])
                .unwrap();
        }
        if is_renamed {
            archive.close().unwrap();
        }
        drop(archive);
        let (mut archive, _) = WarcArchive::open(named(place, 1 << 30), Start::At(tail)).unwrap();
        archive
            .append(&[response("http://h.test/2", b"2")])
            .unwrap();
        archive.sync().unwrap();
        assert_eq!(names_in(place), expected, "{is_renamed} {unacknowledged}");
        let found = read_all(place);
        let targets = found.iter().filter_map(|it| it.header("WARC-Target-URI"));
        let targets: Vec<_> = targets.collect();
        assert_eq!(targets, ["http://h.test/1", "http://h.test/2"]);
    };
    let open = &*format!("{FIRST}.open");
    check(false, false, &[open]);
    check(false, true, &[open]);
    check(true, false, &[FIRST, &format!("{SECOND}.open")]);
    check(true, true, &[open]);
}

#[test]
fn a_full_file_is_closed_and_a_rewind_leaves_it_so() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    let (mut archive, _) = WarcArchive::open(named(place, 3_000), Start::Empty).unwrap();
    archive
        .append(&[response("http://h.test/1", b"1")])
        .unwrap();
    let tail = archive.sync().unwrap();
    archive
        .append(&[response("http://h.test/2", &[7; 2_000])])
        .unwrap();
    assert_eq!(
        names_in(place),
        [FIRST.to_owned(), format!("{SECOND}.open")]
    );
    archive.rewind(&tail).unwrap();
    assert_eq!(names_in(place), [FIRST]);
    archive
        .append(&[response("http://h.test/3", b"3")])
        .unwrap();
    assert_eq!(
        names_in(place),
        [FIRST.to_owned(), format!("{SECOND}.open")]
    );
}

/// Files of a crawl before its files had such names stay where they are, and a directory whose
/// store is lost is not written to beside what it had.
#[test]
fn files_of_other_names_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    let (mut archive, _) = open(place, 1 << 30, None);
    archive
        .append(&[response("http://h.test/1", b"1")])
        .unwrap();
    let tail = archive.sync().unwrap();
    drop(archive);
    let names = FileNames::plain("gleaner").followed_by(1, "news-20260102030405-0123abcd");
    let later = WarcOptions {
        names,
        ..options(place, 1 << 30)
    };
    let (mut archive, _) = WarcArchive::open(later, Start::At(tail)).unwrap();
    archive
        .append(&[response("http://h.test/2", b"2")])
        .unwrap();
    archive.close().unwrap();
    archive
        .append(&[response("http://h.test/3", b"3")])
        .unwrap();
    let old = "gleaner-00000000.warc.gz";
    assert_eq!(names_in(place), [old.to_owned(), format!("{SECOND}.open")]);
    drop(archive);
    let names = FileNames::plain("gleaner").followed_by(0, "other-20270102030405-0123abcd");
    let other = WarcOptions {
        names,
        ..options(place, 1 << 30)
    };
    let (_, found) = WarcArchive::open(other, Start::At(Tail::default())).unwrap();
    assert_eq!(found.set_aside.len(), 2, "{found:?}");
    // Two files of one name are for a person to tell apart.
    fs::write(place.join(FIRST), "x").unwrap();
    fs::write(place.join(format!("{FIRST}.open")), "x").unwrap();
    let refused = WarcArchive::open(named(place, 1 << 30), Start::At(Tail::default()));
    assert!(matches!(refused, Err(Error::Twice { .. })));
}

#[test]
fn digests_are_of_the_kind_that_is_wanted() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    let wanted = WarcOptions {
        digest: DigestAlgorithm::Sha1,
        ..options(place, 1 << 30)
    };
    let (mut archive, _) = WarcArchive::open(wanted, Start::Empty).unwrap();
    let record = response("http://h.test/", b"hello").identified_as(Some("text/plain"));
    archive.append(&[record]).unwrap();
    let found = read_all(place);
    assert!(found.iter().all(|it| it.block_is_intact() == Some(true)));
    let of = |name| found[1].header(name).unwrap();
    // `printf hello | openssl sha1 -binary | base32`
    assert_eq!(
        of("WARC-Payload-Digest"),
        "sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N"
    );
    assert_eq!(of("WARC-Identified-Payload-Type"), "text/plain");
    assert!(of("WARC-Block-Digest").starts_with("sha1:"));
}
