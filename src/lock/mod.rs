//! The file `lock` of a directory. Who writes there has it alone, and may write into it who it is.
//! Who changes nothing at all may share it, and writes nothing.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// The file of a directory, which others do not get until this is dropped, or its process ends in
/// whatever way, once it is locked.
#[derive(Debug)]
pub(crate) struct LockFile(File);

impl LockFile {
    /// Name of the file.
    pub(crate) const NAME: &str = "lock";

    /// Opens the file of a directory, and creates it if it is not there.
    pub(crate) fn create(directory: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        options.open(directory.join(Self::NAME)).map(Self)
    }

    /// Opens the file of a directory, which need not be writable.
    pub(crate) fn open(directory: &Path) -> io::Result<Self> {
        File::open(directory.join(Self::NAME)).map(Self)
    }

    /// Locks it, alone, unless somebody else has it for longer than `patience`.
    pub(crate) fn lock(&self, patience: Duration) -> Result<(), TryLockError> {
        self.within(patience, File::try_lock)
    }

    /// Locks it together with others that share it.
    pub(crate) fn share(&self, patience: Duration) -> Result<(), TryLockError> {
        self.within(patience, File::try_lock_shared)
    }

    /// Tries to lock it, `try_lock` being one of the two ways, until `patience` has passed.
    fn within(
        &self,
        patience: Duration,
        try_lock: impl Fn(&File) -> Result<(), TryLockError>,
    ) -> Result<(), TryLockError> {
        const PAUSE: Duration = Duration::from_millis(20);
        let start = Instant::now();
        loop {
            match try_lock(&self.0) {
                Err(TryLockError::WouldBlock) if start.elapsed() < patience => {
                    std::thread::sleep(PAUSE);
                }
                result => return result,
            }
        }
    }

    /// Writes into it, once it is locked, that this process has it, and what else there is to say
    /// of that, if anything.
    pub(crate) fn sign(&self, remark: Option<&str>) -> io::Result<()> {
        let mut text = format!("{}\n", std::process::id());
        if let Some(line) = remark {
            text.push_str(line);
            text.push('\n');
        }
        let mut file = &self.0;
        file.rewind()?;
        // In this order: whoever cannot lock it reads it at any moment, and finds a process.
        file.write_all(text.as_bytes())?;
        file.set_len(text.len() as u64)
    }

    /// Returns the number of the process that signed it last, as far as that can be read, and what
    /// else that said.
    pub(crate) fn signature(&self) -> (Option<u32>, Option<String>) {
        let mut text = String::new();
        let mut file = &self.0;
        let _ = file.rewind().and_then(|()| file.read_to_string(&mut text));
        let mut lines = text.lines();
        let process = lines.next().and_then(|line| line.trim().parse().ok());
        (process, lines.next().map(str::to_owned))
    }

    /// Returns `true` if the file, which others have locked, could be shared at this moment: then
    /// they only read.
    pub(crate) fn is_shared(&self) -> bool {
        self.0.try_lock_shared().is_ok() && self.0.unlock().is_ok()
    }

    /// Returns the number of a process that shares it, as far as the kernel tells.
    pub(crate) fn sharer(&self) -> Option<u32> {
        let about = self.0.metadata().ok()?;
        let locks = fs::read_to_string(Path::new("/proc/locks")).ok()?;
        sharer_in(&locks, about.dev(), about.ino())
    }
}

impl Drop for LockFile {
    /// A program that this process starts at this very moment has a copy of all its files until it
    /// runs, and would keep the lock for as long if the file was only closed.
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
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
    fn a_copy_of_the_file_does_not_keep_the_lock() {
        let directory = tempfile::tempdir().unwrap();
        let lock = || {
            let file = LockFile::create(directory.path()).unwrap();
            file.lock(Duration::ZERO).map(|()| file)
        };
        let first = lock().unwrap();
        let as_of_a_child = first.0.try_clone().unwrap();
        assert!(matches!(lock(), Err(TryLockError::WouldBlock)));
        drop(first);
        lock().unwrap();
        drop(as_of_a_child);
    }

    #[test]
    fn a_file_says_who_signed_it_last_and_how() {
        let directory = tempfile::tempdir().unwrap();
        let file = LockFile::create(directory.path()).unwrap();
        assert_eq!(file.signature(), (None, None));
        let own = Some(std::process::id());
        file.sign(Some("reading")).unwrap();
        let read = LockFile::open(directory.path()).unwrap();
        assert_eq!(read.signature(), (own, Some("reading".to_owned())));
        file.sign(None).unwrap();
        assert_eq!(read.signature(), (own, None));
    }

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
