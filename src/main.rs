//! The gleaner binary: everything is in the library.

#[cfg(target_os = "linux")]
mod scheduling;

use std::process::ExitCode;

/// Many threads make and free small things, and bodies of many sizes come and go: the system's
/// allocator gives the pages of the latter back and takes them again, which costs more than to
/// fetch them. What lives long stands beside what does not: others that were measured held twice
/// the memory that is in use.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    // Where the system makes pages huge unasked, a few bytes in use would hold two megabytes.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    #[cfg(target_os = "linux")]
    scheduling::as_batch();
    gleaner::cli::run(std::env::args_os())
}
