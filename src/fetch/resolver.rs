//! Resolves names to addresses, either by a resolver that caches answers, including negative ones,
//! as long as their TTL says, or by the system's resolver. Which addresses are allowed is the
//! guard's decision.
//!
//! The cache is bounded, and so is the number of concurrent look-ups. The system's hosts file has
//! precedence.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig,
    ResolverOpts,
};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::Name;
use hickory_resolver::system_conf::read_system_conf;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

/// Maximum number of cached answers; a host has two, for its IPv4 and IPv6 addresses. Takes some 10
/// MB at most.
const KEPT: u64 = 20_000;
/// Maximum time for which addresses are cached, whatever their TTL: hosts that move are found
/// within a day.
const MAX_TTL: Duration = Duration::from_hours(24);
/// Maximum time for which a negative answer is cached (RFC 2308, section 5: one to three hours).
const MAX_NEGATIVE_TTL: Duration = Duration::from_hours(1);
/// Port of name servers.
const PORT: u16 = 53;

/// How names are resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DnsOptions {
    /// Which resolver is used.
    pub resolver: ResolverKind,
    /// Name servers to ask; if empty, those that the system uses.
    pub nameservers: Vec<Nameserver>,
    /// Maximum number of concurrent look-ups.
    pub max_lookups: usize,
}

impl Default for DnsOptions {
    fn default() -> Self {
        Self {
            resolver: ResolverKind::default(),
            nameservers: Vec::new(),
            max_lookups: 32,
        }
    }
}

/// The kinds of resolvers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResolverKind {
    /// gleaner's own, which caches answers as long as they are valid.
    #[default]
    Caching,
    /// The system's (`getaddrinfo`), which knows other sources of names besides the DNS.
    System,
}

/// The address of a name server, as `192.0.2.1` or `192.0.2.1:5353`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Nameserver(pub SocketAddr);

impl FromStr for Nameserver {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let plain = text.parse().map(|ip: IpAddr| SocketAddr::new(ip, PORT));
        plain.or_else(|_| text.parse()).map(Self).map_err(|_| {
            format!("{text:?} is not the address of a name server; write one such as 192.0.2.1 or [::1]:5353")
        })
    }
}

impl TryFrom<String> for Nameserver {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Nameserver> for String {
    fn from(nameserver: Nameserver) -> Self {
        match nameserver.0.port() {
            PORT => nameserver.0.ip().to_string(),
            _ => nameserver.0.to_string(),
        }
    }
}

/// Resolves names.
#[derive(Debug)]
pub(super) struct Resolver {
    /// The caching resolver; `None` for the system's.
    caching: Option<TokioResolver>,
    turns: Semaphore,
    /// The reactor on which it was made, if it was made on one. Names are looked up there, whoever
    /// asks, so that a reactor that is kept busy keeps nobody else from an address.
    home: Option<Handle>,
}

impl Resolver {
    /// Creates a resolver. It gives up early enough before `connect_timeout` to tell a name that
    /// cannot be resolved from a host that does not respond.
    pub(super) fn new(options: &DnsOptions, connect_timeout: Duration) -> Self {
        let caching = match options.resolver {
            ResolverKind::System => None,
            ResolverKind::Caching => caching(&options.nameservers, connect_timeout)
                .inspect_err(|error| {
                    tracing::warn!(error, "cannot set up the caching resolver; names are resolved by the system and not cached");
                })
                .ok(),
        };
        Self {
            caching,
            turns: Semaphore::new(options.max_lookups.clamp(1, Semaphore::MAX_PERMITS)),
            home: Handle::try_current().ok(),
        }
    }

    /// Returns the addresses of a name, with port 0; an empty list if it has none.
    pub(super) async fn lookup(&self, name: &str) -> Result<Vec<SocketAddr>, NotResolved> {
        // The semaphore is never closed; a closed one would merely not bound.
        let _turn = self.turns.acquire().await;
        let failed = |error: &dyn fmt::Display| {
            NotResolved::new(format!("{name} cannot be resolved: {error}"))
        };
        let Some(caching) = &self.caching else {
            let found = tokio::net::lookup_host((name, 0)).await;
            return Ok(found.map_err(|error| failed(&error))?.collect());
        };
        let mut asked = Name::from_str_relaxed(name).map_err(|error| failed(&error))?;
        // A name of several labels is complete; the system's search list is for short names.
        if name.trim_end_matches('.').contains('.') {
            asked.set_fqdn(true);
        }
        let caching = caching.clone();
        let lookup = async move { caching.lookup_ip(asked).await };
        let found = match &self.home {
            None => lookup.await,
            Some(home) => home.spawn(lookup).await.map_err(|error| failed(&error))?,
        };
        match found {
            Ok(found) => Ok(found.iter().map(|ip| SocketAddr::new(ip, 0)).collect()),
            Err(error) if error.is_no_records_found() => Ok(Vec::new()),
            Err(error) => Err(failed(&error)),
        }
    }
}

fn caching(nameservers: &[Nameserver], connect_timeout: Duration) -> Result<TokioResolver, String> {
    let (config, system) = match nameservers {
        [] => read_system_conf().map_err(|error| format!("/etc/resolv.conf: {error}"))?,
        _ => {
            let servers = nameservers.iter().map(|server| name_server(server.0));
            let config = ResolverConfig::from_parts(None, Vec::new(), servers.collect());
            (config, ResolverOpts::default())
        }
    };
    let mut builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
    let options = builder.options_mut();
    *options = system;
    options.cache_size = KEPT;
    options.positive_max_ttl = Some(MAX_TTL);
    options.negative_max_ttl = Some(MAX_NEGATIVE_TTL);
    options.use_hosts_file = ResolveHosts::Always;
    // Asking for IPv4 and IPv6 together costs no time where IPv6 does not work, and nothing where
    // it does.
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    options.attempts = options.attempts.clamp(1, 2);
    options.timeout = options.timeout.min(connect_timeout / 4);
    builder.build().map_err(|error| error.to_string())
}

fn name_server(address: SocketAddr) -> NameServerConfig {
    let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
        connection.port = address.port();
        connection
    });
    NameServerConfig::new(address.ip(), true, connections.into())
}

/// The error returned for a name that could not be resolved.
#[derive(Debug)]
pub(super) struct NotResolved {
    message: String,
    pub(super) finding: Finding,
}

/// What is known of a name that could not be resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finding {
    /// Nothing.
    Unknown,
    /// The DNS says that there is no such name, or none with an address. It will say so again.
    Nothing,
    /// It has an address by now, which was not kept free for the visit.
    Late,
}

impl NotResolved {
    pub(super) fn new(message: String) -> Self {
        Self {
            message,
            finding: Finding::Unknown,
        }
    }

    /// The error for a name that has no address.
    pub(super) fn nothing(name: &str) -> Self {
        Self {
            message: format!("{name} has no address"),
            finding: Finding::Nothing,
        }
    }

    /// The error for a name that has an address too late.
    pub(super) fn late(name: &str) -> Self {
        Self {
            message: format!("{name} had no address at first"),
            finding: Finding::Late,
        }
    }
}

impl fmt::Display for NotResolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for NotResolved {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_servers_are_read_as_they_are_written() {
        let check = |text: &str, shown: Option<&str>| {
            let read = text.parse::<Nameserver>().ok().map(String::from);
            assert_eq!(read.as_deref(), shown, "{text}");
        };
        check("192.0.2.1", Some("192.0.2.1"));
        check("192.0.2.1:53", Some("192.0.2.1"));
        check("192.0.2.1:5353", Some("192.0.2.1:5353"));
        check("[::1]:5353", Some("[::1]:5353"));
        check("::1", Some("::1"));
        check("dns.example", None);
        check("", None);
    }

    #[tokio::test]
    async fn both_resolvers_know_the_hosts_file() {
        for resolver in [ResolverKind::Caching, ResolverKind::System] {
            let options = DnsOptions {
                resolver,
                // Nobody listens there: the hosts file is asked first.
                nameservers: vec!["127.0.0.1:9".parse().unwrap()],
                ..DnsOptions::default()
            };
            let resolver = Resolver::new(&options, Duration::from_secs(10));
            let found = resolver.lookup("localhost").await.unwrap();
            assert!(found.iter().all(|address| address.ip().is_loopback()));
            assert!(!found.is_empty());
        }
    }
}
