//! Traps: URLs without end that lead to nothing new. Some are suspected by the form of a URL,
//! others by what the pages visited so far said (`suspicion.rs`). Budgets end all of them.
//!
//! Everything here is a count, never a time, so that the same crawl suspects the same URLs.

use super::pattern::Pattern;
use crate::units::Checked;
use crate::url::Url;
use serde::{Deserialize, Serialize};
use struct_patch::Patch;

/// Bounds on the form of a host's URLs, and on how much of a host is visited: `[traps]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Patch)]
#[serde(default, deny_unknown_fields)]
#[patch(
    name = "TrapOverrides",
    attribute(derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)),
    attribute(serde(default, deny_unknown_fields)),
    attribute(expect(missing_docs, reason = "each field is described at `TrapPolicy`"))
)]
pub struct TrapPolicy {
    /// What becomes of URLs that look like part of a trap.
    pub mode: TrapMode,
    /// Maximum number of URLs admitted per host (scheme, name, port). URLs that fail, and those to
    /// which only other sites lead, have as many each.
    pub max_pages_per_host: u64,
    /// Maximum number of URLs admitted per registrable domain, counted in the same way.
    pub max_pages_per_domain: u64,
    /// Bytes of bodies received from one host after which its remaining URLs are given up.
    pub max_bytes_per_host: u64,
    /// Bytes of bodies received from one registrable domain after which its remaining URLs are
    /// given up.
    pub max_bytes_per_domain: u64,
    /// Seconds spent waiting for the answers of one host, all visits together, after which its
    /// remaining URLs are given up.
    pub max_seconds_per_host: u64,
    /// Seconds spent waiting for the answers of one registrable domain, after which its remaining
    /// URLs are given up.
    pub max_seconds_per_domain: u64,
    /// Number of path segments above which a URL is suspected. Heritrix refuses more than 20
    /// (`TooManyPathSegmentsDecideRule`).
    pub max_segments: u16,
    /// Number of times that one segment may occur in a path before the URL is suspected.
    pub max_repeats: u16,
    /// Number of query parameters above which a URL is suspected.
    pub max_parameters: u16,
    /// How many times in a row a link may add parameters to the query of the page that contains it
    /// before the URL is suspected.
    pub max_query_growth: u8,
    /// Number of links in a row from one date to another after which a URL is suspected.
    pub max_date_walk: u16,
    /// Percentage of the last 64 visits of a kind of URLs that may say nothing before the kind is
    /// suspected; 100 for no such bound.
    pub max_duplicates: u8,
}

impl Default for TrapPolicy {
    fn default() -> Self {
        Self {
            mode: TrapMode::default(),
            max_pages_per_host: 1_000_000,
            max_pages_per_domain: 2_000_000,
            max_bytes_per_host: 100_000_000_000,
            max_bytes_per_domain: 200_000_000_000,
            max_seconds_per_host: 30 * 24 * 3_600,
            max_seconds_per_domain: 60 * 24 * 3_600,
            max_segments: 20,
            max_repeats: 3,
            max_parameters: 20,
            max_query_growth: 5,
            max_date_walk: 100,
            max_duplicates: 95,
        }
    }
}

impl TrapPolicy {
    /// Refuses values out of their range.
    pub fn check(&self) -> Checked {
        match self.max_duplicates > 100 {
            true => Err(("traps.max_duplicates", "at most 100")),
            false => Ok(()),
        }
    }
}

/// What becomes of URLs that look like part of a trap.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum TrapMode {
    /// They are deferred, and sampled.
    #[default]
    Defer,
    /// They are fetched like any other.
    Off,
}

/// What was spent on a host or a domain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Number of URLs admitted, without those to which only other sites lead.
    pub admitted: u64,
    /// Bytes of bodies received.
    pub bytes: u64,
    /// Time that answers took, in milliseconds.
    pub millis: u64,
}

impl Spent {
    /// The name of the setting whose per-host budget is exhausted, if one is.
    pub fn by_host(&self, policy: &TrapPolicy) -> Option<&'static str> {
        match self {
            _ if self.bytes >= policy.max_bytes_per_host => Some("traps.max_bytes_per_host"),
            _ if self.millis / 1_000 >= policy.max_seconds_per_host => {
                Some("traps.max_seconds_per_host")
            }
            _ => None,
        }
    }

    /// The name of the setting whose per-domain budget is exhausted, if one is.
    pub fn by_domain(&self, policy: &TrapPolicy) -> Option<&'static str> {
        match self {
            _ if self.bytes >= policy.max_bytes_per_domain => Some("traps.max_bytes_per_domain"),
            _ if self.millis / 1_000 >= policy.max_seconds_per_domain => {
                Some("traps.max_seconds_per_domain")
            }
            _ => None,
        }
    }
}

/// Why a URL is not followed, or suspected to be part of a trap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trap {
    /// The budget of its host is exhausted.
    HostBudget,
    /// The budget of its domain is exhausted.
    DomainBudget,
    /// Its path has too many segments.
    Segments,
    /// One segment occurs too often in its path.
    Repeats,
    /// Its query has too many parameters.
    Parameters,
    /// The query grew from page to page.
    QueryGrowth,
    /// A walk from date to date.
    Dates,
}

impl Trap {
    /// The name used in counters.
    pub fn name(self) -> &'static str {
        match self {
            Self::HostBudget => "host-budget",
            Self::DomainBudget => "domain-budget",
            Self::Segments => "too-many-segments",
            Self::Repeats => "repeated-segments",
            Self::Parameters => "too-many-parameters",
            Self::QueryGrowth => "growing-query",
            Self::Dates => "date-series",
        }
    }
}

/// How far a link is into something that may be a trap. Inherited from the page that contains it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trail {
    /// How many times in a row the query grew.
    pub growth: u8,
    /// Number of links in a row from one date to another.
    pub walk: u16,
}

impl Trail {
    /// The trail of a link to `to` on the page `from`, whose own trail is `self`.
    #[must_use]
    pub fn extended(self, from: &Url, to: &Url) -> Self {
        let (before, after) = (parameters(from), parameters(to));
        let growth = match after {
            0 => 0,
            _ if after > before && before > 0 => self.growth.saturating_add(1),
            _ => 0,
        };
        let walk = match self::dated(to).and_then(|after| Some((self::dated(from)?, after))) {
            Some((before, after)) if before != after => self.walk.saturating_add(1),
            Some(_) => self.walk,
            None => 0,
        };
        Self { growth, walk }
    }
}

/// Whether the form of a URL and its trail alone mark it as part of a trap.
pub fn by_form(url: &Url, trail: Trail, policy: &TrapPolicy) -> Option<Trap> {
    let segments = || url.path().split('/').filter(|segment| !segment.is_empty());
    // All pairs of a bounded number are compared, which is cheap. What repeats itself until it is
    // long is one trap and not two.
    let first = || segments().take(usize::from(policy.max_segments));
    let most = first().map(|one| first().filter(|other| *other == one).count());
    if most.max().unwrap_or(0) > usize::from(policy.max_repeats) {
        return Some(Trap::Repeats);
    }
    if segments().count() > usize::from(policy.max_segments) {
        return Some(Trap::Segments);
    }
    if parameters(url) > usize::from(policy.max_parameters) {
        return Some(Trap::Parameters);
    }
    if trail.growth > policy.max_query_growth {
        return Some(Trap::QueryGrowth);
    }
    (trail.walk > policy.max_date_walk).then_some(Trap::Dates)
}

fn parameters(url: &Url) -> usize {
    let pieces = url.query().unwrap_or_default().split('&');
    pieces.filter(|piece| !piece.is_empty()).count()
}

fn dated(url: &Url) -> Option<u32> {
    Pattern::may_be_dated(url).then(|| Pattern::of(url).date)?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::parse;

    fn url(path: &str) -> Url {
        parse(&format!("http://a.example{path}")).unwrap()
    }

    #[track_caller]
    fn check(path: &str, expected: Option<Trap>) {
        let found = by_form(&url(path), Trail::default(), &TrapPolicy::default());
        assert_eq!(found, expected, "{path}");
    }

    #[test]
    fn forms_of_traps_are_known() {
        check("/a/b/c.html?x=1", None);
        check(&"/x".repeat(3), None);
        check(&"/x".repeat(4), Some(Trap::Repeats));
        check("/a/b/c/a/b/c/a/b/c/a", Some(Trap::Repeats));
        let deep: Vec<String> = (0..21).map(|n| format!("/d{n}")).collect();
        let deep = deep.concat();
        check(&deep, Some(Trap::Segments));
        check(&deep[..deep.len() - 4], None);
        let many: Vec<String> = (0..21).map(|n| format!("p{n}=1")).collect();
        check(&format!("/?{}", many.join("&")), Some(Trap::Parameters));
        check(&format!("/?{}", many[1..].join("&")), None);
        // Empty segments do not count.
        check("/a//////////////////////", None);
    }

    #[test]
    fn a_query_that_grows_and_dates_that_walk_are_followed_for_a_while() {
        let policy = TrapPolicy {
            max_query_growth: 2,
            max_date_walk: 2,
            ..TrapPolicy::default()
        };
        let follow = |paths: &[&str]| {
            let mut trail = Trail::default();
            for pair in paths.windows(2) {
                trail = trail.extended(&url(pair[0]), &url(pair[1]));
                if let Some(trap) = by_form(&url(pair[1]), trail, &policy) {
                    return Some((pair[1].to_owned(), trap));
                }
            }
            None
        };
        let grows = ["/", "/s?a=1", "/s?a=1&b=1", "/s?a=1&b=1&c=1"];
        assert_eq!(follow(&grows), None);
        let on = [&grows[..], &["/s?a=1&b=1&c=1&d=1"]].concat();
        assert_eq!(follow(&on), Some((on[4].to_owned(), Trap::QueryGrowth)));
        // A page whose query did not grow resets the count.
        for between in ["/t", "/s?b=2&a=2&c=3"] {
            let off = [&grows[..], &[between, "/s?a=1", "/s?a=1&b=1"]].concat();
            assert_eq!(follow(&off), None);
        }
        let walks = ["/", "/c/2024/05", "/c/2024/06", "/c/2024/07", "/c/2024/08"];
        assert_eq!(follow(&walks[..4]), None);
        assert_eq!(follow(&walks), Some((walks[4].to_owned(), Trap::Dates)));
        assert_eq!(
            follow(&["/c/2024/05", "/c/2024/06", "/x", "/c/2024/07", "/c/2024/08"]),
            None
        );
    }
}
