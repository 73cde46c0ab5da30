//! The schedule: a pure state machine over the working set of hosts. It is told the time and what
//! happened, and answers what to do next. It does no I/O and reads no clock.
//!
//! Invariants: a host that is being visited is not in the lanes, so it has one visit at a time. A
//! host is in the lanes exactly if it is idle, has something to fetch, and its address is known or
//! does not matter. A task that was handed out stays in its host's `in_progress` until its receipt,
//! and a host leaves the working set only if it has none, so that no URL is read from disk twice.
//! Memory: at most `window` hosts with at most `buffer` URLs each, plus one host for each
//! redirected robots.txt that is being followed.

mod active_host;
mod give_up;
mod hold;
mod lanes;
mod tasks;
mod window;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

pub use give_up::Spender;

use active_host::{ActiveHost, AddressState, Line, ReadState, Robots};
use lanes::{Lanes, Standing};
use tasks::{page_task, robots_task};

use crate::frontier::{
    FetchTask, LoadRequest, Moment, Pace, Place, Politeness, RefillRequest, Refilled, SkipReason,
    Visited, Waiting,
};
use crate::url::{HostKey, Identity, Site};

/// Size of the working set.
#[derive(Debug, Clone)]
pub struct ScheduleOptions {
    /// Maximum number of hosts in memory.
    pub window: usize,
    /// Maximum number of URLs in memory per host.
    pub buffer: usize,
    /// Maximum number of visits at a time.
    pub slots: usize,
    /// Maximum number of pages to hand out; `None` for no limit.
    pub max_pages: Option<u64>,
    /// When the previous run may have made visits last of which nothing is known, if it may have.
    /// Which hosts they were is not known either, so each is left alone for its delay from then on.
    pub unknown_until: Option<Moment>,
    /// Hosts that a person holds.
    pub held: HashSet<HostKey>,
}

/// What to do next.
#[derive(Debug)]
pub enum Action {
    /// Make this visit. Report its end with `visited` and its commit with `committed`.
    Fetch(FetchTask),
    /// Give this URL up for this reason. Report its commit with `committed`.
    Forbid(FetchTask, SkipReason),
    /// Read the next URLs of a host. Report them with `refilled`.
    Refill(RefillRequest),
    /// Read the next hosts. Report them with `loaded`.
    Load(LoadRequest),
    /// Resolve the address of a host. Report it with `resolved`.
    Resolve(HostKey),
    /// Do nothing until this time or the next report; `None` to wait for a report only.
    Wait(Option<Moment>),
    /// Nothing is left and nothing is in progress.
    Drained,
    /// `max_pages` were handed out and none is in progress.
    Spent,
}

/// Maximum number of reads in progress. Each occupies a blocking thread for some hundred
/// microseconds.
const MAX_READS: usize = 8;
/// Maximum number of addresses being resolved.
const MAX_RESOLVING: usize = 64;
/// Time in milliseconds for which a host is visited at the address that was found, whatever else
/// its name means by now. The resolver keeps answers that hold longer.
const RESOLVED_FOR: u64 = 60_000;
/// Number of URLs handed out after which a host makes room for others if the working set is full.
const QUANTUM: usize = 64;

/// The working set of hosts, and what is to be done with them.
pub struct Schedule {
    options: ScheduleOptions,
    identity: Identity,
    /// The latest time it was told.
    clock: Moment,
    active_hosts: HashMap<HostKey, ActiveHost>,
    /// Hosts that a person holds: at most `MAX_HELD_HOSTS`.
    held: HashSet<HostKey>,
    /// Idle hosts with something to fetch.
    lanes: Lanes,
    /// Hosts whose buffer runs low, in order of arrival.
    needs_refill: VecDeque<HostKey>,
    /// Hosts whose address is to be resolved.
    unresolved: VecDeque<HostKey>,
    resolving: usize,
    /// Number of URLs in the buffers of the hosts.
    urls: usize,
    /// URLs that were read and are to be given up without a visit.
    forbidden: VecDeque<(FetchTask, SkipReason)>,
    /// When hosts that left the working set may be visited again, if their rows do not say so.
    recent: HashMap<HostKey, Moment>,
    /// Hosts that were handed out [`QUANTUM`] URLs, in that order.
    over_quantum: BTreeMap<u64, HostKey>,
    over_quantum_count: u64,
    /// Number of hosts that leave the working set as soon as they are at rest.
    leaving: usize,
    /// The earliest time at which some host on disk outside the working set is worth reading;
    /// `None` if there is no such host.
    outside_from: Option<Moment>,
    /// Where the current pass over the hosts on disk continues; `None` if none is under way.
    pass: Option<Vec<u8>>,
    /// Where the last pass ran out of room and the next one continues, so that each host gets its
    /// turn.
    resume: Option<Vec<u8>>,
    /// No host on disk is due earlier. A pass begins here, so that it does not walk over the
    /// tombstones of hosts that are done.
    lowest_due: Moment,
    /// When hosts that wait long were last evicted.
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
            lanes: Lanes::new(options.slots),
            held: options.held.clone(),
            options,
            identity,
            clock: Moment::default(),
            active_hosts: HashMap::new(),
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

    /// Number of hosts in the working set.
    pub fn hosts(&self) -> usize {
        self.active_hosts.len()
    }

    /// Number of their URLs in memory that were not handed out.
    pub fn urls(&self) -> usize {
        self.urls
    }

    /// Number of addresses that are being visited, waited for, or left alone for now.
    pub fn addresses(&self) -> usize {
        self.lanes.addresses()
    }

    /// Estimate of the memory used, in bytes, with a hundred bytes for the text of a URL.
    pub fn memory_bytes(&self) -> u64 {
        const TEXT: usize = 100;
        let url = std::mem::size_of::<Waiting>() + 3 * TEXT;
        let host = 2 * std::mem::size_of::<ActiveHost>() + 2 * TEXT;
        let address = std::mem::size_of::<(IpAddr, Moment)>() * 4;
        (self.urls * url + self.active_hosts.len() * host + self.addresses() * address) as u64
    }

    /// Whether a visit could be handed out now.
    pub fn has_due(&mut self, now: Moment) -> bool {
        !self.forbidden.is_empty() || self.lanes.next(now).is_some_and(|due| due <= now)
    }

    /// Number of addresses being resolved.
    pub fn resolving(&self) -> usize {
        self.resolving
    }

    /// Whether the working set is empty and nothing is on its way into it: whatever is left waits
    /// on disk.
    pub fn is_idle(&self) -> bool {
        self.active_hosts.is_empty()
            && self.forbidden.is_empty()
            && self.pass.is_none()
            && !self.loading
    }

    /// Whether all pages of this run were handed out. A page that does not count is added back.
    pub fn is_spent(&self) -> bool {
        self.pages_left == Some(0)
    }

    /// What to do now. Call it again after each action and each report. No visit is handed out
    /// unless `may_visit`.
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
        match self.lanes.next(now) {
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

    /// Whether no host is left in the working set or on disk, and none is being read.
    fn is_drained(&self) -> bool {
        self.active_hosts.is_empty()
            && self.outside_from.is_none()
            && self.pass.is_none()
            && !self.loading
    }

    /// Reports the URLs that `refill` read. `politeness` applies to their host.
    pub fn refilled(&mut self, refilled: Refilled, politeness: &Politeness) {
        self.reads = self.reads.saturating_sub(1);
        let host = refilled.host;
        let Some(active) = self.active_hosts.get_mut(&host) else {
            return;
        };
        let reading = std::mem::replace(&mut active.reading, ReadState::No);
        if reading == ReadState::Void {
            self.settle(&host);
            return;
        }
        let outdated = reading == ReadState::Outdated;
        active.known = true;
        // The due time and the failures of a host in memory are newer than the committed ones.
        active.pace.due = active.pace.due.max(refilled.pace.due);
        let (before, delay) = (
            politeness.delay(active.pace.crawl_delay),
            politeness.delay(refilled.pace.crawl_delay),
        );
        if active.visited {
            // Its robots.txt may just have asked for a longer delay than was applied so far.
            active.pace.due = active.pace.due.plus(delay.saturating_sub(before));
        } else {
            let (due, before) = (active.pace.due, active.pace.crawl_delay);
            active.pace = Pace {
                due,
                crawl_delay: before,
                ..refilled.pace
            };
            active.standing = match refilled.pace.trouble {
                Some(trouble) if trouble.is_silence() => Standing::Fails,
                _ if refilled.has_answered => Standing::Answers,
                _ => Standing::New,
            };
            if let Some(until) = self.options.unknown_until {
                active.not_before = active.not_before.max(until.plus(delay));
                active.pace.due = active.pace.due.max(active.not_before);
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
        for (waiting, reason) in refilled.forbidden {
            active.in_progress.insert((waiting.class, waiting.sequence));
            let pace = active.pace;
            let task = page_task(host.clone(), pace, waiting, 0);
            self.forbidden.push_back((task, reason));
        }
        self.settle(&host);
    }

    /// Reports the address of a host; `None` if it has none or it does not matter.
    pub fn resolved(&mut self, host: &HostKey, address: Option<IpAddr>) {
        self.resolving = self.resolving.saturating_sub(1);
        let address = address.map(server_of);
        if let Some(active) = self.active_hosts.get_mut(host) {
            active.address = AddressState::Known(address);
            active.resolved = self.clock;
        }
        self.settle(host);
    }

    /// Reports that a visit ended.
    pub fn visited(&mut self, visit: Visited) {
        let host = visit.host;
        self.lanes.ended(&host, self.clock);
        if visit.next_hop.is_none() {
            let for_host = visit.for_host.as_ref().map_or(&host, |it| &it.0);
            self.lanes.hand_on(for_host);
        }
        if let Some(active) = self.active_hosts.get_mut(&host) {
            active.busy = false;
            active.set_pace(&visit.pace);
            if visit.has_answered {
                active.standing = Standing::Answers;
            } else if visit.pace.failures > 0 {
                active.standing = Standing::Fails;
            }
            if let AddressState::Known(Some(planned)) = active.address {
                let from = visit.address_free_from;
                match visit.address.map(server_of) {
                    Some(ip) if ip != planned => {
                        self.lanes.release(&host, planned, self.clock);
                        self.lanes.leave_alone(ip, from);
                        active.address = AddressState::Known(Some(ip));
                    }
                    _ => self.lanes.visited(&host, planned, from, self.clock),
                }
            }
            let age = self.clock.0.saturating_sub(active.resolved.0);
            if visit.address.is_none() || age > RESOLVED_FOR {
                // The host may have moved.
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

    /// Queues a visit at the host to which a robots.txt was redirected, or one that is to be made
    /// at another address of its host. The working set may grow by that host.
    fn follow_robots_redirect(&mut self, task: FetchTask) {
        let at = task.visiting().0.clone();
        let due = self.recent.remove(&at).unwrap_or_default();
        let held = self.held.contains(&at);
        self.active_hosts
            .entry(at.clone())
            .or_insert_with(|| ActiveHost {
                held,
                not_before: due,
                ..ActiveHost::new(due)
            });
        self.come_again(task);
        self.settle(&at);
    }

    /// Reports that a visit of a domain, which was made, waits to be read no more.
    pub fn taken_up(&mut self, domain: &Site) {
        self.lanes.taken_up(domain);
    }

    /// Whether hosts are due that wait until visits of their domains are read.
    pub fn holds_back(&self) -> bool {
        self.lanes.holds_back()
    }

    /// Reports that a task was committed. `counted` is whether it counts towards `max_pages`,
    /// `fetched` whether it was handed out as a visit.
    pub fn committed(
        &mut self,
        host: &HostKey,
        place: Option<Place>,
        counted: bool,
        fetched: bool,
    ) {
        if fetched {
            self.lanes.committed(host);
        }
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
                // The rules are read together with the next URLs.
                active.more = true;
            }
        }
        self.settle(host);
    }

    /// Reports how long it took to read and to commit visits of a host.
    pub fn worked(&mut self, host: &HostKey, took: Duration) {
        self.lanes.charge_work(host, took);
    }

    /// Reports that URLs were committed to the queue of a host.
    pub fn queued(&mut self, host: &HostKey, due: Moment) {
        self.lowest_due = self.lowest_due.min(due);
        if let Some(active) = self.active_hosts.get_mut(host) {
            active.more = true;
            if active.reading == ReadState::InProgress {
                active.reading = ReadState::Outdated;
            }
            self.settle(host);
        } else {
            self.admit_host(host, due);
        }
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
        // URLs forbidden by robots.txt go straight to `in_progress`; they must not pile up there.
        let low = active.buffer.len() * 4 <= self.options.buffer
            && active.in_progress.len() < self.options.buffer * 4;
        let goes_on = !active.leaving && !active.held;
        let idle = active.reading == ReadState::No && active.robots == Robots::Known && goes_on;
        if low && active.more && idle {
            active.reading = ReadState::Wanted;
            self.needs_refill.push_back(host.clone());
        }
        if active.busy || !active.has_something_to_fetch() {
            self.lanes.remove(host);
            return;
        }
        match active.address {
            // Its visit is one that is not made.
            _ if active.held => {
                let standing = active.standing;
                self.lanes.insert(host, Moment::default(), None, standing);
            }
            AddressState::Known(address) => {
                let (due, standing) = (active.pace.due, active.standing);
                self.lanes.insert(host, due, address, standing);
            }
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
            // The host may have left the working set and returned since it was put here.
            if active.reading != ReadState::Wanted {
                continue;
            }
            active.reading = ReadState::InProgress;
            self.reads += 1;
            let room = self.options.buffer.saturating_sub(active.buffer.len());
            let limit = room.max(1);
            return Some(RefillRequest {
                limit,
                // Of an odd number, the one more is for those whose turn it is.
                again: limit / 2 + usize::from(limit % 2 == 1 && active.last != Line::Again),
                // Where there is room for one only, it comes after a new one.
                requisites: (limit / 3).max(usize::from(active.last == Line::New)),
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
            match &mut task.robots_redirect {
                Some(robots_redirect) => robots_redirect.pace = active.pace,
                None => task.pace = active.pace,
            }
            task.held.ip = active.address.ip();
            return Some(task);
        }
        if active.robots == Robots::Wanted {
            active.robots = Robots::InProgress;
            let mut task = robots_task(host, active.pace, &self.identity);
            task.held.ip = active.address.ip();
            return Some(task);
        }
        let waiting = active.next_waiting()?;
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
        let mut task = page_task(host.clone(), active.pace, waiting, floor);
        task.held.ip = active.address.ip();
        self.pages_in_progress += 1;
        if let Some(left) = &mut self.pages_left {
            *left = left.saturating_sub(1);
        }
        self.settle(&host);
        Some(task)
    }
}

/// The server that an address counts as. A network of 64 bits is the least that anybody gets of
/// IPv6, so all of its addresses are one server; an address that stands for one of IPv4 is that
/// one.
pub fn server_of(address: IpAddr) -> IpAddr {
    /// The prefix under which IPv6-only networks reach IPv4 (RFC 6052, section 2.1).
    const TRANSLATED: [u16; 6] = [0x64, 0xff9b, 0, 0, 0, 0];
    let IpAddr::V6(v6) = address.to_canonical() else {
        return address.to_canonical();
    };
    match v6.segments() {
        [prefix @ .., high, low] if prefix == TRANSLATED => {
            let [a, b] = high.to_be_bytes();
            let [c, d] = low.to_be_bytes();
            IpAddr::from([a, b, c, d])
        }
        [a, b, c, d, ..] => IpAddr::from([a, b, c, d, 0, 0, 0, 0]),
    }
}

#[cfg(test)]
mod tests;
