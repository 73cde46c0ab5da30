//! Why a run could not begin or go on: the rooms' errors, and the engine's own.

use std::io;
use std::path::PathBuf;

use super::messages::Over;
use super::open::{DirectoryError, MemoryPlan};
use crate::journal::{LogError, Position};
use crate::{archive, dedup, fetch, runs, store};

/// Why a run could not begin or go on. What was committed stays, and the same command resumes.
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
    /// The client could not be set up.
    #[error(transparent)]
    Fetch(#[from] fetch::Error),
    /// The status could not be read or written.
    #[error("cannot read or write the status in {path}: {source}")]
    Status {
        /// The data directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Threads could not be started.
    #[error("cannot start threads: {0}")]
    Threads(#[source] io::Error),
    /// What the store vouches for is there, and the store is not.
    #[error(
        "{path} holds `{found}` of an earlier crawl, but its store is missing; put the folder `store` back from a backup, or keep `warc` elsewhere and begin in another directory"
    )]
    StoreMissing {
        /// The data directory.
        path: PathBuf,
        /// What is there.
        found: &'static str,
    },
    /// The log was to be read on from a place where no line ends.
    #[error(
        "position {position} is not in the log in {path}: {reason}; give a `position` that a line of this crawl had, or leave it out to begin at the beginning"
    )]
    Position {
        /// What was given.
        position: Position,
        /// The directory of the log.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Nothing runs any more that could be asked.
    #[error(transparent)]
    Over(#[from] Over),
    /// Other fingerprints are asked for, and what they would be made of is not all there.
    #[error(
        "the settings of [dedup], or this version, ask for other fingerprints than this crawl has, and {file} is missing, from which they are made again; put it back, or take the change back"
    )]
    Refingerprint {
        /// A file of the archive.
        file: PathBuf,
    },
    /// Other rules make the canonical form.
    #[error(
        "this crawl was begun with other rules of the canonical form, and would take URLs that it knows for new ones (then: {then}; now: {now}); set [url] as it was, or begin in another directory"
    )]
    UrlForm {
        /// What was said then and is not now.
        then: String,
        /// What is said now and was not then.
        now: String,
    },
    /// The structures are to take more memory than there is for them.
    #[error(
        "state.max_memory is too little for what it is to hold: {0}; give more with --max-memory, or lower a setting that is named"
    )]
    Memory(MemoryPlan),
    /// A mistake of ours.
    #[error(
        "gleaner failed in a way it should not: {0}; what was committed is safe. Please report this"
    )]
    Internal(String),
}

impl Error {
    /// Whether the disk is full.
    pub fn is_full_disk(&self) -> bool {
        let mut error: Option<&(dyn std::error::Error + 'static)> = Some(self);
        while let Some(cause) = error {
            if let Some(io) = cause.downcast_ref::<io::Error>() {
                return matches!(
                    io.kind(),
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
                );
            }
            error = cause.source();
        }
        false
    }
}
