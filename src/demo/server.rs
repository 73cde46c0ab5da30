//! Serves the demo's web: HTTP/1.1 on one loopback port, the host told by the `Host` header.
//! Remembers every request, so that what a crawler asked for is known from the servers' side.
//!
//! Just enough of a server for the crawler that it is built into: it reads heads, not bodies, and
//! answers GET alike whatever was asked before.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

use super::site::{self, Answer, Host};

/// Bytes of a request head at most.
const MAX_HEAD: usize = 16 << 10;

/// The header of every page.
const HTML: &str = "content-type: text/html; charset=utf-8\r\n";

/// The running web. Dropping it closes every connection.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// Taken by `drop` only.
    runtime: Option<Runtime>,
}

/// One request: host and target, as they were asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Request {
    pub(super) host: String,
    pub(super) target: String,
}

#[derive(Debug)]
struct Shared {
    hosts: Vec<Host>,
    /// Locked for a push or a copy.
    requests: Mutex<Vec<Request>>,
}

impl Server {
    pub(super) fn start(hosts: Vec<Host>) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("demo-web")
            .enable_all()
            .build()?;
        let shared = Arc::new(Shared {
            hosts,
            requests: Mutex::default(),
        });
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let address = listener.local_addr()?;
        runtime.spawn(serve(listener, Arc::clone(&shared)));
        Ok(Self {
            address,
            shared,
            runtime: Some(runtime),
        })
    }

    /// Where all hosts are served.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn hosts(&self) -> &[Host] {
        &self.shared.hosts
    }

    /// Every request so far, in the order of arrival.
    pub(super) fn requests(&self) -> Vec<Request> {
        self.shared.requests().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Shared {
    fn requests(&self) -> std::sync::MutexGuard<'_, Vec<Request>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes of the answer, after the time that its host takes.
    async fn answer(&self, request: &Request) -> Vec<u8> {
        let name = request.host.split(':').next().unwrap_or_default();
        let Some(host) = self.hosts.iter().find(|host| host.name == name) else {
            return response("421 Misdirected Request", "", &[]);
        };
        // An answer of no delay is not to wait for the timer's next tick.
        if !host.delay.is_zero() {
            tokio::time::sleep(host.delay).await;
        }
        if let ("/robots.txt", Some(robots)) = (&*request.target, host.robots) {
            return response("200 OK", "content-type: text/plain\r\n", robots.as_bytes());
        }
        let page = host.pages.iter().find(|page| page.path == request.target);
        match page.map(|page| &page.answer) {
            Some(Answer::Html(html)) => response("200 OK", HTML, html.as_bytes()),
            Some(Answer::Moved(to)) => {
                response("301 Moved Permanently", &format!("location: {to}\r\n"), &[])
            }
            None => response("404 Not Found", HTML, site::not_found().as_bytes()),
        }
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(converse(stream, Arc::clone(&shared)));
            }
            // Out of file descriptors, or a client that was gone at once.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

/// Answers the requests of one connection, until either side has enough.
async fn converse(mut stream: TcpStream, shared: Arc<Shared>) {
    let mut received = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut received).await {
        shared.requests().push(request.clone());
        let answer = shared.answer(&request).await;
        if stream.write_all(&answer).await.is_err() {
            return;
        }
    }
}

/// The next request, or `None` at the end or at something that is none.
async fn read_request(stream: &mut TcpStream, received: &mut Vec<u8>) -> Option<Request> {
    let end = loop {
        let end = received.windows(4).position(|bytes| bytes == b"\r\n\r\n");
        if let Some(end) = end {
            break end;
        }
        if received.len() > MAX_HEAD || stream.read_buf(received).await.ok()? == 0 {
            return None;
        }
    };
    let rest = received.split_off(end + 4);
    let head = String::from_utf8(std::mem::replace(received, rest)).ok()?;
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (Some("GET"), Some(target)) = (first.next(), first.next()) else {
        return None;
    };
    let host = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim())
    })?;
    Some(Request {
        host: host.to_owned(),
        target: target.to_owned(),
    })
}

fn response(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let mut bytes = format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n");
    bytes.reserve(length);
    let mut bytes = bytes.into_bytes();
    bytes.extend_from_slice(body);
    bytes
}
