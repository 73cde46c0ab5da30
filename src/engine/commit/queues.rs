//! Queues as a group changes them: a URL enters the queue of its host, or leaves it.
//!
//! What a commit queues for one host and class is one row, a block; the host's row says which of a
//! block's URLs have left, and stands in `Due` by the time of its next visit.

use std::time::Duration;

use super::write_set::WriteSet;
use crate::engine::Error;
use crate::frontier::{BLOCK, Block, HostState, Leave, PARKED, Place, Purpose, QueuedUrl};
use crate::store::{Batch, Table, keys};
use crate::url::HostKey;

/// A host whose visits wait longer than this is filed anew by its due time; below it the old place
/// is as good, and a row is not rewritten at every visit.
const REFILE_AFTER: Duration = Duration::from_mins(1);

/// A URL to be put into a queue: class, sequence, URL.
pub(super) type QueuedRow = (u8, u64, QueuedUrl);

impl WriteSet {
    /// Puts a URL into its host's queue, in the class of its depth or expectation.
    pub(in crate::engine) fn queue(
        &mut self,
        queued: QueuedUrl,
        host: HostKey,
    ) -> Result<(), Error> {
        self.queue_in(queued.class(), queued, host)
    }

    /// Puts a URL into one class of its host's queue.
    pub(in crate::engine) fn queue_in(
        &mut self,
        class: u8,
        queued: QueuedUrl,
        host: HostKey,
    ) -> Result<(), Error> {
        self.state.queue_sequence += 1;
        let (now, sequence) = (self.now, self.state.queue_sequence);
        let (depth, purpose) = (queued.depth, queued.purpose);
        let is_again = queued.attempts > 0 || queued.revisit;
        let state = self.enqueue(&host, (class, sequence, queued))?;
        if state.queued == 0 {
            // Rows in `Due` are filed by rising times: a pass over them begins behind those done.
            state.due = state.due.max(now);
        }
        state.queued += 1;
        match purpose {
            Purpose::Page => {
                state.depth = Some(state.depth.map_or(depth, |it| it.min(depth)));
            }
            Purpose::Sitemap { .. } if !is_again => {
                state.sitemaps = state.sitemaps.saturating_add(1);
            }
            _ => {}
        }
        let due = state.due;
        self.state.counters.queued += 1;
        let told = &mut self.receipt.queued;
        if told.last().is_none_or(|(last, _)| *last != host) {
            told.push((host, due));
        }
        Ok(())
    }

    /// Takes a URL out of its host's queue.
    pub(in crate::engine) fn leave_queue(
        &mut self,
        host: &HostKey,
        place: Place,
    ) -> Result<(), Error> {
        let key = keys::queue(host.as_str(), place.class, place.block.last);
        // A variant may have been taken from the queue while it was being visited.
        let removed = if self.host(host)?.learned_rules.swept {
            self.removed_of(&key, place.block.last)?
        } else {
            0
        };
        let state = self.host(host)?;
        state.raise_head(place);
        let left = state.leave(place.class, place.block, removed);
        if left != Leave::Gone {
            state.queued = state.queued.saturating_sub(1);
            self.state.counters.queued = self.state.counters.queued.saturating_sub(1);
            self.disk.left_queues += 1;
        }
        if left == Leave::Last {
            self.batch.delete(Table::Queue, key);
        }
        Ok(())
    }

    /// Which URLs were taken out of a block unvisited, a bit for each; all if there is no such
    /// block.
    fn removed_of(&self, key: &[u8], last: u64) -> Result<u64, Error> {
        if let Some(removed) = self.swept.get(key) {
            return Ok(*removed);
        }
        let row = self.store.get(Table::Queue, key)?;
        let block = row.map(|row| Block::decode(last, &row)).transpose()?;
        Ok(block.map_or(u64::MAX, |block| block.removed))
    }
}

/// Puts the URLs that enter a host's queue into blocks.
pub(super) fn put_queued(host: &HostKey, mut queued: Vec<QueuedRow>, batch: &mut Batch) {
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
pub(super) fn file_by_due_time(host: &HostKey, state: &mut HostState, batch: &mut Batch) {
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
