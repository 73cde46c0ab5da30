//! The names of settings: which there are, which can be set where, which one was probably meant.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// The list of settings that some hosts have of their own.
pub(super) const DOMAIN: &str = "domain";

/// The list of settings of `[dedup]` that some pages have of their own.
pub(super) const DEDUP_RULE: &str = "dedup.rule";

/// The list of settings of `[url]` that some hosts have of their own.
pub(super) const URL_RULE: &str = "url.rule";

/// Every setting of sections, by `section.key`.
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

/// Refuses a key of an entry that is not among those that can be set for `whom`.
pub(super) fn check(
    key: &str,
    known: &[String],
    is_crawl_wide: bool,
    whom: &str,
) -> Result<(), String> {
    let known_names = || known.iter().map(String::as_str).chain(["name", "match"]);
    if known_names().any(|it| it == key) {
        return Ok(());
    }
    Err(match is_crawl_wide {
        true => format!(
            "`{key}` holds for the whole crawl; for {whom} can be set: {}",
            known.join(", ")
        ),
        false => {
            let nearest = nearest(key, known_names());
            format!("unknown key `{key}`; did you mean `{nearest}`?")
        }
    })
}

/// How an entry of a list is named to a person: its number from 1, and the name it was given.
pub(super) fn label(list: &str, at: usize, name: Option<&str>) -> String {
    match name {
        Some(name) => format!("[[{list}]] {} ({name})", at + 1),
        None => format!("[[{list}]] {}", at + 1),
    }
}

/// The known name most like a given one. A name whose last part alone is alike counts as well,
/// because the section is easily forgotten.
pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let distance = |known: &str| {
        let whole = strsim::damerau_levenshtein(known, name);
        let last = known.rsplit('.').next().unwrap_or(known);
        whole.min(strsim::damerau_levenshtein(last, name) + 1)
    };
    // What an entry of [[convert]] has, under [convert].
    if matches!(name, "convert.command" | "convert.type") {
        return "[[convert]], in two brackets".to_owned();
    }
    let nearest = known.min_by_key(|known| distance(known));
    nearest.unwrap_or_default().to_owned()
}
