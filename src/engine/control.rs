//! What can be asked of a run from outside: to stop, from a signal or a limit; and, through a
//! [`Control`], to pause, to take seeds, to change settings. Nothing here acts: the scheduler and the
//! committer do.

use std::fmt;
use std::sync::{Arc, Weak};

use arc_swap::ArcSwap;

use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot, watch};

use super::dups::{dups, report};
use super::hosts_now::{HostsNow, hosts_in};
use super::learned::learned_in;
use super::retry::{PutBack, Retried, RetryCursor, RetryFilter, find};
use super::similar::similar;
use super::{
    Cursor, Dups, Error, Learned, LiveOptions, Options, Report, ReportOptions, Similar, Subject,
    Why, why,
};
use crate::fetch::{Guard, Refused};
use crate::store::Store;
use crate::url::Url;

/// Asks a run to stop: no new fetches, those in progress get a moment to end, everything that
/// arrived is committed. Cheap to clone.
#[derive(Debug, Clone)]
pub struct StopHandle(watch::Sender<bool>);

impl StopHandle {
    /// A handle that was not used yet.
    pub fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    /// Asks the run to stop. True the first time.
    pub fn stop(&self) -> bool {
        !self.0.send_replace(true)
    }

    /// Whether the run was asked to stop.
    pub fn is_stopped(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns when the run was asked to stop.
    pub async fn stopped(&self) {
        let mut receiver = self.0.subscribe();
        // The sender lives in `self`: waiting cannot fail.
        let _ = receiver.wait_for(|stopped| *stopped).await;
    }
}

impl Default for StopHandle {
    fn default() -> Self {
        Self::new()
    }
}

/// Commands that may wait for the scheduler. It takes them at once, whatever else is full.
const WAITING: usize = 16;

/// What is asked of a run.
#[derive(Debug)]
pub(super) enum Command {
    /// No new visits; answered when none is in progress.
    Pause(oneshot::Sender<()>),
    /// Visits again.
    Resume(oneshot::Sender<()>),
    /// More seeds; answered when they are committed.
    AddSeeds {
        /// The seeds.
        urls: Vec<Url>,
        /// A person gave them to this crawl.
        consent: bool,
        /// Who waits.
        reply: oneshot::Sender<SeedsAdded>,
    },
    /// What failed and is to be tried again; answered when it is committed.
    Retry(Box<PutBack>),
    /// Other settings; answered when they hold.
    Change(Box<LiveOptions>, oneshot::Sender<()>),
}

/// How many of the seeds given were new.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeedsAdded {
    /// Queued.
    pub new: u64,
    /// Queued or visited before, or not to be crawled (too long).
    pub known: u64,
}

/// Speaks to a crawl that runs, or is about to. Cheap to clone.
#[derive(Clone)]
pub struct Control {
    commands: mpsc::Sender<Command>,
    guard: Arc<Guard>,
    /// Gone with the crawl: whoever holds a control does not hold the store.
    store: Weak<dyn Store>,
    options: Arc<ArcSwap<Options>>,
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").finish_non_exhaustive()
    }
}

impl Control {
    pub(super) fn new(
        guard: Arc<Guard>,
        store: &Arc<dyn Store>,
        options: Options,
    ) -> (Self, mpsc::Receiver<Command>) {
        let (commands, queue) = mpsc::channel(WAITING);
        let control = Self {
            commands,
            guard,
            store: Arc::downgrade(store),
            options: Arc::new(ArcSwap::from_pointee(options)),
        };
        (control, queue)
    }

    /// Makes no new visits until resumed. Returns when none is in progress: no server sees a
    /// request from then on.
    pub async fn pause(&self) -> Result<(), Over> {
        self.ask(Command::Pause).await
    }

    /// Visits again.
    pub async fn resume(&self) -> Result<(), Over> {
        self.ask(Command::Resume).await
    }

    /// Whether a seed could be visited, as far as that can be told now. With `consent` a person
    /// gives it to this crawl, which opens the guard for a private address that it names.
    pub fn check_seed(&self, seed: &Url, consent: bool) -> Result<(), Refused> {
        match consent && Guard::consent_of(seed).is_some() {
            true => Ok(()),
            false => self.guard.check(seed),
        }
    }

    /// Admits seeds. Returns when they are committed.
    pub async fn add_seeds(&self, urls: Vec<Url>, consent: bool) -> Result<SeedsAdded, Over> {
        self.ask(|reply| Command::AddSeeds {
            urls,
            consent,
            reply,
        })
        .await
    }

    /// What happened to a URL. Reads the store, so it blocks.
    pub fn why(&self, url: &Url) -> Result<Why, Error> {
        let store = self.store.upgrade().ok_or(Error::Over(Over))?;
        why(&*store, &self.options.load(), url)
    }

    /// Some of the clusters of duplicates, from a place on. Reads the store, so it blocks.
    pub fn dups(&self, from: Option<&Cursor>) -> Result<Dups, Error> {
        let store = self.store.upgrade().ok_or(Error::Over(Over))?;
        dups(&*store, &self.options.load(), from)
    }

    /// What deduplication did so far. Reads the store, so it blocks, and for long.
    pub fn report(&self, shown: ReportOptions) -> Result<Report, Error> {
        let store = self.store.upgrade().ok_or(Error::Over(Over))?;
        report(&*store, &self.options.load(), shown)
    }

    /// The stored pages that are most like a page; `None` if it is a URL that is not stored and repeats
    /// nothing that is. Reads the store, so it blocks, and for long.
    pub fn similar(&self, subject: &Subject, limit: usize) -> Result<Option<Similar>, Error> {
        let store = self.store.upgrade().ok_or(Error::Over(Over))?;
        similar(&*store, &self.options.load(), subject, limit)
    }

    /// The hosts that say most of how it goes. Reads the store, so it blocks.
    pub fn hosts(&self) -> Result<HostsNow, Error> {
        let store = self.store.upgrade().ok_or(Error::Over(Over))?;
        hosts_in(&*store)
    }

    /// What was learned. Reads the store, so it blocks.
    pub fn learned(&self) -> Result<Learned, Error> {
        let store = self.store.upgrade().ok_or(Error::Over(Over))?;
        learned_in(&*store)
    }

    /// Puts failed URLs back, those of some rows: the answer says where to go on. Returns when they are
    /// committed.
    pub async fn retry(
        &self,
        filter: RetryFilter,
        from: Option<RetryCursor>,
    ) -> Result<Retried, Error> {
        let store = self.store.upgrade().ok_or(Error::Over(Over))?;
        let found = tokio::task::spawn_blocking(move || find(&*store, &filter, from)).await;
        let mut part = found.map_err(|error| Error::Internal(error.to_string()))??;
        let retried = self.ask(|reply| {
            part.reply = Some(reply);
            Command::Retry(Box::new(part))
        });
        Ok(retried.await?)
    }

    /// Goes on under other settings. Returns when they hold.
    pub async fn change(&self, options: LiveOptions) -> Result<(), Over> {
        let mut all = Options::clone(&self.options.load());
        all.take(options.clone());
        self.options.store(Arc::new(all));
        self.ask(|reply| Command::Change(Box::new(options), reply))
            .await
    }

    async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Result<T, Over> {
        let (reply, answer) = oneshot::channel();
        let sent = self.commands.send(command(reply)).await;
        sent.map_err(|_| Over)?;
        answer.await.map_err(|_| Over)
    }
}

/// The run is over, or about to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the crawl is ending")]
pub struct Over;
