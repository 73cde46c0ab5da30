//! When memtables are sealed, which are then written to sorted files.
//!
//! The engine asks its thread for that, with each commit to a table whose memtable is full, in a
//! channel of a thousand messages. While this thread compacts, commits can fill the channel. It
//! reads from the channel, and puts one more message into it for each memtable that it seals; then
//! it waits for itself, and all commits wait for it (fjall 3.1, issue 257 and pull request 323
//! there). So the engine never takes the memtables of tables that are created here for full, and
//! they are sealed here. It still asks for those of older tables, of which a fence bounds how
//! often.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use fjall::{AbstractTree as _, Database, Keyspace, PersistMode};

use super::Table;

/// The least size of a memtable, in bytes, now and when older tables were created.
pub(super) const MIN_SIZE: u64 = 1 << 20;
/// The size at which the engine asks for the memtables of tables that are created here.
pub(super) const UNBOUNDED: u64 = u64::MAX;
/// How often the engine may ask before all that it asked before is done. Twice that, and the
/// messages for each sealed memtable, are much less than its channel has room for.
const MAX_ASKED: usize = 200;
/// Interval of looks at what the engine's thread has done.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// Number of these after which it is seen whether the engine can still write.
const POLLS: u32 = 1_000;

/// A table in the engine.
pub(super) struct Slot {
    pub(super) keyspace: Keyspace,
    /// Whether the engine may ask for its memtables to be sealed.
    pub(super) asks: bool,
    /// Set while its sorted files are merged by another thread than the engine's. No memtable is
    /// sealed here then, after which the engine's thread would merge files of the same table.
    is_merged: Mutex<bool>,
}

impl Slot {
    pub(super) fn new(keyspace: Keyspace, asks: bool) -> Self {
        Self {
            keyspace,
            asks,
            is_merged: Mutex::default(),
        }
    }

    pub(super) fn is_merged(&self) -> MutexGuard<'_, bool> {
        self.is_merged
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn size(&self) -> u64 {
        self.keyspace.tree.active_memtable().size()
    }

    pub(super) fn has_sealed(&self) -> bool {
        self.keyspace.tree.sealed_memtable_count() > 0
    }
}

/// The memtables of all tables.
pub(super) struct Memtables {
    /// Size beyond which one is sealed, in bytes.
    pub(super) size: u64,
    /// Bytes in all of them beyond which a commit waits.
    max: u64,
    fence: Mutex<Fence>,
}

/// How often the engine asked, as far as it may not have been answered.
#[derive(Default)]
struct Fence {
    /// Number of times since the fence was set, at most.
    asked: usize,
    /// A table that had no sealed memtable when one of it was sealed. When it has none again, all
    /// messages before that are done: the engine takes them in their order.
    set_by: Option<Table>,
}

impl Memtables {
    /// For memtables of this size, in bytes.
    pub(super) fn new(size: u64) -> Self {
        Self {
            size,
            max: 2 * size * Table::ALL.len() as u64,
            fence: Mutex::default(),
        }
    }

    /// After a commit to some tables: seals what is full, and waits while the memtables hold more
    /// than they should. A memtable may grow while the one before it is being written.
    pub(super) fn make_room(
        &self,
        database: &Database,
        slots: &[OnceLock<Slot>],
        written: &[Table],
    ) -> Result<(), fjall::Error> {
        self.keep_from_asking(database, slots, written)?;
        let slot = |table: &Table| slots[*table as usize].get();
        self.seal(written.iter().filter_map(slot))?;
        wait(database, || {
            if database.write_buffer_size() <= self.max {
                return Ok(true);
            }
            self.seal(slots.iter().filter_map(OnceLock::get))?;
            Ok(false)
        })
    }

    /// Seals what is full of some tables, unless something of the same table is being written or
    /// merged.
    fn seal<'s>(&self, slots: impl Iterator<Item = &'s Slot>) -> Result<(), fjall::Error> {
        for slot in slots {
            let is_merged = slot.is_merged();
            if slot.size() > self.size && !slot.has_sealed() && !*is_merged {
                slot.keyspace.rotate_memtable()?;
            }
        }
        Ok(())
    }

    /// Waits until the engine's thread has done some of what it was asked for, if that is much.
    fn keep_from_asking(
        &self,
        database: &Database,
        slots: &[OnceLock<Slot>],
        written: &[Table],
    ) -> Result<(), fjall::Error> {
        let asking = |table: &Table| {
            let slot = slots[*table as usize].get()?;
            (slot.asks && slot.size() > MIN_SIZE).then_some((*table, slot))
        };
        let asked = written.iter().filter_map(asking).count();
        if asked == 0 {
            return Ok(());
        }
        let mut fence = self.fence.lock().unwrap_or_else(PoisonError::into_inner);
        fence.asked += asked;
        if fence.asked < MAX_ASKED {
            return Ok(());
        }
        wait(database, || {
            let mut asking = Table::ALL.iter().filter_map(asking).peekable();
            // Nobody asks any more if all memtables are small.
            if asking.peek().is_none() {
                return Ok(true);
            }
            let set_by = fence.set_by.and_then(|table| slots[table as usize].get());
            let Some((table, slot)) = asking.find(|(_, slot)| !slot.has_sealed()) else {
                return Ok(false);
            };
            if set_by.is_some_and(Slot::has_sealed) || !slot.keyspace.rotate_memtable()? {
                return Ok(false);
            }
            *fence = Fence {
                asked: 0,
                set_by: Some(table),
            };
            Ok(true)
        })
    }
}

/// Waits until something is done, or nothing will be: if the engine cannot write any more, its next
/// commit says so.
pub(super) fn wait(
    database: &Database,
    mut is_done: impl FnMut() -> Result<bool, fjall::Error>,
) -> Result<(), fjall::Error> {
    let mut polls = 0_u32;
    while !is_done()? {
        polls += 1;
        if polls.is_multiple_of(POLLS) && database.persist(PersistMode::Buffer).is_err() {
            break;
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}
