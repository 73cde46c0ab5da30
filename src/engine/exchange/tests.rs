//! Shards that exchange what they find, over a carrier that loses, doubles, delays and reorders,
//! and killed between any two steps.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;
use tokio::sync::oneshot;

use super::{Arrived, Carried, Carrier, Courier, Faults, Pace, Parcel, waiting};
use crate::engine::ShardOptions;
use crate::engine::open::{self, DataDirectory};
use crate::engine::options::Options;
use crate::engine::testing::{Answer, World, options};
use crate::engine::visit::{Entry, Seeds};
use crate::frontier::{
    Moment, Policies, Policy, Politeness, Purpose, RequisiteMode, RobotsMode, ScopeKind, Seed,
    SeedSettings, Shards,
};
use crate::learn::TrapMode;
use crate::rows::{Fate, foreign_page};
use crate::store::{Table, keys};
use crate::url::{HostKey, Secret, parse};

/// Bytes of a parcel: few, so that there are many.
const PARCEL: usize = 600;

/// The options of a shard: nothing is judged by what URLs like it said.
fn shard(own: u16, count: u16) -> Options {
    with_requisites(own, count, RequisiteMode::None)
}

fn with_requisites(own: u16, count: u16, requisites: RequisiteMode) -> Options {
    let mut policy = Policy::new(Politeness::none());
    policy.crawl.robots = RobotsMode::Ignore;
    policy.crawl.requisites = requisites;
    policy.traps.mode = TrapMode::Off;
    let mut options = options();
    options.policies = Policies::new(policy, []);
    options.shard = Some(ShardOptions {
        shards: Shards::new(own, count).unwrap(),
        secret: Secret::from_bytes([7; Secret::LEN]),
    });
    options
}

/// The shards of one crawl, and what is between them.
struct Crawl {
    worlds: Vec<World>,
    couriers: Vec<Courier>,
    carrier: Carrier,
    time: Duration,
    /// Who has visited what, in order.
    visits: Vec<(u16, String)>,
}

impl Crawl {
    fn with(count: u16, faults: Faults, seed: u64, change: impl Fn(&mut Options)) -> Self {
        let world = |own| {
            let mut options = shard(own, count);
            change(&mut options);
            World::with(options)
        };
        Self {
            worlds: (0..count).map(world).collect(),
            couriers: (0..count).map(|own| courier(own, count)).collect(),
            carrier: Carrier::new(faults, seed),
            time: Duration::ZERO,
            visits: Vec::new(),
        }
    }

    fn new(count: u16) -> Self {
        Self::with(count, Faults::default(), 1, |_| {})
    }

    fn world(&mut self, shard: u16) -> &mut World {
        &mut self.worlds[usize::from(shard)]
    }

    /// A host of this shard.
    fn host(&self, shard: u16) -> String {
        let shards = Shards::new(0, self.count()).unwrap();
        let hosts = (0..).map(|number| format!("http://host{number}.example"));
        let mut own = hosts.filter(|host| shards.of(&HostKey::parse(host).unwrap()) == shard);
        own.next().unwrap()
    }

    fn count(&self) -> u16 {
        u16::try_from(self.worlds.len()).unwrap()
    }

    /// One shard sends what waits.
    fn send(&mut self, from: u16) {
        let world = &self.worlds[usize::from(from)];
        let (store, own) = (world.store(), world.options.shard.as_ref().unwrap().shards);
        let courier = &mut self.couriers[usize::from(from)];
        let parcels = courier.collect(self.time, |to, after| {
            waiting(&*store, own, (to, after), PARCEL)
        });
        for parcel in parcels.unwrap() {
            self.carrier
                .send(Carried::Parcel(parcel.to, parcel.encode()));
        }
    }

    /// What is on its way arrives, as far as it does.
    fn arrive(&mut self) {
        self.time += Duration::from_secs(1);
        let mut parcels: BTreeMap<u16, Vec<Parcel>> = BTreeMap::new();
        for carried in self.carrier.arrived() {
            match carried {
                Carried::Parcel(to, bytes) => {
                    let parcel = Parcel::decode(&bytes).unwrap();
                    parcels.entry(to).or_default().push(parcel);
                }
                Carried::Acknowledged { from, to, through } => {
                    let courier = &mut self.couriers[usize::from(from)];
                    if courier.acknowledged(to, through, self.time) {
                        self.world(from)
                            .commit(vec![Entry::Acknowledged { to, through }]);
                    }
                }
            }
        }
        for (to, parcels) in parcels {
            let through = self.hand_in_all(to, &parcels);
            for (parcel, through) in parcels.iter().zip(through) {
                let from = parcel.from;
                self.carrier
                    .send(Carried::Acknowledged { from, to, through });
            }
        }
    }

    fn hand_in(&mut self, parcel: &Parcel) -> u64 {
        self.hand_in_all(parcel.to, std::slice::from_ref(parcel))[0]
    }

    /// Hands in what arrives at a shard at one time.
    fn hand_in_all(&mut self, to: u16, parcels: &[Parcel]) -> Vec<u64> {
        let world = self.world(to);
        let own = world.options.shard.as_ref().unwrap().shards;
        let entry = |parcel: &Parcel| {
            let (reply, replied) = oneshot::channel();
            let arrived = Arrived {
                from: parcel.from,
                first: parcel.first,
                gone: parcel.gone,
                messages: parcel.open(own).unwrap(),
                reply: Some(reply),
            };
            (Entry::Links(Box::new(arrived)), replied)
        };
        let (entries, replied): (Vec<_>, Vec<_>) = parcels.iter().map(entry).unzip();
        world.commit(entries);
        let through = replied.into_iter().map(|mut it| it.try_recv().unwrap());
        through.collect()
    }

    /// One shard visits what it would visit next. Returns `false` if nothing waits.
    fn visit(&mut self, shard: u16, web: &impl Fn(&str) -> Answer) -> bool {
        let world = self.world(shard);
        let Some((_, queued)) = world.waiting().into_iter().next() else {
            return false;
        };
        world.answer(&queued.url, &web(&queued.url));
        self.visits.push((shard, queued.url));
        true
    }

    /// A kill, and a start: nothing is left of what was not committed.
    fn kill(&mut self, shard: u16) {
        self.world(shard).restart();
        let count = self.count();
        self.couriers[usize::from(shard)] = courier(shard, count);
    }

    /// Goes on until nothing waits anywhere.
    fn finish(&mut self, web: &impl Fn(&str) -> Answer) {
        for _ in 0..100_000 {
            let mut is_over = self.carrier.is_empty();
            for shard in 0..self.count() {
                is_over &= !self.visit(shard, web);
                self.send(shard);
                let world = self.world(shard);
                is_over &= world.committer().exchange.owed() == 0;
                let rows = world.store().range(Table::Outbox, &[], &[], 1).unwrap();
                let (now, own) = (Moment(world.now), world.committer());
                own.settle_outbox(now).unwrap();
                is_over &= rows.is_empty();
            }
            self.arrive();
            if is_over && self.carrier.is_empty() {
                return;
            }
        }
        panic!("it does not end");
    }
}

fn courier(own: u16, count: u16) -> Courier {
    let shards = Shards::new(own, count).unwrap();
    Courier::new(shards, Pace::default(), Duration::from_secs(20))
}

fn page(links: &[String]) -> Answer {
    let links = links
        .iter()
        .map(|url| format!("<a href=\"{url}\">to {url}</a>"));
    Answer::Page(links.collect())
}

/// A web of hosts: the links of each page by its URL.
fn web() -> impl Strategy<Value = BTreeMap<String, Vec<String>>> {
    let url = |(host, page): (u8, u8)| format!("http://host{host}.example/{page}");
    let link = || (0..7_u8, 0..4_u8);
    prop::collection::vec((link(), prop::collection::vec(link(), 0..5)), 8..30).prop_map(
        move |pages| {
            let mut web: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for (at, links) in pages {
                let links = links.into_iter().map(url);
                web.entry(url(at)).or_default().extend(links);
            }
            web
        },
    )
}

/// The pages to which a seed leads.
fn reachable(web: &BTreeMap<String, Vec<String>>, seed: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::from([seed.to_owned()]);
    let mut left = vec![seed.to_owned()];
    while let Some(url) = left.pop() {
        for link in web.get(&url).into_iter().flatten() {
            if found.insert(link.clone()) {
                left.push(link.clone());
            }
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    /// Every page to which a seed leads is visited once, by the shard that it belongs to, whatever
    /// happens on the way, and whoever is killed between two steps.
    #[test]
    fn each_url_is_visited_once_by_its_shard(
        web in web(),
        count in 2..5_u16,
        steps in prop::collection::vec((0..12_u8, any::<u16>()), 0..120),
        (lost, doubled, delayed, seed) in (0..40_u8, 0..40_u8, 0..60_u8, any::<u64>()),
    ) {
        let faults = Faults { lost, doubled, delayed };
        let mut crawl = Crawl::with(count, faults, seed, |_| {});
        let first = web.keys().next().unwrap().clone();
        crawl.world(0).seed(&[&first]);
        let answer = |url: &str| page(web.get(url).map_or(&[][..], Vec::as_slice));
        for (what, shard) in steps {
            let shard = shard % count;
            match what {
                0..=4 => drop(crawl.visit(shard, &answer)),
                5..=7 => crawl.send(shard),
                8..=10 => crawl.arrive(),
                _ => crawl.kill(shard),
            }
        }
        crawl.finish(&answer);
        let expected = reachable(&web, &first);
        let visited: BTreeSet<String> = crawl.visits.iter().map(|(_, url)| url.clone()).collect();
        prop_assert_eq!(&visited, &expected);
        prop_assert_eq!(crawl.visits.len(), expected.len(), "{:?}", crawl.visits);
        let shards = Shards::new(0, count).unwrap();
        for (shard, url) in &crawl.visits {
            let host = HostKey::of(&parse(url).unwrap());
            prop_assert_eq!(shards.of(&host), *shard, "{}", url);
        }
        // What was sent was received, and no other host has a row.
        for from in 0..count {
            let sent = crawl.world(from).committer().exchange.counts();
            for to in shards.others().filter(|to| *to != from) {
                let received = crawl.world(to).committer().exchange.received(from);
                prop_assert_eq!(sent.sent[usize::from(to)], received);
            }
            let store = crawl.world(from).store();
            for (host, _) in store.range(Table::Hosts, &[], &[], 100).unwrap() {
                let host = HostKey::parse(std::str::from_utf8(&host).unwrap()).unwrap();
                prop_assert_eq!(shards.of(&host), from, "{}", host);
            }
        }
    }
}

#[test]
fn what_came_before_is_passed_over_and_a_gap_is_left_alone() {
    let mut crawl = Crawl::new(2);
    let (here, there) = (crawl.host(0), crawl.host(1));
    crawl.world(0).seed(&[&format!("{here}/")]);
    let links: Vec<String> = (0..4).map(|number| format!("{there}/{number}")).collect();
    crawl.visit(0, &|_| page(&links));
    let world = crawl.world(0);
    let own = Shards::new(0, 2).unwrap();
    let all = waiting(&*world.store(), own, (1, 0), 1 << 20)
        .unwrap()
        .unwrap();
    // The seed, of which every shard hears, and the links.
    assert_eq!((all.first, all.through()), (1, 5));
    let part = |from: usize, to: usize| Parcel {
        first: from as u64,
        rows: all.rows[from - 1..to].to_vec(),
        ..all.clone()
    };
    assert_eq!(crawl.hand_in(&part(3, 5)), 0);
    assert!(crawl.world(1).queued().is_empty());
    assert_eq!(crawl.hand_in(&part(1, 3)), 3);
    assert_eq!(crawl.hand_in(&part(1, 2)), 3);
    assert_eq!(crawl.hand_in(&part(2, 5)), 5);
    assert_eq!(crawl.world(1).queued(), links.iter().cloned().collect());
    let links = &crawl.world(1).committer().state.counters.links;
    assert_eq!(links.get("admitted"), Some(&4));
    assert_eq!(links.get("known"), None);
    // It survives a kill, and what is acknowledged leaves with the next commit.
    crawl.kill(1);
    assert_eq!(crawl.hand_in(&part(1, 5)), 5);
    let world = crawl.world(0);
    world.commit(vec![Entry::Acknowledged { to: 1, through: 3 }]);
    let numbers = |world: &World| {
        let rows = world.store().range(Table::Outbox, &[], &[], 10).unwrap();
        let numbers = rows.iter().map(|(key, _)| keys::parse_outbox(key).unwrap());
        numbers.collect::<Vec<_>>()
    };
    assert_eq!(numbers(world), [1, 2, 3, 4, 5]);
    world.seed(&[&format!("{here}/other")]);
    assert_eq!(numbers(world), [4, 5, 6]);
    let links = &world.committer().state.counters.links;
    assert_eq!(links.get("sent"), Some(&4));
}

#[test]
fn what_several_shards_send_is_one_commit() {
    let mut crawl = Crawl::new(3);
    let there = crawl.host(2);
    let parcels = [0, 1].map(|from| {
        let here = crawl.host(from);
        crawl.world(from).seed(&[&format!("{here}/")]);
        let links = [format!("{there}/both"), format!("{there}/{from}")];
        crawl.visit(from, &|_| page(&links));
        let own = Shards::new(from, 3).unwrap();
        let store = crawl.world(from).store();
        waiting(&*store, own, (2, 0), PARCEL).unwrap().unwrap()
    });
    // The seeds come before, in commits of their own.
    let [one, two] = &parcels;
    let [seeds, links] = [0..1, 1..3].map(|rows: std::ops::Range<usize>| {
        [one, two].map(|all| Parcel {
            first: rows.start as u64 + 1,
            rows: all.rows[rows.clone()].to_vec(),
            ..all.clone()
        })
    });
    assert_eq!(crawl.hand_in_all(2, &seeds), [1, 1]);
    let before = crawl.world(2).committer().state.sequence;
    // Both halves of what the first one sends, what the other sends, and some of it again.
    let halves = [0, 1].map(|at| Parcel {
        first: at as u64 + 2,
        rows: vec![links[0].rows[at].clone()],
        ..links[0].clone()
    });
    let [first, second] = halves;
    let all = [first, links[1].clone(), second, links[0].clone()];
    assert_eq!(crawl.hand_in_all(2, &all), [3, 3, 3, 3]);
    let state = &crawl.world(2).committer().state;
    assert_eq!(state.sequence, before + 1);
    assert_eq!(state.counters.links.get("admitted"), Some(&3));
    assert_eq!(state.counters.links.get("known"), Some(&1));
}

#[test]
fn visits_and_what_others_send_are_one_commit() {
    let mut crawl = Crawl::new(2);
    let (here, there) = (crawl.host(0), crawl.host(1));
    crawl.world(0).seed(&[&format!("{here}/")]);
    let links = ["a", "b"].map(|name| format!("{there}/{name}"));
    crawl.visit(0, &|_| page(&links));
    let store = crawl.world(0).store();
    let own = Shards::new(0, 2).unwrap();
    let all = waiting(&*store, own, (1, 0), PARCEL).unwrap().unwrap();
    // The seed, and two links.
    let [seed, first, second] = [0, 1, 2].map(|at| Parcel {
        first: at as u64 + 1,
        rows: vec![all.rows[at].clone()],
        ..all.clone()
    });
    crawl.hand_in(&seed);
    let urls = ["good", "poison"].map(|name| format!("{there}/{name}"));
    let seeds = [&*urls[0], &*urls[1]];
    crawl.world(1).seed(&seeds);
    let commit_with = |crawl: &mut Crawl, url: &str, parcel: &Parcel| {
        let (reply, mut replied) = oneshot::channel();
        let arrived = Arrived {
            from: 0,
            first: parcel.first,
            gone: 0,
            messages: parcel.open(Shards::new(1, 2).unwrap()).unwrap(),
            reply: Some(reply),
        };
        let world = crawl.world(1);
        let before = world.committer().state.sequence;
        let place = world.waiting().into_iter().find(|it| it.1.url == url);
        let answer = page(&[]);
        let mut visit = world.analysed(url, Some(place.unwrap().0), None, &answer);
        visit.fetched.task.queued.revisit = false;
        world.commit(vec![
            Entry::Links(Box::new(arrived)),
            Entry::Visit(Box::new(visit)),
        ]);
        assert_eq!(replied.try_recv(), Ok(parcel.first));
        world.committer().state.sequence - before
    };
    assert_eq!(commit_with(&mut crawl, &urls[0], &first), 1);
    assert!(matches!(
        crawl.world(1).page(&urls[0]).fate,
        Fate::Answered { .. }
    ));
    assert!(crawl.world(1).queued().contains(&links[0]));
    // One that panics keeps nothing from being taken in.
    assert_eq!(commit_with(&mut crawl, &urls[1], &second), 2);
    assert!(matches!(
        crawl.world(1).page(&urls[1]).fate,
        Fate::Failed { .. }
    ));
    assert!(crawl.world(1).queued().contains(&links[1]));
    // Two seeds and two links: what was tried beside a page that panics does not count twice.
    let links = &crawl.world(1).committer().state.counters.links;
    assert_eq!(links.get("admitted"), Some(&4));
}

/// A shard that has lost commits lacks what it had acknowledged, of which nobody has anything left.
#[test]
fn what_is_kept_nowhere_is_not_waited_for() {
    let mut crawl = Crawl::new(2);
    let (here, there) = (crawl.host(0), crawl.host(1));
    crawl.world(0).seed(&[&format!("{here}/")]);
    let links: Vec<String> = (0..4).map(|number| format!("{there}/{number}")).collect();
    crawl.visit(0, &|_| page(&links));
    let own = Shards::new(0, 2).unwrap();
    let world = crawl.world(0);
    world.commit(vec![Entry::Acknowledged { to: 1, through: 3 }]);
    world.seed(&[&format!("{here}/other")]);
    let left = waiting(&*world.store(), own, (1, 0), 1 << 20).unwrap();
    let left = left.unwrap();
    assert_eq!((left.gone, left.first, left.through()), (3, 4, 6));
    let nothing = waiting(&*world.store(), own, (1, 6), 1 << 20).unwrap();
    assert_eq!(nothing, None);
    assert_eq!(crawl.hand_in(&left), 6);
    assert_eq!(crawl.hand_in(&left), 6);
    let committer = crawl.world(1).committer();
    assert_eq!(committer.state.counters.links.get("lost"), Some(&3));
    // The same where nothing is left that could be sent.
    let world = crawl.world(0);
    world.commit(vec![Entry::Acknowledged { to: 1, through: 6 }]);
    world.seed(&[&format!("{here}/third")]);
    let last = waiting(&*world.store(), own, (1, 7), 1 << 20).unwrap();
    assert_eq!(last, None);
    world.commit(vec![Entry::Acknowledged { to: 1, through: 7 }]);
    world
        .committer()
        .settle_outbox(crate::frontier::Moment(0))
        .unwrap();
    let told = waiting(&*world.store(), own, (1, 6), 1 << 20).unwrap();
    let told = told.unwrap();
    assert_eq!((told.gone, told.rows.len(), told.through()), (7, 0, 7));
    assert_eq!(crawl.hand_in(&told), 7);
}

#[test]
fn a_link_is_sent_once_and_says_where_it_was_found() {
    let mut crawl = Crawl::new(2);
    let (here, there) = (crawl.host(0), crawl.host(1));
    let seeds = [format!("{here}/1"), format!("{here}/2")];
    crawl.world(0).seed(&[&seeds[0], &seeds[1]]);
    let target = format!("{there}/target");
    let answer = |_: &str| page(std::slice::from_ref(&target));
    crawl.visit(0, &answer);
    crawl.visit(0, &answer);
    let links = crawl.world(0).committer().state.counters.links.clone();
    assert_eq!(
        (links.get("sent"), links.get("known")),
        (Some(&1), Some(&1))
    );
    crawl.finish(&answer);
    let first = crawl.visits[0].1.clone();
    let page = crawl.world(1).page(&target);
    let via = page.via.unwrap();
    assert_eq!((page.depth, via), (1, crawl.world(0).id(&first)));
    let store = crawl.world(1).store();
    assert_eq!(foreign_page(&*store, via).unwrap(), Some(first));
    // What only another site leads to has a budget of its own.
    let host = HostKey::parse(&there).unwrap();
    let (of_host, _) = crate::engine::learned::hearsay::committed(&*store, &host).unwrap();
    assert_eq!(of_host.admitted, 1);
}

#[test]
fn seeds_are_known_everywhere_and_queued_by_their_shard() {
    let in_scope = |options: &mut Options| options.scope = ScopeKind::Host;
    let mut crawl = Crawl::with(3, Faults::default(), 1, in_scope);
    let hosts = [0, 1, 2].map(|shard| crawl.host(shard));
    let mut seeds: Vec<Seed> = hosts
        .iter()
        .map(|host| parse(&format!("{host}/")).unwrap().into())
        .collect();
    seeds[1].settings = SeedSettings {
        tag: Some("word".to_owned()),
        ..SeedSettings::default()
    };
    let give = |crawl: &mut Crawl| {
        let seeds = Seeds {
            seeds: seeds.clone(),
            consent: false,
            listed: None,
            reply: None,
        };
        crawl.world(2).commit(vec![Entry::Seeds(seeds)]);
    };
    give(&mut crawl);
    let links: Vec<String> = hosts.iter().map(|host| format!("{host}/page")).collect();
    let answer = |url: &str| match url.ends_with("/page") {
        true => page(&[]),
        false => page(&links),
    };
    crawl.finish(&answer);
    assert_eq!(crawl.visits.len(), 6, "{:?}", crawl.visits);
    let sent = crawl.world(2).committer().exchange.counts();
    give(&mut crawl);
    assert_eq!(crawl.world(2).committer().exchange.counts(), sent);
    let seeds = (0..3).map(|shard| crawl.world(shard).committer().state.counters.seeds);
    assert_eq!(seeds.collect::<Vec<_>>(), [1, 1, 1]);
    // What the seed with a tag led to first has the tag, in whatever shard it is.
    let first = crawl.visits.iter().find(|(_, url)| url.ends_with("/page"));
    let (shard, url) = first.unwrap().clone();
    let world = crawl.world(shard);
    let (store, id, via) = (world.store(), world.id(&url), world.page(&url).via);
    let tag = SeedSettings::of(&*store, id).unwrap().and_then(|it| it.tag);
    let tagged = world.id(&format!("{}/", hosts[1]));
    assert_eq!(tag.is_some(), via == Some(tagged));
}

#[test]
fn a_seed_that_moves_takes_the_scope_of_all_shards_along() {
    let in_scope = |options: &mut Options| options.scope = ScopeKind::Host;
    let mut crawl = Crawl::with(3, Faults::default(), 1, in_scope);
    let [from, to, other] = [0, 1, 2].map(|shard| crawl.host(shard));
    crawl
        .world(0)
        .seed(&[&format!("{from}/"), &format!("{other}/")]);
    let (moved, from_other) = (format!("{to}/moved"), format!("{to}/from-other"));
    let answer = |url: &str| match url {
        url if *url == format!("{from}/") => Answer::Moved(moved.clone()),
        url if *url == format!("{other}/") => page(std::slice::from_ref(&from_other)),
        _ => page(&[]),
    };
    crawl.visit(0, &answer);
    for _ in 0..3 {
        (0..3).for_each(|shard| crawl.send(shard));
        crawl.arrive();
    }
    crawl.finish(&answer);
    let visited: BTreeSet<_> = crawl.visits.iter().map(|(_, url)| url.clone()).collect();
    assert!(visited.contains(&moved) && visited.contains(&from_other));
}

#[test]
fn a_requisite_is_fetched_by_the_shard_of_its_host() {
    let with_all = |options: &mut Options| {
        let shards = options.shard.as_ref().unwrap().shards;
        *options = with_requisites(shards.own(), shards.count(), RequisiteMode::All);
    };
    let mut crawl = Crawl::with(3, Faults::default(), 1, with_all);
    let [here, styles, pictures] = [0, 1, 2].map(|shard| crawl.host(shard));
    let first = format!("{here}/");
    crawl.world(0).seed(&[&first]);
    let head = format!("<link rel=stylesheet href=\"{styles}/style.css\"><p>A page</p>");
    let answer = |url: &str| match url == first {
        true => Answer::Page(head.clone()),
        false => Answer::Style(format!("@import url({pictures}/more.css);")),
    };
    crawl.visit(0, &answer);
    crawl.send(0);
    crawl.arrive();
    let waiting = crawl.world(1).waiting();
    let [(_, queued)] = &waiting[..] else {
        panic!("{waiting:?}");
    };
    let Purpose::Requisite(of) = queued.purpose else {
        panic!("{queued:?}");
    };
    assert_eq!(queued.url, format!("{styles}/style.css"));
    let store = crawl.world(1).store();
    let of_page = of.page;
    assert_eq!(foreign_page(&*store, of_page).unwrap(), Some(first.clone()));
    let named = &crawl.world(0).committer().state.counters.requisites.named;
    assert_eq!(named.get("sent"), Some(&1));
    crawl.finish(&answer);
    let of = |url: &str| crawl.visits.iter().find(|it| it.1.starts_with(url));
    assert_eq!(of(&styles).map(|it| it.0), Some(1));
    // What a requisite needs goes further, for the same page.
    let more = of(&pictures).cloned();
    assert_eq!(more, Some((2, format!("{pictures}/more.css"))));
    let store = crawl.world(2).store();
    assert_eq!(foreign_page(&*store, of_page).unwrap(), Some(first));
}

#[test]
fn a_directory_is_of_the_shard_for_which_it_was_made() {
    let mut world = World::with(shard(1, 4));
    world.committer = None;
    let refused = |options: Options, why: &str| {
        let error = open::open(&world.directory, &options).map(|_| ());
        let error = error.unwrap_err().to_string();
        assert!(error.contains("is shard 1 of 4 of a crawl"), "{error}");
        assert!(error.contains(why), "{error}");
    };
    refused(options(), "by itself");
    refused(shard(2, 4), "shard 2 of 4 is meant");
    let mut other = shard(1, 4);
    other.shard.as_mut().unwrap().secret = Secret::from_bytes([8; Secret::LEN]);
    refused(other, "another crawl");
    world.restart();
    // A crawl on a single machine has no row of any of this.
    let place = tempfile::tempdir().unwrap();
    let directory = DataDirectory::take(&place.path().join("data")).unwrap();
    let single = open::open(&directory, &options()).unwrap();
    let rows = |key| single.store.get(Table::Meta, key).unwrap();
    assert_eq!(rows(keys::meta::SHARDS), None);
    assert!(open::open(&directory, &shard(1, 4)).is_err());
}
