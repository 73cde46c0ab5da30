//! The life of a URL, as types, one per step, each made from the one before. Read this first.
//!
//! [`FetchTask`] → [`Fetched`] → [`Analysed`] → [`Judged`] → [`Receipt`].
//!
//! The schedule hands out a task; a fetcher makes an outcome of it; an analyst reads the body, once,
//! into plain data; the committer judges it, archives it and commits everything it learned in one
//! batch; the receipt tells the schedule that the visit is over. robots.txt takes the same way and
//! ends in its host's state, a sitemap ends in the URLs that it lists; a URL that robots.txt forbids takes
//! it with a failure in place of an exchange; seeds enter at the commit, as a visit without a fetch, and
//! so does what earlier crawls know.

use std::sync::Arc;
use std::time::Duration;

use crate::dedup::{Document, Fingerprints, Ineligible, Signature, Tier, Verdict};
use crate::fetch::{Failure, FailureClass, Outcome, Reservation};
use crate::frontier::{FetchTask, Moment, Pace, Place, RobotsVerdict};
use crate::page::sitemap::EntryKind;
use crate::page::{Page, Wishes};
use crate::url::{HostKey, Url, UrlId};

use super::messages::SeedsAdded;
use super::options::LiveOptions;
use super::requeue::PutBack;
use crate::rows::PageRecord;
use tokio::sync::oneshot;

/// A visit after the network: what came of it, and when the host may be visited again.
#[derive(Debug)]
pub struct Fetched {
    /// What was to be fetched.
    pub task: FetchTask,
    /// What came of it.
    pub outcome: Outcome,
    /// The host's pace from now on.
    pub pace: Pace,
    /// When the visit ended.
    pub finished: Moment,
    /// Room for the body in the crawl's byte budget; given back when the visit is dropped.
    pub reservation: Reservation,
}

/// A visit after its body was read.
#[derive(Debug)]
pub struct Analysed {
    /// The visit.
    pub fetched: Fetched,
    /// What its body says.
    pub findings: Findings,
    /// Its signatures, or why it cannot be judged.
    pub fingerprints: Result<Fingerprints, Ineligible>,
    /// What the headers of the answer ask of robots.
    pub wishes: Wishes,
    /// SHA-256 of the body as received.
    pub payload: [u8; 32],
    /// What kept the body from being read whole, and other oddities, for the log.
    pub notes: Vec<String>,
}

/// What a body says.
#[derive(Debug)]
pub enum Findings {
    /// A page: text and links.
    Page(Box<Page>),
    /// A robots.txt.
    Robots {
        /// What it means; `None` if it could not be had and should be asked for again.
        verdict: Option<RobotsVerdict>,
        /// The crawl-delay that it asks of us.
        crawl_delay: Option<Duration>,
        /// The sitemaps that it names, as they stand there.
        sitemaps: Vec<String>,
    },
    /// A sitemap, or what was to be one.
    Sitemap(Box<SitemapList>),
    /// There is nothing to read: no answer, no success, or not text.
    Nothing,
}

/// What a sitemap lists.
#[derive(Debug)]
pub struct SitemapList {
    /// Entries in the file.
    pub entries: u32,
    /// Their URLs, those of other languages too.
    pub listed: Vec<Listed>,
}

/// A URL that a sitemap lists, with what is believed of its hints.
#[derive(Debug)]
pub struct Listed {
    /// Absolute, as it was written: what is requested.
    pub url: String,
    /// Its identity in this crawl.
    pub id: UrlId,
    /// What is there.
    pub kind: EntryKind,
    /// When it was last modified.
    pub modified: Option<Moment>,
    /// The site calls it less important than most of its pages.
    pub is_minor: bool,
}

/// A visit after judgement: the last step before it is written down.
#[derive(Debug)]
pub struct Judged<'a> {
    /// The visit.
    pub analysed: &'a Analysed,
    /// Whether its page is stored already.
    pub verdict: Verdict,
    /// The document whose stored payload is this body, byte for byte.
    pub same_payload: Option<Arc<Document>>,
    /// Whether its body is kept, where a rule says so; else the policy of the archive does.
    pub keep: Option<bool>,
    /// What is known of the page, if it was visited before.
    pub previous: Option<Box<PageRecord>>,
    /// The server did not send the page because it is what it was, but what it was does not stand
    /// any more: it has to be asked for without condition.
    pub must_be_whole: bool,
}

impl Analysed {
    /// A number that equal answers share: of the main content, where there is one, because a page's
    /// furniture changes without the page; else of the text, or of bytes and status.
    pub(super) fn mark(&self) -> u64 {
        let fingerprints = self.fingerprints.as_ref().ok();
        let mut kinds = [Tier::Content, Tier::Normalized].into_iter();
        let digest = kinds.find_map(|kind| match fingerprints?.get(kind)? {
            Signature::Digest(digest) => Some(digest),
            _ => None,
        });
        let status = match &self.fetched.outcome {
            Outcome::Exchange(exchange) => u64::from(exchange.status),
            Outcome::Failed(_) => 0,
        };
        let digest = digest.unwrap_or(&self.payload);
        let leading = digest.first_chunk().copied().unwrap_or_default();
        u64::from_be_bytes(leading) ^ status
    }

    /// When the visit was begun: microseconds since 1970.
    pub(super) fn micros(&self) -> i64 {
        match &self.fetched.outcome {
            Outcome::Exchange(exchange) => exchange.started.as_microsecond(),
            Outcome::Failed(_) => self.fetched.finished.micros(),
        }
    }

    /// Turns the visit into a failure of ours: nothing of its answer is kept or followed. A robots.txt
    /// keeps its rules, and loses the sitemaps that it names.
    pub(super) fn fail_internally(&mut self, why: &str) {
        tracing::error!(url = %self.fetched.task.url, why, "the visit is recorded as failed");
        self.fingerprints = Err(Ineligible::Status);
        if let Findings::Robots { sitemaps, .. } = &mut self.findings {
            sitemaps.clear();
            return;
        }
        self.findings = Findings::Nothing;
        self.fetched.outcome = Outcome::Failed(Failure::new(FailureClass::Internal, why));
        self.fetched.reservation = Reservation::default();
    }

    /// Entries of the sitemap that was visited.
    pub(super) fn sitemap_entries(&self) -> u32 {
        match &self.findings {
            Findings::Sitemap(list) => list.entries,
            _ => 0,
        }
    }
}

impl Judged<'_> {
    /// The server says that what it answered the last time still holds, and did not send it again.
    pub(super) fn is_not_modified(&self) -> bool {
        let fetched = &self.analysed.fetched;
        fetched.task.queued.validators.is_some()
            && matches!(&fetched.outcome, Outcome::Exchange(exchange) if exchange.is_not_modified())
    }
}

/// What enters the committer.
#[derive(Debug)]
pub enum Entry {
    /// A visit.
    Visit(Box<Analysed>),
    /// Seeds.
    Seeds(Seeds),
    /// What earlier crawls know.
    Known(KnownPages),
    /// What failed and is to be tried again.
    PutBack(Box<PutBack>),
    /// Settings that hold from now on, and who waits for them to.
    Settings(Box<LiveOptions>, oneshot::Sender<()>),
}

/// What part of a WARC file of an earlier crawl knows.
#[derive(Debug)]
pub struct KnownPages {
    /// Name of the file.
    pub archive: String,
    /// The URLs, in the order of the file.
    pub pages: Vec<KnownPage>,
    /// The row that remembers how far the file was read.
    pub progress: Vec<u8>,
    /// Bytes that were read of it.
    pub through: u64,
}

/// A URL that an earlier crawl was answered at.
#[derive(Debug)]
pub struct KnownPage {
    /// As it was requested.
    pub url: String,
    /// Its identity in this crawl.
    pub id: UrlId,
    /// When: microseconds since 1970.
    pub time: i64,
    /// HTTP status; 0 if that was not kept.
    pub status: u16,
    /// Media type as declared.
    pub mime: Option<String>,
    /// The record that has the body, if there is one.
    pub body: Option<KnownBody>,
}

/// A body in the archive of an earlier crawl.
#[derive(Debug)]
pub struct KnownBody {
    /// The id of its record; zeros if that is no UUID.
    pub record: [u8; 16],
    /// SHA-256 of the payload.
    pub payload: [u8; 32],
    /// Its signatures, if it is a page that can be an original.
    pub fingerprints: Option<Fingerprints>,
    /// Whether it is a refusal in place of the page.
    pub is_refusal: bool,
}

/// URLs to begin from, as they were written.
#[derive(Debug)]
pub struct Seeds {
    /// The URLs.
    pub urls: Vec<Url>,
    /// A person gave them with the command: that is consent to visit their hosts where these are
    /// private addresses. What arrives otherwise may come from anywhere.
    pub consent: bool,
    /// Who waits for them to be committed.
    pub reply: Option<oneshot::Sender<SeedsAdded>>,
}

/// What the schedule learns of a commit.
#[derive(Debug, Default)]
pub struct Receipt {
    /// The visit that is over; `None` for seeds.
    pub visit: Option<Done>,
    /// Hosts to whose queues the visit added URLs, and when they may be visited.
    pub queued: Vec<(HostKey, Moment)>,
    /// A host whose queue has changed otherwise: what was read of it may not hold.
    pub reread: Option<HostKey>,
}

/// A visit that is over.
#[derive(Debug)]
pub struct Done {
    /// Its host.
    pub host: HostKey,
    /// The queue row that is gone; `None` for a robots.txt.
    pub place: Option<Place>,
    /// The host was asked (robots.txt did not forbid it).
    pub handed_out: bool,
    /// It counts towards the pages of this run: the server answered.
    pub counted: bool,
}
