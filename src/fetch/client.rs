//! The HTTP client: reqwest with its decoding, redirects and retries off.

use std::error::Error as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use jiff::Timestamp;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, HOST, HeaderMap, HeaderValue, USER_AGENT};
use reqwest::{Client, Method, Request, Response, Version};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::time::timeout;

use super::guard::{GuardedResolver, NotResolved, Refused};
use super::{
    ByteBudget, Cut, Error, Exchange, Failure, FailureClass, FetchOptions, Guard, Outcome,
    Reservation,
};
use crate::url::Url;

/// How long an idle connection is kept. Servers close theirs after 5 s and more (Apache's default
/// is 5): a shorter time here makes it unlikely to send into a closing connection.
const IDLE: Duration = Duration::from_secs(4);
/// Makes requests, within guard and bounds. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Fetcher {
    client: Client,
    guard: Arc<Guard>,
    budget: ByteBudget,
    options: Arc<FetchOptions>,
    user_agent: HeaderValue,
}

impl Fetcher {
    /// Sets the client up.
    pub fn new(options: FetchOptions, guard: Arc<Guard>) -> Result<Self, Error> {
        let user_agent = HeaderValue::from_str(&options.user_agent)
            .map_err(|_| Error::UserAgent(options.user_agent.clone()))?;
        let client = Client::builder()
            .tls_backend_preconfigured(tls()?)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_proxy()
            .dns_resolver(Arc::new(GuardedResolver(Arc::clone(&guard))))
            .connect_timeout(options.connect_timeout)
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(1)
            .http1_max_headers(options.max_header_fields)
            // As browsers do: what of a head can be read is read.
            .http1_ignore_invalid_headers_in_responses(true)
            .http1_allow_obsolete_multiline_headers_in_responses(true)
            .http1_allow_spaces_after_header_name_in_responses(true)
            .build()?;
        Ok(Self {
            client,
            guard,
            budget: ByteBudget::new(options.body_budget_bytes, options.max_body_bytes),
            options: Arc::new(options),
            user_agent,
        })
    }

    /// Requests a URL, without following a redirect. The reservation is to be kept as long as the
    /// body.
    pub async fn fetch(&self, url: &Url) -> (Outcome, Reservation) {
        match self.exchange(url).await {
            Ok((exchange, reservation)) => (Outcome::Exchange(Box::new(exchange)), reservation),
            Err(failure) => (Outcome::Failed(failure), Reservation::default()),
        }
    }

    async fn exchange(&self, url: &Url) -> Result<(Exchange, Reservation), Failure> {
        self.guard
            .check(url)
            .map_err(|refused| Failure::new(FailureClass::Guard, refused.to_string()))?;
        let request = self.request(url)?;
        let request_head = request_head(&request);
        let started = Timestamp::now();
        let clock = Instant::now();
        let response = timeout(self.options.head_timeout, self.client.execute(request))
            .await
            .map_err(|_| {
                let waited = self.options.head_timeout.as_secs_f32();
                Failure::new(
                    FailureClass::Timeout,
                    format!("no answer within {waited} s"),
                )
            })?
            .map_err(classify)?;
        let status = response.status().as_u16();
        let headers = self.headers(&response)?;
        let remote = response.remote_addr();
        let protocols = protocols(&response);
        let (body, cut, reservation) = self.read_body(response, clock).await;
        let exchange = Exchange {
            started,
            duration: clock.elapsed(),
            remote,
            protocols,
            request_head,
            status,
            headers,
            body,
            cut,
        };
        Ok((exchange, reservation))
    }

    /// The request, with every header set here, so that its record is what was sent.
    fn request(&self, url: &Url) -> Result<Request, Failure> {
        let mut url = url.clone();
        // Credentials in a link are not ours to send.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        let host = match (url.host_str(), url.port()) {
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
        if self
            .options
            .hosts
            .has_ports(url.host_str().unwrap_or_default())
        {
            // An explicit port would be connected to instead of the one that the resolver gives.
            let _ = url.set_port(None);
        }
        let mut request = Request::new(Method::GET, url);
        let headers = request.headers_mut();
        headers.insert(HOST, HeaderValue::from_str(&host).map_err(malformed)?);
        headers.insert(USER_AGENT, self.user_agent.clone());
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("text/html,application/xhtml+xml,*/*;q=0.8"),
        );
        headers.insert(
            ACCEPT_ENCODING,
            HeaderValue::from_static("gzip, deflate, br, zstd"),
        );
        Ok(request)
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
        if bytes > self.options.max_header_bytes {
            let limit = self.options.max_header_bytes;
            let message = format!("{bytes} bytes of headers, more than {limit}");
            return Err(Failure::new(FailureClass::Protocol, message));
        }
        Ok(headers)
    }

    /// Reads the body up to the bounds; what came is kept whatever ends it.
    async fn read_body(
        &self,
        mut response: Response,
        clock: Instant,
    ) -> (Bytes, Option<Cut>, Reservation) {
        let limit = self.options.max_body_bytes;
        let mut deadline = clock + self.options.total_timeout;
        let waiting = Instant::now();
        let mut reservation = self.budget.reserve(response.content_length()).await;
        // The server is not to blame for the time that we wait for room.
        deadline += waiting.elapsed();
        let mut body = BytesMut::new();
        let cut = loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let chunk = match timeout(left, response.chunk()).await {
                Err(_) => break Some(Cut::Time),
                Ok(Err(_)) => break Some(Cut::Disconnect),
                Ok(Ok(None)) => break None,
                Ok(Ok(Some(chunk))) => chunk,
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
        (body.freeze(), cut, reservation)
    }
}

/// rustls with ring, verifying by the platform's roots.
fn tls() -> Result<rustls::ClientConfig, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = || {
        rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
    };
    let mut config = match builder()?.with_platform_verifier() {
        Ok(builder) => builder.with_no_client_auth(),
        Err(error) => {
            // Plain http needs no roots: a machine without them can still crawl it.
            tracing::warn!(%error, "no root certificates: every https host will fail");
            builder()?
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_no_client_auth()
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// The head as hyper writes it: header names in lower case, in the order in which they were set.
fn request_head(request: &Request) -> Vec<u8> {
    let url = request.url();
    let mut head = format!("GET {}", url.path()).into_bytes();
    if let Some(query) = url.query() {
        head.push(b'?');
        head.extend_from_slice(query.as_bytes());
    }
    head.extend_from_slice(b" HTTP/1.1\r\n");
    write_headers(&mut head, request.headers());
    head
}

fn write_headers(head: &mut Vec<u8>, headers: &HeaderMap) {
    for (name, value) in headers {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
}

fn protocols(response: &Response) -> Vec<&'static str> {
    let http = match response.version() {
        Version::HTTP_2 => "h2",
        Version::HTTP_10 => "http/1.0",
        _ => "http/1.1",
    };
    vec![http]
}

/// The class of a failure, by what its chain of sources holds.
fn classify(error: reqwest::Error) -> Failure {
    let mut class = match () {
        () if error.is_timeout() => FailureClass::Timeout,
        () if error.is_connect() => FailureClass::Connect,
        () if error.is_builder() => FailureClass::Protocol,
        () => FailureClass::Disconnect,
    };
    let mut message = String::new();
    let mut source = error.source();
    while let Some(cause) = source {
        message = cause.to_string();
        if cause.is::<Refused>() {
            class = FailureClass::Guard;
            break;
        } else if cause.is::<NotResolved>() {
            class = FailureClass::Dns;
            break;
        } else if cause.is::<rustls::Error>() {
            class = FailureClass::Tls;
            break;
        } else if cause.downcast_ref().is_some_and(hyper::Error::is_parse) {
            class = FailureClass::Protocol;
        } else if let Some(io) = cause.downcast_ref::<std::io::Error>()
            && let Some(inner) = io.get_ref()
            && inner.is::<rustls::Error>()
        {
            class = FailureClass::Tls;
            message = inner.to_string();
            break;
        }
        source = cause.source();
    }
    if message.is_empty() {
        message = error.without_url().to_string();
    }
    Failure::new(class, message)
}
