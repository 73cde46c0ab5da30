//! From decoded text to one `scraper` tree, within bounds.
//!
//! html5ever follows the standard, and the standard lets a small page cost a lot: scope checks walk
//! the stack of open elements (quadratic in nesting depth: 128 KB of `<ul><li>` took 2.2 s),
//! unclosed formatting elements are opened anew in every paragraph (128 KB made 3.3 million nodes),
//! and attribute names of one tag are compared with one another (1 MB took 4 s). So a sink in front
//! of the tree builder drops what is over budget (`sink.rs`); the tokens are read in `tokens.rs`.
//! Budgets are counts, never times: the same text yields the same tree everywhere.

use html5ever::tendril::StrTendril;
use memchr::{memchr, memchr_iter};
use scraper::Html;

use super::sink::BoundedSink;
use super::tokens;
use crate::page::cut::within;
use crate::page::options::{Note, PageOptions};

/// Maximum length of a page in bytes, whatever the options say: positions in the texts of the tree
/// are 32-bit numbers.
const MAX_BYTES: usize = 1 << 30;

/// Parses `html`. Returns the tree and the bounds that cut something. What is never read is left
/// out (`unread.rs`).
pub(crate) fn parse(html: &str, options: &PageOptions) -> (Html, Vec<Note>) {
    parse_with(html, options, tokens::feed)
}

/// Like [`parse`], but nothing is left out. Tests compare the two.
#[cfg(test)]
pub(crate) fn parse_all(html: &str, options: &PageOptions) -> (Html, Vec<Note>) {
    parse_with(html, options, tokens::feed_to_tokenizer)
}

fn parse_with(
    html: &str,
    options: &PageOptions,
    feed: impl FnOnce(&StrTendril, BoundedSink, usize) -> BoundedSink,
) -> (Html, Vec<Note>) {
    let mut notes = Vec::new();
    let html = within(html, options.max_bytes.min(MAX_BYTES), &mut notes);
    let page = normalized(html);
    let sink = BoundedSink::new(options, expected_nodes(&page), notes);
    feed(&page, sink, options.max_tag_bytes).finish()
}

/// About as many nodes as most trees have at most: an element for each of its two tags, and a text
/// behind most tags. A tree that grows is copied again and again, and asks for memory that was not
/// used before.
fn expected_nodes(page: &str) -> usize {
    let tags = memchr_iter(b'<', page.as_bytes()).count();
    tags + tags / 4 + 16
}

/// The text without byte order mark and with line feeds as line ends (HTML standard, section
/// 13.2.3.5), in a buffer that the texts of the tree share.
pub(super) fn normalized(html: &str) -> StrTendril {
    let mut rest = html.strip_prefix('\u{FEFF}').unwrap_or(html);
    let mut page = StrTendril::with_capacity(rest.len() as u32);
    while let Some(end) = memchr(b'\r', rest.as_bytes()) {
        page.push_slice(&rest[..end]);
        page.push_char('\n');
        rest = &rest[end + 1..];
        rest = rest.strip_prefix('\n').unwrap_or(rest);
    }
    page.push_slice(rest);
    page
}
