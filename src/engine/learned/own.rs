//! What a page has of its own: whether it adds something to its site, and what its lines teach
//! about the site's template.

use std::iter::repeat;

use super::restless;
use crate::dedup::own::Lines;
use crate::dedup::{DocumentId, Ineligible, Tier, Verdict};
use crate::engine::Error;
use crate::engine::commit::Group;
use crate::engine::visit::{Findings, Judged, News, Novelty, Own};
use crate::learn::{Class, Expectation, KnownLines, Sighting, Unit};
use crate::page::{Page, Role};
use crate::sites::{SiteName, headline, is_volatile, known, lines, own_lines, slots};
use crate::url;

/// Maximum number of lines that are told one by one; a page with more new ones is new.
const MAX_NEWS: usize = 8;
/// Maximum number of words of a line that may follow from the URL, like "results 11 to 20 of 95".
/// A longer one says something, whatever its numbers are.
const MAX_COUNTING: u16 = 16;

/// Returns what a visit's page has of its own, by what was seen of its site before.
pub(crate) fn of(judged: &Judged<'_>, group: &Group<'_>) -> Result<Own, Error> {
    let Some(page) = page(judged) else {
        return Ok(Own::default());
    };
    let site = SiteName::of(&judged.analysed.fetched.task.url);
    let template = group.template(&site)?;
    let lines = lines(&page.parts);
    let known = known(&lines, template.seen());
    let is_counted = judged.previous.is_some();
    let mut own = own_lines(&lines, &site, &known, is_counted);
    let changed = restless::changed(judged, &own, group)?;
    own.ignore(&changed);
    let novelty = novelty(page, &lines, &known);
    Ok(Own {
        lines: Some(own),
        changed,
        parts: Some(lines),
        ..novelty
    })
}

fn page<'a>(judged: &Judged<'a>) -> Option<&'a Page> {
    match &judged.analysed.findings {
        Findings::Page(page) => Some(page),
        _ => None,
    }
}

/// Returns what a page adds to its site: something new, if a line was never seen there, neither as
/// it is nor without what repeats the URL, and does not change with each fetch. A line that was
/// forgotten counts as never seen. What only names another page is not new: that page will say it.
/// If a few lines alone make it new, they are told.
fn novelty(page: &Page, lines: &Lines, known: &KnownLines<'_>) -> Own {
    let seen = known.seen();
    let slots = slots(&lines.lines, known).into_iter().map(Some);
    let mut own = Own::default();
    let mut count = 0;
    // Lines beyond those that are stored have no slot.
    let slots = slots.chain(repeat(None)).enumerate();
    for (line, (at, slot)) in page.parts.lines.iter().zip(slots) {
        let is_link = line.role == Role::Link
            || line.is_link && matches!(line.role, Role::Main | Role::Frame);
        let class = slot.map(Class::Slot);
        let is_known = match slot {
            Some(_) => known.knows(at),
            None => seen.knows(line.masked as u32),
        };
        if is_link
            || is_known
            || line.hash != line.masked && seen.knows(line.hash as u32)
            || is_volatile(&lines.lines, at, known)
            || known.are_volatile(class.into_iter())
        {
            continue;
        }
        count += 1;
        let is_picture = matches!(line.role, Role::Image | Role::Data);
        own.has_new_pictures |= is_picture;
        if count <= MAX_NEWS {
            let is_steady = class.is_some_and(|class| seen.is_steady(class));
            let is_counting = line.letters != line.hash && line.words <= MAX_COUNTING;
            own.news.push(News {
                line: line.hash as u32,
                letters: line.letters as u32,
                sum: (is_counting && !is_picture).then_some(line.sum),
                doubtful: slot.filter(|_| !is_steady),
            });
        }
    }
    if count > MAX_NEWS {
        own.news.clear();
    }
    own.novelty = match count > 0 {
        true => Novelty::New,
        // Something new may follow.
        false if page.parts.is_cut => Novelty::Unknown,
        false => Novelty::Nothing,
    };
    own
}

/// Returns what a page adds to its site once its verdict is known. A repetition of a page of the
/// same site adds nothing, although a line may change with each fetch, unless it shows another
/// picture; a script shell says nothing yet; and a refusal says nothing about the page.
pub(crate) fn novelty_by_verdict(judged: &Judged<'_>) -> Novelty {
    let url = &judged.analysed.fetched.task.url;
    let is_of_site = |original: &str| {
        url::parse(original).is_ok_and(|it| SiteName::of(&it) == SiteName::of(url))
    };
    match &judged.verdict {
        Verdict::Ineligible(Ineligible::ScriptShell) => Novelty::Nothing,
        Verdict::Ineligible(Ineligible::Challenge | Ineligible::Denied | Ineligible::Consent) => {
            Novelty::Unknown
        }
        Verdict::Duplicate(repeat) if is_of_site(&repeat.original.url) => match repeat.tier {
            // The pictures of a large site may have been forgotten.
            Tier::Raw => Novelty::Nothing,
            Tier::Normalized | Tier::Content if !judged.own.has_new_pictures => Novelty::Nothing,
            _ => judged.own.novelty,
        },
        _ => judged.own.novelty,
    }
}

/// Counts a page in the template of its site. Exact duplicates add nothing, so that a page with
/// many copies does not become template; and a page is counted once, unless it has become another.
pub(crate) fn take_in(judged: &Judged<'_>, group: &mut Group<'_>) -> Result<(), Error> {
    let counts = match &judged.verdict {
        Verdict::Unique => true,
        Verdict::Duplicate(repeat) => judged.previous.is_none() && repeat.tier == Tier::Near,
        Verdict::Unchanged(_) | Verdict::Ineligible(_) => false,
    };
    let expectation = judged.analysed.fetched.task.queued.expectation;
    let counts = counts && !matches!(expectation, Expectation::Again { .. });
    let (Some(page), Some(lines), true) = (page(judged), &judged.own.parts, counts) else {
        return Ok(());
    };
    let site = SiteName::of(&judged.analysed.fetched.task.url);
    let template = group.template(&site)?;
    let seen = template.seen();
    let sighting = Sighting {
        headline: headline(lines, seen),
        layout: page.parts.layout,
        units: &units(page),
    };
    let base = template.base;
    let change = group.set.template_change(site, &base);
    change.take_in(&base, &sighting);
    Ok(())
}

/// Returns the lines of a page as a template counts them.
fn units(page: &Page) -> Vec<Unit> {
    let lines = page.parts.lines.iter();
    let masked = lines.clone().map(|line| Unit {
        line: line.masked as u32,
        is_said: matches!(
            line.role,
            Role::Title | Role::Headline | Role::Main | Role::Image | Role::Data
        ),
    });
    // Another page may have the line as it is.
    let echoes = lines.filter(|line| line.hash != line.masked);
    let whole = echoes.map(|line| Unit {
        line: line.hash as u32,
        is_said: false,
    });
    masked.chain(whole).collect()
}

/// Stores the lines of a page that becomes an original, but for those of its site's frame.
pub(crate) fn keep(judged: &Judged<'_>, document: DocumentId, group: &mut Group<'_>) {
    let Own { parts, lines, .. } = &judged.own;
    let (Some(parts), Some(own), Verdict::Unique) = (parts, lines, &judged.verdict) else {
        return;
    };
    // Both are in document order, and what is of no account is missing in one.
    let mut of_account = own.lines.iter().map(|it| it.line).peekable();
    let (lines, frame): (Vec<_>, Vec<_>) = parts
        .lines
        .iter()
        .copied()
        .partition(|line| of_account.next_if_eq(line).is_some() || !line.kind.is_frame());
    let kept = Lines {
        lines,
        frame: frame.iter().map(|line| u32::from(line.words)).sum(),
        ..parts.clone()
    };
    group.set.parts.insert(document, kept);
}

#[cfg(test)]
mod tests;
