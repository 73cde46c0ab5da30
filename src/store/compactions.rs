//! Merges sorted files where the engine's thread does not keep up with them.
//!
//! That thread makes one compaction for each memtable that it has written. Where a table has
//! several levels, a memtable takes more than one, so sorted files pile up in the first level. From
//! 30 of them on, a commit waits in the engine until there are fewer; but the engine makes no
//! further compaction before there is another memtable, and so all commits wait for ever (fjall
//! 3.1, `check_write_halt`). Here another thread merges what has piled up, and a commit waits for
//! that, long before.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fjall::{AbstractTree as _, Database, Keyspace};

use super::memtables::{Slot, wait};

/// Number of sorted files in the first level of a table from which they are merged here. The engine
/// merges them from four on, if it makes a compaction.
const BEHIND: usize = 8;
/// Number from which merging goes on, once it has begun.
const STILL_BEHIND: usize = 4;
/// Number from which commits wait here. The engine delays them from 20 on.
pub(super) const MAX: usize = 16;
/// Between two compactions: the engine's thread may be merging the same files, and then there is
/// nothing to do.
const PAUSE: Duration = Duration::from_millis(1);

/// The thread that merges, if one is needed.
#[derive(Default)]
pub(super) struct Compactions {
    thread: Mutex<Option<JoinHandle<Result<(), fjall::Error>>>>,
    is_over: Arc<AtomicBool>,
}

impl Compactions {
    /// After a commit: sees to it that sorted files are merged, and waits while there are too many.
    pub(super) fn keep_up(
        &self,
        database: &Database,
        slots: &[OnceLock<Slot>],
    ) -> Result<(), fjall::Error> {
        wait(database, || {
            let most = most(slots);
            if most >= BEHIND {
                self.start(database, slots)?;
            }
            Ok(most < MAX)
        })
    }

    /// Starts the thread, unless it is at work. If it has failed, so does this.
    fn start(&self, database: &Database, slots: &[OnceLock<Slot>]) -> Result<(), fjall::Error> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return Ok(());
        }
        match thread.take().map(JoinHandle::join) {
            None => {}
            Some(Ok(ended)) => ended?,
            // A panic was reported when it happened.
            Some(Err(_)) => return Err(fjall::Error::Poisoned),
        }
        let slots = slots.iter().filter_map(OnceLock::get);
        let keyspaces: Vec<Keyspace> = slots.map(|slot| slot.keyspace.clone()).collect();
        let (database, is_over) = (database.clone(), Arc::clone(&self.is_over));
        let builder = thread::Builder::new().name("store-merge".to_owned());
        let started = builder.spawn(move || merge(&database, &keyspaces, &is_over))?;
        *thread = Some(started);
        Ok(())
    }

    /// Ends the thread, once its compaction is done.
    pub(super) fn end(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let thread = self.thread.get_mut();
        let thread = thread.unwrap_or_else(PoisonError::into_inner).take();
        // A panic was reported when it happened, and an error changes nothing any more.
        let _ = thread.map(JoinHandle::join);
    }
}

/// The largest number of sorted files in the first level of a table.
fn most(slots: &[OnceLock<Slot>]) -> usize {
    let slots = slots.iter().filter_map(OnceLock::get);
    let counts = slots.map(|slot| slot.keyspace.tree.l0_run_count());
    counts.max().unwrap_or(0)
}

/// Makes compactions until no table has too many files in its first level.
fn merge(
    database: &Database,
    keyspaces: &[Keyspace],
    is_over: &AtomicBool,
) -> Result<(), fjall::Error> {
    let is_behind = |it: &&Keyspace| it.tree.l0_run_count() >= STILL_BEHIND;
    let furthest_behind = || {
        let behind = keyspaces.iter().filter(is_behind);
        behind.max_by_key(|it| it.tree.l0_run_count())
    };
    while !is_over.load(Ordering::Relaxed)
        && let Some(keyspace) = furthest_behind()
    {
        // What no reader can see any more is dropped, as by the engine's thread.
        let seen_by_all = database.supervisor.snapshot_tracker.get_seqno_safe_to_gc();
        let strategy = Arc::clone(&keyspace.config.compaction_strategy);
        keyspace.tree.compact(strategy, seen_by_all)?;
        thread::sleep(PAUSE);
    }
    Ok(())
}
