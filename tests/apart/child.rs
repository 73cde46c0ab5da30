//! This binary again, as the process that a test kills.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{documents, scale};

const ROLE: &str = "GLEANER_TEST_ROLE";
const DIRECTORY: &str = "GLEANER_TEST_DIRECTORY";
const FROM: &str = "GLEANER_TEST_FROM";

/// What such a process does until it is killed, on a directory and from a number on.
#[derive(Clone, Copy)]
pub(crate) enum Role {
    /// Admits URLs.
    Fill,
    /// Commits pages.
    Commit,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Fill => "fill",
            Self::Commit => "commit",
        }
    }

    /// The command that starts it.
    pub(crate) fn command(self, directory: &Path, from: u64) -> Command {
        let mut command = Command::new(std::env::current_exe().expect("this process has a file"));
        command
            .env(ROLE, self.name())
            .env(DIRECTORY, directory)
            .env(FROM, from.to_string());
        command
    }
}

/// Does what this process was started for, if that is no test.
pub(crate) fn run() -> bool {
    let variable = |name| std::env::var(name).expect("Role::command sets it");
    let Ok(role) = std::env::var(ROLE) else {
        return false;
    };
    let directory = PathBuf::from(variable(DIRECTORY));
    let from = variable(FROM).parse().expect("a number");
    match role.as_str() {
        "fill" => scale::fill_until_killed(&directory, from),
        "commit" => documents::commit_until_killed(&directory, from),
        other => panic!("no role {other}"),
    }
    true
}
