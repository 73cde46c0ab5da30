//! Cuts text to so many bytes, at a character.

use super::options::Note;

/// The beginning of a page that is too long.
pub(crate) fn within<'a>(text: &'a str, max_bytes: usize, notes: &mut Vec<Note>) -> &'a str {
    if text.len() <= max_bytes {
        return text;
    }
    notes.push(Note::BytesCut);
    &text[..floor_char_boundary(text, max_bytes)]
}

/// The largest character boundary of `text` that is not after `at`.
pub(crate) fn floor_char_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len()))
        .rev()
        .find(|&at| text.is_char_boundary(at))
        .unwrap_or(0)
}

/// `text` with its white space collapsed, cut to at most `max_bytes` at a character.
pub(crate) fn collapse(text: &str, max_bytes: usize) -> String {
    let mut collapsed = String::new();
    for word in text.split_whitespace() {
        if !collapsed.is_empty() {
            collapsed.push(' ');
        }
        collapsed.push_str(word);
        if collapsed.len() > max_bytes {
            break;
        }
    }
    collapsed.truncate(floor_char_boundary(&collapsed, max_bytes));
    collapsed.truncate(collapsed.trim_end().len());
    collapsed
}
