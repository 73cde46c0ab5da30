//! A worker: crawls the shards that it owns, and follows others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::runtime::Builder;

use super::bulletins::Filling;
use super::exchange::{Board, Exchange};
use super::log::{ShardLog, log_of};
use super::membership::{Having, Membership, Orders, Times};
use super::rows::Rows;
use crate::broker::{self, Broker};
use crate::engine::library::LibraryOptions;
use crate::engine::{
    self, Crawl, Ending, FollowStep, Following, Lease, Opening, Options, RunLimits, ShardOptions,
    StopHandle,
};
use crate::frontier::{Seed, Shards};
use crate::store;
use crate::url::Secret;

/// Wait of a follower at the end of its log, and while the log does not answer.
const FOLLOWER_WAITS: Duration = Duration::from_millis(50);

/// Time that a worker which ends takes at most to give away what it owns.
const LEAVING: Duration = Duration::from_secs(30);

/// What a worker is.
pub struct WorkerOptions {
    /// Its name, which no other worker of the crawl has.
    pub name: String,
    /// The machine that it runs on: copies of a shard are on different ones.
    pub machine: String,
    /// Where its directories are: `shards/00` and so on.
    pub directory: PathBuf,
    /// Shards of the crawl.
    pub shards: u16,
    /// Copies of each shard, that of its owner included.
    pub copies: usize,
    /// The times that all workers of the crawl go by.
    pub times: Times,
    /// The secret of the crawl, from which the ids of URLs are made.
    pub secret: Secret,
    /// How it crawls; each shard has all of the memory.
    pub crawl: Options,
    /// Documents of all shards that the worker keeps whole, to find what repeats them: of further
    /// ones only copies byte for byte are found.
    pub library: u64,
    /// The seeds of a shard.
    pub seeds: Arc<dyn Fn(u16) -> Vec<Seed> + Send + Sync>,
}

/// Why a worker ends before its time. What it owned is taken over by others.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its engine refuses it.
    #[error("the engine of the cluster: {0}")]
    Engine(#[from] broker::Error),
    /// Another process has its name.
    #[error("another process runs as worker {0}; give each a name of its own")]
    Name(String),
    /// It cannot start what it needs.
    #[error("cannot start: {0}")]
    Threads(std::io::Error),
    /// What all shards have stored cannot be kept.
    #[error("the library: {0}")]
    Library(Box<engine::Error>),
    /// A shard cannot be crawled.
    #[error("shard {shard:02}: {source}")]
    Shard {
        /// Its number.
        shard: u16,
        /// What is wrong.
        source: Box<engine::Error>,
    },
}

impl Error {
    fn shard(shard: u16, source: engine::Error) -> Self {
        let source = Box::new(source);
        Self::Shard { shard, source }
    }
}

/// A worker of a crawl.
pub struct Worker {
    options: WorkerOptions,
    broker: Arc<dyn Broker>,
    membership: Membership,
    lease: Lease,
    posts: BTreeMap<u16, Post>,
    done: BTreeSet<u16>,
    board: Board,
    filling: Filling,
}

/// A shard that a thread crawls or follows.
struct Post {
    role: Role,
    /// The position in the log up to which a follower has read.
    position: Arc<AtomicU64>,
    thread: JoinHandle<Result<Option<Ending>, engine::Error>>,
}

/// What is done with a shard, and how that is ended.
enum Role {
    Crawling(StopHandle),
    /// It ends when it is sent something.
    Following(Sender<()>),
}

impl Worker {
    /// Joins a crawl.
    ///
    /// # Errors
    ///
    /// [`Error::Engine`] if the engine cannot be reached.
    pub fn join(broker: Arc<dyn Broker>, options: WorkerOptions) -> Result<Self, Error> {
        let who = (&*options.name, &*options.machine);
        let rows = Rows::new(Arc::clone(&broker));
        let crawl = &options.crawl;
        let features = (&crawl.features, crawl.draws_seed);
        let library = LibraryOptions {
            max_documents: options.library,
            ..LibraryOptions::new(features.0, features.1, &options.secret)
        };
        let path = options.directory.join("library");
        let filling = Filling::begin(&path, &library, Arc::clone(&broker));
        let filling = filling.map_err(|error| Error::Library(Box::new(error)))?;
        Ok(Self {
            filling,
            membership: Membership::join(
                rows,
                who,
                options.shards,
                options.copies,
                options.times.dead,
            )?,
            options,
            broker,
            lease: Lease::default(),
            posts: BTreeMap::new(),
            done: BTreeSet::new(),
            board: Board::default(),
        })
    }

    /// Works until nothing is left to crawl in any shard, or until asked to stop: then it gives
    /// away what others follow.
    ///
    /// # Errors
    ///
    /// What ended it before. All threads of the worker have ended.
    pub fn run(mut self, stop: &StopHandle) -> Result<(), Error> {
        let result = self.work(stop);
        for post in self.posts.values() {
            post.end();
        }
        let mut failed = None;
        for (shard, post) in std::mem::take(&mut self.posts) {
            if let Err(source) = post.join() {
                failed.get_or_insert(Error::shard(shard, source));
            }
        }
        let filled = self.filling.end();
        let filled = filled.map_err(|error| Error::Library(Box::new(error)));
        filled.and(result.and(failed.map_or(Ok(()), Err)))
    }

    fn work(&mut self, stop: &StopHandle) -> Result<(), Error> {
        let beat = self.options.times.beat;
        let mut leaving = None;
        let runtime = Builder::new_current_thread().enable_time().build();
        let runtime = runtime.map_err(Error::Threads)?;
        loop {
            self.reap()?;
            if self.filling.has_ended() {
                // Why is told when it is joined.
                return Ok(());
            }
            let now = Lease::now();
            let having = self.having(stop.is_stopped());
            match self.membership.tick(&having, now) {
                Ok(orders) => {
                    self.lease.renew(now + self.options.times.right);
                    self.board.set_over(orders.is_drained);
                    // What this worker owns, it has looked at itself since.
                    let others = orders
                        .looks
                        .iter()
                        .filter(|(it, _)| !orders.own.contains(it));
                    for (shard, look) in others {
                        self.board.put(*shard, look.clone());
                    }
                    if orders.is_over {
                        return Ok(());
                    }
                    if having.is_leaving {
                        let until = *leaving.get_or_insert_with(|| Instant::now() + LEAVING);
                        let has_left = orders.own.is_empty() && orders.give.is_empty();
                        if has_left || Instant::now() >= until {
                            return Ok(());
                        }
                    }
                    self.obey(orders)?;
                }
                Err(broker::Error::Away(reason)) => {
                    tracing::warn!(reason, "the engine of the cluster does not answer");
                    if stop.is_stopped() {
                        return Ok(());
                    }
                }
                Err(broker::Error::Moved) => return Err(Error::Name(self.options.name.clone())),
                Err(error) => return Err(error.into()),
            }
            // Others may take what is given away at their next beat.
            runtime.block_on(async {
                match stop.is_stopped() {
                    true => tokio::time::sleep(beat).await,
                    false => drop(tokio::time::timeout(beat, stop.stopped()).await),
                }
            });
        }
    }

    /// Returns what this worker has.
    fn having(&self, is_leaving: bool) -> Having {
        let mut having = Having {
            is_leaving,
            done: self.done.clone(),
            ..Having::default()
        };
        for (shard, post) in &self.posts {
            if let Role::Following(_) = post.role {
                let position = post.position.load(Ordering::Relaxed);
                having.follows.insert(*shard, position);
            }
        }
        let posts = self.posts.iter();
        let crawled = posts.filter(|(_, post)| matches!(post.role, Role::Crawling(_)));
        for shard in crawled.map(|(shard, _)| shard).chain(&self.done) {
            // Without an answer, nobody is taken to have all of it.
            let end = self.broker.end(&log_of(*shard));
            having.ends.insert(*shard, end.unwrap_or(u64::MAX));
            let look = self.board.look(*shard);
            having.looks.extend(look.map(|look| (*shard, look)));
        }
        having
    }

    /// Looks which threads have ended.
    fn reap(&mut self) -> Result<(), Error> {
        let ended = self
            .posts
            .iter()
            .filter(|(_, post)| post.thread.is_finished());
        let ended: Vec<u16> = ended.map(|(shard, _)| *shard).collect();
        for shard in ended {
            let Some(post) = self.posts.remove(&shard) else {
                continue;
            };
            match post.join() {
                Ok(Some(Ending::Drained)) => {
                    self.done.insert(shard);
                }
                Ok(_) => {}
                Err(engine::Error::Store(store::Error::Stale)) => {
                    tracing::warn!(shard, "another worker has taken the shard over");
                }
                Err(source) => return Err(Error::shard(shard, source)),
            }
        }
        Ok(())
    }

    fn obey(&mut self, orders: Orders) -> Result<(), Error> {
        self.done
            .retain(|shard| orders.own.contains(shard) || orders.give.contains_key(shard));
        for (shard, post) in &self.posts {
            let is_right = match post.role {
                Role::Crawling(_) => orders.own.contains(shard),
                Role::Following(_) => orders.follow.contains(shard),
            };
            if !is_right {
                // Its thread is looked for at the next beat.
                post.end();
            }
        }
        for (shard, to) in orders.give {
            if !self.posts.contains_key(&shard) {
                tracing::info!(shard, to, "the shard is given away");
                self.membership.give(shard, &to)?;
                self.done.remove(&shard);
            }
        }
        for shard in orders.own {
            if !self.posts.contains_key(&shard) && !self.done.contains(&shard) {
                tracing::info!(shard, "crawling the shard");
                let post = self.crawl(shard)?;
                self.posts.insert(shard, post);
            }
        }
        for shard in orders.follow {
            if !self.posts.contains_key(&shard) {
                tracing::info!(shard, "following the shard");
                let post = self.follow(shard)?;
                self.posts.insert(shard, post);
            }
        }
        Ok(())
    }

    fn log(&self, shard: u16) -> Arc<ShardLog> {
        Arc::new(ShardLog::new(
            Arc::clone(&self.broker),
            shard,
            &self.options.name,
        ))
    }

    fn directory(&self, shard: u16) -> PathBuf {
        self.options.directory.join("shards").join(log_of(shard))
    }

    /// Crawls a shard on a thread.
    fn crawl(&self, shard: u16) -> Result<Post, Error> {
        let stop = StopHandle::new();
        let mut options = self.options.crawl.clone();
        options.log = Some(self.log(shard));
        options.lease = Some(self.lease.clone());
        options.opening = Opening::new(stop.clone());
        let shards = Shards::new(shard, self.options.shards);
        options.shard = shards.ok().map(|shards| ShardOptions {
            shards,
            secret: self.options.secret.clone(),
        });
        self.board.forget(shard);
        let (broker, board) = (Arc::clone(&self.broker), self.board.clone());
        let directory = self.directory(shard);
        let seeds = Arc::clone(&self.options.seeds);
        let own = stop.clone();
        let library = self.filling.library();
        options.library = Some(Arc::clone(&library));
        let up_to_date = self.filling.up_to_date();
        let work = move || {
            up_to_date(&own);
            let mut crawl = Crawl::open(directory, options)?;
            crawl.add_seeds(seeds(shard), &own)?;
            let exchange = crawl
                .post()
                .map(|post| Exchange::new(broker, post, library, board));
            let exchange = exchange.map(|exchange| {
                let thread = thread::Builder::new().name(format!("links-{shard:02}"));
                thread.spawn(move || exchange.run())
            });
            let exchange = exchange.transpose().map_err(engine::Error::Threads)?;
            let summary = crawl.run_blocking(&RunLimits::default(), &own);
            if let Some(exchange) = exchange {
                // It ends with the run.
                let _ = exchange.join();
            }
            Ok(Some(summary?.ending))
        };
        Post::start(shard, Role::Crawling(stop), Arc::default(), work)
    }

    /// Follows a shard on a thread.
    fn follow(&self, shard: u16) -> Result<Post, Error> {
        let (end, ended) = mpsc::channel();
        let position = Arc::new(AtomicU64::new(0));
        let (log, directory) = (self.log(shard), self.directory(shard));
        let options = self.options.crawl.clone();
        let read = Arc::clone(&position);
        let work = move || {
            let mut following = Following::open(&directory, &options, log)?;
            loop {
                let waits = match following.step()? {
                    FollowStep::Applied => Duration::ZERO,
                    FollowStep::AtEnd => FOLLOWER_WAITS,
                    FollowStep::Away(reason) => {
                        tracing::debug!(shard, reason, "the log of the shard does not answer");
                        FOLLOWER_WAITS
                    }
                };
                read.store(following.place().0, Ordering::Relaxed);
                if ended.recv_timeout(waits) != Err(RecvTimeoutError::Timeout) {
                    return Ok(None);
                }
            }
        };
        Post::start(shard, Role::Following(end), position, work)
    }
}

impl Post {
    fn start(
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
            thread,
        })
    }

    /// Asks it to end.
    fn end(&self) {
        match &self.role {
            Role::Crawling(stop) => {
                stop.stop();
            }
            Role::Following(end) => {
                // It may have ended.
                let _ = end.send(());
            }
        }
    }

    fn join(self) -> Result<Option<Ending>, engine::Error> {
        let died = |_| engine::Error::Internal("its thread died".to_owned());
        self.thread.join().map_err(died)?
    }
}
