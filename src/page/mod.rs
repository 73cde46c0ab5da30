//! A decoded body as plain data: what a page says, where it points, and what it asks of robots.
//!
//! Steps, each once: bytes to text ([`charset`]), text to tokens without what nobody reads
//! (`html/tokens.rs`), tokens to a bounded tree (`html/tree.rs`), the tree to a flat outline
//! (`html/outline.rs`), and from the outline the metadata, the links, the visible text and the main
//! text (`content/main_text.rs`). The tree is dropped here; what leaves is owned and `Send`.
//!
//! No I/O, no clock, and parsing never fails: a broken page gives what could be read of it, and
//! [`Note`]s of what was cut.

pub mod charset;

mod html;

mod facts;

mod content;
mod language;
mod refusal;

pub mod sitemap;

mod cut;
mod options;

#[cfg(test)]
mod tests;

pub use charset::{BodyKind, kind};
pub use content::study;
pub use facts::links::{Link, LinkKind};
pub use facts::metadata::Metadata;
pub use facts::wishes::{Rel, Rels, Wish, Wishes};
pub use options::{Note, PageOptions};
pub use refusal::Refusal;

use crate::url::{Identity, Url};
use content::{Block, main_blocks, main_text, markdown, text};
use cut::within;
use facts::{Base, links, metadata, wishes};
use html::{Outline, parse};

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
    /// How much of it the main text is, per mille of the bytes. Little says that the page is a
    /// frame with little in it, or that extraction failed.
    pub kept_permille: u16,
    /// What it refuses, if it is no page but what a server sends in its place.
    pub refusal: Option<Refusal>,
    /// The bounds that cut something.
    pub notes: Vec<Note>,
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
        let (tree, mut notes) = parse(html, options);
        let outline = Outline::of(&tree);
        let base = Base::of(&outline, url, encoding);
        let links = links::collect(&outline, &base, identity, options, &mut notes);
        let sight = text::sight(&outline);
        let full_text = text::full(&outline, sight, options.max_text_bytes, &mut notes);
        let blocks = main_blocks(&outline);
        let main_text = main_text(&outline, &blocks, full_text.len(), options.max_text_bytes);
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
