//! What the fingerprints of a crawl are made of, and who makes them.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::guard::Guard;
use super::mask::Masks;
use super::minhash::Permutations;
use super::{Fingerprints, METHODS, Shingle, Text, Unit};

/// The form of what is made whatever the settings. Change it with whatever changes a fingerprint.
pub(crate) const VERSION: &str = "simhash-64 by count, tie 0; minhash 128x8 and (main and whole \
    text) 32x8 of word 5-shingles; under 50 words sets; headline, language, versions, series; version 4";

/// How near duplicates are found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finder {
    /// By their `SimHash`: some 50 bytes a document.
    #[default]
    Simhash,
    /// By their `SimHash`, and by the bands of a `MinHash` signature, which finds nearly all that
    /// reach the similarity: some 700 bytes more a document.
    Minhash,
}

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
        let (bands, rows) = super::bands_for(super::MIN_SIMILARITY);
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

impl fmt::Display for Shingle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.unit {
            Unit::Words => "words",
            Unit::Characters => "chars",
        };
        write!(f, "{unit}:{}", self.length)
    }
}

impl std::str::FromStr for Shingle {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let most = Self::MAX_LENGTH;
        let wrong =
            || format!("`{text}` is no shingle: write words:N or chars:N, N from 1 to {most}");
        let (unit, length) = text.split_once(':').ok_or_else(wrong)?;
        let unit = match unit {
            "words" => Unit::Words,
            "chars" => Unit::Characters,
            _ => return Err(wrong()),
        };
        match length.parse() {
            Ok(length) if (1..=most).contains(&length) => Ok(Self { unit, length }),
            _ => Err(wrong()),
        }
    }
}

/// Makes fingerprints. Shared by threads; a clone costs a counter.
#[derive(Debug, Clone)]
pub struct Fingerprinter(Arc<Making>);

#[derive(Debug)]
struct Making {
    features: Features,
    permutations: Permutations,
}

impl Fingerprinter {
    /// One that makes fingerprints of these features.
    pub fn new(features: Features) -> Self {
        let permutations = Permutations::new(features.seed);
        Self(Arc::new(Making {
            features,
            permutations,
        }))
    }

    /// That of the default features.
    pub(super) fn standard() -> &'static Self {
        static STANDARD: OnceLock<Fingerprinter> = OnceLock::new();
        STANDARD.get_or_init(|| Self::new(Features::default()))
    }

    /// What it makes fingerprints of.
    pub fn features(&self) -> &Features {
        &self.0.features
    }

    pub(super) fn permutations(&self) -> &Permutations {
        &self.0.permutations
    }

    /// The text of a page, ready to be signed: its main text, and its whole visible text.
    pub fn text(&self, main: &str, visible: &str) -> Text {
        let features = self.features();
        let text = Text::new(main, visible).with_masks(features.masks, main, visible);
        let shingles = [features.simhash_shingle, features.minhash_shingle];
        match shingles.iter().any(|it| it.unit == Unit::Characters) {
            true => text.with_characters(main, visible),
            false => text,
        }
    }

    /// Signs a page by every method: `raw` is the decoded body.
    pub fn sign(&self, raw: &[u8], text: &Text) -> Fingerprints {
        Fingerprints {
            signatures: METHODS
                .iter()
                .map(|method| method.sign(raw, text, self))
                .collect(),
            words: text.word_count(),
            guard: Guard::of(text, self.permutations()),
        }
    }
}
