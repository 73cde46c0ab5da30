//! A store for files that speaks as much of the protocol of Amazon's S3 as uploads need, with
//! buckets in the path. It checks signatures (AWS Signature Version 4, in the query) and the
//! digests of bodies, both by its own arithmetic.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::Md5;
use sha2::{Digest as _, Sha256};

/// Key and secret that the store knows.
pub(crate) const KEY: (&str, &str) = ("reader", "a long secret");

/// How long a test waits for a request.
const PATIENCE: Duration = Duration::from_mins(1);

/// What the store holds and was asked.
#[derive(Debug, Default)]
pub(crate) struct Held {
    /// Objects by name, with the tag that the store tells.
    pub(crate) objects: BTreeMap<String, (Vec<u8>, String)>,
    /// Parts of what is not an object yet, by upload and number.
    pub(crate) parts: BTreeMap<String, BTreeMap<u16, Vec<u8>>>,
    /// Requests, as method and what is asked for.
    pub(crate) asked: Vec<String>,
    /// The request, by what it begins with, that gets no answer, and those that follow it.
    pub(crate) silent_from: Option<String>,
    /// Objects are told with another tag.
    pub(crate) tells_wrong_tags: bool,
    uploads: usize,
}

/// A store that runs until the test is over.
#[derive(Clone)]
pub(crate) struct Bucket {
    port: u16,
    held: Arc<(Mutex<Held>, Condvar)>,
}

/// A request.
struct Request {
    method: String,
    path: String,
    query: BTreeMap<String, String>,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Bucket {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let bucket = Self {
            port,
            held: Arc::default(),
        };
        let serving = bucket.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let bucket = serving.clone();
                thread::spawn(move || bucket.serve(stream));
            }
        });
        bucket
    }

    /// Settings for an upload to it.
    pub(crate) fn settings(&self) -> String {
        format!(
            "upload = \"s3://crawls/news\"\nupload_endpoint = \"http://127.0.0.1:{}\"\n\
             upload_path_style = true\n",
            self.port
        )
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Held)) {
        change(&mut self.held.0.lock().expect("nobody panicked"));
    }

    pub(crate) fn see<T>(&self, see: impl FnOnce(&Held) -> T) -> T {
        see(&self.held.0.lock().expect("nobody panicked"))
    }

    /// Waits until the store was asked for something.
    pub(crate) fn wait_until(&self, is_so: impl Fn(&Held) -> bool) {
        let (held, news) = &*self.held;
        let held = held.lock().expect("nobody panicked");
        let waited = news.wait_timeout_while(held, PATIENCE, |held| !is_so(held));
        let (held, end) = waited.expect("nobody panicked");
        assert!(!end.timed_out(), "it was asked for {:?} only", held.asked);
    }

    fn serve(&self, stream: TcpStream) -> Option<()> {
        let mut writer = stream.try_clone().ok()?;
        let mut reader = BufReader::new(stream);
        loop {
            let request = Request::read(&mut reader)?;
            let (status, headers, body) = self.answer(&request)?;
            let length = match request.method.as_str() {
                "HEAD" => String::new(),
                _ => format!("Content-Length: {}\r\n", body.len()),
            };
            let head = format!("HTTP/1.1 {status}\r\n{headers}{length}\r\n");
            writer.write_all(head.as_bytes()).ok()?;
            if request.method != "HEAD" {
                writer.write_all(body.as_bytes()).ok()?;
            }
        }
    }

    /// Returns status, further headers and body; `None` to say nothing.
    fn answer(&self, request: &Request) -> Option<(&'static str, String, String)> {
        let (held, news) = &*self.held;
        let mut held = held.lock().expect("nobody panicked");
        let asked = request.shown();
        held.asked.push(asked.clone());
        news.notify_all();
        if held
            .silent_from
            .as_ref()
            .is_some_and(|it| asked.starts_with(it))
        {
            drop(held);
            // Whoever asked is killed meanwhile.
            thread::park();
            return None;
        }
        let refused = |why: &str| {
            let body = format!("<Error><Code>{why}</Code></Error>");
            Some(("403 Forbidden", String::new(), body))
        };
        if !request.is_signed() {
            return refused("SignatureDoesNotMatch");
        }
        if let Some(digest) = request.headers.get("content-md5")
            && *digest != STANDARD.encode(Md5::digest(&request.body))
        {
            return refused("BadDigest");
        }
        let name = request.path.strip_prefix("/crawls/")?.to_owned();
        let upload = request.query.get("uploadId").cloned();
        let tag = hex::encode(Md5::digest(&request.body));
        let said = |headers: String, body: &str| Some(("200 OK", headers, body.to_owned()));
        match (request.method.as_str(), upload) {
            ("PUT", None) => {
                held.objects.insert(name, (request.body.clone(), tag));
                said(String::new(), "")
            }
            ("POST", None) => {
                held.uploads += 1;
                let upload = format!("upload-{}", held.uploads);
                held.parts.insert(upload.clone(), BTreeMap::new());
                let body = format!(
                    "<InitiateMultipartUploadResult \
                     xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Bucket>crawls</Bucket>\
                     <Key>{name}</Key><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>"
                );
                said(String::new(), &body)
            }
            ("PUT", Some(upload)) => {
                let number = request.query.get("partNumber")?.parse().ok()?;
                let parts = held.parts.get_mut(&upload)?;
                parts.insert(number, request.body.clone());
                said(format!("ETag: \"{tag}\"\r\n"), "")
            }
            ("POST", Some(upload)) => {
                let parts = held.parts.remove(&upload)?;
                let digests: Vec<u8> = parts.values().flat_map(Md5::digest).collect();
                let tag = format!("{}-{}", hex::encode(Md5::digest(digests)), parts.len());
                let body = parts.into_values().flatten().collect();
                held.objects.insert(name, (body, tag));
                said(String::new(), "<CompleteMultipartUploadResult/>")
            }
            ("DELETE", Some(upload)) => {
                held.parts.remove(&upload);
                said(String::new(), "")
            }
            ("HEAD", None) => match held.objects.get(&name) {
                Some((body, tag)) => {
                    let wrong = if held.tells_wrong_tags { "0" } else { "" };
                    let length = body.len();
                    said(
                        format!("Content-Length: {length}\r\nETag: \"{wrong}{tag}\"\r\n"),
                        "",
                    )
                }
                None => Some(("404 Not Found", String::new(), String::new())),
            },
            _ => Some(("400 Bad Request", String::new(), String::new())),
        }
    }
}

impl Request {
    fn read(reader: &mut BufReader<TcpStream>) -> Option<Self> {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let mut parts = line.split_whitespace();
        let (method, target) = (parts.next()?.to_owned(), parts.next()?.to_owned());
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let query = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(": ") else {
                break;
            };
            headers.insert(name.to_lowercase(), value.to_owned());
        }
        let length = headers.get("content-length").and_then(|it| it.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).ok()?;
        Some(Self {
            method,
            path: path.to_owned(),
            query: query.collect(),
            headers,
            body,
        })
    }

    /// Method, name of the file without what differs between crawls, and the part.
    fn shown(&self) -> String {
        let number = self.query.get("partNumber");
        let part = number.map_or(String::new(), |it| format!(" part {it}"));
        let what = match (
            self.query.contains_key("uploads"),
            self.query.get("uploadId"),
        ) {
            (true, _) => " begin",
            (_, Some(_)) => " upload",
            _ => "",
        };
        format!("{}{what}{part} {}", self.method, self.path)
    }

    /// Whether the query has the signature that the secret gives.
    fn is_signed(&self) -> bool {
        let get = |name: &str| self.query.get(name).map_or("", String::as_str);
        let (time, scope) = (
            get("X-Amz-Date"),
            get("X-Amz-Credential").replace("%2F", "/"),
        );
        let Some((key, scope)) = scope.split_once('/') else {
            return false;
        };
        // Sorted, and encoded as they were sent.
        let pairs = self
            .query
            .iter()
            .filter(|(name, _)| *name != "X-Amz-Signature");
        let query: Vec<String> = pairs
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let host = self.headers.get("host").map_or("", String::as_str);
        let canonical = format!(
            "{}\n{}\n{}\nhost:{host}\n\nhost\nUNSIGNED-PAYLOAD",
            self.method,
            self.path,
            query.join("&")
        );
        let digest = hex::encode(Sha256::digest(canonical));
        let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{digest}");
        let mut secret = format!("AWS4{}", KEY.1).into_bytes();
        for part in scope.split('/') {
            secret = hmac(&secret, part.as_bytes());
        }
        key == KEY.0 && hex::encode(hmac(&secret, text.as_bytes())) == get("X-Amz-Signature")
    }
}

/// HMAC with SHA-256 (RFC 2104).
fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    assert!(key.len() <= 64, "longer keys are digested first");
    let pad = |with: u8| {
        let mut pad = [with; 64];
        pad.iter_mut().zip(key).for_each(|(pad, key)| *pad ^= key);
        pad
    };
    let inner = Sha256::new()
        .chain_update(pad(0x36))
        .chain_update(text)
        .finalize();
    Sha256::new()
        .chain_update(pad(0x5c))
        .chain_update(inner)
        .finalize()
        .to_vec()
}
