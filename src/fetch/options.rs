//! How fetches are made, and what bounds them: the section `[fetch]` of the configuration.
//!
//! A field is a key; its name, default and documentation stand here and in `config/gleaner.toml`,
//! and nowhere else. Every key can be set per host in `[[domain]]`, unless `#[patch(skip)]` makes
//! it a key of the whole crawl: the derive makes the struct of overrides.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use struct_patch::Patch;

use super::media::MediaPattern;
use super::{
    CookieFile, CookieMode, DecodeBounds, DnsOptions, ExtraHeaders, NamedHosts, Nameserver,
    Network, Proxy, ResolverKind, Secret,
};
use crate::units::{Checked, Size, Span};
use crate::url::{HostKey, HostMap, HostPattern};

/// How long the head of the first response of a host is waited for once there is a connection.
const FIRST_WAIT: Duration = Duration::from_secs(5);

/// How fetches are made, and what bounds them: `[fetch]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Patch)]
#[serde(default, deny_unknown_fields)]
#[patch(
    name = "FetchOverrides",
    attribute(derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)),
    attribute(serde(default, deny_unknown_fields)),
    attribute(expect(missing_docs, reason = "each field is described at `FetchOptions`"))
)]
pub struct FetchOptions {
    /// The User-Agent header. Its first word is the product token that rules in robots.txt are
    /// matched against. Beyond loopback it must hold a contact.
    #[patch(skip)]
    pub user_agent: String,
    /// Maximum number of concurrent fetches, each from a different host.
    #[patch(skip)]
    pub concurrency: usize,
    /// Maximum time to establish a connection, including name resolution and TLS.
    #[patch(skip)]
    pub connect_timeout: Span,
    /// Maximum time from the start of a request until the response headers have arrived.
    /// The first request of a host has `connect_timeout` and 5 s at most; its further attempts have
    /// this time.
    pub head_timeout: Span,
    /// Maximum time from the start of a request to the end of the body. It bounds the whole
    /// response, because a server that sends a byte per second never exceeds a read timeout.
    pub total_timeout: Span,
    /// Maximum size of a body as received; a longer one is cut and stored as cut.
    pub max_body: Size,
    /// Maximum size of a body after content decoding; a longer one is cut before it is parsed.
    #[patch(skip)]
    pub max_decoded: Size,
    /// Maximum number of content codings of one body; a body with more is not decoded.
    #[patch(skip)]
    pub max_codings: usize,
    /// Maximum number of header fields of a response; a response with more fails.
    #[patch(skip)]
    pub max_header_fields: usize,
    /// Maximum total size of the headers of a response; a larger response fails.
    #[patch(skip)]
    pub max_header: Size,
    /// Memory for bodies across the crawl, from their first byte to the commit.
    #[patch(skip)]
    pub body_budget: Size,
    /// Bytes of bodies that are received each second, all hosts together; `None` for no limit.
    #[patch(skip)]
    pub limit_rate: Option<Size>,
    /// Whether private, loopback and reserved addresses may be contacted.
    #[patch(skip)]
    pub allow_private: bool,
    /// Networks of such addresses that may be contacted anyway.
    #[patch(skip)]
    pub allow_networks: Vec<Network>,
    /// Addresses of names for which the DNS is not asked.
    #[patch(skip)]
    pub hosts: NamedHosts,
    /// What resolves names.
    #[patch(skip)]
    pub resolver: ResolverKind,
    /// Name servers to ask; if there are none, those of the system.
    #[patch(skip)]
    pub nameservers: Vec<Nameserver>,
    /// Maximum number of concurrent name lookups.
    #[patch(skip)]
    pub max_lookups: usize,
    /// Files of root certificates (PEM) that are trusted in addition to the system's.
    #[patch(skip)]
    pub ca_files: Vec<PathBuf>,
    /// The proxy that requests go through.
    pub proxy: Proxy,
    /// Header fields added to every request; they replace those that are sent by default.
    pub headers: ExtraHeaders,
    /// Whether cookies are kept and sent back.
    pub cookies: CookieMode,
    /// Files of cookies for logins, in the format of Netscape.
    #[patch(skip)]
    pub cookie_files: Vec<PathBuf>,
    /// What is in them.
    #[serde(skip)]
    #[patch(skip)]
    pub login: CookieFile,
    /// The types of content that are wanted, by the head of the response; all if there are none.
    pub accept: Vec<MediaPattern>,
    /// The types of content that are not wanted.
    pub reject: Vec<MediaPattern>,
    /// User and password, separated by a colon (RFC 7617). Only hosts can have them, so that no
    /// other host gets them.
    #[serde(skip)]
    pub auth: Option<Secret>,
    /// The settings that some hosts have of their own, from `[[domain]]`.
    #[serde(skip)]
    #[patch(skip)]
    pub own: Vec<(HostPattern, FetchOverrides)>,
    /// Number of servers whose last TLS session is kept, so that it can be resumed; a crawl takes
    /// it from its memory plan.
    #[serde(skip)]
    #[patch(skip)]
    pub tls_sessions: usize,
    /// Whether credentials are left out of recorded requests, from `[archive]`.
    #[serde(skip)]
    #[patch(skip)]
    pub hide_credentials: bool,
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self {
            user_agent: concat!("gleaner/", env!("CARGO_PKG_VERSION")).to_owned(),
            concurrency: 64,
            connect_timeout: Span::seconds(10),
            head_timeout: Span::seconds(30),
            total_timeout: Span::seconds(120),
            max_body: Size::mebibytes(20),
            max_decoded: Size::mebibytes(40),
            max_codings: 4,
            max_header_fields: 512,
            max_header: Size(64 << 10),
            body_budget: Size::mebibytes(256),
            limit_rate: None,
            allow_private: false,
            allow_networks: Vec::new(),
            hosts: NamedHosts::default(),
            resolver: ResolverKind::default(),
            nameservers: Vec::new(),
            max_lookups: DnsOptions::default().max_lookups,
            ca_files: Vec::new(),
            proxy: Proxy::None,
            headers: ExtraHeaders::default(),
            cookies: CookieMode::default(),
            cookie_files: Vec::new(),
            login: CookieFile::default(),
            accept: Vec::new(),
            reject: Vec::new(),
            auth: None,
            own: Vec::new(),
            tls_sessions: 256,
            hide_credentials: true,
        }
    }
}

impl FetchOptions {
    /// Returns the defaults with this User-Agent.
    pub fn new(user_agent: impl Into<String>) -> Self {
        Self {
            user_agent: user_agent.into(),
            ..Self::default()
        }
    }

    /// Returns how long the head of a response is waited for, of the first request of a host or of
    /// a further one.
    pub(super) fn patience(&self, is_first: bool) -> Duration {
        let whole = self.head_timeout.0;
        match is_first {
            true => whole.min(self.connect_timeout.0.saturating_add(FIRST_WAIT)),
            false => whole,
        }
    }

    /// Refuses values out of their range.
    pub fn check(&self) -> Checked {
        let is_user = |auth: &Secret| {
            let auth = auth.reveal();
            auth.contains(':') && !auth.bytes().any(|byte| byte.is_ascii_control())
        };
        match self {
            _ if self.concurrency == 0 => Err(("fetch.concurrency", "at least 1")),
            _ if self.max_lookups == 0 => Err(("fetch.max_lookups", "at least 1")),
            _ if !is_user_agent(&self.user_agent) => {
                Err(("fetch.user_agent", "printable ASCII, and not empty"))
            }
            _ if self.limit_rate.is_some_and(|rate| rate.0 < 1_000) => {
                Err(("fetch.limit_rate", "at least 1000B"))
            }
            _ if self.max_body.0 == 0 => Err(("fetch.max_body", "more than 0 bytes")),
            _ if !self.auth.as_ref().is_none_or(is_user) => Err((
                "fetch.auth",
                "a user and a password with a colon in between",
            )),
            _ => Ok(()),
        }
    }

    /// Returns the bounds on decoding a body.
    pub fn decode_bounds(&self) -> DecodeBounds {
        DecodeBounds {
            max_bytes: self.max_decoded.bytes(),
            max_codings: self.max_codings,
        }
    }

    /// Returns how names are resolved.
    pub(super) fn dns(&self) -> DnsOptions {
        DnsOptions {
            resolver: self.resolver,
            nameservers: self.nameservers.clone(),
            max_lookups: self.max_lookups,
        }
    }
}

/// Whether a text can be sent as User-Agent and says something.
fn is_user_agent(text: &str) -> bool {
    !text.trim().is_empty() && text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// The options of each host.
#[derive(Debug)]
pub(super) struct Requests {
    everywhere: Arc<FetchOptions>,
    own: HostMap<FetchOverrides>,
}

impl Requests {
    pub(super) fn new(options: &FetchOptions) -> Self {
        let mut own = HostMap::default();
        for (pattern, overrides) in &options.own {
            own.insert(pattern, overrides.clone());
        }
        let everywhere = FetchOptions {
            // Not to be copied for each host that has options of its own.
            own: Vec::new(),
            ..options.clone()
        };
        Self {
            everywhere: Arc::new(everywhere),
            own,
        }
    }

    /// Returns the options of a host. Each key is taken from the most specific pattern that sets
    /// it.
    pub(super) fn at(&self, host: &HostKey) -> Arc<FetchOptions> {
        let mut options = Arc::clone(&self.everywhere);
        if self.own.is_empty() {
            return options;
        }
        for overrides in self.own.matching(host) {
            Arc::make_mut(&mut options).apply(overrides.clone());
        }
        options
    }
}

/// Returns every proxy that is used for some host, and the largest `max_body` of any, in bytes.
pub(super) fn extent(options: &FetchOptions) -> (Vec<Proxy>, usize) {
    let proxies = options.own.iter().filter_map(|(_, it)| it.proxy.clone());
    let proxies = proxies.chain([options.proxy.clone()]).collect();
    let bodies = options.own.iter().filter_map(|(_, it)| it.max_body);
    let longest = bodies.fold(options.max_body, Size::max);
    (proxies, longest.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_gets_less_time_at_first_and_never_more_than_is_configured() {
        let check = |connect, head, expected: (u64, u64)| {
            let options = FetchOptions {
                connect_timeout: Span::seconds(connect),
                head_timeout: Span::seconds(head),
                ..FetchOptions::new("test")
            };
            let patience = (options.patience(true), options.patience(false));
            assert_eq!((patience.0.as_secs(), patience.1.as_secs()), expected);
        };
        check(10, 30, (15, 30));
        check(10, 12, (12, 12));
        check(3_600, 30, (30, 30));
    }

    #[test]
    fn what_is_said_most_specifically_holds_field_by_field() {
        let entry = |pattern: &str, overrides| (pattern.parse().unwrap(), overrides);
        let seconds = Span::seconds;
        let requests = Requests::new(&FetchOptions {
            own: vec![
                entry(
                    "www.example.org",
                    FetchOverrides {
                        head_timeout: Some(seconds(5)),
                        ..FetchOverrides::default()
                    },
                ),
                entry(
                    "example.org",
                    FetchOverrides {
                        head_timeout: Some(seconds(7)),
                        cookies: Some(CookieMode::Host),
                        ..FetchOverrides::default()
                    },
                ),
            ],
            ..FetchOptions::new("test")
        });
        let check = |host: &str, timeout, cookies| {
            let found = requests.at(&HostKey::parse(host).unwrap());
            assert_eq!(
                (found.head_timeout, found.cookies),
                (seconds(timeout), cookies)
            );
        };
        check("https://www.example.org", 5, CookieMode::Host);
        check("https://example.org", 7, CookieMode::Host);
        check("https://example.net", 30, CookieMode::Off);
    }
}
