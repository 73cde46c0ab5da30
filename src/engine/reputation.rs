//! How a URL stands with what its host is known for: whether the host, its domain or URLs like it had
//! their share, and what a visit adds to that. The rules are the frontier's (`traps.rs`); here are
//! their rows, read and written with the group, so that a crash takes neither a page nor its count.

use super::Error;
use super::committer::Committer;
use super::effects::Group;
use super::visit::{Findings, Judged, Receipt};
use crate::dedup::{Repeat, Verdict};
use crate::fetch::Exchange;
use crate::frontier::{HostState, QueuedUrl};
use crate::learn::{PageOutcome, Pattern, PatternState, Trap, TrapPolicy, skeleton};
use crate::store::{Store, Table, decode, encode, keys};
use crate::url::{self, HostKey, Url};

/// Patterns of one host that are followed; what comes after has no budget of its own.
const MAX_PATTERNS: u32 = 2_000;
/// URLs of one host that are left aside; what comes after is refused for good.
const MAX_SHELVED: u32 = 1_000;
/// A host that is demoted has as many times the URLs of a pattern that is; what is below one first
/// segment of the path has [`TREE_SHARE`].
const HOST_SHARE: u32 = 5;
const TREE_SHARE: u32 = 2;
/// Under which name URLs are left aside whose host is demoted.
const HOST_TAG: [u8; 8] = *b"hostwide";
/// Bytes of a text that its skeleton is made of.
const MAX_SKELETON: usize = 64 << 10;

/// How a URL stands that may be admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reputation {
    /// Nothing speaks against it.
    Usual,
    /// Little is expected of it.
    Low,
    /// It is part of a trap; under which name it is left aside, if it is.
    Trapped(Trap, Option<[u8; 8]>),
}

/// What has a budget besides the host: URLs of one pattern and what is below one first segment, and
/// how many times the URLs each has.
fn kinds(url: &Url) -> impl Iterator<Item = (Pattern, u32)> {
    let tree = Pattern::tree_of(url).map(|tree| (tree, TREE_SHARE));
    [(Pattern::of(url), 1)].into_iter().chain(tree)
}

/// How a URL stands, by what is committed and what this group has changed already.
pub(super) fn reputation(
    url: &Url,
    host: &HostKey,
    policy: &TrapPolicy,
    store: &dyn Store,
    group: &mut Group,
) -> Result<Reputation, Error> {
    let unknown = HostState::default();
    let state = group.known_host(store, host)?.unwrap_or(&unknown);
    let spent = state.spent();
    if spent.admitted >= policy.max_pages_per_host || spent.by_host(policy).is_some() {
        return Ok(Reputation::Trapped(Trap::HostBudget, None));
    }
    if !state.outcomes.allows(policy, HOST_SHARE) {
        return Ok(Reputation::Trapped(Trap::Duplicates, Some(HOST_TAG)));
    }
    let mut is_low = state.outcomes.is_demoted();
    let any_demoted = state.demoted_patterns > 0;
    let spent = group.spent(store, host)?;
    if spent.admitted >= policy.max_pages_per_domain || spent.by_domain(policy).is_some() {
        return Ok(Reputation::Trapped(Trap::DomainBudget, None));
    }
    if !any_demoted && !Pattern::may_be_dated(url) {
        return Ok(if is_low {
            Reputation::Low
        } else {
            Reputation::Usual
        });
    }
    for (pattern, share) in kinds(url) {
        if !any_demoted && pattern.date.is_none() {
            continue;
        }
        let Some(known) = pattern_state(&pattern, host, store, group)? else {
            continue;
        };
        if !known.outcomes.allows(policy, share) {
            return Ok(Reputation::Trapped(Trap::Duplicates, Some(pattern.key())));
        }
        if pattern
            .date
            .is_some_and(|date| !known.allows_date(date, policy))
        {
            return Ok(Reputation::Trapped(Trap::Dates, Some(pattern.key())));
        }
        is_low |= known.outcomes.is_demoted();
    }
    Ok(match is_low {
        true => Reputation::Low,
        false => Reputation::Usual,
    })
}

fn pattern_key(pattern: &Pattern, host: &HostKey) -> Vec<u8> {
    keys::learned(host.as_str(), keys::learned::PATTERN, &pattern.key())
}

fn pattern_state(
    pattern: &Pattern,
    host: &HostKey,
    store: &dyn Store,
    group: &mut Group,
) -> Result<Option<PatternState>, Error> {
    let row = group.learned(store, &pattern_key(pattern, host))?;
    Ok(row.map(|row| decode(Table::Learned, &row)).transpose()?)
}

/// What was left aside, and why.
fn shelf(host: &HostKey, tag: [u8; 8]) -> Vec<u8> {
    keys::learned(host.as_str(), keys::learned::DEFERRED, &tag)
}

impl Committer {
    /// A URL was admitted: its host, domain and pattern have one more.
    pub(super) fn count_admitted(
        &mut self,
        url: &Url,
        host: &HostKey,
        group: &mut Group,
    ) -> Result<(), Error> {
        let store = &*self.store;
        group.spend(store, host)?.admitted += 1;
        let state = group.host(store, host)?;
        state.admitted += 1;
        state.outcomes.admitted();
        let any_demoted = state.demoted_patterns > 0;
        if !any_demoted && !Pattern::may_be_dated(url) {
            return Ok(());
        }
        for (pattern, _) in kinds(url) {
            if !any_demoted && pattern.date.is_none() {
                continue;
            }
            let known = pattern_state(&pattern, host, store, group)?;
            if known.is_none() && pattern.date.is_none() {
                continue;
            }
            let Some(mut known) = self.known_or_new(known, &pattern, host, group)? else {
                continue;
            };
            known.outcomes.admitted();
            if let Some(date) = pattern.date {
                known.admitted_date(date);
            }
            group.learn(pattern_key(&pattern, host), encode(&known));
        }
        Ok(())
    }

    /// A host was visited: so much more was spent on its domain.
    pub(super) fn count_spent(
        &self,
        host: &HostKey,
        exchange: &Exchange,
        group: &mut Group,
    ) -> Result<(), Error> {
        let spent = group.spend(&*self.store, host)?;
        spent.bytes += exchange.body.len() as u64;
        spent.millis += u64::try_from(exchange.duration.as_millis()).unwrap_or(u64::MAX);
        Ok(())
    }

    /// A pattern's state; `None` if its host has too many.
    fn known_or_new(
        &self,
        known: Option<PatternState>,
        pattern: &Pattern,
        host: &HostKey,
        group: &mut Group,
    ) -> Result<Option<PatternState>, Error> {
        if known.is_some() {
            return Ok(known);
        }
        let state = group.host(&*self.store, host)?;
        if state.patterns >= MAX_PATTERNS {
            return Ok(None);
        }
        state.patterns += 1;
        Ok(Some(PatternState::new(&pattern.text)))
    }

    /// Leaves a URL aside: it is admitted when what speaks against it does not hold any more.
    pub(super) fn shelve(
        &self,
        queued: &QueuedUrl,
        host: &HostKey,
        tag: [u8; 8],
        was_queued: bool,
        group: &mut Group,
    ) -> Result<(), Error> {
        let mut key = shelf(host, tag);
        key.extend_from_slice(queued.id.as_bytes());
        if group.learned(&*self.store, &key)?.is_some() {
            return Ok(());
        }
        let state = group.host(&*self.store, host)?;
        if state.shelved < MAX_SHELVED {
            state.shelved += 1;
            group.learn(key, encode(&(was_queued, queued)));
        }
        Ok(())
    }

    /// Lets the URLs that were left aside for one reason ask again.
    pub(super) fn unshelve(
        &mut self,
        host: &HostKey,
        tag: [u8; 8],
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<(), Error> {
        for (key, row) in group.learned_rows(&*self.store, &shelf(host, tag))? {
            group.unlearn(key);
            let state = group.host(&*self.store, host)?;
            state.shelved = state.shelved.saturating_sub(1);
            let (was_queued, queued): (bool, QueuedUrl) = decode(Table::Learned, &row)?;
            // It may have been on its way when it was taken from its queue.
            if !was_queued
                || self
                    .store
                    .get(Table::Pages, queued.id.as_bytes())?
                    .is_none()
            {
                self.admit_again(queued, was_queued, receipt, group)?;
            }
        }
        Ok(())
    }

    /// Takes a page's first answer into account.
    pub(super) fn sight(
        &mut self,
        judged: &Judged,
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<(), Error> {
        let task = &judged.analysed.fetched.task;
        let outcome = match &judged.verdict {
            Verdict::Unique => PageOutcome::New,
            Verdict::Duplicate(Repeat { original, .. }) => {
                let number = original.id as u32;
                let own = url::parse(&original.url).is_ok_and(|url| HostKey::of(&url) == task.host);
                if own {
                    PageOutcome::RepeatOfOwn(number)
                } else {
                    PageOutcome::RepeatOfOther(number)
                }
            }
            Verdict::Unchanged(_) | Verdict::Ineligible(_) => return Ok(()),
        };
        let policy = self.policies.load().of(&task.host).traps;
        let record = &mut group.host(&*self.store, &task.host)?.outcomes;
        let was_demoted = record.is_demoted();
        let demoted = record.note(outcome, &policy);
        let is_demoted = record.is_demoted();
        if let Some(percent) = demoted {
            self.state.counters.demoted += 1;
            tracing::warn!("host {} demoted: {percent} % duplicates", task.host);
        }
        if was_demoted && !is_demoted {
            self.unshelve(&task.host, HOST_TAG, receipt, group)?;
        }
        for (pattern, _) in kinds(&task.url) {
            self.sight_pattern(judged, &pattern, outcome, receipt, group)?;
        }
        Ok(())
    }

    fn sight_pattern(
        &mut self,
        judged: &Judged,
        pattern: &Pattern,
        outcome: PageOutcome,
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<(), Error> {
        let host = &judged.analysed.fetched.task.host;
        let policy = self.policies.load().of(host).traps;
        let known = pattern_state(pattern, host, &*self.store, group)?;
        // Of URLs that only ever led to something new there is no row.
        if known.is_none() && outcome == PageOutcome::New && pattern.date.is_none() {
            return Ok(());
        }
        let Some(mut known) = self.known_or_new(known, pattern, host, group)? else {
            return Ok(());
        };
        let was_demoted = known.outcomes.is_demoted();
        if let Some(percent) = known.outcomes.note(outcome, &policy) {
            self.state.counters.demoted += 1;
            tracing::warn!(
                "host {host} demoted: {percent} % duplicates at {}",
                pattern.text
            );
        }
        let is_demoted = known.outcomes.is_demoted();
        let mut says_more = false;
        if let (Some(_), Findings::Page(page)) = (pattern.date, &judged.analysed.findings) {
            says_more = known.said(skeleton(head(&page.full_text, MAX_SKELETON)));
        }
        group.learn(pattern_key(pattern, host), encode(&known));
        let state = group.host(&*self.store, host)?;
        match (was_demoted, is_demoted) {
            (false, true) => state.demoted_patterns += 1,
            (true, false) => state.demoted_patterns = state.demoted_patterns.saturating_sub(1),
            _ => {}
        }
        if (says_more || was_demoted && !is_demoted) && state.shelved > 0 {
            self.unshelve(host, pattern.key(), receipt, group)?;
        }
        Ok(())
    }
}

/// The beginning of a text, at most so many bytes of it.
fn head(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len()))
        .rev()
        .find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or(0)]
}

/// The trap that a URL is part of by what is committed, for those who ask about it.
pub(crate) fn trap_of(
    url: &Url,
    policy: &TrapPolicy,
    store: &dyn Store,
) -> Result<Option<Trap>, Error> {
    let host = HostKey::of(url);
    Ok(
        match reputation(url, &host, policy, store, &mut Group::default())? {
            Reputation::Trapped(trap, _) => Some(trap),
            Reputation::Usual | Reputation::Low => None,
        },
    )
}

/// Whether a host is demoted, and which patterns of a URL are, for those who ask about it.
pub(crate) fn demotion(
    url: &Url,
    state: Option<&HostState>,
    store: &dyn Store,
) -> Result<(bool, Option<String>), Error> {
    let mut group = Group::default();
    let mut demoted = None;
    for (pattern, _) in kinds(url) {
        let known = pattern_state(&pattern, &HostKey::of(url), store, &mut group)?;
        if known.is_some_and(|known| known.outcomes.is_demoted()) {
            demoted.get_or_insert(pattern.text);
        }
    }
    Ok((
        state.is_some_and(|state| state.outcomes.is_demoted()),
        demoted,
    ))
}
