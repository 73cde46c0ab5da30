//! The start tags of a page in their order, without a tree: for what needs attributes only, and
//! all of them, wherever they stand.
//!
//! Tags are read as html5ever's tokenizer reads them (`lexer.rs`). What is too long, or has no end,
//! is skipped.

use std::ops::Range;

use html5ever::tendril::StrTendril;
use memchr::memchr;

use super::lexer;
use super::tree::prepared;

/// A start tag, or raw text.
pub(in crate::page) enum Markup<'a> {
    /// A start tag.
    Tag(StartTag<'a>),
    /// The text of a `<style>`.
    Style(&'a str),
}

/// A start tag. Its attributes are read when they are asked for.
pub(in crate::page) struct StartTag<'a> {
    page: &'a StrTendril,
    /// The name as written.
    name: &'a str,
    attributes: &'a [(&'a str, Range<usize>)],
}

/// Maximum number of attributes of a tag that are read.
const MAX_ATTRIBUTES: usize = 256;

/// Elements whose text is no markup.
const RAW_TEXT: [&str; 8] = [
    "script", "style", "title", "textarea", "iframe", "noframes", "noembed", "xmp",
];

impl StartTag<'_> {
    /// Whether it is of this element; the name is in lower case.
    pub(in crate::page) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// The value of an attribute whose name is given in lower case.
    pub(in crate::page) fn attribute(&self, name: &str) -> Option<StrTendril> {
        let mut named = self.attributes.iter();
        // Of several with one name the first counts.
        let (_, value) = named.find(|(it, _)| it.eq_ignore_ascii_case(name))?;
        lexer::value(self.page, value.clone())
    }
}

/// Passes on the start tags of a page, and the texts of its style sheets. A tag of more than
/// `max_tag_bytes` is skipped.
pub(in crate::page) fn each_start_tag(
    html: &str,
    max_tag_bytes: usize,
    each: &mut dyn FnMut(Markup<'_>),
) {
    let page = prepared(html);
    let page = match page.contains('\0') {
        true => StrTendril::from(page.replace('\0', "\u{FFFD}")),
        false => StrTendril::from(&*page),
    };
    let bytes = page.as_bytes();
    let mut at = 0;
    while let Some(length) = bytes.get(at..).and_then(|rest| memchr(b'<', rest)) {
        let begin = at + length;
        let limit = begin.saturating_add(max_tag_bytes).min(page.len());
        at = match bytes.get(begin + 1) {
            // One that is not closed is the rest of the page.
            Some(b'!') if bytes[begin..].starts_with(b"<!--") => {
                lexer::comment(&page, begin, page.len()).unwrap_or(page.len())
            }
            Some(b'/') if bytes.get(begin + 2).is_some_and(u8::is_ascii_alphabetic) => {
                let end = lexer::tag_name(&page, begin + 2, limit);
                let end = end.and_then(|end| lexer::attributes(&page, end, limit, |_, _| Some(())));
                end.map_or(limit, |end| end.at)
            }
            Some(byte) if byte.is_ascii_alphabetic() => start_tag(&page, begin, limit, each),
            Some(_) => begin + 1,
            None => return,
        };
    }
}

/// Reads the start tag that begins here, and the raw text behind it. Returns where that ends.
fn start_tag(
    page: &StrTendril,
    begin: usize,
    limit: usize,
    each: &mut dyn FnMut(Markup<'_>),
) -> usize {
    let mut attributes = Vec::new();
    let take = |name, value| {
        if attributes.len() < MAX_ATTRIBUTES {
            attributes.push((name, value));
        }
        Some(())
    };
    let Some(name_end) = lexer::tag_name(page, begin + 1, limit) else {
        return limit;
    };
    let Some(end) = lexer::attributes(page, name_end, limit, take) else {
        return limit;
    };
    let name = page.get(begin + 1..name_end).unwrap_or_default();
    each(Markup::Tag(StartTag {
        page,
        name,
        attributes: &attributes,
    }));
    let mut raw = RAW_TEXT.iter().filter(|it| name.eq_ignore_ascii_case(it));
    // In a drawing, `<style/>` and the like are empty.
    let Some(raw) = raw.next().filter(|_| !end.self_closing) else {
        return match name.eq_ignore_ascii_case("plaintext") {
            true => page.len(),
            false => end.at,
        };
    };
    let raw_end = lexer::raw_text_end(page, end.at, raw).unwrap_or(page.len());
    if *raw == "style"
        && let Some(text) = page.get(end.at..raw_end)
    {
        each(Markup::Style(text));
    }
    raw_end
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The `src` of each tag and the text of each style sheet.
    fn read(html: &str) -> Vec<String> {
        let mut found = Vec::new();
        each_start_tag(html, 100, &mut |markup| match markup {
            Markup::Style(text) => found.push(text.to_owned()),
            Markup::Tag(tag) => found.extend(tag.attribute("src").map(String::from)),
        });
        found
    }

    #[track_caller]
    fn check(html: &str, expected: &[&str]) {
        assert_eq!(read(html), expected, "{html:?}");
    }

    #[test]
    fn attributes_are_those_that_browsers_see() {
        check(
            "<img src=a><IMG SRC='b'><img alt=x src = \"c&amp;d\">",
            &["a", "b", "c&d"],
        );
        check("<img src=a src=b>", &["a"]);
        check("<img/src=a/><p>1 < 2<img\nsrc=b\r\n>", &["a/", "b"]);
        check("<img alt='>' src=a>", &["a"]);
        check(
            "<!-- <img src=a> --><img src=b><!doctype x><?xml x?><img src=c>",
            &["b", "c"],
        );
        check("<!-- <img src=a>", &[]);
        check("</p src=x><img src=b>", &["b"]);
        check("<im\0g src=a><img src=\0b>", &["a", "\u{FFFD}b"]);
    }

    #[test]
    fn raw_text_has_no_tags() {
        check(
            "<script src=a>'<img src=b>'</script><img src=c>",
            &["a", "c"],
        );
        check(
            "<style>p<a src=b></style ><img src=c>",
            &["p<a src=b>", "c"],
        );
        check(
            "<title><img src=a></title><textarea><img src=b></textarea>",
            &[],
        );
        check("<noscript><img src=a></noscript>", &["a"]);
        check("<noscript><style>p</noscript><img src=a>", &["p", "a"]);
        check("<style/><img src=a>", &["a"]);
        check("<style>p", &["p"]);
    }

    #[test]
    fn what_has_no_end_is_skipped() {
        let long = format!("<img alt='{}' src=a><img src=b>", "x".repeat(200));
        check(&long, &["b"]);
        check("<img src=a", &[]);
        // Not once more for each of its beginnings.
        assert!(read(&"<img src='".repeat(500_000)).len() < 500_000);
    }

    proptest! {
        /// No text causes a panic.
        #[test]
        fn anything_may_be_read(html in "(<|</|<!--|-->|style|img|src=|['\"> ]|\\PC){0,40}") {
            read(&html);
        }
    }
}
