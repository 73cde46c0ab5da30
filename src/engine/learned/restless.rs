//! Lines that change with each fetch: a counter, the time, what a server says of itself. They are
//! nobody's own, and only a second fetch of the same URL proves it.
//!
//! A page that would be a duplicate but for a few short lines is visited again at once, a few pages
//! of each class of lines. What changed between its two visits is of no account to its second
//! verdict, and once a class changed on two pages, on no page of the site. A price does not change
//! between two visits: its page stays a page of its own, and is not visited again for it.

use std::time::Duration;

use crate::dedup::own::{self, OwnLines, Restless};
use crate::dedup::{Document, Verdict};
use crate::engine::Error;
use crate::engine::commit::Group;
use crate::engine::visit::Judged;
use crate::frontier::Moment;
use crate::learn::{Change, Class, Doubt, Expectation};
use crate::rows::PageRecord;
use crate::sites::{SiteName, class, company, known, own_lines};
use crate::store::{Table, decode, encode, keys};
use crate::url::UrlId;

/// Time between two visits within which a page says the same, unless it changes with each.
const SOON: Duration = Duration::from_hours(1);

/// Returns the lines of a page that changed since its last visit, if that was asked for, and not
/// long ago.
pub(crate) fn changed(
    judged: &Judged<'_>,
    own: &OwnLines,
    group: &Group<'_>,
) -> Result<Vec<Restless>, Error> {
    let fetched = &judged.analysed.fetched;
    let Some(previous) = judged.previous.as_deref() else {
        return Ok(Vec::new());
    };
    let is_soon = Moment::of_micros(previous.time).until(fetched.finished) <= SOON;
    let key = keys::examined(fetched.task.queued.id.as_bytes());
    if !is_soon || group.set.grouped(&key)?.is_none() {
        return Ok(Vec::new());
    }
    Ok(match before(previous, judged, group)? {
        Some(before) => own::changed(own, &before),
        None => Vec::new(),
    })
}

/// Returns what a page had of its own at its last visit, if it became an original.
fn before(
    previous: &PageRecord,
    judged: &Judged<'_>,
    group: &Group<'_>,
) -> Result<Option<OwnLines>, Error> {
    let Some(document) = &previous.document else {
        return Ok(None);
    };
    let site = SiteName::of(&judged.analysed.fetched.task.url);
    let template = group.template(&site)?;
    let lines = group.lines(document.id)?;
    Ok(lines.map(|lines| own_lines(&lines, &site, &known(&lines, template.seen()), true)))
}

/// Returns the lines in which a page differs from an original that it may repeat.
pub(crate) fn doubts(
    judged: &Judged<'_>,
    original: &Document,
    group: &Group<'_>,
) -> Result<Vec<Restless>, Error> {
    let (Some(own), Some(other)) = (&judged.own.lines, group.own_lines(original)?) else {
        return Ok(Vec::new());
    };
    let url = &judged.analysed.fetched.task.queued.url;
    let company = company((url, own), (&original.url, &other));
    Ok(own::restless(own, &other, company))
}

/// Records which lines changed since a page's last visit, and which it is in doubt about. Returns
/// the pages to be visited again: itself, to see whether these change; or those that waited for an
/// answer.
pub(crate) fn take_in(judged: &Judged<'_>, group: &mut Group<'_>) -> Result<Vec<UrlId>, Error> {
    let task = &judged.analysed.fetched.task;
    let (id, own) = (task.queued.id, &judged.own);
    let key = keys::examined(id.as_bytes());
    let asked = match &judged.previous {
        Some(_) => group.set.grouped(&key)?,
        None => None,
    };
    let is_first = judged.previous.is_none() && judged.verdict == Verdict::Unique;
    let doubts: &[Restless] = if is_first { &own.doubts } else { &[] };
    if asked.is_none() && doubts.is_empty() {
        return Ok(Vec::new());
    }
    let parts = own.parts.as_ref().map_or(&[][..], |parts| &parts.lines);
    let classes = |lines: &[Restless]| -> Vec<Class> {
        let of = |it: &Restless| {
            let at = parts.iter().position(|line| *line == it.line)?;
            class(parts, at, it.in_numbers)
        };
        lines.iter().filter_map(of).collect()
    };
    let (changed, doubts) = (classes(&own.changed), classes(doubts));
    let site = SiteName::of(&task.url);
    let number = site.number();
    let change = change(site, group)?;
    let mut again = Vec::new();
    let (mut asks, mut waits) = (Vec::new(), Vec::new());
    for class in doubts {
        match change.doubt(class) {
            Doubt::Ask => asks.push(class),
            Doubt::Wait => waits.push(class),
            Doubt::None => {}
        }
    }
    let mut volatile = Vec::new();
    if let Some(asked) = asked {
        let asked: Vec<Class> = decode(Table::Groups, &asked)?;
        let did_not = asked.iter().filter(|class| !changed.contains(class));
        let both = did_not
            .map(|it| (*it, false))
            .chain(changed.iter().map(|it| (*it, true)));
        volatile.extend(
            both.filter(|(it, did)| change.note_change(*it, *did))
                .map(|it| it.0),
        );
        group.set.set_grouped(key, None);
    } else if !asks.is_empty() {
        again.push(id);
        group.set.set_grouped(key, Some(encode(&asks)));
    } else {
        for class in waits {
            let key = keys::waiting(number, class.to_bytes(), id.as_bytes());
            group.set.set_grouped(key, Some(Vec::new()));
        }
    }
    for class in volatile {
        let prefix = keys::waiting_at(number, class.to_bytes());
        for key in group.set.grouped_keys(&prefix, usize::from(u16::MAX))? {
            again.extend(keys::parse_waiting(&key).map(UrlId::from_bytes));
            group.set.set_grouped(key, None);
        }
    }
    Ok(again)
}

/// Suspects a page that a few lines alone made new, if of none of them it is known that it stays
/// the same: a line that changes with each fetch makes every page new, so that a trap would never
/// end.
///
/// Returns what is expected of another visit, if the page is to be visited again.
pub(crate) fn suspect(
    judged: &Judged<'_>,
    group: &mut Group<'_>,
) -> Result<Option<Expectation>, Error> {
    let news = &judged.own.news;
    let slots: Vec<u32> = news.iter().filter_map(|it| it.doubtful).collect();
    if news.is_empty() || slots.len() < news.len() {
        return Ok(None);
    }
    let site = SiteName::of(&judged.analysed.fetched.task.url);
    let slot = change(site, group)?.suspect(&slots);
    let meant = news.iter().find(|it| slot.is_some() && it.doubtful == slot);
    Ok(meant.and_then(|it| {
        Some(Expectation::Again {
            slot: slot?,
            line: it.line,
            letters: it.letters,
        })
    }))
}

/// Learns from a page that was visited again whether the line that is meant is still there, and
/// returns that; `false` too if there are no lines. If only its numbers have changed, that is said
/// of lines with this text, since another one in its place may be about something else.
pub(crate) fn compare_again(judged: &Judged<'_>, group: &mut Group<'_>) -> Result<bool, Error> {
    let task = &judged.analysed.fetched.task;
    let (
        Expectation::Again {
            slot,
            line,
            letters,
        },
        Some(parts),
    ) = (task.queued.expectation, &judged.own.parts)
    else {
        return Ok(false);
    };
    let is_there = parts.lines.iter().any(|it| it.hash == line);
    let renumbered = parts.lines.iter().position(|it| it.letters == letters);
    let renumbered = renumbered.filter(|_| letters != line && !is_there);
    let of_numbers = renumbered.and_then(|at| class(&parts.lines, at, true));
    let site = SiteName::of(&task.url);
    let change = change(site, group)?;
    change.note_change(of_numbers.unwrap_or(Class::Slot(slot)), !is_there);
    Ok(is_there)
}

/// Returns what a group changes of the template of a site.
fn change<'g>(site: SiteName, group: &'g mut Group<'_>) -> Result<&'g mut Change, Error> {
    let base = group.template(&site)?.base;
    Ok(group.set.template_change(site, &base))
}
