//! `gleaner extract`: extracts the main text, title and language of pages, without a crawl.
//!
//! Input is one HTML file, or a stream of pages as JSON lines or as records of WARC files
//! (`warc.rs`), of which a bounded number is in memory.

mod warc;

use std::io::{BufRead, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::cli::output::Screen;
use crate::cli::progress::Counted;
use crate::cli::shown::Data;
use crate::cli::{Failure, output};
use crate::corpus::{Worked, in_order};
use crate::page::{Detected, Markup, Metadata, Page, PageOptions, Wishes, charset};
use crate::quality::{Quality, measure};
use crate::url::{self, Canonicalizer, Identity, Secret, Url};

/// Maximum size in bytes of a page, or of a line of a stream. Larger ones are refused.
const MAX_PAGE_BYTES: u64 = 64 * 1024 * 1024;

/// Base URL of pages whose URL is not given.
const NOWHERE: &str = "http://localhost/";

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gleaner extract page.html\n  curl -s https://example.org/ | gleaner extract - --url https://example.org/ --format markdown\n  gleaner extract --jsonl < pages.jsonl > texts.jsonl\n  gleaner extract --format markdown crawl/warc/*.warc.gz > texts.jsonl\n\nEach line of a stream is {\"id\":..., \"html\":\"...\", \"url\":\"...\"}; url is optional. Results are printed in the\norder of the input."
)]
pub(crate) struct Arguments {
    /// HTML file; `-` for standard input; or WARC files (.warc, .warc.gz, .warc.zst), or
    /// directories with such files, for one JSON object per page
    #[arg(value_name = "FILE", required_unless_present = "jsonl")]
    files: Vec<PathBuf>,
    /// URL of the page, to resolve its links against
    #[arg(long, value_name = "URL", conflicts_with = "jsonl")]
    url: Option<String>,
    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    format: Format,
    /// Read one page per line as JSON from FILE or standard input, and print one JSON object per
    /// line
    #[arg(long)]
    jsonl: bool,
    /// Add `quality` to each JSON object: measures of the text by which pages are chosen for
    /// corpora
    #[arg(long)]
    quality: bool,
}

/// What is printed of each page.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    format: Format,
    quality: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Format {
    /// Main text, one block per line; in the field `text` with --jsonl
    #[default]
    Text,
    /// Main text with headings, lists, tables, links and emphasis; in the field `markdown` with
    /// --jsonl
    Markdown,
    /// The same as HTML without styles and scripts; in the field `html` with --jsonl
    Html,
    /// One JSON object with everything known about the page
    Json,
}

impl Format {
    fn markup(self) -> Option<Markup> {
        match self {
            Self::Markdown => Some(Markup::Markdown),
            Self::Html => Some(Markup::Html),
            Self::Text | Self::Json => None,
        }
    }
}

/// A line of the input stream. `html` is borrowed from the line if it contains no escapes.
#[derive(Deserialize)]
struct Input<'a> {
    #[serde(default)]
    id: serde_json::Value,
    #[serde(borrow)]
    html: std::borrow::Cow<'a, str>,
    #[serde(default, borrow)]
    url: Option<std::borrow::Cow<'a, str>>,
}

/// The result for one page.
#[derive(Serialize)]
struct Output<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    title: Option<&'a str>,
    /// The heading with which the main text begins.
    headline: Option<&'a str>,
    /// The detected language if detection is confident, otherwise the declared one.
    lang: Option<&'a str>,
    /// How clear the detected language is, 0 to 1; `None` if it is the declared one.
    lang_score: Option<f32>,
    /// Share of the visible text that is main text, 0 to 1.
    kept: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    markdown: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quality: Option<Quality>,
    #[serde(flatten)]
    rest: Option<Rest<'a>>,
}

/// Further fields of `--format json`.
#[derive(Serialize)]
struct Rest<'a> {
    declared_lang: Option<&'a str>,
    canonical: Option<&'a str>,
    robots: Wishes,
    #[serde(flatten)]
    metadata: &'a Metadata,
    links: Vec<&'a str>,
}

impl<'a> Output<'a> {
    fn of(read: &'a Read, id: Option<serde_json::Value>, wanted: Wanted) -> Self {
        let Wanted { format, quality } = wanted;
        let Read {
            page,
            marked,
            is_placeless,
        } = read;
        let markup = format.markup();
        let detected = page.detected_language;
        let of = |wanted: Markup| marked.as_deref().filter(|_| markup == Some(wanted));
        // An address that is not known is not made up.
        let is_known = |url: &&str| !is_placeless || !url.starts_with(NOWHERE);
        let lang = detected.map(|it| it.language).or(page.language.as_deref());
        Self {
            id,
            url: None,
            title: page.title.as_deref(),
            headline: page.headline.as_deref(),
            lang,
            lang_score: detected.map(Detected::score),
            kept: f32::from(page.kept_permille) / 1000.0,
            // Plain text has no other form.
            text: marked.is_none().then_some(page.main_text.as_str()),
            markdown: of(Markup::Markdown),
            html: of(Markup::Html),
            quality: quality.then(|| measure(&page.main_text, lang)),
            rest: (format == Format::Json).then(|| Rest {
                declared_lang: page.language.as_deref(),
                canonical: page.canonical.as_deref().filter(is_known),
                robots: page.robots,
                metadata: &page.metadata,
                links: page
                    .links
                    .iter()
                    .map(|link| link.url.as_str())
                    .filter(is_known)
                    .collect(),
            }),
        }
    }

    fn line(&self) -> anyhow::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }
}

pub(super) fn run(arguments: &Arguments, screen: &Screen) -> Result<(), Failure> {
    let files = &arguments.files;
    let wanted = Wanted {
        format: arguments.format,
        quality: arguments.quality,
    };
    if !arguments.jsonl && !files.is_empty() && files.iter().all(|file| warc::is_one(file)) {
        return warc::run(files, wanted, screen);
    }
    if let [_, other, ..] = &**files {
        return Err(Failure::Usage {
            message: format!("{} is one file too many", other.display()),
            hint: Some(
                "several files may be given if all are WARC files (.warc, .warc.gz or .warc.zst); give one page, or pages as JSON lines with --jsonl",
            ),
        });
    }
    let (input, name) = open(files.first().map(PathBuf::as_path))?;
    if arguments.jsonl {
        return stream(input, &name, wanted, screen);
    }
    if arguments.quality && arguments.format != Format::Json {
        return Err(Failure::Usage {
            message: "--quality adds a field to JSON, and this is printed as it is".to_owned(),
            hint: Some(
                "add --format json; with --jsonl, and of WARC files, every format is a field",
            ),
        });
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
        Some(given) => {
            let url = url::parse(given);
            Some(url.map_err(|error| Failure::no_url("--url ", given, error))?)
        }
        None => None,
    };
    let html = charset::to_text(&bytes, None);
    let read = Read::of(html, url.as_ref(), &identity(), arguments.format);
    match arguments.format {
        Format::Text => output::print_data(&format!("{}\n", read.page.main_text))?,
        Format::Markdown | Format::Html => {
            output::print_data(&format!("{}\n", read.marked.unwrap_or_default()))?;
        }
        Format::Json => {
            let line = Output::of(&read, None, wanted).line()?;
            output::print_data(&String::from_utf8_lossy(&line))?;
        }
    }
    Ok(())
}

/// Opens the file, or standard input for `-` or if none is given. Also returns its name for
/// messages.
fn open(file: Option<&Path>) -> Result<(Box<dyn BufRead + Send>, String), Failure> {
    let path = file.unwrap_or(Path::new("-"));
    let name = match path.as_os_str() == "-" {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    };
    let input = crate::corpus::open(path).map_err(|error| Failure::Usage {
        message: format!("cannot open {name}: {error}"),
        hint: Some("give an existing HTML file, or - for standard input"),
    })?;
    Ok((input, name))
}

fn nowhere() -> Url {
    url::parse(NOWHERE).expect("the constant is an http URL")
}

/// The identity of links outside a crawl: their ids are not shown, but tell links apart.
fn identity() -> Identity {
    let secret = std::array::from_fn(|at| (at * 167 % 251) as u8);
    Identity::new(Canonicalizer::default(), Secret::from_bytes(secret))
}

/// A page, and its main text with its structure if requested.
struct Read {
    page: Page,
    marked: Option<String>,
    /// Whether the URL of the page is not known.
    is_placeless: bool,
}

impl Read {
    fn of<'a>(
        html: impl Into<charset::Text<'a>>,
        url: Option<&Url>,
        identity: &Identity,
        format: Format,
    ) -> Self {
        let options = PageOptions::default();
        let is_placeless = url.is_none();
        let url = url.map_or_else(nowhere, Url::clone);
        let (page, marked) = match format.markup() {
            Some(markup) => {
                let url = (&url, is_placeless);
                let (page, marked) = Page::parse_html_to(markup, html, url, identity, &options);
                (page, Some(marked))
            }
            None => (Page::parse_html(html, &url, identity, &options), None),
        };
        Self {
            page,
            marked,
            is_placeless,
        }
    }
}

/// Processes every line in order, on all cores, up to the first invalid line.
fn stream(
    mut input: impl BufRead + Send,
    name: &str,
    wanted: Wanted,
    screen: &Screen,
) -> Result<(), Failure> {
    let counted = Counted::beside_data(screen, "pages");
    let mut out = BufWriter::new(Data::lock());
    let identity = identity();
    let answered = in_order(
        None,
        |hand_over| {
            for number in 1_u64.. {
                let mut line = Vec::new();
                let mut bounded = (&mut input).take(MAX_PAGE_BYTES + 1);
                let read = bounded.read_until(b'\n', &mut line);
                read.with_context(|| format!("cannot read {name}"))?;
                if line.is_empty() || !hand_over((number, line)) {
                    break;
                }
            }
            Ok(())
        },
        |(number, line): (u64, Vec<u8>)| match answer(&line, &identity, wanted) {
            Ok(answer) => Worked {
                values: vec![answer],
                failure: None,
            },
            Err(wrong) => Worked {
                values: Vec::new(),
                failure: Some(Failure::Usage {
                    message: format!("{name}, line {number}: {wrong}"),
                    hint: Some(
                        "each line must be a JSON object with id and html; the lines before it were processed",
                    ),
                }),
            },
        },
        |answer| {
            counted.one();
            Ok(out.write_all(&answer).map_err(anyhow::Error::from)?)
        },
    );
    out.flush().map_err(anyhow::Error::from)?;
    answered
}

/// The output for one line, with a newline, or what is wrong with the line.
fn answer(line: &[u8], identity: &Identity, wanted: Wanted) -> Result<Vec<u8>, String> {
    if line.len() as u64 > MAX_PAGE_BYTES {
        return Err(format!("larger than {MAX_PAGE_BYTES} bytes"));
    }
    let question: Input<'_> = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    // An invalid URL does not make the page invalid.
    let url = question.url.as_deref().and_then(|url| url::parse(url).ok());
    let read = Read::of(&*question.html, url.as_ref(), identity, wanted.format);
    Output::of(&read, Some(question.id), wanted)
        .line()
        .map_err(|error| error.to_string())
}
