//! The log of a shard, as its store sees it: a log of the broker, and the row that says who owns
//! it.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::copies::{Copies, LOG_MAX};
use super::rows::{Owner, Rows};
use crate::broker::{Broker, Error};
use crate::engine::{Failpoint, Step};
use crate::store::{CommitLog, LogError, LogResult};

/// Returns the name of a shard's log in the engine.
pub(super) fn log_of(shard: u16) -> String {
    format!("{shard:02}")
}

/// The log of a shard.
pub struct ShardLog {
    broker: Arc<dyn Broker>,
    rows: Rows,
    shard: u16,
    /// Its name in the engine.
    name: String,
    /// Name of the worker whose connection this is.
    worker: String,
    /// Who reads it.
    copies: Copies,
    /// Bytes that it may have.
    most: u64,
    /// The position of the last entry that was appended or read here.
    last: Arc<AtomicU64>,
    failpoint: Mutex<Option<Failpoint>>,
}

impl ShardLog {
    /// Returns the log of a shard, for a worker of this name.
    pub fn new(broker: Arc<dyn Broker>, shard: u16, worker: &str) -> Self {
        Self {
            rows: Rows::new(Arc::clone(&broker)),
            copies: Copies::new(Arc::clone(&broker), shard, worker),
            broker,
            shard,
            name: log_of(shard),
            worker: worker.to_owned(),
            most: LOG_MAX,
            last: Arc::default(),
            failpoint: Mutex::new(None),
        }
    }

    /// Lets the log have so many bytes: what copies lack beyond that is removed.
    #[must_use]
    pub fn bounded(self, most: u64) -> Self {
        Self { most, ..self }
    }

    /// Keeps here what the position is of the last entry that was appended or read.
    pub(super) fn noting(self, last: &Arc<AtomicU64>) -> Self {
        let last = Arc::clone(last);
        Self { last, ..self }
    }

    /// Lets the process kill itself at a step, in tests.
    #[must_use]
    pub fn failing(mut self, failpoint: Option<Failpoint>) -> Self {
        self.failpoint = Mutex::new(failpoint);
        self
    }
}

impl CommitLog for ShardLog {
    fn create(&self) -> LogResult<()> {
        self.broker.create(&self.name).map_err(explain)
    }

    fn take(&self, above: u64) -> LogResult<u64> {
        // Whoever asks again gets a higher epoch, whatever became of the last one. Another worker
        // that was first is taken over from.
        let taken = self.rows.change_owner(self.shard, |owner| {
            Some(Owner {
                worker: self.worker.clone(),
                epoch: owner.epoch.max(above) + 1,
            })
        });
        Ok(taken.map_err(explain)?.epoch)
    }

    fn append(&self, after: u64, entry: &[u8]) -> LogResult<u64> {
        let at = self
            .broker
            .append(&self.name, after, entry)
            .map_err(explain)?;
        self.last.store(at, Ordering::Relaxed);
        let failpoint = self.failpoint.lock();
        let mut failpoint = failpoint.unwrap_or_else(PoisonError::into_inner);
        Failpoint::reach(&mut failpoint, Step::LogAppended);
        Ok(at)
    }

    fn next(&self, after: u64) -> LogResult<Option<(u64, Vec<u8>)>> {
        let next = self.broker.next(&self.name, after).map_err(explain)?;
        if let Some((at, _)) = next {
            self.last.store(at, Ordering::Relaxed);
        }
        Ok(next)
    }

    fn end(&self) -> LogResult<u64> {
        self.broker.end(&self.name).map_err(explain)
    }

    fn trim(&self, through: u64) -> LogResult<()> {
        let trimmed = self.copies.trim(&self.name, through, self.most);
        trimmed.map_err(explain)
    }
}

impl fmt::Debug for ShardLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShardLog")
            .field("shard", &self.shard)
            .finish_non_exhaustive()
    }
}

/// What an error of the engine means for a log.
pub(super) fn explain(error: Error) -> LogError {
    match error {
        Error::Moved => LogError::Moved,
        Error::Away(reason) => LogError::Away(reason),
        Error::Trimmed { first } => LogError::Trimmed { first },
        Error::Missing(_) => LogError::Refused(format!(
            "{error}, and this directory has a part of it: the engine has lost its data, or is \
             another one"
        )),
        Error::Refused(reason) => LogError::Refused(reason),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::broker::{Fault, Memory as Engine};
    use crate::store::{self, Batch, Durability, Memory, Replicated, Store, Table, copy};

    const SHARD: &str = "00";

    /// A log whose waiting costs no time.
    #[derive(Debug)]
    struct Hasty(ShardLog);

    impl CommitLog for Hasty {
        fn create(&self) -> LogResult<()> {
            self.0.create()
        }
        fn take(&self, above: u64) -> LogResult<u64> {
            self.0.take(above)
        }
        fn append(&self, after: u64, entry: &[u8]) -> LogResult<u64> {
            self.0.append(after, entry)
        }
        fn next(&self, after: u64) -> LogResult<Option<(u64, Vec<u8>)>> {
            self.0.next(after)
        }
        fn end(&self) -> LogResult<u64> {
            self.0.end()
        }
        fn trim(&self, through: u64) -> LogResult<()> {
            self.0.trim(through)
        }
        fn pause(&self, _: u32) {}
    }

    fn open(local: &Arc<Memory>, engine: &Arc<Engine>) -> store::Result<Replicated> {
        let log = ShardLog::new(Arc::clone(engine) as Arc<dyn Broker>, 0, "w");
        Replicated::open(Arc::clone(local) as Arc<dyn Store>, Arc::new(Hasty(log)))
    }

    fn put(number: u16) -> Batch {
        let mut batch = Batch::new();
        // Some entries are long enough to go in parts.
        let row = vec![number as u8; usize::from(number % 7) * 40];
        let noise = row.iter().zip(0_u64..).map(|(byte, at)| {
            let mixed = xxhash_rust::xxh3::xxh3_64_with_seed(&at.to_le_bytes(), (*byte).into());
            mixed as u8
        });
        batch.put(
            Table::Pages,
            number.to_be_bytes(),
            noise.collect::<Vec<_>>(),
        );
        batch
    }

    fn rows(store: &dyn Store) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let rows = store.range(Table::Pages, &[], &[], usize::MAX).unwrap();
        rows.into_iter().collect()
    }

    fn commits(store: &Replicated, numbers: std::ops::Range<u16>) {
        for number in numbers {
            store.commit(put(number), Durability::Disk).unwrap();
        }
    }

    #[test]
    fn a_log_that_lost_its_tail_is_gone_on_with() {
        let (local, engine) = (Arc::new(Memory::default()), Arc::new(Engine::start(1_000)));
        let store = open(&local, &engine).unwrap();
        commits(&store, 0..5);
        engine.lose_tail(SHARD, 2);
        commits(&store, 5..8);
        assert_eq!(rows(&store).len(), 8);
        drop(store);
        // The same, noticed at a start, where even the beginning is gone.
        engine.lose_tail(SHARD, 0);
        let store = open(&local, &engine).unwrap();
        commits(&store, 8..9);
        drop(store);
        let store = open(&local, &engine).unwrap();
        assert_eq!(rows(&store).len(), 9);
        // Begun, one commit, begun again.
        assert_eq!(engine.end(SHARD), Ok(3));
    }

    #[test]
    fn a_log_that_begins_again_is_for_who_has_all() {
        let engine = Arc::new(Engine::start(1_000));
        let (ahead, behind) = (Arc::new(Memory::default()), Arc::new(Memory::default()));
        commits(&open(&ahead, &engine).unwrap(), 0..4);
        // Another owner takes over, of whose last commits the first one knows nothing.
        let end = engine.end(SHARD).unwrap();
        drop(open(&behind, &engine).unwrap());
        assert!(engine.end(SHARD).unwrap() > end);
        commits(&open(&ahead, &engine).unwrap(), 4..6);
        let last = copy::Origin::of(&*ahead).unwrap().unwrap();
        let engine = Arc::new(Engine::start(1_000));
        let again = store::begin_again(last.epoch, last.number).unwrap();
        engine.create(SHARD).unwrap();
        engine.append(SHARD, 0, &again).unwrap();
        // Whoever comes first.
        for _ in 0..2 {
            let refused = open(&behind, &engine).err();
            let is_outdated = matches!(refused, Some(store::Error::Outdated { .. }));
            assert!(is_outdated, "{refused:?}");
            commits(&open(&ahead, &engine).unwrap(), 6..7);
        }
        assert_eq!(rows(&*ahead).len(), 7);
        assert_eq!(rows(&*behind).len(), 4);
    }

    #[test]
    fn who_was_cut_off_is_refused_by_whom_took_over() {
        let (local, engine) = (Arc::new(Memory::default()), Arc::new(Engine::start(1_000)));
        let cut_off = Arc::new(engine.connect());
        let stale = open(&local, &cut_off).unwrap();
        commits(&stale, 0..2);
        let owner = open(&local, &engine).unwrap();
        let before = rows(&owner);
        cut_off.fail([Fault::RequestLost]);
        let refused = stale.commit(put(2), Durability::Disk);
        assert!(matches!(refused, Err(store::Error::Stale)), "{refused:?}");
        assert_eq!(rows(&owner), before);
        commits(&owner, 3..4);
    }

    #[test]
    fn what_the_disk_has_leaves_the_log() {
        let (local, engine) = (Arc::new(Memory::default()), Arc::new(Engine::start(1_000)));
        let store = open(&local, &engine).unwrap();
        commits(&store, 0..300);
        // The entry of commit 256 is left, and what is behind it.
        assert_eq!(engine.next(SHARD, 0), Err(Error::Trimmed { first: 257 }));
        drop(store);
        let store = open(&local, &engine).unwrap();
        commits(&store, 300..301);
        assert_eq!(rows(&store).len(), 301);
    }

    #[test]
    fn an_engine_without_the_log_is_refused() {
        let local = Arc::new(Memory::default());
        drop(open(&local, &Arc::new(Engine::start(1_000))).unwrap());
        let error = open(&local, &Arc::new(Engine::start(1_000))).err().unwrap();
        assert!(error.to_string().contains("lost its data"), "{error}");
    }

    /// What happens between two commits.
    #[derive(Debug, Clone)]
    enum Event {
        Fault(Fault),
        /// The process is killed, and what was not answered may come later.
        Restart,
        LoseTail(u64),
        Trim(u64),
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            Just(Event::Fault(Fault::RequestLost)),
            Just(Event::Fault(Fault::AnswerLost)),
            (0..6_u8).prop_map(|after| Event::Fault(Fault::Delayed(after))),
            Just(Event::Restart),
            (0..12_u64).prop_map(Event::LoseTail),
            (0..12_u64).prop_map(Event::Trim),
        ]
    }

    proptest! {
        /// Whatever becomes of requests, answers and the log, each commit is there once it was
        /// made, in the order in which it was made, and what the log has is what was committed.
        #[test]
        fn no_commit_is_lost_or_doubled(
            rounds in prop::collection::vec(prop::collection::vec(event(), 0..4), 1..12),
            max_message in 60..400_usize,
        ) {
            let (local, engine) = (Arc::new(Memory::default()), Arc::new(Engine::start(max_message)));
            let mut store = open(&local, &engine).unwrap();
            let mut expected = BTreeMap::new();
            for (number, events) in (0..).zip(rounds) {
                for event in events {
                    match event {
                        Event::Fault(fault) => engine.fail([fault]),
                        Event::Restart => {
                            drop(store);
                            store = open(&local, &engine).unwrap();
                        }
                        Event::LoseTail(by) => {
                            let end = engine.end(SHARD).unwrap();
                            engine.lose_tail(SHARD, end.saturating_sub(by));
                        }
                        // What is still to be read must not be trimmed.
                        Event::Trim(by) => {
                            let end = engine.end(SHARD).unwrap();
                            engine.trim(SHARD, end.saturating_sub(by)).unwrap();
                        }
                    }
                }
                store.commit(put(number), Durability::Disk).unwrap();
                let model = Memory::default();
                model.commit(put(number), Durability::Disk).unwrap();
                expected.extend(rows(&model));
                prop_assert_eq!(rows(&store), expected.clone());
            }
            let mut after = 0;
            let mut last = Vec::new();
            loop {
                match engine.next(SHARD, after) {
                    Ok(None) => break,
                    Ok(Some((at, entry))) => {
                        prop_assert_ne!(&last, &entry, "doubled at {}", at);
                        last = entry;
                        after = at;
                    }
                    Err(Error::Trimmed { first }) => after = first - 1,
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }
}
