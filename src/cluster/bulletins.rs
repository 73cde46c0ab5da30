//! The library of a worker, which is filled from the log of what all shards tell of their
//! documents.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::broker::{self, Broker};
use crate::engine::library::{Library, LibraryOptions};
use crate::engine::{self, StopHandle};

/// The log of what all shards tell, in one order for all workers.
pub(super) const BULLETINS: &str = "docs";

/// Longest wait at the end of the log, and wait while the engine does not answer.
const WAITS: Duration = Duration::from_millis(50);

/// Wait at the end of the log behind something that came: what follows soon may be the same as what
/// is judged meanwhile.
const SOON: Duration = Duration::from_millis(5);

/// The library of a worker, and the thread that fills it.
pub(super) struct Filling {
    library: Arc<Library>,
    broker: Arc<dyn Broker>,
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
        let ends = Arc::new(AtomicBool::new(false));
        let thread = {
            let (library, broker) = (Arc::clone(&library), Arc::clone(&broker));
            let ends = Arc::clone(&ends);
            let fill = move || fill(&library, &*broker, &ends);
            let thread = thread::Builder::new().name("library".to_owned());
            thread.spawn(fill).map_err(engine::Error::Threads)?
        };
        Ok(Self {
            library,
            broker,
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
        move |stop| {
            let mut end = None;
            while !stop.is_stopped() {
                end = end.or_else(|| broker.end(BULLETINS).ok());
                if end.is_some_and(|end| library.position() >= end) {
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

fn fill(library: &Library, broker: &dyn Broker, ends: &AtomicBool) -> Result<(), engine::Error> {
    let mut has_log = false;
    let mut wait = WAITS;
    while !ends.load(Ordering::Relaxed) {
        let next = match has_log {
            true => next(library, broker, wait == WAITS),
            false => broker.create(BULLETINS).map(|()| {
                has_log = true;
                None
            }),
        };
        match next {
            Ok(Some((at, bulletin))) => {
                library.take_in(at, &bulletin)?;
                wait = SOON;
            }
            Ok(None) => {
                library.rest()?;
                thread::sleep(wait);
                wait = (wait * 3 / 2).min(WAITS);
            }
            Err(error) => {
                tracing::debug!(%error, "what other shards tell is not read for the moment");
                thread::sleep(WAITS);
            }
        }
    }
    Ok(library.checkpoint()?)
}

/// Returns the next bulletin, and its position. If there is none and nothing came for a while, it
/// is looked whether the log has lost its end.
fn next(
    library: &Library,
    broker: &dyn Broker,
    is_calm: bool,
) -> broker::Result<Option<(u64, Vec<u8>)>> {
    let position = library.position();
    match broker.message_after(BULLETINS, position) {
        Ok(None) if is_calm => {
            let end = broker.end(BULLETINS)?;
            if end < position {
                tracing::warn!(
                    end,
                    position,
                    "the engine has lost a part of what shards told"
                );
                library.go_back(end);
            }
            Ok(None)
        }
        // What is gone stays unknown here: a page like it is taken for one of its own.
        Err(broker::Error::Trimmed { first }) => {
            tracing::warn!(first, "the engine has only a part of what shards told");
            Ok(broker.message_after(BULLETINS, first.saturating_sub(1))?)
        }
        next => next,
    }
}
