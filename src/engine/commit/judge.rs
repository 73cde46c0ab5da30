//! Judges a visit: what it changes, step by step, in the order of arrival.
//!
//! A page results in its record, its place in the archive and what it leads to; a robots.txt in its
//! host's state; both in the acknowledgement with which the task leaves its queue. Only the group's
//! write set changes here.

use self::counts::{count_answer, count_checked, count_failure, count_saved};
use super::bodies::Bodies;
use super::compare::{compare, not_judged};
use super::effects::{Places, VisitEffects};
use super::group::Group;
use super::likeness;
use super::lines::{log_line, page_group, page_line};
use super::losses;
use super::records::{self, Records};
use crate::archive::{RecordKind, StorePolicy};
use crate::dedup::{Document, DocumentId, Fingerprints, Rules, Stored, StoredFor, Verdict};
use crate::engine::Error;
use crate::engine::admission::{
    Gate, as_sitemap, fall_back, follow_canonical_form, follow_requisites, note_given_up,
};
use crate::engine::again::{
    Expiry, Revisits, early, forget_since, keep_robots, note_since, validators, write_page_record,
};
use crate::engine::learned::budgets::{count_failed, count_spent};
use crate::engine::learned::own;
use crate::engine::ring::answer::worth_another_attempt;
use crate::engine::ring::suspects::Suspects;
use crate::engine::visit::{Analysed, Done, Findings, Judged};
use crate::fetch::{Exchange, Failure, FailureClass, Outcome};
use crate::frontier::{Purpose, RobotsVerdict, Trouble};
use crate::journal::PageLine;
use crate::learn::Expectation;
use crate::rows::{Duplicate, Fate, Judgement, PageRecord, Rank, VisitVerdict};
use crate::store::{Table, keys};

mod counts;
mod publishing;
mod requisite;

/// What visits are judged by.
#[derive(Clone, Copy)]
pub(crate) struct Judge<'a> {
    pub(crate) gate: &'a Gate,
    pub(crate) rules: &'a Rules,
    pub(crate) keep: StorePolicy,
    pub(crate) bodies: &'a Bodies,
    pub(crate) revisits: &'a Revisits,
    pub(crate) expiry: &'a Expiry,
    pub(crate) suspects: &'a Suspects,
}

/// Why a URL is fetched once more before its visit counts.
enum Retry {
    /// It failed in a way that another attempt may cure.
    Failed(Trouble, String),
    /// The basis of its conditional request is no longer live.
    Unconditionally,
}

/// What became of a task, for its queue and for the schedule.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Done,
    /// It is queued again.
    Again,
}

impl Judge<'_> {
    /// Judges a visit and collects its effects.
    pub(crate) fn visit(&self, analysed: &Analysed, group: &mut Group<'_>) -> Result<(), Error> {
        #[cfg(test)]
        poison::meet(analysed);
        publishing::tell_server(&analysed.fetched, self.gate, group);
        let task = &analysed.fetched.task;
        if self.suspects.contains(task.queued.id) {
            // It was read this time, or given up.
            let key = keys::deaths(task.queued.id.as_bytes());
            group.set.batch.delete(Table::Meta, key);
        }
        let is_over = self.gate.forgotten.is_forgotten(task, group)?
            || was_visited_meanwhile(analysed, group)?;
        if is_over {
            let (judged, none) = (not_judged(analysed), VisitEffects::default());
            return acknowledge(&judged, none, End::Done, self.gate, group);
        }
        if let Purpose::Requisite(of) = task.queued.purpose {
            return self.requisite(analysed, of, group);
        }
        let mut judged = compare(analysed, self.rules, self.bodies.forms(), group)?;
        let expectation = task.queued.expectation;
        if matches!(expectation, Expectation::Again { .. }) && self.retry(&judged).is_none() {
            let effects = check_again(&judged, group)?;
            return acknowledge(&judged, effects, End::Done, self.gate, group);
        }
        self.bodies.settle(&mut judged, self.keep);
        let is_over_http_now = fall_back(self.gate, &analysed.fetched, group)?;
        let (effects, end) = match (analysed.fetched.task.queued.purpose, self.retry(&judged)) {
            (Purpose::Robots, _) => (self.robots(&judged, group)?, End::Done),
            (_, Some(retry)) if !is_over_http_now => {
                (try_again(&judged, retry, self.gate, group)?, End::Again)
            }
            _ => (self.page(&judged, group)?, End::Done),
        };
        acknowledge(&judged, effects, end, self.gate, group)
    }

    /// Judges a page, or a sitemap, whose entries were queued before.
    fn page(&self, judged: &Judged<'_>, group: &mut Group<'_>) -> Result<VisitEffects, Error> {
        let mut effects = VisitEffects::default();
        let mut line = log_line(judged);
        let mut document = None;
        let fate = match &judged.analysed.fetched.outcome {
            Outcome::Failed(failure)
                if failure.class == FailureClass::Robots
                    && follow_canonical_form(self.gate, &judged.analysed.fetched.task, group)? =>
            {
                line.verdict = verdict_of_failure(failure);
                None
            }
            Outcome::Failed(failure) => {
                line.verdict = verdict_of_failure(failure);
                if judged.previous.is_none() {
                    count_failure(failure, &mut group.set.state.counters);
                }
                Some(Fate::Failed {
                    class: failure.class.name().to_owned(),
                    message: failure.message.clone(),
                    next: None,
                })
            }
            Outcome::Exchange(exchange) => {
                document = self.archive(judged, exchange, &mut effects, group);
                publishing::offer(judged, exchange, document, group)?;
                let said = self.said_something(judged, group)?;
                let is_elsewhere = self.gate.follow(judged, exchange, said, group)?;
                self.follow_requisites(judged, &effects.places, group)?;
                if judged.previous.is_none() {
                    self.learn(judged, said, group)?;
                }
                if judged.analysed.fetched.task.queued.purpose.is_sitemap() {
                    line.verdict = VisitVerdict::Sitemap;
                }
                // The URL itself stays queued, in another form.
                (!is_elsewhere).then(|| answered(judged, exchange, &effects.places, group))
            }
        };
        if let Some(fate) = fate {
            note_since(judged.analysed, &self.gate.identity, group);
            if count_failed(judged, &mut group.set)? {
                note_given_up(judged.analysed.fetched.task.queued.id, group);
            }
            note_sitemap(judged, group);
            losses::note(judged, &effects.places, self.gate, group)?;
            if matches!(fate, Fate::Answered { .. }) {
                let likeness = likeness::file(judged, document, self.rules.profile(), group)?;
                effects.page_line = Some(PageLine {
                    group: likeness.map(page_group),
                    ..page_line(judged, &self.gate.identity, &*group.set.store)?
                });
            }
            self.expiry.see_original(judged, &mut group.set)?;
            let record = record(judged, fate);
            let (revisits, identity) = (self.revisits, &self.gate.identity);
            write_page_record(judged, record, document, revisits, identity, &mut group.set)?;
            early::note(judged, group)?;
            early::judge_again(judged, group)?;
            publishing::note(judged, group)?;
            early::examine(judged, group)?;
            effects.page = Some(judged.analysed.fetched.task.queued.id);
        }
        effects.line = Some(line);
        Ok(effects)
    }

    /// Adds the records of a response, and its document if something new is stored or judged
    /// unique.
    fn archive(
        &self,
        judged: &Judged<'_>,
        exchange: &Exchange,
        effects: &mut VisitEffects,
        group: &mut Group<'_>,
    ) -> Option<DocumentId> {
        group.set.state.counters.bytes += judged.analysed.received();
        let records = records::of(judged, exchange, self.bodies.keeping(self.keep));
        effects.places = records.places(judged, group.set.texts.len());
        effects.converted = records::converted(judged);
        self.keep_body(judged, &records, group);
        effects.records = records.all.len();
        let response = records.response;
        group.set.records.extend(records.all);
        group.set.texts.extend(records.conversion);
        let document = document(judged, response.map(|(_, id)| *id.as_bytes()))?;
        let id = group.add_document(document);
        own::keep(judged, id, group);
        Some(id)
    }

    /// Queues what a page needs, if the page can be played back: as its own response or as the copy
    /// of another.
    fn follow_requisites(
        &self,
        judged: &Judged<'_>,
        places: &Places,
        group: &mut Group<'_>,
    ) -> Result<(), Error> {
        let Some((RecordKind::Response | RecordKind::Revisit, _)) = places.main else {
            return Ok(());
        };
        let analysed = judged.analysed;
        let task = &analysed.fetched.task;
        follow_requisites(self.gate, task, &analysed.requisites, group)
    }

    /// Orders the body of a duplicate, to be kept beside its original's. What was kept of an
    /// earlier visit is replaced, or given up if the page is another one now.
    fn keep_body(&self, judged: &Judged<'_>, records: &Records, group: &mut Group<'_>) {
        let main = records.main.and_then(|at| records.all.get(at));
        if let Some(main) = main.filter(|_| judged.keeps_body) {
            let order = self.bodies.order(judged, main.id(), group);
            group.set.orders.extend(order);
        } else if judged.previous.is_some()
            && matches!(judged.verdict, Verdict::Unique | Verdict::Duplicate(_))
        {
            let task = &judged.analysed.fetched.task;
            group.set.unkept.push(task.queued.id);
            // It is another page now than an earlier crawl holds.
            let id = self.gate.identity.as_written(&task.url);
            group.set.batch.delete(Table::Earlier, *id.as_bytes());
        }
    }

    /// Returns whether a first visit said something of its own; `None` if that is not known.
    fn said_something(
        &self,
        judged: &Judged<'_>,
        group: &mut Group<'_>,
    ) -> Result<Option<bool>, Error> {
        if judged.previous.is_some() {
            return Ok(None);
        }
        let policies = self.gate.policies.load();
        self.gate.learning(&policies).said_something(judged, group)
    }

    /// Learns from a page's first response.
    fn learn(
        &self,
        judged: &Judged<'_>,
        said: Option<bool>,
        group: &mut Group<'_>,
    ) -> Result<(), Error> {
        let policies = self.gate.policies.load();
        self.gate.learning(&policies).take_in(judged, said, group)
    }

    /// Judges a robots.txt, which updates its host's state and names sitemaps.
    fn robots(&self, judged: &Judged<'_>, group: &mut Group<'_>) -> Result<VisitEffects, Error> {
        let mut effects = VisitEffects::default();
        let fetched = &judged.analysed.fetched;
        let task = &fetched.task;
        let Findings::Robots {
            verdict,
            crawl_delay,
            sitemaps,
        } = &judged.analysed.findings
        else {
            return Ok(effects);
        };
        let mut document = None;
        if let Outcome::Exchange(exchange) = &fetched.outcome {
            let counters = &mut group.set.state.counters;
            counters.robots += 1;
            match verdict {
                Some(_) => document = self.archive(judged, exchange, &mut effects, group),
                None => counters.bytes += exchange.body.len() as u64,
            }
        }
        // One that could not be fetched is requested again before anything else, when its host is
        // due again: until then nothing is allowed (RFC 9309, section 2.3.1.4), and nothing is
        // given up.
        if let Some(verdict) = verdict {
            keep_robots(fetched, (verdict, *crawl_delay), document, &mut group.set)?;
        }
        if let Some(RobotsVerdict::AllowAll | RobotsVerdict::Text(_)) = verdict {
            self.gate.queue_sitemaps(task, sitemaps, group)?;
        }
        let mut line = log_line(judged);
        line.verdict = VisitVerdict::Robots;
        effects.line = Some(line);
        Ok(effects)
    }

    /// Returns whether a URL is to be fetched once more, and why.
    fn retry(&self, judged: &Judged<'_>) -> Option<Retry> {
        let fetched = &judged.analysed.fetched;
        let politeness = self.gate.policies.load().of(&fetched.task.host).politeness;
        if attempts(judged) < politeness.attempts
            && let Some((trouble, message)) = worth_another_attempt(judged)
            && politeness.retry.has(trouble)
        {
            return Some(Retry::Failed(trouble, message));
        }
        judged.must_be_whole.then_some(Retry::Unconditionally)
    }
}

/// Returns `true` if a page has its record already, and a second answer changes nothing: it was in
/// flight when it was deferred, and came back before that visit was committed, or it was asked for
/// as a sitemap too.
fn was_visited_meanwhile(analysed: &Analysed, group: &mut Group<'_>) -> Result<bool, Error> {
    let task = &analysed.fetched.task;
    let is_page = !matches!(task.queued.purpose, Purpose::Robots | Purpose::Requisite(_));
    let is_first = !task.queued.revisit && is_page;
    let known = group.set.known_host(&task.host)?;
    let was_swept = known.is_some_and(|state| state.suspicions.swept);
    let may_be_double = was_swept || group.is_seen(as_sitemap(task.queued.id));
    if !is_first || !may_be_double {
        return Ok(false);
    }
    // Where one form failed another may not.
    Ok(match group.set.answer_to(task.queued.id)? {
        Some((url, status)) => status < 400 || url == task.queued.url,
        None => false,
    })
}

/// Notes what a sitemap turned out to be: a page, to which links lead nowhere new, or a sitemap,
/// which is no page and is known under both its names.
fn note_sitemap(judged: &Judged<'_>, group: &mut Group<'_>) {
    let queued = &judged.analysed.fetched.task.queued;
    let is_sitemap = judged.analysed.sitemap_entries() > 0;
    if is_sitemap || !queued.purpose.is_sitemap() && group.is_seen(as_sitemap(queued.id)) {
        group.see(queued.id);
    }
    if is_sitemap {
        group.see(as_sitemap(queued.id));
    }
}

/// Takes in which lines of a page have changed since its last visit. Nothing else becomes of it.
fn check_again(judged: &Judged<'_>, group: &mut Group<'_>) -> Result<VisitEffects, Error> {
    count_checked(judged, group)?;
    let mut line = log_line(judged);
    line.verdict = VisitVerdict::Checked;
    Ok(VisitEffects {
        line: Some(line),
        ..VisitEffects::default()
    })
}

/// Queues a URL again; its record says what failed.
fn try_again(
    judged: &Judged<'_>,
    retry: Retry,
    gate: &Gate,
    group: &mut Group<'_>,
) -> Result<VisitEffects, Error> {
    let fetched = &judged.analysed.fetched;
    let task = &fetched.task;
    group.set.state.counters.retries += 1;
    let mut queued = task.queued.clone();
    match retry {
        Retry::Unconditionally => {
            queued.validators = None;
            if !queued.revisit {
                forget_since(judged.analysed, &gate.identity, group);
            }
        }
        Retry::Failed(trouble, message) => {
            queued.attempts = attempts(judged);
            if !task.queued.revisit {
                let next = Some(fetched.pace.due);
                let fate = Fate::failed(queued.purpose, trouble.name(), message, next);
                let record = record(judged, fate);
                group.set.put_page(task.queued.id, record, None);
            }
        }
    }
    group.set.queue(queued, task.host.clone())?;
    let mut line = log_line(judged);
    line.verdict = VisitVerdict::Retry;
    Ok(VisitEffects {
        line: Some(line),
        ..VisitEffects::default()
    })
}

/// The acknowledgement: the task leaves its queue, and the host keeps its pace.
fn acknowledge(
    judged: &Judged<'_>,
    mut effects: VisitEffects,
    end: End,
    gate: &Gate,
    group: &mut Group<'_>,
) -> Result<(), Error> {
    let fetched = &judged.analysed.fetched;
    let task = &fetched.task;
    let set = &mut group.set;
    let (is_answered, was_asked) = match &fetched.outcome {
        Outcome::Exchange(_) => (true, true),
        Outcome::Failed(failure) => (false, failure.asked()),
    };
    let host = set.host(&task.host)?;
    if was_asked && fetched.finished >= host.last_visit {
        host.keep_pace(&fetched.pace);
        host.last_visit = fetched.finished;
    }
    if let Outcome::Exchange(exchange) = &fetched.outcome {
        host.visits += 1;
        if !task.queued.revisit && task.queued.purpose != Purpose::Robots {
            let policy = gate.policies.load().of(&task.host).traps;
            count_spent(
                &task.host,
                (judged.analysed.received(), exchange.duration),
                &policy,
                set,
            )?;
        }
    }
    if let Some(place) = task.place {
        set.leave_queue(&task.host, place)?;
    }
    set.receipt.visit = Some(Done {
        host: task.host.clone(),
        place: task.place,
        handed_out: fetched.was_handed_out,
        counted: is_answered && end == End::Done && task.queued.purpose == Purpose::Page,
    });
    set.end_receipt();
    if let Some(line) = &effects.line {
        tracing::debug!(
            url = line.url,
            status = line.status,
            verdict = line.verdict.name(),
            depth = task.queued.depth,
            annotation = line.annotation,
            "visit"
        );
    }
    effects.via = task.queued.via;
    set.visits.push(effects);
    Ok(())
}

/// Returns the document that a visit adds: for a response that is stored with it, or for a unique
/// page whose bytes were stored before. `response` is the id of the stored response.
fn document(judged: &Judged<'_>, response: Option<[u8; 16]>) -> Option<Document> {
    let is_unique = matches!(judged.verdict, Verdict::Unique);
    if !is_unique && !judged.is_found_again {
        return None;
    }
    let (stored, stored_for) = match (&judged.same_payload, response) {
        // The bytes have a document already.
        (Some(_), _) if !is_unique => return None,
        (_, Some(record)) => {
            let stored = Stored {
                record,
                ..Stored::default()
            };
            (stored, None)
        }
        (Some(same), None) => {
            let of_same = || StoredFor {
                url: same.url.clone(),
                fetched: same.fetched,
            };
            let stored_for = same.stored_for.clone();
            (
                same.stored,
                stored_for.or_else(|| Some(Box::new(of_same()))),
            )
        }
        (None, None) => return None,
    };
    let analysed = judged.analysed;
    let queued = &analysed.fetched.task.queued;
    Some(Document {
        id: 0,
        url_id: queued.id,
        url: queued.url.clone(),
        fetched: analysed.micros(),
        stored,
        stored_for,
        payload: analysed.payload,
        fingerprints: match &analysed.fingerprints {
            Ok(fingerprints) if is_unique => fingerprints.clone(),
            _ => Fingerprints::default(),
        },
    })
}

/// Returns the fate of a URL that was answered, and counts it if this is the first visit.
fn answered(
    judged: &Judged<'_>,
    exchange: &Exchange,
    places: &Places,
    group: &mut Group<'_>,
) -> Fate {
    if judged.previous.is_none() {
        count_answer(judged, exchange, &mut group.set.state.counters);
        count_saved(judged, exchange, places, &mut group.set.saved);
    }
    let size = exchange.body.len() as u64;
    if let Purpose::Sitemap { level } = judged.analysed.fetched.task.queued.purpose {
        return Fate::Sitemap {
            status: exchange.status,
            level,
            entries: judged.analysed.sitemap_entries(),
            size,
        };
    }
    let page = match &judged.analysed.findings {
        Findings::Page(page) => Some(page),
        _ => None,
    };
    Fate::Answered {
        status: exchange.status,
        mime: exchange.mime(),
        size,
        title: page.and_then(|page| page.title.clone()),
        language: page.and_then(|page| page.language.clone()),
        canonical: page.and_then(|page| page.canonical.clone()),
        judgement: judgement(judged, places),
    }
}

/// Returns a verdict in the form that is stored.
fn judgement(judged: &Judged<'_>, places: &Places) -> Judgement {
    match &judged.verdict {
        // An unchanged page is the original that it was.
        Verdict::Unique | Verdict::Unchanged(_) => Judgement::Unique,
        Verdict::Ineligible(reason) => Judgement::Ineligible(*reason),
        Verdict::Duplicate(repeat) => Judgement::Duplicate(Duplicate {
            of: repeat.original.id,
            page: repeat.original.url_id,
            tier: repeat.tier,
            distance: repeat.distance,
            similarity: repeat.similarity,
            first_seen: judged.analysed.micros(),
            last_checked: judged.analysed.micros(),
            rank: Rank::unsettled(places.keep_body()),
        }),
    }
}

/// Returns a page record that describes this visit alone.
fn record(judged: &Judged<'_>, fate: Fate) -> PageRecord {
    let queued = &judged.analysed.fetched.task.queued;
    PageRecord {
        url: queued.url.clone(),
        via: queued.via,
        depth: queued.depth,
        time: judged.analysed.micros(),
        last_seen: judged.analysed.micros(),
        attempts: attempts(judged),
        fate,
        revisit: None,
        validators: validators(judged),
        document: None,
        record: None,
        stored_members: 0,
    }
}

/// Returns the number of attempts made at a URL, including this one.
fn attempts(judged: &Judged<'_>) -> u8 {
    let queued = &judged.analysed.fetched.task.queued;
    queued.attempts.saturating_add(1)
}

fn verdict_of_failure(failure: &Failure) -> VisitVerdict {
    match failure.class {
        FailureClass::Robots => VisitVerdict::Forbidden,
        _ => VisitVerdict::Failed,
    }
}

/// Visits that make the judge panic, as a bug would; for tests of the panic guard.
#[cfg(test)]
mod poison {
    use super::{Analysed, Outcome};

    /// Panics on an answered page whose URL asks for it.
    pub(super) fn meet(analysed: &Analysed) {
        let is_answered = matches!(analysed.fetched.outcome, Outcome::Exchange(_));
        let url = &analysed.fetched.task.url;
        assert!(
            !is_answered || !url.path().ends_with("/poison"),
            "a poison page"
        );
    }
}

#[cfg(test)]
mod tests;
