//! `gleaner check`: reads all that a crawl keeps, and says what is damaged.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;

use crate::cli::exit::Exit;
use crate::cli::{Failure, output};
use crate::inspect::{Checked, PartChecked, check};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner check --data-dir crawl
  gleaner check --data-dir crawl --json | jq '.parts[] | select(.damages > 0)'

Reads every row, key, document, record and line of the log, and rebuilds every body that is kept as
a difference. Nothing in the data directory is changed. The crawl must not be running; one that is
started meanwhile waits.

Exit code 7: something is damaged.")]
pub(crate) struct Arguments {
    /// Data directory of the crawl
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    /// Folder for temporary files: a copy of `documents/` and of the journals in `store/`
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let scratch = arguments.scratch.clone();
    let scratch = scratch.unwrap_or_else(std::env::temp_dir);
    let checked = check(&arguments.data_dir, &scratch)?;
    output::print_answer(&checked, arguments.json, in_words)?;
    match checked.is_sound {
        true => Ok(()),
        false => Err(Failure::Answered(Exit::Damaged)),
    }
}

/// The unit of a part: `row` for one, `rows` for more.
fn unit(part: &PartChecked) -> String {
    match (part.read, part.unit.strip_suffix("ies")) {
        (1, Some(stem)) => format!("{stem}y"),
        (1, None) => part.unit.trim_end_matches('s').to_owned(),
        _ => part.unit.to_owned(),
    }
}

/// What was found, for a person.
fn in_words(checked: &Checked) -> String {
    let mut text = String::new();
    for part in &checked.parts {
        let state = match part.damages {
            0 => "sound".to_owned(),
            1 => "1 damage".to_owned(),
            many => format!("{many} damages"),
        };
        let _ = writeln!(
            text,
            "{:<22}{:>12} {:<12}{state}",
            part.part,
            part.read,
            unit(part)
        );
        for finding in part.findings.iter().chain(&part.notes) {
            let _ = writeln!(text, "  {finding}");
        }
        let rest = part.damages.saturating_sub(part.findings.len() as u64);
        if rest > 0 {
            let _ = writeln!(text, "  and {rest} more");
        }
        if let Some(advice) = part.advice {
            let _ = writeln!(text, "  what to do: {advice}");
        }
    }
    text
}
