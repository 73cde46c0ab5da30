//! Tests of the web itself: what the crawler's tests rely on. Mounted beside `web` in one of the
//! test binaries. Its client is as plain as can be, so that nothing of gleaner is in play.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::web::{Answer, ClusterOptions, Delivery, Expected, Kind, Place, Site, Web, cluster_web};

/// No answer on loopback takes this long; a test that waits for it has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// The delay of a late answer.
const LATE: Duration = Duration::from_millis(20);

#[test]
fn a_connection_is_kept_and_numbered() {
    let web = Web::start(vec![Site::new().page("/", Answer::html("<p>one</p>"))]);
    let mut client = Client::connect(&web, 0);
    assert_eq!(client.get("/").body, b"<p>one</p>");
    assert_eq!(client.get("/").body, b"<p>one</p>");
    assert_eq!(Client::connect(&web, 0).get("/").status, 200);
    let connections: Vec<usize> = web
        .requests()
        .iter()
        .map(|request| request.connection)
        .collect();
    assert_eq!(connections, [0, 0, 1]);
}

#[test]
fn the_log_tells_what_was_asked_and_when() {
    let web = Web::start(vec![Site::new(), Site::new().page("/a", Answer::text("a"))]);
    Client::connect(&web, 1).get("/a?x=1");
    Client::connect(&web, 0).get("/a");
    assert!(web.wait_for_requests(2, PATIENCE));
    let requests = web.requests();
    let seen: Vec<_> = requests
        .iter()
        .map(|it| (it.host, &*it.method, &*it.path))
        .collect();
    assert_eq!(seen, [(1, "GET", "/a?x=1"), (0, "GET", "/a")]);
    assert_eq!(requests[0].bare_path(), "/a");
    assert_eq!(requests[0].header("USER-AGENT").as_deref(), Some("smoke"));
    assert!(requests[0].head.ends_with(b"User-Agent: smoke\r\n\r\n"));
    let finished = requests[0].finished.expect("its answer was read");
    assert!(requests[0].arrived <= finished && finished <= requests[1].arrived);
    web.clear_log();
    assert!(web.requests().is_empty());
    assert!(!web.wait_for_requests(1, Duration::ZERO));
}

#[test]
fn every_way_of_delivering() {
    let long = "some text, ".repeat(300);
    let deliver = |delivery| Answer::text(long.clone()).delivery(delivery);
    let web = Web::start(vec![
        Site::new()
            .page("/chunked", deliver(Delivery::Chunked))
            .page("/close", deliver(Delivery::CloseDelimited))
            .page("/more", deliver(Delivery::WrongLength(9_999)))
            .page("/less", deliver(Delivery::WrongLength(10)))
            .page("/raw", Answer::raw("ICY 200 {host0}\r\n\r\nbody"))
            .page("/nothing", Answer::raw(""))
            .page(
                "/drip",
                Answer::text("abc").delivery(Delivery::DripBytes(Duration::from_millis(1))),
            )
            .page("/never", deliver(Delivery::NeverAnswer))
            .page("/reset", deliver(Delivery::ResetMidBody))
            .page("/gzip", Answer::gzip(long.clone()))
            .page("/late", Answer::text("x").after(LATE))
            .page("/304", Answer::status(304).header("ETag", "\"x\"")),
    ]);
    let long = long.as_bytes();

    let mut client = Client::connect(&web, 0);
    let chunked = client.get("/chunked");
    assert_eq!(
        (chunked.body.as_slice(), chunked.chunks),
        (long, long.len().div_ceil(1_000))
    );
    assert_eq!(client.get("/304").body, b"");
    assert_eq!(client.get("/drip").body, b"abc");
    let gzip = client.get("/gzip");
    assert_eq!(gzip.headers["content-encoding"], "gzip");
    assert!(gzip.body.len() < long.len());
    assert_eq!(gunzip(&gzip.body), long);
    assert!(web.requests().iter().all(|request| request.connection == 0));

    let closed = |path: &str| Client::connect(&web, 0).everything(path);
    assert!(closed("/close").expect("an orderly end").ends_with(long));
    assert!(closed("/more").expect("an orderly end").ends_with(long));
    let less = closed("/less").expect("an orderly end");
    assert!(less.ends_with(long) && contains(&less, b"Content-Length: 10\r\n"));
    assert_eq!(
        closed("/raw").expect("an orderly end"),
        b"ICY 200 {host0}\r\n\r\nbody"
    );
    assert_eq!(closed("/nothing").expect("an orderly end"), b"");
    assert_eq!(
        closed("/reset").expect_err("a reset").kind(),
        ErrorKind::ConnectionReset
    );

    web.clear_log();
    let mut client = Client::connect(&web, 0);
    client.ask("/never");
    assert!(web.wait_for_requests(1, PATIENCE));
    assert_eq!(web.requests()[0].finished, None);

    web.clear_log();
    Client::connect(&web, 0).get("/late");
    let late = web.requests().pop().expect("it was asked");
    assert!(late.finished.expect("it was read") - late.arrived >= LATE);
}

#[test]
fn answers_in_turn_from_the_request_and_for_unknown_paths() {
    let web = Web::start(vec![
        Site::new()
            .page_in_turn("/turn", vec![Answer::status(503), Answer::text("now")])
            .page_with("/echo", |request| {
                Answer::text(request.header("Host").unwrap_or_default())
            })
            .page("/exact?a=1", Answer::text("with query")),
        Site::new().otherwise(|request| Answer::text(format!("trap {}", request.path))),
        Site::new()
            .requests_per_connection(1)
            .page("/", Answer::text("once")),
    ]);
    let mut client = Client::connect(&web, 0);
    assert_eq!(
        ["/turn", "/turn", "/turn"].map(|path| client.get(path).status),
        [503, 200, 200]
    );
    assert_eq!(client.get("/exact?a=1").body, b"with query");
    let host = client.get("/echo?any=query").body;
    assert_eq!(
        format!("http://{}/", String::from_utf8_lossy(&host)),
        web.url(0, "/")
    );
    let missing = client.get("/exact");
    assert_eq!(missing.status, 404);
    assert_eq!(missing.headers["content-type"], "text/html; charset=utf-8");
    assert_eq!(
        Client::connect(&web, 1).get("/2026/01").body,
        b"trap /2026/01"
    );
    let once = Client::connect(&web, 2)
        .everything("/")
        .expect("an orderly end");
    assert!(once.ends_with(b"once") && !contains(&once, b"Connection: close"));
}

#[test]
fn placeholders_become_origins() {
    let web = Web::start(vec![
        Site::new()
            .page(
                "/",
                Answer::html("<a href=\"{host1}/x\">{host2} {host} {hostess}</a>"),
            )
            .page("/away", Answer::redirect(301, "{host1}/x")),
        Site::new(),
    ]);
    let mut client = Client::connect(&web, 0);
    let there = web.url(1, "/x");
    assert!(there.starts_with("http://127.0.7.2:"));
    let body = format!("<a href=\"{there}\">{{host2}} {{host}} {{hostess}}</a>");
    assert_eq!(client.get("/").body, body.as_bytes());
    let away = client.get("/away");
    assert_eq!(
        (away.status, away.headers["location"].as_str()),
        (301, there.as_str())
    );
}

#[test]
fn requests_in_progress_are_counted_by_host() {
    let site = || Site::new().page("/", Answer::text("x"));
    let web = Web::start(vec![site(), site()]);
    let mut clients: Vec<Client> = [0, 0, 0, 1]
        .into_iter()
        .map(|host| Client::connect(&web, host))
        .collect();
    for client in &mut clients {
        client.get("/");
    }
    assert_eq!(
        (
            web.max_concurrent(0),
            web.max_concurrent(1),
            web.max_concurrent_overall()
        ),
        (1, 1, 1)
    );
    web.clear_log();
    web.hold();
    for client in &mut clients {
        client.ask("/");
    }
    assert!(web.wait_for_requests(4, PATIENCE));
    web.release();
    for client in &mut clients {
        assert_eq!(client.answer().status, 200);
    }
    // A quiet moment later does not take back the peak.
    assert_eq!(clients[0].get("/").status, 200);
    assert_eq!(
        (
            web.max_concurrent(0),
            web.max_concurrent(1),
            web.max_concurrent_overall()
        ),
        (3, 1, 4)
    );
    web.clear_log();
    assert_eq!(web.max_concurrent(0), 0);
}

#[test]
fn the_gate_holds_answers_back() {
    let web = Web::start(vec![Site::new().page("/", Answer::text("x"))]);
    let mut client = Client::connect(&web, 0);
    web.hold_after(1);
    assert_eq!(client.get("/").status, 200);
    client.ask("/");
    assert!(web.wait_for_requests(2, PATIENCE));
    let mut left = Client::connect(&web, 0);
    left.ask("/");
    assert!(web.wait_for_requests(3, PATIENCE));
    assert!(!client.has_answer());
    drop(left);
    web.release();
    assert_eq!(client.answer().status, 200);
    assert!(web.requests()[1].finished.is_some());
}

#[test]
fn a_dropped_web_is_gone() {
    // Addresses of its own: nobody else takes the port when it is free again.
    let web = Web::start_at(
        203,
        vec![Site::new().page("/", Answer::text("x").delivery(Delivery::NeverAnswer))],
    );
    let mut client = Client::connect(&web, 0);
    client.ask("/");
    assert!(web.wait_for_requests(1, PATIENCE));
    let address = client.address;
    drop(web);
    assert!(TcpStream::connect(address).is_err());
    assert!(matches!(client.stream.read(&mut [0]), Ok(0) | Err(_)));
}

const SMALL: ClusterOptions = ClusterOptions {
    hosts: 4,
    pages_per_host: 15,
    seed: 1,
};

#[test]
fn the_built_in_web_is_what_it_expects() {
    for options in [
        SMALL,
        ClusterOptions {
            hosts: 1,
            pages_per_host: 24,
            seed: 2,
        },
        ClusterOptions {
            hosts: 8,
            pages_per_host: 3,
            seed: 3,
        },
        ClusterOptions {
            hosts: 9,
            pages_per_host: 30,
            seed: 4,
        },
    ] {
        let (sites, expected) = cluster_web(options, &textbook_simhash);
        let pages = options.hosts * options.pages_per_host;
        assert_eq!(expected.allowed_paths.len(), pages);
        let crawled = crawl(&Web::start(sites), &expected);
        let (ok, rest): (Vec<_>, Vec<_>) = crawled
            .into_iter()
            .partition(|(_, response)| response.status == 200);
        let bodies: BTreeMap<Place, Vec<u8>> = ok
            .into_iter()
            .map(|(place, response)| (place, response.body))
            .collect();
        let missing: BTreeSet<Place> = rest
            .iter()
            .filter(|(_, response)| response.status == 404)
            .map(|(place, _)| place.clone())
            .collect();
        assert_eq!(
            bodies.keys().cloned().collect::<BTreeSet<_>>(),
            expected.allowed_paths
        );
        assert_eq!(missing, expected.missing);
        assert_eq!(rest.len(), missing.len() + expected.redirects.len());
        assert_eq!(
            bodies.values().collect::<BTreeSet<_>>().len(),
            expected.distinct_bodies
        );
        check_clusters(&expected, &bodies);
        assert!(expected.depth <= 14, "{}", expected.depth);
    }
}

#[test]
fn the_built_in_web_follows_from_its_seed() {
    let make = |seed| {
        let (sites, expected) = cluster_web(ClusterOptions { seed, ..SMALL }, &textbook_simhash);
        let bodies: Vec<Vec<u8>> = crawl(&Web::start(sites), &expected)
            .into_values()
            .map(|it| without_ports(&it.body))
            .collect();
        (expected, bodies)
    };
    let first = make(7);
    assert!(first == make(7));
    assert_ne!(first.0, make(8).0);
}

fn check_clusters(expected: &Expected, bodies: &BTreeMap<Place, Vec<u8>>) {
    let mut seen = BTreeSet::new();
    for (cluster, kind) in expected.clusters.iter().zip(&expected.kinds) {
        assert!(
            cluster.iter().all(|place| seen.insert(place.clone())),
            "in two clusters"
        );
        assert_eq!(cluster.len() > 1, *kind != Kind::Single);
        let of = |count: usize| if count == 1 { "one" } else { "each" };
        let different = |texts: BTreeSet<Vec<u8>>| {
            let count = texts.len();
            assert!(
                count == 1 || count == cluster.len(),
                "some members are alike, some are not"
            );
            of(count)
        };
        let raw = different(cluster.iter().map(|it| bodies[it].clone()).collect());
        let visible = different(cluster.iter().map(|it| visible(&bodies[it])).collect());
        let main = different(
            cluster
                .iter()
                .map(|it| expected.texts[it].clone().into_bytes())
                .collect(),
        );
        let wanted = match kind {
            Kind::Single | Kind::Copy => ["one", "one", "one"],
            Kind::Markup => ["each", "one", "one"],
            Kind::Frame => ["each", "each", "one"],
            Kind::Near => ["each", "each", "each"],
        };
        assert_eq!([raw, visible, main], wanted, "{kind:?}");
    }
    assert_eq!(seen, expected.allowed_paths);
    assert_eq!(
        expected.kinds.iter().collect::<BTreeSet<_>>().len(),
        5,
        "a kind has no cluster"
    );
    assert_eq!(expected.unique_payloads, expected.clusters.len());

    let hashes: Vec<Vec<u64>> = expected
        .clusters
        .iter()
        .map(|cluster| {
            cluster
                .iter()
                .map(|it| textbook_simhash(&expected.texts[it]))
                .collect()
        })
        .collect();
    for (number, cluster) in hashes.iter().enumerate() {
        for hash in cluster {
            assert!(cluster.iter().all(|other| (hash ^ other).count_ones() <= 3));
            let others = hashes[..number].iter().flatten();
            assert!(
                others
                    .into_iter()
                    .all(|other| (hash ^ other).count_ones() > 10)
            );
        }
    }
    assert!(
        expected
            .texts
            .values()
            .all(|text| text.split_whitespace().count() >= 200)
    );
}

/// Fetches everything that can be reached from host 0's `/`, but for what is forbidden.
fn crawl(web: &Web, expected: &Expected) -> BTreeMap<Place, Response> {
    let mut clients: BTreeMap<usize, Client> = BTreeMap::new();
    let mut responses = BTreeMap::new();
    let mut waiting = vec![web.url(0, "/")];
    while let Some(url) = waiting.pop() {
        let url = url
            .split('#')
            .next()
            .unwrap_or_default()
            .replace("&amp;", "&");
        let (origin, path) = url.split_at(url[8..].find('/').expect("a path") + 8);
        let last = origin
            .trim_start_matches("http://127.0.7.")
            .split(':')
            .next();
        let host = last
            .and_then(|number| number.parse::<usize>().ok())
            .expect("a host")
            - 1;
        let query_or_path = (host, path.to_owned());
        let place = expected
            .variants
            .get(&query_or_path)
            .cloned()
            .unwrap_or(query_or_path);
        if expected.forbidden.contains(&place) || responses.contains_key(&place) {
            continue;
        }
        let client = clients
            .entry(host)
            .or_insert_with(|| Client::connect(web, host));
        let mut response = client.get(path);
        if response.headers.contains_key("content-encoding") {
            response.body = gunzip(&response.body);
        }
        let body = String::from_utf8(response.body.clone()).expect("pages are UTF-8");
        let links = body
            .split("href=\"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next());
        for link in links.chain(response.headers.get("location").map(String::as_str)) {
            let whole = if link.starts_with('/') {
                web.url(host, link)
            } else {
                link.to_owned()
            };
            waiting.push(whole);
        }
        responses.insert(place, response);
    }
    responses
}

/// What a reader sees, white space collapsed: enough of HTML for the pages of this web.
fn visible(body: &[u8]) -> Vec<u8> {
    let mut text = String::from_utf8_lossy(body).into_owned();
    for (from, to) in [
        ("<style", "</style>"),
        ("<script", "</script>"),
        ("<!--", "-->"),
        ("<", ">"),
    ] {
        while let Some(start) = text.find(from) {
            let end = start + text[start..].find(to).expect("what opens is closed") + to.len();
            // Block elements part words; inline ones stand around whole words here.
            text.replace_range(start..end, "\n");
        }
    }
    while let Some(start) = text.find("&#") {
        let end = start + text[start..].find(';').expect("a reference ends");
        let letter = text[start + 2..end].parse::<u8>().expect("an ASCII letter");
        text.replace_range(start..=end, &char::from(letter).to_string());
    }
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .into_bytes()
}

fn without_ports(body: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(body);
    let mut parts = text.split("http://127.0.7.");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (host, rest) = part.split_once(':').expect("a port");
        kept.push_str(host);
        kept.push_str(rest.trim_start_matches(|letter: char| letter.is_ascii_digit()));
    }
    kept.into_bytes()
}

/// SimHash as in the book: each run of three words votes with its hash on each of 64 bits
/// (Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002).
fn textbook_simhash(text: &str) -> u64 {
    let words: Vec<String> = text
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let mut votes = [0_i32; 64];
    for shingle in words.windows(3) {
        // FNV-1a, then a round of mixing, for its high bits are weak on short input.
        let hash = shingle
            .join(" ")
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        let hash = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let hash = hash ^ (hash >> 29);
        for (bit, vote) in votes.iter_mut().enumerate() {
            *vote += if hash >> bit & 1 == 1 { 1 } else { -1 };
        }
    }
    votes
        .iter()
        .enumerate()
        .fold(0, |hash, (bit, &vote)| hash | u64::from(vote > 0) << bit)
}

fn gunzip(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(bytes)
        .read_to_end(&mut plain)
        .expect("what the web compressed");
    plain
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// A client on one connection.
struct Client {
    address: SocketAddr,
    stream: TcpStream,
    received: Vec<u8>,
}

/// An answer as it was understood.
struct Response {
    status: u16,
    /// By name in lower case.
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
    chunks: usize,
}

impl Client {
    fn connect(web: &Web, host: usize) -> Self {
        let url = web.url(host, "");
        let address = url
            .trim_start_matches("http://")
            .parse()
            .expect("an address and a port");
        let stream = TcpStream::connect(address).expect("the web listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("not zero");
        Self {
            address,
            stream,
            received: Vec::new(),
        }
    }

    fn get(&mut self, path: &str) -> Response {
        self.ask(path);
        self.answer()
    }

    fn ask(&mut self, path: &str) {
        let host = self.address;
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: smoke\r\n\r\n");
        self.stream
            .write_all(request.as_bytes())
            .expect("the connection is open");
    }

    fn answer(&mut self) -> Response {
        let head = self.line_end(b"\r\n\r\n");
        let head = String::from_utf8(head).expect("heads are ASCII");
        let mut lines = head.lines();
        let status = lines
            .next()
            .and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let headers: BTreeMap<String, String> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let mut body = Vec::new();
        let mut chunks = 0;
        if let Some(length) = headers.get("content-length") {
            body = self.take(length.parse().expect("a number"));
        } else if headers.contains_key("transfer-encoding") {
            loop {
                let size = String::from_utf8(self.line_end(b"\r\n")).expect("sizes are ASCII");
                let size = usize::from_str_radix(size.trim(), 16).expect("a size");
                body.extend(self.take(size));
                assert_eq!(self.take(2), b"\r\n");
                if size == 0 {
                    break;
                }
                chunks += 1;
            }
        }
        Response {
            status: status.expect("a status"),
            headers,
            body,
            chunks,
        }
    }

    /// All bytes up to the end of the connection.
    fn everything(&mut self, path: &str) -> std::io::Result<Vec<u8>> {
        self.ask(path);
        let mut bytes = Vec::new();
        self.stream.read_to_end(&mut bytes).map(|_| bytes)
    }

    /// Whether a byte of an answer is there.
    fn has_answer(&self) -> bool {
        self.stream
            .set_nonblocking(true)
            .expect("a socket can be non-blocking");
        let answer = self.stream.peek(&mut [0]);
        self.stream
            .set_nonblocking(false)
            .expect("a socket can be blocking");
        answer.is_ok()
    }

    fn line_end(&mut self, end: &[u8]) -> Vec<u8> {
        loop {
            if let Some(place) = self.received.windows(end.len()).position(|it| it == end) {
                return self.take(place + end.len());
            }
            self.receive();
        }
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        while self.received.len() < count {
            self.receive();
        }
        self.received.drain(..count).collect()
    }

    fn receive(&mut self) {
        let mut buffer = [0; 4096];
        let count = self.stream.read(&mut buffer).expect("an answer comes");
        assert!(count > 0, "the connection ended inside an answer");
        self.received.extend_from_slice(&buffer[..count]);
    }
}
