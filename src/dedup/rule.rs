//! What may be called a duplicate: by which tiers, at what similarity. The crawl's rule, and the
//! settings that some pages have of their own.
//!
//! [`Rule`] is the section `[dedup]` of the configuration. A field is a key; its name, default and
//! documentation stand here and in `config/gleaner.toml`, and nowhere else. Every key can be set
//! per page in `[[dedup.rule]]`, unless `#[patch(skip)]` makes it a key of the whole crawl: the
//! derive makes the struct of overrides.
//!
//! Rules never change. Two pages are compared by the stricter values of both their rules, so their
//! order does not matter.

#![expect(
    clippy::float_cmp,
    reason = "the derived patch asks whether a threshold was written differently"
)]

use serde::{Deserialize, Serialize};
use struct_patch::Patch;

use super::simhash::REACH;
use super::{Features, Finder, HASHES, MIN_SIMILARITY, Masks, Match, Shingle, Tier};
use crate::units::{Checked, as_text};
use crate::url::{PageMap, PagePattern, parse};

/// Maximum of `hamming`, in bits: the distance within which the index finds candidates.
pub const MAX_HAMMING: u8 = REACH;

/// What `similarity` and `cross_host_similarity` must be.
const SIMILARITY: &str = "0.8 to 1: what is less alike is not found by what is stored";

/// How far the similarity of a page to its original may fall below the threshold before the page is
/// no longer its duplicate. Two standard errors of the sketch: a smaller change of the estimate is
/// noise.
const HYSTERESIS: f64 = 0.05;

/// How a page is compared with others, and what its fingerprints are made of: `[dedup]`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Patch)]
#[serde(default)]
#[patch(
    name = "RuleOverrides",
    attribute(derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)),
    attribute(serde(default)),
    attribute(expect(missing_docs, reason = "each field is described at `Rule`"))
)]
pub struct Rule {
    /// How near duplicates are found. An override can only spare pages the search in bands; which
    /// fingerprints are kept is decided for the whole crawl.
    pub method: Finder,
    /// The tiers that count.
    pub tiers: Tiers,
    /// Maximum number of bits in which the `SimHash`es of near duplicates differ, 0 to
    /// [`MAX_HAMMING`]. Pages found by the bands of `MinHash` may differ in more, and with
    /// [`MAX_HAMMING`] those found by the bands of their sketches too.
    pub hamming: u8,
    /// Minimum similarity of near duplicates of one host, [`MIN_SIMILARITY`] to 1.
    pub similarity: f64,
    /// Minimum similarity of near duplicates of two hosts, [`MIN_SIMILARITY`] to 1.
    pub cross_host_similarity: f64,
    /// Whether block, consent and CAPTCHA pages are kept from being originals.
    pub refusals: bool,
    /// Maximum number of bodies of duplicates stored per original; `None` leaves it to
    /// `archive.store`.
    pub stored_members: Option<u32>,
    /// What consumers get of pages that resemble one another. Nothing is fetched or left unfetched
    /// because of it.
    #[patch(skip)]
    pub profile: Profile,
    /// What near duplicates may differ in.
    #[patch(skip)]
    pub masks: Masks,
    /// The shingles of the `SimHash`.
    #[patch(skip)]
    #[serde(with = "as_text")]
    pub simhash_shingle: Shingle,
    /// The shingles that similarity refers to: their Jaccard similarity is estimated.
    #[patch(skip)]
    #[serde(with = "as_text")]
    pub minhash_shingle: Shingle,
    /// Bands of a `MinHash` signature.
    #[patch(skip)]
    pub bands: u32,
    /// Values in each band; `bands` times `rows` is at most [`HASHES`].
    #[patch(skip)]
    pub rows: u32,
    /// Selects the hash functions; `None` for a number that is drawn when the crawl begins.
    #[patch(skip)]
    pub seed: Option<u32>,
}

impl Default for Rule {
    fn default() -> Self {
        let features = Features::default();
        Self {
            method: features.method,
            tiers: Tiers::default(),
            hamming: MAX_HAMMING,
            similarity: 0.9,
            cross_host_similarity: 0.8,
            refusals: true,
            stored_members: None,
            profile: Profile::default(),
            masks: features.masks,
            simhash_shingle: features.simhash_shingle,
            minhash_shingle: features.minhash_shingle,
            bands: features.bands,
            rows: features.rows,
            seed: None,
        }
    }
}

/// Who a crawl is for, and so what it keeps of pages that resemble one another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Every body is stored, those of duplicates too.
    Archive,
    /// Pages of their own are stored, and told to which group they belong.
    #[default]
    Search,
    /// Of a group of pages that differ in digits only, the text is given out once.
    Corpus,
}

/// A set of tiers; in a configuration, a list of their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Tier>", into = "Vec<Tier>")]
pub struct Tiers(u8);

impl Tiers {
    /// Returns whether a tier is in the set.
    pub fn has(self, tier: Tier) -> bool {
        self.0 & Self::bit(tier) != 0
    }

    fn bit(tier: Tier) -> u8 {
        1 << tier as u8
    }
}

impl Default for Tiers {
    /// All tiers.
    fn default() -> Self {
        Tier::ALL.into_iter().collect()
    }
}

impl FromIterator<Tier> for Tiers {
    fn from_iter<I: IntoIterator<Item = Tier>>(tiers: I) -> Self {
        Self(
            tiers
                .into_iter()
                .fold(0, |bits, tier| bits | Self::bit(tier)),
        )
    }
}

impl From<Vec<Tier>> for Tiers {
    fn from(list: Vec<Tier>) -> Self {
        list.into_iter().collect()
    }
}

impl From<Tiers> for Vec<Tier> {
    fn from(tiers: Tiers) -> Self {
        let all = Tier::ALL.into_iter();
        all.filter(|tier| tiers.has(*tier)).collect()
    }
}

impl Rule {
    /// Refuses values out of their range.
    pub fn check(&self) -> Checked {
        let is_similarity = |value| (MIN_SIMILARITY..=1.0).contains(&value);
        match self {
            _ if self.hamming > MAX_HAMMING => Err((
                "dedup.hamming",
                "0 to 10, the distance within which candidates are found",
            )),
            _ if !is_similarity(self.similarity) => Err(("dedup.similarity", SIMILARITY)),
            _ if !is_similarity(self.cross_host_similarity) => {
                Err(("dedup.cross_host_similarity", SIMILARITY))
            }
            _ if self.bands == 0 => Err(("dedup.bands", "at least 1")),
            _ if self.rows == 0 => Err(("dedup.rows", "at least 1")),
            _ if u64::from(self.bands) * u64::from(self.rows) > HASHES as u64 => Err((
                "dedup.bands",
                "no more than 128 by dedup.rows: a signature has 128 values",
            )),
            _ => Ok(()),
        }
    }

    /// Returns the settings that fingerprints depend on.
    pub fn features(&self) -> Features {
        Features {
            method: self.method,
            simhash_shingle: self.simhash_shingle,
            minhash_shingle: self.minhash_shingle,
            bands: self.bands,
            rows: self.rows,
            masks: self.masks,
            seed: self.seed.unwrap_or(0).into(),
        }
    }

    /// Returns the rule that applies to two pages: the stricter value of each key.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        // Taken apart, so that a new field cannot be forgotten.
        let Self {
            method,
            tiers,
            hamming,
            similarity,
            cross_host_similarity,
            refusals,
            stored_members,
            // Keys of the whole crawl.
            profile: _,
            masks: _,
            simhash_shingle: _,
            minhash_shingle: _,
            bands: _,
            rows: _,
            seed: _,
        } = *other;
        Self {
            method: match method {
                Finder::Minhash => self.method,
                Finder::Simhash => method,
            },
            tiers: Tiers(self.tiers.0 & tiers.0),
            hamming: self.hamming.min(hamming),
            similarity: self.similarity.max(similarity),
            cross_host_similarity: self.cross_host_similarity.max(cross_host_similarity),
            refusals: self.refusals || refusals,
            stored_members: match (self.stored_members, stored_members) {
                (Some(own), Some(other)) => Some(own.min(other)),
                (own, other) => own.or(other),
            },
            ..*self
        }
    }

    /// Whether two pages of this similarity are duplicates. `is_one_host` selects the threshold.
    pub(super) fn accepts(&self, found: &Match, is_one_host: bool) -> bool {
        found.similarity >= self.least(is_one_host) && self.is_in_reach(found)
    }

    /// Whether two pages of this similarity are duplicates if their own parts say so too. Then an
    /// estimate may fall short of the threshold by its standard error.
    pub(super) fn accepts_if_proved(&self, found: &Match, is_one_host: bool) -> bool {
        found.similarity + found.error >= self.least(is_one_host) && self.is_in_reach(found)
    }

    /// Whether pages so far apart may be compared. Bands find them at any distance.
    fn is_in_reach(&self, found: &Match) -> bool {
        let by_signature = found.by_signature && self.method == Finder::Minhash;
        by_signature || self.hamming >= MAX_HAMMING || found.distance <= self.hamming
    }

    fn least(&self, is_one_host: bool) -> f64 {
        match is_one_host {
            true => self.similarity,
            false => self.cross_host_similarity,
        }
    }

    /// Whether a page that changed is still a duplicate of its original. The distance of the
    /// `SimHash`es does not count: it serves to find candidates, and here there is one.
    pub(super) fn keeps(&self, found: &Match, is_one_host: bool) -> bool {
        self.tiers.has(Tier::Near) && found.similarity >= self.least(is_one_host) - HYSTERESIS
    }

    /// The lower of both thresholds of similarity.
    pub(super) fn least_similarity(&self) -> f64 {
        self.similarity.min(self.cross_host_similarity)
    }
}

/// The rule of every page.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    crawl: Rule,
    overrides: PageMap<RuleOverrides>,
}

impl Rules {
    /// The crawl's rule, and the settings that some pages have of their own. Where several patterns
    /// match a page, each key is taken from the most specific pattern that sets it.
    pub fn new(
        crawl: Rule,
        overrides: impl IntoIterator<Item = (PagePattern, RuleOverrides)>,
    ) -> Self {
        let mut map = PageMap::default();
        for (pattern, overrides) in overrides {
            map.insert(&pattern, overrides);
        }
        Self {
            crawl,
            overrides: map,
        }
    }

    /// The profile of the crawl.
    pub fn profile(&self) -> Profile {
        self.crawl.profile
    }

    /// The rule of the page at a URL.
    pub fn of(&self, url: &str) -> Rule {
        let mut rule = self.crawl;
        if self.overrides.is_empty() {
            return rule;
        }
        // Only URLs match patterns.
        if let Ok(url) = parse(url) {
            for overrides in self.overrides.matching(&url) {
                rule.apply(overrides.clone());
            }
        }
        rule
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        let entry = |pattern: &str, overrides| (pattern.parse().unwrap(), overrides);
        Rules::new(
            Rule::default(),
            [
                entry(
                    "example.org",
                    RuleOverrides {
                        similarity: Some(0.95),
                        hamming: Some(3),
                        ..RuleOverrides::default()
                    },
                ),
                entry(
                    "example.org/print/",
                    RuleOverrides {
                        tiers: Some([Tier::Raw].into_iter().collect()),
                        similarity: Some(0.85),
                        ..RuleOverrides::default()
                    },
                ),
            ],
        )
    }

    #[test]
    fn what_is_said_most_specifically_holds_field_by_field() {
        let check = |url: &str, similarity: f64, hamming, near| {
            let rule = rules().of(url);
            assert!((rule.similarity - similarity).abs() < 1e-12, "{url}");
            assert_eq!(rule.hamming, hamming, "{url}");
            assert_eq!(rule.tiers.has(Tier::Near), near, "{url}");
            assert!(rule.tiers.has(Tier::Raw), "{url}");
        };
        check("http://a.example/", 0.9, 10, true);
        check("http://example.org/", 0.95, 3, true);
        check("http://www.example.org/print/1", 0.85, 3, false);
    }

    #[test]
    fn of_two_rules_the_stricter_holds_whichever_comes_first() {
        let (one, other) = (
            rules().of("http://example.org/print/"),
            Rule {
                method: Finder::Minhash,
                hamming: 7,
                similarity: 0.9,
                refusals: false,
                stored_members: Some(3),
                ..Rule::default()
            },
        );
        let both = one.and(&other);
        assert_eq!(both, other.and(&one));
        assert_eq!((both.hamming, both.method), (3, Finder::Simhash));
        assert!((both.similarity - 0.9).abs() < 1e-12);
        assert_eq!(both.stored_members, Some(3));
        assert!(both.refusals && !both.tiers.has(Tier::Normalized));
    }

    #[test]
    fn hosts_and_distance_decide() {
        let rule = Rule {
            method: Finder::Minhash,
            hamming: 3,
            cross_host_similarity: 0.8,
            ..Rule::default()
        };
        let found = |similarity, distance, by_signature| Match {
            distance,
            similarity,
            error: 0.02,
            by_signature,
        };
        assert!(rule.accepts(&found(0.85, 3, false), false));
        assert!(!rule.accepts(&found(0.85, 3, false), true));
        assert!(!rule.accepts(&found(0.95, 4, false), true));
        assert!(rule.accepts(&found(0.95, 14, true), true));
        let by_simhash = Rule {
            method: Finder::Simhash,
            ..rule
        };
        assert!(!by_simhash.accepts(&found(0.95, 14, true), true));
        assert!(Rule::default().accepts(&found(0.95, 14, false), true));
        // An estimate may fall short where own parts decide.
        assert!(!rule.accepts(&found(0.79, 3, false), false));
        assert!(rule.accepts_if_proved(&found(0.79, 3, false), false));
        assert!(!rule.accepts_if_proved(&found(0.77, 3, false), false));
    }
}
