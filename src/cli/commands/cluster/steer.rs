//! `gleaner cluster drain`, `pause`, `resume`, `stop` and `seeds add`: what people want of a crawl
//! that several workers share. Each is a row or an entry of the engine, which the workers read once
//! a second.

use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::{LimitFlags, PATIENCE, Target, no_worker};
use crate::broker::Broker;
use crate::cli::Failure;
use crate::cli::commands::crawl::SeedArguments;
use crate::cli::output::{self, Screen};
use crate::cli::words::count;
use crate::cluster::{self, Going, Limits, set_going, set_staying, status};
use crate::frontier::Seed;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner cluster drain nats://127.0.0.1/news w3
  gleaner cluster drain nats://127.0.0.1/news w3 --undo

A worker that is drained gives each shard away as soon as another one has all of it, and keeps what
nobody else has. It goes on running, owns nothing and makes no visits; `gleaner cluster status` shows
when it owns nothing any more.")]
pub(crate) struct Drain {
    #[command(flatten)]
    target: Target,
    /// The worker
    #[arg(value_name = "WORKER")]
    worker: String,
    /// Let it own shards again
    #[arg(long)]
    undo: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  gleaner cluster pause nats://127.0.0.1/news")]
pub(crate) struct Pause {
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner cluster resume nats://127.0.0.1/news
  gleaner cluster resume nats://127.0.0.1/news --max-pages 2000000
  gleaner cluster resume nats://127.0.0.1/news --daemon

A maximum that is given takes the place of the one before. A crawl that was stopped because it had
its maximum of pages or bytes goes on with a greater one. One that is over goes on with --daemon: start
its workers again. Whatever is given, a crawl that was paused or stopped goes on.")]
pub(crate) struct Resume {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    limits: LimitFlags,
    /// Go on without a maximum
    #[arg(long, conflicts_with_all = ["max_pages", "max_bytes"])]
    no_limits: bool,
    /// Do not end when nothing is left: visit pages again, as revisit.* says, and wait for seeds
    #[arg(long, conflicts_with = "no_daemon")]
    daemon: bool,
    /// End when nothing is left, and visit each page once
    #[arg(long)]
    no_daemon: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  gleaner cluster stop nats://127.0.0.1/news

Each worker commits what has arrived and ends. One that is started then waits, and makes no visits,
until `gleaner cluster resume`.")]
pub(crate) struct Stop {
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Subcommand)]
#[command(after_help = "Example:
  gleaner cluster seeds add nats://127.0.0.1/news http://127.0.0.1:8000/sports/")]
pub(crate) enum Seeds {
    /// Add seeds to a crawl, running or not
    Add(Add),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner cluster seeds add nats://127.0.0.1/news http://127.0.0.1:8000/sports/
  list-new-sites | gleaner cluster seeds add nats://127.0.0.1/news --seeds -

Each shard reads all of them, and admits those of its sites once.")]
pub(crate) struct Add {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    seeds: SeedArguments,
}

/// Says what workers make of a wish.
fn tell((target, broker): (&Target, &Arc<dyn Broker>), wish: &str) -> Result<(), Failure> {
    let now = status(broker, target.name(), PATIENCE);
    let now = now.map_err(|error| target.explain(error))?;
    let alive = now.workers.iter().filter(|it| it.is_alive).count() as u64;
    output::say(&match alive {
        0 => format!("{wish}; no worker runs now"),
        _ => format!(
            "{wish}: {} will know within two seconds",
            count(alive, "worker")
        ),
    });
    Ok(())
}

pub(super) fn drain(arguments: &Drain) -> Result<(), Failure> {
    let Drain {
        target,
        worker,
        undo,
    } = arguments;
    let (broker, _) = target.find()?;
    let is_new = cluster::drain(&broker, worker, !undo).map_err(|error| target.explain(error))?;
    output::say(&match (is_new, undo) {
        (None, _) => return Err(no_worker(worker)),
        (Some(true), false) => format!("{worker} gives its shards to the others, and owns none"),
        (Some(true), true) => format!("{worker} will own shards again"),
        (Some(false), false) => format!("{worker} was to own none already"),
        (Some(false), true) => format!("{worker} was not drained"),
    });
    Ok(())
}

/// Lets the crawl go on, wait or end.
fn order(
    (target, broker): (&Target, &Arc<dyn Broker>),
    going: Going,
    (new, known): (&str, &str),
) -> Result<(), Failure> {
    let before = set_going(&**broker, going).map_err(|error| target.explain(error))?;
    if before == going {
        output::say(known);
        return Ok(());
    }
    tell((target, broker), new)
}

pub(super) fn pause(arguments: &Pause) -> Result<(), Failure> {
    let target = &arguments.target;
    let (broker, _) = target.find()?;
    let words = ("paused", "the crawl was paused already");
    order((target, &broker), Going::Paused, words)
}

pub(super) fn resume(arguments: &Resume) -> Result<(), Failure> {
    let target = &arguments.target;
    let (broker, _) = target.find()?;
    let explain = |error| target.explain(error);
    let before = Limits::read(&*broker).map_err(explain)?;
    let limits = match arguments.no_limits {
        true => Limits::default(),
        false => arguments.limits.over(before),
    };
    let now = status(&broker, target.name(), Duration::ZERO).map_err(explain)?;
    if let Some(limit) = limits.reached((now.sum.pages, now.sum.bytes)) {
        return Err(Failure::Usage {
            message: format!("the crawl has {limit}, and would stop at once"),
            hint: Some("give a greater --max-pages or --max-bytes, or --no-limits"),
        });
    }
    limits.set(&*broker).map_err(explain)?;
    if arguments.daemon || arguments.no_daemon {
        set_staying(&*broker, arguments.daemon).map_err(explain)?;
        set_going(&*broker, Going::Running).map_err(explain)?;
        let wish = match arguments.daemon {
            true => "when nothing is left, it visits its pages again, and waits for seeds",
            false => "when nothing is left, it ends",
        };
        return tell((target, &broker), wish);
    }
    let words = ("resumed", "the crawl was neither paused nor stopped");
    order((target, &broker), Going::Running, words)
}

pub(super) fn stop(arguments: &Stop) -> Result<(), Failure> {
    let target = &arguments.target;
    let (broker, _) = target.find()?;
    let words = ("stopping", "the crawl was stopped already");
    order((target, &broker), Going::Stopped, words)
}

pub(super) fn seeds(command: &Seeds) -> Result<(), Failure> {
    let Seeds::Add(Add { target, seeds }) = command;
    let sources = seeds.sources()?;
    // Every list is read once before anything is sent, so that half a list is never added.
    let given = sources.check(|_| Ok(()))?;
    if given.seeds == 0 {
        return Err(Failure::Usage {
            message: "no seeds given".to_owned(),
            hint: Some("give URLs, or a list with --seeds"),
        });
    }
    let (broker, _) = target.find()?;
    let all: Vec<Seed> = sources.seeds().collect::<Result<_, _>>()?;
    cluster::add_seeds(&*broker, all).map_err(|error| target.explain(error))?;
    given.tell(&Screen::new(false));
    let added = format!("added: {}", count(given.seeds, "seed"));
    tell((target, &broker), &added)
}
