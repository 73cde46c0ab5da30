//! What gleaner tells as JSON, for snapshots: without what differs from run to run.

use serde_json::Value;

use crate::web::Web;

/// Keys whose values are times, places in files and sizes of compressed records.
const VARYING: [&str; 14] = [
    "due",
    "first_seen",
    "last_checked",
    "length",
    "mean_ms",
    "next_attempt",
    "next_visit",
    "offset",
    "pages_per_second",
    "position",
    "seconds",
    "time",
    "until",
    "archived_bytes",
];

/// A value as readable text, in which those that vary are named and the web has no port.
pub(crate) fn steady(told: &Value, web: &Web) -> String {
    let mut told = told.clone();
    hide(&mut told);
    let text = serde_json::to_string_pretty(&told).expect("a value is JSON");
    without_crawl(&text.replace(&format!(":{}", web.port()), ""))
}

/// Names of files without the time and the number of the crawl that made them.
pub(crate) fn without_crawl(text: &str) -> String {
    let is_file = |part: &str| part.starts_with('-') && part.len() > 24;
    let mut steady = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(".warc.gz") {
        let (before, after) = rest.split_at(at);
        // -START-CRAWL-NUMBER
        let name = before.len().saturating_sub(1 + 14 + 1 + 8 + 1 + 5);
        let is_named = before.get(name..).is_some_and(is_file);
        match is_named {
            true => {
                steady.push_str(&before[..name]);
                steady.push_str("-[crawl]");
                steady.push_str(&before[before.len() - 6..]);
            }
            false => steady.push_str(before),
        }
        steady.push_str(".warc.gz");
        rest = after.get(".warc.gz".len()..).unwrap_or_default();
    }
    steady + rest
}

fn hide(value: &mut Value) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                match VARYING.contains(&key.as_str()) && !value.is_null() {
                    true => *value = format!("[{key}]").into(),
                    false => hide(value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(hide),
        _ => {}
    }
}
