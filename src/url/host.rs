//! Hosts, the unit of politeness, and registrable domains, the unit of scope. Both are made from a
//! parsed URL, stored as text and read back from it. Names are never resolved here.

use std::sync::Arc;

use ::url::{Host, Position, Url};

use super::host_name::without_trailing_dot;

/// Scheme, host name and port: the unit of robots.txt (RFC 9309, section 2.3) and of the crawl
/// delay.
///
/// Examples are `https://example.org` and `http://[::1]:8080`. The port is present only if it is
/// not the scheme's default. There is never a user name, and never a dot after the name, because a
/// host addressed under both spellings would be visited twice as often.
///
/// Cloning is cheap (a reference count). Keys compare by their text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostKey(Arc<str>);

impl HostKey {
    /// Returns the host key of an http or https `url`, as returned by [`parse`](super::parse) and
    /// [`join`](super::join). For a URL without a host, the host name is `invalid`, which never
    /// exists in the DNS (RFC 2606).
    pub fn of(url: &Url) -> Self {
        let Some(host) = url.host_str() else {
            return Self("http://invalid".into());
        };
        let named = without_trailing_dot(host);
        if url.scheme().len() + "://".len() == url[..Position::BeforeHost].len()
            && named.len() == host.len()
        {
            return Self(url[..Position::BeforePath].into());
        }
        let port = &url[Position::AfterHost..Position::BeforePath];
        Self([url.scheme(), "://", named, port].concat().into())
    }

    /// Parses a host key from the store. Returns `None` unless `text` is exactly what
    /// [`as_str`](Self::as_str) returns for a key.
    pub fn parse(text: &str) -> Option<Self> {
        let host_key = Self::of(&super::parse(text).ok()?);
        (host_key.as_str() == text).then_some(host_key)
    }

    /// Returns the key as text: a URL without a path.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the host's name or address, without scheme and port. An IPv6 address keeps its
    /// brackets.
    pub fn name(&self) -> &str {
        self.name_and_port().0
    }

    /// Returns the port, also if it is the scheme's default.
    pub fn port(&self) -> u16 {
        let own = if self.0.starts_with("https:") {
            443
        } else {
            80
        };
        self.name_and_port().1.parse().unwrap_or(own)
    }

    /// Splits the authority into name and port; the port is empty if it is the scheme's default.
    fn name_and_port(&self) -> (&str, &str) {
        let authority = self.0.split_once("://").map_or("", |(_, rest)| rest);
        // The colons inside an IPv6 address do not introduce a port.
        let address = authority.find(']').unwrap_or(0);
        match authority[address..].split_once(':') {
            Some((name, port)) => (&authority[..address + name.len()], port),
            None => (authority, ""),
        }
    }

    /// Returns the URL of the host's root, for example `https://example.org/`.
    ///
    /// # Panics
    ///
    /// Never: a key is made from the parts of a parsed URL, which parse again.
    pub fn url(&self) -> Url {
        Url::parse(&self.0).expect("a host key is the beginning of a parsed URL, up to the path")
    }

    /// Returns the URL of the host's robots.txt (RFC 9309, section 2.3).
    pub fn robots_url(&self) -> Url {
        let mut url = self.url();
        url.set_path("/robots.txt");
        url
    }
}

impl std::fmt::Display for HostKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The registrable domain of a URL (public suffix plus one label), or the address of an IP host:
/// the unit of scope and of domain budgets.
///
/// Suffixes follow the Public Suffix List including its private section, so each `*.github.io` is a
/// domain of its own. A name that is itself a suffix, or has a single label, is its own domain.
/// Cloning is cheap (a reference count).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site(Arc<str>);

impl Site {
    /// Returns the registrable domain of `url`.
    pub fn of(url: &Url) -> Self {
        let host = without_trailing_dot(url.host_str().unwrap_or_default());
        Self(match url.host() {
            Some(Host::Domain(_)) => psl::domain_str(host).unwrap_or(host).into(),
            _ => host.into(),
        })
    }

    /// Returns the registrable domain of a host by its name, as in a URL; an address is its own.
    pub fn of_name(host: &str) -> Self {
        let host = without_trailing_dot(host);
        let is_address = host.starts_with('[') || host.parse::<std::net::Ipv4Addr>().is_ok();
        let domain = (!is_address).then(|| psl::domain_str(host)).flatten();
        Self(domain.unwrap_or(host).into())
    }

    /// Returns the domain or address as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check_key(url: &str, expected: &str) {
        let host_key = HostKey::of(&Url::parse(url).unwrap());
        assert_eq!(host_key.as_str(), expected, "{url}");
        assert_eq!(
            HostKey::parse(expected),
            Some(host_key.clone()),
            "{expected}"
        );
        assert_eq!(HostKey::of(&host_key.url()), host_key);
        assert_eq!(host_key.url().as_str(), format!("{expected}/"));
    }

    #[test]
    fn a_host_key_is_scheme_host_and_port() {
        check_key("http://a.example/x?y", "http://a.example");
        check_key("https://A.example:443", "https://a.example");
        check_key("https://a.example:80/", "https://a.example:80");
        check_key("http://u:p@a.example:8080/", "http://a.example:8080");
        check_key("http://a.example./", "http://a.example");
        check_key("http://a.example.:81/", "http://a.example:81");
        check_key("http://foo.09../", "http://foo.09..");
        check_key("http://[2001:DB8::1]:8080/", "http://[2001:db8::1]:8080");
        check_key("http://127.1/", "http://127.0.0.1");
        check_key("http://localhost", "http://localhost");
        check_key("http://bücher.example/", "http://xn--bcher-kva.example");
        check_key("data:x", "http://invalid");
    }

    #[test]
    fn a_host_key_tells_its_name_and_port() {
        let check = |key: &str, name: &str, port| {
            let host_key = HostKey::parse(key).unwrap();
            assert_eq!((host_key.name(), host_key.port()), (name, port), "{key}");
        };
        check("http://a.example", "a.example", 80);
        check("https://a.example", "a.example", 443);
        check("https://a.example:80", "a.example", 80);
        check("http://[2001:db8::1]:8080", "[2001:db8::1]", 8080);
        check("http://[::1]", "[::1]", 80);
        check("http://127.0.0.1:81", "127.0.0.1", 81);
    }

    #[test]
    fn robots_txt_is_at_the_root() {
        let host_key = HostKey::parse("http://[::1]:8080").unwrap();
        assert_eq!(
            host_key.robots_url().as_str(),
            "http://[::1]:8080/robots.txt"
        );
    }

    #[test]
    fn only_a_key_is_read_back_as_a_key() {
        for text in [
            "",
            "a.example",
            "http://a.example/",
            "http://A.example",
            "http://a.example:80",
            "http://a.example.",
            "ftp://a.example",
            "http://u@a.example",
            " http://a.example",
            "http://a.example?x",
            "http://127.1",
            "null",
        ] {
            assert_eq!(HostKey::parse(text), None, "{text}");
        }
    }

    fn check_site(url: &str, expected: &str) {
        assert_eq!(
            Site::of(&Url::parse(url).unwrap()).as_str(),
            expected,
            "{url}"
        );
    }

    #[test]
    fn a_site_is_what_can_be_registered() {
        check_site("http://a.b.example.com/", "example.com");
        check_site("https://example.com.:8080/", "example.com");
        check_site("http://www.shop.example.co.uk/", "example.co.uk");
        check_site("http://co.uk/", "co.uk");
        check_site("http://somebody.github.io/", "somebody.github.io");
        check_site("http://a.b.unknown-suffix/", "b.unknown-suffix");
        check_site("http://localhost/", "localhost");
        check_site("http://127.0.0.1:81/", "127.0.0.1");
        check_site("http://[::1]:81/", "[::1]");
        check_site("http://www.bücher.de/", "xn--bcher-kva.de");
    }

    proptest! {
        #[test]
        fn every_host_has_a_key_that_is_read_back(host in "\\PC{0,12}\\.?|[0-9a-fx.]{1,9}|([a-z0-9]{1,3}\\.){1,4}") {
            if let Ok(url) = crate::url::parse(&format!("http://{host}")) {
                let host_key = HostKey::of(&url);
                prop_assert_eq!(HostKey::of(&host_key.url()), host_key.clone());
                prop_assert_eq!(HostKey::parse(host_key.as_str()), Some(host_key));
                prop_assert!(!Site::of(&url).as_str().is_empty());
            }
        }
    }
}
