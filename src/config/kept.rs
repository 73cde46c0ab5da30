//! Settings as a data directory keeps them: every key and its value as text. They are compared with
//! those of the next run, and read back by commands that are given none.

use std::collections::BTreeMap;

use serde::Deserialize as _;

use super::dedup::RuleSettings;
use super::layers::Layers;
use super::written::{list, table};
use super::{Config, DomainSettings, Origin};
use crate::fetch::HIDDEN;

/// The configuration of a run whose settings were kept by [`flatten`](super::flatten). Keys and
/// values that this version does not know have their defaults.
pub fn kept(settings: &BTreeMap<String, String>) -> Config {
    let mut layers = Layers::new();
    let mut own: BTreeMap<&str, toml::Table> = BTreeMap::new();
    let mut rules: BTreeMap<&str, toml::Table> = BTreeMap::new();
    // Secrets were not kept; their keys have their defaults.
    let known = settings.iter().filter(|(_, value)| !value.contains(HIDDEN));
    for (key, value) in known {
        match key.split_once(" at ") {
            Some((key, pattern)) => {
                let Some((section, key)) = key.split_once('.') else {
                    continue;
                };
                let is_list = value.starts_with('[');
                let is_table = value.starts_with('{');
                let value = (value.parse().map(toml::Value::Integer).map_err(|_| ()))
                    .or_else(|()| is_list.then(|| list(value).ok()).flatten().ok_or(()))
                    .or_else(|()| is_table.then(|| table(value).ok()).flatten().ok_or(()))
                    .or_else(|()| value.parse().map(toml::Value::Boolean))
                    .or_else(|_| value.parse().map(toml::Value::Float))
                    .unwrap_or_else(|_| toml::Value::String(value.clone()));
                if section == "dedup" {
                    let rule = rules.entry(pattern).or_default();
                    rule.insert(key.to_owned(), value);
                    continue;
                }
                let entry = own.entry(pattern).or_default().entry(section);
                let section = entry.or_insert_with(|| toml::Value::Table(toml::Table::new()));
                if let Some(section) = section.as_table_mut() {
                    section.insert(key.to_owned(), value);
                }
            }
            None => {
                let _ = layers.set(key, value, Origin::Default);
            }
        }
    }
    let effective = layers.finish();
    let mut config = effective.map_or_else(|_| Config::default(), |it| it.config);
    let matching = |(pattern, mut entry): (&str, toml::Table)| {
        let pattern = toml::Value::String(pattern.to_owned());
        entry.insert("match".to_owned(), toml::Value::Array(vec![pattern]));
        entry
    };
    let own = own.into_iter().map(matching);
    (config.domain).extend(own.flat_map(DomainSettings::deserialize));
    let rules = rules.into_iter().map(matching);
    (config.dedup_rules).extend(rules.flat_map(RuleSettings::from_table));
    config
}

#[cfg(test)]
mod tests {
    use super::super::{dedup, flatten};
    use super::*;
    use crate::dedup::Tiers;
    use crate::fetch::{Proxy, Secret};

    #[test]
    fn settings_that_were_kept_are_the_same_again() {
        let mut config = Config::default();
        config.crawl.max_depth = Some(3);
        config.crawl.scope = crate::frontier::ScopeKind::Prefix;
        config.fetch.user_agent = "bot/1 (+https://a.example/)".to_owned();
        let headers = "fetch.headers = { accept-language = \"de\" }";
        config.fetch.headers = toml::from_str::<Config>(headers).unwrap().fetch.headers;
        let lists = "[[domain]]\nmatch = [\"a.example\"]\npoliteness = { delay = \"5s\", attempts = 2 }\n\
             crawl.robots = \"ignore\"\n\
             fetch = { max_body = \"1MiB\", headers = { accept-language = \"de\" } }\n\
             [[dedup.rule]]\nmatch = [\"/print/\"]\nsimilarity = 1\nrefusals = false\nhamming = 3\n\
             [[dedup.rule]]\nmatch = [\"a.example/x\"]\ntiers = [\"raw\"]\nmethod = \"simhash\"";
        config.domain = toml::from_str::<Config>(lists).unwrap().domain;
        config.dedup_rules = dedup::entries(lists).unwrap();
        config.dedup.tiers = Tiers::from(Vec::new());
        config.dedup.similarity = 0.85;
        let mut settings = flatten(&config);
        assert_eq!(kept(&settings), config);
        let secret = |config: &mut Config| {
            let auth = Secret::try_from("user:hush".to_owned()).unwrap();
            config.domain[0].fetch.auth = Some(Some(auth));
            config.fetch.proxy = Proxy::try_from("http://user:hush@[::1]:1".to_owned()).unwrap();
        };
        let mut with_secrets = config.clone();
        secret(&mut with_secrets);
        let kept_of_secrets = flatten(&with_secrets);
        assert!(
            kept_of_secrets
                .values()
                .all(|value| !value.contains("hush"))
        );
        assert_eq!(kept(&kept_of_secrets), config);
        settings.insert("no.such".to_owned(), "1".to_owned());
        settings.insert("crawl.max_redirects".to_owned(), "many".to_owned());
        assert_eq!(kept(&settings), config);
    }
}
