//! Compares a visit's page with its previous visit and with the stored originals: whether it can be
//! compared at all, what it repeats, and whether that is still live.

use std::sync::Arc;

use super::group::Group;
use crate::dedup::{Fingerprints, Ineligible, Repeat, Rules, Similarity, Tier, Verdict};
use crate::engine::Error;
use crate::engine::learned::refusals;
use crate::engine::visit::{Analysed, Findings, Judged};
use crate::fetch::Outcome;
use crate::frontier::QueuedUrl;
use crate::page::Refusal;
use crate::rows::{Duplicate, Fate, Judgement, PageRecord};

/// Returns the verdict on a visit, with what it rests on.
pub(super) fn compare<'a>(
    analysed: &'a Analysed,
    rules: &Rules,
    group: &mut Group<'_>,
) -> Result<Judged<'a>, Error> {
    let mut judged = Judged {
        previous: previous(&analysed.fetched.task.queued, group)?,
        ..not_judged(analysed)
    };
    let Outcome::Exchange(_) = &analysed.fetched.outcome else {
        return Ok(judged);
    };
    if judged.is_not_modified() {
        match not_modified(judged.previous.as_deref(), group)? {
            Some(verdict) => judged.verdict = verdict,
            None => judged.must_be_whole = true,
        }
        return Ok(judged);
    }
    judged.verdict = match eligible(analysed, rules) {
        Err(reason) => Verdict::Ineligible(reason),
        Ok(fingerprints) => {
            let verdict = verdict(&judged, fingerprints, rules, group)?;
            refusals::unless_repeated(verdict, &judged, rules, group)?
        }
    };
    let same = group.find_payload(&analysed.payload)?;
    judged.same_payload = same.filter(|stored| group.is_archived(stored));
    judged.keep = match &judged.verdict {
        Verdict::Ineligible(Ineligible::Kind) => Some(false),
        Verdict::Duplicate(repeat) => {
            let is_new = judged.same_payload.is_none();
            has_room(repeat, analysed, is_new, rules, group)?
        }
        _ => None,
    };
    Ok(judged)
}

/// Returns a visit that was compared with nothing.
pub(crate) fn not_judged(analysed: &Analysed) -> Judged<'_> {
    Judged {
        analysed,
        verdict: Verdict::Ineligible(Ineligible::Status),
        same_payload: None,
        keep: None,
        body: None,
        previous: None,
        must_be_whole: false,
    }
}

/// Returns the record of a page that is revisited.
fn previous(queued: &QueuedUrl, group: &Group<'_>) -> Result<Option<Box<PageRecord>>, Error> {
    if !queued.revisit {
        return Ok(None);
    }
    Ok(group.set.committed_page(queued.id)?.map(Box::new))
}

/// Returns the signatures of a page that can be an original or a duplicate, or the reason why it
/// cannot.
fn eligible<'a>(analysed: &'a Analysed, rules: &Rules) -> Result<&'a Fingerprints, Ineligible> {
    let fingerprints = analysed.fingerprints.as_ref().map_err(|reason| *reason)?;
    if let Findings::Page(page) = &analysed.findings
        && (page.refusal.is_some() || page.is_script_shell)
        && rules.of(&analysed.fetched.task.queued.url).refusals
    {
        return Err(match page.refusal {
            Some(Refusal::Challenge) => Ineligible::Challenge,
            Some(Refusal::Denied) => Ineligible::Denied,
            Some(Refusal::Consent) => Ineligible::Consent,
            None => Ineligible::ScriptShell,
        });
    }
    Ok(fingerprints)
}

/// Returns the verdict on a page that can be an original or a duplicate.
fn verdict(
    judged: &Judged<'_>,
    fingerprints: &Fingerprints,
    rules: &Rules,
    group: &Group<'_>,
) -> Result<Verdict, Error> {
    if let Some(repeat) = unchanged(judged, group)? {
        return Ok(Verdict::Unchanged(repeat));
    }
    let queued = &judged.analysed.fetched.task.queued;
    let verdict = group.judge(queued.id, &queued.url, fingerprints, rules)?;
    let Some(before) = judged.previous.as_deref().and_then(PageRecord::duplicate) else {
        return Ok(verdict);
    };
    with_hysteresis(verdict, before, (&queued.url, fingerprints), rules, group)
}

/// Returns what the page repeats if it is unchanged since its last visit: itself as an original, or
/// an original that is still live.
fn unchanged(judged: &Judged<'_>, group: &Group<'_>) -> Result<Option<Repeat>, Error> {
    let analysed = judged.analysed;
    let (Some(previous), Ok(own)) = (judged.previous.as_deref(), &analysed.fingerprints) else {
        return Ok(None);
    };
    let Fate::Answered { judgement, .. } = &previous.fate else {
        return Ok(None);
    };
    match (judgement, &previous.document) {
        (Judgement::Unique, Some(stored)) => {
            let kind = own.same_as(&stored.fingerprints);
            Ok(kind.map(|kind| Repeat::exact(Arc::new(stored.clone()), kind)))
        }
        (Judgement::Duplicate(duplicate), _)
            if previous
                .revisit
                .is_some_and(|it| it.mark == analysed.mark()) =>
        {
            still_repeated(duplicate, group)
        }
        _ => Ok(None),
    }
}

/// Returns the verdict on a page that the server says is unchanged (304), or `None` if what it was
/// is no longer live, so that its body is needed.
fn not_modified(
    previous: Option<&PageRecord>,
    group: &Group<'_>,
) -> Result<Option<Verdict>, Error> {
    let Some(previous) = previous else {
        return Ok(None);
    };
    let judgement = match &previous.fate {
        Fate::Answered { judgement, .. } => judgement,
        // Its entries were queued then.
        Fate::Sitemap { .. } => return Ok(Some(Verdict::Ineligible(Ineligible::Status))),
        Fate::Failed { .. } | Fate::Known { .. } => return Ok(None),
    };
    let repeat = match judgement {
        Judgement::Ineligible(reason) => return Ok(Some(Verdict::Ineligible(*reason))),
        Judgement::Unique => {
            let stored = previous.document.clone();
            stored.map(|stored| Repeat::exact(Arc::new(stored), Tier::Raw))
        }
        Judgement::Duplicate(duplicate) => still_repeated(duplicate, group)?,
    };
    Ok(repeat.map(Verdict::Unchanged))
}

/// Returns what a page was found to repeat, if that is still live.
fn still_repeated(duplicate: &Duplicate, group: &Group<'_>) -> Result<Option<Repeat>, Error> {
    let Some(original) = group.document(duplicate.of)? else {
        return Ok(None);
    };
    let stands = group.is_live_original(&original)?;
    Ok(stands.then_some(Repeat {
        original,
        tier: duplicate.tier,
        distance: duplicate.distance,
        similarity: duplicate.similarity,
    }))
}

/// Returns the verdict on a duplicate that has changed: it leaves its cluster only if it clearly is
/// another page now, or exactly one that is stored.
fn with_hysteresis(
    verdict: Verdict,
    before: &Duplicate,
    (url, fingerprints): (&str, &Fingerprints),
    rules: &Rules,
    group: &Group<'_>,
) -> Result<Verdict, Error> {
    let is_better = verdict
        .repeats()
        .is_some_and(|repeat| repeat.tier != Tier::Near || repeat.original.id == before.of);
    if is_better {
        return Ok(verdict);
    }
    let Some(original) = group.document(before.of)? else {
        return Ok(verdict);
    };
    let rule = rules.of(url).and(&rules.of(&original.url));
    match fingerprints.stays_near(&original.fingerprints, &rule) {
        Some(found) if group.is_live_original(&original)? => Ok(Verdict::Duplicate(Repeat {
            original,
            tier: Tier::Near,
            distance: found.distance,
            similarity: Similarity::of(found.similarity),
        })),
        _ => Ok(verdict),
    }
}

/// Whether the cluster may store another body, by the `stored_members` of both rules; `None` if
/// neither has one. Counts the body if it may.
fn has_room(
    repeat: &Repeat,
    analysed: &Analysed,
    is_new: bool,
    rules: &Rules,
    group: &mut Group<'_>,
) -> Result<Option<bool>, Error> {
    let own = rules.of(&analysed.fetched.task.queued.url);
    let Some(most) = own.and(&rules.of(&repeat.original.url)).stored_members else {
        return Ok(None);
    };
    // Bytes that are stored already take no space.
    if !is_new {
        return Ok(Some(false));
    }
    let Some(page) = group.set.page(repeat.original.url_id)? else {
        return Ok(Some(false));
    };
    let has_room = page.stored_members < most;
    page.stored_members += u32::from(has_room);
    Ok(Some(has_room))
}

#[cfg(test)]
mod tests;
