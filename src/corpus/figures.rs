//! All figures of one document, for whoever wants to compare documents themselves.

use sha2::{Digest, Sha256};

use super::Signer;
use crate::dedup::minhash::{self, HASHES, Permutations, Signature, Sketch, WholeSketch};
use crate::dedup::short::SHORT_WORDS;
use crate::dedup::{Text, shingle, simhash, text};

/// The SimHash of a text's shingles of words, and nothing else: for measuring.
pub fn sign_simhash(text: &str, length: u8, seed: u64) -> u64 {
    simhash::majority(&shingle::hashes(&text::word_hashes(text), length, seed))
}

/// The `MinHash` signature of a text's shingles of words, and nothing else: for measuring.
pub fn sign_minhash(text: &str, length: u8, permutations: &Permutations) -> Signature {
    permutations.minima(&shingle::hashes(&text::word_hashes(text), length, 0))
}

/// What documents are compared by.
#[derive(Debug, Clone)]
pub struct Figures {
    /// Words of the text that it is judged by.
    pub words: u32,
    /// Words of all its text.
    pub visible_words: u32,
    /// SHA-256 of its bytes.
    pub raw: [u8; 32],
    /// SHA-256 of its text, case and white space folded; `None` if it has none.
    pub normalized: Option<[u8; 32]>,
    /// SHA-256 of its word sequence; `None` if it has no words.
    pub content: Option<[u8; 32]>,
    /// SimHash of the shingles that were asked for; `None` under 50 words, as for the two below.
    pub simhash: Option<u64>,
    /// `MinHash` of word 5-shingles, 8 bits a value.
    pub sketch: Option<Sketch>,
    /// `MinHash` of word 5-shingles, 32 bits a value.
    pub minhash: Option<Box<Signature>>,
    /// The sketch of all its text; `None` without words.
    pub sketch_visible: Option<WholeSketch>,
}

impl Figures {
    /// The figures of a document: `raw` are its bytes, and the signer's options say what makes its
    /// SimHash.
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
