//! The one harness for tests of the committer: a crawl whose servers and clock are in the test's
//! hand. Visits go through the analyst, the judge and the commit that a crawl has; only the network
//! is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tempfile::TempDir;
use tokio::sync::watch;

use super::commit::Committer;
use super::history::History;
use super::messages::Opening;
use super::open::{self, DataDirectory};
use super::options::{ArchiveOptions, Options};
use super::ring::analysts::Analysts;
use super::ring::converter::ConvertOptions;
use super::ring::observe::{Gauges, MemoryUse, Watch};
use super::ring::reading::Reader;
use super::ring::turns::Turn;
use super::view::View;
use super::visit::{Analysed, Entry, Fetched, Seeds};
use crate::archive::{self, DigestAlgorithm, DuplicateBodies, StorePolicy};
use crate::dedup::{Features, Fingerprints, Rule, Rules, Similarity, Text, Tier};
use crate::fetch::{Exchange, Failure, FailureClass, FetchOptions, Outcome, Reservation};
use crate::frontier::{
    FetchTask, HeldAddress, HostState, Limits, Moment, MovedSeeds, Pace, Place, Policies, Policy,
    Politeness, QueuedUrl, RevisitMode, RevisitPolicy, RobotsMode, ScopeKind, SeenOptions,
    Validators, for_each_waiting,
};
use crate::handover::HandoverOptions;
use crate::page::PageOptions;
use crate::rows::cluster::Head;
use crate::rows::{Duplicate, PAGES, PageRecord};
use crate::store::{Store, Table, decode, for_each, keys};
use crate::url::{Canonicalizer, HostKey, UrlId, parse};

pub(crate) const DAY: u64 = 24 * 3_600 * 1_000;

pub(crate) fn options() -> Options {
    let second = Duration::from_secs(1);
    let mut policy = Policy::new(Politeness::none());
    policy.crawl.robots = RobotsMode::Ignore;
    Options {
        scope: ScopeKind::Any,
        limits: Limits {
            extra_hops: 0,
            moved_seeds: MovedSeeds::default(),
            max_redirects: 5,
            max_url_length: 2_000,
            max_sitemaps: 10,
            max_deferred: 1_000_000,
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
        convert: ConvertOptions::default(),
        archive: ArchiveOptions {
            store: StorePolicy::Unique,
            duplicate_bodies: DuplicateBodies::default(),
            other_types: true,
            max_segment_bytes: 1 << 30,
            compression: 1,
            prefix: "gleaner".to_owned(),
            max_age: None,
            digest: DigestAlgorithm::default(),
            info: Vec::new(),
            also_in: Vec::new(),
            since: Vec::new(),
            handover: HandoverOptions::default(),
        },
        log_max_bytes: 1 << 20,
        max_memory: 64 << 20,
        disk_reserve: 0,
        checkpoint_interval: Duration::from_hours(1),
        expire_after: None,
        group: None,
        features: Features::default(),
        draws_seed: false,
        // The same for pages of one host and of two.
        rules: Rules::new(
            Rule {
                cross_host_similarity: 0.9,
                ..Rule::default()
            },
            [],
        ),
        repair: false,
        opening: Opening::default(),
        log: None,
        lease: None,
        shard: None,
        keeper: None,
        library: None,
        failpoint: None,
    }
}

/// A crawl whose servers are in the test's hand.
pub(crate) struct World {
    pub(crate) options: Options,
    /// `None` while nobody crawls.
    pub(crate) committer: Option<Committer>,
    pub(crate) directory: DataDirectory,
    pub(crate) place: TempDir,
    /// Milliseconds since 1970.
    pub(crate) now: u64,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(options())
    }

    pub(crate) fn with(options: Options) -> Self {
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

    /// What observes the crawl, as a run gives it.
    pub(crate) fn watch(&self) -> Watch {
        let committer = self.committer.as_ref().expect("it crawls");
        let now = Moment(self.now);
        Watch {
            counters: committer.counters.subscribe(),
            deferred: committer.deferred.subscribe(),
            gauges: watch::channel(Gauges::default()).1,
            memory: [
                watch::channel(MemoryUse::default()).1,
                committer.memory.subscribe(),
            ],
            pulse: committer.pulse.clone(),
            shares: [].into(),
            handover: watch::channel(Vec::new()).1,
            saved: committer.saved.subscribe(),
            held: committer.held.subscribe(),
            meters: committer.meters.clone(),
            history: History::open(self.place.path(), now),
            events: committer.events.clone(),
        }
    }

    pub(crate) fn committer(&mut self) -> &mut Committer {
        self.committer.as_mut().expect("it crawls")
    }

    pub(crate) fn store(&self) -> Arc<dyn Store> {
        let committer = self.committer.as_ref().expect("it crawls");
        Arc::clone(&committer.store)
    }

    pub(crate) fn id(&self, url: &str) -> UrlId {
        let committer = self.committer.as_ref().expect("it crawls");
        committer.gate.identity.id(&parse(url).unwrap())
    }

    /// A server answers the first visit of a page.
    pub(crate) fn visit(&mut self, url: &str, answer: &Answer) {
        let visit = self.analysed(url, None, None, answer);
        self.commit(vec![Entry::Visit(Box::new(visit))]);
    }

    /// A server answers a visit that is queued.
    #[track_caller]
    pub(crate) fn revisit(&mut self, url: &str, answer: &Answer) {
        let waiting = self.waiting().into_iter();
        let row = waiting
            .filter(|(_, queued)| queued.url == url)
            .map(|(place, queued)| (place, queued.validators))
            .next();
        let (place, validators) = row.unwrap_or_else(|| panic!("{url} is not queued"));
        let visit = self.analysed(url, Some(place), validators, answer);
        self.commit(vec![Entry::Visit(Box::new(visit))]);
    }

    /// A server answers the first visit of a page that waits.
    #[track_caller]
    pub(crate) fn answer(&mut self, url: &str, answer: &Answer) {
        let waiting = self.waiting().into_iter();
        let mut found = waiting.filter(|(_, queued)| queued.url == url);
        let (place, queued) = found
            .next()
            .unwrap_or_else(|| panic!("{url} is not queued"));
        let mut fetched = self.fetched(url, Some(place), None, answer);
        fetched.task.queued = queued;
        let visit = self.read(fetched);
        self.commit(vec![Entry::Visit(Box::new(visit))]);
    }

    /// Commits what arrived together, and does what is due then.
    pub(crate) fn commit(&mut self, entries: Vec<Entry>) {
        let now = Moment(self.now);
        self.committer().commit(entries, now).unwrap();
        self.settle();
    }

    /// Servers answer the first visits of some pages, which are judged as one group.
    pub(crate) fn visit_together(&mut self, answers: &[(&str, Answer)]) {
        let visits = answers.iter().map(|(url, answer)| {
            let visit = self.analysed(url, None, None, answer);
            Entry::Visit(Box::new(visit))
        });
        let visits = visits.collect();
        self.commit(visits);
    }

    /// Servers answer the visits of pages that wait, which are judged as one group.
    pub(crate) fn answer_together(&mut self, answers: &[(&str, Answer)]) {
        let waiting = self.waiting();
        let visits = answers.iter().map(|(url, answer)| {
            let place = waiting.iter().find(|(_, queued)| queued.url == *url);
            let place = place.map(|(place, _)| *place);
            let mut visit = self.analysed(url, place, None, answer);
            visit.fetched.task.queued.revisit = false;
            Entry::Visit(Box::new(visit))
        });
        let visits = visits.collect();
        self.commit(visits);
    }

    /// A person gives seeds.
    pub(crate) fn seed(&mut self, urls: &[&str]) {
        let seeds = urls.iter().map(|url| parse(url).unwrap().into());
        self.commit(vec![Entry::Seeds(Seeds {
            seeds: seeds.collect(),
            consent: true,
            listed: None,
            reply: None,
        })]);
    }

    /// A visit that is answered, read and not judged yet.
    pub(crate) fn analysed(
        &mut self,
        url: &str,
        place: Option<Place>,
        validators: Option<Validators>,
        answer: &Answer,
    ) -> Analysed {
        let fetched = self.fetched(url, place, validators, answer);
        self.read(fetched)
    }

    fn fetched(
        &mut self,
        url: &str,
        place: Option<Place>,
        validators: Option<Validators>,
        answer: &Answer,
    ) -> Fetched {
        self.now += 1_000;
        let now = Moment(self.now);
        let parsed = parse(url).unwrap();
        let started = jiff::Timestamp::from_millisecond(self.now.cast_signed()).unwrap();
        let outcome = match answer {
            Answer::Silence => Outcome::Failed(Failure::new(FailureClass::Timeout, "no answer")),
            Answer::Same => exchange(started, 304, ""),
            Answer::Moved(to) => {
                let mut outcome = exchange(started, 301, "");
                if let Outcome::Exchange(exchange) = &mut outcome {
                    let location = ("location".to_owned(), to.clone().into_bytes());
                    exchange.headers.push(location);
                }
                outcome
            }
            Answer::Style(text) => {
                let mut outcome = exchange(started, 200, text);
                if let Outcome::Exchange(exchange) = &mut outcome {
                    exchange.headers[0].1 = b"text/css".to_vec();
                }
                outcome
            }
            Answer::Status(status) => exchange(started, *status, "nothing here"),
            Answer::Page(html) => exchange(started, 200, html),
        };
        Fetched {
            earlier: None,
            task: FetchTask {
                robots_redirect: None,
                held: HeldAddress::default(),
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
            was_handed_out: true,
            reservation: Reservation::default(),
            turn: Turn::default(),
        }
    }

    fn read(&mut self, fetched: Fetched) -> Analysed {
        let reader = Reader::new(&self.committer().gate.identity.clone(), &self.options);
        let policies = self.committer().gate.policies.clone();
        Analysts::new(reader, policies).analyse(fetched)
    }

    /// Does what is due, as the committer does between commits.
    pub(crate) fn settle(&mut self) {
        let now = Moment(self.now);
        while self.committer().revisits.until(now).is_zero() {
            self.committer().visit_again(now).unwrap();
        }
        while self.committer().expiry.until(now).is_zero() {
            self.committer().expire(now).unwrap();
        }
    }

    pub(crate) fn wait(&mut self, days: u64) {
        self.now += days * DAY;
        self.settle();
    }

    /// A kill, and a start.
    pub(crate) fn restart(&mut self) {
        self.committer = None;
        self.committer = Some(open::open(&self.directory, &self.options).unwrap());
        self.settle();
    }

    pub(crate) fn queued(&self) -> BTreeSet<String> {
        let waiting = self.waiting().into_iter();
        waiting.map(|(_, queued)| queued.url).collect()
    }

    /// What waits, of all hosts.
    pub(crate) fn waiting(&self) -> Vec<(Place, QueuedUrl)> {
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
    pub(crate) fn duplicate(&self, url: &str) -> Duplicate {
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
                let head = Head::read(&*self.store(), duplicate.of, duplicate.page);
                let head = head.unwrap().unwrap();
                assert!(head.document().is_some(), "{url} repeats what is gone");
                head.page.url
            }
            _ => panic!("{:?}", page.fate),
        }
    }

    /// The crawl as questions about it see it.
    pub(crate) fn view(&self) -> View {
        View::new(self.store(), Arc::new(self.options.clone()))
    }

    /// Members by their original, the best URL first.
    pub(crate) fn listed(&self) -> BTreeMap<String, Vec<String>> {
        let mut listed: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let store = self.store();
        for_each(&*store, Table::Clusters, &[], &mut |key, _| {
            let Some((cluster, id)) = keys::parse_member(key) else {
                return Ok(());
            };
            let page = PAGES.get(&*store, id)?.expect("a member has a record");
            let duplicate = page.duplicate().expect("it repeats the original");
            assert_eq!(duplicate.of, cluster, "it is filed where it belongs");
            let original = Head::read(&*store, cluster, duplicate.page)?;
            let original = original.expect("the original has a record").page.url;
            listed.entry(original).or_default().push(page.url);
            Ok(())
        })
        .unwrap();
        listed
    }

    /// WARC-Type and URL of every record. A revisit refers to a response that is there, by its id
    /// and by its URL.
    pub(crate) fn records(&self) -> Vec<(String, String)> {
        let warc = self.place.path().join("data/warc");
        let files = archive::files_of(&warc).unwrap().paths;
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
                    // That of another shard is in its archive.
                    let is_here = self.options.library.is_none() || of.is_some();
                    let expected = is_here.then(|| field("WARC-Refers-To-Target-URI"));
                    assert_eq!(of, expected.as_ref(), "{url}");
                }
                _ => {}
            }
            records.push((kind, url));
        }
        records
    }

    pub(crate) fn stored(&self, url: &str) -> usize {
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
    /// A style sheet.
    Style(String),
    /// It has moved there for good.
    Moved(String),
    Page(String),
}

pub(crate) fn exchange(started: jiff::Timestamp, status: u16, body: &str) -> Outcome {
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
pub(crate) fn edited(words: &[String], count: usize, shift: usize) -> Vec<String> {
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
