//! Processes that are measured from outside: CPU time, memory, cores.

use std::fs;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Time between two looks at the memory of a process.
const LOOK: Duration = Duration::from_millis(20);

/// What a process took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    /// CPU time of all its threads, in seconds; the kernel tells hundredths.
    pub(crate) cpu: f64,
    /// Time by the clock, in seconds.
    pub(crate) wall: f64,
    /// The most memory that was resident, in megabytes.
    pub(crate) peak: f64,
}

/// Starts a process, on a core if one is given.
pub(crate) fn spawn_on(command: &mut Command, core: Option<usize>) -> Child {
    let Some(core) = core else {
        return command.spawn().expect("the process starts");
    };
    // A process inherits the cores of the thread that starts it.
    let own = sched_getaffinity(None).expect("this thread has cores");
    let mut one = CpuSet::new();
    one.set(core);
    sched_setaffinity(None, &one).expect("there is this core");
    let child = command.spawn().expect("the process starts");
    sched_setaffinity(None, &own).expect("these were ours");
    child
}

/// Runs a process to its end, which must be a good one.
pub(crate) fn run(command: &mut Command, core: Option<usize>) -> Usage {
    let begun = Instant::now();
    let mut child = spawn_on(command, core);
    let pid = Pid::from_child(&child);
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let mut peak = 0.0;
    while waitid(WaitId::Pid(pid), options)
        .expect("it is ours")
        .is_none()
    {
        peak = resident(pid).unwrap_or(peak);
        thread::sleep(LOOK);
    }
    let wall = begun.elapsed().as_secs_f64();
    // It has ended, but is not reaped yet, so the kernel still knows what it took.
    let cpu = cpu_time(pid).expect("the kernel keeps it");
    let status = child.wait().expect("it is ours");
    assert!(status.success(), "{command:?}: {status}");
    Usage { cpu, wall, peak }
}

/// The most memory of a process that was resident, in megabytes.
fn resident(pid: Pid) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1.024e-3)
}

/// CPU time of all threads of a process, in seconds.
fn cpu_time(pid: Pid) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The fields behind the name, which is in brackets; times are in hundredths of a second.
    let fields = stat.rsplit(')').next()?.split_whitespace();
    let times = fields.skip(11).take(2).map(str::parse::<f64>);
    let times: Result<Vec<f64>, _> = times.collect();
    Some(times.ok()?.iter().sum::<f64>() / 100.0)
}
