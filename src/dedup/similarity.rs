//! Similarity: how alike two pages are. It is stored and shown in thousandths, so that a stored
//! value equals a computed one.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Tier;

/// The least similarity at which a crawl can call pages near duplicates: the index is built to find
/// pages from this similarity up.
pub const MIN_SIMILARITY: f64 = 0.8;

/// A similarity from 0 to 1, in thousandths. In JSON it is a number such as 0.943.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Similarity(u16);

impl Similarity {
    /// The similarity of two pages that match at an exact tier.
    pub const EXACT: Self = Self(1_000);

    /// Rounds to the nearest thousandth. Values outside 0 to 1 are clamped.
    pub fn of(share: f64) -> Self {
        Self((share.clamp(0.0, 1.0) * 1_000.0).round() as u16)
    }

    /// The similarity as a number from 0 to 1.
    pub fn share(self) -> f64 {
        f64::from(self.0) / 1_000.0
    }
}

impl fmt::Display for Similarity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.share())
    }
}

impl schemars::JsonSchema for Similarity {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Similarity".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A similarity, in steps of a thousandth.",
            "type": "number",
            "minimum": 0,
            "maximum": 1,
        })
    }
}

impl Serialize for Similarity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_f64(self.share())
        } else {
            serializer.serialize_u16(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Similarity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(if deserializer.is_human_readable() {
            Self::of(f64::deserialize(deserializer)?)
        } else {
            Self(u16::deserialize(deserializer)?.min(Self::EXACT.0))
        })
    }
}

/// How alike two signatures are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Match {
    /// Number of bits in which their `SimHash` values differ; 0 if they have none.
    pub distance: u8,
    /// From 0 to 1; 1 for an exact tier.
    pub similarity: f64,
    /// Standard error of the similarity; 0 if it is exact.
    pub error: f64,
    /// Whether both have a `MinHash` signature, so that their bands find them at any distance.
    pub by_signature: bool,
}

impl Match {
    /// A match at an exact tier.
    pub(crate) const EXACT: Self = Self {
        distance: 0,
        similarity: 1.0,
        error: 0.0,
        by_signature: false,
    };

    /// Whether this match is closer than the other: more similar or, at equal similarity, fewer
    /// bits apart.
    pub(crate) fn is_closer_than(&self, other: &Self) -> bool {
        self.similarity > other.similarity
            || self.similarity >= other.similarity && self.distance < other.distance
    }
}

/// How alike two pages are, and whether a crawl would call them duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comparison {
    /// The cheapest tier at which a crawl would call them duplicates; `None` if it would not.
    pub tier: Option<Tier>,
    /// Number of bits in which their `SimHash` values differ; `None` if a page is too short for
    /// one.
    pub distance: Option<u8>,
    /// From 0 to 1; 1 if they match at an exact tier.
    pub similarity: Similarity,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_same_in_rows_in_json_and_in_words() {
        for (share, text) in [
            (0.0, "0.0"),
            (0.9434, "0.943"),
            (0.9999, "1.0"),
            (7.0, "1.0"),
        ] {
            let similarity = Similarity::of(share);
            assert_eq!(serde_json::to_string(&similarity).unwrap(), text);
            assert_eq!(
                serde_json::from_str::<Similarity>(text).unwrap(),
                similarity
            );
            let row = postcard::to_stdvec(&similarity).unwrap();
            assert_eq!(
                postcard::from_bytes::<Similarity>(&row).unwrap(),
                similarity
            );
        }
        assert_eq!(Similarity::of(0.9434).to_string(), "0.943");
        assert_eq!(Similarity::of(f64::NAN), Similarity::of(0.0));
    }
}
