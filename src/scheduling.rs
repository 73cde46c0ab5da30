//! How the system schedules the threads of this process.

/// Asks the system to schedule this process as batch work (`SCHED_BATCH`; sched(7)), unless it was
/// started under another policy than the usual one. Must be called before there are other threads,
/// which take over the policy from the one that starts them.
///
/// A thread that becomes ready then waits for its turn in place of interrupting the one that runs.
/// A page is handed from thread to thread; where these share a core, more pages are handed on at a
/// time, and a crawl takes less CPU time (docs/performance.md).
#[allow(unsafe_code)]
pub(crate) fn as_batch() {
    let this_thread: libc::pid_t = 0;
    let priority: libc::c_int = 0;
    // The functions of the C library are avoided, because those of musl do nothing.
    // SAFETY: asks for a number. No memory is passed.
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, this_thread) };
    if policy != libc::c_long::from(libc::SCHED_OTHER) {
        return;
    }
    // SAFETY: the system reads its `sched_param`, which is one number on Linux, until the call
    // returns, and writes nothing. If it refuses, the usual policy stays, which is slower and no
    // failure.
    let _ = unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            this_thread,
            libc::SCHED_BATCH,
            &raw const priority,
        )
    };
}

#[cfg(test)]
mod tests {
    use std::{fs, thread};

    /// The policy of this thread: the 41st field of its line (proc(5)), of which the second may
    /// hold spaces.
    fn policy() -> libc::c_int {
        let line = fs::read_to_string("/proc/thread-self/stat").expect("/proc is mounted");
        let (_, fields) = line.rsplit_once(") ").expect("a name in parentheses");
        let policy = fields.split(' ').nth(41 - 3).expect("a policy");
        policy.parse().expect("a number")
    }

    #[test]
    fn threads_that_start_later_are_batch_work_too() {
        let policies = thread::spawn(|| {
            let before = policy();
            super::as_batch();
            (before, thread::spawn(policy).join().expect("a policy"))
        });
        let (before, after) = policies.join().expect("policies");
        let expected = match before {
            libc::SCHED_OTHER => libc::SCHED_BATCH,
            // As whoever runs the tests wants it.
            other => other,
        };
        assert_eq!(after, expected);
    }
}
