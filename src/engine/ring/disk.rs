//! Disk space: a crawl makes no visits while less than a reserve is free, so that it does not fill
//! a disk that others need too. It resumes by itself when there is space.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::engine::events::{Events, Happening};

/// Interval between checks.
const LOOK: Duration = Duration::from_secs(1);

/// Fraction of the reserve that must be free in addition before visits resume, so that they do not
/// resume briefly for each file that somebody deletes.
const MARGIN: u64 = 16;

/// The state of the disk on which a crawl is stored.
#[derive(Debug)]
pub(crate) struct Disk {
    path: PathBuf,
    /// Bytes that are left free for others; 0 disables the check.
    reserve: u64,
    looked: Option<Instant>,
    is_short: bool,
    /// Who is told when that changes.
    events: Events,
}

impl Disk {
    /// Returns the state of the disk that contains `path`.
    pub(crate) fn new(path: PathBuf, reserve: u64, events: Events) -> Self {
        Self {
            path,
            reserve,
            looked: None,
            is_short: false,
            events,
        }
    }

    /// Returns `true` if there is too little space for further visits. Checks once a second.
    pub(crate) fn is_short(&mut self) -> bool {
        if self.reserve > 0 && self.looked.is_none_or(|looked| looked.elapsed() >= LOOK) {
            self.looked = Some(Instant::now());
            match free_bytes(&self.path) {
                Ok(free) => self.note(free),
                // A disk that cannot report its free space will report an error when something is
                // written.
                Err(error) => {
                    tracing::debug!(%error, "cannot determine the free space of the disk");
                    self.is_short = false;
                }
            }
        }
        self.is_short
    }

    /// Updates the state with the number of free bytes.
    fn note(&mut self, free: u64) {
        let enough = self.reserve.saturating_add(self.reserve / MARGIN);
        let was_short = self.is_short;
        self.is_short = free < if was_short { enough } else { self.reserve };
        let path = || self.path.display().to_string();
        match (was_short, self.is_short) {
            (false, true) => self.events.tell(&Happening::DiskShort {
                path: path(),
                free,
                enough,
            }),
            (true, false) => self
                .events
                .tell(&Happening::DiskFree { path: path(), free }),
            _ => {}
        }
    }
}

/// Returns how many bytes are free on the disk of a directory, for those who are not its
/// administrator.
///
/// # Errors
///
/// The operating system's, if the disk does not tell.
pub(crate) fn free_bytes(directory: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(directory)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontier::Moment;

    fn disk_of(path: &str, reserve: u64) -> Disk {
        Disk::new(PathBuf::from(path), reserve, Events::new(Moment(0)))
    }

    #[test]
    fn below_the_reserve_it_is_short_until_there_is_some_more() {
        let mut disk = disk_of("/", 1_600);
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
        let mut disk = disk_of("/nowhere", 0);
        assert!(!disk.is_short());
        assert!(disk.looked.is_none());
        // Of a disk that nobody can look at no more is said than that.
        assert!(!disk_of("/nowhere/at/all", u64::MAX).is_short());
        assert!(disk_of("/", u64::MAX).is_short());
    }
}
