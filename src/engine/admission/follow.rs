//! Follows a visit: admits its redirect, or the links of its page.

use super::elsewhere::{is_of_its_own, may_name};
use super::sent::tell_moved;
use super::{Gate, Origin, Source, extended};
use crate::engine::Error;
use crate::engine::commit::{Group, Moved};
use crate::engine::visit::{Findings, Judged};
use crate::fetch::Exchange;
use crate::frontier::{Admission, FetchTask, Purpose, QueuedUrl, Scope, ScopeKind};
use crate::page::language::is_among;
use crate::page::{Link, LinkKind, Note, Page, Rel, Wish};
use crate::url::{self, Url};

/// Number of redirects in a row after which another form of the same URL is no longer tried.
const MAX_FORMS: u8 = 4;

impl Gate {
    /// Admits what a response points to, which said something of its own, or nothing. Returns
    /// `true` if that is another form of the same URL.
    pub(crate) fn follow(
        &self,
        judged: &Judged<'_>,
        exchange: &Exchange,
        said: Option<bool>,
        group: &mut Group<'_>,
    ) -> Result<bool, Error> {
        let task = &judged.analysed.fetched.task;
        if exchange.is_redirect() {
            let Some(target) = exchange.redirect_target(&task.url) else {
                return Ok(false);
            };
            let id = self.identity.id(&target);
            // A redirect to exactly itself leads nowhere, and neither does one to and fro between
            // two forms.
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
                // What it leads to is visited in its place.
                expectation: task.queued.expectation,
            };
            let own_scope = judged.seed.as_ref().and_then(|seed| seed.scope);
            let origin = match task.queued.purpose {
                _ if other_form => Origin::OtherForm,
                // A sitemap that was moved still belongs to the host that moved it.
                Purpose::Sitemap { .. } if !may_name(&task.host, &queued, group)? => {
                    return Ok(false);
                }
                Purpose::Sitemap { .. } => Origin::Manifest,
                // All that it leads to is in scope.
                _ if own_scope == Some(ScopeKind::Any) => Origin::Link,
                _ if moves(&self.scope, (task, own_scope), (&queued, exchange)) => Origin::Moved,
                _ => Origin::Link,
            };
            let source = Source::of(task);
            let moved = url::parse(&queued.url)
                .ok()
                .filter(|_| origin == Origin::Moved);
            let admitted = self.admit_in(queued.class(), queued, origin, source, group)?;
            if let Some(to) = moved.filter(|_| admitted) {
                let moved = Moved {
                    from: task.url.clone(),
                    to,
                    own: own_scope,
                };
                tell_moved(self, &moved, group);
                group.set.widen_scope(&self.scope, moved);
            }
            return Ok(admitted && other_form);
        }
        if exchange.status >= 400 && !exchange.asks_for_time() {
            return follow_canonical_form(self, task, group);
        }
        let Findings::Page(page) = &judged.analysed.findings else {
            return Ok(false);
        };
        let policy = self.policies.load().of(&task.host);
        let wishes = [
            (policy.crawl.robots_meta, page.robots),
            (policy.crawl.robots_header, judged.analysed.wishes),
        ];
        let asked = wishes
            .into_iter()
            .any(|(mode, wishes)| wishes.has(Wish::Nofollow) && policy.obeys(mode));
        let words = [
            (policy.crawl.rel_nofollow, Rel::NOFOLLOW),
            (policy.crawl.rel_ugc, Rel::UGC),
            (policy.crawl.rel_sponsored, Rel::SPONSORED),
        ];
        let obeyed = words.into_iter().filter(|(mode, _)| policy.obeys(*mode));
        let obeyed = obeyed.fold(Rel::default(), |all, (_, rel)| all.with(rel));
        if page.notes.contains(&Note::LinksCut) {
            group.set.count_link(&Admission::LinksCut, &task.queued.url);
        }
        let languages = &policy.crawl.languages;
        let is_foreign = task.queued.depth > 0 && is_foreign(page, languages);
        for link in &page.links {
            let refused = if asked || link.rels.all_say(obeyed) {
                Admission::Nofollow
            } else if is_foreign && !is_version(page, link, languages) {
                Admission::OtherLanguage
            } else {
                self.follow_link(task, link, said, group)?;
                continue;
            };
            group.set.count_link(&refused, &link.url);
            if url::parse(&link.url).is_ok_and(|url| self.scope.admits(&url)) {
                let via = Some(task.queued.id);
                group.refuse(&refused, (link.id, &link.url), via)?;
            }
        }
        Ok(false)
    }

    fn follow_link(
        &self,
        task: &FetchTask,
        link: &Link,
        said: Option<bool>,
        group: &mut Group<'_>,
    ) -> Result<(), Error> {
        // Most links are known, so this is checked before anything is copied.
        let mut origin = Origin::Link;
        if self.forgotten.is_known((link.id, &link.url), group)? {
            if !is_of_its_own(&task.host, (link.id, &link.url), group)? {
                group.set.count_link(&Admission::Known, &link.url);
                return Ok(());
            }
            origin = Origin::OwnLink;
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
            expectation: task.queued.expectation.of_link(said),
            ..QueuedUrl::new(link.url.clone(), link.id)
        };
        let source = Source::of(task);
        self.admit_in(queued.class(), queued, origin, source, group)?;
        Ok(())
    }
}

/// Whether a page is clearly in another language than these. A seed may be where a reader chooses
/// one, so this is not asked of seeds.
fn is_foreign(page: &Page, languages: &[String]) -> bool {
    let own = page.sure_language();
    !languages.is_empty() && own.is_some_and(|own| !is_among(own, languages))
}

/// Whether a link leads to what the page says is itself in one of these languages.
fn is_version(page: &Page, link: &Link, languages: &[String]) -> bool {
    let mut versions = page.metadata.alternates.iter();
    versions.any(|(language, url)| *url == link.url && is_among(language, languages))
}

/// Whether a seed redirects out of its scope to where it takes the scope along, as `example.org`
/// does to `www.example.org`. Whoever names the one means the other. What is seen on a later visit
/// does not count: by then somebody else may have the name.
fn moves(
    scope: &Scope,
    (task, own): (&FetchTask, Option<ScopeKind>),
    (to, answer): (&QueuedUrl, &Exchange),
) -> bool {
    let queued = &task.queued;
    let is_of_seed = queued.depth == 0 && queued.path.chars().all(|hop| hop == 'R');
    let target = url::parse(&to.url).ok();
    let is_permanent = matches!(answer.status, 301 | 308);
    is_of_seed
        && queued.purpose == Purpose::Page
        && !queued.revisit
        && target.is_some_and(|target| scope.moves((&task.url, &target), own, is_permanent))
}

/// Queues the canonical form of a URL that failed, or may not be requested, in the form in which it
/// was seen first: whoever linked to that may have written it so. Returns `true` if there is such a
/// form and it is asked for; it is asked for once.
pub(crate) fn follow_canonical_form(
    gate: &Gate,
    task: &FetchTask,
    group: &mut Group<'_>,
) -> Result<bool, Error> {
    let queued = &task.queued;
    // One form redirected to the other: both were asked for.
    let is_redirected = queued.via == Some(queued.id);
    let is_page = queued.purpose == Purpose::Page && !queued.revisit;
    let canonical = url::parse(gate.identity.canonical(&task.url).as_str()).ok();
    let is_other = |url: &Url| *url != task.url && gate.identity.id(url) == queued.id;
    let Some(url) = canonical.filter(is_other) else {
        return Ok(false);
    };
    if !is_page || is_redirected {
        return Ok(false);
    }
    let other = QueuedUrl {
        url: url.into(),
        attempts: 0,
        validators: None,
        ..queued.clone()
    };
    let class = other.class();
    gate.admit_in(class, other, Origin::OtherForm, Source::default(), group)
}
