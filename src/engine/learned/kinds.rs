//! What a first visit teaches about the kinds of its URL, and what is known of all kinds.

use super::rows::HostRows;
use super::{deferred, hearsay, novelty, restless, rows, shells};
use crate::dedup::{Repeat, Tier, Verdict, shard_of};
use crate::engine::Error;
use crate::engine::commit::Group;
use crate::engine::events::Happening;
use crate::engine::visit::Judged;
use crate::frontier::{FetchTask, HostState, LAST, Policies, Policy, QueuedUrl, class_of};
use crate::learn::{
    AliasMode, Expectation, Found, KindId, Ledger, Rows, Suspecting, TrapMode, Visit, may_be_one,
};
use crate::store::{Store, Table, decode, for_each as for_each_row, keys};
use crate::url::{self, HostKey, Identity, Url, UrlId};

/// What learning needs besides rows: how hosts are treated, and the identity of URLs.
pub(crate) struct Learning<'a> {
    pub(crate) policies: &'a Policies,
    pub(crate) identity: &'a Identity,
}

/// Returns how a URL was found; the flag says whether only another site leads to it. What the pages
/// of that said, or did not say, is no matter here.
pub(crate) fn found(queued: &QueuedUrl, is_hearsay: bool) -> Found {
    Found {
        trail: queued.trail,
        silent: match is_hearsay {
            true => 0,
            false => queued.expectation.silent(),
        },
        is_hearsay,
    }
}

/// Returns the form of a URL that belongs to kinds: what its canonical form lacks is no part of it.
pub(crate) fn canonical(url: &Url, identity: &Identity) -> Url {
    let canonical = url::parse(identity.canonical(url).as_str());
    canonical
        .ok()
        .filter(|canonical| HostKey::of(canonical) == HostKey::of(url))
        .unwrap_or_else(|| url.clone())
}

/// Returns the settings by which the URLs of a host are suspected.
pub(crate) fn suspecting(policy: &Policy) -> Suspecting<'_> {
    Suspecting {
        traps: &policy.traps,
        learn: policy.learn,
    }
}

impl Learning<'_> {
    /// Returns whether a first visit said something of its own.
    pub(crate) fn said_something(
        &self,
        judged: &Judged<'_>,
        group: &mut Group<'_>,
    ) -> Result<Option<bool>, Error> {
        let host = &judged.analysed.fetched.task.host;
        let is_one_site = self.policies.of(host).learn.aliases != AliasMode::Off;
        novelty::said_something(judged, is_one_site, self.identity, group)
    }

    /// Returns the priority class of a URL, by its depth, by the pages that led to it and by what
    /// its like say. The flag says whether only another site leads to it.
    pub(crate) fn class(
        &self,
        queued: &QueuedUrl,
        (host, is_hearsay): (&HostKey, bool),
        group: &mut Group<'_>,
    ) -> Result<u8, Error> {
        let Ok(url) = url::parse(&queued.url) else {
            return Ok(queued.class());
        };
        let policy = self.policies.of(host);
        let mut rows = HostRows {
            host,
            identity: self.identity,
            group,
        };
        let form = canonical(&url, self.identity);
        let found = (&form, found(queued, is_hearsay));
        let classes = (class_of(queued.depth), LAST);
        suspecting(&policy).class(found, queued.expectation, classes, &mut rows)
    }

    /// Learns from a page's first response, which said something of its own, or nothing.
    pub(crate) fn take_in(
        &self,
        judged: &Judged<'_>,
        said: Option<bool>,
        group: &mut Group<'_>,
    ) -> Result<(), Error> {
        shells::count(judged, &mut group.set)?;
        let task = &judged.analysed.fetched.task;
        let policy = self.policies.of(&task.host);
        let suspecting = suspecting(&policy);
        let is_hearsay = hearsay::was_hearsay(&task.queued, &task.host, &mut group.set)?;
        // What another site led to first says nothing about the pages that it is the same as.
        let is_late = !is_hearsay && repeats_hearsay(judged, group)?;
        let said = said.filter(|said| *said || !is_late);
        let same = original_of(judged);
        if let Some(same) = &same {
            note_twin(&task.url, &task.host, same, &policy, group)?;
        }
        let same = same.filter(|_| !is_late);
        let same = same.map(|same| canonical(&same, self.identity));
        let own = canonical(&task.url, self.identity);
        let before = group.set.host(&task.host)?.suspicions.closed.clone();
        let carried_from = self.carried_from(judged, group)?;
        let visit = Visit {
            url: &own,
            found: found(&task.queued, is_hearsay),
            said,
            same: same.as_ref(),
            is_page: judged.verdict == Verdict::Unique,
            carried_from: carried_from.as_ref(),
        };
        let mut rows = HostRows {
            host: &task.host,
            identity: self.identity,
            group,
        };
        match task.queued.expectation {
            Expectation::Sample { kind, stratum } => {
                suspecting.observe_sample(visit, kind, stratum, &mut rows)?;
            }
            Expectation::Returned | Expectation::Again { .. } => {
                suspecting.observe(
                    Visit {
                        said: None,
                        ..visit
                    },
                    &mut rows,
                )?;
            }
            Expectation::Usual | Expectation::Doubtful { .. } => {
                suspecting.observe(visit, &mut rows)?;
            }
        }
        tell(&task.url, &before, &mut rows)?;
        if said == Some(true) {
            self.credit(judged, group)?;
            if policy.traps.mode != TrapMode::Off
                && let Some(expectation) = restless::suspect(judged, group)?
            {
                visit_again(task, expectation, group)?;
            }
        }
        Ok(())
    }

    /// Returns the page that led to a URL and not to the one whose page is the same byte for byte.
    fn carried_from(&self, judged: &Judged<'_>, group: &Group<'_>) -> Result<Option<Url>, Error> {
        let Verdict::Duplicate(repeat) = &judged.verdict else {
            return Ok(None);
        };
        let same = url::parse(&repeat.original.url).ok();
        let (Some(same), Tier::Raw) = (same, repeat.tier) else {
            return Ok(None);
        };
        let same = self.identity.id(&same);
        let via = judged.analysed.fetched.task.queued.via;
        let Some(via) = via.filter(|via| *via != same) else {
            return Ok(None);
        };
        let of_same = group.set.found_on(same)?.and_then(|(_, via)| via);
        if of_same == Some(via) {
            return Ok(None);
        }
        let from = group.set.found_on(via)?;
        let from = from.and_then(|(text, _)| url::parse(&text).ok());
        Ok(from.map(|from| canonical(&from, self.identity)))
    }

    /// Credits a page that said something to the pages before it that did not.
    fn credit(&self, judged: &Judged<'_>, group: &mut Group<'_>) -> Result<(), Error> {
        let queued = &judged.analysed.fetched.task.queued;
        let (hops, sampled) = queued.expectation.credited();
        let mut via = queued.via;
        let mut led_to = canonical(&judged.analysed.fetched.task.url, self.identity);
        for _ in 0..hops {
            let Some((text, before)) = via.map(|id| group.set.found_on(id)).transpose()?.flatten()
            else {
                return Ok(());
            };
            via = before;
            let Ok(url) = url::parse(&text) else {
                continue;
            };
            let host = HostKey::of(&url);
            let url = canonical(&url, self.identity);
            let policy = self.policies.of(&host);
            // The trail of a page is not kept.
            let found = Found {
                is_hearsay: hearsay::is_from_elsewhere(via, &host, &mut group.set)?,
                ..Found::default()
            };
            let mut rows = HostRows {
                host: &host,
                identity: self.identity,
                group,
            };
            let pages = (&url, &led_to);
            suspecting(&policy).credit(pages, found, sampled, &mut rows)?;
            led_to = url;
        }
        Ok(())
    }
}

/// Queues a page that was visited once more, before all others.
fn visit_again(
    task: &FetchTask,
    expectation: Expectation,
    group: &mut Group<'_>,
) -> Result<(), Error> {
    let queued = QueuedUrl {
        expectation,
        revisit: true,
        attempts: 0,
        validators: None,
        ..task.queued.clone()
    };
    group.set.queue_in(0, queued, task.host.clone())
}

/// Notes the other host that has the same page at the same path, if both may be one.
fn note_twin(
    url: &Url,
    host: &HostKey,
    same: &Url,
    policy: &Policy,
    group: &mut Group<'_>,
) -> Result<(), Error> {
    let other = HostKey::of(same);
    let is_same = url.path() == same.path() && url.query() == same.query();
    if is_same && other != *host && may_be_one(host, &other, policy.learn.aliases) {
        // One of two hosts is the other's alias, never both.
        let mut next = Some(other.clone());
        while let Some(host_of_it) = next {
            if host_of_it == *host {
                return Ok(());
            }
            let state = group.set.known_host(&host_of_it)?;
            let twin = state.and_then(|state| state.suspicions.twin.as_deref());
            next = twin.and_then(HostKey::parse);
        }
        let twin = &mut group.set.host(host)?.suspicions.twin;
        twin.get_or_insert_with(|| other.as_str().to_owned());
    }
    Ok(())
}

/// Tells and counts which kinds a visit has closed or opened.
fn tell(url: &Url, before: &[KindId], rows: &mut HostRows<'_, '_>) -> Result<(), Error> {
    let now = rows.suspicions()?.closed.clone();
    let host = rows.host;
    for kind in now.iter().filter(|kind| !before.contains(kind)) {
        rows.group.set.state.counters.demoted += 1;
        if let Some(ledger) = rows.ledger(*kind)? {
            rows.group.set.happened.push(Happening::Closed {
                host: host.clone(),
                has_slot: ledger.slot.is_some(),
                kind: ledger.name,
                url: url.to_string(),
            });
        }
    }
    for kind in before.iter().filter(|kind| !now.contains(kind)) {
        if let Some(ledger) = rows.ledger(*kind)? {
            rows.group.set.happened.push(Happening::Opened {
                host: host.clone(),
                kind: ledger.name,
                url: url.to_string(),
            });
        }
    }
    Ok(())
}

/// Returns `true` if a page repeats one of its own site to which only another site leads.
fn repeats_hearsay(judged: &Judged<'_>, group: &mut Group<'_>) -> Result<bool, Error> {
    let Verdict::Duplicate(repeat) = &judged.verdict else {
        return Ok(false);
    };
    let Ok(url) = url::parse(&repeat.original.url) else {
        return Ok(false);
    };
    let host = HostKey::of(&url);
    if hearsay::is_hearsay(&host, &judged.analysed.fetched.task.host) {
        return Ok(false);
    }
    let found_on = group.set.found_on(repeat.original.url_id)?;
    let via = found_on.and_then(|(_, via)| via);
    hearsay::is_from_elsewhere(via, &host, &mut group.set)
}

/// Returns the URL of the page that a visited page repeats exactly, unless it is another shard's,
/// of whose hosts nothing is known here.
fn original_of(judged: &Judged<'_>) -> Option<Url> {
    match &judged.verdict {
        Verdict::Duplicate(Repeat { original, tier, .. })
            if *tier != Tier::Near && shard_of(original.id).is_none() =>
        {
            url::parse(&original.url).ok()
        }
        _ => None,
    }
}

/// Calls `each` with what is known of each kind, by host; of one host, if it is given.
pub(crate) fn for_each(
    store: &dyn Store,
    host: Option<&HostKey>,
    each: &mut dyn FnMut(&str, u64, Ledger),
) -> Result<(), Error> {
    let prefix = host.map_or_else(Vec::new, |host| {
        keys::learned(host.as_str(), keys::learned::KIND, &[])
    });
    for_each_row(store, Table::Learned, &prefix, &mut |key, row| {
        if let Some((host, kind)) = keys::parse_kind(key) {
            each(host, kind, decode(Table::Learned, row)?);
        }
        Ok(())
    })?;
    Ok(())
}

/// Returns the kind under which a URL is deferred, if it is, by committed rows.
pub(crate) fn deferred_by(
    host: &HostKey,
    state: &HostState,
    id: UrlId,
    store: &dyn Store,
) -> Result<Option<Ledger>, Error> {
    if state.suspicions.deferred == 0 {
        return Ok(None);
    }
    let mut found = None;
    let mut kinds = state.suspicions.closed.clone();
    kinds.extend(state.suspicions.returning.iter().map(|it| it.kind));
    for kind in kinds {
        let row = store.get(Table::Learned, &rows::kind_key(host, kind))?;
        let Some(row) = row else {
            continue;
        };
        let ledger: Ledger = decode(Table::Learned, &row)?;
        let generations = [
            ledger.generation(),
            ledger.generation().wrapping_sub(1) % 128,
        ];
        for shelf in generations.map(|it| [it * 2, it * 2 + 1]).concat() {
            let key = deferred::key(host, kind, shelf, id);
            if store.get(Table::Deferred, &key)?.is_some() {
                found = Some(ledger);
                return Ok(found);
            }
        }
    }
    Ok(found)
}
