//! Who has a copy of a shard, and up to where each has read the shard's log: the log keeps what one
//! of them lacks. Libraries, of which each worker has one, are copies of one another in the same
//! way, and read one log.
//!
//! A copy stays registered while its worker is away, so that it goes on by the log when that is
//! back. What a log may keep is bounded: beyond that the copy that has read least is dropped, and
//! is made anew when its worker is back (`copier`).

mod copier;
mod followed;
mod follower;

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::broker::{Broker, Result};
use crate::cluster::rows::{Rows, change, read};
use crate::engine::library::LibraryCursor;
use crate::engine::{CopyCursor, CopyId};
pub(super) use copier::{Giver, Taker, unreadable};
pub(super) use follower::{Follower, NO_COPY};

/// Bytes that the log of a shard may have before the slowest copy is dropped.
pub const LOG_MAX: u64 = 4 << 30;

/// A copy of a shard, or of a library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::cluster) struct Copy<C = CopyCursor> {
    /// Position in the log up to which it had read when this was written. While it follows, the
    /// beats of its worker say more.
    pub(in crate::cluster) position: u64,
    /// What it is to be given of the owner's.
    pub(in crate::cluster) wish: Option<Wish<C>>,
}

/// What a copy that is being made is to be given next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::cluster) struct Wish<C = CopyCursor> {
    /// Drawn by each process that makes it: what was on its way to another one is given again.
    pub(in crate::cluster) process: [u8; 8],
    pub(in crate::cluster) id: CopyId,
    pub(in crate::cluster) next: C,
}

/// What copies are of: a shard, or the libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Shard(u16),
    Libraries,
}

/// The copies of a shard, or those of all libraries, as a worker sees them. What they are given is
/// told by cursors of this type.
#[derive(Clone)]
pub(in crate::cluster) struct Copies<C = CopyCursor> {
    broker: Arc<dyn Broker>,
    rows: Rows,
    of: Of,
    worker: String,
    cursor: PhantomData<fn() -> C>,
}

impl fmt::Display for Of {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shard(shard) => write!(f, "{shard:02}"),
            Self::Libraries => f.write_str("libraries"),
        }
    }
}

impl Copies {
    /// Those of a shard.
    pub(in crate::cluster) fn new(broker: Arc<dyn Broker>, shard: u16, worker: &str) -> Self {
        Self::made_of(broker, Of::Shard(shard), worker)
    }
}

impl Copies<LibraryCursor> {
    /// Those of all libraries, that of this worker among them.
    pub(in crate::cluster) fn of_libraries(broker: Arc<dyn Broker>, worker: &str) -> Self {
        Self::made_of(broker, Of::Libraries, worker)
    }
}

impl<C: Clone + PartialEq + Serialize + DeserializeOwned> Copies<C> {
    fn made_of(broker: Arc<dyn Broker>, of: Of, worker: &str) -> Self {
        Self {
            rows: Rows::new(Arc::clone(&broker)),
            broker,
            of,
            worker: worker.to_owned(),
            cursor: PhantomData,
        }
    }

    /// Name of this worker.
    pub(in crate::cluster) fn worker(&self) -> &str {
        &self.worker
    }

    /// Name of the row that says which there are.
    fn row(&self) -> String {
        format!("copies.{}", self.of)
    }

    /// Name of the log over which they are made.
    fn log(&self) -> String {
        format!("copy{}", self.of)
    }

    /// Returns all copies but the owner's, by their workers. One of a worker that owned the shard
    /// before is among them.
    pub(in crate::cluster) fn read(&self) -> Result<BTreeMap<String, Copy<C>>> {
        Ok(read(&*self.broker, &self.row())?.1)
    }

    /// Says how this worker's copy is.
    pub(in crate::cluster) fn put(&self, copy: &Copy<C>) -> Result<()> {
        self.change(|copies| {
            let before = copies.insert(self.worker.clone(), copy.clone());
            before.as_ref() != Some(copy)
        })
    }

    /// Says that this worker has none any more.
    pub(in crate::cluster) fn leave(&self) -> Result<()> {
        self.change(|copies| copies.remove(&self.worker).is_some())
    }

    /// Changes the row, unless `how` returns `false`.
    fn change(&self, how: impl FnMut(&mut BTreeMap<String, Copy<C>>) -> bool) -> Result<()> {
        change(&*self.broker, &self.row(), how).map(drop)
    }

    /// Removes from the log what this worker does not need any more behind `through`, as far as no
    /// other copy does. If that leaves more than `most` bytes, the copies that have read least are
    /// dropped, one after the other.
    pub(in crate::cluster) fn trim(&self, log: &str, through: u64, most: u64) -> Result<()> {
        loop {
            let mut slowest: Option<(u64, String, Copy<C>)> = None;
            for (worker, copy) in self.read()? {
                if worker == self.worker {
                    continue;
                }
                let position = self.position(&worker, &copy)?;
                if slowest.as_ref().is_none_or(|it| position < it.0) {
                    slowest = Some((position, worker, copy));
                }
            }
            // The entry that it has read last is compared with when it goes on.
            let needed = slowest.as_ref().map(|it| it.0.saturating_sub(1));
            let until = needed.map_or(through, |it| it.min(through));
            self.broker.trim(log, until)?;
            let Some((position, worker, copy)) = slowest.filter(|_| until < through) else {
                return Ok(());
            };
            let bytes = self.broker.bytes(log)?;
            if bytes <= most {
                return Ok(());
            }
            tracing::warn!(
                log,
                worker,
                position,
                bytes,
                "the log keeps more than it may for a copy that has not read it; the copy is made \
                 anew when its worker goes on"
            );
            self.change(|copies| {
                let is_it = copies.get(&worker) == Some(&copy);
                is_it && copies.remove(&worker).is_some()
            })?;
        }
    }

    /// Returns up to where a copy has read.
    fn position(&self, worker: &str, copy: &Copy<C>) -> Result<u64> {
        if copy.wish.is_some() {
            return Ok(copy.position);
        }
        let (_, beat) = self.rows.beat(worker)?;
        let told = match self.of {
            Of::Shard(shard) => beat.follows.get(&shard).copied().unwrap_or(0),
            Of::Libraries => beat.library,
        };
        Ok(told.max(copy.position))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::{Error, Memory};
    use crate::cluster::rows::Beat;

    /// The owner of a shard, and a log of ten entries of ten bytes.
    fn shard(engine: &Memory) -> Copies {
        let broker: Arc<dyn Broker> = Arc::new(engine.connect());
        broker.create("07").unwrap();
        for at in 0..10 {
            broker.append("07", at, &[7; 9]).unwrap();
        }
        Copies::new(broker, 7, "owner")
    }

    fn copies_of(engine: &Memory, worker: &str) -> Copies {
        Copies::new(Arc::new(engine.connect()), 7, worker)
    }

    fn at(position: u64) -> Copy {
        let wish = None;
        Copy { position, wish }
    }

    #[track_caller]
    fn check_first(owner: &Copies, expected: u64) {
        let first = match owner.broker.next("07", 0) {
            Err(Error::Trimmed { first }) => first,
            _ => 1,
        };
        assert_eq!(first, expected);
    }

    #[test]
    fn a_log_keeps_what_a_copy_lacks() {
        let engine = Memory::start(1_000);
        let owner = shard(&engine);
        let [fast, slow] = ["fast", "slow"].map(|name| copies_of(&engine, name));
        fast.put(&at(8)).unwrap();
        slow.put(&at(3)).unwrap();
        owner.put(&at(1)).unwrap();
        owner.trim("07", 9, 1_000).unwrap();
        check_first(&owner, 3);
        // Its beats say that it has gone on.
        let mut beat = Beat::default();
        beat.follows.insert(7, 6);
        slow.rows.put_beat("slow", 0, &beat).unwrap();
        owner.trim("07", 9, 1_000).unwrap();
        check_first(&owner, 6);
        // What they said before it was made anew does not count.
        let wish = Some(Wish {
            process: [0; 8],
            id: [0; 8],
            next: CopyCursor::Start,
        });
        slow.put(&Copy { position: 0, wish }).unwrap();
        owner.trim("07", 9, 1_000).unwrap();
        check_first(&owner, 6);
        slow.leave().unwrap();
        owner.trim("07", 9, 1_000).unwrap();
        check_first(&owner, 8);
        fast.leave().unwrap();
        owner.trim("07", 9, 1_000).unwrap();
        check_first(&owner, 10);
    }

    #[test]
    fn the_log_of_libraries_keeps_what_one_of_them_lacks() {
        let engine = Memory::start(1_000);
        let owner = shard(&engine);
        let of = |worker: &str| Copies::of_libraries(Arc::new(engine.connect()), worker);
        let [one, other] = ["one", "other"].map(of);
        let whole = |position| Copy {
            position,
            wish: None,
        };
        other.put(&whole(2)).unwrap();
        one.put(&whole(1)).unwrap();
        one.trim("07", 8, 1_000).unwrap();
        check_first(&owner, 2);
        let beat = Beat {
            library: 5,
            ..Beat::default()
        };
        other.rows.put_beat("other", 0, &beat).unwrap();
        one.trim("07", 8, 1_000).unwrap();
        check_first(&owner, 5);
    }

    #[test]
    fn the_slowest_copy_is_dropped_where_a_log_keeps_too_much() {
        let engine = Memory::start(1_000);
        let owner = shard(&engine);
        let [fast, slow] = ["fast", "slow"].map(|name| copies_of(&engine, name));
        fast.put(&at(8)).unwrap();
        slow.put(&at(3)).unwrap();
        owner.trim("07", 9, 80).unwrap();
        check_first(&owner, 3);
        owner.trim("07", 9, 79).unwrap();
        check_first(&owner, 8);
        let left: Vec<String> = owner.read().unwrap().into_keys().collect();
        assert_eq!(left, ["fast"]);
    }
}
