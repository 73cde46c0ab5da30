//! Trap decisions per host, domain and URL pattern: budget checks at admission, outcome counts
//! after each visit. The rules are pure (`learn/traps.rs`). Their rows are read and written here
//! with the group, so that a crash loses neither a page nor its count.

use crate::dedup::Verdict;
use crate::engine::Error;
use crate::engine::commit::WriteSet;
use crate::engine::visit::{Findings, Judged};
use crate::fetch::Exchange;
use crate::frontier::{HostState, domain_spent};
use crate::learn::{PageOutcome, Pattern, PatternState, Spent, Trap, TrapPolicy, skeleton};
use crate::store::{Store, Table, decode, encode, keys};
use crate::url::{self, HostKey, Site, Url};

/// Maximum number of patterns tracked per host; further ones have no budget of their own.
const MAX_PATTERNS: u32 = 2_000;
/// A demoted host is allowed this many times the URLs of a demoted pattern; what is below one first
/// segment of the path has [`TREE_SHARE`].
const HOST_SHARE: u32 = 5;
const TREE_SHARE: u32 = 2;
/// Tag of the URLs that are deferred because their host is demoted.
const HOST_TAG: [u8; 8] = *b"hostwide";
/// Maximum length of the text from which a skeleton is made, in bytes.
const MAX_SKELETON: usize = 64 << 10;

/// What is known for or against a URL that could be admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reputation {
    /// Nothing is known against it.
    Usual,
    /// It has a low expectation.
    Low,
    /// It is part of a trap, and is deferred under this tag, if any.
    Trapped(Trap, Option<[u8; 8]>),
}

/// Returns what has a budget besides the host: the URL's pattern, and what is below its first
/// segment; each with the factor of its budget.
fn kinds(url: &Url) -> impl Iterator<Item = (Pattern, u32)> {
    let tree = Pattern::tree_of(url).map(|tree| (tree, TREE_SHARE));
    [(Pattern::of(url), 1)].into_iter().chain(tree)
}

/// The rows on which trap decisions rest: as changed by a group, or as committed.
pub(crate) trait TrapRows {
    /// Returns the state of a host, if it has one.
    fn host_state(&mut self, host: &HostKey) -> Result<Option<&HostState>, Error>;
    /// Returns what was spent on the domain of a host.
    fn domain_spent(&mut self, host: &HostKey) -> Result<Spent, Error>;
    /// Returns a row of `Learned`.
    fn learned_row(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, Error>;
}

impl TrapRows for WriteSet {
    fn host_state(&mut self, host: &HostKey) -> Result<Option<&HostState>, Error> {
        self.known_host(host)
    }

    fn domain_spent(&mut self, host: &HostKey) -> Result<Spent, Error> {
        self.spent(host)
    }

    fn learned_row(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        self.learned(key)
    }
}

/// The rows of one host as committed.
struct Committed<'a> {
    store: &'a dyn Store,
    host: Option<&'a HostState>,
}

impl TrapRows for Committed<'_> {
    fn host_state(&mut self, _: &HostKey) -> Result<Option<&HostState>, Error> {
        Ok(self.host)
    }

    fn domain_spent(&mut self, host: &HostKey) -> Result<Spent, Error> {
        Ok(domain_spent(self.store, &Site::of(&host.url()))?)
    }

    fn learned_row(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.store.get(Table::Learned, key)?)
    }
}

/// Returns the trap that a URL is taken for part of, by the committed rows of its host; for
/// questions about a URL.
pub(crate) fn trap_of(
    url: &Url,
    state: Option<&HostState>,
    policy: &TrapPolicy,
    store: &dyn Store,
) -> Result<Option<Trap>, Error> {
    let mut rows = Committed { store, host: state };
    Ok(
        match reputation(url, &HostKey::of(url), policy, &mut rows)? {
            Reputation::Trapped(trap, _) => Some(trap),
            Reputation::Usual | Reputation::Low => None,
        },
    )
}

/// Returns what is known for or against a URL, by what is committed and what this group has
/// changed.
pub(crate) fn reputation(
    url: &Url,
    host: &HostKey,
    policy: &TrapPolicy,
    rows: &mut impl TrapRows,
) -> Result<Reputation, Error> {
    let unknown = HostState::default();
    let state = rows.host_state(host)?.unwrap_or(&unknown);
    let spent = state.spent();
    if spent.admitted >= policy.max_pages_per_host || spent.by_host(policy).is_some() {
        return Ok(Reputation::Trapped(Trap::HostBudget, None));
    }
    if !state.outcomes.allows(policy, HOST_SHARE) {
        return Ok(Reputation::Trapped(Trap::Duplicates, Some(HOST_TAG)));
    }
    let mut is_low = state.outcomes.is_demoted();
    let any_demoted = state.demoted_patterns > 0;
    let spent = rows.domain_spent(host)?;
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
        let Some(known) = pattern_state(&pattern, host, rows)? else {
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

/// Returns the name of the setting whose budget a trap says is used up.
pub(crate) fn exhausted(
    trap: Trap,
    host: &HostKey,
    policy: &TrapPolicy,
    rows: &mut impl TrapRows,
) -> Result<Option<&'static str>, Error> {
    let state = rows.host_state(host)?;
    Ok(match trap {
        Trap::HostBudget => {
            let spent = state.map(HostState::spent).unwrap_or_default();
            Some(spent.by_host(policy).unwrap_or("traps.max_pages_per_host"))
        }
        Trap::DomainBudget => {
            let spent = rows.domain_spent(host)?;
            let by = spent.by_domain(policy);
            Some(by.unwrap_or("traps.max_pages_per_domain"))
        }
        _ => None,
    })
}

fn pattern_key(pattern: &Pattern, host: &HostKey) -> Vec<u8> {
    keys::learned(host.as_str(), keys::learned::PATTERN, &pattern.key())
}

fn pattern_state(
    pattern: &Pattern,
    host: &HostKey,
    rows: &mut impl TrapRows,
) -> Result<Option<PatternState>, Error> {
    let row = rows.learned_row(&pattern_key(pattern, host))?;
    Ok(row.map(|row| decode(Table::Learned, &row)).transpose()?)
}

/// Counts an admitted URL for its host, domain and pattern.
pub(crate) fn count_admitted(url: &Url, host: &HostKey, set: &mut WriteSet) -> Result<(), Error> {
    set.spend(host)?.admitted += 1;
    let state = set.host(host)?;
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
        let known = pattern_state(&pattern, host, set)?;
        if known.is_none() && pattern.date.is_none() {
            continue;
        }
        let Some(mut known) = known_or_new(known, &pattern, host, set)? else {
            continue;
        };
        known.outcomes.admitted();
        if let Some(date) = pattern.date {
            known.admitted_date(date);
        }
        set.learn(pattern_key(&pattern, host), encode(&known));
    }
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

/// Returns a pattern's state, or `None` if its host has too many patterns.
fn known_or_new(
    known: Option<PatternState>,
    pattern: &Pattern,
    host: &HostKey,
    set: &mut WriteSet,
) -> Result<Option<PatternState>, Error> {
    if known.is_some() {
        return Ok(known);
    }
    let state = set.host(host)?;
    if state.patterns >= MAX_PATTERNS {
        return Ok(None);
    }
    state.patterns += 1;
    Ok(Some(PatternState::new(&pattern.text)))
}

/// Counts a page's first response for its host and for the patterns of its URL.
pub(crate) fn record_outcome(
    judged: &Judged<'_>,
    policy: &TrapPolicy,
    set: &mut WriteSet,
) -> Result<(), Error> {
    let task = &judged.analysed.fetched.task;
    let outcome = match &judged.verdict {
        Verdict::Unique => PageOutcome::New,
        Verdict::Duplicate(repeat) => {
            let number = repeat.original.id as u32;
            let own =
                url::parse(&repeat.original.url).is_ok_and(|url| HostKey::of(&url) == task.host);
            if own {
                PageOutcome::RepeatOfOwn(number)
            } else {
                PageOutcome::RepeatOfOther(number)
            }
        }
        Verdict::Unchanged(_) | Verdict::Ineligible(_) => return Ok(()),
    };
    let record = &mut set.host(&task.host)?.outcomes;
    let was_demoted = record.is_demoted();
    let demoted = record.note(outcome, policy);
    let is_demoted = record.is_demoted();
    if let Some(percent) = demoted {
        set.state.counters.demoted += 1;
        tracing::warn!("host {} demoted: {percent} % duplicates", task.host);
    }
    if was_demoted && !is_demoted {
        set.reopened.push((task.host.clone(), HOST_TAG));
    }
    for (pattern, _) in kinds(&task.url) {
        record_outcome_of(judged, &pattern, outcome, policy, set)?;
    }
    Ok(())
}

fn record_outcome_of(
    judged: &Judged<'_>,
    pattern: &Pattern,
    outcome: PageOutcome,
    policy: &TrapPolicy,
    set: &mut WriteSet,
) -> Result<(), Error> {
    let host = &judged.analysed.fetched.task.host;
    let known = pattern_state(pattern, host, set)?;
    // There is no row for URLs that only ever led to something new.
    if known.is_none() && outcome == PageOutcome::New && pattern.date.is_none() {
        return Ok(());
    }
    let Some(mut known) = known_or_new(known, pattern, host, set)? else {
        return Ok(());
    };
    let was_demoted = known.outcomes.is_demoted();
    if let Some(percent) = known.outcomes.note(outcome, policy) {
        set.state.counters.demoted += 1;
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
    set.learn(pattern_key(pattern, host), encode(&known));
    let state = set.host(host)?;
    match (was_demoted, is_demoted) {
        (false, true) => state.demoted_patterns += 1,
        (true, false) => state.demoted_patterns = state.demoted_patterns.saturating_sub(1),
        _ => {}
    }
    if (says_more || was_demoted && !is_demoted) && state.deferred > 0 {
        set.reopened.push((host.clone(), pattern.key()));
    }
    Ok(())
}

/// Returns the beginning of a text, at most `most` bytes.
fn head(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len()))
        .rev()
        .find(|&at| text.is_char_boundary(at));
    &text[..end.unwrap_or(0)]
}

/// Returns whether a host is demoted, and which pattern of a URL is, as committed.
pub(crate) fn demotion(
    url: &Url,
    state: Option<&HostState>,
    store: &dyn Store,
) -> Result<(bool, Option<String>), Error> {
    let mut demoted = None;
    for (pattern, _) in kinds(url) {
        let mut rows = Committed { store, host: state };
        let known = pattern_state(&pattern, &HostKey::of(url), &mut rows)?;
        if known.is_some_and(|known| known.outcomes.is_demoted()) {
            demoted.get_or_insert(pattern.text);
        }
    }
    Ok((
        state.is_some_and(|state| state.outcomes.is_demoted()),
        demoted,
    ))
}
