//! `gleaner cluster retry`: requeues what was given up or deferred in any shard of a crawl.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::Args;
use serde::Serialize;

use super::{PATIENCE, Target, outcome};
use crate::cli::commands::retry::{Which, in_words};
use crate::cli::words::{count, shards};
use crate::cli::{Failure, output};
use crate::cluster::{self, RetriedSoFar};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner cluster retry nats://127.0.0.1/news --class dns
  gleaner cluster retry nats://127.0.0.1/news --class timeout,connect --host example.org

All shards are told, from any machine. It waits until those that have an owner now have done it, and
says what they have put back; if you interrupt it, they go on. Those without an owner do it when they
have one. A crawl that is over goes on when workers are started.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    which: Which,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// What came of it, as JSON.
#[derive(Debug, Serialize)]
struct Said<'a> {
    /// Number of URLs that were put back, by class.
    urls: &'a BTreeMap<String, u64>,
    /// Number of hosts that no longer wait.
    hosts: u64,
    /// Shards that will do it when they have an owner.
    unowned: &'a [u16],
    /// Shards that do not say what came of it.
    silent: &'a [u16],
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let target = &arguments.target;
    let (broker, _) = target.find()?;
    let explain = |error| target.explain(error);
    let order = cluster::retry(&*broker, &arguments.which.filter()).map_err(explain)?;
    let look = || cluster::retried(&broker, target.name(), order, PATIENCE).map_err(explain);
    let found = outcome(look, |now| {
        let busy = now.pending.busy.len() as u64;
        (busy > 0).then(|| count(busy, "shard"))
    })?;
    let said = Said {
        urls: &found.sum.urls,
        hosts: found.sum.hosts,
        unowned: &found.pending.unowned,
        silent: &found.pending.silent,
    };
    let in_words = |_: &Said<'_>| words(&found);
    Ok(output::print_answer(&said, arguments.json, in_words)?)
}

fn words(found: &RetriedSoFar) -> String {
    let mut text = in_words(&found.sum);
    if !found.pending.unowned.is_empty() {
        let _ = writeln!(
            text,
            "shard {} will when it has an owner",
            shards(&found.pending.unowned, ", ")
        );
    }
    if !found.pending.silent.is_empty() {
        let _ = writeln!(
            text,
            "shard {} does not say what came of it: `gleaner cluster status` shows whether workers \
             are of one version",
            shards(&found.pending.silent, ", ")
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Retried;

    #[test]
    fn what_is_not_done_yet_is_told() {
        let sum = Retried {
            urls: BTreeMap::from([("dns".to_owned(), 3)]),
            hosts: 0,
            next: None,
        };
        let mut found = RetriedSoFar {
            sum,
            ..RetriedSoFar::default()
        };
        assert_eq!(words(&found), "requeued 3 URLs (3 dns)\n");
        found.pending.unowned = vec![2, 11];
        assert_eq!(
            words(&found),
            "requeued 3 URLs (3 dns)\nshard 02, 11 will when it has an owner\n"
        );
    }
}
