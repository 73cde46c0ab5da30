//! What can go wrong with the files of a catalog.

use std::io;
use std::path::{Path, PathBuf};

/// Why a structure could not be opened, checkpointed or merged. Damage that a rebuild repairs is
/// reported by [`Catalog::open`](super::Catalog::open) as [`Damage`](super::Damage) instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused; the path and the act are named.
    #[error("cannot {action} {path}; check the space and the permissions there, then start again")]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A file is not what was written. Nothing was changed because of it.
    #[error("{path} is damaged: {why}; start again, and it is set aside and rebuilt")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A file of a later format, which must not be overwritten by a rebuild.
    #[error(
        "{path} has the unknown format version {found}; use the gleaner that wrote it, \
         or move the directory away to have it rebuilt"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// The thread that merges or writes files panicked: a defect of gleaner. Files are untouched.
    #[error(
        "a thread that merges or writes run files panicked; no data is lost, please report this"
    )]
    ThreadPanicked,
}

impl Error {
    /// Whether the disk or the quota is full: the one cause that an operator mends without a look
    /// at anything else.
    pub fn is_full_disk(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        matches!(self, Self::Io { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded))
    }

    /// For `map_err`: what was tried on which path.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}
