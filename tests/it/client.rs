//! What is sent, judged from the servers' and the proxies' side: header fields, credentials,
//! cookies; and that the record of it is what was sent.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use gleaner::fetch::{
    Approach, Conditions, CookieMode, Exchange, Failure, FailureClass, FetchOptions,
    FetchOverrides, Fetcher, Guard, NamedHosts, Outcome, Proxy, Secret,
};
use gleaner::units::Span;
use gleaner::url::parse;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::dns::{Answer as Names, Dns};
use crate::run::{PATIENCE, Place, field, gleaner, kind, leaves, only, page, run};
use crate::web::{Answer, Delivery, Site, Web};

/// What connections began with, in their order.
#[derive(Clone, Default)]
struct Heads(Arc<Mutex<Vec<String>>>);

impl Heads {
    fn push(&self, head: &[u8]) {
        let head = String::from_utf8_lossy(head).into_owned();
        self.0.lock().expect("nobody panics with it").push(head);
    }

    /// Takes the first.
    fn next(&self) -> String {
        self.0.lock().expect("nobody panics with it").remove(0)
    }

    fn is_empty(&self) -> bool {
        self.0.lock().expect("nobody panics with it").is_empty()
    }
}

/// What a connection begins with, up to the end of the first head.
pub(crate) async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    head
}

/// A free port of loopback.
pub(crate) async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("loopback has a free port");
    let address = listener.local_addr().expect("it is bound");
    (listener, address)
}

/// A server, or a proxy of HTTP that answers itself, that keeps the heads it was sent.
async fn server(answer: &'static str) -> (SocketAddr, Heads) {
    let (listener, address) = listen().await;
    let heads = Heads::default();
    let log = heads.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            log.push(&read_head(&mut stream).await);
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (address, heads)
}

const HELLO: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello";

fn fetcher(options: FetchOptions) -> Fetcher {
    let guard = Arc::new(Guard::new(&options));
    Fetcher::new(options, guard).expect("the options are sound")
}

fn options() -> FetchOptions {
    FetchOptions::new("test/1.0 (+https://example.org)")
}

fn named(hosts: &[(&str, SocketAddr)]) -> NamedHosts {
    let hosts = hosts
        .iter()
        .map(|(name, at)| ((*name).to_owned(), vec![(*at).into()]));
    NamedHosts::new(hosts).expect("names of hosts")
}

async fn fetch(fetcher: &Fetcher, url: &str) -> Result<Exchange, Failure> {
    let url = parse(url).expect("a URL");
    match fetcher.fetch(&url).await.0 {
        Outcome::Exchange(exchange) => Ok(*exchange),
        Outcome::Failed(failure) => Err(failure),
    }
}

async fn answer(fetcher: &Fetcher, url: &str) -> Exchange {
    fetch(fetcher, url).await.expect("an answer")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn secret(text: &str) -> Secret {
    Secret::try_from(text.to_owned()).expect("a secret")
}

fn proxy(url: &str) -> Proxy {
    Proxy::try_from(url.to_owned()).expect("a proxy")
}

#[tokio::test]
async fn a_recorded_request_is_what_was_sent_byte_for_byte() {
    let (address, heads) = server(HELLO).await;
    let mut options = options();
    options.hosts = named(&[("a.example", address)]);
    let fields = r#"{"Accept-Language": "de, en;q=0.5", "Accept": "*/*", "From": "a@b.example"}"#;
    options.headers = serde_json::from_str(fields).expect("header fields");
    let fetcher = fetcher(options);
    let url = parse("http://user:pass@A.example/%7Ea/b%20c?q=%C3%BC&r#part").expect("a URL");
    let conditions = Conditions {
        etag: Some("W/\"1\""),
        last_modified: Some("Fri, 20 Nov 2026 10:01:00 GMT"),
    };
    let fetched = fetcher
        .fetch_as(&url, conditions, Approach::default())
        .await;
    let Outcome::Exchange(exchange) = fetched.0 else {
        panic!("no answer");
    };
    let sent = heads.next();
    assert_eq!(text(&exchange.request_head), sent);
    assert_eq!(
        sent,
        "GET /%7Ea/b%20c?q=%C3%BC&r HTTP/1.1\r\nhost: a.example\r\n\
         user-agent: test/1.0 (+https://example.org)\r\naccept: */*\r\n\
         accept-encoding: gzip, deflate, br, zstd\r\naccept-language: de, en;q=0.5\r\n\
         from: a@b.example\r\nif-none-match: W/\"1\"\r\n\
         if-modified-since: Fri, 20 Nov 2026 10:01:00 GMT\r\n\r\n"
    );
}

/// Sends the same without end to whoever connects.
async fn flooding(first: &'static str, then: &'static str) -> SocketAddr {
    let (listener, address) = listen().await;
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                read_head(&mut stream).await;
                let _ = stream.write_all(first.as_bytes()).await;
                let many = then.repeat(1_000);
                while stream.write_all(many.as_bytes()).await.is_ok() {}
            });
        }
    });
    address
}

#[tokio::test]
async fn answers_that_are_none_end_with_the_time_for_the_head() {
    // A few informational responses are in order.
    const HINTS: &str = "HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n\
        HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello";
    for (first, then) in [
        ("", "HTTP/1.1 103\r\n\r\n"),
        ("", "\r\n"),
        ("HTTP/1.1 200 OK\r\n", "a: b\r\n"),
        ("HTTP/1.1 103 Hints\r\n", "a: b\r\n"),
    ] {
        let mut options = options();
        options.hosts = named(&[("a.example", flooding(first, then).await)]);
        options.head_timeout = Span::millis(500);
        let fetcher = fetcher(options);
        let fetched = fetch(&fetcher, "http://a.example/");
        let fetched = tokio::time::timeout(PATIENCE, fetched).await;
        let failure = fetched.expect("it ends").expect_err("no answer");
        let is_too_large = failure.class == FailureClass::Protocol;
        assert!(failure.is_silent() || is_too_large, "{failure:?}");
    }
    let (address, _) = server(HINTS).await;
    let mut options = options();
    options.hosts = named(&[("a.example", address)]);
    let exchange = answer(&fetcher(options), "http://a.example/").await;
    assert_eq!(exchange.status, 200);
}

#[tokio::test]
async fn credentials_go_to_their_host_alone_and_not_into_the_record() {
    let (address, heads) = server(HELLO).await;
    for hide_credentials in [true, false] {
        let mut options = options();
        options.hosts = named(&[("a.example", address), ("b.example", address)]);
        options.hide_credentials = hide_credentials;
        options.own = vec![(
            "a.example".parse().expect("a pattern"),
            FetchOverrides {
                auth: Some(Some(secret("user:hush"))),
                headers: serde_json::from_str(r#"{"X-Api-Key": "hush"}"#).expect("a field"),
                ..FetchOverrides::default()
            },
        )];
        let fetcher = fetcher(options);
        let to_own = answer(&fetcher, "http://a.example/").await;
        let to_other = answer(&fetcher, "http://b.example/").await;
        let (own, other) = (heads.next(), heads.next());
        assert!(own.contains("\r\nauthorization: Basic dXNlcjpodXNo\r\n"));
        assert!(own.contains("\r\nx-api-key: hush\r\n"));
        assert_eq!(other, text(&to_other.request_head));
        assert!(!other.contains("authorization"));
        let secrets = own.replace("Basic dXNlcjpodXNo", "(hidden)");
        let hidden = secrets.replace("hush", "(hidden)");
        let expected = if hide_credentials { hidden } else { own };
        assert_eq!(text(&to_own.request_head), expected);
    }
}

#[tokio::test]
async fn cookies_are_sent_back_where_that_is_asked_for() {
    const SETS: &str = "HTTP/1.1 200 OK\r\nset-cookie: id=1; Path=/\r\nset-cookie: b=2; Domain=example\r\n\
        content-length: 0\r\nconnection: close\r\n\r\n";
    let (address, heads) = server(SETS).await;
    let mut options = options();
    let names = ["a.example", "b.a.example", "off.example"];
    options.hosts = named(&names.map(|name| (name, address)));
    options.own = vec![(
        "a.example".parse().expect("a pattern"),
        FetchOverrides {
            cookies: Some(CookieMode::Host),
            ..FetchOverrides::default()
        },
    )];
    let fetcher = fetcher(options);
    let check = async |url, expected: Option<&str>| {
        let exchange = answer(&fetcher, url).await;
        let sent = heads.next();
        assert_eq!(text(&exchange.request_head), sent);
        let cookie = sent.lines().find_map(|line| line.strip_prefix("cookie: "));
        assert_eq!(cookie, expected, "{url}");
    };
    check("http://a.example/", None).await;
    check("http://a.example/", Some("id=1; b=2")).await;
    // Another host, although it is below that one.
    check("http://b.a.example/", None).await;
    check("http://off.example/", None).await;
    check("http://off.example/", None).await;
}

#[tokio::test]
async fn a_proxy_of_http_is_asked_for_whole_urls() {
    let (address, heads) = server(HELLO).await;
    let mut options = options();
    options.proxy = proxy(&format!("http://user:hush@{address}"));
    let fetcher = fetcher(options);
    // Names are the proxy's to resolve: nobody else is asked.
    let exchange = answer(&fetcher, "http://nowhere.example:81/a?b").await;
    let sent = heads.next();
    let head = "GET http://nowhere.example:81/a?b HTTP/1.1\r\nhost: nowhere.example:81\r\n";
    assert!(sent.starts_with(head), "{sent}");
    let hidden = sent.replace("Basic dXNlcjpodXNo", "(hidden)");
    assert_ne!(hidden, sent);
    assert_eq!(text(&exchange.request_head), hidden);
    assert_eq!(exchange.remote, None, "whose address it was is not known");

    // What is https goes through a tunnel, which this one does not open.
    let failure = fetch(&fetcher, "https://nowhere.example/")
        .await
        .expect_err("no tunnel");
    let classes = [
        FailureClass::Connect,
        FailureClass::Disconnect,
        FailureClass::Tls,
    ];
    assert!(classes.contains(&failure.class), "{failure:?}");
    let sent = heads.next();
    assert!(
        sent.starts_with("CONNECT nowhere.example:443 HTTP/1.1\r\n"),
        "{sent}"
    );
}

#[tokio::test]
async fn a_proxy_is_no_way_past_the_guard() {
    let (address, heads) = server(HELLO).await;
    for scheme in ["http", "socks5h", "socks5"] {
        let mut options = options();
        options.proxy = proxy(&format!("{scheme}://localhost:{}", address.port()));
        let fetcher = fetcher(options);
        for url in [
            "http://10.0.0.1/".to_owned(),
            "http://169.254.169.254/latest/meta-data/".to_owned(),
            "http://a.localhost/".to_owned(),
            "http://[::ffff:10.0.0.1]/".to_owned(),
            format!("http://localhost:{}/", address.port()),
            // The proxy itself, however it is written.
            format!("http://localhost.:{}/", address.port()),
        ] {
            let failure = fetch(&fetcher, &url).await.expect_err("it is refused");
            let is_guarded = failure.class == FailureClass::Guard;
            assert!(is_guarded, "{scheme} {url} {failure:?}");
        }
    }
    // Where names are resolved here, what they lead to is checked, too.
    let dns = Dns::start(|_, _| Names::of(&["10.0.0.1"], 60));
    let mut options = options();
    options.nameservers = vec![dns.address().parse().expect("an address")];
    options.proxy = proxy(&format!("socks5://localhost:{}", address.port()));
    let failure = fetch(&fetcher(options), "http://private.example/").await;
    let failure = failure.expect_err("it is refused");
    assert_eq!(failure.class, FailureClass::Guard, "{failure:?}");
    assert!(heads.is_empty());
}

#[tokio::test]
async fn a_proxy_that_wants_other_credentials_is_no_page() {
    let (address, _) =
        server("HTTP/1.1 407 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
    let mut options = options();
    options.proxy = proxy(&format!("http://{address}"));
    let failure = fetch(&fetcher(options), "http://a.example/")
        .await
        .expect_err("no page");
    assert_eq!(failure.class, FailureClass::Connect);
    assert!(failure.message.contains("407"));
}

#[tokio::test]
async fn names_with_addresses_of_their_own_bypass_the_proxy() {
    let (address, heads) = server(HELLO).await;
    let mut options = options();
    // Nobody listens there.
    options.proxy = proxy("http://127.0.0.1:9");
    options.hosts = named(&[("a.example", address)]);
    answer(&fetcher(options), "http://a.example/").await;
    let sent = heads.next();
    assert!(sent.starts_with("GET / HTTP/1.1\r\n"));
}

/// A proxy of SOCKS5 (RFC 1928) without and with credentials (RFC 1929) that answers in the
/// server's place, and keeps who was asked for.
async fn socks() -> (SocketAddr, Heads) {
    let (listener, address) = listen().await;
    let asked = Heads::default();
    let log = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let log = log.clone();
            tokio::spawn(async move {
                if let Ok(seen) = negotiate(&mut stream).await {
                    log.push(&seen);
                    log.push(&read_head(&mut stream).await);
                    let _ = stream.write_all(HELLO.as_bytes()).await;
                }
            });
        }
    });
    (address, asked)
}

/// Credentials and destination, as `user:password destination:port`.
async fn negotiate(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut seen = Vec::new();
    let [_, methods] = read::<2>(stream).await?;
    let offered = read_many(stream, methods).await?;
    if offered.contains(&2) {
        stream.write_all(&[5, 2]).await?;
        let [_, length] = read::<2>(stream).await?;
        seen.extend(read_many(stream, length).await?);
        seen.push(b':');
        let [length] = read::<1>(stream).await?;
        seen.extend(read_many(stream, length).await?);
        stream.write_all(&[1, 0]).await?;
    } else {
        stream.write_all(&[5, 0]).await?;
    }
    seen.push(b' ');
    let [_, _, _, kind] = read::<4>(stream).await?;
    match kind {
        1 => {
            let ip = std::net::Ipv4Addr::from(read::<4>(stream).await?);
            seen.extend(ip.to_string().into_bytes());
        }
        _ => {
            let [length] = read::<1>(stream).await?;
            seen.extend(read_many(stream, length).await?);
        }
    }
    let port = u16::from_be_bytes(read::<2>(stream).await?);
    seen.extend(format!(":{port}").into_bytes());
    stream.write_all(&[5, 0, 0, 1, 127, 0, 0, 1, 0, 80]).await?;
    Ok(seen)
}

async fn read<const N: usize>(stream: &mut TcpStream) -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}

async fn read_many(stream: &mut TcpStream, length: u8) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::from(length)];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}

#[tokio::test]
async fn a_proxy_of_socks_is_asked_for_a_name_or_for_a_checked_address() {
    let (address, asked) = socks().await;
    let check = async |scheme: &str, user: &str, url: &str, expected: &str| {
        let mut options = options();
        options.proxy = proxy(&format!("{scheme}://{user}{address}"));
        let exchange = answer(&fetcher(options), url).await;
        assert_eq!(asked.next(), expected);
        assert_eq!(asked.next(), text(&exchange.request_head));
    };
    let name = "nowhere.example";
    check(
        "socks5h",
        "",
        &format!("http://{name}:81/"),
        &format!(" {name}:81"),
    )
    .await;
    let expected = format!("user:hush {name}:80");
    check(
        "socks5h",
        "user:hush@",
        &format!("http://{name}/"),
        &expected,
    )
    .await;
    check("socks5", "", "http://93.184.216.34/", " 93.184.216.34:80").await;
}

/// Cookies of a host that is visited with credentials are as good as these.
#[tokio::test]
async fn cookies_of_a_login_are_sent_and_not_recorded() {
    const SETS: &str = "HTTP/1.1 200 OK\r\nSet-Cookie: id=hush; Path=/\r\ncontent-length: 0\r\n\
        connection: close\r\n\r\n";
    let (address, heads) = server(SETS).await;
    let mut options = options();
    options.hosts = named(&[("a.example", address), ("b.example", address)]);
    options.cookies = CookieMode::Host;
    options.own = vec![(
        "a.example".parse().expect("a pattern"),
        FetchOverrides {
            auth: Some(Some(secret("user:hush"))),
            ..FetchOverrides::default()
        },
    )];
    let fetcher = fetcher(options);
    for (url, is_hidden) in [("http://a.example/", true), ("http://b.example/", false)] {
        answer(&fetcher, url).await;
        heads.next();
        let second = answer(&fetcher, url).await;
        assert!(heads.next().contains("\r\ncookie: id=hush\r\n"), "{url}");
        let recorded = text(&second.request_head) + &text(&second.response_head());
        assert_eq!(recorded.contains("hush"), !is_hidden, "{recorded}");
        assert!(recorded.contains("\r\nset-cookie: "), "{recorded}");
    }
}

/// The same, by the configuration and into the archive.
#[test]
fn settings_of_a_host_reach_it_and_the_archive_hides_its_secrets() {
    let home = Answer::html(page("one", &["{host1}/"])).header("Set-Cookie", "a=1");
    let web = Web::start(vec![leaves().page("/", home), leaves()]);
    let crawl = Place::new();
    let config = format!(
        "[fetch]\nallow_networks = [\"127.0.7.0/24\"]\nheaders = {{ Accept-Language = \"de\" }}\n\
         [[domain]]\nmatch = [\"127.0.7.1:{}\"]\nfetch.auth = \"user:hush\"\nfetch.cookies = \"host\"\n",
        web.port()
    );
    let arguments = [&*web.url(0, "/"), "--scope", "any", "--log", "debug"];
    let output = crawl.crawl_by(&config, &arguments);
    assert!(!output.stderr.contains("hush") && !output.stdout.contains("hush"));
    let requests = web.requests();
    for request in &requests {
        let sent = |name| request.header(name);
        assert_eq!(sent("Accept-Language").as_deref(), Some("de"));
        let secret = (request.host == 0).then_some("Basic dXNlcjpodXNo");
        assert_eq!(sent("Authorization").as_deref(), secret);
        assert!(request.host == 0 || sent("Cookie").is_none());
    }
    let other = requests.iter().find(|it| it.host == 1 && it.path == "/");
    let other = other.expect("it was asked");

    let records = crawl.records();
    let recorded = |url: &str| {
        let response = only(&records, "response", url);
        let id = field(response, "WARC-Record-ID");
        let request = (records.iter())
            .find(|it| kind(it) == "request" && field(it, "WARC-Concurrent-To") == id);
        text(&request.expect("what was asked").block)
    };
    assert!(recorded(&web.url(0, "/")).contains("\r\nauthorization: (hidden)\r\n"));
    assert_eq!(recorded(&web.url(1, "/")), text(&other.head));

    // Kept, shown and compared with the next run's without the secret.
    let output = crawl.crawl_by(&config, &["--scope", "any"]);
    assert!(!output.stderr.contains("hush") && !output.stderr.contains("changed setting"));
    let path = crawl.file("config.toml", &config);
    let host = format!("127.0.7.1:{}", web.port());
    let show = [
        "config", "show", "--config", &path, "--json", "--host", &host,
    ];
    let shown = run(gleaner(&show)).expect(0).stdout;
    assert!(
        shown.contains("(hidden)") && !shown.contains("hush"),
        "{shown}"
    );
    check_not_kept(&crawl, "hush");
}

/// Nothing that a crawl keeps has this text.
#[track_caller]
fn check_not_kept(crawl: &Place, text: &str) {
    for entry in ["store", "log", "warc"] {
        let mut grep = std::process::Command::new("grep");
        grep.args(["-r", "-q", text]).arg(crawl.data().join(entry));
        let found = grep.status().expect("grep is there");
        assert_eq!(found.code(), Some(1), "{entry}");
    }
}

/// What a seed or a link has before its host stays out of everything that is written.
#[test]
fn credentials_in_urls_are_neither_sent_nor_kept() {
    let web = Web::start(vec![Site::new().page("/", Answer::html(page("one", &[])))]);
    let crawl = Place::new();
    let seed = web.url(0, "/").replace("http://", "http://someone:hush@");
    let output = crawl.crawl(&[&seed]);
    assert!(!output.stdout.contains("hush") && !output.stderr.contains("hush"));
    assert_eq!(crawl.log().len(), 2, "robots.txt and the seed");
    check_not_kept(&crawl, "hush");
}

/// A host that is silent once is not taken for one that never responds.
#[test]
fn a_host_that_is_silent_once_is_crawled_whole() {
    let never = Answer::text("").delivery(Delivery::NeverAnswer);
    let site = leaves()
        .page("/", Answer::html(page("home", &["/a", "/b"])))
        .page_in_turn("/robots.txt", vec![never, Answer::text("")]);
    let web = Web::start(vec![site]);
    let config = "[fetch]\nhead_timeout = \"2s\"\n[politeness]\nbackoff = \"1ms\"\n";
    Place::new().crawl_by(config, &[&web.url(0, "/"), "--delay", "0s"]);
    // On a busy machine it may be silent for that long once more.
    let pages: BTreeSet<String> = web.asked(0).into_iter().collect();
    assert_eq!(pages, ["/", "/a", "/b"].map(str::to_owned).into());
    assert!(web.requests().len() >= 5, "robots.txt twice");
}

/// A host that floods the crawler with what is no answer is left alone after two requests; a good
/// host beside it is crawled as if it were not there.
#[test]
fn a_host_that_floods_costs_only_itself() {
    let floods = std::net::TcpListener::bind("127.0.99.1:0").expect("a free port");
    let address = floods.local_addr().expect("it is bound");
    let connections = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    // Ends with the test process, which waits for nobody.
    std::thread::spawn(move || {
        for mut stream in floods.incoming().flatten() {
            count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            std::thread::spawn(move || {
                // What comes before the request is another fault.
                let _ = std::io::Read::read(&mut stream, &mut [0; 1_024]);
                let many = "HTTP/1.1 103\r\n\r\n".repeat(1_000);
                while std::io::Write::write_all(&mut stream, many.as_bytes()).is_ok() {}
            });
        }
    });
    let links: Vec<String> = (0..40).map(|n| format!("/{n}")).collect();
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    let web = Web::start(vec![leaves().page("/", Answer::html(page("home", &links)))]);
    let crawl = Place::new();
    let bad = format!("http://{address}/");
    let config = "[fetch]\nhead_timeout = \"500ms\"\n[politeness]\nbackoff = \"1ms\"\n";
    crawl.crawl_with_losses(config, &[&web.url(0, "/"), &bad, "--delay", "0s"]);
    // An answer of half a second's age is asked for once more.
    let asked: BTreeSet<String> = web.asked(0).into_iter().collect();
    assert_eq!(asked.len(), 41, "all pages");
    let made = connections.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(made, 2, "its robots.txt, twice");
    let lines = crawl.log();
    let robots = lines.iter().find(|line| line.url.starts_with(&bad));
    let said = robots.and_then(|line| line.annotation.clone());
    let said = said.expect("it is recorded");
    assert!(said.starts_with("timeout: no response within"), "{said}");
}

/// What is not wanted by its type is not read, is told, and can be had later. What the type says
/// nothing of, and what is no page, is read all the same.
#[test]
fn bodies_of_types_that_are_not_wanted_are_not_read() {
    let large = vec![b'x'; 8 << 20];
    let typed = |kind: &str, body: &[u8]| Answer::with_type(200, kind, body.to_vec());
    let home = page("home", &["/next", "/large.bin", "/photo", "/plain"]);
    let site = Site::new()
        .robots("User-agent: *\nDisallow: /private\n")
        .page("/", Answer::html(home))
        .page("/next", Answer::html(page("next", &["/private/x"])))
        .page("/large.bin", typed("application/octet-stream", &large))
        .page("/photo", typed("image/png", b"a photo"))
        .page("/plain", typed("", b"<p>what this is nobody says</p>"));
    let web = Web::start(vec![site]);
    let crawl = Place::new();
    let seed = web.url(0, "/");
    let flags = [
        "--accept",
        "text/*",
        "--accept",
        "image/*",
        "--reject",
        "image/png",
    ];
    let told = crawl.crawl(&[&[&*seed], &flags[..]].concat()).stdout;
    assert!(told.contains("gleaner retry --class unwanted"), "{told}");
    let log = crawl.log();
    let of = |path: &str| log.iter().find(|line| line.url == web.url(0, path));
    let failed = |path: &str| {
        let line = of(path).map(|line| serde_json::to_string(line).expect("it was JSON"));
        line.unwrap_or_default()
    };
    assert!(
        failed("/large.bin").contains("not in fetch.accept"),
        "{:?}",
        of("/large.bin")
    );
    assert!(
        failed("/photo").contains("fetch.reject has image/png"),
        "{:?}",
        of("/photo")
    );
    for read in ["/", "/next", "/plain"] {
        assert_eq!(of(read).map(|line| line.status), Some(200), "{read}");
    }
    // robots.txt is text, and would be asked for in vain if it had to be wanted.
    assert!(!web.asked(0).contains(&"/private/x".to_owned()));
    let bytes = crawl.status().counters.bytes;
    assert!(bytes < 1 << 20, "{bytes} bytes were read");
    crawl.ask(&["retry", "--class", "unwanted"]).expect(0);
    crawl.crawl_by("fetch.accept = []\nfetch.reject = []", &[]);
    assert!(crawl.status().counters.bytes > 8 << 20);
    assert_eq!(crawl.status().counters.failed, 0);
    let wrong = crawl.command(&[&seed, "--accept", "html"]);
    run(wrong).expect(2).says(&["--accept", "text/html"]);
}
