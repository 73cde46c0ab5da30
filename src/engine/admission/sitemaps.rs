//! Sitemaps in a crawl: which are fetched, and what becomes of the URLs that they list.
//!
//! A sitemap is queued like a page and fetched as politely. One that robots.txt names is fetched
//! wherever it is, because the host itself vouches for it, but on a few hosts of other sites only;
//! so is what an index lists on its own host. Everything else that a sitemap lists, pages and
//! sitemaps of other hosts, is admitted like links: the scope decides, not who says so. Listed
//! pages are one link away from the host whose sitemap it is.
//!
//! What a host says about other sites is hearsay (`learned/hearsay.rs`): it is counted for the host
//! that says it, and a URL that is no sitemap is a page as if it had been linked.

use super::elsewhere::{is_of_its_own, may_name};
use super::{Gate, Origin, Source, as_sitemap, extended};
use crate::dedup::Ineligible;
use crate::engine::Error;
use crate::engine::again::Revisits;
use crate::engine::commit::Group;
use crate::engine::learned::hearsay;
use crate::engine::visit::{Analysed, Findings, Listed};
use crate::fetch::Outcome;
use crate::frontier::{
    Admission, Candidate, FetchTask, LAST, Provenance, Purpose, QueuedUrl, SeedSettings,
    SitemapMode, admit, class_of,
};
use crate::page::sitemap::EntryKind;
use crate::store::Store;
use crate::url::{self, HostKey, Url};

/// Number of listed URLs per commit.
pub(crate) const LISTED_PER_COMMIT: usize = 5_000;

/// Maximum number of indexes in a row that are followed. The protocol allows one.
const MAX_LEVEL: u8 = 3;

impl Gate {
    /// Queues the sitemaps that a host's robots.txt names, if the host has pages in the crawl and
    /// any of them may be visited.
    pub(crate) fn queue_sitemaps(
        &self,
        robots: &FetchTask,
        named: &[String],
        group: &mut Group<'_>,
    ) -> Result<(), Error> {
        let policy = self.policies.load().of(&robots.host);
        let Some(depth) = group.set.host(&robots.host)?.depth else {
            return Ok(());
        };
        let seed = match group.set.seed_of_host(&robots.host)? {
            Some(seed) => group.set.seed_settings(seed)?,
            None => None,
        };
        let own = seed.and_then(|seed| seed.depth);
        if own
            .or(policy.crawl.max_depth)
            .is_some_and(|max| depth >= max)
        {
            return Ok(());
        }
        let base = robots.host.robots_url();
        let mut sitemaps: Vec<Url> = match policy.crawl.sitemaps {
            SitemapMode::Off => return Ok(()),
            SitemapMode::Robots | SitemapMode::WellKnown => {
                named.iter().filter_map(|it| url::join(&base, it).ok())
            }
        }
        .collect();
        if sitemaps.is_empty() && policy.crawl.sitemaps == SitemapMode::WellKnown {
            sitemaps.extend(url::join(&base, "/sitemap.xml"));
        }
        for sitemap in sitemaps {
            let id = self.identity.id(&sitemap);
            let queued = QueuedUrl {
                depth,
                path: extended("", 'M'),
                purpose: Purpose::Sitemap { level: 0 },
                ..QueuedUrl::new(sitemap.into(), id)
            };
            queue_sitemap(self, queued, Origin::Manifest, (&robots.host, None), group)?;
        }
        Ok(())
    }

    fn queue_one(
        &self,
        sitemap: &FetchTask,
        listed: &Listed,
        revisits: &Revisits,
        group: &mut Group<'_>,
    ) -> Result<(), Error> {
        let is_known = match listed.kind {
            EntryKind::Page => self.forgotten.is_known((listed.id, &listed.url), group)?,
            EntryKind::Sitemap => group.is_seen(as_sitemap(listed.id)),
        };
        let Ok(url) = url::parse(&listed.url) else {
            return Ok(());
        };
        let host = HostKey::of(&url);
        let is_own = hearsay::speaks_for(&sitemap.host, &host, &mut group.set)?;
        let is_own_page = is_own && listed.kind == EntryKind::Page;
        let origin = match is_known && is_own_page {
            true if is_of_its_own(&host, (listed.id, &listed.url), group)? => Origin::OwnLink,
            _ => Origin::Link,
        };
        if is_known && origin == Origin::Link {
            group.set.count_link(&Admission::Known, &listed.url);
            return match listed.modified.filter(|_| is_own) {
                Some(modified) => revisits.changed(listed.id, modified, &mut group.set),
                None => Ok(()),
            };
        }
        let level = match sitemap.queued.purpose {
            Purpose::Sitemap { level } => level.saturating_add(1),
            _ => 1,
        };
        let queued = |depth, purpose| QueuedUrl {
            via: Some(sitemap.queued.id),
            depth,
            path: extended(&sitemap.queued.path, 'M'),
            purpose,
            ..QueuedUrl::new(listed.url.clone(), listed.id)
        };
        let depth = sitemap.queued.depth;
        match listed.kind {
            EntryKind::Sitemap if level > MAX_LEVEL => {
                group
                    .set
                    .count_link(&Admission::TooManyIndexes, &listed.url);
            }
            EntryKind::Sitemap => {
                let origin = match host == sitemap.host {
                    true => Origin::Manifest,
                    false => Origin::Link,
                };
                let queued = queued(depth, Purpose::Sitemap { level });
                let by = (&sitemap.host, Some(&sitemap.url));
                queue_sitemap(self, queued, origin, by, group)?;
            }
            EntryKind::Page => {
                let queued = queued(depth.saturating_add(1), Purpose::Page);
                let class = class_of(queued.depth) + u8::from(listed.is_minor && is_own);
                let class = class.min(LAST);
                let source = Source {
                    page: None,
                    via: Some(&sitemap.url),
                    host: (!is_own).then_some(&sitemap.host),
                    is_sent: false,
                };
                self.admit_in(class, queued, origin, source, group)?;
            }
        }
        Ok(())
    }
}

/// Queues a sitemap that the host `by` named, in an index at `via` perhaps, unless that has
/// named the maximum number, or sitemaps on too many other hosts.
fn queue_sitemap(
    gate: &Gate,
    queued: QueuedUrl,
    origin: Origin,
    (by, via): (&HostKey, Option<&Url>),
    group: &mut Group<'_>,
) -> Result<(), Error> {
    if group.is_seen(as_sitemap(queued.id)) {
        group.set.count_link(&Admission::Known, &queued.url);
        return Ok(());
    }
    if group.set.host(by)?.sitemaps >= gate.limits.max_sitemaps {
        group
            .set
            .count_link(&Admission::TooManySitemaps, &queued.url);
        return Ok(());
    }
    if !may_name(by, &queued, group)? {
        return Ok(());
    }
    let source = Source {
        page: None,
        via,
        host: Some(by),
        is_sent: false,
    };
    let class = class_of(queued.depth);
    if gate.admit_in(class, queued, origin, source, group)? {
        let state = group.set.host(by)?;
        state.sitemaps = state.sitemaps.saturating_add(1);
    }
    Ok(())
}

/// Decides what a body is that was requested as a sitemap and is none: a page, if a link to it
/// would be followed, as if the host that named it had linked to it.
pub(crate) fn settle_sitemap(
    gate: &Gate,
    visit: &mut Analysed,
    store: &dyn Store,
) -> Result<(), Error> {
    let queued = &mut visit.fetched.task.queued;
    let is_answered = matches!(&visit.fetched.outcome, Outcome::Exchange(it) if it.is_success());
    let is_list = matches!(visit.findings, Findings::Sitemap(_));
    if !queued.purpose.is_sitemap() || !is_answered || is_list {
        return Ok(());
    }
    let depth = queued.depth.saturating_add(1);
    let seed = SeedSettings::of(store, queued.id)?;
    let candidate = Candidate {
        url: &queued.url,
        depth,
        hops: queued.hops,
        trail: queued.trail,
        from: None,
        beyond: 0,
        provenance: Provenance::Linked,
        seed: seed.as_ref(),
    };
    let answer = admit(&candidate, &gate.scope, &gate.limits, &gate.policies.load());
    if matches!(answer, Admission::Admitted(..)) && !queued.revisit {
        (queued.purpose, queued.depth) = (Purpose::Page, depth);
    } else {
        visit.findings = Findings::Sitemap(Box::default());
        visit.fingerprints = Err(Ineligible::Status);
    }
    Ok(())
}

/// Queues a part of what a sitemap lists.
pub(crate) fn queue_listed(
    gate: &Gate,
    sitemap: &FetchTask,
    listed: &[Listed],
    revisits: &Revisits,
    group: &mut Group<'_>,
) -> Result<(), Error> {
    for listed in listed {
        gate.queue_one(sitemap, listed, revisits, group)?;
    }
    group.set.end_receipt();
    Ok(())
}
