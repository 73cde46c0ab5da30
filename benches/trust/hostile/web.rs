//! Hosts on loopback that answer as they like, byte by byte, the names that lead to them, and a log
//! of what the good ones were asked.
//!
//! Names that the web does not have do not exist: nothing is asked of other name servers.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustls::{ServerConnection, StreamOwned};

use super::good::Good;
use crate::dns::{Answer, Dns};
use crate::tls_servers::{Authority, Flaw};

/// What a connection may take of the stack of its thread; there are many.
const STACK: usize = 256 << 10;

/// The first bytes of a connection that speaks HTTP/2 (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// One request.
pub(crate) struct Ask<'a> {
    /// Name of the host, without the port.
    pub(crate) host: &'a str,
    /// Path, with the query.
    pub(crate) path: &'a str,
}

impl Ask<'_> {
    /// The first number in the name of the host, or 0.
    pub(crate) fn number(&self) -> usize {
        let digits = |it: &&str| !it.is_empty();
        let mut numbers = self.host.split(|it: char| !it.is_ascii_digit());
        let first = numbers.find(digits);
        first.and_then(|it| it.parse().ok()).unwrap_or(0)
    }
}

/// What a host does with a request; an error ends the connection.
type Serve = dyn Fn(&mut Wire, &Ask<'_>) -> io::Result<()> + Send + Sync;

/// A request for something of a good host.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) url: String,
    pub(crate) at: Instant,
}

/// A running web. What listens ends with it; connections end with the client.
pub(crate) struct Web {
    shared: Arc<Shared>,
    /// Names and where they lead.
    named: BTreeMap<String, SocketAddr>,
    /// Domains all of whose names lead to the first addresses of a net.
    domains: Arc<Mutex<BTreeMap<String, u8>>>,
    dns: Dns,
    authority: Authority,
    listening: Vec<SocketAddr>,
}

#[derive(Default)]
struct Shared {
    is_over: AtomicBool,
    /// What was asked of good hosts, robots.txt aside.
    asked: Mutex<Vec<Asked>>,
    more: Condvar,
    /// Number of requests of other hosts.
    others: AtomicUsize,
}

impl Shared {
    fn asked(&self) -> MutexGuard<'_, Vec<Asked>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Web {
    pub(crate) fn start() -> Self {
        let domains: Arc<Mutex<BTreeMap<String, u8>>> = Arc::default();
        let known = Arc::clone(&domains);
        let dns = Dns::start(move |name, _| {
            let known = known.lock().unwrap_or_else(PoisonError::into_inner);
            let mut parents = name.match_indices('.').map(|(dot, _)| &name[dot + 1..]);
            let Some(addresses) = parents.find_map(|it| known.get(it)) else {
                return Answer::missing(3_600);
            };
            let hash = name.bytes().fold(7_usize, |hash, byte| {
                hash.wrapping_mul(31).wrapping_add(usize::from(byte))
            });
            let last = hash % usize::from(*addresses) + 1;
            Answer::of(&[&format!("127.67.0.{last}")], 3_600)
        });
        Self {
            shared: Arc::default(),
            named: BTreeMap::new(),
            domains,
            dns,
            authority: Authority::new(),
            listening: Vec::new(),
        }
    }

    /// Serves a good host, at an address of its own.
    pub(crate) fn good(&mut self, good: Good) {
        let name = good.name.clone();
        let listener = self.listen_as(&name);
        let serve = move |wire: &mut Wire, ask: &Ask<'_>| good.answer(wire, ask);
        self.accept(listener, true, Arc::new(serve));
    }

    /// Serves another host, at an address of its own.
    pub(crate) fn host(
        &mut self,
        name: &str,
        serve: impl Fn(&mut Wire, &Ask<'_>) -> io::Result<()> + Send + Sync + 'static,
    ) {
        let listener = self.listen_as(name);
        self.accept(listener, false, Arc::new(serve));
    }

    /// Serves all hosts of a domain, at so many addresses. Returns the port that their URLs need.
    pub(crate) fn domain(
        &mut self,
        name: &str,
        addresses: u8,
        serve: impl Fn(&mut Wire, &Ask<'_>) -> io::Result<()> + Send + Sync + 'static,
    ) -> u16 {
        let serve: Arc<Serve> = Arc::new(serve);
        let (port, listeners) = listen_on(addresses);
        for listener in listeners {
            self.accept(listener, false, Arc::clone(&serve));
        }
        let domains = self.domains.lock();
        let mut domains = domains.unwrap_or_else(PoisonError::into_inner);
        domains.insert(name.to_owned(), addresses);
        port
    }

    /// A host that begins a connection of HTTP/2 well, and then sends these frames without end.
    pub(crate) fn floods(&mut self, name: &str, frames: Vec<u8>) {
        let listener = self.listen_as(name);
        let config = self.authority.server(name, Flaw::None, &["h2"]);
        let (config, shared) = (Arc::new(config), Arc::clone(&self.shared));
        self.listening.extend(listener.local_addr());
        spawn(move || {
            for stream in listener.incoming().flatten() {
                if shared.is_over.load(Ordering::Relaxed) {
                    return;
                }
                let (config, frames) = (Arc::clone(&config), frames.clone());
                shared.others.fetch_add(1, Ordering::Relaxed);
                spawn(move || {
                    if let Ok(connection) = ServerConnection::new(config) {
                        let _ = flood(StreamOwned::new(connection, stream), &frames);
                    }
                });
            }
        });
    }

    /// A socket at an address of its own, which this name leads to.
    fn listen_as(&mut self, name: &str) -> TcpListener {
        let number = u16::try_from(self.named.len()).expect("few names") + 1;
        let [high, low] = number.to_be_bytes();
        let listener = TcpListener::bind((Ipv4Addr::new(127, 66, high, low), 0));
        let listener = listener.expect("loopback has a free port");
        let address = listener.local_addr().expect("it is bound");
        let before = self.named.insert(name.to_owned(), address);
        assert!(before.is_none(), "two hosts are called {name}");
        listener
    }

    fn accept(&mut self, listener: TcpListener, is_good: bool, serve: Arc<Serve>) {
        let shared = Arc::clone(&self.shared);
        self.listening.extend(listener.local_addr());
        spawn(move || {
            for stream in listener.incoming().flatten() {
                if shared.is_over.load(Ordering::Relaxed) {
                    return;
                }
                let (shared, serve) = (Arc::clone(&shared), Arc::clone(&serve));
                spawn(move || converse(stream, &shared, is_good, &*serve));
            }
        });
    }

    /// Lines of a configuration by which its names are found.
    pub(crate) fn settings(&self) -> String {
        let mut hosts = String::new();
        for (name, address) in &self.named {
            let _ = write!(hosts, "\"{name}\" = [\"{address}\"], ");
        }
        format!(
            "fetch.hosts = {{ {} }}\nfetch.nameservers = [\"{}\"]\n\
             fetch.allow_networks = [\"127.0.0.0/8\"]\nfetch.ca_files = [\"{}\"]\n",
            hosts.trim_end_matches(", "),
            self.dns.address(),
            self.authority.file().display(),
        )
    }

    /// What was asked of good hosts so far, robots.txt aside.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.shared.asked().clone()
    }

    /// The number of requests that other hosts got so far.
    pub(crate) fn others(&self) -> usize {
        self.shared.others.load(Ordering::Relaxed)
    }

    /// Waits a moment for good hosts to be asked for more than so much.
    pub(crate) fn wait_for_more_than(&self, count: usize, moment: Duration) {
        let is_all = |asked: &mut Vec<Asked>| asked.len() <= count;
        let _ = self
            .shared
            .more
            .wait_timeout_while(self.shared.asked(), moment, is_all);
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        for address in &self.listening {
            // Wakes its thread.
            let _ = TcpStream::connect_timeout(address, Duration::from_millis(50));
        }
    }
}

fn spawn(work: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new().stack_size(STACK).spawn(work);
    thread.expect("threads can be started");
}

/// Sockets on so many addresses, all with one free port.
fn listen_on(addresses: u8) -> (u16, Vec<TcpListener>) {
    let listen = || -> io::Result<(u16, Vec<TcpListener>)> {
        let mut port = 0;
        let mut listeners = Vec::new();
        for last in 1..=addresses {
            let listener = TcpListener::bind((Ipv4Addr::new(127, 67, 0, last), port))?;
            port = listener.local_addr()?.port();
            listeners.push(listener);
        }
        Ok((port, listeners))
    };
    // Another test may have the same one.
    let found = (0..100).find_map(|_| listen().ok());
    found.expect("a port is free on all addresses")
}

/// Answers the requests of one connection.
fn converse(stream: TcpStream, shared: &Shared, is_good: bool, serve: &Serve) {
    let _ = stream.set_nodelay(true);
    let mut wire = Wire { stream };
    while let Some((host, path)) = wire.read_request() {
        if !is_good {
            shared.others.fetch_add(1, Ordering::Relaxed);
        } else if path != "/robots.txt" {
            shared.asked().push(Asked {
                url: format!("http://{host}{path}"),
                at: Instant::now(),
            });
            shared.more.notify_all();
        }
        let ask = Ask {
            host: &host,
            path: &path,
        };
        if serve(&mut wire, &ask).is_err() {
            return;
        }
    }
}

/// Sends frames until nobody takes them any more, and reads what comes.
fn flood(mut stream: StreamOwned<ServerConnection, TcpStream>, frames: &[u8]) -> io::Result<()> {
    let mut preface = [0; PREFACE.len()];
    stream.read_exact(&mut preface)?;
    stream.write_all(&frame(SETTINGS, 0, 0, &[]))?;
    stream.write_all(&frame(SETTINGS, 1, 0, &[]))?;
    let many = frames.repeat(1 + 16_384 / frames.len());
    stream
        .sock
        .set_read_timeout(Some(Duration::from_micros(200)))?;
    let mut sink = vec![0; 1 << 16];
    loop {
        stream.write_all(&many)?;
        match stream.read(&mut sink) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

/// The type of the frames that tell settings.
pub(crate) const SETTINGS: u8 = 4;

/// A frame of HTTP/2 (RFC 9113, section 4.1).
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a frame is short");
    let mut frame = length.to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// A connection.
pub(crate) struct Wire {
    stream: TcpStream,
}

impl Wire {
    /// Host and path of the next request; `None` at the connection's end.
    fn read_request(&mut self) -> Option<(String, String)> {
        let mut head = Vec::new();
        let mut piece = [0; 4_096];
        while !head.ends_with(b"\r\n\r\n") {
            match self.stream.read(&mut piece) {
                Ok(length @ 1..) if head.len() < 1 << 16 => head.extend(&piece[..length]),
                _ => return None,
            }
        }
        let head = String::from_utf8_lossy(&head);
        let path = head.split(' ').nth(1)?.to_owned();
        let host = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("host").then(|| value.trim())
        })?;
        let name = host.split(':').next().unwrap_or_default();
        Some((name.to_owned(), path))
    }

    /// The port that this end of the connection has.
    pub(crate) fn port(&self) -> u16 {
        self.stream.local_addr().map_or(0, |it| it.port())
    }

    /// Bytes as they are.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref())
    }

    /// A status line and header lines, which may be none, and the empty line.
    pub(crate) fn head(&mut self, status: &str, headers: &[&str]) -> io::Result<()> {
        let mut head = format!("HTTP/1.1 {status}\r\n");
        for line in headers {
            let _ = write!(head, "{line}\r\n");
        }
        self.send(head + "\r\n")
    }

    /// An answer with its true length.
    pub(crate) fn answer(
        &mut self,
        status: &str,
        headers: &[&str],
        body: impl AsRef<[u8]>,
    ) -> io::Result<()> {
        let length = format!("Content-Length: {}", body.as_ref().len());
        self.head(status, &[headers, &[&length]].concat())?;
        self.send(body)
    }

    /// A page.
    pub(crate) fn html(&mut self, body: impl AsRef<[u8]>) -> io::Result<()> {
        self.answer("200 OK", &["Content-Type: text/html; charset=utf-8"], body)
    }

    /// A text.
    pub(crate) fn text(&mut self, body: impl AsRef<[u8]>) -> io::Result<()> {
        self.answer("200 OK", &["Content-Type: text/plain"], body)
    }

    /// A sitemap.
    pub(crate) fn xml(&mut self, body: impl AsRef<[u8]>) -> io::Result<()> {
        self.answer("200 OK", &["Content-Type: application/xml"], body)
    }

    /// There is no such page.
    pub(crate) fn missing(&mut self) -> io::Result<()> {
        self.answer("404 Not Found", &["Content-Type: text/plain"], "none")
    }

    pub(crate) fn redirect(&mut self, target: &str) -> io::Result<()> {
        self.answer("302 Found", &[&format!("Location: {target}")], "moved")
    }

    /// The same bytes until the client has enough.
    pub(crate) fn forever(&mut self, piece: &str) -> io::Result<()> {
        let many = piece.repeat((1 << 14) / piece.len().max(1) + 1);
        loop {
            self.send(&many)?;
        }
    }

    /// The same bytes once a second, until the client has enough.
    pub(crate) fn drip(&mut self, piece: &str) -> io::Result<()> {
        self.stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        loop {
            self.send(piece)?;
            match self.stream.read(&mut [0; 64]) {
                Ok(0) => return Err(io::ErrorKind::ConnectionAborted.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Nothing, until the client has enough.
    pub(crate) fn hang(&mut self) -> io::Result<()> {
        while matches!(self.stream.read(&mut [0; 64]), Ok(1..)) {}
        Err(io::ErrorKind::ConnectionAborted.into())
    }
}
