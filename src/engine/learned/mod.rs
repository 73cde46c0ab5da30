//! What visits teach about hosts, as rows: trap decisions, learned rules of URLs, host aliases,
//! repeated refusals, and the URLs that are deferred for these reasons.
//!
//! The rules are pure and in the room `learn`. They are applied at admission; what a visit teaches
//! changes rows and names the URLs that may be re-admitted, which admission then does.

pub(in crate::engine) mod aliases;
mod deferred;
pub(in crate::engine) mod refusals;
pub(in crate::engine) mod traps;
pub(in crate::engine) mod variants;

pub(in crate::engine) use deferred::{Deferred, defer, take};

use crate::dedup::DocumentId;
use crate::engine::Error;
use crate::engine::commit::Group;
use crate::engine::visit::Judged;
use crate::frontier::Policies;
use crate::url::Identity;

/// What learning needs besides rows: how hosts are treated, and the identity of URLs.
pub(in crate::engine) struct Learning<'a> {
    pub(in crate::engine) policies: &'a Policies,
    pub(in crate::engine) identity: &'a Identity,
}

impl Learning<'_> {
    /// Learns from a page's first response, which made this document, if any. What may be
    /// re-admitted now is named in the group's write set.
    pub(in crate::engine) fn take_in(
        &self,
        judged: &Judged<'_>,
        document: Option<DocumentId>,
        group: &mut Group<'_>,
    ) -> Result<(), Error> {
        let traps = self.policies.of(&judged.analysed.fetched.task.host).traps;
        traps::record_outcome(judged, &traps, &mut group.set)?;
        self.learn(judged, document, group)?;
        self.compare_hosts(judged, group)
    }
}
