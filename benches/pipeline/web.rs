//! The web of the crawl: many hosts on loopback, one page of each at a time, all in memory or made
//! when they are asked for. It is a process of its own, so that its CPU time is not the crawler's.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::child::spawn_on;
use crate::corpus::gzip;
use crate::pages::Site;

/// Hosts, so that as many pages can be under way at once.
pub(crate) const HOSTS: u8 = 64;

/// The web as its parent sees it. It ends when dropped.
pub(crate) struct Web {
    child: Child,
    orders: ChildStdin,
    replies: BufReader<ChildStdout>,
    port: u16,
}

/// What was asked of the web since the last time.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Asked {
    /// Different pages.
    pub(crate) pages: u64,
    /// Pages that nobody asked for.
    pub(crate) missed: u64,
    /// Requests for a page that had been sent before.
    pub(crate) again: u64,
    /// Requests for what is no page.
    pub(crate) other: u64,
}

impl Web {
    /// Starts it with some `pages` pages, on a core if one is given. `options` are `--gzip` for
    /// bodies that come compressed, and `--made` for pages that are made when they are asked for.
    pub(crate) fn start(pages: usize, options: &[&str], core: Option<usize>) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this bench runs"));
        command.args(["web", &pages.to_string()]).args(options);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = spawn_on(&mut command, core);
        let orders = child.stdin.take().expect("it is piped");
        let mut replies = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        replies.read_line(&mut line).expect("it serves");
        Self {
            child,
            orders,
            replies,
            port: line.trim().parse().expect("it says its port"),
        }
    }

    /// The first page of each host.
    pub(crate) fn seeds(&self) -> Vec<String> {
        let seed = |host| format!("http://{}:{}/", address(host), self.port);
        (0..HOSTS).map(seed).collect()
    }

    fn order(&mut self, order: &str) -> String {
        writeln!(self.orders, "{order}").expect("it serves");
        let mut line = String::new();
        self.replies.read_line(&mut line).expect("it replies");
        line
    }

    /// Number of pages that were sent since it started.
    pub(crate) fn sent(&mut self) -> u64 {
        let line = self.order("sent");
        line.trim().parse().expect("it is a number")
    }

    /// What was asked since the last time.
    pub(crate) fn asked(&mut self) -> Asked {
        let line = self.order("asked");
        let numbers = line.split_whitespace().map(|it| it.parse().unwrap_or(0));
        let numbers: Vec<u64> = numbers.collect();
        match numbers[..] {
            [pages, missed, again, other] => Asked {
                pages,
                missed,
                again,
                other,
            },
            _ => panic!("not a reply: {line}"),
        }
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn address(host: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 1, 1 + host)
}

/// All pages, and how often each was sent.
struct Pages {
    sites: Vec<Site>,
    /// Host and number of each page, and its position among all, by host and path.
    places: HashMap<String, (usize, usize, usize)>,
    compressed: bool,
    /// Each page as it is sent; none if they are made when they are asked for.
    responses: Vec<Vec<u8>>,
    sent: Vec<AtomicU64>,
    all_sent: AtomicU64,
    other: AtomicU64,
}

impl Pages {
    fn new(count: usize, compressed: bool, made: bool) -> Self {
        let each = count.div_ceil(usize::from(HOSTS));
        let sites: Vec<Site> = (0..HOSTS).map(|it| Site::new(it.into(), each)).collect();
        let mut places = HashMap::new();
        for (host, site) in (0..HOSTS).zip(&sites) {
            for (number, path) in site.paths.iter().enumerate() {
                let place = (host.into(), number, places.len());
                places.insert(format!("{} {path}", address(host)), place);
            }
        }
        let mut pages = Self {
            sites,
            compressed,
            responses: Vec::new(),
            sent: (0..places.len()).map(|_| AtomicU64::new(0)).collect(),
            places,
            all_sent: AtomicU64::new(0),
            other: AtomicU64::new(0),
        };
        if !made {
            let numbers = pages.sites.iter().map(|site| site.paths.len()).enumerate();
            let all = numbers.flat_map(|(host, pages)| (0..pages).map(move |it| (host, it)));
            let all = all.map(|(host, number)| pages.made(host, number));
            pages.responses = all.collect();
        }
        pages
    }

    /// Makes the response with a page of a host.
    fn made(&self, host: usize, number: usize) -> Vec<u8> {
        let html = self.sites[host].page(number).into_bytes();
        match self.compressed {
            true => response(&gzip(&html), "Content-Encoding: gzip\r\n"),
            false => response(&html, ""),
        }
    }

    /// The response to a request of a host.
    fn response(&self, host: Ipv4Addr, head: &[u8]) -> Cow<'_, [u8]> {
        let target = head.split(|byte| *byte == b' ').nth(1);
        let target = String::from_utf8_lossy(target.unwrap_or_default());
        let Some(&(site, number, place)) = self.places.get(&format!("{host} {target}")) else {
            self.other.fetch_add(1, Ordering::Relaxed);
            return Cow::Borrowed(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
        };
        self.sent[place].fetch_add(1, Ordering::Relaxed);
        self.all_sent.fetch_add(1, Ordering::Relaxed);
        match self.responses.get(place) {
            Some(response) => Cow::Borrowed(response),
            None => Cow::Owned(self.made(site, number)),
        }
    }

    /// What was asked since the last time, as it is told to the parent.
    fn asked(&self) -> String {
        let (mut pages, mut missed, mut again) = (0, 0, 0);
        for sent in &self.sent {
            match sent.swap(0, Ordering::Relaxed) {
                0 => missed += 1,
                times => (pages, again) = (pages + 1, again + times - 1),
            }
        }
        let other = self.other.swap(0, Ordering::Relaxed);
        format!("{pages} {missed} {again} {other}")
    }
}

fn response(body: &[u8], coding: &str) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nServer: bench\r\nContent-Type: text/html\r\n{coding}Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// Serves `pages` pages until standard input ends. Says its port, and answers each line.
pub(crate) fn serve(pages: usize, compressed: bool, made: bool) {
    let pages = Arc::new(Pages::new(pages, compressed, made));
    let first = TcpListener::bind((address(0), 0)).expect("loopback has a free port");
    let port = first.local_addr().expect("it is bound").port();
    let others = (1..HOSTS).map(|host| {
        TcpListener::bind((address(host), port)).expect("the port is free at the other addresses")
    });
    let listeners: Vec<TcpListener> = std::iter::once(first).chain(others).collect();
    let serving = Arc::clone(&pages);
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a thread can have a reactor");
        runtime.block_on(accept(listeners, serving));
    });
    crate::say(&port.to_string());
    for order in io::stdin().lines().map_while(Result::ok) {
        crate::say(&match order.as_str() {
            "sent" => pages.all_sent.load(Ordering::Relaxed).to_string(),
            _ => pages.asked(),
        });
    }
}

async fn accept(listeners: Vec<TcpListener>, pages: Arc<Pages>) {
    let mut accepting = tokio::task::JoinSet::new();
    for listener in listeners {
        listener.set_nonblocking(true).expect("it is a socket");
        let listener = tokio::net::TcpListener::from_std(listener).expect("there is a reactor");
        let pages = Arc::clone(&pages);
        accepting.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(SocketAddr::V4(own)) = stream.local_addr() else {
                    continue;
                };
                let pages = Arc::clone(&pages);
                tokio::spawn(async move {
                    let _ = converse(stream, *own.ip(), &pages).await;
                });
            }
        });
    }
    accepting.join_all().await;
}

/// Answers the requests of one connection, which have no bodies.
async fn converse(mut stream: TcpStream, host: Ipv4Addr, pages: &Pages) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut head = Vec::new();
    while stream.read_buf(&mut head).await? > 0 {
        if head.ends_with(b"\r\n\r\n") {
            stream.write_all(&pages.response(host, &head)).await?;
            head.clear();
        }
    }
    Ok(())
}
