//! From analysed to committed: the single writer, and the only place where a visit has effects.
//!
//! A group of visits is what arrived while the last group was being committed, 16 at most. Steps,
//! in this order: judge each visit and collect its effects; append the records and the log lines;
//! sync the archive; commit one batch to the store, its delta included; tell the schedule. What is
//! remembered in memory while judging (URLs seen, documents) is ahead of the store only within a
//! group, and a failed commit ends the run: memory never outlives it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};

use super::Error;
use super::effects::{Group, PendingDocument};
use super::failpoint::{Failpoint, Step};
use super::fetch_log::{FetchLog, LogLine};
use super::records::{self, Records, StorePolicy};
use super::rows::{Counters, CrawlState, Fate, Judgement, PageRecord};
use super::scheduler::Event;
use super::visit::{Analysed, Done, Entry, Findings, Judged, Receipt};
use crate::archive::Archive;
use crate::dedup::{Document, Fingerprints, Index, Stored, Verdict};
use crate::fetch::{Exchange, FailureClass, Guard, Outcome, Retry};
use crate::frontier::{
    Admission, Candidate, FetchTask, Limits, Moment, Politeness, Purpose, QueuedUrl, RobotsRow,
    RobotsState, RobotsVerdict, Scope, SeenSet, admit, class_of,
};
use crate::page::{LinkKind, Page};
use crate::runs::{Catalog, Runs};
use crate::store::{Batch, Durability, Store, Table, decode, encode, keys};
use crate::url::{self, HostKey, Identity, Url};

/// Visits that share one sync. Larger groups gain nothing and take more memory.
const MAX_GROUP: usize = 16;
/// How long a robots.txt holds (RFC 9309, section 2.4: a day at most).
const ROBOTS_TTL: Duration = Duration::from_hours(24);
/// How long a robots.txt that could not be had keeps its host from being visited.
const ROBOTS_UNREACHABLE_TTL: Duration = Duration::from_hours(1);
/// Letters kept of a URL's hop path.
const MAX_PATH: usize = 50;

/// Position of the runs of URLs seen in the catalog; those of deduplication follow.
pub(super) const SEEN_RUNS: usize = 0;
/// Position of the first of deduplication's runs.
pub(super) const DEDUP_RUNS: usize = 1;

/// When a checkpoint is due.
#[derive(Debug, Clone, Copy)]
pub(super) struct CheckpointLimits {
    pub(super) interval: Duration,
    pub(super) keys: usize,
    pub(super) delta_bytes: usize,
}

/// The single writer of store, archive, log, runs and documents.
pub(super) struct Committer {
    pub(super) store: Arc<dyn Store>,
    pub(super) archive: Box<dyn Archive>,
    pub(super) log: FetchLog,
    pub(super) catalog: Catalog,
    pub(super) seen: SeenSet,
    pub(super) index: Index,
    pub(super) scope: Scope,
    pub(super) limits: Limits,
    pub(super) politeness: Arc<Politeness>,
    pub(super) identity: Identity,
    pub(super) guard: Arc<Guard>,
    pub(super) store_policy: StorePolicy,
    /// Links of pages that ask robots not to follow them are left alone.
    pub(super) obey_robots: bool,
    pub(super) state: CrawlState,
    pub(super) counters: watch::Sender<Counters>,
    pub(super) checkpoints: CheckpointLimits,
    pub(super) failpoint: Option<Failpoint>,
    pub(super) last_checkpoint: Instant,
    /// Deltas that no checkpoint covers, and what they hold.
    pub(super) deltas: Deltas,
}

/// Deltas since the last checkpoint.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Deltas {
    /// The sequence of the first, if there is one.
    pub(super) first: Option<u64>,
    pub(super) keys: usize,
    pub(super) bytes: usize,
}

impl Committer {
    /// Commits what arrives until nothing more can arrive, then makes everything durable.
    pub(super) fn run(
        &mut self,
        entries: &Receiver<Entry>,
        events: &mpsc::Sender<Event>,
    ) -> Result<(), Error> {
        loop {
            let patience = self
                .checkpoints
                .interval
                .saturating_sub(self.last_checkpoint.elapsed());
            match entries.recv_timeout(patience) {
                Ok(first) => {
                    let mut group = vec![first];
                    group.extend(entries.try_iter().take(MAX_GROUP - 1));
                    let receipts = self.commit(group)?;
                    // The scheduler is gone only when the run is ending.
                    let _ = events.blocking_send(Event::Committed(receipts));
                    Failpoint::reach(&mut self.failpoint, Step::Applied);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.checkpoint(),
            }
            if self.checkpoint_is_due() {
                self.checkpoint()?;
            }
        }
    }

    /// Commits a group, all or nothing.
    pub(super) fn commit(&mut self, entries: Vec<Entry>) -> Result<Vec<Receipt>, Error> {
        let mut group = Group::default();
        for entry in entries {
            match entry {
                Entry::Visit(visit) => self.visit(*visit, &mut group)?,
                Entry::Seeds(seeds) => self.seeds(&seeds, &mut group)?,
            }
        }
        Failpoint::reach(&mut self.failpoint, Step::Judged);
        let locations = match group.records.is_empty() {
            true => Vec::new(),
            false => self.archive.append(&group.records)?,
        };
        self.state.counters.archived_bytes += locations
            .iter()
            .map(|location| location.length)
            .sum::<u64>();
        let lines = group.lines(&*self.store)?;
        self.state.log = self.log.append(&lines)?;
        Failpoint::reach(&mut self.failpoint, Step::Appended);
        if !locations.is_empty() {
            self.state.archive = self.archive.sync()?;
        }
        Failpoint::reach(&mut self.failpoint, Step::Synced);
        for document in group.locate(&locations) {
            self.index.documents_mut().insert(document);
        }
        self.state.sequence += 1;
        let receipts = std::mem::take(&mut group.receipts);
        let (batch, delta_keys, delta_bytes) = group.into_batch(&mut self.state);
        self.store.commit(batch, Durability::Disk)?;
        Failpoint::reach(&mut self.failpoint, Step::Committed);
        if delta_bytes > 0 {
            self.deltas.first.get_or_insert(self.state.sequence);
            self.deltas.keys += delta_keys;
            self.deltas.bytes += delta_bytes;
        }
        self.counters.send_replace(self.state.counters.clone());
        Ok(receipts)
    }

    fn checkpoint_is_due(&self) -> bool {
        self.last_checkpoint.elapsed() >= self.checkpoints.interval
            || self.deltas.keys >= self.checkpoints.keys
            || self.deltas.bytes >= self.checkpoints.delta_bytes
    }

    /// Makes documents and runs durable, then forgets the deltas that they now hold.
    pub(super) fn checkpoint(&mut self) -> Result<(), Error> {
        self.last_checkpoint = Instant::now();
        let Some(first) = self.deltas.first else {
            return Ok(());
        };
        self.index.documents_mut().checkpoint()?;
        Failpoint::reach(&mut self.failpoint, Step::DocumentsWritten);
        self.catalog.checkpoint(self.state.sequence)?;
        Failpoint::reach(&mut self.failpoint, Step::RunsInstalled);
        self.state.documents_checkpointed = self.state.last_document;
        let mut batch = Batch::new();
        for sequence in first..=self.state.sequence {
            batch.delete(Table::Deltas, keys::delta(sequence));
        }
        batch.put(Table::Meta, keys::meta::STATE, encode(&self.state));
        self.store.commit(batch, Durability::Disk)?;
        Failpoint::reach(&mut self.failpoint, Step::DeltasRemoved);
        self.deltas = Deltas::default();
        tracing::debug!(sequence = self.state.sequence, "checkpoint");
        Ok(())
    }

    /// Admits seeds.
    fn seeds(&mut self, seeds: &[Url], group: &mut Group) -> Result<(), Error> {
        let mut receipt = Receipt {
            visit: None,
            queued: Vec::new(),
        };
        for seed in seeds {
            for entry in self.scope.add_seed(seed) {
                group.batch.put(Table::Scope, entry, Vec::new());
            }
            if let Some(authority) = Guard::consent_of(seed) {
                let key = [keys::meta::CONSENT, authority.as_str().as_bytes()].concat();
                group.batch.put(Table::Meta, key, Vec::new());
                self.guard.consent(authority);
            }
            let queued = QueuedUrl {
                url: seed.to_string(),
                id: self.identity.id(seed),
                via: None,
                depth: 0,
                hops: 0,
                attempts: 0,
                path: String::new(),
            };
            if self.admit(queued, Origin::Seed, &mut receipt, group)? {
                self.state.counters.seeds += 1;
            }
        }
        group.receipts.push(receipt);
        Ok(())
    }

    /// Judges a visit and collects its effects.
    fn visit(&mut self, analysed: Analysed, group: &mut Group) -> Result<(), Error> {
        let judged = self.judge(analysed, group)?;
        match judged.analysed.fetched.task.purpose {
            Purpose::Robots => self.robots(&judged, group),
            Purpose::Page => self.page(&judged, group),
        }
    }

    fn judge(&self, analysed: Analysed, group: &Group) -> Result<Judged, Error> {
        let runs = &self.catalog[DEDUP_RUNS..];
        let fetched = &analysed.fetched;
        let Outcome::Exchange(exchange) = &fetched.outcome else {
            return Ok(Judged {
                analysed,
                verdict: Verdict::Ineligible,
                same_payload: None,
            });
        };
        let fingerprints = match &analysed.findings {
            Findings::Page { fingerprints, .. } | Findings::Bytes(fingerprints) => {
                Some(fingerprints)
            }
            _ => None,
        };
        let verdict = match fingerprints {
            // A body that was cut may differ behind the cut.
            Some(fingerprints) if exchange.is_success() && exchange.cut.is_none() => self
                .index
                .judge(fetched.task.queued.id, fingerprints, runs, |original| {
                    Ok::<_, Error>(group.has_original(original) || self.is_committed(original)?)
                })?,
            _ => Verdict::Ineligible,
        };
        let same_payload = self.index.find_payload(&analysed.payload, runs)?;
        Ok(Judged {
            analysed,
            verdict,
            same_payload,
        })
    }

    /// Whether the page of a document is committed, as that document.
    fn is_committed(&self, document: &Document) -> Result<bool, Error> {
        let Some(row) = self.store.get(Table::Pages, document.url_id.as_bytes())? else {
            return Ok(false);
        };
        let record: PageRecord = decode(Table::Pages, &row)?;
        Ok(record.document.is_some_and(|own| own.id == document.id))
    }

    /// A visit of a robots.txt ends in its host's state.
    fn robots(&mut self, judged: &Judged, group: &mut Group) -> Result<(), Error> {
        let fetched = &judged.analysed.fetched;
        let task = &fetched.task;
        let Findings::Robots {
            verdict,
            crawl_delay,
        } = &judged.analysed.findings
        else {
            return self.finish(fetched.finished, judged, None, Receipt::default(), group);
        };
        let mut line = log_line(judged);
        "robots".clone_into(&mut line.verdict);
        let mut document = None;
        if let Outcome::Exchange(exchange) = &fetched.outcome {
            self.state.counters.robots += 1;
            self.state.counters.bytes += exchange.body.len() as u64;
            if verdict.is_some() {
                document = self.archive(judged, exchange, group);
            }
        }
        let given_up = fetched.pace.failures >= u32::from(self.politeness.attempts);
        let known = match verdict {
            Some(verdict) => Some((verdict.clone(), ROBOTS_TTL)),
            None if given_up => {
                let reason = match &fetched.outcome {
                    Outcome::Failed(failure) => failure.message.clone(),
                    Outcome::Exchange(exchange) => format!("status {}", exchange.status),
                };
                Some((RobotsVerdict::DisallowAll(reason), ROBOTS_UNREACHABLE_TTL))
            }
            None => None,
        };
        if let Some((verdict, ttl)) = known {
            let row = RobotsRow {
                verdict,
                document: None,
            };
            match document.and_then(|at| group.documents.get_mut(at)) {
                // The row names the document once it is known where that is stored.
                Some(pending) => pending.robots = Some((task.host.clone(), row)),
                None => group
                    .batch
                    .put(Table::Robots, task.host.as_str(), encode(&row)),
            }
            let host = group.host(&*self.store, &task.host)?;
            host.robots = RobotsState::Until(fetched.finished.plus(ttl));
            host.crawl_delay =
                crawl_delay.map(|delay| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX));
        }
        self.finish(
            fetched.finished,
            judged,
            Some(line),
            Receipt::default(),
            group,
        )
    }

    /// A visit of a page ends in its record, its links and its place in the archive.
    fn page(&mut self, judged: &Judged, group: &mut Group) -> Result<(), Error> {
        let fetched = &judged.analysed.fetched;
        let task = &fetched.task;
        let attempts = task.queued.attempts.saturating_add(1);
        let mut receipt = Receipt::default();
        let mut line = log_line(judged);
        let again = attempts < self.politeness.attempts
            && match &fetched.outcome {
                Outcome::Exchange(exchange) => matches!(exchange.status, 429 | 503),
                Outcome::Failed(failure) => failure.retry() == Retry::Later,
            };
        if again {
            "retry".clone_into(&mut line.verdict);
            let queued = QueuedUrl {
                attempts,
                ..task.queued.clone()
            };
            self.state.counters.retries += 1;
            self.queue(queued, task.host.clone(), &mut receipt, group)?;
            return self.finish(fetched.finished, judged, Some(line), receipt, group);
        }
        let mut document = None;
        let fate = match &fetched.outcome {
            Outcome::Failed(failure) => {
                let forbidden = failure.class == FailureClass::Robots;
                let counters = &mut self.state.counters;
                if forbidden {
                    counters.forbidden += 1;
                } else {
                    counters.failed += 1;
                    *counters
                        .failures
                        .entry(failure.class.name().to_owned())
                        .or_default() += 1;
                }
                line.verdict = if forbidden { "forbidden" } else { "failed" }.to_owned();
                Some(Fate::Failed {
                    class: failure.class.name().to_owned(),
                    message: failure.message.clone(),
                })
            }
            Outcome::Exchange(exchange) => {
                document = self.archive(judged, exchange, group);
                self.state.counters.bytes += exchange.body.len() as u64;
                let answered_elsewhere = self.follow(judged, exchange, &mut receipt, group)?;
                // The URL itself goes on waiting, in another form.
                (!answered_elsewhere).then(|| self.answered(judged, exchange))
            }
        };
        if let Some(fate) = fate {
            let record = PageRecord {
                url: task.queued.url.clone(),
                via: task.queued.via,
                depth: task.queued.depth,
                time: micros(judged),
                attempts,
                fate,
                document: None,
            };
            group.pages.push((task.queued.id, record, document));
        }
        self.finish(fetched.finished, judged, Some(line), receipt, group)
    }

    /// Counts an answer and says what became of it.
    fn answered(&mut self, judged: &Judged, exchange: &Exchange) -> Fate {
        let counters = &mut self.state.counters;
        counters.pages += 1;
        *counters.statuses.entry(exchange.status / 100).or_default() += 1;
        *counters
            .verdicts
            .entry(judged.verdict.name().to_owned())
            .or_default() += 1;
        let page = match &judged.analysed.findings {
            Findings::Page { page, .. } => Some(page),
            _ => None,
        };
        Fate::Answered {
            status: exchange.status,
            mime: exchange.header("content-type").map(str::to_owned),
            size: exchange.body.len() as u64,
            title: page.and_then(|page| page.title.clone()),
            language: page.and_then(|page| page.language.clone()),
            canonical: page.and_then(|page| page.canonical.clone()),
            judgement: match &judged.verdict {
                Verdict::Unique => Judgement::Unique,
                Verdict::Ineligible => Judgement::Ineligible,
                Verdict::Duplicate {
                    original,
                    kind,
                    distance,
                } => Judgement::Duplicate {
                    of: original.id,
                    page: original.url_id,
                    kind: *kind,
                    distance: *distance,
                },
            },
        }
    }

    /// Collects a visit's records, and its document if something new is stored or judged unique:
    /// its position among the group's documents.
    fn archive(
        &mut self,
        judged: &Judged,
        exchange: &Exchange,
        group: &mut Group,
    ) -> Option<usize> {
        let Records { records, response } = records::of(judged, exchange, self.store_policy);
        let before = group.records.len();
        group.records.extend(records);
        let unique = matches!(judged.verdict, Verdict::Unique);
        let stored = match (&judged.same_payload, response) {
            (_, Some((_, record))) => Stored {
                record: *record.as_bytes(),
                ..Stored::default()
            },
            (Some(same), None) if unique => same.stored,
            _ => return None,
        };
        if judged.same_payload.is_some() && !unique {
            return None;
        }
        let fingerprints = match &judged.analysed.findings {
            Findings::Page { fingerprints, .. } | Findings::Bytes(fingerprints) if unique => {
                fingerprints.clone()
            }
            _ => Fingerprints::default(),
        };
        self.state.last_document += 1;
        let task = &judged.analysed.fetched.task;
        let document = Document {
            id: self.state.last_document,
            url_id: task.queued.id,
            url: task.queued.url.clone(),
            fetched: micros(judged),
            stored,
            payload: judged.analysed.payload,
            fingerprints,
        };
        let postings = self
            .index
            .insert(Arc::new(document.clone()), &mut self.catalog[DEDUP_RUNS..]);
        group.delta.postings.extend(postings);
        group.documents.push(PendingDocument {
            document,
            record: response.map(|(at, _)| before + at),
            robots: None,
        });
        Some(group.documents.len() - 1)
    }

    /// Admits what an answer points to. True if that is another form of the same URL.
    fn follow(
        &mut self,
        judged: &Judged,
        exchange: &Exchange,
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<bool, Error> {
        let task = &judged.analysed.fetched.task;
        if exchange.is_redirect() {
            let target = exchange
                .header("location")
                .and_then(|location| url::join(&task.url, location).ok());
            let Some(target) = target else {
                return Ok(false);
            };
            let id = self.identity.id(&target);
            let other_form = id == task.queued.id;
            let queued = QueuedUrl {
                url: target.into(),
                id,
                via: Some(task.queued.id),
                depth: task.queued.depth,
                hops: task.queued.hops.saturating_add(1),
                attempts: 0,
                path: extended(&task.queued.path, 'R'),
            };
            let origin = if other_form {
                Origin::OtherForm
            } else {
                Origin::Link
            };
            let admitted = self.admit(queued, origin, receipt, group)?;
            return Ok(admitted && other_form);
        }
        let Findings::Page { page, .. } = &judged.analysed.findings else {
            return Ok(false);
        };
        if page.robots.nofollow && self.obey_robots {
            return Ok(false);
        }
        self.follow_links(task, page, receipt, group)?;
        Ok(false)
    }

    fn follow_links(
        &mut self,
        task: &FetchTask,
        page: &Page,
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<(), Error> {
        for link in &page.links {
            // Most links are known: ask before anything is copied.
            if self.seen.contains(link.id, &self.catalog[SEEN_RUNS]) {
                self.count_link("known");
                continue;
            }
            let letter = match link.kind {
                LinkKind::Anchor | LinkKind::Area => 'L',
                LinkKind::Frame => 'E',
                LinkKind::Refresh | LinkKind::Related => 'I',
            };
            let queued = QueuedUrl {
                url: link.url.clone(),
                id: link.id,
                via: Some(task.queued.id),
                depth: task.queued.depth.saturating_add(1),
                hops: 0,
                attempts: 0,
                path: extended(&task.queued.path, letter),
            };
            self.admit(queued, Origin::Link, receipt, group)?;
        }
        Ok(())
    }

    /// Queues a URL if it is admitted.
    fn admit(
        &mut self,
        queued: QueuedUrl,
        origin: Origin,
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<bool, Error> {
        let candidate = Candidate {
            url: &queued.url,
            id: queued.id,
            depth: queued.depth,
            hops: queued.hops,
            seed: origin == Origin::Seed,
            other_form: origin == Origin::OtherForm,
        };
        let runs: &mut Runs = &mut self.catalog[SEEN_RUNS];
        let admission = admit(&candidate, &self.scope, &self.limits, &mut self.seen, runs);
        let host = match admission {
            Admission::Admitted(host) => host,
            Admission::Known => return self.refused("known"),
            Admission::OutOfScope => return self.refused("out-of-scope"),
            Admission::TooDeep => return self.refused("too-deep"),
            Admission::TooManyRedirects => return self.refused("too-many-redirects"),
            Admission::Malformed => return self.refused("malformed"),
        };
        self.count_link("admitted");
        group.delta.seen.push(queued.id.key());
        self.queue(queued, host, receipt, group)?;
        Ok(true)
    }

    #[expect(clippy::unnecessary_wraps, reason = "the tail of `admit`'s arms")]
    fn refused(&mut self, admission: &str) -> Result<bool, Error> {
        self.count_link(admission);
        Ok(false)
    }

    fn count_link(&mut self, admission: &str) {
        match self.state.counters.links.get_mut(admission) {
            Some(count) => *count += 1,
            None => {
                self.state.counters.links.insert(admission.to_owned(), 1);
            }
        }
    }

    /// Adds a row to a host's queue.
    fn queue(
        &mut self,
        queued: QueuedUrl,
        host: HostKey,
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<(), Error> {
        self.state.queue_sequence += 1;
        let class = class_of(queued.depth);
        let key = keys::queue(host.as_str(), class, self.state.queue_sequence);
        group.batch.put(Table::Queue, key, encode(&queued));
        let state = group.host(&*self.store, &host)?;
        state.queued += 1;
        let due = state.due;
        self.state.counters.queued += 1;
        if receipt.queued.last().is_none_or(|(last, _)| *last != host) {
            receipt.queued.push((host, due));
        }
        Ok(())
    }

    /// The acknowledgement: the task leaves its queue, the host keeps its pace.
    fn finish(
        &mut self,
        finished: Moment,
        judged: &Judged,
        line: Option<LogLine>,
        mut receipt: Receipt,
        group: &mut Group,
    ) -> Result<(), Error> {
        let fetched = &judged.analysed.fetched;
        let task = &fetched.task;
        let answered = matches!(fetched.outcome, Outcome::Exchange(_));
        let asked = match &fetched.outcome {
            Outcome::Exchange(_) => true,
            Outcome::Failed(failure) => failure.asked(),
        };
        let host = group.host(&*self.store, &task.host)?;
        if asked && finished >= host.last_visit {
            host.due = fetched.pace.due;
            host.failures = fetched.pace.failures;
            host.last_visit = finished;
        }
        if let Outcome::Exchange(exchange) = &fetched.outcome {
            host.visits += 1;
            host.bytes += exchange.body.len() as u64;
        }
        if let Some(place) = task.place {
            host.queued = host.queued.saturating_sub(1);
            host.raise_head(place);
            self.state.counters.queued = self.state.counters.queued.saturating_sub(1);
            let key = keys::queue(task.host.as_str(), place.class, place.sequence);
            group.batch.delete(Table::Queue, key);
        }
        let forbidden = matches!(&fetched.outcome, Outcome::Failed(failure) if failure.class == FailureClass::Robots);
        receipt.visit = Some(Done {
            host: task.host.clone(),
            place: task.place,
            handed_out: !forbidden,
            counted: answered,
        });
        group.receipts.push(receipt);
        group.lines.extend(line.map(|line| (line, task.queued.via)));
        Ok(())
    }
}

/// Where a URL comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Seed,
    Link,
    /// A redirect to another form of the URL that was visited.
    OtherForm,
}

/// When a visit was begun: microseconds since 1970.
fn micros(judged: &Judged) -> i64 {
    let fetched = &judged.analysed.fetched;
    match &fetched.outcome {
        Outcome::Exchange(exchange) => exchange.started.as_microsecond(),
        Outcome::Failed(_) => i64::try_from(fetched.finished.0)
            .unwrap_or(i64::MAX)
            .saturating_mul(1_000),
    }
}

/// The log line of a visit; the page that it was found on is filled in later.
fn log_line(judged: &Judged) -> LogLine {
    let fetched = &judged.analysed.fetched;
    let time = jiff::Timestamp::from_microsecond(micros(judged)).unwrap_or_default();
    let mut line = LogLine {
        time: format!("{time:.3}"),
        url: fetched.task.queued.url.clone(),
        path: fetched.task.queued.path.clone(),
        verdict: judged.verdict.name().to_owned(),
        ..LogLine::default()
    };
    let mut notes = judged.analysed.notes.clone();
    match &fetched.outcome {
        Outcome::Exchange(exchange) => {
            line.status = exchange.status;
            line.size = exchange.body.len() as u64;
            line.mime = exchange.header("content-type").map(str::to_owned);
            line.duration_ms = u64::try_from(exchange.duration.as_millis()).unwrap_or(u64::MAX);
        }
        Outcome::Failed(failure) => {
            notes.push(format!("{}: {}", failure.class.name(), failure.message))
        }
    }
    if let Verdict::Duplicate {
        original, distance, ..
    } = &judged.verdict
    {
        line.original = Some(original.url.clone());
        if *distance > 0 {
            notes.push(format!("distance:{distance}"));
        }
    }
    line.annotation = (!notes.is_empty()).then(|| notes.join("; "));
    line
}

/// A hop path with one letter more, the oldest ones left out where it gets long.
fn extended(path: &str, letter: char) -> String {
    let skip = path.chars().count().saturating_sub(MAX_PATH - 1);
    path.chars().skip(skip).chain([letter]).collect()
}
