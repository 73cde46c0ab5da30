//! Features: what the fingerprints of a crawl are made of.

use serde::{Deserialize, Serialize};

use super::methods::minhash::{Permutations, bands_for};
use super::similarity::MIN_SIMILARITY;
use super::text::Masks;
use super::text::shingle::Shingle;
use super::tier::Finder;

/// The parts of a crawl's fingerprint that no setting changes. Change this line with any change to
/// them: the next start makes the fingerprints of a crawl again.
pub(crate) const VERSION: &str = "simhash-64 of a set, tie 0; minhash 128x8 and (main and whole \
    text) 32x8 of word 5-shingles; under 50 words sets; composed; site, headline, language, versions, series; version 9";

/// The same of the documents of a corpus. An index of other ones is refused, and its texts may be
/// gone; so this line stays as it is as long as most texts have the fingerprints that they had.
/// (That texts are composed first changes those of few.)
pub(crate) const OF_CORPORA: &str = "simhash-64 by count, tie 0; minhash 128x8 and (main and whole \
    text) 32x8 of word 5-shingles; under 50 words sets; site, headline, language, versions, series; version 5";

/// The settings that fingerprints depend on. Fingerprints of different features never match, so a
/// data directory keeps the [line](Features::line) of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Features {
    /// Whether pages get a `MinHash` signature besides their `SimHash`.
    pub method: Finder,
    /// The shingles of the `SimHash`.
    pub simhash_shingle: Shingle,
    /// The shingles of the sketch, the `MinHash` signature and the sets of short pages. Similarity
    /// always means the Jaccard similarity of these.
    pub minhash_shingle: Shingle,
    /// Bands of a `MinHash` signature.
    pub bands: u32,
    /// Values in each band. `bands` times `rows` is at most [`HASHES`](super::HASHES).
    pub rows: u32,
    /// What the near tier masks.
    pub masks: Masks,
    /// Seed of all hash functions. A crawl draws it, and keeps it to itself, so that nobody can
    /// make a page that looks like another.
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
    /// All features on one line. Fingerprints match only if their lines are equal.
    pub fn line(&self) -> String {
        // Destructured, so that a new field cannot be forgotten.
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
        // Words were not hashed by the seed at first, which made no difference for 0.
        let of_words = match seed {
            0 => "",
            _ => " of words too",
        };
        format!(
            "{VERSION}; simhash of {simhash_shingle}; minhash of {minhash_shingle}; {minhash}; \
             masks {masks}; seed {seed}{of_words}"
        )
    }
}

impl Features {
    /// The seed of a [line](Features::line), also of one that an earlier version wrote.
    pub(crate) fn seed_of(line: &str) -> Option<u64> {
        let (_, seed) = line.rsplit_once("; seed ")?;
        seed.split(' ').next()?.parse().ok()
    }
}

/// The features of a crawl, with the hash functions drawn from their seed.
#[derive(Debug)]
pub struct Hashing {
    pub(super) features: Features,
    pub(super) permutations: Permutations,
}

impl Hashing {
    /// Draws the hash functions for these features.
    pub(super) fn new(features: Features) -> Self {
        Self {
            permutations: Permutations::new(features.seed),
            features,
        }
    }
}
