//! What the committer does while something is being forgotten: each part is one commit.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Collected, Committer, Taken};
use crate::dedup::DocumentId;
use crate::engine::Error;
use crate::engine::again::{file_gone, forget_robots_document, retire};
use crate::engine::commit::write_set::WriteSet;
use crate::engine::forget::part::{ForgetCursor, ForgetDone, ForgetPart, Found, What};
use crate::engine::forget::selected::{Forgetting, Selected, of_record};
use crate::engine::visit::{Analysed, Receipt};
use crate::fetch::FailureClass;
use crate::frontier::{Forgotten, Moment, Purpose, QueuedUrl, Selection, ids_of};
use crate::journal::Position;
use crate::learn::Ledger;
use crate::rows::{BroughtBack, Counters, Fate, Judgement, LeftOut, PageRecord, VisitVerdict};
use crate::store::{Table, decode, encode, for_each, keys};
use crate::url::{self, HostKey, UrlId};

/// Number of documents of a part.
const DOCUMENTS: usize = 1_000;

impl Committer {
    /// Does a part of what is to be forgotten, and replies to whoever waits.
    pub(crate) fn forget(
        &mut self,
        part: ForgetPart,
        visits: Vec<Analysed>,
        now: Moment,
    ) -> Result<Vec<Receipt>, Error> {
        let takedown = Takedown {
            committer: self,
            now,
        };
        takedown.take(part, visits)
    }
}

/// A part of a takedown, in the committer's hands.
struct Takedown<'a> {
    committer: &'a mut Committer,
    now: Moment,
}

impl Takedown<'_> {
    fn take(mut self, mut part: ForgetPart, visits: Vec<Analysed>) -> Result<Vec<Receipt>, Error> {
        let done = &mut part.done;
        let mut receipts = Vec::new();
        match part.what {
            What::Begin(selection) => self.begin(&selection)?,
            What::Back(selection, by) => receipts = self.bring_back(&selection, by)?,
            What::Documents(from) => done.next = Some(self.drop_documents(from)?),
            What::Note(found) => self.note(found)?,
            What::Orphans(orphans) => receipts = self.rehome(orphans, visits, done)?,
            What::Remove(pages) => done.pages = self.remove(&pages)?,
            What::Erased(rows) => {
                let mut set = self.committer.write_set(self.now);
                for row in rows {
                    set.batch.delete(Table::Meta, row);
                }
                self.committer.write(set)?;
            }
            What::Nothing => {}
            What::End => self.end()?,
        }
        if let Some(reply) = part.reply.take() {
            // Whoever asked may be gone.
            let _ = reply.send(part.done);
        }
        Ok(receipts)
    }

    /// From here on nothing that is selected is admitted, and what is in the archives so far is in
    /// files that are closed, none of which leaves.
    fn begin(&mut self, selection: &Selection) -> Result<(), Error> {
        self.committer.is_forgetting = true;
        self.committer.pack(self.now)?;
        self.committer.close_files()?;
        let identity = &self.committer.gate.identity;
        let begun = Forgetting::read(&*self.committer.store)?.unwrap_or_default();
        let forgetting = Forgetting::of(selection, identity).and(begun);
        let mut forgotten = self.forgotten();
        let has_urls = !forgetting.urls.is_empty();
        if forgotten.add(&forgetting.rules, has_urls).is_err() {
            return Err(Error::Internal("there are too many rules".to_owned()));
        }
        let mut set = self.committer.write_set(self.now);
        for id in &forgetting.urls {
            Forgotten::put_url(*id, self.now.0, &mut set.batch);
        }
        set.batch
            .put(Table::Meta, keys::meta::FORGETTING, encode(&forgetting));
        self.write_with(set, forgotten)?;
        // Documents are found by their rows on disk.
        self.committer.checkpoint()
    }

    /// Lets what is selected come back: single URLs at once, others as they are linked again.
    fn bring_back(
        &mut self,
        selection: &Selection,
        by: Option<BroughtBack>,
    ) -> Result<Vec<Receipt>, Error> {
        let mut forgotten = self.forgotten();
        forgotten.take_back(&selection.into());
        let mut set = self.committer.collect(self.now, |judge, group| {
            for url in selection.urls.iter().filter_map(|it| url::parse(it).ok()) {
                for id in ids_of(&url, &judge.gate.identity) {
                    Forgotten::remove_url(id, &mut group.set.batch);
                }
                let host = HostKey::of(&url);
                // All shards are told.
                if judge.gate.shards.of(&host) != judge.gate.shards.own() {
                    continue;
                }
                let id = judge.gate.identity.id(&url);
                group.see(id);
                let queued = QueuedUrl::new(url.to_string(), id);
                group.set.queue(queued, host)?;
            }
            group.set.end_receipt();
            Ok(())
        })?;
        if let Some(by) = by {
            by.put(&mut set.batch);
        }
        self.write_with(set, forgotten)
    }

    /// Writes a set with what is forgotten from now on.
    fn write_with(
        &mut self,
        mut set: WriteSet,
        forgotten: Forgotten,
    ) -> Result<Vec<Receipt>, Error> {
        forgotten.put(&mut set.batch);
        let receipts = self.committer.write(set)?;
        self.committer.gate.forgotten.0.store(Arc::new(forgotten));
        Ok(receipts)
    }

    fn forgotten(&self) -> Forgotten {
        Forgotten::clone(&self.committer.gate.forgotten.0.load())
    }

    fn selected(&self) -> Result<Selected, Error> {
        let forgetting = Forgetting::read(&*self.committer.store)?.unwrap_or_default();
        Ok(Selected::new(
            forgetting,
            self.committer.gate.identity.clone(),
        ))
    }

    /// Takes documents out of the index, from one on, and returns where to continue.
    fn drop_documents(&mut self, from: DocumentId) -> Result<ForgetCursor, Error> {
        let selected = self.selected()?;
        let mut set = self.committer.write_set(self.now);
        let ids = self
            .committer
            .lookups
            .index
            .documents()
            .ids(from, DOCUMENTS)?;
        for id in &ids {
            let Some(document) = self.committer.lookups.index.documents().get(*id)? else {
                continue;
            };
            let is_meant = selected.has(&document.url);
            let rests = document.stored_for.as_deref();
            if is_meant || rests.is_some_and(|of| selected.has(&of.url)) {
                set.expired.push(*id);
                forget_robots_document(&document, &mut set)?;
            }
        }
        if !set.expired.is_empty() {
            retire(&mut self.committer.lookups, &mut set);
            self.committer.write(set)?;
        }
        Ok(match ids.last() {
            Some(last) if ids.len() == DOCUMENTS => ForgetCursor::Documents(last + 1),
            _ => ForgetCursor::Log(Position::default()),
        })
    }

    fn note(&mut self, found: Found) -> Result<(), Error> {
        let mut set = self.committer.write_set(self.now);
        found.put(&mut set.batch);
        for id in &found.orphans {
            let key = [keys::meta::ORPHAN_PAGE, id].concat();
            set.batch.put(Table::Meta, key, Vec::new());
        }
        for key in found.groups {
            set.set_grouped(key, None);
        }
        for key in found.earlier {
            set.batch.delete(Table::Earlier, key);
        }
        self.committer.write(set).map(drop)
    }

    /// Judges pages again that rest on what goes, as far as they are as they were found.
    fn rehome(
        &mut self,
        orphans: Vec<(UrlId, PageRecord)>,
        mut visits: Vec<Analysed>,
        done: &mut ForgetDone,
    ) -> Result<Vec<Receipt>, Error> {
        let mut judged = Vec::new();
        let mut lost = Vec::new();
        let mut settled = Vec::new();
        for (id, page) in orphans {
            settled.push([keys::meta::ORPHAN_PAGE, id.as_bytes()].concat());
            let known = self.committer.write_set(self.now).committed_page(id)?;
            let is_it = |visit: &Analysed| visit.fetched.task.queued.id == id;
            if known.as_ref() != Some(&page) {
                // It was visited meanwhile, and judged by what is left.
                visits.retain(|visit| !is_it(visit));
            } else if visits.iter().any(is_it) {
                judged.push((id, page));
            } else {
                lost.push((id, page));
            }
        }
        let mut set = match self.committer.judge(&visits, &Taken::default())? {
            Collected::Changes(set) => *set,
            Collected::Panicked => {
                // A page on which judging fails is one that cannot be read.
                lost.append(&mut judged);
                self.committer.write_set(self.now)
            }
        };
        let counters = self.committer.state.counters.clone();
        set.state.counters = Counters {
            queued: set.state.counters.queued,
            parked: set.state.counters.parked,
            parked_hosts: set.state.counters.parked_hosts,
            ..counters
        };
        for (id, before) in &judged {
            self.settle(*id, before, &mut set)?;
        }
        for (id, page) in &lost {
            visit_again(*id, page, &mut set)?;
        }
        set.receipts.clear();
        set.end_receipt();
        for key in settled {
            set.batch.delete(Table::Meta, key);
        }
        done.rehomed = judged.len() as u64;
        done.refetched = lost.len() as u64;
        self.committer.write(set)
    }

    /// Takes over what the judge left to visits, and notes what is to be overwritten of the record
    /// that the page had.
    fn settle(&self, id: UrlId, before: &PageRecord, set: &mut WriteSet) -> Result<(), Error> {
        let erasures = of_record(&*self.committer.store, &self.committer.names, id, before)?;
        for erasure in erasures {
            erasure.put(&mut set.batch);
        }
        if let Some(revisit) = before.revisit {
            let key = keys::revisit(revisit.due.0, id.as_bytes());
            set.batch.delete(Table::Revisits, key);
        }
        let verdicts = &mut set.state.counters.verdicts;
        if let Some(was) = verdict_of(before) {
            verdicts.take_back(was.name());
        }
        let Some(page) = set.page(id)? else {
            return Ok(());
        };
        page.last_seen = page.last_seen.max(before.last_seen);
        page.attempts = before.attempts;
        if let Some(is) = verdict_of(page) {
            set.state.counters.verdicts.add(&is);
        }
        Ok(())
    }

    /// Removes the rows of pages. Returns their number.
    fn remove(&mut self, pages: &[Vec<u8>]) -> Result<u64, Error> {
        if pages.is_empty() {
            return Ok(0);
        }
        let mut set = self.committer.write_set(self.now);
        let identity = self.committer.gate.identity.clone();
        let mut hosts = BTreeSet::new();
        let mut removed = 0;
        for key in pages {
            let Ok(id) = key.as_slice().try_into().map(UrlId::from_bytes) else {
                continue;
            };
            let Some(page) = set.committed_page(id)? else {
                continue;
            };
            removed += 1;
            if let Ok(url) = url::parse(&page.url) {
                let host = HostKey::of(&url);
                file_gone((id, &host), &page, &identity, &mut set)?;
                let earlier = *identity.as_written(&url).as_bytes();
                set.batch.delete(Table::Earlier, earlier);
                hosts.insert(host);
            }
            uncount(&page, &mut set.state.counters);
            set.end_seed(id, None);
            let bytes = id.as_bytes();
            if let Some(revisit) = page.revisit {
                let key = keys::revisit(revisit.due.0, bytes);
                set.batch.delete(Table::Revisits, key);
            }
            if let Some(document) = &page.document {
                set.set_grouped(keys::without_digits(document.id), None);
            }
            set.set_grouped(keys::group(bytes), None);
            set.set_grouped(keys::examined(bytes), None);
            set.batch.delete(Table::Kept, key.clone());
            set.batch.delete(Table::Meta, keys::deaths(bytes));
            set.batch.delete(Table::Meta, keys::converted(bytes));
            set.batch.delete(Table::Meta, keys::seed_of(bytes));
            set.batch.delete(Table::Pages, key.clone());
            Forgotten::put_url(id, self.now.0, &mut set.batch);
        }
        let selected = self.selected()?;
        for host in &hosts {
            forget_examples(host, &selected, &mut set)?;
        }
        // Their rows say that they are forgotten, and not only a rule.
        let mut forgotten = self.forgotten();
        forgotten.note_urls();
        self.write_with(set, forgotten)?;
        Ok(removed)
    }

    fn end(&mut self) -> Result<(), Error> {
        let selected = self.selected()?;
        let mut set = self.committer.write_set(self.now);
        for (name, mut row) in LeftOut::read_all(&*self.committer.store)? {
            if row.example.as_deref().is_some_and(|url| selected.has(url)) {
                row.example = None;
                let key = [keys::meta::LEFT_OUT, name.as_bytes()].concat();
                set.batch.put(Table::Meta, key, encode(&row));
            }
        }
        set.batch.delete(Table::Meta, keys::meta::FORGETTING);
        (self.committer.events).forget(&|event| selected.is_told_by(event));
        self.committer.write(set)?;
        self.committer.is_forgetting = false;
        self.committer.tell_closed();
        Ok(())
    }
}

/// Queues a page whose body is not there, to be visited again.
fn visit_again(id: UrlId, page: &PageRecord, set: &mut WriteSet) -> Result<(), Error> {
    let Ok(url) = url::parse(&page.url) else {
        return Ok(());
    };
    let queued = QueuedUrl {
        via: page.via,
        depth: page.depth,
        revisit: page.purpose() == Purpose::Page,
        purpose: page.purpose(),
        ..QueuedUrl::new(page.url.clone(), id)
    };
    set.queue(queued, HostKey::of(&url))
}

fn verdict_of(page: &PageRecord) -> Option<VisitVerdict> {
    match &page.fate {
        Fate::Answered { judgement, .. } => Some(match judgement {
            Judgement::Unique => VisitVerdict::Unique,
            Judgement::Duplicate(duplicate) => duplicate.tier.into(),
            Judgement::Ineligible(_) => VisitVerdict::Ineligible,
        }),
        _ => None,
    }
}

/// Takes back what was counted of a page.
fn uncount(page: &PageRecord, counters: &mut Counters) {
    match &page.fate {
        Fate::Answered {
            status, judgement, ..
        } => {
            counters.pages = counters.pages.saturating_sub(1);
            if let Some(count) = counters.statuses.get_mut(&(status / 100)) {
                *count = count.saturating_sub(1);
            }
            if let Judgement::Ineligible(reason) = judgement {
                counters.ineligible.take_back(reason.name());
            }
            if let Some(verdict) = verdict_of(page) {
                counters.verdicts.take_back(verdict.name());
            }
        }
        Fate::Failed {
            class, next: None, ..
        } if *class == FailureClass::Robots.name() => {
            counters.forbidden = counters.forbidden.saturating_sub(1);
        }
        Fate::Failed {
            class, next: None, ..
        } => {
            counters.failed = counters.failed.saturating_sub(1);
            counters.failures.take_back(class);
        }
        Fate::Sitemap { .. } => counters.sitemaps = counters.sitemaps.saturating_sub(1),
        Fate::Requisite { status, .. } => {
            let counters = &mut counters.requisites;
            counters.fetched = counters.fetched.saturating_sub(1);
            if let Some(count) = counters.statuses.get_mut(&(status / 100)) {
                *count = count.saturating_sub(1);
            }
        }
        Fate::Failed { .. } | Fate::Known { .. } | Fate::FailedRequisite { .. } => {}
    }
}

/// Removes URLs from what was learned of a host, where they stand as examples; and what was learned
/// of a host that goes as a whole.
fn forget_examples(host: &HostKey, selected: &Selected, set: &mut WriteSet) -> Result<(), Error> {
    let prefix = [host.as_str().as_bytes(), &[0, keys::learned::KIND]].concat();
    let mut changed = Vec::new();
    let store = Arc::clone(&set.store);
    for_each(&*store, Table::Learned, &prefix, &mut |key, row| {
        let mut ledger: Ledger = decode(Table::Learned, row)?;
        if selected.has_host(host) {
            changed.push((key.to_vec(), None));
        } else if selected.has(&ledger.example) {
            ledger.example = String::new();
            changed.push((key.to_vec(), Some(encode(&ledger))));
        }
        Ok(())
    })?;
    for (key, row) in changed {
        match row {
            Some(row) => set.learn(key, row),
            None => set.unlearn(&key)?,
        }
    }
    Ok(())
}
