//! Admission: whether a URL that was found is queued.

use super::{MovedSeeds, Policies, Scope, ScopeKind, SeedSettings};
use crate::learn::{Trail, Trap};
use crate::url::{self, HostKey, Site, Url};

/// Limits of the crawl that are the same for all hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Number of links that are followed out of the scope, one after the other.
    pub extra_hops: u8,
    /// Where a seed that redirects takes the scope along to.
    pub moved_seeds: MovedSeeds,
    /// Maximum number of redirects followed in a row (RFC 9110 sets no number; Heritrix and
    /// browsers use 5 to 20).
    pub max_redirects: u8,
    /// Maximum length of a URL in bytes; longer ones are not followed (RFC 9110, section 4.1
    /// recommends supporting 8,000).
    pub max_url_length: usize,
    /// Maximum number of sitemaps that a host may name.
    pub max_sitemaps: u32,
    /// Maximum number of URLs that are deferred at a time.
    pub max_deferred: u64,
}

/// A URL to be admitted or refused.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// The URL as first seen.
    pub url: &'a str,
    /// Number of links followed from a seed.
    pub depth: u16,
    /// Number of redirects followed in a row.
    pub hops: u8,
    /// The trail of the page `from`, or of the URL itself if that is `None`.
    pub trail: Trail,
    /// The page that contains the link; `None` if `trail` belongs to the URL itself.
    pub from: Option<&'a Url>,
    /// Number of links out of the scope that lead to the URL, if it is out of it; 0 if that is not
    /// known.
    pub beyond: u8,
    /// Where the URL comes from.
    pub provenance: Provenance,
    /// What the seed from which it was found says, if it has settings of its own.
    pub seed: Option<&'a SeedSettings>,
}

/// Where a URL comes from. Decides which checks apply to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provenance {
    /// From the user. It is in scope by definition, and no pattern applies.
    Given,
    /// A sitemap named by a host of the crawl. It is in scope by definition but may be excluded.
    Named,
    /// Found by the crawl: a link, a redirect or an entry of a sitemap.
    Linked,
}

/// The decision about a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// It is queued at this host, with this trail.
    Admitted(Url, HostKey, Trail),
    /// It is another shard's, which is told of it.
    Sent,
    /// It was admitted before.
    Known,
    /// A person had it forgotten.
    Forgotten,
    /// It is outside the scope of the crawl.
    OutOfScope,
    /// It matches an exclude pattern.
    Excluded,
    /// It matches none of the include patterns.
    NotIncluded,
    /// It is too many links away from a seed.
    TooDeep,
    /// It took too many redirects in a row.
    TooManyRedirects,
    /// It is too long, or not a URL that can be requested.
    Malformed,
    /// A budget of its host or domain is used up.
    Trapped(Trap),
    /// URLs like it have said nothing so far: it is kept for later.
    Deferred,
    /// The page or the link asks not to be followed.
    Nofollow,
    /// The page with the link is in a language that is not wanted.
    OtherLanguage,
    /// The page has more links than are kept per page.
    LinksCut,
    /// The host that names it has named the maximum number of sitemaps.
    TooManySitemaps,
    /// The host that names it has named sitemaps on too many hosts of other sites.
    TooManySitemapHosts,
    /// It is a sitemap behind more indexes than are followed.
    TooManyIndexes,
    /// It is a requisite of a page that has the maximum number of them.
    TooManyRequisites,
}

/// Returns `true` if a link gets the answer of this name by its own page and the settings alone, so
/// that reading the page again tells how many do.
pub fn is_by_page(name: &str) -> bool {
    const NAMES: [&str; 8] = [
        "out-of-scope",
        "excluded",
        "not-included",
        "too-deep",
        "malformed",
        "nofollow",
        "other-language",
        "links-cut",
    ];
    NAMES.contains(&name)
}

impl Admission {
    /// The name used in counters.
    pub fn name(&self) -> &'static str {
        match self {
            Admission::Admitted(..) => "admitted",
            Admission::Sent => "sent",
            Admission::Known => "known",
            Admission::Forgotten => "forgotten",
            Admission::OutOfScope => "out-of-scope",
            Admission::Excluded => "excluded",
            Admission::NotIncluded => "not-included",
            Admission::TooDeep => "too-deep",
            Admission::TooManyRedirects => "too-many-redirects",
            Admission::Malformed => "malformed",
            Admission::Trapped(trap) => trap.name(),
            Admission::Deferred => "deferred",
            Admission::Nofollow => "nofollow",
            Admission::OtherLanguage => "other-language",
            Admission::LinksCut => "links-cut",
            Admission::TooManySitemaps => "too-many-sitemaps",
            Admission::TooManySitemapHosts => "too-many-sitemap-hosts",
            Admission::TooManyIndexes => "too-many-indexes",
            Admission::TooManyRequisites => "too-many-requisites",
        }
    }
}

/// Decides about a candidate that is not known, by itself. What was learned about its host may
/// still lead to its refusal.
pub fn admit(
    candidate: &Candidate<'_>,
    scope: &Scope,
    limits: &Limits,
    policies: &Policies,
) -> Admission {
    if candidate.hops > limits.max_redirects {
        return Admission::TooManyRedirects;
    }
    if candidate.url.len() > limits.max_url_length {
        return Admission::Malformed;
    }
    let Ok(url) = url::parse(candidate.url) else {
        return Admission::Malformed;
    };
    let host = HostKey::of(&url);
    let policy = policies.of(&host);
    let is_near = (1..=limits.extra_hops).contains(&candidate.beyond);
    let own = candidate.seed;
    let is_anywhere = own.is_some_and(|seed| seed.scope == Some(ScopeKind::Any));
    let is_bound = candidate.provenance == Provenance::Linked && !is_near && !is_anywhere;
    if is_bound && !scope.admits(&url) {
        return Admission::OutOfScope;
    }
    let max_depth = own.and_then(|seed| seed.depth).or(policy.crawl.max_depth);
    if max_depth.is_some_and(|max| candidate.depth > max) {
        return Admission::TooDeep;
    }
    if candidate.provenance != Provenance::Given
        && policy.crawl.exclude.find(candidate.url).is_some()
    {
        return Admission::Excluded;
    }
    if candidate.provenance == Provenance::Linked
        && !policy.crawl.include.is_empty()
        && policy.crawl.include.find(candidate.url).is_none()
    {
        return Admission::NotIncluded;
    }
    let trail = match candidate.from {
        // What grew at another site did not grow here.
        Some(from) if from.host() != url.host() && Site::of(from) != Site::of(&url) => {
            Trail::default()
        }
        Some(from) => candidate.trail.extended(from, &url),
        None => candidate.trail,
    };
    Admission::Admitted(url, host, trail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontier::{CrawlOverrides, Overrides, Policy, Politeness};
    use crate::url::UrlPatterns;

    fn limits() -> Limits {
        Limits {
            extra_hops: 1,
            moved_seeds: MovedSeeds::Never,
            max_redirects: 3,
            max_url_length: 60,
            max_sitemaps: 1,
            max_deferred: 100,
        }
    }

    /// A depth of two; `c.example` takes seeds only.
    fn policies() -> Policies {
        let patterns = |text: &str| UrlPatterns::new(&[text.parse().unwrap()]).unwrap();
        let mut policy = Policy::new(Politeness::none());
        policy.crawl.max_depth = Some(2);
        policy.crawl.exclude = patterns("*/private/*");
        let of = |crawl| Overrides {
            crawl,
            ..Overrides::default()
        };
        let chosen = of(CrawlOverrides {
            include: Some(patterns("*/docs/*")),
            exclude: Some(UrlPatterns::default()),
            ..CrawlOverrides::default()
        });
        let none = of(CrawlOverrides {
            max_depth: Some(Some(0)),
            ..CrawlOverrides::default()
        });
        Policies::new(
            policy,
            [
                ("c.example".parse().unwrap(), none),
                ("d.example".parse().unwrap(), chosen),
            ],
        )
    }

    /// A scope of two hosts, and a way to ask.
    struct Gate {
        scope: Scope,
        policies: Policies,
    }

    impl Gate {
        fn new() -> Self {
            let mut scope = Scope::new(ScopeKind::Host, MovedSeeds::Never);
            scope.add_seed(&url::parse("http://a.example/").unwrap(), None);
            scope.add_seed(&url::parse("http://d.example/").unwrap(), None);
            Self {
                scope,
                policies: policies(),
            }
        }

        fn ask<'a>(&self, url: &'a str, change: impl FnOnce(&mut Candidate<'a>)) -> &'static str {
            let mut candidate = Candidate {
                url,
                depth: 1,
                hops: 0,
                trail: Trail::default(),
                from: None,
                beyond: 0,
                provenance: Provenance::Linked,
                seed: None,
            };
            change(&mut candidate);
            admit(&candidate, &self.scope, &limits(), &self.policies).name()
        }
    }

    #[test]
    fn patterns_choose_among_links() {
        let gate = Gate::new();
        let given = |asked: &mut Candidate<'_>| asked.provenance = Provenance::Given;
        let named = |asked: &mut Candidate<'_>| asked.provenance = Provenance::Named;
        let a = "http://a.example/private/x";
        assert_eq!(gate.ask(a, |_| {}), "excluded");
        assert_eq!(gate.ask(a, named), "excluded");
        assert_eq!(gate.ask(a, given), "admitted");
        assert_eq!(
            gate.ask("http://b.example/private/x", |_| {}),
            "out-of-scope"
        );
        let d = "http://d.example/private/x";
        assert_eq!(gate.ask(d, |_| {}), "not-included");
        assert_eq!(gate.ask(d, named), "admitted");
        assert_eq!(
            gate.ask("http://d.example/docs/private/x", |_| {}),
            "admitted"
        );
    }

    #[test]
    fn links_out_of_the_scope_are_followed_as_far_as_is_said() {
        let gate = Gate::new();
        let at = |beyond| move |asked: &mut Candidate<'_>| asked.beyond = beyond;
        assert_eq!(gate.ask("http://a.example/", at(0)), "admitted");
        assert_eq!(gate.ask("http://a.example/", at(7)), "admitted");
        assert_eq!(gate.ask("http://b.example/", at(0)), "out-of-scope");
        assert_eq!(gate.ask("http://b.example/", at(1)), "admitted");
        assert_eq!(gate.ask("http://b.example/private/", at(1)), "excluded");
        assert_eq!(gate.ask("http://b.example/", at(2)), "out-of-scope");
    }

    #[test]
    fn what_a_seed_says_comes_before_what_the_settings_say() {
        let gate = Gate::new();
        let ask = |url: &str, depth, (own, scope)| {
            let settings = SeedSettings {
                depth: own,
                scope,
                tag: None,
            };
            gate.ask(url, |asked| {
                asked.depth = depth;
                asked.seed = Some(&settings);
            })
        };
        let (a, b) = ("http://a.example/x", "http://b.example/x");
        assert_eq!(ask(a, 3, (None, None)), "too-deep");
        assert_eq!(ask(a, 3, (Some(3), None)), "admitted");
        assert_eq!(ask(a, 1, (Some(0), None)), "too-deep");
        assert_eq!(ask(b, 1, (None, None)), "out-of-scope");
        assert_eq!(ask(b, 1, (None, Some(ScopeKind::Any))), "admitted");
        assert_eq!(ask(b, 1, (None, Some(ScopeKind::Domain))), "out-of-scope");
        assert_eq!(
            ask(
                "http://a.example/private/x",
                1,
                (None, Some(ScopeKind::Any))
            ),
            "excluded"
        );
    }

    #[test]
    fn a_trail_ends_where_another_site_begins() {
        let gate = Gate::new();
        let from = url::parse("http://a.example/s?a=1").unwrap();
        let trail = Trail { growth: 5, walk: 0 };
        let trail_at = |url: &str| {
            let candidate = Candidate {
                url,
                depth: 1,
                hops: 0,
                trail,
                from: Some(&from),
                beyond: 0,
                provenance: Provenance::Named,
                seed: None,
            };
            match admit(&candidate, &gate.scope, &limits(), &gate.policies) {
                Admission::Admitted(_, _, trail) => trail.growth,
                answer => panic!("{answer:?}"),
            }
        };
        assert_eq!(trail_at("http://a.example/s?a=1&b=2"), 6);
        assert_eq!(trail_at("http://www.a.example/s?a=1&b=2"), 6);
        assert_eq!(trail_at("http://d.example/s?a=1&b=2"), 0);
    }

    #[test]
    fn depth_scope_redirects_and_form_are_asked_in_turn() {
        let gate = Gate::new();
        assert_eq!(
            gate.ask("http://a.example/deep", |asked| asked.depth = 3),
            "too-deep"
        );
        assert_eq!(
            gate.ask("http://a.example/deep", |asked| asked.depth = 2),
            "admitted"
        );
        let deep = |asked: &mut Candidate<'_>| asked.depth = 3;
        assert_eq!(gate.ask("http://b.example/", deep), "out-of-scope");
        let named = |asked: &mut Candidate<'_>| asked.provenance = Provenance::Named;
        assert_eq!(gate.ask("http://c.example/", named), "too-deep");
        let seed =
            |asked: &mut Candidate<'_>| (asked.provenance, asked.depth) = (Provenance::Given, 0);
        assert_eq!(gate.ask("http://c.example/", seed), "admitted");
        assert_eq!(gate.ask("http://b.example/", |_| {}), "out-of-scope");
        assert_eq!(
            gate.ask("http://b.example/", |asked| asked.provenance =
                Provenance::Given),
            "admitted"
        );
        assert_eq!(
            gate.ask("http://a.example/r", |asked| asked.hops = 4),
            "too-many-redirects"
        );
        assert_eq!(
            gate.ask("http://a.example/r", |asked| asked.hops = 3),
            "admitted"
        );
        let long = format!("http://a.example/{}", "x".repeat(60));
        assert_eq!(gate.ask(&long, |_| {}), "malformed");
        assert_eq!(gate.ask("mailto:x@a.example", |_| {}), "malformed");
        // Its form makes it a suspect, which is no reason to refuse it.
        assert_eq!(gate.ask("http://a.example/x/x/x/x", |_| {}), "admitted");
    }
}
