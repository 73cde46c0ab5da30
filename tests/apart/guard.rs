//! Which addresses are connected to when names lead to public and private ones: in a network of its
//! own, judged by the servers that must never be contacted.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::dns::{Answer as Names, Dns};
use crate::run::{LOST, Place, anchors, run};

const PUBLIC: &str = "93.184.216.34";
const PUBLIC_SIX: &str = "2606:2800:220:1::1";
const PRIVATE: &str = "10.0.0.1";
const METADATA: &str = "169.254.169.254";
/// The private address as a translator of IPv6 to IPv4 takes it.
const NAT64: &str = "64:ff9b::a00:1";
const UNIQUE_LOCAL: &str = "fd00:ec2::254";
const FORBIDDEN: [&str; 5] = [PRIVATE, METADATA, NAT64, UNIQUE_LOCAL, "127.0.0.1"];
/// The network that these tests run in, beside loopback.
pub(crate) const ADDRESSES: &[&str] = &[PUBLIC, PUBLIC_SIX, PRIVATE, METADATA, NAT64, UNIQUE_LOCAL];

/// A server at port 80 of an address; whoever is connected to it is counted.
struct Host {
    connections: Arc<AtomicUsize>,
    /// Host and path of each request.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Host {
    fn start(ip: &str, links: &'static [&'static str]) -> Self {
        let ip: IpAddr = ip.parse().expect("an address");
        let listener = TcpListener::bind((ip, 80)).expect("it is ours here");
        let host = Self {
            connections: Arc::default(),
            asked: Arc::default(),
        };
        let (connections, asked) = (Arc::clone(&host.connections), Arc::clone(&host.asked));
        // Ends with the process, which has this test alone.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                connections.fetch_add(1, Ordering::Relaxed);
                let asked = Arc::clone(&asked);
                thread::spawn(move || answer(stream, links, &asked));
            }
        });
        host
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

fn answer(mut stream: TcpStream, links: &[&str], asked: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(stream.try_clone().expect("a socket can be shared")).lines();
    let (mut path, mut name) = (String::new(), String::new());
    for line in lines.by_ref().map_while(Result::ok) {
        if let Some(rest) = line.strip_prefix("GET ") {
            rest.split(' ')
                .next()
                .unwrap_or_default()
                .clone_into(&mut path);
        } else if let Some(host) = line.strip_prefix("host: ") {
            host.clone_into(&mut name);
        } else if line.is_empty() {
            break;
        }
    }
    let place = format!("{name}{path}");
    let close = "connection: close\r\n";
    let redirect = |to: &str| {
        format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\n{close}content-length: 0\r\n\r\n")
    };
    let text = match place.as_str() {
        "robots.example/robots.txt" => redirect("http://10.0.0.1/robots.txt"),
        "public.example/moved-to-address" => redirect("http://10.0.0.1/"),
        "public.example/moved-to-name" => redirect("http://private.example/moved"),
        _ if path == "/robots.txt" => {
            format!("HTTP/1.1 404 None\r\n{close}content-length: 0\r\n\r\n")
        }
        _ => {
            let links = if path == "/" { links } else { &[] };
            let body = format!(
                "<title>{place}</title><p>The page {place}.</p>{}",
                anchors(links)
            );
            format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n{close}content-length: {}\r\n\r\n{body}",
                body.len()
            )
        }
    };
    asked.lock().expect("nobody panics with it").push(place);
    let _ = stream.write_all(text.as_bytes());
}

/// What the public host leads to, in each way there is.
const TEMPTING: [&str; 15] = [
    "http://private.example/",
    "http://metadata.example/",
    "http://mapped.example/",
    "http://translated.example/",
    "http://local.example/",
    "http://loopback.example/",
    "http://mixed.example/",
    "http://six.example/",
    "http://robots.example/page",
    "http://10.0.0.1/",
    "http://[64:ff9b::a00:1]/",
    "http://[::ffff:169.254.169.254]/",
    "http://169.254.169.254/latest/meta-data/",
    "/moved-to-address",
    "/moved-to-name",
];

const CONTACT: &str = "test (+https://example.org)";

/// Crawls with the names of a server, and with more settings of `fetch`.
#[track_caller]
fn crawl(place: &Place, dns: &Dns, more: &str, arguments: &[&str]) {
    crawl_to(0, place, dns, more, arguments);
}

/// The same for a crawl with this exit code.
#[track_caller]
fn crawl_to(code: i32, place: &Place, dns: &Dns, more: &str, arguments: &[&str]) {
    let nameserver = dns.address();
    let text = format!(
        "[politeness]\nbackoff = \"1ms\"\n[fetch]\nnameservers = [\"{nameserver}\"]\n{more}"
    );
    let config = place.file("config.toml", &text);
    let common = ["--config", &config, "--user-agent", CONTACT];
    run(place.command(&[arguments, &common].concat())).expect(code);
}

#[track_caller]
fn nobody_contacted(hosts: &[(&str, Host)]) {
    for (ip, host) in hosts {
        assert_eq!(host.connections(), 0, "{ip} was contacted");
    }
}

pub(crate) fn names_lead_to_public_addresses_only() {
    let public = Host::start(PUBLIC, &TEMPTING);
    let public_six = Host::start(PUBLIC_SIX, &[]);
    let forbidden = FORBIDDEN.map(|ip| (ip, Host::start(ip, &[])));
    let dns = Dns::start(|name, _| match name {
        "public.example" | "robots.example" => Names::of(&[PUBLIC], 60),
        "six.example" => Names::of(&[PUBLIC_SIX], 60),
        "mixed.example" => Names::of(&[PRIVATE, NAT64, PUBLIC, METADATA, UNIQUE_LOCAL], 60),
        "private.example" => Names::of(&[PRIVATE], 60),
        "metadata.example" => Names::of(&[METADATA], 60),
        "mapped.example" => Names::of(&["::ffff:10.0.0.1"], 60),
        "translated.example" => Names::of(&[NAT64], 60),
        "local.example" => Names::of(&[UNIQUE_LOCAL], 60),
        "loopback.example" => Names::of(&["127.0.0.1", "::1"], 60),
        _ => Names::missing(60),
    });
    let place = Place::new();
    let seed = "http://public.example/";
    crawl(&place, &dns, "", &[seed, "--scope", "any"]);
    nobody_contacted(&forbidden);
    assert_eq!(public_six.connections(), 2, "robots.txt and the page");
    let asked = public.asked.lock().expect("nobody panics with it").clone();
    for wanted in [
        "public.example/",
        "mixed.example/",
        "robots.example/robots.txt",
    ] {
        assert!(asked.iter().any(|it| it == wanted), "{wanted} in {asked:?}");
    }
    let pages = place.pages();
    for stored in [
        "http://public.example/",
        "http://mixed.example/",
        "http://six.example/",
    ] {
        assert_eq!(pages[stored].status, 200, "{stored}");
    }
    let counters = place.status().counters;
    // Six names, four addresses (10.0.0.1 twice, as a link and as where a redirect leads, is one),
    // and what the name is redirected to.
    assert_eq!(counters.failures["guard"], 11, "{counters:?}");
}

pub(crate) fn a_name_that_changes_between_two_questions_gains_nothing() {
    let public = Host::start(PUBLIC, &[]);
    let private = Host::start(PRIVATE, &[]);
    // What is asked for the check is never asked again for the connection: every other answer,
    // which must not be kept, is another.
    let dns = Dns::start(|_, before| match before % 2 {
        0 => Names::of(&[PUBLIC], 0),
        _ => Names::of(&[PRIVATE], 0),
    });
    let place = Place::new();
    let seeds: Vec<String> = (0..8)
        .map(|n| format!("http://rebind.example/{n}"))
        .collect();
    let seeds = place.file("seeds.txt", &seeds.join("\n"));
    crawl_to(LOST, &place, &dns, "", &["--seeds", &seeds]);
    assert_eq!(private.connections(), 0);
    // Asked for robots.txt and eight pages, each on a connection of its own.
    assert_eq!(dns.asked("rebind.example"), 9);
    assert_eq!(public.connections(), 5);
    assert_eq!(place.status().counters.failures["guard"], 4);
}

pub(crate) fn networks_that_are_allowed_are_open_and_no_others() {
    let private = Host::start(
        PRIVATE,
        &["http://metadata.example/", "http://translated.example/"],
    );
    let forbidden = [METADATA, NAT64].map(|ip| (ip, Host::start(ip, &[])));
    let dns = Dns::start(|name, _| match name {
        "intranet.example" => Names::of(&[PRIVATE], 60),
        "metadata.example" => Names::of(&[METADATA], 60),
        _ => Names::of(&[NAT64], 60),
    });
    let place = Place::new();
    let allowed = "allow_networks = [\"10.0.0.0/8\"]";
    let seed = "http://intranet.example/";
    crawl(&place, &dns, allowed, &[seed, "--scope", "any"]);
    nobody_contacted(&forbidden);
    assert_eq!(private.connections(), 2);
}

/// A seed is consent for what it names, not for what its name leads to.
pub(crate) fn a_seed_with_a_name_is_no_consent_for_a_private_address() {
    let private = Host::start(PRIVATE, &[]);
    let dns = Dns::start(|_, _| Names::of(&[PRIVATE], 60));
    let place = Place::new();
    crawl_to(LOST, &place, &dns, "", &["http://private.example/"]);
    assert_eq!(private.connections(), 0);
    // The address itself is one, for its own port.
    crawl_to(LOST, &place, &dns, "", &["http://10.0.0.1/"]);
    assert_eq!(private.connections(), 2);
}
