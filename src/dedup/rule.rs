//! What may be called a duplicate: by which tiers, how alike it must be. The crawl's rule, and what
//! differs from it for some pages.
//!
//! Made from the configuration, never changed. Two pages are compared by what is stricter of both
//! their rules, so it does not matter which of them came first.

use super::simhash::REACH;
use super::{Finder, Match, Tier};
use crate::url::{PageMap, PagePattern, parse};

/// The most bits in which the `SimHash`es of near duplicates may differ.
pub const MAX_HAMMING: u8 = REACH;

/// How much less alike a page may become to its original, before it is a duplicate no more. Two
/// standard errors of the sketch: an edit that moves the estimate by less says nothing.
const HYSTERESIS: f64 = 0.05;

/// How a page is compared with others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// How near duplicates are looked for.
    pub method: Finder,
    /// The tiers that count.
    pub tiers: Tiers,
    /// Bits in which the `SimHash`es of near duplicates may differ, at most [`MAX_HAMMING`]; what the
    /// bands of `MinHash` find may differ in more.
    pub hamming: u8,
    /// How alike near duplicates of one host must be, [`MIN_SIMILARITY`] to 1.
    pub similarity: f64,
    /// How alike those of two hosts must be.
    pub cross_host_similarity: f64,
    /// Whether refusals, consent and CAPTCHA pages are kept from being originals.
    pub refusals: bool,
    /// Bodies of duplicates that are stored of each original; `None` leaves it to the archive's policy.
    pub stored_members: Option<u32>,
}

impl Default for Rule {
    fn default() -> Self {
        Self {
            method: Finder::default(),
            tiers: Tiers::default(),
            hamming: MAX_HAMMING,
            similarity: 0.9,
            cross_host_similarity: 0.8,
            refusals: true,
            stored_members: None,
        }
    }
}

/// The tiers that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tiers(u8);

impl Tiers {
    /// Whether this one does.
    pub fn has(self, tier: Tier) -> bool {
        self.0 & Self::bit(tier) != 0
    }

    fn bit(tier: Tier) -> u8 {
        1 << tier as u8
    }
}

impl Default for Tiers {
    /// All of them.
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

impl Rule {
    /// What holds for two pages: the stricter of both in everything.
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
        }
    }

    /// Whether pages that are so alike are duplicates: of one host, or of two.
    pub(super) fn accepts(&self, found: &Match, is_one_host: bool) -> bool {
        let least = match is_one_host {
            true => self.similarity,
            false => self.cross_host_similarity,
        };
        let by_bands = found.by_signature && self.method == Finder::Minhash;
        found.similarity >= least && (by_bands || found.distance <= self.hamming)
    }

    /// Whether a duplicate that has become so much like its original still is one. Its `SimHash` has
    /// no say: that finds candidates, and here there is one.
    pub(super) fn keeps(&self, found: &Match, is_one_host: bool) -> bool {
        let least = match is_one_host {
            true => self.similarity,
            false => self.cross_host_similarity,
        };
        self.tiers.has(Tier::Near) && found.similarity >= least - HYSTERESIS
    }

    /// The least similarity that it may accept.
    pub(super) fn least_similarity(&self) -> f64 {
        self.similarity.min(self.cross_host_similarity)
    }
}

/// What differs for some pages; what is `None` does not. The fields are those of [`Rule`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[expect(missing_docs, reason = "each is described where it is overridden")]
pub struct RuleOverrides {
    pub method: Option<Finder>,
    pub tiers: Option<Tiers>,
    pub hamming: Option<u8>,
    pub similarity: Option<f64>,
    pub cross_host_similarity: Option<f64>,
    pub refusals: Option<bool>,
    pub stored_members: Option<u32>,
}

impl RuleOverrides {
    fn apply(&self, rule: &mut Rule) {
        fn set<T: Copy>(field: &mut T, value: Option<T>) {
            *field = value.unwrap_or(*field);
        }
        // Taken apart, so that a new field cannot be forgotten.
        let Self {
            method,
            tiers,
            hamming,
            similarity,
            cross_host_similarity,
            refusals,
            stored_members,
        } = *self;
        set(&mut rule.method, method);
        set(&mut rule.tiers, tiers);
        set(&mut rule.hamming, hamming);
        set(&mut rule.similarity, similarity);
        set(&mut rule.cross_host_similarity, cross_host_similarity);
        set(&mut rule.refusals, refusals);
        rule.stored_members = stored_members.or(rule.stored_members);
    }
}

/// The rule of every page.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    crawl: Rule,
    overrides: PageMap<RuleOverrides>,
}

impl Rules {
    /// The crawl's rule, and what differs from it for some pages. Where several patterns match a
    /// page, each field is the most specific one's that has it.
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

    /// The rule of the page at a URL.
    pub fn of(&self, url: &str) -> Rule {
        let mut rule = self.crawl;
        if self.overrides.is_empty() {
            return rule;
        }
        // What is no URL has no rule of its own.
        if let Ok(url) = parse(url) {
            for overrides in self.overrides.matching(&url) {
                overrides.apply(&mut rule);
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
    }
}
