//! Cuts text to a number of bytes at a character boundary.

use super::options::Note;

/// The beginning of a page that is longer than `max_bytes`, which is noted.
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

/// `text` with its white space collapsed and without control characters, cut to at most `max_bytes`
/// at a character boundary.
pub(crate) fn collapse(text: &str, max_bytes: usize) -> String {
    let mut collapsed = String::new();
    for word in text.split_whitespace() {
        if word.chars().all(char::is_control) {
            continue;
        }
        if !collapsed.is_empty() {
            collapsed.push(' ');
        }
        collapsed.extend(word.split(char::is_control));
        if collapsed.len() > max_bytes {
            break;
        }
    }
    collapsed.truncate(floor_char_boundary(&collapsed, max_bytes));
    collapsed.truncate(collapsed.trim_end().len());
    collapsed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_are_no_words() {
        let check = |text, expected| assert_eq!(collapse(text, 12), expected);
        check(" a \u{1b}[31mb \u{7} \u{9b}c", "a [31mb c");
        check("\u{1b}\u{7}", "");
        check("a cat is here now", "a cat is her");
    }
}
