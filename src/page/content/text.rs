//! Text as a reader sees it: blocks on lines, white space collapsed, words neither joined nor
//! split. Preformatted text keeps its white space, apart from what stands around it.
//!
//! Every text node carries the break before it (`outline.rs`), so writing text is one walk over the
//! chosen nodes; the breaks of nodes left out are applied to the next one kept.

use memchr::memchr_iter;

use super::apart::is_apart;
use crate::page::cut::floor_char_boundary;
use crate::page::html::{Break, Outline, Sight, TextNode};
use crate::page::options::Note;

/// If less visible text than this is found, in bytes, and there is ten times as much hidden text,
/// the hidden text is taken as well: scripts reveal the page, and `hidden` or `<noscript>` holds
/// its content.
const MIN_SHOWN_BYTES: usize = 300;

/// What counts as visible on this page.
pub(crate) fn sight(outline: &Outline<'_>) -> Sight {
    let (mut shown, mut hidden) = (0, 0);
    for text in &outline.texts {
        match text.sight {
            Sight::Shown => {
                shown += text.characters.trim().len();
                if shown >= MIN_SHOWN_BYTES {
                    return Sight::Shown;
                }
            }
            Sight::Hidden => hidden += text.characters.trim().len(),
            Sight::Never => {}
        }
    }
    if hidden > 10 * shown {
        Sight::Hidden
    } else {
        Sight::Shown
    }
}

/// The visible text of a page.
pub(crate) fn full(
    outline: &Outline<'_>,
    sight: Sight,
    max_bytes: usize,
    notes: &mut Vec<Note>,
) -> String {
    let seen = outline.texts.iter().filter(|text| text.sight <= sight);
    let mut writer = Writer::with_room(seen, max_bytes);
    for text in &outline.texts {
        writer.separate(text.before);
        if text.sight <= sight {
            writer.push(text.characters, text.preformatted);
        }
    }
    if writer.cut {
        notes.push(Note::TextCut);
    }
    writer.text
}

/// Writes the texts in a range of them that are as visible as `sight`, without what is not of the
/// text around it.
pub(crate) fn write(
    writer: &mut Writer,
    outline: &Outline<'_>,
    (start, end): (usize, usize),
    sight: Sight,
) {
    for text in outline.texts.get(start..end).unwrap_or_default() {
        writer.separate(text.before);
        if text.sight <= sight && !is_apart(outline, text) {
            writer.push(text.characters, text.preformatted);
        }
    }
}

/// Writes the empty lines of code between two blocks, which are in neither.
pub(crate) fn write_gap(writer: &mut Writer, outline: &Outline<'_>, range: (usize, usize)) {
    let gap = outline.texts.get(range.0..range.1).unwrap_or_default();
    let is_blank = |text: &TextNode<'_>| text.preformatted && is_blank(text.characters);
    if gap.iter().all(is_blank) {
        write(writer, outline, range, Sight::Hidden);
    }
}

/// Plain text with uniform line ends and without control characters.
pub(crate) fn plain(text: &str, max_bytes: usize, notes: &mut Vec<Note>) -> String {
    let mut writer = Writer::new(max_bytes);
    writer.push_preformatted(text);
    if writer.cut {
        notes.push(Note::TextCut);
    }
    writer.text
}

/// Writes runs of text with the breaks between them.
pub(crate) struct Writer {
    pub(crate) text: String,
    /// Whether something did not fit.
    pub(crate) cut: bool,
    max_bytes: usize,
    pending: Break,
    /// White space of preformatted text that is written if more of that text follows.
    blank: String,
    /// Whether what was written last is preformatted.
    is_preformatted: bool,
}

impl Writer {
    /// An empty text that takes up to `max_bytes`.
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            text: String::new(),
            cut: false,
            max_bytes,
            pending: Break::None,
            blank: String::new(),
            is_preformatted: false,
        }
    }

    /// The same with room for these.
    pub(crate) fn with_room<'t>(
        texts: impl Iterator<Item = &'t TextNode<'t>>,
        max_bytes: usize,
    ) -> Self {
        // With the break behind each.
        let bytes: usize = texts.map(|text| text.characters.len() + 1).sum();
        Self {
            text: String::with_capacity(bytes.min(max_bytes)),
            ..Self::new(max_bytes)
        }
    }

    /// Requests at least this break before the next word.
    pub(crate) fn separate(&mut self, by: Break) {
        self.pending = self.pending.max(by);
        if by == Break::Line && !self.blank.is_empty() {
            // What ends a line is not seen; lines that are empty are.
            let end = self.blank.rfind('\n').map_or(0, |at| at + 1);
            self.blank.truncate(end);
        }
    }

    /// Writes the text of one node.
    pub(crate) fn push(&mut self, text: &str, preformatted: bool) {
        if preformatted {
            self.push_preformatted(text);
        } else {
            self.push_collapsed(text);
        }
    }

    fn push_collapsed(&mut self, text: &str) {
        if text.starts_with(char::is_whitespace) {
            self.separate(Break::Space);
        }
        if self.push_plain(text) {
            return;
        }
        for word in text.split_whitespace() {
            self.push_word(word);
            self.pending = Break::Space;
        }
        if !text.is_empty() && !text.ends_with(char::is_whitespace) && !is_blank(text) {
            self.pending = Break::None;
        }
    }

    /// Writes what has no white space beyond ASCII and nothing to drop, like most texts, as a
    /// whole. Returns `false` if it may have, or may not fit.
    fn push_plain(&mut self, text: &str) -> bool {
        let inner = text.trim_ascii();
        let bytes = inner.as_bytes();
        if bytes.is_empty() {
            return true;
        }
        if self.max_bytes.saturating_sub(self.text.len()) <= bytes.len() {
            return false;
        }
        let is_even = is_even(bytes);
        // Whole texts are examined, without an early exit, so that many bytes are at once.
        let is_space = u8::is_ascii_whitespace;
        let is_other = |byte: &u8| byte.is_ascii() && !byte.is_ascii_graphic() && !is_space(byte);
        if !is_even && bytes.iter().fold(false, |any, byte| any | is_other(byte)) {
            return false;
        }
        if !bytes.is_ascii() && has_blank_or_dropped(bytes) {
            return false;
        }
        self.leave_preformatted();
        match self.pending {
            _ if self.text.is_empty() => {}
            Break::None => {}
            Break::Space => self.text.push(' '),
            Break::Line => self.text.push('\n'),
        }
        if is_even {
            self.text.push_str(inner);
        } else {
            self.push_lines(inner);
        }
        self.pending = match text.ends_with(|c: char| c.is_ascii_whitespace()) {
            true => Break::Space,
            false => Break::None,
        };
        true
    }

    /// Writes a text with each run of white space as one space, line by line: the source of most
    /// paragraphs is wrapped, and has single spaces otherwise.
    fn push_lines(&mut self, text: &str) {
        let mut from = 0;
        let ends = memchr_iter(b'\n', text.as_bytes());
        for end in ends.chain(std::iter::once(text.len())) {
            let line = text.get(from..end).unwrap_or_default().trim_ascii();
            from = end + 1;
            if line.is_empty() {
                continue;
            }
            if is_even(line.as_bytes()) {
                self.text.push_str(line);
            } else {
                self.push_stretches(line);
            }
            if end < text.len() {
                self.text.push(' ');
            }
        }
    }

    /// Writes a text with each run of white space as one space. What has single spaces already is
    /// copied at once.
    fn push_stretches(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let is_space = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_whitespace);
        let (mut from, mut at) = (0, 0);
        while let Some(byte) = bytes.get(at) {
            if !byte.is_ascii_whitespace() || (*byte == b' ' && !is_space(at + 1)) {
                at += 1;
                continue;
            }
            self.text.push_str(text.get(from..at).unwrap_or_default());
            self.text.push(' ');
            while is_space(at) {
                at += 1;
            }
            from = at;
        }
        self.text.push_str(text.get(from..).unwrap_or_default());
    }

    /// Writes text with its white space. What stands before its first line and after its last one
    /// is left out, so that a text is the same with and without what is around it.
    fn push_preformatted(&mut self, text: &str) {
        const SPACES: [char; 4] = [' ', '\t', '\n', '\r'];
        let words = text.trim_end_matches(SPACES);
        let (words, after) = text.split_at(words.len());
        let (before, words) = words.split_at(words.len() - words.trim_start_matches(SPACES).len());
        self.hold(before);
        if !is_blank(words) {
            if self.text.is_empty() || !self.is_preformatted {
                if !self.text.is_empty() {
                    self.push_break();
                }
                let indent = self.blank.rfind('\n').map_or(0, |at| at + 1);
                self.blank.drain(..indent);
            } else if self.pending > Break::None {
                let is_apart = match self.pending {
                    Break::Line => self.blank.contains('\n'),
                    _ => !self.blank.is_empty(),
                };
                if !is_apart {
                    self.push_break();
                }
            }
            if !self.blank.is_empty() {
                let blank = std::mem::take(&mut self.blank);
                self.push_str(&blank);
                self.blank = blank;
                self.blank.clear();
            }
            self.pending = Break::None;
            self.is_preformatted = true;
            match is_kept_as_it_is(words.as_bytes()) {
                true => self.push_str(words),
                false => self.push_kept(words),
            }
        }
        self.hold(after);
    }

    /// Keeps white space until it is known whether text follows.
    fn hold(&mut self, blank: &str) {
        if blank.is_empty() {
            return;
        }
        let room = self
            .max_bytes
            .saturating_sub(self.text.len() + self.blank.len());
        let kept = blank.chars().filter(|c| *c != '\r').take(room);
        self.blank.extend(kept);
    }

    /// Makes of what preformatted text ended with a break before other text.
    fn leave_preformatted(&mut self) {
        if !self.blank.is_empty() {
            let is_line = self.blank.contains('\n');
            self.pending = self.pending.max(match is_line {
                true => Break::Line,
                false => Break::Space,
            });
            self.blank.clear();
        }
        self.is_preformatted = false;
    }

    fn push_break(&mut self) {
        match self.pending {
            Break::None => {}
            Break::Space => self.push_str(" "),
            Break::Line => self.push_str("\n"),
        }
    }

    /// Writes text without the invisible characters in it.
    fn push_kept(&mut self, text: &str) {
        let is_dropped = |c: char| is_dropped(c) && c != '\n';
        for part in text.split(is_dropped) {
            self.push_str(part);
        }
    }

    fn push_word(&mut self, word: &str) {
        let is_plain = word.bytes().all(|byte| byte.is_ascii_graphic());
        if word.is_empty() || (!is_plain && is_blank(word)) {
            return;
        }
        self.leave_preformatted();
        if !self.text.is_empty() {
            self.push_break();
        }
        self.pending = Break::None;
        match is_plain {
            true => self.push_str(word),
            false => self.push_kept(word),
        }
    }

    fn push_str(&mut self, part: &str) {
        let room = self.max_bytes.saturating_sub(self.text.len());
        if part.len() > room {
            self.cut = true;
            self.text.push_str(
                part.get(..floor_char_boundary(part, room))
                    .unwrap_or_default(),
            );
            self.max_bytes = self.text.len();
        } else {
            self.text.push_str(part);
        }
    }
}

/// Whether all that a text has of ASCII is printable, with single spaces. May be wrong about a text
/// that has `!` beside a space, and says then that it has not.
///
/// Most texts are short, so those are read by few overlapping words, and not copied; of longer ones
/// many bytes are looked at at once.
fn is_even(bytes: &[u8]) -> bool {
    const LONG: usize = STRETCH + 1;
    let word = |at: usize| {
        let eight = bytes.get(at..).and_then(<[u8]>::first_chunk);
        u64::from_le_bytes(eight.copied().unwrap_or([b'x'; 8]))
    };
    let Some(last) = bytes.len().checked_sub(8) else {
        let shifted = |word: u64, byte: &u8| word << 8 | u64::from(*byte);
        return is_even_word(bytes.iter().fold(u64::from_le_bytes([b'x'; 8]), shifted));
    };
    // What is looked at begins in what was before it, for two spaces may be in both.
    if bytes.len() < LONG {
        return is_even_word(word(0)) & is_even_word(word(last / 2)) & is_even_word(word(last));
    }
    let stretches = bytes.windows(LONG).step_by(STRETCH);
    let end = bytes.last_chunk::<LONG>().map(<[u8; LONG]>::as_slice);
    stretches.chain(end).all(is_even_stretch) && is_even_word(word(last))
}

/// Bytes that are looked at at once.
const STRETCH: usize = 16;

/// The same of a stretch, and of the byte behind it as far as that follows a space. Without an
/// early exit, and without `&&`, so that all are looked at at once.
#[inline]
fn is_even_stretch(bytes: &[u8]) -> bool {
    let next = bytes.split_first().and_then(|it| it.1.first_chunk());
    let Some((bytes, next)) = bytes.first_chunk::<STRETCH>().zip(next) else {
        return true;
    };
    let is_odd = |byte: u8, next: u8| {
        u8::from(byte < b' ')
            | u8::from(byte == 0x7f)
            | u8::from(byte == b' ') & u8::from(next == b' ')
    };
    let pairs = bytes.iter().zip::<&[u8; STRETCH]>(next);
    pairs.fold(0, |any, (byte, next)| any | is_odd(*byte, *next)) == 0
}

/// The same of eight bytes.
#[inline]
fn is_even_word(eight: u64) -> bool {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    const ONES: u64 = 0x0101_0101_0101_0101;
    let has_zero = |eight: u64| eight.wrapping_sub(ONES) & !eight & HIGH;
    let control = eight.wrapping_sub(ONES * 0x20) & !eight & HIGH;
    let delete = has_zero(eight ^ (ONES * 0x7f));
    let spaces = has_zero(eight ^ (ONES * 0x20));
    control | delete | (spaces & spaces << 8) == 0
}

/// Whether a text has white space beyond ASCII, or invisible characters to drop beyond it.
fn has_blank_or_dropped(bytes: &[u8]) -> bool {
    let at = |at: usize| bytes.get(at).copied().unwrap_or_default();
    bytes.iter().enumerate().any(|(place, byte)| match byte {
        0xC2 => matches!(at(place + 1), 0x80..=0xA0 | 0xAD),
        0xE1 => at(place + 1) == 0x9A && at(place + 2) == 0x80,
        0xE2 => match at(place + 1) {
            0x80 => matches!(at(place + 2), 0x80..=0x8B | 0xA8 | 0xA9 | 0xAF),
            0x81 => matches!(at(place + 2), 0x9F | 0xA0),
            _ => false,
        },
        0xE3 => at(place + 1) == 0x80 && at(place + 2) == 0x80,
        0xEF => at(place + 1) == 0xBB && at(place + 2) == 0xBF,
        _ => false,
    })
}

/// Whether nothing of `word` is visible.
fn is_blank(word: &str) -> bool {
    word.chars().all(|c| is_dropped(c) || c.is_whitespace())
}

/// Whether a preformatted text has nothing that is dropped. Whole texts are examined, without an
/// early exit and without branches, so that many bytes are at once.
fn is_kept_as_it_is(text: &[u8]) -> bool {
    let is_kept = |byte: u8| {
        let is_visible = u8::from(byte.wrapping_sub(b' ') <= b'~' - b' ');
        is_visible | u8::from(byte == b'\n') | u8::from(byte == b'\t')
    };
    text.iter().fold(1, |all, byte| all & is_kept(*byte)) == 1
}

/// Whether this is an invisible character. Some sites sprinkle them over their words, which would
/// make equal texts differ. The joiners U+200C and U+200D carry meaning and stay.
pub(crate) fn is_dropped(c: char) -> bool {
    matches!(c, '\u{AD}' | '\u{200B}' | '\u{2060}' | '\u{FEFF}') || (c.is_control() && c != '\t')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_even_is_written_as_it_is(text in "[ -~]{0,40}|[ a-c!\\x00\\x1f\\x7f\\n\u{e9}]{0,20}|[a-z]{1,9}( [a-z]{1,9}){0,9}( {0,2}|\\x7f)[a-z]{0,20}") {
            let is_simple = !text.contains(|c: char| c.is_ascii_control()) && !text.contains("  ");
            if text.contains(" !") || text.contains("! ") {
                prop_assert!(is_simple || !is_even(text.as_bytes()));
            } else {
                prop_assert_eq!(is_even(text.as_bytes()), is_simple);
            }
            let mut writer = Writer::new(1_000);
            writer.push(&text, false);
            let mut plainly = Writer::new(1_000);
            for word in text.split_whitespace() {
                plainly.push_word(word);
                plainly.pending = Break::Space;
            }
            prop_assert_eq!(writer.text, plainly.text);
        }

        #[test]
        fn what_is_beyond_ascii_is_written_as_word_by_word(text in "([a-c ]|[\u{80}-\u{2fff}]|[\u{3000}\u{ad}\u{a0}\u{feff}\u{2019}]){0,12}") {
            let mut writer = Writer::new(1_000);
            writer.push(&text, false);
            let mut plainly = Writer::new(1_000);
            for word in text.split_whitespace() {
                plainly.push_word(word);
                plainly.pending = Break::Space;
            }
            prop_assert_eq!(writer.text, plainly.text);
        }
    }

    #[test]
    fn every_blank_and_every_character_that_is_dropped_is_seen() {
        for c in ('\u{80}'..=char::MAX).map(|c| (c, c.to_string())) {
            let (c, text) = c;
            let expected = c.is_whitespace() || is_dropped(c);
            assert_eq!(has_blank_or_dropped(text.as_bytes()), expected, "{c:?}");
        }
    }
}
