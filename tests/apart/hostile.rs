//! What strangers' servers can do to a crawl: nothing but fail. Some two hundred and sixty hosts,
//! each with its own way to misbehave and a good page beside it, in one crawl with short deadlines:
//! it ends, within its memory, has every good page once, and has contacted nobody whom it may not.
//! In a network of its own, private addresses lead to listeners of the test: a guard that fails is
//! seen, and reaches nobody. Where there is no such network, loopback alone is listened on.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::net::{IpAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use gleaner::archive::ReadRecord;
use gleaner::engine::LogLine;
use rustix::process::{Pid, Signal};

use crate::hostile_hosts::{self, At, Behaviour, Comes, Hosts, PRIVATE};
use crate::run::{LOST, PATIENCE, Place, Running, kind};

/// Deadlines that a test can wait for.
const SHORT: &str = "\
[crawl]
scope = \"any\"
max_depth = 6
exclude = [\"*/not/*\"]
[politeness]
backoff = \"50ms\"
max_backoff = \"200ms\"
max_crawl_delay = \"200ms\"
attempts = 2
[fetch]
connect_timeout = \"1s\"
head_timeout = \"4s\"
total_timeout = \"7s\"
[state]
max_memory = \"400MiB\"
";

/// One host of so many may miss a deadline because the machine is busy; its good page may not.
const LATE: usize = 20;

/// The most memory that a crawl may take, in bytes: what the settings allow, and what comes on top
/// (docs/operations.md, "Memory"): the program, a page that each core reads, and a large one.
fn allowed() -> u64 {
    const SETTINGS: u64 = 400;
    const PROGRAM: u64 = 30;
    const TREE: u64 = 70;
    const LARGE_PAGE: u64 = 2 * 40 + TREE;
    let cores = thread::available_parallelism().map_or(1, usize::from) as u64;
    (SETTINGS + PROGRAM + cores * TREE + LARGE_PAGE) << 20
}

/// Deadlines that no test waits for.
const LONG: &str = "\
[crawl]
scope = \"any\"
[fetch]
connect_timeout = \"1h\"
head_timeout = \"1h\"
total_timeout = \"1h\"
";

/// Listeners that nobody may contact, and who did.
struct Forbidden(Arc<Mutex<Vec<String>>>);

impl Forbidden {
    fn listen() -> Self {
        let contacts = Arc::new(Mutex::new(Vec::new()));
        for address in PRIVATE.iter().chain(&["127.0.0.1", "::1"]) {
            let address: IpAddr = address.parse().expect("the table has addresses");
            for port in [80, 443, 70, 21] {
                let Ok(listener) = TcpListener::bind((address, port)) else {
                    continue;
                };
                let contacts = Arc::clone(&contacts);
                thread::spawn(move || {
                    for stream in listener.incoming() {
                        let place = stream.and_then(|it| it.local_addr());
                        contacts
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .push(format!("{place:?}"));
                    }
                });
            }
        }
        Self(contacts)
    }

    fn contacts(&self) -> Vec<String> {
        let contacts = self.0.lock();
        contacts.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A crawl of all hosts.
fn begin(place: &Place, hosts: &Hosts, behaviours: &[Behaviour], settings: &str) -> Running {
    let config = format!("{settings}[fetch.hosts]\n{}", hosts.named());
    let config = place.file("config.toml", &config);
    let seeds: Vec<_> = behaviours.iter().map(|it| it.url("/")).collect();
    let seeds = place.file("seeds.txt", &seeds.join("\n"));
    place.start(&["--seeds", &seeds, "--config", &config])
}

/// The most memory that a process takes until its end, in bytes.
fn peak(pid: Pid) -> thread::JoinHandle<u64> {
    let path = format!("/proc/{}/status", pid.as_raw_nonzero());
    thread::spawn(move || {
        let mut peak = 0;
        while let Some(now) = fs::read_to_string(&path)
            .ok()
            .and_then(|it| high_water(&it))
        {
            peak = now;
            thread::sleep(Duration::from_millis(20));
        }
        peak
    })
}

/// `VmHWM`, which a process that has ended does not have any more.
fn high_water(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes << 10)
}

/// What a crawl left of a URL.
struct Left<'a> {
    /// Its lines in the log, but those that say that it is tried again.
    lines: BTreeMap<&'a str, Vec<&'a LogLine>>,
    /// The responses that are stored.
    responses: BTreeMap<&'a str, Vec<&'a ReadRecord>>,
}

impl Left<'_> {
    /// What is wrong with what came of a behaviour, if anything is.
    fn complaint(&self, behaviour: &Behaviour, hosts: &Hosts) -> Option<String> {
        let good = behaviour.url("/good");
        let stored = self
            .responses
            .get(good.as_str())
            .map_or(&[][..], Vec::as_slice);
        let expected = usize::from(!matches!(behaviour.comes, Comes::Forbids | Comes::Waits));
        if stored.len() != expected {
            let lines = self.lines.get(good.as_str());
            return Some(format!("{} good pages: {lines:?}", stored.len()));
        }
        let asked = match behaviour.at {
            At::GoodOnce => 2,
            _ => expected,
        };
        // On a machine that is busy enough, an answer may be late once.
        let often = hosts.asked(&good);
        if !(asked..=2 * asked).contains(&often) {
            return Some(format!("asked {often} times for the good page"));
        }
        let is_as_sent = |record: &ReadRecord| {
            let payload = record.http_parts().map(|(_, payload)| payload);
            payload == Some(behaviour.good_page().as_bytes())
        };
        if !stored.iter().copied().all(is_as_sent) {
            return Some("the good page is not as it was sent".to_owned());
        }
        let (status, note, title) = match behaviour.comes {
            Comes::Nothing | Comes::Forbids | Comes::Waits => return None,
            Comes::Leads => {
                let led = hosts.asked(&behaviour.url("/led"));
                return (!(1..=2).contains(&led)).then(|| {
                    let lines = self.lines.get(behaviour.bad().as_str());
                    format!("led on {led} times: {lines:?}")
                });
            }
            Comes::Fails(class) => (0, class, None),
            Comes::Noted(status, note) => (status, note, None),
            Comes::Whole(status) => (status, "", None),
            Comes::Titled(status, title) => (status, "", Some(title)),
        };
        let bad = behaviour.bad();
        let lines = self.lines.get(bad.as_str()).map_or(&[][..], Vec::as_slice);
        let [line] = lines else {
            return Some(format!("{} lines of {bad}: {lines:?}", lines.len()));
        };
        let annotation = line.annotation.as_deref().unwrap_or_default();
        let is_as_expected = line.status == status
            && match behaviour.comes {
                Comes::Fails(class) => annotation.starts_with(&format!("{class}:")),
                Comes::Whole(_) => !["cut:", "Cut", "coding", "length"]
                    .iter()
                    .any(|note| annotation.contains(note)),
                _ => annotation.contains(note),
            }
            && title.is_none_or(|title| {
                line.page.as_ref().and_then(|page| page.title.as_deref()) == Some(title)
            });
        let records = self
            .responses
            .get(bad.as_str())
            .map_or(&[][..], Vec::as_slice);
        let cut = annotation
            .split("; ")
            .find_map(|it| it.strip_prefix("cut:"));
        if !records.iter().all(|it| it.header("WARC-Truncated") == cut) {
            return Some(format!("not stored as cut by {cut:?}"));
        }
        (!is_as_expected).then(|| format!("{line:?}"))
    }
}

pub(crate) fn hosts_that_misbehave_harm_nobody_but_themselves() {
    let forbidden = Forbidden::listen();
    let mut behaviours = hostile_hosts::all();
    if let Ok(only) = std::env::var("HOSTILE_ONLY") {
        behaviours.retain(|it| only.split(',').any(|name| name == it.name));
    }
    let hosts = Hosts::start(&behaviours);
    let place = Place::new();
    let running = begin(&place, &hosts, &behaviours, SHORT);
    let peak = peak(running.pid());
    let output = running.end();
    assert!(matches!(output.code, 0 | LOST), "{output:?}");
    let peak = peak.join().expect("it only reads");
    let (log, records) = (place.log(), place.records());
    let mut left = Left {
        lines: BTreeMap::new(),
        responses: BTreeMap::new(),
    };
    for line in log.iter().filter(|line| line.verdict != "retry") {
        left.lines.entry(&line.url).or_default().push(line);
    }
    for record in records.iter().filter(|it| kind(it) == "response") {
        let url = record.header("WARC-Target-URI").unwrap_or_default();
        left.responses.entry(url).or_default().push(record);
    }
    let (mut complaints, mut late) = (String::new(), 0);
    for behaviour in &behaviours {
        if let Some(complaint) = left.complaint(behaviour, &hosts) {
            // What is expected of it and what comes of a busy machine cannot be told apart.
            let is_late = !complaint.contains("good page")
                && ["timeout: no response", "cut:time"]
                    .iter()
                    .any(|sign| complaint.contains(sign));
            late += usize::from(is_late);
            if is_late && late * LATE <= behaviours.len() {
                continue;
            }
            let _ = writeln!(complaints, "{}: {complaint}", behaviour.name);
        }
    }
    let contacts = forbidden.contacts();
    assert!(contacts.is_empty(), "contacted: {contacts:?}");
    assert!(complaints.is_empty(), "\n{complaints}");
    assert!(peak < allowed(), "{} MB", peak >> 20);
}

pub(crate) fn hosts_that_misbehave_do_not_keep_a_crawl_from_stopping() {
    let behaviours = hostile_hosts::all();
    let hosts = Hosts::start(&behaviours);
    let place = Place::new();
    // All its fetches are in the hands of hosts, and no deadline takes them back.
    let running = begin(&place, &hosts, &behaviours, LONG);
    assert!(hosts.wait_for(450, PATIENCE));
    running.signal(Signal::TERM);
    running.end().expect(0).says(&["stopping"]);
    place.records();
}
