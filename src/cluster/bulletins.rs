//! The library of a worker, which is filled from the log of what all shards tell of their
//! documents.
//!
//! The log keeps what a library lacks that is registered for it, as the log of a shard does for
//! copies. A worker that is not registered, or lacks what is gone, copies the library of another
//! one, and goes on behind what that had.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::runtime::Builder;

use super::copies::{Copies, Copy, Giver, Taker, unreadable};
use super::rows::drawn;
use crate::broker::{self, Broker, Reader};
use crate::engine::library::{
    Library, LibraryChunk, LibraryCopy, LibraryCursor, LibraryOptions, LibrarySource, Mark, Stands,
};
use crate::engine::{self, StopHandle};

/// The log of what all shards tell, in one order for all workers.
pub(super) const BULLETINS: &str = "docs";

/// Longest wait at the end of the log, after which it is looked whether to end, and wait while the
/// engine does not answer.
const WAITS: Duration = Duration::from_millis(50);

/// Time between two looks whether the engine still has what was read last.
const LOOK: Duration = Duration::from_secs(1);

/// Time between two times that the log is trimmed.
const TRIM: Duration = Duration::from_secs(10);

/// Time without a part of a copy after which it is told that nobody gives one.
const PATIENCE: Duration = Duration::from_secs(30);

/// How a worker takes part in what all shards tell.
pub(super) struct Listening {
    /// Where that is.
    pub(super) broker: Arc<dyn Broker>,
    /// Name of the worker.
    pub(super) worker: String,
    /// Bytes that the log may have before the slowest library is dropped.
    pub(super) log_max: u64,
}

/// The library of a worker, and the threads that fill it and give copies of it.
pub(super) struct Filling {
    library: Arc<Library>,
    broker: Arc<dyn Broker>,
    /// Whether the engine has what was read of it.
    is_sure: Arc<AtomicBool>,
    /// The workers that are there, as this one has heard.
    alive: Alive,
    end: Sender<()>,
    end_giver: Sender<()>,
    thread: JoinHandle<Result<(), engine::Error>>,
    giver: JoinHandle<()>,
}

/// The workers that are there.
type Alive = Arc<Mutex<BTreeSet<String>>>;

impl Filling {
    /// Opens the library in a directory, and begins to fill it.
    ///
    /// # Errors
    ///
    /// What goes wrong on the disk, or a thread that cannot be started.
    pub(super) fn begin(
        path: &Path,
        options: &LibraryOptions,
        listening: Listening,
    ) -> Result<Self, engine::Error> {
        let Listening {
            broker,
            worker,
            log_max,
        } = listening;
        let library = Arc::new(Library::open(path, options)?);
        let (is_sure, is_registered) = (Arc::default(), Arc::default());
        let alive = Alive::default();
        let copies = Copies::of_libraries(Arc::clone(&broker), &worker);
        let start = |name: &str| thread::Builder::new().name(name.to_owned());
        let (end, ended) = mpsc::channel();
        let reader = Filler {
            reader: Reader::new(Arc::clone(&broker), BULLETINS),
            library: Arc::clone(&library),
            broker: Arc::clone(&broker),
            copies: copies.clone(),
            is_sure: Arc::clone(&is_sure),
            is_registered: Arc::clone(&is_registered),
            has_log: false,
            patience: PATIENCE,
            ended,
        };
        let thread = start("library").spawn(move || reader.run());
        let (end_giver, ended) = mpsc::channel();
        let mut keeper = Keeper {
            library: Arc::clone(&library),
            copies: copies.clone(),
            alive: Arc::clone(&alive),
            is_sure: Arc::clone(&is_sure),
            is_registered,
            log_max,
            trimmed: None,
        };
        let source = LibrarySource::new(Arc::clone(&library));
        let giver = Giver::new(Arc::clone(&broker), copies, source);
        let giver =
            start("libraries").spawn(move || giver.run(&ended, |copies| keeper.turn(copies)));
        Ok(Self {
            library,
            broker,
            is_sure,
            alive,
            end,
            end_giver,
            thread: thread.map_err(engine::Error::Threads)?,
            giver: giver.map_err(engine::Error::Threads)?,
        })
    }

    /// Returns the library.
    pub(super) fn library(&self) -> Arc<Library> {
        Arc::clone(&self.library)
    }

    /// Notes which workers are there.
    pub(super) fn hear_of(&self, alive: BTreeSet<String>) {
        *self.alive.lock().unwrap_or_else(PoisonError::into_inner) = alive;
    }

    /// Returns how a shard waits before it begins: until what all had told by now is here, so that
    /// what was found to repeat something of another shard finds it again.
    pub(super) fn up_to_date(&self) -> impl FnOnce(&StopHandle) + Send + 'static {
        let (library, broker) = (self.library(), Arc::clone(&self.broker));
        let is_sure = Arc::clone(&self.is_sure);
        move |stop| {
            let mut end = None;
            while !stop.is_stopped() {
                let is_sure = is_sure.load(Ordering::Relaxed);
                // The engine may lose some of it meanwhile.
                let now = broker.end(BULLETINS).ok();
                end = end.into_iter().chain(now).min();
                if is_sure && end.is_some_and(|end| library.position() >= end) {
                    return;
                }
                thread::sleep(WAITS);
            }
        }
    }

    /// Whether it has ended, which it does by itself only where something is wrong.
    pub(super) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends it, when all that is here is durable.
    ///
    /// # Errors
    ///
    /// What went wrong on the disk.
    pub(super) fn end(self) -> Result<(), engine::Error> {
        let Self {
            end,
            end_giver,
            thread,
            giver,
            ..
        } = self;
        // Their threads end by that.
        drop((end, end_giver));
        let died = |_| engine::Error::Internal("the thread of the library died".to_owned());
        giver.join().map_err(died)?;
        thread.join().map_err(died)?
    }
}

/// What fills a library.
struct Filler {
    library: Arc<Library>,
    broker: Arc<dyn Broker>,
    reader: Reader,
    copies: Copies<LibraryCursor>,
    is_sure: Arc<AtomicBool>,
    /// Whether the log keeps what is lacking here.
    is_registered: Arc<AtomicBool>,
    has_log: bool,
    /// Time without a part of a copy after which it is told that nobody gives one.
    patience: Duration,
    ended: Receiver<()>,
}

impl Filler {
    /// Fills the library until it is asked to end, and makes it durable.
    fn run(mut self) -> Result<(), engine::Error> {
        let runtime = Builder::new_current_thread().enable_time().build();
        let runtime = runtime.map_err(engine::Error::Threads)?;
        let mut looked = Instant::now();
        while !self.is_to_end() {
            if looked.elapsed() >= LOOK && self.is_sure() {
                looked = Instant::now();
                let stays = self.library.has_last(|at| stands_at(&*self.broker, at));
                self.set_sure(stays.unwrap_or(false));
            }
            match self.next() {
                Ok(Some((at, bulletin))) => self.library.take_in(at, &bulletin)?,
                Ok(None) => {
                    self.library.rest()?;
                    if self.is_sure() {
                        runtime.block_on(self.reader.arrives(WAITS));
                    }
                }
                Err(broker::Error::Trimmed { first }) => {
                    self.set_sure(false);
                    self.copy(first)?;
                }
                Err(error) => {
                    tracing::debug!(%error, "what other shards tell is not read for the moment");
                    // It may come back with less than it had.
                    self.set_sure(false);
                    thread::sleep(WAITS);
                }
            }
        }
        Ok(self.library.checkpoint()?)
    }

    fn is_to_end(&self) -> bool {
        self.ended.try_recv() != Err(TryRecvError::Empty)
    }

    fn is_sure(&self) -> bool {
        self.is_sure.load(Ordering::Relaxed)
    }

    fn set_sure(&self, is_sure: bool) {
        self.is_sure.store(is_sure, Ordering::Relaxed);
    }

    /// Returns the next bulletin, and its position. Before that it is made sure that the engine has
    /// what was read, and will keep what was not.
    fn next(&mut self) -> broker::Result<Option<(u64, Vec<u8>)>> {
        if !self.has_log {
            self.broker.create(BULLETINS)?;
            self.has_log = true;
        }
        if !self.is_sure() {
            self.make_sure()?;
            // Who was is asked for no row while the engine comes back: shards wait for this.
            if !self.is_registered.load(Ordering::Relaxed) {
                self.register()?;
            }
            self.set_sure(true);
        } else if !self.is_registered.load(Ordering::Relaxed) {
            // It was dropped. What it has read by now it has.
            self.be_registered()?;
        }
        self.reader.message_after(self.library.position())
    }

    /// Goes back if the engine has lost some of what was read, whatever it has in its place.
    fn make_sure(&self) -> broker::Result<()> {
        let before = self.library.position();
        let stands = |at| stands_at(&*self.broker, at);
        let position = self.library.stay_or_go_back(stands)?;
        if position < before {
            tracing::warn!(
                position,
                before,
                "the engine has lost a part of what shards told: what it has now is read from there"
            );
        }
        Ok(())
    }

    /// Has the log keep what is lacking here.
    ///
    /// # Errors
    ///
    /// [`broker::Error::Trimmed`] if what is gone may be lacking here: it was not kept for this
    /// worker.
    fn register(&self) -> broker::Result<()> {
        let known = self.copies.read()?;
        if known
            .get(self.copies.worker())
            .is_none_or(|it| it.wish.is_some())
        {
            self.broker.message_after(BULLETINS, 0)?;
        }
        self.be_registered()
    }

    fn be_registered(&self) -> broker::Result<()> {
        self.copies.put(&Copy {
            position: self.library.durable(),
            wish: None,
        })?;
        self.is_registered.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Whether another worker has a whole library, whether it is there or not.
    fn is_anywhere(&self) -> broker::Result<bool> {
        let copies = self.copies.read()?;
        let mut others = copies
            .iter()
            .filter(|(name, _)| *name != self.copies.worker());
        Ok(others.any(|(_, it)| it.wish.is_none()))
    }

    /// Copies the library of another worker, where the log begins at `first` and so may not have
    /// what is lacking here. If nobody has any, it goes on without.
    fn copy(&self, first: u64) -> Result<(), engine::Error> {
        tracing::info!(
            first,
            "the log of what shards told does not have all that is lacking here: the library of \
             another worker is copied"
        );
        self.is_registered.store(false, Ordering::Relaxed);
        let broken = |error: broker::Error| engine::Error::Internal(error.to_string());
        let library = Arc::clone(&self.library);
        let mut copy = LibraryCopy::begin(&library, drawn().map_err(broken)?);
        let taker = Taker::new(Arc::clone(&self.broker), self.copies.clone());
        let mut taker = taker.map_err(broken)?;
        let mut moved = Instant::now();
        loop {
            if self.is_to_end() {
                return Ok(());
            }
            // Nothing of the log may go meanwhile.
            match taker.next(copy.wish(), 0) {
                Ok(Some(bytes)) => match LibraryChunk::decode(&bytes) {
                    Ok(chunk) => {
                        let before = copy.wish();
                        if copy.take(chunk)? {
                            tracing::info!(
                                documents = library.documents(),
                                "the library is copied"
                            );
                            break;
                        }
                        if copy.wish() != before {
                            moved = Instant::now();
                        }
                    }
                    Err(reason) => unreadable(&reason),
                },
                Ok(None) if moved.elapsed() >= self.patience => {
                    moved = Instant::now();
                    if self.is_anywhere().unwrap_or(true) {
                        tracing::warn!(
                            first,
                            "the workers that have what is lacking here of what shards told are \
                             not there: it is waited for one of them. Of one that does not come \
                             back, `gleaner cluster forget` tells the others"
                        );
                        continue;
                    }
                    tracing::warn!(
                        first,
                        "no other worker has a library to be copied: what is gone of what shards \
                         told stays unknown here, and a page like it is taken for one of its own"
                    );
                    copy.give_up(first.saturating_sub(1))?;
                    break;
                }
                Ok(None) => thread::sleep(WAITS),
                Err(error) => {
                    tracing::debug!(%error, "the copy of the library waits for the engine");
                    moved = Instant::now();
                    thread::sleep(WAITS);
                }
            }
        }
        // Where that fails, all of it is done again.
        if let Err(error) = self.be_registered() {
            tracing::debug!(%error, "the library was not registered");
        }
        Ok(())
    }
}

/// Who gives copies of its library and trims the log: of those whose libraries are whole and who
/// are there, the first by name.
struct Keeper {
    library: Arc<Library>,
    copies: Copies<LibraryCursor>,
    alive: Alive,
    /// Whether the engine has what was read here.
    is_sure: Arc<AtomicBool>,
    /// Whether the log keeps what is lacking here.
    is_registered: Arc<AtomicBool>,
    log_max: u64,
    /// When the log was trimmed last.
    trimmed: Option<Instant>,
}

impl Keeper {
    /// Returns whether this worker is the one, of those with these copies, and trims the log then.
    fn turn(&mut self, copies: &BTreeMap<String, Copy<LibraryCursor>>) -> broker::Result<bool> {
        if !self.is_sure.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let alive = {
            self.alive
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone()
        };
        if !copies.contains_key(self.copies.worker()) {
            self.is_registered.store(false, Ordering::Relaxed);
        }
        let is_whole = |name: &&String| copies.get(*name).is_some_and(|it| it.wish.is_none());
        if alive.iter().find(is_whole).map(String::as_str) != Some(self.copies.worker()) {
            return Ok(false);
        }
        // One that is not registered yet may read what is removed.
        let are_all_known = alive.iter().all(|name| copies.contains_key(name));
        let through = self.library.durable().saturating_sub(1);
        let is_due = self.trimmed.is_none_or(|at| at.elapsed() >= TRIM);
        if are_all_known && is_due && through > 0 {
            self.copies.trim(BULLETINS, through, self.log_max)?;
            self.trimmed = Some(Instant::now());
        }
        Ok(true)
    }
}

/// Returns what stands at a position now.
pub(super) fn stands_at(broker: &dyn Broker, position: u64) -> broker::Result<Stands> {
    match broker.message_after(BULLETINS, position.saturating_sub(1)) {
        Ok(Some((at, bulletin))) if at == position => Ok(Stands::Bulletin(Mark::of(at, &bulletin))),
        Ok(_) => Ok(Stands::Nothing),
        Err(broker::Error::Trimmed { first }) => Ok(Stands::Removed { first }),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::{Error, Memory};
    use crate::cluster::rows::{Beat, Rows};
    use crate::engine::library::{Bulletin, Features};
    use crate::url::Secret;

    /// Bytes that the log may have.
    const LOG_MAX: u64 = 1 << 20;

    fn options() -> LibraryOptions {
        let secret = Secret::from_bytes([7; Secret::LEN]);
        LibraryOptions::new(&Features::default(), false, &secret)
    }

    fn begin(engine: &Memory, place: &Path, worker: &str) -> Filling {
        let listening = Listening {
            broker: Arc::new(engine.connect()),
            worker: worker.to_owned(),
            log_max: LOG_MAX,
        };
        Filling::begin(place, &options(), listening).unwrap()
    }

    /// A shard tells notices of these numbers.
    fn tell(engine: &Memory, from: u16, numbers: std::ops::RangeInclusive<u64>) {
        engine.create(BULLETINS).unwrap();
        for number in numbers {
            let bulletin = Bulletin {
                from,
                gone: 0,
                first: number,
                features: 0,
                // It counts, whether or not it can be read.
                rows: vec![b"a notice".to_vec()],
            };
            engine.publish(BULLETINS, &bulletin.encode()).unwrap();
        }
    }

    fn first(engine: &Memory) -> u64 {
        match engine.message_after(BULLETINS, 0) {
            Err(Error::Trimmed { first }) => first,
            _ => 1,
        }
    }

    /// Waits until something is so.
    #[track_caller]
    fn until(is_so: impl Fn() -> bool) {
        let start = Instant::now();
        while !is_so() {
            assert!(start.elapsed() < Duration::from_mins(1), "it does not come");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn the_log_goes_when_all_have_read_it_and_who_comes_later_copies_a_library() {
        let engine = Memory::start(1 << 20);
        let places = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let begin = |at: usize, worker: &str| {
            let filling = begin(&engine, places[at].path(), worker);
            filling.up_to_date()(&StopHandle::new());
            filling
        };
        let names = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
        tell(&engine, 0, 1..=5);
        let one = begin(0, "one");
        let two = begin(1, "two");
        one.library().checkpoint().unwrap();
        // Beside the keeper of the worker, which knows of nobody yet.
        let turn = |worker: &str, alive: &[&str]| {
            let mut keeper = Keeper {
                library: one.library(),
                copies: Copies::of_libraries(Arc::new(engine.connect()), worker),
                alive: Arc::new(Mutex::new(names(alive))),
                is_sure: Arc::clone(&one.is_sure),
                is_registered: Arc::default(),
                log_max: LOG_MAX,
                trimmed: None,
            };
            let copies = keeper.copies.read().unwrap();
            keeper.turn(&copies).unwrap()
        };
        // One of them is there and has not said that it has read anything.
        assert!(turn("one", &["one", "two"]));
        assert!(!turn("two", &["one", "two"]));
        assert_eq!(first(&engine), 1);
        let rows = Rows::new(Arc::new(engine.connect()));
        let beat = Beat {
            library: 5,
            ..Beat::default()
        };
        rows.put_beat("two", 0, &beat).unwrap();
        // One that is there and not registered yet may still read.
        assert!(turn("one", &["one", "two", "zero"]));
        assert_eq!(first(&engine), 1);
        assert!(turn("one", &["one", "two"]));
        assert_eq!(first(&engine), 5);
        one.hear_of(names(&["one", "two", "zero"]));
        let late = begin(2, "zero");
        assert_eq!(late.library().through(0), 5);
        assert_eq!(late.library().position(), 5);
        tell(&engine, 0, 6..=7);
        late.up_to_date()(&StopHandle::new());
        assert_eq!(late.library().through(0), 7);
        late.end().unwrap();
        // Who has read what is gone, and was kept for, goes on.
        tell(&engine, 0, 8..=9);
        let late = begin(2, "zero");
        assert_eq!(late.library().through(0), 9);
        for it in [one, two, late] {
            it.end().unwrap();
        }
    }

    /// What fills the library of worker `one`, which asks others for 20 ms.
    fn filler(engine: &Memory, place: &Path, ended: Receiver<()>) -> Filler {
        let broker: Arc<dyn Broker> = Arc::new(engine.connect());
        Filler {
            library: Arc::new(Library::open(place, &options()).unwrap()),
            reader: Reader::new(Arc::clone(&broker), BULLETINS),
            copies: Copies::of_libraries(Arc::clone(&broker), "one"),
            broker,
            is_sure: Arc::default(),
            is_registered: Arc::default(),
            has_log: false,
            patience: Duration::from_millis(20),
            ended,
        }
    }

    #[test]
    fn what_others_have_is_waited_for_and_what_nobody_has_is_not() {
        let engine = Memory::start(1 << 20);
        let place = tempfile::tempdir().unwrap();
        tell(&engine, 0, 1..=5);
        engine.trim(BULLETINS, 3).unwrap();
        let of_libraries = |worker: &str| {
            let broker: Arc<dyn Broker> = Arc::new(engine.connect());
            Copies::of_libraries(broker, worker)
        };
        let whole = Copy {
            position: 5,
            wish: None,
        };
        of_libraries("two").put(&whole).unwrap();
        let wishes = || {
            let copies = of_libraries("one").read().unwrap();
            copies.get("one").is_some_and(|it| it.wish.is_some())
        };
        // It waits, and can be ended then. What it has is not taken for a whole library.
        let (end, ended) = mpsc::channel();
        let waiting = filler(&engine, place.path(), ended);
        let library = Arc::clone(&waiting.library);
        let thread = thread::spawn(move || waiting.run());
        until(wishes);
        drop(end);
        thread.join().unwrap().unwrap();
        assert_eq!(library.position(), 0);
        assert!(wishes());
        drop(library);
        let (end, ended) = mpsc::channel();
        let waiting = filler(&engine, place.path(), ended);
        let library = Arc::clone(&waiting.library);
        let thread = thread::spawn(move || waiting.run());
        of_libraries("two").leave().unwrap();
        until(|| library.position() == 5 && !wishes());
        drop(end);
        thread.join().unwrap().unwrap();
    }

    /// An engine that has lost all is filled again by who comes first, before others come.
    #[test]
    fn what_stands_in_the_place_of_what_was_lost_is_read() {
        let engine = Memory::start(1 << 20);
        let place = tempfile::tempdir().unwrap();
        let begin = || {
            let filling = begin(&engine, place.path(), "one");
            filling.up_to_date()(&StopHandle::new());
            filling
        };
        tell(&engine, 0, 1..=5);
        let filling = begin();
        assert_eq!(filling.library().through(0), 5);
        filling.end().unwrap();
        engine.lose_all();
        tell(&engine, 1, 1..=7);
        let filling = begin();
        assert_eq!(filling.library().through(1), 7);
        assert_eq!(filling.library().position(), 7);
        // While it reads, and by which it is found later at least.
        engine.lose_tail(BULLETINS, 4);
        tell(&engine, 2, 1..=9);
        filling.up_to_date()(&StopHandle::new());
        filling.end().unwrap();
        let filling = begin();
        assert_eq!(filling.library().through(2), 9);
        assert_eq!(filling.library().position(), 13);
        filling.end().unwrap();
    }
}
