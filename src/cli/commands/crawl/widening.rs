//! What settings admit that a crawl passed over before: `--dry-run`, and what is said when it is
//! queued.

use std::path::Path;

use crate::cli::exit::Exit;
use crate::cli::output::{self, Screen};
use crate::cli::{Failure, words};
use crate::config::Effective;
use crate::engine::{Crawl, Options, StopHandle, WouldAdmit};

/// Reads the links of stored pages again if settings let the crawl go further than before.
pub(in crate::cli::commands) fn widen(
    crawl: &mut Crawl,
    screen: &Screen,
    stop: &StopHandle,
) -> Result<(), Failure> {
    let Some(widened) = crawl.widen(stop)? else {
        return Ok(());
    };
    let then = match widened.is_done {
        true => "",
        false => "; stopped: the next run goes on from there",
    };
    screen.say(&format!(
        "widened: links of {} read again, {} queued that were passed over{then}",
        words::count(widened.pages, "stored page"),
        words::count(widened.queued, "URL"),
    ));
    if let Some((url, reason)) = widened.first_unread {
        screen.say(&format!(
            "widened: {} could not be read again, so that what only they link to is not known, such as {url}: {reason}",
            words::count(widened.unread, "page")
        ));
    }
    Ok(())
}

/// Says what the settings would admit, and changes nothing.
pub(super) fn rehearse(
    directory: &Path,
    (effective, options): (&Effective, Options),
    is_json: bool,
    stop: &StopHandle,
) -> Result<(), Failure> {
    if !directory.join("version").exists() {
        return Err(Failure::Usage {
            message: format!("there is no crawl in {}", directory.display()),
            hint: Some("--dry-run says what a crawl that exists would admit by other settings"),
        });
    }
    let mut crawl = Crawl::open(directory, options)?;
    let settings = crate::config::flatten(&effective.config);
    let changed = crawl.changed_settings(&settings)?;
    let would = crawl.would_admit(stop)?;
    if is_json {
        let text = serde_json::to_string(&would).map_err(anyhow::Error::from)?;
        output::print(&format!("{text}\n"))?;
    } else {
        output::print(&in_words(&would, &changed))?;
    }
    match would.is_done {
        true => Ok(()),
        false => Err(Failure::Answered(Exit::Failed)),
    }
}

fn in_words(would: &WouldAdmit, changed: &[(String, String, String)]) -> String {
    let mut lines = Vec::new();
    for (name, then, now) in changed {
        lines.push(format!(
            "changed setting: {name} was {then}, would be {now}"
        ));
    }
    lines.push(format!(
        "{} of {} would be queued at once, and what they lead to after them: links of {} that were passed over",
        words::count(would.urls, "URL"),
        words::count(would.hosts, "host"),
        words::count(would.pages, "stored page"),
    ));
    for (host, count) in &would.by_host {
        lines.push(format!("{count:>10}  {host}"));
    }
    if !would.examples.is_empty() {
        lines.push("such as".to_owned());
        lines.extend(
            would
                .examples
                .iter()
                .map(|url| format!("            {url}")),
        );
    }
    if would.unread > 0 {
        lines.push(format!(
            "{} could not be read: what only they link to is not known",
            words::count(would.unread, "page")
        ));
    }
    if !would.is_done {
        lines.push("stopped before all pages were read".to_owned());
    }
    lines.push("nothing was queued or remembered (--dry-run)".to_owned());
    lines.join("\n") + "\n"
}
