//! `gleaner daemon`: a crawl that does not end when its queues are empty. It revisits pages,
//! accepts seeds while it runs, and reloads its settings on SIGHUP.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::config::SettingFlags;
use super::crawl::{self, SeedArguments};
use crate::cli::output::{self, Screen};
use crate::cli::progress::{self, Progress};
use crate::cli::signals::{self, Hangups};
use crate::cli::{Failure, help};
use crate::config::{self, Config};
use crate::control::{ControlServer, ServeMode, Starting, reloading};
use crate::engine::{Control, Crawl, LiveOptions, Opening, RunLimits, StopHandle};
use crate::fetch::CookieFile;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner daemon --data-dir crawl --config crawl.toml
  gleaner daemon --data-dir crawl http://127.0.0.1:8000/ --delay 200ms
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

/// Age at which a daemon closes a file of the archive, unless another is set: others may wait for
/// it.
const MAX_FILE_AGE: Duration = Duration::from_hours(1);

pub(super) fn run(arguments: &Arguments, screen: &Screen) -> Result<(), Failure> {
    let effective = arguments.settings.load(Some(&arguments.data_dir))?;
    let config = &effective.config;
    let mut options = config.options()?;
    super::config::sign_uploads(config, &mut options)?;
    options.policies.block(config.read_block_lists()?);
    options.fetch.login = super::config::login(config, screen)?;
    super::config::converters(config)?;
    options.repair = arguments.repair;
    options.archive.max_age.get_or_insert(MAX_FILE_AGE);
    let sources = arguments.seeds.sources()?;
    crawl::check_seeds(&sources, config, screen)?;
    crawl::warn_of_ignored_robots(config, screen);
    let stop = StopHandle::new();
    signals::listen(stop.clone(), screen.clone())?;
    // Must come before systemd is told that the daemon is ready to be reloaded.
    let hangups = Hangups::listen()?;

    options.opening = Opening::new(stop.clone());
    let starting = Starting::begin(&options.opening).map_err(anyhow::Error::from)?;
    let mut crawl = Crawl::open(&arguments.data_dir, options)?;
    drop(starting);
    crawl::say_resumed(&mut crawl, &effective, screen)?;
    effective.remembered().write(&arguments.data_dir)?;
    // Seeds and commands are accepted from here on; they wait while the given lists are read.
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
        "accepting seed lists in {} and commands such as `gleaner stop --data-dir {}`",
        arguments.data_dir.join("drop").display(),
        arguments.data_dir.display()
    ));
    let progress = Progress::start(crawl.watch(), screen, progress::SELDOM);
    let progress = progress.map_err(anyhow::Error::from)?;
    crawl::look_back(&mut crawl, screen, &stop)?;
    crawl::add_seeds(&mut crawl, &sources, screen, &stop)?;
    crawl::widening::widen(&mut crawl, screen, &stop)?;
    reload_on_hangup(hangups, arguments, config, crawl.control(), screen)?;
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
    Ok(())
}

/// What holds while a daemon runs.
struct Holding {
    settings: BTreeMap<String, String>,
    login: CookieFile,
}

/// Reloads the settings on each SIGHUP and applies those that can change at run time. An invalid
/// configuration changes nothing.
fn reload_on_hangup(
    hangups: Hangups,
    arguments: &Arguments,
    config: &Config,
    control: Control,
    screen: &Screen,
) -> Result<(), Failure> {
    let settings = arguments.settings.clone();
    let directory = arguments.data_dir.clone();
    let mut holding = Holding {
        settings: config::flatten(config),
        login: config.read_cookie_files()?,
    };
    let screen = screen.clone();
    hangups.each(move || {
        reloading(|| {
            let outcome = reload(&settings, &directory, &mut holding, &control, &screen);
            if let Err(failure) = outcome {
                crate::cli::report(&failure);
                output::say("reload failed: settings are unchanged");
            }
        });
    })?;
    Ok(())
}

fn reload(
    settings: &SettingFlags,
    directory: &Path,
    holding: &mut Holding,
    control: &Control,
    screen: &Screen,
) -> Result<(), Failure> {
    let effective = settings.load(Some(directory))?;
    let config = &effective.config;
    let mut options = LiveOptions::from(&config.options()?);
    options.policies.block(config.read_block_lists()?);
    options.login = super::config::login(config, screen)?;
    let has_other_cookies = options.login != holding.login;
    holding.login = options.login.clone();
    let holding = &mut holding.settings;
    let now = config::flatten(config);
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
        if config::is_live(&name) {
            live.push(change);
        } else {
            later.push(change);
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(anyhow::Error::from)?;
    runtime
        .block_on(control.change(options))
        .map_err(anyhow::Error::from)?;
    for (name, then, value) in &live {
        screen.say(&format!("reloaded: {name} was {then}, is {value}"));
        match now.get(name) {
            Some(value) => holding.insert(name.clone(), value.clone()),
            None => holding.remove(name),
        };
    }
    if live
        .iter()
        .any(|(name, ..)| name.starts_with("crawl.robots"))
    {
        crawl::warn_of_ignored_robots(config, screen);
    }
    effective.remembered().write(directory)?;
    for (name, then, value) in &later {
        output::say(&format!(
            "reloaded: {name} is still {then}; restart to set it to {value}"
        ));
    }
    if has_other_cookies {
        screen.say("reloaded: cookies of fetch.cookie_files; `gleaner retry --class session` goes on where a login was lost");
    } else if live.is_empty() && later.is_empty() {
        screen.say("reloaded: no settings changed");
    }
    Ok(())
}
