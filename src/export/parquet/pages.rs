//! The table of pages: the columns of `FineWeb` first, by its names and types, then what gleaner
//! knows of a page.

use std::path::Path;

use serde_json::Value as Json;

use super::super::error::Error;
use super::super::reading::Found;
use super::super::walk::Source;
use super::table::{Column, Kind, Row, Value};
use crate::dedup::Similarity;
use crate::engine::Position;
use crate::quality;

/// Columns of every table.
const COLUMNS: [Column; 41] = [
    Column::of("text", Kind::Text).distinct(),
    Column::of("id", Kind::Text).distinct(),
    Column::of("dump", Kind::Text),
    Column::of("url", Kind::Text).distinct(),
    Column::of("date", Kind::Text).distinct(),
    Column::of("file_path", Kind::Text),
    Column::of("language", Kind::Text),
    Column::of("language_score", Kind::Float),
    Column::of("token_count", Kind::Int64),
    Column::of("title", Kind::Text).distinct(),
    Column::of("headline", Kind::Text).distinct(),
    Column::of("markdown", Kind::Text).distinct(),
    Column::of("words", Kind::Int64),
    Column::of("kept", Kind::Float),
    Column::of("status", Kind::Int32),
    Column::of("mime", Kind::Text),
    Column::of("size", Kind::Int64),
    Column::of("canonical", Kind::Text).distinct(),
    Column::of("canonical_hint", Kind::Text),
    Column::of("via", Kind::Text),
    Column::of("detected_language", Kind::Text),
    Column::of("declared_language", Kind::Text),
    Column::of("robots", Kind::Texts),
    Column::of("tag", Kind::Text),
    Column::of("verdict", Kind::Text),
    Column::of("original", Kind::Text),
    Column::of("distance", Kind::Int32),
    Column::of("similarity", Kind::Float),
    Column::of("group_url", Kind::Text),
    Column::of("group_tier", Kind::Text),
    Column::of("group_similarity", Kind::Float),
    Column::of("sha256_raw", Kind::Text).distinct(),
    Column::of("sha256_normalized", Kind::Text).distinct(),
    Column::of("sha256_content", Kind::Text).distinct(),
    Column::of("simhash", Kind::Text).distinct(),
    Column::of("supersedes_file", Kind::Text),
    Column::of("supersedes_offset", Kind::Int64),
    Column::of("warc_type", Kind::Text),
    Column::of("warc_offset", Kind::Int64).distinct(),
    Column::of("warc_length", Kind::Int64),
    Column::of("position", Kind::Text).distinct(),
];

/// Columns of measures.
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

/// Makes rows of pages.
#[derive(Debug, Clone, Default)]
pub struct PageTable {
    /// The column `dump`; the name of the data directory if there is none.
    pub dump: Option<String>,
    /// Whether there are columns of measures of the texts.
    pub quality: bool,
}

impl PageTable {
    /// Returns the columns.
    pub fn columns(&self) -> Vec<Column> {
        let measures: &[Column] = match self.quality {
            true => &QUALITY,
            false => &[],
        };
        [&COLUMNS[..], measures].concat()
    }

    /// Returns the row of a page.
    pub fn row(&self, found: Found<'_>, source: &Source, position: Position) -> Result<Row, Error> {
        let id = source.reader.record_id(&found);
        let Found {
            line,
            page,
            language,
            read,
        } = found;
        let dump = self.dump.clone();
        let dump = dump.unwrap_or_else(|| dump_name(&source.data));
        let record = page.record.as_ref();
        let group = page.group.as_ref();
        let supersedes = page.supersedes.as_ref();
        let thousandths = |permille: u16| f64::from(permille) / 1_000.0;
        let detected = language.detected.as_ref();
        let name = language.name().map(str::to_owned);
        let quality = match (&read, self.quality) {
            (Some(read), true) => Some(quality::measure(&read.page.main_text, name.as_deref())),
            _ => None,
        };
        let mut text = (Value::None, Value::None, Value::None, Value::None);
        if let Some(read) = read {
            text = (
                Value::Text(read.page.main_text),
                Value::text(read.page.headline),
                Value::text(read.marked),
                Value::Float(thousandths(read.page.kept_permille)),
            );
        }
        let mut row = vec![
            text.0,
            Value::text(id),
            Value::Text(dump),
            Value::Text(line.url.clone()),
            Value::Text(line.time.clone()),
            Value::text(record.map(|it| it.file.clone())),
            Value::text(name),
            Value::float(detected.map(|(_, permille)| thousandths(*permille))),
            // Depends on a tokenizer, which is the model's and none of ours.
            Value::None,
            Value::text(page.title.clone()),
            text.1,
            text.2,
            Value::int(page.words),
            text.3,
            Value::int(Some(line.status)),
            Value::text(line.mime.clone()),
            Value::int(Some(line.size)),
            Value::text(Some(page.canonical.as_ref().unwrap_or(&line.url).clone())),
            Value::text(page.canonical_hint.clone()),
            Value::text(line.via.clone()),
            Value::text(detected.map(|(language, _)| language.clone())),
            Value::text(language.declared.clone()),
            Value::Texts(page.robots.clone()),
            Value::text(page.tag.clone()),
            Value::text(Some(line.verdict.name())),
            Value::text(line.original.clone()),
            Value::int(page.distance),
            Value::float(page.similarity.map(Similarity::share)),
            Value::text(group.map(|it| it.url.clone())),
            Value::text(group.map(|it| it.tier.name())),
            Value::float(group.map(|it| it.similarity.share())),
            Value::text(page.digests.raw.clone()),
            Value::text(page.digests.normalized.clone()),
            Value::text(page.digests.content.clone()),
            Value::text(page.simhash.clone()),
            Value::text(supersedes.map(|it| it.file.clone())),
            Value::int(supersedes.map(|it| it.offset)),
            Value::text(record.map(|it| it.kind.as_str())),
            Value::int(record.map(|it| it.offset)),
            Value::int(record.map(|it| it.length)),
            Value::Text(position.to_string()),
        ];
        if self.quality {
            let measures = serde_json::to_value(quality);
            let measures =
                measures.map_err(|error| Error::Request(format!("measures of a text: {error}")))?;
            row.extend(QUALITY.iter().map(|column| measure(&measures, column)));
        }
        Ok(row)
    }
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
