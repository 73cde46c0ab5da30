//! A simulator: crawls of whole sites in memory, to see what the rules of this room lose and cost.
//! A site is a function from a URL to what its page says and where it links; the rows are maps.

mod honest;
mod sharing;
mod traps;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::convert::Infallible;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::expectation::Expectation;
use super::kinds::{Found, Kind, KindId, subtree};
use super::ledger::{Deferral, Ledger, Stratum};
use super::suspicion::{Rows, Suspecting, Suspicions, Visit, next_draw};
use super::traps::{Trail, TrapPolicy};
use super::{AliasMode, LearnPolicy, counterpart, may_be_one};
use crate::url::{HostKey, Url, parse};

/// What a URL answers.
#[derive(Clone, Default)]
struct Page {
    /// The number of what its page says; `None` if that is nothing (no page, an empty list).
    says: Option<u64>,
    links: Vec<String>,
}

fn says(about: &str, links: Vec<String>) -> Page {
    Page {
        says: Some(xxh3_64_with_seed(about.as_bytes(), 1)),
        links,
    }
}

fn silent(links: Vec<String>) -> Page {
    Page { says: None, links }
}

#[derive(Clone)]
struct Row {
    url: Url,
    via: Option<usize>,
    depth: u16,
    trail: Trail,
    expectation: Expectation,
}

impl Row {
    fn found(&self) -> Found {
        Found {
            trail: self.trail,
            silent: self.expectation.silent(),
            is_hearsay: false,
        }
    }
}

/// A page that was visited: how it was found.
struct Visited {
    url: Url,
    trail: Trail,
    via: Option<usize>,
}

#[derive(Default)]
struct Memory {
    seed: u64,
    sequence: u64,
    ledgers: BTreeMap<(String, KindId), Ledger>,
    hosts: BTreeMap<String, Suspicions>,
    host: String,
    seen: HashSet<String>,
    /// The visited URLs: the number of the visit, and whether its page was no copy.
    answered: HashMap<String, (usize, bool)>,
    marks: HashSet<(String, u32)>,
}

impl Rows for Memory {
    type Error = Infallible;

    fn ledger(&mut self, kind: KindId) -> Result<Option<Ledger>, Infallible> {
        Ok(self.ledgers.get(&(self.host.clone(), kind)).cloned())
    }

    fn write(&mut self, kind: KindId, ledger: &Ledger) {
        self.ledgers
            .insert((self.host.clone(), kind), ledger.clone());
    }

    fn last_queued(&self) -> u64 {
        self.sequence
    }

    fn suspicions(&mut self) -> Result<&mut Suspicions, Infallible> {
        Ok(self.hosts.entry(self.host.clone()).or_default())
    }

    fn is_admitted(&mut self, url: &Url) -> bool {
        self.seen.contains(url.as_str())
    }

    fn was_visited(&mut self, url: &Url) -> Result<bool, Infallible> {
        Ok(self.answered.contains_key(url.as_str()))
    }

    fn was_visited_before(&mut self, url: &Url, other: &Url) -> Result<bool, Infallible> {
        let visit = |url: &Url| self.answered.get(url.as_str());
        Ok(match (visit(url), visit(other)) {
            (Some((before, _)), Some((after, is_original))) => *is_original && before < after,
            _ => false,
        })
    }

    fn is_marked(&mut self, reduced: &Url, salt: u32) -> bool {
        self.marks.contains(&(reduced.as_str().to_owned(), salt))
    }

    fn mark(&mut self, reduced: &Url, salt: u32) -> bool {
        self.marks.insert((reduced.as_str().to_owned(), salt))
    }
}

type DeferredKey = (String, KindId, u8, bool, u64);

struct Simulator<'a> {
    site: &'a mut dyn FnMut(&Url) -> Page,
    policy: TrapPolicy,
    learn: LearnPolicy,
    memory: Memory,
    queue: BTreeMap<(u8, u64), Row>,
    deferred: BTreeMap<DeferredKey, Row>,
    visited: Vec<Visited>,
    /// What was said, by whom first, and the page that led there.
    said: HashMap<u64, (Url, Option<usize>)>,
    /// Number of requests before each thing that was said.
    found: BTreeMap<u64, usize>,
    requests: usize,
}

/// What a crawl came to.
struct Crawled {
    requests: usize,
    /// Things said, each with the number of requests until then.
    found: BTreeMap<u64, usize>,
    left: usize,
    ended: bool,
    ledgers: Vec<Ledger>,
}

impl Crawled {
    fn has(&self, about: &str) -> bool {
        self.found
            .contains_key(&xxh3_64_with_seed(about.as_bytes(), 1))
    }
}

const CLASSES: u8 = 16;

thread_local! {
    /// Number of seeds, which decide in which order samples are drawn. The whole suite has more:
    /// `cargo test --lib learn::simulator -- --ignored`.
    static SEEDS: Cell<u64> = const { Cell::new(1) };
}

fn crawl(
    seeds: &[&str],
    sitemap: &[String],
    max: usize,
    seed: u64,
    site: &mut dyn FnMut(&Url) -> Page,
) -> Crawled {
    let mut simulator = Simulator {
        site,
        policy: TrapPolicy::default(),
        learn: LearnPolicy::default(),
        memory: Memory {
            seed,
            ..Memory::default()
        },
        queue: BTreeMap::new(),
        deferred: BTreeMap::new(),
        visited: Vec::new(),
        said: HashMap::new(),
        found: BTreeMap::new(),
        requests: 0,
    };
    for seed in seeds {
        let url = parse(seed).unwrap();
        simulator.memory.seen.insert(url.as_str().to_owned());
        let row = Row {
            url,
            via: None,
            depth: 0,
            trail: Trail::default(),
            expectation: Expectation::Usual,
        };
        simulator.enqueue(0, row);
    }
    for listed in sitemap {
        simulator.admit(listed, None, 1, Trail::default(), Expectation::Usual);
    }
    let ended = simulator.run(max);
    Crawled {
        requests: simulator.requests,
        found: simulator.found,
        left: simulator.deferred.len(),
        ended,
        ledgers: simulator.memory.ledgers.into_values().collect(),
    }
}

impl Simulator<'_> {
    fn suspecting(policy: &TrapPolicy, learn: LearnPolicy) -> Suspecting<'_> {
        Suspecting {
            traps: policy,
            learn,
        }
    }

    fn enqueue(&mut self, class: u8, row: Row) {
        self.memory.sequence += 1;
        self.queue.insert((class, self.memory.sequence), row);
    }

    fn run(&mut self, max: usize) -> bool {
        loop {
            while let Some((_, row)) = self.queue.pop_first() {
                if self.requests >= max {
                    return false;
                }
                self.requests += 1;
                self.visit(&row);
                self.sweep();
                self.bring_back();
            }
            if !self.draw() {
                return true;
            }
        }
    }

    fn visit(&mut self, row: &Row) {
        let page = (self.site)(&row.url);
        let host = HostKey::of(&row.url);
        host.as_str().clone_into(&mut self.memory.host);
        let mut said = false;
        let mut same = None;
        if let Some(content) = page.says {
            match self.said.get(&content) {
                Some(known) => same = Some(known.clone()),
                None => {
                    said = true;
                    self.said.insert(content, (row.url.clone(), row.via));
                    self.found.insert(content, self.requests);
                }
            }
        }
        let (same, via_of_same) = same.unzip();
        let via_of_same = via_of_same.flatten();
        if let Some(same) = &same
            && HostKey::of(same) != host
            && counterpart(&row.url, &HostKey::of(same)).as_ref() == Some(same)
            && may_be_one(&host, &HostKey::of(same), AliasMode::Names)
        {
            let other = HostKey::of(same).as_str().to_owned();
            let is_alias = |it: &Suspicions| it.twin.as_deref() == Some(host.as_str());
            if !self.memory.hosts.get(&other).is_some_and(is_alias) {
                self.memory.suspicions().unwrap().twin = Some(other);
            }
        }
        let from = row.via.filter(|via| via_of_same != Some(*via));
        let from = from.map(|via| self.visited[via].url.clone());
        let carried_from = from.filter(|from| same.as_ref().is_some_and(|same| same != from));
        let visit = Visit {
            url: &row.url,
            found: row.found(),
            said: Some(said),
            same: same.as_ref(),
            is_page: same.is_none(),
            carried_from: carried_from.as_ref(),
        };
        let suspecting = Self::suspecting(&self.policy, self.learn);
        match row.expectation {
            Expectation::Sample { kind, stratum } => {
                let Ok(()) = suspecting.observe_sample(visit, kind, stratum, &mut self.memory);
            }
            Expectation::Returned | Expectation::Again { .. } => {
                let visit = Visit {
                    said: None,
                    ..visit
                };
                let Ok(()) = suspecting.observe(visit, &mut self.memory);
            }
            Expectation::Usual | Expectation::Doubtful { .. } => {
                let Ok(()) = suspecting.observe(visit, &mut self.memory);
            }
        }
        if said {
            let (hops, sampled) = row.expectation.credited();
            let mut via = row.via;
            let mut led_to = row.url.clone();
            for _ in 0..hops {
                let Some(page) = via.and_then(|via| self.visited.get(via)) else {
                    break;
                };
                let (url, trail) = (page.url.clone(), page.trail);
                let found = Found {
                    trail,
                    ..Found::default()
                };
                via = page.via;
                HostKey::of(&url).as_str().clone_into(&mut self.memory.host);
                let pages = (&url, &led_to);
                let Ok(()) = suspecting.credit(pages, found, sampled, &mut self.memory);
                led_to = url;
            }
        }
        let answer = (self.visited.len(), same.is_none());
        let url = row.url.as_str().to_owned();
        self.memory.answered.insert(url, answer);
        self.visited.push(Visited {
            url: row.url.clone(),
            trail: row.trail,
            via: row.via,
        });
        let from = self.visited.len() - 1;
        let expectation = row.expectation.of_link(Some(said));
        for link in page.links {
            let Ok(url) = row.url.join(&link) else {
                continue;
            };
            let trail = row.trail.extended(&row.url, &url);
            self.admit(url.as_str(), Some(from), row.depth + 1, trail, expectation);
        }
    }

    fn admit(
        &mut self,
        url: &str,
        via: Option<usize>,
        depth: u16,
        trail: Trail,
        expectation: Expectation,
    ) {
        let url = parse(url).unwrap();
        if !self.memory.seen.contains(url.as_str()) {
            let row = Row {
                url,
                via,
                depth,
                trail,
                expectation,
            };
            self.place(row);
        }
    }

    /// Queues or defers a URL that is not known.
    fn place(&mut self, mut row: Row) {
        HostKey::of(&row.url)
            .as_str()
            .clone_into(&mut self.memory.host);
        self.memory.seen.insert(row.url.as_str().to_owned());
        if !self.place_suspect(&mut row) {
            let class = self.class(&row);
            self.enqueue(class, row);
        }
    }

    fn class(&mut self, row: &Row) -> u8 {
        let suspecting = Self::suspecting(&self.policy, self.learn);
        let classes = (row.depth.min(15) as u8, CLASSES - 1);
        let found = (&row.url, row.found());
        let Ok(class) = suspecting.class(found, row.expectation, classes, &mut self.memory);
        class
    }

    /// Defers a URL if it is suspected, or makes it a sample. Returns `true` if it is deferred.
    fn place_suspect(&mut self, row: &mut Row) -> bool {
        let suspecting = Self::suspecting(&self.policy, self.learn);
        let Ok(found) = suspecting.suspect(&row.url, row.found(), &mut self.memory);
        let Some(mut suspect) = found else {
            return false;
        };
        let stratum = row.expectation.stratum();
        let Ok(deferral) = suspect.defer(&row.url, stratum, &mut self.memory);
        let (kind, generation) = (suspect.kind, suspect.ledger.generation());
        if deferral == Deferral::Row {
            self.store(kind, generation, stratum, row.clone());
            return true;
        }
        row.expectation = Expectation::Sample { kind, stratum };
        false
    }

    fn store(&mut self, kind: KindId, generation: u8, stratum: Stratum, row: Row) {
        let rank = xxh3_64_with_seed(row.url.as_str().as_bytes(), self.memory.seed + 2);
        let is_poor = stratum == Stratum::Poor;
        let key = (self.memory.host.clone(), kind, generation, is_poor, rank);
        self.deferred.insert(key, row);
    }

    fn sweep(&mut self) {
        let hosts: Vec<String> = self.memory.hosts.keys().cloned().collect();
        for host in hosts {
            self.memory.host = host.clone();
            let known = self.memory.suspicions().unwrap();
            let Some(sweep) = known.sweep.take() else {
                continue;
            };
            for (key, row) in std::mem::take(&mut self.queue) {
                let is_meant = HostKey::of(&row.url).as_str() == host
                    && row.via.is_some()
                    && key.1 <= sweep.until
                    && matches!(
                        row.expectation,
                        Expectation::Usual | Expectation::Doubtful { .. }
                    );
                self.memory.host.clone_from(&host);
                let suspecting = Self::suspecting(&self.policy, self.learn);
                let found = if is_meant {
                    let Ok(found) = suspecting.suspect(&row.url, row.found(), &mut self.memory);
                    found
                } else {
                    None
                };
                let Some(mut suspect) = found else {
                    self.queue.insert(key, row);
                    continue;
                };
                let stratum = row.expectation.stratum();
                let Ok(deferral) = suspect.defer(&row.url, stratum, &mut self.memory);
                let (kind, generation) = (suspect.kind, suspect.ledger.generation());
                let sample = Expectation::Sample { kind, stratum };
                let row = Row {
                    expectation: if deferral == Deferral::Row {
                        row.expectation
                    } else {
                        sample
                    },
                    ..row
                };
                match deferral {
                    Deferral::Row => self.store(kind, generation, stratum, row),
                    Deferral::Sample => self.enqueue(CLASSES - 1, row),
                }
            }
        }
    }

    fn bring_back(&mut self) {
        let hosts: Vec<String> = self.memory.hosts.keys().cloned().collect();
        for host in hosts {
            self.memory.host.clone_from(&host);
            let returning = std::mem::take(&mut self.memory.suspicions().unwrap().returning);
            for it in returning {
                let of_kind =
                    |key: &DeferredKey| key.0 == host && key.1 == it.kind && key.2 == it.generation;
                let keys: Vec<DeferredKey> = self
                    .deferred
                    .keys()
                    .filter(|key| of_kind(key))
                    .cloned()
                    .collect();
                for key in keys {
                    let row = &self.deferred[&key];
                    if let Some(part) = it.part {
                        let kinds = self.kinds_of(&row.url, row.found());
                        let kind = kinds.iter().find(|kind| kind.id() == it.kind);
                        let slot = kind.and_then(|kind| kind.slot.as_ref());
                        if subtree(&row.url, slot) != part {
                            continue;
                        }
                    }
                    let row = self.deferred.remove(&key).unwrap();
                    if it.part.is_some() {
                        let Ok(ledger) = self.memory.ledger(it.kind);
                        let mut ledger = ledger.unwrap();
                        let stratum = if key.3 { Stratum::Poor } else { Stratum::Good };
                        ledger.drawn(stratum, 1);
                        self.memory.write(it.kind, &ledger);
                    }
                    let mut row = row;
                    let Ok(ledger) = self.memory.ledger(it.kind);
                    let mut ledger = ledger.unwrap();
                    ledger.returning = ledger.returning.saturating_sub(1);
                    self.memory.write(it.kind, &ledger);
                    if self.place_suspect(&mut row) {
                        continue;
                    }
                    if !it.is_evidence && !matches!(row.expectation, Expectation::Sample { .. }) {
                        row.expectation = Expectation::Returned;
                    }
                    let class = self.class(&row);
                    self.enqueue(class, row);
                }
            }
        }
    }

    fn kinds_of(&self, url: &Url, found: Found) -> Vec<Kind> {
        let known = &self.memory.hosts[&self.memory.host];
        let grammar = super::kinds::Grammar {
            joint: &known.joint,
            twin: known.twin.as_deref(),
            has_slots: true,
            traps: &self.policy,
        };
        grammar.kinds(url, found)
    }

    fn draw(&mut self) -> bool {
        let hosts: Vec<String> = self.memory.hosts.keys().cloned().collect();
        let mut any = false;
        for host in hosts {
            self.memory.host.clone_from(&host);
            let Ok(draw) = next_draw(&mut self.memory);
            let Some(draw) = draw else {
                continue;
            };
            let is_poor = draw.stratum == Stratum::Poor;
            let from = (host.clone(), draw.kind, draw.generation, is_poor, 0);
            let to = (host.clone(), draw.kind, draw.generation, is_poor, u64::MAX);
            let keys: BTreeSet<DeferredKey> = self
                .deferred
                .range(from..=to)
                .take(draw.most as usize)
                .map(|(key, _)| key.clone())
                .collect();
            assert!(!keys.is_empty(), "what a ledger counts is there");
            let Ok(ledger) = self.memory.ledger(draw.kind);
            let mut ledger = ledger.unwrap();
            ledger.drawn(draw.stratum, keys.len() as u64);
            self.memory.write(draw.kind, &ledger);
            for key in keys {
                let mut row = self.deferred.remove(&key).unwrap();
                row.expectation = Expectation::Sample {
                    kind: draw.kind,
                    stratum: draw.stratum,
                };
                self.enqueue(CLASSES - 1, row);
                any = true;
            }
        }
        any
    }
}

/// The parts of a URL that sites are made of.
struct Asked<'a> {
    host: &'a str,
    path: &'a str,
    segments: Vec<&'a str>,
    query: Vec<(&'a str, &'a str)>,
}

impl<'a> Asked<'a> {
    fn of(url: &'a Url) -> Self {
        let pieces = url.query().unwrap_or_default().split('&');
        Self {
            host: url.host_str().unwrap_or_default(),
            path: url.path(),
            segments: url.path().split('/').filter(|it| !it.is_empty()).collect(),
            query: pieces.filter_map(|piece| piece.split_once('=')).collect(),
        }
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        let found = self.query.iter().find(|(it, _)| *it == name);
        found.map(|(_, value)| *value)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }
}

/// The number behind the letters of a name.
fn numbered(name: &str) -> Option<u64> {
    name.trim_start_matches(|c: char| !c.is_ascii_digit())
        .trim_end_matches(|c: char| !c.is_ascii_digit())
        .parse()
        .ok()
}
