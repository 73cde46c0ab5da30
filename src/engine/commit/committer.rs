//! The committer: the single writer, and the only place where a visit has lasting effects.
//!
//! Steps, in this order: judge each visit of a group (`ring/gather.rs`) and collect its effects in
//! the group's write set; append the records and the log lines; sync the archive; commit one batch
//! to the store; apply to memory what it changed; tell the schedule. Memory is never ahead of the
//! store: what fails before the commit, including by a panic, leaves no trace.

mod changing;
mod checkpointing;
mod closing;
mod forgetting;
mod hearing;
mod holding;
mod receiving;

pub(crate) use changing::read_scope;
use receiving::{Taken, take_all_in};

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};

use super::bodies::{Bodies, Bound};
use super::checkpoints::Checkpoints;
use super::group::Group;
use super::judge::Judge;
use super::lookups::Lookups;
use super::placing::Placing;
use super::shelf::Shelf;
use super::write_set::{WriteSet, take_exchanging};
use crate::archive::{Archive, StorePolicy};
use crate::dedup::Rules;
use crate::engine::admission::{Gate, LISTED_PER_COMMIT, queue_listed, settle_sitemap};
use crate::engine::again::{Expiry, Revisits, forget_robots, never_asked, remember, settle_since};
use crate::engine::clock::Clock;
use crate::engine::error::Error;
use crate::engine::event::{Committed, Event};
use crate::engine::events::{Events, Happening};
use crate::engine::exchange::Exchange;
use crate::engine::failpoint::{Failpoint, Step};
use crate::engine::ring::gather::gather;
use crate::engine::ring::meters::Meters;
use crate::engine::ring::observe::{MemoryUse, Pulse};
use crate::engine::ring::suspects::Suspects;
use crate::engine::ring::turns::Turns;
use crate::engine::visit::{Analysed, Entry, Findings, Receipt};
use crate::engine::work::Committing;
use crate::fetch::Guard;
use crate::frontier::{HeldHosts, Moment};
use crate::handover::Closed;
use crate::journal::FetchLog;
use crate::rows::{
    ArchiveNames, Counters, CrawlState, DiskState, SavedBytes, add_saved, deferred_urls,
};
use crate::store::{Durability, Store, Table, encode, keys};
use crate::url::HostKey;

/// The single writer of store, archive, log, runs and documents.
pub(crate) struct Committer {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) archive: Box<dyn Archive>,
    pub(crate) texts: Shelf,
    pub(crate) names: Arc<ArchiveNames>,
    /// Age at which a file of either archive is closed, however small it is.
    pub(crate) max_file_age: Option<Duration>,
    pub(crate) closed: watch::Sender<Closed>,
    /// Set while something is being forgotten: no file leaves before it is out of it.
    pub(crate) is_forgetting: bool,
    pub(crate) bodies: Bodies,
    pub(crate) log: FetchLog,
    pub(crate) state: CrawlState,
    pub(crate) disk: DiskState,
    pub(crate) lookups: Lookups,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) gate: Gate,
    pub(crate) rules: Rules,
    pub(crate) keep: StorePolicy,
    /// What is exchanged with the other shards of the crawl.
    pub(crate) exchange: Exchange,
    /// Whether commits go through the log of an engine.
    pub(crate) is_shared: bool,
    pub(crate) revisits: Revisits,
    pub(crate) expiry: Expiry,
    pub(crate) guard: Arc<Guard>,
    pub(crate) failpoint: Option<Failpoint>,
    pub(crate) pulse: Pulse,
    pub(crate) suspects: Arc<Suspects>,
    pub(crate) reclaiming: Reclaiming,
    /// When the last commit before this run was made, if that is known.
    pub(crate) last_commit: Option<Moment>,
    pub(crate) counters: watch::Sender<Counters>,
    /// Number of URLs that are deferred.
    pub(crate) deferred: watch::Sender<u64>,
    pub(crate) memory: watch::Sender<MemoryUse>,
    /// Bytes that did not have to be stored, by tier.
    pub(crate) saved: watch::Sender<SavedBytes>,
    /// Hosts that a person holds.
    pub(crate) held: watch::Sender<Arc<HeldHosts>>,
    pub(crate) meters: Meters,
    pub(crate) events: Events,
    /// Which files were closed when that was last told.
    pub(crate) told_closed: Closed,
}

/// Whether the space of queues is being reclaimed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reclaiming {
    /// It is not.
    No,
    /// It is, of so many URLs that have left.
    Begun { left: u64 },
    /// It failed in this run.
    Failed,
}

/// The result of collecting the changes of a group.
enum Collected {
    Changes(Box<WriteSet>),
    /// Judging panicked, and changed nothing.
    Panicked,
}

impl Committer {
    /// Commits what arrives until nothing more can arrive, then makes everything durable.
    pub(crate) fn run(
        &mut self,
        entries: &Receiver<Entry>,
        events: &mpsc::Sender<Event>,
        clock: Clock,
        turns: &Turns,
    ) -> Result<(), Error> {
        loop {
            let now = clock.now();
            let patience = self
                .checkpoints
                .until()
                .min(self.revisits.until(now))
                .min(self.expiry.until(now))
                .min(self.until_closing(now));
            self.pulse.rest();
            let received = entries.recv_timeout(patience);
            self.pulse.beat();
            match received {
                Ok(first) => {
                    let mut group = gather(first, entries, turns, self.is_shared);
                    let work = Committing::of(&mut group);
                    let visits = group.iter().filter(|it| matches!(it, Entry::Visit(_)));
                    let others = group.len() - visits.count();
                    let receipts = self.commit(group, clock.now())?;
                    let committed = Committed {
                        receipts,
                        work: work.done(),
                        others,
                        exchanged: self.exchange.news(),
                    };
                    // The scheduler is gone only if the run is ending.
                    let _ = events.blocking_send(Event::Committed(committed));
                    Failpoint::reach(&mut self.failpoint, Step::Applied);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.settle_outbox(clock.now())?;
                    self.pack(clock.now())?;
                    self.close_files()?;
                    return self.checkpoint();
                }
            }
            let queued = self.visit_again(clock.now())?;
            if !queued.is_empty() {
                let committed = Committed {
                    receipts: queued,
                    ..Committed::default()
                };
                let _ = events.blocking_send(Event::Committed(committed));
            }
            self.expire(clock.now())?;
            self.close_old_files(clock.now())?;
            // It may wait long for what is written in the background.
            self.pulse.rest();
            self.checkpoint_if_due()?;
        }
    }

    /// Commits what arrived, in order: visits and what other shards sent as one group, all or
    /// nothing; anything else by itself. What comes of the exchange with other shards depends on no
    /// visit beside it, so it does not part visits. `now` is the time of what is not a visit.
    pub(crate) fn commit(
        &mut self,
        entries: Vec<Entry>,
        now: Moment,
    ) -> Result<Vec<Receipt>, Error> {
        let mut receipts = Vec::new();
        let (mut visits, mut parcels) = (Vec::new(), Vec::new());
        for entry in entries {
            if !entry.joins_visits() {
                let before = (std::mem::take(&mut visits), std::mem::take(&mut parcels));
                receipts.extend(self.commit_together(before, now)?);
            }
            match entry {
                Entry::Visit(visit) => visits.push(*visit),
                Entry::Links(arrived) => parcels.push(*arrived),
                Entry::Acknowledged { to, through } => {
                    if self.exchange.acknowledge(to, through) {
                        self.settle_outbox(now)?;
                    }
                }
                Entry::Heard(heard) => receipts.extend(hearing::hear(self, &heard, now)?),
                Entry::Seeds(seeds) => receipts.extend(self.commit_seeds(seeds, None, now)?),
                Entry::Known(known) => receipts.extend(self.commit_known(known, now)?),
                Entry::Earlier(part) => {
                    let set = self.collect(now, |judge, group| {
                        remember(part, &judge.gate.forgotten, group)
                    })?;
                    receipts.extend(self.write(set)?);
                }
                Entry::PutBack(part) => receipts.extend(self.put_back(*part, now)?),
                Entry::Forget(part, visits) => receipts.extend(self.forget(*part, visits, now)?),
                Entry::Hold(order) => receipts.extend(self.hold(order, now)?),
                Entry::Settings(settings, reply) => {
                    self.change(*settings)?;
                    // Whoever asked may be gone.
                    let _ = reply.send(());
                }
            }
        }
        receipts.extend(self.commit_together((visits, parcels), now)?);
        Ok(receipts)
    }

    /// Commits visits as one group, with what was taken in meanwhile. If judging them panics, that
    /// is committed by itself, and so is each visit; the one that panics again is committed as a
    /// failure: it costs itself only, and is not repeated.
    fn commit_visits(
        &mut self,
        mut visits: Vec<Analysed>,
        mut taken: Taken,
    ) -> Result<Vec<Receipt>, Error> {
        let mut receipts = Vec::new();
        for visit in &mut visits {
            settle_sitemap(&self.gate, visit, &*self.store)?;
            let (forgotten, identity) = (&self.gate.forgotten, &self.gate.identity);
            settle_since(visit, forgotten, identity, &*self.store)?;
            // Done before anything of the group is judged, because what sitemaps list is committed
            // by itself.
            receipts.extend(self.commit_listed(visit)?);
        }
        match self.judge(&visits, &taken)? {
            Collected::Changes(set) => receipts.extend(self.write(*set)?),
            Collected::Panicked if visits.len() > 1 || !taken.is_empty() => {
                let now = latest(&visits);
                for visit in visits {
                    receipts.extend(self.commit_visits(vec![visit], Taken::default())?);
                }
                receipts.extend(take_all_in(self, &mut taken, now)?);
                return Ok(receipts);
            }
            Collected::Panicked => {
                for visit in &mut visits {
                    visit.fail_internally("judging the visit panicked", &self.events);
                }
                match self.judge(&visits, &taken)? {
                    Collected::Changes(set) => receipts.extend(self.write(*set)?),
                    Collected::Panicked => {
                        let url = visits.first().map(|it| it.fetched.task.queued.url.as_str());
                        return Err(Error::Internal(format!(
                            "recording the failure of {} panicked",
                            url.unwrap_or_default()
                        )));
                    }
                }
            }
        }
        Ok(receipts)
    }

    /// Judges visits, makes the bodies that are kept of duplicates, and takes in what other shards
    /// sent. Changes nothing but the write set that it returns.
    fn judge(&mut self, visits: &[Analysed], taken: &Taken) -> Result<Collected, Error> {
        let now = latest(visits);
        let received = taken.received(&self.exchange);
        self.bodies.begin();
        let ahead = self.archive.ahead();
        // Each turn but the last withdraws a verdict, for all turns that follow.
        loop {
            let pulse = self.pulse.clone();
            if let Some(ahead) = &ahead {
                ahead.forget();
            }
            let judged = self.guarded(now, |judge, group| {
                judge.gate.sweep(visits, group)?;
                for visit in visits {
                    let before = group.set.records.len();
                    judge.visit(visit, group)?;
                    if let Some(ahead) = &ahead {
                        for record in group.set.records.iter().skip(before) {
                            ahead.begin(record);
                        }
                    }
                    pulse.beat();
                }
                judge.gate.take_up_after(visits, group)?;
                taken.take_in(judge, group)
            })?;
            let Collected::Changes(mut set) = judged else {
                return Ok(judged);
            };
            match self.bodies.make(std::mem::take(&mut set.orders))? {
                Bound::Bodies(bodies) => {
                    set.kept = bodies;
                    set.exchanged.received = received;
                    return Ok(Collected::Changes(set));
                }
                Bound::Withdrawn => {}
                Bound::Panicked => return Ok(Collected::Panicked),
            }
        }
    }

    /// Queues what a sitemap lists before the visit that ends it, in commits of its own, because
    /// one sitemap may list more than a group should hold. If it is interrupted, the sitemap is
    /// read again, and what was queued is known.
    fn commit_listed(&mut self, visit: &mut Analysed) -> Result<Vec<Receipt>, Error> {
        let mut receipts = Vec::new();
        let Findings::Sitemap(list) = &mut visit.findings else {
            return Ok(receipts);
        };
        let listed = std::mem::take(&mut list.listed);
        let now = visit.fetched.finished;
        let task = visit.fetched.task.clone();
        for part in listed.chunks(LISTED_PER_COMMIT) {
            let judged = self.guarded(now, |judge, group| {
                let revisits = judge.revisits;
                queue_listed(judge.gate, &task, part, revisits, group)
            })?;
            match judged {
                Collected::Changes(set) => receipts.extend(self.write(*set)?),
                Collected::Panicked => {
                    visit.fail_internally("reading the sitemap's entries panicked", &self.events);
                    break;
                }
            }
        }
        Ok(receipts)
    }

    /// Creates a write set on top of what is committed.
    pub(crate) fn write_set(&self, now: Moment) -> WriteSet {
        let store = Arc::clone(&self.store);
        let held = Arc::clone(&self.held.borrow());
        let states = (self.state.clone(), self.disk.clone());
        let mut set = WriteSet::new(store, states, held, now);
        set.exchanged.has_others = !self.exchange.shards.is_one();
        (set.exchanged.documents).clone_from(&self.exchange.publishing.documents);
        set.exchanged.forgotten = Arc::clone(&self.gate.forgotten.0);
        set
    }

    /// Collects changes in a write set on top of what is committed. A panic is caught and discards
    /// the set.
    fn guarded(
        &mut self,
        now: Moment,
        collect: impl FnOnce(&Judge<'_>, &mut Group<'_>) -> Result<(), Error>,
    ) -> Result<Collected, Error> {
        let set = self.write_set(now);
        let judge = Judge {
            gate: &self.gate,
            rules: &self.rules,
            keep: self.keep,
            bodies: &self.bodies,
            revisits: &self.revisits,
            expiry: &self.expiry,
            suspects: &self.suspects,
        };
        let mut group = Group::new(set, &mut self.lookups);
        // Nothing that outlives the panic is half changed: judging writes only to the set, and to
        // the cache of recent keys, each cell of which is whole.
        match catch_unwind(AssertUnwindSafe(|| collect(&judge, &mut group))) {
            Ok(collected) => collected.map(|()| Collected::Changes(Box::new(group.set))),
            Err(_) => Ok(Collected::Panicked),
        }
    }

    /// Collects changes that do not come from strangers' pages.
    pub(crate) fn collect(
        &mut self,
        now: Moment,
        collect: impl FnOnce(&Judge<'_>, &mut Group<'_>) -> Result<(), Error>,
    ) -> Result<WriteSet, Error> {
        match self.guarded(now, collect)? {
            Collected::Changes(set) => Ok(*set),
            Collected::Panicked => Err(Error::Internal("the committer panicked".to_owned())),
        }
    }

    /// Queues the pages whose revisits are due.
    pub(crate) fn visit_again(&mut self, now: Moment) -> Result<Vec<Receipt>, Error> {
        if !self.revisits.until(now).is_zero() {
            return Ok(Vec::new());
        }
        let mut set = self.write_set(now);
        let policies = self.gate.policies.load();
        self.revisits.advance(&policies, &mut set)?;
        if set.batch.is_empty() {
            return Ok(Vec::new());
        }
        self.write(set)
    }

    /// Expires some documents that were not seen for long.
    pub(crate) fn expire(&mut self, now: Moment) -> Result<(), Error> {
        if !self.expiry.until(now).is_zero() {
            return Ok(());
        }
        let mut set = self.write_set(now);
        self.expiry.advance(&mut self.lookups, &mut set)?;
        if !set.expired.is_empty() {
            self.write(set)?;
        }
        Ok(())
    }

    /// Writes what a group changes, all or nothing, and applies it to memory.
    pub(crate) fn write(&mut self, set: WriteSet) -> Result<Vec<Receipt>, Error> {
        self.write_with(set, false)
    }

    fn write_with(&mut self, mut set: WriteSet, packs_all: bool) -> Result<Vec<Receipt>, Error> {
        let (begun, now) = (Instant::now(), set.now);
        Failpoint::reach(&mut self.failpoint, Step::Judged);
        self.pulse.beat();
        let records = std::mem::take(&mut set.records);
        let locations = if records.is_empty() {
            Vec::new()
        } else {
            self.archive.append(&records)?
        };
        let archived: u64 = locations.iter().map(|location| location.length).sum();
        let placing = Placing::of(&self.names, &set.visits, &records, &locations);
        let mut shelved = self.texts.add(&mut set, &placing, packs_all)?;
        let placing = placing.with_texts(std::mem::take(&mut shelved.texts));
        set.state.counters.archived_bytes += archived + shelved.bytes;
        set.place(&placing)?;
        let lines = set.take_lines(&placing)?;
        set.disk.log = self.log.append(&lines)?;
        Failpoint::reach(&mut self.failpoint, Step::Appended);
        if !locations.is_empty() {
            set.disk.archive = self.archive.sync()?;
        }
        self.texts.sync(&shelved, &mut set.batch)?;
        Failpoint::reach(&mut self.failpoint, Step::Synced);
        set.state.sequence += 1;
        let receipts = std::mem::take(&mut set.receipts);
        let moved = std::mem::take(&mut set.moved);
        let mut happened = std::mem::take(&mut set.happened);
        let (soonest_revisit, has_orphans) = (set.soonest_revisit, set.has_orphans);
        let templates = std::mem::take(&mut set.templates);
        let sequence = set.state.sequence;
        let written = (self.lookups.templates).write(templates, sequence, &mut set.batch);
        set.batch
            .put(Table::Meta, keys::meta::TIME, encode(&set.now));
        let is_first = sequence == 1;
        let saved = add_saved(&self.saved.borrow(), &set.saved, is_first, &mut set.batch);
        let exchanging = take_exchanging(&mut set)?;
        let exchanged = self.exchange.write(exchanging, &mut set.batch);
        let mut prepared = set.prepare()?;
        happened.append(&mut prepared.happened);
        self.store.commit(prepared.batch, Durability::Disk)?;
        Failpoint::reach(&mut self.failpoint, Step::Committed);
        self.pulse.beat();
        (self.state, self.disk) = (prepared.state, prepared.disk);
        self.exchange.committed(exchanged);
        self.texts.committed(shelved);
        self.move_scope(moved);
        for it in &happened {
            self.events.tell(it);
        }
        self.tell_closed();
        self.log.acknowledge()?;
        receipts
            .iter()
            .flat_map(|it| &it.spent)
            .for_each(|used_up| {
                self.events.tell(&Happening::UsedUp {
                    by: used_up.by.clone(),
                    setting: used_up.setting,
                });
            });
        if prepared.delta_bytes > 0 {
            let (delta, bytes) = (&prepared.delta, prepared.delta_bytes);
            self.checkpoints.add(self.state.sequence, delta, bytes);
        }
        self.lookups.apply(prepared.delta);
        self.lookups.templates.apply(written);
        self.revisits.committed(soonest_revisit, has_orphans);
        self.counters.send_replace(self.state.counters.clone());
        self.deferred.send_replace(deferred_urls(&*self.store)?);
        if let Some(saved) = saved {
            self.saved.send_replace(saved);
        }
        self.meters
            .committed(self.state.sequence, begun.elapsed(), now);
        self.memory.send_replace(MemoryUse {
            urls_seen: self.lookups.seen.memory_bytes(),
            new_keys: self.checkpoints.memory_bytes(),
            ..MemoryUse::default()
        });
        Ok(receipts)
    }

    /// Forgets what is known of robots.txt where an earlier run was not allowed to ask.
    pub(crate) fn ask_robots_again(&mut self, now: Moment) -> Result<(), Error> {
        loop {
            let hosts = never_asked(&*self.store)?;
            if hosts.is_empty() {
                return Ok(());
            }
            let set = self.collect(now, |_, group| {
                hosts.iter().try_for_each(|host| forget_robots(host, group))
            })?;
            self.write(set)?;
        }
    }

    /// Takes up the deferred URLs of an earlier run: those that come back, those that settings have
    /// changed for, and samples where nothing else waits.
    pub(crate) fn take_up_deferred(&mut self, now: Moment) -> Result<(), Error> {
        let mut from = Vec::new();
        while let Some(name) = deferred_host(&*self.store, &from)? {
            from = [name.as_bytes(), &[1]].concat();
            if let Some(host) = HostKey::parse(&name) {
                let set =
                    self.collect(now, |judge, group| judge.gate.take_up_again(&host, group))?;
                self.write(set)?;
            }
        }
        Ok(())
    }
}

/// Returns the first host with deferred URLs whose key is not below `from`.
fn deferred_host(store: &dyn Store, from: &[u8]) -> Result<Option<String>, Error> {
    let rows = store.range(Table::Deferred, &[], from, 1)?;
    let first = rows.first().and_then(|(key, _)| keys::parse_deferred(key));
    Ok(first.map(|(host, ..)| host.to_owned()))
}

/// Returns the time at which the last of the visits ended.
fn latest(visits: &[Analysed]) -> Moment {
    let finished = visits.iter().map(|visit| visit.fetched.finished);
    finished.max().unwrap_or_default()
}
