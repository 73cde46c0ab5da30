//! Addresses of host names from the configuration. They take precedence over the DNS, like curl's
//! `--resolve`, for hosts that no DNS knows and for test servers on their own ports.
//!
//! An address may have a port, which is then used whatever port a URL has. Such an address is one
//! place that the user wrote down, like a literal address in a seed, and implies consent to contact
//! it. The guard checks an address without a port like one from the DNS.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use url::Host;

/// Host names and their addresses; in a configuration, a table of lists. Cheap to clone; empty by
/// default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Table", into = "Table")]
pub struct NamedHosts(Arc<BTreeMap<String, Vec<HostAddress>>>);

type Table = BTreeMap<String, Vec<HostAddress>>;

impl TryFrom<Table> for NamedHosts {
    type Error = HostsError;

    fn try_from(table: Table) -> Result<Self, HostsError> {
        Self::new(table)
    }
}

impl From<NamedHosts> for Table {
    fn from(hosts: NamedHosts) -> Self {
        Arc::unwrap_or_clone(hosts.0)
    }
}

impl NamedHosts {
    /// Builds the table. Names may be spelled in any way that a URL allows; wildcards are refused.
    pub fn new(
        hosts: impl IntoIterator<Item = (String, Vec<HostAddress>)>,
    ) -> Result<Self, HostsError> {
        let mut named = BTreeMap::new();
        for (given, addresses) in hosts {
            let Ok(Host::Domain(name)) = Host::parse(&given) else {
                return Err(HostsError::Name(given));
            };
            if addresses.is_empty() {
                return Err(HostsError::NoAddress(given));
            }
            let with_port = addresses.iter().filter(|it| it.port.is_some()).count();
            if with_port != 0 && with_port != addresses.len() {
                return Err(HostsError::SomePorts(given));
            }
            let name = name.trim_end_matches('.').to_owned();
            if named.insert(name, addresses).is_some() {
                return Err(HostsError::Twice(given));
            }
        }
        Ok(Self(Arc::new(named)))
    }

    /// Returns the addresses of a name; `None` if the DNS decides.
    pub fn addresses(&self, name: &str) -> Option<&[HostAddress]> {
        let name = name.trim_end_matches('.');
        // Names in URLs are in lower case.
        self.0.get(name).map(Vec::as_slice)
    }

    /// Returns whether the addresses of a name have ports.
    pub fn has_ports(&self, name: &str) -> bool {
        let first = self.addresses(name).and_then(<[_]>::first);
        first.is_some_and(|address| address.port.is_some())
    }
}

/// An address of a name, written as `192.0.2.1`, `192.0.2.1:8080`, `2001:db8::1` or
/// `[2001:db8::1]:8080`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostAddress {
    /// The address.
    pub ip: IpAddr,
    /// The port to connect to; `None` for the URL's.
    pub port: Option<u16>,
}

impl HostAddress {
    /// Returns the address as resolvers do: port 0 stands for the port of the URL.
    pub(super) fn resolved(self) -> SocketAddr {
        SocketAddr::new(self.ip, self.port.unwrap_or(0))
    }
}

impl From<SocketAddr> for HostAddress {
    fn from(address: SocketAddr) -> Self {
        Self {
            ip: address.ip(),
            port: Some(address.port()),
        }
    }
}

impl FromStr for HostAddress {
    type Err = HostsError;

    fn from_str(text: &str) -> Result<Self, HostsError> {
        let without_port = text.parse().map(|ip| Self { ip, port: None });
        let with_port = || text.parse::<SocketAddr>().ok().map(Self::from);
        without_port
            .ok()
            .or_else(with_port)
            .filter(|address| address.port != Some(0))
            .ok_or_else(|| HostsError::Address(text.to_owned()))
    }
}

impl TryFrom<String> for HostAddress {
    type Error = HostsError;

    fn try_from(text: String) -> Result<Self, HostsError> {
        text.parse()
    }
}

impl From<HostAddress> for String {
    fn from(address: HostAddress) -> Self {
        address.to_string()
    }
}

impl fmt::Display for HostAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => SocketAddr::new(self.ip, port).fmt(f),
            None => self.ip.fmt(f),
        }
    }
}

/// Why names and addresses cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostsError {
    /// Not a name of a host.
    #[error("{0:?} is not a host name; give it as in a URL, such as wiki.example")]
    Name(String),
    /// One name in two spellings.
    #[error("{0:?} is given twice; give all its addresses in one list")]
    Twice(String),
    /// A name without addresses.
    #[error("{0:?} has no address; give at least one")]
    NoAddress(String),
    /// Addresses with and without a port, so that the URL's port applies to only some of them.
    #[error("{0:?} has addresses with and without a port; give all of them one, or none")]
    SomePorts(String),
    /// Not an address.
    #[error("{0:?} is not an IP address, nor one with a port; such as 10.0.0.5 or [fd00::5]:8080")]
    Address(String),
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::fetch::{FailureClass, FetchOptions, Fetcher, Guard, Outcome};
    use crate::url::parse;

    fn hosts(list: &[(&str, &[&str])]) -> Result<NamedHosts, HostsError> {
        NamedHosts::new(list.iter().map(|(name, addresses)| {
            let addresses = addresses.iter().map(|it| it.parse().expect("it is one"));
            ((*name).to_owned(), addresses.collect())
        }))
    }

    #[test]
    fn addresses_are_read_as_they_are_written() {
        for text in ["10.0.0.1", "10.0.0.1:81", "fd00::1", "[fd00::1]:81"] {
            let address: HostAddress = text.parse().unwrap();
            assert_eq!(address.to_string(), text);
        }
        for text in ["", "example.org", "10.0.0.1:", "10.0.0.1:0", "[fd00::1]"] {
            assert!(text.parse::<HostAddress>().is_err(), "{text}");
        }
    }

    #[test]
    fn names_are_found_in_every_spelling_and_doubts_refused() {
        let named = hosts(&[
            ("Wiki.Example.", &["10.0.0.1"]),
            ("bücher.example", &["::1"]),
        ])
        .unwrap();
        for name in ["wiki.example", "wiki.example.", "xn--bcher-kva.example"] {
            assert!(named.addresses(name).is_some(), "{name}");
        }
        assert_eq!(named.addresses("a.wiki.example"), None);
        let refused = |list| hosts(list).unwrap_err();
        assert_eq!(
            refused(&[("a.example", &["::1"]), ("A.example", &["::1"])]),
            HostsError::Twice("A.example".to_owned())
        );
        for name in ["10.0.0.1", "[::1]", "a b", "", "a.example:80"] {
            let refused = hosts(&[(name, &["::1"])]).unwrap_err();
            assert_eq!(refused, HostsError::Name(name.to_owned()));
        }
        let name = || "a.example".to_owned();
        assert_eq!(
            refused(&[("a.example", &[])]),
            HostsError::NoAddress(name())
        );
        let mixed: &[&str] = &["::1", "[::1]:81"];
        assert_eq!(
            refused(&[("a.example", mixed)]),
            HostsError::SomePorts(name())
        );
    }

    fn fetcher(hosts: NamedHosts) -> Fetcher {
        let options = FetchOptions {
            hosts,
            ..FetchOptions::new("test")
        };
        let guard = Guard::new(&options);
        Fetcher::new(options, Arc::new(guard)).expect("the options are sound")
    }

    /// Answers each request with its own head.
    async fn echo(listener: TcpListener) {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = vec![0; 2_000];
            let read = stream.read(&mut head).await.unwrap_or(0);
            let answer =
                format!("HTTP/1.1 200 OK\r\ncontent-length: {read}\r\nconnection: close\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.write_all(&head[..read]).await;
        }
    }

    #[tokio::test]
    async fn a_port_of_its_own_is_connected_to_whatever_the_url_says() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(echo(listener));
        let fetcher = fetcher(hosts(&[("journal.example", &[&address.to_string()])]).unwrap());
        for (url, host) in [
            ("http://journal.example/a", "journal.example"),
            ("http://journal.example:1/a", "journal.example:1"),
            ("http://JOURNAL.example./a", "journal.example."),
        ] {
            match fetcher.fetch(&parse(url).unwrap()).await.0 {
                Outcome::Exchange(exchange) => {
                    let head = String::from_utf8_lossy(&exchange.body).into_owned();
                    assert!(head.starts_with("GET /a HTTP/1.1\r\n"), "{head}");
                    assert!(head.contains(&format!("host: {host}\r\n")), "{head}");
                    assert_eq!(exchange.remote, Some(address));
                }
                Outcome::Failed(failure) => panic!("{url}: {failure:?}"),
            }
        }
    }

    #[tokio::test]
    async fn an_address_without_port_is_no_consent() {
        let fetcher = fetcher(
            hosts(&[
                ("inner.example", &["127.0.0.1"]),
                ("localhost", &["127.0.0.1"]),
            ])
            .unwrap(),
        );
        for url in ["http://inner.example:9/", "http://localhost:9/"] {
            match fetcher.fetch(&parse(url).unwrap()).await.0 {
                Outcome::Failed(failure) => assert_eq!(failure.class, FailureClass::Guard, "{url}"),
                Outcome::Exchange(exchange) => panic!("{url}: {exchange:?}"),
            }
        }
    }
}
