//! All figures of a document, for users who compare documents themselves.

use sha2::{Digest, Sha256};

use super::Signer;
use crate::dedup::minhash::{self, HASHES, MinHashSignature, Permutations, Sketch, WholeSketch};
use crate::dedup::short::SHORT_WORDS;
use crate::dedup::{Text, shingle, simhash, text};

/// Only the SimHash of a text's word shingles, for benchmarks.
pub fn sign_simhash(text: &str, length: u8, seed: u64) -> u64 {
    simhash::majority(&shingle::hashes(
        &text::word_hashes(text, seed),
        length,
        seed,
    ))
}

/// Only the `MinHash` signature of a text's word shingles, for benchmarks.
pub fn sign_minhash(text: &str, length: u8, permutations: &Permutations) -> MinHashSignature {
    permutations.minima(&shingle::hashes(&text::word_hashes(text, 0), length, 0))
}

/// The values that documents are compared by.
#[derive(Debug, Clone)]
pub struct Figures {
    /// Number of words in the text that the document is judged by.
    pub words: u32,
    /// Number of words in all its text.
    pub visible_words: u32,
    /// SHA-256 of the bytes.
    pub raw: [u8; 32],
    /// SHA-256 of the text, ignoring case and runs of white space; `None` without text.
    pub normalized: Option<[u8; 32]>,
    /// SHA-256 of the word sequence; `None` without words.
    pub content: Option<[u8; 32]>,
    /// SimHash of the requested shingles; `None` under 50 words.
    pub simhash: Option<u64>,
    /// `MinHash` of word 5-shingles, 8 bits per value; `None` under 50 words.
    pub sketch: Option<Sketch>,
    /// `MinHash` of word 5-shingles, 32 bits per value; `None` under 50 words.
    pub minhash: Option<Box<MinHashSignature>>,
    /// The short sketch of all the text; `None` without words.
    pub sketch_visible: Option<WholeSketch>,
}

impl Figures {
    /// The figures of a document with the bytes `raw`. The signer's options determine its SimHash.
    pub fn of(raw: &[u8], text: &Text, signer: &Signer) -> Self {
        let permutations = signer.permutations();
        let minhash = (text.word_count() >= SHORT_WORDS).then(|| {
            let shingles = shingle::hashes(text.word_hashes(), 5, permutations.seed());
            Box::new(permutations.minima::<HASHES>(&shingles))
        });
        Self {
            words: text.word_count(),
            visible_words: text.visible_words(),
            raw: Sha256::digest(raw).into(),
            normalized: text.normalized(),
            content: text.content(),
            simhash: signer.simhash(text),
            sketch: minhash.as_deref().map(minhash::sketch),
            minhash,
            sketch_visible: (text.visible_words() > 0)
                .then(|| minhash::whole_sketch(text.visible_hashes(), permutations)),
        }
    }
}
