//! `gleaner restore`: turns duplicates back into stored pages of their own.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::exit::Exit;
use crate::cli::{Failure, output, words};
use crate::config;
use crate::dedup::Tier;
use crate::engine::{self, RestoreFilter, Restored, StoppedCrawl};
use crate::url::{self, HostPattern};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner restore --data-dir crawl https://example.org/page
  gleaner restore --data-dir crawl --tier near --dry-run
  gleaner restore --data-dir crawl --tier content,near --host example.org

The body of each page is rebuilt from what it differs in from its original, and stored as a response
in warc/; the page is then an original like any other. The crawl must not be running.")]
pub(crate) struct Arguments {
    /// Data directory of the crawl
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    /// Pages to restore; without any, all of the tiers
    #[arg(value_name = "URL")]
    urls: Vec<String>,
    /// Tiers of the duplicates to restore, separated by commas
    #[arg(
        long = "tier",
        value_name = "TIER",
        required_unless_present = "urls",
        value_delimiter = ','
    )]
    tiers: Vec<Named>,
    /// Restore only pages of this host and its subdomains; `*.example.org` for the subdomains alone
    #[arg(long, value_name = "HOST")]
    host: Option<HostPattern>,
    /// Rebuild and count only; change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// A tier whose duplicates have bodies of their own.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Named {
    Normalized,
    Content,
    Near,
}

pub(in crate::cli::commands) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let tier = |named: &Named| match named {
        Named::Normalized => Tier::Normalized,
        Named::Content => Tier::Content,
        Named::Near => Tier::Near,
    };
    let mut urls = Vec::new();
    for given in &arguments.urls {
        let url = url::parse(given);
        urls.push(url.map_err(|error| Failure::no_url("", given, error))?);
    }
    let tiers = match arguments.tiers.is_empty() {
        true => Named::value_variants(),
        false => &arguments.tiers,
    };
    let filter = RestoreFilter {
        tiers: tiers.iter().map(tier).collect(),
        host: arguments.host.clone(),
        urls,
        dry_run: arguments.dry_run,
    };
    let options = {
        let crawl = StoppedCrawl::open(&arguments.data_dir)?;
        config::kept(&crawl.settings()?).options()?
    };
    let restored = engine::restore(&arguments.data_dir, &options, &filter)?;
    let words = if arguments.dry_run { would } else { did };
    output::print_answer(&restored, arguments.json, words)?;
    for failure in &restored.failures {
        output::say(&format!("not restored: {failure}"));
    }
    match restored.failed + restored.refused {
        0 => Ok(()),
        _ => Err(Failure::Answered(Exit::Failed)),
    }
}

fn would(restored: &Restored) -> String {
    in_words("would restore", restored)
}

fn did(restored: &Restored) -> String {
    in_words("restored", restored)
}

fn in_words(verb: &str, restored: &Restored) -> String {
    let sum: u64 = restored.pages.values().sum();
    let by_tier = restored.pages.iter();
    let by_tier: Vec<String> = by_tier
        .map(|(tier, count)| format!("{count} {tier}"))
        .collect();
    let detail = match by_tier.is_empty() {
        true => String::new(),
        false => format!(" ({})", by_tier.join(", ")),
    };
    let not_kept = match restored.not_kept {
        0 => String::new(),
        count => format!("; of {} no body was kept", words::count(count, "page")),
    };
    let failed = match restored.failed {
        0 => String::new(),
        count => format!("; {} could not be read", words::count(count, "page")),
    };
    let refused = match restored.refused {
        0 => String::new(),
        count => format!("; {} not to be restored", words::count(count, "page")),
    };
    let bytes = restored.bytes;
    let pages = words::count(sum, "page");
    format!("{verb} {pages}{detail}, {bytes} bytes{not_kept}{failed}{refused}\n")
}
