//! Errors that keep a run from starting or continuing: those of the rooms, and the engine's own.

use std::io;
use std::path::PathBuf;

use super::hold::TooManyHeld;
use super::library::LibraryError;
use super::messages::{Over, Stopped};
use super::open::{DirectoryError, MemoryPlan};
use crate::frontier::Shards;
use crate::journal::{LogError, Position};
use crate::{archive, dedup, fetch, runs, store};

/// Why a run could not start or continue. What was committed stays, and the same command resumes.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The data directory cannot be used.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The archive failed.
    #[error(transparent)]
    Archive(#[from] archive::Error),
    /// The runs failed.
    #[error(transparent)]
    Runs(#[from] runs::Error),
    /// The documents failed.
    #[error(transparent)]
    Documents(#[from] dedup::Error),
    /// The log failed.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The HTTP client could not be set up.
    #[error(transparent)]
    Fetch(#[from] fetch::Error),
    /// The status, or the settings of earlier runs, could not be read or written.
    #[error("cannot read or write the status or the settings in {path}: {source}")]
    Status {
        /// The data directory, or the file.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// Threads could not be started.
    #[error("cannot start threads: {0}")]
    Threads(#[source] io::Error),
    /// Files of the archive cannot leave.
    #[error("cannot let closed files of the archive leave: {0}")]
    Handover(#[source] io::Error),
    /// The store is missing, but other files of the crawl exist.
    #[error(
        "{path} contains `{found}` of an earlier crawl, but its store is missing; restore the directory `store` from a backup, or start a new crawl in another directory"
    )]
    StoreMissing {
        /// The data directory.
        path: PathBuf,
        /// What exists.
        found: &'static str,
    },
    /// The store lost commits.
    #[error(
        "the store in {path} has lost commits: {evidence}. Was an older copy of it put back, or is the disk damaged? Put back the newest `store`, or go on with `--repair`: what the store does not know of archive and log is set aside, all stored pages are read again, and what they link to is fetched again as far as it is missing"
    )]
    StoreBehind {
        /// The data directory.
        path: PathBuf,
        /// What shows it.
        evidence: String,
    },
    /// Nothing is left to fetch, but URLs are queued.
    #[error(
        "nothing is left to fetch, but {forgotten} URLs are queued: the store does not have their rows, or gleaner forgot them; `--repair` queues again what stored pages link to. Please report this"
    )]
    Forgotten {
        /// Number of these URLs.
        forgotten: u64,
    },
    /// What was to be forgotten, or to come back, cannot be.
    #[error("{0}")]
    Forget(String),
    /// A given position is not the end of a line of the log.
    #[error(
        "position {position} is not in the log in {path}: {reason}; give the `position` of a line of this crawl, or omit it to start at the beginning"
    )]
    Position {
        /// The given position.
        position: Position,
        /// Directory of the log.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// No crawl is running that could take a command.
    #[error(transparent)]
    Over(#[from] Over),
    /// The settings ask for other fingerprints, and a file needed to compute them is missing.
    #[error(
        "the settings in [dedup], or this version of gleaner, require new fingerprints, but {file} is missing, from which they are computed; restore the file, or undo the change"
    )]
    Refingerprint {
        /// The missing file of the archive.
        file: PathBuf,
    },
    /// The rules of the canonical form differ from those that the crawl began with.
    #[error(
        "this crawl was started with other canonicalization rules, and would treat known URLs as new ones (then: {then}; now: {now}); restore the settings in [url], or start a new crawl in another directory"
    )]
    UrlForm {
        /// The old description.
        then: String,
        /// The new description.
        now: String,
    },
    /// The directory is of another shard than is meant.
    #[error(
        "{path} is shard {} of {} of a crawl, and {meant}; use the directory of the shard that is meant, with the worker of its crawl", .is.own(), .is.count()
    )]
    Shard {
        /// The data directory.
        path: PathBuf,
        /// The shard that it is.
        is: Shards,
        /// What speaks against it.
        meant: String,
    },
    /// The structures of the crawl do not fit into `state.max_memory`.
    #[error(
        "state.max_memory is too small: {0}; increase it with --max-memory, or lower one of the settings named"
    )]
    Memory(MemoryPlan),
    /// An earlier crawl that pages are compared with cannot be used.
    #[error(
        "cannot use the earlier crawl {directory} (archive.since): {reason}. If it was moved, say where it is now with --since; `--set archive.since=[]` goes on without it: then pages that have not changed since are fetched whole, and those that refer to it have no text until it is back"
    )]
    Since {
        /// The data directory of that crawl, or that of its WARC files.
        directory: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A host cannot be held.
    #[error(transparent)]
    Held(#[from] TooManyHeld),
    /// The crawl was stopped before it was open.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// A bug in gleaner.
    #[error("internal error: {0}; committed data is safe. Please report this as a bug")]
    Internal(String),
}

impl From<LibraryError> for Error {
    fn from(error: LibraryError) -> Self {
        match error {
            LibraryError::Store(error) => error.into(),
            LibraryError::Runs(error) => error.into(),
            LibraryError::Documents(error) => error.into(),
        }
    }
}

impl Error {
    /// Returns `true` if the disk is full.
    pub fn is_full_disk(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        self.io()
            .is_some_and(|error| matches!(error.kind(), StorageFull | QuotaExceeded))
    }

    /// Returns `true` if the disk fails, or does not give back what was written to it.
    pub fn is_bad_disk(&self) -> bool {
        let is_damaged = matches!(self, Self::Runs(runs::Error::Damaged { .. }));
        is_damaged || self.io().is_some_and(runs::is_bad_disk)
    }

    /// Returns the first I/O error among the causes.
    fn io(&self) -> Option<&io::Error> {
        let mut error: Option<&(dyn std::error::Error + 'static)> = Some(self);
        while let Some(cause) = error {
            if let Some(io) = cause.downcast_ref::<io::Error>() {
                return Some(io);
            }
            error = cause.source();
        }
        None
    }
}
