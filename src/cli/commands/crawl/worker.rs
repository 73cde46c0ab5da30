//! `gleaner worker`: crawls some shards of a crawl that several workers share.

use std::path::{self, PathBuf};

use anyhow::Context as _;
use clap::Args;

use super::{MAX_FILE_AGE, console};
use crate::cli::commands::cluster::created;
use crate::cli::commands::cluster::names::names;
use crate::cli::commands::cluster::target::Target;
use crate::cli::commands::config::{self, SettingFlags};
use crate::cli::output::Screen;
use crate::cli::signals::{self, Hangups};
use crate::cli::words::count;
use crate::cli::{Failure, help};
use crate::cluster::{Going, LOG_MAX, NotTaken, Times, Worker, WorkerError, WorkerOptions, enter};
use crate::config::{Span, Unlike, joined};
use crate::console::Sharing;
use crate::engine::{Failpoint, StopHandle};
use crate::units::Size;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner worker nats://127.0.0.1/news --data-dir w1
  gleaner worker nats://n1,n2,n3/news --data-dir /data/news --max-shards 8 --max-memory 8GiB

Settings are those of the crawl. `--config` and flags are for what each machine has of its own, such
as state.max_memory and fetch.proxy, and for credentials; another value for what all workers must
have is refused. SIGTERM and SIGINT let it give its shards to the others and end.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
    /// Directory of this worker's shards: each is a data directory, in DIR/shards
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    /// Name of this worker, which no other one has [default: as its directory says, else that of
    /// the machine and of the directory]
    #[arg(long)]
    name: Option<String>,
    /// Machine that it runs on; copies of a shard are on different ones [default: as its directory
    /// says, else its host name]
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
    /// Maximum number of shards that it is to own [default: none]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    max_shards: Option<u16>,
    /// Time after which a worker that says nothing is taken for dead, for tests; all workers of a
    /// crawl need the same
    #[arg(long, hide = true, value_name = "DURATION")]
    dead: Option<Span>,
    /// Size of a log beyond which a copy of its shard, or a library, that has not read it is made
    /// anew
    #[arg(long, value_name = "SIZE")]
    log_max: Option<Size>,
    #[arg(long, hide = true)]
    failpoint: Option<Failpoint>,
    /// Documents of all shards that this worker keeps whole, to find what repeats them; of further
    /// ones it finds copies byte for byte only
    #[arg(long, value_name = "N", default_value_t = 100_000_000)]
    library: u64,
    /// Print only errors and hints to standard error
    #[arg(help_heading = help::SETTINGS, long, short)]
    pub(in crate::cli::commands) quiet: bool,
    #[command(flatten)]
    settings: SettingFlags,
}

pub(in crate::cli::commands) fn run(arguments: &Arguments, screen: &Screen) -> Result<(), Failure> {
    let effective = arguments.settings.load(None)?;
    let (machine, name) = names(
        arguments.machine.as_deref(),
        arguments.name.as_deref(),
        &arguments.data_dir,
    )?;
    let stop = StopHandle::new();
    signals::listen(stop.clone(), screen.clone())?;
    let own = screen.clone();
    Hangups::listen()?.each(move || {
        own.say("SIGHUP: a worker reads its settings when it starts, and goes on as it is");
    })?;
    let address = &arguments.target.address();
    let broker = arguments.target.connect()?;
    let terms = enter(&*broker, &arguments.data_dir, &stop);
    let terms = terms.with_context(|| format!("cannot use {address}"))?;
    let terms = created(address, terms)?;
    let config = joined(&effective, &terms.settings).map_err(|unlike| Failure::Usage {
        message: unlike.to_string(),
        hint: match unlike {
            Unlike::Given(_) => Some(
                "all workers have the settings that the crawl was created with; leave these away",
            ),
            _ => None,
        },
    })?;
    let mut crawl = config.options()?;
    config::sign_uploads(&config, &mut crawl)?;
    crawl.policies.block(config.read_block_lists()?);
    crawl.fetch.login = config::login(&config, screen)?;
    config::converters(&config)?;
    crawl.failpoint = arguments.failpoint;
    crawl.archive.max_age.get_or_insert(MAX_FILE_AGE);
    let times = arguments
        .dead
        .as_ref()
        .map_or_else(Times::default, |dead| Times {
            beat: dead.0 / 10,
            right: dead.0 * 7 / 10,
            dead: dead.0,
        });
    let console = console::open(&config, screen)?;
    let options = WorkerOptions {
        name: name.clone(),
        machine,
        // Others read where it is, whose working directory is another one.
        directory: path::absolute(&arguments.data_dir)
            .unwrap_or_else(|_| arguments.data_dir.clone()),
        crawl_name: address.name().to_owned(),
        terms,
        log_max: arguments.log_max.map_or(LOG_MAX, |size| size.0),
        times,
        crawl,
        max_shards: arguments.max_shards,
        console: console.as_ref().map(|it| it.place().to_owned()),
        library: arguments.library,
    };
    let worker = Worker::join(broker, options, &stop).map_err(failed)?;
    let view = worker.view();
    if let Some(console) = &console {
        console.show_worker(Sharing {
            view: view.clone(),
            worker: name.clone(),
            address: address.to_string(),
            directory: arguments.data_dir.clone(),
        });
    }
    screen.say(&format!(
        "worker {name} of {address}; `gleaner cluster status {address}` shows all"
    ));
    worker.run(&stop).map_err(failed)?;
    if let Some(now) = view.status() {
        let pages = count(now.sum.pages, "page");
        screen.say(&match (now.is_over, now.going) {
            (true, _) => format!("nothing is left to crawl: {pages} in all"),
            (_, Going::Stopped) => now.attention.first().cloned().unwrap_or_default(),
            _ => format!("worker {name} has ended; the crawl has {pages} so far"),
        });
    }
    Ok(())
}

fn failed(error: WorkerError) -> Failure {
    match error {
        WorkerError::NotTaken(NotTaken::InUse { .. }) | WorkerError::Name(_) => {
            Failure::InUse(error.to_string())
        }
        error => anyhow::Error::from(error).into(),
    }
}
