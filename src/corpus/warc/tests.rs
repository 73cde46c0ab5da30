//! What is wrong with a file is found, a copy of what is left of it is sound, and good files of
//! others have nothing wrong.

use std::fs;
use std::path::Path;

use super::*;
use crate::archive::DigestAlgorithm;

/// A record as others write it.
fn record(kind: &str, id: usize, fields: &[(&str, &str)], block: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{id:012}>\r\n\
         WARC-Date: 2026-01-02T03:04:05Z\r\nContent-Length: {}\r\n",
        block.len()
    );
    if matches!(kind, "response" | "request" | "revisit") {
        bytes.extend(["Content-Type: application/http; msgtype=", kind, "\r\n"]);
    }
    for (name, value) in fields {
        bytes.extend([*name, ": ", *value, "\r\n"]);
    }
    bytes += "\r\n";
    [bytes.as_bytes(), block, b"\r\n\r\n"].concat()
}

const URL: (&str, &str) = ("WARC-Target-URI", "<http://h.test/>");
const PAGE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// The faults of a file with these records, one member each.
fn faults(records: &[Vec<u8>], with: &[Vec<u8>]) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: Vec<u8>| {
        let path = directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let file = write("file.warc", records.concat());
    let other = write("other.warc", with.concat());
    let mut found = Vec::new();
    let verified = verify(&[file], &[other], |fault| {
        found.push(fault.fault);
        Ok(())
    });
    assert_eq!(verified.unwrap().faults, found.len() as u64);
    found
}

#[test]
fn each_fault_is_found() {
    let check = |records: &[Vec<u8>], expected: &[&str]| {
        let found = faults(records, &[]);
        assert_eq!(found.len(), expected.len(), "{expected:?}: {found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.contains(expected), "{expected:?}: {found}");
        }
    };
    let response = |fields: &[(&str, &str)], block: &[u8]| {
        record("response", 1, &[&[URL], fields].concat(), block)
    };
    check(&[response(&[], PAGE)], &[]);
    let digest = DigestAlgorithm::Sha1.digest([&b"hello"[..]]);
    check(&[response(&[("WARC-Payload-Digest", &digest)], PAGE)], &[]);
    let other = DigestAlgorithm::Sha256.digest([&b"other"[..]]);
    check(
        &[response(
            &[
                ("WARC-Payload-Digest", &other),
                ("WARC-Block-Digest", &other),
            ],
            PAGE,
        )],
        &[
            "its WARC-Block-Digest is another",
            "its WARC-Payload-Digest is another",
        ],
    );
    check(
        &[response(&[], PAGE), response(&[], PAGE)],
        &["another record has its WARC-Record-ID"],
    );
    let body =
        |head: &str, body: &str| format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}").into_bytes();
    check(
        &[response(&[], &body("Content-Length: 6", "hello"))],
        &["has 5 bytes, and its head promises 6"],
    );
    check(
        &[response(
            &[],
            &body("Content-Length: 5\r\ncontent-length: 6", "hello"),
        )],
        &["two values of Content-Length"],
    );
    check(
        &[response(&[], &body("Content-Encoding: gzip", "hello"))],
        &["not coded as its head says (gzip)"],
    );
    let chunks = "5\r\nhello\r\n0\r\n\r\n";
    check(&[response(&[], &body("A: b", chunks))], &["in chunks"]);
    check(
        &[response(&[], &body("Transfer-Encoding: chunked", chunks))],
        &[],
    );
    check(
        &[response(&[], &body("Transfer-Encoding: chunked", "hello"))],
        &[],
    );
    check(
        &[response(
            &[("WARC-Truncated", "length")],
            &body("Content-Length: 9", "x"),
        )],
        &[],
    );
    check(&[response(&[], b"hello")], &["no HTTP response"]);
    let undated = String::from_utf8(record("resource", 3, &[], b"x")).unwrap();
    let undated = undated
        .replace("2026-01-02T03:04:05Z", "today")
        .into_bytes();
    check(&[undated], &["its WARC-Date is no date: today"]);
    let concurrent = |id: &str| {
        record(
            "request",
            2,
            &[URL, ("WARC-Concurrent-To", id)],
            b"GET /\r\n\r\n",
        )
    };
    let first = "<urn:uuid:00000000-0000-4000-8000-000000000001>";
    check(&[concurrent(first), response(&[], PAGE)], &[]);
    check(
        &[concurrent("<urn:uuid:0>"), response(&[], PAGE)],
        &["captured with is in none"],
    );
    let mut torn = response(&[], PAGE);
    torn.truncate(torn.len() - 9);
    check(&[torn], &["its block should have"]);
}

#[test]
fn a_revisit_refers_to_a_record_of_some_file() {
    let head = b"HTTP/1.1 200 OK\r\n\r\n";
    let revisit = |fields: &[(&str, &str)]| record("revisit", 9, &[&[URL], fields].concat(), head);
    let digest = DigestAlgorithm::Sha1.digest([&b"hello"[..]]);
    let original = record(
        "response",
        1,
        &[URL, ("WARC-Payload-Digest", &digest)],
        PAGE,
    );
    // The files that it may refer to can be the same.
    let own = std::slice::from_ref(&original);
    assert_eq!(faults(own, own), Vec::<String>::new());
    let check = |fields: &[(&str, &str)], is_found: bool| {
        let records = [revisit(fields)];
        let missing = faults(&records, &[]);
        assert_eq!(missing.len(), 1, "{missing:?}");
        assert!(
            missing[0].contains("a revisit of is in none"),
            "{missing:?}"
        );
        let found = faults(&records, std::slice::from_ref(&original));
        assert_eq!(found.is_empty(), is_found, "{fields:?}");
    };
    check(
        &[(
            "WARC-Refers-To",
            "<urn:uuid:00000000-0000-4000-8000-000000000001>",
        )],
        true,
    );
    check(
        &[(
            "WARC-Refers-To",
            "<urn:uuid:00000000-0000-4000-8000-000000000007>",
        )],
        false,
    );
    check(&[("WARC-Payload-Digest", &digest)], true);
    let at = |date| {
        [
            ("WARC-Refers-To-Target-URI", "http://h.test/"),
            ("WARC-Refers-To-Date", date),
        ]
    };
    check(&at("2026-01-02T03:04:05.000Z"), true);
    check(&at("2026-01-02T03:04:06Z"), false);
}

#[test]
fn a_repaired_file_is_sound() {
    let directory = tempfile::tempdir().unwrap();
    let [broken, whole] = ["broken.warc", "whole.warc.gz"].map(|it| directory.path().join(it));
    let pages: Vec<_> = (0..5)
        .map(|id| record("response", id, &[URL], PAGE))
        .collect();
    let mut bytes = pages.concat();
    let second = pages[0].len();
    bytes[second] = b'x';
    bytes.truncate(bytes.len() - 20);
    fs::write(&broken, &bytes).unwrap();
    let done = repair(&broken, &whole).unwrap();
    assert_eq!((done.records, done.digested, done.damages.len()), (3, 3, 2));
    assert_eq!(fs::read(&broken).unwrap(), bytes, "it is left alone");
    let found = |file: &Path| {
        let mut found = Vec::new();
        let tell = |fault: Fault| -> Result<(), Error> {
            found.push(fault.fault);
            Ok(())
        };
        let verified = verify(&[file.to_owned()], &[], tell).unwrap();
        (verified.records, found)
    };
    assert_eq!(found(&whole), (3, Vec::new()));
    assert_eq!(found(&broken).1.len(), 2);
    // What is there is not overwritten.
    assert!(repair(&broken, &whole).is_err());
    assert_eq!(found(&whole).0, 3);
}

#[test]
fn a_record_is_found_by_url_id_or_offset() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file.warc");
    let first = record("warcinfo", 0, &[], b"x: y\r\n");
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    let second = record("response", 1, &[URL], chunked);
    fs::write(&file, [&first[..], &second].concat()).unwrap();
    let get = |wanted: Wanted, part| get(std::slice::from_ref(&file), &wanted, part).unwrap();
    let url = || Wanted::Url("http://h.test/".to_owned());
    assert_eq!(get(url(), Part::Record).unwrap(), second);
    assert_eq!(
        get(url(), Part::Payload).unwrap(),
        b"5\r\nhello\r\n0\r\n\r\n"
    );
    assert_eq!(get(url(), Part::Decoded).unwrap(), b"hello");
    let id = Wanted::Id("urn:uuid:00000000-0000-4000-8000-000000000000".to_owned());
    assert_eq!(get(id, Part::Payload).unwrap(), b"x: y\r\n");
    let at = first.len() as u64;
    assert_eq!(get(Wanted::Offset(at), Part::Decoded).unwrap(), b"hello");
    assert_eq!(
        get(Wanted::Url("http://h.test/no".to_owned()), Part::Record),
        None
    );
    let mut listed = Vec::new();
    list(
        std::slice::from_ref(&file),
        |it| {
            listed.push(it);
            Ok(())
        },
        |_| Ok(()),
    )
    .unwrap();
    assert_eq!(listed.len(), 2);
    assert_eq!((listed[1].offset, listed[1].status), (at, Some(200)));
    assert_eq!(listed[1].url.as_deref(), Some("http://h.test/"));
}
