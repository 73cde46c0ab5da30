//! `[dedup]` and `[[dedup.rule]]`: what fingerprints are made of, what may be called a duplicate, and
//! what differs for some pages. Which of several rules wins is [`PageMap`]'s.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::StrDeserializer;
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::load::nearest;
use crate::dedup::{
    Features, Finder, HASHES, MAX_HAMMING, MIN_SIMILARITY, Mask, Rule, RuleOverrides, Rules,
    Shingle, Tier,
};
use crate::url::{HostKey, HostMap, HostPattern, PageMap, PagePattern};

/// What may be called a duplicate, and how it is found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DedupSettings {
    /// How near duplicates are found: simhash or minhash.
    pub method: Finder,
    /// The tiers that count: raw, normalized, content, near.
    pub tiers: List<Tier>,
    /// Bits in which the `SimHash`es of near duplicates may differ.
    pub hamming: u8,
    /// How alike near duplicates of one host must be.
    pub similarity: f64,
    /// How alike those of two hosts must be.
    pub cross_host_similarity: f64,
    /// Whether refusals, consent and CAPTCHA pages are kept from being originals.
    pub refusals: bool,
    /// Bodies of duplicates that are stored of each original; none for what archive.store says.
    pub stored_members: Option<u32>,
    /// What near duplicates may differ in: dates, times, numbers.
    pub masks: List<Mask>,
    /// The shingles of the `SimHash`.
    pub simhash_shingle: ShingleSetting,
    /// The shingles whose Jaccard similarity is meant.
    pub minhash_shingle: ShingleSetting,
    /// Bands of a `MinHash` signature.
    pub bands: u32,
    /// Values in each.
    pub rows: u32,
    /// Draws the hash functions.
    pub seed: u32,
    /// What differs for some pages; told apart from the keys, and so not among them.
    #[serde(skip_serializing)]
    pub rule: Vec<RuleSettings>,
}

impl Default for DedupSettings {
    fn default() -> Self {
        let (features, rule) = (Features::default(), Rule::default());
        Self {
            method: features.method,
            tiers: List(Tier::ALL.to_vec()),
            hamming: rule.hamming,
            similarity: rule.similarity,
            cross_host_similarity: rule.cross_host_similarity,
            refusals: rule.refusals,
            stored_members: rule.stored_members,
            masks: List(Vec::new()),
            simhash_shingle: ShingleSetting(features.simhash_shingle),
            minhash_shingle: ShingleSetting(features.minhash_shingle),
            bands: features.bands,
            rows: features.rows,
            seed: 0,
            rule: Vec::new(),
        }
    }
}

/// An entry of `[[dedup.rule]]`: pages, and what differs for them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "most are described at DedupSettings")]
pub struct RuleSettings {
    /// What a person calls the group; shown, and nothing else.
    #[serde(skip_serializing)]
    pub name: Option<String>,
    /// The pages.
    #[serde(rename = "match", skip_serializing)]
    pub pages: Vec<PagePattern>,
    pub method: Option<Finder>,
    pub tiers: Option<List<Tier>>,
    pub hamming: Option<u8>,
    pub similarity: Option<f64>,
    pub cross_host_similarity: Option<f64>,
    pub refusals: Option<bool>,
    pub stored_members: Option<u32>,
}

impl DedupSettings {
    /// What fingerprints are made of.
    pub(super) fn features(&self) -> Features {
        Features {
            method: self.method,
            simhash_shingle: self.simhash_shingle.0,
            minhash_shingle: self.minhash_shingle.0,
            bands: self.bands,
            rows: self.rows,
            masks: self.masks.0.iter().copied().collect(),
            seed: self.seed.into(),
        }
    }

    /// What may be called a duplicate.
    pub(super) fn rules(&self) -> Rules {
        let rule = Rule {
            // What is kept decides for the crawl; a rule can only spare pages the search. So a reload
            // changes nothing that needs a restart.
            method: Finder::Minhash,
            tiers: self.tiers.0.iter().copied().collect(),
            hamming: self.hamming,
            similarity: self.similarity,
            cross_host_similarity: self.cross_host_similarity,
            refusals: self.refusals,
            stored_members: self.stored_members,
        };
        let entries = self.rule.iter().flat_map(|entry| {
            let pages = entry.pages.iter().cloned();
            pages.map(|pattern| (pattern, entry.overrides()))
        });
        Rules::new(rule, entries)
    }

    /// Refuses values that make no sense: the key, and what it must be.
    pub(super) fn check(&self) -> Result<(), (&'static str, &'static str)> {
        let refuse = |key, expected| Err((key, expected));
        match self {
            _ if self.hamming > MAX_HAMMING => refuse("dedup.hamming", HAMMING),
            _ if !is_similarity(self.similarity) => refuse("dedup.similarity", SIMILARITY),
            _ if !is_similarity(self.cross_host_similarity) => {
                refuse("dedup.cross_host_similarity", SIMILARITY)
            }
            _ if self.bands == 0 => refuse("dedup.bands", "at least 1"),
            _ if self.rows == 0 => refuse("dedup.rows", "at least 1"),
            _ if u64::from(self.bands) * u64::from(self.rows) > HASHES as u64 => refuse(
                "dedup.bands",
                "no more than 128 by dedup.rows: a signature has 128 values",
            ),
            _ => Ok(()),
        }
    }

    /// Refuses rules that make no sense: which one, counted from 0, and why.
    pub(super) fn check_rules(&self) -> Result<(), (usize, String)> {
        let mut all = PageMap::default();
        for (at, entry) in self.rule.iter().enumerate() {
            let refuse = |reason: &str| Err((at, reason.to_owned()));
            if entry.pages.is_empty() {
                return refuse("it names no page: give match = [\"example.org\", \"/print/\"]");
            }
            if entry.settings().is_empty() {
                return refuse("it sets nothing; write similarity = 0.95 or the like below it");
            }
            if entry.hamming.is_some_and(|it| it > MAX_HAMMING) {
                return refuse(&format!("hamming must be {HAMMING}"));
            }
            for (key, value) in [
                ("similarity", entry.similarity),
                ("cross_host_similarity", entry.cross_host_similarity),
            ] {
                if value.is_some_and(|it| !is_similarity(it)) {
                    return refuse(&format!("{key} must be {SIMILARITY}"));
                }
            }
            if entry.method == Some(Finder::Minhash) && self.method != Finder::Minhash {
                return refuse(
                    "method = \"minhash\" needs signatures, which only a crawl with dedup.method = \"minhash\" keeps; set that, and \"simhash\" where it is enough",
                );
            }
            for pattern in &entry.pages {
                if let Some(other) = all.insert(pattern, at) {
                    let other = self.label(other);
                    return Err((at, format!("{pattern} is in {other} too; name it once")));
                }
            }
        }
        Ok(())
    }

    /// What a person calls a rule: its number from 1, and its name.
    pub(super) fn label(&self, at: usize) -> String {
        match self.rule.get(at).and_then(|entry| entry.name.as_ref()) {
            Some(name) => format!("[[{RULE}]] {} ({name})", at + 1),
            None => format!("[[{RULE}]] {}", at + 1),
        }
    }

    /// What is set for all pages of a host, each by the entry and pattern that win: key, value,
    /// entry, pattern.
    pub(super) fn at_host(&self, host: &HostKey) -> BTreeMap<String, (Value, usize, &HostPattern)> {
        let mut all = HostMap::default();
        for (at, entry) in self.rule.iter().enumerate() {
            for pattern in entry.pages.iter().filter(|it| it.is_whole_host()) {
                if let Some(pattern) = pattern.host() {
                    all.insert(pattern, (at, entry, pattern));
                }
            }
        }
        let mut found = BTreeMap::new();
        for (at, entry, pattern) in all.matching(host) {
            for (key, value) in entry.settings() {
                found.insert(format!("dedup.{key}"), (value, *at, *pattern));
            }
        }
        found
    }
}

/// The name of the list of rules.
pub(super) const RULE: &str = "dedup.rule";

const HAMMING: &str = "0 to 10, the distance within which candidates are found";
const SIMILARITY: &str = "0.8 to 1: what is less alike is not found by what is stored";

fn is_similarity(value: f64) -> bool {
    (MIN_SIMILARITY..=1.0).contains(&value)
}

impl RuleSettings {
    /// What it sets, by key.
    pub fn settings(&self) -> BTreeMap<String, Value> {
        // Plain data with text keys: it cannot fail.
        let settings = serde_json::to_value(self).unwrap_or_default();
        let keys = settings.as_object().into_iter().flatten();
        keys.filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }

    fn overrides(&self) -> RuleOverrides {
        RuleOverrides {
            method: self.method,
            tiers: (self.tiers.as_ref()).map(|tiers| tiers.0.iter().copied().collect()),
            hamming: self.hamming,
            similarity: self.similarity,
            cross_host_similarity: self.cross_host_similarity,
            refusals: self.refusals,
            stored_members: self.stored_members,
        }
    }
}

/// The keys that a rule may set.
pub(super) fn keys() -> Vec<String> {
    let keys = serde_json::to_value(RuleSettings::default()).unwrap_or_default();
    keys.as_object()
        .into_iter()
        .flat_map(|keys| keys.keys().cloned())
        .collect()
}

/// Refuses a key that no rule can have: what is wrong with it.
pub(super) fn check_keys(entry: &toml::Table) -> Result<(), String> {
    let known = keys();
    let known = || known.iter().map(String::as_str).chain(["name", "match"]);
    let crawl_wide = serde_json::to_value(DedupSettings::default()).unwrap_or_default();
    for key in entry.keys() {
        if known().any(|it| it == key) {
            continue;
        }
        return Err(match crawl_wide.get(key) {
            Some(_) => format!(
                "`{key}` holds for the whole crawl; for some pages can be set: {}",
                keys().join(", ")
            ),
            None => {
                let nearest = nearest(key, known());
                format!("unknown key `{key}`; did you mean `{nearest}`?")
            }
        });
    }
    Ok(())
}

/// A shingle, written like `words:2` or `chars:8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShingleSetting(pub Shingle);

impl Serialize for ShingleSetting {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ShingleSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(de::Error::custom)
    }
}

/// A list of choices, written as a list of texts, or as one text with commas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct List<T>(pub Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Choices<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Choices<T> {
            type Value = List<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list such as [\"raw\", \"near\"]")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<List<T>, E> {
                text.split(['[', ']', ',', '"', '\'', ' '])
                    .filter(|choice| !choice.is_empty())
                    .map(|choice| T::deserialize(StrDeserializer::new(choice)))
                    .collect::<Result<_, E>>()
                    .map(List)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<List<T>, A::Error> {
                let mut choices = Vec::new();
                while let Some(choice) = list.next_element()? {
                    choices.push(choice);
                }
                Ok(List(choices))
            }
        }

        deserializer.deserialize_any(Choices(PhantomData))
    }
}
