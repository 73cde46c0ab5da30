//! Admission: which URLs that are given, linked or listed enter a queue.
//!
//! A URL is asked, in this order: whether it is known, what the settings say, what its host and URLs
//! like it are known for. What only the last speaks against is deferred, and asks again when that
//! has changed.

mod follow;
mod known;
mod seeds;
mod sitemaps;
mod sweep;

pub(in crate::engine) use known::know;
pub(in crate::engine) use sitemaps::LISTED_PER_COMMIT;

use crate::engine::Error;
use crate::engine::commit::{Group, WriteSet};
use crate::engine::learned::traps::{Reputation, count_admitted, reputation};
use crate::engine::learned::{Deferred, Learning, aliases, defer, take};
use crate::frontier::{
    Admission, Candidate, Expectation, Limits, Policy, Provenance, QueuedUrl, Scope,
    SharedPolicies, admit, class_of,
};
use crate::url::{HostKey, Identity, Url};

/// Letters kept of a URL's hop path.
const MAX_PATH: usize = 50;

/// What URLs must pass to be queued.
pub(in crate::engine) struct Gate {
    pub(in crate::engine) scope: Scope,
    pub(in crate::engine) limits: Limits,
    pub(in crate::engine) policies: SharedPolicies,
    pub(in crate::engine) identity: Identity,
}

/// Where a URL comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Origin {
    Seed,
    /// A sitemap that robots.txt, or an index of its own host, names: in scope by that.
    Manifest,
    Link,
    /// A link that was deferred; whether it was in its queue already then.
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

    /// Its URL may be known, and is asked for all the same.
    fn may_be_known(self) -> bool {
        matches!(self, Self::OtherForm | Self::Deferred(true))
    }
}

/// What speaks for or against a URL that the settings admit.
enum Suspicion {
    None,
    /// It waits, and little is expected of it.
    Low(Expectation),
    /// It is not admitted now.
    Refused(Admission),
}

impl Gate {
    /// Queues a URL in the class of its depth if it is admitted; true if it is.
    pub(in crate::engine) fn admit(
        &self,
        queued: QueuedUrl,
        origin: Origin,
        group: &mut Group<'_>,
    ) -> Result<bool, Error> {
        self.admit_in(class_of(queued.depth), queued, origin, None, group)
    }

    /// Queues a URL, found on the page `from`, in this class if it is admitted; true if it is.
    pub(in crate::engine) fn admit_in(
        &self,
        class: u8,
        mut queued: QueuedUrl,
        origin: Origin,
        from: Option<&Url>,
        group: &mut Group<'_>,
    ) -> Result<bool, Error> {
        let answer = self.judge(&queued, origin, from, group);
        let Admission::Admitted(url, host, trail) = answer else {
            group.set.count_link(&answer);
            return Ok(false);
        };
        if matches!(origin, Origin::Link | Origin::Deferred(_)) {
            queued.trail = trail;
            match self.suspicion(&url, &queued, &host, group)? {
                Suspicion::None => {}
                Suspicion::Low(expectation) => queued.expectation = expectation,
                Suspicion::Refused(answer) => {
                    group.set.count_link(&answer);
                    return Ok(false);
                }
            }
        }
        group
            .set
            .count_link(&Admission::Admitted(url.clone(), host.clone(), trail));
        if group.see(queued.id) {
            count_admitted(&url, &host, &mut group.set)?;
        }
        let class = class.max(queued.class());
        group.set.queue_in(class, queued, host)?;
        Ok(true)
    }

    /// What is known and what the settings say.
    fn judge(
        &self,
        queued: &QueuedUrl,
        origin: Origin,
        from: Option<&Url>,
        group: &mut Group<'_>,
    ) -> Admission {
        // The cheapest question first: nine of ten links are known.
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

    /// What a URL's host, and URLs like it, are known for. What that speaks against is deferred.
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
            suspicion = if learning.suppress(queued, host, group)? {
                Suspicion::Low(Expectation::Check)
            } else {
                Suspicion::Refused(Admission::Variant)
            };
        }
        Ok(suspicion)
    }

    /// The URL that is visited instead, where a host is taken for another.
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

    /// Admits what was deferred for reasons that have gone, if nothing speaks against it now.
    pub(in crate::engine) fn reopen(&self, group: &mut Group<'_>) -> Result<(), Error> {
        while let Some((host, tag)) = group.set.reopened.pop() {
            for deferred in take(&host, tag, &mut group.set)? {
                let Deferred { queued, was_queued } = deferred;
                // It may have been on its way when it was taken from its queue.
                if !was_queued || group.set.committed_page(queued.id)?.is_none() {
                    self.admit(queued, Origin::Deferred(was_queued), group)?;
                }
            }
        }
        Ok(())
    }

    /// What learning needs of this.
    pub(in crate::engine) fn learning<'a>(
        &'a self,
        policies: &'a crate::frontier::Policies,
    ) -> Learning<'a> {
        Learning {
            policies,
            identity: &self.identity,
        }
    }
}

impl WriteSet {
    /// Counts what became of a link.
    pub(in crate::engine) fn count_link(&mut self, answer: &Admission) {
        let links = &mut self.state.counters.links;
        match links.get_mut(answer.name()) {
            Some(count) => *count += 1,
            None => {
                links.insert(answer.name().to_owned(), 1);
            }
        }
    }
}

/// A hop path with one letter more, the oldest ones left out where it gets long.
pub(in crate::engine) fn extended(path: &str, letter: char) -> String {
    let skip = path.chars().count().saturating_sub(MAX_PATH - 1);
    path.chars().skip(skip).chain([letter]).collect()
}
