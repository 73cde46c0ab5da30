//! Text of strangers on a terminal: titles, URLs and errors come from pages and servers, and must
//! neither move the cursor nor change what stands beside them.
//!
//! Everything that the command line prints goes through [`shown`]: messages, log lines and answers
//! always, data only where it goes to a terminal, so that it reaches a file or a program as it is.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, StdoutLock, Write};
use std::os::fd::{AsFd, BorrowedFd};

/// Returns text as it may stand on a terminal: control characters other than line breaks and tabs,
/// and marks that change the direction of what follows, are written as `\u001b`. JSON stays JSON
/// that says the same.
pub(super) fn shown(text: &str) -> Cow<'_, str> {
    escaped(text, is_dangerous)
}

/// As [`shown`], for lines with colors of our own: their escape sequences stay. Those in the values
/// that are logged are escaped before.
pub(super) fn shown_in_color(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c != '\u{1b}' && is_dangerous(c))
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if is_escaped(letter) {
            // Writing to a string cannot fail.
            let _ = write!(escaped, "\\u{:04x}", u32::from(letter));
        } else {
            escaped.push(letter);
        }
    }
    escaped.into()
}

/// Whether a terminal does more with a character than to show it.
fn is_dangerous(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        // Marks of direction (Unicode Standard Annex 9), and separators of lines and paragraphs.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            true
        }
        _ => letter.is_control(),
    }
}

/// Standard output for data: as it is, unless it is a terminal.
pub(super) struct Data {
    out: StdoutLock<'static>,
    is_terminal: bool,
    /// The beginning of a character whose end has not come yet.
    rest: Vec<u8>,
}

impl Data {
    /// Takes standard output.
    pub(super) fn lock() -> Self {
        let out = io::stdout().lock();
        Self {
            is_terminal: out.is_terminal(),
            out,
            rest: Vec::new(),
        }
    }
}

impl AsFd for Data {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.out.as_fd()
    }
}

impl Write for Data {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            return self.out.write(bytes);
        }
        self.rest.extend_from_slice(bytes);
        let (whole, rest) = whole_characters(&self.rest);
        self.out.write_all(shown(&whole).as_bytes())?;
        self.rest = rest;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Returns the text of bytes, and the beginning of a character at their end.
fn whole_characters(bytes: &[u8]) -> (String, Vec<u8>) {
    let end = match str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    };
    let (whole, rest) = bytes.split_at(end);
    (String::from_utf8_lossy(whole).into_owned(), rest.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_the_cursor_is_escaped() {
        let check = |text: &str, expected: &str| assert_eq!(shown(text), expected);
        check(
            "\u{1b}]0;PWN\u{7}\u{1b}[31m",
            "\\u001b]0;PWN\\u0007\\u001b[31m",
        );
        check(
            "a\u{9b}31m\u{202e}b\u{2066}\u{200f}",
            "a\\u009b31m\\u202eb\\u2066\\u200f",
        );
        check("a\rb\u{8}\u{7f}\u{2028}", "a\\u000db\\u0008\\u007f\\u2028");
        for kept in ["two\n\tlines", "äß中文 – “”", "עברית", "👩\u{200d}💻", ""]
        {
            check(kept, kept);
        }
        assert_eq!(shown_in_color("\u{1b}[2mx\u{9b}"), "\u{1b}[2mx\\u009b");
    }

    #[test]
    fn json_stays_the_same_json() {
        let value = serde_json::json!({"title": "a\u{1b}\u{9b}\u{202e}\u{7f}"});
        let line = value.to_string();
        let shown = shown(&line);
        assert_ne!(shown, line);
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&shown).unwrap(),
            value
        );
    }

    #[test]
    fn characters_are_not_cut() {
        let text = "ä\u{9b}中x".as_bytes();
        let (mut whole, mut rest) = (String::new(), Vec::new());
        for byte in text {
            rest.push(*byte);
            let (more, left) = whole_characters(&rest);
            whole += &more;
            rest = left;
        }
        assert_eq!((whole.as_bytes(), rest.as_slice()), (text, &[][..]));
    }
}
