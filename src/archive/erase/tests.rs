//! Records that are overwritten, and what stands beside them.

use std::fs;

use super::*;
use crate::archive::{
    Archive as _, Capture, PackBase, Record, Start, WarcArchive, WarcOptions, compress, records,
};

const URL: &str = "http://a.example/people/jo?id=7";

fn capture(target: &str) -> Capture<'_> {
    Capture {
        target,
        date: Timestamp::UNIX_EPOCH,
        ip: None,
        protocols: &[],
    }
}

/// Request, response and metadata of a visit.
fn visit(target: &str, body: &str) -> Vec<Record> {
    let body = bytes::Bytes::copy_from_slice(body.as_bytes());
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n".to_vec();
    let digest = Digest::of(&body);
    let capture = capture(target);
    let main = Record::response(&capture, head, body, digest, None);
    let request = Record::request(&capture, b"GET / HTTP/1.1\r\n\r\n".to_vec(), main.id());
    let metadata = Record::metadata(&capture, None, &[("verdict", "near")]);
    vec![request, main, metadata]
}

fn archive(place: &Path) -> (WarcArchive, std::path::PathBuf) {
    let options = WarcOptions {
        indexed: true,
        ..WarcOptions::new(place)
    };
    let path = options.segment_path(0);
    (WarcArchive::open(options, Start::Empty).unwrap().0, path)
}

/// A body that does not compress well.
fn noise(length: usize) -> String {
    let mut state = 7_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        char::from(b'!' + u8::try_from((state >> 33) % 90).unwrap())
    };
    (0..length).map(|_| next()).collect()
}

#[test]
fn a_visit_leaves_tombstones_and_its_neighbours_whole() {
    let place = tempfile::tempdir().unwrap();
    let (mut archive, path) = archive(place.path());
    let mut spans = Vec::new();
    for (target, body) in [
        ("http://a.example/people/ann", "ann"),
        (URL, &noise(70_000)),
        ("http://a.example/people/zoe", "zoe"),
    ] {
        let locations = archive.append(&visit(target, body)).unwrap();
        spans.push(
            locations
                .iter()
                .map(|it| (it.offset, it.length))
                .collect::<Vec<Span>>(),
        );
    }
    archive.close().unwrap();
    archive.sync().unwrap();
    let length = fs::metadata(&path).unwrap().len();
    let before: Vec<_> = records(&path).unwrap().map(Result::unwrap).collect();

    let beside = records_beside(&path, spans[1][1], &|url| url == URL).unwrap();
    let mut found: Vec<Span> = beside.iter().map(|it| it.span).collect();
    found.push(spans[1][1]);
    found.sort_unstable();
    assert_eq!(found, spans[1]);
    let eraser = Eraser::open(&path).unwrap();
    for span in &found {
        assert!(eraser.bury(*span).unwrap());
        assert!(!eraser.bury(*span).unwrap(), "it is there already");
    }
    eraser.finish().unwrap();
    let offsets: BTreeSet<u64> = found.iter().map(|span| span.0).collect();
    assert_eq!(take_out_of_index(&path, &offsets).unwrap(), 1);
    assert_eq!(take_out_of_index(&path, &offsets).unwrap(), 0);

    assert_eq!(fs::metadata(&path).unwrap().len(), length);
    let after: Vec<_> = records(&path).unwrap().map(Result::unwrap).collect();
    assert_eq!(after.len(), before.len());
    for (was, is) in before.iter().zip(&after) {
        assert_eq!((was.offset, was.length), (is.offset, is.length));
        match offsets.contains(&was.offset) {
            false => assert_eq!(was, is),
            true => {
                assert!(is_tombstone(is));
                assert_eq!(was.header("WARC-Record-ID"), is.header("WARC-Record-ID"));
            }
        }
    }
    let mut urls = Vec::new();
    assert!(for_each_capture(&path, &mut |url, _| urls.push(url.to_owned())).unwrap());
    assert_eq!(
        urls,
        ["http://a.example/people/ann", "http://a.example/people/zoe"]
    );
    let said: Vec<u8> = after.iter().flat_map(ReadRecord::to_bytes).collect();
    assert!(memchr::memmem::find(&said, b"people/jo").is_none());
}

/// A kill in between leaves half of a tombstone.
#[test]
fn what_was_half_overwritten_is_overwritten_again() {
    let place = tempfile::tempdir().unwrap();
    let (mut archive, path) = archive(place.path());
    let locations = archive.append(&visit(URL, &noise(9_000))).unwrap();
    archive.sync().unwrap();
    let span = (locations[1].offset, locations[1].length);
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    let half = member_of(&tombstone("<urn:uuid:0>", Timestamp::UNIX_EPOCH), span.1).unwrap();
    file.write_all_at(&half[..half.len() / 2], span.0).unwrap();
    let eraser = Eraser::open(&path).unwrap();
    assert!(eraser.bury(span).unwrap());
    let all: Vec<_> = records(&path).unwrap().map(Result::unwrap).collect();
    assert_eq!(all.len(), 4);
    assert!(is_tombstone(&all[2]));
}

#[test]
fn a_member_has_any_length_that_has_room_for_it() {
    let content = tombstone(
        "<urn:uuid:12345678-1234-1234-1234-123456789012>",
        Timestamp::now(),
    );
    let least = (0..1_000)
        .find(|length| member_of(&content, *length).is_some())
        .unwrap();
    assert!(least < 200, "{least}");
    for length in (least..least + 40).chain([70_000, 1_000_003]) {
        let member = member_of(&content, length).unwrap();
        assert_eq!(member.len() as u64, length);
        assert!(is_one_member(&member), "{length}");
        let place = tempfile::NamedTempFile::new().unwrap();
        fs::write(place.path(), &member).unwrap();
        let read: Vec<_> = records(place.path()).unwrap().collect();
        assert!(matches!(&read[..], [Ok(record)] if is_tombstone(record)));
    }
}

#[test]
fn a_pack_loses_what_is_named_and_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let (mut archive, path) = archive(place.path());
    let base = PackBase {
        payload: Digest::of(b"base"),
        length: 4,
    };
    let body = |text: &str, base| PackedBody {
        base,
        digest: Digest::of(text.as_bytes()),
        length: text.len() as u64,
        data: compress(None, text.as_bytes()).unwrap(),
        visit: RecordId::from_bytes([1; 16]),
        ..nobody()
    };
    let texts = [noise(3_000), noise(40), noise(5_000)];
    let bodies: Vec<_> = texts.iter().map(|it| body(it, Some(base))).collect();
    let record = Record::of_pack(Timestamp::UNIX_EPOCH, pack(&bodies));
    let places = archive.append(&[record]).unwrap();
    archive.sync().unwrap();
    let span = (places[0].offset, places[0].length);
    let eraser = Eraser::open(&path).unwrap();
    for _ in 0..2 {
        eraser.unpack_out(span, &[0, 2]).unwrap();
        let records: Vec<_> = records(&path).unwrap().map(Result::unwrap).collect();
        assert_eq!(records.len(), 2);
        assert_eq!(records[1].block_is_intact(), Some(true));
        let left = unpack(&records[1].block).unwrap();
        assert_eq!(left, [nobody(), bodies[1].clone(), nobody()]);
    }
}
