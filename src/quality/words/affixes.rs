//! Patterns of prefixes, suffixes and infixes, and what they take off a text.

use std::collections::HashMap;

use super::pattern::Pattern;
use super::set::{letter_marks, mark};

/// The patterns of a language.
pub(super) struct Affixes {
    prefixes: Patterns,
    suffixes: Patterns,
    infixes: Patterns,
    /// What stays one word, whatever other patterns say.
    whole: Patterns,
    url: &'static Pattern,
    /// What is known of each character below [`DIRECT`] in a text of letters.
    signs: Vec<u8>,
}

/// It is no letter, so that nothing is known.
const NO_LETTER: u8 = 1;
/// A prefix may begin with it.
const PREFIX: u8 = 2;
/// A suffix may end with it.
const SUFFIX: u8 = 4;
/// An infix may begin with it.
const INFIX: u8 = 8;

/// What is known of a text by its characters.
#[derive(Clone, Copy, Default)]
pub(super) struct Signs {
    all: u8,
    first: u8,
    last: u8,
    is_begun: bool,
}

impl Signs {
    /// Whether no pattern can have to do with the text, because it is of letters only.
    pub(super) fn are_plain(self) -> bool {
        self.all & (NO_LETTER | INFIX) == 0 && self.first & PREFIX == 0 && self.last & SUFFIX == 0
    }
}

/// A piece of a text for which patterns are asked.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) chars: &'a [char],
    /// Marks of its characters, and perhaps of some more.
    pub(super) marks: u128,
}

impl<'a> Asked<'a> {
    pub(super) fn new(chars: &'a [char]) -> Self {
        let marks = chars.iter().fold(0, |all, it| all | mark(*it));
        Self { chars, marks }
    }

    pub(super) fn part(self, from: usize, to: usize) -> Self {
        let chars = self.chars.get(from..to).unwrap_or_default();
        Self { chars, ..self }
    }
}

impl Affixes {
    pub(super) fn new(
        [prefixes, suffixes, infixes, whole]: [Vec<Pattern>; 4],
        url: &'static Pattern,
    ) -> Self {
        let mut affixes = Self {
            prefixes: Patterns::new(prefixes, true),
            suffixes: Patterns::new(suffixes, false),
            infixes: Patterns::new(infixes, true),
            whole: Patterns::new(whole, true),
            url,
            signs: Vec::new(),
        };
        let letters = letter_marks();
        for letter in (0..DIRECT).filter_map(char::from_u32) {
            let mut sign = 0;
            let kinds = [
                (&affixes.prefixes, PREFIX),
                (&affixes.suffixes, SUFFIX),
                (&affixes.infixes, INFIX),
            ];
            for (patterns, bit) in kinds {
                if patterns.find(letter, letters, |_| Some(())).is_some() {
                    sign |= bit;
                }
            }
            if !letter.is_alphabetic() {
                sign |= NO_LETTER;
            }
            affixes.signs.push(sign);
        }
        affixes
    }

    /// Notes the next character of a text.
    pub(super) fn note(&self, letter: char, signs: &mut Signs) {
        let sign = self.signs.get(letter as usize);
        let sign = sign.copied().unwrap_or(NO_LETTER);
        if !signs.is_begun {
            signs.is_begun = true;
            signs.first = sign;
        }
        signs.all |= sign;
        signs.last = sign;
    }

    /// Whether a pattern takes something off this text or cuts it.
    pub(super) fn touch(&self, text: &str) -> bool {
        let chars: Vec<char> = text.chars().collect();
        let asked = Asked::new(&chars);
        self.prefix(asked) > 0 || self.suffix(asked) > 0 || !self.infixes(asked).is_empty()
    }

    /// The length of the prefix to be taken off, in characters.
    pub(super) fn prefix(&self, asked: Asked<'_>) -> usize {
        let Some(first) = asked.chars.first() else {
            return 0;
        };
        let found = self.prefixes.find(*first, asked.marks, |it| {
            // That it may begin so is all that there is to know.
            match it.is_single {
                true => Some(1),
                false => it.ends(asked.chars, 0),
            }
        });
        found.unwrap_or(0)
    }

    /// The length of the suffix to be taken off, in characters: the longest.
    pub(super) fn suffix(&self, asked: Asked<'_>) -> usize {
        let Some(last) = asked.chars.last() else {
            return 0;
        };
        let mut longest = 0;
        self.suffixes.find(*last, asked.marks, |it| {
            let length = match it.is_single {
                true => 1,
                false => it.at_end(asked.chars).unwrap_or(0),
            };
            longest = longest.max(length);
            None::<()>
        });
        longest
    }

    /// Where the infixes begin and end.
    pub(super) fn infixes(&self, asked: Asked<'_>) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(letter) = asked.chars.get(at) {
            let end = (self.infixes).find(*letter, asked.marks, |it| it.ends(asked.chars, at));
            found.extend(end.map(|end| (at, end)));
            at = end.unwrap_or(0).max(at + 1);
        }
        found
    }

    /// Whether it is one word, although patterns may match in it.
    pub(super) fn is_whole(&self, asked: Asked<'_>) -> bool {
        let Some(first) = asked.chars.first().filter(|_| !self.whole.is_empty()) else {
            return false;
        };
        let lower = || -> Vec<char> {
            let lower = |it: &char| it.to_lowercase().next().unwrap_or(*it);
            asked.chars.iter().map(lower).collect()
        };
        let first = match self.whole.is_caseless() {
            true => first.to_lowercase().next().unwrap_or(*first),
            false => *first,
        };
        let marks = asked.marks | letter_marks();
        let found = self.whole.find(first, marks, |it| match it.is_caseless {
            true => it.ends(&lower(), 0),
            false => it.ends(asked.chars, 0),
        });
        found.is_some()
    }

    pub(super) fn is_url(&self, asked: Asked<'_>) -> bool {
        // Its point may have been taken off as a suffix.
        asked.chars.contains(&'.') && self.url.ends(asked.chars, 0).is_some()
    }
}

/// Characters below are looked up at once, and so is the block of punctuation.
const DIRECT: u32 = 0x700;
const PUNCTUATION: std::ops::Range<u32> = 0x2000..0x2070;

/// Patterns, each of which is tried where its first or last character may stand.
#[derive(Debug)]
struct Patterns {
    all: Vec<Pattern>,
    /// Patterns by character, each list once.
    lists: Vec<Vec<u16>>,
    direct: Vec<u16>,
    punctuation: Vec<u16>,
    is_beginning: bool,
}

impl Patterns {
    fn new(patterns: Vec<Pattern>, is_beginning: bool) -> Self {
        let mut made = Self {
            all: patterns,
            lists: vec![Vec::new()],
            direct: Vec::new(),
            punctuation: Vec::new(),
            is_beginning,
        };
        let mut numbers = HashMap::from([(Vec::new(), 0)]);
        let mut number = |made: &mut Self, code: u32| {
            let list = char::from_u32(code).map_or(Vec::new(), |it| made.list_of(it));
            *numbers.entry(list).or_insert_with_key(|list| {
                made.lists.push(list.clone());
                (made.lists.len() - 1) as u16
            })
        };
        for code in 0..DIRECT {
            let list = number(&mut made, code);
            made.direct.push(list);
        }
        for code in PUNCTUATION {
            let list = number(&mut made, code);
            made.punctuation.push(list);
        }
        made
    }

    fn list_of(&self, letter: char) -> Vec<u16> {
        let all = self.all.iter().enumerate();
        all.filter(|(_, it)| it.may_border(letter, self.is_beginning))
            .map(|(at, _)| at as u16)
            .collect()
    }

    /// Passes the patterns that may have this character at their border, in their order, until one
    /// of them is wanted.
    fn find<T>(
        &self,
        letter: char,
        marks: u128,
        mut wanted: impl FnMut(&Pattern) -> Option<T>,
    ) -> Option<T> {
        let code = letter as u32;
        let list = match code {
            _ if code < DIRECT => self.direct.get(code as usize),
            _ if PUNCTUATION.contains(&code) => {
                self.punctuation.get((code - PUNCTUATION.start) as usize)
            }
            _ => None,
        };
        let mut check = |pattern: &Pattern| match pattern.may_match(marks) {
            true => wanted(pattern),
            false => None,
        };
        match list {
            Some(list) => {
                let list = self.lists.get(usize::from(*list));
                let mut list = list.into_iter().flatten();
                list.find_map(|at| check(self.all.get(usize::from(*at))?))
            }
            None => self
                .all
                .iter()
                .filter(|it| it.may_border(letter, self.is_beginning))
                .find_map(check),
        }
    }

    fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn is_caseless(&self) -> bool {
        self.all.iter().any(|it| it.is_caseless)
    }
}
