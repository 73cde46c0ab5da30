//! Hosts that are one under several names: two whose pages at the same paths are equal, as far as
//! they were visited.

use serde::{Deserialize, Serialize};

use super::variants::{AliasMode, LearnPolicy};
use crate::url::{HostKey, Url};

/// What a host's row keeps of hosts like it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Twins {
    /// Pages that were judged.
    pub judged: u32,
    /// Other hosts, and how many of the pages are equal to theirs at the same path.
    equal: Vec<(String, u32)>,
    /// The host that is visited in its place.
    pub alias_of: Option<String>,
    /// Pages visited since then that were equal to the other's.
    pub checked: u32,
    /// And those that were not.
    pub differed: u32,
    /// It was taken for another, and was none: it will not be again.
    pub is_own: bool,
}

/// Other hosts that are counted.
const OTHERS: usize = 8;
/// Of a hundred pages, how many must be equal.
const EQUAL: u32 = 95;
/// How many times the visits of a lesson must agree.
const VISITS: u32 = 4;
/// One of so many URLs of an alias is visited.
const SAMPLE: u64 = 10;

impl Twins {
    /// A page was equal to one of that host, at the same path.
    pub fn note_equal(&mut self, host: &HostKey) {
        let at = self
            .equal
            .iter()
            .position(|(other, _)| other == host.as_str());
        match at {
            Some(at) => self.equal[at].1 += 1,
            None if self.equal.len() < OTHERS => self.equal.push((host.as_str().to_owned(), 1)),
            // Whoever is equal nearly always is not lost by it.
            None => self.equal.iter_mut().for_each(|(_, count)| *count -= 1),
        }
        self.equal.retain(|(_, count)| *count > 0);
    }

    /// How many pages are equal to those of a host.
    pub fn equal_to(&self, host: &HostKey) -> u32 {
        let found = self.equal.iter().find(|(other, _)| other == host.as_str());
        found.map_or(0, |(_, count)| *count)
    }

    /// Whether so many pages are equal to that host's that it may stand for this one.
    pub fn is_like(&self, host: &HostKey, policy: LearnPolicy) -> bool {
        self.judged >= policy.visits.saturating_mul(VISITS)
            && u64::from(self.equal_to(host)) * 100 >= u64::from(self.judged) * u64::from(EQUAL)
    }

    /// Takes a visit of an alias into account. True if it is none after all.
    pub fn check(&mut self, is_equal: bool) -> bool {
        const FEW: u32 = 3;
        match is_equal {
            true => self.checked = self.checked.saturating_add(1),
            false => self.differed = self.differed.saturating_add(1),
        }
        self.differed >= FEW && self.differed > self.checked / (100 / (100 - EQUAL))
    }

    /// From now on it stands for itself.
    pub fn take_back(&mut self) {
        (self.alias_of, self.is_own) = (None, true);
    }
}

/// Whether one host may be taken for the other by the mode.
pub fn may_be_one(a: &HostKey, b: &HostKey, mode: AliasMode) -> bool {
    match mode {
        AliasMode::Off => false,
        AliasMode::Names => named_port(a) == named_port(b) && bare(a.name()) == bare(b.name()),
        AliasMode::Mirrors => true,
    }
}

/// The port, where it is not the scheme's own.
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

/// Which of two hosts that are like one another stands for both: https before http, then the one
/// of which more is known, then the name that comes first.
pub fn is_preferred(a: (&HostKey, u32), b: (&HostKey, u32)) -> bool {
    let rank = |(host, judged): (&HostKey, u32)| (host.as_str().starts_with("https:"), judged);
    rank(a) > rank(b) || rank(a) == rank(b) && a.0 < b.0
}

/// The same URL at another host.
pub fn counterpart(url: &Url, host: &HostKey) -> Option<Url> {
    let mut other = host.url();
    other.set_path(url.path());
    other.set_query(url.query());
    (HostKey::of(&other) == *host).then_some(other)
}

/// Whether a URL of an alias is visited all the same, by its key.
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
