//! What passes between the shards of a crawl: links, over a log of the engine for each shard that
//! receives them; the seeds, which all of them read; and what they tell all others of their
//! documents, over one log for all.
//!
//! Nothing is lost with what the engine loses: a parcel stays in the outbox of the shard that sends
//! it until the one that receives it has said that it was committed there, which is part of what a
//! worker says of itself. Until then it is sent again.

mod listed;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::runtime::Builder;

use super::bulletins::{BULLETINS, stands_at};
use crate::broker::{self, Broker, Reader};
use crate::engine::exchange::{Courier, Crier, Ear, HandInError, Look, Pace, Parcel, Post};
use crate::engine::library::{Library, LibraryError};
use crate::engine::{Failpoint, Lease, Step};
pub(super) use listed::Listed;

/// Bytes of a parcel, as long as it is more than one message.
const PARCEL: usize = 64 << 10;

/// Time after which what was not acknowledged is sent again.
const PATIENCE: Duration = Duration::from_secs(30);

/// Time between two looks at the log while nothing is exchanged.
const TURN: Duration = Duration::from_millis(200);

/// The same while something that was told has not come back.
const RETURN: Duration = Duration::from_millis(20);

/// Least time between two parcels to the same shard, each of which is a request, and a commit where
/// it arrives; unless it was full, so that more wait.
const PACE: Pace = Pace {
    between: Duration::from_millis(500),
    full: PARCEL / 2,
};

/// Least time between two times that the shard is told what has come back to it, which is a commit,
/// while it has nothing else to do.
const HEAR: Duration = Duration::from_millis(300);

/// The same while it has visits to make.
const HEAR_BUSY: Duration = Duration::from_secs(2);

/// Least time between two times that the log of what is sent to the shard is trimmed.
const TRIM: Duration = Duration::from_secs(1);

/// Parcels that are taken in before others are sent.
const TURNS_IN: usize = 64;

/// What is known of all shards: their owners write it, and the couriers of a worker read it.
#[derive(Clone, Default)]
pub(super) struct Board {
    looks: Arc<Mutex<BTreeMap<u16, Look>>>,
    is_over: Arc<AtomicBool>,
    /// The position of the last entry of the list of seeds.
    seeds_end: Arc<AtomicU64>,
    /// Up to where the shards have read what is for all of them.
    through: Arc<Mutex<BTreeMap<u16, Through>>>,
}

/// Up to which positions a shard has read the logs that are for all shards.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Through {
    /// Of the list of seeds: these are admitted, and what was to be put back is.
    pub(super) seeds: u64,
    /// Of what the shards tell of their documents.
    pub(super) told: u64,
}

impl Board {
    /// Returns how a shard was when it was looked at last.
    pub(super) fn look(&self, shard: u16) -> Option<Look> {
        let looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        looks.get(&shard).cloned()
    }

    /// Notes how a shard is.
    pub(super) fn put(&self, shard: u16, look: Look) {
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        looks.insert(shard, look);
    }

    /// Forgets how a shard was when somebody else owned it.
    pub(super) fn forget(&self, shard: u16) {
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        looks.remove(&shard);
    }

    /// Notes where the list of seeds ends.
    pub(super) fn set_seeds_end(&self, position: u64) {
        self.seeds_end.store(position, Ordering::Relaxed);
    }

    /// Returns where the list of seeds ends.
    pub(super) fn seeds_end(&self) -> u64 {
        self.seeds_end.load(Ordering::Relaxed)
    }

    /// Returns up to where a shard has read what is for all shards. Its look is as young or younger
    /// if that is asked for afterwards.
    pub(super) fn through(&self, shard: u16) -> Through {
        let through = self.through.lock();
        let through = through.unwrap_or_else(PoisonError::into_inner);
        through.get(&shard).copied().unwrap_or_default()
    }

    /// Notes up to where a shard has read what is for all shards.
    fn put_through(&self, shard: u16, position: Through) {
        let through = self.through.lock();
        let mut through = through.unwrap_or_else(PoisonError::into_inner);
        through.insert(shard, position);
    }

    /// Notes whether nothing is left to do in all shards.
    pub(super) fn set_over(&self, is_over: bool) {
        self.is_over.store(is_over, Ordering::Relaxed);
    }
}

/// The courier of a shard whose crawl runs here.
pub(super) struct Exchange {
    broker: Arc<dyn Broker>,
    post: Post,
    courier: Courier,
    crier: Crier,
    library: Arc<Library>,
    ear: Ear,
    /// Whether the engine has what the shard has heard.
    is_sure: bool,
    board: Board,
    /// Whether all shards have a log for what is sent to them.
    has_logs: bool,
    /// Reads what is sent to the shard.
    inbox: Reader,
    /// Position of the last parcel that was taken in.
    position: u64,
    /// When the log of what is sent here is trimmed next.
    trim_at: Duration,
    /// When the shard was told last what has come back.
    heard_at: Duration,
    /// Up to where that log was trimmed.
    trimmed: u64,
    list: Listed,
    failpoint: Option<Failpoint>,
}

/// Name of the log of what is sent to a shard.
fn inbox(shard: u16) -> String {
    format!("links{shard:02}")
}

impl Exchange {
    /// The courier of a shard, which does what the list of the crawl says.
    pub(super) fn new(
        broker: Arc<dyn Broker>,
        post: Post,
        library: Arc<Library>,
        board: Board,
        list: Listed,
        failpoint: Option<Failpoint>,
    ) -> Self {
        let own = inbox(post.shards().own());
        Self {
            inbox: Reader::new(Arc::clone(&broker), &own),
            courier: Courier::new(post.shards(), PACE, PATIENCE),
            crier: Crier::new(PATIENCE),
            library,
            ear: post.ear(),
            is_sure: false,
            broker,
            post,
            board,
            has_logs: false,
            position: 0,
            trim_at: Duration::ZERO,
            heard_at: Duration::ZERO,
            trimmed: 0,
            list,
            failpoint,
        }
    }

    /// Sends and takes in until the run is over.
    pub(super) fn run(mut self) {
        let runtime = match Builder::new_current_thread().enable_time().build() {
            Ok(runtime) => runtime,
            Err(error) => {
                tracing::error!(%error, "links to other shards are not sent");
                return;
            }
        };
        runtime.block_on(async {
            loop {
                let shard = self.post.shards().own();
                match self.turn().await {
                    Ok(true) => {}
                    Ok(false) => {
                        let turn = match self.crier.waits() {
                            // It is told no sooner.
                            true => self
                                .hear_at()
                                .saturating_sub(Lease::now())
                                .clamp(RETURN, TURN),
                            false => TURN,
                        };
                        tokio::select! {
                            changed = self.post.changed() => if changed.is_err() {
                                return;
                            },
                            () = self.inbox.arrives(turn) => {}
                        }
                    }
                    Err(Trouble::Over) => return,
                    Err(Trouble::Library(error)) => {
                        tracing::error!(shard, %error, "the library of the worker cannot be read");
                        tokio::time::sleep(TURN).await;
                    }
                    Err(Trouble::Engine(error)) => {
                        tracing::debug!(shard, %error, "links are not exchanged for the moment");
                        tokio::time::sleep(TURN).await;
                    }
                }
            }
        });
    }

    /// Sends what waits and takes in what has arrived. Returns whether there was anything.
    async fn turn(&mut self) -> Result<bool, Trouble> {
        let shards = self.post.shards();
        if !self.has_logs {
            for shard in 0..shards.count() {
                self.broker.create(&inbox(shard))?;
            }
            self.has_logs = true;
        }
        let list_end = self.board.seeds_end();
        let mut has_moved = self.list.turn(&*self.broker, &self.post, list_end).await?;
        let now = Lease::now();
        for other in shards.others() {
            let look = self.board.look(other).unwrap_or_default();
            let received = look.counts.received.get(usize::from(shards.own()));
            let through = received.copied().unwrap_or(0);
            if self.courier.acknowledged(other, through, now) {
                let told = self.post.acknowledge(other, through).await;
                told.map_err(|_| Trouble::Over)?;
            }
        }
        has_moved |= self.send(now)?;
        has_moved |= self.tell(now)?;
        has_moved |= self.hear(now).await?;
        has_moved |= self.take_all_in(shards.own(), now).await?;
        let mut look = self.post.look().await.map_err(|_| Trouble::Over)?;
        let through = Through {
            seeds: self.list.through(),
            told: self.ear.position(),
        };
        let has_seeds = through.seeds < self.board.seeds_end();
        look.is_idle &= !has_seeds;
        self.board.put(shards.own(), look.clone());
        // In this order: whoever finds that this was read finds a look behind that.
        self.board.put_through(shards.own(), through);
        if self.board.is_over.load(Ordering::Relaxed) && !has_seeds {
            let ended = self.post.end(look).await;
            ended.map_err(|_| Trouble::Over)?;
        }
        Ok(has_moved)
    }

    /// Sends to others what waits for them. Returns whether there was anything.
    fn send(&mut self, now: Duration) -> Result<bool, Trouble> {
        let waiting = |to, after| self.post.waiting(to, after, PARCEL);
        // The store is closed once the run is over.
        let parcels = self.courier.collect(now, waiting);
        let parcels = parcels.map_err(|_| Trouble::Over)?;
        let is_any = !parcels.is_empty();
        for parcel in parcels {
            self.broker.publish(&inbox(parcel.to), &parcel.encode())?;
            Failpoint::reach(&mut self.failpoint, Step::LinksSent);
        }
        Ok(is_any)
    }

    /// Tells all others what waits for them. Returns whether there was anything.
    fn tell(&mut self, now: Duration) -> Result<bool, Trouble> {
        let (post, library) = (&self.post, &self.library);
        let waiting = |after| post.waiting_notices(after, PARCEL, library);
        // The store is closed once the run is over.
        let bulletin = self.crier.collect(now, waiting);
        let Some(bulletin) = bulletin.map_err(|_| Trouble::Over)? else {
            return Ok(false);
        };
        self.broker.publish(BULLETINS, &bulletin.encode())?;
        Ok(true)
    }

    /// When the shard is told next what has come back.
    fn hear_at(&self) -> Duration {
        let look = self.board.look(self.post.shards().own());
        let is_busy = look.is_some_and(|it| !it.is_idle);
        self.heard_at + if is_busy { HEAR_BUSY } else { HEAR }
    }

    /// Tells the shard what of that has come back, and what others have told. Returns whether there
    /// was anything.
    async fn hear(&mut self, now: Duration) -> Result<bool, Trouble> {
        if now < self.hear_at() {
            return Ok(false);
        }
        if !self.is_sure {
            let broker = &*self.broker;
            self.ear.stay_or_go_back(|at| stands_at(broker, at))?;
            self.is_sure = true;
        }
        let heard = self.ear.listen(&self.library).map_err(Trouble::Library)?;
        let has_returned = self.crier.returned(heard.returned, now);
        if !has_returned && heard.told.is_empty() {
            return Ok(false);
        }
        self.heard_at = now;
        self.post.hear(heard).await.map_err(|_| Trouble::Over)?;
        Ok(true)
    }

    /// Takes in what was sent to this shard, some parcels at most. Returns whether there was any.
    async fn take_all_in(&mut self, own: u16, now: Duration) -> Result<bool, Trouble> {
        let mut parcels = Vec::new();
        for _ in 0..TURNS_IN {
            let (at, bytes) = match self.inbox.message_after(self.position) {
                Ok(Some(next)) => next,
                Ok(None) => break,
                // What is gone was committed here, or is sent again.
                Err(broker::Error::Trimmed { first }) => {
                    self.position = first.saturating_sub(1);
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            self.position = at;
            match Parcel::decode(&bytes) {
                Ok(parcel) => parcels.push(parcel),
                Err(error) => unreadable(&error.into())?,
            }
        }
        // All at once, so that they can be one commit.
        let handed_in = parcels.iter().map(|parcel| self.post.hand_in(parcel));
        for handed_in in join_all(handed_in).await {
            if let Err(error) = handed_in {
                unreadable(&error)?;
            }
        }
        if self.position > self.trimmed && now >= self.trim_at {
            self.trim_at = now + TRIM;
            self.broker.trim(&inbox(own), self.position)?;
            self.trimmed = self.position;
        }
        Ok(!parcels.is_empty())
    }
}

/// What becomes of a parcel that was not taken in: another worker will be able to read it, or it is
/// sent again.
fn unreadable(error: &HandInError) -> Result<(), Trouble> {
    match error {
        HandInError::Over(_) => Err(Trouble::Over),
        HandInError::Parcel(error) => {
            tracing::warn!(%error, "a parcel of links cannot be read");
            Ok(())
        }
    }
}

/// Why a turn ends early.
enum Trouble {
    /// The run is over.
    Over,
    /// The engine does not do what it is asked for.
    Engine(broker::Error),
    /// The library cannot be read.
    Library(LibraryError),
}

impl From<broker::Error> for Trouble {
    fn from(error: broker::Error) -> Self {
        Self::Engine(error)
    }
}
