//! `gleaner queue`: what waits in a crawl.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::cli::inspector::Inspector;
use crate::cli::{Failure, output};
use crate::inspect::{Answer, DeferredFilter, DeferredNow, Question};
use crate::url::HostPattern;

#[derive(Debug, Subcommand)]
pub(crate) enum Queue {
    /// List the URLs that are kept for later because their like said nothing new
    Ls(List),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner queue ls --deferred --data-dir crawl
  gleaner queue ls --deferred --data-dir crawl --host example.org --urls 100
  gleaner retry --data-dir crawl --class trap --host example.org")]
pub(crate) struct List {
    /// Data directory of the crawl
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    /// List deferred URLs
    #[arg(long, required = true)]
    deferred: bool,
    /// List only this host and its subdomains; `*.example.org` for the subdomains alone
    #[arg(long, value_name = "HOST")]
    host: Option<HostPattern>,
    /// List only the kind of URLs with this name
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Also list so many of the URLs
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    urls: usize,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

pub(super) fn run(command: &Queue) -> Result<(), Failure> {
    let Queue::Ls(arguments) = command;
    let mut inspector = Inspector::open(&arguments.data_dir)?;
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
