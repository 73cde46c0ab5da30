//! Queues as they are written: URLs that enter a host's queue become blocks, and the host a row in
//! `Due` by the time of its next visit.

use std::time::Duration;

use super::block::{BLOCK, Block};
use super::host::HostState;
use super::refill::PARKED;
use super::task::QueuedUrl;
use crate::store::{Batch, Table, keys};
use crate::url::HostKey;

/// A host whose visits wait longer than this is filed anew by its due time; below it the old place
/// is as good, and a row is not rewritten at every visit.
const REFILE_AFTER: Duration = Duration::from_mins(1);

/// A URL to be put into a queue: class, sequence, URL.
pub type QueuedRow = (u8, u64, QueuedUrl);

/// Puts the URLs that enter a host's queue into blocks.
pub fn put_queued(host: &HostKey, mut queued: Vec<QueuedRow>, batch: &mut Batch) {
    queued.sort_unstable_by_key(|(class, sequence, _)| (*class, *sequence));
    let mut queued = queued.into_iter().peekable();
    while let Some((class, sequence, first)) = queued.next() {
        let mut urls = vec![(sequence, first)];
        while urls.len() < BLOCK
            && let Some((_, sequence, next)) = queued.next_if(|(other, ..)| *other == class)
        {
            urls.push((sequence, next));
        }
        let last = urls.last().map_or(sequence, |(last, _)| *last);
        let row = Block { urls, removed: 0 }.encode(last);
        batch.put(Table::Queue, keys::queue(host.as_str(), class, last), row);
    }
}

/// Keeps a host's row in `Due` true enough: there while URLs wait, not much before they may be
/// fetched.
pub fn file_by_due_time(host: &HostKey, state: &mut HostState, batch: &mut Batch) {
    let wanted = (state.queued > 0).then_some(state.due);
    let keep = match (state.due_row, wanted) {
        (Some(row), Some(due)) => {
            let is_near = row <= due && due <= row.plus(REFILE_AFTER);
            is_near && state.due_row_parked == state.parked && (!state.parked || row == due)
        }
        (None, None) => true,
        _ => false,
    };
    if keep {
        return;
    }
    if let Some(row) = state.due_row {
        batch.delete(Table::Due, keys::due(row.0, host.as_str()));
    }
    if let Some(due) = wanted {
        let mark = if state.parked { PARKED } else { &[] };
        batch.put(Table::Due, keys::due(due.0, host.as_str()), mark);
    }
    state.due_row = wanted;
    state.due_row_parked = state.parked;
}
