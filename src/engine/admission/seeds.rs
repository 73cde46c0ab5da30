//! Admission of seeds: URLs that a user gave, which enter as a visit without a fetch.

use super::{Gate, Origin};
use crate::engine::Error;
use crate::engine::commit::Group;
use crate::engine::messages::SeedsAdded;
use crate::engine::visit::Seeds;
use crate::fetch::Guard;
use crate::frontier::QueuedUrl;
use crate::store::{Table, keys};

impl Gate {
    /// Admits seeds, whose scope was added before, and returns the reply for whoever waits.
    pub(crate) fn seeds(&self, seeds: &Seeds, group: &mut Group<'_>) -> Result<SeedsAdded, Error> {
        let mut added = SeedsAdded::default();
        for seed in &seeds.urls {
            if seeds.consent
                && let Some(authority) = Guard::consent_of(seed)
            {
                let key = [keys::meta::CONSENT, authority.as_str().as_bytes()].concat();
                group.set.batch.put(Table::Meta, key, Vec::new());
            }
            let queued = QueuedUrl::new(seed.to_string(), self.identity.id(seed));
            if self.admit(queued, Origin::Seed, group)? {
                group.set.state.counters.seeds += 1;
                added.new += 1;
            } else {
                added.known += 1;
            }
        }
        group.set.end_receipt();
        Ok(added)
    }
}
