//! Why pages could not be given out.

use std::io;
use std::path::PathBuf;

use crate::engine;

/// Why pages could not be given out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A crawl could not be read.
    #[error(transparent)]
    Crawl(#[from] engine::Error),
    /// What is asked for makes no sense, or would overwrite something.
    #[error("{0}")]
    Request(String),
    /// A file could not be read or written.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// The operation, as in "cannot … the file".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

impl Error {
    /// Maps an I/O error that occurred during an action.
    pub(super) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}
