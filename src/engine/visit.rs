//! The life of a URL as types, one per step, each made from the one before. Read this first.
//!
//! [`FetchTask`] → [`Fetched`] → [`Analysed`] → [`Judged`] → [`Receipt`].
//!
//! The schedule hands out a task; a fetcher makes an outcome of it; an analyst reads the body,
//! once, into plain data; the committer judges and archives the visit, and commits everything it
//! learned in one batch; the receipt tells the schedule that the visit is over. robots.txt takes
//! the same way and ends in its host's state, and a sitemap ends in the URLs that it lists. A URL
//! that robots.txt forbids takes it with a failure instead of an exchange. Seeds enter at the
//! commit, as a visit without a fetch, and so does what earlier crawls know.

use std::sync::Arc;
use std::time::Duration;

use crate::archive::PackedBody;
use crate::dedup::own::{Lines, OwnLines, Restless};
use crate::dedup::{Document, Fingerprints, Ineligible, Repeat, Signature, Stored, Tier, Verdict};
use crate::fetch::{Exchange, Failure, FailureClass, Outcome, Reservation};
use crate::frontier::{
    FetchTask, Moment, Pace, Place, RobotsVerdict, Seed, SeedSettings, Spender, Validators,
};
use crate::learn::{Spent, TrapPolicy};
use crate::page::sitemap::EntryKind;
use crate::page::{Link, Page, Requisites, Wishes};
use crate::url::{HostKey, UrlId};

use super::events::{Events, Happening};
use super::exchange::{Arrived, Heard};
use super::forget::ForgetPart;
use super::hold::HoldOrder;
use super::messages::SeedsAdded;
use super::options::LiveOptions;
use super::requeue::PutBack;
use super::ring::convert::Conversion;
use super::ring::room::Share;
use super::ring::turns::Turn;
use crate::rows::{EarlierFile, EarlierPage, PageRecord};
use tokio::sync::oneshot;

/// A visit after the fetch: its outcome, and when the host may be visited again.
#[derive(Debug)]
pub struct Fetched {
    /// The task.
    pub task: FetchTask,
    /// What an earlier crawl holds of the URL, if it was asked for by that.
    pub earlier: Option<Box<EarlierPage>>,
    /// The outcome of the fetch.
    pub outcome: Outcome,
    /// The host's pace from now on.
    pub pace: Pace,
    /// Time at which the fetch ended.
    pub finished: Moment,
    /// Set if the task was handed out as a visit, and not given up before.
    pub was_handed_out: bool,
    /// Memory for the body in the crawl's byte budget; released when the visit is dropped.
    pub reservation: Reservation,
    /// The right to be read and committed; over when the visit is dropped.
    pub turn: Turn,
}

/// A visit after its body was read.
#[derive(Debug)]
pub struct Analysed {
    /// The analysed visit.
    pub fetched: Fetched,
    /// How the response compares with that of an earlier crawl, if that has one.
    pub since: Option<Since>,
    /// What the body says.
    pub findings: Findings,
    /// What the page, the style sheet or the frame needs, if that is fetched.
    pub requisites: Requisites,
    /// Signatures of the page, or why it cannot be judged.
    pub fingerprints: Result<Fingerprints, Ineligible>,
    /// The SimHash that others are told: by the seed that everybody knows.
    pub simhash: Option<u64>,
    /// What became of a body that is neither HTML nor text.
    pub conversion: Conversion,
    /// What the headers of the response ask of robots.
    pub wishes: Wishes,
    /// SHA-256 of the body as received.
    pub payload: [u8; 32],
    /// What kept the body from being read completely, and anything unusual, for the log.
    pub notes: Vec<String>,
    /// Set if the response comes from the archive, because what the page repeated is being
    /// forgotten: it is judged anew although it has not changed.
    pub is_rehomed: bool,
    /// Memory for the findings; released when the visit is dropped.
    pub share: Share,
    /// How long it took to read the body.
    pub took: Duration,
}

/// How a first response compares with what an earlier crawl holds (`archive.since`).
#[derive(Debug)]
pub enum Since {
    /// It is the same: the archive refers to the earlier crawl's record.
    Unchanged {
        /// What the earlier crawl holds.
        page: Box<EarlierPage>,
        /// The answer, if the server sent no body because the page is unmodified: the outcome of
        /// the visit is then what it would have sent.
        not_modified: Option<Box<Exchange>>,
    },
    /// It is another, or cannot be compared.
    Changed,
    /// The server sent no body because the page is unmodified, and the earlier body cannot be read.
    Lost,
}

/// What a body says.
#[derive(Debug)]
pub enum Findings {
    /// A page: text and links.
    Page(Box<Page>),
    /// A robots.txt.
    Robots {
        /// What it means; `None` if it could not be fetched and should be requested again.
        verdict: Option<RobotsVerdict>,
        /// The crawl delay that it asks of us.
        crawl_delay: Option<Duration>,
        /// The sitemaps that it names, as written.
        sitemaps: Vec<String>,
    },
    /// A sitemap, or what was requested as one.
    Sitemap(Box<SitemapList>),
    /// Nothing to read: no response, no success, or not text.
    Nothing,
}

impl Findings {
    /// Returns about how much memory they take, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let of = |urls: &mut dyn Iterator<Item = usize>, each: usize| -> usize {
            urls.map(|length| length + each).sum()
        };
        match self {
            Self::Page(page) => {
                let mut links = page.links.iter().map(|link| link.url.len());
                // Lines are kept as parts of the page, too.
                of(&mut links, size_of::<Link>()) + page.main_text.len() + 2 * page.full_text.len()
            }
            Self::Sitemap(list) => {
                let mut listed = list.listed.iter().map(|listed| listed.url.len());
                of(&mut listed, size_of::<Listed>())
            }
            Self::Robots { .. } | Self::Nothing => 0,
        }
    }
}

/// What a sitemap lists.
#[derive(Debug, Default)]
pub struct SitemapList {
    /// Number of entries in the file.
    pub entries: u32,
    /// The URLs of the entries, including those of other languages.
    pub listed: Vec<Listed>,
}

/// A URL that a sitemap lists, with those of its hints that are used.
#[derive(Debug)]
pub struct Listed {
    /// Absolute URL as written, which is what is requested.
    pub url: String,
    /// Its id in this crawl.
    pub id: UrlId,
    /// What is at the URL.
    pub kind: EntryKind,
    /// Time of the last modification.
    pub modified: Option<Moment>,
    /// Set if the site calls it less important than most of its pages.
    pub is_minor: bool,
}

/// A visit after judgement, the last step before it is written.
#[derive(Debug)]
pub struct Judged<'a> {
    /// The analysed visit.
    pub analysed: &'a Analysed,
    /// The verdict on its page.
    pub verdict: Verdict,
    /// The document whose stored response has this body, byte for byte, under a head that a player
    /// of archives treats alike.
    pub same_payload: Option<Arc<Document>>,
    /// Set if the response, once stored, is to be found again by its payload.
    pub is_found_again: bool,
    /// Whether the body is kept, if a rule decides that; otherwise the archive's policy does.
    pub keep: Option<bool>,
    /// Whether the body of a duplicate is kept beside its original's, since it is not stored.
    pub keeps_body: bool,
    /// The closest original that the page resembles, if it is a page of its own.
    pub like: Option<Repeat>,
    /// The page record, if the page was visited before.
    pub previous: Option<Box<PageRecord>>,
    /// Set if the server sent 304, but the page is no longer what its validators stood for, so it
    /// has to be requested unconditionally.
    pub must_be_whole: bool,
    /// What the seed says from which the URL was found, if it has settings of its own.
    pub seed: Option<Arc<SeedSettings>>,
    /// What the page has of its own.
    pub own: Own,
}

/// What a page has of its own.
#[derive(Debug, Default)]
pub struct Own {
    /// What it adds to its site.
    pub novelty: Novelty,
    /// The lines that make it new, if they are few.
    pub news: Vec<News>,
    /// Whether pictures or data are among what makes it new.
    pub has_new_pictures: bool,
    /// Its lines as they are stored if it becomes an original; `None` if it was not read.
    pub parts: Option<Lines>,
    /// The same with what each is on its site.
    pub lines: Option<OwnLines>,
    /// Lines that changed since its last visit, right before.
    pub changed: Vec<Restless>,
    /// Lines without which it would repeat an original.
    pub doubts: Vec<Restless>,
}

/// A line that makes a page new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct News {
    /// Hash of the line.
    pub line: u32,
    /// Hash of its text without numbers.
    pub letters: u32,
    /// The sum of its numbers, if it has any.
    pub sum: Option<u32>,
    /// Its slot, if it is not known whether the line there changes with each fetch.
    pub doubtful: Option<u32>,
}

/// What a page adds to its site.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Novelty {
    /// A line of its own was never seen on the site.
    New,
    /// All that it says was seen on the site, or only repeats its URL.
    Nothing,
    /// There is no page to say it of.
    #[default]
    Unknown,
}

/// What is kept of the body of a duplicate, until its records have their places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptBody {
    /// The body; its visit's record is filled in when that is known.
    pub packed: PackedBody,
    /// The response that it is a delta against, if it is one.
    pub base: Option<Stored>,
}

impl Analysed {
    /// Returns a number that equal responses share: of the main content if there is one, because a
    /// page's frame changes without the page; else of the text, or of bytes and status.
    pub(crate) fn mark(&self) -> u64 {
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

    /// Returns the time at which the visit began, in microseconds since 1970.
    pub(crate) fn micros(&self) -> i64 {
        match &self.fetched.outcome {
            Outcome::Exchange(exchange) => exchange.started.as_microsecond(),
            Outcome::Failed(_) => self.fetched.finished.micros(),
        }
    }

    /// Turns the visit into an internal failure: nothing of its response is kept or followed. A
    /// robots.txt keeps its rules and loses the sitemaps that it names.
    pub(crate) fn fail_internally(&mut self, why: &str, events: &Events) {
        events.tell(&Happening::VisitFailed {
            url: self.fetched.task.url.to_string(),
            why: why.to_owned(),
        });
        self.fingerprints = Err(Ineligible::Status);
        if let Findings::Robots { sitemaps, .. } = &mut self.findings {
            sitemaps.clear();
            return;
        }
        self.findings = Findings::Nothing;
        self.since = None;
        self.requisites = Requisites::default();
        self.fetched.outcome = Outcome::Failed(Failure::new(FailureClass::Internal, why));
        self.fetched.reservation = Reservation::default();
    }

    /// Returns what an earlier crawl holds of the page, if that has not changed since.
    pub(crate) fn unchanged_since(&self) -> Option<&EarlierPage> {
        match &self.since {
            Some(Since::Unchanged { page, .. }) => Some(page),
            _ => None,
        }
    }

    /// Returns the number of bytes of the body that an earlier crawl had, in place of one that was
    /// not sent.
    pub(crate) fn borrowed(&self) -> usize {
        match (&self.since, &self.fetched.outcome) {
            (
                Some(Since::Unchanged {
                    not_modified: Some(_),
                    ..
                }),
                Outcome::Exchange(exchange),
            ) => exchange.body.len(),
            _ => 0,
        }
    }

    /// Returns the number of bytes of the body that were received.
    pub(crate) fn received(&self) -> u64 {
        match &self.fetched.outcome {
            Outcome::Exchange(exchange) => (exchange.body.len() - self.borrowed()) as u64,
            Outcome::Failed(_) => 0,
        }
    }

    /// Returns the number of entries of the sitemap that was visited.
    pub(crate) fn sitemap_entries(&self) -> u32 {
        match &self.findings {
            Findings::Sitemap(list) => list.entries,
            _ => 0,
        }
    }
}

impl Judged<'_> {
    /// Returns the tag of the seed from which the URL was found.
    pub(crate) fn tag(&self) -> Option<&str> {
        self.seed.as_deref()?.tag.as_deref()
    }

    /// Returns `true` if the server says that its last response is still valid, and did not send it
    /// again.
    pub(crate) fn is_not_modified(&self) -> bool {
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
    /// What arrived from another shard of the crawl.
    Links(Box<Arrived>),
    /// What another shard has committed of what was sent to it.
    Acknowledged {
        /// Number of that shard.
        to: u16,
        /// Number of the last message.
        through: u64,
    },
    /// What this shard told all others and has come back, and what these told.
    Heard(Box<Heard>),
    /// What earlier crawls know.
    Known(KnownPages),
    /// What earlier crawls hold of pages that are asked for again.
    Earlier(EarlierPart),
    /// Failed URLs to be requeued.
    PutBack(Box<PutBack>),
    /// Hosts to be held, or to go on.
    Hold(HoldOrder),
    /// A part of what is being forgotten, with visits out of the archive.
    Forget(Box<ForgetPart>, Vec<Analysed>),
    /// Settings that apply from now on, and where to reply when they are in force.
    Settings(Box<LiveOptions>, oneshot::Sender<()>),
}

impl Entry {
    /// Whether it is a visit, or is committed beside visits: what comes of the exchange with other
    /// shards. Anything else parts those before it from those behind it, and somebody waits for it.
    pub(crate) fn joins_visits(&self) -> bool {
        matches!(
            self,
            Self::Visit(_) | Self::Links(_) | Self::Acknowledged { .. } | Self::Heard(_)
        )
    }
}

/// What a part of a WARC file of an earlier crawl knows.
#[derive(Debug)]
pub struct KnownPages {
    /// Name of the file.
    pub archive: String,
    /// The URLs, in the order of the file.
    pub pages: Vec<KnownPage>,
    /// The row that records how far the file was read.
    pub progress: Vec<u8>,
    /// Number of bytes read of the file.
    pub through: u64,
}

/// A URL to which an earlier crawl had a response.
#[derive(Debug)]
pub struct KnownPage {
    /// The URL as requested.
    pub url: String,
    /// Its id in this crawl.
    pub id: UrlId,
    /// Time of the response, in microseconds since 1970.
    pub time: i64,
    /// HTTP status; 0 if it was not recorded.
    pub status: u16,
    /// Media type as declared.
    pub mime: Option<String>,
    /// The record with the body, if there is one.
    pub body: Option<KnownBody>,
}

/// A body in the archive of an earlier crawl.
#[derive(Debug)]
pub struct KnownBody {
    /// Id of its record; zeros if that is not a UUID.
    pub record: [u8; 16],
    /// SHA-256 of the payload.
    pub payload: [u8; 32],
    /// Signatures of the page, if it can be an original.
    pub fingerprints: Option<Fingerprints>,
    /// Set if it is a refusal in place of the page.
    pub is_refusal: bool,
}

/// What a part of a WARC file of an earlier crawl holds.
#[derive(Debug)]
pub struct EarlierPart {
    /// Name of the file.
    pub name: String,
    /// The file, with how far it was read.
    pub file: EarlierFile,
    /// What it holds, in the order of the file.
    pub captures: Vec<EarlierCapture>,
}

/// An answer that an earlier crawl got, and kept as a response or a revisit record.
#[derive(Debug)]
pub struct EarlierCapture {
    /// Id of the URL as it is written.
    pub id: UrlId,
    /// The URL.
    pub url: String,
    /// Time of the answer, in microseconds since 1970.
    pub seen: i64,
    /// What its head has to be asked for by.
    pub validators: Option<Validators>,
    /// Where its body is.
    pub held: Held,
}

/// Where the body of an answer is that an earlier crawl got.
#[derive(Debug)]
pub enum Held {
    /// In this record.
    Here(EarlierPage),
    /// In the record that this one refers to.
    ReferredTo {
        /// UUID of the record; zeros if it is not named.
        record: [u8; 16],
        /// The URL that it is about, and its id as it is written.
        url: (UrlId, String),
        /// Its time, in microseconds since 1970.
        date: i64,
    },
    /// In no record that a revisit could refer to.
    Nowhere,
}

/// Seeds, as written.
#[derive(Debug)]
pub struct Seeds {
    /// The seeds.
    pub seeds: Vec<Seed>,
    /// Set if a user gave them with the command, which is consent to visit their hosts at private
    /// addresses. Seeds that arrive in other ways may come from anywhere.
    pub consent: bool,
    /// The position of the last of them in the list that all shards of the crawl read, if they come
    /// from there: no shard has to tell another one of them.
    pub listed: Option<u64>,
    /// Where to reply when they are committed.
    pub reply: Option<oneshot::Sender<SeedsAdded>>,
}

/// What the schedule learns of a commit.
#[derive(Debug, Default)]
pub struct Receipt {
    /// The visit that is over; `None` for seeds.
    pub visit: Option<Done>,
    /// Hosts to whose queues the visit added URLs, and when they may be visited.
    pub queued: Vec<(HostKey, Moment)>,
    /// Hosts whose failures are forgotten, and when they may be visited.
    pub relieved: Vec<(HostKey, Moment)>,
    /// A host whose queue has changed otherwise, so that what was read of it may be stale.
    pub reread: Option<HostKey>,
    /// Budgets that the visit has used up.
    pub spent: Vec<UsedUp>,
    /// A host, and whether a person holds it.
    pub held: Option<(HostKey, bool)>,
}

/// A budget that is used up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedUp {
    /// Whose budget it is.
    pub by: Spender,
    /// What was spent.
    pub spent: Spent,
    /// The name of the setting.
    pub setting: &'static str,
}

impl UsedUp {
    /// Returns the setting by which the URLs of a host are given up for that, if they are: a host
    /// may have a budget of its own.
    pub(crate) fn ends(&self, policy: &TrapPolicy) -> Option<&'static str> {
        match self.by {
            Spender::Host(_) => self.spent.by_host(policy),
            Spender::Domain(_) => self.spent.by_domain(policy),
        }
    }
}

/// A visit that is over.
#[derive(Debug)]
pub struct Done {
    /// Its host.
    pub host: HostKey,
    /// The queue entry that is gone; `None` for a robots.txt.
    pub place: Option<Place>,
    /// Set if the task was handed out as a visit, and not given up before.
    pub handed_out: bool,
    /// Set if the visit counts towards the pages of this run: the server responded.
    pub counted: bool,
}
