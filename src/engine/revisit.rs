//! Visiting pages again: from the record of a page to a row in `Revisits`, and from there, when it
//! is due, to its host's queue. What a visit found decides the time to the next
//! ([`RevisitPolicy`]); a visit that found nothing leaves the page's record as it was.
//!
//! Pages that were visited while pages were visited once only have no such row. The first run
//! that revisits gives them theirs, some at a time between commits.

use std::time::Duration;

use super::Error;
use super::committer::Committer;
use super::effects::Group;
use super::visit::{Analysed, Judged, Receipt};
use crate::dedup::{Signature, Tier, Verdict};
use crate::fetch::Outcome;
use crate::frontier::{
    Finding, Moment, Purpose, QueuedUrl, RevisitMode, RevisitPolicy, Validators,
};
use crate::rows::{Fate, Judgement, PageRecord, Revisit};
use crate::store::{Batch, Durability, Table, decode, encode, keys};
use crate::url::{self, HostKey, UrlId};

/// Rows read and queued in one commit.
pub(super) const CHUNK: usize = 1_000;

/// What a run knows of revisits besides its store.
#[derive(Debug)]
pub(super) struct Revisits {
    pub(super) policy: RevisitPolicy,
    /// When the next row is due, as far as is known: never later than it is.
    next: Option<Moment>,
    /// How far the pages that have no row were looked for; `None` if there are none.
    adopting: Option<Vec<u8>>,
    /// Some cluster may be without an original.
    pub(super) has_orphans: bool,
}

impl Revisits {
    pub(super) fn none() -> Self {
        Self {
            policy: RevisitPolicy::off(),
            next: None,
            adopting: None,
            has_orphans: true,
        }
    }

    fn is_on(&self) -> bool {
        self.policy.mode != RevisitMode::Off
    }
}

/// For what a page is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asking {
    /// Its body, if it is another than the last time.
    IfModified,
    /// Its body.
    Always,
}

impl Committer {
    /// From now on pages are revisited by this policy.
    pub(super) fn revisit_by(&mut self, policy: RevisitPolicy) -> Result<(), Error> {
        self.revisits.policy = policy;
        let complete = self.store.get(Table::Meta, keys::meta::REVISITS)?.is_some();
        if !self.revisits.is_on() {
            self.revisits.adopting = None;
            if complete {
                // Pages that are visited meanwhile get no row.
                let mut batch = Batch::new();
                batch.delete(Table::Meta, keys::meta::REVISITS);
                self.store.commit(batch, Durability::Disk)?;
            }
            return Ok(());
        }
        self.revisits.next = Some(self.state.revisits_from);
        if !complete && self.revisits.adopting.is_none() {
            self.revisits.adopting = Some(Vec::new());
        }
        Ok(())
    }

    /// How long nothing is to be done here.
    pub(super) fn until_revisits(&self, now: Moment) -> Duration {
        if !self.revisits.is_on() {
            return Duration::MAX;
        }
        match (&self.revisits.adopting, self.revisits.next) {
            _ if self.revisits.has_orphans => Duration::ZERO,
            (Some(_), _) => Duration::ZERO,
            (None, Some(next)) => now.until(next),
            (None, None) => Duration::MAX,
        }
    }

    /// Does what is due: queues visits, gives rows to pages that have none. For the schedule, the
    /// hosts that have something to fetch.
    pub(super) fn revisit(&mut self, now: Moment) -> Result<Vec<Receipt>, Error> {
        if !self.until_revisits(now).is_zero() {
            return Ok(Vec::new());
        }
        if self.revisits.has_orphans {
            let queued = self.succeed(now)?;
            if !queued.is_empty() {
                return Ok(queued);
            }
        }
        if let Some(after) = self.revisits.adopting.take() {
            self.adopt(&after)?;
        }
        let mut group = Group::at(now);
        let mut receipt = Receipt::default();
        let from = keys::revisit(self.state.revisits_from.0, &[0; 16]);
        let rows = self.store.range(Table::Revisits, &[], &from, CHUNK)?;
        let whole = rows.len() == CHUNK;
        self.revisits.next = None;
        for (key, _) in rows {
            let Some((due, id)) = keys::parse_revisit(&key) else {
                continue;
            };
            if Moment(due) > now {
                self.revisits.next = Some(Moment(due));
                break;
            }
            self.state.revisits_from = Moment(due);
            group.batch.delete(Table::Revisits, key);
            let id = UrlId::from_bytes(id);
            self.queue_revisit(id, Asking::IfModified, &mut receipt, &mut group)?;
        }
        if whole && self.revisits.next.is_none() {
            self.revisits.next = Some(now);
        }
        if group.batch.is_empty() {
            return Ok(Vec::new());
        }
        group.receipts.push(receipt);
        self.write(group)
    }

    pub(super) fn queue_revisit(
        &mut self,
        id: UrlId,
        asking: Asking,
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<(), Error> {
        let Some(row) = self.store.get(Table::Pages, id.as_bytes())? else {
            return Ok(());
        };
        let page: PageRecord = decode(Table::Pages, &row)?;
        let Ok(url) = url::parse(&page.url) else {
            return Ok(());
        };
        let purpose = match page.fate {
            Fate::Sitemap { level, .. } => Purpose::Sitemap { level },
            _ => Purpose::Page,
        };
        let queued = QueuedUrl {
            via: page.via,
            depth: page.depth,
            revisit: true,
            purpose,
            validators: page.validators.filter(|_| asking == Asking::IfModified),
            ..QueuedUrl::new(page.url, id)
        };
        self.queue(queued, HostKey::of(&url), receipt, group)
    }

    /// A site says that a page was changed after its last visit: its next one is due, but no sooner
    /// than pages are ever visited again. One that waits already is left alone.
    pub(super) fn changed(
        &mut self,
        id: UrlId,
        modified: Moment,
        group: &mut Group,
    ) -> Result<(), Error> {
        // What is said of the future is no news.
        if !self.revisits.is_on() || modified > group.now {
            return Ok(());
        }
        let Some(row) = self.store.get(Table::Pages, id.as_bytes())? else {
            return Ok(());
        };
        let mut page: PageRecord = decode(Table::Pages, &row)?;
        let visited = Moment(u64::try_from(page.time / 1_000).unwrap_or_default());
        let Some(revisit) = &mut page.revisit else {
            return Ok(());
        };
        let soonest = visited.plus(self.revisits.policy.min_interval);
        let due = soonest.max(group.now).max(self.state.revisits_from);
        // A row that is due is being queued, or is queued.
        if modified <= visited || revisit.due <= group.now || due >= revisit.due {
            return Ok(());
        }
        let row = |due: Moment| keys::revisit(due.0, id.as_bytes());
        group.batch.delete(Table::Revisits, row(revisit.due));
        group.batch.put(Table::Revisits, row(due), Vec::new());
        revisit.due = due;
        group.batch.put(Table::Pages, *id.as_bytes(), encode(&page));
        self.revisits.soon(due);
        Ok(())
    }

    /// Gives their rows to some pages that have none; the rest is for the next time.
    fn adopt(&mut self, after: &[u8]) -> Result<(), Error> {
        let rows = self.store.range(Table::Pages, &[], after, CHUNK)?;
        let mut batch = Batch::new();
        for (key, row) in &rows {
            let mut page: PageRecord = decode(Table::Pages, row)?;
            let (Fate::Answered { status, .. } | Fate::Sitemap { status, .. }, None, Ok(id)) =
                (&page.fate, page.revisit, key.as_slice().try_into())
            else {
                continue;
            };
            let finding = match is_gone(*status) {
                true => Finding::Gone,
                false => Finding::First,
            };
            let visited = Moment(u64::try_from(page.time / 1_000).unwrap_or_default());
            let Some(interval) = self.revisits.policy.next(None, finding) else {
                continue;
            };
            let due = visited.plus(interval).max(self.state.revisits_from);
            page.revisit = Some(Revisit {
                due,
                interval: millis(interval),
                // Nothing is known of its answer but its document.
                mark: 0,
            });
            batch.put(Table::Revisits, keys::revisit(due.0, id), Vec::new());
            batch.put(Table::Pages, key.clone(), encode(&page));
            self.revisits.soon(due);
        }
        match rows.last() {
            Some((key, _)) if rows.len() == CHUNK => {
                self.revisits.adopting = Some([key, &[0][..]].concat());
            }
            _ => batch.put(Table::Meta, keys::meta::REVISITS, Vec::new()),
        }
        Ok(self.store.commit(batch, Durability::Disk)?)
    }

    /// Collects the record of a visit that is over, and when its page is visited again.
    pub(super) fn keep(
        &mut self,
        judged: &Judged,
        mut record: PageRecord,
        document: Option<usize>,
        group: &mut Group,
    ) -> Result<(), Error> {
        let task = &judged.analysed.fetched.task;
        let previous = judged.previous.as_deref();
        let finding = finding(judged, previous);
        if previous.is_some() && !task.queued.purpose.is_sitemap() {
            let counts = &mut self.state.counters.revisits;
            *counts.entry(finding.name().to_owned()).or_default() += 1;
        }
        let mut document = document;
        let mut mark = mark(&judged.analysed);
        if let Some(previous) = previous
            && judged.is_not_modified()
        {
            // What is known stays known, and was seen to hold.
            record = PageRecord {
                time: record.time,
                last_seen: record.last_seen,
                attempts: record.attempts,
                validators: record.validators,
                revisit: None,
                ..previous.clone()
            };
            mark = previous.revisit.map_or(mark, |last| last.mark);
            if let Fate::Answered {
                judgement: Judgement::Duplicate(duplicate),
                ..
            } = &mut record.fate
            {
                duplicate.last_checked = record.time;
            }
        } else if let Some(previous) = previous {
            match (finding, &judged.verdict) {
                (Finding::Unreachable, _) => {
                    // Nothing was learned: what is known stays known, and what is stored an original.
                    record = previous.clone();
                    document = None;
                }
                (_, Verdict::Unchanged(_)) => {
                    // The original, or the duplicate, that it was.
                    if let (
                        Fate::Answered { judgement, .. },
                        Fate::Answered { judgement: was, .. },
                    ) = (&mut record.fate, &previous.fate)
                    {
                        *judgement = *was;
                    }
                    record.document.clone_from(&previous.document);
                    document = None;
                }
                _ => {}
            }
        }
        if finding != Finding::Unreachable && !judged.is_not_modified() {
            self.settle(judged, previous, &mut record);
        }
        self.file((task.queued.id, &task.host), previous, &record, group)?;
        if let Some(previous) = previous {
            let unique = matches!(judged.verdict, Verdict::Unique).then_some(document);
            let new = unique.flatten().and_then(|at| group.documents.get(at));
            let original = match new {
                Some(pending) => Some(pending.document.id),
                None => record.original().map(|document| document.id),
            };
            self.note_succession(task.queued.id, previous, (&record, original), group)?;
        }
        let last = previous.and_then(|page| page.revisit);
        let interval = last.map(|last| Duration::from_millis(last.interval));
        let answered = !matches!(record.fate, Fate::Failed { .. });
        record.revisit = self
            .revisits
            .policy
            .next(interval, finding)
            .filter(|_| answered)
            .map(|interval| Revisit {
                // Where the clock was set back, too: what is before is not looked at any more.
                due: (judged.analysed.fetched.finished.plus(interval))
                    .max(self.state.revisits_from),
                interval: millis(interval),
                mark: match (finding, last) {
                    (Finding::Unreachable, Some(last)) => last.mark,
                    _ => mark,
                },
            });
        if let Some(revisit) = record.revisit {
            let key = keys::revisit(revisit.due.0, task.queued.id.as_bytes());
            group.batch.put(Table::Revisits, key, Vec::new());
            self.revisits.soon(revisit.due);
        }
        group.pages.push((task.queued.id, record, document));
        Ok(())
    }
}

impl Revisits {
    /// A row is due then.
    fn soon(&mut self, due: Moment) {
        self.next = Some(self.next.map_or(due, |next| next.min(due)));
    }
}

/// What a page may be asked by the next time: the validators of an answer that is whole and is
/// a page. What a server names a 304 by is the page, too; what it leaves out holds as before.
pub(super) fn validators(judged: &Judged) -> Option<Validators> {
    let Outcome::Exchange(exchange) = &judged.analysed.fetched.outcome else {
        return None;
    };
    let is_refusal = matches!(judged.verdict, Verdict::Ineligible(why) if why.is_refusal());
    let is_whole = exchange.status == 200 && exchange.cut.is_none() && !is_refusal;
    if !is_whole && !judged.is_not_modified() {
        return None;
    }
    let of = exchange.conditions();
    let sent = Validators {
        etag: of.etag.map(str::to_owned),
        last_modified: of.last_modified.map(str::to_owned),
    };
    if sent.etag.is_some() || sent.last_modified.is_some() {
        return Some(sent);
    }
    let queued = &judged.analysed.fetched.task.queued;
    queued.validators.clone().filter(|_| !is_whole)
}

/// What a visit found, compared with the one before.
fn finding(judged: &Judged, previous: Option<&PageRecord>) -> Finding {
    let Outcome::Exchange(exchange) = &judged.analysed.fetched.outcome else {
        return match previous {
            Some(_) => Finding::Unreachable,
            None => Finding::First,
        };
    };
    match previous {
        _ if judged.is_not_modified() => Finding::Unchanged,
        _ if is_gone(exchange.status) => Finding::Gone,
        None => Finding::First,
        Some(_) if exchange.status >= 500 || exchange.asks_for_time() => Finding::Unreachable,
        // A refusal says nothing of the page.
        Some(_) if matches!(judged.verdict, Verdict::Ineligible(why) if why.is_refusal()) => {
            Finding::Unreachable
        }
        Some(_) if matches!(judged.verdict, Verdict::Unchanged(_)) => Finding::Unchanged,
        Some(page)
            if page
                .revisit
                .is_some_and(|last| last.mark == mark(&judged.analysed)) =>
        {
            Finding::Unchanged
        }
        Some(_) => Finding::Changed,
    }
}

fn is_gone(status: u16) -> bool {
    matches!(status, 404 | 410)
}

/// What an answer is: its main content, where it has one, for a page's furniture changes without
/// the page; else its text, or its bytes and status.
pub(super) fn mark(analysed: &Analysed) -> u64 {
    let digest = [Tier::Content, Tier::Normalized]
        .into_iter()
        .find_map(
            |kind| match analysed.fingerprints.as_ref().ok()?.get(kind)? {
                Signature::Digest(digest) => Some(digest),
                _ => None,
            },
        );
    let status = match &analysed.fetched.outcome {
        Outcome::Exchange(exchange) => u64::from(exchange.status),
        Outcome::Failed(_) => 0,
    };
    let digest = digest.unwrap_or(&analysed.payload);
    let leading = digest.first_chunk().copied().unwrap_or_default();
    u64::from_be_bytes(leading) ^ status
}

fn millis(interval: Duration) -> u64 {
    u64::try_from(interval.as_millis()).unwrap_or(u64::MAX)
}
