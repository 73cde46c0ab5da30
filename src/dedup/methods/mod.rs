//! The methods, one for each tier: each signs pages, says under which keys a signature is found,
//! and measures two of them.

pub(crate) mod exact;
pub(crate) mod minhash;
pub(crate) mod near;
pub(crate) mod short;
mod signature;
pub(crate) mod simhash;

pub use signature::Signature;
pub(crate) use signature::sketch_bytes;

use super::features::{Features, Hashing};
use super::{Match, Text, Tier};

/// Where a signature looks in one of the method's structures, and perhaps is to be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Name of the runs.
    pub structure: &'static str,
    /// What is compared with the keys that are found.
    pub value: u64,
    /// Whether the signature is posted under `value` too.
    pub is_posted: bool,
    /// The lowest key at which one like it can be.
    pub low: u64,
    /// The highest.
    pub high: u64,
}

impl Key {
    /// One that is looked for where it is posted.
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

/// One way to tell that two pages are the same.
pub trait Method: Send + Sync {
    /// The tier that the method decides.
    fn tier(&self) -> Tier;
    /// The runs that it keeps its keys in.
    fn structures(&self) -> &'static [&'static str];
    /// The signature of a page; `None` if it is too short to be judged this way.
    fn sign(&self, raw: &[u8], text: &Text, by: &Hashing) -> Option<Signature>;
    /// Where a signature looks and is to be found.
    fn keys(&self, signature: &Signature, features: &Features, out: &mut Vec<Key>);
    /// Bits in which the keys of two pages that are the same may differ, where one looks in a
    /// range.
    fn reach(&self) -> u8 {
        0
    }
    /// How alike two pages are; `None` if they cannot be compared, or differ where the tier asks
    /// for equality. Whether that is alike enough is the [`Rule`](super::Rule)'s to say.
    fn measure(&self, a: &Signature, b: &Signature) -> Option<Match>;
}

/// All methods, cheapest first.
pub const METHODS: [&dyn Method; 4] = [
    &exact::RAW,
    &exact::NORMALIZED,
    &exact::CONTENT,
    &near::Near,
];
