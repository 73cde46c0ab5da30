//! The list of commands in `gleaner --help`, grouped by purpose. clap itself can only list them
//! under one heading.

use std::fmt::Write as _;

use clap::Command;

/// Headings of options that not every crawl needs. Those without one come first.
pub(super) const REACH: &str = "What is fetched";
pub(super) const ENDS: &str = "When a run ends";
pub(super) const REQUESTS: &str = "How requests are made";
pub(super) const SETTINGS: &str = "Settings and state";
pub(super) const ENGINE: &str = "How the engine is reached";

/// The headings, and the commands under each.
const GROUPS: [(&str, &[&str]); 8] = [
    (
        "Crawl",
        &["demo", "crawl", "daemon", "retry", "restore", "forget"],
    ),
    (
        "Control a running crawl",
        &["pause", "resume", "stop", "seeds"],
    ),
    ("Crawl with several machines", &["worker", "cluster"]),
    (
        "Inspect a crawl, running or not",
        &[
            "status", "pages", "export", "why", "show", "queue", "dups", "mark", "similar",
            "report", "check",
        ],
    ),
    (
        "Work with URLs and pages",
        &["normalize", "robots", "sitemap", "extract"],
    ),
    ("Deduplicate a corpus", &["dedup", "fingerprint"]),
    ("Work with WARC files", &["warc"]),
    ("Set up", &["config", "completions", "man"]),
];

/// Groups the commands in the help of the top-level command.
pub(super) fn grouped(command: Command) -> Command {
    let (header, literal) = {
        let styles = command.get_styles();
        (*styles.get_header(), *styles.get_literal())
    };
    let mut template = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (heading, names) in GROUPS {
        let _ = writeln!(template, "\n{header}{heading}:{header:#}");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(template, "  {literal}{name:<13}{literal:#}{about}");
        }
    }
    let _ = write!(
        template,
        "\n{header}Options:{header:#}\n{{options}}{{after-help}}"
    );
    command.help_template(template)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| *names).collect();
        grouped.sort_unstable();
        let command = Cli::command();
        let commands = command.get_subcommands().filter(|it| !it.is_hide_set());
        let mut commands: Vec<_> = commands.map(Command::get_name).collect();
        commands.sort_unstable();
        assert!(grouped.into_iter().eq(&commands));
    }
}
