//! How a cluster stands, as anyone can read it from the engine: who owns what, how far the copies
//! are, what was fetched, and what needs attention.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::forget::lost;
use super::list;
use super::membership::Known;
use super::rows::{Owner, Rows};
use super::tells::Figures;
use super::terms::{Terms, terms};
use super::wanted::{Going, Wanted};
use crate::broker::{Broker, Error, Result};

/// Difference of clocks that is told, in seconds.
const SKEW: f64 = 2.0;

/// Time between two looks at workers that have said nothing new.
const LOOK: Duration = Duration::from_millis(100);

/// How a cluster stands.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ClusterStatus {
    /// The name of the crawl.
    pub name: String,
    /// Whether it is to go on.
    pub going: Going,
    /// Whether it stays when nothing is left to fetch: pages are visited again, as the settings
    /// say, and seeds are waited for.
    pub stays: bool,
    /// Whether nothing is left to fetch in any shard, and it does not stay.
    pub is_over: bool,
    /// What needs attention, in a sentence each.
    pub attention: Vec<String>,
    /// Copies of each shard, that of its owner included.
    pub copies: u16,
    /// Figures of all shards together, as their owners told last.
    pub sum: FiguresNow,
    /// Pages that all workers visit each second, for the first time or again, by the last 10 s.
    pub pages_per_second: f64,
    /// Links from one shard to another.
    pub links: LinksNow,
    /// How often a shard was taken over from a worker that was gone, since the processes of the
    /// workers began.
    pub take_overs: u64,
    /// The workers, by name.
    pub workers: Vec<WorkerNow>,
    /// The shards, by number.
    pub shards: Vec<ShardNow>,
}

/// Figures of a shard, or of all, since the crawl began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FiguresNow {
    /// URLs whose server responded.
    pub pages: u64,
    /// Pages of their own.
    pub unique: u64,
    /// Pages that are duplicates of others.
    pub duplicates: u64,
    /// Later visits of pages.
    pub revisits: u64,
    /// URLs given up without a response.
    pub failed: u64,
    /// URLs that robots.txt forbids.
    pub forbidden: u64,
    /// URLs that wait.
    pub queued: u64,
    /// Hosts known.
    pub hosts: u64,
    /// Bytes of bodies received.
    pub bytes: u64,
    /// Visits in progress.
    pub fetching: u64,
}

/// Links from one shard to another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LinksNow {
    /// That were to be sent.
    pub sent: u64,
    /// That the receivers have committed.
    pub received: u64,
    /// That wait for that.
    pub waiting: u64,
}

/// A worker.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WorkerNow {
    /// Its name.
    pub name: String,
    /// The machine that it runs on.
    pub machine: String,
    /// Whether it is taken for alive.
    pub is_alive: bool,
    /// Whether it owns nothing because a person asked for that.
    pub is_drained: bool,
    /// Whether it gives away what it owns.
    pub is_leaving: bool,
    /// Seconds since it was heard of last; null if it is not known.
    pub silent_seconds: Option<f64>,
    /// Seconds by which its clock is ahead of that of whoever asks, to about a second; null if it
    /// was not heard of.
    pub clock_seconds: Option<f64>,
    /// The shards that it owns.
    pub owns: Vec<u16>,
    /// The shards of others of which it has copies.
    pub follows: Vec<u16>,
    /// Maximum number of shards that it is to own; null for any.
    pub max_shards: Option<u16>,
    /// How often it has taken over a shard from one that was gone, since its process began.
    pub take_overs: u64,
    /// Pages that it visits each second, for the first time or again, by the last 10 s.
    pub pages_per_second: f64,
    /// The version of gleaner.
    pub version: String,
    /// Its data directory.
    pub data_dir: String,
    /// Where its console is; null if it has none.
    pub console: Option<String>,
}

/// A shard.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ShardNow {
    /// Its number.
    pub shard: u16,
    /// The worker that owns it; null if nobody ever did.
    pub owner: Option<String>,
    /// Whether that one is alive.
    pub is_owned: bool,
    /// How many owners it has had.
    pub epoch: u64,
    /// Whether nothing is left to fetch in it.
    pub is_done: bool,
    /// The position of the last entry of its log, as its owner told last.
    pub end: u64,
    /// The copies that others have.
    pub copies: Vec<CopyNow>,
    /// What limits it, as its owner told last; empty while it is being opened.
    pub limit: String,
    /// Figures, as its owner told last.
    #[serde(flatten)]
    pub figures: FiguresNow,
    /// Links to and from other shards.
    pub links: LinksNow,
}

/// A copy of a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CopyNow {
    /// Who has it.
    pub worker: String,
    /// Whether that one is alive.
    pub is_alive: bool,
    /// Entries of the log that it has not read, as told last.
    pub lag: u64,
}

impl WorkerNow {
    /// Whether it ended in good order: the last that it said is that it gives away what it owns.
    /// One that was drained says so all the time.
    pub fn has_ended(&self) -> bool {
        !self.is_alive && self.is_leaving && !self.is_drained
    }
}

/// What is known of a cluster.
pub(super) struct Facts<'a> {
    pub(super) name: &'a str,
    pub(super) terms: &'a Terms,
    pub(super) wanted: &'a Wanted,
    pub(super) owners: &'a [Owner],
    pub(super) workers: &'a BTreeMap<String, Known>,
    /// The position of the last entry of the list of the crawl.
    pub(super) seeds_end: u64,
    /// The wall clock of whoever asks, in ms since 1970.
    pub(super) time: i64,
}

/// Reads how a cluster stands, from any machine. A worker that says nothing new for as long as
/// `patience` is taken for gone.
///
/// # Errors
///
/// [`Error::Refused`] if there is no such crawl; else what the engine says.
pub fn status(broker: &Arc<dyn Broker>, name: &str, patience: Duration) -> Result<ClusterStatus> {
    asked(broker, name, patience, stands)
}

/// Returns how a crawl stands that is over, by what its workers said last, and the end of its list,
/// which all shards have done; `None` if something is left, such as seeds that nobody has read, or
/// may be left: what a lost disk had. Whoever comes to a crawl that is over would wait for those
/// who have ended.
pub(super) fn ended(broker: &Arc<dyn Broker>, name: &str) -> Result<Option<(ClusterStatus, u64)>> {
    if !lost(&**broker)?.is_empty() {
        return Ok(None);
    }
    asked(broker, name, Duration::ZERO, |facts| {
        let now = stands(facts);
        now.is_over.then_some((now, facts.seeds_end))
    })
}

/// Asks what is known of a cluster, and says what follows from that.
pub(super) fn asked<T>(
    broker: &Arc<dyn Broker>,
    name: &str,
    patience: Duration,
    say: impl FnOnce(&Facts<'_>) -> T,
) -> Result<T> {
    let Some(terms) = terms(&**broker)? else {
        return Err(unknown(name));
    };
    let rows = Rows::new(Arc::clone(broker));
    let mut workers = BTreeMap::new();
    let mut silent = BTreeMap::new();
    for worker in rows.workers()? {
        let (version, beat) = rows.beat(&worker)?;
        silent.insert(worker.clone(), version);
        let known = Known {
            beat,
            age: None,
            is_alive: false,
        };
        workers.insert(worker, known);
    }
    let start = Instant::now();
    let mut heard = BTreeMap::new();
    while !silent.is_empty() && start.elapsed() < patience {
        thread::sleep(LOOK);
        for (worker, version) in &silent {
            let (now, beat) = rows.beat(worker)?;
            if now == *version {
                continue;
            }
            let known = Known {
                beat,
                age: None,
                is_alive: true,
            };
            workers.insert(worker.clone(), known);
            heard.insert(worker.clone(), Instant::now());
        }
        silent.retain(|worker, _| !heard.contains_key(worker));
    }
    for (worker, known) in &mut workers {
        // Since then others were waited for.
        known.age = heard.get(worker).map(Instant::elapsed);
    }
    Ok(say(&Facts {
        name,
        terms: &terms,
        wanted: &Wanted::read(&**broker)?,
        owners: &rows.owners()?,
        workers: &workers,
        seeds_end: list::end(&**broker)?,
        time: Timestamp::now().as_millisecond(),
    }))
}

/// There is no crawl of this name.
pub(super) fn unknown(name: &str) -> Error {
    Error::Refused(format!(
        "the engine knows no crawl {name}: `gleaner cluster create` creates one"
    ))
}

/// Says how a cluster stands by what is known of it. Pure.
pub(super) fn stands(facts: &Facts<'_>) -> ClusterStatus {
    let shards: Vec<ShardNow> = (0..facts.terms.shards).map(|it| shard(facts, it)).collect();
    let owned_by = |name: &str| -> Vec<u16> {
        let own = shards
            .iter()
            .filter(|it| it.owner.as_deref() == Some(name) && it.is_owned);
        own.map(|it| it.shard).collect()
    };
    let workers: Vec<WorkerNow> = facts
        .workers
        .iter()
        .map(|(name, known)| worker(facts, (name, known), owned_by(name)))
        .collect();
    let mut sum = FiguresNow::default();
    let mut links = LinksNow::default();
    for shard in &shards {
        let it = &shard.figures;
        sum.pages += it.pages;
        sum.unique += it.unique;
        sum.duplicates += it.duplicates;
        sum.revisits += it.revisits;
        sum.failed += it.failed;
        sum.forbidden += it.forbidden;
        sum.queued += it.queued;
        sum.hosts += it.hosts;
        sum.bytes += it.bytes;
        sum.fetching += it.fetching;
        links.sent += shard.links.sent;
        links.received += shard.links.received;
    }
    links.waiting = links.sent.saturating_sub(links.received);
    let alive = workers.iter().filter(|it| it.is_alive);
    ClusterStatus {
        name: facts.name.to_owned(),
        going: facts.wanted.wishes.going,
        stays: facts.wanted.stays,
        is_over: is_over(facts, &shards),
        attention: attention(facts, &sum, &workers, &shards),
        copies: facts.terms.copies,
        sum,
        pages_per_second: alive.fold(0.0, |sum, it| sum + it.pages_per_second),
        links,
        take_overs: workers.iter().map(|it| it.take_overs).sum(),
        workers,
        shards,
    }
}

/// Whether nothing is left to fetch, no seed is unread, and nothing more will come.
fn is_over(facts: &Facts<'_>, shards: &[ShardNow]) -> bool {
    let is_done = |it: &ShardNow| it.is_done && seeds_through(facts, it) >= facts.seeds_end;
    !facts.wanted.stays && !shards.is_empty() && shards.iter().all(is_done)
}

fn worker(facts: &Facts<'_>, (name, known): (&str, &Known), owns: Vec<u16>) -> WorkerNow {
    let (beat, tells) = (&known.beat, &known.beat.tells);
    let clock = known.age.filter(|_| known.is_alive).map(|age| {
        let then = facts.time - i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        (tells.time - then) as f64 / 1_000.0
    });
    let follows = beat.follows.keys().copied();
    WorkerNow {
        name: name.to_owned(),
        machine: beat.machine.clone(),
        is_alive: known.is_alive,
        is_drained: facts.wanted.wishes.drained.contains(name),
        is_leaving: beat.is_leaving,
        silent_seconds: known.age.map(|age| age.as_secs_f64()),
        clock_seconds: clock,
        follows: follows.filter(|it| !owns.contains(it)).collect(),
        owns,
        max_shards: tells.max_shards,
        take_overs: tells.take_overs,
        pages_per_second: match known.is_alive {
            true => tells.pages_in_100_s as f64 / 100.0,
            false => 0.0,
        },
        version: tells.version.clone(),
        data_dir: tells.data_dir.clone(),
        console: tells.console.clone(),
    }
}

pub(super) fn shard(facts: &Facts<'_>, shard: u16) -> ShardNow {
    let owner = facts.owners.get(usize::from(shard));
    let owner = owner.filter(|owner| !owner.worker.is_empty());
    let known = owner.and_then(|owner| facts.workers.get(&owner.worker));
    // A shard that was just taken over has no figures yet: those of the owner before hold.
    let mut told: Vec<(&Figures, bool)> = facts
        .workers
        .iter()
        .filter_map(|(name, known)| {
            let figures = known.beat.tells.figures.get(&shard)?;
            Some((figures, owner.is_some_and(|owner| owner.worker == *name)))
        })
        .collect();
    told.sort_by_key(|(figures, is_owners)| (*is_owners, figures.end, figures.pages));
    let none = Figures::default();
    let figures = told.last().map_or(&none, |it| it.0);
    let copies = facts.workers.iter().filter_map(|(name, known)| {
        let read = known.beat.follows.get(&shard)?;
        let is_owner = owner.is_some_and(|owner| owner.worker == *name);
        (!is_owner).then(|| CopyNow {
            worker: name.clone(),
            is_alive: known.is_alive,
            lag: figures.end.saturating_sub(*read),
        })
    });
    let sum = |numbers: &[u64]| numbers.iter().sum::<u64>();
    let look = facts
        .workers
        .iter()
        .filter_map(|(name, known)| {
            let look = known.beat.looks.get(&shard)?;
            let is_owners = owner.is_some_and(|owner| owner.worker == *name);
            Some((is_owners, sum(&look.counts.received), look))
        })
        .max_by_key(|(is_owners, received, _)| (*is_owners, *received))
        .map(|it| it.2);
    let sent = look.map_or(0, |look| sum(&look.counts.sent));
    // What others say that they have of it.
    let at = usize::from(shard);
    let committed = |other: u16| {
        let looks = facts.workers.values().filter_map(move |known| {
            let look = known.beat.looks.get(&other)?;
            look.counts.received.get(at).copied()
        });
        looks.max().unwrap_or(0)
    };
    let others = (0..facts.terms.shards).filter(|other| *other != shard);
    let arrived: u64 = others.map(committed).sum();
    ShardNow {
        shard,
        owner: owner.map(|owner| owner.worker.clone()),
        is_owned: known.is_some_and(|known| known.is_alive),
        epoch: owner.map_or(0, |owner| owner.epoch),
        is_done: known.is_some_and(|known| known.beat.done.contains(&shard)),
        end: figures.end,
        copies: copies.collect(),
        limit: figures.limit.clone(),
        figures: FiguresNow {
            pages: figures.pages,
            unique: figures.unique,
            duplicates: figures.duplicates,
            revisits: figures.revisits,
            failed: figures.failed,
            forbidden: figures.forbidden,
            queued: figures.queued,
            hosts: figures.hosts,
            bytes: figures.bytes,
            fetching: figures.fetching,
        },
        links: LinksNow {
            sent,
            received: look.map_or(0, |look| sum(&look.counts.received)),
            waiting: sent.saturating_sub(arrived),
        },
    }
}

/// What needs attention, the worst first.
fn attention(
    facts: &Facts<'_>,
    sum: &FiguresNow,
    workers: &[WorkerNow],
    shards: &[ShardNow],
) -> Vec<String> {
    let mut said = Vec::new();
    if is_over(facts, shards) {
        return said;
    }
    let going = facts.wanted.wishes.going;
    match (going, facts.wanted.limits.reached((sum.pages, sum.bytes))) {
        (Going::Running, _) => {}
        (Going::Paused, _) => {
            said.push("paused: `gleaner cluster resume` lets it go on".to_owned());
        }
        (Going::Stopped, Some(limit)) => said.push(format!(
            "stopped, because it has {limit}: `gleaner cluster resume` with a greater one lets it \
             go on"
        )),
        (Going::Stopped, None) => {
            said.push("stopped: `gleaner cluster resume` lets it go on".to_owned());
        }
    }
    let alive: Vec<&WorkerNow> = workers.iter().filter(|it| it.is_alive).collect();
    if alive.is_empty() {
        said.push(match workers.is_empty() {
            true => "no worker has joined yet: start some with `gleaner worker`".to_owned(),
            false => "no worker runs: start them again with `gleaner worker`".to_owned(),
        });
    }
    for shard in shards.iter().filter(|it| !it.is_owned && !alive.is_empty()) {
        said.push(unowned(shard));
    }
    // One that has said that it ends is no news.
    for worker in workers
        .iter()
        .filter(|it| !it.is_alive && !it.has_ended() && !alive.is_empty())
    {
        let name = &worker.name;
        said.push(match worker.silent_seconds {
            Some(silent) => format!("worker {name} has said nothing for {silent:.0} s"),
            None => format!("worker {name} is gone"),
        });
    }
    let mut clocks: Vec<f64> = alive.iter().filter_map(|it| it.clock_seconds).collect();
    clocks.sort_by(f64::total_cmp);
    let median = clocks.get(clocks.len() / 2).copied().unwrap_or(0.0);
    for worker in &alive {
        let skew = worker.clock_seconds.unwrap_or(median) - median;
        if skew.abs() > SKEW {
            said.push(format!(
                "the clock of worker {} is {:.0} s {} those of the others: set it right, times of \
                 hosts go with their shards",
                worker.name,
                skew.abs(),
                if skew > 0.0 { "ahead of" } else { "behind" },
            ));
        }
    }
    // Who has just opened a shard has not told yet how far it is.
    let behind =
        |it: &&ShardNow| it.is_owned && (1..facts.seeds_end).contains(&seeds_through(facts, it));
    let unread = numbers(shards.iter().filter(behind));
    if !unread.is_empty() && going == Going::Running {
        said.push(format!("seeds, or URLs to retry, wait for shard {unread}"));
    }
    let lacks = |it: &&ShardNow| {
        let copies = it.copies.iter().filter(|copy| copy.is_alive).count();
        it.is_owned && copies + 1 < usize::from(facts.terms.copies)
    };
    let without = numbers(shards.iter().filter(lacks));
    // Those who end with a crawl that is stopped keep their copies, and tell no more of them.
    if !without.is_empty() && !alive.is_empty() && going != Going::Stopped {
        said.push(format!(
            "fewer than {} copies of shard {without}: a disk that is lost now takes them along; \
             copies are on different machines (--machine)",
            facts.terms.copies
        ));
    }
    said
}

/// The numbers of shards.
fn numbers<'a>(shards: impl Iterator<Item = &'a ShardNow>) -> String {
    let numbers: Vec<String> = shards.map(|it| format!("{:02}", it.shard)).collect();
    numbers.join(", ")
}

/// Position in the list of the crawl up to which a shard has done what that says, as its owner told
/// last.
pub(super) fn seeds_through(facts: &Facts<'_>, shard: &ShardNow) -> u64 {
    let known = shard.owner.as_ref().and_then(|it| facts.workers.get(it));
    let figures = known.and_then(|it| it.beat.tells.figures.get(&shard.shard));
    figures.map_or(0, |it| it.seeds_through)
}

/// Says that a shard has no owner, and who has it.
fn unowned(shard: &ShardNow) -> String {
    let number = shard.shard;
    let Some(owner) = &shard.owner else {
        return format!("shard {number:02} has no owner yet");
    };
    let copies: Vec<&str> = shard.copies.iter().map(|it| it.worker.as_str()).collect();
    match copies.is_empty() {
        true => format!(
            "shard {number:02} has no owner: start worker {owner}, which has it; no other one that \
             is known tells of a copy"
        ),
        false => format!(
            "shard {number:02} has no owner: {owner} has it, and copies are with {}",
            copies.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests;
