//! Rebuilds runs and documents from the store's rows, if their files are lost, damaged, older than
//! the store, or made for other fingerprints.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::memory::MemoryPlan;
use crate::dedup::{self, Document, DocumentId, Documents, DocumentsDamage};
use crate::engine::Options;
use crate::engine::admission::key_of;
use crate::engine::again::is_mostly_dead;
use crate::engine::commit::{DEDUP_RUNS, SEEN_RUNS};
use crate::engine::error::Error;
use crate::engine::learned::deferred;
use crate::engine::messages::Opening;
use crate::frontier::{Block, RobotsRow, SEEN};
use crate::rows::{CrawlState, DiskState, PageRecord};
use crate::runs::{self, Catalog, Damage, Retired, Runs};
use crate::store::{Store, Table, decode, for_each};
use crate::url::UrlId;

/// Number of keys and documents kept in memory before a rebuild writes them.
pub(super) const REBUILD_CHUNK: usize = 200_000;

/// Opens the documents. If they are lost, mostly dead, or have other fingerprints, they are rebuilt
/// from the store.
pub(super) fn open_documents(
    store: &dyn Store,
    path: &Path,
    options: &Options,
    (state, disk): (&CrawlState, &mut DiskState),
    retired: &Retired,
    remaking: bool,
) -> Result<Documents, Error> {
    let opening = &options.opening;
    let folder = path.join("documents");
    if remaking {
        forget_documents(path)?;
        disk.documents_checkpointed = 0;
    }
    // sled does not reclaim the space of removed rows. What it had is in the store.
    let is_dead = is_mostly_dead(disk.dead_rows, state.last_document, retired);
    if is_dead && folder.exists() {
        tracing::info!(
            expired = disk.dead_rows,
            "the documents are rebuilt without those that expired"
        );
        fs::remove_dir_all(&folder).map_err(|source| dedup::Error::Io {
            path: folder.clone(),
            source,
        })?;
    }
    let expected = match is_dead {
        true => 0,
        false => disk.documents_checkpointed,
    };
    let (mut documents, lost) =
        Documents::open(&folder, MemoryPlan::of(options).documents_cache, expected)?;
    let is_lost = match &lost {
        Some(DocumentsDamage::All(why)) => {
            tracing::warn!(why, "the documents are rebuilt from the store");
            true
        }
        Some(DocumentsDamage::Witnesses) => {
            tracing::warn!("the witness column is damaged; it is rebuilt from the store");
            false
        }
        None => false,
    };
    if is_lost || remaking || documents.through() < disk.documents_checkpointed {
        let last = rebuild_documents(store, opening, &mut documents)?;
        match remaking {
            true => disk.documents_checkpointed = last,
            false => disk.dead_rows = 0,
        }
    } else if lost.is_some() {
        for_each_document(store, opening, &mut |document| {
            Ok(documents.put_witness(&document)?)
        })?;
    } else {
        return Ok(documents);
    }
    // The last ones may have expired.
    documents.rebuilt(disk.documents_checkpointed)?;
    Ok(documents)
}

/// Opens the runs, and returns which of them are damaged.
pub(super) fn open_runs(path: &Path) -> Result<(Catalog, Vec<Damage>), Error> {
    let names = [SEEN].into_iter().chain(dedup::structures());
    let structures: Vec<_> = names.map(|name| (name, runs::Options::default())).collect();
    Ok(Catalog::open(&path.join("runs"), &structures)?)
}

/// Rebuilds from the store the runs that are damaged, older than the store, or made for other
/// fingerprints.
pub(super) fn repair_runs(
    store: &dyn Store,
    (mut catalog, damages): (Catalog, Vec<Damage>),
    options: &Options,
    (state, disk): (&CrawlState, &DiskState),
    retired: Retired,
    remaking: bool,
) -> Result<Catalog, Error> {
    catalog.restore_retired(DEDUP_RUNS, retired);
    if disk.is_purging {
        catalog.purge();
    }
    let mut damages: Vec<usize> = if catalog.sequence() < disk.runs_checkpointed {
        tracing::warn!("the runs are older than the store; they are rebuilt from it");
        catalog.iter_mut().for_each(Runs::clear);
        (0..catalog.len()).collect()
    } else {
        for damage in &damages {
            // A copy of another worker's has none of them.
            match damage.is_unfinished() {
                true => tracing::info!("{damage}"),
                false => tracing::warn!("{damage}"),
            }
        }
        damages.iter().map(|damage| damage.structure).collect()
    };
    if remaking {
        catalog[DEDUP_RUNS..].iter_mut().for_each(Runs::clear);
        damages.retain(|damage| *damage < DEDUP_RUNS);
        damages.extend(DEDUP_RUNS..catalog.len());
    }
    rebuild_runs(store, &mut catalog, &damages, options, state.sequence)?;
    Ok(catalog)
}

/// Visits every document that the store knows, of pages and of robots.txt files. Each is a step of
/// the opening.
fn for_each_document(
    store: &dyn Store,
    opening: &Opening,
    visit: &mut dyn FnMut(Document) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut failed = None;
    let mut guarded = |document: Option<Document>| {
        if let (Some(document), None) = (document, &failed) {
            failed = opening
                .step()
                .map_err(Error::from)
                .and_then(|()| visit(document))
                .err();
        }
    };
    for_each(store, Table::Pages, &[], &mut |_, row| {
        guarded(decode::<PageRecord>(Table::Pages, row)?.document);
        Ok(())
    })?;
    for_each(store, Table::Robots, &[], &mut |_, row| {
        let row: RobotsRow = decode(Table::Robots, row)?;
        if let Some(document) = row.document {
            guarded(Some(decode(Table::Robots, &document)?));
        }
        Ok(())
    })?;
    failed.map_or(Ok(()), Err)
}

/// Rebuilds the documents and returns the highest number.
fn rebuild_documents(
    store: &dyn Store,
    opening: &Opening,
    documents: &mut Documents,
) -> Result<DocumentId, Error> {
    let mut last = 0;
    for_each_document(store, opening, &mut |document| {
        last = document.id.max(last);
        documents.insert(Arc::new(document));
        if documents.recent() >= REBUILD_CHUNK {
            documents.checkpoint()?;
        }
        Ok(())
    })?;
    documents.checkpoint()?;
    Ok(last)
}

/// Removes runs and documents, which know of commits that the store lost. They are rebuilt from it.
pub(super) fn forget_lookups(path: &Path) -> Result<(), Error> {
    let runs = path.join("runs");
    match fs::remove_dir_all(&runs) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            return Err(Error::Runs(runs::Error::Io {
                action: "remove",
                path: runs,
                source,
            }));
        }
        _ => {}
    }
    forget_documents(path)
}

/// Removes the documents, whose fingerprints are no longer valid.
fn forget_documents(path: &Path) -> Result<(), Error> {
    let documents = path.join("documents");
    let failed = |source| {
        let path = documents.clone();
        Error::Documents(dedup::Error::Io { path, source })
    };
    let gone = |result: io::Result<()>| match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    };
    gone(fs::remove_dir_all(&documents)).map_err(failed)?;
    gone(fs::remove_file(documents.with_extension("witness"))).map_err(failed)
}

/// Fills the structures (by index) that start empty because their files cannot be trusted.
fn rebuild_runs(
    store: &dyn Store,
    catalog: &mut Catalog,
    damages: &[usize],
    options: &Options,
    sequence: u64,
) -> Result<(), Error> {
    if damages.is_empty() {
        return Ok(());
    }
    let opening = &options.opening;
    let covered = catalog.sequence().max(sequence);
    let mut waiting = 0;
    if damages.contains(&SEEN_RUNS) {
        let (mut failed, mut stopped) = (None, None);
        let mut add = |key: u64| {
            catalog[SEEN_RUNS].insert(key, 0);
            waiting += 1;
            if let Err(error) = opening.step() {
                stopped.get_or_insert(error);
                return;
            }
            if waiting >= REBUILD_CHUNK {
                waiting = 0;
                if let Err(error) = catalog.checkpoint(covered) {
                    failed.get_or_insert(error);
                }
            }
        };
        for_each(store, Table::Pages, &[], &mut |key, _| {
            if let Ok(id) = key.try_into() {
                add(UrlId::from_bytes(id).key());
            }
            Ok(())
        })?;
        for_each(store, Table::Queue, &[], &mut |key, row| {
            if let Some((_, _, block)) = Block::of_row(key, row)? {
                block.urls.iter().for_each(|(_, it)| add(key_of(it).key()));
            }
            Ok(())
        })?;
        for_each(store, Table::Deferred, &[], &mut |_, row| {
            add(deferred::id_of(row)?.key());
            Ok(())
        })?;
        if let Some(stopped) = stopped {
            return Err(Error::from(stopped));
        }
        if let Some(error) = failed {
            return Err(error.into());
        }
    }
    let lost: Vec<usize> = damages
        .iter()
        .filter_map(|structure| structure.checked_sub(DEDUP_RUNS))
        .collect();
    if !lost.is_empty() {
        for_each_document(store, opening, &mut |document| {
            for posting in dedup::postings(&document, &options.features) {
                if lost.contains(&usize::from(posting.structure)) {
                    catalog[DEDUP_RUNS + usize::from(posting.structure)]
                        .insert(posting.key, posting.document);
                    waiting += 1;
                }
            }
            if waiting >= REBUILD_CHUNK {
                waiting = 0;
                catalog.checkpoint(covered)?;
            }
            Ok(())
        })?;
    }
    for damage in damages {
        catalog[*damage].rebuilt();
    }
    Ok(catalog.checkpoint(covered)?)
}
