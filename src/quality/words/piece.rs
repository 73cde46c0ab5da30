//! A piece of a text.

/// A word, or white space between words, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::quality) struct Piece {
    pub(in crate::quality) start: usize,
    pub(in crate::quality) end: usize,
}

impl Piece {
    pub(in crate::quality) fn of(self, text: &str) -> &str {
        text.get(self.start..self.end).unwrap_or_default()
    }
}

/// What Python takes for white space.
pub(in crate::quality) fn is_space(letter: char) -> bool {
    letter.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&letter)
}
