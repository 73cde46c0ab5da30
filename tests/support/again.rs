//! A test that starts its own binary again, as a process to be killed.

use std::path::{Path, PathBuf};
use std::process::Command;

const DIRECTORY: &str = "GLEANER_TEST_DIRECTORY";
const FROM: &str = "GLEANER_TEST_FROM";

/// This binary again, which does what the ignored test of this name does, on a directory and from a
/// number on.
pub(crate) fn again(test: &str, directory: &Path, from: u64) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this test runs"));
    command
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env(DIRECTORY, directory)
        .env(FROM, from.to_string());
    command
}

/// The directory and the number, in that process.
pub(crate) fn given() -> (PathBuf, u64) {
    let variable = |name| std::env::var(name).expect("the test sets it");
    let from = variable(FROM).parse().expect("a number");
    (variable(DIRECTORY).into(), from)
}
