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
    text.replace(&format!(":{}", web.port()), "")
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
