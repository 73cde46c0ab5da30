//! `gleaner crawl`: from seeds to archive, and on from wherever the last run ended.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use super::config::SettingFlags;
use super::output::{self, Screen};
use super::progress::Progress;
use super::{Failure, signals};
use crate::config::{self, Config, Span};
use crate::engine::{Crawl, Failpoint, RobotsMode, RunLimits, StopHandle};
use crate::fetch::Guard;
use crate::seeds::{self, Source};
use crate::url::Url;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner crawl http://127.0.0.1:8000/ --data-dir crawl
  gleaner crawl --seeds seeds/documentation.txt --data-dir crawl --scope domain \\
      --user-agent 'examplebot/1.0 (+https://example.org/bot)'
  gleaner crawl --data-dir crawl                    go on where the last run ended
  gleaner crawl --data-dir crawl --quiet --json | jq .pages_per_second")]
pub(super) struct Arguments {
    /// Where to begin
    #[arg(value_name = "URL")]
    urls: Vec<String>,
    /// Read seeds from a file, one URL a line; - for standard input. May be repeated
    #[arg(long, value_name = "FILE")]
    seeds: Vec<PathBuf>,
    /// Where everything is kept; a crawl that is there already goes on
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    /// End this run after so many pages
    #[arg(long, value_name = "N")]
    max_pages: Option<u64>,
    /// End this run after this time, such as 90s, 10m or 8h
    #[arg(long, value_name = "DURATION")]
    max_duration: Option<Span>,
    #[command(flatten)]
    settings: SettingFlags,
    /// Say nothing on standard error but errors and hints: no progress, no messages
    #[arg(long, short)]
    pub(super) quiet: bool,
    /// Print the summary as one JSON object
    #[arg(long)]
    json: bool,
    /// Die at a step of the commit, for tests: a step's name, and `:N` for the N-th time
    #[arg(long, hide = true, value_name = "STEP")]
    failpoint: Option<Failpoint>,
}

pub(super) fn run(arguments: &Arguments, screen: &Screen) -> Result<(), Failure> {
    let config = arguments.settings.load()?.config;
    let mut options = config.options()?;
    options.failpoint = arguments.failpoint;
    let sources = sources(arguments)?;
    let given = check_seeds(&sources, &config)?;
    if config.crawl.robots == RobotsMode::Ignore {
        screen.say(
            "warning: robots.txt is ignored; crawl only what is yours, or what its owner allows you to",
        );
    }
    if given == 0 && !arguments.data_dir.join("version").exists() {
        return Err(no_seeds(arguments));
    }
    let stop = StopHandle::new();
    signals::listen(stop.clone(), screen.clone())?;

    let mut crawl = Crawl::open(&arguments.data_dir, options)?;
    if !crawl.is_resumed() && given == 0 {
        return Err(no_seeds(arguments));
    }
    if crawl.is_resumed() {
        let counters = crawl.counters();
        screen.say(&format!(
            "resumed: {} queued, {} done",
            counters.queued,
            counters.done()
        ));
    }
    for (name, then, now) in crawl.compare_settings(&config::flatten(&config))? {
        screen.say(&format!("changed setting: {name} was {then}, is {now}"));
    }
    let progress = Progress::start(crawl.watch(), screen).map_err(anyhow::Error::from)?;
    let before = crawl.counters().seeds;
    let mut failed = None;
    let seeds = sources.list.iter().flat_map(Source::seeds);
    // A list that was whole a moment ago can fail now only if somebody changes it meanwhile.
    let seeds = seeds.map_while(|seed| seed.map_err(|error| failed = Some(error)).ok());
    crawl.add_seeds(seeds, &stop)?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    let added = crawl.counters().seeds - before;
    if added > 0 {
        screen.say(&format!("seeds: {added} new"));
    }
    if crawl.counters().queued == 0 {
        let done = crawl.counters().done();
        drop(progress);
        screen.say(&format!("nothing left: {done} done"));
        output::say("hint: give new seeds to go on, or another --data-dir to start afresh");
        if arguments.json {
            output::print(&output::summary_json(&crawl.nothing_to_do()))?;
        }
        return Ok(());
    }
    let limits = RunLimits {
        max_pages: arguments.max_pages,
        max_duration: arguments.max_duration.map(|span| span.0),
    };
    let summary = crawl.run(&limits, &stop)?;
    // The line is gone before the summary comes: both may go to one terminal.
    drop(progress);
    output::print(&match arguments.json {
        true => output::summary_json(&summary),
        false => output::summary(&summary),
    })?;
    Ok(())
}

fn no_seeds(arguments: &Arguments) -> Failure {
    let directory = arguments.data_dir.display();
    Failure::Usage {
        message: format!("no seeds, and no crawl in {directory} to go on with"),
        hint: Some("give URLs, or a list with --seeds"),
    }
}

/// Where the seeds come from; a list on standard input is kept in a file while gleaner runs,
/// because it is read twice.
struct Sources {
    list: Vec<Source>,
    spool: Option<PathBuf>,
}

impl Drop for Sources {
    fn drop(&mut self) {
        if let Some(spool) = &self.spool {
            let _ = std::fs::remove_file(spool);
        }
    }
}

fn sources(arguments: &Arguments) -> Result<Sources, Failure> {
    let mut sources = Sources {
        list: arguments
            .urls
            .iter()
            .cloned()
            .map(Source::Argument)
            .collect(),
        spool: None,
    };
    for path in &arguments.seeds {
        if path == Path::new("-") {
            if sources.spool.is_some() {
                return Err(Failure::usage(
                    "standard input can be read once: give --seeds - only once",
                ));
            }
            let spool = spool_standard_input()?;
            sources.list.push(Source::File(spool.clone()));
            sources.spool = Some(spool);
        } else {
            sources.list.push(Source::File(path.clone()));
        }
    }
    Ok(sources)
}

fn spool_standard_input() -> Result<PathBuf, Failure> {
    let path = std::env::temp_dir().join(format!("gleaner-seeds-{}", std::process::id()));
    let mut file =
        File::create_new(&path).with_context(|| format!("cannot create {}", path.display()))?;
    io::copy(&mut io::stdin().lock(), &mut file)
        .context("cannot read seeds from standard input")?;
    Ok(path)
}

/// Reads every list once before anything is opened, so that a crawl never begins on half a list.
/// Gives the number of seeds.
fn check_seeds(sources: &Sources, config: &Config) -> Result<u64, Failure> {
    let mut given = 0;
    for source in &sources.list {
        for seed in source.seeds() {
            let seed = seed.map_err(|error| name_standard_input(error, sources))?;
            check_contact(&seed, config)?;
            given += 1;
        }
    }
    Ok(given)
}

/// A site must be able to reach whoever crawls it.
fn check_contact(seed: &Url, config: &Config) -> Result<(), Failure> {
    let user_agent = &config.fetch.user_agent;
    if Guard::has_contact(user_agent) || Guard::consent_of(seed).is_some() {
        return Ok(());
    }
    Err(Failure::Usage {
        message: format!(
            "the user agent {user_agent:?} holds no contact, and {seed} is not on this machine"
        ),
        hint: Some(
            "give one with --user-agent 'examplebot/1.0 (+https://example.org/bot)', so that a site can reach you",
        ),
    })
}

/// Errors name the list as it was given.
fn name_standard_input(mut error: seeds::Error, sources: &Sources) -> seeds::Error {
    if let (seeds::Error::Line { path, .. } | seeds::Error::Read { path, .. }, Some(spool)) =
        (&mut error, &sources.spool)
        && path == spool
    {
        *path = PathBuf::from("standard input");
    }
    error
}
