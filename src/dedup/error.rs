//! Errors of the index.

use std::io;
use std::path::PathBuf;

/// Documents could not be read or written. The run ends; everything committed stays.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file system reported an error.
    #[error("cannot read or write the documents in {path}: {source}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The file system's error.
        source: io::Error,
    },
    /// The database reported an error.
    #[error(
        "the documents in {path} cannot be used: {why}; remove the directory to have it rebuilt at the next start"
    )]
    Engine {
        /// The directory.
        path: PathBuf,
        /// The database's error.
        why: String,
    },
}
