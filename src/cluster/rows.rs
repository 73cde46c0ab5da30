//! The rows of a cluster: who owns which shard, and what each worker says of itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::tells::Tells;
use crate::broker::{Broker, Error, Result};
use crate::engine::StopHandle;
use crate::engine::exchange::Look;

/// The row of the owners of all shards.
const OWNERS: &str = "shards";
/// The row of the names of all workers.
const WORKERS: &str = "workers";

/// Writes the workers and the owners of the shards of a crawl again.
pub(super) fn restore<'a>(
    broker: &dyn Broker,
    workers: impl IntoIterator<Item = &'a String>,
    owners: &[Owner],
) -> Result<()> {
    let workers: Vec<String> = workers.into_iter().cloned().collect();
    put(broker, WORKERS, &workers)?;
    put(broker, OWNERS, &owners.to_vec())
}

/// Draws random bytes.
pub(super) fn drawn<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    match getrandom::fill(&mut bytes) {
        Ok(()) => Ok(bytes),
        Err(error) => Err(Error::Refused(format!("no random bytes: {error}"))),
    }
}

/// Asks the engine again while it does not answer, as while it elects a leader: for half a minute,
/// or until who asks is stopped.
pub(super) fn patiently<T>(stop: &StopHandle, mut ask: impl FnMut() -> Result<T>) -> Result<T> {
    const PATIENCE: Duration = Duration::from_secs(30);
    const PAUSE: Duration = Duration::from_millis(500);
    let until = Instant::now() + PATIENCE;
    loop {
        match ask() {
            Err(Error::Away(reason)) if Instant::now() < until && !stop.is_stopped() => {
                tracing::warn!(reason, "the engine of the cluster does not answer");
                thread::sleep(PAUSE);
            }
            answer => return answer,
        }
    }
}

/// Changes a row, unless `change` returns `false`; it is asked again if another worker changes the
/// row at the same time. Returns what the row says then.
pub(super) fn change<T: Serialize + DeserializeOwned + Default>(
    broker: &dyn Broker,
    name: &str,
    mut change: impl FnMut(&mut T) -> bool,
) -> Result<T> {
    loop {
        let (version, mut row) = read(broker, name)?;
        if !change(&mut row) {
            return Ok(row);
        }
        match write(broker, name, version, postcard::to_stdvec(&row)) {
            Ok(_) => return Ok(row),
            Err(Error::Moved) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Has a row say this, whatever it said before.
pub(super) fn put<T>(broker: &dyn Broker, name: &str, row: &T) -> Result<()>
where
    T: Serialize + DeserializeOwned + Default + Clone + PartialEq,
{
    let changed = change(broker, name, |known: &mut T| {
        let is_new = known != row;
        known.clone_from(row);
        is_new
    });
    changed.map(drop)
}

/// Returns the version of a row and what it says; the default if there is none.
pub(super) fn read<T: DeserializeOwned + Default>(
    broker: &dyn Broker,
    name: &str,
) -> Result<(u64, T)> {
    read_by(broker, name, |row| postcard::from_bytes(row))
}

fn read_by<T: Default>(
    broker: &dyn Broker,
    name: &str,
    decode: impl FnOnce(&[u8]) -> postcard::Result<T>,
) -> Result<(u64, T)> {
    match broker.row(name)? {
        None => Ok((0, T::default())),
        Some((version, row)) => match decode(&row) {
            Ok(row) => Ok((version, row)),
            Err(error) => Err(Error::Refused(format!(
                "the row {name} cannot be read: {error}"
            ))),
        },
    }
}

/// Writes a row if it has this version, and returns the new one.
fn write(
    broker: &dyn Broker,
    name: &str,
    version: u64,
    row: postcard::Result<Vec<u8>>,
) -> Result<u64> {
    let row = row.map_err(|error| Error::Refused(format!("the row {name}: {error}")))?;
    broker.put_row(name, version, &row)
}

/// Who owns a shard.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    /// Its name; empty if nobody ever owned the shard.
    pub(super) worker: String,
    /// Which owner it is: the first one is 1. A worker that the shard was given to, and that has
    /// not begun, has the number of the one before.
    pub(super) epoch: u64,
}

/// What a worker says of itself, about once a second.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Beat {
    /// Rises with each beat.
    pub(super) number: u64,
    /// Drawn by each process, so that it knows its own beats.
    pub(super) process: [u8; 8],
    /// The machine that it runs on: copies of a shard are on different ones.
    pub(super) machine: String,
    /// Whether it gives away what it owns, to end.
    pub(super) is_leaving: bool,
    /// The shards that it follows: the position in the log up to which it has read.
    pub(super) follows: BTreeMap<u16, u64>,
    /// The shards that it owns in which nothing is left to fetch.
    pub(super) done: BTreeSet<u16>,
    /// How the shards are that it owns.
    pub(super) looks: BTreeMap<u16, Look>,
    /// What is to be seen of it from outside.
    pub(super) tells: Tells,
    /// Position in the log of what all shards tell up to which its library is durable. It stands
    /// behind all else, where versions before do not look.
    #[serde(skip)]
    pub(super) library: u64,
}

/// The rows of a cluster.
#[derive(Clone)]
pub(super) struct Rows {
    broker: Arc<dyn Broker>,
}

impl Rows {
    /// Returns the rows of the crawl that a broker is connected to.
    pub(super) fn new(broker: Arc<dyn Broker>) -> Self {
        Self { broker }
    }

    /// Returns the owners of all shards that ever had one, by number.
    pub(super) fn owners(&self) -> Result<Vec<Owner>> {
        Ok(read(&*self.broker, OWNERS)?.1)
    }

    /// Changes the owner of a shard by what `new` makes of it, unless that is `None`; it is asked
    /// again if another worker changes one at the same time. Returns the owner then.
    pub(super) fn change_owner(
        &self,
        shard: u16,
        mut new: impl FnMut(&Owner) -> Option<Owner>,
    ) -> Result<Owner> {
        let at = usize::from(shard);
        let owners = change(&*self.broker, OWNERS, |owners: &mut Vec<Owner>| {
            let owner = owners.get(at).cloned().unwrap_or_default();
            let Some(new) = new(&owner) else {
                return false;
            };
            owners.resize(owners.len().max(at + 1), Owner::default());
            owners[at] = new;
            true
        })?;
        Ok(owners.into_iter().nth(at).unwrap_or_default())
    }

    /// Returns the names of all workers that are members.
    pub(super) fn workers(&self) -> Result<Vec<String>> {
        Ok(read(&*self.broker, WORKERS)?.1)
    }

    /// Makes a worker a member, unless it is one.
    pub(super) fn join(&self, worker: &str) -> Result<()> {
        let joined = change(&*self.broker, WORKERS, |names: &mut Vec<String>| {
            let is_new = !names.iter().any(|name| name == worker);
            if is_new {
                names.push(worker.to_owned());
                names.sort_unstable();
            }
            is_new
        });
        joined.map(drop)
    }

    /// Makes a worker a member no longer, and lets it have said nothing.
    pub(super) fn forget(&self, worker: &str) -> Result<()> {
        change(&*self.broker, WORKERS, |names: &mut Vec<String>| {
            let before = names.len();
            names.retain(|name| name != worker);
            names.len() < before
        })?;
        change(&*self.broker, &row_of(worker), |beat: &mut Beat| {
            // Whoever has the name later counts on from there.
            *beat = Beat {
                number: beat.number,
                ..Beat::default()
            };
            true
        })
        .map(drop)
    }

    /// Returns what a worker said last, and the version of its row.
    pub(super) fn beat(&self, worker: &str) -> Result<(u64, Beat)> {
        read_by(&*self.broker, &row_of(worker), Beat::decode)
    }

    /// Replaces what a worker said last, if that has this version, and returns the new one.
    ///
    /// # Errors
    ///
    /// [`Error::Moved`] if somebody else speaks under this name.
    pub(super) fn put_beat(&self, worker: &str, version: u64, beat: &Beat) -> Result<u64> {
        write(&*self.broker, &row_of(worker), version, beat.encode())
    }
}

impl Beat {
    /// Returns its row: what all versions read, and behind that what they do not look for.
    fn encode(&self) -> postcard::Result<Vec<u8>> {
        let figures = self.tells.figures.iter();
        let revisits: BTreeMap<u16, u64> = figures.map(|(at, it)| (*at, it.revisits)).collect();
        let row = postcard::to_extend(&revisits, postcard::to_stdvec(self)?)?;
        postcard::to_extend(&self.library, row)
    }

    /// Reads a row, which may be of a version before.
    fn decode(row: &[u8]) -> postcard::Result<Self> {
        let (mut beat, rest) = postcard::take_from_bytes::<Self>(row)?;
        let (revisits, rest): (BTreeMap<u16, u64>, _) = match rest.is_empty() {
            true => (BTreeMap::new(), rest),
            false => postcard::take_from_bytes(rest)?,
        };
        beat.library = match rest.is_empty() {
            true => 0,
            false => postcard::from_bytes(rest)?,
        };
        for (shard, figures) in &mut beat.tells.figures {
            figures.revisits = revisits.get(shard).copied().unwrap_or_default();
        }
        Ok(beat)
    }
}

fn row_of(worker: &str) -> String {
    format!("worker.{worker}")
}

#[cfg(test)]
mod tests {
    use super::super::tells::Figures;
    use super::*;

    #[test]
    fn beats_are_read_by_versions_that_know_of_less() {
        let mut beat = Beat::default();
        let figures = Figures {
            pages: 7,
            revisits: 9,
            ..Figures::default()
        };
        beat.tells.figures.insert(3, figures);
        beat.library = 300;
        let row = beat.encode().unwrap();
        assert_eq!(Beat::decode(&row).unwrap(), beat);
        // As versions before read and write it.
        let mut before: Beat = postcard::from_bytes(&row).unwrap();
        assert_eq!(before.tells.figures[&3].pages, 7);
        before.number = 1;
        let row = postcard::to_stdvec(&before).unwrap();
        assert_eq!(Beat::decode(&row).unwrap(), before);
        // Of a version that knows of visits and not of libraries.
        let visits = BTreeMap::from([(3_u16, 9_u64)]);
        let row = postcard::to_extend(&visits, row).unwrap();
        assert_eq!(Beat::decode(&row).unwrap().tells.figures[&3].revisits, 9);
    }
}
