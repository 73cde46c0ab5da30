//! `gleaner export`: the pages of crawls in the forms in which others read them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};

use super::duplicates::show;
use super::pages::{Format as TextFormat, Line, Read, wish_parser};
use crate::cli::output::Screen;
use crate::cli::words::count;
use crate::cli::{Failure, progress};
use crate::engine::{LogLine, PageLine, Position};
use crate::export::{
    self, CrawlRead, Error, Filter, Found, Language, Manifest, Output, Reader, Source, StatusRange,
    Want, Written,
};
use crate::page::Markup;
use crate::units::Size;
use crate::url::HostPattern;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner export --data-dir crawl -o pages.jsonl.zst --format jsonl --unique --language en
  gleaner export --data-dir one two -o texts.warc.wet.gz --format wet --without noai
  gleaner export --data-dir crawl -o more.jsonl --format jsonl --after pages.jsonl.zst.manifest.json

Gives out what is committed, in the order of commits; the crawl may be running. The file
`PATH.manifest.json` says what was written and where reading ended, for --after. Nothing is
overwritten. docs/formats.md documents the formats.")]
pub(crate) struct Arguments {
    /// Data directories of the crawls
    #[arg(long, value_name = "DIR", num_args = 1.., required = true)]
    data_dir: Vec<PathBuf>,
    /// The file to write
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,
    /// Its format
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Format,
    /// Only originals: no duplicates, errors or redirects
    #[arg(long)]
    unique: bool,
    /// Omit pages that ask for one of these in a robots meta tag or header: noindex, nofollow,
    /// noarchive, noai, noimageai, tdm-reservation
    #[arg(long, value_name = "WISH,...", value_delimiter = ',', value_parser = wish_parser(), hide_possible_values = true)]
    without: Vec<String>,
    /// Only pages in these languages: codes such as en, pt or ast, of the language that the text is
    /// in, else of the one that the page declares
    #[arg(long, value_name = "LANG,...", value_delimiter = ',')]
    language: Vec<String>,
    /// Only pages of these hosts: example.org and names below it, *.example.org for these alone
    #[arg(long, value_name = "HOST,...", value_delimiter = ',')]
    host: Vec<HostPattern>,
    /// Only pages with these schemes: http, https
    #[arg(long, value_name = "SCHEME,...", value_delimiter = ',')]
    scheme: Vec<String>,
    /// Only pages with these statuses: 200, 2xx
    #[arg(long, value_name = "STATUS,...", value_delimiter = ',')]
    status: Vec<StatusRange>,
    /// Only pages with this number of words at least
    #[arg(long, value_name = "N", default_value_t)]
    min_words: u32,
    /// Only pages that were requested at this time or later: 2026-01-31, 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = Filter::time)]
    since: Option<Timestamp>,
    /// Only pages that were requested before this time
    #[arg(long, value_name = "TIME", value_parser = Filter::time)]
    until: Option<Timestamp>,
    /// Begin another file when one has this size, such as 1GB; a number is put in front of the
    /// ending of their names
    #[arg(long, value_name = "SIZE")]
    max_size: Option<Size>,
    /// Go on behind an earlier export, by its manifest, or behind a position of one crawl
    #[arg(long, value_name = "MANIFEST|POSITION")]
    after: Option<String>,
    /// With jsonl, write these fields only
    #[arg(long, value_name = "FIELD,...", value_delimiter = ',')]
    fields: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A JSON object a line: the fields of `gleaner pages`, Markdown and more; compressed if the
    /// name ends in .gz or .zst
    Jsonl,
    /// Texts as WARC records, as in the WET files of Common Crawl
    Wet,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Wet => "wet",
        }
    }
}

pub(super) fn run(arguments: &Arguments, screen: &Screen) -> Result<(), Failure> {
    if !arguments.fields.is_empty() && arguments.format != Format::Jsonl {
        return Err(Failure::usage("--fields is for --format jsonl"));
    }
    let sources = arguments.sources()?;
    let filter = arguments.filter();
    let progress = Progress::start(screen);
    let max_size = arguments.max_size.map(|size| size.0);
    let (walked, files) = match arguments.format {
        Format::Jsonl => {
            let mut output = Output::of_lines(&arguments.output, max_size);
            let fields = Fields::of(&arguments.fields)?;
            let walked = export::walk(
                &sources,
                &filter,
                fields.want(),
                |found, source, position| fields.json(found, source, position).map(Some),
                |line: Vec<u8>| progress.count(output.write(&line)),
            )?;
            (walked, output.finish()?)
        }
        Format::Wet => {
            let mut output = Output::of_members(&arguments.output, max_size, export::opening);
            let want = Want {
                text: true,
                markup: None,
            };
            let walked = export::walk(
                &sources,
                &filter,
                want,
                |found, source, _| Ok(export::conversion(&found, &source.reader)),
                |member: Vec<u8>| progress.count(output.write(&member)),
            )?;
            (walked, output.finish()?)
        }
    };
    drop(progress);
    let crawls = sources
        .iter()
        .zip(&walked)
        .map(|(source, walked)| CrawlRead {
            data_dir: source.data.display().to_string(),
            after: source.after.to_string(),
            position: walked.position.to_string(),
        });
    let manifest = Manifest::new(arguments.format.name(), crawls.collect(), files);
    let path = Manifest::path_for(&arguments.output);
    manifest.write(&path)?;
    screen.say(&told(&manifest.files, &path));
    Ok(())
}

fn told(files: &[Written], manifest: &Path) -> String {
    let pages = files.iter().map(|file| file.pages).sum();
    format!(
        "{} in {}; {} says where the next export goes on",
        count(pages, "page"),
        count(files.len() as u64, "file"),
        manifest.display()
    )
}

impl Arguments {
    fn sources(&self) -> Result<Vec<Source>, Failure> {
        let position = self.after.as_ref().map(|text| text.parse::<Position>());
        let (position, manifest) = match (position, &self.after) {
            (Some(Ok(_)), _) if self.data_dir.len() > 1 => {
                return Err(Failure::usage(
                    "a position is one of one crawl; with several, give --after the manifest of an earlier export",
                ));
            }
            (Some(Ok(position)), _) => (position, None),
            (Some(Err(_)), Some(path)) => {
                (Position::default(), Some(Manifest::read(Path::new(path))?))
            }
            _ => (Position::default(), None),
        };
        let after = |data: &Path| match &manifest {
            Some(manifest) => manifest.position_of(data),
            None => Ok(position),
        };
        let source = |data: &PathBuf| {
            Ok(Source {
                data: data.clone(),
                reader: Reader::new(show::texts(data)),
                after: after(data)?,
            })
        };
        self.data_dir.iter().map(source).collect()
    }

    fn filter(&self) -> Filter {
        Filter {
            unique: self.unique,
            without: self.without.clone(),
            languages: self.language.clone(),
            hosts: self.host.clone(),
            schemes: self.scheme.clone(),
            statuses: self.status.clone(),
            min_words: self.min_words,
            since: self.since,
            until: self.until,
        }
    }
}

/// A line of JSON: that of `gleaner pages`, and what only an export says.
#[derive(Serialize)]
struct More<'a> {
    #[serde(flatten)]
    line: Line<'a>,
    markdown: Option<String>,
    kept: Option<f64>,
    detected_language: Option<String>,
    warc_record_id: Option<String>,
}

/// The fields of a line that are wanted; all if there are none.
struct Fields<'a>(&'a [String]);

impl<'a> Fields<'a> {
    fn of(fields: &'a [String]) -> Result<Self, Failure> {
        let known = Self::known()?;
        match fields.iter().find(|field| !known.contains_key(*field)) {
            None => Ok(Self(fields)),
            Some(field) => {
                let known: Vec<_> = known.keys().map(String::as_str).collect();
                let known = known.join(", ");
                Err(Failure::usage(format!(
                    "no line has a field {field:?}: give some of {known}"
                )))
            }
        }
    }

    /// A line that has every field.
    fn known() -> Result<Map<String, Value>, Failure> {
        // A field that most pages do not have is left out of their lines.
        let page = r#"{"group": {"url": "", "tier": "near", "similarity": 1},
            "supersedes": {"type": "metadata", "file": "", "offset": 0, "length": 0}}"#;
        let page: PageLine = serde_json::from_str(page).context("a page as JSON")?;
        let line = LogLine::default();
        let more = More {
            line: Line::of(&line, &page, Position::default(), Language::default(), None),
            markdown: None,
            kept: None,
            detected_language: None,
            warc_record_id: None,
        };
        match serde_json::to_value(more) {
            Ok(Value::Object(fields)) => Ok(fields),
            _ => Err(Failure::usage("no page can be written as JSON")),
        }
    }

    fn has(&self, field: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|it| it == field)
    }

    /// What has to be read for them.
    fn want(&self) -> Want {
        Want {
            text: ["text", "headline", "markdown", "kept"]
                .iter()
                .any(|it| self.has(it)),
            markup: self.has("markdown").then_some(Markup::Markdown),
        }
    }

    fn json(
        &self,
        mut found: Found<'_>,
        source: &Source,
        position: Position,
    ) -> Result<Vec<u8>, Error> {
        let wants_id = self.has("warc_record_id");
        let id = wants_id.then(|| source.reader.record_id(&found)).flatten();
        let read = found.read.as_mut();
        let markdown = read.and_then(|read| read.marked.take());
        let kept = found.read.as_ref().map(|read| read.page.kept_permille);
        let detected = found.language.detected.as_ref();
        let more = More {
            markdown,
            kept: kept.map(|permille| f64::from(permille) / 1_000.0),
            detected_language: detected.map(|(language, _)| language.clone()),
            warc_record_id: id,
            line: Line::of(
                found.line,
                found.page,
                position,
                found.language,
                found.read.map(|read| Read::of(read, TextFormat::Text)),
            ),
        };
        let line = match self.0 {
            [] => serde_json::to_vec(&more),
            // A map of serde_json has its own order.
            fields => serde_json::to_value(&more).and_then(|value| {
                let mut line = String::from("{");
                for (nth, field) in fields.iter().enumerate() {
                    let comma = if nth == 0 { "" } else { "," };
                    let name = serde_json::to_string(field)?;
                    let value = value.get(field).unwrap_or(&Value::Null);
                    // Writing to a string cannot fail.
                    let _ = write!(line, "{comma}{name}:{value}");
                }
                line.push('}');
                Ok(line.into_bytes())
            }),
        };
        let mut line = line.map_err(|error| Error::Request(format!("a page as JSON: {error}")))?;
        line.push(b'\n');
        Ok(line)
    }
}

/// The number of pages so far, on a terminal.
struct Progress<'a> {
    screen: &'a Screen,
    line: Option<ProgressBar>,
}

impl<'a> Progress<'a> {
    fn start(screen: &'a Screen) -> Self {
        let line = progress::moves_the_cursor().then(|| {
            let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{spinner} {human_pos} pages, {per_sec}");
            line.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            line.enable_steady_tick(Duration::from_millis(250));
            line
        });
        if let Some(line) = &line {
            screen.show(line.clone());
        }
        Self { screen, line }
    }

    fn count(&self, done: Result<(), Error>) -> Result<(), Error> {
        if let Some(line) = &self.line {
            line.inc(1);
        }
        done
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.screen.clear();
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Crawl(error) => Self::Engine(error),
            Error::Request(message) => Self::usage(message),
            error @ Error::Io { .. } => Self::Io(anyhow::Error::new(error)),
        }
    }
}
