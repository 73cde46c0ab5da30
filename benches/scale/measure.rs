//! What a process takes: time of processors, memory, bytes written, bytes on disk.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Time that all threads of this process have run.
pub(crate) fn process_time() -> Duration {
    time(ClockId::ProcessCPUTime)
}

/// Time that this thread has run.
pub(crate) fn thread_time() -> Duration {
    time(ClockId::ThreadCPUTime)
}

fn time(clock: ClockId) -> Duration {
    Duration::try_from(clock_gettime(clock)).unwrap_or_default()
}

/// Seconds that all threads of this process have run in the kernel.
fn system_time() -> f64 {
    let status = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The fields behind the name, which is in brackets; times are in hundredths of a second.
    let fields = status.rsplit(')').next().unwrap_or_default();
    let field = fields.split_whitespace().nth(12);
    field.map_or(0.0, |time| time.parse().unwrap_or(0.0) / 100.0)
}

/// Time of all threads since it was begun, but for what is made beside.
pub(crate) struct Meter {
    begun: Duration,
    system: f64,
    beside: Duration,
}

impl Meter {
    pub(crate) fn start() -> Self {
        Self {
            begun: process_time(),
            system: system_time(),
            beside: Duration::ZERO,
        }
    }

    /// Makes something that is not to be counted, on this thread.
    pub(crate) fn beside<T>(&mut self, make: impl FnOnce() -> T) -> T {
        let start = thread_time();
        let made = make();
        self.beside += thread_time().saturating_sub(start);
        made
    }

    /// Microseconds each in the kernel, which syncs the disk.
    pub(crate) fn system_micros(&self, count: u64) -> f64 {
        (system_time() - self.system) * 1e6 / count.max(1) as f64
    }

    /// Microseconds each.
    pub(crate) fn micros(&self, count: u64) -> f64 {
        let taken = process_time().saturating_sub(self.begun + self.beside);
        taken.as_secs_f64() * 1e6 / count.max(1) as f64
    }
}

/// A line of this process's status (`VmRSS`, `RssAnon`, `RssFile`), in megabytes.
pub(crate) fn memory(line: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    number_behind(&status, line) / 1_000
}

/// Bytes that this process has given to `write`, and bytes that went to the disk for it.
pub(crate) fn written() -> (u64, u64) {
    let io = fs::read_to_string("/proc/self/io").unwrap_or_default();
    (
        number_behind(&io, "wchar"),
        number_behind(&io, "write_bytes"),
    )
}

fn number_behind(text: &str, name: &str) -> u64 {
    let line = text.lines().find(|it| it.starts_with(name));
    let number = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    number.unwrap_or(0)
}

/// Bytes that a file or all files of a directory take on disk.
pub(crate) fn on_disk(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return 0;
    };
    let below = fs::read_dir(path).into_iter().flatten().flatten();
    let below: u64 = below.map(|entry| on_disk(&entry.path())).sum();
    metadata.blocks() * 512 + below
}
