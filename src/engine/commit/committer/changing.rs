//! What holds for a crawl changes while it runs: its settings, and what is in scope.

use std::sync::Arc;

use super::Committer;
use crate::engine::error::Error;
use crate::engine::options::LiveOptions;
use crate::frontier::Scope;
use crate::store::{Table, for_each};
use crate::url::Url;

impl Committer {
    /// Takes what seeds have moved to into the scope, as it was committed.
    pub(super) fn move_scope(&mut self, moved: Vec<(Url, Url)>) {
        for (from, to) in moved {
            if !self.gate.scope.add_seed(&to).is_empty() {
                tracing::warn!("the seed {from} redirects to {to}, which is in scope from now on");
            }
        }
    }

    /// Changes the settings.
    pub(super) fn change(&mut self, settings: LiveOptions) -> Result<(), Error> {
        let mut scope = Scope::new(settings.scope);
        for_each(&*self.store, Table::Scope, &[], &mut |entry, _| {
            scope.restore(entry);
            Ok(())
        })?;
        self.gate.scope = scope;
        self.gate.limits = settings.limits;
        self.gate.policies.store(Arc::new(settings.policies));
        self.rules = settings.rules;
        let from = self.state.revisits_from;
        self.revisits
            .set_policy(settings.revisit, &*self.store, from)
    }
}
