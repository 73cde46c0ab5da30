//! Errors of the files of a catalog.

use std::io;
use std::path::{Path, PathBuf};

/// Why a structure could not be opened, checkpointed or merged. Damage that a rebuild repairs is
/// reported by [`Catalog::open`](super::Catalog::open) as [`Damage`](super::Damage) instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An I/O operation failed.
    #[error("cannot {action} {path}; check free space and permissions there, then start again")]
    Io {
        /// The operation, as a verb.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// A file does not contain what was written. Nothing was changed because of it.
    #[error("{path} is damaged: {why}; start again to have it set aside and rebuilt")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A file has a later format and must not be overwritten by a rebuild.
    #[error(
        "{path} has the unknown format version {found}; use the gleaner that wrote it, \
         or move the directory away to have it rebuilt"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its format version.
        found: u32,
    },
    /// The thread that merges or writes files panicked, which is a bug in gleaner. No file was
    /// changed.
    #[error(
        "a thread that merges or writes run files panicked; no data is lost; please report this bug"
    )]
    ThreadPanicked,
}

/// Returns `true` for the errors by which a disk, or what it is reached by, says that it fails, and
/// for files that end early or hold what was never written to them. Trying again is not known to
/// help; what can be rebuilt is rebuilt at a start.
pub fn is_bad_disk(error: &io::Error) -> bool {
    use rustix::io::Errno;
    const FAILED: [Errno; 7] = [
        Errno::IO,
        Errno::NXIO,
        Errno::NODEV,
        Errno::ROFS,
        Errno::STALE,
        Errno::REMOTEIO,
        Errno::NOTCONN,
    ];
    match error.raw_os_error().or_else(|| wrapped_number(error)) {
        Some(code) => FAILED.iter().any(|failed| failed.raw_os_error() == code),
        None => matches!(
            error.kind(),
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
        ),
    }
}

/// The number of an error that a library has wrapped to name the path: it is in the text only.
fn wrapped_number(error: &io::Error) -> Option<i32> {
    let text = error.to_string();
    let (_, rest) = text.split_once("(os error ")?;
    rest.split_once(')')?.0.parse().ok()
}

impl Error {
    /// Returns `true` if the disk or a quota is full, the one cause that an operator can fix
    /// without looking at anything else.
    pub fn is_full_disk(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        matches!(self, Self::Io { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded))
    }

    /// Returns a function for `map_err` that adds the operation and the path.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_disk_is_told_from_an_error_that_is_wrapped() {
        let check = |number: i32, is_bad: bool| {
            let cause = io::Error::from_raw_os_error(number);
            let text = format!("{cause} at path \"store/.tmp\"");
            let wrapped = io::Error::new(cause.kind(), text);
            assert_eq!(is_bad_disk(&cause), is_bad);
            assert_eq!(is_bad_disk(&wrapped), is_bad);
        };
        check(rustix::io::Errno::IO.raw_os_error(), true);
        check(rustix::io::Errno::MFILE.raw_os_error(), false);
        check(rustix::io::Errno::NOSPC.raw_os_error(), false);
        assert!(!is_bad_disk(&io::Error::other("(os error x)")));
    }
}
