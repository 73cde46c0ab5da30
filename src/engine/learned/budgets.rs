//! Budgets of hosts and domains: what was spent, as counted with the group, so that a crash loses
//! neither a page nor its count. The limits are pure (`learn/traps.rs`).

use crate::engine::Error;
use crate::engine::commit::WriteSet;
use crate::fetch::Exchange;
use crate::frontier::{HostState, domain_spent};
use crate::learn::{Spent, Trap, TrapPolicy};
use crate::store::Store;
use crate::url::{HostKey, Site};

/// Returns the budget of a host or its domain that is used up, and the setting for it.
pub(crate) fn used_up(
    host: Spent,
    domain: Spent,
    policy: &TrapPolicy,
) -> Option<(Trap, &'static str)> {
    let is_full = host.admitted >= policy.max_pages_per_host;
    let by_host = host.by_host(policy);
    if let Some(name) = by_host.or(is_full.then_some("traps.max_pages_per_host")) {
        return Some((Trap::HostBudget, name));
    }
    let is_full = domain.admitted >= policy.max_pages_per_domain;
    let by_domain = domain.by_domain(policy);
    let name = by_domain.or(is_full.then_some("traps.max_pages_per_domain"))?;
    Some((Trap::DomainBudget, name))
}

/// Returns the budget that is used up by the committed rows; for questions about a URL.
pub(crate) fn used_up_now(
    host: &HostKey,
    state: Option<&HostState>,
    policy: &TrapPolicy,
    store: &dyn Store,
) -> Result<Option<Trap>, Error> {
    let domain = domain_spent(store, &Site::of(&host.url()))?;
    let spent = state.map(HostState::spent).unwrap_or_default();
    Ok(used_up(spent, domain, policy).map(|(trap, _)| trap))
}

/// Counts an admitted URL for its host and domain.
pub(crate) fn count_admitted(host: &HostKey, set: &mut WriteSet) -> Result<(), Error> {
    set.spend(host)?.admitted += 1;
    set.host(host)?.admitted += 1;
    Ok(())
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
