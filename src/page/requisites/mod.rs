//! What a page needs besides itself to be shown as it was: images, style sheets and what they
//! import, scripts, fonts, media, icons and frames.
//!
//! Only what HTML, CSS and `srcset` name is found; what scripts ask for is not. The tree of the
//! page has no part in it, because it leaves out style sheets and drawings: attributes are read
//! tag by tag (`html/start_tags.rs`).

mod css;
mod srcset;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use encoding_rs::UTF_8;

use super::charset;
use super::cut::floor_char_boundary;
use super::facts::Base;
use super::html::{Markup, StartTag, each_start_tag, has_token};
use super::options::PageOptions;
use crate::url::{self, Identity, Url, UrlId};

/// A file that a page, or one of its style sheets or frames, needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requisite {
    /// The absolute URL without fragment, as first named: what is requested.
    pub url: String,
    /// Its id in this crawl, of the URL as it is written: a player asks for exactly that.
    pub id: UrlId,
    /// What it is taken for.
    pub kind: RequisiteKind,
}

/// What a requisite is taken for: what of it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequisiteKind {
    /// A file that names no others.
    File,
    /// A style sheet, which may name others.
    Style,
    /// A page within the page, or a drawing, which may name others.
    Document,
}

/// The requisites that one document names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requisites {
    /// The requisites, each once, in the order in which they are named first.
    pub list: Vec<Requisite>,
    /// Number of further ones, which are too many.
    pub more: u64,
}

/// Maximum size of all references of a document together, in bytes, as written.
const MAX_BYTES: usize = 4 << 20;

/// Maximum number of documents in attributes (`srcdoc`) within one another.
const MAX_NESTED: usize = 4;

impl Requisites {
    /// Finds what an HTML page, or a drawing, needs; at most `most` files. A page that names no
    /// icon has the one at the usual place, if it is a page of its own (`is_page`).
    pub fn of_html(
        html: &charset::Text<'_>,
        (url, is_page): (&Url, bool),
        most: usize,
        identity: &Identity,
        options: &PageOptions,
    ) -> Self {
        let mut found = Found::default();
        let end = floor_char_boundary(&html.text, options.max_bytes);
        found.read(html.text.get(..end).unwrap_or_default(), 0, options);
        let base = found.base.as_deref();
        let base = base.and_then(|href| url::join_in(url, href, html.encoding).ok());
        let base = Base::at(base.unwrap_or_else(|| url.clone()), html.encoding);
        if is_page
            && !found.has_icon
            && let Ok(icon) = url::join(url, "/favicon.ico")
        {
            found.add(icon.as_str(), RequisiteKind::File);
        }
        found.resolved((url, &base), most, identity, options)
    }

    /// Finds what a style sheet needs; at most `most` files.
    pub fn of_css(
        css: &str,
        url: &Url,
        most: usize,
        identity: &Identity,
        options: &PageOptions,
    ) -> Self {
        let mut found = Found::default();
        found.add_css(css);
        let base = Base::at(url.clone(), UTF_8);
        found.resolved((url, &base), most, identity, options)
    }

    /// Returns about how much memory they take, in bytes.
    pub fn bytes(&self) -> usize {
        let each = self.list.iter().map(|it| it.url.len());
        each.map(|length| length + size_of::<Requisite>()).sum()
    }
}

/// The references of a document as written.
#[derive(Default)]
struct Found {
    references: Vec<(String, RequisiteKind)>,
    places: HashMap<String, usize>,
    /// Bytes of the references.
    bytes: usize,
    /// Number of references for which there is no room.
    more: u64,
    /// The first `<base href>`.
    base: Option<String>,
    has_icon: bool,
}

impl Found {
    /// Adds a reference. If it is known, it counts as what is read of it most.
    fn add(&mut self, reference: &str, kind: RequisiteKind) {
        let reference = reference.trim_matches(|c: char| c.is_ascii_whitespace());
        let scheme = reference.get(..5).unwrap_or_default();
        // Most of the bytes of some pages are files in URLs.
        if reference.is_empty()
            || reference.starts_with('#')
            || scheme.eq_ignore_ascii_case("data:")
        {
            return;
        }
        if let Some(&place) = self.places.get(reference) {
            if let Some((_, known)) = self.references.get_mut(place) {
                *known = kind.max(*known);
            }
            return;
        }
        if self.bytes.saturating_add(reference.len()) > MAX_BYTES {
            self.more += 1;
            return;
        }
        self.bytes += reference.len();
        self.places
            .insert(reference.to_owned(), self.references.len());
        self.references.push((reference.to_owned(), kind));
    }

    fn add_css(&mut self, css: &str) {
        css::each_reference(css, &mut |reference, kind| self.add(reference, kind));
    }

    fn add_srcset(&mut self, srcset: &str) {
        srcset::each_url(srcset, |reference| self.add(reference, RequisiteKind::File));
    }

    fn read(&mut self, html: &str, depth: usize, options: &PageOptions) {
        let mut nested = Vec::new();
        each_start_tag(html, options.max_tag_bytes, &mut |markup| match markup {
            Markup::Style(css) => self.add_css(css),
            Markup::Tag(tag) => {
                if tag.is("base") && depth == 0 {
                    let href = || tag.attribute("href").map(String::from);
                    self.base = self.base.take().or_else(href);
                }
                if (tag.is("iframe") || tag.is("frame"))
                    && let Some(document) = tag.attribute("srcdoc")
                {
                    nested.push(String::from(document));
                } else {
                    self.take(&tag);
                }
                if let Some(css) = tag.attribute("style") {
                    self.add_css(&css);
                }
            }
        });
        for document in nested.iter().filter(|_| depth < MAX_NESTED) {
            self.read(document, depth + 1, options);
        }
    }

    /// Takes what the attributes of a tag name.
    fn take(&mut self, tag: &StartTag<'_>) {
        use RequisiteKind::{Document, File, Style};
        let mut add = |name: &str, kind| {
            if let Some(reference) = tag.attribute(name) {
                self.add(&reference, kind);
            }
        };
        let is = |names: &[&str]| names.iter().any(|name| tag.is(name));
        if is(&[
            "img", "source", "input", "audio", "video", "track", "script", "bgsound",
        ]) {
            add("src", File);
        }
        if is(&["iframe", "frame", "embed"]) {
            add("src", Document);
        }
        if is(&["object"]) {
            add("data", Document);
        }
        if is(&["video"]) {
            add("poster", File);
        }
        if is(&["body", "table", "thead", "tbody", "tfoot", "tr", "td", "th"]) {
            add("background", File);
        }
        // Elements of drawings; a browser reads an `<image>` outside of them as an `<img>`.
        if is(&["image", "use", "feimage", "script"]) {
            add("href", File);
            add("xlink:href", File);
        }
        if is(&["image"]) {
            add("src", File);
        }
        if is(&["link"]) {
            let rel = tag.attribute("rel").unwrap_or_default();
            let has = |tokens: &[&str]| tokens.iter().any(|token| has_token(&rel, token));
            self.has_icon |= has(&["icon"]);
            let r#as = tag.attribute("as").unwrap_or_default();
            let r#as = r#as.trim();
            if has(&["stylesheet"]) || has(&["preload"]) && r#as.eq_ignore_ascii_case("style") {
                self.add(&tag.attribute("href").unwrap_or_default(), Style);
            } else if has(&LINKED) {
                self.add(&tag.attribute("href").unwrap_or_default(), File);
            }
            if has(&["preload"])
                && let Some(srcset) = tag.attribute("imagesrcset")
            {
                self.add_srcset(&srcset);
            }
        }
        if is(&["img", "source"])
            && let Some(srcset) = tag.attribute("srcset")
        {
            self.add_srcset(&srcset);
        }
    }

    /// Makes the references absolute. The document itself is none of its requisites.
    fn resolved(
        self,
        (url, base): (&Url, &Base),
        most: usize,
        identity: &Identity,
        options: &PageOptions,
    ) -> Requisites {
        let mut requisites = Requisites {
            more: self.more,
            ..Requisites::default()
        };
        let mut places: HashMap<UrlId, usize> = HashMap::new();
        let own = identity.as_written(url);
        for (reference, kind) in self.references {
            let Some(target) = base.join_within(&reference, options.max_url_bytes) else {
                continue;
            };
            let id = identity.as_written(&target);
            if id == own {
                continue;
            }
            if let Some(known) = places.get(&id).and_then(|at| requisites.list.get_mut(*at)) {
                known.kind = kind.max(known.kind);
            } else if requisites.list.len() < most {
                places.insert(id, requisites.list.len());
                let url = target.into();
                requisites.list.push(Requisite { url, id, kind });
            } else {
                requisites.more += 1;
            }
        }
        requisites
    }
}

/// What `<link rel>` says of files that are fetched with the page.
const LINKED: [&str; 9] = [
    "icon",
    "apple-touch-icon",
    "apple-touch-icon-precomposed",
    "apple-touch-startup-image",
    "mask-icon",
    "fluid-icon",
    "manifest",
    "preload",
    "modulepreload",
];
