//! Requisites: how many each page has, and each host and domain, so that nobody has them without
//! end.
//!
//! A page's row counts what is queued for it, directly and through its style sheets and frames. It
//! is there while something of the page waits that may name further files.

use serde::{Deserialize, Serialize};

use crate::engine::Error;
use crate::engine::commit::WriteSet;
use crate::frontier::{HostState, Reading};
use crate::learn::TrapPolicy;
use crate::store::{Table, decode, encode, keys};
use crate::url::{HostKey, Site, UrlId};

/// The requisites of a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct OfPage {
    /// Number of those that were queued.
    queued: u32,
    /// Number of those that wait and may name further ones.
    open: u32,
}

/// Begins to count the requisites of a page anew: it was visited.
pub(crate) fn begin(page: UrlId, set: &mut WriteSet) -> Result<(), Error> {
    let row = of_page(page, set)?;
    write(page, OfPage { queued: 0, ..row }, set);
    Ok(())
}

/// Returns how many more requisites a page may have.
pub(crate) fn room(page: UrlId, most: u32, set: &mut WriteSet) -> Result<u32, Error> {
    Ok(most.saturating_sub(of_page(page, set)?.queued))
}

/// Counts a requisite that is queued for a page, and for its own host.
pub(crate) fn opened(
    page: UrlId,
    reading: Reading,
    host: &HostKey,
    set: &mut WriteSet,
) -> Result<(), Error> {
    let row = of_page(page, set)?;
    let row = OfPage {
        queued: row.queued.saturating_add(1),
        open: row.open + u32::from(reading != Reading::Nothing),
    };
    write(page, row, set);
    for key in keys_of(host) {
        let count = count(&key, set)?;
        set.learn(key, encode(&count.saturating_add(1)));
    }
    Ok(())
}

/// Counts a requisite of a page that another shard of the crawl fetches, and counts for its host.
pub(crate) fn sent(page: UrlId, set: &mut WriteSet) -> Result<(), Error> {
    let row = of_page(page, set)?;
    let queued = row.queued.saturating_add(1);
    write(page, OfPage { queued, ..row }, set);
    Ok(())
}

/// Notes that a requisite that was done is queued again.
pub(crate) fn reopened(page: UrlId, reading: Reading, set: &mut WriteSet) -> Result<(), Error> {
    if reading != Reading::Nothing {
        let row = of_page(page, set)?;
        let open = row.open + 1;
        write(page, OfPage { open, ..row }, set);
    }
    Ok(())
}

/// Notes that a requisite of a page is done.
pub(crate) fn closed(page: UrlId, reading: Reading, set: &mut WriteSet) -> Result<(), Error> {
    let row = of_page(page, set)?;
    let open = row
        .open
        .saturating_sub(u32::from(reading != Reading::Nothing));
    write(page, OfPage { open, ..row }, set);
    end(page, set)
}

/// Forgets the requisites of a page if nothing waits that may name further ones.
pub(crate) fn end(page: UrlId, set: &mut WriteSet) -> Result<(), Error> {
    if of_page(page, set)?.open == 0 {
        set.unlearn(&key_of_page(page))?;
    }
    Ok(())
}

/// Returns the setting of the budget that a host, or its domain, has used up: of bytes or time, for
/// whatever it was, or of URLs, of which it may have as many for requisites as for pages.
pub(crate) fn used_up(
    host: &HostKey,
    policy: &TrapPolicy,
    set: &mut WriteSet,
) -> Result<Option<&'static str>, Error> {
    let of_host = set.known_host(host)?.map(HostState::spent);
    let by_host = of_host.unwrap_or_default().by_host(policy);
    if let Some(name) = by_host.or(set.spent(host)?.by_domain(policy)) {
        return Ok(Some(name));
    }
    let [of_host, of_domain] = keys_of(host);
    if count(&of_host, set)? >= policy.max_pages_per_host {
        return Ok(Some("traps.max_pages_per_host"));
    }
    let is_full = count(&of_domain, set)? >= policy.max_pages_per_domain;
    Ok(is_full.then_some("traps.max_pages_per_domain"))
}

fn key_of_page(page: UrlId) -> Vec<u8> {
    [keys::learned::REQUISITES_OF_PAGE, page.as_bytes()].concat()
}

/// The keys of the numbers of requisites of a host and of its domain.
fn keys_of(host: &HostKey) -> [Vec<u8>; 2] {
    let domain = Site::of_name(host.name());
    [
        [keys::learned::REQUISITES, host.as_str().as_bytes()].concat(),
        [
            keys::learned::REQUISITES_OF_DOMAIN,
            domain.as_str().as_bytes(),
        ]
        .concat(),
    ]
}

fn of_page(page: UrlId, set: &mut WriteSet) -> Result<OfPage, Error> {
    let row = set.learned(&key_of_page(page))?;
    Ok(row.map_or(Ok(OfPage::default()), |row| decode(Table::Learned, &row))?)
}

fn write(page: UrlId, row: OfPage, set: &mut WriteSet) {
    set.learn(key_of_page(page), encode(&row));
}

fn count(key: &[u8], set: &mut WriteSet) -> Result<u64, Error> {
    let row = set.learned(key)?;
    Ok(row.map_or(Ok(0), |row| decode(Table::Learned, &row))?)
}
