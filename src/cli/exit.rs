//! The exit codes, all in one place. They are part of the interface; docs/operations.md documents
//! them.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// Success, which includes a crawl that was stopped gracefully.
    Done,
    /// A failure at run time. Committed data is safe.
    Failed,
    /// Invalid arguments, configuration or seeds. clap uses the same code.
    Usage,
    /// The data directory cannot be used: it is in use, of another version, or not a crawl, or no
    /// crawl is running in it.
    Directory,
    /// The disk is full. The same command resumes the crawl when there is space.
    DiskFull,
    /// The crawl does not know the given URL.
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

/// Exit code after a second signal: 128 + SIGINT, as in shells.
pub(super) const INTERRUPTED: i32 = 130;
