//! `gleaner pause`, `resume`, `stop` and `seeds add`: commands to a running crawl, and of those
//! that a crawl keeps also to one that does not run.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::crawl::{self, SeedArguments, Sources};
use crate::cli::Failure;
use crate::cli::output::{self, Screen};
use crate::cluster::{Called, worker_of};
use crate::config;
use crate::control::client::{self, Client};
use crate::control::{Request, Response};
use crate::engine::{self, Crawl, DirectoryError, SeedsAdded, StopHandle, StoppedCrawl};
use crate::seeds;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner pause --data-dir crawl && make-room && gleaner resume --data-dir crawl
  gleaner pause --host forum.example.org --data-dir crawl

A paused host stays so over restarts, until `gleaner resume --host`; its URLs stay queued. This
works while no process runs the crawl, too.")]
pub(crate) struct Pause {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    host: OneHost,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner resume --data-dir crawl
  gleaner resume --host forum.example.org --data-dir crawl")]
pub(crate) struct Resume {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    host: OneHost,
}

#[derive(Debug, Args)]
struct OneHost {
    /// Only this host, without its subdomains: example.org for http and https, or with a scheme, a
    /// port
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  gleaner stop --data-dir crawl && tar cf crawl.tar crawl")]
pub(crate) struct Stop {
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
struct Target {
    /// Data directory of the crawl
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
}

#[derive(Debug, Subcommand)]
#[command(after_help = "Example:
  gleaner seeds add http://127.0.0.1:8000/news/ --data-dir crawl")]
pub(crate) enum Seeds {
    /// Add seeds to a crawl, running or not
    Add(Add),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner seeds add http://127.0.0.1:8000/news/ --data-dir crawl
  list-new-sites | gleaner seeds add --seeds - --data-dir crawl")]
pub(crate) struct Add {
    #[command(flatten)]
    seeds: SeedArguments,
    #[command(flatten)]
    target: Target,
}

impl Target {
    fn connect(&self) -> Result<Client, Failure> {
        Ok(Client::connect(&self.data_dir)?)
    }
}

pub(super) fn pause(arguments: &Pause) -> Result<(), Failure> {
    let directory = arguments.target.data_dir.display();
    if let Some(host) = &arguments.host.host {
        hold(&arguments.target.data_dir, host, true)?;
        output::say(&format!(
            "paused: {host} gets no requests until `gleaner resume --host {host} --data-dir \
             {directory}`"
        ));
        return Ok(());
    }
    let mut client = arguments.target.connect()?;
    // Ends at the latest when the last fetch in progress times out.
    while let Response::Pausing { fetching } = client.ask(&Request::Pause)? {
        output::say(&format!(
            "pausing: waiting for {} in progress",
            match fetching {
                1 => "1 fetch".to_owned(),
                _ => format!("{fetching} fetches"),
            }
        ));
    }
    output::say(&match worker_of(&arguments.target.data_dir) {
        None => {
            format!("paused: no requests are made until `gleaner resume --data-dir {directory}`")
        }
        Some((_, Called { name, .. })) => format!(
            "paused: this shard makes no requests until `gleaner resume --data-dir {directory}`, or \
             until another worker than {name} owns it; `gleaner cluster pause` pauses all"
        ),
    });
    Ok(())
}

pub(super) fn resume(arguments: &Resume) -> Result<(), Failure> {
    if let Some(host) = &arguments.host.host {
        match &*hold(&arguments.target.data_dir, host, false)? {
            [] => output::say(&format!(
                "{host} was not paused; `gleaner status` names those that are"
            )),
            hosts => output::say(&format!("resumed: {}", hosts.join(" and "))),
        }
        return Ok(());
    }
    arguments.target.connect()?.ask(&Request::Resume)?;
    output::say("resumed");
    Ok(())
}

/// Holds a host, or lets it go on, whether a process runs the crawl or not. Returns the hosts for
/// which that is new.
fn hold(directory: &Path, name: &str, is_held: bool) -> Result<Vec<String>, Failure> {
    let hosts = engine::hosts_named(name).map_err(|error| Failure::Usage {
        message: format!("--host: {error}"),
        hint: None,
    })?;
    let changed = match engine::hold(directory, &hosts, is_held) {
        Err(engine::Error::Directory(DirectoryError::InUse {
            for_a_while: false, ..
        })) => return hold_in_run(directory, name, is_held),
        changed => changed?,
    };
    Ok(changed
        .iter()
        .map(|host| host.as_str().to_owned())
        .collect())
}

/// As `hold`, in a crawl that a process runs.
fn hold_in_run(directory: &Path, name: &str, is_held: bool) -> Result<Vec<String>, Failure> {
    let mut client = Client::connect(directory)?;
    let host = name.to_owned();
    let request = match is_held {
        true => Request::Hold { host },
        false => Request::Release { host },
    };
    loop {
        // Ends at the latest when the fetch in progress times out.
        match client.ask(&request)? {
            Response::Held { hosts } => return Ok(hosts),
            _ => output::say("pausing: waiting for 1 fetch in progress"),
        }
    }
}

pub(super) fn stop(arguments: &Stop) -> Result<(), Failure> {
    let mut client = arguments.target.connect()?;
    if let Some((_, Called { name, .. })) = worker_of(&arguments.target.data_dir) {
        return Err(Failure::Usage {
            message: format!("worker {name} would open this shard again at once"),
            hint: Some(
                "end the worker itself, which others take over from, or all with `gleaner cluster \
                 stop`",
            ),
        });
    }
    client.ask(&Request::Stop)?;
    client.wait_for_end()?;
    output::say("stopped: run the same command again to resume");
    Ok(())
}

pub(super) fn seeds(command: &Seeds) -> Result<(), Failure> {
    let Seeds::Add(arguments) = command;
    let sources = arguments.seeds.sources()?;
    // Every list is read once before anything is sent, so that half a list is never added.
    let given = sources.check(|_| Ok(()))?;
    if given.seeds == 0 {
        return Err(Failure::Usage {
            message: "no seeds given".to_owned(),
            hint: Some("give URLs, or a list with --seeds"),
        });
    }
    let directory = &arguments.target.data_dir;
    let (added, then) = match Client::connect(directory) {
        Ok(mut client) => {
            let seeds = sources.seeds().flatten().map(|it| seeds::to_line(&it));
            (client.add_seeds(seeds)?, String::new())
        }
        Err(client::Error::NotRunning(_)) if directory.join("version").exists() => {
            let then = format!(
                "; `gleaner crawl --data-dir {}` visits them",
                directory.display()
            );
            (add_offline(directory, &sources)?, then)
        }
        Err(error) => return Err(error.into()),
    };
    given.tell(&Screen::new(false));
    output::say(&format!(
        "seeds: {} new, {} known{then}",
        added.new, added.known
    ));
    Ok(())
}

/// Queues seeds in a crawl that no process runs, by the settings of its last run.
fn add_offline(directory: &Path, sources: &Sources) -> Result<SeedsAdded, Failure> {
    let settings = StoppedCrawl::open(directory)?.settings()?;
    let config = config::kept(&settings);
    let given = crawl::check_seeds(sources, &config)?;
    let mut crawl = Crawl::open(directory, config.options()?)?;
    let before = crawl.counters().seeds;
    let seeds = sources.seeds().flatten();
    crawl.add_seeds(seeds, &StopHandle::new())?;
    let new = crawl.counters().seeds - before;
    Ok(SeedsAdded {
        new,
        known: given.seeds.saturating_sub(new),
    })
}
