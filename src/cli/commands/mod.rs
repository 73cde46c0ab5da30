//! The commands, one per file: the arguments of each, and what it does.

mod demo;

mod cluster;
mod control;
mod crawl;
mod daemon;
mod forget;
mod retry;

mod check;
mod duplicates;
mod export;
mod pages;
mod queue;
mod report;
mod similar;
mod status;
mod why;

mod config;

mod extract;
mod normalize;
mod robots;
mod sitemap;

mod corpus;
mod warc;

use clap::Subcommand;

use super::output::Screen;
use super::{Failure, packaging};
use corpus::{dedup, fingerprint};

/// The commands, in the order in which `--help` lists them.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Crawl a small built-in web and explain the results, without network access
    Demo(demo::Arguments),
    /// Crawl from seeds, or resume a crawl where its last run stopped
    Crawl(crawl::Arguments),
    /// Crawl continuously: revisit pages and accept new seeds while running
    Daemon(daemon::Arguments),
    /// Crawl some shards of a crawl that several workers share
    Worker(crawl::worker::Arguments),
    /// Create, watch and steer a crawl that several workers share
    #[command(
        subcommand,
        after_help = "Example:\n  gleaner cluster status nats://127.0.0.1/news"
    )]
    Cluster(cluster::Cluster),
    /// Pause a running crawl, or one host
    Pause(control::Pause),
    /// Resume a paused crawl, or one host
    Resume(control::Resume),
    /// Stop a running crawl gracefully
    Stop(control::Stop),
    /// Add seeds to a running crawl
    #[command(subcommand)]
    Seeds(control::Seeds),
    /// Requeue failed and deferred URLs
    Retry(retry::Arguments),
    /// Turn duplicates back into stored pages
    Restore(duplicates::restore::Arguments),
    /// Say which duplicates are right, and learn how precise each tier is
    Mark(duplicates::mark::Arguments),
    /// Remove pages for good, from the archive too, and never fetch them again
    Forget(forget::Arguments),
    /// Show the state of a crawl
    Status(status::Arguments),
    /// List the URLs that wait, or are deferred, and drop some
    #[command(
        subcommand,
        after_help = "Example:\n  gleaner queue ls --data-dir crawl"
    )]
    Queue(queue::Queue),
    /// Print the pages of a crawl as JSON lines
    Pages(pages::Arguments),
    /// Write crawls to files for other tools: JSON lines, tables, texts, packages
    Export(export::Arguments),
    /// Explain what happened to a URL
    Why(why::Arguments),
    /// Print a visited page, duplicates rebuilt
    Show(duplicates::show::Arguments),
    /// List clusters of duplicates
    Dups(duplicates::dups::Arguments),
    /// List the stored pages that are most similar to a page
    Similar(similar::Arguments),
    /// Summarize the results of deduplication
    Report(report::Arguments),
    /// Read all that a crawl keeps on disk, and say what is damaged
    Check(check::Arguments),
    /// Show the effective settings, or check a configuration file
    Config(config::Arguments),
    /// Print the canonical form of URLs
    Normalize(normalize::Arguments),
    /// Extract the main text of HTML pages
    Extract(extract::Arguments),
    /// Check URLs against a robots.txt file
    Robots(robots::Arguments),
    /// List the URLs of a sitemap or feed
    Sitemap(sitemap::Arguments),
    /// Generate shell completions
    Completions(packaging::CompletionsArguments),
    /// Generate man pages
    Man(packaging::ManArguments),
    /// Find duplicates in a corpus of WARC files or JSON lines
    Dedup(dedup::Arguments),
    /// Print the fingerprints of documents
    Fingerprint(fingerprint::Arguments),
    /// List, print, index, check and repair the records of WARC files
    #[command(
        subcommand,
        after_help = "Example:\n  gleaner warc verify crawl/warc/*.warc.gz"
    )]
    Warc(warc::Warc),
}

impl Command {
    /// Whether only errors and hints should be shown.
    pub(super) fn is_quiet(&self) -> bool {
        match self {
            Self::Crawl(arguments) => arguments.quiet,
            Self::Daemon(arguments) => arguments.quiet,
            Self::Worker(arguments) => arguments.quiet,
            _ => false,
        }
    }

    /// The log filter, unless the user gives one. A daemon also logs what it does on its own.
    pub(super) fn default_filter(&self) -> &'static str {
        match self {
            _ if self.is_quiet() => "error",
            Self::Daemon(_) => "warn,gleaner::control=info",
            _ => "warn",
        }
    }

    /// Runs the command.
    pub(super) fn run(self, screen: &Screen) -> Result<(), Failure> {
        match self {
            Self::Demo(arguments) => demo::run(&arguments, screen),
            Self::Crawl(arguments) => crawl::run(&arguments, screen),
            Self::Daemon(arguments) => daemon::run(&arguments, screen),
            Self::Worker(arguments) => crawl::worker::run(&arguments, screen),
            Self::Cluster(command) => cluster::run(&command, screen),
            Self::Pause(arguments) => control::pause(&arguments),
            Self::Resume(arguments) => control::resume(&arguments),
            Self::Stop(arguments) => control::stop(&arguments),
            Self::Seeds(command) => control::seeds(&command),
            Self::Retry(arguments) => retry::run(&arguments),
            Self::Restore(arguments) => duplicates::restore::run(&arguments),
            Self::Mark(arguments) => duplicates::mark::run(&arguments),
            Self::Forget(arguments) => forget::run(&arguments),
            Self::Status(arguments) => status::run(&arguments),
            Self::Queue(command) => queue::run(&command),
            Self::Pages(arguments) => pages::run(&arguments, screen),
            Self::Export(arguments) => export::run(&arguments, screen),
            Self::Why(arguments) => why::run(&arguments),
            Self::Show(arguments) => duplicates::show::run(&arguments),
            Self::Dups(arguments) => duplicates::dups::run(&arguments),
            Self::Similar(arguments) => similar::run(&arguments),
            Self::Report(arguments) => report::run(&arguments),
            Self::Check(arguments) => check::run(&arguments),
            Self::Config(arguments) => config::run(&arguments),
            Self::Normalize(arguments) => normalize::run(&arguments),
            Self::Extract(arguments) => extract::run(&arguments, screen),
            Self::Robots(arguments) => robots::run(&arguments),
            Self::Sitemap(arguments) => sitemap::run(&arguments),
            Self::Completions(arguments) => packaging::completions(&arguments),
            Self::Man(arguments) => packaging::man(&arguments),
            Self::Dedup(arguments) => dedup::run(&arguments, screen),
            Self::Fingerprint(arguments) => fingerprint::run(&arguments),
            Self::Warc(command) => warc::run(&command),
        }
    }
}
