//! How a test runs gleaner, and how it reads what gleaner wrote. No test sleeps: it waits for the
//! end of the process, a line of its output or a request at the web, and fails after [`PATIENCE`].

// Each test binary uses its part of it.
#![allow(dead_code, unused_imports)]

#[path = "left.rs"]
mod left;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Lines, PipeReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use gleaner::archive::ReadRecord;
use gleaner::engine::{LogLine, Status};
use rustix::process::{Pid, Signal};
use serde_json::Value;
use tempfile::TempDir;

use crate::web::{Answer, Site};

pub(crate) use left::*;

/// What takes this long hangs. Far longer than any wait of a test that passes, so that none fails
/// because a machine is slow or busy.
pub(crate) const PATIENCE: Duration = Duration::from_mins(10);

/// Exit code of a crawl that came to its end and has seeds that gave nothing.
pub(crate) const LOST: i32 = 6;

/// How a process ended, and what it said.
#[derive(Debug)]
pub(crate) struct Output {
    /// Exit code; 128 and the signal's number if a signal ended it, as shells say it.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Output {
    /// Checks the exit code and shows what the process said if it is another.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }

    /// Checks that standard error has all of these.
    #[track_caller]
    pub(crate) fn says(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.stderr.contains(part), "no {part:?} in {self:#?}");
        }
        self
    }

    /// Standard output as one JSON value.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// Standard output as a JSON value a line.
    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        let value = |line| serde_json::from_str(line).unwrap_or_else(|it| panic!("{it}: {line}"));
        self.stdout.lines().map(value).collect()
    }
}

/// The variable that names a directory in which what each process says is kept, as what they write
/// is where it was: to look into what went wrong in a test of many.
const KEPT: &str = "TEST_LOGS";

/// The variable that fixes the seed of fingerprints.
pub(crate) const SEED: &str = "GLEANER_DEDUP_SEED";

/// The binary under test, without anything of this process's environment that could change it.
pub(crate) fn gleaner<S: AsRef<OsStr>>(arguments: &[S]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gleaner"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GLEANER_") {
            command.env_remove(name);
        }
    }
    // The same pages are judged alike by each run of a test.
    let crawls = arguments.first().and_then(|it| it.as_ref().to_str());
    if matches!(crawls, Some("crawl" | "daemon")) {
        command.env(SEED, "0");
    }
    command.args(arguments);
    prepared(command)
}

/// A command that reads nothing, and whose output is read without colours.
pub(crate) fn prepared(mut command: Command) -> Command {
    command
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs a command to its end.
#[track_caller]
pub(crate) fn run(command: Command) -> Output {
    Running::start(command).end()
}

/// A process that is running; killed when it is dropped before its end.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
    /// Taken by the end only.
    readers: Option<[JoinHandle<String>; 2]>,
}

impl Running {
    /// Starts a command; its standard error must be piped.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.spawn().expect("the command is there");
        let (sender, lines) = channel();
        let stdout = child.stdout.take();
        let stderr = child.stderr.take().expect("it is piped");
        let kept = kept(child.id());
        Self {
            child,
            lines,
            readers: Some([
                thread::spawn(move || stdout.map(read_text).unwrap_or_default()),
                thread::spawn(move || read_lines(stderr, kept, &sender)),
            ]),
        }
    }

    /// The process.
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Whether the process has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        let ended = self.child.try_wait().expect("it is a child");
        ended.is_some()
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        rustix::process::kill_process(self.pid(), signal).expect("the process is not reaped yet");
    }

    /// Whether it has ended; then it takes no signals.
    pub(crate) fn is_over(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// Waits until standard error has a line with this.
    #[track_caller]
    pub(crate) fn wait_for_line(&self, part: &str) {
        assert!(self.says_before_its_end(part), "no line with {part:?}");
    }

    /// Waits for the line of standard error with this, and returns it.
    #[track_caller]
    pub(crate) fn line_with(&self, part: &str) -> String {
        let found = self.line_before_its_end(part);
        found.unwrap_or_else(|| panic!("no line with {part:?}"))
    }

    /// Waits until standard error has a line with this, or has ended.
    #[track_caller]
    pub(crate) fn says_before_its_end(&self, part: &str) -> bool {
        self.line_before_its_end(part).is_some()
    }

    #[track_caller]
    fn line_before_its_end(&self, part: &str) -> Option<String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) if line.contains(part) => return Some(line),
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => panic!("no line with {part:?} in {PATIENCE:?}"),
            }
        }
    }

    /// Waits for the end.
    #[track_caller]
    pub(crate) fn end(self) -> Output {
        self.end_within(PATIENCE)
    }

    /// Waits for the end, at most so long.
    #[track_caller]
    pub(crate) fn end_within(mut self, patience: Duration) -> Output {
        let deadline = Instant::now() + patience;
        let mut said = String::new();
        // The end of standard error is the end of the process: it has no children.
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => said.extend([&line, "\n"]),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("still running after {patience:?}, and said: {said}")
                }
            }
        }
        let status = self.child.wait().expect("it was not waited for before");
        let [stdout, stderr] = self
            .readers
            .take()
            .expect("taken here only")
            .map(|reader| reader.join().expect("readers do not panic"));
        Output {
            code: code(status),
            stdout,
            stderr,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    status
        .code()
        .or(status.signal().map(|signal| 128 + signal))
        .expect("it ended by itself or by a signal")
}

fn read_text(mut from: impl Read) -> String {
    let mut bytes = Vec::new();
    let _ = from.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A directory for what processes write, which stays where [`KEPT`] asks for what they say.
pub(crate) fn directory() -> TempDir {
    let mut directory = tempfile::tempdir().expect("there is a directory for temporary files");
    directory.disable_cleanup(std::env::var_os(KEPT).is_some());
    directory
}

/// A file for what a process says, if [`KEPT`] asks for it.
fn kept(process: u32) -> Option<File> {
    let path = Path::new(&std::env::var_os(KEPT)?).join(format!("{process}.log"));
    Some(File::create(path).expect("the directory is there"))
}

fn read_lines(from: impl Read, mut kept: Option<File>, lines: &Sender<String>) -> String {
    let mut text = String::new();
    for line in BufReader::new(from).lines().map_while(Result::ok) {
        if let Some(kept) = &mut kept {
            writeln!(kept, "{line}").expect("whoever asked for it has made room");
        }
        text.push_str(&line);
        text.push('\n');
        let _ = lines.send(line);
    }
    text
}

/// A place for one crawl: its data directory, and files beside it.
pub(crate) struct Place {
    directory: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            directory: directory(),
        }
    }

    /// A file beside the data directory.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.directory.path().join(name);
        fs::write(&path, text).expect("the directory is ours");
        path.to_str().expect("temporary paths are ASCII").to_owned()
    }

    /// The data directory.
    pub(crate) fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// `gleaner crawl` on the data directory, without any delay unless the test asks for one.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = gleaner(&["crawl"]);
        command.args(arguments).arg("--data-dir").arg(self.data());
        let sets_seed = |file: &&str| {
            fs::read_to_string(file).is_ok_and(|settings| settings.contains("seed = "))
        };
        if arguments.iter().any(sets_seed) {
            command.env_remove(SEED);
        }
        if !arguments.contains(&"--delay") {
            command.args(["--delay", "0s"]);
        }
        command
    }

    /// Crawls and expects it to end well.
    #[track_caller]
    pub(crate) fn crawl(&self, arguments: &[&str]) -> Output {
        run(self.command(arguments)).expect(0)
    }

    /// Crawls with these settings and expects it to end well.
    #[track_caller]
    pub(crate) fn crawl_by(&self, settings: &str, arguments: &[&str]) -> Output {
        let file = self.file("settings.toml", settings);
        self.crawl(&[arguments, &["--config", &file]].concat())
    }

    /// The same for a crawl that comes to its end and has seeds that gave nothing.
    #[track_caller]
    pub(crate) fn crawl_with_losses(&self, settings: &str, arguments: &[&str]) -> Output {
        let file = self.file("settings.toml", settings);
        let arguments = [arguments, &["--config", &file]].concat();
        run(self.command(&arguments)).expect(LOST)
    }

    /// A command about the crawl: gleaner with these arguments and the data directory.
    pub(crate) fn gleaner(&self, arguments: &[&str]) -> Command {
        let mut command = gleaner(arguments);
        command.arg("--data-dir").arg(self.data());
        command
    }

    /// Runs a command about the crawl.
    #[track_caller]
    pub(crate) fn ask(&self, arguments: &[&str]) -> Output {
        run(self.gleaner(arguments))
    }

    /// What `gleaner pages` prints, a page a line.
    #[track_caller]
    pub(crate) fn told(&self, arguments: &[&str]) -> Vec<Value> {
        let output = self.ask(&[&["pages"], arguments].concat()).expect(0);
        assert_eq!(output.stderr, "");
        output.json_lines()
    }

    /// Begins `gleaner pages --follow`.
    pub(crate) fn follow(&self, arguments: &[&str]) -> Follower {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let mut command = self.gleaner(&[&["pages", "--follow"], arguments].concat());
        command.stdout(writer);
        Follower {
            running: Running::start(command),
            lines: BufReader::new(reader).lines(),
        }
    }

    /// Begins `gleaner daemon` with these settings.
    pub(crate) fn daemon_by(&self, settings: &str, arguments: &[&str]) -> Running {
        let file = self.file("settings.toml", settings);
        let arguments = [&["daemon"], arguments, &["--config", &file]].concat();
        Running::start(self.gleaner(&arguments))
    }

    /// Begins a crawl.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        Running::start(self.command(arguments))
    }

    /// What `gleaner status --json` says.
    #[track_caller]
    pub(crate) fn status(&self) -> Status {
        let mut command = gleaner(&["status", "--json", "--data-dir"]);
        command.arg(self.data());
        let output = run(command).expect(0);
        serde_json::from_str(&output.stdout).expect("status prints one JSON object")
    }

    /// Links of which admission said this.
    #[track_caller]
    pub(crate) fn links(&self, why: &str) -> u64 {
        let links = self.status().counters.links;
        links.get(why).copied().unwrap_or(0)
    }

    /// Every line of the fetch log, in order.
    pub(crate) fn log(&self) -> Vec<LogLine> {
        log(&self.data())
    }

    /// The lines that are about pages that were answered, by URL; each URL must have one.
    #[track_caller]
    pub(crate) fn pages(&self) -> BTreeMap<String, LogLine> {
        pages(&self.data())
    }

    /// The first file of the archive of pages.
    #[track_caller]
    pub(crate) fn warc(&self) -> PathBuf {
        let mut files = warcs(&self.data()).into_iter();
        files.next().expect("the archive has a file")
    }

    /// The first file of the archive of texts.
    #[track_caller]
    pub(crate) fn texts(&self) -> PathBuf {
        let mut files = texts(&self.data()).into_iter();
        files.next().expect("the archive of texts has a file")
    }

    /// Every record of the archive, in order, after it was checked.
    #[track_caller]
    pub(crate) fn records(&self) -> Vec<ReadRecord> {
        records(&self.data())
    }
}

/// `gleaner pages --follow`, whose lines can be waited for.
pub(crate) struct Follower {
    pub(crate) running: Running,
    pub(crate) lines: Lines<BufReader<PipeReader>>,
}

impl Iterator for Follower {
    type Item = String;

    /// The URL of the next page. Waits for it.
    fn next(&mut self) -> Option<String> {
        let line = self.lines.next()?.expect("its output is text");
        let page: Value = serde_json::from_str(&line).expect("each line is an object");
        Some(text(&page, "url").to_owned())
    }
}

/// A text of a JSON object.
#[track_caller]
pub(crate) fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    let text = object[key].as_str();
    text.unwrap_or_else(|| panic!("no text {key} in {object}"))
}

/// A body that is a page: a title, a paragraph of its own, links.
pub(crate) fn page(name: &str, links: &[&str]) -> String {
    format!(
        "<!doctype html><html><head><title>{name}</title></head><body>\
         <p>{name} has a text of its own: {name}.</p>{}</body></html>",
        anchors(links)
    )
}

/// A host whose `/` links to these, and whose every other path is a page that links nowhere.
pub(crate) fn linking<S: AsRef<str>>(links: &[S]) -> Site {
    let links: Vec<&str> = links.iter().map(AsRef::as_ref).collect();
    leaves().page("/", Answer::html(page("home", &links)))
}

/// A host whose every path is a page that links nowhere.
pub(crate) fn leaves() -> Site {
    Site::new().otherwise(|request| Answer::html(page(&request.path, &[])))
}

/// The paths `/0`, `/1` and so on.
pub(crate) fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("/{number}")).collect()
}

/// Links to these targets.
pub(crate) fn anchors(targets: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let mut html = String::new();
    for target in targets {
        let target = target.as_ref();
        html.extend(["<a href=\"", target, "\">to ", target, "</a> "]);
    }
    html
}
