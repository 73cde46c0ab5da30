//! Instructions of a stage: this program runs it alone under valgrind, twice, once with double the
//! work, so that what both runs have in common cancels out. valgrind shows programs no instructions
//! for SHA-256, so these are the figures of a machine without them.

use std::process::{Command, Stdio};

/// Whether valgrind is installed.
pub(crate) fn can_count() -> bool {
    let mut version = Command::new("valgrind");
    let status = version.arg("--version").stdout(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Instructions of `of` in one process, for the work that `--again` repeats or sizes, beyond those
/// of half the work.
pub(crate) fn counted(of: &str, work: u32) -> Option<f64> {
    Some(run(of, 2 * work)? - run(of, work)?)
}

fn run(of: &str, work: u32) -> Option<f64> {
    let exe = std::env::current_exe().ok()?;
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no"])
        .arg("--cachegrind-out-file=/dev/null")
        .arg(exe)
        .args(["one", of, &work.to_string()])
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| line.contains("I   refs:"))?;
    let digits: String = line.rsplit(':').next()?.replace([',', ' '], "");
    digits.parse().ok()
}
