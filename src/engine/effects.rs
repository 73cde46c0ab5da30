//! What a group of visits changes, collected while they are judged and written all at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Error;
use super::fetch_log::LogLine;
use super::page_line::PendingLine;
use super::rows::{CrawlState, Delta, PageRecord};
use super::visit::Receipt;
use crate::archive::{Location, Record};
use crate::dedup::{Document, Stored};
use crate::fetch::Reservation;
use crate::frontier::{HostState, Moment, PARKED, RobotsRow};
use crate::store::{Batch, Row, Store, Table, decode, encode, for_each, keys};
use crate::url::{HostKey, UrlId};

/// A host whose visits wait longer than this is filed anew by its due time; below it the old place
/// is as good, and a row is not rewritten at every visit.
const REFILE_AFTER: std::time::Duration = std::time::Duration::from_mins(1);

/// The effects of a group.
#[derive(Default)]
pub(super) struct Group {
    /// Rows that are final already.
    pub(super) batch: Batch,
    /// Records to append, in order.
    pub(super) records: Vec<Record>,
    /// Documents whose place in the archive is known only when the records are appended.
    pub(super) documents: Vec<PendingDocument>,
    /// Page records, each with the position of its document.
    pub(super) pages: Vec<(UrlId, PageRecord, Option<usize>)>,
    /// What the lines of answered pages say of them.
    pub(super) page_lines: Vec<PendingLine>,
    /// Log lines, each with the page on which its URL was found.
    pub(super) lines: Vec<(LogLine, Option<UrlId>)>,
    pub(super) delta: Delta,
    pub(super) receipts: Vec<Receipt>,
    /// What is said to those who wait for something to be committed.
    pub(super) replies: Vec<Box<dyn FnOnce() + Send>>,
    /// Room for the bodies that the records hold: given back with the group.
    pub(super) reservations: Vec<Reservation>,
    /// When the last of the visits ended.
    pub(super) now: Moment,
    hosts: BTreeMap<HostKey, HostState>,
    /// What of them was parked before.
    parked: Parked,
    /// Rows of `Learned` as they were read and as they will be; `None` where there is none.
    learned: BTreeMap<Vec<u8>, Lesson>,
    /// Hosts that had no row.
    new_hosts: u64,
}

/// URLs that wait at parked hosts, and those hosts.
#[derive(Debug, Default, Clone, Copy)]
struct Parked {
    urls: u64,
    hosts: u64,
}

impl Parked {
    fn add(&mut self, host: &HostState) {
        if host.parked && host.queued > 0 {
            self.urls += host.queued;
            self.hosts += 1;
        }
    }
}

/// A row of `Learned` while a group lasts.
struct Lesson {
    row: Option<Vec<u8>>,
    is_changed: bool,
}

/// A document and where its record will be.
pub(super) struct PendingDocument {
    pub(super) document: Document,
    /// Position of its response among the group's records; `None` if it was stored before.
    pub(super) record: Option<usize>,
    /// It is a robots.txt: the row that carries it.
    pub(super) robots: Option<(HostKey, RobotsRow)>,
}

impl Group {
    /// An empty group whose last visit ended at `now`.
    pub(super) fn at(now: Moment) -> Self {
        Self {
            now,
            ..Self::default()
        }
    }

    /// The state of a host, to be changed; read once a group.
    pub(super) fn host(
        &mut self,
        store: &dyn Store,
        host: &HostKey,
    ) -> Result<&mut HostState, Error> {
        if !self.hosts.contains_key(host) {
            let state = match store.get(Table::Hosts, host.as_str().as_bytes())? {
                Some(row) => decode(Table::Hosts, &row)?,
                None => {
                    self.new_hosts += 1;
                    HostState::default()
                }
            };
            self.parked.add(&state);
            self.hosts.insert(host.clone(), state);
        }
        Ok(self.hosts.entry(host.clone()).or_default())
    }

    /// The record of a page, to be changed; `None` if the page has none.
    pub(super) fn page(
        &mut self,
        store: &dyn Store,
        page: UrlId,
    ) -> Result<Option<&mut PageRecord>, Error> {
        let at = match self.pages.iter().position(|(id, ..)| *id == page) {
            Some(at) => at,
            None => {
                let Some(row) = store.get(Table::Pages, page.as_bytes())? else {
                    return Ok(None);
                };
                let record = decode(Table::Pages, &row)?;
                self.pages.push((page, record, None));
                self.pages.len() - 1
            }
        };
        Ok(self.pages.get_mut(at).map(|(_, record, _)| record))
    }

    /// The state of a host, if it has one.
    pub(super) fn known_host(
        &mut self,
        store: &dyn Store,
        host: &HostKey,
    ) -> Result<Option<&HostState>, Error> {
        if !self.hosts.contains_key(host)
            && let Some(row) = store.get(Table::Hosts, host.as_str().as_bytes())?
        {
            let state = decode(Table::Hosts, &row)?;
            self.parked.add(&state);
            self.hosts.insert(host.clone(), state);
        }
        Ok(self.hosts.get(host))
    }

    /// A row of `Learned`; read once a group.
    pub(super) fn learned(
        &mut self,
        store: &dyn Store,
        key: &[u8],
    ) -> Result<Option<Vec<u8>>, Error> {
        if let Some(lesson) = self.learned.get(key) {
            return Ok(lesson.row.clone());
        }
        let row = store.get(Table::Learned, key)?;
        let lesson = Lesson {
            row: row.clone(),
            is_changed: false,
        };
        self.learned.insert(key.to_vec(), lesson);
        Ok(row)
    }

    /// Writes a row of `Learned`.
    pub(super) fn learn(&mut self, key: Vec<u8>, row: Vec<u8>) {
        self.set_learned(key, Some(row));
    }

    /// Removes a row of `Learned`.
    pub(super) fn unlearn(&mut self, key: Vec<u8>) {
        self.set_learned(key, None);
    }

    fn set_learned(&mut self, key: Vec<u8>, row: Option<Vec<u8>>) {
        let is_changed = true;
        self.learned.insert(key, Lesson { row, is_changed });
    }

    /// The rows of `Learned` under a prefix, in key order. For prefixes with a bounded number of rows.
    pub(super) fn learned_rows(&self, store: &dyn Store, prefix: &[u8]) -> Result<Vec<Row>, Error> {
        let mut rows = BTreeMap::new();
        for_each(store, Table::Learned, prefix, &mut |key, row| {
            rows.insert(key.to_vec(), row.to_vec());
            Ok(())
        })?;
        let changed = self.learned.range(prefix.to_vec()..);
        for (key, lesson) in changed.take_while(|(key, _)| key.starts_with(prefix)) {
            match &lesson.row {
                Some(row) => rows.insert(key.clone(), row.clone()),
                None => rows.remove(key),
            };
        }
        Ok(rows.into_iter().collect())
    }

    /// Whether a document is an original of this group, to be committed with it.
    pub(super) fn has_original(&self, document: &Document) -> bool {
        self.documents
            .iter()
            .any(|pending| pending.document.id == document.id)
    }

    /// Fills in where the records are; gives the documents as they will be committed.
    pub(super) fn locate(&mut self, locations: &[Location]) -> Vec<Arc<Document>> {
        for pending in &self.page_lines {
            // A visit that learned nothing left the row as it was.
            if let Some((_, page, _)) = self.pages.get_mut(pending.row)
                && page.record.is_none()
            {
                page.record = pending.record(locations);
            }
        }
        for pending in &mut self.documents {
            if let Some(location) = pending.record.and_then(|at| locations.get(at)) {
                pending.document.stored.segment = location.segment;
                pending.document.stored.offset = location.offset;
                pending.document.stored.length = location.length;
            }
        }
        // A unique page may stand on a response of the same group that is not a page of its own.
        let placed: BTreeMap<_, _> = self
            .documents
            .iter()
            .filter(|pending| pending.record.is_some())
            .map(|pending| (pending.document.stored.record, pending.document.stored))
            .collect();
        for pending in &mut self.documents {
            if let Some(stored) = placed.get(&pending.document.stored.record) {
                pending.document.stored = *stored;
            }
        }
        self.documents
            .iter()
            .map(|pending| Arc::new(pending.document.clone()))
            .collect()
    }

    /// Where a document's record is, if that was not known before this group.
    pub(super) fn place_of(&self, stored: &Stored) -> Stored {
        let mut documents = self.documents.iter().map(|pending| &pending.document);
        match documents.find(|document| document.stored.record == stored.record) {
            Some(document) => document.stored,
            None => *stored,
        }
    }

    /// The log lines, with the pages on which their URLs were found and the places of their records.
    pub(super) fn lines(
        &self,
        store: &dyn Store,
        locations: &[Location],
    ) -> Result<Vec<LogLine>, Error> {
        let ids: Vec<&[u8]> = self
            .lines
            .iter()
            .filter_map(|(_, via)| via.as_ref())
            .map(|via| &via.as_bytes()[..])
            .collect();
        let mut rows = store.get_many(Table::Pages, &ids)?.into_iter();
        let mut lines = Vec::with_capacity(self.lines.len());
        for (line, via) in &self.lines {
            let mut line = line.clone();
            if via.is_some()
                && let Some(row) = rows.next().flatten()
            {
                let page: PageRecord = decode(Table::Pages, &row)?;
                line.via = Some(page.url);
            }
            lines.push(line);
        }
        for pending in &self.page_lines {
            if let Some(line) = lines.get_mut(pending.line) {
                line.page = Some(Box::new(pending.placed(self, locations)));
            }
        }
        Ok(lines)
    }

    /// Everything as one batch, the state last; with the number of keys and bytes of its delta.
    pub(super) fn into_batch(self, state: &mut CrawlState) -> (Batch, usize, usize) {
        let mut batch = self.batch;
        let mut delta = self.delta;
        for (id, mut page, document) in self.pages {
            if let Some(pending) = document.and_then(|at| self.documents.get(at)) {
                page.document = Some(pending.document.clone());
            }
            batch.put(Table::Pages, *id.as_bytes(), encode(&page));
        }
        for pending in self.documents {
            if let Some((host, mut row)) = pending.robots {
                row.document = Some(encode(&pending.document));
                batch.put(Table::Robots, host.as_str(), encode(&row));
            }
            delta.documents.push(pending.document);
        }
        let mut parked = Parked::default();
        for (host, mut host_state) in self.hosts {
            parked.add(&host_state);
            file_by_due_time(&host, &mut host_state, &mut batch);
            batch.put(Table::Hosts, host.as_str(), encode(&host_state));
        }
        for (key, lesson) in self.learned.into_iter().filter(|(_, it)| it.is_changed) {
            match lesson.row {
                Some(row) => batch.put(Table::Learned, key, row),
                None => batch.delete(Table::Learned, key),
            }
        }
        let counters = &mut state.counters;
        counters.hosts += self.new_hosts;
        counters.parked = (counters.parked + parked.urls).saturating_sub(self.parked.urls);
        counters.parked_hosts =
            (counters.parked_hosts + parked.hosts).saturating_sub(self.parked.hosts);
        let keys = delta.keys();
        let mut bytes = 0;
        if keys > 0 || !delta.documents.is_empty() || !delta.expired.is_empty() {
            let row = encode(&delta);
            bytes = row.len();
            batch.put(Table::Deltas, keys::delta(state.sequence), row);
        }
        batch.put(Table::Meta, keys::meta::STATE, encode(state));
        (batch, keys, bytes)
    }
}

/// Keeps a host's row in `Due` true enough: there while URLs wait, not much before they may be
/// fetched.
fn file_by_due_time(host: &HostKey, state: &mut HostState, batch: &mut Batch) {
    let wanted = (state.queued > 0).then_some(state.due);
    let keep = match (state.due_row, wanted) {
        (Some(row), Some(due)) => {
            let is_near = row <= due && due <= row.plus(REFILE_AFTER);
            is_near && state.due_row_parked == state.parked && (!state.parked || row == due)
        }
        (None, None) => true,
        _ => false,
    };
    if keep {
        return;
    }
    if let Some(row) = state.due_row {
        batch.delete(Table::Due, keys::due(row.0, host.as_str()));
    }
    if let Some(due) = wanted {
        let mark = if state.parked { PARKED } else { &[] };
        batch.put(Table::Due, keys::due(due.0, host.as_str()), mark);
    }
    state.due_row = wanted;
    state.due_row_parked = state.parked;
}
