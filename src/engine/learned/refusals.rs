//! Refusals that are recognized by repetition: a short text under many URLs of a host whose other
//! pages differ. Images, data, form values and the title are part of what must repeat, apart from
//! words of the URL, so pages that say something besides their text are pages of their own. What
//! repeats is no original, and the first page of it, which became one before this could be known,
//! is withdrawn.

use xxhash_rust::xxh3::xxh3_64;

use crate::dedup::{Document, Ineligible, Repeat, Rules, Signature, Tier, Verdict};
use crate::engine::Error;
use crate::engine::commit::Group;
use crate::engine::visit::{Analysed, Findings, Judged};
use crate::page::{Line, Role};
use crate::rows::{Fate, Judgement, PageRecord};
use crate::url::{self, HostKey};

/// Maximum length of a visible text that may stand in place of pages, in bytes.
const MAX_TEXT: usize = 1_000;

/// Returns the verdict on a page, unless its host repeats its text: then the page is ineligible,
/// and the original of that text is withdrawn if it is from the same host.
pub(crate) fn unless_repeated(
    verdict: Verdict,
    judged: &Judged<'_>,
    rules: &Rules,
    group: &mut Group<'_>,
) -> Result<Verdict, Error> {
    if !is_repeated(judged, rules, group)? {
        return Ok(verdict);
    }
    if let Verdict::Duplicate(repeat) = &verdict {
        withdraw(repeat, judged.analysed, group)?;
    }
    Ok(Verdict::Ineligible(Ineligible::Repeated))
}

/// Returns `true` if a page's text is one that its host repeats. A page that is new is counted.
fn is_repeated(judged: &Judged<'_>, rules: &Rules, group: &mut Group<'_>) -> Result<bool, Error> {
    let task = &judged.analysed.fetched.task;
    if !rules.of(&task.queued.url).refusals {
        return Ok(false);
    }
    let is_new = judged.previous.is_none();
    let text = short_text(judged.analysed);
    if text.is_none() && !is_new {
        return Ok(false);
    }
    let repeats = &mut group.set.host(&task.host)?.repeats;
    let Some(text) = text else {
        repeats.see_other();
        return Ok(false);
    };
    if is_new {
        repeats.see(text, xxh3_64(task.url.path().as_bytes()));
    }
    Ok(repeats.is_repeated(text))
}

/// Withdraws the original of a text that its host repeats, if it is from the same host.
fn withdraw(repeat: &Repeat, analysed: &Analysed, group: &mut Group<'_>) -> Result<(), Error> {
    let is_from_there = url::parse(&repeat.original.url)
        .is_ok_and(|url| HostKey::of(&url) == analysed.fetched.task.host);
    if repeat.tier == Tier::Near || !is_from_there {
        return Ok(());
    }
    let document = group.withdraw(&repeat.original);
    if let Some(page) = group.set.page(document.url_id)? {
        make_repeated(page, &document);
    }
    Ok(())
}

/// Changes the record of a page whose document is no longer an original.
fn make_repeated(page: &mut PageRecord, document: &Document) {
    if let Fate::Answered { judgement, .. } = &mut page.fate {
        *judgement = Judgement::Ineligible(Ineligible::Repeated);
    }
    // The document of a page of this group is filled in later.
    if let Some(own) = &mut page.document {
        own.clone_from(document);
    }
}

/// Returns a digest of what a page with a short visible text says: the normal form of its text, and
/// what is not text.
fn short_text(analysed: &Analysed) -> Option<u64> {
    let Findings::Page(page) = &analysed.findings else {
        return None;
    };
    let fingerprints = analysed.fingerprints.as_ref().ok()?;
    match fingerprints.get(Tier::Normalized)? {
        Signature::Digest(digest) if page.full_text.len() <= MAX_TEXT => {
            let text = u64::from_be_bytes(*digest.first_chunk()?);
            Some(text.wrapping_add(said_besides(&page.parts.lines)))
        }
        _ => None,
    }
}

/// Returns a sum of what a page says besides its text, without words of its URL.
fn said_besides(lines: &[Line]) -> u64 {
    let besides = lines.iter().filter(|line| {
        matches!(
            line.role,
            Role::Title | Role::Headline | Role::Image | Role::Data | Role::Form
        )
    });
    besides.fold(0, |sum: u64, line| sum.wrapping_add(line.masked))
}
