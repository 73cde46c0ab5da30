//! Serves the demo's web: HTTP/1.1 on one loopback port, with the host taken from the `Host`
//! header. Records every request, so that what the crawler requested is known from the servers'
//! side.
//!
//! It is just enough of a server for the crawler that it is built into: it reads heads but no
//! bodies, and answers every GET by its URL alone.

use std::collections::BTreeSet;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

use super::site::{self, Host, Reply};

/// Maximum length of a request head, in bytes.
const MAX_HEAD: usize = 16 << 10;

/// The Content-Type of every page.
const HTML: &str = "content-type: text/html; charset=utf-8\r\n";

/// The running web. Dropping it closes every connection.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// Taken by `drop` only.
    runtime: Option<Runtime>,
}

/// What was asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// Number of requests.
    pub requests: usize,
    /// Number of those for a robots.txt.
    pub robots: usize,
    /// Number of different URLs, those aside.
    pub pages: usize,
    /// What was asked for again.
    pub repeated: Vec<String>,
}

/// A request: host and target as requested.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Request {
    pub(super) host: String,
    pub(super) target: String,
}

#[derive(Debug)]
struct Shared {
    hosts: Vec<Host>,
    /// Locked only for a push or a copy.
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

    /// Returns the address at which all hosts are served.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns what was asked for so far.
    pub fn asked(&self) -> Asked {
        let requests = self.requests();
        let mut seen = BTreeSet::new();
        let mut asked = Asked {
            requests: requests.len(),
            ..Asked::default()
        };
        for request in requests {
            let is_robots = request.target == "/robots.txt";
            asked.robots += usize::from(is_robots);
            let url = format!("http://{}{}", request.host, request.target);
            if !seen.insert(request) {
                asked.repeated.push(url);
            } else if !is_robots {
                asked.pages += 1;
            }
        }
        asked
    }

    pub(super) fn hosts(&self) -> &[Host] {
        &self.shared.hosts
    }

    /// Returns every request so far, in the order of arrival.
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

    /// Returns the bytes of the response, after the delay of its host.
    async fn answer(&self, request: &Request) -> Vec<u8> {
        let name = request.host.split(':').next().unwrap_or_default();
        let Some(host) = self.hosts.iter().find(|host| host.name == name) else {
            return response("421 Misdirected Request", "", &[]);
        };
        // A response without delay must not wait for the timer's next tick.
        if !host.delay.is_zero() {
            tokio::time::sleep(host.delay).await;
        }
        if let ("/robots.txt", Some(robots)) = (&*request.target, host.robots) {
            return response("200 OK", "content-type: text/plain\r\n", robots.as_bytes());
        }
        let page = host.pages.iter().find(|page| page.path == request.target);
        match page.map(|page| &page.reply) {
            Some(Reply::Html(html)) => response("200 OK", HTML, html.as_bytes()),
            Some(Reply::Moved(to)) => {
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
            // No file descriptor is left, or the client is gone already.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

/// Serves the requests of one connection until either side closes it.
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

/// Reads the next request. Returns `None` at the end, or if it is not a request.
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
