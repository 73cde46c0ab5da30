//! `gleaner warc repair`: a sound copy of what is left of a WARC file.

use std::path::PathBuf;

use clap::Args;

use crate::cli::{Failure, output};
use crate::corpus::warc;

#[derive(Debug, Args)]
#[command(after_help = "Example:
  gleaner warc repair torn.warc.gz -o whole.warc.gz

Every record that can be read gets a gzip member of its own, and digests if it has none. What is
damaged is left out and named. The file itself is not changed.")]
pub(crate) struct Arguments {
    /// A WARC file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The file to write, which must not exist
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let repaired = warc::repair(&arguments.file, &arguments.output)?;
    for damage in &repaired.damages {
        output::say(&format!("left out: {damage}"));
    }
    output::say(&format!(
        "{} records written, {} of them with new digests; {} places could not be read",
        repaired.records,
        repaired.digested,
        repaired.damages.len()
    ));
    Ok(())
}
