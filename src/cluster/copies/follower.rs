//! Follows a shard: applies what its log has to a directory of this worker, and makes that
//! directory out of the owner's where the log does not have any more what it lacks.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use super::copier::Taker;
use super::{Copies, Copy};
use crate::broker::Broker;
use crate::cluster::log::ShardLog;
use crate::engine::{self, Copying, FollowStep, Following, Options};
use crate::store::{self, CommitLog};

/// Wait of a follower at the end of its log, and while the log does not answer.
const FOLLOWER_WAITS: Duration = Duration::from_millis(50);

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
    pub(in crate::cluster) ended: Receiver<()>,
}

impl Follower {
    /// Follows until it is asked to end.
    pub(in crate::cluster) fn run(self) -> Result<(), engine::Error> {
        loop {
            let reason = match self.follow() {
                Err(engine::Error::Store(store::Error::Outdated { reason })) => reason,
                ended => return ended,
            };
            let shard = self.shard;
            tracing::info!(shard, reason, "the shard is copied from its owner");
            self.position.store(NO_COPY, Ordering::Relaxed);
            let log = Arc::clone(&self.log) as Arc<dyn CommitLog>;
            let mut copying = Copying::open(&self.directory, &self.options, log)?;
            let taker = Taker::new(Arc::clone(&self.broker), shard, self.copies.clone());
            let taker = taker.map_err(|error| engine::Error::Internal(error.to_string()))?;
            if !taker.run(&mut copying, &self.options, &self.ended)? {
                return Ok(());
            }
            tracing::info!(shard, "the shard is copied");
        }
    }

    fn follow(&self) -> Result<(), engine::Error> {
        let log = Arc::clone(&self.log) as Arc<dyn CommitLog>;
        let mut following = Following::open(&self.directory, &self.options, log)?;
        let mut is_registered = false;
        loop {
            let waits = match following.step()? {
                FollowStep::Applied => Duration::ZERO,
                FollowStep::AtEnd => FOLLOWER_WAITS,
                FollowStep::Away(reason) => {
                    let shard = self.shard;
                    tracing::debug!(shard, reason, "the log of the shard does not answer");
                    FOLLOWER_WAITS
                }
            };
            let (position, _) = following.place();
            if !is_registered {
                let wish = None;
                // Where that fails, it is tried again, and what is lacking by then is copied.
                is_registered = self.copies.put(&Copy { position, wish }).is_ok();
            }
            self.position.store(position, Ordering::Relaxed);
            if self.ended.recv_timeout(waits) != Err(RecvTimeoutError::Timeout) {
                return Ok(());
            }
        }
    }
}
