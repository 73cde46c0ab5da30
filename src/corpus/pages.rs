//! The pages of WARC files one after another, for who reads them and compares nothing.
//!
//! A page is what it is for `gleaner dedup`: a `response` record with a 2xx status whose body is
//! complete and is text or HTML.

use std::path::PathBuf;

use bytes::Bytes;
use jiff::Timestamp;

use super::Error;
use super::files::each_sound_record;
use super::parallel::{Worked, in_order};
use crate::archive::ReadRecord;
use crate::fetch::{self, DecodeBounds, Exchange};
use crate::page::{self, BodyKind};

/// Limits of a body after decompression.
const BOUNDS: DecodeBounds = DecodeBounds {
    max_bytes: 64 << 20,
    max_codings: 4,
};

/// A page in a WARC file.
pub(crate) struct ArchivedPage {
    /// The id of its record.
    pub(crate) id: String,
    pub(crate) url: String,
    /// HTML or text.
    pub(crate) kind: BodyKind,
    pub(crate) content_type: Option<String>,
    /// Its body without content codings.
    pub(crate) body: Bytes,
}

/// Passes each page of the files to `work`, on all threads, and its results to `take`, in the order
/// of the records.
pub(crate) fn each_page<T: Send, E: From<Error> + Send>(
    files: &[PathBuf],
    work: impl Fn(&ArchivedPage) -> Result<T, E> + Sync,
    take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    in_order(
        None,
        |hand_over| {
            let read = each_sound_record(files, |_, record| {
                Ok(!is_whole_response(&record) || hand_over(record))
            });
            Ok(read?)
        },
        |record: ReadRecord| {
            let done = page(&record).map(|page| work(&page)).transpose();
            let (values, failure) = match done {
                Ok(value) => (value.into_iter().collect(), None),
                Err(failure) => (Vec::new(), Some(failure)),
            };
            Worked { values, failure }
        },
        take,
    )
}

fn is_whole_response(record: &ReadRecord) -> bool {
    record.header("WARC-Type") == Some("response") && record.header("WARC-Truncated").is_none()
}

fn page(record: &ReadRecord) -> Option<ArchivedPage> {
    let (head, payload) = record.http_parts()?;
    let exchange = Exchange::from_archive(head, payload, Timestamp::UNIX_EPOCH, None)?;
    if !(200..300).contains(&exchange.status) || exchange.body.is_empty() {
        return None;
    }
    let codings = exchange.header_values("content-encoding");
    let decoded = fetch::decode(codings, &exchange.body, BOUNDS);
    let content_type = exchange.header("content-type").map(str::to_owned);
    let kind = page::kind(content_type.as_deref(), &decoded.bytes);
    let header = |field| record.header(field).unwrap_or_default();
    (decoded.is_whole && kind != BodyKind::Other).then(|| ArchivedPage {
        id: header("WARC-Record-ID").to_owned(),
        // Some writers put angle brackets around URLs.
        url: header("WARC-Target-URI")
            .trim_matches(['<', '>'])
            .to_owned(),
        kind,
        content_type,
        body: decoded.bytes,
    })
}
