//! The tree builder behind its budgets: drops the start tags, attributes and nodes that exceed
//! them.
//!
//! It stands between the tokenizer and html5ever's tree builder; `tree.rs` explains why.

use std::cell::{Cell, RefCell};

use ego_tree::Tree;
use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult};
use html5ever::tree_builder::{Tracer, TreeBuilder, TreeBuilderOpts, TreeSink};
use html5ever::{LocalName, local_name};
use scraper::{Html, HtmlTreeSink, Node};

use crate::page::options::{Note, PageOptions};

/// Number of further `<html>` and `<body>` tags whose attributes are merged into the first one.
/// Each merge inserts into a sorted vector, so a page of nothing else would take quadratic time.
const MERGED_TAGS: u32 = 16;

/// Maximum number of attributes kept per element. Real elements have fewer than forty.
pub(super) const MAX_ATTRIBUTES: usize = 256;

type Handle = <HtmlTreeSink as TreeSink>::Handle;
type HtmlBuilder = TreeBuilder<Handle, HtmlTreeSink>;

/// The tree builder behind its budgets.
pub(super) struct BoundedSink {
    builder: HtmlBuilder,
    max_depth: usize,
    max_nodes: usize,
    tokens: Cell<u64>,
    last: Cell<Last>,
    merged_tags: Cell<u32>,
    depth: Cell<Depth>,
    notes: RefCell<Vec<Note>>,
}

/// The sizes of the tree builder's stacks when they were last counted: the open elements and the
/// list of active formatting elements, which it also walks for many tags.
#[derive(Clone, Copy, Default)]
struct Depth {
    handles: usize,
    nodes: usize,
    /// Whether an end tag arrived since, so that the stacks may be lower.
    stale: bool,
}

/// What happens to a start tag.
enum TagFate {
    /// Its element is opened.
    Opened,
    /// Its element is added to the tree without its contents: a link below the deepest level.
    Alone,
    /// It exceeds a budget.
    Dropped,
}

/// The last token of a piece, as far as it reveals the state of the tokenizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    /// None, or characters.
    Other,
    /// A comment.
    Comment,
    /// A doctype, or a tag that is followed by markup.
    Tag,
    /// A tag that is followed by raw text.
    RawTextTag,
}

impl BoundedSink {
    /// A sink with an empty tree that has room for `nodes`. `notes` are the bounds that have cut
    /// something already.
    pub(super) fn new(options: &PageOptions, nodes: usize, notes: Vec<Note>) -> Self {
        let mut html = Html::new_document();
        html.tree = Tree::with_capacity(Node::Document, nodes.min(options.max_nodes));
        Self {
            builder: TreeBuilder::new(
                HtmlTreeSink::new(html),
                TreeBuilderOpts {
                    // A crawler runs no scripts, so it sees what <noscript> holds.
                    scripting_enabled: false,
                    drop_doctype: true,
                    ..TreeBuilderOpts::default()
                },
            ),
            max_depth: options.max_depth,
            max_nodes: options.max_nodes,
            tokens: Cell::new(0),
            last: Cell::new(Last::Other),
            merged_tags: Cell::new(0),
            depth: Cell::default(),
            notes: RefCell::new(notes),
        }
    }

    /// The finished tree, and the bounds that cut something.
    pub(super) fn finish(self) -> (Html, Vec<Note>) {
        (self.builder.sink.finish(), self.notes.into_inner())
    }

    /// Forgets the tokens of the previous piece.
    pub(super) fn begin_piece(&self) {
        self.last.set(Last::Other);
    }

    /// Number of tokens so far.
    pub(super) fn tokens(&self) -> u64 {
        self.tokens.get()
    }

    /// Whether the last token was a comment.
    pub(super) fn is_after_comment(&self) -> bool {
        self.last.get() == Last::Comment
    }

    /// Whether the last token was a tag, comment or doctype that is followed by markup.
    pub(super) fn has_ended_markup(&self) -> bool {
        matches!(self.last.get(), Last::Comment | Last::Tag)
    }

    pub(super) fn note(&self, note: Note) {
        let mut notes = self.notes.borrow_mut();
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    fn nodes(&self) -> usize {
        self.builder.sink.0.borrow().tree.values().len()
    }

    pub(super) fn is_spent(&self) -> bool {
        self.nodes() >= self.max_nodes
    }

    /// Whether the node budget is far from being spent: a token opens no more elements than there
    /// are on the stacks.
    pub(super) fn has_plenty_left(&self) -> bool {
        self.nodes() + 2 * self.max_depth < self.max_nodes
    }

    /// Whether one more element may be opened.
    ///
    /// Counting the stacks takes time proportional to their length, so it is postponed while it
    /// cannot matter: whatever is pushed onto them is a node created before, on two stacks at most.
    fn has_room(&self) -> bool {
        let nodes = self.nodes();
        let depth = self.depth.get();
        let created = nodes.saturating_sub(depth.nodes);
        if depth.handles + 2 * created < self.max_depth {
            return true;
        }
        if created > 0 || depth.stale {
            let counter = HandleCounter(Cell::new(0));
            self.builder.trace_handles(&counter);
            self.depth.set(Depth {
                handles: counter.0.get(),
                nodes,
                stale: false,
            });
        }
        self.depth.get().handles < self.max_depth
    }

    /// Whether the element's content is raw text: dropping such a start tag would turn a script
    /// into text. Such elements contain no elements, so they cannot nest. In SVG they can, and
    /// there they are dropped.
    fn is_raw_text(&self, tag: &Tag) -> bool {
        matches!(
            tag.name,
            local_name!("script")
                | local_name!("style")
                | local_name!("title")
                | local_name!("textarea")
                | local_name!("iframe")
                | local_name!("noframes")
                | local_name!("noembed")
                | local_name!("xmp")
        ) && !self.is_foreign()
    }

    /// Bounds the attributes of a start tag and decides what happens to it.
    fn admit(&self, tag: &mut Tag) -> TagFate {
        if tag.attrs.len() > MAX_ATTRIBUTES {
            tag.attrs.truncate(MAX_ATTRIBUTES);
            self.note(Note::TagCut);
        }
        if matches!(tag.name, local_name!("html") | local_name!("body")) {
            let merged = self.merged_tags.get() + 1;
            self.merged_tags.set(merged);
            if merged > MERGED_TAGS {
                return TagFate::Dropped;
            }
        }
        if self.has_room() || self.is_raw_text(tag) {
            return TagFate::Opened;
        }
        self.note(Note::DepthCut);
        if is_pointer(tag) && !self.is_foreign() {
            TagFate::Alone
        } else {
            TagFate::Dropped
        }
    }

    fn count(&self, last: Last) {
        self.tokens.set(self.tokens.get() + 1);
        self.last.set(last);
    }

    /// Whether the node budget is spent, which is noted.
    fn is_cut_off(&self) -> bool {
        let is_spent = self.is_spent();
        if is_spent {
            self.note(Note::NodesCut);
        }
        is_spent
    }

    fn process_tag(&self, mut tag: Tag, line: u64) -> TokenSinkResult<Handle> {
        if self.is_cut_off() {
            return TokenSinkResult::Continue;
        }
        if tag.kind == TagKind::StartTag {
            match self.admit(&mut tag) {
                TagFate::Opened => {}
                TagFate::Dropped => return TokenSinkResult::Continue,
                TagFate::Alone => {
                    let name = tag.name.clone();
                    let outcome = self.builder.process_token(Token::TagToken(tag), line);
                    if name == local_name!("a") {
                        let _ = self.builder.process_token(end_tag(name), line);
                    }
                    return outcome;
                }
            }
        } else {
            let depth = self.depth.get();
            self.depth.set(Depth {
                stale: true,
                ..depth
            });
        }
        self.pass(Token::TagToken(tag), line)
    }

    /// Passes a token to the tree builder.
    fn pass(&self, token: Token, line: u64) -> TokenSinkResult<Handle> {
        let outcome = self.builder.process_token(token, line);
        if matches!(
            outcome,
            TokenSinkResult::RawData(_) | TokenSinkResult::Plaintext
        ) {
            self.last.set(Last::RawTextTag);
        }
        outcome
    }

    fn is_foreign(&self) -> bool {
        self.builder
            .adjusted_current_node_present_but_not_in_html_namespace()
    }
}

impl TokenSink for BoundedSink {
    type Handle = Handle;

    #[inline]
    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<Self::Handle> {
        match token {
            Token::ParseError(_) => TokenSinkResult::Continue,
            // Comments are never read, and each would be a node.
            Token::CommentToken(_) => {
                self.count(Last::Comment);
                TokenSinkResult::Continue
            }
            Token::EOFToken => {
                self.count(Last::Other);
                self.pass(token, line)
            }
            Token::TagToken(tag) => {
                self.count(Last::Tag);
                self.process_tag(tag, line)
            }
            Token::CharacterTokens(characters) => {
                self.count(Last::Other);
                if self.is_cut_off() {
                    return TokenSinkResult::Continue;
                }
                // What is passed on as characters is never followed by raw text.
                let token = Token::CharacterTokens(characters);
                self.builder.process_token(token, line)
            }
            Token::DoctypeToken(_) | Token::NullCharacterToken => {
                self.count(match token {
                    Token::DoctypeToken(_) => Last::Tag,
                    _ => Last::Other,
                });
                match self.is_cut_off() {
                    true => TokenSinkResult::Continue,
                    false => self.pass(token, line),
                }
            }
        }
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.is_foreign()
    }
}

/// Whether a tag points at another page and its element has no contents that matter.
fn is_pointer(tag: &Tag) -> bool {
    matches!(
        tag.name,
        local_name!("a")
            | local_name!("area")
            | local_name!("base")
            | local_name!("link")
            | local_name!("meta")
    ) && !tag.attrs.is_empty()
}

/// Counts the handles that the tree builder holds.
struct HandleCounter(Cell<usize>);

impl Tracer for HandleCounter {
    type Handle = Handle;

    fn trace_handle(&self, _node: &Self::Handle) {
        self.0.set(self.0.get() + 1);
    }
}

pub(super) fn end_tag(name: LocalName) -> Token {
    Token::TagToken(Tag {
        kind: TagKind::EndTag,
        name,
        self_closing: false,
        attrs: Vec::new(),
        had_duplicate_attributes: false,
    })
}
