//! The shards that a worker crawls or follows, each on a thread of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::Runtime;

use super::{Error, Worker, WorkerOptions};
use crate::broker::Broker;
use crate::cluster::bulletins::{Filling, Listening};
use crate::cluster::copies::{Copies, Copy, Follower, Giver, NO_COPY};
use crate::cluster::exchange::{Exchange, Listed};
use crate::cluster::log::{ShardLog, log_of};
use crate::cluster::tells::Figures;
use crate::cluster::wanted::Going;
use crate::control::{ControlServer, Handles, ServeMode};
use crate::engine::library::LibraryOptions;
use crate::engine::{
    self, Control, Crawl, Ending, Failpoint, Lease, LiveOptions, LostWorker, Opening, Options,
    RunLimits, ShardOptions, Step, StopHandle, Watch,
};
use crate::frontier::{RevisitPolicy, Shards};
use crate::store;

/// A shard that a thread crawls or follows.
pub(super) struct Post {
    pub(super) role: Role,
    /// The position in the log up to which a follower has read, or of the last entry that the owner
    /// wrote; [`NO_COPY`] before that.
    pub(super) position: Arc<AtomicU64>,
    /// The crawl, once it is open.
    pub(super) open: Arc<OnceLock<(Control, Watch)>>,
    /// Whether it was told to pause.
    pub(super) is_paused: bool,
    /// Whether it is to visit pages again.
    pub(super) stays: bool,
    /// How often it was told something else of that, and the last time that holds by now.
    pub(super) changes: u64,
    pub(super) in_force: Arc<AtomicU64>,
    pub(super) thread: JoinHandle<Result<Option<Ending>, engine::Error>>,
}

/// What came of a shard whose thread has ended. What is wrong with the directory was told.
pub(super) enum Outcome {
    /// Its crawl ended, perhaps while it was opened: it has its first entry in the log by then.
    Crawled(Ending),
    /// It was followed until that was enough.
    Followed,
    /// Another worker crawls it.
    TakenOver,
    /// What is here of it cannot go on, and it has no owner to be copied from.
    Lacking,
    /// What is here of it cannot go on.
    Unfit,
}

/// What is done with a shard, and how that is ended.
pub(super) enum Role {
    Crawling {
        stop: StopHandle,
        /// The right to visit hosts of this shard.
        lease: Lease,
    },
    Following {
        /// It ends when it is sent something.
        end: Sender<()>,
        /// Whether nobody else has anything of the shard.
        is_revived: Arc<AtomicBool>,
    },
}

impl Worker {
    fn log(&self, shard: u16) -> ShardLog {
        let log = ShardLog::new(Arc::clone(&self.broker), shard, &self.options.name);
        let failpoint = self.options.crawl.failpoint;
        log.bounded(self.options.log_max).failing(failpoint)
    }

    pub(super) fn copies(&self, shard: u16) -> Copies {
        Copies::new(Arc::clone(&self.broker), shard, &self.options.name)
    }

    pub(super) fn directory(&self, shard: u16) -> PathBuf {
        self.options.directory.join("shards").join(log_of(shard))
    }

    /// Crawls a shard on a thread.
    pub(super) fn crawl(&self, shard: u16) -> Result<Post, Error> {
        let stop = StopHandle::new();
        let mut options = self.crawl_options();
        let position = Arc::new(AtomicU64::new(NO_COPY));
        let end = Arc::clone(&position);
        options.log = Some(Arc::new(self.log(shard).noting(&position)));
        let mut failpoint = options.failpoint;
        let lease = Lease::default();
        options.lease = Some(lease.clone());
        options.opening = Opening::new(stop.clone());
        let terms = &self.options.terms;
        let shards = Shards::new(shard, terms.shards);
        options.shard = shards.ok().map(|shards| ShardOptions {
            shards,
            secret: terms.secret.clone(),
        });
        let seeds_from = terms.seeds_from;
        options.keeper = Some(self.options.name.clone());
        let lost = self.lost.iter().map(|lost| LostWorker {
            name: lost.worker.clone(),
            through_epoch: lost.epochs.get(usize::from(shard)).copied().unwrap_or(0),
        });
        let lost: Vec<LostWorker> = lost.collect();
        self.board.forget(shard);
        let (broker, board) = (Arc::clone(&self.broker), self.board.clone());
        let copies = self.copies(shard);
        let directory = self.directory(shard);
        let own = stop.clone();
        let library = self.filling.library();
        options.library = Some(Arc::clone(&library));
        let up_to_date = self.filling.up_to_date();
        let searches = self.searching.searches().clone();
        let open = Arc::new(OnceLock::new());
        let opened = Arc::clone(&open);
        let work = move || {
            up_to_date(&own);
            let crawled = searches.leave(shard, &own);
            let mut crawl = Crawl::open(&directory, options)?;
            Failpoint::reach(&mut failpoint, Step::Owned);
            let exchange = crawl.post();
            let through = match &exchange {
                Some(post) => post.seeds_through()?,
                None => 0,
            };
            let through = through.max(seeds_from);
            crawled.catch_up(through, &own, || crawl.close_files())?;
            if let Some(found) = crawl.put_back_lost(&lost)? {
                tracing::warn!(
                    shard,
                    pages = found.pages,
                    documents = found.documents,
                    "a disk of the shard's is lost: pages of which only that had the body are \
                     fetched again"
                );
            }
            // The next owner is to keep what this one lacks when it is back.
            let registered = Copy {
                position: end.load(Ordering::Relaxed),
                wish: None,
            };
            if let Err(error) = copies.put(&registered) {
                tracing::debug!(shard, %error, "the owner is not registered for a copy");
            }
            let giver = Giver::new(Arc::clone(&broker), copies, crawl.copy_source());
            let (end_giver, ended) = mpsc::channel();
            let giver = thread::Builder::new()
                .name(format!("copies-{shard:02}"))
                .spawn(move || giver.run(&ended, |_| Ok(true)))
                .map_err(engine::Error::Threads)?;
            let handles = Handles {
                control: crawl.control(),
                watch: crawl.watch(),
                stop: own.clone(),
            };
            // Nobody else sets it.
            let _ = opened.set((handles.control.clone(), handles.watch.clone()));
            let list = Listed::new(crawl.control(), seeds_from, crawled);
            let exchange =
                exchange.map(|post| Exchange::new(broker, post, library, board, list, failpoint));
            let exchange = exchange.map(|exchange| {
                let thread = thread::Builder::new().name(format!("links-{shard:02}"));
                thread.spawn(move || exchange.run())
            });
            let exchange = exchange.transpose().map_err(engine::Error::Threads)?;
            let server = ControlServer::start(&directory, ServeMode::Socket, handles);
            if let Err(error) = &server {
                // Some file systems do not support sockets. The shard is crawled without one.
                tracing::warn!(shard, %error, "commands cannot ask this shard while it is crawled");
            }
            let summary = crawl.run_blocking(&RunLimits::default(), &own);
            drop(server);
            if let Some(exchange) = exchange {
                // It ends with the run.
                let _ = exchange.join();
            }
            drop(end_giver);
            let _ = giver.join();
            Ok(Some(summary?.ending))
        };
        let mut post = Post::start(shard, Role::Crawling { stop, lease }, position, work)?;
        post.open = open;
        post.stays = self.wanted.stays;
        Ok(post)
    }

    /// Lets the crawls pause or go on, and visit pages again or not, as people want. A worker that
    /// has just begun makes no visits before it has heard what that is, since it has no lease.
    pub(super) fn pace(&mut self, runtime: &Runtime) {
        let is_paused = self.wanted.wishes.going == Going::Paused;
        let stays = self.wanted.stays;
        let is_new = self.posts.values().any(|post| post.stays != stays);
        let options = is_new.then(|| self.crawl_options());
        for post in self.posts.values_mut() {
            let Some((control, _)) = post.open.get() else {
                continue;
            };
            if let Some(options) = options.as_ref().filter(|_| post.stays != stays) {
                post.stays = stays;
                let (control, options) = (control.clone(), LiveOptions::from(options));
                let changed = match stays {
                    true => "the crawl stays when nothing is left, and visits pages again",
                    false => "the crawl ends when nothing is left, and visits each page once",
                };
                let changed = vec![changed.to_owned()];
                post.changes += 1;
                let (number, in_force) = (post.changes, Arc::clone(&post.in_force));
                // Answered when it is in force, or not if the run ends.
                runtime.spawn(async move {
                    if control.change(options, changed).await.is_ok() {
                        in_force.fetch_max(number, Ordering::Relaxed);
                    }
                });
            }
            if std::mem::replace(&mut post.is_paused, is_paused) != is_paused {
                let control = control.clone();
                // Answered when no visit is in progress, or not if the run ends.
                runtime.spawn(async move {
                    match is_paused {
                        true => control.pause().await,
                        false => control.resume().await,
                    }
                });
            }
        }
    }

    /// Returns how this worker crawls a shard, as people want it now: a crawl that ends when
    /// nothing is left visits each page once.
    fn crawl_options(&self) -> Options {
        let mut options = self.options.crawl.clone();
        if !self.wanted.stays {
            options.revisit = RevisitPolicy::off();
        }
        options
    }

    /// Looks which threads have ended.
    pub(super) fn reap(&mut self) -> Result<(), Error> {
        let ended = self
            .posts
            .iter()
            .filter(|(_, post)| post.thread.is_finished());
        let ended: Vec<u16> = ended.map(|(shard, _)| *shard).collect();
        for shard in ended {
            let Some(post) = self.posts.remove(&shard) else {
                continue;
            };
            self.figures.extend(post.figures().map(|it| (shard, it)));
            match post.outcome(shard)? {
                // What was added as it ended is for this shard too: then it is crawled again.
                Outcome::Crawled(Ending::Drained)
                    if self.board.through(shard).seeds >= self.board.seeds_end() =>
                {
                    self.done.insert(shard);
                }
                Outcome::Crawled(_) => {
                    self.ended.insert(shard);
                }
                Outcome::Lacking => {
                    self.lacking.insert(shard);
                }
                Outcome::Unfit => {
                    self.unfit.insert(shard);
                }
                Outcome::Followed | Outcome::TakenOver => {}
            }
        }
        Ok(())
    }

    /// Follows a shard on a thread, and makes a copy of it where there is none that can, unless it
    /// is only to be revived.
    pub(super) fn follow(&self, shard: u16, is_revived: bool) -> Result<Post, Error> {
        let is_revived = Arc::new(AtomicBool::new(is_revived));
        let (end, ended) = mpsc::channel();
        let position = Arc::new(AtomicU64::new(NO_COPY));
        let follower = Follower {
            shard,
            broker: Arc::clone(&self.broker),
            copies: self.copies(shard),
            log: Arc::new(self.log(shard)),
            directory: self.directory(shard),
            options: self.options.crawl.clone(),
            position: Arc::clone(&position),
            is_revived: Arc::clone(&is_revived),
            ended,
        };
        let work = move || follower.run().map(|()| None);
        Post::start(shard, Role::Following { end, is_revived }, position, work)
    }
}

/// Opens the library of a worker, and begins to fill it.
pub(super) fn begin_to_fill(
    options: &WorkerOptions,
    broker: &Arc<dyn Broker>,
) -> Result<Filling, Error> {
    let crawl = &options.crawl;
    let library = LibraryOptions {
        max_documents: options.library,
        ..LibraryOptions::new(&crawl.features, crawl.draws_seed, &options.terms.secret)
    };
    let listening = Listening {
        broker: Arc::clone(broker),
        worker: options.name.clone(),
        log_max: options.log_max,
    };
    let filling = Filling::begin(&options.directory.join("library"), &library, listening);
    filling.map_err(|error| Error::Library(Box::new(error)))
}

/// Lets hosts of the shards that this worker owns be visited until this time of the clock. Those of
/// a shard that it has lost are left alone from then on, although its crawl may go on for a moment.
pub(super) fn renew(posts: &BTreeMap<u16, Post>, own: &BTreeSet<u16>, until: Duration) {
    for (_, post) in posts.iter().filter(|(shard, _)| own.contains(shard)) {
        if let Role::Crawling { lease, .. } = &post.role {
            lease.renew(until);
        }
    }
}

impl Post {
    pub(super) fn start(
        shard: u16,
        role: Role,
        position: Arc<AtomicU64>,
        work: impl FnOnce() -> Result<Option<Ending>, engine::Error> + Send + 'static,
    ) -> Result<Self, Error> {
        let thread = thread::Builder::new().name(format!("shard-{shard:02}"));
        let thread = thread.spawn(work);
        let thread = thread.map_err(|error| Error::shard(shard, engine::Error::Threads(error)))?;
        Ok(Self {
            role,
            position,
            open: Arc::default(),
            is_paused: false,
            stays: false,
            changes: 0,
            in_force: Arc::default(),
            thread,
        })
    }

    /// Returns the figures of a crawl that is open.
    pub(super) fn figures(&self) -> Option<Figures> {
        let (_, watch) = self.open.get()?;
        Some(Figures {
            // Whoever opens a crawl writes that it begins.
            end: self.position.load(Ordering::Relaxed),
            ..Figures::read(watch)
        })
    }

    /// Whether it may still visit pages again: then something is left to do, although nothing
    /// waits.
    pub(super) fn visits_again(&self) -> bool {
        self.stays || self.in_force.load(Ordering::Relaxed) != self.changes
    }

    /// Whether it follows what nobody else has anything of.
    fn is_revived(&self) -> bool {
        match &self.role {
            Role::Following { is_revived, .. } => is_revived.load(Ordering::Relaxed),
            Role::Crawling { .. } => false,
        }
    }

    /// Asks it to end.
    pub(super) fn end(&self) {
        match &self.role {
            Role::Crawling { stop, .. } => {
                stop.stop();
            }
            Role::Following { end, .. } => {
                // It may have ended.
                let _ = end.send(());
            }
        }
    }

    /// Waits until the thread has ended, and tells what is wrong with the directory of the shard:
    /// other shards go on.
    ///
    /// # Errors
    ///
    /// What the worker cannot go on with.
    pub(super) fn outcome(self, shard: u16) -> Result<Outcome, Error> {
        let is_own = matches!(self.role, Role::Crawling { .. });
        let is_revived = self.is_revived();
        let died = |_| engine::Error::Internal("its thread died".to_owned());
        match self.thread.join().map_err(died).and_then(|ended| ended) {
            Ok(Some(ending)) => Ok(Outcome::Crawled(ending)),
            Err(engine::Error::Stopped(_)) if is_own => Ok(Outcome::Crawled(Ending::Stopped)),
            Ok(None) | Err(engine::Error::Stopped(_)) => Ok(Outcome::Followed),
            Err(engine::Error::Store(store::Error::Stale)) => {
                tracing::warn!(shard, "another worker has taken the shard over");
                Ok(Outcome::TakenOver)
            }
            // Whatever is wrong with what nobody asked for, other shards go on.
            Err(error) if is_revived => {
                tracing::warn!(
                    shard,
                    %error,
                    "the directory cannot go on with the shard, which waits for its owner"
                );
                Ok(Outcome::Lacking)
            }
            Err(engine::Error::Store(store::Error::Outdated { reason })) => {
                tracing::warn!(
                    shard,
                    reason,
                    "the directory cannot go on with the shard; it is for a worker that follows it"
                );
                Ok(Outcome::Unfit)
            }
            Err(source) => Err(Error::shard(shard, source)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_told_to_visit_no_page_again_may_still_do_so_until_that_is_in_force() {
        let role = Role::Crawling {
            stop: StopHandle::new(),
            lease: Lease::default(),
        };
        let mut post = Post::start(0, role, Arc::default(), || Ok(None)).unwrap();
        assert!(!post.visits_again());
        (post.stays, post.changes) = (true, 1);
        assert!(post.visits_again());
        post.in_force.fetch_max(1, Ordering::Relaxed);
        assert!(post.visits_again());
        (post.stays, post.changes) = (false, 2);
        assert!(post.visits_again());
        post.in_force.fetch_max(2, Ordering::Relaxed);
        assert!(!post.visits_again());
    }

    /// Also if it is found out only as the worker ends: it has failed in nothing.
    #[test]
    fn who_is_taken_over_fails_in_nothing() {
        let ended_by = |error: engine::Error| {
            let role = Role::Crawling {
                stop: StopHandle::new(),
                lease: Lease::default(),
            };
            let post = Post::start(3, role, Arc::default(), || Err(error)).unwrap();
            post.outcome(3)
        };
        let stale = ended_by(store::Error::Stale.into());
        assert!(matches!(stale, Ok(Outcome::TakenOver)));
        let reason = "it went on elsewhere".to_owned();
        let outdated = ended_by(store::Error::Outdated { reason }.into());
        assert!(matches!(outdated, Ok(Outcome::Unfit)));
        let broken = ended_by(engine::Error::Internal("a bug".to_owned()));
        assert!(matches!(broken, Err(Error::Shard { shard: 3, .. })));
    }

    #[test]
    fn only_hosts_of_shards_that_it_owns_may_be_visited() {
        let leases = [Lease::default(), Lease::default()];
        let post = |shard: u16| {
            let role = Role::Crawling {
                stop: StopHandle::new(),
                lease: leases[usize::from(shard)].clone(),
            };
            Post::start(shard, role, Arc::default(), || Ok(None)).unwrap()
        };
        let posts = BTreeMap::from([(0, post(0)), (1, post(1))]);
        let until = Lease::now() + Duration::from_hours(1);
        renew(&posts, &BTreeSet::from([1, 2]), until);
        assert!(!leases[0].holds());
        assert!(leases[1].holds());
    }
}
