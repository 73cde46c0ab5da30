//! `gleaner daemon`: a crawl that does not end when nothing is left. It visits pages again, takes
//! seeds while it runs, and reads its settings again on SIGHUP.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;

use super::config::SettingFlags;
use super::crawl::{self, SeedArguments};
use crate::cli::Failure;
use crate::cli::output::{self, Screen};
use crate::cli::progress::{self, Progress};
use crate::cli::signals::{self, Hangups};
use crate::config::{self, Config};
use crate::control::{ControlServer, ServeMode, reloading};
use crate::engine::{Control, Crawl, LiveOptions, RunLimits, StopHandle};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner daemon --data-dir crawl --config crawl.toml
  gleaner daemon --data-dir crawl http://127.0.0.1:8000/ --delay 200ms
  cp more-seeds.txt crawl/drop/            crawl from these too; moved to done/ or rejected/
  gleaner pause --data-dir crawl           and resume, stop, seeds add, status
  kill -HUP $(cat crawl/lock)              read the configuration again

SIGTERM and SIGINT end it in good order; the same command goes on where it ended.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    seeds: SeedArguments,
    /// Where everything is kept; a crawl that is there already goes on
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    #[command(flatten)]
    settings: SettingFlags,
    /// Say nothing on standard error but errors and hints: no progress, no messages
    #[arg(long, short)]
    pub(super) quiet: bool,
    /// Print the summary, when it ends, as one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, screen: &Screen) -> Result<(), Failure> {
    let config = arguments.settings.load()?.config;
    let options = config.options()?;
    let sources = arguments.seeds.sources()?;
    crawl::check_seeds(&sources, &config)?;
    crawl::warn_of_ignored_robots(&config, screen);
    let stop = StopHandle::new();
    signals::listen(stop.clone(), screen.clone())?;
    // Before anybody is told that there is somebody to reload.
    let hangups = Hangups::listen()?;

    let mut crawl = Crawl::open(&arguments.data_dir, options)?;
    crawl::say_resumed(&mut crawl, &config, screen)?;
    // From here on seeds and commands are taken: those that come while the lists are read wait.
    let server = ControlServer::start(
        &arguments.data_dir,
        ServeMode::Daemon,
        crawl.control(),
        crawl.watch(),
        stop.clone(),
    )
    .map_err(|error| {
        anyhow::Error::from(error).context(format!(
            "cannot open the control socket and the drop directory in {}",
            arguments.data_dir.display()
        ))
    })?;
    screen.say(&format!(
        "takes seeds from {}, and commands such as `gleaner stop --data-dir {}`",
        arguments.data_dir.join("drop").display(),
        arguments.data_dir.display()
    ));
    let progress = Progress::start(crawl.watch(), screen, progress::SELDOM);
    let progress = progress.map_err(anyhow::Error::from)?;
    crawl::add_seeds(&mut crawl, &sources, screen, &stop)?;
    reload_on_hangup(hangups, arguments, &config, crawl.control(), screen)?;
    let limits = RunLimits {
        wait_for_more: true,
        ..RunLimits::default()
    };
    let summary = crawl.run(&limits, &stop)?;
    // The line is gone before the summary comes: both may go to one terminal.
    drop(progress);
    output::print_summary(&summary, arguments.json)?;
    // Whoever asked for the end hears of it when all is said and done.
    drop(server);
    Ok(())
}

/// Reads the settings again on each SIGHUP, and applies those that can change while it runs. A
/// configuration that is wrong changes nothing.
fn reload_on_hangup(
    hangups: Hangups,
    arguments: &Arguments,
    config: &Config,
    control: Control,
    screen: &Screen,
) -> Result<(), Failure> {
    let settings = arguments.settings.clone();
    let mut holding = config::flatten(config);
    let screen = screen.clone();
    hangups.each(move || {
        reloading(|| {
            let outcome = reload(&settings, &mut holding, &control, &screen);
            if let Err(failure) = outcome {
                crate::cli::report(&failure);
                screen.insist("reload: the settings stay as they were");
            }
        });
    })?;
    Ok(())
}

fn reload(
    settings: &SettingFlags,
    holding: &mut BTreeMap<String, String>,
    control: &Control,
    screen: &Screen,
) -> Result<(), Failure> {
    let config = settings.load()?.config;
    let options = LiveOptions::from(&config.options()?);
    let now = config::flatten(&config);
    let names: std::collections::BTreeSet<_> = holding.keys().chain(now.keys()).cloned().collect();
    let (mut live, mut later) = (Vec::new(), Vec::new());
    for name in names {
        let (then, value) = (holding.get(&name), now.get(&name));
        if then == value {
            continue;
        }
        let unset = || "(unset)".to_owned();
        let change = (
            name.clone(),
            then.cloned().unwrap_or_else(unset),
            value.cloned().unwrap_or_else(unset),
        );
        match config::is_live(&name) {
            true => live.push(change),
            false => later.push(change),
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(anyhow::Error::from)?;
    runtime
        .block_on(control.change(options))
        .map_err(anyhow::Error::from)?;
    for (name, then, value) in &live {
        screen.say(&format!("reload: {name} was {then}, is {value}"));
        match now.get(name) {
            Some(value) => holding.insert(name.clone(), value.clone()),
            None => holding.remove(name),
        };
    }
    if live
        .iter()
        .any(|(name, ..)| name.starts_with("crawl.robots"))
    {
        crawl::warn_of_ignored_robots(&config, screen);
    }
    for (name, then, value) in &later {
        screen.insist(&format!(
            "reload: {name} stays {then}; {value} needs a restart"
        ));
    }
    if live.is_empty() && later.is_empty() {
        screen.say("reload: nothing changed");
    }
    Ok(())
}
