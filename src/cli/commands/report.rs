//! `gleaner report`: the results of deduplication, for people, as JSON and as a page.

mod saved;

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use clap::builder::RangedU64ValueParser;

use crate::cli::inspector::Inspector;
use crate::cli::{Failure, left_out, output, words};
use crate::inspect::{Answer, MAX_LISTED, Question, Report, ReportOptions};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner report --data-dir crawl
  gleaner report --data-dir crawl --json | jq '.tiers[] | [.tier, .pages, .saved]'
  gleaner report --data-dir crawl --min-pages 100 --top 10
  gleaner report --data-dir crawl -o report.html

The HTML file has the overview, the hosts and the clusters of the page that `gleaner daemon --listen`
serves, with their curves; it opens from disk and needs nothing else. The crawl may be running.")]
pub(crate) struct Arguments {
    /// Data directory of the crawl
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    /// Number of clusters and hosts to list
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = listed())]
    top: usize,
    /// List only hosts with at least this number of pages
    #[arg(long, value_name = "N", default_value_t = 1)]
    min_pages: u64,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    /// Write a page with curves, hosts and clusters to this HTML file instead
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["json", "top", "min_pages"])]
    output: Option<PathBuf>,
}

/// Parses a number of rows to list.
pub(super) fn listed() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=MAX_LISTED as u64)
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(path) = &arguments.output {
        let page = saved::page(&arguments.data_dir)?;
        fs::write(path, &page).with_context(|| format!("cannot write {}", path.display()))?;
        let (size, path) = (words::size(page.len() as u64), path.display());
        output::say(&format!("{path}: {size}; open it in a browser"));
        return Ok(());
    }
    let question = Question::Report(ReportOptions {
        top: arguments.top,
        min_pages: arguments.min_pages,
    });
    let Answer::Report(report) = Inspector::open(&arguments.data_dir)?.ask(question)? else {
        return Err(Failure::other_answer());
    };
    Ok(output::print_answer(&*report, arguments.json, in_words)?)
}

/// What two shards have stored.
fn raced(report: &Report) -> String {
    match report.raced {
        0 => String::new(),
        raced => format!(
            "{:<12}{raced:>12}  originals that another shard had stored too, at the same time\n",
            "raced",
        ),
    }
}

/// What was fetched besides pages.
fn requisites(report: &Report) -> String {
    let of = &report.requisites;
    if of.fetched == 0 {
        return String::new();
    }
    format!(
        "{:<12}{:>12}  files that pages need, {} bytes, {} the same as others\n",
        "requisites", of.fetched, of.bytes, of.same,
    )
}

/// What earlier crawls spared this one.
fn since(report: &Report) -> String {
    let Some(of) = &report.since else {
        return String::new();
    };
    format!(
        "{:<12}{:>12}  pages of {} that an earlier crawl has; {} bytes of its responses not stored again\n",
        "unchanged",
        of.unchanged,
        of.unchanged + of.changed,
        of.saved,
    )
}

/// The report for a person.
fn in_words(report: &Report) -> String {
    let mut text = String::new();
    let share = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
    let _ = writeln!(
        text,
        "{:<12}{:>12}  originals or duplicates\n{:<12}{:>12}  {:.1} % of them, of {} originals\n{:<12}{:>12}  bytes, {:.1} % of those received",
        "pages",
        report.judged,
        "duplicates",
        report.duplicates,
        share(report.duplicates, report.judged),
        report.clusters,
        "saved",
        report.saved,
        share(report.saved, report.received),
    );
    text.push_str(&raced(report));
    text.push_str(&requisites(report));
    text.push_str(&since(report));
    let left_out = left_out::in_words(&report.omissions);
    if !left_out.is_empty() {
        let _ = write!(text, "\n{left_out}");
    }
    if report.duplicates == 0 {
        return text;
    }
    let _ = writeln!(
        text,
        "\nBy tier\n\n  {:<12}{:>10}{:>16}",
        "", "pages", "bytes saved"
    );
    for tier in &report.tiers {
        let _ = writeln!(
            text,
            "  {:<12}{:>10}{:>16}",
            tier.tier.name(),
            tier.pages,
            tier.saved
        );
    }
    let histogram = |text: &mut String, title: &str, rows: &[(String, u64)]| {
        let most = rows.iter().map(|(_, pages)| *pages).max().unwrap_or(0);
        if most == 0 {
            return;
        }
        let _ = writeln!(text, "\n{title}\n");
        for (name, pages) in rows {
            let bar = "#".repeat((40 * pages).div_ceil(most) as usize);
            let _ = writeln!(text, "  {name:<12}{pages:>10}  {bar}");
        }
    };
    let last = report.distances.keys().next_back().copied().unwrap_or(0);
    let distances: Vec<_> = (0..=last)
        .map(|bits| (bits, report.distances.get(&bits).copied().unwrap_or(0)))
        .map(|(bits, pages)| (bits.to_string(), pages))
        .collect();
    histogram(
        &mut text,
        "Near duplicates by distance, in bits",
        &distances,
    );
    let similarities: Vec<_> = report
        .similarities
        .iter()
        .map(|(similarity, pages)| (format!("{:.2}", similarity.share()), *pages))
        .collect();
    histogram(&mut text, "Near duplicates by similarity", &similarities);
    let _ = writeln!(
        text,
        "\nLargest clusters\n\n  {:>10}{:>16}  original",
        "pages", "bytes saved"
    );
    for cluster in &report.largest {
        let best = if cluster.canonical == cluster.original {
            String::new()
        } else {
            format!(", preferred URL {}", cluster.canonical)
        };
        let _ = writeln!(
            text,
            "  {:>10}{:>16}  {}{best}",
            cluster.duplicates, cluster.saved, cluster.original
        );
    }
    let _ = writeln!(
        text,
        "\nHosts by share of duplicates\n\n  {:>8}{:>12}{:>10}  host",
        "share", "duplicates", "pages"
    );
    for host in &report.hosts {
        let _ = writeln!(
            text,
            "  {:>6.1} %{:>12}{:>10}  {}",
            100.0 * host.rate,
            host.duplicates,
            host.judged,
            host.host
        );
    }
    text
}
