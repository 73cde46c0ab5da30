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
use crate::store::journal::{self, Audit, JournalDamageKind};
use crate::store::{self, Batch, Durability, Store, Table, keys};

/// Returns whether the store is to be repaired: an earlier run began that, or it is asked for. From
/// then on every start goes on with the repair until it is complete.
///
/// # Errors
///
/// [`Error::StoreBehind`] if the store lost commits, and nobody asked for a repair.
pub(super) fn is_repairing(
    path: &Path,
    store: &dyn Store,
    states: (&CrawlState, &DiskState),
    is_asked: bool,
) -> Result<bool, Error> {
    if store.get(Table::Meta, keys::meta::REPAIR)?.is_some() {
        tracing::warn!("repairing the store: an earlier run began it");
        return Ok(true);
    }
    let evidence = evidence(path, store, states)?;
    if !is_asked {
        return refuse(path, evidence).map(|()| false);
    }
    let reason = evidence.unwrap_or_else(|| "it was asked for".to_owned());
    tracing::warn!("repairing the store: {reason}");
    let mut batch = Batch::new();
    batch.put(Table::Meta, keys::meta::REPAIR, Vec::new());
    store.commit(batch, Durability::Disk)?;
    Ok(true)
}

/// Looks at the files of the store before the engine opens them, for it would cut or delete what
/// it cannot read. What can be mended without loss is.
///
/// # Errors
///
/// [`Error::StoreBehind`] if commits are lost, and nobody asked for a repair.
pub(super) fn check_files(path: &Path, is_repair_asked: bool) -> Result<(), Error> {
    let store = path.join("store");
    let failed = |source: std::io::Error| store::Error::Open {
        path: store.clone(),
        reason: source.to_string(),
        source: Some(source),
    };
    let audit = journal::audit(&store).map_err(failed)?;
    let mut evidence = None;
    for damage in &audit.journals {
        if journal::mend(damage).map_err(failed)? {
            tracing::warn!("{damage}; the right one was written back");
            continue;
        }
        evidence.get_or_insert_with(|| damage.to_string());
        if is_repair_asked && matches!(damage.kind, JournalDamageKind::Unreadable { .. }) {
            // The engine cuts some of these and refuses others.
            journal::cut(&damage.path, damage.offset).map_err(failed)?;
        }
    }
    for table in &audit.tables {
        if journal::mend_table(table).map_err(failed)? {
            tracing::warn!("{}; it was written anew", without_current(table));
        } else {
            evidence.get_or_insert_with(|| without_current(table));
        }
    }
    match evidence {
        Some(evidence) if is_repair_asked => {
            tracing::warn!("the store has lost commits: {evidence}");
        }
        evidence => refuse(path, evidence)?,
    }
    Ok(cut_torn_ends(&audit).map_err(failed)?)
}

/// Cuts journals behind their last whole commit. A crash leaves part of the one that was being
/// written; if it was damage, what is beside the store shows it.
pub(super) fn cut_torn_ends(audit: &Audit) -> std::io::Result<()> {
    for (path, offset) in &audit.torn {
        tracing::warn!("{}; it is cut off", torn_end(path, *offset));
        journal::cut(path, *offset)?;
    }
    Ok(())
}

/// Says that the last commit of a journal is not whole.
pub(crate) fn torn_end(path: &Path, offset: u64) -> String {
    format!(
        "the last commit of {}, at byte {offset}, is not whole, as a crash may leave it",
        path.display()
    )
}

/// Says what is wrong with a table that the engine would delete.
pub(crate) fn without_current(table: &Path) -> String {
    format!(
        "{} has rows, and its file `current` is missing",
        table.display()
    )
}

/// Refuses a store if something shows that it lost commits.
fn refuse(path: &Path, evidence: Option<String>) -> Result<(), Error> {
    match evidence {
        Some(evidence) => Err(Error::StoreBehind {
            path: path.to_owned(),
            evidence,
        }),
        None => Ok(()),
    }
}

/// Returns what beside the store shows that it lost commits.
pub(crate) fn evidence(
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

/// Checks that runs and documents, as they were opened, cover no commits that the store does not
/// have.
///
/// # Errors
///
/// [`Error::StoreBehind`] if they do.
pub(crate) fn check_lookups(
    path: &Path,
    state: &CrawlState,
    (covered, documents): (u64, DocumentId),
) -> Result<(), Error> {
    let known = state.sequence;
    let runs = (covered > known)
        .then(|| format!("the files in runs/ cover {covered} commits, and the store has {known}"));
    let known = state.last_document;
    let documents = (documents > known)
        .then(|| format!("{documents} documents were written, and the store knows {known}"));
    refuse(path, runs.or(documents))
}
