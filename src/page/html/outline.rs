//! The tree as flat lists in document order, from which metadata, links and texts are read.
//!
//! There is only one walk over the tree (`nodes.rs`). It puts elements and texts into two vectors,
//! so that a subtree is a range of each, and sums over subtrees take one pass backwards. Scripts,
//! styles, templates and drawings are left out here; most of their contents are not in the tree to
//! begin with (`unread.rs`). Invariant: a parent precedes its children, and the ranges of an
//! element contain exactly its descendants.

use html5ever::{LocalName, local_name};

use super::nodes::{Element, Node, Tree};
use super::tag::{Break, Tag};
use super::traits::{self, Said, Traits};
use super::unread;
use crate::page::cut::collapse;

/// The elements and texts of a page in document order.
#[derive(Default)]
pub(crate) struct Outline<'a> {
    pub(crate) elements: Vec<OutlineElement<'a>>,
    pub(crate) texts: Vec<TextNode<'a>>,
    /// Indices of `html`, `base`, `title`, `meta`, `link` and `h1` elements.
    pub(crate) declarations: Vec<usize>,
    /// Indices of all elements that may point at another page.
    pub(crate) pointers: Vec<usize>,
    /// Texts of scripts that contain data (JSON-LD).
    pub(crate) data: Vec<&'a str>,
    /// Texts of scripts that contain the state of an application.
    pub(crate) states: Vec<&'a str>,
    /// Number of drawings (`<svg>`).
    pub(crate) drawings: usize,
    /// Programs: the address of each, if it has one, and whether it is a module.
    pub(crate) programs: Vec<(Option<&'a str>, bool)>,
}

/// One element.
pub(crate) struct OutlineElement<'a> {
    pub(crate) element: Element<'a>,
    pub(crate) tag: Tag,
    /// Whether a reader sees it.
    pub(crate) sight: Sight,
    /// Index of the parent; the root is its own parent.
    pub(crate) parent: usize,
    /// Index after the last descendant.
    pub(crate) end: usize,
    /// The range of indices of the texts below.
    pub(crate) texts: (usize, usize),
    /// What its class, id and role say about it.
    pub(crate) traits: Traits,
}

/// Whether a reader sees an element or text, the most visible first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sight {
    /// Visible.
    Shown,
    /// Not visible as the page stands: `hidden`, `display: none`, `<noscript>`. Pages that scripts
    /// reveal have all their text here.
    Hidden,
    /// Never part of the text: the head, option lists, fallback content of media.
    Never,
}

/// A text node.
pub(crate) struct TextNode<'a> {
    pub(crate) characters: &'a str,
    /// Index of the element that contains it.
    pub(crate) parent: usize,
    /// Whether a reader sees it.
    pub(crate) sight: Sight,
    /// What separates it from the previous text in the document.
    pub(crate) before: Break,
    /// Whether its white space is preserved.
    pub(crate) preformatted: bool,
}

impl<'a> Outline<'a> {
    /// Builds the outline of `tree`.
    pub(crate) fn of(tree: &'a Tree<'a>) -> Self {
        let nodes = tree.nodes();
        let mut builder = Builder::default();
        // Each element has two nodes, and most pages have about as many elements as texts.
        let room = nodes.len() / 3 + 1;
        builder.outline.elements.reserve(room);
        builder.outline.texts.reserve(room);
        let mut at = 0;
        while let Some(node) = nodes.get(at) {
            match *node {
                Node::Open { .. } => {
                    let element = tree.element(at);
                    let tag = element.tag();
                    let is_formula = tag == Tag::Other && *element.name() == local_name!("math");
                    if is_left_out(tag) || is_formula {
                        let inside = nodes[at + 1..].iter();
                        let inside = inside.take_while(|node| matches!(node, Node::Text(_)));
                        let texts: Vec<_> = inside
                            .filter_map(|node| match node {
                                Node::Text(text) => Some(tree.text(*text)),
                                _ => None,
                            })
                            .collect();
                        // Behind its texts it closes.
                        at += texts.len() + 1;
                        match tag {
                            Tag::Script => builder.script(element, texts.first().copied()),
                            Tag::Svg => builder.outline.drawings += 1,
                            _ if is_formula => builder.formula(element, texts),
                            _ => {}
                        }
                    } else {
                        builder.open(element, tag);
                    }
                }
                Node::Close => builder.close(),
                Node::Text(text) => builder.text(tree.text(text)),
            }
            at += 1;
        }
        builder.outline
    }

    /// The declarations with this name, in document order.
    pub(crate) fn declared(&self, tag: Tag) -> impl Iterator<Item = (usize, Element<'a>)> + '_ {
        self.declarations
            .iter()
            .filter_map(|&index| self.elements.get(index).map(|item| (index, item)))
            .filter(move |(_, item)| item.tag == tag)
            .map(|(index, item)| (index, item.element))
    }

    /// The `<meta>` elements, in document order.
    pub(crate) fn metas(&self) -> impl Iterator<Item = Element<'a>> + '_ {
        self.declared(Tag::Meta).map(|(_, element)| element)
    }

    /// The texts below the element at `index`.
    pub(crate) fn texts_of(&self, index: usize) -> &[TextNode<'a>] {
        let (start, end) = self.elements.get(index).map_or((0, 0), |item| item.texts);
        self.texts.get(start..end).unwrap_or_default()
    }

    /// The text within the element at `index`, with white space collapsed, cut to `max_bytes`.
    pub(crate) fn inner_text(&self, index: usize, max_bytes: usize) -> String {
        let mut inner = String::new();
        for text in self.texts_of(index) {
            if text.before > Break::None {
                inner.push(' ');
            }
            inner.push_str(text.characters);
            if inner.len() > 4 * max_bytes {
                break;
            }
        }
        collapse(&inner, max_bytes)
    }
}

/// The value of an attribute without namespace. It must be one that `unread.rs` keeps.
pub(crate) fn attribute<'a>(element: Element<'a>, name: &LocalName) -> Option<&'a str> {
    debug_assert!(unread::read_attribute(name).is_some(), "{name} is left out");
    element.attribute(name)
}

/// Whether a list of words separated by white space contains `token`, ignoring case.
pub(crate) fn has_token(list: &str, token: &str) -> bool {
    list.split_ascii_whitespace()
        .any(|word| word.eq_ignore_ascii_case(token))
}

#[derive(Default)]
struct Builder<'a> {
    outline: Outline<'a>,
    /// Indices of the open elements.
    open: Vec<usize>,
    /// Indices of the open elements that preserve white space.
    preformatted: Vec<usize>,
    pending: Option<Break>,
    said: Said<'a>,
}

impl<'a> Builder<'a> {
    fn separate(&mut self, by: Break) {
        self.pending = self.pending.max(Some(by));
    }

    fn text(&mut self, characters: &'a str) {
        let before = self.pending.take().unwrap_or(Break::None);
        let parent = self.open.last().copied().unwrap_or(0);
        let item = self.outline.elements.get(parent);
        let is_code = item.is_some_and(|item| item.tag == Tag::Code);
        self.outline.texts.push(TextNode {
            characters,
            parent,
            sight: item.map_or(Sight::Shown, |item| item.sight),
            before,
            // Code outside of `<pre>` is indented with spaces that do not collapse.
            preformatted: !self.preformatted.is_empty()
                || (is_code && characters.contains('\u{A0}')),
        });
    }

    /// Adds a formula as the texts of one element.
    fn formula(&mut self, element: Element<'a>, pieces: Vec<&'a str>) {
        self.open(element, Tag::Other);
        // Encyclopedias hide the formula for the picture of it that browsers show.
        let is_pictured = self.open.iter().nth_back(1).is_some_and(|&around| {
            let around = self.outline.elements.get(around).map(|item| item.element);
            let class = around.and_then(|element| attribute(element, &local_name!("class")));
            class.is_some_and(|class| class.contains("mwe-math-mathml"))
        });
        if is_pictured && let Some(item) = self.outline.elements.last_mut() {
            item.sight = Sight::Shown;
        }
        for piece in pieces {
            self.text(piece);
        }
        self.close();
    }

    fn open(&mut self, element: Element<'a>, tag: Tag) {
        if tag == Tag::Br && !self.preformatted.is_empty() {
            // A line of its own text, not the end of one block.
            self.text("\n");
        } else {
            self.separate(tag.edges());
        }
        let elements = &mut self.outline.elements;
        let index = elements.len();
        if keeps_white_space(element, tag) {
            self.preformatted.push(index);
        }
        let parent = self.open.last().copied().unwrap_or(index);
        let inherited = elements.get(parent).map_or(Sight::Shown, |item| item.sight);
        let traits = traits::of(element, tag, &mut self.said);
        let texts = self.outline.texts.len();
        elements.push(OutlineElement {
            element,
            tag,
            sight: sight(element, tag, traits).max(inherited),
            parent,
            end: index + 1,
            texts: (texts, texts),
            traits,
        });
        match tag {
            Tag::A | Tag::Area | Tag::Iframe | Tag::Frame => self.outline.pointers.push(index),
            Tag::Link | Tag::Meta => {
                self.outline.pointers.push(index);
                self.outline.declarations.push(index);
            }
            Tag::Html | Tag::Base | Tag::Title | Tag::H1 => self.outline.declarations.push(index),
            _ => {}
        }
        self.open.push(index);
    }

    fn close(&mut self) {
        let end = self.outline.elements.len();
        let texts = self.outline.texts.len();
        let Some(index) = self.open.pop() else { return };
        let Some(item) = self.outline.elements.get_mut(index) else {
            return;
        };
        item.end = end;
        item.texts.1 = texts;
        let tag = item.tag;
        if tag != Tag::Br || self.preformatted.is_empty() {
            self.separate(tag.edges());
        }
        if self.preformatted.last() == Some(&index) {
            self.preformatted.pop();
        }
    }

    /// Keeps the text of a script if it is data about the page or what the page is made of, and
    /// the addresses of others.
    fn script(&mut self, element: Element<'a>, text: Option<&'a str>) {
        let text = text.unwrap_or_default();
        let media_type = attribute(element, &local_name!("type"));
        match unread::script(media_type, text) {
            unread::Script::Data => self.outline.data.push(text),
            unread::Script::State => self.outline.states.push(text),
            unread::Script::Formula => self.formula(element, vec![text]),
            unread::Script::Program => {
                let address = attribute(element, &local_name!("src"));
                let is_module = media_type.is_some_and(|it| it.eq_ignore_ascii_case("module"));
                self.outline.programs.push((address, is_module));
            }
        }
    }
}

/// Elements from which nothing is read: their contents are neither text nor links of this page.
fn is_left_out(tag: Tag) -> bool {
    matches!(tag, Tag::Script | Tag::Style | Tag::Template | Tag::Svg)
}

/// Whether an element by itself preserves white space. Code on a page of a forge is in a table
/// whose style sheet says so.
fn keeps_white_space(element: Element<'_>, tag: Tag) -> bool {
    let style = || attribute(element, &local_name!("style"));
    let class = || attribute(element, &local_name!("class"));
    match tag {
        Tag::Pre | Tag::Listing | Tag::Xmp | Tag::Plaintext => true,
        Tag::Td => class().is_some_and(|class| has_token(class, "blob-code")),
        Tag::Code | Tag::Div | Tag::Span | Tag::P => style().is_some_and(|style| {
            let value = style
                .split_once("white-space")
                .and_then(|(_, rest)| rest.trim_start().strip_prefix(':'));
            // Not `pre-wrap`: editors give that to every paragraph they make.
            let value = value.and_then(|value| value.split([';', '!']).next());
            value.is_some_and(|value| value.trim() == "pre")
        }),
        _ => false,
    }
}

/// What an element by itself says about its visibility.
fn sight(element: Element<'_>, tag: Tag, traits: Traits) -> Sight {
    match tag {
        Tag::Head
        | Tag::Title
        | Tag::Select
        | Tag::Datalist
        | Tag::Textarea
        | Tag::Iframe
        | Tag::Audio
        | Tag::Video
        | Tag::Canvas
        | Tag::Rp => Sight::Never,
        Tag::Noscript | Tag::Noframes | Tag::Noembed => Sight::Hidden,
        // Pages hide the whole of themselves until a script or a style sheet has loaded.
        Tag::Html | Tag::Body => Sight::Shown,
        Tag::Dialog if attribute(element, &local_name!("open")).is_none() => Sight::Hidden,
        _ if traits.is_hidden() => Sight::Hidden,
        _ => Sight::Shown,
    }
}
