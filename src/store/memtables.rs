//! When memtables are sealed, which are then written to sorted files.
//!
//! The engine asks its thread for that, with each commit to a table whose memtable is full, in a
//! channel of a thousand messages. While this thread compacts, commits can fill the channel. It
//! reads from the channel, and puts one more message into it for each memtable that it seals; then
//! it waits for itself, and all commits wait for it (fjall 3.1, issue 257 and pull request 323
//! there). So the engine never takes the memtables of tables that are created here for full, and
//! they are sealed here. It still asks for those of older tables, of which a fence bounds how
//! often.
//!
//! For each sorted file that it writes, the engine also syncs the journal while no commit can be
//! written to it, and then the list of the table's files while nobody can read or write that table.
//! So memtables grow with their tables: as long as a table is small, they take little memory, and a
//! large one stops fewer commits.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use fjall::{AbstractTree as _, Database, Keyspace, PersistMode};

use super::Table;

/// The least size of a memtable, in bytes, now and when older tables were created.
pub(super) const MIN_SIZE: u64 = 1 << 20;
/// How many times as large as its memtable a table is, if that is larger than the least size.
const SHARE: u64 = 32;
/// Bytes of commits during which a memtable may be beyond the least size: each start reads the
/// journals that have rows of memtables.
const MAX_JOURNALED: u64 = 32 << 20;
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
    growth: Mutex<Growth>,
}

/// How far a memtable may grow beyond the least size.
struct Growth {
    /// Number of the memtable that this is about.
    memtable: u64,
    /// Its size at most.
    size: u64,
    /// Number of bytes of all commits until when.
    until: u64,
}

impl Slot {
    pub(super) fn new(keyspace: Keyspace, asks: bool) -> Self {
        Self {
            // What a start read from the journals does not grow further.
            growth: Mutex::new(Growth {
                memtable: keyspace.tree.active_memtable().id(),
                size: 0,
                until: 0,
            }),
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

    pub(super) fn size(&self) -> u64 {
        self.keyspace.tree.active_memtable().size()
    }

    pub(super) fn has_sealed(&self) -> bool {
        self.keyspace.tree.sealed_memtable_count() > 0
    }

    /// Whether nothing of the table is being written or merged.
    pub(super) fn is_idle(&self) -> bool {
        !self.has_sealed() && !*self.is_merged()
    }
}

/// The memtables of all tables.
pub(super) struct Memtables {
    /// Size beyond which one may be sealed, in bytes.
    pub(super) size: u64,
    /// [`SHARE`], but for tests.
    pub(super) share: u64,
    /// Bytes in all of them beyond which the largest is sealed, without those that are being
    /// written.
    total: u64,
    /// Bytes of all commits.
    journaled: AtomicU64,
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
    /// For memtables of this size as long as their tables are small, and of this size in all, both
    /// in bytes.
    pub(super) fn new(size: u64, total: u64) -> Self {
        Self {
            size,
            share: SHARE,
            total,
            journaled: AtomicU64::default(),
            fence: Mutex::default(),
        }
    }

    /// Bytes in all of them, also those that are being written, beyond which a commit waits. If no
    /// memtable is beyond the least size, there are less.
    pub(super) fn max(&self) -> u64 {
        2 * self.size * Table::ALL.len() as u64
    }

    /// After a commit of some bytes to some tables: seals what is full, and waits while the
    /// memtables hold more than they should. A memtable may grow while the one before it is being
    /// written.
    pub(super) fn make_room(
        &self,
        database: &Database,
        slots: &[OnceLock<Slot>],
        written: &[Table],
        bytes: u64,
    ) -> Result<(), fjall::Error> {
        self.keep_from_asking(database, slots, written)?;
        self.journaled.fetch_add(bytes, Ordering::Relaxed);
        for slot in written.iter().filter_map(|it| slots[*it as usize].get()) {
            if slot.size() > self.size && !self.may_grow(slot) {
                self.seal(slot)?;
            }
        }
        let all = || slots.iter().filter_map(OnceLock::get);
        let idle = || all().filter(|slot| slot.is_idle());
        if database.write_buffer_size() > self.total
            && all().map(Slot::size).sum::<u64>() > self.total
            && let Some(largest) = idle().max_by_key(|slot| slot.size())
        {
            self.seal(largest)?;
        }
        wait(database, || {
            if database.write_buffer_size() <= self.max() {
                return Ok(true);
            }
            all().try_for_each(|slot| self.seal(slot))?;
            Ok(false)
        })
    }

    /// Whether a memtable beyond the least size is small beside its table, and young.
    fn may_grow(&self, slot: &Slot) -> bool {
        // The engine would ask with each commit.
        if slot.asks {
            return false;
        }
        let memtable = slot.keyspace.tree.active_memtable();
        let journaled = self.journaled.load(Ordering::Relaxed);
        let mut growth = slot.growth.lock().unwrap_or_else(PoisonError::into_inner);
        // The engine seals some by itself, for the sake of its journals.
        if growth.memtable != memtable.id() {
            *growth = Growth {
                memtable: memtable.id(),
                size: slot.keyspace.disk_space() / self.share,
                until: journaled + MAX_JOURNALED,
            };
        }
        memtable.size() < growth.size && journaled < growth.until
    }

    /// Seals a memtable that is beyond the least size, unless something of the same table is being
    /// written or merged.
    fn seal(&self, slot: &Slot) -> Result<(), fjall::Error> {
        let is_merged = slot.is_merged();
        if slot.size() > self.size && !slot.has_sealed() && !*is_merged {
            slot.keyspace.rotate_memtable()?;
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
