//! `gleaner warc get`: one record of WARC files, or its payload.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;

use crate::cli::shown::Data;
use crate::cli::{Failure, exit::Exit, output};
use crate::corpus::warc::{self, Part, Wanted};
use crate::corpus::{Error, FileKind, files_in};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner warc get --url https://example.org/ crawl/warc/*.warc.gz --decoded > page.html
  gleaner warc get --offset 1844 crawl/warc/gleaner-20260102030405-0123abcd-00000.warc.gz

Of a URL the first response is printed. Exit code 1: there is no such record.")]
pub(crate) struct Arguments {
    /// WARC files, or directories that have some; with --offset, the first file
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The record of this URL, as it was requested
    #[arg(long, group = "which")]
    url: Option<String>,
    /// The record with this WARC-Record-ID
    #[arg(long, group = "which")]
    id: Option<String>,
    /// The record at this offset
    #[arg(long, group = "which", value_name = "BYTES")]
    offset: Option<u64>,
    /// Print its payload, as it is stored
    #[arg(long, group = "part")]
    payload: bool,
    /// Print its payload without transfer and content codings
    #[arg(long, group = "part")]
    decoded: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let wanted = match (&arguments.url, &arguments.id, arguments.offset) {
        (Some(url), ..) => Wanted::Url(url.clone()),
        (_, Some(id), _) => Wanted::Id(id.clone()),
        (.., Some(offset)) => Wanted::Offset(offset),
        _ => {
            return Err(Failure::usage(
                "which record? give --url, --id or --offset".to_owned(),
            ));
        }
    };
    let part = match (arguments.payload, arguments.decoded) {
        (true, _) => Part::Payload,
        (_, true) => Part::Decoded,
        _ => Part::Record,
    };
    let files = files_in(&arguments.files, FileKind::Warc)?;
    let Some(bytes) = warc::get(&files, &wanted, part)? else {
        output::say("no such record in these files");
        return Err(Failure::Answered(Exit::Failed));
    };
    Data::lock().write_all(&bytes).map_err(Error::Output)?;
    Ok(())
}
