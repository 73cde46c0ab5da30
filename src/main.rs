//! The gleaner binary: everything is in the library.

use std::process::ExitCode;

/// Many threads make and free small things, and bodies of many sizes come and go: the system's
/// allocator gives the pages of the latter back and takes them again, which costs more than to
/// fetch them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    gleaner::cli::run(std::env::args_os())
}
