//! Names: asked for once as long as the answer holds, not too many at a time, and told apart from
//! hosts that do not answer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gleaner::fetch::{Approach, At, Conditions, FetchOptions, Fetcher, Guard, NamedHosts, Outcome};
use gleaner::url::parse;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use crate::client::read_head;
use crate::dns::{Answer as Names, Dns};
use crate::run::{Place, leaves, page};
use crate::web::{Answer, Site, Web};

/// A configuration that asks this name server.
fn config(dns: &Dns, more: &str) -> String {
    format!(
        "[politeness]\nbackoff = \"1ms\"\n[fetch]\nnameservers = [\"{}\"]\n{more}",
        dns.address()
    )
}

const CONTACT: &str = "test (+https://example.org)";

/// A host that ends each connection, so that each request needs the address again.
fn closing(links: &[&str]) -> Site {
    let close = |answer: Answer| answer.header("Connection", "close");
    Site::new()
        .page("/", close(Answer::html(page("home", links))))
        .otherwise(move |request| {
            Answer::html(page(&request.path, &[])).header("Connection", "close")
        })
}

#[test]
fn an_answer_holds_as_long_as_it_says() {
    let web = Web::start(vec![closing(&["/a", "/b"])]);
    let dns = Dns::start(|name, _| match name {
        "kept.example" => Names::of(&["127.0.7.1"], 3_600),
        "fleeting.example" => Names::of(&["127.0.7.1"], 0),
        "empty.example" => Names::of(&[], 3_600),
        _ => Names::missing(3_600),
    });
    let crawl = Place::new();
    let settings = config(&dns, "allow_private = true");
    let port = web.port();
    let seeds = ["kept", "fleeting", "empty", "missing"]
        .map(|name| format!("http://{name}.example:{port}/"));
    let all = seeds.each_ref().map(String::as_str);
    crawl.crawl_with_losses(&settings, &[&all[..], &["--user-agent", CONTACT]].concat());
    // robots.txt and three pages, of both.
    assert_eq!(web.requests().len(), 8);
    assert_eq!(dns.asked("kept.example"), 1);
    assert_eq!(dns.asked("fleeting.example"), 4);
    // Asked for by three attempts at robots.txt each.
    assert_eq!(dns.asked("empty.example"), 1);
    assert_eq!(dns.asked("missing.example"), 1);
    let lines = crawl.log();
    let said = |url: &str| {
        let line = lines.iter().find(|line| line.url == url);
        line.and_then(|line| line.annotation.clone())
    };
    let missing = said(&format!("{}robots.txt", seeds[3])).unwrap_or_default();
    assert!(missing.starts_with("dns: missing.example"), "{missing}");
    let empty = said(&format!("{}robots.txt", seeds[2])).unwrap_or_default();
    assert_eq!(empty, "dns: empty.example has no address");
}

/// Of names that lead elsewhere when they are asked for again, each visit goes to the address that
/// was kept free for it.
#[test]
fn a_name_cannot_lead_a_visit_away_from_the_address_it_waited_for() {
    let web = Web::start((0..11).map(|_| closing(&["/a"])).collect());
    let dns = Dns::start(|name, before| {
        let nth: u8 = name
            .trim_start_matches('h')
            .trim_end_matches(".example")
            .parse()
            .unwrap_or(0);
        let decoy = format!("127.0.7.{}", nth + 2);
        Names::of(&[if before == 0 { &decoy } else { "127.0.7.1" }], 0)
    });
    let crawl = Place::new();
    let settings = config(&dns, "allow_private = true");
    let seeds: Vec<String> = (0..10)
        .map(|n| format!("http://h{n}.example:{}/", web.port()))
        .collect();
    let mut arguments: Vec<&str> = seeds.iter().map(String::as_str).collect();
    arguments.extend(["--user-agent", CONTACT, "--delay", "20ms"]);
    crawl.crawl_by(&settings, &arguments);
    let requests = web.requests();
    assert_eq!(requests.len(), 30, "robots.txt and two pages of each");
    assert!(requests.iter().all(|request| request.host != 0));
}

#[test]
fn a_host_is_visited_at_its_next_address_if_the_first_accepts_nothing() {
    let web = Web::start(vec![closing(&["/a", "/b"])]);
    // Nobody listens at the first one.
    let dns = Dns::start(|_, _| Names::of(&["127.0.99.1", "127.0.7.1"], 3_600));
    let crawl = Place::new();
    let settings = config(&dns, "allow_private = true");
    let seed = format!("http://two.example:{}/", web.port());
    let arguments = [&*seed, "--user-agent", CONTACT, "--delay", "20ms"];
    crawl.crawl_by(&settings, &arguments);
    assert_eq!(web.requests().len(), 4, "robots.txt and three pages");
    assert!(crawl.log().iter().all(|line| line.annotation.is_none()));
}

/// A server that keeps its connections open, and counts them.
async fn keeping(ip: &str) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind((ip, 0)).await;
    let listener = listener.expect("loopback has a free port");
    let address = listener.local_addr().expect("it is bound");
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                while !read_head(&mut stream).await.is_empty() {
                    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";
                    let _ = stream.write_all(answer).await;
                }
            });
        }
    });
    (address, made)
}

/// A connection that is still open does not lead a visit back to an address of an earlier one.
#[tokio::test]
async fn a_connection_is_not_used_again_for_another_address() {
    let (first, to_first) = keeping("127.0.7.1").await;
    let (second, to_second) = keeping("127.0.7.2").await;
    let addresses = vec![first.into(), second.into()];
    let options = FetchOptions {
        hosts: NamedHosts::new([("a.example".to_owned(), addresses)]).expect("a name"),
        ..FetchOptions::new(CONTACT)
    };
    let guard = Arc::new(Guard::new(&options));
    let fetcher = Fetcher::new(options, guard).expect("the options are sound");
    let url = parse("http://a.example/").expect("a URL");
    let fetch = async |at| {
        let approach = Approach {
            at,
            ..Approach::default()
        };
        let fetched = fetcher.fetch_as(&url, Conditions::default(), approach);
        fetched.await.0
    };
    for at in [first, first, second, second, first] {
        let Outcome::Exchange(exchange) = fetch(At::Address(at.ip())).await else {
            panic!("no answer");
        };
        assert_eq!(exchange.remote, Some(at));
    }
    assert!(to_first.load(Ordering::Relaxed) < 3, "connections are kept");
    assert_eq!(to_second.load(Ordering::Relaxed), 2);
    let Outcome::Failed(failure) = fetch(At::Nowhere).await else {
        panic!("it went somewhere");
    };
    assert!(failure.is_unreached(), "{failure:?}");
}

#[test]
fn only_so_many_names_are_looked_up_at_once() {
    let web = Web::start(vec![closing(&[])]);
    let dns = Dns::start(|_, _| Names::of(&["127.0.7.1"], 3_600));
    let crawl = Place::new();
    let more = "allow_private = true\nmax_lookups = 3";
    let seeds: Vec<String> = (0..20)
        .map(|n| format!("http://host{n}.example:{}/", web.port()))
        .collect();
    let seeds = crawl.file("seeds.txt", &seeds.join("\n"));
    let arguments = ["--seeds", &seeds, "--user-agent", CONTACT];
    crawl.crawl_by(&config(&dns, more), &arguments);
    assert_eq!(web.requests().len(), 40);
    assert_eq!(dns.most_at_once(), 3);
}

#[test]
fn a_name_server_that_is_silent_is_told_from_a_silent_host() {
    // Bound, and nobody reads.
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = silent.local_addr().expect("it is bound");
    let crawl = Place::new();
    let text = format!(
        "[politeness]\nattempts = 1\n[fetch]\nconnect_timeout = \"2s\"\nnameservers = [\"{address}\"]\n"
    );
    crawl.crawl_with_losses(&text, &["http://a.example/", "--user-agent", CONTACT]);
    let robots = &crawl.log()[0];
    let said = robots.annotation.clone().unwrap_or_default();
    assert!(said.starts_with("dns: a.example"), "{said}");
}

#[test]
fn the_resolver_of_the_system_can_be_asked_instead() {
    let web = Web::start_at(0, vec![leaves()]);
    let seed = format!("http://localhost:{}/", web.port());
    Place::new().crawl_by("fetch.resolver = \"system\"", &[&seed]);
    assert_eq!(web.requests().len(), 2);
}
