//! The effects of one visit besides rows of the store: its records in the archive, its line in the
//! log, and their references to each other.

use crate::archive::RecordKind;
use crate::dedup::Stored;
use crate::journal::{LogLine, PageLine};
use crate::url::UrlId;

/// The effects of one visit.
#[derive(Debug, Default)]
pub(crate) struct VisitEffects {
    /// The page whose record the visit wrote, if it did.
    pub(crate) page: Option<UrlId>,
    /// How many of the group's records belong to this visit.
    pub(crate) records: usize,
    /// Which records are the visit's record and its text.
    pub(crate) places: Places,
    /// The visit's line in the log.
    pub(crate) line: Option<LogLine>,
    /// The line's description of an answered page; its places are filled in when they are known.
    pub(crate) page_line: Option<PageLine>,
    /// The page on which the URL was found, to be named in the line.
    pub(crate) via: Option<UrlId>,
    /// What a converter made of the page.
    pub(crate) converted: ConvertedNow,
}

/// What a visit says of the row about what a converter made of its page.
#[derive(Debug, Default)]
pub(crate) enum ConvertedNow {
    /// Nothing: the row stays.
    #[default]
    AsBefore,
    /// The page is none that is converted.
    Gone,
    /// A text, which is in the archive of texts.
    Text,
    /// Nothing, for this reason.
    Failed(String),
}

/// The records of a visit, by their positions among its own.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Places {
    /// Kind and position of the visit's record.
    pub(crate) main: Option<(RecordKind, usize)>,
    /// Where the main text is.
    pub(crate) text: Option<TextPlace>,
}

/// Where a page's main text is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TextPlace {
    /// In a record of the visit.
    Own(RecordKind, usize),
    /// In the archive of texts, at this position among the group's conversions.
    Apart(usize),
    /// In the body of an earlier stored response that says the same.
    Stored(Stored),
}

impl Places {
    /// Returns `true` if the archive keeps the body.
    pub(crate) fn keep_body(&self) -> bool {
        matches!(self.main, Some((RecordKind::Response, _)))
    }
}
