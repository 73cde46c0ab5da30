//! The exit codes, all in one place. They are part of the interface; docs/operations.md documents
//! them.

use std::process::ExitCode;

/// How a command ended. The values are the exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Exit {
    /// Success, which includes a crawl that was stopped gracefully.
    Done = 0,
    /// A failure at run time. Committed data is safe.
    Failed = 1,
    /// Invalid arguments, configuration or seeds. clap uses the same code.
    Usage = 2,
    /// The data directory cannot be used: it is of another version, or not a crawl, or no crawl is
    /// running in it. Or the console cannot listen where it is to.
    Directory = 3,
    /// The disk is full, or fails. The same command resumes the crawl when there is space, or when
    /// the disk works again.
    Disk = 4,
    /// The crawl does not know the given URL.
    Unknown = 5,
    /// A crawl came to its end, and some of its seeds gave nothing.
    Lost = 6,
    /// The store has lost commits. `--repair` goes on as far as that is possible.
    Damaged = 7,
    /// Another process has the data directory.
    InUse = 8,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Exit code after a second signal: 128 + SIGINT, as in shells.
pub(super) const INTERRUPTED: i32 = 130;
