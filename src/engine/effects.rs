//! What a group of visits changes, collected while they are judged and written all at once.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::Error;
use super::pending_line::PendingLine;
use super::visit::Receipt;
use crate::archive::{Location, Record};
use crate::dedup::{Document, Stored};
use crate::fetch::Reservation;
use crate::frontier::{
    BLOCK, Block, HostState, Moment, PARKED, QueuedUrl, RobotsRow, domain_spent,
};
use crate::journal::LogLine;
use crate::learn::Spent;
use crate::rows::{CrawlState, Delta, PageRecord};
use crate::store::{Batch, Row, Store, Table, decode, encode, for_each, keys};
use crate::url::{HostKey, Site, UrlId};

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
    /// Blocks of queues from which this group takes URLs that nobody visited, by key, and all that were
    /// removed from each.
    pub(super) swept: BTreeMap<Vec<u8>, u64>,
    hosts: Vec<HostRow>,
    host_places: HashMap<HostKey, usize>,
    domains: Vec<DomainRow>,
    domain_places: HashMap<Site, usize>,
    /// What of the hosts was parked before.
    parked: Parked,
    /// Rows of `Learned` as they were read and as they will be; `None` where there is none.
    learned: BTreeMap<Vec<u8>, Lesson>,
    /// Hosts that had no row.
    new_hosts: u64,
}

/// A host while a group lasts.
struct HostRow {
    host: HostKey,
    state: HostState,
    /// It has a row, or will have one.
    is_known: bool,
    is_changed: bool,
    /// What is to wait in its queue: class, sequence, URL.
    queued: Vec<(u8, u64, QueuedUrl)>,
    /// Where its domain is among those of the group, once somebody asked.
    domain: Option<usize>,
}

/// What was spent on a domain, while a group lasts.
struct DomainRow {
    domain: Site,
    spent: Spent,
    is_changed: bool,
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
        let row = self.host_row(store, host)?;
        Ok(&mut row.state)
    }

    /// Has a URL wait in the queue of a host, whose state it gives.
    pub(super) fn enqueue(
        &mut self,
        store: &dyn Store,
        host: &HostKey,
        (class, sequence, queued): (u8, u64, QueuedUrl),
    ) -> Result<&mut HostState, Error> {
        let row = self.host_row(store, host)?;
        row.queued.push((class, sequence, queued));
        Ok(&mut row.state)
    }

    /// The row of a host, to be changed.
    fn host_row(&mut self, store: &dyn Store, host: &HostKey) -> Result<&mut HostRow, Error> {
        let at = self.place_of_host(store, host)?;
        let row = &mut self.hosts[at];
        self.new_hosts += u64::from(!row.is_known);
        row.is_known = true;
        row.is_changed = true;
        Ok(row)
    }

    /// Where a host is among those of the group.
    fn place_of_host(&mut self, store: &dyn Store, host: &HostKey) -> Result<usize, Error> {
        if let Some(at) = self.host_places.get(host) {
            return Ok(*at);
        }
        let row = store.get(Table::Hosts, host.as_str().as_bytes())?;
        let is_known = row.is_some();
        let state = row.map_or(Ok(HostState::default()), |row| decode(Table::Hosts, &row))?;
        self.parked.add(&state);
        self.hosts.push(HostRow {
            host: host.clone(),
            state,
            is_known,
            is_changed: false,
            queued: Vec::new(),
            domain: None,
        });
        self.host_places.insert(host.clone(), self.hosts.len() - 1);
        Ok(self.hosts.len() - 1)
    }

    /// What was spent on the domain of a host; read once a group.
    pub(super) fn spent(&mut self, store: &dyn Store, host: &HostKey) -> Result<Spent, Error> {
        let at = self.place_of_domain(store, host)?;
        Ok(self.domains[at].spent)
    }

    /// The same, to be changed.
    pub(super) fn spend(&mut self, store: &dyn Store, host: &HostKey) -> Result<&mut Spent, Error> {
        let at = self.place_of_domain(store, host)?;
        self.domains[at].is_changed = true;
        Ok(&mut self.domains[at].spent)
    }

    /// Where the domain of a host is among those of the group.
    fn place_of_domain(&mut self, store: &dyn Store, host: &HostKey) -> Result<usize, Error> {
        let host_at = self.place_of_host(store, host)?;
        if let Some(at) = self.hosts[host_at].domain {
            return Ok(at);
        }
        let domain = Site::of(&host.url());
        let at = match self.domain_places.get(&domain) {
            Some(at) => *at,
            None => {
                self.domains.push(DomainRow {
                    spent: domain_spent(store, &domain)?,
                    domain: domain.clone(),
                    is_changed: false,
                });
                self.domain_places.insert(domain, self.domains.len() - 1);
                self.domains.len() - 1
            }
        };
        self.hosts[host_at].domain = Some(at);
        Ok(at)
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
        let at = self.place_of_host(store, host)?;
        let row = &self.hosts[at];
        Ok(row.is_known.then_some(&row.state))
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
        for mut row in self.hosts {
            parked.add(&row.state);
            if row.is_changed {
                put_queued(&row.host, row.queued, &mut batch);
                file_by_due_time(&row.host, &mut row.state, &mut batch);
                batch.put(Table::Hosts, row.host.as_str(), encode(&row.state));
            }
        }
        for row in self.domains.into_iter().filter(|row| row.is_changed) {
            let key = keys::domain(row.domain.as_str());
            batch.put(Table::Learned, key, encode(&row.spent));
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

/// Puts what is to wait at a host into blocks.
fn put_queued(host: &HostKey, mut queued: Vec<(u8, u64, QueuedUrl)>, batch: &mut Batch) {
    queued.sort_unstable_by_key(|(class, sequence, _)| (*class, *sequence));
    let mut queued = queued.into_iter().peekable();
    while let Some((class, sequence, first)) = queued.next() {
        let mut urls = vec![(sequence, first)];
        while urls.len() < BLOCK
            && let Some((_, sequence, next)) = queued.next_if(|(other, ..)| *other == class)
        {
            urls.push((sequence, next));
        }
        let last = urls.last().map_or(sequence, |(last, _)| *last);
        let row = Block { urls, removed: 0 }.encode(last);
        batch.put(Table::Queue, keys::queue(host.as_str(), class, last), row);
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
