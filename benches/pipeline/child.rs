//! Processes that are measured from outside: CPU time, memory, cores.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Time between two looks at a process.
const LOOK: Duration = Duration::from_millis(20);

/// What a process took.
#[derive(Debug, Clone)]
pub(crate) struct Usage {
    /// CPU time of all its threads, in seconds; the kernel tells hundredths.
    pub(crate) cpu: f64,
    /// Time by the clock, in seconds.
    pub(crate) wall: f64,
    /// The most memory that was resident, in megabytes.
    pub(crate) peak: f64,
    /// The most memory that was resident and belongs to no file, in megabytes.
    pub(crate) anonymous: f64,
    /// CPU time in seconds by the names of threads, numbers aside, as of the last look. Threads
    /// that ended soon are missing.
    pub(crate) threads: BTreeMap<String, f64>,
}

/// What a running process took so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Look {
    /// CPU time of all its threads, in seconds.
    pub(crate) cpu: f64,
    /// Time by the clock since it began, in seconds.
    pub(crate) wall: f64,
    /// Memory that is resident, in megabytes.
    pub(crate) resident: f64,
    /// Memory that is resident and belongs to no file, in megabytes.
    pub(crate) anonymous: f64,
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
    run_watched(command, core, &mut |_| {})
}

/// Runs a process to its end, which must be a good one, and looks at it again and again.
pub(crate) fn run_watched(
    command: &mut Command,
    core: Option<usize>,
    each: &mut dyn FnMut(Look),
) -> Usage {
    let begun = Instant::now();
    let mut child = spawn_on(command, core);
    let pid = Pid::from_child(&child);
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let (mut peak, mut anonymous) = (0.0_f64, 0.0_f64);
    let mut threads = BTreeMap::new();
    while waitid(WaitId::Pid(pid), options)
        .expect("it is ours")
        .is_none()
    {
        peak = peak.max(memory(pid, "VmHWM").unwrap_or_default());
        let look = Look {
            cpu: cpu_time(pid).unwrap_or_default(),
            wall: begun.elapsed().as_secs_f64(),
            resident: memory(pid, "VmRSS").unwrap_or_default(),
            anonymous: memory(pid, "RssAnon").unwrap_or_default(),
        };
        anonymous = anonymous.max(look.anonymous);
        look_at_threads(pid, &mut threads);
        each(look);
        thread::sleep(LOOK);
    }
    let wall = begun.elapsed().as_secs_f64();
    // It has ended, but is not reaped yet, so the kernel still knows what it took.
    let cpu = cpu_time(pid).expect("the kernel keeps it");
    let status = child.wait().expect("it is ours");
    assert!(status.success(), "{command:?}: {status}");
    let mut by_name = BTreeMap::new();
    for (name, seconds) in threads.into_values() {
        *by_name.entry(name).or_insert(0.0) += seconds;
    }
    Usage {
        cpu,
        wall,
        peak,
        anonymous,
        threads: by_name,
    }
}

/// Notes name and CPU time of each thread of a process by its id.
fn look_at_threads(pid: Pid, threads: &mut BTreeMap<String, (String, f64)>) {
    let tasks = fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero()));
    for task in tasks.into_iter().flatten().flatten() {
        let read = |file| fs::read_to_string(task.path().join(file)).unwrap_or_default();
        let nanoseconds = read("schedstat");
        let nanoseconds = nanoseconds.split_whitespace().next();
        let Some(Ok(nanoseconds)) = nanoseconds.map(str::parse::<f64>) else {
            continue;
        };
        let name = read("comm");
        let name = name.trim().trim_end_matches(|it: char| it.is_ascii_digit());
        let name = name.trim_end_matches(['-', '#', ' ']).to_owned();
        let id = task.file_name().to_string_lossy().into_owned();
        threads.insert(id, (name, nanoseconds / 1e9));
    }
}

/// Memory of a process by a line of its status, in megabytes.
fn memory(pid: Pid, line: &str) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).ok()?;
    let line = status.lines().find(|it| it.starts_with(line))?;
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
