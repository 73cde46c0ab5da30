//! Hearsay: what one site says about another costs that one nothing of its own. URLs that only
//! other sites lead to have budgets of their own, and so have those that failed, whoever led to
//! them.
//!
//! A site is a registrable domain: who runs one of its hosts is trusted with the others.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::engine::Error;
use crate::engine::commit::WriteSet;
use crate::frontier::QueuedUrl;
use crate::store::{Store, Table, decode, encode, keys};
use crate::url::{self, HostKey, Site, UrlId};

/// Maximum number of hosts of other sites on which a host may name sitemaps: those of its content
/// delivery network and of its sister sites, not of everybody.
const MAX_HOSTS: usize = 10;

/// What is counted of a host, or of a domain, beside its own URLs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hearsay {
    /// Number of its URLs that were admitted because other sites led to them.
    pub(crate) admitted: u64,
    /// Number of its other URLs that failed: what was asked for gave no page.
    pub(crate) failed: u64,
    /// Hashes of the hosts of other sites on which it named sitemaps.
    hosts: Vec<u64>,
}

/// Returns `true` if what the host `by` says about the host `about` is hearsay: they belong to
/// different sites.
pub(crate) fn is_hearsay(by: &HostKey, about: &HostKey) -> bool {
    by != about && Site::of_name(by.name()) != Site::of_name(about.name())
}

/// Returns `true` if a queued URL was found at another site.
pub(crate) fn was_hearsay(
    queued: &QueuedUrl,
    host: &HostKey,
    set: &mut WriteSet,
) -> Result<bool, Error> {
    is_from_elsewhere(queued.via, host, set)
}

/// Returns `true` if the page `via`, which leads to a URL of a host, is at another site.
pub(crate) fn is_from_elsewhere(
    via: Option<UrlId>,
    host: &HostKey,
    set: &mut WriteSet,
) -> Result<bool, Error> {
    let Some(via) = via else { return Ok(false) };
    let by = match set.page_sites.get(&via) {
        Some(site) => site.clone(),
        None => {
            let found_on = set.found_on(via)?;
            let Some(url) = found_on.and_then(|(text, _)| url::parse(&text).ok()) else {
                return Ok(false);
            };
            let site = Site::of_name(HostKey::of(&url).name());
            set.page_sites.insert(via, site.clone());
            site
        }
    };
    Ok(by != Site::of_name(host.name()))
}

fn key_of_host(host: &HostKey) -> Vec<u8> {
    [keys::learned::HEARSAY, host.as_str().as_bytes()].concat()
}

fn key_of_domain(host: &HostKey) -> Vec<u8> {
    let domain = Site::of_name(host.name());
    [keys::learned::HEARSAY_OF_DOMAIN, domain.as_str().as_bytes()].concat()
}

/// Returns what is counted of a host, and of its domain, by the committed rows.
pub(crate) fn committed(store: &dyn Store, host: &HostKey) -> Result<(Hearsay, Hearsay), Error> {
    let read = |key: Vec<u8>| of_row(store.get(Table::Learned, &key)?);
    Ok((read(key_of_host(host))?, read(key_of_domain(host))?))
}

/// Returns what is counted of a host, and of its domain.
pub(crate) fn of(host: &HostKey, set: &mut WriteSet) -> Result<(Hearsay, Hearsay), Error> {
    let of_host = read(&key_of_host(host), set)?;
    Ok((of_host, read(&key_of_domain(host), set)?))
}

fn read(key: &[u8], set: &mut WriteSet) -> Result<Hearsay, Error> {
    of_row(set.learned(key)?)
}

fn of_row(row: Option<Vec<u8>>) -> Result<Hearsay, Error> {
    match row {
        Some(row) => Ok(decode(Table::Learned, &row)?),
        None => Ok(Hearsay::default()),
    }
}

/// Changes what is counted of a host, and of its domain.
pub(crate) fn count(
    host: &HostKey,
    set: &mut WriteSet,
    mut change: impl FnMut(&mut Hearsay),
) -> Result<(), Error> {
    for key in [key_of_host(host), key_of_domain(host)] {
        let mut row = read(&key, set)?;
        change(&mut row);
        set.learn(key, encode(&row));
    }
    Ok(())
}

fn number(host: &HostKey) -> u64 {
    xxh3_64(host.as_str().as_bytes())
}

/// Returns `true` if a host may name sitemaps on another one, and notes that it does.
pub(crate) fn may_name(by: &HostKey, about: &HostKey, set: &mut WriteSet) -> Result<bool, Error> {
    if !is_hearsay(by, about) {
        return Ok(true);
    }
    let key = key_of_host(by);
    let mut row = read(&key, set)?;
    let number = number(about);
    if row.hosts.contains(&number) {
        return Ok(true);
    }
    if row.hosts.len() >= MAX_HOSTS {
        return Ok(false);
    }
    row.hosts.push(number);
    set.learn(key, encode(&row));
    Ok(true)
}

/// Returns `true` if what sitemaps of the host `by` say about the host `about` counts as its own
/// word: they belong to one site, or `about` named sitemaps there.
pub(crate) fn speaks_for(by: &HostKey, about: &HostKey, set: &mut WriteSet) -> Result<bool, Error> {
    if !is_hearsay(by, about) {
        return Ok(true);
    }
    let row = read(&key_of_host(about), set)?;
    Ok(row.hosts.contains(&number(by)))
}
