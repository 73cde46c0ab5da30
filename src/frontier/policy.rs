//! How each host is treated: the crawl's policy, and what differs from it at some hosts.
//!
//! Made from the configuration, never changed; a running crawl is given another whole
//! ([`SharedPolicies`]), so that nobody ever sees half of a change.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use serde::{Deserialize, Serialize};

use super::Politeness;
use crate::url::{HostKey, HostMap, HostPattern};

/// The policies of a running crawl. To be looked up anew for each visit, so that `store` makes
/// others hold from the next one on.
pub type SharedPolicies = Arc<ArcSwap<Policies>>;

/// How a host is treated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// How gently.
    pub politeness: Politeness,
    /// Whether its robots.txt is obeyed.
    pub robots: RobotsMode,
    /// Links followed from a seed to a URL of this host; `None` for no limit.
    pub max_depth: Option<u16>,
    /// Where its sitemaps are looked for.
    pub sitemaps: SitemapMode,
}

/// Whether robots.txt is obeyed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RobotsMode {
    /// It is asked for and obeyed.
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is described where it is overridden")]
pub struct Overrides {
    pub delay: Option<Duration>,
    pub max_crawl_delay: Option<Duration>,
    pub backoff: Option<Duration>,
    pub max_backoff: Option<Duration>,
    pub attempts: Option<u8>,
    pub robots: Option<RobotsMode>,
    pub max_depth: Option<u16>,
    pub sitemaps: Option<SitemapMode>,
}

/// The policy of every host.
#[derive(Debug, Clone)]
pub struct Policies {
    crawl: Policy,
    overrides: HostMap<Overrides>,
}

impl Policies {
    /// The crawl's policy, and what differs from it at some hosts. Where several patterns match a
    /// host, each field is the most specific one's that has it.
    pub fn new(
        crawl: Policy,
        overrides: impl IntoIterator<Item = (HostPattern, Overrides)>,
    ) -> Self {
        let mut map = HostMap::default();
        for (pattern, overrides) in overrides {
            map.insert(&pattern, overrides);
        }
        Self {
            crawl,
            overrides: map,
        }
    }

    /// The policy of a host.
    pub fn of(&self, host: &HostKey) -> Policy {
        let mut policy = self.crawl.clone();
        for overrides in self.overrides.matching(host) {
            overrides.apply(&mut policy);
        }
        policy
    }

    /// Whether robots.txt is obeyed where nothing else is said, and whether that holds everywhere.
    pub fn robots(&self) -> (RobotsMode, bool) {
        let mode = self.crawl.robots;
        let mut others = self.overrides.values();
        (mode, others.all(|it| it.robots.is_none_or(|it| it == mode)))
    }

    /// To be shared by all that make visits.
    pub fn share(self) -> SharedPolicies {
        Arc::new(ArcSwap::from_pointee(self))
    }
}

impl Overrides {
    fn apply(&self, policy: &mut Policy) {
        fn set<T: Copy>(field: &mut T, value: Option<T>) {
            *field = value.unwrap_or(*field);
        }
        // Taken apart, so that a new field cannot be forgotten.
        let Self {
            delay,
            max_crawl_delay,
            backoff,
            max_backoff,
            attempts,
            robots,
            max_depth,
            sitemaps,
        } = *self;
        let politeness = &mut policy.politeness;
        set(&mut politeness.delay, delay);
        set(&mut politeness.max_crawl_delay, max_crawl_delay);
        set(&mut politeness.backoff, backoff);
        set(&mut politeness.max_backoff, max_backoff);
        set(&mut politeness.attempts, attempts);
        set(&mut policy.robots, robots);
        set(&mut policy.sitemaps, sitemaps);
        policy.max_depth = max_depth.or(policy.max_depth);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policies() -> Policies {
        let crawl = Policy {
            politeness: Politeness {
                delay: Duration::from_secs(1),
                max_crawl_delay: Duration::from_secs(30),
                backoff: Duration::from_secs(5),
                max_backoff: Duration::from_mins(10),
                attempts: 3,
            },
            robots: RobotsMode::Obey,
            max_depth: None,
            sitemaps: SitemapMode::Robots,
        };
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
    fn a_mixture_of_robots_modes_is_told() {
        assert_eq!(policies().robots(), (RobotsMode::Obey, false));
        let crawl = policies().of(&HostKey::parse("https://example.org").unwrap());
        assert_eq!(
            Policies::new(crawl, []).robots(),
            (RobotsMode::Ignore, true)
        );
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
