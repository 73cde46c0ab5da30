//! What the system says of the process, under the names that all exporters have for it. Where the
//! system does not say it, as outside Linux, it is left out.

use std::fmt;
use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use super::Writer;

/// The process.
#[derive(Debug, Default)]
pub(super) struct Process;

/// Fields of `/proc/self/stat` (`proc_pid_stat(5)`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    /// Time in user and kernel mode, in ticks.
    ticks: u64,
    threads: u64,
    /// When the process began, in ticks since the system did.
    begun: u64,
    virtual_bytes: u64,
    resident_pages: u64,
}

impl Stat {
    fn parse(text: &str) -> Option<Self> {
        // The name, in parentheses, may have spaces and parentheses itself.
        let (_, rest) = text.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        // The third field of the manual is the first here.
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            ticks: field(14)?.saturating_add(field(15)?),
            threads: field(20)?,
            begun: field(22)?,
            virtual_bytes: field(23)?,
            resident_pages: field(24)?,
        })
    }
}

/// When the system began, in seconds since 1970.
fn boot_time(text: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("btime "));
    lines.next()?.trim().parse().ok()
}

/// The number of files that may be open, by `/proc/self/limits`.
fn open_files_limit(text: &str) -> Option<u64> {
    let mut lines = text
        .lines()
        .filter_map(|line| line.strip_prefix("Max open files"));
    lines.next()?.split_ascii_whitespace().next()?.parse().ok()
}

impl Collector for Process {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let to = &mut Writer { encoder };
        let read = |path| fs::read_to_string(path).ok();
        if let Some(stat) = read("/proc/self/stat").and_then(|text| Stat::parse(&text)) {
            let tick = 1.0 / rustix::param::clock_ticks_per_second() as f64;
            seconds(
                to,
                ("process_cpu_seconds", MetricType::Counter),
                "Time in user and kernel mode.",
                stat.ticks as f64 * tick,
            )?;
            to.gauge("process_threads", "Threads.", stat.threads)?;
            let page = rustix::param::page_size() as u64;
            to.gauge(
                "process_resident_memory_bytes",
                "Resident memory.",
                stat.resident_pages.saturating_mul(page),
            )?;
            to.gauge(
                "process_virtual_memory_bytes",
                "Virtual memory.",
                stat.virtual_bytes,
            )?;
            if let Some(boot) = read("/proc/stat").and_then(|text| boot_time(&text)) {
                seconds(
                    to,
                    ("process_start_time_seconds", MetricType::Gauge),
                    "When the process began, since 1970.",
                    boot as f64 + stat.begun as f64 * tick,
                )?;
            }
        }
        if let Ok(open) = fs::read_dir("/proc/self/fd") {
            // One of them is the directory that is being read.
            let open = open.count().saturating_sub(1) as u64;
            to.gauge("process_open_fds", "Open files.", open)?;
        }
        if let Some(most) = read("/proc/self/limits").and_then(|text| open_files_limit(&text)) {
            to.gauge("process_max_fds", "Number of files that may be open.", most)?;
        }
        Ok(())
    }
}

fn seconds(
    to: &mut Writer<'_>,
    (name, kind): (&str, MetricType),
    help: &str,
    value: f64,
) -> fmt::Result {
    let mut metric = to.begin(name, help, kind)?;
    match kind {
        MetricType::Counter => metric.encode_counter::<NoLabelSet, _, f64>(&value, None),
        _ => metric.encode_gauge(&value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_read() {
        let text = "42 (a (b) c) S 1 42 42 0 -1 4194560 900 0 0 0 250 50 0 0 20 0 7 0 12345 104857600 2560 1844";
        let expected = Stat {
            ticks: 300,
            threads: 7,
            begun: 12_345,
            virtual_bytes: 104_857_600,
            resident_pages: 2_560,
        };
        assert_eq!(Stat::parse(text), Some(expected));
        assert_eq!(Stat::parse("42 (a) S 1"), None);
        assert_eq!(Stat::parse(""), None);
        assert_eq!(
            boot_time("cpu 1 2\nbtime 1700000000\n"),
            Some(1_700_000_000)
        );
        assert_eq!(boot_time("cpu 1 2\n"), None);
        let limits =
            "Limit   Soft Limit  Hard Limit  Units\nMax open files    1024    4096   files\n";
        assert_eq!(open_files_limit(limits), Some(1_024));
        assert_eq!(
            open_files_limit("Max open files  unlimited unlimited files"),
            None
        );
    }
}
