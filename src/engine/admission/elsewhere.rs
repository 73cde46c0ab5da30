//! Admission of what one site says about another: how many hosts it may name, and what becomes of
//! a URL that was given up as others link to it, once its own site leads to it.

use crate::engine::Error;
use crate::engine::commit::Group;
use crate::engine::learned::hearsay::{is_hearsay, may_name as may_name_hosts};
use crate::frontier::{Admission, QueuedUrl};
use crate::url::{self, HostKey, UrlId};

/// Marks the ids of URLs that failed, or were deferred, as another site linked to them.
const GIVEN_UP: u32 = 0x4661_696c;
/// Marks those of them to which their own site linked since.
const TAKEN_UP: u32 = 0x5472_6965;

/// Notes that a URL failed, or is deferred, to which only another site leads: its own site may
/// spell it otherwise, and is believed that it matters.
pub(crate) fn note_given_up(id: UrlId, group: &mut Group<'_>) {
    group.see(id.salted(GIVEN_UP));
    group.note_unmarked(id, false);
}

/// Returns `true` if a known URL was deferred, or failed in another form, as another site linked to
/// it, and this is the first link of its own site: it is visited for that.
pub(super) fn is_of_its_own(
    by: &HostKey,
    (id, url): (UrlId, &str),
    group: &mut Group<'_>,
) -> Result<bool, Error> {
    if group.is_unmarked(id) {
        return Ok(false);
    }
    if !group.is_seen(id.salted(GIVEN_UP)) {
        group.note_unmarked(id, true);
        return Ok(false);
    }
    let is_own = url::parse(url).is_ok_and(|url| !is_hearsay(by, &HostKey::of(&url)));
    let asked = group.set.found_on(id)?;
    let is_new = asked.is_none_or(|(asked, _)| asked != url);
    Ok(is_own && is_new && group.see(id.salted(TAKEN_UP)))
}

/// Checks whether a host may name this sitemap; counts it if it may not.
pub(super) fn may_name(
    by: &HostKey,
    queued: &QueuedUrl,
    group: &mut Group<'_>,
) -> Result<bool, Error> {
    let Ok(url) = url::parse(&queued.url) else {
        return Ok(false);
    };
    let may_name = may_name_hosts(by, &HostKey::of(&url), &mut group.set)?;
    if !may_name {
        let refused = Admission::TooManySitemapHosts;
        group.set.count_link(&refused, &queued.url);
    }
    Ok(may_name)
}
