//! The console beside clients that are slow, that come back, or that say one thing in two ways.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::console::{Console, answer, daemon, endless, misses_none_to_the_end, started};
use crate::run::{PATIENCE, Place, linking, numbered, text};
use crate::web::Web;

/// Resident memory of a process in bytes.
fn resident(console: &Console) -> u64 {
    let path = format!("/proc/{}/status", console.running.pid().as_raw_nonzero());
    let status = fs::read_to_string(path).expect("it runs");
    let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:"));
    let number = line.and_then(|it| it.split_whitespace().next());
    number
        .and_then(|it| it.parse().ok())
        .map_or(0, |it: u64| it << 10)
}

impl Console {
    /// Sends this, and leaves it at that.
    fn hold(&self, sent: &str) -> TcpStream {
        let mut stream = self.connect();
        // Whoever is refused may be gone already.
        let _ = stream.write_all(sent.as_bytes());
        stream
    }

    /// The answer to what is sent as it is.
    fn raw(&self, sent: &str) -> String {
        let mut stream = self.hold(sent);
        let _ = stream.shutdown(Shutdown::Write);
        let mut said = Vec::new();
        // Who is refused before all was read is cut off behind the answer.
        let _ = stream.read_to_end(&mut said);
        String::from_utf8_lossy(&said).into_owned()
    }
}

#[test]
fn slow_clients_keep_nobody_out() {
    const SLOW: usize = 64;
    let crawl = Place::new();
    let web = Web::start(vec![linking(&numbered(200))]);
    let console = daemon(&crawl, &[&web.url(0, "/")]);
    assert!(web.wait_for_requests(200, PATIENCE));
    // What is kept once for all is there before.
    for path in ["status", "history?res=1m", "hosts", "pages?text=text"] {
        let got = console.send("GET", &format!("/api/v1/{path}"), &[], "");
        assert_eq!(got.status, 200, "{path}");
    }
    let before = resident(&console);
    let head = format!("host: {}\r\n", console.address);
    // One that follows and never reads; bodies, heads and answers that take a byte at a time.
    let mut kept = vec![console.hold(&format!(
        "GET /api/v1/pages?follow=1&text=markdown HTTP/1.1\r\n{head}\r\n"
    ))];
    let (mut senders, mut readers) = (Vec::new(), Vec::new());
    for number in 0..SLOW {
        senders.push(console.hold(&format!(
            "POST /api/v1/seeds HTTP/1.1\r\n{head}content-type: application/json\r\ncontent-length: 4000000\r\n\r\n{{"
        )));
        senders.push(console.hold("GET /api/v1/status HTTP/1.1\r\nx-slow: "));
        readers.push(console.hold(&format!(
            "GET /api/v1/history?res=1m HTTP/1.1\r\n{head}\r\n"
        )));
        // Those that read the store are few enough for one client in a second.
        if number < 16 {
            readers.push(console.hold(&format!("GET /api/v1/pages HTTP/1.1\r\n{head}\r\n")));
        }
    }
    let mut grown = 0;
    // And a thousand that say nothing, or stop in the middle of a word.
    for at in 0..1_000 {
        kept.push(console.hold(if at % 2 == 0 { "" } else { "GET /api/v1/st" }));
        if at % 50 == 0 {
            // A byte for each, as far as it is still there.
            for stream in &mut senders {
                let _ = stream.write_all(b"x");
            }
            for stream in &mut readers {
                let _ = stream.read(&mut [0]);
            }
            for path in ["/api/v1/status", "/metrics", "/api/v1/hosts"] {
                let got = console.send("GET", path, &[], "");
                assert_eq!(got.status, 200, "{path} behind {at}");
            }
            grown = resident(&console).saturating_sub(before).max(grown);
        }
    }
    assert!(grown <= 32 << 20, "{grown} bytes");
    // Nor do they keep the process from ending.
    console.running.signal(Signal::TERM);
    let told = console.running.end_within(Duration::from_secs(10));
    told.expect(0);
    drop((kept, senders, readers));
}

#[test]
fn many_slow_bodies_leave_room_for_one_that_is_large() {
    let crawl = Place::new();
    let web = Web::start(vec![linking(&numbered(3))]);
    let console = daemon(&crawl, &[&web.url(0, "/")]);
    let head = format!(
        "POST /api/v1/seeds HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n",
        console.address
    );
    let slow: Vec<_> = (0..100)
        .map(|_| console.hold(&format!("{head}content-length: 4000000\r\n\r\n{{")))
        .collect();
    let seeds: Vec<String> = (0..1_000)
        .map(|number| web.url(0, &format!("/{number}?{}", "x".repeat(200))))
        .collect();
    let added = console.post("/api/v1/seeds", &json!({ "urls": seeds }));
    assert_eq!(added["new"], 1_000);
    drop(slow);
    console.stop();
}

#[test]
fn many_that_wait_keep_nobody_out() {
    let crawl = Place::new();
    let web = Web::start(vec![linking(&numbered(9))]);
    // Home is asked for, and is not answered: a pause waits for its end.
    web.hold_after(1);
    let console = daemon(&crawl, &[&web.url(0, "/")]);
    assert!(web.wait_for_requests(2, PATIENCE));
    let head = format!(
        "POST /api/v1/pause HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}",
        console.address
    );
    let waiting: Vec<_> = (0..80).map(|_| console.hold(&head)).collect();
    assert_eq!(console.get("/api/v1/status")["counters"]["seeds"], 1);
    let got = console.send("POST", "/api/v1/pause", &[], "{}");
    assert_eq!(got.status, 503);
    assert_eq!(text(&got.json()["error"], "code"), "busy");
    assert_eq!(got.headers["retry-after"], "1");
    web.release();
    drop(waiting);
    console.stop();
}

#[test]
fn who_follows_goes_on_behind_a_kill() {
    let crawl = Place::new();
    let web = Web::start(vec![endless()]);
    let console = daemon(&crawl, &[&web.url(0, "/0")]);
    let mut read: Vec<Value> = Vec::new();
    let pages = console.follow("/api/v1/pages?follow=1&text=0");
    let reader = std::thread::spawn(move || pages.collect::<Vec<_>>());
    assert!(web.wait_for_requests(60, PATIENCE));
    console.running.signal(Signal::KILL);
    console.running.end().expect(137);
    read.extend(reader.join().expect("readers do not panic"));

    // Nothing of what was sent is lost or sent again.
    let console = started(crawl.gleaner(&["daemon"]));
    console.reads_on(&mut read);
    misses_none_to_the_end(console, &crawl, read);
}

#[test]
fn who_follows_events_goes_on_behind_a_kill_and_a_stop() {
    let crawl = Place::new();
    let web = Web::start(vec![endless()]);
    let console = daemon(&crawl, &[&web.url(0, "/0")]);
    console.post("/api/v1/pause", &json!({}));
    let mut events = console.follow("/api/v1/events?follow=1");
    let mut told: Vec<Value> = vec![events.next().expect("something has happened")];
    let mut expected = vec!["pause"];
    // Its reader is gone, and the crawl goes on, ends in one way or the other, and begins again.
    drop(events);
    let mut console = Some(console);
    for is_killed in [true, false, true] {
        let ending = console.take().expect("it runs");
        ending.post("/api/v1/resume", &json!({}));
        ending.post("/api/v1/pause", &json!({}));
        expected.extend(["resume", "pause"]);
        match is_killed {
            true => {
                ending.running.signal(Signal::KILL);
                ending.running.end().expect(137);
            }
            false => {
                ending.running.signal(Signal::TERM);
                ending.running.end().expect(0);
            }
        }
        let next = started(crawl.gleaner(&["daemon"]));
        let known = told.last().map(|it| text(it, "id").to_owned());
        let path = format!("/api/v1/events?after={}", known.unwrap_or_default());
        told.extend(next.follow(&path));
        console = Some(next);
    }
    let console = console.expect("it runs");
    // Each was told once, and nothing was missed.
    let all: Vec<Value> = console.follow("/api/v1/events").collect();
    // What the crawl does meanwhile may come behind.
    assert_eq!(told[..], all[..told.len().min(all.len())]);
    let ours = ["pause", "resume"];
    let kinds = told.iter().map(|it| text(it, "kind"));
    let kinds: Vec<&str> = kinds.filter(|it| ours.contains(it)).collect();
    assert_eq!(kinds, expected);
    // It is no part of what a crawl stands on, nor is a file that is none.
    console.stop();
    assert!(crawl.ask(&["check"]).expect(0).stdout.contains("sound"));
    let log = crawl.data().join("log");
    let mut file = fs::read(log.join("events.jsonl")).expect("there are events");
    let end = file.len() - file.len() / 2;
    file.splice(10..end, *b"nothing that anyone can read\n");
    fs::write(log.join("events.jsonl"), file).expect("it is ours");
    assert!(crawl.ask(&["check"]).expect(0).stdout.contains("sound"));
    let console = started(crawl.gleaner(&["daemon"]));
    let known = text(&told[0], "id");
    let path = format!("/api/v1/events?after={known}");
    let missed: Vec<Value> = console.follow(&path).take(1).collect();
    assert_eq!(missed[0]["kind"], "missed");
    let said = console.stop().stderr;
    assert!(said.contains("events.jsonl.unreadable"), "{said}");
    assert!(log.join("events.jsonl.unreadable").exists());
}

#[test]
fn many_events_are_told_part_by_part() {
    const TIMES: usize = 140;
    let crawl = Place::new();
    let web = Web::start(vec![linking(&numbered(3))]);
    let console = daemon(&crawl, &[&web.url(0, "/")]);
    for _ in 0..TIMES {
        console.post("/api/v1/pause", &json!({}));
        console.post("/api/v1/resume", &json!({}));
    }
    let told: Vec<Value> = console.follow("/api/v1/events").collect();
    let of = |kind: &str| told.iter().filter(|it| it["kind"] == kind).count();
    assert_eq!((of("pause"), of("resume"), of("missed")), (TIMES, TIMES, 0));
    let number = |it: &Value| text(it, "id").parse::<u64>().expect("it is a number");
    let ids: Vec<u64> = told.iter().map(number).collect();
    assert!(ids.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{ids:?}");
    let last = ids.last().copied().unwrap_or_default();
    let path = format!("/api/v1/events?after={last}");
    assert_eq!(console.follow(&path).count(), 0);
    console.stop();
}

#[test]
fn what_can_be_read_in_two_ways_is_refused() {
    let crawl = Place::new();
    let web = Web::start(vec![linking(&numbered(3))]);
    let console = daemon(&crawl, &[&web.url(0, "/")]);
    let host = format!("host: {}\r\n", console.address);
    let json = "content-type: application/json\r\n";
    // Behind each stands what must never be taken for a request: it would stop the crawl.
    let body = r#"{"confirm":"stop"}"#;
    let stop = format!(
        "POST /api/v1/stop HTTP/1.1\r\n{host}{json}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let check = |head: &str, status: &str| {
        let said = console.raw(&format!("{head}\r\n{stop}"));
        let line = said.lines().next().unwrap_or_default();
        assert!(line.contains(status), "{head:?}: {line:?}");
        assert_eq!(said.matches("HTTP/1.1 ").count(), 1, "{head:?}");
    };
    let pause = format!("POST /api/v1/pause HTTP/1.1\r\n{host}{json}");
    check(
        &format!("{pause}content-length: 2\r\ncontent-length: 9\r\n"),
        " 400 ",
    );
    check(&format!("{pause}content-length: +2\r\n"), " 400 ");
    check(&format!("{pause}content-length : 2\r\n"), " 400 ");
    check(&format!("{pause}transfer-encoding: gzip\r\n"), " 400 ");
    check(
        &format!("{pause}transfer-encoding: chunked, identity\r\n"),
        " 400 ",
    );
    check(
        &format!("{pause}content-length: 5\r\ntransfer-encoding: chunked\r\n"),
        " 400 ",
    );
    check(
        &format!("{pause}transfer-encoding: chunked\r\ncontent-length: 5\r\n"),
        " 400 ",
    );
    // Of two lengths the chunks count; whatever is behind is not read.
    let resume = format!("POST /api/v1/resume HTTP/1.1\r\n{host}{json}");
    for lengths in [
        "content-length: 99\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 99\r\n",
        "transfer-encoding: chunked\r\n",
    ] {
        check(&format!("{resume}{lengths}\r\n2\r\n{{}}\r\n0\r\n"), " 200 ");
    }
    let get = "GET /api/v1/status HTTP/1.1\r\n";
    check(&format!("{get}{host}x: a\r\n b: c\r\n"), " 400 ");
    check(&format!("{get}{host}{}", "x: y\r\n".repeat(200)), " 431 ");
    // Of what is too large the answer may be lost, because not all of it was read.
    let long = "x".repeat(300_000);
    for head in [
        format!("{get}{host}x: {long}\r\n"),
        format!("GET /api/v1/hosts?q={long} HTTP/1.1\r\n{host}"),
    ] {
        let said = console.raw(&format!("{head}\r\n{stop}"));
        let line = said.lines().next().unwrap_or("HTTP/1.1 431 ");
        assert!(line.starts_with("HTTP/1.1 4"), "{line}");
    }

    // These are whole requests, of which the first is refused and the second is not there.
    let alone = |head: &str, status: u16| {
        let mut stream = console.hold(&format!("{head}connection: close\r\n\r\n"));
        let _ = stream.flush();
        assert_eq!(answer(stream).status, status, "{head:?}");
    };
    alone(&format!("{get}{host}host: evil.example\r\n"), 400);
    alone(
        &format!("GET http://evil.example/api/v1/status HTTP/1.1\r\n{host}"),
        403,
    );
    alone(get, 400);
    for path in [
        "../../etc/passwd",
        "..%2f..%2fCargo.toml",
        "%2e%2e/index.html",
        "style.css%00.js",
        "/etc/passwd",
    ] {
        alone(&format!("GET /assets/{path} HTTP/1.1\r\n{host}"), 404);
    }
    alone(
        &format!("GET /api/v1/why?url=javascript:alert(1) HTTP/1.1\r\n{host}"),
        400,
    );
    assert_eq!(console.get("/api/v1/status")["state"], "running");
    console.stop();
}

#[test]
fn files_and_programs_of_the_machine_are_not_named_from_afar() {
    let crawl = Place::new();
    let web = Web::start(vec![linking(&numbered(3))]);
    let console = daemon(&crawl, &[&web.url(0, "/")]);
    let secret = crawl.file("secret", "the secret of this machine\n");
    let remembered =
        || fs::read_to_string(crawl.data().join("settings.toml")).expect("it is there");
    let before = remembered();
    for (key, value, says) in [
        (
            "crawl.block_lists",
            format!("[\"{secret}\"]"),
            "names files",
        ),
        (
            "fetch.cookie_files",
            format!("[\"{secret}\"]"),
            "names files",
        ),
        (
            "archive.hook",
            "[\"touch\", \"x\"]".to_owned(),
            "archive.hook",
        ),
        (
            "convert",
            "[{ types = [\"text/html\"], command = [\"touch\", \"x\"] }]".to_owned(),
            "convert",
        ),
        (
            "fetch.ca_files",
            format!("[\"{secret}\"]"),
            "fetch.ca_files",
        ),
    ] {
        let body = json!({ "set": { key: value } }).to_string();
        let got = console.send("POST", "/api/v1/settings", &[], &body);
        let said = got.json().to_string();
        assert_eq!(got.status, 400, "{key}: {said}");
        assert!(said.contains(says), "{key}: {said}");
        assert!(!said.contains("the secret"), "{said}");
        assert_eq!(remembered(), before, "{key}");
    }
    console.stop();
}
