//! From decoded text to a tree, within bounds.
//!
//! Where markup is plain (`plain.rs`), the tree is made at once. The rest of this is of other
//! pages.
//!
//! html5ever follows the standard, and the standard lets a small page cost a lot: scope checks walk
//! the stack of open elements (quadratic in nesting depth: 128 KB of `<ul><li>` took 2.2 s),
//! unclosed formatting elements are opened anew in every paragraph (128 KB made 3.3 million nodes),
//! and attribute names of one tag are compared with one another (1 MB took 4 s). So a sink in front
//! of the tree builder drops what is over budget (`sink.rs`); the tokens are read in `tokens.rs`.
//! Budgets are counts, never times: the same text yields the same tree everywhere.

use std::borrow::Cow;

use html5ever::tendril::StrTendril;
use memchr::{memchr, memchr_iter};
use scraper::Html;

use super::nodes::{Page, Tree, listed};
use super::sink::BoundedSink;
use super::{plain, streamed, tokens, unscripted};
use crate::page::cut::within;
use crate::page::options::{Note, PageOptions};

/// Maximum length of a page in bytes, whatever the options say: positions in the texts of the tree
/// are 32-bit numbers.
const MAX_BYTES: usize = 1 << 30;

/// Parses `html`. Returns the tree and the bounds that cut something. What is never read is left
/// out (`unread.rs`).
pub(crate) fn parse<'p>(html: &'p str, options: &PageOptions) -> (Tree<'p>, Vec<Note>) {
    let mut notes = Vec::new();
    let html = within(html, options.max_bytes.min(MAX_BYTES), &mut notes);
    let page = prepared(html);
    let (mut tree, notes) = match plain::read(&page, options) {
        Some(parts) => {
            let page = Page::Plain(page);
            (Tree { page, parts }, notes)
        }
        None => {
            let page = StrTendril::from(&*page);
            let (html, notes) = by_html5ever(&page, options, notes, tokens::feed);
            (listed(&html, page), notes)
        }
    };
    streamed::place(&mut tree, options.max_depth);
    (tree, notes)
}

/// The page as it is parsed: with line feeds as line ends, and with ends of what stands in
/// `<noscript>`.
pub(super) fn prepared(html: &str) -> Cow<'_, str> {
    unscripted::with_ends(with_line_feeds(html))
}

/// What html5ever makes of a page.
pub(super) fn by_html5ever(
    page: &StrTendril,
    options: &PageOptions,
    notes: Vec<Note>,
    feed: impl FnOnce(&StrTendril, BoundedSink, usize) -> BoundedSink,
) -> (Html, Vec<Note>) {
    let sink = BoundedSink::new(options, expected_nodes(page), notes);
    feed(page, sink, options.max_tag_bytes).finish()
}

/// About as many nodes as most trees have at most: an element for each of its two tags, and a text
/// behind most tags. A tree that grows is copied again and again, and asks for memory that was not
/// used before.
fn expected_nodes(page: &str) -> usize {
    let tags = memchr_iter(b'<', page.as_bytes()).count();
    tags + tags / 4 + 16
}

/// The text without byte order mark and with line feeds as line ends (HTML standard, section
/// 13.2.3.5).
pub(super) fn with_line_feeds(html: &str) -> Cow<'_, str> {
    let mut rest = html.strip_prefix('\u{FEFF}').unwrap_or(html);
    let Some(mut end) = memchr(b'\r', rest.as_bytes()) else {
        return Cow::Borrowed(rest);
    };
    let mut page = String::with_capacity(rest.len());
    loop {
        page.push_str(&rest[..end]);
        page.push('\n');
        rest = &rest[end + 1..];
        rest = rest.strip_prefix('\n').unwrap_or(rest);
        match memchr(b'\r', rest.as_bytes()) {
            Some(next) => end = next,
            None => break,
        }
    }
    page.push_str(rest);
    Cow::Owned(page)
}
