//! Errors of a run over a corpus.

use std::io;

use super::SavedError;
use crate::archive;

/// The reason why a run over a corpus ended early.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A document, a file or an option is at fault. The message says which, and what to do.
    #[error("{0}")]
    Input(String),
    /// A file could not be read or written.
    #[error("{action}")]
    Io {
        /// What failed, such as `cannot read pages.jsonl, line 3`.
        action: String,
        /// The system's error.
        source: io::Error,
    },
    /// The verdicts could not be written.
    #[error("cannot write the verdicts")]
    Output(#[source] io::Error),
    /// The WARC files of `--output` could not be written.
    #[error("cannot write the deduplicated records")]
    Archive(#[source] archive::Error),
    /// The index of earlier runs cannot be used.
    #[error(transparent)]
    Index(#[from] SavedError),
}

impl Error {
    /// An error of the input.
    pub(super) fn input(message: impl Into<String>) -> Self {
        Self::Input(message.into())
    }

    /// Maps an I/O error that occurred during an action.
    pub(super) fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source }
    }
}
