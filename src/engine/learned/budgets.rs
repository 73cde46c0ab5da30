//! Budgets of hosts and domains: what was spent, as counted with the group, so that a crash loses
//! neither a page nor its count. The limits are pure (`learn/traps.rs`).
//!
//! Each limit of URLs holds three times: for what a site itself leads to, less what of that failed;
//! for what failed; and for what other sites lead to (`hearsay.rs`).

use super::hearsay::{self, Hearsay};
use crate::engine::Error;
use crate::engine::commit::WriteSet;
use crate::engine::visit::Judged;
use crate::fetch::{Exchange, FailureClass, Outcome};
use crate::frontier::{HostState, QueuedUrl, domain_spent};
use crate::learn::{Spent, Trap, TrapPolicy};
use crate::store::Store;
use crate::url::{HostKey, Site};

/// Returns the budget of a host or its domain that is used up, and the setting for it. The flag
/// says whether only another site leads to the URL.
pub(crate) fn used_up(
    (host, is_hearsay): (&HostKey, bool),
    policy: &TrapPolicy,
    set: &mut WriteSet,
) -> Result<Option<(Trap, &'static str)>, Error> {
    let of_host = set.known_host(host)?.map(HostState::spent);
    let spent = (of_host.unwrap_or_default(), set.spent(host)?);
    // Nearly all URLs need no further row.
    let rows = match is_hearsay || may_be_full(spent, policy) {
        true => hearsay::of(host, set)?,
        false => Default::default(),
    };
    Ok(by_rows(spent, (&rows.0, &rows.1), is_hearsay, policy))
}

fn may_be_full((host, domain): (Spent, Spent), policy: &TrapPolicy) -> bool {
    host.admitted >= policy.max_pages_per_host || domain.admitted >= policy.max_pages_per_domain
}

fn by_rows(
    (host, domain): (Spent, Spent),
    (of_host, of_domain): (&Hearsay, &Hearsay),
    is_hearsay: bool,
    policy: &TrapPolicy,
) -> Option<(Trap, &'static str)> {
    let is_full = |spent: Spent, row: &Hearsay, max: u64| match is_hearsay {
        true => row.admitted >= max,
        false => row.failed >= max || own_pages(spent, row) >= max,
    };
    let is_host_full = is_full(host, of_host, policy.max_pages_per_host);
    let by_host = host.by_host(policy);
    if let Some(name) = by_host.or(is_host_full.then_some("traps.max_pages_per_host")) {
        return Some((Trap::HostBudget, name));
    }
    let is_domain_full = is_full(domain, of_domain, policy.max_pages_per_domain);
    let by_domain = domain.by_domain(policy);
    let name = by_domain.or(is_domain_full.then_some("traps.max_pages_per_domain"))?;
    Some((Trap::DomainBudget, name))
}

/// Returns the number of URLs that count towards the budget of what a site itself leads to.
fn own_pages(spent: Spent, row: &Hearsay) -> u64 {
    spent.admitted.saturating_sub(row.failed)
}

/// Returns the budget that is used up by the committed rows; for questions about a URL to which its
/// own site leads.
pub(crate) fn used_up_now(
    host: &HostKey,
    state: Option<&HostState>,
    policy: &TrapPolicy,
    store: &dyn Store,
) -> Result<Option<Trap>, Error> {
    let domain = domain_spent(store, &Site::of(&host.url()))?;
    let spent = (state.map(HostState::spent).unwrap_or_default(), domain);
    let (of_host, of_domain) = hearsay::committed(store, host)?;
    Ok(by_rows(spent, (&of_host, &of_domain), false, policy).map(|(trap, _)| trap))
}

/// Returns how many URLs count towards the budgets of a host and of its domain, by the committed
/// rows.
pub(crate) fn pages_now(
    host: &HostKey,
    (of_host, of_domain): (Spent, Spent),
    store: &dyn Store,
) -> Result<(u64, u64), Error> {
    let rows = hearsay::committed(store, host)?;
    let most = |spent, row: &Hearsay| own_pages(spent, row).max(row.failed);
    Ok((most(of_host, &rows.0), most(of_domain, &rows.1)))
}

/// Counts an admitted URL for its host and domain. The flag says whether only another site leads to
/// it.
pub(crate) fn count_admitted(
    host: &HostKey,
    is_hearsay: bool,
    set: &mut WriteSet,
) -> Result<(), Error> {
    if is_hearsay {
        return hearsay::count(host, set, |row| row.admitted += 1);
    }
    set.spend(host)?.admitted += 1;
    set.host(host)?.admitted += 1;
    Ok(())
}

/// Counts a URL that was deferred before, as [`count_admitted`].
pub(crate) fn count_returned(
    queued: &QueuedUrl,
    host: &HostKey,
    set: &mut WriteSet,
) -> Result<(), Error> {
    let is_hearsay = hearsay::was_hearsay(queued, host, set)?;
    count_admitted(host, is_hearsay, set)
}

/// Counts the first visit of a URL if it failed, so that it leaves the budget of what gives pages.
/// Returns `true` if it failed and only another site leads to it.
pub(crate) fn count_failed(judged: &Judged<'_>, set: &mut WriteSet) -> Result<bool, Error> {
    let fetched = &judged.analysed.fetched;
    let has_failed = match &fetched.outcome {
        Outcome::Exchange(exchange) => exchange.status >= 400,
        Outcome::Failed(failure) => failure.class != FailureClass::Budget,
    };
    let (queued, host) = (&fetched.task.queued, &fetched.task.host);
    if !has_failed || judged.previous.is_some() {
        return Ok(false);
    }
    if hearsay::was_hearsay(queued, host, set)? {
        return Ok(true);
    }
    hearsay::count(host, set, |row| row.failed += 1)?;
    Ok(false)
}

/// Adds the cost of a visit to what was spent on the domain.
pub(crate) fn count_spent(
    host: &HostKey,
    exchange: &Exchange,
    set: &mut WriteSet,
) -> Result<(), Error> {
    let spent = set.spend(host)?;
    spent.bytes += exchange.body.len() as u64;
    spent.millis += u64::try_from(exchange.duration.as_millis()).unwrap_or(u64::MAX);
    Ok(())
}
