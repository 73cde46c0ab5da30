//! The library of a worker, which is filled from the log of what all shards tell of their
//! documents.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::runtime::Builder;

use crate::broker::{self, Broker, Reader};
use crate::engine::library::{Library, LibraryOptions, Mark};
use crate::engine::{self, StopHandle};

/// The log of what all shards tell, in one order for all workers.
pub(super) const BULLETINS: &str = "docs";

/// Longest wait at the end of the log, after which it is looked whether to end, and wait while the
/// engine does not answer.
const WAITS: Duration = Duration::from_millis(50);

/// Time between two looks whether the engine still has what was read last.
const LOOK: Duration = Duration::from_secs(1);

/// The library of a worker, and the thread that fills it.
pub(super) struct Filling {
    library: Arc<Library>,
    broker: Arc<dyn Broker>,
    /// Whether the engine has what was read of it.
    is_sure: Arc<AtomicBool>,
    ends: Arc<AtomicBool>,
    thread: JoinHandle<Result<(), engine::Error>>,
}

impl Filling {
    /// Opens the library in a directory, and begins to fill it.
    ///
    /// # Errors
    ///
    /// What goes wrong on the disk, or a thread that cannot be started.
    pub(super) fn begin(
        path: &Path,
        options: &LibraryOptions,
        broker: Arc<dyn Broker>,
    ) -> Result<Self, engine::Error> {
        let library = Arc::new(Library::open(path, options)?);
        let (ends, is_sure) = (Arc::default(), Arc::default());
        let thread = {
            let (library, broker) = (Arc::clone(&library), Arc::clone(&broker));
            let (ends, is_sure) = (Arc::clone(&ends), Arc::clone(&is_sure));
            let fill = move || fill(&library, &broker, (&ends, &is_sure));
            let thread = thread::Builder::new().name("library".to_owned());
            thread.spawn(fill).map_err(engine::Error::Threads)?
        };
        Ok(Self {
            library,
            broker,
            is_sure,
            ends,
            thread,
        })
    }

    /// Returns the library.
    pub(super) fn library(&self) -> Arc<Library> {
        Arc::clone(&self.library)
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
        self.ends.store(true, Ordering::Relaxed);
        let died = |_| engine::Error::Internal("the thread of the library died".to_owned());
        self.thread.join().map_err(died)?
    }
}

fn fill(
    library: &Library,
    broker: &Arc<dyn Broker>,
    (ends, is_sure): (&AtomicBool, &AtomicBool),
) -> Result<(), engine::Error> {
    let runtime = Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(engine::Error::Threads)?;
    let mut reader = Reader::new(Arc::clone(broker), BULLETINS);
    let mut has_log = false;
    let mut looked = Instant::now();
    while !ends.load(Ordering::Relaxed) {
        if looked.elapsed() >= LOOK && is_sure.load(Ordering::Relaxed) {
            looked = Instant::now();
            let stays = library.has_last(|at| stands_at(&**broker, at));
            is_sure.store(stays.unwrap_or(false), Ordering::Relaxed);
        }
        let next = match has_log {
            true if is_sure.load(Ordering::Relaxed) => next(library, &mut reader),
            true => make_sure(library, &**broker).map(|()| {
                is_sure.store(true, Ordering::Relaxed);
                None
            }),
            false => broker.create(BULLETINS).map(|()| {
                has_log = true;
                None
            }),
        };
        match next {
            Ok(Some((at, bulletin))) => {
                library.take_in(at, &bulletin)?;
            }
            Ok(None) => {
                library.rest()?;
                if is_sure.load(Ordering::Relaxed) {
                    runtime.block_on(reader.arrives(WAITS));
                }
            }
            Err(error) => {
                tracing::debug!(%error, "what other shards tell is not read for the moment");
                // It may come back with less than it had.
                is_sure.store(false, Ordering::Relaxed);
                thread::sleep(WAITS);
            }
        }
    }
    Ok(library.checkpoint()?)
}

/// Returns the next bulletin, and its position.
fn next(library: &Library, reader: &mut Reader) -> broker::Result<Option<(u64, Vec<u8>)>> {
    match reader.message_after(library.position()) {
        // What is gone stays unknown here: a page like it is taken for one of its own.
        Err(broker::Error::Trimmed { first }) => {
            tracing::warn!(first, "the engine has only a part of what shards told");
            reader.message_after(first.saturating_sub(1))
        }
        next => next,
    }
}

/// Goes back if the engine has lost some of what was read, whatever it has in its place.
fn make_sure(library: &Library, broker: &dyn Broker) -> broker::Result<()> {
    let before = library.position();
    let position = library.stay_or_go_back(|at| stands_at(broker, at))?;
    if position < before {
        tracing::warn!(
            position,
            before,
            "the engine has lost a part of what shards told: what it has now is read from there"
        );
    }
    Ok(())
}

/// Returns which bulletin stands at a position now.
pub(super) fn stands_at(broker: &dyn Broker, position: u64) -> broker::Result<Option<Mark>> {
    match broker.message_after(BULLETINS, position.saturating_sub(1)) {
        Ok(found) => Ok(found
            .filter(|(at, _)| *at == position)
            .map(|(at, bulletin)| Mark::of(at, &bulletin))),
        Err(broker::Error::Trimmed { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::Memory;
    use crate::engine::library::{Bulletin, Features};
    use crate::url::Secret;

    /// An engine that has lost all is filled again by who comes first, before others come.
    #[test]
    fn what_stands_in_the_place_of_what_was_lost_is_read() {
        let engine = Memory::start(1 << 20);
        let place = tempfile::tempdir().unwrap();
        let secret = Secret::from_bytes([7; Secret::LEN]);
        let options = LibraryOptions::new(&Features::default(), false, &secret);
        let begin = || {
            let broker = Arc::new(engine.connect());
            let filling = Filling::begin(place.path(), &options, broker).unwrap();
            filling.up_to_date()(&StopHandle::new());
            filling
        };
        let tell = |from: u16, count: u64| {
            engine.create(BULLETINS).unwrap();
            for number in 1..=count {
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
        };
        tell(0, 5);
        let filling = begin();
        assert_eq!(filling.library().through(0), 5);
        filling.end().unwrap();
        engine.lose_all();
        tell(1, 7);
        let filling = begin();
        assert_eq!(filling.library().through(1), 7);
        assert_eq!(filling.library().position(), 7);
        // While it reads, and by which it is found later at least.
        engine.lose_tail(BULLETINS, 4);
        tell(2, 9);
        filling.up_to_date()(&StopHandle::new());
        filling.end().unwrap();
        let filling = begin();
        assert_eq!(filling.library().through(2), 9);
        assert_eq!(filling.library().position(), 13);
        filling.end().unwrap();
    }
}
