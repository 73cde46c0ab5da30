//! Filters that a thread completes while the crawl goes on: to note a hundred million keys takes
//! the better part of a minute, and a start that waited for it would fetch nothing meanwhile.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use super::filters::Filters;
use crate::runs::KeysSince;

/// Keys between two looks at whether the filters are still wanted: about two milliseconds.
const LOOK: usize = 4_096;

/// A thread that notes keys in filters, and what it has to be told once it is done. Dropped, it has
/// the thread stop soon, and does not wait for it: the thread only reads.
pub(super) struct Filling {
    /// `None` once its filters were taken.
    thread: Option<JoinHandle<Option<Filters>>>,
    shared: Arc<Shared>,
    /// Keys that came after those that the thread notes.
    later: Vec<u64>,
}

struct Shared {
    is_unwanted: AtomicBool,
    /// Bytes of filters, and of the copy of keys that were in memory.
    bytes: AtomicU64,
}

impl Filling {
    /// Has `keys` noted in `filters`, after `first` was done in the thread.
    pub(super) fn start(
        mut filters: Filters,
        keys: KeysSince,
        first: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let held = keys.memory_bytes();
        let shared = Arc::new(Shared {
            is_unwanted: AtomicBool::new(false),
            bytes: AtomicU64::new(filters.bytes() + held),
        });
        let told = Arc::clone(&shared);
        let note_all = move || {
            first();
            for (n, key) in keys.iter().enumerate() {
                if n % LOOK == 0 {
                    if told.is_unwanted.load(Ordering::Relaxed) {
                        return None;
                    }
                    told.bytes.store(filters.bytes() + held, Ordering::Relaxed);
                }
                filters.note(key);
            }
            Some(filters)
        };
        let thread = thread::Builder::new()
            .name("filter-fill".to_owned())
            .spawn(note_all)?;
        Ok(Self {
            thread: Some(thread),
            shared,
            later: Vec::new(),
        })
    }

    /// Remembers a key that came later.
    pub(super) fn note_later(&mut self, key: u64) {
        self.later.push(key);
    }

    /// Whether [`take`](Self::take) would not have to wait.
    pub(super) fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the thread; the filters, which have all keys that came meanwhile too, or none if
    /// the thread panicked.
    pub(super) fn take(&mut self) -> Option<Filters> {
        let mut filters = self.thread.take()?.join().ok().flatten()?;
        self.later.drain(..).for_each(|key| filters.note(key));
        Some(filters)
    }

    /// Bytes held in memory, those of the thread included.
    pub(super) fn bytes(&self) -> u64 {
        let later = self.later.capacity() * size_of::<u64>();
        self.shared.bytes.load(Ordering::Relaxed) + later as u64
    }
}

impl Drop for Filling {
    fn drop(&mut self) {
        self.shared.is_unwanted.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::runs::{Catalog, Options};

    #[test]
    fn a_thread_that_is_no_longer_wanted_stops() {
        let directory = tempfile::tempdir().unwrap();
        let structures = [("seen", Options::default())];
        let (mut catalog, _) = Catalog::open(directory.path(), &structures).unwrap();
        catalog[0].insert(1, 0);
        let (release, held) = mpsc::channel::<()>();
        let keys = catalog[0].keys_since(0);
        let first = move || held.recv().unwrap();
        let mut filling = Filling::start(Filters::new(1), keys, first).unwrap();
        let thread = filling.thread.take().unwrap();
        drop(filling);
        release.send(()).unwrap();
        assert!(thread.join().unwrap().is_none());
    }
}
