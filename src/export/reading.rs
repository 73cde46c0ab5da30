//! Finds a page that the log names: whether it is wanted, what its language is, and what it says.

use std::sync::{Mutex, PoisonError};

use super::filter::Filter;
use super::language::Language;
use crate::archive::{self, ReadRecord};
use crate::engine::{LogLine, PageLine, ReadText, Texts};
use crate::inspect::chain;
use crate::page::Markup;

/// What is wanted of a page besides what the log says.
#[derive(Debug, Clone, Copy, Default)]
pub struct Want {
    /// Its text.
    pub text: bool,
    /// The same in this form.
    pub markup: Option<Markup>,
    /// Its language, for which it is read if the log does not tell it.
    pub language: bool,
}

/// A page that is given out.
pub struct Found<'a> {
    /// The line of its visit.
    pub line: &'a LogLine,
    /// What the line says of the page.
    pub page: &'a PageLine,
    /// Its language.
    pub language: Language,
    /// What it says, if that is wanted and there is something.
    pub read: Option<ReadText>,
}

/// Finds the pages of a crawl.
pub struct Reader {
    texts: Texts,
    /// The last file that could not be read, to log it once rather than for each page. Locked for
    /// a comparison.
    unreadable: Mutex<Option<String>>,
}

impl Reader {
    /// Reads the texts of a crawl.
    pub fn new(texts: Texts) -> Self {
        Self {
            texts,
            unreadable: Mutex::default(),
        }
    }

    /// Returns the page of a visit, if it has one that is wanted.
    pub fn find<'a>(&self, line: &'a LogLine, filter: &Filter, want: Want) -> Option<Found<'a>> {
        let page = line.page.as_deref()?;
        if !filter.takes(line, page) {
            return None;
        }
        // Lines of earlier versions do not tell the language.
        let is_asked = want.language || !filter.languages.is_empty();
        let tells_language = page.detected.is_some() || !is_asked;
        let read = match want.text || !tells_language {
            true => self.read(line, page, want.markup),
            false => None,
        };
        let language = Language::of(page, read.as_ref());
        if !filter.takes_language(&language) {
            return None;
        }
        // Of a group whose texts differ in digits only, the first one's is enough.
        let is_given = page.group.as_ref().is_none_or(|group| !group.digits_only);
        Some(Found {
            line,
            page,
            language,
            read: read.filter(|_| is_given && want.text),
        })
    }

    /// Returns what a page says, if that can be read.
    pub(super) fn read(
        &self,
        line: &LogLine,
        page: &PageLine,
        markup: Option<Markup>,
    ) -> Option<ReadText> {
        let error = match self.texts.read_page(&line.url, page, markup) {
            Ok(read) => return read,
            Err(error) => error,
        };
        let file = page.text.as_ref().map(|place| place.file.clone());
        self.warn(&line.url, file, &error);
        None
    }

    /// Returns the id of a visit's record, which may have to be read for it.
    pub fn record_id(&self, found: &Found<'_>) -> Option<String> {
        let place = found.page.record.as_ref()?;
        let known = found.read.as_ref().and_then(|read| read.record_id.clone());
        if known.is_some() && found.page.text.as_ref() == Some(place) {
            return known;
        }
        match self.texts.record_id(place) {
            Ok(id) => id,
            Err(error) => {
                self.warn(&found.line.url, Some(place.file.clone()), &error);
                None
            }
        }
    }

    /// Returns the record of a visit, if there is one that can be read.
    pub(super) fn record(&self, found: &Found<'_>) -> Option<ReadRecord> {
        let place = found.page.record.as_ref()?;
        match self.texts.record(place) {
            Ok(record) => Some(record),
            Err(error) => {
                self.warn(&found.line.url, Some(place.file.clone()), &error);
                None
            }
        }
    }

    fn warn(&self, url: &str, file: Option<String>, error: &archive::Error) {
        let last = self.unreadable.lock();
        let mut last = last.unwrap_or_else(PoisonError::into_inner);
        if *last != file {
            let error = chain(error);
            tracing::warn!(url, error, "cannot read texts from this file");
            *last = file;
        }
    }
}
