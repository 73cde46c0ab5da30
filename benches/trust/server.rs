//! A lean server on loopback: a thread for each connection, all names of a site at one address. It
//! writes down what was asked.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::site::{Ask, Reply, Site};

/// What was asked so far.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// URL of each request and the key of the good page shown, if any, in the order of arrival;
    /// robots.txt aside.
    pub(crate) requests: Vec<(String, Option<String>)>,
    /// Good pages shown, and the number of the request that showed each first.
    pub(crate) shown: HashMap<String, usize>,
}

/// A running server. It ends with the process, or when dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    site: Site,
    log: Mutex<Log>,
    ended: AtomicBool,
}

impl Server {
    /// Serves a site at a free port.
    pub(crate) fn start(site: Site) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("it is bound");
        let shared = Arc::new(Shared {
            site,
            log: Mutex::default(),
            ended: AtomicBool::new(false),
        });
        let ours = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if ours.ended.load(Ordering::Relaxed) {
                    return;
                }
                let ours = Arc::clone(&ours);
                thread::spawn(move || ours.converse(&stream));
            }
        });
        Self { address, shared }
    }

    /// The site that it serves.
    pub(crate) fn site(&self) -> &Site {
        &self.shared.site
    }

    /// The good pages that were never asked for.
    pub(crate) fn lost(&self) -> Vec<(String, String)> {
        self.log(|log| {
            let good = self.site().good.iter();
            good.filter(|it| !log.shown.contains_key(&it.0))
                .cloned()
                .collect()
        })
    }

    /// Looks at what was asked so far.
    pub(crate) fn log<T>(&self, look: impl FnOnce(&Log) -> T) -> T {
        let log = self.shared.log.lock();
        look(&log.unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    /// Answers the requests of one connection.
    fn converse(&self, stream: &TcpStream) {
        let _ = stream.set_nodelay(true);
        let (mut target, mut host) = (String::new(), String::new());
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        loop {
            line.clear();
            if !matches!(reader.read_line(&mut line), Ok(1..)) {
                return;
            }
            let text = line.trim_end();
            if let Some(rest) = text.strip_prefix("GET ") {
                rest.split(' ')
                    .next()
                    .unwrap_or_default()
                    .clone_into(&mut target);
            } else if let Some((name, value)) = text.split_once(':')
                && name.eq_ignore_ascii_case("host")
            {
                let value = value.trim();
                value
                    .split(':')
                    .next()
                    .unwrap_or_default()
                    .clone_into(&mut host);
            } else if text.is_empty() {
                let reply = self.answer(&host, &target);
                if write(stream, &reply).is_err() {
                    return;
                }
            }
        }
    }

    /// Answers a request and writes it down.
    fn answer(&self, host: &str, target: &str) -> Reply {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut ask = Ask {
            host,
            path,
            query,
            serial: 0,
        };
        if path == "/robots.txt" {
            let reply = (self.site.answer)(&ask);
            return if reply.mime == "text/plain" {
                reply
            } else {
                Reply::missing()
            };
        }
        let number = {
            let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
            let url = format!("http://{host}{target}");
            log.requests.push((url, None));
            log.requests.len() - 1
        };
        ask.serial = number;
        let reply = (self.site.answer)(&ask);
        if let Some(key) = &reply.key {
            let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
            log.requests[number].1 = Some(key.clone());
            log.shown.entry(key.clone()).or_insert(number + 1);
        }
        reply
    }
}

fn write(mut stream: &TcpStream, reply: &Reply) -> std::io::Result<()> {
    let Reply {
        status, mime, body, ..
    } = reply;
    let location = match &reply.location {
        Some(to) => format!("Location: {to}\r\n"),
        None => String::new(),
    };
    let length = body.len();
    let mut bytes = format!(
        "HTTP/1.1 {status} OK\r\nContent-Type: {mime}\r\n{location}Content-Length: {length}\r\n\r\n"
    )
    .into_bytes();
    bytes.extend_from_slice(body.as_bytes());
    stream.write_all(&bytes)
}
