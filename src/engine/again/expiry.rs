//! Expiry: documents leave the index if neither their page nor any duplicate of it was seen for
//! longer than configured. Their archived responses stay; a page like one of them is new when it is
//! found again.
//!
//! Documents are examined from the first to the last, some at a time, between commits. What expires
//! is in the same batch and the same delta, so a kill never leaves a document half expired. The
//! space is reclaimed: rows of sled are removed, and its directory is rebuilt at a start when more
//! than half of it is dead; the witness column releases the blocks of its file; run files omit such
//! keys whenever they are merged, and are all merged when half of the documents have expired.

use std::collections::BTreeSet;
use std::time::Duration;

use super::robots::forget_document as forget_robots_document;
use crate::dedup::{Document, DocumentId};
use crate::engine::Error;
use crate::engine::commit::{DEDUP_RUNS, Lookups, WriteSet};
use crate::engine::visit::Judged;
use crate::frontier::Moment;
use crate::rows::PageRecord;
use crate::runs::{RETIRED_CHUNK, Retired};
use crate::store::{Store, Table, for_each, keys};

/// Number of documents examined per commit.
const CHUNK: usize = 500;
/// A last sighting may be recorded too early, and a pass may be too late, by this fraction of the
/// time: what is seen often need not be written often.
const GRAIN: u32 = 16;
/// Fewer dead rows than this are not worth a rebuild.
const FEW: u64 = 100;

/// How far a run has examined the documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Expiry {
    /// Time after which a document that was not seen expires; `None` for never.
    pub(crate) after: Option<Duration>,
    /// When there is something to examine.
    next: Moment,
    /// The first document to examine then.
    from: DocumentId,
}

impl Expiry {
    pub(crate) fn new(after: Option<Duration>) -> Self {
        Self {
            after,
            next: Moment(0),
            from: 0,
        }
    }
}

/// Returns the moment `wait` before `now`, in microseconds since 1970.
fn before(now: Moment, wait: Duration) -> i64 {
    let wait = i64::try_from(wait.as_micros()).unwrap_or(i64::MAX);
    now.micros().saturating_sub(wait)
}

impl Expiry {
    /// Returns the time until there is something to do.
    pub(crate) fn until(&self, now: Moment) -> Duration {
        match self.after {
            Some(_) => now.until(self.next),
            None => Duration::MAX,
        }
    }

    /// Examines some documents, and expires those that were not seen for long.
    pub(crate) fn advance(
        &mut self,
        lookups: &mut Lookups,
        set: &mut WriteSet,
    ) -> Result<(), Error> {
        let Some(after) = self.after else {
            return Ok(());
        };
        let ids = lookups.index.documents().ids(self.from, CHUNK)?;
        let is_over = ids.len() < CHUNK;
        self.from = match ids.last() {
            Some(last) if !is_over => last + 1,
            _ => 0,
        };
        if is_over {
            let pause = (after / GRAIN).max(Duration::from_mins(1));
            self.next = set.now.plus(pause);
        }
        let limit = before(set.now, after);
        for id in ids {
            // Documents that no checkpoint has written are young.
            if id <= set.disk.documents_checkpointed
                && let Some(document) = lookups.index.documents().get(id)?
                && forget(&document, limit, set)?
            {
                set.expired.push(id);
            }
        }
        if !set.expired.is_empty() {
            retire(lookups, set);
        }
        Ok(())
    }

    /// Records in an original's page record that a duplicate of it was seen.
    pub(crate) fn see_original(
        &self,
        judged: &Judged<'_>,
        set: &mut WriteSet,
    ) -> Result<(), Error> {
        let (Some(after), Some(repeat)) = (self.after, judged.verdict.repeats()) else {
            return Ok(());
        };
        let id = repeat.original.url_id;
        if id == judged.analysed.fetched.task.queued.id {
            return Ok(());
        }
        let now = set.now;
        let is_due = |page: &PageRecord| {
            let is_it = |own: &Document| own.id == repeat.original.id;
            page.last_seen < before(now, after / GRAIN) && page.original().is_some_and(is_it)
        };
        if set.committed_page(id)?.is_some_and(|page| is_due(&page))
            && let Some(page) = set.page(id)?
        {
            page.last_seen = page.last_seen.max(now.micros());
        }
        Ok(())
    }
}

/// Retires expiring documents in the runs, and purges these when half of all documents have
/// expired.
pub(crate) fn retire(lookups: &mut Lookups, set: &mut WriteSet) {
    let catalog = &mut lookups.catalog;
    catalog.retire(DEDUP_RUNS, set.expired.iter().copied());
    let chunks: BTreeSet<u64> = set.expired.iter().map(|id| id / RETIRED_CHUNK).collect();
    for chunk in chunks {
        let key = keys::by_document(keys::meta::RETIRED, chunk);
        set.batch
            .put(Table::Meta, key, catalog.retired().chunk(chunk));
    }
    let count = set.expired.len() as u64;
    tracing::debug!(count, "documents expired");
    let (disk, last) = (&mut set.disk, set.state.last_document);
    disk.unpurged += count;
    disk.dead_rows += count;
    if is_mostly_dead(disk.unpurged, last, catalog.retired()) {
        disk.unpurged = 0;
        disk.is_purging = true;
        catalog.purge();
    }
}

/// Removes a document from the rows that contain it, if it was not seen since `limit`. Returns
/// `false` if it was.
fn forget(document: &Document, limit: i64, set: &mut WriteSet) -> Result<bool, Error> {
    let page = set.committed_page(document.url_id)?;
    let is_its = |page: &PageRecord| {
        let own = page.document.as_ref();
        own.is_some_and(|own| own.id == document.id)
    };
    if let Some(page) = page.filter(is_its) {
        if page.last_seen >= limit {
            return Ok(false);
        }
        if let Some(page) = set.page(document.url_id)? {
            page.document = None;
        }
        return Ok(true);
    }
    if document.fetched >= limit {
        return Ok(false);
    }
    // A robots.txt, or an earlier state of a page that has changed.
    forget_robots_document(document, set)?;
    Ok(true)
}

/// Returns `true` if as many documents are dead as live.
pub(crate) fn is_mostly_dead(dead: u64, last: DocumentId, retired: &Retired) -> bool {
    dead >= FEW && dead >= last.saturating_sub(retired.len())
}

/// Reads what expired in earlier runs.
pub(crate) fn read_retired(store: &dyn Store) -> Result<Retired, Error> {
    let mut retired = Retired::default();
    let prefix = keys::meta::RETIRED;
    for_each(store, Table::Meta, prefix, &mut |key, bytes| {
        if let Some(chunk) = keys::parse_by_document(prefix, key) {
            retired.restore(chunk, bytes);
        }
        Ok(())
    })?;
    Ok(retired)
}
