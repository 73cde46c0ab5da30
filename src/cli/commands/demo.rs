//! `gleaner demo`: crawls the built-in web and explains the results. It is the first command for
//! newcomers: it needs no setup and shows most of what gleaner does.

mod cluster;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use crate::cli::output::{self, Screen};
use crate::cli::progress::{self, Progress};
use crate::cli::{Failure, signals};
use crate::demo::{self, Report};
use crate::engine::{Crawl, Ending, RunLimits, StopHandle};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner demo
  gleaner demo --data-dir my-demo
  gleaner demo --json | jq '.hosts[].pages[] | select(.original)'
  gleaner demo --cluster                    three workers, one of which is killed")]
pub(crate) struct Arguments {
    /// Data directory for the demo, which must be new or empty [default: a new temporary directory]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Print one JSON object instead of the explanation
    #[arg(long)]
    json: bool,
    /// Let three workers crawl a web together, and kill one in the middle; needs a nats-server
    #[arg(long)]
    cluster: bool,
    /// The nats-server, 2.10.26 or newer [default: that in the PATH]
    #[arg(long, value_name = "PATH", requires = "cluster")]
    nats_server: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments, screen: &Screen) -> Result<(), Failure> {
    let data_dir = match &arguments.data_dir {
        Some(path) => own_directory(path)?,
        None => new_directory()?,
    };
    if arguments.cluster {
        let server = arguments.nats_server.as_deref();
        return cluster::run(&data_dir, server, arguments.json, screen);
    }
    let server = demo::serve().context("cannot serve the built-in web on 127.0.0.1")?;
    let stop = StopHandle::new();
    signals::listen(stop.clone(), screen.clone())?;
    let options = demo::options(&server).map_err(anyhow::Error::from)?;
    let seed = demo::seed().map_err(anyhow::Error::from)?;
    let mut crawl = Crawl::open(&data_dir, options)?;
    if !arguments.json {
        output::print(&demo::introduction(&server))?;
    }
    let progress =
        Progress::start(crawl.watch(), screen, progress::OFTEN).map_err(anyhow::Error::from)?;
    crawl.add_seeds([seed], &stop)?;
    let summary = crawl.run_blocking(&RunLimits::default(), &stop)?;
    drop(progress);
    if summary.ending != Ending::Drained {
        screen.say("stopped: the following is incomplete");
    }
    let report = Report::new(&server, &data_dir, summary.took).map_err(anyhow::Error::from)?;
    if arguments.json {
        output::print(&report.to_json().map_err(anyhow::Error::from)?)?;
    } else {
        output::print(&report.to_text())?;
        output::print(&demo::next_steps(&program()))?;
    }
    Ok(())
}

/// How gleaner was invoked, so that printed commands can be run as they are.
fn program() -> String {
    let called = std::env::args_os().next().unwrap_or_default();
    let called = called.to_string_lossy();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-".contains(letter);
    if !called.is_empty() && called.chars().all(is_plain) {
        called.into_owned()
    } else {
        "gleaner".to_owned()
    }
}

/// Checks that a given directory is new or empty: the demo would resume an existing crawl, or find
/// nothing left to do.
fn own_directory(path: &Path) -> Result<PathBuf, Failure> {
    let is_free = match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    if is_free {
        return Ok(path.to_owned());
    }
    Err(Failure::Usage {
        message: format!(
            "the demo needs a new or empty directory, and {} is neither",
            path.display()
        ),
        hint: Some("give another directory with --data-dir, or omit it"),
    })
}

/// Maximum number of demos in the temporary directory.
const MAX_DEMOS: u32 = 10_000;

/// Creates a new temporary directory.
fn new_directory() -> anyhow::Result<PathBuf> {
    let above = std::env::temp_dir();
    let mut found = Err(io::ErrorKind::AlreadyExists.into());
    for number in 1..=MAX_DEMOS {
        let path = above.join(format!("gleaner-demo-{number}"));
        found = fs::create_dir(&path).map(|()| path);
        match &found {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            _ => break,
        }
    }
    found.with_context(|| {
        let above = above.display();
        format!("cannot create a directory in {above}; give one with --data-dir")
    })
}
