//! `gleaner daemon`: a crawl that does not end when its queues are empty. It revisits pages,
//! accepts seeds while it runs, and reloads its settings on SIGHUP.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::config::SettingFlags;
use super::crawl::reload::{Reloading, warn_of_ignored_robots};
use super::crawl::{self, SeedArguments, console};
use crate::cli::output::{self, Screen};
use crate::cli::progress::{self, Progress};
use crate::cli::signals::{self, Hangups};
use crate::cli::{Failure, help};
use crate::control::{ControlServer, Handles, ServeMode, Starting, reloading};
use crate::engine::{Crawl, Opening, RunLimits, StopHandle};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner daemon --data-dir crawl --config crawl.toml
  gleaner daemon --data-dir crawl http://127.0.0.1:8000/ --delay 200ms
  gleaner daemon --data-dir crawl --listen 127.0.0.1:7979    watch and steer it over HTTP
  cp more-seeds.txt crawl/drop/            add seeds; the list is moved to done/ or rejected/
  gleaner pause --data-dir crawl           pause it; see also resume, stop, seeds add, status
  kill -HUP $(cat crawl/lock)              reload the configuration

SIGTERM and SIGINT stop it gracefully; run the same command again to resume.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    seeds: SeedArguments,
    /// Data directory of the crawl; an existing crawl is resumed
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    #[command(flatten)]
    settings: SettingFlags,
    /// Go on although the store has lost commits: what it does not know is set aside, and what is
    /// missing is fetched again as far as stored pages link to it
    #[arg(help_heading = help::SETTINGS, long)]
    repair: bool,
    /// Print only errors and hints to standard error, no progress and no messages
    #[arg(long, short)]
    pub(super) quiet: bool,
    /// Print the summary as one JSON object when it ends
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, screen: &Screen) -> Result<(), Failure> {
    let effective = arguments.settings.load(Some(&arguments.data_dir))?;
    let config = &effective.config;
    let mut options = config.options()?;
    super::config::sign_uploads(config, &mut options)?;
    options.policies.block(config.read_block_lists()?);
    options.fetch.login = super::config::login(config, screen)?;
    super::config::converters(config)?;
    options.repair = arguments.repair;
    options.archive.max_age.get_or_insert(crawl::MAX_FILE_AGE);
    let sources = arguments.seeds.sources()?;
    crawl::check_seeds(&sources, config)?.tell(screen);
    warn_of_ignored_robots(config, screen);
    let stop = StopHandle::new();
    signals::listen(stop.clone(), screen.clone())?;
    // Must come before systemd is told that the daemon is ready to be reloaded.
    let hangups = Hangups::listen()?;

    let console = console::open(config, screen)?;
    options.opening = Opening::new(stop.clone());
    let starting = Starting::begin(&options.opening).map_err(anyhow::Error::from)?;
    let mut crawl = Crawl::open(&arguments.data_dir, options)?;
    drop(starting);
    crawl::say_resumed(&mut crawl, &effective, screen)?;
    effective.remembered().write(&arguments.data_dir)?;
    // Seeds and commands are accepted from here on; they wait while the given lists are read.
    let handles = Handles {
        control: crawl.control(),
        watch: crawl.watch(),
        stop: stop.clone(),
    };
    let reloads = Arc::new(Reloading::begin(
        (&arguments.settings, &arguments.data_dir),
        &effective,
        crawl.control(),
        screen,
        |_| {},
    )?);
    console::show(console.as_ref(), &handles, &reloads);
    let server =
        ControlServer::start(&arguments.data_dir, ServeMode::Daemon, handles).map_err(|error| {
            anyhow::Error::from(error).context(format!(
                "cannot open the control socket and the drop directory in {}",
                arguments.data_dir.display()
            ))
        })?;
    screen.say(&format!(
        "accepting seed lists in {} and commands such as `gleaner stop --data-dir {}`",
        arguments.data_dir.join("drop").display(),
        arguments.data_dir.display()
    ));
    let progress = Progress::start(crawl.watch(), screen, progress::SELDOM);
    let progress = progress.map_err(anyhow::Error::from)?;
    crawl::look_back(&mut crawl, screen, &stop)?;
    crawl::add_seeds(&mut crawl, &sources, screen, &stop)?;
    crawl::widening::widen(&mut crawl, screen, &stop)?;
    hangups.each(move || reloading(|| reloads.reload()))?;
    let limits = RunLimits {
        wait_for_more: true,
        ..RunLimits::default()
    };
    let summary = crawl.run_blocking(&limits, &stop)?;
    // Removes the progress line before the summary, which may go to the same terminal.
    drop(progress);
    output::print_summary(&summary, ("daemon", &arguments.data_dir), arguments.json)?;
    // Closes the connection of the client that asked for the stop, which is waiting for that.
    drop(server);
    drop(console);
    Ok(())
}
