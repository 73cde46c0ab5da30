//! What holds for a crawl changes while it runs: its settings, and what is in scope.

use std::sync::Arc;

use super::Committer;
use crate::engine::admission::{admit_seeds, consents};
use crate::engine::commit::Moved;
use crate::engine::error::Error;
use crate::engine::events::Happening;
use crate::engine::options::LiveOptions;
use crate::engine::visit::{Receipt, Seeds};
use crate::frontier::{Limits, Moment, Scope, ScopeKind, SeedSettings};
use crate::store::{Store, Table, for_each};
use crate::url::Site;

/// Reads the scope of a crawl as the settings make it.
pub(crate) fn read_scope(
    store: &dyn Store,
    kind: ScopeKind,
    limits: &Limits,
) -> Result<Scope, Error> {
    let mut scope = Scope::new(kind, limits.moved_seeds);
    for_each(store, Table::Scope, &[], &mut |entry, row| {
        scope.restore(entry, row);
        Ok(())
    })?;
    Ok(scope)
}

impl Committer {
    /// Admits seeds, of which another shard may have told: which, and the number of its last
    /// message. What they add to the scope applies from this commit on, also to their own URLs.
    pub(super) fn commit_seeds(
        &mut self,
        mut seeds: Seeds,
        told: Option<(u16, u64)>,
        now: Moment,
    ) -> Result<Vec<Receipt>, Error> {
        for seed in &mut seeds.seeds {
            let id = self.gate.identity.id(&seed.url);
            if let Some(known) = SeedSettings::read(&*self.store, id)? {
                seed.settings = std::mem::take(&mut seed.settings).or(known);
            }
        }
        let scope = &self.gate.scope;
        let entries = seeds.seeds.iter();
        let entries = entries.flat_map(|it| scope.new_entries(&it.url, it.settings.scope));
        let entries: Vec<_> = entries.collect();
        let mut added = None;
        let mut set = self.collect(now, |judge, group| {
            added = Some(admit_seeds(judge.gate, &seeds, told.is_some(), group)?);
            Ok(())
        })?;
        set.exchanged.received = told.into_iter().collect();
        for entry in entries {
            set.batch.put(Table::Scope, entry, Vec::new());
        }
        let receipts = self.write(set)?;
        for seed in &seeds.seeds {
            self.gate.scope.add_seed(&seed.url, seed.settings.scope);
            for authority in consents(seed).filter(|_| seeds.consent) {
                self.guard.consent(authority);
            }
        }
        if let (Some(reply), Some(added)) = (seeds.reply, added) {
            // Whoever asked may be gone.
            let _ = reply.send(added);
        }
        Ok(receipts)
    }

    /// Takes what seeds have moved to into the scope, as it was committed.
    pub(super) fn move_scope(&mut self, moved: Vec<Moved>) {
        for Moved { from, to, own } in moved {
            if !self.gate.scope.add_moved((&from, &to), own) {
                continue;
            }
            self.events.tell(&Happening::SeedMoved {
                is_other_site: Site::of(&from) != Site::of(&to),
                from: from.into(),
                to: to.into(),
            });
        }
    }

    /// Changes the settings.
    pub(super) fn change(&mut self, settings: LiveOptions) -> Result<(), Error> {
        self.gate.scope = read_scope(&*self.store, settings.scope, &settings.limits)?;
        self.gate.limits = settings.limits;
        self.gate.policies.store(Arc::new(settings.policies));
        self.rules = settings.rules;
        let from = self.state.revisits_from;
        self.revisits
            .set_policy(settings.revisit, &*self.store, from)
    }
}
