//! Values as text: how they are written in variables and flags, and kept in data directories.

use serde::Deserialize as _;
use serde_json::Value;

use super::error::{WHOLE_NUMBERS, may_hold_secret};
use super::{Config, Size, Span};

/// A value as it was given, for a person.
pub(super) fn shown(key: &str, text: &str) -> String {
    match may_hold_secret(key) {
        true => "what is not shown here".to_owned(),
        false => format!("{text:?}"),
    }
}

/// Reads text as a value of the type that the key's default has. `none` unsets an optional key.
pub(super) fn typed(text: &str, default: &Value) -> Result<Option<toml::Value>, String> {
    let number = || text.parse().map(toml::Value::Integer);
    match default {
        Value::Bool(_) => (text.parse().map(|truth| Some(toml::Value::Boolean(truth))))
            .map_err(|_| "it must be true or false".to_owned()),
        Value::Number(it) if it.is_f64() => (text.parse().map(|it| Some(toml::Value::Float(it))))
            .map_err(|_| "it must be a number such as 0.9".into()),
        Value::Number(_) => (number().map(Some)).map_err(|_| "it must be a whole number".into()),
        // The default shows no type: today it is a number, a duration or a size.
        Value::Null if text == "none" => Ok(None),
        Value::Null if text.parse::<Span>().is_ok() || has_size(text) => {
            Ok(Some(toml::Value::String(text.to_owned())))
        }
        Value::Null => (number().map(Some)).map_err(|_| "it must be a whole number or none".into()),
        Value::Object(_) => table(text).map(Some),
        Value::Array(_) => list(text).map(Some),
        Value::String(_) => Ok(Some(toml::Value::String(text.to_owned()))),
    }
}

/// Whether a text is a size with its unit.
fn has_size(text: &str) -> bool {
    text.ends_with('B') && text.parse::<Size>().is_ok()
}

/// Reads a list written as JSON, as it is kept and shown, or as names separated by commas.
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

/// Reads a table written as JSON, as it is kept and shown, or as in a configuration file.
pub(super) fn table(text: &str) -> Result<toml::Value, String> {
    let as_json = serde_json::from_str::<Value>(text).ok();
    let as_json = as_json.and_then(|it| toml::Value::try_from(it).ok());
    let as_toml = || {
        let table = toml::from_str::<toml::Table>(&format!("value = {text}"));
        table.ok()?.remove("value")
    };
    let table = as_json.or_else(as_toml).filter(toml::Value::is_table);
    table.ok_or_else(|| "it must be a table like { name = [\"value\"] }".to_owned())
}

/// Whether a key accepts a value.
pub(super) fn fits(section: &str, key: &str, value: &toml::Value) -> Result<(), String> {
    let keys = toml::Table::from_iter([(key.to_owned(), value.clone())]);
    let table = toml::Table::from_iter([(section.to_owned(), toml::Value::Table(keys))]);
    match Config::deserialize(table) {
        Ok(_) => Ok(()),
        Err(error) => Err(in_words(error.message())),
    }
}

/// The deserializer's message with the names of Rust's types replaced.
fn in_words(message: &str) -> String {
    const NONZERO: (&str, &str) = ("a nonzero u32", "1 to 4294967295");
    let Some((_, expected)) = message.trim_end().rsplit_once("expected ") else {
        return message.trim_end().to_owned();
    };
    let mut names = [NONZERO].into_iter().chain(WHOLE_NUMBERS);
    match names.find(|(name, _)| *name == expected) {
        Some((_, words)) => format!("it must be {words}"),
        None => message.trim_end().to_owned(),
    }
}
