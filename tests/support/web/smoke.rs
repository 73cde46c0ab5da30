//! Tests of the web itself, as far as no test of the crawler would notice: how answers go over the
//! wire, and that the built-in web is what it says. The client is a socket, so that nothing of
//! gleaner is in play.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::audit::simhash;
use super::run::PATIENCE;
use super::web::{Answer, ClusterOptions, Delivery, Expected, Kind, Place, Site, Web, cluster_web};

/// All bytes of the answer to a request on a connection of its own.
fn get(web: &Web, host: usize, path: &str) -> io::Result<Vec<u8>> {
    let url = web.url(host, "");
    let address = url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).map(|_| bytes)
}

/// Head and body of an answer; chunks are joined and packed bodies unpacked.
fn parts(answer: &[u8]) -> (String, String) {
    let end = answer.windows(4).position(|it| it == b"\r\n\r\n");
    let (head, body) = answer.split_at(end.expect("a head") + 4);
    let head = String::from_utf8(head.to_vec()).expect("heads are ASCII");
    let mut body = body.to_vec();
    if head.contains("Transfer-Encoding: chunked") {
        let text = String::from_utf8(body).expect("chunks of text");
        let is_size = |part: &&str| usize::from_str_radix(part, 16).is_err();
        body = text
            .split("\r\n")
            .filter(is_size)
            .collect::<String>()
            .into();
    }
    if head.contains("Content-Encoding: gzip") {
        let packed = std::mem::take(&mut body);
        let mut unpacked = flate2::read::GzDecoder::new(&*packed);
        unpacked.read_to_end(&mut body).expect("it was packed");
    }
    (head, String::from_utf8(body).expect("text"))
}

#[test]
fn answers_are_delivered_as_they_say() {
    let long = "some text, ".repeat(300);
    let ways = [
        (Delivery::ContentLength, "Content-Length: 3300\r\n"),
        (Delivery::Chunked, "Transfer-Encoding: chunked\r\n"),
        (Delivery::CloseDelimited, "Connection: close\r\n\r\n"),
        (Delivery::WrongLength(9_999), "Content-Length: 9999\r\n"),
        (Delivery::WrongLength(10), "Content-Length: 10\r\n"),
        (
            Delivery::DripBytes(Duration::ZERO),
            "Content-Length: 3300\r\n",
        ),
    ];
    for (delivery, says) in ways {
        let answer = Answer::text(&*long).delivery(delivery.clone());
        let web = Web::start(vec![Site::new().page("/", answer)]);
        let (head, body) = parts(&get(&web, 0, "/").expect("an orderly end"));
        assert!(head.contains(says), "{delivery:?}: {head}");
        assert_eq!(body, long, "{delivery:?}");
    }
    let raw = "ICY 200 {host0}\r\n\r\nbody";
    let web = Web::start(vec![
        Site::new()
            .page("/gzip", Answer::gzip(&*long))
            .page("/raw", Answer::raw(raw))
            .page("/nothing", Answer::raw(""))
            .page("/304", Answer::status(304))
            .page(
                "/reset",
                Answer::text(&*long).delivery(Delivery::ResetMidBody),
            )
            .page("/never", Answer::text("").delivery(Delivery::NeverAnswer)),
    ]);
    let answer = get(&web, 0, "/gzip").expect("an orderly end");
    assert!(answer.len() < long.len());
    assert_eq!(parts(&answer).1, long);
    assert_eq!(
        get(&web, 0, "/raw").expect("an orderly end"),
        raw.as_bytes()
    );
    assert_eq!(get(&web, 0, "/nothing").expect("an orderly end"), b"");
    assert_eq!(parts(&get(&web, 0, "/304").expect("an orderly end")).1, "");
    let reset = get(&web, 0, "/reset").expect_err("a reset").kind();
    assert_eq!(reset, io::ErrorKind::ConnectionReset);
    // Until it goes: then nobody listens, and whoever waited is hung up on.
    let address = web.url(0, "").replace("http://", "");
    let mut waiting = TcpStream::connect(&*address).expect("the web listens");
    write!(waiting, "GET /never HTTP/1.1\r\n\r\n").expect("it is open");
    assert!(web.wait_for_requests(6, PATIENCE));
    assert_eq!(web.requests()[5].finished, None);
    drop(web);
    assert!(matches!(waiting.read(&mut [0]), Ok(0) | Err(_)));
}

#[test]
fn the_built_in_web_is_what_it_expects() {
    for (hosts, pages_per_host, seed) in [(4, 15, 1), (1, 24, 2), (8, 3, 3), (9, 30, 4)] {
        let options = ClusterOptions {
            hosts,
            pages_per_host,
            seed,
        };
        let (sites, expected) = cluster_web(options, &simhash);
        assert_eq!(expected, cluster_web(options, &simhash).1);
        assert_eq!(expected.allowed_paths.len(), hosts * pages_per_host);
        let mut answers = crawl(&Web::start(sites), &expected);
        let of = |status: &str, answers: &BTreeMap<Place, (String, String)>| -> BTreeSet<Place> {
            let is_so = |(_, (head, _)): &(&Place, &(String, String))| {
                head.starts_with(&format!("HTTP/1.1 {status}"))
            };
            let found = answers.iter().filter(is_so);
            found.map(|(place, _)| place.clone()).collect()
        };
        assert_eq!(of("404", &answers), expected.missing);
        let redirects = expected.redirects.keys().cloned().collect();
        assert_eq!(of("30", &answers), redirects);
        assert_eq!(of("200", &answers), expected.allowed_paths);
        answers.retain(|_, (head, _)| head.starts_with("HTTP/1.1 200"));
        let bodies: BTreeMap<Place, String> = answers
            .into_iter()
            .map(|(at, (_, body))| (at, body))
            .collect();
        let distinct: BTreeSet<&String> = bodies.values().collect();
        assert_eq!(distinct.len(), expected.distinct_bodies);
        check_clusters(&expected, &bodies);
        assert!(expected.depth <= 14, "{}", expected.depth);
    }
}

/// Fetches everything that can be reached from host 0's `/`, but for what is forbidden.
fn crawl(web: &Web, expected: &Expected) -> BTreeMap<Place, (String, String)> {
    let mut answers = BTreeMap::new();
    let mut waiting = vec![(0, "/".to_owned())];
    while let Some((host, path)) = waiting.pop() {
        let path = path.split('#').next().unwrap_or_default();
        let asked = (host, path.replace("&amp;", "&"));
        let place = expected.variants.get(&asked).unwrap_or(&asked).clone();
        if expected.forbidden.contains(&place) || answers.contains_key(&place) {
            continue;
        }
        let (head, body) = parts(&get(web, host, &asked.1).expect("an orderly end"));
        let links = body.split("href=\"").skip(1);
        let links = links.filter_map(|rest| rest.split('"').next());
        let to = head
            .lines()
            .find_map(|line| line.strip_prefix("Location: "));
        for link in links.chain(to) {
            // `http://127.0.7.2:40123/path`
            let absolute = link.strip_prefix("http://127.0.7.");
            waiting.push(match absolute.and_then(|rest| rest.split_once(':')) {
                None => (host, link.to_owned()),
                Some((number, rest)) => {
                    let number: usize = number.parse().expect("a host");
                    let start = rest.find('/').expect("a path");
                    (number - 1, rest[start..].to_owned())
                }
            });
        }
        answers.insert(place, (head, body));
    }
    answers
}

fn check_clusters(expected: &Expected, bodies: &BTreeMap<Place, String>) {
    let mut seen = BTreeSet::new();
    for (cluster, kind) in expected.clusters.iter().zip(&expected.kinds) {
        assert!(cluster.iter().all(|place| seen.insert(place.clone())));
        assert_eq!(cluster.len() > 1, *kind != Kind::Single);
        // Whether the members are one, or each its own, in bytes, in what is read, in main text.
        let differ = |of: &dyn Fn(&Place) -> String| {
            let count = cluster.iter().map(of).collect::<BTreeSet<_>>().len();
            assert!(count == 1 || count == cluster.len(), "some are alike");
            count > 1
        };
        let found = [
            differ(&|place| bodies[place].clone()),
            differ(&|place| visible(&bodies[place])),
            differ(&|place| expected.texts[place].clone()),
        ];
        let wanted = match kind {
            Kind::Single | Kind::Copy => [false, false, false],
            Kind::Markup => [true, false, false],
            Kind::Frame => [true, true, false],
            Kind::Near => [true, true, true],
        };
        assert_eq!(found, wanted, "{kind:?}");
    }
    assert_eq!(seen, expected.allowed_paths);
    assert_eq!(expected.kinds.iter().collect::<BTreeSet<_>>().len(), 5);
    assert_eq!(expected.unique_payloads, expected.clusters.len());

    let hashes = expected.clusters.iter().map(|cluster| {
        let texts = cluster.iter().map(|place| simhash(&expected.texts[place]));
        texts.collect::<Vec<u64>>()
    });
    let hashes: Vec<Vec<u64>> = hashes.collect();
    for (number, cluster) in hashes.iter().enumerate() {
        for hash in cluster {
            let apart = |other: &u64| (hash ^ other).count_ones();
            assert!(cluster.iter().all(|other| apart(other) <= 3));
            assert!(
                hashes[..number]
                    .iter()
                    .flatten()
                    .all(|other| apart(other) > 10)
            );
        }
    }
}

/// What a reader sees, white space collapsed: enough of HTML for the pages of this web.
fn visible(body: &str) -> String {
    let mut text = body.to_owned();
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
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
