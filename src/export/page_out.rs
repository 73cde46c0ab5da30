//! A page as one object of JSON: a line of `gleaner pages`, and what the console sends of it.

use serde::Serialize;

use super::language::Language;
use crate::dedup::Similarity;
use crate::engine::{Digests, LogLine, PageGroup, PageLine, Position, ReadText, RecordPlace};
use crate::page::Markup;
use crate::quality::Quality;

/// A page. docs/formats.md documents the fields.
#[derive(Serialize)]
pub struct PageOut<'a> {
    url: &'a str,
    canonical: &'a str,
    canonical_hint: Option<&'a str>,
    via: Option<&'a str>,
    time: &'a str,
    status: u16,
    mime: Option<&'a str>,
    size: u64,
    title: Option<&'a str>,
    language: Option<String>,
    language_score: Option<f32>,
    declared_language: Option<String>,
    robots: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<&'a str>,
    #[serde(flatten)]
    read: PageRead,
    #[serde(skip_serializing_if = "Option::is_none")]
    /// Measures of its text, if they are asked for.
    pub quality: Option<Quality>,
    words: Option<u32>,
    digests: &'a Digests,
    simhash: Option<&'a str>,
    verdict: &'a str,
    distance: Option<u8>,
    similarity: Option<Similarity>,
    original: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a PageGroup>,
    #[serde(skip_serializing_if = "Option::is_none")]
    supersedes: Option<&'a RecordPlace>,
    record: Option<&'a RecordPlace>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unchanged_since: Option<&'a str>,
    position: String,
}

/// What was read of a page from the archive.
#[derive(Serialize)]
pub struct PageRead {
    headline: Option<String>,
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    markdown: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<String>,
}

impl PageRead {
    /// Of a text that was read in this form.
    pub fn of(read: ReadText, form: Option<Markup>) -> Self {
        let ReadText { page, marked, .. } = read;
        let (mut text, mut markdown, mut html) = (None, None, None);
        match (form, marked) {
            (Some(Markup::Markdown), Some(marked)) => markdown = Some(marked),
            (Some(Markup::Html), Some(marked)) => html = Some(marked),
            // Plain text has no other form.
            _ => text = Some(page.main_text),
        }
        Self {
            headline: page.headline,
            text,
            markdown,
            html,
        }
    }
}

impl<'a> PageOut<'a> {
    /// The page of a visit.
    pub fn of(
        line: &'a LogLine,
        page: &'a PageLine,
        position: Position,
        language: Language,
        read: Option<PageRead>,
    ) -> Self {
        Self {
            url: &line.url,
            canonical: page.canonical.as_ref().unwrap_or(&line.url),
            canonical_hint: page.canonical_hint.as_deref(),
            via: line.via.as_deref(),
            time: &line.time,
            status: line.status,
            mime: line.mime.as_deref(),
            size: line.size,
            title: page.title.as_deref(),
            language: language.name().map(str::to_owned),
            language_score: language.score(),
            declared_language: language.declared,
            robots: &page.robots,
            tag: page.tag.as_deref(),
            read: read.unwrap_or(PageRead {
                headline: None,
                text: None,
                markdown: None,
                html: None,
            }),
            quality: None,
            words: page.words,
            digests: &page.digests,
            simhash: page.simhash.as_deref(),
            verdict: line.verdict.name(),
            distance: page.distance,
            similarity: page.similarity,
            original: line.original.as_deref(),
            group: page.group.as_ref(),
            supersedes: page.supersedes.as_ref(),
            record: page.record.as_ref(),
            unchanged_since: page.unchanged_since.as_deref(),
            position: position.to_string(),
        }
    }
}
