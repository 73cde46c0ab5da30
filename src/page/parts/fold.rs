//! Writes the text of one line, folded, and hashes it.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::echo::Echo;
use super::line::{Line, Role};
use crate::page::content::text::is_dropped;

/// What a word of the URL is replaced by.
const MARK: u8 = 0x1A;

/// One line in the making.
pub(super) struct LineWriter<'e> {
    echo: &'e Echo,
    folded: Vec<u8>,
    /// The places of words that stand in the URL.
    echoed: Vec<(usize, usize)>,
    /// Where the current word begins, if there is one.
    word: Option<usize>,
    words: u16,
    has_digits: bool,
    /// Whether a space is due before the next character.
    is_apart: bool,
    masked: Vec<u8>,
}

impl<'e> LineWriter<'e> {
    pub(super) fn new(echo: &'e Echo) -> Self {
        Self {
            echo,
            folded: Vec::with_capacity(256),
            echoed: Vec::new(),
            word: None,
            words: 0,
            has_digits: false,
            is_apart: false,
            masked: Vec::new(),
        }
    }

    /// Requests a space before the next character.
    pub(super) fn separate(&mut self) {
        self.is_apart = true;
    }

    pub(super) fn push(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match class(byte) {
                Class::Word => {
                    let rest = bytes.get(at..).unwrap_or_default();
                    let is_end = |it: &u8| !matches!(class(*it), Class::Word);
                    let length = rest.iter().position(is_end).unwrap_or(rest.len());
                    self.push_word(rest.get(..length).unwrap_or_default());
                    at += length;
                }
                Class::Space => {
                    self.is_apart = true;
                    at += 1;
                }
                Class::Mark => {
                    self.push_mark(&[byte]);
                    at += 1;
                }
                Class::Dropped => at += 1,
                Class::Other => {
                    let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) else {
                        break;
                    };
                    at += c.len_utf8();
                    self.push_char(c);
                }
            }
        }
    }

    /// Ends the line. Returns nothing if nothing was written.
    pub(super) fn finish(&mut self, role: Role) -> Option<Line> {
        self.end_word();
        self.is_apart = false;
        if self.folded.is_empty() {
            return None;
        }
        let hash = xxh3_64(&self.folded);
        let masked = if self.echoed.is_empty() {
            hash
        } else {
            self.masked_hash()
        };
        let letters = match self.has_digits {
            true => without_digits(&self.folded, 0, &mut self.masked),
            false => hash,
        };
        let words = self.words;
        self.has_digits = false;
        self.folded.clear();
        self.echoed.clear();
        self.words = 0;
        Some(Line {
            hash,
            masked,
            letters,
            words,
            is_link: false,
            role,
        })
    }

    fn masked_hash(&mut self) -> u64 {
        self.masked.clear();
        let mut at = 0;
        for &(from, to) in &self.echoed {
            self.masked
                .extend_from_slice(self.folded.get(at..from).unwrap_or_default());
            self.masked.push(MARK);
            at = to;
        }
        self.masked
            .extend_from_slice(self.folded.get(at..).unwrap_or_default());
        xxh3_64(&self.masked)
    }

    /// Writes letters and digits of ASCII.
    fn push_word(&mut self, word: &[u8]) {
        self.space();
        if self.word.is_none() {
            self.begin_word();
        }
        self.has_digits |= word.iter().any(u8::is_ascii_digit);
        let small = word.iter().map(u8::to_ascii_lowercase);
        self.folded.extend(small);
    }

    fn push_mark(&mut self, mark: &[u8]) {
        self.end_word();
        self.space();
        self.folded.extend_from_slice(mark);
    }

    fn push_char(&mut self, c: char) {
        match c {
            c if c.is_whitespace() => self.is_apart = true,
            c if is_dropped(c) => {}
            '\u{2018}'..='\u{201B}' | 'ʼ' => self.push_mark(b"'"),
            '\u{201C}'..='\u{201F}' | '«' | '»' => self.push_mark(b"\""),
            '\u{2010}'..='\u{2015}' => self.push_mark(b"-"),
            '…' => self.push_mark(b"..."),
            c if c.is_alphanumeric() => {
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
        self.folded
            .extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
    }

    fn space(&mut self) {
        if self.is_apart {
            self.is_apart = false;
            self.end_word();
            if !self.folded.is_empty() {
                self.folded.push(b' ');
            }
        }
    }

    fn begin_word(&mut self) {
        self.word = Some(self.folded.len());
        self.words = self.words.saturating_add(1);
    }

    fn end_word(&mut self) {
        let Some(from) = self.word.take() else { return };
        let word = self.folded.get(from..).unwrap_or_default();
        if self.echo.has(word) {
            self.echoed.push((from, self.folded.len()));
        }
    }
}

/// The hash of a text in which every run of digits is replaced by a mark. `room` is overwritten.
pub(super) fn without_digits(text: &[u8], seed: u64, room: &mut Vec<u8>) -> u64 {
    room.clear();
    for byte in text {
        if !byte.is_ascii_digit() {
            room.push(*byte);
        } else if room.last() != Some(&MARK) {
            room.push(MARK);
        }
    }
    xxh3_64_with_seed(room, seed)
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
