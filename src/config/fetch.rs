//! `[fetch]`: how requests are made, and what of that differs at some hosts.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Config, DomainSettings, Size, Span};
use crate::fetch::{
    CookieMode, DnsOptions, ExtraHeaders, FetchOptions, NamedHosts, Nameserver, Network, Proxy,
    RequestOptions, RequestOverrides, ResolverKind, Secret,
};

/// How requests are made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FetchSettings {
    /// Sent as User-Agent; beyond loopback it must hold a contact.
    pub user_agent: String,
    /// Fetches at once, each of another host.
    pub concurrency: usize,
    /// Until a connection stands.
    pub connect_timeout: Span,
    /// Until the head of the answer is there.
    pub head_timeout: Span,
    /// Until the end of the body.
    pub total_timeout: Span,
    /// Bytes of a body as received.
    pub max_body: Size,
    /// Bytes of a body after content decoding.
    pub max_decoded: Size,
    /// Content codings of one body that are undone.
    pub max_codings: usize,
    /// Header fields of an answer.
    pub max_header_fields: usize,
    /// Bytes of all headers of an answer.
    pub max_header: Size,
    /// Bytes of bodies in memory across the crawl.
    pub body_budget: Size,
    /// Private, loopback and reserved addresses may be contacted.
    pub allow_private: bool,
    /// Networks of such addresses that may be contacted.
    pub allow_networks: Vec<Network>,
    /// Addresses of names, asked before the DNS.
    pub hosts: NamedHosts,
    /// Who resolves names: caching or system.
    pub resolver: ResolverKind,
    /// Name servers that are asked; none for those of the system.
    pub nameservers: Vec<Nameserver>,
    /// Names looked up at once.
    pub max_lookups: usize,
    /// Files of root certificates that are trusted besides the system's.
    pub ca_files: Vec<PathBuf>,
    /// Through which proxy: none, or its URL.
    pub proxy: Proxy,
    /// Header fields that are sent with every request.
    pub headers: ExtraHeaders,
    /// Whether cookies are kept and sent back: off or host.
    pub cookies: CookieMode,
}

impl Default for FetchSettings {
    fn default() -> Self {
        let options = FetchOptions::new(concat!("gleaner/", env!("CARGO_PKG_VERSION")));
        let size = |bytes: usize| Size(bytes as u64);
        Self {
            user_agent: options.user_agent,
            concurrency: 64,
            connect_timeout: Span(options.connect_timeout),
            head_timeout: Span(options.request.head_timeout),
            total_timeout: Span(options.request.total_timeout),
            max_body: size(options.request.max_body_bytes),
            max_decoded: size(options.max_decoded_bytes),
            max_codings: options.max_codings,
            max_header_fields: options.max_header_fields,
            max_header: size(options.max_header_bytes),
            body_budget: size(options.body_budget_bytes),
            allow_private: options.allow_private,
            allow_networks: options.allow_networks,
            hosts: options.hosts,
            resolver: options.dns.resolver,
            nameservers: options.dns.nameservers,
            max_lookups: options.dns.max_lookups,
            ca_files: options.ca_files,
            proxy: options.request.proxy,
            headers: options.request.headers,
            cookies: options.request.cookies,
        }
    }
}

/// Keys of `[fetch]` that a host may have its own value of, and its credentials.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "each is described at FetchSettings")]
pub struct DomainFetch {
    pub head_timeout: Option<Span>,
    pub total_timeout: Option<Span>,
    pub max_body: Option<Size>,
    pub proxy: Option<Proxy>,
    pub headers: Option<ExtraHeaders>,
    pub cookies: Option<CookieMode>,
    /// User and password with a colon in between; of single hosts only, so that nobody else gets it.
    pub auth: Option<Secret>,
}

/// Keys that only an entry of `[[domain]]` can have.
#[cfg(test)]
pub(super) const OF_DOMAINS_ONLY: [&str; 1] = ["fetch.auth"];

impl DomainFetch {
    fn overrides(&self) -> RequestOverrides {
        RequestOverrides {
            headers: self.headers.clone(),
            auth: self.auth.clone(),
            cookies: self.cookies,
            proxy: self.proxy.clone(),
            head_timeout: self.head_timeout.map(|span| span.0),
            total_timeout: self.total_timeout.map(|span| span.0),
            max_body_bytes: self.max_body.map(Size::bytes),
        }
    }

    /// What is wrong with an entry, if anything.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        let is_user = |auth: &Secret| {
            let auth = auth.reveal();
            auth.contains(':') && !auth.bytes().any(|byte| byte.is_ascii_control())
        };
        if !self.auth.as_ref().is_none_or(is_user) {
            return Err("fetch.auth must be a user and a password with a colon in between");
        }
        if self.max_body.is_some_and(|size| size.0 == 0) {
            return Err("fetch.max_body must be more than 0 bytes");
        }
        Ok(())
    }
}

/// As the client takes it.
pub(super) fn options(config: &Config) -> FetchOptions {
    let fetch = &config.fetch;
    let own = |entry: &DomainSettings| {
        let (hosts, overrides) = (entry.hosts.clone(), entry.fetch.overrides());
        let is_set = overrides != RequestOverrides::default();
        let hosts = hosts.into_iter().filter(move |_| is_set);
        hosts.map(move |pattern| (pattern, overrides.clone()))
    };
    FetchOptions {
        user_agent: fetch.user_agent.clone(),
        connect_timeout: fetch.connect_timeout.0,
        max_decoded_bytes: fetch.max_decoded.bytes(),
        max_codings: fetch.max_codings,
        max_header_fields: fetch.max_header_fields,
        max_header_bytes: fetch.max_header.bytes(),
        body_budget_bytes: fetch.body_budget.bytes(),
        allow_private: fetch.allow_private,
        allow_networks: fetch.allow_networks.clone(),
        hosts: fetch.hosts.clone(),
        dns: DnsOptions {
            resolver: fetch.resolver,
            nameservers: fetch.nameservers.clone(),
            max_lookups: fetch.max_lookups,
        },
        ca_files: fetch.ca_files.clone(),
        request: RequestOptions {
            headers: fetch.headers.clone(),
            auth: None,
            cookies: fetch.cookies,
            proxy: fetch.proxy.clone(),
            head_timeout: fetch.head_timeout.0,
            total_timeout: fetch.total_timeout.0,
            max_body_bytes: fetch.max_body.bytes(),
        },
        own: config.domain.iter().flat_map(own).collect(),
        hide_credentials: config.archive.hide_credentials,
    }
}

/// Refuses values that make no sense: the key, and what it must be.
pub(super) fn check(fetch: &FetchSettings) -> Result<(), (&'static str, &'static str)> {
    let refuse = |key, expected| Err((key, expected));
    match fetch {
        _ if fetch.concurrency == 0 => refuse("fetch.concurrency", "at least 1"),
        _ if fetch.max_lookups == 0 => refuse("fetch.max_lookups", "at least 1"),
        _ if !is_user_agent(&fetch.user_agent) => {
            refuse("fetch.user_agent", "printable ASCII, and not empty")
        }
        _ if fetch.max_body.0 == 0 => refuse("fetch.max_body", "more than 0 bytes"),
        _ if fetch.headers.has_secret() => refuse(
            "fetch.headers",
            "without credentials, which every server would get; give them in a [[domain]]",
        ),
        _ => Ok(()),
    }
}

/// Whether a text can be sent as User-Agent and tells something.
fn is_user_agent(text: &str) -> bool {
    !text.trim().is_empty() && text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}
