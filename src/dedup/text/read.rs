//! One pass over a text, which gives the digest of the folded text, the digest of its words, and
//! the hash of each word.

use std::borrow::Cow;
use std::ops::Range;

use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::mask::Masks;
use super::scan::{scan, word_hashes};
use super::words::{lower, lower_into};
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

impl Seeds {
    /// That of the text alone.
    pub(super) fn only(own: u64) -> Self {
        Self { own, other: None }
    }
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
    /// A text of which nothing is compared but single words.
    Words,
}

/// Reads a text; its words are hashed by each seed.
pub(super) fn read(text: &str, part: Part, seeds: Seeds, masks: Masks) -> Reading {
    let Some(seen) = seen_by_near(text, masks) else {
        return read_exactly(text, part, seeds);
    };
    let other = seeds.other.map(|seed| word_hashes(&seen, seed));
    Reading {
        near: Some(word_hashes(&seen, seeds.own)),
        by_other: other.unwrap_or_default(),
        ..read_exactly(text, part, Seeds::only(seeds.own))
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
    let folds = matches!(part, Part::Visible | Part::Whole);
    let joins = matches!(part, Part::Main | Part::Whole);
    let mut hashes = Hashes::with_room_for(lower.len(), seeds);
    let mut content = Words::with_room_for(if joins { lower.len() } else { 0 });
    let mut folded = Folded::default();
    let word = |from: &str, start, length| {
        hashes.add(&from.as_bytes()[start..start + length]);
        if joins {
            content.push(from.as_bytes(), start, length);
        }
    };
    scan(&lower, 0, word, |from, to| {
        if folds {
            folded.skip(lower.as_bytes(), from, to);
        }
    });
    Reading {
        normalized: if folds {
            folded.digest(lower.as_bytes())
        } else {
            [0; 32]
        },
        content: if joins { content.digest() } else { [0; 32] },
        words: hashes.words,
        near: None,
        by_other: hashes.by_other,
    }
}

/// Passes on each word of a text in lower case from `start` on: the text that it is in, its place
/// there and its length. `folded` gets the white space that is no single space.
#[inline]
fn each_word(lower: &str, start: usize, folded: &mut Folded, each: impl FnMut(&str, usize, usize)) {
    let space = |from, to| folded.skip(lower.as_bytes(), from, to);
    scan(lower, start, each, space);
}

/// Number of lines of the main text among which the next line of the visible text is looked for.
const LOOK_AHEAD: usize = 3;

/// Reads the main text and the visible text of a page. Most lines of the former are lines of the
/// latter too, in the same order, and are read once.
pub(super) fn read_both(main: &str, visible: &str, seeds: Seeds, masks: Masks) -> [Reading; 2] {
    let is_seen_as_it_is =
        |text: &str| masks.is_empty() && matches!(unicode::same_letters(text), Cow::Borrowed(_));
    if !is_seen_as_it_is(main) || !is_seen_as_it_is(visible) {
        let main = read(main, Part::Main, seeds, masks);
        return [main, read(visible, Part::Visible, seeds, masks)];
    }
    let of_main = ReadLines::of(main, seeds);
    let mut waiting = &of_main.lines[..];
    let mut lower = String::with_capacity(visible.len() + 1);
    let mut hashes = Hashes::with_room_for(visible.len(), seeds);
    let mut folded = Folded::default();
    for written in lines_of(visible) {
        let start = lower.len();
        let next = waiting.iter().take(LOOK_AHEAD);
        let mut next = next.enumerate().filter(|(_, line)| line.written == written);
        if let Some((at, line)) = next.next() {
            waiting = &waiting[at + 1..];
            lower.push_str(&of_main.lower[line.lower.clone()]);
            hashes.add_from(&of_main.hashes, line.words.clone());
            if !line.is_folded {
                each_word(&lower, start, &mut folded, |_, _, _| ());
            }
        } else {
            lower_into(&mut lower, written);
            each_word(&lower, start, &mut folded, |from, start, length| {
                hashes.add(&from.as_bytes()[start..start + length]);
            });
        }
        folded.end_line(&mut lower);
    }
    let main = Reading {
        content: of_main.content,
        words: of_main.hashes.words,
        by_other: of_main.hashes.by_other,
        ..Reading::default()
    };
    let visible = Reading {
        normalized: folded.digest(lower.as_bytes()),
        words: hashes.words,
        by_other: hashes.by_other,
        ..Reading::default()
    };
    [main, visible]
}

/// The lines of a text, without their ends.
fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]);
    let mut from = 0;
    ends.map(move |end| {
        let line = &text[from..end];
        from = end + 1;
        line
    })
}

/// A text that was read line by line.
struct ReadLines<'t> {
    lines: Vec<ReadLine<'t>>,
    /// All of it in lower case.
    lower: String,
    hashes: Hashes,
    /// SHA-256 of its words.
    content: [u8; 32],
}

struct ReadLine<'t> {
    written: &'t str,
    /// Where it is in the text in lower case.
    lower: Range<usize>,
    /// Which words are in it.
    words: Range<usize>,
    /// Whether its only white space is single spaces behind visible characters.
    is_folded: bool,
}

impl<'t> ReadLines<'t> {
    fn of(text: &'t str, seeds: Seeds) -> Self {
        let mut lower = String::with_capacity(text.len() + 1);
        let mut lines = Vec::with_capacity(text.len() / 64 + 1);
        let mut hashes = Hashes::with_room_for(text.len(), seeds);
        let mut content = Words::with_room_for(text.len());
        for written in lines_of(text) {
            let (start, first_word) = (lower.len(), hashes.words.len());
            lower_into(&mut lower, written);
            let mut is_folded = true;
            let word = |from: &str, start, length| {
                hashes.add(&from.as_bytes()[start..start + length]);
                content.push(from.as_bytes(), start, length);
            };
            scan(&lower, start, word, |_, _| is_folded = false);
            lines.push(ReadLine {
                written,
                is_folded,
                lower: start..lower.len(),
                words: first_word..hashes.words.len(),
            });
            lower.push('\n');
        }
        Self {
            lines,
            lower,
            hashes,
            content: content.digest(),
        }
    }
}

/// The hashes of the words of a text.
struct Hashes {
    seeds: Seeds,
    words: Vec<u64>,
    by_other: Vec<u64>,
}

impl Hashes {
    /// None yet, of a text with so many bytes.
    fn with_room_for(bytes: usize, seeds: Seeds) -> Self {
        let room = bytes / 6 + 1;
        Self {
            seeds,
            words: Vec::with_capacity(room),
            by_other: Vec::with_capacity(if seeds.other.is_some() { room } else { 0 }),
        }
    }

    #[inline]
    fn add(&mut self, word: &[u8]) {
        self.words.push(xxh3_64_with_seed(word, self.seeds.own));
        if let Some(seed) = self.seeds.other {
            self.by_other.push(xxh3_64_with_seed(word, seed));
        }
    }

    /// Adds some of those of another text.
    fn add_from(&mut self, other: &Self, words: Range<usize>) {
        self.words.extend_from_slice(&other.words[words.clone()]);
        if self.seeds.other.is_some() {
            self.by_other.extend_from_slice(&other.by_other[words]);
        }
    }
}

/// A text with each run of white space as one space, and none at its ends. Stretches that are
/// already in this form, but for a space at either end, are copied at once.
#[derive(Default)]
struct Folded {
    done: Vec<u8>,
    /// Where the stretch begins that is to be copied next.
    from: usize,
}

impl Folded {
    /// Skips white space that is no single space. `bytes` is the text so far.
    fn skip(&mut self, bytes: &[u8], from: usize, to: usize) {
        self.copy(bytes, from);
        self.from = to;
    }

    /// Ends a line with a space in place of a break, so that nothing is to be skipped there if
    /// there are no other spaces.
    fn end_line(&mut self, lower: &mut String) {
        let at = lower.len();
        let is_behind_space = at == self.from || lower.as_bytes()[at - 1] == b' ';
        lower.push(' ');
        if is_behind_space {
            self.skip(lower.as_bytes(), at, at + 1);
        }
    }

    /// The stretch before `to`.
    fn stretch<'b>(&self, bytes: &'b [u8], to: usize) -> &'b [u8] {
        let stretch = &bytes[self.from..to];
        let stretch = stretch.strip_prefix(b" ").unwrap_or(stretch);
        stretch.strip_suffix(b" ").unwrap_or(stretch)
    }

    fn copy(&mut self, bytes: &[u8], to: usize) {
        let stretch = self.stretch(bytes, to);
        if stretch.is_empty() {
            return;
        }
        match self.done.is_empty() {
            true => self.done.reserve(bytes.len()),
            false => self.done.push(b' '),
        }
        self.done.extend_from_slice(stretch);
    }

    fn digest(mut self, bytes: &[u8]) -> [u8; 32] {
        if self.done.is_empty() {
            return Sha256::digest(self.stretch(bytes, bytes.len())).into();
        }
        self.copy(bytes, bytes.len());
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

    fn digest(&self) -> [u8; 32] {
        Sha256::digest(&self.bytes[..self.length]).into()
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
            text in "[ -~é’\u{a0}\u{2003}語言\r\n\t]{0,200}",
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
            let alone = read_exactly(&text, Part::Words, seeds);
            prop_assert_eq!((&alone.words, &alone.by_other), (&reading.words, &reading.by_other));
        }

        /// Lines that two texts have in common are read once, and give the same.
        #[test]
        fn two_texts_read_together_give_what_each_gives_alone(
            lines in prop::collection::vec(("[ -~\u{e9}\u{2019}\u{a0}\u{8a9e}e\u{301}\t]{0,20}|[ \r\t\u{a0}a]{0,4}|[A-Z][a-z]{1,9}( [a-z]{1,9}){0,5}", 0..4_u8), 0..12),
        ) {
            let of = |kinds: &[u8]| {
                let some = lines.iter().filter(|(_, kind)| kinds.contains(kind));
                some.map(|(line, _)| line.as_str()).collect::<Vec<_>>().join("\n")
            };
            let (main, visible) = (of(&[0, 1, 2]), of(&[0, 1, 3]));
            let seeds = Seeds { own: 0, other: Some(7) };
            let [both_main, both_visible] = read_both(&main, &visible, seeds, Masks::default());
            for (both, alone) in [
                (both_main, read(&main, Part::Main, seeds, Masks::default())),
                (both_visible, read(&visible, Part::Visible, seeds, Masks::default())),
            ] {
                prop_assert_eq!(format!("{both:?}"), format!("{alone:?}"));
            }
        }
    }
}
