//! The tree of a page as one list: where elements open and close, and the texts between, in
//! document order. Texts and values are places in the page, so that hardly anything is copied.
//!
//! What is never read is not in it (`unread.rs`): of drawings, styles and templates only that they
//! are there.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use html5ever::tendril::StrTendril;
use html5ever::{LocalName, local_name, ns};
use scraper::node::Text;
use scraper::{ElementRef, Html, Node as ScraperNode};

use super::names::Name;
use super::tag::Tag;
use super::{formula, unread};

/// The tree of a page.
pub(crate) struct Tree<'p> {
    pub(super) page: Page<'p>,
    pub(super) parts: TreeParts,
}

/// The text of a page, with line feeds as line ends.
pub(super) enum Page<'p> {
    Plain(Cow<'p, str>),
    /// In a buffer that html5ever's tree shared.
    Shared(StrTendril),
}

/// What a tree has besides the page.
#[derive(Default)]
pub(super) struct TreeParts {
    pub(super) nodes: Vec<Node>,
    pub(super) attributes: Vec<Attribute>,
    pub(super) names: Vec<Name>,
    /// What stands on the page in another form, such as with references.
    pub(super) resolved: String,
}

/// An event in a walk over the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Node {
    /// An element begins: which of the names it has, and which of the attributes.
    Open {
        name: u32,
        count: u16,
        from: u32,
    },
    /// The element that was opened last ends.
    Close,
    Text(Span),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Attribute {
    pub(super) name: LocalName,
    pub(super) value: Span,
}

/// A place in the page, or among what is resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    from: u32,
    length: u32,
}

/// Set in the beginnings of spans that are resolved. Pages are shorter.
const RESOLVED: u32 = 1 << 31;

impl Span {
    /// A place in the page.
    pub(super) fn of_page(place: Range<usize>) -> Self {
        Self {
            from: place.start as u32,
            length: place.len() as u32,
        }
    }

    pub(super) fn len(self) -> usize {
        self.length as usize
    }

    /// Without its first bytes.
    pub(super) fn after(self, bytes: usize) -> Self {
        Self {
            from: self.from + bytes as u32,
            length: self.length - bytes as u32,
        }
    }

    /// Its first bytes.
    pub(super) fn until(self, bytes: usize) -> Self {
        Self {
            length: bytes as u32,
            ..self
        }
    }

    pub(super) fn text<'t>(self, page: &'t str, resolved: &'t str) -> &'t str {
        let from = (self.from & !RESOLVED) as usize;
        let all = match self.from & RESOLVED {
            0 => page,
            _ => resolved,
        };
        all.get(from..from + self.len()).unwrap_or_default()
    }
}

impl TreeParts {
    /// The place of what was resolved from a position on; `None` if that is too far.
    pub(super) fn resolved_from(&self, start: usize) -> Option<Span> {
        // Texts are pieces of the page, which is shorter than half of this, and few of them are
        // put together from pieces that were resolved.
        let length = self.resolved.len().checked_sub(start)?;
        let fits = self.resolved.len() < RESOLVED as usize;
        fits.then_some(Span {
            from: start as u32 | RESOLVED,
            length: length as u32,
        })
    }

    /// Adds a text, to the one before it if nothing stands between; `None` if there is no room.
    pub(super) fn push_text(&mut self, page: &str, text: Span) -> Option<()> {
        let Some(Node::Text(last)) = self.nodes.last().copied() else {
            self.nodes.push(Node::Text(text));
            return Some(());
        };
        let joined = match last.from + last.length == text.from {
            true => Span {
                length: last.length + text.length,
                ..last
            },
            false => {
                let start = (last.from & !RESOLVED) as usize;
                let is_last =
                    last.from & RESOLVED != 0 && start + last.len() == self.resolved.len();
                let start = if is_last { start } else { self.resolved.len() };
                if !is_last {
                    self.copy(page, last);
                }
                self.copy(page, text);
                self.resolved_from(start)?
            }
        };
        *self.nodes.last_mut()? = Node::Text(joined);
        Some(())
    }

    fn copy(&mut self, page: &str, span: Span) {
        if span.from & RESOLVED == 0 {
            self.resolved.push_str(span.text(page, ""));
        } else {
            let text = span.text("", &self.resolved).to_owned();
            self.resolved.push_str(&text);
        }
    }
}

impl Tree<'_> {
    /// The text of the page.
    pub(super) fn page(&self) -> &str {
        match &self.page {
            Page::Plain(page) => page,
            Page::Shared(page) => page,
        }
    }

    pub(super) fn text(&self, span: Span) -> &str {
        span.text(self.page(), &self.parts.resolved)
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.parts.nodes
    }

    /// The element that opens at a place of the list.
    pub(super) fn element(&self, at: usize) -> Element<'_> {
        Element { tree: self, at }
    }
}

/// An element.
#[derive(Clone, Copy)]
pub(crate) struct Element<'a> {
    tree: &'a Tree<'a>,
    /// Where it opens.
    at: usize,
}

impl<'a> Element<'a> {
    fn parts(self) -> Option<(&'a Name, &'a [Attribute])> {
        let Node::Open { name, count, from } = *self.tree.parts.nodes.get(self.at)? else {
            return None;
        };
        let (from, count) = (from as usize, usize::from(count));
        let attributes = self.tree.parts.attributes.get(from..from + count)?;
        Some((self.tree.parts.names.get(name as usize)?, attributes))
    }

    /// Its name; that of a drawing or a formula is the name only.
    pub(crate) fn name(self) -> &'a LocalName {
        static NONE: LocalName = local_name!("");
        self.parts().map_or(&NONE, |(name, _)| &name.local)
    }

    /// The tag of its name.
    pub(super) fn tag(self) -> Tag {
        self.parts().map_or(Tag::Other, |(name, _)| name.tag)
    }

    /// Its attributes without namespace.
    pub(crate) fn attributes(self) -> impl Iterator<Item = (&'a LocalName, &'a str)> {
        let attributes = self.parts().map_or(&[][..], |(_, attributes)| attributes);
        attributes
            .iter()
            .map(move |it| (&it.name, self.tree.text(it.value)))
    }

    /// Whether it has attributes.
    pub(super) fn has_attributes(self) -> bool {
        let node = self.tree.parts.nodes.get(self.at);
        matches!(node, Some(Node::Open { count: 1.., .. }))
    }

    /// The value of an attribute without namespace.
    pub(super) fn attribute(self, name: &LocalName) -> Option<&'a str> {
        let (_, attributes) = self.parts()?;
        let found = attributes.iter().find(|it| it.name == *name)?;
        Some(self.tree.text(found.value))
    }
}

impl PartialEq for Element<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.tree, other.tree) && self.at == other.at
    }
}

impl fmt::Debug for Element<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entry(self.name(), &())
            .entries(self.attributes())
            .finish()
    }
}

/// What html5ever made of a page, as a list.
pub(super) fn listed(html: &Html, page: StrTendril) -> Tree<'static> {
    let mut listing = Listing {
        page: &page,
        parts: TreeParts::default(),
        names: HashMap::new(),
        copied: HashMap::new(),
    };
    let mut next = html.tree.root().first_child();
    while let Some(node) = next {
        let is_entered = match node.value() {
            ScraperNode::Element(_) => listing.open(node),
            ScraperNode::Text(text) => {
                let span = listing.span(text);
                listing.parts.nodes.push(Node::Text(span));
                false
            }
            _ => false,
        };
        if is_entered {
            next = node.first_child();
            if next.is_some() {
                continue;
            }
            listing.parts.nodes.push(Node::Close);
        }
        // Continue with the next sibling, or with that of the nearest ancestor that has one.
        let mut at = node;
        next = loop {
            if let Some(sibling) = at.next_sibling() {
                break Some(sibling);
            }
            let Some(parent) = at.parent().filter(|parent| parent.value().is_element()) else {
                break None;
            };
            listing.parts.nodes.push(Node::Close);
            at = parent;
        };
    }
    let parts = listing.parts;
    Tree {
        page: Page::Shared(page),
        parts,
    }
}

/// A list in the making.
struct Listing<'t> {
    page: &'t StrTendril,
    parts: TreeParts,
    names: HashMap<LocalName, u32>,
    /// Where texts are that are not in the page, by where they were: elements that were opened
    /// anew share theirs.
    copied: HashMap<(usize, usize), Span>,
}

impl Listing<'_> {
    /// Opens an element. Returns whether its contents are read.
    fn open(&mut self, node: ego_tree::NodeRef<'_, ScraperNode>) -> bool {
        let Some(element) = node.value().as_element() else {
            return false;
        };
        let from = self.parts.attributes.len();
        for (name, value) in &element.attrs {
            if name.ns == ns!() && unread::read_attribute(&name.local).is_some() {
                let value = self.span(value);
                let name = name.local.clone();
                self.parts.attributes.push(Attribute { name, value });
            }
        }
        let name = self.name(&element.name.local);
        self.parts.nodes.push(Node::Open {
            name,
            count: (self.parts.attributes.len() - from) as u16,
            from: from as u32,
        });
        let tag = self.parts.names.get(name as usize).map(|it| it.tag);
        let is_entered = match tag {
            Some(Tag::Style | Tag::Template | Tag::Svg) => false,
            Some(Tag::Script) => {
                let text = node.first_child().and_then(|it| it.value().as_text());
                let kind = element.attr("type");
                let is_read = |text: &&Text| unread::script(kind, text) != unread::Script::Program;
                let text = text.filter(is_read).map(|text| self.span(text));
                self.parts.nodes.extend(text.map(Node::Text));
                false
            }
            _ if element.name.local == local_name!("math") => {
                let math = ElementRef::wrap(node);
                for piece in math.map(formula::pieces).unwrap_or_default() {
                    let piece = self.span(piece);
                    self.parts.nodes.push(Node::Text(piece));
                }
                false
            }
            _ => return true,
        };
        self.parts.nodes.push(Node::Close);
        is_entered
    }

    fn name(&mut self, local: &LocalName) -> u32 {
        let next = self.parts.names.len() as u32;
        let name = *self.names.entry(local.clone()).or_insert(next);
        if name == next {
            self.parts.names.push(Name::of(local.clone()));
        }
        name
    }

    /// The place of a text: in the page, if it is a part of that.
    fn span(&mut self, text: &str) -> Span {
        // Shorter texts are in the tree itself.
        const IN_PLACE: usize = 8;
        let (address, page) = (text.as_ptr() as usize, self.page.as_ptr() as usize);
        if let Some(from) = address.checked_sub(page)
            && from + text.len() <= self.page.len()
        {
            return Span::of_page(from..from + text.len());
        }
        if text.len() > IN_PLACE
            && let Some(span) = self.copied.get(&(address, text.len()))
        {
            return *span;
        }
        let start = self.parts.resolved.len();
        self.parts.resolved.push_str(text);
        let span = self.parts.resolved_from(start);
        let span = span.unwrap_or(Span::of_page(0..0));
        self.copied.insert((address, text.len()), span);
        span
    }
}
