//! Every setting by its name, as it is kept and compared.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::Config;
use super::keys::values;

/// Every setting by `section.key`, with its value as text. Settings of some hosts or pages have the
/// key `section.key at pattern`.
pub fn flatten(config: &Config) -> BTreeMap<String, String> {
    let flat = flat(config).into_iter();
    flat.map(|(key, value)| (key, text(value))).collect()
}

/// A value as text.
pub(super) fn text(value: Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Every setting by the key that [`flatten`] gives it.
pub(super) fn flat(config: &Config) -> BTreeMap<String, Value> {
    let own = config.domain.iter();
    let own = own.flat_map(|entry| at("", entry.settings(), &entry.hosts));
    let rules = config.dedup_rules.iter();
    let rules = rules.flat_map(|entry| at("dedup.", entry.settings(), &entry.pages));
    values(config).into_iter().chain(own).chain(rules).collect()
}

/// The settings of an entry, once for each pattern.
fn at<P: fmt::Display>(
    section: &str,
    settings: BTreeMap<String, Value>,
    patterns: &[P],
) -> Vec<(String, Value)> {
    let each = settings.into_iter().flat_map(|(key, value)| {
        let named = move |pattern| (format!("{section}{key} at {pattern}"), value.clone());
        patterns.iter().map(named)
    });
    each.collect()
}
