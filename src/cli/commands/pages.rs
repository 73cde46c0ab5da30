//! `gleaner pages`: prints one line of JSON per page in the order of commits, and with `--follow`
//! new pages as they are committed.

mod filtering;

use std::io::{self, BufWriter, Write as _};
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::slice;
use std::time::Duration;

use anyhow::Context;
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::duplicates::show;
use crate::cli::output::Screen;
use crate::cli::progress::Counted;
use crate::cli::shown::Data;
use crate::cli::{Failure, elsewhere};
use crate::corpus::{Worked, in_order};
use crate::engine::{LogLine, Position};
use crate::export::{Filter, Found, PageOut, PageRead, Reader, Want};
use crate::inspect::{Feed, Outlook};
use crate::page::{Markup, Wish};
use crate::quality::{self, Quality};
use filtering::Filtering;

/// Poll interval of `--follow`.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner pages --data-dir crawl --unique | jq -r '[.url, .title] | @tsv'
  gleaner pages --data-dir crawl --without noai,tdm-reservation
  gleaner pages --data-dir crawl --unique --language de,fr --format markdown
  gleaner pages --data-dir crawl --unique --quality --filter gopher,fineweb
  gleaner pages --data-dir crawl --follow | while read -r page; do ...; done
  gleaner pages --data-dir crawl --follow --after 0:48213     continue after that `position`

Each line is an object with url, canonical, canonical_hint, via, time, status, mime, size, title,
language, language_score, declared_language, robots, tag, headline, text, words, digests, simhash, verdict, distance, similarity, original, group,
supersedes, record, unchanged_since and position; docs/formats.md documents the fields. The crawl may be running.")]
// Each is a flag.
#[expect(clippy::struct_excessive_bools)]
pub(crate) struct Arguments {
    /// Data directory of the crawl
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    /// Print only originals: no duplicates, errors or redirects
    #[arg(long)]
    unique: bool,
    /// Print only pages that are new or changed since the earlier crawls of --since
    #[arg(long)]
    changed: bool,
    /// Omit pages that ask for one of these in a robots meta tag or header: noindex, nofollow,
    /// noarchive, noai, noimageai, tdm-reservation
    #[arg(long, value_name = "WISH,...", value_delimiter = ',', value_parser = wish_parser(), hide_possible_values = true)]
    without: Vec<String>,
    /// Print only pages in these languages: codes such as en, pt or ast, of the language that the
    /// text is in, else of the one that the page declares
    #[arg(long, value_name = "LANG,...", value_delimiter = ',', value_parser = language_code)]
    language: Vec<String>,
    /// Form of the text: the field `text`, `markdown` or `html`
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    format: Format,
    /// Add `quality`: measures of the text by which pages are chosen for corpora
    #[arg(long, conflicts_with = "no_text")]
    quality: bool,
    /// Print only pages whose text passes these filters for corpora: gopher, c4, fineweb. How many
    /// do not, and why, is told at the end
    #[arg(long, value_name = "FILTER,...", value_delimiter = ',', value_parser = filtering::parse, conflicts_with = "no_text")]
    filter: Vec<quality::Filter>,
    /// Omit the text, which has to be read from the archive
    #[arg(long)]
    no_text: bool,
    /// Continue with pages as they are committed, until the crawl ends
    #[arg(long, short)]
    follow: bool,
    /// Start after this position, which is the `position` of a line read earlier
    #[arg(long, value_name = "POSITION", default_value_t)]
    after: Position,
}

/// The form in which texts are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Format {
    /// Plain text, one block per line
    #[default]
    Text,
    /// Markdown, with headings, lists, tables, code, links and emphasis
    Markdown,
    /// The same as HTML without styles and scripts
    Html,
}

impl Format {
    fn markup(self) -> Option<Markup> {
        match self {
            Self::Text => None,
            Self::Markdown => Some(Markup::Markdown),
            Self::Html => Some(Markup::Html),
        }
    }
}

/// Reads the code of a language. A name would leave out every page without a word.
pub(in crate::cli::commands) fn language_code(text: &str) -> Result<String, String> {
    let primary = text.split('-').next().unwrap_or_default();
    let is_code =
        matches!(primary.len(), 2 | 3) && primary.bytes().all(|it| it.is_ascii_alphabetic());
    match is_code {
        true => Ok(text.to_owned()),
        false => Err("a language is a code of two or three letters, such as de or ast".to_owned()),
    }
}

pub(super) fn wish_parser() -> PossibleValuesParser {
    PossibleValuesParser::new(Wish::ALL.map(|(_, name)| name))
}

/// What is asked of every page.
struct Question<'a> {
    arguments: &'a Arguments,
    reader: Reader,
    filter: Filter,
    filtering: Filtering,
}

impl Question<'_> {
    /// The line of output of a page with a newline, if it is asked for.
    fn answer(&self, line: &LogLine, position: Position) -> Result<Option<Vec<u8>>, Failure> {
        let want = Want {
            text: !self.arguments.no_text,
            markup: self.arguments.format.markup(),
            ..Want::default()
        };
        let Some(found) = self.reader.find(line, &self.filter, want) else {
            return Ok(None);
        };
        let quality = self.measure(&found);
        if !self.filtering.passes(quality.as_ref()) {
            return Ok(None);
        }
        let read = found.read.map(|read| PageRead::of(read, want.markup));
        let mut line = PageOut::of(line, found.page, position, found.language, read);
        line.quality = quality.filter(|_| self.arguments.quality);
        let mut answer = serde_json::to_vec(&line).context("cannot write a page as JSON")?;
        answer.push(b'\n');
        Ok(Some(answer))
    }

    /// The measures of the text, if they are asked for and there is one.
    fn measure(&self, found: &Found<'_>) -> Option<Quality> {
        let is_asked = self.arguments.quality || !self.arguments.filter.is_empty();
        let read = found.read.as_ref().filter(|_| is_asked)?;
        Some(quality::measure(
            &read.page.main_text,
            found.language.name(),
        ))
    }
}

pub(super) fn run(arguments: &Arguments, screen: &Screen) -> Result<(), Failure> {
    let mut feed = Feed::open(&arguments.data_dir, arguments.after)?;
    let question = Question {
        arguments,
        reader: Reader::new(show::texts(&arguments.data_dir)),
        filter: Filter {
            unique: arguments.unique,
            changed: arguments.changed,
            without: arguments.without.clone(),
            languages: arguments.language.clone(),
            ..Filter::default()
        },
        filtering: Filtering::new(&arguments.filter),
    };
    let counted = Counted::beside_data(screen, "pages");
    let mut out = BufWriter::new(Data::lock());
    let mut has_ended = !arguments.follow;
    let mut was_killed = false;
    loop {
        answer_all(&mut feed, &question, &counted, &mut out)?;
        out.flush().map_err(anyhow::Error::from)?;
        if has_ended {
            question.filtering.tell(screen);
            elsewhere::tell(slice::from_ref(&arguments.data_dir), screen);
            return Ok(());
        }
        match feed.refresh()? {
            Outlook::Ended => {
                has_ended = true;
                continue;
            }
            Outlook::Killed if !was_killed => {
                was_killed = true;
                screen.say("the last process that crawled here was killed; waiting for the crawl to be resumed (press Ctrl-C to exit)");
            }
            Outlook::Killed => {}
            Outlook::Running => was_killed = false,
        }
        if wait(&mut out)? {
            return Ok(());
        }
    }
}

/// Prints the pages that the log has by now. Texts are extracted on all cores.
fn answer_all(
    feed: &mut Feed,
    question: &Question<'_>,
    counted: &Counted,
    out: &mut impl io::Write,
) -> Result<(), Failure> {
    let Some(first) = feed.read_line()? else {
        return Ok(());
    };
    in_order(
        None,
        |hand_over| {
            let mut next = Some(first);
            while let Some(line) = next.take() {
                if !hand_over(line) {
                    break;
                }
                next = feed.read_line()?;
            }
            Ok(())
        },
        |(line, position): (LogLine, Position)| match question.answer(&line, position) {
            Ok(answer) => Worked {
                values: answer.into_iter().collect(),
                failure: None,
            },
            Err(failure) => Worked {
                values: Vec::new(),
                failure: Some(failure),
            },
        },
        |answer: Vec<u8>| {
            counted.one();
            out.write_all(&answer)
                .context("cannot write to standard output")
                .map_err(Failure::from)
        },
    )
}

/// Waits for the poll interval. True if the reader of standard output has closed it.
fn wait(out: &mut BufWriter<Data>) -> Result<bool, Failure> {
    let mut watched = [PollFd::from_borrowed_fd(
        out.get_ref().as_fd(),
        // An error is reported unasked: the other end of the pipe is closed.
        PollFlags::empty(),
    )];
    let interval = Timespec::try_from(POLL_INTERVAL).expect("a tenth of a second is in range");
    match poll(&mut watched, Some(&interval)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => Ok(false),
        Ok(_) => Ok(true),
        Err(error) => Err(anyhow::Error::from(io::Error::from(error))
            .context("cannot wait for news")
            .into()),
    }
}
