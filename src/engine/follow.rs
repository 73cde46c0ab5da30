//! What a visit leads to: its redirect, its links, and seeds become rows of queues.

use super::Error;
use super::committer::{Committer, SEEN_RUNS};
use super::control::SeedsAdded;
use super::effects::Group;
use super::visit::{Findings, Judged, Receipt, Seeds};
use crate::fetch::{Exchange, Guard};
use crate::frontier::{
    Admission, Candidate, FetchTask, Purpose, QueuedUrl, Standing, admit, class_of,
};
use crate::page::{Link, LinkKind, Rel, Wish};
use crate::store::{Table, encode, keys};
use crate::url::HostKey;

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
            let queued = QueuedUrl {
                url: seed.to_string(),
                id: self.identity.id(seed),
                via: None,
                depth: 0,
                hops: 0,
                attempts: 0,
                path: String::new(),
                revisit: false,
                purpose: Purpose::Page,
            };
            if self.admit(&queued, Origin::Seed, &mut receipt, group)? {
                self.state.counters.seeds += 1;
                added.new += 1;
            } else {
                added.known += 1;
            }
        }
        group
            .replies
            .extend(seeds.reply.map(|reply| (reply, added)));
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
            };
            let origin = match task.queued.purpose {
                _ if other_form => Origin::OtherForm,
                // Where a sitemap was moved to belongs to whoever moved it.
                Purpose::Sitemap { .. } => Origin::Manifest,
                _ => Origin::Link,
            };
            let admitted = self.admit(&queued, origin, receipt, group)?;
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
            url: link.url.clone(),
            id: link.id,
            via: Some(task.queued.id),
            depth: task.queued.depth.saturating_add(1),
            hops: 0,
            attempts: 0,
            path: extended(&task.queued.path, letter),
            revisit: false,
            purpose: Purpose::Page,
        };
        self.admit(&queued, Origin::Link, receipt, group)?;
        Ok(())
    }

    /// Queues a URL if it is admitted.
    pub(super) fn admit(
        &mut self,
        queued: &QueuedUrl,
        origin: Origin,
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<bool, Error> {
        self.admit_in(class_of(queued.depth), queued, origin, receipt, group)
    }

    /// The same, into one of its host's classes.
    pub(super) fn admit_in(
        &mut self,
        class: u8,
        queued: &QueuedUrl,
        origin: Origin,
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<bool, Error> {
        let candidate = Candidate {
            url: &queued.url,
            id: queued.id,
            depth: queued.depth,
            hops: queued.hops,
            standing: match origin {
                Origin::Seed => Standing::Given,
                Origin::Manifest => Standing::Named,
                Origin::Link | Origin::OtherForm => Standing::Linked,
            },
            other_form: origin == Origin::OtherForm,
        };
        let runs = &mut self.catalog[SEEN_RUNS];
        let admission = admit(
            &candidate,
            &self.scope,
            &self.limits,
            &self.policies.load(),
            &mut self.seen,
            runs,
        );
        self.count_link(admission.name());
        let Admission::Admitted(host) = admission else {
            return Ok(false);
        };
        group.delta.seen.push(queued.id.key());
        self.queue_in(class, queued, host, receipt, group)?;
        Ok(true)
    }

    pub(super) fn count_link(&mut self, admission: &str) {
        match self.state.counters.links.get_mut(admission) {
            Some(count) => *count += 1,
            None => {
                self.state.counters.links.insert(admission.to_owned(), 1);
            }
        }
    }

    /// Adds a row to a host's queue.
    pub(super) fn queue(
        &mut self,
        queued: &QueuedUrl,
        host: HostKey,
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<(), Error> {
        self.queue_in(class_of(queued.depth), queued, host, receipt, group)
    }

    /// Adds a row to one of a host's classes.
    pub(super) fn queue_in(
        &mut self,
        class: u8,
        queued: &QueuedUrl,
        host: HostKey,
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<(), Error> {
        self.state.queue_sequence += 1;
        let key = keys::queue(host.as_str(), class, self.state.queue_sequence);
        group.batch.put(Table::Queue, key, encode(queued));
        let now = group.now;
        let state = group.host(&*self.store, &host)?;
        if state.queued == 0 {
            // Rows in `Due` are filed by rising times: a pass over them begins behind those done.
            state.due = state.due.max(now);
        }
        state.queued += 1;
        match queued.purpose {
            Purpose::Page => {
                let depth = state.depth.unwrap_or(queued.depth);
                state.depth = Some(depth.min(queued.depth));
            }
            Purpose::Sitemap { .. } if queued.attempts == 0 && !queued.revisit => {
                state.sitemaps = state.sitemaps.saturating_add(1);
            }
            _ => {}
        }
        let due = state.due;
        self.state.counters.queued += 1;
        if receipt.queued.last().is_none_or(|(last, _)| *last != host) {
            receipt.queued.push((host, due));
        }
        Ok(())
    }
}

/// A hop path with one letter more, the oldest ones left out where it gets long.
pub(super) fn extended(path: &str, letter: char) -> String {
    let skip = path.chars().count().saturating_sub(MAX_PATH - 1);
    path.chars().skip(skip).chain([letter]).collect()
}
