//! Forgetting what nobody has seen for long: documents whose page, and whose duplicates, were not met for
//! longer than configured leave the index. What the archive keeps of them stays; a page like one of
//! them is new when it is met again.
//!
//! The documents are looked through from the first to the last, some at a time, between commits. Who
//! expires is in the same batch and in the same delta, so a kill forgets nothing by halves. The space
//! comes back: rows of sled are removed and its folder is built anew at a start when more than half of
//! it is gone; the witness column gives back the blocks of its file; run files leave out such
//! keys whenever they are merged, and are all merged when half of the documents are gone.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Error;
use super::committer::{Committer, DEDUP_RUNS};
use super::effects::Group;
use super::visit::Judged;
use crate::dedup::{Document, DocumentId};
use crate::frontier::{Moment, RobotsRow};
use crate::rows::PAGES;
use crate::rows::PageRecord;
use crate::runs::{RETIRED_CHUNK, Retired};
use crate::store::{Store, Table, decode, encode, for_each, keys};
use crate::url::{HostKey, parse};

/// Documents looked at in one commit.
const CHUNK: usize = 500;
/// By this part of the time a last sight may be too early, and a pass too late: what is seen often is
/// not written often.
const GRAIN: u32 = 16;
/// Fewer dead rows are not worth a rebuild.
const FEW: u64 = 100;

/// How far a run has looked for what expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Expiry {
    /// How long nobody must have seen a document; `None`: none expires.
    pub(super) after: Option<Duration>,
    /// When there is something to be looked at.
    next: Moment,
    /// The first document to look at then.
    from: DocumentId,
}

impl Expiry {
    pub(super) fn new(after: Option<Duration>) -> Self {
        Self {
            after,
            next: Moment(0),
            from: 0,
        }
    }
}

/// Microseconds since 1970, so long before a moment.
fn before(now: Moment, wait: Duration) -> i64 {
    let wait = i64::try_from(wait.as_micros()).unwrap_or(i64::MAX);
    now.micros().saturating_sub(wait)
}

impl Committer {
    /// How long nothing is to be done here.
    pub(super) fn until_expiry(&self, now: Moment) -> Duration {
        match self.expiry.after {
            Some(_) => now.until(self.expiry.next),
            None => Duration::MAX,
        }
    }

    /// Looks at some documents, and forgets those that nobody has seen for long.
    pub(super) fn expire(&mut self, now: Moment) -> Result<(), Error> {
        let Some(after) = self.expiry.after else {
            return Ok(());
        };
        if !self.until_expiry(now).is_zero() {
            return Ok(());
        }
        let ids = self.index.documents().ids(self.expiry.from, CHUNK)?;
        let is_over = ids.len() < CHUNK;
        self.expiry.from = match ids.last() {
            Some(last) if !is_over => last + 1,
            _ => 0,
        };
        if is_over {
            self.expiry.next = now.plus((after / GRAIN).max(Duration::from_mins(1)));
        }
        let limit = before(now, after);
        let mut group = Group::at(now);
        let mut expired = Vec::new();
        for id in ids {
            // What no checkpoint has written is young.
            if id <= self.disk.documents_checkpointed
                && let Some(document) = self.index.documents().get(id)?
                && self.forget(&document, limit, &mut group)?
            {
                expired.push(id);
            }
        }
        if expired.is_empty() {
            return Ok(());
        }
        self.catalog.retire(DEDUP_RUNS, expired.iter().copied());
        let chunks: BTreeSet<u64> = expired.iter().map(|id| id / RETIRED_CHUNK).collect();
        for chunk in chunks {
            let key = keys::by_document(keys::meta::RETIRED, chunk);
            let bytes = self.catalog.retired().chunk(chunk);
            group.batch.put(Table::Meta, key, bytes);
        }
        let count = expired.len() as u64;
        tracing::debug!(count, "documents expired");
        self.disk.unpurged += count;
        self.disk.dead_rows += count;
        if self.is_mostly_dead(self.disk.unpurged) {
            self.disk.unpurged = 0;
            self.disk.is_purging = true;
            self.catalog.purge();
        }
        group.delta.expired.clone_from(&expired);
        self.write(group)?;
        for id in expired {
            self.index.documents_mut().remove(id);
        }
        Ok(())
    }

    fn is_mostly_dead(&self, dead: u64) -> bool {
        is_mostly_dead(dead, self.state.last_document, self.catalog.retired())
    }

    /// Takes a document out of the rows that carry it if it was not seen since `limit`; false if it was.
    fn forget(&self, document: &Document, limit: i64, group: &mut Group) -> Result<bool, Error> {
        if let Some(mut page) = PAGES.get(&*self.store, document.url_id.as_bytes())?
            && page
                .document
                .as_ref()
                .is_some_and(|own| own.id == document.id)
        {
            if page.last_seen >= limit {
                return Ok(false);
            }
            page.document = None;
            let key = *document.url_id.as_bytes();
            group.batch.put(Table::Pages, key, encode(&page));
            return Ok(true);
        }
        if document.fetched >= limit {
            return Ok(false);
        }
        // A robots.txt, or what a page was before it changed.
        if let Ok(url) = parse(&document.url) {
            let host = HostKey::of(&url);
            if let Some(row) = self.store.get(Table::Robots, host.as_str().as_bytes())? {
                let mut row: RobotsRow = decode(Table::Robots, &row)?;
                let own = row.document.as_deref();
                let own = own.and_then(|own| decode::<Document>(Table::Robots, own).ok());
                if own.is_some_and(|own| own.id == document.id) {
                    row.document = None;
                    group.batch.put(Table::Robots, host.as_str(), encode(&row));
                }
            }
        }
        Ok(true)
    }

    /// Notes that a duplicate of a page was seen.
    pub(super) fn see_original(&self, judged: &Judged, group: &mut Group) -> Result<(), Error> {
        let (Some(after), Some(repeats)) = (self.expiry.after, judged.verdict.repeats()) else {
            return Ok(());
        };
        let id = repeats.original.url_id;
        if id == judged.analysed.fetched.task.queued.id {
            return Ok(());
        }
        let is_due = |page: &PageRecord| {
            let is_it = |own: &Document| own.id == repeats.original.id;
            page.last_seen < before(group.now, after / GRAIN) && page.original().is_some_and(is_it)
        };
        if PAGES
            .get(&*self.store, id.as_bytes())?
            .is_some_and(|page| is_due(&page))
        {
            let now = group.now.micros();
            if let Some(page) = group.page(&*self.store, id)? {
                page.last_seen = page.last_seen.max(now);
            }
        }
        Ok(())
    }
}

/// Whether as many documents are dead as live.
pub(super) fn is_mostly_dead(dead: u64, last: DocumentId, retired: &Retired) -> bool {
    dead >= FEW && dead >= last.saturating_sub(retired.len())
}

/// What expired in earlier runs.
pub(super) fn read_retired(store: &dyn Store) -> Result<Retired, Error> {
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
