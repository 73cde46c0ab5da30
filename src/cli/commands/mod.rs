//! The commands, one file each: its arguments, and what it does with them.

mod demo;

mod control;
mod crawl;
mod daemon;
mod retry;

mod dups;
mod pages;
mod report;
mod similar;
mod status;
mod why;

mod config;

mod extract;
mod normalize;
mod robots;
mod sitemap;

mod dedup;
mod features;
mod fingerprint;

use clap::Subcommand;

use super::output::Screen;
use super::{Failure, packaging};

/// What gleaner is asked to do.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Crawl a small web that is built in, and explain what happened: a first look, no network
    Demo(demo::Arguments),
    /// Crawl from seeds into a data directory, or go on where the last run ended
    Crawl(crawl::Arguments),
    /// Crawl without an end: visit pages again, take seeds while it runs
    Daemon(daemon::Arguments),
    /// Let a crawl that runs make no new visits
    Pause(control::Pause),
    /// Let a crawl that was paused go on
    Resume(control::Resume),
    /// End a crawl that runs, in good order
    Stop(control::Stop),
    /// Give more seeds to a crawl that runs
    #[command(subcommand)]
    Seeds(control::Seeds),
    /// Put failed URLs back in their queues, also while the crawl runs
    Retry(retry::Arguments),
    /// Show the state of a crawl, also while it runs
    Status(status::Arguments),
    /// Print the pages as JSON, one a line, also while the crawl runs
    Pages(pages::Arguments),
    /// Tell what happened to a URL, and why
    Why(why::Arguments),
    /// List the clusters of duplicates, also while the crawl runs
    Dups(dups::Arguments),
    /// List the stored pages that are most like a page, also while the crawl runs
    Similar(similar::Arguments),
    /// Sum up what deduplication did, also while the crawl runs
    Report(report::Arguments),
    /// Show the settings that hold and who set each, or check a configuration file
    Config(config::Arguments),
    /// Print the canonical form of URLs, under which a crawl knows them
    Normalize(normalize::Arguments),
    /// Print the main text of a page, or of a stream of pages
    Extract(extract::Arguments),
    /// Say what a robots.txt allows, by which of its lines
    Robots(robots::Arguments),
    /// Print the URLs of a sitemap or feed
    Sitemap(sitemap::Arguments),
    /// Print what a shell needs to complete gleaner's commands and flags
    Completions(packaging::CompletionsArguments),
    /// Print the man page, or write those of all commands
    Man(packaging::ManArguments),
    /// Find the duplicates of a corpus: WARC files or JSON lines in, verdicts out
    Dedup(dedup::Arguments),
    /// Print what documents are compared by: digests, SimHash, sketches
    Fingerprint(fingerprint::Arguments),
}

impl Command {
    /// Whether only errors and hints are to be shown.
    pub(super) fn is_quiet(&self) -> bool {
        match self {
            Self::Crawl(arguments) => arguments.quiet,
            Self::Daemon(arguments) => arguments.quiet,
            _ => false,
        }
    }

    /// What is logged, unless the user says. A daemon tells what it does on its own.
    pub(super) fn default_filter(&self) -> &'static str {
        match self {
            _ if self.is_quiet() => "error",
            Self::Daemon(_) => "warn,gleaner::control=info",
            _ => "warn",
        }
    }

    /// Does what was asked for.
    pub(super) fn run(self, screen: &Screen) -> Result<(), Failure> {
        match self {
            Self::Demo(arguments) => demo::run(&arguments, screen),
            Self::Crawl(arguments) => crawl::run(&arguments, screen),
            Self::Daemon(arguments) => daemon::run(&arguments, screen),
            Self::Pause(arguments) => control::pause(&arguments),
            Self::Resume(arguments) => control::resume(&arguments),
            Self::Stop(arguments) => control::stop(&arguments),
            Self::Seeds(command) => control::seeds(&command),
            Self::Retry(arguments) => retry::run(&arguments),
            Self::Status(arguments) => status::run(&arguments),
            Self::Pages(arguments) => pages::run(&arguments, screen),
            Self::Why(arguments) => why::run(&arguments),
            Self::Dups(arguments) => dups::run(&arguments),
            Self::Similar(arguments) => similar::run(&arguments),
            Self::Report(arguments) => report::run(&arguments),
            Self::Config(arguments) => config::run(&arguments),
            Self::Normalize(arguments) => normalize::run(&arguments),
            Self::Extract(arguments) => extract::run(&arguments),
            Self::Robots(arguments) => robots::run(&arguments),
            Self::Sitemap(arguments) => sitemap::run(&arguments),
            Self::Completions(arguments) => packaging::completions(&arguments),
            Self::Man(arguments) => packaging::man(&arguments),
            Self::Dedup(arguments) => dedup::run(&arguments),
            Self::Fingerprint(arguments) => fingerprint::run(&arguments),
        }
    }
}
