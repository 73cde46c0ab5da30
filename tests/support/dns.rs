//! A name server on loopback whose answers are in the test's hand, and that counts what it is
//! asked. It speaks as much DNS (RFC 1035, section 4) over UDP as a resolver needs.

// Each test binary uses its part of it.
#![allow(dead_code, unreachable_pub)]

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long no further question must come before those that wait are answered.
const PAUSE: Duration = Duration::from_millis(50);

/// What is answered.
#[derive(Debug, Clone)]
pub struct Answer {
    pub addresses: Vec<IpAddr>,
    /// Seconds that the answer holds, also one that has no addresses.
    pub ttl: u32,
    /// The name is not there at all.
    pub is_missing: bool,
}

impl Answer {
    /// These addresses.
    pub fn of(addresses: &[&str], ttl: u32) -> Self {
        let addresses = addresses.iter().map(|ip| ip.parse().expect("an address"));
        Self {
            addresses: addresses.collect(),
            ttl,
            is_missing: false,
        }
    }

    /// There is no such name.
    pub fn missing(ttl: u32) -> Self {
        Self {
            is_missing: true,
            ..Self::of(&[], ttl)
        }
    }
}

type Responder = Box<dyn FnMut(&str, usize) -> Answer + Send>;

/// A running name server.
pub struct Dns {
    address: SocketAddr,
    log: Arc<Mutex<Log>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Log {
    asked: Vec<String>,
    most_at_once: usize,
}

impl Dns {
    /// Answers by name, in lower case without a dot at the end, and by how often it was asked for
    /// before. Of the addresses, a question gets those of its kind.
    pub fn start(respond: impl FnMut(&str, usize) -> Answer + Send + 'static) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback has a free port");
        socket.set_read_timeout(Some(PAUSE)).expect("it can wait");
        let address = socket.local_addr().expect("it is bound");
        let log = Arc::new(Mutex::new(Log::default()));
        let is_over = Arc::new(AtomicBool::new(false));
        let (shared, ends) = (Arc::clone(&log), Arc::clone(&is_over));
        let thread = thread::spawn(move || serve(&socket, &shared, &ends, Box::new(respond)));
        Self {
            address,
            log,
            is_over,
            thread: Some(thread),
        }
    }

    /// Where it listens, as a configuration names it.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// How often the IPv4 addresses of a name were asked for.
    pub fn asked(&self, name: &str) -> usize {
        let log = self.log.lock().expect("nobody panics with it");
        log.asked.iter().filter(|asked| *asked == name).count()
    }

    /// The most names that were waiting for an answer at one moment.
    pub fn most_at_once(&self) -> usize {
        self.log.lock().expect("nobody panics with it").most_at_once
    }
}

impl Drop for Dns {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            assert!(thread.join().is_ok() || thread::panicking());
        }
    }
}

/// A question that waits.
struct Question {
    from: SocketAddr,
    bytes: Vec<u8>,
    name: String,
    kind: u16,
    /// The name server's answer was made for the IPv4 question; the other gets the same.
    answer: Answer,
}

const A: u16 = 1;
const AAAA: u16 = 28;

fn serve(socket: &UdpSocket, log: &Mutex<Log>, is_over: &AtomicBool, mut respond: Responder) {
    let mut waiting: Vec<Question> = Vec::new();
    let mut buffer = [0; 2_048];
    while !is_over.load(Ordering::Relaxed) {
        if let Ok((length, from)) = socket.recv_from(&mut buffer) {
            if let Some((name, kind, end)) = parse(&buffer[..length]) {
                let mut log = log.lock().expect("nobody panics with it");
                let before = log.asked.iter().filter(|asked| **asked == name).count();
                if kind == A {
                    log.asked.push(name.clone());
                }
                let answer = respond(&name, before);
                let bytes = buffer[..end].to_vec();
                waiting.push(Question {
                    from,
                    bytes,
                    name,
                    kind,
                    answer,
                });
            }
            continue;
        }
        let names: BTreeSet<&str> = waiting.iter().map(|it| it.name.as_str()).collect();
        let mut log = log.lock().expect("nobody panics with it");
        log.most_at_once = log.most_at_once.max(names.len());
        drop(log);
        for question in waiting.drain(..) {
            let _ = socket.send_to(&reply(&question), question.from);
        }
    }
}

/// Name, kind and end of the first question.
fn parse(bytes: &[u8]) -> Option<(String, u16, usize)> {
    let mut at = 12;
    let mut labels = Vec::new();
    loop {
        let length = usize::from(*bytes.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        let label = bytes.get(at..at + length)?;
        labels.push(String::from_utf8_lossy(label).to_ascii_lowercase());
        at += length;
    }
    let kind = u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]);
    Some((labels.join("."), kind, at + 4))
}

fn reply(question: &Question) -> Vec<u8> {
    let answer = &question.answer;
    let fits = |ip: &&IpAddr| ip.is_ipv4() == (question.kind == A) && question.kind != 65;
    let fitting: Vec<&IpAddr> = match question.kind {
        A | AAAA => answer.addresses.iter().filter(fits).collect(),
        _ => Vec::new(),
    };
    let mut bytes = question.bytes.clone();
    let code = if answer.is_missing { 3 } else { 0 };
    bytes[2..4].copy_from_slice(&[0x81, 0x80 | code]);
    let count = u16::try_from(fitting.len()).expect("few");
    let has_none = fitting.is_empty();
    for (at, count) in [(4, 1), (6, count), (8, u16::from(has_none)), (10, 0)] {
        bytes[at..at + 2].copy_from_slice(&count.to_be_bytes());
    }
    let mut record = |kind: u16, data: &[u8]| {
        bytes.extend_from_slice(&[0xc0, 12]);
        bytes.extend_from_slice(&kind.to_be_bytes());
        bytes.extend_from_slice(&1_u16.to_be_bytes());
        bytes.extend_from_slice(&answer.ttl.to_be_bytes());
        bytes.extend_from_slice(&u16::try_from(data.len()).expect("short").to_be_bytes());
        bytes.extend_from_slice(data);
    };
    for ip in fitting {
        match ip {
            IpAddr::V4(ip) => record(A, &ip.octets()),
            IpAddr::V6(ip) => record(AAAA, &ip.octets()),
        }
    }
    if has_none {
        // SOA: how long that holds (RFC 2308, section 3).
        let mut soa = vec![0, 0];
        for number in [1, 3_600, 600, 86_400, answer.ttl] {
            soa.extend_from_slice(&number.to_be_bytes());
        }
        record(6, &soa);
    }
    bytes
}
