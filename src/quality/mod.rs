//! Measures of texts by which pages are chosen for corpora: those of the filters of Gopher, C4 and
//! FineWeb, as the library datatrove computes them. docs/quality.md defines each.
//!
//! What is measured is a text and its language; nothing is changed. Words are told apart as
//! datatrove does it (`words`), because every measure depends on it.

mod filter;
mod language;
mod lines;
mod measure;
mod punctuation;
mod repeats;
mod sentences;
mod words;

pub use filter::{Filter, Judgement, Reason};
pub use measure::{Quality, WordMeasures};

/// Measures a text in this language, which is a code as `en` or `ast`.
pub fn measure(text: &str, language: Option<&str>) -> Quality {
    measure::of(text, language)
}

#[cfg(test)]
mod tests;
