//! What is never read of a page and therefore never becomes part of the tree: most attributes,
//! scripts that are not data, style sheets, and the shapes of drawings.
//!
//! Leaving something out must not change the rest of the tree. If that is not certain, it is kept.

use std::sync::LazyLock;

use html5ever::{Attribute, LocalName, local_name};

use super::lexer;

/// Names that html5ever does not know: looking them up takes a lock each time.
static DATA_SRC: LazyLock<LocalName> = LazyLock::new(|| "data-src".into());
static DATA_ORIGINAL: LazyLock<LocalName> = LazyLock::new(|| "data-original".into());
static DATA_LAZY_SRC: LazyLock<LocalName> = LazyLock::new(|| "data-lazy-src".into());

/// The interned name of an attribute that is read: by `links.rs`, `metadata.rs`, `traits.rs`,
/// `features.rs`, `outline.rs`, `markdown.rs`, `refusal.rs`, `parts/media.rs`, or by the tree
/// builder (`type` of `<input>`, `encoding` of `<annotation-xml>`; in `<font>` it reads more, see
/// [`keeps_all_attributes`]).
pub(super) fn read_attribute(name: &str) -> Option<LocalName> {
    const LONGEST: usize = "data-original".len();
    if name.len() > LONGEST {
        return None;
    }
    if !name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return of_lower(name.as_bytes());
    }
    of_lower(name.to_ascii_lowercase().as_bytes())
}

fn of_lower(name: &[u8]) -> Option<LocalName> {
    Some(match name {
        b"id" => local_name!("id"),
        b"rel" => local_name!("rel"),
        b"alt" => local_name!("alt"),
        b"src" => local_name!("src"),
        b"data" => local_name!("data"),
        b"href" => local_name!("href"),
        b"lang" => local_name!("lang"),
        b"name" => local_name!("name"),
        b"open" => local_name!("open"),
        b"role" => local_name!("role"),
        b"type" => local_name!("type"),
        b"class" => local_name!("class"),
        b"style" => local_name!("style"),
        b"value" => local_name!("value"),
        b"srcset" => local_name!("srcset"),
        b"alttext" => local_name!("alttext"),
        b"action" => local_name!("action"),
        b"checked" => local_name!("checked"),
        b"hidden" => local_name!("hidden"),
        b"content" => local_name!("content"),
        // The true address of an image that scripts load later.
        b"data-src" => DATA_SRC.clone(),
        b"selected" => local_name!("selected"),
        b"encoding" => local_name!("encoding"),
        b"hreflang" => local_name!("hreflang"),
        b"itemprop" => local_name!("itemprop"),
        b"property" => local_name!("property"),
        b"xml:lang" => local_name!("xml:lang"),
        b"http-equiv" => local_name!("http-equiv"),
        b"aria-hidden" => local_name!("aria-hidden"),
        b"data-original" => DATA_ORIGINAL.clone(),
        b"data-lazy-src" => DATA_LAZY_SRC.clone(),
        _ => return None,
    })
}

/// Whether a tag keeps all its attributes. The tree builder compares those of formatting elements
/// (HTML standard, section 13.2.4.3, "Noah's Ark clause") and looks for three in `<font>`. There is
/// never more than one `<a>` to compare.
pub(super) fn keeps_all_attributes(tag: &LocalName) -> bool {
    matches!(
        *tag,
        local_name!("b")
            | local_name!("big")
            | local_name!("code")
            | local_name!("em")
            | local_name!("font")
            | local_name!("i")
            | local_name!("nobr")
            | local_name!("s")
            | local_name!("small")
            | local_name!("strike")
            | local_name!("strong")
            | local_name!("tt")
            | local_name!("u")
    )
}

/// What a script is to a reader of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    /// Data about the page (JSON-LD).
    Data,
    /// The state of an application: what its page is made of.
    State,
    /// A formula in TeX, which a program will draw (`MathJax`).
    Formula,
    /// A program, which is not read.
    Program,
}

/// What a script with these attributes is.
pub(super) fn script_of(attributes: &[Attribute], content: &str) -> Script {
    let mut types = attributes
        .iter()
        .filter(|attribute| attribute.name.local == local_name!("type"));
    script(types.next().map(|attribute| &*attribute.value), content)
}

/// What a script of this type is.
pub(super) fn script(media_type: Option<&str>, content: &str) -> Script {
    let media_type = media_type.unwrap_or_default().trim();
    let is = |name: &str| media_type.eq_ignore_ascii_case(name);
    if is("application/ld+json") {
        Script::Data
    } else if is("application/json") || (is_program(media_type) && begins_with_state(content)) {
        Script::State
    } else if media_type
        .split(';')
        .next()
        .is_some_and(|it| it.eq_ignore_ascii_case("math/tex"))
    {
        Script::Formula
    } else {
        Script::Program
    }
}

fn is_program(media_type: &str) -> bool {
    ["", "module", "text/javascript", "application/javascript"]
        .iter()
        .any(|it| media_type.eq_ignore_ascii_case(it))
}

/// Whether a program begins with the assignment of an object to a name that applications use for
/// their state, such as `window.__INITIAL_STATE__ = {`, or passes on a piece of it.
fn begins_with_state(script: &str) -> bool {
    const LONGEST: usize = 100;
    const PIECES: [&str; 2] = [
        "self.__next_f.push(",
        "(self.__next_f=self.__next_f||[]).push(",
    ];
    let script = script.trim_start();
    if PIECES.iter().any(|piece| script.starts_with(piece)) {
        return true;
    }
    let declared = ["var ", "let ", "const "]
        .iter()
        .find_map(|word| script.strip_prefix(word));
    let script = declared.unwrap_or(script);
    let is_name = |byte: &u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'$' | b'.' | b'[' | b']' | b'"' | b'\'')
    };
    let bytes = script.as_bytes();
    let length = bytes
        .iter()
        .take(LONGEST)
        .take_while(|it| is_name(it))
        .count();
    let (name, rest) = script.split_at(length);
    let Some(value) = rest.trim_start().strip_prefix('=') else {
        return false;
    };
    let value = value.trim_start();
    let is_value = ["{", "[", "JSON.parse(", "(function"]
        .iter()
        .any(|begin| value.starts_with(begin));
    is_value && is_state_name(name)
}

/// Whether this is a name that applications use for their state. What measures visitors has names
/// of that kind too.
fn is_state_name(name: &str) -> bool {
    const STATES: [&str; 14] = [
        "state",
        "data",
        "props",
        "initial",
        "preload",
        "page",
        "store",
        "content",
        "context",
        "bootstrap",
        "hydrat",
        "apollo",
        "product",
        "article",
    ];
    const MEASURES: [&str; 8] = [
        "datalayer",
        "utag",
        "digitaldata",
        "analytics",
        "tracking",
        "cf$",
        "nreum",
        "gtm",
    ];
    let name = name.trim_end_matches(['"', '\'', ']']).to_ascii_lowercase();
    let last = name
        .rsplit(['.', '[', '"', '\''])
        .next()
        .unwrap_or_default();
    let has = |words: &[&str]| words.iter().any(|word| last.contains(word));
    (last.starts_with("__") || has(&STATES)) && !has(&MEASURES)
}

/// The contents of an `<svg>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Drawing {
    /// The position of its `</svg>`.
    pub(super) end: usize,
    /// Whether it contains text, which forbids a later `<frameset>` as all text does.
    pub(super) has_text: bool,
}

/// Maximum depth of a drawing that is left out, far below [`crate::page::PageOptions::max_depth`].
const MAX_LEVELS: usize = 24;

/// Reads the drawing whose start tag ends before `at`, if it contains only known shapes that are
/// properly nested, so that the tree builder is in the same state before and after it.
pub(super) fn drawing(text: &str, mut at: usize, max_tag_bytes: usize) -> Option<Drawing> {
    let mut open = [""; MAX_LEVELS];
    let mut levels = 0_usize;
    let mut has_text = false;
    loop {
        let length = memchr::memchr(b'<', text.as_bytes().get(at..)?)?;
        let characters = &text[at..at + length];
        // References and NULs may turn out to be white space or nothing.
        if memchr::memchr2(b'&', 0, characters.as_bytes()).is_some() {
            return None;
        }
        has_text |= !characters.bytes().all(|byte| byte.is_ascii_whitespace());
        at += length;
        let limit = text.len().min(at.saturating_add(max_tag_bytes));
        let begin = at + 1;
        match *text.as_bytes().get(begin)? {
            b'!' => at = lexer::comment(text, at, limit)?,
            b'/' => {
                let end = lexer::tag_name(text, begin + 1, limit)?;
                let name = text.get(begin + 1..end)?;
                let expected = levels.checked_sub(1).map_or("svg", |level| open[level]);
                if !name.eq_ignore_ascii_case(expected) {
                    return None;
                }
                let Some(level) = levels.checked_sub(1) else {
                    return Some(Drawing { end: at, has_text });
                };
                levels = level;
                at = lexer::attributes(text, end, limit, |_, _| Some(()))?.at;
            }
            byte if byte.is_ascii_alphabetic() => {
                let end = lexer::tag_name(text, begin, limit)?;
                let name = text.get(begin..end)?;
                // The contents of these elements are HTML again.
                let around = levels.checked_sub(1).map_or("", |level| open[level]);
                let is_html = ["title", "desc"]
                    .iter()
                    .any(|it| around.eq_ignore_ascii_case(it));
                if is_html || !is_shape(name) {
                    return None;
                }
                let end = lexer::attributes(text, end, limit, |_, _| Some(()))?;
                if !end.self_closing {
                    *open.get_mut(levels)? = name;
                    levels += 1;
                }
                at = end.at;
            }
            _ => return None,
        }
    }
}

/// The contents of a `<template>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Template {
    /// The position of its `</template>`.
    pub(super) end: usize,
    /// Number of start tags in it.
    pub(super) start_tags: usize,
}

/// Reads the contents of the template whose start tag ends before `at`, if all of its raw text and
/// its end are where they seem to be: nothing in a template has effects beyond its end. The page
/// has no NULs.
pub(super) fn template(text: &str, mut at: usize, max_tag_bytes: usize) -> Option<Template> {
    const RAW_TEXT: [&str; 7] = [
        "style", "title", "textarea", "iframe", "noframes", "noembed", "xmp",
    ];
    // In these, or where these are, a tag may mean something else. Where the last six are not
    // closed, formatting elements would be opened anew behind the template.
    const ODD: [&str; 15] = [
        "math",
        "plaintext",
        "frameset",
        "frame",
        "col",
        "colgroup",
        "html",
        "body",
        "head",
        "applet",
        "marquee",
        "object",
        "caption",
        "td",
        "th",
    ];
    let (mut levels, mut start_tags) = (0_usize, 0);
    loop {
        at += memchr::memchr(b'<', text.as_bytes().get(at..)?)?;
        let limit = text.len().min(at.saturating_add(max_tag_bytes));
        let rest = text.as_bytes().get(at..limit)?;
        match *rest.get(1)? {
            b'!' if rest.starts_with(b"<!--") => at = lexer::comment(text, at, limit)?,
            b'/' if rest.get(2)?.is_ascii_alphabetic() => {
                let end = lexer::tag_name(text, at + 2, limit)?;
                if text.get(at + 2..end)?.eq_ignore_ascii_case("template") {
                    match levels.checked_sub(1) {
                        Some(level) => levels = level,
                        None => {
                            let end = at;
                            return Some(Template { end, start_tags });
                        }
                    }
                }
                at = lexer::attributes(text, end, limit, |_, _| Some(()))?.at;
            }
            b'!' | b'?' | b'/' => at += memchr::memchr(b'>', rest)?,
            byte if byte.is_ascii_alphabetic() => {
                let end = lexer::tag_name(text, at + 1, limit)?;
                let name = text.get(at + 1..end)?;
                let end = lexer::attributes(text, end, limit, |_, _| Some(()))?;
                start_tags += 1;
                at = end.at;
                let is = |it: &&&str| name.eq_ignore_ascii_case(it);
                if ODD.iter().any(|it| is(&it)) {
                    return None;
                } else if is(&&"template") {
                    levels += 1;
                } else if is(&&"svg") {
                    if !end.self_closing {
                        at = drawing(text, at, max_tag_bytes)?.end;
                    }
                } else if is(&&"script") {
                    let end = lexer::raw_text_end(text, at, "script")?;
                    if lexer::escapes_its_end(text.get(at..end)?) {
                        return None;
                    }
                    at = end;
                } else if let Some(raw) = RAW_TEXT.iter().find(is) {
                    at = lexer::raw_text_end(text, at, raw)?;
                }
            }
            _ => at += 1,
        }
    }
}

/// Elements of SVG that stay within the drawing in any context. Others may be names of HTML
/// elements, which end it, or may contain scripts or HTML.
fn is_shape(name: &str) -> bool {
    const SHAPES: [&str; 43] = [
        "path",
        "g",
        "use",
        "rect",
        "circle",
        "polygon",
        "line",
        "polyline",
        "ellipse",
        "defs",
        "clippath",
        "stop",
        "lineargradient",
        "radialgradient",
        "mask",
        "symbol",
        "svg",
        "title",
        "desc",
        "text",
        "tspan",
        "style",
        "filter",
        "fegaussianblur",
        "feoffset",
        "feblend",
        "fecolormatrix",
        "feflood",
        "femerge",
        "femergenode",
        "animate",
        "animatetransform",
        "image",
        "pattern",
        "marker",
        "switch",
        "a",
        "fecomposite",
        "fecomponenttransfer",
        "fefuncr",
        "fefuncg",
        "fefuncb",
        "fefunca",
    ];
    SHAPES.iter().any(|shape| name.eq_ignore_ascii_case(shape))
}
