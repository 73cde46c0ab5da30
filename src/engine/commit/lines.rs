//! The fetch log's line of a visit and, for an answered page, its identity and verdict.

use crate::dedup::{Ineligible, Tier, Verdict};
use crate::engine::again::{document_place, earlier_place};
use crate::engine::error::Error;
use crate::engine::visit::{Findings, Judged};
use crate::fetch::Outcome;
use crate::journal::{Digests, LogLine, PageGroup, PageLine, RecordPlace};
use crate::rows::{ArchiveNames, Fate, Likeness};
use crate::store::Store;
use crate::url::{Identity, Url};

/// Returns the line of a visit; the page on which its URL was found is added later.
pub(super) fn log_line(judged: &Judged<'_>) -> LogLine {
    let fetched = &judged.analysed.fetched;
    let time = jiff::Timestamp::from_microsecond(judged.analysed.micros()).unwrap_or_default();
    let mut line = LogLine {
        time: format!("{time:.3}"),
        url: fetched.task.queued.url.clone(),
        path: fetched.task.queued.path.clone(),
        verdict: (&judged.verdict).into(),
        ..LogLine::default()
    };
    match &fetched.outcome {
        Outcome::Exchange(exchange) => {
            line.status = exchange.status;
            line.size = exchange.body.len() as u64;
            line.mime = exchange.mime();
            line.duration_ms = u64::try_from(exchange.duration.as_millis()).unwrap_or(u64::MAX);
        }
        Outcome::Failed(_) => {}
    }
    if let Some(repeat) = judged.verdict.repeats() {
        let is_itself = matches!(judged.verdict, Verdict::Unchanged(_))
            && repeat.original.url_id == fetched.task.queued.id;
        line.original = (!is_itself).then(|| repeat.original.url.clone());
    }
    let notes = notes(judged);
    line.annotation = (!notes.is_empty()).then(|| notes.join("; "));
    line
}

/// Returns what was unusual about a visit.
fn notes(judged: &Judged<'_>) -> Vec<String> {
    let mut notes = judged.analysed.notes.clone();
    if let Outcome::Failed(failure) = &judged.analysed.fetched.outcome {
        notes.push(format!("{}: {}", failure.class.name(), failure.message));
    }
    if judged.is_not_modified() || judged.analysed.borrowed() > 0 {
        notes.push("not-modified".to_owned());
    }
    notes.extend(unchanged_since(judged).map(|date| format!("unchanged-since:{date}")));
    if let Some(repeat) = judged.verdict.repeats() {
        if matches!(judged.verdict, Verdict::Unchanged(_)) && !judged.is_not_modified() {
            notes.push(format!("unchanged:{}", repeat.tier.name()));
        }
        if repeat.distance > 0 {
            notes.push(format!("distance:{}", repeat.distance));
        }
    }
    if let Verdict::Ineligible(reason) = judged.verdict
        && (reason.is_refusal() || matches!(reason, Ineligible::Kind | Ineligible::ScriptShell))
    {
        notes.push(format!("ineligible:{}", reason.name()));
    }
    notes
}

/// Returns the line's description of an answered page; the places of its records are filled in
/// later.
pub(super) fn page_line(
    judged: &Judged<'_>,
    identity: &Identity,
    store: &dyn Store,
) -> Result<PageLine, Error> {
    let page = match &judged.analysed.findings {
        Findings::Page(page) => Some(page),
        _ => None,
    };
    let fingerprints = judged.analysed.fingerprints.as_ref().ok();
    let task = &judged.analysed.fetched.task;
    let of_headers = judged.analysed.wishes;
    let wishes = page.map_or(of_headers, |page| page.robots.merge(of_headers));
    let repeat = match &judged.verdict {
        Verdict::Duplicate(repeat) => Some(repeat),
        _ => None,
    };
    // What was not sent again is as it was.
    let known = (judged.previous.as_deref()).filter(|_| judged.is_not_modified());
    let [title, language, canonical] = match known.map(|known| &known.fate) {
        Some(Fate::Answered {
            title,
            language,
            canonical,
            ..
        }) => [title, language, canonical].map(Clone::clone),
        _ => [const { None }; 3],
    };
    Ok(PageLine {
        canonical: other_form(&task.url, &task.queued.url, identity),
        canonical_hint: page.map_or(canonical, |page| page.canonical.clone()),
        title: page.map_or(title, |page| page.title.clone()),
        language: page.map_or(language, |page| page.language.clone()),
        detected: page
            .and_then(|page| page.detected_language)
            .map(|it| (it.language.to_owned(), it.permille)),
        robots: wishes.names().map(str::to_owned).collect(),
        tag: judged.tag().map(str::to_owned),
        words: page
            .and(fingerprints)
            .map(|fingerprints| fingerprints.words),
        digests: fingerprints.map(Digests::of).unwrap_or_default(),
        simhash: (judged.analysed.simhash).map(|bits| format!("{bits:016x}")),
        distance: repeat.map(|repeat| repeat.distance),
        similarity: repeat.map(|repeat| repeat.similarity),
        group: None,
        supersedes: supersedes(judged, store)?,
        record: None,
        text: earlier_text(judged, store)?,
        unchanged_since: unchanged_since(judged),
    })
}

/// Returns the date of the record of an earlier crawl since which a page is unchanged.
fn unchanged_since(judged: &Judged<'_>) -> Option<String> {
    let page = judged.analysed.unchanged_since()?;
    let date = jiff::Timestamp::from_microsecond(page.date).unwrap_or_default();
    Some(format!("{date:.3}"))
}

/// Returns where the text of a page can be read if an earlier crawl has its body.
fn earlier_text(judged: &Judged<'_>, store: &dyn Store) -> Result<Option<RecordPlace>, Error> {
    if let Some(page) = judged.analysed.unchanged_since() {
        let is_page = matches!(judged.analysed.findings, Findings::Page(_));
        let place = is_page.then(|| earlier_place(store, page)).transpose()?;
        return Ok(place.flatten());
    }
    let stored = match &judged.verdict {
        Verdict::Unchanged(repeat) => Some(&repeat.original),
        _ => judged.same_payload.as_ref(),
    };
    let place = stored.map(|stored| document_place(store, stored));
    Ok(place.transpose()?.flatten())
}

/// Returns how a page's line tells of its group.
pub(super) fn page_group(likeness: Likeness) -> PageGroup {
    PageGroup {
        url: likeness.url,
        tier: Tier::Near,
        similarity: likeness.similarity,
        digits_only: likeness.is_in_digits,
    }
}

/// Returns the record of the visit that called a page a duplicate, if it is one of its own now.
fn supersedes(judged: &Judged<'_>, store: &dyn Store) -> Result<Option<RecordPlace>, Error> {
    let previous = judged.previous.as_deref();
    let duplicate = previous.filter(|it| it.duplicate().is_some());
    let record = duplicate.and_then(|it| it.record.as_ref());
    let (Verdict::Unique, Some((kind, location))) = (&judged.verdict, record) else {
        return Ok(None);
    };
    let names = ArchiveNames::read(store)?;
    Ok(Some(RecordPlace::of(&names, *kind, location)))
}

/// Returns the canonical form of a URL, if it differs from the URL as requested.
fn other_form(url: &Url, requested: &str, identity: &Identity) -> Option<String> {
    let canonical = identity.canonical(url).to_string();
    (canonical != requested).then_some(canonical)
}
