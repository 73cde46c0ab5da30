//! What a visit leads to: its redirect, its links, and seeds become rows of queues.

use super::Error;
use super::aliases;
use super::committer::{Committer, SEEN_RUNS};
use super::effects::Group;
use super::messages::SeedsAdded;
use super::reputation::{Reputation, reputation};
use super::visit::{Findings, Judged, Receipt, Seeds};
use crate::fetch::{Exchange, Guard};
use crate::frontier::{
    Admission, Candidate, Expectation, FetchTask, Provenance, Purpose, QueuedUrl, admit, class_of,
};
use crate::page::{Link, LinkKind, Note, Rel, Wish};
use crate::rows::CrawlState;
use crate::store::{Store, Table, keys};
use crate::url::{HostKey, Url};

/// Redirects in a row after which another form of the same URL is not tried any more.
const MAX_FORMS: u8 = 4;
/// Letters kept of a URL's hop path.
const MAX_PATH: usize = 50;

/// Where a URL comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Seed,
    /// A sitemap that robots.txt, or an index of its own host, names: in scope by that.
    Manifest,
    Link,
    /// It was left aside when it was a link; whether it was in its queue already then.
    Shelf(bool),
    /// A redirect to another form of the URL that was visited.
    OtherForm,
}

impl Committer {
    /// Admits seeds.
    pub(super) fn seeds(&mut self, seeds: Seeds, group: &mut Group) -> Result<(), Error> {
        let mut receipt = Receipt::default();
        let mut added = SeedsAdded::default();
        for seed in &seeds.urls {
            for entry in self.scope.add_seed(seed) {
                group.batch.put(Table::Scope, entry, Vec::new());
            }
            if seeds.consent
                && let Some(authority) = Guard::consent_of(seed)
            {
                let key = [keys::meta::CONSENT, authority.as_str().as_bytes()].concat();
                group.batch.put(Table::Meta, key, Vec::new());
                self.guard.consent(authority);
            }
            let queued = QueuedUrl::new(seed.to_string(), self.identity.id(seed));
            if self.admit(queued, Origin::Seed, &mut receipt, group)? {
                self.state.counters.seeds += 1;
                added.new += 1;
            } else {
                added.known += 1;
            }
        }
        if let Some(reply) = seeds.reply {
            group.replies.push(Box::new(move || {
                // Whoever asked may have gone.
                let _ = reply.send(added);
            }));
        }
        group.receipts.push(receipt);
        Ok(())
    }

    /// Admits what an answer points to. True if that is another form of the same URL.
    pub(super) fn follow(
        &mut self,
        judged: &Judged,
        exchange: &Exchange,
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<bool, Error> {
        let task = &judged.analysed.fetched.task;
        if exchange.is_redirect() {
            let target = exchange.redirect_target(&task.url);
            let Some(target) = target else {
                return Ok(false);
            };
            let id = self.identity.id(&target);
            // To exactly itself it leads nowhere; to and fro between two forms neither.
            let to_and_fro = task.queued.via == Some(id) && task.queued.hops >= MAX_FORMS;
            let other_form = id == task.queued.id && target != task.url && !to_and_fro;
            let queued = QueuedUrl {
                url: target.into(),
                id,
                via: Some(task.queued.id),
                depth: task.queued.depth,
                hops: task.queued.hops.saturating_add(1),
                attempts: 0,
                path: extended(&task.queued.path, 'R'),
                revisit: other_form && task.queued.revisit,
                purpose: task.queued.purpose,
                trail: task.queued.trail,
                validators: None,
                expectation: Expectation::Usual,
            };
            let origin = match task.queued.purpose {
                _ if other_form => Origin::OtherForm,
                // Where a sitemap was moved to belongs to whoever moved it.
                Purpose::Sitemap { .. } => Origin::Manifest,
                _ => Origin::Link,
            };
            let from = Some(&task.url);
            let class = class_of(queued.depth);
            let admitted = self.admit_in(class, queued, origin, from, receipt, group)?;
            return Ok(admitted && other_form);
        }
        let Findings::Page(page) = &judged.analysed.findings else {
            return Ok(false);
        };
        let policy = self.policies.load().of(&task.host);
        let wishes = [
            (policy.robots_meta, page.robots),
            (policy.robots_header, judged.analysed.wishes),
        ];
        let asked = wishes
            .into_iter()
            .any(|(mode, wishes)| wishes.has(Wish::Nofollow) && policy.obeys(mode));
        let words = [
            (policy.rel_nofollow, Rel::NOFOLLOW),
            (policy.rel_ugc, Rel::UGC),
            (policy.rel_sponsored, Rel::SPONSORED),
        ];
        let obeyed = words.into_iter().filter(|(mode, _)| policy.obeys(*mode));
        let obeyed = obeyed.fold(Rel::default(), |all, (_, rel)| all.with(rel));
        if page.notes.contains(&Note::LinksCut) {
            self.count_link("links-cut");
        }
        for link in &page.links {
            if asked || link.rels.all_say(obeyed) {
                self.count_link("nofollow");
            } else {
                self.follow_link(task, link, receipt, group)?;
            }
        }
        Ok(false)
    }

    fn follow_link(
        &mut self,
        task: &FetchTask,
        link: &Link,
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<(), Error> {
        // Most links are known: ask before anything is copied.
        if self.seen.contains(link.id, &self.catalog[SEEN_RUNS]) {
            self.count_link("known");
            return Ok(());
        }
        let letter = match link.kind {
            LinkKind::Anchor | LinkKind::Area => 'L',
            LinkKind::Frame => 'E',
            LinkKind::Refresh | LinkKind::Related => 'I',
        };
        let queued = QueuedUrl {
            via: Some(task.queued.id),
            depth: task.queued.depth.saturating_add(1),
            path: extended(&task.queued.path, letter),
            trail: task.queued.trail,
            ..QueuedUrl::new(link.url.clone(), link.id)
        };
        let (class, from) = (class_of(queued.depth), Some(&task.url));
        self.admit_in(class, queued, Origin::Link, from, receipt, group)?;
        Ok(())
    }

    /// Queues a URL if it is admitted.
    pub(super) fn admit(
        &mut self,
        queued: QueuedUrl,
        origin: Origin,
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<bool, Error> {
        self.admit_in(class_of(queued.depth), queued, origin, None, receipt, group)
    }

    /// The same, into one of its host's classes; found on the page `from`, if there is one.
    pub(super) fn admit_in(
        &mut self,
        class: u8,
        mut queued: QueuedUrl,
        origin: Origin,
        from: Option<&Url>,
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<bool, Error> {
        let candidate = Candidate {
            url: &queued.url,
            id: queued.id,
            depth: queued.depth,
            hops: queued.hops,
            trail: queued.trail,
            from,
            provenance: match origin {
                Origin::Seed => Provenance::Given,
                Origin::Manifest => Provenance::Named,
                Origin::Link | Origin::OtherForm | Origin::Shelf(_) => Provenance::Linked,
            },
            other_form: matches!(origin, Origin::OtherForm | Origin::Shelf(true)),
        };
        let runs = &self.catalog[SEEN_RUNS];
        let mut admission = admit(
            &candidate,
            &self.scope,
            &self.limits,
            &self.policies.load(),
            &mut self.seen,
            runs,
        );
        if let Admission::Admitted(url, host, trail) = &admission
            && matches!(origin, Origin::Link | Origin::Shelf(_))
        {
            queued.trail = *trail;
            let policy = self.policies.load().of(host);
            match reputation(url, host, &policy.traps, &*self.store, group)? {
                Reputation::Usual => {}
                Reputation::Low => queued.expectation = Expectation::Low,
                Reputation::Trapped(trap, tag) => {
                    if let Some(tag) = tag {
                        self.shelve(&queued, host, tag, false, group)?;
                    }
                    self.count_link(trap.name());
                    return Ok(false);
                }
            }
            if let Some(other) = self.elsewhere(url, &queued, host, group)? {
                self.shelve(&queued, host, aliases::TAG, false, group)?;
                self.count_link(Admission::Alias.name());
                self.admit(other, Origin::Link, receipt, group)?;
                return Ok(false);
            }
            if policy.learn.parameters && self.is_variant(url, queued.id, host, group)? {
                if self.suppress(&queued, host, group)? {
                    queued.expectation = Expectation::Check;
                } else {
                    admission = Admission::Variant;
                }
            }
        }
        self.count_link(admission.name());
        let Admission::Admitted(url, host, _) = admission else {
            return Ok(false);
        };
        let runs = &mut self.catalog[SEEN_RUNS];
        if self.seen.insert(queued.id, runs) {
            self.count_admitted(&url, &host, group)?;
        }
        group.delta.seen.push(queued.id.key());
        let class = class.max(queued.class());
        self.queue_in(class, queued, host, receipt, group)?;
        Ok(true)
    }

    /// Admits a URL that was left aside, if nothing speaks against it now.
    pub(super) fn admit_again(
        &mut self,
        queued: QueuedUrl,
        was_queued: bool,
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<(), Error> {
        self.admit(queued, Origin::Shelf(was_queued), receipt, group)?;
        Ok(())
    }

    pub(super) fn count_link(&mut self, admission: &str) {
        match self.state.counters.links.get_mut(admission) {
            Some(count) => *count += 1,
            None => {
                self.state.counters.links.insert(admission.to_owned(), 1);
            }
        }
    }

    /// Has a URL wait in its host's queue.
    pub(super) fn queue(
        &mut self,
        queued: QueuedUrl,
        host: HostKey,
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<(), Error> {
        self.queue_in(queued.class(), queued, host, receipt, group)
    }

    /// Has a URL wait in one of its host's classes.
    pub(super) fn queue_in(
        &mut self,
        class: u8,
        queued: QueuedUrl,
        host: HostKey,
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<(), Error> {
        let store = &*self.store;
        add_to_queue(&mut self.state, store, class, queued, host, receipt, group)
    }
}

/// Has a URL wait in one of its host's classes.
pub(super) fn add_to_queue(
    crawl: &mut CrawlState,
    store: &dyn Store,
    class: u8,
    queued: QueuedUrl,
    host: HostKey,
    receipt: &mut Receipt,
    group: &mut Group,
) -> Result<(), Error> {
    crawl.queue_sequence += 1;
    let now = group.now;
    let (depth, purpose, is_again) = (
        queued.depth,
        queued.purpose,
        queued.attempts > 0 || queued.revisit,
    );
    let state = group.enqueue(store, &host, (class, crawl.queue_sequence, queued))?;
    if state.queued == 0 {
        // Rows in `Due` are filed by rising times: a pass over them begins behind those done.
        state.due = state.due.max(now);
    }
    state.queued += 1;
    match purpose {
        Purpose::Page => {
            state.depth = Some(state.depth.map_or(depth, |it| it.min(depth)));
        }
        Purpose::Sitemap { .. } if !is_again => {
            state.sitemaps = state.sitemaps.saturating_add(1);
        }
        _ => {}
    }
    let due = state.due;
    crawl.counters.queued += 1;
    if receipt.queued.last().is_none_or(|(last, _)| *last != host) {
        receipt.queued.push((host, due));
    }
    Ok(())
}

/// A hop path with one letter more, the oldest ones left out where it gets long.
pub(super) fn extended(path: &str, letter: char) -> String {
    let skip = path.chars().count().saturating_sub(MAX_PATH - 1);
    path.chars().skip(skip).chain([letter]).collect()
}
