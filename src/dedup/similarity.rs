//! How alike two pages are, as it is kept and told: in thousandths, so that what was stored
//! compares equal to what was computed.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Tier;

/// The least similarity at which a crawl may call pages near duplicates: what is stored is made to
/// be found from here on.
pub const MIN_SIMILARITY: f64 = 0.8;

/// A share from 0 to 1, in thousandths. In JSON it is a number such as 0.943.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Similarity(u16);

impl Similarity {
    /// Of two pages that are the same by an exact tier.
    pub const EXACT: Self = Self(1_000);

    /// The nearest thousandth; what is outside of 0 to 1 is the nearer of the two.
    pub fn of(share: f64) -> Self {
        Self((share.clamp(0.0, 1.0) * 1_000.0).round() as u16)
    }

    /// From 0 to 1.
    pub fn share(self) -> f64 {
        f64::from(self.0) / 1_000.0
    }
}

impl fmt::Display for Similarity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.share())
    }
}

impl Serialize for Similarity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => serializer.serialize_f64(self.share()),
            false => serializer.serialize_u16(self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Similarity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match deserializer.is_human_readable() {
            true => Self::of(f64::deserialize(deserializer)?),
            false => Self(u16::deserialize(deserializer)?.min(Self::EXACT.0)),
        })
    }
}

/// How alike two signatures are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Match {
    /// Bits of the fingerprints that differ; 0 where there are none.
    pub distance: u8,
    /// 0 to 1; 1 for an exact tier.
    pub similarity: f64,
    /// Whether both have a `MinHash` signature, by which they can be found whatever the distance.
    pub by_signature: bool,
}

impl Match {
    /// Of two pages that are the same.
    pub(crate) const EXACT: Self = Self {
        distance: 0,
        similarity: 1.0,
        by_signature: false,
    };

    /// Whether this is the closer of two.
    pub(crate) fn is_closer_than(&self, other: &Self) -> bool {
        self.similarity > other.similarity
            || self.similarity >= other.similarity && self.distance < other.distance
    }
}

/// How alike two pages are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comparison {
    /// By which tier a crawl would call them the same, the cheapest one; `None` if by none.
    pub tier: Option<Tier>,
    /// Bits in which their `SimHash`es differ; `None` where a page is too short for one.
    pub distance: Option<u8>,
    /// From 0 to 1; 1 where they are the same by an exact tier.
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
