//! Host patterns, and maps from such patterns to values. A look-up takes as many steps as the
//! host's name has labels, however many patterns there are.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use ::url::Host;
use serde::{Deserialize, Serialize};

use super::HostKey;
use super::host_name::without_trailing_dot;

/// Maximum length of a name, in characters (RFC 1035, section 2.3.4: 255 octets including lengths
/// and root). Bounds the cost of a host with thousands of labels.
const MAX_NAME: usize = 253;

/// A pattern of hosts: `example.org` matches that name and all names below it, `*.example.org` only
/// the names below it, and `example.org:8080` both, at that port only. An address matches only
/// itself. A name outside ASCII stands for its form in the DNS (`bücher.example` is
/// `xn--bcher-kva.example`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostPattern {
    /// The name, spelled as in a [`HostKey`].
    name: String,
    /// Set if the name itself does not match.
    only_below: bool,
    port: Option<u16>,
}

/// The error returned for a text that is not a host pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} {reason}; write a name such as example.org, *.example.org or example.org:8080")]
pub struct PatternError {
    text: String,
    reason: &'static str,
}

impl HostPattern {
    /// Returns the name, without `*.` and port.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns `true` if only names below [`name`](Self::name) match.
    pub fn is_only_below(&self) -> bool {
        self.only_below
    }

    /// Returns `true` if the host of this name, as in the keys of rows, matches.
    pub fn matches_name(&self, host: &str) -> bool {
        HostKey::parse(host).is_some_and(|host| self.matches(&host))
    }

    /// Returns `true` if a host matches. Of many patterns, a [`HostMap`] finds those that do.
    pub fn matches(&self, host: &HostKey) -> bool {
        let is_below = host
            .name()
            .strip_suffix(&*self.name)
            .is_some_and(|rest| rest.ends_with('.'));
        let is_named = is_below || (!self.only_below && host.name() == self.name);
        is_named && self.port.is_none_or(|port| port == host.port())
    }

    /// Returns the port, if the pattern names one.
    pub fn port(&self) -> Option<u16> {
        self.port
    }
}

impl FromStr for HostPattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let refuse = |reason| PatternError {
            text: text.chars().take(MAX_NAME).collect(),
            reason,
        };
        let (only_below, rest) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        // The colons of an IPv6 address are inside brackets.
        let colon = rest.rfind(':').filter(|at| !rest[*at..].contains(']'));
        let (name, port) = match colon {
            Some(at) => (&rest[..at], Some(&rest[at + 1..])),
            None => (rest, None),
        };
        if rest.contains(['/', '@', '?', '#', '\\']) {
            return Err(refuse("contains more than a host name"));
        }
        if name.contains('*') {
            return Err(refuse("has a `*` that is not at the beginning"));
        }
        let port = port
            .map(|port| {
                port.parse()
                    .map_err(|_| refuse("has no valid port after its `:`"))
            })
            .transpose()?;
        let host = Host::parse(name).map_err(|_| refuse("is not a valid host name"))?;
        let is_name = matches!(host, Host::Domain(_));
        if only_below && !is_name {
            return Err(refuse("is an address, which has no names below it"));
        }
        let name = host.to_string();
        let name = without_trailing_dot(&name);
        // Other letters may stand for a star, such as U+FE61 (UTS #46).
        if name.is_empty() || name.ends_with('.') || name.contains('*') || name.len() > MAX_NAME {
            return Err(refuse("is not a valid host name"));
        }
        Ok(Self {
            name: name.to_owned(),
            only_below,
            port,
        })
    }
}

impl TryFrom<String> for HostPattern {
    type Error = PatternError;

    fn try_from(text: String) -> Result<Self, PatternError> {
        text.parse()
    }
}

impl From<HostPattern> for String {
    fn from(pattern: HostPattern) -> Self {
        pattern.to_string()
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.only_below { "*." } else { "" })?;
        f.write_str(&self.name)?;
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

/// A map from host patterns to values.
#[derive(Debug, Clone, PartialEq)]
pub struct HostMap<T> {
    /// The values, by name and then by port.
    names: HashMap<String, HashMap<Option<u16>, Here<T>>>,
}

/// The values at one name and port.
#[derive(Debug, Clone, PartialEq)]
struct Here<T> {
    /// The value for the name and all names below it.
    whole: Option<T>,
    /// The value for the names below it only.
    below: Option<T>,
}

impl<T> Default for HostMap<T> {
    fn default() -> Self {
        Self {
            names: HashMap::new(),
        }
    }
}

impl<T> HostMap<T> {
    /// Inserts a value and returns the previous value of the same pattern.
    pub fn insert(&mut self, pattern: &HostPattern, value: T) -> Option<T> {
        self.place(pattern).replace(value)
    }

    /// Returns the value of a pattern, inserting the default if there is none.
    pub(super) fn entry(&mut self, pattern: &HostPattern) -> &mut T
    where
        T: Default,
    {
        self.place(pattern).get_or_insert_default()
    }

    fn place(&mut self, pattern: &HostPattern) -> &mut Option<T> {
        let ports = self.names.entry(pattern.name.clone()).or_default();
        let here = ports.entry(pattern.port).or_insert(Here {
            whole: None,
            below: None,
        });
        if pattern.only_below {
            &mut here.below
        } else {
            &mut here.whole
        }
    }

    /// Returns the values of all patterns that the host matches, the most specific last: longer
    /// names after shorter ones, then patterns with a port after those without, then `*.name` after
    /// `name`.
    pub fn matching<'a, 'n>(
        &'a self,
        host: &'n HostKey,
    ) -> impl Iterator<Item = &'a T> + use<'a, 'n, T> {
        self.matching_name(host.name(), host.port())
    }

    /// Returns what [`matching`](Self::matching) returns, for a name as spelled in a [`HostKey`]
    /// and a port.
    pub(super) fn matching_name<'a, 'n>(
        &'a self,
        name: &'n str,
        port: u16,
    ) -> impl Iterator<Item = &'a T> + use<'a, 'n, T> {
        let name = if self.names.is_empty() { "" } else { name };
        name.rmatch_indices('.')
            .map(|(at, _)| &name[at + 1..])
            .chain([name])
            .take_while(|suffix| suffix.len() <= MAX_NAME)
            .filter_map(|suffix| Some((self.names.get(suffix)?, suffix.len() < name.len())))
            .flat_map(move |(ports, is_below)| {
                let here = [None, Some(port)].map(|port| ports.get(&port));
                here.into_iter().flatten().flat_map(move |here| {
                    let below = here.below.as_ref().filter(|_| is_below);
                    here.whole.iter().chain(below)
                })
            })
    }

    /// Returns `true` if the map has no values.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Iterates over all values, in no particular order.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        let here = self.names.values().flat_map(HashMap::values);
        here.flat_map(|here| here.whole.iter().chain(&here.below))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check_read(text: &str, expected: &str) {
        let pattern: HostPattern = text.parse().unwrap();
        assert_eq!(pattern.to_string(), expected, "{text}");
        assert_eq!(expected.parse(), Ok(pattern), "{text}");
    }

    #[test]
    fn patterns_are_names_as_hosts_have_them() {
        check_read("example.org", "example.org");
        check_read("*.Example.ORG.", "*.example.org");
        check_read("example.org:8080", "example.org:8080");
        check_read("*.example.org:443", "*.example.org:443");
        check_read("bücher.example", "xn--bcher-kva.example");
        check_read("uk", "uk");
        check_read("127.1", "127.0.0.1");
        check_read("[2001:DB8::1]:80", "[2001:db8::1]:80");
        check_read("[::1]", "[::1]");
    }

    fn check_refused(text: &str, expected: &str) {
        let error = text.parse::<HostPattern>().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn what_is_no_pattern_is_refused_with_the_reason() {
        check_refused("http://example.org", "more than a host name");
        check_refused("example.org/a", "more than a host name");
        check_refused("user@example.org", "more than a host name");
        check_refused("*", "a `*` that is not at");
        check_refused("*.*.org", "a `*` that is not at");
        check_refused("news.*", "a `*` that is not at");
        check_refused("example.org:", "no valid port");
        check_refused("example.org:http", "no valid port");
        check_refused("example.org:99999", "no valid port");
        check_refused("*.127.0.0.1", "has no names below it");
        for text in ["", ".", "*.", "a b", "::1", "\u{fe61}", &"a.".repeat(200)] {
            check_refused(text, "write a name such as");
        }
    }

    /// Checks which of the patterns match the host, in order.
    fn check(host: &str, patterns: &[&str], expected: &[&str]) {
        let host = HostKey::parse(host).unwrap();
        // The order of insertion does not matter.
        for reversed in [false, true] {
            let mut map = HostMap::default();
            let mut texts = patterns.to_vec();
            if reversed {
                texts.reverse();
            }
            for text in texts {
                assert_eq!(map.insert(&text.parse().unwrap(), text), None);
            }
            let found: Vec<&str> = map.matching(&host).copied().collect();
            assert_eq!(found, expected, "{host}");
            assert_eq!(map.values().count(), patterns.len());
        }
    }

    #[test]
    fn the_most_specific_pattern_comes_last() {
        let patterns = [
            "org",
            "*.org",
            "example.org",
            "*.example.org",
            "example.org:8080",
            "*.example.org:8080",
            "a.example.org",
            "ample.org",
        ];
        check("https://other.net", &patterns, &[]);
        check("https://org", &patterns, &["org"]);
        check(
            "https://example.org",
            &patterns,
            &["org", "*.org", "example.org"],
        );
        check(
            "http://b.a.example.org:8080",
            &patterns,
            &[
                "org",
                "*.org",
                "example.org",
                "*.example.org",
                "example.org:8080",
                "*.example.org:8080",
                "a.example.org",
            ],
        );
        // The scheme's default port counts as a port too.
        check("https://a.net", &["a.net:443", "a.net:80"], &["a.net:443"]);
        check("http://a.net", &["a.net:443", "a.net:80"], &["a.net:80"]);
    }

    #[test]
    fn an_address_is_only_itself() {
        let patterns = ["127.0.7.2", "127.0.7.2:81", "[::1]", "2", "7.2"];
        check("http://127.0.7.2", &patterns, &["127.0.7.2"]);
        check(
            "http://127.0.7.2:81",
            &patterns,
            &["127.0.7.2", "127.0.7.2:81"],
        );
        check("http://127.0.7.3", &patterns, &[]);
        check("http://[::1]:8080", &patterns, &["[::1]"]);
    }

    #[test]
    fn a_pattern_holds_one_value() {
        let mut map = HostMap::default();
        assert_eq!(map.insert(&"a.example".parse().unwrap(), 1), None);
        assert_eq!(map.insert(&"A.example.".parse().unwrap(), 2), Some(1));
    }

    proptest! {
        #[test]
        fn reading_never_panics_and_what_is_shown_is_read_back(text in "(\\*\\.)?\\PC{0,12}(:[0-9]{0,6})?") {
            if let Ok(pattern) = text.parse::<HostPattern>() {
                prop_assert_eq!(pattern.to_string().parse(), Ok(pattern));
            }
        }

        #[test]
        fn a_host_matches_its_own_name(host in "[a-z0-9.\\[\\]:]{1,20}") {
            if let Ok(url) = crate::url::parse(&format!("http://{host}")) {
                let host = HostKey::of(&url);
                if let Ok(pattern) = host.name().parse() {
                    let mut map = HostMap::default();
                    map.insert(&pattern, ());
                    prop_assert_eq!(map.matching(&host).count(), 1, "{}", host);
                }
            }
        }
    }
}
