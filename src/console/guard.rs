//! Who may do what: each request passes here before any route sees it.
//!
//! A page of any site that a person has open can send requests to this machine. It cannot read the
//! answers, but a request may be enough, so what a browser says of where a request comes from is
//! held against what was asked for. A name of an attacker's may be resolved to this machine (DNS
//! rebinding), so only known names are answered at all.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, Uri};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::answer::Failed;

/// Requests a second of one client that read the store.
const READS_A_SECOND: u32 = 50;

/// What a route needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// It reads the store, or files of the crawl.
    pub(super) store: bool,
    /// It changes something.
    pub(super) writes: bool,
    /// It is answered without the token: it has nothing of the crawl.
    pub(super) is_open: bool,
}

/// The two ends of a connection; a Unix socket has no addresses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) client: Option<IpAddr>,
    pub(super) own: Option<IpAddr>,
}

/// A secret that clients send. Only its digest is kept, so that a comparison takes as long whatever
/// the lengths are.
#[derive(Clone)]
pub(super) struct Token([u8; 32]);

impl Token {
    pub(super) fn new(token: &str) -> Self {
        Self(Sha256::digest(token).into())
    }

    fn is(&self, given: &str) -> bool {
        let given: [u8; 32] = Sha256::digest(given).into();
        self.0.ct_eq(&given).into()
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(hidden)")
    }
}

/// Whether only this machine reaches an address.
pub(super) fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// Who may come.
#[derive(Debug)]
pub(super) struct Access {
    /// The address that it listens on.
    own: Option<IpAddr>,
    /// Names under which it is reached beside those of loopback.
    hosts: Vec<Authority>,
    token: Option<Token>,
    reads: Reads,
}

/// A name or address, with its port if it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Authority {
    name: String,
    port: Option<u16>,
}

impl Authority {
    /// Reads `name`, `name:port`, `1.2.3.4:port` or `[::1]:port`.
    fn read(text: &str) -> Option<Self> {
        let (name, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (inner, behind) = rest.split_once(']')?;
                inner.parse::<std::net::Ipv6Addr>().ok()?;
                match behind {
                    "" => (inner, None),
                    _ => (inner, Some(behind.strip_prefix(':')?)),
                }
            }
            None => match text.split_once(':') {
                Some((name, port)) => (name, Some(port)),
                None => (text, None),
            },
        };
        let is_name =
            |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'.' | b'_' | b':');
        if name.is_empty() || !name.bytes().all(is_name) {
            return None;
        }
        Some(Self {
            name: name.trim_end_matches('.').to_ascii_lowercase(),
            port: port.map(str::parse).transpose().ok()?,
        })
    }

    fn address(&self) -> Option<IpAddr> {
        self.name.parse().ok()
    }

    fn is_loopback(&self) -> bool {
        self.name == "localhost"
            || self.name.ends_with(".localhost")
            || self.address().is_some_and(is_loopback)
    }

    /// Whether another is meant by this entry of a list: one without a port means any.
    fn means(&self, other: &Self) -> bool {
        self.name == other.name && (self.port.is_none() || self.port == other.port)
    }
}

impl Access {
    pub(super) fn new(
        own: Option<IpAddr>,
        hosts: &[String],
        token: Option<Token>,
    ) -> Result<Self, String> {
        let read = |host: &String| {
            Authority::read(host).ok_or(format!(
                "daemon.hosts: {host:?} is no name: write it as crawl.example.org or crawl.example.org:8443"
            ))
        };
        Ok(Self {
            own,
            hosts: hosts.iter().map(read).collect::<Result<_, _>>()?,
            token,
            reads: Reads::default(),
        })
    }

    /// Lets a request pass, or says why not.
    pub(super) fn check(
        &self,
        needs: Needs,
        (method, uri, headers): (&Method, &Uri, &HeaderMap),
        ends: Ends,
    ) -> Result<(), Failed> {
        let host = self.check_host(uri, headers, ends)?;
        let is_read = matches!(*method, Method::GET | Method::HEAD) && !needs.writes;
        self.check_origin(is_read, headers, &host)?;
        if !is_read {
            check_is_json(headers)?;
        }
        if !needs.is_open {
            self.check_token(headers)?;
        }
        if needs.store && !self.reads.admits(ends.client) {
            return Err(Failed::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too-many-requests",
                format!("more than {READS_A_SECOND} requests in a second; try again in the next"),
            ));
        }
        Ok(())
    }

    /// The name that was asked for, if it is one of ours.
    fn check_host(&self, uri: &Uri, headers: &HeaderMap, ends: Ends) -> Result<Authority, Failed> {
        let mut named = headers.get_all(HOST).iter();
        let host = named.next().filter(|_| named.next().is_none());
        let host = host.and_then(|it| Authority::read(it.to_str().ok()?));
        let host =
            host.ok_or_else(|| Failed::bad("the request needs one header Host with a name"))?;
        let target = uri.authority().map(|it| Authority::read(it.as_str()));
        let is_ours = |host: &Authority| {
            let address = host.address();
            host.is_loopback()
                || (address.is_some() && (address == self.own || address == ends.own))
                || self.hosts.iter().any(|it| it.means(host))
        };
        if !is_ours(&host) || !target.is_none_or(|it| it.as_ref().is_some_and(is_ours)) {
            let name = &host.name;
            return Err(Failed::forbidden(
                "host",
                format!(
                    "the name {name:?} is not one of this console: reach it by the address that it listens on, or add the name to daemon.hosts"
                ),
            ));
        }
        Ok(host)
    }

    /// Refuses what another site's page sends.
    fn check_origin(
        &self,
        is_read: bool,
        headers: &HeaderMap,
        host: &Authority,
    ) -> Result<(), Failed> {
        let foreign = || {
            Failed::forbidden(
                "origin",
                "a page of another site sent this; names under which this console is reached are listed in daemon.hosts",
            )
        };
        for origin in headers.get_all(ORIGIN) {
            let origin = origin.to_str().ok().and_then(|it| {
                let (scheme, authority) = it.split_once("://")?;
                let default = match scheme {
                    "http" => 80,
                    "https" => 443,
                    _ => return None,
                };
                let authority = Authority::read(authority)?;
                Some((authority, default))
            });
            let (origin, default) = origin.ok_or_else(foreign)?;
            let is_same = origin.name == host.name
                && origin.port.unwrap_or(default) == host.port.unwrap_or(default);
            if !is_same && !self.hosts.iter().any(|it| it.means(&origin)) {
                return Err(foreign());
            }
        }
        let said = |name: &'static str| {
            let value = headers.get(HeaderName::from_static(name));
            value.map(|it| it.to_str().unwrap_or_default())
        };
        match said("sec-fetch-site") {
            None | Some("same-origin") => Ok(()),
            // Typed into the address bar, or a link that is followed.
            Some("none") if is_read => Ok(()),
            Some(_) if is_read && said("sec-fetch-mode") == Some("navigate") => Ok(()),
            Some(_) => Err(foreign()),
        }
    }

    fn check_token(&self, headers: &HeaderMap) -> Result<(), Failed> {
        let Some(token) = &self.token else {
            return Ok(());
        };
        let given = headers.get(AUTHORIZATION).and_then(|it| it.to_str().ok());
        let given = given.and_then(|it| {
            let (scheme, given) = it.split_once(' ')?;
            scheme
                .eq_ignore_ascii_case("bearer")
                .then_some(given.trim())
        });
        match given {
            Some(given) if token.is(given) => Ok(()),
            _ => Err(Failed::new(
                StatusCode::UNAUTHORIZED,
                "token",
                "send the token of --token-file as `Authorization: Bearer TOKEN`",
            )),
        }
    }
}

/// A form that a page of another site sends has no such type, and a page that wants to send it has
/// to ask first, which nobody answers.
fn check_is_json(headers: &HeaderMap) -> Result<(), Failed> {
    let kind = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let kind = kind.and_then(|it| it.split(';').next()).map(str::trim);
    if kind.is_some_and(|it| it.eq_ignore_ascii_case("application/json")) {
        return Ok(());
    }
    Err(Failed::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "content-type",
        "send JSON, with `Content-Type: application/json`",
    ))
}

/// How many requests each client made in this second.
#[derive(Debug, Default)]
struct Reads(Mutex<Second>);

#[derive(Debug, Default)]
struct Second {
    began: Option<Instant>,
    clients: HashMap<Option<IpAddr>, u32>,
}

impl Reads {
    fn admits(&self, client: Option<IpAddr>) -> bool {
        self.admits_at(client, Instant::now())
    }

    fn admits_at(&self, client: Option<IpAddr>, now: Instant) -> bool {
        let mut second = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = |began: Instant| now.duration_since(began).as_secs() > 0;
        if second.began.is_none_or(is_over) {
            second.began = Some(now);
            second.clients.clear();
        }
        let made = second.clients.entry(client).or_default();
        *made += 1;
        *made <= READS_A_SECOND
    }
}

/// What every answer says to browsers: what a page may load, and who may show it.
pub(super) const HEADERS: [(&str, &str); 6] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
         img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("x-frame-options", "DENY"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
];

#[cfg(test)]
mod tests;
