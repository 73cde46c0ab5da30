//! A takedown in the whole crawl: an order in the list, which each shard carries out when it comes
//! to it. What workers have written while they owned a shard that others own by now is only on
//! their disks, and each searches its own (`searches`). Rows of the engine say what came of that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::answers::{self, answer};
use super::standing::{Pending, Standing, standing};
use crate::broker::{Broker, Result};
use crate::cluster::list::{self, Entry};
use crate::cluster::rows::{change, read};
use crate::engine::{ForgetDone, ForgetOrder};

/// Number of files of each kind that are named in a row.
const NAMED: usize = 100;

/// What came of an order in a shard, or in the files of a worker.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakenDown {
    /// Pages that were forgotten, and other URLs that have a record.
    pub pages: u64,
    /// Records and bodies that were overwritten.
    pub records: u64,
    /// Lines of logs that were overwritten, in whole or in part.
    pub lines: u64,
    /// Pages that were judged again because what they repeated is gone.
    pub rehomed: u64,
    /// Those of which nothing was kept where they are: they are visited again.
    pub refetched: u64,
    /// Hosts and prefixes, and URLs, that may come back.
    pub back: u64,
    /// Number of files that were changed.
    pub files: u64,
    /// Files that could not be changed because they are nowhere.
    pub nowhere: BTreeSet<String>,
    /// Files that were changed after a copy of them was handed over.
    pub handed_over: BTreeSet<String>,
    /// Number of files that are not named because there are too many.
    pub unnamed: u64,
    /// Workers on whose disks there are files that were to be changed.
    pub elsewhere: BTreeSet<String>,
    /// Shards of which the worker has a copy of long ago, which it does not follow: its rows may
    /// name what was forgotten.
    pub stale: BTreeSet<u16>,
    /// Why it was not carried out, or not yet.
    pub trouble: Option<String>,
}

impl From<ForgetDone> for TakenDown {
    fn from(done: ForgetDone) -> Self {
        let all = Self {
            pages: done.pages,
            records: done.records,
            lines: done.lines,
            rehomed: done.rehomed,
            refetched: done.refetched,
            back: done.back,
            files: done.files.len() as u64,
            nowhere: done.nowhere,
            handed_over: done.handed_over,
            elsewhere: done.elsewhere,
            ..Self::default()
        };
        all.bounded()
    }
}

impl TakenDown {
    /// Adds what came of the order elsewhere.
    pub(super) fn add(&mut self, other: Self) {
        self.pages += other.pages;
        self.records += other.records;
        self.lines += other.lines;
        self.rehomed += other.rehomed;
        self.refetched += other.refetched;
        // All are told the same.
        self.back = self.back.max(other.back);
        self.files += other.files;
        self.unnamed += other.unnamed;
        self.nowhere.extend(other.nowhere);
        self.handed_over.extend(other.handed_over);
        self.elsewhere.extend(other.elsewhere);
        self.stale.extend(other.stale);
    }

    /// Names no more files than a row has room for.
    fn bounded(mut self) -> Self {
        for files in [&mut self.nowhere, &mut self.handed_over] {
            while files.len() > NAMED {
                files.pop_last();
                self.unnamed += 1;
            }
        }
        self
    }
}

/// What has come of an order so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TakenDownSoFar {
    /// What was done, in all shards and by all workers that are done.
    pub sum: TakenDown,
    /// The shards that have carried it out.
    pub done: Vec<u16>,
    /// Why shards have not carried it out, by what they say.
    pub refused: BTreeMap<String, Vec<u16>>,
    /// The shards that do not say so.
    pub pending: Pending,
    /// The workers that search their files.
    pub searching: Vec<String>,
    /// Those that are not there: they will search their files when they are.
    pub away: Vec<String>,
    /// Those that cannot, and why.
    pub troubled: BTreeMap<String, String>,
    /// Those of a version that does not search.
    pub unable: Vec<String>,
    /// Workers that the crawl does not know any more, on whose disks there are files that were to
    /// be changed.
    pub unknown: Vec<String>,
    /// Shards of which workers have a copy of long ago whose rows may name what was forgotten.
    pub stale: BTreeMap<String, BTreeSet<u16>>,
}

impl TakenDownSoFar {
    /// Whether somebody is at it who can be waited for.
    pub fn goes_on(&self) -> bool {
        // Files are searched for what the owners of shards have carried out.
        !self.pending.busy.is_empty()
            || !self.searching.is_empty() && self.pending.unowned.is_empty()
    }
}

/// How far a worker has searched its files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Searched {
    /// The position in the list up to which its files were searched for what is to be forgotten.
    through: u64,
    /// Why they are not searched further.
    trouble: Option<String>,
}

fn row_of_shard(shard: u16) -> String {
    format!("forgotten.{shard:02}")
}

fn row_of_worker(worker: &str) -> String {
    format!("searched.{worker}")
}

fn found_by(worker: &str) -> String {
    format!("found.{worker}")
}

/// Orders the whole crawl to forget something, or to let it come back. Returns the position of the
/// order, by which [`taken_down`] knows it.
///
/// # Errors
///
/// What the engine says. Then it may have been ordered; to order it again does no harm.
pub fn take_down(broker: &dyn Broker, order: &ForgetOrder) -> Result<u64> {
    list::order(broker, &Entry::Forget(order.clone()))
}

/// Returns what has come of an order. Files are searched only for what is to be forgotten:
/// `is_searched` says whether that is so. A worker that says nothing new for as long as `patience`
/// is taken for gone.
///
/// # Errors
///
/// What the engine says.
pub fn taken_down(
    broker: &Arc<dyn Broker>,
    name: &str,
    (order, is_searched): (u64, bool),
    patience: Duration,
) -> Result<TakenDownSoFar> {
    let Standing { shards, workers } = standing(broker, name, patience)?;
    let mut found = TakenDownSoFar::default();
    for shard in shards {
        match answer::<TakenDown>(&**broker, &row_of_shard(shard.shard), order)? {
            Some(done) => {
                match &done.trouble {
                    Some(trouble) => {
                        let refused = found.refused.entry(trouble.clone()).or_default();
                        refused.push(shard.shard);
                    }
                    None => found.done.push(shard.shard),
                }
                found.sum.add(done);
            }
            None => found.pending.add(&shard, order),
        }
    }
    for (worker, is_alive) in workers.iter().filter(|_| is_searched) {
        let (version, searched) = read::<Searched>(&**broker, &row_of_worker(worker))?;
        if searched.through >= order {
            let done = answer::<TakenDown>(&**broker, &found_by(worker), order)?;
            let done = done.unwrap_or_default();
            if !done.stale.is_empty() {
                found.stale.insert(worker.clone(), done.stale.clone());
            }
            found.sum.add(done);
        } else if !is_alive {
            found.away.push(worker.clone());
        } else if let Some(trouble) = searched.trouble {
            found.troubled.insert(worker.clone(), trouble);
        } else if version == 0 {
            found.unable.push(worker.clone());
        } else {
            found.searching.push(worker.clone());
        }
    }
    let elsewhere = found.sum.elsewhere.iter();
    let unknown = elsewhere.filter(|worker| !workers.contains_key(*worker));
    found.unknown = unknown.cloned().collect();
    Ok(found)
}

/// The row of the orders that shards have refused: by order, the shards.
const REFUSED: &str = "forgotten.refused";

/// Notes that a shard has refused an order, so that its files are not searched for that.
///
/// # Errors
///
/// What the engine says.
pub(in crate::cluster) fn refuse(broker: &dyn Broker, shard: u16, order: u64) -> Result<()> {
    let noted = change(broker, REFUSED, |refused: &mut Refused| {
        refused.entry(order).or_default().insert(shard)
    });
    noted.map(drop)
}

type Refused = BTreeMap<u64, BTreeSet<u16>>;

/// Returns the orders that a shard has refused.
pub(super) fn refused(broker: &dyn Broker, shard: u16) -> Result<BTreeSet<u64>> {
    let (_, refused) = read::<Refused>(broker, REFUSED)?;
    let by = refused.into_iter().filter(|(_, by)| by.contains(&shard));
    Ok(by.map(|(order, _)| order).collect())
}

/// Says what came of an order in a shard, if the engine takes it. Of one that is carried out once
/// more because the shard was interrupted between the deed and the word, it is what came of both.
///
/// # Errors
///
/// [`Error::Away`](crate::broker::Error::Away) if it does not answer.
pub(in crate::cluster) fn tell(
    broker: &dyn Broker,
    shard: u16,
    (order, is_dry_run): (u64, bool),
    done: &TakenDown,
) -> Result<()> {
    answers::tell(broker, &row_of_shard(shard), order, |known| {
        let mut all = done.clone();
        // What is only counted is counted as a whole each time.
        if let Some(known) = known.filter(|_| !is_dry_run) {
            all.add(known);
        }
        all.bounded()
    })
}

/// Returns how far a worker has said to have searched its files.
#[cfg(test)]
pub(super) fn searched_through(broker: &dyn Broker, worker: &str) -> Result<u64> {
    let (_, searched) = read::<Searched>(broker, &row_of_worker(worker))?;
    Ok(searched.through)
}

/// Says how far a worker has searched its files, and what came of that for an order.
///
/// # Errors
///
/// What the engine says.
pub(in crate::cluster) fn tell_searched(
    broker: &dyn Broker,
    worker: &str,
    (through, trouble): (u64, Option<&str>),
    done: &BTreeMap<u64, TakenDown>,
) -> Result<()> {
    // First: whoever finds that it is done finds what came of it.
    for (order, done) in done {
        answers::tell(broker, &found_by(worker), *order, |known| {
            let mut all: TakenDown = known.unwrap_or_default();
            all.add(done.clone());
            all.bounded()
        })?;
    }
    let now = Searched {
        through,
        trouble: trouble.map(str::to_owned),
    };
    let told = change(broker, &row_of_worker(worker), |known: &mut Searched| {
        let is_new = *known != now || now == Searched::default();
        known.clone_from(&now);
        is_new
    });
    told.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::Memory;

    #[test]
    fn what_is_carried_out_once_more_is_counted_once() {
        let engine = Memory::start(1_000);
        let first = TakenDown {
            pages: 2,
            records: 3,
            back: 1,
            ..TakenDown::default()
        };
        let rest = TakenDown {
            pages: 1,
            back: 1,
            ..TakenDown::default()
        };
        let told = |order| answer::<TakenDown>(&engine, &row_of_shard(3), order).unwrap();
        for (order, is_dry_run) in [(7, false), (8, true)] {
            tell(&engine, 3, (order, is_dry_run), &first).unwrap();
            tell(&engine, 3, (order, is_dry_run), &rest).unwrap();
        }
        let sum = told(7).unwrap();
        assert_eq!((sum.pages, sum.records, sum.back), (3, 3, 1));
        assert_eq!(told(8).unwrap(), rest);
    }
}
