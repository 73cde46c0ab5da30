//! Closed files of the archive leave, in a thread beside the crawl: for each a command is run, or
//! it is uploaded; or both, first the command.
//!
//! A file may leave once it is closed and the store has acknowledged that, for it is never written
//! to again. How far each way out is stands in a file of the data directory, which is written after
//! a file has left: after a kill in between, the file leaves once more. So each closed file leaves
//! at least once, in the order of numbers, and one that fails is tried again until it has left.

mod command;
mod ledger;
mod service;
#[cfg(test)]
mod tests;
mod upload;

use std::io;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::archive::{WarcOptions, present};
use crate::fetch::Secret;
use command::Hook;
use ledger::{Handed, Ledger};
use upload::Uploader;

/// Time until a file that could not leave is tried again: at first, and at most.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(5));

/// Time that what is under way gets when the crawl is asked to stop.
const GRACE: Duration = Duration::from_secs(10);

/// How closed files leave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HandoverOptions {
    /// The command that is run for each file, with its path as the last argument; none if empty.
    pub command: Vec<String>,
    /// Time after which the command is killed, and tried again later.
    pub max_duration: Duration,
    /// Where each file is uploaded to, if anywhere.
    pub upload: Option<UploadOptions>,
}

/// A store for files that speaks the protocol of Amazon's S3, and what is kept in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadOptions {
    /// Name of the bucket.
    pub bucket: String,
    /// What names of objects begin with, without the `/` that follows; may be empty.
    pub prefix: String,
    /// Where the service is.
    pub endpoint: reqwest::Url,
    /// The region that signatures name.
    pub region: String,
    /// Whether the bucket is named in the path of URLs, and not in the host.
    pub path_style: bool,
    /// Key and secret, and a token where they are for a while only; `None` signs nothing.
    pub credentials: Option<Credentials>,
    /// Whether a file is deleted once the service has all of it.
    pub deletes: bool,
    /// PEM files of further root certificates.
    pub ca_files: Vec<PathBuf>,
}

/// What requests to a service are signed with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    /// Says whose secret it is.
    pub key: String,
    /// Never leaves the process.
    pub secret: Secret,
    /// Sent with each request, if there is one.
    pub token: Option<Secret>,
}

/// The directory in a data directory that says what has left.
const HANDED: &str = "handed";

/// How many files of both archives are closed, and known to be by the store: those with lower
/// numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    /// Files of pages.
    pub pages: u32,
    /// Files of texts.
    pub texts: u32,
}

/// How one way out goes on, for those who watch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HandoverState {
    /// The setting that asks for it.
    pub setting: String,
    /// Number of closed files that are still to leave.
    pub waiting: u64,
    /// The file that is under way, or was tried last.
    pub file: String,
    /// When that began (RFC 3339); empty while nothing is under way.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub since: String,
    /// Number of times in a row that it failed.
    #[serde(default)]
    pub failures: u32,
    /// Why it failed the last time.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub error: String,
}

/// Returns the numbers of files of which copies may be elsewhere: those that a command was run for,
/// or that were uploaded, have lower ones.
///
/// # Errors
///
/// Those of the operating system.
pub fn handed_over(data: &Path) -> io::Result<Closed> {
    Ledger::farthest(&data.join(HANDED))
}

/// The files of both archives.
#[derive(Debug, Clone)]
pub struct Files {
    /// Where those of pages are, and their names.
    pub pages: WarcOptions,
    /// The same of texts.
    pub texts: WarcOptions,
}

/// The thread from which files leave.
pub struct Handover {
    /// Set at the end of the run, when no further file will be closed.
    over: watch::Sender<bool>,
    thread: JoinHandle<Vec<HandoverState>>,
}

impl Handover {
    /// Starts the thread, if there is a way out. `state` is kept true, and `stopped` asks for a
    /// quick end.
    ///
    /// # Errors
    ///
    /// What keeps a thread from being started, a service from being asked, or what has left from
    /// being read.
    pub fn start(
        options: &HandoverOptions,
        data: &Path,
        files: &Files,
        closed: &watch::Receiver<Closed>,
        state: &watch::Sender<Vec<HandoverState>>,
        stopped: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<Option<Self>> {
        let directory = data.join(HANDED);
        let over = watch::Sender::new(false);
        let asked = watch::Sender::new(false);
        let mut ways: Vec<Way> = Vec::new();
        for door in doors(options, &directory)? {
            let ledger = Ledger::open(&directory, door.name())?;
            // What the first way out is done with is what the second begins with.
            let (closed, is_over) = match ways.last() {
                Some(first) => (first.handed.subscribe(), first.done.subscribe()),
                None => (closed.clone(), over.subscribe()),
            };
            ways.push(Way {
                handed: watch::Sender::new(ledger.handed),
                done: watch::Sender::new(false),
                number: ways.len(),
                door,
                ledger,
                files: files.clone(),
                closed,
                is_over,
                is_stopped: asked.subscribe(),
                state: state.clone(),
            });
        }
        if ways.is_empty() {
            return Ok(None);
        }
        state.send_replace(ways.iter().map(Way::begun).collect());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let thread = thread::Builder::new()
            .name("handover".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    // It is told to whoever waits, however long after it was asked for.
                    let asking = tokio::spawn(async move {
                        stopped.await;
                        asked.send_replace(true);
                        std::future::pending::<()>().await;
                    });
                    let ways: Vec<_> = ways
                        .into_iter()
                        .map(|way| tokio::spawn(way.run()))
                        .collect();
                    let mut left = Vec::new();
                    for way in ways {
                        // One that panicked has told that, and goes on at the next start.
                        left.extend(way.await);
                    }
                    asking.abort();
                    left
                })
            })?;
        Ok(Some(Self { over, thread }))
    }

    /// Waits until every closed file has left, or one has failed, and tells of those that stay. No
    /// further file may be closed.
    pub fn finish(self) {
        self.over.send_replace(true);
        for left in self.thread.join().unwrap_or_default() {
            let HandoverState {
                setting,
                waiting,
                error,
                ..
            } = left;
            if waiting > 0 {
                tracing::warn!(
                    error,
                    "{setting}: {waiting} closed files are still to leave; the next run goes on \
                     with them"
                );
            }
        }
    }
}

/// Returns the ways out, in order.
fn doors(options: &HandoverOptions, directory: &Path) -> io::Result<Vec<Door>> {
    let mut doors = Vec::new();
    if !options.command.is_empty() {
        doors.push(Door::Command(Hook {
            command: options.command.clone(),
            max_duration: options.max_duration,
        }));
    }
    if let Some(upload) = &options.upload {
        doors.push(Door::Upload(Box::new(Uploader::new(upload, directory)?)));
    }
    Ok(doors)
}

/// What lets a file leave.
enum Door {
    Command(Hook),
    Upload(Box<Uploader>),
}

impl Door {
    /// The file that says how far it is.
    fn name(&self) -> &'static str {
        match self {
            Self::Command(_) => "on_close",
            Self::Upload(_) => "upload",
        }
    }

    fn setting(&self) -> String {
        format!("archive.{}", self.name())
    }

    async fn pass(&self, path: &Path) -> Result<(), String> {
        match self {
            Self::Command(hook) => hook.run(path).await,
            Self::Upload(uploader) => uploader.upload(path).await,
        }
    }
}

/// A way out, and how far it is.
struct Way {
    /// Its place among the states.
    number: usize,
    door: Door,
    ledger: Ledger,
    files: Files,
    /// The files that may leave.
    closed: watch::Receiver<Closed>,
    /// The files that have left.
    handed: watch::Sender<Closed>,
    /// Set if no further file may leave.
    is_over: watch::Receiver<bool>,
    /// Set if no further file will leave.
    done: watch::Sender<bool>,
    is_stopped: watch::Receiver<bool>,
    state: watch::Sender<Vec<HandoverState>>,
}

/// What becomes of a file that leaves.
enum Outcome {
    Left,
    Failed(String),
    /// A stop came before it had left.
    CutOff,
}

impl Way {
    fn begun(&self) -> HandoverState {
        HandoverState {
            setting: self.door.setting(),
            waiting: self.waiting(),
            ..HandoverState::default()
        }
    }

    async fn run(mut self) -> HandoverState {
        let left = self.go().await;
        self.tell(&left);
        self.done.send_replace(true);
        left
    }

    /// Lets files leave until the crawl is over and all have left, one fails then, or a stop comes.
    async fn go(&mut self) -> HandoverState {
        let mut state = self.begun();
        let mut patience = PATIENCE.0;
        loop {
            // Read before the files, so that what is closed before the end is not overlooked.
            let is_over = *self.is_over.borrow();
            state.waiting = self.waiting();
            let next = self.next();
            let Some((path, then)) = next.filter(|_| !*self.is_stopped.borrow()) else {
                self.tell(&state);
                if is_over || *self.is_stopped.borrow() {
                    return state;
                }
                self.news(None).await;
                continue;
            };
            state.file = path.display().to_string();
            state.since = format!("{:.0}", jiff::Timestamp::now());
            self.tell(&state);
            let outcome = self.leave(&path).await;
            let outcome = match outcome {
                Outcome::Left => match self.ledger.write(then) {
                    Ok(()) => Outcome::Left,
                    Err(error) => {
                        Outcome::Failed(format!("cannot write that it has left: {error}"))
                    }
                },
                other => other,
            };
            state.since.clear();
            match outcome {
                Outcome::Left => {
                    (state.failures, state.error) = (0, String::new());
                    patience = PATIENCE.0;
                }
                Outcome::CutOff => return state,
                Outcome::Failed(error) => {
                    tracing::warn!(file = state.file, error, "{} failed", state.setting);
                    state.failures += 1;
                    state.error = error;
                    self.tell(&state);
                    if is_over {
                        return state;
                    }
                    self.news(Some(patience)).await;
                    patience = (2 * patience).min(PATIENCE.1);
                }
            }
        }
    }

    /// Lets a file leave. A file that is nowhere cannot, and keeps no other waiting.
    async fn leave(&mut self, path: &Path) -> Outcome {
        let Some(path) = present(path) else {
            let file = path.display();
            let setting = self.door.setting();
            tracing::warn!(%file, "{setting}: the file is gone, and is left out");
            return Outcome::Left;
        };
        let mut is_stopped = self.is_stopped.clone();
        let cut_off = async {
            // The sender lives as long as this task.
            let _ = is_stopped.wait_for(|it| *it).await;
            sleep(GRACE).await;
        };
        tokio::select! {
            done = self.door.pass(&path) => match done {
                Ok(()) => Outcome::Left,
                Err(error) => Outcome::Failed(error),
            },
            () = cut_off => Outcome::CutOff,
        }
    }

    /// Waits until a file is closed, the crawl is over, a stop comes, or some time has passed.
    /// While that is to pass, further files are no news.
    async fn news(&mut self, patience: Option<Duration>) {
        let (over, stopped) = (&mut self.is_over, &mut self.is_stopped);
        let end = async {
            tokio::select! {
                _ = over.wait_for(|it| *it) => {}
                _ = stopped.wait_for(|it| *it) => {}
            }
        };
        match patience {
            Some(patience) => drop(timeout(patience, end).await),
            None => {
                // If the committer is gone, the end follows.
                let closed = async {
                    if self.closed.changed().await.is_err() {
                        std::future::pending::<()>().await;
                    }
                };
                tokio::select! {
                    () = end => {}
                    () = closed => {}
                }
            }
        }
    }

    /// Returns the next file to leave, and what is written once it has.
    fn next(&mut self) -> Option<(PathBuf, Handed)> {
        let closed = *self.closed.borrow_and_update();
        let Handed { pages, texts } = self.ledger.handed;
        if pages < closed.pages {
            let then = Handed {
                pages: pages + 1,
                texts,
            };
            return Some((self.files.pages.segment_path(pages), then));
        }
        let then = Handed {
            pages,
            texts: texts + 1,
        };
        (texts < closed.texts).then(|| (self.files.texts.segment_path(texts), then))
    }

    fn waiting(&self) -> u64 {
        let closed = *self.closed.borrow();
        let Handed { pages, texts } = self.ledger.handed;
        u64::from(closed.pages.saturating_sub(pages))
            + u64::from(closed.texts.saturating_sub(texts))
    }

    fn tell(&self, state: &HandoverState) {
        self.state.send_modify(|states| {
            if let Some(it) = states.get_mut(self.number) {
                it.clone_from(state);
            }
        });
    }
}
