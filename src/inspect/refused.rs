//! Why a URL was never admitted, as far as its links and the budgets of its host tell.

use serde::{Deserialize, Serialize};

use super::{Error, moment};
use crate::engine::pages_now;
use crate::frontier::{
    Forgotten, HostState, Moment, Remembrance, SeedSettings, domain_spent, ids_of,
};
use crate::learn::TrapPolicy;
use crate::rows::{PAGES, RefusedUrl};
use crate::store::Store;
use crate::url::{HostKey, Identity, Site, Url, UrlId};

/// The first link to a URL that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RefusedNow {
    /// The name of the admission, or of the setting whose budget was used up.
    pub reason: String,
    /// The page that links to it.
    pub via: Option<String>,
    /// Number of links from a seed to that page.
    pub via_depth: Option<u16>,
    /// The depth that the seed of that page has of its own, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed_depth: Option<u16>,
}

/// A budget that is used up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BudgetNow {
    /// The name of the setting.
    pub setting: String,
    /// URLs admitted, bytes or seconds.
    pub used: u64,
    /// The setting's value.
    pub max: u64,
}

/// Returns the first link to a URL that was refused, if one was.
pub(super) fn refused(store: &dyn Store, id: UrlId) -> Result<Option<RefusedNow>, Error> {
    let Some(row) = RefusedUrl::read(store, id)? else {
        return Ok(None);
    };
    let via = match row.via {
        Some(via) => PAGES.get(store, via.as_bytes())?,
        None => None,
    };
    let seed = match row.via {
        Some(via) => SeedSettings::of(store, via)?,
        None => None,
    };
    Ok(Some(RefusedNow {
        seed_depth: seed.and_then(|seed| seed.depth),
        reason: row.reason,
        via_depth: via.as_ref().map(|page| page.depth),
        via: via.map(|page| page.url),
    }))
}

/// Returns the budget of a URL's host or domain that is used up, if one is.
pub(super) fn budget(
    store: &dyn Store,
    url: &Url,
    host: Option<&HostState>,
    policy: &TrapPolicy,
) -> Result<Option<BudgetNow>, Error> {
    let by_host = host.map(HostState::spent).unwrap_or_default();
    let by_domain = domain_spent(store, &Site::of(url))?;
    let pages = pages_now(&HostKey::of(url), (by_host, by_domain), store)?;
    let budgets = [
        ("pages_per_host", pages.0, policy.max_pages_per_host),
        ("bytes_per_host", by_host.bytes, policy.max_bytes_per_host),
        (
            "seconds_per_host",
            by_host.millis / 1_000,
            policy.max_seconds_per_host,
        ),
        ("pages_per_domain", pages.1, policy.max_pages_per_domain),
        (
            "bytes_per_domain",
            by_domain.bytes,
            policy.max_bytes_per_domain,
        ),
        (
            "seconds_per_domain",
            by_domain.millis / 1_000,
            policy.max_seconds_per_domain,
        ),
    ];
    let used_up = budgets.into_iter().find(|(_, used, max)| used >= max);
    Ok(used_up.map(|(name, used, max)| BudgetNow {
        setting: format!("traps.max_{name}"),
        used,
        max,
    }))
}

/// Since when a URL is forgotten, if it is.
pub(super) fn forgotten(
    store: &dyn Store,
    url: &Url,
    identity: &Identity,
) -> Result<Option<String>, Error> {
    let ids = ids_of(url, identity);
    if Forgotten::read(store)?.of(url, &ids, store)? != Remembrance::Forgotten {
        return Ok(None);
    }
    for id in ids {
        if let Some(since) = Forgotten::since(id, store)? {
            return Ok(Some(moment(Moment(since))));
        }
    }
    Ok(Some(String::new()))
}
