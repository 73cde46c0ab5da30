//! Records are compressed ahead of their append, while the visits that follow are judged: by
//! threads of the archive's own, and by whoever appends, for what they have not begun.
//!
//! What comes of it is what compressing at the append gives. A record that is not appended after
//! all, or to another file than was thought, was compressed in vain.

use std::collections::VecDeque;
use std::mem;
use std::num::NonZeroUsize;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::member::{Encoder, Name};
use super::record::Record;

/// Sizes of blocks, in bytes, that are compressed ahead. Less is done at once; more is left to the
/// append, so that what waits is bounded.
const LEAST_BYTES: u64 = 2 * 1024;
const MOST_BYTES: u64 = 1024 * 1024;

/// Maximum number of records under way: some more than a group has responses.
const MAX_RECORDS: usize = 64;

/// More threads than this are not needed: judging takes about as long as compressing.
const MAX_THREADS: usize = 3;

/// Takes records that will be appended soon. Clones take them for the same archive.
#[derive(Clone)]
pub struct Ahead(Arc<Shared>);

struct Shared {
    desk: Mutex<Desk>,
    changed: Condvar,
    level: u32,
    threads: usize,
}

/// What is to be compressed, and what is done.
#[derive(Default)]
struct Desk {
    /// What the headers of the next records name; unknown before the first append.
    name: Option<Name>,
    waiting: VecDeque<Record>,
    working: usize,
    done: Vec<(Record, Vec<u8>)>,
    /// Rises when what was begun is not wanted any more.
    round: u64,
    is_over: bool,
    threads: Vec<JoinHandle<()>>,
}

impl Ahead {
    /// Gives a record that is likely to be appended next, after those that were begun before it.
    pub(crate) fn begin(&self, record: &Record) {
        let mut desk = self.0.desk();
        let is_meant = (LEAST_BYTES..=MOST_BYTES).contains(&record.block_length());
        let count = desk.waiting.len() + desk.working + desk.done.len();
        if !is_meant || desk.name.is_none() || count >= MAX_RECORDS {
            return;
        }
        if desk.threads.is_empty() {
            // One that cannot be started is not needed: whoever appends takes its records.
            let threads = (0..self.0.threads).filter_map(|_| {
                let shared = Arc::clone(&self.0);
                let named = thread::Builder::new().name("archive".to_owned());
                named.spawn(move || shared.work()).ok()
            });
            desk.threads = threads.collect();
        }
        desk.waiting.push_back(record.clone());
        drop(desk);
        self.0.changed.notify_one();
    }

    /// Forgets all records that were begun.
    pub(crate) fn forget(&self) {
        self.0.desk().forget();
    }
}

/// The same, of the archive that owns it: its threads end with it.
pub(super) struct OwnAhead(Option<Ahead>);

impl OwnAhead {
    /// Prepares threads for the other processors, if there are any; they start when they are
    /// needed.
    pub(super) fn new(level: u32) -> Self {
        let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self::with_threads(level, (processors - 1).min(MAX_THREADS))
    }

    pub(super) fn with_threads(level: u32, threads: usize) -> Self {
        let shared = || Shared {
            desk: Mutex::default(),
            changed: Condvar::new(),
            level,
            threads,
        };
        Self((threads > 0).then(|| Ahead(Arc::new(shared()))))
    }

    pub(super) fn handle(&self) -> Option<Ahead> {
        self.0.clone()
    }

    /// Returns the members of the records that were begun, once they are done; `own` does what
    /// nobody has begun. From now on headers are thought to have this name.
    pub(super) fn take(&self, name: Name, own: &mut Encoder) -> Vec<(Record, Vec<u8>)> {
        let Some(Ahead(shared)) = &self.0 else {
            return Vec::new();
        };
        let mut desk = shared.desk();
        if desk.name.replace(name) != Some(name) {
            desk.forget();
        }
        loop {
            if let Some(record) = desk.waiting.pop_front() {
                drop(desk);
                let member = own.member(&record, name);
                desk = shared.desk();
                // What failed is tried again by the append, which says why.
                desk.done.extend(member.ok().map(|it| (record, it)));
            } else if desk.working > 0 {
                let waited = shared.changed.wait(desk);
                desk = waited.unwrap_or_else(PoisonError::into_inner);
            } else {
                let done = mem::take(&mut desk.done);
                desk.forget();
                return done;
            }
        }
    }
}

impl Drop for OwnAhead {
    fn drop(&mut self) {
        let Some(Ahead(shared)) = &self.0 else {
            return;
        };
        let mut desk = shared.desk();
        desk.forget();
        desk.is_over = true;
        let threads = mem::take(&mut desk.threads);
        drop(desk);
        shared.changed.notify_all();
        for thread in threads {
            // It has told of a panic itself.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compresses what waits until the archive is dropped.
    fn work(&self) {
        let mut encoder = Encoder::new(self.level);
        let mut desk = self.desk();
        while !desk.is_over {
            let (Some(record), Some(name)) = (desk.waiting.pop_front(), desk.name) else {
                let waited = self.changed.wait(desk);
                desk = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            desk.working += 1;
            let round = desk.round;
            drop(desk);
            let working = Working(self);
            let member = encoder.member(&record, name);
            desk = self.desk();
            if desk.round == round {
                desk.done.extend(member.ok().map(|it| (record, it)));
            }
            drop(desk);
            drop(working);
            desk = self.desk();
        }
    }
}

/// A thread that compresses a record. When it has ended, by a panic too, nobody waits for it.
struct Working<'a>(&'a Shared);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.desk().working -= 1;
        self.0.changed.notify_all();
    }
}

impl Desk {
    fn forget(&mut self) {
        self.round += 1;
        self.waiting.clear();
        self.done.clear();
    }
}
