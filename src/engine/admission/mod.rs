//! Admission: decides which URLs that are given, linked or listed enter a queue.
//!
//! A URL is checked in this order: whether it is known, what the settings say, and what its host
//! and URLs like it are known for. A URL that only the last check refuses is deferred, and
//! re-admitted when the reason is gone.

mod follow;
mod known;
mod refused;
mod seeds;
mod sitemaps;
mod sweep;

pub(crate) use known::know;
pub(crate) use refused::{MAX_REFUSED, is_noted};
pub(crate) use sitemaps::LISTED_PER_COMMIT;

use crate::engine::Error;
use crate::engine::commit::{Group, WriteSet};
use crate::engine::learned::traps::{Reputation, count_admitted, exhausted, reputation};
use crate::engine::learned::{Deferred, Learning, aliases, defer, take};
use crate::frontier::{
    Admission, Candidate, Expectation, Limits, Policy, Provenance, QueuedUrl, Scope,
    SharedPolicies, admit, class_of,
};
use crate::learn::Trap;
use crate::rows::{Reason, ReasonKind};
use crate::url::{HostKey, Identity, Url};

/// Maximum length of a URL's hop path, in letters.
const MAX_PATH: usize = 50;

/// The checks that URLs must pass to be queued.
pub(crate) struct Gate {
    pub(crate) scope: Scope,
    pub(crate) limits: Limits,
    pub(crate) policies: SharedPolicies,
    pub(crate) identity: Identity,
}

/// The source of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Seed,
    /// A sitemap named by robots.txt, or by an index of its own host, which makes it in scope.
    Manifest,
    Link,
    /// A link that was deferred; the flag says whether it was queued before that.
    Deferred(bool),
    /// A redirect to another form of the URL that was visited.
    OtherForm,
}

impl Origin {
    fn provenance(self) -> Provenance {
        match self {
            Self::Seed => Provenance::Given,
            Self::Manifest => Provenance::Named,
            Self::Link | Self::OtherForm | Self::Deferred(_) => Provenance::Linked,
        }
    }

    /// Returns `true` if a URL of this source is admitted although it is known.
    fn may_be_known(self) -> bool {
        matches!(self, Self::OtherForm | Self::Deferred(true))
    }
}

/// What is known against a URL that the settings admit.
enum Suspicion {
    None,
    /// It is queued with a low expectation.
    Low(Expectation),
    /// It is not admitted now.
    Refused(Admission),
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
        if matches!(origin, Origin::Link | Origin::Deferred(_)) {
            queued.trail = *trail;
            match self.suspicion(url, &queued, host, group)? {
                Suspicion::None => {}
                Suspicion::Low(expectation) => queued.expectation = expectation,
                Suspicion::Refused(answer) => {
                    group.set.count_link(&answer, &queued.url);
                    return Ok(false);
                }
            }
        }
        group.set.count_link(&answer, &queued.url);
        group.no_longer_refused(queued.id, &queued.url)?;
        if group.see(queued.id) {
            count_admitted(url, host, &mut group.set)?;
        }
        let class = class.max(queued.class());
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
            other_form: origin.may_be_known(),
        };
        admit(&candidate, &self.scope, &self.limits, &self.policies.load())
    }

    /// Checks what the URL's host, and URLs like it, are known for. A URL that is refused for that
    /// is deferred.
    fn suspicion(
        &self,
        url: &Url,
        queued: &QueuedUrl,
        host: &HostKey,
        group: &mut Group<'_>,
    ) -> Result<Suspicion, Error> {
        let policies = self.policies.load();
        let policy: &Policy = &policies.of(host);
        let defer = |tag, set: &mut WriteSet| {
            let deferred = Deferred {
                queued: queued.clone(),
                was_queued: false,
            };
            defer(&deferred, host, tag, set)
        };
        let mut suspicion = Suspicion::None;
        match reputation(url, host, &policy.traps, &mut group.set)? {
            Reputation::Usual => {}
            Reputation::Low => suspicion = Suspicion::Low(Expectation::Low),
            Reputation::Trapped(trap, tag) => {
                if let Some(tag) = tag {
                    defer(tag, &mut group.set)?;
                }
                if let Some(name) = exhausted(trap, host, &policy.traps, &mut group.set)? {
                    group.refuse_for(name, (queued.id, &queued.url), queued.via)?;
                }
                return Ok(Suspicion::Refused(Admission::Trapped(trap)));
            }
        }
        if let Some(other) = self.elsewhere(url, queued, host, group)? {
            defer(aliases::TAG, &mut group.set)?;
            self.admit(other, Origin::Link, group)?;
            return Ok(Suspicion::Refused(Admission::Alias));
        }
        let learning = self.learning(&policies);
        if policy.learn.parameters && learning.is_variant(url, queued.id, host, group)? {
            suspicion = if Learning::suppress(queued, host, group)? {
                Suspicion::Low(Expectation::Check)
            } else {
                Suspicion::Refused(Admission::Variant)
            };
        }
        Ok(suspicion)
    }

    /// Returns the URL that is visited instead, if its host is an alias of another.
    fn elsewhere(
        &self,
        url: &Url,
        queued: &QueuedUrl,
        host: &HostKey,
        group: &mut Group<'_>,
    ) -> Result<Option<QueuedUrl>, Error> {
        let other = aliases::elsewhere(url, queued.id, host, &mut group.set)?;
        let other = other.filter(|other| self.scope.admits(other));
        Ok(other.map(|other| QueuedUrl {
            id: self.identity.id(&other),
            url: other.into(),
            validators: None,
            ..queued.clone()
        }))
    }

    /// Re-admits URLs that were deferred for reasons that are gone, unless there is another reason
    /// now.
    pub(crate) fn reopen(&self, group: &mut Group<'_>) -> Result<(), Error> {
        while let Some((host, tag)) = group.set.reopened.pop() {
            for deferred in take(&host, tag, &mut group.set)? {
                let Deferred { queued, was_queued } = deferred;
                // The URL may have been in flight when it was taken from its queue.
                if !was_queued || group.set.committed_page(queued.id)?.is_none() {
                    self.admit(queued, Origin::Deferred(was_queued), group)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the part of this that learning needs.
    pub(crate) fn learning<'a>(&'a self, policies: &'a crate::frontier::Policies) -> Learning<'a> {
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
        // What is over a budget is counted by the name of the setting.
        let is_counted = matches!(
            answer,
            Admission::Admitted(..)
                | Admission::Known
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
