//! The one tokeniser, and the normal forms of text that the tiers above raw bytes compare.
//!
//! A text is lower-cased once and read once; that reading gives the normalized digest, the word
//! sequence's digest and one hash for each word. All that comes later (shingles, SimHash,
//! `MinHash`) is rolled from the word hashes and never sees a string.

use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::xxh3_64;

use super::guard::{Heading, Names};
use super::mask::Masks;
use super::shingle::mix;

/// Under this share of the visible words, the main text is no longer trusted to stand for the
/// page, which is then judged by all of its text: two pages that share a notice and differ in a
/// table that extraction dropped are not the same.
const TRUSTED_SHARE: f64 = 0.25;

/// Bytes of an imprint, the end of a page from its copyright line on; what is longer is more than
/// that.
const IMPRINT_BYTES: usize = 400;

/// A page's text, ready to be signed.
#[derive(Debug, Clone, Default)]
pub struct Text {
    /// SHA-256 of the visible text, case and white space folded.
    normalized: Option<[u8; 32]>,
    /// The text that the page is judged by.
    judged: Reading,
    /// The other one of main and visible text, where the two differ.
    other: Option<Reading>,
    /// Whether the page is judged by its visible text, as the main text is too little of it.
    is_over_trimmed: bool,
    /// What the page says of itself.
    names: Names,
    /// What is masked in the near tier, and the words of the text that the page is judged by then.
    masks: Masks,
    masked: Vec<u64>,
    /// One hash for each character of the text that the page is judged by, where asked for.
    characters: Vec<u64>,
}

impl Text {
    /// Prepares the main text of a page and its whole visible text. An imprint that extraction left
    /// at the end of the main text is left out: it changes with every year and every build.
    pub fn new(main: &str, visible: &str) -> Self {
        if main == visible {
            return Self::whole(visible);
        }
        let mut text = Self::whole(visible);
        let mut other = read(without_imprint(main));
        let enough = TRUSTED_SHARE * text.judged.words.len() as f64;
        text.is_over_trimmed = (other.words.len() as f64) < enough;
        if !text.is_over_trimmed {
            std::mem::swap(&mut text.judged, &mut other);
        }
        text.other = Some(other);
        text
    }

    /// Prepares a text that is all there is of its page.
    pub fn whole(visible: &str) -> Self {
        let judged = read(visible);
        let normalized = (!judged.words.is_empty()).then_some(judged.normalized);
        Self {
            normalized,
            judged,
            ..Self::default()
        }
    }

    /// Adds what the page says of itself.
    #[must_use]
    pub fn with_heading(mut self, heading: &Heading) -> Self {
        self.names = Names::of(heading);
        self
    }

    /// Masks what the near tier must not see, in the texts that this was prepared from.
    #[must_use]
    pub fn with_masks(mut self, masks: Masks, main: &str, visible: &str) -> Self {
        self.masks = masks;
        if !masks.is_empty() {
            self.masked = word_hashes(&masks.apply(self.judged_of(main, visible)));
        }
        self
    }

    /// Which of the texts that this was prepared from the page is judged by.
    fn judged_of<'a>(&self, main: &'a str, visible: &'a str) -> &'a str {
        match self.is_whole() || self.is_over_trimmed {
            true => visible,
            false => without_imprint(main),
        }
    }

    /// Adds what shingles of characters are made of, from the texts that this was prepared from,
    /// masked as the words are.
    #[must_use]
    pub fn with_characters(mut self, main: &str, visible: &str) -> Self {
        let judged = self.judged_of(main, visible);
        let judged = match self.masks.is_empty() {
            true => lower(judged),
            false => self.masks.apply(judged),
        };
        pieces(&judged, |piece, _| {
            if let Piece::Word(run) | Piece::Run(run) = piece {
                let between = (!self.characters.is_empty()).then_some(' ');
                let characters = between.into_iter().chain(run.chars());
                self.characters
                    .extend(characters.map(|c| mix(u64::from(u32::from(c)))));
            }
        });
        self
    }

    /// SHA-256 of the visible text, case and white space folded; `None` if there is none.
    pub fn normalized(&self) -> Option<[u8; 32]> {
        self.normalized
    }

    /// SHA-256 of the word sequence of the main text; `None` if there is none.
    pub fn content(&self) -> Option<[u8; 32]> {
        let main = self.main();
        (!main.words.is_empty()).then_some(main.content)
    }

    /// xxh3 of each word that the page is judged by, in order.
    pub fn word_hashes(&self) -> &[u64] {
        &self.judged.words
    }

    /// The same for the near tier, which does not see what is masked.
    pub fn near_hashes(&self) -> &[u64] {
        match self.masks.is_empty() {
            true => &self.judged.words,
            false => &self.masked,
        }
    }

    /// xxh3 of each visible word, in order.
    pub fn visible_hashes(&self) -> &[u64] {
        match &self.other {
            Some(other) if !self.is_over_trimmed => &other.words,
            _ => &self.judged.words,
        }
    }

    /// xxh3 of each word of the main text, in order.
    pub fn main_hashes(&self) -> &[u64] {
        &self.main().words
    }

    fn main(&self) -> &Reading {
        match &self.other {
            Some(other) if self.is_over_trimmed => other,
            _ => &self.judged,
        }
    }

    /// One hash for each character that the page is judged by: those of the words, with one space
    /// between two runs. Empty unless they were asked for.
    pub fn characters(&self) -> &[u64] {
        &self.characters
    }

    /// Whether the main text is all of the visible text.
    pub fn is_whole(&self) -> bool {
        self.other.is_none()
    }

    /// Whether the page is judged by its visible text, as the main text is too little of it.
    pub fn is_over_trimmed(&self) -> bool {
        self.is_over_trimmed
    }

    /// What the page says of itself.
    pub(super) fn names(&self) -> Names {
        self.names
    }

    /// Number of words of the main text.
    pub fn main_words(&self) -> u32 {
        u32::try_from(self.main().words.len()).unwrap_or(u32::MAX)
    }

    /// Number of words that the page is judged by.
    pub fn word_count(&self) -> u32 {
        u32::try_from(self.judged.words.len()).unwrap_or(u32::MAX)
    }

    /// Number of visible words.
    pub fn visible_words(&self) -> u32 {
        u32::try_from(self.visible_hashes().len()).unwrap_or(u32::MAX)
    }
}

/// The main text before its imprint: the last line that begins with the copyright sign, or with the
/// word and the sign, and what little follows. A text that is nothing else is left as it is.
fn without_imprint(main: &str) -> &str {
    let tail = (main.len().saturating_sub(IMPRINT_BYTES)..main.len())
        .find(|at| main.is_char_boundary(*at))
        .unwrap_or(0);
    let is_imprint = |line: &str| {
        let line = line.trim_start();
        let word = line.get(..9).unwrap_or_default();
        let rest = match word.eq_ignore_ascii_case("copyright") {
            true => line.get(9..).unwrap_or_default().trim_start(),
            false => line,
        };
        let sign = rest.get(..3).unwrap_or_default();
        rest.starts_with('©') || sign.eq_ignore_ascii_case("(c)")
    };
    let breaks = main.match_indices('\n').map(|(at, _)| at).rev();
    let at = breaks
        .take_while(|at| *at >= tail)
        .find(|at| is_imprint(main.get(at + 1..).unwrap_or_default()));
    at.and_then(|at| main.get(..at)).unwrap_or(main)
}

/// What one pass over a text gives.
#[derive(Debug, Clone, Default)]
struct Reading {
    /// SHA-256 of the text, lower-cased, runs of white space as one space.
    normalized: [u8; 32],
    /// SHA-256 of the words, each with a NUL behind it: `ab c` is not `a bc`.
    content: [u8; 32],
    /// xxh3 of each word.
    words: Vec<u64>,
}

fn read(text: &str) -> Reading {
    let lower = lower(text);
    let bytes = lower.as_bytes();
    let mut words = Vec::with_capacity(lower.len() / 6 + 1);
    let mut content = Words::with_room_for(lower.len());
    let mut folded = Folded::of(bytes);
    pieces(&lower, |piece, start| match piece {
        Piece::Word(word) => {
            folded.visible(start, start + word.len());
            words.push(xxh3_64(word.as_bytes()));
            content.push(bytes, start, word.len());
        }
        Piece::Run(run) => {
            folded.visible(start, start + run.len());
            visit_mixed(run, &mut |word| {
                words.push(xxh3_64(word.as_bytes()));
                content.push(word.as_bytes(), 0, word.len());
            });
        }
        Piece::Space => {}
        Piece::Other(other) => folded.visible(start, start + other.len()),
    });
    Reading {
        normalized: folded.digest(),
        content: Sha256::digest(content.bytes()).into(),
        words,
    }
}

/// A text with every run of white space as one space, none at its ends. What is so already, which
/// is most of a line, is copied at once.
struct Folded<'a> {
    bytes: &'a [u8],
    done: Vec<u8>,
    /// What is to be copied next.
    from: usize,
    to: usize,
}

impl<'a> Folded<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            done: Vec::new(),
            from: 0,
            to: 0,
        }
    }

    /// What is not white space stands from `start` to `end`.
    #[inline]
    fn visible(&mut self, start: usize, end: usize) {
        let is_gap = start != self.to;
        if is_gap && !(start == self.to + 1 && self.bytes[self.to] == b' ' && self.to > self.from) {
            self.copy();
            self.from = start;
        }
        self.to = end;
    }

    fn copy(&mut self) {
        if self.to > self.from {
            if !self.done.is_empty() {
                self.done.push(b' ');
            }
            self.done.extend_from_slice(&self.bytes[self.from..self.to]);
        }
    }

    fn digest(mut self) -> [u8; 32] {
        if self.done.is_empty() {
            return Sha256::digest(&self.bytes[self.from..self.to]).into();
        }
        self.copy();
        Sha256::digest(&self.done).into()
    }
}

/// Words, each with a NUL behind it.
struct Words {
    /// Longer than what is in it, so that a word is copied eight bytes at a time.
    bytes: Vec<u8>,
    length: usize,
}

impl Words {
    fn with_room_for(length: usize) -> Self {
        Self {
            bytes: vec![0; length + 32],
            length: 0,
        }
    }

    /// Adds the `length` bytes from `start` on. Most words have fewer than eight, and copying what
    /// stands behind them too is cheaper than asking how many.
    #[inline]
    fn push(&mut self, from: &[u8], start: usize, length: usize) {
        if self.bytes.len() - self.length < length + 16 {
            self.bytes.resize(2 * self.bytes.len() + length, 0);
        }
        let to = &mut self.bytes[self.length..];
        let mut copied = 0;
        while copied < length {
            let Some(eight) = from[start + copied..].first_chunk::<8>() else {
                to[copied..length].copy_from_slice(&from[start + copied..start + length]);
                break;
            };
            to[copied..copied + 8].copy_from_slice(eight);
            copied += 8;
        }
        to[length] = 0;
        self.length += length + 1;
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// xxh3 of each word of a text.
pub(crate) fn word_hashes(text: &str) -> Vec<u64> {
    let mut hashes = Vec::with_capacity(text.len() / 6 + 1);
    words(text, |word| hashes.push(xxh3_64(word.as_bytes())));
    hashes
}

/// Visits the words of a text: lower-cased runs of letters and digits; where words are not parted
/// by spaces (Chinese, Japanese, Thai and the like), every two neighbouring characters.
pub fn words(text: &str, mut visit: impl FnMut(&str)) {
    pieces(&lower(text), |piece, _| match piece {
        Piece::Word(word) => visit(word),
        Piece::Run(run) => visit_mixed(run, &mut visit),
        Piece::Space | Piece::Other(_) => {}
    });
}

/// Part of a lower-cased text.
enum Piece<'a> {
    /// The longest run of letters and digits of ASCII, which is one word.
    Word(&'a str),
    /// The longest run of letters, digits and the marks that belong to them, with some beyond
    /// ASCII.
    Run(&'a str),
    /// One character of white space.
    Space,
    /// Some other character.
    Other(&'a str),
}

/// Parts a lower-cased text; each part is visited with its place. ASCII, most of the web's text,
/// goes by bytes and a table.
#[inline]
fn pieces<'a>(lower: &'a str, mut visit: impl FnMut(Piece<'a>, usize)) {
    let bytes = lower.as_bytes();
    let mut at = 0;
    while let Some(&first) = bytes.get(at) {
        let start = at;
        at = ascii_run(bytes, at);
        let ascii = at;
        if bytes.get(at).is_some_and(|byte| *byte >= 0x80) {
            // Letters beyond ASCII may go on the run, or begin it.
            let rest = &lower[at..];
            at += rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        }
        let piece = if at > ascii {
            Piece::Run(&lower[start..at])
        } else if at > start {
            Piece::Word(&lower[start..at])
        } else if first < 0x80 {
            at += 1;
            match CLASS[usize::from(first)] {
                Class::Space => Piece::Space,
                _ => Piece::Other(&lower[start..at]),
            }
        } else {
            let character = lower[start..].chars().next();
            at += character.map_or(1, char::len_utf8);
            match character.is_some_and(char::is_whitespace) {
                true => Piece::Space,
                false => Piece::Other(&lower[start..at]),
            }
        };
        // Called in one place, so that it is compiled into the loop.
        visit(piece, start);
    }
}

/// Where the lower-case letters and digits of ASCII end that begin at `at`. Eight bytes at a time,
/// so that the length of a word, which nothing can predict, decides no branch.
#[inline]
fn ascii_run(bytes: &[u8], mut at: usize) -> usize {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    while let Some(eight) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let eight = u64::from_le_bytes(*eight);
        // The high bit of each byte that is at least `low`; with its own high bit set, no byte
        // borrows.
        let at_least = |low: u8| (eight | HIGH).wrapping_sub(u64::from_le_bytes([low; 8])) & HIGH;
        let letters = at_least(b'a') & !at_least(b'z' + 1);
        let digits = at_least(b'0') & !at_least(b'9' + 1);
        let others = !(letters | digits) & HIGH | eight & HIGH;
        if others != 0 {
            return at + others.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    let is_word = |byte: &&u8| CLASS[usize::from(**byte)] == Class::Word;
    at + rest.iter().take_while(is_word).count()
}

/// What a byte of ASCII is; bytes beyond are looked at as characters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Word,
    Space,
    Other,
}

const CLASS: [Class; 256] = {
    let mut table = [Class::Other; 256];
    let mut byte = 0_u8;
    while byte < 0x80 {
        if byte.is_ascii_alphanumeric() {
            table[byte as usize] = Class::Word;
        } else if matches!(byte, b'\t'..=b'\r' | b' ') {
            table[byte as usize] = Class::Space;
        }
        byte += 1;
    }
    table
};

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || is_mark(c)
}

/// The whole text in lower case, character by character, so that no word depends on its neighbours.
fn lower(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut lower = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let ascii = rest.find(|c: char| !c.is_ascii()).unwrap_or(rest.len());
        let (before, after) = rest.split_at(ascii);
        let start = lower.len();
        lower.push_str(before);
        lower[start..].make_ascii_lowercase();
        let beyond = after.find(|c: char| c.is_ascii()).unwrap_or(after.len());
        let (beyond, after) = after.split_at(beyond);
        lower.extend(beyond.chars().flat_map(char::to_lowercase));
        rest = after;
    }
    lower
}

/// Splits a run where its script changes, and the parts without word spaces into bigrams.
fn visit_mixed(run: &str, visit: &mut impl FnMut(&str)) {
    let mut rest = run;
    while let Some(first) = rest.chars().next() {
        let spaceless = is_spaceless(first);
        let end = rest
            .find(|c| is_spaceless(c) != spaceless)
            .unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        rest = after;
        if !spaceless {
            visit(part);
            continue;
        }
        let mut starts = part.char_indices().map(|(at, _)| at).chain([part.len()]);
        let mut before = starts.next().unwrap_or(0);
        let mut middle = starts.next().unwrap_or(part.len());
        if middle == part.len() {
            visit(part);
        }
        for end in starts {
            visit(&part[before..end]);
            before = middle;
            middle = end;
        }
    }
}

/// Combining marks belong to the letter before them (Thai vowels, Indic signs, accents apart).
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{e31}' | '\u{e34}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}'
        | '\u{900}'..='\u{903}' | '\u{93a}'..='\u{94f}')
}

/// Scripts written without spaces between words.
fn is_spaceless(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}'           // Thai, Lao
        | '\u{1000}'..='\u{109f}'       // Myanmar
        | '\u{1780}'..='\u{17ff}'       // Khmer
        | '\u{3040}'..='\u{30ff}'       // Hiragana, Katakana
        | '\u{3400}'..='\u{4dbf}'       // CJK extension A
        | '\u{4e00}'..='\u{9fff}'       // CJK
        | '\u{f900}'..='\u{faff}'       // CJK compatibility
        | '\u{20000}'..='\u{3ffff}') // CJK extensions
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, expected: &[&str]) {
        let mut found = Vec::new();
        words(text, |word| found.push(word.to_owned()));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        check("Hello, World! x86-64", &["hello", "world", "x86", "64"]);
        check("  ", &[]);
        check("ÄRGER über_alles", &["ärger", "über", "alles"]);
        check("it’s naïve—or caféx", &["it", "s", "naïve", "or", "caféx"]);
        check("ΟΔΟΣ, İx", &["οδοσ", "i\u{307}x"]);
    }

    proptest! {
        /// Eight bytes at a time give what one at a time gives.
        #[test]
        fn words_of_any_text_are_its_runs(text in "[ -~é’\\n]{0,60}") {
            let mut found = Vec::new();
            words(&text, |word| found.push(word.to_owned()));
            let lower = text.to_lowercase();
            let expected: Vec<_> = lower
                .split(|c: char| !c.is_alphanumeric())
                .filter(|word| !word.is_empty())
                .collect();
            prop_assert_eq!(found, expected);
        }
    }

    proptest! {
        /// Copying whole stretches gives what copying piece by piece gives.
        #[test]
        fn both_digests_are_those_of_the_folded_text_and_of_the_words(
            text in "[ -~é’\u{a0}\u{2003}語言\n\t]{0,80}",
        ) {
            let lower: String = text.chars().flat_map(char::to_lowercase).collect();
            let folded: Vec<&str> = lower.split_whitespace().collect();
            let mut content = Vec::new();
            words(&text, |word| content.extend([word.as_bytes(), &[0]].concat()));
            let reading = read(&text);
            let normalized: [u8; 32] = Sha256::digest(folded.join(" ")).into();
            prop_assert_eq!(reading.normalized, normalized);
            let content: [u8; 32] = Sha256::digest(&content).into();
            prop_assert_eq!(reading.content, content);
        }
    }

    #[test]
    fn scripts_without_spaces_give_bigrams() {
        check("日本語", &["日本", "本語"]);
        check("東", &["東"]);
        check("Rust言語です", &["rust", "言語", "語で", "です"]);
    }

    #[test]
    fn folding_ignores_case_and_space_only() {
        let of = |text: &str| Text::new(text, text).normalized();
        assert_eq!(of("A  b\n c."), of("a B c. "));
        assert_ne!(of("a b c."), of("a b c"));
        assert_eq!(of(" a\u{a0}b"), of("A B"), "all of Unicode's white space");
        assert_eq!(Text::new("", " \n").normalized(), None);
    }

    #[test]
    fn content_is_the_word_sequence() {
        let of = |text: &str| Text::new(text, text).content();
        assert_eq!(of("One, two; three"), of("one two three"));
        assert_ne!(of("one two three"), of("one three two"));
        assert_ne!(of("ab c"), of("a bc"));
    }

    #[test]
    fn an_over_trimmed_main_text_does_not_stand_for_the_page() {
        let notice = "please note that this page is old";
        let one = format!("{notice} {}", "alpha beta gamma ".repeat(20));
        let two = format!("{notice} {}", "delta epsilon zeta ".repeat(20));
        let (one, two) = (Text::new(notice, &one), Text::new(notice, &two));
        assert!(one.is_over_trimmed());
        assert_ne!(one.word_hashes(), two.word_hashes());
        assert_eq!(one.word_hashes(), one.visible_hashes());
        assert_eq!(one.content(), two.content(), "for guard.rs to judge");
    }

    #[test]
    fn an_imprint_is_no_main_text() {
        let check = |main: &str, expected: &str| assert_eq!(without_imprint(main), expected);
        check(
            "Story.\n© 2003-2023, The Makers. Last updated today.",
            "Story.",
        );
        check(
            "Story.\nCopyright (C) 2023 Makers\nMade with care.",
            "Story.",
        );
        check("Story.\nCopyright © 2023", "Story.");
        check(
            "Story.\nCopyright law is old.",
            "Story.\nCopyright law is old.",
        );
        check("© 2023 Makers", "© 2023 Makers");
        check("Ünder\nÖver", "Ünder\nÖver");
        let long = format!("Story.\n© 2023\n{}", "é more words ".repeat(40));
        check(&long, &long);
    }
}
