//! Reads the records of WARC files: the ones that `gleaner dedup FILE.warc.gz` compares and, with
//! `-o`, writes.
//!
//! A page is a `response` record with a 2xx status whose body is complete and is text or HTML.
//! Other records (requests, redirects, errors, images, records that refer to another's body) get no
//! verdict.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use xxhash_rust::xxh3::xxh3_128;

use super::records::each_sound_record;
use super::{Content, Extraction};
use crate::archive::ReadRecord;
use crate::corpus::Error;
use crate::corpus::parallel::Worked;
use crate::dedup::PageHints;
use crate::fetch::{self, DecodeBounds, Exchange};
use crate::page::{self, BodyKind, charset};

/// Limits of a body after decompression.
const BOUNDS: DecodeBounds = DecodeBounds {
    max_bytes: 64 << 20,
    max_codings: 4,
};

/// The part of the files that a run needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::corpus) enum Wanted {
    /// The pages, to be judged.
    Pages,
    /// The pages, and the headers of their records.
    Captures,
    /// All records, with their bytes.
    Everything,
}

/// A record on its way to a worker.
pub(in crate::corpus) struct Job {
    record: ReadRecord,
    file: Arc<File>,
    wanted: Wanted,
}

/// A processed record.
pub(in crate::corpus) struct Item<T> {
    /// For a page: its record id and its URL as JSON, and the value made of its text.
    pub(in crate::corpus) page: Option<(String, String, T)>,
    /// The record; `None` if only pages are needed.
    pub(in crate::corpus) capture: Option<SourceRecord>,
}

/// A record in the form that the output needs.
pub(in crate::corpus) struct SourceRecord {
    /// The record's gzip member, if everything is needed.
    pub(in crate::corpus) member: Vec<u8>,
    pub(in crate::corpus) id: String,
    pub(in crate::corpus) url: String,
    pub(in crate::corpus) date: String,
    pub(in crate::corpus) ip: Option<String>,
    /// The HTTP head of a response or a revisit.
    pub(in crate::corpus) head: Vec<u8>,
    pub(in crate::corpus) kind: SourceKind,
    /// The main text of a page, if everything is needed.
    pub(in crate::corpus) text: Option<String>,
}

/// The type of a record.
pub(in crate::corpus) enum SourceKind {
    /// A response. If its payload is complete and not empty, and it is no redirect: a hash of the
    /// payload and of what players take from the head, and the digest that the record names, or
    /// else the SHA-256.
    Response(Option<(u128, String)>),
    /// A revisit: a response without its payload.
    Revisit {
        /// The id of the record that it refers to.
        id: Option<String>,
        url: Option<String>,
        date: Option<String>,
        /// Whether the two have the same payload.
        is_identical: bool,
    },
    /// Any other record.
    Other,
}

/// Reads the files and passes on the records that are needed or may be.
pub(in crate::corpus) fn read(
    files: &[PathBuf],
    wanted: Wanted,
    hand_over: &mut dyn FnMut(Job) -> bool,
) -> Result<(), Error> {
    let mut opened: Option<(PathBuf, Arc<File>)> = None;
    each_sound_record(files, |path, record| {
        if wanted != Wanted::Everything && !is_page(&record) {
            return Ok(true);
        }
        let file = match &opened {
            Some((name, file)) if name == path => Arc::clone(file),
            _ => {
                let failed = Error::io(format!("cannot open {}", path.display()));
                let file = Arc::new(File::open(path).map_err(failed)?);
                opened = Some((path.to_owned(), Arc::clone(&file)));
                file
            }
        };
        Ok(hand_over(Job {
            record,
            file,
            wanted,
        }))
    })
}

/// Whether the record is a page, provided that its body is text.
fn is_page(record: &ReadRecord) -> bool {
    let status = || {
        let (head, _) = record.http_parts()?;
        Some(Exchange::from_archive(head, b"", Timestamp::UNIX_EPOCH, None)?.status)
    };
    is_whole_response(record) && status().is_some_and(|status| (200..300).contains(&status))
}

fn is_whole_response(record: &ReadRecord) -> bool {
    record.header("WARC-Type") == Some("response") && record.header("WARC-Truncated").is_none()
}

/// Processes a record. `sign` makes the required value of a page's text.
pub(in crate::corpus) fn work<T>(
    job: &Job,
    extraction: &Extraction,
    sign: impl Fn(&Content<'_>) -> T,
) -> Worked<Item<T>, Error> {
    let record = &job.record;
    let name = |field| record.header(field).unwrap_or_default();
    let url = target(name("WARC-Target-URI"));
    let exchange = record.http_parts().and_then(|(head, payload)| {
        Exchange::from_archive(head, payload, Timestamp::UNIX_EPOCH, None)
    });
    let keep_text = job.wanted == Wanted::Everything;
    let signed = catch_unwind(AssertUnwindSafe(|| {
        let page = exchange.as_ref().filter(|_| is_page(record))?;
        let content = content(page, url, extraction)?;
        let signed = sign(&content);
        Some((signed, keep_text.then(|| content.main.into_owned())))
    }));
    let mut worked = Worked {
        values: Vec::new(),
        failure: None,
    };
    let Ok(signed) = signed else {
        let why = format!("reading {url} failed; please report it");
        worked.failure = Some(Error::input(why));
        return worked;
    };
    let (signed, text) = match signed {
        Some((signed, text)) => (Some(signed), text),
        None => (None, None),
    };
    let page = signed.map(|signed| {
        let json = |text: &str| serde_json::Value::from(text).to_string();
        (json(name("WARC-Record-ID")), json(url), signed)
    });
    match capture(job, url, exchange.as_ref(), text) {
        Ok(capture) => worked.values.push(Item { page, capture }),
        Err(error) => {
            worked.failure = Some(Error::io("cannot read a WARC file again")(error));
        }
    }
    worked
}

/// Strips the angle brackets that some writers of WARC/1.0 put around URLs.
fn target(url: &str) -> &str {
    url.trim_matches(['<', '>'])
}

fn capture(
    job: &Job,
    url: &str,
    exchange: Option<&Exchange>,
    text: Option<String>,
) -> io::Result<Option<SourceRecord>> {
    let record = &job.record;
    let mut member = Vec::new();
    match job.wanted {
        Wanted::Pages => return Ok(None),
        Wanted::Captures => {}
        Wanted::Everything => {
            member.resize(usize::try_from(record.length).unwrap_or(usize::MAX), 0);
            job.file.read_exact_at(&mut member, record.offset)?;
            // What is written has a gzip member for each record.
            if !member.starts_with(b"\x1F\x8B") {
                member = record.to_member();
            }
        }
    }
    let header = |name: &str| record.header(name).map(str::to_owned);
    let kind = match record.header("WARC-Type") {
        Some("response") => {
            let body = exchange.map(|exchange| &exchange.body);
            let status = exchange.map_or(0, |exchange| exchange.status);
            let is_redirect = (300..400).contains(&status);
            let is_shared = is_whole_response(record) && !is_redirect;
            let payload = body.filter(|body| is_shared && !body.is_empty());
            SourceKind::Response(payload.map(|payload| {
                let digest: [u8; 32] = Sha256::digest(payload).into();
                let half = digest
                    .first_chunk()
                    .map_or(0, |half| u128::from_be_bytes(*half));
                let named = header("WARC-Payload-Digest");
                // A player may take the head of the original for that of a revisit.
                let half = half ^ exchange.map_or(0, form);
                (
                    half,
                    named.unwrap_or_else(|| format!("sha256:{}", hex::encode(digest))),
                )
            }))
        }
        Some("revisit") => SourceKind::Revisit {
            id: header("WARC-Refers-To"),
            url: header("WARC-Refers-To-Target-URI").map(|url| target(&url).to_owned()),
            date: header("WARC-Refers-To-Date"),
            is_identical: header("WARC-Profile")
                .is_some_and(|profile| profile.contains("identical-payload-digest")),
        },
        _ => SourceKind::Other,
    };
    Ok(Some(SourceRecord {
        member,
        id: header("WARC-Record-ID").unwrap_or_default(),
        url: url.to_owned(),
        date: header("WARC-Date").unwrap_or_default(),
        ip: header("WARC-IP-Address"),
        head: match kind {
            SourceKind::Other => Vec::new(),
            _ => record
                .http_parts()
                .map_or(Vec::new(), |(head, _)| head.to_vec()),
        },
        kind,
        text,
    }))
}

/// What players take from the head of a response, as a hash.
fn form(exchange: &Exchange) -> u128 {
    let mut bytes = exchange.status.to_be_bytes().to_vec();
    for name in ["content-type", "content-encoding"] {
        for (_, value) in exchange.headers.iter().filter(|(field, _)| field == name) {
            bytes.push(b'\n');
            bytes.extend_from_slice(value.trim_ascii());
        }
        bytes.push(0);
    }
    xxh3_128(&bytes)
}

/// The texts of a page; `None` if the body is not text.
fn content(exchange: &Exchange, url: &str, extraction: &Extraction) -> Option<Content<'static>> {
    let codings = exchange.header_values("content-encoding");
    let decoded = fetch::decode(codings, &exchange.body, BOUNDS);
    if !decoded.is_whole {
        return None;
    }
    let content_type = exchange.header("content-type");
    let text = || charset::to_text(&decoded.bytes, content_type).text;
    let raw = Cow::Owned(decoded.bytes.to_vec());
    match page::kind(content_type, &decoded.bytes) {
        BodyKind::Html => Some(extraction.content(raw, &text(), Some(url))),
        BodyKind::Text => Some(Content {
            raw,
            main: text().into_owned().into(),
            visible: text().into_owned().into(),
            page: None,
            hints: PageHints::default(),
        }),
        BodyKind::Other => None,
    }
}
