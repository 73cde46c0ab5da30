//! The memory that pages take between their analysis and their commit. A page of a few kilobytes
//! can have links of many megabytes, so what waits for the committer is bounded by bytes, too.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// The bytes that pages may take together. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Room {
    total: usize,
    taken: Arc<(Mutex<Taken>, Condvar)>,
}

#[derive(Debug, Default)]
struct Taken {
    bytes: usize,
    /// Number of pages that wait. A call that wakes nobody would be made for each page.
    waiting: usize,
}

/// The bytes of one page; given back when dropped.
#[derive(Debug, Default)]
pub struct Share(Option<(Room, usize)>);

impl Room {
    pub(crate) fn new(total: usize) -> Self {
        Self {
            total,
            taken: Arc::default(),
        }
    }

    /// Waits until a page of this size fits. A page that is larger than all of it fits alone.
    pub(crate) fn take(&self, bytes: usize) -> Share {
        let (taken, changed) = &*self.taken;
        let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever has a share waits for nobody but the committer, so each is given back.
        while taken.bytes > 0 && taken.bytes + bytes > self.total {
            taken.waiting += 1;
            taken = changed.wait(taken).unwrap_or_else(PoisonError::into_inner);
            taken.waiting -= 1;
        }
        taken.bytes += bytes;
        Share(Some((self.clone(), bytes)))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if let Some((room, bytes)) = self.0.take() {
            let (taken, changed) = &*room.taken;
            let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
            taken.bytes -= bytes;
            if taken.waiting > 0 {
                changed.notify_all();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;

    #[test]
    fn what_does_not_fit_waits_and_what_never_fits_goes_alone() {
        let room = Room::new(100);
        let (small, other) = (room.take(40), room.take(60));
        let (told, tells) = channel();
        let waiting = room.clone();
        let thread = thread::spawn(move || {
            let huge = waiting.take(1_000);
            told.send("huge").unwrap();
            drop(huge);
            let _last = waiting.take(100);
            told.send("last").unwrap();
        });
        assert!(tells.try_recv().is_err());
        drop(small);
        assert!(tells.try_recv().is_err(), "the other is still there");
        drop(other);
        assert_eq!(tells.recv(), Ok("huge"));
        assert_eq!(tells.recv(), Ok("last"));
        thread.join().unwrap();
        assert_eq!(room.taken.0.lock().unwrap().bytes, 0);
    }
}
