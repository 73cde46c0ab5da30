//! Reading the configuration file: unknown keys are refused with the nearest known name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde_json::Value;

use super::Config;

/// Reads a configuration file over the defaults.
pub fn load(path: &Path) -> Result<Config, Error> {
    let text = fs::read_to_string(path).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })?;
    parse(&text, path)
}

fn parse(text: &str, path: &Path) -> Result<Config, Error> {
    let syntax = |error: toml::de::Error| Error::Syntax {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    let table: toml::Table = toml::from_str(text).map_err(syntax)?;
    // Before the types are looked at, so that a misspelt section is named as such.
    let known = flatten(&Config::default());
    let sections: Vec<&str> = known
        .keys()
        .filter_map(|key| Some(key.split_once('.')?.0))
        .collect();
    for (section, value) in &table {
        if !sections.contains(&section.as_str()) {
            return Err(unknown(path, section, sections.iter().copied()));
        }
        for key in value.as_table().into_iter().flat_map(toml::Table::keys) {
            let key = format!("{section}.{key}");
            if !known.contains_key(&key) {
                return Err(unknown(path, &key, known.keys().map(String::as_str)));
            }
        }
    }
    toml::from_str(text).map_err(syntax)
}

fn unknown<'a>(path: &Path, key: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let nearest = known
        .min_by_key(|name| strsim::damerau_levenshtein(name, key))
        .unwrap_or_default();
    Error::Unknown {
        path: path.to_owned(),
        key: key.to_owned(),
        nearest: nearest.to_owned(),
    }
}

/// Every setting as `section.key` and its value as text.
#[expect(clippy::missing_panics_doc, reason = "cannot: see the message")]
pub fn flatten(config: &Config) -> BTreeMap<String, String> {
    let mut flat = BTreeMap::new();
    let value = serde_json::to_value(config).expect("settings are plain data with text keys");
    for (section, values) in value.as_object().into_iter().flatten() {
        for (key, value) in values.as_object().into_iter().flatten() {
            let text = match value {
                Value::Null => "none".to_owned(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            flat.insert(format!("{section}.{key}"), text);
        }
    }
    flat
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be read.
    #[error("cannot read the configuration {path}: {source}; give an existing file with --config")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is not TOML, or a value has the wrong form.
    #[error("the configuration {path} is not valid: {reason}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where and what.
        reason: String,
    },
    /// A key that does not exist.
    #[error("the configuration {path} has an unknown key `{key}`; did you mean `{nearest}`?")]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// The nearest known one.
        nearest: String,
    },
    /// A value that makes no sense.
    #[error("the setting `{key}` must be {expected}")]
    Value {
        /// The key.
        key: &'static str,
        /// What it may be.
        expected: &'static str,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHIPPED: &str = include_str!("../../config/gleaner.toml");

    fn parse_text(text: &str) -> Result<Config, String> {
        parse(text, Path::new("test.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn the_shipped_file_shows_every_key_with_its_default() {
        assert_eq!(parse_text(SHIPPED), Ok(Config::default()));
        let mut section = "";
        let mut shown = Vec::new();
        for line in SHIPPED.lines() {
            if let Some(name) = line.strip_prefix('[') {
                section = name.trim_end_matches(']');
            } else if let Some((key, _)) = line.trim_start_matches("# ").split_once(" = ")
                && !key.contains(' ')
            {
                shown.push(format!("{section}.{key}"));
            }
        }
        shown.sort();
        assert_eq!(
            shown,
            flatten(&Config::default()).into_keys().collect::<Vec<_>>()
        );
    }

    #[test]
    fn unknown_keys_are_refused_with_the_nearest_name() {
        let check = |text, expected: &str| {
            let error = parse_text(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        };
        check("[politness]\ndelay = \"1s\"", "did you mean `politeness`?");
        check(
            "[politeness]\ndelya = \"1s\"",
            "did you mean `politeness.delay`?",
        );
        check("delay = 1", "unknown key `delay`");
        check("[politeness]\ndelay = 1", "test.toml is not valid");
        check("[politeness]\ndelay = \"fast\"", "`fast` is not a duration");
        check("[crawl", "test.toml is not valid");
    }

    #[test]
    fn values_that_would_stall_a_crawl_are_refused() {
        let config = parse_text("[fetch]\nconcurrency = 0").unwrap();
        assert!(
            config
                .options()
                .unwrap_err()
                .to_string()
                .contains("fetch.concurrency")
        );
    }
}
