//! Commits that a store has lost: an older copy was put back, or damage made it forget its end.
//!
//! Everything else on disk is written after the store, or together with it, so whatever is ahead of
//! the store proves the loss. Going on as if nothing had happened would lose the URLs for good
//! whose rows are gone, because they would count as seen. So such a store is refused, and repaired
//! if that is asked for (`repair.rs`).

use std::path::Path;

use crate::dedup::DocumentId;
use crate::engine::error::Error;
use crate::journal::{Acknowledged, LogError};
use crate::rows::{CrawlState, DiskState};
use crate::store::{Store, Table, keys};

/// What is known of commits that the store lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whole {
    /// Nothing shows that any is missing.
    Presumed,
    /// Some are missing, and a repair was asked for or has begun.
    Repaired,
}

impl Whole {
    /// Whether the store lost commits.
    pub(super) fn is_behind(self) -> bool {
        self == Self::Repaired
    }

    /// Takes in what shows that commits are missing, if something does.
    ///
    /// # Errors
    ///
    /// [`Error::StoreBehind`] unless `repairs`.
    pub(super) fn and(
        self,
        evidence: Option<String>,
        path: &Path,
        repairs: bool,
    ) -> Result<Self, Error> {
        let Some(evidence) = evidence else {
            return Ok(self);
        };
        if !repairs && self == Self::Presumed {
            return Err(Error::StoreBehind {
                path: path.to_owned(),
                evidence,
            });
        }
        tracing::warn!("the store is repaired: {evidence}");
        Ok(Self::Repaired)
    }
}

/// Returns what beside the store shows that it lost commits.
pub(super) fn evidence(
    path: &Path,
    store: &dyn Store,
    (state, disk): (&CrawlState, &DiskState),
) -> Result<Option<String>, Error> {
    let log = path.join("log");
    let said = Acknowledged::read(&log).map_err(|source| LogError { path: log, source })?;
    // It is written after each commit, so it is never ahead of a store that is whole.
    if let Some(said) = said.filter(|said| said.tail > disk.log) {
        let (told, known) = (said.tail, disk.log);
        return Ok(Some(format!(
            "the log was acknowledged up to byte {} of file {}, and the store knows it up to byte \
             {} of file {}",
            told.bytes, told.rotated, known.bytes, known.rotated
        )));
    }
    let counters = &state.counters;
    let is_empty =
        |table| -> Result<bool, Error> { Ok(store.range(table, &[], &[], 1)?.is_empty()) };
    if counters.queued > 0 && is_empty(Table::Queue)? {
        return Ok(Some(format!(
            "{} URLs should be queued, and the queue is empty",
            counters.queued
        )));
    }
    if counters.pages > 0 && is_empty(Table::Pages)? {
        return Ok(Some(format!(
            "{} pages should be known, and none is",
            counters.pages
        )));
    }
    Ok(None)
}

/// Returns what runs show: they never cover commits that the store does not have.
pub(super) fn evidence_of_runs(sequence: u64, state: &CrawlState) -> Option<String> {
    (sequence > state.sequence).then(|| {
        format!(
            "the files in runs/ cover {sequence} commits, and the store has {}",
            state.sequence
        )
    })
}

/// Returns what documents show.
pub(super) fn evidence_of_documents(through: DocumentId, state: &CrawlState) -> Option<String> {
    (through > state.last_document).then(|| {
        format!(
            "{through} documents were written, and the store knows {}",
            state.last_document
        )
    })
}

/// Returns whether an earlier run began a repair that is not complete.
pub(super) fn is_under_repair(store: &dyn Store) -> Result<bool, Error> {
    Ok(store.get(Table::Meta, keys::meta::REPAIR)?.is_some())
}
