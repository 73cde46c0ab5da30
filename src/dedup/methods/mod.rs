//! The methods of comparison, one per tier. A method signs pages, gives the keys under which a
//! signature is found, and measures how alike two signatures are.

pub(crate) mod exact;
#[cfg(test)]
pub(crate) mod forged;
pub(crate) mod minhash;
pub(crate) mod near;
pub(crate) mod short;
mod signature;
pub(crate) mod simhash;

pub use exact::Raw;
pub use signature::Signature;
pub(crate) use signature::sketch_bytes;

use super::features::{Features, Hashing};
use super::{Match, Text, Tier};

/// A key, or a range of keys, at which a signature is searched for in one of its method's
/// structures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// The structure's name.
    pub structure: &'static str,
    /// The value that found keys are compared with.
    pub value: u64,
    /// Whether the signature is also posted under `value`.
    pub is_posted: bool,
    /// The lowest key of a similar signature.
    pub low: u64,
    /// The highest key of a similar signature.
    pub high: u64,
}

impl Key {
    /// A key at which a signature is both posted and searched for.
    pub(crate) fn exact(structure: &'static str, value: u64) -> Self {
        Self {
            structure,
            value,
            is_posted: true,
            low: value,
            high: value,
        }
    }
}

/// A way to find and compare duplicates.
pub trait Method: Send + Sync {
    /// The tier that the method decides.
    fn tier(&self) -> Tier;
    /// The names of the structures that hold its keys.
    fn structures(&self) -> &'static [&'static str];
    /// Signs a page; `None` if the page is too short for the method.
    fn sign(&self, raw: Raw<'_>, text: &Text, by: &Hashing) -> Option<Signature>;
    /// Appends the keys at which a signature is posted and searched for.
    fn keys(&self, signature: &Signature, features: &Features, out: &mut Vec<Key>);
    /// The most bits by which keys in a range may differ from the searched value.
    fn reach(&self) -> u8 {
        0
    }
    /// Measures how alike two pages are. `None` if they cannot be compared, or if the tier requires
    /// equality and they differ. The [`Rule`](super::Rule) decides whether the result is enough.
    fn measure(&self, a: &Signature, b: &Signature) -> Option<Match>;
}

/// All methods, cheapest first.
pub const METHODS: [&dyn Method; 4] = [
    &exact::RAW,
    &exact::NORMALIZED,
    &exact::CONTENT,
    &near::Near,
];
