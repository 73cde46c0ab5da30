//! Tests of the schedule in a small world: a store in memory, a committer that takes its time, and
//! hosts that answer at any time. Chance chooses the order of events.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::frontier::{
    Block, HostState, Leave, Loaded, PARKED, QueuedUrl, RobotsPolicy, RobotsRedirect, RobotsRow,
    RobotsState, RobotsVerdict, Trouble, class_of, load, refill,
};
use crate::learn::TrapPolicy;
use crate::store::{Batch, Durability, Memory, Store, Table, decode, encode, keys};
use crate::units::Span;
use crate::url::{BlockList, Canonicalizer, Secret, parse};

const DELAY: Duration = Duration::from_millis(100);
const ADDRESS_DELAY: Duration = Duration::from_millis(70);
/// What a host waits after a failure.
const BACKOFF: Duration = Duration::from_millis(1_500);

/// What may happen next, besides what the schedule asks for.
#[derive(Debug, Clone, Copy)]
enum Turn {
    /// A visit ends.
    Visit,
    /// A visit fails, so that its host waits.
    Fail,
    /// The failures of a host are forgotten.
    Relieve,
    /// A visit is committed.
    Commit,
    /// A read is answered.
    Read,
    /// Time passes.
    Wait,
    /// Rows of a host's queue were changed and are read again.
    Reread,
    /// A person holds a host, or lets it go on.
    Hold,
}

/// A schedule and everything around it.
struct World {
    store: Memory,
    schedule: Schedule,
    policy: RobotsPolicy,
    now: Moment,
    sequence: u64,
    /// Visits in progress.
    visiting: Vec<FetchTask>,
    /// Visits that ended and wait for their commit, with the pace of their host.
    ended: Vec<(FetchTask, Option<Pace>)>,
    refills: Vec<Refilled>,
    loads: Vec<Loaded>,
    /// URLs that were handed out or forbidden, and committed.
    fetched: Vec<String>,
    forbidden: Vec<String>,
    /// When each host may be visited again.
    due: BTreeMap<HostKey, Moment>,
    /// When the last visit of each host ended.
    last_visits: BTreeMap<HostKey, Moment>,
    /// When each address may be visited again.
    free: BTreeMap<IpAddr, Moment>,
    held: BTreeSet<HostKey>,
    drained: bool,
}

fn identity() -> Identity {
    Identity::new(
        Canonicalizer::default(),
        Secret::from_bytes([7; Secret::LEN]),
    )
}

fn host(number: u8) -> HostKey {
    HostKey::parse(&format!("http://h{number}.example")).expect("a host")
}

/// Of every three hosts, two share an address and the address of one does not matter.
fn address_of(host: &HostKey) -> Option<IpAddr> {
    let number = host.name().bytes().find(u8::is_ascii_digit).unwrap_or(0) % 3;
    (number < 2).then_some([10, 0, 0, 1].into())
}

impl World {
    fn new(window: usize, buffer: usize, max_pages: Option<u64>, policy: RobotsPolicy) -> Self {
        let options = ScheduleOptions {
            window,
            buffer,
            slots: 64,
            max_pages,
            unknown_until: None,
            held: HashSet::new(),
        };
        Self {
            store: Memory::default(),
            schedule: Schedule::new(options, identity()),
            policy,
            now: Moment(1_000),
            sequence: 0,
            visiting: Vec::new(),
            ended: Vec::new(),
            refills: Vec::new(),
            loads: Vec::new(),
            fetched: Vec::new(),
            forbidden: Vec::new(),
            due: BTreeMap::new(),
            last_visits: BTreeMap::new(),
            free: BTreeMap::new(),
            held: BTreeSet::new(),
            drained: false,
        }
    }

    fn queue(&mut self, host: &HostKey, path: &str, depth: u16) {
        self.queue_all(host, &[path.to_owned()], depth);
    }

    /// Queues URLs in one block, as the committer does. The caller reports them to the schedule.
    fn queue_all(&mut self, host: &HostKey, paths: &[String], depth: u16) {
        let urls = paths.iter().map(|path| self.next_url(host, path, depth));
        let block = Block {
            urls: urls.collect(),
            removed: 0,
        };
        let mut batch = Batch::new();
        batch.put(
            Table::Queue,
            keys::queue(host.as_str(), class_of(depth), self.sequence),
            block.encode(self.sequence),
        );
        self.change(host, batch, |state| state.queued += paths.len() as u64);
    }

    /// Queues a page that was visited before.
    fn queue_again(&mut self, host: &HostKey, path: &str) {
        let (sequence, queued) = self.next_url(host, path, 1);
        let queued = QueuedUrl {
            revisit: true,
            ..queued
        };
        let mut batch = Batch::new();
        let key = keys::queue(host.as_str(), queued.class(), sequence);
        let block = Block {
            urls: vec![(sequence, queued)],
            removed: 0,
        };
        batch.put(Table::Queue, key, block.encode(sequence));
        self.change(host, batch, |state| state.queued += 1);
        self.schedule.queued(host, Moment(0));
    }

    fn next_url(&mut self, host: &HostKey, path: &str, depth: u16) -> (u64, QueuedUrl) {
        self.sequence += 1;
        let url = parse(&format!("{host}{path}")).expect("a URL");
        let queued = QueuedUrl {
            depth,
            ..QueuedUrl::new(url.to_string(), identity().id(&url))
        };
        (self.sequence, queued)
    }

    fn state(&self, host: &HostKey) -> HostState {
        let key = host.as_str().as_bytes();
        let row = self.store.get(Table::Hosts, key).expect("memory reads");
        row.map_or_else(HostState::default, |row| {
            decode(Table::Hosts, &row).expect("a row")
        })
    }

    /// Changes a host's row and its place in `Due` together with `batch`.
    fn change(&mut self, host: &HostKey, mut batch: Batch, change: impl FnOnce(&mut HostState)) {
        let key = host.as_str().as_bytes();
        let mut state = self.state(host);
        change(&mut state);
        if let Some(row) = state.due_row.take() {
            batch.delete(Table::Due, keys::due(row.0, host.as_str()));
        }
        if state.queued > 0 {
            batch.put(
                Table::Due,
                keys::due(state.due.0, host.as_str()),
                Vec::new(),
            );
            state.due_row = Some(state.due);
        }
        batch.put(Table::Hosts, key, encode(&state));
        self.store
            .commit(batch, Durability::Process)
            .expect("memory commits");
    }

    /// Does what the schedule asks for, until it asks to wait.
    fn act(&mut self, places: usize) {
        for _ in 0..10_000 {
            match self.schedule.next(self.now, self.visiting.len() < places) {
                Action::Fetch(task) => {
                    assert!(
                        self.visiting.iter().all(|other| other.host != task.host),
                        "two visits of {} at once",
                        task.host
                    );
                    assert!(!self.held.contains(&task.host), "{} is held", task.host);
                    let due = self.due.get(&task.host).copied().unwrap_or_default();
                    assert!(self.now >= due, "{} is visited too early", task.host);
                    if let Some(ip) = address_of(&task.host) {
                        let at = |other: &FetchTask| address_of(&other.host) == Some(ip);
                        assert!(!self.visiting.iter().any(at), "two visits of {ip} at once");
                        let free = self.free.get(&ip).copied().unwrap_or_default();
                        assert!(self.now >= free, "{ip} is visited too early");
                    }
                    self.visiting.push(task);
                }
                Action::Forbid(task, _) => self.ended.push((task, None)),
                Action::Refill(request) => {
                    let refilled = refill(
                        &self.store,
                        &request,
                        &self.policy,
                        (&TrapPolicy::default(), &BlockList::default()),
                        self.now,
                    );
                    self.refills.push(refilled.expect("memory reads"));
                }
                Action::Resolve(host) => {
                    let address = address_of(&host);
                    self.schedule.resolved(&host, address);
                }
                Action::Load(request) => self
                    .loads
                    .push(load(&self.store, &request).expect("memory reads")),
                Action::Wait(_) => return,
                Action::Drained | Action::Spent => {
                    self.drained = true;
                    return;
                }
            }
        }
        panic!("the schedule never comes to rest");
    }

    /// Lets one thing happen; `pick` chooses among several.
    fn turn(&mut self, turn: Turn, pick: usize) {
        match turn {
            Turn::Visit | Turn::Fail if !self.visiting.is_empty() => {
                let task = self.visiting.swap_remove(pick % self.visiting.len());
                let has_failed = matches!(turn, Turn::Fail);
                let pace = Pace {
                    due: self.now.plus(if has_failed { BACKOFF } else { DELAY }),
                    failures: u32::from(has_failed),
                    trouble: has_failed.then_some(Trouble::Timeout),
                    ..task.pace
                };
                self.due.insert(task.host.clone(), pace.due);
                self.last_visits.insert(task.host.clone(), self.now);
                let address = address_of(&task.host);
                let free_from = self.now.plus(ADDRESS_DELAY);
                self.free.extend(address.map(|ip| (ip, free_from)));
                self.schedule.visited(Visited {
                    host: task.host.clone(),
                    pace,
                    has_answered: true,
                    address: address.or(Some([9; 4].into())),
                    address_free_from: free_from,
                    for_host: None,
                    next_hop: None,
                });
                self.ended.push((task, Some(pace)));
            }
            Turn::Commit if !self.ended.is_empty() => {
                let (task, pace) = self.ended.swap_remove(pick % self.ended.len());
                self.commit(&task, pace);
            }
            Turn::Read if !self.refills.is_empty() => {
                let refilled = self.refills.swap_remove(pick % self.refills.len());
                let politeness = Politeness {
                    delay: Span(DELAY),
                    ..Politeness::none()
                };
                self.schedule.refilled(refilled, &politeness);
            }
            Turn::Read if !self.loads.is_empty() => {
                let loaded = self.loads.remove(0);
                self.schedule.loaded(loaded, self.now);
            }
            Turn::Reread => self.schedule.reread(&host((pick % 6) as u8)),
            Turn::Relieve => self.relieve(&host((pick % 6) as u8)),
            Turn::Hold => {
                let host = host((pick % 6) as u8);
                self.hold(&host, !self.held.contains(&host));
            }
            _ => self.now = self.now.plus(Duration::from_millis(40)),
        }
    }

    fn commit(&mut self, task: &FetchTask, pace: Option<Pace>) {
        let mut batch = Batch::new();
        if let Some(place) = task.place {
            let key = keys::queue(task.host.as_str(), place.class, place.block.last);
            let row = self.store.get(Table::Queue, &key).expect("memory reads");
            let left = self.state(&task.host).leave(place.class, place.block, 0);
            assert!(row.is_some() && left != Leave::Gone, "done twice");
            if left == Leave::Last {
                batch.delete(Table::Queue, key);
            }
            match pace {
                Some(_) => self.fetched.push(task.queued.url.clone()),
                None => self.forbidden.push(task.queued.url.clone()),
            }
        } else {
            let row = RobotsRow {
                verdict: RobotsVerdict::Text(b"User-agent: *\nDisallow: /no".to_vec()),
                document: None,
            };
            batch.put(Table::Robots, task.host.as_str(), encode(&row));
        }
        let now = self.now;
        self.change(&task.host, batch, |state| {
            if let Some(place) = task.place {
                state.queued -= 1;
                state.raise_head(place);
                state.leave(place.class, place.block, 0);
            } else {
                state.robots = RobotsState::Until(now.plus(Duration::from_hours(1)));
            }
            if let Some(pace) = pace {
                let waits = if pace.failures > 0 { BACKOFF } else { DELAY };
                let visit = Moment(pace.due.0 - waits.as_millis() as u64);
                state.last_visit = state.last_visit.max(visit);
                state.due = state.due.max(pace.due);
                (state.failures, state.trouble) = (pace.failures, pace.trouble);
            }
        });
        if pace.is_some() {
            let domain = Site::of_name(task.host.name());
            self.schedule.taken_up(&domain);
        }
        self.schedule
            .committed(&task.host, task.place, pace.is_some(), pace.is_some());
    }

    /// Holds a host, or lets it go on, as a commit tells the schedule.
    fn hold(&mut self, host: &HostKey, is_held: bool) {
        self.schedule.hold(host, is_held);
        if is_held {
            self.held.insert(host.clone());
            return;
        }
        self.held.remove(host);
        let state = self.state(host);
        if state.queued > 0 {
            self.schedule.queued(host, state.due);
            self.drained = false;
        }
    }

    /// Forgets the failures of a host, as a commit does and tells the schedule.
    fn relieve(&mut self, host: &HostKey) {
        if self.state(host).failures == 0 {
            return;
        }
        let now = self.now;
        self.change(host, Batch::new(), |state| {
            (state.failures, state.trouble) = (0, None);
            state.due = state.due.min(now.max(state.last_visit.plus(DELAY)));
        });
        let state = self.state(host);
        self.schedule.relieved(host, state.due);
        if state.queued > 0 {
            self.schedule.queued(host, state.due);
        }
        // Whatever the commit knows, the delay since the last visit holds.
        if let (Some(due), Some(last)) = (self.due.get_mut(host), self.last_visits.get(host)) {
            *due = (*due).min(last.plus(DELAY));
        }
    }

    /// Lets time pass until a visit is made.
    fn wait_for_a_visit(&mut self) {
        while self.visiting.is_empty() {
            self.now = self.now.plus(Duration::from_millis(10));
            self.act(3);
            if !self.refills.is_empty() {
                self.turn(Turn::Read, 0);
            }
        }
    }

    /// Lets everything happen until nothing is left.
    fn settle(&mut self) {
        for n in 0..200_000 {
            self.act(3);
            if self.drained {
                return;
            }
            let idle = self.visiting.is_empty()
                && self.ended.is_empty()
                && self.refills.is_empty()
                && self.loads.is_empty();
            let turn = match (idle, n % 3) {
                (true, _) => Turn::Wait,
                (_, 0) => Turn::Visit,
                (_, 1) => Turn::Commit,
                _ => Turn::Read,
            };
            self.turn(turn, n);
        }
        panic!("the schedule never drains");
    }
}

/// The numbers of a host and of a page, and a depth.
type Found = (u8, u8, u16);

fn turns() -> impl Strategy<Value = Vec<(Turn, usize, Option<Found>)>> {
    let turn = prop_oneof![
        Just(Turn::Visit),
        Just(Turn::Fail),
        Just(Turn::Relieve),
        Just(Turn::Commit),
        Just(Turn::Read),
        Just(Turn::Wait),
        Just(Turn::Reread),
        Just(Turn::Hold)
    ];
    prop::collection::vec(
        (
            turn,
            0..8_usize,
            prop::option::of((0..6_u8, 0..60_u8, 0..20_u16)),
        ),
        0..200,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever the order of events, every URL is handed out exactly once, no host is visited early
    /// or twice at once or while it is held, nothing that robots.txt forbids is fetched, and the
    /// schedule drains: without the hosts that are held, and with them when they go on.
    #[test]
    fn every_url_is_visited_once_and_none_too_early(
        turns in turns(), window in 1..5_usize, buffer in 1..9_usize, obey: bool,
    ) {
        let policy = if obey {
            RobotsPolicy::Obey("gleaner".to_owned())
        } else {
            RobotsPolicy::Ignore
        };
        let mut world = World::new(window, buffer, None, policy);
        let mut queued = BTreeSet::new();
        for (turn, pick, found) in turns {
            if let Some((number, page, depth)) = found {
                let host = host(number);
                // Every fifth page is forbidden by robots.txt.
                let no = if page % 5 == 0 { "no/" } else { "" };
                let paths = (0..=page % 4).map(|part| format!("/{no}{page}-{part}"));
                let paths: Vec<_> = paths
                    .filter(|path| queued.insert(format!("{host}{path}")))
                    .collect();
                if !paths.is_empty() {
                    world.queue_all(&host, &paths, depth);
                    let due = world.due.get(&host).copied().unwrap_or_default();
                    world.schedule.queued(&host, due);
                    world.drained = false;
                }
            }
            world.turn(turn, pick);
            world.act(3);
        }
        world.drained = false;
        // What is not held is done, whatever is.
        world.settle();
        let left = |world: &World, host: &HostKey| world.state(host).queued;
        for host in (0..6).map(host) {
            prop_assert!(left(&world, &host) == 0 || world.held.contains(&host));
        }
        for host in std::mem::take(&mut world.held) {
            world.hold(&host, false);
        }
        world.drained = false;
        world.settle();
        let mut done: Vec<String> = world.fetched.clone();
        done.extend(world.forbidden.iter().cloned());
        done.sort();
        prop_assert_eq!(done, queued.into_iter().collect::<Vec<_>>());
        prop_assert_eq!(world.forbidden.iter().all(|url| url.contains("/no/") && obey), true);
        prop_assert_eq!(world.fetched.iter().any(|url| url.contains("/no/") && obey), false);
        for table in [Table::Due, Table::Queue] {
            prop_assert!(world.store.range(table, &[], &[], 1).unwrap().is_empty());
        }
    }
}

/// A host that waits because it has failed is visited at once when that is forgotten, but a visit
/// that is not committed has the last word.
#[test]
fn who_is_relieved_waits_for_the_delay_only() {
    for is_committed in [true, false] {
        let mut world = World::new(4, 4, None, RobotsPolicy::Ignore);
        world.queue_all(&host(2), &["/a".to_owned(), "/b".to_owned()], 0);
        world.schedule.queued(&host(2), Moment(0));
        while world.visiting.is_empty() {
            world.act(3);
            world.turn(Turn::Read, 0);
        }
        // It has failed before.
        world.change(&host(2), Batch::new(), |state| state.failures = 1);
        world.turn(Turn::Fail, 0);
        if is_committed {
            world.turn(Turn::Commit, 0);
        }
        world.act(3);
        let start = world.now;
        world.relieve(&host(2));
        world.wait_for_a_visit();
        let waits = if is_committed { DELAY } else { BACKOFF };
        assert_eq!(world.now, start.plus(waits), "{is_committed}");
    }
}

/// What the process before may have visited without a commit is not forgiven.
#[test]
fn who_is_relieved_waits_for_visits_that_nobody_knows_of() {
    let mut world = World::new(4, 4, None, RobotsPolicy::Ignore);
    let until = Moment(5_000);
    world.schedule.options.unknown_until = Some(until);
    world.queue_all(&host(2), &["/a".to_owned(), "/b".to_owned()], 0);
    world.change(&host(2), Batch::new(), |state| state.failures = 1);
    world.schedule.queued(&host(2), Moment(0));
    for _ in 0..5 {
        world.act(3);
        world.turn(Turn::Read, 0);
    }
    world.relieve(&host(2));
    world.wait_for_a_visit();
    assert_eq!(world.now, until.plus(DELAY));
}

#[test]
fn max_pages_are_handed_out_and_not_one_more() {
    let mut world = World::new(4, 4, Some(5), RobotsPolicy::Ignore);
    for page in 0..20_u8 {
        world.queue(&host(page % 3), &format!("/{page}"), 0);
    }
    world.settle();
    assert_eq!(world.fetched.len(), 5);
}

#[test]
fn lower_classes_go_first_within_what_was_read() {
    let mut world = World::new(1, 8, None, RobotsPolicy::Ignore);
    for (path, depth) in [("/deep", 3), ("/seed", 0), ("/mid", 1)] {
        world.queue(&host(0), path, depth);
    }
    world.settle();
    let paths: Vec<_> = world
        .fetched
        .iter()
        .map(|url| url.rsplit('/').next().unwrap_or_default())
        .collect();
    assert_eq!(paths, ["seed", "mid", "deep"]);
}

/// Lets a host be visited `visits` times while each page that was visited before is due again at
/// once, and `new` new pages wait. Returns how often new ones were visited, and others.
fn visits_of_a_busy_host(buffer: usize, new: u8, visits: usize) -> (usize, usize) {
    let mut world = World::new(4, buffer, None, RobotsPolicy::Ignore);
    let host = host(2);
    for page in 0..60 {
        world.queue_again(&host, &format!("/again/{page}"));
    }
    for page in 0..new {
        world.queue(&host, &format!("/new/{page}"), 2);
    }
    world.schedule.queued(&host, Moment(0));
    let mut seen = 0;
    while world.fetched.len() < visits {
        world.act(3);
        for turn in [Turn::Read, Turn::Visit, Turn::Commit, Turn::Wait] {
            world.turn(turn, 0);
        }
        for url in world.fetched.split_off(seen) {
            if url.contains("/again/") {
                let path = url.trim_start_matches(host.as_str()).to_owned();
                world.queue_again(&host, &path);
            }
            world.fetched.push(url);
            seen += 1;
        }
    }
    let new = world.fetched.iter().filter(|url| url.contains("/new/"));
    let new = new.count();
    (new, world.fetched.len() - new)
}

#[test]
fn new_pages_do_not_wait_for_those_that_are_due_again_nor_these_for_them() {
    for buffer in [1, 3, 32] {
        let (new, again) = visits_of_a_busy_host(buffer, 60, 120);
        assert!(
            new >= 58 && again >= 58,
            "{buffer}: {new} new, {again} again"
        );
        let (new, again) = visits_of_a_busy_host(buffer, 0, 50);
        assert_eq!((new, again), (0, 50));
        // More new ones than can be visited.
        let (new, again) = visits_of_a_busy_host(buffer, 200, 100);
        assert!(
            new >= 48 && again >= 48,
            "{buffer}: {new} new, {again} again"
        );
    }
}

#[test]
fn what_was_read_is_given_up_when_a_budget_is_used_up() {
    let mut world = World::new(4, 32, None, RobotsPolicy::Ignore);
    for page in 0..40 {
        world.queue(&host(2), &format!("/{page}"), 0);
    }
    while world.visiting.is_empty() {
        world.act(1);
        world.turn(Turn::Read, 0);
    }
    let spender = Spender::Domain(crate::url::Site::of(&host(2).url()));
    let reason = SkipReason::Budget("traps.max_bytes_per_domain");
    world.schedule.spent(&spender, |_| Some(reason.clone()));
    // What the store would say from here on is not known here: only what was read is given up.
    world.act(2);
    assert_eq!((world.visiting.len(), world.ended.len()), (1, 31));
}

#[test]
fn a_read_that_was_under_way_when_a_budget_ended_brings_nothing() {
    let mut world = World::new(4, 4, None, RobotsPolicy::Ignore);
    world.queue(&host(2), "/a", 0);
    for _ in 0..10 {
        world.act(1);
        if !world.refills.is_empty() {
            break;
        }
        world.turn(Turn::Read, 0);
    }
    assert_eq!(world.refills.len(), 1);
    let reason = SkipReason::Budget("traps.max_bytes_per_host");
    let host = Spender::Host(host(2));
    world.schedule.spent(&host, |_| Some(reason.clone()));
    world.turn(Turn::Read, 0);
    assert_eq!(world.schedule.urls(), 0);
    // It is read again.
    world.settle();
    assert_eq!(world.fetched, ["http://h2.example/a"]);
}

#[test]
fn an_address_counts_as_its_server() {
    let check = |address: &str, expected: &str| {
        let server = server_of(address.parse().unwrap());
        assert_eq!(server, expected.parse::<IpAddr>().unwrap(), "{address}");
    };
    check("192.0.2.7", "192.0.2.7");
    check("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::");
    check("::ffff:192.0.2.7", "192.0.2.7");
    check("64:ff9b::192.0.2.7", "192.0.2.7");
    check("::1", "::");
}

#[test]
fn the_head_of_a_queue_follows_what_is_done() {
    let mut world = World::new(1, 2, None, RobotsPolicy::Ignore);
    for page in 0..50_u8 {
        world.queue(&host(0), &format!("/{page}"), 0);
    }
    world.settle();
    world.queue(&host(0), "/last", 0);
    let row = world
        .store
        .get(Table::Hosts, host(0).as_str().as_bytes())
        .unwrap()
        .unwrap();
    let state: HostState = decode(Table::Hosts, &row).unwrap();
    assert!(state.head(0) >= 49, "head {} of 51", state.head(0));
}

#[test]
fn hosts_that_wait_long_give_their_place_to_others() {
    let mut world = World::new(2, 4, None, RobotsPolicy::Ignore);
    for number in 0..2 {
        world.queue(&host(number), "/slow", 0);
        let due = Moment(10_000_000);
        world.change(&host(number), Batch::new(), |state| state.due = due);
        world.due.insert(host(number), due);
    }
    for _ in 0..20 {
        world.act(3);
        world.turn(Turn::Read, 0);
    }
    world.queue(&host(5), "/quick", 0);
    world.schedule.queued(&host(5), Moment(0));
    for n in 0..60 {
        world.act(3);
        world.turn([Turn::Read, Turn::Visit, Turn::Commit][n % 3], 0);
    }
    assert_eq!(world.fetched, ["http://h5.example/quick"]);
    assert!(world.now < Moment(60_000));
}

#[test]
fn more_hosts_than_the_window_holds_are_all_visited() {
    for (hosts, window) in [(600_u16, 10), (1_500, 600), (40, 1)] {
        let mut world = World::new(window, 4, None, RobotsPolicy::Ignore);
        for number in 0..hosts {
            let host = HostKey::parse(&format!("http://n{number}.example")).expect("a host");
            for page in 0..3 {
                world.queue(&host, &format!("/{page}"), 0);
                world.schedule.queued(&host, Moment(0));
            }
        }
        world.settle();
        assert_eq!(
            world.fetched.len(),
            usize::from(hosts) * 3,
            "{hosts} hosts, window {window}"
        );
    }
}

#[test]
fn a_window_full_of_far_hosts_is_at_rest() {
    let mut world = World::new(10, 4, None, RobotsPolicy::Ignore);
    for number in 0..30 {
        world.queue(&host(number), "/", 0);
        let due = Moment(300_000);
        world.change(&host(number), Batch::new(), |state| state.due = due);
        world.schedule.queued(&host(number), due);
    }
    for _ in 0..100 {
        // Panics if the schedule asks for reads without end.
        world.act(3);
        world.turn(Turn::Read, 0);
    }
    assert!(matches!(
        world.schedule.next(world.now, true),
        Action::Wait(Some(_))
    ));
    world.settle();
    assert_eq!(world.fetched.len(), 30);
}

#[test]
fn forbidden_urls_do_not_pile_up_in_memory() {
    let mut world = World::new(4, 8, None, RobotsPolicy::Obey("gleaner".to_owned()));
    for page in 0..5_000 {
        world.queue(&host(0), &format!("/no/{page}"), 0);
    }
    for n in 0..200 {
        // Only the robots.txt is visited and committed; nothing is given up.
        world.act(usize::from(n < 20));
        world.turn([Turn::Read, Turn::Visit, Turn::Commit][n % 3], 0);
    }
    assert!(
        world.schedule.forbidden.len() <= 64,
        "{}",
        world.schedule.forbidden.len()
    );
    world.settle();
    assert_eq!(world.forbidden.len(), 5_000);
}

#[test]
fn hosts_that_never_end_leave_room_for_others() {
    let mut world = World::new(2, 4, None, RobotsPolicy::Ignore);
    for number in 0..2 {
        for page in 0..250 {
            world.queue(&host(number), &format!("/{page}"), 0);
        }
        world.schedule.queued(&host(number), Moment(0));
    }
    for number in 2..6 {
        world.queue(&host(number), "/only", 0);
        world.schedule.queued(&host(number), Moment(0));
    }
    world.settle();
    assert_eq!(world.fetched.len(), 504);
    let place = |number: u8| {
        let url = format!("{}/only", host(number));
        let place = world.fetched.iter().position(|it| *it == url);
        place.expect("it was visited")
    };
    for number in 2..6 {
        assert!(
            place(number) < 400,
            "host {number} waited for {} visits",
            place(number)
        );
    }
}

#[test]
fn a_parked_host_has_no_place_in_the_window() {
    let mut world = World::new(4, 4, None, RobotsPolicy::Ignore);
    world.queue(&host(2), "/", 0);
    world.change(&host(2), Batch::new(), |state| {
        state.due = Moment(20_000);
        state.parked = true;
    });
    let parked = keys::due(20_000, host(2).as_str());
    let mut batch = Batch::new();
    batch.put(Table::Due, parked, PARKED);
    world.store.commit(batch, Durability::Process).unwrap();
    for _ in 0..10 {
        world.act(3);
        world.turn(Turn::Read, 0);
    }
    assert!(world.schedule.is_idle() && !world.drained);
    assert!(world.now < Moment(20_000));
    world.now = Moment(20_000);
    world.settle();
    assert_eq!(world.fetched, ["http://h2.example/"]);
}

#[test]
fn a_robots_redirect_is_followed_at_the_other_host_and_in_its_time() {
    let mut world = World::new(4, 4, None, RobotsPolicy::Obey("gleaner".to_owned()));
    world.queue(&host(2), "/", 0);
    world.schedule.queued(&host(2), Moment(0));
    let robots = |world: &mut World| {
        for _ in 0..4 {
            world.act(3);
            world.turn(Turn::Read, 0);
        }
        world.visiting.pop()
    };
    let task = robots(&mut world).expect("its robots.txt is asked for");
    // The robots.txt is redirected to a host outside the crawl, and then once more, before that
    // host is due again.
    for hops in 1..3 {
        let mut next_hop = task.clone();
        next_hop.robots_redirect = Some(RobotsRedirect {
            at: host(5),
            pace: Pace::default(),
            hops,
            is_at_held: false,
        });
        let (at, _) = match hops {
            1 => task.visiting(),
            _ => (&host(5), &task.pace),
        };
        let ended = world.now;
        world.schedule.visited(Visited {
            host: at.clone(),
            pace: Pace {
                due: ended.plus(DELAY),
                ..Pace::default()
            },
            has_answered: true,
            address: None,
            address_free_from: ended,
            for_host: None,
            next_hop: Some(next_hop),
        });
        let run = loop {
            if let Some(task) = robots(&mut world) {
                break task;
            }
        };
        assert_eq!(run.visiting().0, &host(5));
        assert_eq!(run.host, host(2));
        assert!(hops == 1 || world.now >= ended.plus(DELAY));
    }
    assert_eq!(world.schedule.hosts(), 2);
    let ended = world.now;
    let back = Pace {
        due: ended.plus(DELAY),
        ..Pace::default()
    };
    world.schedule.visited(Visited {
        host: host(5),
        pace: back,
        has_answered: true,
        address: None,
        address_free_from: ended,
        for_host: Some((host(2), back)),
        next_hop: None,
    });
    // What is not on disk is remembered: the host is not visited too early when it is found.
    assert_eq!(world.schedule.hosts(), 1);
    world.due.insert(host(5), ended.plus(DELAY));
    world.queue(&host(5), "/", 0);
    world.schedule.queued(&host(5), Moment(0));
    world.ended.push((task, Some(back)));
    world.settle();
    assert_eq!(world.fetched.len(), 2);
}

/// The visit of a robots.txt that is redirected to host 5, and the end of its first hop.
fn redirected(world: &mut World) -> (FetchTask, Visited) {
    world.queue(&host(2), "/", 0);
    world.schedule.queued(&host(2), Moment(0));
    let task = loop {
        world.act(3);
        world.turn(Turn::Read, 0);
        if let Some(task) = world.visiting.pop() {
            break task;
        }
    };
    let mut next_hop = task.clone();
    next_hop.robots_redirect = Some(RobotsRedirect {
        at: host(5),
        pace: Pace::default(),
        hops: 1,
        is_at_held: false,
    });
    let visited = Visited {
        host: host(2),
        pace: task.pace,
        has_answered: true,
        address: None,
        address_free_from: world.now,
        for_host: None,
        next_hop: Some(next_hop),
    };
    (task, visited)
}

#[test]
fn a_robots_txt_at_a_held_host_is_not_waited_for() {
    for is_held_first in [true, false] {
        let mut world = World::new(4, 4, None, RobotsPolicy::Obey("gleaner".to_owned()));
        let (_, visited) = redirected(&mut world);
        if is_held_first {
            world.schedule.hold(&host(5), true);
        }
        world.schedule.visited(visited);
        world.schedule.hold(&host(5), true);
        // It is handed out at once, marked as one that is not to be made.
        world.act(3);
        let task = world.visiting.pop().expect("it is handed out");
        assert_eq!((task.visiting().0, &task.host), (&host(5), &host(2)));
        assert!(task.robots_redirect.is_some_and(|it| it.is_at_held));
        assert!(world.schedule.is_visiting(&host(5)));
    }
}

#[test]
fn a_visit_that_was_put_back_waits_on_disk_while_its_host_is_held() {
    for is_held_first in [true, false] {
        let mut world = World::new(4, 4, Some(1), RobotsPolicy::Ignore);
        world.queue(&host(2), "/", 0);
        world.schedule.queued(&host(2), Moment(0));
        while world.visiting.is_empty() {
            world.act(3);
            world.turn(Turn::Read, 0);
        }
        let task = world.visiting.pop().expect("it is handed out");
        if is_held_first {
            world.schedule.hold(&host(2), true);
        }
        world.schedule.visited(Visited {
            host: host(2),
            pace: task.pace,
            has_answered: false,
            address: None,
            address_free_from: world.now,
            for_host: None,
            next_hop: Some(task),
        });
        world.schedule.hold(&host(2), true);
        world.act(3);
        assert!(world.schedule.is_idle() && world.visiting.is_empty() && world.drained);
        // It counts as one that was not handed out.
        world.hold(&host(2), false);
        world.settle();
        assert_eq!(world.fetched, ["http://h2.example/"]);
    }
}
