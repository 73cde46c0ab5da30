//! The stack of open elements and the list of active formatting elements, and what the standard's
//! algorithms do with them. What they open and close is written into the tree.

use crate::page::html::names::{Kind, Name, set};
use crate::page::html::nodes::{Node, Span, TreeParts};

/// `None`: this is not plain.
pub(super) type Plain<T = ()> = Option<T>;

/// A tag, whose name and attributes are in the tree.
#[derive(Debug, Clone, Copy)]
pub(in crate::page::html) struct Tag {
    pub(in crate::page::html) name: u32,
    /// Number of its attributes, and the first of them.
    pub(in crate::page::html) count: u16,
    pub(in crate::page::html) from: u32,
    pub(in crate::page::html) is_self_closing: bool,
}

/// An open element.
#[derive(Debug, Clone, Copy)]
pub(super) struct Open {
    /// Where it opens in the list of nodes.
    pub(super) node: u32,
    pub(super) name: u32,
    pub(super) kind: Kind,
    pub(super) sets: u16,
}

/// An active formatting element, or a marker.
#[derive(Debug, Clone, Copy)]
struct Format {
    node: u32,
    name: u32,
}

const MARKER: Format = Format {
    node: u32::MAX,
    name: u32::MAX,
};

/// Number of formatting elements of one name from which their attributes would have to be compared
/// ("Noah's Ark clause").
const ALIKE: usize = 3;

/// A tree in the making, whose elements are still open.
pub(in crate::page::html) struct Stack<'t> {
    page: &'t str,
    pub(in crate::page::html) parts: TreeParts,
    pub(super) open: Vec<Open>,
    formats: Vec<Format>,
    /// Number of nodes that are left out, but count.
    left_out: usize,
    max_depth: usize,
    max_nodes: usize,
}

impl<'t> Stack<'t> {
    /// An empty tree with room for so many nodes.
    pub(super) fn new(page: &'t str, nodes: usize, max_depth: usize, max_nodes: usize) -> Self {
        let parts = TreeParts {
            nodes: Vec::with_capacity(nodes),
            attributes: Vec::with_capacity(nodes / 3),
            ..TreeParts::default()
        };
        Self {
            page,
            parts,
            open: Vec::with_capacity(64),
            formats: Vec::new(),
            left_out: 0,
            max_depth,
            max_nodes,
        }
    }

    /// Adds a marker to the active formatting elements.
    pub(super) fn mark_formatting(&mut self) {
        self.formats.push(MARKER);
    }

    /// Counts the contents of the current element, which are left out and have so many start tags.
    pub(super) fn leave_out(&mut self, start_tags: usize) -> Plain {
        self.left_out += 2 * start_tags;
        let depth = self.open.len() + self.formats.len() + 2 * start_tags + 4;
        (depth < self.max_depth && !self.is_nearly_full()).then_some(())
    }

    /// The text of a span.
    pub(super) fn text(&self, span: Span) -> &str {
        span.text(self.page, &self.parts.resolved)
    }

    /// The number of a name.
    pub(in crate::page::html) fn name(&mut self, name: &str) -> u32 {
        let names = &mut self.parts.names;
        let found = names.iter().position(|it| *it.local == *name);
        found.unwrap_or_else(|| {
            names.push(Name::of(name.into()));
            names.len() - 1
        }) as u32
    }

    pub(in crate::page::html) fn kind(&self, name: u32) -> Kind {
        let name = self.parts.names.get(name as usize);
        name.map_or(Kind::Ordinary, |name| name.kind)
    }

    fn sets(&self, name: u32) -> u16 {
        let name = self.parts.names.get(name as usize);
        name.map_or(0, |name| name.sets)
    }

    /// Whether this is `<input type=hidden>`.
    pub(super) fn is_hidden(&self, tag: Tag) -> bool {
        let kind = self.attribute(tag, "type");
        kind.is_some_and(|kind| kind.eq_ignore_ascii_case("hidden"))
    }

    /// Whether this is `address` or `div`.
    pub(super) fn is_plain_block(&self, name: u32) -> bool {
        matches!(self.local(name), "address" | "div")
    }

    /// The tag of an element that the page does not name.
    pub(super) fn phantom(&mut self, name: &str) -> Tag {
        Tag {
            name: self.name(name),
            count: 0,
            from: 0,
            is_self_closing: false,
        }
    }

    pub(in crate::page::html) fn local(&self, name: u32) -> &str {
        let name = self.parts.names.get(name as usize);
        name.map_or("", |name| &name.local)
    }

    /// An attribute of a tag.
    pub(in crate::page::html) fn attribute(&self, tag: Tag, name: &str) -> Option<&str> {
        let from = tag.from as usize;
        let attributes = self
            .parts
            .attributes
            .get(from..from + usize::from(tag.count))?;
        let found = attributes.iter().find(|it| *it.name == *name)?;
        Some(found.value.text(self.page, &self.parts.resolved))
    }

    /// Whether the current element has this name.
    pub(in crate::page::html) fn is_current(&self, name: u32) -> bool {
        self.open.last().is_some_and(|it| it.name == name)
    }

    pub(super) fn has_open(&self, kind: Kind) -> bool {
        self.open.last().is_some_and(|it| it.kind == kind)
    }

    pub(super) fn has_open_of(&self, sets: u16) -> bool {
        self.open.last().is_some_and(|it| it.sets & sets != 0)
    }

    /// Adds the beginning of an element. Near a bound nothing is plain.
    fn add(&mut self, tag: Tag) -> Plain<u32> {
        let node = self.parts.nodes.len();
        // The document, the head and the form count too.
        let depth = self.open.len() + self.formats.len() + 4;
        if depth >= self.max_depth || self.is_nearly_full() {
            return None;
        }
        let Tag {
            name, count, from, ..
        } = tag;
        self.parts.nodes.push(Node::Open { name, count, from });
        Some(node as u32)
    }

    fn is_nearly_full(&self) -> bool {
        let nodes = self.parts.nodes.len() + self.left_out;
        nodes + 2 * self.max_depth >= self.max_nodes
    }

    /// Gives an element the attributes of a tag that it does not have.
    pub(super) fn merge(&mut self, element: Open, tag: Tag) -> Plain {
        let node = element.node as usize;
        let &Node::Open { name, count, from } = self.parts.nodes.get(node)? else {
            return None;
        };
        let attributes = &mut self.parts.attributes;
        let own = from as usize..from as usize + usize::from(count);
        let start = attributes.len();
        for at in tag.from as usize..tag.from as usize + usize::from(tag.count) {
            let new = attributes.get(at)?.clone();
            if !attributes
                .get(own.clone())?
                .iter()
                .any(|it| it.name == new.name)
            {
                attributes.push(new);
            }
        }
        if attributes.len() > start {
            attributes.extend_from_within(own);
            let count = (attributes.len() - start) as u16;
            let from = start as u32;
            *self.parts.nodes.get_mut(node)? = Node::Open { name, count, from };
        }
        Some(())
    }

    /// "Insert an HTML element".
    pub(super) fn insert(&mut self, tag: Tag) -> Plain<u32> {
        let node = self.add(tag)?;
        self.open.push(Open {
            node,
            name: tag.name,
            kind: self.kind(tag.name),
            sets: self.sets(tag.name),
        });
        Some(node)
    }

    /// The same of an element without contents.
    pub(super) fn insert_empty(&mut self, tag: Tag) -> Plain<u32> {
        let node = self.add(tag)?;
        self.parts.nodes.push(Node::Close);
        Some(node)
    }

    /// Closes the current element, and those around it that are gone.
    pub(in crate::page::html) fn pop(&mut self) {
        while self.open.pop().is_some() {
            self.parts.nodes.push(Node::Close);
            if !self.has_open(Kind::Gone) {
                break;
            }
        }
    }

    pub(super) fn pop_to(&mut self, length: usize) {
        while self.open.len() > length {
            self.pop();
        }
    }

    /// Pops up to and with an element for which this holds.
    pub(super) fn pop_until(&mut self, holds: impl Fn(&Open) -> bool) {
        let at = self.open.iter().rposition(holds);
        self.pop_to(at.unwrap_or(0));
    }

    pub(super) fn pop_until_kind(&mut self, kind: Kind) {
        self.pop_until(|it| it.kind == kind);
    }

    /// Pops until the current element is in one of these sets.
    pub(super) fn pop_back_to(&mut self, sets: u16) {
        let at = self.open.iter().rposition(|it| it.sets & sets != 0);
        self.pop_to(at.map_or(0, |at| at + 1));
    }

    /// Takes an element from the stack. Those in it stay open.
    pub(super) fn remove(&mut self, node: u32) {
        let Some(at) = self.open.iter().rposition(|it| it.node == node) else {
            return;
        };
        if at + 1 == self.open.len() {
            self.pop();
        } else if let Some(element) = self.open.get_mut(at) {
            (element.kind, element.sets, element.name) = (Kind::Gone, 0, u32::MAX);
        }
    }

    /// "Have an element in a specific scope".
    pub(super) fn has_in_scope(&self, scope: u16, holds: impl Fn(&Open) -> bool) -> bool {
        for element in self.open.iter().rev() {
            if holds(element) {
                return true;
            }
            if element.sets & scope != 0 {
                return false;
            }
        }
        false
    }

    pub(super) fn has_kind_in_scope(&self, scope: u16, kind: Kind) -> bool {
        self.has_in_scope(scope, |it| it.kind == kind)
    }

    pub(super) fn generate_implied_end_tags(&mut self, is_kept: impl Fn(&Open) -> bool) {
        while let Some(last) = self.open.last()
            && last.sets & set::IMPLIED != 0
            && !is_kept(last)
        {
            self.pop();
        }
    }

    pub(super) fn close_p(&mut self) {
        self.generate_implied_end_tags(|it| it.kind == Kind::P);
        self.pop_until_kind(Kind::P);
    }

    pub(super) fn has_p(&self) -> bool {
        self.has_kind_in_scope(set::SCOPE | set::BUTTONS, Kind::P)
    }

    pub(super) fn close_p_in_button_scope(&mut self) {
        if self.has_p() {
            self.close_p();
        }
    }

    /// The active formatting elements up to the last marker, from the last on.
    fn formats(&self) -> impl Iterator<Item = (usize, Format)> {
        let formats = self.formats.iter().copied().enumerate().rev();
        formats.take_while(|(_, it)| it.node != MARKER.node)
    }

    fn is_open(&self, node: u32) -> bool {
        self.open.iter().rev().any(|it| it.node == node)
    }

    pub(super) fn reconstruct_formatting(&mut self) -> Plain {
        let is_kept = |it: &Format| it.node == MARKER.node || self.is_open(it.node);
        if self.formats.last().is_none_or(is_kept) {
            return Some(());
        }
        let first = self.formats.iter().rposition(is_kept);
        for at in first.map_or(0, |at| at + 1)..self.formats.len() {
            let Format { node, name } = *self.formats.get(at)?;
            let Node::Open { count, from, .. } = *self.parts.nodes.get(node as usize)? else {
                return None;
            };
            let tag = Tag {
                name,
                count,
                from,
                is_self_closing: false,
            };
            let node = self.insert(tag)?;
            self.formats.get_mut(at)?.node = node;
        }
        Some(())
    }

    pub(super) fn clear_formatting(&mut self) {
        while let Some(last) = self.formats.pop()
            && last.node != MARKER.node
        {}
    }

    pub(super) fn insert_formatting(&mut self, tag: Tag) -> Plain {
        let alike = self.formats().filter(|(_, it)| it.name == tag.name);
        if alike.count() >= ALIKE {
            return None;
        }
        let node = self.insert(tag)?;
        let name = tag.name;
        self.formats.push(Format { node, name });
        Some(())
    }

    /// The adoption agency algorithm, where nothing is to be adopted.
    pub(super) fn adoption_agency(&mut self, name: u32) -> Plain {
        if let Some(last) = self.open.last()
            && last.name == name
            && !self.formats.iter().any(|it| it.node == last.node)
        {
            self.pop();
            return Some(());
        }
        let mut formats = self.formats();
        let Some((place, format)) = formats.find(|(_, it)| it.name == name) else {
            drop(formats);
            self.end_of_any_other(name);
            return Some(());
        };
        drop(formats);
        let Some(at) = self.open.iter().rposition(|it| it.node == format.node) else {
            self.formats.remove(place);
            return Some(());
        };
        if !self.has_in_scope(set::SCOPE, |it| it.node == format.node) {
            return Some(());
        }
        let inside = self.open.get(at..).unwrap_or_default();
        if inside.iter().any(|it| it.sets & set::SPECIAL != 0) {
            return None;
        }
        self.pop_to(at);
        self.formats.remove(place);
        Some(())
    }

    /// An `<a>` within another closes that.
    pub(super) fn end_of_a(&mut self) -> Plain {
        let a = self.formats().find(|(_, it)| self.kind(it.name) == Kind::A);
        if let Some((_, a)) = a {
            self.adoption_agency(a.name)?;
            self.formats.retain(|it| it.node != a.node);
            self.remove(a.node);
        }
        Some(())
    }

    /// "Any other end tag".
    pub(super) fn end_of_any_other(&mut self, name: u32) {
        let is_end = |it: &Open| it.name == name || it.sets & set::SPECIAL != 0;
        let Some(at) = self.open.iter().rposition(is_end) else {
            return;
        };
        if self.open.get(at).is_none_or(|it| it.name != name) {
            return;
        }
        self.generate_implied_end_tags(|it| it.name == name);
        self.pop_to(at);
    }

    /// Adds a text to the current element.
    pub(super) fn append(&mut self, text: Span) -> Plain {
        if self.is_nearly_full() {
            return None;
        }
        if text.len() > 0 {
            self.parts.push_text(self.page, text)?;
        }
        Some(())
    }

    /// Number of bytes of white space with which a text begins.
    pub(super) fn space_before(&self, text: Span) -> usize {
        let text = text.text(self.page, &self.parts.resolved).as_bytes();
        let visible = text.iter().position(|byte| !byte.is_ascii_whitespace());
        visible.unwrap_or(text.len())
    }
}
