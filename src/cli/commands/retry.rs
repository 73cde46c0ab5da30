//! `gleaner retry`: requeues URLs that were given up or deferred.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::cli::{Failure, output};
use crate::control::client::Client;
use crate::engine::{self, DirectoryError, Retried, RetryFilter, RetryHosts, retry_classes};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner retry --data-dir crawl --class dns
  gleaner retry --data-dir crawl --class timeout,connect --host example.org && gleaner crawl --data-dir crawl")]
pub(crate) struct Arguments {
    /// Data directory of the crawl
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    #[command(flatten)]
    which: Which,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// What is retried.
#[derive(Debug, Args)]
pub(in crate::cli::commands) struct Which {
    /// Classes of failure to retry, separated by commas; `trap` for deferred URLs
    #[arg(
        long = "class",
        value_name = "CLASS",
        required = true,
        value_delimiter = ',',
        value_parser = PossibleValuesParser::new(retry_classes())
    )]
    classes: Vec<String>,
    /// Retry only this host and its subdomains; `*.example.org` for the subdomains alone,
    /// `https://example.org` for one host alone
    #[arg(long, value_name = "HOST")]
    host: Option<RetryHosts>,
}

impl Which {
    pub(in crate::cli::commands) fn filter(&self) -> RetryFilter {
        RetryFilter {
            classes: self.classes.clone(),
            host: self.host.clone(),
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let filter = arguments.which.filter();
    let retried = match engine::retry(&arguments.data_dir, &filter) {
        Err(engine::Error::Directory(DirectoryError::InUse {
            for_a_while: false, ..
        })) => Client::connect(&arguments.data_dir)?.retry(&filter)?,
        retried => retried?,
    };
    Ok(output::print_answer(&retried, arguments.json, in_words)?)
}

/// Says what was requeued, in a line.
pub(in crate::cli::commands) fn in_words(retried: &Retried) -> String {
    let sum: u64 = retried.urls.values().sum();
    let by_class: Vec<String> = retried
        .urls
        .iter()
        .map(|(class, count)| format!("{count} {class}"))
        .collect();
    let detail = if by_class.is_empty() {
        String::new()
    } else {
        format!(" ({})", by_class.join(", "))
    };
    let hosts = match retried.hosts {
        0 => String::new(),
        1 => "; 1 host no longer waits after failures".to_owned(),
        hosts => format!("; {hosts} hosts no longer wait after failures"),
    };
    format!(
        "requeued {}{detail}{hosts}\n",
        crate::cli::words::count(sum, "URL")
    )
}
