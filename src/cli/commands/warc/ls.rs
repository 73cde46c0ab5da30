//! `gleaner warc ls`: the records of WARC files, one per line.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;

use crate::cli::shown::Data;
use crate::cli::{Failure, output};
use crate::corpus::warc::{self, Listed};
use crate::corpus::{Error, FileKind, files_in};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner warc ls crawl/warc/*.warc.gz
  gleaner warc ls other.warc --json | jq -r 'select(.type == \"response\" and .status == 200).url'

Reads .warc files and those compressed with gzip or zstd, whoever wrote them. The columns are offset,
length, type, date, status, media type and URL, separated by tabs; `-` stands for what a record does
not have. A length of 0 means that the record shares its gzip member with others. What cannot be
read is named on standard error, and the rest is listed.")]
pub(crate) struct Arguments {
    /// WARC files, or directories that have some
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Print a JSON object for each record
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut data = Data::lock();
    let files = files_in(&arguments.files, FileKind::Warc)?;
    let mut damages = 0_u64;
    warc::list(
        &files,
        |record| {
            let line = match arguments.json {
                true => serde_json::to_string(&record).unwrap_or_default(),
                false => in_columns(&record),
            };
            writeln!(data, "{line}").map_err(Error::Output)
        },
        |error| {
            damages += 1;
            output::say(&format!("not listed: {error}"));
            Ok(())
        },
    )?;
    match damages {
        0 => {}
        1 => output::say("1 place could not be read"),
        many => output::say(&format!("{many} places could not be read")),
    }
    Ok(())
}

fn in_columns(record: &Listed) -> String {
    let or_dash = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
    let status = record.status.map(|status| status.to_string());
    [
        record.offset.to_string(),
        record.length.to_string(),
        or_dash(&record.kind),
        or_dash(&record.date),
        or_dash(&status),
        or_dash(&record.mime),
        or_dash(&record.url),
    ]
    .join("\t")
}
