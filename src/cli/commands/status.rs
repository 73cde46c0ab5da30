//! `gleaner status`: the state of a crawl, also while it runs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::{Failure, output};
use crate::control::client::Client;
use crate::control::{Request, Response};
use crate::engine::{self, DirectoryError, HostNow, HostsNow, Learned, Status};
use crate::frontier::Trouble;
use crate::learn::Stage;

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  gleaner status --data-dir crawl\n  gleaner status --data-dir crawl --json | jq .counters.queued\n  gleaner status --data-dir crawl --rules"
)]
pub(crate) struct Arguments {
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
    let mut status = engine::status(&arguments.data_dir)?;
    if status.running && status.hosts.is_none() {
        status.hosts = hosts_of_running(&arguments.data_dir);
    }
    if arguments.json {
        let json = serde_json::to_string(&status).map_err(anyhow::Error::from)?;
        output::print(&format!("{json}\n"))?;
        return Ok(());
    }
    let head = match (status.running, status.time.is_empty()) {
        (true, true) => "running, just begun".to_owned(),
        (true, false) => format!(
            "running for {} s, as of {}: {} fetches in progress, {} hosts in memory, limit: {} ({})",
            status.seconds,
            status.time,
            status.gauges.fetching,
            status.gauges.hosts_in_window,
            status.gauges.limit.name(),
            status.gauges.limit.meaning()
        ),
        (false, _) => "not running".to_owned(),
    };
    let counters = output::counters(&status.counters);
    output::print(&format!("{head}\n{counters}{}", details(&status)))?;
    Ok(())
}

/// The hosts of a crawl that runs, if it can be asked: it may be about to end.
fn hosts_of_running(directory: &Path) -> Option<HostsNow> {
    match Client::connect(directory).ok()?.ask(&Request::Hosts).ok()? {
        Response::Hosts(hosts) => Some(hosts),
        _ => None,
    }
}

/// Hosts and memory, a line each.
fn details(status: &Status) -> String {
    let mut text = String::new();
    if let Some(bytes) = status.hosts.as_ref().and_then(|it| it.queued_url_bytes) {
        let _ = writeln!(text, "{:<12}{bytes:>12}  bytes a queued URL", "queue");
    }
    if status.running {
        let memory = &status.memory;
        for (name, bytes, what) in [
            ("window", memory.window, "hosts and their next URLs"),
            ("urls seen", memory.urls_seen, "filter and recent URLs"),
            ("new keys", memory.new_keys, "until the next checkpoint"),
        ] {
            let _ = writeln!(text, "{name:<12}{bytes:>12}  bytes of memory: {what}");
        }
    }
    let Some(hosts) = &status.hosts else {
        return text;
    };
    let mut list = |name: &str, hosts: &[HostNow], figure: fn(&HostNow) -> u64| {
        for (row, host) in hosts.iter().enumerate() {
            let name = if row == 0 { name } else { "" };
            let figure = figure(host);
            let _ = writeln!(text, "{name:<12}{figure:>12}  {}", of_host(host));
        }
    };
    list("longest", &hosts.by_queue, |host| host.queued);
    list("failing", &hosts.by_failures, |host| {
        u64::from(host.failures)
    });
    text
}

/// A host, and what keeps it from being visited.
fn of_host(host: &HostNow) -> String {
    let trouble = host.trouble.map_or("", Trouble::name);
    let state = match (host.parked, host.failures) {
        (true, failures) => {
            format!(
                "parked until {} after {failures} failures, {trouble}",
                host.due
            )
        }
        (false, 0) => format!("due {}", host.due),
        (false, failures) => format!("due {} after {failures} failures, {trouble}", host.due),
    };
    format!("{}  ({} queued; {state})", host.host, host.queued)
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
