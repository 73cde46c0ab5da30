//! Shingles: the features that SimHash and `MinHash` compare. Each is the hash of a few adjacent
//! units (words or characters), rolled from the hashes of the units.
//!
//! Pure arithmetic on hashes; it never sees a string.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The unit of a shingle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// The words of the tokeniser.
    Words,
    /// The characters of the words, with one space between two words.
    Characters,
}

/// The form of shingles, written `words:3` or `chars:8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shingle {
    /// The unit.
    pub unit: Unit,
    /// Number of units in each shingle, 1 to [`Shingle::MAX_LENGTH`].
    pub length: u8,
}

impl Shingle {
    /// The most units in a shingle. Longer ones would be as long as a paragraph.
    pub const MAX_LENGTH: u8 = 32;

    /// Shingles of this many words.
    pub const fn words(length: u8) -> Self {
        Self {
            unit: Unit::Words,
            length,
        }
    }
}

impl fmt::Display for Shingle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.unit {
            Unit::Words => "words",
            Unit::Characters => "chars",
        };
        write!(f, "{unit}:{}", self.length)
    }
}

impl std::str::FromStr for Shingle {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let most = Self::MAX_LENGTH;
        let wrong = || {
            format!("`{text}` is not a shingle: use words:N or chars:N, with N from 1 to {most}")
        };
        let (unit, length) = text.split_once(':').ok_or_else(wrong)?;
        let unit = match unit {
            "words" => Unit::Words,
            "chars" => Unit::Characters,
            _ => return Err(wrong()),
        };
        match length.parse() {
            Ok(length) if (1..=most).contains(&length) => Ok(Self { unit, length }),
            _ => Err(wrong()),
        }
    }
}

/// The multiplier of the rolling polynomial (2^64 / phi). It is odd, so that multiplication loses
/// no information.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// The hashes of all shingles of `length` units, in order. A shorter text has one hash, of all its
/// units; an empty text has none.
///
/// Each hash is a polynomial of the hashes of its units, so that their order counts. It is rolled
/// from the previous one with two multiplications and then mixed, so that every bit depends on
/// every unit. Another `seed` gives entirely different hashes.
pub(crate) fn hashes(units: &[u64], length: u8, seed: u64) -> Vec<u64> {
    let length = usize::from(length.max(1)).min(units.len());
    let (head, tail) = units.split_at(length);
    if head.is_empty() {
        return Vec::new();
    }
    let out_of_window = (0..length).fold(1_u64, |power, _| power.wrapping_mul(MULTIPLIER));
    let mut sum = head.iter().fold(0_u64, |sum, unit| {
        sum.wrapping_mul(MULTIPLIER).wrapping_add(*unit)
    });
    let mut found = Vec::with_capacity(tail.len() + 1);
    found.push(mix(sum ^ seed));
    found.extend(tail.iter().zip(units).map(|(entering, leaving)| {
        sum = sum
            .wrapping_mul(MULTIPLIER)
            .wrapping_add(*entering)
            .wrapping_sub(leaving.wrapping_mul(out_of_window));
        mix(sum ^ seed)
    }));
    found
}

/// The finalizer of `SplitMix64` (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number
/// Generators", 2014).
pub(crate) fn mix(value: u64) -> u64 {
    let mixed = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shingles_are_written_with_their_unit() {
        let check = |text: &str, expected: Option<(Unit, u8)>| {
            let found = text.parse::<Shingle>().ok();
            assert_eq!(found.map(|it| (it.unit, it.length)), expected, "{text}");
        };
        check("words:3", Some((Unit::Words, 3)));
        check("chars:8", Some((Unit::Characters, 8)));
        check("words:0", None);
        check("words", None);
        check("lines:2", None);
    }

    #[test]
    fn the_order_of_the_units_counts() {
        assert_ne!(hashes(&[1, 2, 3], 3, 0), hashes(&[3, 2, 1], 3, 0));
        assert_ne!(hashes(&[0, 1, 0], 3, 0), hashes(&[0, 0, 1], 3, 0));
        assert_ne!(hashes(&[1, 2, 3], 3, 0), hashes(&[1, 2, 3], 3, 1));
    }

    #[test]
    fn a_short_text_is_one_shingle_and_an_empty_one_none() {
        assert_eq!(hashes(&[7, 8], 5, 0).len(), 1);
        assert_eq!(hashes(&[], 5, 0), Vec::<u64>::new());
        assert_eq!(hashes(&[1, 2, 3, 4, 5, 6], 5, 0).len(), 2);
    }

    proptest! {
        /// A rolled hash depends only on its window.
        #[test]
        fn rolling_gives_what_each_window_gives_alone(
            units in prop::collection::vec(any::<u64>(), 1..40), length in 1..9_u8, seed: u64,
        ) {
            let rolled = hashes(&units, length, seed);
            let alone: Vec<u64> = units
                .windows(usize::from(length).min(units.len()))
                .flat_map(|window| hashes(window, length, seed))
                .collect();
            prop_assert_eq!(rolled, alone);
        }
    }
}
