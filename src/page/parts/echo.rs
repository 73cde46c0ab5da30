//! The words of a page's own URL. A site repeats them on pages that say nothing of their own: the
//! term that was searched for, the number of the page, the day of a calendar.

use std::borrow::Cow;

use crate::url::{MONTHS, Url};

/// Maximum number of words of a URL.
const MAX_WORDS: usize = 64;

/// The words of a URL: runs of letters and digits of its path and of its parameters' values.
#[derive(Debug, Clone, Default)]
pub(super) struct Echo {
    /// In lower case; numbers without leading zeros.
    words: Vec<Vec<u8>>,
    /// A bit for each, by length and first byte: most words of a text are told by it alone.
    marks: u64,
}

impl Echo {
    pub(super) fn of(url: &Url) -> Self {
        let mut echo = Self::default();
        for segment in url.path_segments().into_iter().flatten() {
            echo.add_text(&decoded(segment));
        }
        for (_, value) in url.query_pairs() {
            echo.add_text(&value);
        }
        echo.add_months();
        echo
    }

    /// Adds the names of what may be months, if there is a year.
    fn add_months(&mut self) {
        let is_year =
            |word: &Vec<u8>| word.len() == 4 && matches!(word[..2], [b'1', b'9'] | [b'2', b'0']);
        if !self.words.iter().any(is_year) {
            return;
        }
        // A page of a month names it, and seldom by its number.
        for (at, month) in MONTHS.iter().enumerate() {
            if self.has((at + 1).to_string().as_bytes()) {
                self.add(month.as_bytes());
                self.add(&month.as_bytes()[..3]);
            }
        }
    }

    /// Whether a folded word stands in the URL.
    pub(super) fn has(&self, word: &[u8]) -> bool {
        let word = significant(word);
        self.marks & mark(word) != 0 && self.words.iter().any(|it| it == word)
    }

    fn add_text(&mut self, text: &str) {
        for word in text.split(|c: char| !c.is_alphanumeric()) {
            let word = word.to_lowercase();
            self.add(word.as_bytes());
            // `page2` and `20240517` are numbers too.
            for digits in word.split(|c: char| !c.is_ascii_digit()) {
                self.add(digits.as_bytes());
                if let Some([year, month, day]) = date(digits) {
                    for part in [year, month, day] {
                        self.add(part.as_bytes());
                    }
                }
            }
        }
    }

    fn add(&mut self, word: &[u8]) {
        let word = significant(word);
        if !word.is_empty() && self.words.len() < MAX_WORDS && !self.has(word) {
            self.marks |= mark(word);
            self.words.push(word.to_vec());
        }
    }
}

/// A path segment without percent-encoding.
fn decoded(segment: &str) -> Cow<'_, str> {
    if !segment.contains('%') {
        return Cow::Borrowed(segment);
    }
    let bytes = segment.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digits = segment.get(at + 1..at + 3).filter(|_| byte == b'%');
        let value = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(value.unwrap_or(byte));
        at += if value.is_some() { 3 } else { 1 };
    }
    Cow::Owned(String::from_utf8_lossy(&decoded).into_owned())
}

/// The year, month and day of a date without separators.
fn date(digits: &str) -> Option<[&str; 3]> {
    let (year, rest) = digits.split_at_checked(4)?;
    let (month, day) = rest.split_at_checked(2)?;
    let within = |part: &str, most: u8| part.parse().is_ok_and(|it: u8| (1..=most).contains(&it));
    let is_year = year.starts_with("19") || year.starts_with("20");
    (day.len() == 2 && is_year && within(month, 12) && within(day, 31))
        .then_some([year, month, day])
}

/// A number without leading zeros, so that 05 is 5; every other word as it is.
fn significant(word: &[u8]) -> &[u8] {
    if word.first() != Some(&b'0') || !word.iter().all(u8::is_ascii_digit) {
        return word;
    }
    let zeros = word.iter().take_while(|byte| **byte == b'0').count();
    &word[zeros.min(word.len() - 1)..]
}

fn mark(word: &[u8]) -> u64 {
    let first = word.first().copied().unwrap_or_default();
    1 << ((usize::from(first) + 11 * word.len()) % 64)
}
