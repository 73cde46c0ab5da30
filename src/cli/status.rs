//! `gleaner status`: the state of a crawl, also while it runs.

use std::path::PathBuf;

use clap::Args;

use super::{Failure, output};
use crate::engine;

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  gleaner status --data-dir crawl\n  gleaner status --data-dir crawl --json | jq .counters.queued"
)]
pub(super) struct Arguments {
    /// Directory of the crawl
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
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
