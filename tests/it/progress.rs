//! What gleaner says while it crawls, and at the end: the line on a terminal, which is seen through
//! a pseudo-terminal and a small terminal emulator; plain lines elsewhere; the summary.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::Value;

use crate::run::{Output, PATIENCE, Place, gleaner, leaves, linking, numbered, page, run, text};
use crate::web::{Answer, Web};

/// Wide enough that no log line is broken in two.
const WIDTH: u16 = 2_000;

/// A process whose standard error is a terminal; killed when dropped before its end.
struct OnTerminal {
    child: Child,
    chunks: Receiver<Vec<u8>>,
    width: u16,
    /// Everything that the terminal got.
    got: Vec<u8>,
}

/// How it ended.
struct Ended {
    code: Option<i32>,
    /// What is left on the terminal.
    rows: Vec<String>,
    /// Everything that the terminal got.
    got: Vec<u8>,
    stdout: String,
}

impl OnTerminal {
    fn start(mut command: Command, width: u16) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("Unix has them");
        grantpt(&master).expect("it is ours");
        unlockpt(&master).expect("it is ours");
        let size = Winsize {
            ws_row: 50,
            ws_col: width,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size).expect("it is a terminal");
        let name = ptsname(&master, Vec::new()).expect("it is a terminal");
        let flags = OFlags::RDWR | OFlags::NOCTTY;
        let terminal = rustix::fs::open(name, flags, Mode::empty()).expect("it is unlocked");
        command.env("TERM", "xterm").stderr(terminal);
        let child = command.spawn().expect("the command is there");
        // With the command goes our handle of the terminal: reading ends when the process does.
        drop(command);
        let (sender, chunks) = channel();
        let mut master = File::from(master);
        thread::spawn(move || {
            let mut buffer = [0; 4_096];
            // The end of a terminal is an error on Linux, and nothing elsewhere.
            while let Ok(length @ 1..) = master.read(&mut buffer) {
                if sender.send(buffer[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            chunks,
            width,
            got: Vec::new(),
        }
    }

    /// What stands on the terminal.
    fn screen(&self) -> Vec<String> {
        emulate(&String::from_utf8_lossy(&self.got), self.width)
    }

    /// Waits until a row of the terminal has all of these.
    #[track_caller]
    fn wait_for(&mut self, parts: &[&str]) {
        let has_all = |row: &String| parts.iter().all(|part| row.contains(part));
        self.wait_until(|rows| rows.iter().any(has_all));
    }

    /// Waits until these rows stand on the terminal: at any other moment one may be half written.
    #[track_caller]
    fn wait_until(&mut self, is_there: impl Fn(&[String]) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_there(&self.screen()) {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.chunks.recv_timeout(left) {
                Ok(chunk) => self.got.extend(chunk),
                Err(error) => panic!("{error}; {:#?}", self.screen()),
            }
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it is not reaped yet");
    }

    /// Waits for the end.
    #[track_caller]
    fn end(mut self) -> Ended {
        let deadline = Instant::now() + PATIENCE;
        while let Ok(chunk) = self
            .chunks
            .recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            self.got.extend(chunk);
        }
        assert!(Instant::now() < deadline, "{:#?}", self.screen());
        let mut stdout = String::new();
        if let Some(mut pipe) = self.child.stdout.take() {
            pipe.read_to_string(&mut stdout).expect("output is text");
        }
        let status = self.child.wait().expect("it was not waited for before");
        Ended {
            code: status.code(),
            rows: self.screen(),
            got: std::mem::take(&mut self.got),
            stdout,
        }
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The rows of a terminal that got this, without those that are empty. Knows what a progress line
/// needs: carriage return, line feed, cursor movements, erasing; and that the letter after the last
/// column goes to the next row.
fn emulate(text: &str, width: u16) -> Vec<String> {
    let mut rows: Vec<Vec<char>> = vec![Vec::new()];
    let (mut row, mut column) = (0_usize, 0_usize);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\r' => column = 0,
            '\n' => row += 1,
            '\x1b' => {
                assert_eq!(letters.next().unwrap_or('['), '[', "{text:?}");
                let mut number = String::new();
                let end = letters.find(|letter| {
                    number.push(*letter);
                    letter.is_ascii_alphabetic()
                });
                number.pop();
                let count = number.parse().unwrap_or(1);
                match end {
                    Some('A') => row = row.saturating_sub(count),
                    Some('B') => row += count,
                    Some('C') => column += count,
                    Some('D') => column = column.saturating_sub(count),
                    Some('K') if number == "2" => rows[row].clear(),
                    Some('K') => rows[row].truncate(column),
                    Some('J') => {
                        rows[row].truncate(column);
                        rows.truncate(row + 1);
                    }
                    // The text is not whole yet.
                    None => {}
                    Some(other) => panic!("CSI {number}{other} in {text:?}"),
                }
            }
            letter => {
                if column >= usize::from(width) {
                    (row, column) = (row + 1, 0);
                    rows.resize(rows.len().max(row + 1), Vec::new());
                }
                if rows[row].len() <= column {
                    rows[row].resize(column + 1, ' ');
                }
                rows[row][column] = letter;
                column += 1;
            }
        }
        if rows.len() <= row {
            rows.resize(row + 1, Vec::new());
        }
    }
    rows.iter()
        .map(|row| row.iter().collect::<String>().trim_end().to_owned())
        .filter(|row| !row.is_empty())
        .collect()
}

#[test]
fn the_emulator_is_a_terminal() {
    assert_eq!(emulate("one\r\ntwo", 4), ["one", "two"]);
    assert_eq!(emulate("long\rab", 4), ["abng"]);
    assert_eq!(emulate("long\r\x1b[2Kab", 4), ["ab"]);
    assert_eq!(emulate("a\r\nb\x1b[1A\r\x1b[2Kc", 4), ["c", "b"]);
    assert_eq!(emulate("gone\r\x1b[K", 4), [""; 0]);
    assert_eq!(emulate("longer", 4), ["long", "er"]);
    assert_eq!(emulate("long\r\nnext", 4), ["long", "next"]);
}

/// A crawl on a terminal of a host whose answers after the first page are held.
fn held(crawl: &Place, arguments: &[&str]) -> (Web, OnTerminal) {
    let web = Web::start(vec![linking(&["/1", "/2"]).robots("")]);
    web.hold_after(2);
    let mut command = crawl.command(&[&web.url(0, "/")]);
    command.args(arguments);
    let terminal = OnTerminal::start(command, WIDTH);
    (web, terminal)
}

#[test]
fn the_progress_line_is_updated_and_cleared() {
    let crawl = Place::new();
    let (web, mut terminal) = held(&crawl, &[]);
    // Below what was said before.
    terminal.wait_until(|rows| {
        let [said, done, found] = rows else {
            return false;
        };
        said == "seeds: 1 new"
            && done.contains(" 1 page, ")
            && done.ends_with(" B, 2 queued, 1 host, limit: visits")
            && found == "  0 duplicates, 0 failed"
    });
    // What waits for its answer gets it; the next one waits.
    web.hold_after(0);
    terminal.wait_for(&["2 pages, ", "1 queued", "limit: in-progress"]);
    web.release();
    let Ended {
        code, rows, stdout, ..
    } = terminal.end();
    assert_eq!(code, Some(0));
    assert_eq!(rows, ["seeds: 1 new"]);
    assert!(stdout.starts_with("ended after "), "{stdout}");
}

#[test]
fn a_narrow_terminal_gets_no_more_rows() {
    let crawl = Place::new();
    let web = Web::start(vec![linking(&["/1", "/2"]).robots("")]);
    web.hold_after(2);
    let terminal = crawl.command(&[&web.url(0, "/")]);
    let mut terminal = OnTerminal::start(terminal, 30);
    terminal.wait_until(|rows| {
        rows.len() == 3 && rows[1].contains(" 1 page, ") && rows[2] == "  0 duplicates, 0 failed"
    });
    web.release();
    assert_eq!(terminal.end().rows, ["seeds: 1 new"]);
}

#[test]
fn log_lines_and_an_interrupt_leave_no_trace_of_the_progress_line() {
    let crawl = Place::new();
    let (_web, mut terminal) = held(&crawl, &["--log", "gleaner=debug"]);
    terminal.wait_for(&["1 page, "]);
    terminal.signal(Signal::INT);
    terminal.wait_for(&["limit: ending"]);
    let Ended { code, rows, .. } = terminal.end();
    assert_eq!(code, Some(0));
    let mut visits = 0;
    for row in &rows {
        // Names of modules stand where details are asked for.
        let is_log_line = row.starts_with("20") && row.contains(" gleaner::");
        let is_message = row == "seeds: 1 new" || row.starts_with("stopping: ");
        assert!(is_log_line || is_message, "{row:?} in {rows:#?}");
        visits += usize::from(row.contains(": visit "));
    }
    // robots.txt and the first page, at least: each in a row of its own.
    assert!(visits >= 2, "{rows:#?}");
}

#[test]
fn a_second_interrupt_clears_the_line_too() {
    let crawl = Place::new();
    let (_web, mut terminal) = held(&crawl, &[]);
    terminal.wait_for(&["1 page, "]);
    terminal.signal(Signal::INT);
    terminal.wait_for(&["stopping: "]);
    terminal.signal(Signal::INT);
    let Ended { code, rows, .. } = terminal.end();
    assert_eq!(code, Some(130));
    assert_eq!(rows.len(), 2, "{rows:#?}");
    assert!(rows[1].starts_with("stopping: "), "{rows:#?}");
}

#[test]
fn an_error_stands_where_the_line_was() {
    let crawl = Place::new();
    let (_web, mut terminal) = held(&crawl, &["--log", "off"]);
    terminal.wait_for(&["1 page, "]);
    let moved = crawl.data().with_extension("moved");
    fs::rename(crawl.data(), moved).expect("both are ours");
    terminal.signal(Signal::INT);
    let Ended {
        code, rows, stdout, ..
    } = terminal.end();
    assert_eq!((code, &*stdout), (Some(1), ""), "{rows:#?}");
    assert_eq!(rows.len(), 3, "{rows:#?}");
    assert!(rows[1].starts_with("stopping: "), "{rows:#?}");
    assert!(rows[2].starts_with("error: "), "{rows:#?}");
}

#[test]
fn quiet_shows_no_line() {
    let crawl = Place::new();
    let (web, terminal) = held(&crawl, &["--quiet"]);
    // By now the line would have been there.
    assert!(web.wait_for_requests(3, PATIENCE));
    web.release();
    let ended = terminal.end();
    assert_eq!(ended.code, Some(0));
    assert_eq!(String::from_utf8_lossy(&ended.got), "");
}

/// Crawls with these arguments and all answers after the first `answered` held, until the line
/// says what limits it.
#[track_caller]
fn check_limit(sites: usize, answered: usize, arguments: &[&str], expected: &str) {
    let crawl = Place::new();
    let site = |_| linking(&numbered(40)).robots("");
    let web = Web::start((0..sites).map(site).collect());
    web.hold_after(answered);
    let seeds: Vec<String> = (0..sites).map(|host| web.url(host, "/")).collect();
    let mut all: Vec<&str> = seeds.iter().map(String::as_str).collect();
    all.extend(arguments);
    let mut terminal = OnTerminal::start(crawl.command(&all), WIDTH);
    terminal.wait_for(&["limit: ", expected]);
}

#[test]
fn what_limits_a_crawl_is_told() {
    // robots.txt is a visit: the page waits for the delay after it.
    check_limit(1, 1, &["--delay", "30m"], "limit: politeness");
    check_limit(2, 0, &["--concurrency", "1"], "limit: concurrency");
    check_limit(1, usize::MAX / 2, &["--max-rate", "1"], "limit: rate");
    check_limit(1, 4, &[], "limit: visits");
    check_limit(1, 2, &["--max-pages", "2"], "limit: in-progress");
}

#[test]
fn elsewhere_a_short_crawl_has_no_progress() {
    let crawl = Place::new();
    let web = Web::start(vec![linking(&["/1"]).robots("")]);
    let output = crawl.crawl(&[&web.url(0, "/")]);
    assert_eq!(output.stderr, "seeds: 1 new\n");
}

#[test]
fn elsewhere_a_long_crawl_says_a_line_now_and_then() {
    let crawl = Place::new();
    let web = Web::start(vec![linking(&["/1", "/2"]).robots("")]);
    web.hold_after(2);
    let interval = ["--log", "off", "--progress-interval", "200ms"];
    let running = crawl.start(&[&[&*web.url(0, "/")], &interval[..]].concat());
    running.wait_for_line("1 page, ");
    running.wait_for_line(" 2 queued, 1 host, limit: visits, 0 duplicates, 0 failed");
    web.release();
    let output = running.end().expect(0);
    // Opening a crawl may take longer than the interval: a line may come before the seeds.
    let (progress, others): (Vec<&str>, Vec<&str>) = output
        .stderr
        .lines()
        .partition(|line| line.ends_with(" 0 duplicates, 0 failed"));
    assert!(progress.len() >= 2, "{output:?}");
    assert_eq!(others, ["seeds: 1 new"], "{output:?}");
    assert!(!output.stderr.contains(['\x1b', '\r']), "{output:?}");
}

#[test]
fn quiet_leaves_errors_and_hints() {
    let crawl = Place::new();
    let web = Web::start(vec![linking(&["/1"]).robots("")]);
    let seed = web.url(0, "/");
    let output = crawl.crawl(&[&seed, "--quiet", "--robots", "ignore"]);
    assert_eq!(output.stderr, "");
    assert!(output.stdout.starts_with("ended after "), "{output:?}");
    let output = crawl.crawl(&["-q"]);
    assert_eq!(output.stderr.lines().count(), 1, "{output:?}");
    assert!(output.stderr.starts_with("hint: "), "{output:?}");
    let wrong = run(crawl.command(&["gopher://127.0.0.1/", "--quiet"])).expect(2);
    assert!(wrong.stderr.starts_with("error: "), "{wrong:?}");
}

#[test]
fn the_summary_is_one_json_object_on_request() {
    let crawl = Place::new();
    let large = format!("{}{}", page("large", &[]), "<!-- filling -->".repeat(1_000));
    let web = Web::start(vec![
        linking(&["/1", "/2"]).robots(""),
        leaves().robots("").page("/", Answer::html(large)),
    ]);
    let output = crawl.crawl(&[&web.url(0, "/"), &web.url(1, "/"), "--json"]);
    assert_eq!(output.stdout.lines().count(), 1);
    let summary = output.json();
    assert_eq!(summary["ending"], "drained");
    assert_eq!(summary["pages"], 4);
    let seconds = summary["seconds"].as_f64().expect("a number");
    let speed = summary["pages_per_second"].as_f64().expect("a number");
    assert!((speed * seconds - 4.0).abs() < 0.01, "{summary:#}");
    let counters = serde_json::to_value(crawl.status().counters).expect("a plain struct");
    assert_eq!(summary["counters"], counters);
    let (slowest, largest) = (&summary["slowest"], &summary["largest"]);
    assert_eq!(slowest.as_array().map(Vec::len), Some(2));
    assert_eq!(largest[0]["host"], web.url(1, "").as_str());
    // The page and an empty robots.txt.
    assert_eq!(largest[0]["answers"], 2);
    assert!(largest[0]["bytes"].as_u64() > Some(16_000), "{summary:#}");
    assert_eq!(largest[1]["answers"], 4);
    assert!(slowest[0]["mean_ms"].as_u64() >= slowest[1]["mean_ms"].as_u64());

    // A run that finds nothing to do says so in the same form.
    let output = crawl.crawl(&["--json"]);
    let again = output.json();
    assert_eq!(again["ending"], "drained");
    assert_eq!(again["pages"], 0);
    assert_eq!(again["largest"], Value::Array(Vec::new()));
    assert_eq!(again["counters"], counters);
}

#[test]
fn the_summary_names_the_hosts_of_the_crawl() {
    let crawl = Place::new();
    // A host that takes less than a millisecond is not worth a line.
    let slow = Answer::html(page("one", &[])).after(Duration::from_millis(20));
    let web = Web::start(vec![linking(&["/1"]).robots("").page("/1", slow)]);
    let output = crawl.crawl(&[&web.url(0, "/")]);
    let row = |name: &str| {
        let row = output.stdout.lines().find(|line| line.starts_with(name));
        row.unwrap_or_else(|| panic!("no {name} in {output:?}"))
    };
    assert!(row("pages/s").ends_with("  (2 pages in this run)"));
    let host = format!("  {}  (3 answers)", web.url(0, ""));
    assert!(row("slowest").ends_with(&format!("  ms{host}")));
    assert!(row("largest").ends_with(&format!("  bytes{host}")));
}

#[test]
fn log_lines_are_json_on_request() {
    let crawl = Place::new();
    let web = Web::start(vec![linking(&["/1"]).robots("")]);
    let seed = web.url(0, "/");
    let log = ["--quiet", "--log", "gleaner=debug", "--log-format", "json"];
    let output = crawl.crawl(&[&[&*seed], &log[..]].concat());
    let line = |line| serde_json::from_str(line).expect("each line is an object");
    let lines: Vec<Value> = output.stderr.lines().map(line).collect();
    let visit = lines.iter().find(|line| line["url"] == seed.as_str());
    let visit = visit.unwrap_or_else(|| panic!("no visit in {lines:#?}"));
    assert_eq!(visit["level"], "DEBUG");
    assert_eq!(visit["message"], "visit");
    assert_eq!(visit["status"], 200);
}

/// A pipe that nobody reads.
fn closed_pipe() -> Stdio {
    let (_, writer) = io::pipe().expect("there are pipes");
    Stdio::from(writer.as_fd().try_clone_to_owned().expect("it is open"))
}

#[test]
fn closed_pipes_do_not_disturb_a_crawl() {
    for form in ["--json", "--quiet"] {
        let crawl = Place::new();
        let web = Web::start(vec![linking(&["/1"]).robots("")]);
        let mut command = crawl.command(&[&web.url(0, "/"), form, "--log", "debug"]);
        command.stdout(closed_pipe()).stderr(closed_pipe());
        let status = command.status().expect("the command is there");
        assert_eq!(status.code(), Some(0), "{form}");
        assert_eq!(crawl.status().counters.pages, 2);
    }
}

/// With `--log-format json`, a program that reads standard error meets JSON only: messages,
/// progress, warnings and errors, of a command line that is wrong, too.
#[test]
fn every_line_on_standard_error_is_json_if_that_is_asked_for() {
    let web = Web::start(vec![linking(&numbered(3))]);
    let crawl = Place::new();
    let json = ["--log-format", "json"];
    let told = |output: Output, expected: &[(&str, &str)]| {
        let lines: Vec<Value> = (output.stderr.lines())
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")))
            .collect();
        for (level, part) in expected {
            let is_it =
                |line: &Value| line["level"] == *level && text(line, "message").contains(part);
            assert!(lines.iter().any(is_it), "{level} {part}: {lines:?}");
        }
    };
    let seed = web.url(0, "/");
    let arguments = [
        &[&*seed, "--log", "info", "--progress-interval", "1ms"],
        &json[..],
    ]
    .concat();
    let expected = [
        ("INFO", "seeds: 1 new"),
        ("INFO", "new host"),
        ("INFO", "robots.txt"),
        ("INFO", "checkpoint"),
        ("INFO", "queued"),
    ];
    told(run(crawl.command(&arguments)).expect(0), &expected);
    told(
        crawl
            .ask(&[&["pages", "--after", "9:9"], &json[..]].concat())
            .expect(2),
        &[("ERROR", "9:9")],
    );
    let wrong = [&["crawl", "--no-such-flag"], &json[..]].concat();
    told(
        run(gleaner(&wrong)).expect(2),
        &[("ERROR", "--no-such-flag")],
    );
    let filter = [
        &["status", "--data-dir", "/nowhere", "--log", "a=b=c"],
        &json[..],
    ]
    .concat();
    told(
        run(gleaner(&filter)).expect(2),
        &[("ERROR", "--log"), ("INFO", "hint: ")],
    );
}

/// A command that reads much shows how much on a terminal, beside data that goes elsewhere, and
/// leaves nothing there. Where standard error is no terminal nothing is said.
#[test]
fn commands_that_read_much_show_how_much_on_a_terminal() {
    let words = "as many words as a page has ".repeat(20);
    let line =
        |n: usize| format!("{{\"id\":{n},\"text\":\"{n} {words}\",\"html\":\"<p>{n} {words}\"}}\n");
    // More than is read at once, so that some are told while others are waited for.
    let lines: String = (0..2_000).map(line).collect();
    for (command, things) in [("dedup", "documents"), ("extract", "pages")] {
        let (reader, mut writer) = io::pipe().expect("a pipe");
        let mut command = gleaner(&[command, "--jsonl", "-"]);
        command.stdin(reader).stdout(Stdio::null());
        let mut shown = OnTerminal::start(command, 80);
        writer.write_all(lines.as_bytes()).expect("it reads");
        shown.wait_until(|rows| {
            let count = |row: &String| row.split(' ').nth(1)?.replace(',', "").parse::<u32>().ok();
            let is_it = |row: &String| row.contains(things) && count(row) > Some(100);
            rows.iter().any(is_it)
        });
        drop(writer);
        let ended = shown.end();
        assert_eq!((ended.code, ended.rows), (Some(0), Vec::new()));
    }
    let place = Place::new();
    let file = place.file("lines.jsonl", &lines);
    let quiet = run(gleaner(&["extract", "--jsonl", &file])).expect(0);
    assert_eq!((&*quiet.stderr, quiet.stdout.lines().count()), ("", 2_000));
}
