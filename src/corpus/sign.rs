//! Signing: a [`Signer`] turns the text of a document into [`Signed`], a plain value that documents
//! are compared by, as the [`Options`] say. It can run on any thread.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::bottom::Bottom;
use super::lookup::{self, KEPT_WORDS};
use super::weights::Weights;
use crate::dedup::minhash::{self, HASHES, Permutations, Sketch};
use crate::dedup::shingle::{self, Shingle, Unit};
use crate::dedup::short::{self, SHORT_WORDS, Set};
use crate::dedup::text::MIN_WORDS;
use crate::dedup::veto::Veto;
use crate::dedup::{Masks, Text, sketch_bytes};

/// How a corpus is deduplicated.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// How near duplicates are found.
    pub near: NearMethod,
    /// The least similarity of near duplicates, 0 to 1: of sketches, of signatures, or of the sets
    /// of short documents.
    pub threshold: f64,
    /// The shingles that the method compares.
    pub shingle: Shingle,
    /// The shingles of documents that are too short for the method. Their sets are compared.
    pub short_shingle: Shingle,
    /// The weights of shingles in a SimHash.
    pub weights: Weights,
    /// What near duplicates may differ in.
    pub masks: Masks,
    /// Which earlier documents a document is compared with.
    pub clusters: Clusters,
    /// Seed of the hash functions. Another seed gives other estimation errors.
    pub seed: u64,
}

/// How near duplicates are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NearMethod {
    /// SimHash finds candidates, and a sketch decides.
    Witness,
    /// SimHash alone, within this many bits, at most [`super::MAX_GUARANTEED`].
    Hamming(u8),
    /// `MinHash` signatures, found by their bands.
    MinHash {
        /// Number of bands.
        bands: u32,
        /// Number of values in each band.
        rows: u32,
        /// Whether estimates close to the threshold are replaced by the exact similarity.
        exact: bool,
    },
}

/// Which earlier documents a document is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clusters {
    /// All of them, including duplicates: a cluster is everything that is linked, directly or
    /// through others.
    Components,
    /// Those that are not duplicates.
    FirstFit,
}

impl Options {
    /// SimHash, confirmed by a sketch.
    pub fn witness() -> Self {
        Self {
            near: NearMethod::Witness,
            threshold: 0.84,
            shingle: Shingle::words(2),
            short_shingle: Shingle::words(5),
            weights: Weights::Count,
            masks: Masks::default(),
            clusters: Clusters::Components,
            seed: 0,
        }
    }

    /// SimHash alone. The threshold is higher, so that short documents are held to about the same
    /// standard as a distance of 3 bits.
    pub fn hamming(distance: u8) -> Self {
        Self {
            near: NearMethod::Hamming(distance),
            threshold: 0.9,
            ..Self::witness()
        }
    }

    /// `MinHash` with the bands that suit the threshold.
    pub fn minhash(threshold: f64) -> Self {
        let (bands, rows) = minhash::bands_for(threshold);
        Self {
            near: NearMethod::MinHash {
                bands,
                rows,
                exact: false,
            },
            threshold,
            shingle: Shingle::words(5),
            ..Self::witness()
        }
    }
}

impl Options {
    /// Whether the texts of what looks near are compared, because everybody knows the seed of the
    /// fingerprints, and these alone are not to decide.
    pub(super) fn compares_texts(&self) -> bool {
        self.seed == 0 && !matches!(self.near, NearMethod::Hamming(_))
    }

    /// All options by name and value. Documents can be compared only if they are equal.
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let method = match self.near {
            NearMethod::Witness => "simhash with a sketch".to_owned(),
            NearMethod::Hamming(distance) => format!("simhash within {distance} bits"),
            NearMethod::MinHash { bands, rows, exact } => {
                let verified = if exact { "exactly" } else { "by estimate" };
                format!("minhash of {bands} bands of {rows}, verified {verified}")
            }
        };
        let clusters = match self.clusters {
            Clusters::Components => "components",
            Clusters::FirstFit => "first-fit",
        };
        // Words were not hashed by the seed at first, which made no difference for 0.
        let seed = match self.seed {
            0 => "0".to_owned(),
            seed => format!("{seed} of words too"),
        };
        let mut settings = vec![
            ("method", method),
            ("threshold", self.threshold.to_string()),
            ("shingle", self.shingle.to_string()),
            ("shingle of short documents", self.short_shingle.to_string()),
            ("weights", self.weights.name()),
            ("clusters", clusters.to_owned()),
            ("seed", seed),
        ];
        // An index of before there were masks has none.
        if !self.masks.is_empty() {
            settings.push(("masks", self.masks.to_string()));
        }
        settings
    }
}

/// A document as it was read: signed, with the text that it is judged by, if later ones may have to
/// be compared with that.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ReadDocument {
    pub(super) signed: Signed,
    pub(super) text: Option<Box<str>>,
}

/// The signatures of a document.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Signed {
    /// The first half of the SHA-256 of the bytes, unless they are only white space.
    pub(super) raw: Option<u128>,
    /// The first half of the SHA-256 of the visible text, ignoring case and runs of white space.
    pub(super) normalized: Option<u128>,
    /// The first half of the SHA-256 of the word sequence of the main text.
    pub(super) content: Option<u128>,
    /// The set of shingles, if the document is short enough to be found by it.
    pub(super) set: Option<Set>,
    /// The fingerprint, if the document is long enough to have one.
    pub(super) near: Option<Fingerprint>,
    /// The keys of the `MinHash` bands.
    pub(super) bands: Box<[u32]>,
    /// All shingles, if candidates are to be compared exactly.
    pub(super) exact: Option<Set>,
    /// Signals that keep the document from being called a duplicate.
    pub(super) veto: Veto,
}

impl Signed {
    /// Whether the document can be near another one.
    pub(super) fn is_comparable(&self) -> bool {
        self.near.is_some() || self.set.is_some()
    }

    /// A number that documents with the same text have, whatever its case and white space.
    pub(super) fn text_number(&self) -> u64 {
        let digest = self.normalized.or(self.raw);
        digest.map_or(0, |digest| digest as u64)
    }
}

/// The values that candidates are compared by.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Fingerprint {
    SimHash(u64),
    Witnessed(u64, #[serde(with = "sketch_bytes")] Box<Sketch>),
    MinHash(#[serde(with = "sketch_bytes")] Box<Sketch>, Bottom),
}

/// Signs documents. Threads share it.
#[derive(Debug)]
pub struct Signer {
    options: Options,
    permutations: Permutations,
}

impl Signer {
    /// A signer for these options.
    pub fn new(options: &Options) -> Self {
        Self {
            options: options.clone(),
            permutations: Permutations::new(options.seed),
        }
    }

    /// Prepares a document's main text and all of its text for signing.
    pub fn text(&self, main: &str, visible: &str) -> Text {
        let text = Text::seeded(main, visible, self.options.seed, self.options.masks);
        self.with_units(text, main, visible)
    }

    /// Prepares a text for [`shingles`](Self::shingles) alone: it cannot be signed.
    pub(super) fn words(&self, text: &str) -> Text {
        let words = Text::of_words(text, self.options.seed, self.options.masks);
        self.with_units(words, text, text)
    }

    /// Adds what shingles are made of, if that is something else than words.
    fn with_units(&self, text: Text, main: &str, visible: &str) -> Text {
        let shingles = [self.options.shingle, self.options.short_shingle];
        match shingles.iter().any(|it| it.unit == Unit::Characters) {
            true => text.with_characters(main, visible),
            false => text,
        }
    }

    /// The shingles of a text, in order.
    fn features(&self, text: &Text) -> Vec<u64> {
        self.shingles(text, self.options.shingle)
    }

    pub(super) fn shingles(&self, text: &Text, shingle: Shingle) -> Vec<u64> {
        let units = match shingle.unit {
            Unit::Words => text.word_hashes(),
            Unit::Characters => text.characters(),
        };
        shingle::hashes(units, shingle.length, self.options.seed)
    }

    /// The distinct shingles of a text; `None` if it is too short to have a SimHash.
    pub fn distinct_features(&self, text: &Text) -> Option<Vec<u64>> {
        (text.word_count() >= SHORT_WORDS).then(|| {
            let mut features = self.features(text);
            features.sort_unstable();
            features.dedup();
            features
        })
    }

    /// The SimHash of a text; `None` if it is too short to have one.
    pub(super) fn simhash(&self, text: &Text) -> Option<u64> {
        (text.word_count() >= SHORT_WORDS)
            .then(|| self.options.weights.simhash(&self.features(text)))
    }

    /// What documents are signed by.
    pub(super) fn options(&self) -> &Options {
        &self.options
    }

    /// The functions of `MinHash` values.
    pub(super) fn permutations(&self) -> &Permutations {
        &self.permutations
    }

    /// Signs a document with the bytes `raw`.
    pub fn sign(&self, raw: &[u8], text: &Text) -> Signed {
        let words = text.word_count();
        let features = || self.features(text);
        let five_words = || shingle::hashes(text.word_hashes(), 5, self.options.seed);
        let is_long = words >= SHORT_WORDS && text.is_comparable();
        let (mut near, mut bands, mut exact) = (None, Box::default(), None);
        if is_long {
            near = Some(match self.options.near {
                NearMethod::Witness => {
                    let minima = self.permutations.minima::<HASHES>(&five_words());
                    let sketch = Box::new(minhash::sketch(&minima));
                    Fingerprint::Witnessed(self.options.weights.simhash(&features()), sketch)
                }
                NearMethod::Hamming(_) => {
                    Fingerprint::SimHash(self.options.weights.simhash(&features()))
                }
                NearMethod::MinHash {
                    bands: count,
                    rows,
                    exact: is_exact,
                } => {
                    let features = features();
                    exact = is_exact.then(|| short::set(&features));
                    let minima = self.permutations.minima(&features);
                    bands = lookup::keys(&minima, count, rows);
                    Fingerprint::MinHash(Box::new(minhash::sketch(&minima)), Bottom::of(&features))
                }
            });
        }
        let is_short = (MIN_WORDS..KEPT_WORDS).contains(&words) && text.is_comparable();
        let set = is_short.then(|| short::set(&self.shingles(text, self.options.short_shingle)));
        Signed {
            raw: (!raw.trim_ascii().is_empty()).then(|| half(&Sha256::digest(raw).into())),
            normalized: text
                .normalized()
                .filter(|_| text.visible_words() >= MIN_WORDS)
                .as_ref()
                .map(half),
            content: text
                .content()
                .filter(|_| text.main_words() >= MIN_WORDS)
                .as_ref()
                .map(half),
            set,
            near,
            bands,
            exact,
            veto: Veto::of(text, &self.permutations, None),
        }
    }
}

/// 128 bits of a SHA-256 are enough: two of 10^12 documents share them by chance once in 680
/// million million corpora.
fn half(digest: &[u8; 32]) -> u128 {
    digest
        .iter()
        .take(16)
        .fold(0, |half, byte| half << 8 | u128::from(*byte))
}
