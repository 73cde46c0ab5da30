//! `[[domain]]`: the settings that some hosts have of their own, which of them apply to one host,
//! and whether the entries make sense. [`HostMap`] decides which of several entries wins.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use struct_patch::Patch as _;

use super::keys::{self, DOMAIN, values};
use super::{Config, check_languages};
use crate::fetch::FetchOverrides;
use crate::frontier::{CrawlOverrides, Overrides, PolitenessOverrides};
use crate::learn::{LearnOverrides, TrapOverrides};
use crate::url::{HostKey, HostMap, HostPattern};

/// An entry: hosts, and the settings that they have of their own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DomainSettings {
    /// A name for people; it is shown, and means nothing.
    pub name: Option<String>,
    /// The hosts.
    #[serde(rename = "match")]
    pub hosts: Vec<HostPattern>,
    /// How gently they are treated.
    pub politeness: PolitenessOverrides,
    /// What is crawled of them.
    pub crawl: CrawlOverrides,
    /// What counts as a trap there.
    pub traps: TrapOverrides,
    /// What is learned about them.
    pub learn: LearnOverrides,
    /// How requests to them are made.
    pub fetch: FetchOverrides,
}

impl DomainSettings {
    /// The settings of the entry, by `section.key`.
    pub fn settings(&self) -> BTreeMap<String, Value> {
        let mut settings = values(self);
        settings.retain(|_, value| !value.is_null());
        settings
    }

    /// The settings that the frontier takes.
    pub(super) fn overrides(&self) -> Overrides {
        Overrides {
            crawl: self.crawl.clone(),
            politeness: self.politeness.clone(),
            traps: self.traps,
            learn: self.learn,
        }
    }
}

/// The keys that hosts can have values of their own of, as `section.key`.
pub(super) fn keys() -> Vec<String> {
    values(&DomainSettings::default()).into_keys().collect()
}

/// Refuses keys that no entry can have: what is wrong with the first.
pub(super) fn check_keys(entry: &toml::Table) -> Result<(), String> {
    let crawl_wide = values(&Config::default());
    let keys = keys();
    let check = |key: &str| keys::check(key, &keys, crawl_wide.contains_key(key), "a domain");
    for (section, value) in entry {
        let is_section = |key: &String| key.split_once('.').is_some_and(|it| it.0 == section);
        match value.as_table() {
            Some(table) => table
                .keys()
                .try_for_each(|key| check(&format!("{section}.{key}")))?,
            // The types refuse a section that is not a table.
            None if keys.iter().any(is_section) => {}
            None => check(section)?,
        }
    }
    Ok(())
}

/// Refuses entries that make no sense: which one, counted from 0, and why. The sections above must
/// have been checked.
pub(super) fn check(config: &Config) -> Result<(), (usize, String)> {
    let mut all = HostMap::default();
    for (at, entry) in config.domain.iter().enumerate() {
        let refuse = |reason: &str| Err((at, reason.to_owned()));
        if entry.hosts.is_empty() {
            return refuse("it names no host: give match = [\"example.org\"]");
        }
        if entry.settings().is_empty() {
            return refuse(
                "it sets nothing; write politeness.delay = \"5s\" or the like below it, and no [section] between",
            );
        }
        let (mut policy, mut fetch) = (config.policy(), config.fetch.clone());
        policy.apply(entry.overrides());
        fetch.apply(entry.fetch.clone());
        let checked = policy.check().and_then(|()| check_languages(&policy.crawl));
        if let Err((key, expected)) = checked.and_then(|()| fetch.check()) {
            return refuse(&format!("{key} must be {expected}"));
        }
        for pattern in &entry.hosts {
            if let Some(other) = all.insert(pattern, at) {
                let other = label(&config.domain, other);
                return Err((at, format!("{pattern} is in {other} too; name it once")));
            }
        }
    }
    Ok(())
}

/// How an entry is named to a person.
pub(super) fn label(domains: &[DomainSettings], at: usize) -> String {
    let name = domains.get(at).and_then(|entry| entry.name.as_deref());
    keys::label(DOMAIN, at, name)
}

/// The settings that a host has of its own, by key: the value, and the entry and pattern that win.
pub(super) fn at_host<'a>(
    domains: &'a [DomainSettings],
    host: &HostKey,
) -> BTreeMap<String, (Value, usize, &'a HostPattern)> {
    let mut all = HostMap::default();
    for (at, entry) in domains.iter().enumerate() {
        for pattern in &entry.hosts {
            all.insert(pattern, (at, entry, pattern));
        }
    }
    let mut found = BTreeMap::new();
    for (at, entry, pattern) in all.matching(host) {
        for (key, value) in entry.settings() {
            found.insert(key, (value, *at, *pattern));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Config {
        toml::from_str(text).unwrap()
    }

    /// The example in config/gleaner.toml, which is a comment there.
    #[test]
    fn the_shipped_example_is_an_entry() {
        let shipped = include_str!("../../config/gleaner.toml");
        let example: Vec<&str> = shipped
            .lines()
            .filter_map(|line| line.strip_prefix("#     "))
            .collect();
        let config = read(&example.join("\n"));
        assert!(config.domain.len() >= 2);
        assert_eq!(check(&config), Ok(()));
    }

    /// Values of every kind, of which one at least is not the default of a key.
    const VALUES: [&str; 16] = [
        "7",
        "true",
        "false",
        "\"7s\"",
        "\"7MiB\"",
        "\"ignore\"",
        "\"off\"",
        "\"host\"",
        "\"same-host\"",
        "[\"tls\"]",
        "[\"*/7/*\"]",
        "[\"text/7\"]",
        "[\"de\"]",
        "{ accept-language = \"de\" }",
        "\"http://127.0.0.1:7\"",
        "\"user:7\"",
    ];

    /// A field of a policy needs no further line of code to be a setting of a host: each key that
    /// the derive lets through is read from an entry, checked, and reaches that host and no other.
    #[test]
    fn every_key_of_hosts_reaches_its_host_alone() {
        let (own, other) = ("https://a.example", "https://b.example");
        let at = |options: &crate::engine::Options, host: &str| {
            let policy = options.policies.of(&HostKey::parse(host).unwrap());
            let mut fetch = options.fetch.clone();
            for (pattern, overrides) in &options.fetch.own {
                if host.ends_with(&pattern.to_string()) {
                    fetch.apply(overrides.clone());
                }
            }
            let auth = fetch.auth.clone();
            let sections = json!({
                "crawl": policy.crawl,
                "politeness": policy.politeness,
                "traps": policy.traps,
                "learn": policy.learn,
                "fetch": fetch,
            });
            let mut values = values(&sections);
            values.insert("fetch.auth".to_owned(), json!(auth));
            values
        };
        let defaults = at(&Config::default().options().unwrap(), own);
        for key in keys() {
            let set = VALUES.iter().find_map(|value| {
                let text = format!("[[domain]]\nmatch = [\"a.example\"]\n{key} = {value}");
                let config = toml::from_str::<Config>(&text).ok()?;
                let settings = config.domain[0].settings();
                let options = config.options().ok()?;
                (settings[&key] != defaults[&key]).then_some((options, settings))
            });
            let (options, settings) = set.unwrap_or_else(|| panic!("no value for {key}"));
            let mut expected = defaults.clone();
            expected.extend(settings);
            assert_eq!(at(&options, own), expected, "{key}");
            assert_eq!(at(&options, other), defaults, "{key}");
            let is_live = super::super::is_live(&format!("{key} at a.example"));
            assert_eq!(is_live, !key.starts_with("fetch."), "{key}");
        }
    }

    /// Of each section that hosts can have settings of, all keys are theirs but those that the
    /// policy declares to be the crawl's; none is known here that the section does not have.
    #[test]
    fn keys_of_hosts_are_keys_of_the_crawl() {
        let crawl_wide = values(&Config::default());
        let unknown: Vec<_> = keys()
            .into_iter()
            .filter(|key| !crawl_wide.contains_key(key))
            .collect();
        assert_eq!(unknown, ["fetch.auth"]);
    }

    fn check_refused(text: &str, expected: &str) {
        let table: toml::Table = toml::from_str(text).unwrap();
        let entries = table["domain"].as_array().unwrap();
        let reason = entries
            .iter()
            .try_for_each(|entry| check_keys(entry.as_table().unwrap()))
            .and_then(|()| {
                let config = read(text);
                check(&config).map_err(|(at, why)| format!("{}: {why}", label(&config.domain, at)))
            })
            .unwrap_err();
        assert!(reason.contains(expected), "{reason}");
    }

    #[test]
    fn entries_that_make_no_sense_are_refused() {
        let entry = |text: &str| format!("[[domain]]\nmatch = [\"a.example\"]\n{text}\n");
        check_refused(
            &entry("politeness.delya = 1"),
            "did you mean `politeness.delay`?",
        );
        check_refused(&entry("matches = 1"), "did you mean `match`?");
        check_refused(&entry("delay = \"1s\""), "unknown key `delay`");
        check_refused(
            &entry("politeness.max_rate = 7"),
            "holds for the whole crawl; for a domain can be set: crawl.exclude, ",
        );
        check_refused(&entry("fetch.concurrency = 7"), "holds for the whole crawl");
        check_refused(&entry("fetch.auth = \"hush\""), "a user and a password");
        check_refused(&entry("fetch.max_body = \"0B\""), "more than 0 bytes");
        check_refused(&entry(""), "it sets nothing");
        check_refused(&entry("politeness.attempts = 0"), "at least 1");
        check_refused("[[domain]]\npoliteness.attempts = 2", "it names no host");
        let twice =
            entry("name = \"one\"\npoliteness.attempts = 2") + &entry("crawl.max_depth = 2");
        check_refused(
            &twice,
            "[[domain]] 2: a.example is in [[domain]] 1 (one) too",
        );
    }

    #[test]
    fn a_host_gets_each_key_from_the_most_specific_entry() {
        let domains = read(
            "[[domain]]\nmatch = [\"www.a.example\"]\npoliteness.delay = \"9s\"\n\
             [[domain]]\nmatch = [\"b.example\", \"a.example\"]\npoliteness.delay = \"5s\"\ncrawl.robots = \"ignore\"\n",
        );
        let check = |host: &str, expected: &[(&str, &str, usize)]| {
            let found = at_host(&domains.domain, &HostKey::parse(host).unwrap());
            let found: Vec<_> = found
                .iter()
                .map(|(key, (value, at, _))| (key.as_str(), value.as_str().unwrap(), *at))
                .collect();
            assert_eq!(found, expected, "{host}");
        };
        let robots = ("crawl.robots", "ignore", 1);
        check("http://c.example", &[]);
        check("http://a.example", &[robots, ("politeness.delay", "5s", 1)]);
        check(
            "http://www.a.example",
            &[robots, ("politeness.delay", "9s", 0)],
        );
    }
}
