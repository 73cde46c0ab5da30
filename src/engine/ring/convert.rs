//! Converters: commands of the user's that make text or HTML of what gleaner cannot read, such as
//! PDF and office files.
//!
//! A command gets the body on its standard input and answers on its standard output. It runs with a
//! limit of time, of memory and of output, in a group of its own that is killed as a whole, with
//! an environment that says nothing of the crawl, and, where the system lets an ordinary user do
//! that, without a network and with all that it starts in namespaces that end with it. It runs in
//! the analyst that reads the page, so there are at most as many as cores.
//!
//! Whatever a converter does, the visit goes on: without a text, with a note that says why.

use std::collections::VecDeque;
use std::io::{Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Instant;

use bytes::Bytes;
use rustix::process::{Pid, Signal, kill_process_group};

use super::converter::{ConvertOptions, Converter, Limits, PATH};
use crate::fetch;

/// Number of bytes of what a converter says that are kept: the last ones say what failed.
const SAID: usize = 500;

/// How the note begins that says why a converter failed.
pub(crate) const CONVERTER_NOTE: &str = "converter: ";

/// How programs are started so that they, and all that they start, end with us and see no network.
const APART: [&str; 7] = [
    "unshare",
    "--user",
    "--net",
    "--pid",
    "--fork",
    "--kill-child",
    "--",
];

/// The shell sets the limits before the program begins: KiB of memory, seconds of processor.
const LIMITED: &str = "ulimit -v \"$1\" && ulimit -t \"$2\" && shift 2 && exec \"$@\"";

/// Media types that have a text which only a converter finds, and the beginnings of more.
const DOCUMENTS: [&str; 8] = [
    "application/pdf",
    "application/rtf",
    "application/msword",
    "application/epub+zip",
    "application/postscript",
    "application/vnd.ms-",
    "application/vnd.openxmlformats-officedocument.",
    "application/vnd.oasis.opendocument.",
];

/// What became of a body that is neither HTML nor text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Conversion {
    /// It has no text, or needs no converter.
    #[default]
    None,
    /// It is a document, and there is no converter for it.
    Wanted,
    /// A converter has made text of it.
    Done,
    /// A converter has failed.
    Failed,
}

/// Runs converters. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Converters(Arc<ConvertOptions>);

/// What a converter has made of a body.
pub(crate) enum Converted {
    /// Text or HTML.
    Text(Bytes),
    /// Nothing, for this reason.
    Failed(String),
    /// It was not run: there is none. Whether one could find a text.
    Without(bool),
}

impl Converters {
    pub(crate) fn new(options: &ConvertOptions) -> Self {
        if !options.commands.is_empty() && !can_be_apart() {
            tracing::warn!(
                "converters can reach the network: this system does not let `unshare` take it from them"
            );
        }
        Self(Arc::new(options.clone()))
    }

    /// Converts a body of a type: what its server declares, or what its first bytes are.
    pub(crate) fn convert(
        &self,
        (declared, found): (Option<&str>, Option<&str>),
        body: &Bytes,
    ) -> Converted {
        let declared = declared.map(|it| fetch::essence(it).to_ascii_lowercase());
        let types = [declared.as_deref(), found];
        let mut types = types.into_iter().flatten();
        let converter = types.clone().find_map(|it| self.0.commands.get(it));
        match converter {
            Some(converter) => match self.run(converter, body) {
                Ok(text) => Converted::Text(text.into()),
                Err(reason) => Converted::Failed(reason),
            },
            None => Converted::Without(types.any(is_document)),
        }
    }

    /// Runs a converter on a body, and returns what it answers.
    fn run(&self, converter: &Converter, body: &Bytes) -> Result<Vec<u8>, String> {
        let [program, ..] = &converter.command[..] else {
            return Err("the command is empty".to_owned());
        };
        let limits = converter.limits(&self.0);
        let most = usize::try_from(limits.max_output.0).unwrap_or(usize::MAX);
        let deadline = Instant::now() + limits.timeout.0;
        let mut child = start(&converter.command, &limits)
            .map_err(|error| format!("cannot run {program}: {error}"))?;
        let group = Group::of(&child);
        let (tell, told) = channel();
        // None of these threads is waited for without an end: a process that has left the group
        // may hold the other ends of the pipes.
        if let (Some(mut stdin), body) = (child.stdin.take(), body.clone()) {
            // Who does not read it all may have seen enough.
            thread::spawn(move || drop(stdin.write_all(&body)));
        }
        if let Some(stderr) = child.stderr.take() {
            let tell = tell.clone();
            thread::spawn(move || drop(tell.send(Told::Said(last_words(stderr)))));
        }
        if let Some(stdout) = child.stdout.take() {
            let tell = tell.clone();
            thread::spawn(move || {
                let mut answer = Vec::new();
                let read = stdout.take(most as u64 + 1).read_to_end(&mut answer);
                drop(tell.send(Told::Answer(read.map(|_| answer))));
            });
        }
        thread::spawn(move || drop(tell.send(Told::End(child.wait()))));
        let (mut answer, mut said, mut status) = (None, None, None);
        while answer.is_none() || said.is_none() || status.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            match told.recv_timeout(left) {
                Ok(Told::Answer(Ok(bytes))) if bytes.len() > most => {
                    return Err(format!(
                        "{program} was killed: it answered more than convert.max_output, {most} bytes"
                    ));
                }
                Ok(Told::Answer(read)) => {
                    let read = read.map_err(|error| format!("cannot read from {program}: {error}"));
                    answer = Some(read?);
                }
                Ok(Told::Said(words)) => said = Some(words),
                Ok(Told::End(ended)) => {
                    let ended =
                        ended.map_err(|error| format!("cannot wait for {program}: {error}"));
                    status = Some(ended?);
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Err(format!(
                        "{program} was killed: it took longer than convert.timeout, {}",
                        limits.timeout
                    ));
                }
            }
        }
        drop(group);
        match (status, answer) {
            (Some(status), Some(answer)) if status.success() => {
                let has_text = answer.iter().any(|byte| !byte.is_ascii_whitespace());
                has_text
                    .then_some(answer)
                    .ok_or_else(|| format!("{program} wrote nothing"))
            }
            (status, _) => Err(failure(program, status, &said.unwrap_or_default())),
        }
    }
}

/// What the threads around a converter tell.
enum Told {
    Answer(std::io::Result<Vec<u8>>),
    Said(String),
    End(std::io::Result<ExitStatus>),
}

fn start(command: &[String], limits: &Limits) -> std::io::Result<Child> {
    let kibibytes = (limits.max_memory.0 >> 10).max(1);
    // Who waits is stopped by the clock; who computes, by this, even if nobody watches any more.
    let seconds = limits.timeout.0.as_secs().saturating_add(1);
    let apart = APART.iter().filter(|_| can_be_apart());
    Command::new("/bin/sh")
        .args(["-c", LIMITED, "sh"])
        .args([kibibytes.to_string(), seconds.to_string()])
        .args(apart)
        .args(command)
        .env_clear()
        .env("PATH", PATH)
        .env("LC_ALL", "C.UTF-8")
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
}

/// Whether the system lets an ordinary user start processes without a network; tried once.
fn can_be_apart() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(|| {
        let [unshare, rest @ ..] = APART;
        let tried = Command::new(unshare)
            .args(rest)
            .arg("true")
            .env_clear()
            .env("PATH", PATH)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        tried.is_ok_and(|status| status.success())
    })
}

/// The processes of a converter, which are killed when nobody waits for them any more.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(i32::try_from(child.id()).ok().and_then(Pid::from_raw))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // They may be gone.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Reads to the end, and returns the last words.
fn last_words(mut stream: impl Read) -> String {
    let mut kept = VecDeque::new();
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = stream.read(&mut buffer) {
        kept.extend(buffer.iter().take(read));
        kept.drain(..kept.len().saturating_sub(SAID));
    }
    let said = String::from_utf8_lossy(&Vec::from(kept)).into_owned();
    let said = said.split_whitespace().collect::<Vec<_>>();
    said.join(" ")
}

fn failure(program: &str, status: Option<ExitStatus>, said: &str) -> String {
    let status = status.map_or_else(String::new, |status| status.to_string());
    match said.is_empty() {
        true => format!("{program}: {status}"),
        false => format!("{program}: {status}: {said}"),
    }
}

/// Whether a media type is one of documents.
fn is_document(name: &str) -> bool {
    let is_of = |document: &str| match document.ends_with(['-', '.']) {
        true => name.starts_with(document),
        false => name == document,
    };
    DOCUMENTS.iter().any(|document| is_of(document))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::units::{Size, Span};

    /// What is waited for at most; no test gets there.
    const PATIENCE: Duration = Duration::from_mins(1);

    fn converters(script: &str, change: impl FnOnce(&mut ConvertOptions)) -> Converters {
        let command = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
        let mut options = ConvertOptions {
            commands: [("application/pdf".to_owned(), command.into())].into(),
            timeout: Span(PATIENCE),
            ..ConvertOptions::default()
        };
        change(&mut options);
        options.check().unwrap();
        Converters::new(&options)
    }

    fn convert(converters: &Converters, body: &[u8]) -> Result<String, String> {
        let types = (Some("Application/PDF; version=1.4"), None);
        match converters.convert(types, &Bytes::copy_from_slice(body)) {
            Converted::Text(text) => Ok(String::from_utf8_lossy(&text).into_owned()),
            Converted::Failed(reason) => Err(reason),
            Converted::Without(_) => panic!("there is one"),
        }
    }

    #[test]
    fn what_comes_out_is_what_the_command_makes_of_the_body() {
        let upper = converters("tr a-z A-Z", |_| {});
        assert_eq!(convert(&upper, b"some text"), Ok("SOME TEXT".to_owned()));
        let large = vec![b'x'; 3 << 20];
        assert_eq!(convert(&upper, &large).map(|it| it.len()), Ok(large.len()));
        // Who does not read is answered too.
        let deaf = converters("echo answer", |_| {});
        assert_eq!(convert(&deaf, &large), Ok("answer\n".to_owned()));
        // Nothing of ours is in its environment.
        let environment = converters(
            "env | cut -d= -f1 | grep -c -e CARGO -e HOME -e USER; true",
            |_| {},
        );
        assert_eq!(convert(&environment, b""), Ok("0\n".to_owned()));
    }

    #[test]
    fn a_type_is_declared_or_found() {
        let upper = converters("tr a-z A-Z", |_| {});
        let body = Bytes::from_static(b"%PDF-1.4");
        let check = |declared, found, expected| {
            let is = match upper.convert((declared, found), &body) {
                Converted::Text(_) => "converted",
                Converted::Failed(_) => "failed",
                Converted::Without(true) => "wanted",
                Converted::Without(false) => "none",
            };
            assert_eq!(is, expected, "{declared:?} {found:?}");
        };
        check(Some("application/pdf"), None, "converted");
        check(
            Some("application/octet-stream"),
            Some("application/pdf"),
            "converted",
        );
        check(None, None, "none");
        check(Some("image/png"), Some("image/png"), "none");
        check(Some("application/msword"), None, "wanted");
        check(
            Some("application/vnd.oasis.opendocument.text"),
            None,
            "wanted",
        );
        check(Some("application/zip"), Some("application/zip"), "none");
    }

    #[test]
    fn whatever_a_command_does_ends() {
        let check = |script: &str, change: fn(&mut ConvertOptions), expected: &str| {
            let begun = Instant::now();
            let said = convert(&converters(script, change), b"body").unwrap_err();
            assert!(said.contains(expected), "{script}: {said}");
            assert!(begun.elapsed() < PATIENCE, "{script}");
        };
        let short =
            |options: &mut ConvertOptions| options.timeout = Span(Duration::from_millis(300));
        check("exit 3", |_| {}, "exit status: 3");
        check("echo", |_| {}, "wrote nothing");
        check("echo 'not a PDF' >&2; exit 1", |_| {}, "1: not a PDF");
        check("sleep 600", short, "convert.timeout, 300ms");
        // What it has started goes too, and what closes its output and stays.
        check("sleep 600 & sleep 600 & wait", short, "convert.timeout");
        check("exec >&- 2>&-; sleep 600", short, "convert.timeout");
        check(
            "yes",
            |options| options.max_output = Size(10_000),
            "convert.max_output",
        );
        check(
            "sleep 600",
            |options| {
                for converter in options.commands.values_mut() {
                    converter.timeout = Some(Span(Duration::from_millis(200)));
                }
            },
            "convert.timeout, 200ms",
        );
        check(
            "x=$(head -c 100000000 /dev/zero | tr '\\0' x); echo ${#x}",
            |options| options.max_memory = Size::mebibytes(32),
            "sh",
        );
        let missing = ConvertOptions {
            commands: [(
                "application/pdf".to_owned(),
                vec!["/no/such".to_owned()].into(),
            )]
            .into(),
            ..ConvertOptions::default()
        };
        let said = convert(&Converters::new(&missing), b"").unwrap_err();
        assert!(said.contains("/no/such"), "{said}");
    }
}
