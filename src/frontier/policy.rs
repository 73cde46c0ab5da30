//! How each host is treated: the crawl's policy, and the settings that some hosts have of their
//! own.
//!
//! The structs here are the sections of the configuration. A field is a key; its name, default and
//! documentation stand here and in `config/gleaner.toml`, and nowhere else. Every key can be set
//! per host in `[[domain]]`, unless `#[patch(skip)]` makes it a key of the whole crawl: the derive
//! makes the struct of overrides.
//!
//! Policies never change. A running crawl is given a new set of them ([`SharedPolicies`]), so that
//! nobody sees half of a change.

use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use serde::{Deserialize, Serialize};
use struct_patch::Patch;

use super::{MovedSeeds, Politeness, PolitenessOverrides, ScopeKind, SeenOptions};
use crate::learn::{LearnOverrides, LearnPolicy, TrapOverrides, TrapPolicy};
use crate::units::Checked;
use crate::url::{BlockList, HostKey, HostMap, HostPattern, UrlPatterns};

/// The policies of a running crawl. Each visit looks them up anew, so that policies stored here
/// apply from the next visit on.
pub type SharedPolicies = Arc<ArcSwap<Policies>>;

/// How a host is treated: the sections of the configuration whose keys can be set per host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// What is crawled.
    pub crawl: CrawlPolicy,
    /// How gently the host is treated.
    pub politeness: Politeness,
    /// Limits against traps.
    pub traps: TrapPolicy,
    /// What is learned about the host.
    pub learn: LearnPolicy,
}

impl Policy {
    /// Returns the defaults with this politeness.
    pub fn new(politeness: Politeness) -> Self {
        Self {
            politeness,
            ..Self::default()
        }
    }

    /// Replaces the settings for which the host has its own values.
    pub fn apply(&mut self, overrides: Overrides) {
        let Overrides {
            crawl,
            politeness,
            traps,
            learn,
        } = overrides;
        self.crawl.apply(crawl);
        self.politeness.apply(politeness);
        self.traps.apply(traps);
        self.learn.apply(learn);
    }

    /// Refuses values out of their range.
    pub fn check(&self) -> Checked {
        self.crawl.check()?;
        self.politeness.check()?;
        self.traps.check()?;
        self.learn.check()
    }

    /// Returns whether a signal such as `robots_meta` is obeyed. With `robots = "ignore"`, none is.
    pub fn obeys(&self, mode: RobotsMode) -> bool {
        self.crawl.robots == RobotsMode::Obey && mode == RobotsMode::Obey
    }
}

/// What is crawled: `[crawl]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Patch)]
#[serde(default, deny_unknown_fields)]
#[patch(
    name = "CrawlOverrides",
    attribute(derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)),
    attribute(serde(default, deny_unknown_fields)),
    attribute(expect(missing_docs, reason = "each field is described at `CrawlPolicy`"))
)]
pub struct CrawlPolicy {
    /// What a URL must share with a seed to be followed.
    #[patch(skip)]
    pub scope: ScopeKind,
    /// Number of links that are followed out of the scope, one after the other.
    #[patch(skip)]
    pub extra_hops: u8,
    /// Where a seed that redirects takes the scope along to.
    #[patch(skip)]
    pub moved_seeds: MovedSeeds,
    /// Maximum number of links followed from a seed to a URL of this host; `None` for no limit.
    pub max_depth: Option<u16>,
    /// Maximum number of consecutive redirects.
    #[patch(skip)]
    pub max_redirects: u8,
    /// Maximum length of a URL that is followed, in characters.
    #[patch(skip)]
    pub max_url_length: usize,
    /// Whether robots.txt is obeyed. If it is ignored, so are the five signals below.
    pub robots: RobotsMode,
    /// Whether `nofollow` in a robots meta tag is obeyed.
    pub robots_meta: RobotsMode,
    /// Whether `nofollow` in an `X-Robots-Tag` header is obeyed.
    pub robots_header: RobotsMode,
    /// Whether links with `rel=nofollow` are not followed.
    pub rel_nofollow: RobotsMode,
    /// Whether links with `rel=ugc` are not followed.
    pub rel_ugc: RobotsMode,
    /// Whether links with `rel=sponsored` are not followed.
    pub rel_sponsored: RobotsMode,
    /// A link to this host is followed only if it matches one of these patterns, if there are any.
    pub include: UrlPatterns,
    /// A link to this host that matches one of these patterns is not followed.
    pub exclude: UrlPatterns,
    /// Links of pages that are clearly in other languages than these are not followed, if there
    /// are any.
    pub languages: Vec<String>,
    /// Files of hosts, domains and beginnings of URLs that are not requested.
    #[patch(skip)]
    pub block_lists: Vec<PathBuf>,
    /// Which files that the pages of this host need to be shown are fetched with them.
    pub requisites: RequisiteMode,
    /// Maximum number of such files of one page.
    pub max_requisites: u32,
    /// Where to look for sitemaps.
    pub sitemaps: SitemapMode,
    /// Maximum number of sitemaps read per host.
    #[patch(skip)]
    pub max_sitemaps: u32,
    /// Maximum number of URLs that are deferred at a time.
    #[patch(skip)]
    pub max_deferred: u64,
    /// Number of URLs that the filter of seen URLs is sized for.
    #[patch(skip)]
    pub expected_urls: u64,
}

impl Default for CrawlPolicy {
    fn default() -> Self {
        Self {
            scope: ScopeKind::default(),
            extra_hops: 0,
            moved_seeds: MovedSeeds::default(),
            max_depth: None,
            max_redirects: 10,
            max_url_length: 2_048,
            robots: RobotsMode::default(),
            robots_meta: RobotsMode::default(),
            robots_header: RobotsMode::default(),
            rel_nofollow: RobotsMode::default(),
            rel_ugc: RobotsMode::default(),
            rel_sponsored: RobotsMode::default(),
            include: UrlPatterns::default(),
            exclude: UrlPatterns::default(),
            languages: Vec::new(),
            block_lists: Vec::new(),
            requisites: RequisiteMode::default(),
            max_requisites: 1_000,
            sitemaps: SitemapMode::default(),
            max_sitemaps: 1_000,
            max_deferred: 10_000_000,
            expected_urls: SeenOptions::default().expected_urls,
        }
    }
}

impl CrawlPolicy {
    /// Refuses values out of their range.
    pub fn check(&self) -> Checked {
        match self {
            _ if self.expected_urls > MAX_EXPECTED_URLS => Err((
                "crawl.expected_urls",
                "at most 10,000,000,000, which take 12 GB",
            )),
            _ if self.extra_hops > MAX_EXTRA_HOPS => Err(("crawl.extra_hops", "at most 20")),
            _ if self.max_requisites > MAX_REQUISITES => {
                Err(("crawl.max_requisites", "at most 10,000"))
            }
            _ => Ok(()),
        }
    }
}

/// Maximum number of requisites that are read of one document, and so may be fetched of it.
pub const MAX_REQUISITES: u32 = 10_000;

/// Maximum number of links that may be followed out of the scope. The path of a URL has room for
/// their letters.
const MAX_EXTRA_HOPS: u8 = 20;

/// Maximum number of URLs that a filter can be sized for.
const MAX_EXPECTED_URLS: u64 = 10_000_000_000;

/// Whether robots.txt, or another signal of a site to robots, is obeyed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RobotsMode {
    /// Read and obeyed.
    #[default]
    Obey,
    /// Neither read nor obeyed.
    Ignore,
}

/// Which of the files that a page needs to be shown are fetched: images, style sheets and what they
/// import, scripts, fonts, media, icons, frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequisiteMode {
    /// None.
    #[default]
    None,
    /// Those at the host of the page.
    SameHost,
    /// Those in the scope of the crawl.
    Scope,
    /// All, wherever they are.
    All,
}

/// Where to look for sitemaps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SitemapMode {
    /// Nowhere: a sitemap is a file like any other.
    Off,
    /// In robots.txt; a seed or link that turns out to be a sitemap is read, too.
    #[default]
    Robots,
    /// As with `Robots`, and at `/sitemap.xml` where robots.txt names none.
    WellKnown,
}

/// The settings that some hosts have of their own. Fields that are `Some` replace those of
/// [`Policy`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field is described at `Policy`")]
pub struct Overrides {
    pub crawl: CrawlOverrides,
    pub politeness: PolitenessOverrides,
    pub traps: TrapOverrides,
    pub learn: LearnOverrides,
}

/// The policy of every host.
#[derive(Debug, Clone)]
pub struct Policies {
    crawl: Policy,
    overrides: HostMap<Overrides>,
    /// Hosts whose `robots` differs from the crawl's.
    robots_exceptions: Vec<HostPattern>,
    /// Set if requisites of any host are fetched.
    has_requisites: bool,
    /// What is not requested, whatever leads to it.
    blocked: Arc<BlockList>,
}

impl Policies {
    /// Builds the policies from the crawl's and the settings that some hosts have of their own. If
    /// several patterns match a host, each key is taken from the most specific one that sets it.
    pub fn new(
        crawl: Policy,
        overrides: impl IntoIterator<Item = (HostPattern, Overrides)>,
    ) -> Self {
        let mut map = HostMap::default();
        let mut robots_exceptions = Vec::new();
        let mut has_requisites = crawl.crawl.requisites != RequisiteMode::None;
        for (pattern, overrides) in overrides {
            has_requisites |=
                (overrides.crawl.requisites).is_some_and(|it| it != RequisiteMode::None);
            if (overrides.crawl.robots).is_some_and(|it| it != crawl.crawl.robots) {
                robots_exceptions.push(pattern.clone());
            }
            map.insert(&pattern, overrides);
        }
        Self {
            crawl,
            overrides: map,
            robots_exceptions,
            has_requisites,
            blocked: Arc::default(),
        }
    }

    /// Sets what is not requested, whatever leads to it.
    pub fn block(&mut self, list: BlockList) {
        self.blocked = Arc::new(list);
    }

    /// Returns what is not requested.
    pub fn blocked(&self) -> &Arc<BlockList> {
        &self.blocked
    }

    /// Returns whether requisites of any host are fetched.
    pub fn has_requisites(&self) -> bool {
        self.has_requisites
    }

    /// Returns the policy of a host.
    pub fn of(&self, host: &HostKey) -> Policy {
        let mut policy = self.crawl.clone();
        if self.overrides.is_empty() {
            return policy;
        }
        for overrides in self.overrides.matching(host) {
            policy.apply(overrides.clone());
        }
        policy
    }

    /// Returns whether robots.txt is obeyed, and the hosts for which the opposite is set.
    pub fn robots(&self) -> (RobotsMode, &[HostPattern]) {
        (self.crawl.crawl.robots, &self.robots_exceptions)
    }

    /// Wraps the policies so that every stage of the crawl can share them.
    pub fn share(self) -> SharedPolicies {
        Arc::new(ArcSwap::from_pointee(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Span;

    fn policies() -> Policies {
        let crawl = Policy::new(Politeness {
            delay: Span::seconds(1),
            max_crawl_delay: Span::seconds(30),
            backoff: Span::seconds(5),
            max_backoff: Span::seconds(600),
            attempts: 3,
            ..Politeness::none()
        });
        let delay = |seconds| Some(Span::seconds(seconds));
        let entry = |pattern: &str, overrides| (pattern.parse().unwrap(), overrides);
        Policies::new(
            crawl,
            [
                entry(
                    "www.example.org",
                    Overrides {
                        politeness: PolitenessOverrides {
                            delay: delay(9),
                            ..PolitenessOverrides::default()
                        },
                        ..Overrides::default()
                    },
                ),
                entry(
                    "example.org",
                    Overrides {
                        politeness: PolitenessOverrides {
                            delay: delay(5),
                            attempts: Some(7),
                            ..PolitenessOverrides::default()
                        },
                        crawl: CrawlOverrides {
                            robots: Some(RobotsMode::Ignore),
                            max_depth: Some(Some(2)),
                            ..CrawlOverrides::default()
                        },
                        ..Overrides::default()
                    },
                ),
            ],
        )
    }

    #[test]
    fn what_is_said_most_specifically_holds_field_by_field() {
        let check = |host: &str, delay, attempts, robots, max_depth| {
            let policy = policies().of(&HostKey::parse(host).unwrap());
            assert_eq!(policy.politeness.delay, Span::seconds(delay), "{host}");
            assert_eq!(policy.politeness.attempts, attempts, "{host}");
            assert_eq!(policy.crawl.robots, robots, "{host}");
            assert_eq!(policy.crawl.max_depth, max_depth, "{host}");
            assert_eq!(policy.politeness.backoff, Span::seconds(5), "{host}");
        };
        check("https://example.net", 1, 3, RobotsMode::Obey, None);
        check("https://example.org", 5, 7, RobotsMode::Ignore, Some(2));
        check("http://a.example.org:81", 5, 7, RobotsMode::Ignore, Some(2));
        check("https://www.example.org", 9, 7, RobotsMode::Ignore, Some(2));
    }

    #[test]
    fn hosts_at_which_robots_txt_is_treated_in_another_way_are_told() {
        let policies = policies();
        let (mode, exceptions) = policies.robots();
        assert_eq!(mode, RobotsMode::Obey);
        assert_eq!(exceptions, ["example.org".parse().unwrap()]);
        let crawl = policies.of(&HostKey::parse("https://example.org").unwrap());
        let ignoring = Policies::new(crawl, []);
        assert_eq!(ignoring.robots(), (RobotsMode::Ignore, &[][..]));
    }

    #[test]
    fn what_is_stored_holds_for_all_who_share_it() {
        let shared = policies().share();
        let other = Arc::clone(&shared);
        let host = HostKey::parse("https://example.org").unwrap();
        let mut crawl = other.load().of(&host);
        crawl.crawl.max_depth = Some(9);
        shared.store(Arc::new(Policies::new(crawl, [])));
        assert_eq!(other.load().of(&host).crawl.max_depth, Some(9));
    }
}
