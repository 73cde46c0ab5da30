//! `Pages`: one row per URL whose visit is over, with what came of it.

use serde::{Deserialize, Serialize};

use super::rank::Rank;
use crate::archive::{Location, RecordKind};
use crate::dedup::{Document, DocumentId, Ineligible, Similarity, Tier};
use crate::frontier::{Moment, Validators};
use crate::url::UrlId;

/// What happened to a URL: the row in `Pages`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageRecord {
    /// The URL as it was requested.
    pub url: String,
    /// The page on which it was found.
    pub via: Option<UrlId>,
    /// Links from a seed.
    pub depth: u16,
    /// When: microseconds since 1970.
    pub time: i64,
    /// The last visit that found it, or a duplicate of it, as it is: microseconds since 1970. Up to a
    /// sixteenth of the time after which it expires too early.
    pub last_seen: i64,
    /// Attempts made, this one included.
    pub attempts: u8,
    /// What came of it.
    pub fate: Fate,
    /// When it will be visited again, if it will.
    pub revisit: Option<Revisit>,
    /// What its server named the answer by that is described here, if it may be asked whether that
    /// still holds.
    pub validators: Option<Validators>,
    /// The document, if its response is stored: documents and their postings are rebuilt from here.
    pub document: Option<Document>,
    /// The record that stands for the visit in the archive: response, revisit or metadata.
    pub record: Option<(RecordKind, Location)>,
    /// Of an original, the duplicates whose bodies a rule let be stored.
    pub stored_members: u32,
}

/// When a page is visited again, and what its next visit is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revisit {
    /// Not before. Its row in `Revisits` stands there until the visit is queued.
    pub due: Moment,
    /// From the last visit to that, in milliseconds.
    pub interval: u64,
    /// What the last answer was: equal answers have equal marks.
    pub mark: u64,
}

/// What came of a URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fate {
    /// The server answered.
    Answered {
        /// HTTP status.
        status: u16,
        /// Media type as declared.
        mime: Option<String>,
        /// Bytes of the body as received.
        size: u64,
        /// Title of the page.
        title: Option<String>,
        /// Language as declared.
        language: Option<String>,
        /// What the page calls its canonical URL.
        canonical: Option<String>,
        /// Whether it is stored already.
        judgement: Judgement,
    },
    /// The server answered, and it was asked for a sitemap.
    Sitemap {
        /// HTTP status.
        status: u16,
        /// Indexes that led to it.
        level: u8,
        /// Entries of the file.
        entries: u32,
        /// Bytes of the body as received.
        size: u64,
    },
    /// There is no answer.
    Failed {
        /// Class of the failure.
        class: String,
        /// What happened.
        message: String,
        /// The URL is in its queue again, and will not be tried before; `None`: it is given up.
        next: Option<Moment>,
    },
    /// An earlier crawl was answered: it is not fetched again.
    Known {
        /// HTTP status; 0 if that was not kept.
        status: u16,
        /// Media type as declared.
        mime: Option<String>,
        /// Name of the WARC file that says so.
        archive: String,
    },
}

/// A verdict, as it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Judgement {
    /// An original.
    Unique,
    /// The same as an original.
    Duplicate(Duplicate),
    /// Neither.
    Ineligible(Ineligible),
}

/// What is kept of a page that repeats another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Duplicate {
    /// The original's document, which names the cluster.
    pub of: DocumentId,
    /// The original's page.
    pub page: UrlId,
    /// By which tier.
    pub tier: Tier,
    /// Bits that differ.
    pub distance: u8,
    /// How alike the two are.
    pub similarity: Similarity,
    /// The visit that first found it the same as this original: microseconds since 1970.
    pub first_seen: i64,
    /// The last visit that did: microseconds since 1970.
    pub last_checked: i64,
    /// Where it stands among the members of its cluster.
    pub rank: Rank,
}

impl PageRecord {
    /// What the page repeats, if it is a duplicate.
    pub fn duplicate(&self) -> Option<&Duplicate> {
        match &self.fate {
            Fate::Answered {
                judgement: Judgement::Duplicate(duplicate),
                ..
            } => Some(duplicate),
            _ => None,
        }
    }

    /// The document of the page, if it is an original.
    pub fn original(&self) -> Option<&Document> {
        match &self.fate {
            Fate::Answered {
                judgement: Judgement::Unique,
                ..
            }
            // One that cannot be an original has no fingerprints, so nothing repeats it.
            | Fate::Known { .. } => self.document.as_ref(),
            _ => None,
        }
    }
}
