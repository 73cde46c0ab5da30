//! The rows that the engine keeps in the store: pages, the crawl's state, deltas.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::clusters::Rank;
use super::fetch_log::LogTail;
use crate::archive::{Location, RecordKind, Tail};
use crate::dedup::{Document, DocumentId, Ineligible, Kind, Posting, Similarity};
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
    pub kind: Kind,
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

/// The crawl's state: the row `state` in `Meta`, rewritten by every commit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CrawlState {
    /// Number of the last commit.
    pub sequence: u64,
    /// Number of the last URL queued.
    pub queue_sequence: u64,
    /// Number of the last document.
    pub last_document: DocumentId,
    /// Number of the commit up to which the last checkpoint made runs durable.
    pub runs_checkpointed: u64,
    /// The last document that the last checkpoint wrote.
    pub documents_checkpointed: DocumentId,
    /// The end of the archive.
    pub archive: Tail,
    /// The end of the log.
    pub log: LogTail,
    /// No row of `Revisits` is due before: where reading begins, so that it does not walk over the
    /// tombstones of visits that were queued.
    pub revisits_from: Moment,
    /// Documents that expired since the runs were last purged of such.
    pub unpurged: u64,
    /// A purge was begun, and perhaps not ended.
    pub is_purging: bool,
    /// Documents that expired since the documents' folder was last built.
    pub dead_rows: u64,
    /// URLs that left their queues since the space of such was last given back.
    pub left_queues: u64,
    /// What was done so far.
    pub counters: Counters,
}

/// What was done since the crawl began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// URLs waiting.
    pub queued: u64,
    /// Those of them whose hosts are parked.
    #[serde(default)]
    pub parked: u64,
    /// Hosts that are parked with URLs waiting.
    #[serde(default)]
    pub parked_hosts: u64,
    /// URLs given by the user.
    pub seeds: u64,
    /// URLs whose server answered.
    pub pages: u64,
    /// URLs given up without an answer, robots.txt aside.
    pub failed: u64,
    /// URLs that robots.txt forbids.
    pub forbidden: u64,
    /// Answers to requests for robots.txt.
    pub robots: u64,
    /// Answers to requests for sitemaps.
    #[serde(default)]
    pub sitemaps: u64,
    /// Entries that these had.
    #[serde(default)]
    pub sitemap_entries: u64,
    /// Bytes of bodies received.
    pub bytes: u64,
    /// Attempts that will be made again.
    pub retries: u64,
    /// Hosts with a row.
    pub hosts: u64,
    /// Pages by verdict.
    pub verdicts: BTreeMap<String, u64>,
    /// Pages that can be neither original nor duplicate, by reason.
    pub ineligible: BTreeMap<String, u64>,
    /// Pages by first digit of their status.
    pub statuses: BTreeMap<u16, u64>,
    /// URLs given up, by class of failure.
    pub failures: BTreeMap<String, u64>,
    /// Links by what admission said.
    pub links: BTreeMap<String, u64>,
    /// How often a host, or a pattern of its URLs, lost its budget for duplicates.
    pub demoted: u64,
    /// Bytes of archive files.
    pub archived_bytes: u64,
    /// URLs that are known from earlier crawls.
    pub known: u64,
    /// Further visits of pages, by what they found. Pages, verdicts and statuses count first
    /// visits only, so that they are numbers of URLs.
    pub revisits: BTreeMap<String, u64>,
}

impl Counters {
    /// URLs that are finished.
    pub fn done(&self) -> u64 {
        self.pages + self.failed + self.forbidden
    }
}

/// What one commit added to runs and documents: the row in `Deltas`, replayed after a crash.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Delta {
    /// Keys of URLs seen.
    pub seen: Vec<u64>,
    /// Keys of documents.
    pub postings: Vec<Posting>,
    /// Documents.
    pub documents: Vec<Document>,
    /// Documents that expired.
    pub expired: Vec<DocumentId>,
}

impl Delta {
    /// Keys in this delta.
    pub(super) fn keys(&self) -> usize {
        self.seen.len() + self.postings.len() + self.expired.len()
    }
}
