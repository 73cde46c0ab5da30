//! The shards that a worker crawls or follows, each on a thread of its own.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

use super::{Error, Worker};
use crate::cluster::copies::{Copies, Copy, Follower, Giver, NO_COPY};
use crate::cluster::exchange::Exchange;
use crate::cluster::log::{ShardLog, log_of};
use crate::cluster::tells::Figures;
use crate::control::{ControlServer, Handles, ServeMode};
use crate::engine::{
    self, Control, Crawl, Ending, Failpoint, LostWorker, Opening, RunLimits, ShardOptions, Step,
    StopHandle, Watch,
};
use crate::frontier::Shards;
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
    pub(super) thread: JoinHandle<Result<Option<Ending>, engine::Error>>,
}

/// What is done with a shard, and how that is ended.
pub(super) enum Role {
    Crawling(StopHandle),
    /// It ends when it is sent something.
    Following(Sender<()>),
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
        let mut options = self.options.crawl.clone();
        let position = Arc::new(AtomicU64::new(NO_COPY));
        let end = Arc::clone(&position);
        options.log = Some(Arc::new(self.log(shard).noting(&position)));
        let mut failpoint = options.failpoint;
        options.lease = Some(self.lease.clone());
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
        let open = Arc::new(OnceLock::new());
        let opened = Arc::clone(&open);
        let work = move || {
            up_to_date(&own);
            let mut crawl = Crawl::open(&directory, options)?;
            Failpoint::reach(&mut failpoint, Step::Owned);
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
            let giver = Giver::new(Arc::clone(&broker), shard, copies, crawl.copy_source());
            let (end_giver, ended) = mpsc::channel();
            let giver = thread::Builder::new()
                .name(format!("copies-{shard:02}"))
                .spawn(move || giver.run(&ended))
                .map_err(engine::Error::Threads)?;
            let handles = Handles {
                control: crawl.control(),
                watch: crawl.watch(),
                stop: own.clone(),
            };
            // Nobody else sets it.
            let _ = opened.set((handles.control.clone(), handles.watch.clone()));
            let exchange = crawl.post();
            let exchange = exchange
                .map(|post| Exchange::new(broker, post, library, board, seeds_from, failpoint));
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
        let mut post = Post::start(shard, Role::Crawling(stop), position, work)?;
        post.open = open;
        Ok(post)
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
            let is_own = matches!(post.role, Role::Crawling(_));
            match post.join() {
                Ok(Some(Ending::Drained)) => {
                    self.done.insert(shard);
                }
                Ok(Some(_)) => {
                    self.ended.insert(shard);
                }
                // Ended while it was opened, which has its first entry in the log by then.
                Err(engine::Error::Stopped(_)) if is_own => {
                    self.ended.insert(shard);
                }
                Ok(None) => {}
                Err(engine::Error::Store(store::Error::Stale)) => {
                    tracing::warn!(shard, "another worker has taken the shard over");
                }
                Err(engine::Error::Store(store::Error::Outdated { reason })) => {
                    tracing::warn!(
                        shard,
                        reason,
                        "the directory cannot go on with the shard; it is for a worker that \
                         follows it"
                    );
                    self.unfit.insert(shard);
                }
                Err(source) => return Err(Error::shard(shard, source)),
            }
        }
        Ok(())
    }

    /// Follows a shard on a thread, and makes a copy of it where there is none that can.
    pub(super) fn follow(&self, shard: u16) -> Result<Post, Error> {
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
            ended,
        };
        let work = move || follower.run().map(|()| None);
        Post::start(shard, Role::Following(end), position, work)
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

    /// Asks it to end.
    pub(super) fn end(&self) {
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

    pub(super) fn join(self) -> Result<Option<Ending>, engine::Error> {
        let died = |_| engine::Error::Internal("its thread died".to_owned());
        self.thread.join().map_err(died)?
    }
}
