//! When the engine has lost its data: the crawl is in the directories of its workers, and goes on
//! from the copy of each shard that is the most advanced.
//!
//! Nothing of it needs the logs that are lost: a store is never behind what its log has
//! acknowledged to it, and links that were on their way are in the outboxes of those who sent them.
//! Until the crawl is restored, its workers refuse to begin another one beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::list;
use super::log::log_of;
use super::rows::{self, Owner, change, patiently, put, read};
use super::terms::{self, Creation, Terms};
use super::wanted::{Going, Heard, Limits};
use crate::broker::{self, Broker};
use crate::engine::{self, DataDirectory, DirectoryError, StopHandle, listed_seen, open_store};
use crate::frontier::Shards;
use crate::store::copy::Origin;
use crate::store::{self, Store, Table, keys};

/// The row of what the directories of workers have, until the crawl is restored.
const OFFERS: &str = "offers";

/// Why a crawl is not gone on with, or not restored.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something is wrong with the engine.
    #[error("the engine of the cluster: {0}")]
    Engine(#[from] broker::Error),
    /// The engine does not know the crawl, and the worker has a part of it.
    #[error(
        "the engine does not know the crawl, and {directory} has its shard {shard:02} to commit \
         {commit}. Either this is another engine, or it has lost its data: then restore the crawl \
         from the directories of its workers, each with `gleaner cluster restore ENGINE --offer \
         {directory}`, and once more without --offer"
    )]
    Unknown {
        /// The directory of the worker.
        directory: PathBuf,
        /// A shard of which it has a copy.
        shard: u16,
        /// The last commit that it has of it.
        commit: u64,
    },
    /// The engine has the crawl.
    #[error(
        "the engine knows the crawl: it has nothing to be restored. Start its workers; what one of \
         them lacks it copies from another one"
    )]
    Known,
    /// A directory cannot be used for it.
    #[error("{path} cannot be used: {reason}")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// No worker has offered these shards.
    #[error(
        "nobody has offered shards {}: offer the directory of each worker first. What is lost with \
         all of its copies cannot be restored", .0.join(", ")
    )]
    Incomplete(Vec<String>),
}

type Result<T> = std::result::Result<T, Error>;

/// What the directories of workers have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Offers {
    /// What is fixed of the crawl; the default before anything is offered.
    creation: Creation,
    /// How far any shard has read the list of seeds.
    seeds_through: u64,
    /// What people wanted, by the worker that heard of it last.
    heard: Heard,
    /// By shard and worker.
    copies: BTreeMap<u16, BTreeMap<String, Offered>>,
}

/// How far a copy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Offered {
    epoch: u64,
    commit: u64,
}

/// A crawl that is restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Its shards, in order.
    pub shards: Vec<RestoredShard>,
    /// Whether it goes on, as people wanted before.
    pub going: Going,
    /// How much of it is enough, as before.
    pub limits: Limits,
    /// Whether it stays when nothing is left to fetch, as before.
    pub stays: bool,
}

/// A shard that is restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredShard {
    /// Its number.
    pub shard: u16,
    /// The worker whose copy it goes on from.
    pub worker: String,
    /// The last commit that this one has.
    pub commit: u64,
    /// Workers whose copies are behind it, and copy it anew: the last commit of each.
    pub behind: BTreeMap<String, u64>,
}

/// Returns what holds for all workers of the crawl, for a worker with this directory; `None` if it
/// was not created. Waits half a minute for an engine that does not answer, unless it is stopped.
///
/// # Errors
///
/// [`Error::Unknown`] if the directory has a part of a crawl that the engine does not know.
pub fn enter(broker: &dyn Broker, directory: &Path, stop: &StopHandle) -> Result<Option<Terms>> {
    let known = patiently(stop, || terms::terms(broker))?;
    if known.is_none() {
        for (shard, path) in directories(directory)? {
            if let Some(copy) = look(&path)? {
                return Err(Error::Unknown {
                    directory: directory.to_owned(),
                    shard,
                    commit: copy.offered.commit,
                });
            }
        }
    }
    Ok(known)
}

/// Says to the engine what the directory of a worker has of the crawl. Returns the shards and the
/// last commit of each. The worker must not run.
///
/// # Errors
///
/// [`Error::Known`] if the engine has the crawl; [`Error::Directory`] if a shard cannot be read or
/// is of another crawl than those that were offered before.
pub fn offer(broker: &dyn Broker, worker: &str, directory: &Path) -> Result<BTreeMap<u16, u64>> {
    if terms::terms(broker)?.is_some() {
        return Err(Error::Known);
    }
    let unusable = |reason: String| Error::Directory {
        path: directory.to_owned(),
        reason,
    };
    let kept = terms::kept(directory).map_err(|error| unusable(error.to_string()))?;
    let creation = kept.ok_or_else(|| unusable("no worker was started in it".to_owned()))?;
    let mut copies = Vec::new();
    for (shard, path) in directories(directory)? {
        if let Some(copy) = look(&path)? {
            if copy.shards.own() != shard {
                return Err(Error::Directory {
                    path,
                    reason: format!("it is shard {:02}", copy.shards.own()),
                });
            }
            if copy.secret != creation.secret || copy.shards.count() != creation.shards {
                return Err(Error::Directory {
                    path,
                    reason: "it is of another crawl than the worker".to_owned(),
                });
            }
            copies.push(copy);
        }
    }
    let heard = Heard::of(directory).map_err(|error| unusable(error.to_string()))?;
    let heard = heard.unwrap_or_default();
    // Rows are made together with the first log.
    broker.create(&log_of(0))?;
    let mut is_other = false;
    change(broker, OFFERS, |offers: &mut Offers| {
        is_other = !offers.copies.is_empty() && offers.creation != creation;
        if is_other {
            return false;
        }
        offers.creation.clone_from(&creation);
        offers.heard.merge(heard.clone());
        for copy in &copies {
            let of_shard = offers.copies.entry(copy.shards.own()).or_default();
            of_shard.insert(worker.to_owned(), copy.offered);
            offers.seeds_through = offers.seeds_through.max(copy.seeds_through);
        }
        true
    })?;
    if is_other {
        return Err(unusable(
            "it is of another crawl than what was offered before".to_owned(),
        ));
    }
    let offered = copies.iter();
    let offered = offered.map(|copy| (copy.shards.own(), copy.offered.commit));
    Ok(offered.collect())
}

/// Makes the crawl known to the engine again, by what was offered: each shard is its whose copy is
/// the most advanced. Its workers go on when they are started, unless people wanted otherwise.
///
/// # Errors
///
/// [`Error::Known`] if the engine has the crawl; [`Error::Incomplete`] if a shard was not offered.
pub fn restore(broker: &dyn Broker) -> Result<Restored> {
    if terms::terms(broker)?.is_some() {
        return Err(Error::Known);
    }
    let offers: Offers = match read(broker, OFFERS) {
        Ok((_, offers)) => offers,
        Err(broker::Error::Missing(_)) => Offers::default(),
        Err(error) => return Err(error.into()),
    };
    let shards = offers.creation.shards.max(1);
    let missing = (0..shards).filter(|shard| !offers.copies.contains_key(shard));
    let missing: Vec<String> = missing.map(log_of).collect();
    if !missing.is_empty() {
        return Err(Error::Incomplete(missing));
    }
    let mut restored = Vec::new();
    let mut owned = BTreeMap::<String, usize>::new();
    for (shard, copies) in &offers.copies {
        // Of those that are as far, who has fewer.
        let best = copies.iter().max_by_key(|(worker, offered)| {
            let owned = owned.get(*worker).copied().unwrap_or(0);
            (**offered, std::cmp::Reverse(owned))
        });
        let Some((worker, best)) = best else {
            continue;
        };
        *owned.entry(worker.clone()).or_default() += 1;
        begin_log(broker, &log_of(*shard), *best)?;
        let behind = copies.iter().filter(|(_, offered)| *offered < best);
        restored.push((
            best.epoch,
            RestoredShard {
                shard: *shard,
                worker: worker.clone(),
                commit: best.commit,
                behind: behind
                    .map(|(worker, offered)| (worker.clone(), offered.commit))
                    .collect(),
            },
        ));
    }
    let workers: BTreeSet<&String> = offers.copies.values().flat_map(BTreeMap::keys).collect();
    let owners = restored.iter().map(|(epoch, restored)| Owner {
        worker: restored.worker.clone(),
        epoch: *epoch,
    });
    let owners: Vec<Owner> = owners.collect();
    list::restore(broker, offers.seeds_through)?;
    let wanted = offers.heard.wanted;
    wanted.restore(broker)?;
    rows::restore(broker, workers, &owners)?;
    terms::restore(broker, &offers.creation)?;
    put(broker, OFFERS, &Offers::default())?;
    Ok(Restored {
        shards: restored.into_iter().map(|(_, shard)| shard).collect(),
        going: wanted.wishes.going,
        limits: wanted.limits,
        stays: wanted.stays,
    })
}

/// Makes the log of a shard again. It says from the beginning how far the best copy is: those that
/// are behind copy it, and own nothing before they have, however late its worker comes.
fn begin_log(broker: &dyn Broker, log: &str, best: Offered) -> Result<()> {
    broker.create(log)?;
    let entry = store::begin_again(best.epoch, best.commit);
    let entry = entry.map_err(|error| broker::Error::Refused(error.to_string()))?;
    broker.append(log, broker.end(log)?, &entry)?;
    Ok(())
}

/// What a directory is a copy of.
struct Found {
    shards: Shards,
    secret: Vec<u8>,
    seeds_through: u64,
    offered: Offered,
}

/// Returns the directories of a worker's shards.
fn directories(directory: &Path) -> Result<Vec<(u16, PathBuf)>> {
    let path = directory.join("shards");
    let failed = |error: io::Error| Error::Directory {
        path: path.clone(),
        reason: error.to_string(),
    };
    let entries = match fs::read_dir(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        if let Some(shard) = name.to_str().and_then(|name| name.parse().ok()) {
            found.push((shard, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}

/// Looks what a directory has; `None` if there is nothing to go on from.
fn look(path: &Path) -> Result<Option<Found>> {
    let refused = |error: engine::Error| Error::Directory {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    let directory = match DataDirectory::take_existing(path) {
        Err(DirectoryError::NoCrawl(_)) => return Ok(None),
        directory => directory.map_err(|error| refused(error.into()))?,
    };
    let store = match open_store(&directory) {
        // A copy that is not complete.
        Err(engine::Error::Store(store::Error::Outdated { .. })) => return Ok(None),
        store => store.map_err(refused)?,
    };
    read_copy(&*store).map_err(|error| refused(error.into()))
}

fn read_copy(store: &dyn Store) -> store::Result<Option<Found>> {
    let Some(secret) = store.get(Table::Meta, keys::meta::SECRET)? else {
        return Ok(None);
    };
    let Some(origin) = Origin::of(store)? else {
        return Ok(None);
    };
    Ok(Some(Found {
        shards: Shards::read(store)?,
        secret,
        // Positions are never given twice: one that was begun says what came of it.
        seeds_through: listed_seen(store)?,
        offered: Offered {
            epoch: origin.epoch,
            commit: origin.number,
        },
    }))
}
