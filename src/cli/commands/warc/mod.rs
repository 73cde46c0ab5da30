//! `gleaner warc`: questions about WARC files, those of a crawl and those of others.

mod get;
mod index;
mod ls;
mod repair;
mod verify;

use clap::Subcommand;

use crate::cli::Failure;

#[derive(Debug, Subcommand)]
pub(crate) enum Warc {
    /// List the records of WARC files
    Ls(ls::Arguments),
    /// Print one record, or its payload
    Get(get::Arguments),
    /// Write an index of the captures in WARC files
    Index(index::Arguments),
    /// Check WARC files, and say what is wrong
    Verify(verify::Arguments),
    /// Write a sound copy of what can be read of a WARC file
    Repair(repair::Arguments),
}

pub(super) fn run(command: &Warc) -> Result<(), Failure> {
    match command {
        Warc::Ls(arguments) => ls::run(arguments),
        Warc::Get(arguments) => get::run(arguments),
        Warc::Index(arguments) => index::run(arguments),
        Warc::Verify(arguments) => verify::run(arguments),
        Warc::Repair(arguments) => repair::run(arguments),
    }
}
