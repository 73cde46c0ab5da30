//! Analysts: threads that turn a fetched visit into an analysed one. They decode, parse and sign
//! one body at a time.
//!
//! The tree of a page never leaves its analyst. A page that makes the parser panic costs that page
//! only: its visit ends as an internal failure.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use sha2::{Digest, Sha256};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::observe::{LeftUndone, Waiting};
use super::reading::{Answer, Reader, Signed};
use super::room::{Room, Share};
use super::since::LookBack;
use super::suspects::Suspects;
use crate::dedup::Ineligible;
use crate::engine::events::{Events, Happening};
use crate::engine::visit::{Analysed, Entry, Fetched, Findings, Listed, Since, SitemapList};
use crate::fetch::{
    self, Cut, DECODED_LENGTH, DecodeBounds, Exchange, Failure, FailureClass, Outcome,
};
use crate::frontier::{
    FetchTask, Moment, Purpose, Reading, RequisiteMode, RobotsVerdict, SharedPolicies, SitemapMode,
};
use crate::page::sitemap::{self, SitemapForm, SitemapOptions, read_sitemap};
use crate::page::{Requisites, Wishes};
use crate::robots::{self, Availability, Rules};
use crate::url::{HostKey, Url, UrlId};

/// Maximum size of the URLs taken from one sitemap, in bytes; a full sitemap has some 5 MB of them.
const MAX_LISTED_BYTES: usize = 16 << 20;

/// What a body says, and its signatures or the reason why it has none.
type Analysis = (Findings, Signed);

/// What an analyst needs besides its visits.
#[derive(Clone)]
pub(crate) struct Analysts {
    pub(crate) reader: Reader,
    pub(crate) policies: SharedPolicies,
    /// Counts the analysts that wait for the committer.
    pub(crate) waiting: Waiting,
    /// Time at which the run ends, whatever is left.
    pub(crate) curfew: Curfew,
    /// Notes visits that are left to the next run.
    pub(crate) left_undone: LeftUndone,
    /// Pages that may kill the process.
    pub(crate) suspects: Arc<Suspects>,
    /// What earlier crawls hold, if pages are compared with that.
    pub(crate) since: Option<Arc<LookBack>>,
    /// Who is told of pages that cannot be read; `None` outside a run.
    pub(crate) events: Option<Events>,
}

/// An instant after which nothing more is read. Visits that wait then are left to the next run,
/// which repeats them: a run that is to end must not wait for pages that take long to read.
#[derive(Clone, Default)]
pub(crate) struct Curfew(Arc<OnceLock<Instant>>);

impl Curfew {
    /// Sets the instant. Only the first call has an effect.
    pub(crate) fn set(&self, instant: Instant) {
        let _ = self.0.set(instant);
    }

    fn has_passed(&self) -> bool {
        self.0
            .get()
            .is_some_and(|instant| *instant <= Instant::now())
    }
}

impl Analysts {
    /// Returns the state at the beginning of a run: no analyst waits and no end is set.
    pub(crate) fn new(reader: Reader, policies: SharedPolicies) -> Self {
        Self {
            reader,
            policies,
            waiting: Waiting::default(),
            curfew: Curfew::default(),
            left_undone: LeftUndone::default(),
            suspects: Arc::default(),
            since: None,
            events: None,
        }
    }

    /// Starts `count` analysts, whose pages share this room. They end when the fetchers or the
    /// committer are gone.
    pub(crate) fn start(
        &self,
        count: usize,
        room: &Room,
        fetched: mpsc::Receiver<(Fetched, OwnedSemaphorePermit)>,
        analysed: &SyncSender<Entry>,
    ) -> std::io::Result<Vec<JoinHandle<()>>> {
        // The lock is held while waiting for a visit; the other analysts wait for the lock instead.
        let fetched = Arc::new(Mutex::new(fetched));
        (0..count)
            .map(|n| {
                let (analyst, fetched, analysed) =
                    (self.clone(), Arc::clone(&fetched), analysed.clone());
                let room = room.clone();
                thread::Builder::new()
                    .name(format!("analyst-{n}"))
                    .spawn(move || {
                        loop {
                            let next = fetched
                                .lock()
                                .unwrap_or_else(PoisonError::into_inner)
                                .blocking_recv();
                            let Some((visit, permit)) = next else {
                                return;
                            };
                            drop(permit);
                            visit.turn.take_up();
                            if analyst.curfew.has_passed() {
                                analyst.left_undone.note();
                                continue;
                            }
                            let mut visit = Box::new(analyst.analyse_as(n, visit));
                            let sent = analyst.waiting.during(|| {
                                let bytes = visit.findings.bytes() + visit.requisites.bytes();
                                let bytes = bytes + visit.borrowed();
                                visit.share = room.take(bytes);
                                analysed.send(Entry::Visit(visit))
                            });
                            if sent.is_err() {
                                return;
                            }
                        }
                    })
            })
            .collect()
    }

    /// As [`analyse`](Self::analyse), as the analyst of this number; a page of which the process
    /// has died too often is not read.
    fn analyse_as(&self, number: usize, mut fetched: Fetched) -> Analysed {
        let id = fetched.task.queued.id;
        if let Some(deaths) = self.suspects.died_too_often(id) {
            let why = format!("gleaner died {deaths} times while this page was read");
            self.tell(&Happening::NotRead {
                url: fetched.task.url.to_string(),
                why: why.clone(),
            });
            fetched.outcome = Outcome::Failed(Failure::new(FailureClass::Internal, why));
        }
        self.suspects.during(number, id, || self.analyse(fetched))
    }

    fn tell(&self, happening: &Happening) {
        if let Some(events) = &self.events {
            events.tell(happening);
        }
    }

    pub(crate) fn analyse(&self, mut fetched: Fetched) -> Analysed {
        let begun = Instant::now();
        let mut notes = Vec::new();
        let mut payload = [0; 32];
        let mut findings = Findings::Nothing;
        let mut requisites = Requisites::default();
        let mut signed = Signed::not(Ineligible::Status);
        let mut wishes = Wishes::default();
        let mut since = self.unmodified(&mut fetched);
        if let Outcome::Exchange(exchange) = &fetched.outcome {
            wishes = Wishes::from_header_values(
                exchange.header_values("x-robots-tag"),
                &self.reader.product_token,
            )
            .merge(Wishes::from_tdm_reservation(
                exchange.header("tdm-reservation"),
            ));
            payload = Sha256::digest(&exchange.body).into();
            let read = catch_unwind(AssertUnwindSafe(|| {
                let mut notes = Vec::new();
                let task = &fetched.task;
                let none = Signed::not(Ineligible::Status);
                let (findings, signed) = match task.queued.purpose {
                    Purpose::Robots => (self.read_robots(exchange, &mut notes), none),
                    Purpose::Page => {
                        let is_seed = task.queued.depth == 0;
                        self.read_page((exchange, Some(payload)), &task.url, is_seed, &mut notes)
                    }
                    Purpose::Sitemap { .. } => self.read_sitemap(exchange, &task.url, &mut notes),
                    Purpose::Requisite(_) => {
                        notes.extend(exchange.cut.map(cut_note));
                        (Findings::Nothing, none)
                    }
                };
                let requisites = self.requisites(exchange, task, &findings);
                (findings, signed, notes, requisites)
            }));
            if let (Some(page), Some(look_back)) = (fetched.earlier.take(), &self.since) {
                since = Some(look_back.compare(page, exchange, payload));
            }
            if let Ok(read) = read {
                (findings, signed, notes, requisites) = read;
            } else {
                self.tell(&Happening::Unreadable {
                    url: fetched.task.url.to_string(),
                });
                let failure = Failure::new(FailureClass::Internal, "reading the page failed");
                fetched.outcome = Outcome::Failed(failure);
            }
        }
        if let (Purpose::Robots, Outcome::Failed(failure)) =
            (fetched.task.queued.purpose, &fetched.outcome)
        {
            let is_redirected = fetched.task.robots_redirect.is_some();
            findings = Findings::Robots {
                verdict: match failure.class {
                    // A redirect that may not be followed leads to no robots.txt (RFC 9309, section
                    // 2.3.1.2).
                    FailureClass::Guard if is_redirected => Some(RobotsVerdict::AllowAll),
                    // A host that the guard refuses is not asked for pages either.
                    FailureClass::Guard | FailureClass::Internal => {
                        Some(RobotsVerdict::DisallowAll(failure.message.clone()))
                    }
                    _ => None,
                },
                crawl_delay: None,
                sitemaps: Vec::new(),
            };
        }
        // A page that turned out to be a sitemap goes on as one.
        let queued = &mut fetched.task.queued;
        if matches!(findings, Findings::Sitemap(_)) && !queued.purpose.is_sitemap() {
            queued.purpose = Purpose::Sitemap { level: 0 };
        }
        if is_refusal_unmodified(&findings, since.as_ref()) {
            (since, findings) = (Some(Since::Lost), Findings::Nothing);
            (signed, requisites) = (Signed::not(Ineligible::Status), Requisites::default());
        }
        Analysed {
            fetched,
            since,
            findings,
            requisites,
            fingerprints: signed.fingerprints,
            simhash: signed.simhash,
            conversion: signed.conversion,
            wishes,
            payload,
            notes,
            is_rehomed: false,
            share: Share::default(),
            took: begun.elapsed(),
        }
    }

    /// Looks for the body of a page that is unmodified since an earlier crawl. The visit goes on as
    /// if it had been sent.
    fn unmodified(&self, fetched: &mut Fetched) -> Option<Since> {
        let look_back = self.since.as_ref()?;
        let was_asked_by = fetched.earlier.as_ref()?.validators.is_some();
        match &mut fetched.outcome {
            Outcome::Exchange(exchange) if exchange.is_not_modified() && was_asked_by => {
                let page = fetched.earlier.take()?;
                Some(look_back.unmodified(page, exchange))
            }
            _ => None,
        }
    }

    /// Finds what a page or a requisite needs, if that is fetched.
    fn requisites(&self, exchange: &Exchange, task: &FetchTask, findings: &Findings) -> Requisites {
        let policies = self.policies.load();
        let reading = match task.queued.purpose {
            _ if !policies.has_requisites() || !exchange.is_success() => {
                return Requisites::default();
            }
            Purpose::Requisite(of) => Some(of.reading),
            _ if policies.of(&task.host).crawl.requisites == RequisiteMode::None => {
                return Requisites::default();
            }
            _ => match findings {
                Findings::Page(_) => None,
                _ => return Requisites::default(),
            },
        };
        if reading == Some(Reading::Nothing) {
            return Requisites::default();
        }
        let answer = Answer {
            headers: &exchange.headers,
            body: &exchange.body,
            sha256: None,
            is_cut: exchange.cut.is_some(),
        };
        self.reader.requisites(&answer, &task.url, reading)
    }

    /// Reads a page, and signs it if it is complete. The SHA-256 of its body is given if it is
    /// known. A feed given as a seed is read as a sitemap.
    pub(crate) fn read_page(
        &self,
        (exchange, sha256): (&Exchange, Option<[u8; 32]>),
        url: &Url,
        is_seed: bool,
        notes: &mut Vec<String>,
    ) -> Analysis {
        notes.extend(exchange.cut.map(cut_note));
        if !exchange.is_success() {
            return (Findings::Nothing, Signed::not(Ineligible::Status));
        }
        // Partial content was not requested.
        let is_part = exchange.status == 206;
        notes.extend(is_part.then(|| "partial-content".to_owned()));
        let answer = Answer {
            headers: &exchange.headers,
            body: &exchange.body,
            sha256,
            is_cut: exchange.cut.is_some() || is_part,
        };
        let mut sitemap = None;
        let is_page = |body: &[u8], notes: &mut Vec<String>| {
            if self.is_sitemap(body, url, is_seed) {
                sitemap = Some(Findings::Sitemap(self.list(body, url, notes).0));
            }
            sitemap.is_none()
        };
        let (page, signed) = self.reader.read(&answer, url, is_page, notes);
        let page = page.map(|page| Findings::Page(Box::new(page)));
        let findings = sitemap.or(page).unwrap_or(Findings::Nothing);
        (findings, signed)
    }

    /// Tells whether a page is read as a sitemap: a sitemap by its form, or a feed that a user
    /// gave. Other feeds are not, because many of them list what is linked anyway.
    fn is_sitemap(&self, body: &[u8], url: &Url, is_seed: bool) -> bool {
        let wanted = self.policies.load().of(&HostKey::of(url)).crawl.sitemaps != SitemapMode::Off;
        wanted
            && match sitemap::recognize(body) {
                None => false,
                Some(SitemapForm::UrlSet | SitemapForm::Index) => true,
                Some(_) => is_seed,
            }
    }

    /// Reads what was requested as a sitemap. Whoever called it one may not know: if it is none, it
    /// is read as a page.
    fn read_sitemap(&self, exchange: &Exchange, url: &Url, notes: &mut Vec<String>) -> Analysis {
        let none = Signed::not(Ineligible::Status);
        if !exchange.is_success() {
            notes.extend(exchange.cut.map(cut_note));
            return (Findings::Nothing, none);
        }
        let mut of_sitemap = Vec::new();
        let encodings = exchange.header_values("content-encoding");
        let (decoded, turn) = self
            .reader
            .decode(encodings, &exchange.body, &mut of_sitemap);
        let (list, is_sitemap) = self.list(&decoded.bytes, url, &mut of_sitemap);
        drop((decoded, turn));
        if is_sitemap {
            notes.extend(exchange.cut.map(cut_note));
            notes.append(&mut of_sitemap);
            return (Findings::Sitemap(list), none);
        }
        let analysis = self.read_page((exchange, None), url, false, notes);
        of_sitemap.retain(|note| !notes.contains(note));
        notes.append(&mut of_sitemap);
        analysis
    }

    /// Lists the URLs of a sitemap, and tells whether it is one. Adds what is wrong with it to
    /// `notes`.
    fn list(&self, body: &[u8], url: &Url, notes: &mut Vec<String>) -> (Box<SitemapList>, bool) {
        let mut listed: Vec<Listed> = Vec::new();
        // Each language version of a page names all the others.
        let mut places: HashMap<UrlId, usize> = HashMap::new();
        let mut room = MAX_LISTED_BYTES;
        let mut add = |url: &Url, kind, modified: Option<Moment>, is_minor| {
            let id = self.reader.identity.id(url);
            if let Some(known) = places.get(&id).and_then(|place| listed.get_mut(*place)) {
                known.modified = known.modified.max(modified);
            } else if url.as_str().len() <= self.reader.options.max_url_bytes.min(room) {
                room -= url.as_str().len();
                places.insert(id, listed.len());
                listed.push(Listed {
                    url: url.to_string(),
                    id,
                    kind,
                    modified,
                    is_minor,
                });
            }
        };
        let report = read_sitemap(body, Some(url), &SitemapOptions::default(), &mut |entry| {
            let modified = entry.modified();
            let modified = modified.and_then(|it| u64::try_from(it.as_millisecond()).ok());
            // An entry without a priority has 0.5 (sitemaps.org).
            let is_minor = entry.priority.is_some_and(|priority| priority < 0.5);
            add(&entry.url, entry.kind, modified.map(Moment), is_minor);
            for alternate in &entry.alternates {
                add(&alternate.url, entry.kind, None, is_minor);
            }
        });
        let form = report.form.map_or("no sitemap", SitemapForm::as_str);
        notes.push(format!("{form}: {} URLs", report.entries));
        notes.extend(report.problems.first().map(ToString::to_string));
        if report.problem_count > 1 {
            notes.push(format!("{} more problems", report.problem_count - 1));
        }
        let is_sitemap = match report.form {
            // A text that happens to name a URL in a line of its own lists nothing.
            Some(SitemapForm::Text) => report.problem_count <= report.entries,
            form => form.is_some(),
        };
        let list = SitemapList {
            entries: u32::try_from(report.entries).unwrap_or(u32::MAX),
            listed,
        };
        (Box::new(list), is_sitemap)
    }

    fn read_robots(&self, exchange: &Exchange, notes: &mut Vec<String>) -> Findings {
        let verdict = match Availability::of_status(exchange.status) {
            // The missing half of the rules may forbid what the received half allows.
            Availability::Found if matches!(exchange.cut, Some(Cut::Time | Cut::Disconnect)) => {
                None
            }
            Availability::Found => {
                let encodings = exchange.header_values("content-encoding");
                let bounds = DecodeBounds {
                    max_bytes: robots::MAX_BODY,
                    ..self.reader.decoding
                };
                let decoded = fetch::decode(encodings, &exchange.body, bounds);
                notes.extend(decoded.note.map(str::to_owned));
                Some(match decoded.note {
                    Some(note) if !decoded.is_whole && note != DECODED_LENGTH => {
                        RobotsVerdict::DisallowAll(note.to_owned())
                    }
                    _ => RobotsVerdict::Text(decoded.bytes.to_vec()),
                })
            }
            // The fetcher has followed redirects already; one that is left leads nowhere.
            Availability::Redirected | Availability::Unavailable => Some(RobotsVerdict::AllowAll),
            Availability::Unreachable => None,
        };
        let rules = match &verdict {
            Some(RobotsVerdict::Text(body)) => Rules::parse(body, &self.reader.product_token),
            _ => Rules::allow_all(),
        };
        Findings::Robots {
            verdict,
            crawl_delay: rules.crawl_delay(),
            sitemaps: rules.sitemaps().to_vec(),
        }
    }
}

/// Returns `true` if what a server calls unmodified was a refusal in place of the page: what it
/// sends now may be the page.
fn is_refusal_unmodified(findings: &Findings, since: Option<&Since>) -> bool {
    let is_unmodified = matches!(
        since,
        Some(Since::Unchanged {
            not_modified: Some(_),
            ..
        })
    );
    is_unmodified && matches!(findings, Findings::Page(page) if page.refusal.is_some())
}

fn cut_note(cut: Cut) -> String {
    let name = match cut {
        Cut::Length => "length",
        Cut::Time => "time",
        Cut::Disconnect => "disconnect",
    };
    format!("cut:{name}")
}
