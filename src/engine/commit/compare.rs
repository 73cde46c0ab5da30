//! Compares a visit's page with its previous visit and with the stored originals: whether it can be
//! compared at all, what it repeats, and whether that is still live.

pub(super) mod forms;

use std::sync::Arc;

use self::forms::Forms;
use super::group::{Committed, Group};
use super::write_set::foreign_original;
use crate::dedup::own::OwnLines;
use crate::dedup::{
    Fingerprints, Found, Ineligible, Originals, Profile, Repeat, Rules, Similarity, Tier, Verdict,
    shard_of,
};
use crate::engine::Error;
use crate::engine::again::document_of;
use crate::engine::learned::{own, refusals, restless};
use crate::engine::visit::{Analysed, Findings, Judged, Own, Since};
use crate::fetch::Outcome;
use crate::frontier::QueuedUrl;
use crate::page::Refusal;
use crate::rows::{Duplicate, Fate, Judgement, PageRecord};

/// Returns the verdict on a visit, with what it rests on.
pub(super) fn compare<'a>(
    analysed: &'a Analysed,
    rules: &Rules,
    forms: &Forms,
    group: &mut Group<'_>,
) -> Result<Judged<'a>, Error> {
    let mut judged = Judged {
        previous: previous(&analysed.fetched.task.queued, group)?,
        seed: group.set.settings_of(analysed.fetched.task.queued.id)?,
        ..not_judged(analysed)
    };
    let Outcome::Exchange(_) = &analysed.fetched.outcome else {
        return Ok(judged);
    };
    if matches!(analysed.since, Some(Since::Lost)) {
        judged.must_be_whole = true;
        return Ok(judged);
    }
    if judged.is_not_modified() {
        match not_modified(judged.previous.as_deref(), group)? {
            Some(verdict) => judged.verdict = verdict,
            None => judged.must_be_whole = true,
        }
        return Ok(judged);
    }
    judged.own = own::of(&judged, group)?;
    judged.verdict = match eligible(analysed, rules) {
        Err(reason) => Verdict::Ineligible(reason),
        Ok(fingerprints) => {
            let found = verdict(&judged, fingerprints, rules, group)?;
            judged.like = found.like;
            if let Some(original) = &found.doubt {
                judged.own.doubts = restless::doubts(&judged, original, group)?;
            }
            refusals::unless_repeated(found.verdict, &judged, rules, group)?
        }
    };
    if judged.verdict != Verdict::Unique {
        judged.like = None;
    }
    judged.own.novelty = own::novelty_by_verdict(&judged);
    own::take_in(&judged, group)?;
    find_same(&mut judged, forms, group)?;
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

/// Looks for the stored response that a revisit record may refer to: of a page that is unchanged
/// since an earlier crawl, that crawl's.
pub(super) fn find_same(
    judged: &mut Judged<'_>,
    forms: &Forms,
    group: &Group<'_>,
) -> Result<(), Error> {
    let Some(page) = judged.analysed.unchanged_since() else {
        return forms.find_same(judged, group);
    };
    judged.same_payload = Some(Arc::new(document_of(page, judged)));
    Ok(())
}

/// Returns a visit that was compared with nothing.
pub(crate) fn not_judged(analysed: &Analysed) -> Judged<'_> {
    Judged {
        analysed,
        verdict: Verdict::Ineligible(Ineligible::Status),
        same_payload: None,
        is_found_again: false,
        keep: None,
        keeps_body: false,
        like: None,
        previous: None,
        must_be_whole: false,
        seed: None,
        own: Own::default(),
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

/// Returns the verdict on a page that can be an original or a duplicate, and what it resembles.
fn verdict(
    judged: &Judged<'_>,
    fingerprints: &Fingerprints,
    rules: &Rules,
    group: &Group<'_>,
) -> Result<Found, Error> {
    let queued = &judged.analysed.fetched.task.queued;
    let own = own_of(judged);
    let judge = || group.judge((queued.id, &queued.url), fingerprints, own, rules);
    if let Some(repeat) = unchanged(judged, group)? {
        // What changed although the page is the same may have kept it from being a duplicate.
        let found = match judged.own.changed.is_empty() {
            true => None,
            false => Some(judge()?).filter(|found| found.verdict != Verdict::Unique),
        };
        return Ok(found.unwrap_or(Found {
            verdict: Verdict::Unchanged(repeat),
            like: None,
            doubt: None,
        }));
    }
    let found = judge()?;
    let Some(before) = judged.previous.as_deref().and_then(PageRecord::duplicate) else {
        return Ok(found);
    };
    with_hysteresis(found, before, judged, fingerprints, rules, group)
}

/// Returns what of a page may be its own.
fn own_of<'a>(judged: &'a Judged<'_>) -> Option<&'a OwnLines> {
    judged.own.lines.as_ref()
}

/// Returns what the page repeats if it is unchanged since its last visit: itself as an original, or
/// an original that is still live.
fn unchanged(judged: &Judged<'_>, group: &Group<'_>) -> Result<Option<Repeat>, Error> {
    let analysed = judged.analysed;
    if analysed.is_rehomed {
        return Ok(None);
    }
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
            let repeat = still_repeated(duplicate, group)?;
            match repeat {
                Some(repeat) if is_still_borne_out(&repeat, judged, own, group)? => {
                    Ok(Some(repeat))
                }
                _ => Ok(None),
            }
        }
        _ => Ok(None),
    }
}

/// Returns whether the own parts of a page and of its original still bear out that they are one, by
/// what is known of the template of their sites by now.
fn is_still_borne_out(
    repeat: &Repeat,
    judged: &Judged<'_>,
    fingerprints: &Fingerprints,
    group: &Group<'_>,
) -> Result<bool, Error> {
    if repeat.tier == Tier::Raw {
        return Ok(true);
    }
    let mut originals = Committed {
        group,
        reading: None,
        url: &judged.analysed.fetched.task.queued.url,
        own: own_of(judged),
    };
    let own = originals.compare_own(&repeat.original, repeat.similarity.share())?;
    Ok(fingerprints.is_borne_out_by(repeat.tier, own, &repeat.original.fingerprints))
}

/// Returns the verdict on a page that the server says is unchanged (304), or `None` if what it was
/// is no longer live, so that its body is needed.
fn not_modified(
    previous: Option<&PageRecord>,
    group: &Group<'_>,
) -> Result<Option<Verdict>, Error> {
    // Without validators it was put back since it was queued with some, because its body was lost.
    let Some(previous) = previous.filter(|it| it.validators.is_some()) else {
        return Ok(None);
    };
    let judgement = match &previous.fate {
        Fate::Answered { judgement, .. } => judgement,
        // Its entries were queued then.
        Fate::Sitemap { .. } => return Ok(Some(Verdict::Ineligible(Ineligible::Status))),
        Fate::Failed { .. }
        | Fate::Known { .. }
        | Fate::Requisite { .. }
        | Fate::FailedRequisite { .. } => return Ok(None),
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
    found: Found,
    before: &Duplicate,
    judged: &Judged<'_>,
    fingerprints: &Fingerprints,
    rules: &Rules,
    group: &Group<'_>,
) -> Result<Found, Error> {
    let is_better = (found.verdict.repeats())
        .is_some_and(|repeat| repeat.tier != Tier::Near || repeat.original.id == before.of);
    if is_better {
        return Ok(found);
    }
    let Some(original) = group.document(before.of)? else {
        return Ok(found);
    };
    let queued = &judged.analysed.fetched.task.queued;
    let rule = rules.of(&queued.url).and(&rules.of(&original.url));
    let others = &original.fingerprints;
    let Some(near) = fingerprints.stays_near(others, &rule) else {
        return Ok(found);
    };
    let mut originals = Committed {
        group,
        reading: None,
        url: &queued.url,
        own: own_of(judged),
    };
    let stays = !fingerprints.are_one_series(queued.id, others, original.url_id)
        && originals.is_live(&original)?
        && fingerprints.is_borne_out_by(
            Tier::Near,
            originals.compare_own(&original, near.similarity)?,
            others,
        );
    Ok(match stays {
        true => Found {
            verdict: Verdict::Duplicate(Repeat {
                original,
                tier: Tier::Near,
                distance: near.distance,
                similarity: Similarity::of(near.similarity),
            }),
            like: None,
            doubt: None,
        },
        false => found,
    })
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
    if rules.profile() == Profile::Archive {
        return Ok(Some(is_new));
    }
    let own = rules.of(&analysed.fetched.task.queued.url);
    let Some(most) = own.and(&rules.of(&repeat.original.url)).stored_members else {
        return Ok(None);
    };
    // Bytes that are stored already take no space.
    if !is_new {
        return Ok(Some(false));
    }
    let stored_members = if shard_of(repeat.original.id).is_some() {
        &mut foreign_original(&mut group.set, &repeat.original)?.stored_members
    } else {
        let Some(page) = group.set.page(repeat.original.url_id)? else {
            return Ok(Some(false));
        };
        &mut page.stored_members
    };
    let has_room = *stored_members < most;
    *stored_members += u32::from(has_room);
    Ok(Some(has_room))
}

#[cfg(test)]
pub(super) mod siblings;
#[cfg(test)]
mod tests;
