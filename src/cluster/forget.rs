//! Workers that do not come back: nothing is kept for them any more, and what only their disks had
//! is fetched again.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::copies::Copies;
use super::rows::{Owner, Rows, change, read};
use crate::broker::{Broker, Error, Result};

/// The row of the workers whose disks are lost.
const LOST: &str = "lost";

/// A worker whose disk is lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Lost {
    /// Its name.
    pub(super) worker: String,
    /// The last owner of each shard when that was said.
    pub(super) epochs: Vec<u64>,
}

/// Returns the workers whose disks are lost, in the order in which that was said.
pub(super) fn lost(broker: &dyn Broker) -> Result<Vec<Lost>> {
    Ok(read(broker, LOST)?.1)
}

/// Forgets a worker that does not come back: the logs of shards keep nothing for it any more. If
/// its disk is lost, what only that had of pages is fetched again: their bodies. Whoever owns a
/// shard does that at once, and says how many pages it was. A worker may have its name later, with
/// an empty disk.
///
/// For `dead`, it is watched whether the worker is there after all. Returns `false` if there is no
/// such worker.
///
/// # Errors
///
/// [`Error::Refused`] if it is there, or if nobody else has a copy of a shard that it owned; and
/// what is wrong with the engine.
pub fn forget_worker(
    broker: &Arc<dyn Broker>,
    worker: &str,
    is_lost: bool,
    dead: Duration,
) -> Result<bool> {
    let rows = Rows::new(Arc::clone(broker));
    let workers = rows.workers()?;
    if !workers.iter().any(|it| it == worker) {
        return Ok(false);
    }
    let before = rows.beat(worker)?;
    thread::sleep(dead);
    if rows.beat(worker)? != before {
        return Err(Error::Refused(format!(
            "worker {worker} is running; stop it first"
        )));
    }
    let owners = rows.owners()?;
    let left = left_alone(&rows, worker, (&workers, &owners))?;
    if !left.is_empty() {
        return Err(Error::Refused(format!(
            "nobody else has a copy of what worker {worker} owned: shards {}; their crawl is lost \
             without its disk. Start it again, with that disk or with a copy of it",
            left.join(", ")
        )));
    }
    if is_lost {
        let epochs = owners.iter().map(|owner| owner.epoch).collect();
        let lost = Lost {
            worker: worker.to_owned(),
            epochs,
        };
        change(&**broker, LOST, |known: &mut Vec<Lost>| {
            let is_new = !known.contains(&lost);
            if is_new {
                known.push(lost.clone());
            }
            is_new
        })?;
    }
    for shard in (0..).take(owners.len()) {
        Copies::new(Arc::clone(broker), shard, worker).leave()?;
    }
    Copies::of_libraries(Arc::clone(broker), worker).leave()?;
    rows.forget(worker)?;
    Ok(true)
}

/// Returns the shards that a worker owned and nobody else follows.
fn left_alone(
    rows: &Rows,
    worker: &str,
    (workers, owners): (&[String], &[Owner]),
) -> Result<Vec<String>> {
    let mut followed = Vec::new();
    for other in workers.iter().filter(|it| *it != worker) {
        followed.extend(rows.beat(other)?.1.follows.into_keys());
    }
    let own = (0_u16..).zip(owners).filter(|it| it.1.worker == worker);
    let alone = own.filter(|(shard, _)| !followed.contains(shard));
    Ok(alone.map(|(shard, _)| format!("{shard:02}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::Memory;
    use crate::cluster::copies::Copy;
    use crate::cluster::rows::Beat;

    fn beat(number: u64, follows: &[u16]) -> Beat {
        Beat {
            number,
            follows: follows.iter().map(|shard| (*shard, 7)).collect(),
            ..Beat::default()
        }
    }

    /// Two shards, each owned by one of two workers, and followed by the other one.
    fn crawl() -> (Arc<dyn Broker>, Rows) {
        let broker: Arc<dyn Broker> = Arc::new(Memory::start(1 << 20));
        let rows = Rows::new(Arc::clone(&broker));
        for (shard, worker) in [(0, "a"), (1, "b")] {
            rows.join(worker).unwrap();
            let owner = Owner {
                worker: worker.to_owned(),
                epoch: 3 + u64::from(shard),
            };
            rows.change_owner(shard, |_| Some(owner.clone())).unwrap();
            rows.put_beat(worker, 0, &beat(1, &[1 - shard])).unwrap();
        }
        (broker, rows)
    }

    fn forget(broker: &Arc<dyn Broker>, worker: &str, is_lost: bool) -> Result<bool> {
        forget_worker(broker, worker, is_lost, Duration::ZERO)
    }

    #[track_caller]
    fn check_refused(result: Result<bool>, part: &str) {
        match result {
            Err(Error::Refused(reason)) => assert!(reason.contains(part), "{reason}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn nothing_is_kept_for_who_does_not_come_back() {
        let (broker, rows) = crawl();
        let copies = Copies::new(Arc::clone(&broker), 1, "a");
        let wish = None;
        copies.put(&Copy { position: 7, wish }).unwrap();
        forget(&broker, "a", false).unwrap();
        assert_eq!(rows.workers().unwrap(), ["b"]);
        assert!(copies.read().unwrap().is_empty());
        assert_eq!(lost(&*broker).unwrap(), []);
        // What it said is not taken for another one's of the name.
        assert!(rows.beat("a").unwrap().1.follows.is_empty());
        assert_eq!(forget(&broker, "a", false), Ok(false));
    }

    #[test]
    fn whose_disk_is_lost_is_written_down() {
        let (broker, rows) = crawl();
        forget(&broker, "b", true).unwrap();
        let expected = Lost {
            worker: "b".to_owned(),
            epochs: vec![3, 4],
        };
        assert_eq!(lost(&*broker).unwrap(), [expected]);
        // Its name may be had again, and be lost again.
        rows.join("b").unwrap();
        let owner = Owner {
            worker: "a".to_owned(),
            epoch: 5,
        };
        rows.change_owner(1, |_| Some(owner.clone())).unwrap();
        forget(&broker, "b", true).unwrap();
        let epochs: Vec<_> = lost(&*broker)
            .unwrap()
            .into_iter()
            .map(|it| it.epochs)
            .collect();
        assert_eq!(epochs, [vec![3, 4], vec![3, 5]]);
    }

    #[test]
    fn the_only_copy_of_a_shard_is_not_forgotten() {
        let (broker, rows) = crawl();
        let (version, _) = rows.beat("b").unwrap();
        rows.put_beat("b", version, &beat(2, &[])).unwrap();
        check_refused(forget(&broker, "a", true), "shards 00;");
        assert_eq!(rows.workers().unwrap(), ["a", "b"]);
        assert_eq!(lost(&*broker).unwrap(), []);
    }

    /// An engine at which a worker beats each time that somebody reads its row.
    struct Beating(Memory);

    impl Broker for Beating {
        fn create(&self, log: &str) -> Result<()> {
            self.0.create(log)
        }
        fn end(&self, log: &str) -> Result<u64> {
            self.0.end(log)
        }
        fn append_message(&self, log: &str, after: u64, message: &[u8]) -> Result<u64> {
            self.0.append_message(log, after, message)
        }
        fn publish(&self, log: &str, message: &[u8]) -> Result<()> {
            self.0.publish(log, message)
        }
        fn message_after(&self, log: &str, after: u64) -> Result<Option<(u64, Vec<u8>)>> {
            self.0.message_after(log, after)
        }
        fn tail(&self, log: &str, after: u64) -> Result<crate::broker::Tail> {
            self.0.tail(log, after)
        }
        fn max_message(&self) -> usize {
            self.0.max_message()
        }
        fn trim(&self, log: &str, through: u64) -> Result<()> {
            self.0.trim(log, through)
        }
        fn bytes(&self, log: &str) -> Result<u64> {
            self.0.bytes(log)
        }
        fn row(&self, name: &str) -> Result<Option<(u64, Vec<u8>)>> {
            let row = self.0.row(name)?;
            if let Some((version, bytes)) = row.as_ref().filter(|_| name == "worker.a") {
                self.0.put_row(name, *version, bytes)?;
            }
            Ok(row)
        }
        fn put_row(&self, name: &str, version: u64, row: &[u8]) -> Result<u64> {
            self.0.put_row(name, version, row)
        }
    }

    #[test]
    fn who_is_there_is_not_forgotten() {
        let broker: Arc<dyn Broker> = Arc::new(Beating(Memory::start(1 << 20)));
        let rows = Rows::new(Arc::clone(&broker));
        rows.join("a").unwrap();
        rows.put_beat("a", 0, &beat(1, &[])).unwrap();
        check_refused(forget(&broker, "a", true), "is running");
        assert_eq!(rows.workers().unwrap(), ["a"]);
    }
}
