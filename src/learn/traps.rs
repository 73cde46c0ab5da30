//! Traps: URLs without end that lead to nothing new. Some are told by the form of a URL, others by
//! how the pages visited so far turned out.
//!
//! Everything here is a count, never a time, so that the same crawl refuses the same URLs. Pages
//! that repeat pages of *another* host point to a mirror and do not count against this host.

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
    /// Maximum number of URLs admitted per host (scheme, name, port).
    pub max_pages_per_host: u64,
    /// Maximum number of URLs admitted per registrable domain.
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
    /// Maximum number of path segments. Heritrix also refuses more than 20
    /// (`TooManyPathSegmentsDecideRule`).
    pub max_segments: u16,
    /// Maximum number of times that one segment may occur in a path.
    pub max_repeats: u16,
    /// Maximum number of query parameters.
    pub max_parameters: u16,
    /// How many times in a row a link may add parameters to the query of the page that contains it.
    pub max_query_growth: u8,
    /// Maximum number of dates for which one URL pattern is followed while its pages say nothing
    /// new but the date.
    pub max_dates: u16,
    /// Maximum number of links followed in a row from one date to another, whatever the pages say.
    pub max_date_walk: u16,
    /// Percentage of the last pages of a host, or of one URL pattern, that may repeat pages of the
    /// same host before it is demoted.
    pub max_duplicates: u8,
    /// URLs that are still admitted for a demoted host or pattern.
    pub demoted_pages: u32,
}

impl Default for TrapPolicy {
    fn default() -> Self {
        Self {
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
            max_dates: 100,
            max_date_walk: 100,
            max_duplicates: 95,
            demoted_pages: 100,
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

/// What was spent on a host or a domain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Number of URLs admitted.
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

/// Why a URL is taken for part of a trap.
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
    /// A series of dates whose pages say nothing but the date.
    Dates,
    /// Its host or its URL pattern leads to duplicates.
    Duplicates,
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
            Self::Duplicates => "duplicates",
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
            _ => self.growth,
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
    if segments().count() > usize::from(policy.max_segments) {
        return Some(Trap::Segments);
    }
    // There are at most `max_segments` segments here, so comparing all pairs is cheap.
    let most = segments().map(|one| segments().filter(|other| *other == one).count());
    if most.max().unwrap_or(0) > usize::from(policy.max_repeats) {
        return Some(Trap::Repeats);
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

/// Which of the last pages were repetitions, one bit per page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Recent {
    bits: u64,
    count: u8,
}

/// Number of pages that must have been visited before anything is demoted.
const SAMPLE: u8 = 64;

impl Recent {
    fn push(&mut self, is_repetition: bool) {
        self.bits = self.bits << 1 | u64::from(is_repetition);
        self.count = (self.count + 1).min(SAMPLE);
    }

    /// The percentage of repetitions; `None` before [`SAMPLE`] pages were visited.
    fn percent(self) -> Option<u8> {
        (self.count == SAMPLE).then_some((self.bits.count_ones() * 100 / u32::from(SAMPLE)) as u8)
    }
}

/// How a visited page counts for its host and its URL pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageOutcome {
    /// It is new.
    New,
    /// It repeats a page of the same host. The value is the low bits of that page's document
    /// number.
    RepeatOfOwn(u32),
    /// It repeats a page of another host. The value is the low bits of that page's document number.
    RepeatOfOther(u32),
}

/// How the last pages of a host, or of one of its URL patterns, turned out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeWindow {
    recent: Recent,
    /// The originals that were repeated last. A mirror repeats each page of another host only once.
    originals: Vec<u32>,
    /// Number of URLs admitted since it was demoted; `None` if it is not demoted.
    demoted: Option<u32>,
}

/// A demoted host or pattern recovers when its percentage of repetitions is this much below the
/// bound.
const RECOVERY: u8 = 10;

/// Maximum number of originals that are remembered.
const ORIGINALS: usize = 64;

impl OutcomeWindow {
    /// Counts a visit. Returns the percentage of repetitions if this visit demotes the host or
    /// pattern.
    pub fn note(&mut self, outcome: PageOutcome, policy: &TrapPolicy) -> Option<u8> {
        let is_repetition = match outcome {
            PageOutcome::New => false,
            PageOutcome::RepeatOfOwn(_) => true,
            PageOutcome::RepeatOfOther(original) => self.originals.contains(&original),
        };
        if let PageOutcome::RepeatOfOwn(original) | PageOutcome::RepeatOfOther(original) = outcome
            && !self.originals.contains(&original)
        {
            remember(&mut self.originals, original, ORIGINALS);
        }
        self.recent.push(is_repetition);
        let percent = self.recent.percent()?;
        if percent <= policy.max_duplicates {
            // A recovery takes several new pages, not a single one.
            if percent + RECOVERY <= policy.max_duplicates {
                self.demoted = None;
            }
            return None;
        }
        let is_new = self.demoted.is_none();
        self.demoted.get_or_insert(0);
        is_new.then_some(percent)
    }

    /// Whether it is demoted.
    pub fn is_demoted(&self) -> bool {
        self.demoted.is_some()
    }

    /// Whether no repetition was counted.
    pub fn is_blank(&self) -> bool {
        self.recent.bits == 0
    }

    /// Whether one more URL is admitted. A demoted host or pattern may have `share` times the URLs
    /// of [`TrapPolicy::demoted_pages`].
    pub fn allows(&self, policy: &TrapPolicy, share: u32) -> bool {
        let most = policy.demoted_pages.saturating_mul(share);
        self.demoted.is_none_or(|admitted| admitted < most)
    }

    /// Counts a URL that was admitted.
    pub fn admitted(&mut self) {
        if let Some(admitted) = &mut self.demoted {
            *admitted = admitted.saturating_add(1);
        }
    }
}

/// What is known of one URL pattern of a host: its row in `Learned`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatternState {
    /// The pattern, as in [`Pattern::text`].
    pub text: String,
    /// How its pages turned out.
    pub outcomes: OutcomeWindow,
    /// Dates admitted since one of its pages last said something new.
    dates: Vec<u32>,
    /// [Skeletons](super::skeleton) of its last pages.
    skeletons: Vec<u32>,
}

/// Maximum number of dates remembered, whatever the policy says.
const MAX_DATES: usize = 1_000;
/// Maximum number of skeletons remembered: enough for a calendar that names twelve months and seven
/// weekdays in any language.
const SKELETONS: usize = 128;

impl PatternState {
    /// A pattern of which nothing is known yet.
    pub fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            ..Self::default()
        }
    }

    /// Whether a URL with this date is admitted.
    pub fn allows_date(&self, date: u32, policy: &TrapPolicy) -> bool {
        let max = usize::from(policy.max_dates).min(MAX_DATES);
        self.dates.len() < max || self.dates.contains(&date)
    }

    /// Records that a URL with this date was admitted.
    pub fn admitted_date(&mut self, date: u32) {
        if !self.dates.contains(&date) && self.dates.len() < MAX_DATES {
            self.dates.push(date);
        }
    }

    /// Records the skeleton of a page. If it is new, the dates are forgotten; returns true if there
    /// were any.
    pub fn said(&mut self, skeleton: u32) -> bool {
        if self.skeletons.contains(&skeleton) {
            return false;
        }
        remember(&mut self.skeletons, skeleton, SKELETONS);
        let any = !self.dates.is_empty();
        self.dates.clear();
        any
    }
}

/// Appends an item to a list of at most `most` items and drops the oldest one if the list is full.
pub(super) fn remember<T>(list: &mut Vec<T>, item: T, most: usize) {
    if list.len() >= most {
        list.remove(0);
    }
    list.push(item);
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
        let grows = ["/", "/s?a=1", "/s?a=1&b=1", "/s?b=2&a=2", "/s?a=1&b=1&c=1"];
        assert_eq!(follow(&grows), None);
        let on = [&grows[..], &["/s?a=1&b=1&c=1&d=1"]].concat();
        assert_eq!(follow(&on), Some((on[5].to_owned(), Trap::QueryGrowth)));
        // A page without a query resets the count.
        let off = [&grows[..], &["/t", "/s?a=1", "/s?a=1&b=1"]].concat();
        assert_eq!(follow(&off), None);
        let walks = ["/", "/c/2024/05", "/c/2024/06", "/c/2024/07", "/c/2024/08"];
        assert_eq!(follow(&walks[..4]), None);
        assert_eq!(follow(&walks), Some((walks[4].to_owned(), Trap::Dates)));
        assert_eq!(
            follow(&["/c/2024/05", "/c/2024/06", "/x", "/c/2024/07", "/c/2024/08"]),
            None
        );
    }

    #[test]
    fn dates_end_where_nothing_is_said_but_dates() {
        let policy = TrapPolicy {
            max_dates: 3,
            ..TrapPolicy::default()
        };
        let mut pattern = PatternState::new("/c/{date}");
        for date in [1, 2, 3, 1] {
            assert!(pattern.allows_date(date, &policy));
            pattern.admitted_date(date);
        }
        assert!(!pattern.allows_date(4, &policy));
        assert!(pattern.allows_date(2, &policy));
        assert!(pattern.said(77));
        assert!(pattern.allows_date(4, &policy));
        for date in 4..7 {
            pattern.admitted_date(date);
        }
        assert!(!pattern.said(77));
        assert!(!pattern.allows_date(7, &policy));
    }

    #[test]
    fn who_repeats_its_own_pages_loses_its_budget_and_a_mirror_does_not() {
        let policy = TrapPolicy {
            demoted_pages: 2,
            ..TrapPolicy::default()
        };
        let mut trap = OutcomeWindow::default();
        let mut mirror = OutcomeWindow::default();
        let mut trap_on_a_mirror = OutcomeWindow::default();
        for page in 0..64 {
            let outcome = if page < 2 {
                PageOutcome::New
            } else {
                PageOutcome::RepeatOfOwn(page % 2)
            };
            assert_eq!(trap.note(outcome, &policy), (page == 63).then_some(96));
            assert_eq!(mirror.note(PageOutcome::RepeatOfOther(page), &policy), None);
            let percent = trap_on_a_mirror.note(PageOutcome::RepeatOfOther(page % 2), &policy);
            assert_eq!(percent, (page == 63).then_some(96));
        }
        assert!(trap.is_demoted() && !mirror.is_demoted());
        for _ in 0..2 {
            assert!(trap.allows(&policy, 1));
            trap.admitted();
            mirror.admitted();
        }
        assert!(!trap.allows(&policy, 1) && trap.allows(&policy, 2) && mirror.allows(&policy, 1));
        // A demotion is reported once, and revoked when new pages are found.
        assert_eq!(trap.note(PageOutcome::RepeatOfOwn(1), &policy), None);
        for page in 0..9 {
            assert!(trap.is_demoted(), "{page}");
            trap.note(PageOutcome::New, &policy);
        }
        assert!(!trap.is_demoted());
    }
}
