//! `gleaner extract FILE.warc.gz`: the main texts of the pages in WARC files, in the order of their
//! records.
//!
//! A page is a `response` record with a 2xx status whose body is complete and is text or HTML, as
//! for `gleaner dedup`. Other records give no line.

use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::{Format, Output, Read, identity};
use crate::archive::{self, ReadRecord};
use crate::cli::Failure;
use crate::cli::shown::Data;
use crate::corpus::{Worked, in_order};
use crate::fetch::{self, DecodeBounds, Exchange};
use crate::page::{self, BodyKind, Page, PageOptions, charset};
use crate::url::{self, Identity};

/// Limits of a body after decompression.
const BOUNDS: DecodeBounds = DecodeBounds {
    max_bytes: super::MAX_PAGE_BYTES as usize,
    max_codings: 4,
};

/// Whether a file is one of WARC records, by its name.
pub(super) fn is_one(path: &Path) -> bool {
    let name = path.to_string_lossy();
    name.ends_with(".warc.gz") || name.ends_with(".warc")
}

/// Prints a JSON object a line for each page.
pub(super) fn run(files: &[PathBuf], format: Format) -> Result<(), Failure> {
    let mut out = BufWriter::new(Data::lock());
    let identity = identity();
    let wrong = |error: archive::Error| Failure::Usage {
        message: error.to_string(),
        hint: Some("give complete WARC files; the pages before it were printed"),
    };
    let done = in_order(
        None,
        |hand_over| {
            for path in files {
                for record in archive::records(path).map_err(wrong)? {
                    let record = record.map_err(wrong)?;
                    if is_whole_response(&record) && !hand_over(record) {
                        return Ok(());
                    }
                }
            }
            Ok(())
        },
        |record: ReadRecord| match answer(&record, &identity, format) {
            Ok(answer) => Worked {
                values: answer.into_iter().collect(),
                failure: None,
            },
            Err(error) => Worked {
                values: Vec::new(),
                failure: Some(Failure::from(error)),
            },
        },
        |answer: Vec<u8>| Ok(out.write_all(&answer).map_err(anyhow::Error::from)?),
    );
    out.flush().map_err(anyhow::Error::from)?;
    done
}

fn is_whole_response(record: &ReadRecord) -> bool {
    record.header("WARC-Type") == Some("response") && record.header("WARC-Truncated").is_none()
}

/// The output for a record, with a newline, if it is a page.
fn answer(
    record: &ReadRecord,
    identity: &Identity,
    format: Format,
) -> anyhow::Result<Option<Vec<u8>>> {
    let name = |field| record.header(field).unwrap_or_default();
    // Some writers put angle brackets around URLs.
    let address = name("WARC-Target-URI").trim_matches(['<', '>']);
    let Some(read) = read(record, address, identity, format) else {
        return Ok(None);
    };
    let id = serde_json::Value::from(name("WARC-Record-ID"));
    let mut output = Output::of(&read, Some(id), format);
    output.url = Some(address);
    output.line().map(Some)
}

fn read(record: &ReadRecord, address: &str, identity: &Identity, format: Format) -> Option<Read> {
    let (head, payload) = record.http_parts()?;
    let exchange = Exchange::from_archive(head, payload, Timestamp::UNIX_EPOCH, None)?;
    if !(200..300).contains(&exchange.status) || exchange.body.is_empty() {
        return None;
    }
    let codings = exchange.header_values("content-encoding");
    let decoded = fetch::decode(codings, &exchange.body, BOUNDS);
    let content_type = exchange.header("content-type");
    let text = || charset::to_text(&decoded.bytes, content_type);
    match page::kind(content_type, &decoded.bytes) {
        _ if !decoded.is_whole => None,
        BodyKind::Html => {
            let url = url::parse(address).ok();
            Some(Read::of(text(), url.as_ref(), identity, format))
        }
        BodyKind::Text => Some(Read {
            page: Page::plain_text(&text().text, &PageOptions::default()),
            marked: None,
            is_placeless: false,
        }),
        BodyKind::Other => None,
    }
}
