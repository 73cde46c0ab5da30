//! A local store and the log that it follows: what both the log's writer and those who only follow
//! it do with them.

use std::cell::Cell;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::entry::{Entry, Kind};
use super::{CommitLog, LogError, LogResult, Place, place, read, refused};
use crate::store::{Batch, Durability, Error, Result, Store, Table, keys};

/// A store, and the log of what is committed to it.
#[derive(Clone)]
pub(super) struct Reach {
    pub(super) local: Arc<dyn Store>,
    pub(super) log: Arc<dyn CommitLog>,
}

/// What became of an entry that was read.
pub(super) enum Step {
    /// It is of an owner that was over, or was applied before.
    Void,
    /// It is in the store now: this is what it changed for everybody.
    Applied(Batch),
    /// It does not follow what the store has, for the reason given.
    Missed(String),
}

/// As whom a place is looked for in the log.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum As {
    /// As the log's owner: nobody else may have gone on.
    Owner,
    /// As one that follows whoever owns it.
    Follower,
}

impl Reach {
    /// Returns where the store stands in the log. Begins where nothing is.
    pub(super) fn place(&self) -> Result<Place> {
        if let Some(place) = place(&*self.local)? {
            return Ok(place);
        }
        if self.local.get(Table::Meta, keys::meta::STATE)?.is_some() {
            return Err(refused(
                "the crawl in this directory was begun without a log; begin another one",
            ));
        }
        self.patiently(|log| log.create())?;
        let place = Place::at_the_beginning()?;
        self.remember(place, Batch::new())?;
        Ok(place)
    }

    /// Commits to the store what stands in the log, and where that is.
    pub(super) fn remember(&self, place: Place, mut batch: Batch) -> Result<()> {
        place.put(&mut batch);
        self.local.commit(batch, Durability::Disk)
    }

    /// Applies what the log has behind a place. Returns where the store stands then, and where the
    /// log ends.
    pub(super) fn catch_up(&self, place: Place) -> Result<(Place, u64)> {
        let (found, mut end) = self.find(place, As::Follower)?;
        let Some(mut place) = found else {
            place.tell_lost();
            return Ok((place, end));
        };
        let mut after = place.position;
        while let Some((at, bytes)) = self.next(after)? {
            if let Step::Missed(reason) = self.apply(&mut place, (after, at), &bytes)? {
                return Err(Error::Outdated { reason });
            }
            after = at;
            end = end.max(at);
        }
        Ok((place, end))
    }

    /// Applies an entry, which has the second position and follows what has the first, and moves
    /// the place behind it.
    pub(super) fn apply(
        &self,
        place: &mut Place,
        (before, at): (u64, u64),
        bytes: &[u8],
    ) -> Result<Step> {
        let Entry { head, shared, here } = read(at, bytes)?;
        if head.epoch < place.epoch || place.has_applied(head) {
            return Ok(Step::Void);
        }
        // An owner begins by saying so. Who did not see that may have other commits of this number.
        if head.epoch > place.epoch && head.kind == Kind::Commit {
            return Ok(Step::Missed(format!(
                "owner {} of the log began elsewhere than behind commit {}",
                head.epoch, place.number
            )));
        }
        let follows = place.number + u64::from(head.kind == Kind::Commit);
        if head.number != follows {
            return Ok(Step::Missed(format!(
                "the log has commit {} where {follows} follows",
                head.number
            )));
        }
        let is_own = place.is_own(head);
        let mut next = place.behind(head, bytes, (before, at));
        // The files of others are not on this disk.
        next.had_others |= !is_own;
        let mut batch = shared.clone();
        if is_own {
            batch.changes.extend(here.changes);
        }
        self.remember(next, batch)?;
        *place = next;
        Ok(Step::Applied(shared))
    }

    /// Returns the entry that follows a position, and its own.
    ///
    /// # Errors
    ///
    /// [`Error::Outdated`] if it was removed.
    pub(super) fn next(&self, after: u64) -> Result<Option<(u64, Vec<u8>)>> {
        let mut attempt = 0;
        loop {
            match self.log.next(after) {
                Ok(next) => return Ok(next),
                Err(LogError::Trimmed { first }) => return Err(trimmed(first, after)),
                Err(error) => self.unless_final(error, &mut attempt)?,
            }
        }
    }

    /// Finds a place in the log, and where the log ends. If the log has lost the entry there,
    /// returns the place where an owner said that it goes on behind it, or `None` if none has yet.
    ///
    /// # Errors
    ///
    /// [`Error::Stale`] for an owner behind whom another one has gone on; [`Error::Outdated`] for a
    /// follower if the owner has gone on behind another commit.
    pub(super) fn find(&self, place: Place, role: As) -> Result<(Option<Place>, u64)> {
        // Asked first: who appends from now on moves the end, and is noticed by that.
        let end = self.patiently(|log| log.end())?;
        if end >= place.position && self.has(place)? {
            return Ok((Some(place), end));
        }
        let mut found = None;
        let mut elsewhere = None;
        let mut after = 0;
        loop {
            let next = self.patiently(|log| match log.next(after) {
                Err(LogError::Trimmed { first }) => log.next(first.saturating_sub(1)),
                next => next,
            })?;
            let Some((at, bytes)) = next else {
                break;
            };
            let head = read(at, &bytes)?.head;
            let is_followed = role == As::Follower || place.is_own(head);
            if head.epoch > place.epoch && !is_followed {
                return Err(Error::Stale);
            }
            let is_begin = head.kind == Kind::Begin && head.epoch >= place.epoch;
            if is_begin && is_followed && head.number == place.number {
                (found, elsewhere) = (Some(place.behind(head, &bytes, (after, at))), None);
            } else if is_begin && (head.epoch, head.number) > (place.epoch, place.number) {
                elsewhere = Some(head.number).filter(|_| found.is_none());
            }
            after = at;
        }
        match elsewhere {
            Some(number) if role == As::Follower => Err(Error::Outdated {
                reason: format!(
                    "the crawl went on behind commit {number}, and this directory ends with {}, \
                     which the log has lost",
                    place.number
                ),
            }),
            _ => Ok((found, end)),
        }
    }

    /// Whether the log has the entry at a place.
    ///
    /// # Errors
    ///
    /// [`Error::Outdated`] if what follows it was removed.
    pub(super) fn has(&self, place: Place) -> Result<bool> {
        if place.position == 0 {
            return Ok(true);
        }
        let is_trimmed = Cell::new(false);
        let first_left = Cell::new(0);
        let next = self.patiently(|log| match log.next(place.before) {
            // Of an entry of several parts, the last one may be left.
            Err(LogError::Trimmed { first }) if first <= place.position => {
                is_trimmed.set(true);
                log.next(place.position - 1)
            }
            Err(LogError::Trimmed { first }) => {
                first_left.set(first);
                Ok(None)
            }
            next => next,
        })?;
        match first_left.get() {
            0 => {}
            first if first > place.position + 1 => return Err(trimmed(first, place.position)),
            // What follows is there.
            _ => return Ok(true),
        }
        Ok(match next {
            Some((at, bytes)) if at == place.position => xxh3_64(&bytes) == place.checksum,
            // What is left of it cannot be compared.
            _ => is_trimmed.get(),
        })
    }

    /// Asks the log, again and again while it does not answer.
    pub(super) fn patiently<T>(&self, ask: impl Fn(&dyn CommitLog) -> LogResult<T>) -> Result<T> {
        let mut attempt = 0;
        loop {
            match ask(&*self.log) {
                Ok(answer) => return Ok(answer),
                Err(LogError::Moved) => {
                    return Err(refused("it refused what appends nothing"));
                }
                Err(error) => self.unless_final(error, &mut attempt)?,
            }
        }
    }

    /// Returns an error that stays, and waits after others.
    pub(super) fn unless_final(&self, error: LogError, attempt: &mut u32) -> Result<()> {
        /// Attempts after which a person is told, each time that there were as many again.
        const TOLD: u32 = 8;
        match error {
            LogError::Moved => Ok(()),
            LogError::Away(reason) => {
                *attempt += 1;
                if attempt.is_multiple_of(TOLD) {
                    tracing::warn!(
                        reason,
                        "the crawl's log does not answer; commits wait for it"
                    );
                }
                self.log.pause(*attempt);
                Ok(())
            }
            error => Err(refused(error.to_string())),
        }
    }
}

/// What follows a position is gone from the log.
pub(super) fn trimmed(first: u64, after: u64) -> Error {
    Error::Outdated {
        reason: format!("the log begins at position {first}, and {after} was read last"),
    }
}
