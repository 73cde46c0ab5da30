//! The pages of WARC files, as documents: what `gleaner dedup FILE.warc.gz` compares.
//!
//! A page is a `response` record with a status of 2xx whose body was not cut and is text or HTML. Others
//! (requests, redirects, errors, images, records that refer to another's body) have no line.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use super::Failure;
use super::in_order::Worked;
use super::lines::{Content, Extraction};
use crate::archive::{self, ReadRecord};
use crate::dedup::Heading;
use crate::fetch;
use crate::page::{self, BodyKind, charset};

/// Bytes of a body after decompression.
const MAX_BODY_BYTES: usize = 64 << 20;

/// Gives the records that may be pages, file by file.
pub(super) fn read(
    files: &[PathBuf],
    hand_over: &mut dyn FnMut(ReadRecord) -> bool,
) -> Result<(), Failure> {
    for file in files {
        let wrong = |error: archive::Error| Failure::usage(error.to_string());
        for record in archive::records(file).map_err(wrong)? {
            let record = record.map_err(wrong)?;
            let is_page = record.header("WARC-Type") == Some("response")
                && record.header("WARC-Truncated").is_none()
                && status(&record).is_some_and(|status| (200..300).contains(&status));
            if is_page && !hand_over(record) {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn status(record: &ReadRecord) -> Option<u16> {
    let (head, _) = record.http_parts()?;
    let line = head.split(|byte| *byte == b'\n').next()?;
    let line = str::from_utf8(line).ok()?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Works on a page: its record id and URL as JSON, and what `sign` makes of it.
pub(super) fn work<T>(
    record: &ReadRecord,
    extraction: &Extraction,
    sign: impl Fn(&Content<'_>) -> T,
) -> Worked<(String, String, T)> {
    let name = |field| record.header(field).unwrap_or_default();
    // Writers of WARC/1.0 put the URL in angle brackets now and then.
    let url = name("WARC-Target-URI").trim_matches(['<', '>']);
    let signed = catch_unwind(AssertUnwindSafe(|| {
        content(record, url, extraction).map(|content| sign(&content))
    }));
    let mut worked = Worked {
        values: Vec::new(),
        failure: None,
    };
    match signed {
        Ok(signed) => worked.values.extend(signed.map(|signed| {
            let json = |text: &str| serde_json::Value::from(text).to_string();
            (json(name("WARC-Record-ID")), json(url), signed)
        })),
        Err(_) => {
            let why = format!("reading {url} failed; please report it");
            worked.failure = Some(Failure::usage(why));
        }
    }
    worked
}

/// The texts of a page; `None` for what is not text.
fn content(record: &ReadRecord, url: &str, extraction: &Extraction) -> Option<Content<'static>> {
    let (head, payload) = record.http_parts()?;
    let head = String::from_utf8_lossy(head);
    let headers: Vec<(&str, &str)> = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim(), value.trim()))
        .collect();
    let values = |wanted: &'static str| {
        let named = headers
            .iter()
            .filter(move |(name, _)| name.eq_ignore_ascii_case(wanted));
        named.map(|(_, value)| *value)
    };
    let is_chunked = values("transfer-encoding").any(|value| value.eq_ignore_ascii_case("chunked"));
    let payload = match is_chunked {
        true => unchunk(payload).unwrap_or_else(|| payload.to_vec()),
        false => payload.to_vec(),
    };
    let decoded = fetch::decode(values("content-encoding"), &payload.into(), MAX_BODY_BYTES);
    if decoded.note.is_some() {
        return None;
    }
    let content_type = values("content-type").next();
    let text = || charset::to_text(&decoded.bytes, content_type).text;
    let raw = Cow::Owned(decoded.bytes.to_vec());
    match page::kind(content_type, &decoded.bytes) {
        BodyKind::Html => Some(extraction.content(raw, &text(), Some(url))),
        BodyKind::Text => Some(Content {
            raw,
            main: text().into_owned().into(),
            visible: text().into_owned().into(),
            heading: Heading::default(),
        }),
        BodyKind::Other => None,
    }
}

/// Undoes the chunked coding (RFC 9112, section 7.1), which some crawlers keep in their records; `None`
/// for a body that is not chunked after all.
fn unchunk(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let end = body.windows(2).take(64).position(|pair| pair == b"\r\n")?;
        let (line, rest) = body.split_at_checked(end)?;
        let size = str::from_utf8(line).ok()?.split(';').next()?.trim();
        let size = usize::from_str_radix(size, 16).ok()?;
        let (chunk, rest) = rest.get(2..)?.split_at_checked(size)?;
        if chunk.is_empty() {
            return Some(whole);
        }
        whole.extend_from_slice(chunk);
        body = rest.strip_prefix(b"\r\n")?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_put_together() {
        let check = |body: &str, expected: Option<&str>| {
            let whole = unchunk(body.as_bytes());
            assert_eq!(whole.as_deref(), expected.map(str::as_bytes), "{body:?}");
        };
        check("3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", Some("abcde"));
        check("0\r\n\r\n", Some(""));
        check("3\r\nab", None);
        check("<html>", None);
        check("ffffffffffffffff\r\nab", None);
    }
}
