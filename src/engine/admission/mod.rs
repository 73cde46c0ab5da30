//! Admission: decides which URLs that are given, linked or listed enter a queue.
//!
//! A URL is checked in this order: whether it is known, what the settings say, whether a budget is
//! used up, and what URLs like it have said. A URL that only the last check speaks against is
//! deferred: it is kept, perhaps sampled, and comes back when its kind is opened.

mod deferred;
mod follow;
mod known;
mod refused;
mod seeds;
mod sitemaps;
mod sweep;

pub(crate) use known::{is_without_page, know};
pub(crate) use refused::{MAX_REFUSED, is_noted};
pub(crate) use sitemaps::LISTED_PER_COMMIT;

use std::sync::atomic::AtomicBool;

use crate::engine::Error;
use crate::engine::commit::{Group, WriteSet};
use crate::engine::learned::budgets::{count_admitted, used_up};
use crate::engine::learned::kinds::Learning;
use crate::frontier::{
    Admission, Candidate, HostState, Limits, Policies, Provenance, Purpose, QueuedUrl, Scope,
    SharedPolicies, admit, class_of,
};
use crate::learn::Trap;
use crate::rows::{Reason, ReasonKind};
use crate::url::{HostKey, Identity, Url};
use deferred::Suspicion;

/// Maximum length of a URL's hop path, in letters.
const MAX_PATH: usize = 50;

/// The checks that URLs must pass to be queued.
pub(crate) struct Gate {
    pub(crate) scope: Scope,
    pub(crate) limits: Limits,
    pub(crate) policies: SharedPolicies,
    pub(crate) identity: Identity,
    /// Whether it was said that no more URLs can be deferred.
    pub(crate) is_full_told: AtomicBool,
}

/// The source of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Seed,
    /// A sitemap named by robots.txt, or by an index of its own host, which makes it in scope.
    Manifest,
    Link,
    /// A redirect to another form of the URL that was visited.
    OtherForm,
}

impl Origin {
    fn provenance(self) -> Provenance {
        match self {
            Self::Seed => Provenance::Given,
            Self::Manifest => Provenance::Named,
            Self::Link | Self::OtherForm => Provenance::Linked,
        }
    }

    /// Returns `true` if a URL of this source is admitted although it is known.
    fn may_be_known(self) -> bool {
        self == Self::OtherForm
    }
}

impl Gate {
    /// Queues a URL in the class of its depth if it is admitted. Returns whether it is.
    pub(crate) fn admit(
        &self,
        queued: QueuedUrl,
        origin: Origin,
        group: &mut Group<'_>,
    ) -> Result<bool, Error> {
        self.admit_in(class_of(queued.depth), queued, origin, None, group)
    }

    /// Queues a URL, found on the page `from`, in the given class if it is admitted. Returns
    /// whether it is.
    pub(crate) fn admit_in(
        &self,
        class: u8,
        mut queued: QueuedUrl,
        origin: Origin,
        from: Option<&Url>,
        group: &mut Group<'_>,
    ) -> Result<bool, Error> {
        let answer = self.judge(&queued, origin, from, group);
        let Admission::Admitted(url, host, trail) = &answer else {
            group.set.count_link(&answer, &queued.url);
            group.refuse(&answer, (queued.id, &queued.url), queued.via)?;
            return Ok(false);
        };
        let mut class = class.max(queued.class());
        if origin == Origin::Link {
            queued.trail = *trail;
            if let Some((trap, name)) = self.used_up(host, group)? {
                group.refuse_for(name, (queued.id, &queued.url), queued.via)?;
                let answer = Admission::Trapped(trap);
                group.set.count_link(&answer, &queued.url);
                return Ok(false);
            }
            let is_page = queued.purpose == Purpose::Page;
            match is_page.then(|| self.suspicion(url, &queued, host, group)) {
                None => {}
                Some(suspicion) => match suspicion? {
                    Suspicion::None => {}
                    Suspicion::Sample(expectation) => {
                        queued.expectation = expectation;
                        class = queued.class();
                    }
                    Suspicion::Deferred => {
                        group.see(queued.id);
                        group.set.count_link(&Admission::Deferred, &queued.url);
                        return Ok(false);
                    }
                },
            }
        }
        group.set.count_link(&answer, &queued.url);
        group.no_longer_refused(queued.id, &queued.url)?;
        if group.see(queued.id) {
            count_admitted(host, &mut group.set)?;
        }
        group.set.queue_in(class, queued, host.clone())?;
        Ok(true)
    }

    /// Checks whether the URL is known, and what the settings say.
    fn judge(
        &self,
        queued: &QueuedUrl,
        origin: Origin,
        from: Option<&Url>,
        group: &mut Group<'_>,
    ) -> Admission {
        // The cheapest check first: nine of ten links are known.
        if !origin.may_be_known() && group.is_seen(queued.id) {
            return Admission::Known;
        }
        let candidate = Candidate {
            url: &queued.url,
            depth: queued.depth,
            hops: queued.hops,
            trail: queued.trail,
            from,
            provenance: origin.provenance(),
        };
        admit(&candidate, &self.scope, &self.limits, &self.policies.load())
    }

    /// Returns the budget of a host or its domain that is used up, and its setting.
    fn used_up(
        &self,
        host: &HostKey,
        group: &mut Group<'_>,
    ) -> Result<Option<(Trap, &'static str)>, Error> {
        let policy = self.policies.load().of(host);
        let spent = group.set.known_host(host)?.map(HostState::spent);
        let of_domain = group.set.spent(host)?;
        Ok(used_up(spent.unwrap_or_default(), of_domain, &policy.traps))
    }

    /// Returns the part of this that learning needs.
    pub(crate) fn learning<'a>(&'a self, policies: &'a Policies) -> Learning<'a> {
        Learning {
            policies,
            identity: &self.identity,
        }
    }
}

impl WriteSet {
    /// Counts the admission of a link to a URL.
    pub(crate) fn count_link(&mut self, answer: &Admission, url: &str) {
        self.state.counters.links.add(answer);
        // What is over a budget was counted by the name of the setting, and what is deferred is by
        // its kind.
        let is_counted = matches!(
            answer,
            Admission::Admitted(..)
                | Admission::Known
                | Admission::Deferred
                | Admission::Trapped(Trap::HostBudget | Trap::DomainBudget)
        );
        if !is_counted {
            let (kind, name) = (ReasonKind::Link, answer.name());
            self.leave_out(Reason { kind, name }, url);
        }
    }
}

/// Appends a letter to a hop path, dropping the oldest ones of a long path.
pub(crate) fn extended(path: &str, letter: char) -> String {
    let skip = path.chars().count().saturating_sub(MAX_PATH - 1);
    path.chars().skip(skip).chain([letter]).collect()
}
