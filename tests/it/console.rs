//! The console: what is answered to whom. The innocent come first.
//!
//! Requests are written byte by byte, so that they can also be wrong, or slow.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::run::{Output, PATIENCE, Place, Running, leaves, linking, numbered, page, run, text};
use crate::show;
use crate::web::{Answer, Site, Web};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A daemon that listens, and where.
pub(crate) struct Console {
    pub(crate) running: Running,
    pub(crate) address: String,
    token: Option<&'static str>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Got {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }
}

/// Starts `gleaner daemon` on a port that is free.
pub(crate) fn daemon(crawl: &Place, arguments: &[&str]) -> Console {
    let given = ["daemon", "--delay", "0s", "--listen", "127.0.0.1:0"];
    started(crawl.gleaner(&[&given, arguments].concat()))
}

pub(crate) fn started(command: Command) -> Console {
    let running = Running::start(command);
    let place = running.line_with("listening at ");
    let address = place.trim_start_matches("listening at http://");
    let console = Console {
        address: address.trim_end_matches('/').to_owned(),
        running,
        token: None,
    };
    console.running.wait_for_line("accepting seed lists");
    console
}

impl Console {
    /// The status, once the crawl has begun.
    fn status_when_begun(&self) -> Value {
        let start = Instant::now();
        loop {
            let status = self.get("/api/v1/status");
            if status["state"] != "starting" {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "{status}");
        }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("it listens");
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("it is no zero");
        stream
    }

    /// Sends a request with these headers beside those that every client sends.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Got {
        let mut stream = self.connect();
        let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
        let mut add = |name: &str, value: &str| head.extend([name, ": ", value, "\r\n"]);
        if !names.contains(&"host") {
            add("host", &self.address);
        }
        if let Some(token) = self.token
            && !names.contains(&"authorization")
        {
            add("authorization", &format!("Bearer {token}"));
        }
        if method == "POST" && !names.contains(&"content-type") {
            add("content-type", "application/json");
        }
        for (name, value) in headers {
            add(name, value);
        }
        add("content-length", &body.len().to_string());
        stream
            .write_all(format!("{head}\r\n{body}").as_bytes())
            .expect("it reads");
        answer(stream)
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let got = self.send("GET", path, &[], "");
        assert_eq!(got.status, 200, "{path}: {}", got.json());
        got.json()
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Value {
        let got = self.send("POST", path, &[], &body.to_string());
        assert_eq!(got.status, 200, "{path}: {}", got.json());
        got.json()
    }

    /// Follows lines.
    pub(crate) fn follow(&self, path: &str) -> impl Iterator<Item = Value> + use<> {
        let mut stream = self.connect();
        let token = self.token.unwrap_or_default();
        let head = format!(
            "GET {path} HTTP/1.0\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\r\n",
            self.address
        );
        stream.write_all(head.as_bytes()).expect("it reads");
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
        let status = lines.next().unwrap_or_default();
        assert!(status.contains(" 200 "), "{path}: {status}");
        let body = lines.skip_while(|line| !line.is_empty());
        let lines = body.filter(|line| line.len() > 2);
        lines.map(|line| serde_json::from_str(&line).expect("a line is JSON"))
    }

    /// Reads twenty more pages, as soon as there are so many.
    #[track_caller]
    pub(crate) fn reads_on(&self, read: &mut Vec<Value>) {
        let count = read.len() + 20;
        read.extend(self.pages_behind(read).take(20));
        assert_eq!(read.len(), count);
    }

    /// Follows pages behind those that were read.
    pub(crate) fn pages_behind(&self, read: &[Value]) -> impl Iterator<Item = Value> + use<> {
        let after = read.last().map_or("", |it| text(it, "position"));
        self.follow(&format!("/api/v1/pages?follow=1&text=0&after={after}"))
    }

    pub(crate) fn stop(self) -> Output {
        self.post("/api/v1/stop", &json!({"confirm": "stop"}));
        self.running.end().expect(0)
    }
}

/// Reads an answer to its end.
pub(crate) fn answer(stream: impl std::io::Read) -> Got {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).expect("there is an answer");
    let status = line.split(' ').nth(1).and_then(|it| it.parse().ok());
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        reader.read_line(&mut line).expect("a head has an end");
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let mut body = Vec::new();
    reader.read_to_end(&mut body).expect("a body has an end");
    Got {
        status: status.unwrap_or_else(|| panic!("no status in {line:?}")),
        headers,
        body,
    }
}

/// A host without an end.
pub(crate) fn endless() -> Site {
    let site = Site::new().otherwise(|request| {
        let number: u64 = request.path.trim_start_matches('/').parse().unwrap_or(0);
        let next = format!("/{}", number + 1);
        Answer::html(page(&request.path, &[&next]))
    });
    site.robots("")
}

/// A file with a token that only its owner can read.
fn token_file(crawl: &Place, token: &str) -> String {
    let path = crawl.file("token", token);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
    path
}

#[test]
fn a_crawl_is_watched_and_steered() {
    let crawl = Place::new();
    let web = Web::start(vec![endless(), leaves().robots("")]);
    let console = daemon(&crawl, &[&web.url(0, "/0")]);
    assert!(web.wait_for_requests(5, PATIENCE));
    let status = console.get("/api/v1/status");
    assert_eq!(status["state"], "running");
    assert!(status["counters"]["pages"].as_u64() > Some(0), "{status}");
    assert!(status["disk"]["free"].as_u64() > Some(0), "{status}");
    let words = text(&status, "limit_text");
    assert!(!words.is_empty());
    // The command beside an answer gives the same.
    let command = text(&status, "command");
    assert!(command.starts_with("gleaner status --json --data-dir "));

    assert_eq!(console.post("/api/v1/pause", &json!({}))["done"], true);
    web.clear_log();
    assert_eq!(console.get("/api/v1/status")["state"], "paused");
    let seeds = json!({"urls": [web.url(1, "/new")]});
    assert_eq!(console.post("/api/v1/seeds", &seeds)["new"], 1);
    assert_eq!(web.requests().len(), 0, "it is paused");
    let host = web.url(0, "");
    let escaped = host.replace(':', "%3A").replace('/', "%2F");
    let held = console.post(&format!("/api/v1/hosts/{escaped}/hold"), &json!({}));
    assert_eq!(held["hosts"], json!([host]));
    let story = console.get(&format!("/api/v1/hosts/{escaped}"));
    assert_eq!(story["state"], "held");
    assert!(
        story["last_visits"]
            .as_array()
            .is_some_and(|it| !it.is_empty())
    );
    console.post("/api/v1/resume", &json!({}));
    // robots.txt and the seed; the other host is held.
    assert!(web.wait_for_requests(2, PATIENCE));
    let hosts = console.get("/api/v1/hosts?sort=visits");
    assert_eq!(hosts["total"], 2);
    assert_eq!(hosts["hosts"][0]["host"], json!(host));
    let asked: Vec<_> = web.requests().into_iter().map(|it| it.path).collect();
    assert_eq!(asked, ["/robots.txt", "/new"]);
    console.post(&format!("/api/v1/hosts/{escaped}/release"), &json!({}));
    assert!(web.wait_for_requests(5, PATIENCE));

    let set = json!({"set": {"politeness.delay": "7s"}});
    let changed = console.post("/api/v1/settings", &set);
    assert_eq!(
        changed["changed"],
        json!(["politeness.delay was 0s, is 7s"])
    );
    let config = console.get("/api/v1/config");
    let settings = config["settings"].as_array().expect("it is a list");
    let delay = settings.iter().find(|it| it["key"] == "politeness.delay");
    assert_eq!(delay.map(|it| &it["value"]), Some(&json!("7s")));

    let why = console.get(&format!("/api/v1/why?url={}", web.url(0, "/0")));
    assert_eq!(why["state"], "done");
    assert_eq!(console.get("/api/v1/report")["duplicates"], 0);
    let rows = console.get("/api/v1/history?res=1s");
    assert!(rows["rows"].as_array().is_some_and(|it| !it.is_empty()));
    assert_eq!(console.get("/readyz")["ok"], true);
    console.stop();
    // The address was remembered: the next run listens too.
    let again = started(crawl.gleaner(&["daemon"]));
    again.stop();
}

#[test]
fn what_was_dropped_is_looked_at_and_judged() {
    let crawl = Place::new();
    let (web, _) = show::web();
    show::crawl(&crawl, show::ONE_AT_A_TIME, &web);
    let console = daemon(&crawl, &[]);
    let samples = console.get("/api/v1/samples?tier=near&limit=9");
    assert_eq!(samples["of"], 2);
    let drawn = samples["samples"].as_array().expect("a list").clone();
    assert_eq!(drawn.len(), 2, "{drawn:?}");
    let one = drawn.iter().find(|it| it["url"] == web.url(0, "/near"));
    let one = one.expect("it is drawn");
    assert_eq!(one["original"], web.url(0, "/a"));
    assert_eq!(one["mark"], Value::Null);

    let (a, b) = (web.url(0, "/a"), web.url(0, "/near"));
    let pair = console.get(&format!("/api/v1/compare?a={a}&b={b}"));
    let parts = pair["parts"].as_array().expect("a list");
    let of = |side: &str| {
        let parts = parts.iter().filter_map(|part| part[side].as_str());
        parts.collect::<String>()
    };
    assert!(
        of("b").contains("other") && !of("a").contains("other"),
        "{parts:?}"
    );
    assert!(pair["similarity"].as_f64() > Some(0.9), "{pair}");
    let unknown = console.send("GET", &format!("/api/v1/compare?a={a}&b={a}x"), &[], "");
    assert_eq!(unknown.status, 404);

    let said = json!({"url": b, "original": a, "mark": "wrong"});
    assert_eq!(console.post("/api/v1/marks", &said)["tier"], "near");
    let other = json!({"url": b, "original": web.url(0, "/other"), "mark": "right"});
    let refused = console.send("POST", "/api/v1/marks", &[], &other.to_string());
    assert_eq!(refused.status, 409, "it was not what the person saw");
    let marks = console.get("/api/v1/marks");
    assert_eq!(marks["tiers"][0]["right"], 0);
    assert_eq!(marks["undo"][0]["wrong"], 1);
    let again = console.get("/api/v1/samples?tier=near&limit=9");
    let again = again["samples"].as_array().expect("a list");
    let marked = again.iter().find(|it| it["url"] == b).expect("it is drawn");
    assert_eq!(marked["mark"], "wrong");

    let by_host = console.get("/api/v1/not-fetched?by=host");
    assert!(by_host["groups"].is_array(), "{by_host}");
    let command = text(&by_host, "command");
    assert!(
        command.starts_with("gleaner status --not-fetched host"),
        "{command}"
    );
    console.stop();
    // What was said is there when nobody crawls.
    let marks = crawl.ask(&["mark", "--json"]).expect(0).json();
    assert_eq!(marks["undo"][0]["wrong"], 1);
}

/// What the command beside an answer prints.
#[track_caller]
fn told_by(answer: &Value) -> Vec<Value> {
    let mut words = text(answer, "command").split(' ');
    assert_eq!(words.next(), Some("gleaner"));
    let command = crate::run::gleaner(&words.collect::<Vec<_>>());
    run(command).expect(0).json_lines()
}

#[test]
fn the_command_beside_a_list_gives_just_that_list() {
    let crawl = Place::new();
    let (web, _) = show::web();
    show::crawl(&crawl, show::ONE_AT_A_TIME, &web);
    let console = daemon(&crawl, &[]);
    for query in ["sort=visits", "sort=bytes&limit=1&q=127", "q=nothing"] {
        let hosts = console.get(&format!("/api/v1/hosts?{query}"));
        let told = told_by(&hosts);
        assert_eq!(told[0]["hosts"], hosts["hosts"], "{query}");
        assert_eq!(told[0]["total"], hosts["total"], "{query}");
    }
    let hosts = console.get("/api/v1/hosts");
    let name = text(&hosts["hosts"][0], "host");
    let escaped = name.replace(':', "%3A").replace('/', "%2F");
    let story = console.get(&format!("/api/v1/hosts/{escaped}"));
    let told = told_by(&story);
    let rows = told[0]["hosts"].as_array().expect("a list");
    assert!(!rows.is_empty());
    for row in rows.iter().filter(|row| row["host"] == name) {
        assert_eq!(row["visits"], story["visits"]);
        assert_eq!(row["queued"], story["queued"]);
    }
    assert!(rows.iter().any(|row| row["host"] == name), "{told:?}");
    for query in ["", "?tier=near", "?min=2", "?min=900"] {
        let clusters = console.get(&format!("/api/v1/clusters{query}"));
        let mut told = told_by(&clusters);
        for cluster in &mut told {
            let id = cluster["cluster"].take();
            cluster
                .as_object_mut()
                .expect("an object")
                .remove("cluster");
            cluster["id"] = id;
        }
        assert_eq!(json!(told), clusters["clusters"], "{query}");
        for cluster in told {
            let one = console.get(&format!("/api/v1/clusters/{}", cluster["id"]));
            assert_eq!(told_by(&one)[0]["members"], one["members"]);
        }
    }
    // A report of a crawl that runs has every host too.
    let file = crawl.file("report.html", "");
    crawl.ask(&["report", "-o", &file]).expect(0);
    let page = fs::read_to_string(&file).expect("it is written");
    let data = page.split("id=\"data\">").nth(1).expect("it has data");
    let data = data.split("</script>").next().expect("it ends");
    let data: Value = serde_json::from_str(data).expect("it is JSON");
    let hosts = console.get("/api/v1/hosts?sort=visits");
    assert_eq!(data["answers"]["hosts"]["hosts"], hosts["hosts"]);
    console.stop();
}

#[test]
fn every_route_answers_no_stranger() {
    let crawl = Place::new();
    let web = Web::start(vec![linking(&numbered(3)), leaves().robots("")]);
    let path = token_file(&crawl, TOKEN);
    let mut console = daemon(&crawl, &[&web.url(0, "/"), "--token-file", &path]);
    console.token = Some(TOKEN);
    let described = console.get("/openapi.json");
    let paths = described["paths"]
        .as_object()
        .expect("it has paths")
        .clone();
    let before = console.get("/api/v1/config");
    let own = format!("http://{}", console.address);
    let mut guilty = 0;
    for (path, methods) in &paths {
        let is_open = |said: &Value| said["security"] == json!([]);
        let real = path.replace("{host}", "http%3A%2F%2Fa.example");
        let real = real.replace("{id}", "1").replace("{name}", "style.css");
        for (method, said) in methods.as_object().expect("it has methods") {
            let method = method.to_ascii_uppercase();
            // Of what is refused the body does not matter: this one would stop the crawl.
            let body = match method.as_str() {
                "POST" => r#"{"confirm":"stop"}"#,
                _ => "",
            };
            let mut refuse = |headers: &[(&str, &str)], what: &str| {
                guilty += 1;
                let got = console.send(&method, &real, headers, body);
                assert!(
                    (400..500).contains(&got.status),
                    "{method} {path}: {what}: {got:?}"
                );
                assert_ne!(got.status, 404, "{method} {path}: {what}");
                assert!(!text(&got.json()["error"], "message").is_empty());
                let policy = got.headers.get("content-security-policy");
                assert!(policy.is_some_and(|it| it.starts_with("default-src 'none'")));
            };
            refuse(&[("host", "evil.example")], "another host");
            refuse(&[("host", "127.0.0.1.evil.example")], "another host");
            refuse(&[("origin", "http://evil.example")], "another origin");
            refuse(&[("origin", "null")], "no origin");
            refuse(&[("sec-fetch-site", "cross-site")], "another site");
            if !is_open(said) {
                refuse(&[("authorization", "Bearer wrong")], "a wrong token");
                let longer = format!("Bearer {TOKEN}0");
                refuse(&[("authorization", &longer)], "a longer token");
                refuse(&[("authorization", "")], "no token");
            }
            if method == "POST" {
                let form = "application/x-www-form-urlencoded";
                refuse(&[("content-type", form), ("origin", &own)], "a form");
                refuse(&[("content-type", "text/plain")], "a form");
                refuse(&[("content-type", "")], "no type");
                refuse(&[("sec-fetch-site", "same-site")], "a neighbour");
            }
        }
    }
    assert!(guilty > 150, "{guilty}");
    let status = console.status_when_begun();
    assert_eq!(
        (&status["state"], &status["counters"]["seeds"]),
        (&json!("running"), &json!(1))
    );
    assert_eq!(console.get("/api/v1/config"), before);
    // A browser on the page itself, and a proxy that has the name of the machine.
    let browser = [("origin", own.as_str()), ("sec-fetch-site", "same-origin")];
    let got = console.send("POST", "/api/v1/pause", &browser, "{}");
    assert_eq!(got.status, 200);
    console.stop();
}

#[test]
fn a_proxy_may_have_a_name_of_its_own() {
    let crawl = Place::new();
    let web = Web::start(vec![leaves().robots("")]);
    let set = "daemon.hosts=crawl.example.org";
    let console = daemon(&crawl, &[&web.url(0, "/"), "--set", set]);
    let proxied = [
        ("host", "crawl.example.org"),
        ("origin", "https://crawl.example.org"),
        ("sec-fetch-site", "same-origin"),
    ];
    let got = console.send("POST", "/api/v1/pause", &proxied, "{}");
    assert_eq!(got.status, 200);
    let got = console.send(
        "GET",
        "/api/v1/status",
        &[("host", "other.example.org")],
        "",
    );
    assert_eq!(got.status, 403);
    assert!(text(&got.json()["error"], "message").contains("daemon.hosts"));
    console.stop();
}

#[test]
fn what_makes_no_sense_is_said_and_changes_nothing() {
    let crawl = Place::new();
    let web = Web::start(vec![leaves().robots("")]);
    let console = daemon(&crawl, &[&web.url(0, "/")]);
    let check = |method: &str, path: &str, body: &str, status: u16, says: &str| {
        let got = console.send(method, path, &[], body);
        let said = got.json();
        assert_eq!(got.status, status, "{path} {body}: {said}");
        let message = text(&said["error"], "message");
        assert!(message.contains(says), "{path} {body}: {message}");
    };
    check("GET", "/api/v1/nothing", "", 404, "no such path");
    check("PUT", "/api/v1/pause", "{}", 415, "JSON");
    check("GET", "/api/v1/pause", "", 405, "another method");
    check("GET", "/api/v1/why", "", 400, "url");
    check("GET", "/api/v1/why?url=nothing", "", 400, "nothing");
    check("GET", "/api/v1/hosts?sort=size", "", 400, "queue");
    check("GET", "/api/v1/hosts?limit=many", "", 400, "limit");
    check("GET", "/api/v1/hosts?after=x", "", 400, "next");
    check("GET", "/api/v1/hosts?color=red", "", 400, "color");
    check(
        "GET",
        "/api/v1/hosts/example.org",
        "",
        400,
        "https://example.org",
    );
    check(
        "GET",
        "/api/v1/hosts/http%3A%2F%2Fa.example",
        "",
        404,
        "not met",
    );
    check("GET", "/api/v1/clusters/x", "", 400, "no id");
    check("GET", "/api/v1/clusters/7", "", 404, "no cluster");
    check("GET", "/api/v1/clusters?after=zz", "", 400, "next");
    check("GET", "/api/v1/pages?after=0:3", "", 400, "position");
    check("GET", "/api/v1/pages?follow=yes", "", 400, "1 nor 0");
    check("GET", "/api/v1/events?after=x", "", 400, "no id");
    check("GET", "/api/v1/history?res=2s", "", 400, "10s");
    check("POST", "/api/v1/seeds", "", 400, "urls");
    check("POST", "/api/v1/seeds", r#"{"urls":[]}"#, 400, "no seed");
    check(
        "POST",
        "/api/v1/seeds",
        r#"{"urls":["mailto:a@b"]}"#,
        409,
        "mailto",
    );
    check("POST", "/api/v1/seeds", "urls=x", 400, "the body");
    check("POST", "/api/v1/stop", "{}", 400, "confirm");
    check("POST", "/api/v1/stop", r#"{"confirm":"yes"}"#, 400, "stop");
    check(
        "POST",
        "/api/v1/retry",
        r#"{"classes":["all"]}"#,
        400,
        "timeout",
    );
    check("POST", "/api/v1/retry", r#"{"classes":[]}"#, 400, "none");
    let later = r#"{"set":{"fetch.concurrency":"3"}}"#;
    check("POST", "/api/v1/settings", later, 400, "restart");
    let unknown = r#"{"set":{"politeness.dealy":"3s"}}"#;
    check("POST", "/api/v1/settings", unknown, 400, "politeness.delay");
    let both = r#"{"set":{"politeness.delay":"3s","politeness.attempts":"many"}}"#;
    check("POST", "/api/v1/settings", both, 400, "whole number");
    let large = format!(r#"{{"urls":["{}"]}}"#, "x".repeat(5 << 20));
    let mut stream = console.connect();
    let head = format!(
        "POST /api/v1/seeds HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        console.address,
        large.len()
    );
    // It is refused by its length, before it is sent.
    stream.write_all(head.as_bytes()).expect("it reads");
    assert_eq!(answer(stream).status, 413);
    let status = console.status_when_begun();
    assert_eq!(
        (&status["state"], &status["counters"]["seeds"]),
        (&json!("running"), &json!(1))
    );
    let config = console.get("/api/v1/config").to_string();
    assert!(
        config.contains(r#""key":"politeness.delay","live":true,"origin":"--delay","value":"0s""#)
            || config.contains(r#""value":"0s""#),
        "{config}"
    );
    console.stop();
}

#[test]
fn where_it_cannot_listen_is_said_before_anything_is_opened() {
    let crawl = Place::new();
    let check = |arguments: &[&str], code: i32, says: &str| {
        for command in ["daemon", "crawl"] {
            let given = [&[command, "http://127.0.0.1:9/"], arguments].concat();
            run(crawl.gleaner(&given)).expect(code).says(&[says]);
            assert!(!crawl.data().exists(), "nothing was opened");
        }
    };
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = taken.local_addr().expect("it is bound").to_string();
    check(&["--listen", &address], 3, "another process listens there");
    if cfg!(target_os = "linux") {
        let named = format!("(process {})", std::process::id());
        check(&["--listen", &address], 3, &named);
    }
    let socket = crawl.file("nothing", "").replace("nothing", "sock");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("it is free");
    check(
        &["--listen", &format!("unix:{socket}")],
        3,
        "another process",
    );
    let file = crawl.file("file", "");
    check(&["--listen", &format!("unix:{file}")], 3, "no socket");
    for open in ["0.0.0.0:0", "[::]:0"] {
        check(&["--listen", open], 2, "--token-file");
    }
    check(&["--listen", "nowhere"], 2, "no port");
    check(&["--listen", "127.0.0.1:99999"], 2, "65535");
    let here = ["--listen", "127.0.0.1:0", "--token-file"];
    let check_token = |path: &str, says: &str| {
        check(&[&here[..], &[path]].concat(), 2, says);
    };
    check_token("/nowhere", "No such file");
    check_token(&token_file(&crawl, "short"), "32 are needed");
    let readable = crawl.file("readable", TOKEN);
    fs::set_permissions(&readable, fs::Permissions::from_mode(0o640)).expect("it is ours");
    check_token(&readable, "others can read it");
    let bad = ["--listen", "127.0.0.1:0", "--set", "daemon.hosts=https://a"];
    check(&bad, 2, "daemon.hosts");
}

#[test]
fn a_unix_socket_is_its_owners() {
    let crawl = Place::new();
    let web = Web::start(vec![leaves().robots("")]);
    let path = crawl.file("x", "").replace("/x", "/console.sock");
    let listen = format!("unix:{path}");
    let seed = web.url(0, "/");
    let running = Running::start(crawl.gleaner(&["daemon", &seed, "--listen", &listen]));
    running.wait_for_line("accepting seed lists");
    let mode = fs::metadata(&path)
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut stream = UnixStream::connect(&path).expect("it listens");
    stream
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .expect("it reads");
    assert_eq!(answer(stream).json()["ok"], true);
    crawl.ask(&["stop"]).expect(0);
    running.end().expect(0);
    assert!(!std::path::Path::new(&path).exists());
}

/// Who goes on behind the pages that were read, while the daemon is stopped, has read all of the
/// crawl then, each once and in order.
pub(crate) fn misses_none_to_the_end(console: Console, crawl: &Place, mut read: Vec<Value>) {
    let lines = console.pages_behind(&read);
    let reader = std::thread::spawn(move || lines.collect::<Vec<_>>());
    console.stop();
    read.extend(reader.join().expect("readers do not panic"));
    let urls: Vec<&str> = read.iter().map(|it| text(it, "url")).collect();
    let all = crawl.told(&["--no-text"]);
    let all: Vec<&str> = all.iter().map(|it| text(it, "url")).collect();
    assert_eq!(urls, all);
}

#[test]
fn who_follows_pages_misses_none_and_reads_none_twice() {
    let crawl = Place::new();
    let web = Web::start(vec![endless()]);
    let console = daemon(&crawl, &[&web.url(0, "/0")]);
    let mut read: Vec<Value> = Vec::new();
    read.extend(console.follow("/api/v1/pages?follow=1&text=0").take(20));
    // Another goes on behind it, to the end of the run.
    let lines = console.pages_behind(&read);
    let reader = std::thread::spawn(move || lines.collect::<Vec<_>>());
    assert!(web.wait_for_requests(60, PATIENCE));
    console.running.signal(Signal::TERM);
    let told = console.running.end_within(Duration::from_secs(10));
    told.expect(0);
    read.extend(reader.join().expect("readers do not panic"));
    // And on in the next run.
    let console = started(crawl.gleaner(&["daemon"]));
    console.reads_on(&mut read);
    // What is left, to the end of the run: a page may be committed after the pause.
    console.post("/api/v1/pause", &json!({}));
    misses_none_to_the_end(console, &crawl, read);
}

#[test]
fn events_are_told_as_lines_and_to_browsers() {
    let crawl = Place::new();
    let web = Web::start(vec![endless()]);
    let console = daemon(&crawl, &[&web.url(0, "/0")]);
    let follower = console.follow("/api/v1/events?follow=1");
    console.post("/api/v1/pause", &json!({}));
    console.post("/api/v1/resume", &json!({}));
    let kinds = ["pause", "resume"];
    let events: Vec<Value> = follower
        .filter(|it| kinds.contains(&text(it, "kind")))
        .take(2)
        .collect();
    assert_eq!([&events[0]["kind"], &events[1]["kind"]], kinds);
    let id = text(&events[0], "id");
    let behind: Vec<Value> = console
        .follow(&format!("/api/v1/events?after={id}"))
        .collect();
    assert_eq!(behind.first(), Some(&events[1]));
    let missed: Vec<Value> = console.follow("/api/v1/events?after=1").collect();
    assert_eq!(missed[0]["kind"], "missed");
    assert_eq!(missed[0]["after"], "1");
    let accept = [("accept", "text/event-stream")];
    let got = console.send("GET", "/api/v1/events", &accept, "");
    assert_eq!(got.headers["content-type"], "text/event-stream");
    let text = String::from_utf8(got.body).expect("it is text");
    assert!(text.contains(&format!("id: {id}\ndata: {{")), "{text}");
    console.stop();
}
