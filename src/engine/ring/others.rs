//! What a scheduler knows of the other shards of its crawl: they may send more, so that having
//! nothing to do is not the end.

use std::sync::Arc;

use tokio::sync::watch;

use crate::engine::exchange::{Counts, Look};

/// The other shards, as far as a scheduler minds them.
#[derive(Debug)]
pub(crate) struct Others {
    /// Set if there are some.
    are_there: bool,
    counts: watch::Sender<Arc<Counts>>,
    /// Set if nothing is to be done before something arrives.
    is_drained: bool,
    /// Number of entries on their way to the committer that are no visits.
    entered: usize,
    /// Set once nothing more will arrive.
    is_over: bool,
}

impl Others {
    /// The other shards, with which this was exchanged so far, if there are any.
    pub(crate) fn new(are_there: bool, counts: watch::Sender<Arc<Counts>>) -> Self {
        Self {
            are_there,
            counts,
            is_drained: false,
            entered: 0,
            is_over: false,
        }
    }

    /// Notes that an entry which is no visit is on its way to the committer.
    pub(crate) fn entered(&mut self) {
        self.entered += 1;
        self.is_drained = false;
    }

    /// Notes that so many of them are committed, and what was exchanged.
    pub(crate) fn committed(&mut self, entries: usize, exchanged: Option<Arc<Counts>>) {
        self.entered = self.entered.saturating_sub(entries);
        if let Some(counts) = exchanged {
            self.counts.send_replace(counts);
        }
    }

    /// Notes that there may be something to do.
    pub(crate) fn busy(&mut self) {
        self.is_drained = false;
    }

    /// Notes that there is nothing to do. Returns `true` if that ends the run, because nothing will
    /// arrive.
    pub(crate) fn drained(&mut self) -> bool {
        self.is_drained = true;
        !self.are_there || self.is_over
    }

    /// Returns how the shard is.
    pub(crate) fn look(&self) -> Look {
        let counts = Counts::clone(&self.counts.borrow());
        // What it has stored is compared with what others have when that has come back.
        let is_heard = counts.told.0 == counts.told.1;
        Look {
            is_idle: self.is_drained && self.entered == 0 && is_heard,
            counts,
        }
    }

    /// Takes notice that nothing more will arrive, if the shard is as it was then. Returns whether
    /// it is.
    pub(crate) fn end(&mut self, look: &Look) -> bool {
        self.is_over = look.is_idle && self.look() == *look;
        self.is_over
    }
}
