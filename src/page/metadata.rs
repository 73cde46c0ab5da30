//! What a page says about itself: title, language, canonical URL, wishes to robots.

use html5ever::local_name;
use scraper::node::Element;
use serde::{Deserialize, Serialize};

use super::collapse;
use super::outline::{Outline, attribute};
use crate::url::{self, Url};

/// Bytes of a declared language that are read; BCP 47 (section 4.4.1) asks for 35.
const MAX_LANGUAGE_BYTES: usize = 35;

/// The name under which a page may speak to this crawler alone.
const PRODUCT_TOKEN: &str = "gleaner";

/// What a page asks of robots, by meta tags or by the `X-Robots-Tag` header.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RobotsMeta {
    /// Do not keep the page in an index.
    pub noindex: bool,
    /// Do not follow its links.
    pub nofollow: bool,
    /// Do not keep a copy.
    pub noarchive: bool,
}

impl RobotsMeta {
    /// Reads the values of all `X-Robots-Tag` headers. A directive may be addressed to one crawler
    /// (`otherbot: noindex, nofollow`); those for others than `product_token` are passed over.
    pub fn from_header_values<'a>(
        values: impl IntoIterator<Item = &'a str>,
        product_token: &str,
    ) -> Self {
        let mut robots = Self::default();
        for value in values {
            let mut addressed = true;
            for part in value.split(',') {
                let mut directive = part.trim();
                if let Some((name, rest)) = directive.split_once(':')
                    && !has_value(name.trim())
                {
                    addressed = name.trim().eq_ignore_ascii_case(product_token);
                    directive = rest.trim();
                }
                if addressed {
                    robots.add(directive);
                }
            }
        }
        robots
    }

    /// Both wishes together: the stricter one of each.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            noindex: self.noindex || other.noindex,
            nofollow: self.nofollow || other.nofollow,
            noarchive: self.noarchive || other.noarchive,
        }
    }

    fn add(&mut self, directive: &str) {
        let is = |name: &str| directive.eq_ignore_ascii_case(name);
        let none = is("none");
        self.noindex |= none || is("noindex");
        self.nofollow |= none || is("nofollow");
        self.noarchive |= is("noarchive") || is("nocache");
    }
}

/// Directives that have a value of their own after a colon, so that the word before the colon is
/// not a crawler's name.
fn has_value(name: &str) -> bool {
    [
        "unavailable_after",
        "max-snippet",
        "max-image-preview",
        "max-video-preview",
    ]
    .iter()
    .any(|known| name.eq_ignore_ascii_case(known))
}

/// What the meta tags named `robots`, or like this crawler, ask for.
pub(super) fn robots(outline: &Outline<'_>) -> RobotsMeta {
    let mut robots = RobotsMeta::default();
    for element in metas(outline) {
        let name = attribute(element, &local_name!("name"))
            .unwrap_or_default()
            .trim();
        if name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(PRODUCT_TOKEN) {
            let content = attribute(element, &local_name!("content")).unwrap_or_default();
            content
                .split([',', ';', ' '])
                .for_each(|directive| robots.add(directive.trim()));
        }
    }
    robots
}

/// `<title>`, else `og:title`, else the first `<h1>`.
pub(super) fn title(outline: &Outline<'_>, max_bytes: usize) -> Option<String> {
    let first = |name| {
        let mut named = outline
            .elements()
            .filter(|(_, element)| element.name.local == name);
        let text = named
            .next()
            .map(|(index, _)| outline.inner_text(index, max_bytes));
        text.filter(|text| !text.is_empty())
    };
    first(local_name!("title"))
        .or_else(|| meta_content(outline, "og:title").map(|title| collapse(title, max_bytes)))
        .or_else(|| first(local_name!("h1")))
}

/// The language of `<html lang>`, else of the meta tag `content-language`.
pub(super) fn language(outline: &Outline<'_>) -> Option<String> {
    let root = outline
        .elements()
        .find(|(_, element)| element.name.local == local_name!("html"));
    let declared = root.and_then(|(_, element)| {
        attribute(element, &local_name!("lang"))
            .and_then(normalize_language)
            .or_else(|| {
                let xml_lang = element.attrs().find(|(name, _)| *name == "xml:lang");
                xml_lang.and_then(|(_, value)| normalize_language(value))
            })
    });
    declared.or_else(|| meta_content(outline, "content-language").and_then(normalize_language))
}

/// A language tag, lower-cased, or nothing if it is none.
fn normalize_language(declared: &str) -> Option<String> {
    let first = declared.split([',', ';']).next().unwrap_or_default().trim();
    let tag = first.replace('_', "-").to_ascii_lowercase();
    let primary = tag.split('-').next().unwrap_or_default();
    let is_tag = tag.len() <= MAX_LANGUAGE_BYTES
        && (2..=8).contains(&primary.len())
        && primary.bytes().all(|b| b.is_ascii_alphabetic())
        && tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        && !tag.ends_with('-');
    is_tag.then_some(tag)
}

/// The first `<link rel=canonical>`, made absolute.
pub(super) fn canonical(outline: &Outline<'_>, base: &Url, max_bytes: usize) -> Option<String> {
    outline.elements().find_map(|(_, element)| {
        let is_canonical = element.name.local == local_name!("link")
            && attribute(element, &local_name!("rel"))
                .is_some_and(|rel| has_token(rel, "canonical"));
        let href = attribute(element, &local_name!("href")).filter(|_| is_canonical)?;
        let href = Some(href.trim()).filter(|href| !href.is_empty() && href.len() <= max_bytes)?;
        url::join(base, href).ok().map(String::from)
    })
}

/// Whether a list of words separated by white space has `token`, whatever its case.
pub(super) fn has_token(list: &str, token: &str) -> bool {
    list.split_ascii_whitespace()
        .any(|word| word.eq_ignore_ascii_case(token))
}

/// The non-empty content of the first meta tag of that name, property or pragma.
fn meta_content<'a>(outline: &Outline<'a>, name: &str) -> Option<&'a str> {
    metas(outline).find_map(|element| {
        let named = [
            local_name!("property"),
            local_name!("name"),
            local_name!("http-equiv"),
        ]
        .iter()
        .filter_map(|key| attribute(element, key))
        .any(|value| value.trim().eq_ignore_ascii_case(name));
        let content = attribute(element, &local_name!("content")).filter(|_| named)?;
        Some(content.trim()).filter(|content| !content.is_empty())
    })
}

fn metas<'a>(outline: &Outline<'a>) -> impl Iterator<Item = &'a Element> {
    outline
        .elements()
        .map(|(_, element)| element)
        .filter(|element| element.name.local == local_name!("meta"))
}
