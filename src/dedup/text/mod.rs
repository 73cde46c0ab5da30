//! Texts: the normal forms of a page's text that the tiers above raw bytes compare.
//!
//! A text is lower-cased once and read once. That pass gives the digest of the normalized text, the
//! digest of the word sequence, and one hash per word. Everything else (shingles, SimHash,
//! `MinHash`) is computed from the hashes and never sees a string. Where masks are set, or a text
//! has letters in another shape, the near tier sees other words, which are hashed in a second pass.

mod hints;
mod mask;
mod read;
mod scan;
pub(crate) mod shingle;
mod words;

pub use hints::PageHints;
pub(crate) use hints::{HOST, HintHashes, page_hash};
pub use mask::{Mask, Masks};
pub(crate) use scan::word_hashes;
pub use scan::words;

use read::{Part, Reading, Seeds, read, read_both, seen_by_near};
use shingle::mix;
use words::{Piece, lower, pieces};
use xxhash_rust::xxh3::xxh3_64_with_seed;

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
    /// What the near tier masks.
    masks: Masks,
    /// One hash per character of the judged text, if requested.
    characters: Vec<u64>,
}

impl Text {
    /// Prepares a page's main text and its visible text. An imprint that extraction left at the end
    /// of the main text is dropped, because it changes with every year and every build.
    ///
    /// Its words are hashed as everybody can: see [`seeded`](Self::seeded).
    pub fn new(main: &str, visible: &str) -> Self {
        Self::seeded(main, visible, 0, Masks::default())
    }

    /// As [`new`](Self::new), with a seed of the hashes, and masks for the near tier. Whoever knows
    /// the seed can find other words with the same shingles.
    pub fn seeded(main: &str, visible: &str, seed: u64, masks: Masks) -> Self {
        Self::read(main, visible, Seeds::only(seed), masks)
    }

    /// As [`seeded`](Self::seeded), and what the near tier sees of the same text by another seed,
    /// without digests: one reading for both.
    pub(crate) fn twice(main: &str, visible: &str, seeds: [u64; 2], masks: Masks) -> (Self, Self) {
        let [own, other] = seeds;
        let seeds = Seeds {
            own,
            other: Some(other),
        };
        let mut text = Self::read(main, visible, seeds, masks);
        let other = Self {
            seed: other,
            judged: text.judged.by_other(),
            other: text.other.as_mut().map(Reading::by_other),
            is_over_trimmed: text.is_over_trimmed,
            masks,
            ..Self::default()
        };
        (text, other)
    }

    fn read(main: &str, visible: &str, seeds: Seeds, masks: Masks) -> Self {
        let mut text = Self::by(main, visible, seeds, masks);
        (text.seed, text.masks) = (seeds.own, masks);
        let normalized = text.visible().normalized;
        text.normalized = (text.visible().count() > 0).then_some(normalized);
        text
    }

    fn by(main: &str, visible: &str, seeds: Seeds, masks: Masks) -> Self {
        if main == visible {
            return Self {
                judged: read(visible, Part::Whole, seeds, masks),
                ..Self::default()
            };
        }
        let [mut other, judged] = read_both(without_imprint(main), visible, seeds, masks);
        let mut text = Self {
            judged,
            ..Self::default()
        };
        let enough = TRUSTED_SHARE * text.judged.count() as f64;
        text.is_over_trimmed = (other.count() as f64) < enough;
        if !text.is_over_trimmed {
            std::mem::swap(&mut text.judged, &mut other);
        }
        text.other = Some(other);
        text
    }

    /// The words of a text, hashed by a seed as [`seeded`](Self::seeded) does, and nothing else:
    /// there are no digests.
    pub(crate) fn of_words(text: &str, seed: u64, masks: Masks) -> Self {
        Self {
            seed,
            masks,
            judged: read(text, Part::Words, Seeds::only(seed), masks),
            ..Self::default()
        }
    }

    /// Prepares a page whose main text is all of its text.
    pub fn whole(visible: &str) -> Self {
        Self::seeded(visible, visible, 0, Masks::default())
    }

    /// Adds what the page says about itself.
    #[must_use]
    pub fn with_hints(mut self, hints: &PageHints) -> Self {
        self.hints = HintHashes::of(hints);
        self
    }

    /// The one of the two given texts that the page is judged by.
    pub(crate) fn judged_of<'a>(&self, main: &'a str, visible: &'a str) -> &'a str {
        if self.is_whole() || self.is_over_trimmed {
            visible
        } else {
            without_imprint(main)
        }
    }

    /// Adds the hashes for shingles of characters, as the near tier sees them. `main` and `visible`
    /// are the texts given before.
    #[must_use]
    pub fn with_characters(mut self, main: &str, visible: &str) -> Self {
        let judged = self.judged_of(main, visible);
        let judged = match seen_by_near(judged, self.masks) {
            Some(seen) => lower(&seen),
            None => lower(judged),
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
        (main.count() > 0).then_some(main.content)
    }

    /// The xxh3 of each judged word as the near tier sees it, in order.
    pub fn word_hashes(&self) -> &[u64] {
        self.judged.near()
    }

    /// The xxh3 of each visible word as the near tier sees it, in order.
    pub fn visible_hashes(&self) -> &[u64] {
        self.visible().near()
    }

    /// The xxh3 of each word of the main text as the near tier sees it, in order.
    pub fn main_hashes(&self) -> &[u64] {
        self.main().near()
    }

    fn visible(&self) -> &Reading {
        match &self.other {
            Some(other) if !self.is_over_trimmed => other,
            _ => &self.judged,
        }
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
        u32::try_from(self.main().count()).unwrap_or(u32::MAX)
    }

    /// Number of words that the page is judged by.
    pub fn word_count(&self) -> u32 {
        u32::try_from(self.judged.count()).unwrap_or(u32::MAX)
    }

    /// Whether the text has enough words that the near tier can compare: what is masked is nothing
    /// that two texts have in common.
    pub fn is_comparable(&self) -> bool {
        let masked = xxh3_64_with_seed(mask::MASKED.as_bytes(), self.seed);
        let count = match self.masks.is_empty() {
            true => self.judged.count(),
            false => (self.judged.near().iter())
                .filter(|word| **word != masked)
                .count(),
        };
        count >= MIN_WORDS as usize
    }

    /// Number of visible words.
    pub fn visible_words(&self) -> u32 {
        u32::try_from(self.visible().count()).unwrap_or(u32::MAX)
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
        let of = |seed| {
            Text::seeded(
                "one two three",
                "menu one two three",
                seed,
                Masks::default(),
            )
        };
        let (public, one, other) = (of(0), of(1), of(2));
        let plain = Text::new("one two three", "menu one two three");
        assert_eq!(public.word_hashes(), plain.word_hashes());
        let hashes = [&public, &one, &other].map(Text::visible_hashes);
        let distinct: std::collections::BTreeSet<_> = hashes.iter().copied().flatten().collect();
        assert_eq!(distinct.len(), 12);
        assert_eq!(one.content(), other.content());
        assert_eq!(one.normalized(), plain.normalized());
    }

    /// Spellings that are one text by Unicode are the same text; what only resembles it is not.
    #[test]
    fn accents_that_are_composed_and_others_are_one_text() {
        let of = |text: &str| Text::new(text, text);
        let text = "voil\u{e0} un caf\u{e9} fran\u{e7}ais \u{e0} gauche";
        let apart = "voila\u{300} un cafe\u{301} franc\u{327}ais a\u{300} gauche";
        assert_eq!(of(text).normalized(), of(apart).normalized());
        assert_eq!(of(text).content(), of(apart).content());
        assert_eq!(of(text).word_hashes(), of(apart).word_hashes());
        for (one, other) in [
            ("the area is x\u{b2} at most", "the area is x2 at most"),
            ("step \u{2460} of the way home", "step 1 of the way home"),
            ("add \u{bd} of the milk", "add 1/2 of the milk"),
            ("add \u{bd} of the milk", "add 1\u{2044}2 of the milk"),
            ("chapter \u{2163} of the book", "chapter IV of the book"),
            (
                "a wall of 9 \u{33a1} is painted",
                "a wall of 9 m2 is painted",
            ),
            (
                "the vector \u{1d431} is given here",
                "the vector x is given here",
            ),
            (
                "\u{fa19}\u{6238} \u{795e}\u{5948}\u{5ddd}",
                "\u{795e}\u{6238} \u{795e}\u{5948}\u{5ddd}",
            ),
        ] {
            let (one, other) = (of(one), of(other));
            assert_ne!(one.normalized(), other.normalized());
            assert_ne!(one.content(), other.content());
            assert_ne!(one.word_hashes(), other.word_hashes());
        }
        // Letters in another shape are the same to the near tier only.
        let (wide, plain) = (
            of("\u{ff27}leaner \u{ff11} o\u{fb03}ce"),
            of("Gleaner 1 office"),
        );
        assert_ne!(wide.content(), plain.content());
        assert_eq!(wide.word_hashes(), plain.word_hashes());
    }

    #[test]
    fn what_is_masked_is_nothing_in_common() {
        let of = |text: &str, masks| Text::seeded(text, text, 1, Masks::from_iter(masks));
        let table = "12 7 30 9 14 8 2 total";
        assert!(of(table, vec![]).is_comparable());
        assert!(!of(table, vec![Mask::Numbers]).is_comparable());
        let text = "7 of our 30 trains were late";
        assert!(of(text, vec![Mask::Numbers]).is_comparable());
        assert!(!of("too few words", vec![]).is_comparable());
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
