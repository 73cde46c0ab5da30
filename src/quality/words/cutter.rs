//! Cuts texts into words by patterns and exceptions.

use super::affixes::{Affixes, Asked, Signs};
use super::piece::{Piece, is_space};
use super::special::{self, Specials};

/// Maximum length in characters of what rules are applied to. Anything longer is one word.
const MAX_CHARS: usize = 1_000;

/// Cuts one text after another, with room of its own.
pub(super) struct Cutter<'a> {
    affixes: &'a Affixes,
    specials: Option<&'a Specials>,
    chars: Vec<char>,
    /// Where each character begins, and the last one ends, in bytes of the text.
    starts: Vec<usize>,
}

impl<'a> Cutter<'a> {
    pub(super) fn new(affixes: &'a Affixes, specials: Option<&'a Specials>) -> Self {
        Self {
            affixes,
            specials,
            chars: Vec::new(),
            starts: Vec::new(),
        }
    }

    /// Adds the words of a text, and the white space between them that is more than a space.
    pub(super) fn split(&mut self, text: &str, pieces: &mut Vec<Piece>) {
        let mut start = 0;
        let mut in_space = text.chars().next().is_some_and(is_space);
        let mut signs = Signs::default();
        for (at, letter) in text.char_indices() {
            let is_space = is_space(letter);
            if is_space != in_space {
                let piece = Piece { start, end: at };
                match in_space {
                    true => pieces.extend((start < at).then_some(piece)),
                    false => self.add(text, piece, signs, pieces),
                }
                // A space belongs to no word.
                start = at + usize::from(letter == ' ');
                in_space = is_space;
                signs = Signs::default();
            }
            if !is_space {
                self.affixes.note(letter, &mut signs);
            }
        }
        let end = text.len();
        let piece = Piece { start, end };
        match in_space {
            true => pieces.extend((start < end).then_some(piece)),
            false => self.add(text, piece, signs, pieces),
        }
    }

    fn add(&mut self, text: &str, piece: Piece, signs: Signs, pieces: &mut Vec<Piece>) {
        let here = piece.of(text);
        if let Some(lengths) = self.special(here) {
            special::push(piece.start, lengths, pieces);
            return;
        }
        if signs.are_plain() || here.is_empty() {
            pieces.extend((!here.is_empty()).then_some(piece));
            return;
        }
        self.chars.clear();
        self.starts.clear();
        for (at, letter) in here.char_indices() {
            self.chars.push(letter);
            self.starts.push(piece.start + at);
        }
        self.starts.push(piece.end);
        match self.chars.len() > MAX_CHARS {
            true => pieces.push(piece),
            false => self.take_apart(text, pieces),
        }
    }

    fn special(&self, text: &str) -> Option<&'a [u8]> {
        self.specials?.pieces(text)
    }

    /// The text of these characters.
    fn text<'t>(&self, text: &'t str, from: usize, to: usize) -> &'t str {
        let start = self.starts.get(from).copied().unwrap_or_default();
        let end = self.starts.get(to).copied().unwrap_or_default();
        text.get(start..end).unwrap_or_default()
    }

    fn push(&self, from: usize, to: usize, pieces: &mut Vec<Piece>) {
        if let (Some(start), Some(end)) = (self.starts.get(from), self.starts.get(to)) {
            pieces.push(Piece {
                start: *start,
                end: *end,
            });
        }
    }

    fn take_apart(&self, text: &str, pieces: &mut Vec<Piece>) {
        let (mut from, mut to) = (0, self.chars.len());
        let all = Asked::new(&self.chars);
        let mut suffixes = Vec::new();
        let mut last_length = usize::MAX;
        while from < to && to - from != last_length {
            let asked = all.part(from, to);
            if self.affixes.is_whole(asked) || self.special(self.text(text, from, to)).is_some() {
                break;
            }
            last_length = to - from;
            let before = self.affixes.prefix(asked);
            if before > 0 {
                let rest = self.text(text, from + before, to);
                if from + before < to && self.special(rest).is_some() {
                    self.push(from, from + before, pieces);
                    from += before;
                    break;
                }
            }
            let after = self.affixes.suffix(all.part(from + before, to));
            if after > 0 {
                let rest = self.text(text, from, to - after);
                if to - after > from && self.special(rest).is_some() {
                    suffixes.push((to - after, to));
                    to -= after;
                    break;
                }
            }
            if before > 0 {
                self.push(from, from + before, pieces);
                from += before;
            }
            if after > 0 {
                suffixes.push((to - after, to));
                to -= after;
            }
        }
        self.push_middle(text, all, (from, to), pieces);
        for (from, to) in suffixes.into_iter().rev() {
            self.push(from, to, pieces);
        }
    }

    /// Adds what is left between prefixes and suffixes.
    fn push_middle(
        &self,
        text: &str,
        all: Asked<'_>,
        (from, to): (usize, usize),
        pieces: &mut Vec<Piece>,
    ) {
        if from >= to {
            return;
        }
        let asked = all.part(from, to);
        if let Some(lengths) = self.special(self.text(text, from, to)) {
            let start = self.starts.get(from).copied().unwrap_or_default();
            special::push(start, lengths, pieces);
            return;
        }
        if self.affixes.is_whole(asked) || self.affixes.is_url(asked) {
            self.push(from, to, pieces);
            return;
        }
        let mut start = 0;
        for (first, end) in self.affixes.infixes(asked) {
            // At the very beginning there is nothing to cut.
            if first == 0 {
                continue;
            }
            if first != start {
                self.push(from + start, from + first, pieces);
            }
            if first != end {
                self.push(from + first, from + end, pieces);
            }
            start = end;
        }
        if from + start < to {
            self.push(from + start, to, pieces);
        }
    }
}
