//! Signatures: the values that the methods make of a page and compare.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::minhash::{self, HASHES};

/// The signature of a page by one method.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Signature {
    /// A SHA-256.
    Digest([u8; 32]),
    /// A 64-bit SimHash, and the sketch that confirms a match.
    Witnessed {
        /// SimHash of word 2-shingles, unless the features say otherwise.
        simhash: u64,
        /// `MinHash` of word 5-shingles, 8 bits per value.
        #[serde(with = "sketch_bytes")]
        sketch: Box<[u8; HASHES]>,
    },
    /// All word 5-shingles of a short page, ascending.
    Shingles(Vec<u32>),
    /// A 64-bit SimHash, and a `MinHash` signature that confirms a match and is also found by
    /// itself.
    MinHashed {
        /// SimHash of word 2-shingles, unless the features say otherwise.
        simhash: u64,
        /// `MinHash` of word 5-shingles, 32 bits per value.
        #[serde(with = "minima_bytes")]
        minima: Box<[u32; HASHES]>,
    },
}

impl Signature {
    /// The SimHash, if the signature has one.
    pub fn simhash(&self) -> Option<u64> {
        match self {
            Self::Witnessed { simhash, .. } | Self::MinHashed { simhash, .. } => Some(*simhash),
            Self::Digest(_) | Self::Shingles(_) => None,
        }
    }

    /// The sketch, stored or cut from the `MinHash` signature, if there is one.
    pub fn sketch(&self) -> Option<Cow<'_, [u8; HASHES]>> {
        match self {
            Self::Witnessed { sketch, .. } => Some(Cow::Borrowed(sketch)),
            Self::MinHashed { minima, .. } => Some(Cow::Owned(minhash::sketch(minima))),
            Self::Digest(_) | Self::Shingles(_) => None,
        }
    }
}

/// Writes a sketch as a list of bytes, because serde handles arrays only up to 32 elements.
pub(crate) mod sketch_bytes {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    use super::HASHES;

    pub(crate) fn serialize<S: Serializer>(
        sketch: &[u8; HASHES],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        sketch.as_slice().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Box<[u8; HASHES]>, D::Error> {
        let bytes: Box<[u8]> = Vec::deserialize(deserializer)?.into();
        bytes
            .try_into()
            .map_err(|_| D::Error::custom("a sketch of another length"))
    }
}

/// Writes a signature as its bytes, each value in little-endian order.
mod minima_bytes {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    use super::HASHES;

    pub(super) fn serialize<S: Serializer>(
        minima: &[u32; HASHES],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = minima.iter().flat_map(|it| it.to_le_bytes()).collect();
        bytes.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Box<[u32; HASHES]>, D::Error> {
        let bytes: Vec<u8> = Vec::deserialize(deserializer)?;
        let (values, rest) = bytes.as_chunks::<4>();
        let minima: Box<[u32]> = values.iter().map(|it| u32::from_le_bytes(*it)).collect();
        match minima.try_into() {
            Ok(minima) if rest.is_empty() => Ok(minima),
            _ => Err(D::Error::custom("a signature of another length")),
        }
    }
}
