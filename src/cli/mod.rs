//! The command line: what a person types, and what they read. Data goes to standard output,
//! everything else to standard error.

mod commands;

mod exit;
mod input;
mod inspector;
mod output;
mod packaging;
mod progress;
mod signals;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use tracing_subscriber::EnvFilter;

use crate::control::client;
use crate::engine::{self, DirectoryError};
use crate::{inspect, seeds};
use commands::Command;
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

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum LogFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object a line
    Json,
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
    let result = logging.and_then(|()| cli.command.run(&screen));
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

impl From<inspect::Error> for Failure {
    fn from(error: inspect::Error) -> Self {
        match error {
            inspect::Error::Crawl(error) => Self::Engine(error),
            inspect::Error::Store(error) => Self::Engine(error.into()),
            inspect::Error::Url { .. } => Self::usage(error.to_string()),
        }
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

    /// A running crawl of another version answers something else than was asked.
    fn other_answer() -> Self {
        Self::Io(anyhow::anyhow!("the crawl answered another question"))
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
