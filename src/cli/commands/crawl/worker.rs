//! `gleaner worker`: crawls some shards of a crawl that other workers share. For tests so far.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;

use super::SeedArguments;
use crate::broker::{Address, Nats};
use crate::cli::commands::config::SettingFlags;
use crate::cli::output::Screen;
use crate::cli::{Failure, signals};
use crate::cluster::{Times, Worker, WorkerOptions, create};
use crate::config::Span;
use crate::engine::StopHandle;
use crate::frontier::{RevisitPolicy, Seed, Shards};
use crate::url::HostKey;

#[derive(Debug, Args)]
#[command(after_help = "Example:
  gleaner worker nats://127.0.0.1/news http://127.0.0.1:8000/ --name a --data-dir a")]
pub(crate) struct Arguments {
    /// The engine and the name of the crawl
    #[arg(value_name = "nats://SERVER,SERVER/NAME")]
    address: Address,
    /// Directory of this worker's shards
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    /// Name of this worker
    #[arg(long)]
    name: String,
    /// Machine that it runs on; copies of a shard are on different ones
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
    /// Shards of the crawl, fixed by the first worker
    #[arg(long, value_name = "N", default_value_t = 16)]
    shards: u16,
    /// Copies of each shard, that of its owner included
    #[arg(long, value_name = "N", default_value_t = 2)]
    copies: usize,
    /// Time after which a worker that says nothing is taken for dead
    #[arg(long, value_name = "DURATION")]
    dead: Option<Span>,
    /// Documents of all shards that this worker keeps whole, to find what repeats them; of further
    /// ones it finds copies byte for byte only
    #[arg(long, value_name = "N", default_value_t = 100_000_000)]
    library: u64,
    #[command(flatten)]
    seeds: SeedArguments,
    #[command(flatten)]
    settings: SettingFlags,
}

pub(in crate::cli::commands) fn run(arguments: &Arguments, screen: &Screen) -> Result<(), Failure> {
    let effective = arguments.settings.load(None)?;
    let mut crawl = effective.config.options()?;
    // A crawl that ends when nothing is left visits each page once.
    crawl.revisit = RevisitPolicy::off();
    let seeds = arguments.seeds.sources()?;
    let seeds: Vec<Seed> = seeds.seeds().collect::<Result<_, _>>()?;
    let stop = StopHandle::new();
    signals::listen(stop.clone(), screen.clone())?;
    let address = &arguments.address;
    let broker = Nats::connect(address).with_context(|| format!("cannot use {address}"))?;
    let broker = Arc::new(broker);
    let count = arguments.shards;
    let secret = create(&*broker, count).with_context(|| format!("cannot use {address}"))?;
    let times = arguments
        .dead
        .as_ref()
        .map_or_else(Times::default, |dead| Times {
            beat: dead.0 / 10,
            right: dead.0 * 7 / 10,
            dead: dead.0,
        });
    let machine = arguments.machine.as_ref().unwrap_or(&arguments.name);
    let options = WorkerOptions {
        name: arguments.name.clone(),
        machine: machine.clone(),
        directory: arguments.data_dir.clone(),
        shards: count,
        copies: arguments.copies,
        times,
        secret,
        crawl,
        library: arguments.library,
        seeds: Arc::new(move |shard| {
            let Ok(shards) = Shards::new(shard, count) else {
                return Vec::new();
            };
            let own = seeds
                .iter()
                .filter(|seed| shards.is_own(&HostKey::of(&seed.url)));
            own.cloned().collect()
        }),
    };
    let worker = Worker::join(broker, options).map_err(anyhow::Error::from)?;
    Ok(worker.run(&stop).map_err(anyhow::Error::from)?)
}
