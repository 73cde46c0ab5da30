//! Room on the disk: a crawl makes no visits while less than a reserve is free, so that a disk is not
//! filled to its end by what others need as well, and goes on by itself when there is room.

use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often it is looked.
const LOOK: Duration = Duration::from_secs(1);

/// How much above the reserve there must be to go on: not each file that somebody removes is a reason to
/// begin again for a moment.
const MARGIN: u64 = 16;

/// What is known of the disk on which a crawl is stored.
#[derive(Debug)]
pub(in crate::engine) struct Disk {
    path: PathBuf,
    /// Bytes that are left to others; 0: nobody looks.
    reserve: u64,
    looked: Option<Instant>,
    is_short: bool,
}

impl Disk {
    /// The disk on which `path` lies.
    pub(in crate::engine) fn new(path: PathBuf, reserve: u64) -> Self {
        Self {
            path,
            reserve,
            looked: None,
            is_short: false,
        }
    }

    /// Whether there is too little room for further visits; looked at once a second.
    pub(in crate::engine) fn is_short(&mut self) -> bool {
        if self.reserve > 0 && self.looked.is_none_or(|looked| looked.elapsed() >= LOOK) {
            self.looked = Some(Instant::now());
            match rustix::fs::statvfs(&self.path) {
                Ok(disk) => self.note(disk.f_bavail.saturating_mul(disk.f_frsize)),
                // A disk that does not say how full it is says it when something is written.
                Err(error) => {
                    tracing::debug!(%error, "nobody can tell how much room the disk has");
                    self.is_short = false;
                }
            }
        }
        self.is_short
    }

    /// Takes into account how many bytes are free.
    fn note(&mut self, free: u64) {
        let enough = self.reserve.saturating_add(self.reserve / MARGIN);
        let was_short = self.is_short;
        self.is_short = free < if was_short { enough } else { self.reserve };
        let path = self.path.display();
        match (was_short, self.is_short) {
            (false, true) => tracing::warn!(
                "the disk of {path} has {} free, less than state.disk_reserve: no visits are made until it has {}",
                megabytes(free),
                megabytes(enough)
            ),
            (true, false) => {
                tracing::warn!(
                    "the disk of {path} has {} free: the crawl goes on",
                    megabytes(free)
                );
            }
            _ => {}
        }
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_the_reserve_it_is_short_until_there_is_some_more() {
        let mut disk = Disk::new(PathBuf::from("/"), 1_600);
        let mut after = |free| {
            disk.note(free);
            disk.is_short
        };
        assert!(!after(1_600));
        assert!(after(1_599));
        assert!(after(1_699));
        assert!(!after(1_700));
        assert!(!after(1_600));
    }

    #[test]
    fn without_a_reserve_nobody_looks() {
        let mut disk = Disk::new(PathBuf::from("/nowhere"), 0);
        assert!(!disk.is_short());
        assert!(disk.looked.is_none());
        // Of a disk that nobody can look at no more is said than that.
        assert!(!Disk::new(PathBuf::from("/nowhere/at/all"), u64::MAX).is_short());
        assert!(Disk::new(PathBuf::from("/"), u64::MAX).is_short());
    }
}
