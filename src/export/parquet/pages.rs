//! The table of pages: the columns of `FineWeb` first, by its names and types, then what gleaner
//! knows of a page.

use std::path::Path;

use serde_json::Value as Json;

use super::super::error::Error;
use super::super::language::Language;
use super::super::reading::{Found, Want};
use super::super::walk::Source;
use super::table::{Column, Kind, Row, Value};
use crate::dedup::Similarity;
use crate::engine::{LogLine, PageLine, Position, ReadText};
use crate::page::Markup;
use crate::quality;

/// What is known of a page, of which columns take their values.
struct Facts<'a> {
    line: &'a LogLine,
    page: &'a PageLine,
    language: Language,
    read: Option<ReadText>,
    id: Option<String>,
    dump: String,
    position: Position,
}

/// A column, and what it has of a page. A text may be taken out, since no column is there twice.
struct Given(Column, fn(&mut Facts<'_>) -> Value);

/// Columns of every page, in their order.
const COLUMNS: [Given; 41] = [
    Given(Column::of("text", Kind::Text).distinct(), |it| {
        let text = |read: &mut ReadText| std::mem::take(&mut read.page.main_text);
        Value::text(it.read.as_mut().map(text))
    }),
    Given(Column::of("id", Kind::Text).distinct(), |it| {
        Value::text(it.id.take())
    }),
    Given(Column::of("dump", Kind::Text), |it| {
        Value::Text(std::mem::take(&mut it.dump))
    }),
    Given(Column::of("url", Kind::Text).distinct(), |it| {
        Value::Text(it.line.url.clone())
    }),
    Given(Column::of("date", Kind::Text).distinct(), |it| {
        Value::Text(it.line.time.clone())
    }),
    Given(Column::of("file_path", Kind::Text), |it| {
        Value::text(it.page.record.as_ref().map(|it| it.file.clone()))
    }),
    Given(Column::of(LANGUAGE, Kind::Text), |it| {
        Value::text(it.language.name())
    }),
    Given(Column::of("language_score", Kind::Float), |it| {
        let detected = it.language.detected.as_ref();
        Value::float(detected.map(|(_, permille)| thousandths(*permille)))
    }),
    // Depends on a tokenizer, which is the model's and none of ours.
    Given(Column::of("token_count", Kind::Int64), |_| Value::None),
    Given(Column::of("title", Kind::Text).distinct(), |it| {
        Value::text(it.page.title.clone())
    }),
    Given(Column::of("headline", Kind::Text).distinct(), |it| {
        Value::text((it.read.as_mut()).and_then(|it| it.page.headline.take()))
    }),
    Given(Column::of(MARKDOWN, Kind::Text).distinct(), |it| {
        Value::text(it.read.as_mut().and_then(|it| it.marked.take()))
    }),
    Given(Column::of("words", Kind::Int64), |it| {
        Value::int(it.page.words)
    }),
    Given(Column::of("kept", Kind::Float), |it| {
        let kept = |it: &ReadText| thousandths(it.page.kept_permille);
        Value::float(it.read.as_ref().map(kept))
    }),
    Given(Column::of("status", Kind::Int32), |it| {
        Value::int(Some(it.line.status))
    }),
    Given(Column::of("mime", Kind::Text), |it| {
        Value::text(it.line.mime.clone())
    }),
    Given(Column::of("size", Kind::Int64), |it| {
        Value::int(Some(it.line.size))
    }),
    Given(Column::of("canonical", Kind::Text).distinct(), |it| {
        let canonical = it.page.canonical.as_ref();
        Value::Text(canonical.unwrap_or(&it.line.url).clone())
    }),
    Given(Column::of("canonical_hint", Kind::Text), |it| {
        Value::text(it.page.canonical_hint.clone())
    }),
    Given(Column::of("via", Kind::Text), |it| {
        Value::text(it.line.via.clone())
    }),
    Given(Column::of("detected_language", Kind::Text), |it| {
        let detected = it.language.detected.as_ref();
        Value::text(detected.map(|(language, _)| language.clone()))
    }),
    Given(Column::of("declared_language", Kind::Text), |it| {
        Value::text(it.language.declared.clone())
    }),
    Given(Column::of("robots", Kind::Texts), |it| {
        Value::Texts(it.page.robots.clone())
    }),
    Given(Column::of("tag", Kind::Text), |it| {
        Value::text(it.page.tag.clone())
    }),
    Given(Column::of("verdict", Kind::Text), |it| {
        Value::text(Some(it.line.verdict.name()))
    }),
    Given(Column::of("original", Kind::Text), |it| {
        Value::text(it.line.original.clone())
    }),
    Given(Column::of("distance", Kind::Int32), |it| {
        Value::int(it.page.distance)
    }),
    Given(Column::of("similarity", Kind::Float), |it| {
        Value::float(it.page.similarity.map(Similarity::share))
    }),
    Given(Column::of("group_url", Kind::Text), |it| {
        Value::text(it.page.group.as_ref().map(|it| it.url.clone()))
    }),
    Given(Column::of("group_tier", Kind::Text), |it| {
        Value::text(it.page.group.as_ref().map(|it| it.tier.name()))
    }),
    Given(Column::of("group_similarity", Kind::Float), |it| {
        Value::float(it.page.group.as_ref().map(|it| it.similarity.share()))
    }),
    Given(Column::of("sha256_raw", Kind::Text).distinct(), |it| {
        Value::text(it.page.digests.raw.clone())
    }),
    Given(
        Column::of("sha256_normalized", Kind::Text).distinct(),
        |it| Value::text(it.page.digests.normalized.clone()),
    ),
    Given(Column::of("sha256_content", Kind::Text).distinct(), |it| {
        Value::text(it.page.digests.content.clone())
    }),
    Given(Column::of("simhash", Kind::Text).distinct(), |it| {
        Value::text(it.page.simhash.clone())
    }),
    Given(Column::of("supersedes_file", Kind::Text), |it| {
        Value::text(it.page.supersedes.as_ref().map(|it| it.file.clone()))
    }),
    Given(Column::of("supersedes_offset", Kind::Int64), |it| {
        Value::int(it.page.supersedes.as_ref().map(|it| it.offset))
    }),
    Given(Column::of("warc_type", Kind::Text), |it| {
        Value::text(it.page.record.as_ref().map(|it| it.kind.as_str()))
    }),
    Given(Column::of("warc_offset", Kind::Int64).distinct(), |it| {
        Value::int(it.page.record.as_ref().map(|it| it.offset))
    }),
    Given(Column::of("warc_length", Kind::Int64), |it| {
        Value::int(it.page.record.as_ref().map(|it| it.length))
    }),
    Given(Column::of("position", Kind::Text).distinct(), |it| {
        Value::Text(it.position.to_string())
    }),
];

/// The column of the text in another form, which is there if it is asked for: with it, each row
/// has its text twice.
const MARKDOWN: &str = "markdown";

const LANGUAGE: &str = "language";

/// Columns for which a page has to be read, besides those of measures.
const READ: [&str; 4] = ["text", "headline", MARKDOWN, "kept"];

/// Columns that say the language, which lines of earlier versions do not tell.
const LANGUAGES: [&str; 3] = [LANGUAGE, "language_score", "detected_language"];

fn thousandths(permille: u16) -> f64 {
    f64::from(permille) / 1_000.0
}

/// Columns of measures of the text.
const QUALITY: [Column; 23] = [
    Column::of("quality_tokens", Kind::Int64),
    Column::of("quality_words", Kind::Int64),
    Column::of("quality_mean_word_length", Kind::Float),
    Column::of("quality_hashes", Kind::Float),
    Column::of("quality_ellipses", Kind::Float),
    Column::of("quality_alphabetic_words", Kind::Float),
    Column::of("quality_stop_words", Kind::Int64),
    Column::of("quality_top_ngrams", Kind::Floats),
    Column::of("quality_duplicate_ngrams", Kind::Floats),
    Column::of("quality_newlines", Kind::Float),
    Column::of("quality_sentences", Kind::Int64),
    Column::of("quality_bullet_lines", Kind::Float),
    Column::of("quality_ellipsis_lines", Kind::Float),
    Column::of("quality_duplicate_paragraphs", Kind::Float),
    Column::of("quality_duplicate_paragraph_chars", Kind::Float),
    Column::of("quality_duplicate_lines", Kind::Float),
    Column::of("quality_duplicate_line_chars", Kind::Float),
    Column::of("quality_punctuated_lines", Kind::Float),
    Column::of("quality_short_lines", Kind::Float),
    Column::of("quality_repeated_chars", Kind::Float),
    Column::of("quality_c4_lines", Kind::Float),
    Column::of("quality_lorem_ipsum", Kind::Flag),
    Column::of("quality_curly_bracket", Kind::Flag),
];

/// What the names of measures have in front of them.
const PREFIX: &str = "quality_";

/// The name of a crawl that was given none: that of its directory.
pub fn dump_name(data: &Path) -> String {
    let name = |path: &Path| Some(path.file_name()?.to_string_lossy().into_owned());
    let real = || name(&data.canonicalize().ok()?);
    name(data).or_else(real).unwrap_or_default()
}

/// Which columns a table has.
#[derive(Debug, Clone, Copy)]
pub enum Columns<'a> {
    /// All but those that are asked for by name.
    Usual {
        /// With the text as Markdown.
        markdown: bool,
        /// With measures of the text.
        quality: bool,
    },
    /// Those with these names, in this order.
    Named(&'a [String]),
}

/// Makes rows of pages.
#[derive(Debug, Clone)]
pub struct PageTable {
    dump: Option<String>,
    columns: Vec<Chosen>,
}

#[derive(Debug, Clone, Copy)]
struct Chosen {
    column: Column,
    /// What it has of a page; nothing for a measure.
    of_page: Option<fn(&mut Facts<'_>) -> Value>,
}

impl PageTable {
    /// Returns a table with these columns. `dump` is the column of that name; the name of the data
    /// directory if it is none.
    pub fn new(dump: Option<String>, columns: Columns<'_>) -> Result<Self, Error> {
        let pages = COLUMNS.iter().map(|Given(column, of_page)| Chosen {
            column: *column,
            of_page: Some(*of_page),
        });
        let measures = QUALITY.iter().map(|column| Chosen {
            column: *column,
            of_page: None,
        });
        let all = pages.chain(measures);
        let columns = match columns {
            Columns::Usual { markdown, quality } => all
                .filter(|it| (markdown || it.column.name != MARKDOWN) && (quality || it.is_page()))
                .collect(),
            Columns::Named(names) => named(&all.collect::<Vec<_>>(), names)?,
        };
        Ok(Self { dump, columns })
    }

    /// Returns the columns.
    pub fn columns(&self) -> Vec<Column> {
        self.columns.iter().map(|it| it.column).collect()
    }

    /// Returns what has to be read for them.
    pub fn want(&self) -> Want {
        let has = |names: &[&str]| {
            let mut columns = self.columns.iter();
            columns.any(|it| names.contains(&it.column.name))
        };
        Want {
            text: has(&READ) || self.has_measures(),
            markup: has(&[MARKDOWN]).then_some(Markup::Markdown),
            language: has(&LANGUAGES),
        }
    }

    fn has_measures(&self) -> bool {
        self.columns.iter().any(|it| !it.is_page())
    }

    /// Returns the row of a page.
    pub fn row(&self, found: Found<'_>, source: &Source, position: Position) -> Result<Row, Error> {
        let has_id = self.columns.iter().any(|it| it.column.name == "id");
        let id = has_id.then(|| source.reader.record_id(&found)).flatten();
        let dump = self.dump.clone();
        let mut facts = Facts {
            line: found.line,
            page: found.page,
            language: found.language,
            read: found.read,
            id,
            dump: dump.unwrap_or_else(|| dump_name(&source.data)),
            position,
        };
        let measured = match &facts.read {
            Some(read) if self.has_measures() => {
                let language = facts.language.name();
                let measures = quality::measure(&read.page.main_text, language);
                let measures = serde_json::to_value(measures);
                measures.map_err(|error| Error::Request(format!("measures of a text: {error}")))?
            }
            _ => Json::Null,
        };
        let value = |it: &Chosen| match it.of_page {
            Some(of_page) => of_page(&mut facts),
            None => measure(&measured, &it.column),
        };
        Ok(self.columns.iter().map(value).collect())
    }
}

impl Chosen {
    fn is_page(&self) -> bool {
        self.of_page.is_some()
    }
}

/// Returns the columns with these names.
fn named(all: &[Chosen], names: &[String]) -> Result<Vec<Chosen>, Error> {
    let known = || -> Vec<&str> { all.iter().map(|it| it.column.name).collect() };
    let mut columns = Vec::with_capacity(names.len());
    for (nth, name) in names.iter().enumerate() {
        if names[..nth].contains(name) {
            return Err(Error::Request(format!(
                "column {name:?} is asked for twice: readers of tables refuse that"
            )));
        }
        let found = all.iter().find(|it| it.column.name == name);
        columns.push(*found.ok_or_else(|| {
            Error::Request(format!(
                "no table has a column {name:?}: give some of {}",
                known().join(", ")
            ))
        })?);
    }
    Ok(columns)
}

/// A measure, as it is in JSON.
fn measure(measures: &Json, column: &Column) -> Value {
    let name = column.name.strip_prefix(PREFIX).unwrap_or(column.name);
    match (measures.get(name), column.kind) {
        (Some(value), Kind::Int64) => Value::int(value.as_i64()),
        (Some(value), Kind::Float) => Value::float(value.as_f64()),
        (Some(value), Kind::Flag) => value.as_bool().map_or(Value::None, Value::Flag),
        (Some(Json::Array(values)), Kind::Floats) => {
            Value::Floats(values.iter().filter_map(Json::as_f64).collect())
        }
        _ => Value::None,
    }
}
