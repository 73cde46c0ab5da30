//! The console of a crawl: an API over HTTP by which it is watched and steered, and the page that
//! shows it. Off unless it is asked for.
//!
//! It has a thread and a reactor of its own, so that neither the crawl nor the control socket waits
//! for a slow client. What reads the store does so on other threads, two at most. `table.rs` has
//! the routes; `guard.rs` sees each request before they do.

mod answer;
mod assets;
mod connections;
mod guard;
mod holder;
mod kept;
mod listen;
mod metrics;
mod openapi;
mod route;
mod routes;
mod saved;
mod stream;
mod table;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit, watch};

use crate::cluster::WorkerView;
use crate::control::Handles;
use crate::engine::{Pulse, View};
use crate::export::Reader;
use crate::inspect;
use answer::Failed;
pub use listen::{ListenError, ListenOptions, Listening};
pub use saved::saved_page;

/// Number of questions that read the store at once.
const READING: usize = 2;
/// Number of these that may take long, so that one that does not never waits for one that does.
const READING_LONG: usize = 1;
/// Number of requests of a kind that are answered at once or wait for their turn, of those that may
/// wait: short questions, long ones, and commands. What does not wait has the other connections.
const WAITING: usize = 16;
/// Number of large bodies that are received at once.
const LARGE_BODIES: usize = 4;
/// Number of batches of pages that are large and on their way at once.
const LARGE_PARTS: usize = 3;
/// Number of clients that follow pages or events at once: so many connections stay free.
const FOLLOWERS: usize = 32;
/// Number of threads that may block: those that read the store, and those that read files for who
/// follows the crawl.
const THREADS: usize = 6;

/// A setting, as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Setting {
    /// Its name, as `section.key`.
    pub key: String,
    /// Its value; null if it has none, and `(hidden)` in place of a secret.
    pub value: Value,
    /// Who set it: a file, a flag, a variable, an earlier run, or nobody (`default`).
    pub origin: String,
    /// Whether it can be changed while the crawl runs.
    pub live: bool,
}

/// The settings of a crawl, which the command line reads and writes.
pub trait Settings: Send + Sync {
    /// Every setting, sorted by key.
    fn all(&self) -> Vec<Setting>;

    /// Changes some of those that can change while the crawl runs, and says what is different.
    ///
    /// # Errors
    ///
    /// What is wrong with them, for a person. Then none is changed.
    fn change(&self, set: &BTreeMap<String, String>) -> Result<Vec<String>, String>;
}

/// A crawl, as the console sees it.
#[derive(Clone)]
pub struct Crawling {
    /// The data directory.
    pub directory: PathBuf,
    /// By which it is watched and steered.
    pub handles: Handles,
    /// Its settings.
    pub settings: Arc<dyn Settings>,
    /// Reads the texts of its pages.
    pub reader: Arc<Reader>,
}

/// A worker of a crawl that several share, as its console sees it.
#[derive(Debug, Clone)]
pub struct Sharing {
    /// How it and its cluster stand.
    pub view: WorkerView,
    /// Its name.
    pub worker: String,
    /// The engine and the name of the crawl.
    pub address: String,
    /// Its data directory.
    pub directory: PathBuf,
}

/// The console. Dropping it ends what it serves, and the thread.
pub struct Console {
    hub: Shared,
    place: String,
    /// Sent when it is over.
    end: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

/// What all routes share.
type Shared = Arc<Hub>;

/// What all routes share.
struct Hub {
    /// `None` until the crawl is open.
    crawl: ArcSwapOption<Crawling>,
    /// Of a worker, which has several crawls, or none.
    sharing: ArcSwapOption<Sharing>,
    /// When the process began to serve.
    started: jiff::Timestamp,
    access: guard::Access,
    reading: Arc<Semaphore>,
    reading_long: Arc<Semaphore>,
    /// Places for those who wait.
    short: Semaphore,
    long: Semaphore,
    commands: Semaphore,
    /// Locked while settings are changed.
    changing: tokio::sync::Mutex<()>,
    large_bodies: Semaphore,
    /// Who follows the crawl, and whose turn it is to read of it.
    followers: Arc<Semaphore>,
    following: Arc<Semaphore>,
    large_parts: Arc<Semaphore>,
    ending: watch::Receiver<bool>,
    /// What `/openapi.json` says, once it was asked for.
    description: OnceLock<Vec<u8>>,
    /// Steps of the committer, and when they became so many.
    beats: Mutex<Option<(u64, Instant)>>,
    kept: routes::Answers,
    scrapes: metrics::Scrapes,
}

impl Console {
    /// Begins to serve. Until there is a crawl, it says that there will be.
    ///
    /// # Errors
    ///
    /// If there is no thread to be had.
    pub fn start(listening: Listening) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(THREADS)
            .thread_keep_alive(Duration::from_secs(10))
            .build()?;
        let place = listening.place();
        let Listening { socket, access } = listening;
        let (end, ending) = watch::channel(false);
        let hub = Arc::new(Hub {
            crawl: ArcSwapOption::empty(),
            sharing: ArcSwapOption::empty(),
            started: jiff::Timestamp::now(),
            access,
            reading: Arc::new(Semaphore::new(READING)),
            reading_long: Arc::new(Semaphore::new(READING_LONG)),
            short: Semaphore::new(WAITING),
            long: Semaphore::new(WAITING),
            commands: Semaphore::new(WAITING),
            changing: tokio::sync::Mutex::default(),
            large_bodies: Semaphore::new(LARGE_BODIES),
            followers: Arc::new(Semaphore::new(FOLLOWERS)),
            following: Arc::new(Semaphore::new(READING)),
            large_parts: Arc::new(Semaphore::new(LARGE_PARTS)),
            ending: ending.clone(),
            description: OnceLock::new(),
            beats: Mutex::default(),
            kept: routes::Answers::default(),
            scrapes: metrics::Scrapes::default(),
        });
        let router = table::router(&hub);
        let thread = thread::Builder::new()
            .name("console".to_owned())
            .spawn(move || {
                runtime.block_on(connections::serve(socket, router, ending));
                // A question that is still being answered must not delay the end of the process.
                runtime.shutdown_background();
            })?;
        Ok(Self {
            hub,
            place,
            end,
            thread: Some(thread),
        })
    }

    /// Where a browser or curl finds it.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Shows a crawl from now on.
    pub fn show(&self, crawl: Crawling) {
        self.hub.crawl.store(Some(Arc::new(crawl)));
    }

    /// Shows a worker and its cluster from now on.
    pub fn show_worker(&self, worker: Sharing) {
        self.hub.sharing.store(Some(Arc::new(worker)));
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.end.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // An error means that the thread panicked, which was reported when it happened.
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for Console {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Console").finish_non_exhaustive()
    }
}

impl Hub {
    /// The crawl, once it is open.
    fn crawl(&self) -> Result<Arc<Crawling>, Failed> {
        let crawl = self.crawl.load_full();
        crawl.ok_or_else(|| match self.sharing.load_full() {
            None => Failed::later("starting", "the crawl is being opened; try again soon"),
            Some(worker) => Failed::new(
                StatusCode::NOT_FOUND,
                "shared",
                format!(
                    "this is a worker, which has several shards: api/v1/workers shows them, and \
                     each of {}/shards is a data directory for commands",
                    worker.directory.display()
                ),
            ),
        })
    }

    /// Whether the committer makes progress, or has nothing to do, as far as can be told from one
    /// look to the next.
    fn commits(&self, pulse: &Pulse) -> bool {
        const PATIENCE: Duration = Duration::from_mins(1);
        let mut last = self.beats.lock().unwrap_or_else(PoisonError::into_inner);
        let now = (pulse.beats(), Instant::now());
        match *last {
            Some((beats, since)) if beats == now.0 && !pulse.rests() => since.elapsed() < PATIENCE,
            _ => {
                *last = Some(now);
                true
            }
        }
    }

    /// Reads the store on a thread that may block, when it is the turn of this question.
    async fn read<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&View) -> Result<T, inspect::Error> + Send + 'static,
    ) -> Result<T, Failed> {
        let _place = place(&self.short)?;
        let turn = self.turn().await?;
        self.read_in(turn, ask).await
    }

    /// Waits for the turn of a short question.
    async fn turn(&self) -> Result<Turn, Failed> {
        Ok(Turn {
            _reading: acquire(&self.reading).await?,
            _long: None,
        })
    }

    /// A place for who asks a long question, until the answer is there.
    fn long_place(&self) -> Result<SemaphorePermit<'_>, Failed> {
        place(&self.long)
    }

    /// A place for a command, until it is done.
    fn command_place(&self) -> Result<SemaphorePermit<'_>, Failed> {
        place(&self.commands)
    }

    /// Waits for the turn of a question that may take long.
    async fn long_turn(&self) -> Result<Turn, Failed> {
        let long = acquire(&self.reading_long).await?;
        Ok(Turn {
            _reading: acquire(&self.reading).await?,
            _long: Some(long),
        })
    }

    /// Reads the store on a thread that may block.
    async fn read_in<T: Send + 'static>(
        &self,
        turn: Turn,
        ask: impl FnOnce(&View) -> Result<T, inspect::Error> + Send + 'static,
    ) -> Result<T, Failed> {
        let view = self.crawl()?.handles.control.view()?;
        let read = move || {
            // Whoever asked may have gone; it is the thread that is in use.
            let _turn = turn;
            ask(&view)
        };
        let answer = tokio::task::spawn_blocking(read).await;
        Ok(answer.map_err(Failed::internal)??)
    }
}

/// The turn of a question to read the store.
struct Turn {
    _reading: OwnedSemaphorePermit,
    _long: Option<OwnedSemaphorePermit>,
}

/// A place among those who wait, if one is free.
fn place(places: &Semaphore) -> Result<SemaphorePermit<'_>, Failed> {
    places.try_acquire().map_err(|_| {
        Failed::later(
            "busy",
            "as many requests of this kind wait for their turn as may; try again in a second",
        )
    })
}

async fn acquire(places: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Failed> {
    let turn = Arc::clone(places).acquire_owned().await;
    turn.map_err(Failed::internal)
}
