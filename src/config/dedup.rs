//! `[[dedup.rule]]`: the settings of `[dedup]` that some pages have of their own, and whether the
//! entries make sense. [`PageMap`] decides which of several entries wins.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use struct_patch::Patch as _;

use super::Config;
use super::keys::{self, DEDUP_RULE, values};
use crate::dedup::{Finder, Rule, RuleOverrides, Rules};
use crate::url::{HostKey, HostMap, HostPattern, PageMap, PagePattern};

/// An entry: pages, and the settings that they have of their own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RuleSettings {
    /// A name for people; it is shown, and means nothing.
    pub name: Option<String>,
    /// The pages.
    pub pages: Vec<PagePattern>,
    /// How they are compared.
    pub overrides: RuleOverrides,
}

/// What an entry has besides settings.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Head {
    name: Option<String>,
    #[serde(rename = "match")]
    pages: Vec<PagePattern>,
}

/// A file, of which only the entries matter.
#[derive(Deserialize)]
#[serde(bound = "T: Deserialize<'de>", default)]
struct File<T> {
    dedup: Section<T>,
}

#[derive(Deserialize)]
#[serde(bound = "T: Deserialize<'de>", default)]
struct Section<T> {
    rule: Vec<T>,
}

impl<T> Default for File<T> {
    fn default() -> Self {
        let dedup = Section::default();
        Self { dedup }
    }
}

impl<T> Default for Section<T> {
    fn default() -> Self {
        Self { rule: Vec::new() }
    }
}

/// The entries of a file. It is read twice, once for each half of an entry, because the parser
/// knows the places of errors only as long as it reads into the types themselves.
pub(super) fn entries(text: &str) -> Result<Vec<RuleSettings>, toml::de::Error> {
    let heads = toml::from_str::<File<Head>>(text)?.dedup.rule;
    let settings = toml::from_str::<File<RuleOverrides>>(text)?.dedup.rule;
    let entries = heads.into_iter().zip(settings);
    Ok(entries.map(RuleSettings::of).collect())
}

impl RuleSettings {
    fn of((head, overrides): (Head, RuleOverrides)) -> Self {
        Self {
            name: head.name,
            pages: head.pages,
            overrides,
        }
    }

    /// An entry as it is written in a file.
    pub(super) fn from_table(entry: toml::Table) -> Result<Self, toml::de::Error> {
        check_keys(&entry).map_err(toml::de::Error::custom)?;
        let head = Head::deserialize(entry.clone())?;
        Ok(Self::of((head, RuleOverrides::deserialize(entry)?)))
    }

    /// The settings of the entry, by key.
    pub fn settings(&self) -> BTreeMap<String, Value> {
        let mut settings = keys_of(&self.overrides);
        settings.retain(|_, value| !value.is_null());
        settings
    }
}

/// The rule of every page.
pub(super) fn rules(crawl: Rule, entries: &[RuleSettings]) -> Rules {
    let rule = Rule {
        // Which fingerprints are kept is decided for the crawl; an entry can only spare pages the
        // search in bands. So a reload changes nothing that needs a restart.
        method: Finder::Minhash,
        ..crawl
    };
    let entries = entries.iter().flat_map(|entry| {
        let pages = entry.pages.iter().cloned();
        pages.map(|pattern| (pattern, entry.overrides.clone()))
    });
    Rules::new(rule, entries)
}

/// Refuses entries that make no sense: which one, counted from 0, and why. The section above must
/// have been checked.
pub(super) fn check(config: &Config) -> Result<(), (usize, String)> {
    let mut all = PageMap::default();
    for (at, entry) in config.dedup_rules.iter().enumerate() {
        let refuse = |reason: &str| Err((at, reason.to_owned()));
        if entry.pages.is_empty() {
            return refuse("it names no page: give match = [\"example.org\", \"/print/\"]");
        }
        if entry.settings().is_empty() {
            return refuse("it sets nothing; write similarity = 0.95 or the like below it");
        }
        let mut rule = config.dedup;
        rule.apply(entry.overrides.clone());
        if let Err((key, expected)) = rule.check() {
            let key = key.trim_start_matches("dedup.");
            return refuse(&format!("{key} must be {expected}"));
        }
        if rule.method == Finder::Minhash && config.dedup.method != Finder::Minhash {
            return refuse(
                "method = \"minhash\" needs signatures, which only a crawl with dedup.method = \"minhash\" keeps; set that, and \"simhash\" where it is enough",
            );
        }
        for pattern in &entry.pages {
            if let Some(other) = all.insert(pattern, at) {
                let other = label(&config.dedup_rules, other);
                return Err((at, format!("{pattern} is in {other} too; name it once")));
            }
        }
    }
    Ok(())
}

/// How an entry is named to a person.
pub(super) fn label(rules: &[RuleSettings], at: usize) -> String {
    let name = rules.get(at).and_then(|entry| entry.name.as_deref());
    keys::label(DEDUP_RULE, at, name)
}

/// The settings that all pages of a host have of their own, by `section.key`: the value, and the
/// entry and pattern that win.
pub(super) fn at_host<'a>(
    rules: &'a [RuleSettings],
    host: &HostKey,
) -> BTreeMap<String, (Value, usize, &'a HostPattern)> {
    let mut all = HostMap::default();
    for (at, entry) in rules.iter().enumerate() {
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

/// The keys that pages can have values of their own of.
pub(super) fn keys() -> Vec<String> {
    keys_of(&RuleOverrides::default()).into_keys().collect()
}

fn keys_of(section: &impl Serialize) -> BTreeMap<String, Value> {
    let named = BTreeMap::from([("", section)]);
    let keys = values(&named).into_iter();
    keys.map(|(key, value)| (key.trim_start_matches('.').to_owned(), value))
        .collect()
}

/// Refuses keys that no entry can have: what is wrong with the first.
pub(super) fn check_keys(entry: &toml::Table) -> Result<(), String> {
    let (keys, crawl_wide) = (keys(), keys_of(&Rule::default()));
    entry
        .keys()
        .try_for_each(|key| keys::check(key, &keys, crawl_wide.contains_key(key), "some pages"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A field of [`Rule`] needs no further line of code to be a setting of some pages: each key
    /// that the derive lets through is read from an entry, checked, and reaches those pages and no
    /// others.
    #[test]
    fn every_key_of_pages_reaches_its_pages_alone() {
        const VALUES: [&str; 5] = ["1", "0.95", "false", "\"simhash\"", "[\"raw\"]"];
        let mut config = Config::default();
        config.dedup.method = Finder::Minhash;
        let (own, other) = ("http://a.example/print/1", "http://a.example/1");
        let at = |config: &Config, url: &str| keys_of(&config.options().unwrap().rules.of(url));
        let defaults = at(&config, own);
        for key in keys() {
            let set = VALUES.iter().find_map(|value| {
                let text = format!("[[dedup.rule]]\nmatch = [\"/print/\"]\n{key} = {value}");
                let entries = entries(&text).ok()?;
                let settings = entries[0].settings();
                (json!(settings[&key]) != defaults[&key]).then_some((entries, settings))
            });
            let (entries, settings) = set.unwrap_or_else(|| panic!("no value for {key}"));
            let config = Config {
                dedup_rules: entries,
                ..config.clone()
            };
            let mut expected = defaults.clone();
            expected.extend(settings);
            assert_eq!(at(&config, own), expected, "{key}");
            assert_eq!(at(&config, other), defaults, "{key}");
        }
    }
}
