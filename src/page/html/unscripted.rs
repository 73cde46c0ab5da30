//! What stands in `<noscript>` ends there. A browser that runs scripts skips all of it up to its
//! end tag, so that nobody notices an element of raw text in it that is never ended, such as
//! `<iframe … />`, or a comment. Where no scripts are run, the rest of the page would be part of
//! that: its text and its links would be lost. It is ended here, before the page is parsed.

use std::borrow::Cow;

use html5ever::{LocalName, local_name};
use memchr::{memchr, memmem};

use super::lexer::{begins_with_name, comment, raw_text_end};
use super::tokens::RAW_TEXT;

/// The page with an end for everything in `<noscript>` that has none.
pub(super) fn with_ends(page: Cow<'_, str>) -> Cow<'_, str> {
    let has = |name: &str| memmem::find(page.as_bytes(), name.as_bytes()).is_some();
    // In mixed case hardly anybody writes it.
    if !has("noscript") && !has("NOSCRIPT") {
        return page;
    }
    let missing = missing_ends(&page);
    if missing.is_empty() {
        return page;
    }
    let mut ended = String::with_capacity(page.len() + 16 * missing.len());
    let mut from = 0;
    for (at, end) in missing {
        ended.push_str(&page[from..at]);
        ended.push_str(&end);
        from = at;
    }
    ended.push_str(&page[from..]);
    Cow::Owned(ended)
}

/// Where an end is missing, and which one, in order.
fn missing_ends(page: &str) -> Vec<(usize, String)> {
    // As browsers that run scripts see it.
    let raw_text = [local_name!("script"), local_name!("noscript")];
    let mut missing = Vec::new();
    let mut at = 0;
    while let Some(length) = memchr(b'<', &page.as_bytes()[at..]) {
        let begin = at + length;
        // What is never ended is the rest of the page.
        let Ok(end) = end_of(page, begin, &raw_text) else {
            break;
        };
        if begins_with_name(&page.as_bytes()[begin + 1..], "noscript")
            && let Some(unended) = unended(&page[begin + 1..end])
        {
            missing.push((end, unended));
        }
        at = end + 1;
    }
    missing
}

/// The end of what begins in these contents and does not end in them.
fn unended(contents: &str) -> Option<String> {
    let mut at = 0;
    while let Some(length) = memchr(b'<', &contents.as_bytes()[at..]) {
        match end_of(contents, at + length, &RAW_TEXT) {
            Ok(end) => at = end + 1,
            Err(missing) => return Some(missing),
        }
    }
    None
}

/// The position of the last byte that is known to belong to what begins with the `<` at `begin`: a
/// comment, one of these elements of raw text up to its end tag, or anything else.
///
/// # Errors
///
/// The end that is missing.
fn end_of(text: &str, begin: usize, raw_text: &[LocalName]) -> Result<usize, String> {
    let tag = &text.as_bytes()[begin + 1..];
    if tag.starts_with(b"!--") {
        let end = comment(text, begin, text.len());
        return end.map(|end| end - 1).ok_or_else(|| "-->".to_owned());
    }
    match raw_text.iter().find(|name| begins_with_name(tag, name)) {
        Some(name) => raw_text_end(text, begin, name).ok_or_else(|| format!("</{name}>")),
        None => Ok(begin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(page: &str, expected: &str) {
        assert_eq!(with_ends(page.into()), expected);
    }

    #[test]
    fn raw_text_without_an_end_is_ended() {
        check(
            "<noscript><iframe src=a /></noscript><p>1</p>",
            "<noscript><iframe src=a /></iframe></noscript><p>1</p>",
        );
        check(
            "<NOSCRIPT ><STYLE>p{}</NOSCRIPT><p>1<noscript><!-- a</noscript>",
            "<NOSCRIPT ><STYLE>p{}</style></NOSCRIPT><p>1<noscript><!-- a--></noscript>",
        );
        check(
            "<noscript><!-- <iframe> --><style></style><iframe>x<b></noscript>",
            "<noscript><!-- <iframe> --><style></style><iframe>x<b></iframe></noscript>",
        );
    }

    #[test]
    fn what_is_ended_stays_as_it_is() {
        for page in [
            "",
            "<noscript><iframe src=a></iframe><style>a{}</style></noscript><p>1",
            "<noscript><IFRAME src=a></Iframe></noscript>",
            "<noscript><textarea><iframe></textarea></noscript>",
            "<noscript><!-- <iframe> --><img src=a></noscript>",
            // It has no end at which this could end.
            "<noscript><iframe src=a /><p>1",
            "<noscripts><iframe></noscripts><p></iframe>",
            // It is no element.
            "<script>write('<noscript><iframe src=a /></noscript>')</script><p>1",
            "<!-- <noscript><iframe src=a /></noscript> --><p>1",
            // Elsewhere it swallows the page in browsers too.
            "<iframe src=a /><p>1<noscript>2</noscript>",
        ] {
            assert!(matches!(with_ends(page.into()), Cow::Borrowed(_)), "{page}");
        }
    }
}
