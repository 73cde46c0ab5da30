//! A decoded body as plain data: what a page says, where it points, and what it asks of robots.
//!
//! Steps, each once: bytes to text ([`charset`]), text to tokens without what nobody reads
//! (`tokens.rs`), tokens to a bounded tree (`tree.rs`), the tree to a flat outline (`outline.rs`), and
//! from the outline the metadata, the links, the visible text and the main text (`content.rs`). The
//! tree is dropped here; what leaves is owned and `Send`.
//!
//! No I/O, no clock, and parsing never fails: a broken page gives what could be read of it, and
//! [`Note`]s of what was cut.

mod blocks;
pub mod charset;
mod class_words;
mod content;
mod features;
mod language;
mod lexer;
mod links;
mod markdown;
mod metadata;
mod model;
mod model_trees;
mod outline;
mod refusal;
pub mod sitemap;
mod structure;
pub mod study;
mod tag;
mod text;
mod tokens;
mod traits;
mod tree;
mod unread;
mod wishes;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use charset::{BodyKind, kind};
pub use links::{Link, LinkKind};
pub use metadata::Metadata;
pub use refusal::Refusal;
pub use wishes::{Rel, Rels, Wish, Wishes};

use crate::url::{Identity, Url};
use blocks::Block;
use links::Base;
use outline::Outline;

/// Bounds on what one page may cost. They are counts, never times, so that a page always gives the
/// same result.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct PageOptions {
    /// Bytes of a page's text that are read; what comes after is not. The largest of 661 sampled pages
    /// had 1.5 MB.
    pub max_bytes: usize,
    /// Elements open at once, counting open formatting elements twice. Start tags beyond are
    /// dropped; of links, what they point at is kept. Browsers stop at 512 too; parsing is quadratic in this number.
    pub max_depth: usize,
    /// Nodes of the tree; what comes after is not read. Comments, and what scripts, style sheets and
    /// drawings hold, are no nodes of it. Of 661 sampled pages the median had 1,600 and the largest
    /// 28,000.
    pub max_nodes: usize,
    /// Bytes within one tag or comment, in steps of 16 KiB; the rest of it is skipped. Comparing
    /// attribute names is quadratic in this number.
    pub max_tag_bytes: usize,
    /// Links kept, after removing duplicates.
    pub max_links: usize,
    /// Bytes of one link's reference; longer ones are left out. Servers refuse longer URLs anyway.
    pub max_url_bytes: usize,
    /// Bytes of the visible text, and of the main text; both are cut there.
    pub max_text_bytes: usize,
    /// Bytes of the title; it is cut there, at a character.
    pub max_title_bytes: usize,
}

impl Default for PageOptions {
    fn default() -> Self {
        Self {
            max_bytes: 8 << 20,
            max_depth: 512,
            max_nodes: 150_000,
            max_tag_bytes: 64 * 1024,
            max_links: 10_000,
            max_url_bytes: 4096,
            max_text_bytes: 4 * 1024 * 1024,
            max_title_bytes: 1024,
        }
    }
}

/// What one page holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// `<title>`, else `og:title`, else the first `<h1>`; white space collapsed.
    pub title: Option<String>,
    /// The declared language, lower-cased, such as `en` or `pt-br`.
    pub language: Option<String>,
    /// The language its main text is in, as far as that is sure: an ISO 639-1 code.
    pub detected_language: Option<&'static str>,
    /// The absolute URL the page calls its canonical one: a hint, never an identity.
    pub canonical: Option<String>,
    /// What the page's own meta tags ask of robots.
    pub robots: Wishes,
    /// What else it says about itself.
    pub metadata: Metadata,
    /// The absolute URLs of the pages that it names as next and previous in its series.
    pub neighbours: Vec<String>,
    /// Where the page points, each target once, in document order.
    pub links: Vec<Link>,
    /// The text the page is about, without navigation, advertisements and other furniture. It is
    /// what is fingerprinted: the same article in another frame should give the same text.
    pub main_text: String,
    /// All visible text.
    pub full_text: String,
    /// How much of it the main text is, per mille of the bytes. Little says that the page is a frame
    /// with little in it, or that extraction failed.
    pub kept_permille: u16,
    /// What it refuses, if it is no page but what a server sends in its place.
    pub refusal: Option<Refusal>,
    /// The bounds that cut something.
    pub notes: Vec<Note>,
}

/// A bound of [`PageOptions`] that cut something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// `max_bytes`: the end of the page was not read.
    BytesCut,
    /// `max_depth`: start tags were dropped.
    DepthCut,
    /// `max_nodes`: the end of the page was not read.
    NodesCut,
    /// `max_tag_bytes`, or too many attributes: part of a tag or comment was skipped.
    TagCut,
    /// `max_links` or `max_url_bytes`: links were left out.
    LinksCut,
    /// `max_text_bytes`: the text was cut.
    TextCut,
}

impl Page {
    /// Reads an HTML page that was fetched from `url`.
    pub fn parse_html<'a>(
        html: impl Into<charset::Text<'a>>,
        url: &Url,
        identity: &Identity,
        options: &PageOptions,
    ) -> Self {
        Self::read(html.into(), url, identity, options, |_, _, _| ()).0
    }

    /// The same, and the main text as Markdown, at most `max_text_bytes` of it.
    pub fn parse_html_to_markdown<'a>(
        html: impl Into<charset::Text<'a>>,
        url: &Url,
        identity: &Identity,
        options: &PageOptions,
    ) -> (Self, String) {
        Self::read(
            html.into(),
            url,
            identity,
            options,
            |outline, blocks, base| markdown::render(outline, blocks, base, options.max_text_bytes),
        )
    }

    /// Reads a page, and makes something more of its main blocks while the tree is there.
    fn read<T>(
        html: charset::Text<'_>,
        url: &Url,
        identity: &Identity,
        options: &PageOptions,
        more: impl FnOnce(&Outline<'_>, &[Block], &Base) -> T,
    ) -> (Self, T) {
        let charset::Text {
            text: html,
            encoding,
        } = html;
        let html = &*html;
        let (tree, mut notes) = tree::parse(html, options);
        let outline = Outline::of(&tree);
        let base = Base::of(&outline, url, encoding);
        let links = links::collect(&outline, &base, identity, options, &mut notes);
        let sight = text::sight(&outline);
        let full_text = text::full(&outline, sight, options.max_text_bytes, &mut notes);
        let blocks = content::main_blocks(&outline);
        let main_text =
            content::main_text(&outline, &blocks, full_text.len(), options.max_text_bytes);
        let language = metadata::language(&outline);
        let title = metadata::title(&outline, options.max_title_bytes);
        let metadata = metadata::metadata(&outline, &base, options.max_url_bytes);
        let headlines = [title.as_deref(), metadata.h1.as_deref()];
        let anchors = links.iter().filter(|link| link.kind == LinkKind::Anchor);
        let refusal = refusal::refusal(html, &outline, headlines, &full_text, anchors.count());
        let page = Self {
            title,
            refusal,
            detected_language: language::detect(&main_text),
            language,
            canonical: metadata::canonical(&outline, &base, options.max_url_bytes),
            robots: wishes::of_page(&outline),
            metadata,
            neighbours: metadata::neighbours(&outline, &base, options.max_url_bytes),
            links,
            kept_permille: kept_permille(&main_text, &full_text),
            main_text,
            full_text,
            notes,
        };
        (page, more(&outline, &blocks, &base))
    }

    /// A page that is plain text: all of it is main text, and it has no title and no links.
    pub fn plain_text(text: &str, options: &PageOptions) -> Self {
        let mut notes = Vec::new();
        let text = within(text, options.max_bytes, &mut notes);
        let full_text = text::plain(text, options.max_text_bytes, &mut notes);
        Self {
            detected_language: language::detect(&full_text),
            kept_permille: kept_permille(&full_text, &full_text),
            main_text: full_text.clone(),
            full_text,
            notes,
            ..Self::default()
        }
    }
}

/// How much of the visible text the main text is, by bytes.
fn kept_permille(main_text: &str, full_text: &str) -> u16 {
    (main_text.len() * 1000 / full_text.len().max(1)).min(1000) as u16
}

/// The beginning of a page that is too long.
fn within<'a>(text: &'a str, max_bytes: usize, notes: &mut Vec<Note>) -> &'a str {
    if text.len() <= max_bytes {
        return text;
    }
    notes.push(Note::BytesCut);
    &text[..floor_char_boundary(text, max_bytes)]
}

/// The largest character boundary of `text` that is not after `at`.
fn floor_char_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len()))
        .rev()
        .find(|&at| text.is_char_boundary(at))
        .unwrap_or(0)
}

/// `text` with its white space collapsed, cut to at most `max_bytes` at a character.
fn collapse(text: &str, max_bytes: usize) -> String {
    let mut collapsed = String::new();
    for word in text.split_whitespace() {
        if !collapsed.is_empty() {
            collapsed.push(' ');
        }
        collapsed.push_str(word);
        if collapsed.len() > max_bytes {
            break;
        }
    }
    collapsed.truncate(floor_char_boundary(&collapsed, max_bytes));
    collapsed.truncate(collapsed.trim_end().len());
    collapsed
}
