//! Follows a shard: applies what its log has to a directory of this worker, and makes that
//! directory out of the owner's where the log does not have any more what it lacks.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::thread;
use std::time::Duration;

use super::copier::Taker;
use super::followed::FollowedLog;
use super::{Copies, Copy};
use crate::broker::Broker;
use crate::cluster::log::ShardLog;
use crate::engine::{self, Copying, FollowStep, Following, Options};
use crate::store::{self, CommitLog};

/// Longest wait for what the owner commits, after which it is looked whether to end.
const LISTENS: Duration = Duration::from_millis(100);

/// Wait of a follower while the log does not answer.
const AWAY: Duration = Duration::from_millis(50);

/// The position of a follower that has no copy to follow with.
pub(in crate::cluster) const NO_COPY: u64 = u64::MAX;

/// What follows a shard on a thread of its own.
pub(in crate::cluster) struct Follower {
    pub(in crate::cluster) shard: u16,
    pub(in crate::cluster) broker: Arc<dyn Broker>,
    pub(in crate::cluster) copies: Copies,
    pub(in crate::cluster) log: Arc<ShardLog>,
    pub(in crate::cluster) directory: PathBuf,
    pub(in crate::cluster) options: Options,
    pub(in crate::cluster) position: Arc<AtomicU64>,
    /// Whether nobody else has anything of the shard. Then no copy is made in the place of a
    /// directory that cannot be followed with, and it is not said how far it is before the end of
    /// the log: the directory may be of long ago.
    pub(in crate::cluster) is_revived: Arc<AtomicBool>,
    pub(in crate::cluster) ended: Receiver<()>,
}

impl Follower {
    /// Follows until it is asked to end.
    pub(in crate::cluster) fn run(self) -> Result<(), engine::Error> {
        loop {
            let reason = match self.follow() {
                Err(engine::Error::Store(store::Error::Outdated { reason }))
                    if !self.is_revived.load(Ordering::Relaxed) =>
                {
                    reason
                }
                ended => return ended,
            };
            let shard = self.shard;
            tracing::info!(shard, reason, "the shard is copied from its owner");
            self.position.store(NO_COPY, Ordering::Relaxed);
            let log = Arc::clone(&self.log) as Arc<dyn CommitLog>;
            let mut copying = Copying::open(&self.directory, &self.options, log)?;
            let taker = Taker::new(Arc::clone(&self.broker), self.copies.clone());
            let taker = taker.map_err(|error| engine::Error::Internal(error.to_string()))?;
            if !taker.run(&mut copying, &self.options, &self.ended)? {
                return Ok(());
            }
            tracing::info!(shard, "the shard is copied");
        }
    }

    fn follow(&self) -> Result<(), engine::Error> {
        let log = Arc::clone(&self.log);
        let log = FollowedLog::new(log, Arc::clone(&self.broker), self.shard);
        let log = Arc::new(log.map_err(engine::Error::Threads)?);
        let as_log = Arc::clone(&log) as Arc<dyn CommitLog>;
        let mut following = Following::open(&self.directory, &self.options, as_log)?;
        let (mut is_registered, mut is_at_end) = (false, false);
        loop {
            let step = following.step()?;
            let (position, _) = following.place();
            if !is_registered {
                let wish = None;
                // Where that fails, it is tried again, and what is lacking by then is copied.
                is_registered = self.copies.put(&Copy { position, wish }).is_ok();
            }
            is_at_end |= matches!(step, FollowStep::AtEnd);
            if is_at_end || !self.is_revived.load(Ordering::Relaxed) {
                self.position.store(position, Ordering::Relaxed);
            }
            match step {
                FollowStep::Applied => {}
                FollowStep::AtEnd => log.wait(LISTENS),
                FollowStep::Away(reason) => {
                    let shard = self.shard;
                    tracing::debug!(shard, reason, "the log of the shard does not answer");
                    thread::sleep(AWAY);
                }
            }
            if self.ended.try_recv() != Err(TryRecvError::Empty) {
                return Ok(());
            }
        }
    }
}
