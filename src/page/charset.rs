//! Decodes bytes to text, and tells what kind of body they are.
//!
//! The encoding is determined as browsers do it (Encoding and HTML standards): byte order mark,
//! then the header, then the declaration in the first bytes, then a guess from the bytes, then
//! windows-1252. Unlike in browsers, a declaration that the bytes contradict is ignored: a reader
//! of such a page would choose another encoding by hand. Decoding never fails; what cannot be
//! decoded becomes U+FFFD.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// Number of bytes searched for a declaration. The HTML standard requires 1024; long heads put it
/// later.
const PRESCAN_BYTES: usize = 4096;

/// Number of bytes the guess is made from. More take longer and seldom change it.
const DETECT_BYTES: usize = 64 * 1024;

/// Number of bytes from which UTF-16 without a byte order mark is recognized: half a doctype.
const WIDE_BYTES: usize = 16;

/// Number of bytes examined to tell the kind of a body without a media type (MIME Sniffing
/// standard, section 5).
const SNIFF_BYTES: usize = 1445;

/// A decoded body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text<'a> {
    /// The text. Borrowed if the bytes are valid UTF-8 as they are.
    pub text: Cow<'a, str>,
    /// The encoding of the bytes. The queries of the page's links are encoded in it.
    pub encoding: &'static Encoding,
}

impl<'a> From<&'a str> for Text<'a> {
    /// Text that was UTF-8.
    fn from(text: &'a str) -> Self {
        Self {
            text: text.into(),
            encoding: UTF_8,
        }
    }
}

/// What a body means to a crawler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BodyKind {
    /// HTML or XHTML: parsed for links and text.
    Html,
    /// Plain text: it has no links.
    Text,
    /// Anything else, including feeds and sitemaps: stored but not read as a page.
    Other,
}

/// Decodes `bytes`. `content_type` is the value of the header.
pub fn to_text<'a>(bytes: &'a [u8], content_type: Option<&str>) -> Text<'a> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return decode(encoding, bytes.get(mark..).unwrap_or_default());
    }
    if let Some(encoding) = wide(bytes) {
        return decode(encoding, bytes);
    }
    let by_header = || {
        content_type
            .and_then(|value| parameter(value, "charset"))
            .and_then(|label| Encoding::for_label(label.as_bytes()))
    };
    let by_bytes = || prescan(bytes.get(..PRESCAN_BYTES).unwrap_or(bytes));
    let fitting = |encoding: &&'static Encoding| fits(encoding, bytes);
    let declared = by_header()
        .filter(fitting)
        .or_else(|| by_bytes().filter(fitting));
    decode(declared.unwrap_or_else(|| detect(bytes)), bytes)
}

/// The kind of a body, by its media type or, if that is missing or unusable, by its first bytes.
pub fn kind(content_type: Option<&str>, body: &[u8]) -> BodyKind {
    let essence = content_type
        .unwrap_or_default()
        .split([';', ','])
        .next()
        .unwrap_or_default();
    let declared = match essence.trim().to_ascii_lowercase().as_str() {
        "*/*" | "unknown/unknown" | "application/unknown" => return sniff(body),
        "text/html" | "application/xhtml+xml" | "application/vnd.wap.xhtml+xml" => BodyKind::Html,
        "text/plain" | "text/markdown" => BodyKind::Text,
        // A malformed media type is ignored.
        other if !other.contains('/') => return sniff(body),
        _ => BodyKind::Other,
    };
    if is_of_another_kind(body) {
        BodyKind::Other
    } else {
        declared
    }
}

/// Whether a body begins as no text does, like pictures and archives that some servers label HTML.
fn is_of_another_kind(body: &[u8]) -> bool {
    const BEGINNINGS: [&[u8]; 15] = [
        b"\x89PNG\r\n",
        b"GIF87a",
        b"GIF89a",
        b"\xFF\xD8\xFF",
        b"RIFF",
        b"\0\0\x01\0",
        b"%PDF-",
        b"PK\x03\x04",
        b"\x1F\x8B\x08",
        b"Rar!\x1A\x07",
        b"7z\xBC\xAF\x27\x1C",
        b"OggS\0",
        b"\x1A\x45\xDF\xA3",
        b"\x7FELF",
        b"wOF2",
    ];
    BEGINNINGS.iter().any(|begin| body.starts_with(begin))
        || body.get(4..8).is_some_and(|it| it == b"ftyp")
}

fn decode<'a>(encoding: &'static Encoding, bytes: &'a [u8]) -> Text<'a> {
    let (text, _) = encoding.decode_without_bom_handling(bytes);
    Text { text, encoding }
}

/// UTF-16 that does not declare itself, recognized by the zero in every other byte of its ASCII
/// beginning.
fn wide(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes.get(..bytes.len().min(WIDE_BYTES) & !1)?;
    let (even, odd) = (head.iter().step_by(2), head.iter().skip(1).step_by(2));
    let is_zero = |byte: &u8| *byte == 0;
    let is_ascii = |byte: &u8| matches!(byte, b'\t'..=b'~');
    match head.len() {
        0..8 => None,
        _ if even.clone().all(is_ascii) && odd.clone().all(is_zero) => Some(UTF_16LE),
        _ if even.clone().all(is_zero) && odd.clone().all(is_ascii) => Some(UTF_16BE),
        _ => None,
    }
}

/// Whether the bytes can be in the encoding that they are declared to be in.
fn fits(encoding: &'static Encoding, bytes: &[u8]) -> bool {
    if encoding == REPLACEMENT {
        // Browsers refuse these encodings; a guess recovers some of the text.
        return false;
    }
    if encoding == UTF_8 {
        return is_rather_utf_8(bytes);
    }
    let rest = &bytes[Encoding::ascii_valid_up_to(bytes)..];
    if rest.is_empty() {
        return !is_wide(encoding) || bytes.contains(&0);
    }
    if !is_utf_8(rest) {
        return true;
    }
    // Bytes that are letters in UTF-8 are letters in other encodings too, but hardly ever form
    // words.
    let letters = rest.iter().filter(|byte| matches!(byte, 0xC2..));
    let enough = if encoding.is_single_byte() { 1 } else { 8 };
    letters.take(enough).count() < enough || (is_wide(encoding) && bytes.contains(&0))
}

fn is_wide(encoding: &'static Encoding) -> bool {
    encoding == UTF_16LE || encoding == UTF_16BE
}

/// Whether the bytes are UTF-8. If there are several characters beyond ASCII, the last one may be
/// cut.
fn is_utf_8(bytes: &[u8]) -> bool {
    let Err(error) = std::str::from_utf8(bytes) else {
        return true;
    };
    error.error_len().is_none() && !bytes[..error.valid_up_to()].is_ascii()
}

/// Whether the bytes contain more UTF-8 characters beyond ASCII than invalid ones.
fn is_rather_utf_8(bytes: &[u8]) -> bool {
    if is_utf_8(bytes) {
        return true;
    }
    let sample = sample(bytes);
    let (mut letters, mut errors) = (0, 0);
    for chunk in sample.utf8_chunks() {
        letters += chunk.valid().chars().filter(|it| !it.is_ascii()).count();
        errors += usize::from(!chunk.invalid().is_empty());
    }
    errors <= letters
}

/// The part of the bytes that a guess is made from: what is not ASCII, and a little before it.
fn sample(bytes: &[u8]) -> &[u8] {
    let first = bytes.iter().position(|byte| !byte.is_ascii());
    let from = first.unwrap_or(0).saturating_sub(PRESCAN_BYTES);
    let rest = bytes.get(from..).unwrap_or_default();
    rest.get(..DETECT_BYTES).unwrap_or(rest)
}

/// A guess for bytes without a declaration.
fn detect(bytes: &[u8]) -> &'static Encoding {
    if is_utf_8(bytes) {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(sample(bytes), true);
    detector.guess(None, Utf8Detection::Allow)
}

/// The encoding that the first bytes declare in a `<meta>` tag or an XML declaration.
fn prescan(head: &[u8]) -> Option<&'static Encoding> {
    // The markup in question is ASCII; lower-casing and lossy decoding change nothing in it.
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

/// The encoding that one meta tag declares; `meta` starts after the name of the tag.
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

/// The encoding with a label found inside the bytes. Since they were read as ASCII, it cannot be
/// UTF-16 (HTML standard, section 13.2.3.2).
fn declared(label: &str) -> Option<&'static Encoding> {
    match Encoding::for_label(label.as_bytes())? {
        encoding if is_wide(encoding) => Some(UTF_8),
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
        // A name may start with `=`, so that every step advances.
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
    let head = body.get(..SNIFF_BYTES).unwrap_or(body);
    let marked = Encoding::for_bom(head).map(|(encoding, _)| encoding);
    let encoding = marked.filter(|it| is_wide(it)).or_else(|| wide(head));
    if let Some(encoding) = encoding {
        return sniff_narrow(encoding.decode(head).0.as_bytes());
    }
    sniff_narrow(head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head))
}

/// The kind of a body whose markup, if any, is ASCII.
fn sniff_narrow(head: &[u8]) -> BodyKind {
    let start = head.trim_ascii_start();
    let has_binary = start
        .iter()
        .any(|b| matches!(b, 0..=8 | 0x0B | 0x0E..=0x1A | 0x1C..=0x1F));
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
    if is_tag {
        BodyKind::Html
    } else if has_binary || is_of_another_kind(start) || start.starts_with(b"{\\rtf") {
        BodyKind::Other
    } else {
        BodyKind::Text
    }
}

/// The tags with which a page may start (MIME Sniffing standard, section 7.1, and a few more seen).
const SNIFFED_TAGS: [&str; 20] = [
    "html", "head", "body", "title", "meta", "link", "base", "script", "style", "iframe", "div",
    "p", "a", "b", "br", "h1", "font", "table", "center", "section",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], content_type: Option<&str>, expected: (&str, &str)) {
        let text = to_text(bytes, content_type);
        assert_eq!((text.encoding.name(), &*text.text), expected);
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
            ("windows-1252", "<meta charset=utf-8>ä"),
        );
    }

    #[test]
    fn declarations_that_the_bytes_contradict_are_passed_over() {
        let russian = "Съешь же ещё этих мягких французских булок, да выпей чаю.";
        let (bytes, _, _) = encoding_rs::WINDOWS_1251.encode(russian);
        let utf_8 = Some("text/html; charset=utf-8");
        check(&bytes, utf_8, ("windows-1251", russian));
        let latin = Some("text/html; charset=iso-8859-1");
        check("gr\u{fc}n".as_bytes(), latin, ("UTF-8", "grün"));
        check(
            russian.as_bytes(),
            Some("text/html; charset=gbk"),
            ("UTF-8", russian),
        );
        let wide = Some("text/html; charset=utf-16le");
        check(b"<html>narrow", wide, ("UTF-8", "<html>narrow"));
        check(
            b"plain",
            Some("a/b; charset=iso-2022-kr"),
            ("UTF-8", "plain"),
        );
        // The other declaration is better than a guess.
        let japanese = "<meta charset=shift_jis>春はあけぼの";
        let (bytes, _, _) = encoding_rs::SHIFT_JIS.encode(japanese);
        check(&bytes, utf_8, ("Shift_JIS", japanese));
        // One wrong byte, or a cut, among many correct ones contradicts nothing.
        let mut bytes = russian.as_bytes().to_vec();
        bytes.truncate(bytes.len() - 2);
        assert_eq!(to_text(&bytes, utf_8).encoding, UTF_8);
        bytes.insert(0, 0xFF);
        assert_eq!(to_text(&bytes, utf_8).encoding, UTF_8);
        // A correct declaration is kept.
        let french = "d\u{e9}j\u{e0} vu";
        let (bytes, _, _) = WINDOWS_1252.encode(french);
        check(&bytes, latin, ("windows-1252", french));
        let chinese = "春眠不觉晓，处处闻啼鸟";
        let (bytes, _, _) = encoding_rs::GBK.encode(chinese);
        check(&bytes, Some("text/html; charset=gb2312"), ("GBK", chinese));
    }

    #[test]
    fn utf_16_is_seen_without_a_mark() {
        let text = "<!doctype html><p>grün";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        check(
            &little,
            Some("text/html; charset=utf-8"),
            ("UTF-16LE", text),
        );
        check(&big, None, ("UTF-16BE", text));
        assert_eq!(kind(None, &little), BodyKind::Html);
        assert_eq!(kind(None, b"\xFF\xFEw\0o\0r\0d\0s\0"), BodyKind::Text);
        check(b"a\0b\0", None, ("UTF-8", "a\0b\0"));
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
        assert_eq!(to_text(&russian, None).encoding.name(), "windows-1251");
        check(b"plain", None, ("UTF-8", "plain"));
        check(b"a\0b", None, ("UTF-8", "a\0b"));
    }

    #[test]
    fn kind_follows_the_header_and_sniffs_without_one() {
        assert_eq!(kind(Some("Text/HTML; charset=x"), b"words"), BodyKind::Html);
        assert_eq!(kind(Some("text/html"), b"%PDF-1.7"), BodyKind::Other);
        assert_eq!(kind(Some("html"), b"<p>"), BodyKind::Html);
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
