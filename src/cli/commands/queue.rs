//! `gleaner queue`: what waits in a crawl, and taking it out.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::cli::inspector::Inspector;
use crate::cli::output::Screen;
use crate::cli::words::count;
use crate::cli::{Failure, output, signals};
use crate::config;
use crate::engine::{Crawl, Dropped, StopHandle, StoppedCrawl};
use crate::inspect::{Answer, DeferredFilter, DeferredNow, Question, WaitingFilter, WaitingNow};
use crate::url::HostPattern;

#[derive(Debug, Subcommand)]
pub(crate) enum Queue {
    /// List the URLs that wait to be fetched, or those that are deferred
    Ls(List),
    /// Take the URLs of a host out of the queue, without visiting them
    Drop(Drop),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner queue drop --host forum.example.org --dry-run --data-dir crawl
  gleaner queue drop --host forum.example.org --data-dir crawl
  gleaner retry --class dropped --host forum.example.org --data-dir crawl      takes it back

URLs that are found later are queued as ever; --exclude and --block-list keep them out. No process
may run the crawl meanwhile.")]
pub(crate) struct Drop {
    /// Data directory of the crawl
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    /// The host, with its subdomains; `*.example.org` for the subdomains alone
    #[arg(long, value_name = "HOST")]
    host: HostPattern,
    /// Only say what would be dropped
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner queue ls --data-dir crawl
  gleaner queue ls --data-dir crawl --host example.org --urls 100
  gleaner queue ls --deferred --data-dir crawl
  gleaner retry --data-dir crawl --class trap --host example.org")]
pub(crate) struct List {
    /// Data directory of the crawl
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    /// List the URLs that are kept for later because their like said nothing new
    #[arg(long)]
    deferred: bool,
    /// List only this host and its subdomains; `*.example.org` for the subdomains alone
    #[arg(long, value_name = "HOST")]
    host: Option<HostPattern>,
    /// List only the kind of deferred URLs with this name
    #[arg(long, value_name = "KIND", requires = "deferred")]
    kind: Option<String>,
    /// Also list so many of the URLs, at most 10,000
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    urls: usize,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

pub(super) fn run(command: &Queue) -> Result<(), Failure> {
    match command {
        Queue::Ls(arguments) => list(arguments),
        Queue::Drop(arguments) => drop_queued(arguments),
    }
}

fn drop_queued(arguments: &Drop) -> Result<(), Failure> {
    let directory = &arguments.data_dir;
    let settings = StoppedCrawl::open(directory).and_then(|crawl| crawl.settings())?;
    // By the settings of the last run: nothing is requested.
    let mut crawl = Crawl::open(directory, config::kept(&settings).options()?)?;
    let dropped = match arguments.dry_run {
        true => crawl.would_drop(&arguments.host)?,
        false => {
            let stop = StopHandle::new();
            signals::listen(stop.clone(), Screen::new(false))?;
            crawl.drop_queued(&arguments.host, &stop)?
        }
    };
    Ok(output::print_answer(&dropped, arguments.json, |dropped| {
        dropped_in_words(dropped, arguments)
    })?)
}

/// What was dropped, the hosts with the most of it, and how to take that back.
fn dropped_in_words(dropped: &Dropped, arguments: &Drop) -> String {
    let (urls, host) = (count(dropped.urls, "URL"), &arguments.host);
    if dropped.urls == 0 {
        return format!(
            "nothing waits at {host}; elsewhere {} wait\n",
            count(dropped.left, "URL")
        );
    }
    let did = match arguments.dry_run {
        true => "would drop",
        false => "dropped",
    };
    let mut text = format!(
        "{did} {urls} of {}; {} still queued elsewhere\n",
        count(dropped.hosts, "host"),
        dropped.left
    );
    for (name, urls) in &dropped.named {
        let _ = writeln!(text, "{urls:>9}  {name}");
    }
    if !arguments.dry_run {
        let directory = arguments.data_dir.display();
        let _ = writeln!(
            text,
            "`gleaner retry --class dropped --host {host} --data-dir {directory}` takes it back"
        );
    }
    text
}

fn list(arguments: &List) -> Result<(), Failure> {
    let mut inspector = Inspector::open(&arguments.data_dir)?;
    if !arguments.deferred {
        let filter = WaitingFilter {
            host: arguments.host.clone(),
            urls: arguments.urls,
        };
        let Answer::Waiting(now) = inspector.ask(Question::Waiting(filter))? else {
            return Err(Failure::other_answer());
        };
        return Ok(output::print_answer(
            &now,
            arguments.json,
            waiting_in_words,
        )?);
    }
    let filter = DeferredFilter {
        host: arguments.host.clone(),
        kind: arguments.kind.clone(),
        urls: arguments.urls,
    };
    let Answer::Deferred(now) = inspector.ask(Question::Deferred(filter))? else {
        return Err(Failure::other_answer());
    };
    Ok(output::print_answer(&now, arguments.json, in_words)?)
}

/// One line per host, then one per URL.
fn waiting_in_words(now: &WaitingNow) -> String {
    let mut text = String::new();
    for host in &now.by_host {
        let state = match (&host.held, host.parked, &host.trouble) {
            (Some(since), ..) => format!("held since {since}"),
            (None, true, Some(trouble)) => {
                format!("parked until {}: {}", host.due, trouble.name())
            }
            (None, true, None) => format!("parked until {}", host.due),
            (None, false, _) => format!("not before {}", host.due),
        };
        let _ = writeln!(text, "{:>9}  {}  ({state})", host.queued, host.host);
    }
    let others = now.hosts.saturating_sub(now.by_host.len() as u64);
    if others > 0 {
        let _ = writeln!(text, "           and {} with fewer", count(others, "host"));
    }
    let _ = writeln!(
        text,
        "{:>9}  URLs wait at {}",
        now.queued,
        count(now.hosts, "host")
    );
    for url in &now.urls {
        let _ = writeln!(text, "{url}");
    }
    text
}

/// One line per kind, then one per URL.
fn in_words(now: &DeferredNow) -> String {
    let mut text = String::new();
    for kind in &now.kinds {
        let count = kind.deferred + kind.returning;
        let _ = write!(
            text,
            "{count:>9}  {}  {}  ({} samples, {} said something",
            kind.host, kind.what, kind.sampled, kind.found
        );
        if let Some(missed) = kind.missed_at_most {
            let percent = f64::from(missed) / 100.0;
            let _ = write!(text, "; at most {percent} % of the rest do");
        }
        let _ = writeln!(text, ")  such as {}", kind.example);
    }
    let _ = writeln!(text, "{:>9}  URLs are deferred", now.deferred);
    for url in &now.urls {
        let _ = writeln!(text, "{url}");
    }
    text
}
