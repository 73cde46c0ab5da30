//! Duplicates over time: a committer that is told what servers answer, and when.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tempfile::TempDir;

use super::super::analysts::Analysts;
use super::super::committer::DEDUP_RUNS;
use super::super::reading::Reader;
use super::super::records::StorePolicy;
use super::super::visit::{Entry, Fetched, KnownBody, KnownPage, KnownPages};
use super::super::{ArchiveOptions, DataDirectory, Options, View, open};
use super::*;
use crate::archive;
use crate::dedup::{Features, Fingerprints, Rule, Rules, Similarity, Text, Tier};
use crate::fetch::Reservation;
use crate::fetch::{Exchange, Failure, FailureClass, FetchOptions, Outcome};
use crate::frontier::{
    FetchTask, HostState, Limits, Pace, Place, Policies, Policy, Politeness, QueuedUrl,
    RevisitMode, RevisitPolicy, RobotsMode, ScopeKind, SeenOptions, Validators, for_each_waiting,
};
use crate::page::PageOptions;
use crate::rows::PAGES;
use crate::rows::{Duplicate, Fate, Judgement, PageRecord};
use crate::store::{Store, Table, decode, for_each};
use crate::url::{Canonicalizer, HostKey, parse};

const DAY: u64 = 24 * 3_600 * 1_000;

pub(in crate::engine) fn options() -> Options {
    let second = Duration::from_secs(1);
    let policy = Policy {
        robots: RobotsMode::Ignore,
        ..Policy::new(Politeness::none())
    };
    Options {
        scope: ScopeKind::Any,
        limits: Limits {
            max_redirects: 5,
            max_url_length: 2_000,
            max_sitemaps: 10,
        },
        policies: Policies::new(policy, []),
        revisit: RevisitPolicy {
            mode: RevisitMode::Adaptive,
            interval: Duration::from_millis(10 * DAY),
            min_interval: second,
            max_interval: Duration::from_millis(1_000 * DAY),
        },
        canonicalizer: Canonicalizer::default(),
        seen: SeenOptions {
            expected_urls: 1_000,
        },
        window: 10,
        buffer: 10,
        fetch: FetchOptions::new("test"),
        concurrency: 1,
        max_rate: NonZeroU32::new(1),
        page: PageOptions::default(),
        archive: ArchiveOptions {
            store: StorePolicy::Unique,
            other_types: true,
            max_segment_bytes: 1 << 30,
            compression: 1,
        },
        log_max_bytes: 1 << 20,
        max_memory: 64 << 20,
        disk_reserve: 0,
        checkpoint_interval: Duration::from_hours(1),
        expire_after: None,
        features: Features::default(),
        // The same for pages of one host and of two.
        rules: Rules::new(
            Rule {
                cross_host_similarity: 0.9,
                ..Rule::default()
            },
            [],
        ),
        failpoint: None,
    }
}

/// A crawl whose servers are in the test's hand.
pub(crate) struct World {
    options: Options,
    /// `None` while nobody crawls.
    committer: Option<Committer>,
    directory: DataDirectory,
    place: TempDir,
    /// Milliseconds since 1970.
    now: u64,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(options())
    }

    fn with(options: Options) -> Self {
        let place = tempfile::tempdir().unwrap();
        let directory = DataDirectory::take(&place.path().join("data")).unwrap();
        let committer = open::open(&directory, &options).unwrap();
        Self {
            options,
            committer: Some(committer),
            directory,
            place,
            now: 20_000 * DAY,
        }
    }

    fn committer(&mut self) -> &mut Committer {
        self.committer.as_mut().expect("it crawls")
    }

    fn store(&self) -> Arc<dyn Store> {
        let committer = self.committer.as_ref().expect("it crawls");
        Arc::clone(&committer.store)
    }

    fn id(&self, url: &str) -> UrlId {
        let committer = self.committer.as_ref().expect("it crawls");
        committer.identity.id(&parse(url).unwrap())
    }

    /// A server answers the first visit of a page.
    pub(crate) fn visit(&mut self, url: &str, answer: &Answer) {
        self.fetched(url, None, None, answer);
    }

    /// A server answers a visit that is queued.
    #[track_caller]
    fn revisit(&mut self, url: &str, answer: &Answer) {
        let waiting = self.waiting().into_iter();
        let row = waiting
            .filter(|(_, queued)| queued.url == url)
            .map(|(place, queued)| (place, queued.validators))
            .next();
        let (place, validators) = row.unwrap_or_else(|| panic!("{url} is not queued"));
        self.fetched(url, Some(place), validators, answer);
    }

    fn fetched(
        &mut self,
        url: &str,
        place: Option<Place>,
        validators: Option<Validators>,
        answer: &Answer,
    ) {
        self.now += 1_000;
        let now = Moment(self.now);
        let parsed = parse(url).unwrap();
        let started = jiff::Timestamp::from_millisecond(self.now.cast_signed()).unwrap();
        let outcome = match answer {
            Answer::Silence => Outcome::Failed(Failure::new(FailureClass::Timeout, "no answer")),
            Answer::Same => exchange(started, 304, ""),
            Answer::Status(status) => exchange(started, *status, "nothing here"),
            Answer::Page(html) => exchange(started, 200, html),
        };
        let fetched = Fetched {
            task: FetchTask {
                robots_redirect: None,
                host: HostKey::of(&parsed),
                pace: Pace::default(),
                place,
                queued: QueuedUrl {
                    validators,
                    revisit: place.is_some(),
                    ..QueuedUrl::new(url.to_owned(), self.id(url))
                },
                url: parsed,
            },
            outcome,
            pace: Pace::default(),
            finished: now,
            reservation: Reservation::default(),
        };
        let reader = Reader::new(&self.committer().identity.clone(), &self.options);
        let policies = self.committer().policies.clone();
        let analysed = Analysts::new(reader, policies).analyse(fetched);
        let entry = Entry::Visit(Box::new(analysed));
        self.committer().commit(vec![entry]).unwrap();
        self.settle();
    }

    /// Does what is due, as the committer does between commits.
    fn settle(&mut self) {
        let now = Moment(self.now);
        while self.committer().until_revisits(now).is_zero() {
            self.committer().revisit(now).unwrap();
        }
        while self.committer().until_expiry(now).is_zero() {
            self.committer().expire(now).unwrap();
        }
    }

    fn wait(&mut self, days: u64) {
        self.now += days * DAY;
        self.settle();
    }

    /// A kill, and a start.
    fn restart(&mut self) {
        self.committer = None;
        self.committer = Some(open::open(&self.directory, &self.options).unwrap());
        self.settle();
    }

    fn queued(&self) -> BTreeSet<String> {
        let waiting = self.waiting().into_iter();
        waiting.map(|(_, queued)| queued.url).collect()
    }

    /// What waits, of all hosts.
    fn waiting(&self) -> Vec<(Place, QueuedUrl)> {
        let store = self.store();
        let mut all = Vec::new();
        for_each(&*store, Table::Hosts, &[], &mut |key, row| {
            let host = HostKey::parse(std::str::from_utf8(key).unwrap()).unwrap();
            let state: HostState = decode(Table::Hosts, row).unwrap();
            for_each_waiting(
                &*store,
                &host,
                &state,
                &mut |class, sequence, block, queued| {
                    let place = Place {
                        class,
                        sequence,
                        block,
                        floor: 0,
                    };
                    all.push((place, queued));
                    Ok(true)
                },
            )
        })
        .unwrap();
        all
    }

    pub(crate) fn page(&self, url: &str) -> PageRecord {
        PAGES
            .get(&*self.store(), self.id(url).as_bytes())
            .unwrap()
            .unwrap()
    }

    #[track_caller]
    fn duplicate(&self, url: &str) -> Duplicate {
        let page = self.page(url);
        *page
            .duplicate()
            .unwrap_or_else(|| panic!("{:?}", page.fate))
    }

    /// The URL of a page's original; its own if it is one.
    #[track_caller]
    pub(crate) fn original(&self, url: &str) -> String {
        let page = self.page(url);
        match (page.original(), page.duplicate()) {
            (Some(_), None) => url.to_owned(),
            (None, Some(duplicate)) => {
                let original = PAGES
                    .get(&*self.store(), duplicate.page.as_bytes())
                    .unwrap()
                    .unwrap();
                let document = original.original().map(|document| document.id);
                assert_eq!(document, Some(duplicate.of), "{url} repeats what is gone");
                original.url
            }
            _ => panic!("{:?}", page.fate),
        }
    }

    /// The crawl as questions about it see it.
    pub(crate) fn view(&self) -> View {
        View::new(self.store(), Arc::new(self.options.clone()))
    }

    /// Members by their original, the best URL first.
    fn listed(&self) -> BTreeMap<String, Vec<String>> {
        let mut listed: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let store = self.store();
        for_each(&*store, Table::Clusters, &[], &mut |key, _| {
            let Some((cluster, id)) = keys::parse_member(key) else {
                return Ok(());
            };
            let page = PAGES.get(&*store, id)?.expect("a member has a record");
            let duplicate = page.duplicate().expect("it repeats the original");
            assert_eq!(duplicate.of, cluster, "it is filed where it belongs");
            let original = PAGES.get(&*store, duplicate.page.as_bytes())?;
            let original = original.expect("the original has a record").url;
            listed.entry(original).or_default().push(page.url);
            Ok(())
        })
        .unwrap();
        listed
    }

    /// WARC-Type and URL of every record. A revisit refers to a response that is there, by its id and
    /// by its URL.
    fn records(&self) -> Vec<(String, String)> {
        let warc = self.place.path().join("data/warc");
        let files = std::fs::read_dir(warc).unwrap();
        let mut files: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let mut responses = BTreeMap::new();
        let mut records = Vec::new();
        for record in files
            .iter()
            .flat_map(|file| archive::records(file).unwrap())
        {
            let record = record.unwrap();
            let field = |name| record.header(name).unwrap_or_default().to_owned();
            let (kind, url) = (field("WARC-Type"), field("WARC-Target-URI"));
            match &*kind {
                "response" => {
                    responses.insert(field("WARC-Record-ID"), url.clone());
                }
                // One that was not sent again has bytes that were left out, perhaps.
                "revisit" if !field("WARC-Refers-To").is_empty() => {
                    let of = responses.get(&field("WARC-Refers-To"));
                    assert_eq!(of, Some(&field("WARC-Refers-To-Target-URI")), "{url}");
                }
                _ => {}
            }
            records.push((kind, url));
        }
        records
    }

    fn stored(&self, url: &str) -> usize {
        let records = self.records();
        let responses = records
            .iter()
            .filter(|(kind, of)| kind == "response" && of == url);
        responses.count()
    }
}

pub(crate) enum Answer {
    Silence,
    /// What it was, which is not sent again.
    Same,
    Status(u16),
    Page(String),
}

fn exchange(started: jiff::Timestamp, status: u16, body: &str) -> Outcome {
    Outcome::Exchange(Box::new(Exchange {
        started,
        duration: Duration::from_millis(10),
        remote: None,
        protocols: vec!["http/1.1"],
        request_head: b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        status,
        headers: vec![
            ("content-type".to_owned(), b"text/html".to_vec()),
            ("etag".to_owned(), b"\"1\"".to_vec()),
        ],
        body: Bytes::copy_from_slice(body.as_bytes()),
        cut: None,
    }))
}

/// 400 words, the same ones for the same seed.
pub(crate) fn words(seed: u64) -> Vec<String> {
    (0..400_u64)
        .map(|at| format!("word{}", (at * at * 7 + at * 13 + seed * 1_013) % 4_001))
        .collect()
}

/// `words` with so many of them replaced, spread over all, by others for each `shift`.
fn edited(words: &[String], count: usize, shift: usize) -> Vec<String> {
    let mut edited = words.to_vec();
    for number in 0..count {
        edited[(number * 397 / count.max(1) + shift) % 400] = format!("edit{shift}-{number}");
    }
    edited
}

pub(crate) fn html(head: &str, words: &[String]) -> Answer {
    let text = words.join(" ");
    Answer::Page(format!(
        "<!doctype html><head>{head}</head><main><article><p>{text}</p></article></main>"
    ))
}

/// A page in a frame of its own: a content duplicate of others with the same words.
pub(crate) fn framed(frame: &str, words: &[String]) -> Answer {
    let text = words.join(" ");
    Answer::Page(format!(
        "<!doctype html><nav><ul><li>{frame}</ul></nav><main><article><p>{text}</p></article></main>"
    ))
}

/// How alike two texts are that the near tier compares.
pub(crate) fn likeness(a: &[String], b: &[String]) -> Similarity {
    let of = |words: &[String]| {
        let text = words.join(" ");
        Fingerprints::of(text.as_bytes(), &Text::whole(&text))
    };
    of(a).compare(&of(b)).unwrap().similarity
}

/// Edits of a text that bring its likeness to below `high` and to `low` at least.
pub(crate) fn edits(words: &[String], low: f64, high: f64) -> Vec<String> {
    let tries = (1..80).flat_map(|count| (0..9).map(move |shift| (count, shift)));
    let mut texts = tries.map(|(count, shift)| edited(words, count, shift));
    let wanted = Similarity::of(low)..Similarity::of(high);
    let found = texts.find(|text| wanted.contains(&likeness(words, text)));
    found.expect("some number of edits does it")
}

pub(crate) const ORIGINAL: &str = "http://a.example/a-long-way/to-the-original";
pub(crate) const COPY: &str = "http://b.example/a-copy-elsewhere";
pub(crate) const SHORT: &str = "http://c.example/c";

/// An original, a copy with a longer URL and a content duplicate with a short one.
pub(crate) fn three() -> World {
    let mut world = World::new();
    world.visit(ORIGINAL, &html("", &words(1)));
    world.visit(COPY, &html("", &words(1)));
    world.visit(SHORT, &framed("menu", &words(1)));
    assert_eq!(world.duplicate(COPY).tier, Tier::Raw);
    assert_eq!(world.duplicate(SHORT).tier, Tier::Content);
    world
}

#[test]
fn a_duplicate_keeps_what_it_repeats_and_since_when() {
    let mut world = three();
    let near = edited(&words(1), 2, 0);
    world.visit("http://d.example/", &html("", &near));
    let found = world.duplicate("http://d.example/");
    assert_eq!(found.tier, Tier::Near);
    assert_eq!(found.similarity, likeness(&words(1), &near));
    assert!(found.distance > 0);
    let first = world.duplicate(COPY);
    assert_eq!(first.similarity, Similarity::EXACT);
    assert_eq!(first.first_seen, first.last_checked);
    let interval = |world: &World| world.page(COPY).revisit.unwrap().interval;
    let mut last = interval(&world);
    for _ in 0..3 {
        let before = world.duplicate(COPY);
        world.wait(1_000);
        world.revisit(COPY, &html("", &words(1)));
        let after = world.duplicate(COPY);
        assert_eq!(after.first_seen, first.first_seen);
        assert!(after.last_checked > before.last_checked);
        assert_eq!((after.of, after.rank), (first.of, first.rank));
        assert!(
            interval(&world) > last,
            "known duplicates fall due more and more seldom"
        );
        last = interval(&world);
    }
}

#[test]
fn a_servers_word_that_a_page_is_the_same_is_believed_while_that_stands() {
    let mut world = three();
    let before = [ORIGINAL, COPY, SHORT].map(|url| world.page(url));
    world.wait(1_000);
    for url in [ORIGINAL, COPY, SHORT] {
        world.revisit(url, &Answer::Same);
    }
    for (url, before) in [ORIGINAL, COPY, SHORT].into_iter().zip(before) {
        let mut after = world.page(url);
        assert!(
            after.time > before.time && after.revisit.unwrap().due > before.revisit.unwrap().due
        );
        let of = |page: &PageRecord| page.revisit.map(|it| it.mark);
        assert_eq!(of(&after), of(&before));
        if let Some(duplicate) = before.duplicate() {
            let checked = world.duplicate(url).last_checked;
            assert!(checked > duplicate.last_checked);
        }
        after.fate = before.fate.clone();
        after.document.clone_from(&before.document);
        assert_eq!(
            (after.url, after.validators),
            (before.url, before.validators)
        );
    }
    assert_eq!(world.listed().len(), 1);
    world.records();

    // The original is gone while its copies are on their way to be asked whether they are the same: they
    // are, but that is not what they were known for any more.
    world.wait(1_000);
    world.revisit(ORIGINAL, &Answer::Status(404));
    world.revisit(COPY, &Answer::Same);
    let waiting = world.waiting().into_iter();
    let whole: Vec<_> = waiting
        .filter(|(_, it)| it.validators.is_none())
        .map(|(_, it)| it.url)
        .collect();
    assert!(whole.iter().any(|url| url == COPY), "{whole:?}");
    world.revisit(COPY, &html("", &words(1)));
    assert_eq!(world.original(COPY), COPY);
    world.records();
}

#[test]
fn an_original_that_is_gone_hands_over_to_its_best_duplicate() {
    let mut world = three();
    world.wait(10);
    assert_eq!(world.queued().len(), 3, "all are due");
    world.revisit(COPY, &html("", &words(1)));
    world.revisit(SHORT, &framed("menu", &words(1)));
    assert!(world.duplicate(COPY).last_checked > world.duplicate(COPY).first_seen);
    world.revisit(ORIGINAL, &Answer::Status(404));
    // Not days later, and the best one first.
    assert_eq!(world.queued(), [SHORT.to_owned()].into());
    assert!(world.page(ORIGINAL).original().is_none());
    world.restart();
    assert_eq!(world.queued(), [SHORT.to_owned()].into());
    world.revisit(SHORT, &framed("menu", &words(1)));
    assert_eq!(world.original(SHORT), SHORT);
    assert_eq!(world.stored(SHORT), 1, "its body is stored now");
    assert_eq!(world.queued(), [COPY.to_owned()].into());
    world.restart();
    world.revisit(COPY, &html("", &words(1)));
    assert_eq!(world.original(COPY), SHORT);
    assert_eq!(world.duplicate(COPY).tier, Tier::Content);
    assert_eq!(world.stored(COPY), 0);
    assert_eq!(
        world.listed(),
        [(SHORT.to_owned(), vec![COPY.to_owned()])].into()
    );
    assert_eq!(world.queued(), BTreeSet::new());
    // And a page that comes later finds it.
    world.visit("http://d.example/", &html("", &words(1)));
    assert_eq!(world.original("http://d.example/"), SHORT);
    let meta = |prefix: &[u8]| world.store().range(Table::Meta, prefix, prefix, 9).unwrap();
    assert_eq!(meta(keys::meta::ORPHANED), []);
    assert_eq!(meta(keys::meta::ASKED), []);
}

#[test]
fn a_successor_with_the_same_bytes_is_not_stored_again() {
    let mut world = World::with(Options {
        expire_after: Some(Duration::from_millis(100 * DAY)),
        ..options()
    });
    let same = || html("", &words(1));
    world.visit(ORIGINAL, &same());
    world.visit(COPY, &same());
    world.wait(10);
    world.revisit(COPY, &same());
    world.revisit(ORIGINAL, &Answer::Status(410));
    world.revisit(COPY, &same());
    assert_eq!(world.original(COPY), COPY);
    assert_eq!(
        (world.stored(ORIGINAL), world.stored(COPY)),
        (2, 0),
        "page and 410"
    );
    let revisits = |world: &World, url: &str| {
        let records = world.records().into_iter();
        records
            .filter(|(kind, of)| kind == "revisit" && of == url)
            .count()
    };
    assert_eq!(revisits(&world, COPY), 3);
    world.visit("http://d.example/", &same());
    assert_eq!(world.original("http://d.example/"), COPY);
    assert_eq!(revisits(&world, "http://d.example/"), 1);

    // The page that the response was stored for is forgotten, and the response is not.
    world.committer().checkpoint().unwrap();
    world.wait(60);
    world.revisit(COPY, &same());
    world.wait(60);
    let first = world.committer().index.documents().get(1).unwrap();
    assert_eq!(first, None, "it was not seen for 120 days");
    world.visit("http://e.example/", &same());
    assert_eq!(world.original("http://e.example/"), COPY);
    assert_eq!(revisits(&world, "http://e.example/"), 1);
    assert_eq!(world.stored("http://e.example/"), 0);
}

#[test]
fn who_is_gone_too_or_silent_is_passed_over() {
    let mut world = three();
    let third = "http://d.example/the-longest-url-of-all/of-them";
    world.visit(third, &framed("third", &words(1)));
    world.wait(10);
    for url in [SHORT, COPY, third] {
        world.revisit(
            url,
            &match url {
                COPY => html("", &words(1)),
                SHORT => framed("menu", &words(1)),
                _ => framed("third", &words(1)),
            },
        );
    }
    world.revisit(ORIGINAL, &Answer::Status(404));
    assert_eq!(world.queued(), [SHORT.to_owned()].into());
    world.revisit(SHORT, &Answer::Silence);
    assert_eq!(world.queued(), [COPY.to_owned()].into());
    world.revisit(COPY, &Answer::Status(404));
    assert_eq!(world.queued(), [third.to_owned()].into());
    world.revisit(third, &framed("third", &words(1)));
    assert_eq!(world.original(third), third);
    assert_eq!(world.queued(), [SHORT.to_owned()].into());
    world.revisit(SHORT, &framed("menu", &words(1)));
    assert_eq!(world.original(SHORT), third);
    assert!(matches!(
        world.page(COPY).fate,
        Fate::Answered {
            judgement: Judgement::Ineligible(_),
            ..
        }
    ));
}

#[test]
fn an_original_that_changes_leaves_its_duplicates_to_themselves() {
    let mut world = three();
    world.wait(10);
    world.revisit(COPY, &html("", &words(1)));
    world.revisit(SHORT, &framed("menu", &words(1)));
    world.revisit(ORIGINAL, &html("", &words(5)));
    assert_eq!(world.original(ORIGINAL), ORIGINAL, "by its new text");
    assert_eq!(world.stored(ORIGINAL), 2);
    world.revisit(SHORT, &framed("menu", &words(1)));
    world.revisit(COPY, &html("", &words(1)));
    assert_eq!(world.original(COPY), SHORT);
    // Its new fingerprints are what later pages are compared with, and its old ones are not.
    world.visit("http://d.example/", &html("", &words(5)));
    assert_eq!(world.original("http://d.example/"), ORIGINAL);
    world.visit("http://e.example/", &html("", &words(1)));
    assert_eq!(world.original("http://e.example/"), SHORT);
}

#[test]
fn a_duplicate_leaves_later_than_it_would_be_taken_in() {
    let base = words(1);
    let between = edits(&base, 0.86, 0.89);
    let far = edits(&base, 0.6, 0.8);
    let mut world = World::new();
    world.visit(ORIGINAL, &html("", &base));
    world.visit(COPY, &html("", &base));
    world.visit("http://d.example/", &html("", &between));
    let fresh = "http://d.example/";
    assert_eq!(
        world.original(fresh),
        fresh,
        "not alike enough to be taken in"
    );
    world.wait(10);
    world.revisit(COPY, &html("", &between));
    // Exactly what is stored elsewhere by now is no question of more or less.
    assert_eq!(world.original(COPY), fresh);

    let mut world = World::new();
    world.visit(ORIGINAL, &html("", &base));
    world.visit(COPY, &html("", &base));
    let first = world.duplicate(COPY).first_seen;
    world.wait(10);
    world.revisit(COPY, &html("", &between));
    let stays = world.duplicate(COPY);
    assert_eq!((stays.tier, stays.first_seen), (Tier::Near, first));
    assert_eq!(stays.similarity, likeness(&base, &between));
    assert_eq!(world.stored(COPY), 0);
    world.wait(10);
    world.revisit(COPY, &html("", &far));
    assert_eq!(world.original(COPY), COPY);
    assert_eq!(world.stored(COPY), 1, "it is a page of its own, and stored");
    assert_eq!(world.listed(), BTreeMap::new());
    world.wait(10);
    world.revisit(COPY, &html("", &between));
    assert_eq!(
        world.original(COPY),
        COPY,
        "and comes back only where it would be taken in"
    );
}

/// A page of a crawl of long ago was not seen by this one for long.
#[test]
fn what_an_earlier_crawl_knows_is_not_forgotten_at_once() {
    let mut world = World::with(Options {
        expire_after: Some(Duration::from_millis(100 * DAY)),
        ..options()
    });
    let text = words(1).join(" ");
    let page = KnownPage {
        url: ORIGINAL.to_owned(),
        id: world.id(ORIGINAL),
        time: 1,
        status: 200,
        mime: None,
        body: Some(KnownBody {
            record: [1; 16],
            payload: [1; 32],
            fingerprints: Some(Fingerprints::of(b"", &Text::whole(&text))),
            is_refusal: false,
        }),
    };
    let known = KnownPages {
        archive: "earlier.warc.gz".to_owned(),
        pages: vec![page],
        progress: keys::meta::KNOWN.to_vec(),
        through: 1,
    };
    world.committer().commit(vec![Entry::Known(known)]).unwrap();
    world.committer().checkpoint().unwrap();
    world.wait(50);
    world.visit(COPY, &html("", &words(1)));
    assert_eq!(world.original(COPY), ORIGINAL);
    assert!(world.page(ORIGINAL).original().is_some());
}

#[test]
fn what_nobody_has_seen_for_long_is_forgotten() {
    const PAGES: u64 = 150;
    let url = |number: u64| format!("http://a.example/{number}");
    let mut world = World::with(Options {
        expire_after: Some(Duration::from_millis(100 * DAY)),
        revisit: RevisitPolicy::off(),
        ..options()
    });
    for number in 0..PAGES {
        world.visit(&url(number), &html("", &words(number)));
    }
    world.committer().checkpoint().unwrap();
    world.wait(60);
    world.visit("http://b.example/0", &html("", &words(0)));
    world.committer().checkpoint().unwrap();
    let postings = |world: &mut World| -> u64 {
        let catalog = &world.committer().catalog;
        catalog[DEDUP_RUNS..]
            .iter()
            .map(crate::runs::Runs::len)
            .sum()
    };
    let before = postings(&mut world);
    world.wait(50);
    let check = |world: &World| {
        assert!(
            world.page(&url(0)).original().is_some(),
            "its duplicate was seen"
        );
        assert!((1..PAGES).all(|number| world.page(&url(number)).document.is_none()));
        let committer = world.committer.as_ref().unwrap();
        assert_eq!(committer.index.documents().ids(0, 999).unwrap(), [1]);
        assert_eq!(committer.catalog.retired().len(), PAGES - 1);
    };
    check(&world);
    // Killed before a checkpoint, and started.
    world.restart();
    check(&world);
    for _ in 0..3 {
        // Something to be checkpointed.
        let number = PAGES + world.now;
        world.visit(
            &format!("http://c.example/{number}"),
            &html("", &words(number)),
        );
        world.committer().checkpoint().unwrap();
        world.committer().catalog.finish_merges().unwrap();
    }
    let after = postings(&mut world);
    assert!(after < before / 10, "{after} postings of {before}");
    assert!(!world.committer().disk.is_purging);
    world.restart();
    assert_eq!(
        world.committer().disk.dead_rows,
        0,
        "the folder was built anew"
    );
    // What is left is compared with, and what is not, is not.
    world.visit("http://d.example/0", &html("", &words(0)));
    world.visit("http://d.example/1", &html("", &words(1)));
    assert_eq!(world.original("http://d.example/0"), url(0));
    assert_eq!(world.original("http://d.example/1"), "http://d.example/1");
    assert_eq!(world.stored("http://d.example/1"), 1);
    world.restart();
    assert_eq!(world.original("http://d.example/1"), "http://d.example/1");
}
