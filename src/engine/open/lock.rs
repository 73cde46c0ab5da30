//! The file `lock` of a data directory. Who crawls, or changes rows, has it alone, and writes into
//! it who it is. Who changes nothing at all may share it, and writes nothing.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// Tries to lock a file, `try_lock` being one of the two ways, until `patience` has passed.
pub(super) fn lock_for(
    file: &File,
    try_lock: impl Fn(&File) -> Result<(), TryLockError>,
    patience: Duration,
) -> Result<(), TryLockError> {
    const PAUSE: Duration = Duration::from_millis(20);
    let start = Instant::now();
    loop {
        match try_lock(file) {
            Err(TryLockError::WouldBlock) if start.elapsed() < patience => {
                std::thread::sleep(PAUSE);
            }
            result => return result,
        }
    }
}

/// Returns `true` if a locked file could be shared at this moment: then those that have it only
/// read.
pub(super) fn is_shared(file: &File) -> bool {
    file.try_lock_shared().is_ok() && file.unlock().is_ok()
}

/// Returns the number of a process that shares a locked file, as far as the kernel tells.
pub(super) fn sharer(file: &File) -> Option<u32> {
    let about = file.metadata().ok()?;
    let locks = fs::read_to_string(Path::new("/proc/locks")).ok()?;
    sharer_in(&locks, about.dev(), about.ino())
}

/// Finds the process that shares the file of a device with an inode in a list of all locks, which
/// has lines such as `3: FLOCK  ADVISORY  READ 17448 fe:00:10011496 0 EOF`.
fn sharer_in(locks: &str, device: u64, inode: u64) -> Option<u32> {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let file = format!("{major:02x}:{minor:02x}:{inode}");
    locks.lines().find_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let is_shared = fields.next() == Some("FLOCK") && fields.nth(1) == Some("READ");
        let process = fields.next()?.parse().ok()?;
        (is_shared && fields.next() == Some(&*file)).then_some(process)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_shares_a_file_is_found_among_all_locks() {
        let locks = "1: FLOCK  ADVISORY  WRITE 11 fe:00:77 0 EOF\n\
                     1: -> FLOCK  ADVISORY  READ 12 fe:00:77 0 EOF\n\
                     2: POSIX  ADVISORY  READ 13 fe:00:77 0 EOF\n\
                     3: FLOCK  ADVISORY  READ 14 fe:01:77 0 EOF\n\
                     4: FLOCK  ADVISORY  READ 15 fe:00:78 0 EOF\n\
                     5: FLOCK  ADVISORY  READ 16 fe:00:77 0 EOF\n\
                     6: FLOCK";
        let device = rustix::fs::makedev(0xfe, 0);
        assert_eq!(sharer_in(locks, device, 77), Some(16));
        assert_eq!(sharer_in(locks, device, 79), None);
        assert_eq!(sharer_in("", device, 77), None);
    }
}
