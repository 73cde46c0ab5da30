//! Furniture: the parts of a page that belong to the site and not to what the page is about.

use html5ever::local_name;
use scraper::node::Element;

use super::content::Sums;
use super::outline::{Content, Outline, attribute};

/// How much is taken for furniture, the most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strictness {
    /// By element, role and class words, comments included.
    Comments,
    /// The same, but comments are what the page is about: forums, discussions.
    Words,
    /// By element and role only: the site uses the words in another sense.
    Elements,
}

/// Percent of a page's prose up to which an element can be furniture: `class="has-sidebar"` on the
/// frame around everything, or a `<header>` around a whole article, says nothing.
const MAX_SHARE: usize = 40;

/// Marks every item within furniture. `sums` are those of the whole page.
pub(super) fn mark(outline: &Outline<'_>, sums: &Sums, strictness: Strictness) -> Vec<bool> {
    let total = sums.prose.first().copied().unwrap_or(0);
    let mut marked = Vec::with_capacity(outline.items.len());
    for (index, item) in outline.items.iter().enumerate() {
        let inherited = marked.get(item.parent).copied().unwrap_or(false);
        let own = match &item.content {
            Content::Element(element) if !inherited => {
                let (prose, chars) = (sums.prose[index], sums.chars[index]);
                let small = prose * 100 <= total * MAX_SHARE;
                is_furniture(element, small, prose * 2 > chars, strictness)
            }
            _ => false,
        };
        marked.push(inherited || own);
    }
    marked
}

/// Whether one element is furniture; `small` says that it holds little of the page's prose, and
/// `prosaic` that it holds mostly prose.
fn is_furniture(element: &Element, small: bool, prosaic: bool, strictness: Strictness) -> bool {
    match element.name.local {
        local_name!("html")
        | local_name!("body")
        | local_name!("main")
        | local_name!("article") => {
            return false;
        }
        local_name!("nav")
        | local_name!("footer")
        | local_name!("header")
        | local_name!("aside")
        | local_name!("dialog")
        | local_name!("menu")
        | local_name!("button") => return small,
        // Some forums put every post into a form.
        local_name!("form") => return small && !prosaic,
        _ => {}
    }
    let role = attribute(element, &local_name!("role"));
    if small && role.is_some_and(|role| ROLES.iter().any(|name| role.eq_ignore_ascii_case(name))) {
        return true;
    }
    strictness < Strictness::Elements
        && [local_name!("class"), local_name!("id")]
            .iter()
            .filter_map(|name| attribute(element, name))
            .any(|value| names_furniture(value, small, strictness))
}

/// Roles (WAI-ARIA 1.2, section 5.3.4 and widgets) of what is not content.
const ROLES: [&str; 10] = [
    "navigation",
    "banner",
    "contentinfo",
    "complementary",
    "search",
    "dialog",
    "alertdialog",
    "menu",
    "menubar",
    "toolbar",
];

/// Whether a class or id has a furniture word.
fn names_furniture(value: &str, small: bool, strictness: Strictness) -> bool {
    words(value).any(|word| {
        let mut lower = [0_u8; 16];
        let Some(slot) = lower.get_mut(..word.len()) else {
            return false;
        };
        slot.copy_from_slice(word.as_bytes());
        slot.make_ascii_lowercase();
        std::str::from_utf8(slot).is_ok_and(|word| {
            let is_in = |list: &[&str]| list.binary_search(&word).is_ok();
            is_in(CONSENT)
                || (small && is_in(FURNITURE))
                || (small && strictness == Strictness::Comments && is_in(COMMENTS))
        })
    })
}

/// The words of a class or id: split at punctuation, digits and camel case.
fn words(value: &str) -> impl Iterator<Item = &str> {
    value
        .split(|c: char| !c.is_ascii_alphabetic())
        .flat_map(|part| {
            let mut rest = part;
            std::iter::from_fn(move || {
                if rest.is_empty() {
                    return None;
                }
                let bytes = rest.as_bytes();
                let end = (1..bytes.len())
                    .find(|&at| {
                        bytes[at].is_ascii_uppercase() && bytes[at - 1].is_ascii_lowercase()
                    })
                    .unwrap_or(rest.len());
                let (word, after) = rest.split_at(end);
                rest = after;
                Some(word)
            })
        })
}

/// Words of classes and ids that name consent dialogs, which may be longer than the page. Sorted.
const CONSENT: &[&str] = &["consent", "cookie", "cookies", "gdpr"];

/// Words that name readers' comments. Sorted.
const COMMENTS: &[&str] = &["comment", "commentlist", "comments", "disqus", "respond"];

/// Words that name other furniture. Sorted.
#[rustfmt::skip]
const FURNITURE: &[&str] = &[
    "ad", "ads", "adsense", "advert", "advertisement", "advertising", "advertorial", "aside",
    "author", "banner", "bio", "breadcrumb", "breadcrumbs", "byline", "copyright", "disclaimer",
    "dropdown", "footer", "legal", "login", "megamenu", "menu", "meta", "metadata", "modal",
    "nav", "navbar", "navigation", "newsletter", "outbrain", "pager", "paginate", "pagination",
    "paywall", "popular", "popup", "postmeta", "print", "promo", "promotion", "rating", "recirc",
    "recommendations", "recommended", "related", "rss", "search", "share", "sharebar",
    "sharedaddy", "shares", "sharing", "sidebar", "signup", "social", "sponsor", "sponsored",
    "subscribe", "subscription", "taboola", "tags", "toolbar", "trending", "widget", "widgets",
];
