//! A configuration, and where the value of each key comes from.

use std::collections::BTreeMap;

use serde_json::Value;

use super::keys::{URL_RULE, values};
use super::{Config, Origin, Remembered, dedup, domains, urls};
use crate::url::HostKey;

/// A configuration, and where the value of each key comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Effective {
    /// The settings.
    pub config: Config,
    /// By `section.key`.
    pub(super) origins: BTreeMap<String, Origin>,
    /// Where the entries of `[[domain]]` and `[[dedup.rule]]` come from.
    pub(super) entries: Option<Origin>,
    pub(super) remembered: Remembered,
}

impl Effective {
    /// Every setting, sorted by key: key, value (null if unset) and origin.
    pub fn settings(&self) -> Vec<(String, Value, &Origin)> {
        let mut settings = Vec::new();
        for (key, value) in values(&self.config) {
            let origin = self.origins.get(&key).unwrap_or(&Origin::Default);
            settings.push((key, value, origin));
        }
        settings
    }

    /// Every setting as it applies to all pages of one host.
    pub fn settings_at(&self, host: &HostKey) -> Vec<(String, Value, Origin)> {
        let mut own = domains::at_host(&self.config.domain, host);
        let mut rules = dedup::at_host(&self.config.dedup_rules, host);
        let file = self.entries.as_ref().unwrap_or(&Origin::Default);
        let place = |entry: &str, pattern| Origin::Entry(format!("{file}, {entry}, {pattern}"));
        let mut settings: Vec<_> = self
            .settings()
            .into_iter()
            .map(|(key, value, origin)| {
                if let Some((value, at, pattern)) = own.remove(&key) {
                    let entry = domains::label(&self.config.domain, at);
                    (key, value, place(&entry, pattern))
                } else if let Some((value, at, pattern)) = rules.remove(&key) {
                    let entry = dedup::label(&self.config.dedup_rules, at);
                    (key, value, place(&entry, pattern))
                } else if key == URL_RULE {
                    let entries = urls::at_host(&self.config.url, host);
                    let entries = serde_json::to_value(entries).unwrap_or_default();
                    (key, entries, origin.clone())
                } else {
                    (key, value, origin.clone())
                }
            })
            .collect();
        // Settings that only hosts can have.
        settings.extend(own.into_iter().map(|(key, (value, at, pattern))| {
            let entry = domains::label(&self.config.domain, at);
            (key, value, place(&entry, pattern))
        }));
        settings.sort_by(|(a, ..), (b, ..)| a.cmp(b));
        settings
    }

    /// Where the entries of `[[domain]]` and `[[dedup.rule]]` come from, if there are any.
    pub fn entries_origin(&self) -> Option<Origin> {
        let config = &self.config;
        let entries = self.entries.clone();
        entries.filter(|_| !config.domain.is_empty() || !config.dedup_rules.is_empty())
    }

    /// What the data directory is to remember of these settings.
    pub fn remembered(&self) -> &Remembered {
        &self.remembered
    }

    /// The settings that only an earlier run gave, by key.
    pub fn from_earlier(&self) -> impl Iterator<Item = (String, Value)> {
        let is_earlier = |origin: &Origin| matches!(origin, Origin::Remembered(_));
        let settings = self.settings().into_iter();
        settings.filter_map(move |(key, value, origin)| is_earlier(origin).then_some((key, value)))
    }
}
