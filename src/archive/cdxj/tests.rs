//! Lines of all kinds of records, their order, and what survives a kill.

use std::fs;
use std::path::Path;

use bytes::Bytes;
use jiff::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::archive::Limits;
use crate::archive::{
    Archive as _, Capture, Digest, DigestAlgorithm, FileNames, Original, Record, RecordStream,
    Start, Tail, WarcArchive, WarcOptions, records,
};

/// A record of a file that is not compressed.
fn record(
    kind: &str,
    url: &str,
    date: &str,
    content_type: &str,
    more: &str,
    block: &[u8],
) -> Vec<u8> {
    let field = |name: &str, value: &str| match value {
        "" => String::new(),
        _ => format!("{name}: {value}\r\n"),
    };
    let head = [
        "WARC/1.0\r\n".to_owned(),
        field("WARC-Type", kind),
        field(
            "WARC-Record-ID",
            "<urn:uuid:00000000-0000-4000-8000-000000000000>",
        ),
        field("WARC-Date", date),
        field("WARC-Target-URI", url),
        field("Content-Type", content_type),
        more.to_owned(),
        field("Content-Length", &block.len().to_string()),
        "\r\n".to_owned(),
    ];
    [head.concat().as_bytes(), block, b"\r\n\r\n"].concat()
}

/// The lines were made of this file by `cdxj-indexer` 1.5.0.
#[test]
fn lines_are_those_of_the_tool_that_others_use() {
    const HTTP: &str = "application/http; msgtype=response";
    let day = "2020-01-02T03:04:05Z";
    let b = "http://b.example/";
    let digest = "WARC-Payload-Digest: sha256:00\r\n";
    let file = [
        record("warcinfo", "", day, "application/warc-fields", "", b"software: x\r\n"),
        record(
            "response",
            "http://b.example/a b?y=2&x=1",
            "2020-01-02T03:04:05.678Z",
            HTTP,
            "",
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html;charset=utf-8\r\n\r\nbody",
        ),
        record("request", "http://b.example/a b", day, "application/http; msgtype=request", "", b"GET / HTTP/1.1\r\n\r\n"),
        record(
            "response",
            "<https://a.example/é/😀>",
            "2020-01-02T03:04:06Z",
            HTTP,
            "",
            b"HTTP/2 301\r\nLocation: /x\r\n\r\n",
        ),
        record(
            "response",
            "http://c.example/",
            "2020-01-02",
            HTTP,
            digest,
            b"HTTP/1.1 404 Not Found\r\nX\r\ncontent-type : text/plain\xe9 x\r\nContent-Type: b/c\r\n\r\n",
        ),
        record("revisit", "http://b.example/a b?x=1&y=2", "2021-01-02T03:04:05Z", "", "", b""),
        record(
            "revisit",
            b,
            "2021-01-02T03:04:05Z",
            HTTP,
            "WARC-Payload-Digest: sha1:AA\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
        ),
        record("resource", "urn:thing:X", day, "image/png; q=1", "", b"png"),
        record("metadata", b, day, "application/warc-fields", "", b"a: b\r\n"),
        record("metadata", b, day, "text/x \"y\"", "", b"a"),
        record("conversion", b, day, "text/plain", "", b"a"),
        record("response", "dns:b.example", day, "text/dns", "", b"20200102\nb.example. 1 IN A 192.0.2.1\n"),
    ];
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("foreign.warc");
    fs::write(&path, file.concat()).unwrap();
    let stream = RecordStream::open(&path, Limits::default()).unwrap();
    let lines = stream.map(|record| {
        let record = record.unwrap();
        // Without the two line ends.
        index_line(&record, "foreign.warc", record.length - 4)
    });
    let mut lines: Vec<String> = lines.flatten().collect();
    lines.sort();
    let expected = r#"
dns:b.example 20200102030405 {"url": "dns:b.example", "digest": "sha1:CFJNNWNGJ2WLVF3XG3YLV2YNFHRYVYSO", "length": "244", "offset": "2807", "filename": "foreign.warc"}
example,a)/%c3%a9/%f0%9f%98%80 20200102030406 {"url": "https://a.example/\u00e9/\ud83d\ude00", "status": "301", "digest": "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", "length": "275", "offset": "785", "filename": "foreign.warc"}
example,b)/ 20200102030405 {"url": "http://b.example/", "mime": "text/x", "digest": "sha1:Q336IN72UWT7ZYK5DXOLT2XK5I3XMZ5Y", "length": "213", "offset": "2371", "filename": "foreign.warc"}
example,b)/ 20210102030405 {"url": "http://b.example/", "mime": "warc/revisit", "status": "200", "digest": "sha1:AA", "length": "310", "offset": "1605", "filename": "foreign.warc"}
example,b)/a%20b?x=1&y=2 20200102030405 {"url": "http://b.example/a%20b?y=2&x=1", "mime": "text/html", "status": "200", "digest": "sha1:AIED6RLZ4CFGCJBFYDA2C7XEPLOXQO4U", "length": "314", "offset": "207", "filename": "foreign.warc"}
example,b)/a%20b?x=1&y=2 20210102030405 {"url": "http://b.example/a%20b?x=1&y=2", "mime": "warc/revisit", "length": "196", "offset": "1405", "filename": "foreign.warc"}
example,c)/ 20200102000000 {"url": "http://c.example/", "mime": "text/plain\u00e9", "status": "404", "digest": "sha256:00", "length": "337", "offset": "1064", "filename": "foreign.warc"}
urn:thing:x 20200102030405 {"url": "urn:thing:X", "mime": "image/png", "digest": "sha1:SBAKPVWN66QNNSVRQI4DDRWOW7IBV6L7", "length": "213", "offset": "1919", "filename": "foreign.warc"}
"#;
    let expected: Vec<&str> = expected.trim().lines().collect();
    assert_eq!(lines, expected);
    let read = IndexLine::parse(expected[0]).unwrap();
    assert_eq!(
        (read.offset, read.length, &*read.filename),
        (2807, 244, "foreign.warc")
    );
}

#[test]
fn what_is_no_line_is_not_read() {
    let check = |line: &str| assert_eq!(IndexLine::parse(line), None, "{line}");
    check("");
    check("!meta 0 {}");
    check(r#"a)/ 2020 {"offset": "1", "length": "2", "filename": "f"}"#);
    check(r#"a)/ 20200102030405 {"offset": 1, "length": "2", "filename": "f"}"#);
    check(r#"a)/ 20200102030405 {"offset": "1", "length": "2", "filename": "f""#);
    check(r#"a)/ 20200102030405 {"length": "2", "filename": "f"}"#);
    let whole = r#"a)/ 20200102030405 {"url": "u", "offset": "1", "length": "2", "filename": "f"}"#;
    assert!(IndexLine::parse(whole).is_some());
    check(&format!("\0\0{whole}"));
    check(&whole.replacen('a', "a\0", 1));
}

proptest! {
    #[test]
    fn lines_are_sorted_by_their_bytes_each_once(
        lines in prop::collection::vec("[a-c ,)é]{0,3}", 0..200),
        room in 0_usize..2_000,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let mut sorter = LineSorter::with_room(directory.path(), room);
        for line in &lines {
            sorter.add(line.clone()).unwrap();
        }
        let sorted: Vec<String> = sorter.sorted().unwrap().map(|line| line.unwrap()).collect();
        let mut expected = lines;
        expected.sort();
        expected.dedup();
        prop_assert_eq!(sorted, expected);
        prop_assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}

fn options(directory: &Path, digest: DigestAlgorithm) -> WarcOptions {
    WarcOptions {
        names: FileNames::plain("x").followed_by(0, "x-20260102030405-0123abcd"),
        indexed: true,
        digest,
        ..WarcOptions::new(directory)
    }
}

const NAME: &str = "x-20260102030405-0123abcd-00000.warc.gz";

/// Appends the records of a visit.
fn visit(archive: &mut WarcArchive, number: u32) {
    let target = format!("http://h{}.test/{number}?ä", number % 3);
    let capture = Capture {
        target: &target,
        date: Timestamp::from_millisecond(1_700_000_000_999 + i64::from(number)).unwrap(),
        ip: None,
        protocols: &[],
    };
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n".to_vec();
    let payload = Bytes::from(format!("page {number}"));
    let digest = Digest::of(&payload);
    let main = match number % 4 {
        0 => Record::not_modified(&capture, head.clone(), None),
        1 => {
            let original = Original::new(archive_id(), target.clone(), capture.date);
            Record::revisit(&capture, Vec::new(), "sha1:AA", &original)
        }
        _ => Record::response(&capture, head.clone(), payload, digest, None),
    };
    let request = Record::request(&capture, b"GET / HTTP/1.1\r\n\r\n".to_vec(), main.id());
    let metadata = Record::metadata(&capture, None, &[("note", "text")]);
    archive.append(&[request, main, metadata]).unwrap();
}

fn archive_id() -> crate::archive::RecordId {
    crate::archive::RecordId::new(7)
}

/// The index that a file must have.
fn expected(warc: &Path) -> Vec<String> {
    let lines = records(warc).unwrap().map(|record| {
        let record = record.unwrap();
        index_line(&record, NAME, record.length)
    });
    let mut lines: Vec<String> = lines.flatten().collect();
    lines.sort();
    lines
}

fn index_of(warc: &Path) -> Vec<String> {
    let text = fs::read_to_string(index_path(warc)).unwrap();
    assert!(text.ends_with('\n'));
    text.lines().map(str::to_owned).collect()
}

fn files(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory)
        .unwrap()
        .map(|it| it.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_closed_file_has_its_index_beside_it() {
    for digest in [DigestAlgorithm::Sha256, DigestAlgorithm::Sha1] {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path();
        let (mut archive, _) = WarcArchive::open(options(place, digest), Start::Empty).unwrap();
        for number in 0..9 {
            visit(&mut archive, number);
        }
        let open = [format!("{NAME}.cdxj.open"), format!("{NAME}.open")];
        assert_eq!(files(place), open);
        archive.close().unwrap();
        assert_eq!(files(place), [NAME.to_owned(), format!("{NAME}.cdxj")]);
        let warc = place.join(NAME);
        assert_eq!(index_of(&warc).len(), 9);
        assert_eq!(index_of(&warc), expected(&warc));
    }
}

/// Whatever a kill or a power cut leaves of an index, the closed file has a whole one.
#[test]
fn what_is_lost_of_an_index_is_read_from_the_records() {
    let check = |what: &str, harm: &dyn Fn(&Path, &mut Vec<u8>)| {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path();
        let options = options(place, DigestAlgorithm::Sha256);
        let (mut archive, _) = WarcArchive::open(options.clone(), Start::Empty).unwrap();
        for number in 0..6 {
            visit(&mut archive, number);
        }
        let tail = archive.sync().unwrap();
        // Not acknowledged, and so not in the archive after the kill.
        visit(&mut archive, 6);
        drop(archive);
        let path = place.join(format!("{NAME}.cdxj.open"));
        let mut text = fs::read(&path).unwrap();
        harm(&path, &mut text);
        let (mut archive, _) = WarcArchive::open(options, Start::At(tail)).unwrap();
        visit(&mut archive, 7);
        archive.close().unwrap();
        let warc = place.join(NAME);
        assert_eq!(
            files(place),
            [NAME.to_owned(), format!("{NAME}.cdxj")],
            "{what}"
        );
        assert_eq!(index_of(&warc), expected(&warc), "{what}");
        assert_eq!(index_of(&warc).len(), 7, "{what}");
    };
    let write = |path: &Path, text: &[u8]| fs::write(path, text).unwrap();
    check("nothing", &|_, _| {});
    check("all", &|path, _| fs::remove_file(path).unwrap());
    check("its end", &|path, text| {
        write(path, &text[..text.len() / 2]);
    });
    check("its middle", &|path, text| {
        let middle = text.len() / 2;
        text[middle..middle + 50].fill(0);
        write(path, text);
    });
    check("a line and the start of the next", &|path, text| {
        // What is left of the next one differs in its key and in nothing else.
        let end = text.iter().position(|byte| *byte == b'\n').unwrap();
        text[..end + 4].fill(0);
        write(path, text);
    });
    check("a line", &|path, text| {
        let at = text.iter().position(|byte| *byte == b'\n').unwrap();
        // A line of another file, or of none of this file's records.
        let other = String::from_utf8_lossy(&text[..=at]).replace("-00000", "-00001");
        let far =
            String::from_utf8_lossy(&text[..=at]).replace("\"offset\": \"", "\"offset\": \"9999");
        write(
            path,
            &[&text[..=at], other.as_bytes(), far.as_bytes()].concat(),
        );
    });
    check("its name", &|path, text| {
        // Killed between the names of the index and of the file.
        write(&path.with_extension(""), text);
        fs::remove_file(path).unwrap();
    });
}

#[test]
fn a_closed_file_without_an_index_gets_one() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path();
    let options = options(place, DigestAlgorithm::Sha256);
    let (mut archive, _) = WarcArchive::open(options.clone(), Start::Empty).unwrap();
    visit(&mut archive, 2);
    let tail = archive.sync().unwrap();
    // Killed before the commit that says that what follows goes to the next file.
    archive.close().unwrap();
    drop(archive);
    let warc = place.join(NAME);
    fs::remove_file(index_path(&warc)).unwrap();
    let (archive, _) = WarcArchive::open(options.clone(), Start::At(tail)).unwrap();
    assert_eq!(
        archive.end(),
        Tail {
            segment: 1,
            offset: 0
        }
    );
    assert_eq!(index_of(&warc), expected(&warc));
    drop(archive);
    // What is set aside has none.
    WarcArchive::open(options, Start::Empty).unwrap();
    assert_eq!(files(place), [format!("{NAME}.unacknowledged")]);
}
