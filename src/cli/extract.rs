//! `gleaner extract`: what a page says, without a crawl: its main text, its title, its language.
//!
//! One page from a file or standard input, or a stream of them as JSON lines. A stream stays a
//! stream: each worker reads one page at a time, and no more lines wait than [`WAITING_LINES`] a worker.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use super::{Failure, output};
use crate::page::{Page, PageOptions, charset};
use crate::url::{self, Canonicalizer, Identity, Secret, Url};

/// Bytes of one page, or of one line of a stream; more is refused, so that memory has an end.
const MAX_PAGE_BYTES: u64 = 64 * 1024 * 1024;

/// Lines that may wait for each worker, and as many of its answers for their turn.
const WAITING_LINES: usize = 4;

/// What references are relative to when nobody says where a page is from.
const NOWHERE: &str = "http://localhost/";

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gleaner extract page.html\n  curl -s https://example.org/ | gleaner extract - --url https://example.org/ --format markdown\n  gleaner extract --jsonl < pages.jsonl > texts.jsonl\n\nA line of a stream is {\"id\":..., \"html\":\"...\", \"url\":\"...\"}; url may be missing. The answers come in the same order."
)]
pub(super) struct Arguments {
    /// HTML file, or - for standard input
    #[arg(value_name = "FILE", required_unless_present = "jsonl")]
    file: Option<PathBuf>,
    /// Where the page is from: what its links are relative to
    #[arg(long, value_name = "URL", conflicts_with = "jsonl")]
    url: Option<String>,
    /// What to print
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    format: Format,
    /// Read one page a line as JSON from FILE or standard input, and print one answer a line
    #[arg(long)]
    jsonl: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Format {
    /// The main text, a block a line; with --jsonl in the field `text`
    #[default]
    Text,
    /// The main text with headings, lists, tables and links; with --jsonl in the field `markdown`
    Markdown,
    /// One object with all that is known of the page
    Json,
}

/// A line of a stream. `html` is borrowed from the line where it has no escapes.
#[derive(Deserialize)]
struct Question<'a> {
    #[serde(default)]
    id: serde_json::Value,
    #[serde(borrow)]
    html: std::borrow::Cow<'a, str>,
    #[serde(default, borrow)]
    url: Option<std::borrow::Cow<'a, str>>,
}

/// What is said of one page.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<serde_json::Value>,
    title: Option<&'a str>,
    lang: Option<&'a str>,
    text: &'a str,
}

impl<'a> Answer<'a> {
    fn of(page: &'a Page, id: Option<serde_json::Value>) -> Self {
        Self {
            id,
            title: page.title.as_deref(),
            lang: page.language.as_deref(),
            text: &page.main_text,
        }
    }

    fn line(&self) -> anyhow::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (input, name) = open(arguments.file.as_deref())?;
    if arguments.jsonl {
        return stream(BufReader::new(input), &name, arguments.format);
    }
    let mut bytes = Vec::new();
    input
        .take(MAX_PAGE_BYTES + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read {name}"))?;
    if bytes.len() as u64 > MAX_PAGE_BYTES {
        return Err(Failure::usage(format!(
            "{name} has more than {MAX_PAGE_BYTES} bytes, which is no page"
        )));
    }
    let url = match &arguments.url {
        Some(given) => url::parse(given).map_err(|error| Failure::Usage {
            message: format!("--url {given:?}: {error}"),
            hint: Some("give the whole address, such as https://example.org/page"),
        })?,
        None => nowhere(),
    };
    let html = charset::to_text(&bytes, None).text;
    let page = read(&html, &url);
    match arguments.format {
        Format::Text | Format::Markdown => output::print(&format!("{}\n", page.main_text))?,
        Format::Json => {
            let line = Answer::of(&page, None).line()?;
            output::print(&String::from_utf8_lossy(&line))?;
        }
    }
    Ok(())
}

/// The named file, or standard input for `-` and for nothing; and what to call it.
fn open(file: Option<&Path>) -> Result<(Box<dyn Read + Send>, String), Failure> {
    match file.filter(|file| *file != Path::new("-")) {
        None => Ok((Box::new(io::stdin()), "standard input".to_owned())),
        Some(path) => {
            let name = path.display().to_string();
            let file = File::open(path).map_err(|error| Failure::Usage {
                message: format!("cannot open {name}: {error}"),
                hint: Some("give an existing HTML file, or - for standard input"),
            })?;
            Ok((Box::new(file), name))
        }
    }
}

fn nowhere() -> Url {
    url::parse(NOWHERE).expect("the constant is an http URL")
}

/// Reads one page. Links get an identity of no crawl; nobody asks for it here.
fn read(html: &str, url: &Url) -> Page {
    let identity = Identity::new(
        Canonicalizer::default(),
        Secret::from_bytes([0; Secret::LEN]),
    );
    Page::parse_html(html, url, &identity, &PageOptions::default())
}

/// What a worker makes of a line.
type Answered = Result<Vec<u8>, String>;

/// Answers every line, in order, on all cores.
///
/// Lines go to the workers in turn and answers are taken from them in turn, so order needs no
/// bookkeeping, and every channel is bounded: whoever reads slowly slows the reading of lines. No
/// thread is waited for after a failure: the reader may stand at an input that never comes.
fn stream(input: impl BufRead + Send + 'static, name: &str, format: Format) -> Result<(), Failure> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let mut questions = Vec::new();
    let mut answers = Vec::new();
    for _ in 0..workers {
        let (question, waiting) = sync_channel::<Vec<u8>>(WAITING_LINES);
        let (answer, answered) = sync_channel(WAITING_LINES);
        thread::spawn(move || work(&waiting, &answer, format));
        questions.push(question);
        answers.push(answered);
    }
    let reader = thread::spawn(move || deal(input, &questions));
    write_in_turn(&answers, name)?;
    match reader.join() {
        Ok(read) => Ok(read.with_context(|| format!("cannot read {name}"))?),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Deals the lines out. Ends with the input, or when a worker has.
fn deal(mut input: impl BufRead, workers: &[SyncSender<Vec<u8>>]) -> io::Result<()> {
    for worker in workers.iter().cycle() {
        let mut line = Vec::new();
        let mut bounded = (&mut input).take(MAX_PAGE_BYTES + 1);
        bounded.read_until(b'\n', &mut line)?;
        if line.is_empty() || worker.send(line).is_err() {
            break;
        }
    }
    Ok(())
}

/// Answers lines until none come or nobody wants the answers.
fn work(lines: &Receiver<Vec<u8>>, answers: &SyncSender<Answered>, format: Format) {
    for line in lines {
        if answers.send(answer(&line, format)).is_err() {
            break;
        }
    }
}

/// The answer to one line, with its line end; or what is wrong with the line.
fn answer(line: &[u8], _format: Format) -> Answered {
    if line.len() as u64 > MAX_PAGE_BYTES {
        return Err(format!("has more than {MAX_PAGE_BYTES} bytes"));
    }
    let question: Question<'_> = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    // A page does not cease to be one because its address is odd.
    let url = question.url.as_deref().and_then(|url| url::parse(url).ok());
    let page = read(&question.html, &url.unwrap_or_else(nowhere));
    Answer::of(&page, Some(question.id))
        .line()
        .map_err(|error| error.to_string())
}

/// Writes the answers in the order of the lines, up to the first line that has none.
fn write_in_turn(workers: &[Receiver<Answered>], name: &str) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    for (index, worker) in workers.iter().cycle().enumerate() {
        match worker.recv() {
            Err(_) => break,
            Ok(Ok(line)) => out.write_all(&line).map_err(anyhow::Error::from)?,
            Ok(Err(wrong)) => {
                out.flush().map_err(anyhow::Error::from)?;
                return Err(Failure::Usage {
                    message: format!("{name}, line {}: {wrong}", index + 1),
                    hint: Some(
                        "a line is one JSON object with id and html; the lines before it are answered",
                    ),
                });
            }
        }
    }
    out.flush().map_err(anyhow::Error::from)?;
    Ok(())
}
