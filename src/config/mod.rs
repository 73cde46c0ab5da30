//! Configuration: every setting of every room in one place, with its default.
//!
//! `config/gleaner.toml` shows each key with its unit and the reason for its default; a test holds
//! the two together. Entries of `[[domain]]` hold for some hosts, those of `[[dedup.rule]]` for some
//! pages. Defaults are polite and safe: a
//! stranger's first run must not hurt a site or read an internal network. Layers: defaults < file <
//! environment < flags; [`load()`] reads them.

mod dedup;
mod domains;
mod error;
mod fetch;
mod kept;
mod load;
mod units;
mod urls;

use std::num::NonZeroU32;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use dedup::{DedupSettings, List, RuleSettings, ShingleSetting};
pub use domains::{DomainCrawl, DomainPoliteness, DomainSettings};
pub use error::Error;
pub use fetch::{DomainFetch, FetchSettings};
pub use kept::{flatten, kept};
pub use load::{Effective, Flag, Origin, load, variable};
pub use units::{Size, Span};
pub use urls::{UrlRuleSettings, UrlSettings};

use crate::engine::{ArchiveOptions, Options, StorePolicy};
use crate::frontier::{
    Limits, Policies, Policy, Politeness, RevisitMode, RevisitPolicy, RobotsMode, ScopeKind,
    SeenOptions, SitemapMode, Troubles,
};
use crate::learn::{LearnPolicy, TrapPolicy};
use crate::page::PageOptions;
use crate::url::{UrlPattern, UrlPatterns};

/// Every setting.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// What is crawled.
    pub crawl: CrawlSettings,
    /// Which URLs are one.
    pub url: UrlSettings,
    /// What is taken for a trap.
    pub traps: TrapPolicy,
    /// What is learned of hosts.
    pub learn: LearnPolicy,
    /// How gently.
    pub politeness: PolitenessSettings,
    /// When pages are visited again.
    pub revisit: RevisitSettings,
    /// How requests are made.
    pub fetch: FetchSettings,
    /// Bounds of one page.
    pub page: PageOptions,
    /// What may be called a duplicate, and what differs for some pages.
    pub dedup: DedupSettings,
    /// What is kept.
    pub archive: ArchiveSettings,
    /// Memory, queues and checkpoints.
    pub state: StateSettings,
    /// What differs at some hosts. Wins over the sections above, whoever set those.
    pub domain: Vec<DomainSettings>,
}

/// What is crawled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CrawlSettings {
    /// What a URL must share with a seed to be followed: host, domain, prefix or any.
    pub scope: ScopeKind,
    /// Links followed from a seed; none for no limit.
    pub max_depth: Option<u16>,
    /// Redirects followed in a row.
    pub max_redirects: u8,
    /// Characters of a URL; longer ones are not followed.
    pub max_url_length: usize,
    /// Whether robots.txt, and anything of what follows, is obeyed: obey or ignore.
    pub robots: RobotsMode,
    /// Whether robots meta tags are.
    pub robots_meta: RobotsMode,
    /// Whether `X-Robots-Tag` is.
    pub robots_header: RobotsMode,
    /// Whether links with `rel=nofollow` are left alone.
    pub rel_nofollow: RobotsMode,
    /// Whether links with `rel=ugc` are.
    pub rel_ugc: RobotsMode,
    /// Whether links with `rel=sponsored` are.
    pub rel_sponsored: RobotsMode,
    /// Patterns of URLs of which a link must match one, if there are any.
    pub include: Vec<UrlPattern>,
    /// Patterns of URLs that are not followed.
    pub exclude: Vec<UrlPattern>,
    /// Where sitemaps are looked for: off, robots or well-known.
    pub sitemaps: SitemapMode,
    /// Sitemaps of one host that are read.
    pub max_sitemaps: u32,
    /// URLs that the filter of URLs seen is made for.
    pub expected_urls: u64,
}

impl Default for CrawlSettings {
    fn default() -> Self {
        Self {
            scope: ScopeKind::default(),
            max_depth: None,
            max_redirects: 10,
            max_url_length: 2_048,
            robots: RobotsMode::default(),
            robots_meta: RobotsMode::default(),
            robots_header: RobotsMode::default(),
            rel_nofollow: RobotsMode::default(),
            rel_ugc: RobotsMode::default(),
            rel_sponsored: RobotsMode::default(),
            include: Vec::new(),
            exclude: Vec::new(),
            sitemaps: SitemapMode::default(),
            max_sitemaps: 1_000,
            expected_urls: SeenOptions::default().expected_urls,
        }
    }
}

/// How gently hosts are treated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PolitenessSettings {
    /// From the end of one visit of a host to the start of the next.
    pub delay: Span,
    /// The same of an address, of whichever hosts; never more than the delay of the host.
    pub address_delay: Span,
    /// A host is left alone so many times as long as its last answer took.
    pub response_factor: u8,
    /// The longest crawl-delay of a robots.txt that is obeyed.
    pub max_crawl_delay: Span,
    /// Wait after the first failure of a host; doubled by each further one.
    pub backoff: Span,
    /// The longest wait after failures.
    pub max_backoff: Span,
    /// Attempts made for one URL.
    pub attempts: u8,
    /// Classes of failure that are worth another attempt.
    pub retry: Troubles,
    /// Failures in a row after which a host is parked.
    pub park_after: u32,
    /// How long it is parked at first.
    pub park: Span,
    /// The longest that it is, and the longest Retry-After that is obeyed.
    pub max_park: Span,
    /// Requests a second across the crawl; none for no limit but the hosts' delays.
    pub max_rate: Option<NonZeroU32>,
}

impl Default for PolitenessSettings {
    fn default() -> Self {
        Self {
            delay: Span::seconds(1),
            address_delay: Span::millis(250),
            response_factor: 1,
            max_crawl_delay: Span::seconds(60),
            backoff: Span::seconds(5),
            max_backoff: Span::seconds(600),
            attempts: 3,
            retry: Troubles::default(),
            park_after: 8,
            park: Span::seconds(3_600),
            max_park: Span::seconds(24 * 3_600),
            max_rate: None,
        }
    }
}

/// When `gleaner daemon` visits pages again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RevisitSettings {
    /// How the time between two visits of a page is chosen: off, fixed or adaptive.
    pub mode: RevisitMode,
    /// From the first visit to the second; with fixed, to every one.
    pub interval: Span,
    /// The shortest time that adapting leads to.
    pub min_interval: Span,
    /// The longest, and the time to the next visit of a page that is gone.
    pub max_interval: Span,
}

impl Default for RevisitSettings {
    fn default() -> Self {
        Self {
            mode: RevisitMode::default(),
            interval: Span::seconds(24 * 3_600),
            min_interval: Span::seconds(3_600),
            max_interval: Span::seconds(30 * 24 * 3_600),
        }
    }
}

/// What is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ArchiveSettings {
    /// Which bodies are kept: unique, exact-only or all.
    pub store: StorePolicy,
    /// Whether bodies that are neither HTML nor text are kept.
    pub other_types: bool,
    /// Bytes of a WARC file before the next is begun.
    pub max_file: Size,
    /// gzip level, 0 to 9.
    pub compression: u32,
    /// Bytes of a log file before the next is begun.
    pub max_log: Size,
    /// Whether credentials of the configuration are left out of recorded requests.
    pub hide_credentials: bool,
}

impl Default for ArchiveSettings {
    fn default() -> Self {
        Self {
            store: StorePolicy::default(),
            other_types: true,
            max_file: Size(1_000_000_000),
            compression: 6,
            max_log: Size(100_000_000),
            hide_credentials: true,
        }
    }
}

/// Memory, queues and checkpoints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StateSettings {
    /// Memory that caches and buffers are sized by.
    pub max_memory: Size,
    /// Hosts in memory; all others wait on disk.
    pub hosts_in_memory: usize,
    /// URLs of one host in memory; all others wait on disk.
    pub urls_in_memory: usize,
    /// Room that is to be left on the disk: no visits are made while less is free. 0 for none.
    pub disk_reserve: Size,
    /// Time between checkpoints of what can be replayed.
    pub checkpoint_interval: Span,
    /// How long nobody must have seen a page, nor a duplicate of it, for it to leave the index; none for
    /// never.
    pub expire_after: Option<Span>,
}

impl Default for StateSettings {
    fn default() -> Self {
        Self {
            max_memory: Size::mebibytes(1_024),
            hosts_in_memory: 10_000,
            urls_in_memory: 32,
            disk_reserve: Size(1 << 30),
            checkpoint_interval: Span::seconds(30),
            expire_after: None,
        }
    }
}

impl Config {
    /// Checks what types cannot, and composes the rooms' options.
    pub fn options(&self) -> Result<Options, Error> {
        self.check()
            .map_err(|(key, expected)| Error::Value { key, expected })?;
        domains::check(&self.domain).map_err(|(at, reason)| Error::Domain {
            entry: domains::label(&self.domain, at),
            reason,
        })?;
        urls::check_entries(&self.url).map_err(|(at, reason)| Error::Domain {
            entry: format!("[[url.rule]] {}", at + 1),
            reason,
        })?;
        self.dedup
            .check_rules()
            .map_err(|(at, reason)| Error::Domain {
                entry: self.dedup.label(at),
                reason,
            })?;
        let (crawl, politeness) = (&self.crawl, &self.politeness);
        Ok(Options {
            scope: crawl.scope,
            limits: Limits {
                max_redirects: crawl.max_redirects,
                max_url_length: crawl.max_url_length,
                max_sitemaps: crawl.max_sitemaps,
            },
            policies: self.policies(),
            revisit: RevisitPolicy {
                mode: self.revisit.mode,
                interval: self.revisit.interval.0,
                min_interval: self.revisit.min_interval.0,
                max_interval: self.revisit.max_interval.0,
            },
            canonicalizer: self.url.canonicalizer(),
            seen: SeenOptions {
                expected_urls: crawl.expected_urls,
            },
            window: self.state.hosts_in_memory,
            buffer: self.state.urls_in_memory,
            fetch: fetch::options(self),
            concurrency: self.fetch.concurrency,
            max_rate: politeness.max_rate,
            page: self.page.clone(),
            features: self.dedup.features(),
            rules: self.dedup.rules(),
            archive: ArchiveOptions {
                store: self.archive.store,
                other_types: self.archive.other_types,
                max_segment_bytes: self.archive.max_file.0,
                compression: self.archive.compression,
            },
            log_max_bytes: self.archive.max_log.0,
            max_memory: self.state.max_memory.0,
            disk_reserve: self.state.disk_reserve.0,
            checkpoint_interval: self.state.checkpoint_interval.0,
            expire_after: self.state.expire_after.map(|span| span.0),
            failpoint: None,
        })
    }

    /// How each host is treated.
    fn policies(&self) -> Policies {
        let (crawl, politeness) = (&self.crawl, &self.politeness);
        let policy = Policy {
            politeness: Politeness {
                delay: politeness.delay.0,
                address_delay: politeness.address_delay.0,
                response_factor: politeness.response_factor,
                max_crawl_delay: politeness.max_crawl_delay.0,
                backoff: politeness.backoff.0,
                max_backoff: politeness.max_backoff.0,
                attempts: politeness.attempts,
                retry: politeness.retry,
                park_after: politeness.park_after,
                park: politeness.park.0,
                max_park: politeness.max_park.0,
            },
            robots: crawl.robots,
            robots_meta: crawl.robots_meta,
            robots_header: crawl.robots_header,
            rel_nofollow: crawl.rel_nofollow,
            rel_ugc: crawl.rel_ugc,
            rel_sponsored: crawl.rel_sponsored,
            max_depth: crawl.max_depth,
            sitemaps: crawl.sitemaps,
            include: compiled(&crawl.include),
            exclude: compiled(&crawl.exclude),
            traps: self.traps,
            learn: self.learn,
        };
        let entries = self.domain.iter().flat_map(|entry| {
            let hosts = entry.hosts.iter().cloned();
            hosts.map(|pattern| (pattern, entry.overrides()))
        });
        Policies::new(policy, entries)
    }

    /// Refuses values that would stall or break a crawl: the key, and what it must be.
    fn check(&self) -> Result<(), (&'static str, &'static str)> {
        self.dedup.check()?;
        fetch::check(&self.fetch)?;
        let refuse = |key, expected| Err((key, expected));
        match self {
            _ if self.crawl.expected_urls > MAX_EXPECTED_URLS => refuse(
                "crawl.expected_urls",
                "at most 10,000,000,000, which take 12 GB",
            ),
            _ if UrlPatterns::new(&self.crawl.include).is_err() => {
                refuse("crawl.include", PATTERNS_TOGETHER)
            }
            _ if UrlPatterns::new(&self.crawl.exclude).is_err() => {
                refuse("crawl.exclude", PATTERNS_TOGETHER)
            }
            _ if self.traps.max_duplicates > 100 => refuse("traps.max_duplicates", "at most 100"),
            _ if self.learn.visits == 0 => refuse("learn.visits", "at least 1"),
            _ if self.politeness.attempts == 0 => refuse("politeness.attempts", "at least 1"),
            _ if self.politeness.park_after == 0 => refuse("politeness.park_after", "at least 1"),
            _ if self.state.hosts_in_memory == 0 => refuse("state.hosts_in_memory", "at least 1"),
            _ if self.state.expire_after == Some(Span::seconds(0)) => {
                refuse("state.expire_after", "more than 0")
            }
            _ if self.state.urls_in_memory == 0 => refuse("state.urls_in_memory", "at least 1"),
            _ if self.archive.compression > 9 => refuse("archive.compression", "0 to 9"),
            _ if self.revisit.interval == Span::seconds(0) => {
                refuse("revisit.interval", "more than 0")
            }
            _ if self.revisit.min_interval == Span::seconds(0) => {
                refuse("revisit.min_interval", "more than 0")
            }
            _ if self.revisit.max_interval < self.revisit.min_interval => {
                refuse("revisit.max_interval", "at least revisit.min_interval")
            }
            _ if self.state.max_memory < Size::mebibytes(64) => {
                refuse("state.max_memory", "at least 64 MiB")
            }
            _ => urls::check(&self.url),
        }
    }
}

/// What is to be said of too many patterns.
const PATTERNS_TOGETHER: &str = "fewer or simpler patterns: together they take too much memory";

/// Patterns that were checked before.
fn compiled(patterns: &[UrlPattern]) -> Arc<UrlPatterns> {
    Arc::new(UrlPatterns::new(patterns).unwrap_or_default())
}

/// URLs that a filter is made for at most.
const MAX_EXPECTED_URLS: u64 = 10_000_000_000;

/// Whether a setting can change while a crawl runs: how gently, how far and how often, not how it
/// is built. The same of a key at some hosts, as [`flatten`] names it.
pub fn is_live(key: &str) -> bool {
    const LIVE: [&str; 20] = [
        "traps.",
        "learn.",
        "politeness.",
        "revisit.",
        "dedup.tiers",
        "dedup.hamming",
        "dedup.similarity",
        "dedup.cross_host_similarity",
        "dedup.refusals",
        "dedup.stored_members",
        "crawl.scope",
        "crawl.max_depth",
        "crawl.max_redirects",
        "crawl.max_url_length",
        "crawl.robots",
        "crawl.sitemaps",
        "crawl.max_sitemaps",
        "crawl.rel_",
        "crawl.include",
        "crawl.exclude",
    ];
    // How pages are looked for is a rule's to say as well; what is kept to find them is not.
    let is_rule = key.starts_with("dedup.") && key.contains(" at ");
    is_rule || LIVE.iter().any(|live| key.starts_with(live))
}
