//! A page unit by unit: its lines, images, data and form values as hashes, for the questions what
//! of a page is template of its site and what is its own.
//!
//! The hashes are made from the outline and the blocks that exist when a page is read; nothing is
//! parsed twice. What a line means for a verdict is decided elsewhere.

mod line;

mod address;
mod domain_label;
mod echo;
mod fold;
mod layout;
mod media;
mod state;

mod collect;

#[cfg(test)]
mod tests;

pub use line::{Line, MAX_LINES, Parts, Role};

pub(super) use collect::{of_page, of_text};
