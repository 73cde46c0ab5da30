//! A worker: crawls the shards that it owns, and follows others.

mod posts;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::runtime::Builder;

use super::bulletins::{BULLETINS, Filling};
use super::copies::{Copies, NO_COPY};
use super::exchange::Board;
use super::forget::{Lost, lost};
use super::kept::{Called, NotTaken, Taken};
use super::list;
use super::membership::{Having, Membership, Orders, Times, speaks};
use super::orders::passed;
use super::orders::searches::{Searches, Searching};
use super::portion::part;
use super::rows::{Rows, patiently};
use super::status::{Facts, ended, stands};
use super::tells::{Figures, Rate, Tells};
use super::terms::Terms;
use super::view::WorkerView;
use super::wanted::{self, Going, Heard, Wanted};
use crate::broker::{self, Broker};
use crate::engine::exchange::Look;
use crate::engine::{self, Lease, Options, StopHandle};
use posts::{Post, Role, begin_to_fill, renew};

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
    /// What the crawl is called in the engine.
    pub crawl_name: String,
    /// What holds for all workers of the crawl.
    pub terms: Terms,
    /// Bytes that the log of a shard may have before the slowest copy is dropped.
    pub log_max: u64,
    /// The times that all workers of the crawl go by.
    pub times: Times,
    /// How it crawls. The most memory, the most fetches and the greatest rates are shared by its
    /// shards, of which it may own all if `max_shards` does not say otherwise.
    pub crawl: Options,
    /// Maximum number of shards that it is to own; `None` for any.
    pub max_shards: Option<u16>,
    /// Where its console is, for people.
    pub console: Option<String>,
    /// Documents of all shards that the worker keeps whole, to find what repeats them: of further
    /// ones only copies byte for byte are found.
    pub library: u64,
}

/// Why a worker ends before its time. What it owned is taken over by others.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its engine refuses it.
    #[error("the engine of the cluster: {0}")]
    Engine(#[from] broker::Error),
    /// Another process has its name.
    #[error("another process runs as worker {0}; give each a name of its own with --name")]
    Name(String),
    /// It cannot have its directory, or not write it.
    #[error(transparent)]
    NotTaken(#[from] NotTaken),
    /// It cannot start what it needs.
    #[error("cannot start: {0}")]
    Threads(std::io::Error),
    /// What all shards have stored cannot be kept.
    #[error("the library: {0}")]
    Library(Box<engine::Error>),
    /// A shard cannot be crawled.
    #[error("shard {shard:02}")]
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
    posts: BTreeMap<u16, Post>,
    done: BTreeSet<u16>,
    /// Shards that it owns and whose crawls here have ended, with something left to do.
    ended: BTreeSet<u16>,
    /// Shards that it owns, of which the log does not have any more what is lacking here.
    unfit: BTreeSet<u16>,
    /// Shards without an owner that what the disk has of them cannot go on with.
    lacking: BTreeSet<u16>,
    /// Workers whose disks are lost.
    lost: Vec<Lost>,
    /// Shards of which it may be registered for a copy.
    registered: BTreeSet<u16>,
    board: Board,
    /// What people want.
    wanted: Wanted,
    /// What its directory keeps of that; `None` if that is nothing, or cannot be read.
    heard: Option<Heard>,
    /// Whether it has crawled or followed anything.
    has_begun: bool,
    /// Whether it has done what it was told first.
    has_obeyed: bool,
    /// Figures of the shards that it owns.
    figures: BTreeMap<u16, Figures>,
    rate: Rate,
    view: WorkerView,
    filling: Filling,
    /// What searches its files for what is to be forgotten.
    searching: Searching,
    _taken: Taken,
}

impl Worker {
    /// Joins a crawl, unless it is stopped before.
    ///
    /// # Errors
    ///
    /// [`NotTaken::InUse`] if another process has the directory, and [`Error::Name`] if one has the
    /// name: both are left alone. [`Error::Engine`] if the engine does not answer for half a
    /// minute; [`NotTaken::Io`] if the directory cannot be written.
    pub fn join(
        broker: Arc<dyn Broker>,
        mut options: WorkerOptions,
        stop: &StopHandle,
    ) -> Result<Self, Error> {
        let taken = Taken::take(&options.directory)?;
        let rows = Rows::new(Arc::clone(&broker));
        if patiently(stop, || speaks(&rows, &options.name, options.times.beat))? {
            return Err(Error::Name(options.name));
        }
        let called = Called {
            name: options.name.clone(),
            machine: options.machine.clone(),
        };
        let kept = options.terms.keep(&options.directory);
        let kept = kept.and_then(|()| called.keep(&options.directory));
        kept.map_err(|source| NotTaken::Io {
            path: options.directory.clone(),
            source,
        })?;
        let who = (&*options.name, &*options.machine);
        let terms = &options.terms;
        let (copies, dead) = (usize::from(terms.copies), options.times.dead);
        let membership = patiently(stop, || {
            let rows = Rows::new(Arc::clone(&broker));
            Membership::join(rows, who, terms.shards, copies, dead)
        })?;
        part(&mut options.crawl, terms.shards, options.max_shards);
        let mut registered = BTreeSet::new();
        for shard in 0..options.terms.shards {
            let copies = Copies::new(Arc::clone(&broker), shard, &options.name);
            if patiently(stop, || copies.read())?.contains_key(&options.name) {
                registered.insert(shard);
            }
        }
        let heard = Heard::of(&options.directory).unwrap_or_default();
        let filling = begin_to_fill(&options, &broker)?;
        let of = (&*options.name, &*options.directory);
        let searches = Searches::new(Arc::clone(&broker), of, &options.terms, &options.crawl);
        let searches = searches.map_err(|source| NotTaken::Io {
            path: options.directory.clone(),
            source,
        })?;
        Ok(Self {
            searching: searches.start().map_err(Error::Threads)?,
            filling,
            _taken: taken,
            membership,
            options,
            broker,
            posts: BTreeMap::new(),
            done: BTreeSet::new(),
            ended: BTreeSet::new(),
            unfit: BTreeSet::new(),
            lacking: BTreeSet::new(),
            lost: Vec::new(),
            registered,
            board: Board::default(),
            wanted: Wanted::default(),
            heard,
            has_begun: false,
            has_obeyed: false,
            figures: BTreeMap::new(),
            rate: Rate::default(),
            view: WorkerView::default(),
        })
    }

    /// Returns a handle to see how it and its cluster stand.
    pub fn view(&self) -> WorkerView {
        self.view.clone()
    }

    /// Works until nothing is left to crawl in any shard, until people want the crawl to stop, or
    /// until asked to stop: then it gives away what others follow.
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
            // One that another worker has taken over meanwhile is no failure of this one.
            if let Err(error) = post.outcome(shard) {
                failed.get_or_insert(error);
            }
        }
        self.searching.end();
        let filled = self.filling.end();
        let filled = filled.map_err(|error| Error::Library(Box::new(error)));
        filled.and(result.and(failed.map_or(Ok(()), Err)))
    }

    fn work(&mut self, stop: &StopHandle) -> Result<(), Error> {
        let beat = self.options.times.beat;
        let mut leaving = None;
        let runtime = Builder::new_current_thread().enable_time().build();
        let runtime = runtime.map_err(Error::Threads)?;
        let over = patiently(stop, || ended(&self.broker, &self.options.crawl_name))?;
        if let Some((over, end)) = over {
            self.view.show(over);
            let all = 0..self.options.terms.shards;
            self.searching.searches().heard_that_all_have(end, all);
            self.search_files(stop);
            return Ok(());
        }
        loop {
            self.reap()?;
            if self.filling.has_ended() {
                // Why is told when it is joined.
                return Ok(());
            }
            let now = Lease::now();
            let heeded = self.heed();
            let is_held = self.wanted.wishes.going == Going::Stopped;
            let is_drained = self.wanted.wishes.drained.contains(&self.options.name);
            let having = self.having(stop.is_stopped() || is_held || is_drained, now);
            let ordered = heeded.and_then(|()| self.membership.tick(&having, now));
            match ordered {
                Ok(orders) => {
                    let own = orders.own.clone();
                    self.board.set_over(orders.is_drained && !self.wanted.stays);
                    // What this worker owns, it has looked at itself since.
                    let others = orders
                        .looks
                        .iter()
                        .filter(|(it, _)| !orders.own.contains(it));
                    for (shard, look) in others {
                        self.board.put(*shard, look.clone());
                    }
                    // Not before the engine knows this worker: one that has lost its data knows
                    // of no wishes.
                    let directory = &self.options.directory;
                    let kept = Heard::keep(&mut self.heard, directory, &self.wanted);
                    if let Err(error) = kept {
                        tracing::warn!(%error, "what is wanted of the crawl could not be kept");
                    }
                    let has_all_passed = self.show(now);
                    self.stop_at_limits()?;
                    // What the workers said last may be of before something was added.
                    if orders.is_over && !self.wanted.stays && has_all_passed {
                        self.search_files(stop);
                        return Ok(());
                    }
                    if is_held {
                        self.posts.values().for_each(Post::end);
                        if self.posts.is_empty() && (self.has_begun || stop.is_stopped()) {
                            return Ok(());
                        }
                    } else {
                        if stop.is_stopped() {
                            let until = *leaving.get_or_insert_with(|| Instant::now() + LEAVING);
                            let has_left = orders.own.is_empty() && orders.give.is_empty();
                            if has_left || orders.is_alone || Instant::now() >= until {
                                return Ok(());
                            }
                        }
                        self.hear_of_losses()?;
                        match self.obey(orders) {
                            // What was not done is ordered again.
                            Err(Error::Engine(broker::Error::Away(reason))) => {
                                self.lost_the_engine(&reason);
                            }
                            obeyed => obeyed?,
                        }
                        self.has_obeyed = true;
                        self.pace(&runtime);
                        if self.wanted.wishes.going == Going::Running {
                            renew(&self.posts, &own, now + self.options.times.right);
                        }
                    }
                }
                Err(broker::Error::Away(reason)) => {
                    self.lost_the_engine(&reason);
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

    /// The engine may come back without the ends of logs: what has ended here is opened again
    /// before it is given away.
    fn lost_the_engine(&mut self, reason: &str) {
        self.view.lost_the_engine(reason);
        self.ended.clear();
        self.searching.searches().doubt();
    }

    /// Searches its files for what is to be forgotten, when the crawl is over.
    fn search_files(&self, stop: &StopHandle) {
        let searches = self.searching.searches();
        searches.end_following();
        while !searches.are_over() && !stop.is_stopped() {
            thread::sleep(self.options.times.beat);
        }
    }

    /// Reads what people want, and whether they gave seeds.
    fn heed(&mut self) -> broker::Result<()> {
        self.wanted = Wanted::read(&*self.broker)?;
        let end = list::end(&*self.broker)?;
        // All shards read what was added, and in a crawl that stays no shard is ever done: those
        // that were are crawled again.
        if end > self.board.seeds_end() || self.wanted.stays {
            self.done.clear();
        }
        self.board.set_seeds_end(end);
        Ok(())
    }

    /// Shows how the cluster stands. Returns whether all shards have done what the list says.
    fn show(&self, now: Duration) -> bool {
        let (owners, workers) = self.membership.known(now);
        let alive = workers.iter().filter(|(_, it)| it.is_alive);
        self.filling
            .hear_of(alive.map(|(name, _)| name.clone()).collect());
        let facts = Facts {
            name: &self.options.crawl_name,
            terms: &self.options.terms,
            wanted: &self.wanted,
            owners,
            workers: &workers,
            seeds_end: self.board.seeds_end(),
            time: Timestamp::now().as_millisecond(),
        };
        self.view.show(stands(&facts));
        let follows = |post: &Post| matches!(post.role, Role::Following { .. });
        let followed = self.posts.iter().filter(|(_, post)| follows(post));
        let followed = followed.map(|(shard, _)| *shard).collect();
        let followed = self.has_obeyed.then_some(followed);
        let searches = self.searching.searches();
        let (end, passed) = (facts.seeds_end, passed(&facts));
        searches.heard(end, &passed, followed);
        passed.values().all(|through| *through >= end)
    }

    /// Stops the crawl if it has what it was to have.
    fn stop_at_limits(&self) -> Result<(), Error> {
        let Some(now) = self.view.status() else {
            return Ok(());
        };
        let reached = self.wanted.limits.reached((now.sum.pages, now.sum.bytes));
        let Some(limit) = reached.filter(|_| self.wanted.wishes.going == Going::Running) else {
            return Ok(());
        };
        tracing::info!(limit, "the crawl has what it was to have, and is stopped");
        match wanted::stop(&*self.broker) {
            // It is reached at the next beat too.
            Err(broker::Error::Away(_)) => Ok(()),
            stopped => Ok(stopped?),
        }
    }

    /// Ends what is crawled here, to go on when what was lost with disks is put back, if there are
    /// more of them than were heard of.
    fn hear_of_losses(&mut self) -> Result<(), Error> {
        let lost = match lost(&*self.broker) {
            Err(broker::Error::Away(_)) => return Ok(()),
            lost => lost?,
        };
        if lost.len() == self.lost.len() {
            return Ok(());
        }
        self.lost = lost;
        self.done.clear();
        let posts = self.posts.values();
        posts
            .filter(|post| matches!(post.role, Role::Crawling { .. }))
            .for_each(Post::end);
        Ok(())
    }

    /// Returns what this worker has.
    fn having(&mut self, is_leaving: bool, now: Duration) -> Having {
        let mut having = Having {
            is_leaving,
            done: self.done.clone(),
            ended: self.ended.clone(),
            unfit: self.unfit.clone(),
            kept: self.kept(),
            ..Having::default()
        };
        let mut figures = BTreeMap::new();
        for (shard, post) in &self.posts {
            let position = post.position.load(Ordering::Relaxed);
            match post.role {
                Role::Following { .. } if position != NO_COPY => {
                    having.follows.insert(*shard, position);
                }
                Role::Following { .. } => {}
                Role::Crawling { .. } => {
                    figures.insert(*shard, post.figures().unwrap_or_default());
                    // Before that is known, nobody is taken to have all of it.
                    having.ends.insert(*shard, position);
                }
            }
        }
        for shard in &self.done {
            figures.insert(*shard, self.figures.remove(shard).unwrap_or_default());
        }
        if self.wanted.wishes.going == Going::Stopped {
            // What ends goes on later, and is told until then.
            for (shard, last) in &self.figures {
                figures.entry(*shard).or_insert_with(|| last.clone());
            }
        }
        for (shard, figures) in &mut figures {
            having.ends.entry(*shard).or_insert(figures.end);
            figures.seeds_through = self.board.through(*shard).seeds;
        }
        having.looks = self.looks(figures.keys());
        having.tells = Tells {
            time: Timestamp::now().as_millisecond(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            data_dir: self.options.directory.display().to_string(),
            console: self.options.console.clone(),
            max_shards: self.options.max_shards,
            take_overs: self.membership.take_overs(),
            pages_in_100_s: self.rate.add(now, &figures),
            figures: figures.clone(),
        };
        having.library = self.filling.library().durable();
        self.figures = figures;
        having
    }

    /// Returns the shards of which the disk has something that may be followed with.
    fn kept(&self) -> BTreeSet<u16> {
        let is_there = |shard: &u16| self.directory(*shard).join("store").exists();
        let shards = (0..self.options.terms.shards).filter(|it| !self.lacking.contains(it));
        shards.filter(is_there).collect()
    }

    /// Returns how shards are whose crawls run here. One that has not heard all that others tell
    /// has something to do, for that may concern what it has found.
    fn looks<'a>(&self, shards: impl Iterator<Item = &'a u16>) -> BTreeMap<u16, Look> {
        let look = |shard: &u16| {
            // In this order: what it had read by then, and a look that is no older.
            let told = self.board.through(*shard).told;
            Some((*shard, (told, self.board.look(*shard)?)))
        };
        let mut looks: BTreeMap<u16, (u64, Look)> = shards.filter_map(look).collect();
        let running = looks.iter_mut().filter(|it| !self.done.contains(it.0));
        let mut idle = running.filter(|it| it.1.1.is_idle).peekable();
        if idle.peek().is_some() {
            // Asked after the looks, so that all is counted that was told before them. Without an
            // answer, nobody is taken to have heard all.
            let end = self.broker.end(BULLETINS).unwrap_or(u64::MAX);
            idle.for_each(|(_, (told, look))| look.is_idle = *told >= end);
        }
        for (shard, (_, look)) in &mut looks {
            // Time alone wakes it, and what it finds then may be for shards that have ended.
            let post = self.posts.get(shard);
            look.is_idle &= !post.is_some_and(Post::visits_again);
        }
        let looks = looks.into_iter();
        looks.map(|(shard, (_, look))| (shard, look)).collect()
    }

    fn obey(&mut self, orders: Orders) -> Result<(), Error> {
        self.has_begun |= !orders.own.is_empty() || !orders.follow.is_empty();
        let is_owned = |shard: &u16| orders.own.contains(shard) || orders.give.contains_key(shard);
        self.done.retain(is_owned);
        self.ended.retain(is_owned);
        self.unfit.retain(|shard| orders.unfit.contains(shard));
        self.lacking.retain(|shard| orders.waiting.contains(shard));
        self.leave(&orders);
        for (shard, post) in &self.posts {
            let is_right = match &post.role {
                Role::Crawling { .. } => orders.own.contains(shard),
                Role::Following { is_revived, .. } => {
                    is_revived.store(orders.revive.contains(shard), Ordering::Relaxed);
                    orders.follow.contains(shard)
                }
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
                self.ended.remove(&shard);
                self.unfit.remove(&shard);
            }
        }
        for shard in orders.own {
            if !self.posts.contains_key(&shard) && !self.done.contains(&shard) {
                tracing::info!(shard, "crawling the shard");
                self.ended.remove(&shard);
                let post = self.crawl(shard)?;
                self.registered.insert(shard);
                self.posts.insert(shard, post);
            }
        }
        for shard in orders.follow {
            if !self.posts.contains_key(&shard) {
                tracing::info!(shard, "following the shard");
                let post = self.follow(shard, orders.revive.contains(&shard))?;
                self.registered.insert(shard);
                self.posts.insert(shard, post);
            }
        }
        Ok(())
    }

    /// Lets the logs of shards go on without this worker of which it is to have no copy.
    fn leave(&mut self, orders: &Orders) {
        let (posts, broker, name) = (&self.posts, &self.broker, &self.options.name);
        self.registered.retain(|shard| {
            let is_used = posts.contains_key(shard)
                || orders.own.contains(shard)
                || orders.follow.contains(shard)
                || orders.give.contains_key(shard)
                || orders.waiting.contains(shard);
            if is_used {
                return true;
            }
            let copies = Copies::new(Arc::clone(broker), *shard, name);
            match copies.leave() {
                Ok(()) => false,
                Err(error) => {
                    tracing::debug!(shard, %error, "the copy stays registered for the moment");
                    true
                }
            }
        });
    }
}
