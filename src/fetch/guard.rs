//! The SSRF guard: decides which addresses may be connected to. By default only public ones are
//! allowed, so that no page can make the crawler read what is behind a firewall.
//!
//! Literal addresses are checked before the request, names after their resolution: the resolver
//! returns allowed addresses only, so the address that was checked is the one that is connected to.
//! A fetch that waited for one address of its host gets that address from the resolver, or none.
//! A private literal address or `localhost` that the user gave as a seed is consent for that host
//! and port, and so is an address with a port that the user configured for a name. Networks that
//! the user allows are treated as public.
//!
//! Where a proxy resolves names, only literal addresses and names of this machine can be checked;
//! where other names lead is up to the proxy. The proxy's own name is resolved for the proxy alone,
//! by [`ProxyResolver`].

use std::collections::HashSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, PoisonError, RwLock};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::Host;

use super::resolver::{NotResolved, Resolver};
use super::{FetchOptions, NamedHosts, Network, Proxy};
use crate::url::Url;

/// The error type of reqwest's resolver interface.
type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A host and port, to which the user can consent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Authority(String);

impl Authority {
    /// Returns host and port of `url`.
    pub fn of(url: &Url) -> Self {
        let host = url.host_str().unwrap_or_default().trim_end_matches('.');
        Self(format!(
            "{host}:{}",
            url.port_or_known_default().unwrap_or(0)
        ))
    }

    /// Returns the text to store.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Creates a value from stored text.
    pub fn from_kept(text: &str) -> Self {
        Self(text.to_owned())
    }
}

/// Decides which addresses may be connected to.
#[derive(Debug)]
pub struct Guard {
    allow_private: bool,
    /// Non-public networks that are allowed.
    allow_networks: Vec<Network>,
    /// Set if the user agent contains a contact. Without one, only hosts that the user consented to
    /// are visited.
    has_contact: bool,
    hosts: NamedHosts,
    /// Written when seeds are added, read at every request; never held across an await.
    consented: RwLock<HashSet<Authority>>,
}

impl Guard {
    /// Creates a guard. It allows public addresses if the user agent contains a contact, private
    /// ones if `allow_private` is set, those of `allow_networks`, and the names that `hosts` gives
    /// an address with a port.
    pub fn new(options: &FetchOptions) -> Self {
        Self {
            allow_private: options.allow_private,
            allow_networks: options.allow_networks.clone(),
            has_contact: Self::has_contact(&options.user_agent),
            hosts: options.hosts.clone(),
            consented: RwLock::default(),
        }
    }

    /// Tells whether a user agent contains a contact: a URL or an e-mail address.
    pub fn has_contact(user_agent: &str) -> bool {
        user_agent.contains("://") || user_agent.contains('@')
    }

    /// Returns the consent that a seed given by the user implies: none, unless it names `localhost`
    /// or a private address literally, or a port of another protocol.
    pub fn consent_of(seed: &Url) -> Option<Authority> {
        (is_private(seed) || is_bad_port(seed)).then(|| Authority::of(seed))
    }

    /// Allows one host and port.
    pub fn consent(&self, authority: Authority) {
        self.consented
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(authority);
    }

    /// Checks whether a URL may be requested, as far as that is known before its name is resolved.
    ///
    /// # Errors
    ///
    /// Returns the reason for the refusal.
    pub fn check(&self, url: &Url) -> Result<(), Refused> {
        // The owner of a visited host must be able to contact the crawler's operator; this machine
        // is exempt.
        if !self.has_contact && !is_private(url) && !self.is_own_name(url) {
            return Err(Refused::NoContact);
        }
        let address = |ip| (!self.allows(ip)).then_some(Refused::Address(ip));
        let refused = match url.host() {
            Some(Host::Ipv4(ip)) => address(ip.into()),
            Some(Host::Ipv6(ip)) => address(ip.into()),
            // The addresses of such a name are configured, so it does not stand for any other
            // address of this machine.
            Some(Host::Domain(name)) if self.hosts.has_ports(name) => None,
            Some(Host::Domain(name)) if is_localhost(name) => {
                let loopback = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
                let is_allowed = loopback.into_iter().any(|ip| self.allows(ip));
                (!is_allowed).then(|| Refused::Name(name.to_owned()))
            }
            Some(Host::Domain(_)) | None => None,
        };
        let has_own_port = url
            .host_str()
            .is_some_and(|name| self.hosts.has_ports(name));
        let port = || (is_bad_port(url) && !has_own_port).then(|| Refused::Port(port_of(url)));
        match refused.or_else(port) {
            Some(refused) if !self.has_consent(url) => Err(refused),
            _ => Ok(()),
        }
    }

    /// Tells whether an address may be connected to without consent to the host.
    fn allows(&self, ip: IpAddr) -> bool {
        let is_listed = || self.allow_networks.iter().any(|it| it.contains(ip));
        self.allow_private || is_public(ip) || is_listed()
    }

    /// Tells whether the user configured addresses for the name of `url`, none of them public.
    fn is_own_name(&self, url: &Url) -> bool {
        let addresses = url.host_str().and_then(|name| self.hosts.addresses(name));
        addresses.is_some_and(|list| list.iter().all(|address| !is_public(address.ip)))
    }

    fn has_consent(&self, url: &Url) -> bool {
        self.consented
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(&Authority::of(url))
    }

    /// Resolves a name, or reads a literal address: where it may be connected to. The port is 0
    /// where that of the URL counts. A literal address has been checked with its URL.
    pub(super) async fn resolve(
        &self,
        name: &str,
        resolver: &Resolver,
    ) -> Result<Vec<SocketAddr>, BoxError> {
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        if let Ok(ip) = bare.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(ip, 0)]);
        }
        let allowed = if let Some(named) = self.hosts.addresses(name) {
            let found = named.iter().map(|address| address.resolved());
            if self.hosts.has_ports(name) {
                found.collect()
            } else {
                self.filter(name, found)?
            }
        } else {
            let found = resolver.lookup(name).await?;
            self.filter(name, found.into_iter())?
        };
        if allowed.is_empty() {
            return Err(NotResolved::nothing(name).into());
        }
        Ok(allowed)
    }

    /// Checks an address to which a name was resolved before, and returns it with the port that is
    /// configured for it, or 0.
    pub(super) fn resolved(&self, name: &str, ip: IpAddr) -> Result<SocketAddr, Refused> {
        let named = self.hosts.addresses(name).unwrap_or_default();
        if let Some(own) = named.iter().find(|it| it.ip == ip && it.port.is_some()) {
            return Ok(own.resolved());
        }
        let address = SocketAddr::new(ip, 0);
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        if bare.parse() == Ok(ip) {
            return Ok(address);
        }
        self.filter(name, std::iter::once(address))?;
        Ok(address)
    }

    /// Returns the allowed ones of the addresses of `name`.
    fn filter(
        &self,
        name: &str,
        found: impl Iterator<Item = SocketAddr>,
    ) -> Result<Vec<SocketAddr>, Refused> {
        // `check` let `localhost` pass by consent; it stands for loopback addresses only.
        let local = is_localhost(name);
        let (allowed, refused): (Vec<_>, Vec<_>) = found.partition(|address| {
            if self.allows(address.ip()) {
                !local || self.allow_private || address.ip().is_loopback()
            } else {
                local && address.ip().is_loopback()
            }
        });
        match refused.first() {
            Some(address) if allowed.is_empty() => {
                Err(Refused::Resolved(name.to_owned(), address.ip()))
            }
            _ => Ok(allowed),
        }
    }
}

/// Why a connection was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// The user agent contains no contact.
    NoContact,
    /// The URL has a literal address that is not public.
    Address(IpAddr),
    /// The name stands for this machine.
    Name(String),
    /// None of the name's addresses is public; this is one of them.
    Resolved(String, IpAddr),
    /// The port is that of another protocol.
    Port(u16),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::NoContact => {
                f.write_str("the user agent contains no contact, and the host is not this machine")
            }
            Refused::Address(ip) => write!(f, "{ip} is not a public address"),
            Refused::Name(name) => write!(f, "{name} is this machine"),
            Refused::Port(port) => write!(f, "port {port} is that of another protocol"),
            Refused::Resolved(name, ip) => {
                write!(f, "{name} resolves to {ip}, which is not a public address")
            }
        }
    }
}

impl std::error::Error for Refused {}

/// Where a host is visited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum At {
    /// At any address that its name leads to.
    #[default]
    Anywhere,
    /// At this address only, which was kept free for the visit.
    Address(IpAddr),
    /// Nowhere, because no address was found: the visit fails, and says why.
    Nowhere,
}

tokio::task_local! {
    /// Where the request that is being sent may connect to.
    static AT: At;
}

/// Sends a request that connects nowhere else.
pub(super) async fn connecting<F: Future>(at: At, sending: F) -> F::Output {
    AT.scope(at, sending).await
}

/// Resolves names for the HTTP client, subject to the guard.
pub(super) struct GuardedResolver {
    pub(super) guard: Arc<Guard>,
    pub(super) resolver: Arc<Resolver>,
}

impl Resolve for GuardedResolver {
    /// The client calls this from within the request that needs a connection; a call from anywhere
    /// else gets no address.
    fn resolve(&self, name: Name) -> Resolving {
        let at = AT.try_with(|at| *at).unwrap_or(At::Nowhere);
        let (guard, resolver) = (Arc::clone(&self.guard), Arc::clone(&self.resolver));
        Box::pin(async move {
            let name = name.as_str();
            let allowed = match at {
                At::Anywhere => guard.resolve(name, &resolver).await?,
                At::Address(ip) => vec![guard.resolved(name, ip)?],
                At::Nowhere => {
                    guard.resolve(name, &resolver).await?;
                    return Err(NotResolved::late(name).into());
                }
            };
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

/// Resolves names for an HTTP client that uses a proxy. The proxy's own name may lead anywhere,
/// because the user chose it. Other names are resolved subject to the guard, or not at all if the
/// proxy resolves them.
pub(super) struct ProxyResolver {
    pub(super) resolver: Arc<Resolver>,
    pub(super) proxy: Proxy,
    /// Checks the names that are resolved here; `None` if the proxy resolves names.
    pub(super) guard: Option<Arc<Guard>>,
}

impl Resolve for ProxyResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (guard, resolver) = (self.guard.clone(), Arc::clone(&self.resolver));
        let is_proxy = self.proxy.is_at(name.as_str());
        Box::pin(async move {
            let name = name.as_str();
            // Literal addresses, which were checked before the request, reach this point only with
            // SOCKS.
            let addresses = match guard {
                _ if is_proxy => resolver.lookup(name).await?,
                Some(guard) => guard.resolve(name, &resolver).await?,
                None => {
                    let message = format!("{name} must be resolved by the proxy");
                    return Err(NotResolved::new(message).into());
                }
            };
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// Ports of other protocols, which a request could be mistaken for (Fetch standard, section 2.9,
/// "bad port").
const BAD_PORTS: [u16; 82] = [
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697,
];

/// The port that a URL leads to.
fn port_of(url: &Url) -> u16 {
    url.port_or_known_default().unwrap_or(0)
}

fn is_bad_port(url: &Url) -> bool {
    let port = port_of(url);
    BAD_PORTS.contains(&port) || port == 10_080
}

/// Tells whether a URL names this machine or an address that is not public.
fn is_private(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(ip)) => !is_public(ip.into()),
        Some(Host::Ipv6(ip)) => !is_public(ip.into()),
        Some(Host::Domain(name)) => is_localhost(name),
        None => false,
    }
}

/// Tells whether a name stands for this machine: `localhost` and names below it (RFC 6761, section
/// 6.3).
fn is_localhost(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name.eq_ignore_ascii_case("localhost")
        || name.len() > 10 && name[name.len() - 10..].eq_ignore_ascii_case(".localhost")
}

/// Tells whether an address is public, by the IANA special-purpose address registries.
fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

#[expect(clippy::match_same_arms, reason = "each range has its own reason")]
fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, d] = ip.octets();
    let special = match (a, b, c) {
        // This network, private, loopback.
        (0 | 10 | 127, _, _) => true,
        // Shared address space (RFC 6598).
        (100, 64..=127, _) => true,
        // Link-local, where cloud metadata services are.
        (169, 254, _) => true,
        // Private.
        (172, 16..=31, _) | (192, 168, _) => true,
        // Protocol assignments, documentation, deprecated 6to4 relays.
        (192, 0, 0 | 2) | (192, 88, 99) | (198, 51, 100) | (203, 0, 113) => true,
        // Benchmarking.
        (198, 18..=19, _) => true,
        // The metadata service of Azure's machines; its address looks public.
        (168, 63, 129) if d == 16 => true,
        // Multicast, reserved, broadcast.
        (224..=255, _, _) => true,
        _ => false,
    };
    !special
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    let s = ip.segments();
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match s {
        // IPv4-compatible (including unspecified and loopback), IPv4-mapped, NAT64 (RFC 6052) and
        // 6to4 (RFC 3056): as public as the IPv4 address inside.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => embedded(high, low),
        // Local NAT64, Teredo and other protocol assignments, documentation.
        [0x64, 0xff9b, 1, ..] | [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        // Only 2000::/3 is global unicast.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::parse;

    fn guard_for(allow_private: bool) -> Guard {
        Guard::new(&FetchOptions {
            allow_private,
            ..FetchOptions::new("test (+https://example.org)")
        })
    }

    #[test]
    fn special_addresses_are_not_public() {
        let check = |ip: &str, public| assert_eq!(is_public(ip.parse().unwrap()), public, "{ip}");
        for ip in [
            "1.1.1.1",
            "93.184.216.34",
            "172.15.0.1",
            "172.32.0.1",
            "168.63.129.17",
            "100.63.0.1",
            "2606:4700::1",
            "::ffff:1.1.1.1",
            "64:ff9b::1.1.1.1",
        ] {
            check(ip, true);
        }
        for ip in [
            "0.0.0.0",
            "10.1.2.3",
            "127.0.0.1",
            "127.9.9.9",
            "100.64.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "192.168.1.1",
            "198.18.0.1",
            "168.63.129.16",
            "224.0.0.1",
            "255.255.255.255",
            "240.0.0.1",
            "::",
            "::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "ff02::1",
            "::ffff:10.0.0.1",
            "::ffff:127.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::1",
            "64:ff9b::169.254.169.254",
            "::ffff:0:10.0.0.1",
            "fd00:ec2::254",
            "fec0::1",
            "2002:7f00:1::",
            "2002:a00:1::",
            "2001:db8::1",
            "2001::1",
            "::7f00:1",
        ] {
            check(ip, false);
        }
    }

    #[test]
    fn every_spelling_of_a_private_literal_is_refused() {
        let guard = guard_for(false);
        for url in [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0177.0.0.1/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://localhost/",
            "http://LOCALHOST./",
            "http://a.localhost/",
            "http://169.254.169.254/latest/meta-data/",
            "http://10.0.0.1:8080/",
        ] {
            assert!(guard.check(&parse(url).unwrap()).is_err(), "{url}");
            assert!(guard_for(true).check(&parse(url).unwrap()).is_ok(), "{url}");
        }
        assert!(guard.check(&parse("http://example.org/").unwrap()).is_ok());
    }

    #[test]
    fn a_seed_is_consent_for_its_own_host_and_port() {
        let guard = guard_for(false);
        let seed = parse("http://127.0.0.1:8000/start").unwrap();
        guard.consent(Guard::consent_of(&seed).unwrap());
        let check =
            |url, allowed| assert_eq!(guard.check(&parse(url).unwrap()).is_ok(), allowed, "{url}");
        check("http://127.0.0.1:8000/other", true);
        check("http://127.0.0.1:8001/", false);
        check("http://127.0.0.2:8000/", false);
        check("http://localhost:8000/", false);
        check("http://10.0.0.1/", false);
        assert_eq!(
            Guard::consent_of(&parse("http://intranet.example/").unwrap()),
            None
        );
        assert!(Guard::consent_of(&parse("http://localhost:1/").unwrap()).is_some());
    }

    #[test]
    fn ports_of_other_protocols_are_for_seeds_that_name_them() {
        for guard in [guard_for(false), guard_for(true)] {
            let check = |url: &str, allowed| {
                assert_eq!(guard.check(&parse(url).unwrap()).is_ok(), allowed, "{url}");
            };
            for port in [0, 22, 25, 6_000, 6_667, 10_080] {
                check(&format!("http://example.org:{port}/"), false);
            }
            for port in [80, 443, 81, 8_080, 3_000, 65_535] {
                check(&format!("https://example.org:{port}/"), true);
            }
            let seed = parse("http://example.org:6000/").unwrap();
            guard.consent(Guard::consent_of(&seed).unwrap());
            check("http://example.org:6000/x", true);
            check("http://example.com:6000/", false);
        }
    }

    #[test]
    fn allowed_networks_are_as_good_as_public_ones_and_no_more() {
        let guard = Guard::new(&FetchOptions {
            allow_networks: vec!["10.1.0.0/16".parse().unwrap()],
            ..FetchOptions::new("test (+https://example.org)")
        });
        let check =
            |url, allowed| assert_eq!(guard.check(&parse(url).unwrap()).is_ok(), allowed, "{url}");
        check("http://10.1.2.3:8080/", true);
        check("http://[::ffff:10.1.2.3]/", true);
        check("http://10.2.0.1/", false);
        check("http://localhost/", false);
        check("http://[64:ff9b::10.1.2.3]/", false);
        let at = |ip: &str| SocketAddr::new(ip.parse().unwrap(), 0);
        let found = [at("10.2.0.1"), at("10.1.0.1"), at("127.0.0.1")];
        let allowed = guard.filter("intranet.example", found.into_iter());
        assert_eq!(allowed, Ok(vec![at("10.1.0.1")]));
        // The meaning of `localhost` is not up to the resolver.
        assert!(
            guard
                .filter("localhost", [at("10.1.0.1")].into_iter())
                .is_err()
        );
    }

    #[test]
    fn without_a_contact_only_this_machine_is_visited() {
        let guard = Guard::new(&FetchOptions {
            allow_private: true,
            ..FetchOptions::new("gleaner/0.1")
        });
        let check = |url, allowed| {
            assert_eq!(guard.check(&parse(url).unwrap()).is_ok(), allowed, "{url}");
        };
        check("http://127.0.0.1/", true);
        check("http://localhost:8000/", true);
        check("http://example.org/", false);
        check("http://1.1.1.1/", false);
    }

    #[test]
    fn of_a_names_addresses_only_public_ones_are_handed_out() {
        let guard = guard_for(false);
        let at = |ip: &str| SocketAddr::new(ip.parse().unwrap(), 0);
        let mixed = [at("10.0.0.1"), at("1.1.1.1"), at("::1")];
        assert_eq!(
            guard.filter("x.org", mixed.into_iter()),
            Ok(vec![at("1.1.1.1")])
        );
        let private = [at("10.0.0.1"), at("fe80::1")];
        assert!(guard.filter("x.org", private.into_iter()).is_err());
        assert_eq!(
            guard.filter("localhost", [at("127.0.0.1")].into_iter()),
            Ok(vec![at("127.0.0.1")])
        );
        assert!(
            guard
                .filter("localhost", [at("10.0.0.1")].into_iter())
                .is_err()
        );
    }
}
