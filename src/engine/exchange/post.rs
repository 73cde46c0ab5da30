//! Where a process takes hold of what a running shard exchanges: what waits to be sent, what
//! arrived, what others acknowledge, and how the shard is.

use std::fmt;
use std::sync::{Arc, Weak};

use tokio::sync::watch;

use super::publishing::{Ear, Heard};
use super::{Arrived, Counts, Look, Parcel, ParcelError, waiting};
use crate::engine::Error;
use crate::engine::library::{Bulletin, Library, waiting_notices};
use crate::engine::messages::{Over, SeedsAdded};
use crate::engine::ring::control::{Command, Commands};
use crate::frontier::{Seed, Shards};
use crate::rows::listed_through;
use crate::store::Store;

/// The post of a shard whose crawl runs, or is about to. Cheap to clone.
#[derive(Clone)]
pub struct Post {
    shards: Shards,
    commands: Commands,
    /// Weak, so that a post does not keep the store open after the crawl.
    store: Weak<dyn Store>,
    counts: watch::Receiver<Arc<Counts>>,
    ear: Ear,
}

/// Why a parcel was not taken in.
#[derive(Debug, thiserror::Error)]
pub enum HandInError {
    /// Something is wrong with it.
    #[error(transparent)]
    Parcel(#[from] ParcelError),
    /// The run is over.
    #[error(transparent)]
    Over(#[from] Over),
}

impl fmt::Debug for Post {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Post").finish_non_exhaustive()
    }
}

impl Post {
    pub(crate) fn new(
        shards: Shards,
        commands: Commands,
        store: &Arc<dyn Store>,
        counts: watch::Receiver<Arc<Counts>>,
        ear: Ear,
    ) -> Self {
        Self {
            shards,
            commands,
            store: Arc::downgrade(store),
            counts,
            ear,
        }
    }

    /// Which shard it is.
    pub fn shards(&self) -> Shards {
        self.shards
    }

    /// Returns the position in the list of the crawl up to which this shard has done what that
    /// says; 0 if it has read none of it. Reads the store, so it blocks.
    pub fn seeds_through(&self) -> Result<u64, Error> {
        let store = self.store.upgrade().ok_or(Over)?;
        Ok(listed_through(&*store)?)
    }

    /// Admits seeds of the list of the crawl, of which the last is at `position`; all shards are
    /// given all of them. Returns when that is committed: the position in the same batch.
    pub async fn add_seeds(&self, seeds: Vec<Seed>, position: u64) -> Result<SeedsAdded, Over> {
        let added = self.commands.ask(|reply| Command::AddSeeds {
            seeds,
            consent: true,
            listed: Some(position),
            reply,
        });
        added.await
    }

    /// Returns what waits for the shard `to` behind number `after`, at most so many bytes, but one
    /// message at least if any waits. Reads the store, so it blocks.
    pub fn waiting(&self, to: u16, after: u64, most_bytes: usize) -> Result<Option<Parcel>, Error> {
        let store = self.store.upgrade().ok_or(Over)?;
        waiting(&*store, self.shards, (to, after), most_bytes)
    }

    /// Returns what waits for all other shards behind number `after`, at most so many bytes, but
    /// one notice at least if any waits. `library` is where it comes back. Reads the store, so it
    /// blocks.
    pub fn waiting_notices(
        &self,
        after: u64,
        most_bytes: usize,
        library: &Library,
    ) -> Result<Option<Bulletin>, Error> {
        let store = self.store.upgrade().ok_or(Over)?;
        let own = (self.shards.own(), library.features());
        Ok(waiting_notices(&*store, own, after, most_bytes)?)
    }

    /// Returns what listens for the shard to what others tell, from where it had heard that as its
    /// crawl was opened.
    pub fn ear(&self) -> Ear {
        self.ear.clone()
    }

    /// Tells the shard what has come back, and what others have told.
    pub async fn hear(&self, heard: Heard) -> Result<(), Over> {
        self.commands.tell(Command::Hear(Box::new(heard))).await
    }

    /// Takes in a parcel of another shard. Returns up to which number all messages of that shard
    /// are committed, which is to be told to it: less than the parcel's if messages before it are
    /// missing, which leaves it without effect.
    ///
    /// # Errors
    ///
    /// [`HandInError::Parcel`] if it cannot be read or is not for this shard: nothing of it has an
    /// effect. [`HandInError::Over`] if the run is over: it may have had its effect.
    pub async fn hand_in(&self, parcel: &Parcel) -> Result<u64, HandInError> {
        let messages = parcel.open(self.shards)?;
        let committed = self.commands.ask(|reply| {
            Command::Receive(Box::new(Arrived {
                from: parcel.from,
                first: parcel.first,
                gone: parcel.gone,
                messages,
                reply: Some(reply),
            }))
        });
        Ok(committed.await?)
    }

    /// Tells the shard that another one has committed what was sent to it, up to this number. It
    /// leaves the outbox with one of the next commits.
    pub async fn acknowledge(&self, to: u16, through: u64) -> Result<(), Over> {
        self.commands
            .tell(Command::Acknowledge { to, through })
            .await
    }

    /// Looks at the shard.
    pub async fn look(&self) -> Result<Look, Over> {
        self.commands.ask(Command::Look).await
    }

    /// Ends the run as drained, because all shards are, if it still is as it was when it was looked
    /// at. Returns whether it is.
    pub async fn end(&self, look: Look) -> Result<bool, Over> {
        self.commands.ask(|reply| Command::End(look, reply)).await
    }

    /// Waits until something was exchanged since the last call.
    pub async fn changed(&mut self) -> Result<(), Over> {
        self.counts.changed().await.map_err(|_| Over)
    }
}
