//! Is this page one that is stored already?
//!
//! Every tier is a [`Method`] and every method an inverted index: its keys lead to documents, its
//! `verify` decides. [`METHODS`] lists them, cheapest first; the first that finds an original gives
//! the [`Verdict`]. Keys are kept in `runs`, documents in sled ([`Documents`]); the [`Index`] puts
//! both together. Nothing here knows pages, archives or the network: bytes and text come in,
//! verdicts go out.

mod bands;
mod bottom;
mod corpus;
mod documents;
mod exact;
mod figures;
mod guard;
mod index;
mod minhash;
mod near;
mod shingle;
mod short;
mod simhash;
mod similarity;
mod tables;
mod text;
mod witness;

pub use corpus::{Clusters, Corpus, Duplicate, Judged, Near, Options, Signed, Signer, Tier};
pub use documents::{Document, DocumentId, Documents, DocumentsDamage, Error, Stored, StoredFor};
pub use figures::{Figures, sign_minhash, sign_simhash};
pub use guard::Heading;
pub use index::{Index, Posting, postings, structures};
pub use minhash::{HASHES, Permutations, bands_for, found as chance_found};
pub use shingle::{Shingle, Unit};
pub use simhash::hamming;
pub use similarity::Similarity;
pub use tables::{Found, MAX_GUARANTEED, Tables};
pub use text::{Text, words};

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use guard::Guard;

/// The tiers of duplication, cheapest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The same bytes, after content decoding.
    Raw,
    /// The same visible text, case and white space folded.
    Normalized,
    /// The same word sequence of the main content.
    Content,
    /// Almost the same main content.
    Near,
}

impl Kind {
    /// All tiers, cheapest first.
    pub const ALL: [Kind; 4] = [Kind::Raw, Kind::Normalized, Kind::Content, Kind::Near];

    /// The tier's name in logs, records and counters.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Raw => "raw",
            Kind::Normalized => "normalized",
            Kind::Content => "content",
            Kind::Near => "near",
        }
    }
}

/// What a method makes of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Signature {
    /// SHA-256 of something.
    Digest([u8; 32]),
    /// A 64-bit SimHash, and the sketch that bears it out.
    Witnessed {
        /// SimHash of word 2-shingles.
        simhash: u64,
        /// `MinHash` of word 5-shingles, 8 bits a value.
        #[serde(with = "sketch_bytes")]
        sketch: Box<[u8; HASHES]>,
    },
    /// All word 5-shingles of a short page, ascending.
    Shingles(Vec<u32>),
}

/// What the fingerprints of a crawl are made of. A data directory keeps the line it was begun with, and
/// one with another line is refused: fingerprints of two kinds would never meet. Change it with
/// whatever changes a fingerprint.
pub const FEATURES: &str = "simhash-64 of word 2-shingles by count, tie 0; minhash 128x8 and \
    (main and whole text) 32x8 of word 5-shingles; under 50 words sets of word 5-shingles; headline; \
    seed 0; version 3";

/// Serde knows arrays of up to 32 bytes; a sketch is written as a list of bytes.
mod sketch_bytes {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    use super::HASHES;

    pub(super) fn serialize<S: Serializer>(
        sketch: &[u8; HASHES],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        sketch.as_slice().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Box<[u8; HASHES]>, D::Error> {
        let bytes: Box<[u8]> = Vec::deserialize(deserializer)?.into();
        bytes
            .try_into()
            .map_err(|_| D::Error::custom("a sketch of another length"))
    }
}

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

/// How alike two signatures are that a method calls alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Match {
    /// Bits of the fingerprints that differ; 0 where there are none.
    pub distance: u8,
    /// 0 to 1; 1 for an exact tier.
    pub similarity: f64,
}

impl Match {
    /// Of two pages that are the same.
    pub(crate) const EXACT: Self = Self {
        distance: 0,
        similarity: 1.0,
    };

    /// Whether this is the closer of two.
    pub(crate) fn is_closer_than(&self, other: &Self) -> bool {
        self.similarity > other.similarity
            || self.similarity >= other.similarity && self.distance < other.distance
    }
}

/// One way to tell that two pages are the same.
pub trait Method: Send + Sync {
    /// The tier that the method decides.
    fn kind(&self) -> Kind;
    /// The runs that it keeps its keys in.
    fn structures(&self) -> &'static [&'static str];
    /// The signature of a page; `None` if it is too short to be judged this way.
    fn sign(&self, raw: &[u8], text: &Text) -> Option<Signature>;
    /// Where a signature looks and is to be found.
    fn keys(&self, signature: &Signature, out: &mut Vec<Key>);
    /// Whether what is posted at `found` can be like what looks by `key`, before anything is read.
    fn may_match(&self, key: &Key, found: u64) -> bool;
    /// Whether two pages are the same.
    fn verify(&self, a: &Signature, b: &Signature) -> Option<Match>;
}

/// All methods, cheapest first.
pub const METHODS: [&dyn Method; 4] = [
    &exact::RAW,
    &exact::NORMALIZED,
    &exact::CONTENT,
    &near::Near,
];

/// The signatures of one page, in the order of [`METHODS`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprints {
    signatures: Vec<Option<Signature>>,
    /// Words of the text that the page is judged by.
    pub words: u32,
    /// What forbids that it is the same as another.
    guard: Guard,
}

impl Fingerprints {
    /// Signs a page by every method: `raw` is the decoded body.
    pub fn of(raw: &[u8], text: &Text) -> Self {
        Self {
            signatures: METHODS
                .iter()
                .map(|method| method.sign(raw, text))
                .collect(),
            words: text.word_count(),
            guard: Guard::of(text, Permutations::standard()),
        }
    }

    /// Whether nothing but what a tier compares speaks against the two pages' being the same.
    pub(crate) fn may_be_same(&self, other: &Self, kind: Kind) -> bool {
        match kind {
            Kind::Raw | Kind::Normalized => true,
            Kind::Content => self.guard.allows_content(&other.guard),
            Kind::Near => self.guard.allows_near(&other.guard),
        }
    }

    /// Signs a body without text (an image, an archive) by its bytes only.
    pub fn of_bytes(raw: &[u8]) -> Self {
        Self::of(raw, &Text::default())
    }

    /// The signature of a tier, if the page has one.
    pub fn get(&self, kind: Kind) -> Option<&Signature> {
        let at = METHODS.iter().position(|method| method.kind() == kind)?;
        self.signatures.get(at)?.as_ref()
    }

    /// The cheapest tier by which two visits of one page found the same. Near does not count: an
    /// edited page is another one; nor does a main text that is too little of the page.
    pub fn same_as(&self, other: &Self) -> Option<Kind> {
        let is_over_trimmed = self.guard.is_over_trimmed() || other.guard.is_over_trimmed();
        Kind::ALL
            .into_iter()
            .filter(|kind| *kind != Kind::Near)
            .filter(|kind| *kind != Kind::Content || !is_over_trimmed)
            .find(|kind| self.get(*kind).is_some() && self.get(*kind) == other.get(*kind))
    }

    /// How alike the two pages are, whether or not a crawl calls them so; `None` if nothing of
    /// the two can be compared.
    pub fn compare(&self, other: &Self) -> Option<Comparison> {
        let is_same = |kind: &Kind| {
            let own = self.get(*kind);
            own.is_some() && own == other.get(*kind) && self.may_be_same(other, *kind)
        };
        let mut exact = Kind::ALL.into_iter().filter(|kind| *kind != Kind::Near);
        let exact = exact.find(is_same);
        let (own, others) = (self.get(Kind::Near), other.get(Kind::Near));
        let found = own.zip(others).and_then(|(a, b)| near::measure(a, b));
        let is_near = || {
            let found = own.zip(others).and_then(|(a, b)| near::Near.verify(a, b));
            found.is_some() && self.may_be_same(other, Kind::Near)
        };
        Some(Comparison {
            tier: exact.or_else(|| is_near().then_some(Kind::Near)),
            distance: own.zip(others).and_then(|pair| match pair {
                (
                    Signature::Witnessed { simhash, .. },
                    Signature::Witnessed { simhash: other, .. },
                ) => Some(hamming(*simhash, *other)),
                _ => None,
            }),
            similarity: match (exact, found) {
                (Some(_), _) => Similarity::EXACT,
                (None, Some(found)) => Similarity::of(found.similarity),
                (None, None) => return None,
            },
        })
    }

    /// How alike a page, as it is now, is to the original that it was called a duplicate of, if
    /// that is still enough: less will do for staying than for joining, so that a page on the brink
    /// is not taken in and turned out at every visit.
    pub(crate) fn stays_near(&self, original: &Self) -> Option<Match> {
        let found = near::measure(self.get(Kind::Near)?, original.get(Kind::Near)?)?;
        let stays = near::stays(&found) && self.may_be_same(original, Kind::Near);
        stays.then_some(found)
    }

    /// Tier and signature as text, for records and logs: digests and SimHash in hexadecimal.
    pub fn describe(&self) -> impl Iterator<Item = (&'static str, String)> {
        METHODS
            .iter()
            .zip(&self.signatures)
            .filter_map(|(method, signature)| Some((method, signature.as_ref()?)))
            .flat_map(|(method, signature)| match signature {
                Signature::Digest(digest) => {
                    let name = match method.kind() {
                        Kind::Raw => "sha256-raw",
                        Kind::Normalized => "sha256-normalized",
                        Kind::Content | Kind::Near => "sha256-content",
                    };
                    vec![(name, hex::encode(digest))]
                }
                Signature::Witnessed { simhash, sketch } => vec![
                    ("simhash-64", format!("{simhash:016x}")),
                    ("sketch", hex::encode(&sketch[..])),
                ],
                // The conversion record has the whole text.
                Signature::Shingles(_) => Vec::new(),
            })
    }
}

/// What became of a page.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// Nothing like it is stored: it is an original from now on.
    Unique,
    /// It is the same as an original.
    Duplicate {
        /// The original.
        original: Arc<Document>,
        /// By which tier.
        kind: Kind,
        /// Bits that differ; 0 for an exact tier.
        distance: u8,
        /// How alike the two are; 1 for an exact tier.
        similarity: Similarity,
    },
    /// It was visited before, and is what it was then.
    Unchanged {
        /// The page as it is stored.
        original: Arc<Document>,
        /// By which tier: that of the two visits, or, of a duplicate, of page and original.
        kind: Kind,
        /// Bits in which it differs from that.
        distance: u8,
        /// How alike it is to that.
        similarity: Similarity,
    },
    /// Not a page that can be an original or a duplicate: an error, a redirect, an empty body.
    Ineligible,
}

/// What a page repeats, and how well.
#[derive(Debug, Clone, Copy)]
pub struct Repeats<'a> {
    /// What is stored.
    pub original: &'a Arc<Document>,
    /// By which tier.
    pub kind: Kind,
    /// Bits that differ; 0 for an exact tier.
    pub distance: u8,
    /// How alike the two are; 1 for an exact tier.
    pub similarity: Similarity,
}

/// How alike two pages are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comparison {
    /// By which tier a crawl would call them the same, the cheapest one; `None` if by none.
    pub tier: Option<Kind>,
    /// Bits in which their `SimHash`es differ; `None` where a page is too short for one.
    pub distance: Option<u8>,
    /// From 0 to 1; 1 where they are the same by an exact tier.
    pub similarity: Similarity,
}

impl Verdict {
    /// What it repeats, by which tier, how well.
    pub fn repeats(&self) -> Option<Repeats<'_>> {
        match self {
            Verdict::Duplicate {
                original,
                kind,
                distance,
                similarity,
            }
            | Verdict::Unchanged {
                original,
                kind,
                distance,
                similarity,
            } => Some(Repeats {
                original,
                kind: *kind,
                distance: *distance,
                similarity: *similarity,
            }),
            Verdict::Unique | Verdict::Ineligible => None,
        }
    }

    /// The verdict's name in logs, records and counters.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Unique => "unique",
            Verdict::Duplicate { kind, .. } => kind.name(),
            Verdict::Unchanged { .. } => "unchanged",
            Verdict::Ineligible => "ineligible",
        }
    }
}
