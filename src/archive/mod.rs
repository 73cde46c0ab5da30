//! What was fetched, kept for good: WARC/1.1 records (ISO 28500:2017) in an append-only archive
//! with an acknowledged end. The engine's committer appends the records of a group of visits,
//! syncs, and puts the [`Tail`] into the same batch as everything else it learned; whatever a crash
//! left behind that tail is cut off at the next start. This room fetches nothing, judges nothing
//! and never touches an acknowledged byte.
//!
//! To read in this order: `record.rs` (what is kept), `warc.rs` (segments, sync, rewind),
//! `segment.rs` (one file), `encode.rs` (bytes), `reader.rs` (back again).

mod encode;
mod id;
mod memory;
mod reader;
mod record;
mod segment;
mod warc;

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use id::{Digest, RecordId};
pub use memory::MemoryArchive;
pub use reader::{Limits, ReadRecord, SegmentReader, records};
pub use record::{Capture, Original, Record, RecordKind, Relation, Truncation};
pub use warc::{Recovery, WarcArchive, WarcOptions};

/// Result of this room's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// An append-only sequence of records that can be cut back to what its owner acknowledged.
///
/// [`append`](Archive::append) makes records readable, [`sync`](Archive::sync) makes them last, and
/// only the [`Tail`] that the owner has stored safely counts: after a crash or a failure,
/// [`rewind`](Archive::rewind) to it and go on.
pub trait Archive: Send {
    /// Appends `records` in their order and says where each one went. They stay together: one call
    /// never spans two segments. When it fails, none of them is in the archive.
    fn append(&mut self, records: &[Record]) -> Result<Vec<Location>>;

    /// Puts everything appended so far on stable storage and returns the end of it. When it fails,
    /// what was appended since the last sync is in doubt and the archive takes nothing until it is
    /// rewound.
    fn sync(&mut self) -> Result<Tail>;

    /// Forgets everything after `tail`, which must have come from [`sync`](Archive::sync).
    fn rewind(&mut self, tail: &Tail) -> Result<()>;
}

/// Where a record lies: a span of bytes in one segment that holds just this record (in a WARC
/// archive, one gzip member).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Location {
    /// Number of the segment, from 0.
    pub segment: u32,
    /// First byte in the segment.
    pub offset: u64,
    /// Bytes of the span.
    pub length: u64,
}

/// The end of the acknowledged archive. Its default is the beginning: nothing is acknowledged.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
pub struct Tail {
    /// The segment that the next record goes to.
    pub segment: u32,
    /// Bytes of that segment that are acknowledged.
    pub offset: u64,
}

/// Why the archive could not be written, rewound or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file system refused; `source` says why, [`Error::is_storage_full`] whether for want of
    /// space.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was being done, as in "cannot … the file".
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system answered.
        #[source]
        source: io::Error,
    },
    /// A segment is shorter than what was acknowledged. A killed process cannot do this: synced
    /// bytes were lost or removed.
    #[error(
        "archive segment {} has {found} bytes, but {acknowledged} were acknowledged: put the \
         complete file back, or, if its end is lost for good, start a new crawl in another \
         directory",
        path.display()
    )]
    TailBeyondEnd {
        /// The segment, or the archive's name where there is no file.
        path: PathBuf,
        /// Bytes that were acknowledged.
        acknowledged: u64,
        /// Bytes that are there; 0 also when the file is missing.
        found: u64,
    },
    /// A sync failed, so the system may have dropped what was written; rewinding to the last
    /// acknowledged tail makes the archive usable again.
    #[error("the archive in {} failed to sync and must be rewound first", directory.display())]
    InDoubt {
        /// Directory of the archive.
        directory: PathBuf,
    },
    /// An option has no meaning.
    #[error("archive option `{option}` cannot be `{value}`: {expected}")]
    Option {
        /// Name of the option's field.
        option: &'static str,
        /// What it was set to.
        value: String,
        /// What it may be.
        expected: &'static str,
    },
    /// The compressor refused a record.
    #[error("cannot compress a record")]
    Compress(#[from] flate2::CompressError),
    /// The last record of a file is incomplete: a write that was cut short.
    #[error("the record at byte {offset} of {} ends before it is complete", path.display())]
    Torn {
        /// The file.
        path: PathBuf,
        /// Where the incomplete record begins.
        offset: u64,
    },
    /// These bytes are not a record.
    #[error("no WARC record at byte {offset} of {}: {reason}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Where the record should begin.
        offset: u64,
        /// What is wrong with it.
        reason: String,
    },
}

impl Error {
    /// What kind of answer the system gave, where it was the system that refused.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        match self {
            Error::Io { source, .. } => Some(source.kind()),
            _ => None,
        }
    }

    /// Whether there is no space left (or no quota): the crawl can go on once somebody made room.
    pub fn is_storage_full(&self) -> bool {
        matches!(
            self.io_kind(),
            Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
        )
    }

    /// For `map_err`: names the action and the file that an I/O error belongs to.
    fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io {
            action,
            path,
            source,
        }
    }
}

#[cfg(test)]
mod tests;
