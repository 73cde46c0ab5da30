//! One pass over a text, which gives the digest of the folded text, the digest of its words, and
//! the hash of each word.

use std::borrow::Cow;

use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::mask::Masks;
use super::words::{Piece, lower, pieces, visit_mixed, word_hashes};
use crate::unicode;

/// The result of one pass over a text.
#[derive(Debug, Clone, Default)]
pub(super) struct Reading {
    /// SHA-256 of the text in lower case, with each run of white space as one space; zero if only
    /// the words are compared.
    pub(super) normalized: [u8; 32],
    /// SHA-256 of the words, each followed by a NUL, so that `ab c` differs from `a bc`; zero if
    /// only the folded text is compared.
    pub(super) content: [u8; 32],
    /// xxh3 of each word, by the seed.
    words: Vec<u64>,
    /// The same as the near tier sees it, if it sees other words.
    near: Option<Vec<u64>>,
    /// xxh3 of each word as the near tier sees it, by the other seed.
    by_other: Vec<u64>,
}

/// The seeds by which words are hashed: that of the text, and another one that is wanted too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seeds {
    pub(super) own: u64,
    pub(super) other: Option<u64>,
}

impl Reading {
    /// Number of words.
    pub(super) fn count(&self) -> usize {
        self.words.len()
    }

    /// xxh3 of each word as the near tier sees it: letters in another shape are those letters, and
    /// what is masked is one word.
    pub(super) fn near(&self) -> &[u64] {
        self.near.as_ref().unwrap_or(&self.words)
    }
}

impl Reading {
    /// What the near tier sees, hashed by the other seed.
    pub(super) fn by_other(&mut self) -> Self {
        Self {
            words: std::mem::take(&mut self.by_other),
            ..Self::default()
        }
    }
}

/// Which text of a page is read, which decides the digests that are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The visible text, of which the folded text is compared.
    Visible,
    /// The main text, of which the words are compared.
    Main,
    /// A visible text that is all main text.
    Whole,
}

/// Reads a text; its words are hashed by each seed.
pub(super) fn read(text: &str, part: Part, seeds: Seeds, masks: Masks) -> Reading {
    let Some(seen) = seen_by_near(text, masks) else {
        return read_exactly(text, part, seeds);
    };
    let other = seeds.other.map(|seed| word_hashes(&seen, seed));
    let own = Seeds {
        other: None,
        ..seeds
    };
    Reading {
        near: Some(word_hashes(&seen, seeds.own)),
        by_other: other.unwrap_or_default(),
        ..read_exactly(text, part, own)
    }
}

/// The text as the near tier sees it, if that is another one.
pub(super) fn seen_by_near(text: &str, masks: Masks) -> Option<String> {
    match unicode::same_letters(text) {
        letters if !masks.is_empty() => Some(masks.apply(&letters)),
        Cow::Owned(letters) => Some(letters),
        Cow::Borrowed(_) => None,
    }
}

fn read_exactly(text: &str, part: Part, seeds: Seeds) -> Reading {
    let lower = lower(text);
    let (folds, joins) = (part != Part::Main, part != Part::Visible);
    let bytes = lower.as_bytes();
    let room = lower.len() / 6 + 1;
    let mut words = Vec::with_capacity(room);
    let mut by_other = Vec::with_capacity(if seeds.other.is_some() { room } else { 0 });
    let mut hash = |word: &[u8]| {
        words.push(xxh3_64_with_seed(word, seeds.own));
        by_other.extend(seeds.other.map(|seed| xxh3_64_with_seed(word, seed)));
    };
    let mut content = Words::with_room_for(if joins { lower.len() } else { 0 });
    let mut folded = Folded::of(bytes);
    pieces(&lower, |piece, start| match piece {
        Piece::Word(word) => {
            if folds {
                folded.visible(start, start + word.len());
            }
            hash(word.as_bytes());
            if joins {
                content.push(bytes, start, word.len());
            }
        }
        Piece::Run(run) => {
            if folds {
                folded.visible(start, start + run.len());
            }
            visit_mixed(run, &mut |word| {
                hash(word.as_bytes());
                if joins {
                    content.push(word.as_bytes(), 0, word.len());
                }
            });
        }
        Piece::Other(other) if folds => folded.visible(start, start + other.len()),
        Piece::Space | Piece::Other(_) => {}
    });
    Reading {
        normalized: if folds { folded.digest() } else { [0; 32] },
        content: match joins {
            true => Sha256::digest(content.bytes()).into(),
            false => [0; 32],
        },
        words,
        near: None,
        by_other,
    }
}

/// A text with each run of white space as one space, and none at its ends. Stretches that are
/// already in this form, which most lines are, are copied at once.
struct Folded<'a> {
    bytes: &'a [u8],
    done: Vec<u8>,
    /// The stretch to be copied next.
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

    /// Adds the bytes from `start` to `end`, which are not white space.
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

/// Words, each followed by a NUL.
struct Words {
    /// Longer than its contents, so that words can be copied eight bytes at a time.
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

    /// Adds the word of `length` bytes at `start`. Most words have fewer than eight bytes, and
    /// copying the bytes behind them is cheaper than branching on the length.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::text::words;
    use proptest::prelude::*;

    proptest! {
        /// Copying whole stretches gives the same result as copying piece by piece.
        #[test]
        fn both_digests_are_those_of_the_folded_text_and_of_the_words(
            text in "[ -~é’\u{a0}\u{2003}語言\n\t]{0,80}",
        ) {
            let lower: String = text.chars().flat_map(char::to_lowercase).collect();
            let folded: Vec<&str> = lower.split_whitespace().collect();
            let mut content = Vec::new();
            words(&text, |word| content.extend([word.as_bytes(), &[0]].concat()));
            let seeds = Seeds { own: 0, other: Some(7) };
            let reading = read_exactly(&text, Part::Whole, seeds);
            prop_assert_eq!(&reading.by_other, &word_hashes(&text, 7));
            let normalized: [u8; 32] = Sha256::digest(folded.join(" ")).into();
            prop_assert_eq!(reading.normalized, normalized);
            let content: [u8; 32] = Sha256::digest(&content).into();
            prop_assert_eq!(reading.content, content);
            let visible = read_exactly(&text, Part::Visible, seeds);
            let main = read_exactly(&text, Part::Main, seeds);
            prop_assert_eq!((visible.normalized, main.content), (normalized, content));
            prop_assert_eq!((&visible.words, &main.words), (&reading.words, &reading.words));
        }
    }
}
