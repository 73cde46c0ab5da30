//! Secure connections: which are made, what is recorded of them, and servers that misuse HTTP/2.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use gleaner::fetch::{
    Cut, Exchange, Failure, FailureClass, FetchOptions, Fetcher, Guard, NamedHosts, Outcome,
};
use gleaner::units::Span;
use gleaner::url::parse;
use rustls::HandshakeKind;
use tokio::io::{AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_rustls::server::TlsStream;

use crate::client::read_head;
use crate::run::PATIENCE;
use crate::tls_servers::{Authority, Flaw, serve};

const NAME: &str = "secure.example";

/// Fetches from servers that have this name.
fn fetcher(address: SocketAddr, ca_files: Vec<PathBuf>) -> Fetcher {
    fetcher_within(PATIENCE, address, ca_files)
}

/// The same, which waits so long for the head of an answer, and for its end.
fn fetcher_within(patience: Duration, address: SocketAddr, ca_files: Vec<PathBuf>) -> Fetcher {
    let mut options = FetchOptions {
        hosts: NamedHosts::new([(NAME.to_owned(), vec![address.into()])]).expect("a name"),
        ca_files,
        ..FetchOptions::new("test (+https://example.org)")
    };
    options.head_timeout = Span(patience);
    options.total_timeout = Span(patience);
    let guard = Arc::new(Guard::new(&options));
    Fetcher::new(options, guard).expect("the options are sound")
}

async fn fetch(fetcher: &Fetcher, path: &str) -> Result<Exchange, Failure> {
    let url = parse(&format!("https://{NAME}{path}")).expect("a URL");
    match fetcher.fetch(&url).await.0 {
        Outcome::Exchange(exchange) => Ok(*exchange),
        Outcome::Failed(failure) => Err(failure),
    }
}

/// Answers one request over HTTP/1.1.
async fn answer(mut stream: TlsStream<TcpStream>) {
    let _ = read_head(&mut stream).await;
    let _ = stream
        .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello")
        .await;
    let _ = stream.shutdown().await;
}

#[tokio::test]
async fn a_certificate_must_be_vouched_for_be_of_its_time_and_name_the_host() {
    let authority = Authority::new();
    let check = async |name, flaw, trusted: bool, expected: Option<&str>| {
        let config = authority.server(name, flaw, &["h2", "http/1.1"]);
        let address = serve(config, |stream| async { drop(stream) }).await;
        let files = trusted.then(|| authority.file()).into_iter().collect();
        match (fetch(&fetcher(address, files), "/").await, expected) {
            (Err(failure), Some(expected)) => {
                assert_eq!(failure.class, FailureClass::Tls, "{failure:?}");
                let said = failure.message.to_lowercase();
                assert!(said.contains(expected), "{said}");
            }
            // The connection was made, and then nothing came.
            (Err(failure), None) => assert_eq!(failure.class, FailureClass::Disconnect),
            (Ok(exchange), _) => panic!("{exchange:?}"),
        }
    };
    check(NAME, Flaw::None, true, None).await;
    check(NAME, Flaw::None, false, Some("unknownissuer")).await;
    check(NAME, Flaw::SelfSigned, true, Some("unknownissuer")).await;
    check(NAME, Flaw::Expired, true, Some("expired")).await;
    check(NAME, Flaw::NotYetValid, true, Some("not valid yet")).await;
    let said = Some("not valid for name");
    check("other.example", Flaw::None, true, said).await;
}

#[test]
fn files_of_roots_that_cannot_be_used_are_named() {
    let directory = tempfile::tempdir().expect("there is one");
    let check = |name: &str, text: Option<&str>, expected: &str| {
        let path = directory.path().join(name);
        if let Some(text) = text {
            std::fs::write(&path, text).expect("it is ours");
        }
        let options = FetchOptions {
            ca_files: vec![path],
            ..FetchOptions::new("test")
        };
        let guard = Arc::new(Guard::new(&options));
        let error = Fetcher::new(options, guard)
            .expect_err("it cannot be used")
            .to_string();
        assert!(error.contains(name) && error.contains(expected), "{error}");
    };
    check("missing.pem", None, "No such file");
    check("empty.pem", Some("hello"), "no certificate");
    let broken = "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n";
    check("broken.pem", Some(broken), "broken.pem");
}

#[tokio::test]
async fn what_was_spoken_is_recorded() {
    let authority = Authority::new();
    let files = vec![authority.file()];
    let check = async |config, expected: &[&str]| {
        let address = serve(config, answer).await;
        let exchange = fetch(&fetcher(address, files.clone()), "/")
            .await
            .expect("an answer");
        assert_eq!(exchange.protocols, expected);
        assert_eq!(exchange.remote, Some(address));
        assert_eq!(&exchange.body[..], b"hello");
    };
    let new = authority.server(NAME, Flaw::None, &["http/1.1"]);
    check(new, &["http/1.1", "tls/1.3"]).await;
    check(authority.old_server(NAME), &["http/1.1", "tls/1.2"]).await;
}

/// More servers than the store of the library remembers.
#[tokio::test]
async fn the_next_connection_to_each_of_many_servers_resumes_its_session() {
    const SERVERS: usize = 40;
    let authority = Authority::new();
    let name = |number: usize| format!("host{number}.secure.example");
    let check = async |config| {
        let (tell, mut told) = mpsc::unbounded_channel();
        let address = serve(config, move |stream| {
            let _ = tell.send(stream.get_ref().1.handshake_kind());
            answer(stream)
        })
        .await;
        let names = (0..SERVERS).map(|number| (name(number), vec![address.into()]));
        let options = FetchOptions {
            hosts: NamedHosts::new(names).expect("names"),
            ca_files: vec![authority.file()],
            ..FetchOptions::new("test (+https://example.org)")
        };
        let guard = Arc::new(Guard::new(&options));
        let fetcher = Fetcher::new(options, guard).expect("the options are sound");
        for kind in [HandshakeKind::Full, HandshakeKind::Resumed] {
            for number in 0..SERVERS {
                let url = format!("https://{}/", name(number));
                let url = parse(&url).expect("a URL");
                let (outcome, _) = fetcher.fetch(&url).await;
                assert!(matches!(outcome, Outcome::Exchange(_)), "{outcome:?}");
                assert_eq!(told.recv().await, Some(Some(kind)), "{url}");
            }
        }
    };
    let mut new = authority.server("*.secure.example", Flaw::None, &["http/1.1"]);
    // Tickets, as any server has them; without a key of its own it would remember the sessions.
    new.ticketer = rustls::crypto::ring::Ticketer::new().expect("it has a key");
    check(new).await;
    check(authority.old_server("*.secure.example")).await;
}

/// What a server of HTTP/2 was asked: method and URL, then fields in their order.
type Asked = Arc<Mutex<Vec<(String, String)>>>;

#[tokio::test]
async fn a_request_over_http_2_is_recorded_as_if_by_http_1() {
    let authority = Authority::new();
    let asked = Asked::default();
    let log = Arc::clone(&asked);
    let config = authority.server(NAME, Flaw::None, &["h2"]);
    let address = serve(config, move |stream| {
        let log = Arc::clone(&log);
        async move {
            let mut connection = h2::server::handshake(stream).await.expect("a client");
            while let Some(Ok((request, mut respond))) = connection.accept().await {
                let target = format!("{} {}", request.method(), request.uri());
                let mut fields = vec![("target".to_owned(), target)];
                fields.extend(request.headers().iter().map(|(name, value)| {
                    let value = String::from_utf8_lossy(value.as_bytes());
                    (name.to_string(), value.into_owned())
                }));
                *log.lock().expect("nobody panics with it") = fields;
                let answer = http::Response::builder()
                    .header("set-cookie", "a=1")
                    .header("set-cookie", "b=2")
                    .body(())
                    .expect("a response");
                let mut body = respond.send_response(answer, false).expect("it is open");
                body.send_data(Bytes::from_static(b"hello"), true)
                    .expect("it is open");
            }
        }
    })
    .await;
    let fetcher = fetcher(address, vec![authority.file()]);
    let exchange = fetch(&fetcher, "/a?b=c").await.expect("an answer");
    assert_eq!(exchange.protocols, ["h2", "tls/1.3"]);
    assert_eq!(&exchange.body[..], b"hello");
    let cookies: Vec<_> = exchange.header_values("set-cookie").collect();
    assert_eq!(cookies, ["a=1", "b=2"]);

    let head = String::from_utf8(exchange.request_head).expect("text");
    let mut lines = head.lines();
    assert_eq!(lines.next(), Some("GET /a?b=c HTTP/1.1"));
    let recorded: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let asked = asked.lock().expect("nobody panics with it").clone();
    let (target, fields) = asked.split_first().expect("a request");
    assert_eq!(target.1, format!("GET https://{NAME}/a?b=c"));
    assert_eq!(fields, recorded, "every field, in its order");
}

/// What a hostile server of HTTP/2 does with a connection.
type Misuse = fn(TlsStream<TcpStream>) -> Pin<Box<dyn Future<Output = ()> + Send>>;

/// A frame (RFC 9113, section 4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len())
        .expect("a frame is short")
        .to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

const SETTINGS: u8 = 4;

/// Begins a connection by hand: settings of both sides, and the request is on its way.
async fn begin(stream: &mut TlsStream<TcpStream>) {
    let mut preface = [0; 24];
    let _ = stream.read_exact(&mut preface).await;
    let _ = stream.write_all(&frame(SETTINGS, 0, 0, &[])).await;
    let _ = stream.write_all(&frame(SETTINGS, 1, 0, &[])).await;
}

/// Sends the same until nobody takes it any more, and reads whatever comes.
async fn flood(stream: TlsStream<TcpStream>, bytes: Vec<u8>) {
    let (mut reader, mut writer) = tokio::io::split(stream);
    let reading = tokio::spawn(async move {
        let mut sink = [0; 4_096];
        while matches!(reader.read(&mut sink).await, Ok(1..)) {}
    });
    write_without_end(&mut writer, &bytes).await;
    let _ = reading.await;
}

async fn write_without_end(writer: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) {
    let many = bytes.repeat(1 + 16_384 / bytes.len());
    while writer.write_all(&many).await.is_ok() {}
}

/// Ends each stream for this reason as soon as it is asked for something.
async fn reset(stream: TlsStream<TcpStream>, reason: h2::Reason) {
    let mut connection = h2::server::handshake(stream).await.expect("a client");
    while let Some(Ok((_, mut respond))) = connection.accept().await {
        respond.send_reset(reason);
    }
}

async fn half_a_body(stream: TlsStream<TcpStream>) {
    let mut connection = h2::server::handshake(stream).await.expect("a client");
    while let Some(Ok((_, mut respond))) = connection.accept().await {
        let answer = respond.send_response(http::Response::new(()), false);
        let mut body = answer.expect("it is open");
        let half = Bytes::from_static(b"half");
        body.send_data(half, false).expect("it is open");
        tokio::spawn(async move {
            // After what was sent, or the reset would overtake it.
            body.reserve_capacity(1 << 20);
            let _ = std::future::poll_fn(|context| body.poll_capacity(context)).await;
            body.send_reset(h2::Reason::CANCEL);
        });
    }
}

async fn go_away(stream: TlsStream<TcpStream>) {
    let mut connection = h2::server::handshake(stream).await.expect("a client");
    connection.abrupt_shutdown(h2::Reason::ENHANCE_YOUR_CALM);
    while let Some(Ok(_)) = connection.accept().await {}
}

/// Begins a connection, sends a frame, and then another one for ever.
async fn begin_and_flood(mut stream: TlsStream<TcpStream>, first: Vec<u8>, then: Vec<u8>) {
    begin(&mut stream).await;
    let _ = stream.write_all(&first).await;
    flood(stream, then).await;
}

async fn garbage(mut stream: TlsStream<TcpStream>) {
    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
    let _ = stream.shutdown().await;
}

fn misuses() -> [(&'static str, Misuse); 9] {
    [
        ("reset", |it| {
            Box::pin(reset(it, h2::Reason::INTERNAL_ERROR))
        }),
        ("refused", |it| {
            Box::pin(reset(it, h2::Reason::REFUSED_STREAM))
        }),
        ("goaway", |it| Box::pin(go_away(it))),
        ("half a body", |it| Box::pin(half_a_body(it))),
        ("pings", |it| {
            Box::pin(begin_and_flood(it, vec![], frame(6, 0, 0, &[7; 8])))
        }),
        ("settings", |it| {
            Box::pin(begin_and_flood(it, vec![], frame(SETTINGS, 0, 0, &[])))
        }),
        // Headers that do not end, of fields that are not kept (RFC 7541, section 6.2.2).
        ("continuations", |it| {
            let more = frame(9, 0, 1, b"\x00\x01a\x01b");
            Box::pin(begin_and_flood(it, frame(1, 0, 1, &[0x88]), more))
        }),
        ("empty data", |it| {
            let headers = frame(1, 4, 1, &[0x88]);
            Box::pin(begin_and_flood(it, headers, frame(0, 0, 1, &[])))
        }),
        ("garbage", |it| Box::pin(garbage(it))),
    ]
}

/// Begins a connection, and waits for the request.
async fn begin_asked(stream: &mut TlsStream<TcpStream>) {
    begin(stream).await;
    let mut head = [0; 9];
    while head[3] != 1 && stream.read_exact(&mut head).await.is_ok() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; usize::try_from(length).expect("a frame is short")];
        let _ = stream.read_exact(&mut payload).await;
    }
}

/// Frames that are no response end with the time for the head, and a body that comes in small
/// pieces is read to its end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_frames_ends_with_the_time_for_the_head() {
    let authority = Authority::new();
    let floods = [
        ("window updates", frame(8, 0, 0, &[0, 0, 0, 0])),
        ("priorities", frame(2, 0, 1, &[0, 0, 0, 0, 1])),
        ("unknown", frame(0xfa, 0, 0, &[])),
        // An informational response (RFC 7541: an indexed name and a literal value).
        ("informational", frame(1, 4, 1, b"\x08\x03103")),
    ];
    for (name, flooding) in floods {
        let (ended, mut ends) = mpsc::unbounded_channel();
        let config = authority.server(NAME, Flaw::None, &["h2"]);
        let address = serve(config, move |mut stream| {
            let (ended, flooding) = (ended.clone(), flooding.clone());
            async move {
                begin_asked(&mut stream).await;
                flood(stream, flooding).await;
                let _ = ended.send(());
            }
        })
        .await;
        let patience = Duration::from_millis(500);
        let client = fetcher_within(patience, address, vec![authority.file()]);
        let fetched = tokio::time::timeout(PATIENCE, fetch(&client, "/")).await;
        let failure = fetched.expect(name).expect_err(name);
        // Some are errors of the protocol, and end the connection earlier.
        let is_error = failure.class == FailureClass::Disconnect;
        assert!(failure.is_silent() || is_error, "{name}: {failure:?}");
        let end = tokio::time::timeout(PATIENCE, ends.recv()).await;
        assert!(end.is_ok(), "{name} goes on");
    }

    let config = authority.server(NAME, Flaw::None, &["h2"]);
    let address = serve(config, |mut stream| async move {
        begin_asked(&mut stream).await;
        let mut sent = frame(1, 4, 1, &[0x88]);
        sent.extend(frame(0, 0, 1, &[b'x'; 200]).repeat(1_000));
        sent.extend(frame(0, 1, 1, b""));
        let _ = stream.write_all(&sent).await;
        let mut sink = [0; 4_096];
        while matches!(stream.read(&mut sink).await, Ok(1..)) {}
    })
    .await;
    let client = fetcher(address, vec![authority.file()]);
    let exchange = fetch(&client, "/").await.expect("an answer");
    assert_eq!((exchange.body.len(), exchange.cut), (200_000, None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn misuse_of_http_2_costs_the_visit_and_nothing_else() {
    let authority = Authority::new();
    let check = async |(name, misuse): (&str, Misuse)| {
        let (ended, mut ends) = mpsc::unbounded_channel();
        let config = authority.server(NAME, Flaw::None, &["h2"]);
        let address = serve(config, move |stream| {
            let ended = ended.clone();
            async move {
                misuse(stream).await;
                let _ = ended.send(());
            }
        })
        .await;
        let patience = Duration::from_secs(1);
        let client = fetcher_within(patience, address, vec![authority.file()]);
        let fetched = tokio::time::timeout(PATIENCE, fetch(&client, "/")).await;
        match fetched.expect(name) {
            Err(failure) => {
                use FailureClass::{Disconnect, Protocol, Timeout};
                let is_theirs = matches!(failure.class, Disconnect | Protocol | Timeout);
                assert!(is_theirs, "{name}: {failure:?}");
            }
            Ok(exchange) => {
                let is_cut = matches!(exchange.cut, Some(Cut::Disconnect | Cut::Time));
                assert!(is_cut, "{name}: {exchange:?}");
            }
        }
        // The server is not listened to any longer.
        let end = tokio::time::timeout(PATIENCE, ends.recv()).await;
        assert!(end.is_ok(), "{name} goes on");
    };
    // All at once: most of the time of each is spent waiting.
    let [a, b, c, d, e, f, g, h, i] = misuses();
    tokio::join!(
        check(a),
        check(b),
        check(c),
        check(d),
        check(e),
        check(f),
        check(g),
        check(h),
        check(i)
    );
}
