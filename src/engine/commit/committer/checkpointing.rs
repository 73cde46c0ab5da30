//! Checkpoints of what a committer has written.

use super::Committer;
use crate::engine::commit::checkpoints::{Checkpoints, Site};
use crate::engine::commit::lookups::{Lookups, SEEN_RUNS};
use crate::engine::error::Error;

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
