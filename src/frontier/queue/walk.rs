//! Walks over the URLs that wait in the queue of one host.

use super::block::Block;
use super::host::HostState;
use super::place::{CLASSES, InBlock};
use super::task::QueuedUrl;
use crate::store::{Result, Store, Table, keys};
use crate::url::HostKey;

/// Whether to continue after a URL.
pub type GoOn = bool;

/// Receives each waiting URL: its class, its sequence, its position and its row.
pub type VisitWaiting<'a> = dyn FnMut(u8, u64, InBlock, QueuedUrl) -> Result<GoOn> + 'a;

/// Visits the URLs that wait at a host, in the order in which they will be fetched.
pub fn for_each_waiting(
    store: &dyn Store,
    host: &HostKey,
    state: &HostState,
    visit: &mut VisitWaiting<'_>,
) -> Result<()> {
    /// Number of blocks read at once.
    const CHUNK: usize = 100;
    for class in 0..CLASSES {
        let prefix = keys::queue_class(host.as_str(), class);
        let from = keys::queue(host.as_str(), class, state.head(class));
        if !walk(store, state, (&prefix, from), CHUNK, visit)? {
            break;
        }
    }
    Ok(())
}

/// Visits the URLs that wait in the blocks under a prefix, starting at a key and reading `chunk`
/// blocks at once. Returns false if `visit` stopped the walk.
pub(super) fn walk(
    store: &dyn Store,
    state: &HostState,
    (prefix, mut from): (&[u8], Vec<u8>),
    chunk: usize,
    visit: &mut VisitWaiting<'_>,
) -> Result<GoOn> {
    loop {
        let rows = store.range(Table::Queue, prefix, &from, chunk)?;
        for (key, row) in &rows {
            let Some((class, last, block)) = Block::of_row(key, row)? else {
                continue;
            };
            for (sequence, place, queued) in block.waiting(last, state.gone(class, last)) {
                if !visit(class, sequence, place, queued)? {
                    return Ok(false);
                }
            }
        }
        match rows.last() {
            Some((last, _)) if rows.len() == chunk => from = [last, &[0][..]].concat(),
            _ => return Ok(true),
        }
    }
}
