//! Makes connections: to an address, perhaps through a proxy, perhaps secured by TLS.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::header::HeaderValue;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::connection::{Connection, Limits};
use super::tunnel::{self, Destination};
use super::wire::{HeadTap, Meter, Metered, Tapped};
use crate::fetch::{Failure, FailureClass, Proxy, tls};

/// A stream of bytes, whatever it goes through.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// A server to connect to.
#[derive(Debug, Clone, Copy)]
pub(in crate::fetch) struct Server<'a> {
    /// Its name or literal address, as in URLs.
    pub(in crate::fetch) host: &'a str,
    pub(in crate::fetch) port: u16,
    /// Whether it is spoken to through TLS.
    pub(in crate::fetch) is_secure: bool,
}

/// Makes connections.
#[derive(Debug)]
pub(in crate::fetch) struct Connector {
    /// For servers.
    tls: Arc<ClientConfig>,
    /// For proxies, to which HTTP/1.1 is spoken.
    tls_to_proxy: Arc<ClientConfig>,
    limits: Limits,
}

impl Connector {
    pub(in crate::fetch) fn new(config: ClientConfig, limits: Limits) -> Self {
        let mut to_proxy = config.clone();
        to_proxy.alpn_protocols.clear();
        Self {
            tls: Arc::new(config),
            tls_to_proxy: Arc::new(to_proxy),
            limits,
        }
    }

    /// Connects to a server at the first of these addresses that accepts.
    pub(in crate::fetch) async fn direct(
        &self,
        server: Server<'_>,
        addresses: &[SocketAddr],
        patience: Duration,
    ) -> Result<Connection, Failure> {
        let (stream, meter, remote) = tcp(addresses, patience).await?;
        self.over(Box::new(stream), meter, server, Some(remote))
            .await
    }

    /// Connects to a server through a proxy, which is at one of `addresses`. `checked` is the
    /// address that the proxy is asked for in place of the server's name, if that was resolved.
    pub(in crate::fetch) async fn through(
        &self,
        proxy: &Proxy,
        server: Server<'_>,
        checked: Option<SocketAddr>,
        addresses: &[SocketAddr],
        patience: Duration,
    ) -> Result<Connection, Failure> {
        let (stream, meter, _) = tcp(addresses, patience).await?;
        let mut stream: Box<dyn Stream> = Box::new(stream);
        let url = proxy.url();
        if url.is_some_and(|url| url.scheme() == "https") {
            let name = url.and_then(|url| url.host_str()).unwrap_or_default();
            let connector = TlsConnector::from(Arc::clone(&self.tls_to_proxy));
            let secured = connector.connect(server_name(name)?, stream).await;
            stream = Box::new(secured.map_err(|error| refused(&error))?);
        }
        if !proxy.takes_urls() {
            let destination = match (checked, bare(server.host).parse()) {
                (Some(checked), _) => Destination::Address(checked.ip()),
                (None, Ok(ip)) => Destination::Address(ip),
                (None, Err(_)) => Destination::Name(server.host),
            };
            let credentials = proxy.credentials();
            tunnel::socks(&mut stream, destination, server.port, credentials.as_ref())
                .await
                .map_err(|error| refused(&error))?;
        } else if server.is_secure {
            let authority = format!("{}:{}", server.host, server.port);
            let authorization = proxy.authorization();
            let authorization = authorization.as_ref().map(HeaderValue::as_bytes);
            tunnel::connect(&mut stream, &authority, authorization)
                .await
                .map_err(|error| refused(&error))?;
        }
        self.over(stream, meter, server, None).await
    }

    /// Begins to speak HTTP to a server over a stream that leads there.
    async fn over(
        &self,
        stream: Box<dyn Stream>,
        meter: Arc<Meter>,
        server: Server<'_>,
        remote: Option<SocketAddr>,
    ) -> Result<Connection, Failure> {
        let tap = Arc::new(HeadTap::default());
        if !server.is_secure {
            let stream = Tapped {
                stream,
                tap: Arc::clone(&tap),
            };
            return Connection::http1(stream, &self.limits, meter, tap, remote, None).await;
        }
        let connector = TlsConnector::from(Arc::clone(&self.tls));
        let connecting = connector.connect(server_name(server.host)?, stream);
        let stream = connecting.await.map_err(|error| match meter.is_flooded() {
            true => Failure::flood("it sent too much before the connection was secure"),
            false => refused(&error),
        })?;
        let session = stream.get_ref().1;
        let is_http2 = session.alpn_protocol() == Some(b"h2");
        let version = session.protocol_version().and_then(tls::protocol);
        if is_http2 {
            return Connection::http2(stream, &self.limits, meter, remote, version).await;
        }
        let stream = Tapped {
            stream,
            tap: Arc::clone(&tap),
        };
        Connection::http1(stream, &self.limits, meter, tap, remote, version).await
    }
}

/// Connects to the first of these addresses that accepts; each gets its share of the time.
async fn tcp(
    addresses: &[SocketAddr],
    patience: Duration,
) -> Result<(Metered<TcpStream>, Arc<Meter>, SocketAddr), Failure> {
    let deadline = Instant::now() + patience;
    let mut failure = Failure::new(FailureClass::Dns, "there is no address");
    for (nth, address) in addresses.iter().enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        let share = left / u32::try_from(addresses.len() - nth).unwrap_or(u32::MAX);
        match timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // A request is one write, and is not to wait for more.
                let _ = stream.set_nodelay(true);
                let meter = Arc::new(Meter::default());
                let metered = Metered {
                    stream,
                    meter: Arc::clone(&meter),
                };
                return Ok((metered, meter, *address));
            }
            Ok(Err(error)) => {
                failure = Failure::unreached(FailureClass::Connect, error.to_string());
            }
            Err(_) => {
                let message = format!("no connection within {} s", patience.as_secs_f32());
                failure = Failure::unreached(FailureClass::Timeout, message);
            }
        }
    }
    Err(failure)
}

/// Returns the failure of a connection that could not be secured, or that a proxy did not make.
fn refused(error: &io::Error) -> Failure {
    match error.get_ref() {
        Some(inner) if inner.is::<rustls::Error>() => {
            Failure::new(FailureClass::Tls, inner.to_string())
        }
        _ => Failure::new(FailureClass::Connect, error.to_string()),
    }
}

/// Returns the name that a server's certificate must have.
fn server_name(host: &str) -> Result<ServerName<'static>, Failure> {
    let name = bare(host).trim_end_matches('.').to_owned();
    ServerName::try_from(name)
        .map_err(|_| Failure::new(FailureClass::Tls, "no certificate can have this name"))
}

/// Returns a host without the brackets of a literal address.
fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}
