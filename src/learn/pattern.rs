//! URL patterns: what URLs of one kind have in common, and the dates in them.

use std::fmt::Write as _;

use xxhash_rust::xxh3::xxh3_64;

use crate::url::{MONTHS, Url};

/// The pattern of a URL: its path with numbers, dates and the page's name masked, and the names of
/// its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// The pattern as text, for people. Two URLs of one host have the same pattern if this is
    /// equal.
    pub text: String,
    /// The dates in the URL combined into one number; `None` if there are none.
    pub date: Option<u32>,
}

/// Maximum length of a pattern in bytes.
const MAX_PATTERN: usize = 200;

impl Pattern {
    /// The pattern of a URL.
    pub fn of(url: &Url) -> Self {
        Self::made(url, false, true)
    }

    /// The pattern of a URL in which the page's name is kept, apart from its numbers and dates.
    pub fn named(url: &Url) -> Self {
        Self::made(url, true, true)
    }

    /// The pattern of a URL without its query, with the page's name kept.
    pub fn of_path(url: &Url) -> Self {
        Self::made(url, true, false)
    }

    fn made(url: &Url, keeps_name: bool, has_query: bool) -> Self {
        let mut pattern = Self {
            text: String::with_capacity(url.as_str().len()),
            date: None,
        };
        pattern.push_path(url, keeps_name);
        if has_query {
            pattern.push_query(url.query().unwrap_or_default());
        }
        let end = (0..=MAX_PATTERN.min(pattern.text.len()))
            .rev()
            .find(|&at| pattern.text.is_char_boundary(at));
        pattern.text.truncate(end.unwrap_or(0));
        pattern
    }

    /// The pattern of everything below the first segment of the path; `None` if the URL lies at the
    /// top level.
    pub fn tree_of(url: &Url) -> Option<Self> {
        let first = url.path().split('/').nth(1)?;
        let is_below = url.path().len() > first.len() + 2;
        let mut pattern = Self {
            text: "/".to_owned(),
            date: None,
        };
        pattern.push_masked(first);
        pattern.text.push_str("/**");
        pattern.date = None;
        is_below.then_some(pattern)
    }

    /// Whether the URL may contain a date. A cheap test that most URLs fail.
    pub fn may_be_dated(url: &Url) -> bool {
        // In a path, four digits of a year or eight digits of a day; in a query also timestamps.
        let is_in_path = |digits| digits == 4 || digits == 8;
        has_digits(url.path(), is_in_path)
            || has_digits(url.query().unwrap_or_default(), |digits| digits >= 4)
    }

    /// The key under which the pattern's row is stored.
    pub fn key(&self) -> [u8; 8] {
        xxh3_64(self.text.as_bytes()).to_be_bytes()
    }

    fn push_path(&mut self, url: &Url, keeps_name: bool) {
        let mut segments = url.path().split('/').skip(1).peekable();
        while let Some(segment) = segments.next() {
            self.text.push('/');
            if let Some((year, month)) =
                year(segment).zip(segments.peek().copied().and_then(month_or_name))
            {
                segments.next();
                let day = segments
                    .peek()
                    .copied()
                    .and_then(|text| number_in(text, 1, 31));
                if day.is_some() {
                    segments.next();
                }
                self.push_date(year, month, day.unwrap_or(0));
                continue;
            }
            let is_name = !keeps_name && segments.peek().is_none() && url.query().is_none();
            match segment.rsplit_once('.') {
                _ if !is_name => self.push_masked(segment),
                // Pages of one directory are of one kind, unless the name contains a date.
                Some((stem, extension)) => {
                    self.push_name(stem);
                    self.text.push('.');
                    self.push_masked(extension);
                }
                None => self.push_name(segment),
            }
        }
    }

    fn push_name(&mut self, name: &str) {
        let before = (self.text.len(), self.date);
        self.push_masked(name);
        if self.date == before.1 && !name.is_empty() {
            self.text.truncate(before.0);
            self.text.push('*');
        }
    }

    fn push_query(&mut self, query: &str) {
        let mut names: Vec<(String, u32)> = Vec::new();
        let mut calendar = [0_u32; 3];
        for piece in query.split('&').filter(|piece| !piece.is_empty()) {
            let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
            let lower = name.to_ascii_lowercase();
            let number = value.parse::<u32>().ok();
            match (&*lower, number) {
                ("y" | "yr" | "year" | "yyyy", Some(year)) if year >= 1_000 => calendar[0] = year,
                ("m" | "mon" | "month" | "mm", Some(month)) if month <= 12 => calendar[1] = month,
                ("d" | "day" | "dd" | "mday" | "w" | "week", Some(day)) if day <= 53 => {
                    calendar[2] = day;
                }
                _ => {}
            }
            let mut value_pattern = Self {
                text: String::new(),
                date: None,
            };
            value_pattern.push_masked(value);
            let date = value_pattern.date.or_else(|| timestamp(&lower, value));
            let mut shown = Self {
                text: String::new(),
                date: None,
            };
            shown.push_masked(name);
            names.push((shown.text, date.unwrap_or(0)));
        }
        names.sort();
        names.dedup_by(|a, b| a.0 == b.0);
        for (index, (name, date)) in names.into_iter().enumerate() {
            self.text.push(if index == 0 { '?' } else { '&' });
            self.text.push_str(&name);
            if date != 0 {
                self.text.push_str("={date}");
                self.note_date(date);
            }
        }
        let [year, month, day] = calendar;
        if year != 0 {
            self.note_date(day_number(year, month, day));
        }
    }

    /// Appends `text` with its dates, numbers and random words masked.
    fn push_masked(&mut self, text: &str) {
        let drawn = text.len() >= 16
            && text.bytes().any(|byte| byte.is_ascii_digit())
            && text
                .bytes()
                .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        if drawn {
            self.text.push('#');
            return;
        }
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let digits = leading_digits(rest);
            if let Some((length, date)) = date_at(rest) {
                self.text.push_str("{date}");
                self.note_date(date);
                rest = &rest[length..];
            } else if let Some(length) = drawn_word(rest) {
                self.text.push('#');
                rest = &rest[length..];
            } else if digits > 0 {
                self.text.push('#');
                rest = &rest[digits..];
            } else {
                let word = rest.find(|c: char| !c.is_ascii_alphabetic());
                let length = word.unwrap_or(rest.len()).max(first.len_utf8());
                self.text.push_str(&rest[..length]);
                rest = &rest[length..];
            }
        }
    }

    fn push_date(&mut self, year: u32, month: u32, day: u32) {
        let _ = write!(self.text, "{{date}}");
        self.note_date(day_number(year, month, day));
    }

    /// Combines a date with those before it. URLs with different dates almost always get different
    /// numbers.
    fn note_date(&mut self, date: u32) {
        let so_far = self.date.unwrap_or(0);
        self.date = Some(so_far.wrapping_mul(0x9e37_79b1).wrapping_add(date));
    }
}

fn day_number(year: u32, month: u32, day: u32) -> u32 {
    year.wrapping_mul(1_024)
        .wrapping_add(month * 64)
        .wrapping_add(day)
}

/// Whether the text contains a run of digits whose length is wanted.
fn has_digits(text: &str, is_wanted: impl Fn(usize) -> bool) -> bool {
    let mut digits = 0;
    let found = text.bytes().any(|byte| {
        if byte.is_ascii_digit() {
            digits += 1;
            false
        } else {
            is_wanted(std::mem::take(&mut digits))
        }
    });
    found || is_wanted(digits)
}

fn leading_digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

fn number_in(text: &str, low: u32, high: u32) -> Option<u32> {
    let is_short = matches!(text.len(), 1..=2) && leading_digits(text) == text.len();
    let number = text.parse().ok().filter(|_| is_short)?;
    (low..=high).contains(&number).then_some(number)
}

fn year(text: &str) -> Option<u32> {
    let year = text.parse().ok().filter(|_| text.len() == 4)?;
    (1_000..=9_999).contains(&year).then_some(year)
}

/// A month by its number or its English name, whole or abbreviated to three letters.
fn month_or_name(text: &str) -> Option<u32> {
    number_in(text, 1, 12).or_else(|| {
        let at = MONTHS
            .iter()
            .position(|name| is_short_or_whole(text, name))?;
        u32::try_from(at + 1).ok()
    })
}

fn is_short_or_whole(text: &str, name: &str) -> bool {
    text.eq_ignore_ascii_case(name) || text.eq_ignore_ascii_case(&name[..3])
}

/// A date at the beginning of the text (`2024-05`, `2024_5_1`, `20240501`), and its length.
fn date_at(text: &str) -> Option<(usize, u32)> {
    match leading_digits(text) {
        8 => {
            let year = year(&text[..4]).filter(|year| *year < 3_000)?;
            let (month, day) = (
                number_in(&text[4..6], 1, 12)?,
                number_in(&text[6..8], 1, 31)?,
            );
            Some((8, day_number(year, month, day)))
        }
        4 => {
            let year = year(&text[..4])?;
            let (length, month) = part_after_separator(&text[4..], 12)?;
            let month_end = 4 + length;
            Some(match part_after_separator(&text[month_end..], 31) {
                Some((length, day)) => (month_end + length, day_number(year, month, day)),
                None => (month_end, day_number(year, month, 0)),
            })
        }
        _ => None,
    }
}

/// A number of one or two digits after `-`, `_`, `.` or an escaped slash, and where it ends.
fn part_after_separator(text: &str, high: u32) -> Option<(usize, u32)> {
    let separator = if text.starts_with(['-', '_', '.', '/']) {
        1
    } else if text.get(..3)?.eq_ignore_ascii_case("%2f") {
        3
    } else {
        return None;
    };
    let digits = leading_digits(&text[separator..]);
    let number = number_in(&text[separator..separator + digits], 1, high)?;
    Some((separator + digits, number))
}

/// The length of a word at the beginning of the text that looks random: eight hexadecimal digits,
/// or sixteen letters and digits that include both.
fn drawn_word(text: &str) -> Option<usize> {
    let length = text.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let word = &text[..length];
    let mixed = word.bytes().any(|byte| byte.is_ascii_digit());
    let is_hex = word.bytes().all(|byte| byte.is_ascii_hexdigit());
    (mixed && (length >= 16 || length >= 8 && is_hex)).then_some(length)
}

/// Whether a segment may hold a session identifier: at least four characters with a digit among
/// them, or capitals within a long word.
pub(super) fn is_drawn(text: &str) -> bool {
    let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
    let changes = text.as_bytes().windows(2);
    let changes = changes.filter(|it| it[0].is_ascii_lowercase() && it[1].is_ascii_uppercase());
    text.len() >= 4 && has_digit || text.len() >= 16 && changes.count() >= 2
}

/// Whether a text contains a word that looks random.
pub(super) fn has_drawn_word(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| drawn_word(word).is_some())
}

/// A timestamp (seconds or milliseconds since 1970) as a number of days, if the name of the
/// parameter suggests a time.
fn timestamp(name: &str, value: &str) -> Option<u32> {
    const NAMES: [&str; 11] = [
        "begin",
        "date",
        "end",
        "from",
        "since",
        "start",
        "time",
        "timestamp",
        "to",
        "ts",
        "until",
    ];
    let seconds = match value.len() {
        9..=11 => value.parse::<u64>().ok()?,
        13 => value.parse::<u64>().ok()? / 1_000,
        _ => return None,
    };
    let days = u32::try_from(seconds / 86_400).ok()?;
    NAMES.contains(&name).then_some(days)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::url::parse;

    fn url(path: &str) -> Url {
        parse(&format!("http://a.example{path}")).unwrap()
    }

    #[track_caller]
    fn check_pattern(expected: &str, is_dated: bool, paths: &[&str]) {
        for path in paths {
            let pattern = Pattern::of(&url(path));
            assert_eq!(pattern.text, expected, "{path}");
            assert_eq!(pattern.date.is_some(), is_dated, "{path}");
        }
    }

    #[test]
    fn urls_of_one_kind_have_one_pattern() {
        check_pattern(
            "/a/*.html",
            false,
            &["/a/b.html", "/a/c17.html", "/a/index.html"],
        );
        check_pattern("/a/", false, &["/a/"]);
        check_pattern("/", false, &["/"]);
        check_pattern("/v#/*", false, &["/v1/x", "/v29/y"]);
        check_pattern("/v#.#/*", false, &["/v1.2/x"]);
        check_pattern(
            "/show.php?id&s",
            false,
            &["/show.php?s=1&id=2", "/show.php?id=&s=x&id=3"],
        );
        check_pattern(
            "/u/#/*",
            false,
            &[
                "/u/0a1b2c3d/x",
                "/u/123/y",
                "/u/f47ac10b-58cc-4372-a567-0e02b2c3d479/z",
            ],
        );
        check_pattern(
            "/c/{date}",
            true,
            &[
                "/c/2024/05",
                "/c/2024/5/31",
                "/c/2024/may",
                "/c/9999/December/1",
            ],
        );
        check_pattern("/c/{date}/*.html", true, &["/c/2024/05/a.html"]);
        check_pattern(
            "/{date}.html",
            true,
            &["/2024-05.html", "/2024_5_1.html", "/20240501.html"],
        );
        check_pattern(
            "/c?d={date}",
            true,
            &["/c?d=2024-05-01", "/c?d=2024%2F05%2F01"],
        );
        check_pattern("/c?month&year", true, &["/c?year=2024&month=5"]);
        check_pattern(
            "/c?start={date}",
            true,
            &["/c?start=1714521600", "/c?start=1714521600000"],
        );
        check_pattern("/c?id", false, &["/c?id=1714521600", "/c?id=2024"]);
        check_pattern("/#/*", false, &["/2024/x", "/2024/13", "/2024/0"]);
    }

    #[test]
    fn what_is_below_one_segment_is_a_tree() {
        let tree = |path: &str| Pattern::tree_of(&url(path)).map(|pattern| pattern.text);
        for path in ["/grow/a", "/grow/a/b/?x=2024-05-01", "/grow/2024/05"] {
            assert_eq!(tree(path).as_deref(), Some("/grow/**"), "{path}");
        }
        assert_eq!(tree("/v12/x").as_deref(), Some("/v#/**"));
        for path in ["/", "/x", "/x/", "/x.html?a/b"] {
            assert_eq!(tree(path), None, "{path}");
        }
    }

    #[test]
    fn dates_are_told_apart() {
        let date = |path: &str| Pattern::of(&url(path)).date.unwrap();
        let mut dates: Vec<u32> = [
            "/c/2024/05",
            "/c/2024/06",
            "/c/2025/05",
            "/c/2024/05/06",
            "/c?d=2024-05-01",
            "/c?d=2024-01-05",
            "/c?year=2024&month=7",
            "/c?year=12024&month=7",
        ]
        .map(date)
        .to_vec();
        dates.sort_unstable();
        dates.dedup();
        assert_eq!(dates.len(), 8);
    }

    proptest! {
        /// Every path has a pattern, and masking a masked text changes nothing.
        #[test]
        fn any_url_has_a_pattern(path in "(/[a-z0-9é%._-]{0,12}){0,6}(\\?[a-z0-9=&/-]{0,30})?") {
            if let Ok(url) = parse(&format!("http://a.example{path}")) {
                let pattern = Pattern::of(&url);
                prop_assert!(pattern.text.len() <= MAX_PATTERN);
                prop_assert_eq!(Pattern::of(&url), pattern);
            }
        }

        /// If the cheap test finds nothing, there is no date.
        #[test]
        fn without_a_sign_of_it_there_is_no_date(
            path in "(/([0-9]{1,9}|[a-f]{1,2})[._a-z-]?[0-9]{0,9}(-[0-9]{1,2}){0,2}){1,4}(\\?(y|ts|m|q)=[0-9]{0,13}(&d=[0-9]{1,10})?)?",
        ) {
            let url = url(&path);
            prop_assert!(Pattern::may_be_dated(&url) || Pattern::of(&url).date.is_none());
        }

        /// URLs that differ only in numbers have one pattern.
        #[test]
        fn numbers_make_no_pattern(a in 0..999_u32, b in 0..999_u32) {
            let of = |n: u32| Pattern::of(&url(&format!("/a{n}/b-{n}/c?x={n}"))).text;
            prop_assert_eq!(of(a), of(b));
        }
    }
}
