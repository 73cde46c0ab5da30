//! Why a corpus could not be deduplicated.

use std::io;

use super::SavedError;
use crate::archive;

/// Why a run over a corpus ended early.
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
        /// The reason that the system gave.
        source: io::Error,
    },
    /// The writer of the verdicts refused them.
    #[error("cannot write the verdicts")]
    Output(#[source] io::Error),
    /// The WARC files of `--output` could not be written.
    #[error("cannot write the deduplicated records")]
    Archive(#[source] archive::Error),
    /// The index that is kept between runs cannot be used.
    #[error(transparent)]
    Index(#[from] SavedError),
}

impl Error {
    /// The caller's input is at fault.
    pub(super) fn input(message: impl Into<String>) -> Self {
        Self::Input(message.into())
    }

    /// An I/O error while doing something, for `map_err`.
    pub(super) fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source }
    }
}
