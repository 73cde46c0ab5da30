//! The archive: WARC/1.1 records (ISO 28500:2017) of what was fetched, in append-only segments with
//! an acknowledged end.
//!
//! The engine's committer appends the records of a group of visits, syncs, and puts the [`Tail`]
//! into the same batch as everything else that it commits. Whatever a crash left behind that tail
//! is cut off at the next start. This room fetches and judges nothing and never changes an
//! acknowledged byte, but for what a person has forgotten (`erase.rs`).
//!
//! Read in this order: `record.rs` (what is kept), `warc.rs` (segments, sync, rewind), `segment.rs`
//! (one file), `member.rs` (bytes), `encode.rs` and `ahead.rs` (who makes them), `reader.rs`
//! (reading back), `pack.rs` (bodies of duplicates), `cdxj/` (indexes of captures).

mod ahead;
mod cdxj;
mod directory;
mod earlier;
mod elsewhere;
mod encode;
mod erase;
mod foreign;
mod id;
mod member;
mod memory;
mod names;
mod opening;
mod pack;
mod reader;
mod record;
mod segment;
mod warc;

use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use ahead::Ahead;
pub use cdxj::{IndexLine, LineSorter, SortedLines, index_line, index_path};
pub use directory::replace_file;
pub use earlier::{add_earlier_archives, earlier_archives};
pub use elsewhere::{ArchiveFiles, NUMBERS_OF_ONE, files_of, present, set_elsewhere};
pub use erase::{
    Beside, Eraser, Span, for_each_capture, for_each_packed, for_each_target, is_tombstone,
    records_beside, refers_to, take_out_of_index, verdicts_behind, visit_at,
};
pub use foreign::RecordStream;
pub use id::{Digest, DigestAlgorithm, RecordId};
pub use memory::MemoryArchive;
pub use names::{FileNames, crawl_of, is_archive_file, number_of, whole_name};
pub use opening::warcinfo_member;
pub use pack::{
    MAX_DELTA_CONTENT, MAX_PACKED, PackBase, PackError, PackedBody, compress, pack, unpack,
};
pub use reader::{Limits, ReadRecord, SegmentReader, http_head, records};
pub use record::{Capture, Original, Record, RecordKind, Relation, Truncation};
pub use segment::unacknowledged;
pub use store_policy::{DuplicateBodies, StorePolicy};
pub use warc::{Recovery, Start, WarcArchive, WarcOptions};

/// The result of the functions of this room.
pub type Result<T> = std::result::Result<T, Error>;

/// An append-only sequence of records that can be cut back to what its owner acknowledged.
///
/// [`append`](Archive::append) makes records readable and [`sync`](Archive::sync) makes them
/// durable, but only the [`Tail`] that the owner has stored counts: after a crash or a failure,
/// [`rewind`](Archive::rewind) to it and go on.
pub trait Archive: Send {
    /// Appends `records` in order and returns the location of each. The records of one call never
    /// span two segments. On failure, none of them is in the archive.
    fn append(&mut self, records: &[Record]) -> Result<Vec<Location>>;

    /// Ends the current file, if it has records: what is appended after it goes to the next. An
    /// archive without files has nothing to end.
    fn close(&mut self) -> Result<()> {
        Ok(())
    }

    /// Returns when the current file was begun, if it has records.
    fn begun(&self) -> Option<Timestamp> {
        None
    }

    /// Returns what takes records before they are appended, if the archive has use for them.
    fn ahead(&self) -> Option<Ahead> {
        None
    }

    /// Makes everything appended so far durable and returns the end of it. On failure, what was
    /// appended since the last sync is in doubt, and the archive accepts nothing until it is
    /// rewound.
    fn sync(&mut self) -> Result<Tail>;

    /// Removes everything after `tail`, which must have come from [`sync`](Archive::sync).
    fn rewind(&mut self, tail: &Tail) -> Result<()>;
}

/// The location of a record: a span of bytes in one segment that contains exactly this record (in a
/// WARC archive, one gzip member).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Location {
    /// Number of the segment, from 0.
    pub segment: u32,
    /// Offset of the first byte in the segment.
    pub offset: u64,
    /// Length of the span, in bytes.
    pub length: u64,
}

/// The end of the acknowledged archive. The default is its beginning: nothing is acknowledged.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
pub struct Tail {
    /// Number of the segment that the next record goes to.
    pub segment: u32,
    /// Acknowledged length of that segment, in bytes.
    pub offset: u64,
}

/// Why the archive could not be written, rewound or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An I/O operation failed; [`Error::is_storage_full`] tells whether for lack of space.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// The operation, as in "cannot … the file".
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// A segment is shorter than what was acknowledged. A killed process cannot cause this: synced
    /// bytes were lost or removed.
    #[error(
        "archive segment {} has {found} bytes, but {acknowledged} were acknowledged: put the \
         complete file back, or, if its end is lost for good, start a new crawl in another \
         directory",
        path.display()
    )]
    TailBeyondEnd {
        /// The segment, or the archive's name if there is no file.
        path: PathBuf,
        /// Acknowledged length, in bytes.
        acknowledged: u64,
        /// Actual length, in bytes; 0 also if the file is missing.
        found: u64,
    },
    /// There are two files where there should be one.
    #[error(
        "there is both {} and the same with `.open` behind it: keep the larger one, and move the \
         other away",
        path.display()
    )]
    Twice {
        /// The file that is whole by its name.
        path: PathBuf,
    },
    /// A sync failed, so the system may have dropped what was written. Rewinding to the last
    /// acknowledged tail makes the archive usable again.
    #[error("the archive in {} failed to sync and must be rewound first", directory.display())]
    InDoubt {
        /// Directory of the archive.
        directory: PathBuf,
    },
    /// An option has an invalid value.
    #[error("archive option `{option}` cannot be `{value}`: {expected}")]
    Option {
        /// Name of the option's field.
        option: &'static str,
        /// The invalid value.
        value: String,
        /// What is allowed.
        expected: &'static str,
    },
    /// The compressor failed on a record.
    #[error("cannot compress a record")]
    Compress(#[from] flate2::CompressError),
    /// The last record of a file is incomplete: a write was cut short.
    #[error("the record at byte {offset} of {} ends before it is complete", path.display())]
    Torn {
        /// The file.
        path: PathBuf,
        /// Offset at which the incomplete record begins.
        offset: u64,
    },
    /// The bytes at this offset are not a WARC record.
    #[error("no WARC record at byte {offset} of {}: {reason}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Offset at which the record should begin.
        offset: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// The record is larger than the reader allows.
    #[error(
        "the block of the record at byte {offset} of {} has {length} bytes, and {limit} may be read",
        path.display()
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Offset at which the record begins.
        offset: u64,
        /// Length of the block, in bytes.
        length: u64,
        /// Maximum that may be read, in bytes.
        limit: u64,
    },
}

impl Error {
    /// Returns the kind of the I/O error, if this is one.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        match self {
            Error::Io { source, .. } => Some(source.kind()),
            _ => None,
        }
    }

    /// Returns the offset at which a record cannot be read, if this is about one.
    pub fn offset(&self) -> Option<u64> {
        match self {
            Error::Torn { offset, .. }
            | Error::Format { offset, .. }
            | Error::TooLarge { offset, .. } => Some(*offset),
            _ => None,
        }
    }

    /// Returns `true` if the disk or a quota is full: the crawl can go on once there is space.
    pub fn is_storage_full(&self) -> bool {
        matches!(
            self.io_kind(),
            Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
        )
    }

    /// Returns a function for `map_err` that adds the operation and the path to an I/O error.
    fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io {
            action,
            path,
            source,
        }
    }
}

mod store_policy;
#[cfg(test)]
mod tests;
