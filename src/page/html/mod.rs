//! From text to a flat outline: tokens without what is never read, a bounded tree, and its elements
//! and texts as two lists in document order.

mod lexer;
mod start_tags;
mod tokens;
mod unread;

mod sink;
mod tree;

mod class_words;
mod tag;
mod traits;

mod formula;
mod outline;

pub(super) use outline::{Outline, OutlineElement, Sight, TextNode, attribute, has_token};
pub(super) use start_tags::{Markup, StartTag, each_start_tag};
pub(super) use tag::{Break, Tag};
pub(super) use traits::{bit, each_word_of};
pub(super) use tree::parse;
