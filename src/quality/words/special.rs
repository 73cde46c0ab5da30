//! Exceptions: texts whose words are listed, as `don't`, `e.g.` and `:-)`.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};

use xxhash_rust::xxh3::xxh3_64;

use super::piece::Piece;

/// A text, and the lengths of its words in bytes.
type Exception = (Box<str>, Box<[u8]>);

/// The texts of some words.
type Texts = Box<[Box<str>]>;

/// Exceptions by their text.
#[derive(Default)]
pub(super) struct Specials {
    /// The lengths of their words, in bytes.
    lengths: HashMap<u64, Exception, ByHash>,
    /// Which of them there may be, so that most words need no further look.
    may_be: Filter,
    /// Of those that the patterns would cut: what they would make of them. The texts of the words,
    /// by the first of them.
    cut: HashMap<u64, Vec<Texts>, ByHash>,
    may_be_cut: Filter,
}

/// Keys are hashes already.
#[derive(Default, Clone)]
struct ByHash(u64);

impl BuildHasher for ByHash {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        Self(0)
    }
}

impl Hasher for ByHash {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 ^= xxh3_64(bytes);
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// A set of texts by their first and last bytes and their lengths, and perhaps others.
#[derive(Default)]
struct Filter(Vec<u64>);

impl Filter {
    const BITS: usize = 1 << 14;

    fn bit(text: &str) -> usize {
        let bytes = text.as_bytes();
        let at = |at: usize| bytes.get(at).map_or(0, |byte| usize::from(*byte));
        let last = at(bytes.len().wrapping_sub(1));
        let mixed = at(0) + 67 * last + 4_099 * at(1) + 1_031 * bytes.len();
        mixed % Self::BITS
    }

    fn add(&mut self, text: &str) {
        self.0.resize(Self::BITS / 64, 0);
        let bit = Self::bit(text);
        if let Some(word) = self.0.get_mut(bit / 64) {
            *word |= 1 << (bit % 64);
        }
    }

    fn may_have(&self, text: &str) -> bool {
        let bit = Self::bit(text);
        self.0
            .get(bit / 64)
            .is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }
}

impl Specials {
    /// Exceptions with their words, between which is a space. `cut` has what patterns make of a
    /// text, if they do anything to it.
    pub(super) fn new(
        exceptions: &HashMap<&str, &str>,
        cut: impl Fn(&str) -> Option<Vec<Piece>>,
    ) -> Self {
        let mut made = Self::default();
        for (&text, &words) in exceptions {
            let lengths = match text == words {
                true => vec![text.len() as u8],
                false => words.split(' ').map(|it| it.len() as u8).collect(),
            };
            made.may_be.add(text);
            let hash = xxh3_64(text.as_bytes());
            made.lengths.insert(hash, (text.into(), lengths.into()));
            let Some(pieces) = cut(text) else {
                continue;
            };
            let texts: Texts = pieces.iter().map(|it| it.of(text).into()).collect();
            if let Some(first) = texts.first().cloned() {
                made.may_be_cut.add(&first);
                let hash = xxh3_64(first.as_bytes());
                made.cut.entry(hash).or_default().push(texts);
            }
        }
        made
    }

    /// The lengths of the words of an exception.
    pub(super) fn pieces(&self, text: &str) -> Option<&[u8]> {
        if !self.may_be.may_have(text) {
            return None;
        }
        let (known, lengths) = self.lengths.get(&xxh3_64(text.as_bytes()))?;
        (**known == *text).then_some(lengths)
    }

    /// Replaces what the patterns have cut out of exceptions by their words. Of several that share
    /// words, the longest counts, and of those the first.
    pub(super) fn join(&self, text: &str, pieces: &mut Vec<Piece>) {
        let mut found = Vec::new();
        for (start, piece) in pieces.iter().enumerate() {
            let first = piece.of(text);
            if !self.may_be_cut.may_have(first) {
                continue;
            }
            let Some(known) = self.cut.get(&xxh3_64(first.as_bytes())) else {
                continue;
            };
            for texts in known {
                let here = pieces.get(start..start + texts.len()).unwrap_or_default();
                let is_here = here.len() == texts.len()
                    && here
                        .iter()
                        .zip(texts)
                        .all(|(it, expected)| it.of(text) == &**expected);
                if is_here {
                    found.push((texts.len(), start));
                }
            }
        }
        if found.is_empty() {
            return;
        }
        found.sort_unstable_by_key(|(length, start)| (std::cmp::Reverse(*length), *start));
        let mut is_taken = vec![false; pieces.len()];
        let mut spans = Vec::new();
        for (length, start) in found {
            let ends = [start, start + length - 1];
            if ends.iter().all(|at| is_taken.get(*at) == Some(&false)) {
                spans.push((start, length));
            }
            is_taken
                .iter_mut()
                .skip(start)
                .take(length)
                .for_each(|it| *it = true);
        }
        spans.sort_unstable();
        let mut spans = spans.into_iter().peekable();
        let mut joined = Vec::with_capacity(pieces.len());
        let mut at = 0;
        while let Some(piece) = pieces.get(at) {
            let Some((_, length)) = spans.next_if(|(start, _)| *start == at) else {
                joined.push(*piece);
                at += 1;
                continue;
            };
            let group = pieces.get(at..at + length).unwrap_or_default();
            let end = group.last().map_or(piece.end, |it| it.end);
            let whole = Piece { end, ..*piece };
            match self.pieces(whole.of(text)) {
                Some(lengths) => push(whole.start, lengths, &mut joined),
                None => joined.extend_from_slice(group),
            }
            at += length;
        }
        *pieces = joined;
    }
}

/// Adds words of these lengths.
pub(super) fn push(start: usize, lengths: &[u8], pieces: &mut Vec<Piece>) {
    let mut at = start;
    for length in lengths {
        let end = at + usize::from(*length);
        pieces.push(Piece { start: at, end });
        at = end;
    }
}
