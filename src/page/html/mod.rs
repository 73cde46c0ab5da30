//! From text to a flat outline: tokens without what is never read, a bounded tree as a list
//! (`nodes.rs`), and its elements and texts as two lists in document order.
//!
//! Most pages are read in one pass (`plain.rs`), the others by html5ever (`tokens.rs`, `sink.rs`).
//! What a server sent late is put into its place (`streamed.rs`).

mod lexer;
mod start_tags;
mod tokens;
mod unread;
mod unscripted;

mod sink;
mod tree;

mod names;
mod nesting;
mod nodes;
mod plain;

mod class_words;
mod tag;
mod traits;

mod formula;
mod outline;
mod streamed;

pub(super) use nodes::Element;
pub(super) use outline::{Outline, OutlineElement, Sight, TextNode, attribute, has_token};
pub(super) use start_tags::{Markup, StartTag, each_start_tag};
pub(super) use tag::{Break, Tag};
pub(super) use traits::{bit, each_word_of};
pub(super) use tree::parse;
