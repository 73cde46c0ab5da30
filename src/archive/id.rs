//! Names derived from content: the digest of bytes and the id of a record. There are no random
//! numbers, so a visit that is replayed gets the same records.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

/// The identity of a record: a version 8 UUID (RFC 9562, section 5.8), written as `<urn:uuid:…>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RecordId([u8; 16]);

impl RecordId {
    /// Creates an id from `seed`. Six bits are overwritten with the UUID's version and variant.
    pub fn new(seed: u128) -> Self {
        Self::marked(seed.to_be_bytes())
    }

    /// Creates an id from the bytes of any UUID.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Creates an id from the first 16 bytes of a digest, except for the version and variant bits.
    pub fn from_digest(digest: &Digest) -> Self {
        let [bytes @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = digest.0;
        Self::marked(bytes)
    }

    /// Parses what [`Display`](fmt::Display) writes, with or without the angle brackets. Accepts
    /// any UUID.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('<').unwrap_or(text);
        let text = text.strip_suffix('>').unwrap_or(text);
        let digits: String = text
            .strip_prefix("urn:uuid:")?
            .chars()
            .filter(|&c| c != '-')
            .take(33)
            .collect();
        let mut bytes = [0; 16];
        hex::decode_to_slice(digits, &mut bytes).ok()?;
        Some(Self(bytes))
    }

    /// Returns the 16 bytes of the UUID.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    fn marked(mut bytes: [u8; 16]) -> Self {
        bytes[6] = bytes[6] & 0x0f | 0x80;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Self(bytes)
    }

    /// Creates an id from `parts`. Each part is preceded by its length, so that no two lists of
    /// parts give the same input.
    pub(super) fn of(parts: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        Self::from_digest(&Digest(hasher.finalize().into()))
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = u128::from_be_bytes(self.0);
        write!(
            f,
            "<urn:uuid:{:08x}-{:04x}-{:04x}-{:04x}-{:012x}>",
            id >> 96,
            (id >> 80) & 0xffff,
            (id >> 64) & 0xffff,
            (id >> 48) & 0xffff,
            id & 0xffff_ffff_ffff
        )
    }
}

/// A SHA-256 digest, written as `sha256:` and lower-case hexadecimal digits (the form that the
/// annotated WARC/1.1 recommends).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Computes the digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self::of_parts([bytes])
    }

    /// Creates a digest that was computed or stored elsewhere.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Parses what [`Display`](fmt::Display) writes; the digits may be of either case.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text.strip_prefix("sha256:")?, &mut bytes).ok()?;
        Some(Self(bytes))
    }

    /// Computes the digest of the concatenated parts.
    pub(super) fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }
}

/// What the digests in headers are made with. Within gleaner a payload is known by its SHA-256
/// whatever its record says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DigestAlgorithm {
    /// SHA-256 in hexadecimal, as the annotated WARC/1.1 recommends.
    #[default]
    Sha256,
    /// SHA-1 in Base32, as most crawlers write it and some tools expect it.
    Sha1,
}

impl DigestAlgorithm {
    /// Returns the digest of the concatenated parts, as headers have it.
    pub fn digest<'a>(self, parts: impl IntoIterator<Item = &'a [u8]>) -> String {
        match self {
            Self::Sha256 => Digest::of_parts(parts).to_string(),
            Self::Sha1 => {
                let mut hasher = Sha1::new();
                for part in parts {
                    hasher.update(part);
                }
                let digest = hasher.finalize();
                format!("sha1:{}", data_encoding::BASE32.encode(&digest))
            }
        }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", hex::encode(self.0))
    }
}
