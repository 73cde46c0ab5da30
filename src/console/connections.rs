//! The connections of the console, and how they stay few.
//!
//! Whoever can connect can also be slow. A connection that waits for a request, or for the rest of
//! one, gives way to one that comes, the one that has waited longest first; after these, one whose
//! client takes nothing of its answer. One that sends its head or takes its answer too slowly is
//! closed. So no client keeps others out, and none makes the process grow.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::response::Response;
use http_body_util::BodyExt as _;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
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
/// Time after which it gives way to one that comes.
const STALLED: Duration = Duration::from_secs(1);
/// The largest head of a request: a URL of 16 KiB, escaped.
const MAX_HEAD: usize = 64 << 10;
/// Time that answers have to end once the console does.
const GRACE: Duration = Duration::from_secs(3);

/// What is sent to whom there is no room for.
fn full() -> Vec<u8> {
    const BODY: &str = r#"{"error":{"code":"full","message":"every connection is in use; close some, or try again in a second"}}"#;
    let length = BODY.len();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\nx-content-type-options: nosniff\r\nretry-after: 1\r\n\
         connection: close\r\n\r\n{BODY}"
    )
    .into_bytes()
}

/// Serves all who connect, until `ending` says so and a little longer.
pub(super) async fn serve(socket: Socket, router: Router, mut ending: watch::Receiver<bool>) {
    let open = Arc::new(Places::new());
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
                false => {
                    drop(tokio::time::timeout(Duration::ZERO, stream.write_all(&full())).await);
                }
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
struct Places {
    begun: Instant,
    open: Mutex<BTreeMap<u64, Place>>,
    /// Number of the next one.
    next: AtomicU64,
    /// Sent when one closes.
    closed: tokio::sync::Notify,
}

struct Place {
    task: AbortHandle,
    doing: Arc<Doing>,
}

/// What a connection is doing, and since when: milliseconds since the process began to serve.
#[derive(Debug)]
struct Doing {
    begun: Instant,
    /// Set while a request that is all there is being answered.
    answers: AtomicBool,
    /// When it last began to wait for a request or the rest of one.
    waits_since: AtomicU64,
    /// When its client ceased to take what is sent; `TAKES` while it takes it.
    stalled_since: AtomicU64,
}

/// The client takes what it is sent.
const TAKES: u64 = u64::MAX;

impl Doing {
    fn new(begun: Instant) -> Self {
        let new = Self {
            begun,
            answers: AtomicBool::new(false),
            waits_since: AtomicU64::new(0),
            stalled_since: AtomicU64::new(TAKES),
        };
        new.waits_since.store(new.now(), Ordering::Relaxed);
        new
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(TAKES - 1)
    }

    /// A request is there.
    fn answers(&self) {
        self.answers.store(true, Ordering::Relaxed);
    }

    /// It waits for a request, or for the rest of one.
    fn waits(&self) {
        self.waits_since.store(self.now(), Ordering::Relaxed);
        self.answers.store(false, Ordering::Relaxed);
    }

    /// Whether the client takes what it is sent.
    fn takes(&self, does: bool) {
        let since = if does { TAKES } else { self.now() };
        self.stalled_since.store(since, Ordering::Relaxed);
    }

    /// In which order connections give way to others, least first; `None` if it does not.
    fn gives_way(&self) -> Option<(bool, u64)> {
        let since = self.stalled_since.load(Ordering::Relaxed);
        if since == TAKES {
            let is_answering = self.answers.load(Ordering::Relaxed);
            let since = self.waits_since.load(Ordering::Relaxed);
            return (!is_answering).then_some((false, since));
        }
        let is_long = u128::from(self.now().saturating_sub(since)) >= STALLED.as_millis();
        is_long.then_some((true, since))
    }
}

impl Places {
    fn new() -> Self {
        Self {
            begun: Instant::now(),
            open: Mutex::default(),
            next: AtomicU64::default(),
            closed: tokio::sync::Notify::new(),
        }
    }

    /// Closes a connection that gives way if there is no other room. False if none does.
    fn make_room(&self) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() < MAX_CONNECTIONS {
            return true;
        }
        let waiting = open.iter();
        let waiting = waiting.filter_map(|(number, it)| Some((it.doing.gives_way()?, *number)));
        let Some((_, first)) = waiting.min() else {
            return false;
        };
        if let Some(place) = open.remove(&first) {
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
        let doing = Arc::new(Doing::new(self.begun));
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let left = Left {
            places: Arc::clone(self),
            number,
        };
        let serving = converse(stream, ends, router, Arc::clone(&doing), ending);
        let task = tokio::spawn(async move {
            let _left = left;
            serving.await;
        });
        let task = task.abort_handle();
        open.insert(number, Place { task, doing });
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

/// A request that is being answered. Dropping it ends that.
struct Answering(Arc<Doing>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.waits();
    }
}

/// The body of a request, which tells when all of it is there.
struct Receiving {
    body: Incoming,
    doing: Arc<Doing>,
}

impl HttpBody for Receiving {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none() || self.body.is_end_stream() {
            self.doing.answers();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Answers the requests of a connection, one after the other.
async fn converse<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    ends: Ends,
    router: Router,
    doing: Arc<Doing>,
    mut ending: watch::Receiver<bool>,
) {
    let stream = TokioIo::new(Impatient::new(stream, Arc::clone(&doing)));
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let answering = Answering(Arc::clone(&doing));
        if request.body().is_end_stream() {
            doing.answers();
        }
        let mut router = router.clone();
        async move {
            let doing = Arc::clone(&answering.0);
            let mut request = request.map(|body| Body::new(Receiving { body, doing }));
            request.extensions_mut().insert(ends);
            let response: Response = router.call(request).await?;
            // An answer is in progress until its body is sent, or given up.
            let response = response.map(|body| {
                body.map_frame(move |frame| {
                    let _answering = &answering;
                    frame
                })
            });
            Ok::<_, std::convert::Infallible>(response)
        }
    });
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
    doing: Arc<Doing>,
    /// Runs while a write waits.
    limit: Option<Pin<Box<Sleep>>>,
}

impl<S> Impatient<S> {
    fn new(stream: S, doing: Arc<Doing>) -> Self {
        Self {
            stream,
            doing,
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
            if self.limit.take().is_some() {
                self.doing.takes(true);
            }
            return written;
        }
        if self.limit.is_none() {
            self.doing.takes(false);
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
