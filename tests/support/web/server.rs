//! The wire side of the web: accepts connections, reads request heads, finds the site's answer
//! and writes it the way its [`Delivery`] says.
//!
//! HTTP/1.1 with persistent connections, without pipelining; a request with a body is answered
//! and its connection closed. Nothing here depends on what was asked before.

use std::future::pending;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Instant;

use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::log::{Log, Progress, Request};
use super::site::{Answer, Delivery, Site};

/// A client whose head is longer is hung up on.
const LONGEST_HEAD: usize = 1 << 16;

/// Size of a chunk: small enough that every page of some length has several.
const CHUNK: usize = 1_000;

/// What all connections of a web share.
pub(super) struct Shared {
    pub(super) net: u8,
    pub(super) port: u16,
    pub(super) sites: Vec<Site>,
    pub(super) log: Log,
    /// Requests with a serial number from this one on wait for their answers.
    pub(super) gate: watch::Sender<usize>,
}

impl Shared {
    /// Scheme, address and port of a host.
    pub(super) fn origin(&self, host: usize) -> String {
        format!("http://{}:{}", address(self.net, host), self.port)
    }
}

/// The address of a host.
pub(super) fn address(net: u8, host: usize) -> Ipv4Addr {
    let last = u8::try_from(host + 1).expect("a web has at most 254 hosts");
    Ipv4Addr::new(127, 0, net, last)
}

/// Serves one host until the runtime ends.
pub(super) async fn serve(listener: TcpListener, shared: Arc<Shared>, host: usize) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(converse(stream, Arc::clone(&shared), host));
            }
            // Out of file descriptors, or a client that was gone at once.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

/// Answers the requests of one connection, until one side closes it.
async fn converse(mut stream: TcpStream, shared: Arc<Shared>, host: usize) {
    let connection = shared.log.connect();
    let mut gate = shared.gate.subscribe();
    let site = &shared.sites[host];
    let mut answered = 0;
    // The last byte of an answer is sent on its own and must not wait for an acknowledgement.
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let mut received = Vec::new();
    while let Some(head) = read_head(&stream, &mut received).await {
        let mut request = read_request(host, connection, head);
        let mut progress = Progress::begin(&shared, &mut request);
        let answer = settle(site.answer(&request), &shared);
        // tokio's shortest sleep is a millisecond: no delay must not become one.
        if !answer.delay.is_zero() {
            tokio::select! {
                () = tokio::time::sleep(answer.delay) => {}
                () = hung_up(&stream) => return,
            }
        }
        if !admitted(&stream, &mut gate, progress.serial).await {
            return;
        }
        let closes = closes_after(&request, &answer);
        if send(&mut stream, &answer, closes, &mut progress)
            .await
            .is_err()
        {
            return;
        }
        answered += 1;
        if closes || site.requests_per_connection == Some(answered) {
            return;
        }
    }
}

/// Waits at the gate; false when the client left meanwhile.
async fn admitted(stream: &TcpStream, gate: &mut watch::Receiver<usize>, serial: usize) -> bool {
    while serial >= *gate.borrow_and_update() {
        tokio::select! {
            changed = gate.changed() => if changed.is_err() { return false; },
            () = hung_up(stream) => return false,
        }
    }
    true
}

/// Ends when the client has closed the connection.
async fn hung_up(stream: &TcpStream) {
    match stream.peek(&mut [0]).await {
        Ok(0) | Err(_) => {}
        // It sent more: it is still there, and this peek would find the same byte again.
        Ok(_) => pending().await,
    }
}

/// The next head, up to and with its empty line; `None` when the client closed.
async fn read_head(stream: &TcpStream, received: &mut Vec<u8>) -> Option<Vec<u8>> {
    loop {
        if let Some(end) = received.windows(4).position(|window| window == b"\r\n\r\n") {
            let rest = received.split_off(end + 4);
            return Some(std::mem::replace(received, rest));
        }
        if received.len() > LONGEST_HEAD || !matches!(read(stream, received).await, Ok(1..)) {
            return None;
        }
        // A client that begins a TLS handshake is told so in plain text, as servers do.
        if received.first() == Some(&0x16) {
            let _ = stream.try_write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
            return None;
        }
    }
}

fn read_request(host: usize, connection: usize, head: Vec<u8>) -> Request {
    let text = String::from_utf8_lossy(&head);
    let mut parts = text.lines().next().unwrap_or_default().split(' ');
    let method = parts.next().unwrap_or_default().to_owned();
    let path = parts.next().unwrap_or_default().to_owned();
    Request {
        host,
        method,
        path,
        head,
        arrived: Instant::now(),
        finished: None,
        connection,
    }
}

/// Whether the connection ends with this answer.
fn closes_after(request: &Request, answer: &Answer) -> bool {
    let head = String::from_utf8_lossy(&request.head);
    let old = head
        .lines()
        .next()
        .is_some_and(|line| line.ends_with("HTTP/1.0"));
    let asked = |value: Option<String>| {
        value.is_some_and(|value| value.to_ascii_lowercase().contains("close"))
    };
    let announced = answer
        .headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("Connection"))
        .map(|(_, value)| value.clone());
    let has_body = request.header("Transfer-Encoding").is_some()
        || request
            .header("Content-Length")
            .is_some_and(|length| length != "0");
    let by_delivery = !matches!(
        answer.delivery,
        Delivery::ContentLength | Delivery::Chunked | Delivery::DripBytes(_)
    );
    old || has_body || by_delivery || asked(request.header("Connection")) || asked(announced)
}

/// Puts origins in the place of `{host3}` and applies the content coding.
fn settle(mut answer: Answer, shared: &Shared) -> Answer {
    answer.body = place_origins(&answer.body, shared);
    for (_, value) in &mut answer.headers {
        let placed = place_origins(value.as_bytes(), shared);
        *value = String::from_utf8(placed).expect("ASCII was put into UTF-8");
    }
    if answer.gzip {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder
            .write_all(&answer.body)
            .expect("a vector takes every byte");
        answer.body = encoder.finish().expect("a vector takes every byte");
        answer = answer.header("Content-Encoding", "gzip");
    }
    answer
}

fn place_origins(bytes: &[u8], shared: &Shared) -> Vec<u8> {
    const OPENING: &[u8] = b"{host";
    let mut placed = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&first, after)) = rest.split_first() {
        if let Some(named) = rest.strip_prefix(OPENING)
            && let Some(end) = named.iter().take(4).position(|&byte| byte == b'}')
            && let Ok(number) = str::from_utf8(&named[..end])
            && let Ok(host) = number.parse()
            && host < shared.sites.len()
        {
            placed.extend_from_slice(shared.origin(host).as_bytes());
            rest = &named[end + 1..];
        } else {
            placed.push(first);
            rest = after;
        }
    }
    placed
}

async fn send(
    stream: &mut TcpStream,
    answer: &Answer,
    closes: bool,
    progress: &mut Progress,
) -> io::Result<()> {
    let body = answer.body.as_slice();
    let head = |framing: Option<String>| head(answer, framing, closes);
    let length = |length: usize| Some(format!("Content-Length: {length}"));
    match &answer.delivery {
        _ if matches!(answer.status, 204 | 304) => finish(stream, &head(None), progress).await,
        Delivery::ContentLength => {
            finish(
                stream,
                &[&head(length(body.len())), body].concat(),
                progress,
            )
            .await
        }
        Delivery::WrongLength(wrong) => {
            finish(stream, &[&head(length(*wrong)), body].concat(), progress).await
        }
        Delivery::CloseDelimited => finish(stream, &[&head(None), body].concat(), progress).await,
        Delivery::Raw(bytes) => finish(stream, bytes, progress).await,
        Delivery::Chunked => {
            let mut bytes = head(Some("Transfer-Encoding: chunked".to_owned()));
            for chunk in body.chunks(CHUNK) {
                bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                bytes.extend_from_slice(chunk);
                bytes.extend_from_slice(b"\r\n");
            }
            bytes.extend_from_slice(b"0\r\n\r\n");
            finish(stream, &bytes, progress).await
        }
        Delivery::DripBytes(pause) => {
            let head = head(length(body.len()));
            let Some((last, most)) = body.split_last() else {
                return finish(stream, &head, progress).await;
            };
            write(stream, &head).await?;
            for byte in most {
                tokio::time::sleep(*pause).await;
                write(stream, std::slice::from_ref(byte)).await?;
            }
            tokio::time::sleep(*pause).await;
            finish(stream, std::slice::from_ref(last), progress).await
        }
        Delivery::NeverAnswer => {
            while let Ok(1..) = read(stream, &mut Vec::new()).await {}
            Err(io::ErrorKind::ConnectionAborted.into())
        }
        Delivery::ResetMidBody => {
            let half = &body[..body.len() / 2];
            finish(
                stream,
                &[&head(length(body.len())), half].concat(),
                progress,
            )
            .await?;
            // Closing a socket that does not linger sends a reset in place of an orderly end.
            stream.set_zero_linger()
        }
    }
}

fn head(answer: &Answer, framing: Option<String>, closes: bool) -> Vec<u8> {
    let status = [format!("HTTP/1.1 {} {}", answer.status, answer.reason)];
    let headers = answer
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}"));
    let announced = answer
        .headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("Connection"));
    let close = (closes && !announced).then(|| "Connection: close".to_owned());
    let mut head = String::new();
    for line in status
        .into_iter()
        .chain(headers)
        .chain(framing)
        .chain(close)
    {
        head.push_str(&line);
        head.push_str("\r\n");
    }
    head.push_str("\r\n");
    head.into_bytes()
}

/// Writes the end of an answer. The request counts as finished before its last byte leaves: the
/// client's next request, which that byte may cause, must not find this one still in progress.
async fn finish(stream: &TcpStream, bytes: &[u8], progress: &mut Progress) -> io::Result<()> {
    let Some((last, most)) = bytes.split_last() else {
        progress.finish();
        return Ok(());
    };
    write(stream, most).await?;
    progress.finish();
    write(stream, std::slice::from_ref(last)).await
}

// tokio's own `read` and `write_all` need its `io-util` feature, which gleaner does not ask for.

async fn read(stream: &TcpStream, into: &mut Vec<u8>) -> io::Result<usize> {
    let mut buffer = [0; 4096];
    loop {
        stream.readable().await?;
        match stream.try_read(&mut buffer) {
            Ok(count) => {
                into.extend_from_slice(&buffer[..count]);
                return Ok(count);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

async fn write(stream: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.writable().await?;
        match stream.try_write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
