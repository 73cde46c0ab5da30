//! `gleaner warc verify`: whether WARC files are sound.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;

use crate::cli::shown::Data;
use crate::cli::words::count;
use crate::cli::{Failure, exit::Exit, output};
use crate::corpus::warc;
use crate::corpus::{Error, FileKind, files_in};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner warc verify crawl/warc
  gleaner warc verify later.warc.gz --with earlier.warc.gz

Checks that every record can be read, alone and to its end, with its checksum; digests of blocks and
payloads (SHA-1 and SHA-256); heads against bodies (Content-Length, Content-Encoding, chunks); that
ids are given once; and that what a revisit refers to, and what a record was captured with, is in one
of the files. Each fault has a line: file, offset, and what is wrong.

Exit code 1: something is wrong.")]
pub(crate) struct Arguments {
    /// WARC files, or directories that have some
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Files, or directories, that records may refer to, which are not checked
    #[arg(long, value_name = "FILE", num_args = 1..)]
    with: Vec<PathBuf>,
    /// Print a JSON object for each fault
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut data = Data::lock();
    let files = files_in(&arguments.files, FileKind::Warc)?;
    let with = files_in(&arguments.with, FileKind::Warc)?;
    let verified = warc::verify(&files, &with, |fault| {
        let line = match arguments.json {
            true => serde_json::to_string(&fault).unwrap_or_default(),
            false => {
                let url = fault.url.map(|url| format!(" ({url})")).unwrap_or_default();
                format!("{}:{}: {}{url}", fault.file, fault.offset, fault.fault)
            }
        };
        writeln!(data, "{line}").map_err(Error::Output)
    })?;
    output::say(&format!(
        "{}, {}",
        count(verified.records, "record"),
        count(verified.faults, "fault")
    ));
    if verified.unchecked > 0 {
        output::say(&format!(
            "{} digests are neither SHA-1 nor SHA-256, and were not checked",
            verified.unchecked
        ));
    }
    match verified.faults {
        0 => Ok(()),
        _ => Err(Failure::Answered(Exit::Failed)),
    }
}
