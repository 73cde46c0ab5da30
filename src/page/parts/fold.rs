//! Writes the text of one line, folded, and hashes it.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::echo::Echo;
use super::line::{Line, Role};
use crate::page::LineMask;
use crate::page::content::text::is_dropped;
use crate::unicode;

/// What a word of the URL is replaced by.
const MARK: u8 = 0x1A;

/// Stands for an apostrophe, though Unicode has it among the letters.
const LETTER_APOSTROPHE: char = 'ʼ';

/// Number of bytes for which room is made at once.
const CHUNK: usize = 4096;

/// One line in the making.
pub(super) struct LineWriter<'e> {
    echo: &'e Echo,
    mask: &'e LineMask,
    folded: Folded,
    /// The places of the words that stand in the URL too.
    spans: Vec<(usize, usize)>,
    /// Where the current word begins, if there is one.
    word: Option<usize>,
    words: u16,
    /// Whether a space is due before the next character.
    is_apart: bool,
    masked: Vec<u8>,
}

impl<'e> LineWriter<'e> {
    pub(super) fn new(echo: &'e Echo, mask: &'e LineMask) -> Self {
        Self {
            echo,
            mask,
            folded: Folded::default(),
            spans: Vec::new(),
            word: None,
            words: 0,
            is_apart: false,
            masked: Vec::new(),
        }
    }

    /// Requests a space before the next character.
    pub(super) fn separate(&mut self) {
        self.is_apart = true;
    }

    pub(super) fn push(&mut self, text: &str) {
        let text = unicode::composed(text);
        let mut rest = &*text;
        loop {
            let plain = self.push_ascii(rest.as_bytes());
            rest = rest.get(plain..).unwrap_or_default();
            let letters = self.push_letters(rest);
            rest = rest.get(letters..).unwrap_or_default();
            let Some(c) = rest.chars().next() else { return };
            if !c.is_ascii() {
                self.push_char(c);
                rest = rest.get(c.len_utf8()..).unwrap_or_default();
            }
        }
    }

    /// Ends the line. Returns nothing if nothing was written.
    pub(super) fn finish(&mut self, role: Role) -> Option<Line> {
        self.end_word();
        self.is_apart = false;
        if self.folded.length == 0 {
            return None;
        }
        if let Some(masked) = self.mask.apply(self.folded.text()) {
            self.clear();
            self.push(&masked);
            self.end_word();
        }
        let hash = xxh3_64(self.folded.text());
        let masked = self.masked_hash().unwrap_or(hash);
        let folded = self.folded.text();
        let digits = folded.iter().map(u8::is_ascii_digit);
        let (letters, sum) = match digits.fold(false, |any, digit| any | digit) {
            true => (without_digits(folded, 0, &mut self.masked), sum(folded)),
            false => (hash, 0),
        };
        let words = self.words;
        self.clear();
        Some(Line {
            hash,
            masked,
            letters,
            sum,
            words,
            is_link: false,
            role,
        })
    }

    fn clear(&mut self) {
        self.folded.length = 0;
        self.spans.clear();
        self.words = 0;
    }

    /// The hash of the line without the words of the URL, if it has any of them.
    fn masked_hash(&mut self) -> Option<u64> {
        if self.spans.is_empty() {
            return None;
        }
        let folded = self.folded.text();
        self.masked.clear();
        let mut at = 0;
        for &(from, to) in &self.spans {
            self.masked.extend_from_slice(folded.get(at..from)?);
            self.masked.push(MARK);
            at = to;
        }
        self.masked.extend_from_slice(folded.get(at..)?);
        Some(xxh3_64(&self.masked))
    }

    /// Writes up to the first character that is not ASCII. Returns how many bytes that were.
    fn push_ascii(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        for chunk in bytes.chunks(CHUNK) {
            let written = self.push_chunk(chunk);
            taken += written;
            if written < chunk.len() {
                break;
            }
        }
        taken
    }

    /// The same of a few bytes. This is much of what reading the parts of a page takes, so runs of
    /// letters and digits are taken eight bytes at a time.
    fn push_chunk(&mut self, bytes: &[u8]) -> usize {
        // A byte is written with at most a space in front of it.
        self.folded.make_room(2 * bytes.len());
        let (mut word, mut words, mut is_apart) = (self.word, self.words, self.is_apart);
        let (folded, mut length) = (&mut self.folded.bytes[..], self.folded.length);
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if matches!(class(byte), Class::Space) {
                is_apart = true;
                at += 1;
                continue;
            }
            let (run, lower) = word_run(&bytes[at..]);
            let is_word = run > 0;
            if is_word || matches!(class(byte), Class::Mark) {
                if !is_word || is_apart {
                    if let Some(from) = word.take()
                        && self.echo.has(&folded[from..length])
                    {
                        self.spans.push((from, length));
                    }
                    if is_apart && length > 0 {
                        folded[length] = b' ';
                        length += 1;
                    }
                    is_apart = false;
                }
                if is_word && word.is_none() {
                    word = Some(length);
                    words = words.saturating_add(1);
                }
                let written = if is_word { lower } else { [byte; 8] };
                folded[length..length + EIGHT].copy_from_slice(&written);
                length += run.max(1);
                at += run.max(1);
                // As behind most words.
                if bytes.get(at) == Some(&b' ') {
                    is_apart = true;
                    at += 1;
                }
                continue;
            }
            match class(byte) {
                Class::Other => break,
                Class::Word | Class::Space | Class::Mark | Class::Dropped => {}
            }
            at += 1;
        }
        (self.word, self.words, self.is_apart) = (word, words, is_apart);
        self.folded.length = length;
        at
    }

    /// Writes the letters and digits beyond ASCII with which a text begins, as far as lower case
    /// leaves them as they are. Returns how many bytes that were.
    fn push_letters(&mut self, text: &str) -> usize {
        let (mut end, mut words) = (0, 0_u16);
        for (at, c) in text.char_indices() {
            if c.is_ascii() || !unicode::is_lower_alphanumeric(c) || c == LETTER_APOSTROPHE {
                break;
            }
            end = at + c.len_utf8();
            words = words.saturating_add(u16::from(has_no_spaces(c)));
        }
        let Some(first) = text.get(..end).and_then(|it| it.chars().next()) else {
            return 0;
        };
        self.space();
        if self.word.is_none() {
            self.begin_word();
            // That counted the first one.
            words = words.saturating_sub(u16::from(has_no_spaces(first)));
        }
        self.words = self.words.saturating_add(words);
        self.folded
            .push(text.as_bytes().get(..end).unwrap_or_default());
        end
    }

    fn push_mark(&mut self, mark: &[u8]) {
        self.end_word();
        self.space();
        self.folded.push(mark);
    }

    fn push_char(&mut self, c: char) {
        match c {
            c if c.is_whitespace() => self.is_apart = true,
            c if is_dropped(c) => {}
            '\u{2018}'..='\u{201B}' | LETTER_APOSTROPHE => self.push_mark(b"'"),
            '\u{201C}'..='\u{201F}' | '«' | '»' => self.push_mark(b"\""),
            '\u{2010}'..='\u{2015}' => self.push_mark(b"-"),
            '…' => self.push_mark(b"..."),
            c if unicode::is_alphanumeric(c) => {
                self.space();
                if self.word.is_none() {
                    self.begin_word();
                } else if has_no_spaces(c) {
                    self.words = self.words.saturating_add(1);
                }
                for c in c.to_lowercase() {
                    self.push_raw(c);
                }
            }
            c => {
                // Marks that combine with letters are part of their word.
                if self.word.is_none() || !is_combining(c) {
                    self.end_word();
                }
                self.space();
                self.push_raw(c);
            }
        }
    }

    fn push_raw(&mut self, c: char) {
        let mut buffer = [0; 4];
        self.folded.push(c.encode_utf8(&mut buffer).as_bytes());
    }

    fn space(&mut self) {
        if self.is_apart {
            self.is_apart = false;
            self.end_word();
            if self.folded.length > 0 {
                self.folded.push(b" ");
            }
        }
    }

    fn begin_word(&mut self) {
        self.word = Some(self.folded.length);
        self.words = self.words.saturating_add(1);
    }

    fn end_word(&mut self) {
        let Some(from) = self.word.take() else { return };
        let to = self.folded.length;
        if self
            .folded
            .text()
            .get(from..)
            .is_some_and(|it| self.echo.has(it))
        {
            self.spans.push((from, to));
        }
    }
}

/// A folded text.
#[derive(Default)]
struct Folded {
    /// Longer than the text, so that eight bytes can be written at once.
    bytes: Vec<u8>,
    length: usize,
}

/// Number of bytes that are written at once.
const EIGHT: usize = 8;

impl Folded {
    fn text(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// Makes room for so many bytes more, and for eight that do not count.
    fn make_room(&mut self, bytes: usize) {
        const LEAST: usize = 512;
        let needed = self.length + bytes + EIGHT;
        if self.bytes.len() < needed {
            self.bytes.resize(needed.next_power_of_two().max(LEAST), 0);
        }
    }

    fn push(&mut self, text: &[u8]) {
        self.make_room(text.len());
        self.bytes[self.length..self.length + text.len()].copy_from_slice(text);
        self.length += text.len();
    }
}

/// The hash of a text in which every run of digits is replaced by a mark. `room` is overwritten.
pub(super) fn without_digits(text: &[u8], seed: u64, room: &mut Vec<u8>) -> u64 {
    room.clear();
    let mut rest = text;
    while let Some(at) = rest.iter().position(u8::is_ascii_digit) {
        let (before, digits) = rest.split_at(at);
        room.extend_from_slice(before);
        if room.last() != Some(&MARK) {
            room.push(MARK);
        }
        let end = digits.iter().position(|byte| !byte.is_ascii_digit());
        rest = digits
            .get(end.unwrap_or(digits.len())..)
            .unwrap_or_default();
    }
    room.extend_from_slice(rest);
    xxh3_64_with_seed(room, seed)
}

/// The sum of the numbers in a text, modulo 2^32.
fn sum(text: &[u8]) -> u32 {
    let (mut sum, mut number) = (0_u32, 0_u32);
    for byte in text {
        if byte.is_ascii_digit() {
            let digit = u32::from(byte - b'0');
            number = number.wrapping_mul(10).wrapping_add(digit);
        } else {
            sum = sum.wrapping_add(number);
            number = 0;
        }
    }
    sum.wrapping_add(number)
}

/// Whether this is a character of a script that is written without spaces.
fn has_no_spaces(c: char) -> bool {
    matches!(c, '\u{E00}'..='\u{EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}'
        | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{20000}'..='\u{3FFFF}')
}

/// Whether this combines with the letter before it: accents, vowel signs, joiners.
fn is_combining(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36F}' | '\u{591}'..='\u{5C7}' | '\u{610}'..='\u{61A}'
        | '\u{64B}'..='\u{65F}' | '\u{900}'..='\u{903}' | '\u{93A}'..='\u{94F}'
        | '\u{980}'..='\u{DFF}' | '\u{E31}'..='\u{E4E}' | '\u{1AB0}'..='\u{1AFF}'
        | '\u{200C}' | '\u{200D}' | '\u{3099}' | '\u{309A}')
}

/// Number of ASCII letters and digits with which a text begins, up to eight, and its first bytes
/// with these in lower case.
#[inline]
fn word_run(bytes: &[u8]) -> (usize, [u8; 8]) {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut eight = [0; 8];
    match bytes.first_chunk::<8>() {
        Some(first) => eight = *first,
        None => eight[..bytes.len()].copy_from_slice(bytes),
    }
    let eight = u64::from_le_bytes(eight);
    // Sets the high bit of each byte that is at least `low`. The high bit of every byte is set
    // first, so that none borrows from its neighbour.
    let at_least = |of: u64, low: u8| (of | HIGH).wrapping_sub(u64::from_le_bytes([low; 8])) & HIGH;
    let capitals = at_least(eight, b'A') & !at_least(eight, b'Z' + 1) & !eight;
    let lower = eight | capitals >> 2;
    let letters = at_least(lower, b'a') & !at_least(lower, b'z' + 1);
    let digits = at_least(lower, b'0') & !at_least(lower, b'9' + 1);
    let others = !(letters | digits) & HIGH | lower & HIGH;
    (others.trailing_zeros() as usize / 8, lower.to_le_bytes())
}

/// What a byte is in a folded line.
#[derive(Clone, Copy)]
enum Class {
    Word,
    Space,
    Mark,
    Dropped,
    /// Part of a character beyond ASCII.
    Other,
}

#[inline]
fn class(byte: u8) -> Class {
    CLASSES[usize::from(byte)]
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    let mut byte = 0;
    while byte < 128 {
        let c = byte as u8;
        classes[byte] = if c.is_ascii_alphanumeric() {
            Class::Word
        } else if matches!(c, b' ' | b'\t' | b'\n' | 0xB | 0xC | b'\r') {
            Class::Space
        } else if c.is_ascii_control() {
            Class::Dropped
        } else {
            Class::Mark
        };
        byte += 1;
    }
    classes
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type State = (Vec<u8>, Vec<(usize, usize)>, (Option<usize>, u16, bool));

    /// All that was written, and what decides how the next text goes on.
    fn state(it: &LineWriter<'_>) -> State {
        let next = (it.word, it.words, it.is_apart);
        (it.folded.text().to_vec(), it.spans.clone(), next)
    }

    proptest! {
        /// Taking runs of letters gives the same as taking one character at a time.
        #[test]
        fn letters_are_folded_like_any_text(texts in prop::collection::vec("[a-cäÄßñ 語言日ん東がΣя\u{2bc}\u{2019}\u{301}\u{ad}\u{e01}İ²-]{0,20}", 0..4)) {
            let url = crate::url::parse("http://a.example/a/b-1/%E8%AA%9E?c=ä").unwrap();
            let (echo, mask) = (Echo::of(&url), LineMask::default());
            let [mut fast, mut plain] = [(); 2].map(|()| LineWriter::new(&echo, &mask));
            for text in texts {
                fast.push(&text);
                unicode::composed(&text).chars().for_each(|c| plain.push_char(c));
            }
            prop_assert_eq!(state(&fast), state(&plain));
        }

        /// Taking eight bytes at a time gives the same as taking one character at a time.
        #[test]
        fn ascii_is_folded_like_any_text(texts in prop::collection::vec("[ -~]{0,90}|[a-zA-Z0-9 \\n\\x7f\\x1f.]{0,90}", 0..4)) {
            let url = crate::url::parse("http://a.example/a/b-1/zz?c=Is").unwrap();
            let (echo, mask) = (Echo::of(&url), LineMask::default());
            let [mut fast, mut plain] = [(); 2].map(|()| LineWriter::new(&echo, &mask));
            for text in texts {
                prop_assert_eq!(fast.push_ascii(text.as_bytes()), text.len());
                text.chars().for_each(|c| plain.push_char(c));
                prop_assert_eq!(state(&fast), state(&plain));
            }
            let beyond = "caf\u{e9} and".as_bytes();
            prop_assert_eq!(fast.push_ascii(beyond), 3);
        }
    }
}
