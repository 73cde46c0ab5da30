//! What the fingerprints of a crawl are made of.

use super::methods::minhash::{Permutations, bands_for};
use super::similarity::MIN_SIMILARITY;
use super::text::Masks;
use super::text::shingle::Shingle;
use super::tier::Finder;

/// The form of what is made whatever the settings. Change it with whatever changes a fingerprint.
pub(crate) const VERSION: &str = "simhash-64 by count, tie 0; minhash 128x8 and (main and whole \
    text) 32x8 of word 5-shingles; under 50 words sets; headline, language, versions, series; version 4";

/// What fingerprints are made of. Those of two kinds would never meet, so a data directory keeps
/// the [line](Features::line) that its own are made by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Features {
    /// Whether documents have a `MinHash` signature too.
    pub method: Finder,
    /// The shingles of the `SimHash`.
    pub simhash_shingle: Shingle,
    /// The shingles of sketch, `MinHash` signature and sets: those whose Jaccard similarity is
    /// meant where similarity is spoken of.
    pub minhash_shingle: Shingle,
    /// Bands of a `MinHash` signature.
    pub bands: u32,
    /// Values in each; `bands` times `rows` is at most [`HASHES`](super::HASHES).
    pub rows: u32,
    /// What is masked in the near tier.
    pub masks: Masks,
    /// Another seed gives other hash functions.
    pub seed: u64,
}

impl Default for Features {
    fn default() -> Self {
        let (bands, rows) = bands_for(MIN_SIMILARITY);
        Self {
            method: Finder::default(),
            simhash_shingle: Shingle::words(2),
            minhash_shingle: Shingle::words(5),
            bands,
            rows,
            masks: Masks::default(),
            seed: 0,
        }
    }
}

impl Features {
    /// Everything that tells fingerprints of two kinds apart, on one line.
    pub fn line(&self) -> String {
        // Taken apart, so that none can be forgotten.
        let Self {
            method,
            simhash_shingle,
            minhash_shingle,
            bands,
            rows,
            masks,
            seed,
        } = self;
        let minhash = match method {
            Finder::Simhash => "no signatures".to_owned(),
            Finder::Minhash => format!("signatures 128x32 in {bands} bands of {rows}"),
        };
        format!(
            "{VERSION}; simhash of {simhash_shingle}; minhash of {minhash_shingle}; {minhash}; \
             masks {masks}; seed {seed}"
        )
    }
}

/// The features of a crawl, and the hash functions that their seed gives.
#[derive(Debug)]
pub struct Hashing {
    pub(super) features: Features,
    pub(super) permutations: Permutations,
}

impl Hashing {
    /// The hash functions for these features.
    pub(super) fn new(features: Features) -> Self {
        Self {
            permutations: Permutations::new(features.seed),
            features,
        }
    }
}
