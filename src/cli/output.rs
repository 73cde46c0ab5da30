//! Messages on standard error, and results on standard output.
//!
//! Messages, log lines and the progress line share standard error. All of them are written through
//! [`Screen`], so that they never end up on the same line.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use indicatif::ProgressBar;
use serde::Serialize;
use serde_json::json;

use super::left_out;
pub(super) use super::said::say;
use super::shown::{Data, shown, shown_in_color};
use super::words::{count, size};
use crate::dedup::Ineligible;
use crate::engine::{Compared, Counters, Ending, HostFigures, Summary, VisitVerdict};

/// Standard error while a command runs. Clones share it. Log lines are written to it as to a
/// writer.
#[derive(Debug, Clone)]
pub(super) struct Screen {
    is_quiet: bool,
    /// The progress line, if one is shown. Locked while a line is written.
    line: Arc<Mutex<Option<ProgressBar>>>,
}

impl Screen {
    /// A screen without a progress line. With `is_quiet` it shows only what users must know.
    pub(super) fn new(is_quiet: bool) -> Self {
        Self {
            is_quiet,
            line: Arc::default(),
        }
    }

    /// Whether the user asked for errors and hints only.
    pub(super) fn is_quiet(&self) -> bool {
        self.is_quiet
    }

    /// Prints a line, unless the user asked for quiet.
    pub(super) fn say(&self, line: &str) {
        if !self.is_quiet {
            say(line);
        }
    }

    /// Keeps this progress line below everything that is printed from now on.
    pub(super) fn show(&self, line: ProgressBar) {
        *self.line.lock().unwrap_or_else(PoisonError::into_inner) = Some(line);
    }

    /// Removes the progress line, if there is one.
    pub(super) fn clear(&self) {
        let line = self
            .line
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(line) = line {
            line.finish_and_clear();
        }
    }

    /// Write errors are ignored: a closed standard error is no reason to end a crawl.
    fn write_whole(&self, text: &str) {
        let line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        let write = || {
            let _ = io::stderr().write_all(text.as_bytes());
        };
        match &*line {
            Some(line) => line.suspend(write),
            None => write(),
        }
    }
}

impl io::Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_whole(&shown_in_color(&String::from_utf8_lossy(bytes)));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The message of an error and of its causes, without repetitions.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            let _ = write!(text, ": {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// The verdicts on duplicates, strictest tier first.
const TIERS: [VisitVerdict; 4] = [
    VisitVerdict::Raw,
    VisitVerdict::Normalized,
    VisitVerdict::Content,
    VisitVerdict::Near,
];

/// The tiers that found duplicates, and how many.
pub(super) fn duplicates(counters: &Counters) -> impl Iterator<Item = (&'static str, u64)> {
    TIERS.into_iter().filter_map(|tier| {
        let count = counters.verdicts.of(&tier);
        (count > 0).then_some((tier.name(), count))
    })
}

/// The number of pages that are as an earlier crawl stored them, and of how many; `None` if none is
/// compared with any.
fn since(counters: &Counters) -> Option<(u64, String)> {
    let unchanged = counters.compared(Compared::UnchangedSince);
    let both = unchanged + counters.compared(Compared::ChangedSince);
    let lost = match counters.compared(Compared::LostSince) {
        0 => String::new(),
        lost => format!("; {lost} fetched whole, as the earlier body is lost"),
    };
    (both > 0).then(|| {
        (
            unchanged,
            format!("  (of {both} of an earlier crawl{lost})"),
        )
    })
}

/// The counters since the crawl began, one per line.
pub(super) fn counters(counters: &Counters) -> String {
    let mut text = String::new();
    let list = |counts: &mut dyn Iterator<Item = (String, u64)>| {
        let parts: Vec<_> = counts
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        if parts.is_empty() {
            String::new()
        } else {
            format!("  ({})", parts.join(", "))
        }
    };
    let mut line = |name: &str, count: u64, detail: &str| {
        let _ = writeln!(text, "{name:<12}{count:>12}{detail}");
    };
    let statuses = list(
        &mut counters
            .statuses
            .iter()
            .map(|(class, count)| (format!("{class}xx"), *count)),
    );
    line("pages", counters.pages, &statuses);
    line("unique", counters.verdicts.of(&VisitVerdict::Unique), "");
    let by_tier = list(&mut duplicates(counters).map(|(name, count)| (name.to_owned(), count)));
    let sum = duplicates(counters).map(|(_, count)| count).sum();
    line("duplicates", sum, &by_tier);
    let refusals = || {
        let reasons = [
            Ineligible::Challenge,
            Ineligible::Denied,
            Ineligible::Consent,
            Ineligible::Repeated,
        ];
        let count = |reason: Ineligible| counters.ineligible.of(&reason);
        reasons
            .map(|reason| (reason.name().to_owned(), count(reason)))
            .into_iter()
    };
    let sum: u64 = refusals().map(|(_, count)| count).sum();
    if sum > 0 {
        line("refusals", sum, &list(&mut refusals()));
    }
    let failures = list(
        &mut counters
            .failures
            .iter()
            .map(|(class, count)| (class.clone(), *count)),
    );
    line("failed", counters.failed, &failures);
    line("forbidden", counters.forbidden, "  (by robots.txt)");
    let revisits = counters.revisited();
    if revisits > 0 {
        let found = counters.revisits.iter();
        let found = found.filter(|(name, _)| !name.ends_with("-since"));
        let found = list(&mut found.map(|(name, count)| (name.clone(), *count)));
        line("revisits", revisits, &found);
    }
    if let Some((unchanged, of)) = since(counters) {
        line("unchanged", unchanged, &of);
    }
    if counters.sitemaps > 0 {
        let entries = format!("  ({} listed)", count(counters.sitemap_entries, "URL"));
        line("sitemaps", counters.sitemaps, &entries);
    }
    let requisites = &counters.requisites;
    if requisites.fetched + requisites.failed + requisites.forbidden > 0 {
        let mut parts = vec![size(requisites.bytes).trim().to_owned()];
        for (count, what) in [
            (requisites.same, "the same as others"),
            (requisites.failed, "failed"),
            (requisites.forbidden, "forbidden"),
        ] {
            parts.extend((count > 0).then(|| format!("{count} {what}")));
        }
        let parts = format!("  (files that pages need: {})", parts.join(", "));
        line("requisites", requisites.fetched, &parts);
    }
    if counters.known > 0 {
        line("known", counters.known, "  (from earlier crawls)");
    }
    if counters.demoted > 0 {
        let what = "  (times a kind of URLs was found to say nothing new)";
        line("demoted", counters.demoted, what);
    }
    let parked = match counters.parked {
        0 => String::new(),
        urls => format!(
            "  ({urls} at {})",
            count(counters.parked_hosts, "parked host")
        ),
    };
    line("queued", counters.queued, &parked);
    line("hosts", counters.hosts, "");
    for (name, bytes) in [
        ("received", counters.bytes),
        ("archived", counters.archived_bytes),
    ] {
        let _ = writeln!(text, "{name:<12}{:>12}", size(bytes));
    }
    text
}

/// Where a run left what it wrote, and the commands that lead on from here.
fn next_steps(ending: Ending, command: &str, directory: &Path) -> String {
    let directory = directory.display();
    let (goes_on, pages, duplicates, why) = (
        format!("gleaner {command} --data-dir {directory}"),
        format!("gleaner pages --data-dir {directory}"),
        format!("gleaner report --data-dir {directory}"),
        format!("gleaner why URL --data-dir {directory}"),
    );
    let mut steps = vec![
        (pages, "its pages, as JSON lines"),
        (duplicates, "its duplicates"),
        (why, "what became of a URL"),
    ];
    if !matches!(ending, Ending::Drained) {
        steps.insert(0, (goes_on, "goes on"));
    }
    let width = steps.iter().map(|(step, _)| step.chars().count()).max();
    let mut text =
        format!("written     {directory}: pages in warc/, a line for each visit in log/\n");
    for (row, (step, what)) in steps.into_iter().enumerate() {
        let name = if row == 0 { "next" } else { "" };
        let width = width.unwrap_or_default();
        let _ = writeln!(text, "{name:<12}{step:<width$}  {what}");
    }
    text
}

/// What hosts are called at which URLs wait and are not to be fetched for now.
pub(super) fn resting(held_hosts: u64) -> &'static str {
    match held_hosts {
        0 => "parked host",
        _ => "parked or held host",
    }
}

/// The summary of a run as a table.
fn summary(summary: &Summary) -> String {
    let ending = match summary.ending {
        Ending::Drained if summary.counters.parked > 0 => {
            match summary
                .omissions
                .left_out
                .iter()
                .any(|it| it.reason == "held")
            {
                true => "nothing left to fetch but what waits at parked or held hosts",
                false => "nothing left to fetch but what waits at parked hosts",
            }
        }
        Ending::Drained => "nothing left to fetch",
        Ending::MaxPages => "--max-pages reached",
        Ending::MaxDuration => "--max-duration reached",
        Ending::MaxBytes => "--max-bytes reached",
        Ending::Stopped => "stopped",
        Ending::Failed => "failed",
    };
    let took = Duration::from_millis(u64::try_from(summary.took.as_millis()).unwrap_or(u64::MAX));
    let mut text = format!(
        "ended after {took:?}: {ending}\n{}",
        counters(&summary.counters)
    );
    let _ = writeln!(
        text,
        "{:<12}{:>12.1}  ({} in this run)",
        "pages/s",
        summary.pages_per_second(),
        count(summary.pages, "page")
    );
    let mut list = |name: &str, hosts: &[HostFigures], figure: fn(&HostFigures) -> (u64, &str)| {
        for (row, host) in hosts.iter().enumerate() {
            let name = if row == 0 { name } else { "" };
            let (figure, unit) = figure(host);
            let (host, answers) = (&host.host, count(host.answers, "answer"));
            let _ = writeln!(text, "{name:<12}{figure:>12}  {unit}  {host}  ({answers})");
        }
    };
    // A host that answers within a millisecond is slow in no way.
    let slow = summary.slowest.iter().filter(|host| host.mean_ms > 0);
    let slow: Vec<HostFigures> = slow.cloned().collect();
    list("slowest", &slow, |host| (host.mean_ms, "ms"));
    list("largest", &summary.largest, |host| (host.bytes, "bytes"));
    text.push_str(&left_out::in_words(&summary.omissions));
    text
}

/// The summary of a run as one line of JSON; docs/formats.md documents the fields.
fn summary_json(summary: &Summary) -> String {
    let ending = match summary.ending {
        Ending::Drained => "drained",
        Ending::MaxPages => "max-pages",
        Ending::MaxDuration => "max-duration",
        Ending::MaxBytes => "max-bytes",
        Ending::Stopped => "stopped",
        Ending::Failed => "failed",
    };
    let summary = json!({
        "ending": ending,
        "seconds": summary.took.as_secs_f64(),
        "pages": summary.pages,
        "pages_per_second": summary.pages_per_second(),
        "slowest": summary.slowest,
        "largest": summary.largest,
        "counters": summary.counters,
        "left_out": summary.omissions.left_out,
        "lost": summary.omissions.lost,
        "script_shells": summary.omissions.script_shells,
    });
    format!("{summary}\n")
}

/// Prints the summary of a run of this command in a data directory, as a table or as one JSON
/// object.
pub(super) fn print_summary(
    about: &Summary,
    (command, directory): (&str, &Path),
    json: bool,
) -> anyhow::Result<()> {
    print(&if json {
        summary_json(about)
    } else {
        summary(about) + &next_steps(about.ending, command, directory)
    })
}

/// Prints an answer, as one line of JSON or in words.
pub(super) fn print_answer<T: Serialize>(
    answer: &T,
    json: bool,
    in_words: impl FnOnce(&T) -> String,
) -> anyhow::Result<()> {
    print(&if json {
        serde_json::to_string(answer)? + "\n"
    } else {
        in_words(answer)
    })
}

/// Writes an answer to standard output.
pub(super) fn print(text: &str) -> anyhow::Result<()> {
    print_data(&shown(text))
}

/// Writes data to standard output, as it is unless that is a terminal.
pub(super) fn print_data(text: &str) -> anyhow::Result<()> {
    let mut out = Data::lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.context("cannot write to standard output")
}
