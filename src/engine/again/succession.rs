//! What becomes of a cluster whose original is gone, or is another page by now: its best member is
//! visited at once, and the others when that visit is over.
//!
//! If the member still has what it had, it is like nothing that stands, so it becomes the original, and
//! the others find it when they are visited. If it is gone too, or cannot be had, the next best is
//! asked. Nothing is believed that no visit has shown: which member is still there, and what it says
//! by now, only its server knows. No body has to be stored again for that: the archive keeps the one that it
//! has, and the successor's record refers to it where the bytes are the same.
//!
//! A cluster may have a million members, so this is done some at a time, between commits, and how far
//! it is stands in the store.

use serde::{Deserialize, Serialize};

use super::queue::{Asking, ROWS_PER_COMMIT, queue_revisit};
use crate::dedup::DocumentId;
use crate::engine::Error;
use crate::engine::commit::WriteSet;
use crate::rows::{PAGES, PageRecord};
use crate::store::{Table, decode, encode, keys};
use crate::url::UrlId;

/// Clusters that are looked at in one commit.
const CLUSTERS: usize = 16;

/// The row of a cluster without an original, in `Meta`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Orphaned {
    /// The best member from this row of `Clusters` on is to be visited.
    Ask(Vec<u8>),
    /// All members from this row on are to be visited.
    Release(Vec<u8>),
}

/// The row of a cluster whose best member was asked, in `Meta`: which, and its row in `Clusters`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Asked {
    member: UrlId,
    row: Vec<u8>,
}

/// After a page was visited again: whether it leaves a cluster without an original, and whether one
/// waited for it. `original` is the document that it is the original by, if it is one now.
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
        // It is gone and has no row any more, or it could not be had and has to wait.
        false => Orphaned::Ask([&asked.row[..], &[0]].concat()),
    };
    mark_orphaned(before.of, &next, set);
    Ok(())
}

fn mark_orphaned(cluster: DocumentId, how: &Orphaned, set: &mut WriteSet) {
    let key = keys::by_document(keys::meta::ORPHANED, cluster);
    set.batch.put(Table::Meta, key, encode(how));
    set.has_orphans = true;
}

/// Has members of some clusters without an original visited; whether there may be more such.
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

/// Has the best member from a row on visited; what is to be done next with the cluster.
fn ask(cluster: DocumentId, from: &[u8], set: &mut WriteSet) -> Result<Option<Orphaned>, Error> {
    let prefix = keys::members(cluster);
    let rows = set.store.range(Table::Clusters, &prefix, from, 1)?;
    let Some((row, _)) = rows.into_iter().next() else {
        // All were asked; those that could not be had are asked once more, together.
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

/// Has the members from a row on visited, as long as there is room; what is left.
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

/// Queues a member's next visit now, unless it waits already; false if it is no member.
fn queue_now(cluster: DocumentId, id: UrlId, set: &mut WriteSet) -> Result<bool, Error> {
    let Some(page) = PAGES.get(&*set.store, id.as_bytes())? else {
        return Ok(false);
    };
    if page.duplicate().is_none_or(|it| it.of != cluster) {
        return Ok(false);
    }
    // A page without a row is given one soon, and one whose row is gone is queued.
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
