//! The write set: everything that a group of visits changes in the store, collected while they are
//! judged and written by one commit.
//!
//! Reads go through it: a row that the group has changed is read as changed, any other row as
//! committed. Each host, domain, page and learned row is read at most once per group and written
//! once.

mod exchanged;
mod hold;
mod parked;
mod prepared;
mod queued;
mod seeds;
mod told;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::effects::VisitEffects;
use super::left_out::LeftOutChanges;
use super::making::Order;
use crate::archive::Record;
use crate::dedup::own::Lines;
use crate::dedup::{Document, DocumentId, Pending};
use crate::engine::Error;
use crate::engine::events::Happening;
use crate::engine::visit::{KeptBody, Receipt};
use crate::frontier::{
    Admission, HeldHosts, HostState, Moment, QueuedRow, RobotsRow, domain_spent, file_by_due_time,
    is_by_page, put_queued,
};
use crate::learn::{Change, Spent, Template};
use crate::rows::{
    CrawlState, Delta, DiskState, Fate, LostSeed, PAGES, PageRecord, Reason, RefusedUrl,
    SavedBytes, Tally,
};
use crate::sites::SiteName;
use crate::store::{Batch, Store, Table, decode, encode, keys};
use crate::url::{HostKey, Site, UrlId};
pub(crate) use exchanged::{Exchanged, Offered, foreign_original, take_exchanging};
use parked::Parked;
pub(crate) use prepared::Prepared;
use seeds::SeedRows;
pub(crate) use seeds::{Moved, know_seed};
use told::{Before, tell_robots};

/// The changes of a group.
pub(crate) struct WriteSet {
    /// The store, which is read where the group has changed nothing.
    pub(crate) store: Arc<dyn Store>,
    /// The crawl's state as the group leaves it.
    pub(crate) state: CrawlState,
    /// The state of this disk's files as the group leaves it.
    pub(crate) disk: DiskState,
    /// The hosts that a person holds, as the group leaves them.
    pub(crate) held: Arc<HeldHosts>,
    /// Time at which the last of the visits ended.
    pub(crate) now: Moment,
    /// Rows that are final already.
    pub(crate) batch: Batch,
    /// Documents of the group, whose places in the archive become known with its records.
    pub(crate) documents: Pending,
    /// Committed documents that the group changes.
    pub(crate) withdrawn: Vec<Document>,
    /// Documents that expire with the group.
    pub(crate) expired: Vec<DocumentId>,
    /// Records to append to the archive, visit by visit.
    pub(crate) records: Vec<Record>,
    /// Main texts of duplicates, for the archive of texts.
    pub(crate) texts: Vec<Record>,
    /// Bodies of duplicates that are to be kept beside their originals'.
    pub(super) orders: Vec<Order>,
    /// The same, made.
    pub(crate) kept: Vec<(UrlId, KeptBody)>,
    /// Pages of which nothing is kept like that any more.
    pub(crate) unkept: Vec<UrlId>,
    /// What each visit changes besides rows, in order of arrival.
    pub(crate) visits: Vec<VisitEffects>,
    /// What the schedule is told about the visit, or the seeds, being judged.
    pub(crate) receipt: Receipt,
    pub(crate) receipts: Vec<Receipt>,
    /// Blocks of queues from which URLs are removed unvisited, by key, with all URLs removed so
    /// far.
    pub(crate) swept: BTreeMap<Vec<u8>, u64>,
    /// What the group's pages change in the templates of their sites.
    pub(crate) templates: BTreeMap<SiteName, Change>,
    /// Lines of the originals that the group adds.
    pub(crate) parts: BTreeMap<DocumentId, Lines>,
    /// Earliest revisit that the group scheduled.
    pub(crate) soonest_revisit: Option<Moment>,
    /// Set if a cluster may be without an original.
    pub(crate) has_orphans: bool,
    /// What is left out, and what no longer is.
    left_out: LeftOutChanges,
    /// Keys of the URLs that the group admits, in order and for look-ups.
    seen: Vec<u64>,
    seen_keys: HashSet<u64>,
    pages: BTreeMap<UrlId, PageRow>,
    /// Sites of pages that led to others, of which it is asked at every visit.
    pub(crate) page_sites: HashMap<UrlId, Site>,
    robots: BTreeMap<HostKey, RobotsAnswer>,
    hosts: Vec<HostRow>,
    host_places: HashMap<HostKey, usize>,
    domains: Vec<DomainRow>,
    domain_places: HashMap<Site, usize>,
    /// Rows of `Learned` as read and as they will be; `None` if there is none.
    learned: BTreeMap<Vec<u8>, LearnedRow>,
    /// Rows of `Groups` as they will be; `None` for one that is removed.
    groups: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// Rows of deferred URLs as they will be; `None` for those that are removed.
    pub(super) deferred: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// Number of deferred URLs as committed and as it will be, once it was needed.
    pub(super) deferred_count: Option<(u64, u64)>,
    /// Where seeds have moved to: it is in scope from then on.
    pub(crate) moved: Vec<Moved>,
    /// What is told once the group is committed.
    pub(crate) happened: Vec<Happening>,
    /// What the group exchanges with other shards.
    pub(crate) exchanged: Exchanged,
    /// Bytes of bodies that the group does not store because they repeat others, by tier.
    pub(crate) saved: SavedBytes,
    seeds: SeedRows,
    /// URLs that were forgotten, told to come back, and are queued by the group.
    pub(crate) came_back: HashSet<UrlId>,
    /// URLs and hosts that were parked, or held, before.
    parked: Parked,
}

/// A page record, and the document of the group that it will contain.
struct PageRow {
    record: PageRecord,
    document: Option<DocumentId>,
}

/// A robots.txt, and the document of the group with its response.
struct RobotsAnswer {
    row: RobotsRow,
    document: Option<DocumentId>,
}

/// A host during a group.
struct HostRow {
    host: HostKey,
    state: HostState,
    before: Before,
    /// Set if the host has a row, or will have one.
    is_known: bool,
    is_changed: bool,
    /// URLs to be queued.
    queued: Vec<QueuedRow>,
    /// Position of its domain among the group's, once it was needed.
    domain: Option<usize>,
}

/// What was spent on a domain, during a group.
struct DomainRow {
    domain: Site,
    spent: Spent,
    is_changed: bool,
}

/// A row of `Learned` during a group.
struct LearnedRow {
    row: Option<Vec<u8>>,
    is_changed: bool,
}

impl WriteSet {
    /// Creates an empty set on top of a store, its states and the hosts that are held, for visits
    /// the last of which ended at `now`.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        (state, disk): (CrawlState, DiskState),
        held: Arc<HeldHosts>,
        now: Moment,
    ) -> Self {
        Self {
            store,
            state,
            disk,
            held,
            now,
            batch: Batch::new(),
            documents: Pending::default(),
            withdrawn: Vec::new(),
            expired: Vec::new(),
            records: Vec::new(),
            texts: Vec::new(),
            orders: Vec::new(),
            kept: Vec::new(),
            unkept: Vec::new(),
            visits: Vec::new(),
            receipt: Receipt::default(),
            receipts: Vec::new(),
            swept: BTreeMap::new(),
            templates: BTreeMap::new(),
            parts: BTreeMap::new(),
            soonest_revisit: None,
            has_orphans: false,
            left_out: LeftOutChanges::default(),
            seen: Vec::new(),
            seen_keys: HashSet::new(),
            pages: BTreeMap::new(),
            page_sites: HashMap::new(),
            robots: BTreeMap::new(),
            hosts: Vec::new(),
            host_places: HashMap::new(),
            domains: Vec::new(),
            domain_places: HashMap::new(),
            learned: BTreeMap::new(),
            groups: BTreeMap::new(),
            deferred: BTreeMap::new(),
            deferred_count: None,
            moved: Vec::new(),
            happened: Vec::new(),
            exchanged: Exchanged::default(),
            saved: SavedBytes::default(),
            seeds: SeedRows::default(),
            came_back: HashSet::new(),
            parked: Parked::default(),
        }
    }

    /// Returns what the group changes of the template of a site, which is this as committed.
    pub(crate) fn template_change(&mut self, site: SiteName, base: &Template) -> &mut Change {
        let change = self.templates.entry(site);
        change.or_insert_with(|| Change::of(base))
    }

    /// Closes the receipt of the visit, or the seeds, that were judged.
    pub(crate) fn end_receipt(&mut self) {
        self.receipts.push(std::mem::take(&mut self.receipt));
    }

    /// Marks a URL as admitted.
    pub(crate) fn note_seen(&mut self, id: UrlId) {
        if self.seen_keys.insert(id.key()) {
            self.seen.push(id.key());
        }
    }

    /// Returns `true` if the group admitted a URL.
    pub(crate) fn has_seen(&self, id: UrlId) -> bool {
        self.seen_keys.contains(&id.key())
    }

    /// Counts a link, URL or page that is left out.
    pub(crate) fn leave_out(&mut self, reason: Reason, url: &str) {
        self.left_out.add(reason, url);
    }

    /// Takes back what was counted of links and left out, because it was counted before; but links
    /// that were refused stay counted if they are counted anew.
    pub(crate) fn uncount(&mut self, links: Tally<Admission>, anew: bool) {
        let stays = |name: &str| anew && is_by_page(name);
        self.state.counters.links.take_back_to(links, stays);
        self.left_out.uncount(anew);
    }

    /// Takes back one that was counted as left out.
    pub(crate) fn no_longer_left_out(&mut self, reason: Reason, url: &str) {
        self.left_out.take_back(reason, url);
    }

    /// Returns the row of a refused URL.
    pub(crate) fn refused(&mut self, id: UrlId) -> Result<Option<&RefusedUrl>, Error> {
        self.left_out.refused(id, &*self.store)
    }

    /// Writes the row of a refused URL, or removes it.
    pub(crate) fn set_refused(&mut self, id: UrlId, row: Option<RefusedUrl>) {
        self.left_out.set_refused(id, row);
    }

    /// Returns the number of refused URLs that have a row, to be changed.
    pub(crate) fn refused_rows(&mut self, reasons: &[Reason]) -> Result<&mut u64, Error> {
        self.left_out.refused_rows(&*self.store, reasons)
    }

    /// Notes that a seed gave nothing, or, with `None`, that it gave something.
    pub(crate) fn end_seed(&mut self, seed: UrlId, lost: Option<LostSeed>) {
        self.left_out.end_seed(seed, lost);
    }

    /// Returns the state of a host, to be changed.
    pub(crate) fn host(&mut self, host: &HostKey) -> Result<&mut HostState, Error> {
        Ok(&mut self.host_row(host)?.state)
    }

    /// Returns the state of a host, if it has one.
    pub(crate) fn known_host(&mut self, host: &HostKey) -> Result<Option<&HostState>, Error> {
        let at = self.place_of_host(host)?;
        let row = &self.hosts[at];
        Ok(row.is_known.then_some(&row.state))
    }

    /// Queues a URL at a host and returns the host's state.
    pub(super) fn enqueue(
        &mut self,
        host: &HostKey,
        queued: QueuedRow,
    ) -> Result<&mut HostState, Error> {
        let row = self.host_row(host)?;
        row.queued.push(queued);
        Ok(&mut row.state)
    }

    fn host_row(&mut self, host: &HostKey) -> Result<&mut HostRow, Error> {
        let at = self.place_of_host(host)?;
        let row = &mut self.hosts[at];
        row.is_known = true;
        row.is_changed = true;
        Ok(row)
    }

    fn place_of_host(&mut self, host: &HostKey) -> Result<usize, Error> {
        if let Some(at) = self.host_places.get(host) {
            return Ok(*at);
        }
        let row = self.store.get(Table::Hosts, host.as_str().as_bytes())?;
        let is_known = row.is_some();
        let state = row.map_or(Ok(HostState::default()), |row| decode(Table::Hosts, &row))?;
        self.parked.add(&state, self.held.has(host));
        self.hosts.push(HostRow {
            host: host.clone(),
            before: Before::of(is_known, &state),
            state,
            is_known,
            is_changed: false,
            queued: Vec::new(),
            domain: None,
        });
        self.host_places.insert(host.clone(), self.hosts.len() - 1);
        Ok(self.hosts.len() - 1)
    }

    /// Returns what was spent on the domain of a host.
    pub(crate) fn spent(&mut self, host: &HostKey) -> Result<Spent, Error> {
        let at = self.place_of_domain(host)?;
        Ok(self.domains[at].spent)
    }

    /// Returns what was spent on the domain of a host, to be changed.
    pub(crate) fn spend(&mut self, host: &HostKey) -> Result<&mut Spent, Error> {
        let at = self.place_of_domain(host)?;
        self.domains[at].is_changed = true;
        Ok(&mut self.domains[at].spent)
    }

    fn place_of_domain(&mut self, host: &HostKey) -> Result<usize, Error> {
        let host_at = self.place_of_host(host)?;
        if let Some(at) = self.hosts[host_at].domain {
            return Ok(at);
        }
        let domain = Site::of(&host.url());
        let at = match self.domain_places.get(&domain) {
            Some(at) => *at,
            None => {
                self.domains.push(DomainRow {
                    spent: domain_spent(&*self.store, &domain)?,
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

    /// Returns the record of a page as committed, whatever the group changes.
    pub(crate) fn committed_page(&self, page: UrlId) -> Result<Option<PageRecord>, Error> {
        Ok(PAGES.get(&*self.store, page.as_bytes())?)
    }

    /// Returns `true` if a page was visited and answered, by an earlier commit or by this group.
    pub(crate) fn is_answered(&self, page: UrlId) -> Result<bool, Error> {
        let is_answered = |page: &PageRecord| matches!(page.fate, Fate::Answered { .. });
        Ok(match self.pages.get(&page) {
            Some(row) => is_answered(&row.record),
            None => self
                .committed_page(page)?
                .is_some_and(|it| is_answered(&it)),
        })
    }

    /// Returns when a page was visited, in microseconds since 1970, and whether its response is
    /// stored; `None` if it was not answered.
    pub(crate) fn answered_at(&self, page: UrlId) -> Result<Option<(i64, bool)>, Error> {
        let answer = |page: &PageRecord| match page.fate {
            Fate::Answered { .. } => Some((page.time, page.document.is_some())),
            _ => None,
        };
        Ok(match self.pages.get(&page) {
            Some(row) => answer(&row.record),
            None => self.committed_page(page)?.as_ref().and_then(answer),
        })
    }

    /// Returns the form in which a page was visited, and the status that was answered; `None` if it
    /// was not answered.
    pub(crate) fn answer_to(&self, page: UrlId) -> Result<Option<(String, u16)>, Error> {
        let answer = |page: &PageRecord| match page.fate {
            Fate::Answered { status, .. } => Some((page.url.clone(), status)),
            _ => None,
        };
        Ok(match self.pages.get(&page) {
            Some(row) => answer(&row.record),
            None => self.committed_page(page)?.as_ref().and_then(answer),
        })
    }

    /// Returns the record of a page, to be changed; `None` if the page has none.
    pub(crate) fn page(&mut self, page: UrlId) -> Result<Option<&mut PageRecord>, Error> {
        if !self.pages.contains_key(&page) {
            let Some(record) = self.committed_page(page)? else {
                return Ok(None);
            };
            self.put_page(page, record, None);
        }
        Ok(self.pages.get_mut(&page).map(|row| &mut row.record))
    }

    /// Writes the record of a page, with the document of this group that it will contain.
    pub(crate) fn put_page(
        &mut self,
        page: UrlId,
        record: PageRecord,
        document: Option<DocumentId>,
    ) {
        self.pages.insert(page, PageRow { record, document });
    }

    /// Writes a host's robots.txt, with the document of this group that contains it.
    pub(crate) fn put_robots(
        &mut self,
        host: &HostKey,
        row: RobotsRow,
        document: Option<DocumentId>,
    ) {
        self.robots
            .insert(host.clone(), RobotsAnswer { row, document });
    }

    /// Returns a row of `Learned`.
    pub(crate) fn learned(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        if let Some(learned) = self.learned.get(key) {
            return Ok(learned.row.clone());
        }
        let row = self.store.get(Table::Learned, key)?;
        let learned = LearnedRow {
            row: row.clone(),
            is_changed: false,
        };
        self.learned.insert(key.to_vec(), learned);
        Ok(row)
    }

    /// Writes a row of `Learned`.
    pub(crate) fn learn(&mut self, key: Vec<u8>, row: Vec<u8>) {
        self.set_learned(key, Some(row));
    }

    /// Removes a row of `Learned`.
    pub(crate) fn unlearn(&mut self, key: &[u8]) -> Result<(), Error> {
        if self.learned(key)?.is_some() {
            self.set_learned(key.to_vec(), None);
        }
        Ok(())
    }

    fn set_learned(&mut self, key: Vec<u8>, row: Option<Vec<u8>>) {
        let is_changed = true;
        self.learned.insert(key, LearnedRow { row, is_changed });
    }

    /// Returns a row of `Groups`.
    pub(crate) fn grouped(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        match self.groups.get(key) {
            Some(row) => Ok(row.clone()),
            None => Ok(self.store.get(Table::Groups, key)?),
        }
    }

    /// Returns the first keys of `Groups` under a prefix, at most `most` of those committed and as
    /// many of those that the group adds.
    pub(crate) fn grouped_keys(&self, prefix: &[u8], most: usize) -> Result<Vec<Vec<u8>>, Error> {
        let rows = self.store.range(Table::Groups, prefix, prefix, most)?;
        let committed = rows.into_iter().map(|(key, _)| key);
        let committed = committed.filter(|key| !self.groups.contains_key(key));
        let added = self.groups.range(prefix.to_vec()..);
        let added = added
            .take_while(|(key, _)| key.starts_with(prefix))
            .filter(|(_, row)| row.is_some())
            .map(|(key, _)| key.clone());
        Ok(committed.chain(added.take(most)).collect())
    }

    /// Writes a row of `Groups`, or removes it.
    pub(crate) fn set_grouped(&mut self, key: Vec<u8>, row: Option<Vec<u8>>) {
        self.groups.insert(key, row);
    }

    /// Returns everything as one batch, the state last.
    pub(crate) fn prepare(self) -> Result<Prepared, Error> {
        let (mut batch, mut state, disk) = (self.batch, self.state, self.disk);
        self.left_out.put(&*self.store, &mut batch)?;
        for (id, mut row) in self.pages {
            if let Some(document) = row.document.and_then(|id| self.documents.get(id)) {
                row.record.document = Some(document.as_ref().clone());
            }
            PAGES.put(&mut batch, *id.as_bytes(), &row.record);
        }
        for (host, mut answer) in self.robots {
            let document = answer.document.and_then(|id| self.documents.get(id));
            tell_robots(&host, &answer.row.verdict);
            answer.row.document = document.map(|document| encode(document.as_ref()));
            batch.put(Table::Robots, host.as_str(), encode(&answer.row));
        }
        let (mut parked, mut new_hosts) = (Parked::default(), 0);
        let mut happened = Vec::new();
        for mut row in self.hosts {
            parked.add(&row.state, self.held.has(&row.host));
            if row.is_changed {
                new_hosts += u64::from(!row.before.is_known());
                happened.extend(row.before.tell(&row.host, &row.state));
                put_queued(&row.host, row.queued, &mut batch);
                file_by_due_time(&row.host, &mut row.state, &mut batch);
                batch.put(Table::Hosts, row.host.as_str(), encode(&row.state));
            }
        }
        for row in self.domains.into_iter().filter(|row| row.is_changed) {
            let key = keys::domain(row.domain.as_str());
            batch.put(Table::Learned, key, encode(&row.spent));
        }
        for (key, learned) in self.learned.into_iter().filter(|(_, it)| it.is_changed) {
            match learned.row {
                Some(row) => batch.put(Table::Learned, key, row),
                None => batch.delete(Table::Learned, key),
            }
        }
        for (document, lines) in self.parts {
            batch.put(Table::Parts, keys::parts(document), lines.encode());
        }
        for document in &self.expired {
            batch.delete(Table::Parts, keys::parts(*document));
        }
        for (key, row) in self.groups {
            match row {
                Some(row) => batch.put(Table::Groups, key, row),
                None => batch.delete(Table::Groups, key),
            }
        }
        for (key, row) in self.deferred {
            match row {
                Some(row) => batch.put(Table::Deferred, key, row),
                None => batch.delete(Table::Deferred, key),
            }
        }
        if let Some((_, now)) = self.deferred_count.filter(|(before, now)| before != now) {
            batch.put(Table::Meta, keys::meta::DEFERRED, encode(&now));
        }
        let counters = &mut state.counters;
        counters.hosts += new_hosts;
        counters.parked = (counters.parked + parked.urls).saturating_sub(self.parked.urls);
        counters.parked_hosts =
            (counters.parked_hosts + parked.hosts).saturating_sub(self.parked.hosts);
        let (mut documents, postings) = self.documents.into_parts();
        documents.splice(0..0, self.withdrawn);
        let delta = Delta {
            seen: self.seen,
            postings,
            documents,
            expired: self.expired,
        };
        let mut delta_bytes = 0;
        if delta.keys() > 0 || !delta.documents.is_empty() {
            let row = encode(&delta);
            delta_bytes = row.len();
            batch.put(Table::Deltas, keys::delta(state.sequence), row);
        }
        batch.put(Table::Meta, keys::meta::STATE, encode(&state));
        batch.put(Table::Meta, keys::meta::DISK, encode(&disk));
        Ok(Prepared {
            batch,
            state,
            disk,
            delta,
            delta_bytes,
            happened,
        })
    }
}
