//! Writes the record of a page after a visit, first visit or not: decides what is kept of the
//! previous record, when the page is revisited, and in which cluster it is filed.

use std::time::Duration;

use super::membership::{complete, file};
use super::revisit::{Revisits, is_gone, millis};
use super::succession;
use crate::dedup::{DocumentId, Verdict};
use crate::engine::Error;
use crate::engine::commit::WriteSet;
use crate::engine::visit::Judged;
use crate::fetch::Outcome;
use crate::frontier::{Finding, Validators};
use crate::rows::{Fate, Judgement, PageRecord, Revisit};
use crate::url::Identity;

/// Writes the record of a visit that is over. `record` describes this visit alone, and `document`
/// is the one that it added.
pub(crate) fn write_page_record(
    judged: &Judged<'_>,
    record: PageRecord,
    document: Option<DocumentId>,
    revisits: &Revisits,
    identity: &Identity,
    set: &mut WriteSet,
) -> Result<(), Error> {
    let task = &judged.analysed.fetched.task;
    let id = task.queued.id;
    let previous = judged.previous.as_deref();
    let finding = finding(judged, previous);
    if previous.is_some() && !task.queued.purpose.is_sitemap() {
        set.state.counters.revisits.add(&finding);
    }
    let (mut record, document) = match previous {
        Some(previous) => after_revisit(judged, previous, finding, record, document),
        None => (record, document),
    };
    if finding != Finding::Unreachable && !judged.is_not_modified() {
        complete(judged, previous, &mut record, identity);
    }
    file((id, &task.host), previous, &record, identity, set)?;
    if let Some(previous) = previous {
        let new = document.filter(|_| matches!(judged.verdict, Verdict::Unique));
        let original = new.or_else(|| record.original().map(|document| document.id));
        succession::note(id, previous, (&record, original), set)?;
    }
    record.revisit = next_revisit(judged, finding, &record, revisits, set);
    if let Some(revisit) = record.revisit {
        set.schedule_revisit(id, revisit.due);
    }
    set.put_page(id, record, document);
    Ok(())
}

/// Returns the record of a page that was visited before, and the document of this group that it
/// contains.
fn after_revisit(
    judged: &Judged<'_>,
    previous: &PageRecord,
    finding: Finding,
    mut record: PageRecord,
    document: Option<DocumentId>,
) -> (PageRecord, Option<DocumentId>) {
    if judged.is_not_modified() {
        // What is known stays known, and was confirmed.
        record = PageRecord {
            time: record.time,
            last_seen: record.last_seen,
            attempts: record.attempts,
            validators: record.validators,
            revisit: None,
            ..previous.clone()
        };
        if let Fate::Answered {
            judgement: Judgement::Duplicate(duplicate),
            ..
        } = &mut record.fate
        {
            duplicate.last_checked = record.time;
        }
        return (record, document);
    }
    match (finding, &judged.verdict) {
        // Nothing was learned: the record stays, and a stored document stays an original.
        (Finding::Unreachable, _) => (previous.clone(), None),
        (_, Verdict::Unchanged(_)) => {
            // The page stays the original, or the duplicate, that it was.
            if let (Fate::Answered { judgement, .. }, Fate::Answered { judgement: was, .. }) =
                (&mut record.fate, &previous.fate)
            {
                *judgement = *was;
            }
            record.document.clone_from(&previous.document);
            (record, None)
        }
        _ => (record, document),
    }
}

/// Returns when a page is revisited, if it is.
fn next_revisit(
    judged: &Judged<'_>,
    finding: Finding,
    record: &PageRecord,
    revisits: &Revisits,
    set: &WriteSet,
) -> Option<Revisit> {
    if matches!(record.fate, Fate::Failed { .. }) {
        return None;
    }
    let last = judged.previous.as_deref().and_then(|page| page.revisit);
    // No interval was chosen for a page that a person put back.
    let interval = last.filter(|last| last.interval > 0);
    let interval = interval.map(|last| Duration::from_millis(last.interval));
    let interval = revisits.policy.next(interval, finding)?;
    let due = judged.analysed.fetched.finished.plus(interval);
    Some(Revisit {
        // The clock may have been set back: rows due before this are no longer read.
        due: due.max(set.state.revisits_from),
        interval: millis(interval),
        mark: match last {
            Some(last) if judged.is_not_modified() || finding == Finding::Unreachable => last.mark,
            _ => judged.analysed.mark(),
        },
    })
}

/// Returns the validators for the next conditional request: those of a response that is complete
/// and is a page. For a 304, they describe the page too, and validators that it omits stay the
/// same.
pub(crate) fn validators(judged: &Judged<'_>) -> Option<Validators> {
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

/// Compares a visit with the one before.
fn finding(judged: &Judged<'_>, previous: Option<&PageRecord>) -> Finding {
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
        // A refusal says nothing about the page.
        Some(_) if matches!(judged.verdict, Verdict::Ineligible(why) if why.is_refusal()) => {
            Finding::Unreachable
        }
        Some(_) if matches!(judged.verdict, Verdict::Unchanged(_)) => Finding::Unchanged,
        Some(page) if is_same(judged, page) => Finding::Unchanged,
        Some(_) => Finding::Changed,
    }
}

/// Whether an answer is the one that a page had before. Only pages that are visited regularly have
/// a mark; of others the payload is known, or what they repeated.
fn is_same(judged: &Judged<'_>, page: &PageRecord) -> bool {
    if let Some(last) = page.revisit {
        return last.mark == judged.analysed.mark();
    }
    if let Some(document) = &page.document {
        return document.payload == judged.analysed.payload;
    }
    match (&page.fate, &judged.verdict) {
        (
            Fate::Answered {
                judgement: Judgement::Duplicate(was),
                ..
            },
            Verdict::Duplicate(now),
        ) => {
            let now = (now.original.id, now.tier, now.distance, now.similarity);
            (was.of, was.tier, was.distance, was.similarity) == now
        }
        _ => false,
    }
}
