//! `gleaner cluster forget` and `restore`: what to do about a worker that does not come back, and
//! about an engine without its data.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use super::names::names;
use super::{Target, no_worker};
use crate::cli::Failure;
use crate::cli::output;
use crate::cli::words::count;
use crate::cluster::{self, Going, Limits, Times, offer};
use crate::units::Size;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner cluster forget nats://127.0.0.1/news w3
  gleaner cluster forget nats://127.0.0.1/news w3 --lost

Nothing is kept for it any more, and its shards stay with those who have taken them over. It is
watched for some seconds whether it is there after all. With --lost, pages of which only its disk
had the body are fetched again; without, their bodies are missing until the disk is back.")]
pub(crate) struct Forget {
    #[command(flatten)]
    target: Target,
    /// The worker
    #[arg(value_name = "WORKER")]
    worker: String,
    /// Its disk is lost, with the files of the archive on it
    #[arg(long)]
    lost: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner cluster restore nats://127.0.0.1/news --offer /data/news
  gleaner cluster restore nats://127.0.0.1/news

First on each machine with the directory of its worker, then once without: each shard goes on from
the copy that is the most advanced, and workers can be started. A crawl that was paused or stopped
stays so until `gleaner cluster resume`, and its --max-pages and --max-bytes hold as before.")]
pub(crate) struct Restore {
    #[command(flatten)]
    target: Target,
    /// Directory of a worker that has a part of the crawl
    #[arg(long, value_name = "DIR")]
    offer: Option<PathBuf>,
    /// Name of this worker [default: as DIR says, else that of the machine and of the directory]
    #[arg(long, requires = "offer")]
    name: Option<String>,
    /// The machine that it runs on [default: as DIR says, else its host name]
    #[arg(long, value_name = "NAME", requires = "offer")]
    machine: Option<String>,
}

pub(super) fn forget(arguments: &Forget) -> Result<(), Failure> {
    let Forget {
        target,
        worker,
        lost,
    } = arguments;
    let (broker, _) = target.find()?;
    let dead = Times::default().dead;
    let forgotten = cluster::forget_worker(&broker, worker, *lost, dead);
    if !forgotten.map_err(|error| target.explain(error))? {
        return Err(no_worker(worker));
    }
    output::say(&match lost {
        false => format!("{worker} is forgotten"),
        true => format!(
            "{worker} is forgotten; the owners of its shards fetch again what only its disk had"
        ),
    });
    Ok(())
}

pub(super) fn restore(arguments: &Restore) -> Result<(), Failure> {
    let address = arguments.target.address();
    let broker = arguments.target.connect()?;
    let context = || format!("cannot restore {address}");
    if let Some(directory) = &arguments.offer {
        let (name, machine) = (arguments.name.as_deref(), arguments.machine.as_deref());
        let (_, name) = names(machine, name, directory)?;
        let offered = offer(&*broker, &name, directory).with_context(context)?;
        output::say(&format!(
            "{name} offers {}",
            count(offered.len() as u64, "shard")
        ));
        for (shard, commit) in offered {
            output::say(&format!("  shard {shard:02} to commit {commit}"));
        }
        return Ok(());
    }
    let restored = cluster::restore(&*broker).with_context(context)?;
    for shard in &restored.shards {
        output::say(&format!(
            "shard {:02} goes on with {} from commit {}",
            shard.shard, shard.worker, shard.commit
        ));
        for (worker, commit) in &shard.behind {
            output::say(&format!(
                "  {worker} has it to commit {commit}, and copies it"
            ));
        }
    }
    let Limits {
        max_pages,
        max_bytes,
    } = restored.limits;
    let pages = max_pages.map(|most| count(most, "page"));
    let bytes = max_bytes.map(|most| Size(most).to_string());
    for most in pages.into_iter().chain(bytes) {
        output::say(&format!("it stops at {most}, as before"));
    }
    if restored.stays {
        output::say("it goes on until it is stopped, as before");
    }
    output::say(&match restored.going {
        Going::Running => "restored; start the workers".to_owned(),
        held => format!(
            "restored, and {} as before: start the workers, and let them go on with `gleaner \
             cluster resume`",
            <&str>::from(held)
        ),
    });
    Ok(())
}
