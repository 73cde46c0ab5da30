//! Hosts that misbehave, each in one way, with a well-behaved page beside it.
//!
//! Every [`Behaviour`] is a row of data: a name, which is its host's (`NAME.example`), what it does
//! to a TCP connection, and what must come of it. The hosts listen on loopback, each on a port of
//! its own, and are found by [`Hosts::named`], not by the DNS. `/` is a page that leads to `/bad`,
//! where the host misbehaves, and to `/good`, which is to be had whatever became of `/bad`.
//!
//! - `heads`: status lines, headers, connections.
//! - `bodies`: lengths, chunks, codings.
//! - `pages`: redirects, statuses, content.
//! - `robots`: robots.txt and sitemaps.
//!
//! Threads and blocking sockets: what a host does stands in the order in which it does it.

/// A table of behaviours: where each shows, its name, what must come of it, and what it does.
macro_rules! rows {
    ($($at:ident $name:literal, $comes:expr, $serve:expr;)+) => {
        &[$(Behaviour { at: super::At::$at, name: $name, comes: $comes, serve: $serve }),+]
    };
}

mod bodies;
mod heads;
mod pages;
mod robots;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use socket2::{Domain, SockRef, Socket, Type};

use crate::web::{Article, Random};

/// One way to misbehave.
#[derive(Clone, Copy)]
pub(crate) struct Behaviour {
    /// The first label of its host.
    pub(crate) name: &'static str,
    /// Where it shows.
    pub(crate) at: At,
    /// What it does.
    pub(crate) serve: fn(&mut Wire) -> io::Result<()>,
    /// What must come of it.
    pub(crate) comes: Comes,
}

/// Where a behaviour shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    /// At every path but `/`, `/good` and `/robots.txt`.
    Page,
    /// At the first request for `/good`; the next ones are answered.
    GoodOnce,
    /// At `/robots.txt`.
    Robots,
    /// At `/sitemap.xml`, which robots.txt names.
    Sitemap,
    /// At a host of its own, as soon as a connection is made, before anything is asked.
    Connection,
    /// At a host of its own that refuses connections.
    Refused,
    /// At a host of its own that never accepts a connection.
    NeverAccepts,
}

/// What must come of a behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comes {
    /// The URL fails, by this class.
    Fails(&'static str),
    /// There is an answer of this status, and what was odd of it holds this.
    Noted(u16, &'static str),
    /// There is an answer of this status, and nothing was cut of it.
    Whole(u16),
    /// There is an answer of this status, and the page that it is has this title.
    Titled(u16, &'static str),
    /// The page leads to `/led`.
    Leads,
    /// robots.txt forbids the page beside it, or must be taken to (RFC 9309, section 2.3.1.4).
    Forbids,
    /// The host asks to be left alone for longer than the crawl lasts, so the page beside it waits.
    Waits,
    /// The page beside it.
    Nothing,
}

/// Hosts that nobody may contact, in all the ways in which one can write them. In a network of its
/// own a test can listen on those of [`PRIVATE`].
pub(crate) const FORBIDDEN: [&str; 21] = [
    "10.0.0.1",
    "10.255.255.254",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "169.254.169.254",
    "127.0.0.1",
    "127.1",
    "0.0.0.0",
    "0",
    "localhost",
    "localhost.",
    "a.localhost",
    "2130706433",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "[::1]",
    "[::ffff:10.0.0.1]",
    "[64:ff9b::a00:1]",
    "[fd00::1]",
    "[fe80::1]",
];

/// Addresses behind [`FORBIDDEN`].
pub(crate) const PRIVATE: [&str; 8] = [
    "10.0.0.1",
    "10.255.255.254",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "169.254.169.254",
    "fd00::1",
    "64:ff9b::a00:1",
];

/// All behaviours.
pub(crate) fn all() -> Vec<Behaviour> {
    [heads::ALL, bodies::ALL, pages::ALL, robots::ALL].concat()
}

impl Behaviour {
    /// A page of its host.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}.example{path}", self.name)
    }

    /// Where it misbehaves.
    pub(crate) fn bad(&self) -> String {
        match self.at {
            At::Connection | At::Refused | At::NeverAccepts => {
                format!("http://x-{}.example/bad", self.name)
            }
            At::Page => self.url("/bad"),
            At::GoodOnce => self.url("/good"),
            At::Robots => self.url("/robots.txt"),
            At::Sitemap => self.url("/sitemap.xml"),
        }
    }

    /// The text of its good page: unlike every other.
    pub(crate) fn good_page(&self) -> String {
        self.article("good", &[])
    }

    fn article(&self, title: &str, links: &[&str]) -> String {
        let seed = self.name.bytes().chain(title.bytes());
        let seed = seed.fold(7, |seed: u64, byte| {
            seed.wrapping_mul(0x100_0000_01b3) ^ u64::from(byte)
        });
        let text = Article::random(&mut Random::new(seed), 120).text();
        let links = crate::run::anchors(links);
        format!(
            "<!doctype html><title>{title} {}</title><p>{text}</p><p>{links}</p>",
            self.name
        )
    }
}

/// The hosts of some behaviours. Dropping it ends their threads, as far as no client holds them.
pub(crate) struct Hosts {
    shared: Arc<Shared>,
    addresses: BTreeMap<String, SocketAddr>,
    /// Those who never accept, and the connections that fill their queues.
    held: Vec<Socket>,
}

#[derive(Default)]
struct Shared {
    stopped: AtomicBool,
    /// Host and path of every request.
    asked: Mutex<Vec<(String, String)>>,
    /// Told of each.
    more: Condvar,
}

impl Hosts {
    /// Starts a host for each behaviour.
    pub(crate) fn start(behaviours: &[Behaviour]) -> Self {
        let mut hosts = Self {
            shared: Arc::default(),
            addresses: BTreeMap::new(),
            held: Vec::new(),
        };
        for behaviour in behaviours {
            hosts.listen(behaviour.name, *behaviour, converse);
            let own = format!("x-{}", behaviour.name);
            match behaviour.at {
                At::Connection => hosts.listen(&own, *behaviour, |mut wire, behaviour| {
                    let _ = (behaviour.serve)(&mut wire);
                }),
                At::Refused => {
                    let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
                    let address = closed.and_then(|it| it.local_addr());
                    hosts.name(&own, address.expect("a port is free"));
                }
                At::NeverAccepts => hosts.never_accept(&own),
                _ => {}
            }
        }
        hosts
    }

    /// A table for `[fetch.hosts]`.
    pub(crate) fn named(&self) -> String {
        let mut table = String::new();
        for (name, address) in &self.addresses {
            let _ = writeln!(table, "\"{name}\" = [\"{address}\"]");
        }
        table
    }

    /// How often a URL was asked for.
    pub(crate) fn asked(&self, url: &str) -> usize {
        let asked = self.shared.asked();
        let is_it = |(host, path): &&(String, String)| {
            url.strip_prefix("http://")
                .and_then(|url| url.strip_prefix(host.as_str()))
                == Some(path)
        };
        asked.iter().filter(is_it).count()
    }

    /// Waits for that many requests; false when the time is over before.
    pub(crate) fn wait_for(&self, requests: usize, patience: Duration) -> bool {
        let asked = self.shared.asked();
        let waited = self
            .shared
            .more
            .wait_timeout_while(asked, patience, |asked| asked.len() < requests);
        waited.is_ok_and(|(_, timeout)| !timeout.timed_out())
    }

    fn name(&mut self, name: &str, address: SocketAddr) {
        let before = self.addresses.insert(format!("{name}.example"), address);
        assert!(before.is_none(), "two behaviours are called {name}");
    }

    fn listen(&mut self, name: &str, behaviour: Behaviour, serve: fn(Wire, Behaviour)) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        self.name(name, listener.local_addr().expect("it is bound"));
        let shared = Arc::clone(&self.shared);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if shared.is_stopped() {
                    return;
                }
                let wire = Wire {
                    stream,
                    path: String::new(),
                    behaviour,
                    shared: Arc::clone(&shared),
                };
                let _ = wire.stream.set_nodelay(true);
                thread::spawn(move || serve(wire, behaviour));
            }
        });
    }

    /// A host whose queue of connections is full: the kernel answers no further one.
    fn never_accept(&mut self, name: &str) {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        socket.bind(&any.into()).expect("a port is free");
        socket.listen(0).expect("it is bound");
        let address = socket.local_addr().expect("it is bound").as_socket();
        let address = address.expect("an address of the internet");
        let short = Duration::from_millis(200);
        while let Ok(filler) = TcpStream::connect_timeout(&address, short) {
            self.held.push(filler.into());
        }
        self.name(name, address);
        self.held.push(socket);
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        self.held.clear();
        for address in self.addresses.values() {
            // Wakes its thread.
            let _ = TcpStream::connect_timeout(address, Duration::from_millis(50));
        }
    }
}

impl Shared {
    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    fn asked(&self) -> MutexGuard<'_, Vec<(String, String)>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers the requests of one connection, well but where the host misbehaves.
fn converse(mut wire: Wire, behaviour: Behaviour) {
    while let Some(path) = wire.read_request() {
        let name = format!("{}.example", behaviour.name);
        let is_first = {
            let mut asked = wire.shared.asked();
            let is_first = !asked.iter().any(|(host, it)| *host == name && *it == path);
            asked.push((name, path.clone()));
            is_first
        };
        wire.shared.more.notify_all();
        wire.path.clone_from(&path);
        let done = match (path.as_str(), behaviour.at) {
            ("/robots.txt", At::Robots) | ("/sitemap.xml", At::Sitemap) => {
                (behaviour.serve)(&mut wire)
            }
            ("/robots.txt", At::Sitemap) => {
                let line = format!("Sitemap: {}\n", behaviour.url("/sitemap.xml"));
                wire.answer("200 OK", "Content-Type: text/plain", line)
            }
            ("/robots.txt", _) => wire.answer("404 Not Found", "", "none"),
            ("/", At::Robots | At::Sitemap) => wire.html(behaviour.article("home", &["/good"])),
            ("/", _) => wire.html(behaviour.article("home", &[&behaviour.bad(), "/good"])),
            ("/good", At::GoodOnce) if is_first => (behaviour.serve)(&mut wire),
            ("/good", _) => wire.html(behaviour.good_page()),
            ("/led", _) => wire.html(behaviour.article("led", &[])),
            (path, At::Page) if path.starts_with("/bad") => (behaviour.serve)(&mut wire),
            _ => wire.answer("404 Not Found", "", "none"),
        };
        if done.is_err() {
            return;
        }
    }
}

/// A connection, for those who write on it as they like.
pub(crate) struct Wire {
    stream: TcpStream,
    /// The path that is asked for, with its query.
    pub(crate) path: String,
    behaviour: Behaviour,
    shared: Arc<Shared>,
}

impl Wire {
    /// The path of the next request; `None` at the connection's end.
    fn read_request(&mut self) -> Option<String> {
        let mut head = Vec::new();
        let mut piece = [0; 2_048];
        while !head.ends_with(b"\r\n\r\n") {
            match self.stream.read(&mut piece) {
                Ok(length @ 1..) if head.len() < 1 << 16 => head.extend(&piece[..length]),
                _ => return None,
            }
        }
        let head = String::from_utf8_lossy(&head);
        head.split(' ').nth(1).map(str::to_owned)
    }

    /// A URL of this host.
    pub(crate) fn url(&self, path: &str) -> String {
        self.behaviour.url(path)
    }

    /// Bytes as they are.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref())
    }

    /// A status line and header lines, each line without its end, and the empty line.
    pub(crate) fn head(&mut self, status: &str, headers: &str) -> io::Result<()> {
        let mut head = format!("HTTP/1.1 {status}\r\n");
        for line in headers.lines().filter(|line| !line.is_empty()) {
            head.push_str(line);
            head.push_str("\r\n");
        }
        self.send(head + "\r\n")
    }

    /// An answer with its true length.
    pub(crate) fn answer(
        &mut self,
        status: &str,
        headers: &str,
        body: impl AsRef<[u8]>,
    ) -> io::Result<()> {
        let length = body.as_ref().len();
        self.head(status, &format!("{headers}\nContent-Length: {length}"))?;
        self.send(body)
    }

    /// A page.
    pub(crate) fn html(&mut self, body: impl AsRef<[u8]>) -> io::Result<()> {
        self.answer("200 OK", "Content-Type: text/html; charset=utf-8", body)
    }

    /// A page that leads to `/led`, with these headers besides.
    pub(crate) fn leading(&mut self, headers: &str, body: impl AsRef<[u8]>) -> io::Result<()> {
        self.answer(
            "200 OK",
            &format!("Content-Type: text/html\n{headers}"),
            body,
        )
    }

    /// A redirect; the connection stays.
    pub(crate) fn redirect(&mut self, target: &str) -> io::Result<()> {
        self.answer("302 Found", &format!("Location: {target}"), "moved")
    }

    /// The same bytes so many times.
    pub(crate) fn repeat(&mut self, piece: &str, times: usize) -> io::Result<()> {
        let many = (1 << 16) / piece.len().max(1) + 1;
        let large = piece.repeat(many);
        for _ in 0..times / many {
            self.send(&large)?;
        }
        self.send(piece.repeat(times % many))
    }

    /// The same bytes until the client has enough.
    pub(crate) fn forever(&mut self, piece: &str) -> io::Result<()> {
        let large = piece.repeat((1 << 14) / piece.len().max(1) + 1);
        while !self.shared.is_stopped() {
            self.send(&large)?;
        }
        self.close()
    }

    /// The same bytes again and again, slowly, until the client has enough.
    pub(crate) fn drip(&mut self, piece: &str) -> io::Result<()> {
        while !self.shared.is_stopped() {
            self.send(piece)?;
            thread::sleep(Duration::from_millis(150));
        }
        self.close()
    }

    /// These bytes, one after the other, each after a while; then nothing.
    pub(crate) fn slowly(&mut self, bytes: &str) -> io::Result<()> {
        for byte in bytes.bytes() {
            self.send([byte])?;
            thread::sleep(Duration::from_millis(400));
        }
        self.hang()
    }

    /// A while in which the client can read what it has.
    pub(crate) fn pause(&self) {
        if !self.shared.is_stopped() {
            thread::sleep(Duration::from_millis(150));
        }
    }

    /// Nothing, until the client has enough.
    pub(crate) fn hang(&mut self) -> io::Result<()> {
        let mut piece = [0; 64];
        while matches!(self.stream.read(&mut piece), Ok(1..)) {}
        self.close()
    }

    /// Ends the connection in good order.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)?;
        Err(io::ErrorKind::ConnectionAborted.into())
    }

    /// Ends the connection by a TCP reset.
    pub(crate) fn reset(&mut self) -> io::Result<()> {
        SockRef::from(&self.stream).set_linger(Some(Duration::ZERO))?;
        Err(io::ErrorKind::ConnectionReset.into())
    }
}
