//! From the layers to one configuration: defaults < file < environment < flags.
//!
//! [`load`] is the only way in. It keeps for every key where its value comes from, refuses unknown
//! names with the nearest known one, and names the layer of a value that cannot be used. It is
//! given the environment, and never reads the process's own.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use serde::{Deserialize as _, Serialize};
use serde_json::Value;

use super::dedup::{self, RULE};
use super::error::{file_error_in_words, may_hold_secret};
use super::{Config, Error, domains, urls};
use crate::url::HostKey;

/// What the names of environment variables that set something begin with: `GLEANER_`, the section,
/// `_`, the key, as in `GLEANER_POLITENESS_DELAY`.
const PREFIX: &str = "GLEANER_";

/// Variables with our prefix that set nothing, and who sets them.
const NOT_SETTINGS: [&str; 2] = [
    // The number of kills of our own crash test, whose children inherit it.
    "GLEANER_CRASH_KILLS",
    // As the beginnings below.
    "GLEANER_PORT",
];

/// The list of what differs at some hosts. That of what differs for some pages is [`RULE`].
const DOMAIN: &str = "domain";

/// The same for what of the canonical form differs.
const URL_RULE: &str = "url.rule";

/// Beginnings of variables that Kubernetes puts into every container of a namespace that has a
/// service named `gleaner`.
const NOT_SETTINGS_BEGIN: [&str; 2] = ["GLEANER_SERVICE_", "GLEANER_PORT_"];

/// A configuration, and for every key where its value comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Effective {
    /// The settings.
    pub config: Config,
    /// Every key, as `section.key`.
    origins: BTreeMap<String, Origin>,
    /// The configuration file: only there hosts can have settings of their own.
    file: Option<PathBuf>,
}

/// Where a value comes from. Later ones win.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// A configuration file.
    File(PathBuf),
    /// An environment variable, by its name.
    Environment(String),
    /// A flag, with its dashes.
    Flag(&'static str),
    /// An entry of `[[domain]]` or `[[dedup.rule]]`: its file, its number and name, what in it matches
    /// the host.
    Domain(String),
}

impl Origin {
    /// The layer: `default`, `file`, `environment`, `flag` or `domain`.
    pub fn layer(&self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::File(_) => "file",
            Self::Environment(_) => "environment",
            Self::Flag(_) => "flag",
            Self::Domain(_) => "domain",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(name) => f.write_str(name),
            Self::Flag(name) => f.write_str(name),
            Self::Domain(place) => f.write_str(place),
        }
    }
}

/// A flag of the command line that sets a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// The flag, with its dashes.
    pub name: &'static str,
    /// The key, as `section.key`.
    pub key: &'static str,
    /// The value, written as in the environment.
    pub value: String,
}

/// Reads the layers over the defaults: a file, the variables of `environment` that begin with
/// `GLEANER_`, and flags.
pub fn load(
    file: Option<&Path>,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
    flags: impl IntoIterator<Item = Flag>,
) -> Result<Effective, Error> {
    let mut layers = Layers::new();
    if let Some(path) = file {
        let text = fs::read_to_string(path).map_err(|source| Error::Read {
            path: path.to_owned(),
            source,
        })?;
        layers.add_file(&text, path)?;
    }
    layers.add_environment(environment)?;
    for Flag { name, key, value } in flags {
        layers.set(key, &value, Origin::Flag(name))?;
    }
    layers.finish()
}

impl Effective {
    /// Every setting in the order of its key, its value (null if it is unset) and its origin.
    pub fn settings(&self) -> Vec<(String, Value, &Origin)> {
        let mut settings = Vec::new();
        for (key, value) in values(&self.config) {
            let origin = self.origins.get(&key).unwrap_or(&Origin::Default);
            settings.push((key, value, origin));
        }
        settings
    }

    /// Every setting as it holds for one host, for all of its pages.
    pub fn settings_at(&self, host: &HostKey) -> Vec<(String, Value, Origin)> {
        let mut own = domains::at_host(&self.config.domain, host);
        let mut rules = self.config.dedup.at_host(host);
        let file = self.file.clone().unwrap_or_default();
        let place = |entry: &str, pattern| {
            Origin::Domain(format!("{}, {entry}, {pattern}", file.display()))
        };
        let mut settings: Vec<_> = self
            .settings()
            .into_iter()
            .map(|(key, value, origin)| {
                if let Some((value, at, pattern)) = own.remove(&key) {
                    let entry = domains::label(&self.config.domain, at);
                    (key, value, place(&entry, pattern))
                } else if let Some((value, at, pattern)) = rules.remove(&key) {
                    let entry = self.config.dedup.label(at);
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
        // What hosts alone can have.
        settings.extend(own.into_iter().map(|(key, (value, at, pattern))| {
            let entry = domains::label(&self.config.domain, at);
            (key, value, place(&entry, pattern))
        }));
        settings.sort_by(|(a, ..), (b, ..)| a.cmp(b));
        settings
    }

    /// Where the entries of `[[domain]]` and of `[[dedup.rule]]` come from, if there are any.
    pub fn entries_origin(&self) -> Option<Origin> {
        let file = self.file.clone().map(Origin::File);
        let config = &self.config;
        file.filter(|_| !config.domain.is_empty() || !config.dedup.rule.is_empty())
    }
}

/// What the layers that were read so far have set.
pub(super) struct Layers {
    /// The default of every key, by `section.key`.
    defaults: BTreeMap<String, Value>,
    set: toml::Table,
    origins: BTreeMap<String, Origin>,
    file: Option<PathBuf>,
    /// The lines of the file at which the entries of `[[domain]]` begin.
    entries: Vec<usize>,
    /// And those of `[[dedup.rule]]`, and of `[[url.rule]]`.
    rules: Vec<usize>,
    url_rules: Vec<usize>,
}

impl Layers {
    pub(super) fn new() -> Self {
        let defaults = values(&Config::default());
        Self {
            origins: defaults
                .keys()
                .map(|key| (key.clone(), Origin::Default))
                .collect(),
            defaults,
            set: toml::Table::new(),
            file: None,
            entries: Vec::new(),
            rules: Vec::new(),
            url_rules: Vec::new(),
        }
    }

    fn add_file(&mut self, text: &str, path: &Path) -> Result<(), Error> {
        let syntax = |error: toml::de::Error| Error::Syntax {
            path: path.to_owned(),
            reason: file_error_in_words(&error),
        };
        let table: toml::Table = toml::from_str(text).map_err(syntax)?;
        // Before the types are looked at, so that a misspelt section is named as such.
        let sections = self.defaults.keys().filter_map(|key| key.split_once('.'));
        let sections: Vec<&str> = sections
            .map(|(section, _)| section)
            .chain([DOMAIN])
            .collect();
        for (section, value) in &table {
            if section == DOMAIN {
                continue;
            }
            if !sections.contains(&section.as_str()) {
                let known = match value.is_table() {
                    true => sections.clone(),
                    // A setting without its section.
                    false => self.defaults.keys().map(String::as_str).collect(),
                };
                return Err(unknown(path, text, section, &known));
            }
            for key in value.as_table().into_iter().flat_map(toml::Table::keys) {
                let key = format!("{section}.{key}");
                if key == RULE {
                    continue;
                }
                if !self.defaults.contains_key(&key) {
                    let known: Vec<&str> = self.defaults.keys().map(String::as_str).collect();
                    return Err(unknown(path, text, &key, &known));
                }
                self.origins.insert(key, Origin::File(path.to_owned()));
            }
        }
        (self.entries, self.rules) = entries(text, path, &table)?;
        // The text rather than the table, because its errors have lines.
        toml::from_str::<Config>(text).map_err(syntax)?;
        self.url_rules = url_rules(text);
        self.set = table;
        self.file = Some(path.to_owned());
        Ok(())
    }

    fn add_environment(
        &mut self,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<(), Error> {
        let known: BTreeMap<String, String> = self
            .defaults
            .keys()
            .map(|key| (variable(key), key.clone()))
            .collect();
        // Sorted, so that of several wrong ones always the same is named.
        let environment: BTreeMap<OsString, OsString> = environment.into_iter().collect();
        for (name, value) in environment {
            // A name that is not UTF-8 stays unknown with its odd bytes replaced.
            let name = name.to_string_lossy();
            if !name.starts_with(PREFIX) || is_no_setting(&name) {
                continue;
            }
            let Some(key) = known.get(&*name) else {
                return Err(Error::UnknownVariable {
                    nearest: nearest(&name.to_ascii_uppercase(), known.keys().map(String::as_str)),
                    name: name.into_owned(),
                });
            };
            let origin = Origin::Environment(name.into_owned());
            match value.to_str() {
                // Not "the default": a script whose variable is empty by mistake must not crawl
                // on with another delay than it asked for.
                None | Some("") => {
                    return Err(Error::Refused {
                        origin,
                        key: key.clone(),
                        value: format!("{:?}", value.to_string_lossy()),
                        reason: "give a value, or unset the variable".to_owned(),
                    });
                }
                Some(text) => self.set(key, text, origin)?,
            }
        }
        Ok(())
    }

    /// Sets a key to a value that is written as text.
    pub(super) fn set(&mut self, key: &str, text: &str, origin: Origin) -> Result<(), Error> {
        let (Some(default), Some((section, name))) = (self.defaults.get(key), key.split_once('.'))
        else {
            return Err(Error::UnknownKey {
                place: String::new(),
                nearest: nearest(key, self.defaults.keys().map(String::as_str)),
                origin,
                key: key.to_owned(),
            });
        };
        let value = typed(text, default)
            .and_then(|value| match value {
                Some(value) => fits(section, name, &value).map(|()| Some(value)),
                None => Ok(None),
            })
            .map_err(|reason| Error::Refused {
                origin: origin.clone(),
                key: key.to_owned(),
                value: match may_hold_secret(key) {
                    true => "what is not shown here".to_owned(),
                    false => format!("{text:?}"),
                },
                reason,
            })?;
        let table = self
            .set
            .entry(section)
            .or_insert_with(|| toml::Value::Table(toml::Table::new()));
        if let Some(table) = table.as_table_mut() {
            match value {
                Some(value) => table.insert(name.to_owned(), value),
                None => table.remove(name),
            };
        }
        self.origins.insert(key.to_owned(), origin);
        Ok(())
    }

    /// Checks what types cannot, once no later layer can mend it.
    pub(super) fn finish(self) -> Result<Effective, Error> {
        let config = Config::deserialize(self.set).expect("each value was taken before");
        if let Err((key, expected)) = config.check() {
            return Err(Error::Refused {
                origin: self.origins.get(key).cloned().unwrap_or(Origin::Default),
                key: key.to_owned(),
                value: values(&config).remove(key).unwrap_or_default().to_string(),
                reason: format!("it must be {expected}"),
            });
        }
        if let Err((at, reason)) = domains::check(&config.domain) {
            let path = self.file.as_deref().unwrap_or(Path::new(""));
            return Err(bad_entry(path, DOMAIN, &self.entries, at, reason));
        }
        if let Err((at, reason)) = config.dedup.check_rules() {
            let path = self.file.as_deref().unwrap_or(Path::new(""));
            return Err(bad_entry(path, RULE, &self.rules, at, reason));
        }
        if let Err((at, reason)) = urls::check_entries(&config.url) {
            return Err(match self.origins.get(URL_RULE) {
                Some(Origin::File(path)) => bad_entry(path, URL_RULE, &self.url_rules, at, reason),
                origin => Error::Domain {
                    entry: format!(
                        "{}, [[{URL_RULE}]] {}",
                        origin.unwrap_or(&Origin::Default),
                        at + 1
                    ),
                    reason,
                },
            });
        }
        Ok(Effective {
            config,
            origins: self.origins,
            file: self.file,
        })
    }
}

/// The lines at which the entries of `[[domain]]` and of `[[dedup.rule]]` begin; those that are none,
/// or have keys that they cannot have, are refused.
fn entries(
    text: &str,
    path: &Path,
    table: &toml::Table,
) -> Result<(Vec<usize>, Vec<usize>), Error> {
    type Entries = Vec<toml::Spanned<toml::Table>>;
    #[derive(Default, serde::Deserialize)]
    #[serde(default)]
    struct Rules {
        rule: Entries,
    }
    #[derive(serde::Deserialize)]
    struct Domains {
        #[serde(default)]
        domain: Entries,
    }
    #[derive(serde::Deserialize)]
    struct Dedup {
        #[serde(default)]
        dedup: Rules,
    }
    let line = |start| {
        let before = text.bytes().take(start);
        before.filter(|byte| *byte == b'\n').count() + 1
    };
    let lines = |name: &str,
                 read: Option<Entries>,
                 check: fn(&toml::Table) -> Result<(), String>| {
        let entries = read.ok_or_else(|| Error::Syntax {
            path: path.to_owned(),
            reason: format!("`{name}` is a list: write [[{name}]] above each entry"),
        })?;
        let lines: Vec<usize> = entries.iter().map(|it| line(it.span().start)).collect();
        for (at, entry) in entries.iter().enumerate() {
            check(entry.get_ref()).map_err(|reason| bad_entry(path, name, &lines, at, reason))?;
        }
        Ok(lines)
    };
    let domains = toml::from_str(text).map(|Domains { domain }| domain);
    let domains = lines(DOMAIN, domains.ok(), domains::check_keys)?;
    // A section that is no table is left to the types.
    let has_rules = table
        .get("dedup")
        .is_some_and(|it| it.get("rule").is_some());
    let rules = match has_rules {
        true => toml::from_str(text).map(|Dedup { dedup }| dedup.rule).ok(),
        false => Some(Vec::new()),
    };
    Ok((domains, lines(RULE, rules, dedup::check_keys)?))
}

/// The lines at which the entries of `[[url.rule]]` begin.
fn url_rules(text: &str) -> Vec<usize> {
    #[derive(Default, serde::Deserialize)]
    #[serde(default)]
    struct Sections {
        url: Section,
    }
    #[derive(Default, serde::Deserialize)]
    #[serde(default)]
    struct Section {
        rule: Vec<toml::Spanned<toml::Table>>,
    }
    let sections = toml::from_str::<Sections>(text).unwrap_or_default();
    let line = |start| text.bytes().take(start).filter(|it| *it == b'\n').count() + 1;
    let entries = sections.url.rule.iter();
    entries.map(|it| line(it.span().start)).collect()
}

fn bad_entry(path: &Path, list: &str, lines: &[usize], at: usize, reason: String) -> Error {
    let line = lines.get(at).copied().unwrap_or_default();
    let entry = format!("{}, line {line}, [[{list}]] {}", path.display(), at + 1);
    Error::Domain { entry, reason }
}

/// The environment variable that sets a key.
pub fn variable(key: &str) -> String {
    let name = key.replace('.', "_").to_ascii_uppercase();
    format!("{PREFIX}{name}")
}

fn is_no_setting(name: &str) -> bool {
    NOT_SETTINGS.contains(&name) || NOT_SETTINGS_BEGIN.iter().any(|it| name.starts_with(it))
}

/// A text as the kind of value that its key has; `none` unsets a key that may be unset.
fn typed(text: &str, default: &Value) -> Result<Option<toml::Value>, String> {
    let number = || text.parse().map(toml::Value::Integer);
    match default {
        Value::Bool(_) => (text.parse().map(|truth| Some(toml::Value::Boolean(truth))))
            .map_err(|_| "it must be true or false".to_owned()),
        Value::Number(it) if it.is_f64() => (text.parse().map(|it| Some(toml::Value::Float(it))))
            .map_err(|_| "it must be a number such as 0.9".into()),
        Value::Number(_) => (number().map(Some)).map_err(|_| "it must be a whole number".into()),
        // What is unset by default shows no kind. Today all of these are numbers.
        Value::Null if text == "none" => Ok(None),
        Value::Null => (number().map(Some)).map_err(|_| "it must be a whole number or none".into()),
        Value::Object(_) => toml::from_str::<toml::Table>(&format!("value = {text}"))
            .ok()
            .and_then(|mut table| table.remove("value"))
            .filter(toml::Value::is_table)
            .map(Some)
            .ok_or_else(|| "it must be a table like { name = [\"value\"] }".to_owned()),
        Value::Array(_) => list(text).map(Some),
        Value::String(_) => Ok(Some(toml::Value::String(text.to_owned()))),
    }
}

/// A list as JSON, which is how lists are kept and shown, or as names with commas in between.
pub(super) fn list(text: &str) -> Result<toml::Value, String> {
    let expected = || "it must be a list like a,b or [\"a\", \"b\"]".to_owned();
    if text.starts_with('[') {
        let list: Value = serde_json::from_str(text).map_err(|_| expected())?;
        return toml::Value::try_from(list).map_err(|_| expected());
    }
    let names = text.split(',').map(str::trim).filter(|it| !it.is_empty());
    let names = names.map(|name| toml::Value::String(name.to_owned()));
    Ok(toml::Value::Array(names.collect()))
}

/// Whether a key takes a value, looked at alone.
fn fits(section: &str, key: &str, value: &toml::Value) -> Result<(), String> {
    let keys = toml::Table::from_iter([(key.to_owned(), value.clone())]);
    let table = toml::Table::from_iter([(section.to_owned(), toml::Value::Table(keys))]);
    match Config::deserialize(table) {
        Ok(_) => Ok(()),
        Err(error) => Err(in_words(error.message())),
    }
}

/// A message of the deserializer, without Rust's names of types.
fn in_words(message: &str) -> String {
    const NAMES: [(&str, &str); 6] = [
        ("a nonzero u32", "1 to 4294967295"),
        ("u8", "0 to 255"),
        ("u16", "0 to 65535"),
        ("u32", "0 to 4294967295"),
        ("u64", "0 or more"),
        ("usize", "0 or more"),
    ];
    let Some((_, expected)) = message.trim_end().rsplit_once("expected ") else {
        return message.trim_end().to_owned();
    };
    match NAMES.iter().find(|(name, _)| *name == expected) {
        Some((_, words)) => format!("it must be {words}"),
        None => message.trim_end().to_owned(),
    }
}

fn unknown(path: &Path, text: &str, key: &str, known: &[&str]) -> Error {
    Error::UnknownKey {
        origin: Origin::File(path.to_owned()),
        place: place_of(text, key),
        key: key.to_owned(),
        nearest: nearest(key, known.iter().copied()),
    }
}

/// Where a file sets a key, or begins a section, for a person: ` in line 3`. Nothing if it is
/// written in a way that is not looked for.
fn place_of(text: &str, key: &str) -> String {
    let (section, name) = key.split_once('.').unwrap_or(("", key));
    let mut current = "";
    let at = text.lines().position(|line| {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            current = header.trim_end_matches(']').trim();
            return section.is_empty() && current == name;
        }
        let set = line.split(['=', '#']).next().unwrap_or_default().trim();
        current == section && set == name || current.is_empty() && set == key
    });
    at.map_or(String::new(), |at| format!(" in line {}", at + 1))
}

/// The nearest known name; one whose last part alone is near counts as well, for a section is easily
/// forgotten.
pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let distance = |known: &str| {
        let whole = strsim::damerau_levenshtein(known, name);
        let last = known.rsplit('.').next().unwrap_or(known);
        whole.min(strsim::damerau_levenshtein(last, name) + 1)
    };
    let nearest = known.min_by_key(|known| distance(known));
    nearest.unwrap_or_default().to_owned()
}

/// Every setting of sections as `section.key` and its value.
pub(super) fn values(sections: &impl Serialize) -> BTreeMap<String, Value> {
    let mut values = BTreeMap::new();
    let sections = serde_json::to_value(sections).expect("settings are plain data with text keys");
    for (section, keys) in sections.as_object().into_iter().flatten() {
        for (key, value) in keys.as_object().into_iter().flatten() {
            values.insert(format!("{section}.{key}"), value.clone());
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::super::flatten;
    use super::*;

    const SHIPPED: &str = include_str!("../../config/gleaner.toml");

    /// Loads a file's text, variables and flags; errors as a person reads them.
    fn load_layers(
        file: &str,
        environment: &[(&str, &str)],
        flags: &[(&'static str, &'static str, &str)],
    ) -> Result<Effective, String> {
        let load = || {
            let mut layers = Layers::new();
            layers.add_file(file, Path::new("test.toml"))?;
            let environment = environment
                .iter()
                .map(|(name, value)| (OsString::from(name), OsString::from(value)));
            layers.add_environment(environment)?;
            for (name, key, value) in flags {
                layers.set(key, value, Origin::Flag(name))?;
            }
            layers.finish()
        };
        load().map_err(|error: Error| error.to_string())
    }

    fn check_refused(result: Result<Effective, String>, expected: &str) {
        let error = result.unwrap_err();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn the_shipped_file_shows_every_key_with_its_default() {
        let loaded = load_layers(SHIPPED, &[], &[]).map(|it| it.config);
        assert_eq!(loaded, Ok(Config::default()));
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
    fn later_layers_win_and_every_key_knows_its_own() {
        let file = "[politeness]\ndelay = \"2s\"\nattempts = 4\nmax_rate = 7\n";
        let environment = [
            ("PATH", "/bin"),
            ("GLEANER_CRASH_KILLS", "300"),
            ("GLEANER_PORT_80_TCP", "tcp://10.0.0.1:80"),
            ("GLEANER_SERVICE_HOST", "10.0.0.1"),
            ("GLEANER_POLITENESS_DELAY", "3s"),
            ("GLEANER_POLITENESS_ATTEMPTS", "5"),
            ("GLEANER_POLITENESS_MAX_RATE", "none"),
            ("GLEANER_CRAWL_MAX_DEPTH", "6"),
            ("GLEANER_FETCH_ALLOW_PRIVATE", "true"),
            // A text that looks like a number stays a text.
            ("GLEANER_FETCH_USER_AGENT", "007"),
            ("GLEANER_FETCH_HOSTS", "{ wiki = ['10.0.0.5:81'] }"),
        ];
        let flags = [("--delay", "politeness.delay", "4s")];
        let loaded = load_layers(file, &environment, &flags).unwrap();
        let check = |key: &str, value: &str, origin: Origin| {
            let settings = loaded.settings();
            let found = settings.iter().find(|(name, ..)| name == key).unwrap();
            assert_eq!(found.1.to_string(), value, "{key}");
            assert_eq!(*found.2, origin, "{key}");
        };
        let variable = |key| Origin::Environment(variable(key));
        check("politeness.delay", r#""4s""#, Origin::Flag("--delay"));
        check("politeness.attempts", "5", variable("politeness.attempts"));
        check(
            "politeness.max_rate",
            "null",
            variable("politeness.max_rate"),
        );
        check("crawl.max_depth", "6", variable("crawl.max_depth"));
        check(
            "fetch.allow_private",
            "true",
            variable("fetch.allow_private"),
        );
        check("fetch.user_agent", r#""007""#, variable("fetch.user_agent"));
        check(
            "fetch.hosts",
            r#"{"wiki":["10.0.0.5:81"]}"#,
            variable("fetch.hosts"),
        );
        check("politeness.backoff", r#""5s""#, Origin::Default);
        let loaded = load_layers(file, &[], &[]).unwrap();
        assert_eq!(
            loaded.origins["politeness.attempts"],
            Origin::File("test.toml".into())
        );
        assert_eq!(loaded.config.politeness.attempts, 4);
        assert_eq!(loaded.settings().len(), loaded.origins.len());
    }

    #[test]
    fn every_key_can_be_set_by_its_own_variable() {
        let known = values(&Config::default());
        let variables: Vec<String> = known.keys().map(|key| variable(key)).collect();
        for (name, (key, value)) in variables.iter().zip(&known) {
            assert!(!is_no_setting(name), "{name}");
            let text = flatten(&Config::default()).remove(key).unwrap();
            let loaded = load_layers("", &[(name, &text)], &[]).unwrap();
            assert_eq!(loaded.config, Config::default(), "{name}={value}");
            assert_eq!(loaded.origins[key], Origin::Environment(name.clone()));
        }
        let mut distinct = variables.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), variables.len());
    }

    #[test]
    fn unknown_keys_are_refused_with_the_nearest_name() {
        let check = |text, expected| check_refused(load_layers(text, &[], &[]), expected);
        check("[politness]\ndelay = \"1s\"", "did you mean `politeness`?");
        check(
            "[politeness]\ndelya = \"1s\"",
            "did you mean `politeness.delay`?",
        );
        check("delay = 1", "unknown key `delay`");
        check("[politeness]\ndelay = 1", "test.toml is not valid");
        check("[politeness]\ndelay = \"fast\"", "`fast` is not a duration");
        check("[crawl", "test.toml is not valid");
        check("crawl = 3", "test.toml is not valid");
        check_refused(
            load_layers("", &[], &[("--deley", "politeness.deley", "1s")]),
            "did you mean `politeness.delay`?",
        );
    }

    #[test]
    fn variables_that_cannot_be_used_are_named() {
        let check = |name, value, expected| {
            check_refused(load_layers("", &[(name, value)], &[]), expected);
        };
        check(
            "GLEANER_POLITNESS_DELAY",
            "2s",
            "GLEANER_POLITNESS_DELAY, which is no setting; did you mean GLEANER_POLITENESS_DELAY?",
        );
        check("GLEANER_DELAY", "2s", "did you mean GLEANER_");
        check("GLEANER_", "", "which is no setting");
        check(
            "GLEANER_politeness_delay",
            "2s",
            "did you mean GLEANER_POLITENESS_DELAY?",
        );
        check(
            "GLEANER_POLITENESS_DELAY",
            "soon",
            "GLEANER_POLITENESS_DELAY sets `politeness.delay` to \"soon\": `soon` is not a duration",
        );
        check(
            "GLEANER_POLITENESS_DELAY",
            "",
            "to \"\": give a value, or unset",
        );
        check(
            "GLEANER_FETCH_CONCURRENCY",
            "many",
            "to \"many\": it must be a whole number",
        );
        check("GLEANER_FETCH_CONCURRENCY", "-1", "it must be 0 or more");
        check("GLEANER_POLITENESS_ATTEMPTS", "300", "it must be 0 to 255");
        check("GLEANER_CRAWL_MAX_DEPTH", "70000", "it must be 0 to 65535");
        check("GLEANER_CRAWL_MAX_DEPTH", "deep", "a whole number or none");
        check(
            "GLEANER_POLITENESS_MAX_RATE",
            "0",
            "it must be 1 to 4294967295",
        );
        check("GLEANER_FETCH_ALLOW_PRIVATE", "yes", "true or false");
        check("GLEANER_CRAWL_SCOPE", "world", "`prefix`");
        check("GLEANER_FETCH_MAX_BODY", "1XB", "`1XB` is not a size");
        check("GLEANER_FETCH_HOSTS", "wiki", "a table like");
        check(
            "GLEANER_FETCH_HOSTS",
            "{ wiki = [\"x\"] }",
            "\"x\" is not an IP address",
        );
    }

    #[cfg(unix)]
    #[test]
    fn variables_that_are_not_text_are_refused() {
        use std::os::unix::ffi::OsStringExt as _;
        let odd = || OsString::from_vec(b"\xff".to_vec());
        let load = |name: OsString| {
            let mut layers = Layers::new();
            layers.add_environment([(name, odd())]).unwrap_err()
        };
        let error = load("GLEANER_FETCH_USER_AGENT".into());
        assert!(error.to_string().contains("give a value"), "{error}");
        let mut name = OsString::from("GLEANER_");
        name.push(odd());
        let error = load(name);
        assert!(error.to_string().contains("no setting"), "{error}");
        // Of others we say nothing.
        Layers::new().add_environment([(odd(), odd())]).unwrap();
    }

    #[test]
    fn errors_show_no_secrets() {
        for file in [
            "[fetch]\nheaders = \"hush\"",
            "[fetch]\nproxy = \"hush.example\"",
            "[fetch]\nproxy = \"http://u:hush@[\"",
            "[fetch]\nheaders = { Host = \"hush\" }",
            "[fetch]\nheaders = { X-Api-Key = \"hush\" }",
            "[[domain]]\nmatch = [\"a.example\"]\nfetch.auth = \"hush",
            "[[domain]]\nmatch = [\"a.example\"]\nfetch.auth = \"hush\"",
            "[[domain]]\nmatch = [\"a.example\"]\nfetch.auth = [\"hush\"]",
        ] {
            let error = load_layers(file, &[], &[]).unwrap_err();
            assert!(!error.contains("hush"), "{error}");
        }
        let environment = [("GLEANER_FETCH_PROXY", "ftp://u:hush@a.example")];
        let error = load_layers("", &environment, &[]).unwrap_err();
        assert!(
            !error.contains("hush") && error.contains("socks5"),
            "{error}"
        );
    }

    #[test]
    fn values_that_would_stall_a_crawl_are_refused_where_they_were_set() {
        let file = "[fetch]\nconcurrency = 0";
        check_refused(
            load_layers(file, &[], &[]),
            "test.toml sets `fetch.concurrency` to 0: it must be at least 1",
        );
        let environment = [("GLEANER_FETCH_CONCURRENCY", "0")];
        check_refused(
            load_layers("", &environment, &[]),
            "GLEANER_FETCH_CONCURRENCY sets `fetch.concurrency` to 0",
        );
        let flags = [("--concurrency", "fetch.concurrency", "0")];
        check_refused(load_layers("", &[], &flags), "--concurrency sets");
        // A later layer mends it.
        let flags = [("--concurrency", "fetch.concurrency", "1")];
        let mended = load_layers(file, &environment, &flags).unwrap();
        assert_eq!(mended.config.fetch.concurrency, 1);
    }
}
