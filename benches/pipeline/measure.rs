//! What work takes: CPU time, blocks and bytes of memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

static HAS_CLOCKS: AtomicBool = AtomicBool::new(true);

/// From now on no CPU time is told: where valgrind runs a program, the kernel's page with the
/// clocks is not where the program looks for it.
pub(crate) fn stop_clocks() {
    HAS_CLOCKS.store(false, Ordering::Relaxed);
}

/// CPU time of all threads of this process.
pub(crate) fn process_time() -> Duration {
    time(ClockId::ProcessCPUTime)
}

/// CPU time of this thread.
pub(crate) fn thread_time() -> Duration {
    time(ClockId::ThreadCPUTime)
}

fn time(clock: ClockId) -> Duration {
    match HAS_CLOCKS.load(Ordering::Relaxed) {
        true => Duration::try_from(clock_gettime(clock)).unwrap_or_default(),
        false => Duration::ZERO,
    }
}

/// Work that may be done any number of times, and is.
pub(crate) type Repeat<'a> = dyn FnMut(&mut dyn FnMut()) + 'a;

/// What several rounds took, each for one page.
#[derive(Debug, Default, Clone)]
pub(crate) struct Cost {
    /// CPU time of each round, in microseconds.
    pub(crate) micros: Vec<f64>,
    /// Blocks of memory asked for.
    pub(crate) blocks: f64,
    /// Bytes of memory asked for.
    pub(crate) bytes: f64,
}

impl Cost {
    pub(crate) fn median(&self) -> f64 {
        median(&self.micros)
    }

    pub(crate) fn least(&self) -> f64 {
        self.micros.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// The middle one of these; 0 of none.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// Microseconds each.
pub(crate) fn micros_each(time: Duration, count: usize) -> f64 {
    time.as_secs_f64() * 1e6 / count.max(1) as f64
}
