//! What a visit changes: judged in the order of arrival, its effects collected in the group.
//!
//! A page ends in its record, its place in the archive and what it leads to; a robots.txt in its
//! host's state; both in the acknowledgement, with which the task leaves its queue.

use std::sync::Arc;
use std::time::Duration;

use super::Error;
use super::committer::{Committer, DEDUP_RUNS};
use super::effects::{Group, PendingDocument};
use super::fetchers::answer;
use super::pending_line::{PendingLine, Places};
use super::records;
use super::revisit::validators;
use super::sitemaps::entries;
use super::visit::{Analysed, Done, Findings, Judged, Receipt};
use crate::dedup::{Document, Fingerprints, Ineligible, Stored, StoredFor, Verdict};
use crate::fetch::{Exchange, Failure, FailureClass, Outcome};
use crate::frontier::{
    Block, Leave, Place, Purpose, QueuedUrl, RobotsRow, RobotsState, RobotsVerdict, Trouble,
};
use crate::journal::LogLine;
use crate::rows::Rank;
use crate::rows::{Duplicate, Fate, Judgement, PageRecord};
use crate::store::{Table, encode, keys};
use crate::url::HostKey;

/// How long a robots.txt holds (RFC 9309, section 2.4: a day at most).
const ROBOTS_TTL: Duration = Duration::from_hours(24);

impl Committer {
    /// Judges a visit and collects its effects.
    pub(super) fn visit(&mut self, analysed: Analysed, group: &mut Group) -> Result<(), Error> {
        let mut judged = self.judge(analysed, group)?;
        match judged.analysed.fetched.task.queued.purpose {
            Purpose::Robots => self.robots(&judged, group)?,
            Purpose::Page | Purpose::Sitemap { .. } => self.page(&judged, group)?,
        }
        let reservation = std::mem::take(&mut judged.analysed.fetched.reservation);
        group.reservations.push(reservation);
        Ok(())
    }

    fn judge(&mut self, analysed: Analysed, group: &mut Group) -> Result<Judged, Error> {
        let previous = self.previous(&analysed.fetched.task.queued)?;
        let mut judged = Judged {
            analysed,
            verdict: Verdict::Ineligible(Ineligible::Status),
            same_payload: None,
            keep: None,
            previous,
            must_be_whole: false,
        };
        let Outcome::Exchange(_) = &judged.analysed.fetched.outcome else {
            return Ok(judged);
        };
        let (analysed, previous) = (&judged.analysed, judged.previous.as_deref());
        if judged.is_not_modified() {
            match self.not_modified(previous, group)? {
                Some(verdict) => judged.verdict = verdict,
                None => judged.must_be_whole = true,
            }
            return Ok(judged);
        }
        let verdict = match self.eligible(analysed) {
            Err(reason) => Verdict::Ineligible(reason),
            Ok(fingerprints) => {
                let verdict = self.compare(analysed, fingerprints, previous, group)?;
                match self.is_repeated(analysed, previous.is_none(), group)? {
                    true => {
                        self.withdraw(&verdict, analysed, group)?;
                        Verdict::Ineligible(Ineligible::Repeated)
                    }
                    false => verdict,
                }
            }
        };
        let same_payload = self
            .index
            .find_payload(&analysed.payload, &self.catalog[DEDUP_RUNS..])?
            .filter(|stored| group.has_original(stored) || self.is_archived(stored));
        judged.keep = match verdict {
            Verdict::Ineligible(Ineligible::Kind) => Some(false),
            _ => self.has_room(&verdict, analysed, same_payload.is_none(), group)?,
        };
        judged.verdict = verdict;
        judged.same_payload = same_payload;
        Ok(judged)
    }

    /// A visit of a robots.txt ends in its host's state.
    fn robots(&mut self, judged: &Judged, group: &mut Group) -> Result<(), Error> {
        let fetched = &judged.analysed.fetched;
        let task = &fetched.task;
        let Findings::Robots {
            verdict,
            crawl_delay,
            sitemaps,
        } = &judged.analysed.findings
        else {
            return self.finish(judged, None, Receipt::default(), group);
        };
        let mut line = log_line(judged);
        "robots".clone_into(&mut line.verdict);
        let mut document = None;
        if let Outcome::Exchange(exchange) = &fetched.outcome {
            self.state.counters.robots += 1;
            self.state.counters.bytes += exchange.body.len() as u64;
            if verdict.is_some() {
                (document, _) = self.archive(judged, exchange, group);
            }
        }
        // One that could not be had is asked for again before anything else, when its host is due
        // again: until then nothing is allowed (RFC 9309, section 2.3.1.4), and nothing is given up.
        if let Some(verdict) = verdict.clone() {
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
            host.robots = RobotsState::Until(fetched.finished.plus(ROBOTS_TTL));
            host.crawl_delay =
                crawl_delay.map(|delay| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX));
        }
        let mut receipt = Receipt::default();
        if let Some(RobotsVerdict::AllowAll | RobotsVerdict::Text(_)) = verdict {
            self.queue_sitemaps(task, sitemaps, &mut receipt, group)?;
        }
        self.finish(judged, Some(line), receipt, group)
    }

    /// A visit of a page ends in its record, its links and its place in the archive; one of a sitemap
    /// too, what it lists was queued before.
    fn page(&mut self, judged: &Judged, group: &mut Group) -> Result<(), Error> {
        let fetched = &judged.analysed.fetched;
        let task = &fetched.task;
        let attempts = task.queued.attempts.saturating_add(1);
        let mut receipt = Receipt::default();
        let mut line = log_line(judged);
        let record = |fate| PageRecord {
            url: task.queued.url.clone(),
            via: task.queued.via,
            depth: task.queued.depth,
            time: micros(judged),
            last_seen: micros(judged),
            attempts,
            fate,
            revisit: None,
            validators: validators(judged),
            document: None,
            record: None,
            stored_members: 0,
        };
        let politeness = self.policies.load().of(&task.host).politeness;
        let fails = trouble(&fetched.outcome).filter(|(trouble, _)| {
            attempts < politeness.attempts && politeness.retry.has(*trouble)
        });
        if fails.is_some() || judged.must_be_whole {
            "retry".clone_into(&mut line.verdict);
            let queued = match fails.is_some() {
                true => QueuedUrl {
                    attempts,
                    ..task.queued.clone()
                },
                false => QueuedUrl {
                    validators: None,
                    ..task.queued.clone()
                },
            };
            self.state.counters.retries += 1;
            if let Some((trouble, message)) = fails
                && !task.queued.revisit
            {
                let failed = Fate::Failed {
                    class: trouble.name().to_owned(),
                    message,
                    next: Some(fetched.pace.due),
                };
                group.pages.push((task.queued.id, record(failed), None));
            }
            self.queue(queued, task.host.clone(), &mut receipt, group)?;
            return self.finish(judged, Some(line), receipt, group);
        }
        let mut document = None;
        let mut places = Places::default();
        let fate = match &fetched.outcome {
            Outcome::Failed(failure) => {
                let forbidden = failure.class == FailureClass::Robots;
                let verdict = if forbidden { "forbidden" } else { "failed" };
                verdict.clone_into(&mut line.verdict);
                if judged.previous.is_none() {
                    self.count_failure(failure);
                }
                Some(Fate::Failed {
                    class: failure.class.name().to_owned(),
                    message: failure.message.clone(),
                    next: None,
                })
            }
            Outcome::Exchange(exchange) => {
                (document, places) = self.archive(judged, exchange, group);
                self.state.counters.bytes += exchange.body.len() as u64;
                let answered_elsewhere = self.follow(judged, exchange, &mut receipt, group)?;
                if judged.previous.is_none() {
                    self.sight(judged, &mut receipt, group)?;
                    self.learn(judged, document, &mut receipt, group)?;
                    self.compare_hosts(judged, &mut receipt, group)?;
                }
                if !answered_elsewhere && judged.previous.is_none() {
                    self.count_answer(judged, exchange);
                }
                if task.queued.purpose.is_sitemap() {
                    "sitemap".clone_into(&mut line.verdict);
                }
                // The URL itself goes on waiting, in another form.
                (!answered_elsewhere).then(|| answered(judged, exchange, &places))
            }
        };
        if let Some(fate) = fate {
            let record = record(fate);
            let line = match &record.fate {
                Fate::Answered { .. } => {
                    Some(PendingLine::of(judged, places, &self.identity, group))
                }
                Fate::Sitemap { .. } => Some(PendingLine::of_no_page(places, group)),
                Fate::Failed { .. } | Fate::Known { .. } => None,
            };
            group.page_lines.extend(line);
            self.see_original(judged, group)?;
            self.keep(judged, record, document, group)?;
        }
        self.finish(judged, Some(line), receipt, group)
    }

    fn count_failure(&mut self, failure: &Failure) {
        let counters = &mut self.state.counters;
        if failure.class == FailureClass::Robots {
            counters.forbidden += 1;
        } else {
            counters.failed += 1;
            let class = failure.class.name().to_owned();
            *counters.failures.entry(class).or_default() += 1;
        }
    }

    fn count_answer(&mut self, judged: &Judged, exchange: &Exchange) {
        let counters = &mut self.state.counters;
        if judged.analysed.fetched.task.queued.purpose.is_sitemap() {
            counters.sitemaps += 1;
            counters.sitemap_entries += u64::from(entries(judged));
            return;
        }
        counters.pages += 1;
        *counters.statuses.entry(exchange.status / 100).or_default() += 1;
        let verdict = judged.verdict.name().to_owned();
        *counters.verdicts.entry(verdict).or_default() += 1;
        if let Verdict::Ineligible(reason) = judged.verdict {
            let reason = reason.name().to_owned();
            *counters.ineligible.entry(reason).or_default() += 1;
        }
    }

    /// Collects a visit's records, with their places, and its document if something new is stored
    /// or judged unique: its position among the group's documents.
    fn archive(
        &mut self,
        judged: &Judged,
        exchange: &Exchange,
        group: &mut Group,
    ) -> (Option<usize>, Places) {
        let records = records::of(judged, exchange, self.store_policy);
        let before = group.records.len();
        let (places, response) = (Places::of(judged, &records, before), records.response);
        group.records.extend(records.all);
        let unique = matches!(judged.verdict, Verdict::Unique);
        let (stored, stored_for) = match (&judged.same_payload, response) {
            (_, Some((_, record))) => {
                let stored = Stored {
                    record: *record.as_bytes(),
                    ..Stored::default()
                };
                (stored, None)
            }
            (Some(same), None) if unique => {
                let of_same = || StoredFor {
                    url: same.url.clone(),
                    fetched: same.fetched,
                };
                let stored_for = same.stored_for.clone();
                let stored_for = stored_for.unwrap_or_else(|| Box::new(of_same()));
                (same.stored, Some(stored_for))
            }
            _ => return (None, places),
        };
        if judged.same_payload.is_some() && !unique {
            return (None, places);
        }
        let fingerprints = match &judged.analysed.fingerprints {
            Ok(fingerprints) if unique => fingerprints.clone(),
            _ => Fingerprints::default(),
        };
        let task = &judged.analysed.fetched.task;
        let document = Document {
            id: self.state.last_document + 1,
            url_id: task.queued.id,
            url: task.queued.url.clone(),
            fetched: micros(judged),
            stored,
            stored_for,
            payload: judged.analysed.payload,
            fingerprints,
        };
        let record = response.map(|(at, _)| before + at);
        (Some(self.add_document(document, record, group)), places)
    }

    /// Adds the next document, whose response is this record of the group if it was not stored before:
    /// its position among the group's documents.
    pub(super) fn add_document(
        &mut self,
        document: Document,
        record: Option<usize>,
        group: &mut Group,
    ) -> usize {
        self.state.last_document = document.id;
        let postings = self
            .index
            .insert(Arc::new(document.clone()), &mut self.catalog[DEDUP_RUNS..]);
        group.delta.postings.extend(postings);
        group.documents.push(PendingDocument {
            document,
            record,
            robots: None,
        });
        group.documents.len() - 1
    }

    /// The acknowledgement: the task leaves its queue, the host keeps its pace.
    fn finish(
        &mut self,
        judged: &Judged,
        line: Option<LogLine>,
        mut receipt: Receipt,
        group: &mut Group,
    ) -> Result<(), Error> {
        let fetched = &judged.analysed.fetched;
        let task = &fetched.task;
        let answered = matches!(fetched.outcome, Outcome::Exchange(_));
        let again = line.as_ref().is_some_and(|line| line.verdict == "retry");
        let asked = match &fetched.outcome {
            Outcome::Exchange(_) => true,
            Outcome::Failed(failure) => failure.asked(),
        };
        let host = group.host(&*self.store, &task.host)?;
        if asked && fetched.finished >= host.last_visit {
            host.keep_pace(&fetched.pace);
            host.last_visit = fetched.finished;
        }
        if let Outcome::Exchange(exchange) = &fetched.outcome {
            host.visits += 1;
            let (bytes, took) = (exchange.body.len() as u64, exchange.duration);
            host.bytes += bytes;
            host.millis += u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            self.run_hosts
                .answered(&task.host, exchange.duration, exchange.body.len() as u64);
        }
        if let Some(place) = task.place {
            self.leave_queue(&task.host, place, group)?;
        }
        let forbidden = matches!(&fetched.outcome, Outcome::Failed(failure)
            if matches!(failure.class, FailureClass::Robots | FailureClass::Budget));
        if let Outcome::Exchange(exchange) = &fetched.outcome {
            self.count_spent(&task.host, exchange, group)?;
        }
        receipt.visit = Some(Done {
            host: task.host.clone(),
            place: task.place,
            handed_out: !forbidden,
            counted: answered && !again && task.queued.purpose == Purpose::Page,
        });
        group.receipts.push(receipt);
        if let Some(line) = &line {
            tracing::debug!(
                url = line.url,
                status = line.status,
                verdict = line.verdict,
                depth = task.queued.depth,
                annotation = line.annotation,
                "visit"
            );
        }
        group.lines.extend(line.map(|line| (line, task.queued.via)));
        Ok(())
    }

    /// Takes a URL out of its host's queue.
    pub(super) fn leave_queue(
        &mut self,
        host: &HostKey,
        place: Place,
        group: &mut Group,
    ) -> Result<(), Error> {
        let key = keys::queue(host.as_str(), place.class, place.block.last);
        let is_swept = group.host(&*self.store, host)?.learned_rules.swept;
        // A variant may have been taken from the queue while it was on its way.
        let removed = match is_swept {
            true => self.removed_of(&key, place.block.last, group)?,
            false => 0,
        };
        let host = group.host(&*self.store, host)?;
        host.raise_head(place);
        let left = host.leave(place.class, place.block, removed);
        if left != Leave::Gone {
            host.queued = host.queued.saturating_sub(1);
            self.state.counters.queued = self.state.counters.queued.saturating_sub(1);
            self.disk.left_queues += 1;
        }
        if left == Leave::Last {
            group.batch.delete(Table::Queue, key);
        }
        Ok(())
    }

    /// Which URLs were taken out of a block unvisited, a bit for each; all if there is no such block.
    fn removed_of(&self, key: &[u8], last: u64, group: &Group) -> Result<u64, Error> {
        if let Some(removed) = group.swept.get(key) {
            return Ok(*removed);
        }
        let row = self.store.get(Table::Queue, key)?;
        let block = row.map(|row| Block::decode(last, &row)).transpose()?;
        Ok(block.map_or(u64::MAX, |block| block.removed))
    }
}

/// What would speak for another attempt: the class of failure, and what happened. A body that took
/// too long is not asked for again: it would again.
fn trouble(outcome: &Outcome) -> Option<(Trouble, String)> {
    let trouble = answer(false, outcome).trouble()?;
    match outcome {
        Outcome::Failed(failure) => Some((trouble, failure.message.clone())),
        Outcome::Exchange(exchange) => match trouble {
            Trouble::Timeout => None,
            Trouble::Disconnect => Some((trouble, "the answer broke off".to_owned())),
            _ => Some((trouble, format!("status {}", exchange.status))),
        },
    }
}

/// What became of a URL that was answered.
fn answered(judged: &Judged, exchange: &Exchange, places: &Places) -> Fate {
    if let Purpose::Sitemap { level } = judged.analysed.fetched.task.queued.purpose {
        return Fate::Sitemap {
            status: exchange.status,
            level,
            entries: entries(judged),
            size: exchange.body.len() as u64,
        };
    }
    let page = match &judged.analysed.findings {
        Findings::Page(page) => Some(page),
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
            // An unchanged page is the original that it was.
            Verdict::Unique | Verdict::Unchanged(_) => Judgement::Unique,
            Verdict::Ineligible(reason) => Judgement::Ineligible(*reason),
            Verdict::Duplicate(repeat) => Judgement::Duplicate(Duplicate {
                of: repeat.original.id,
                page: repeat.original.url_id,
                tier: repeat.tier,
                distance: repeat.distance,
                similarity: repeat.similarity,
                first_seen: micros(judged),
                last_checked: micros(judged),
                rank: Rank::unsettled(places.keeps_body()),
            }),
        },
    }
}

/// When a visit was begun: microseconds since 1970.
fn micros(judged: &Judged) -> i64 {
    let fetched = &judged.analysed.fetched;
    match &fetched.outcome {
        Outcome::Exchange(exchange) => exchange.started.as_microsecond(),
        Outcome::Failed(_) => fetched.finished.micros(),
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
            notes.push(format!("{}: {}", failure.class.name(), failure.message));
        }
    }
    if judged.is_not_modified() {
        notes.push("not-modified".to_owned());
    }
    if let Some(repeats) = judged.verdict.repeats() {
        line.original = Some(repeats.original.url.clone());
        if matches!(judged.verdict, Verdict::Unchanged(_)) {
            if repeats.original.url_id == fetched.task.queued.id {
                line.original = None;
            }
            if !judged.is_not_modified() {
                notes.push(format!("unchanged:{}", repeats.tier.name()));
            }
        }
        if repeats.distance > 0 {
            notes.push(format!("distance:{}", repeats.distance));
        }
    }
    if let Verdict::Ineligible(reason) = judged.verdict
        && (reason.is_refusal() || reason == Ineligible::Kind)
    {
        notes.push(format!("ineligible:{}", reason.name()));
    }
    line.annotation = (!notes.is_empty()).then(|| notes.join("; "));
    line
}
