//! Deferred URLs: which are kept for later, which of them are visited as samples, and how they come
//! back.

use std::sync::atomic::Ordering;

use xxhash_rust::xxh3::xxh3_64;

use super::{Gate, note_given_up};
use crate::engine::Error;
use crate::engine::commit::Group;
use crate::engine::learned::budgets::count_returned;
use crate::engine::learned::deferred::{Deferred, leave, put, shelf, take};
use crate::engine::learned::kinds::{canonical, found, suspecting};
use crate::engine::learned::rows::HostRows;
use crate::engine::visit::Analysed;
use crate::frontier::{LAST, Policy, QueuedUrl};
use crate::learn::{
    Deferral, Draw, Expectation, Return, Rows, Stratum, TrapMode, by_form, is_from_elsewhere,
    next_draw, open_all,
};
use crate::store::{encode, keys};
use crate::url::{self, HostKey, Identity, Url};

/// Number of deferred URLs that are examined at once when they come back.
const PART: usize = 256;

/// What is known against a URL that the settings admit.
pub(super) enum Suspicion {
    /// Nothing.
    None,
    /// It is deferred.
    Deferred,
    /// It would be deferred, and is queued as a sample.
    Sample(Expectation),
}

/// A hash of the settings by which the URLs of a host are suspected.
fn settings(policy: &Policy) -> u64 {
    xxh3_64(&encode(&(policy.traps, policy.learn)))
}

impl Gate {
    /// Checks what URLs like this one have said, and defers it if that is nothing.
    pub(super) fn suspicion(
        &self,
        url: &Url,
        queued: &QueuedUrl,
        (host, is_hearsay): (&HostKey, bool),
        group: &mut Group<'_>,
    ) -> Result<Suspicion, Error> {
        let policy = self.policies.load().of(host);
        let known = group.set.known_host(host)?;
        let is_calm = known.is_none_or(|state| state.suspicions.closed.is_empty());
        let is_off = policy.traps.mode == TrapMode::Off;
        // Nearly all links end here.
        if is_off || is_calm && by_form(url, queued.trail, &policy.traps).is_none() {
            return Ok(Suspicion::None);
        }
        self.defer(url, (queued, is_hearsay), (host, false), group)
    }

    /// Defers a URL if it is suspected. The flags say whether only another site leads to it, and
    /// whether it was queued before.
    pub(super) fn defer(
        &self,
        url: &Url,
        (queued, is_hearsay): (&QueuedUrl, bool),
        (host, was_queued): (&HostKey, bool),
        group: &mut Group<'_>,
    ) -> Result<Suspicion, Error> {
        let policy = self.policies.load().of(host);
        let mut rows = HostRows {
            host,
            identity: &self.identity,
            group,
        };
        let form = canonical(url, &self.identity);
        let suspect = suspecting(&policy).suspect(&form, found(queued, is_hearsay), &mut rows)?;
        let Some(mut suspect) = suspect else {
            return Ok(Suspicion::None);
        };
        let stratum = queued.expectation.stratum();
        let sample = Suspicion::Sample(Expectation::Sample {
            kind: suspect.kind,
            stratum,
        });
        if rows.group.set.deferred()? >= self.limits.max_deferred {
            if !self.is_full_told.swap(true, Ordering::Relaxed) {
                tracing::warn!(
                    "crawl.max_deferred is reached: {} URLs are deferred; further ones that look \
                     like traps are fetched after all others",
                    self.limits.max_deferred
                );
            }
            return Ok(sample);
        }
        let suspicions = rows.suspicions()?;
        if suspicions.deferred == 0 {
            suspicions.settings = settings(&policy);
        }
        if suspect.defer(url, stratum, &mut rows)? == Deferral::Sample {
            return Ok(sample);
        }
        let deferred = Deferred {
            queued: queued.clone(),
            was_queued,
        };
        let shelf = shelf(suspect.ledger.generation(), stratum);
        put(&deferred, host, suspect.kind, shelf, &mut group.set)?;
        if is_hearsay {
            note_given_up(queued.id, group);
        }
        Ok(Suspicion::Deferred)
    }

    /// Queues what comes back to a host, a part at a time, and samples where nothing else waits.
    pub(crate) fn take_up(&self, host: &HostKey, group: &mut Group<'_>) -> Result<(), Error> {
        let Some(state) = group.set.known_host(host)? else {
            return Ok(());
        };
        if state.suspicions.deferred == 0 && state.suspicions.returning.is_empty() {
            return Ok(());
        }
        let mut is_first = true;
        loop {
            let state = group.set.host(host)?;
            let waits = state.queued > 0;
            let Some(back) = state.suspicions.returning.first().cloned() else {
                break;
            };
            if waits && !is_first {
                return Ok(());
            }
            is_first = false;
            self.bring_back(host, &back, group)?;
        }
        while group.set.host(host)?.queued == 0 {
            let mut rows = HostRows {
                host,
                identity: &self.identity,
                group,
            };
            match next_draw(&mut rows)? {
                Some(draw) => self.draw(host, draw, group)?,
                None => break,
            }
        }
        Ok(())
    }

    /// Takes up what is deferred at the hosts of visits that are over.
    pub(crate) fn take_up_after(
        &self,
        visits: &[Analysed],
        group: &mut Group<'_>,
    ) -> Result<(), Error> {
        let mut hosts: Vec<&HostKey> = visits.iter().map(|it| &it.fetched.task.host).collect();
        hosts.dedup();
        for host in hosts {
            self.take_up(host, group)?;
            if !group.set.receipt.queued.is_empty() {
                group.set.end_receipt();
            }
        }
        Ok(())
    }

    /// As [`take_up`](Self::take_up), when a crawl is opened: everything comes back if the settings
    /// have changed.
    pub(crate) fn take_up_again(&self, host: &HostKey, group: &mut Group<'_>) -> Result<(), Error> {
        let policy = self.policies.load().of(host);
        let mut rows = HostRows {
            host,
            identity: &self.identity,
            group,
        };
        let now = settings(&policy);
        if rows.suspicions()?.settings != now {
            open_all(&mut rows)?;
            rows.suspicions()?.settings = now;
        }
        self.take_up(host, group)?;
        group.set.end_receipt();
        Ok(())
    }

    /// Queues a part of what comes back of one kind.
    fn bring_back(
        &self,
        host: &HostKey,
        back: &Return,
        group: &mut Group<'_>,
    ) -> Result<(), Error> {
        let policies = self.policies.load();
        let policy = policies.of(host);
        let known = group.set.host(host)?.suspicions.clone();
        let ledger = HostRows {
            host,
            identity: &self.identity,
            group,
        }
        .ledger(back.kind)?;
        let is_hearsay = ledger.is_some_and(|ledger| is_from_elsewhere(&ledger.name));
        let mut is_meant = |deferred: &Deferred| {
            let Some(part) = back.part else {
                return Ok(true);
            };
            let queued = &deferred.queued;
            Ok(url::parse(&queued.url).is_ok_and(|url| {
                let url = canonical(&url, &self.identity);
                let found = found(queued, is_hearsay);
                suspecting(&policy).part_of(&url, found, back.kind, &known) == part
            }))
        };
        let mut from = back.from.clone();
        let mut is_over = true;
        for stratum in Stratum::ALL {
            let shelf = shelf(back.generation, stratum);
            let prefix = keys::deferred_shelf(host.as_str(), back.kind, shelf);
            if from > prefix && !from.starts_with(&prefix) {
                continue;
            }
            if !from.starts_with(&prefix) {
                from.clone_from(&prefix);
            }
            let (taken, next) = take(&prefix, &from, PART, &mut is_meant, &mut group.set)?;
            for deferred in taken {
                leave(host, back.kind, shelf, &mut group.set)?;
                let expectation = match (
                    self.defer_again((host, is_hearsay), &deferred, group)?,
                    back,
                ) {
                    (Suspicion::Deferred, _) => continue,
                    (Suspicion::Sample(sample), _) => sample,
                    (Suspicion::None, Return { is_evidence, .. }) if *is_evidence => {
                        deferred.queued.expectation
                    }
                    (Suspicion::None, _) => Expectation::Returned,
                };
                let deferred = deferred.expecting(expectation);
                let learning = self.learning(&policies);
                let class = learning.class(&deferred.queued, (host, is_hearsay), group)?;
                queue_deferred(host, deferred, class, group)?;
            }
            if let Some(next) = next {
                (from, is_over) = (next, false);
                break;
            }
        }
        let returning = &mut group.set.host(host)?.suspicions.returning;
        if is_over {
            returning.retain(|it| {
                (it.kind, it.generation, it.part) != (back.kind, back.generation, back.part)
            });
        } else if let Some(first) = returning.first_mut() {
            first.from = from;
        }
        Ok(())
    }

    /// Defers a URL that comes back, if there is another reason for that now.
    fn defer_again(
        &self,
        (host, is_hearsay): (&HostKey, bool),
        deferred: &Deferred,
        group: &mut Group<'_>,
    ) -> Result<Suspicion, Error> {
        let queued = (&deferred.queued, is_hearsay);
        match url::parse(&deferred.queued.url) {
            Ok(url) => self.defer(&url, queued, (host, deferred.was_queued), group),
            Err(_) => Ok(Suspicion::None),
        }
    }

    /// Queues samples of a kind.
    fn draw(&self, host: &HostKey, draw: Draw, group: &mut Group<'_>) -> Result<(), Error> {
        let shelf = shelf(draw.generation, draw.stratum);
        let prefix = keys::deferred_shelf(host.as_str(), draw.kind, shelf);
        let most = draw.most as usize;
        let (taken, _) = take(&prefix, &prefix, most, &mut |_| Ok(true), &mut group.set)?;
        let sample = Expectation::Sample {
            kind: draw.kind,
            stratum: draw.stratum,
        };
        if taken.is_empty() {
            has_no_more(draw, host, &self.identity, group)?;
        }
        for deferred in taken {
            leave(host, draw.kind, shelf, &mut group.set)?;
            queue_deferred(host, deferred.expecting(sample), LAST, group)?;
        }
        Ok(())
    }
}

/// Notes that what the ledger of a kind counts is not there: there is nothing more to draw.
fn has_no_more(
    draw: Draw,
    host: &HostKey,
    identity: &Identity,
    group: &mut Group<'_>,
) -> Result<(), Error> {
    let mut rows = HostRows {
        host,
        identity,
        group,
    };
    if let Some(mut ledger) = rows.ledger(draw.kind)? {
        ledger.drawn(draw.stratum, u64::MAX);
        rows.write(draw.kind, &ledger);
    }
    Ok(())
}

/// Queues a URL that was taken from the deferred.
fn queue_deferred(
    host: &HostKey,
    deferred: Deferred,
    class: u8,
    group: &mut Group<'_>,
) -> Result<(), Error> {
    let Deferred { queued, was_queued } = deferred;
    if was_queued {
        // It may have been in flight when it was taken from its queue.
        if group.set.is_answered(queued.id)? {
            return Ok(());
        }
    } else {
        count_returned(&queued, host, &mut group.set)?;
    }
    group.set.queue_in(class, queued, host.clone())
}

#[cfg(test)]
mod tests;
