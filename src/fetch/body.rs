//! Content decoding, bounded: what a body is after its content codings are undone.
//!
//! The stored body keeps its codings; this is what is parsed and fingerprinted. A bomb is cut where
//! the bound is, a broken stream where it breaks, each with a note. Runs on an analyst's thread.

use std::io::Read;

use bytes::Bytes;

/// The note of a body whose coding breaks off.
const BROKEN: &str = "broken-content-coding";
/// Codings undone at most; more than two are not seen on an honest web.
const MAX_CODINGS: usize = 4;

/// The note of a body that is longer than allowed after decoding.
pub const DECODED_LENGTH: &str = "decoded-length";

/// A body after content decoding.
#[derive(Debug)]
pub struct Decoded {
    /// The bytes.
    pub bytes: Bytes,
    /// What kept them from being whole.
    pub note: Option<&'static str>,
}

/// Undoes the content codings that `encodings` names, last applied first (RFC 9110, section 8.4),
/// up to `limit` bytes.
pub fn decode<'a>(encodings: impl Iterator<Item = &'a str>, body: &Bytes, limit: usize) -> Decoded {
    let mut codings: Vec<String> = encodings
        .flat_map(|value| value.split(','))
        .map(|coding| coding.trim().to_ascii_lowercase())
        .filter(|coding| !coding.is_empty() && coding != "identity")
        .take(MAX_CODINGS + 1)
        .collect();
    let mut decoded = Decoded {
        bytes: body.clone(),
        note: None,
    };
    if codings.len() > MAX_CODINGS {
        decoded.note = Some("too-many-content-codings");
        return decoded;
    }
    while let Some(coding) = codings.pop() {
        let Some((bytes, note)) = undo(&coding, &decoded.bytes, limit) else {
            decoded.note = Some("unknown-content-coding");
            break;
        };
        decoded.bytes = bytes.into();
        decoded.note = decoded.note.or(note);
    }
    if decoded.bytes.len() > limit {
        decoded.bytes.truncate(limit);
        decoded.note = Some(DECODED_LENGTH);
    }
    decoded
}

/// Undoes one coding; `None` if it is not known.
fn undo(coding: &str, body: &[u8], limit: usize) -> Option<(Vec<u8>, Option<&'static str>)> {
    match coding {
        // Several members are one body.
        "gzip" | "x-gzip" => Some(read(flate2::read::MultiGzDecoder::new(body), limit)),
        "deflate" => Some(inflate(body, limit)),
        "br" => Some(read(
            brotli_decompressor::Decompressor::new(body, 4_096),
            limit,
        )),
        "zstd" => Some(unpack_zstd(body, limit)),
        _ => None,
    }
}

/// `deflate` means zlib (RFC 9110, section 8.4.1.2); some servers send it without the wrapper.
fn inflate(body: &[u8], limit: usize) -> (Vec<u8>, Option<&'static str>) {
    let wrapped = read(flate2::read::ZlibDecoder::new(body), limit);
    if wrapped.0.is_empty() && wrapped.1.is_some() {
        return read(flate2::read::DeflateDecoder::new(body), limit);
    }
    wrapped
}

/// A frame may ask for a window of gigabytes: none larger than 8 MiB is honoured (RFC 9659).
fn unpack_zstd(body: &[u8], limit: usize) -> (Vec<u8>, Option<&'static str>) {
    const WINDOW_LOG_MAX: u32 = 23;
    let decoder = zstd::Decoder::with_buffer(body).and_then(|mut decoder| {
        decoder.window_log_max(WINDOW_LOG_MAX)?;
        Ok(decoder)
    });
    match decoder {
        Ok(decoder) => read(decoder, limit),
        Err(_) => (Vec::new(), Some(BROKEN)),
    }
}

fn read(decoder: impl Read, limit: usize) -> (Vec<u8>, Option<&'static str>) {
    let mut bytes = Vec::new();
    // One byte more than allowed tells a body that fits from one that does not.
    let note = match decoder.take(limit as u64 + 1).read_to_end(&mut bytes) {
        Ok(_) => None,
        Err(_) => Some(BROKEN),
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

    fn check(encodings: &[&str], body: Vec<u8>, expected: &[u8], note: Option<&str>) {
        let decoded = decode(encodings.iter().copied(), &body.into(), 1_000);
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
    fn a_bomb_is_cut() {
        check(
            &["gzip"],
            gzip(&vec![7; 100_000]),
            &[7; 1_000],
            Some("decoded-length"),
        );
        let nested = gzip(&gzip(&vec![7; 1_000_000]));
        let decoded = decode(["gzip, gzip"].into_iter(), &nested.into(), 1_000);
        assert!(decoded.bytes.len() <= 1_000);
    }

    #[test]
    fn what_is_broken_or_unknown_yields_what_could_be_read() {
        let whole = gzip(b"0123456789");
        let decoded = decode(
            ["gzip"].into_iter(),
            &whole[..whole.len() - 9].to_vec().into(),
            1_000,
        );
        assert_eq!(decoded.note, Some("broken-content-coding"));
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
