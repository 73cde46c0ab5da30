//! Goes on with a store that lost commits, as far as store, archive and links allow.
//!
//! Runs and documents are built anew from the store, and what archive and log have beyond it is set
//! aside. Then every stored page is read again, and its links are followed: a URL whose row is lost
//! is queued again unless it is known. Sitemaps are requested again. What only lost pages link to
//! is found when those are visited again.
//!
//! A row in the store says that the repair has begun and how far it has come, so a run that is
//! killed meanwhile goes on where it stopped.

use std::path::Path;
use std::sync::Arc;

use super::parts::in_parts;
use crate::archive::RecordKind;
use crate::engine::Options;
use crate::engine::admission::{follow_moved_requisite, follow_requisites};
use crate::engine::again::{body_place, visit_sitemap_again};
use crate::engine::clock::Clock;
use crate::engine::commit::{Committer, not_judged};
use crate::engine::error::Error;
use crate::engine::ring::analysts::Analysts;
use crate::engine::ring::reading::Reader;
use crate::engine::ring::turns::Turn;
use crate::engine::visit::{Analysed, Fetched};
use crate::fetch::{Exchange, Outcome, Reservation};
use crate::frontier::{
    FetchTask, HeldAddress, HostState, Moment, Pace, Purpose, QueuedUrl, Reading, for_each_waiting,
};
use crate::journal::Bodies;
use crate::page::Requisites;
use crate::rows::{Fate, PageRecord};
use crate::store::{Batch, Durability, Store, Table, decode, keys};
use crate::url::{self, HostKey, UrlId};

/// Number of pages that are read and followed at a time.
const CHUNK: usize = 256;
/// Number of pages between progress messages.
const OFTEN: u64 = 10_000;

/// Counts anew what waits at each host: rows of its queue may be lost, and a host that waits for
/// them would never end.
fn count_again(committer: &mut Committer, now: Moment) -> Result<(), Error> {
    let mut from = Vec::new();
    loop {
        let store = Arc::clone(&committer.store);
        let rows = store.range(Table::Hosts, &[], &from, CHUNK)?;
        let Some((last, _)) = rows.last() else {
            return Ok(());
        };
        from = [last, &[0][..]].concat();
        let set = committer.collect(now, |_, group| {
            for (key, row) in &rows {
                let state: HostState = decode(Table::Hosts, row)?;
                let Some(host) = HostKey::parse(&String::from_utf8_lossy(key)) else {
                    continue;
                };
                let mut waiting = 0;
                for_each_waiting(&*store, &host, &state, &mut |_, _, _, _| {
                    waiting += 1;
                    Ok(true)
                })?;
                if waiting != state.queued {
                    group.set.host(&host)?.queued = waiting;
                    let counters = &mut group.set.state.counters;
                    counters.queued = (counters.queued + waiting).saturating_sub(state.queued);
                }
            }
            Ok(())
        })?;
        committer.write(set)?;
    }
}

/// Follows again what stored pages link to.
pub(super) fn follow_again(
    committer: &mut Committer,
    path: &Path,
    options: &Options,
) -> Result<(), Error> {
    let reader = Reader::new(&committer.gate.identity, options);
    let analysts = Analysts::new(reader, committer.gate.policies.clone());
    let bodies = Bodies::of(path);
    let now = Clock::start().now();
    count_again(committer, now)?;
    let before = committer.state.counters.queued;
    let (mut count, mut said) = (0_u64, 0);
    let from = committer.store.get(Table::Meta, keys::meta::REPAIR)?;
    let mut from = from.unwrap_or_default();
    loop {
        let rows = committer.store.range(Table::Pages, &[], &from, CHUNK)?;
        let Some((last, _)) = rows.last() else { break };
        from = [last, &[0][..]].concat();
        let store = &*committer.store;
        let read = in_parts(&rows, |rows| {
            read_again(rows, (store, &bodies), &analysts, now)
        });
        let read = read.map_err(|_| Error::Internal("reading the archive failed".to_owned()))?;
        let links = committer.state.counters.links.clone();
        let named = committer.state.counters.requisites.named.clone();
        let mut set = committer.collect(now, |judge, group| {
            for part in read {
                for source in part? {
                    match source {
                        Source::Sitemap(id, page) => {
                            visit_sitemap_again(id, *page, &mut group.set)?;
                        }
                        Source::Page(analysed) => {
                            if let Outcome::Exchange(exchange) = &analysed.fetched.outcome {
                                let judged = not_judged(&analysed);
                                let task = &analysed.fetched.task;
                                match task.queued.purpose {
                                    Purpose::Requisite(of) => follow_moved_requisite(
                                        judge.gate, task, of, exchange, group,
                                    )?,
                                    _ => {
                                        judge.gate.follow(&judged, exchange, Some(true), group)?;
                                    }
                                }
                                let requisites = &analysed.requisites;
                                follow_requisites(judge.gate, task, requisites, group)?;
                            }
                        }
                    }
                }
            }
            // All of it was counted when the pages were visited.
            group.set.uncount(links);
            group.set.state.counters.requisites.named = named;
            Ok(())
        })?;
        set.batch.put(Table::Meta, keys::meta::REPAIR, from.clone());
        committer.write(set)?;
        committer.checkpoint_if_due()?;
        count += rows.len() as u64;
        if count >= said + OFTEN {
            said = count;
            tracing::info!(pages = count, "links followed again");
        }
    }
    let mut batch = Batch::new();
    batch.delete(Table::Meta, keys::meta::REPAIR);
    committer.store.commit(batch, Durability::Disk)?;
    let queued = committer.state.counters.queued.saturating_sub(before);
    tracing::warn!(
        pages = count,
        queued,
        "the store is repaired: all stored pages were read again, and what they link to is queued"
    );
    Ok(())
}

/// What names further URLs.
enum Source {
    /// A page, read as it was stored.
    Page(Box<Analysed>),
    Sitemap(UrlId, Box<PageRecord>),
}

/// Reads pages as they were stored, and finds the sitemaps among them.
fn read_again(
    rows: &[(Vec<u8>, Vec<u8>)],
    (store, bodies): (&dyn Store, &Bodies),
    analysts: &Analysts,
    now: Moment,
) -> Result<Vec<Source>, Error> {
    let mut read = Vec::new();
    for (key, row) in rows {
        let page: PageRecord = decode(Table::Pages, row)?;
        let Ok(id) = key.as_slice().try_into().map(UrlId::from_bytes) else {
            continue;
        };
        match page.fate {
            Fate::Answered { .. } => {}
            // Others name nothing.
            Fate::Requisite { of, status, .. }
                if of.reading != Reading::Nothing || matches!(status, 300..400) => {}
            Fate::Sitemap { .. } => {
                read.push(Source::Sitemap(id, Box::new(page)));
                continue;
            }
            _ => continue,
        }
        let Some(place) = body_place(store, id, &page)? else {
            continue;
        };
        let content = match bodies.read(&place) {
            Ok(content) => content,
            Err(error) => {
                tracing::warn!(url = page.url, %error, "cannot read this page again: what only it links to may be missing");
                continue;
            }
        };
        let started = jiff::Timestamp::from_microsecond(page.time).unwrap_or_default();
        let exchange = content.exchange(started);
        let (Some(exchange), Ok(url)) = (exchange, url::parse(&page.url)) else {
            continue;
        };
        let is_played = matches!(
            page.record,
            Some((RecordKind::Response | RecordKind::Revisit, _))
        );
        let mut analysed = analysts.analyse(visit(exchange, (id, page, url), now));
        if !is_played {
            analysed.requisites = Requisites::default();
        }
        read.push(Source::Page(Box::new(analysed)));
    }
    Ok(read)
}

/// Makes a visit of what was stored.
fn visit(
    exchange: Exchange,
    (id, page, url): (UrlId, PageRecord, url::Url),
    now: Moment,
) -> Fetched {
    Fetched {
        earlier: None,
        task: FetchTask {
            host: HostKey::of(&url),
            pace: Pace::default(),
            robots_redirect: None,
            held: HeldAddress::default(),
            place: None,
            queued: QueuedUrl {
                via: page.via,
                depth: page.depth,
                purpose: page.purpose(),
                ..QueuedUrl::new(page.url, id)
            },
            url,
        },
        outcome: Outcome::Exchange(Box::new(exchange)),
        pace: Pace::default(),
        finished: now,
        was_handed_out: true,
        reservation: Reservation::default(),
        turn: Turn::default(),
    }
}
