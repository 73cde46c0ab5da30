//! The tree as a flat list in document order: what metadata, links and both texts are read from.
//!
//! Walking a vector needs no recursion, a subtree is a range of it, and sums over subtrees are one
//! pass backwards. Scripts, styles, templates and drawings are left out here, once. Invariant: a
//! parent stands before its children, and `end` is the index after the last descendant.

use html5ever::{LocalName, local_name, ns};
use scraper::Html;
use scraper::node::{Element, Node};

/// A page's elements and texts in document order.
pub(super) struct Outline<'a> {
    pub(super) items: Vec<Item<'a>>,
}

/// One element or text.
pub(super) struct Item<'a> {
    /// Index of the parent element; the root's is its own.
    pub(super) parent: usize,
    /// Index after the last descendant.
    pub(super) end: usize,
    /// Whether a reader sees it.
    pub(super) sight: Sight,
    pub(super) content: Content<'a>,
}

/// Whether a reader sees an item, the most visible first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sight {
    /// Yes.
    Shown,
    /// Not as the page stands: `hidden`, `display: none`, `<noscript>`. Pages that scripts reveal
    /// have all their text here.
    Hidden,
    /// Never part of the text: the head, lists of options, fallback content of media.
    Never,
}

/// What an item is.
pub(super) enum Content<'a> {
    Element(&'a Element),
    Text(Text<'a>),
}

/// A text node.
pub(super) struct Text<'a> {
    pub(super) characters: &'a str,
    /// What separates it from the text before it in the document.
    pub(super) before: Break,
    /// Whether its white space is kept.
    pub(super) preformatted: bool,
}

/// What stands between two texts, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Break {
    /// Nothing: `un<b>divided</b>`.
    None,
    /// Table cells and the like.
    Space,
    /// A block's edge or `<br>`.
    Line,
}

impl<'a> Outline<'a> {
    /// The outline of `tree`.
    pub(super) fn of(tree: &'a Html) -> Self {
        let mut builder = Builder::default();
        let mut next = tree.tree.root().first_child();
        while let Some(node) = next {
            let entered = match node.value() {
                Node::Element(element) if !is_left_out(element) => {
                    builder.open(element);
                    true
                }
                Node::Text(text) => {
                    builder.text(text);
                    false
                }
                _ => false,
            };
            if entered {
                next = node.first_child();
                if next.is_some() {
                    continue;
                }
                builder.close(node.value());
            }
            // On to the next sibling, or to that of the nearest ancestor that has one.
            let mut at = node;
            next = loop {
                if let Some(sibling) = at.next_sibling() {
                    break Some(sibling);
                }
                let Some(parent) = at.parent().filter(|parent| parent.value().is_element()) else {
                    break None;
                };
                builder.close(parent.value());
                at = parent;
            };
        }
        Self {
            items: builder.items,
        }
    }

    /// All elements with their indices.
    pub(super) fn elements(&self) -> impl Iterator<Item = (usize, &'a Element)> + '_ {
        self.items
            .iter()
            .enumerate()
            .filter_map(|(index, item)| match item.content {
                Content::Element(element) => Some((index, element)),
                Content::Text(_) => None,
            })
    }

    /// The white space collapsed text within the element at `index`, cut to about `max_bytes`.
    pub(super) fn inner_text(&self, index: usize, max_bytes: usize) -> String {
        let end = self.items.get(index).map_or(index, |item| item.end);
        let mut inner = String::new();
        for item in self.items.get(index..end).unwrap_or_default() {
            if let Content::Text(text) = &item.content {
                if text.before > Break::None {
                    inner.push(' ');
                }
                inner.push_str(text.characters);
                if inner.len() > 4 * max_bytes {
                    break;
                }
            }
        }
        super::collapse(&inner, max_bytes)
    }
}

/// The value of an attribute without namespace.
pub(super) fn attribute<'a>(element: &'a Element, name: &LocalName) -> Option<&'a str> {
    let found = element
        .attrs
        .iter()
        .find(|(key, _)| key.local == *name && key.ns == ns!());
    found.map(|(_, value)| &**value)
}

#[derive(Default)]
struct Builder<'a> {
    items: Vec<Item<'a>>,
    /// Indices of the open elements.
    open: Vec<usize>,
    /// How many of them keep white space.
    preformatted: usize,
    pending: Option<Break>,
}

impl<'a> Builder<'a> {
    fn push(&mut self, sight: Sight, content: Content<'a>) {
        let index = self.items.len();
        let parent = self.open.last().copied().unwrap_or(index);
        let inherited = self
            .items
            .get(parent)
            .map_or(Sight::Shown, |item| item.sight);
        self.items.push(Item {
            parent,
            end: index + 1,
            sight: sight.max(inherited),
            content,
        });
    }

    fn separate(&mut self, by: Break) {
        self.pending = self.pending.max(Some(by));
    }

    fn text(&mut self, text: &'a str) {
        let before = self.pending.take().unwrap_or(Break::None);
        let preformatted = self.preformatted > 0;
        self.push(
            Sight::Shown,
            Content::Text(Text {
                characters: text,
                before,
                preformatted,
            }),
        );
    }

    fn open(&mut self, element: &'a Element) {
        self.separate(break_around(element));
        self.preformatted += usize::from(element.name.local == local_name!("pre"));
        self.push(sight(element), Content::Element(element));
        self.open.push(self.items.len() - 1);
    }

    fn close(&mut self, node: &Node) {
        let Some(element) = node.as_element() else {
            return;
        };
        self.separate(break_around(element));
        self.preformatted -= usize::from(element.name.local == local_name!("pre"));
        let end = self.items.len();
        if let Some(item) = self.open.pop().and_then(|index| self.items.get_mut(index)) {
            item.end = end;
        }
    }
}

/// Elements nothing is read from: their content is no text and no link of this page.
fn is_left_out(element: &Element) -> bool {
    matches!(
        element.name.local,
        local_name!("script") | local_name!("style") | local_name!("template") | local_name!("svg")
    )
}

/// What an element's edges put between the texts on both sides.
fn break_around(element: &Element) -> Break {
    match element.name.local {
        local_name!("td")
        | local_name!("th")
        | local_name!("button")
        | local_name!("img")
        | local_name!("select")
        | local_name!("option")
        | local_name!("optgroup")
        | local_name!("textarea")
        | local_name!("iframe")
        | local_name!("object")
        | local_name!("audio")
        | local_name!("video")
        | local_name!("canvas") => Break::Space,
        ref name if is_block(name) => Break::Line,
        // Unknown elements are inline by the standard; custom ones mostly frame blocks, and may
        // stand between words.
        ref name if name.contains('-') => Break::Space,
        _ => Break::None,
    }
}

/// Whether `name` is laid out as a block (HTML standard, section 15.3.3), or breaks a line.
pub(super) fn is_block(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("address")
            | local_name!("article")
            | local_name!("aside")
            | local_name!("blockquote")
            | local_name!("body")
            | local_name!("br")
            | local_name!("caption")
            | local_name!("center")
            | local_name!("dd")
            | local_name!("details")
            | local_name!("dialog")
            | local_name!("dir")
            | local_name!("div")
            | local_name!("dl")
            | local_name!("dt")
            | local_name!("fieldset")
            | local_name!("figcaption")
            | local_name!("figure")
            | local_name!("footer")
            | local_name!("form")
            | local_name!("frameset")
            | local_name!("h1")
            | local_name!("h2")
            | local_name!("h3")
            | local_name!("h4")
            | local_name!("h5")
            | local_name!("h6")
            | local_name!("head")
            | local_name!("header")
            | local_name!("hgroup")
            | local_name!("hr")
            | local_name!("html")
            | local_name!("legend")
            | local_name!("li")
            | local_name!("listing")
            | local_name!("main")
            | local_name!("menu")
            | local_name!("nav")
            | local_name!("ol")
            | local_name!("p")
            | local_name!("plaintext")
            | local_name!("pre")
            | local_name!("search")
            | local_name!("section")
            | local_name!("summary")
            | local_name!("table")
            | local_name!("tbody")
            | local_name!("tfoot")
            | local_name!("thead")
            | local_name!("title")
            | local_name!("tr")
            | local_name!("ul")
            | local_name!("xmp")
    )
}

/// What an element itself says about being seen.
fn sight(element: &Element) -> Sight {
    match element.name.local {
        local_name!("head")
        | local_name!("title")
        | local_name!("select")
        | local_name!("datalist")
        | local_name!("textarea")
        | local_name!("iframe")
        | local_name!("audio")
        | local_name!("video")
        | local_name!("canvas")
        | local_name!("rp") => return Sight::Never,
        local_name!("noscript") | local_name!("noframes") | local_name!("noembed") => {
            return Sight::Hidden;
        }
        // Pages hide the whole of themselves until a script or a style sheet has come.
        local_name!("html") | local_name!("body") => return Sight::Shown,
        local_name!("dialog") if attribute(element, &local_name!("open")).is_none() => {
            return Sight::Hidden;
        }
        _ => {}
    }
    let hidden = element.attrs.iter().any(|(name, value)| match name.local {
        local_name!("hidden") => true,
        local_name!("aria-hidden") => value.trim().eq_ignore_ascii_case("true"),
        local_name!("style") => hides(value),
        _ => false,
    });
    if hidden { Sight::Hidden } else { Sight::Shown }
}

/// Whether an inline style takes the element out of sight.
fn hides(style: &str) -> bool {
    style.split(';').any(|declaration| {
        let Some((property, value)) = declaration.split_once(':') else {
            return false;
        };
        let (property, value) = (property.trim(), value.trim());
        let value = value.split(['!', ' ']).next().unwrap_or_default();
        (property.eq_ignore_ascii_case("display") && value.eq_ignore_ascii_case("none"))
            || (property.eq_ignore_ascii_case("visibility") && value.eq_ignore_ascii_case("hidden"))
    })
}
