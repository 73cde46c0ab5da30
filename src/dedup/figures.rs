//! All figures of one document, for whoever wants to compare documents themselves.

use sha2::{Digest, Sha256};

use super::minhash::{self, HASHES, Permutations, Signature, Sketch, WholeSketch};
use super::short::SHORT_WORDS;
use super::{Text, shingle, simhash, text};

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
    /// SimHash of word 2-shingles; `None` under 50 words, as for the two below.
    pub simhash: Option<u64>,
    /// `MinHash` of word 5-shingles, 8 bits a value.
    pub sketch: Option<Sketch>,
    /// `MinHash` of word 5-shingles, 32 bits a value.
    pub minhash: Option<Box<Signature>>,
    /// The sketch of all its text; `None` without words.
    pub sketch_visible: Option<WholeSketch>,
}

impl Figures {
    /// The figures of a document: `raw` are its bytes.
    pub fn of(raw: &[u8], text: &Text, seed: u64) -> Self {
        let permutations = Permutations::new(seed);
        let words = text.word_hashes();
        let minhash = (text.word_count() >= SHORT_WORDS)
            .then(|| Box::new(permutations.minima::<HASHES>(&shingle::hashes(words, 5, seed))));
        Self {
            words: text.word_count(),
            visible_words: text.visible_words(),
            raw: Sha256::digest(raw).into(),
            normalized: text.normalized(),
            content: text.content(),
            simhash: minhash
                .as_ref()
                .map(|_| simhash::majority(&shingle::hashes(words, 2, seed))),
            sketch: minhash.as_deref().map(minhash::sketch),
            minhash,
            sketch_visible: (text.visible_words() > 0)
                .then(|| minhash::whole_sketch(text.visible_hashes(), &permutations)),
        }
    }
}
