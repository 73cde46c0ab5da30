//! `gleaner pages`: prints one line of JSON per page in the order of commits, and with `--follow`
//! new pages as they are committed.

use std::io::{self, BufWriter, Write as _};
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use clap::builder::PossibleValuesParser;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use super::duplicates::show;
use crate::cli::Failure;
use crate::cli::output::{self, Screen};
use crate::cli::shown::Data;
use crate::dedup::Similarity;
use crate::engine::{
    Digests, LogLine, PageGroup, PageLine, Position, RecordPlace, Texts, VisitVerdict,
};
use crate::inspect::{Feed, Outlook};
use crate::page::Wish;

/// Poll interval of `--follow`.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner pages --data-dir crawl --unique | jq -r '[.url, .title] | @tsv'
  gleaner pages --data-dir crawl --without noai,tdm-reservation
  gleaner pages --data-dir crawl --follow | while read -r page; do ...; done
  gleaner pages --data-dir crawl --follow --after 0:48213     continue after that `position`

Each line is an object with url, canonical, canonical_hint, via, time, status, mime, size, title,
language, robots, text, words, digests, simhash, verdict, distance, similarity, original, group,
supersedes, record and position; docs/formats.md documents the fields. The crawl may be running.")]
pub(crate) struct Arguments {
    /// Data directory of the crawl
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    /// Print only originals: no duplicates, errors or redirects
    #[arg(long)]
    unique: bool,
    /// Omit pages that ask for one of these in a robots meta tag or header: noindex, nofollow,
    /// noarchive, noai, noimageai, tdm-reservation
    #[arg(long, value_name = "WISH,...", value_delimiter = ',', value_parser = wish_parser(), hide_possible_values = true)]
    without: Vec<String>,
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

fn wish_parser() -> PossibleValuesParser {
    PossibleValuesParser::new(Wish::ALL.map(|(_, name)| name))
}

/// A line of the output.
#[derive(Serialize)]
struct Line<'a> {
    url: &'a str,
    canonical: &'a str,
    canonical_hint: Option<&'a str>,
    via: Option<&'a str>,
    time: &'a str,
    status: u16,
    mime: Option<&'a str>,
    size: u64,
    title: Option<&'a str>,
    language: Option<&'a str>,
    robots: &'a [String],
    text: Option<String>,
    words: Option<u32>,
    digests: &'a Digests,
    simhash: Option<&'a str>,
    verdict: &'a str,
    distance: Option<u8>,
    similarity: Option<Similarity>,
    original: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a PageGroup>,
    #[serde(skip_serializing_if = "Option::is_none")]
    supersedes: Option<&'a RecordPlace>,
    record: Option<&'a RecordPlace>,
    position: String,
}

/// Reads texts from the archive.
struct Source {
    texts: Texts,
    /// The last file that could not be read, to log it once rather than for each page.
    unreadable: Option<String>,
}

impl Source {
    fn read(&mut self, line: &LogLine, page: &PageLine) -> Option<String> {
        let error = match self.texts.read(&line.url, page) {
            Ok(text) => return text,
            Err(error) => output::chain(&error),
        };
        let file = page.text.as_ref().map(|place| place.file.clone());
        if self.unreadable != file {
            tracing::warn!(url = line.url, error, "cannot read texts from this file");
            self.unreadable = file;
        }
        None
    }
}

pub(super) fn run(arguments: &Arguments, screen: &Screen) -> Result<(), Failure> {
    let mut feed = Feed::open(&arguments.data_dir, arguments.after)?;
    let texts = show::texts(&arguments.data_dir);
    let mut texts = (!arguments.no_text).then_some(Source {
        texts,
        unreadable: None,
    });
    let mut out = BufWriter::new(Data::lock());
    let mut has_ended = !arguments.follow;
    let mut was_killed = false;
    loop {
        while let Some((line, position)) = feed.read_line()? {
            if let Some(page) = &line.page
                && (!arguments.unique || line.verdict == VisitVerdict::Unique)
                && !page
                    .robots
                    .iter()
                    .any(|wish| arguments.without.contains(wish))
            {
                // Of a group whose texts differ in digits only, the first one's is enough.
                let is_given = page.group.as_ref().is_none_or(|group| !group.digits_only);
                let texts = texts.as_mut().filter(|_| is_given);
                let text = texts.and_then(|texts| texts.read(&line, page));
                write(&mut out, &line, page, position, text)?;
            }
        }
        out.flush().map_err(anyhow::Error::from)?;
        if has_ended {
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

fn write(
    out: &mut impl io::Write,
    line: &LogLine,
    page: &PageLine,
    position: Position,
    text: Option<String>,
) -> Result<(), Failure> {
    let line = Line {
        url: &line.url,
        canonical: page.canonical.as_ref().unwrap_or(&line.url),
        canonical_hint: page.canonical_hint.as_deref(),
        via: line.via.as_deref(),
        time: &line.time,
        status: line.status,
        mime: line.mime.as_deref(),
        size: line.size,
        title: page.title.as_deref(),
        language: page.language.as_deref(),
        robots: &page.robots,
        text,
        words: page.words,
        digests: &page.digests,
        simhash: page.simhash.as_deref(),
        verdict: line.verdict.name(),
        distance: page.distance,
        similarity: page.similarity,
        original: line.original.as_deref(),
        group: page.group.as_ref(),
        supersedes: page.supersedes.as_ref(),
        record: page.record.as_ref(),
        position: position.to_string(),
    };
    serde_json::to_writer(&mut *out, &line)
        .map_err(io::Error::from)
        .and_then(|()| out.write_all(b"\n"))
        .context("cannot write to standard output")?;
    Ok(())
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
