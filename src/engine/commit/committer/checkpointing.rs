//! Checkpoints of what a committer has written, and the space of queues that have left.

use super::{Committer, Reclaiming};
use crate::engine::commit::checkpoints::{Checkpoints, Site};
use crate::engine::commit::lookups::{Lookups, SEEN_RUNS};
use crate::engine::error::Error;
use crate::store::Table;

/// Minimum number of dequeued URLs worth a rewriting of the queues; their blocks take some
/// megabytes.
const MIN_RECLAIMED: u64 = 200_000;
/// Amortizes the rewriting of queues: at most one URL is rewritten per four dequeued.
const LEFT_PER_REWRITTEN: u64 = 4;

impl Committer {
    /// Makes a checkpoint if one is due, and reclaims the space of drained queues.
    pub(crate) fn checkpoint_if_due(&mut self) -> Result<(), Error> {
        self.lookups.seen.step(&self.lookups.catalog[SEEN_RUNS]);
        self.reclaim_if_due();
        let (checkpoints, mut site) = self.site();
        checkpoints.advance(&mut site)
    }

    /// Makes a checkpoint of everything committed, and waits for it.
    pub(crate) fn checkpoint(&mut self) -> Result<(), Error> {
        let (checkpoints, mut site) = self.site();
        checkpoints.end(&mut site)?;
        checkpoints.begin(&mut site)?;
        checkpoints.end(&mut site)?;
        let Lookups { catalog, seen, .. } = &mut self.lookups;
        seen.finish_saving(&catalog[SEEN_RUNS], self.state.sequence);
        Ok(())
    }

    /// Reclaims the space of queues if most of what they ever held has left. What is to be
    /// reclaimed stays counted until that has ended well, so that the next start does what was cut
    /// off.
    fn reclaim_if_due(&mut self) {
        if let Reclaiming::Begun { left } = self.reclaiming {
            match self.store.reclaimed() {
                None => return,
                Some(true) => {
                    self.disk.left_queues = self.disk.left_queues.saturating_sub(left);
                    self.reclaiming = Reclaiming::No;
                }
                // It would fail again: the next run tries.
                Some(false) => self.reclaiming = Reclaiming::Failed,
            }
        }
        let waiting = self.state.counters.queued;
        let left = self.disk.left_queues;
        let enough = MIN_RECLAIMED.max(waiting.saturating_mul(LEFT_PER_REWRITTEN));
        if left >= enough && matches!(self.reclaiming, Reclaiming::No) {
            self.reclaiming = Reclaiming::Begun { left };
            self.store.reclaim(Table::Queue);
        }
    }

    fn site(&mut self) -> (&mut Checkpoints, Site<'_>) {
        let site = Site {
            store: &*self.store,
            lookups: &mut self.lookups,
            state: &self.state,
            disk: &mut self.disk,
            log: Some(&self.log),
            failpoint: &mut self.failpoint,
            events: Some(&self.events),
        };
        (&mut self.checkpoints, site)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::World;

    #[test]
    fn space_counts_as_given_back_when_that_has_ended_well() {
        let mut world = World::new();
        let committer = world.committer();
        let beats = committer.pulse.beats();
        committer.disk.left_queues = MIN_RECLAIMED;
        committer.checkpoint_if_due().unwrap();
        assert_eq!(committer.disk.left_queues, MIN_RECLAIMED);
        while committer.disk.left_queues > 0 {
            std::thread::yield_now();
            committer.checkpoint_if_due().unwrap();
        }
        // What failed is tried by the next run, and not again and again by this one.
        committer.disk.left_queues = MIN_RECLAIMED;
        committer.reclaiming = Reclaiming::Failed;
        committer.checkpoint_if_due().unwrap();
        assert!(matches!(committer.reclaiming, Reclaiming::Failed));
        assert_eq!(committer.disk.left_queues, MIN_RECLAIMED);
        // A commit is seen by whoever watches the committer.
        world.seed(&["http://a.example/"]);
        assert!(world.committer().pulse.beats() > beats);
    }
}
