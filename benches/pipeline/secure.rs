//! The web of the crawl over TLS: a host for each address of loopback that it needs, each with a
//! name and pages that are made when they are asked for. A process of its own.

use std::collections::HashMap;
use std::io::{self, BufRead as _};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use bytes::Bytes;
use rustls::HandshakeKind;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use crate::authority::{Authority, Flaw};
use crate::pages::Site;

/// How the web is served.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Serving {
    /// What it is called in the table, and by the processes to one another.
    pub(crate) name: &'static str,
    /// The protocol that is agreed on; none is plain http.
    protocol: Option<&'static str>,
    /// Whether each connection ends with its first response.
    closes: bool,
    /// Whether sessions can be resumed.
    tickets: bool,
}

impl Serving {
    pub(crate) const ALL: [Self; 5] = [
        Self::new("http", None),
        Self::new("https, HTTP/1.1", Some("http/1.1")),
        Self::new("https, HTTP/2", Some("h2")),
        Self {
            closes: true,
            ..Self::new("https, a connection a page", Some("http/1.1"))
        },
        Self {
            closes: true,
            tickets: false,
            ..Self::new("https, the same without tickets", Some("http/1.1"))
        },
    ];

    const fn new(name: &'static str, protocol: Option<&'static str>) -> Self {
        Self {
            name,
            protocol,
            closes: false,
            tickets: true,
        }
    }

    pub(crate) fn scheme(&self) -> &'static str {
        match self.protocol {
            Some(_) => "https",
            None => "http",
        }
    }
}

/// The name of a host.
pub(crate) fn name(host: usize) -> String {
    format!("host{host}.site{}.example", host / 10)
}

/// Its address.
pub(crate) fn address(host: usize) -> Ipv4Addr {
    let [high, low] = [host / 250, host % 250].map(|it| u8::try_from(it).expect("few hosts"));
    Ipv4Addr::new(127, 1, high, 1 + low)
}

/// What was asked of the web.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Asked {
    /// Different pages.
    pub(crate) pages: u64,
    /// Pages that nobody asked for.
    pub(crate) missed: u64,
    /// Requests for a page that had been sent before.
    pub(crate) again: u64,
    /// Handshakes that began a session, and those that resumed one.
    pub(crate) begun: u64,
    pub(crate) resumed: u64,
}

impl Asked {
    pub(crate) fn parse(line: &str) -> Self {
        let numbers = line.split_whitespace().map(|it| it.parse().unwrap_or(0));
        let numbers: Vec<u64> = numbers.collect();
        match numbers[..] {
            [pages, missed, again, begun, resumed] => Self {
                pages,
                missed,
                again,
                begun,
                resumed,
            },
            _ => panic!("not a reply: {line}"),
        }
    }
}

struct Web {
    serving: Serving,
    sites: HashMap<String, Served>,
    begun: AtomicU64,
    resumed: AtomicU64,
}

struct Served {
    site: Site,
    /// The number of each page, by its path.
    numbers: HashMap<String, usize>,
    sent: Vec<AtomicU64>,
}

/// Serves so many hosts with so many pages each until standard input ends. Writes the certificate
/// of its authority to a file, says its port, and answers each line.
pub(crate) fn serve(serving: Serving, hosts: usize, pages: usize, file: &Path) {
    let served = (0..hosts).map(|host| (name(host), Served::new(host, pages)));
    let web = Arc::new(Web {
        serving,
        sites: served.collect(),
        begun: AtomicU64::new(0),
        resumed: AtomicU64::new(0),
    });
    let acceptor = serving.protocol.map(|protocol| {
        let authority = Authority::new();
        std::fs::copy(authority.file(), file).expect("the directory is ours");
        let names: Vec<String> = (0..hosts.div_ceil(10))
            .map(|site| format!("*.site{site}.example"))
            .collect();
        // One certificate for each registrable domain, as sites have.
        let configs = names.iter().map(|it| {
            let mut config = authority.server(it, Flaw::None, &[protocol]);
            if serving.tickets {
                config.ticketer = rustls::crypto::ring::Ticketer::new().expect("it has a key");
            } else {
                config.send_tls13_tickets = 0;
            }
            TlsAcceptor::from(Arc::new(config))
        });
        configs.collect::<Vec<_>>()
    });
    let first = TcpListener::bind((address(0), 0)).expect("loopback has a free port");
    let port = first.local_addr().expect("it is bound").port();
    let others = (1..hosts).map(|host| {
        TcpListener::bind((address(host), port)).expect("the port is free at the other addresses")
    });
    let listeners: Vec<TcpListener> = std::iter::once(first).chain(others).collect();
    let serving = Arc::clone(&web);
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a thread can have a reactor");
        runtime.block_on(async {
            for (host, listener) in listeners.into_iter().enumerate() {
                listener.set_nonblocking(true).expect("it is a socket");
                let listener = tokio::net::TcpListener::from_std(listener).expect("a reactor");
                let acceptor = acceptor.as_ref().map(|all| all[host / 10].clone());
                tokio::spawn(accept(listener, acceptor, Arc::clone(&serving)));
            }
            std::future::pending::<()>().await;
        });
    });
    crate::say(&port.to_string());
    for _ in io::stdin().lock().lines().map_while(Result::ok) {
        crate::say(&web.asked());
    }
}

async fn accept(listener: tokio::net::TcpListener, acceptor: Option<TlsAcceptor>, web: Arc<Web>) {
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        let (acceptor, web) = (acceptor.clone(), Arc::clone(&web));
        tokio::spawn(async move {
            let _ = web.converse(stream, acceptor).await;
        });
    }
}

impl Served {
    fn new(host: usize, pages: usize) -> Self {
        let site = Site::new(host as u64, pages);
        let paths = site.paths.iter().enumerate();
        Self {
            numbers: paths.map(|(number, path)| (path.clone(), number)).collect(),
            sent: site.paths.iter().map(|_| AtomicU64::new(0)).collect(),
            site,
        }
    }
}

impl Web {
    async fn converse(&self, stream: TcpStream, acceptor: Option<TlsAcceptor>) -> io::Result<()> {
        let Some(acceptor) = acceptor else {
            return self.by_http_1(stream).await;
        };
        let stream = acceptor.accept(stream).await?;
        let kind = match stream.get_ref().1.handshake_kind() {
            Some(HandshakeKind::Resumed) => &self.resumed,
            _ => &self.begun,
        };
        kind.fetch_add(1, Ordering::Relaxed);
        if self.serving.protocol == Some("h2") {
            return self.by_http_2(stream).await.map_err(io::Error::other);
        }
        self.by_http_1(stream).await
    }

    async fn by_http_1(&self, mut stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
        let mut head = Vec::new();
        while stream.read_buf(&mut head).await? > 0 {
            if !head.ends_with(b"\r\n\r\n") {
                continue;
            }
            let text = String::from_utf8_lossy(&head);
            let target = text.split(' ').nth(1).unwrap_or_default();
            let mut hosts = text.lines().filter_map(|line| line.strip_prefix("host: "));
            let page = self.page(hosts.next().unwrap_or_default(), target);
            let (status, body) = match &page {
                Some(page) => ("200 OK", &page[..]),
                None => ("404 Not Found", &b""[..]),
            };
            let close = if self.serving.closes {
                "close"
            } else {
                "keep-alive"
            };
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nConnection: {close}\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            stream
                .write_all(&[answer.as_bytes(), body].concat())
                .await?;
            if self.serving.closes {
                return stream.shutdown().await;
            }
            head.clear();
        }
        Ok(())
    }

    async fn by_http_2(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
    ) -> Result<(), h2::Error> {
        let mut connection = h2::server::Builder::new().handshake(stream).await?;
        while let Some(request) = connection.accept().await {
            let (request, mut respond) = request?;
            let uri = request.uri();
            let host = uri
                .authority()
                .map(http::uri::Authority::as_str)
                .unwrap_or_default();
            let page = self.page(host, uri.path());
            let answer = http::Response::builder()
                .status(if page.is_some() { 200 } else { 404 })
                .header("content-type", "text/html");
            let answer = answer.body(()).expect("a response");
            let mut body = respond.send_response(answer, false)?;
            body.send_data(Bytes::from(page.unwrap_or_default()), true)?;
        }
        Ok(())
    }

    /// The page at a path of a host, which has a port behind its name.
    fn page(&self, host: &str, path: &str) -> Option<Vec<u8>> {
        let name = host.split(':').next().unwrap_or_default();
        let served = self.sites.get(name)?;
        let number = *served.numbers.get(path)?;
        served.sent[number].fetch_add(1, Ordering::Relaxed);
        Some(served.site.page(number).into_bytes())
    }

    fn asked(&self) -> String {
        let (mut pages, mut missed, mut again) = (0, 0, 0);
        for sent in self.sites.values().flat_map(|it| &it.sent) {
            match sent.load(Ordering::Relaxed) {
                0 => missed += 1,
                times => (pages, again) = (pages + 1, again + times - 1),
            }
        }
        let [begun, resumed] = [&self.begun, &self.resumed].map(|it| it.load(Ordering::Relaxed));
        format!("{pages} {missed} {again} {begun} {resumed}")
    }
}
