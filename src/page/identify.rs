//! What a body is by its first bytes, as a media type: what the archive says of a payload whatever
//! its server declared.
//!
//! The patterns are those of the WHATWG's MIME Sniffing Standard (sections 6.1 to 6.3 and 7.1),
//! with a few that crawled files need besides. Bytes decide; only among kinds of text, which no
//! bytes tell apart, the declared type does.

use super::charset::{BodyKind, kind};

/// Number of first bytes of a body that are enough.
pub const ENOUGH: usize = 2 << 10;

/// First bytes, and what begins with them.
const BEGINNINGS: [(&[u8], &str); 31] = [
    (b"%PDF-", "application/pdf"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"\x89PNG\r\n\x1A\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\xFF\xD8\xFF", "image/jpeg"),
    (b"\0\0\x01\0", "image/x-icon"),
    (b"\0\0\x02\0", "image/x-icon"),
    (b"BM", "image/bmp"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"\x1F\x8B\x08", "application/gzip"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"Rar!\x1A\x07", "application/vnd.rar"),
    (b"7z\xBC\xAF\x27\x1C", "application/x-7z-compressed"),
    (b"\xFD7zXZ\0", "application/x-xz"),
    (b"BZh", "application/x-bzip2"),
    (b"\x28\xB5\x2F\xFD", "application/zstd"),
    (b"OggS\0", "application/ogg"),
    (b"\x1A\x45\xDF\xA3", "video/webm"),
    (b"ID3", "audio/mpeg"),
    (b"MThd\0\0\0\x06", "audio/midi"),
    (b"fLaC", "audio/flac"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"OTTO", "font/otf"),
    (b"\0\x01\0\0", "font/ttf"),
    (b"\0asm", "application/wasm"),
    (b"\x7FELF", "application/x-executable"),
    (b"{\\rtf", "application/rtf"),
];

/// What is behind `RIFF` and four bytes of length.
const RIFFS: [(&[u8], &str); 3] = [
    (b"WEBP", "image/webp"),
    (b"WAVE", "audio/wav"),
    (b"AVI ", "video/x-msvideo"),
];

/// The root elements of documents in XML that have a type of their own.
const ROOTS: [(&str, &str); 7] = [
    ("html", "application/xhtml+xml"),
    ("rss", "application/rss+xml"),
    ("feed", "application/atom+xml"),
    ("rdf:rdf", "application/rdf+xml"),
    ("svg", "image/svg+xml"),
    ("urlset", "application/xml"),
    ("sitemapindex", "application/xml"),
];

/// Returns the media type of a body by its first bytes, with content codings undone; `None` if
/// there are none. `declared` is the value of `Content-Type`.
pub fn identify(declared: Option<&str>, first: &[u8]) -> Option<&'static str> {
    let first = first.get(..ENOUGH).unwrap_or(first);
    if first.is_empty() {
        return None;
    }
    if let Some((_, found)) = BEGINNINGS
        .iter()
        .find(|(begin, _)| first.starts_with(begin))
    {
        return Some(found);
    }
    if let (true, Some(form)) = (first.starts_with(b"RIFF"), first.get(8..12)) {
        let found = RIFFS.iter().find(|(begin, _)| *begin == form);
        return Some(found.map_or("application/octet-stream", |(_, found)| found));
    }
    if first.get(4..8) == Some(b"ftyp") {
        return Some(match first.get(8..12) {
            Some(b"avif" | b"avis") => "image/avif",
            Some(b"heic" | b"heix" | b"mif1") => "image/heic",
            Some(b"M4A ") => "audio/mp4",
            _ => "video/mp4",
        });
    }
    if is_binary(first) {
        return Some("application/octet-stream");
    }
    Some(text_type(declared, first))
}

/// Returns the type of a body that is text.
fn text_type(declared: Option<&str>, first: &[u8]) -> &'static str {
    let text = first.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(first);
    let text = text.trim_ascii_start();
    if let Some(root) = text.starts_with(b"<?xml").then(|| root(text)).flatten() {
        let found = ROOTS.iter().find(|(name, _)| *name == root);
        return found.map_or("application/xml", |(_, found)| found);
    }
    let declared = declared.unwrap_or_default();
    let essence = declared.split([';', ',']).next().unwrap_or_default();
    let essence = essence.trim().to_ascii_lowercase();
    let found = ["rss", "feed", "svg", "urlset", "sitemapindex"];
    if let Some(root) = root(text).filter(|root| found.contains(&root.as_str())) {
        let found = ROOTS.iter().find(|(name, _)| *name == root);
        return found.map_or("application/xml", |(_, found)| found);
    }
    match essence.as_str() {
        "text/css" => "text/css",
        "text/javascript" | "application/javascript" | "application/x-javascript" => {
            "text/javascript"
        }
        "text/csv" => "text/csv",
        "text/markdown" => "text/markdown",
        "text/calendar" => "text/calendar",
        "application/ld+json" => "application/ld+json",
        it if it == "application/json" || it.ends_with("+json") => "application/json",
        it if it == "text/xml" || it == "application/xml" || it.ends_with("+xml") => {
            match kind(Some(it), first) {
                BodyKind::Html => "application/xhtml+xml",
                _ => "application/xml",
            }
        }
        _ => match (kind(Some(declared), first), kind(None, first)) {
            (BodyKind::Html, _) | (BodyKind::Other, BodyKind::Html) => "text/html",
            _ => "text/plain",
        },
    }
}

/// Returns the name of the first element, in lower case.
fn root(text: &[u8]) -> Option<String> {
    let mut rest = text;
    loop {
        let at = rest.iter().position(|byte| *byte == b'<')?;
        rest = rest.get(at + 1..)?;
        let name = rest.iter().take_while(|byte| !b" \t\r\n/>".contains(byte));
        let name: Vec<u8> = name.copied().collect();
        if name.first().is_some_and(u8::is_ascii_alphabetic) {
            return Some(String::from_utf8_lossy(&name).to_ascii_lowercase());
        }
        // A comment may contain what looks like an element.
        if name.starts_with(b"!--") {
            let end = rest.windows(3).position(|it| it == b"-->")?;
            rest = rest.get(end + 3..)?;
        }
    }
}

/// Returns `true` if bytes are not text: section 7.1, "binary data byte".
fn is_binary(first: &[u8]) -> bool {
    // UTF-16 has zeros, and a mark in front.
    let is_wide = first.starts_with(b"\xFF\xFE") || first.starts_with(b"\xFE\xFF");
    let is_binary = |byte: &u8| matches!(byte, 0..=8 | 0x0B | 0x0E..=0x1A | 0x1C..=0x1F);
    !is_wide && first.iter().any(is_binary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_decide_and_the_server_only_among_texts() {
        let check = |declared: &str, first: &[u8], expected: &str| {
            let declared = Some(declared).filter(|it| !it.is_empty());
            assert_eq!(
                identify(declared, first),
                Some(expected),
                "{declared:?} {first:?}"
            );
        };
        check("text/html", b"%PDF-1.7", "application/pdf");
        check("", b"RIFF\0\0\0\0WEBPVP8 ", "image/webp");
        check("", b"RIFF\0\0\0\0none", "application/octet-stream");
        check("", b"\0\0\0\x20ftypavif", "image/avif");
        check("text/html", b"<p>x", "text/html");
        check("", b"\n<!DOCTYPE html><p>", "text/html");
        check(
            "application/octet-stream",
            b"<!doctype html><p>",
            "text/html",
        );
        check("text/plain", b"<html>", "text/plain");
        check("text/css; charset=utf-8", b"a { color: red }", "text/css");
        check("application/javascript", b"let x = 1;", "text/javascript");
        check("application/geo+json", b"{}", "application/json");
        check("", b"words", "text/plain");
        check("", b"\xFF\xFEw\0o\0", "text/plain");
        check("text/html", b"a\0b", "application/octet-stream");
        check(
            "text/html",
            b"<?xml version=\"1.0\"?><html>",
            "application/xhtml+xml",
        );
        check(
            "text/html",
            b"<?xml version=\"1.0\"?>\n<!-- <rss> --><feed>",
            "application/atom+xml",
        );
        check("text/html", b"<rss version='2.0'>", "application/rss+xml");
        check(
            "text/xml",
            b"<?xml version=\"1.0\"?><other/>",
            "application/xml",
        );
        check("image/svg+xml", b"<svg xmlns='x'>", "image/svg+xml");
        assert_eq!(identify(Some("text/html"), b""), None);
    }
}
