//! `gleaner status`: the state of a crawl.

mod lead;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use jiff::Timestamp;

use crate::cli::exit::Exit;
use crate::cli::inspector::Inspector;
use crate::cli::words::count;
use crate::cli::{Failure, left_out, output};
use crate::control::client::Client;
use crate::engine::{HandoverState, Limit, Omissions, Status};
use crate::frontier::Trouble;
use crate::inspect::{
    self, Answer, GroupedBy, HostDoing, HostFilter, HostNow, HostRows, HostSort, HostsNow, Learned,
    MAX_LISTED, Question, StatusNow,
};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  gleaner status --data-dir crawl\n  gleaner status --data-dir crawl --json | jq .counters.queued\n  gleaner status --data-dir crawl --rules\n  gleaner status --data-dir crawl --hosts failures --match example.org\n  gleaner status --data-dir crawl --check || mail -s 'the crawl' ops"
)]
pub(crate) struct Arguments {
    /// Data directory of the crawl
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    /// Show the rules learned about hosts instead: irrelevant parameters, and aliases of hosts
    #[arg(long)]
    rules: bool,
    /// Print only what needs attention, and end with 1 if something does: no process runs the crawl
    /// or it says nothing, it is paused or short of disk, or closed files cannot leave
    #[arg(long, conflicts_with = "rules")]
    check: bool,
    /// Show what was not fetched instead, the most of it first, and what brings it back: by reason,
    /// by host, or by pattern of URLs
    #[arg(long, value_name = "BY", value_enum, conflicts_with_all = ["rules", "check"])]
    not_fetched: Option<By>,
    /// Show hosts instead, the greatest first by this
    #[arg(long, value_name = "SORT", value_enum, conflicts_with_all = ["rules", "check", "not_fetched"])]
    hosts: Option<Sort>,
    /// Only hosts with this in their names
    #[arg(long = "match", value_name = "PART", requires = "hosts")]
    part: Option<String>,
    /// Show so many of the hosts, at most 1,000
    #[arg(long, value_name = "N", requires = "hosts", default_value_t = MAX_LISTED)]
    limit: usize,
    /// Print one JSON object instead of a table
    #[arg(long, conflicts_with = "check")]
    json: bool,
}

/// What makes a group of what was not fetched.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum By {
    Reason,
    Host,
    Pattern,
}

/// By what hosts are sorted.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Sort {
    /// URLs that wait
    Queue,
    /// Failures, less the successes since
    Failures,
    /// Answers received
    Visits,
    /// Bytes received
    Bytes,
    /// Duplicates
    Duplicates,
    /// Time of the answers
    Time,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.rules {
        return rules(arguments);
    }
    if let Some(by) = arguments.not_fetched {
        return not_fetched(arguments, by);
    }
    if let Some(sort) = arguments.hosts {
        return hosts(arguments, sort);
    }
    let mut now = inspect::status(&arguments.data_dir)?;
    if arguments.check {
        return check(&now.status);
    }
    if now.status.running {
        (now.hosts, now.omissions) = ask_running(&arguments.data_dir);
    }
    if arguments.json {
        let json = serde_json::to_string(&now).map_err(anyhow::Error::from)?;
        output::print(&format!("{json}\n"))?;
        return Ok(());
    }
    let head = lead::lines(&now, &arguments.data_dir);
    let counters = output::counters(&now.status.counters);
    let left_out = now.omissions.as_ref().map(left_out::in_words);
    let left_out = left_out.unwrap_or_default();
    output::print(&format!("{head}\n{counters}{}{left_out}", details(&now)))?;
    Ok(())
}

/// Age in seconds at which a status says that its process hangs: it is written once a second.
const STALE: i64 = 60;

/// Prints what needs attention.
fn check(status: &Status) -> Result<(), Failure> {
    let mut troubles = Vec::new();
    if !status.running {
        troubles.push("no process runs the crawl".to_owned());
    }
    let written: Option<Timestamp> = status.time.parse().ok().filter(|_| status.running);
    let age = written.map_or(0, |at| Timestamp::now().as_second() - at.as_second());
    if age > STALE {
        troubles.push(format!("the process has said nothing for {age} s"));
    }
    let limit = status.gauges.limit;
    if status.running && matches!(limit, Limit::Disk | Limit::Paused) {
        troubles.push(limit.meaning().to_owned());
    }
    for way in status.handover.iter().filter(|way| way.failures > 0) {
        let HandoverState {
            setting,
            waiting,
            error,
            ..
        } = way;
        let files = count(*waiting, "closed file");
        troubles.push(format!("{setting}: {files} cannot leave: {error}"));
    }
    if troubles.is_empty() {
        return Ok(());
    }
    output::print(&(troubles.join("\n") + "\n"))?;
    Err(Failure::Answered(Exit::Failed))
}

/// The hosts of a running crawl and what it left out; `None` if it does not respond, as when it is
/// about to end.
fn ask_running(directory: &Path) -> (Option<HostsNow>, Option<Omissions>) {
    let ask = |question| Client::connect(directory).ok()?.question(question).ok();
    let hosts = match ask(Question::Hosts) {
        Some(Answer::Hosts(hosts)) => Some(hosts),
        _ => None,
    };
    let omissions = match ask(Question::LeftOut) {
        Some(Answer::LeftOut(omissions)) => Some(omissions),
        _ => None,
    };
    (hosts, omissions)
}

/// Hosts and memory, one per line.
fn details(now: &StatusNow) -> String {
    let mut text = String::new();
    if let Some(bytes) = now.hosts.as_ref().and_then(|it| it.queued_url_bytes) {
        let _ = writeln!(text, "{:<12}{bytes:>12}  bytes a queued URL", "queue");
    }
    if now.status.deferred > 0 {
        let (count, more) = (now.status.deferred, "gleaner queue ls --deferred");
        let _ = writeln!(text, "{:<12}{count:>12}  URLs  ({more})", "deferred");
    }
    for way in &now.status.handover {
        text.push_str(&of_way(way));
    }
    if now.status.running {
        let memory = &now.status.memory;
        for (name, bytes, what) in [
            ("window", memory.window, "hosts and their next URLs"),
            ("urls seen", memory.urls_seen, "filter and recent URLs"),
            ("new keys", memory.new_keys, "until the next checkpoint"),
        ] {
            let _ = writeln!(text, "{name:<12}{bytes:>12}  bytes of memory: {what}");
        }
        for (row, share) in now.status.shares.iter().enumerate() {
            let name = if row == 0 { "at most" } else { "" };
            let (bytes, what) = (share.bytes, &share.name);
            let _ = writeln!(text, "{name:<12}{bytes:>12}  bytes of memory: {what}");
        }
    }
    let Some(hosts) = &now.hosts else {
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

/// A way by which closed files leave.
fn of_way(way: &HandoverState) -> String {
    let waiting = way.waiting;
    let mut text = format!(
        "{:<12}{waiting:>12}  closed files are to leave by {}",
        "to leave", way.setting
    );
    if !way.since.is_empty() {
        let _ = write!(text, "; {} since {}", way.file, way.since);
    }
    if way.failures > 0 {
        let (failures, error) = (count(u64::from(way.failures), "failure"), &way.error);
        let _ = write!(
            text,
            "; {failures} in a row, the last with {}: {error}",
            way.file
        );
    }
    text.push('\n');
    text
}

/// A host, and why it is not being visited.
fn of_host(host: &HostNow) -> String {
    let due = due(host, jiff::Timestamp::now());
    let trouble = host.trouble.map_or("", Trouble::name);
    let state = match (host.parked, host.failures) {
        _ if host.held.is_some() => {
            format!("held since {}", host.held.as_deref().unwrap_or_default())
        }
        (true, failures) => {
            format!(
                "parked until {} after {}, {trouble}",
                host.due,
                count(u64::from(failures), "failure")
            )
        }
        (false, 0) => due,
        (false, failures) => {
            let failures = count(u64::from(failures), "failure");
            format!("{due} after {failures}, {trouble}")
        }
    };
    format!("{}  ({} queued; {state})", host.host, host.queued)
}

/// When a host may be visited.
fn due(host: &HostNow, now: jiff::Timestamp) -> String {
    match host.due.parse::<jiff::Timestamp>() {
        Ok(due) if due <= now => "due now".to_owned(),
        _ => format!("due {}", host.due),
    }
}

/// Prints what was not fetched.
fn not_fetched(arguments: &Arguments, by: By) -> Result<(), Failure> {
    let mut inspector = Inspector::open(&arguments.data_dir)?;
    let by = match by {
        By::Reason => GroupedBy::Reason,
        By::Host => GroupedBy::Host,
        By::Pattern => GroupedBy::Pattern,
    };
    let Answer::NotFetched(groups) = inspector.ask(Question::NotFetched { by })? else {
        return Err(Failure::other_answer());
    };
    Ok(output::print_answer(
        &groups,
        arguments.json,
        left_out::groups,
    )?)
}

/// Prints hosts, sorted.
fn hosts(arguments: &Arguments, sort: Sort) -> Result<(), Failure> {
    let mut inspector = Inspector::open(&arguments.data_dir)?;
    let filter = HostFilter {
        sort: match sort {
            Sort::Queue => HostSort::Queue,
            Sort::Failures => HostSort::Failures,
            Sort::Visits => HostSort::Visits,
            Sort::Bytes => HostSort::Bytes,
            Sort::Duplicates => HostSort::Duplicates,
            Sort::Time => HostSort::Time,
        },
        part: arguments.part.clone().unwrap_or_default(),
        limit: arguments.limit,
    };
    let Answer::HostList(rows) = inspector.ask(Question::HostList(filter))? else {
        return Err(Failure::other_answer());
    };
    Ok(output::print_answer(&rows, arguments.json, host_table)?)
}

/// A line for each host.
fn host_table(rows: &HostRows) -> String {
    let mut text = format!(
        "{:>10} {:>10} {:>14} {:>10} {:>8} {:>10}  {:<8} host\n",
        "queued", "visits", "bytes", "duplicates", "failures", "seconds", "state"
    );
    for row in &rows.hosts {
        let host = &row.host;
        let state = match row.state {
            HostDoing::Parked => "parked",
            HostDoing::Held => "held",
            HostDoing::Waiting => "waiting",
            HostDoing::Due => "due",
            HostDoing::Idle => "idle",
        };
        let _ = writeln!(
            text,
            "{:>10} {:>10} {:>14} {:>10} {:>8} {:>10}  {state:<8} {}",
            host.queued,
            host.visits,
            row.bytes,
            row.duplicates,
            host.failures,
            row.time_ms / 1_000,
            host.host,
        );
    }
    let (shown, total) = (rows.hosts.len() as u64, rows.total);
    if shown < total {
        let _ = writeln!(text, "{shown} of {}", count(total, "host"));
    }
    text
}

/// Prints the rules learned about hosts.
fn rules(arguments: &Arguments) -> Result<(), Failure> {
    let mut inspector = Inspector::open(&arguments.data_dir)?;
    let Answer::Learned(learned) = inspector.ask(Question::Learned)? else {
        return Err(Failure::other_answer());
    };
    Ok(output::print_answer(&learned, arguments.json, in_words)?)
}

/// One line per kind of URLs.
fn in_words(learned: &Learned) -> String {
    let mut text = String::new();
    for kind in &learned.kinds {
        let state = if kind.closed {
            "says nothing new"
        } else {
            "matters after all"
        };
        let _ = write!(
            text,
            "{}  {}  {state}  ({} deferred, {} samples, {} said something",
            kind.host, kind.what, kind.deferred, kind.sampled, kind.found
        );
        if let Some(missed) = kind.missed_at_most {
            let percent = f64::from(missed) / 100.0;
            let _ = write!(text, "; at most {percent} % of them do");
        }
        let _ = writeln!(text, ")");
    }
    if text.is_empty() {
        text.push_str("no rules were learned\n");
    }
    text
}
