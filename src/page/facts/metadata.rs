//! What a page says about itself: title, language, canonical URL, authors and dates.

use html5ever::local_name;
use serde::Serialize;

use super::base::Base;
use crate::page::cut::{collapse, floor_char_boundary};
use crate::page::html::{Element, Outline, Tag, attribute, has_token};

/// Maximum length of a declared language in bytes; BCP 47 (section 4.4.1) requires 35.
const MAX_LANGUAGE_BYTES: usize = 35;

/// What else a page says about itself, as it is written: dates are not parsed and names are not
/// checked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Metadata {
    /// The first `<h1>`.
    pub h1: Option<String>,
    /// A sentence or two on what the page is about.
    pub description: Option<String>,
    /// The author.
    pub author: Option<String>,
    /// The date of publication.
    pub published: Option<String>,
    /// The date of the last change.
    pub modified: Option<String>,
    /// The name of the site.
    pub site_name: Option<String>,
    /// The kind of page in terms of `OpenGraph` (`og:type`): `article`, `website`, ...
    pub kind: Option<String>,
    /// The same page in other languages: language and absolute URL.
    pub alternates: Vec<(String, String)>,
}

/// Maximum length of each value of [`Metadata`] in bytes; it is cut there.
const MAX_VALUE_BYTES: usize = 1024;

/// Maximum number of alternates. Sites are made in fewer languages than this.
const MAX_ALTERNATES: usize = 256;

/// Reads all of [`Metadata`], from meta tags first and then from JSON-LD.
pub(crate) fn metadata(outline: &Outline<'_>, base: &Base, max_url_bytes: usize) -> Metadata {
    let tags = tags(outline);
    let said = |names: &[&str]| {
        let find = |name: &&str| tags.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        names
            .iter()
            .find_map(find)
            .map(|(_, content)| collapse(content, MAX_VALUE_BYTES))
    };
    let data = |key: &str| data_string(outline, key).map(|text| collapse(&text, MAX_VALUE_BYTES));
    let h1 = outline.declared(Tag::H1).next();
    let h1 = h1.map(|(index, _)| outline.inner_text(index, MAX_VALUE_BYTES));
    Metadata {
        h1: h1.filter(|text| !text.is_empty()),
        description: said(&["description", "og:description", "twitter:description"])
            .or_else(|| data("description")),
        author: said(&["author", "dc.creator", "article:author"]).or_else(|| data_author(outline)),
        published: said(&["article:published_time", "datePublished", "dc.date", "date"])
            .or_else(|| data("datePublished")),
        modified: said(&["article:modified_time", "og:updated_time", "dateModified"])
            .or_else(|| data("dateModified")),
        site_name: said(&["og:site_name", "application-name"]),
        kind: said(&["og:type"]),
        alternates: alternates(outline, base, max_url_bytes),
    }
}

/// The non-empty meta tags: property, name or item property, and content.
fn tags<'a>(outline: &Outline<'a>) -> Vec<(&'a str, &'a str)> {
    let keys = [
        local_name!("property"),
        local_name!("name"),
        local_name!("itemprop"),
    ];
    outline
        .metas()
        .filter_map(|element| {
            let key = keys.iter().find_map(|key| attribute(element, key))?;
            let content = attribute(element, &local_name!("content"))?.trim();
            (!content.is_empty()).then_some((key.trim(), content))
        })
        .collect()
}

fn alternates(outline: &Outline<'_>, base: &Base, max_bytes: usize) -> Vec<(String, String)> {
    let links = outline.declared(Tag::Link);
    links
        .filter_map(|(_, element)| {
            let language = attribute(element, &local_name!("hreflang"))?;
            let rel = attribute(element, &local_name!("rel"))
                .filter(|rel| has_token(rel, "alternate"))?;
            let href = attribute(element, &local_name!("href"))?;
            let is_tag = language.len() <= MAX_LANGUAGE_BYTES && !rel.is_empty();
            let target = base.join_within(href, max_bytes).filter(|_| is_tag)?;
            Some((language.trim().to_ascii_lowercase(), target.into()))
        })
        .take(MAX_ALTERNATES)
        .collect()
}

/// The next and previous pages of the series, each by the first link that declares it.
pub(crate) fn neighbours(outline: &Outline<'_>, base: &Base, max_bytes: usize) -> Vec<String> {
    let pointers = outline.pointers.iter();
    let elements: Vec<Element<'_>> = pointers
        .filter_map(|&index| outline.elements.get(index))
        .filter(|item| matches!(item.tag, Tag::A | Tag::Link))
        .map(|item| item.element)
        .collect();
    let named = |tokens: [&str; 2]| {
        elements.iter().find_map(|&element| {
            let rel = attribute(element, &local_name!("rel"))?;
            let href = attribute(element, &local_name!("href"))?;
            let is_meant = tokens.iter().any(|token| has_token(rel, token));
            let target = is_meant.then(|| base.join_within(href, max_bytes))??;
            Some(target.into())
        })
    };
    [named(["next", "next"]), named(["prev", "previous"])]
        .into_iter()
        .flatten()
        .collect()
}

/// The text of the page as declared in its data: the article in JSON-LD, or the longest
/// description.
pub(crate) fn body_as_data(outline: &Outline<'_>) -> Option<String> {
    let tags = tags(outline);
    let is_description = |key: &str| {
        ["description", "og:description", "twitter:description"]
            .iter()
            .any(|name| key.eq_ignore_ascii_case(name))
    };
    let descriptions = tags.iter().filter(|(key, _)| is_description(key));
    let longest = descriptions
        .map(|(_, content)| *content)
        .max_by_key(|content| content.len());
    data_string(outline, "articleBody").or_else(|| longest.map(str::to_owned))
}

/// The headline as declared in data: of `OpenGraph`, and of the article in JSON-LD.
pub(crate) fn headline_as_data(outline: &Outline<'_>) -> Vec<String> {
    let shared = meta_content(outline, "og:title").map(str::to_owned);
    let declared = data_string(outline, "headline");
    shared.into_iter().chain(declared).collect()
}

/// The first non-empty string under `key` anywhere in the page's JSON-LD. It is searched for rather
/// than parsed, because much of the JSON-LD on the web is broken somewhere.
fn data_string(outline: &Outline<'_>, key: &str) -> Option<String> {
    outline.data.iter().find_map(|data| string_after(data, key))
}

fn string_after(data: &str, key: &str) -> Option<String> {
    let quoted = format!("\"{key}\"");
    data.match_indices(&quoted).find_map(|(at, _)| {
        let value = data
            .get(at + quoted.len()..)?
            .trim_start()
            .strip_prefix(':')?
            .trim_start();
        if !value.starts_with('"') {
            return None;
        }
        let mut values = serde_json::Deserializer::from_str(value).into_iter::<String>();
        values.next()?.ok().filter(|value| !value.trim().is_empty())
    })
}

/// Number of bytes after `"author"` in which the author's name is searched for.
const AUTHOR_BYTES: usize = 400;

/// The author according to JSON-LD: a string, or an object with a name.
fn data_author(outline: &Outline<'_>) -> Option<String> {
    let author = outline.data.iter().find_map(|data| {
        string_after(data, "author").or_else(|| {
            let at = data.find("\"author\"")?;
            let end = floor_char_boundary(data, at + AUTHOR_BYTES);
            string_after(data.get(at..end)?, "name")
        })
    });
    author.map(|name| collapse(&name, MAX_VALUE_BYTES))
}

/// `<title>`, else `og:title`, else the first `<h1>`.
pub(crate) fn title(outline: &Outline<'_>, max_bytes: usize) -> Option<String> {
    let first = |tag| {
        let text = outline
            .declared(tag)
            .next()
            .map(|(index, _)| outline.inner_text(index, max_bytes));
        text.filter(|text| !text.is_empty())
    };
    first(Tag::Title)
        .or_else(|| meta_content(outline, "og:title").map(|title| collapse(title, max_bytes)))
        .or_else(|| first(Tag::H1))
}

/// The language of `<html lang>`, else of the meta tag `content-language`.
pub(crate) fn language(outline: &Outline<'_>) -> Option<String> {
    let root = outline.declared(Tag::Html).next();
    let declared = root.and_then(|(_, element)| {
        attribute(element, &local_name!("lang"))
            .and_then(normalize_language)
            .or_else(|| attribute(element, &local_name!("xml:lang")).and_then(normalize_language))
    });
    declared.or_else(|| meta_content(outline, "content-language").and_then(normalize_language))
}

/// The language tag in lower case; `None` if it is malformed.
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
pub(crate) fn canonical(outline: &Outline<'_>, base: &Base, max_bytes: usize) -> Option<String> {
    outline.declared(Tag::Link).find_map(|(_, element)| {
        let is_canonical =
            attribute(element, &local_name!("rel")).is_some_and(|rel| has_token(rel, "canonical"));
        let href = attribute(element, &local_name!("href")).filter(|_| is_canonical)?;
        let href = Some(href.trim()).filter(|href| !href.is_empty())?;
        base.join_within(href, max_bytes).map(String::from)
    })
}

/// The non-empty content of the first meta tag with this name, property or pragma.
fn meta_content<'a>(outline: &Outline<'a>, name: &str) -> Option<&'a str> {
    outline.metas().find_map(|element| {
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
