//! Where words and white space are in a text of which most is ASCII. 64 bytes at a time are told
//! apart without a branch; what branches is done once per word, and not once per byte or piece.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::words::{Piece, lower, pieces, visit_mixed};

/// The xxh3 of each word of a text, by a seed.
pub(crate) fn word_hashes(text: &str, seed: u64) -> Vec<u64> {
    let mut hashes = Vec::with_capacity(text.len() / 6 + 1);
    words(text, |word| {
        hashes.push(xxh3_64_with_seed(word.as_bytes(), seed));
    });
    hashes
}

/// Visits the words of a text: runs of letters and digits in lower case or, in scripts without
/// spaces between words (Chinese, Japanese, Thai and others), every two adjacent characters.
pub fn words(text: &str, mut visit: impl FnMut(&str)) {
    let word = |from: &str, at, length| visit(&from[at..at + length]);
    scan(&lower(text), 0, word, |_, _| ());
}

/// Number of bytes that are told apart together.
const BLOCK: usize = 64;
/// The high bit of each of eight bytes.
const HIGH: u64 = 0x8080_8080_8080_8080;

/// What each byte of a block is: a bit for each, that of the first byte lowest.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Block {
    /// Lower-case ASCII letters and digits, and all that is beyond ASCII.
    runs: u64,
    /// What is beyond ASCII.
    beyond: u64,
    /// ASCII white space.
    spaces: u64,
    /// ASCII white space that is not a space.
    breaks: u64,
}

impl Block {
    #[inline]
    fn of(bytes: &[u8; BLOCK]) -> Self {
        let mut block = Self::default();
        let (eights, _) = bytes.as_chunks::<8>();
        for (eight, at) in eights.iter().zip((0..).step_by(8)) {
            let eight = u64::from_le_bytes(*eight);
            let ascii = eight & !HIGH;
            // Sets the high bit of each byte that is at least `low`: no sum exceeds a byte.
            let at_least = |low: u8| ascii + u64::from_le_bytes([0x80 - low; 8]);
            let within = |first: u8, last: u8| at_least(first) & !at_least(last + 1);
            let words = within(b'a', b'z') | within(b'0', b'9');
            let breaks = within(b'\t', b'\r') & !eight;
            block.runs |= high_bits(words | eight) << at;
            block.beyond |= high_bits(eight) << at;
            block.breaks |= high_bits(breaks) << at;
            block.spaces |= high_bits(breaks | within(b' ', b' ') & !eight) << at;
        }
        block
    }
}

/// The high bits of eight bytes, as the eight lowest bits, in the same order.
#[inline]
fn high_bits(eight: u64) -> u64 {
    // Each bit is moved to its place in the highest byte by one bit of the factor, and no two sums
    // meet.
    (eight & HIGH)
        .wrapping_shr(7)
        .wrapping_mul(0x0102_0408_1020_4080)
        >> 56
}

/// Visits the words of a text in lower case from `start` on, which is its start or that of a line:
/// each as the text that it is in, its place there and its length. `space` gets the place and the
/// end of white space that is no single space: line breaks and the like, all that is beyond ASCII,
/// and each space at the start or behind ASCII white space.
#[inline]
pub(super) fn scan(
    lower: &str,
    start: usize,
    mut word: impl FnMut(&str, usize, usize),
    mut space: impl FnMut(usize, usize),
) {
    let bytes = &lower.as_bytes()[start..];
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    // What is behind the text ends its last word.
    let mut last = [0; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    // The last bits of the block before: whether it ends in a run, and in white space.
    let (mut in_run, mut in_space) = (0, 1);
    let (mut begin, mut is_wide) = (0, false);
    for (block, base) in blocks.iter().chain([&last]).zip((start..).step_by(BLOCK)) {
        let Block {
            runs,
            beyond,
            spaces,
            breaks,
        } = Block::of(block);
        let edges = runs ^ (runs << 1 | in_run);
        let odd = spaces & (breaks | spaces << 1 | in_space);
        let mut is_open = in_run == 1;
        // Bytes of the block that the open run may have.
        let mut own = u64::MAX;
        let mut events = edges | odd;
        while events != 0 {
            let bit = events & events.wrapping_neg();
            let at = base + events.trailing_zeros() as usize;
            events ^= bit;
            if edges & bit != 0 {
                if is_open {
                    match is_wide || beyond & own & (bit - 1) != 0 {
                        true => visit_wide(lower, (begin, at), &mut word, &mut space),
                        false => word(lower, begin, at - begin),
                    }
                } else {
                    (begin, own, is_wide) = (at, bit.wrapping_neg(), false);
                }
                is_open = !is_open;
            }
            if odd & bit != 0 {
                space(at, at + 1);
            }
        }
        is_wide = is_open && (is_wide || beyond & own != 0);
        (in_run, in_space) = (runs >> 63, spaces >> 63);
    }
}

/// Visits what is in a run of letters, digits and bytes beyond ASCII, which punctuation and white
/// space beyond ASCII may part.
#[inline(never)]
fn visit_wide(
    lower: &str,
    (begin, end): (usize, usize),
    word: &mut impl FnMut(&str, usize, usize),
    space: &mut impl FnMut(usize, usize),
) {
    pieces(&lower[begin..end], |piece, at| match piece {
        Piece::Word(run) => word(lower, begin + at, run.len()),
        Piece::Run(run) => visit_mixed(run, &mut |part| word(part, 0, part.len())),
        Piece::Space(run) => space(begin + at, begin + at + run.len()),
        Piece::Other => {}
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_byte_is_what_it_is() {
        for byte in 0..=u8::MAX {
            for at in [0, 7, 8, 63] {
                let mut bytes = [b'!'; BLOCK];
                bytes[at] = byte;
                let bit = |is_so: bool| u64::from(is_so) << at;
                let is_word = byte.is_ascii_lowercase() || byte.is_ascii_digit();
                let is_break = (b'\t'..=b'\r').contains(&byte);
                let expected = Block {
                    runs: bit(is_word || !byte.is_ascii()),
                    beyond: bit(!byte.is_ascii()),
                    spaces: bit(is_break || byte == b' '),
                    breaks: bit(is_break),
                };
                assert_eq!(Block::of(&bytes), expected, "{byte} at {at}");
            }
        }
    }

    proptest! {
        /// Wherever blocks end, words and white space are those of the pieces of the text.
        #[test]
        fn what_is_found_is_what_the_pieces_are(
            before in "[a-z\n]{0,70}",
            text in "[ -~é’\u{85}\u{a0}\u{2003}\u{2028}語言\r\n\t]{0,150}|\
                ([a-zé]{0,9}[ ’\u{a0}\n]{0,2}){0,40}|a{0,200}|[aé’語]{0,200}",
        ) {
            let (lower, start) = ((before.clone() + &text).to_lowercase(), before.len());
            let (mut found, mut spaces) = (Vec::new(), Vec::new());
            let word = |from: &str, at: usize, length| found.push(from[at..at + length].to_owned());
            scan(&lower, start, word, |from, to| spaces.push((from, to)));
            let (mut expected, mut gaps, mut is_space) = (Vec::new(), Vec::new(), true);
            pieces(&lower[start..], |piece, at| {
                let at = start + at;
                let was_space = std::mem::take(&mut is_space);
                match piece {
                    Piece::Word(run) => expected.push(run.to_owned()),
                    Piece::Run(run) => visit_mixed(run, &mut |part| expected.push(part.to_owned())),
                    Piece::Space(run) => {
                        let is_odd = was_space || run != " ";
                        gaps.extend(is_odd.then_some((at, at + run.len())));
                        // White space beyond ASCII is noticed by those who are told of it.
                        is_space = run.is_ascii();
                    }
                    Piece::Other => {}
                }
            });
            prop_assert_eq!(found, expected);
            prop_assert_eq!(spaces, gaps);
        }
    }

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
        /// Taking many bytes at a time gives the same result as taking one.
        #[test]
        fn words_of_any_text_are_its_runs(text in "[ -~é’\\n]{0,200}") {
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

    #[test]
    fn scripts_without_spaces_give_bigrams() {
        check("日本語", &["日本", "本語"]);
        check("東", &["東"]);
        check("Rust言語です", &["rust", "言語", "語で", "です"]);
    }
}
