//! `gleaner cluster status`: how a cluster stands.

use std::fmt::Write as _;

use clap::Args;

use super::{PATIENCE, Target};
use crate::cli::exit::Exit;
use crate::cli::words::{count, size};
use crate::cli::{Failure, output};
use crate::cluster::{ClusterStatus, Going, ShardNow, WorkerNow, status};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner cluster status nats://127.0.0.1/news
  gleaner cluster status nats://127.0.0.1/news --json | jq '.workers[].name'
  gleaner cluster status nats://127.0.0.1/news --check || mail -s 'the cluster' ops

It waits until each worker has said something new, 3 s at most.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
    /// Print only what needs attention, and end with 1 if something does
    #[arg(long, conflicts_with = "json")]
    check: bool,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let target = &arguments.target;
    let (broker, _) = target.find()?;
    let now = status(&broker, target.name(), PATIENCE);
    let now = now.map_err(|error| target.explain(error))?;
    if arguments.json {
        let json = serde_json::to_string(&now).map_err(anyhow::Error::from)?;
        output::print(&format!("{json}\n"))?;
        return Ok(());
    }
    if !arguments.check {
        output::print(&in_words(&now))?;
        return Ok(());
    }
    if now.attention.is_empty() {
        return Ok(());
    }
    output::print(&format!("{}\n", now.attention.join("\n")))?;
    Err(Failure::Answered(Exit::Failed))
}

fn in_words(now: &ClusterStatus) -> String {
    let alive = now.workers.iter().filter(|it| it.is_alive).count() as u64;
    let state = match now.going {
        _ if now.is_over => "over: nothing is left to fetch",
        Going::Running if alive == 0 => "no worker runs",
        Going::Running if now.stays => "running until it is stopped",
        going => going.into(),
    };
    let mut text = format!(
        "{}: {state}, {}, {}\n",
        now.name,
        count(alive, "worker"),
        count(now.shards.len() as u64, "shard")
    );
    for said in &now.attention {
        let _ = writeln!(text, "  ! {said}");
    }
    let sum = &now.sum;
    let mut line = |name: &str, value: u64, more: &str| {
        let _ = writeln!(text, "{name:<12}{value:>12}{more}");
    };
    text_rate(now, &mut line);
    line("unique", sum.unique, "");
    line("duplicates", sum.duplicates, "");
    if now.stays || sum.revisits > 0 {
        line("revisits", sum.revisits, "");
    }
    line("failed", sum.failed, "");
    line(
        "queued",
        sum.queued,
        &format!("  ({} in progress)", sum.fetching),
    );
    line(
        "hosts",
        sum.hosts,
        &format!("  ({} received)", size(sum.bytes)),
    );
    let links = &now.links;
    let waiting = format!(
        "  ({} received, {} on their way)",
        links.received, links.waiting
    );
    line("links", links.sent, &waiting);
    line("take-overs", now.take_overs, "");
    // Workers end when nothing is left, whatever was asked for since.
    let is_done = now.shards.iter().all(|it| it.is_done);
    text.push_str(&workers(&now.workers, is_done));
    // Who has ended tells no more of its copies.
    let no_copy = if alive > 0 { "none" } else { "-" };
    text.push_str(&shards(&now.shards, is_done, no_copy));
    text
}

/// The pages, and how fast they come.
fn text_rate(now: &ClusterStatus, line: &mut impl FnMut(&str, u64, &str)) {
    let rate = format!("  ({:.1} a second)", now.pages_per_second);
    line("pages", now.sum.pages, &rate);
}

fn workers(workers: &[WorkerNow], is_done: bool) -> String {
    let mut rows = vec![
        [
            "worker", "machine", "owns", "copies", "pages/s", "clock", "state",
        ]
        .map(ToOwned::to_owned)
        .to_vec(),
    ];
    for worker in workers {
        let state = match worker {
            WorkerNow {
                is_alive: false, ..
            } if is_done || worker.has_ended() => "ended",
            WorkerNow {
                is_alive: false, ..
            } => "gone",
            WorkerNow {
                is_drained: true, ..
            } if !worker.owns.is_empty() => "being drained",
            WorkerNow {
                is_drained: true, ..
            } => "drained",
            WorkerNow {
                is_leaving: true, ..
            } => "leaving",
            _ => "",
        };
        rows.push(vec![
            worker.name.clone(),
            worker.machine.clone(),
            match worker.max_shards {
                Some(most) => format!("{} of {most}", worker.owns.len()),
                None => worker.owns.len().to_string(),
            },
            worker.follows.len().to_string(),
            format!("{:.1}", worker.pages_per_second),
            worker.clock_seconds.map_or_else(|| "-".to_owned(), clock),
            state.to_owned(),
        ]);
    }
    table(&rows)
}

/// How far a clock is off. Less than two seconds is within what the beats explain.
fn clock(seconds: f64) -> String {
    match seconds.abs() < 2.0 {
        true => "right".to_owned(),
        false => format!("{seconds:+.0} s"),
    }
}

fn shards(shards: &[ShardNow], is_done: bool, no_copy: &str) -> String {
    let mut rows = vec![
        [
            "shard",
            "owner",
            "epoch",
            "pages",
            "queued",
            "sent",
            "waiting",
            "copies (behind)",
            "limit",
        ]
        .map(ToOwned::to_owned)
        .to_vec(),
    ];
    for shard in shards {
        let owner = match &shard.owner {
            Some(owner) if shard.is_owned => owner.clone(),
            Some(owner) => format!("({owner})"),
            None => "-".to_owned(),
        };
        let copies = shard.copies.iter().map(|copy| {
            let is_gone = !copy.is_alive && !is_done;
            let mark = if is_gone { ", gone" } else { "" };
            format!("{} ({}{mark})", copy.worker, copy.lag)
        });
        let copies: Vec<String> = copies.collect();
        rows.push(vec![
            format!("{:02}", shard.shard),
            owner,
            shard.epoch.to_string(),
            shard.figures.pages.to_string(),
            shard.figures.queued.to_string(),
            shard.links.sent.to_string(),
            shard.links.waiting.to_string(),
            match copies.is_empty() {
                true => no_copy.to_owned(),
                false => copies.join(", "),
            },
            match shard.is_done {
                true => "done".to_owned(),
                false => shard.limit.clone(),
            },
        ]);
    }
    table(&rows)
}

/// A table under an empty line. Columns are as wide as what is in them.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = "\n".to_owned();
    for row in rows {
        let cells = row.iter().zip(&widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}
