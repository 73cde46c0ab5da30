//! When memtables are sealed, which are then written to sorted files.
//!
//! The engine asks its thread for that, with each commit to a table whose memtable is full, in a
//! channel of a thousand messages. While this thread compacts, commits can fill the channel. It
//! reads from the channel, and puts one more message into it for each memtable that it seals; then
//! it waits for itself, and all commits wait for it (fjall 3.1, issue 257 and pull request 323
//! there). So the engine never takes the memtables of tables that are created here for full, and
//! they are sealed here. It still asks for those of older tables, of which a fence bounds how
//! often.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use fjall::{AbstractTree as _, Database, Keyspace};

use super::Table;

/// The least size of a memtable, in bytes, now and when older tables were created.
pub(super) const MIN_SIZE: u64 = 1 << 20;
/// The size at which the engine asks for the memtables of tables that are created here.
pub(super) const UNBOUNDED: u64 = u64::MAX;
/// How often the engine may ask before all that it asked before is done. Twice that, and two
/// messages for each sealed memtable, are less than its channel has room for.
const MAX_ASKED: usize = 300;
/// Interval of looks at what the engine's thread has done.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// Maximum wait for that thread. If it died, the next commit says so.
const MAX_WAIT: Duration = Duration::from_mins(1);

/// A table in the engine.
pub(super) struct Slot {
    pub(super) keyspace: Keyspace,
    /// Whether the engine may ask for its memtables to be sealed.
    pub(super) asks: bool,
}

impl Slot {
    fn size(&self) -> u64 {
        self.keyspace.tree.active_memtable().size()
    }

    fn has_sealed(&self) -> bool {
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
        self.keep_from_asking(slots, written)?;
        let start = Instant::now();
        loop {
            for slot in slots.iter().filter_map(OnceLock::get) {
                if slot.size() > self.size && !slot.has_sealed() {
                    slot.keyspace.rotate_memtable()?;
                }
            }
            if database.write_buffer_size() <= self.max || start.elapsed() >= MAX_WAIT {
                return Ok(());
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Waits until the engine's thread has done some of what it was asked for, if that is much.
    fn keep_from_asking(
        &self,
        slots: &[OnceLock<Slot>],
        written: &[Table],
    ) -> Result<(), fjall::Error> {
        let slot = |table: Table| slots[table as usize].get();
        let may_ask =
            |table: &Table| slot(*table).is_some_and(|it| it.asks && it.size() > MIN_SIZE);
        let asked = written.iter().filter(|table| may_ask(table)).count();
        if asked == 0 {
            return Ok(());
        }
        let mut fence = self.fence.lock().unwrap_or_else(PoisonError::into_inner);
        fence.asked += asked;
        if fence.asked < MAX_ASKED {
            return Ok(());
        }
        let start = Instant::now();
        while start.elapsed() < MAX_WAIT {
            let is_behind = fence.set_by.and_then(slot).is_some_and(Slot::has_sealed);
            // Nobody asks any more if all memtables are small.
            let mut full = Table::ALL.iter().filter(|table| may_ask(table)).peekable();
            if full.peek().is_none() {
                break;
            }
            let free = full.find(|table| slot(**table).is_some_and(|it| !it.has_sealed()));
            if let (false, Some(table)) = (is_behind, free)
                && let Some(slot) = slot(*table)
                && slot.keyspace.rotate_memtable()?
            {
                *fence = Fence {
                    asked: 0,
                    set_by: Some(*table),
                };
                break;
            }
            thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }
}
