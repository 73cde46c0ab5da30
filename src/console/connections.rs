//! The connections of the console, and how they stay few.
//!
//! Whoever can connect can also be slow. A connection that waits for a request gives way to one
//! that comes, the one that has waited longest first; one that sends its head or takes its answer
//! too slowly is closed. So no client keeps others out, and none makes the process grow.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http_body_util::BodyExt as _;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Sleep;
use tower_service::Service as _;

use super::guard::Ends;
use super::listen::Socket;

/// Maximum number of connections.
const MAX_CONNECTIONS: usize = 64;
/// Time in which the head of a request has to be there.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Time after which a client that takes nothing of its answer is left.
const WRITE_TIME: Duration = Duration::from_secs(30);
/// The largest head of a request: a URL of 16 KiB, escaped.
const MAX_HEAD: usize = 64 << 10;
/// Time that answers have to end once the console does.
const GRACE: Duration = Duration::from_secs(3);

/// Sent to whom there is no room for.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n\
retry-after: 1\r\nconnection: close\r\n\r\n\
{\"error\":{\"code\":\"full\",\"message\":\"every connection is in use; close some, or try again in a second\"}}";

/// Serves all who connect, until `ending` says so and a little longer.
pub(super) async fn serve(socket: Socket, router: Router, mut ending: watch::Receiver<bool>) {
    let open = Arc::new(Places::default());
    let accept = async {
        match socket {
            Socket::Tcp(listener) => match TcpListener::from_std(listener) {
                Ok(listener) => {
                    accept(&open, &router, &ending, async || {
                        let (stream, client) = listener.accept().await?;
                        // Answers are whole when they are sent.
                        let _ = stream.set_nodelay(true);
                        let own = stream.local_addr().ok();
                        let address = |it: SocketAddr| it.ip().to_canonical();
                        let ends = Ends {
                            client: Some(address(client)),
                            own: own.map(address),
                        };
                        Ok((stream, ends))
                    })
                    .await;
                }
                Err(error) => tracing::error!(%error, "the console cannot listen"),
            },
            Socket::Unix(listener, _file) => match UnixListener::from_std(listener) {
                Ok(listener) => {
                    accept(&open, &router, &ending, async || {
                        Ok((listener.accept().await?.0, Ends::default()))
                    })
                    .await;
                }
                Err(error) => tracing::error!(%error, "the console cannot listen"),
            },
        }
    };
    let mut ended = ending.clone();
    tokio::select! {
        () = accept => {}
        _ = ended.wait_for(|it| *it) => {}
    }
    // Those that wait for a request close at once, the others at the end of their answer.
    let _ = ending.wait_for(|it| *it).await;
    let _ = tokio::time::timeout(GRACE, open.all_closed()).await;
}

async fn accept<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    open: &Arc<Places>,
    router: &Router,
    ending: &watch::Receiver<bool>,
    mut next: impl AsyncFnMut() -> io::Result<(S, Ends)>,
) {
    loop {
        match next().await {
            Ok((mut stream, ends)) => match open.make_room() {
                true => open.take(stream, ends, router.clone(), ending.clone()),
                // What does not fit into the socket's buffer is not worth waiting for.
                false => drop(tokio::time::timeout(Duration::ZERO, stream.write_all(FULL)).await),
            },
            Err(error) => {
                // Most likely out of file descriptors, of which some may be closed meanwhile.
                tracing::warn!(%error, "cannot accept a connection of the console");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
        // Whoever came has the chance to send a request before another takes the place.
        tokio::task::yield_now().await;
    }
}

/// The connections that are open.
#[derive(Default)]
struct Places {
    open: Mutex<BTreeMap<u64, Place>>,
    /// Number of the next one.
    next: AtomicU64,
    /// Sent when one closes.
    closed: tokio::sync::Notify,
}

struct Place {
    task: AbortHandle,
    /// Number of requests that are being answered on it.
    busy: Arc<AtomicUsize>,
}

impl Places {
    /// Closes a connection that waits for a request if there is no other room. False if none waits.
    fn make_room(&self) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() < MAX_CONNECTIONS {
            return true;
        }
        let mut waiting = open
            .iter()
            .filter(|(_, place)| place.busy.load(Ordering::Relaxed) == 0);
        let Some(longest) = waiting.next().map(|(number, _)| *number) else {
            return false;
        };
        if let Some(place) = open.remove(&longest) {
            place.task.abort();
        }
        true
    }

    /// Serves a connection.
    fn take<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        self: &Arc<Self>,
        stream: S,
        ends: Ends,
        router: Router,
        ending: watch::Receiver<bool>,
    ) {
        let busy = Arc::new(AtomicUsize::new(0));
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let left = Left {
            places: Arc::clone(self),
            number,
        };
        let serving = converse(stream, ends, router, Arc::clone(&busy), ending);
        let task = tokio::spawn(async move {
            let _left = left;
            serving.await;
        });
        let task = task.abort_handle();
        open.insert(number, Place { task, busy });
    }

    async fn all_closed(&self) {
        loop {
            let closed = self.closed.notified();
            let is_empty = {
                let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
                open.is_empty()
            };
            if is_empty {
                return;
            }
            closed.await;
        }
    }
}

/// Gives the place back, whatever ends the connection.
struct Left {
    places: Arc<Places>,
    number: u64,
}

impl Drop for Left {
    fn drop(&mut self) {
        let mut open = (self.places.open.lock()).unwrap_or_else(PoisonError::into_inner);
        open.remove(&self.number);
        drop(open);
        self.places.closed.notify_one();
    }
}

/// Counts a request as being answered.
struct Busy(Arc<AtomicUsize>);

impl Busy {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Answers the requests of a connection, one after the other.
async fn converse<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    ends: Ends,
    router: Router,
    busy: Arc<AtomicUsize>,
    mut ending: watch::Receiver<bool>,
) {
    let service = hyper::service::service_fn(move |request: Request<hyper::body::Incoming>| {
        let busy = Busy::new(&busy);
        let mut router = router.clone();
        async move {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(ends);
            let response: Response = router.call(request).await?;
            // An answer is in progress until its body is sent, or given up.
            let response = response.map(|body| {
                body.map_frame(move |frame| {
                    let _busy = &busy;
                    frame
                })
            });
            Ok::<_, std::convert::Infallible>(response)
        }
    });
    let stream = TokioIo::new(Impatient::new(stream));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(MAX_HEAD)
        .serve_connection(stream, service);
    tokio::pin!(connection);
    // An error means that the client went away, or was too slow.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = ending.wait_for(|it| *it) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}

/// A stream that fails when what is written to it is not taken.
struct Impatient<S> {
    stream: S,
    /// Runs while a write waits.
    limit: Option<Pin<Box<Sleep>>>,
}

impl<S> Impatient<S> {
    fn new(stream: S) -> Self {
        Self {
            stream,
            limit: None,
        }
    }

    /// What comes of a write.
    fn judge<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.limit = None;
            return written;
        }
        let limit = self
            .limit
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(WRITE_TIME)));
        ready!(limit.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Impatient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Impatient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.judge(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.judge(context, shut)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.judge(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
