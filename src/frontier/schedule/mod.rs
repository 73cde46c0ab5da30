//! The schedule: a pure state machine over the working window of hosts. It is told the time and
//! what happened, and answers what to do next; it does no I/O and reads no clock.
//!
//! Invariants: a host being fetched from is not in the lanes, so it has one visit at a time; a host
//! is in the lanes exactly when it is idle, has something to fetch, and its address is known or
//! does not matter; a task handed out stays in its slot's `in_progress` until its receipt, and a
//! slot leaves the window only without any, so that no URL is read from disk twice. Memory: at most
//! `window` slots of at most `buffer` URLs, and a slot for each robots.txt that is being looked for
//! elsewhere.

mod active_host;
mod lanes;
mod window;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::IpAddr;

use active_host::{ActiveHost, AddressState, Reading, Robots};
use lanes::Lanes;

use crate::frontier::{
    FetchTask, LoadRequest, Moment, Pace, Place, Politeness, Purpose, QueuedUrl, RefillRequest,
    Refilled, Refusal, Visited, Waiting,
};
use crate::url::{HostKey, Identity};

/// Size of the working window.
#[derive(Debug, Clone)]
pub struct ScheduleOptions {
    /// Hosts in memory at most.
    pub window: usize,
    /// URLs of one host in memory at most.
    pub buffer: usize,
    /// Pages to hand out at most; `None` for no limit.
    pub max_pages: Option<u64>,
    /// When this run began, if others went before: which hosts were being visited when the last
    /// one ended is not known, so each is left alone for its delay.
    pub resumed: Option<Moment>,
}

/// What is to be done next.
#[derive(Debug)]
pub enum Action {
    /// Make this visit; its end is to be told by `visited`, its commit by `committed`.
    Fetch(FetchTask),
    /// Give this URL up for this reason; its commit is to be told by `committed`.
    Forbid(FetchTask, Refusal),
    /// Read the next URLs of a host; the answer is to be given to `refilled`.
    Refill(RefillRequest),
    /// Read the next hosts; the answer is to be given to `loaded`.
    Load(LoadRequest),
    /// Find out the address of a host; the answer is to be given to `resolved`.
    Resolve(HostKey),
    /// Nothing until then, or until something is told; `None` if only that can help.
    Wait(Option<Moment>),
    /// Nothing is left, and nothing is in progress.
    Drained,
    /// `max_pages` were handed out and none is in progress.
    Spent,
}

/// Reads in progress at once: each is some hundred microseconds of a blocking thread.
const MAX_READS: usize = 8;
/// Addresses looked for at once.
const MAX_RESOLVING: usize = 64;
/// URLs of a host after which it has had its share of a full window.
const QUANTUM: usize = 64;

/// The working window of hosts and what is to be done with them.
pub struct Schedule {
    options: ScheduleOptions,
    identity: Identity,
    /// The time that it was told last.
    clock: Moment,
    active_hosts: HashMap<HostKey, ActiveHost>,
    /// Idle hosts with something to fetch.
    lanes: Lanes,
    /// Hosts whose buffer runs low, first come first served.
    needs_refill: VecDeque<HostKey>,
    /// Hosts whose address is to be found out.
    unresolved: VecDeque<HostKey>,
    resolving: usize,
    /// URLs in the slots' buffers.
    urls: usize,
    /// Read, and not to be visited.
    forbidden: VecDeque<(FetchTask, Refusal)>,
    /// When hosts that left the window may be visited again, where their rows do not say so.
    recent: HashMap<HostKey, Moment>,
    /// Hosts that had their share of the window, in that order.
    over_quantum: BTreeMap<u64, HostKey>,
    over_quantum_count: u64,
    /// Hosts that leave the window as soon as they are at rest.
    leaving: usize,
    /// The earliest moment at which a host on disk that has no slot is worth reading; `None` if
    /// there is no such host.
    outside_from: Option<Moment>,
    /// How far the pass over the hosts on disk came that is being made.
    pass: Option<Vec<u8>>,
    /// Where the last pass found no room and the next one goes on, so that each host has its turn.
    resume: Option<Vec<u8>>,
    /// No host on disk is due before: where a pass begins, so that it does not walk over the
    /// tombstones of hosts that are done.
    lowest_due: Moment,
    /// When it was last looked for hosts that wait long.
    looked_far: Moment,
    loading: bool,
    reads: usize,
    pages_in_progress: u64,
    pages_left: Option<u64>,
}

impl Schedule {
    /// A schedule that begins by reading hosts from disk.
    pub fn new(options: ScheduleOptions, identity: Identity) -> Self {
        Self {
            pages_left: options.max_pages,
            options,
            identity,
            clock: Moment::default(),
            active_hosts: HashMap::new(),
            lanes: Lanes::default(),
            needs_refill: VecDeque::new(),
            unresolved: VecDeque::new(),
            resolving: 0,
            urls: 0,
            forbidden: VecDeque::new(),
            recent: HashMap::new(),
            over_quantum: BTreeMap::new(),
            over_quantum_count: 0,
            leaving: 0,
            outside_from: Some(Moment::default()),
            pass: None,
            resume: None,
            lowest_due: Moment::default(),
            looked_far: Moment::default(),
            loading: false,
            reads: 0,
            pages_in_progress: 0,
        }
    }

    /// Hosts in the window.
    pub fn hosts(&self) -> usize {
        self.active_hosts.len()
    }

    /// URLs of these in memory that are not handed out.
    pub fn urls(&self) -> usize {
        self.urls
    }

    /// Addresses that are being visited, waited for, or left alone for now.
    pub fn addresses(&self) -> usize {
        self.lanes.addresses()
    }

    /// Bytes of memory that all this takes, about: the text of a URL is taken to be a hundred
    /// bytes.
    pub fn memory_bytes(&self) -> u64 {
        const TEXT: usize = 100;
        let url = std::mem::size_of::<Waiting>() + 3 * TEXT;
        let host = 2 * std::mem::size_of::<ActiveHost>() + 2 * TEXT;
        let address = std::mem::size_of::<(IpAddr, Moment)>() * 4;
        (self.urls * url + self.active_hosts.len() * host + self.addresses() * address) as u64
    }

    /// Whether a visit could be handed out now.
    pub fn has_due(&self, now: Moment) -> bool {
        !self.forbidden.is_empty() || self.lanes.next().is_some_and(|due| due <= now)
    }

    /// Addresses being looked for.
    pub fn resolving(&self) -> usize {
        self.resolving
    }

    /// Nothing is in the window or on its way there: what is left waits on disk, and not for long
    /// reads.
    pub fn is_idle(&self) -> bool {
        self.active_hosts.is_empty()
            && self.forbidden.is_empty()
            && self.pass.is_none()
            && !self.loading
    }

    /// Whether all pages of this run are handed out; one that does not count gives its place back.
    pub fn is_spent(&self) -> bool {
        self.pages_left == Some(0)
    }

    /// What to do now. To be asked again after everything done or told. Without `may_visit` no
    /// visit is handed out, because there is no place for it.
    pub fn next(&mut self, now: Moment, may_visit: bool) -> Action {
        self.clock = now.max(self.clock);
        if self.reads < MAX_READS
            && let Some(request) = self.next_refill()
        {
            return Action::Refill(request);
        }
        if may_visit && let Some((task, reason)) = self.forbidden.pop_front() {
            return Action::Forbid(task, reason);
        }
        if let Some(request) = self.next_load(now) {
            return Action::Load(request);
        }
        if self.resolving < MAX_RESOLVING
            && let Some(host) = self.unresolved.pop_front()
        {
            self.resolving += 1;
            return Action::Resolve(host);
        }
        if self.is_spent() {
            return match self.pages_in_progress {
                0 => Action::Spent,
                _ => Action::Wait(None),
            };
        }
        let look_outside = self.outside_from.filter(|from| *from > now);
        match self.lanes.next() {
            Some(due) if due <= now && may_visit => match self.hand_out(now) {
                Some(task) => Action::Fetch(task),
                None => Action::Wait(Some(now)),
            },
            Some(due) if due > now => {
                Action::Wait(Some(look_outside.map_or(due, |from| from.min(due))))
            }
            None if self.is_drained() => Action::Drained,
            _ => Action::Wait(look_outside),
        }
    }

    /// Nothing is in the window, nothing outside, and nobody is looking.
    fn is_drained(&self) -> bool {
        self.active_hosts.is_empty()
            && self.outside_from.is_none()
            && self.pass.is_none()
            && !self.loading
    }

    /// The URLs that `refill` read, and how gently their host is treated.
    pub fn refilled(&mut self, refilled: Refilled, politeness: &Politeness) {
        self.reads = self.reads.saturating_sub(1);
        let host = refilled.host;
        let Some(active) = self.active_hosts.get_mut(&host) else {
            return;
        };
        let outdated = active.reading == Reading::Outdated;
        active.reading = Reading::No;
        active.known = true;
        // A live host's due time and failures in memory are newer than the committed ones.
        active.pace.due = active.pace.due.max(refilled.pace.due);
        let (before, delay) = (
            politeness.delay(active.pace.crawl_delay),
            politeness.delay(refilled.pace.crawl_delay),
        );
        if active.visited {
            // Its robots.txt may just have asked for a longer delay than it was given until now.
            active.pace.due = active.pace.due.plus(delay.saturating_sub(before));
        } else {
            let (due, before) = (active.pace.due, active.pace.crawl_delay);
            active.pace = Pace {
                due,
                crawl_delay: before,
                ..refilled.pace
            };
            if let Some(resumed) = self.options.resumed {
                active.pace.due = active.pace.due.max(resumed.plus(delay));
            }
        }
        active.pace.crawl_delay = refilled.pace.crawl_delay;
        if refilled.needs_robots {
            active.robots = Robots::Wanted;
        }
        active.cursors = refilled.cursors;
        active.more = refilled.more || outdated;
        self.urls += refilled.allowed.len();
        active.buffer.extend(refilled.allowed);
        for waiting in refilled.forbidden {
            active.in_progress.insert((waiting.class, waiting.sequence));
            let pace = active.pace;
            let task = page_task(host.clone(), pace, waiting, 0);
            self.forbidden
                .push_back((task, refilled.forbidden_because.clone()));
        }
        self.settle(&host);
    }

    /// The address of a host, if it has one and that matters.
    pub fn resolved(&mut self, host: &HostKey, address: Option<IpAddr>) {
        self.resolving = self.resolving.saturating_sub(1);
        if let Some(active) = self.active_hosts.get_mut(host) {
            active.address = AddressState::Known(address);
        }
        self.settle(host);
    }

    /// A visit ended.
    pub fn visited(&mut self, visit: Visited) {
        let host = visit.host;
        if let Some(active) = self.active_hosts.get_mut(&host) {
            active.busy = false;
            active.set_pace(&visit.pace);
            if let AddressState::Known(Some(planned)) = active.address {
                let from = visit.address_free_from;
                match visit.address {
                    Some(ip) if ip != planned => {
                        self.lanes.release(&host, planned, self.clock);
                        self.lanes.leave_alone(ip, from);
                        active.address = AddressState::Known(Some(ip));
                    }
                    _ => self.lanes.visited(&host, planned, from, self.clock),
                }
            }
            if visit.address.is_none() {
                // It may have moved.
                active.address = AddressState::Unknown;
            }
        }
        self.settle(&host);
        if let Some((for_host, pace)) = visit.for_host {
            if let Some(active) = self.active_hosts.get_mut(&for_host) {
                active.set_pace(&pace);
            }
            self.settle(&for_host);
        }
        if let Some(task) = visit.next_hop {
            self.follow_robots_redirect(task);
        }
    }

    /// A visit of another host than the one that it is for. The window may grow by that host.
    fn follow_robots_redirect(&mut self, task: FetchTask) {
        let at = task.visiting().0.clone();
        let due = self.recent.remove(&at).unwrap_or_default();
        let active = self
            .active_hosts
            .entry(at.clone())
            .or_insert_with(|| ActiveHost::new(due));
        active.robots_redirects.push_back(task);
        self.settle(&at);
    }

    /// A task was committed. `counted`: it counts towards `max_pages`.
    pub fn committed(
        &mut self,
        host: &HostKey,
        place: Option<Place>,
        counted: bool,
        fetched: bool,
    ) {
        if place.is_some() && fetched {
            self.pages_in_progress = self.pages_in_progress.saturating_sub(1);
            if !counted && let Some(left) = &mut self.pages_left {
                *left += 1;
            }
        }
        let Some(active) = self.active_hosts.get_mut(host) else {
            return;
        };
        match place {
            Some(place) => {
                active.in_progress.remove(&(place.class, place.sequence));
            }
            None => {
                active.robots = Robots::Known;
                // What is known now is read with the next URLs.
                active.more = true;
            }
        }
        self.settle(host);
    }

    /// URLs of this host were committed to its queue.
    pub fn queued(&mut self, host: &HostKey, due: Moment) {
        self.lowest_due = self.lowest_due.min(due);
        if let Some(active) = self.active_hosts.get_mut(host) {
            active.more = true;
            if active.reading == Reading::InProgress {
                active.reading = Reading::Outdated;
            }
            self.settle(host);
        } else {
            self.admit_host(host, due);
        }
    }

    /// Rows of this host's queue were removed or changed: what was read and not handed out is read
    /// again, if that is possible. If not, a few rows may be visited that are gone.
    pub fn reread(&mut self, host: &HostKey) {
        let Some(active) = self.active_hosts.get_mut(host) else {
            return;
        };
        let mut cursors = active.cursors;
        for waiting in &active.buffer {
            let cursor = &mut cursors[usize::from(waiting.class)];
            *cursor = waiting.sequence.min(*cursor);
        }
        // What is in progress must not be read again, and an answer under way would set the
        // cursors.
        let is_behind = |(class, sequence): &(u8, u64)| *sequence < cursors[usize::from(*class)];
        let is_reading = matches!(active.reading, Reading::InProgress | Reading::Outdated);
        if is_reading || !active.in_progress.iter().all(is_behind) {
            return;
        }
        active.cursors = cursors;
        self.urls -= active.buffer.len();
        active.buffer.clear();
        active.more = true;
        self.settle(host);
    }

    /// Restores the invariants for one host after a change.
    fn settle(&mut self, host: &HostKey) {
        let Some(active) = self.active_hosts.get_mut(host) else {
            return;
        };
        if active.is_done() || active.is_to_leave(self.clock) {
            self.leave(host);
            return;
        }
        // What robots.txt forbids goes straight to `in_progress`: it must not pile up there.
        let low = active.buffer.len() * 4 <= self.options.buffer
            && active.in_progress.len() < self.options.buffer * 4;
        let idle =
            active.reading == Reading::No && active.robots == Robots::Known && !active.leaving;
        if low && active.more && idle {
            active.reading = Reading::Wanted;
            self.needs_refill.push_back(host.clone());
        }
        if active.busy || !active.has_something_to_fetch() {
            self.lanes.remove(host);
            return;
        }
        match active.address {
            AddressState::Known(address) => self.lanes.insert(host, active.pace.due, address),
            AddressState::Unknown => {
                active.address = AddressState::Asked;
                self.unresolved.push_back(host.clone());
            }
            AddressState::Asked => {}
        }
    }

    fn next_refill(&mut self) -> Option<RefillRequest> {
        while let Some(host) = self.needs_refill.pop_front() {
            let Some(active) = self.active_hosts.get_mut(&host) else {
                continue;
            };
            // The host may have left the window and come back since it was put here.
            if active.reading != Reading::Wanted {
                continue;
            }
            active.reading = Reading::InProgress;
            self.reads += 1;
            return Some(RefillRequest {
                limit: self
                    .options
                    .buffer
                    .saturating_sub(active.buffer.len())
                    .max(1),
                cursors: active.cursors,
                host,
            });
        }
        None
    }

    fn hand_out(&mut self, now: Moment) -> Option<FetchTask> {
        let host = self.lanes.pop(now)?;
        let active = self.active_hosts.get_mut(&host)?;
        active.busy = true;
        if let Some(mut task) = active.robots_redirects.pop_front() {
            active.followed_redirects = true;
            if let Some(robots_redirect) = &mut task.robots_redirect {
                robots_redirect.pace = active.pace;
            }
            return Some(task);
        }
        if active.robots == Robots::Wanted {
            active.robots = Robots::InProgress;
            return Some(robots_task(host, active.pace, &self.identity));
        }
        let waiting = active.buffer.pop_front()?;
        self.urls -= 1;
        let class = waiting.class;
        active.in_progress.insert((class, waiting.sequence));
        active.served += 1;
        if active.served == QUANTUM {
            self.over_quantum_count += 1;
            active.over_quantum = self.over_quantum_count;
            self.over_quantum
                .insert(self.over_quantum_count, host.clone());
        }
        let floor = active.floor(class);
        let task = page_task(host.clone(), active.pace, waiting, floor);
        self.pages_in_progress += 1;
        if let Some(left) = &mut self.pages_left {
            *left = left.saturating_sub(1);
        }
        self.settle(&host);
        Some(task)
    }
}

fn page_task(host: HostKey, pace: Pace, waiting: Waiting, floor: u64) -> FetchTask {
    FetchTask {
        url: waiting.url,
        host,
        pace,
        robots_redirect: None,
        place: Some(Place {
            class: waiting.class,
            sequence: waiting.sequence,
            block: waiting.block,
            floor,
        }),
        queued: waiting.queued,
    }
}

fn robots_task(host: HostKey, pace: Pace, identity: &Identity) -> FetchTask {
    let url = host.robots_url();
    FetchTask {
        queued: QueuedUrl {
            purpose: Purpose::Robots,
            path: "P".to_owned(),
            ..QueuedUrl::new(url.to_string(), identity.id(&url))
        },
        url,
        host,
        pace,
        robots_redirect: None,
        place: None,
    }
}

#[cfg(test)]
mod tests;
