//! Judging: a [`Corpus`] compares each document with those before it, in memory.
//!
//! It takes signed documents one by one in their order (see `sign.rs`), judges each against the
//! earlier ones, and keeps what later ones are compared with: digests, fingerprints and sketches,
//! never text. The verdicts depend only on the options and on the documents and their order. A
//! corpus that is told the verdicts of earlier documents ([`Corpus::take`]) continues as if it had
//! judged them (see `saved.rs`).

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::bottom::{self, Bottom};
use super::lookup::{Bands, Found, Sets, Spread, Tables};
use super::sign::{Clusters, Fingerprint, NearMethod, Options, Signed};
use crate::dedup::is_borne_out;
use crate::dedup::minhash::{self, Sketch};
use crate::dedup::own::OwnComparison;
use crate::dedup::short::{self, Set};
use crate::dedup::veto::Veto;
use crate::dedup::{Tier, simhash};

/// Candidates whose estimate is this close to the threshold are compared exactly, if requested.
/// Four standard errors.
const DOUBT: f64 = 0.1;

/// A document that is less similar to the first of a cluster does not belong to it, however close
/// it is to another member.
const DRIFTED: f64 = 0.5;

/// The match of a document with an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EarlierMatch {
    /// The number of the earlier document, counted from 0.
    pub of: u32,
    /// The tier at which the two match.
    pub tier: Tier,
    /// Number of bits in which the fingerprints differ, if they were compared.
    pub distance: Option<u8>,
    /// The similarity of the two, 0 to 1, if it was measured.
    pub similarity: Option<f64>,
}

impl EarlierMatch {
    /// The name of the tier in the output, where the raw tier is called `exact`.
    pub fn kind(&self) -> &'static str {
        match self.tier {
            Tier::Raw => "exact",
            tier => tier.name(),
        }
    }
}

/// The verdict on a document.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CorpusVerdict {
    /// The closest earlier document that it repeats, if any.
    pub duplicate: Option<EarlierMatch>,
    /// The other clusters that it links to the first one, each by its first document.
    pub joins: Vec<u32>,
}

/// A map by digests, which are hashes already.
type ByDigest<T> = HashMap<u128, T, BuildHasherDefault<Spread>>;

/// All documents so far, in the form that later ones are compared with.
#[derive(Debug)]
pub struct Corpus {
    options: Options,
    /// Number of judged documents.
    count: u32,
    raw: ByDigest<u32>,
    normalized: ByDigest<u32>,
    content: ByDigest<u32>,
    /// By the first document with a word sequence: later documents with the same sequence that a
    /// veto keeps apart.
    apart: HashMap<u32, Vec<u32>>,
    tables: Tables,
    bands: Bands,
    sets: Sets,
    /// The documents with a fingerprint, by their number in `tables` and `bands`.
    kept: Vec<Candidate>,
    /// Fingerprints that so many documents have, or almost have, that no further one is kept.
    crowded: HashSet<u64>,
    /// The veto signals of the documents that have any.
    vetoes: HashMap<u32, Veto>,
    /// For each document, the first document of its cluster or one on the way to it.
    parents: Vec<u32>,
}

/// What shows whether two documents are one.
#[derive(Default)]
struct Proof {
    is_same: bool,
    /// Whether their own parts were compared.
    is_compared: bool,
}

/// A document with a fingerprint.
#[derive(Debug)]
struct Candidate {
    document: u32,
    features: Fingerprint,
    exact: Option<Set>,
}

/// Maximum number of documents with the same word sequence, kept apart by vetoes, that are
/// compared.
const APART: usize = 16;

/// Number of documents with one fingerprint, oldest first, with which later ones are compared. It
/// bounds the cost of documents that were made to have it.
const CROWD: usize = 256;

/// The same of documents whose fingerprints are near one.
const NEAR_CROWD: usize = 4_096;

/// Maximum number of documents whose own parts a document is compared with in vain. It bounds the
/// cost of a document among thousands that differ from it in a word.
const MAX_REFUSED: usize = 48;

/// How far below the threshold the similarity of two texts may be that look near. It is four
/// standard errors of the estimate.
const TEXTS_BELOW: f64 = 0.15;

/// What is known of the document that is judged and an earlier one, by its number, beyond their
/// fingerprints.
pub(super) trait Evidence {
    /// How their own parts compare; the similarity is that of their whole texts, 0 to 1.
    fn compare_own(&mut self, of: u32, similarity: f64) -> OwnComparison;

    /// The similarity of the texts themselves, 0 to 1, if they are at hand.
    fn similarity(&mut self, of: u32) -> Option<f64>;
}

/// Nothing is known beyond the fingerprints.
struct Nothing;

impl Evidence for Nothing {
    fn compare_own(&mut self, _: u32, _: f64) -> OwnComparison {
        OwnComparison::Unknown
    }

    fn similarity(&mut self, _: u32) -> Option<f64> {
        None
    }
}

impl Corpus {
    /// An empty corpus.
    pub fn new(options: Options) -> Self {
        let bands = match options.near {
            NearMethod::MinHash { bands, .. } => bands as usize,
            _ => 0,
        };
        Self {
            sets: Sets::new(options.threshold),
            options,
            count: 0,
            raw: ByDigest::default(),
            normalized: ByDigest::default(),
            content: ByDigest::default(),
            apart: HashMap::new(),
            tables: Tables::default(),
            bands: Bands::new(bands),
            kept: Vec::new(),
            crowded: HashSet::new(),
            vetoes: HashMap::new(),
            parents: Vec::new(),
        }
    }

    /// Number of judged documents.
    pub fn len(&self) -> u32 {
        self.count
    }

    /// Whether no document was judged yet.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Judges the next document, and keeps what later ones are compared with.
    pub fn judge(&mut self, signed: Signed) -> CorpusVerdict {
        let judged = self.compare(&signed);
        let kept = self.worth_keeping(signed, &judged);
        self.take(&judged, kept);
        judged
    }

    /// Compares the next document with the earlier ones by its fingerprints alone, without adding
    /// it.
    pub fn compare(&mut self, signed: &Signed) -> CorpusVerdict {
        self.compare_by(signed, &mut Nothing)
    }

    /// Compares the next document with the earlier ones, without adding it.
    pub(super) fn compare_by(
        &mut self,
        signed: &Signed,
        evidence: &mut dyn Evidence,
    ) -> CorpusVerdict {
        let pairs = self.pairs(signed, evidence, false);
        self.verdict(&pairs)
    }

    /// The earlier documents that the next one is the same as, or near, closest first: one if it is
    /// the same as that. Of those that are near, the texts are compared of as many as a verdict
    /// needs, or of `all`.
    pub(super) fn pairs(
        &mut self,
        signed: &Signed,
        evidence: &mut dyn Evidence,
        all: bool,
    ) -> Vec<EarlierMatch> {
        match self.same(signed, evidence) {
            Some(same) => vec![same],
            None => self.alike(signed, evidence, all),
        }
    }

    /// The verdict on the next document by its [pairs](Self::pairs).
    pub(super) fn verdict(&mut self, pairs: &[EarlierMatch]) -> CorpusVerdict {
        let mut roots: Vec<u32> = Vec::new();
        for other in pairs {
            let root = self.root(other.of);
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
        CorpusVerdict {
            duplicate: pairs.first().copied(),
            joins: roots.split_off(roots.len().min(1)),
        }
    }

    /// The part of a judged document that later ones are compared with, if any.
    pub fn worth_keeping(&self, mut signed: Signed, judged: &CorpusVerdict) -> Option<Signed> {
        let tier = judged.duplicate.map(|duplicate| duplicate.tier);
        if tier.is_some() && self.options.clusters == Clusters::FirstFit {
            return None;
        }
        // The original has the same words.
        if tier.is_some_and(|tier| tier != Tier::Near) {
            signed.set = None;
            signed.near = None;
            signed.bands = Box::default();
            signed.exact = None;
        }
        if let Some(Fingerprint::SimHash(bits) | Fingerprint::Witnessed(bits, _)) = &signed.near
            && self.crowded.contains(bits)
        {
            signed.near = None;
        }
        Some(signed)
    }

    /// Adds the next document with its verdict, and the part of it that is kept.
    pub fn take(&mut self, judged: &CorpusVerdict, kept: Option<Signed>) {
        let number = self.count;
        self.count += 1;
        let own = judged.duplicate.map(|duplicate| self.root(duplicate.of));
        self.parents.push(own.unwrap_or(number));
        for other in &judged.joins {
            let (root, other) = (self.root(number), self.root(*other));
            if let Some(parent) = self.parents.get_mut(root.max(other) as usize) {
                *parent = root.min(other);
            }
        }
        if let Some(signed) = kept {
            self.keep(number, signed, judged.duplicate);
        }
    }

    /// The earliest document with the same bytes, text or words.
    fn same(&self, signed: &Signed, evidence: &mut dyn Evidence) -> Option<EarlierMatch> {
        let found = |of: u32, tier| EarlierMatch {
            of,
            tier,
            distance: Some(0),
            similarity: Some(1.0),
        };
        if let Some(of) = signed.raw.and_then(|key| self.raw.get(&key)) {
            return Some(found(*of, Tier::Raw));
        }
        let mut is_same = |of: &u32, tier| self.prove(signed, found(*of, tier), evidence).is_same;
        let normalized = signed.normalized.and_then(|key| self.normalized.get(&key));
        if let Some(of) = normalized.filter(|of| is_same(of, Tier::Normalized)) {
            return Some(found(*of, Tier::Normalized));
        }
        let content = signed.content.and_then(|key| self.content.get(&key))?;
        let apart = self.apart.get(content).into_iter().flatten();
        let mut same = std::iter::once(content).chain(apart);
        let of = same.find(|of| is_same(of, Tier::Content))?;
        Some(found(*of, Tier::Content))
    }

    /// Whether a document and an earlier one that match are one: no veto keeps them apart, and
    /// their own parts bear it out.
    fn prove(&self, signed: &Signed, found: EarlierMatch, evidence: &mut dyn Evidence) -> Proof {
        let (veto, other) = (&signed.veto, self.veto(found.of));
        if !veto.allows_if_proved(other, found.tier) {
            return Proof::default();
        }
        let compared = evidence.compare_own(found.of, found.similarity.unwrap_or(1.0));
        let is_compared = compared != OwnComparison::Unknown;
        Proof {
            is_same: (is_compared || veto.allows(other, found.tier))
                && is_borne_out(found.tier, compared, veto.is_one_site(other)),
            is_compared,
        }
    }

    /// The near duplicates, closest first; of equally close ones the oldest first. Of each cluster,
    /// the texts of the closest are compared, which is what counts for the verdict, or of `all`.
    fn alike(
        &mut self,
        signed: &Signed,
        evidence: &mut dyn Evidence,
        all: bool,
    ) -> Vec<EarlierMatch> {
        let mut alike = Vec::new();
        match &signed.near {
            Some(Fingerprint::SimHash(bits)) => self.by_simhash(*bits, None, &mut alike),
            Some(Fingerprint::Witnessed(bits, sketch)) => {
                self.by_simhash(*bits, Some(sketch), &mut alike);
            }
            Some(Fingerprint::MinHash(sketch, bottom)) => {
                self.by_minhash((bottom, sketch), signed, &mut alike);
            }
            None => {}
        }
        if let Some(set) = &signed.set {
            let mut found = Vec::new();
            self.sets.find(set, &mut found);
            alike.extend(found.into_iter().map(|(of, similarity)| EarlierMatch {
                of,
                tier: Tier::Near,
                distance: None,
                similarity: Some(similarity),
            }));
        }
        alike.retain(|found| {
            signed
                .veto
                .allows_if_proved(self.veto(found.of), Tier::Near)
        });
        alike.retain(|found| !self.has_drifted(signed, found.of));
        alike.sort_by(|a, b| {
            let similarity = |it: &EarlierMatch| it.similarity.unwrap_or(0.0);
            similarity(b)
                .total_cmp(&similarity(a))
                .then(a.distance.cmp(&b.distance))
                .then(a.of.cmp(&b.of))
        });
        let (mut refused, mut confirmed) = (0, HashSet::new());
        alike.retain(|found| {
            if refused >= MAX_REFUSED {
                return false;
            }
            let proof = self.prove(signed, *found, evidence);
            let root = self.root(found.of);
            let is_open = all || !confirmed.contains(&root);
            if proof.is_same && is_open && !self.are_texts_near(found, evidence) {
                refused += 1;
                return false;
            }
            refused += usize::from(proof.is_compared && !proof.is_same);
            confirmed.extend(proof.is_same.then_some(root));
            proof.is_same
        });
        alike
    }

    /// Whether the texts of two documents bear out what their fingerprints say, as far as they are
    /// at hand and were not to be compared by distance alone.
    fn are_texts_near(&self, found: &EarlierMatch, evidence: &mut dyn Evidence) -> bool {
        let least = self.options.threshold - TEXTS_BELOW;
        let measured = found.similarity.and_then(|_| evidence.similarity(found.of));
        measured.is_none_or(|similarity| similarity >= least)
    }

    /// Whether a document that is close to an earlier one is unlike the first of its cluster, at
    /// the end of a chain of small changes. Unknown where nothing that both have can be compared.
    fn has_drifted(&mut self, signed: &Signed, of: u32) -> bool {
        let root = self.root(of);
        // Distances alone are exact: there, clusters do not depend on which text came first.
        if root == of || matches!(self.options.near, NearMethod::Hamming(_)) {
            return false;
        }
        let kept = self.kept.binary_search_by_key(&root, |it| it.document);
        let kept = kept.ok().and_then(|at| self.kept.get(at));
        let similarity = match (&signed.near, kept.map(|kept| &kept.features)) {
            (Some(Fingerprint::Witnessed(_, own)), Some(Fingerprint::Witnessed(_, first))) => {
                Some(minhash::sketch_similarity(own, first))
            }
            (Some(Fingerprint::MinHash(own, bottom)), Some(Fingerprint::MinHash(first, other))) => {
                Some(bottom::similarity((bottom, own), (other, first)))
            }
            _ => (signed.set.as_ref().zip(self.sets.of(root)))
                .map(|(own, first)| short::jaccard(own, first)),
        };
        similarity.is_some_and(|similarity| similarity < DRIFTED)
    }

    fn by_simhash(&mut self, bits: u64, sketch: Option<&Sketch>, alike: &mut Vec<EarlierMatch>) {
        let reach = match self.options.near {
            NearMethod::Hamming(distance) => distance,
            _ => simhash::REACH,
        };
        let mut found: Vec<Found> = Vec::new();
        self.tables.find(bits, reach, &mut found);
        let same = found.iter().filter(|found| found.distance == 0).count();
        if same >= CROWD || found.len() >= NEAR_CROWD {
            self.crowded.insert(bits);
        }
        for Found { number, distance } in found {
            let Some(kept) = self.kept.get(number as usize) else {
                continue;
            };
            let similarity = match (&kept.features, sketch) {
                (Fingerprint::Witnessed(_, other), Some(own)) => {
                    let similarity = minhash::sketch_similarity(own, other);
                    if similarity < self.options.threshold {
                        continue;
                    }
                    Some(similarity)
                }
                _ => None,
            };
            alike.push(EarlierMatch {
                of: kept.document,
                tier: Tier::Near,
                distance: Some(distance),
                similarity,
            });
        }
    }

    fn by_minhash(
        &mut self,
        hashed: (&Bottom, &Sketch),
        signed: &Signed,
        alike: &mut Vec<EarlierMatch>,
    ) {
        let (kept, threshold) = (&self.kept, self.options.threshold);
        self.bands.find(&signed.bands, |number| {
            let Some(Candidate {
                document,
                features: Fingerprint::MinHash(sketch, bottom),
                exact,
            }) = kept.get(number as usize)
            else {
                return;
            };
            let mut similarity = bottom::similarity(hashed, (bottom, sketch));
            if let (Some(own), Some(other)) = (&signed.exact, exact)
                && (similarity - threshold).abs() < DOUBT
            {
                similarity = short::jaccard(own, other);
            }
            if similarity >= threshold {
                alike.push(EarlierMatch {
                    of: *document,
                    tier: Tier::Near,
                    distance: None,
                    similarity: Some(similarity),
                });
            }
        });
    }

    fn veto(&self, of: u32) -> &Veto {
        static NOTHING: LazyLock<Veto> = LazyLock::new(Veto::default);
        self.vetoes.get(&of).unwrap_or(&NOTHING)
    }

    fn keep(&mut self, number: u32, signed: Signed, duplicate: Option<EarlierMatch>) {
        if let Some(key) = signed.raw {
            self.raw.entry(key).or_insert(number);
        }
        if let Some(key) = signed.normalized {
            self.normalized.entry(key).or_insert(number);
        }
        let tier = duplicate.map(|duplicate| duplicate.tier);
        if let Some(key) = signed.content {
            let first = *self.content.entry(key).or_insert(number);
            if first != number && matches!(tier, None | Some(Tier::Near)) {
                let apart = self.apart.entry(first).or_default();
                if apart.len() < APART {
                    apart.push(number);
                }
            }
        }
        if !signed.veto.is_empty() {
            self.vetoes.insert(number, signed.veto);
        }
        if let Some(set) = signed.set {
            self.sets.insert(set, number);
        }
        if let Some(features) = signed.near {
            let at = self.kept.len() as u32;
            match &features {
                Fingerprint::SimHash(bits) | Fingerprint::Witnessed(bits, _) => {
                    self.tables.insert(*bits, at);
                }
                Fingerprint::MinHash(..) => self.bands.insert(&signed.bands, at),
            }
            self.kept.push(Candidate {
                document: number,
                features,
                exact: signed.exact,
            });
        }
    }

    /// The first document of a document's cluster.
    fn root(&mut self, mut document: u32) -> u32 {
        while let Some(&parent) = self.parents.get(document as usize) {
            if parent == document {
                break;
            }
            // Halves the path for the next search.
            let grandparent = self.parents.get(parent as usize).copied().unwrap_or(parent);
            self.parents[document as usize] = grandparent;
            document = grandparent;
        }
        document
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Signer;
    use crate::dedup::shingle;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// The clusters that documents form when they are judged in this order.
    fn clusters(options: &Options, texts: &[String], order: &[usize]) -> BTreeSet<BTreeSet<usize>> {
        let signer = Signer::new(options);
        let mut corpus = Corpus::new(options.clone());
        let mut cluster_of: BTreeMap<usize, usize> = BTreeMap::new();
        for (number, &at) in order.iter().enumerate() {
            let text = &texts[at];
            let judged = corpus.judge(signer.sign(text.as_bytes(), &signer.text(text, text)));
            let linked = judged.duplicate.iter().map(|it| it.of).chain(judged.joins);
            cluster_of.insert(number, number);
            for of in linked {
                let (own, other) = (cluster_of[&number], cluster_of[&(of as usize)]);
                cluster_of
                    .values_mut()
                    .filter(|cluster| **cluster == other)
                    .for_each(|cluster| *cluster = own);
            }
        }
        let mut clusters: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (number, cluster) in cluster_of {
            clusters.entry(cluster).or_default().insert(order[number]);
        }
        clusters.into_values().collect()
    }

    /// Documents with one fingerprint and hardly a shingle in common: each is compared with as many
    /// as the first few hundred, and what is like another is found all the same.
    #[test]
    fn a_flood_of_one_fingerprint_stays_cheap() {
        let options = Options::witness();
        let signer = Signer::new(&options);
        let mut corpus = Corpus::new(options);
        let spam = "spam ".repeat(200);
        let random = |from: u64| -> String {
            let words = (from..from + 60).map(|word| format!("w{:x} ", shingle::mix(word)));
            words.collect()
        };
        let mut judge =
            |text: &str| corpus.judge(signer.sign(text.as_bytes(), &signer.text(text, text)));
        for number in 0..1_000 {
            let flood = format!("{spam}{}", random(number * 100));
            assert_eq!(judge(&flood).duplicate, None, "{number}");
        }
        let honest: String = (0..8).map(|part| random(1_000_000 + part * 100)).collect();
        assert_eq!(judge(&honest).duplicate, None);
        let found = judge(&format!("{honest} end")).duplicate;
        assert_eq!(found.map(|found| found.of), Some(1_000));
        let kept = corpus.kept.len();
        assert!((CROWD..CROWD + 50).contains(&kept), "{kept}");
    }

    /// Texts of 30 to 90 words, most of them edits of an earlier one.
    fn texts(seeds: &[(u64, usize)]) -> Vec<String> {
        let mut texts: Vec<Vec<u64>> = Vec::new();
        for (seed, length) in seeds {
            let edited = texts.get(*seed as usize % 8).cloned();
            let text = match edited {
                Some(mut text) => {
                    for edit in 0..seed % 4 {
                        let at = shingle::mix(seed ^ edit) as usize % text.len();
                        text[at] = *seed;
                    }
                    text
                }
                None => (0..*length as u64)
                    .map(|at| shingle::mix(seed ^ at) % 500)
                    .collect(),
            };
            texts.push(text);
        }
        let words = |text: &Vec<u64>| {
            text.iter()
                .map(|word| format!("w{word}"))
                .collect::<Vec<_>>()
        };
        texts.iter().map(|text| words(text).join(" ")).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// With an exact measure, the order only decides which document comes first.
        #[test]
        fn components_do_not_depend_on_the_order(
            seeds in prop::collection::vec((any::<u64>(), 30..90_usize), 2..24),
            shuffle: u64,
            distance in 0..=7_u8,
        ) {
            let texts = texts(&seeds);
            let order: Vec<usize> = (0..texts.len()).collect();
            let mut shuffled = order.clone();
            shuffled.sort_by_key(|at| shingle::mix(shuffle ^ *at as u64));
            let options = Options::hamming(distance);
            prop_assert_eq!(
                clusters(&options, &texts, &order),
                clusters(&options, &texts, &shuffled)
            );
        }
    }

    #[test]
    fn a_chain_of_small_changes_does_not_lead_to_another_text() {
        for options in [Options::witness(), Options::minhash(0.8)] {
            let signer = Signer::new(&options);
            let mut corpus = Corpus::new(options);
            for length in [400_u64, 45] {
                let mut text: Vec<u64> = (0..length).collect();
                let mut kept = Vec::new();
                for step in 0..41 {
                    let words: Vec<_> = text.iter().map(|word| format!("w{word}")).collect();
                    let words = words.join(" ");
                    let judged =
                        corpus.judge(signer.sign(words.as_bytes(), &signer.text(&words, &words)));
                    if judged.duplicate.is_none() {
                        kept.push(step);
                    }
                    let at = (step * length / 41) as usize;
                    let end = at + (length / 90) as usize + 1;
                    text[at..end].iter_mut().for_each(|word| *word += 1_000_000);
                }
                assert!(kept.len() > 1, "of {length} words: {kept:?}");
            }
        }
    }

    #[test]
    fn pages_with_one_main_text_and_other_companies_are_kept_apart() {
        let options = Options::witness();
        let signer = Signer::new(&options);
        let mut corpus = Corpus::new(options);
        let text = |from: u64| {
            let words: Vec<_> = (from..from + 100).map(|word| format!("w{word}")).collect();
            words.join(" ")
        };
        let main = text(0);
        let mut judge = |company: u64, edit: &str| {
            let visible = format!("{main} {edit} {} {}", text(company), text(company + 100));
            let signed = signer.sign(visible.as_bytes(), &signer.text(&main, &visible));
            corpus
                .judge(signed)
                .duplicate
                .map(|found| (found.of, found.tier))
        };
        assert_eq!(judge(1_000, ""), None);
        assert_eq!(judge(2_000, ""), None);
        assert_eq!(judge(2_000, "edit"), Some((1, Tier::Content)));
    }
}
