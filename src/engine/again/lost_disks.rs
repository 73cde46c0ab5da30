//! Disks that are gone for good: pages whose records were on one of them are put back as visits
//! whose bodies are stored again, and documents that were there leave the index.
//!
//! A body may be needed by pages whose own records are elsewhere: by copies of it, and by bodies
//! that are kept as what differs from it. These are put back too. What was learned of a page stays
//! known; a visit is due at once, and is compared with nothing that was lost.
//!
//! Parts are committed one by one, with how far it is, so a kill is followed by the rest.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::expiry;
use super::membership::file;
use super::robots::forget_document as forget_robots_document;
use crate::archive::Location;
use crate::dedup::{DocumentId, Stored};
use crate::engine::Error;
use crate::engine::clock::Clock;
use crate::engine::commit::{Committer, WriteSet};
use crate::engine::messages::Opening;
use crate::frontier::{Purpose, QueuedUrl, RobotsState, class_of};
use crate::rows::{Fate, KEPT, Keeper, OtherFiles, PAGES, PageRecord, Revisit};
use crate::store::{Store, Table, decode, encode, keys};
use crate::url::{self, HostKey, Identity, UrlId};

/// Number of documents, and of pages, that are examined in one commit.
const CHUNK: usize = 500;

/// A worker whose disk is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostWorker {
    /// Its name.
    pub name: String,
    /// The last owner of the log of this shard when that was said. Who has the name and began
    /// later has another disk.
    pub through_epoch: u64,
}

/// What was lost with disks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostDisks {
    /// Pages that were put back.
    pub pages: u64,
    /// Documents that left the index.
    pub documents: u64,
}

/// How far it is: the row `losing`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Losing {
    keepers: BTreeSet<u64>,
    stage: Stage,
    lost: LostDisks,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    /// Documents from this one on.
    Documents(DocumentId),
    /// Pages from this key on.
    Pages(Vec<u8>),
}

/// Puts back what was lost with the disks of workers, unless that was done before. Returns what
/// that was; `None` if there is nothing to do. No crawl may be running.
pub(crate) fn put_back_lost(
    committer: &mut Committer,
    workers: &[LostWorker],
    opening: &Opening,
) -> Result<Option<LostDisks>, Error> {
    let mut all = LostDisks::default();
    let mut is_any = false;
    while let Some(losing) = Losing::next(&*committer.store, workers)? {
        is_any = true;
        let lost = losing.finish(committer, opening)?;
        all.pages += lost.pages;
        all.documents += lost.documents;
    }
    Ok(is_any.then_some(all))
}

impl Losing {
    /// Returns what was begun, or what is to be.
    fn next(store: &dyn Store, workers: &[LostWorker]) -> Result<Option<Self>, Error> {
        if let Some(row) = store.get(Table::Meta, keys::meta::LOSING)? {
            return Ok(Some(decode(Table::Meta, &row)?));
        }
        let is_lost = |keeper: &Keeper| {
            let mut workers = workers.iter();
            keeper.lost.is_none()
                && workers.any(|it| it.name == keeper.worker && keeper.epoch <= it.through_epoch)
        };
        let keepers = Keeper::read_all(store)?.into_iter();
        let keepers: BTreeSet<u64> = keepers
            .filter(|(_, keeper)| is_lost(keeper))
            .map(|(number, _)| number)
            .collect();
        Ok((!keepers.is_empty()).then_some(Self {
            keepers,
            stage: Stage::Documents(0),
            lost: LostDisks::default(),
        }))
    }

    fn finish(mut self, committer: &mut Committer, opening: &Opening) -> Result<LostDisks, Error> {
        // Documents are found by their rows on disk.
        committer.checkpoint()?;
        loop {
            opening.step()?;
            let now = Clock::start().now();
            let mut set = committer.write_set(now);
            let next = match &self.stage {
                Stage::Documents(from) => Some(self.documents(*from, committer, &mut set)?),
                Stage::Pages(from) => self.pages(from, committer, &mut set)?,
            };
            self.lost.documents += set.expired.len() as u64;
            let Some((stage, pages)) = next else {
                break;
            };
            (self.stage, self.lost.pages) = (stage, self.lost.pages + pages);
            let row = encode(&self);
            set.batch.put(Table::Meta, keys::meta::LOSING, row);
            committer.write(set)?;
            committer.checkpoint_if_due()?;
        }
        let mut set = committer.write_set(Clock::start().now());
        set.batch.delete(Table::Meta, keys::meta::LOSING);
        let mut pages = Some(self.lost.pages);
        for (number, keeper) in Keeper::read_all(&*committer.store)? {
            if self.keepers.contains(&number) {
                // Counted once, where several are lost together.
                let lost = Some(pages.take().unwrap_or(0));
                Keeper { lost, ..keeper }.put(number, &mut set.batch);
            }
        }
        committer.write(set)?;
        Ok(self.lost)
    }

    /// Takes documents out of the index, and returns where to go on.
    fn documents(
        &self,
        from: DocumentId,
        committer: &mut Committer,
        set: &mut WriteSet,
    ) -> Result<(Stage, u64), Error> {
        let documents = committer.lookups.index.documents();
        let ids = documents.ids(from, CHUNK)?;
        for id in &ids {
            let Some(document) = documents.get(*id)? else {
                continue;
            };
            if self.has_stored(&document.stored) {
                set.expired.push(*id);
                if let Some(host) = forget_robots_document(&document, set)? {
                    // It is asked for before anything else of its host.
                    set.host(&host)?.robots = RobotsState::Unknown;
                }
            }
        }
        if !set.expired.is_empty() {
            expiry::retire(&mut committer.lookups, set);
        }
        let next = match ids.last() {
            Some(last) if ids.len() == CHUNK => Stage::Documents(last + 1),
            _ => Stage::Pages(Vec::new()),
        };
        Ok((next, 0))
    }

    /// Puts back pages. Returns where to go on and how many there were; `None` at the end.
    fn pages(
        &self,
        from: &[u8],
        committer: &Committer,
        set: &mut WriteSet,
    ) -> Result<Option<(Stage, u64)>, Error> {
        let rows = committer.store.range(Table::Pages, &[], from, CHUNK)?;
        let Some((last, _)) = rows.last() else {
            return Ok(None);
        };
        let next = Stage::Pages([last, &[0][..]].concat());
        let mut count = 0;
        for (key, row) in &rows {
            let Ok(id) = key.as_slice().try_into().map(UrlId::from_bytes) else {
                continue;
            };
            let page = PAGES.decode(row)?;
            if self.is_lost(id, &page, committer)? {
                let stored = page.document.as_ref().map(|document| document.stored);
                let keeps_document = !stored.is_some_and(|stored| self.has_stored(&stored));
                let of = (id, keeps_document);
                count += u64::from(put_back(of, page, &committer.gate.identity, set)?);
            }
        }
        set.end_receipt();
        Ok(Some((next, count)))
    }

    /// Whether something of a page is lost: its record, its body, or what its body rests on.
    fn is_lost(&self, id: UrlId, page: &PageRecord, committer: &Committer) -> Result<bool, Error> {
        let has = |place: &Location| self.has(place.segment);
        if page.record.as_ref().is_some_and(|(_, place)| has(place)) {
            return Ok(true);
        }
        let stored = page.document.as_ref().map(|document| &document.stored);
        if stored.is_some_and(|stored| self.has_stored(stored)) {
            return Ok(true);
        }
        if let Some(kept) = KEPT.get(&*committer.store, id.as_bytes())?
            && (kept.base.as_ref().is_some_and(has)
                || kept.pack.as_ref().is_some_and(|(pack, _)| has(pack)))
        {
            return Ok(true);
        }
        let retired = committer.lookups.catalog.retired();
        Ok(page.duplicate().is_some_and(|it| retired.contains(it.of)))
    }

    fn has(&self, segment: u32) -> bool {
        let mut keepers = self.keepers.iter();
        keepers.any(|keeper| OtherFiles::keeper_of(segment) == *keeper)
    }

    fn has_stored(&self, stored: &Stored) -> bool {
        !stored.is_elsewhere() && self.has(stored.segment)
    }
}

/// Queues a page whose body is to be stored again, unless it is queued. Returns `false` if it was
/// never answered, so that there is no body.
fn put_back(
    (id, keeps_document): (UrlId, bool),
    before: PageRecord,
    identity: &Identity,
    set: &mut WriteSet,
) -> Result<bool, Error> {
    let now = set.now;
    let is_queued = match before.revisit {
        Some(revisit) if revisit.due <= now => {
            let key = keys::revisit(revisit.due.0, id.as_bytes());
            set.store.get(Table::Revisits, &key)?.is_none()
        }
        _ => false,
    };
    let Some(page) = set.page(id)? else {
        return Ok(false);
    };
    (page.record, page.validators) = (None, None);
    if !keeps_document {
        page.document = None;
    }
    let is_answered = match page.fate {
        Fate::Answered { .. } => {
            // Of another mark, so that the visit is not taken for one that found the same.
            let interval = before.revisit.map_or(0, |it| it.interval);
            page.revisit = Some(Revisit {
                due: now,
                interval,
                mark: 0,
            });
            true
        }
        Fate::Sitemap { .. } | Fate::Requisite { .. } => true,
        Fate::Failed { .. } | Fate::FailedRequisite { .. } | Fate::Known { .. } => false,
    };
    let after = page.clone();
    let Ok(url) = url::parse(&before.url) else {
        return Ok(false);
    };
    let host = HostKey::of(&url);
    file((id, &host), Some(&before), &after, identity, set)?;
    if let Some(document) = before.document.as_ref().filter(|_| !keeps_document) {
        set.set_grouped(keys::without_digits(document.id), None);
    }
    set.set_grouped(keys::group(id.as_bytes()), None);
    set.unkept.push(id);
    if let Some(revisit) = before.revisit.filter(|_| !is_queued) {
        let key = keys::revisit(revisit.due.0, id.as_bytes());
        set.batch.delete(Table::Revisits, key);
    }
    if is_answered && !is_queued {
        let queued = QueuedUrl {
            via: before.via,
            depth: before.depth,
            revisit: before.purpose() == Purpose::Page,
            purpose: before.purpose(),
            ..QueuedUrl::new(before.url, id)
        };
        set.queue_in(class_of(queued.depth), queued, host)?;
    }
    Ok(is_answered)
}
