//! Admission of seeds: URLs that a user gave, which enter as a visit without a fetch.

use super::{Gate, Origin};
use crate::engine::Error;
use crate::engine::again::forget_robots;
use crate::engine::commit::Group;
use crate::engine::messages::SeedsAdded;
use crate::engine::visit::Seeds;
use crate::fetch::Guard;
use crate::frontier::{QueuedUrl, Remembrance};
use crate::rows::LostSeed;
use crate::store::{Table, keys};
use crate::url::{HostKey, Url};

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
                let host = HostKey::of(seed);
                let refused = keys::robots_refused(host.as_str());
                if group.set.store.get(Table::Meta, &refused)?.is_some() {
                    forget_robots(&host, group)?;
                }
            }
            let queued = QueuedUrl::new(seed.to_string(), self.identity.id(seed));
            if self.admit(queued, Origin::Seed, group)? {
                group.set.state.counters.seeds += 1;
                added.new += 1;
            } else {
                added.known += 1;
                note_refused(self, seed, group)?;
            }
        }
        group.set.end_receipt();
        Ok(added)
    }
}

/// Notes that a seed is lost if it was not admitted although it is not known.
fn note_refused(gate: &Gate, seed: &Url, group: &mut Group<'_>) -> Result<(), Error> {
    let id = gate.identity.id(seed);
    let remembrance = gate.forgotten.remembrance((id, seed), group)?;
    if remembrance == Remembrance::Forgotten {
        let lost = LostSeed {
            url: seed.to_string(),
            reason: "it is forgotten (gleaner forget)".to_owned(),
        };
        group.set.end_seed(id, Some(lost));
    } else if !group.is_seen(id) {
        let lost = LostSeed {
            url: seed.to_string(),
            reason: "it is too long (crawl.max_url_length)".to_owned(),
        };
        group.set.end_seed(id, Some(lost));
    }
    Ok(())
}
