//! The units in which settings are written, durations and sizes, and what a room says of a setting
//! that it cannot use.
//!
//! The rooms' policies are read from the configuration as they are, so their fields have these
//! types.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;
use std::time::Duration;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// The answer of a check of settings: the first key with a value out of its range, as
/// `section.key`, and what the value must be.
pub type Checked = Result<(), (&'static str, &'static str)>;

/// Reads a value that is written as text; the error for any other type says what was expected.
struct Written<T> {
    expected: &'static str,
    kind: PhantomData<T>,
}

impl<T> Written<T> {
    fn new(expected: &'static str) -> Self {
        Self {
            expected,
            kind: PhantomData,
        }
    }
}

impl<T: FromStr<Err = String>> Visitor<'_> for Written<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

/// A duration, written like `500ms`, `1s`, `10m`, `1h 30m` or `2d`. A day has 24 hours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(into = "String")]
pub struct Span(pub Duration);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(Duration::ZERO);

    /// A number of milliseconds.
    pub const fn millis(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }

    /// A number of seconds.
    pub const fn seconds(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }
}

/// Seconds in a day.
const DAY: u64 = 86_400;

/// Splits a duration into the days that it begins with and the rest. The parser of the rest rejects
/// days, because the days of a calendar differ in length.
fn days_and_rest(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, rest) = text.split_at(digits);
    let unit = rest.trim_start();
    let rest = ["days", "day", "d"]
        .iter()
        .find_map(|name| unit.strip_prefix(name));
    match rest {
        Some(rest) if digits > 0 => Some((number.parse().ok()?, rest.trim_start())),
        _ if text.is_empty() => None,
        _ => Some((0, text)),
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        days_and_rest(text)
            .and_then(|(days, rest)| {
                let rest = match rest {
                    "" => Duration::ZERO,
                    rest => Duration::try_from(rest.parse::<jiff::SignedDuration>().ok()?).ok()?,
                };
                days.checked_mul(DAY)?.checked_add(rest.as_secs())?;
                Some(Self(Duration::from_secs(days * DAY) + rest))
            })
            .ok_or_else(|| {
                format!("`{text}` is not a duration; write one like 500ms, 2s, 10m, 1h or 1d")
            })
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Written::new("a duration in quotes, such as \"500ms\""))
    }
}

impl From<Span> for String {
    fn from(span: Span) -> Self {
        span.to_string()
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.subsec_nanos() == 0
            && self.0.as_secs() > 0
            && self.0.as_secs().is_multiple_of(DAY)
        {
            return write!(f, "{}d", self.0.as_secs() / DAY);
        }
        match jiff::SignedDuration::try_from(self.0) {
            Ok(duration) => write!(f, "{duration:#}"),
            Err(_) => write!(f, "{}s", self.0.as_secs()),
        }
    }
}

/// A number of bytes, written like `64KiB`, `20MiB` or `1GB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(into = "String")]
pub struct Size(pub u64);

impl Size {
    /// A number of mebibytes.
    pub const fn mebibytes(mebibytes: u64) -> Self {
        Self(mebibytes << 20)
    }

    /// The size as a length in memory.
    pub fn bytes(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// Units, largest first. A size is shown in the largest unit that divides it.
const UNITS: [(&str, u64); 7] = [
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("KB", 1_000),
    ("B", 1),
];

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = &text[digits.len()..];
        let unit = if unit.is_empty() { "B" } else { unit };
        UNITS
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(unit))
            .and_then(|(_, bytes)| digits.trim().parse::<u64>().ok()?.checked_mul(*bytes))
            .map(Self)
            .ok_or_else(|| format!("`{text}` is not a size; write one like 64KiB, 20MiB or 1GB"))
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Written::new("a size in quotes, such as \"20MiB\""))
    }
}

impl From<Size> for String {
    fn from(size: Size) -> Self {
        size.to_string()
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, bytes) = UNITS
            .into_iter()
            .find(|(_, bytes)| self.0 >= *bytes && self.0.is_multiple_of(*bytes))
            .unwrap_or(("B", 1));
        write!(f, "{}{unit}", self.0 / bytes)
    }
}

/// For `#[serde(with = "units::as_text")]`: a value that is written as it is displayed.
pub(crate) mod as_text {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<T: Display, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_shown_alike() {
        let check = |text: &str, millis| {
            let span: Span = text.parse().unwrap();
            assert_eq!(span.0, Duration::from_millis(millis), "{text}");
            assert_eq!(span.to_string().parse::<Span>(), Ok(span), "{span}");
        };
        check("500ms", 500);
        check("0s", 0);
        check("1h 30m", 5_400_000);
        check("10m", 600_000);
        check("1d", 86_400_000);
        check("2 days 1h", 176_400_000);
        check("24h", 86_400_000);
        for text in ["", "1", "d", "-1s", "-1d", "soon", "99999999999999999d"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_read_and_shown_alike() {
        let check = |text: &str, bytes| {
            let size: Size = text.parse().unwrap();
            assert_eq!(size.0, bytes, "{text}");
            assert_eq!(size.to_string().parse::<Size>(), Ok(size), "{size}");
        };
        check("0", 0);
        check("17", 17);
        check("64KiB", 65_536);
        check("1GB", 1_000_000_000);
        check("20 mib", 20 << 20);
        for text in ["", "MiB", "1.5GB", "-1", "1XB", "99999999999GiB"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }
}
