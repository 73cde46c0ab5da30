//! Is this page one that is stored already?
//!
//! Every tier is a [`Method`] and every method an inverted index: its keys lead to documents, its
//! `verify` decides. [`METHODS`] lists them, cheapest first; the first that finds an original gives
//! the [`Verdict`]. Keys are kept in `runs`, documents in sled ([`Documents`]); the [`Index`] puts
//! both together. Nothing here knows pages, archives or the network: bytes and text come in,
//! verdicts go out.

mod tier;

mod rule;
mod similarity;
mod verdict;

pub(crate) mod text;

pub(crate) mod features;
mod fingerprints;
mod methods;
pub(crate) mod veto;

mod document;
mod index;

pub use document::{Document, DocumentId, Stored, StoredFor};
pub use features::Features;
pub use fingerprints::{Fingerprinter, Fingerprints};
pub use index::{
    Asked, Documents, DocumentsDamage, Error, Index, Pending, Posting, postings, structures,
};
pub use methods::minhash::{HASHES, Permutations, bands_for, found as chance_found};
pub use methods::simhash::hamming;
pub use methods::{Key, METHODS, Method, Signature};
pub(crate) use methods::{minhash, short, simhash, sketch_bytes};
pub use rule::{MAX_HAMMING, Rule, RuleOverrides, Rules, Tiers};
pub use similarity::{Comparison, MIN_SIMILARITY, Match, Similarity};
pub(crate) use text::shingle;
pub use text::shingle::{Shingle, Unit};
pub use text::{Mask, Masks, PageHints, Text, words};
pub use tier::{Finder, Tier};
pub use verdict::{Ineligible, Repeat, Verdict};
