//! Patterns of pages, which name a set of hosts, a set of paths, or both; and maps from such
//! patterns to values.

use std::fmt;
use std::str::FromStr;

use ::url::{Position, Url};
use serde::{Deserialize, Serialize};

use super::{HostKey, HostMap, HostPattern, PatternError};

/// Maximum length of a path pattern, in bytes. Bounds the cost of a match.
const MAX_PATH: usize = 1_024;

/// A pattern of pages: a host pattern followed by a path pattern, of which one may be missing.
///
/// `example.org` matches every page of these hosts, `example.org/print/` the pages whose path
/// begins with `/print/`, and `/print/` such pages of any host. Paths, including the query, match
/// as in robots.txt (RFC 9309, section 2.2.3): `*` stands for anything, and a final `$` for the
/// end.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PagePattern {
    host: Option<HostPattern>,
    path: Option<PathPattern>,
}

/// A pattern of paths; it begins with a slash.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct PathPattern(String);

/// The error returned for a text that is not a page pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PagePatternError {
    /// The text before the first slash is not a host pattern.
    #[error(transparent)]
    Host(#[from] PatternError),
    /// The text names neither hosts nor paths, or its path is too long.
    #[error(
        "{0:?} is not a page pattern; write hosts such as example.org, paths such as /print/, or both, as in example.org/print/"
    )]
    Empty(String),
}

impl PagePattern {
    /// Returns the host pattern, if the pattern has one.
    pub fn host(&self) -> Option<&HostPattern> {
        self.host.as_ref()
    }

    /// Returns `true` if the pattern matches all pages of its hosts.
    pub fn is_whole_host(&self) -> bool {
        self.path.is_none()
    }
}

impl FromStr for PagePattern {
    type Err = PagePatternError;

    fn from_str(text: &str) -> Result<Self, PagePatternError> {
        let refuse = || PagePatternError::Empty(text.chars().take(MAX_PATH).collect());
        if text.contains("://") {
            // The scheme would be read as a host with a port.
            return Err(refuse());
        }
        let at = text.find('/').unwrap_or(text.len());
        let (host, path) = text.split_at(at);
        if path.len() > MAX_PATH || text.is_empty() {
            return Err(refuse());
        }
        Ok(Self {
            host: (!host.is_empty()).then(|| host.parse()).transpose()?,
            path: (!path.is_empty()).then(|| PathPattern(path.to_owned())),
        })
    }
}

impl TryFrom<String> for PagePattern {
    type Error = PagePatternError;

    fn try_from(text: String) -> Result<Self, PagePatternError> {
        text.parse()
    }
}

impl From<PagePattern> for String {
    fn from(pattern: PagePattern) -> Self {
        pattern.to_string()
    }
}

impl fmt::Display for PagePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(host) = &self.host {
            host.fmt(f)?;
        }
        f.write_str(self.path.as_ref().map_or("", |path| &path.0))
    }
}

impl PathPattern {
    /// Tells whether the pattern matches a path with its query. Backtracks to the last `*` only, so
    /// the cost is bounded by the product of the two lengths.
    fn matches(&self, path: &str) -> bool {
        let (pattern, is_anchored) = match self.0.strip_suffix('$') {
            Some(pattern) => (pattern.as_bytes(), true),
            None => (self.0.as_bytes(), false),
        };
        let path = path.as_bytes();
        let (mut at, mut from) = (0, 0);
        // Position behind the last `*`, and where in the path it was last tried.
        let mut star: Option<(usize, usize)> = None;
        loop {
            match (pattern.get(from), path.get(at)) {
                (Some(b'*'), _) => {
                    from += 1;
                    star = Some((from, at));
                }
                (Some(own), Some(byte)) if own == byte => {
                    from += 1;
                    at += 1;
                }
                (None, None) => return true,
                (None, Some(_)) if !is_anchored => return true,
                (_, None) => return false,
                _ => {
                    let Some((behind, tried)) = star else {
                        return false;
                    };
                    from = behind;
                    at = tried + 1;
                    star = Some((behind, at));
                }
            }
        }
    }
}

/// A map from page patterns to values.
#[derive(Debug, Clone, PartialEq)]
pub struct PageMap<T> {
    hosts: HostMap<Paths<T>>,
    /// The values of patterns that name no host.
    anywhere: Paths<T>,
}

/// The values of one host pattern, shortest path pattern first.
type Paths<T> = Vec<(Option<PathPattern>, T)>;

impl<T> Default for PageMap<T> {
    fn default() -> Self {
        Self {
            hosts: HostMap::default(),
            anywhere: Vec::new(),
        }
    }
}

impl<T> PageMap<T> {
    /// Inserts a value and returns the previous value of the same pattern.
    pub fn insert(&mut self, pattern: &PagePattern, value: T) -> Option<T> {
        let paths = match &pattern.host {
            Some(host) => self.hosts.entry(host),
            None => &mut self.anywhere,
        };
        if let Some((_, old)) = paths.iter_mut().find(|(path, _)| *path == pattern.path) {
            return Some(std::mem::replace(old, value));
        }
        paths.push((pattern.path.clone(), value));
        // The sort is stable: of two patterns of the same length, the later one stays last and
        // wins.
        paths.sort_by_key(|(path, _)| path.as_ref().map_or(0, |path| path.0.len()));
        None
    }

    /// Returns `true` if the map has no values.
    pub fn is_empty(&self) -> bool {
        self.anywhere.is_empty() && self.hosts.values().next().is_none()
    }

    /// Returns the values of all patterns that `url` matches, the most specific last: patterns with
    /// a host after those without, ordered as by [`HostMap::matching`]; then by length of the path
    /// pattern; then by time of insertion.
    pub fn matching<'a>(&'a self, url: &'a Url) -> Vec<&'a T> {
        if self.is_empty() {
            return Vec::new();
        }
        let path = &url[Position::BeforePath..Position::AfterQuery];
        let host = HostKey::of(url);
        let by_host = self.hosts.matching(&host);
        std::iter::once(&self.anywhere)
            .chain(by_host)
            .flatten()
            .filter(|(pattern, _)| pattern.as_ref().is_none_or(|it| it.matches(path)))
            .map(|(_, value)| value)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_pattern_is_hosts_paths_or_both() {
        let check = |text: &str, expected: &str| {
            let pattern: PagePattern = text.parse().unwrap();
            assert_eq!(pattern.to_string(), expected);
        };
        check("Example.org", "example.org");
        check("*.example.org/print/", "*.example.org/print/");
        check("/*?page=$", "/*?page=$");
        check("[::1]:80/a", "[::1]:80/a");
        for text in ["", "http://example.org/", "a b/c", "example.*/"] {
            assert!(text.parse::<PagePattern>().is_err(), "{text}");
        }
    }

    fn check_path(pattern: &str, path: &str, expected: bool) {
        let pattern = PathPattern(pattern.to_owned());
        assert_eq!(pattern.matches(path), expected, "{pattern:?} {path}");
    }

    #[test]
    fn paths_match_as_in_robots_txt() {
        check_path("/", "/", true);
        check_path("/print/", "/print/a?b", true);
        check_path("/print/", "/printer", false);
        check_path("/*/print$", "/a/b/print", true);
        check_path("/*/print$", "/a/print/", false);
        check_path("/*?page=", "/list?page=2", true);
        check_path("/a*b*c", "/axxbyyc", true);
        check_path("/a*b*c", "/axxcyyb", false);
        check_path("/*.pdf$", "/a.pdf.pdf", true);
    }

    #[test]
    fn the_most_specific_pattern_comes_last() {
        let patterns = [
            "/",
            "example.org",
            "/long/path/",
            "*.example.org/b/",
            "example.org/b/",
        ];
        let check = |url: &str, expected: &[&str]| {
            for reversed in [false, true] {
                let mut patterns = patterns.to_vec();
                if reversed {
                    patterns.reverse();
                }
                let mut map = PageMap::default();
                for text in patterns {
                    assert_eq!(map.insert(&text.parse().unwrap(), text), None);
                }
                let url = Url::parse(url).unwrap();
                let found: Vec<&str> = map.matching(&url).into_iter().copied().collect();
                assert_eq!(found, expected, "{url}");
            }
        };
        check("http://other.net/a", &["/"]);
        check("http://other.net/long/path/", &["/", "/long/path/"]);
        check(
            "http://example.org/b/c",
            &["/", "example.org", "example.org/b/"],
        );
        check(
            "http://www.example.org/b/c",
            &["/", "example.org", "example.org/b/", "*.example.org/b/"],
        );
    }

    #[test]
    fn a_pattern_holds_one_value() {
        let mut map = PageMap::default();
        assert_eq!(map.insert(&"/a".parse().unwrap(), 1), None);
        assert_eq!(map.insert(&"/a".parse().unwrap(), 2), Some(1));
        assert_eq!(map.insert(&"a.example/a".parse().unwrap(), 1), None);
        assert_eq!(map.insert(&"A.example/a".parse().unwrap(), 2), Some(1));
    }

    proptest! {
        /// The result of a naive recursive matcher.
        #[test]
        fn matching_is_what_trying_every_way_finds(pattern in "/[ab*]{0,6}\\$?", path in "/[ab]{0,7}") {
            fn tried(pattern: &[u8], path: &[u8]) -> bool {
                match (pattern, path) {
                    ([], _) | ([b'$'], []) => true,
                    ([b'*', rest @ ..], _) => (0..=path.len()).any(|skip| tried(rest, &path[skip..])),
                    ([own, rest @ ..], [byte, after @ ..]) => own == byte && tried(rest, after),
                    _ => false,
                }
            }
            let expected = tried(pattern.as_bytes(), path.as_bytes());
            prop_assert_eq!(PathPattern(pattern).matches(&path), expected);
        }

        #[test]
        fn reading_never_panics_and_what_is_shown_is_read_back(text in "\\PC{0,16}") {
            if let Ok(pattern) = text.parse::<PagePattern>() {
                prop_assert_eq!(pattern.to_string().parse(), Ok(pattern));
            }
        }
    }
}
