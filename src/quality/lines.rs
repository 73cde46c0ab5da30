//! Lines of a text, as Python tells them apart.

use super::words::is_space;

/// The lines of a text, by every character that ends one; the last may have no end.
pub(super) fn all(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut start = 0;
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let length = match byte {
            b'\r' if bytes.get(at + 1) == Some(&b'\n') => 2,
            b'\n'..=b'\r' | 0x1c..=0x1e => 1,
            0xc2 if bytes.get(at + 1) == Some(&0x85) => 2,
            0xe2 if matches!(bytes.get(at + 1..at + 3), Some([0x80, 0xa8 | 0xa9])) => 3,
            _ => {
                at += 1;
                continue;
            }
        };
        lines.extend(text.get(start..at));
        at += length;
        start = at;
    }
    if start < text.len() {
        lines.extend(text.get(start..));
    }
    lines
}

/// The parts of a text between runs of at least so many newlines.
pub(super) fn between_newlines(text: &str, at_least: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('\n')) {
        let first = at + found;
        let rest = text.get(first..).unwrap_or_default();
        let count = rest.bytes().take_while(|byte| *byte == b'\n').count();
        at = first + count;
        if count >= at_least {
            parts.extend(text.get(start..first));
            start = at;
        }
    }
    parts.extend(text.get(start..));
    parts
}

/// The text without white space at its ends.
pub(super) fn stripped(text: &str) -> &str {
    text.trim_matches(is_space)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_where_python_ends_them() {
        let check = |text, expected: &[&str]| assert_eq!(all(text), expected, "{text:?}");
        check(
            "a\nb\r\nc\rd\u{85}e\u{2028}f",
            &["a", "b", "c", "d", "e", "f"],
        );
        check("a\n\nb\n", &["a", "", "b"]);
        check("", &[]);
    }

    #[test]
    fn parts_are_between_newlines() {
        let check = |text, at_least, expected: &[&str]| {
            assert_eq!(between_newlines(text, at_least), expected, "{text:?}");
        };
        check("a\n\nb\nc", 1, &["a", "b", "c"]);
        check("a\n\nb\nc", 2, &["a", "b\nc"]);
        check("\na\n", 1, &["", "a", ""]);
        check("", 1, &[""]);
    }
}
