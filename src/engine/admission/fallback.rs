//! Seeds without a scheme at hosts that do not speak https: they leave the queue, and the same URLs
//! are asked for over http.
//!
//! A bare name says nothing about the scheme. Where a connection is refused, or what answers does
//! not speak TLS, the name means the site over http. Any other failure says that https is there, or
//! nothing at all, and changes nothing; nor does any failure of a URL that was written with its
//! scheme.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{Gate, Origin, Source};
use crate::engine::Error;
use crate::engine::commit::{Group, VisitEffects};
use crate::engine::events::Happening;
use crate::engine::visit::Fetched;
use crate::fetch::{Failure, Outcome};
use crate::frontier::{Block, Purpose, QueuedUrl, class_of};
use crate::journal::LogLine;
use crate::rows::{Fate, PageRecord, Reason, VisitVerdict};
use crate::store::{Table, keys};
use crate::url::{self, HostKey, UrlId};

/// Maximum number of seeds of a host that fall back, in as many blocks of its queue at most. A host
/// has one as a rule.
const MAX_SEEDS: usize = 256;

/// Takes in what a visit says about https at its host. Returns `true` if it was made for a seed
/// that is asked for over http now.
pub(crate) fn fall_back(
    gate: &Gate,
    fetched: &Fetched,
    group: &mut Group<'_>,
) -> Result<bool, Error> {
    let task = &fetched.task;
    let is_first = task.queued.purpose == Purpose::Robots || task.queued.depth == 0;
    if !is_first || task.robots_redirect.is_some() || !task.host.as_str().starts_with("https:") {
        return Ok(false);
    }
    let prefix = keys::bare_seeds(task.host.as_str());
    let store = &group.set.store;
    let rows = store.range(Table::Meta, &prefix, &prefix, MAX_SEEDS)?;
    if rows.is_empty() {
        return Ok(false);
    }
    let failure = match &fetched.outcome {
        Outcome::Failed(failure) if failure.is_without_https() => Some(failure),
        // Another attempt may tell.
        Outcome::Failed(_) => return Ok(false),
        Outcome::Exchange(_) => None,
    };
    let mut seeds = BTreeSet::new();
    for (key, _) in rows {
        let id = key.get(prefix.len()..).and_then(|id| id.try_into().ok());
        seeds.extend(id.map(UrlId::from_bytes));
        group.set.batch.delete(Table::Meta, key);
    }
    let Some(failure) = failure else {
        return Ok(false);
    };
    let is_of_seed = task.queued.purpose == Purpose::Page && seeds.remove(&task.queued.id);
    let taken = take_out(&task.host, &seeds, group)?;
    for queued in taken {
        if !ask_over_http(gate, &queued, failure, group)? {
            note_failed(queued, fetched, failure, group);
        }
    }
    if is_of_seed {
        ask_over_http(gate, &task.queued, failure, group)?;
    }
    Ok(is_of_seed)
}

/// Queues a seed in its other form. Returns `true` if that is the same URL to the crawl.
fn ask_over_http(
    gate: &Gate,
    seed: &QueuedUrl,
    failure: &Failure,
    group: &mut Group<'_>,
) -> Result<bool, Error> {
    let Ok(mut url) = url::parse(&seed.url) else {
        return Ok(false);
    };
    if url.set_scheme("http").is_err() {
        return Ok(false);
    }
    let id = gate.identity.id(&url);
    let queued = QueuedUrl {
        via: Some(seed.id),
        ..QueuedUrl::new(url.to_string(), id)
    };
    // The rules of the crawl may take both forms for one URL.
    let origin = match id == seed.id {
        true => Origin::OtherForm,
        false => Origin::Seed,
    };
    group.set.happened.push(Happening::SeedOverHttp {
        url: seed.url.clone(),
        reason: failure.message.clone(),
        instead: url.into(),
    });
    let class = queued.class();
    gate.admit_in(class, queued, origin, Source::default(), group)?;
    Ok(id == seed.id)
}

/// Removes seeds from the queue of their host, unvisited, and returns them.
fn take_out(
    host: &HostKey,
    seeds: &BTreeSet<UrlId>,
    group: &mut Group<'_>,
) -> Result<Vec<QueuedUrl>, Error> {
    let mut taken = Vec::new();
    let Some(state) = group.set.known_host(host)?.cloned() else {
        return Ok(taken);
    };
    let class = class_of(0);
    let prefix = keys::queue_class(host.as_str(), class);
    let from = keys::queue(host.as_str(), class, state.head(class));
    let rows = group
        .set
        .store
        .range(Table::Queue, &prefix, &from, MAX_SEEDS)?;
    for (key, row) in rows {
        let Some((class, last, block)) = Block::of_row(&key, &row)? else {
            continue;
        };
        let gone = state.gone(class, last);
        let mut left = block.clone();
        let before = taken.len();
        for (_, place, queued) in block.waiting(last, gone) {
            if seeds.contains(&queued.id) && queued.via.is_none() && !queued.revisit {
                left.remove(place);
                taken.push(queued);
            }
        }
        if taken.len() == before {
            continue;
        }
        let set = &mut group.set;
        if left.is_empty(gone) {
            set.host(host)?.forget(class, last);
            set.batch.delete(Table::Queue, key.clone());
        } else {
            set.batch.put(Table::Queue, key.clone(), left.encode(last));
        }
        set.swept.insert(key, left.removed);
    }
    let count = taken.len() as u64;
    if count > 0 {
        let state = group.set.host(host)?;
        state.queued = state.queued.saturating_sub(count);
        state.suspicions.swept = true;
        let counters = &mut group.set.state.counters;
        counters.queued = counters.queued.saturating_sub(count);
        group.set.receipt.reread = Some(host.clone());
    }
    Ok(taken)
}

/// Records that a seed was not reached over https.
fn note_failed(seed: QueuedUrl, fetched: &Fetched, failure: &Failure, group: &mut Group<'_>) {
    let reason = Reason::of_failure(failure.class.name(), &failure.message);
    group.set.leave_out(reason, &seed.url);
    let counters = &mut group.set.state.counters;
    counters.failed += 1;
    counters.failures.add(&failure.class);
    let date = Timestamp::from_microsecond(fetched.finished.micros()).unwrap_or_default();
    let line = LogLine {
        time: format!("{date:.3}"),
        url: seed.url.clone(),
        verdict: VisitVerdict::Failed,
        annotation: Some(format!("{}: {}", failure.class.name(), failure.message)),
        ..LogLine::default()
    };
    group.set.visits.push(VisitEffects {
        line: Some(line),
        page: Some(seed.id),
        ..VisitEffects::default()
    });
    let time = fetched.finished.micros();
    let record = PageRecord {
        url: seed.url,
        via: None,
        depth: 0,
        time,
        last_seen: time,
        attempts: seed.attempts.saturating_add(1),
        fate: Fate::Failed {
            class: failure.class.name().to_owned(),
            message: failure.message.clone(),
            next: None,
        },
        revisit: None,
        validators: None,
        document: None,
        record: None,
        stored_members: 0,
    };
    group.set.put_page(seed.id, record, None);
}
