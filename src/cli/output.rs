//! What a person reads: lines on standard error, and the summary on standard output.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::time::Duration;

use crate::engine::{Counters, Ending, Summary};

/// Says something to whoever watches standard error; nobody may.
pub(super) fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// An error with its causes, each once.
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

/// The counters, a line each, as they stand since the crawl began.
pub(super) fn counters(counters: &Counters) -> String {
    let mut text = String::new();
    let list = |counts: &mut dyn Iterator<Item = (String, u64)>| {
        let parts: Vec<_> = counts
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        match parts.is_empty() {
            true => String::new(),
            false => format!("  ({})", parts.join(", ")),
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
    let named = |name: &str| counters.verdicts.get(name).copied().unwrap_or(0);
    let duplicates = ["raw", "normalized", "content", "near"];
    line("unique", named("unique"), "");
    let by_tier = list(
        &mut duplicates
            .iter()
            .map(|name| ((*name).to_owned(), named(name))),
    );
    line(
        "duplicates",
        duplicates.iter().map(|name| named(name)).sum(),
        &by_tier,
    );
    let failures = list(
        &mut counters
            .failures
            .iter()
            .map(|(class, count)| (class.clone(), *count)),
    );
    line("failed", counters.failed, &failures);
    line("forbidden", counters.forbidden, "  (by robots.txt)");
    line("queued", counters.queued, "");
    line("hosts", counters.hosts, "");
    line("received", counters.bytes, "  bytes");
    line("archived", counters.archived_bytes, "  bytes");
    text
}

/// What a run did.
pub(super) fn summary(summary: &Summary) -> String {
    let ending = match summary.ending {
        Ending::Drained => "nothing left to fetch",
        Ending::MaxPages => "--max-pages reached",
        Ending::MaxDuration => "--max-duration reached",
        Ending::Stopped => "stopped",
        Ending::Failed => "failed",
    };
    let took = Duration::from_millis(u64::try_from(summary.took.as_millis()).unwrap_or(u64::MAX));
    format!(
        "ended after {took:?}: {ending}\n{}",
        counters(&summary.counters)
    )
}

/// Writes data to standard output.
pub(super) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}
