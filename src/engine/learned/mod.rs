//! What visits teach about hosts, as rows: trap decisions, learned rules of URLs, host aliases,
//! repeated refusals, script shells, templates of sites, and the URLs that are deferred for these
//! reasons.
//!
//! The rules are pure and in the room `learn`. They are applied at admission; what a visit teaches
//! changes rows and names the URLs that may be re-admitted, which admission then does.

pub(crate) mod aliases;
mod deferred;
pub(crate) mod own;
pub(crate) mod own_lines;
pub(crate) mod refusals;
pub(crate) mod shells;
pub(crate) mod template;
pub(crate) mod traps;
pub(crate) mod variants;

pub(crate) use deferred::{Deferred, defer, take};

use crate::dedup::DocumentId;
use crate::engine::Error;
use crate::engine::commit::Group;
use crate::engine::visit::Judged;
use crate::frontier::Policies;
use crate::url::Identity;

/// What learning needs besides rows: how hosts are treated, and the identity of URLs.
pub(crate) struct Learning<'a> {
    pub(crate) policies: &'a Policies,
    pub(crate) identity: &'a Identity,
}

impl Learning<'_> {
    /// Learns from a page's first response, which made this document, if any. What may be
    /// re-admitted now is named in the group's write set.
    pub(crate) fn take_in(
        &self,
        judged: &Judged<'_>,
        document: Option<DocumentId>,
        group: &mut Group<'_>,
    ) -> Result<(), Error> {
        let traps = self.policies.of(&judged.analysed.fetched.task.host).traps;
        traps::record_outcome(judged, &traps, &mut group.set)?;
        shells::count(judged, &mut group.set)?;
        self.learn(judged, document, group)?;
        self.compare_hosts(judged, group)
    }
}
