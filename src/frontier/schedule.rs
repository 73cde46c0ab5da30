//! The schedule: a pure state machine over the working window of hosts. It is told the time and
//! what happened, and answers what to do next; it does no I/O and reads no clock.
//!
//! Invariants: a host being fetched from is not in `ready`, so it has one visit at a time; a host
//! is in `ready` exactly when it is idle and has something to fetch; a task handed out stays in
//! its slot's `in_progress` until its receipt, and a slot leaves the window only without any, so
//! that no URL is read from disk twice. Memory: at most `window` slots of at most `buffer` URLs.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use super::{
    CLASSES, Expectation, FetchTask, LoadRequest, Loaded, Moment, Pace, Place, Politeness, Purpose,
    QueuedUrl, RefillRequest, Refilled, Trail, Waiting,
};
use crate::store::keys;
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
    /// Give this URL up for this reason, robots.txt forbids it; its commit is to be told by
    /// `committed`.
    Forbid(FetchTask, String),
    /// Read the next URLs of a host; the answer is to be given to `refilled`.
    Refill(RefillRequest),
    /// Read the next hosts; the answer is to be given to `loaded`.
    Load(LoadRequest),
    /// Nothing until then, or until something is told; `None` if only that can help.
    Wait(Option<Moment>),
    /// Nothing is left, and nothing is in progress.
    Drained,
    /// `max_pages` were handed out and none is in progress.
    Spent,
}

/// Reads in progress at once: each is some hundred microseconds of a blocking thread.
const MAX_READS: usize = 8;
/// A host that may not be visited for so long gives its place in a full window to another.
const FAR: Duration = Duration::from_mins(1);
/// Hosts asked for in one read.
const LOAD_LIMIT: usize = 512;

/// The working window of hosts and what is to be done with them.
pub struct Schedule {
    options: ScheduleOptions,
    identity: Identity,
    slots: HashMap<HostKey, Slot>,
    /// Idle hosts with something to fetch, by due time.
    ready: BTreeSet<(Moment, HostKey)>,
    /// Hosts whose buffer runs low, first come first served.
    hungry: VecDeque<HostKey>,
    /// Read and forbidden by robots.txt.
    forbidden: VecDeque<(FetchTask, String)>,
    /// The earliest moment at which a host on disk that has no slot is worth reading; `None` if
    /// there is no such host.
    outside_from: Option<Moment>,
    /// How far the pass over the hosts on disk came that is being made.
    pass: Option<Vec<u8>>,
    /// No host on disk is due before: where a pass begins, so that it does not walk over the
    /// tombstones of hosts that are done.
    lowest_due: Moment,
    loading: bool,
    reads: usize,
    pages_in_progress: u64,
    pages_left: Option<u64>,
}

/// A host in the window.
struct Slot {
    pace: Pace,
    /// Its pace in memory is newer than the committed one.
    visited: bool,
    /// A visit is being made.
    busy: bool,
    /// The queue on disk may hold more.
    more: bool,
    reading: Reading,
    robots: Robots,
    buffer: VecDeque<Waiting>,
    cursors: [u64; CLASSES as usize],
    /// Handed out and not committed.
    in_progress: BTreeSet<(u8, u64)>,
}

/// Whether the next URLs of a host are being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// They are not.
    No,
    /// They are to be: the host is in `hungry`.
    Wanted,
    /// They are.
    InProgress,
    /// They are, and others arrived since, which the answer may not know.
    Outdated,
}

/// What is known of a host's robots.txt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Robots {
    /// Enough, or the next read tells.
    Known,
    /// It must be fetched before anything else.
    Wanted,
    /// It is being fetched or committed.
    InProgress,
}

impl Slot {
    fn new(due: Moment) -> Self {
        Self {
            pace: Pace {
                due,
                ..Pace::default()
            },
            visited: false,
            busy: false,
            more: true,
            reading: Reading::No,
            robots: Robots::Known,
            buffer: VecDeque::new(),
            cursors: [0; CLASSES as usize],
            in_progress: BTreeSet::new(),
        }
    }

    fn has_something_to_fetch(&self) -> bool {
        match self.robots {
            Robots::Known => !self.buffer.is_empty(),
            Robots::Wanted => true,
            Robots::InProgress => false,
        }
    }

    /// Nothing is waiting, in progress or being read.
    fn is_done(&self) -> bool {
        self.is_at_rest() && self.buffer.is_empty() && !self.more && self.robots == Robots::Known
    }

    /// Nothing of it is in progress or being read.
    fn is_at_rest(&self) -> bool {
        self.in_progress.is_empty()
            && self.robots != Robots::InProgress
            && matches!(self.reading, Reading::No | Reading::Wanted)
            && !self.busy
    }

    /// The lowest number of a class that is waiting here or in progress; what is still on disk is
    /// higher.
    fn floor(&self, class: u8) -> u64 {
        let in_progress = self
            .in_progress
            .range((class, 0)..=(class, u64::MAX))
            .map(|(_, sequence)| *sequence)
            .next();
        let waiting = self
            .buffer
            .iter()
            .find(|waiting| waiting.class == class)
            .map(|waiting| waiting.sequence);
        let cursor = self.cursors[usize::from(class)];
        in_progress.unwrap_or(cursor).min(waiting.unwrap_or(cursor))
    }
}

impl Schedule {
    /// A schedule that begins by reading hosts from disk.
    pub fn new(options: ScheduleOptions, identity: Identity) -> Self {
        Self {
            pages_left: options.max_pages,
            options,
            identity,
            slots: HashMap::new(),
            ready: BTreeSet::new(),
            hungry: VecDeque::new(),
            forbidden: VecDeque::new(),
            outside_from: Some(Moment::default()),
            pass: None,
            lowest_due: Moment::default(),
            loading: false,
            reads: 0,
            pages_in_progress: 0,
        }
    }

    /// Hosts in the window.
    pub fn hosts(&self) -> usize {
        self.slots.len()
    }

    /// Whether a visit could be handed out now.
    pub fn has_due(&self, now: Moment) -> bool {
        !self.forbidden.is_empty() || self.ready.first().is_some_and(|(due, _)| *due <= now)
    }

    /// Whether all pages of this run are handed out; one that does not count gives its place back.
    pub fn is_spent(&self) -> bool {
        self.pages_left == Some(0)
    }

    /// What to do now. To be asked again after everything done or told. Without `may_visit` no
    /// visit is handed out, because there is no place for it.
    pub fn next(&mut self, now: Moment, may_visit: bool) -> Action {
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
        if self.is_spent() {
            return match self.pages_in_progress {
                0 => Action::Spent,
                _ => Action::Wait(None),
            };
        }
        let look_outside = self.outside_from.filter(|from| *from > now);
        match self.ready.first() {
            Some((due, host)) if *due <= now && may_visit => {
                let host = host.clone();
                match self.hand_out(&host) {
                    Some(task) => Action::Fetch(task),
                    None => Action::Wait(Some(now)),
                }
            }
            Some((due, _)) if *due > now => {
                Action::Wait(Some(look_outside.map_or(*due, |from| from.min(*due))))
            }
            None if self.is_drained() => Action::Drained,
            _ => Action::Wait(look_outside),
        }
    }

    /// Nothing is in the window, nothing outside, and nobody is looking.
    fn is_drained(&self) -> bool {
        self.slots.is_empty() && self.outside_from.is_none() && self.pass.is_none() && !self.loading
    }

    /// The hosts that `load` read, by due time.
    pub fn loaded(&mut self, loaded: Loaded, now: Moment) {
        self.loading = false;
        self.pass = loaded.next;
        if let Some((due, _)) = loaded.hosts.first() {
            self.lowest_due = self.lowest_due.min(*due);
        }
        for (due, host) in loaded.hosts {
            if self.slots.contains_key(&host) {
                continue;
            }
            if due > now.plus(FAR) || self.room() == 0 {
                // All that follow are due later still: the next pass finds them.
                self.note_outside(due);
                self.pass = None;
                return;
            }
            self.admit_host(&host, due);
        }
    }

    /// The URLs that `refill` read, and how gently their host is treated.
    pub fn refilled(&mut self, refilled: Refilled, politeness: &Politeness) {
        self.reads = self.reads.saturating_sub(1);
        let host = refilled.host;
        let Some(slot) = self.slots.get_mut(&host) else {
            return;
        };
        self.ready.remove(&(slot.pace.due, host.clone()));
        let outdated = slot.reading == Reading::Outdated;
        slot.reading = Reading::No;
        // A live host's due time and failures in memory are newer than the committed ones.
        slot.pace.due = slot.pace.due.max(refilled.pace.due);
        let (before, delay) = (
            politeness.delay(slot.pace.crawl_delay),
            politeness.delay(refilled.pace.crawl_delay),
        );
        if slot.visited {
            // Its robots.txt may just have asked for a longer delay than it was given until now.
            slot.pace.due = slot.pace.due.plus(delay.saturating_sub(before));
        } else {
            slot.pace.failures = refilled.pace.failures;
            if let Some(resumed) = self.options.resumed {
                slot.pace.due = slot.pace.due.max(resumed.plus(delay));
            }
        }
        slot.pace.crawl_delay = refilled.pace.crawl_delay;
        if refilled.needs_robots {
            slot.robots = Robots::Wanted;
        }
        slot.cursors = refilled.cursors;
        slot.more = refilled.more || outdated;
        slot.buffer.extend(refilled.allowed);
        for waiting in refilled.forbidden {
            slot.in_progress.insert((waiting.class, waiting.sequence));
            let pace = slot.pace;
            let task = page_task(host.clone(), pace, waiting, 0);
            self.forbidden
                .push_back((task, refilled.forbidden_because.clone()));
        }
        self.settle(&host);
    }

    /// A visit ended, and this is the host's pace from now on.
    pub fn visited(&mut self, host: &HostKey, pace: Pace) {
        let Some(slot) = self.slots.get_mut(host) else {
            return;
        };
        slot.busy = false;
        slot.visited = true;
        slot.pace.due = pace.due;
        slot.pace.failures = pace.failures;
        self.settle(host);
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
        let Some(slot) = self.slots.get_mut(host) else {
            return;
        };
        match place {
            Some(place) => {
                slot.in_progress.remove(&(place.class, place.sequence));
            }
            None => {
                slot.robots = Robots::Known;
                // What is known now is read with the next URLs.
                slot.more = true;
            }
        }
        self.settle(host);
    }

    /// URLs of this host were committed to its queue.
    pub fn queued(&mut self, host: &HostKey, due: Moment) {
        self.lowest_due = self.lowest_due.min(due);
        if let Some(slot) = self.slots.get_mut(host) {
            slot.more = true;
            if slot.reading == Reading::InProgress {
                slot.reading = Reading::Outdated;
            }
            self.settle(host);
        } else {
            self.admit_host(host, due);
        }
    }

    /// Rows of this host's queue were removed or changed: what was read and not handed out is read
    /// again, if that is possible. If not, a few rows may be visited that are gone.
    pub fn reread(&mut self, host: &HostKey) {
        let Some(slot) = self.slots.get_mut(host) else {
            return;
        };
        let mut cursors = slot.cursors;
        for waiting in &slot.buffer {
            let cursor = &mut cursors[usize::from(waiting.class)];
            *cursor = waiting.sequence.min(*cursor);
        }
        // What is in progress must not be read again, and an answer under way would set the cursors.
        let is_behind = |(class, sequence): &(u8, u64)| *sequence < cursors[usize::from(*class)];
        let is_reading = matches!(slot.reading, Reading::InProgress | Reading::Outdated);
        if is_reading || !slot.in_progress.iter().all(is_behind) {
            return;
        }
        self.ready.remove(&(slot.pace.due, host.clone()));
        slot.cursors = cursors;
        slot.buffer.clear();
        slot.more = true;
        self.settle(host);
    }

    fn admit_host(&mut self, host: &HostKey, due: Moment) {
        if self.slots.contains_key(host) {
            return;
        }
        if self.room() == 0 {
            self.note_outside(due);
            return;
        }
        self.slots.insert(host.clone(), Slot::new(due));
        self.settle(host);
    }

    /// Restores the invariants for one host after a change.
    fn settle(&mut self, host: &HostKey) {
        let Some(slot) = self.slots.get_mut(host) else {
            return;
        };
        if slot.is_done() {
            self.ready.remove(&(slot.pace.due, host.clone()));
            self.slots.remove(host);
            return;
        }
        // What robots.txt forbids goes straight to `in_progress`: it must not pile up there.
        let low = slot.buffer.len() * 4 <= self.options.buffer
            && slot.in_progress.len() < self.options.buffer * 4;
        let idle = slot.reading == Reading::No && slot.robots == Robots::Known;
        if low && slot.more && idle {
            slot.reading = Reading::Wanted;
            self.hungry.push_back(host.clone());
        }
        if !slot.busy && slot.has_something_to_fetch() {
            self.ready.insert((slot.pace.due, host.clone()));
        }
    }

    fn next_refill(&mut self) -> Option<RefillRequest> {
        while let Some(host) = self.hungry.pop_front() {
            let Some(slot) = self.slots.get_mut(&host) else {
                continue;
            };
            // The host may have left the window and come back since it was put here.
            if slot.reading != Reading::Wanted {
                continue;
            }
            slot.reading = Reading::InProgress;
            self.reads += 1;
            return Some(RefillRequest {
                limit: self.options.buffer.saturating_sub(slot.buffer.len()).max(1),
                cursors: slot.cursors,
                host,
            });
        }
        None
    }

    /// Free places in the window.
    fn room(&self) -> usize {
        self.options.window.saturating_sub(self.slots.len())
    }

    /// A host on disk has no slot.
    fn note_outside(&mut self, due: Moment) {
        let near = Moment(due.0.saturating_sub(FAR.as_millis() as u64));
        self.outside_from = Some(self.outside_from.map_or(near, |from| from.min(near)));
    }

    /// Reads hosts when one of those outside may soon be visited and there is room for several:
    /// each pass walks over the hosts that are inside already.
    fn next_load(&mut self, now: Moment) -> Option<LoadRequest> {
        if self.loading {
            return None;
        }
        if self.pass.is_none() {
            if self.outside_from.is_none_or(|from| from > now) {
                return None;
            }
            let wanted = (self.options.window / 8).max(1);
            if self.room() < wanted {
                self.evict_far(now);
            }
            if self.room() < wanted {
                return None;
            }
            self.outside_from = None;
            self.pass = Some(keys::due(self.lowest_due.0, ""));
            self.lowest_due = Moment(u64::MAX);
        }
        self.loading = true;
        Some(LoadRequest {
            from: self.pass.take().unwrap_or_default(),
            limit: LOAD_LIMIT,
        })
    }

    /// Hosts that wait long give their places up: somebody outside may be visited before.
    fn evict_far(&mut self, now: Moment) {
        let far = now.plus(FAR);
        let leaving: Vec<_> = self
            .ready
            .iter()
            .rev()
            .take_while(|(due, _)| *due > far)
            .filter(|(_, host)| self.slots.get(host).is_some_and(Slot::is_at_rest))
            .take(LOAD_LIMIT)
            .cloned()
            .collect();
        for entry in leaving {
            self.slots.remove(&entry.1);
            self.note_outside(entry.0);
            self.ready.remove(&entry);
        }
    }

    fn hand_out(&mut self, host: &HostKey) -> Option<FetchTask> {
        let slot = self.slots.get_mut(host)?;
        self.ready.remove(&(slot.pace.due, host.clone()));
        if slot.robots == Robots::Wanted {
            slot.robots = Robots::InProgress;
            slot.busy = true;
            return Some(robots_task(host.clone(), slot.pace, &self.identity));
        }
        let waiting = slot.buffer.pop_front()?;
        let class = waiting.class;
        slot.in_progress.insert((class, waiting.sequence));
        slot.busy = true;
        let floor = slot.floor(class);
        let task = page_task(host.clone(), slot.pace, waiting, floor);
        self.pages_in_progress += 1;
        if let Some(left) = &mut self.pages_left {
            *left = left.saturating_sub(1);
        }
        self.settle(host);
        Some(task)
    }
}

fn page_task(host: HostKey, pace: Pace, waiting: Waiting, floor: u64) -> FetchTask {
    FetchTask {
        url: waiting.url,
        host,
        pace,
        place: Some(Place {
            class: waiting.class,
            sequence: waiting.sequence,
            floor,
        }),
        queued: waiting.queued,
    }
}

fn robots_task(host: HostKey, pace: Pace, identity: &Identity) -> FetchTask {
    let url = host.robots_url();
    FetchTask {
        queued: QueuedUrl {
            revisit: false,
            purpose: Purpose::Robots,
            url: url.to_string(),
            id: identity.id(&url),
            via: None,
            depth: 0,
            hops: 0,
            attempts: 0,
            path: "P".to_owned(),
            trail: Trail::default(),
            expectation: Expectation::Usual,
        },
        url,
        host,
        pace,
        place: None,
    }
}

#[cfg(test)]
mod tests;
