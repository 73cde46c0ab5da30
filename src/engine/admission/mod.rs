//! Admission: decides which URLs that are given, linked or listed enter a queue.
//!
//! A URL is checked in this order: whether it is known, what the settings say, whether a budget is
//! used up, and what URLs like it have said. A URL that only the last check speaks against is
//! deferred: it is kept, perhaps sampled, and comes back when its kind is opened.

mod deferred;
mod elsewhere;
mod fallback;
mod follow;
mod forgotten;
mod known;
mod refused;
mod requisites;
mod seeds;
mod sent;
mod sitemaps;
mod sweep;

pub(crate) use elsewhere::note_given_up;
pub(crate) use fallback::fall_back;
pub(crate) use follow::follow_canonical_form;
pub(crate) use forgotten::ForgottenNow;
pub(crate) use known::{is_without_page, know};
pub(crate) use refused::{MAX_REFUSED, is_noted};
pub(crate) use requisites::{follow_moved_requisite, follow_requisites};
pub(crate) use seeds::{admit_seeds, consents};
pub(crate) use sent::take_in;
pub(crate) use sitemaps::{LISTED_PER_COMMIT, queue_listed, settle_sitemap};

use std::sync::atomic::AtomicBool;

use crate::engine::Error;
use crate::engine::commit::{Group, WriteSet};
use crate::engine::learned::budgets::{count_admitted, used_up};
use crate::engine::learned::hearsay::is_hearsay;
use crate::engine::learned::kinds::Learning;
use crate::frontier::{
    Admission, Candidate, FetchTask, LAST, Limits, Policies, Provenance, Purpose, QueuedUrl,
    Remembrance, Scope, Shards, SharedPolicies, admit, class_of,
};
use crate::learn::Trap;
use crate::rows::{Reason, ReasonKind, Sent, SentLink};
use crate::url::{HostKey, Identity, Url, UrlId};
use deferred::Suspicion;
use forgotten::comes_back;
use seeds::seed_of;
use sent::send;

/// Maximum length of a URL's hop path, in letters.
const MAX_PATH: usize = 50;

/// Priority classes by which a URL is served later if only another site leads to it.
const HEARSAY: u8 = 4;

/// The checks that URLs must pass to be queued.
pub(crate) struct Gate {
    pub(crate) scope: Scope,
    pub(crate) limits: Limits,
    pub(crate) policies: SharedPolicies,
    pub(crate) identity: Identity,
    pub(crate) shards: Shards,
    pub(crate) forgotten: ForgottenNow,
    /// Whether it was said that no more URLs can be deferred.
    pub(crate) is_full_told: AtomicBool,
}

/// The source of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Seed,
    /// A sitemap named by robots.txt, or by an index of its own host, which makes it in scope.
    Manifest,
    /// What a seed redirects to and takes the scope along.
    Moved,
    Link,
    /// A link of its own site to a URL that was given up, or deferred, as others link to it.
    OwnLink,
    /// Another form of the URL that was visited: the visited one redirects there, or failed.
    OtherForm,
}

/// Who leads to a URL.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Source<'a> {
    /// The page with the link; `None` if the trail belongs to the URL itself.
    pub(crate) page: Option<&'a Url>,
    /// The URL of the page, or the sitemap, that the queued URL names by its id, if it is at hand.
    pub(crate) via: Option<&'a Url>,
    /// The host that says so; `None` if that is the user, or has the word of the URL's own site.
    pub(crate) host: Option<&'a HostKey>,
    /// Set if another shard has judged the URL by the settings, and sent it.
    pub(crate) is_sent: bool,
}

impl<'a> Source<'a> {
    /// The page that a visit was made for.
    fn of(task: &'a FetchTask) -> Self {
        Self {
            page: Some(&task.url),
            via: Some(&task.url),
            host: Some(&task.host),
            is_sent: false,
        }
    }
}

impl Origin {
    fn provenance(self) -> Provenance {
        match self {
            Self::Seed => Provenance::Given,
            Self::Manifest | Self::Moved => Provenance::Named,
            Self::Link | Self::OwnLink | Self::OtherForm => Provenance::Linked,
        }
    }

    /// Returns `true` if a URL of this source is admitted although it is known.
    fn may_be_known(self) -> bool {
        matches!(self, Self::OtherForm | Self::OwnLink)
    }
}

impl Gate {
    /// Sends a link to the shard of its host.
    fn send_link(&self, link: SentLink, host: &HostKey, group: &mut Group<'_>) {
        let to = self.shards.of(host);
        group.set.exchanged.send([to], &Sent::Link(Box::new(link)));
    }

    /// Queues a URL in the class of its depth if it is admitted. Returns whether it is.
    pub(crate) fn admit(
        &self,
        queued: QueuedUrl,
        origin: Origin,
        group: &mut Group<'_>,
    ) -> Result<bool, Error> {
        let class = class_of(queued.depth);
        self.admit_in(class, queued, origin, Source::default(), group)
    }

    /// Queues a URL, to which `source` leads, in the given class if it is admitted. Returns whether
    /// it is.
    pub(crate) fn admit_in(
        &self,
        class: u8,
        mut queued: QueuedUrl,
        origin: Origin,
        source: Source<'_>,
        group: &mut Group<'_>,
    ) -> Result<bool, Error> {
        let seed = seed_of(&queued, origin, source, group)?;
        let answer = self.judge(&queued, origin, (source, seed), group)?;
        let Admission::Admitted(url, host, trail) = &answer else {
            group.set.count_link(&answer, &queued.url);
            group.refuse(&answer, (queued.id, &queued.url), queued.via)?;
            return Ok(false);
        };
        if !source.is_sent {
            note_hop(self, &mut queued, origin, url);
        }
        if !self.shards.is_own(host) {
            return send(self, (queued, *trail), origin, (source, seed), host, group);
        }
        if let Some(seed) = seed {
            group.set.note_seed_of(queued.id, seed)?;
            // The seed, or what it redirects to.
            if queued.depth == 0 && queued.purpose == Purpose::Page {
                group.set.note_seed_of_host(host, seed)?;
            }
        }
        let is_hearsay = source.host.is_some_and(|by| is_hearsay(by, host));
        let mut class = class.max(queued.class());
        if is_hearsay && origin == Origin::Link {
            // What the site itself leads to comes first.
            class = class_of(queued.depth).saturating_add(HEARSAY).min(LAST);
        }
        if matches!(origin, Origin::Link | Origin::OwnLink) {
            queued.trail = *trail;
            let policy = self.policies.load().of(host);
            let used_up = used_up((host, is_hearsay), &policy.traps, &mut group.set)?;
            if let Some((trap, name)) = used_up {
                group.refuse_for(name, (queued.id, &queued.url), queued.via)?;
                let answer = Admission::Trapped(trap);
                group.set.count_link(&answer, &queued.url);
                return Ok(false);
            }
            let is_page = queued.purpose == Purpose::Page;
            match is_page.then(|| self.suspicion(url, &queued, (host, is_hearsay), group)) {
                None => {}
                Some(suspicion) => match suspicion? {
                    Suspicion::None if is_hearsay || queued.expectation.silent() == 0 => {}
                    Suspicion::None => {
                        let policies = self.policies.load();
                        class = self
                            .learning(&policies)
                            .class(&queued, (host, false), group)?;
                    }
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
        if group.see(key_of(&queued)) {
            count_admitted(host, is_hearsay, &mut group.set)?;
        }
        if self.policies.load().has_requisites() {
            // What is visited as a page is not fetched as a requisite too.
            group.see(self.identity.as_written(url));
        }
        group.set.queue_in(class, queued, host.clone())?;
        Ok(true)
    }

    /// Checks whether the URL is known, and what the settings say.
    fn judge(
        &self,
        queued: &QueuedUrl,
        origin: Origin,
        (source, seed): (Source<'_>, Option<UrlId>),
        group: &mut Group<'_>,
    ) -> Result<Admission, Error> {
        let remembrance = self
            .forgotten
            .remembrance_of((queued.id, &queued.url), group)?;
        if remembrance == Remembrance::Forgotten {
            return Ok(Admission::Forgotten);
        }
        // The cheapest check first: nine of ten links are known.
        let may_be_known = origin.may_be_known() || remembrance == Remembrance::Back;
        if !may_be_known && group.is_seen(key_of(queued)) {
            return Ok(Admission::Known);
        }
        let settings = match seed {
            Some(seed) => group.set.seed_settings(seed)?,
            None => None,
        };
        let mut candidate = Candidate {
            seed: settings.as_deref(),
            ..candidate(self, queued, origin, source.page)
        };
        if source.is_sent && candidate.provenance == Provenance::Linked {
            // Seeds may have moved the scope there and not yet here.
            candidate.provenance = Provenance::Named;
        }
        let admission = admit(&candidate, &self.scope, &self.limits, &self.policies.load());
        if remembrance == Remembrance::Back && matches!(admission, Admission::Admitted(..)) {
            comes_back(queued.id, group);
        }
        Ok(admission)
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
                | Admission::Sent
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

/// Marks the ids of URLs that were admitted as sitemaps.
const AS_SITEMAP: u32 = 0x4d61_7073;

/// Returns the id under which sitemaps are known: a URL that is only called a sitemap may be a
/// page, to which a link may lead as well.
pub(crate) fn as_sitemap(id: UrlId) -> UrlId {
    id.salted(AS_SITEMAP)
}

/// Returns the id under which a URL is known once it is queued.
pub(crate) fn key_of(queued: &QueuedUrl) -> UrlId {
    match queued.purpose.is_sitemap() {
        true => as_sitemap(queued.id),
        false => queued.id,
    }
}

/// What the settings decide about a URL.
fn candidate<'a>(
    gate: &Gate,
    queued: &'a QueuedUrl,
    origin: Origin,
    from: Option<&'a Url>,
) -> Candidate<'a> {
    let is_in_scope = from.is_some_and(|from| gate.scope.admits(from));
    Candidate {
        url: &queued.url,
        depth: queued.depth,
        hops: queued.hops,
        trail: queued.trail,
        from,
        beyond: beyond(&queued.path, is_in_scope),
        provenance: origin.provenance(),
        seed: None,
    }
}

/// Notes where a link out of the scope stands, so that what it leads to is counted on.
fn note_hop(gate: &Gate, queued: &mut QueuedUrl, origin: Origin, url: &Url) {
    let is_linked = origin.provenance() == Provenance::Linked;
    if gate.limits.extra_hops > 0 && is_linked && !gate.scope.admits(url) {
        queued.path = marked(&queued.path);
    }
}

/// Returns how many links out of the scope lead to a URL by its hop path, if it is out of the scope
/// itself. Those of them that were followed have small letters; a redirect on the way is no link.
/// 0 if that is not known, as of a link on a page that is out of the scope and was not reached so.
fn beyond(path: &str, is_page_in_scope: bool) -> u8 {
    let mut letters = path.chars().rev();
    let is_redirect = letters.next().is_some_and(|last| last == 'R');
    let before = letters.filter(|letter| *letter != 'R');
    let before = before.take_while(char::is_ascii_lowercase).count();
    let before = u8::try_from(before).unwrap_or(u8::MAX);
    match (before, is_redirect) {
        (0, _) => u8::from(is_page_in_scope),
        (before, true) => before,
        (before, false) => before.saturating_add(1),
    }
}

/// Returns a hop path whose last hop is marked as one out of the scope, unless that is a redirect
/// on the way there.
fn marked(path: &str) -> String {
    let last = path.chars().last().unwrap_or_default();
    let is_on_the_way = last == 'R' && beyond(path, false) > 0;
    let mut letters: Vec<char> = path.chars().collect();
    if let Some(last) = letters.last_mut().filter(|_| !is_on_the_way) {
        last.make_ascii_lowercase();
    }
    letters.into_iter().collect()
}

/// Appends a letter to a hop path, dropping the oldest ones of a long path.
pub(crate) fn extended(path: &str, letter: char) -> String {
    let skip = path.chars().count().saturating_sub(MAX_PATH - 1);
    path.chars().skip(skip).chain([letter]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_out_of_the_scope_are_counted_by_the_path() {
        for path in ["L", "LLL", "R", "lLL", "lLR"] {
            assert_eq!(beyond(path, true), 1, "{path}");
            assert_eq!(beyond(path, false), 0, "{path}");
        }
        assert_eq!(beyond("LlL", false), 2);
        assert_eq!(beyond("LlR", false), 1);
        assert_eq!(beyond("LlRL", false), 2);
        assert_eq!(beyond("LleRRL", false), 3);
        for (path, expected) in [("L", "l"), ("R", "r"), ("LlR", "LlR"), ("LlL", "Lll")] {
            assert_eq!(marked(path), expected);
        }
    }
}
