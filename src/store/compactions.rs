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

use fjall::compaction::Leveled;
use fjall::{AbstractTree as _, AnyTree, Database};

use super::Table;
use super::memtables::{Slot, wait};

/// Number of sorted files in the first level of a table from which they are merged here. The engine
/// merges them from four on, if it makes a compaction.
const BEHIND: usize = 8;
/// Number from which merging goes on, once it has begun.
const STILL_BEHIND: usize = 4;
/// Number from which commits wait here. The engine delays them from 20 on.
pub(super) const MAX: usize = 16;
/// Between two rounds of compactions, if the last one did something, and at most: the engine's
/// thread may be at work on the same tables, and then nothing is done.
const PAUSES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(128)];

/// The thread that merges, if one is needed.
#[derive(Default)]
pub(super) struct Compactions {
    thread: Mutex<Option<JoinHandle<Result<(), fjall::Error>>>>,
    is_over: Arc<AtomicBool>,
    /// Set once the thread has failed. What it was merging is not merged any more.
    has_failed: AtomicBool,
}

impl Compactions {
    /// After a commit to some tables: sees to it that their sorted files are merged, and waits
    /// while there are too many. Others are not looked at: what the engine writes keeps out who
    /// looks.
    pub(super) fn keep_up(
        &self,
        database: &Database,
        slots: &Arc<[OnceLock<Slot>]>,
        written: &[Table],
    ) -> Result<(), fjall::Error> {
        let slots_of = || written.iter().map(|it| &slots[*it as usize]);
        wait(database, || {
            let most = most(slots_of());
            if most >= BEHIND {
                self.start(database, slots)?;
            }
            Ok(most < MAX)
        })
    }

    /// Starts the thread, unless it is at work. If it has failed, so does this.
    fn start(
        &self,
        database: &Database,
        slots: &Arc<[OnceLock<Slot>]>,
    ) -> Result<(), fjall::Error> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return Ok(());
        }
        if self.has_failed.load(Ordering::Relaxed) {
            return Err(fjall::Error::Poisoned);
        }
        // A panic was reported when it happened.
        let ended = thread.take().map_or(Ok(Ok(())), JoinHandle::join);
        let ended = ended.unwrap_or(Err(fjall::Error::Poisoned));
        self.has_failed.store(ended.is_err(), Ordering::Relaxed);
        ended?;
        let (database, slots) = (database.clone(), Arc::clone(slots));
        let is_over = Arc::clone(&self.is_over);
        let builder = thread::Builder::new().name("store-merge".to_owned());
        match builder.spawn(move || merge(&database, &slots, &is_over)) {
            Ok(started) => *thread = Some(started),
            // The next commit tries it again.
            Err(error) => {
                tracing::warn!(%error, "cannot start the thread that merges files of the store");
            }
        }
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

/// Number of sorted files in the first level of a table, of which each may hold any key.
fn files(slot: &Slot) -> usize {
    slot.keyspace.tree.l0_run_count()
}

/// The largest of these numbers.
fn most<'s>(slots: impl IntoIterator<Item = &'s OnceLock<Slot>>) -> usize {
    let slots = slots.into_iter().filter_map(OnceLock::get);
    slots.map(files).max().unwrap_or(0)
}

/// Makes compactions until no table has too many files in its first level.
fn merge(
    database: &Database,
    slots: &[OnceLock<Slot>],
    is_over: &AtomicBool,
) -> Result<(), fjall::Error> {
    let [least, longest] = PAUSES;
    let mut pause = least;
    while most(slots) >= STILL_BEHIND {
        let mut was_idle = true;
        for slot in slots.iter().filter_map(OnceLock::get) {
            if is_over.load(Ordering::Relaxed) {
                return Ok(());
            }
            was_idle &= files(slot) < STILL_BEHIND || !merge_once(database, slot, is_over)?;
        }
        pause = if was_idle {
            (2 * pause).min(longest)
        } else {
            least
        };
        thread::sleep(pause);
    }
    Ok(())
}

/// A table while it is merged here.
struct Merged<'s>(&'s Slot);

impl<'s> Merged<'s> {
    fn new(slot: &'s Slot) -> Self {
        *slot.is_merged() = true;
        Self(slot)
    }
}

impl Drop for Merged<'_> {
    fn drop(&mut self) {
        *self.0.is_merged() = false;
    }
}

/// Makes a compaction of a table when the engine's thread makes none of it: files that one thread
/// moves between levels could come to lie where the other one is writing. One of the engine's
/// compactions may begin meanwhile and no second one, for which it would have to write a memtable
/// first. Returns whether anything has changed.
fn merge_once(
    database: &Database,
    slot: &Slot,
    is_over: &AtomicBool,
) -> Result<bool, fjall::Error> {
    let AnyTree::Standard(tree) = &slot.keyspace.tree else {
        return Ok(false);
    };
    let _merged = Merged::new(slot);
    let is_free = || !slot.has_sealed() && !tree.is_compacting();
    wait(
        database,
        || Ok(is_over.load(Ordering::Relaxed) || is_free()),
    )?;
    if !is_free() {
        return Ok(false);
    }
    let before = tree.current_version().id();
    let has_changed = || tree.current_version().id() != before;
    // What no reader can see any more is dropped, as by the engine's thread.
    let seen_by_all = || database.supervisor.snapshot_tracker.get_seqno_safe_to_gc();
    let strategy = Arc::clone(&slot.keyspace.config.compaction_strategy);
    tree.compact(strategy, seen_by_all())?;
    if !has_changed() && !tree.is_compacting() {
        // A level with too much in it, which finds nothing to merge with, stands before the first
        // one. Where files may be larger, none has too much.
        tree.compact(Arc::new(Leveled::default()), seen_by_all())?;
    }
    Ok(has_changed())
}
