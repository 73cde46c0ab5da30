//! `gleaner status`: the state of a crawl, also while it runs.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;

use super::{Failure, output};
use crate::daemon::client::Client;
use crate::daemon::{Request, Response};
use crate::engine::{self, DirectoryError, Learned};
use crate::frontier::Stage;

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  gleaner status --data-dir crawl\n  gleaner status --data-dir crawl --json | jq .counters.queued\n  gleaner status --data-dir crawl --rules"
)]
pub(super) struct Arguments {
    /// Directory of the crawl
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    /// Show what was learned of hosts instead: parameters that change nothing, hosts that are others
    #[arg(long)]
    rules: bool,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.rules {
        return rules(arguments);
    }
    let status = engine::status(&arguments.data_dir)?;
    if arguments.json {
        let json = serde_json::to_string(&status).map_err(anyhow::Error::from)?;
        output::print(&format!("{json}\n"))?;
        return Ok(());
    }
    let head = match (status.running, status.time.is_empty()) {
        (true, true) => "running, just begun".to_owned(),
        (true, false) => format!(
            "running for {} s, as of {}: {} fetches in progress, {} hosts in memory, limit: {}",
            status.seconds,
            status.time,
            status.gauges.fetching,
            status.gauges.hosts_in_window,
            status.gauges.limit.name()
        ),
        (false, _) => "not running".to_owned(),
    };
    output::print(&format!("{head}\n{}", output::counters(&status.counters)))?;
    Ok(())
}

/// What was learned, from the store or from the process that has it open.
fn rules(arguments: &Arguments) -> Result<(), Failure> {
    let learned = match engine::learned(&arguments.data_dir) {
        Err(engine::Error::Directory(DirectoryError::InUse { .. })) => {
            match Client::connect(&arguments.data_dir)?.ask(&Request::Rules)? {
                Response::Rules(learned) => learned,
                _ => {
                    return Err(Failure::Io(anyhow::anyhow!(
                        "the crawl answered something else"
                    )));
                }
            }
        }
        learned => learned?,
    };
    let text = match arguments.json {
        true => serde_json::to_string(&learned).map_err(anyhow::Error::from)? + "\n",
        false => in_words(&learned),
    };
    Ok(output::print(&text)?)
}

/// A line for each.
fn in_words(learned: &Learned) -> String {
    let mut text = String::new();
    for rule in &learned.rules {
        let stage = match rule.stage {
            Stage::Learned => "changes nothing",
            Stage::Watched => "matters, as of now",
            Stage::Matters => "matters",
        };
        let _ = writeln!(
            text,
            "{}  {}  {stage}  ({} visits agree, {} did not; {} checks; {} links left aside at this host)",
            rule.host, rule.what, rule.agreed, rule.contradicted, rule.checked, rule.suppressed
        );
    }
    for alias in &learned.aliases {
        let holds = if alias.holds {
            "is taken for"
        } else {
            "is not"
        };
        let _ = writeln!(
            text,
            "{}  {holds}  {}  ({} pages equal; {} checks, {} differed)",
            alias.host, alias.of, alias.equal, alias.checked, alias.differed
        );
    }
    if text.is_empty() {
        text.push_str("nothing was learned\n");
    }
    text
}
