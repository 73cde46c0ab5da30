//! The library of a worker, which is filled from the log of what all shards tell of their
//! documents.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::runtime::Builder;

use crate::broker::{self, Broker, Reader};
use crate::engine::library::{Library, LibraryOptions};
use crate::engine::{self, StopHandle};

/// The log of what all shards tell, in one order for all workers.
pub(super) const BULLETINS: &str = "docs";

/// Longest wait at the end of the log, after which it is looked whether to end, and wait while the
/// engine does not answer.
const WAITS: Duration = Duration::from_millis(50);

/// Time without anything new after which it is looked whether the log has lost its end.
const CALM: Duration = Duration::from_secs(1);

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
            let fill = move || fill(&library, &broker, &ends);
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

fn fill(
    library: &Library,
    broker: &Arc<dyn Broker>,
    ends: &AtomicBool,
) -> Result<(), engine::Error> {
    let runtime = Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(engine::Error::Threads)?;
    let mut reader = Reader::new(Arc::clone(broker), BULLETINS);
    let mut has_log = false;
    let mut came = Instant::now();
    while !ends.load(Ordering::Relaxed) {
        let is_calm = came.elapsed() >= CALM;
        if is_calm {
            came = Instant::now();
        }
        let next = match has_log {
            true => next(library, &mut reader, is_calm.then_some(&**broker)),
            false => broker.create(BULLETINS).map(|()| {
                has_log = true;
                None
            }),
        };
        match next {
            Ok(Some((at, bulletin))) => {
                library.take_in(at, &bulletin)?;
                came = Instant::now();
            }
            Ok(None) => {
                library.rest()?;
                runtime.block_on(reader.arrives(WAITS));
            }
            Err(error) => {
                tracing::debug!(%error, "what other shards tell is not read for the moment");
                thread::sleep(WAITS);
            }
        }
    }
    Ok(library.checkpoint()?)
}

/// Returns the next bulletin, and its position. If there is none and nothing came for a while, the
/// engine is given, and it is looked whether its log has lost its end.
fn next(
    library: &Library,
    reader: &mut Reader,
    calm: Option<&dyn Broker>,
) -> broker::Result<Option<(u64, Vec<u8>)>> {
    let position = library.position();
    match (reader.message_after(position), calm) {
        (Ok(None), Some(broker)) => {
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
        (Err(broker::Error::Trimmed { first }), _) => {
            tracing::warn!(first, "the engine has only a part of what shards told");
            reader.message_after(first.saturating_sub(1))
        }
        (next, _) => next,
    }
}
