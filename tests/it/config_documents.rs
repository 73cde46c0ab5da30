//! The shipped configuration files and docs/configuration.md tell what holds, with the reasons.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use gleaner::config::{self, Config, Origin, flatten};
use gleaner::dedup::RuleOverrides;
use serde_json::Value;

use crate::config::{ADDING, FLAGS, read, root};

/// The files beside config/gleaner.toml.
fn presets() -> Vec<PathBuf> {
    let mut presets: Vec<PathBuf> = fs::read_dir(root().join("config"))
        .expect("the repository has it")
        .map(|entry| entry.expect("the directory stays").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .filter(|path| path.file_name().is_some_and(|name| name != "gleaner.toml"))
        .collect();
    presets.sort();
    presets
}

#[test]
fn presets_change_what_they_name_and_say_why() {
    let documents = read("docs/configuration.md");
    assert!(presets().len() >= 4);
    for path in presets() {
        let name = path.display().to_string();
        let loaded = config::load(config::Sources::of(&path), [], [])
            .expect("its keys and values are known");
        let defaults = flatten(&Config::default());
        let values = flatten(&loaded.config);
        let mut changed = 0;
        for (key, _, origin) in loaded.settings() {
            if *origin != Origin::Default {
                assert_ne!(values[&key], defaults[&key], "{name}: {key} is the default");
                changed += 1;
            }
        }
        assert!(changed > 0, "{name} changes nothing");
        let text = fs::read_to_string(&path).expect("it was read before");
        let explained = explained_keys(&text);
        assert_eq!(explained.len(), changed, "{name}");
        for key in explained {
            assert!(key.reason.len() > 20, "{name}: why {}?", key.key);
        }
        let file = path.file_name().and_then(|name| name.to_str());
        let file = file.expect("names are ASCII");
        assert!(
            documents.contains(file),
            "docs/configuration.md does not name {file}"
        );
    }
}

/// A key of a configuration file, as it is written there.
struct ExplainedKey {
    section: String,
    key: String,
    /// As it is written; of a key that is unset, an example.
    value: String,
    is_set: bool,
    /// The comment above it.
    reason: String,
}

fn explained_keys(text: &str) -> Vec<ExplainedKey> {
    let mut keys = Vec::new();
    let mut section = String::new();
    let mut reason = Vec::new();
    for line in text.lines() {
        let comment = line.strip_prefix("# ");
        let pair = comment.unwrap_or(line).split_once(" = ");
        if let Some(name) = line.strip_prefix('[') {
            name.trim_end_matches(']').clone_into(&mut section);
            reason.clear();
        } else if let Some((key, value)) = pair.filter(|(key, _)| !key.contains(' ')) {
            keys.push(ExplainedKey {
                section: section.clone(),
                key: key.to_owned(),
                value: value.to_owned(),
                is_set: comment.is_none(),
                reason: reason.join(" "),
            });
            reason.clear();
        } else {
            reason.extend(comment);
        }
    }
    keys
}

/// The tables of docs/configuration.md.
fn reference() -> String {
    let mut text = String::new();
    let mut section = String::new();
    let keys = explained_keys(&read("config/gleaner.toml"));
    assert_eq!(keys.len(), flatten(&Config::default()).len());
    // Which keys some hosts or pages can have values of their own of.
    let hosts = serde_json::json!(config::DomainSettings::default());
    let pages = serde_json::json!(RuleOverrides::default());
    for key in keys {
        if key.section != section {
            section.clone_from(&key.section);
            let _ = write!(
                text,
                "\n## {section}\n\n| key | default | flag | own | what and why |\n|---|---|---|---|---|\n"
            );
        }
        let full = format!("{section}.{}", key.key);
        let default = match key.is_set {
            true => format!("`{}`", key.value),
            false => "none".to_owned(),
        };
        let setting = FLAGS.map(|(flag, key, _)| (flag, key));
        let mut flags = setting.into_iter().chain(ADDING);
        let flag = flags.find(|(_, key)| *key == full);
        let flag = flag.map_or_else(String::new, |(flag, _)| format!("`{flag}`"));
        let is_of =
            |overrides: Option<&Value>| overrides.is_some_and(|it| it.get(&key.key).is_some());
        let own = match section.as_str() {
            "dedup" if is_of(Some(&pages)) => "page",
            "url" if key.key != "rule" => "host",
            section if is_of(hosts.get(section)) => "host",
            _ => "",
        };
        let reason = key.reason.replace('|', "\\|");
        let _ = writeln!(
            text,
            "| `{}` | {default} | {flag} | {own} | {reason} |",
            key.key
        );
    }
    for list in ["domain", "dedup.rule"] {
        let _ = write!(text, "\n## {list}\n\n{}", entries(list));
    }
    text
}

/// What the shipped file says of a list: text, and an example that is indented there.
fn entries(list: &str) -> String {
    let shipped = read("config/gleaner.toml");
    let header = format!("[[{list}]]");
    let mut parts = shipped.split("\n\n");
    // Others speak of the list; its example stands indented.
    let example = format!("#     {header}");
    let part = parts.find(|part| part.contains(&example));
    let part = part.expect("the shipped file shows every list");
    let (mut text, mut example) = (Vec::new(), String::new());
    for line in part.lines() {
        let line = line.strip_prefix('#').expect("the example is a comment");
        match line.strip_prefix("     ") {
            Some(line) => {
                example.push_str(line);
                example.push('\n');
            }
            None if line.is_empty() && !example.is_empty() => example.push('\n'),
            None => text.push(line.trim()),
        }
    }
    format!("{}\n\n```toml\n{example}```\n", text.join(" ").trim())
}

/// With `UPDATE_DOCS` set, writes what it would compare.
#[test]
fn the_reference_says_what_the_shipped_file_says() {
    let path = root().join("docs/configuration.md");
    let text = read("docs/configuration.md");
    let (head, rest) = text.split_once(" -->\n").expect("the marker is there");
    let reference = reference();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(path, format!("{head} -->\n{reference}")).expect("the repository is writable");
    } else {
        assert_eq!(rest, reference, "{head}");
    }
}
