//! The HTTP client: reqwest with its own decoding, redirects, cookies and retries switched off.

mod classify;

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use bytes::{Bytes, BytesMut};
use jiff::Timestamp;
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, COOKIE, HOST, HeaderMap, HeaderName, HeaderValue,
    IF_MODIFIED_SINCE, IF_NONE_MATCH, PROXY_AUTHORIZATION, USER_AGENT,
};
use reqwest::tls::TlsInfo;
use reqwest::{Client, ClientBuilder, Method, Request, Response, Version};
use tokio::time::timeout;

use self::classify::classify;
use super::addresses::Addresses;
use super::cookies::{CookieFile, Cookies, Logins, logs_out};
use super::guard::{At, GuardedResolver, ProxyResolver, connecting};
use super::media::refusal;
use super::options::{Requests, extent};
use super::proxy::{Proxy, basic};
use super::request::CookieMode;
use super::resolver::Resolver;
use super::secret::{HIDDEN, is_secret};
use super::throttle::Throttle;
use super::{
    ByteBudget, Conditions, Cut, Error, Exchange, Failure, FailureClass, FetchOptions, Guard,
    Outcome, Reservation, tls,
};
use crate::url::{HostKey, Url};

/// How long an idle connection is kept. Servers close theirs after 5 s or more (Apache's default is
/// 5 s); a shorter time here makes it unlikely to send into a closing connection.
const IDLE: Duration = Duration::from_secs(4);
/// Idle connections kept per host, which has one visit at a time.
const MAX_IDLE: usize = 1;
/// Bytes that a server may send ahead over HTTP/2 before they are read; they are not part of the
/// byte budget. 256 KiB allow 2.5 MB/s at a round trip of 100 ms.
const H2_WINDOW: u32 = 256 << 10;

/// Sends requests, subject to the guard and the bounds. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Fetcher(Arc<Inner>);

/// How a visit is made.
#[derive(Debug, Clone, Copy, Default)]
pub struct Approach {
    /// Where to connect to; behind a proxy, that is the proxy's affair.
    pub at: At,
    /// Whether the host is not known to respond, and so gets less time at first.
    pub is_first: bool,
    /// Whether the content is wanted whatever its type, as that of a robots.txt is.
    pub is_any_type: bool,
}

#[derive(Debug)]
struct Inner {
    /// One client per proxy, and one without.
    clients: HashMap<Proxy, Client>,
    /// A client that makes a connection for each request, for visits that are not to be made where
    /// a connection at hand leads.
    reconnecting: Client,
    addresses: Addresses,
    resolver: Arc<Resolver>,
    guard: Arc<Guard>,
    budget: ByteBudget,
    requests: Requests,
    cookies: Cookies,
    throttle: Throttle,
    logins: Logins,
    /// The cookies of the user's files, which may be others while a crawl runs.
    login: ArcSwap<CookieFile>,
    options: FetchOptions,
    user_agent: HeaderValue,
}

impl Fetcher {
    /// Sets up the clients.
    pub fn new(options: FetchOptions, guard: Arc<Guard>) -> Result<Self, Error> {
        let user_agent = HeaderValue::from_str(&options.user_agent)
            .map_err(|_| Error::UserAgent(options.user_agent.clone()))?;
        let tls = tls::config(&options.ca_files, options.tls_sessions)?;
        let resolver = Arc::new(Resolver::new(&options.dns(), options.connect_timeout.0));
        let (proxies, max_body) = extent(&options);
        let guarded = || {
            Arc::new(GuardedResolver {
                guard: Arc::clone(&guard),
                resolver: Arc::clone(&resolver),
            })
        };
        let reconnecting = client(&options, tls.clone())
            .pool_max_idle_per_host(0)
            .no_proxy()
            .dns_resolver(guarded());
        let mut clients = HashMap::new();
        for proxy in proxies.into_iter().chain([Proxy::None]) {
            let client = client(&options, tls.clone());
            let client = match proxy.url() {
                None => client.no_proxy().dns_resolver(guarded()),
                Some(url) => client
                    .proxy(reqwest::Proxy::all(url.as_str())?)
                    .dns_resolver(Arc::new(ProxyResolver {
                        resolver: Arc::clone(&resolver),
                        proxy: proxy.clone(),
                        guard: (!proxy.resolves()).then(|| Arc::clone(&guard)),
                    })),
            };
            clients.insert(proxy, client.build()?);
        }
        Ok(Self(Arc::new(Inner {
            clients,
            reconnecting: reconnecting.build()?,
            addresses: Addresses::new(IDLE.saturating_add(options.connect_timeout.0)),
            resolver,
            guard,
            budget: ByteBudget::new(options.body_budget.bytes(), max_body),
            requests: Requests::new(&options),
            cookies: Cookies::default(),
            logins: Logins::default(),
            login: ArcSwap::from_pointee(options.login.clone()),
            throttle: Throttle::new(options.limit_rate.map(|rate| rate.0)),
            options,
            user_agent,
        })))
    }

    /// Returns the address at which a host is to be visited, if one is known and allowed. The
    /// address of a host behind a proxy is not known.
    pub async fn address(&self, host: &HostKey) -> Option<IpAddr> {
        if self.is_behind_proxy(host) {
            return None;
        }
        let resolving = self.0.guard.resolve(host.name(), &self.0.resolver);
        self.0.addresses.best(&resolving.await.ok()?)
    }

    /// Sends other cookies of the user's from now on. What servers have set is forgotten: it
    /// belongs to the login before.
    pub fn use_login(&self, login: CookieFile) {
        if **self.0.login.load() != login {
            self.0.login.store(Arc::new(login));
            self.0.cookies.forget();
            self.0.logins.forget();
        }
    }

    /// Returns why a URL is left alone at a host with a login: visiting it would end that.
    pub fn ends_login(&self, url: &Url) -> Option<Failure> {
        let ends = self.0.login.load().is_for(url) && logs_out(url);
        let why = "it would end the login of fetch.cookie_files";
        ends.then(|| Failure::new(FailureClass::LogsOut, why))
    }

    /// Tells whether a host is visited through a proxy.
    pub fn is_behind_proxy(&self, host: &HostKey) -> bool {
        let options = self.0.requests.at(host);
        *self.0.proxy(&options, host.name()) != Proxy::None
    }

    /// Requests a URL without following a redirect. Keep the reservation as long as the body.
    pub async fn fetch(&self, url: &Url) -> (Outcome, Reservation) {
        self.fetch_as(url, Conditions::default(), Approach::default())
            .await
    }

    /// Requests a URL like [`fetch`](Self::fetch), conditionally: a server that supports it
    /// responds with 304 and no body if the page still matches `conditions`. Connects as
    /// `approach` says.
    pub async fn fetch_as(
        &self,
        url: &Url,
        conditions: Conditions<'_>,
        approach: Approach,
    ) -> (Outcome, Reservation) {
        match self.0.exchange(url, conditions, approach).await {
            Ok((exchange, reservation)) => (Outcome::Exchange(Box::new(exchange)), reservation),
            Err(failure) => (Outcome::Failed(failure), Reservation::default()),
        }
    }
}

/// A request, and its head as recorded.
struct Prepared {
    request: Request,
    head: Vec<u8>,
}

impl Inner {
    /// Returns the proxy through which a host is visited.
    fn proxy<'a>(&self, options: &'a FetchOptions, name: &str) -> &'a Proxy {
        match self.options.hosts.addresses(name) {
            // The addresses of this name are configured here and unknown to the proxy.
            Some(_) => &Proxy::None,
            None => &options.proxy,
        }
    }

    async fn exchange(
        &self,
        url: &Url,
        conditions: Conditions<'_>,
        approach: Approach,
    ) -> Result<(Exchange, Reservation), Failure> {
        let host = HostKey::of(url);
        let mut options = self.requests.at(&host);
        if *self.proxy(&options, url.host_str().unwrap_or_default()) != options.proxy {
            Arc::make_mut(&mut options).proxy = Proxy::None;
        }
        self.check(url, &options.proxy)
            .map_err(|reason| Failure::new(FailureClass::Guard, reason))?;
        let started = Timestamp::now();
        let clock = Instant::now();
        let Prepared { request, head } = self.request(url, &host, &options, conditions, started)?;
        let is_direct = options.proxy == Proxy::None;
        let server = request.url()[..::url::Position::BeforePath].to_owned();
        let (client, is_kept) = self.client(&options.proxy, &server, approach.at)?;
        let wait = options.patience(approach.is_first);
        let sending = connecting(approach.at, client.execute(request));
        let response = match timeout(wait, sending).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.failed(error, approach.at)),
            Err(_) => {
                let message = format!("no response within {} s", wait.as_secs_f32());
                return Err(Failure::silent(message));
            }
        };
        let status = response.status().as_u16();
        if status == 407 && !is_direct {
            let message = "the proxy rejected the credentials (407)";
            return Err(Failure::new(FailureClass::Connect, message));
        }
        let headers = self.headers(&response)?;
        // Through a proxy, the server's address is not known.
        let remote = response.remote_addr().filter(|_| is_direct);
        let protocols = protocols(&response);
        if response.status().is_success() && !approach.is_any_type {
            let declared = headers.iter().find(|(name, _)| name == "content-type");
            let declared = declared.and_then(|(_, value)| std::str::from_utf8(value).ok());
            if let Some(why) = refusal(declared, &options.accept, &options.reject) {
                // The body is not read: the connection ends with the response.
                return Err(Failure::new(FailureClass::Unwanted, why));
            }
        }
        let (body, cut, reservation) = self.read_body(response, &options, clock).await;
        if let Some(remote) = remote {
            self.addresses.accepts(remote.ip());
            if is_kept && approach.at == At::Address(remote.ip()) {
                self.addresses.used(&server, remote.ip());
            }
        }
        let mut exchange = Exchange {
            started,
            duration: clock.elapsed(),
            remote,
            protocols,
            request_head: head,
            status,
            headers,
            body,
            cut,
        };
        if self.keeps_cookies(url, &options) {
            let set = exchange.header_values("set-cookie");
            self.cookies.keep(&host, url, set, Timestamp::now());
        }
        if self.options.hide_credentials && self.has_login(url, &options) {
            exchange.hide("set-cookie");
        }
        if !approach.is_any_type
            && self.login.load().is_for(url)
            && let Some(how) = self.logins.note(&host, url, &exchange)
        {
            let why = match self.login.load().withheld(url, Timestamp::now()) {
                Some(why) => format!("{how}: it got no cookie, because those of the file {why}"),
                None => {
                    format!("{how}: the login of the cookie file has ended, or is not known there")
                }
            };
            tracing::warn!(%host, "{why}; its URLs wait: give new cookies, and `gleaner retry --class session`");
            return Err(Failure::session(why));
        }
        Ok((exchange, reservation))
    }

    /// Tells whether a host is visited with credentials of the configuration, so that its cookies
    /// are as good as these.
    fn has_login(&self, url: &Url, options: &FetchOptions) -> bool {
        options.auth.is_some() || options.headers.has_secret() || self.login.load().is_for(url)
    }

    /// Tells whether a host gets its cookies back: a login may change them.
    fn keeps_cookies(&self, url: &Url, options: &FetchOptions) -> bool {
        options.cookies == CookieMode::Host || self.login.load().is_for(url)
    }

    /// Returns the client for a visit, whose connections lead where the visit is to be made, and
    /// whether it keeps them.
    fn client(&self, proxy: &Proxy, server: &str, at: At) -> Result<(&Client, bool), Failure> {
        let may_reuse = match at {
            _ if *proxy != Proxy::None => true,
            At::Anywhere => true,
            At::Address(ip) => self.addresses.may_reuse(server, ip),
            At::Nowhere => false,
        };
        if !may_reuse {
            return Ok((&self.reconnecting, false));
        }
        let internal = || Failure::new(FailureClass::Internal, "no client for the proxy");
        let client = self.clients.get(proxy).ok_or_else(internal)?;
        Ok((client, true))
    }

    /// Returns the failure of a request, and remembers an address that accepted no connection.
    fn failed(&self, error: reqwest::Error, at: At) -> Failure {
        let failure = classify(error);
        if let At::Address(ip) = at
            && failure.is_unreached()
        {
            self.addresses.shun(ip);
        }
        failure
    }

    /// Checks whether a URL may be requested. The error says why not.
    fn check(&self, url: &Url, proxy: &Proxy) -> Result<(), String> {
        let name = url.host_str().unwrap_or_default();
        // The proxy's own name is resolved without the guard, so it must not become a way around
        // it.
        if proxy.is_at(name) {
            return Err(format!("{name} is the proxy itself, which is not crawled"));
        }
        (self.guard.check(url)).map_err(|refused| refused.to_string())
    }

    /// Builds the request. Every header is set here, so that the record shows what was sent.
    fn request(
        &self,
        url: &Url,
        host: &HostKey,
        options: &FetchOptions,
        conditions: Conditions<'_>,
        now: Timestamp,
    ) -> Result<Prepared, Failure> {
        let mut url = url.clone();
        // Credentials in a link are not ours to send.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_fragment(None);
        let authority = match (url.host_str(), url.port()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            (Some(host), None) => host.to_owned(),
            (None, _) => String::new(),
        };
        let malformed = |_| {
            Failure::new(
                FailureClass::Protocol,
                "the host cannot be sent as a header",
            )
        };
        let name = url.host_str().unwrap_or_default();
        if self.options.hosts.has_ports(name) {
            // An explicit port would be connected to instead of the port that the resolver returns.
            let _ = url.set_port(None);
        }
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_str(&authority).map_err(malformed)?);
        headers.insert(USER_AGENT, self.user_agent.clone());
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("text/html,application/xhtml+xml,*/*;q=0.8"),
        );
        headers.insert(
            ACCEPT_ENCODING,
            HeaderValue::from_static("gzip, deflate, br, zstd"),
        );
        let mut secrets: Vec<HeaderName> = Vec::new();
        for (name, value) in options.headers.iter() {
            headers.insert(name.clone(), value.clone());
            if is_secret(name.as_str()) {
                secrets.push(name.clone());
            }
        }
        if let Some(value) = options.auth.as_ref().and_then(|it| basic(it.reveal())) {
            headers.insert(AUTHORIZATION, value);
            secrets.push(AUTHORIZATION);
        }
        if self.has_login(&url, options) {
            secrets.push(COOKIE);
        }
        let takes_url = url.scheme() == "http" && options.proxy.takes_urls();
        if let Some(value) = options.proxy.authorization().filter(|_| takes_url) {
            headers.insert(PROXY_AUTHORIZATION, value);
            secrets.push(PROXY_AUTHORIZATION);
        }
        if self.keeps_cookies(&url, options)
            && !headers.contains_key(COOKIE)
            && let Some(cookies) = self
                .cookies
                .header_with(&self.login.load(), (host, &url), now)
            && let Ok(cookies) = HeaderValue::from_str(&cookies)
        {
            headers.insert(COOKIE, cookies);
        }
        for (name, value) in [
            (IF_NONE_MATCH, conditions.etag),
            (IF_MODIFIED_SINCE, conditions.last_modified),
        ] {
            if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
                headers.insert(name, value);
            }
        }
        if !self.options.hide_credentials {
            secrets.clear();
        }
        let mut request = Request::new(Method::GET, url);
        *request.headers_mut() = headers;
        Ok(Prepared {
            head: request_head(&request, takes_url, &secrets),
            request,
        })
    }

    fn headers(&self, response: &Response) -> Result<Vec<(String, Vec<u8>)>, Failure> {
        let headers: Vec<_> = response
            .headers()
            .iter()
            .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
            .collect();
        let bytes: usize = headers
            .iter()
            .map(|(name, value)| name.len() + value.len() + 4)
            .sum();
        let limit = self.options.max_header.bytes();
        if bytes > limit {
            let message = format!("{bytes} bytes of headers, the maximum is {limit}");
            return Err(Failure::new(FailureClass::Protocol, message));
        }
        Ok(headers)
    }

    /// Reads the body within the bounds. Whatever ended it, the part that was received is kept.
    async fn read_body(
        &self,
        mut response: Response,
        options: &FetchOptions,
        clock: Instant,
    ) -> (Bytes, Option<Cut>, Reservation) {
        let limit = options.max_body.bytes();
        let mut deadline = clock + options.total_timeout.0;
        let waiting = Instant::now();
        let mut reservation = self.budget.reserve(response.content_length(), limit).await;
        // The server is not charged for the time spent waiting for memory.
        deadline += waiting.elapsed();
        // In one piece if its length is known, so that it is not moved while it grows.
        let expected = response.content_length().unwrap_or(0);
        let expected = usize::try_from(expected).unwrap_or(usize::MAX);
        let mut body = BytesMut::with_capacity(expected.min(reservation.bytes()));
        let cut = loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let chunk = match timeout(left, response.chunk()).await {
                Err(_) => break Some(Cut::Time),
                Ok(Err(_)) => break Some(Cut::Disconnect),
                Ok(Ok(None)) => break None,
                Ok(Ok(Some(chunk))) => chunk,
            };
            let waiting = Instant::now();
            self.throttle.pass(chunk.len()).await;
            // Nor for the time that we take.
            deadline += waiting.elapsed();
            if body.len() + chunk.len() > reservation.bytes() {
                let waiting = Instant::now();
                self.budget.grow(&mut reservation).await;
                deadline += waiting.elapsed();
            }
            if body.len() + chunk.len() > limit {
                body.extend_from_slice(&chunk[..limit - body.len()]);
                break Some(Cut::Length);
            }
            body.extend_from_slice(&chunk);
        };
        reservation.shrink(body.len());
        (body.freeze(), cut, reservation)
    }
}

/// Returns a client for a service that the operator names, such as a store for files: it fetches
/// nothing of the web, so no guard stands before it.
///
/// # Errors
///
/// [`Error`] if TLS cannot be set up with these PEM files of further root certificates.
pub fn service_client(ca_files: &[PathBuf]) -> Result<Client, Error> {
    /// Servers whose sessions are kept.
    const SERVERS: usize = 8;
    let client = Client::builder()
        .tls_backend_preconfigured(tls::config(ca_files, SERVERS)?)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy();
    Ok(client.build()?)
}

/// Returns a builder with the settings that the clients of all proxies share.
fn client(options: &FetchOptions, tls: rustls::ClientConfig) -> ClientBuilder {
    let max_header = u32::try_from(options.max_header.0).unwrap_or(u32::MAX);
    Client::builder()
        .tls_backend_preconfigured(tls)
        .tls_info(true)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .connect_timeout(options.connect_timeout.0)
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(MAX_IDLE)
        .http1_max_headers(options.max_header_fields)
        // Like browsers, read as much of an invalid head as possible.
        .http1_ignore_invalid_headers_in_responses(true)
        .http1_allow_obsolete_multiline_headers_in_responses(true)
        .http1_allow_spaces_after_header_name_in_responses(true)
        .http2_max_header_list_size(max_header)
        .http2_initial_stream_window_size(H2_WINDOW)
        .http2_initial_connection_window_size(H2_WINDOW)
}

/// Returns the head as hyper writes it: header names in lower case, in the order in which they were
/// set; with the full URL for a proxy that takes URLs. The values of the headers in `secrets` are
/// hidden.
fn request_head(request: &Request, takes_url: bool, secrets: &[HeaderName]) -> Vec<u8> {
    let url = request.url();
    let target = if takes_url {
        url.as_str()
    } else {
        &url[::url::Position::BeforePath..::url::Position::AfterQuery]
    };
    let mut head = format!("GET {target} HTTP/1.1\r\n").into_bytes();
    for (name, value) in request.headers() {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(if secrets.contains(name) {
            HIDDEN.as_bytes()
        } else {
            value.as_bytes()
        });
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    head
}

/// Returns the protocols in use, higher layers first.
fn protocols(response: &Response) -> Vec<&'static str> {
    let http = match response.version() {
        Version::HTTP_2 => "h2",
        Version::HTTP_10 => "http/1.0",
        _ => "http/1.1",
    };
    let tls = response.extensions().get::<TlsInfo>();
    [http]
        .into_iter()
        .chain(tls.and_then(tls::protocol))
        .collect()
}
