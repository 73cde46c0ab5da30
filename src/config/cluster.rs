//! The settings of a crawl that several workers share: which of them all must have, and which are
//! of one machine.
//!
//! What all must have is kept with the crawl when it is created, without credentials. A worker has
//! that, and from its own files and flags what is of its machine, and the credentials.

use std::collections::BTreeMap;

use serde::Deserialize as _;
use serde_json::{Value, json};

use super::dedup::RuleSettings;
use super::flat::{flat, text};
use super::{Config, DomainSettings, Effective, Origin, StateSettings};
use crate::fetch::HIDDEN;

/// Settings that each machine has of its own: what it has, where it has it, and what it passes
/// through.
const OWN: [&str; 16] = [
    "archive.also_in",
    "archive.max_log",
    "archive.on_close",
    "archive.on_close_timeout",
    "archive.upload_credentials",
    "fetch.body_budget",
    "fetch.ca_files",
    "fetch.cookie_files",
    "fetch.max_lookups",
    "fetch.nameservers",
    "fetch.proxy",
    "fetch.resolver",
    "state.checkpoint_interval",
    "state.disk_reserve",
    "state.group",
    "state.max_memory",
];

/// Whether each machine has a setting of its own.
fn is_own(key: &str) -> bool {
    OWN.contains(&key) || key.starts_with("daemon.") || key.ends_with("_in_memory")
}

/// The settings that all workers of a crawl must have, by the keys of [`flatten`](super::flatten),
/// as JSON. Credentials are hidden in them.
pub fn shared(config: &Config) -> BTreeMap<String, String> {
    let flat = flat(config).into_iter();
    let shared = flat.filter(|(key, _)| !is_own(key));
    shared
        .map(|(key, value)| (key, value.to_string()))
        .collect()
}

/// The settings that each machine has of its own and that are given here, by their keys.
pub fn own(config: &Config) -> Vec<String> {
    let usual = flat(&Config::default());
    let given = flat(config).into_iter();
    let given = given.filter(|(key, value)| is_own(key) && usual.get(key) != Some(value));
    given.map(|(key, _)| key).collect()
}

/// Whether a value has credentials, which are hidden.
fn is_secret(value: &str) -> bool {
    value.contains(HIDDEN)
}

/// A value as people write it.
fn shown(json: &str) -> String {
    serde_json::from_str(json).map_or_else(|_| json.to_owned(), text)
}

/// A worker's settings that are not those of the crawl.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unlike {
    /// The worker is given other ones: key, value of the crawl if it has one, value of the worker.
    #[error("{}", differences(.0))]
    Given(Vec<(String, Option<String>, String)>),
    /// The worker lacks credentials that the crawl was created with: their keys.
    #[error(
        "the crawl has credentials, which each worker is to be given by --config or a variable: {}",
        .0.join(", ")
    )]
    Lacks(Vec<String>),
    /// The crawl has settings that this version does not have, or cannot read.
    #[error(
        "the crawl was created by another version of gleaner, with what this one does not know: {}",
        .0.join(", ")
    )]
    Unknown(Vec<String>),
}

fn differences(all: &[(String, Option<String>, String)]) -> String {
    let said = all.iter().map(|(key, crawl, worker)| match crawl {
        Some(crawl) => format!("{key} is {crawl} in the crawl and {worker} here"),
        None => format!("{key} is not set in the crawl and is {worker} here"),
    });
    said.collect::<Vec<_>>().join("; ")
}

/// Composes the settings of a worker: those of the crawl, as [`shared`] gave them, and of its own
/// those that each machine has, and credentials.
///
/// # Errors
///
/// [`Unlike`] if the worker was given a value for what all must have, and it is another one. What
/// it was not given counts as the crawl's.
pub fn joined(own: &Effective, crawl: &BTreeMap<String, String>) -> Result<Config, Unlike> {
    let mut config = read(crawl)?;
    let is_given = |key: &str| match own.origins.get(key) {
        Some(origin) => *origin != Origin::Default,
        // What hosts or pages have of their own is always given.
        None => true,
    };
    let given = shared(&own.config);
    let lacks = crawl.iter().filter(|(_, value)| is_secret(value));
    let lacks = lacks.filter(|(key, value)| given.get(*key) != Some(*value));
    let lacks: Vec<String> = lacks.map(|(key, _)| key.clone()).collect();
    if !lacks.is_empty() {
        return Err(Unlike::Lacks(lacks));
    }
    let has_secret_headers = given.get("fetch.headers").is_some_and(|it| is_secret(it));
    let given = given
        .iter()
        .filter(|(key, value)| is_given(key) && !is_secret(value));
    let unlike = given.filter(|(key, value)| crawl.get(*key) != Some(*value));
    let unlike: Vec<_> = unlike
        .map(|(key, value)| {
            (
                key.clone(),
                crawl.get(key).map(|it| shown(it)),
                shown(value),
            )
        })
        .collect();
    if !unlike.is_empty() {
        return Err(Unlike::Given(unlike));
    }
    let own = &own.config;
    config.state = StateSettings {
        expire_after: config.state.expire_after,
        ..own.state.clone()
    };
    config.daemon = own.daemon.clone();
    let (archive, fetch) = (&mut config.archive, &mut config.fetch);
    archive.also_in.clone_from(&own.archive.also_in);
    archive.max_log = own.archive.max_log;
    archive.on_close.clone_from(&own.archive.on_close);
    archive.on_close_timeout = own.archive.on_close_timeout;
    let credentials = &own.archive.upload_credentials;
    archive.upload_credentials.clone_from(credentials);
    fetch.body_budget = own.fetch.body_budget;
    fetch.ca_files.clone_from(&own.fetch.ca_files);
    fetch.cookie_files.clone_from(&own.fetch.cookie_files);
    fetch.max_lookups = own.fetch.max_lookups;
    fetch.nameservers.clone_from(&own.fetch.nameservers);
    fetch.proxy = own.fetch.proxy.clone();
    fetch.resolver = own.fetch.resolver;
    if has_secret_headers {
        fetch.headers = own.fetch.headers.clone();
    }
    // What else is in such an entry is as in the crawl.
    let holds_secret = |entry: &&DomainSettings| {
        let settings = entry.settings();
        let mut values = settings.values();
        values.any(|value| is_secret(&value.to_string()))
    };
    let secret = own.domain.iter().filter(holds_secret);
    config.domain.extend(secret.cloned());
    Ok(config)
}

/// Reads settings that [`shared`] gave. What it left out has its default.
fn read(settings: &BTreeMap<String, String>) -> Result<Config, Unlike> {
    let unknown = |what: String| Unlike::Unknown(vec![what]);
    let mut tree = serde_json::to_value(Config::default()).unwrap_or_default();
    let mut domains: BTreeMap<&str, Value> = BTreeMap::new();
    let mut rules: BTreeMap<&str, toml::Table> = BTreeMap::new();
    for (name, value) in settings.iter().filter(|(_, value)| !is_secret(value)) {
        let (key, pattern) = match name.split_once(" at ") {
            Some((key, pattern)) => (key, Some(pattern)),
            None => (name.as_str(), None),
        };
        let value = serde_json::from_str::<Value>(value);
        let (Ok(value), Some((section, key))) = (value, key.split_once('.')) else {
            return Err(unknown(name.clone()));
        };
        match pattern {
            None => match tree.get_mut(section).and_then(|it| it.get_mut(key)) {
                Some(place) => *place = value,
                None => return Err(unknown(format!("{name} = {}", text(value)))),
            },
            Some(pattern) if section == "dedup" => {
                let value = toml::Value::try_from(value).map_err(|_| unknown(name.clone()))?;
                let rule = rules.entry(pattern).or_default();
                rule.insert(key.to_owned(), value);
            }
            Some(pattern) => {
                let entry = domains
                    .entry(pattern)
                    .or_insert_with(|| json!({ "match": [pattern] }));
                entry[section][key] = value;
            }
        }
    }
    let mut config = Config::deserialize(tree).map_err(|error| unknown(error.to_string()))?;
    for entry in domains.into_values() {
        let entry = DomainSettings::deserialize(entry);
        let entry = entry.map_err(|error| unknown(error.to_string()))?;
        config.domain.push(entry);
    }
    for (pattern, mut rule) in rules {
        let pattern = toml::Value::String(pattern.to_owned());
        rule.insert("match".to_owned(), toml::Value::Array(vec![pattern]));
        let rule = RuleSettings::from_table(rule);
        config
            .dedup_rules
            .push(rule.map_err(|error| unknown(error.to_string()))?);
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::{Sources, flatten, load};
    use super::*;

    /// The settings of files with these texts.
    fn read(texts: &[&str]) -> Effective {
        let place = tempfile::tempdir().unwrap();
        let write = |(number, text): (usize, &&str)| {
            let path = place.path().join(format!("{number}.toml"));
            fs::write(&path, text).unwrap();
            path
        };
        let sources = Sources {
            files: texts.iter().enumerate().map(write).collect(),
            ..Sources::default()
        };
        load(sources, [], []).unwrap()
    }

    const CRAWL: &str = "[crawl]\nscope = \"domain\"\nmax_depth = 4\n\
                         [[dedup.rule]]\nmatch = [\"/print/\"]\nsimilarity = 1\n\
                         [archive]\noperator = \"Me, none\"\n\
                         [politeness]\ndelay = \"2s\"\n\
                         [[domain]]\nmatch = [\"a.example\"]\npoliteness.delay = \"9s\"\n\
                         [state]\nmax_memory = \"2GiB\"\n\
                         [fetch]\nproxy = \"http://me:hush@127.0.0.1:1\"\n\
                         hosts = { \"a.example\" = [\"127.0.0.1:80\"] }\n\
                         headers = { accept-language = \"de\" }\n";

    #[test]
    fn the_same_file_does_for_the_crawl_and_for_its_workers() {
        let given = read(&[CRAWL]);
        let crawl = shared(&given.config);
        assert!(
            crawl.values().all(|value| !value.contains("hush")),
            "{crawl:?}"
        );
        assert!(!crawl.contains_key("state.max_memory"));
        assert_eq!(joined(&given, &crawl), Ok(given.config));
    }

    #[test]
    fn what_the_crawl_does_not_keep_is_told() {
        assert_eq!(own(&Config::default()), [""; 0]);
        let given = "[state]\nmax_memory = \"3GiB\"\n[daemon]\nlisten = \"127.0.0.1:7979\"\n\
                     [politeness]\ndelay = \"7s\"\n";
        let told = own(&read(&[given]).config);
        assert_eq!(told, ["daemon.listen", "state.max_memory"]);
    }

    #[test]
    fn what_a_worker_is_not_given_it_has_from_the_crawl() {
        let given = read(&[CRAWL]);
        let crawl = shared(&given.config);
        let own = "[state]\nmax_memory = \"3GiB\"\n[fetch]\nproxy = \"none\"\n\
                   [[domain]]\nmatch = [\"b.example\"]\nfetch.auth = \"me:hush\"\n\
                   [daemon]\nlisten = \"127.0.0.1:7979\"\n";
        let own = read(&[own]);
        let joined = joined(&own, &crawl).unwrap();
        let mut without = shared(&joined);
        without.retain(|_, value| !is_secret(value));
        assert_eq!(without, crawl);
        assert_eq!(joined.state, own.config.state);
        assert_eq!(joined.daemon, own.config.daemon);
        assert_eq!(joined.fetch.proxy, own.config.fetch.proxy);
        let at = |pattern: &str| {
            let mut entries = joined.domain.iter();
            let entry = entries.find(|it| it.hosts.iter().any(|it| it.to_string() == pattern));
            entry.unwrap().clone()
        };
        assert!(at("b.example").fetch.auth.is_some());
        assert!(at("a.example").politeness.delay.is_some());
    }

    #[test]
    fn every_setting_of_a_machine_is_the_workers() {
        // One of each kind: a value that differs from the crawl's is not refused, and holds.
        let own = "[archive]\nupload = \"s3://bucket\"\nalso_in = [\"/x\"]\nmax_log = \"7MB\"\n\
                   on_close = [\"true\"]\n\
                   on_close_timeout = \"7s\"\nupload_credentials = \"x\"\n\
                   [fetch]\nbody_budget = \"777MiB\"\nca_files = [\"x\"]\ncookie_files = [\"x\"]\n\
                   max_lookups = 7\nnameservers = [\"127.0.0.7\"]\n\
                   proxy = \"http://127.0.0.1:7\"\nresolver = \"system\"\n\
                   [state]\ncheckpoint_interval = \"7s\"\ndisk_reserve = \"7MB\"\ngroup = \"7\"\n\
                   max_memory = \"7GiB\"\nhosts_in_memory = 77\nurls_in_memory = 7\n";
        let own = read(&[own]);
        let crawl = "[archive]\nupload = \"s3://bucket\"\n";
        let joined = joined(&own, &shared(&read(&[crawl]).config)).unwrap();
        let (expected, found) = (flatten(&own.config), flatten(&joined));
        for key in OWN {
            assert_eq!(found[key], expected[key], "{key}");
            assert_ne!(
                found[key],
                flatten(&Config::default())[key],
                "{key} is tested"
            );
        }
        assert_eq!(found, expected);
    }

    #[test]
    fn other_settings_are_refused_with_the_difference() {
        let crawl = shared(&read(&[CRAWL]).config);
        let check = |text: &str, expected: &[&str]| {
            let refused = joined(&read(&[text]), &crawl).unwrap_err().to_string();
            for part in expected {
                assert!(refused.contains(part), "{refused}");
            }
        };
        check(
            "[politeness]\ndelay = \"1s\"\n[crawl]\nscope = \"any\"\n",
            &[
                "politeness.delay is 2s in the crawl and 1s here",
                "crawl.scope is domain in the crawl and any here",
            ],
        );
        check(
            "[[domain]]\nmatch = [\"c.example\"]\npoliteness.delay = \"9s\"\n",
            &["politeness.delay at c.example is not set in the crawl and is 9s here"],
        );
        let secret = "[[domain]]\nmatch = [\"b.example\"]\nfetch.auth = \"me:hush\"\n";
        let secret = read(&[secret]);
        let lacks = joined(&read(&[]), &shared(&secret.config)).unwrap_err();
        assert!(
            lacks.to_string().contains("fetch.auth at b.example"),
            "{lacks}"
        );
        assert_eq!(joined(&secret, &shared(&secret.config)), Ok(secret.config));
        let mut newer = crawl.clone();
        newer.insert("crawl.moonlight".to_owned(), "7".to_owned());
        let refused = joined(&read(&[]), &newer).unwrap_err().to_string();
        assert!(refused.contains("crawl.moonlight = 7"), "{refused}");
    }
}
