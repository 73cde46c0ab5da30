//! Bytes to text, and what kind of body the bytes are.
//!
//! The encoding is found as browsers find it (Encoding and HTML standards): byte order mark, then
//! the header, then what the first bytes declare, then a guess from the bytes, then windows-1252.
//! Decoding never fails; what cannot be decoded becomes U+FFFD.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// Bytes searched for a declaration. The HTML standard asks for 1024; long heads put it later.
const PRESCAN_BYTES: usize = 4096;

/// Bytes the guess is made from: more take longer and seldom change it.
const DETECT_BYTES: usize = 64 * 1024;

/// Bytes looked at to tell the kind of a body without a media type (MIME Sniffing standard, 5).
const SNIFF_BYTES: usize = 1445;

/// A decoded body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text<'a> {
    /// Borrowed when the bytes are valid UTF-8 as they stand.
    pub text: Cow<'a, str>,
    /// The name of the encoding, as the Encoding standard writes it.
    pub encoding: &'static str,
}

/// What a body is to a crawler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BodyKind {
    /// HTML or XHTML: parsed for links and text.
    Html,
    /// Plain text: no links.
    Text,
    /// Anything else, feeds and sitemaps too: kept, not read.
    Other,
}

/// Decodes `bytes`; `content_type` is the header's value.
pub fn to_text<'a>(bytes: &'a [u8], content_type: Option<&str>) -> Text<'a> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return decode(encoding, bytes.get(mark..).unwrap_or_default());
    }
    let declared = content_type
        .and_then(|value| parameter(value, "charset"))
        .and_then(|label| Encoding::for_label(label.as_bytes()))
        .or_else(|| prescan(bytes.get(..PRESCAN_BYTES).unwrap_or(bytes)));
    decode(declared.unwrap_or_else(|| detect(bytes)), bytes)
}

/// The kind of a body: by its media type, or without a usable one by its first bytes.
pub fn kind(content_type: Option<&str>, body: &[u8]) -> BodyKind {
    let essence = content_type
        .unwrap_or_default()
        .split([';', ','])
        .next()
        .unwrap_or_default();
    match essence.trim().to_ascii_lowercase().as_str() {
        "" | "*/*" | "unknown/unknown" | "application/unknown" => sniff(body),
        "text/html" | "application/xhtml+xml" | "application/vnd.wap.xhtml+xml" => BodyKind::Html,
        "text/plain" | "text/markdown" => BodyKind::Text,
        _ => BodyKind::Other,
    }
}

fn decode<'a>(encoding: &'static Encoding, bytes: &'a [u8]) -> Text<'a> {
    let (text, _) = encoding.decode_without_bom_handling(bytes);
    Text {
        text,
        encoding: encoding.name(),
    }
}

/// A guess for bytes that nobody declared.
fn detect(bytes: &[u8]) -> &'static Encoding {
    if std::str::from_utf8(bytes).is_ok() {
        return UTF_8;
    }
    let sample = bytes.get(..DETECT_BYTES).unwrap_or(bytes);
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    if detector.feed(sample, true) {
        detector.guess(None, Utf8Detection::Allow)
    } else {
        // Only ASCII in the sample: what follows is rare and Western as likely as not.
        WINDOWS_1252
    }
}

/// The encoding that the first bytes declare, in a `<meta>` or an XML declaration.
fn prescan(head: &[u8]) -> Option<&'static Encoding> {
    // All the markup in question is ASCII; lower-casing and lossy reading change nothing in it.
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    if let Some(declaration) = head.trim_start().strip_prefix("<?xml") {
        let declaration = declaration.split("?>").next().unwrap_or_default();
        let label =
            attributes(declaration).find_map(|(name, value)| (name == "encoding").then_some(value));
        if let Some(encoding) = label.and_then(declared) {
            return Some(encoding);
        }
    }
    let mut rest = head.as_str();
    while let Some(at) = rest.find('<') {
        rest = rest.get(at + 1..).unwrap_or_default();
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
        } else if let Some(meta) = rest.strip_prefix("meta")
            && meta.starts_with(|c: char| c.is_ascii_whitespace() || c == '/')
            && let Some(encoding) = of_meta(meta)
        {
            return Some(encoding);
        }
    }
    None
}

/// The encoding that one meta tag declares; `meta` starts after the tag's name.
fn of_meta(meta: &str) -> Option<&'static Encoding> {
    let mut charset = None;
    let mut content = None;
    let mut is_pragma = false;
    for (name, value) in attributes(meta) {
        match name {
            "charset" => charset = charset.or(Some(value)),
            "content" => content = content.or_else(|| parameter(value, "charset")),
            "http-equiv" => is_pragma |= value.trim() == "content-type",
            _ => {}
        }
    }
    charset.or(content.filter(|_| is_pragma)).and_then(declared)
}

/// The encoding of a label found inside the bytes: having been read as ASCII they cannot be UTF-16
/// (HTML standard, 13.2.3.2).
fn declared(label: &str) -> Option<&'static Encoding> {
    match Encoding::for_label(label.as_bytes())? {
        encoding if encoding == encoding_rs::UTF_16LE || encoding == encoding_rs::UTF_16BE => {
            Some(UTF_8)
        }
        encoding if encoding == encoding_rs::X_USER_DEFINED => Some(WINDOWS_1252),
        encoding => Some(encoding),
    }
}

/// The attributes of a tag, up to its `>`.
fn attributes(tag: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = tag;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        if rest.is_empty() || rest.starts_with('>') {
            return None;
        }
        // A name may start with `=`, so that every step goes forward.
        let name_end = rest
            .char_indices()
            .skip(1)
            .find(|&(_, c)| c.is_ascii_whitespace() || matches!(c, '=' | '>' | '/'))
            .map_or(rest.len(), |(at, _)| at);
        let (name, after) = rest.split_at(name_end);
        let Some(value) = after.trim_start().strip_prefix('=').map(str::trim_start) else {
            rest = after;
            return Some((name, ""));
        };
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (value, after) = if let Some(quote) = quote {
            let inner = value.get(1..).unwrap_or_default();
            inner.split_once(quote).unwrap_or((inner, ""))
        } else {
            let end = value.find(|c: char| c.is_ascii_whitespace() || c == '>');
            value.split_at(end.unwrap_or(value.len()))
        };
        rest = after;
        Some((name, value))
    })
}

/// A parameter of a media type, without quotes.
fn parameter<'a>(content_type: &'a str, name: &str) -> Option<&'a str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (key, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']).trim();
        (key.trim().eq_ignore_ascii_case(name) && !value.is_empty()).then_some(value)
    })
}

/// The kind of a body by its first bytes.
fn sniff(body: &[u8]) -> BodyKind {
    let is_wide = matches!(body, [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..]);
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let start = body.get(..SNIFF_BYTES).unwrap_or(body).trim_ascii_start();
    let has_binary = start
        .iter()
        .any(|b| matches!(b, 0..=8 | 0x0B | 0x0E..=0x1A | 0x1C..=0x1F));
    if is_wide {
        return BodyKind::Text;
    }
    let lower = String::from_utf8_lossy(start).to_ascii_lowercase();
    if lower.starts_with("<?xml") || lower.starts_with("<rss") || lower.starts_with("<feed") {
        let is_xhtml = lower.contains("<html") || lower.contains("<!doctype html");
        return if is_xhtml {
            BodyKind::Html
        } else {
            BodyKind::Other
        };
    }
    let is_tag = lower.strip_prefix('<').is_some_and(|tag| {
        tag.starts_with("!doctype html") || tag.starts_with("!--") || {
            let name = tag
                .split(|c: char| !c.is_ascii_alphanumeric())
                .next()
                .unwrap_or_default();
            SNIFFED_TAGS.contains(&name)
        }
    });
    match () {
        () if is_tag => BodyKind::Html,
        () if has_binary || start.starts_with(b"%PDF-") || start.starts_with(b"{\\rtf") => {
            BodyKind::Other
        }
        () => BodyKind::Text,
    }
}

/// The tags with which a page may start (MIME Sniffing standard, 7.1, and a few more seen).
const SNIFFED_TAGS: [&str; 20] = [
    "html", "head", "body", "title", "meta", "link", "base", "script", "style", "iframe", "div",
    "p", "a", "b", "br", "h1", "font", "table", "center", "section",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], content_type: Option<&str>, expected: (&str, &str)) {
        let text = to_text(bytes, content_type);
        assert_eq!((text.encoding, &*text.text), expected);
    }

    #[test]
    fn byte_order_mark_wins_over_header() {
        check(
            b"\xEF\xBB\xBFa\xC3\xA4",
            Some("text/html; charset=latin1"),
            ("UTF-8", "aä"),
        );
        check(
            b"\xFF\xFEa\0\xE4\0",
            Some("text/html; charset=utf-8"),
            ("UTF-16LE", "aä"),
        );
    }

    #[test]
    fn header_wins_over_meta() {
        let body = b"<meta charset=utf-8>\xE4";
        let text = "<meta charset=utf-8>ä";
        check(
            body,
            Some("text/html; charset=\"ISO-8859-1\""),
            ("windows-1252", text),
        );
        check(
            body,
            Some("text/html; charset=bogus"),
            ("UTF-8", "<meta charset=utf-8>\u{FFFD}"),
        );
    }

    #[test]
    fn meta_is_found_as_the_standard_says() {
        let encoding = |head: &[u8]| prescan(head).map(Encoding::name);
        assert_eq!(encoding(b"<META CHARSET='koi8-r'>"), Some("KOI8-R"));
        assert_eq!(
            encoding(b"<meta http-equiv=Content-Type content='text/html; charset=shift_jis'>"),
            Some("Shift_JIS")
        );
        assert_eq!(
            encoding(b"<meta name=x content='text/html; charset=shift_jis'>"),
            None
        );
        assert_eq!(
            encoding(b"<!-- <meta charset=koi8-r> --><meta charset=gbk>"),
            Some("GBK")
        );
        assert_eq!(encoding(b"<meta charset=utf-16>"), Some("UTF-8"));
        assert_eq!(
            encoding(b"<?xml version='1.0' encoding='iso-8859-2'?><html>"),
            Some("ISO-8859-2")
        );
        assert_eq!(
            encoding(b"<metadata charset=gbk><meta = / '' charset"),
            None
        );
    }

    #[test]
    fn undeclared_bytes_are_guessed() {
        check("naïve – ".as_bytes(), None, ("UTF-8", "naïve – "));
        let (russian, _, _) = encoding_rs::WINDOWS_1251.encode(
            "Съешь же ещё этих мягких французских булок, да выпей чаю. Широкая электрификация.",
        );
        assert_eq!(to_text(&russian, None).encoding, "windows-1251");
        check(b"plain", None, ("UTF-8", "plain"));
        check(b"a\0b", None, ("UTF-8", "a\0b"));
    }

    #[test]
    fn kind_follows_the_header_and_sniffs_without_one() {
        assert_eq!(kind(Some("Text/HTML; charset=x"), b"%PDF-"), BodyKind::Html);
        assert_eq!(kind(Some("application/xhtml+xml"), b""), BodyKind::Html);
        assert_eq!(kind(Some("text/plain"), b"<html>"), BodyKind::Text);
        for other in [
            "text/css",
            "application/pdf",
            "application/rss+xml",
            "image/svg+xml",
            "text/xml",
        ] {
            assert_eq!(kind(Some(other), b"<html>"), BodyKind::Other, "{other}");
        }
        assert_eq!(kind(None, b"\n <!DOCTYPE html><p>"), BodyKind::Html);
        assert_eq!(
            kind(None, b"<?xml version='1.0'?><html xmlns='x'>"),
            BodyKind::Html
        );
        assert_eq!(kind(None, b"<?xml version='1.0'?><rss>"), BodyKind::Other);
        assert_eq!(kind(None, b"%PDF-1.7"), BodyKind::Other);
        assert_eq!(kind(None, b"\x89PNG\r\n\x1a\n\0\0"), BodyKind::Other);
        assert_eq!(kind(None, b"just words"), BodyKind::Text);
    }
}
