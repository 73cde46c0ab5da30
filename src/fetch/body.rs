//! Bounded content decoding: undoes the content codings of a body.
//!
//! The stored body keeps its codings; the decoded body is what is parsed and fingerprinted. A
//! decompression bomb is cut at the bound and a broken stream where it breaks, each with a note. A
//! body that is declared as coded but is plain text is left as it is. Runs on an analyst's thread.

#![expect(
    clippy::disallowed_methods,
    reason = "the one place where bodies are decoded; `read` bounds them"
)]

use std::io::Read;

use bytes::Bytes;

/// Note on a body whose coding breaks off.
pub const BROKEN_CODING: &str = "broken-content-coding";
/// Note on a body that is not in the coding it declares.
pub const NOT_CODED: &str = "no-content-coding";
/// Note on a body in an unknown coding.
const UNKNOWN: &str = "unknown-content-coding";
/// Note on a body in more codings than allowed.
const TOO_MANY: &str = "too-many-content-codings";

/// Note on a body that is longer than allowed after decoding.
pub const DECODED_LENGTH: &str = "decoded-length";

/// Number of bytes examined to tell plain text from coded data: in every coding, some of them are
/// control characters.
const SAMPLE: usize = 512;

/// Bounds on the cost of decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeBounds {
    /// Maximum length of a body after decoding, in bytes.
    pub max_bytes: usize,
    /// Maximum number of codings that are undone.
    pub max_codings: usize,
}

/// A body after content decoding.
#[derive(Debug)]
pub struct Decoded {
    /// The decoded bytes.
    pub bytes: Bytes,
    /// What was unusual about the body, if anything.
    pub note: Option<&'static str>,
    /// Set if the bytes are complete and readable.
    pub is_whole: bool,
}

/// Undoes the content codings listed in `encodings`, last applied first (RFC 9110, section 8.4),
/// within `bounds`.
pub fn decode<'a>(
    encodings: impl Iterator<Item = &'a str>,
    body: &Bytes,
    bounds: DecodeBounds,
) -> Decoded {
    let limit = bounds.max_bytes;
    let mut codings: Vec<String> = encodings
        .flat_map(|value| value.split(','))
        .map(|coding| coding.trim().to_ascii_lowercase())
        .filter(|coding| !coding.is_empty() && coding != "identity")
        .take(bounds.max_codings.saturating_add(1))
        .collect();
    let mut decoded = Decoded {
        bytes: body.clone(),
        note: None,
        is_whole: true,
    };
    if body.is_empty() {
        codings.clear();
    }
    if codings.len() > bounds.max_codings {
        codings.clear();
        decoded.note = Some(TOO_MANY);
        decoded.is_whole = is_text(body);
    }
    while let Some(coding) = codings.pop() {
        let (bytes, note) = match undo(&coding, &decoded.bytes, limit) {
            None | Some((_, Some(BROKEN_CODING))) if is_text(&decoded.bytes) => {
                decoded.note = decoded.note.or(Some(NOT_CODED));
                continue;
            }
            None => {
                decoded.note = decoded.note.or(Some(UNKNOWN));
                decoded.is_whole = false;
                break;
            }
            Some(undone) => undone,
        };
        decoded.bytes = bytes.into();
        decoded.note = decoded.note.or(note);
        decoded.is_whole &= note.is_none();
    }
    if decoded.bytes.len() > limit {
        decoded.bytes.truncate(limit);
        decoded.note = Some(DECODED_LENGTH);
        decoded.is_whole = false;
    }
    decoded
}

/// Tells whether bytes appear to be plain text and are therefore not coded.
fn is_text(bytes: &[u8]) -> bool {
    let sample = bytes.get(..SAMPLE).unwrap_or(bytes);
    let is_control = |byte: &u8| matches!(byte, 0..=8 | 0x0B | 0x0E..=0x1F | 0x7F);
    sample.len() >= 16
        && !sample.iter().any(is_control)
        && std::str::from_utf8(sample).map_or_else(|error| error.error_len().is_none(), |_| true)
}

/// Undoes one coding. Returns `None` if the coding is unknown.
fn undo(coding: &str, body: &[u8], limit: usize) -> Option<(Vec<u8>, Option<&'static str>)> {
    match coding {
        "gzip" | "x-gzip" => Some(gunzip(body, limit)),
        "deflate" => Some(inflate(body, limit)),
        "br" => Some(read(
            brotli_decompressor::Decompressor::new(body, 4_096),
            limit,
        )),
        "zstd" => Some(unpack_zstd(body, limit)),
        _ => None,
    }
}

/// Decodes gzip. Several members form one body (RFC 1952, section 2.2). Trailing data that is not a
/// member, zeros most often, is ignored as in browsers.
fn gunzip(body: &[u8], limit: usize) -> (Vec<u8>, Option<&'static str>) {
    let mut decoder = flate2::bufread::GzDecoder::new(body);
    let mut bytes = Vec::new();
    loop {
        let room = (limit as u64 + 1).saturating_sub(bytes.len() as u64);
        let read = decoder.by_ref().take(room).read_to_end(&mut bytes);
        let rest = *decoder.get_ref();
        match read {
            Err(_) => return (bytes, Some(BROKEN_CODING)),
            Ok(_) if bytes.len() <= limit && rest.starts_with(b"\x1f\x8b") => {
                decoder.reset(rest);
            }
            Ok(_) => return (bytes, None),
        }
    }
}

/// Decodes `deflate`, which means zlib (RFC 9110, section 8.4.1.2); some servers send it without
/// the wrapper.
fn inflate(body: &[u8], limit: usize) -> (Vec<u8>, Option<&'static str>) {
    let wrapped = read(flate2::read::ZlibDecoder::new(body), limit);
    if wrapped.0.is_empty() && wrapped.1.is_some() {
        return read(flate2::read::DeflateDecoder::new(body), limit);
    }
    wrapped
}

/// Decodes zstd. A frame may ask for a window of gigabytes; at most 8 MiB is allowed (RFC 9659).
fn unpack_zstd(body: &[u8], limit: usize) -> (Vec<u8>, Option<&'static str>) {
    const WINDOW_LOG_MAX: u32 = 23;
    let decoder = zstd::Decoder::with_buffer(body).and_then(|mut decoder| {
        decoder.window_log_max(WINDOW_LOG_MAX)?;
        Ok(decoder)
    });
    match decoder {
        Ok(decoder) => read(decoder, limit),
        Err(_) => (Vec::new(), Some(BROKEN_CODING)),
    }
}

fn read(decoder: impl Read, limit: usize) -> (Vec<u8>, Option<&'static str>) {
    let mut bytes = Vec::new();
    // Reading one byte more than allowed tells a body that fits from one that does not.
    let note = match decoder.take(limit as u64 + 1).read_to_end(&mut bytes) {
        Ok(_) => None,
        Err(_) => Some(BROKEN_CODING),
    };
    (bytes, note)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    const BOUNDS: DecodeBounds = DecodeBounds {
        max_bytes: 1_000,
        max_codings: 4,
    };

    fn check(encodings: &[&str], body: Vec<u8>, expected: &[u8], note: Option<&str>) {
        let decoded = decode(encodings.iter().copied(), &body.into(), BOUNDS);
        assert_eq!(decoded.bytes, expected, "{encodings:?}");
        assert_eq!(decoded.note, note, "{encodings:?}");
    }

    #[test]
    fn codings_are_undone_last_first() {
        let text = b"some text";
        check(&[], text.to_vec(), text, None);
        check(&["identity"], text.to_vec(), text, None);
        check(&["gzip"], gzip(text), text, None);
        check(&["X-GZIP"], gzip(text), text, None);
        check(&["gzip, gzip"], gzip(&gzip(text)), text, None);
        check(&["gzip", "gzip"], gzip(&gzip(text)), text, None);
        check(
            &["zstd"],
            zstd::encode_all(&text[..], 1).unwrap(),
            text,
            None,
        );
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        zlib.write_all(text).unwrap();
        check(&["deflate"], zlib.finish().unwrap(), text, None);
        let mut bare = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        bare.write_all(text).unwrap();
        check(&["deflate"], bare.finish().unwrap(), text, None);
    }

    #[test]
    fn what_follows_gzip_is_passed_over() {
        let parts = [gzip(b"one, "), gzip(b"two"), vec![0; 40]].concat();
        check(&["gzip"], parts, b"one, two", None);
        let parts = [gzip(b"one"), b"and words".to_vec()].concat();
        check(&["gzip"], parts, b"one", None);
        let parts = [gzip(b"one"), gzip(b"two")[..9].to_vec()].concat();
        check(&["gzip"], parts, b"one", Some("broken-content-coding"));
    }

    #[test]
    fn what_is_text_is_in_no_coding() {
        let page = "<!doctype html><p>größer".as_bytes();
        for coding in ["gzip", "deflate", "br", "zstd", "utf-8", "gzip, zstd"] {
            check(&[coding], page.to_vec(), page, Some("no-content-coding"));
            let decoded = decode([coding].into_iter(), &page.to_vec().into(), BOUNDS);
            assert!(decoded.is_whole, "{coding}");
        }
        check(
            &["gzip, none"],
            gzip(page),
            &gzip(page),
            Some("unknown-content-coding"),
        );
        check(&["none, gzip"], gzip(page), page, Some("no-content-coding"));
        check(&["gzip"], Vec::new(), b"", None);
    }

    #[test]
    fn a_bomb_is_cut() {
        check(
            &["gzip"],
            gzip(&vec![7; 100_000]),
            &[7; 1_000],
            Some("decoded-length"),
        );
        let nested = gzip(&gzip(&vec![7; 1_000_000]));
        let decoded = decode(["gzip, gzip"].into_iter(), &nested.into(), BOUNDS);
        assert!(decoded.bytes.len() <= 1_000);
    }

    #[test]
    fn what_is_broken_or_unknown_yields_what_could_be_read() {
        let whole = gzip(b"0123456789");
        let decoded = decode(
            ["gzip"].into_iter(),
            &whole[..whole.len() - 9].to_vec().into(),
            BOUNDS,
        );
        assert_eq!(decoded.note, Some("broken-content-coding"));
        assert!(!decoded.is_whole);
        check(
            &["compress"],
            b"abc".to_vec(),
            b"abc",
            Some("unknown-content-coding"),
        );
        check(
            &["gzip,gzip,gzip,gzip,gzip"],
            b"abc".to_vec(),
            b"abc",
            Some("too-many-content-codings"),
        );
        check(
            &["br"],
            b"\xff\xff\xff".to_vec(),
            b"",
            Some("broken-content-coding"),
        );
    }
}
