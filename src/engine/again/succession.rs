//! Succession: what becomes of a cluster whose original is gone or has become another page. Its
//! best member is visited at once, and the others when that visit is over.
//!
//! If the member is still the same, no live original matches it, so it becomes the original, and
//! the others find it when they are visited. If it is gone too, or cannot be fetched, the next best
//! is tried. Nothing is assumed without a visit: whether a member still exists, and what it says
//! now, only its server knows. No body has to be stored again for that: the archive keeps the one
//! that it has, and the successor's record refers to it if the bytes are the same.
//!
//! A cluster may have a million members, so this is done some at a time, between commits, and its
//! progress is in the store.

use serde::{Deserialize, Serialize};

use super::queue::{Asking, ROWS_PER_COMMIT, queue_revisit};
use crate::dedup::DocumentId;
use crate::engine::Error;
use crate::engine::commit::WriteSet;
use crate::rows::{PAGES, PageRecord};
use crate::store::{Table, decode, encode, keys};
use crate::url::UrlId;

/// Number of clusters examined per commit.
const CLUSTERS: usize = 16;

/// The row in `Meta` of a cluster without an original.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Orphaned {
    /// Visit the best member from this row of `Clusters` on.
    Ask(Vec<u8>),
    /// Visit all members from this row on.
    Release(Vec<u8>),
}

/// The row in `Meta` of a cluster whose best member is being visited: that member, and its row in
/// `Clusters`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Asked {
    member: UrlId,
    row: Vec<u8>,
}

/// Updates the rows after a revisit: the page may leave a cluster without an original, or one may
/// have waited for it. `original` is the document by which it is an original now, if it is one.
pub(super) fn note(
    id: UrlId,
    previous: &PageRecord,
    (page, original): (&PageRecord, Option<DocumentId>),
    set: &mut WriteSet,
) -> Result<(), Error> {
    if let Some(before) = previous.original().map(|document| document.id)
        && original != Some(before)
    {
        mark_orphaned(before, &Orphaned::Ask(Vec::new()), set);
    }
    let Some(before) = previous.duplicate() else {
        return Ok(());
    };
    let key = keys::by_document(keys::meta::ASKED, before.of);
    let Some(row) = set.store.get(Table::Meta, &key)? else {
        return Ok(());
    };
    let asked: Asked = decode(Table::Meta, &row)?;
    if asked.member != id {
        return Ok(());
    }
    set.batch.delete(Table::Meta, key);
    let is_elsewhere = page.duplicate().is_some_and(|it| it.of != before.of);
    let next = match original.is_some() || is_elsewhere {
        true => Orphaned::Release(Vec::new()),
        // It is gone and has no row any more, or it could not be fetched and has to wait.
        false => Orphaned::Ask([&asked.row[..], &[0]].concat()),
    };
    mark_orphaned(before.of, &next, set);
    Ok(())
}

/// Has the members visited of a cluster whose original another shard says to be gone.
pub(crate) fn orphan(cluster: DocumentId, set: &mut WriteSet) {
    mark_orphaned(cluster, &Orphaned::Ask(Vec::new()), set);
}

fn mark_orphaned(cluster: DocumentId, how: &Orphaned, set: &mut WriteSet) {
    let key = keys::by_document(keys::meta::ORPHANED, cluster);
    set.batch.put(Table::Meta, key, encode(how));
    set.has_orphans = true;
}

/// Has members of some clusters without an original visited. Returns whether there may be more such
/// clusters.
pub(super) fn advance(set: &mut WriteSet) -> Result<bool, Error> {
    let prefix = keys::meta::ORPHANED;
    let rows = set.store.range(Table::Meta, prefix, prefix, CLUSTERS)?;
    let has_orphans = !rows.is_empty();
    let mut room = ROWS_PER_COMMIT;
    for (key, row) in rows {
        let Some(cluster) = keys::parse_by_document(prefix, &key) else {
            set.batch.delete(Table::Meta, key);
            continue;
        };
        let next = match decode(Table::Meta, &row)? {
            Orphaned::Ask(from) => ask(cluster, &from, set)?,
            Orphaned::Release(from) => release(cluster, &from, &mut room, set)?,
        };
        match next {
            Some(next) => set.batch.put(Table::Meta, key, encode(&next)),
            None => set.batch.delete(Table::Meta, key),
        }
        if room == 0 {
            break;
        }
    }
    Ok(has_orphans)
}

/// Has the best member from a row on visited. Returns what to do next with the cluster.
fn ask(cluster: DocumentId, from: &[u8], set: &mut WriteSet) -> Result<Option<Orphaned>, Error> {
    let prefix = keys::members(cluster);
    let rows = set.store.range(Table::Clusters, &prefix, from, 1)?;
    let Some((row, _)) = rows.into_iter().next() else {
        // All were visited; those that could not be fetched are tried once more, together.
        return Ok((!from.is_empty()).then(|| Orphaned::Release(Vec::new())));
    };
    let Some((_, id)) = keys::parse_member(&row) else {
        return Ok(None);
    };
    let id = UrlId::from_bytes(id);
    if !queue_now(cluster, id, set)? {
        set.batch.delete(Table::Clusters, row.clone());
        return Ok(Some(Orphaned::Ask([&row[..], &[0]].concat())));
    }
    let key = keys::by_document(keys::meta::ASKED, cluster);
    let asked = Asked { member: id, row };
    set.batch.put(Table::Meta, key, encode(&asked));
    Ok(None)
}

/// Has the members from a row on visited, as many as fit. Returns what is left.
fn release(
    cluster: DocumentId,
    from: &[u8],
    room: &mut usize,
    set: &mut WriteSet,
) -> Result<Option<Orphaned>, Error> {
    let prefix = keys::members(cluster);
    let rows = set.store.range(Table::Clusters, &prefix, from, *room)?;
    for (row, _) in &rows {
        if let Some((_, id)) = keys::parse_member(row)
            && !queue_now(cluster, UrlId::from_bytes(id), set)?
        {
            set.batch.delete(Table::Clusters, row.clone());
        }
    }
    let is_more = rows.len() == *room;
    *room -= rows.len();
    let last = rows.last().filter(|_| is_more);
    Ok(last.map(|(row, _)| Orphaned::Release([row, &[0][..]].concat())))
}

/// Queues a member's next visit now, unless it is queued already. Returns `false` if it is not a
/// member.
fn queue_now(cluster: DocumentId, id: UrlId, set: &mut WriteSet) -> Result<bool, Error> {
    let Some(page) = PAGES.get(&*set.store, id.as_bytes())? else {
        return Ok(false);
    };
    if page.duplicate().is_none_or(|it| it.of != cluster) {
        return Ok(false);
    }
    // A page without a row gets one soon, and one whose row is gone is queued.
    let Some(revisit) = page.revisit else {
        return Ok(true);
    };
    let row = keys::revisit(revisit.due.0, id.as_bytes());
    if set.store.get(Table::Revisits, &row)?.is_some() {
        set.batch.delete(Table::Revisits, row);
        queue_revisit(id, Asking::Always, set)?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests;
