//! The tree that html5ever's builder writes: only what is read of a page, in one vector.
//!
//! A handle of a node carries the name of its element, because the builder asks for names far more
//! often than for anything else.

use std::borrow::Cow;
use std::cell::{RefCell, RefMut};

use html5ever::interface::{ElemName, ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::{Attribute, LocalName, Namespace, QualName, expanded_name, local_name, ns};

/// The tree of a page. Nodes that are no longer part of it stay, without a parent.
pub(crate) struct Tree {
    nodes: Vec<Node>,
}

/// A node, and the places of those around it; [`NONE`] where there is none.
pub(super) struct Node {
    parent: u32,
    previous: u32,
    next: u32,
    first_child: u32,
    last_child: u32,
    pub(super) content: Content,
}

/// What a node is.
pub(super) enum Content {
    /// The document, or the contents of a template.
    Document,
    Element(Element),
    Text(StrTendril),
}

/// An element.
pub(crate) struct Element {
    pub(crate) name: Name,
    /// Its attributes, no two with one name.
    pub(crate) attrs: Vec<Attribute>,
}

/// The name of an element.
#[derive(Debug, Clone)]
pub(crate) struct Name {
    pub(super) ns: &'static Namespace,
    pub(crate) local: LocalName,
}

/// The namespaces that elements have.
static HTML: Namespace = ns!(html);
static SVG: Namespace = ns!(svg);
static MATH: Namespace = ns!(mathml);

impl Name {
    fn of(name: QualName) -> Self {
        let ns = match name.ns {
            ns!(svg) => &SVG,
            ns!(mathml) => &MATH,
            _ => &HTML,
        };
        let local = name.local;
        Self { ns, local }
    }
}

/// The place of no node.
const NONE: u32 = u32::MAX;
/// The place of the document.
pub(super) const ROOT: u32 = 0;

impl Tree {
    pub(super) fn content(&self, at: u32) -> &Content {
        &self.nodes[at as usize].content
    }

    pub(super) fn parent(&self, at: u32) -> Option<u32> {
        some(self.nodes[at as usize].parent)
    }

    pub(super) fn next(&self, at: u32) -> Option<u32> {
        some(self.nodes[at as usize].next)
    }

    pub(super) fn first_child(&self, at: u32) -> Option<u32> {
        some(self.nodes[at as usize].first_child)
    }

    /// Number of nodes, with those that are no longer part of the tree.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }
}

fn some(at: u32) -> Option<u32> {
    (at != NONE).then_some(at)
}

impl ElemName for &Name {
    #[inline]
    fn ns(&self) -> &Namespace {
        self.ns
    }

    #[inline]
    fn local_name(&self) -> &LocalName {
        &self.local
    }
}

/// A node as the builder knows it.
#[derive(Clone)]
pub(super) struct Handle {
    at: u32,
    /// The name of its element; that of the document is never asked for.
    name: Name,
}

/// Writes the tree as the builder says.
pub(super) struct TreeWriter(RefCell<Vec<Node>>);

impl TreeWriter {
    /// A document with room for so many nodes.
    pub(super) fn with_room_for(nodes: usize) -> Self {
        let writer = Self(RefCell::new(Vec::with_capacity(nodes)));
        writer.create(Content::Document);
        writer
    }

    /// Number of nodes so far.
    pub(super) fn len(&self) -> usize {
        self.0.borrow().len()
    }

    fn create(&self, content: Content) -> u32 {
        let mut nodes = self.0.borrow_mut();
        nodes.push(Node {
            parent: NONE,
            previous: NONE,
            next: NONE,
            first_child: NONE,
            last_child: NONE,
            content,
        });
        (nodes.len() - 1) as u32
    }

    fn nodes(&self) -> Nodes<'_> {
        Nodes(self.0.borrow_mut())
    }
}

/// The nodes while something changes.
struct Nodes<'n>(RefMut<'n, Vec<Node>>);

impl Nodes<'_> {
    fn at(&mut self, at: u32) -> &mut Node {
        &mut self.0[at as usize]
    }

    /// Takes a node with all below it from where it is.
    fn detach(&mut self, at: u32) {
        let node = self.at(at);
        let (parent, previous, next) = (node.parent, node.previous, node.next);
        if parent == NONE {
            return;
        }
        (node.parent, node.previous, node.next) = (NONE, NONE, NONE);
        match previous {
            NONE => self.at(parent).first_child = next,
            previous => self.at(previous).next = next,
        }
        match next {
            NONE => self.at(parent).last_child = previous,
            next => self.at(next).previous = previous,
        }
    }

    /// Makes a node the last child of another.
    fn append(&mut self, parent: u32, child: u32) {
        self.detach(child);
        let last = std::mem::replace(&mut self.at(parent).last_child, child);
        match last {
            NONE => self.at(parent).first_child = child,
            last => self.at(last).next = child,
        }
        let node = self.at(child);
        (node.parent, node.previous) = (parent, last);
    }

    /// Puts a node before a sibling, which has a parent.
    fn insert_before(&mut self, sibling: u32, node: u32) {
        self.detach(node);
        let before = std::mem::replace(&mut self.at(sibling).previous, node);
        let parent = self.at(sibling).parent;
        match before {
            NONE => self.at(parent).first_child = node,
            before => self.at(before).next = node,
        }
        let node = self.at(node);
        (node.parent, node.previous, node.next) = (parent, before, sibling);
    }

    /// Adds to a text, if the node is one.
    fn add_to_text(&mut self, at: u32, more: &StrTendril) -> bool {
        if at == NONE {
            return false;
        }
        let Content::Text(text) = &mut self.at(at).content else {
            return false;
        };
        text.push_tendril(more);
        true
    }
}

impl TreeSink for TreeWriter {
    type Handle = Handle;
    type Output = Tree;
    type ElemName<'a> = &'a Name;

    fn finish(self) -> Tree {
        Tree {
            nodes: self.0.into_inner(),
        }
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        let name = Name {
            ns: &HTML,
            local: local_name!(""),
        };
        Handle { at: ROOT, name }
    }

    #[inline]
    fn elem_name<'a>(&'a self, target: &'a Handle) -> &'a Name {
        &target.name
    }

    fn create_element(&self, name: QualName, attrs: Vec<Attribute>, _: ElementFlags) -> Handle {
        let is_template = name.expanded() == expanded_name!(html "template");
        let name = Name::of(name);
        let at = self.create(Content::Element(Element {
            name: name.clone(),
            attrs,
        }));
        if is_template {
            let contents = self.create(Content::Document);
            self.nodes().append(at, contents);
        }
        Handle { at, name }
    }

    /// Comments never come here (`sink.rs`).
    fn create_comment(&self, _: StrTendril) -> Handle {
        Handle {
            at: self.create(Content::Document),
            ..self.get_document()
        }
    }

    /// There are none in HTML.
    fn create_pi(&self, _: StrTendril, data: StrTendril) -> Handle {
        self.create_comment(data)
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        let child = match child {
            NodeOrText::AppendNode(child) => child.at,
            NodeOrText::AppendText(text) => {
                let mut nodes = self.nodes();
                let last = nodes.at(parent.at).last_child;
                if nodes.add_to_text(last, &text) {
                    return;
                }
                drop(nodes);
                self.create(Content::Text(text))
            }
        };
        self.nodes().append(parent.at, child);
    }

    fn append_before_sibling(&self, sibling: &Handle, node: NodeOrText<Handle>) {
        let mut nodes = self.nodes();
        if let NodeOrText::AppendNode(node) = &node {
            nodes.detach(node.at);
        }
        if nodes.at(sibling.at).parent == NONE {
            return;
        }
        let node = match node {
            NodeOrText::AppendNode(node) => node.at,
            NodeOrText::AppendText(text) => {
                let before = nodes.at(sibling.at).previous;
                if nodes.add_to_text(before, &text) {
                    return;
                }
                drop(nodes);
                let node = self.create(Content::Text(text));
                nodes = self.nodes();
                node
            }
        };
        nodes.insert_before(sibling.at, node);
    }

    fn append_based_on_parent_node(
        &self,
        element: &Handle,
        previous: &Handle,
        child: NodeOrText<Handle>,
    ) {
        let has_parent = self.nodes().at(element.at).parent != NONE;
        if has_parent {
            self.append_before_sibling(element, child);
        } else {
            self.append(previous, child);
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn get_template_contents(&self, target: &Handle) -> Handle {
        Handle {
            at: self.nodes().at(target.at).first_child,
            ..self.get_document()
        }
    }

    #[inline]
    fn same_node(&self, one: &Handle, other: &Handle) -> bool {
        one.at == other.at
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn add_attrs_if_missing(&self, target: &Handle, attrs: Vec<Attribute>) {
        let mut nodes = self.nodes();
        let Content::Element(element) = &mut nodes.at(target.at).content else {
            return;
        };
        for attribute in attrs {
            if !(element.attrs.iter()).any(|known| known.name == attribute.name) {
                element.attrs.push(attribute);
            }
        }
    }

    fn remove_from_parent(&self, target: &Handle) {
        self.nodes().detach(target.at);
    }

    fn reparent_children(&self, node: &Handle, new_parent: &Handle) {
        let mut nodes = self.nodes();
        let mut child = nodes.at(node.at).first_child;
        while child != NONE {
            let next = nodes.at(child).next;
            nodes.append(new_parent.at, child);
            child = next;
        }
    }
}
