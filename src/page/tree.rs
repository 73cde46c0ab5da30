//! From decoded text to one `scraper` tree, within bounds.
//!
//! html5ever follows the standard, and the standard lets a small page cost a lot: scope checks walk
//! the stack of open elements (quadratic in nesting depth: 128 KB of `<ul><li>` took 2.2 s),
//! unclosed formatting elements are opened anew in every paragraph (128 KB made 3.3 million nodes),
//! and attribute names of one tag are compared with one another (1 MB took 4 s). So the text is fed
//! in pieces, through a sink that stands between tokenizer and tree builder and drops what is over
//! budget. Budgets are counts, never times: the same text gives the same tree everywhere.

use std::cell::{Cell, RefCell};

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use html5ever::tree_builder::{Tracer, TreeBuilder, TreeBuilderOpts, TreeSink};
use html5ever::{TokenizerResult, local_name};
use scraper::{Html, HtmlTreeSink};

use super::{Note, PageOptions, floor_char_boundary};

/// Bytes handed to the tokenizer at once: the grain of `max_tag_bytes`.
const PIECE: usize = 16 * 1024;

/// Later `<html>` and `<body>` tags whose attributes are still merged into the first one. Each
/// merge inserts into a sorted vector, so a page of nothing else would be quadratic.
const MERGED_TAGS: u32 = 16;

/// Attributes kept of one element. Real elements have fewer than forty.
const MAX_ATTRIBUTES: usize = 256;

/// What ends a tag, a comment or a doctype in whatever state the tokenizer is: a double and a single
/// quote end a quoted value, `-->` a comment, and its `>` everything else.
const TERMINATOR: &str = "\"'-->";

type HtmlBuilder = TreeBuilder<<HtmlTreeSink as TreeSink>::Handle, HtmlTreeSink>;

/// Parses `html`; the second value lists the bounds that cut something.
pub(super) fn parse(html: &str, options: &PageOptions) -> (Html, Vec<Note>) {
    let builder = TreeBuilder::new(
        HtmlTreeSink::new(Html::new_document()),
        TreeBuilderOpts {
            // A crawler runs no scripts, so it sees what <noscript> holds.
            scripting_enabled: false,
            drop_doctype: true,
            ..TreeBuilderOpts::default()
        },
    );
    let tokenizer = Tokenizer::new(BoundedSink::new(builder, options), TokenizerOpts::default());
    feed(&tokenizer, html, options.max_tag_bytes);
    tokenizer.end();
    let sink = tokenizer.sink;
    (sink.builder.sink.finish(), sink.notes.into_inner())
}

/// Feeds `html` piece by piece until its end or the end of the node budget.
fn feed(tokenizer: &Tokenizer<BoundedSink>, html: &str, max_tag_bytes: usize) {
    let queue = BufferQueue::default();
    let run = |piece: StrTendril| {
        queue.push_back(piece);
        // A script or an encoding hint only interrupts: there is nothing to run or to decode anew.
        while !matches!(tokenizer.feed(&queue), TokenizerResult::Done) {}
    };
    let mut rest = html;
    let mut silent_bytes = 0;
    while !rest.is_empty() && !tokenizer.sink.is_spent() {
        let tokens_before = tokenizer.sink.tokens.get();
        let (piece, after) = rest.split_at(floor_char_boundary(rest, PIECE));
        rest = after;
        run(StrTendril::from_slice(piece));
        // No token out of a whole piece: the tokenizer is inside one tag or comment.
        if tokenizer.sink.tokens.get() > tokens_before {
            silent_bytes = 0;
            continue;
        }
        silent_bytes += piece.len();
        if silent_bytes >= max_tag_bytes {
            tokenizer.sink.note(Note::TagCut);
            run(StrTendril::from_slice(TERMINATOR));
            silent_bytes = 0;
            // What is left of a tag has most often no `>` before its own end (data: URLs do not).
            let end = if tokenizer.sink.in_comment.get() {
                "-->"
            } else {
                ">"
            };
            rest = rest
                .find(end)
                .and_then(|at| rest.get(at + end.len()..))
                .unwrap_or_default();
        }
    }
    if !rest.is_empty() {
        tokenizer.sink.note(Note::NodesCut);
    }
}

/// The tree builder behind its budgets.
struct BoundedSink {
    builder: HtmlBuilder,
    max_depth: usize,
    max_nodes: usize,
    tokens: Cell<u64>,
    /// Whether the last token was a comment.
    in_comment: Cell<bool>,
    merged_tags: Cell<u32>,
    depth: Cell<Depth>,
    notes: RefCell<Vec<Note>>,
}

/// The tree builder's stacks when they were last counted: open elements and the list of active
/// formatting elements, which it also walks for many tags.
#[derive(Clone, Copy, Default)]
struct Depth {
    handles: usize,
    nodes: usize,
    /// Whether an end tag came since, so that the stacks may be lower.
    stale: bool,
}

impl BoundedSink {
    fn new(builder: HtmlBuilder, options: &PageOptions) -> Self {
        Self {
            builder,
            max_depth: options.max_depth,
            max_nodes: options.max_nodes,
            tokens: Cell::new(0),
            in_comment: Cell::new(false),
            merged_tags: Cell::new(0),
            depth: Cell::default(),
            notes: RefCell::default(),
        }
    }

    fn note(&self, note: Note) {
        let mut notes = self.notes.borrow_mut();
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    fn nodes(&self) -> usize {
        self.builder.sink.0.borrow().tree.values().len()
    }

    fn is_spent(&self) -> bool {
        self.nodes() >= self.max_nodes
    }

    /// Whether one more element may be opened.
    ///
    /// Counting the stacks costs their length, so it is put off while it cannot matter: whatever is
    /// pushed there is a node created before, on two stacks at most.
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

    /// Elements whose content is not markup: dropping such a start tag would turn a script into
    /// text. They hold no elements, so they cannot nest; in SVG they can, and there they are dropped.
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
        ) && !self
            .builder
            .adjusted_current_node_present_but_not_in_html_namespace()
    }

    /// Bounds the attributes of a start tag; false if the whole tag is over budget.
    fn admit(&self, tag: &mut Tag) -> bool {
        if tag.attrs.len() > MAX_ATTRIBUTES {
            tag.attrs.truncate(MAX_ATTRIBUTES);
            self.note(Note::TagCut);
        }
        if matches!(tag.name, local_name!("html") | local_name!("body")) {
            let merged = self.merged_tags.get() + 1;
            self.merged_tags.set(merged);
            if merged > MERGED_TAGS {
                return false;
            }
        }
        if self.has_room() || self.is_raw_text(tag) {
            return true;
        }
        self.note(Note::DepthCut);
        false
    }
}

impl TokenSink for BoundedSink {
    type Handle = <HtmlTreeSink as TreeSink>::Handle;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<Self::Handle> {
        self.tokens.set(self.tokens.get() + 1);
        if !matches!(token, Token::ParseError(_)) {
            self.in_comment.set(matches!(token, Token::CommentToken(_)));
        }
        let token = match token {
            Token::EOFToken => token,
            // Nobody reads comments here, and every one would be a node.
            Token::ParseError(_) | Token::CommentToken(_) => return TokenSinkResult::Continue,
            _ if self.is_spent() => {
                self.note(Note::NodesCut);
                return TokenSinkResult::Continue;
            }
            Token::TagToken(mut tag) => {
                if tag.kind == TagKind::StartTag {
                    if !self.admit(&mut tag) {
                        return TokenSinkResult::Continue;
                    }
                } else {
                    let depth = self.depth.get();
                    self.depth.set(Depth {
                        stale: true,
                        ..depth
                    });
                }
                Token::TagToken(tag)
            }
            other => other,
        };
        self.builder.process_token(token, line)
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder
            .adjusted_current_node_present_but_not_in_html_namespace()
    }
}

/// Counts the handles the tree builder holds.
struct HandleCounter(Cell<usize>);

impl Tracer for HandleCounter {
    type Handle = <HtmlTreeSink as TreeSink>::Handle;

    fn trace_handle(&self, _node: &Self::Handle) {
        self.0.set(self.0.get() + 1);
    }
}
