//! The command line: what a person types, and what they read. Data goes to standard output,
//! everything else to standard error.

mod captures;
mod config;
mod control;
mod crawl;
mod daemon;
mod dedup;
mod demo;
mod dups;
mod exit;
mod extract;
mod features;
mod fingerprint;
mod in_order;
mod input;
mod kept;
mod lines;
mod normalize;
mod output;
mod packaging;
mod pages;
mod progress;
mod questions;
mod report;
mod retry;
mod robots;
mod signals;
mod similar;
mod sitemap;
mod status;
mod verdicts;
mod why;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use tracing_subscriber::EnvFilter;

use crate::daemon::client;
use crate::engine::{self, DirectoryError};
use crate::seeds;
use exit::Exit;
use output::Screen;

/// A polite, standalone web crawler whose heart is deduplication.
#[derive(Debug, Parser)]
#[command(name = "gleaner", version, about, max_term_width = 100)]
#[command(after_help = "Examples:
  gleaner demo                                          see what it does, without internet
  gleaner crawl https://example.org/ --data-dir crawl --user-agent 'examplebot/1.0 (+https://example.org/bot)'
  gleaner status --data-dir crawl")]
struct Cli {
    /// What to log to standard error: a level (error, warn, info, debug) or a filter such as
    /// `gleaner::fetch=debug` [default: warn; error with
    /// --quiet; for the daemon also what it does on its own]
    #[arg(long, global = true, value_name = "FILTER")]
    log: Option<String>,
    /// How to write log lines
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "FORMAT",
        default_value_t
    )]
    log_format: LogFormat,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
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

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum LogFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object a line
    Json,
}

impl Command {
    fn is_quiet(&self) -> bool {
        match self {
            Self::Crawl(arguments) => arguments.quiet,
            Self::Daemon(arguments) => arguments.quiet,
            _ => false,
        }
    }

    /// What is logged, unless the user says. A daemon tells what it does on its own.
    fn default_filter(&self) -> &'static str {
        match self {
            _ if self.is_quiet() => "error",
            Self::Daemon(_) => "warn,gleaner::daemon=info",
            _ => "warn",
        }
    }
}

/// Runs gleaner with the process's arguments.
pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are not errors; a closed pipe is none either.
            let _ = error.print();
            return if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Done
            }
            .into();
        }
    };
    let is_quiet = cli.command.is_quiet();
    let screen = Screen::new(is_quiet);
    let filter = cli.log.as_deref();
    let filter = filter.unwrap_or(cli.command.default_filter());
    let logging = start_logging(filter, cli.log_format, screen.clone());
    let result = logging.and_then(|()| match cli.command {
        Command::Demo(arguments) => demo::run(&arguments, &screen),
        Command::Crawl(arguments) => crawl::run(&arguments, &screen),
        Command::Daemon(arguments) => daemon::run(&arguments, &screen),
        Command::Pause(arguments) => control::pause(&arguments),
        Command::Resume(arguments) => control::resume(&arguments),
        Command::Stop(arguments) => control::stop(&arguments),
        Command::Seeds(command) => control::seeds(&command),
        Command::Retry(arguments) => retry::run(&arguments),
        Command::Status(arguments) => status::run(&arguments),
        Command::Pages(arguments) => pages::run(&arguments, &screen),
        Command::Why(arguments) => why::run(&arguments),
        Command::Dups(arguments) => dups::run(&arguments),
        Command::Similar(arguments) => similar::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Config(arguments) => config::run(&arguments),
        Command::Normalize(arguments) => normalize::run(&arguments),
        Command::Extract(arguments) => extract::run(&arguments),
        Command::Robots(arguments) => robots::run(&arguments),
        Command::Sitemap(arguments) => sitemap::run(&arguments),
        Command::Completions(arguments) => packaging::completions(&arguments),
        Command::Man(arguments) => packaging::man(&arguments),
        Command::Dedup(arguments) => dedup::run(&arguments),
        Command::Fingerprint(arguments) => fingerprint::run(&arguments),
    });
    match result {
        Ok(()) => Exit::Done.into(),
        Err(error) => report(&error).into(),
    }
}

/// What ends a command early.
#[derive(Debug)]
enum Failure {
    /// The engine's reasons.
    Engine(engine::Error),
    /// A running crawl could not be spoken to, or refused.
    Control(client::Error),
    /// Arguments, configuration or seeds are wrong, and what would help.
    Usage {
        message: String,
        hint: Option<&'static str>,
    },
    /// Standard output or another file could not be written.
    Io(anyhow::Error),
    /// Nothing failed, but the answer that was printed has an exit code of its own.
    Answered(Exit),
}

impl From<engine::Error> for Failure {
    fn from(error: engine::Error) -> Self {
        Self::Engine(error)
    }
}

impl From<client::Error> for Failure {
    fn from(error: client::Error) -> Self {
        Self::Control(error)
    }
}

impl From<crate::config::Error> for Failure {
    fn from(error: crate::config::Error) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<seeds::Error> for Failure {
    fn from(error: seeds::Error) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Io(error)
    }
}

impl Failure {
    fn usage(message: impl Into<String>) -> Self {
        Self::Usage {
            message: message.into(),
            hint: None,
        }
    }
}

/// Tells a person what happened and what to do.
fn report(failure: &Failure) -> Exit {
    let mut hints = Vec::new();
    let (message, exit) = match failure {
        Failure::Usage { message, hint } => {
            hints.extend(hint);
            (message.clone(), Exit::Usage)
        }
        Failure::Engine(error) if error.is_full_disk() => {
            hints.push("make room, then run the same command again: it goes on where it ended, and nothing that was committed is lost");
            (
                format!("the disk is full: {}", output::chain(error)),
                Exit::DiskFull,
            )
        }
        Failure::Engine(error @ (engine::Error::Position { .. } | engine::Error::Memory(_))) => {
            (output::chain(error), Exit::Usage)
        }
        Failure::Engine(
            error @ (engine::Error::StoreMissing { .. }
            | engine::Error::Refingerprint { .. }
            | engine::Error::UrlForm { .. }),
        ) => (output::chain(error), Exit::Directory),
        Failure::Engine(error @ engine::Error::Directory(reason)) => {
            if matches!(reason, DirectoryError::InUse { .. }) {
                hints.push("`gleaner status`, `pages`, `why`, `dups`, `similar` and `report` work while the other process runs, `pause`, `resume`, `stop`, `seeds add` and `retry` speak to it");
            }
            (output::chain(error), Exit::Directory)
        }
        Failure::Control(error @ client::Error::NotRunning(_)) => {
            hints.push(
                "`gleaner crawl` and `gleaner daemon` run one; without one nothing is to be said",
            );
            (output::chain(error), Exit::Directory)
        }
        Failure::Control(error) => (output::chain(error), Exit::Failed),
        Failure::Engine(error) => (output::chain(error), Exit::Failed),
        Failure::Io(error) if is_kind(error, io::ErrorKind::BrokenPipe) => return Exit::Done,
        Failure::Answered(exit) => return *exit,
        Failure::Io(error) if is_kind(error, io::ErrorKind::StorageFull) => {
            (format!("{error:#}"), Exit::DiskFull)
        }
        Failure::Io(error) => (format!("{error:#}"), Exit::Failed),
    };
    output::say(&format!("error: {message}"));
    for hint in hints {
        output::say(&format!("hint: {hint}"));
    }
    exit
}

/// Whether this is at the bottom of an error. A broken pipe: whoever read our output has enough of it.
fn is_kind(error: &anyhow::Error, kind: io::ErrorKind) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|error| error.kind() == kind)
}

fn start_logging(filter: &str, format: LogFormat, screen: Screen) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(filter).map_err(|error| Failure::Usage {
        message: format!("--log {filter:?} is not a filter: {error}"),
        hint: Some(
            "give a level (error, warn, info, debug), or module=level pairs parted by commas",
        ),
    })?;
    let colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && io::IsTerminal::is_terminal(&io::stderr());
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(move || screen.clone())
        .with_ansi(colour);
    match format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().flatten_event(true).with_ansi(false).init(),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    /// `--help` of every command shows how it is called.
    #[test]
    fn every_command_has_an_example() {
        fn check(command: &clap::Command, path: &str) {
            for inner in command.get_subcommands() {
                check(inner, &format!("{path} {}", inner.get_name()));
            }
            let help = command.get_after_help().or(command.get_after_long_help());
            let help = help.map(ToString::to_string).unwrap_or_default();
            let has_example = help.contains("Example") && help.contains(&format!("\n  {path} "));
            assert!(has_example, "{path}: no example in {help:?}");
        }
        check(&Cli::command(), "gleaner");
    }
}
