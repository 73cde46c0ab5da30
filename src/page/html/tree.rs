//! From decoded text to one `scraper` tree, within bounds.
//!
//! html5ever follows the standard, and the standard lets a small page cost a lot: scope checks walk
//! the stack of open elements (quadratic in nesting depth: 128 KB of `<ul><li>` took 2.2 s),
//! unclosed formatting elements are opened anew in every paragraph (128 KB made 3.3 million nodes),
//! and attribute names of one tag are compared with one another (1 MB took 4 s). So a sink stands
//! before the tree builder and drops what is over budget; what the tokens are is read in
//! `tokens.rs`. Budgets are counts, never times: the same text gives the same tree everywhere.

use html5ever::tendril::StrTendril;
use memchr::memchr;
use scraper::Html;

use super::sink::BoundedSink;
use super::tokens;
use crate::page::cut::within;
use crate::page::options::{Note, PageOptions};

/// Bytes of a page, whatever the options say: places in the tree's texts are numbers of 32 bits.
const MAX_BYTES: usize = 1 << 30;

/// Parses `html`; the second value lists the bounds that cut something. What nobody reads is left
/// out (`unread.rs`).
pub(crate) fn parse(html: &str, options: &PageOptions) -> (Html, Vec<Note>) {
    parse_with(html, options, tokens::feed)
}

/// The same with nothing left out: what [`parse`] is compared with.
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
    let sink = BoundedSink::new(options, notes);
    feed(&page, sink, options.max_tag_bytes).finish()
}

/// The text without byte order mark and with line feeds for line ends (HTML standard, section
/// 13.2.3.5), in a buffer that the texts of the tree share.
fn normalized(html: &str) -> StrTendril {
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
