//! Deduplication of a crawl: whether a page is stored already.
//!
//! Each tier has a [`Method`], and each method is an inverted index: its keys lead to candidate
//! documents, and its `measure` compares them with the page. [`METHODS`] lists the methods,
//! cheapest first. The first one that finds an original that the [`Rule`]s accept and no veto
//! forbids gives the [`Verdict`].
//!
//! Keys are kept in `runs`, documents in sled ([`Documents`]); the [`Index`] combines the two. This
//! room knows no pages, archives or network: it takes bytes and text and returns verdicts. Corpora
//! that others crawled are deduplicated in memory by the room `corpus`.

mod tier;

mod rule;
mod similarity;
mod verdict;

pub(crate) mod text;

pub(crate) mod features;
mod fingerprints;
mod methods;
pub mod own;
pub(crate) mod veto;

mod burden;
pub(crate) use burden::is_borne_out;

mod document;
mod error;
mod index;

pub use document::{Document, DocumentId, Stored, StoredFor, foreign, shard_of};
pub use error::Error;
pub use features::Features;
pub use fingerprints::{Fingerprinter, Fingerprints};
pub use index::{
    Documents, DocumentsDamage, Found, Index, Originals, Others, Pending, Posting, Query, postings,
    structures,
};
#[cfg(test)]
pub(crate) use methods::forged;
pub use methods::minhash::{HASHES, Permutations, bands_for, found as chance_found};
pub use methods::simhash::hamming;
pub use methods::{Key, METHODS, Method, Raw, Signature};
pub(crate) use methods::{minhash, short, simhash, sketch_bytes};
pub use rule::{MAX_HAMMING, Profile, Rule, RuleOverrides, Rules, Tiers};
pub use similarity::{Comparison, MIN_SIMILARITY, Match, Similarity};
pub(crate) use text::shingle;
pub use text::shingle::{Shingle, Unit};
pub use text::{Mask, Masks, PageHints, Text, words};
pub use tier::{Finder, Tier};
pub use verdict::{Ineligible, Repeat, Verdict};
