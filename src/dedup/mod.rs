//! Is this page one that is stored already?
//!
//! Every tier is a [`Method`] and every method an inverted index: its keys lead to documents, its
//! `verify` decides. [`METHODS`] lists them, cheapest first; the first that finds an original gives
//! the [`Verdict`]. Keys are kept in `runs`, documents in sled ([`Documents`]); the [`Index`] puts
//! both together. Nothing here knows pages, archives or the network: bytes and text come in,
//! verdicts go out.

mod documents;
mod exact;
pub(crate) mod features;
pub(crate) mod guard;
mod index;
mod mask;
pub(crate) mod minhash;
mod near;
mod rule;
pub(crate) mod shingle;
pub(crate) mod short;
pub(crate) mod simhash;
mod similarity;
pub(crate) mod text;
mod witness;

pub use documents::{Document, DocumentId, Documents, DocumentsDamage, Error, Stored, StoredFor};
pub use features::{Features, Finder, Fingerprinter};
pub use guard::Heading;
pub use index::{Asked, Index, Posting, postings, structures};
pub use mask::{Mask, Masks};
pub use minhash::{HASHES, Permutations, bands_for, found as chance_found};
pub use rule::{MAX_HAMMING, MIN_SIMILARITY, Rule, RuleOverrides, Rules, Tiers};
pub use shingle::{Shingle, Unit};
pub use simhash::hamming;
pub use similarity::Similarity;
pub use text::{Text, words};

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use guard::Guard;

use crate::url::UrlId;

/// The tiers of duplication, cheapest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// The same bytes, after content decoding.
    Raw,
    /// The same visible text, case and white space folded.
    Normalized,
    /// The same word sequence of the main content.
    Content,
    /// Almost the same main content.
    Near,
}

impl Tier {
    /// All tiers, cheapest first.
    pub const ALL: [Tier; 4] = [Tier::Raw, Tier::Normalized, Tier::Content, Tier::Near];

    /// The tier's name in logs, records and counters.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Raw => "raw",
            Tier::Normalized => "normalized",
            Tier::Content => "content",
            Tier::Near => "near",
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
    /// A 64-bit SimHash, and a `MinHash` signature, which bears it out and is found by itself.
    MinHashed {
        /// SimHash of word 2-shingles.
        simhash: u64,
        /// `MinHash` of word 5-shingles, 32 bits a value.
        #[serde(with = "minima_bytes")]
        minima: Box<[u32; HASHES]>,
    },
}

impl Signature {
    /// The SimHash, if it has one.
    pub fn simhash(&self) -> Option<u64> {
        match self {
            Self::Witnessed { simhash, .. } | Self::MinHashed { simhash, .. } => Some(*simhash),
            Self::Digest(_) | Self::Shingles(_) => None,
        }
    }

    /// The sketch, if it has one or what one is made of.
    pub fn sketch(&self) -> Option<Cow<'_, [u8; HASHES]>> {
        match self {
            Self::Witnessed { sketch, .. } => Some(Cow::Borrowed(sketch)),
            Self::MinHashed { minima, .. } => Some(Cow::Owned(minhash::sketch(minima))),
            Self::Digest(_) | Self::Shingles(_) => None,
        }
    }
}

/// Serde knows arrays of up to 32 bytes; a sketch is written as a list of bytes.
pub(crate) mod sketch_bytes {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    use super::HASHES;

    pub(crate) fn serialize<S: Serializer>(
        sketch: &[u8; HASHES],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        sketch.as_slice().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Box<[u8; HASHES]>, D::Error> {
        let bytes: Box<[u8]> = Vec::deserialize(deserializer)?.into();
        bytes
            .try_into()
            .map_err(|_| D::Error::custom("a sketch of another length"))
    }
}

/// A signature is written as its bytes, the low one of each value first.
mod minima_bytes {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    use super::HASHES;

    pub(super) fn serialize<S: Serializer>(
        minima: &[u32; HASHES],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = minima.iter().flat_map(|it| it.to_le_bytes()).collect();
        bytes.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Box<[u32; HASHES]>, D::Error> {
        let bytes: Vec<u8> = Vec::deserialize(deserializer)?;
        let (values, rest) = bytes.as_chunks::<4>();
        let minima: Box<[u32]> = values.iter().map(|it| u32::from_le_bytes(*it)).collect();
        match minima.try_into() {
            Ok(minima) if rest.is_empty() => Ok(minima),
            _ => Err(D::Error::custom("a signature of another length")),
        }
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

/// How alike two signatures are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Match {
    /// Bits of the fingerprints that differ; 0 where there are none.
    pub distance: u8,
    /// 0 to 1; 1 for an exact tier.
    pub similarity: f64,
    /// Whether both have a `MinHash` signature, by which they can be found whatever the distance.
    pub by_signature: bool,
}

impl Match {
    /// Of two pages that are the same.
    pub(crate) const EXACT: Self = Self {
        distance: 0,
        similarity: 1.0,
        by_signature: false,
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
    fn tier(&self) -> Tier;
    /// The runs that it keeps its keys in.
    fn structures(&self) -> &'static [&'static str];
    /// The signature of a page; `None` if it is too short to be judged this way.
    fn sign(&self, raw: &[u8], text: &Text, by: &Fingerprinter) -> Option<Signature>;
    /// Where a signature looks and is to be found.
    fn keys(&self, signature: &Signature, features: &Features, out: &mut Vec<Key>);
    /// Bits in which the keys of two pages that are the same may differ, where one looks in a
    /// range.
    fn reach(&self) -> u8 {
        0
    }
    /// How alike two pages are; `None` if they cannot be compared, or differ where the tier asks
    /// for equality. Whether that is alike enough is the [`Rule`]'s to say.
    fn measure(&self, a: &Signature, b: &Signature) -> Option<Match>;
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
    /// Signs a page by every method, with the default features: `raw` is the decoded body.
    pub fn of(raw: &[u8], text: &Text) -> Self {
        Fingerprinter::standard().sign(raw, text)
    }

    /// Those that are the same whatever fingerprints are made of: of the bytes and the visible
    /// text.
    #[must_use]
    pub fn of_bytes_and_text(&self) -> Self {
        let of = |tier| match tier {
            Tier::Raw | Tier::Normalized => self.get(tier).cloned(),
            Tier::Content | Tier::Near => None,
        };
        Self {
            signatures: METHODS.iter().map(|method| of(method.tier())).collect(),
            words: self.words,
            guard: Guard::default(),
        }
    }

    /// Whether nothing but what a tier compares speaks against the two pages' being the same.
    pub(crate) fn may_be_same(&self, other: &Self, tier: Tier) -> bool {
        match tier {
            Tier::Raw => true,
            Tier::Normalized => self.guard.allows_normalized(&other.guard),
            Tier::Content => self.guard.allows_content(&other.guard),
            Tier::Near => self.guard.allows_near(&other.guard),
        }
    }

    /// Whether the two pages, by these ids, are of one series, such as the pages of a list.
    pub(crate) fn are_one_series(&self, id: UrlId, other: &Self, others: UrlId) -> bool {
        self.guard.are_one_series(id, &other.guard, others)
    }

    /// Whether the two pages are from one host, as far as is known.
    pub(crate) fn is_one_host(&self, other: &Self) -> bool {
        self.guard.is_one_host(&other.guard)
    }

    /// The signature of a tier, if the page has one.
    pub fn get(&self, tier: Tier) -> Option<&Signature> {
        let at = METHODS.iter().position(|method| method.tier() == tier)?;
        self.signatures.get(at)?.as_ref()
    }

    /// Puts the signature of a tier in its place.
    pub(crate) fn set(&mut self, tier: Tier, signature: Option<Signature>) {
        let at = METHODS.iter().position(|method| method.tier() == tier);
        if let Some(place) = at.and_then(|at| self.signatures.get_mut(at)) {
            *place = signature;
        }
    }

    /// The cheapest tier by which two visits of one page found the same. Near does not count: an
    /// edited page is another one; nor does a main text that is too little of the page.
    pub fn same_as(&self, other: &Self) -> Option<Tier> {
        let is_over_trimmed = self.guard.is_over_trimmed() || other.guard.is_over_trimmed();
        Tier::ALL
            .into_iter()
            .filter(|tier| *tier != Tier::Near)
            .filter(|tier| *tier != Tier::Content || !is_over_trimmed)
            .find(|tier| self.get(*tier).is_some() && self.get(*tier) == other.get(*tier))
    }

    /// How alike the two pages are, whether or not a crawl calls them so; `None` if nothing of
    /// the two can be compared.
    pub fn compare(&self, other: &Self) -> Option<Comparison> {
        let is_same = |tier: &Tier| {
            let own = self.get(*tier);
            own.is_some() && own == other.get(*tier) && self.may_be_same(other, *tier)
        };
        let mut exact = Tier::ALL.into_iter().filter(|tier| *tier != Tier::Near);
        let exact = exact.find(is_same);
        let (own, others) = (self.get(Tier::Near), other.get(Tier::Near));
        let found = own.zip(others).and_then(|(a, b)| near::Near.measure(a, b));
        let is_near = || {
            let accepts = |found: &Match| Rule::default().accepts(found, self.is_one_host(other));
            found.as_ref().is_some_and(accepts) && self.may_be_same(other, Tier::Near)
        };
        Some(Comparison {
            tier: exact.or_else(|| is_near().then_some(Tier::Near)),
            distance: own
                .zip(others)
                .and_then(|(own, other)| Some(hamming(own.simhash()?, other.simhash()?))),
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
    /// `rule` is what holds for the two.
    pub(crate) fn stays_near(&self, original: &Self, rule: &Rule) -> Option<Match> {
        let found = near::Near.measure(self.get(Tier::Near)?, original.get(Tier::Near)?)?;
        let stays = rule.keeps(&found, self.is_one_host(original))
            && self.may_be_same(original, Tier::Near);
        stays.then_some(found)
    }

    /// Tier and signature as text, for records and logs: digests and SimHash in hexadecimal.
    pub fn describe(&self) -> impl Iterator<Item = (&'static str, String)> {
        METHODS
            .iter()
            .zip(&self.signatures)
            .filter_map(|(method, signature)| Some((method, signature.as_ref()?)))
            .flat_map(|(method, signature)| {
                let digest = match (method.tier(), signature) {
                    (Tier::Raw, Signature::Digest(digest)) => Some(("sha256-raw", digest)),
                    (Tier::Normalized, Signature::Digest(it)) => Some(("sha256-normalized", it)),
                    (_, Signature::Digest(digest)) => Some(("sha256-content", digest)),
                    // The conversion record has the whole text.
                    _ => None,
                };
                let digest = digest.map(|(name, digest)| (name, hex::encode(digest)));
                let simhash = signature.simhash();
                let simhash = simhash.map(|bits| ("simhash-64", format!("{bits:016x}")));
                let sketch = signature.sketch();
                let sketch = sketch.map(|bytes| ("sketch", hex::encode(&bytes[..])));
                [digest, simhash, sketch].into_iter().flatten()
            })
    }
}

/// What became of a page.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// Nothing like it is stored: it is an original from now on.
    Unique,
    /// It repeats an original.
    Duplicate(Repeat),
    /// It was visited before, and is what it was then: the original that it still is, or the one
    /// that it still repeats.
    Unchanged(Repeat),
    /// Not a page that can be an original or a duplicate.
    Ineligible(Ineligible),
}

/// Why an answer cannot be an original or a duplicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ineligible {
    /// It is none, or no success: an error, a redirect.
    Status,
    /// It has no body.
    Empty,
    /// Something is missing of it, so that it may differ from another where it was cut.
    Cut,
    /// A CAPTCHA or another test that the visitor is no machine.
    Challenge,
    /// A refusal that was sent as a page.
    Denied,
    /// A question for consent in place of the page.
    Consent,
    /// A short text that the host gives under many URLs.
    Repeated,
    /// It is neither HTML nor text, and such bodies are not kept.
    Kind,
}

impl Ineligible {
    /// The reason's name in logs, records and counters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Empty => "empty",
            Self::Cut => "cut",
            Self::Kind => "kind",
            Self::Challenge => "challenge",
            Self::Denied => "denied",
            Self::Consent => "consent",
            Self::Repeated => "repeated",
        }
    }

    /// Whether the server gave something else in place of the page.
    pub fn is_refusal(self) -> bool {
        matches!(
            self,
            Self::Challenge | Self::Denied | Self::Consent | Self::Repeated
        )
    }
}

/// The stored page that a page repeats, and how closely.
#[derive(Debug, Clone)]
pub struct Repeat {
    /// The stored page.
    pub original: Arc<Document>,
    /// The tier that found the two the same.
    pub tier: Tier,
    /// Bits in which their `SimHash`es differ; 0 for an exact tier.
    pub distance: u8,
    /// Their similarity; 1 for an exact tier.
    pub similarity: Similarity,
}

impl Repeat {
    /// The two are the same by an exact tier.
    pub fn exact(original: Arc<Document>, tier: Tier) -> Self {
        Self {
            original,
            tier,
            distance: 0,
            similarity: Similarity::EXACT,
        }
    }
}

/// How alike two pages are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comparison {
    /// By which tier a crawl would call them the same, the cheapest one; `None` if by none.
    pub tier: Option<Tier>,
    /// Bits in which their `SimHash`es differ; `None` where a page is too short for one.
    pub distance: Option<u8>,
    /// From 0 to 1; 1 where they are the same by an exact tier.
    pub similarity: Similarity,
}

impl Verdict {
    /// The stored page that it repeats, if it does.
    pub fn repeats(&self) -> Option<&Repeat> {
        match self {
            Verdict::Duplicate(repeat) | Verdict::Unchanged(repeat) => Some(repeat),
            Verdict::Unique | Verdict::Ineligible(_) => None,
        }
    }

    /// The verdict's name in logs, records and counters.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Unique => "unique",
            Verdict::Duplicate(repeat) => repeat.tier.name(),
            Verdict::Unchanged(_) => "unchanged",
            Verdict::Ineligible(_) => "ineligible",
        }
    }
}
