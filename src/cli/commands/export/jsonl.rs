//! `gleaner export --format jsonl`: lines of JSON.

use std::fmt::Write as _;

use anyhow::Context as _;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::cli::Failure;
use crate::engine::{LogLine, PageLine, Position};
use crate::export::{Error, Found, Language, PageOut, PageRead, Source, Want};
use crate::page::Markup;

/// A line of JSON: that of `gleaner pages`, and what only an export says.
#[derive(Serialize)]
struct More<'a> {
    #[serde(flatten)]
    line: PageOut<'a>,
    markdown: Option<String>,
    kept: Option<f64>,
    detected_language: Option<String>,
    warc_record_id: Option<String>,
}

/// The fields of a line that are wanted; all if there are none.
pub(super) struct Fields<'a>(&'a [String]);

impl<'a> Fields<'a> {
    pub(super) fn of(fields: &'a [String]) -> Result<Self, Failure> {
        let known = Self::known()?;
        match fields.iter().find(|field| !known.contains_key(*field)) {
            None => Ok(Self(fields)),
            Some(field) => {
                let known: Vec<_> = known.keys().map(String::as_str).collect();
                let known = known.join(", ");
                Err(Failure::usage(format!(
                    "no line has a field {field:?}: give some of {known}"
                )))
            }
        }
    }

    /// A line that has every field.
    fn known() -> Result<Map<String, Value>, Failure> {
        // A field that most pages do not have is left out of their lines.
        let page = r#"{"tag": "", "group": {"url": "", "tier": "near", "similarity": 1},
            "supersedes": {"type": "metadata", "file": "", "offset": 0, "length": 0}}"#;
        let page: PageLine = serde_json::from_str(page).context("a page as JSON")?;
        let line = LogLine::default();
        let more = More {
            line: PageOut::of(&line, &page, Position::default(), Language::default(), None),
            markdown: None,
            kept: None,
            detected_language: None,
            warc_record_id: None,
        };
        match serde_json::to_value(more) {
            Ok(Value::Object(fields)) => Ok(fields),
            _ => Err(Failure::usage("no page can be written as JSON")),
        }
    }

    fn has(&self, field: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|it| it == field)
    }

    /// What has to be read for them.
    pub(super) fn want(&self) -> Want {
        Want {
            text: ["text", "headline", "markdown", "kept"]
                .iter()
                .any(|it| self.has(it)),
            markup: self.has("markdown").then_some(Markup::Markdown),
            language: self.has("language") || self.has("detected_language"),
        }
    }

    pub(super) fn json(
        &self,
        mut found: Found<'_>,
        source: &Source,
        position: Position,
    ) -> Result<Vec<u8>, Error> {
        let wants_id = self.has("warc_record_id");
        let id = wants_id.then(|| source.reader.record_id(&found)).flatten();
        let read = found.read.as_mut();
        let markdown = read.and_then(|read| read.marked.take());
        let kept = found.read.as_ref().map(|read| read.page.kept_permille);
        let detected = found.language.detected.as_ref();
        let more = More {
            markdown,
            kept: kept.map(|permille| f64::from(permille) / 1_000.0),
            detected_language: detected.map(|(language, _)| language.clone()),
            warc_record_id: id,
            line: PageOut::of(
                found.line,
                found.page,
                position,
                found.language,
                found.read.map(|read| PageRead::of(read, None)),
            ),
        };
        let line = match self.0 {
            [] => serde_json::to_vec(&more),
            // A map of serde_json has its own order.
            fields => serde_json::to_value(&more).and_then(|value| {
                let mut line = String::from("{");
                for (nth, field) in fields.iter().enumerate() {
                    let comma = if nth == 0 { "" } else { "," };
                    let name = serde_json::to_string(field)?;
                    let value = value.get(field).unwrap_or(&Value::Null);
                    // Writing to a string cannot fail.
                    let _ = write!(line, "{comma}{name}:{value}");
                }
                line.push('}');
                Ok(line.into_bytes())
            }),
        };
        let mut line = line.map_err(|error| Error::Request(format!("a page as JSON: {error}")))?;
        line.push(b'\n');
        Ok(line)
    }
}
