//! `gleaner cluster`: a crawl that several workers share, by the engine that they share. Each of
//! its commands can be given from any machine that reaches the engine.

mod check;
mod create;
mod mend;
pub(in crate::cli::commands) mod names;
mod place;
mod retry;
mod status;
mod steer;
mod takedown;
pub(in crate::cli::commands) mod target;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};

use crate::broker::{Address, Broker};
use crate::cli::Failure;
use crate::cli::output::{Screen, say};
use crate::cluster::{Limits, Terms, terms};
use crate::units::Size;
use target::Target;

/// Time in which a worker says something new, or is taken for gone: more than two beats.
const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Debug, Subcommand)]
pub(crate) enum Cluster {
    /// Create a crawl: its settings, its seeds, and into how many shards it is cut
    Create(Box<create::Arguments>),
    /// Show how it stands: workers, shards, copies, links, pages, and what needs attention
    Status(status::Arguments),
    /// Say which worker knows what became of a URL, and how to ask there
    Where(place::Arguments),
    /// Check whether the engine can be relied on, and say what to set
    Check(check::Arguments),
    /// Let a worker give its shards to the others, and stay without
    Drain(steer::Drain),
    /// Let all workers make no visits until `resume`
    Pause(steer::Pause),
    /// Let a crawl go on that was paused or stopped
    Resume(steer::Resume),
    /// Let all workers end; those that are started wait until `resume`
    Stop(steer::Stop),
    /// Add seeds
    #[command(subcommand)]
    Seeds(steer::Seeds),
    /// Retry URLs that failed or were deferred, in all shards
    Retry(retry::Arguments),
    /// Forget URLs in all shards, and overwrite what is stored of them (takedown)
    Takedown(takedown::Arguments),
    /// Forget a worker that does not come back
    Forget(mend::Forget),
    /// Make a crawl known to an engine that has lost its data
    Restore(mend::Restore),
}

/// How much of a crawl is enough.
#[derive(Debug, Args)]
pub(super) struct LimitFlags {
    /// Stop when all shards together have this number of pages
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_pages: Option<u64>,
    /// Stop when all shards together have received this many bytes of bodies, such as 500MB
    #[arg(long, value_name = "SIZE")]
    max_bytes: Option<Size>,
}

impl LimitFlags {
    /// Returns the limits that are given, and of those before the others.
    fn over(&self, before: Limits) -> Limits {
        Limits {
            max_pages: self.max_pages.or(before.max_pages),
            max_bytes: self.max_bytes.map(|size| size.0).or(before.max_bytes),
        }
    }
}

impl Target {
    /// Connects to the engine, which has to know the crawl.
    fn find(&self) -> Result<(Arc<dyn Broker>, Terms), Failure> {
        let broker: Arc<dyn Broker> = self.connect()?;
        let terms = found(&self.address(), &*broker)?;
        Ok((broker, terms))
    }

    /// Says what was wrong with the engine.
    fn explain(&self, error: crate::broker::Error) -> Failure {
        explain(&self.address(), error)
    }
}

/// Looks again and again what has come of an order, until nobody is at it any more who can be
/// waited for; `waits_for` names those that are. If it takes long, that is said once.
fn outcome<T>(
    look: impl Fn() -> Result<T, Failure>,
    waits_for: impl Fn(&T) -> Option<String>,
) -> Result<T, Failure> {
    /// Time between two looks.
    const LOOK: Duration = Duration::from_millis(300);
    /// Time after which it is said that something is waited for.
    const SILENCE: Duration = Duration::from_secs(5);
    let start = Instant::now();
    let mut has_said = false;
    loop {
        let now = look()?;
        let Some(whom) = waits_for(&now) else {
            return Ok(now);
        };
        if !has_said && start.elapsed() > SILENCE {
            has_said = true;
            say(&format!(
                "waiting for {whom}; they go on if you interrupt this"
            ));
        }
        thread::sleep(LOOK);
    }
}

/// Nobody of the crawl has this name.
fn no_worker(name: &str) -> Failure {
    Failure::Usage {
        message: format!("the crawl has no worker {name}"),
        hint: Some("`gleaner cluster status` names them"),
    }
}

/// Says what was wrong with the engine.
pub(super) fn explain(address: &Address, error: crate::broker::Error) -> Failure {
    let error = anyhow::Error::from(error).context(format!("cannot use {address}"));
    error.into()
}

/// Returns what holds for all workers of a crawl that was created.
pub(super) fn found(address: &Address, broker: &dyn Broker) -> Result<Terms, Failure> {
    let known = terms(broker).map_err(|error| explain(address, error))?;
    created(address, known)
}

/// Returns what holds for all workers, if the crawl was created.
pub(super) fn created(address: &Address, known: Option<Terms>) -> Result<Terms, Failure> {
    known.ok_or_else(|| Failure::Usage {
        message: format!("the engine knows no crawl {}", address.name()),
        hint: Some("`gleaner cluster create` creates one; see docs/cluster.md"),
    })
}

pub(super) fn run(command: &Cluster, screen: &Screen) -> Result<(), Failure> {
    match command {
        Cluster::Create(arguments) => create::run(arguments, screen),
        Cluster::Status(arguments) => status::run(arguments),
        Cluster::Where(arguments) => place::run(arguments),
        Cluster::Check(arguments) => check::run(arguments),
        Cluster::Drain(arguments) => steer::drain(arguments),
        Cluster::Pause(arguments) => steer::pause(arguments),
        Cluster::Resume(arguments) => steer::resume(arguments),
        Cluster::Stop(arguments) => steer::stop(arguments),
        Cluster::Seeds(command) => steer::seeds(command),
        Cluster::Retry(arguments) => retry::run(arguments),
        Cluster::Takedown(arguments) => takedown::run(arguments),
        Cluster::Forget(arguments) => mend::forget(arguments),
        Cluster::Restore(arguments) => mend::restore(arguments),
    }
}
