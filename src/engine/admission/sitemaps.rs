//! Sitemaps in a crawl: which are fetched, and what becomes of the URLs that they list.
//!
//! A sitemap is queued like a page and fetched as politely. One that robots.txt names is fetched
//! wherever it is, because the host itself vouches for it; so is what an index lists on its own
//! host. Everything else that a sitemap lists, pages and sitemaps of other hosts, is admitted like
//! links: the scope decides, not who says so. Listed pages are one link away from the host whose
//! sitemap it is.

use super::{Gate, Origin, extended};
use crate::engine::Error;
use crate::engine::again::Revisits;
use crate::engine::commit::Group;
use crate::engine::visit::Listed;
use crate::frontier::{Admission, FetchTask, LAST, Purpose, QueuedUrl, SitemapMode, class_of};
use crate::page::sitemap::EntryKind;
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
        if policy.crawl.max_depth.is_some_and(|max| depth >= max) {
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
            self.queue_sitemap(queued, Origin::Manifest, group)?;
        }
        Ok(())
    }

    /// Queues a sitemap, unless its host has had the maximum number.
    fn queue_sitemap(
        &self,
        queued: QueuedUrl,
        origin: Origin,
        group: &mut Group<'_>,
    ) -> Result<(), Error> {
        let Ok(url) = url::parse(&queued.url) else {
            return Ok(());
        };
        let host = group.set.host(&HostKey::of(&url))?;
        if host.sitemaps >= self.limits.max_sitemaps {
            group
                .set
                .count_link(&Admission::TooManySitemaps, &queued.url);
            return Ok(());
        }
        self.admit(queued, origin, group)?;
        Ok(())
    }

    /// Queues a part of what a sitemap lists.
    pub(crate) fn queue_listed(
        &self,
        sitemap: &FetchTask,
        listed: &[Listed],
        revisits: &Revisits,
        group: &mut Group<'_>,
    ) -> Result<(), Error> {
        for listed in listed {
            self.queue_one(sitemap, listed, revisits, group)?;
        }
        group.set.end_receipt();
        Ok(())
    }

    fn queue_one(
        &self,
        sitemap: &FetchTask,
        listed: &Listed,
        revisits: &Revisits,
        group: &mut Group<'_>,
    ) -> Result<(), Error> {
        if group.is_seen(listed.id) {
            group.set.count_link(&Admission::Known, &listed.url);
            return match listed.modified {
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
                let own = url::parse(&listed.url).is_ok_and(|it| HostKey::of(&it) == sitemap.host);
                let origin = if own { Origin::Manifest } else { Origin::Link };
                let queued = queued(depth, Purpose::Sitemap { level });
                self.queue_sitemap(queued, origin, group)?;
            }
            EntryKind::Page => {
                let queued = queued(depth.saturating_add(1), Purpose::Page);
                let class = class_of(queued.depth) + u8::from(listed.is_minor);
                let class = class.min(LAST);
                self.admit_in(class, queued, Origin::Link, None, group)?;
            }
        }
        Ok(())
    }
}
