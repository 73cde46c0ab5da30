//! One connection to a server, over HTTP/1 or HTTP/2, with one request at a time.

use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::{TrySendError, http1, http2};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;

use super::wire::{HeadTap, Meter};
use crate::fetch::{Failure, FailureClass};

/// The body of a request. It is always empty.
pub(in crate::fetch) type Nothing = String;

/// Bytes that a server may send ahead over HTTP/2 before they are read; they are not part of the
/// byte budget. 256 KiB allow 2.5 MB/s at a round trip of 100 ms.
const H2_WINDOW: u32 = 256 << 10;

/// What bounds the heads of responses.
#[derive(Debug, Clone, Copy)]
pub(in crate::fetch) struct Limits {
    /// Maximum number of header fields.
    pub(in crate::fetch) fields: usize,
    /// Maximum total size of the header fields, in bytes.
    pub(in crate::fetch) bytes: usize,
}

/// A connection to a server. It ends when this is dropped.
pub(in crate::fetch) struct Connection {
    sender: Sender,
    meter: Arc<Meter>,
    /// Where the heads of responses are; `None` over HTTP/2, whose heads have no text.
    tap: Option<Arc<HeadTap>>,
    /// The server's address; `None` behind a proxy.
    pub(in crate::fetch) remote: Option<SocketAddr>,
    /// Version of TLS, as WARC-Protocol names it; `None` without TLS.
    pub(in crate::fetch) tls: Option<&'static str>,
    /// The task that reads and writes.
    driver: JoinHandle<()>,
}

enum Sender {
    Http1(http1::SendRequest<Nothing>),
    Http2(http2::SendRequest<Nothing>),
}

impl Connection {
    /// Begins to speak HTTP/1.1 over a stream.
    pub(super) async fn http1(
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        limits: &Limits,
        meter: Arc<Meter>,
        tap: Arc<HeadTap>,
        remote: Option<SocketAddr>,
        tls: Option<&'static str>,
    ) -> Result<Self, Failure> {
        let handshake = http1::Builder::new()
            .max_headers(limits.fields)
            // Like browsers, read as much of an invalid head as possible.
            .ignore_invalid_headers_in_responses(true)
            .allow_obsolete_multiline_headers_in_responses(true)
            .allow_spaces_after_header_name_in_responses(true)
            .handshake(TokioIo::new(stream));
        let (sender, connection) = handshake.await.map_err(|error| failed(&error))?;
        Ok(Self {
            sender: Sender::Http1(sender),
            meter,
            tap: Some(tap),
            remote,
            tls,
            driver: tokio::spawn(async move {
                // The request learns of an error, too.
                let _ = connection.await;
            }),
        })
    }

    /// Begins to speak HTTP/2 over a stream.
    pub(super) async fn http2(
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        limits: &Limits,
        meter: Arc<Meter>,
        remote: Option<SocketAddr>,
        tls: Option<&'static str>,
    ) -> Result<Self, Failure> {
        let handshake = http2::Builder::new(TokioExecutor::new())
            .max_header_list_size(u32::try_from(limits.bytes).unwrap_or(u32::MAX))
            .initial_stream_window_size(H2_WINDOW)
            .initial_connection_window_size(H2_WINDOW)
            .handshake(TokioIo::new(stream));
        let (sender, connection) = handshake.await.map_err(|error| failed(&error))?;
        Ok(Self {
            sender: Sender::Http2(sender),
            meter,
            tap: None,
            remote,
            tls,
            driver: tokio::spawn(async move {
                let _ = connection.await;
            }),
        })
    }

    /// Whether URLs are sent with scheme and host, which HTTP/2 sends apart.
    pub(in crate::fetch) fn is_http2(&self) -> bool {
        matches!(self.sender, Sender::Http2(_))
    }

    /// Waits until another request can be sent. Returns `false` if the connection has ended.
    pub(super) async fn ready(&mut self) -> bool {
        let ready = match &mut self.sender {
            Sender::Http1(sender) => sender.ready().await,
            Sender::Http2(sender) => sender.ready().await,
        };
        ready.is_ok()
    }

    /// Whether the connection has ended.
    pub(super) fn is_closed(&self) -> bool {
        match &self.sender {
            Sender::Http1(sender) => sender.is_closed(),
            Sender::Http2(sender) => sender.is_closed(),
        }
    }

    /// Sends a request and waits for the head of the response. The error has the request if it was
    /// not sent.
    pub(in crate::fetch) async fn send(
        &mut self,
        mut request: Request<Nothing>,
    ) -> Result<Response<Incoming>, (Failure, Option<Request<Nothing>>)> {
        self.meter.begin();
        if let Some(tap) = &self.tap {
            tap.begin();
        }
        let meter = Arc::clone(&self.meter);
        hyper::ext::on_informational(&mut request, move |_| meter.informational());
        let sent = match &mut self.sender {
            Sender::Http1(sender) => sender.try_send_request(request).await,
            Sender::Http2(sender) => sender.try_send_request(request).await,
        };
        sent.map_err(|mut error: TrySendError<_>| {
            let request = error.take_message();
            let failed = failed(&error.into_error());
            (self.flood().unwrap_or(failed), request)
        })
    }

    /// Waits for more of a body; `None` at its end. Trailers are passed over.
    pub(in crate::fetch) async fn chunk(
        &self,
        body: &mut Incoming,
    ) -> Option<Result<Bytes, hyper::Error>> {
        loop {
            let frame = poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await?;
            match frame.map(hyper::body::Frame::into_data) {
                Ok(Ok(chunk)) => {
                    self.meter.progress(chunk.len());
                    return Some(Ok(chunk));
                }
                Ok(Err(_trailers)) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Takes the head of the last response as it was sent.
    pub(in crate::fetch) fn take_head(&self) -> Option<Vec<u8>> {
        self.tap.as_ref().and_then(|tap| tap.take())
    }

    /// The failure of a server that sends without end what is no response, if this one does.
    pub(in crate::fetch) fn flood(&self) -> Option<Failure> {
        let said = "it sent without end what is no response";
        self.meter.is_flooded().then(|| Failure::flood(said))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("remote", &self.remote)
            .field("tls", &self.tls)
            .finish_non_exhaustive()
    }
}

/// Classifies an error of a connection. The message is that of the innermost cause.
fn failed(error: &hyper::Error) -> Failure {
    let class = if error.is_parse() || error.is_user() {
        FailureClass::Protocol
    } else {
        FailureClass::Disconnect
    };
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    Failure::new(class, cause.to_string())
}
