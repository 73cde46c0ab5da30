//! Every form in which others write the same records is read alike, and damage costs the records
//! that it touches.

use std::fs;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::*;

fn record(number: usize, block: &[u8]) -> Vec<u8> {
    let head = format!(
        "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:x:{number}>\r\n\
         Content-Length: {}\r\n\r\n",
        block.len()
    );
    [head.as_bytes(), block, b"\r\n\r\n"].concat()
}

/// Records whose blocks hold more than one piece of text.
fn all() -> Vec<Vec<u8>> {
    let long: Vec<u8> = (0..100_000_u32)
        .map(|it| (it.wrapping_mul(it) >> 5) as u8)
        .collect();
    let blocks: [&[u8]; 5] = [b"one", b"", b"two\r\n\r\nWARC/x", &long, b"end"];
    (0..).zip(blocks).map(|(at, it)| record(at, it)).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd_with(dictionary: &[u8], bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::with_dictionary(Vec::new(), 3, dictionary).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Every way to write records into a file.
fn forms(records: &[Vec<u8>]) -> Vec<(&'static str, Vec<u8>)> {
    let each = |pack: &dyn Fn(&[u8]) -> Vec<u8>| -> Vec<u8> {
        records.iter().flat_map(|record| pack(record)).collect()
    };
    let dictionary = b"WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: ".repeat(9);
    let framed = |bytes: &[u8]| {
        let length = u32::try_from(bytes.len()).unwrap().to_le_bytes();
        [b"\x5D\x2A\x4D\x18", &length[..], bytes].concat()
    };
    let by_dictionary = each(&|it| zstd_with(&dictionary, it));
    vec![
        ("plain", records.concat()),
        ("a member for each", each(&gzip)),
        ("a member for all", gzip(&records.concat())),
        ("a frame for each", each(&|it| zstd_with(b"", it))),
        ("a frame for all", zstd_with(b"", &records.concat())),
        (
            "a dictionary",
            [framed(&dictionary), by_dictionary.clone()].concat(),
        ),
        (
            "a packed dictionary",
            [framed(&zstd_with(b"", &dictionary)), by_dictionary].concat(),
        ),
    ]
}

/// The ids of the records of a file, and how many errors there were.
fn read(bytes: &[u8]) -> (Vec<ReadRecord>, usize) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, bytes).unwrap();
    let mut errors = 0;
    let stream = RecordStream::open(&path, Limits::default()).unwrap();
    let records: Vec<_> = stream
        .filter_map(|it| it.map_err(|_| errors += 1).ok())
        .collect();
    for record in &records {
        if record.length > 0 {
            let mut again = RecordStream::open_at(&path, record.offset, Limits::default()).unwrap();
            let again = again.next().unwrap().unwrap();
            assert_eq!(
                (&again.headers, &again.block),
                (&record.headers, &record.block)
            );
        }
    }
    (records, errors)
}

fn numbers(records: &[ReadRecord]) -> Vec<usize> {
    let id = |it: &ReadRecord| it.header("WARC-Record-ID").unwrap_or_default().to_owned();
    let number = |id: String| id.trim_matches(|c: char| !c.is_ascii_digit()).parse().ok();
    records.iter().filter_map(|it| number(id(it))).collect()
}

#[test]
fn every_form_is_read_alike() {
    let all = all();
    for (name, bytes) in forms(&all) {
        let (records, errors) = read(&bytes);
        assert_eq!(
            (numbers(&records), errors),
            (vec![0, 1, 2, 3, 4], 0),
            "{name}"
        );
        for (record, written) in records.iter().zip(&all) {
            assert!(
                written.ends_with(&[&record.block, &b"\r\n\r\n"[..]].concat()),
                "{name}"
            );
            // Whatever is between the members belongs to none.
            let has_place = !name.ends_with("for all");
            assert_eq!(record.length > 0, has_place, "{name}");
        }
        let ends = records.iter().map(|it| it.offset + it.length);
        if !name.ends_with("for all") {
            assert_eq!(ends.max(), Some(bytes.len() as u64), "{name}");
        }
    }
}

#[test]
fn damage_costs_the_records_that_it_touches() {
    let all = all();
    let check = |name: &str, change: &dyn Fn(&mut Vec<u8>), expected: &[usize], wrong: usize| {
        for (form, mut bytes) in forms(&all).into_iter().filter(|(form, _)| *form == name) {
            change(&mut bytes);
            let (records, errors) = read(&bytes);
            assert_eq!(
                (&numbers(&records)[..], errors),
                (expected, wrong),
                "{form}"
            );
        }
    };
    let find =
        |bytes: &[u8], wanted: &[u8]| bytes.windows(wanted.len()).position(|it| it == wanted);
    // A wrong length, in each direction.
    let set = |bytes: &mut Vec<u8>, from: &[u8], to: &[u8]| {
        let at = find(bytes, from).unwrap();
        bytes.splice(at..at + from.len(), to.iter().copied());
    };
    let short = |bytes: &mut Vec<u8>| set(bytes, b"Content-Length: 3", b"Content-Length: 2");
    let long = |bytes: &mut Vec<u8>| set(bytes, b"Content-Length: 3", b"Content-Length: 70");
    let no_version = |bytes: &mut Vec<u8>| set(bytes, b"WARC/1.0", b"WORC/1.0");
    for change in [&short as &dyn Fn(&mut Vec<u8>), &long, &no_version] {
        check("plain", change, &[1, 2, 3, 4], 1);
    }
    // A flipped bit in what is compressed: its checksum shows it.
    let first = gzip(&all[0]).len();
    let flip = |bytes: &mut Vec<u8>| bytes[first - 12] ^= 4;
    check("a member for each", &flip, &[1, 2, 3, 4], 1);
    let crc = |bytes: &mut Vec<u8>| bytes[first - 8] ^= 1;
    check("a member for each", &crc, &[1, 2, 3, 4], 1);
    let magic = |bytes: &mut Vec<u8>| bytes[first] ^= 1;
    check("a member for each", &magic, &[0, 2, 3, 4], 1);
    let frame = zstd_with(b"", &all[0]).len();
    let checksum = |bytes: &mut Vec<u8>| bytes[frame - 1] ^= 1;
    check("a frame for each", &checksum, &[1, 2, 3, 4], 1);
    // A torn end.
    for name in [
        "plain",
        "a member for each",
        "a frame for each",
        "a dictionary",
    ] {
        let tear = |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() - 30);
        check(name, &tear, &[0, 1, 2, 3], 1);
    }
    let tear = |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() - 3);
    check("a member for all", &tear, &[0, 1, 2, 3], 1);
}

proptest! {
    #[test]
    fn any_bytes_end_without_a_panic(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        form in 0_usize..7,
    ) {
        let records: Vec<_> = (0..4).map(|it| record(it, b"a block")).collect();
        let (_, mut bytes) = forms(&records).swap_remove(form);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let (records, errors) = read(&bytes);
        prop_assert!(records.len() <= 5 && errors <= 20);
    }
}
