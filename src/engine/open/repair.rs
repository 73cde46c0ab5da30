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

use super::reread::StoredPages;
use crate::engine::Options;
use crate::engine::clock::Clock;
use crate::engine::commit::Committer;
use crate::engine::error::Error;
use crate::frontier::{HostState, Moment, for_each_waiting};
use crate::store::{Batch, Durability, Table, decode, keys};
use crate::url::HostKey;

/// Number of hosts that are counted at a time.
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
    let pages = StoredPages::new(committer, path, options);
    let now = Clock::start().now();
    count_again(committer, now)?;
    let before = committer.state.counters.queued;
    let (mut count, mut said) = (0_u64, 0);
    let from = committer.store.get(Table::Meta, keys::meta::REPAIR)?;
    let mut from = from.unwrap_or_default();
    while let Some(part) = pages.part(committer, &mut from, now)? {
        for (url, error) in &part.unread {
            tracing::warn!(url, %error, "cannot read this page again: what only it links to may be missing");
        }
        let mut set = part.followed(committer, now, false)?;
        set.batch.put(Table::Meta, keys::meta::REPAIR, from.clone());
        committer.write(set)?;
        committer.checkpoint_if_due()?;
        count += part.rows;
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
