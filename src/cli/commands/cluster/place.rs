//! `gleaner cluster where`: which worker knows what became of a URL.

use std::fmt::Write as _;
use std::path::Path;

use clap::Args;
use serde::Serialize;

use super::{PATIENCE, Target};
use crate::cli::{Failure, input, output};
use crate::cluster::{ClusterStatus, CopyNow, status};
use crate::frontier::Shards;
use crate::url::HostKey;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner cluster where nats://127.0.0.1/news https://example.org/page
  gleaner cluster where nats://127.0.0.1/news https://example.org/page --json | jq -r .data_dir

What it prints last is the command to give on the machine that it names.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
    /// URL of a page, crawled or not
    #[arg(value_name = "URL")]
    url: String,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// Where a URL belongs.
#[derive(Debug, PartialEq, Serialize)]
struct Place<'a> {
    url: String,
    shard: u16,
    /// The worker that owns the shard; null if nobody ever did.
    owner: Option<&'a str>,
    is_alive: bool,
    machine: Option<&'a str>,
    /// Directory of the shard on that machine.
    data_dir: Option<String>,
    copies: &'a [CopyNow],
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let urls = input::urls(&arguments.url)?;
    let target = &arguments.target;
    let (broker, terms) = target.find()?;
    let now = status(&broker, target.name(), PATIENCE);
    let now = now.map_err(|error| target.explain(error))?;
    let shards = Shards::new(0, terms.shards).map_err(anyhow::Error::from)?;
    // Whether over https or http, the host is the same.
    let Some(url) = urls.first() else {
        return Err(Failure::no_url(
            "invalid URL ",
            &arguments.url,
            "it is empty",
        ));
    };
    let shard = shards.of(&HostKey::of(url));
    let Some(place) = Place::of(url.to_string(), shard, &now) else {
        return Err(anyhow::anyhow!("the engine has no shard {shard:02} of the crawl").into());
    };
    let text = match arguments.json {
        true => serde_json::to_string(&place).map_err(anyhow::Error::from)? + "\n",
        false => place.in_words(shards.count()),
    };
    Ok(output::print(&text)?)
}

impl<'a> Place<'a> {
    fn of(url: String, shard: u16, now: &'a ClusterStatus) -> Option<Self> {
        let known = now.shards.iter().find(|it| it.shard == shard)?;
        let owner = known.owner.as_deref();
        let worker = now.workers.iter().find(|it| Some(&*it.name) == owner);
        let worker = worker.filter(|it| !it.data_dir.is_empty());
        let directory = |dir: &str| {
            let shard = Path::new(dir).join("shards").join(format!("{shard:02}"));
            shard.display().to_string()
        };
        Some(Self {
            url,
            shard,
            owner,
            is_alive: known.is_owned,
            machine: worker.map(|it| &*it.machine),
            data_dir: worker.map(|it| directory(&it.data_dir)),
            copies: &known.copies,
        })
    }

    fn in_words(&self, count: u16) -> String {
        let Self { url, shard, .. } = self;
        let mut text = format!("{url} belongs to shard {shard:02} of {count}\n");
        let owner = match (self.owner, self.is_alive) {
            (Some(owner), true) => owner.to_owned(),
            (Some(owner), false) => format!("{owner}, which does not run"),
            (None, _) => "nobody yet".to_owned(),
        };
        let _ = writeln!(text, "{:<10}{owner}", "owner");
        for copy in self.copies {
            let state = match copy.is_alive {
                true if copy.lag == 0 => "has all".to_owned(),
                true => format!("{} entries behind", copy.lag),
                false => "does not run".to_owned(),
            };
            let _ = writeln!(text, "{:<10}{}, {state}", "copy", copy.worker);
        }
        if let (Some(machine), Some(data_dir)) = (self.machine, &self.data_dir) {
            let _ = writeln!(text, "{:<10}{machine}", "machine");
            let _ = writeln!(text, "gleaner why '{url}' --data-dir '{data_dir}'");
        }
        text
    }
}
