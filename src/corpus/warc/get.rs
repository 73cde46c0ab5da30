//! One record of WARC files.

use std::path::PathBuf;

use jiff::Timestamp;

use super::{is_of_disk, unreadable, uri};
use crate::archive::{Limits, ReadRecord, RecordStream};
use crate::corpus::Error;
use crate::fetch::{self, DecodeBounds, Exchange};

/// Which record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// The first response or resource for a URL, or if there is none the first revisit.
    Url(String),
    /// The record with an id.
    Id(String),
    /// The one at an offset of the first file.
    Offset(u64),
}

/// What of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Header and block, as a record of a file that is not compressed.
    Record,
    /// The payload as stored.
    Payload,
    /// The payload with transfer and content codings undone.
    Decoded,
}

/// Bounds of a payload that is decoded.
const BOUNDS: DecodeBounds = DecodeBounds {
    max_bytes: 1 << 30,
    max_codings: 4,
};

/// Returns a part of a record; `None` if there is no such record.
pub fn get(files: &[PathBuf], wanted: &Wanted, part: Part) -> Result<Option<Vec<u8>>, Error> {
    let found = match wanted {
        Wanted::Offset(offset) => at(files, *offset)?,
        Wanted::Id(id) => {
            let id = id.trim_matches(['<', '>']);
            first(files, |record| uri(record, "WARC-Record-ID") == Some(id))?
        }
        Wanted::Url(url) => {
            let is_of = |record: &ReadRecord, kinds: &[&str]| {
                uri(record, "WARC-Target-URI") == Some(url.as_str())
                    && record
                        .header("WARC-Type")
                        .is_some_and(|it| kinds.contains(&it))
            };
            match first(files, |record| is_of(record, &["response", "resource"]))? {
                None => first(files, |record| is_of(record, &["revisit", "conversion"]))?,
                found => found,
            }
        }
    };
    found.map(|record| part_of(record, part)).transpose()
}

fn at(files: &[PathBuf], offset: u64) -> Result<Option<ReadRecord>, Error> {
    let Some(file) = files.first() else {
        return Ok(None);
    };
    let stream = RecordStream::open_at(file, offset, Limits::default());
    let record = stream.map_err(unreadable)?.next();
    record.transpose().map_err(unreadable)
}

/// Returns the first record that is wanted. Stops reading there.
fn first(
    files: &[PathBuf],
    is_wanted: impl Fn(&ReadRecord) -> bool,
) -> Result<Option<ReadRecord>, Error> {
    for file in files {
        let stream = RecordStream::open(file, Limits::default());
        for record in stream.map_err(unreadable)? {
            match record {
                Ok(record) if is_wanted(&record) => return Ok(Some(record)),
                Err(error) if is_of_disk(&error) => return Err(unreadable(error)),
                // What is damaged is not it, as far as anyone can tell.
                _ => {}
            }
        }
    }
    Ok(None)
}

fn part_of(record: ReadRecord, part: Part) -> Result<Vec<u8>, Error> {
    if part == Part::Record {
        return Ok(record.to_bytes());
    }
    if record.header("WARC-Type") == Some("revisit") {
        let of = |name| record.header(name).unwrap_or("an unknown time");
        return Err(Error::input(format!(
            "the record is a revisit, and its payload is that of {} at {}; ask for that one, in the file that has it",
            uri(&record, "WARC-Refers-To-Target-URI").unwrap_or("another record"),
            of("WARC-Refers-To-Date"),
        )));
    }
    let Some((head, payload)) = record.http_parts() else {
        return Ok(record.block);
    };
    if part == Part::Payload {
        return Ok(payload.to_vec());
    }
    let exchange = Exchange::from_archive(head, payload, Timestamp::UNIX_EPOCH, None);
    let Some(exchange) = exchange else {
        return Ok(payload.to_vec());
    };
    let codings = exchange.header_values("content-encoding");
    let decoded = fetch::decode(codings, &exchange.body, BOUNDS);
    match decoded.is_whole {
        true => Ok(decoded.bytes.to_vec()),
        false => Err(Error::input(format!(
            "the payload cannot be decoded ({}); --payload gives it as it is stored",
            decoded.note.unwrap_or("it is cut short")
        ))),
    }
}
