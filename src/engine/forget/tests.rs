//! Takedowns, step by step, with servers and clock in the test's hand.

use super::*;
use crate::archive::{DuplicateBodies, RecordKind, StorePolicy, records, unpack};
use crate::engine::again::body_place;
use crate::engine::options::Options;
use crate::engine::testing::*;
use crate::engine::visit::{Entry, Since};
use crate::frontier::{MAX_RULES, Moment, Remembrance, Selection};
use crate::journal::{Bodies, LogReader, Position};
use crate::rows::{DiskState, EARLIER, EarlierPage, PAGES};
use crate::store::{Batch, Durability, Table, for_each};
use crate::url::{HostKey, parse};

const NEAR: &str = "http://d.example/near";
const OTHER: &str = "http://e.example/other";

fn order(urls: &[&str], hosts: &[&str]) -> ForgetOrder {
    ForgetOrder {
        selection: Selection {
            urls: urls.iter().map(|it| (*it).to_owned()).collect(),
            hosts: hosts.iter().map(|it| it.parse().unwrap()).collect(),
            ..Selection::default()
        },
        ..ForgetOrder::default()
    }
}

impl World {
    pub(crate) fn try_forget(&mut self, order: &ForgetOrder) -> Result<ForgetDone, Error> {
        let data = self.place.path().join("data");
        let options = self.options.clone();
        let done = carry_out(self.committer(), &data, &options, order);
        self.settle();
        done
    }

    pub(crate) fn forget(&mut self, order: &ForgetOrder) -> ForgetDone {
        self.try_forget(order).unwrap()
    }

    fn has(&self, url: &str) -> bool {
        let id = self.id(url);
        PAGES.get(&*self.store(), id.as_bytes()).unwrap().is_some()
    }

    fn body(&self, url: &str) -> String {
        let page = self.page(url);
        let place = body_place(&*self.store(), self.id(url), &page).unwrap();
        let data = self.place.path().join("data");
        let content = Bodies::of(&data).read(&place.unwrap()).unwrap();
        String::from_utf8(content.body().to_vec()).unwrap()
    }

    /// Every byte that is told of: in rows, in records of both archives, in the log and in indexes.
    pub(crate) fn tells(&self, of: &str) -> Vec<String> {
        let mut found = self.rows_tell(of);
        found.extend(self.files_tell(of));
        found
    }

    fn rows_tell(&self, of: &str) -> Vec<String> {
        let mut found = Vec::new();
        let has = |bytes: &[u8]| memchr::memmem::find(bytes, of.as_bytes()).is_some();
        let store = self.store();
        for table in <Table as strum::VariantArray>::VARIANTS {
            for_each(&*store, *table, &[], &mut |key, row| {
                if has(key) || has(row) {
                    found.push(format!("{table:?} {}", String::from_utf8_lossy(key)));
                }
                Ok(())
            })
            .unwrap();
        }
        found
    }

    pub(crate) fn files_tell(&self, of: &str) -> Vec<String> {
        let mut found = Vec::new();
        let has = |bytes: &[u8]| memchr::memmem::find(bytes, of.as_bytes()).is_some();
        let data = self.place.path().join("data");
        for directory in ["warc", "texts", "log"] {
            for entry in std::fs::read_dir(data.join(directory)).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                if !name.contains(".warc.gz") || name.contains(".cdxj") {
                    if has(&std::fs::read(&path).unwrap()) {
                        found.push(name);
                    }
                    continue;
                }
                for record in records(&path).unwrap() {
                    let record = record.unwrap();
                    if has(&record.to_bytes()) {
                        found.push(format!("{name} {}", record.offset));
                    }
                }
            }
        }
        found
    }

    /// Number of bodies in packs, of any visit.
    fn packed(&self) -> usize {
        let texts = self.place.path().join("data/texts");
        let files = std::fs::read_dir(texts).unwrap();
        let files = files.map(|entry| entry.unwrap().path());
        let bodies = files
            .filter(|path| path.to_string_lossy().contains(".warc.gz"))
            .filter(|path| !path.to_string_lossy().contains(".cdxj"))
            .flat_map(|path| records(&path).unwrap())
            .flat_map(|record| unpack(&record.unwrap().block).unwrap_or_default());
        bodies.filter(|body| !body.data.is_empty()).count()
    }

    /// URL and verdict of the lines of the log.
    fn lines(&self) -> Vec<(String, String)> {
        let log = self.place.path().join("data/log");
        let end = DiskState::read(&*self.store()).unwrap().unwrap().log;
        let mut reader = LogReader::new(&log, Position::default(), end);
        let mut lines = Vec::new();
        while let Some(line) = reader.next_line().unwrap() {
            let line: serde_json::Value = serde_json::from_slice(&line).unwrap();
            let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
            lines.push((text("url"), text("verdict")));
        }
        lines
    }
}

fn near() -> Answer {
    html("", &edited(&words(1), 2, 0))
}

/// `three`, and a near duplicate and a page that is another.
fn five() -> World {
    let mut world = three();
    world.visit(NEAR, &near());
    assert_eq!(world.original(NEAR), ORIGINAL);
    world.visit(OTHER, &html("", &words(9)));
    world
}

fn text(answer: &Answer) -> &str {
    match answer {
        Answer::Page(html) => html,
        _ => "",
    }
}

/// The innocent first: what rests on a page that goes stays whole, and what does not stays as it
/// was, to the byte.
#[test]
fn pages_that_rest_on_what_goes_keep_their_bodies() {
    let mut world = five();
    let before = world.page(OTHER);
    let done = world.forget(&order(&[ORIGINAL], &[]));
    assert_eq!((done.pages, done.rehomed, done.refetched), (1, 3, 0));
    assert_eq!(world.page(OTHER), before);
    assert!(!world.has(ORIGINAL));
    // One of them is the original now.
    let heir = world.original(COPY);
    assert_eq!(world.original(SHORT), heir);
    assert_eq!(world.original(NEAR), heir);
    assert!(heir != ORIGINAL);
    for (url, answer) in [
        (COPY, html("", &words(1))),
        (SHORT, framed("menu", &words(1))),
        (NEAR, near()),
        (OTHER, html("", &words(9))),
    ] {
        assert_eq!(world.body(url), text(&answer), "{url}");
    }
    world.records();
    assert_eq!(world.tells("to-the-original"), [] as [String; 0]);
    // A start finds it as it was left, and a new copy repeats the heir.
    world.restart();
    assert_eq!(world.tells("to-the-original"), [] as [String; 0]);
    assert_eq!(world.body(NEAR), text(&near()));
    world.visit("http://f.example/", &html("", &words(1)));
    assert_eq!(world.original("http://f.example/"), heir);
    let verdicts = &world.committer().state.counters.verdicts;
    assert_eq!(verdicts.of(&crate::rows::VisitVerdict::Unique), 2);
}

#[test]
fn what_is_forgotten_is_not_taken_in_again_until_it_may() {
    let mut world = five();
    world.forget(&order(&[OTHER], &["a.example"]));
    let link =
        format!("<a href={OTHER}>o</a><a href={ORIGINAL}>a</a><a href=http://a.example/new>n</a>");
    let hub = |seed| {
        let Answer::Page(page) = html("", &words(seed)) else {
            unreachable!()
        };
        Answer::Page(page.replace("</main>", &format!("{link}</main>")))
    };
    world.visit("http://g.example/", &hub(20));
    world.seed(&[OTHER, "http://a.example/"]);
    assert_eq!(world.waiting().len(), 0);
    // A visit that was under way leaves nothing.
    world.visit(OTHER, &html("", &words(9)));
    world.visit("http://a.example/under-way", &html("", &words(30)));
    assert!(!world.has(OTHER) && !world.has("http://a.example/under-way"));
    assert_eq!(world.tells("under-way"), [] as [String; 0]);
    world.restart();
    world.visit("http://h.example/", &hub(21));
    assert_eq!(world.waiting().len(), 0);

    let back = |urls: &[&str], hosts: &[&str]| ForgetOrder {
        back: true,
        ..order(urls, hosts)
    };
    world.try_forget(&back(&[], &["b.example"])).unwrap_err();
    world.try_forget(&back(&[ORIGINAL], &[])).unwrap_err();
    let entry = |order: &ForgetOrder, at| ForgetOrder {
        entry: Some(at),
        ..order.clone()
    };
    let undo = back(&[OTHER], &[]);
    world.forget(&entry(&undo, 7));
    assert_eq!(world.queued(), [OTHER.to_owned()].into());
    // By an entry of a list it comes back once: whoever begins with the entry again is told so.
    world.restart();
    assert_eq!(world.forget(&entry(&undo, 7)).back, 1);
    world.try_forget(&entry(&undo, 8)).unwrap_err();
    world.try_forget(&undo).unwrap_err();
    assert_eq!(world.queued(), [OTHER.to_owned()].into());
    world.forget(&back(&[], &["a.example"]));
    world.restart();
    world.visit("http://i.example/", &hub(22));
    let expected = [OTHER, ORIGINAL, "http://a.example/new"];
    assert_eq!(world.queued(), expected.map(str::to_owned).into());
    // Once only.
    world.visit("http://j.example/", &hub(23));
    assert_eq!(world.waiting().len(), 3);
    world.answer(ORIGINAL, &html("", &words(1)));
    assert!(world.has(ORIGINAL));
}

#[test]
fn a_whole_host_goes_with_all_that_it_ever_was() {
    let mut world = five();
    // It was another page once.
    world.wait(1_000);
    world.revisit(ORIGINAL, &html("<title>in-between</title>", &words(7)));
    world.wait(1_000);
    world.revisit(ORIGINAL, &html("<title>lately</title>", &words(8)));
    world.visit("http://a.example/gone-too", &Answer::Status(404));
    world.visit("http://sub.a.example/", &html("", &words(1)));
    let done = world.forget(&order(&[], &["a.example"]));
    assert_eq!(done.pages, 3);
    for of in [
        "a.example/a-long-way",
        "gone-too",
        "in-between",
        "lately",
        "sub.a.example",
    ] {
        // That there is such a host is told by its pace.
        let of_hosts = |it: &String| it.starts_with("Hosts ") || it.starts_with("Learned ");
        let told = world.tells(of);
        assert!(told.iter().all(of_hosts), "{told:?}");
    }
    let told = world.tells("a-long-way");
    assert!(told.is_empty(), "{told:?}");
    for (url, answer) in [(SHORT, framed("menu", &words(1))), (NEAR, near())] {
        assert_eq!(world.body(url), text(&answer), "{url}");
    }
    world.records();
    let lines = world.lines();
    assert!(lines.iter().all(|(url, _)| !url.contains("a.example")));
    let again = world.forget(&order(&[], &["a.example"]));
    assert_eq!((again.pages, again.records, again.lines), (0, 0, 0));
}

/// A page that once repeated what goes has said so in its records.
#[test]
fn pages_that_repeated_what_goes_do_not_tell_of_it() {
    let mut world = five();
    for round in 0..2 {
        // They say something of their own now.
        world.wait(1_000);
        world.revisit(NEAR, &html("", &words(20 + round)));
        world.revisit(COPY, &html("", &words(30 + round)));
    }
    world.forget(&order(&[ORIGINAL], &[]));
    // It leaves its queue when its turn comes.
    let mut told = world.tells("to-the-original");
    told.retain(|it| !it.starts_with("Queue "));
    assert_eq!(told, [""; 0]);
    world.records();
    assert_eq!(world.body(NEAR), text(&html("", &words(21))));
    assert_eq!(world.body(COPY), text(&html("", &words(31))));
}

/// What a page was is in a pack that no row leads to any more.
#[test]
fn bodies_of_earlier_visits_leave_their_packs() {
    let mut world = five();
    for shift in [1, 2] {
        world.committer().pack(Moment(20_001 * DAY)).unwrap();
        world.wait(1_000);
        world.revisit(NEAR, &html("", &edited(&words(1), 2, shift)));
        assert_eq!(world.original(NEAR), ORIGINAL);
    }
    world.committer().pack(Moment(20_001 * DAY)).unwrap();
    // Of the framed copy, and three of the near one.
    assert_eq!(world.packed(), 4);
    world.forget(&order(&[NEAR], &[]));
    assert_eq!(world.packed(), 1);
    assert_eq!(world.body(SHORT), text(&framed("menu", &words(1))));
    world.records();
}

/// Where bodies of duplicates are stored, what is said of the original stands behind them.
#[test]
fn verdicts_behind_bodies_do_not_tell_of_what_goes() {
    let mut options = options();
    options.archive.store = StorePolicy::ExactOnly;
    let mut world = World::with(options);
    world.visit(ORIGINAL, &html("", &words(1)));
    world.visit(NEAR, &near());
    assert_eq!(world.original(NEAR), ORIGINAL);
    // What has the bytes of that is stored as a reference to it, with what is said of the original.
    let same = "http://f.example/the-same";
    world.visit(same, &near());
    assert_eq!(world.original(same), ORIGINAL);
    let kind = world.page(same).record.map(|(kind, _)| kind);
    assert_eq!(kind, Some(RecordKind::Revisit));
    assert!(!world.tells("to-the-original").is_empty());
    world.forget(&order(&[ORIGINAL], &[]));
    assert_eq!(world.tells("to-the-original"), [""; 0]);
    for url in [NEAR, same] {
        assert_eq!(world.body(url), text(&near()), "{url}");
    }
    world.records();
}

/// What is kept of a duplicate may be a difference from what its original was, though that is
/// another page by now.
#[test]
fn a_body_outlives_what_it_is_a_difference_from() {
    let mut world = five();
    world.wait(1_000);
    world.revisit(ORIGINAL, &html("", &words(7)));
    let done = world.forget(&order(&[ORIGINAL], &[]));
    assert!(done.rehomed >= 2, "{done:?}");
    assert_eq!(world.body(NEAR), text(&near()));
    assert_eq!(world.body(SHORT), text(&framed("menu", &words(1))));
    assert_eq!(world.tells("to-the-original"), [] as [String; 0]);
}

#[test]
fn a_page_without_a_body_is_visited_again() {
    let options = options();
    let mut world = World::with(Options {
        archive: crate::engine::ArchiveOptions {
            duplicate_bodies: DuplicateBodies::None,
            ..options.archive.clone()
        },
        ..options
    });
    world.visit(ORIGINAL, &html("", &words(1)));
    world.visit(NEAR, &near());
    let done = world.forget(&order(&[ORIGINAL], &[]));
    assert_eq!((done.rehomed, done.refetched), (0, 1));
    world.revisit(NEAR, &near());
    assert_eq!(world.original(NEAR), NEAR);
    assert_eq!(world.body(NEAR), text(&near()));
}

/// The bytes of what cannot be an original are stored once, too.
#[test]
fn an_error_page_outlives_the_first_of_its_kind() {
    let mut world = World::new();
    for host in ["a", "b", "c"] {
        world.visit(&format!("http://{host}.example/x"), &Answer::Status(404));
    }
    let responses = |world: &World| {
        let records = world.records();
        records
            .iter()
            .filter(|(kind, _)| kind == "response")
            .count()
    };
    assert_eq!(responses(&world), 1);
    let done = world.forget(&order(&[], &["a.example"]));
    assert_eq!((done.pages, done.rehomed), (1, 2));
    assert_eq!(responses(&world), 1);
    assert_eq!(world.body("http://b.example/x"), "nothing here");
    assert_eq!(world.body("http://c.example/x"), "nothing here");
    assert_eq!(world.tells("a.example/x"), [] as [String; 0]);
}

/// A kill after any part leaves a state from which the next start goes on to the same end.
#[test]
fn a_kill_after_any_part_changes_nothing() {
    for parts in 0.. {
        let mut world = five();
        let data = world.place.path().join("data");
        let options = world.options.clone();
        let order = order(&[ORIGINAL], &[]);
        let mut done = ForgetDone::default();
        let mut is_over = false;
        for part in 0..parts {
            let committer = world.committer();
            let finder = Finder::new(committer.store.clone(), &data, &options).unwrap();
            let found = finder.part(&order, done.next.take()).unwrap();
            let (mut found, visits) = found.unwrap();
            if part + 1 == parts {
                // What was found, and overwritten, but not committed.
                break;
            }
            let (reply, mut answer) = oneshot::channel();
            found.reply = Some(reply);
            committer
                .forget(found, visits, Moment(20_001 * DAY))
                .unwrap();
            done.add(answer.try_recv().unwrap());
            if done.next.is_none() {
                is_over = true;
                break;
            }
        }
        world.restart();
        if parts > 1 {
            finish(world.committer(), &data, &options).unwrap();
            assert_eq!(world.tells("to-the-original"), [] as [String; 0], "{parts}");
            let heir = world.original(COPY);
            assert_eq!(world.original(SHORT), heir, "{parts}");
            assert_eq!(world.original(NEAR), heir, "{parts}");
            assert_eq!(world.body(NEAR), text(&near()), "{parts}");
            assert_eq!(world.body(COPY), text(&html("", &words(1))), "{parts}");
            world.records();
            let id = world.id(ORIGINAL);
            let url = parse(ORIGINAL).unwrap();
            let known = world.committer().gate.forgotten.0.load();
            let known = known.of(&url, &[id], &*world.store()).unwrap();
            assert_eq!(known, Remembrance::Forgotten);
        }
        if is_over {
            assert!(parts > 10, "{parts}");
            break;
        }
    }
}

#[test]
fn a_dry_run_counts_and_changes_nothing() {
    let mut world = five();
    let tells = world.tells("to-the-original");
    let dry = ForgetOrder {
        dry_run: true,
        ..order(&[], &["a.example"])
    };
    let done = world.forget(&dry);
    assert_eq!((done.pages, done.rehomed), (1, 3));
    assert!(done.lines > 0);
    assert_eq!(world.tells("to-the-original"), tells);
    assert!(!is_begun(&*world.store()).unwrap());
}

#[test]
fn an_order_with_too_many_rules_is_refused() {
    let mut world = five();
    let mut many = order(&[], &[]);
    many.selection.prefixes = (0..=MAX_RULES).map(|n| format!("http://x/{n}")).collect();
    let refused = world.try_forget(&many).unwrap_err();
    assert!(matches!(refused, Error::Forget(_)), "{refused}");
    let host = HostKey::of(&parse(ORIGINAL).unwrap());
    let forgotten = world.committer().gate.forgotten.0.load();
    assert!(!forgotten.rules().has_host(&host));
}

/// What an earlier crawl has of a page, which it knows by the URL of another with the same bytes.
fn earlier(url: &str) -> EarlierPage {
    EarlierPage {
        file: 0,
        offset: 0,
        length: 100,
        record: [1; 16],
        url: Some(url.to_owned()),
        date: 0,
        payload: [2; 32],
        form: 0,
        validators: None,
        seen: 0,
        confirmed: None,
    }
}

#[test]
fn what_earlier_crawls_hold_does_not_tell_what_goes() {
    let mut world = five();
    let keys: Vec<_> = ["http://x.example/1", "http://x.example/2"]
        .iter()
        .map(|url| *world.id(url).as_bytes())
        .collect();
    let mut batch = Batch::new();
    EARLIER.put(&mut batch, keys[0], &earlier(ORIGINAL));
    EARLIER.put(&mut batch, keys[1], &earlier(OTHER));
    world.store().commit(batch, Durability::Disk).unwrap();
    let told = world.tells("a-long-way");
    assert!(told.iter().any(|it| it.starts_with("Earlier")), "{told:?}");
    world.forget(&order(&[ORIGINAL], &[]));
    assert_eq!(world.tells("a-long-way"), [""; 0]);
    let left = |key: &[u8]| EARLIER.get(&*world.store(), key).unwrap();
    assert_eq!(left(&keys[0]), None);
    assert_eq!(left(&keys[1]), Some(earlier(OTHER)));
    // A visit that was under way has the row still. What is the same as another stays that.
    for (url, of, words_of, is_stored) in [
        ("http://x.example/1", ORIGINAL, 21, true),
        ("http://x.example/2", OTHER, 22, false),
    ] {
        let mut visit = world.analysed(url, None, None, &html("", &words(words_of)));
        visit.since = Some(Since::Unchanged {
            page: Box::new(earlier(of)),
            not_modified: None,
        });
        let visit = Entry::Visit(Box::new(visit));
        world.commit(vec![visit]);
        let kind = world.page(url).record.map(|(kind, _)| kind);
        assert_eq!(kind == Some(RecordKind::Response), is_stored, "{url}");
    }
    assert_eq!(world.tells("a-long-way"), [""; 0]);
}

/// A directory whose crawl goes on elsewhere, or not yet: its files are nobody else's, and its rows
/// are not touched.
struct Left {
    world: World,
    rows: Vec<String>,
}

impl Left {
    fn new() -> Self {
        let mut world = five();
        for shift in [1, 2] {
            world.committer().pack(Moment(20_001 * DAY)).unwrap();
            world.wait(1_000);
            world.revisit(NEAR, &html("", &edited(&words(1), 2, shift)));
        }
        world.committer().pack(Moment(20_001 * DAY)).unwrap();
        assert_eq!(world.packed(), 4);
        assert!(!world.files_tell("near").is_empty());
        Self {
            rows: world.rows_tell("near"),
            world,
        }
    }

    fn search(&self) -> FileSearch {
        let data = self.world.place.path().join("data");
        let selection = order(&[NEAR], &[]).selection;
        let secret = crate::engine::open::read_secret(&*self.world.store()).unwrap();
        let with = (&secret, &self.world.options);
        FileSearch::begin((&data, None), &self.scratch(), with, &selection).unwrap()
    }

    fn scratch(&self) -> std::path::PathBuf {
        self.world.place.path().join("scratch")
    }

    fn run(&self, mut search: FileSearch) -> ForgetDone {
        let done = loop {
            if let Some(done) = search.step().unwrap() {
                break done;
            }
        };
        search.end().unwrap();
        assert!(!self.scratch().exists());
        done
    }

    #[track_caller]
    fn check(&self) {
        let world = &self.world;
        assert_eq!(world.files_tell("near"), [""; 0]);
        assert_eq!(world.rows_tell("near"), self.rows);
        assert_eq!(world.packed(), 1, "that of the framed copy");
        for (url, answer) in [
            (ORIGINAL, html("", &words(1))),
            (COPY, html("", &words(1))),
            (SHORT, framed("menu", &words(1))),
            (OTHER, html("", &words(9))),
        ] {
            assert_eq!(world.body(url), text(&answer), "{url}");
        }
        world.records();
    }
}

#[test]
fn files_of_a_crawl_that_is_elsewhere_are_searched_without_its_rows() {
    let left = Left::new();
    let done = left.run(left.search());
    // A record with the verdict, and what was asked for it, for each of three visits; their bodies.
    assert_eq!(
        (done.pages, done.lines, done.records),
        (0, 3, 9),
        "{done:?}"
    );
    assert!(done.nowhere.is_empty() && done.elsewhere.is_empty());
    left.check();
    // What nobody wrote has nothing.
    let empty = tempfile::tempdir().unwrap();
    let secret = crate::url::Secret::from_bytes([1; crate::url::Secret::LEN]);
    let selection = order(&[NEAR], &[]).selection;
    let with = (&secret, &left.world.options);
    let search =
        FileSearch::begin((empty.path(), None), &left.scratch(), with, &selection).unwrap();
    assert_eq!(left.run(search), ForgetDone::default());
}

#[test]
fn a_search_of_files_that_was_killed_is_made_again() {
    for steps in 0.. {
        let left = Left::new();
        let mut search = left.search();
        let is_over = (0..steps).any(|_| search.step().unwrap().is_some());
        drop(search);
        left.run(left.search());
        left.check();
        if is_over {
            assert!(steps > 8, "{steps}");
            break;
        }
    }
}
