//! `gleaner cluster create`: a crawl that several workers are to share.

use clap::Args;

use super::{LimitFlags, Target};
use crate::cli::Failure;
use crate::cli::commands::config::SettingFlags;
use crate::cli::commands::crawl::reload::warn_of_ignored_robots;
use crate::cli::commands::crawl::{SeedArguments, check_seeds};
use crate::cli::output::Screen;
use crate::cli::words::count;
use crate::cluster::{Limits, MAX_SHARDS, NewCrawl, create};
use crate::config::{self, Config};
use crate::frontier::Seed;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner cluster create nats://127.0.0.1/news http://127.0.0.1:8000/ --shards 8
  gleaner cluster create nats://n1,n2,n3/news --config news.toml --seeds seeds.txt

What `--config` and flags say is kept with the crawl, and holds for all its workers. Not kept are
credentials, and what each machine has of its own, such as state.max_memory and fetch.proxy: workers
are given that themselves. Budgets (traps.*) hold in each shard. A crawl that has its maximum of pages
or bytes stops within two seconds, in which some more arrive. It ends when nothing is left to fetch;
with `--daemon` it visits its pages again, and waits for seeds, until `gleaner cluster stop`.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    seeds: SeedArguments,
    /// Shards that the crawl is cut into, for good: four times the workers ever expected
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(2..=i64::from(MAX_SHARDS)))]
    shards: u16,
    /// Copies of each shard, that of its owner included
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    copies: u16,
    #[command(flatten)]
    limits: LimitFlags,
    /// Do not end when nothing is left: visit pages again, as revisit.* says, and wait for seeds
    #[arg(long)]
    daemon: bool,
    #[command(flatten)]
    settings: SettingFlags,
}

pub(super) fn run(arguments: &Arguments, screen: &Screen) -> Result<(), Failure> {
    let mut config = arguments.settings.load(None)?.config;
    config.options()?;
    config.read_block_lists()?;
    check(&config, arguments.shards)?;
    warn_of_ignored_robots(&config, screen);
    let sources = arguments.seeds.sources()?;
    let given = check_seeds(&sources, &config)?;
    given.tell(screen);
    if given.seeds == 0 {
        return Err(Failure::Usage {
            message: "no seeds given".to_owned(),
            hint: Some("give URLs, or a list with --seeds"),
        });
    }
    if config.dedup.seed.is_none() {
        // Fingerprints are compared only where they were made with the same numbers.
        let seed = getrandom::u32();
        let seed = seed.map_err(|error| anyhow::anyhow!("no random number: {error}"))?;
        config.dedup.seed = Some(seed);
    }
    // Every line was valid a moment ago.
    let seeds: Vec<Seed> = sources.seeds().collect::<Result<_, _>>()?;
    let broker = arguments.target.connect()?;
    let new = NewCrawl {
        shards: arguments.shards,
        copies: arguments.copies,
        settings: config::shared(&config),
        limits: arguments.limits.over(Limits::default()),
        stays: arguments.daemon,
    };
    create(&*broker, &new, seeds).map_err(|error| arguments.target.explain(error))?;
    let address = arguments.target.address();
    screen.say(&format!(
        "created: {}, {}, {} of each{}",
        count(given.seeds, "seed"),
        count(arguments.shards.into(), "shard"),
        match arguments.copies {
            1 => "1 copy".to_owned(),
            copies => format!("{copies} copies"),
        },
        match arguments.daemon {
            true => "; it goes on until it is stopped",
            false => "",
        }
    ));
    let own = config::own(&config);
    if !own.is_empty() {
        screen.say(&format!(
            "not kept, because each machine has its own: {}; give it to the workers",
            own.join(", ")
        ));
    }
    screen.say(&format!(
        "next, on each machine: gleaner worker {address} --data-dir DIR"
    ));
    Ok(())
}

/// Refuses what a crawl of several workers cannot do.
fn check(config: &Config, shards: u16) -> Result<(), Failure> {
    if !config.archive.since.is_empty() {
        return Err(Failure::usage(
            "archive.since: a crawl of several workers cannot build on an earlier one yet",
        ));
    }
    let rate = config.politeness.max_rate;
    if rate.is_some_and(|rate| rate.get() < u32::from(shards)) {
        return Err(Failure::usage(format!(
            "politeness.max_rate is parted among the shards: give {shards} or more, or fewer shards"
        )));
    }
    Ok(())
}
