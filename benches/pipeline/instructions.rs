//! Instructions of a stage: this program runs it alone under valgrind, on one core, where valgrind
//! counts what happens within [`watch`]. It shows programs no instructions for SHA-256, so these
//! are the figures of a machine without them.

use std::process::{Command, Stdio};

use crate::child::spawn_on;

/// What valgrind looks for: as little as a part of the name of a function.
const WATCH: &str = "--toggle-collect=*instructions*watch*";

/// Does some work. Where valgrind runs the program, it counts this.
#[inline(never)]
pub(crate) fn watch(work: &mut dyn FnMut()) {
    work();
}

/// Whether valgrind is installed.
pub(crate) fn can_count() -> bool {
    let mut version = Command::new("valgrind");
    let status = version.arg("--version").stdout(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Instructions of the work that a process of this program watches, if it is given `of`.
pub(crate) fn count(of: &str) -> Option<f64> {
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", WATCH])
        .arg(std::env::current_exe().ok()?)
        .args(["one", of])
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    // With one core, none of the work is given to other threads.
    let output = spawn_on(&mut command, Some(0)).wait_with_output().ok()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| line.contains("Collected :"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}
