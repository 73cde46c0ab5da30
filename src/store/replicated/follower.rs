//! A store that follows a log without writing to it.

use std::sync::Arc;

use super::reach::{As, Reach, Step, trimmed};
use super::{CommitLog, LogError, Place, refuse_unfinished, refused};
use crate::store::{Batch, Error, Result, Store};

/// Applies what others commit to a log.
///
/// What a follower has is what an owner of the log would find at its start, so it may become the
/// owner at any moment: by [`Replicated::open`](super::Replicated::open).
pub struct Follower {
    reach: Reach,
    place: Place,
    /// Position of the last entry that was read, of whoever it is.
    after: u64,
}

/// What came of following a log for one entry.
#[derive(Debug)]
pub enum Followed {
    /// The log has nothing more for the moment.
    AtEnd,
    /// It did not answer, for the reason given.
    Away(String),
    /// An entry changed nothing: an owner began, or one that was over had written it.
    Nothing,
    /// A commit, which is in the store now.
    Commit(Batch),
}

impl Follower {
    /// Follows the log from where the store stands, or from its beginning.
    ///
    /// # Errors
    ///
    /// [`Error::Log`] if the store was begun without a log or is not the log's;
    /// [`Error::Outdated`] if the log does not have any more what the store lacks. Waits while it
    /// does not answer.
    pub fn open(local: Arc<dyn Store>, log: Arc<dyn CommitLog>) -> Result<Self> {
        let reach = Reach { local, log };
        refuse_unfinished(&*reach.local)?;
        let place = reach.place()?;
        Self::at(reach, place)
    }

    /// Follows the log from a place.
    pub(super) fn at(reach: Reach, place: Place) -> Result<Self> {
        let mut follower = Self {
            reach,
            place,
            after: place.position,
        };
        follower.find()?;
        Ok(follower)
    }

    /// Returns the position of the last entry that was read, and the number of the last commit.
    pub fn place(&self) -> (u64, u64) {
        (self.after, self.place.number)
    }

    /// Returns which owner of the log is the last that was seen.
    pub fn epoch(&self) -> u64 {
        self.place.epoch
    }

    /// Whether others have committed since the last owner from here began.
    pub fn had_others(&self) -> bool {
        self.place.had_others
    }

    /// Reads an entry and applies it.
    ///
    /// # Errors
    ///
    /// [`Error::Outdated`] if what follows is gone from the log, or the log has lost what the store
    /// has and went on from elsewhere: a new copy is needed.
    pub fn step(&mut self) -> Result<Followed> {
        let (at, bytes) = match self.reach.log.next(self.after) {
            Ok(Some(next)) => next,
            Ok(None) => return Ok(Followed::AtEnd),
            Err(LogError::Away(reason)) => return Ok(Followed::Away(reason)),
            Err(LogError::Trimmed { first }) => return Err(trimmed(first, self.after)),
            Err(error) => return Err(refused(error.to_string())),
        };
        let step = self
            .reach
            .apply(&mut self.place, (self.after, at), &bytes)?;
        self.after = at;
        Ok(match step {
            Step::Void => Followed::Nothing,
            Step::Applied(batch) if batch.is_empty() => Followed::Nothing,
            Step::Applied(batch) => Followed::Commit(batch),
            Step::Missed(reason) => {
                // The log may have lost its end, and its owner has said behind which commit it goes
                // on. Where the place is as it was, what follows it is lost.
                let before = self.place;
                if !self.find()? || self.place == before {
                    return Err(Error::Outdated { reason });
                }
                Followed::Nothing
            }
        })
    }

    /// Goes to where the log goes on behind what the store has. Returns whether it is known.
    fn find(&mut self) -> Result<bool> {
        let (found, end) = self.reach.find(self.place, As::Follower)?;
        match found {
            Some(place) => {
                self.place = place;
                self.after = place.position;
            }
            // What the owner says of it will be behind what is left.
            None => self.after = end,
        }
        Ok(found.is_some())
    }
}
