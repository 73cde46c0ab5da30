//! The command line interface. Data goes to standard output, everything else to standard error.

mod commands;
mod elsewhere;

mod exit;
mod help;
mod input;
mod inspector;
mod left_out;
mod logging;
mod output;
mod packaging;
mod progress;
mod said;
mod shown;
mod signals;
mod words;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser};

use crate::control::client;
use crate::engine::{self, DirectoryError};
use crate::{inspect, seeds};
use commands::Command;
use exit::Exit;
use logging::LogFormat;
use output::Screen;

/// A polite, standalone web crawler with deduplication at its core.
#[derive(Debug, Parser)]
#[command(name = "gleaner", version, about, max_term_width = 100)]
#[command(after_help = "Examples:
  gleaner demo
  gleaner crawl https://example.org/ --data-dir crawl \\
      --user-agent 'examplebot/1.0 (+https://example.org/bot)'
  gleaner status --data-dir crawl

Use `gleaner help COMMAND` for the options of a command.")]
struct Cli {
    /// Log filter: a level (error, warn, info, debug) or directives such as `gleaner::fetch=debug`
    /// [default: warn; error with --quiet]
    // Behind the options of the command.
    #[arg(long, global = true, value_name = "FILTER", display_order = 990)]
    log: Option<String>,
    /// Log format
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "FORMAT",
        display_order = 991,
        default_value_t
    )]
    log_format: LogFormat,

    #[command(subcommand)]
    command: Command,
}

/// Runs gleaner with the arguments of the process.
pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.collect();
    let format = LogFormat::of(&arguments);
    let matches = help::grouped(Cli::command()).try_get_matches_from(arguments);
    let cli = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors, nor is a closed pipe.
            if !error.use_stderr() {
                let _ = error.print();
                return Exit::Done.into();
            }
            match format {
                LogFormat::Text => drop(error.print()),
                LogFormat::Json => {
                    let _ = logging::start("warn", format, &Screen::new(false));
                    said::say_error(error.to_string().trim_end());
                }
            }
            return Exit::Usage.into();
        }
    };
    let is_quiet = cli.command.is_quiet();
    let screen = Screen::new(is_quiet);
    let filter = cli.log.as_deref();
    let filter = filter.unwrap_or(cli.command.default_filter());
    let logging = logging::start(filter, cli.log_format, &screen);
    let result = logging.and_then(|()| cli.command.run(&screen));
    match result {
        Ok(()) => Exit::Done.into(),
        Err(error) => report(&error).into(),
    }
}

/// Why a command ended early.
#[derive(Debug)]
enum Failure {
    /// The crawl could not be opened or continued.
    Engine(engine::Error),
    /// A running crawl could not be reached, or refused a request.
    Control(client::Error),
    /// Another process has the address that the console is to listen on, or nobody can have it.
    Taken(String),
    /// Another process has what was given.
    InUse(String),
    /// Arguments, configuration or seeds are invalid; the hint says what would help.
    Usage {
        message: String,
        hint: Option<&'static str>,
    },
    /// A file or standard output could not be read or written.
    Io(anyhow::Error),
    /// Nothing failed, but the answer that was printed has its own exit code.
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
            error => Self::Io(error.into()),
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
        match error {
            // As of any other file of the directory.
            crate::config::Error::Disk { path, source } => {
                Self::Engine(engine::Error::Status { path, source })
            }
            error => Self::usage(error.to_string()),
        }
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

    /// What went wrong, for whoever reads no terminal.
    fn in_words(&self) -> String {
        match self {
            Self::Usage { message, .. } | Self::Taken(message) | Self::InUse(message) => {
                message.clone()
            }
            Self::Engine(error) => output::chain(error),
            Self::Control(error) => output::chain(error),
            Self::Io(error) => format!("{error:#}"),
            Self::Answered(_) => String::new(),
        }
    }

    /// What was given is no URL. `what` says before it what it was given for.
    fn no_url(what: &str, given: &str, error: impl std::fmt::Display) -> Self {
        Self::Usage {
            message: format!("{what}{given:?}: {error}"),
            hint: Some("give an absolute URL, such as https://example.org/page"),
        }
    }

    /// The running crawl gave an answer of another kind, which a different version might.
    fn other_answer() -> Self {
        Self::Io(anyhow::anyhow!(
            "the running crawl gave an unexpected answer; is it another version of gleaner?"
        ))
    }
}

/// Prints what went wrong and what to do about it.
fn report(failure: &Failure) -> Exit {
    let mut hints = Vec::new();
    let (message, exit) = match failure {
        Failure::Usage { message, hint } => {
            hints.extend(hint);
            (message.clone(), Exit::Usage)
        }
        Failure::Taken(message) => (message.clone(), Exit::Directory),
        Failure::InUse(message) => (message.clone(), Exit::InUse),
        Failure::Engine(error) if error.is_full_disk() => {
            hints.push("free some space and run the same command again: it resumes where it stopped, and no committed data is lost");
            (
                format!("the disk is full: {}", output::chain(error)),
                Exit::Disk,
            )
        }
        Failure::Engine(error) if error.is_bad_disk() => {
            hints.push("the same command resumes the crawl once the disk works again, and builds anew what can be built anew; `gleaner check` tells what is damaged");
            (
                format!("the disk fails: {}", output::chain(error)),
                Exit::Disk,
            )
        }
        Failure::Engine(
            error @ (engine::Error::Position { .. }
            | engine::Error::Memory(_)
            | engine::Error::Forget(_)),
        ) => (output::chain(error), Exit::Usage),
        Failure::Engine(
            error @ (engine::Error::StoreMissing { .. }
            | engine::Error::Since { .. }
            | engine::Error::Refingerprint { .. }
            | engine::Error::UrlForm { .. }),
        ) => (output::chain(error), Exit::Directory),
        Failure::Engine(
            error @ (engine::Error::StoreBehind { .. } | engine::Error::Forgotten { .. }),
        ) => (output::chain(error), Exit::Damaged),
        Failure::Engine(
            error @ engine::Error::Directory(DirectoryError::InUse { for_a_while, .. }),
        ) => {
            if !for_a_while {
                hints.push("while it runs, use `gleaner status`, `pages`, `why`, `dups`, `similar` or `report` to inspect it, and `pause`, `resume`, `stop`, `seeds add`, `retry` or `forget` to control it");
            }
            (output::chain(error), Exit::InUse)
        }
        Failure::Engine(error @ engine::Error::Directory(_)) => {
            (output::chain(error), Exit::Directory)
        }
        Failure::Engine(engine::Error::Stopped(_)) => {
            said::say("stopped before the crawl was open; the same command goes on from there");
            return Exit::Done;
        }
        Failure::Control(error @ client::Error::NotRunning(_)) => {
            hints.push("start one with `gleaner crawl` or `gleaner daemon`");
            (output::chain(error), Exit::Directory)
        }
        Failure::Control(error) => (output::chain(error), Exit::Failed),
        Failure::Engine(error) => (output::chain(error), Exit::Failed),
        Failure::Io(error) if is_kind(error, io::ErrorKind::BrokenPipe) => return Exit::Done,
        Failure::Answered(exit) => return *exit,
        Failure::Io(error) if is_kind(error, io::ErrorKind::StorageFull) => {
            (format!("{error:#}"), Exit::Disk)
        }
        Failure::Io(error) => (format!("{error:#}"), Exit::Failed),
    };
    said::say_error(&format!("error: {message}"));
    for hint in hints {
        said::say(&format!("hint: {hint}"));
    }
    exit
}

/// Whether an I/O error of this kind is among the causes of an error. A broken pipe means that the
/// reader of our output has closed it.
fn is_kind(error: &anyhow::Error, kind: io::ErrorKind) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|error| error.kind() == kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    /// `--help` of every command shows an example.
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
