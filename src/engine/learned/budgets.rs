//! Budgets of hosts and domains: what was spent, as counted with the group, so that a crash loses
//! neither a page nor its count. The limits are pure (`learn/traps.rs`).
//!
//! Each limit of URLs holds three times: for what a site itself leads to, less what of that failed;
//! for what failed; and for what other sites lead to (`hearsay.rs`).

use std::time::Duration;

use super::hearsay::{self, Hearsay};
use crate::engine::Error;
use crate::engine::commit::WriteSet;
use crate::engine::visit::{Judged, UsedUp};
use crate::fetch::{FailureClass, Outcome};
use crate::frontier::{HostState, QueuedUrl, Spender, domain_spent};
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

/// Counts the cost of a first visit for its host and domain. What is visited again costs as much
/// as its host answers, for ever; that is bounded by the time between two visits of a page, and no
/// trap.
pub(crate) fn count_spent(
    host: &HostKey,
    (bytes, took): (u64, Duration),
    policy: &TrapPolicy,
    set: &mut WriteSet,
) -> Result<(), Error> {
    let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let state = set.host(host)?;
    let before = state.spent();
    state.bytes += bytes;
    state.millis += millis;
    let after = state.spent();
    let of_domain = set.spend(host)?;
    let domain_before = *of_domain;
    of_domain.bytes += bytes;
    of_domain.millis += millis;
    let domain_after = *of_domain;
    if let (None, Some(setting)) = (before.by_host(policy), after.by_host(policy)) {
        set.receipt.spent.push(UsedUp {
            by: Spender::Host(host.clone()),
            spent: after,
            setting,
        });
    }
    if let (None, Some(setting)) = (
        domain_before.by_domain(policy),
        domain_after.by_domain(policy),
    ) {
        set.receipt.spent.push(UsedUp {
            by: Spender::Domain(Site::of(&host.url())),
            spent: domain_after,
            setting,
        });
    }
    Ok(())
}

/// Returns `true` if so many bytes or so much time was spent on a host or its domain that its
/// remaining URLs are given up.
pub(crate) fn is_spent(
    host: &HostKey,
    policy: &TrapPolicy,
    set: &mut WriteSet,
) -> Result<bool, Error> {
    let spent = set.known_host(host)?.map(HostState::spent);
    let by_host = spent.unwrap_or_default().by_host(policy);
    Ok(by_host.or(set.spent(host)?.by_domain(policy)).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::{Answer, World, html, options, words};
    use crate::engine::visit::Entry;
    use crate::frontier::{Moment, Policies, Policy, Politeness, RobotsMode};
    use crate::store::{Table, decode};
    use crate::url::parse;

    const PAGES: [&str; 3] = [
        "http://a.example/1",
        "http://a.example/2",
        "http://a.example/3",
    ];

    /// A crawl in which a host may send so many bytes.
    fn world(max_bytes_per_host: u64) -> World {
        let mut policy = Policy::new(Politeness::none());
        policy.crawl.robots = RobotsMode::Ignore;
        policy.traps.max_bytes_per_host = max_bytes_per_host;
        let mut options = options();
        options.policies = Policies::new(policy, []);
        World::with(options)
    }

    fn bytes(world: &World) -> u64 {
        let host = HostKey::of(&parse(PAGES[0]).unwrap());
        let row = world.store().get(Table::Hosts, host.as_str().as_bytes());
        let state: HostState = decode(Table::Hosts, &row.unwrap().unwrap()).unwrap();
        state.bytes
    }

    #[test]
    fn revisits_use_up_no_budget() {
        let mut world = world(100_000);
        world.visit(PAGES[0], &html("", &words(1)));
        let first = bytes(&world);
        assert!(first > 0);
        for visit in 0..20 {
            world.wait(1_001);
            world.revisit(PAGES[0], &html("", &words(visit)));
        }
        assert_eq!(bytes(&world), first);
    }

    #[test]
    fn a_budget_that_is_used_up_is_told_once_and_ends_revisits() {
        let mut world = world(10);
        let mut told = Vec::new();
        for (number, url) in (1_u64..).zip(PAGES) {
            let visit = world.analysed(url, None, None, &html("", &words(number)));
            let now = Moment(world.now);
            let entry = vec![Entry::Visit(Box::new(visit))];
            let receipts = world.committer().commit(entry, now).unwrap();
            told.extend(receipts.into_iter().flat_map(|receipt| receipt.spent));
        }
        let [used_up] = &told[..] else {
            panic!("{told:?}");
        };
        assert_eq!(used_up.setting, "traps.max_bytes_per_host");
        // Their time comes, and nothing is queued to be given up.
        world.wait(30);
        assert!(world.queued().is_empty());
        let due = world.page(PAGES[0]).revisit.unwrap().due;
        assert!(due > Moment(world.now));
        // With a larger budget they are visited again.
        world.options.policies = Policies::new(
            {
                let mut policy = Policy::new(Politeness::none());
                policy.crawl.robots = RobotsMode::Ignore;
                policy
            },
            [],
        );
        world.restart();
        world.wait(30);
        assert_eq!(world.queued().len(), 3);
        world.revisit(PAGES[0], &Answer::Same);
    }
}
