//! From the outline to the main text: blocks, the features of each, the likelihood that each is
//! content, and the chosen ones as plain text, Markdown or HTML.

mod main_text;

mod blocks;
mod features;
mod structure;

mod model;
mod model_trees;

pub(super) mod headline;

mod apart;
pub(super) mod markdown;
pub(super) mod markup;
mod passage;
pub(super) mod text;

pub mod study;

pub(super) use blocks::TextBlock;
pub(super) use main_text::{chosen_blocks, main_blocks, main_text};
pub(super) use passage::Links;
