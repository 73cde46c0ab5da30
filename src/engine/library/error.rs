//! What goes wrong with a library.

use crate::{dedup, runs, store};

/// What went wrong on the disk.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The runs failed.
    #[error(transparent)]
    Runs(#[from] runs::Error),
    /// The documents failed.
    #[error(transparent)]
    Documents(#[from] dedup::Error),
}
