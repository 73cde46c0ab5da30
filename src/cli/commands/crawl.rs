//! `gleaner crawl`: starts a crawl, or resumes one where its last run stopped.

pub(super) mod console;
pub(super) mod reload;
pub(super) mod widening;
pub(super) mod worker;

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;

use super::config::SettingFlags;
use crate::broker::Address;
use crate::cli::exit::Exit;
use crate::cli::output::{self, Screen};
use crate::cli::progress::{self, Progress};
use crate::cli::{Failure, help, left_out, signals};
use crate::cluster;
use crate::config::{self, Config, Effective, Size, Span};
use crate::control::{ControlServer, Handles, ServeMode};
use crate::engine::{self, Crawl, Ending, Failpoint, Opening, RunLimits, StopHandle, Summary};
use crate::fetch::{FetchOptions, Guard, Refused};
use crate::frontier::{RevisitPolicy, Seed};
use crate::seeds::{self, Source};
use crate::url::Url;
use reload::{Reloading, warn_of_ignored_robots};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner crawl http://127.0.0.1:8000/ --data-dir crawl
  gleaner crawl --seeds seeds/documentation.txt --data-dir crawl --scope domain \\
      --user-agent 'examplebot/1.0 (+https://example.org/bot)'
  gleaner crawl --data-dir crawl                    resume the crawl
  gleaner crawl --data-dir crawl --scope domain --dry-run    what that would add
  gleaner crawl --seeds new.txt --data-dir second --known crawl --known other/*.warc.gz
  gleaner crawl --seeds seeds.txt --data-dir q2 --since q1    store only what has changed
  gleaner crawl --data-dir crawl --quiet --json | jq .pages_per_second

The exit code is 6 if the crawl came to its end and some seeds gave nothing; the summary names them.")]
// Each is a flag.
#[expect(clippy::struct_excessive_bools)]
pub(crate) struct Arguments {
    #[command(flatten)]
    seeds: SeedArguments,
    /// Data directory of the crawl; an existing crawl is resumed
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    /// Earlier crawls: a data directory, a directory of WARC files, or a WARC file. Their URLs are
    /// not fetched again, and pages like theirs are duplicates. May be repeated
    #[arg(help_heading = help::REACH, long, value_name = "DIR|FILE.warc.gz", num_args = 1..)]
    known: Vec<PathBuf>,
    /// Stop this run after this number of pages
    #[arg(long, value_name = "N")]
    max_pages: Option<u64>,
    /// Stop this run after this time, such as 90s, 10m or 8h
    #[arg(help_heading = help::ENDS, long, value_name = "DURATION")]
    max_duration: Option<Span>,
    /// Stop this run after receiving this many bytes of bodies, such as 500MB or 10GiB
    #[arg(help_heading = help::ENDS, long, value_name = "SIZE")]
    max_bytes: Option<Size>,
    #[command(flatten)]
    settings: SettingFlags,
    /// Go on although the store has lost commits: what it does not know is set aside, and what is
    /// missing is fetched again as far as stored pages link to it
    #[arg(help_heading = help::SETTINGS, long)]
    repair: bool,
    /// Say what the given settings would admit of what the crawl has passed over; change nothing
    #[arg(help_heading = help::REACH, long, conflicts_with_all = ["urls", "seeds", "known"])]
    dry_run: bool,
    /// Print only errors and hints to standard error, no progress and no messages
    #[arg(long, short)]
    pub(super) quiet: bool,
    /// Print the summary as one JSON object
    #[arg(long)]
    json: bool,
    /// For tests: abort at a step of the commit, given by its name, and `:N` for the N-th time
    #[arg(long, hide = true, value_name = "STEP")]
    failpoint: Option<Failpoint>,
    /// For tests so far: commit to the log of a crawl that NATS keeps, before the data directory
    #[arg(
        long,
        hide = true,
        value_name = "nats://SERVER,SERVER/NAME",
        conflicts_with = "dry_run"
    )]
    commit_log: Option<Address>,
    /// Time between two lines of progress where standard error is no terminal, for tests
    #[arg(long, hide = true, value_name = "DURATION")]
    progress_interval: Option<Span>,
}

/// Age at which whoever may run for long closes a file of the archive, unless another is set:
/// others may wait for it.
pub(super) const MAX_FILE_AGE: Duration = Duration::from_hours(1);

pub(super) fn run(arguments: &Arguments, screen: &Screen) -> Result<(), Failure> {
    let effective = arguments.settings.load(Some(&arguments.data_dir))?;
    let config = &effective.config;
    let mut options = config.options()?;
    super::config::sign_uploads(config, &mut options)?;
    options.policies.block(config.read_block_lists()?);
    options.fetch.login = super::config::login(config, screen)?;
    super::config::converters(config)?;
    options.failpoint = arguments.failpoint;
    options.repair = arguments.repair;
    if let Some(address) = &arguments.commit_log {
        let log = cluster::connect(address, arguments.failpoint);
        options.log = Some(log.with_context(|| format!("cannot use {address}"))?);
    }
    // A run that ends when nothing is left visits each page once.
    options.revisit = RevisitPolicy::off();
    if arguments.dry_run {
        let stop = StopHandle::new();
        signals::listen(stop.clone(), screen.clone())?;
        options.opening = Opening::new(stop.clone());
        let directory = &arguments.data_dir;
        return widening::rehearse(directory, (&effective, options), arguments.json, &stop);
    }
    let sources = arguments.seeds.sources()?;
    let given = check_seeds(&sources, config)?;
    given.tell(screen);
    let given = given.seeds;
    let known = known_files(arguments)?;
    warn_of_ignored_robots(config, screen);
    if given == 0 && !arguments.data_dir.join("version").exists() {
        return Err(no_seeds(arguments));
    }
    let stop = StopHandle::new();
    signals::listen(stop.clone(), screen.clone())?;

    let console = console::open(config, screen)?;
    options.opening = Opening::new(stop.clone());
    let mut crawl = Crawl::open(&arguments.data_dir, options)?;
    if !crawl.is_resumed() && given == 0 {
        return Err(no_seeds(arguments));
    }
    say_resumed(&mut crawl, &effective, screen)?;
    effective.remembered().write(&arguments.data_dir)?;
    let handles = Handles {
        control: crawl.control(),
        watch: crawl.watch(),
        stop: stop.clone(),
    };
    if console.is_some() {
        let reloads = Reloading::begin(
            (&arguments.settings, &arguments.data_dir),
            &effective,
            crawl.control(),
            screen,
            // As at the start: each page is visited once.
            |options| options.revisit = RevisitPolicy::off(),
        )?;
        console::show(console.as_ref(), &handles, &Arc::new(reloads));
    }
    let interval = arguments.progress_interval;
    let interval = interval.map_or(progress::OFTEN, |interval| interval.0);
    let progress = Progress::start(crawl.watch(), screen, interval);
    let progress = progress.map_err(anyhow::Error::from)?;
    look_back(&mut crawl, screen, &stop)?;
    add_known(&mut crawl, &known, screen, &stop)?;
    add_seeds(&mut crawl, &sources, screen, &stop)?;
    widening::widen(&mut crawl, screen, &stop)?;
    if crawl.counters().queued == 0 {
        let done = crawl.counters().done();
        drop(progress);
        screen.say(&format!("nothing left to crawl: {done} done"));
        output::say(match crawl.counters().known {
            0 => "hint: give new seeds to continue, or another --data-dir to start over",
            _ => "hint: URLs from --known are not fetched again; give other seeds",
        });
        let summary = crawl.nothing_to_do(&stop)?;
        if arguments.json {
            output::print_summary(&summary, ("crawl", &arguments.data_dir), true)?;
        } else {
            output::print(&left_out::in_words(&summary.omissions))?;
        }
        return unless_lost(&summary);
    }
    let server = ControlServer::start(&arguments.data_dir, ServeMode::Socket, handles);
    if let Err(error) = &server {
        // Some file systems do not support sockets. The crawl runs without one.
        tracing::warn!(%error, "cannot open the control socket: `pause`, `resume`, `stop` and `seeds add` will not work");
    }
    let limits = RunLimits {
        max_pages: arguments.max_pages,
        max_duration: arguments.max_duration.map(|span| span.0),
        max_bytes: arguments.max_bytes.map(|size| size.0),
        wait_for_more: false,
    };
    let summary = crawl.run_blocking(&limits, &stop)?;
    // Removes the progress line before the summary, which may go to the same terminal.
    drop(progress);
    output::print_summary(&summary, ("crawl", &arguments.data_dir), arguments.json)?;
    drop(server);
    drop(console);
    unless_lost(&summary)
}

/// Fails if the crawl came to its end and seeds gave nothing, which its summary names. A run that
/// was stopped, or reached a limit, is not over.
fn unless_lost(summary: &Summary) -> Result<(), Failure> {
    match summary.ending {
        Ending::Drained if summary.omissions.lost.lost > 0 => Err(Failure::Answered(Exit::Lost)),
        _ => Ok(()),
    }
}

/// Reports that a crawl is resumed, which settings it goes on with because an earlier run was told
/// so, and which differ from those of its last run.
pub(super) fn say_resumed(
    crawl: &mut Crawl,
    effective: &Effective,
    screen: &Screen,
) -> Result<(), Failure> {
    if crawl.is_resumed() {
        let counters = crawl.counters();
        screen.say(&format!(
            "resumed: {} queued, {} done",
            counters.queued,
            counters.done()
        ));
    }
    let earlier = effective.from_earlier();
    let earlier: Vec<String> = earlier
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    if !earlier.is_empty() {
        screen.say(&format!(
            "settings of earlier runs: {}; --reset-settings forgets them",
            earlier.join(", ")
        ));
    }
    let settings = config::flatten(&effective.config);
    for (name, then, now) in crawl.compare_settings(&settings)? {
        screen.say(&format!("changed setting: {name} was {then}, is {now}"));
    }
    Ok(())
}

/// The WARC files of the earlier crawls given with --known.
fn known_files(arguments: &Arguments) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    let own = arguments.data_dir.canonicalize().ok();
    for path in &arguments.known {
        if own.is_some() && path.canonicalize().ok() == own {
            return Err(Failure::usage(format!(
                "{} is the data directory of this crawl; give --known another one",
                path.display()
            )));
        }
        files.extend(engine::known_files(path).map_err(|error| Failure::Usage {
            message: format!("cannot read {}: {error}", path.display()),
            hint: Some("give --known a data directory, a directory of WARC files, or a WARC file"),
        })?);
    }
    Ok(files)
}

/// Imports what earlier crawls know.
fn add_known(
    crawl: &mut Crawl,
    files: &[PathBuf],
    screen: &Screen,
    stop: &StopHandle,
) -> Result<(), Failure> {
    for file in files {
        let before = crawl.counters().known;
        crawl.know(file, stop)?;
        let added = crawl.counters().known - before;
        screen.say(&format!("known: {added} new URLs from {}", file.display()));
        if stop.is_stopped() {
            break;
        }
    }
    Ok(())
}

/// Takes in what the earlier crawls of `archive.since` hold.
pub(super) fn look_back(
    crawl: &mut Crawl,
    screen: &Screen,
    stop: &StopHandle,
) -> Result<(), Failure> {
    let (held, unheld) = crawl.look_back(stop)?;
    if held + unheld > 0 {
        let unheld = match unheld {
            0 => String::new(),
            1 => "; 1 more has no body there that could be referred to, and is fetched whole"
                .to_owned(),
            more => format!(
                "; {more} more have no body there that could be referred to, and are fetched whole"
            ),
        };
        let are = match held {
            1 => "URL of earlier crawls is asked for by what it got then",
            _ => "URLs of earlier crawls are asked for by what they got then",
        };
        screen.say(&format!("since: {held} {are}{unheld}"));
    }
    Ok(())
}

/// Adds the given seeds.
pub(super) fn add_seeds(
    crawl: &mut Crawl,
    sources: &Sources,
    screen: &Screen,
    stop: &StopHandle,
) -> Result<(), Failure> {
    let before = crawl.counters().seeds;
    let (mut failed, mut given) = (None, 0_u64);
    // Every line was valid a moment ago: errors mean that the list is being changed.
    let seeds = sources
        .seeds()
        .map_while(|seed| seed.map_err(|error| failed = Some(error)).ok())
        .inspect(|_| given += 1);
    crawl.add_seeds(seeds, stop)?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    let added = crawl.counters().seeds - before;
    let known = given.saturating_sub(added);
    match (added, known) {
        (0, 0) => {}
        (_, 0) => screen.say(&format!("seeds: {added} new")),
        _ => screen.say(&format!("seeds: {added} new, {known} known")),
    }
    Ok(())
}

fn no_seeds(arguments: &Arguments) -> Failure {
    let directory = arguments.data_dir.display();
    Failure::Usage {
        message: format!("no seeds given, and there is no crawl in {directory} to resume"),
        hint: Some("give URLs, or a list with --seeds"),
    }
}

/// The arguments that give seeds.
#[derive(Debug, Args)]
pub(super) struct SeedArguments {
    /// URLs to start from
    #[arg(value_name = "URL")]
    urls: Vec<String>,
    /// Read seeds from a file, one URL per line; `-` for standard input. May be repeated
    #[arg(long, value_name = "FILE")]
    seeds: Vec<PathBuf>,
    /// Skip seeds that are no URLs, and count them, instead of refusing the list
    #[arg(help_heading = help::REACH, long)]
    skip_bad_seeds: bool,
}

/// Where the seeds come from. A list on standard input is copied to a temporary file, because seeds
/// are read twice.
pub(super) struct Sources {
    pub(super) list: Vec<Source>,
    spool: Option<PathBuf>,
    skips_bad: bool,
}

/// Number of bad seeds that are named.
const NAMED: usize = 20;

/// What a first look at all seeds found.
#[derive(Debug, Default)]
pub(super) struct Given {
    /// Number of seeds.
    pub(super) seeds: u64,
    /// Number of those that were given without a scheme, and the first of them.
    bare: u64,
    first_bare: Option<Url>,
    /// Number of bad ones, and what is wrong with the first of them.
    bad: usize,
    reasons: Vec<String>,
}

impl Given {
    /// Says what was not taken as it was given.
    pub(super) fn tell(&self, screen: &Screen) {
        for line in self.in_words() {
            screen.say(&line);
        }
    }

    fn in_words(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(first) = &self.first_bare {
            lines.push(match self.bare {
                1 => format!("a seed without a scheme is taken as {first}"),
                more => {
                    format!("{more} seeds without a scheme are taken as https, such as {first}")
                }
            });
        }
        if self.bad > 0 {
            lines.push(format!("bad seeds skipped: {}", self.bad));
            lines.extend(self.reasons.iter().map(|reason| format!("  {reason}")));
        }
        lines
    }
}

impl Drop for Sources {
    fn drop(&mut self) {
        if let Some(spool) = &self.spool {
            let _ = std::fs::remove_file(spool);
        }
    }
}

impl Sources {
    /// Reads the seeds from the beginning.
    pub(super) fn seeds(&self) -> impl Iterator<Item = Result<Seed, seeds::Error>> {
        let is_skipped = |seed: &Result<_, seeds::Error>| {
            self.skips_bad && seed.as_ref().is_err_and(seeds::Error::is_of_one_seed)
        };
        let seeds = self.list.iter().flat_map(Source::seeds);
        seeds.filter(move |seed| !is_skipped(seed))
    }

    /// Reads every list to its end. Fails with all seeds that are bad, unless these are skipped,
    /// and if `each` refuses one.
    pub(super) fn check(
        &self,
        mut each: impl FnMut(&Url) -> Result<(), Failure>,
    ) -> Result<Given, Failure> {
        let mut given = Given::default();
        for seed in self.list.iter().flat_map(Source::seeds) {
            match seed {
                Ok(seed) => {
                    each(&seed.url)?;
                    given.seeds += 1;
                    if seed.is_bare {
                        given.bare += 1;
                        given.first_bare.get_or_insert(seed.url);
                    }
                }
                Err(error) if error.is_of_one_seed() => {
                    given.bad += 1;
                    if given.reasons.len() < NAMED {
                        let error = self.name_standard_input(error);
                        given.reasons.push(error.to_string());
                    }
                }
                Err(error) => return Err(self.name_standard_input(error).into()),
            }
        }
        if given.bad == 0 || self.skips_bad {
            return Ok(given);
        }
        let mut message = given.reasons.join("\n");
        if given.bad > given.reasons.len() {
            message = format!("{message}\nand {} more", given.bad - given.reasons.len());
        }
        Err(Failure::Usage {
            message,
            hint: Some("--skip-bad-seeds goes on without such seeds"),
        })
    }

    /// Makes an error name standard input instead of the temporary file.
    pub(super) fn name_standard_input(&self, mut error: seeds::Error) -> seeds::Error {
        if let (seeds::Error::Line { path, .. } | seeds::Error::Read { path, .. }, Some(spool)) =
            (&mut error, &self.spool)
            && path == spool
        {
            *path = PathBuf::from("standard input");
        }
        error
    }
}

impl SeedArguments {
    /// The sources of the seeds.
    pub(super) fn sources(&self) -> Result<Sources, Failure> {
        let is_file = |it: &&String| !it.contains("://") && Path::new(it).is_file();
        if let Some(file) = self.urls.iter().find(is_file) {
            return Err(Failure::usage(format!(
                "there is a file {file} here: --seeds {file} reads the seeds in it; if {file} is a \
                 host, give https://{file}/"
            )));
        }
        let arguments = self.urls.iter().cloned().map(Source::Argument);
        let mut sources = Sources {
            list: arguments.collect(),
            spool: None,
            skips_bad: self.skip_bad_seeds,
        };
        for path in &self.seeds {
            if path != Path::new("-") {
                sources.list.push(Source::File(path.clone()));
                continue;
            }
            if sources.spool.is_some() {
                return Err(Failure::usage(
                    "--seeds - was given more than once; standard input can be read only once",
                ));
            }
            let spool = spool_standard_input()?;
            sources.list.push(Source::File(spool.clone()));
            sources.spool = Some(spool);
        }
        Ok(sources)
    }
}

fn spool_standard_input() -> Result<PathBuf, Failure> {
    // A name that nobody can take beforehand, and a list that nobody else can read.
    let number = getrandom::u64().map_err(|error| anyhow::anyhow!("no random number: {error}"))?;
    let path = std::env::temp_dir().join(format!("gleaner-seeds-{number:016x}"));
    let mut file = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .with_context(|| format!("cannot create {}", path.display()))?;
    io::copy(&mut io::stdin().lock(), &mut file)
        .context("cannot read seeds from standard input")?;
    Ok(path)
}

/// Reads every list once before the crawl is opened, so that it never starts with half a list.
/// Returns what they hold.
pub(super) fn check_seeds(sources: &Sources, config: &Config) -> Result<Given, Failure> {
    // Private addresses are checked later, when the crawl knows which of them it may contact.
    let guard = Guard::new(&FetchOptions {
        allow_private: true,
        hosts: config.fetch.hosts.clone(),
        ..FetchOptions::new(&config.fetch.user_agent)
    });
    sources.check(|seed| check_contact(seed, &guard, config))
}

/// Requires a contact in the user agent, so that a site can reach its crawler's operator.
fn check_contact(seed: &Url, guard: &Guard, config: &Config) -> Result<(), Failure> {
    if guard.check(seed) != Err(Refused::NoContact) {
        return Ok(());
    }
    let user_agent = &config.fetch.user_agent;
    Err(Failure::Usage {
        message: format!(
            "the user agent {user_agent:?} contains no contact, which is required to crawl {seed}"
        ),
        hint: Some(
            "add a URL or an e-mail address, as in `gleaner crawl --user-agent 'examplebot/1.0 (+https://example.org/bot)'`, so that the site can reach you",
        ),
    })
}
