//! Workers that come, die and leave, by a clock that the test sets.

use std::sync::Arc;

use proptest::prelude::*;

use super::super::tells::Figures;
use super::*;
use crate::broker::Memory;

const SHARDS: u16 = 8;
const DEAD: Duration = Duration::from_secs(10);

/// Some workers of a crawl, whose followers have read everything.
struct World {
    engine: Memory,
    now: Duration,
    workers: BTreeMap<String, Simulated>,
}

struct Simulated {
    membership: Membership,
    having: Having,
    owns: BTreeSet<u16>,
    /// The log does not have any more what it lacks.
    cannot_follow: bool,
}

impl World {
    fn new() -> Self {
        Self {
            engine: Memory::start(1 << 20),
            now: Duration::from_secs(100),
            workers: BTreeMap::new(),
        }
    }

    /// Workers that have found their shards and copies.
    fn of<const N: usize>(names: [&str; N]) -> Self {
        let mut world = Self::new();
        for name in names {
            world.join(name);
        }
        world.pass(5);
        world
    }

    fn rows(&self) -> Rows {
        Rows::new(Arc::new(self.engine.connect()))
    }

    fn join(&mut self, name: &str) {
        let who = (name, name);
        let membership = Membership::join(self.rows(), who, SHARDS, 2, DEAD).unwrap();
        let simulated = Simulated {
            membership,
            having: Having::default(),
            owns: BTreeSet::new(),
            cannot_follow: false,
        };
        self.workers.insert(name.to_owned(), simulated);
    }

    /// Lets some seconds pass, with a beat of each worker in each.
    fn pass(&mut self, seconds: u32) {
        for _ in 0..seconds {
            self.now += Duration::from_secs(1);
            for worker in self.workers.values_mut() {
                let orders = worker.membership.tick(&worker.having, self.now).unwrap();
                for (shard, to) in &orders.give {
                    worker.membership.give(*shard, to).unwrap();
                }
                let follow = orders.follow.iter().filter(|_| !worker.cannot_follow);
                worker.having.follows = follow.map(|shard| (*shard, 7)).collect();
                worker.having.ends = orders.own.iter().map(|shard| (*shard, 7)).collect();
                worker.owns = orders.own;
            }
        }
    }

    /// Checks that the workers that are there own everything, each shard one of them, and none much
    /// more than another, and that each shard has a copy beside.
    fn check(&self) {
        let owners = self.rows().owners().unwrap();
        assert_eq!(owners.len(), usize::from(SHARDS));
        let staying = self.workers.values().filter(|it| !it.having.is_leaving);
        let staying = staying.count();
        for (name, worker) in &self.workers {
            let own = (0..)
                .zip(&owners)
                .filter(|(_, owner)| owner.worker == *name);
            let own: BTreeSet<u16> = own.map(|(shard, _)| shard).collect();
            assert_eq!(worker.owns, own, "{name}");
            let shards = usize::from(SHARDS);
            match worker.having.is_leaving {
                true => assert_eq!(own.len(), 0, "{name}"),
                false => {
                    let fair = shards / staying..=shards.div_ceil(staying);
                    assert!(fair.contains(&own.len()), "{name}: {own:?}");
                }
            }
        }
        for shard in 0..SHARDS {
            let copies = self.workers.values();
            let copies = copies
                .filter(|it| it.having.follows.contains_key(&shard))
                .count();
            assert_eq!(copies, usize::from(staying > 1), "{shard:02}");
        }
    }
}

#[test]
fn workers_share_what_there_is() {
    let world = World::of(["a", "b", "c"]);
    world.check();
}

#[test]
fn what_a_dead_worker_owned_is_taken_by_who_followed_it() {
    let mut world = World::of(["a", "b", "c"]);
    let dead = world.workers.remove("b").unwrap();
    let followed = |world: &World, shard: &u16| {
        let mut workers = world.workers.iter();
        let follower = workers.find(|(_, it)| it.having.follows.contains_key(shard));
        follower.map(|(name, _)| name.clone())
    };
    let heirs: BTreeMap<u16, String> = dead
        .owns
        .iter()
        .map(|shard| (*shard, followed(&world, shard).unwrap()))
        .collect();
    // For ten seconds, it may be alive.
    world.pass(8);
    let owners = world.rows().owners().unwrap();
    assert!(
        dead.owns
            .iter()
            .all(|shard| owners[usize::from(*shard)].worker == "b")
    );
    world.now += Duration::from_secs(2);
    world.pass(1);
    let owners = world.rows().owners().unwrap();
    for (shard, heir) in heirs {
        assert_eq!(owners[usize::from(shard)].worker, heir);
    }
    world.pass(5);
    world.check();
}

#[test]
fn a_shard_that_nobody_follows_waits_for_its_owner() {
    let mut world = World::new();
    world.join("a");
    world.pass(2);
    let alone = world.workers.remove("a").unwrap();
    world.join("b");
    world.workers.get_mut("b").unwrap().cannot_follow = true;
    world.pass(30);
    assert!(world.workers["b"].owns.is_empty());
    world.workers.get_mut("b").unwrap().cannot_follow = false;
    world.workers.insert("a".to_owned(), alone);
    world.pass(5);
    world.check();
}

/// Opening a copy may take longer than it takes its owner to be taken for dead.
#[test]
fn a_shard_that_nobody_follows_is_followed_by_who_has_something_of_it() {
    let mut world = World::of(["a", "b"]);
    world.workers.remove("a");
    let b = world.workers.get_mut("b").unwrap();
    b.having.follows.clear();
    b.having.kept = (0..SHARDS).collect();
    b.cannot_follow = true;
    world.pass(15);
    assert_eq!(world.workers["b"].owns.len(), usize::from(SHARDS) / 2);
    world.workers.get_mut("b").unwrap().cannot_follow = false;
    world.pass(3);
    world.check();
}

/// After an engine has lost all, logs do not have what some lack.
#[test]
fn who_has_just_begun_gives_nothing_away() {
    let mut world = World::new();
    let owner = Owner {
        worker: "b".to_owned(),
        epoch: 1,
    };
    let owners = vec![owner; usize::from(SHARDS)];
    super::super::rows::restore(&world.engine, &["a".to_owned(), "b".to_owned()], &owners).unwrap();
    for name in ["a", "b"] {
        world.join(name);
    }
    let half = usize::from(SHARDS) / 2;
    let given = |world: &mut World, read: u64, ends: u64, ended: bool| {
        let all = |position| (0..SHARDS).map(|shard| (shard, position)).collect();
        let a = world.workers.get_mut("a").unwrap();
        a.having.follows = all(read);
        a.membership.tick(&a.having, world.now).unwrap();
        let b = world.workers.get_mut("b").unwrap();
        b.having.ends = all(ends);
        if ends == 0 {
            b.having.ends.clear();
        }
        b.having.ended = (0..SHARDS).filter(|_| ended).collect();
        let orders = b.membership.tick(&b.having, world.now).unwrap();
        assert_eq!(orders.own.len() + orders.give.len(), usize::from(SHARDS));
        orders.give.len()
    };
    assert_eq!(
        given(&mut world, 13, 0, false),
        0,
        "nobody knows who is ahead"
    );
    assert_eq!(given(&mut world, 13, 14, false), 0, "it lacks something");
    assert_eq!(given(&mut world, 14, 14, false), half);
    assert_eq!(given(&mut world, 13, 0, true), half, "the log has it");
}

/// Whoever joins takes one that died long before for alive, until it says nothing new for a while,
/// and with it what that one followed.
#[test]
fn who_has_just_joined_does_not_rely_on_one_that_died_before() {
    let mut world = World::of(["w0", "w1"]);
    world.join("w4");
    world.pass(2);
    world.workers.remove("w4");
    world.pass(15);
    world.join("w3");
    world.workers.remove("w0");
    world.pass(20);
    world.check();
}

#[test]
fn one_name_is_for_one_process() {
    let mut world = World::new();
    world.join("a");
    world.pass(1);
    let mut first = world.workers.remove("a").unwrap();
    world.join("a");
    let mut told = Vec::new();
    for _ in 0..10 {
        let mut second = world.workers.remove("a").unwrap();
        for (number, worker) in [&mut first, &mut second].into_iter().enumerate() {
            let beat = worker.membership.tick(&worker.having, world.now);
            told.extend((beat == Err(Error::Moved)).then_some(number));
        }
        world.workers.insert("a".to_owned(), second);
    }
    assert!(!told.is_empty());
}

#[derive(Debug, Clone)]
enum Event {
    Join(u8),
    Kill(u8),
    Leave(u8),
    Pass(u32),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (0..5_u8).prop_map(Event::Join),
        (0..5_u8).prop_map(Event::Kill),
        (0..5_u8).prop_map(Event::Leave),
        (1..15_u32).prop_map(Event::Pass),
    ]
}

proptest! {
    /// Whoever comes and goes: as long as copies are made before the next one dies, all shards have
    /// an owner in the end, as many each.
    #[test]
    fn all_shards_find_owners(events in prop::collection::vec(event(), 0..20)) {
        let mut world = World::of(["w0", "w1"]);
        for event in events {
            match event {
                Event::Join(worker) if !world.workers.contains_key(&format!("w{worker}")) => {
                    world.join(&format!("w{worker}"));
                }
                Event::Kill(worker) if world.workers.len() > 2 => {
                    world.workers.remove(&format!("w{worker}"));
                    world.pass(15);
                }
                Event::Leave(worker) => {
                    let staying = world.workers.values().filter(|it| !it.having.is_leaving);
                    let is_one_more = staying.count() > 2;
                    if let Some(leaving) = world.workers.get_mut(&format!("w{worker}"))
                        && is_one_more
                    {
                        leaving.having.is_leaving = true;
                        world.pass(15);
                        let left = world.workers.remove(&format!("w{worker}"));
                        prop_assert!(left.is_some_and(|it| it.owns.is_empty()));
                        world.pass(15);
                    }
                }
                Event::Pass(seconds) => world.pass(seconds),
                _ => {}
            }
        }
        world.pass(20);
        world.check();
    }
}

#[test]
fn a_round_waits_for_shards_that_have_not_read_the_same_seeds() {
    let look = Look {
        is_idle: true,
        ..Look::default()
    };
    let beat = |shard: u16, seeds_through: u64| Beat {
        tells: Tells {
            figures: BTreeMap::from([(
                shard,
                Figures {
                    seeds_through,
                    ..Default::default()
                },
            )]),
            ..Tells::default()
        },
        ..Beat::default()
    };
    let is_round = |seeds: [u64; 2]| {
        let beats = [beat(0, seeds[0]), beat(1, seeds[1])];
        let alive = BTreeMap::from([("a", &beats[0]), ("b", &beats[1])]);
        let looks = [Some(("a", &look)), Some(("b", &look))];
        round(&looks, &alive, &BTreeMap::new()).is_some()
    };
    assert!(is_round([3, 3]));
    assert!(!is_round([3, 2]));
}
