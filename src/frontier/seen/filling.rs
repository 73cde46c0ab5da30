//! Bloom filters that a thread fills while the crawl goes on. To add a hundred million keys takes
//! most of a minute, and a start that waited for it would fetch nothing meanwhile.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use super::filters::Filters;
use crate::runs::KeysSince;

/// Number of keys, about two milliseconds' worth, after which the thread checks whether the filters
/// are still wanted.
const LOOK: usize = 4_096;

/// A thread that adds keys to filters, and the keys to add when it is done. Dropping this stops the
/// thread soon without waiting for it, because the thread only reads.
pub(super) struct Filling {
    /// `None` once the filters were taken.
    thread: Option<JoinHandle<Option<Filters>>>,
    shared: Arc<Progress>,
    /// Keys that arrived after those that the thread adds.
    later: Vec<u64>,
}

struct Progress {
    is_unwanted: AtomicBool,
    /// Bytes of the filters and of the copy of the keys that were in memory.
    bytes: AtomicU64,
}

impl Filling {
    /// Starts a thread that runs `first` and then adds `keys` to `filters`.
    pub(super) fn start(
        mut filters: Filters,
        keys: KeysSince,
        first: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let held = keys.memory_bytes();
        let shared = Arc::new(Progress {
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

    /// Remembers a key that arrived later.
    pub(super) fn note_later(&mut self, key: u64) {
        self.later.push(key);
    }

    /// Whether [`take`](Self::take) would return without waiting.
    pub(super) fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the thread and returns the filters with all keys, including those that arrived
    /// meanwhile; `None` if the thread panicked.
    pub(super) fn take(&mut self) -> Option<Filters> {
        let mut filters = self.thread.take()?.join().ok().flatten()?;
        self.later.drain(..).for_each(|key| filters.note(key));
        Some(filters)
    }

    /// Bytes of memory used, including those of the thread.
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
        let mut filling = Filling::start(Filters::new(1, 0), keys, first).unwrap();
        let thread = filling.thread.take().unwrap();
        drop(filling);
        release.send(()).unwrap();
        assert!(thread.join().unwrap().is_none());
    }
}
