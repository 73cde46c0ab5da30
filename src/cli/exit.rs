//! Exit codes. They are part of the interface: docs/operations.md lists them.

use std::process::ExitCode;

/// How gleaner ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// It did what it was asked, or was stopped in good order.
    Done,
    /// Something failed at run time; what was committed is safe.
    Failed,
    /// Arguments, configuration or seeds are wrong. clap uses the same code.
    Usage,
    /// The data directory cannot be used: in use, of another version, not a crawl.
    Directory,
    /// The disk is full; the same command resumes when there is space.
    DiskFull,
    /// The crawl does not know the URL that was asked about.
    Unknown,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Directory => 3,
            Exit::DiskFull => 4,
            Exit::Unknown => 5,
        })
    }
}

/// What a second signal ends the process with: 128 + SIGINT, as shells do.
pub(super) const INTERRUPTED: i32 = 130;
