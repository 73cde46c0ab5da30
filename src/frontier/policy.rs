//! How each host is treated: the crawl's policy, and what differs from it at some hosts.
//!
//! Made from the configuration, never changed; a running crawl is given another whole
//! ([`SharedPolicies`]), so that nobody ever sees half of a change.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use serde::{Deserialize, Serialize};

use super::{Politeness, Troubles};
use crate::learn::{AliasMode, LearnPolicy, TrapPolicy};
use crate::url::{HostKey, HostMap, HostPattern, UrlPatterns};

/// The policies of a running crawl. To be looked up anew for each visit, so that `store` makes
/// others hold from the next one on.
pub type SharedPolicies = Arc<ArcSwap<Policies>>;

/// How a host is treated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// How gently.
    pub politeness: Politeness,
    /// Whether its robots.txt is obeyed, and whether anything below is.
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
    /// Links followed from a seed to a URL of this host; `None` for no limit.
    pub max_depth: Option<u16>,
    /// Where its sitemaps are looked for.
    pub sitemaps: SitemapMode,
    /// What a link to it must match one of, if there are any.
    pub include: Arc<UrlPatterns>,
    /// What a link to it must not match.
    pub exclude: Arc<UrlPatterns>,
    /// How much of it is visited, and what its URLs may look like.
    pub traps: TrapPolicy,
    /// What is learned of it.
    pub learn: LearnPolicy,
}

impl Policy {
    /// A policy that obeys everything and has no limits.
    pub fn new(politeness: Politeness) -> Self {
        Self {
            politeness,
            robots: RobotsMode::Obey,
            robots_meta: RobotsMode::Obey,
            robots_header: RobotsMode::Obey,
            rel_nofollow: RobotsMode::Obey,
            rel_ugc: RobotsMode::Obey,
            rel_sponsored: RobotsMode::Obey,
            max_depth: None,
            sitemaps: SitemapMode::default(),
            include: Arc::default(),
            exclude: Arc::default(),
            traps: TrapPolicy::default(),
            learn: LearnPolicy::default(),
        }
    }

    /// Whether something is obeyed: whoever ignores robots.txt ignores the rest too.
    pub fn obeys(&self, mode: RobotsMode) -> bool {
        self.robots == RobotsMode::Obey && mode == RobotsMode::Obey
    }
}

/// Whether robots.txt, or something else that a site asks of robots, is obeyed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RobotsMode {
    /// It is looked at and obeyed.
    #[default]
    Obey,
    /// It is neither.
    Ignore,
}

/// Where sitemaps are looked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SitemapMode {
    /// Nowhere: what is one is like any other file.
    Off,
    /// In robots.txt; and what is found to be one is read.
    #[default]
    Robots,
    /// The same, and `/sitemap.xml` where robots.txt names none.
    WellKnown,
}

/// What differs at some hosts; what is `None` does not. The fields are those of [`Policy`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is described where it is overridden")]
pub struct Overrides {
    pub delay: Option<Duration>,
    pub address_delay: Option<Duration>,
    pub response_factor: Option<u8>,
    pub max_crawl_delay: Option<Duration>,
    pub backoff: Option<Duration>,
    pub max_backoff: Option<Duration>,
    pub attempts: Option<u8>,
    pub retry: Option<Troubles>,
    pub park_after: Option<u32>,
    pub park: Option<Duration>,
    pub max_park: Option<Duration>,
    pub robots: Option<RobotsMode>,
    pub robots_meta: Option<RobotsMode>,
    pub robots_header: Option<RobotsMode>,
    pub rel_nofollow: Option<RobotsMode>,
    pub rel_ugc: Option<RobotsMode>,
    pub rel_sponsored: Option<RobotsMode>,
    pub max_depth: Option<u16>,
    pub sitemaps: Option<SitemapMode>,
    pub include: Option<Arc<UrlPatterns>>,
    pub exclude: Option<Arc<UrlPatterns>>,
    pub traps: TrapOverrides,
    pub learn: LearnOverrides,
}

/// The fields are those of [`LearnPolicy`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "each is described where it is overridden")]
pub struct LearnOverrides {
    pub parameters: Option<bool>,
    pub aliases: Option<AliasMode>,
    pub visits: Option<u32>,
}

/// The fields are those of [`TrapPolicy`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "each is described where it is overridden")]
pub struct TrapOverrides {
    pub max_pages_per_host: Option<u64>,
    pub max_pages_per_domain: Option<u64>,
    pub max_bytes_per_host: Option<u64>,
    pub max_bytes_per_domain: Option<u64>,
    pub max_seconds_per_host: Option<u64>,
    pub max_seconds_per_domain: Option<u64>,
    pub max_segments: Option<u16>,
    pub max_repeats: Option<u16>,
    pub max_parameters: Option<u16>,
    pub max_query_growth: Option<u8>,
    pub max_dates: Option<u16>,
    pub max_date_walk: Option<u16>,
    pub max_duplicates: Option<u8>,
    pub demoted_pages: Option<u32>,
}

/// The policy of every host.
#[derive(Debug, Clone)]
pub struct Policies {
    crawl: Policy,
    overrides: HostMap<Overrides>,
    /// The patterns of hosts at which robots.txt is treated in another way.
    robots_exceptions: Vec<HostPattern>,
}

impl Policies {
    /// The crawl's policy, and what differs from it at some hosts. Where several patterns match a
    /// host, each field is the most specific one's that has it.
    pub fn new(
        crawl: Policy,
        overrides: impl IntoIterator<Item = (HostPattern, Overrides)>,
    ) -> Self {
        let mut map = HostMap::default();
        let mut robots_exceptions = Vec::new();
        for (pattern, overrides) in overrides {
            if overrides.robots.is_some_and(|it| it != crawl.robots) {
                robots_exceptions.push(pattern.clone());
            }
            map.insert(&pattern, overrides);
        }
        Self {
            crawl,
            overrides: map,
            robots_exceptions,
        }
    }

    /// The policy of a host.
    pub fn of(&self, host: &HostKey) -> Policy {
        let mut policy = self.crawl.clone();
        if self.overrides.is_empty() {
            return policy;
        }
        for overrides in self.overrides.matching(host) {
            overrides.apply(&mut policy);
        }
        policy
    }

    /// Whether robots.txt is obeyed, and the patterns of hosts at which the other thing is done.
    pub fn robots(&self) -> (RobotsMode, &[HostPattern]) {
        (self.crawl.robots, &self.robots_exceptions)
    }

    /// To be shared by all that make visits.
    pub fn share(self) -> SharedPolicies {
        Arc::new(ArcSwap::from_pointee(self))
    }
}

impl Overrides {
    fn apply(&self, policy: &mut Policy) {
        // Taken apart, so that a new field cannot be forgotten.
        let Self {
            delay,
            address_delay,
            response_factor,
            max_crawl_delay,
            backoff,
            max_backoff,
            attempts,
            retry,
            park_after,
            park,
            max_park,
            robots,
            robots_meta,
            robots_header,
            rel_nofollow,
            rel_ugc,
            rel_sponsored,
            max_depth,
            sitemaps,
            include,
            exclude,
            traps,
            learn,
        } = self;
        let politeness = &mut policy.politeness;
        set(&mut politeness.delay, delay.as_ref());
        set(&mut politeness.address_delay, address_delay.as_ref());
        set(&mut politeness.response_factor, response_factor.as_ref());
        set(&mut politeness.max_crawl_delay, max_crawl_delay.as_ref());
        set(&mut politeness.backoff, backoff.as_ref());
        set(&mut politeness.max_backoff, max_backoff.as_ref());
        set(&mut politeness.attempts, attempts.as_ref());
        set(&mut politeness.retry, retry.as_ref());
        set(&mut politeness.park_after, park_after.as_ref());
        set(&mut politeness.park, park.as_ref());
        set(&mut politeness.max_park, max_park.as_ref());
        set(&mut policy.robots, robots.as_ref());
        set(&mut policy.robots_meta, robots_meta.as_ref());
        set(&mut policy.robots_header, robots_header.as_ref());
        set(&mut policy.rel_nofollow, rel_nofollow.as_ref());
        set(&mut policy.rel_ugc, rel_ugc.as_ref());
        set(&mut policy.rel_sponsored, rel_sponsored.as_ref());
        set(&mut policy.sitemaps, sitemaps.as_ref());
        set(&mut policy.include, include.as_ref());
        set(&mut policy.exclude, exclude.as_ref());
        policy.max_depth = (*max_depth).or(policy.max_depth);
        traps.apply(&mut policy.traps);
        learn.apply(&mut policy.learn);
    }
}

impl LearnOverrides {
    fn apply(&self, policy: &mut LearnPolicy) {
        let Self {
            parameters,
            aliases,
            visits,
        } = *self;
        set(&mut policy.parameters, parameters.as_ref());
        set(&mut policy.aliases, aliases.as_ref());
        set(&mut policy.visits, visits.as_ref());
    }
}

impl TrapOverrides {
    fn apply(&self, policy: &mut TrapPolicy) {
        let Self {
            max_pages_per_host,
            max_pages_per_domain,
            max_bytes_per_host,
            max_bytes_per_domain,
            max_seconds_per_host,
            max_seconds_per_domain,
            max_segments,
            max_repeats,
            max_parameters,
            max_query_growth,
            max_dates,
            max_date_walk,
            max_duplicates,
            demoted_pages,
        } = *self;
        set(&mut policy.max_pages_per_host, max_pages_per_host.as_ref());
        set(
            &mut policy.max_pages_per_domain,
            max_pages_per_domain.as_ref(),
        );
        set(&mut policy.max_bytes_per_host, max_bytes_per_host.as_ref());
        set(
            &mut policy.max_bytes_per_domain,
            max_bytes_per_domain.as_ref(),
        );
        set(
            &mut policy.max_seconds_per_host,
            max_seconds_per_host.as_ref(),
        );
        set(
            &mut policy.max_seconds_per_domain,
            max_seconds_per_domain.as_ref(),
        );
        set(&mut policy.max_segments, max_segments.as_ref());
        set(&mut policy.max_repeats, max_repeats.as_ref());
        set(&mut policy.max_parameters, max_parameters.as_ref());
        set(&mut policy.max_query_growth, max_query_growth.as_ref());
        set(&mut policy.max_dates, max_dates.as_ref());
        set(&mut policy.max_date_walk, max_date_walk.as_ref());
        set(&mut policy.max_duplicates, max_duplicates.as_ref());
        set(&mut policy.demoted_pages, demoted_pages.as_ref());
    }
}

fn set<T: Clone>(field: &mut T, value: Option<&T>) {
    if let Some(value) = value {
        field.clone_from(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policies() -> Policies {
        let crawl = Policy::new(Politeness {
            delay: Duration::from_secs(1),
            max_crawl_delay: Duration::from_secs(30),
            backoff: Duration::from_secs(5),
            max_backoff: Duration::from_mins(10),
            attempts: 3,
            ..Politeness::none()
        });
        let delay = |seconds| Some(Duration::from_secs(seconds));
        let entry = |pattern: &str, overrides| (pattern.parse().unwrap(), overrides);
        Policies::new(
            crawl,
            [
                entry(
                    "www.example.org",
                    Overrides {
                        delay: delay(9),
                        ..Overrides::default()
                    },
                ),
                entry(
                    "example.org",
                    Overrides {
                        delay: delay(5),
                        attempts: Some(7),
                        robots: Some(RobotsMode::Ignore),
                        max_depth: Some(2),
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
            assert_eq!(
                policy.politeness.delay,
                Duration::from_secs(delay),
                "{host}"
            );
            assert_eq!(policy.politeness.attempts, attempts, "{host}");
            assert_eq!(policy.robots, robots, "{host}");
            assert_eq!(policy.max_depth, max_depth, "{host}");
            assert_eq!(policy.politeness.backoff, Duration::from_secs(5), "{host}");
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
        let crawl = Policy {
            max_depth: Some(9),
            ..other.load().of(&host)
        };
        shared.store(Arc::new(Policies::new(crawl, [])));
        assert_eq!(other.load().of(&host).max_depth, Some(9));
    }
}
