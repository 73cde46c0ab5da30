//! Which visits are committed together: what arrived while the last group was being committed, and
//! what is being read meanwhile.

use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use super::turns::Turns;
use crate::engine::visit::Entry;

/// Maximum number of visits that share one sync. Larger groups gain nothing and take more memory.
const MAX_GROUP: usize = 32;
/// How long a commit waits for visits that are being read. Syncing takes about as long on a disk
/// that is busy, and each commit syncs and writes rows of hosts and sites, however many visits it
/// has.
const LINGER: Duration = Duration::from_millis(20);

/// The same for anything, where a commit goes through the log of an engine: there it is a message,
/// written and synced by several servers, and a commit in each copy. Longer waits make more
/// messages a page, not fewer: what is sent by time is sent for longer (docs/performance.md).
const LINGER_SHARED: Duration = Duration::from_millis(10);

/// Returns what is committed together with an entry: what is there, and what is about to come.
/// `is_shared` says whether commits go through a log.
pub(crate) fn gather(
    first: Entry,
    entries: &Receiver<Entry>,
    turns: &Turns,
    is_shared: bool,
) -> Vec<Entry> {
    let linger = if is_shared { LINGER_SHARED } else { LINGER };
    let patience = Instant::now() + linger;
    let mut group = Vec::new();
    let mut next = Some(first);
    while let Some(mut entry) = next {
        if let Entry::Visit(visit) = &mut entry {
            visit.fetched.turn.arrive();
        }
        group.push(entry);
        if group.len() == MAX_GROUP {
            break;
        }
        next = match entries.try_recv() {
            Err(TryRecvError::Empty) if is_shared || turns.reading() > 0 => {
                let left = patience.saturating_duration_since(Instant::now());
                entries.recv_timeout(left).ok()
            }
            next => next.ok(),
        };
    }
    group
}
