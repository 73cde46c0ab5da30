//! docs/api.md is what the table of routes says, and so is the description.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::*;
use crate::console::table::routes;

/// Where schemas that have a name are.
const NAMED: &str = "#/components/schemas/";

#[test]
fn every_route_is_described_and_every_name_is_there() {
    let all = openapi(routes());
    let mut names = BTreeSet::new();
    for route in routes() {
        let method = route.method.as_str().to_ascii_lowercase();
        let said = &all["paths"][route.path][&method];
        assert_eq!(said["summary"], route.about, "{}", route.path);
        assert!(names.insert(said["operationId"].to_string()), "{said}");
        assert_eq!(route.needs.writes, route.body.is_some(), "{}", route.path);
    }
    // A name that stands twice in an object is lost: of what is flattened none may be alike.
    for (name, schema) in all["components"]["schemas"].as_object().unwrap() {
        let required = schema["required"].as_array().into_iter().flatten();
        let required: Vec<_> = required.map(Value::to_string).collect();
        let unique: BTreeSet<_> = required.iter().collect();
        assert_eq!(unique.len(), required.len(), "{name}: {required:?}");
    }
    let text = all.to_string();
    for (at, _) in text.match_indices(NAMED) {
        let name = text[at + NAMED.len()..].split('"').next().unwrap();
        assert!(all["components"]["schemas"].get(name).is_some(), "{name}");
    }
}

/// `UPDATE_DOCS=1 cargo test --lib console::openapi` writes it.
#[test]
fn the_documentation_is_what_the_table_says() {
    const MARK: &str = "<!-- routes: written by a test, see CONTRIBUTING.md -->\n\n";
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/api.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (head, written) = text.split_once(MARK).unwrap();
    let expected = markdown();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{head}{MARK}{expected}")).unwrap();
        return;
    }
    assert!(
        written == expected,
        "docs/api.md differs from the table of routes: run UPDATE_DOCS=1 cargo test --lib console::openapi"
    );
}

/// The routes as Markdown: the part of docs/api.md below its marker.
fn markdown() -> String {
    let all = openapi(routes());
    let schemas = &all["components"]["schemas"];
    let mut text = String::new();
    let mut paragraph = |it: &str| {
        text.push_str(it);
        text.push_str("\n\n");
    };
    for route in routes() {
        let method = route.method.as_str();
        let said = &all["paths"][route.path][method.to_ascii_lowercase()];
        paragraph(&format!("### {method} {}", route.path));
        let needs = match (route.needs.is_open, route.needs.writes) {
            (true, _) => " Needs no token.",
            (_, true) => " Changes something.",
            _ => "",
        };
        paragraph(&format!("{}{needs}", route.about));
        let parameters = said["parameters"].as_array().into_iter().flatten();
        let parameters: Vec<_> = parameters.filter(|it| it["in"] == "query").collect();
        if !parameters.is_empty() {
            let rows = parameters.iter().map(|it| {
                let required = it["required"] == true;
                let about = it["description"].as_str().unwrap_or_default();
                (
                    it["name"].as_str().unwrap_or_default(),
                    kind(&it["schema"]),
                    required,
                    about,
                )
            });
            paragraph(&table("asked for in the query", rows));
        }
        let body = &said["requestBody"]["content"]["application/json"]["schema"];
        let rows = fields(body, schemas);
        if !rows.is_empty() {
            paragraph(&table("sent in the body", rows.iter().map(Row::parts)));
        }
        let content = said["responses"]["200"]["content"].as_object();
        let mimes: Vec<&str> = content
            .into_iter()
            .flatten()
            .map(|(mime, _)| &**mime)
            .collect();
        for (mime, answer) in content.into_iter().flatten() {
            let line = &answer["x-line"];
            let schema = if line.is_null() {
                &answer["schema"]
            } else {
                line
            };
            let rows = fields(schema, schemas);
            let what = match line.is_null() {
                true => "answered".to_owned(),
                false => format!("answered, a line each ({})", mimes.join(", ")),
            };
            if !rows.is_empty() {
                paragraph(&table(&what, rows.iter().map(Row::parts)));
            } else if mime != "text/event-stream" {
                paragraph(&format!("Answered: {mime}."));
            }
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// A field of an object.
struct Row {
    name: String,
    kind: String,
    required: bool,
    about: String,
}

impl Row {
    fn parts(&self) -> (&str, String, bool, &str) {
        (&self.name, self.kind.clone(), self.required, &self.about)
    }
}

/// The fields of an object, which may have a name.
fn fields(schema: &Value, schemas: &Value) -> Vec<Row> {
    let named = schema["$ref"]
        .as_str()
        .and_then(|it| it.strip_prefix(NAMED));
    let schema = named.map_or(schema, |name| &schemas[name]);
    let required = schema["required"].as_array();
    let is_required = |name: &str| required.into_iter().flatten().any(|it| it == name);
    let properties = schema["properties"].as_object().into_iter().flatten();
    let rows = properties.map(|(name, schema)| {
        let named = schema["$ref"]
            .as_str()
            .and_then(|it| it.strip_prefix(NAMED));
        let about = schema["description"].as_str();
        let about = about.or_else(|| schemas[named?]["description"].as_str());
        Row {
            name: name.clone(),
            kind: kind(schema),
            required: is_required(name),
            about: about.unwrap_or_default().to_owned(),
        }
    });
    rows.collect()
}

fn table<'a>(head: &str, rows: impl Iterator<Item = (&'a str, String, bool, &'a str)>) -> String {
    let mut text = format!("| {head} | type | |\n|---|---|---|");
    for (name, kind, required, about) in rows {
        let about = about.replace('\n', " ").replace('|', "\\|");
        let mark = if required { "" } else { " (optional)" };
        let _ = write!(text, "\n| `{name}`{mark} | {kind} | {about} |");
    }
    text
}

/// The type of a value in a word or two.
fn kind(schema: &Value) -> String {
    if let Some(named) = schema["$ref"].as_str() {
        return named.trim_start_matches(NAMED).to_owned();
    }
    for several in ["anyOf", "oneOf"] {
        if let Some(all) = schema[several].as_array() {
            let all: Vec<String> = all.iter().map(kind).collect();
            return all.join(" or ");
        }
    }
    match &schema["type"] {
        Value::String(one) if one == "array" => format!("list of {}", kind(&schema["items"])),
        Value::String(one) => one.clone(),
        Value::Array(all) => {
            let all: Vec<&str> = all.iter().filter_map(Value::as_str).collect();
            match &all[..] {
                ["array", rest @ ..] => {
                    let rest = rest.iter().map(|it| format!(" or {it}"));
                    format!(
                        "list of {}{}",
                        kind(&schema["items"]),
                        rest.collect::<String>()
                    )
                }
                all => all.join(" or "),
            }
        }
        _ => "any".to_owned(),
    }
}
