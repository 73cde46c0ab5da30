//! `log/acknowledged`: how far the fetch log is committed, for processes that read it while another
//! one crawls and has the store locked.
//!
//! The file is written after each commit, so it is never ahead of the store; a kill between the two
//! leaves it a group behind, which the next start repairs. It is one line of fixed length,
//! overwritten in place: a rename at every commit would cost more than the commit's own sync. The
//! checksum tells a reader that it read during a write.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use crate::rows::LogTail;

/// Name of the file in the log's directory.
const NAME: &str = "acknowledged";

/// How often a line with a wrong checksum is read again; writing it takes microseconds.
const ATTEMPTS: usize = 50;

/// How far the log is committed, and whether it is open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Acknowledged {
    /// The end of the committed log.
    pub tail: LogTail,
    /// Set if a process has the log open, or was killed with it open.
    pub open: bool,
}

impl Acknowledged {
    /// Reads the file in a log's directory; `None` if there is none that can be read.
    pub fn read(directory: &Path) -> io::Result<Option<Self>> {
        for _ in 0..ATTEMPTS {
            match fs::read_to_string(path(directory)) {
                Ok(text) => match Self::parse(&text) {
                    Some(found) => return Ok(Some(found)),
                    None => std::thread::yield_now(),
                },
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    fn parse(text: &str) -> Option<Self> {
        let (said, checksum) = text.trim_end().rsplit_once(' ')?;
        if u32::from_str_radix(checksum, 16) != Ok(crc32fast::hash(said.as_bytes())) {
            return None;
        }
        let mut words = said.split(' ');
        let rotated = words.next()?.parse().ok()?;
        let bytes = words.next()?.parse().ok()?;
        Some(Self {
            tail: LogTail { rotated, bytes },
            open: words.next()? == "open",
        })
    }

    /// Returns the line, whose length is always the same.
    fn line(self) -> String {
        let LogTail { rotated, bytes } = self.tail;
        let state = if self.open { "open" } else { "done" };
        let said = format!("{rotated:010} {bytes:020} {state}");
        format!("{said} {:08x}\n", crc32fast::hash(said.as_bytes()))
    }
}

/// The file, open for its writer.
pub struct AcknowledgedFile(File);

impl AcknowledgedFile {
    /// Opens or creates the file in a log's directory.
    pub fn open(directory: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        options.open(path(directory)).map(Self)
    }

    /// Overwrites the contents.
    pub fn write(&self, acknowledged: Acknowledged) -> io::Result<()> {
        self.0.write_all_at(acknowledged.line().as_bytes(), 0)
    }
}

fn path(directory: &Path) -> PathBuf {
    directory.join(NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_is_torn_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        assert_eq!(Acknowledged::read(path).unwrap(), None);
        let file = AcknowledgedFile::open(path).unwrap();
        assert_eq!(
            Acknowledged::read(path).unwrap(),
            None,
            "nothing is said yet"
        );
        let early = Acknowledged::default();
        let late = Acknowledged {
            tail: LogTail {
                rotated: u32::MAX,
                bytes: u64::MAX,
            },
            open: true,
        };
        for said in [late, early, late] {
            file.write(said).unwrap();
            assert_eq!(Acknowledged::read(path).unwrap(), Some(said));
        }
        let (early, late) = (early.line(), late.line());
        assert_eq!(early.len(), late.len());
        for at in 1..early.len() - 1 {
            let torn = format!("{}{}", &late[..at], &early[at..]);
            let read = Acknowledged::parse(&torn);
            assert!(read.is_none() || torn == late || torn == early, "{torn}");
        }
    }
}
