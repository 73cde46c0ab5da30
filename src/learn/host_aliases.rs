//! Host aliases: hosts that serve the same pages under several names. Two hosts are taken for one
//! when nearly all pages that were visited at the same paths of both are equal.

use serde::{Deserialize, Serialize};

use super::variants::{AliasMode, LearnPolicy};
use crate::url::{HostKey, Url};

/// Evidence that other hosts serve the same pages, kept in the host's row.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Twins {
    /// Pages of this host that were judged.
    pub judged: u32,
    /// Other hosts, each with the number of pages that are equal to its page at the same path. At
    /// most [`OTHERS`].
    equal: Vec<(String, u32)>,
    /// The host that is visited instead of this one; `None` if this host is no alias.
    pub alias_of: Option<String>,
    /// Pages visited since it became an alias that were equal to the other host's.
    pub checked: u32,
    /// Pages visited since then that differed.
    pub differed: u32,
    /// Whether it was taken for an alias by mistake; it will not be taken for one again.
    pub is_own: bool,
}

/// Maximum number of other hosts that are counted.
const OTHERS: usize = 8;
/// Percentage of pages that must be equal.
const EQUAL: u32 = 95;
/// How many times [`LearnPolicy::visits`] must have been judged before a host becomes an alias.
const VISITS: u32 = 4;
/// One URL in so many of an alias is visited, to check it.
const SAMPLE: u64 = 10;

impl Twins {
    /// Counts a page that is equal to the page of `host` at the same path.
    pub fn note_equal(&mut self, host: &HostKey) {
        let at = self
            .equal
            .iter()
            .position(|(other, _)| other == host.as_str());
        match at {
            Some(at) => self.equal[at].1 += 1,
            None if self.equal.len() < OTHERS => self.equal.push((host.as_str().to_owned(), 1)),
            // As in Misra and Gries' algorithm: a host that is equal nearly always keeps a count.
            None => self.equal.iter_mut().for_each(|(_, count)| *count -= 1),
        }
        self.equal.retain(|(_, count)| *count > 0);
    }

    /// Returns how many pages are equal to those of `host`.
    pub fn equal_to(&self, host: &HostKey) -> u32 {
        let found = self.equal.iter().find(|(other, _)| other == host.as_str());
        found.map_or(0, |(_, count)| *count)
    }

    /// Whether enough pages are equal to those of `host` for it to stand for this one.
    pub fn is_like(&self, host: &HostKey, policy: LearnPolicy) -> bool {
        self.judged >= policy.visits.saturating_mul(VISITS)
            && u64::from(self.equal_to(host)) * 100 >= u64::from(self.judged) * u64::from(EQUAL)
    }

    /// Counts a visit of an alias. Returns true if the host turns out not to be an alias.
    pub fn check(&mut self, is_equal: bool) -> bool {
        const FEW: u32 = 3;
        if is_equal {
            self.checked = self.checked.saturating_add(1);
        } else {
            self.differed = self.differed.saturating_add(1);
        }
        self.differed >= FEW && self.differed > self.checked / (100 / (100 - EQUAL))
    }

    /// Revokes the alias: from now on the host is visited by itself.
    pub fn take_back(&mut self) {
        (self.alias_of, self.is_own) = (None, true);
    }
}

/// Whether `mode` allows one host to be taken for the other.
pub fn may_be_one(a: &HostKey, b: &HostKey, mode: AliasMode) -> bool {
    match mode {
        AliasMode::Off => false,
        AliasMode::Names => named_port(a) == named_port(b) && bare(a.name()) == bare(b.name()),
        AliasMode::Mirrors => true,
    }
}

/// The port, if it is not the default port of the scheme.
fn named_port(host: &HostKey) -> Option<u16> {
    let own = if host.as_str().starts_with("https:") {
        443
    } else {
        80
    };
    (host.port() != own).then(|| host.port())
}

fn bare(name: &str) -> &str {
    name.strip_prefix("www.").unwrap_or(name)
}

/// Whether `a` rather than `b` stands for both hosts, each given with its number of judged pages:
/// https is preferred to http, then the host with more judged pages, then the name that sorts
/// first.
pub fn is_preferred(a: (&HostKey, u32), b: (&HostKey, u32)) -> bool {
    let rank = |(host, judged): (&HostKey, u32)| (host.as_str().starts_with("https:"), judged);
    rank(a) > rank(b) || rank(a) == rank(b) && a.0 < b.0
}

/// The URL with the same path and query at another host.
pub fn counterpart(url: &Url, host: &HostKey) -> Option<Url> {
    let mut other = host.url();
    other.set_path(url.path());
    other.set_query(url.query());
    (HostKey::of(&other) == *host).then_some(other)
}

/// Whether a URL of an alias is visited all the same, decided by its key.
pub fn is_sampled(key: u64) -> bool {
    key.is_multiple_of(SAMPLE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::parse;

    fn host(text: &str) -> HostKey {
        HostKey::parse(text).unwrap()
    }

    #[test]
    fn names_of_one_host_are_known() {
        let check = |a: &str, b: &str, expected: bool| {
            let (a, b) = (host(a), host(b));
            assert_eq!(may_be_one(&a, &b, AliasMode::Names), expected, "{a} {b}");
            assert!(may_be_one(&a, &b, AliasMode::Mirrors));
            assert!(!may_be_one(&a, &b, AliasMode::Off));
        };
        check("http://a.example", "https://a.example", true);
        check("http://www.a.example", "https://a.example", true);
        check("http://a.example:81", "http://www.a.example:81", true);
        check("http://a.example:81", "http://a.example", false);
        check("http://a.example", "http://b.example", false);
        check("http://a.example", "http://m.a.example", false);
    }

    #[test]
    fn one_of_two_is_preferred() {
        let (secure, plain) = (host("https://b.example"), host("http://a.example"));
        assert!(is_preferred((&secure, 1), (&plain, 9)));
        assert!(!is_preferred((&plain, 9), (&secure, 1)));
        let other = host("http://b.example");
        assert!(is_preferred((&other, 2), (&plain, 1)));
        assert!(is_preferred((&plain, 1), (&other, 1)));
        assert!(!is_preferred((&other, 1), (&plain, 1)));
    }

    #[test]
    fn a_host_is_like_another_by_nearly_all_of_its_pages() {
        let policy = LearnPolicy {
            visits: 5,
            ..LearnPolicy::default()
        };
        let other = host("http://b.example");
        let mut twins = Twins::default();
        for page in 0..20 {
            assert!(!twins.is_like(&other, policy));
            twins.judged += 1;
            if page > 0 {
                twins.note_equal(&other);
            }
        }
        assert!(twins.is_like(&other, policy));
        twins.judged += 1;
        assert!(!twins.is_like(&other, policy));
    }

    #[test]
    fn others_are_counted_within_bounds() {
        let mut twins = Twins::default();
        let other = host("http://other.example");
        for n in 0..100 {
            twins.note_equal(&host(&format!("http://h{n}.example")));
            twins.note_equal(&other);
            twins.note_equal(&other);
        }
        assert!(twins.equal.len() <= OTHERS);
        assert!(twins.equal_to(&other) > 50);
    }

    #[test]
    fn an_alias_that_differs_is_none() {
        let mut twins = Twins::default();
        let differs: Vec<bool> = [true, false, false, true, false]
            .map(|it| twins.check(it))
            .to_vec();
        assert_eq!(differs, [false, false, false, false, true]);
        let mut twins = Twins::default();
        assert!((0..400).all(|page| !twins.check(page % 21 != 20)));
    }

    #[test]
    fn the_same_page_is_found_at_another_host() {
        let url = parse("http://www.a.example:81/x/y?z=1").unwrap();
        let other = counterpart(&url, &host("https://a.example")).unwrap();
        assert_eq!(other.as_str(), "https://a.example/x/y?z=1");
    }
}
