//! Shards that tell one another what they have stored, over a carrier that loses, doubles, delays
//! and reorders, and killed between any two steps.

use std::collections::{BTreeMap, BTreeSet, btree_map};
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::{
    Library, LibraryChunk, LibraryCopy, LibraryOptions, LibrarySource, Mark, Stands,
    waiting_notices,
};
use crate::dedup::{Features, Fingerprints, Tier, foreign, shard_of};
use crate::engine::commit::families;
use crate::engine::exchange::{Carried, Carrier, Crier, Ear, Faults};
use crate::engine::options::Options;
use crate::engine::testing::*;
use crate::engine::visit::Entry;
use crate::engine::{ForgetOrder, ShardOptions};
use crate::frontier::{Policies, Policy, Politeness, RobotsMode, Selection, Shards};
use crate::learn::TrapMode;
use crate::rows::{ForeignOriginal, PAGES, Raced};
use crate::store::{Table, for_each, keys};
use crate::url::{HostKey, Secret, parse};

/// Bytes of a bulletin: few, so that there are many.
const BULLETIN: usize = 4_000;

/// The shards of one crawl, each with a worker of its own, and what is between them.
struct Crawl {
    worlds: Vec<World>,
    place: tempfile::TempDir,
    max_documents: u64,
    criers: Vec<Crier>,
    /// One for each shard; `None` until its crawl is opened again.
    ears: Vec<Option<Ear>>,
    carrier: Carrier,
    /// What all tell, in the one order in which all read it.
    log: Vec<Vec<u8>>,
    time: Duration,
}

impl Crawl {
    fn with(count: u16, faults: Faults, seed: u64, max_documents: u64) -> Self {
        let place = tempfile::tempdir().unwrap();
        let worlds = (0..count).map(|own| {
            let path = place.path().join(own.to_string());
            World::with(shard(own, count, open(&path, max_documents)))
        });
        Self {
            worlds: worlds.collect(),
            place,
            max_documents,
            criers: (0..count).map(|_| crier()).collect(),
            ears: (0..count).map(|_| None).collect(),
            carrier: Carrier::new(faults, seed),
            log: Vec::new(),
            time: Duration::ZERO,
        }
    }

    fn new(count: u16) -> Self {
        Self::with(count, Faults::default(), 1, u64::MAX)
    }

    fn count(&self) -> u16 {
        u16::try_from(self.worlds.len()).unwrap()
    }

    fn world(&mut self, shard: u16) -> &mut World {
        &mut self.worlds[usize::from(shard)]
    }

    fn library(&self, shard: u16) -> Arc<Library> {
        let options = &self.worlds[usize::from(shard)].options;
        Arc::clone(options.library.as_ref().unwrap())
    }

    /// Pages of a shard that are to be visited again.
    fn revisits(&self, shard: u16) -> Vec<String> {
        let waiting = self.worlds[usize::from(shard)].waiting().into_iter();
        let again = waiting.filter(|(_, queued)| queued.revisit);
        again.map(|(_, queued)| queued.url).collect()
    }

    /// A host of this shard, another one for each number.
    fn host(&self, shard: u16, number: usize) -> String {
        let shards = Shards::new(0, self.count()).unwrap();
        let hosts = (0..).map(|number| format!("http://host{number}.example"));
        let mut own = hosts.filter(|host| shards.of(&HostKey::parse(host).unwrap()) == shard);
        own.nth(number).unwrap()
    }

    /// A shard tells what waits.
    fn tell(&mut self, shard: u16) {
        let at = usize::from(shard);
        let (store, library) = (self.worlds[at].store(), self.library(shard));
        let own = (shard, library.features());
        let waiting = |after| waiting_notices(&*store, own, after, BULLETIN);
        let bulletin = self.criers[at].collect(self.time, waiting).unwrap();
        if let Some(bulletin) = bulletin {
            self.carrier.send(Carried::Parcel(0, bulletin.encode()));
        }
    }

    /// What is on its way gets its place among what all tell.
    fn arrive(&mut self) {
        self.time += Duration::from_secs(1);
        for carried in self.carrier.arrived() {
            if let Carried::Parcel(_, bytes) = carried {
                self.log.push(bytes);
            }
        }
    }

    /// A worker reads on, and its shard hears what came back and what others told.
    fn hear(&mut self, shard: u16) {
        let library = self.library(shard);
        let position = library.position();
        if let Some(next) = self.log.get(usize::try_from(position).unwrap()) {
            library.take_in(position + 1, next).unwrap();
        }
        let (at, now) = (usize::from(shard), self.time);
        let committer = self.worlds[at].committer();
        let ear = self.ears[at].get_or_insert_with(|| {
            let mut ear = committer.exchange.ear();
            ear.stay_or_go_back(stands_at(&self.log)).unwrap();
            ear
        });
        let heard = ear.listen(&library).unwrap();
        let has_returned = self.criers[at].returned(heard.returned, now);
        if has_returned || !heard.told.is_empty() {
            self.world(shard)
                .commit(vec![Entry::Heard(Box::new(heard))]);
        }
    }

    /// A kill, and a start: of the library there is what a checkpoint wrote.
    fn kill(&mut self, shard: u16) {
        let path = self.place.path().join(shard.to_string());
        let max_documents = self.max_documents;
        let log = self.log.clone();
        let world = self.world(shard);
        world.committer = None;
        world.options.library = None;
        let library = open(&path, max_documents);
        library.stay_or_go_back(stands_at(&log)).unwrap();
        world.options.library = Some(library);
        world.restart();
        self.criers[usize::from(shard)] = crier();
        self.ears[usize::from(shard)] = None;
    }

    /// A worker completes its library out of another one's, which reads on meanwhile. It may have
    /// lost what it had.
    fn copy(&mut self, from: u16, to: u16, is_lost: bool) {
        self.kill(to);
        if is_lost {
            let path = self.place.path().join(to.to_string());
            let world = self.world(to);
            world.committer = None;
            world.options.library = None;
            std::fs::remove_dir_all(&path).unwrap();
        }
        let path = self.place.path().join(to.to_string());
        let library = match is_lost {
            true => open(&path, self.max_documents),
            false => self.library(to),
        };
        let mut copy = LibraryCopy::begin(&library, [7; 8]);
        for step in 0.. {
            // Another worker gives the second part, if there is one.
            let third = (0..self.count()).find(|it| *it != from && *it != to);
            let giver = third.filter(|_| step == 1).unwrap_or(from);
            let source = LibrarySource::new(self.library(giver));
            let (id, next) = copy.wish();
            let chunk = LibraryChunk::decode(&source.chunk(id, &next).unwrap().encode()).unwrap();
            // What was on its way for another one, or comes twice, changes nothing.
            let other = LibraryChunk::decode(&source.chunk([8; 8], &next).unwrap().encode());
            assert!(!copy.take(other.unwrap()).unwrap());
            if copy.take(chunk).unwrap() {
                break;
            }
            self.hear(from);
        }
        if is_lost {
            self.world(to).options.library = Some(library);
            self.world(to).restart();
        }
    }

    /// Goes on until all have heard all.
    fn settle(&mut self) {
        for _ in 0..10_000 {
            let shards = 0..self.count();
            for shard in shards.clone() {
                self.tell(shard);
            }
            self.arrive();
            for shard in shards.clone() {
                self.hear(shard);
            }
            let end = self.log.len() as u64;
            let is_over = |shard: u16| {
                let at = usize::from(shard);
                let committer = self.worlds[at].committer.as_ref().unwrap();
                let (sent, returned) = committer.exchange.counts().told;
                sent == returned && self.library(shard).position() == end
            };
            if self.carrier.is_empty() && shards.clone().all(is_over) {
                return;
            }
        }
        panic!("it does not end");
    }

    /// The originals of all shards, as they are known everywhere.
    fn originals(&self) -> BTreeMap<u64, String> {
        let mut originals = BTreeMap::new();
        for (shard, world) in (0..).zip(&self.worlds) {
            PAGES
                .for_each(&*world.store(), &[], &mut |_, page| {
                    let document = page.original();
                    if let Some(document) =
                        document.filter(|it| it.fingerprints != Fingerprints::default())
                    {
                        let id = foreign(shard, document.id);
                        assert_eq!(originals.insert(id, page.url.clone()), None);
                    }
                    Ok(())
                })
                .unwrap();
        }
        originals
    }

    /// What pages of their own were found to be the same as.
    fn raced(&self) -> BTreeMap<String, String> {
        let mut raced = BTreeMap::new();
        for world in &self.worlds {
            let store = world.store();
            for_each(&*store, Table::Pages, &[], &mut |key, row| {
                let page = PAGES.decode(row)?;
                let id = crate::url::UrlId::from_bytes(key.try_into().unwrap());
                if let Some(it) = Raced::of(&*store, id, &page)? {
                    raced.insert(page.url, it.original);
                }
                Ok(())
            })
            .unwrap();
        }
        raced
    }
}

fn open(path: &Path, max_documents: u64) -> Arc<Library> {
    let options = LibraryOptions {
        max_documents,
        max_memory: 8 << 20,
        features: Features::default(),
    };
    Arc::new(Library::open(path, &options).unwrap())
}

fn shard(own: u16, count: u16, library: Arc<Library>) -> Options {
    let mut policy = Policy::new(Politeness::none());
    policy.crawl.robots = RobotsMode::Ignore;
    policy.traps.mode = TrapMode::Off;
    let mut options = options();
    options.policies = Policies::new(policy, []);
    options.library = Some(library);
    options.shard = Some(ShardOptions {
        shards: Shards::new(own, count).unwrap(),
        secret: Secret::from_bytes([7; Secret::LEN]),
    });
    options
}

/// What stands at a position of the log.
fn stands_at(log: &[Vec<u8>]) -> impl FnMut(u64) -> Result<Stands, Infallible> + '_ {
    |at| {
        let index = usize::try_from(at - 1).unwrap();
        let bulletin = log.get(index).map(|bulletin| Mark::of(at, bulletin));
        Ok(bulletin.map_or(Stands::Nothing, Stands::Bulletin))
    }
}

/// What nobody gives is let go: nothing here is known to stand.
#[test]
fn without_a_copy_nothing_is_an_original_that_may_be_gone() {
    let mut crawl = Crawl::new(2);
    let url = format!("{}/a", crawl.host(0, 0));
    crawl.world(0).visit(&url, &html("", &words(1)));
    crawl.settle();
    let library = crawl.library(1);
    assert_eq!(library.all().len(), 1);
    let (position, times) = (library.position(), library.went_back().0);
    let copy = LibraryCopy::begin(&library, [7; 8]);
    copy.give_up(position + 9).unwrap();
    assert_eq!(library.all(), []);
    assert_eq!(
        (library.position(), library.durable()),
        (position + 9, position + 9)
    );
    assert_eq!(library.went_back().0, times);
    // A library that is behind is one that has gone back.
    let source = LibrarySource::new(crawl.library(0));
    let mut copy = LibraryCopy::begin(&library, [7; 8]);
    loop {
        let (id, next) = copy.wish();
        if copy.take(source.chunk(id, &next).unwrap()).unwrap() {
            break;
        }
    }
    assert_eq!(library.all().len(), 1);
    assert_eq!(
        (library.position(), library.durable()),
        (position, position)
    );
    assert_eq!(library.went_back(), (times + 1, position));
}

fn crier() -> Crier {
    Crier::new(Duration::from_secs(20))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    /// What is told reaches each library once in effect, whatever happens on the way, and whoever
    /// is killed between two steps; what is no original any more is gone from all.
    #[test]
    fn each_document_reaches_each_library_once(
        count in 2..4_u16,
        steps in prop::collection::vec((0..16_u8, any::<u16>(), 0..6_u64), 20..90),
        (lost, doubled, delayed, seed) in (0..40_u8, 0..40_u8, 0..60_u8, any::<u64>()),
    ) {
        let faults = Faults { lost, doubled, delayed };
        let mut crawl = Crawl::with(count, faults, seed, u64::MAX);
        // What each page said at its last visit.
        let mut web: BTreeMap<String, u64> = BTreeMap::new();
        for (what, random, text) in steps {
            let shard = random % count;
            let url = format!("{}/{}", crawl.host(shard, 0), random / count % 5);
            match what {
                // A page is visited, and is what it was, or another.
                0..=4 => {
                    let (answer, world) = (html("", &words(text)), crawl.world(shard));
                    if let btree_map::Entry::Vacant(vacant) = web.entry(url.clone()) {
                        world.visit(&url, &answer);
                        vacant.insert(text);
                        continue;
                    }
                    world.now += 2_000 * DAY;
                    world.settle();
                    if world.queued().contains(&url) {
                        world.revisit(&url, &answer);
                        web.insert(url, text);
                    }
                }
                5..=7 => crawl.tell(shard),
                8..=9 => crawl.arrive(),
                10..=12 => crawl.hear(shard),
                13 => crawl.kill(shard),
                _ => crawl.copy((shard + 1) % count, shard, text % 2 == 0),
            }
        }
        // What is to be visited again is, until nothing is.
        let mut rounds = 0;
        loop {
            crawl.settle();
            let mut is_over = true;
            for shard in 0..count {
                for url in crawl.revisits(shard) {
                    is_over = false;
                    let answer = html("", &words(web[&url]));
                    crawl.world(shard).revisit(&url, &answer);
                }
            }
            if is_over {
                break;
            }
            rounds += 1;
            prop_assert!(rounds < 40, "they ask one another again and again");
        }
        let expected = crawl.originals();
        for shard in 0..count {
            let all = crawl.library(shard).all();
            let found: BTreeMap<u64, String> = all.iter().cloned().collect();
            prop_assert_eq!(&found, &expected);
            prop_assert_eq!(all.len(), expected.len(), "one is there twice");
            let store = crawl.world(shard).store();
            let rows = store.range(Table::Outbox, &keys::outbox_to(keys::ALL), &[], 1).unwrap();
            prop_assert!(rows.is_empty());
        }
        // All of it is still there after a start.
        for shard in 0..count {
            crawl.library(shard).checkpoint().unwrap();
            crawl.kill(shard);
            let found: BTreeMap<u64, String> = crawl.library(shard).all().into_iter().collect();
            prop_assert_eq!(&found, &expected);
        }
        // A page yields only to one that stands and says the same.
        let shards = Shards::new(0, count).unwrap();
        for (url, text) in &web {
            let shard = shards.of(&HostKey::of(&parse(url).unwrap()));
            let original = crawl.world(shard).original(url);
            prop_assert_eq!(web.get(&original), Some(text), "{} repeats {}", url, original);
            prop_assert!(expected.values().any(|it| *it == original), "{}", original);
        }
        // Of two originals that are the same, in two shards, just one says so, while both stand.
        let raced = crawl.raced();
        for (later, earlier) in &raced {
            prop_assert!(expected.values().any(|it| it == earlier), "{} is gone", earlier);
            prop_assert_eq!(web.get(later), web.get(earlier));
            prop_assert!(raced.get(earlier) != Some(later));
        }
    }
}

#[test]
fn a_copy_of_a_page_of_another_shard_names_it() {
    let mut crawl = Crawl::new(2);
    let original = format!("{}/report", crawl.host(0, 0));
    let [raw, framed_copy, own] =
        ["raw", "framed", "own"].map(|path| format!("{}/{path}", crawl.host(1, 0)));
    crawl.world(0).visit(&original, &html("", &words(1)));
    crawl.settle();
    let world = crawl.world(1);
    world.visit(&raw, &html("", &words(1)));
    world.visit(&framed_copy, &framed("menu", &words(1)));
    world.visit(&own, &html("", &words(2)));
    assert_eq!(world.duplicate(&raw).tier, Tier::Raw);
    assert_eq!(world.duplicate(&framed_copy).tier, Tier::Content);
    assert!(world.page(&own).duplicate().is_none());
    for copy in [&raw, &framed_copy] {
        assert_eq!(world.original(copy), original);
        assert_eq!(shard_of(world.duplicate(copy).of), Some(0));
    }
    let listed: Vec<_> = world.listed().into_iter().collect();
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(listed[0].0, original);
    // The bytes are not stored again: a revisit record refers to the other shard's.
    assert_eq!(world.stored(&raw) + world.stored(&framed_copy), 0);
    let records = world.records();
    assert!(
        records.contains(&("revisit".to_owned(), raw.clone())),
        "{records:?}"
    );
    let metadata = ("metadata".to_owned(), framed_copy.clone());
    assert!(records.contains(&metadata), "{records:?}");
    let cluster = world.duplicate(&raw).of;
    let known = ForeignOriginal::read(&*world.store(), cluster);
    let known = known.unwrap().unwrap().document;
    assert_eq!(known.url, original);
    let stored = crawl.world(0).page(&original).document.unwrap();
    assert_eq!(
        (known.payload, known.fetched),
        (stored.payload, stored.fetched)
    );
    assert_eq!(known.stored.record, stored.stored.record);
    // What names the original is in the directory, and a start finds what it repeats again.
    crawl.library(1).checkpoint().unwrap();
    crawl.kill(1);
    let world = crawl.world(1);
    assert_eq!(world.original(&raw), original);
    world.wait(11);
    world.revisit(&raw, &html("", &words(1)));
    assert_eq!(world.original(&raw), original, "it is what it was");
    assert!(crawl.raced().is_empty());
}

/// An original is forgotten by another shard before its own has come to that: pages that repeat it
/// stay, by their own bodies or by another visit, and nothing there names it any more.
#[test]
fn pages_that_repeat_what_goes_in_another_shard_stay() {
    let mut crawl = Crawl::new(2);
    let original = format!("{}/a-long-way-to-it", crawl.host(0, 0));
    crawl.world(0).visit(&original, &html("", &words(1)));
    crawl.settle();
    let [raw, framed_copy, other] = [0, 1, 2].map(|it| format!("{}/x", crawl.host(1, it)));
    let world = crawl.world(1);
    world.visit(&raw, &html("", &words(1)));
    world.visit(&framed_copy, &framed("menu", &words(1)));
    world.visit(&other, &html("", &words(5)));
    assert_eq!(world.original(&raw), original);
    assert!(!world.tells("a-long-way").is_empty());
    let order = ForgetOrder {
        selection: Selection {
            ids: vec![world.id(&original)],
            ..Selection::default()
        },
        ..ForgetOrder::default()
    };
    let before = world.page(&other);
    let done = world.forget(&order);
    assert_eq!(
        (done.pages, done.rehomed, done.refetched),
        (0, 1, 1),
        "{done:?}"
    );
    assert_eq!(world.page(&other), before);
    assert_eq!(world.tells("a-long-way"), [""; 0]);
    assert_eq!(world.original(&framed_copy), framed_copy);
    // The library has the original still.
    world.revisit(&raw, &html("", &words(1)));
    assert_eq!(world.original(&raw), framed_copy);
    assert_eq!(world.stored(&raw) + world.stored(&framed_copy), 1);
    assert_eq!(world.tells("a-long-way"), [""; 0]);
    let done = crawl.world(0).forget(&order);
    assert_eq!((done.pages, done.rehomed), (1, 0));
    crawl.settle();
    assert_eq!(crawl.world(0).tells("a-long-way"), [""; 0]);
    assert_eq!(crawl.world(1).tells("a-long-way"), [""; 0]);
    assert!(crawl.revisits(1).is_empty());
    assert!(
        crawl
            .library(0)
            .all()
            .iter()
            .all(|(_, url)| *url != original)
    );
}

#[test]
fn of_two_that_are_stored_at_once_the_later_says_so() {
    let mut crawl = Crawl::new(3);
    let urls = [0, 1, 2].map(|shard| format!("{}/report", crawl.host(shard, 0)));
    for (shard, url) in (0..).zip(&urls) {
        crawl.world(shard).visit(url, &html("", &words(1)));
    }
    // The order is the one in which it is told.
    for shard in [2, 0, 1] {
        crawl.tell(shard);
        crawl.arrive();
    }
    crawl.settle();
    let [zero, one, two] = &urls;
    let expected = [(zero, two), (one, two)];
    let expected = expected.map(|(later, earlier)| (later.clone(), earlier.clone()));
    assert_eq!(crawl.raced(), BTreeMap::from(expected));
    for (shard, url) in (0..).zip(&urls) {
        let world = crawl.world(shard);
        assert_eq!(world.stored(url), 1, "nothing is undone");
    }
    // Whoever comes later repeats the one of its own shard.
    let copy = format!("{}/copy", crawl.host(0, 1));
    crawl.world(0).visit(&copy, &html("", &words(1)));
    assert_eq!(&crawl.world(0).original(&copy), zero);
    // A page that has become another has raced with nobody.
    let world = crawl.world(0);
    world.wait(11);
    world.revisit(zero, &html("", &words(5)));
    assert!(!crawl.raced().contains_key(zero));
}

/// An engine that has lost the end of what all told gives its positions to what is told later.
#[test]
fn what_is_told_in_the_place_of_what_was_lost_is_heard() {
    for is_killed in [false, true] {
        let mut crawl = Crawl::new(2);
        let original = format!("{}/report", crawl.host(0, 0));
        let copy = format!("{}/copy", crawl.host(1, 0));
        crawl.world(0).visit(&original, &html("", &words(1)));
        crawl.settle();
        crawl.world(1).visit(&copy, &html("", &words(1)));
        crawl.settle();
        let kept = crawl.log.len();
        for number in 2..8 {
            let url = format!("{}/{number}", crawl.host(0, 1));
            crawl.world(0).visit(&url, &html("", &words(number)));
            crawl.settle();
        }
        assert!(crawl.log.len() >= kept + 6);
        crawl.log.truncate(kept);
        for shard in [0, 1] {
            let library = crawl.library(shard);
            library.checkpoint().unwrap();
            match is_killed {
                true => crawl.kill(shard),
                false => drop(library.stay_or_go_back(stands_at(&crawl.log))),
            }
            assert!(crawl.library(shard).position() <= kept as u64);
        }
        let world = crawl.world(0);
        world.wait(11);
        world.revisit(&original, &html("", &words(9)));
        crawl.settle();
        assert!(crawl.log.len() < kept + 6, "they stand in between");
        assert_eq!(crawl.revisits(1), [copy], "{is_killed}");
    }
}

#[test]
fn copies_of_what_is_gone_in_another_shard_are_visited_again() {
    let mut crawl = Crawl::new(2);
    let original = format!("{}/report", crawl.host(0, 0));
    let copies = [0, 1].map(|number| format!("{}/copy", crawl.host(1, number)));
    crawl.world(0).visit(&original, &html("", &words(1)));
    crawl.settle();
    for copy in &copies {
        crawl.world(1).visit(copy, &html("", &words(1)));
        assert_eq!(crawl.world(1).original(copy), original);
    }
    let world = crawl.world(0);
    world.wait(11);
    world.revisit(&original, &html("", &words(2)));
    crawl.settle();
    let cluster = crawl.world(1).duplicate(&copies[0]).of;
    let store = crawl.world(1).store();
    let known = ForeignOriginal::read(&*store, cluster).unwrap().unwrap();
    assert!(known.is_gone);
    // The best member succeeds it, and the other finds that.
    let world = crawl.world(1);
    for _ in 0..2 {
        for url in world.queued() {
            world.revisit(&url, &html("", &words(1)));
        }
    }
    let originals: BTreeSet<_> = copies.iter().map(|copy| world.original(copy)).collect();
    assert_eq!(originals.len(), 1, "{originals:?}");
    assert!(copies.contains(originals.first().unwrap()));
    // Its bytes had never been stored here.
    assert_eq!(world.stored(originals.first().unwrap()), 1);
    crawl.settle();
    assert_eq!(crawl.raced(), BTreeMap::new());
}

/// The disk of the library lost what the shard had heard.
#[test]
fn what_a_library_has_not_heard_yet_is_heard_once_more() {
    let mut crawl = Crawl::new(2);
    let original = format!("{}/report", crawl.host(0, 0));
    let copy = format!("{}/copy", crawl.host(1, 0));
    crawl.world(0).visit(&original, &html("", &words(1)));
    crawl.settle();
    crawl.library(1).checkpoint().unwrap();
    let world = crawl.world(0);
    world.wait(11);
    world.revisit(&original, &html("", &words(2)));
    crawl.settle();
    crawl.kill(1);
    crawl.world(1).visit(&copy, &html("", &words(1)));
    assert_eq!(crawl.world(1).original(&copy), original);
    crawl.settle();
    assert_eq!(crawl.revisits(1), std::slice::from_ref(&copy));
    crawl.world(1).revisit(&copy, &html("", &words(1)));
    assert_eq!(crawl.world(1).original(&copy), copy);
}

#[test]
fn beyond_the_bound_only_the_same_bytes_are_found() {
    let mut crawl = Crawl::with(2, Faults::default(), 1, 1);
    let originals = [0, 1].map(|number| format!("{}/report", crawl.host(0, number)));
    for (number, url) in (0..).zip(&originals) {
        crawl.world(0).visit(url, &html("", &words(number)));
    }
    crawl.settle();
    let host = crawl.host(1, 0);
    let world = crawl.world(1);
    let mut found = |name: &str, answer: &Answer| {
        let url = format!("{host}/{name}");
        world.visit(&url, answer);
        world.original(&url)
    };
    assert_eq!(found("raw0", &html("", &words(0))), originals[0]);
    assert_eq!(found("raw1", &html("", &words(1))), originals[1]);
    assert_eq!(found("framed0", &framed("menu", &words(0))), originals[0]);
    let own = format!("{host}/framed1");
    assert_eq!(found("framed1", &framed("menu", &words(1))), own);
}

/// Visits pages, each by the shard of its host; all hear of a few before the next.
fn visit_all(crawl: &mut Crawl, pages: &[(String, String)]) {
    let shards = Shards::new(0, crawl.count()).unwrap();
    for part in pages.chunks(16) {
        for (url, page) in part {
            let shard = shards.of(&HostKey::of(&parse(url).unwrap()));
            crawl.world(shard).visit(url, &Answer::Page(page.clone()));
        }
        crawl.settle();
        // What is asked again is answered.
        for shard in 0..crawl.count() {
            for queued in crawl.revisits(shard) {
                let page = pages.iter().find(|(url, _)| *url == queued);
                let (url, page) = page.unwrap();
                crawl.world(shard).revisit(url, &Answer::Page(page.clone()));
            }
        }
    }
    crawl.settle();
}

fn duplicates_of(world: &World, pages: &[(String, String)]) -> BTreeSet<String> {
    let mut duplicates = BTreeSet::new();
    for (url, _) in pages {
        let page = PAGES.get(&*world.store(), world.id(url).as_bytes());
        if page.unwrap().is_some_and(|page| page.duplicate().is_some()) {
            duplicates.insert(url.clone());
        }
    }
    duplicates
}

#[test]
fn siblings_in_different_shards_are_pages_of_their_own() {
    let mut wrong = Vec::new();
    for (kind, pages) in families() {
        // They are told apart because they are of one series, which only pages of one site are.
        if kind == "pages of lists" {
            continue;
        }
        let mut crawl = Crawl::new(2);
        // At two domains, which are in two shards.
        let pages = pages.iter().enumerate().map(|(at, (url, page))| {
            let shard = u16::try_from(at % 2).unwrap();
            let url = parse(url).unwrap();
            let query = url.query().map_or(String::new(), |it| format!("?{it}"));
            let url = format!("{}{}{query}", crawl.host(shard, 0), url.path());
            (url, page.clone())
        });
        let pages: Vec<_> = pages.collect();
        visit_all(&mut crawl, &pages);
        let all = crawl.worlds.iter();
        let found: Vec<_> = all.flat_map(|world| duplicates_of(world, &pages)).collect();
        if !found.is_empty() {
            wrong.push((kind, found.len(), found[0].clone()));
        }
    }
    assert_eq!(wrong, []);
}
