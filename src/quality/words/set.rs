//! Sets of characters.

/// A set of characters.
#[derive(Debug, Clone, Default, PartialEq)]
// Each is a named class that a set has or has not.
#[expect(clippy::struct_excessive_bools)]
pub(super) struct Set {
    ascii: u128,
    /// First and last characters beyond ASCII, in order.
    ranges: Vec<(char, char)>,
    /// Whether it holds all others beyond ASCII.
    is_inverted: bool,
    has_words: bool,
    has_digits: bool,
    has_no_space: bool,
}

impl Set {
    /// The set of one character.
    pub(super) fn of(only: char) -> Self {
        let mut set = Self::default();
        set.add(only, only);
        set
    }

    /// The set of these ranges: first and last code points one after another.
    pub(super) fn of_ranges(flat: &[u32]) -> Self {
        let mut set = Self::default();
        for pair in flat.chunks_exact(2) {
            if let [Some(first), Some(last)] = [0, 1].map(|at| {
                let code = pair.get(at).copied();
                code.and_then(char::from_u32)
            }) {
                set.add(first, last);
            }
        }
        set.settle();
        set
    }

    /// Reads a set as a pattern has it, and moves behind it: a letter, an escape, or a class.
    pub(super) fn read(text: &[char], at: &mut usize) -> Result<Self, &'static str> {
        let mut set = Self::default();
        match text.get(*at) {
            Some('[') => {
                *at += 1;
                set.read_class(text, at)?;
            }
            Some('.') => {
                *at += 1;
                set.invert();
            }
            Some('*' | '+' | '?') => return Err("nothing to repeat"),
            _ => {
                if let Some(only) = set.read_one(text, at)? {
                    set.add(only, only);
                }
            }
        }
        set.settle();
        Ok(set)
    }

    fn read_class(&mut self, text: &[char], at: &mut usize) -> Result<(), &'static str> {
        let is_inverted = text.get(*at) == Some(&'^');
        *at += usize::from(is_inverted);
        let start = *at;
        loop {
            match text.get(*at) {
                None => return Err("no closing bracket"),
                Some(']') if *at > start => break,
                _ => {}
            }
            let Some(first) = self.read_one(text, at)? else {
                continue;
            };
            let is_range =
                text.get(*at) == Some(&'-') && text.get(*at + 1).is_some_and(|after| *after != ']');
            let mut last = first;
            if is_range {
                *at += 1;
                last = self.read_one(text, at)?.ok_or("a range without end")?;
            }
            self.add(first, last);
        }
        *at += 1;
        if is_inverted {
            self.invert();
        }
        Ok(())
    }

    /// Reads a character, or a class with a name, which is added.
    fn read_one(&mut self, text: &[char], at: &mut usize) -> Result<Option<char>, &'static str> {
        let letter = *text.get(*at).ok_or("no character")?;
        *at += 1;
        if letter != '\\' {
            return Ok(Some(letter));
        }
        let escaped = *text.get(*at).ok_or("no character behind \\")?;
        *at += 1;
        let digits = match escaped {
            'u' => 4,
            'U' => 8,
            'd' => {
                self.has_digits = true;
                self.add('0', '9');
                return Ok(None);
            }
            'w' => {
                self.has_words = true;
                for (first, last) in [('0', '9'), ('A', 'Z'), ('a', 'z'), ('_', '_')] {
                    self.add(first, last);
                }
                return Ok(None);
            }
            's' => {
                for (first, last) in [('\t', '\r'), ('\u{1c}', ' ')] {
                    self.add(first, last);
                }
                return Ok(None);
            }
            'S' => {
                self.has_no_space = true;
                self.ascii |= !0 << b'!' | ((1 << 9) - 1) | (((1 << 14) - 1) << 14);
                return Ok(None);
            }
            other => return Ok(Some(other)),
        };
        let hex: String = text.iter().skip(*at).take(digits).collect();
        *at += digits;
        let code = u32::from_str_radix(&hex, 16).map_err(|_| "no code point")?;
        char::from_u32(code).map(Some).ok_or("no code point")
    }

    fn add(&mut self, first: char, last: char) {
        for code in (first as u32)..=(last as u32).min(127) {
            self.ascii |= 1 << code;
        }
        if last as u32 > 127 {
            self.ranges.push((first.max('\u{80}'), last));
        }
    }

    /// Puts ranges in order and joins those that touch.
    fn settle(&mut self) {
        self.ranges.sort_unstable();
        let mut joined: Vec<(char, char)> = Vec::with_capacity(self.ranges.len());
        for (first, last) in std::mem::take(&mut self.ranges) {
            match joined.last_mut() {
                Some(before) if first as u32 <= before.1 as u32 + 1 => {
                    before.1 = before.1.max(last);
                }
                _ => joined.push((first, last)),
            }
        }
        self.ranges = joined;
    }

    fn invert(&mut self) {
        self.ascii = !self.ascii & !(1 << b'\n');
        self.is_inverted = !self.is_inverted;
    }

    pub(super) fn has(&self, letter: char) -> bool {
        if letter.is_ascii() {
            return self.ascii >> (letter as u32) & 1 == 1;
        }
        let found = self
            .ranges
            .binary_search_by(|(first, last)| match letter {
                it if it < *first => std::cmp::Ordering::Greater,
                it if it > *last => std::cmp::Ordering::Less,
                _ => std::cmp::Ordering::Equal,
            })
            .is_ok();
        let is_named = (self.has_words && letter.is_alphanumeric())
            || (self.has_digits && letter.is_numeric() && !letter.is_alphabetic())
            || (self.has_no_space && !letter.is_whitespace());
        (found || is_named) != self.is_inverted
    }

    /// The marks of its characters ([`mark`]), if it is no set of almost all.
    pub(super) fn marks(&self) -> Option<u128> {
        if self.is_inverted || self.has_words || self.has_digits || self.has_no_space {
            return None;
        }
        let mut marks = self.ascii & !(mark('é') | mark('–'));
        for (first, last) in &self.ranges {
            if *last as u32 - *first as u32 > MAX_LOOKED_AT {
                return None;
            }
            (*first..=*last).for_each(|it| marks |= mark(it));
        }
        Some(marks)
    }
}

/// Longest range of which each character is looked at.
const MAX_LOOKED_AT: u32 = 64;

/// The bit of a character, by which it is told what a text has: its own for ASCII, one for all
/// other letters and one for what else there is.
pub(super) fn mark(letter: char) -> u128 {
    match letter {
        _ if letter.is_ascii() => 1 << (letter as u32),
        _ if letter.is_alphabetic() => 1 << 127,
        _ => 1,
    }
}

/// The marks of all letters.
pub(super) fn letter_marks() -> u128 {
    let letters = ('a'..='z').chain('A'..='Z').chain(['é']);
    letters.fold(0, |all, it| all | mark(it))
}
