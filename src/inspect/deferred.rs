//! `queue ls --deferred`: the URLs that are kept for later, by kind.

use serde::{Deserialize, Serialize};

use super::{Error, LearnedKind};
use crate::engine::{deferred_url, for_each_kind};
use crate::store::{Store, Table, for_each, keys};
use crate::url::HostPattern;

/// Maximum number of URLs in one answer.
pub const MAX_DEFERRED_LISTED: usize = 10_000;

/// Which deferred URLs are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeferredFilter {
    /// Restricts them to these hosts.
    pub host: Option<HostPattern>,
    /// Restricts them to the kind with this name.
    pub kind: Option<String>,
    /// Number of URLs to list, at most [`MAX_DEFERRED_LISTED`]; 0 for the kinds alone.
    pub urls: usize,
}

/// The deferred URLs of a crawl.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeferredNow {
    /// Number of deferred URLs of the kinds listed.
    pub deferred: u64,
    /// The kinds of which URLs are deferred, by host.
    pub kinds: Vec<LearnedKind>,
    /// URLs of these kinds, as many as were asked for.
    pub urls: Vec<String>,
}

/// Lists deferred URLs.
pub(super) fn deferred(store: &dyn Store, filter: &DeferredFilter) -> Result<DeferredNow, Error> {
    let mut now = DeferredNow::default();
    let mut numbers = Vec::new();
    for_each_kind(store, None, &mut |host, kind, ledger| {
        let is_named = filter.kind.as_ref().is_none_or(|name| *name == ledger.name);
        let waiting = ledger.left.iter().sum::<u64>() + ledger.returning;
        let is_meant = |pattern: &HostPattern| pattern.matches_name(host);
        if waiting > 0 && is_named && filter.host.as_ref().is_none_or(is_meant) {
            now.deferred += waiting;
            numbers.push((host.to_owned(), kind));
            now.kinds.push(LearnedKind::of(host, ledger));
        }
    })?;
    let most = filter.urls.min(MAX_DEFERRED_LISTED);
    for (host, kind) in numbers {
        if now.urls.len() >= most {
            break;
        }
        let prefix = keys::deferred_kind(&host, kind);
        for_each(store, Table::Deferred, &prefix, &mut |_, row| {
            if now.urls.len() < most {
                now.urls.push(deferred_url(row)?);
            }
            Ok(())
        })?;
    }
    Ok(now)
}
