//! Sitemaps in a crawl: which are asked for, and what becomes of what they list.
//!
//! A sitemap is queued like a page and fetched as politely. One that robots.txt names is asked for
//! wherever it is, for it is the host's own word that it speaks for it; so is what an index lists on
//! its own host. What a sitemap lists otherwise, pages and sitemaps of other hosts, is admitted like
//! links: the scope decides, not who says so. Pages are one link away from the host whose sitemap it
//! is.

use super::Error;
use super::committer::{Committer, SEEN_RUNS};
use super::effects::Group;
use super::follow::{Origin, extended};
use super::visit::{Analysed, Findings, Judged, Listed, Receipt};
use crate::frontier::{CLASSES, FetchTask, Moment, Purpose, QueuedUrl, SitemapMode, class_of};
use crate::page::sitemap::EntryKind;
use crate::url::{self, HostKey, Url};

/// Listed URLs in one commit.
const CHUNK: usize = 5_000;

/// Indexes in a row that are followed. The protocol knows one.
const MAX_LEVEL: u8 = 3;

impl Committer {
    /// Queues the sitemaps that a host's robots.txt names, if the host has pages in the crawl and any
    /// of them could be visited.
    pub(super) fn queue_sitemaps(
        &mut self,
        robots: &FetchTask,
        named: &[String],
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<(), Error> {
        let policy = self.policies.load().of(&robots.host);
        let Some(depth) = group.host(&*self.store, &robots.host)?.depth else {
            return Ok(());
        };
        if policy.max_depth.is_some_and(|max| depth >= max) {
            return Ok(());
        }
        let base = robots.host.robots_url();
        let mut sitemaps: Vec<Url> = match policy.sitemaps {
            SitemapMode::Off => return Ok(()),
            SitemapMode::Robots | SitemapMode::WellKnown => {
                named.iter().filter_map(|it| url::join(&base, it).ok())
            }
        }
        .collect();
        if sitemaps.is_empty() && policy.sitemaps == SitemapMode::WellKnown {
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
            self.queue_sitemap(queued, Origin::Manifest, receipt, group)?;
        }
        Ok(())
    }

    /// Queues a sitemap, if its host has not had too many.
    fn queue_sitemap(
        &mut self,
        queued: QueuedUrl,
        origin: Origin,
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<(), Error> {
        let Ok(url) = url::parse(&queued.url) else {
            return Ok(());
        };
        let host = group.host(&*self.store, &HostKey::of(&url))?;
        if host.sitemaps >= self.limits.max_sitemaps {
            self.count_link("too-many-sitemaps");
            return Ok(());
        }
        self.admit(queued, origin, receipt, group)?;
        Ok(())
    }

    /// Takes what a sitemap lists out of its visit and queues it, in commits of its own: one may list
    /// more than a group should hold. Cut off in between, the sitemap is read again, and what was
    /// queued is known.
    pub(super) fn queue_listed(
        &mut self,
        visit: &mut Analysed,
        now: Moment,
    ) -> Result<Vec<Receipt>, Error> {
        let Findings::Sitemap(list) = &mut visit.findings else {
            return Ok(Vec::new());
        };
        let listed = std::mem::take(&mut list.listed);
        let mut receipts = Vec::new();
        for chunk in listed.chunks(CHUNK) {
            let mut group = Group::at(now);
            let mut receipt = Receipt::default();
            for listed in chunk {
                self.queue_one(&visit.fetched.task, listed, &mut receipt, &mut group)?;
            }
            group.receipts.push(receipt);
            receipts.extend(self.write(group)?);
        }
        Ok(receipts)
    }

    fn queue_one(
        &mut self,
        sitemap: &FetchTask,
        listed: &Listed,
        receipt: &mut Receipt,
        group: &mut Group,
    ) -> Result<(), Error> {
        if self.seen.contains(listed.id, &self.catalog[SEEN_RUNS]) {
            self.count_link("known");
            return match listed.modified {
                Some(modified) => self.changed(listed.id, modified, group),
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
            EntryKind::Sitemap if level > MAX_LEVEL => self.count_link("too-many-indexes"),
            EntryKind::Sitemap => {
                let own = url::parse(&listed.url).is_ok_and(|it| HostKey::of(&it) == sitemap.host);
                let origin = if own { Origin::Manifest } else { Origin::Link };
                let queued = queued(depth, Purpose::Sitemap { level });
                self.queue_sitemap(queued, origin, receipt, group)?;
            }
            EntryKind::Page => {
                let queued = queued(depth.saturating_add(1), Purpose::Page);
                let class = class_of(queued.depth) + u8::from(listed.is_minor);
                let class = class.min(CLASSES - 1);
                self.admit_in(class, queued, Origin::Link, None, receipt, group)?;
            }
        }
        Ok(())
    }
}

/// Entries of a sitemap that was visited.
pub(super) fn entries(judged: &Judged) -> u32 {
    match &judged.analysed.findings {
        Findings::Sitemap(list) => list.entries,
        _ => 0,
    }
}
