//! The settings of all layers, each put over those before it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Deserialize as _;
use serde_json::Value;
use toml::de::DeTable;

use super::dedup::{self, RuleSettings};
use super::effective::Effective;
use super::error::file_error_in_words;
use super::keys::{DEDUP_RULE, DOMAIN, URL_RULE, label, nearest, values};
use super::remembered::RememberedFile;
use super::written::{fits, shown, typed};
use super::{Config, Error, Origin, Remembered, domains, flatten, urls};
use crate::engine::ConvertOptions;
use crate::fetch::HIDDEN;

/// Prefix of environment variables that are settings: section and key follow, as in
/// `GLEANER_POLITENESS_DELAY`.
const PREFIX: &str = "GLEANER_";

/// Variables with the prefix that are not settings, and where they come from.
const NOT_SETTINGS: [&str; 2] = [
    // The number of kills in gleaner's crash test, whose children inherit it.
    "GLEANER_CRASH_KILLS",
    // Kubernetes, as below.
    "GLEANER_PORT",
];

/// Prefixes of variables that Kubernetes sets in every container of a namespace that has a service
/// named `gleaner`.
const NOT_SETTINGS_BEGIN: [&str; 2] = ["GLEANER_SERVICE_", "GLEANER_PORT_"];

/// The settings of the layers that were read so far.
pub(super) struct Layers {
    /// The default of every key, by `section.key`.
    defaults: BTreeMap<String, Value>,
    set: toml::Table,
    /// The entries of `[[dedup.rule]]`.
    dedup_rules: Vec<RuleSettings>,
    origins: BTreeMap<String, Origin>,
    /// The last file.
    file: Option<Origin>,
    /// The file and line at which each entry of a list begins.
    lines: BTreeMap<&'static str, Vec<(PathBuf, usize)>>,
    remembered: Remembered,
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
            dedup_rules: Vec::new(),
            file: None,
            lines: BTreeMap::new(),
            remembered: Remembered::default(),
        }
    }

    /// Adds what an earlier run was told; `with_files` also its files, because none is given now.
    pub(super) fn add_remembered(
        &mut self,
        remembered: Remembered,
        with_files: bool,
    ) -> Result<(), Error> {
        let origin = |path| Origin::Remembered(Some(path));
        for file in remembered.file.into_iter().filter(|_| with_files) {
            let Some(text) = file.text else {
                return Err(Error::Lacking {
                    what: format!("the configuration {}", file.path.display()),
                    again: "it with --config".to_owned(),
                });
            };
            self.add_file(&text, &file.path, origin)?;
        }
        for (key, value) in remembered.given {
            self.set(&key, &value, Origin::Remembered(None))?;
        }
        // Gone as soon as they are given again.
        self.remembered.lacks = remembered.lacks;
        Ok(())
    }

    /// A list or table as it would be written with more in it.
    pub(super) fn added_to(
        &self,
        key: &str,
        text: &str,
        flag: &'static str,
    ) -> Result<String, Error> {
        let known = key
            .split_once('.')
            .and_then(|(section, name)| self.set.get(section)?.as_table()?.get(name));
        let more = self.defaults.get(key).map(|default| typed(text, default));
        let more = match more {
            Some(Ok(Some(more))) => more,
            // Said when it is set.
            None | Some(Ok(None)) => return Ok(text.to_owned()),
            Some(Err(reason)) => {
                return Err(Error::Refused {
                    origin: Origin::Flag(flag),
                    key: key.to_owned(),
                    value: shown(key, text),
                    reason,
                });
            }
        };
        Ok(match (known.cloned(), more) {
            (Some(toml::Value::Array(mut known)), toml::Value::Array(more)) => {
                for value in more {
                    if !known.contains(&value) {
                        known.push(value);
                    }
                }
                serde_json::to_string(&known).unwrap_or_default()
            }
            (Some(toml::Value::Table(mut known)), toml::Value::Table(more)) => {
                known.extend(more);
                toml::Value::Table(known).to_string()
            }
            (_, more @ toml::Value::Array(_)) => serde_json::to_string(&more).unwrap_or_default(),
            (_, more) => more.to_string(),
        })
    }

    /// Adds a file, whose keys are of the origin that `origin` makes of its path.
    pub(super) fn add_file(
        &mut self,
        text: &str,
        path: &Path,
        origin: fn(PathBuf) -> Origin,
    ) -> Result<(), Error> {
        let syntax = |error: toml::de::Error| Error::Syntax {
            path: path.to_owned(),
            reason: file_error_in_words(&error),
        };
        let mut table: toml::Table = toml::from_str(text).map_err(syntax)?;
        let document = DeTable::parse(text).map_err(syntax)?;
        let document = document.get_ref();
        // Before the types are checked, so that a misspelt section is reported as such.
        self.check_keys(&table, |key, known| Error::UnknownKey {
            origin: origin(path.to_owned()),
            place: place_of(document, text, key),
            key: key.to_owned(),
            nearest: nearest(key, known.iter().copied()),
        })?;
        self.file = Some(origin(path.to_owned()));
        for list in [DOMAIN, DEDUP_RULE, URL_RULE] {
            let lines = lines(document, text, list).into_iter();
            let known = self.lines.entry(list).or_default();
            let before = known.len();
            known.extend(lines.map(|line| (path.to_owned(), line)));
            if list == URL_RULE {
                continue;
            }
            for (at, entry) in tables(&table, list, path)?.into_iter().enumerate() {
                let checked = match list {
                    DOMAIN => domains::check_keys(entry),
                    _ => dedup::check_keys(entry),
                };
                checked.map_err(|reason| self.bad_entry(list, before + at, reason))?;
            }
        }
        // Read from the text rather than from the table, so that errors name lines.
        let read = toml::from_str::<Config>(text).map_err(syntax)?;
        self.list_converters(&mut table, read.convert);
        (self.dedup_rules).extend(dedup::entries(text).map_err(syntax)?);
        for (section, keys) in &table {
            for key in keys.as_table().into_iter().flat_map(toml::Table::keys) {
                let key = format!("{section}.{key}");
                // It says so now, whatever was given to an earlier run.
                self.remembered.given.remove(&key);
                if self.defaults.contains_key(&key) {
                    self.origins.insert(key, origin(path.to_owned()));
                }
            }
        }
        (self.remembered.file).push(RememberedFile::new(path, text));
        merge(&mut self.set, table);
        Ok(())
    }

    /// Puts the entries of `[[convert]]` where the other layers have them: in the table of all
    /// converters, after those of earlier files.
    fn list_converters(&self, table: &mut toml::Table, read: ConvertOptions) {
        const SECTION: &str = "convert";
        const KEY: &str = "commands";
        if !table.get(SECTION).is_some_and(toml::Value::is_array) {
            return;
        }
        let known = self.set.get(SECTION).and_then(|section| section.get(KEY));
        let mut commands = (known.and_then(toml::Value::as_table).cloned()).unwrap_or_default();
        commands.extend(
            read.commands.into_iter().filter_map(|(name, converter)| {
                Some((name, toml::Value::try_from(converter).ok()?))
            }),
        );
        let section = toml::Table::from_iter([(KEY.to_owned(), toml::Value::Table(commands))]);
        table.insert(SECTION.to_owned(), toml::Value::Table(section));
    }

    /// Refuses unknown sections and keys. `unknown` is given the name, and the names that it may
    /// have been meant to be.
    fn check_keys(
        &self,
        table: &toml::Table,
        unknown: impl Fn(&str, &[&str]) -> Error,
    ) -> Result<(), Error> {
        let keys: Vec<&str> = self.defaults.keys().map(String::as_str).collect();
        let sections = keys.iter().filter_map(|key| key.split_once('.'));
        let sections: Vec<&str> = sections.map(|it| it.0).chain([DOMAIN]).collect();
        for (section, value) in table {
            match value.as_table() {
                _ if section == DOMAIN => {}
                Some(_) if !sections.contains(&section.as_str()) => {
                    return Err(unknown(section, &sections));
                }
                // A setting without its section. A section that is not a table is left to the
                // types.
                None if !sections.contains(&section.as_str()) => {
                    return Err(unknown(section, &keys));
                }
                _ => {}
            }
            for key in value.as_table().into_iter().flat_map(toml::Table::keys) {
                let key = format!("{section}.{key}");
                if section != DOMAIN && key != DEDUP_RULE && !self.defaults.contains_key(&key) {
                    return Err(unknown(&key, &keys));
                }
            }
        }
        Ok(())
    }

    fn bad_entry(&self, list: &str, at: usize, reason: String) -> Error {
        let place = self.lines.get(list).and_then(|lines| lines.get(at));
        let (path, line) = place.cloned().unwrap_or_default();
        Error::Entry {
            entry: format!("{}, line {line}, {}", path.display(), label(list, at, None)),
            reason,
        }
    }

    pub(super) fn add_environment(
        &mut self,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<(), Error> {
        let known: BTreeMap<String, String> = self
            .defaults
            .keys()
            .map(|key| (variable(key), key.clone()))
            .collect();
        // Sorted, so that the same one of several wrong variables is always named.
        let environment: BTreeMap<OsString, OsString> = environment.into_iter().collect();
        for (name, value) in environment {
            // A name that is not UTF-8 is unknown, also with the odd bytes replaced.
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
                // An empty value does not mean the default: a script that leaves a variable empty
                // by mistake must not crawl with another delay than it meant to.
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

    /// Sets a key to a value written as text.
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
            .or_else(|reason| {
                // A default of none shows no type: it may be a text.
                let written = toml::Value::String(text.to_owned());
                match default.is_null() && fits(section, name, &written).is_ok() {
                    true => Ok(Some(written)),
                    false => Err(reason),
                }
            })
            .map_err(|reason| Error::Refused {
                origin: origin.clone(),
                key: key.to_owned(),
                value: shown(key, text),
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
        if origin != Origin::Default {
            self.remembered.lacks.retain(|it| it != key);
            (self.remembered.given).insert(key.to_owned(), text.to_owned());
        }
        self.origins.insert(key.to_owned(), origin);
        Ok(())
    }

    /// Checks what types cannot, now that no later layer can correct it.
    pub(super) fn finish(mut self) -> Result<Effective, Error> {
        if let Some(key) = self.remembered.lacks.first() {
            return Err(Error::Lacking {
                what: format!("`{key}`"),
                again: "it".to_owned(),
            });
        }
        let mut config =
            Config::deserialize(self.set.clone()).expect("each value was taken before");
        config.dedup_rules.clone_from(&self.dedup_rules);
        if let Err((key, expected)) = config.check() {
            return Err(Error::Refused {
                origin: self.origins.get(key).cloned().unwrap_or(Origin::Default),
                key: key.to_owned(),
                value: values(&config).remove(key).unwrap_or_default().to_string(),
                reason: format!("it must be {expected}"),
            });
        }
        domains::check(&config).map_err(|(at, reason)| self.bad_entry(DOMAIN, at, reason))?;
        dedup::check(&config).map_err(|(at, reason)| self.bad_entry(DEDUP_RULE, at, reason))?;
        urls::check_entries(&config.url).map_err(|(at, reason)| {
            match self.origins.get(URL_RULE) {
                Some(Origin::File(_)) => self.bad_entry(URL_RULE, at, reason),
                origin => Error::Entry {
                    entry: format!(
                        "{}, {}",
                        origin.unwrap_or(&Origin::Default),
                        label(URL_RULE, at, None)
                    ),
                    reason,
                },
            }
        })?;
        let values = flatten(&config);
        let is_secret = |key: &String| values.get(key).is_some_and(|it| it.contains(HIDDEN));
        let Remembered { lacks, given, .. } = &mut self.remembered;
        lacks.extend(given.keys().filter(|key| is_secret(key)).cloned());
        given.retain(|key, _| !is_secret(key));
        Ok(Effective {
            config,
            origins: self.origins,
            entries: self.file,
            remembered: self.remembered,
        })
    }
}

/// Puts the sections of a file over those of the layers before it. The entries of its lists follow
/// theirs.
fn merge(set: &mut toml::Table, file: toml::Table) {
    for (section, value) in file {
        match (set.get_mut(&section), value) {
            (Some(toml::Value::Table(known)), toml::Value::Table(keys)) => {
                for (key, value) in keys {
                    match (known.get_mut(&key), value) {
                        (Some(toml::Value::Array(known)), toml::Value::Array(entries))
                            if !entries.is_empty() && entries.iter().all(toml::Value::is_table) =>
                        {
                            known.extend(entries);
                        }
                        (_, value) => {
                            known.insert(key, value);
                        }
                    }
                }
            }
            (Some(toml::Value::Array(known)), toml::Value::Array(entries)) => {
                known.extend(entries);
            }
            (_, value) => {
                set.insert(section, value);
            }
        }
    }
}

/// The entries of a list, which must be tables.
fn tables<'a>(
    table: &'a toml::Table,
    list: &str,
    path: &Path,
) -> Result<Vec<&'a toml::Table>, Error> {
    let found = match list.split_once('.') {
        Some((section, key)) => table.get(section).and_then(|section| section.get(key)),
        None => table.get(list),
    };
    let Some(found) = found else {
        return Ok(Vec::new());
    };
    let entries = found.as_array().map(|entries| entries.iter());
    let tables = entries.and_then(|entries| entries.map(toml::Value::as_table).collect());
    tables.ok_or_else(|| Error::Syntax {
        path: path.to_owned(),
        reason: format!("`{list}` is a list: write [[{list}]] above each entry"),
    })
}

/// The lines at which the entries of a list begin.
fn lines(document: &DeTable<'_>, text: &str, list: &str) -> Vec<usize> {
    let found = match list.split_once('.') {
        Some((section, key)) => document
            .get(section)
            .and_then(|it| it.get_ref().as_table()?.get(key)),
        None => document.get(list),
    };
    let entries = found.and_then(|it| it.get_ref().as_array());
    let entries = entries.into_iter().flat_map(|entries| entries.iter());
    entries
        .map(|entry| line_of(text, entry.span().start))
        .collect()
}

/// The line of a byte, counted from 1.
fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

/// Where a file sets a key, or begins a section, for a person: ` in line 3`.
fn place_of(document: &DeTable<'_>, text: &str, key: &str) -> String {
    let found = match key.split_once('.') {
        Some((section, key)) => document
            .get(section)
            .and_then(|it| it.get_ref().as_table()?.get_key_value(key)),
        None => document.get_key_value(key),
    };
    found.map_or(String::new(), |(key, _)| {
        format!(" in line {}", line_of(text, key.span().start))
    })
}

/// The environment variable that sets a key.
fn variable(key: &str) -> String {
    let name = key.replace('.', "_").to_ascii_uppercase();
    format!("{PREFIX}{name}")
}

fn is_no_setting(name: &str) -> bool {
    NOT_SETTINGS.contains(&name) || NOT_SETTINGS_BEGIN.iter().any(|it| name.starts_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Span;

    const SHIPPED: &str = include_str!("../../config/gleaner.toml");

    /// Loads a file's text, variables and flags; errors as a person reads them.
    fn load_layers(
        file: &str,
        environment: &[(&str, &str)],
        flags: &[(&'static str, &'static str, &str)],
    ) -> Result<Effective, String> {
        let load = || {
            let mut layers = Layers::new();
            layers.add_file(file, Path::new("test.toml"), Origin::File)?;
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
    fn converters_are_a_list_over_all_files() {
        let load = |files: &[&str]| {
            let mut layers = Layers::new();
            for file in files {
                layers.add_file(file, Path::new("test.toml"), Origin::File)?;
            }
            layers.finish()
        };
        let entry = |name: &str, command: &str| {
            format!("[[convert]]\ntype = \"{name}\"\ncommand = \"{command}\"\n")
        };
        let (pdf, other) = (entry("application/pdf", "a"), entry("application/pdf", "b"));
        let rtf = entry("application/rtf", "c");
        let limits = "[convert]\ntimeout = \"5s\"";
        let loaded = load(&[limits, &format!("{pdf}{rtf}"), &other]).unwrap();
        let convert = &loaded.config.convert;
        let commands = convert.commands.iter();
        let said: Vec<_> = commands
            .map(|(name, it)| (&name[..], &it.command[2][..]))
            .collect();
        assert_eq!(said, [("application/pdf", "b"), ("application/rtf", "c")]);
        assert_eq!(convert.timeout, Span::seconds(5));
        let refused = load(&["[[convert]]\ntype = \"pdf\"\ncommand = \"a\""]).map(|_| ());
        assert!(refused.unwrap_err().to_string().contains("application/pdf"));
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
            ("GLEANER_STATE_EXPIRE_AFTER", "365d"),
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
            "state.expire_after",
            r#""365d""#,
            variable("state.expire_after"),
        );
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
    fn texts_that_are_none_by_default_can_be_set() {
        let set = |key, text| {
            load_layers("", &[], &[("--set", key, text)])
                .unwrap()
                .config
        };
        let upload = set("archive.upload", "s3://crawls/news").archive.upload;
        assert_eq!(upload.as_deref(), Some("s3://crawls/news"));
        assert_eq!(set("state.group", "7").state.group.as_deref(), Some("7"));
        assert_eq!(set("archive.operator", "none").archive.operator, None);
    }

    #[test]
    fn unknown_keys_are_refused_with_the_nearest_name() {
        let check = |text, expected| check_refused(load_layers(text, &[], &[]), expected);
        check("[crawl]\nmax_depth = -1", "expected 0 to 65535");
        check("[state]\nurls_in_memory = -1", "expected 0 or more");
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
        check("GLEANER_CRAWL_MAX_DEPTH", "1d", "it must be 0 to 65535");
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
