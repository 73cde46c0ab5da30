//! The words of a text, as the rules of spaCy tell them apart, which the tools that filter corpora
//! count: <https://spacy.io/usage/linguistic-features#how-tokenizer-works>.
//!
//! Steps, for each piece of text between white space: (1) what is an exception is cut as its table
//! says; (2) prefixes and suffixes are taken off, one after another, until an exception or nothing
//! to take off is left; (3) what is left is one word if it is a URL, and is cut at its infixes
//! otherwise. (4) At the end, exceptions that were cut nevertheless are put right.
//!
//! The tables are those of spaCy (`rules/`, made by `benches/make_word_rules.py`).

mod affixes;
mod cutter;
mod pattern;
mod piece;
mod rules;
mod set;
mod special;

pub(super) use piece::{Piece, is_space};
pub(super) use rules::{Rules, of};

#[cfg(test)]
mod tests;
