//! Directories of shards whose files are searched, or left alone.

use super::*;
use crate::broker::Memory;
use crate::cluster::orders::takedown::{refuse, searched_through, take_down};
use crate::engine::ForgetOrder;
use crate::engine::testing::{COPY, ORIGINAL, World, options, three};
use crate::frontier::Moment;

/// A worker whose directory has shard 00, and the list of its crawl.
struct Place {
    engine: Memory,
    directory: tempfile::TempDir,
    world: World,
    searches: Searches,
}

impl Place {
    fn new() -> Self {
        let engine = Memory::start(1 << 20);
        list::create(&engine).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let searches = searches(&engine, directory.path());
        let place = Self {
            engine,
            directory,
            world: three(),
            searches,
        };
        place.bring();
        assert!(place.tells());
        place
    }

    /// The files of the shard are in the worker's directory from now on.
    fn bring(&self) {
        let shards = self.directory.path().join("shards");
        fs::create_dir_all(&shards).unwrap();
        let data = self.world.place.path().join("data");
        std::os::unix::fs::symlink(data, shards.join("00")).unwrap();
    }

    fn take_away(&self) {
        fs::remove_file(self.directory.path().join("shards/00")).unwrap();
    }

    /// Whether the files tell of the copy; the original is always there.
    fn tells(&self) -> bool {
        let is_there = !self.world.files_tell(ORIGINAL).is_empty();
        assert!(is_there);
        self.world.records();
        !self.world.files_tell("a-copy-elsewhere").is_empty()
    }

    fn order(&self, back: bool) -> u64 {
        let order = ForgetOrder {
            selection: Selection {
                urls: vec![COPY.to_owned()],
                ..Selection::default()
            },
            back,
            ..ForgetOrder::default()
        };
        take_down(&self.engine, &order).unwrap()
    }

    /// What the worker hears, and does then.
    fn hear(&self, passed: u64) {
        hear(&self.searches, &self.engine, passed);
    }

    fn begin(&self, through: u64) -> Crawled {
        let close = || {
            Ok(Events::open(
                &self.directory.path().join("shards/00"),
                Moment(0),
            ))
        };
        let crawled = self.searches.leave(0, &StopHandle::new());
        crawled
            .catch_up(through, &StopHandle::new(), close)
            .unwrap();
        crawled
    }

    fn told(&self) -> u64 {
        searched_through(&self.engine, "w1").unwrap()
    }
}

fn searches(engine: &Memory, directory: &Path) -> Searches {
    let broker = Arc::new(engine.connect());
    let terms = Terms {
        shards: 4,
        copies: 2,
        secret: Secret::from_bytes([7; Secret::LEN]),
        settings: BTreeMap::new(),
        seeds_from: 0,
    };
    Searches::new(broker, ("w1", directory), &terms, &options()).unwrap()
}

fn hear(searches: &Searches, engine: &Memory, passed: u64) {
    let end = list::end(engine).unwrap();
    let followed = Some(BTreeSet::new());
    searches.heard(end, &BTreeMap::from([(0, passed)]), followed);
    searches.turn(end, &mut None).unwrap();
}

#[test]
fn files_are_searched_when_the_owner_of_the_shard_has_done_it() {
    let place = Place::new();
    let at = place.order(false);
    place.hear(at - 1);
    assert!(place.tells());
    assert!(!place.searches.are_over() && place.told() < at);
    place.hear(at);
    assert!(!place.tells());
    assert!(place.searches.are_over());
    assert_eq!(place.told(), at);
    // Another start knows that.
    let again = searches(&place.engine, place.directory.path());
    assert!(again.next(&BTreeSet::from([0])).is_none());
}

/// The innocent: a page that came back, in a directory that was crawled since; also where its files
/// were not searched when that was due.
#[test]
fn what_came_back_is_searched_for_no_more() {
    let place = Place::new();
    let forget = place.order(false);
    fs::write(place.directory.path().join(SCRATCH), "no directory").unwrap();
    place.hear(forget);
    let crawled = place.begin(forget);
    let back = place.order(true);
    crawled.passes(back).unwrap();
    drop(crawled);
    fs::remove_file(place.directory.path().join(SCRATCH)).unwrap();
    assert!(!place.searches.state().troubles.is_empty());
    drop(place.begin(back));
    assert!(place.searches.state().troubles.is_empty());
    place.hear(back);
    assert!(place.tells() && place.searches.are_over());
    assert_eq!(place.told(), back);
}

#[test]
fn what_was_refused_is_not_searched_for() {
    let place = Place::new();
    let at = place.order(false);
    refuse(&place.engine, 0, at).unwrap();
    place.hear(at);
    assert!(place.tells() && place.searches.are_over());
    assert_eq!(place.told(), at);
    // And where it was refused that something comes back, it goes.
    let (at, back) = (place.order(false), place.order(true));
    refuse(&place.engine, 1, at).unwrap();
    refuse(&place.engine, 0, back).unwrap();
    place.hear(back);
    assert!(!place.tells());
}

/// The crawl has passed the order by which it came back, and nobody was told before it ended.
#[test]
fn what_has_come_back_behind_what_is_known_is_not_searched_for() {
    let place = Place::new();
    let forget = place.order(false);
    let back = place.order(true);
    place.searches.read_on(back).unwrap();
    place.hear(forget);
    assert!(place.tells());
}

/// The innocent: a page that came back, in a directory that was crawled since.
#[test]
fn what_is_written_behind_an_order_is_not_what_it_was_about() {
    let place = Place::new();
    place.take_away();
    let (_, back) = (place.order(false), place.order(true));
    let crawled = place.begin(back);
    place.bring();
    place.hear(back);
    drop(crawled);
    place.hear(back);
    drop(place.begin(back));
    assert!(place.tells());
    assert!(place.searches.are_over());
    // And when it is to go again, it does.
    let at = place.order(false);
    place.hear(at);
    assert!(!place.tells());
}

#[test]
fn a_crawl_begins_when_the_files_are_where_it_is() {
    let place = Place::new();
    let at = place.order(false);
    // It will carry the order out itself, with bodies that rest on what goes.
    let crawled = place.begin(at - 1);
    place.hear(at);
    assert!(place.tells(), "its files are left alone");
    drop(crawled);
    let crawled = place.begin(at);
    assert!(!place.tells());
    drop(crawled);
    place.hear(at);
    assert_eq!(place.told(), at);
}

#[test]
fn who_carries_orders_out_needs_no_search() {
    let place = Place::new();
    let first = place.order(false);
    let crawled = place.begin(first - 1);
    place.hear(first);
    assert!(place.told() < first);
    crawled.passes(first).unwrap();
    place.hear(first);
    assert_eq!(place.told(), first);
    // Interrupted before that was committed, it begins with it again.
    drop(crawled);
    let crawled = place.begin(first - 1);
    place.hear(first);
    assert!(!place.searches.are_over());
    let second = place.order(false);
    crawled.passes(first).unwrap();
    crawled.passes(second).unwrap();
    drop(crawled);
    place.hear(second);
    assert!(place.tells() && place.searches.are_over());
}

/// Positions of a list that the engine has lost say nothing.
#[test]
fn another_list_is_read_from_its_beginning() {
    let place = Place::new();
    for _ in 0..3 {
        place.order(true);
    }
    let through = list::end(&place.engine).unwrap();
    place.hear(through);
    assert!(place.tells() && place.searches.are_over());
    place.searches.state().marks.shards.insert(0, through);
    place.engine.lose_all();
    list::create(&place.engine).unwrap();
    let at = place.order(false);
    let seeds = ["http://a.example/", "http://b.example/"];
    for seed in seeds {
        list::add(&place.engine, [crate::url::parse(seed).unwrap().into()]).unwrap();
    }
    assert!(at < through);
    place.searches.doubt();
    for _ in 0..2 {
        place.hear(list::end(&place.engine).unwrap());
    }
    assert!(!place.tells());
}

#[test]
fn what_cannot_be_searched_is_told_and_searched_later() {
    let place = Place::new();
    let at = place.order(false);
    let scratch = place.directory.path().join(SCRATCH);
    fs::write(&scratch, "no directory").unwrap();
    place.hear(at);
    assert!(place.tells() && place.told() < at);
    assert!(place.searches.are_over(), "nobody waits for it");
    // Others are searched meanwhile.
    fs::create_dir(place.directory.path().join("shards/01")).unwrap();
    let passed = BTreeMap::from([(0, at), (1, at)]);
    place.searches.heard(at, &passed, Some(BTreeSet::new()));
    fs::remove_file(&scratch).unwrap();
    place.searches.turn(at, &mut None).unwrap();
    assert_eq!(place.searches.state().marks.shards, [(1, at)].into());
    assert!(place.tells());
    place.searches.state().troubles.clear();
    place.hear(at);
    assert!(!place.tells());
}
