//! `Pages`: one row per visited URL, with the result of the visit.

use serde::{Deserialize, Serialize};

use super::rank::Rank;
use crate::archive::{Location, RecordKind};
use crate::dedup::{Document, DocumentId, Ineligible, Similarity, Tier};
use crate::frontier::{Moment, Purpose, RequisiteOf, Validators};
use crate::url::UrlId;

/// What happened to a URL: the row in `Pages`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageRecord {
    /// The URL as requested.
    pub url: String,
    /// The page on which the URL was found.
    pub via: Option<UrlId>,
    /// Number of links followed from a seed.
    pub depth: u16,
    /// Time of the visit, in microseconds since 1970.
    pub time: i64,
    /// Last time this page or a duplicate of it was seen, in microseconds since 1970. May lag by up
    /// to a sixteenth of `expire_after`.
    pub last_seen: i64,
    /// Attempts made, including this one.
    pub attempts: u8,
    /// Result of the visit.
    pub fate: Fate,
    /// When the page is visited again, if it is.
    pub revisit: Option<Revisit>,
    /// Validators of the described response; `None` if the page must be fetched unconditionally.
    pub validators: Option<Validators>,
    /// The document, if the response is stored. Documents and their postings are rebuilt from here.
    pub document: Option<Document>,
    /// The visit's record in the archive: response, revisit or metadata.
    pub record: Option<(RecordKind, Location)>,
    /// For an original, the number of duplicates whose bodies were stored because of a rule.
    pub stored_members: u32,
}

/// When a page is visited again, and what the visit is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revisit {
    /// Earliest time of the visit. The row in `Revisits` has this time until the visit is queued.
    pub due: Moment,
    /// Time from the last visit to `due`, in milliseconds.
    pub interval: u64,
    /// Fingerprint of the last response: equal responses have equal marks.
    pub mark: u64,
}

/// The result of visiting a URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fate {
    /// The server responded.
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
        /// The URL that the page names as canonical.
        canonical: Option<String>,
        /// The verdict on the page.
        judgement: Judgement,
    },
    /// The server responded to a request for a sitemap.
    Sitemap {
        /// HTTP status.
        status: u16,
        /// Number of sitemap indexes that led to it.
        level: u8,
        /// Number of entries.
        entries: u32,
        /// Bytes of the body as received.
        size: u64,
    },
    /// There was no response.
    Failed {
        /// Failure class.
        class: String,
        /// What happened.
        message: String,
        /// If the URL is queued again, the time before which it is not tried; `None` if it is given
        /// up.
        next: Option<Moment>,
    },
    /// An earlier crawl has a response, so the URL is not fetched again.
    Known {
        /// HTTP status; 0 if it was not recorded.
        status: u16,
        /// Media type as declared.
        mime: Option<String>,
        /// Name of the WARC file with the response.
        archive: String,
    },
    /// The server responded to a request for a file that a page needs to be shown.
    Requisite {
        /// The page, and what is read of the file.
        of: RequisiteOf,
        /// HTTP status.
        status: u16,
        /// Media type as declared.
        mime: Option<String>,
        /// Bytes of the body as received.
        size: u64,
    },
    /// There was no response to a request for such a file.
    FailedRequisite {
        /// The page, and what is read of the file.
        of: RequisiteOf,
        /// Failure class.
        class: String,
        /// What happened.
        message: String,
        /// If it is queued again, the time before which it is not tried; `None` if it is given up.
        next: Option<Moment>,
    },
}

impl Fate {
    /// Returns the fate of a URL that was fetched for this purpose, without a response.
    pub fn failed(purpose: Purpose, class: &str, message: String, next: Option<Moment>) -> Self {
        let class = class.to_owned();
        match purpose {
            Purpose::Requisite(of) => Self::FailedRequisite {
                of,
                class,
                message,
                next,
            },
            _ => Self::Failed {
                class,
                message,
                next,
            },
        }
    }
}

/// A verdict, as stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Judgement {
    /// An original.
    Unique,
    /// A duplicate of an original.
    Duplicate(Duplicate),
    /// Neither.
    Ineligible(Ineligible),
}

/// What is kept of a page that repeats another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Duplicate {
    /// Document of the original, which names the cluster.
    pub of: DocumentId,
    /// URL id of the original.
    pub page: UrlId,
    /// Tier of the duplicate.
    pub tier: Tier,
    /// Number of bits in which the `SimHash`es differ.
    pub distance: u8,
    /// Similarity of the two pages.
    pub similarity: Similarity,
    /// First visit that found it to be a duplicate of this original, in microseconds since 1970.
    pub first_seen: i64,
    /// Last visit that did, in microseconds since 1970.
    pub last_checked: i64,
    /// Rank among the members of its cluster.
    pub rank: Rank,
}

impl PageRecord {
    /// Returns why the URL was fetched.
    pub fn purpose(&self) -> Purpose {
        match self.fate {
            Fate::Sitemap { level, .. } => Purpose::Sitemap { level },
            Fate::Requisite { of, .. } | Fate::FailedRequisite { of, .. } => Purpose::Requisite(of),
            Fate::Answered { .. } | Fate::Failed { .. } | Fate::Known { .. } => Purpose::Page,
        }
    }

    /// Returns what is kept of a duplicate, if the page is one.
    pub fn duplicate(&self) -> Option<&Duplicate> {
        match &self.fate {
            Fate::Answered {
                judgement: Judgement::Duplicate(duplicate),
                ..
            } => Some(duplicate),
            _ => None,
        }
    }

    /// Returns the document of the page, if it is an original.
    pub fn original(&self) -> Option<&Document> {
        match &self.fate {
            Fate::Answered {
                judgement: Judgement::Unique,
                ..
            }
            // A page that cannot be an original has no fingerprints, so no page is found to repeat
            // it.
            | Fate::Known { .. } => self.document.as_ref(),
            _ => None,
        }
    }
}
