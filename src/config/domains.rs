//! `[[domain]]`: settings of their own for some hosts. What they are and which may be set; that an
//! entry makes sense; what holds at one host. Which of several entries wins is [`HostMap`]'s.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::load::{nearest, values};
use super::{Config, DomainFetch, PATTERNS_TOGETHER, Span, compiled};
use crate::frontier::{
    LearnOverrides, Overrides, RobotsMode, SitemapMode, TrapOverrides, Troubles,
};
use crate::url::{HostKey, HostMap, HostPattern, UrlPattern, UrlPatterns};

/// An entry: hosts, and what differs at them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DomainSettings {
    /// What a person calls the group; shown, and nothing else.
    pub name: Option<String>,
    /// The hosts.
    #[serde(rename = "match")]
    pub hosts: Vec<HostPattern>,
    /// How gently they are treated.
    pub politeness: DomainPoliteness,
    /// What is crawled of them.
    pub crawl: DomainCrawl,
    /// What is taken for a trap at them.
    pub traps: TrapOverrides,
    /// What is learned of them.
    pub learn: LearnOverrides,
    /// What is sent to them.
    pub fetch: DomainFetch,
}

/// Keys of `[politeness]` that a host may have its own value of.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "each is described at PolitenessSettings")]
pub struct DomainPoliteness {
    pub delay: Option<Span>,
    pub address_delay: Option<Span>,
    pub response_factor: Option<u8>,
    pub max_crawl_delay: Option<Span>,
    pub backoff: Option<Span>,
    pub max_backoff: Option<Span>,
    pub attempts: Option<u8>,
    pub retry: Option<Troubles>,
    pub park_after: Option<u32>,
    pub park: Option<Span>,
    pub max_park: Option<Span>,
}

/// Keys of `[crawl]` that a host may have its own value of.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "each is described at CrawlSettings")]
pub struct DomainCrawl {
    pub max_depth: Option<u16>,
    pub robots: Option<RobotsMode>,
    pub robots_meta: Option<RobotsMode>,
    pub robots_header: Option<RobotsMode>,
    pub rel_nofollow: Option<RobotsMode>,
    pub rel_ugc: Option<RobotsMode>,
    pub rel_sponsored: Option<RobotsMode>,
    pub sitemaps: Option<SitemapMode>,
    pub include: Option<Vec<UrlPattern>>,
    pub exclude: Option<Vec<UrlPattern>>,
}

impl DomainSettings {
    /// What it sets, by `section.key`.
    pub fn settings(&self) -> BTreeMap<String, Value> {
        let mut settings = values(self);
        settings.retain(|_, value| !value.is_null());
        settings
    }

    /// As the frontier takes it.
    pub(super) fn overrides(&self) -> Overrides {
        let (politeness, crawl) = (&self.politeness, &self.crawl);
        let duration = |span: Option<Span>| span.map(|span| span.0);
        Overrides {
            delay: duration(politeness.delay),
            address_delay: duration(politeness.address_delay),
            response_factor: politeness.response_factor,
            max_crawl_delay: duration(politeness.max_crawl_delay),
            backoff: duration(politeness.backoff),
            max_backoff: duration(politeness.max_backoff),
            attempts: politeness.attempts,
            retry: politeness.retry,
            park_after: politeness.park_after,
            park: duration(politeness.park),
            max_park: duration(politeness.max_park),
            robots: crawl.robots,
            robots_meta: crawl.robots_meta,
            robots_header: crawl.robots_header,
            rel_nofollow: crawl.rel_nofollow,
            rel_ugc: crawl.rel_ugc,
            rel_sponsored: crawl.rel_sponsored,
            include: crawl.include.as_deref().map(compiled),
            exclude: crawl.exclude.as_deref().map(compiled),
            max_depth: crawl.max_depth,
            sitemaps: crawl.sitemaps,
            traps: self.traps,
            learn: self.learn,
        }
    }
}

/// The keys that an entry may set, as `section.key`.
pub(super) fn keys() -> Vec<String> {
    values(&DomainSettings::default()).into_keys().collect()
}

/// Refuses a key that no entry can have: what is wrong with it.
pub(super) fn check_keys(entry: &toml::Table) -> Result<(), String> {
    let crawl_wide = values(&Config::default());
    let keys = keys();
    let known = || keys.iter().map(String::as_str).chain(["name", "match"]);
    let check = |key: &str| {
        if known().any(|it| it == key) {
            return Ok(());
        }
        Err(match crawl_wide.contains_key(key) {
            true => format!(
                "`{key}` holds for the whole crawl; for a domain can be set: {}",
                keys.join(", ")
            ),
            false => {
                let nearest = nearest(key, known());
                format!("unknown key `{key}`; did you mean `{nearest}`?")
            }
        })
    };
    for (section, value) in entry {
        match value.as_table() {
            Some(table) => table
                .keys()
                .try_for_each(|key| check(&format!("{section}.{key}")))?,
            // A section that is no table is left to the types.
            None if keys
                .iter()
                .any(|key| key.split_once('.').is_some_and(|it| it.0 == section)) => {}
            None => check(section)?,
        }
    }
    Ok(())
}

/// Refuses entries that make no sense: which one, counted from 0, and why.
pub(super) fn check(domains: &[DomainSettings]) -> Result<(), (usize, String)> {
    let mut all = HostMap::default();
    for (at, entry) in domains.iter().enumerate() {
        let refuse = |reason: &str| Err((at, reason.to_owned()));
        if entry.hosts.is_empty() {
            return refuse("it names no host: give match = [\"example.org\"]");
        }
        if entry.settings().is_empty() {
            return refuse(
                "it sets nothing; write politeness.delay = \"5s\" or the like below it, and no [section] between",
            );
        }
        for (key, patterns) in [
            ("crawl.include", &entry.crawl.include),
            ("crawl.exclude", &entry.crawl.exclude),
        ] {
            if patterns
                .as_deref()
                .is_some_and(|it| UrlPatterns::new(it).is_err())
            {
                return refuse(&format!("{key} must be {PATTERNS_TOGETHER}"));
            }
        }
        if let Err(reason) = entry.fetch.check() {
            return refuse(reason);
        }
        if entry.politeness.attempts == Some(0) {
            return refuse("politeness.attempts must be at least 1");
        }
        if entry.politeness.park_after == Some(0) {
            return refuse("politeness.park_after must be at least 1");
        }
        if entry.learn.visits == Some(0) {
            return refuse("learn.visits must be at least 1");
        }
        if entry
            .traps
            .max_duplicates
            .is_some_and(|percent| percent > 100)
        {
            return refuse("traps.max_duplicates must be at most 100");
        }
        for pattern in &entry.hosts {
            if let Some(other) = all.insert(pattern, at) {
                let other = label(domains, other);
                return Err((at, format!("{pattern} is in {other} too; name it once")));
            }
        }
    }
    Ok(())
}

/// What a person calls an entry: its number from 1, and its name.
pub(super) fn label(domains: &[DomainSettings], at: usize) -> String {
    match domains.get(at).and_then(|entry| entry.name.as_ref()) {
        Some(name) => format!("[[domain]] {} ({name})", at + 1),
        None => format!("[[domain]] {}", at + 1),
    }
}

/// What is set for a host, each by the entry and pattern that win: key, value, entry, pattern.
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
    use super::super::fetch::OF_DOMAINS_ONLY;
    use super::*;

    fn read(text: &str) -> Vec<DomainSettings> {
        toml::from_str::<Config>(text).unwrap().domain
    }

    /// The example in config/gleaner.toml, which is a comment there.
    #[test]
    fn the_shipped_example_shows_every_key() {
        let shipped = include_str!("../../config/gleaner.toml");
        let example: Vec<&str> = shipped
            .lines()
            .filter_map(|line| line.strip_prefix("#     "))
            .collect();
        let domains = read(&example.join("\n"));
        assert_eq!(check(&domains), Ok(()));
        let mut shown: Vec<String> = domains
            .iter()
            .flat_map(|it| it.settings().into_keys())
            .collect();
        shown.sort();
        shown.dedup();
        assert_eq!(shown, keys());
    }

    #[test]
    fn every_key_is_one_of_the_crawl_and_reaches_who_heeds_it() {
        let crawl_wide = values(&Config::default());
        for key in keys() {
            let is_crawl_wide = !OF_DOMAINS_ONLY.contains(&&*key);
            assert_eq!(crawl_wide.contains_key(&key), is_crawl_wide, "{key}");
            let value = match crawl_wide.get(&key) {
                Some(Value::Null) => Value::from(3),
                Some(Value::Object(_)) | None => continue,
                Some(other) => other.clone(),
            };
            let mut config = Config {
                domain: read(&format!(
                    "[[domain]]\nmatch = [\"a.example\"]\n{key} = {value}"
                )),
                ..Config::default()
            };
            assert_eq!(
                config.domain[0].settings(),
                BTreeMap::from([(key.clone(), value)])
            );
            let is_fetch = key.starts_with("fetch.");
            assert_eq!(
                config.options().unwrap().fetch.own.len(),
                usize::from(is_fetch)
            );
            let entry = config.domain.remove(0);
            let reaches_frontier = entry.overrides() != Overrides::default();
            assert_eq!(reaches_frontier, !is_fetch, "{key}");
        }
    }

    fn check_refused(text: &str, expected: &str) {
        let table: toml::Table = toml::from_str(text).unwrap();
        let entries = table["domain"].as_array().unwrap();
        let reason = entries
            .iter()
            .try_for_each(|entry| check_keys(entry.as_table().unwrap()))
            .and_then(|()| {
                check(&read(text)).map_err(|(at, why)| format!("{}: {why}", label(&read(text), at)))
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
            let found = at_host(&domains, &HostKey::parse(host).unwrap());
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
