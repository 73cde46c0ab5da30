//! `gleaner cluster check`: whether the engine can be relied on.

use std::fmt::Write as _;

use clap::Args;

use super::Target;
use crate::cli::exit::Exit;
use crate::cli::{Failure, output};
use crate::cluster::{EngineCheck, check};

#[derive(Debug, Args)]
#[command(after_help = "Example:
  gleaner cluster check nats://n1,n2,n3/news

Lets three writers race for the end of a log, on a log of its own that it removes again: of those of
each round one must win, which servers before 2.10.26 do not keep to. The exit code is 1 if no crawl
can rely on the engine as it is.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: Target,
    /// Races
    #[arg(long, value_name = "N", default_value_t = 200)]
    rounds: usize,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let target = &arguments.target;
    let checked = check(&target.address(), arguments.rounds);
    let checked = checked.map_err(|error| target.explain(error))?;
    output::print(&in_words(&checked))?;
    match checked.is_fit() {
        true => Ok(()),
        false => Err(Failure::Answered(Exit::Failed)),
    }
}

fn in_words(checked: &EngineCheck) -> String {
    let EngineCheck {
        about,
        race,
        findings,
    } = checked;
    let milliseconds = |time: std::time::Duration| time.as_secs_f64() * 1_000.0;
    let names: Vec<&str> = about.servers.iter().map(|it| it.name.as_str()).collect();
    let servers = match names.is_empty() {
        true => "one, no cluster".to_owned(),
        false => names.join(", "),
    };
    let stored = match about.max_stored {
        Some(most) => format!("{} of {} MB", about.stored >> 20, most >> 20),
        None => format!("{} MB", about.stored >> 20),
    };
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<10}{value}");
    };
    line("version", format!("nats-server {}", about.version));
    line("servers", servers);
    line("replicas", format!("{} of each log", about.replicas));
    line("stored", format!("{stored}, in {} streams", about.streams));
    line(
        "race",
        format!(
            "{} rounds of three writers: one won in {}; an append took {:.1} ms, and {:.1} ms at \
             most in 99 of 100",
            race.rounds,
            race.rounds - race.doubled - race.lost,
            milliseconds(race.half),
            milliseconds(race.most)
        ),
    );
    for finding in findings {
        let mark = if finding.is_bad { "WRONG" } else { "note" };
        line(mark, finding.text.clone());
    }
    line(
        "verdict",
        match checked.is_fit() {
            true => "a crawl can rely on it".to_owned(),
            false => "no crawl can rely on it like this".to_owned(),
        },
    );
    text
}
