//! The log of a shard, as it is followed: what its owner commits is sent.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::broker::{Broker, Reader};
use crate::cluster::log::{ShardLog, explain, log_of};
use crate::store::{CommitLog, LogResult};

/// A log that is read as it grows. It may be behind what is acknowledged, by what is on its way, so
/// who takes the shard over reads its [`ShardLog`].
pub(super) struct FollowedLog {
    log: Arc<ShardLog>,
    reader: Mutex<Reader>,
    runtime: Runtime,
}

impl FollowedLog {
    /// The log of a shard, for a thread that waits for nothing else.
    pub(super) fn new(
        log: Arc<ShardLog>,
        broker: Arc<dyn Broker>,
        shard: u16,
    ) -> std::io::Result<Self> {
        Ok(Self {
            log,
            reader: Mutex::new(Reader::new(broker, &log_of(shard))),
            runtime: Builder::new_current_thread().enable_time().build()?,
        })
    }

    fn reader(&self) -> MutexGuard<'_, Reader> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something may have come, so long at most.
    pub(super) fn wait(&self, longest: Duration) {
        let mut reader = self.reader();
        self.runtime.block_on(reader.arrives(longest));
    }
}

impl CommitLog for FollowedLog {
    fn create(&self) -> LogResult<()> {
        self.log.create()
    }

    fn take(&self, above: u64) -> LogResult<u64> {
        self.log.take(above)
    }

    fn append(&self, after: u64, entry: &[u8]) -> LogResult<u64> {
        self.log.append(after, entry)
    }

    fn next(&self, after: u64) -> LogResult<Option<(u64, Vec<u8>)>> {
        self.reader().entry_after(after).map_err(explain)
    }

    fn end(&self) -> LogResult<u64> {
        self.log.end()
    }

    fn trim(&self, through: u64) -> LogResult<()> {
        self.log.trim(through)
    }
}

impl fmt::Debug for FollowedLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FollowedLog").field(&self.log).finish()
    }
}
