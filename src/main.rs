//! The gleaner binary: everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    gleaner::cli::run(std::env::args_os())
}
