//! Turns a decoded body into plain data: what a page says, where it points, and what it asks of
//! robots.
//!
//! Each step is made once: bytes to text ([`charset`]), text to a bounded tree without what is
//! never read (`html/tree.rs`), the tree to a flat outline (`html/outline.rs`), and from the
//! outline the metadata, the links, the visible text and the main text (`content/main_text.rs`).
//! The tree is dropped here; the result is owned and `Send`.
//!
//! This room does no I/O and reads no clock, and parsing never fails: a broken page yields what
//! could be read of it, and [`Note`]s of what was cut.

pub mod charset;

mod html;

mod facts;

mod content;
mod identify;
pub mod language;
mod parts;
mod refusal;
mod requisites;
mod shell;

pub mod sitemap;

mod cut;
mod options;

#[doc(hidden)]
pub mod steps;

#[cfg(test)]
mod tests;

pub use charset::{BodyKind, kind};
#[doc(hidden)]
pub use content::study;
pub use facts::links::{Link, LinkKind};
pub use facts::metadata::Metadata;
pub use facts::wishes::{Rel, Rels, Wish, Wishes};
pub use identify::{ENOUGH, identify};
pub use language::Detected;
pub use options::{LineMask, Markup, Note, PageOptions};
pub use parts::{Line, MAX_LINES, Parts, Role};
pub use refusal::Refusal;
pub use requisites::{Requisite, RequisiteKind, Requisites};

use crate::url::{Identity, Url};
use content::headline::Headline;
use content::{
    Links, TextBlock, chosen_blocks, headline, main_blocks, main_text, markdown, markup, text,
};
use cut::within;
use facts::{Base, links, metadata, wishes};
use html::{Outline, parse};

/// The contents of one page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// `<title>`, else `og:title`, else the first `<h1>`; white space is collapsed.
    pub title: Option<String>,
    /// The heading that names what the page is about, with which the main text begins.
    pub headline: Option<String>,
    /// The declared language in lower case, such as `en` or `pt-br`.
    pub language: Option<String>,
    /// The language of the main text; `None` if it is not clear.
    pub detected_language: Option<Detected>,
    /// The absolute URL that the page declares as its canonical one. A hint, never an identity.
    pub canonical: Option<String>,
    /// What the meta tags of the page ask of robots.
    pub robots: Wishes,
    /// What else the page says about itself.
    pub metadata: Metadata,
    /// The absolute URLs of the next and previous pages of its series.
    pub neighbours: Vec<String>,
    /// The links of the page, each target once, in document order.
    pub links: Vec<Link>,
    /// The text the page is about, without navigation, advertisements and the like. It begins with
    /// the headline.
    pub main_text: String,
    /// Where in the main text that begins which is compared.
    compared_from: usize,
    /// All visible text.
    pub full_text: String,
    /// The length of the main text in per mille of the visible text, by bytes. A low value means
    /// that the page has little content or that the extraction failed.
    pub kept_permille: u16,
    /// The kind of refusal, if the server sent one instead of the page.
    pub refusal: Option<Refusal>,
    /// Whether it is a script shell: it says nothing until its scripts run.
    pub is_script_shell: bool,
    /// What of the page can be its own, unit by unit.
    pub parts: Parts,
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

    /// Reads an HTML page like [`Self::parse_html`], and returns its main text in a form that keeps
    /// its structure too, cut to `max_text_bytes`. Links are absolute; they are as on the page if
    /// `is_placeless`, that is, if `url` stands for one that is not known.
    pub fn parse_html_to<'a>(
        markup: Markup,
        html: impl Into<charset::Text<'a>>,
        (url, is_placeless): (&Url, bool),
        identity: &Identity,
        options: &PageOptions,
    ) -> (Self, String) {
        let render = match markup {
            Markup::Markdown => markdown::render,
            Markup::Html => markup::render,
        };
        let html = html.into();
        Self::read(html, url, identity, options, |outline, blocks, base| {
            let links = match is_placeless && base.url() == url {
                true => Links::AsWritten,
                false => Links::From(base),
            };
            render(outline, blocks, links, options.max_text_bytes)
        })
    }

    /// Reads a page, and computes something more from its main blocks while the tree exists.
    fn read<T>(
        html: charset::Text<'_>,
        url: &Url,
        identity: &Identity,
        options: &PageOptions,
        more: impl FnOnce(&Outline<'_>, &[TextBlock], &Base) -> T,
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
        let all_blocks = chosen_blocks(&outline);
        let (parts, has_data) = parts::of_page(
            &outline,
            &all_blocks,
            sight,
            (url, base.url()),
            &options.line_mask,
        );
        let is_added = |headline: &Headline| {
            let mut chosen = all_blocks.iter().filter(|block| block.is_main);
            !chosen.any(|block| headline.contains(&outline, block))
        };
        let language = metadata::language(&outline);
        let title = metadata::title(&outline, options.max_title_bytes);
        let metadata = metadata::metadata(&outline, &base, options.max_url_bytes);
        let declared = headline::Declared {
            title: title.as_deref(),
            metadata: &metadata,
        };
        let headline = headline::of(&outline, &all_blocks, &declared);
        let blocks = main_blocks(&outline, &all_blocks, headline.as_ref());
        let main_text = main_text(
            &outline,
            &blocks,
            headline.as_ref(),
            full_text.len(),
            options.max_text_bytes,
        );
        let headlines = [title.as_deref(), metadata.h1.as_deref()];
        let refusal = refusal::refusal(&refusal::Asked {
            html,
            outline: &outline,
            headlines,
            visible: &full_text,
            links: &links,
            url,
        });
        let is_script_shell = refusal.is_none() && !has_data && shell::is_shell(&outline);
        let page = Self {
            title,
            compared_from: (headline.as_ref().filter(|it| is_added(it)))
                .map_or(0, |headline| (headline.text.len() + 1).min(main_text.len())),
            headline: headline.map(|headline| headline.text),
            refusal,
            is_script_shell,
            detected_language: language::detect(&main_text),
            language,
            canonical: metadata::canonical(&outline, &base, options.max_url_bytes),
            robots: wishes::of_page(&outline, &options.product_token),
            metadata,
            neighbours: metadata::neighbours(&outline, &base, options.max_url_bytes),
            links,
            kept_permille: kept_permille(&main_text, &full_text),
            main_text,
            full_text,
            parts,
            notes,
        };
        (page, more(&outline, &blocks, &base))
    }

    /// The part of the main text that is fingerprinted: the same article on another template should
    /// yield the same text. Without the headline, unless that stands in the text; with it, fewer of
    /// the pages that are duplicates were found (docs/extraction.md).
    pub fn compared_text(&self) -> &str {
        self.main_text.get(self.compared_from..).unwrap_or_default()
    }

    /// The code of the language of the main text, if it is so clear that pages in others are
    /// others.
    pub fn sure_language(&self) -> Option<&'static str> {
        let detected = self.detected_language.filter(|it| it.is_sure())?;
        Some(detected.language)
    }

    /// Reads a plain text page. All of it is main text; it has no title and no links.
    pub fn plain_text(text: &str, options: &PageOptions) -> Self {
        Self::text(text, None, options)
    }

    /// Reads a plain text page that was fetched from `url`: words of its URL are masked in its
    /// lines.
    pub fn plain_text_of(text: &str, url: &Url, options: &PageOptions) -> Self {
        Self::text(text, Some(url), options)
    }

    fn text(text: &str, url: Option<&Url>, options: &PageOptions) -> Self {
        let mut notes = Vec::new();
        let text = within(text, options.max_bytes, &mut notes);
        let full_text = text::plain(text, options.max_text_bytes, &mut notes);
        Self {
            detected_language: language::detect(&full_text),
            kept_permille: kept_permille(&full_text, &full_text),
            main_text: full_text.clone(),
            parts: parts::of_text(&full_text, url, &options.line_mask),
            full_text,
            notes,
            ..Self::default()
        }
    }
}

/// The length of the main text in per mille of the visible text, by bytes.
fn kept_permille(main_text: &str, full_text: &str) -> u16 {
    (main_text.len() * 1000 / full_text.len().max(1)).min(1000) as u16
}
