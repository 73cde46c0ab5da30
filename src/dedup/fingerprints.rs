//! Fingerprints: all signatures of a page, made at once and compared with another page's.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::burden;
use super::features::{Features, Hashing};
use super::methods::minhash::WHOLE_SHINGLE;
use super::methods::{METHODS, Method, Raw, Signature, near, simhash::hamming};
use super::own::OwnComparison;
use super::own::SHORT_ACROSS;
use super::veto::Veto;
use super::{Comparison, Match, Rule, Similarity, Text, Tier, Unit};
use crate::url::UrlId;

/// Makes fingerprints. Threads share it; a clone only counts a reference.
#[derive(Debug, Clone)]
pub struct Fingerprinter(Arc<Hashing>);

impl Fingerprinter {
    /// A fingerprinter for these features.
    pub fn new(features: Features) -> Self {
        Self(Arc::new(Hashing::new(features)))
    }

    /// The fingerprinter for the default features.
    fn standard() -> &'static Self {
        static STANDARD: OnceLock<Fingerprinter> = OnceLock::new();
        STANDARD.get_or_init(|| Self::new(Features::default()))
    }

    /// The features that its fingerprints are made of.
    pub fn features(&self) -> &Features {
        &self.0.features
    }

    /// Prepares a page's main text and visible text for signing.
    pub fn text(&self, main: &str, visible: &str) -> Text {
        let features = self.features();
        let text = Text::seeded(main, visible, features.seed, features.masks);
        self.with_characters(text, main, visible)
    }

    /// As [`text`](Self::text), and the same for the SimHash by another fingerprinter, which
    /// differs in its seed only.
    pub fn text_twice(&self, other: &Self, main: &str, visible: &str) -> (Text, Text) {
        let (features, others) = (self.features(), other.features());
        let seeds = [features.seed, others.seed];
        let (text, by_other) = Text::twice(main, visible, seeds, features.masks);
        let by_other = match others.simhash_shingle.unit {
            Unit::Characters => by_other.with_characters(main, visible),
            Unit::Words => by_other,
        };
        (self.with_characters(text, main, visible), by_other)
    }

    fn with_characters(&self, text: Text, main: &str, visible: &str) -> Text {
        let features = self.features();
        let shingles = [features.simhash_shingle, features.minhash_shingle];
        if shingles.iter().any(|it| it.unit == Unit::Characters) {
            text.with_characters(main, visible)
        } else {
            text
        }
    }

    /// The fingerprinter with the seed that everybody knows, whose fingerprints may be published;
    /// `None` if this is it.
    pub fn public(&self) -> Option<Self> {
        let features = Features {
            seed: Features::default().seed,
            ..self.features().clone()
        };
        (features != *self.features()).then(|| Self::new(features))
    }

    /// The SimHash of a text that is long enough to have one.
    pub fn simhash(&self, text: &Text) -> u64 {
        near::simhash(text, &self.0)
    }

    /// Signs a page by every method. `raw` is the decoded body.
    pub fn sign(&self, raw: &[u8], text: &Text) -> Fingerprints {
        let sha256 = None;
        self.sign_raw(Raw { bytes: raw, sha256 }, text)
    }

    /// As [`sign`](Self::sign), where the digest of the body may be known.
    pub(crate) fn sign_raw(&self, raw: Raw<'_>, text: &Text) -> Fingerprints {
        let Hashing {
            features,
            permutations,
        } = &*self.0;
        let mut signed = Fingerprints {
            signatures: METHODS
                .iter()
                .map(|method| method.sign(raw, text, &self.0))
                .collect(),
            words: text.word_count(),
            veto: Veto::default(),
        };
        let near = signed.get(Tier::Near).and_then(Signature::sketch);
        let judged = near.filter(|_| features.minhash_shingle == WHOLE_SHINGLE);
        let judged = judged.and_then(|sketch| sketch.first_chunk().copied());
        signed.veto = Veto::of(text, permutations, judged);
        signed
    }
}

/// The signatures of a page, in the order of [`METHODS`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprints {
    signatures: Vec<Option<Signature>>,
    /// Number of words in the text that the page is judged by.
    pub words: u32,
    /// Signals that keep the page from being called a duplicate.
    veto: Veto,
}

impl Fingerprints {
    /// Signs a page by every method, with the default features. `raw` is the decoded body.
    pub fn of(raw: &[u8], text: &Text) -> Self {
        Fingerprinter::standard().sign(raw, text)
    }

    /// The signatures that do not depend on the features: those of the bytes and of the visible
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
            veto: Veto::default(),
        }
    }

    /// Whether no veto keeps the two pages apart at a tier.
    pub(crate) fn may_be_same(&self, other: &Self, tier: Tier) -> bool {
        self.veto.allows(&other.veto, tier)
            && !(tier == Tier::Near && self.are_short_and_two(other))
    }

    /// Whether no veto keeps the two pages apart at a tier if their own parts agree.
    pub(crate) fn may_be_same_if_proved(&self, other: &Self, tier: Tier) -> bool {
        self.veto.allows_if_proved(&other.veto, tier)
    }

    /// Whether the pages have two headlines, and one of them little text.
    fn are_short_and_two(&self, other: &Self) -> bool {
        let is_short = self.words.min(other.words) < SHORT_ACROSS;
        is_short && self.veto.have_two_headlines(&other.veto)
    }

    /// Whether pages with the same or nearly the same text are alike, although they are two.
    pub(crate) fn may_be_alike(&self, other: &Self) -> bool {
        self.veto.allows_alike(&other.veto)
    }

    /// Whether both pages are from one site. True if either is unknown.
    pub(crate) fn is_one_site(&self, other: &Self) -> bool {
        self.veto.is_one_site(&other.veto)
    }

    /// Whether the pages with these ids belong to one series, such as the pages of a list.
    pub(crate) fn are_one_series(&self, id: UrlId, other: &Self, others: UrlId) -> bool {
        self.veto.are_one_series(id, &other.veto, others)
    }

    /// Whether both pages are from one host. True if either host is unknown.
    pub(crate) fn is_one_host(&self, other: &Self) -> bool {
        self.veto.is_one_host(&other.veto)
    }

    /// The signature by the method at a position of [`METHODS`], if the page has one.
    pub(super) fn at(&self, method: usize) -> Option<&Signature> {
        self.signatures.get(method)?.as_ref()
    }

    /// The page's signatures, each with its method.
    pub(super) fn signed(&self) -> impl Iterator<Item = (&'static dyn Method, &Signature)> {
        let pairs = METHODS.into_iter().zip(&self.signatures);
        pairs.filter_map(|(method, signature)| Some((method, signature.as_ref()?)))
    }

    /// The page's signature at a tier, if it has one.
    pub fn get(&self, tier: Tier) -> Option<&Signature> {
        let at = METHODS.iter().position(|method| method.tier() == tier)?;
        self.at(at)
    }

    /// Sets the page's signature at a tier.
    pub(crate) fn set(&mut self, tier: Tier, signature: Option<Signature>) {
        let at = METHODS.iter().position(|method| method.tier() == tier);
        if let Some(place) = at.and_then(|at| self.signatures.get_mut(at)) {
            *place = signature;
        }
    }

    /// The cheapest tier at which two visits of one page found the same content. The near tier does
    /// not count, since an edited page is a changed page. The content tier does not count if the
    /// main text is too small a part of either page.
    pub fn same_as(&self, other: &Self) -> Option<Tier> {
        let is_over_trimmed = self.veto.is_over_trimmed() || other.veto.is_over_trimmed();
        Tier::ALL
            .into_iter()
            .filter(|tier| *tier != Tier::Near)
            .filter(|tier| *tier != Tier::Content || !is_over_trimmed)
            .find(|tier| self.get(*tier).is_some() && self.get(*tier) == other.get(*tier))
    }

    /// Measures how similar the two pages are, whether or not a crawl would call them duplicates.
    /// `None` if they have no signatures in common to compare.
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

    /// Compares a page, as it is now, with the original that it was a duplicate of. `None` if it is
    /// no longer similar enough by `rule`, the rule for the two. Staying takes less similarity than
    /// joining, so that a page close to the threshold does not enter and leave at every visit.
    pub(crate) fn stays_near(&self, original: &Self, rule: &Rule) -> Option<Match> {
        let found = near::Near.measure(self.get(Tier::Near)?, original.get(Tier::Near)?)?;
        let stays = rule.keeps(&found, self.is_one_host(original))
            && self.may_be_same(original, Tier::Near);
        stays.then_some(found)
    }

    /// Whether the own parts of two pages that match at a tier bear out that they are one.
    pub(crate) fn is_borne_out_by(&self, tier: Tier, own: OwnComparison, other: &Self) -> bool {
        burden::is_borne_out(tier, own, self.is_one_site(other))
    }

    /// Names and values of the signatures for records and logs; digests and SimHash in hexadecimal.
    pub fn describe(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.signed().flat_map(|(method, signature)| {
            let digest = match (method.tier(), signature) {
                (Tier::Raw, Signature::Digest(digest)) => Some(("sha256-raw", digest)),
                (Tier::Normalized, Signature::Digest(it)) => Some(("sha256-normalized", it)),
                (_, Signature::Digest(digest)) => Some(("sha256-content", digest)),
                // Shingles are left out: the conversion record has the whole text.
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
