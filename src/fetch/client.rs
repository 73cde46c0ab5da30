//! The HTTP client: hyper, without decoding, redirects and retries of its own. Where it connects to
//! is decided here, by the guard and by whoever asks for the visit.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use hyper::body::{Body as _, Incoming};
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, COOKIE, HOST, HeaderMap, HeaderName, HeaderValue,
    IF_MODIFIED_SINCE, IF_NONE_MATCH, PROXY_AUTHORIZATION, USER_AGENT,
};
use hyper::{Request, Response, Uri, Version};
use jiff::Timestamp;
use tokio::time::timeout;

use super::cookies::Cookies;
use super::http::{Connection, Connector, Limits, Nothing, Pool, Server};
use super::options::Requests;
use super::proxy::{Proxy, basic};
use super::request::CookieMode;
use super::resolver::Resolver;
use super::secret::{HIDDEN, is_secret};
use super::{
    ByteBudget, Conditions, Cut, Error, Exchange, Failure, FailureClass, FetchOptions, Guard,
    Outcome, Reservation, tls,
};
use crate::units::Size;
use crate::url::{HostKey, Url};

/// How long an address that accepted no connection comes after the others of its name.
const SHUNNED: Duration = Duration::from_mins(10);
/// Maximum number of such addresses.
const MAX_SHUNNED: usize = 4_096;

/// Sends requests, subject to the guard and the bounds. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Fetcher(Arc<Inner>);

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

#[derive(Debug)]
struct Inner {
    connector: Connector,
    pool: Pool,
    resolver: Arc<Resolver>,
    guard: Arc<Guard>,
    budget: ByteBudget,
    requests: Requests,
    cookies: Cookies,
    options: FetchOptions,
    user_agent: HeaderValue,
    /// Addresses that accepted no connection, and when.
    shunned: Mutex<HashMap<IpAddr, Instant>>,
}

impl Fetcher {
    /// Sets up the client.
    pub fn new(options: FetchOptions, guard: Arc<Guard>) -> Result<Self, Error> {
        let user_agent = HeaderValue::from_str(&options.user_agent)
            .map_err(|_| Error::UserAgent(options.user_agent.clone()))?;
        let limits = Limits {
            fields: options.max_header_fields,
            bytes: options.max_header.bytes(),
        };
        Ok(Self(Arc::new(Inner {
            connector: Connector::new(tls::config(&options.ca_files)?, limits),
            pool: Pool::default(),
            resolver: Arc::new(Resolver::new(&options.dns(), options.connect_timeout.0)),
            guard,
            budget: ByteBudget::new(options.body_budget.bytes(), longest_body(&options)),
            requests: Requests::new(&options),
            cookies: Cookies::default(),
            options,
            user_agent,
            shunned: Mutex::default(),
        })))
    }

    /// Returns the address at which a host is to be visited, if one is known and allowed. The
    /// address of a host behind a proxy is not known.
    pub async fn address(&self, host: &HostKey) -> Option<IpAddr> {
        let name = host.name();
        if self.is_behind_proxy(host) {
            return None;
        }
        let found = self.0.guard.resolve(name, &self.0.resolver).await.ok()?;
        let shunned = self.0.shunned();
        let is_shunned = |ip: IpAddr| shunned.get(&ip).is_some_and(|at| at.elapsed() < SHUNNED);
        let mut ips = found.iter().map(SocketAddr::ip);
        let best = ips.clone().find(|ip| !is_shunned(*ip));
        best.or_else(|| ips.next())
    }

    /// Tells whether a host is visited through a proxy.
    pub fn is_behind_proxy(&self, host: &HostKey) -> bool {
        let options = self.0.requests.at(host);
        *self.0.proxy(&options, host.name()) != Proxy::None
    }

    /// Requests a URL without following a redirect. Keep the reservation as long as the body.
    pub async fn fetch(&self, url: &Url) -> (Outcome, Reservation) {
        self.fetch_at(url, Conditions::default(), At::Anywhere)
            .await
    }

    /// Requests a URL like [`fetch`](Self::fetch), conditionally: a server that supports it
    /// responds with 304 and no body if the page still matches `conditions`. Connects `at` one
    /// address, if that is wanted; behind a proxy, that is the proxy's affair.
    pub async fn fetch_at(
        &self,
        url: &Url,
        conditions: Conditions<'_>,
        at: At,
    ) -> (Outcome, Reservation) {
        match self.0.exchange(url, conditions, at).await {
            Ok((exchange, reservation)) => (Outcome::Exchange(Box::new(exchange)), reservation),
            Err(failure) => (Outcome::Failed(failure), Reservation::default()),
        }
    }
}

/// Where a request goes, and how.
struct Route<'a> {
    url: &'a Url,
    options: &'a FetchOptions,
    at: At,
    /// Scheme, host and port of the server.
    origin: String,
}

/// A request, and its head as recorded.
struct Prepared {
    headers: HeaderMap,
    /// What is asked for over HTTP/1: a path and query, or a whole URL.
    target: String,
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
        at: At,
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
        let Prepared {
            headers,
            head,
            target,
        } = self.request(url, &host, &options, conditions, started)?;
        let route = Route {
            url,
            options: &options,
            at,
            origin: url[..::url::Position::BeforePath].to_owned(),
        };
        let answering = self.answer(&route, &headers, &target);
        let (response, connection) =
            timeout(options.head_timeout.0, answering)
                .await
                .map_err(|_| {
                    let waited = options.head_timeout.0.as_secs_f32();
                    Failure::new(
                        FailureClass::Timeout,
                        format!("no response within {waited} s"),
                    )
                })??;
        let status = response.status().as_u16();
        let is_direct = options.proxy == Proxy::None;
        if status == 407 && !is_direct {
            let message = "the proxy rejected the credentials (407)";
            return Err(Failure::new(FailureClass::Connect, message));
        }
        let headers = self.headers(&response)?;
        let remote = connection.remote;
        let protocols = protocols(&response, &connection);
        let sent_head = connection.take_head();
        let (body, cut, reservation) = self
            .read_body(response, &connection, &options, clock)
            .await?;
        if cut.is_none() {
            self.pool.put(&options.proxy, &route.origin, connection);
        }
        let mut exchange = Exchange {
            started,
            duration: clock.elapsed(),
            remote,
            protocols,
            request_head: head,
            status,
            headers,
            sent_head,
            body,
            cut,
        };
        if options.cookies == CookieMode::Host {
            let set = exchange.header_values("set-cookie");
            self.cookies.keep(&host, url, set, Timestamp::now());
        }
        if self.options.hide_credentials && has_login(&options) {
            exchange.hide("set-cookie");
        }
        Ok((exchange, reservation))
    }

    /// Sends a request, on a connection that is at hand or a new one, and waits for the head of the
    /// response.
    async fn answer(
        &self,
        route: &Route<'_>,
        headers: &HeaderMap,
        target: &str,
    ) -> Result<(Response<Incoming>, Connection), Failure> {
        let ip = match route.at {
            At::Address(ip) => Some(ip),
            At::Anywhere | At::Nowhere => None,
        };
        let proxy = &route.options.proxy;
        let kept = self.pool.take(proxy, &route.origin, ip).await;
        let mut may_send_again = kept.is_some();
        let mut connection = match kept {
            Some(connection) => connection,
            None => self.connect(route).await?,
        };
        loop {
            let request = assemble(route.url, headers, target, &connection)?;
            match connection.send(request).await {
                Ok(response) => return Ok((response, connection)),
                // The server closed the connection before the request was sent.
                Err((_, Some(_))) if may_send_again => {
                    may_send_again = false;
                    connection = self.connect(route).await?;
                }
                Err((failure, _)) => return Err(failure),
            }
        }
    }

    /// Connects to a server, within the time that there is for it.
    async fn connect(&self, route: &Route<'_>) -> Result<Connection, Failure> {
        let patience = self.options.connect_timeout.0;
        let connecting = self.connect_in(route, patience);
        timeout(patience, connecting).await.unwrap_or_else(|_| {
            let message = format!("no connection within {} s", patience.as_secs_f32());
            Err(Failure::new(FailureClass::Timeout, message))
        })
    }

    async fn connect_in(
        &self,
        route: &Route<'_>,
        patience: Duration,
    ) -> Result<Connection, Failure> {
        let Route {
            url, options, at, ..
        } = route;
        // The rest is for TLS, and so an address that is silent is told from a slow server.
        let accepting = patience * 3 / 4;
        let port = url.port_or_known_default().unwrap_or(80);
        let server = Server {
            host: url.host_str().unwrap_or_default(),
            port,
            is_secure: url.scheme() == "https",
        };
        let Some((proxy, proxy_port)) = options.proxy.place() else {
            let addresses = with_port(self.addresses(server.host, *at).await?, port);
            let connected = (self.connector).direct(server, &addresses, accepting).await;
            self.shun(&addresses, &connected);
            return connected;
        };
        let checked = match options.proxy.resolves() {
            true => Vec::new(),
            false => self.addresses(server.host, At::Anywhere).await?,
        };
        let checked = checked.first().copied();
        // The proxy's own name may lead anywhere, because the user chose it.
        let literal = proxy.trim_start_matches('[').trim_end_matches(']');
        let found = match literal.parse::<IpAddr>() {
            Ok(ip) => vec![SocketAddr::new(ip, 0)],
            Err(_) => self.resolver.lookup(proxy).await?,
        };
        let addresses = with_port(found, proxy_port);
        (self.connector)
            .through(&options.proxy, server, checked, &addresses, accepting)
            .await
    }

    /// The addresses at which a host may be connected to.
    async fn addresses(&self, name: &str, at: At) -> Result<Vec<SocketAddr>, Failure> {
        let found = match at {
            At::Address(ip) => self.guard.resolved(name, ip).map(|it| vec![it])?,
            At::Anywhere => self.guard.resolve(name, &self.resolver).await?,
            At::Nowhere => {
                self.guard.resolve(name, &self.resolver).await?;
                // It has an address by now, which was not kept free for this visit.
                let message = format!("{name} had no address at first");
                return Err(Failure::unreached(FailureClass::Dns, message));
            }
        };
        Ok(found)
    }

    /// Remembers an address that accepted no connection, so that another one of its host is tried.
    fn shun(&self, addresses: &[SocketAddr], connected: &Result<Connection, Failure>) {
        let mut shunned = self.shunned();
        match connected {
            Ok(connection) => {
                if let Some(remote) = connection.remote {
                    shunned.remove(&remote.ip());
                }
            }
            Err(failure) if failure.is_unreached() => {
                if shunned.len() >= MAX_SHUNNED {
                    shunned.retain(|_, at| at.elapsed() < SHUNNED / 10);
                }
                let now = Instant::now();
                let left = MAX_SHUNNED.saturating_sub(shunned.len());
                shunned.extend(addresses.iter().take(left).map(|it| (it.ip(), now)));
            }
            Err(_) => {}
        }
    }

    fn shunned(&self) -> std::sync::MutexGuard<'_, HashMap<IpAddr, Instant>> {
        self.shunned.lock().unwrap_or_else(PoisonError::into_inner)
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
        let url = &bare(url);
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
        if has_login(options) {
            secrets.push(COOKIE);
        }
        let takes_url = url.scheme() == "http" && options.proxy.takes_urls();
        if let Some(value) = options.proxy.authorization().filter(|_| takes_url) {
            headers.insert(PROXY_AUTHORIZATION, value);
            secrets.push(PROXY_AUTHORIZATION);
        }
        if options.cookies == CookieMode::Host
            && !headers.contains_key(COOKIE)
            && let Some(cookies) = self.cookies.header(host, url, now)
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
        let target = match takes_url {
            true => url.as_str(),
            false => &url[::url::Position::BeforePath..::url::Position::AfterQuery],
        };
        Ok(Prepared {
            head: request_head(target, &headers, &secrets),
            target: target.to_owned(),
            headers,
        })
    }

    fn headers(&self, response: &Response<Incoming>) -> Result<Vec<(String, Vec<u8>)>, Failure> {
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

    /// Reads the body within the bounds. Whatever ended it, the part that was received is kept,
    /// unless the server sends what is no body at all.
    async fn read_body(
        &self,
        response: Response<Incoming>,
        connection: &Connection,
        options: &FetchOptions,
        clock: Instant,
    ) -> Result<(Bytes, Option<Cut>, Reservation), Failure> {
        let mut incoming = response.into_body();
        let limit = options.max_body.bytes();
        let mut deadline = clock + options.total_timeout.0;
        let waiting = Instant::now();
        let mut reservation = self
            .budget
            .reserve(incoming.size_hint().exact(), limit)
            .await;
        // The server is not charged for the time spent waiting for memory.
        deadline += waiting.elapsed();
        let mut body = BytesMut::new();
        let cut = loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let chunk = match timeout(left, connection.chunk(&mut incoming)).await {
                Err(_) => break Some(Cut::Time),
                Ok(None) => break None,
                Ok(Some(Err(_))) => match connection.flood() {
                    Some(failure) => return Err(failure),
                    None => break Some(Cut::Disconnect),
                },
                Ok(Some(Ok(chunk))) => chunk,
            };
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
        Ok((body.freeze(), cut, reservation))
    }
}

/// Tells whether a host is visited with credentials of the configuration, so that its cookies are
/// as good as these.
fn has_login(options: &FetchOptions) -> bool {
    options.auth.is_some() || options.headers.has_secret()
}

/// Returns the length of the longest body that is read from any host.
fn longest_body(options: &FetchOptions) -> usize {
    let bodies = options.own.iter().filter_map(|(_, it)| it.max_body);
    bodies.fold(options.max_body, Size::max).bytes()
}

/// Returns addresses with this port where they have none of their own.
fn with_port(mut addresses: Vec<SocketAddr>, port: u16) -> Vec<SocketAddr> {
    for address in addresses.iter_mut().filter(|it| it.port() == 0) {
        address.set_port(port);
    }
    addresses
}

/// Returns a URL without credentials and fragment: those in a link are not ours to send.
fn bare(url: &Url) -> Url {
    let mut bare = url.clone();
    let _ = (bare.set_username(""), bare.set_password(None));
    bare.set_fragment(None);
    bare
}

/// Returns a request as a connection takes it: over HTTP/2 with scheme and host, which are sent
/// apart there.
fn assemble(
    url: &Url,
    headers: &HeaderMap,
    target: &str,
    connection: &Connection,
) -> Result<Request<Nothing>, Failure> {
    let malformed = || Failure::new(FailureClass::Protocol, "the URL cannot be requested");
    let uri = if connection.is_http2() {
        Uri::try_from(bare(url).as_str()).map_err(|_| malformed())?
    } else if target.starts_with('/') {
        // A path that begins with two slashes is not a URL without a scheme.
        let path = target.parse().map_err(|_| malformed())?;
        let mut parts = hyper::http::uri::Parts::default();
        parts.path_and_query = Some(path);
        Uri::from_parts(parts).map_err(|_| malformed())?
    } else {
        Uri::try_from(target).map_err(|_| malformed())?
    };
    let mut request = Request::new(Nothing::new());
    *request.uri_mut() = uri;
    *request.headers_mut() = headers.clone();
    Ok(request)
}

/// Returns the head as hyper writes it: header names in lower case, in the order in which they were
/// set. The values of the headers in `secrets` are hidden.
fn request_head(target: &str, headers: &HeaderMap, secrets: &[HeaderName]) -> Vec<u8> {
    let mut head = format!("GET {target} HTTP/1.1\r\n").into_bytes();
    for (name, value) in headers {
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
fn protocols(response: &Response<Incoming>, connection: &Connection) -> Vec<&'static str> {
    let http = match response.version() {
        Version::HTTP_2 => "h2",
        Version::HTTP_10 => "http/1.0",
        _ => "http/1.1",
    };
    [http].into_iter().chain(connection.tls).collect()
}
