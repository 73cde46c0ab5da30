//! Masks: parts of a text that change while the page stays the same, such as a date or a counter,
//! are made equal in all pages. An option of the near tier; the exact tiers are not affected.
//!
//! Each date, time or number becomes the word `0`. Dates are `2024-05-01`, `1.5.2024`, `5/1/24`,
//! `2024年5月1日`, and those with the name of a month, in several languages, next to a day or a year.
//! Times are `9:30` and `09:30:15`, also with `am` or `pm`. Numbers are words of digits only,
//! including points and commas within them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A kind of text that can be masked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mask {
    /// Dates: a day or a month with a day or a year.
    Dates,
    /// Times of day.
    Times,
    /// Numbers, including those within dates and times.
    Numbers,
}

/// The kinds of text that are masked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Mask>", into = "Vec<Mask>")]
pub struct Masks {
    dates: bool,
    times: bool,
    numbers: bool,
}

impl Masks {
    /// Whether nothing is masked.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// The text in lower case, with the masked parts replaced.
    pub(crate) fn apply(self, text: &str) -> String {
        let lower = text.to_lowercase();
        let tokens = tokens(&lower);
        let mut masked = String::with_capacity(lower.len());
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let is_glued = at > 0
                && tokens
                    .get(at - 1)
                    .is_some_and(|it| it.class == Class::Letters);
            let rest = Cursor(tokens.get(at..).unwrap_or_default());
            let length = if is_glued {
                // The digits in `mp3` are part of a word.
                None
            } else {
                (self.dates.then(|| rest.date()).flatten())
                    .or_else(|| self.times.then(|| rest.time()).flatten())
                    .or_else(|| self.numbers.then(|| rest.number()).flatten())
            };
            match length {
                Some(length) => {
                    masked.push('0');
                    at += length.max(1);
                }
                None => {
                    masked.push_str(token.text);
                    at += 1;
                }
            }
        }
        masked
    }
}

impl FromIterator<Mask> for Masks {
    fn from_iter<I: IntoIterator<Item = Mask>>(masks: I) -> Self {
        let mut all = Self::default();
        for mask in masks {
            match mask {
                Mask::Dates => all.dates = true,
                Mask::Times => all.times = true,
                Mask::Numbers => all.numbers = true,
            }
        }
        all
    }
}

impl From<Vec<Mask>> for Masks {
    fn from(list: Vec<Mask>) -> Self {
        list.into_iter().collect()
    }
}

impl From<Masks> for Vec<Mask> {
    fn from(masks: Masks) -> Self {
        let all = [
            (masks.dates, Mask::Dates),
            (masks.times, Mask::Times),
            (masks.numbers, Mask::Numbers),
        ];
        let all = all.into_iter();
        all.filter_map(|(is_on, mask)| is_on.then_some(mask))
            .collect()
    }
}

impl fmt::Display for Masks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (self.dates, "dates"),
            (self.times, "times"),
            (self.numbers, "numbers"),
        ];
        let names: Vec<_> = names.iter().filter(|(is_on, _)| *is_on).collect();
        if names.is_empty() {
            f.write_str("none")
        } else {
            let names: Vec<_> = names.iter().map(|(_, name)| *name).collect();
            f.write_str(&names.join("+"))
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Digits,
    Letters,
    /// One other character.
    Other,
}

#[derive(Debug, Clone, Copy)]
struct Token<'a> {
    class: Class,
    text: &'a str,
}

/// Splits a text into runs of ASCII digits, runs of letters, and single other characters.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let class_of = |c: char| match c {
        '0'..='9' => Class::Digits,
        c if c.is_alphanumeric() => Class::Letters,
        _ => Class::Other,
    };
    let mut found: Vec<Token<'_>> = Vec::new();
    let mut start = 0;
    let mut before: Option<Class> = None;
    for (at, c) in text.char_indices() {
        let class = class_of(c);
        if before.is_some_and(|before| before != class || class == Class::Other) {
            found.extend(before.map(|class| Token {
                class,
                text: &text[start..at],
            }));
            start = at;
        }
        before = Some(class);
    }
    found.extend(before.map(|class| Token {
        class,
        text: &text[start..],
    }));
    found
}

/// Names of months and their abbreviations in English, German, French, Spanish, Italian,
/// Portuguese, Dutch and Polish (in the case used in dates).
const MONTHS: &str = " january february march april may june july august september october november \
    december jan feb mar apr jun jul aug sep sept oct nov dec \
    januar jänner februar märz mai juni juli oktober dezember mrz okt dez \
    janvier février mars avril juin juillet août septembre octobre novembre décembre \
    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre ene abr dic \
    gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre gen mag giu lug ago set ott \
    janeiro fevereiro março maio junho julho setembro outubro novembro dezembro fev out \
    januari februari maart mei augustus \
    stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia ";

/// A parser over tokens. Each method returns the number of tokens that it takes.
#[derive(Clone, Copy)]
struct Cursor<'a>(&'a [Token<'a>]);

impl<'a> Cursor<'a> {
    fn class(self, at: usize) -> Option<Class> {
        self.0.get(at).map(|token| token.class)
    }

    fn text(self, at: usize) -> &'a str {
        self.0.get(at).map_or("", |token| token.text)
    }

    /// Number of digits at a position; 0 if the token is not a number.
    fn digits(self, at: usize) -> usize {
        match self.class(at) {
            Some(Class::Digits) => self.text(at).len(),
            _ => 0,
        }
    }

    fn is_day(self, at: usize) -> bool {
        (1..=2).contains(&self.digits(at))
    }

    fn is_year(self, at: usize) -> bool {
        self.digits(at) == 4
    }

    fn is_month(self, at: usize) -> bool {
        let text = self.text(at);
        self.class(at) == Some(Class::Letters)
            && MONTHS.match_indices(text).any(|(start, _)| {
                MONTHS[..start].ends_with(' ') && MONTHS[start + text.len()..].starts_with(' ')
            })
    }

    /// The position after one of these texts, if it is at `at`; otherwise `at`.
    fn skip(self, at: usize, texts: &[&str]) -> usize {
        at + usize::from(texts.contains(&self.text(at)))
    }

    fn date(self) -> Option<usize> {
        self.numeric_date().or_else(|| self.named_date())
    }

    fn numeric_date(self) -> Option<usize> {
        if self.text(1) == "年"
            && self.is_year(0)
            && self.is_day(2)
            && self.text(3).starts_with('月')
        {
            let has_day = self.text(3) == "月" && self.is_day(4) && self.text(5).starts_with('日');
            // What follows may be written without a space.
            return Some(if has_day { 5 } else { 3 });
        }
        let separator = self.text(1);
        let is_one = matches!(separator, "-" | "." | "/") && self.text(3) == separator;
        let year_first = self.is_year(0) && self.is_day(2) && self.is_day(4);
        let year_last = self.is_day(0) && self.is_day(2) && matches!(self.digits(4), 2 | 4);
        (is_one && (year_first || year_last)).then_some(5)
    }

    fn named_date(self) -> Option<usize> {
        const ORDINALS: [&str; 6] = ["st", "nd", "rd", "th", "er", "º"];
        if self.is_month(0) {
            // `May 5`, `May 5th, 2024`, `May 2024`.
            let at = self.skip(self.skip(1, &["."]), &[" "]);
            if self.is_year(at) {
                return Some(at + 1);
            }
            if !self.is_day(at) {
                return None;
            }
            let end = self.skip(at + 1, &ORDINALS);
            return Some(self.with_year(end));
        }
        if !self.is_day(0) {
            return None;
        }
        // `5 May 2024`, `5. Mai`, `5 de mayo de 2024`.
        let at = self.skip(self.skip(1, &ORDINALS), &["."]);
        let at = self.skip(at, &[" ", "-"]);
        let at = match self.text(at) {
            "de" | "of" => self.skip(at + 1, &[" "]),
            _ => at,
        };
        self.is_month(at)
            .then(|| self.with_year(self.skip(at + 1, &["."])))
    }

    /// The position after the year that follows a day and a month, if there is one.
    fn with_year(self, end: usize) -> usize {
        let at = self.skip(self.skip(end, &[","]), &[" ", "-"]);
        let at = match self.text(at) {
            "de" => self.skip(at + 1, &[" "]),
            _ => at,
        };
        if self.is_year(at) { at + 1 } else { end }
    }

    fn time(self) -> Option<usize> {
        let has_minutes = |at: usize| self.text(at) == ":" && self.digits(at + 1) == 2;
        if !self.is_day(0) || !has_minutes(1) {
            return None;
        }
        let end = if has_minutes(3) { 5 } else { 3 };
        let at = self.skip(end, &[" "]);
        Some(match self.text(at) {
            "am" | "pm" => at + 1,
            _ => end,
        })
    }

    fn number(self) -> Option<usize> {
        if self.digits(0) == 0 {
            return None;
        }
        let mut end = 1;
        while matches!(self.text(end), "." | ",") && self.digits(end + 1) > 0 {
            end += 2;
        }
        (self.class(end) != Some(Class::Letters)).then_some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(masks: &[Mask], text: &str, expected: &str) {
        let masks: Masks = masks.iter().copied().collect();
        assert_eq!(masks.apply(text), expected, "{masks}");
    }

    #[test]
    fn dates_are_told_in_numbers_and_names() {
        for date in [
            "2024-05-01",
            "1.5.2024",
            "5/1/24",
            "May 5, 2024",
            "May 5th 2024",
            "Sept. 2024",
            "5 May",
            "5th of May 2024",
            "5. März 2024",
            "5 de mayo de 2024",
            "1er août 2024",
            "5-Jan-2024",
        ] {
            check(&[Mask::Dates], &format!("on {date}: x"), "on 0: x");
        }
        check(
            &[Mask::Dates],
            "发布于2024年5月1日发布",
            "发布于2024年5月1日发布",
        );
        check(&[Mask::Dates], "于 2024年5月1日发布", "于 0日发布");
        for text in [
            "version 1.2.3.4",
            "you may go",
            "1.5",
            "march on",
            "2024",
            "10-12",
        ] {
            let masked = Masks::from_iter([Mask::Dates]).apply(text);
            assert!(text.starts_with("version") || masked == text, "{masked}");
        }
    }

    #[test]
    fn times_and_numbers_are_told() {
        check(
            &[Mask::Times],
            "at 9:30, 09:30:15 and 9:30 PM",
            "at 0, 0 and 0",
        );
        check(&[Mask::Times], "a ratio of 16:9", "a ratio of 16:9");
        check(
            &[Mask::Numbers],
            "1,234.56 in 7 days, mp3, 10km",
            "0 in 0 days, mp3, 10km",
        );
        check(
            &[Mask::Dates, Mask::Times, Mask::Numbers],
            "2024-05-01 09:30 seen 17 times.",
            "0 0 seen 0 times.",
        );
        check(&[], "As It Is 7", "as it is 7");
    }

    proptest! {
        #[test]
        fn any_text_can_be_masked_and_once_is_enough(text in "\\PC{0,60}") {
            let masks = Masks::from_iter([Mask::Numbers]);
            let once = masks.apply(&text);
            prop_assert_eq!(masks.apply(&once), once);
        }

        #[test]
        fn nothing_makes_masks_panic(text in "[0-9年月日:./, -]{0,30}|([0-9]{1,4}[ .-]?(may|de|th|pm| )?){0,9}") {
            Masks::from_iter([Mask::Dates, Mask::Times, Mask::Numbers]).apply(&text);
        }
    }
}
