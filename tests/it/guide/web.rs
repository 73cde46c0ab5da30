//! The web of the guide: a directory with a folder of files for each host, served over https by an
//! authority of its own; plain http is led there. A folder's file `_rules` says what is no file:
//!
//! ```text
//! redirect /old /new
//! login /members/ session=mellon     # without this cookie, what is below leads to /login
//! ```

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use xxhash_rust::xxh3::xxh3_64;

use crate::tls_servers::Authority;

/// What the settings of [`Web::settings`] are told by, in what gleaner prints.
pub(super) const HIDDEN: [&str; 6] = [
    "fetch.hosts",
    "fetch.ca_files",
    "GLEANER_FETCH_HOSTS",
    "GLEANER_FETCH_CA_FILES",
    "GLEANER_POLITENESS_DELAY",
    "GLEANER_DEDUP_SEED",
];

/// No client of these takes longer; one that does has died.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running web. Dropping it ends it.
pub(super) struct Web {
    authority: Authority,
    address: SocketAddr,
    hosts: Vec<String>,
    is_over: Arc<AtomicBool>,
    /// Taken by `drop` only.
    listening: Option<JoinHandle<()>>,
}

impl Web {
    pub(super) fn start(served: &Path) -> Self {
        let mut hosts: Vec<String> = fs::read_dir(served)
            .expect("the web has folders")
            .map(|entry| entry.expect("the directory stays").file_name())
            .map(|name| name.into_string().expect("names of hosts are ASCII"))
            .collect();
        hosts.sort();
        let authority = Authority::new();
        let config = Arc::new(authority.server_of(&hosts));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a port");
        let address = listener.local_addr().expect("it is bound");
        let is_over = Arc::new(AtomicBool::new(false));
        let (ended, served) = (Arc::clone(&is_over), served.to_owned());
        let listening = thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                let (config, served) = (Arc::clone(&config), served.clone());
                // A client that goes away is no fault of the web.
                thread::spawn(move || drop(serve(stream, config, &served)));
            }
        });
        Self {
            authority,
            address,
            hosts,
            is_over,
            listening: Some(listening),
        }
    }

    /// Variables by which gleaner finds it, and does not take its time.
    pub(super) fn settings(&self) -> [(&'static str, String); 4] {
        let host = |name: &String| format!("'{name}' = ['{}']", self.address);
        let hosts: Vec<String> = self.hosts.iter().map(host).collect();
        let file = self.authority.file();
        let file = file.to_str().expect("temporary paths are ASCII");
        [
            ("GLEANER_FETCH_HOSTS", format!("{{ {} }}", hosts.join(", "))),
            ("GLEANER_FETCH_CA_FILES", file.to_owned()),
            ("GLEANER_POLITENESS_DELAY", "5ms".to_owned()),
            ("GLEANER_DEDUP_SEED", "0".to_owned()),
        ]
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // The listener waits for one more.
        let _ = TcpStream::connect(self.address);
        if let Some(listening) = self.listening.take() {
            let _ = listening.join();
        }
    }
}

fn serve(mut stream: TcpStream, config: Arc<ServerConfig>, served: &Path) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut first = [0];
    stream.peek(&mut first)?;
    // A TLS record of a handshake begins with 22; a method is a word.
    if first != [22] {
        let request = Request::read(&mut stream)?;
        let location = format!("https://{}{}", request.host, request.target);
        return stream.write_all(&Answer::redirect(&location).bytes());
    }
    let connection = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(connection, stream);
    let request = Request::read(&mut stream)?;
    stream.write_all(&answer(&request, served).bytes())?;
    stream.conn.send_close_notify();
    stream.flush()
}

struct Request {
    host: String,
    /// Path and query.
    target: String,
    cookie: String,
    if_none_match: String,
}

impl Request {
    fn read(stream: &mut impl Read) -> io::Result<Self> {
        let mut head = Vec::new();
        let mut buffer = [0; 4096];
        while !head.windows(4).any(|it| it == b"\r\n\r\n") {
            match stream.read(&mut buffer)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => head.extend_from_slice(&buffer[..count]),
            }
        }
        let head = String::from_utf8_lossy(&head);
        let field = |name: &str| {
            let fields = head.lines().filter_map(|line| line.split_once(": "));
            let mut found = fields.filter(|(it, _)| it.eq_ignore_ascii_case(name));
            found
                .next()
                .map(|(_, value)| value.to_owned())
                .unwrap_or_default()
        };
        Ok(Self {
            host: field("host"),
            target: head.split(' ').nth(1).unwrap_or("/").to_owned(),
            cookie: field("cookie"),
            if_none_match: field("if-none-match"),
        })
    }
}

struct Answer {
    status: &'static str,
    fields: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Answer {
    fn page(status: &'static str) -> Self {
        let body = format!("<!doctype html><title>{status}</title><h1>{status}</h1>\n");
        Self {
            status,
            fields: vec![("Content-Type", "text/html; charset=utf-8".to_owned())],
            body: body.into_bytes(),
        }
    }

    fn redirect(location: &str) -> Self {
        let mut answer = Self::page("301 Moved Permanently");
        answer.fields.push(("Location", location.to_owned()));
        answer
    }

    /// With its length, and nothing after it.
    fn bytes(&self) -> Vec<u8> {
        let fields = self
            .fields
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"));
        let fields: String = fields.collect();
        let head = format!(
            "HTTP/1.1 {}\r\n{fields}Content-Length: {}\r\nConnection: close\r\n\r\n",
            self.status,
            self.body.len()
        );
        [head.as_bytes(), &self.body].concat()
    }
}

fn answer(request: &Request, served: &Path) -> Answer {
    let folder = served.join(&request.host);
    let path = request.target.split('?').next().unwrap_or_default();
    let rules = fs::read_to_string(folder.join("_rules")).unwrap_or_default();
    for rule in rules.lines() {
        let words: Vec<&str> = rule.split_whitespace().collect();
        match words[..] {
            ["redirect", from, to] if path == from => return Answer::redirect(to),
            ["login", below, cookie]
                if path.starts_with(below) && !request.cookie.contains(cookie) =>
            {
                let mut answer = Answer::redirect("/login");
                answer.status = "302 Found";
                return answer;
            }
            _ => {}
        }
    }
    let Some((file, body)) = file(&folder, path) else {
        return Answer::page("404 Not Found");
    };
    let kind = match file.extension().and_then(|it| it.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css",
        Some("pdf") => "application/pdf",
        Some("svg") => "image/svg+xml",
        Some("xml") => "application/xml",
        _ => "text/plain; charset=utf-8",
    };
    let tag = format!("\"{:016x}\"", xxh3_64(&body));
    let is_known = request.if_none_match == tag;
    let fields = vec![("Content-Type", kind.to_owned()), ("ETag", tag)];
    match is_known {
        true => Answer {
            status: "304 Not Modified",
            fields,
            body: Vec::new(),
        },
        false => Answer {
            status: "200 OK",
            fields,
            body,
        },
    }
}

/// The file that a path stands for: itself, with `.html`, or the `index.html` in it.
fn file(folder: &Path, path: &str) -> Option<(PathBuf, Vec<u8>)> {
    let is_inside = !path.contains("..") && !path.contains("/_");
    let inner = path.trim_start_matches('/');
    let names = match inner.is_empty() || inner.ends_with('/') {
        true => [format!("{inner}index.html"), String::new()],
        false => [inner.to_owned(), format!("{inner}.html")],
    };
    let mut files = names
        .iter()
        .filter(|name| !name.is_empty() && is_inside)
        .map(|name| {
            let file = folder.join(name);
            fs::read(&file).ok().map(|body| (file, body))
        });
    files.find_map(|it| it)
}
