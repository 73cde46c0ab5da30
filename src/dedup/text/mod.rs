//! Texts: the normal forms of a page's text that the tiers above raw bytes compare.
//!
//! A text is lower-cased once and read once. That pass gives the digest of the normalized text, the
//! digest of the word sequence, and one hash per word. Everything else (shingles, SimHash,
//! `MinHash`) is computed from the hashes and never sees a string.

mod hints;
mod mask;
mod read;
pub(crate) mod shingle;
mod words;

pub use hints::PageHints;
pub(crate) use hints::{HOST, HintHashes, page_hash};
pub use mask::{Mask, Masks};
pub(crate) use words::word_hashes;
pub use words::words;

use read::{Reading, read};
use shingle::mix;
use words::{Piece, lower, pieces};

/// Texts with fewer words are too short to identify a page.
pub(crate) const MIN_WORDS: u32 = 5;

/// The least share of the visible words that a main text must have to represent the page. Below it,
/// the page is judged by all of its text: two pages that share a notice, and differ in a table that
/// extraction dropped, are not duplicates.
const TRUSTED_SHARE: f64 = 0.25;

/// The longest imprint in bytes: the end of a page from its copyright line on.
const IMPRINT_BYTES: usize = 400;

/// The text of a page, ready to be signed.
#[derive(Debug, Clone, Default)]
pub struct Text {
    /// The seed of the hashes.
    seed: u64,
    /// SHA-256 of the visible text, ignoring case and runs of white space.
    normalized: Option<[u8; 32]>,
    /// The text that the page is judged by.
    judged: Reading,
    /// Whichever of main and visible text the page is not judged by, if the two differ.
    other: Option<Reading>,
    /// Whether the page is judged by its visible text, because its main text is too small a part of
    /// it.
    is_over_trimmed: bool,
    /// What the page says about itself.
    hints: HintHashes,
    /// What the near tier masks, and the hashes of the judged words after masking.
    masks: Masks,
    masked: Vec<u64>,
    /// One hash per character of the judged text, if requested.
    characters: Vec<u64>,
}

impl Text {
    /// Prepares a page's main text and its visible text. An imprint that extraction left at the end
    /// of the main text is dropped, because it changes with every year and every build.
    ///
    /// Its words are hashed as everybody can: see [`seeded`](Self::seeded).
    pub fn new(main: &str, visible: &str) -> Self {
        Self::seeded(main, visible, 0)
    }

    /// As [`new`](Self::new), with a seed of the hashes. Whoever knows the seed can find other
    /// words with the same shingles.
    pub fn seeded(main: &str, visible: &str, seed: u64) -> Self {
        let mut text = Self::of_whole(visible, seed);
        if main == visible {
            return text;
        }
        let mut other = read(without_imprint(main), seed);
        let enough = TRUSTED_SHARE * text.judged.words.len() as f64;
        text.is_over_trimmed = (other.words.len() as f64) < enough;
        if !text.is_over_trimmed {
            std::mem::swap(&mut text.judged, &mut other);
        }
        text.other = Some(other);
        text
    }

    /// Prepares a page whose main text is all of its text.
    pub fn whole(visible: &str) -> Self {
        Self::of_whole(visible, 0)
    }

    fn of_whole(visible: &str, seed: u64) -> Self {
        let judged = read(visible, seed);
        let normalized = (!judged.words.is_empty()).then_some(judged.normalized);
        Self {
            seed,
            normalized,
            judged,
            ..Self::default()
        }
    }

    /// Adds what the page says about itself.
    #[must_use]
    pub fn with_hints(mut self, hints: &PageHints) -> Self {
        self.hints = HintHashes::of(hints);
        self
    }

    /// Masks the judged text for the near tier. `main` and `visible` are the texts given before.
    #[must_use]
    pub fn with_masks(mut self, masks: Masks, main: &str, visible: &str) -> Self {
        self.masks = masks;
        if !masks.is_empty() {
            self.masked = word_hashes(&masks.apply(self.judged_of(main, visible)), self.seed);
        }
        self
    }

    /// The one of the two given texts that the page is judged by.
    fn judged_of<'a>(&self, main: &'a str, visible: &'a str) -> &'a str {
        if self.is_whole() || self.is_over_trimmed {
            visible
        } else {
            without_imprint(main)
        }
    }

    /// Adds the hashes for shingles of characters, masked like the words. `main` and `visible` are
    /// the texts given before.
    #[must_use]
    pub fn with_characters(mut self, main: &str, visible: &str) -> Self {
        let judged = self.judged_of(main, visible);
        let judged = if self.masks.is_empty() {
            lower(judged)
        } else {
            self.masks.apply(judged)
        };
        let seed = self.seed;
        pieces(&judged, |piece, _| {
            if let Piece::Word(run) | Piece::Run(run) = piece {
                let between = (!self.characters.is_empty()).then_some(' ');
                let characters = between.into_iter().chain(run.chars());
                self.characters
                    .extend(characters.map(|c| mix(u64::from(u32::from(c)) ^ seed)));
            }
        });
        self
    }

    /// SHA-256 of the visible text, ignoring case and runs of white space; `None` without text.
    pub fn normalized(&self) -> Option<[u8; 32]> {
        self.normalized
    }

    /// SHA-256 of the word sequence of the main text; `None` without words.
    pub fn content(&self) -> Option<[u8; 32]> {
        let main = self.main();
        (!main.words.is_empty()).then_some(main.content)
    }

    /// The xxh3 of each judged word, in order.
    pub fn word_hashes(&self) -> &[u64] {
        &self.judged.words
    }

    /// The xxh3 of each judged word after masking, in order.
    pub fn near_hashes(&self) -> &[u64] {
        if self.masks.is_empty() {
            &self.judged.words
        } else {
            &self.masked
        }
    }

    /// The xxh3 of each visible word, in order.
    pub fn visible_hashes(&self) -> &[u64] {
        match &self.other {
            Some(other) if !self.is_over_trimmed => &other.words,
            _ => &self.judged.words,
        }
    }

    /// The xxh3 of each word of the main text, in order.
    pub fn main_hashes(&self) -> &[u64] {
        &self.main().words
    }

    fn main(&self) -> &Reading {
        match &self.other {
            Some(other) if self.is_over_trimmed => other,
            _ => &self.judged,
        }
    }

    /// One hash per character of the judged words, with one space between two runs. Empty unless
    /// requested.
    pub fn characters(&self) -> &[u64] {
        &self.characters
    }

    /// Whether the main text is all of the visible text.
    pub fn is_whole(&self) -> bool {
        self.other.is_none()
    }

    /// Whether the page is judged by its visible text, because its main text is too small a part of
    /// it.
    pub fn is_over_trimmed(&self) -> bool {
        self.is_over_trimmed
    }

    /// Hashes of what the page says about itself.
    pub(crate) fn hints(&self) -> HintHashes {
        self.hints
    }

    /// Number of words in the main text.
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

/// The main text before its imprint: before its last line that begins with a copyright sign, or
/// with the word and the sign, if little follows. A text that is only an imprint is returned
/// unchanged.
fn without_imprint(main: &str) -> &str {
    let tail = (main.len().saturating_sub(IMPRINT_BYTES)..main.len())
        .find(|at| main.is_char_boundary(*at))
        .unwrap_or(0);
    let is_imprint = |line: &str| {
        let line = line.trim_start();
        let word = line.get(..9).unwrap_or_default();
        let rest = if word.eq_ignore_ascii_case("copyright") {
            line.get(9..).unwrap_or_default().trim_start()
        } else {
            line
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_ignores_case_and_space_only() {
        let of = |text: &str| Text::new(text, text).normalized();
        assert_eq!(of("A  b\n c."), of("a B c. "));
        assert_ne!(of("a b c."), of("a b c"));
        assert_eq!(of(" a\u{a0}b"), of("A B"), "all of Unicode's white space");
        assert_eq!(Text::new("", " \n").normalized(), None);
    }

    /// Without the seed nobody can tell which words have which hashes; what is exact does not need
    /// it.
    #[test]
    fn each_seed_gives_other_hashes_of_words() {
        let of = |seed| Text::seeded("one two three", "menu one two three", seed);
        let (public, one, other) = (of(0), of(1), of(2));
        let plain = Text::new("one two three", "menu one two three");
        assert_eq!(public.word_hashes(), plain.word_hashes());
        let hashes = [&public, &one, &other].map(Text::visible_hashes);
        let distinct: std::collections::BTreeSet<_> = hashes.iter().copied().flatten().collect();
        assert_eq!(distinct.len(), 12);
        assert_eq!(one.content(), other.content());
        assert_eq!(one.normalized(), plain.normalized());
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
        assert_eq!(one.content(), two.content(), "for veto.rs to judge");
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
