//! Queues as a group changes them: a URL enters the queue of its host, or leaves it.
//!
//! What a commit queues for one host and class is one row, a block. The host's row says which URLs
//! of a block have left, and the host is in `Due` by the time of its next visit.

use super::write_set::WriteSet;
use crate::engine::Error;
use crate::frontier::{Block, Leave, Place, Purpose, QueuedUrl};
use crate::store::{Table, keys};
use crate::url::HostKey;

impl WriteSet {
    /// Queues a URL at its host, in the class of its depth or expectation.
    pub(crate) fn queue(&mut self, queued: QueuedUrl, host: HostKey) -> Result<(), Error> {
        self.queue_in(queued.class(), queued, host)
    }

    /// Queues a URL in one class of its host's queue.
    pub(crate) fn queue_in(
        &mut self,
        class: u8,
        queued: QueuedUrl,
        host: HostKey,
    ) -> Result<(), Error> {
        self.state.queue_sequence += 1;
        let (now, sequence) = (self.now, self.state.queue_sequence);
        let (depth, purpose) = (queued.depth, queued.purpose);
        let state = self.enqueue(&host, (class, sequence, queued))?;
        if state.queued == 0 {
            // Rows in `Due` are filed by rising times, because a pass over them begins behind those
            // done.
            state.due = state.due.max(now);
        }
        state.queued += 1;
        if purpose == Purpose::Page {
            state.depth = Some(state.depth.map_or(depth, |it| it.min(depth)));
        }
        let due = state.due;
        self.state.counters.queued += 1;
        let told = &mut self.receipt.queued;
        if told.last().is_none_or(|(last, _)| *last != host) {
            told.push((host, due));
        }
        Ok(())
    }

    /// Removes a URL from its host's queue.
    pub(crate) fn leave_queue(&mut self, host: &HostKey, place: Place) -> Result<(), Error> {
        let key = keys::queue(host.as_str(), place.class, place.block.last);
        // A suspect may have been removed from the queue while it was being visited.
        let removed = if self.host(host)?.suspicions.swept {
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

    /// Returns which URLs of a block were removed unvisited, one bit each; all bits if there is no
    /// such block.
    fn removed_of(&self, key: &[u8], last: u64) -> Result<u64, Error> {
        if let Some(removed) = self.swept.get(key) {
            return Ok(*removed);
        }
        let row = self.store.get(Table::Queue, key)?;
        let block = row.map(|row| Block::decode(last, &row)).transpose()?;
        Ok(block.map_or(u64::MAX, |block| block.removed))
    }
}
